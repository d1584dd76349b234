//! Puts the built web shell (`web/dist`) into the program. Without one the program compiles all the same and serves a page
//! that says how to build it.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{fs, io};

fn main() -> io::Result<()> {
    let dist = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web/dist");
    println!("cargo::rerun-if-changed=build.rs");
    // It is there in every checkout, if empty: watching a folder that is missing would mean building each time.
    println!("cargo::rerun-if-changed={}", dist.display());
    let mut files = Vec::new();
    if dist.is_dir() {
        collect(&dist, &mut files)?;
    }
    files.sort();
    let mut text = String::from("static FILES: &[Embedded] = &[\n");
    for file in files.iter().filter(|file| file.extension().is_none_or(|kind| kind != "gz")) {
        let inside = file.strip_prefix(&dist).map_err(io::Error::other)?;
        let packed = PathBuf::from(format!("{}.gz", file.display()));
        let packed = if packed.is_file() {
            format!("Some(include_bytes!({:?}))", packed.display().to_string())
        } else {
            "None".to_owned()
        };
        let name = format!("/{}", inside.display());
        let _ = writeln!(
            text,
            "    Embedded {{ path: {name:?}, plain: include_bytes!({:?}), packed: {packed} }},",
            file.display().to_string()
        );
    }
    text.push_str("];\n");
    fs::write(out_dir().join("shell.rs"), text)
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
        if path.is_dir() {
            collect(&path, files)?;
        } else if !hidden {
            files.push(path);
        }
    }
    Ok(())
}

#[expect(clippy::disallowed_methods, reason = "cargo tells a build script where to write by its environment")]
fn out_dir() -> PathBuf {
    PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"))
}
