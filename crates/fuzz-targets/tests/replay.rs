//! Every seed and everything that was ever found goes through its target again, as ordinary tests do.

use std::path::{Path, PathBuf};

use gpuaas_fuzz_targets::{TARGETS, find};

fn folder(part: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz").join(part)
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// F01, F02, F06, F07: what broke a law once holds now. A panic names the file in the line above it.
#[test]
fn seeds_and_regressions_hold() {
    for part in ["seeds", "regressions"] {
        for name in names(&folder(part)) {
            let target = find(&name).unwrap_or_else(|| panic!("fuzz/{part}/{name} is no target"));
            for file in names(&folder(part).join(&name)) {
                let path = folder(part).join(&name).join(&file);
                let bytes = std::fs::read(&path).unwrap();
                assert!(bytes.len() <= target.longest_bytes, "{} is cut by the fuzzer", path.display());
                let held = std::panic::catch_unwind(|| (target.run)(&bytes));
                assert!(held.is_ok(), "{} breaks a law", path.display());
            }
        }
    }
}

/// Without seeds a fuzzer spends its minute on finding out what JSON is.
#[test]
fn every_target_has_seeds() {
    let seeded = names(&folder("seeds"));
    for target in TARGETS {
        assert!(seeded.iter().any(|name| name == target.name), "{} has no seeds", target.name);
    }
}
