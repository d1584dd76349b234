//! One value against its parameter.
//!
//! The parameters are a typed subset of JSON Schema, so the checks are written out: one precise fault per value, no value
//! is ever repeated, and patterns run on an engine whose time is linear in the text.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::sync::LazyLock;

use regex_lite::{Regex, RegexBuilder};
use serde_json::{Number, Value};

use crate::manifest::{ItemType, Items, Parameter, ParameterFormat, ParameterType, looks_like_secret};
use crate::text::{member_at, nearest};
use crate::{Error, FieldError};

/// More than a person would mend in one go.
pub(super) const MAX_FAULTS: usize = 100;
/// Of a text whose parameter sets no bound.
const MAX_TEXT: usize = 32 * 1024;
const MAX_ITEMS: usize = 1024;
/// Of a compiled pattern: enough for what people write, too little for one that eats the machine.
const MAX_PATTERN_BYTES: usize = 64 * 1024;

const PIP_SPECIFIER: &str = r"^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,98}[A-Za-z0-9])?(?:\[[A-Za-z0-9][A-Za-z0-9._-]*(?:,[A-Za-z0-9][A-Za-z0-9._-]*)*\])?(?:(?:===|==|~=|!=|<=|>=|<|>)[A-Za-z0-9][A-Za-z0-9.*+!_-]*(?:,(?:===|==|~=|!=|<=|>=|<|>)[A-Za-z0-9][A-Za-z0-9.*+!_-]*)*)?$";
const MODEL_NAME: &str = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,95}/[A-Za-z0-9][A-Za-z0-9._-]{0,95}$";
/// The name of a secret of the project.
pub(super) const SECRET_NAME: &str = "^[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?$";

/// All faults; what looks like a secret gives its code to the whole.
pub(crate) fn refusal(faults: Vec<FieldError>) -> Error {
    let secret = faults.iter().find(|fault| fault.code == RAW_SECRET).map(|fault| fault.message.clone());
    let error = Error::fields(faults);
    match secret {
        Some(sentence) => error.reworded("raw_secret_not_allowed", sentence),
        None => error,
    }
}

pub(super) const RAW_SECRET: &str = "raw_secret_not_allowed";

/// Where a value stands in a request.
pub(super) fn pointer(name: &str) -> String {
    member_at("/values", name)
}

/// The value as it is kept, for a parameter that is judged once.
pub(crate) fn check(at: &str, parameter: &Parameter, value: &Value) -> Result<Value, Vec<FieldError>> {
    Rules::of(parameter).check(value).map(Cow::into_owned).map_err(|refused| placed(at, refused))
}

/// What is refused of the value at this place.
pub(super) fn placed(at: &str, refused: Vec<Refused>) -> Vec<FieldError> {
    let fault = |refused: Refused| {
        let at = refused.entry.map_or_else(|| at.to_owned(), |entry| format!("{at}/{entry}"));
        FieldError::new(at, refused.code, refused.message)
    };
    refused.into_iter().map(fault).collect()
}

/// Of a value, or of one entry of a list.
pub(super) struct Refused {
    entry: Option<usize>,
    code: &'static str,
    message: String,
}

/// A parameter made ready for any number of values: patterns are compiled once.
#[derive(Clone, Debug)]
pub(super) struct Rules {
    parameter: Parameter,
    /// Of the text itself, or of the entries of the list.
    text: TextRules,
}

impl Rules {
    pub(super) fn of(parameter: &Parameter) -> Self {
        let text = match (&parameter.items, parameter.kind) {
            // A format of the list is one of its entries.
            (Some(of), ParameterType::Array) => TextRules {
                min_length: None,
                max_length: of.max_length,
                pattern: Pattern::of(of.pattern.as_deref()),
                format: of.format.or(parameter.format),
            },
            _ => TextRules {
                min_length: parameter.min_length,
                max_length: parameter.max_length,
                pattern: Pattern::of(parameter.pattern.as_deref()),
                format: parameter.format,
            },
        };
        Self { parameter: parameter.clone(), text }
    }

    /// The value as it is kept: a whole number may be written with a point.
    pub(super) fn check<'v>(&self, value: &'v Value) -> Result<Cow<'v, Value>, Vec<Refused>> {
        let one = |(code, message): Refusal| vec![Refused { entry: None, code, message }];
        let parameter = &self.parameter;
        let value = typed(parameter.kind, value).map_err(one)?;
        check_choice(&parameter.choices, &value).map_err(one)?;
        match &*value {
            Value::Number(number) => {
                check_number(number, parameter.minimum.as_ref(), parameter.maximum.as_ref()).map_err(one)?;
            }
            Value::String(text) if parameter.kind == ParameterType::SecretRef => {
                check_secret(text).map_err(one)?;
            }
            Value::String(text) => self.text.check(text).map_err(one)?,
            Value::Array(items) => {
                if let Some(kept) = self.check_list(items)? {
                    return Ok(Cow::Owned(Value::Array(kept)));
                }
            }
            Value::Null | Value::Bool(_) | Value::Object(_) => {}
        }
        Ok(value)
    }

    /// The entries as they are kept, if that is not how they were written.
    fn check_list(&self, items: &[Value]) -> Result<Option<Vec<Value>>, Vec<Refused>> {
        let size = |bound: Option<u32>| bound.map(|bound| bound as usize);
        let whole = |message: String| vec![Refused { entry: None, code: "out_of_range", message }];
        let most = size(self.parameter.max_items).unwrap_or(MAX_ITEMS).min(MAX_ITEMS);
        if items.len() > most {
            return Err(whole(format!("At most {most} entries.")));
        }
        if let Some(least) = size(self.parameter.min_items).filter(|least| items.len() < *least) {
            return Err(whole(format!("At least {least} entries.")));
        }
        let Some(of) = &self.parameter.items else { return Ok(None) };
        let (mut kept, mut refused) = (None, Vec::new());
        for (entry, item) in items.iter().enumerate() {
            match self.check_item(of, item) {
                Ok(Cow::Borrowed(_)) => {}
                Ok(Cow::Owned(item)) => kept.get_or_insert_with(|| items.to_vec())[entry] = item,
                Err((code, message)) => refused.push(Refused { entry: Some(entry), code, message }),
            }
        }
        if refused.is_empty() { Ok(kept) } else { Err(refused) }
    }

    fn check_item<'v>(&self, of: &Items, item: &'v Value) -> Result<Cow<'v, Value>, Refusal> {
        let item = typed_item(of.kind, item)?;
        check_choice(&of.choices, &item)?;
        if let Value::String(text) = &*item {
            self.text.check(text)?;
        }
        Ok(item)
    }
}

/// Code and sentence.
type Refusal = (&'static str, String);

fn typed(kind: ParameterType, value: &Value) -> Result<Cow<'_, Value>, Refusal> {
    let (good, name) = match kind {
        ParameterType::String => (value.is_string(), "text"),
        ParameterType::SecretRef => (value.is_string(), "the name of a secret"),
        ParameterType::Integer => return whole(value),
        ParameterType::Number => (value.is_number(), "a number"),
        ParameterType::Boolean => (value.is_boolean(), "true or false"),
        ParameterType::Array => (value.is_array(), "a list"),
    };
    if good { Ok(Cow::Borrowed(value)) } else { Err(wrong_type(name, value)) }
}

fn typed_item(kind: ItemType, value: &Value) -> Result<Cow<'_, Value>, Refusal> {
    typed(
        match kind {
            ItemType::String => ParameterType::String,
            ItemType::Integer => ParameterType::Integer,
            ItemType::Number => ParameterType::Number,
            ItemType::Boolean => ParameterType::Boolean,
        },
        value,
    )
}

fn wrong_type(name: &str, value: &Value) -> Refusal {
    let advice = match value {
        Value::Null => " Leave it out if it has no value.",
        Value::Number(_) | Value::Bool(_) if name == "text" => " Put it in quotes.",
        _ => "",
    };
    ("wrong_type", format!("This must be {name}.{advice}"))
}

/// JSON Schema calls `3.0` an integer, and so do we; it is kept as `3`.
fn whole(value: &Value) -> Result<Cow<'_, Value>, Refusal> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if value.is_i64() || value.is_u64() {
        return Ok(Cow::Borrowed(value));
    }
    match value.as_f64() {
        Some(number) if number.fract() == 0.0 && number.abs() <= EXACT => {
            #[expect(clippy::cast_possible_truncation, reason = "whole, and no larger than what is exact")]
            let number = number as i64;
            Ok(Cow::Owned(Value::from(number)))
        }
        Some(_) | None => Err(wrong_type("a whole number", value)),
    }
}

fn check_choice(choices: &[Value], value: &Value) -> Result<(), Refusal> {
    if choices.is_empty() || choices.iter().any(|choice| is_same(choice, value)) {
        return Ok(());
    }
    Err(no_choice(choices, value))
}

fn no_choice(choices: &[Value], value: &Value) -> Refusal {
    const SHOWN: usize = 20;
    let text = |choice: &Value| choice.as_str().map_or_else(|| choice.to_string(), str::to_owned);
    let mut listed: Vec<String> = choices.iter().take(SHOWN).map(text).collect();
    if choices.len() > SHOWN {
        listed.push("…".to_owned());
    }
    let hint = value
        .as_str()
        .filter(|text| text.len() <= 100)
        .and_then(|text| nearest(text, choices.iter().filter_map(Value::as_str)))
        .map_or(String::new(), |near| format!(" Did you mean {near}?"));
    ("invalid_value", format!("One of {}.{hint}", listed.join(", ")))
}

/// Numbers by their worth, everything else by what it is.
pub(super) fn is_same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => compare(a, b) == Some(Ordering::Equal),
        (a, b) => a == b,
    }
}

/// Whole numbers exactly, others as far as a float goes.
fn compare(a: &Number, b: &Number) -> Option<Ordering> {
    let whole = |n: &Number| n.as_i64().map(i128::from).or_else(|| n.as_u64().map(i128::from));
    match (whole(a), whole(b)) {
        (Some(a), Some(b)) => Some(a.cmp(&b)),
        _ => a.as_f64()?.partial_cmp(&b.as_f64()?),
    }
}

fn check_number(value: &Number, least: Option<&Number>, most: Option<&Number>) -> Result<(), Refusal> {
    let below = least.is_some_and(|least| !matches!(compare(value, least), Some(o) if o.is_ge()));
    let above = most.is_some_and(|most| !matches!(compare(value, most), Some(o) if o.is_le()));
    if !below && !above {
        return Ok(());
    }
    let bounds = match (least, most) {
        (Some(least), Some(most)) => format!("{least} to {most}"),
        (Some(least), None) => format!("{least} or more"),
        (None, Some(most)) => format!("{most} or less"),
        (None, None) => "a number".to_owned(),
    };
    Err(("out_of_range", format!("This must be {bounds}.")))
}

fn raw_secret() -> Refusal {
    (
        RAW_SECRET,
        "This looks like the value of a secret: secrets are named, never sent. If it was real, change it."
            .to_owned(),
    )
}

fn check_secret(text: &str) -> Result<(), Refusal> {
    static NAME: LazyLock<Regex> = LazyLock::new(|| own(SECRET_NAME));
    if looks_like_secret(text) {
        return Err(raw_secret());
    }
    if NAME.is_match(text) {
        return Ok(());
    }
    let sentence = "Name a secret of the project: 1 to 40 of a-z, 0-9 and inner hyphens.";
    Err(("invalid_value", sentence.to_owned()))
}

#[derive(Clone, Debug)]
struct TextRules {
    min_length: Option<u32>,
    max_length: Option<u32>,
    pattern: Option<Pattern>,
    format: Option<ParameterFormat>,
}

#[derive(Clone, Debug)]
struct Pattern {
    written: String,
    /// One that cannot be read was registered before patterns were, and matches nothing.
    read: Option<Regex>,
}

impl Pattern {
    fn of(written: Option<&str>) -> Option<Self> {
        written.map(|written| Self { written: written.to_owned(), read: compile(written) })
    }
}

impl TextRules {
    fn check(&self, text: &str) -> Result<(), Refusal> {
        let length = text.chars().count();
        let size = |bound: Option<u32>| bound.map(|bound| bound as usize);
        let most = size(self.max_length).unwrap_or(MAX_TEXT).min(MAX_TEXT);
        if length > most {
            return Err(("out_of_range", format!("At most {most} characters.")));
        }
        if let Some(least) = size(self.min_length).filter(|least| length < *least) {
            return Err(("out_of_range", format!("At least {least} characters.")));
        }
        // No program takes NUL in an argument or a variable, and no database of ours in a text.
        if text.contains('\0') {
            return Err(("invalid_value", "Text cannot hold the NUL character.".to_owned()));
        }
        if looks_like_secret(text) {
            return Err(raw_secret());
        }
        if let Some(pattern) = &self.pattern
            && !pattern.read.as_ref().is_some_and(|read| read.is_match(text))
        {
            return Err(("pattern_mismatch", format!("This does not have the form {}.", pattern.written)));
        }
        match self.format {
            Some(format) if !regex_of(format).is_match(text) => {
                Err(("invalid_value", sentence_of(format).to_owned()))
            }
            Some(_) | None => Ok(()),
        }
    }
}

/// The form of a platform format, for every reader of the schema.
pub(super) fn pattern_of(format: ParameterFormat) -> &'static str {
    match format {
        ParameterFormat::PipSpecifier => PIP_SPECIFIER,
        ParameterFormat::ModelName => MODEL_NAME,
    }
}

fn regex_of(format: ParameterFormat) -> &'static Regex {
    static PIP: LazyLock<Regex> = LazyLock::new(|| own(PIP_SPECIFIER));
    static MODEL: LazyLock<Regex> = LazyLock::new(|| own(MODEL_NAME));
    match format {
        ParameterFormat::PipSpecifier => &PIP,
        ParameterFormat::ModelName => &MODEL,
    }
}

fn own(pattern: &str) -> Regex {
    compile(pattern).expect("a pattern of the platform is one")
}

fn sentence_of(format: ParameterFormat) -> &'static str {
    match format {
        ParameterFormat::PipSpecifier => {
            "Name a package and, if you like, its versions without spaces, such as numpy or torch>=2.4,<3; no options, addresses or paths."
        }
        ParameterFormat::ModelName => "Name a model as owner/name.",
    }
}

/// A pattern as the platform reads it. None where it cannot.
pub(crate) fn compile(pattern: &str) -> Option<Regex> {
    RegexBuilder::new(pattern).size_limit(MAX_PATTERN_BYTES).nest_limit(50).build().ok()
}
