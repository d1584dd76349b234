//! The sample of the papers, one table of refusals, and laws that hold for any input.

mod advice;
mod apps;
mod chart;
mod codes;
mod contract;
mod diff;
mod expressions;
mod golden;
mod laws;
mod migrations;
mod places;
mod reading;
mod refusals;
mod schema;
mod smoke;

use serde_json::{Value, json};

use super::{Format, check};
use crate::artifact::RegistryNames;

const HEX: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

pub(crate) fn image(name: &str) -> String {
    format!("registry.gpuaas.example.com/apps/{name}@sha256:{HEX}")
}

pub(crate) fn registries() -> RegistryNames {
    RegistryNames {
        host: "registry.gpuaas.example.com".to_owned(),
        also: Vec::new(),
        root: "gpuaas/apps".to_owned(),
        allowed: vec!["gpuaas/apps/platform".to_owned()],
    }
}

/// The sample manifest, its digest made whole.
pub(crate) fn sample() -> Value {
    json!({
        "slug": "jupyter-cuda-dev",
        "display_name": "Jupyter (CUDA dev)",
        "version": "1.4.2",
        "artifact_kind": "oci",
        "artifact_ref": image("jupyter-cuda-dev"),
        "compatibility": {
            "requires_capacity_shape": ["baremetal", "gpu_slice"],
            "min_gpu_count": 1,
            "requires_exclusive_node": false,
            "supported_accelerators": ["nvidia"]
        },
        "runtime_profile": {
            "kind": "launchable_oci",
            "image_ref": image("jupyter-cuda-dev"),
            "command": ["jupyter", "lab", "--ip=0.0.0.0", "--port=8888"],
            "env": [{"name": "GRANT_SUDO", "value": "no"}],
            "ports": [{"container": 8888, "expose": "embedded_ui_gateway"}],
            "resources": {"min_memory_mib": 4096, "min_vcpu": 4}
        },
        "ui": {"extension_kind": "embedded", "path": "/lab"},
        "metering": {"kind": "session_seconds"}
    })
}

/// A composition that uses every block.
pub(crate) fn composition() -> Value {
    json!({
        "schema_version": 1,
        "slug": "mixed-model-observable",
        "display_name": "Mixed models, observable",
        "version": "2.0.0-rc.1",
        "artifact_kind": "launchable",
        "artifact_ref": image("gateway"),
        "ui": {"extension_kind": "embedded"},
        "name": "Mixed models", "publisher": "Example", "support_level": "supported",
        "description": "Lanes behind a gateway.", "notes": "First.",
        "compatibility": {
            "requires_capacity_shape": ["baremetal"], "min_gpu_count": 2,
            "min_gpu_memory_mib": "81920", "required_capabilities": ["nvlink"]
        },
        "parameters": {
            "model": {"type": "string", "enum": ["a/b", "c/d"], "default": "a/b", "title": "Model"},
            "context": {"type": "integer", "minimum": 1, "maximum": 65536, "default": 4096},
            "packages": {"type": "array", "items": {"type": "string", "format": "pip_specifier"}, "default": []},
            "hub_token": {"type": "secret_ref", "when": "params.model == 'c/d'"},
            "lanes": {"type": "integer", "owner": "platform", "value": "resources.gpu_count"}
        },
        "ui_hints": {
            "order": ["model", "context"],
            "groups": [{"title": "Model", "parameters": ["model", "context"]}],
            "fields": {"packages": {"widget": "tags", "warning": "Takes time."}}
        },
        "components": [
            {
                "name": "gateway", "class": "gateway", "image_ref": image("gateway"), "depends_on": ["lane-a"],
                "ports": [{"container": 8080, "expose": "embedded_ui_gateway", "name": "web"}],
                "readiness": {"check": {"kind": "http", "port": 8080, "path": "/healthz"}},
                "resources": {"min_memory_mib": 512, "min_vcpu": 0.5}, "user": {"as": "user", "uid": 1000, "gid": 1000},
                "read_only_root": true, "tmpfs": [{"path": "/tmp", "size_mib": 64}]
            },
            {
                "name": "lane-a", "artifact": "server", "lane": "a", "command": ["serve", "${params.model}"],
                "env": [{"name": "HF_TOKEN", "value": "secret://hub-token"}],
                "ports": [{"container": 8000, "expose": "internal"}],
                "gpu_count": {"default": 2, "min": 1, "max": 8}, "tensor_parallel": {"default": 2},
                "replicas": {"min": 1, "max": 4},
                "scratch": [{"name": "cache", "path": "/cache"}], "egress": "internet", "pids": 1000,
                "liveness": {"check": {"kind": "tcp", "port": 8000}, "interval_ms": 5000, "failures": 5},
                "readiness_deadline_seconds": 1800, "stop_grace_seconds": 30,
                "restart": {"max_restarts": 5, "window_seconds": 600},
                "resources": {"min_memory_mib": 8192, "min_vcpu": 4}
            },
            {"name": "metrics", "class": "addon", "image_ref": image("metrics"), "resources": {"min_memory_mib": 256}}
        ],
        "resources": {
            "gpu_count": {"default": 2, "min": 2, "max": 8},
            "gpu_placement": {"intent": "packed", "tensor_parallel": {"default": 2}},
            "vcpu": {"default": 8}, "memory_mib": {"default": 16384, "max": "65536"},
            "shared_memory_mib": {"default": 1024},
            "mounts": [{"name": "workspace", "path": "/workspace", "kind": "workspace", "components": ["lane-a"]}]
        },
        "addons": [{"name": "metrics", "kind": "metrics", "components": ["metrics"], "storage_mib": 1024}],
        "secrets": [{"name": "hub-token", "kind": "model_token", "inject": {"as": "file", "env": "HF_TOKEN_FILE"}}],
        "outputs": {
            "endpoints": [{"name": "api", "component": "gateway", "port": 8080, "path": "/v1"}],
            "dashboards": [{"name": "load", "title": "Load", "endpoint": "api", "addon": "metrics"}],
            "commands": [{"name": "chat", "title": "Chat", "command": ["curl", "${endpoints.api.url}"]}],
            "access": {"private": "Forward the port.", "proxy": "Open the page."}
        },
        "validation": {
            "smoke": [
                {"name": "models", "component": "gateway", "check": {"kind": "http", "port": 8080, "path": "/v1/models"}},
                {
                    "name": "chat", "component": "gateway", "when": "resources.gpu_count >= 2", "timeout_seconds": 120,
                    "check": {"kind": "openai_chat", "port": 8080, "model": "${params.model}", "prompt": "Hello."}
                }
            ],
            "rules": [{"rule": "params.context <= 32768 || params.model == 'a/b'", "message": "Too long.", "parameter": "context"}],
            "readiness_gates": ["gateway"]
        },
        "execution_engines": ["docker_compose"],
        "topology": {"members": [{"role": "node", "min": 1, "max": 1}], "max_services": 8, "max_replicas": 4, "max_members": 1},
        "artifacts": [{
            "name": "server",
            "variants": [
                {"name": "nvidia-h200", "image_ref": image("server"), "accelerators": ["nvidia"], "gpu_models": ["h200"], "notes": "Fast."},
                {"name": "cpu", "image_ref": image("server-cpu")}
            ],
            "source": {"dockerfile": "images/server/Dockerfile", "upstream": "server 1.2", "build_inputs": {"base": "x"}}
        }],
        "operation": {"modes": ["tenant_dedicated"], "scope": "project"},
        "migrations": [{
            "from": "<2.0.0-rc.1", "rename": {"model_name": "model"}, "remove": ["legacy"], "set": {"context": 8192}
        }],
        "contract": {
            "lifecycle_states": ["created", "starting", "running", "stopping", "stopped", "failed"],
            "failure_reasons": ["readiness_timeout"],
            "observability": {"fields": ["app_instance_id", "correlation_id"], "metrics": ["requests_total"]}
        }
    })
}

/// Pointer and code of every fault of shape or rule.
fn faults(document: &Value) -> Vec<(String, &'static str)> {
    match check(document.to_string().as_bytes(), Format::Json, &registries()) {
        Ok(_) => Vec::new(),
        Err(faults) => {
            let unknown = faults.iter().find(|fault| super::find_code(fault.code).is_none());
            assert_eq!(unknown, None, "put it into lint::CODES and docs/reference/lint.md");
            faults.into_iter().map(|fault| (fault.path, fault.code)).collect()
        }
    }
}

/// The document with another value at the pointer; missing parents that are objects are made.
pub(crate) fn with(mut document: Value, pointer: &str, value: Value) -> Value {
    let mut place = &mut document;
    for step in pointer.trim_start_matches('/').split('/') {
        place = match place {
            Value::Array(items) => {
                let index: usize = step.parse().expect("an index");
                while items.len() <= index {
                    items.push(Value::Null);
                }
                &mut items[index]
            }
            other => &mut other[step],
        };
    }
    *place = value;
    document
}

fn without(mut document: Value, key: &str) -> Value {
    document.as_object_mut().expect("an object").remove(key);
    document
}
