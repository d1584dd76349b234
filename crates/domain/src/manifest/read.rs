//! Bytes to a tree, for JSON and YAML alike: bounded in size and depth, every key once.
//!
//! Two spellings of one key are how a reviewer and a machine come to read different documents, so both readers refuse
//! a repeated key.

use serde::de::{DeserializeSeed, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use super::places::{self, Places, Recorder};
use super::walk::{join, pointer};
use super::{MAX_FAULTS, yaml};
use crate::FieldError;

pub const MAX_BYTES: usize = 256 * 1024;
pub(super) const MAX_DEPTH: usize = 32;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Json,
    Yaml,
    /// JSON if the first visible character is `{`. Such a text may be YAML's flow style too: say so where it is.
    Guess,
}

pub(super) fn tree(bytes: &[u8], format: Format) -> Result<Value, Vec<FieldError>> {
    read(bytes, format, None)
}

/// The tree, and where its parts stand as far as the text could be read.
pub(super) fn tree_and_places(bytes: &[u8], format: Format) -> (Result<Value, Vec<FieldError>>, Places) {
    let mut note = Recorder::default();
    let tree = read(bytes, format, Some(&mut note));
    (tree, note.finish(bytes.len()))
}

fn read(bytes: &[u8], format: Format, note: Option<&mut Recorder>) -> Result<Value, Vec<FieldError>> {
    if bytes.len() > MAX_BYTES {
        return Err(one("document_too_large", format!("A manifest has at most {MAX_BYTES} bytes.")));
    }
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let at = error.valid_up_to();
            if let Some(note) = note {
                note.stop(at);
            }
            return Err(one("malformed_document", format!("The text is not UTF-8 at byte {at}.")));
        }
    };
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if let Some(at) = text.find('\0') {
        if let Some(note) = note {
            note.stop(at);
        }
        return Err(one("malformed_document", "The text holds a NUL character."));
    }
    match format {
        Format::Json => json(text, note),
        Format::Guess if text.trim_start().starts_with('{') => json(text, note),
        Format::Yaml | Format::Guess => yaml::tree(text, note),
    }
}

pub(super) fn one(code: &'static str, message: impl Into<String>) -> Vec<FieldError> {
    vec![FieldError::new("/", code, message)]
}

pub(super) fn duplicate(path: &str) -> FieldError {
    FieldError::new(pointer(path), "duplicate_key", "The key stands here twice; keep one.")
}

pub(super) fn too_deep(path: &str) -> FieldError {
    FieldError::new(pointer(path), "document_too_deep", format!("At most {MAX_DEPTH} levels are read."))
}

fn json(text: &str, mut note: Option<&mut Recorder>) -> Result<Value, Vec<FieldError>> {
    if let Some(note) = &mut note {
        places::of_json(text, note);
    }
    let mut faults = Vec::new();
    let mut reader = serde_json::Deserializer::from_str(text);
    let node = Node { path: String::new(), depth: 0, faults: &mut faults };
    let value = node.deserialize(&mut reader).and_then(|value| reader.end().map(|()| value));
    match value {
        Ok(value) if faults.is_empty() => Ok(value),
        Ok(_) => Err(faults),
        Err(_) if faults.iter().any(|fault| fault.code == "document_too_deep") => Err(faults),
        // The reader's own words may quote the document: only the place is passed on.
        Err(error) => {
            let before = text.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len);
            let at = before.sum::<usize>() + error.column().saturating_sub(1);
            if let Some(note) = note {
                note.stop(at);
            }
            Err(one(
                "malformed_document",
                format!("The text is not JSON at line {}, column {}.", error.line(), error.column()),
            ))
        }
    }
}

/// Builds a `Value` and notes repeated keys, which `Value` itself would swallow.
struct Node<'a> {
    path: String,
    depth: usize,
    faults: &'a mut Vec<FieldError>,
}

impl Node<'_> {
    fn deeper<E: serde::de::Error>(&mut self) -> Result<(), E> {
        if self.depth >= MAX_DEPTH {
            self.faults.push(too_deep(&self.path));
            return Err(E::custom("too deep"));
        }
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for Node<'_> {
    type Value = Value;

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Node<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("not finite"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut items: A) -> Result<Value, A::Error> {
        self.deeper()?;
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(Node {
            path: format!("{}/{}", self.path, list.len()),
            depth: self.depth + 1,
            faults: self.faults,
        })? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut entries: A) -> Result<Value, A::Error> {
        self.deeper()?;
        let mut map = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            if key.contains('\0') {
                return Err(A::Error::custom("NUL in a key"));
            }
            let path = join(&self.path, &key);
            if map.contains_key(&key) && self.faults.len() < MAX_FAULTS {
                self.faults.push(duplicate(&path));
            }
            let value = entries.next_value_seed(Node { path, depth: self.depth + 1, faults: self.faults })?;
            map.insert(key, value);
        }
        Ok(Value::Object(map))
    }
}
