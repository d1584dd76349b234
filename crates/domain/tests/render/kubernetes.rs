//! What a cluster makes of our objects.

use gpuaas_domain::render::{Severity, kubernetes, render};
use serde_json::{Value, json};

use super::corpus::corpus;
use super::readers::trees;
use super::{ENGINES, sample, sample_tree};

/// What the kubelet does with arguments and values, after its documentation: `$(X)` is the variable X, or stays as it is
/// where there is none; `$$` is `$`; any other `$` is itself.
fn as_the_kubelet_reads(text: &str, variables: &Value) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix('$') {
            out.push('$');
            rest = after;
        } else if let Some((name, after)) = rest.strip_prefix('(').and_then(|inner| inner.split_once(')')) {
            out.push_str(variables[name].as_str().unwrap_or(&format!("$({name})")));
            rest = after;
        } else {
            out.push('$');
        }
    }
    out + rest
}

/// The container of the only Deployment.
fn container(input: &Value) -> Value {
    let rendered = kubernetes::render(&serde_json::from_value(input.clone()).unwrap()).unwrap();
    let deployment = trees(&rendered).into_iter().find(|tree| tree["kind"] == "Deployment").unwrap();
    deployment["spec"]["template"]["spec"]["containers"][0].clone()
}

/// D-10, F03: arguments, values and commands of probes come out of the kubelet as they went in.
#[test]
fn the_kubelet_gives_texts_on_as_they_were() {
    let variables = json!({"X": "replaced", "PATH": "/replaced", "": "empty", "HOSTNAME": "h"});
    assert_eq!(as_the_kubelet_reads("$(X) $$(X) $$$(X) $Y $", &variables), "replaced $(X) $replaced $Y $");
    for text in corpus().iter().filter(|text| !text.contains('\0')) {
        let mut input = sample_tree("one");
        let component = &mut input["components"][0];
        component["command"] = json!([text]);
        component["env"] = json!([{"name": "A", "value": text}]);
        component["liveness"] = json!({
            "check": {"kind": "exec", "command": [text]}, "interval_ms": 1000, "timeout_ms": 1000, "failures": 1
        });
        let container = container(&input);
        let variable = container["env"].as_array().unwrap().iter().find(|one| one["name"] == "A").unwrap();
        for given in
            [&container["args"][0], &variable["value"], &container["livenessProbe"]["exec"]["command"][0]]
        {
            assert_eq!(as_the_kubelet_reads(given.as_str().unwrap(), &variables), *text);
        }
    }
}

/// C-01, I-07, I-11, J-08, J-09: nothing more is asked for than what was bound, and nothing is open that was not said.
#[test]
fn a_pod_gets_what_was_bound_and_no_more() {
    let rendered = kubernetes::render(&sample("gateway-worker")).unwrap();
    let objects = trees(&rendered);
    let find = |kind: &str, name: &str| {
        objects.iter().find(|one| one["kind"] == kind && one["metadata"]["name"] == name).unwrap()
    };
    let pod = &find("Deployment", "worker")["spec"]["template"]["spec"];
    let limits = &pod["containers"][0]["resources"]["limits"];
    assert_eq!(*limits, json!({"cpu": "16000m", "memory": "131072Mi", "nvidia.com/gpu": "2"}));
    assert_eq!(*limits, pod["containers"][0]["resources"]["requests"]);
    assert_eq!(pod["automountServiceAccountToken"], false);
    assert_eq!(pod["securityContext"]["runAsNonRoot"], true);
    assert_eq!(pod["containers"][0]["securityContext"]["capabilities"], json!({"drop": ["ALL"]}));
    // Loading a model takes longer than the liveness probe would wait.
    assert_eq!(pod["containers"][0]["startupProbe"]["failureThreshold"], 600);
    let gateway = &find("Deployment", "gateway")["spec"]["template"]["spec"]["containers"][0];
    assert_eq!(gateway["securityContext"]["readOnlyRootFilesystem"], true);
    assert!(gateway["resources"]["limits"].get("nvidia.com/gpu").is_none());

    // The platform comes in by the gateway's declared port; by the worker's nobody but the instance itself.
    let open = &find("NetworkPolicy", "component-gateway")["spec"]["ingress"];
    assert_eq!(open[0]["ports"], json!([{"port": 8080, "protocol": "TCP"}]));
    assert_eq!(find("NetworkPolicy", "component-worker")["spec"]["policyTypes"], json!(["Egress"]));
}

/// D-10, C-18: what a cluster cannot keep is said, field by field.
#[test]
fn what_a_cluster_cannot_say_is_told() {
    let mut input = sample_tree("two-lanes");
    input["components"][0]["ports"][0]["host"] = json!(18080);
    for index in [1, 2] {
        input["components"][index]["mounts"] =
            json!([{"name": "shared", "path": "/shared", "source": {"kind": "scratch"}}]);
    }
    let refusal = kubernetes::render(&serde_json::from_value(input).unwrap()).unwrap_err();
    let refused: Vec<(&str, &str)> = refusal.refusing().map(|gap| (gap.path.as_str(), gap.code)).collect();
    assert_eq!(
        refused,
        [
            ("/components/0/ports/0/host", "host_port_not_available"),
            ("/components/1/mounts/0/source", "scratch_not_shared"),
            ("/components/2/mounts/0/source", "scratch_not_shared"),
        ]
    );
    let noted: Vec<(&str, &str)> = refusal
        .gaps
        .iter()
        .filter(|gap| gap.severity == Severity::Note)
        .map(|gap| (gap.path.as_str(), gap.code))
        .collect();
    for expected in [
        ("/components/1/readiness/check", "heartbeat_by_platform"),
        ("/components/1/gpus", "devices_by_count"),
        ("/components/2/readiness/interval_ms", "rounded_to_seconds"),
        ("/components/3/pids", "pids_not_limited"),
        ("/components/3/user", "root_user"),
        ("/components/0/egress", "egress_roughly"),
        ("/components/0/depends_on", "no_start_order"),
        ("/restart", "restart_by_platform"),
        ("/readiness_deadline_seconds", "deadline_per_component"),
    ] {
        assert!(noted.contains(&expected), "{expected:?} in {noted:?}");
    }
}

/// D-11: the release prints the very objects that the Kubernetes renderer makes.
#[test]
fn helm_values_hold_the_same_objects() {
    for name in super::SAMPLES {
        let [_, _, (_, direct), (_, helm)] = ENGINES;
        let objects = trees(&render(direct, &sample(name)).unwrap());
        let release = trees(&render(helm, &sample(name)).unwrap());
        assert_eq!(release[1]["objects"], Value::from(objects));
        assert_eq!(release[0]["chart"], "workload");
    }
}
