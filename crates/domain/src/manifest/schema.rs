//! The published JSON Schema, generated from the types. The walk over a document reads the same one.

use std::sync::LazyLock;

use schemars::generate::SchemaSettings;
use serde_json::{Value, json};

use super::{Manifest, examples};

pub const SCHEMA_FILE: &str = "launchable_oci_workload_profile.v1.schema.json";

static SCHEMA: LazyLock<Value> = LazyLock::new(build);

/// JSON Schema 2020-12 of a manifest, version 1.
pub fn json_schema() -> Value {
    SCHEMA.clone()
}

pub(super) fn schema() -> &'static Value {
    &SCHEMA
}

fn build() -> Value {
    let generator = SchemaSettings::draft2020_12().into_generator();
    let mut schema = generator.into_root_schema_for::<Manifest>().to_value();
    without_null(&mut schema);
    schema["$id"] = json!(SCHEMA_FILE);
    schema["title"] = json!("GPUaaS workload profile manifest, version 1");
    add_examples(&mut schema);
    // The two ways to say what runs exclude each other.
    schema["not"] = json!({ "required": ["runtime_profile", "components"] });
    schema
}

/// Editors show them, and offer them where a block begins.
fn add_examples(schema: &mut Value) {
    let values = |name: &str| examples::of(name).map(|example| example.value.clone()).collect::<Vec<_>>();
    schema["examples"] = json!(values(examples::WHOLE));
    for (name, block) in schema["$defs"].as_object_mut().into_iter().flatten() {
        let values = values(name);
        if !values.is_empty() {
            block["examples"] = json!(values);
        }
    }
}

/// What is not there is left out: `null` is no value of any field, so the schema need not mention it.
pub(crate) fn without_null(schema: &mut Value) {
    let Value::Object(map) = schema else {
        if let Value::Array(items) = schema {
            items.iter_mut().for_each(without_null);
        }
        return;
    };
    if map.get("default").is_some_and(Value::is_null) {
        map.remove("default");
    }
    if let Some(Value::Array(types)) = map.get_mut("type") {
        types.retain(|kind| kind != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            map.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(branches)) = map.get_mut("anyOf") {
        branches.retain(|branch| branch["type"] != "null");
        if let [only] = branches.as_mut_slice() {
            let only = std::mem::take(only);
            map.remove("anyOf");
            if let Value::Object(only) = only {
                for (key, value) in only {
                    map.entry(key).or_insert(value);
                }
            }
        }
    }
    map.values_mut().for_each(without_null);
}
