//! Our Kubernetes objects as the published types of the API read them.
//!
//! The types are generated from the API's own description. They pass over fields that they do not know; so what was read is
//! written again and compared: a field that is misspelt, in the wrong place or of the wrong type does not come back.

use gpuaas_domain::render::{RenderInput, kubernetes};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Service, ServiceAccount};
use k8s_openapi::api::networking::v1::NetworkPolicy;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

fn again<T: DeserializeOwned + Serialize>(tree: &Value) -> Value {
    let typed: T = serde_json::from_value(tree.clone()).unwrap_or_else(|why| panic!("{why} in {tree:#}"));
    serde_json::to_value(typed).unwrap()
}

/// What comes back of an object.
fn judged(tree: &Value) -> Value {
    match (tree["apiVersion"].as_str().unwrap(), tree["kind"].as_str().unwrap()) {
        ("v1", "ServiceAccount") => again::<ServiceAccount>(tree),
        ("v1", "Service") => again::<Service>(tree),
        ("networking.k8s.io/v1", "NetworkPolicy") => again::<NetworkPolicy>(tree),
        ("apps/v1", "Deployment") => again::<Deployment>(tree),
        other => panic!("{other:?} is no kind that we write"),
    }
}

fn samples() -> Vec<Value> {
    ["one", "gateway-worker", "two-lanes"]
        .iter()
        .map(|name| {
            let path =
                format!("{}/../domain/tests/golden/render/{name}/input.json", env!("CARGO_MANIFEST_DIR"));
            serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
        })
        .collect()
}

fn objects(input: &Value) -> Vec<Value> {
    let input: RenderInput = serde_json::from_value(input.clone()).unwrap();
    let rendered = kubernetes::render(&input).unwrap();
    rendered.files.iter().map(|file| yaml_serde::from_str(&file.bytes).unwrap()).collect()
}

/// D-10: every object is of its published type, field by field.
#[test]
fn objects_are_of_their_published_types() {
    let mut seen = 0;
    for mut input in samples() {
        for _ in 0..2 {
            for object in objects(&input) {
                assert_eq!(judged(&object), object);
                seen += 1;
            }
            // And once more with texts that would break out of a template.
            for component in input["components"].as_array_mut().unwrap() {
                component["command"] = json!(["$(X)", "a\nb: c", "{{ x }}", "", "no", "1e3"]);
                component["env"] = json!([{"name": "A", "value": "~"}, {"name": "B", "value": ""}]);
                component["shared_memory_mib"] = json!(64);
            }
        }
    }
    assert!(seen > 40, "{seen}");
}

/// The judge notices what is not in the API.
#[test]
fn what_the_api_does_not_know_is_noticed() {
    let deployment = objects(&samples()[0]).into_iter().find(|one| one["kind"] == "Deployment").unwrap();
    for (place, member) in
        [("/spec", "replica"), ("/spec/template/spec", "hostnetwork"), ("/metadata", "label")]
    {
        let mut wrong = deployment.clone();
        wrong.pointer_mut(place).unwrap()[member] = json!(1);
        assert_ne!(judged(&wrong), wrong, "{member}");
    }
}
