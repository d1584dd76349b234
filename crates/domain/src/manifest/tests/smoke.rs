//! Smoke steps: what can be asked, what is refused, and that what was good before still is.

use gpuaas_agent_protocol::spec::Check;
use serde_json::{Value, json};

use super::super::*;
use super::{composition, faults, sample, with};

fn step(check: &Value) -> Value {
    let check = json!({"name": "works", "check": check});
    with(sample(), "/validation", json!({"smoke": [check]}))
}

/// each kind, at its fullest.
#[test]
fn a_step_asks_and_says_what_must_come() {
    for check in [
        json!({"kind": "http", "port": 8888, "path": "/api"}),
        json!({
            "kind": "http", "port": 8888, "path": "/v1/x?gpus=${resources.gpu_count}", "method": "POST",
            "expect_status": [200, 201], "body": "{\"n\": ${resources.gpu_count}}", "expect_body_contains": "ok"
        }),
        json!({"kind": "http", "port": 8888, "path": "/", "method": "HEAD", "expect_status": [204]}),
        json!({"kind": "tcp", "port": 8888}),
        json!({"kind": "exec", "command": ["nvidia-smi", "-L"], "expect_output_contains": "GPU"}),
        json!({"kind": "web_socket", "port": 8888, "path": "/ws", "send": "ping", "expect_contains": "pong"}),
        json!({
            "kind": "openai_chat", "port": 8888, "path": "/v1/chat/completions",
            "model": "${endpoints['port-8888'].path}", "prompt": "Say yes.", "expect_contains": "yes"
        }),
    ] {
        assert_eq!(faults(&step(&check)), [], "{check}");
        let document = Document::from_stored(step(&check)).unwrap();
        let read = &document.manifest.validation.unwrap().smoke[0].check;
        assert_eq!(serde_json::to_value(read).unwrap(), check, "nothing is lost or added");
    }
    let chat = step(&json!({"kind": "openai_chat", "port": 8888, "model": "m", "prompt": "p"}));
    let document = Document::from_stored(chat).unwrap();
    assert_eq!(document.manifest.validation.unwrap().smoke[0].check.path(), Some("/v1/chat/completions"));
}

/// a probe's check was a smoke check before there was a type for it, and still is.
#[test]
fn whatever_a_probe_can_ask_a_step_can_ask() {
    for check in [
        Check::Http { port: 8888, path: "//a/../b\\c".to_owned() },
        Check::Tcp { port: 8888 },
        Check::Exec { command: vec!["true".to_owned()] },
        Check::Heartbeat,
    ] {
        let written = serde_json::to_value(&check).unwrap();
        assert_eq!(faults(&step(&written)), [], "{written}");
        let probe = with(sample(), "/runtime_profile/readiness", json!({"check": written}));
        assert_eq!(faults(&probe), [], "{written}");
    }
}

/// A-22, E-17: what could not be asked, or could not come, is told at its place.
#[test]
fn a_step_that_cannot_be_taken_is_refused() {
    let http = |more: Value| {
        let mut check = json!({"kind": "http", "port": 8888, "path": "/"});
        check.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        check
    };
    let long = "x".repeat(4097);
    for (check, at, code) in [
        (http(json!({"port": 9})), "port", "probe_port_not_declared"),
        (http(json!({"port": 0})), "port", "out_of_range"),
        (http(json!({"path": "api"})), "path", "invalid_value"),
        (http(json!({"path": "/a b"})), "path", "invalid_value"),
        (http(json!({"path": format!("/{long}")})), "path", "invalid_value"),
        (http(json!({"method": "DELETE"})), "method", "invalid_value"),
        (http(json!({"expect_status": [99]})), "expect_status/0", "out_of_range"),
        (http(json!({"expect_status": [600]})), "expect_status/0", "out_of_range"),
        (http(json!({"body": "x"})), "body", "exclusive_blocks"),
        (
            http(json!({"method": "HEAD", "expect_body_contains": "x"})),
            "expect_body_contains",
            "exclusive_blocks",
        ),
        (http(json!({"expect_body_contains": ""})), "expect_body_contains", "invalid_value"),
        (http(json!({"expect_body_contains": long})), "expect_body_contains", "invalid_value"),
        (
            http(json!({"expect_body_contains": "${params.nothing}"})),
            "expect_body_contains",
            "expression_unknown_name",
        ),
        (http(json!({"expect_body_contains": "${['a']}"})), "expect_body_contains", "expression_type"),
        (http(json!({"path": "/${"})), "path", "expression_syntax"),
        (http(json!({"headers": {}})), "headers", "unknown_field"),
        (json!({"kind": "exec", "command": []}), "command", "out_of_range"),
        (json!({"kind": "exec", "command": ["${1 +}"]}), "command/0", "expression_syntax"),
        (json!({"kind": "exec"}), "command", "missing_field"),
        (json!({"kind": "web_socket", "port": 9, "path": "/"}), "port", "probe_port_not_declared"),
        (json!({"kind": "openai_chat", "port": 8888, "model": "m"}), "prompt", "missing_field"),
        (json!({"kind": "openai_chat", "port": 8888, "model": "", "prompt": "p"}), "model", "invalid_value"),
        (json!({"kind": "websocket", "port": 8888, "path": "/"}), "kind", "invalid_value"),
    ] {
        let at = format!("/validation/smoke/0/check/{at}");
        assert_eq!(faults(&step(&check)), [(at, code)], "{check}");
    }
}

/// A-22, C-06: a step of an add-on, of a component that is not there, and of no component where there are several.
#[test]
fn a_step_is_of_a_component_and_perhaps_of_an_addon() {
    let at = "/validation/smoke/0";
    for (pointer, value, place, code) in [
        ("component", json!("lost"), "component", "unknown_reference"),
        ("when", json!("addons.lost"), "when", "expression_unknown_name"),
        ("when", json!("params.model"), "when", "expression_type"),
        ("check/port", json!(8000), "check/port", "probe_port_not_declared"),
    ] {
        let found = faults(&with(composition(), &format!("{at}/{pointer}"), value));
        assert_eq!(found, [(format!("{at}/{place}"), code)]);
    }
    let mut nobody = composition();
    nobody["validation"]["smoke"][0].as_object_mut().unwrap().remove("component");
    assert_eq!(faults(&nobody), [(format!("{at}/component"), "missing_field")]);
    let token = json!("${has(params.hub_token) ? params.hub_token : ''}");
    let spoken = with(composition(), "/validation/smoke/1/check/prompt", token);
    assert_eq!(faults(&spoken), [("/validation/smoke/1/check/prompt".to_owned(), "expression_type")]);
}
