//! Whether a chart's schema is one that values can be judged by: asked once, at registration, so that no launch is refused for
//! what its author wrote. It knows exactly the keywords that `schema` judges.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::schema::{ANNOTATIONS, MAX_FAULTS};
use crate::launch_form::values::compile;
use crate::text::{member_at, nearest};

/// Rules that values are held against.
const JUDGED: &[&str] = &[
    "type",
    "enum",
    "const",
    "properties",
    "patternProperties",
    "additionalProperties",
    "propertyNames",
    "required",
    "dependentRequired",
    "minProperties",
    "maxProperties",
    "items",
    "minItems",
    "maxItems",
    "uniqueItems",
    "minLength",
    "maxLength",
    "pattern",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "allOf",
    "anyOf",
    "oneOf",
    "not",
    "if",
    "then",
    "else",
    "$ref",
];

const TYPES: &[&str] = &["string", "integer", "number", "boolean", "array", "object", "null"];

/// Where a schema has what is not known here, with a sentence for each place. Without any, every value can be judged.
/// Definitions that nothing refers to are not looked at.
pub fn unreadable(schema: &Value) -> Vec<(String, String)> {
    let mut reader = Reader { root: schema, seen: BTreeSet::new(), waiting: Vec::new(), found: Vec::new() };
    reader.schema("", schema);
    // One after the other, not one inside the other: a chain of references may be as long as the schema.
    while let Some((pointer, target)) = reader.waiting.pop() {
        reader.schema(pointer, target);
    }
    reader.found
}

struct Reader<'a> {
    root: &'a Value,
    /// References that were followed, so that circles end.
    seen: BTreeSet<&'a str>,
    /// Those that are still to be looked at.
    waiting: Vec<(&'a str, &'a Value)>,
    found: Vec<(String, String)>,
}

impl<'a> Reader<'a> {
    fn no(&mut self, at: &str, sentence: impl Into<String>) {
        if self.found.len() < MAX_FAULTS {
            self.found.push((at.to_owned(), sentence.into()));
        }
    }

    fn schema(&mut self, at: &str, schema: &'a Value) {
        match schema {
            Value::Bool(_) => {}
            Value::Object(keywords) => {
                for (keyword, of) in keywords {
                    self.keyword(&member_at(at, keyword), keyword, of);
                }
            }
            Value::Null | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                self.no(at, "Here a schema stands: an object, true or false.");
            }
        }
    }

    fn keyword(&mut self, at: &str, keyword: &str, of: &'a Value) {
        match keyword {
            "$ref" => self.reference(at, of),
            "properties" => self.members(at, of),
            "patternProperties" => {
                for pattern in of.as_object().into_iter().flat_map(Map::keys) {
                    self.pattern(&member_at(at, pattern), Some(pattern));
                }
                self.members(at, of);
            }
            "items" | "additionalProperties" | "propertyNames" | "not" | "if" | "then" | "else" => {
                self.schema(at, of);
            }
            "allOf" | "anyOf" | "oneOf" => match of {
                Value::Array(all) => {
                    for (index, one) in all.iter().enumerate() {
                        self.schema(&format!("{at}/{index}"), one);
                    }
                }
                _ => self.no(at, "Here a list of schemas stands."),
            },
            "pattern" => self.pattern(at, of.as_str()),
            "type" => {
                let is_known = |kind: &Value| kind.as_str().is_some_and(|kind| TYPES.contains(&kind));
                let good = match of {
                    Value::Array(kinds) => kinds.iter().all(is_known),
                    kind => is_known(kind),
                };
                if !good {
                    self.no(at, "This type is not known.");
                }
            }
            "enum" | "required" if !of.is_array() => self.no(at, "Here a list stands."),
            "dependentRequired" if !of.is_object() => self.no(at, "Here an object stands."),
            "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" | "multipleOf" => {
                // Draft 4 has true and false for the exclusive ones.
                if !of.is_number() {
                    self.no(at, "Here a number stands.");
                }
            }
            "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties" | "maxProperties" => {
                if !of.is_u64() {
                    self.no(at, "Here a whole number stands.");
                }
            }
            "uniqueItems" if !of.is_boolean() => self.no(at, "Here true or false stands."),
            "enum" | "required" | "dependentRequired" | "const" | "uniqueItems" => {}
            known if ANNOTATIONS.contains(&known) || known.starts_with("x-") => {}
            _ => {
                let near = nearest(keyword, JUDGED.iter().copied());
                let hint = near.map_or_else(String::new, |near| format!(" Did you mean {near}?"));
                let sentence =
                    format!("The platform cannot judge this rule; it knows {}.{hint}", JUDGED.join(", "));
                self.no(at, sentence);
            }
        }
    }

    fn members(&mut self, at: &str, of: &'a Value) {
        match of {
            Value::Object(members) => {
                for (name, of) in members {
                    self.schema(&member_at(at, name), of);
                }
            }
            _ => self.no(at, "Here schemas stand by name."),
        }
    }

    fn pattern(&mut self, at: &str, pattern: Option<&str>) {
        if pattern.and_then(compile).is_none() {
            self.no(at, "This pattern cannot be read; leave out look-around and back-references.");
        }
    }

    fn reference(&mut self, at: &str, of: &'a Value) {
        let root = self.root;
        let target = of.as_str().and_then(|text| text.strip_prefix('#'));
        match target.and_then(|pointer| Some((pointer, root.pointer(pointer)?))) {
            Some((pointer, target)) => {
                if self.seen.insert(pointer) {
                    self.waiting.push((pointer, target));
                }
            }
            None => self.no(at, "A reference is to a place in this schema, as in #/definitions/port."),
        }
    }
}
