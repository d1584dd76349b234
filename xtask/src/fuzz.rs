//! Fuzzing: builds `fuzz/` with coverage counters and runs its targets one after the other.
//!
//! The counters come from the compiler itself (LLVM's SanitizerCoverage as a pass), so the ordinary tool chain is enough.
//! There is no address sanitizer, which it lacks; without unsafe code of ours there is little for it to find.

use std::path::{Path, PathBuf};
use std::process::Command;

use gpuaas_fuzz_targets::{TARGETS, Target, find};

use crate::{Result, cargo_output, files_below};

pub(crate) const USAGE: &str = "usage: cargo xtask fuzz [--target NAME]… [--seconds N] [--list]

  --target NAME  only this one; may be repeated
  --seconds N    how long each one runs (600)
  --list         print the targets and what holds for each

What was learnt stays in the target folder and is where the next run begins. An input that breaks a law is kept and named;
put it into fuzz/regressions/NAME, where `cargo test -p gpuaas-fuzz-targets` replays it. See docs/how-to/fuzz.md.";

const DEFAULT_SECONDS: u32 = 600;
/// One input; a machine that does other things too may be slow.
const TIMEOUT_SECONDS: u32 = 10;
const MEMORY_MIB: u32 = 1024;
/// Counters per edge, a table of places, comparisons told to the fuzzer.
const FLAGS: &[&str] = &[
    "--cfg=fuzzing",
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
];

struct Wanted {
    targets: Vec<&'static Target>,
    seconds: u32,
}

pub(crate) fn run(root: &Path, words: &[&str]) -> Result {
    if let ["--help" | "-h"] = words {
        println!("{USAGE}");
        return Ok(());
    }
    if let ["--list"] = words {
        for target in TARGETS {
            println!("{:<16} {}", target.name, target.about);
        }
        return Ok(());
    }
    let wanted = read(words)?;
    let program = build(root)?;
    let kept = target_folder(root)?;
    let mut broken = Vec::new();
    // Each works on one processor, so as many run at once as there are.
    let at_once = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    for targets in wanted.targets.chunks(at_once) {
        let names: Vec<&str> = targets.iter().map(|target| target.name).collect();
        println!("fuzz: {} for {} s", names.join(" and "), wanted.seconds);
        let held = std::thread::scope(|scope| {
            let run = |target: &&'static Target| {
                let target = *target;
                let (kept, program) = (&kept, &program);
                (target, scope.spawn(move || fuzz(root, kept, program, target, wanted.seconds)))
            };
            let running: Vec<_> = targets.iter().map(run).collect();
            let ended = running.into_iter().map(|(target, thread)| (target.name, thread.join()));
            ended.collect::<Vec<_>>()
        });
        for (name, held) in held {
            if !held.map_err(|_| format!("{name} could not be watched"))?? {
                broken.push(name);
            }
        }
    }
    if broken.is_empty() {
        return Ok(());
    }
    let folder = kept.join("found");
    Err(format!(
        "{} broke a law; the inputs are in {}: mend the code, and keep them in fuzz/regressions",
        broken.join(", "),
        folder.display()
    ))
}

fn read(words: &[&str]) -> Result<Wanted> {
    let mut wanted = Wanted { targets: Vec::new(), seconds: DEFAULT_SECONDS };
    let mut words = words.iter();
    while let Some(option) = words.next() {
        let (option, value) = match option.split_once('=') {
            Some((option, value)) => (option, Some(value)),
            None => (*option, words.next().copied()),
        };
        let value = value.ok_or_else(|| format!("{option} needs a value\n{USAGE}"))?;
        match option {
            "--target" => {
                let target = find(value).ok_or_else(|| format!("no such target: {value}; see --list"))?;
                wanted.targets.push(target);
            }
            "--seconds" => {
                let seconds = value.parse().ok().filter(|seconds| *seconds > 0);
                wanted.seconds = seconds.ok_or("--seconds is a whole number from 1")?;
            }
            _ => return Err(USAGE.to_owned()),
        }
    }
    if wanted.targets.is_empty() {
        wanted.targets = TARGETS.iter().collect();
    }
    Ok(wanted)
}

/// Apart from the ordinary build, which has other flags: each would undo the other's work.
fn target_folder(root: &Path) -> Result<PathBuf> {
    let metadata = cargo_output(root, &["metadata", "--format-version", "1", "--no-deps"])?;
    let metadata: serde_json::Value =
        serde_json::from_str(&metadata).map_err(|error| format!("cargo metadata is not JSON: {error}"))?;
    let folder = metadata["target_directory"].as_str().ok_or("cargo metadata names no target folder")?;
    Ok(Path::new(folder).join("fuzz"))
}

/// With a target triple even though it is this machine's: so the flags reach neither build scripts nor macros.
fn build(root: &Path) -> Result<PathBuf> {
    let output = Command::new("rustc")
        .arg("-vV")
        .current_dir(root)
        .output()
        .map_err(|error| format!("cannot start rustc: {error}"))?;
    let version = String::from_utf8_lossy(&output.stdout).into_owned();
    let host = version.lines().find_map(|line| line.strip_prefix("host: ")).ok_or("rustc names no host")?;
    let folder = target_folder(root)?;
    println!("fuzz: building with coverage counters");
    let status = Command::new("cargo")
        .args(["build", "--quiet", "--locked", "--release", "--target", host, "--manifest-path"])
        .arg(root.join("fuzz/Cargo.toml"))
        .env("CARGO_TARGET_DIR", &folder)
        .env("CARGO_ENCODED_RUSTFLAGS", FLAGS.join("\u{1f}"))
        .current_dir(root)
        .status()
        .map_err(|error| format!("cannot start cargo: {error}"))?;
    if !status.success() {
        return Err("fuzz/ cannot be built; it needs a C++ compiler: apt-get install -y g++".to_owned());
    }
    Ok(folder.join(host).join("release/gpuaas-fuzz"))
}

/// Whether every law held.
fn fuzz(root: &Path, kept: &Path, program: &Path, target: &Target, seconds: u32) -> Result<bool> {
    let learnt = kept.join("corpus").join(target.name);
    let found = kept.join("found").join(target.name);
    for folder in [&learnt, &found] {
        std::fs::create_dir_all(folder)
            .map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
    }
    let ours = |part: &str| root.join("fuzz").join(part).join(target.name);
    let mut command = Command::new(program);
    command
        .arg(format!("--target={}", target.name))
        .arg(format!("-max_total_time={seconds}"))
        .arg(format!("-max_len={}", target.longest_bytes))
        .arg(format!("-timeout={TIMEOUT_SECONDS}"))
        .arg(format!("-rss_limit_mb={MEMORY_MIB}"))
        .arg(format!("-artifact_prefix={}/", found.display()))
        .args(["-print_final_stats=1", "-verbosity=1"])
        // What is new goes into the first folder; the others are only read.
        .arg(&learnt)
        .args([ours("seeds"), ours("regressions")].iter().filter(|folder| folder.is_dir()));
    let dictionary = root.join("fuzz/dictionaries").join(format!("{}.dict", target.name));
    if dictionary.is_file() {
        command.arg(format!("-dict={}", dictionary.display()));
    }
    // It says a line for each thing it learns; only its end is of interest, or all of it if it went wrong.
    let output = command.output().map_err(|error| format!("cannot start {}: {error}", program.display()))?;
    let said = String::from_utf8_lossy(&output.stderr);
    if output.status.success() {
        println!("fuzz: {} {}", target.name, summary(&said));
        return Ok(true);
    }
    let lines: Vec<&str> = said.lines().collect();
    for line in &lines[lines.len().saturating_sub(60)..] {
        println!("{line}");
    }
    for file in files_below(&found)? {
        println!("fuzz: kept {}", file.display());
    }
    Ok(false)
}

/// How much was done, in the fuzzer's last words.
fn summary(said: &str) -> String {
    let number = |name: &str| {
        let line = said.lines().rev().find(|line| line.starts_with(&format!("stat::{name}:")));
        line.and_then(|line| line.split_whitespace().last()).unwrap_or("?").to_owned()
    };
    let done = said.lines().rev().find(|line| line.contains("DONE"));
    let covered = done.and_then(|line| line.split("cov: ").nth(1)).and_then(|rest| rest.split(' ').next());
    format!(
        "held: {} inputs, {} places reached, {} MiB at most",
        number("number_of_executed_units"),
        covered.unwrap_or("?"),
        number("peak_rss_mb")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_choose_targets_and_time() {
        let all = read(&[]).unwrap();
        assert_eq!((all.targets.len(), all.seconds), (TARGETS.len(), 600));
        let one = read(&["--target", "render", "--seconds=60"]).unwrap();
        assert_eq!((one.targets[0].name, one.targets.len(), one.seconds), ("render", 1, 60));
        for wrong in
            [&["--target", "x"][..], &["--seconds", "0"], &["--seconds"], &["--target"], &["render", "x"]]
        {
            assert!(read(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn the_end_of_a_run_says_how_much_was_done() {
        let said = "#8\tDONE   cov: 31 ft: 40 corp: 3/9b\nstat::number_of_executed_units: 8\nstat::peak_rss_mb:   44\n";
        assert_eq!(summary(said), "held: 8 inputs, 31 places reached, 44 MiB at most");
    }
}
