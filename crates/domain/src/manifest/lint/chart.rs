//! A chart that values can be made for: its schema can be judged, its defaults satisfy it, and what is set is set once and
//! gives nothing that no app gets.

use serde_json::{Map, Value};

use super::Faults;
use crate::event::canonical;
use crate::launch::Wish;
use crate::launch::target::needs;
use crate::launch_form::resolution::{Around, resolve};
use crate::manifest::chart::steps;
use crate::manifest::{Chart, ChartValue, ExecutionEngine, Manifest, forbidden};
use crate::render::helm::unreadable;

const MAX_SCHEMA_BYTES: usize = 128 * 1024;
const MAX_DEFAULTS_BYTES: usize = 64 * 1024;

pub(super) fn check(manifest: &Manifest, faults: &mut Faults) {
    let runs_helm = manifest.expand().engines.contains(&ExecutionEngine::Helm);
    let is_empty = manifest.runtime_profile.is_none() && manifest.components.is_empty();
    let Some(chart) = &manifest.chart else {
        if is_empty && runs_helm {
            let sentence = "Helm runs components, or the components of a chart; here is neither.";
            faults.add("/execution_engines", "engine_mismatch", sentence);
        }
        return;
    };
    if !runs_helm {
        faults.add("/chart", "engine_mismatch", "A chart is run by helm: name it in execution_engines.");
    }
    if is_empty {
        let sentence = "Name the images and amounts of the chart's workloads in components, so that they can be checked.";
        faults.add("/components", "missing_field", sentence);
    }
    version(chart, faults);
    let good_size = is_within("/chart/values_schema", &chart.values_schema, MAX_SCHEMA_BYTES, faults)
        & is_within("/chart/defaults", &chart.defaults, MAX_DEFAULTS_BYTES, faults);
    for (index, one) in chart.set.iter().enumerate() {
        setting(&format!("/chart/set/{index}"), one, chart, faults);
    }
    each_place_once(chart, faults);
    let mut readable = true;
    for (at, sentence) in unreadable(&Value::Object(chart.values_schema.clone())) {
        readable = false;
        faults.add(format!("/chart/values_schema{at}"), "schema_not_supported", sentence);
    }
    let reachable = chart.set.iter().all(|one| leads_through_objects(&one.path, &chart.defaults));
    if readable && good_size && reachable {
        defaults(manifest, chart, faults);
    }
}

/// Helm knows versions of three numbers only.
fn version(chart: &Chart, faults: &mut Faults) {
    let numbers = chart.version.as_str().split(['-', '+']).next().unwrap_or_default();
    if numbers.split('.').count() != 3 {
        faults.add("/chart/version", "invalid_version", "A chart's version has three numbers, as in 1.2.0.");
    }
}

fn is_within(at: &str, imported: &Map<String, Value>, most: usize, faults: &mut Faults) -> bool {
    let good = canonical(&Value::Object(imported.clone())).len() <= most;
    if !good {
        faults.add(at, "out_of_range", format!("At most {} KiB, written as JSON.", most / 1024));
    }
    good
}

fn setting(at: &str, one: &ChartValue, chart: &Chart, faults: &mut Faults) {
    match (&one.value, &one.literal) {
        (None, None) => faults.add(at, "missing_field", "Give value or literal; null is no value."),
        (Some(_), Some(_)) => {
            faults.add(format!("{at}/literal"), "exclusive_blocks", "Either value or literal, not both.");
        }
        (Some(_), None) | (None, Some(_)) => {}
    }
    let mut names: Vec<String> = steps(&one.path).collect();
    names.extend(one.literal.iter().flat_map(keys));
    if let Some((code, sentence)) = names.iter().find_map(|name| forbidden::in_values(name)) {
        faults.add(format!("{at}/path"), code, sentence);
    }
    if one.value.as_ref().is_some_and(|text| text.contains("{{")) {
        templates(format!("{at}/value"), faults);
    }
    if one.literal.iter().any(holds_template) {
        templates(format!("{at}/literal"), faults);
    }
    if !leads_through_objects(&one.path, &chart.defaults) {
        let sentence = "The chart's default on the way is no object; set that one as a whole.";
        faults.add(format!("{at}/path"), "invalid_value", sentence);
    }
}

fn templates(at: String, faults: &mut Faults) {
    faults.add(at, "template_in_value", "A chart might run this as a template; it is not taken.");
}

fn holds_template(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains("{{"),
        Value::Array(items) => items.iter().any(holds_template),
        Value::Object(map) => map.iter().any(|(key, value)| key.contains("{{") || holds_template(value)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

fn keys(value: &Value) -> Vec<String> {
    match value {
        Value::Object(map) => {
            map.iter().flat_map(|(key, value)| [vec![key.clone()], keys(value)].concat()).collect()
        }
        Value::Array(items) => items.iter().flat_map(keys).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    }
}

/// Helm merges objects and replaces everything else, so a path through a list or a text would replace more than it says.
fn leads_through_objects(path: &str, defaults: &Map<String, Value>) -> bool {
    let mut here = Some(defaults);
    let mut steps = steps(path).peekable();
    while let (Some(map), Some(step)) = (here, steps.next()) {
        match map.get(&step) {
            Some(Value::Object(next)) => here = Some(next),
            None | Some(Value::Null) => return true,
            Some(_) => return steps.peek().is_none(),
        }
    }
    true
}

/// Neither twice nor one below another, so that the order makes no difference.
fn each_place_once(chart: &Chart, faults: &mut Faults) {
    for (index, one) in chart.set.iter().enumerate() {
        let before = &chart.set[..index];
        if before
            .iter()
            .any(|other| is_at_or_below(&one.path, &other.path) || is_at_or_below(&other.path, &one.path))
        {
            let sentence = "This place is set by an entry before, as itself or as a part; each is set once.";
            faults.add(format!("/chart/set/{index}/path"), "duplicate_name", sentence);
        }
    }
}

fn is_at_or_below(path: &str, other: &str) -> bool {
    path.strip_prefix(other).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// A launch that chooses nothing gives values that the chart takes. What follows from choices without a default or from the
/// place is not known here; it is judged at launch.
fn defaults(manifest: &Manifest, chart: &Chart, faults: &mut Faults) {
    let (needs, _) = needs(&manifest.expand(), &Wish::default(), None, false);
    let known = resolve(manifest, &Map::new(), Around { needs, addons: &[] }).known;
    let (values, unknown) = chart.values(&known);
    for fault in chart.faults(&values) {
        let path = fault.path.trim_end_matches('/');
        let touches = |one: &ChartValue| is_at_or_below(path, &one.path) || is_at_or_below(&one.path, path);
        // A schema that cannot be judged cannot be judged at launch either.
        if fault.code == "schema_not_supported" {
            faults.add("/chart/values_schema", fault.code, fault.message);
            continue;
        }
        if unknown.iter().any(|(index, _)| touches(&chart.set[*index])) {
            continue;
        }
        let set = chart.set.iter().position(|one| is_at_or_below(path, &one.path));
        if let Some(index) = set.filter(|_| fault.code == "unknown_field") {
            let sentence = "The chart's schema has no such value.";
            faults.add(format!("/chart/set/{index}/path"), "invalid_value", sentence);
            continue;
        }
        let at = match set {
            Some(index) if chart.set[index].value.is_some() => format!("/chart/set/{index}/value"),
            Some(index) => format!("/chart/set/{index}/literal"),
            None => format!("/chart/defaults{path}"),
        };
        // Both are said of texts that only a default of a parameter can bring here.
        let code = match fault.code {
            "character_not_printable" | "invalid_text" => "invalid_value",
            code => code,
        };
        faults.add(at, code, fault.message);
    }
}
