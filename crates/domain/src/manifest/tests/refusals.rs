//! Every code with the pointer at which it stands.

use serde_json::{Value, json};

use super::super::*;
use super::{HEX, composition, faults, image, sample, with, without};

/// Change the sample at a pointer; the fault is there, or where the third column says.
fn refused(document: fn() -> Value, rows: &[(&str, Value, &str, &str)]) {
    for (pointer, value, at, code) in rows {
        let at = if at.is_empty() { pointer } else { at };
        let found = faults(&with(document(), pointer, value.clone()));
        assert!(
            found.contains(&((*at).to_owned(), code)),
            "{pointer} = {value}: {code} at {at}, found {found:?}"
        );
    }
}

/// A-06, T-04, T-05.
#[test]
fn images_are_pinned_and_come_from_the_platform() {
    let at = "/runtime_profile/image_ref";
    let elsewhere = format!("docker.io/apps/jupyter-cuda-dev@sha256:{HEX}");
    let outside = format!("registry.gpuaas.example.com/appsecret/x@sha256:{HEX}");
    refused(
        sample,
        &[
            (at, json!("registry.gpuaas.example.com/apps/jupyter-cuda-dev:1.4"), "", "digest_required"),
            (at, json!("registry.gpuaas.example.com/apps/jupyter-cuda-dev"), "", "digest_required"),
            (at, json!("registry.gpuaas.example.com/apps/x@sha256:ABC"), "", "malformed_digest"),
            (at, json!(format!("apps@sha256:{HEX}")), "", "malformed_image_name"),
            (at, json!(elsewhere), "", "image_source_not_allowed"),
            (at, json!(outside), "", "image_source_not_allowed"),
            ("/artifact_ref", json!(elsewhere), "", "image_source_not_allowed"),
            ("/artifact_ref", json!(image("other")), "", "artifact_ref_mismatch"),
        ],
    );
    let tagged = format!("registry.gpuaas.example.com/apps/jupyter-cuda-dev:1.4@sha256:{HEX}");
    assert_eq!(faults(&with(sample(), at, json!(tagged))), [], "a tag may ride along");
    let elsewhere = RegistryNames { host: "registry.example.net".to_owned(), ..super::registries() };
    let none = check(sample().to_string().as_bytes(), Format::Json, &elsewhere).unwrap_err();
    assert_eq!(none[0].code, "image_source_not_allowed");
}

/// T-02: whatever the spelling, anywhere.
#[test]
fn privileges_have_no_field() {
    let code = "privileged_not_allowed";
    refused(
        sample,
        &[
            ("/runtime_profile/privileged", json!(true), "", code),
            ("/runtime_profile/cap_add", json!(["SYS_ADMIN"]), "", code),
            ("/runtime_profile/capAdd", json!([]), "", code),
            ("/runtime_profile/network_mode", json!("host"), "", code),
            ("/runtime_profile/hostNetwork", json!(true), "", code),
            ("/runtime_profile/host_pid", json!(true), "", code),
            ("/runtime_profile/pid", json!("host"), "", code),
            ("/runtime_profile/ipc", json!("host"), "", code),
            ("/runtime_profile/devices", json!(["/dev/kvm"]), "", code),
            ("/runtime_profile/security_opt", json!(["seccomp=unconfined"]), "", code),
            ("/runtime_profile/securityContext", json!({}), "", code),
            ("/privileged", json!(true), "", code),
            ("/compatibility/privileged", json!(true), "", code),
        ],
    );
    refused(composition, &[("/components/1/privileged", json!(true), "", code)]);
}

/// T-03.
#[test]
fn nothing_of_the_host_is_mounted() {
    let code = "host_mount_not_allowed";
    refused(
        sample,
        &[
            ("/runtime_profile/volumes", json!(["/:/host"]), "", code),
            ("/runtime_profile/binds", json!(["/:/host"]), "", code),
            ("/runtime_profile/host_path", json!("/"), "", code),
            ("/runtime_profile/mounts", json!([]), "", code),
            ("/runtime_profile/env/0/value", json!("unix:///var/run/docker.sock"), "", code),
            ("/runtime_profile/command/1", json!("-v=/var/run/docker.sock:/s"), "", code),
        ],
    );
    let mount = json!([{"name": "x", "path": "/x", "kind": "data", "host_path": "/etc"}]);
    refused(sample, &[("/resources/mounts", mount, "/resources/mounts/0/host_path", code)]);
}

/// T-01.
#[test]
fn compose_is_not_a_manifest() {
    let code = "unsupported_compose_yaml";
    let text = "services:\n  web:\n    image: nginx\n";
    refused(
        sample,
        &[
            ("/services", json!({"web": {"image": "nginx"}}), "", code),
            ("/compose", json!({}), "", code),
            ("/docker_compose_yaml", json!(text), "", code),
            ("/runtime_profile/compose_file", json!(text), "", code),
            ("/description", json!(text), "", code),
            ("/runtime_profile/env/0/value", json!(text), "", code),
        ],
    );
    let whole = parse(b"version: '3'\nservices:\n  web:\n    image: nginx\n", Format::Yaml).unwrap_err();
    assert_eq!(whole.len(), 1, "{whole:?}");
    assert_eq!((whole[0].path.as_str(), whole[0].code), ("/services", code));
}

/// A-10, T-06.
#[test]
fn nothing_native_to_an_engine_is_taken() {
    let native = "engine_native_not_allowed";
    refused(
        sample,
        &[
            ("/helm_values", json!({}), "", native),
            ("/values", json!({}), "", native),
            ("/dstack", json!({}), "", native),
            ("/runtime_profile/sbatch_script", json!("x"), "", native),
            ("/chart", json!("oci://x"), "", "unsupported_chart"),
            ("/kubernetes", json!({}), "", "unsupported_k8s_manifest"),
            ("/runtime_profile/nodeSelector", json!({}), "", "unsupported_k8s_manifest"),
            ("/notes", json!("apiVersion: v1\nkind: Pod\n"), "", "unsupported_k8s_manifest"),
        ],
    );
    for (text, at, code) in [
        ("apiVersion: v1\nkind: Pod\n", "/apiVersion", "unsupported_k8s_manifest"),
        ("apiVersion: v2\nname: x\nappVersion: '1'\n", "/apiVersion", "unsupported_chart"),
        ("type: dev-environment\nide: vscode\n", "/type", native),
    ] {
        let whole = parse(text.as_bytes(), Format::Yaml).unwrap_err();
        assert_eq!((whole[0].path.as_str(), whole[0].code, whole.len()), (at, code, 1));
    }
}

/// T-10: found by name or by shape, and never repeated.
#[test]
fn raw_secrets_are_refused_and_not_repeated() {
    let digits = "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8";
    let at = "/runtime_profile/env/0";
    let value = format!("{at}/value");
    let secrets = [
        ("HF_TOKEN", "letmein-42".to_owned()),
        ("db_password", "letmein-42".to_owned()),
        ("AWS_SECRET_ACCESS_KEY", "letmein-42".to_owned()),
        ("X", format!("ghp_{digits}")),
        ("X", format!("hf_{digits}")),
        ("X", format!("sk-{digits}")),
        ("X", format!("glpat-{digits}")),
        ("X", "AKIA0123456789ABCDEF".to_owned()),
        ("X", "-----BEGIN RSA PRIVATE KEY-----\nMII\n-----END RSA PRIVATE KEY-----".to_owned()),
        ("X", "postgres://app:letmein-42@db/x".to_owned()),
        ("X", format!("eyJ{digits}.eyJ{digits}.{digits}")),
    ];
    for (name, secret) in secrets {
        let document = with(sample(), at, json!({"name": name, "value": secret}));
        let found = parse(document.to_string().as_bytes(), Format::Json).unwrap_err();
        assert!(
            found.iter().any(|fault| fault.path == value && fault.code == "raw_secret_not_allowed"),
            "{name}"
        );
        assert!(!format!("{found:?}").contains(&secret), "{name} is repeated");
    }
    for (name, harmless) in [
        ("JUPYTER_TOKEN", ""),
        ("HF_TOKEN", "${params.hub_token}"),
        ("REQUIRE_KEY", "true"),
        ("SSH_PUBLIC_KEY", "ssh-ed25519 AAAA"),
        ("HF_TOKEN_FILE", "/run/secrets/token"),
        ("X", "sk-learn"),
        ("X", "https://example.org/a:b@c"),
    ] {
        let document =
            with(sample(), "/parameters/hub_token", json!({"type": "secret_ref", "required": true}));
        assert_eq!(faults(&with(document, at, json!({"name": name, "value": harmless}))), [], "{name}");
    }
    refused(
        composition,
        &[
            (
                "/parameters/api_key",
                json!({"type": "string", "default": "letmein"}),
                "/parameters/api_key/default",
                "raw_secret_not_allowed",
            ),
            (
                "/parameters/password",
                json!({"type": "string"}),
                "/parameters/password/type",
                "raw_secret_not_allowed",
            ),
            ("/parameters/hub_token/default", json!("letmein"), "", "raw_secret_not_allowed"),
            ("/components/1/command/0", json!(format!("--token=hf_{digits}")), "", "raw_secret_not_allowed"),
            ("/components/1/env/0/value", json!("secret://nowhere"), "", "unknown_reference"),
        ],
    );
}

/// T-07.
#[test]
fn where_storage_appears_is_not_typed_by_a_user() {
    let code = "workspace_path_not_allowed";
    refused(
        composition,
        &[
            ("/resources/mounts/0/path", json!("/etc"), "", code),
            ("/resources/mounts/0/path", json!("/proc/self"), "", code),
            ("/resources/mounts/0/path", json!("../x"), "", code),
            ("/resources/mounts/0/path", json!("${params.path}"), "", code),
            ("/components/0/tmpfs/0/path", json!("/dev/shm"), "", code),
            ("/workspace_path", json!("/x"), "", code),
            ("/parameters/workspace_path", json!({"type": "string"}), "", code),
        ],
    );
}

/// T-08, C-09, C-13.
#[test]
fn compositions_are_bounded_and_can_start() {
    let code = "composition_limit_exceeded";
    refused(
        composition,
        &[
            ("/topology/max_services", json!(2), "/components", code),
            ("/components/1/replicas/max", json!(5), "/components/1/replicas", code),
            ("/topology/members/0/max", json!(2), "", code),
            ("/topology/members/0/min", json!(3), "", "min_above_max"),
            ("/components/1/depends_on", json!(["gateway"]), "/components/0/depends_on", "dependency_cycle"),
            ("/addons/0/requires", json!(["metrics"]), "/addons/0/requires", "dependency_cycle"),
            ("/components/0/lane", json!("front"), "/components/0/gpu_count", "missing_field"),
            ("/components/1/replicas", json!({"default": 2}), "/components/1/replicas", "exclusive_blocks"),
            (
                "/components/1/tensor_parallel",
                json!({"default": 3}),
                "/components/1/tensor_parallel/default",
                "tensor_parallel_mismatch",
            ),
            (
                "/components/0/depends_on",
                json!(["lane-b"]),
                "/components/0/depends_on/0",
                "unknown_reference",
            ),
            ("/components/1/name", json!("gateway"), "", "duplicate_name"),
            ("/components/1/artifact", json!("servers"), "", "unknown_reference"),
            ("/components/0/artifact", json!("server"), "", "exclusive_blocks"),
            ("/addons/0/components/0", json!("x"), "", "unknown_reference"),
            ("/validation/readiness_gates/0", json!("x"), "", "unknown_reference"),
            ("/outputs/endpoints/0/port", json!(9), "", "unknown_reference"),
            ("/outputs/dashboards/0/endpoint", json!("x"), "", "unknown_reference"),
            ("/secrets/0/inject/env", json!("HF_TOKEN"), "", "invalid_value"),
            ("/ui_hints/order/0", json!("modle"), "", "unknown_reference"),
            ("/execution_engines/0", json!("node_agent"), "", "engine_mismatch"),
        ],
    );
    let lone = json!({"name": "x", "class": "sidecar", "image_ref": image("x")});
    let many = Value::Array((0..17).map(|n| with(lone.clone(), "/name", json!(format!("c{n}")))).collect());
    let document = without(with(sample(), "/components", many), "runtime_profile");
    assert!(faults(&document).contains(&("/components".to_owned(), code)));
}

///
#[test]
fn blocks_agree_with_each_other() {
    refused(
        sample,
        &[
            ("/components", json!([{"name": "a", "image_ref": image("a")}]), "", "exclusive_blocks"),
            (
                "/resources/memory_mib",
                json!({"default": 1024}),
                "/resources/memory_mib/default",
                "default_below_minimum",
            ),
            ("/resources/vcpu", json!({"default": 0.5}), "/resources/vcpu/default", "default_below_minimum"),
            (
                "/resources/gpu_count",
                json!({"default": 0}),
                "/resources/gpu_count/default",
                "default_below_minimum",
            ),
            (
                "/resources/gpu_count",
                json!({"min": 4, "max": 2}),
                "/resources/gpu_count/min",
                "min_above_max",
            ),
            (
                "/resources/gpu_count",
                json!({"default": 4, "max": 2}),
                "/resources/gpu_count/default",
                "out_of_range",
            ),
            ("/renderer", json!("vllm_openaj"), "", "unknown_reference"),
            ("/execution_engines", json!(["helm"]), "/execution_engines/0", "engine_mismatch"),
            ("/runtime_profile/kind", json!("docker_compose"), "", "engine_mismatch"),
            ("/schema_version", json!(2), "", "out_of_range"),
        ],
    );
    let lone = without(sample(), "runtime_profile");
    assert!(faults(&lone).contains(&("/runtime_profile".to_owned(), "missing_field")));
    let none =
        without(without(with(sample(), "/artifact_kind", json!("controller")), "runtime_profile"), "ui");
    assert_eq!(faults(&none), []);
}

/// A-14, J-08, J-09.
#[test]
fn ports_probes_and_variables_fit() {
    let two = json!([{"container": 8888, "expose": "embedded_ui_gateway"}, {"container": 8888, "expose": "private"}]);
    let faces = json!([
        {"container": 1, "expose": "embedded_ui_gateway"}, {"container": 2, "expose": "embedded_ui_gateway"}
    ]);
    let probe = json!({"check": {"kind": "http", "port": 9, "path": "/x"}});
    refused(
        sample,
        &[
            ("/runtime_profile/ports", two, "/runtime_profile/ports/1/container", "port_clash"),
            ("/runtime_profile/ports", faces, "/runtime_profile/ports/1/expose", "port_clash"),
            (
                "/runtime_profile/liveness",
                json!({"check": {"kind": "exec", "command": ["test", "${params.x}"]}}),
                "/runtime_profile/liveness/check/command/1",
                "expression_not_allowed",
            ),
            ("/runtime_profile/ports/0/expose", json!("private"), "/ui", "ui_port_missing"),
            ("/runtime_profile/ports/0/container", json!(0), "", "out_of_range"),
            ("/runtime_profile/ports/0/container", json!(70000), "", "out_of_range"),
            (
                "/runtime_profile/readiness",
                probe,
                "/runtime_profile/readiness/check/port",
                "probe_port_not_declared",
            ),
            ("/runtime_profile/env/0/name", json!("LD_PRELOAD"), "", "reserved_env_name"),
            ("/runtime_profile/env/0/name", json!("GPUAAS_X"), "", "reserved_env_name"),
            ("/runtime_profile/env/0/name", json!("1X"), "", "invalid_value"),
            (
                "/runtime_profile/env/1",
                json!({"name": "GRANT_SUDO", "value": "x"}),
                "/runtime_profile/env/1/name",
                "duplicate_name",
            ),
            ("/runtime_profile/user", json!({"as": "user", "uid": 0, "gid": 0}), "", "invalid_value"),
        ],
    );
    let helper = json!([{"container": 1, "expose": "private"}]);
    let helper =
        with(with(composition(), "/components/2/class", json!("sidecar")), "/components/2/ports", helper);
    assert_eq!(faults(&helper), [("/components/2/ports/0/expose".to_owned(), "helper_not_exposed")]);
    let faults = faults(&without(sample(), "ui"));
    assert_eq!(faults, [("/runtime_profile/ports/0/expose".to_owned(), "ui_block_missing")]);
}

/// A-13, B-01, D-06, M-04.
#[test]
fn parameters_and_enumerations_are_checked() {
    refused(
        composition,
        &[
            ("/parameters/context/default", json!("x"), "", "wrong_type"),
            ("/parameters/context/default", json!(0), "", "out_of_range"),
            ("/parameters/context/minimum", json!(100_000), "", "min_above_max"),
            ("/parameters/model/default", json!("x/y"), "", "invalid_value"),
            ("/parameters/packages/default", json!([1]), "/parameters/packages/default/0", "wrong_type"),
            ("/parameters/Bad-Name", json!({"type": "string"}), "", "invalid_value"),
            ("/parameters/lanes/owner", json!("user"), "/parameters/lanes/value", "exclusive_blocks"),
            ("/parameters/model/type", json!("strin"), "", "invalid_value"),
        ],
    );
    refused(
        sample,
        &[
            ("/runtime_profile/kind", json!("docker"), "", "invalid_value"),
            ("/metering/kind", json!("watts"), "", "invalid_value"),
            ("/compatibility/requires_capacity_shape/0", json!("bare_metal"), "", "invalid_value"),
            ("/compatibility/requires_capacity_shape", json!([]), "", "out_of_range"),
            ("/artifact_kind", json!("image"), "", "invalid_value"),
            ("/ui/path", json!("//evil.example.org"), "", "invalid_value"),
            ("/ui/path", json!("/a/../b"), "", "invalid_value"),
            ("/slug", json!("Jupyter"), "", "invalid_slug"),
            ("/version", json!("latest"), "", "invalid_version"),
            ("/version", json!(1.4), "", "wrong_type"),
            ("/display_name", json!("a\u{202e}b"), "", "invalid_name"),
        ],
    );
}

/// all at once, each with its place, and with a guess at what was meant.
#[test]
fn every_fault_is_listed_with_its_place() {
    let mut document = with(sample(), "/runtime_profile/comand", json!([]));
    document = with(document, "/compatibility/min_gpu_count", json!("one"));
    document = without(document, "slug");
    document = with(document, "/a~b/c", Value::Null);
    document["x/y~z"] = json!(1);
    let found = parse(document.to_string().as_bytes(), Format::Json).unwrap_err();
    let places: Vec<(&str, &str)> = found.iter().map(|fault| (fault.path.as_str(), fault.code)).collect();
    assert_eq!(
        places,
        [
            ("/a~0b", "unknown_field"),
            ("/compatibility/min_gpu_count", "wrong_type"),
            ("/runtime_profile/comand", "unknown_field"),
            ("/slug", "missing_field"),
            ("/x~1y~0z", "unknown_field"),
        ]
    );
    assert!(found[2].message.contains("command"), "{}", found[2].message);
    let nearly = with(sample(), "/runtime_profile/ports/0/expose", json!("embeded_ui_gateway"));
    let found = parse(nearly.to_string().as_bytes(), Format::Json).unwrap_err();
    assert!(found[0].message.ends_with("Did you mean embedded_ui_gateway?"));
}
