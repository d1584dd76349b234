//! What a node has. The agent says what it finds; the control plane decides what that means.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Who made an accelerator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Vendor {
    Nvidia,
    Amd,
}

impl Vendor {
    pub fn name(self) -> &'static str {
        match self {
            Self::Nvidia => "nvidia",
            Self::Amd => "amd",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NodeInventory {
    pub agent_version: String,
    pub protocol: u16,
    pub hostname: String,
    pub os: String,
    pub kernel: String,
    /// As images name it: `amd64`, `arm64`.
    pub architecture: String,
    pub cpus: u32,
    pub memory_mib: u32,
    pub disk_total_mib: u64,
    pub disk_free_mib: u64,
    pub runtime: Runtime,
    pub gpus: Vec<Gpu>,
    /// What keeps the node from taking work although its engine answers, in sentences for the operator.
    #[serde(default)]
    pub problems: Vec<String>,
    /// What went wrong while looking, in sentences for the operator.
    #[serde(default)]
    pub warnings: Vec<String>,
}

/// What starts containers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Runtime {
    Docker {
        version: String,
        api_version: String,
        #[serde(default)]
        runc_version: Option<String>,
        /// `--gpus` works: the engine knows the NVIDIA runtime hook or CDI.
        nvidia: bool,
    },
    /// Nothing real starts; for trying the platform and for tests.
    Simulated,
    /// The engine does not answer.
    Unavailable { reason: String },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Gpu {
    pub index: u32,
    /// The vendor's own id, stable over reboots.
    pub uuid: String,
    pub vendor: Vendor,
    pub model: String,
    pub memory_mib: u32,
    #[serde(default)]
    pub bus_id: Option<String>,
    #[serde(default)]
    pub driver_version: Option<String>,
    /// Declared in the agent's configuration; no such device exists.
    pub simulated: bool,
}
