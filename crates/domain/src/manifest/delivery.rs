//! The optional blocks an app is delivered with: validation, engines, topology, artifacts, operation.

use std::collections::BTreeMap;

use gpuaas_agent_protocol::image::ImageRef;
use gpuaas_agent_protocol::inventory::Vendor;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use super::formats;
use super::runtime::RuntimeBackend;
use super::smoke::SmokeTest;

/// How it is known that the app works.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Validation {
    /// Steps that tell whether a launched instance works.
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

/// A law between parameters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Must hold.
    #[schemars(schema_with = "formats::expression")]
    pub rule: String,
    /// What is said where it does not hold.
    #[schemars(schema_with = "formats::prose")]
    pub message: String,
    /// The parameter that is shown as wrong.
    #[serde(default)]
    #[schemars(schema_with = "formats::parameter_name")]
    pub parameter: Option<String>,
}

/// What runs containers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ExecutionEngine {
    /// The platform's agent on a node, one container.
    NodeAgent,
    /// The agent on a node, several containers.
    DockerCompose,
    /// A Kubernetes cluster.
    Kubernetes,
    /// A Kubernetes cluster, by a chart of the platform.
    Helm,
    /// dstack.
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
    /// Roles of members, and how many of each.
    #[serde(default)]
    #[schemars(length(max = 8))]
    pub members: Vec<MemberRole>,
    /// Containers of one instance at most, all replicas counted.
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub max_services: Option<u32>,
    /// Replicas of one component at most.
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub max_replicas: Option<u32>,
    /// Members at most.
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub max_members: Option<u32>,
}

/// How many members have a role.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MemberRole {
    /// The role.
    pub role: Role,
    /// At least so many.
    pub min: u32,
    /// At most so many.
    pub max: u32,
    /// The components that run on a member of this role; empty: all.
    #[serde(default)]
    #[schemars(schema_with = "formats::names", length(max = 16))]
    pub components: Vec<String>,
}

/// What a member does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Decides for the others.
    Controller,
    /// Does the work.
    Worker,
    /// Takes requests and hands them on.
    Head,
    /// Each does everything.
    Node,
}

/// A named artifact and its variants.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Artifact {
    /// What `artifact` in a container calls it.
    #[schemars(schema_with = "formats::name")]
    pub name: String,
    /// The images, the preferred first.
    #[schemars(length(min = 1, max = 32))]
    pub variants: Vec<Variant>,
    /// What they were made of.
    #[serde(default)]
    pub source: Option<Source>,
}

/// An image for certain hardware.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Variant {
    /// What a launch calls it: `cpu`, `nvidia-h200`, `amd-rocm` or the like.
    #[schemars(schema_with = "formats::name")]
    pub name: String,
    /// The image, by digest.
    #[schemars(schema_with = "formats::image_ref")]
    pub image_ref: ImageRef,
    /// The accelerators it is for; empty: none, it runs without GPU.
    #[serde(default)]
    pub accelerators: Vec<Vendor>,
    /// GPU models it is made for, such as `h200`; empty: every model of its accelerators.
    #[serde(default)]
    #[schemars(schema_with = "formats::names", length(max = 64))]
    pub gpu_models: Vec<String>,
    /// Release notes of this variant; shown where it is chosen.
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
    /// What a second build needs to give the same bytes: the base image by digest, the commit, arguments, by name.
    #[serde(default)]
    #[schemars(schema_with = "build_inputs")]
    pub build_inputs: BTreeMap<String, String>,
}

fn build_inputs(generator: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "object", "additionalProperties": formats::prose(generator) })
}

/// The supported ways to operate the app, and the scope it expects.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Operation {
    /// Who may operate it.
    #[schemars(length(min = 1, max = 2))]
    pub modes: Vec<OperatingMode>,
    /// How far its control plane reaches.
    #[serde(default)]
    pub scope: ControlPlaneScope,
}

pub use crate::instance::{ControlPlaneScope, OperatingMode};
