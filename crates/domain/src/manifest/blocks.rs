//! The optional blocks a launch is made of: resources, add-ons, secrets, outputs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::amount::{Mib, Range, Vcpu};
use super::formats;

/// Defaults and bounds of what a launch gets.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Resources {
    /// GPUs of the whole launch.
    #[serde(default)]
    pub gpu_count: Option<Range<u32>>,
    /// How its GPUs lie to each other.
    #[serde(default)]
    pub gpu_placement: Option<GpuPlacement>,
    /// Processor cores.
    #[serde(default)]
    pub vcpu: Option<Range<Vcpu>>,
    /// Memory.
    #[serde(default)]
    pub memory_mib: Option<Range<Mib>>,
    /// Of the memory, what processes may share in /dev/shm.
    #[serde(default)]
    pub shared_memory_mib: Option<Range<Mib>>,
    /// The port of the node, where a launch asks for one.
    #[serde(default)]
    pub host_port: Option<Range<u16>>,
    /// Where storage appears in the containers.
    #[serde(default)]
    #[schemars(length(max = 32))]
    pub mounts: Vec<Mount>,
}

/// How the GPUs of a launch lie to each other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GpuPlacement {
    /// What the app prefers.
    pub intent: PlacementIntent,
    /// Over how many GPUs one model is split.
    #[serde(default)]
    pub tensor_parallel: Option<Range<u32>>,
}

/// Where GPUs are taken from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PlacementIntent {
    /// Wherever there are some.
    Any,
    /// As close together as the node has them.
    Packed,
    /// As far apart as the node has them.
    Spread,
}

/// A place for storage. Which volume stands there is chosen at launch; the path is not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Mount {
    /// What a launch calls the place when it chooses a volume.
    #[schemars(schema_with = "formats::name")]
    pub name: String,
    /// Where it appears in the containers.
    #[schemars(schema_with = "formats::mount_path")]
    pub path: String,
    /// What it is for.
    pub kind: MountKind,
    /// Whether the app only reads there.
    #[serde(default)]
    pub read_only: bool,
    /// Whether a launch must choose a volume; otherwise scratch stands there.
    #[serde(default)]
    pub required: bool,
    /// The least room that a volume must have.
    #[serde(default)]
    pub min_size_mib: Option<Mib>,
    /// The components that see it; empty: all.
    #[serde(default)]
    #[schemars(schema_with = "formats::names")]
    pub components: Vec<String>,
}

/// What a place for storage is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MountKind {
    /// The user's files: project storage or scratch, chosen at launch.
    Workspace,
    /// Data of the project.
    Data,
    /// A blob artifact.
    Model,
}

/// Something that may run beside the app. Off unless chosen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Addon {
    /// What a launch calls it.
    #[schemars(schema_with = "formats::name")]
    pub name: String,
    /// What it is.
    pub kind: AddonKind,
    /// The name that people see.
    #[serde(default)]
    #[schemars(schema_with = "formats::display_name")]
    pub display_name: Option<String>,
    /// What it gives, for people who decide.
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

/// What an add-on is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AddonKind {
    /// Takes requests for the others.
    Gateway,
    /// Collects numbers.
    Metrics,
    /// Shows numbers.
    Dashboards,
    /// Keeps logs to look at.
    Logs,
    /// Sends logs elsewhere.
    LogCollection,
    /// Tells when something is wrong.
    Alerts,
}

/// A secret the app needs, by name and place; its value is never in a manifest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SecretNeed {
    /// What the app calls it; `secret://name` in a variable means this one.
    #[schemars(schema_with = "formats::name")]
    pub name: String,
    /// What it is for and where to get it.
    #[serde(default)]
    #[schemars(schema_with = "formats::prose")]
    pub description: Option<String>,
    /// What it opens.
    #[serde(default)]
    pub kind: SecretKind,
    /// Whether the app cannot run without it.
    #[serde(default = "yes")]
    pub required: bool,
    /// Where it appears.
    pub inject: Injection,
    /// The components that get it; empty: all.
    #[serde(default)]
    #[schemars(schema_with = "formats::names")]
    pub components: Vec<String>,
}

fn yes() -> bool {
    true
}

/// What a secret opens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SecretKind {
    /// A hub for models.
    ModelToken,
    /// A private index of packages.
    PackageIndex,
    /// A service.
    ApiKey,
    /// A certificate with its key.
    Certificate,
    /// Something else.
    #[default]
    Other,
}

/// Where a secret appears: a file that only the app's user reads (the better way), or a variable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "as", rename_all = "snake_case", deny_unknown_fields)]
pub enum Injection {
    /// Its path stands in the variable named here, which ends in `_FILE`.
    File {
        /// The variable that holds the path.
        #[schemars(schema_with = "formats::env_name")]
        env: String,
    },
    /// In a variable, where every process of the container sees it.
    Env {
        /// The variable that holds the secret.
        #[schemars(schema_with = "formats::env_name")]
        name: String,
    },
}

/// What the user gets to see and to use.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Outputs {
    /// Addresses of the app.
    #[serde(default)]
    #[schemars(length(max = 32))]
    pub endpoints: Vec<OutputEndpoint>,
    /// Pages that show how it does.
    #[serde(default)]
    #[schemars(length(max = 32))]
    pub dashboards: Vec<Dashboard>,
    /// Commands to copy, with `${…}` filled in.
    #[serde(default)]
    #[schemars(length(max = 32))]
    pub commands: Vec<OutputCommand>,
    /// How to reach the app, in words.
    #[serde(default)]
    pub access: AccessNotes,
}

/// An address of the app.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OutputEndpoint {
    /// What expressions and dashboards call it.
    #[schemars(schema_with = "formats::name")]
    pub name: String,
    /// The first, if the manifest has one component only.
    #[serde(default)]
    #[schemars(schema_with = "formats::name")]
    pub component: Option<String>,
    /// The container's port.
    #[schemars(range(min = 1))]
    pub port: u16,
    /// Where on the port it begins.
    #[serde(default)]
    #[schemars(schema_with = "formats::url_path")]
    pub path: Option<String>,
    /// The name that people see.
    #[serde(default)]
    #[schemars(schema_with = "formats::display_name")]
    pub title: Option<String>,
}

/// A page that shows how the app does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Dashboard {
    /// What it is called.
    #[schemars(schema_with = "formats::name")]
    pub name: String,
    /// The name that people see.
    #[schemars(schema_with = "formats::display_name")]
    pub title: String,
    /// One of `endpoints`.
    #[schemars(schema_with = "formats::name")]
    pub endpoint: String,
    /// Where on the endpoint it is.
    #[serde(default)]
    #[schemars(schema_with = "formats::url_path")]
    pub path: Option<String>,
    /// Shown only where this add-on was chosen.
    #[serde(default)]
    #[schemars(schema_with = "formats::name")]
    pub addon: Option<String>,
}

/// A command for people to copy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OutputCommand {
    /// What it is called.
    #[schemars(schema_with = "formats::name")]
    pub name: String,
    /// What it does, in a few words.
    #[schemars(schema_with = "formats::display_name")]
    pub title: String,
    /// The program and its arguments, with `${…}` filled in.
    #[schemars(schema_with = "formats::arguments", length(min = 1, max = 256))]
    pub command: Vec<String>,
}

/// How to reach the app, for people.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AccessNotes {
    /// To somebody with a private tunnel.
    #[serde(default)]
    #[schemars(schema_with = "formats::prose")]
    pub private: Option<String>,
    /// To somebody who comes through the platform's gateway.
    #[serde(default)]
    #[schemars(schema_with = "formats::prose")]
    pub proxy: Option<String>,
}
