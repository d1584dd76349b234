//! The chores of this repository, written in Rust so that they run wherever the code builds:
//!
//! - `gen [--check]` writes every generated file, or says which one is out of date;
//! - `check-layers` compares the crates' dependencies with the picture in `docs/architecture.md`;
//! - `trace` lists which requirement is proven by which test;
//! - `fuzz [--target T] [--seconds N]` feeds made-up bytes to everything that reads strangers' bytes;
//! - `image build|push` makes an image of one static program, without an engine;
//! - `check` runs format, clippy, layers and `gen --check`.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command-line tool talks to its terminal")]

mod cli_reference;
mod error_codes;
mod fuzz;
mod generate;
mod image;
mod layers;
mod reference;
mod trace;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// What went wrong, as the sentence to print.
type Result<T = ()> = std::result::Result<T, String>;

const USAGE: &str = "usage: cargo xtask <gen [--check] | check-layers | trace | fuzz [--help] | image <build | push> | check>";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match start(&words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(sentence) => {
            eprintln!("xtask: {sentence}");
            ExitCode::FAILURE
        }
    }
}

/// Making an image needs no repository.
fn start(words: &[&str]) -> Result {
    match words {
        ["image", rest @ ..] => image::run(rest),
        _ => run(&repository_root()?, words),
    }
}

fn run(root: &Path, words: &[&str]) -> Result {
    match words {
        ["gen"] => generate::write(root),
        ["gen", "--check"] => generate::check(root),
        ["check-layers"] => layers::check(root),
        ["trace"] => trace::print(root),
        ["fuzz", rest @ ..] => fuzz::run(root, rest),
        ["check"] => {
            cargo(root, &["fmt", "--check"])?;
            cargo(root, &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"])?;
            layers::check(root)?;
            generate::check(root)
        }
        ["help" | "--help" | "-h"] => {
            println!("{USAGE}");
            Ok(())
        }
        _ => Err(USAGE.to_owned()),
    }
}

/// The folder above the current one that holds `Cargo.lock`. Not `CARGO_MANIFEST_DIR`: two checkouts may share one
/// target folder, and the program must work on the checkout it is called in.
fn repository_root() -> Result<PathBuf> {
    let here = std::env::current_dir().map_err(|error| format!("cannot tell the current folder: {error}"))?;
    here.ancestors()
        .find(|folder| folder.join("Cargo.lock").is_file())
        .map(Path::to_path_buf)
        .ok_or_else(|| "run this inside the repository".to_owned())
}

fn cargo(root: &Path, arguments: &[&str]) -> Result {
    println!("cargo {}", arguments.join(" "));
    let status = Command::new("cargo")
        .args(arguments)
        .current_dir(root)
        .status()
        .map_err(|error| format!("cannot start cargo: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("cargo {} failed", arguments.join(" "))) }
}

/// What a cargo command prints.
fn cargo_output(root: &Path, arguments: &[&str]) -> Result<String> {
    let output = Command::new("cargo")
        .args(arguments)
        .current_dir(root)
        .output()
        .map_err(|error| format!("cannot start cargo: {error}"))?;
    if !output.status.success() {
        return Err(format!(
            "cargo {} failed: {}",
            arguments.join(" "),
            String::from_utf8_lossy(&output.stderr)
        ));
    }
    String::from_utf8(output.stdout)
        .map_err(|_| format!("cargo {} printed something else than text", arguments.join(" ")))
}

fn read(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).map_err(|error| format!("cannot read {}: {error}", path.display()))
}

/// Every file below `folder`, sorted, without hidden and generated folders. A missing folder is an empty one.
fn files_below(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_path_buf()];
    while let Some(folder) = open.pop() {
        if !folder.is_dir() {
            continue;
        }
        let entries = std::fs::read_dir(&folder)
            .map_err(|error| format!("cannot list {}: {error}", folder.display()))?;
        for entry in entries {
            let path = entry.map_err(|error| format!("cannot list {}: {error}", folder.display()))?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if path.is_dir() {
                if !name.starts_with('.')
                    && !["target", "node_modules", "__pycache__"].contains(&name.as_str())
                {
                    open.push(path);
                }
            } else {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}
