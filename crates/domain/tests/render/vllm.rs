//! The platform-owned renderer of a model server's arguments.

use gpuaas_domain::render::vllm_openai::{fill, read};
use serde_json::{Map, Value, json};

use super::sample;

fn values(value: &Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

/// C-11, C-12: known options, one argument each, and the token as a file.
#[test]
fn parameters_become_arguments() {
    let mut component = sample("gateway-worker").components.remove(1);
    component.secrets.clear();
    let chosen = json!({
        "model": "mistralai/Mistral-Small-24B", "tensor_parallel": 2, "max_model_len": 32768, "dtype": "bfloat16",
        "gpu_memory_utilization": 0.9, "served_model_name": "mistral", "hf_token": "hub-token"
    });
    fill(&mut component, &read(&values(&chosen)).unwrap()).unwrap();
    assert_eq!(
        component.command,
        [
            "vllm",
            "serve",
            "mistralai/Mistral-Small-24B",
            "--host=0.0.0.0",
            "--port=8000",
            "--tensor-parallel-size=2",
            "--max-model-len=32768",
            "--dtype=bfloat16",
            "--gpu-memory-utilization=0.9",
            "--served-model-name=mistral",
        ]
    );
    assert_eq!(
        serde_json::to_value(&component.secrets).unwrap(),
        json!([
            {"name": "hub-token", "inject": {"as": "file", "env": "HF_TOKEN_PATH"}}
        ])
    );
    let one = read(&values(&json!({"model": "/models/x"}))).unwrap();
    assert_eq!(fill(&mut component, &one).unwrap_err()[0].code, "tensor_parallel_mismatch");
}

/// C-11, F03: what is not known or could be taken for an option is refused by its place.
#[test]
fn other_options_are_refused() {
    for (chosen, path, code) in [
        (json!({}), "/values/model", "missing_field"),
        (json!({"model": "--trust-remote-code"}), "/values/model", "invalid_value"),
        (json!({"model": "a/--b"}), "/values/model", "invalid_value"),
        (json!({"model": "a/../b"}), "/values/model", "invalid_value"),
        (json!({"model": "a b"}), "/values/model", "invalid_value"),
        (json!({"model": "a;id"}), "/values/model", "invalid_value"),
        (json!({"model": "$(id)"}), "/values/model", "invalid_value"),
        (json!({"model": ""}), "/values/model", "invalid_value"),
        (json!({"model": ["a/b"]}), "/values/model", "wrong_type"),
        (json!({"model": "a/b", "trust_remote_code": true}), "/values/trust_remote_code", "unknown_value"),
        (json!({"model": "a/b", "dtype": "int3"}), "/values/dtype", "invalid_value"),
        (json!({"model": "a/b", "tensor_parallel": 0}), "/values/tensor_parallel", "out_of_range"),
        (json!({"model": "a/b", "tensor_parallel": 1.5}), "/values/tensor_parallel", "out_of_range"),
        (json!({"model": "a/b", "max_model_len": "8k"}), "/values/max_model_len", "out_of_range"),
        (
            json!({"model": "a/b", "gpu_memory_utilization": 1.5}),
            "/values/gpu_memory_utilization",
            "out_of_range",
        ),
        (json!({"model": "a/b", "served_model_name": "-x"}), "/values/served_model_name", "invalid_value"),
        (json!({"model": "a/b", "hf_token": "hf_abcdef"}), "/values/hf_token", "invalid_value"),
    ] {
        let faults = read(&values(&chosen)).unwrap_err();
        let faults: Vec<(&str, &str)> =
            faults.iter().map(|fault| (fault.path.as_str(), fault.code)).collect();
        assert_eq!(faults, [(path, code)], "{chosen}");
    }
}
