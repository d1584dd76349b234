//! The top of a manifest: identity, what it fits on, its page and its meter, and the blocks below.

use std::collections::BTreeMap;

use gpuaas_agent_protocol::image::ImageRef;
use gpuaas_agent_protocol::inventory::Vendor;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::blocks::{Addon, Outputs, Resources, SecretNeed};
use super::chart::Chart;
use super::contract::Contract;
use super::delivery::{Artifact, ExecutionEngine, Operation, Topology, Validation};
use super::formats;
use super::migration::Migration;
use super::parameters::{Parameter, UiHints};
use super::runtime::{ManifestComponent, RuntimeProfile};
use super::version::Version;
use crate::text::{DisplayName, Slug};

/// One version of an app: what it is, what it needs and what may be chosen at launch. It states intent; nothing of
/// an engine can be written in it but the files of a `chart`.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// The version of this schema.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 1))]
    pub schema_version: u32,
    /// The app's name in addresses.
    #[schemars(schema_with = "formats::slug")]
    pub slug: Slug,
    /// The name that people see.
    #[schemars(schema_with = "formats::display_name")]
    pub display_name: DisplayName,
    /// Which version this is; never used for another document once it is staged.
    #[schemars(schema_with = "formats::version")]
    pub version: Version,
    /// What `artifact_ref` names.
    pub artifact_kind: ArtifactKind,
    /// Registry path and digest of the artifact that this version releases.
    #[schemars(schema_with = "formats::image_ref")]
    pub artifact_ref: ImageRef,
    /// A longer or shorter name for lists, where `display_name` does not serve.
    #[serde(default)]
    #[schemars(schema_with = "formats::display_name")]
    pub name: Option<DisplayName>,
    /// Who stands for the app.
    #[serde(default)]
    #[schemars(schema_with = "formats::display_name")]
    pub publisher: Option<DisplayName>,
    /// What users may expect of the publisher.
    #[serde(default)]
    pub support_level: Option<SupportLevel>,
    /// What the app is for, on its page in the catalog.
    #[serde(default)]
    #[schemars(schema_with = "formats::prose")]
    pub description: Option<String>,
    /// Release notes of this version.
    #[serde(default)]
    #[schemars(schema_with = "formats::prose")]
    pub notes: Option<String>,
    /// Which allocations can run it.
    pub compatibility: Compatibility,
    /// The one container of the app. Exclusive with `components`.
    #[serde(default)]
    pub runtime_profile: Option<RuntimeProfile>,
    /// How it appears in the web shell; needed where a port has `expose: embedded_ui_gateway`.
    #[serde(default)]
    pub ui: Option<Ui>,
    /// What the app itself counts, beside the time that the platform measures.
    #[serde(default)]
    pub metering: Option<Metering>,
    /// What a launch may choose, by name.
    #[serde(default)]
    pub parameters: BTreeMap<String, Parameter>,
    /// How the form is laid out.
    #[serde(default)]
    pub ui_hints: Option<UiHints>,
    /// The containers of a composition. Exclusive with `runtime_profile`.
    #[serde(default)]
    pub components: Vec<ManifestComponent>,
    /// Defaults and bounds; minima stand in the runtime profile and the components.
    #[serde(default)]
    pub resources: Option<Resources>,
    /// What may run beside the app; off unless chosen.
    #[serde(default)]
    pub addons: Vec<Addon>,
    /// Which secrets it needs and where they appear; names only.
    #[serde(default)]
    pub secrets: Vec<SecretNeed>,
    /// What a user gets: endpoints, dashboards, commands, words.
    #[serde(default)]
    pub outputs: Option<Outputs>,
    /// How it is known that choices fit each other and that the app works.
    #[serde(default)]
    pub validation: Option<Validation>,
    /// Engines that may run it, the preferred first; empty: those that its kind has.
    #[serde(default)]
    pub execution_engines: Vec<ExecutionEngine>,
    /// A chart of somebody else's that the engine `helm` runs; the other engines run the components.
    #[serde(default)]
    pub chart: Option<Chart>,
    /// How many members, services and replicas there are.
    #[serde(default)]
    pub topology: Option<Topology>,
    /// Named artifacts with their variants.
    #[serde(default)]
    pub artifacts: Vec<Artifact>,
    /// A renderer that the platform owns, such as `vllm_openai`.
    #[serde(default)]
    #[schemars(schema_with = "formats::parameter_name")]
    pub renderer: Option<String>,
    /// Who operates it, and how far its control plane reaches.
    #[serde(default)]
    pub operation: Option<Operation>,
    /// What becomes of the values of older versions, in this order.
    #[serde(default)]
    #[schemars(length(max = 64))]
    pub migrations: Vec<Migration>,
    /// What operators and tests may count on.
    #[serde(default)]
    pub contract: Option<Contract>,
}

fn one() -> u32 {
    1
}

/// What the artifact is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ArtifactKind {
    /// An image.
    Oci,
    /// An image with a profile of its own.
    Launchable,
    /// An external or reference controller.
    Controller,
}

/// What users may expect of the publisher.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SupportLevel {
    /// Its publisher stands for it and mends it.
    Supported,
    /// To be tried; it may change or go.
    #[serde(alias = "experimental")]
    Preview,
    /// Kept by its users.
    #[serde(alias = "partner")]
    Community,
    /// Still there, no longer looked after.
    Deprecated,
}

impl SupportLevel {
    pub fn name(self) -> &'static str {
        match self {
            Self::Supported => "supported",
            Self::Preview => "preview",
            Self::Community => "community",
            Self::Deprecated => "deprecated",
        }
    }

    /// A name of today, or one that older manifests were stored with.
    pub fn parse(name: &str) -> Option<Self> {
        Self::deserialize(serde::de::value::StrDeserializer::<serde::de::value::Error>::new(name)).ok()
    }
}

/// Which allocations can run the app. Every key filters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Compatibility {
    /// Kinds of allocations that can hold it.
    #[schemars(length(min = 1))]
    pub requires_capacity_shape: Vec<CapacityShape>,
    /// GPUs without which it does not run.
    #[serde(default)]
    #[schemars(range(max = 1024))]
    pub min_gpu_count: u32,
    /// Whether it must be alone on its node.
    #[serde(default)]
    pub requires_exclusive_node: bool,
    /// Accelerators that it runs on; empty: any, or none where no GPU is needed.
    #[serde(default)]
    pub supported_accelerators: Vec<Vendor>,
    /// Memory that each GPU must have.
    #[serde(default)]
    pub min_gpu_memory_mib: Option<super::amount::Mib>,
    /// Capabilities that the allocation must list, such as `nvlink`.
    #[serde(default)]
    #[schemars(schema_with = "formats::names", length(max = 32))]
    pub required_capabilities: Vec<String>,
}

/// A kind of allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CapacityShape {
    /// A whole node.
    Baremetal,
    /// Some GPUs of a node.
    GpuSlice,
}

/// How the app appears in the web shell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ui {
    /// In what way.
    pub extension_kind: ExtensionKind,
    /// Where the app's page opens.
    #[serde(default = "root_path")]
    #[schemars(schema_with = "formats::url_path")]
    pub path: String,
}

fn root_path() -> String {
    "/".to_owned()
}

/// How an app appears in the web shell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ExtensionKind {
    /// In a frame of the shell, through the gateway.
    Embedded,
}

/// What the app reports as used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Metering {
    /// The unit it counts in.
    pub kind: MeterKind,
}

/// What an app counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MeterKind {
    /// Seconds in which somebody used it.
    SessionSeconds,
    /// Tokens read and written.
    Tokens,
    /// Requests answered.
    Requests,
}

impl MeterKind {
    pub fn name(self) -> &'static str {
        match self {
            Self::SessionSeconds => "session_seconds",
            Self::Tokens => "tokens",
            Self::Requests => "requests",
        }
    }
}
