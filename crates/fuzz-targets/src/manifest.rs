use gpuaas_domain::artifact::RegistryNames;
use gpuaas_domain::launch_form::resolution::{Around, resolve};
use gpuaas_domain::manifest::diff::diff;
use gpuaas_domain::manifest::{Format, advise, find_code, lint, parse, tree, tree_and_places};
use serde_json::Map;

use super::check_faults;

/// As many as a list of faults has at most.
const MOST_FAULTS: usize = 200;

pub(crate) fn yaml(bytes: &[u8]) {
    run(bytes, Format::Yaml);
}

pub(crate) fn json(bytes: &[u8]) {
    run(bytes, Format::Json);
}

fn run(bytes: &[u8], format: Format) {
    // Noting where things stand changes nothing of what they are.
    assert_eq!(tree(bytes, format), tree_and_places(bytes, format).0);
    let document = match parse(bytes, format) {
        Ok(document) => document,
        Err(faults) => {
            check_faults(&faults, MOST_FAULTS);
            for fault in &faults {
                assert!(find_code(fault.code).is_some(), "{} is in no list of codes", fault.code);
            }
            return;
        }
    };
    let again = parse(document.canonical().as_bytes(), Format::Json).expect("the canonical form is one");
    assert_eq!(again.digest(), document.digest());
    assert_eq!(again.manifest, document.manifest);
    let manifest = &document.manifest;
    assert!(diff(manifest, &again.manifest).is_empty(), "no change is no change");
    let registry = RegistryNames {
        host: "registry.gpuaas.example.com".to_owned(),
        also: Vec::new(),
        root: "gpuaas/apps".to_owned(),
        allowed: vec!["gpuaas/apps/platform".to_owned()],
    };
    for found in [lint(manifest, Some(&registry)), lint(manifest, None), advise(manifest)] {
        if !found.is_empty() {
            check_faults(&found, MOST_FAULTS);
        }
    }
    // A stored manifest may be older than the rules that would refuse it today.
    let _ = manifest.expand();
    let _ = resolve(manifest, &Map::new(), Around::default());
}
