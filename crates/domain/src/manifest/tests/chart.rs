//! A chart by name: what of it can be declared, and what is refused at which place (B-11, D-11).

use serde_json::{Value, json};

use super::super::diff::diff;
use super::super::*;
use super::{faults, sample, with, without};

/// The sample as a profile of a cluster, with a chart.
pub(super) fn charted() -> Value {
    let chart = json!({
        "name": "inference-stack",
        "version": "1.2.0",
        "values_schema": {
            "type": "object",
            "required": ["model"],
            "properties": {
                "replicaCount": {"type": "integer", "minimum": 1, "maximum": 8},
                "model": {"type": "string", "minLength": 1},
                "auth": {"type": "object", "properties": {"enabled": {"type": "boolean"}}},
                "hosts": {"type": "array", "items": {"type": "string"}},
                "port": {"$ref": "#/definitions/port"}
            },
            "definitions": {"port": {"type": "integer"}, "unused": {"contains": true}}
        },
        "defaults": {"replicaCount": 1, "auth": {"enabled": false}, "hosts": [], "adminPassword": ""},
        "set": [
            {"path": "/replicaCount", "value": "${params.replicas}"},
            {"path": "/auth/enabled", "literal": true},
            {"path": "/model", "value": "${params.model}"}
        ]
    });
    let parameters = json!({
        "replicas": {"type": "integer", "minimum": 1, "maximum": 8, "default": 2},
        "model": {"type": "string", "required": true},
        "greeting": {"type": "string", "default": "hello"},
        "hub": {"type": "secret_ref", "required": true}
    });
    let document = with(sample(), "/runtime_profile/kind", json!("k8s"));
    with(with(document, "/parameters", parameters), "/chart", chart)
}

/// Change the profile at a pointer; the fault is there, or where the third column says, and it is the only one.
fn refused(rows: &[(&str, Value, &str, &'static str)]) {
    let mut wrong = Vec::new();
    for (pointer, value, at, code) in rows {
        let at = if at.is_empty() { pointer } else { at };
        let found = faults(&with(charted(), pointer, value.clone()));
        if found != [((*at).to_owned(), *code)] {
            wrong.push(format!("{pointer}: {code} at {at}, found {found:?}"));
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

/// B-11: schema and defaults of a chart are taken as they are, with what they say of the unknown.
#[test]
fn a_chart_is_declared() {
    assert_eq!(faults(&charted()), []);
    let prose = json!("apiVersion: v1\nkind: Pod\nwith /var/run/docker.sock");
    assert_eq!(
        faults(&with(charted(), "/chart/defaults/config", prose.clone())),
        [],
        "imported data is data"
    );
    assert_eq!(faults(&with(charted(), "/chart/values_schema/description", prose)), []);
    let native = json!({"securityContext": {"privileged": false}, "nodeSelector": {}, "volumes": null});
    assert_eq!(faults(&with(charted(), "/chart/defaults/pod", native)), []);
    let mut bare = charted();
    bare["chart"].as_object_mut().unwrap().remove("set");
    bare["chart"]["defaults"]["model"] = json!("m");
    assert_eq!(faults(&bare), [], "a chart may run as it is");
}

/// A-10, T-01, T-02, T-03: the block opens no other door.
#[test]
fn what_is_set_and_what_stands_elsewhere_is_judged_as_ever() {
    refused(&[
        ("/runtime_profile/chart", json!("x"), "", "unsupported_chart"),
        ("/charts", json!([]), "", "unsupported_chart"),
        ("/values", json!({}), "", "engine_native_not_allowed"),
        ("/chart/values", json!({}), "", "engine_native_not_allowed"),
        ("/chart/repository", json!("https://example.com"), "", "unknown_field"),
        ("/chart/set/1/path", json!("/securityContext/privileged"), "", "privileged_not_allowed"),
        ("/chart/set/1/path", json!("/hostNetwork"), "", "privileged_not_allowed"),
        ("/chart/set/1/path", json!("/extra/hostPath"), "", "host_mount_not_allowed"),
        (
            "/chart/set/1",
            json!({"path": "/pod", "literal": [{"host_pid": true}]}),
            "/chart/set/1/path",
            "privileged_not_allowed",
        ),
        (
            "/chart/set/1",
            json!({"path": "/pod", "literal": "/run/docker.sock"}),
            "/chart/set/1/literal",
            "host_mount_not_allowed",
        ),
        ("/chart/defaults/adminPassword", json!("hunter2"), "", "raw_secret_not_allowed"),
        (
            "/chart/defaults/db",
            json!({"secretAccessKey": ["hunter2"]}),
            "/chart/defaults/db/secretAccessKey/0",
            "raw_secret_not_allowed",
        ),
        ("/chart/defaults/url", json!("redis://me:hunter2@host"), "", "raw_secret_not_allowed"),
        (
            "/chart/set/1",
            json!({"path": "/auth/api_key", "literal": "hunter2"}),
            "/chart/set/1/literal",
            "raw_secret_not_allowed",
        ),
    ]);
    assert_eq!(
        faults(&with(charted(), "/chart/defaults/existingSecret", json!("name"))),
        [],
        "a name is none"
    );
}

/// B-11: what cannot be set, or not in this way, is told at registration.
#[test]
fn a_subset_that_cannot_be_set_is_refused() {
    refused(&[
        ("/chart/name", json!("oci://evil/x"), "", "invalid_value"),
        ("/chart/version", json!("1.2"), "", "invalid_version"),
        ("/chart/version", json!("^1.2.0"), "", "invalid_version"),
        ("/chart/set/1/path", json!("auth"), "", "invalid_value"),
        ("/chart/set/1/path", json!("/a//b"), "", "invalid_value"),
        ("/chart/set/1/path", json!("/a~2"), "", "invalid_value"),
        ("/chart/set/1/path", json!("/a".repeat(17)), "", "invalid_value"),
        ("/chart/set/1/path", json!("/hosts/0"), "", "invalid_value"),
        ("/chart/set/1", json!({"path": "/auth/enabled"}), "", "missing_field"),
        ("/chart/set/1/value", json!("${params.replicas == 2}"), "/chart/set/1/literal", "exclusive_blocks"),
        ("/chart/set/3", json!({"path": "/model", "literal": "x"}), "/chart/set/3/path", "duplicate_name"),
        ("/chart/set/3", json!({"path": "/auth", "literal": {}}), "/chart/set/3/path", "duplicate_name"),
        (
            "/chart/set/3",
            json!({"path": "/model/name", "literal": "x"}),
            "/chart/set/3/path",
            "duplicate_name",
        ),
        ("/chart/set/2/value", json!("${params.mdel}"), "", "expression_unknown_name"),
        ("/chart/set/2/value", json!("${params."), "", "expression_syntax"),
        ("/chart/set/2/value", json!("${params.hub}"), "", "expression_type"),
        ("/chart/set/2/value", json!("{{ .Release.Name }}"), "", "template_in_value"),
        ("/chart/set/2/value", json!("${params.greeting + '{{'}"), "", "template_in_value"),
        (
            "/chart/set/3",
            json!({"path": "/note", "literal": ["{{"]}),
            "/chart/set/3/literal",
            "template_in_value",
        ),
        (
            "/chart/set/3",
            json!({"path": "/note", "literal": {"{{": 1}}),
            "/chart/set/3/literal",
            "template_in_value",
        ),
        (
            "/chart/set/3",
            json!({"path": "/note", "literal": "a\u{7f}"}),
            "/chart/set/3/literal",
            "invalid_value",
        ),
        (
            "/chart/values_schema/x-long",
            json!("x".repeat(130 * 1024)),
            "/chart/values_schema",
            "out_of_range",
        ),
        ("/chart/defaults/long", json!("x".repeat(65 * 1024)), "/chart/defaults", "out_of_range"),
    ]);
    let greeting = with(charted(), "/chart/set/3", json!({"path": "/note", "value": "${params.greeting}"}));
    let greeting = with(greeting, "/parameters/greeting/default", json!("{{"));
    assert_eq!(faults(&greeting), [("/chart/set/3/value".to_owned(), "template_in_value")]);
}

/// B-11: a launch that chooses nothing satisfies the chart; what is not known yet is left to the launch.
#[test]
fn defaults_satisfy_the_schema() {
    refused(&[
        ("/chart/defaults/hosts", json!([1]), "/chart/defaults/hosts/0", "wrong_type"),
        ("/chart/defaults/port", json!("80"), "", "wrong_type"),
        ("/chart/set/0/value", json!("${params.greeting}"), "", "wrong_type"),
        ("/chart/set/0/value", json!("${params.replicas + 7}"), "", "out_of_range"),
        ("/chart/set/0/value", json!("${resources.memory_mib}"), "", "out_of_range"),
        ("/chart/set/1/literal", json!("yes"), "", "wrong_type"),
        ("/chart/values_schema/required", json!(["model", "port"]), "/chart/defaults/port", "missing_field"),
    ]);
    assert_eq!(faults(&with(charted(), "/chart/set/0/value", json!("${size(placement.node_name)}"))), []);
}

/// B-11: what could not be judged at a launch is not registered.
#[test]
fn a_schema_that_cannot_be_judged_is_refused() {
    let code = "schema_not_supported";
    refused(&[
        ("/chart/values_schema/unevaluatedProperties", json!(false), "", code),
        (
            "/chart/values_schema/properties/x",
            json!({"$ref": "https://example.com/x"}),
            "/chart/values_schema/properties/x/$ref",
            code,
        ),
        (
            "/chart/values_schema/properties/x",
            json!({"$ref": "#/definitions/none"}),
            "/chart/values_schema/properties/x/$ref",
            code,
        ),
        (
            "/chart/values_schema/properties/x",
            json!({"pattern": "(?=x)"}),
            "/chart/values_schema/properties/x/pattern",
            code,
        ),
        (
            "/chart/values_schema/properties/x",
            json!({"type": "text"}),
            "/chart/values_schema/properties/x/type",
            code,
        ),
        ("/chart/values_schema/properties/hosts/items", json!([{}]), "", code),
        (
            "/chart/values_schema/definitions/port",
            json!({"contains": {}}),
            "/chart/values_schema/definitions/port/contains",
            code,
        ),
        ("/chart/values_schema/properties/port/exclusiveMinimum", json!(true), "", code),
    ]);
    // Each level asks twice for the next: two to the power of its depth.
    let twice = json!({"allOf": [{"$ref": "#/definitions/twice"}, {"$ref": "#/definitions/twice"}]});
    let mut circle = with(charted(), "/chart/values_schema/definitions/twice", twice);
    circle["chart"]["values_schema"]["properties"]["hosts"] = json!({"$ref": "#/definitions/twice"});
    let found = faults(&circle);
    assert!(found.iter().all(|(_, found)| *found == code) && !found.is_empty(), "{found:?}");
}

/// B-11, F03: neither a chain of references nor patterns over long texts keep the platform busy.
#[test]
fn a_chart_is_judged_in_bounded_work() {
    let links = 4000;
    let mut chain: Vec<Value> = (1..=links).map(|next| json!({"$ref": format!("#/x-/{next}")})).collect();
    chain.push(json!({}));
    let schema = json!({"type": "object", "properties": {"b": {"$ref": "#/x-/0"}}, "x-": chain});
    let mut document = charted();
    document["chart"]["values_schema"] = schema;
    let found = faults(&document);
    assert!(found.iter().all(|(_, code)| *code == "schema_not_supported"), "{:?}", found.first());
    let pattern = json!({"anyOf": [{"pattern": "(?:[ab]?[ab]?){60}c"}, true]});
    let schema = json!({"type": "object", "properties": {"text": {"allOf": vec![pattern; 100]}}});
    let mut document = charted();
    document["chart"]["values_schema"] = schema;
    document["chart"]["defaults"] = json!({"text": "ab".repeat(30_000)});
    document["chart"]["set"] = json!([]);
    assert_eq!(faults(&document), [("/chart/values_schema".to_owned(), "schema_not_supported")]);
}

/// D-11: Helm and the chart go together, and what runs has images that can be checked.
#[test]
fn a_chart_needs_helm_and_components() {
    let engine = "engine_mismatch";
    refused(&[("/execution_engines", json!(["kubernetes"]), "/chart", engine)]);
    let node = with(charted(), "/runtime_profile/kind", json!("launchable_oci"));
    assert_eq!(faults(&node), [("/chart".to_owned(), engine)]);
    let controller = with(
        without(without(without(charted(), "runtime_profile"), "ui"), "metering"),
        "/artifact_kind",
        json!("controller"),
    );
    let controller = with(controller, "/execution_engines", json!(["helm"]));
    assert_eq!(faults(&controller), [("/components".to_owned(), "missing_field")]);
    assert_eq!(faults(&without(controller, "chart")), [("/execution_engines".to_owned(), engine)]);
}

/// B-11, E-08: people who compare versions see the chart and what is set of it.
#[test]
fn chart_version_and_subset_are_told() {
    let mut after = with(charted(), "/chart/version", json!("1.3.0"));
    after = with(after, "/chart/set/1/literal", json!(false));
    after = with(after, "/chart/set/3", json!({"path": "/hosts", "literal": []}));
    after = with(after, "/chart/defaults/hosts", json!(["a"]));
    let manifest = |value: &Value| parse(value.to_string().as_bytes(), Format::Json).unwrap().manifest;
    let changes = diff(&manifest(&charted()), &manifest(&after));
    let told: Vec<String> = changes
        .iter()
        .map(|change| format!("{} {}", change.subject, change.aspect.as_deref().unwrap_or("-")))
        .collect();
    assert_eq!(
        told,
        ["chart defaults", "chart version", "chart value /auth/enabled fixed", "chart value /hosts -"]
    );
}
