//! Types of values, and which names an expression may use.

use super::names::Names;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Type {
    Bool,
    Int,
    Double,
    Text,
    /// The name of a secret, or an empty text for none.
    Secret,
    List(Box<Type>),
    /// What an entry of `[]` is: fits everywhere, and there is none.
    Nothing,
}

impl Type {
    pub fn list(item: Self) -> Self {
        Self::List(Box::new(item))
    }

    /// For a sentence: "this is …".
    pub fn name(&self) -> String {
        match self {
            Self::Bool => "true or false".to_owned(),
            Self::Int => "a whole number".to_owned(),
            Self::Double => "a number with a point".to_owned(),
            Self::Text => "text".to_owned(),
            Self::Secret => "the name of a secret".to_owned(),
            Self::Nothing => "nothing".to_owned(),
            Self::List(item) => match item.as_ref() {
                Self::Bool => "a list of true or false".to_owned(),
                Self::Int => "a list of whole numbers".to_owned(),
                Self::Double => "a list of numbers with a point".to_owned(),
                Self::Text => "a list of texts".to_owned(),
                Self::Secret => "a list of secrets".to_owned(),
                Self::List(_) => "a list of lists".to_owned(),
                Self::Nothing => "an empty list".to_owned(),
            },
        }
    }

    /// Whether a value of this type can be taken where `wanted` is: a whole number for a number, a text for a secret's name.
    pub fn fits(&self, wanted: &Self) -> bool {
        match (self, wanted) {
            (Self::Nothing, _) | (Self::Int, Self::Double) | (Self::Text, Self::Secret) => true,
            (Self::List(item), Self::List(wanted)) => item.fits(wanted),
            (given, wanted) => given == wanted,
        }
    }

    pub(super) fn is_number(&self) -> bool {
        matches!(self, Self::Int | Self::Double)
    }

    /// Can stand in a text.
    pub fn has_text(&self) -> bool {
        matches!(self, Self::Bool | Self::Int | Self::Double | Self::Text)
    }

    /// The type that both are, if there is one. What may be a secret is one.
    pub(super) fn common(&self, other: &Self) -> Option<Self> {
        match (self, other) {
            (Self::Nothing, one) | (one, Self::Nothing) => Some(one.clone()),
            (Self::Secret, Self::Text) | (Self::Text, Self::Secret) => Some(Self::Secret),
            (Self::List(a), Self::List(b)) => a.common(b).map(Self::list),
            (a, b) => (a == b).then(|| a.clone()),
        }
    }

    /// Whether `==` and `in` make sense between the two.
    pub(super) fn compares_with(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Secret, _) | (_, Self::Secret) => false,
            (Self::Nothing, _) | (_, Self::Nothing) => true,
            (Self::List(a), Self::List(b)) => a.compares_with(b),
            (a, b) => a == b || a.is_number() && b.is_number(),
        }
    }
}

/// The type behind a name, and whether it is always there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Member {
    pub(super) kind: Type,
    pub(super) optional: bool,
}

/// The names that an expression at one place may use.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Types {
    pub(super) names: Names<Member>,
    /// Groups that other places have, and why this one has not.
    pub(super) elsewhere: Vec<(Vec<String>, &'static str)>,
}

impl Types {
    /// A name that always has a value, at a path such as `["resources", "gpu_count"]`.
    pub fn set(&mut self, path: &[&str], kind: Type) {
        self.names.insert(path, Member { kind, optional: false });
    }

    /// A name that may have no value: it is used behind `has()`.
    pub fn set_optional(&mut self, path: &[&str], kind: Type) {
        self.names.insert(path, Member { kind, optional: true });
    }

    /// A group that is there even if nothing is in it.
    pub fn group(&mut self, path: &[&str]) {
        self.names.make(path);
    }

    /// A group that is not for this place, with the sentence that says so.
    pub fn elsewhere(&mut self, path: &[&str], sentence: &'static str) {
        self.elsewhere.push((path.iter().map(|&name| name.to_owned()).collect(), sentence));
    }
}
