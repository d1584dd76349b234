//! Finds every fault of a document at once, by walking it beside the schema.
//!
//! `serde` stops at the first fault and quotes values in its messages; a manifest may hold what must not be repeated,
//! so nothing here ever echoes a value. Only the keywords that our own types produce are known; after a walk without
//! faults the document is of the type, and a test holds that against arbitrary documents.

use serde_json::{Map, Value};

use super::{MAX_FAULTS, forbidden, formats};
use crate::FieldError;
use crate::text::nearest;

pub(crate) fn faults(document: &Value, schema: &Value) -> Vec<FieldError> {
    let mut walk = Walk { root: schema, faults: Vec::new() };
    walk.value("", document, schema);
    walk.faults
}

struct Walk<'a> {
    root: &'a Value,
    faults: Vec<FieldError>,
}

impl<'a> Walk<'a> {
    fn fault(&mut self, path: &str, code: &'static str, message: impl Into<String>) {
        if self.faults.len() < MAX_FAULTS {
            self.faults.push(FieldError::new(pointer(path), code, message));
        }
    }

    fn resolve(&self, mut schema: &'a Value) -> &'a Value {
        while let Some(target) = schema["$ref"].as_str() {
            schema = self.root.pointer(target.trim_start_matches('#')).unwrap_or(&Value::Null);
        }
        schema
    }

    fn value(&mut self, path: &str, value: &Value, schema: &'a Value) {
        let schema = self.resolve(schema);
        for keyword in ["oneOf", "anyOf"] {
            if let Some(branches) = schema[keyword].as_array() {
                return self.branches(path, value, branches);
            }
        }
        if let Some(types) = schema.get("type")
            && !is_of(value, types)
        {
            return self.fault(path, "wrong_type", must_be(types, value));
        }
        if let Some(allowed) = schema["enum"].as_array() {
            return self.choice(path, value, allowed.iter());
        }
        match value {
            Value::String(text) => self.text(path, text, schema),
            Value::Number(_) => self.number(path, value, schema),
            Value::Array(items) => self.list(path, items, schema),
            Value::Object(map) => self.object(path, map, schema),
            Value::Null | Value::Bool(_) => {}
        }
    }

    fn branches(&mut self, path: &str, value: &Value, branches: &'a [Value]) {
        let branches: Vec<&Value> = branches.iter().map(|branch| self.resolve(branch)).collect();
        if branches.iter().all(|branch| branch.get("const").is_some() || branch["enum"].is_array()) {
            let allowed: Vec<&Value> = branches
                .iter()
                .flat_map(|branch| {
                    branch.get("const").into_iter().chain(branch["enum"].as_array().into_iter().flatten())
                })
                .collect();
            return self.choice(path, value, allowed.into_iter());
        }
        if let Some(tag) = tag_of(&branches) {
            let Value::Object(map) = value else {
                return self.fault(path, "wrong_type", "This must be an object.");
            };
            let names = branches.iter().map(|branch| &branch["properties"][tag]["const"]);
            let at = format!("{path}/{tag}");
            return match map.get(tag) {
                None => self.fault(&at, "missing_field", format!("One of {}.", listed(names))),
                Some(given) => {
                    match branches.iter().find(|branch| branch["properties"][tag]["const"] == *given) {
                        Some(branch) => self.value(path, value, branch),
                        None => self.choice(&at, given, names),
                    }
                }
            };
        }
        if let Some(branch) = branches.iter().find(|branch| is_of(value, &branch["type"])) {
            return self.value(path, value, branch);
        }
        let kinds: Vec<String> = branches.iter().map(|branch| kind_name(&branch["type"])).collect();
        self.fault(path, "wrong_type", format!("This must be {}.", kinds.join(" or ")));
    }

    fn choice<'v>(&mut self, path: &str, value: &Value, allowed: impl Iterator<Item = &'v Value> + Clone) {
        if allowed.clone().any(|one| one == value) {
            return;
        }
        let hint = value
            .as_str()
            .filter(|text| text.len() <= 40)
            .and_then(|text| nearest(text, allowed.clone().filter_map(Value::as_str)))
            .map_or(String::new(), |name| format!(" Did you mean {name}?"));
        self.fault(path, "invalid_value", format!("One of {}.{hint}", listed(allowed)));
    }

    fn text(&mut self, path: &str, text: &str, schema: &Value) {
        if let Some(format) = schema["format"].as_str()
            && let Err(refused) = formats::check(format, text)
        {
            return self.fault(path, refused.code, refused.message);
        }
        if schema["maxLength"].as_u64().is_some_and(|most| text.chars().count() as u64 > most) {
            self.fault(path, "out_of_range", format!("At most {} characters.", schema["maxLength"]));
        }
    }

    fn number(&mut self, path: &str, value: &Value, schema: &Value) {
        let number = value.as_f64().unwrap_or(f64::NAN);
        let least = schema["minimum"].as_f64();
        let most = schema["maximum"].as_f64().or(match schema["format"].as_str() {
            Some("uint32") => Some(f64::from(u32::MAX)),
            Some("uint16") => Some(f64::from(u16::MAX)),
            _ => None,
        });
        let good = least.is_none_or(|least| number >= least) && most.is_none_or(|most| number <= most);
        if !good {
            let bounds = match (least, most) {
                (Some(least), Some(most)) => format!("{least} to {most}"),
                (Some(least), None) => format!("{least} or more"),
                (None, Some(most)) => format!("{most} or less"),
                (None, None) => "a finite number".to_owned(),
            };
            self.fault(path, "out_of_range", format!("This must be {bounds}."));
        }
    }

    fn list(&mut self, path: &str, items: &[Value], schema: &'a Value) {
        let count = items.len() as u64;
        if let Some(least) = schema["minItems"].as_u64().filter(|least| count < *least) {
            self.fault(path, "out_of_range", format!("At least {least} entries."));
        }
        if let Some(most) = schema["maxItems"].as_u64().filter(|most| count > *most) {
            return self.fault(path, "out_of_range", format!("At most {most} entries."));
        }
        if let Some(of) = schema.get("items") {
            for (index, item) in items.iter().enumerate() {
                self.value(&format!("{path}/{index}"), item, of);
            }
        }
    }

    fn object(&mut self, path: &str, map: &Map<String, Value>, schema: &'a Value) {
        let Some(properties) = schema["properties"].as_object() else {
            let of = schema.get("additionalProperties").filter(|of| of.is_object());
            for (key, value) in map {
                if let Some(of) = of {
                    self.value(&join(path, key), value, of);
                }
            }
            return;
        };
        for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            if !map.contains_key(name) {
                self.fault(&join(path, name), "missing_field", "This is needed.");
            }
        }
        for (key, value) in map {
            match properties.get(key) {
                Some(of) => self.value(&join(path, key), value, of),
                None => self.unknown(path, key, properties),
            }
        }
    }

    fn unknown(&mut self, path: &str, key: &str, properties: &Map<String, Value>) {
        if self.faults.len() >= MAX_FAULTS {
            return;
        }
        let at = join(path, key);
        if let Some((code, message)) = forbidden::field(key) {
            return self.fault(&at, code, message);
        }
        let hint = nearest(key, properties.keys().map(String::as_str))
            .map_or(String::new(), |name| format!(" Did you mean {name}?"));
        self.fault(&at, "unknown_field", format!("There is no such field.{hint}"));
    }
}

/// The property by which the branches are told apart.
fn tag_of<'a>(branches: &[&'a Value]) -> Option<&'a str> {
    let first = branches.first()?["properties"].as_object()?;
    first
        .keys()
        .map(String::as_str)
        .find(|name| branches.iter().all(|branch| branch["properties"][*name].get("const").is_some()))
}

fn is_of(value: &Value, types: &Value) -> bool {
    let one = |kind: &str| match kind {
        "string" => value.is_string(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => false,
    };
    match types {
        Value::String(kind) => one(kind),
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).any(one),
        _ => true,
    }
}

fn must_be(types: &Value, value: &Value) -> String {
    let advice = match value {
        Value::Null => " Leave it out if it has no value.",
        Value::Number(_) | Value::Bool(_) if *types == "string" => " Put it in quotes.",
        _ => "",
    };
    format!("This must be {}.{advice}", kind_name(types))
}

fn kind_name(types: &Value) -> String {
    let one = |kind: &str| match kind {
        "string" => "text".to_owned(),
        "integer" => "a whole number".to_owned(),
        "number" => "a number".to_owned(),
        "boolean" => "true or false".to_owned(),
        "array" => "a list".to_owned(),
        _ => "an object".to_owned(),
    };
    match types {
        Value::Array(kinds) => {
            kinds.iter().filter_map(Value::as_str).map(one).collect::<Vec<_>>().join(" or ")
        }
        other => one(other.as_str().unwrap_or("object")),
    }
}

fn listed<'v>(values: impl Iterator<Item = &'v Value>) -> String {
    values
        .map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned))
        .collect::<Vec<_>>()
        .join(", ")
}

/// A JSON pointer one step further. The key is the author's: it is cut where no person would read on.
pub(super) fn join(path: &str, key: &str) -> String {
    let key: String =
        key.chars().take(100).map(|c| if crate::text::is_deceptive(c) { '\u{fffd}' } else { c }).collect();
    format!("{path}/{}", key.replace('~', "~0").replace('/', "~1"))
}

/// `/` is the document as a whole, as in every other list of faults.
pub(super) fn pointer(path: &str) -> String {
    if path.is_empty() { "/".to_owned() } else { path.to_owned() }
}
