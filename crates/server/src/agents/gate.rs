//! Who may hold links, as the platform knows it; and what happens when a node comes or goes.

use std::sync::Arc;
use std::time::Duration;

use gpuaas_control_plane::ControlPlane;
use gpuaas_control_plane::operations::{node_identity, nodes, reports};
use gpuaas_domain::Result;
use gpuaas_domain::iam::Actor;
use gpuaas_domain::ids::NodeId;
use tokio::sync::Mutex;

use super::{GateCall, NodeGate};

const PAUSES: [Duration; 4] =
    [Duration::from_millis(50), Duration::from_millis(200), Duration::from_secs(1), Duration::from_secs(5)];

/// The platform's own gate: a node's token, and its standing at this moment.
pub struct PlatformGate {
    plane: Arc<ControlPlane>,
    /// One presence of a node is written at a time; nodes share locks, but not often.
    writing: [Mutex<()>; 64],
}

impl PlatformGate {
    pub fn new(plane: Arc<ControlPlane>) -> Self {
        Self { plane, writing: std::array::from_fn(|_| Mutex::default()) }
    }

    /// Writes what is true when it is written, not what was the case when somebody noticed: of a link that went and one
    /// that came at once, the last word is right, whoever has it.
    async fn write_presence(&self, node: NodeId) {
        let _one = self.writing[usize::from(node.uuid().as_bytes()[15]) % self.writing.len()].lock().await;
        insist(node, "whether it is there could not be written", || {
            nodes::note_presence(&self.plane, node, self.plane.links().is_connected(node))
        })
        .await;
    }
}

/// Nobody comes back to what is missed here until the node dials again, so it is tried again.
async fn insist<F>(node: NodeId, trouble: &str, attempt: impl Fn() -> F)
where
    F: Future<Output = Result<()>>,
{
    for pause in PAUSES {
        let Err(error) = attempt().await else { return };
        tracing::warn!(node.id = %node, "node {node}: {trouble}: {error}");
        tokio::time::sleep(pause).await;
    }
}

impl NodeGate for PlatformGate {
    fn admit<'a>(&'a self, bearer: &'a str) -> GateCall<'a, Result<NodeId>> {
        Box::pin(async move {
            let known = node_identity::bearer(&self.plane, bearer).await?;
            match known.actor {
                Actor::Node(node) => Ok(node),
                Actor::User(_) | Actor::ServiceAccount(_) | Actor::System(_) => {
                    Err(gpuaas_domain::Error::unauthenticated("invalid_token", "Only nodes hold links."))
                }
            }
        })
    }

    fn connected(&self, node: NodeId) -> GateCall<'_, ()> {
        Box::pin(async move {
            self.write_presence(node).await;
            insist(node, "it is back but could not be looked at", || reports::resync(&self.plane, node))
                .await;
        })
    }

    fn disconnected(&self, node: NodeId) -> GateCall<'_, ()> {
        Box::pin(self.write_presence(node))
    }
}
