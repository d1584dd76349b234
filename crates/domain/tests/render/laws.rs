//! What holds for any input.

use gpuaas_domain::render::{RenderInput, Severity, render, start_order};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::readers::trees;
use super::{ENGINES, SAMPLES, sample, sample_tree};

/// Words that could only come from us: the texts of the generator hold none of them.
const NEVER: &[&str] =
    &["privileged", "hostPath", "hostNetwork", "hostPID", "hostIPC", "docker.sock", "network_mode"];

fn name() -> impl Strategy<Value = Value> {
    prop_oneof![99 => "[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?", 1 => any::<String>()].prop_map(Value::from)
}

fn text() -> impl Strategy<Value = Value> {
    prop_oneof![80 => any::<String>(), 40 => "[$(){}A-Z\\n:# -]{0,20}", 1 => Just("\0".to_owned())]
        .prop_filter("such words are not ours", |text| NEVER.iter().all(|word| !text.contains(word)))
        .prop_map(Value::from)
}

fn probe() -> impl Strategy<Value = Value> {
    let check = prop_oneof![
        (any::<u16>(), "/[!-~]{0,20}")
            .prop_map(|(port, path)| json!({"kind": "http", "port": port, "path": path})),
        any::<u16>().prop_map(|port| json!({"kind": "tcp", "port": port})),
        prop::collection::vec(text(), 1..3).prop_map(|command| json!({"kind": "exec", "command": command})),
        Just(json!({"kind": "heartbeat"})),
    ];
    (check, 40_u32..10_000, 40_u32..10_000, 0_u32..100).prop_map(|(check, interval, timeout, failures)| {
        json!({"check": check, "interval_ms": interval, "timeout_ms": timeout, "failures": failures})
    })
}

fn mount() -> impl Strategy<Value = Value> {
    let source = prop_oneof![
        Just(json!({"kind": "scratch"})),
        any::<u128>().prop_map(|id| json!({"kind": "volume", "id": uuid::Uuid::from_u128(id)})),
    ];
    (name(), "/[a-z]{1,8}(/[a-z]{1,8})?", any::<bool>(), source).prop_map(|(name, path, read_only, source)| {
        json!({"name": name, "path": path, "read_only": read_only, "source": source})
    })
}

fn component() -> impl Strategy<Value = Value> {
    let user = prop_oneof![
        Just(json!({"as": "image"})),
        Just(json!({"as": "root"})),
        (0_u32..50_000, 0_u32..50_000).prop_map(|(uid, gid)| json!({"as": "user", "uid": uid, "gid": gid})),
    ];
    let env = ("[A-Z_]{1,8}", text()).prop_map(|(name, value)| json!({"name": name, "value": value}));
    let gpu = ("[A-Za-z0-9-]{1,12}", any::<bool>(), any::<bool>()).prop_map(|(uuid, amd, simulated)| {
        json!({"vendor": if amd { "amd" } else { "nvidia" }, "uuid": uuid, "simulated": simulated})
    });
    let expose =
        prop::sample::select(vec!["embedded_ui_gateway", "platform_proxy", "public", "private", "internal"]);
    let port = (name(), any::<u16>(), expose, prop::option::weighted(0.05, any::<u16>()))
        .prop_map(|(name, container, expose, host)| {
            json!({"name": name, "container": container, "expose": expose, "host": host})
        });
    let secret = (name(), "[A-Z]{1,8}_FILE", any::<bool>()).prop_map(|(name, variable, file)| {
        let inject = if file {
            json!({"as": "file", "env": variable})
        } else {
            json!({"as": "env", "name": variable})
        };
        json!({"name": name, "inject": inject})
    });
    let list = |of: BoxedStrategy<Value>| prop::collection::vec(of, 0..3);
    let first =
        (name(), list(text().boxed()), list(env.boxed()), user, 0_u32..9000, 5_u32..9000, 0_u32..9000);
    let second = (
        list(mount().boxed()),
        list(gpu.boxed()),
        list(port.boxed()),
        prop::option::of(probe()),
        prop::option::of(probe()),
        prop::collection::vec(secret, 0..2),
        prop_oneof![20 => Just(1_u32), 1 => 0_u32..4],
    );
    (first, second).prop_map(
        |(
            (name, command, env, user, cpu, memory, pids),
            (mounts, gpus, ports, readiness, liveness, secrets, replicas),
        )| {
            let mut component = sample_tree("one")["components"][0].clone();
            for (field, value) in [
                ("name", name),
                ("command", json!(command)),
                ("env", json!(env)),
                ("user", user),
                ("cpu_millis", json!(cpu)),
                ("memory_mib", json!(memory)),
                ("pids", json!(pids)),
                ("mounts", json!(mounts)),
                ("gpus", json!(gpus)),
                ("ports", json!(ports)),
                ("readiness", json!(readiness)),
                ("liveness", json!(liveness)),
                ("secrets", json!(secrets)),
                ("replicas", json!(replicas)),
            ] {
                component[field] = value;
            }
            component
        },
    )
}

fn input() -> impl Strategy<Value = Value> {
    (prop_oneof![2 => prop::collection::vec(component(), 1..2), 1 => prop::collection::vec(component(), 0..4)], 0_u32..610, 0_u32..87_000).prop_map(
        |(components, grace, deadline)| {
            let mut input = sample_tree("one");
            input["components"] = json!(components);
            input["stop_grace_seconds"] = json!(grace);
            input["readiness_deadline_seconds"] = json!(deadline);
            input
        },
    )
}

fn check_keys(tree: &Value) {
    match tree {
        Value::Object(map) => {
            assert!(map.keys().all(|key| !NEVER.contains(&key.as_str())), "{map:?}");
            if let Some(Value::String(image)) = map.get("image") {
                assert!(
                    image.contains("@sha256:") && image.rsplit('/').next().unwrap().matches(':').count() == 1
                );
            }
            map.values().for_each(check_keys);
        }
        Value::Array(items) => items.iter().for_each(check_keys),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// B-05, A-10, D-01, F02: any input is rendered or refused by its place, twice the same, readable by both readers, and
    /// nothing that we never write is in it.
    #[test]
    fn any_input_is_rendered_or_refused(tree in input()) {
        let Ok(input) = serde_json::from_value::<RenderInput>(tree) else { return Ok(()) };
        for (_, engine) in ENGINES {
            let once = render(engine, &input);
            prop_assert_eq!(&once, &render(engine, &input));
            match once {
                Ok(rendered) => {
                    trees(&rendered).iter().for_each(check_keys);
                    for file in &rendered.files {
                        prop_assert!(NEVER.iter().all(|word| !file.bytes.contains(word)), "{}", file.bytes);
                    }
                    prop_assert!(rendered.gaps.iter().all(|gap| gap.severity == Severity::Note));
                }
                Err(refusal) => {
                    prop_assert!(refusal.refusing().next().is_some());
                    prop_assert!(refusal.gaps.iter().all(|gap| gap.path.starts_with('/')));
                }
            }
        }
    }
}

/// C-13: what others wait for is started before; a circle is refused.
#[test]
fn components_start_in_waves() {
    let input = sample("two-lanes");
    assert_eq!(start_order(&input).unwrap(), [vec!["lane-a", "lane-b"], vec!["gateway"], vec!["metrics"]]);
    let mut circle = input;
    circle.components[1].depends_on = vec!["metrics".to_owned()];
    assert_eq!(start_order(&circle).unwrap_err().code, "dependency_cycle");
    for (_, engine) in ENGINES {
        assert!(render(engine, &circle).unwrap_err().refusing().any(|gap| gap.code == "dependency_cycle"));
    }
}

/// A plan has no instance yet: engines that name things by it refuse.
#[test]
fn without_an_instance_nothing_is_named() {
    for name in SAMPLES {
        let mut tree = sample_tree(name);
        tree["identity"]["instance_id"] = json!("00000000-0000-0000-0000-000000000000");
        let input = serde_json::from_value(tree).unwrap();
        for (_, engine) in &ENGINES[1..] {
            let refusal = render(*engine, &input).unwrap_err();
            assert!(refusal.refusing().any(|gap| gap.path == "/identity/instance_id"));
        }
    }
}
