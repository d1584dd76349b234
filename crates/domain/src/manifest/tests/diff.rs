//! What changes for people between two versions.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::diff::{Area, Change, Kind, diff};
use super::super::*;
use super::laws::{any_json, pointers};
use super::{composition, image, sample, with, without};

fn manifest(value: &Value) -> Manifest {
    parse(value.to_string().as_bytes(), Format::Json).unwrap().manifest
}

/// One line for each change.
fn told(before: &Value, after: &Value) -> Vec<String> {
    let line = |Change { area, kind, subject, aspect, before, after }: Change| {
        let show = |value: Option<Value>| value.map_or("-".to_owned(), |value| value.to_string());
        let aspect = aspect.map_or(String::new(), |aspect| format!(" {aspect}"));
        format!("{area:?} {kind:?} {subject}{aspect}: {} > {}", show(before), show(after))
    };
    diff(&manifest(before), &manifest(after)).into_iter().map(line).collect()
}

/// A-09, B-01, E-08.
#[test]
fn what_people_choose_get_pay_and_allow_is_told() {
    let mut after = with(composition(), "/version", json!("2.0.0"));
    after = with(after, "/parameters/context/maximum", json!(131_072));
    after = with(after, "/parameters/model/default", json!("c/d"));
    after = with(after, "/parameters/seed", json!({"type": "integer", "default": 0}));
    after["parameters"].as_object_mut().unwrap().remove("packages");
    after["ui_hints"]["fields"].as_object_mut().unwrap().clear();
    after = with(after, "/resources/memory_mib/default", json!(32768));
    after = with(after, "/components/0/egress", json!("internet"));
    after = with(after, "/components/1/user", json!({"as": "root"}));
    after = with(after, "/components/0/ports/1", json!({"container": 9090, "expose": "public"}));
    after = with(after, "/notes", json!("Second."));
    assert_eq!(
        told(&composition(), &after),
        [
            r#"Identity Changed version: "2.0.0-rc.1" > "2.0.0""#,
            r"Parameters Changed context maximum: 65536 > 131072",
            r#"Parameters Changed model default: "a/b" > "c/d""#,
            r#"Parameters Removed packages: {"default":[],"entries":"string","type":"array","warning":"Takes time."} > -"#,
            r#"Parameters Added seed: - > {"default":0,"type":"integer"}"#,
            r"Resources Changed memory MiB default: 16384 > 32768",
            r#"Rights Changed gateway egress: "platform" > "internet""#,
            r#"Rights Added gateway port 9090: - > {"expose":"public","name":"port-9090"}"#,
            r#"Rights Changed lane-a user: {"as":"image"} > {"as":"root"}"#,
            r#"Notes Changed notes: "First." > "Second.""#,
        ]
    );
}

/// A-22, E-17: what is checked, promised and done to older values is told too.
#[test]
fn checks_migrations_and_promises_are_told() {
    let mut after = with(composition(), "/validation/smoke/1/check/prompt", json!("Say yes."));
    after["validation"]["smoke"].as_array_mut().unwrap().remove(0);
    after = with(after, "/migrations/1", json!({"from": "<2.0.0-rc.1", "remove": ["seed"]}));
    after = with(after, "/contract/failure_reasons", json!(["out_of_memory"]));
    after = with(after, "/ui_hints/fields/context", json!({"when": "params.model == 'a/b'"}));
    after = with(
        after,
        "/ui_hints/fields/context/warnings",
        json!([{"when": "params.context > 9000", "message": "Slow."}]),
    );
    assert_eq!(
        told(&composition(), &after),
        [
            r#"Parameters Changed context shown when: - > "params.model == 'a/b'""#,
            r#"Parameters Changed context warnings: - > [{"message":"Slow.","when":"params.context > 9000"}]"#,
            r#"Parameters Changed values from <2.0.0-rc.1 step 2: - > {"from":"<2.0.0-rc.1","remove":["seed"]}"#,
            r#"Checks Changed contract failure reasons: ["readiness_timeout"] > ["out_of_memory"]"#,
            r#"Checks Changed smoke chat check: {"kind":"openai_chat","model":"${params.model}","path":"/v1/chat/completions","port":8080,"prompt":"Hello."} > {"kind":"openai_chat","model":"${params.model}","path":"/v1/chat/completions","port":8080,"prompt":"Say yes."}"#,
            r#"Checks Removed smoke models: {"check":{"kind":"http","path":"/v1/models","port":8080},"component":"gateway","seconds":60} > -"#,
        ]
    );
}

#[test]
fn another_registry_is_no_other_image_and_another_digest_is() {
    let moved = |value: Value| -> Value {
        serde_json::from_str(&value.to_string().replace("registry.gpuaas.example.com", "other.example.org"))
            .unwrap()
    };
    assert_eq!(told(&sample(), &moved(sample())), Vec::<String>::new());
    let built = image("jupyter-cuda-dev").replace("0123", "4567");
    let after =
        with(with(sample(), "/artifact_ref", json!(built)), "/runtime_profile/image_ref", json!(built));
    let changes = diff(&manifest(&sample()), &manifest(&after));
    let areas: Vec<(Area, Kind)> = changes.iter().map(|change| (change.area, change.kind)).collect();
    assert_eq!(areas, [(Area::Artifacts, Kind::Changed), (Area::Artifacts, Kind::Changed)]);
}

/// What the defaults already meant is no change when it is written out.
#[test]
fn writing_a_default_out_changes_nothing() {
    let after = with(sample(), "/runtime_profile/egress", json!("platform"));
    let after = with(after, "/resources", json!({"gpu_count": {"default": 1}}));
    assert_eq!(told(&sample(), &after), Vec::<String>::new());
    assert_eq!(
        told(&sample(), &without(sample(), "metering")),
        [r#"Identity Removed meter: "session_seconds" > -"#]
    );
}

proptest! {
    /// Nothing differs from itself, and both directions tell of the same places.
    #[test]
    fn a_diff_is_empty_on_itself_and_the_same_both_ways(at in any::<prop::sample::Index>(), new in any_json()) {
        let mut changed = composition();
        let mut all = Vec::new();
        pointers(&changed, "", &mut all);
        *changed.pointer_mut(at.get(&all[..]).as_str()).unwrap() = new;
        let Ok(document) = parse(changed.to_string().as_bytes(), Format::Json) else { return Ok(()) };
        let (one, other) = (manifest(&composition()), document.manifest);
        prop_assert_eq!(diff(&other, &other), Vec::<Change>::new());
        let (there, back) = (diff(&one, &other), diff(&other, &one));
        prop_assert_eq!(there.len(), back.len());
        for (there, back) in there.iter().zip(&back) {
            prop_assert_eq!((&there.subject, &there.before, &there.after), (&back.subject, &back.after, &back.before));
        }
    }
}
