//! A Helm release: the values document, and which chart it is for.
//!
//! Escape law: values are data. Our own chart prints each object of its values with `toYaml` and uses `tpl` nowhere, so a
//! value that holds `{{ }}` comes out as it went in. A chart of somebody else's may use `tpl`; for such a one, texts that
//! hold `{{` are refused.
//!
//! `toYaml` prints nothing at all of an object that holds a character which Helm's own YAML reader does not take (DEL, most of
//! C1, U+FFFE and U+FFFF), and says nothing about it: such texts are refused, and the chart fails where they come.
//!
//! Without a chart of the manifest's, the release is of `workload` (`apps/charts/workload`), and its values are exactly the
//! objects that the Kubernetes renderer makes, held against a schema that is generated from the same types.

mod readable;
mod schema;
mod subset;

use schemars::generate::SchemaSettings;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::input::{HelmRelease, RenderInput};
use super::{Gap, Refusal, Rendered, check, kubernetes, shared, tree, yaml_file};
use crate::FieldError;
use crate::manifest::ExecutionEngine;
use crate::text::member_at;

pub use readable::unreadable;
pub use subset::{CuratedSubset, check_values};

/// Raised when the same input would give another output.
pub const RENDERER_VERSION: i64 = 2;
/// Our own chart, and the version of it that these values are for.
pub const CHART: &str = "workload";
pub const CHART_VERSION: &str = "0.1.0";

#[derive(Serialize)]
struct Release<'a> {
    chart: &'a str,
    version: &'a str,
    /// Helm allows 53 characters; this has 43.
    name: String,
}

#[derive(Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "Values of the chart `workload`: the objects that it prints")]
struct Values {
    objects: Vec<kubernetes::Object>,
}

pub fn render(input: &RenderInput) -> Result<Rendered, Refusal> {
    let name = shared::instance_name(input);
    let (gaps, files) = if let Some(chart) = &input.helm {
        let gaps = Refusal::unless_clean(chart_gaps(input, chart))?;
        let release = Release { chart: &chart.chart, version: chart.version.as_str(), name };
        (gaps, vec![yaml_file("release.yaml", &release), yaml_file("values.yaml", &chart.values)])
    } else {
        let mut gaps = kubernetes::all_gaps(input);
        unprintable("", &tree(&input.components), &mut gaps);
        let gaps = Refusal::unless_clean(gaps)?;
        let release = Release { chart: CHART, version: CHART_VERSION, name };
        let values = Values { objects: kubernetes::objects(input) };
        (gaps, vec![yaml_file("release.yaml", &release), yaml_file("values.yaml", &values)])
    };
    Ok(Rendered::new(ExecutionEngine::Helm, RENDERER_VERSION, files, gaps))
}

/// The schema of our chart's values, as `apps/charts/workload/values.schema.json` has it.
pub fn values_schema() -> Value {
    let generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    json!(generator.into_root_schema_for::<Values>())
}

/// A name is all that says which chart; where it is fetched from is never the manifest's to say.
pub fn is_chart_name(name: &str) -> bool {
    (1..=53).contains(&name.len())
        && name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
}

/// Texts that a chart of somebody else's must not get, with pointers into the values.
pub fn check_texts(values: &Map<String, Value>) -> Vec<FieldError> {
    let gaps = text_gaps("", values).into_iter();
    gaps.map(|gap| FieldError::new(gap.path, gap.code, gap.message)).collect()
}

fn text_gaps(at: &str, values: &Map<String, Value>) -> Vec<Gap> {
    let mut gaps = Vec::new();
    for (key, value) in values {
        values_gaps(&member_at(at, key), key, value, &mut gaps);
    }
    gaps
}

fn chart_gaps(input: &RenderInput, chart: &HelmRelease) -> Vec<Gap> {
    let mut gaps = check::faults(input);
    gaps.extend(shared::check_identity(input));
    if !is_chart_name(&chart.chart) {
        let message = "A chart's name is at most 53 of a-z, 0-9 and hyphens, and starts with a letter.";
        gaps.push(Gap::refuse("/helm/chart", "invalid_name", message));
    }
    gaps.extend(text_gaps("/helm/values", &chart.values));
    for index in 0..input.components.len() {
        let message = "The chart decides what runs; of this component only its endpoints count.";
        gaps.push(Gap::note(format!("/components/{index}"), "chart_decides", message));
    }
    gaps
}

/// Where a text of the components cannot be printed.
fn unprintable(at: &str, value: &Value, gaps: &mut Vec<Gap>) {
    match value {
        Value::String(text) if !is_printable(text) => gaps.push(not_printable(format!("/components{at}"))),
        Value::Array(items) => {
            let items = items.iter().enumerate();
            items.for_each(|(index, item)| unprintable(&format!("{at}/{index}"), item, gaps));
        }
        Value::Object(map) => {
            map.iter().for_each(|(key, value)| unprintable(&member_at(at, key), value, gaps));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn is_printable(text: &str) -> bool {
    !text.contains(|c: char| matches!(c, '\u{7f}'..='\u{84}' | '\u{86}'..='\u{9f}' | '\u{fffe}' | '\u{ffff}'))
}

fn not_printable(path: impl Into<String>) -> Gap {
    Gap::refuse(path, "character_not_printable", "This text holds a character that Helm loses.")
}

fn values_gaps(at: &str, key: &str, value: &Value, gaps: &mut Vec<Gap>) {
    let mut text = |text: &str| {
        if text.contains("{{") {
            let message = "A chart might run this as a template; it is not taken.";
            gaps.push(Gap::refuse(at, "template_in_value", message));
        } else if text.contains('\0') {
            gaps.push(Gap::refuse(at, "invalid_text", "A value has no NUL."));
        } else if !is_printable(text) {
            gaps.push(not_printable(at));
        }
    };
    text(key);
    match value {
        Value::String(value) => text(value),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                values_gaps(&format!("{at}/{index}"), "", item, gaps);
            }
        }
        Value::Object(map) => {
            map.iter().for_each(|(key, value)| values_gaps(&member_at(at, key), key, value, gaps));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
