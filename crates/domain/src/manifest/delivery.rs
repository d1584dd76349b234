//! The optional blocks an app is delivered with: validation, engines, topology, artifacts, operation.

use std::collections::BTreeMap;

use gpuaas_agent_protocol::image::ImageRef;
use gpuaas_agent_protocol::inventory::Vendor;
use gpuaas_agent_protocol::spec::Check;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::formats;
use super::runtime::RuntimeBackend;

/// How it is known that the app works.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Validation {
    #[serde(default)]
    #[schemars(length(max = 32))]
    pub smoke: Vec<SmokeTest>,
    /// Laws between parameters.
    #[serde(default)]
    #[schemars(length(max = 64))]
    pub rules: Vec<Rule>,
    /// Components that must be ready before the instance is; empty: every required one.
    #[serde(default)]
    #[schemars(schema_with = "formats::names", length(max = 16))]
    pub readiness_gates: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SmokeTest {
    #[schemars(schema_with = "formats::name")]
    pub name: String,
    #[serde(default)]
    #[schemars(schema_with = "formats::name")]
    pub component: Option<String>,
    pub check: Check,
    #[serde(default = "one_minute")]
    #[schemars(range(min = 1, max = 3600))]
    pub timeout_seconds: u32,
}

fn one_minute() -> u32 {
    60
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Must hold.
    #[schemars(schema_with = "formats::expression")]
    pub rule: String,
    #[schemars(schema_with = "formats::prose")]
    pub message: String,
    /// The parameter that is shown as wrong.
    #[serde(default)]
    #[schemars(schema_with = "formats::parameter_name")]
    pub parameter: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ExecutionEngine {
    NodeAgent,
    DockerCompose,
    Kubernetes,
    Helm,
    Dstack,
}

impl ExecutionEngine {
    pub const ALL: [Self; 5] =
        [Self::NodeAgent, Self::DockerCompose, Self::Kubernetes, Self::Helm, Self::Dstack];

    pub fn name(self) -> &'static str {
        match self {
            Self::NodeAgent => "node_agent",
            Self::DockerCompose => "docker_compose",
            Self::Kubernetes => "kubernetes",
            Self::Helm => "helm",
            Self::Dstack => "dstack",
        }
    }

    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|engine| engine.name() == name)
    }

    /// The family that it belongs to (D-23).
    pub fn backend(self) -> RuntimeBackend {
        match self {
            Self::NodeAgent => RuntimeBackend::LaunchableOci,
            Self::DockerCompose => RuntimeBackend::DockerCompose,
            Self::Kubernetes | Self::Helm | Self::Dstack => RuntimeBackend::K8s,
        }
    }
}

/// How many of what, over how many allocations.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Topology {
    #[serde(default)]
    #[schemars(length(max = 8))]
    pub members: Vec<MemberRole>,
    /// Containers of one instance at most, all replicas counted.
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub max_services: Option<u32>,
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub max_replicas: Option<u32>,
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub max_members: Option<u32>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MemberRole {
    pub role: Role,
    pub min: u32,
    pub max: u32,
    /// The components that run on a member of this role; empty: all.
    #[serde(default)]
    #[schemars(schema_with = "formats::names", length(max = 16))]
    pub components: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    Controller,
    Worker,
    Head,
    Node,
}

/// A named artifact and its variants.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Artifact {
    #[schemars(schema_with = "formats::name")]
    pub name: String,
    #[schemars(length(min = 1, max = 32))]
    pub variants: Vec<Variant>,
    #[serde(default)]
    pub source: Option<Source>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Variant {
    /// `cpu`, `nvidia-h200`, `amd-rocm`, …
    #[schemars(schema_with = "formats::name")]
    pub name: String,
    #[schemars(schema_with = "formats::image_ref")]
    pub image_ref: ImageRef,
    /// The accelerators it is for; empty: none, it runs without GPU.
    #[serde(default)]
    pub accelerators: Vec<Vendor>,
    /// GPU models it is made for, such as `h200`; empty: every model of its accelerators.
    #[serde(default)]
    #[schemars(schema_with = "formats::names", length(max = 64))]
    pub gpu_models: Vec<String>,
    #[serde(default)]
    #[schemars(schema_with = "formats::prose")]
    pub notes: Option<String>,
}

/// What the artifact was made of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// Where the Dockerfile is, for people.
    #[serde(default)]
    #[schemars(schema_with = "formats::prose")]
    pub dockerfile: Option<String>,
    /// The image or project it comes from.
    #[serde(default)]
    #[schemars(schema_with = "formats::prose")]
    pub upstream: Option<String>,
    /// What a second build needs to give the same bytes.
    #[serde(default)]
    pub build_inputs: BTreeMap<String, String>,
}

/// The supported ways to operate the app, and the scope it expects.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Operation {
    #[schemars(length(min = 1, max = 2))]
    pub modes: Vec<OperatingMode>,
    #[serde(default)]
    pub scope: ControlPlaneScope,
}

pub use crate::instance::{ControlPlaneScope, OperatingMode};
