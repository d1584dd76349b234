//! Which crate may depend on which, as a table, and what the pure crates must not reach.
//!
//! An arrow that is not here does not exist: a crate that is missing from the table is refused too, so that a new
//! crate starts with the question where it belongs.

use std::path::Path;

use serde_json::Value;

use crate::{Result, cargo_output, read};

enum Sees {
    Only(&'static [&'static str]),
    /// Every product library.
    Product,
    /// Everything, testkit too.
    All,
}

/// The picture of `docs/architecture.md`. Crates that come later stand here already.
const ARROWS: &[(&str, Sees)] = &[
    ("agent-protocol", Sees::Only(&[])),
    ("faults", Sees::Only(&[])),
    ("hello-web", Sees::Only(&[])),
    ("domain", Sees::Only(&["agent-protocol"])),
    ("program", Sees::Only(&["domain", "faults"])),
    ("oci", Sees::Only(&["agent-protocol"])),
    ("tunnel", Sees::Only(&[])),
    ("api", Sees::Only(&["domain", "agent-protocol"])),
    ("store", Sees::Only(&["domain", "agent-protocol"])),
    ("custody", Sees::Only(&["domain"])),
    ("engines", Sees::Only(&["domain"])),
    ("registry", Sees::Only(&["oci", "domain", "agent-protocol", "faults"])),
    ("gateway", Sees::Only(&["domain", "program"])),
    (
        "control-plane",
        Sees::Only(&["store", "engines", "custody", "oci", "domain", "agent-protocol", "faults", "program"]),
    ),
    ("node-agent", Sees::Only(&["tunnel", "oci", "api", "domain", "agent-protocol", "faults", "program"])),
    ("cli", Sees::Only(&["api", "domain", "oci"])),
    ("server", Sees::Product),
    ("testkit", Sees::All),
    ("bench", Sees::All),
    ("fuzz-targets", Sees::Only(&["domain", "oci", "agent-protocol"])),
    ("render-judge", Sees::Only(&["domain"])),
    ("xtask", Sees::All),
];

const PURE: &[&str] = &["domain", "agent-protocol"];
/// A crate of this name, or one whose name starts with it and a hyphen.
const IMPURE: &[&str] = &["tokio", "sqlx", "axum", "reqwest", "hyper"];
/// chrono's features that read the wall clock.
const CLOCK_FEATURES: &[&str] = &["clock", "now"];
/// A second cryptography or TLS stack comes in through some crate's default feature; keep it out by name.
const SECOND_STACK: &[&str] = &["aws-lc-sys", "openssl-sys"];
const MAY_TEST_WITH_TESTKIT: &[&str] = &["store", "server", "cli"];

pub(crate) fn check(root: &Path) -> Result {
    let metadata = cargo_output(root, &["metadata", "--format-version", "1", "--no-deps"])?;
    let metadata: Value =
        serde_json::from_str(&metadata).map_err(|error| format!("cargo metadata is not JSON: {error}"))?;
    let packages = metadata["packages"].as_array().ok_or("cargo metadata lists no packages")?;

    let mut faults: Vec<String> = packages.iter().flat_map(package_faults).collect();
    for pure in PURE {
        let package = format!("gpuaas-{pure}");
        if packages.iter().any(|found| found["name"] == package.as_str()) {
            let tree = cargo_output(
                root,
                &[
                    "tree",
                    "--package",
                    &package,
                    "--edges",
                    "normal",
                    "--prefix",
                    "none",
                    "--format",
                    "{p}|{f}",
                ],
            )?;
            faults.extend(purity_faults(pure, &tree));
        }
    }
    faults.extend(lock_faults(&read(&root.join("Cargo.lock"))?));

    if faults.is_empty() {
        println!("layers: {} crates, every arrow is allowed", packages.len());
        return Ok(());
    }
    Err(format!("the layers are broken:\n  {}", faults.join("\n  ")))
}

fn short(name: &str) -> &str {
    name.strip_prefix("gpuaas-").unwrap_or(name)
}

fn package_faults(package: &Value) -> Vec<String> {
    let from = short(package["name"].as_str().unwrap_or_default());
    let Some((_, sees)) = ARROWS.iter().find(|(name, _)| *name == from) else {
        return vec![format!("{from} is not in the table of xtask/src/layers.rs: say where it belongs")];
    };
    let dependencies = package["dependencies"].as_array().map_or(&[][..], Vec::as_slice);
    dependencies
        .iter()
        .filter(|dependency| !dependency["path"].is_null())
        .filter_map(|dependency| {
            let to = short(dependency["name"].as_str().unwrap_or_default());
            let for_tests = dependency["kind"] == "dev";
            (!allowed(from, sees, to, for_tests)).then(|| {
                let kind = if for_tests { "test dependency" } else { "dependency" };
                format!("{from} -> {to} ({kind}) is not an arrow of the picture in docs/architecture.md")
            })
        })
        .collect()
}

fn allowed(from: &str, sees: &Sees, to: &str, for_tests: bool) -> bool {
    if for_tests && ["testkit", "node-agent"].contains(&to) && MAY_TEST_WITH_TESTKIT.contains(&from) {
        return true;
    }
    match sees {
        Sees::All => true,
        Sees::Product => !["testkit", "bench", "xtask", "cli", "node-agent"].contains(&to),
        Sees::Only(list) => list.contains(&to),
    }
}

/// `tree` has one line per crate: `name vX.Y.Z (where)|feature,feature`.
fn purity_faults(pure: &str, tree: &str) -> Vec<String> {
    let mut faults = Vec::new();
    for line in tree.lines() {
        let (package, features) = line.split_once('|').unwrap_or((line, ""));
        let name = package.split(' ').next().unwrap_or_default();
        if IMPURE.iter().any(|impure| name == *impure || name.starts_with(&format!("{impure}-"))) {
            faults.push(format!("{pure} is pure and must not reach {name}"));
        }
        let clock = features.split(',').find(|feature| CLOCK_FEATURES.contains(&feature.trim()));
        if let (true, Some(feature)) = (name == "chrono", clock) {
            faults.push(format!("{pure} is pure and must not reach chrono's feature `{feature}`"));
        }
    }
    faults.sort();
    faults.dedup();
    faults
}

fn lock_faults(lock: &str) -> Vec<String> {
    SECOND_STACK
        .iter()
        .filter(|name| lock.lines().any(|line| line == format!("name = \"{name}\"")))
        .map(|name| {
            format!(
                "{name} is in Cargo.lock: `cargo tree -i {name}` shows who brings it; the one stack is ring"
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn faults(from: &str, to: &str, kind: &Value) -> Vec<String> {
        package_faults(&json!({
            "name": from,
            "dependencies": [{"name": to, "kind": kind, "path": "/somewhere"}, {"name": "serde", "kind": null}],
        }))
    }

    #[test]
    fn only_the_arrows_of_the_picture_pass() {
        assert!(faults("gpuaas-store", "gpuaas-domain", &json!(null)).is_empty());
        assert!(faults("gpuaas-server", "gpuaas-store", &json!(null)).is_empty());
        assert_eq!(faults("gpuaas-domain", "gpuaas-store", &json!(null)).len(), 1);
        assert_eq!(faults("gpuaas-cli", "gpuaas-store", &json!("build")).len(), 1);
        assert_eq!(faults("gpuaas-new", "gpuaas-domain", &json!(null)).len(), 1);
    }

    #[test]
    fn testkit_is_for_the_tests_of_three_crates_only() {
        assert!(faults("gpuaas-store", "gpuaas-testkit", &json!("dev")).is_empty());
        assert!(faults("gpuaas-server", "gpuaas-testkit", &json!("dev")).is_empty());
        assert!(faults("gpuaas-cli", "gpuaas-testkit", &json!("dev")).is_empty());
        assert_eq!(faults("gpuaas-server", "gpuaas-testkit", &json!(null)).len(), 1);
        assert_eq!(faults("gpuaas-domain", "gpuaas-testkit", &json!("dev")).len(), 1);
    }

    #[test]
    fn a_pure_crate_reaches_neither_runtime_nor_clock() {
        let tree = "gpuaas-domain v0.1.0 (/x)|\nchrono v0.4.45|alloc,clock,serde\nsqlx-core v0.9.0|\ntokio v1.0.0|rt\n";
        assert_eq!(purity_faults("domain", tree).len(), 3);
        assert!(purity_faults("domain", "chrono v0.4.45|alloc,serde\nserde v1.0.0|std\n").is_empty());
    }

    #[test]
    fn a_second_crypto_stack_is_named() {
        assert_eq!(lock_faults("[[package]]\nname = \"openssl-sys\"\n").len(), 1);
        assert!(lock_faults("[[package]]\nname = \"ring\"\n").is_empty());
    }
}
