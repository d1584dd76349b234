//! What others read from our YAML.

use gpuaas_domain::manifest::{self, Format};
use gpuaas_domain::render::Rendered;
use serde_json::Value;

/// The tree of a file, on which two parsers that share no line of code agree.
pub(crate) fn read(text: &str) -> Value {
    let other: Value = yaml_serde::from_str(text).unwrap_or_else(|why| panic!("{why} in\n{text}"));
    // Ours reads manifests and takes no more than one of those.
    if text.len() < manifest::MAX_BYTES {
        let own =
            manifest::tree(text.as_bytes(), Format::Yaml).unwrap_or_else(|why| panic!("{why:?} in\n{text}"));
        assert_eq!(own, other, "two readers of\n{text}");
    }
    other
}

pub(crate) fn trees(rendered: &Rendered) -> Vec<Value> {
    let tree = |media_type: &str, bytes: &str| match media_type {
        "application/json" => serde_json::from_str(bytes).unwrap(),
        _ => read(bytes),
    };
    rendered.files.iter().map(|file| tree(&file.media_type, &file.bytes)).collect()
}

/// Every text and every key, with the keys that lead to it.
pub(crate) fn texts<'a>(
    value: &'a Value,
    path: &mut Vec<&'a str>,
    visit: &mut impl FnMut(&[&'a str], &'a str),
) {
    match value {
        Value::String(text) => visit(path, text),
        Value::Array(items) => items.iter().for_each(|item| texts(item, path, visit)),
        Value::Object(map) => {
            for (key, value) in map {
                path.push(key);
                texts(value, path, visit);
                path.pop();
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
