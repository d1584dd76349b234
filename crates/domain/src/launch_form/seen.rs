//! A value as it was sent, looked at without being copied: out of a tree, or straight out of the text of a request.

use std::borrow::Cow;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use crate::expression::{Type, Value as Known};

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Seen<'v> {
    Null,
    Bool(bool),
    Number(Number),
    Text(Cow<'v, str>),
    List(Vec<Seen<'v>>),
    /// No parameter is one, so nobody looks into it.
    Object(Map<String, Value>),
}

impl<'v> From<&'v Value> for Seen<'v> {
    fn from(value: &'v Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(value) => Self::Bool(*value),
            Value::Number(number) => Self::Number(number.clone()),
            Value::String(text) => Self::Text(Cow::Borrowed(text)),
            Value::Array(items) => Self::List(items.iter().map(Self::from).collect()),
            Value::Object(map) => Self::Object(map.clone()),
        }
    }
}

impl Seen<'_> {
    /// As a tree of its own.
    pub(super) fn to_value(&self) -> Value {
        match self {
            Self::Null => Value::Null,
            Self::Bool(value) => Value::Bool(*value),
            Self::Number(number) => Value::Number(number.clone()),
            Self::Text(text) => Value::String(text.clone().into_owned()),
            Self::List(items) => items.iter().map(Self::to_value).collect(),
            Self::Object(map) => Value::Object(map.clone()),
        }
    }

    /// Of its own, apart from where it was seen.
    pub(super) fn to_owned_seen(&self) -> Seen<'static> {
        match self {
            Self::Null => Seen::Null,
            Self::Bool(value) => Seen::Bool(*value),
            Self::Number(number) => Seen::Number(number.clone()),
            Self::Text(text) => Seen::Text(Cow::Owned(text.clone().into_owned())),
            Self::List(items) => Seen::List(items.iter().map(Seen::to_owned_seen).collect()),
            Self::Object(map) => Seen::Object(map.clone()),
        }
    }

    /// As expressions see it, if it is of the type.
    pub(super) fn to_known(&self, of: &Type) -> Option<Known> {
        match (self, of) {
            (Self::Bool(value), Type::Bool) => Some(Known::Bool(*value)),
            (Self::Number(number), Type::Int) => number.as_i64().map(Known::Int),
            (Self::Number(number), Type::Double) => {
                number.as_f64().filter(|number| number.is_finite()).map(Known::Double)
            }
            (Self::Text(text), Type::Text) => Some(Known::Text(text.clone().into_owned())),
            (Self::Text(name), Type::Secret) => Some(Known::Secret(name.clone().into_owned())),
            (Self::List(items), Type::List(item)) => {
                items.iter().map(|one| one.to_known(item)).collect::<Option<_>>().map(Known::List)
            }
            _ => None,
        }
    }
}

impl<'de> Deserialize<'de> for Seen<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Look)
    }
}

struct Look;

impl<'de> Visitor<'de> for Look {
    type Value = Seen<'de>;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Seen<'de>, E> {
        Ok(Seen::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Seen<'de>, E> {
        Ok(Seen::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Seen<'de>, E> {
        Ok(Seen::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Seen<'de>, E> {
        Ok(Seen::Number(value.into()))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Seen<'de>, E> {
        Number::from_f64(value).map(Seen::Number).ok_or_else(|| E::custom("not finite"))
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Seen<'de>, E> {
        Ok(Seen::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Seen<'de>, E> {
        Ok(Seen::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Seen<'de>, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Seen::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Seen<'de>, A::Error> {
        let mut map = Map::new();
        while let Some((name, value)) = entries.next_entry()? {
            map.insert(name, value);
        }
        Ok(Seen::Object(map))
    }
}
