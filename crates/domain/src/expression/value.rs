//! What an expression is made of and what it yields: values, never text that somebody reads again.

use std::borrow::Cow;

use serde_json::Value as Json;

use super::names::Names;
use super::types::Type;

#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Bool(bool),
    Int(i64),
    /// Never infinite and never not-a-number.
    Double(f64),
    Text(String),
    /// The name of a secret of the project. It has no text: it can be handed on and nothing else.
    Secret(String),
    List(Vec<Value>),
}

impl Value {
    /// The value of a JSON document, if it is of the type. A whole number is one of a parameter of type `number` too.
    pub fn from_json(json: &Json, of: &Type) -> Option<Self> {
        match of {
            Type::Bool => json.as_bool().map(Self::Bool),
            Type::Int => json.as_i64().map(Self::Int),
            Type::Double => json.as_f64().filter(|number| number.is_finite()).map(Self::Double),
            Type::Text => json.as_str().map(|text| Self::Text(text.to_owned())),
            Type::Secret => json.as_str().map(|name| Self::Secret(name.to_owned())),
            Type::List(item) => {
                let items = json.as_array()?.iter().map(|item_json| Self::from_json(item_json, item));
                items.collect::<Option<_>>().map(Self::List)
            }
            Type::Nothing => None,
        }
    }

    pub fn to_json(&self) -> Json {
        match self {
            Self::Bool(value) => Json::from(*value),
            Self::Int(value) => Json::from(*value),
            Self::Double(value) => Json::from(*value),
            Self::Text(text) | Self::Secret(text) => Json::from(text.as_str()),
            Self::List(items) => Json::Array(items.iter().map(Self::to_json).collect()),
        }
    }

    /// What stands in a text in its place; lists and secrets have none.
    pub fn text(&self) -> Option<Cow<'_, str>> {
        match self {
            Self::Bool(true) => Some("true".into()),
            Self::Bool(false) => Some("false".into()),
            Self::Int(value) => Some(value.to_string().into()),
            Self::Double(value) => Some(value.to_string().into()),
            Self::Text(text) => Some(text.as_str().into()),
            Self::Secret(_) | Self::List(_) => None,
        }
    }

    /// Whether this may stand where the type was promised. A text may stand for a secret: the one that says "none".
    pub fn is_of(&self, of: &Type) -> bool {
        match (self, of) {
            (Self::Bool(_), Type::Bool)
            | (Self::Int(_), Type::Int)
            | (Self::Double(_), Type::Double)
            | (Self::Text(_), Type::Text | Type::Secret)
            | (Self::Secret(_), Type::Secret) => true,
            (Self::List(items), Type::List(item)) => items.iter().all(|value| value.is_of(item)),
            _ => false,
        }
    }

    /// Roughly what it takes in memory.
    pub(super) fn bytes(&self) -> usize {
        const EACH: usize = size_of::<Value>();
        match self {
            Self::Bool(_) | Self::Int(_) | Self::Double(_) => EACH,
            Self::Text(text) | Self::Secret(text) => EACH + text.len(),
            Self::List(items) => EACH + items.iter().map(Self::bytes).sum::<usize>(),
        }
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl<T: Into<Value>> From<Vec<T>> for Value {
    fn from(items: Vec<T>) -> Self {
        Self::List(items.into_iter().map(Into::into).collect())
    }
}

/// What each name stands for in one launch. A name that is not in it is absent.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Values(Names<Value>);

/// What names stand for, however it is kept.
pub trait Lookup {
    /// The value at a path such as `params`, `model`. What is absent has none.
    fn look_up(&self, path: &mut dyn Iterator<Item = &str>) -> Option<&Value>;
}

impl Lookup for Values {
    fn look_up(&self, path: &mut dyn Iterator<Item = &str>) -> Option<&Value> {
        self.0.find(path)
    }
}

impl Values {
    /// Sets the value at a path such as `["params", "model"]`.
    pub fn set(&mut self, path: &[&str], value: impl Into<Value>) {
        self.0.insert(path, value.into());
    }

    /// Makes the name absent.
    pub fn remove(&mut self, path: &[&str]) {
        self.0.make(path).value = None;
    }

    pub fn find<'a>(&self, path: impl IntoIterator<Item = &'a str>) -> Option<&Value> {
        self.0.find(path)
    }
}
