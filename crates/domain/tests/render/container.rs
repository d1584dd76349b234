//! The node agent's own form keeps its bytes.

use std::collections::BTreeMap;

use gpuaas_agent_protocol::inventory::Vendor;
use gpuaas_agent_protocol::spec::{
    ComponentSpec, EnvVar, GpuBinding, ImageGrant, Port, Scratch, WorkloadSpec,
};
use gpuaas_domain::manifest::{Component, Expose, Format, Image, Mount, Profile, parse};
use gpuaas_domain::render::container::{self, Bindings};
use gpuaas_domain::render::input::{Identity, RenderInput};

use super::sample_tree;

/// The first renderer as it was; digests that are stored come from it.
fn as_it_was(profile: &Profile, component: &Component, image: &Image, bindings: &Bindings) -> WorkloadSpec {
    let mut host_port = bindings.host_port;
    let ports = component.ports.iter().map(|port| Port {
        name: port.name(),
        container: port.container,
        host: if port.expose == Expose::Private { host_port.take() } else { None },
    });
    let ports = ports.collect();
    let sees = |mount: &&Mount| mount.components.is_empty() || mount.components.contains(&component.name);
    let mounts = profile.mounts.iter().filter(sees);
    let mounts = mounts.map(|mount| Scratch { name: mount.name.clone(), path: mount.path.clone() });
    let env = component.env.iter();
    let only = ComponentSpec {
        name: component.name.clone(),
        image: ImageGrant { reference: image.reference.clone() },
        command: component.command.clone(),
        env: env.map(|one| EnvVar { name: one.name.clone(), value: one.value.clone() }).collect(),
        user: component.user,
        cpu_millis: bindings.cpu_millis,
        memory_mib: bindings.memory_mib,
        pids: component.pids,
        read_only_root: component.read_only_root,
        tmpfs: component.tmpfs.clone(),
        scratch: component.scratch.iter().cloned().chain(mounts).collect(),
        volumes: Vec::new(),
        gpus: bindings.gpus.clone(),
        ports,
        readiness: component.readiness.clone(),
        liveness: component.liveness.clone(),
        egress: component.egress,
    };
    WorkloadSpec {
        components: vec![only],
        readiness_deadline_seconds: profile.readiness_deadline_seconds,
        stop_grace_seconds: profile.stop_grace_seconds,
        restart: profile.restart,
    }
}

const MANIFEST: &str = r#"{
    "slug": "jupyter-cuda-dev", "display_name": "Jupyter", "version": "1.4.2", "artifact_kind": "oci",
    "artifact_ref": "r.example.com/apps/jupyter@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
    "compatibility": {"requires_capacity_shape": ["baremetal"], "min_gpu_count": 1},
    "runtime_profile": {
        "kind": "launchable_oci",
        "image_ref": "r.example.com/apps/jupyter@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
        "command": ["jupyter", "lab"], "env": [{"name": "B", "value": "no"}, {"name": "A", "value": "$X"}],
        "ports": [
            {"container": 8888, "expose": "embedded_ui_gateway"}, {"container": 22, "expose": "private", "name": "ssh"},
            {"container": 23, "expose": "private"}
        ],
        "scratch": [{"name": "cache", "path": "/cache"}], "tmpfs": [{"path": "/tmp", "size_mib": 64}],
        "readiness": {"check": {"kind": "http", "port": 8888, "path": "/lab"}},
        "liveness": {"check": {"kind": "exec", "command": ["true"]}}, "read_only_root": true, "egress": "internet"
    },
    "resources": {
        "shared_memory_mib": {"default": 4096},
        "mounts": [
            {"name": "workspace", "path": "/workspace", "kind": "workspace", "read_only": true},
            {"name": "other", "path": "/other", "kind": "data", "components": ["nobody"]}
        ]
    },
    "ui": {"extension_kind": "embedded"}, "metering": {"kind": "session_seconds"}
}"#;

/// B-05: what was stored before there was a common input is rendered to the same bytes.
#[test]
fn orders_keep_their_bytes() {
    let document = parse(MANIFEST.as_bytes(), Format::Json).unwrap();
    let profile = document.manifest.expand();
    let component = &profile.components[0];
    let image = &component.images[0];
    let gpu = GpuBinding { vendor: Vendor::Nvidia, uuid: "GPU-1".to_owned(), simulated: true };
    for host_port in [None, Some(18_022)] {
        let bindings = Bindings {
            gpus: vec![gpu.clone()],
            cpu_millis: 2000,
            memory_mib: 2048,
            host_port,
            volumes: BTreeMap::new(),
            replicas: 1,
            secrets: Vec::new(),
        };
        let identity = Identity::planned(&document.manifest.slug, &document.manifest.version);
        let input = RenderInput::of_one(identity, &profile, component, image, &bindings);
        let was = serde_json::to_string(&as_it_was(&profile, component, image, &bindings)).unwrap();
        let rendered = container::render(&input).unwrap();
        assert_eq!(rendered.files[0].bytes, was);
        assert_eq!(rendered.renderer_version, 1);
        let codes: Vec<&str> = rendered.gaps.iter().map(|gap| gap.code).collect();
        assert_eq!(codes, ["read_only_not_kept", "shared_memory_not_set"]);
    }
}

/// The input itself can be stored and read again.
#[test]
fn an_input_reads_back_as_it_was_written() {
    for name in super::SAMPLES {
        let input = super::sample(name);
        let text = serde_json::to_string(&input).unwrap();
        assert_eq!(serde_json::from_str::<RenderInput>(&text).unwrap(), input);
        let mut unknown = sample_tree(name);
        unknown["components"][0]["privileged"] = true.into();
        assert!(serde_json::from_value::<RenderInput>(unknown).is_err(), "there is no such field");
    }
}
