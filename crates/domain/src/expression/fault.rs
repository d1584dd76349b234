//! Why an expression is refused: a code, a sentence, and the bytes it is about.

use crate::FieldError;

/// A range of bytes in the text that was read, on character boundaries: what a caller underlines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    pub start: usize,
    pub end: usize,
}

impl Span {
    pub(super) fn new(start: usize, end: usize) -> Self {
        Self { start, end }
    }

    /// From the start of the one to the end of the other, whichever comes first.
    pub(super) fn with(self, other: Self) -> Self {
        Self { start: self.start.min(other.start), end: self.end.max(other.end) }
    }

    pub(super) fn moved(self, by: usize) -> Self {
        Self { start: self.start + by, end: self.end + by }
    }
}

/// What kind of refusal it is. The names are public and never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Code {
    /// Not an expression.
    Syntax,
    /// A name that is not there.
    UnknownName,
    /// A value of one type where another is needed, or one that may be absent.
    Type,
    /// A part of the syntax, a function or a name that is not for this place.
    NotAllowed,
    /// Longer, deeper or of more parts than is read.
    TooLarge,
    DivisionByZero,
    /// A whole number, a conversion or an index outside its range.
    OutOfRange,
    /// A text that is no number, or a result that is none.
    NotANumber,
    /// More work or more text than one launch may take.
    LimitExceeded,
    /// A value that is not what was declared for its name.
    Value,
}

impl Code {
    pub const ALL: [Self; 10] = [
        Self::Syntax,
        Self::UnknownName,
        Self::Type,
        Self::NotAllowed,
        Self::TooLarge,
        Self::DivisionByZero,
        Self::OutOfRange,
        Self::NotANumber,
        Self::LimitExceeded,
        Self::Value,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Syntax => "expression_syntax",
            Self::UnknownName => "expression_unknown_name",
            Self::Type => "expression_type",
            Self::NotAllowed => "expression_not_allowed",
            Self::TooLarge => "expression_too_large",
            Self::DivisionByZero => "expression_division_by_zero",
            Self::OutOfRange => "expression_out_of_range",
            Self::NotANumber => "expression_not_a_number",
            Self::LimitExceeded => "expression_limit_exceeded",
            Self::Value => "expression_value",
        }
    }
}

/// One refusal. The message repeats nothing of the text but names that the manifest declares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    pub code: Code,
    pub span: Span,
    pub message: String,
}

impl Fault {
    pub(super) fn new(code: Code, span: Span, message: impl Into<String>) -> Self {
        Self { code, span, message: message.into() }
    }

    /// The fault of a part, as one of the whole in which the part begins at `by`.
    pub(super) fn moved(mut self, by: usize) -> Self {
        self.span = self.span.moved(by);
        self
    }

    /// Where it begins, counted in characters from 1, in the text that was read.
    pub fn character(&self, text: &str) -> usize {
        let before = text.char_indices().take_while(|(at, _)| *at < self.span.start).count();
        before + 1
    }

    /// The message with its place.
    pub fn sentence(&self, text: &str) -> String {
        format!("At character {}: {}", self.character(text), self.message)
    }

    /// As one of the faults of a document, where the text stands at `path`.
    pub fn at(&self, path: impl Into<String>, text: &str) -> FieldError {
        FieldError::new(path, self.code.name(), self.sentence(text))
    }
}
