//! JSON that can be read in one way only.
//!
//! Our reader, a registry's and an engine's are written in different languages: one takes the last of two members of
//! the same name, one the first, one ignores the case of letters. What they could read differently is refused. The
//! road not taken is a derived reader: it cannot tell a reason apart from another, and it builds before it judges.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

/// Manifests and statements have less than ten.
const MAX_DEPTH: usize = 32;
/// Values in all: bounds the memory that a document of the permitted size can ask for.
const MAX_VALUES: usize = 100_000;

/// Why a text cannot be read, or not in one way only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BadJson {
    TooLarge {
        bytes: usize,
        most: usize,
    },
    Empty,
    NotUtf8,
    /// Some readers drop it, some refuse it.
    ByteOrderMark,
    TooDeep {
        most: usize,
    },
    TooManyValues {
        most: usize,
    },
    /// No JSON at all, or cut short, or a number that no integer holds.
    Malformed {
        line: usize,
        column: usize,
    },
    /// Something stands behind the document.
    Trailing {
        line: usize,
        column: usize,
    },
    Duplicate {
        member: String,
    },
    /// A member of ours in other letters: some readers take it for ours.
    Misspelled {
        member: String,
        meant: &'static str,
    },
    NoObject {
        path: String,
    },
    Missing {
        path: String,
    },
    /// It is there and of another type.
    WrongType {
        path: String,
        wanted: &'static str,
    },
}

impl fmt::Display for BadJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge { bytes, most } => write!(f, "it has {bytes} bytes, at most {most} are read"),
            Self::Empty => f.write_str("it is empty"),
            Self::NotUtf8 => f.write_str("it is not UTF-8"),
            Self::ByteOrderMark => f.write_str("it starts with a byte order mark"),
            Self::TooDeep { most } => write!(f, "it is nested deeper than {most}"),
            Self::TooManyValues { most } => write!(f, "it has more than {most} values"),
            Self::Malformed { line, column } => write!(f, "it is no JSON at line {line}, column {column}"),
            Self::Trailing { line, column } => {
                write!(f, "something follows the document at line {line}, column {column}")
            }
            Self::Duplicate { member } => write!(f, "{member:?} is there twice"),
            Self::Misspelled { member, meant } => write!(f, "{member:?} is {meant:?} in other letters"),
            Self::NoObject { path } => write!(f, "{path} is no object"),
            Self::Missing { path } => write!(f, "{path} is missing"),
            Self::WrongType { path, wanted } => write!(f, "{path} is not {wanted}"),
        }
    }
}

impl std::error::Error for BadJson {}

/// A value. Members keep their order; no name is there twice.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Json {
    Null,
    Bool,
    Unsigned(u64),
    OtherNumber,
    Text(String),
    List(Vec<Json>),
    Object(Vec<(String, Json)>),
}

/// Reads a document of at most so many bytes.
pub(crate) fn read(bytes: &[u8], most: usize) -> Result<Json, BadJson> {
    if bytes.len() > most {
        return Err(BadJson::TooLarge { bytes: bytes.len(), most });
    }
    let text = std::str::from_utf8(bytes).map_err(|_| BadJson::NotUtf8)?;
    if text.trim().is_empty() {
        return Err(BadJson::Empty);
    }
    if text.starts_with('\u{feff}') {
        return Err(BadJson::ByteOrderMark);
    }
    bound(bytes)?;
    let mut reader = serde_json::Deserializer::from_str(text);
    let at = |error: &serde_json::Error| (error.line(), error.column());
    let value = Json::deserialize(&mut reader).map_err(|error| {
        let (line, column) = at(&error);
        BadJson::Malformed { line, column }
    })?;
    reader.end().map_err(|error| {
        let (line, column) = at(&error);
        BadJson::Trailing { line, column }
    })?;
    value.check_duplicates()?;
    Ok(value)
}

/// Says whether a document of at most so many bytes can be read in one way only, for who reads it with another reader.
/// Names with a meaning are `known`; inside the members `free`, and inside those that nobody knows, names are the
/// author's own and may only not be there twice.
pub fn check_json(bytes: &[u8], most: usize, known: &[&'static str], free: &[&str]) -> Result<(), BadJson> {
    read(bytes, most)?.check_spelling(known, free)
}

/// Counts before anything is built, so a bomb costs one pass over its bytes.
fn bound(bytes: &[u8]) -> Result<(), BadJson> {
    let (mut depth, mut values, mut in_text, mut escaped) = (0_usize, 1_usize, false, false);
    for byte in bytes {
        match (in_text, byte) {
            (true, _) if escaped => escaped = false,
            (true, b'\\') => escaped = true,
            (_, b'"') => in_text = !in_text,
            (false, b'{' | b'[') => {
                depth += 1;
                values += 1;
            }
            (false, b'}' | b']') => depth = depth.saturating_sub(1),
            (false, b',') => values += 1,
            _ => {}
        }
        if depth > MAX_DEPTH {
            return Err(BadJson::TooDeep { most: MAX_DEPTH });
        }
        if values > MAX_VALUES {
            return Err(BadJson::TooManyValues { most: MAX_VALUES });
        }
    }
    Ok(())
}

/// As the forgiving reader of the container engines folds names: letters of any case, and the two signs that fold
/// to Latin letters.
fn folded(name: &str) -> String {
    name.chars().flat_map(char::to_lowercase).map(|letter| if letter == 'ſ' { 's' } else { letter }).collect()
}

fn check_name(name: &str, known: &[&'static str]) -> Result<(), BadJson> {
    let fold = folded(name);
    match known.iter().find(|known| folded(known) == fold && **known != name) {
        Some(meant) => Err(BadJson::Misspelled { member: name.to_owned(), meant }),
        None => Ok(()),
    }
}

impl Json {
    fn check_duplicates(&self) -> Result<(), BadJson> {
        match self {
            Self::List(items) => items.iter().try_for_each(Self::check_duplicates),
            Self::Object(members) => {
                let mut names: Vec<&str> = members.iter().map(|(name, _)| name.as_str()).collect();
                names.sort_unstable();
                if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
                    return Err(BadJson::Duplicate { member: pair[0].to_owned() });
                }
                members.iter().try_for_each(|(_, value)| value.check_duplicates())
            }
            Self::Null | Self::Bool | Self::Unsigned(_) | Self::OtherNumber | Self::Text(_) => Ok(()),
        }
    }

    fn check_spelling(&self, known: &[&'static str], free: &[&str]) -> Result<(), BadJson> {
        match self {
            Self::List(items) => items.iter().try_for_each(|item| item.check_spelling(known, free)),
            Self::Object(members) => members.iter().try_for_each(|(name, value)| {
                check_name(name, known)?;
                let ours = known.contains(&name.as_str()) && !free.contains(&name.as_str());
                if ours { value.check_spelling(known, free) } else { Ok(()) }
            }),
            Self::Null | Self::Bool | Self::Unsigned(_) | Self::OtherNumber | Self::Text(_) => Ok(()),
        }
    }

    /// The object that has these members, each in exactly these letters or not at all.
    pub(crate) fn open<'a>(&'a self, path: &str, known: &[&'static str]) -> Result<Object<'a>, BadJson> {
        let Self::Object(members) = self else {
            return Err(BadJson::NoObject { path: path.to_owned() });
        };
        members.iter().try_for_each(|(name, _)| check_name(name, known))?;
        Ok(Object { path: path.to_owned(), members })
    }
}

/// An object whose spelling was checked, and where it stands.
pub(crate) struct Object<'a> {
    path: String,
    members: &'a [(String, Json)],
}

impl<'a> Object<'a> {
    pub(crate) fn path(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) }
    }

    /// A member that is `null` counts as missing, as every reader has it.
    pub(crate) fn find(&self, name: &str) -> Option<&'a Json> {
        let member = self.members.iter().find(|(found, _)| found == name);
        member.map(|(_, value)| value).filter(|value| **value != Json::Null)
    }

    pub(crate) fn get(&self, name: &str) -> Result<&'a Json, BadJson> {
        self.find(name).ok_or_else(|| BadJson::Missing { path: self.path(name) })
    }

    pub(crate) fn find_text(&self, name: &str) -> Result<Option<&'a str>, BadJson> {
        match self.find(name) {
            None => Ok(None),
            Some(Json::Text(text)) => Ok(Some(text)),
            Some(_) => Err(BadJson::WrongType { path: self.path(name), wanted: "text" }),
        }
    }

    pub(crate) fn text(&self, name: &str) -> Result<&'a str, BadJson> {
        self.find_text(name)?.ok_or_else(|| BadJson::Missing { path: self.path(name) })
    }

    pub(crate) fn find_list(&self, name: &str) -> Result<Option<&'a [Json]>, BadJson> {
        match self.find(name) {
            None => Ok(None),
            Some(Json::List(items)) => Ok(Some(items)),
            Some(_) => Err(BadJson::WrongType { path: self.path(name), wanted: "a list" }),
        }
    }

    pub(crate) fn members(&self) -> &'a [(String, Json)] {
        self.members
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reading)
    }
}

struct Reading;

impl<'de> Visitor<'de> for Reading {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E>(self, _: bool) -> Result<Json, E> {
        Ok(Json::Bool)
    }

    fn visit_u64<E>(self, number: u64) -> Result<Json, E> {
        Ok(Json::Unsigned(number))
    }

    fn visit_i64<E>(self, _: i64) -> Result<Json, E> {
        Ok(Json::OtherNumber)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Json, E> {
        Ok(Json::OtherNumber)
    }

    fn visit_str<E>(self, text: &str) -> Result<Json, E> {
        Ok(Json::Text(text.to_owned()))
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Json, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = list.next_element()? {
            items.push(item);
        }
        Ok(Json::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Json, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = object.next_entry()? {
            members.push(member);
        }
        Ok(Json::Object(members))
    }
}
