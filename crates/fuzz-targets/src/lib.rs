//! What a fuzzer calls: for each reader of strangers' bytes a function that takes any and returns, or a law is broken.
//!
//! The laws are here, in the ordinary workspace, so that an ordinary test replays every seed and everything that was ever
//! found (`tests/replay.rs`). What makes up new bytes is `fuzz/`, a workspace of its own, run by `cargo xtask fuzz`.

mod expression;
mod helm;
mod manifest;
mod names;
mod render;
mod values;

/// One reader, or several of one kind.
#[derive(Clone, Copy)]
pub struct Target {
    /// Also the name of its seeds, its dictionary and its regressions below `fuzz/`.
    pub name: &'static str,
    /// What it is about, and what holds.
    pub about: &'static str,
    pub run: fn(&[u8]),
    /// Longer inputs find nothing that these do not, and slow the rest down.
    pub longest_bytes: usize,
}

pub const TARGETS: &[Target] = &[
    Target {
        name: "expression",
        about: "expressions and templates: read, checked, evaluated within their budget; faults lie in the text",
        run: expression::run,
        longest_bytes: 2048,
    },
    Target {
        name: "manifest-yaml",
        about: "manifests in YAML: read and judged; what is read means the same in its canonical form",
        run: manifest::yaml,
        longest_bytes: 8192,
    },
    Target {
        name: "manifest-json",
        about: "manifests in JSON: the same",
        run: manifest::json,
        longest_bytes: 8192,
    },
    Target {
        name: "values",
        about: "launch values against manifests: what is accepted is accepted again, unchanged",
        run: values::run,
        longest_bytes: 4096,
    },
    Target {
        name: "render",
        about: "every renderer: rendered or refused, twice the same, and two YAML readers agree",
        run: render::run,
        longest_bytes: 8192,
    },
    Target {
        name: "helm-values",
        about: "values of a chart against its subset and its schema: judged in bounded time",
        run: helm::run,
        longest_bytes: 4096,
    },
    Target {
        name: "names",
        about: "names of images, digests, challenges of registries, tokens: what is read prints as it was",
        run: names::text,
        longest_bytes: 1024,
    },
    Target {
        name: "image-manifest",
        about: "image manifests, indexes, configurations, signatures and keys",
        run: names::documents,
        longest_bytes: 8192,
    },
];

pub fn find(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| target.name == name)
}

/// A refusal has a place that a client can point at, and never more of them than somebody reads.
fn check_faults(faults: &[gpuaas_domain::FieldError], most: usize) {
    assert!(!faults.is_empty(), "a refusal says why");
    assert!(faults.len() <= most, "{} faults", faults.len());
    for fault in faults {
        assert!(fault.path.starts_with('/'), "{fault:?}");
        assert!(!fault.message.is_empty() && !fault.code.is_empty(), "{fault:?}");
    }
}
