//! What runs: the one container of a plain manifest, or the components of a composition.

use gpuaas_agent_protocol::image::ImageRef;
use gpuaas_agent_protocol::spec::{self, Check, Egress, RestartBudget, RunAs, Scratch, Tmpfs};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::amount::{Mib, Range, Vcpu};
use super::formats;

pub use crate::instance::RuntimeBackend;

/// The fields of a container stand in two blocks. `serde` cannot both flatten a struct and refuse unknown fields, so
/// they are written once here and put into each.
macro_rules! with_container_fields {
    ($(#[$about:meta])* pub struct $name:ident { $($own:tt)* }) => {
        $(#[$about])*
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct $name {
            $($own)*
            /// Takes its image from this entry of `artifacts`, in the variant that fits the allocation.
            #[serde(default)]
            #[schemars(schema_with = "formats::name")]
            pub artifact: Option<String>,
            /// Replaces the image's command; empty keeps it.
            #[serde(default)]
            #[schemars(schema_with = "formats::arguments", length(max = 256))]
            pub command: Vec<String>,
            /// Variables of the process, each once.
            #[serde(default)]
            #[schemars(length(max = 256))]
            pub env: Vec<EnvVar>,
            /// Ports that the process listens on; others are not reached.
            #[serde(default)]
            #[schemars(length(max = 32))]
            pub ports: Vec<Port>,
            /// What the container cannot run without.
            #[serde(default)]
            pub resources: Minima,
            /// Unless said otherwise the image's own user, and never root.
            #[serde(default)]
            pub user: RunAs,
            /// Whether the image is read only; what is written then needs `tmpfs`, `scratch` or a mount.
            #[serde(default)]
            pub read_only_root: bool,
            /// Folders in memory.
            #[serde(default)]
            #[schemars(length(max = 32))]
            pub tmpfs: Vec<Tmpfs>,
            /// Folders that die with the instance.
            #[serde(default)]
            #[schemars(length(max = 32))]
            pub scratch: Vec<Scratch>,
            /// Running means that this passes; without it, that the process was started.
            #[serde(default)]
            pub readiness: Option<Probe>,
            /// What fails this is restarted, as often as `restart` allows.
            #[serde(default)]
            pub liveness: Option<Probe>,
            /// From the start of the first container until readiness; 300 if left out.
            #[serde(default)]
            #[schemars(range(min = 1, max = 86400))]
            pub readiness_deadline_seconds: Option<u32>,
            /// From the request to end until the end is forced; 10 if left out.
            #[serde(default)]
            #[schemars(range(max = 600))]
            pub stop_grace_seconds: Option<u32>,
            /// How often it is restarted when it ends by itself; 3 times within 600 seconds if left out.
            #[serde(default)]
            pub restart: Option<RestartBudget>,
            /// Where it may connect to beyond its own instance.
            #[serde(default)]
            pub egress: Egress,
            /// Processes and threads at most; 4096 if left out.
            #[serde(default)]
            #[schemars(range(min = 1, max = 1_000_000))]
            pub pids: Option<u32>,
        }

        impl $name {
            /// The fields that both blocks have, as one type.
            pub(super) fn container(&self) -> Container<'_> {
                Container {
                    artifact: self.artifact.as_deref(),
                    command: &self.command,
                    env: &self.env,
                    ports: &self.ports,
                    resources: &self.resources,
                    user: self.user,
                    read_only_root: self.read_only_root,
                    tmpfs: &self.tmpfs,
                    scratch: &self.scratch,
                    readiness: self.readiness.as_ref(),
                    liveness: self.liveness.as_ref(),
                    readiness_deadline_seconds: self.readiness_deadline_seconds,
                    stop_grace_seconds: self.stop_grace_seconds,
                    restart: self.restart,
                    egress: self.egress,
                    pids: self.pids,
                }
            }
        }
    };
}

with_container_fields! {
    /// The one container of a plain manifest.
    pub struct RuntimeProfile {
        /// What family runs it.
        pub kind: RuntimeBackend,
        /// The image, by digest.
        #[schemars(schema_with = "formats::image_ref")]
        pub image_ref: ImageRef,
    }
}

with_container_fields! {
    /// One container role of a composition.
    pub struct ManifestComponent {
        /// What other blocks and other components call it; also its host name.
        #[schemars(schema_with = "formats::name")]
        pub name: String,
        /// What it may do and what its loss means.
        #[serde(default)]
        pub class: ComponentClass,
        /// Either this or `artifact`.
        #[serde(default)]
        #[schemars(schema_with = "formats::image_ref")]
        pub image_ref: Option<ImageRef>,
        /// Components that are ready before this one starts.
        #[serde(default)]
        #[schemars(schema_with = "formats::names", length(max = 16))]
        pub depends_on: Vec<String>,
        /// A serving component with GPUs of its own is a lane.
        #[serde(default)]
        #[schemars(schema_with = "formats::name")]
        pub lane: Option<String>,
        /// GPUs of its own.
        #[serde(default)]
        pub gpu_count: Option<Range<u32>>,
        /// Over how many of its GPUs one model is split.
        #[serde(default)]
        pub tensor_parallel: Option<Range<u32>>,
        /// The memory that each of its GPUs must have.
        #[serde(default)]
        pub min_gpu_memory_mib: Option<Mib>,
        /// How many of it run.
        #[serde(default)]
        pub replicas: Option<Range<u32>>,
        /// Runs only where this holds.
        #[serde(default)]
        #[schemars(schema_with = "formats::expression")]
        pub when: Option<String>,
    }
}

/// A view of one container, whichever block it stands in.
#[derive(Clone, Copy)]
pub(super) struct Container<'a> {
    pub(super) artifact: Option<&'a str>,
    pub(super) command: &'a [String],
    pub(super) env: &'a [EnvVar],
    pub(super) ports: &'a [Port],
    pub(super) resources: &'a Minima,
    pub(super) user: RunAs,
    pub(super) read_only_root: bool,
    pub(super) tmpfs: &'a [Tmpfs],
    pub(super) scratch: &'a [Scratch],
    pub(super) readiness: Option<&'a Probe>,
    pub(super) liveness: Option<&'a Probe>,
    pub(super) readiness_deadline_seconds: Option<u32>,
    pub(super) stop_grace_seconds: Option<u32>,
    pub(super) restart: Option<RestartBudget>,
    pub(super) egress: Egress,
    pub(super) pids: Option<u32>,
}

/// Decides what a component may do and what its loss means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ComponentClass {
    /// The instance is not running without it.
    #[default]
    Primary,
    /// Takes requests for the others; required too.
    Gateway,
    /// A helper: its loss degrades.
    Sidecar,
    /// Switched on by an add-on: its loss degrades.
    Addon,
}

/// A variable of the process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EnvVar {
    /// Its name.
    #[schemars(schema_with = "formats::env_name")]
    pub name: String,
    /// Its value: text with `${…}`, or `secret://name`.
    #[schemars(schema_with = "formats::argument")]
    pub value: String,
    /// Set only where this holds.
    #[serde(default)]
    #[schemars(schema_with = "formats::expression")]
    pub when: Option<String>,
}

/// A port that the process listens on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Port {
    /// Its number in the container.
    #[schemars(range(min = 1))]
    pub container: u16,
    /// Who reaches it.
    pub expose: Expose,
    /// What launches, outputs and expressions call it; `port-<number>` if left out.
    #[serde(default)]
    #[schemars(schema_with = "formats::name")]
    pub name: Option<String>,
    /// What the gateway does for this port beyond its own rules.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<EndpointPolicy>,
}

/// Rules of one endpoint. Each can only take something away from what the gateway allows by itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EndpointPolicy {
    /// Sent beside the gateway's own policy and the app's; browsers obey all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "formats::content_policy")]
    pub content_security_policy: Option<String>,
    /// Who may show the page in a frame.
    #[serde(default)]
    pub frame: Frame,
    /// Mebibytes of one request's body; unlimited if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_048_576))]
    pub max_body_mib: Option<u32>,
    /// Requests and sockets at one time; 16384, the most that the gateway has for one endpoint, if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 16_384))]
    pub max_connections: Option<u32>,
}

/// Who may show the page in a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Frame {
    /// The platform's own pages.
    #[default]
    Portal,
    /// Nobody: the page opens in a tab of its own.
    Nobody,
}

impl Port {
    /// The name given, or one made of the number.
    pub fn name(&self) -> String {
        self.name.clone().unwrap_or_else(|| format!("port-{}", self.container))
    }
}

/// Who reaches a port. None of them is a network interface of the node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Expose {
    /// The web shell, through the platform's gateway.
    EmbeddedUiGateway,
    /// People and programs with access, through the platform's gateway.
    PlatformProxy,
    /// Like `platform_proxy`; an operator's policy may let the world in.
    Public,
    /// An authorised private tunnel.
    Private,
    /// Other components of the instance only.
    Internal,
}

impl Expose {
    pub fn name(self) -> &'static str {
        match self {
            Self::EmbeddedUiGateway => "embedded_ui_gateway",
            Self::PlatformProxy => "platform_proxy",
            Self::Public => "public",
            Self::Private => "private",
            Self::Internal => "internal",
        }
    }
}

/// What the container cannot run without.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Minima {
    /// Memory without which it does not run.
    #[serde(default)]
    pub min_memory_mib: Option<Mib>,
    /// Processor cores without which it does not run.
    #[serde(default)]
    pub min_vcpu: Option<Vcpu>,
}

/// How it is known that a container does its work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Probe {
    /// What is done.
    pub check: Check,
    /// Milliseconds from one time to the next.
    #[serde(default = "one_second")]
    #[schemars(range(min = 50, max = 3_600_000))]
    pub interval_ms: u32,
    /// Milliseconds after which it has failed.
    #[serde(default = "one_second")]
    #[schemars(range(min = 50, max = 600_000))]
    pub timeout_ms: u32,
    /// So many failures in a row mean unhealthy.
    #[serde(default = "three")]
    #[schemars(range(min = 1, max = 1000))]
    pub failures: u32,
}

impl From<&Probe> for spec::Probe {
    fn from(probe: &Probe) -> Self {
        Self {
            check: probe.check.clone(),
            interval_ms: probe.interval_ms,
            timeout_ms: probe.timeout_ms,
            failures: probe.failures,
        }
    }
}

fn one_second() -> u32 {
    1000
}

fn three() -> u32 {
    3
}
