//! The second Compose file, which the node writes.

use std::collections::BTreeMap;

use gpuaas_domain::Secret;
use gpuaas_domain::render::compose::{NodeFacts, overlay};
use serde_json::json;

use super::readers::read;
use super::sample;

fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

/// D-08, I-11: folders, devices and values of secrets come from the node, and `$` in them is doubled too.
#[test]
fn the_node_adds_what_it_alone_knows() {
    let facts = NodeFacts {
        labels: map(&[("gpuaas.node", "n")]),
        subnet: "10.9.0.0/28".to_owned(),
        gateway: "10.9.0.1".to_owned(),
        bridge: "gpuaas-00000002".to_owned(),
        scratch: map(&[("cache", "/srv/$x/cache")]),
        secret_files: map(&[("worker", "/run/gpuaas/i/worker")]),
        secret_values: BTreeMap::from([("license".to_owned(), Secret::new("a$b${c}".to_owned()))]),
        ..NodeFacts::default()
    };
    let file = read(&overlay(&sample("gateway-worker"), &facts).unwrap().bytes);
    assert_eq!(file["volumes"]["scratch-cache"]["driver_opts"]["device"], "/srv/$$x/cache");
    assert_eq!(file["volumes"]["secrets-worker"]["driver_opts"]["device"], "/run/gpuaas/i/worker");
    assert_eq!(file["services"]["worker"]["environment"], json!({"LICENSE_KEY": "a$$b$${c}"}));
    assert!(file["services"]["gateway"].get("environment").is_none());
    assert_eq!(file["networks"]["instance"]["ipam"]["config"][0]["subnet"], "10.9.0.0/28");

    let rocm =
        NodeFacts { render_nodes: map(&[("0xdeadbeef", "/dev/dri/renderD128")]), ..NodeFacts::default() };
    let file = read(&overlay(&sample("two-lanes"), &rocm).unwrap().bytes);
    assert_eq!(
        file["services"]["lane-b"]["devices"],
        json!(["/dev/dri/renderD128:/dev/dri/renderD128:rw", "/dev/kfd:/dev/kfd:rw"])
    );
    assert!(file["services"]["lane-a"].get("devices").is_none());
}

/// What the node has not got ready is told by its place, all at once.
#[test]
fn a_node_that_lacks_something_starts_nothing() {
    let refusal = overlay(&sample("gateway-worker"), &NodeFacts::default()).unwrap_err();
    let places: Vec<&str> = refusal.gaps.iter().map(|gap| gap.path.as_str()).collect();
    assert_eq!(places, ["/components/1/secrets/1", "/components/1/mounts/1", "/components/1/secrets"]);
}
