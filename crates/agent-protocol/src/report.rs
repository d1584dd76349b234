//! What a node sees. A report describes the present, found by inspecting what carries our labels; it never repeats what
//! was ordered. Sending one twice changes nothing.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::reason::FailureReason;
use crate::receipt::SignedReceipt;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NodeReport {
    /// This run of the agent.
    pub run_id: Uuid,
    /// Whether `instances` is everything the node has: what is missing is not there.
    pub full: bool,
    pub instances: Vec<InstanceReport>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InstanceReport {
    /// The instance, or the volume whose removal was ordered: of such a one there is only accepted, removing, removed.
    pub instance_id: Uuid,
    /// The generation this is about.
    pub generation: u64,
    /// The era of the order that it comes from: after a restore of the control plane's database the same generation may
    /// mean something else.
    pub era: u64,
    pub phase: Phase,
    #[serde(default)]
    pub reason: Option<FailureReason>,
    /// The engine's own words, cut to 2 000 characters.
    #[serde(default)]
    pub detail: Option<String>,
    #[serde(default)]
    pub pull: Option<PullProgress>,
    #[serde(default)]
    pub components: Vec<ComponentReport>,
    #[serde(default)]
    pub health: Health,
    #[serde(default)]
    pub receipt: Option<SignedReceipt>,
    /// The node's idea of server time, microseconds since 1970.
    pub observed_at: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// The order is in the journal.
    Accepted,
    Pulling,
    /// Network, folders and containers are being made.
    Creating,
    /// Processes run; not every readiness probe has passed.
    Starting,
    Running,
    Stopping,
    /// Containers and network are gone, scratch is kept.
    Stopped,
    /// It did not work out; containers and network are gone, scratch is kept.
    Failed,
    Removing,
    /// Everything is gone; the receipt says so.
    Removed,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Health {
    /// Nothing has been probed yet.
    #[default]
    Unknown,
    Healthy,
    Unhealthy,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PullProgress {
    pub done_bytes: u64,
    /// Known once the image's own description is read.
    #[serde(default)]
    pub total_bytes: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ComponentReport {
    pub name: String,
    #[serde(default)]
    pub container_id: Option<String>,
    pub running: bool,
    pub ready: bool,
    pub restarts: u32,
    /// Microseconds since 1970, by the engine.
    #[serde(default)]
    pub started_at: Option<i64>,
    #[serde(default)]
    pub exit_code: Option<i64>,
}
