//! One value against its parameter.
//!
//! The parameters are a typed subset of JSON Schema, so the checks are written out: one precise fault per value, no value
//! is ever repeated, and patterns run on an engine whose time is linear in the text.

use std::cmp::Ordering;
use std::sync::LazyLock;

use serde_json::{Number, Value};

use super::pattern::Pattern;
pub(crate) use super::pattern::compile;
use super::seen::Seen;
use crate::manifest::{ItemType, Items, Parameter, ParameterFormat, ParameterType, looks_like_secret};
use crate::text::{member_at, nearest};
use crate::{Error, FieldError};

/// More than a person would mend in one go.
pub(super) const MAX_FAULTS: usize = 100;
/// Of a text whose parameter sets no bound.
const MAX_TEXT: usize = 32 * 1024;
const MAX_ITEMS: usize = 1024;
const SHORTEST_SECRET: usize = 20;

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

pub(crate) const RAW_SECRET: &str = "raw_secret_not_allowed";

/// Where a value stands in a request.
pub(crate) fn pointer(name: &str) -> String {
    member_at("/values", name)
}

/// The value as it is kept, for a parameter that is judged once.
pub(crate) fn check(at: &str, parameter: &Parameter, value: &Value) -> Result<Value, Vec<FieldError>> {
    match Rules::of(parameter).check(&Seen::from(value)) {
        Ok(None) => Ok(value.clone()),
        Ok(Some(kept)) => Ok(kept.to_value()),
        Err(refused) => Err(placed(at, refused)),
    }
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
                pattern: of.pattern.as_deref().map(Pattern::of),
                format: of.format.or(parameter.format),
            },
            _ => TextRules {
                min_length: parameter.min_length,
                max_length: parameter.max_length,
                pattern: parameter.pattern.as_deref().map(Pattern::of),
                format: parameter.format,
            },
        };
        Self { parameter: parameter.clone(), text }
    }

    /// The value as it is kept, if that is not how it was written: a whole number may be written with a point.
    pub(super) fn check(&self, value: &Seen<'_>) -> Result<Option<Seen<'static>>, Vec<Refused>> {
        let one = |(code, message): Refusal| vec![Refused { entry: None, code, message }];
        let parameter = &self.parameter;
        let told = |refusal: Refusal| one(secret_instead(value).unwrap_or(refusal));
        let kept = typed(parameter.kind, value).map_err(told)?;
        let value = kept.as_ref().unwrap_or(value);
        check_choice(&parameter.choices, value).map_err(told)?;
        match value {
            Seen::Number(number) => {
                check_number(number, parameter.minimum.as_ref(), parameter.maximum.as_ref()).map_err(one)?;
            }
            Seen::Text(text) if parameter.kind == ParameterType::SecretRef => {
                check_secret(text).map_err(one)?;
            }
            Seen::Text(text) => self.text.check(text).map_err(one)?,
            Seen::List(items) => return self.check_list(items),
            Seen::Null | Seen::Bool(_) | Seen::Object(_) => {}
        }
        Ok(kept)
    }

    fn check_list(&self, items: &[Seen<'_>]) -> Result<Option<Seen<'static>>, Vec<Refused>> {
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
        let (mut changed, mut refused) = (Vec::new(), Vec::new());
        for (entry, item) in items.iter().enumerate() {
            match self.check_item(of, item) {
                Ok(None) => {}
                Ok(Some(kept)) => changed.push((entry, kept)),
                Err((code, message)) => refused.push(Refused { entry: Some(entry), code, message }),
            }
        }
        if !refused.is_empty() {
            return Err(refused);
        }
        if changed.is_empty() {
            return Ok(None);
        }
        let mut kept: Vec<Seen<'static>> = items.iter().map(Seen::to_owned_seen).collect();
        for (entry, item) in changed {
            kept[entry] = item;
        }
        Ok(Some(Seen::List(kept)))
    }

    fn check_item(&self, of: &Items, item: &Seen<'_>) -> Result<Option<Seen<'static>>, Refusal> {
        let told = |refusal: Refusal| secret_instead(item).unwrap_or(refusal);
        let kept = typed_item(of.kind, item).map_err(told)?;
        let item = kept.as_ref().unwrap_or(item);
        check_choice(&of.choices, item).map_err(told)?;
        if let Seen::Text(text) = item {
            self.text.check(text)?;
        }
        Ok(kept)
    }
}

/// Code and sentence.
type Refusal = (&'static str, String);

/// Refused unless it is of the type; another value where it is kept otherwise than written.
#[inline]
fn typed(kind: ParameterType, value: &Seen<'_>) -> Result<Option<Seen<'static>>, Refusal> {
    let (good, name) = match kind {
        ParameterType::String => (matches!(value, Seen::Text(_)), "text"),
        ParameterType::SecretRef => (matches!(value, Seen::Text(_)), "the name of a secret"),
        ParameterType::Integer => return whole(value),
        ParameterType::Number => (matches!(value, Seen::Number(_)), "a number"),
        ParameterType::Boolean => (matches!(value, Seen::Bool(_)), "true or false"),
        ParameterType::Array => (matches!(value, Seen::List(_)), "a list"),
    };
    if good { Ok(None) } else { Err(wrong_type(name, value)) }
}

fn typed_item(kind: ItemType, value: &Seen<'_>) -> Result<Option<Seen<'static>>, Refusal> {
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

fn wrong_type(name: &str, value: &Seen<'_>) -> Refusal {
    let advice = match value {
        Seen::Null => " Leave it out if it has no value.",
        Seen::Number(_) | Seen::Bool(_) if name == "text" => " Put it in quotes.",
        _ => "",
    };
    ("wrong_type", format!("This must be {name}.{advice}"))
}

/// JSON Schema calls `3.0` an integer, and so do we; it is kept as `3`.
#[inline]
fn whole(value: &Seen<'_>) -> Result<Option<Seen<'static>>, Refusal> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let Seen::Number(number) = value else { return Err(wrong_type("a whole number", value)) };
    if number.is_i64() {
        return Ok(None);
    }
    if number.is_u64() {
        // Expressions would not see it, and a rule that they break would hold.
        return Err(("out_of_range", format!("This must be at most {}.", i64::MAX)));
    }
    match number.as_f64() {
        Some(number) if number.fract() == 0.0 && number.abs() <= EXACT => {
            #[expect(clippy::cast_possible_truncation, reason = "whole, and no larger than what is exact")]
            let number = number as i64;
            Ok(Some(Seen::Number(number.into())))
        }
        Some(_) | None => Err(wrong_type("a whole number", value)),
    }
}

#[inline]
fn check_choice(choices: &[Value], value: &Seen<'_>) -> Result<(), Refusal> {
    if choices.is_empty() || choices.iter().any(|choice| is_choice(choice, value)) {
        return Ok(());
    }
    Err(no_choice(choices, value))
}

#[inline]
fn is_choice(choice: &Value, value: &Seen<'_>) -> bool {
    match (choice, value) {
        (Value::String(choice), Seen::Text(text)) => choice == text,
        (Value::Number(a), Seen::Number(b)) => compare(a, b) == Some(Ordering::Equal),
        (choice, value) => Seen::from(choice) == *value,
    }
}

fn no_choice(choices: &[Value], value: &Seen<'_>) -> Refusal {
    const SHOWN: usize = 20;
    let text = |choice: &Value| choice.as_str().map_or_else(|| choice.to_string(), str::to_owned);
    let mut listed: Vec<String> = choices.iter().take(SHOWN).map(text).collect();
    if choices.len() > SHOWN {
        listed.push("…".to_owned());
    }
    let near = match value {
        Seen::Text(text) if text.len() <= 100 => nearest(text, choices.iter().filter_map(Value::as_str)),
        _ => None,
    };
    let hint = near.map_or(String::new(), |near| format!(" Did you mean {near}?"));
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
#[inline]
pub(crate) fn compare(a: &Number, b: &Number) -> Option<Ordering> {
    let whole = |n: &Number| n.as_i64().map(i128::from).or_else(|| n.as_u64().map(i128::from));
    match (whole(a), whole(b)) {
        (Some(a), Some(b)) => Some(a.cmp(&b)),
        _ => a.as_f64()?.partial_cmp(&b.as_f64()?),
    }
}

#[inline]
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

/// Whatever else is wrong with it: what looks like a secret is told as one, so that nobody sends it back.
fn secret_instead(value: &Seen<'_>) -> Option<Refusal> {
    let is_one = match value {
        Seen::Text(text) => is_secret(text),
        Seen::List(items) => items.iter().any(|item| secret_instead(item).is_some()),
        Seen::Null | Seen::Bool(_) | Seen::Number(_) | Seen::Object(_) => false,
    };
    is_one.then(raw_secret)
}

fn raw_secret() -> Refusal {
    (
        RAW_SECRET,
        "This looks like the value of a secret: secrets are named, never sent. If it was real, change it."
            .to_owned(),
    )
}

/// As [`SECRET_NAME`] has it.
fn is_secret_name(text: &str) -> bool {
    (1..=40).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
        && !text.starts_with('-')
        && !text.ends_with('-')
}

/// Shorter than any secret there is, but for a password in an address, most texts need no closer look.
#[inline]
fn is_secret(text: &str) -> bool {
    (text.len() >= SHORTEST_SECRET || text.contains(':')) && looks_like_secret(text)
}

fn check_secret(text: &str) -> Result<(), Refusal> {
    if is_secret(text) {
        return Err(raw_secret());
    }
    if is_secret_name(text) {
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

impl TextRules {
    fn check(&self, text: &str) -> Result<(), Refusal> {
        let size = |bound: Option<u32>| bound.map(|bound| bound as usize);
        let most = size(self.max_length).unwrap_or(MAX_TEXT).min(MAX_TEXT);
        // There are no more characters than bytes, so most texts need not be counted.
        if text.len() > most && text.chars().count() > most {
            return Err(("out_of_range", format!("At most {most} characters.")));
        }
        if let Some(least) = size(self.min_length).filter(|least| text.chars().count() < *least) {
            return Err(("out_of_range", format!("At least {least} characters.")));
        }
        // No program takes NUL in an argument or a variable, and no database of ours in a text.
        if text.contains('\0') {
            return Err(("invalid_value", "Text cannot hold the NUL character.".to_owned()));
        }
        // What has the form of a model has none of a secret: these have no slash in the middle, or a colon before it.
        let is_model =
            self.format == Some(ParameterFormat::ModelName) && is_of(ParameterFormat::ModelName, text);
        if !is_model && is_secret(text) {
            return Err(raw_secret());
        }
        if let Some(pattern) = &self.pattern
            && !pattern.is_match(text)
        {
            return Err(("pattern_mismatch", format!("This does not have the form {}.", pattern.written)));
        }
        match self.format {
            Some(format) if !is_model && !is_of(format, text) => {
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

fn is_of(format: ParameterFormat, text: &str) -> bool {
    static PIP: LazyLock<Pattern> = LazyLock::new(|| Pattern::of(PIP_SPECIFIER));
    static MODEL: LazyLock<Pattern> = LazyLock::new(|| Pattern::of(MODEL_NAME));
    match format {
        ParameterFormat::PipSpecifier => PIP.is_match(text),
        ParameterFormat::ModelName => MODEL.is_match(text),
    }
}

fn sentence_of(format: ParameterFormat) -> &'static str {
    match format {
        ParameterFormat::PipSpecifier => {
            "Name a package and, if you like, its versions without spaces, such as numpy or torch>=2.4,<3; no options, addresses or paths."
        }
        ParameterFormat::ModelName => "Name a model as owner/name.",
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// B-01: the patterns of the platform can be read.
    #[test]
    fn our_own_patterns_are_patterns() {
        for pattern in [PIP_SPECIFIER, MODEL_NAME, SECRET_NAME] {
            assert!(compile(pattern).is_some(), "{pattern}");
        }
        assert!(
            is_of(ParameterFormat::PipSpecifier, "torch[x]>=2.4,<3")
                && !is_of(ParameterFormat::PipSpecifier, "-e .")
        );
        assert!(
            is_of(ParameterFormat::ModelName, "owner/name") && !is_of(ParameterFormat::ModelName, "name")
        );
    }

    proptest! {
        /// B-01, I-11: what is written out by hand says what the pattern that clients read says, and the short cut overlooks
        /// no secret.
        #[test]
        fn short_cuts_lead_to_the_same(name in "[a-z0-9A-]{0,42}", text in "(eyJ|hf_|AKIA|a://)?[A-Za-z0-9:@/_. -]{0,44}") {
            let pattern = compile(SECRET_NAME).unwrap();
            prop_assert_eq!(is_secret_name(&name), pattern.is_match(&name), "{}", name);
            prop_assert_eq!(is_secret(&text), looks_like_secret(&text), "{}", text);
            prop_assert!(!is_of(ParameterFormat::ModelName, &text) || !looks_like_secret(&text), "{}", text);
        }
    }
}
