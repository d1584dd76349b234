//! The optional blocks a launch is made of: resources, add-ons, secrets, outputs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::amount::{Mib, Range, Vcpu};
use super::formats;

/// Defaults and bounds of what a launch gets.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Resources {
    #[serde(default)]
    pub gpu_count: Option<Range<u32>>,
    #[serde(default)]
    pub gpu_placement: Option<GpuPlacement>,
    #[serde(default)]
    pub vcpu: Option<Range<Vcpu>>,
    #[serde(default)]
    pub memory_mib: Option<Range<Mib>>,
    #[serde(default)]
    pub shared_memory_mib: Option<Range<Mib>>,
    #[serde(default)]
    pub host_port: Option<Range<u16>>,
    /// Where storage appears in the containers.
    #[serde(default)]
    #[schemars(length(max = 32))]
    pub mounts: Vec<Mount>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GpuPlacement {
    pub intent: PlacementIntent,
    #[serde(default)]
    pub tensor_parallel: Option<Range<u32>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PlacementIntent {
    Any,
    /// As close together as the node has them.
    Packed,
    Spread,
}

/// A place for storage. Which volume stands there is chosen at launch; the path is not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Mount {
    #[schemars(schema_with = "formats::name")]
    pub name: String,
    #[schemars(schema_with = "formats::mount_path")]
    pub path: String,
    pub kind: MountKind,
    #[serde(default)]
    pub read_only: bool,
    #[serde(default)]
    pub required: bool,
    #[serde(default)]
    pub min_size_mib: Option<Mib>,
    /// The components that see it; empty: all.
    #[serde(default)]
    #[schemars(schema_with = "formats::names")]
    pub components: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MountKind {
    /// The user's files: project storage or scratch, chosen at launch.
    Workspace,
    Data,
    /// A blob artifact.
    Model,
}

/// Something that may run beside the app. Off unless chosen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Addon {
    #[schemars(schema_with = "formats::name")]
    pub name: String,
    pub kind: AddonKind,
    #[serde(default)]
    #[schemars(schema_with = "formats::display_name")]
    pub display_name: Option<String>,
    #[serde(default)]
    #[schemars(schema_with = "formats::prose")]
    pub description: Option<String>,
    /// The components it switches on.
    #[schemars(schema_with = "formats::names", length(min = 1, max = 16))]
    pub components: Vec<String>,
    /// Add-ons that come with it.
    #[serde(default)]
    #[schemars(schema_with = "formats::names", length(max = 16))]
    pub requires: Vec<String>,
    /// What it takes beside its components' minima.
    #[serde(default)]
    pub storage_mib: Option<Mib>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AddonKind {
    Gateway,
    Metrics,
    Dashboards,
    Logs,
    LogCollection,
    Alerts,
}

/// A secret the app needs, by name and place; its value is never in a manifest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SecretNeed {
    #[schemars(schema_with = "formats::name")]
    pub name: String,
    #[serde(default)]
    #[schemars(schema_with = "formats::prose")]
    pub description: Option<String>,
    #[serde(default)]
    pub kind: SecretKind,
    #[serde(default = "yes")]
    pub required: bool,
    pub inject: Injection,
    /// The components that get it; empty: all.
    #[serde(default)]
    #[schemars(schema_with = "formats::names")]
    pub components: Vec<String>,
}

fn yes() -> bool {
    true
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SecretKind {
    ModelToken,
    PackageIndex,
    ApiKey,
    Certificate,
    #[default]
    Other,
}

/// Where a secret appears: a file that only the app's user reads (the better way), or a variable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "as", rename_all = "snake_case", deny_unknown_fields)]
pub enum Injection {
    /// Its path stands in the variable named here, which ends in `_FILE`.
    File {
        #[schemars(schema_with = "formats::env_name")]
        env: String,
    },
    Env {
        #[schemars(schema_with = "formats::env_name")]
        name: String,
    },
}

/// What the user gets to see and to use.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Outputs {
    #[serde(default)]
    #[schemars(length(max = 32))]
    pub endpoints: Vec<OutputEndpoint>,
    #[serde(default)]
    #[schemars(length(max = 32))]
    pub dashboards: Vec<Dashboard>,
    /// Commands to copy, with `${…}` filled in.
    #[serde(default)]
    #[schemars(length(max = 32))]
    pub commands: Vec<OutputCommand>,
    #[serde(default)]
    pub access: AccessNotes,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OutputEndpoint {
    #[schemars(schema_with = "formats::name")]
    pub name: String,
    /// The first, if the manifest has one component only.
    #[serde(default)]
    #[schemars(schema_with = "formats::name")]
    pub component: Option<String>,
    /// The container's port.
    #[schemars(range(min = 1))]
    pub port: u16,
    #[serde(default)]
    #[schemars(schema_with = "formats::url_path")]
    pub path: Option<String>,
    #[serde(default)]
    #[schemars(schema_with = "formats::display_name")]
    pub title: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Dashboard {
    #[schemars(schema_with = "formats::name")]
    pub name: String,
    #[schemars(schema_with = "formats::display_name")]
    pub title: String,
    /// One of `endpoints`.
    #[schemars(schema_with = "formats::name")]
    pub endpoint: String,
    #[serde(default)]
    #[schemars(schema_with = "formats::url_path")]
    pub path: Option<String>,
    /// Shown only where this add-on was chosen.
    #[serde(default)]
    #[schemars(schema_with = "formats::name")]
    pub addon: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OutputCommand {
    #[schemars(schema_with = "formats::name")]
    pub name: String,
    #[schemars(schema_with = "formats::display_name")]
    pub title: String,
    #[schemars(schema_with = "formats::arguments", length(min = 1, max = 256))]
    pub command: Vec<String>,
}

/// How to reach the app, for people.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AccessNotes {
    #[serde(default)]
    #[schemars(schema_with = "formats::prose")]
    pub private: Option<String>,
    #[serde(default)]
    #[schemars(schema_with = "formats::prose")]
    pub proxy: Option<String>,
}
