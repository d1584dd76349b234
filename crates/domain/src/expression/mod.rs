//! Expressions of a manifest: `${…}` in commands and variables, conditions, rules, computed parameters.
//!
//! The syntax is CEL's, read by a CEL parser and cut down to a list of what is allowed ([`Expression::parse`]); types are
//! checked when the manifest is registered ([`Expression::check`]); values are computed when it is launched
//! ([`Expression::evaluate`]).
//!
//! Laws: an expression yields a value, never text that is read again. It ends: there are no loops, and length, depth,
//! steps and bytes are bounded. It cannot panic, whatever it is given. What was checked fails at a launch only for reasons
//! of arithmetic and size. Logic is read from the left and stops when it is decided, unlike CEL's, where the order of
//! `&&` does not matter: `has(x) && x > 1` needs an order.
//!
//! The road not taken is the evaluator of the parser's crate: it checks no types and no cost, and short texts keep it busy
//! for seconds.

mod budget;
mod check;
mod evaluate;
mod fault;
mod lower;
mod names;
mod node;
pub(crate) mod scan;
pub(crate) mod template;
#[cfg(test)]
mod tests;
mod types;
mod value;

pub use budget::{Budget, MAX_BYTES as MAX_PRODUCED_BYTES, MAX_STEPS};
pub use fault::{Code, Fault, Span};
pub use scan::{MAX_BYTES, MAX_NESTING, MAX_TOKENS};
pub use template::{MAX_ARGUMENTS, MAX_EXPRESSIONS, MAX_TEXT, Template};
pub use types::{Type, Types};
pub use value::{Lookup, Value, Values};

use node::{Kind, Node};

/// An expression that was read, and not yet checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Expression {
    root: Node,
    length: usize,
}

impl Expression {
    /// Reads an expression as CEL has it, refusing what the platform leaves out.
    pub fn parse(text: &str) -> Result<Self, Fault> {
        Ok(Self { root: lower::parse(text)?, length: text.len() })
    }

    /// The type it yields where these names are known.
    pub fn check(&self, types: &Types) -> Result<Type, Fault> {
        check::check(&self.root, types)
    }

    /// What it yields for these values. Give one budget to all expressions of a launch.
    pub fn evaluate(&self, values: &impl Lookup, budget: &mut Budget) -> Result<Value, Fault> {
        evaluate::evaluate(&self.root, values, budget)
    }

    /// Every name it looks at, as a path such as `["params", "model"]`, `has()` included.
    pub fn names(&self) -> Vec<Vec<&str>> {
        let mut names = Vec::new();
        self.root.each(&mut |node| {
            if let Kind::Name(path) | Kind::Has(path) = &node.kind {
                names.push(path.names().collect());
            }
        });
        names
    }

    /// Every text that is written out in it.
    pub fn texts(&self) -> Vec<&str> {
        let mut texts = Vec::new();
        self.root.each(&mut |node| {
            if let Kind::Literal(Value::Text(text)) = &node.kind {
                texts.push(text.as_str());
            }
        });
        texts
    }

    /// One name without a point, which none of ours is.
    fn is_word(&self) -> bool {
        matches!(&self.root.kind, Kind::Name(path) if path.steps.len() == 1)
    }

    fn span(&self) -> Span {
        Span::new(0, self.length)
    }
}

/// Reads, checks and evaluates whatever the bytes spell: what a fuzzer calls. It returns, or the laws above are broken.
#[doc(hidden)]
pub fn fuzz_one(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let (types, values) = fuzz_names();
    let in_text = |fault: &Fault| {
        let part = text.get(fault.span.start..fault.span.end);
        assert!(part.is_some(), "a fault can be underlined: {fault:?}");
    };
    match Expression::parse(&text) {
        Err(fault) => in_text(&fault),
        Ok(expression) => {
            assert!(text.len() <= MAX_BYTES, "a text that is too long was read");
            let mut budget = Budget::default();
            let kind = expression.check(&types).inspect_err(in_text);
            let value = expression.evaluate(&values, &mut budget).inspect_err(in_text);
            if let (Ok(kind), Ok(value)) = (&kind, &value) {
                assert!(value.is_of(kind), "a checked expression yields its type");
                // Single numbers are not counted; there are no more of them than words.
                let most = budget.bytes_used() + MAX_TOKENS * size_of::<Value>();
                assert!(value.bytes() <= most, "what is made is counted");
            }
            if let (Ok(_), Err(fault)) = (&kind, &value) {
                assert_ne!(fault.code, Code::Value, "a checked expression meets no value of another type");
            }
        }
    }
    match Template::parse(&text) {
        Err(fault) => in_text(&fault),
        Ok(template) => {
            let _ = template.check(&types).inspect_err(in_text);
            let made = template.arguments(&values, &mut Budget::default());
            if let Ok(arguments) = made {
                let bytes: usize = arguments.iter().map(String::len).sum();
                assert!(bytes <= MAX_PRODUCED_BYTES, "a template makes no more than its budget");
            }
        }
    }
}

/// A name of each type, one of them absent.
fn fuzz_names() -> (Types, Values) {
    let mut types = Types::default();
    let mut values = Values::default();
    for (name, kind, value) in [
        ("x", Type::Text, Value::from("a text")),
        ("n", Type::Int, Value::from(7)),
        ("d", Type::Double, Value::Double(0.5)),
        ("b", Type::Bool, Value::from(true)),
        ("s", Type::Secret, Value::Secret("hub-token".to_owned())),
        ("li", Type::list(Type::Int), Value::from(vec![i64::MIN, i64::MAX, 0])),
    ] {
        types.set(&["params", name], kind);
        values.set(&["params", name], value);
    }
    types.set_optional(&["params", "l"], Type::list(Type::Text));
    values.set(&["params", "l"], vec!["a", "b"]);
    types.set_optional(&["params", "none"], Type::Int);
    (types, values)
}
