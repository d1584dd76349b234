//! Nodes on the wire, for those who operate them.

use gpuaas_agent_protocol::inventory::NodeInventory;
use gpuaas_domain::Timestamp;
use gpuaas_domain::ids::{AllocationId, InstanceId, JoinTokenId, NodeId, VolumeId};
use gpuaas_domain::node::{GpuDevice, NodeStanding};
use gpuaas_domain::text::Slug;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewJoinToken {
    /// The name the node will have; the machine chooses if absent.
    #[schemars(with = "Option<Slug>")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// One hour unless given, one day at most.
    #[schemars(range(min = 60, max = 86400))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_in_seconds: Option<i64>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct CreatedJoinToken {
    pub id: JoinTokenId,
    /// `id.secret.pin`, for `gpuaas-agent join --token`; shown now and never again.
    pub token: Option<String>,
    /// Where agents dial, for `gpuaas-agent join --server`.
    pub server: String,
    pub expires_at: Timestamp,
    pub secret_redacted: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[expect(clippy::struct_excessive_bools, reason = "each is an independent fact that people read by its name")]
pub struct Node {
    pub id: NodeId,
    pub name: String,
    pub standing: NodeStanding,
    pub cordoned: bool,
    pub draining: bool,
    /// Whether new work may be placed here.
    pub ready: bool,
    /// Why not, if not.
    pub reasons: Vec<Reason>,
    pub capabilities: Vec<String>,
    /// Whether the runtime or any device is made up.
    pub simulated: bool,
    pub agent_version: String,
    /// Since when the agent is connected; `null` while it is away. At most two seconds old.
    pub agent_connected_at: Option<Timestamp>,
    pub last_seen_at: Option<Timestamp>,
    pub inventory: NodeInventory,
    pub inventory_at: Timestamp,
    pub version: i64,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Reason {
    pub code: String,
    pub message: String,
}

impl From<gpuaas_domain::node::Node> for Node {
    fn from(node: gpuaas_domain::node::Node) -> Self {
        let reasons: Vec<Reason> = node
            .obstacles()
            .into_iter()
            .map(|obstacle| Reason { code: obstacle.code.to_owned(), message: obstacle.message })
            .collect();
        Self {
            ready: reasons.is_empty(),
            reasons,
            capabilities: node.capabilities().into_iter().map(str::to_owned).collect(),
            simulated: node.is_simulated(),
            id: node.id,
            name: node.name,
            standing: node.standing,
            cordoned: node.cordoned,
            draining: node.draining,
            agent_version: node.agent_version,
            agent_connected_at: node.agent_connected_at,
            last_seen_at: node.last_seen_at,
            inventory: node.inventory,
            inventory_at: node.inventory_at,
            version: node.version,
            created_at: node.created_at,
            updated_at: node.updated_at,
        }
    }
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct NodeDetail {
    #[serde(flatten)]
    pub node: Node,
    pub gpus: Vec<GpuDevice>,
    /// Allocations on this node.
    pub allocations: Vec<AllocationId>,
    /// Instances on this node that are not decommissioned.
    pub instances: Vec<InstanceId>,
    /// Lost if the node is revoked or forgotten.
    #[serde(default)]
    pub volumes: Vec<VolumeId>,
}
