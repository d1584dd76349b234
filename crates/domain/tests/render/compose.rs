//! What a Compose project says, and what it leaves to the node.

use gpuaas_domain::render::compose;
use serde_json::{Value, json};

use super::readers::trees;
use super::sample_tree;

fn project(input: &Value) -> Value {
    let rendered = compose::render(&serde_json::from_value(input.clone()).unwrap()).unwrap();
    trees(&rendered).remove(0)
}

/// C-03, C-13, I-07, I-11, J-08, J-09: exact devices, volumes that outlive the project, and no port on any interface.
#[test]
fn a_project_holds_what_was_bound() {
    let mut input = sample_tree("gateway-worker");
    input["components"][0]["ports"][0]["host"] = json!(18080);
    let project = project(&input);
    let worker = &project["services"]["worker"];
    let devices = &worker["deploy"]["resources"]["reservations"]["devices"];
    assert_eq!(devices[0]["device_ids"], json!(["GPU-00000001", "GPU-00000002"]));
    assert!(devices[0].get("count").is_none(), "a count would add devices");
    let gateway = &project["services"]["gateway"];
    assert!(gateway.get("deploy").is_none());
    assert_eq!(gateway["environment"]["NVIDIA_VISIBLE_DEVICES"], "void");
    assert_eq!(project["volumes"]["volume-01890000-0000-7000-8000-0000000000a1"]["external"], true);
    assert!(project["volumes"]["scratch-cache"].get("external").is_none());
    for service in project["services"].as_object().unwrap().values() {
        assert!(service.get("ports").is_none(), "the agent listens for a host port itself");
        assert_eq!(service["networks"], json!(["instance"]));
        assert_eq!(service["restart"], "no");
    }
    assert_eq!(project["networks"]["instance"]["internal"], true);
}

/// C-13: Compose waits for health where it can tell, and where it cannot, that is said.
#[test]
fn dependencies_are_awaited_where_compose_can() {
    let input = sample_tree("two-lanes");
    let waits = &project(&input)["services"]["gateway"]["depends_on"];
    assert_eq!(waits["lane-a"]["condition"], "service_started");
    assert_eq!(waits["lane-b"]["condition"], "service_healthy");
    let rendered = compose::render(&serde_json::from_value(input).unwrap()).unwrap();
    let noted: Vec<(&str, &str)> = rendered.gaps.iter().map(|gap| (gap.path.as_str(), gap.code)).collect();
    for expected in [
        ("/components/0/depends_on/0", "dependency_not_awaited"),
        ("/components/1/readiness", "probed_by_agent"),
        ("/components/2/gpus", "device_files_by_agent"),
        ("/restart", "restart_by_agent"),
        ("/readiness_deadline_seconds", "deadline_by_agent"),
    ] {
        assert!(noted.contains(&expected), "{expected:?} in {noted:?}");
    }
    assert!(!noted.contains(&("/components/0/depends_on/1", "dependency_not_awaited")));
}

/// What one component may reach all may: they share a network, so a difference is refused rather than widened.
#[test]
fn mixed_egress_is_refused() {
    let mut input = sample_tree("gateway-worker");
    input["components"][1]["egress"] = json!("internet");
    let refusal = compose::render(&serde_json::from_value(input).unwrap()).unwrap_err();
    let refused: Vec<(&str, &str)> = refusal.refusing().map(|gap| (gap.path.as_str(), gap.code)).collect();
    assert_eq!(refused, [("/components/1/egress", "mixed_egress")]);
}

/// Every fault of an input is told at once, each by its place.
#[test]
fn faults_are_told_by_their_places() {
    let mut input = sample_tree("gateway-worker");
    let one = &mut input["components"][0];
    one["env"] = json!([
        {"name": "LD_PRELOAD", "value": ""}, {"name": "1A", "value": "a\u{0}b"}, {"name": "B", "value": ""},
        {"name": "B", "value": ""}
    ]);
    one["tmpfs"] = json!([{"path": "/etc", "size_mib": 0}]);
    one["replicas"] = json!(0);
    one["depends_on"] = json!(["nobody"]);
    one["user"] = json!({"as": "user", "uid": 0, "gid": 5});
    one["egress"] = json!("none");
    one["liveness"] =
        json!({"check": {"kind": "heartbeat"}, "interval_ms": 1, "timeout_ms": 1000, "failures": 1});
    input["components"][1]["name"] = json!("gateway");
    input["components"][1]["egress"] = json!("none");
    input["components"][1]["command"] = json!(vec!["x".repeat(30_000); 10]);
    let refusal = compose::render(&serde_json::from_value(input).unwrap()).unwrap_err();
    let refused: Vec<(&str, &str)> = refusal.refusing().map(|gap| (gap.path.as_str(), gap.code)).collect();
    assert_eq!(
        refused,
        [
            ("/components/0/env/0/name", "denied_variable"),
            ("/components/0/env/1/name", "invalid_name"),
            ("/components/0/env/1/value", "invalid_text"),
            ("/components/0/env/3/name", "not_unique"),
            ("/components/0/user", "invalid_value"),
            ("/components/0/replicas", "out_of_range"),
            ("/components/0/tmpfs/0/path", "invalid_path"),
            ("/components/0/tmpfs/0/size_mib", "out_of_range"),
            ("/components/0/liveness/interval_ms", "out_of_range"),
            ("/components/0/liveness/check", "heartbeat_not_heard"),
            ("/components", "too_large"),
            ("/components/1/name", "not_unique"),
        ]
    );
}
