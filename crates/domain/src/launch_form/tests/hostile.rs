//! Values that people and programs should not send, each with the exact place and code of its refusal.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::{Scene, errors, with_parameters};
use crate::launch::Needs;
use crate::launch_form::resolution::Around;

fn parameters() -> Value {
    json!({
        "text": {"type": "string", "min_length": 2, "max_length": 8},
        "free": {"type": "string"},
        "choice": {"type": "string", "enum": ["small", "large"]},
        "level": {"type": "integer", "enum": [1, 2, 3]},
        "count": {"type": "integer", "minimum": -5, "maximum": 9_007_199_254_740_993_i64},
        "ratio": {"type": "number", "minimum": 0.5, "maximum": 1},
        "switch": {"type": "boolean"},
        "host": {"type": "string", "pattern": "^[a-z]+(\\.[a-z]+)*$"},
        "somewhere": {"type": "string", "pattern": "[0-9]{2}"},
        "model": {"type": "string", "format": "model_name"},
        "packages": {"type": "array", "items": {"type": "string", "format": "pip_specifier"}, "min_items": 1, "max_items": 3},
        "ports": {"type": "array", "items": {"type": "integer", "enum": [80, 443]}},
        "names": {"type": "array", "items": {"type": "string", "max_length": 3, "pattern": "^x"}},
        "credential": {"type": "secret_ref"},
        "wide": {"type": "integer"},
        "computed": {"type": "integer", "owner": "platform", "value": "resources.gpu_count"}
    })
}

/// B-01, B-08, B-10, T-09: one precise fault for each wrong value, and the value is in none of the sentences.
#[test]
fn hostile_values_are_refused_by_place_and_code() {
    let scene = Scene::of(&with_parameters(parameters()));
    let long = "x".repeat(40_000);
    for (values, path, code) in [
        (json!({"nothing": 1}), "/values/nothing", "unknown_value"),
        (json!({"__proto__": {}}), "/values/__proto__", "unknown_value"),
        (json!({"a/b~c": 1}), "/values/a~1b~0c", "unknown_value"),
        (json!({"x\u{202e}y": 1}), "/values/x\u{fffd}y", "unknown_value"),
        (json!({"": 1}), "/values/", "unknown_value"),
        (json!({"text": 12}), "/values/text", "wrong_type"),
        (json!({"text": null}), "/values/text", "wrong_type"),
        (json!({"text": {"$ref": "#"}}), "/values/text", "wrong_type"),
        (json!({"text": ["ab"]}), "/values/text", "wrong_type"),
        (json!({"text": "a"}), "/values/text", "out_of_range"),
        (json!({"text": "123456789"}), "/values/text", "out_of_range"),
        (json!({"text": "a\u{0}b"}), "/values/text", "invalid_value"),
        (json!({ "free": long }), "/values/free", "out_of_range"),
        (
            json!({"free": "hf_abcdefghijklmnopqrstuvwxyz0123456789"}),
            "/values/free",
            "raw_secret_not_allowed",
        ),
        (json!({"free": "postgres://me:hunter2@db/x"}), "/values/free", "raw_secret_not_allowed"),
        // Whatever else is wrong with it.
        (
            json!({"choice": "hf_abcdefghijklmnopqrstuvwxyz0123456789"}),
            "/values/choice",
            "raw_secret_not_allowed",
        ),
        (
            json!({"count": "hf_abcdefghijklmnopqrstuvwxyz0123456789"}),
            "/values/count",
            "raw_secret_not_allowed",
        ),
        (json!({"wide": 9_223_372_036_854_775_808_u64}), "/values/wide", "out_of_range"),
        (json!({"choice": "Small"}), "/values/choice", "invalid_value"),
        (json!({"choice": ["small"]}), "/values/choice", "wrong_type"),
        (json!({"level": "1"}), "/values/level", "wrong_type"),
        (json!({"level": 4}), "/values/level", "invalid_value"),
        (json!({"count": 1.5}), "/values/count", "wrong_type"),
        (json!({"count": true}), "/values/count", "wrong_type"),
        (json!({"count": -6}), "/values/count", "out_of_range"),
        (json!({"count": 9_007_199_254_740_994_i64}), "/values/count", "out_of_range"),
        (json!({"count": u64::MAX}), "/values/count", "out_of_range"),
        (json!({"count": 1e300}), "/values/count", "wrong_type"),
        (json!({"ratio": 0.4999}), "/values/ratio", "out_of_range"),
        (json!({"ratio": 1.000_000_1}), "/values/ratio", "out_of_range"),
        (json!({"ratio": "NaN"}), "/values/ratio", "wrong_type"),
        (json!({"switch": "true"}), "/values/switch", "wrong_type"),
        (json!({"switch": 0}), "/values/switch", "wrong_type"),
        (json!({"host": "a.b\n"}), "/values/host", "pattern_mismatch"),
        (json!({"host": "a..b"}), "/values/host", "pattern_mismatch"),
        (json!({"host": ""}), "/values/host", "pattern_mismatch"),
        (json!({"somewhere": "a1b2"}), "/values/somewhere", "pattern_mismatch"),
        (json!({"model": "../../etc/passwd"}), "/values/model", "invalid_value"),
        (json!({"model": "owner"}), "/values/model", "invalid_value"),
        (json!({"model": "a/b/c"}), "/values/model", "invalid_value"),
        (json!({"model": "a/b;id"}), "/values/model", "invalid_value"),
        (json!({"packages": []}), "/values/packages", "out_of_range"),
        (json!({"packages": ["a", "b", "c", "d"]}), "/values/packages", "out_of_range"),
        (json!({"packages": "numpy"}), "/values/packages", "wrong_type"),
        (json!({"packages": {"0": "numpy"}}), "/values/packages", "wrong_type"),
        (json!({"packages": ["--index-url=https://evil"]}), "/values/packages/0", "invalid_value"),
        (json!({"packages": ["numpy", "-rfile"]}), "/values/packages/1", "invalid_value"),
        (json!({"packages": ["git+https://x/y"]}), "/values/packages/0", "invalid_value"),
        (json!({"packages": ["./local"]}), "/values/packages/0", "invalid_value"),
        (json!({"packages": ["numpy; rm -rf /"]}), "/values/packages/0", "invalid_value"),
        (json!({"packages": ["$(id)"]}), "/values/packages/0", "invalid_value"),
        (json!({"packages": ["numpy @ file:///x"]}), "/values/packages/0", "invalid_value"),
        (json!({"packages": ["numpy\n--pre"]}), "/values/packages/0", "invalid_value"),
        (json!({"packages": [3]}), "/values/packages/0", "wrong_type"),
        (json!({"ports": [80, 8080]}), "/values/ports/1", "invalid_value"),
        (json!({"names": ["xab", "xabc"]}), "/values/names/1", "out_of_range"),
        (json!({"names": ["ax"]}), "/values/names/0", "pattern_mismatch"),
        (
            json!({"credential": "hf_abcdefghijklmnopqrstuvwxyz0123456789"}),
            "/values/credential",
            "raw_secret_not_allowed",
        ),
        (json!({"credential": "Not A Name"}), "/values/credential", "invalid_value"),
        (json!({"computed": 3}), "/values/computed", "platform_owned"),
    ] {
        let form = scene.with_values(values.clone());
        assert_eq!(errors(&form), [(path, code)], "{values}");
        assert!(!form.launchable);
        let said = &form.errors[0].message;
        for secret in ["hunter2", "hf_abc", "evil", "passwd"] {
            assert!(!said.contains(secret), "{said}");
        }
        if code == "raw_secret_not_allowed" {
            let sent = serde_json::to_string(&form).unwrap();
            assert!(!sent.contains("hunter2") && !sent.contains("hf_abc"), "a secret is not sent back");
        }
    }
}

/// B-01: what is right passes, as it is or in its plain spelling.
#[test]
fn good_values_are_kept() {
    let scene = Scene::of(&with_parameters(parameters()));
    let values = json!({
        "text": "äöüß", "choice": "large", "level": 2, "count": 3.0, "ratio": 1, "switch": false, "host": "a.b",
        "somewhere": "x42y", "model": "meta-llama/Llama-3.1-8B",
        "packages": ["numpy", "torch[cuda,x]>=2.4,<3", "a.b_c==1.0.*"], "ports": [443, 80], "names": [],
        "credential": "hub-token", "free": "${params.text} {{ x }} %s"
    });
    let form = scene.with_values(values.clone());
    assert_eq!(errors(&form), []);
    assert!(form.launchable);
    let mut kept = values;
    kept["count"] = json!(3);
    assert_eq!(Value::Object(form.values), kept);
}

/// Many faults are many lines, within reason; hidden and doubled work is bounded.
#[test]
fn a_flood_of_faults_is_cut() {
    let scene = Scene::of(&with_parameters(parameters()));
    let many: serde_json::Map<String, Value> = (0..5000).map(|n| (format!("unknown{n}"), json!(n))).collect();
    assert_eq!(scene.with_values(Value::Object(many)).errors.len(), 100);
}

/// B-01, T-10: what looks like a secret is not sent back, and takes nothing else with it.
#[test]
fn a_secret_is_left_out_of_the_form_alone() {
    let scene =
        Scene::of(&with_parameters(json!({"note": {"type": "string"}, "note_b": {"type": "string"}})));
    let form =
        scene.with_values(json!({"note": "hello", "note_b": "hf_abcdefghijklmnopqrstuvwxyz0123456789"}));
    assert!(form.command.contains("--set note=hello"), "{}", form.command);
    assert!(!serde_json::to_string(&form).unwrap().contains("hf_abc"));
}

/// B-01: values are judged once for what they come to, however many allocations a form looks at.
#[test]
fn values_are_judged_once() {
    let scene = Scene::of(&with_parameters(parameters()));
    let (view, around) = (scene.app(), Around::default());
    let given = json!({"text": "abc"}).as_object().unwrap().clone();
    let first = view.resolved.of(&view.prepared, &given, around);
    assert!(Arc::ptr_eq(&first, &view.resolved.of(&view.prepared, &given, around)));
    let other = view.resolved.of(&view.prepared, &Map::new(), around);
    assert!(!Arc::ptr_eq(&first, &other));
    let needs = Needs { gpu_count: 3, ..Needs::default() };
    assert!(!Arc::ptr_eq(&first, &view.resolved.of(&view.prepared, &given, Around { needs, addons: &[] })));
}
