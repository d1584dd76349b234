//! Holds values against a chart's JSON schema.
//!
//! A schema here is somebody else's. The keywords that charts use are known; one that is not known, a reference out of the
//! document or a pattern that cannot be read is a fault at the place where it would have counted, because what cannot be
//! judged is not good. No sentence repeats a value.

use std::cmp::Ordering;

use serde_json::{Map, Number, Value};

use crate::FieldError;
use crate::launch_form::values::{compare, compile};
use crate::text::member_at;

const MAX_DEPTH: usize = 64;
/// Rules looked at, in all: without it a short schema whose branches lead back to itself keeps a machine busy for years.
const MAX_STEPS: usize = 200_000;
/// What reading a pattern costs beside looking at a rule.
const STEPS_PER_PATTERN: usize = 1000;
/// What each byte costs that a pattern is held against: an engine that never runs away still looks at each in many ways.
const STEPS_PER_BYTE: usize = 10;
pub(super) const MAX_FAULTS: usize = 100;
const NOT_SUPPORTED: &str = "schema_not_supported";
/// These say nothing about a value.
pub(super) const ANNOTATIONS: &[&str] = &[
    "$schema",
    "$id",
    "$comment",
    "$anchor",
    "$defs",
    "definitions",
    "title",
    "description",
    "default",
    "examples",
    "deprecated",
    "readOnly",
    "writeOnly",
    "format",
    "contentEncoding",
    "contentMediaType",
];

pub(super) fn faults(value: &Value, schema: &Value) -> Vec<FieldError> {
    let mut judge = Judge::new(schema, MAX_STEPS);
    judge.value("", value, schema, 0);
    if judge.steps == 0 {
        judge.faults =
            vec![FieldError::new("/", NOT_SUPPORTED, "The chart's schema takes too long to judge.")];
    }
    judge.faults
}

struct Judge<'a> {
    root: &'a Value,
    faults: Vec<FieldError>,
    /// The first rule that cannot be judged, though there be too many faults to list it.
    unjudged: Option<FieldError>,
    /// That are left. At none everything ends, and nothing is good.
    steps: usize,
}

impl<'a> Judge<'a> {
    fn new(root: &'a Value, steps: usize) -> Self {
        Self { root, faults: Vec::new(), unjudged: None, steps }
    }

    /// Whether there is enough left for so many steps.
    fn step(&mut self, count: usize) -> bool {
        self.steps = self.steps.saturating_sub(count);
        self.steps > 0
    }

    fn fault(&mut self, at: &str, code: &'static str, message: impl Into<String>) {
        let fault = FieldError::new(if at.is_empty() { "/" } else { at }, code, message);
        if code == NOT_SUPPORTED && self.unjudged.is_none() {
            self.unjudged = Some(fault.clone());
        }
        if self.faults.len() < MAX_FAULTS {
            self.faults.push(fault);
        }
    }

    fn unless(&mut self, good: bool, at: &str, code: &'static str, message: &str) {
        if !good {
            self.fault(at, code, message);
        }
    }

    /// Faults are gathered apart: a branch that does not fit is no fault yet. A rule that cannot be judged is one, since
    /// under `not` and `if` it would be good that it is not met.
    fn fits(&mut self, at: &str, value: &Value, schema: &'a Value, depth: usize) -> bool {
        let mut judge = Judge::new(self.root, self.steps);
        judge.value(at, value, schema, depth);
        self.steps = judge.steps;
        if let Some(fault) = judge.unjudged {
            self.fault(&fault.path, NOT_SUPPORTED, fault.message);
        }
        judge.faults.is_empty()
    }

    fn value(&mut self, at: &str, value: &Value, schema: &'a Value, depth: usize) {
        if depth > MAX_DEPTH {
            return self.fault(at, NOT_SUPPORTED, "The schema goes round in circles here.");
        }
        match schema {
            Value::Bool(true) => {}
            Value::Bool(false) => self.fault(at, "unknown_field", "The chart has no such value."),
            Value::Object(keywords) => {
                for (keyword, of) in keywords {
                    if !self.step(1) {
                        return;
                    }
                    self.keyword(at, value, keywords, (keyword, of), depth + 1);
                }
            }
            Value::Null | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                self.fault(at, NOT_SUPPORTED, "The chart's schema cannot be read here.");
            }
        }
    }

    fn keyword(
        &mut self,
        at: &str,
        value: &Value,
        all: &'a Map<String, Value>,
        (keyword, of): (&String, &'a Value),
        depth: usize,
    ) {
        if !is_well_formed(keyword, of) {
            return self.fault(at, NOT_SUPPORTED, "The chart's schema cannot be read here.");
        }
        match keyword.as_str() {
            "$ref" => match of
                .as_str()
                .and_then(|target| target.strip_prefix('#'))
                .and_then(|p| self.root.pointer(p))
            {
                Some(target) => self.value(at, value, target, depth),
                None => {
                    self.fault(at, NOT_SUPPORTED, "The chart's schema refers to another document.");
                }
            },
            "type" => {
                self.unless(is_of(value, of), at, "wrong_type", &format!("This must be {}.", kinds(of)));
            }
            "enum" => {
                let allowed = branches(of);
                if !self.step(allowed.len()) {
                    return;
                }
                let good = allowed.iter().any(|one| same(one, value));
                self.unless(good, at, "invalid_value", "This is none of the values that the chart takes.");
            }
            "const" => self.unless(same(of, value), at, "invalid_value", "The chart takes one value here."),
            "allOf" => branches(of).iter().for_each(|branch| self.value(at, value, branch, depth)),
            "anyOf" | "oneOf" => {
                let fit = branches(of).iter().filter(|branch| self.fits(at, value, branch, depth)).count();
                let good = fit == 1 || (fit > 1 && keyword == "anyOf");
                self.unless(good, at, "invalid_value", "This has none of the forms that the chart takes.");
            }
            "not" => {
                let good = !self.fits(at, value, of, depth);
                self.unless(good, at, "invalid_value", "The chart does not take this.");
            }
            "if" => {
                let then = if self.fits(at, value, of, depth) { "then" } else { "else" };
                if let Some(then) = all.get(then) {
                    self.value(at, value, then, depth);
                }
            }
            "then" | "else" => {}
            "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" | "multipleOf" => {
                self.number(at, value, keyword, of);
            }
            "minLength" | "maxLength" | "pattern" => self.text(at, value, keyword, of),
            "items" | "minItems" | "maxItems" | "uniqueItems" => self.list(at, value, (keyword, of), depth),
            "properties"
            | "patternProperties"
            | "additionalProperties"
            | "required"
            | "minProperties"
            | "maxProperties"
            | "propertyNames"
            | "dependentRequired" => {
                self.object(at, value, all, (keyword, of), depth);
            }
            known if ANNOTATIONS.contains(&known) || known.starts_with("x-") => {}
            _ => self.fault(at, NOT_SUPPORTED, "The chart's schema has a rule here that is not known."),
        }
    }

    fn number(&mut self, at: &str, value: &Value, keyword: &str, of: &Value) {
        let (Value::Number(number), Value::Number(bound)) = (value, of) else { return };
        let order = compare(number, bound);
        let good = match keyword {
            "minimum" => order.is_some_and(Ordering::is_ge),
            "maximum" => order.is_some_and(Ordering::is_le),
            "exclusiveMinimum" => order.is_some_and(Ordering::is_gt),
            "exclusiveMaximum" => order.is_some_and(Ordering::is_lt),
            _ => is_multiple(number, bound),
        };
        self.unless(good, at, "out_of_range", &format!("{keyword} is {of}."));
    }

    fn text(&mut self, at: &str, value: &Value, keyword: &str, of: &Value) {
        let Some(text) = value.as_str() else { return };
        if keyword == "pattern" {
            if !self.step(STEPS_PER_PATTERN + text.len().saturating_mul(STEPS_PER_BYTE)) {
                return;
            }
            match of.as_str().and_then(compile) {
                Some(pattern) => {
                    self.unless(pattern.is_match(text), at, "invalid_value", "The chart takes another form.");
                }
                None => self.fault(at, NOT_SUPPORTED, "The chart's pattern cannot be read."),
            }
            return;
        }
        let length = text.chars().count() as u64;
        let bound = of.as_u64().unwrap_or(0);
        let good = if keyword == "minLength" { length >= bound } else { length <= bound };
        self.unless(good, at, "out_of_range", &format!("{keyword} is {of}."));
    }

    fn list(&mut self, at: &str, value: &Value, (keyword, of): (&String, &'a Value), depth: usize) {
        let Some(items) = value.as_array() else { return };
        let count = items.len() as u64;
        self.step(items.len());
        match keyword.as_str() {
            "items" => {
                for (index, item) in items.iter().enumerate() {
                    self.value(&format!("{at}/{index}"), item, of, depth);
                }
            }
            "uniqueItems" => {
                // Each is compared with each, and comparing is quick.
                self.step(items.len() * items.len() / 64);
                let twice = |index: usize| items[..index].iter().any(|one| same(one, &items[index]));
                let good = *of != true || !(1..items.len()).any(twice);
                self.unless(good, at, "invalid_value", "Each entry may stand once.");
            }
            "minItems" => {
                self.unless(of.as_u64().is_none_or(|n| count >= n), at, "out_of_range", "Too few entries.");
            }
            _ => self.unless(of.as_u64().is_none_or(|n| count <= n), at, "out_of_range", "Too many entries."),
        }
    }

    fn object(
        &mut self,
        at: &str,
        value: &Value,
        all: &'a Map<String, Value>,
        (keyword, of): (&String, &'a Value),
        depth: usize,
    ) {
        let Some(map) = value.as_object() else { return };
        let count = map.len() as u64;
        self.step(map.len());
        match keyword.as_str() {
            "properties" => {
                for (key, value) in map {
                    if let Some(of) = of.get(key) {
                        self.value(&member_at(at, key), value, of, depth);
                    }
                }
            }
            "patternProperties" => {
                for (pattern, of) in of.as_object().into_iter().flatten() {
                    self.matching(at, map, pattern, of, depth);
                }
            }
            "additionalProperties" => {
                let patterns = all.get("patternProperties").and_then(Value::as_object).map_or(0, Map::len);
                if !self.step(map.len() * patterns * STEPS_PER_PATTERN) {
                    return;
                }
                for (key, value) in map.iter().filter(|(key, _)| !is_declared(key, all)) {
                    self.value(&member_at(at, key), value, of, depth);
                }
            }
            "propertyNames" => {
                for key in map.keys() {
                    self.value(&member_at(at, key), &Value::from(key.as_str()), of, depth);
                }
            }
            "required" => self.required(at, map, of),
            "dependentRequired" => {
                for (_, needed) in
                    of.as_object().into_iter().flatten().filter(|(key, _)| map.contains_key(*key))
                {
                    self.required(at, map, needed);
                }
            }
            "minProperties" => {
                self.unless(of.as_u64().is_none_or(|n| count >= n), at, "out_of_range", "Too few members.");
            }
            _ => self.unless(of.as_u64().is_none_or(|n| count <= n), at, "out_of_range", "Too many members."),
        }
    }

    fn matching(&mut self, at: &str, map: &Map<String, Value>, pattern: &str, of: &'a Value, depth: usize) {
        let bytes: usize = map.keys().map(String::len).sum();
        if !self.step(STEPS_PER_PATTERN + bytes.saturating_mul(STEPS_PER_BYTE)) {
            return;
        }
        let Some(pattern) = compile(pattern) else {
            return self.fault(at, NOT_SUPPORTED, "The chart's pattern cannot be read.");
        };
        for (key, value) in map.iter().filter(|(key, _)| pattern.is_match(key)) {
            self.value(&member_at(at, key), value, of, depth);
        }
    }

    fn required(&mut self, at: &str, map: &Map<String, Value>, names: &Value) {
        if !self.step(branches(names).len()) {
            return;
        }
        let names = branches(names).iter().filter_map(Value::as_str);
        for name in names.filter(|name| !map.contains_key(*name)).take(MAX_FAULTS) {
            self.fault(&member_at(at, name), "missing_field", "This is needed.");
        }
    }
}

/// Whether a keyword has what it must have. One that is written otherwise would count for nothing.
fn is_well_formed(keyword: &str, of: &Value) -> bool {
    match keyword {
        "allOf" | "anyOf" | "oneOf" | "enum" | "required" => of.is_array(),
        "properties" | "patternProperties" | "dependentRequired" => of.is_object(),
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" | "multipleOf" => of.is_number(),
        "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties" | "maxProperties" => {
            of.is_u64()
        }
        "uniqueItems" => of.is_boolean(),
        _ => true,
    }
}

fn branches(of: &Value) -> &[Value] {
    of.as_array().map_or(&[], Vec::as_slice)
}

fn is_declared(key: &str, all: &Map<String, Value>) -> bool {
    let by_name = all.get("properties").is_some_and(|of| of.get(key).is_some());
    let patterns = all.get("patternProperties").and_then(Value::as_object).into_iter().flatten();
    by_name || patterns.into_iter().any(|(p, _)| compile(p).is_some_and(|p| p.is_match(key)))
}

/// `1` and `1.0` are one number.
fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => compare(one, other) == Some(Ordering::Equal),
        _ => one == other,
    }
}

/// Whole numbers exactly; of others, `0.3` is three times `0.1` whatever a float makes of it.
fn is_multiple(number: &Number, of: &Number) -> bool {
    if let (Some(number), Some(of)) = (number.as_i64(), of.as_i64()) {
        return of > 0 && number % of == 0;
    }
    let (Some(number), Some(of)) = (number.as_f64(), of.as_f64()) else { return false };
    let times = number / of;
    of > 0.0
        && times.is_finite()
        && (times - times.round()).abs() <= f64::EPSILON * times.abs().max(1.0) * 4.0
}

fn is_of(value: &Value, types: &Value) -> bool {
    let one = |kind: &str| match kind {
        "string" => value.is_string(),
        "integer" => {
            value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|number| number.fract() == 0.0)
        }
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "null" => value.is_null(),
        _ => false,
    };
    match types {
        Value::String(kind) => one(kind),
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).any(one),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => false,
    }
}

fn kinds(types: &Value) -> String {
    let all: Vec<&str> = match types {
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
        one => one.as_str().into_iter().collect(),
    };
    all.join(" or ")
}
