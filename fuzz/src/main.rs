//! libFuzzer around `gpuaas-fuzz-targets`. One program for all targets, since linking is what takes long; which one is its
//! argument `--target=NAME`. Start it by `cargo xtask fuzz`, which knows how it must be built.

#![no_main]

use std::sync::LazyLock;

use gpuaas_fuzz_targets::{TARGETS, Target, find};

static CHOSEN: LazyLock<&'static Target> = LazyLock::new(|| {
    let name = std::env::args().find_map(|word| word.strip_prefix("--target=").map(str::to_owned));
    name.as_deref().and_then(find).unwrap_or_else(|| {
        let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
        panic!("say which one: --target={}", names.join("|"))
    })
});

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| (CHOSEN.run)(bytes));
