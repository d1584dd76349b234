//! Who may hold links, as the platform knows it; and what happens when a node comes or goes.

use std::sync::Arc;

use gpuaas_control_plane::ControlPlane;
use gpuaas_control_plane::operations::{node_identity, nodes, reports};
use gpuaas_domain::Result;
use gpuaas_domain::iam::Actor;
use gpuaas_domain::ids::NodeId;

use super::{GateCall, NodeGate};

/// The platform's own gate: a node's token, and its standing at this moment.
pub struct PlatformGate {
    pub plane: Arc<ControlPlane>,
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
            if let Err(error) = nodes::note_presence(&self.plane, node, true).await {
                tracing::warn!(node.id = %node, "the presence of node {node} could not be written: {error}");
            }
            if let Err(error) = reports::resync(&self.plane, node).await {
                tracing::warn!(node.id = %node, "node {node} is back but could not be looked at: {error}");
            }
        })
    }

    fn disconnected(&self, node: NodeId) -> GateCall<'_, ()> {
        Box::pin(async move {
            // A link that came up meanwhile has said so already, or will.
            if self.plane.links().is_connected(node) {
                return;
            }
            if let Err(error) = nodes::note_presence(&self.plane, node, false).await {
                tracing::warn!(node.id = %node, "the absence of node {node} could not be written: {error}");
            }
        })
    }
}
