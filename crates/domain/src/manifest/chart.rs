//! A chart of somebody else's: named, never held; and the few of its values that a launch sets (B-11, D-11).
//!
//! Schema and defaults are the chart's own files, imported as they are, so that values can be judged before the chart is
//! anywhere near: they are data to compare with and are never sent to a cluster. What is sent are the values of `set`, which
//! are put into a tree as values and never as text that somebody reads again.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Version, formats};
use crate::FieldError;
use crate::expression::{self, Budget, Code, Fault, Span, Template, Values};
use crate::render::helm::{CuratedSubset, check_texts, check_values};
use crate::text::unescaped;

/// A Helm chart that the engine `helm` runs in the place of the components. Only what `set` lists is given to it; everything
/// else of it stays as the chart has it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Chart {
    /// Which chart; where charts come from is the platform's to know.
    #[schemars(schema_with = "formats::chart_name")]
    pub name: String,
    /// Exactly this version of it.
    #[schemars(schema_with = "formats::version")]
    pub version: Version,
    /// The chart's `values.schema.json` as it is, at most 128 KiB; values are held against it.
    pub values_schema: Map<String, Value>,
    /// The chart's `values.yaml` as it is, at most 64 KiB; what is not set stays so.
    #[serde(default)]
    pub defaults: Map<String, Value>,
    /// What is set, each path once; nothing else of the chart can be.
    #[serde(default)]
    #[schemars(length(max = 128))]
    pub set: Vec<ChartValue>,
}

/// One value of a chart that is set: either computed or the same for every launch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChartValue {
    /// Where it stands in the values, as a JSON pointer through objects; a list is set as a whole.
    #[schemars(schema_with = "formats::json_pointer")]
    pub path: String,
    /// Text with expressions; a single expression keeps its type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "formats::argument")]
    pub value: Option<String>,
    /// The value itself, of any type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub literal: Option<Value>,
}

impl Chart {
    pub fn subset(&self) -> CuratedSubset {
        CuratedSubset(self.set.iter().map(|one| one.path.clone()).collect())
    }

    /// What the chart is given, and the entries of `set` that could not be computed.
    pub(crate) fn values(&self, known: &Values) -> (Map<String, Value>, Vec<(usize, Fault)>) {
        let (mut tree, mut failed) = (Map::new(), Vec::new());
        let mut budget = Budget::default();
        for (index, one) in self.set.iter().enumerate() {
            match one.evaluate(known, &mut budget) {
                Ok(Some(value)) => put(&mut tree, &one.path, value),
                Ok(None) => {}
                Err(fault) => failed.push((index, fault)),
            }
        }
        (tree, failed)
    }

    /// The one parameter that the value at this place is made of, and the way on from there.
    pub(crate) fn parameter_at<'p>(&self, path: &'p str) -> Option<(String, &'p str)> {
        let below = |one: &'_ ChartValue| {
            path.strip_prefix(one.path.as_str()).filter(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let (one, rest) = self.set.iter().find_map(|one| Some((one, below(one)?)))?;
        let text = one.value.as_ref()?;
        let template = Template::parse(text).ok()?;
        let names: BTreeSet<String> = template
            .expressions()
            .flat_map(expression::Expression::names)
            .map(|name| match name[..] {
                ["params", parameter] => parameter.to_owned(),
                _ => String::new(),
            })
            .collect();
        let mut names = names.into_iter();
        let only = names.next().filter(|name| !name.is_empty() && names.next().is_none())?;
        Some((only, rest))
    }

    /// What the chart would not take, with pointers into the values.
    pub(crate) fn faults(&self, values: &Map<String, Value>) -> Vec<FieldError> {
        let mut faults = check_texts(values);
        let (defaults, schema) =
            (Value::Object(self.defaults.clone()), Value::Object(self.values_schema.clone()));
        faults.extend(check_values(&Value::Object(values.clone()), &self.subset(), &defaults, &schema));
        faults
    }
}

impl ChartValue {
    fn evaluate(&self, known: &Values, budget: &mut Budget) -> Result<Option<Value>, Fault> {
        let Some(text) = &self.value else { return Ok(self.literal.clone()) };
        match Template::parse(text)?.evaluate(known, budget)? {
            // Registration refuses it; values are stored and shown, so not even a name goes in by mistake.
            expression::Value::Secret(_) => {
                let span = Span { start: 0, end: text.len() };
                Err(Fault { code: Code::Type, span, message: "No secret is a value of a chart.".to_owned() })
            }
            value => Ok(Some(value.to_json())),
        }
    }
}

/// The names on the way that a pointer describes.
pub(super) fn steps(pointer: &str) -> impl Iterator<Item = String> {
    pointer.split('/').skip(1).map(unescaped)
}

/// Objects on the way are made. That no path leads through the value of another was judged at registration.
fn put(tree: &mut Map<String, Value>, pointer: &str, value: Value) {
    let mut steps = steps(pointer).peekable();
    let mut here = tree;
    while let Some(step) = steps.next() {
        if steps.peek().is_none() {
            here.insert(step, value);
            return;
        }
        let next = here.entry(step).or_insert_with(|| Value::Object(Map::new()));
        if !next.is_object() {
            *next = Value::Object(Map::new());
        }
        here = next.as_object_mut().expect("just made one");
    }
}
