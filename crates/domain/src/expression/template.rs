//! Texts with `${…}` in them: a command's arguments, the values of variables.
//!
//! `$${` is a plain `${`; every other `$` is itself. A text that is one expression and nothing else has that
//! expression's value; in a command a list is then several arguments. Otherwise the pieces are put together as text, and
//! nothing reads the result again: a value that holds `${` or a quote stays what it is.

use super::budget::Budget;
use super::fault::{Code, Fault, Span};
use super::types::{Type, Types};
use super::value::{Value, Values};
use super::{Expression, scan};

/// More is a program in disguise.
pub const MAX_EXPRESSIONS: usize = 64;
/// The longest argument that a node takes.
pub const MAX_TEXT: usize = 32 * 1024;
/// The most arguments that a node takes in one command.
pub const MAX_ARGUMENTS: usize = 256;

#[derive(Clone, Debug, PartialEq)]
pub struct Template {
    pieces: Vec<Piece>,
}

#[derive(Clone, Debug, PartialEq)]
enum Piece {
    Text(String),
    /// And where it begins in the whole.
    Expression(Expression, usize),
}

/// A piece before the parser has seen it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Raw<'a> {
    Text(&'a str),
    /// Without its braces, and where it begins.
    Expression(&'a str, usize),
}

/// Where the pieces begin and end. Reads every byte once and calls no parser.
pub(crate) fn split(text: &str) -> Result<Vec<Raw<'_>>, Fault> {
    let mut pieces = Vec::new();
    let (mut begin, mut at, mut expressions) = (0, 0, 0);
    while let Some(found) = text[at..].find("${").map(|offset| at + offset) {
        if found > begin && text.as_bytes()[found - 1] == b'$' {
            // The first of the two signs goes, the rest stays as it is.
            pieces.push(Raw::Text(&text[begin..found - 1]));
            (begin, at) = (found, found + 2);
            continue;
        }
        expressions += 1;
        if expressions > MAX_EXPRESSIONS {
            let message = format!("A text holds at most {MAX_EXPRESSIONS} expressions.");
            return Err(Fault::new(Code::TooLarge, Span::new(found, found + 2), message));
        }
        pieces.push(Raw::Text(&text[begin..found]));
        let start = found + 2;
        let end = scan::end(text, start, true).map_err(script)?;
        pieces.push(Raw::Expression(&text[start..end], start));
        (begin, at) = (end + 1, end + 1);
    }
    pieces.push(Raw::Text(&text[begin..]));
    pieces.retain(|piece| *piece != Raw::Text(""));
    Ok(pieces)
}

impl Template {
    pub fn parse(text: &str) -> Result<Self, Fault> {
        let parse = |raw| match raw {
            Raw::Text(text) => Ok(Piece::Text(text.to_owned())),
            Raw::Expression(inner, start) => {
                let expression = Expression::parse(inner).map_err(|fault| script(fault).moved(start))?;
                Ok(Piece::Expression(expression, start))
            }
        };
        let pieces = split(text)?.into_iter().map(parse).collect::<Result<_, _>>()?;
        Ok(Self { pieces })
    }

    /// No expression is in it.
    pub fn is_fixed(&self) -> bool {
        self.expressions().next().is_none()
    }

    pub fn expressions(&self) -> impl Iterator<Item = &Expression> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Expression(expression, _) => Some(expression),
            Piece::Text(_) => None,
        })
    }

    /// The type of the one expression that the text is, or text.
    pub fn check(&self, types: &Types) -> Result<Type, Fault> {
        let alone = self.pieces.len() == 1;
        for piece in &self.pieces {
            let Piece::Expression(expression, start) = piece else { continue };
            let kind = expression.check(types).map_err(|fault| {
                let fault = if expression.is_word() { script(fault) } else { fault };
                fault.moved(*start)
            })?;
            if alone {
                return Ok(kind);
            }
            if !kind.has_text() {
                let message = match kind {
                    Type::Secret => {
                        "The name of a secret is handed on alone, with no text beside it.".to_owned()
                    }
                    _ => format!("Beside other text this must be text; it is {}. Use join.", kind.name()),
                };
                return Err(Fault::new(Code::Type, expression.span().moved(*start), message));
            }
        }
        Ok(Type::Text)
    }

    /// The value of the one expression that the text is, or the pieces put together.
    pub fn evaluate(&self, values: &Values, budget: &mut Budget) -> Result<Value, Fault> {
        if let [Piece::Expression(only, start)] = self.pieces.as_slice() {
            let value = only.evaluate(values, budget).map_err(|fault| fault.moved(*start))?;
            let whole = only.span().moved(*start);
            return within(value, whole);
        }
        let mut text = String::new();
        for piece in &self.pieces {
            let span = piece.span();
            match piece {
                Piece::Text(literal) => {
                    budget.produce(literal.len(), span)?;
                    text.push_str(literal);
                }
                Piece::Expression(expression, start) => {
                    let value = expression.evaluate(values, budget).map_err(|fault| fault.moved(*start))?;
                    let part = value.text().ok_or_else(|| {
                        Fault::new(Code::Value, span, "The value here is not of the type that was declared.")
                    })?;
                    budget.produce(part.len(), span)?;
                    text.push_str(&part);
                }
            }
            if text.len() > MAX_TEXT {
                return Err(too_long(span));
            }
        }
        Ok(Value::Text(text))
    }

    /// As a part of a command: one argument, or as many as the list has that the text stands for.
    pub fn arguments(&self, values: &Values, budget: &mut Budget) -> Result<Vec<String>, Fault> {
        let span = self.pieces.first().map_or_else(Span::default, Piece::span);
        let text = |value: &Value| {
            value
                .text()
                .map(std::borrow::Cow::into_owned)
                .ok_or_else(|| Fault::new(Code::Value, span, "The value here cannot stand in a command."))
        };
        match self.evaluate(values, budget)? {
            Value::List(items) => items.iter().map(text).collect(),
            value => Ok(vec![text(&value)?]),
        }
    }
}

impl Piece {
    fn span(&self) -> Span {
        match self {
            Self::Text(_) => Span::default(),
            Self::Expression(expression, start) => expression.span().moved(*start),
        }
    }
}

/// A command is often a script, and what is wrong with an expression is that it was none.
fn script(mut fault: Fault) -> Fault {
    if matches!(fault.code, Code::Syntax | Code::UnknownName) {
        fault.message.push_str(" A plain ${ is written $${.");
    }
    fault
}

fn too_long(span: Span) -> Fault {
    Fault::new(Code::LimitExceeded, span, format!("The text is longer than {MAX_TEXT} bytes."))
}

/// A value of a size that a node takes.
fn within(value: Value, span: Span) -> Result<Value, Fault> {
    let is_long = |value: &Value| matches!(value, Value::Text(text) if text.len() > MAX_TEXT);
    match &value {
        Value::List(items) if items.len() > MAX_ARGUMENTS => {
            let message = format!("The list has more than {MAX_ARGUMENTS} entries.");
            Err(Fault::new(Code::LimitExceeded, span, message))
        }
        Value::List(items) if items.iter().any(is_long) => Err(too_long(span)),
        value if is_long(value) => Err(too_long(span)),
        _ => Ok(value),
    }
}
