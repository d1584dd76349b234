//! Warnings: what is told, where, and what is left alone.

use serde_json::{Value, json};

use super::super::*;
use super::{composition, faults, image, sample, with, without};

fn warnings(document: &Value) -> Vec<(String, &'static str)> {
    let document = parse(document.to_string().as_bytes(), Format::Json).unwrap();
    advise(&document.manifest).into_iter().map(|found| (found.path, found.code)).collect()
}

fn at(document: &Value, code: &str) -> Vec<String> {
    warnings(document).into_iter().filter(|(_, found)| *found == code).map(|(path, _)| path).collect()
}

/// the sample registers unchanged, whatever is advised about it.
#[test]
fn a_warning_refuses_nothing() {
    assert_eq!(faults(&sample()), []);
    assert_eq!(
        warnings(&sample()),
        [
            ("/runtime_profile/readiness".to_owned(), "readiness_missing"),
            ("/validation/smoke".to_owned(), "smoke_missing"),
        ]
    );
}

/// C-10: one service is a runtime profile, several are components.
#[test]
fn one_service_and_several_are_told_apart() {
    assert_eq!(
        at(&with(sample(), "/runtime_profile/command/0", json!("/usr/bin/supervisord")), "several_services")
            .len(),
        1
    );
    let lone = json!([{"name": "x", "image_ref": image("jupyter-cuda-dev"), "ports": [{"container": 8888, "expose": "embedded_ui_gateway"}]}]);
    let document = without(with(sample(), "/components", lone), "runtime_profile");
    assert_eq!(at(&document, "composition_of_one"), ["/components"]);
    assert_eq!(at(&composition(), "composition_of_one"), Vec::<String>::new());
}

/// D-06, C-13: an engine that cannot say it is told before anybody launches.
#[test]
fn what_compose_cannot_say_is_told() {
    let mixed = with(composition(), "/components/1/egress", json!("internet"));
    let told = |document: &Value| at(document, "engine_cannot_say");
    let same = |egress: &str| {
        (0..3).fold(composition(), |all, index| {
            with(all, &format!("/components/{index}/egress"), json!(egress))
        })
    };
    assert_eq!(
        told(&with(same("none"), "/components/1/egress", json!("internet"))),
        ["/execution_engines/0"]
    );
    assert_eq!(told(&same("platform")), Vec::<String>::new());
    assert_eq!(told(&with(mixed, "/execution_engines", json!(["kubernetes"]))), Vec::<String>::new());
}

/// C-14: only what the table of classes forbids is refused, and a primary component may have it all.
#[test]
fn a_class_gets_what_it_is_for() {
    let ask = |class: &str, pointer: &str, value: Value| {
        let document = with(composition(), "/components/2/class", json!(class));
        let found = faults(&with(document, &format!("/components/2{pointer}"), value));
        found
            .into_iter()
            .filter(|(_, code)| *code == "class_not_allowed")
            .map(|(path, _)| path)
            .collect::<Vec<_>>()
    };
    let gpus = json!({"default": 1});
    let root = json!({"as": "root"});
    for class in ["gateway", "sidecar", "addon"] {
        assert_eq!(ask(class, "/gpu_count", gpus.clone()), ["/components/2/gpu_count"], "{class}");
        assert_eq!(
            ask(class, "/gpu_count", json!({"default": 0, "max": 0})),
            Vec::<String>::new(),
            "{class}"
        );
        assert_eq!(ask(class, "/user", root.clone()), ["/components/2/user"], "{class}");
        assert_eq!(ask(class, "/lane", json!("b")), ["/components/2/lane"], "{class}");
    }
    for (pointer, value) in [("/gpu_count", gpus), ("/user", root), ("/egress", json!("internet"))] {
        assert_eq!(ask("primary", pointer, value), Vec::<String>::new(), "{pointer}");
    }
    // The lane reaches the internet, so its helpers may; once it does not, they may not either.
    assert_eq!(ask("sidecar", "/egress", json!("internet")), Vec::<String>::new());
    let inside = with(composition(), "/components/1/egress", json!("platform"));
    let inside = with(
        with(inside, "/components/2/class", json!("sidecar")),
        "/components/2/egress",
        json!("internet"),
    );
    assert_eq!(faults(&inside), [("/components/2/egress".to_owned(), "class_not_allowed")]);
}

/// L-09.
#[test]
fn a_secret_in_a_variable_is_told() {
    let plain = with(composition(), "/secrets/0/inject", json!({"as": "env", "name": "HF_TOKEN"}));
    assert_eq!(at(&plain, "secret_in_environment"), ["/components/1/env/0/value", "/secrets/0/inject"]);
    let chosen = json!({"name": "HF_TOKEN", "value": "${params.hub_token}"});
    let chosen = with(composition(), "/components/1/env/0", chosen);
    assert_eq!(at(&chosen, "secret_in_environment"), ["/components/1/env/0/value"]);
}

/// C-13: what another component waits for, or a probe asks, is reached.
#[test]
fn a_port_that_nobody_asks_for_is_told() {
    assert_eq!(at(&composition(), "port_unreachable"), Vec::<String>::new());
    let alone = with(composition(), "/components/0/depends_on", json!([]));
    // Its own probe asks 8000, so a second port is what nobody reaches.
    let alone = with(alone, "/components/1/ports/1", json!({"container": 9000, "expose": "internal"}));
    assert_eq!(at(&alone, "port_unreachable"), ["/components/1/ports/1/expose"]);
}

/// A-21, B-02.
#[test]
fn variants_and_hints_are_looked_at() {
    let gpu_only = json!([{"name": "x", "variants": [{"name": "n", "image_ref": image("x"), "accelerators": ["nvidia"]}]}]);
    let document = with(sample(), "/artifacts", gpu_only);
    assert_eq!(at(&document, "cpu_variant_missing"), Vec::<String>::new(), "it always has a GPU");
    let without_gpu = with(document, "/compatibility/min_gpu_count", json!(0));
    assert_eq!(at(&without_gpu, "cpu_variant_missing"), ["/artifacts/0/variants"]);
    let twice =
        with(composition(), "/ui_hints/groups/1", json!({"title": "More", "parameters": ["context"]}));
    assert_eq!(at(&twice, "duplicate_hint"), ["/ui_hints/groups/1/parameters/0"]);
}

/// C-01: what each engine would read is named; what is ours or a shell's is not.
#[test]
fn a_mark_that_nothing_replaces_is_told_with_its_engine() {
    let said = |value: &str| {
        let document = with(composition(), "/components/1/env/0", json!({"name": "MODE", "value": value}));
        let document = parse(document.to_string().as_bytes(), Format::Json).unwrap();
        let found = advise(&document.manifest).into_iter().find(|found| found.code == "arrives_as_written");
        found.map(|found| found.message)
    };
    assert!(said("$HOME/x").unwrap().contains("docker_compose would read it"));
    assert!(said("a $(HOSTNAME)").unwrap().contains("docker_compose would read it"));
    assert!(said("{{ .Values.x }}").unwrap().contains("no engine of this app reads it"));
    for ours in
        ["${params.model}", "${HOME}", "$${HOME}", "costs 5$", "100%", "$1", "a ${resources.gpu_count}"]
    {
        assert_eq!(said(ours), None, "{ours}");
    }
    let shell = with(composition(), "/components/1/command", json!(["/bin/sh", "-c", "exec serve $MODEL"]));
    assert_eq!(at(&shell, "arrives_as_written"), Vec::<String>::new());
}
