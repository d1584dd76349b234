//! Conditions, computed values and rules, from the form to what runs.

use super::*;

/// One app that uses all of it.
fn served() -> Value {
    let mut document = with_parameters(json!({
        "mode": {"type": "string", "enum": ["hub", "local"], "default": "hub"},
        "model": {"type": "string", "when": "params.mode == 'hub'", "required": true, "format": "model_name"},
        "path": {"type": "string", "when": "params.mode == 'local'", "default": "/models/a"},
        "extra": {"type": "array", "items": {"type": "string"}, "default": []},
        "length": {"type": "integer", "default": 4096, "minimum": 1},
        "batch": {"type": "integer", "owner": "platform", "value": "params.length * resources.gpu_count / 1024"},
    }));
    document["runtime_profile"]["command"] = json!([
        "serve",
        "${has(params.model) ? params.model : params.path}",
        "${params.extra}",
        "--length=${params.length}",
        "--batch=${params.batch}"
    ]);
    document["runtime_profile"]["env"] = json!([
        {"name": "PLACE", "value": "${placement.node_name}/${placement.accelerator}/${placement.gpu_model}"},
        {"name": "LOCAL_ONLY", "value": "yes", "when": "params.mode == 'local'"},
        {"name": "WHERE", "value": "${endpoints.web.url}"},
        {"name": "PLAIN", "value": "$${params.length} $HOME"},
    ]);
    document["runtime_profile"]["ports"][0]["name"] = json!("web");
    document["validation"] = json!({"rules": [{
        "rule": "params.length <= 8192 || params.mode == 'local'",
        "message": "Longer texts need a local model.",
        "parameter": "length",
    }]});
    document
}

fn offered(form: &Form) -> Vec<&str> {
    form.schema["properties"].as_object().unwrap().keys().map(String::as_str).collect()
}

/// B-01, B-03, B-10, A-16: the form asks for what fits what was chosen before, and drops the rest.
#[test]
fn a_form_asks_for_what_fits_the_choices_so_far() {
    let scene = Scene::of(&served());
    let hub = scene.with_values(json!({"model": "mistral/small"}));
    assert_eq!(errors(&hub), []);
    assert_eq!(offered(&hub), ["batch", "extra", "length", "mode", "model"]);
    assert_eq!(hub.schema["required"], json!(["model"]));
    let local = scene.with_values(json!({"mode": "local", "model": "mistral/small"}));
    assert_eq!(errors(&local), []);
    assert_eq!(offered(&local), ["batch", "extra", "length", "mode", "path"]);
    assert!(!local.values.contains_key("model"), "what is not asked for is dropped");
    assert!(!local.command.contains("mistral"), "{}", local.command);
    let missing = scene.with_values(json!({}));
    assert_eq!(errors(&missing), [("/values/model", "required")]);
}

/// B-01, B-10: rules between values, values that only the platform has, and no fault follows from another.
#[test]
fn rules_hold_and_one_fault_brings_no_second() {
    let scene = Scene::of(&served());
    let long = scene.with_values(json!({"model": "a/b", "length": 9000}));
    assert_eq!(errors(&long), [("/values/length", "rule_failed")]);
    assert_eq!(long.errors[0].message, "Longer texts need a local model.");
    assert_eq!(errors(&scene.with_values(json!({"mode": "local", "length": 9000}))), []);
    let given = scene.with_values(json!({"model": "a/b", "batch": 7}));
    assert_eq!(errors(&given), [("/values/batch", "platform_owned")]);
    let wrong = scene.with_values(json!({"model": "a/b", "length": "much"}));
    assert_eq!(errors(&wrong), [("/values/length", "wrong_type")], "the rule and the computed value wait");
    let unknown_mode = scene.with_values(json!({"mode": "hubb"}));
    let paths: Vec<&str> = errors(&unknown_mode).iter().map(|(path, _)| *path).collect();
    assert_eq!(paths, ["/values/mode"], "what depends on it is shown and not judged");
    assert!(offered(&unknown_mode).contains(&"model") && offered(&unknown_mode).contains(&"path"));
}

/// A-16, B-05, F03, F04: what runs holds the values, whatever is in them; nothing reads them again.
#[test]
fn what_runs_holds_the_values() {
    let scene = Scene::of(&served());
    let plan = |values: Value| scene.plan(1, &wanting(values).wish);
    let hostile = json!(["--a=b c", "${params.length}", "$(id)", "`id`", "'; rm -rf /", "", "-"]);
    let planned = plan(json!({"model": "a/b", "extra": hostile})).unwrap();
    let component = &planned.rendered.as_ref().unwrap().components[0];
    let mut expected = vec!["serve", "a/b"];
    expected.extend(["--a=b c", "${params.length}", "$(id)", "`id`", "'; rm -rf /", "", "-"]);
    expected.extend(["--length=4096", "--batch=4"]);
    assert_eq!(component.command, expected);
    let variables: Vec<(&str, &str)> =
        component.env.iter().map(|one| (one.name.as_str(), one.value.as_str())).collect();
    assert_eq!(
        variables,
        [
            ("PLACE", "node-1/nvidia/h200"),
            ("WHERE", "http://main:8888/"),
            ("PLAIN", "${params.length} $HOME"),
        ]
    );
    assert_eq!(
        Value::Object(planned.values.clone()),
        json!({"mode": "hub", "model": "a/b", "extra": hostile, "length": 4096})
    );
    let again = plan(Value::Object(planned.values.clone())).unwrap();
    assert_eq!(again.rendered_digest, planned.rendered_digest, "a start from what was kept runs the same");
    let local = plan(json!({"mode": "local"})).unwrap();
    assert_eq!(local.rendered.as_ref().unwrap().components[0].command[1], "/models/a");
    assert!(local.rendered.as_ref().unwrap().components[0].env.iter().any(|one| one.name == "LOCAL_ONLY"));
}

/// B-05, L-03: what cannot be computed, and secrets that no engine hands over yet, stop the launch with a reason.
#[test]
fn what_cannot_be_computed_is_told() {
    let mut document = with_parameters(json!({
        "parts": {"type": "integer", "default": 0},
        "token": {"type": "secret_ref"},
    }));
    document["runtime_profile"]["command"] = json!(["${8 / params.parts}"]);
    document["runtime_profile"]["env"] =
        json!([{"name": "HF_TOKEN", "value": "${has(params.token) ? params.token : ''}"}]);
    let scene = Scene::of(&document);
    let plan = |values: Value| scene.plan(1, &wanting(values).wish);
    let error = plan(json!({})).unwrap_err();
    assert_eq!(
        (error.code(), error.field_errors()[0].path.as_str(), error.field_errors()[0].code),
        ("expression_failed", "/components/main/command/0", "expression_division_by_zero")
    );
    assert_eq!(plan(json!({"parts": 2})).unwrap().rendered.unwrap().components[0].command, ["4"]);
    let error = plan(json!({"parts": 2, "token": "hub"})).unwrap_err();
    assert_eq!(error.code(), "secret_not_supported");
    let form = scene.with_values(json!({"parts": 0}));
    assert!(
        !form.launchable && errors(&form) == [("/components/main/command/0", "expression_division_by_zero")],
        "{:?}",
        form.errors
    );
}

/// B-02: hints hide, show and warn by what was chosen. A hidden field keeps its value, and one with a fault is shown.
#[test]
fn hints_hide_and_warn_by_what_was_chosen() {
    let mut document = with_parameters(json!({
        "mode": {"type": "string", "enum": ["plain", "custom"], "default": "plain"},
        "seed": {"type": "integer", "default": 7, "minimum": 0},
        "length": {"type": "integer", "default": 4096},
    }));
    document["ui_hints"] = json!({"fields": {
        "seed": {"widget": "text", "when": "params.mode == 'custom'"},
        "length": {"warning": "Takes memory.", "warnings": [
            {"when": "params.length > 8192", "message": "Slow."},
            {"when": "params.mode == 'custom'", "message": "Untried."},
        ]},
    }});
    let scene = Scene::of(&document);
    let of = |values: Value| scene.with_values(values);
    let plain = of(json!({"seed": 9}));
    assert_eq!(plain.ui_schema["seed"], json!({"ui:widget": "hidden"}));
    assert_eq!((&plain.values["seed"], plain.launchable), (&json!(9), true), "it keeps its value");
    assert!(offered(&plain).contains(&"seed"), "and the schema its field");
    assert_eq!(plain.ui_schema["length"], json!({"ui:warning": "Takes memory."}));
    let custom = of(json!({"mode": "custom", "length": 9000}));
    assert_eq!(custom.ui_schema["seed"], json!({"ui:widget": "text"}));
    assert_eq!(custom.ui_schema["length"]["ui:warning"], "Takes memory.\nSlow.\nUntried.");
    let wrong = of(json!({"seed": -1}));
    assert_eq!(wrong.ui_schema["seed"], json!({"ui:widget": "text"}), "who mends a form must see it");
    let unknown = of(json!({"mode": "strange"}));
    assert_eq!(unknown.ui_schema["seed"], json!({"ui:widget": "text"}), "what cannot be told yet is shown");
    assert_eq!(errors(&unknown), [("/values/mode", "invalid_value")], "and brings no fault of its own");
}
