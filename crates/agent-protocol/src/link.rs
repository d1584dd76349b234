//! The typed API that an agent serves over the link it dialled. Over the control link: orders, logs, stats. Over the
//! data link: `CONNECT`, one byte stream each.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::task::Refusal;

/// Where a node dials its control link: orders, logs, stats.
pub const CONTROL_PATH: &str = "/agent/v1/links/control";
/// Where a node dials its data link: byte streams.
pub const DATA_PATH: &str = "/agent/v1/links/data";

/// `POST`, a signed task. 202 [`Accepted`] once it is in the journal, 409 [`Refused`] otherwise.
pub const TASKS: &str = "/v1/tasks";
/// `GET`, everything the node has: a full [`crate::report::NodeReport`].
pub const INSTANCES: &str = "/v1/instances";
/// `GET` with a [`LogQuery`]: [`LogLine`]s, one JSON text per line. `/v1/instances/{id}/logs`.
pub const LOGS: &str = "logs";
/// `GET`: [`InstanceStats`]. `/v1/instances/{id}/stats`.
pub const STATS: &str = "stats";
/// On a `CONNECT`: which instance. The authority of the request is `component:port`.
pub const INSTANCE_HEADER: &str = "x-gpuaas-instance";

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Accepted {
    pub task_id: Uuid,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refused {
    pub refusal: Refusal,
    pub message: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogQuery {
    #[serde(default)]
    pub component: Option<String>,
    /// The last so many lines of each component; all if absent.
    #[serde(default)]
    pub tail: Option<u32>,
    /// Microseconds since 1970.
    #[serde(default)]
    pub since: Option<i64>,
    #[serde(default)]
    pub follow: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LogLine {
    pub component: String,
    /// `stdout` or `stderr`.
    pub stream: String,
    /// Microseconds since 1970, by the engine.
    pub at: i64,
    pub line: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct InstanceStats {
    pub components: Vec<ComponentStats>,
    /// True where the figures are invented.
    pub simulated: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComponentStats {
    pub name: String,
    /// Thousandths of one processor, over the last second or so.
    pub cpu_millis: u64,
    pub memory_bytes: u64,
    pub memory_limit_bytes: u64,
    pub pids: u64,
    pub network_rx_bytes: u64,
    pub network_tx_bytes: u64,
}
