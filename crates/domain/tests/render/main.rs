//! The renderers through their public door: golden files, hostile texts in every field, laws for any input.

mod chart;
mod compose;
mod container;
mod corpus;
mod golden;
mod hostile;
mod kubernetes;
mod laws;
mod overlay;
mod readers;
mod subset;
mod vllm;

use std::path::PathBuf;

use gpuaas_domain::manifest::ExecutionEngine;
use gpuaas_domain::render::RenderInput;
use serde_json::Value;

pub(crate) const SAMPLES: [&str; 3] = ["one", "gateway-worker", "two-lanes"];
pub(crate) const ENGINES: [(&str, ExecutionEngine); 4] = [
    ("node_agent", ExecutionEngine::NodeAgent),
    ("docker_compose", ExecutionEngine::DockerCompose),
    ("kubernetes", ExecutionEngine::Kubernetes),
    ("helm", ExecutionEngine::Helm),
];

pub(crate) fn folder(sample: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden/render").join(sample)
}

pub(crate) fn sample_tree(sample: &str) -> Value {
    let text = std::fs::read_to_string(folder(sample).join("input.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

pub(crate) fn sample(sample: &str) -> RenderInput {
    serde_json::from_value(sample_tree(sample)).unwrap()
}
