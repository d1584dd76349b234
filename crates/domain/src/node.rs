//! Nodes: machines that joined, what they have, and whether they may be given work.

use gpuaas_agent_protocol::inventory::{NodeInventory, Runtime, Vendor};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::Timestamp;
use crate::ids::{GpuId, JoinTokenId, NodeId};
use crate::lifecycle::named;

named! {
    /// Whether the platform still knows and trusts a node.
    NodeStanding {
        Active = "active",
        /// Its credentials are void; it may not connect.
        Revoked = "revoked",
        /// Gone for good; kept for the trail.
        Forgotten = "forgotten",
    }
}

/// A node as the platform knows it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Node {
    pub id: NodeId,
    pub name: String,
    pub standing: NodeStanding,
    /// No new work is placed here.
    pub cordoned: bool,
    /// What runs here is being stopped.
    pub draining: bool,
    pub agent_version: String,
    /// Since when its agent is connected; absent while it is away.
    pub agent_connected_at: Option<Timestamp>,
    pub last_seen_at: Option<Timestamp>,
    pub inventory: NodeInventory,
    pub inventory_at: Timestamp,
    pub version: i64,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

impl Node {
    pub fn audit_view(&self) -> Value {
        json!({"name": self.name, "standing": self.standing, "cordoned": self.cordoned, "draining": self.draining,
               "agent_version": self.agent_version, "version": self.version})
    }

    /// Whether anything about this node is made up.
    pub fn is_simulated(&self) -> bool {
        self.inventory.runtime == Runtime::Simulated || self.inventory.gpus.iter().any(|gpu| gpu.simulated)
    }

    /// What the node can do, by name; profiles ask for these.
    pub fn capabilities(&self) -> Vec<&'static str> {
        let mut all = Vec::new();
        match &self.inventory.runtime {
            Runtime::Docker { nvidia, .. } => {
                all.push("container");
                if *nvidia {
                    all.push("nvidia_runtime");
                }
            }
            Runtime::Simulated => all.extend(["container", "simulated"]),
            Runtime::Unavailable { .. } => {}
        }
        for vendor in [Vendor::Nvidia, Vendor::Amd] {
            if self.inventory.gpus.iter().any(|gpu| gpu.vendor == vendor) {
                all.push(vendor.name());
            }
        }
        all
    }

    /// Everything that stands between this node and new work. Empty means ready.
    pub fn obstacles(&self) -> Vec<Obstacle> {
        let mut found = Vec::new();
        let mut note = |code, message: String| found.push(Obstacle { code, message });
        if self.standing != NodeStanding::Active {
            note("not_trusted", format!("The node is {}.", self.standing.name()));
        }
        if self.cordoned {
            note("cordoned", "The node is cordoned; uncordon it to place work here.".into());
        }
        if self.draining {
            note("draining", "The node is being drained.".into());
        }
        if self.agent_connected_at.is_none() {
            note("agent_away", "The node's agent is not connected.".into());
        }
        if let Runtime::Unavailable { reason } = &self.inventory.runtime {
            note("engine_unavailable", format!("The container engine does not answer: {reason}"));
        }
        for problem in &self.inventory.problems {
            note("node_unfit", problem.clone());
        }
        if self.inventory.protocol != gpuaas_agent_protocol::PROTOCOL {
            note("agent_protocol", "The agent speaks another version of the protocol; upgrade it.".into());
        }
        found
    }
}

/// One reason why a node gets no work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Obstacle {
    pub code: &'static str,
    pub message: String,
}

/// A device of a node and who has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GpuDevice {
    pub id: GpuId,
    pub node_id: NodeId,
    /// The vendor's own id.
    pub device_uuid: String,
    pub index: i64,
    pub vendor: Vendor,
    pub model: String,
    pub memory_mib: i64,
    pub simulated: bool,
    /// Seen in the newest inventory.
    pub present: bool,
    /// Kept from everybody until the node has swept up after a forced end.
    pub quarantined: bool,
}

/// A token that lets one machine join.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JoinToken {
    pub id: JoinTokenId,
    pub secret_hash: Vec<u8>,
    pub name: Option<String>,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
    pub used_at: Option<Timestamp>,
    pub node_id: Option<NodeId>,
}
