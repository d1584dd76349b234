//! A profile around a chart of somebody else's, from its manifest to the values that Helm gets.

use gpuaas_domain::Error;
use gpuaas_domain::launch::offline::{Devices, Offline};
use gpuaas_domain::launch::{Planned, Wish};
use gpuaas_domain::manifest::{self, ExecutionEngine, Format, Manifest};
use gpuaas_domain::render::helm::{CuratedSubset, check_values};
use gpuaas_domain::render::{RenderInput, render};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::readers::{read, trees};

const APP: &str = include_str!("../golden/chart/app.yaml");

fn manifest() -> Manifest {
    let manifest = manifest::parse(APP.as_bytes(), Format::Yaml).unwrap().manifest;
    assert_eq!(manifest::lint(&manifest, None), []);
    manifest
}

fn hostile() -> Map<String, Value> {
    serde_json::from_str(include_str!("../golden/chart/values.json")).unwrap()
}

fn plan(values: Map<String, Value>) -> Result<Planned, Error> {
    let manifest = manifest();
    Offline::new(&manifest, &Devices::of(&manifest)).plan(&Wish { values, ..Wish::default() })
}

fn shown(planned: Planned) -> RenderInput {
    RenderInput { identity: planned.input.identity.clone().as_preview(), ..planned.input }
}

/// Code and check of a refusal, and the places.
fn refused(name: &str, value: Value) -> (&'static str, Value, Vec<(String, &'static str)>) {
    let mut values = hostile();
    values.insert(name.to_owned(), value);
    let error = plan(values).unwrap_err();
    let fields = error.field_errors().iter().map(|field| (field.path.clone(), field.code)).collect();
    (error.code(), error.params()["check"].clone(), fields)
}

/// B-11: schema and defaults of the profile are the chart's own files.
#[test]
fn the_profile_imports_the_charts_files_as_they_are() {
    let chart = manifest().chart.unwrap();
    let schema: Value =
        serde_json::from_str(include_str!("../golden/chart/inference-stack/values.schema.json")).unwrap();
    assert_eq!(Value::Object(chart.values_schema), schema);
    assert_eq!(
        Value::Object(chart.defaults),
        read(include_str!("../golden/chart/inference-stack/values.yaml"))
    );
}

/// B-11, D-11: hostile values come out of the files as they went in, with their types, and always as the same bytes.
#[test]
fn a_chart_gets_these_files() {
    let input = shown(plan(hostile()).unwrap());
    let rendered = render(ExecutionEngine::Helm, &input).unwrap();
    assert_eq!(rendered, render(ExecutionEngine::Helm, &shown(plan(hostile()).unwrap())).unwrap());
    let kept =
        [include_str!("../golden/chart/helm/release.yaml"), include_str!("../golden/chart/helm/values.yaml")];
    let now: Vec<&str> = rendered.files.iter().map(|file| file.bytes.as_str()).collect();
    assert_eq!(now, kept, "if this is meant: cargo run -p gpuaas-domain --example render -- golden");
    let files = trees(&rendered);
    assert_eq!((&files[0]["chart"], &files[0]["version"]), (&json!("inference-stack"), &json!("1.2.0")));
    let chosen = hostile();
    let model = format!("runs {} on 1", chosen["model"].as_str().unwrap());
    assert_eq!(
        files[1],
        json!({
            "replicaCount": 3,
            "auth": {"enabled": true},
            "server": {"motd": chosen["motd"], "hosts": chosen["hosts"], "ratio": 1.0, "port": 8080},
            "annotations": {"example.org/model": model},
        })
    );
}

/// D-01, D-11: Helm gets the chart, the other engines run the components.
#[test]
fn the_other_engines_run_the_components() {
    let planned = plan(hostile()).unwrap();
    let taken: Vec<(ExecutionEngine, bool)> =
        planned.plan.engines.iter().map(|engine| (engine.engine, engine.renders)).collect();
    let engines = [ExecutionEngine::Helm, ExecutionEngine::Kubernetes, ExecutionEngine::DockerCompose];
    assert_eq!(taken, engines.map(|engine| (engine, true)));
    assert_eq!(planned.plan.execution_engine, "helm");
    let mut without = shown(planned);
    let compose = render(ExecutionEngine::DockerCompose, &without).unwrap();
    without.helm = None;
    assert_eq!(compose, render(ExecutionEngine::DockerCompose, &without).unwrap());
}

/// B-11, D-11: what the chart would not take is refused in the plan, at the parameter that it comes from.
#[test]
fn what_the_chart_does_not_take_is_refused_in_the_plan() {
    for (name, value, path, code) in [
        ("motd", json!("{{ .Release.Name }}"), "/values/motd", "template_in_value"),
        ("model", json!("{{x"), "/chart/values/annotations/example.org~1model", "template_in_value"),
        ("hosts", json!(["a", "{{b}}"]), "/values/hosts/1", "template_in_value"),
        ("motd", json!("a\u{7f}b"), "/values/motd", "character_not_printable"),
        ("motd", json!("x".repeat(401)), "/values/motd", "out_of_range"),
        ("replicas", json!(9), "/values/replicas", "out_of_range"),
        ("ratio", json!(1.5), "/values/ratio", "out_of_range"),
        ("hosts", json!(["a", "a"]), "/values/hosts", "invalid_value"),
        ("hosts", json!([""]), "/values/hosts/0", "out_of_range"),
    ] {
        let expected = ("validation_failed", json!("values"), vec![(path.to_owned(), code)]);
        assert_eq!(refused(name, value.clone()), expected, "{name} = {value}");
    }
}

/// As Helm merges; null takes a default away.
fn laid_over(below: &Value, above: &Value) -> Value {
    let (Value::Object(below), Value::Object(above)) = (below, above) else { return above.clone() };
    let mut merged = below.clone();
    for (key, value) in above {
        if value.is_null() {
            merged.remove(key);
        } else {
            let value = laid_over(below.get(key).unwrap_or(&Value::Null), value);
            merged.insert(key.clone(), value);
        }
    }
    Value::Object(merged)
}

/// The places where two trees differ, as deep as both are objects.
fn differences(at: &str, one: &Value, other: &Value, found: &mut Vec<String>) {
    match (one, other) {
        (Value::Object(a), Value::Object(b)) => {
            let mut keys: Vec<&String> = a.keys().chain(b.keys()).collect();
            keys.sort_unstable();
            keys.dedup();
            for key in keys {
                let at = format!("{at}/{}", key.replace('~', "~0").replace('/', "~1"));
                match (a.get(key), b.get(key)) {
                    (Some(a), Some(b)) => differences(&at, a, b, found),
                    // A part that came with all that is in it: the places are those of its leaves.
                    (Some(only), None) | (None, Some(only)) => {
                        differences(&at, &empty_like(only), only, found);
                    }
                    (None, None) => {}
                }
            }
        }
        (one, other) if one == other => {}
        _ => found.push(at.to_owned()),
    }
}

fn empty_like(value: &Value) -> Value {
    if value.as_object().is_some_and(|map| !map.is_empty()) { json!({}) } else { json!("nothing like it") }
}

fn is_open(path: &str, subset: &CuratedSubset) -> bool {
    subset.0.iter().any(|open| {
        path.strip_prefix(open.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    })
}

fn outside(values: &Value, defaults: &Value, subset: &CuratedSubset) -> Vec<String> {
    let mut found = Vec::new();
    differences("", defaults, &laid_over(defaults, values), &mut found);
    found.retain(|path| !is_open(path, subset));
    found
}

/// Trees of few names, so that they often meet the defaults and the subset.
fn any_values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        "[a-c{$\n]{0,4}".prop_map(Value::from)
    ];
    let tree = leaf.prop_recursive(4, 16, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::Array),
            prop::collection::btree_map("a|b|a/b|~", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    });
    prop::collection::btree_map("a|b|a/b|~", tree, 0..4)
        .prop_map(|map| Value::Object(map.into_iter().collect()))
}

proptest! {
    /// B-11: whatever the tree, what is accepted differs from the chart's defaults at places of the subset only.
    #[test]
    fn no_tree_sets_a_value_outside_the_subset(values in any_values()) {
        let subset = CuratedSubset(["/a/a", "/a~1b", "/b/~0"].map(str::to_owned).to_vec());
        let defaults = json!({"a": {"a": 1, "b": {"a": true}}, "b": {"a": [1], "~": {"b": "x"}}, "~": "y"});
        if check_values(&values, &subset, &defaults, &json!(true)).is_empty() {
            prop_assert_eq!(outside(&values, &defaults, &subset), Vec::<String>::new());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// B-11, D-11: nor does any choice; and what is rendered holds exactly what was chosen.
    #[test]
    fn no_choice_sets_a_value_outside_the_subset(
        motd in "\\PC{0,20}|[{}$\n'\"\\\\: #-]{0,12}",
        hosts in prop::collection::vec("[ -~]{1,6}", 0..3),
        replicas in 1_i64..9,
    ) {
        let chosen = json!({"motd": motd, "hosts": hosts, "replicas": replicas, "model": "m"});
        let Ok(planned) = plan(chosen.as_object().unwrap().clone()) else { return Ok(()) };
        let chart = manifest().chart.unwrap();
        let values = trees(&render(ExecutionEngine::Helm, &shown(planned)).unwrap()).remove(1);
        prop_assert_eq!(outside(&values, &Value::Object(chart.defaults.clone()), &chart.subset()), Vec::<String>::new());
        prop_assert_eq!(&values["server"]["motd"], &chosen["motd"]);
        prop_assert_eq!(&values["server"]["hosts"], &chosen["hosts"]);
        prop_assert_eq!(&values["replicaCount"], &chosen["replicas"]);
    }
}
