//! Our own tree: everything that an expression can be, and nothing else.

use super::fault::Span;
use super::value::Value;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Node {
    pub(super) kind: Kind,
    /// What to underline: for an operator its sign, for a name or a value all of it.
    pub(super) span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Kind {
    Literal(Value),
    List(Vec<Node>),
    Name(Path),
    /// Whether the name has a value.
    Has(Path),
    Index(Box<Node>, Box<Node>),
    Not(Box<Node>),
    Negate(Box<Node>),
    And(Box<Node>, Box<Node>),
    Or(Box<Node>, Box<Node>),
    If(Box<Node>, Box<Node>, Box<Node>),
    Binary(Sign, Box<Node>, Box<Node>),
    Call(Function, Vec<Node>),
}

impl Node {
    /// Calls `see` for this node and every one below.
    pub(super) fn each<'n>(&'n self, see: &mut impl FnMut(&'n Self)) {
        see(self);
        match &self.kind {
            Kind::Literal(_) | Kind::Name(_) | Kind::Has(_) => {}
            Kind::List(nodes) | Kind::Call(_, nodes) => nodes.iter().for_each(|node| node.each(see)),
            Kind::Not(of) | Kind::Negate(of) => of.each(see),
            Kind::Index(a, b) | Kind::And(a, b) | Kind::Or(a, b) | Kind::Binary(_, a, b) => {
                a.each(see);
                b.each(see);
            }
            Kind::If(a, b, c) => {
                a.each(see);
                b.each(see);
                c.each(see);
            }
        }
    }
}

/// A name with its groups: the names are fixed when the expression is read, so that they can be checked.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Path {
    pub(super) steps: Vec<Step>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Step {
    pub(super) name: String,
    pub(super) span: Span,
}

impl Path {
    pub(super) fn names(&self) -> impl Iterator<Item = &str> + Clone {
        self.steps.iter().map(|step| step.name.as_str())
    }
}

/// An operator between two values that looks at both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sign {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    In,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Function {
    Size,
    String,
    Int,
    Double,
    Min,
    Max,
    Contains,
    StartsWith,
    EndsWith,
    Join,
}

/// How a function is written: its name, whether a value stands before it, and how many arguments stand in its brackets.
pub(super) struct Form {
    pub(super) name: &'static str,
    pub(super) method: bool,
    pub(super) arguments: usize,
    /// For a sentence.
    pub(super) example: &'static str,
}

impl Function {
    pub(super) const ALL: [Self; 10] = [
        Self::Size,
        Self::String,
        Self::Int,
        Self::Double,
        Self::Min,
        Self::Max,
        Self::Contains,
        Self::StartsWith,
        Self::EndsWith,
        Self::Join,
    ];

    pub(super) fn form(self) -> Form {
        let form = |name, method, arguments, example| Form { name, method, arguments, example };
        match self {
            Self::Size => form("size", false, 1, "size(x)"),
            Self::String => form("string", false, 1, "string(x)"),
            Self::Int => form("int", false, 1, "int(x)"),
            Self::Double => form("double", false, 1, "double(x)"),
            Self::Min => form("min", false, 2, "min(a, b)"),
            Self::Max => form("max", false, 2, "max(a, b)"),
            Self::Contains => form("contains", true, 1, "text.contains('x')"),
            Self::StartsWith => form("startsWith", true, 1, "text.startsWith('x')"),
            Self::EndsWith => form("endsWith", true, 1, "text.endsWith('x')"),
            Self::Join => form("join", true, 1, "list.join(',')"),
        }
    }
}
