//! Volumes on the wire.

pub use gpuaas_domain::volume::{Attachment, Volume, VolumeState};

use gpuaas_agent_protocol::receipt::SignedReceipt;
use gpuaas_domain::ids::AllocationId;
use gpuaas_domain::text::Slug;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewVolume {
    #[schemars(with = "Slug")]
    pub name: String,
    /// An active allocation of the project: the volume will lie on its node, and can be mounted there only. The volume outlives
    /// the allocation.
    pub allocation_id: AllocationId,
    /// What it is meant to hold. A word to people and to apps that ask for a least size; nothing enforces it.
    #[schemars(range(min = 1, max = 1_099_511_627_776_i64))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size_mib: Option<i64>,
}

/// A volume with its node and what holds it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct VolumeDetail {
    #[serde(flatten)]
    pub volume: Volume,
    pub node_name: String,
    /// Whether the node can be asked right now: a deletion waits for it.
    pub node_connected: bool,
    /// Instances that hold it, from their launch until their containers are gone.
    pub attachments: Vec<Attachment>,
    /// The node's signed statement that nothing of it is left; absent until it is deleted, and where nobody could look.
    pub receipt: Option<SignedReceipt>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VolumeQuery {
    #[schemars(range(min = 1, max = 200))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    #[schemars(length(max = 512))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Those that are not deleted if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<VolumeState>,
}
