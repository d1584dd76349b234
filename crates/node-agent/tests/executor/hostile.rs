//! H02: specs with what is forbidden, signed by a proper key. There is no field for it, or the check refuses it.

use std::sync::Arc;

use gpuaas_agent_protocol::image::Digest;
use gpuaas_agent_protocol::task::{Refusal, SignedTask};
use gpuaas_faults::Faults;
use gpuaas_node_agent::runtime::simulated::SimulatedRuntime;
use serde_json::{Value, json};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;

use crate::support::{Node, component, launch, random_id};

/// Fields that engines know and that would hurt; put into a component.
fn component_fields() -> Vec<(&'static str, Value)> {
    vec![
        ("privileged", json!(true)),
        ("cap_add", json!(["SYS_ADMIN"])),
        ("capabilities", json!({"add": ["ALL"]})),
        ("binds", json!(["/:/host"])),
        ("mounts", json!([{"type": "bind", "source": "/", "target": "/host"}])),
        ("volumes", json!(["/var/run/docker.sock:/var/run/docker.sock"])),
        ("volumes_from", json!(["other"])),
        ("devices", json!(["/dev/sda"])),
        ("device_cgroup_rules", json!(["a *:* rwm"])),
        ("device_requests", json!([{"count": -1}])),
        ("network_mode", json!("host")),
        ("pid_mode", json!("host")),
        ("ipc_mode", json!("host")),
        ("uts_mode", json!("host")),
        ("userns_mode", json!("host")),
        ("cgroupns_mode", json!("host")),
        ("cgroup_parent", json!("/")),
        ("sysctls", json!({"kernel.core_pattern": "|/x"})),
        ("ulimits", json!([{"name": "nofile", "soft": -1}])),
        ("security_opt", json!(["seccomp=unconfined"])),
        ("seccomp", json!("unconfined")),
        ("apparmor", json!("unconfined")),
        ("runtime", json!("runc-evil")),
        ("restart_policy", json!("always")),
        ("oom_kill_disable", json!(true)),
        ("oom_score_adj", json!(-1000)),
        ("extra_hosts", json!(["metadata:169.254.169.254"])),
        ("dns", json!(["8.8.8.8"])),
        ("links", json!(["other"])),
        ("group_add", json!(["0"])),
        ("labels", json!({"gpuaas.node": "other"})),
        ("entrypoint", json!(["/bin/sh"])),
        ("publish_all_ports", json!(true)),
        ("init", json!(true)),
        ("masked_paths", json!([])),
        ("readonly_paths", json!([])),
        ("shm_size", json!(1)),
        ("hostname", json!("node")),
        ("log_config", json!({"type": "syslog"})),
        ("working_dir", json!("/")),
    ]
}

const VOLUME: &str = "01900000-0000-7000-8000-000000000001";

/// Values of fields that exist.
fn component_values() -> Vec<(&'static str, Value)> {
    let scratch = |path: &str| json!([{"name": "data", "path": path}]);
    let named = |name: &str| json!([{"name": name, "path": "/data"}]);
    let volume = |id: &str, path: &str| json!([{"id": id, "path": path}]);
    let env = |name: &str| json!([{"name": name, "value": "x"}]);
    vec![
        ("scratch", scratch("/")),
        ("scratch", scratch("/etc")),
        ("scratch", scratch("/proc/sys")),
        ("scratch", scratch("/dev/shm")),
        ("scratch", scratch("/usr")),
        ("scratch", scratch("/run/gpuaas")),
        ("scratch", scratch("/data/../etc")),
        ("scratch", scratch("relative")),
        ("scratch", named("../../etc")),
        ("scratch", named("/var/run/docker.sock")),
        ("scratch", named("..")),
        ("scratch", named("")),
        ("scratch", json!([{"name": "a", "path": "/data", "source": "/var/run/docker.sock"}])),
        ("volumes", volume(VOLUME, "/etc")),
        ("volumes", volume(VOLUME, "/run/gpuaas")),
        ("volumes", volume(VOLUME, "/work/../etc")),
        ("volumes", volume(VOLUME, "/data")),
        ("volumes", volume("../../etc", "/work")),
        ("volumes", volume("/var/run/docker.sock", "/work")),
        ("volumes", volume("00000000-0000-0000-0000-000000000000", "/work")),
        ("volumes", volume("", "/work")),
        ("volumes", json!([{"id": VOLUME, "path": "/a"}, {"id": VOLUME, "path": "/b"}])),
        ("volumes", json!([{"id": VOLUME, "path": "/work", "source": "/"}])),
        ("tmpfs", json!([{"path": "/tmp", "size_mib": 16, "options": "exec,suid"}])),
        ("tmpfs", json!([{"path": "/sys", "size_mib": 16}])),
        ("env", env("LD_PRELOAD")),
        ("env", env("NVIDIA_VISIBLE_DEVICES")),
        ("env", env("GPUAAS_BASE_URL")),
        ("env", env("A=B")),
        ("env", env("")),
        ("user", json!({"as": "user", "uid": 0, "gid": 1000})),
        ("user", json!({"as": "user", "uid": 1000, "gid": 0})),
        ("user", json!("root")),
        ("egress", json!("host")),
        ("name", json!("../../x")),
        ("name", json!("a b")),
        ("memory_mib", json!(0)),
        ("memory_mib", json!(-1)),
        ("pids", json!(0)),
        ("pids", json!(-1)),
        ("cpu_millis", json!(0)),
        ("ports", json!([{"name": "p", "container": 80, "host": 22}])),
        ("ports", json!([{"name": "p", "container": 80, "host_ip": "0.0.0.0"}])),
        ("ports", json!([{"name": "p", "container": 0}])),
        ("gpus", json!([{"vendor": "nvidia", "uuid": "all,void", "simulated": false}])),
        ("gpus", json!([{"vendor": "nvidia", "uuid": "../../dev/sda", "simulated": false}])),
        (
            "readiness",
            json!({"check": {"kind": "http", "port": 80, "path": "/ HTTP/1.1\r\nX: y"}, "interval_ms": 100, "timeout_ms": 100, "failures": 1}),
        ),
        (
            "readiness",
            json!({"check": {"kind": "http", "port": 80, "path": "/", "host": "169.254.169.254"}, "interval_ms": 100, "timeout_ms": 100, "failures": 1}),
        ),
        ("image", json!({"reference": "registry.example.com/a:latest"})),
        (
            "image",
            json!({"reference": format!("registry.example.com/a@sha256:{}", "ab".repeat(32)), "upstream": "file:///etc/shadow"}),
        ),
        (
            "image",
            json!({"reference": format!("registry.example.com/a@sha256:{}", "ab".repeat(32)), "upstream": "https://u:p@r.example.com"}),
        ),
    ]
}

/// Signs a task whose spec was changed as JSON; the digest is the honest one of what is sent, where it can be had.
fn sign_raw(node: &Node, change: &dyn Fn(&mut Value)) -> SignedTask {
    let task = node.task(random_id(), 1, launch(vec![component("main")]));
    let mut body = serde_json::to_value(&task).unwrap();
    change(&mut body["order"]["spec"]);
    if let Ok(order) = serde_json::from_value::<gpuaas_agent_protocol::task::Order>(body["order"].clone()) {
        body["order_digest"] = json!(order.digest());
    } else {
        body["order_digest"] = json!(Digest::of(body["order"].to_string().as_bytes()));
    }
    let payload = body.to_string();
    let bytes = [&b"gpuaas-task-v1\0"[..], payload.as_bytes()].concat();
    let signature = BASE64.encode(node.server.sign(&bytes).as_ref());
    SignedTask { key_id: node.server_key_id, payload, signature }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_hostile_spec_passes_and_none_reaches_the_engine() {
    let engine = SimulatedRuntime::new();
    let node = Node::new(Arc::new(engine.clone()));
    let executor = node.start(Faults::none()).await;
    let fields = component_fields();
    let values = component_values();
    assert!(fields.len() >= 40 && values.len() >= 40);
    for (field, value) in fields.iter().chain(&values) {
        let signed = sign_raw(&node, &|spec| spec["components"][0][*field] = value.clone());
        let refused = executor.accept(&signed).await.expect_err(&format!("{field} = {value}"));
        assert!(
            matches!(refused.refusal, Refusal::Malformed | Refusal::SpecRefused),
            "{field} = {value}: {refused:?}"
        );
    }
    for (field, value) in
        [("privileged", json!(true)), ("networks", json!(["host"])), ("restart", json!("always"))]
    {
        let signed = sign_raw(&node, &|spec| spec[field] = value.clone());
        assert_eq!(executor.accept(&signed).await.unwrap_err().refusal, Refusal::Malformed, "{field}");
    }
    assert_eq!(engine.counts().changes, 0, "the engine was left alone");
    assert!(executor.report_full().instances.is_empty());
    executor.accept(&sign_raw(&node, &|_| {})).await.expect("the unspoilt spec passes");
}
