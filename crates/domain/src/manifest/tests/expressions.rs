//! Expressions of a manifest are read and checked when it is registered.

use serde_json::{Value, json};

use super::super::*;
use super::{composition, faults, registries, sample, with};
use crate::expression::{Budget, Template, Type, Values};

/// The composition with one more of everything that expressions can name.
fn rich() -> Value {
    let mut document = composition();
    for (pointer, value) in [
        ("/parameters/ratio", json!({"type": "number", "default": 0.5})),
        ("/parameters/fast", json!({"type": "boolean", "default": false})),
        ("/parameters/note", json!({"type": "string"})),
        ("/parameters/token", json!({"type": "secret_ref", "required": true})),
        ("/parameters/hidden", json!({"type": "integer", "required": true, "when": "params.fast"})),
        ("/components/1/env/1", json!({"name": "MODE", "value": "x"})),
        ("/addons/0/name", json!("metrics-exporter")),
        ("/outputs/dashboards/0/addon", json!("metrics-exporter")),
        ("/ui_hints/fields/packages/warnings", json!([{"when": "params.fast", "message": "Slow."}])),
        ("/validation/smoke/0/check/method", json!("POST")),
    ] {
        document = with(document, pointer, value);
    }
    document
}

const CONDITIONS: [&str; 7] = [
    "/parameters/hub_token/when",
    "/validation/rules/0/rule",
    "/components/1/when",
    "/components/1/env/1/when",
    "/ui_hints/fields/packages/when",
    "/ui_hints/fields/packages/warnings/0/when",
    "/validation/smoke/0/when",
];
const TEXTS: [&str; 4] = [
    "/components/1/command/1",
    "/components/1/env/1/value",
    "/outputs/commands/0/command/1",
    "/validation/smoke/0/check/body",
];

#[test]
fn the_composition_of_these_tests_is_good() {
    assert_eq!(faults(&rich()), []);
}

/// A-11, A-16: every place is looked at, and each kind of fault has its code.
#[test]
fn every_place_is_checked() {
    for place in CONDITIONS {
        for (text, code) in [
            ("params.fast &&", "expression_syntax"),
            ("params.fats", "expression_unknown_name"),
            ("params.context", "expression_type"),
            ("params.note == 'x'", "expression_type"),
            ("params.packages.all(p, p == 'x')", "expression_not_allowed"),
            ("${params.fast}", "expression_syntax"),
        ] {
            assert_eq!(
                faults(&with(rich(), place, json!(text))),
                [(place.to_owned(), code)],
                "{place} {text}"
            );
        }
        for good in ["params.fast", "has(params.note) && params.note == 'x'", "addons['metrics-exporter']"] {
            assert_eq!(faults(&with(rich(), place, json!(good))), [], "{place} {good}");
        }
    }
    for place in TEXTS {
        for (text, code) in [
            ("--x=${params.context", "expression_syntax"),
            ("${params.contxt}", "expression_unknown_name"),
            ("x ${params.packages}", "expression_type"),
            ("${params.note}", "expression_type"),
            ("x${params.token}", "expression_type"),
            ("${params.packages.map(p, p)}", "expression_not_allowed"),
        ] {
            assert_eq!(
                faults(&with(rich(), place, json!(text))),
                [(place.to_owned(), code)],
                "{place} {text}"
            );
        }
        for good in
            ["", "$${HOME}", "${params.model}-${resources.gpu_count}", "${placement.lanes.a.gpus.join(',')}"]
        {
            assert_eq!(faults(&with(rich(), place, json!(good))), [], "{place} {good}");
        }
    }
}

/// A-11: the sentence has the place in the text, and the nearest name.
#[test]
fn a_fault_says_where_and_what_was_meant() {
    let document = with(rich(), "/components/1/command/1", json!("é --model=${params.modle}"));
    let found = check(document.to_string().as_bytes(), Format::Json, &registries()).unwrap_err();
    assert_eq!(found.len(), 1);
    assert!(found[0].message.starts_with("At character 20: There is no such name; there are context, fast"));
    assert!(found[0].message.ends_with("Did you mean model?"), "{}", found[0].message);
}

/// What an expression can know depends on when it is evaluated.
#[test]
fn names_are_known_where_they_can_be() {
    let code = "expression_not_allowed";
    for (place, text, refused) in [
        ("/parameters/hub_token/when", "placement.accelerator == 'nvidia'", true),
        ("/validation/rules/0/rule", "endpoints.api.port == 1", true),
        ("/validation/rules/0/rule", "resources.gpu_count > 1 && addons['metrics-exporter']", false),
        ("/ui_hints/fields/packages/when", "placement.accelerator == 'nvidia'", true),
        ("/validation/smoke/0/when", "placement.lanes.a.gpu_count > 1", false),
        ("/components/1/when", "placement.accelerator == 'nvidia'", false),
        ("/components/1/when", "placement.lanes.a.gpu_count > 1", true),
        ("/components/1/when", "endpoints.api.port == 1", true),
        ("/components/1/env/1/when", "placement.lanes.a.gpu_count > 1", false),
        ("/components/1/env/1/when", "endpoints.api.path == '/v1' && endpoints.web.port == 8080", false),
    ] {
        let expected = if refused { vec![(place.to_owned(), code)] } else { Vec::new() };
        assert_eq!(faults(&with(rich(), place, json!(text))), expected, "{place} {text}");
    }
    let lane = with(rich(), "/components/1/command/1", json!("${placement.lanes.b.gpu_count}"));
    assert_eq!(faults(&lane), [("/components/1/command/1".to_owned(), "expression_unknown_name")]);
}

/// B-10: what the platform computes is of the parameter's type.
#[test]
fn a_computed_value_fits_its_parameter() {
    for (kind, value, fits) in [
        (json!({"type": "integer"}), "resources.gpu_count * 2", true),
        (json!({"type": "number"}), "resources.gpu_count * 2", true),
        (json!({"type": "integer"}), "params.ratio", false),
        (json!({"type": "string"}), "resources.gpu_count", false),
        (json!({"type": "string"}), "string(resources.gpu_count)", true),
        (json!({"type": "boolean"}), "resources.gpu_count > 1", true),
        (json!({"type": "array", "items": {"type": "string"}}), "params.packages + ['x']", true),
        (json!({"type": "array", "items": {"type": "string"}}), "[]", true),
        (json!({"type": "array", "items": {"type": "string"}}), "[1]", false),
        (json!({"type": "secret_ref"}), "params.token", true),
        (json!({"type": "string"}), "params.token", false),
    ] {
        let mut parameter = kind;
        parameter["owner"] = json!("platform");
        parameter["value"] = json!(value);
        let found = faults(&with(rich(), "/parameters/computed", parameter));
        let expected =
            if fits { vec![] } else { vec![("/parameters/computed/value".to_owned(), "expression_type")] };
        assert_eq!(found, expected, "{value}");
    }
}

/// T-10: a secret is handed to the app in a variable, whole; a command can be read by others.
#[test]
fn a_secret_is_handed_on_in_a_variable_only() {
    let whole = "${params.token}";
    let maybe = "${has(params.hub_token) ? params.hub_token : ''}";
    for (place, refused) in [
        ("/components/1/env/0/value", false),
        ("/components/1/command/1", true),
        ("/outputs/commands/0/command/1", true),
    ] {
        let expected = if refused { vec![(place.to_owned(), "expression_type")] } else { vec![] };
        assert_eq!(faults(&with(rich(), place, json!(whole))), expected, "{place}");
        assert_eq!(faults(&with(rich(), place, json!(maybe))), expected, "{place}");
    }
    let list = with(rich(), "/components/1/env/0/value", json!("${params.packages}"));
    assert_eq!(faults(&list), [("/components/1/env/0/value".to_owned(), "expression_type")]);
    let list = with(rich(), "/components/1/command/1", json!("${params.packages}"));
    assert_eq!(faults(&list), [], "several arguments");
}

/// B-10: a value that waits for itself never comes.
#[test]
fn parameters_do_not_wait_for_themselves() {
    let code = "parameter_cycle";
    let platform = |value: &str| json!({"type": "integer", "owner": "platform", "value": value});
    let own = with(rich(), "/parameters/hub_token/when", json!("has(params.hub_token)"));
    assert_eq!(faults(&own), [("/parameters/hub_token/when".to_owned(), code)]);

    let mut circle = with(rich(), "/parameters/a", platform("params.b + 1"));
    circle = with(circle, "/parameters/b", platform("params.c + params.context"));
    circle = with(circle, "/parameters/c", platform("params.a * 2"));
    circle = with(circle, "/parameters/d", platform("params.a"));
    let found = check(circle.to_string().as_bytes(), Format::Json, &registries()).unwrap_err();
    let said: Vec<(&str, &str)> = found.iter().map(|f| (f.path.as_str(), f.message.as_str())).collect();
    assert_eq!(
        said,
        [
            ("/parameters/a/value", "The parameter depends on itself through b, c."),
            ("/parameters/b/value", "The parameter depends on itself through c, a."),
            ("/parameters/c/value", "The parameter depends on itself through a, b."),
        ]
    );
    assert!(found.iter().all(|fault| fault.code == code));

    let mixed =
        with(rich(), "/parameters/a", json!({"type": "boolean", "default": true, "when": "params.b"}));
    let mixed =
        with(mixed, "/parameters/b", json!({"type": "boolean", "owner": "platform", "value": "params.a"}));
    let places: Vec<String> = faults(&mixed).into_iter().map(|(path, _)| path).collect();
    assert_eq!(places, ["/parameters/a/when", "/parameters/b/value"]);

    let straight = with(rich(), "/parameters/a", platform("params.b + params.b"));
    assert_eq!(faults(&with(straight, "/parameters/b", platform("params.context"))), []);
}

/// A-16: which parameters an expression must ask for first.
#[test]
fn a_parameter_without_default_may_be_absent() {
    for (parameter, absent) in [
        (json!({"type": "string"}), true),
        (json!({"type": "string", "required": true}), false),
        (json!({"type": "string", "required": true, "when": "true"}), true),
        (json!({"type": "string", "default": ""}), false),
        (json!({"type": "string", "default": "", "when": "true"}), false),
        (json!({"type": "string", "owner": "platform", "value": "'x'"}), false),
        (json!({"type": "string", "owner": "platform", "value": "'x'", "when": "true"}), true),
        (json!({"type": "string", "owner": "platform", "default": "x"}), false),
    ] {
        let document = with(sample(), "/parameters/p", parameter.clone());
        let document = with(document, "/runtime_profile/command/0", json!("${params.p}"));
        assert_eq!(!faults(&document).is_empty(), absent, "{parameter}");
    }
}

/// A plain manifest names its ports; a composition its outputs, and ports whose names are no other's.
#[test]
fn endpoints_have_the_names_that_people_gave_them() {
    let plain: Document = parse(sample().to_string().as_bytes(), Format::Json).unwrap();
    let named = plain.manifest.named_endpoints();
    assert_eq!(
        named,
        [NamedEndpoint { name: "port-8888".to_owned(), component: "main", port: 8888, path: "/" }]
    );

    let document = with(
        composition(),
        "/components/2/ports",
        json!([{"container": 9090, "expose": "private", "name": "web"}]),
    );
    let document = parse(document.to_string().as_bytes(), Format::Json).unwrap();
    let named = document.manifest.named_endpoints();
    assert_eq!(
        named,
        [NamedEndpoint { name: "api".to_owned(), component: "gateway", port: 8080, path: "/v1" }],
        "two ports called web are called by neither"
    );
    assert_eq!(document.manifest.lanes().into_iter().collect::<Vec<_>>(), ["a"]);
}

/// A-11: a manifest of nothing but expressions is refused before they take long.
#[test]
fn a_manifest_has_so_many_expressions() {
    let many = |count: usize, argument: &str| {
        with(sample(), "/runtime_profile/command", json!(vec![argument; count]))
    };
    let sixteen = "${1}".repeat(16);
    assert_eq!(faults(&many(64, &sixteen)), []);
    assert_eq!(faults(&many(65, &sixteen)), [("/".to_owned(), "expression_too_large")]);
    let long = format!("${{{}}}", vec!["1"; 128].join("+"));
    assert_eq!(faults(&many(32, &long)), []);
    assert_eq!(faults(&many(33, &long)), [("/".to_owned(), "expression_too_large")]);
    assert_eq!(faults(&many(256, "${params.modle}")).len(), 50, "more is not mended in one go");
    let one = "${1}".repeat(65);
    assert_eq!(faults(&many(1, &one)), [("/runtime_profile/command/0".to_owned(), "expression_too_large")]);
}

/// A-16: the example of the reference is a good one.
#[test]
fn the_example_of_the_reference_can_be_registered() {
    let page = include_str!("../../../../../docs/reference/expressions.md");
    let (_, rest) = page.split_once("```yaml\n").unwrap();
    let (example, _) = rest.split_once("```").unwrap();
    let example = tree(example.as_bytes(), Format::Yaml).unwrap();
    let mut document = rich();
    document["parameters"] = example["parameters"].clone();
    document["components"].as_array_mut().unwrap().retain(|component| component["name"] != "lane-a");
    document["components"].as_array_mut().unwrap().push(example["components"][0].clone());
    document["validation"]["rules"] = example["validation"]["rules"].clone();
    for (pointer, value) in [
        ("/components/2/image_ref", json!(super::image("server"))),
        ("/components/0/depends_on", json!([])),
        ("/resources/mounts", json!([])),
        ("/ui_hints", json!({})),
    ] {
        document = with(document, pointer, value);
    }
    assert_eq!(faults(&document), []);
}

/// B-05: what planning will do with a checked manifest.
#[test]
fn a_checked_template_is_evaluated_over_the_values_of_a_launch() {
    let document = parse(rich().to_string().as_bytes(), Format::Json).unwrap();
    let types = document.manifest.types(Scope::Instance);
    let mut values = Values::default();
    values.set(&["params", "model"], "c/d");
    values.set(&["resources", "gpu_count"], 2);
    let template = Template::parse("--model=${params.model} --tp=${min(resources.gpu_count, 8)}").unwrap();
    assert_eq!(template.check(&types), Ok(Type::Text));
    let mut budget = Budget::default();
    assert_eq!(template.arguments(&values, &mut budget).unwrap(), ["--model=c/d --tp=2"]);
}
