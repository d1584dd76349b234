//! Where nodes connect: a listener of its own, always TLS, that serves the API and the two paths a node's links are dialled
//! to. Presence is the link itself. What a node may do is not decided here; see [`NodeGate`].

mod calls;
mod door;
mod gate;
mod links;

use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;

use gpuaas_domain::ids::NodeId;
use gpuaas_domain::{Error, Result};
use gpuaas_program::Spawner;

use crate::config::Config;
use crate::http::{self, AppState};
use crate::listener::{Listener, bind};
use crate::metrics::Metrics;
use crate::tls;

pub use gate::PlatformGate;
pub use gpuaas_agent_protocol::link::{CONTROL_PATH, DATA_PATH};
pub use links::{Links, Presence};

pub type GateCall<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Who may hold links.
pub trait NodeGate: Send + Sync {
    /// Which node this token is of. Asked twice for each link, the second time when the link can already be found, so that
    /// a node revoked meanwhile does not slip through.
    fn admit<'a>(&'a self, bearer: &'a str) -> GateCall<'a, Result<NodeId>>;

    /// The node's control link came up. Two calls may overlap: what holds now is what [`Links`] says.
    fn connected(&self, _: NodeId) -> GateCall<'_, ()> {
        Box::pin(std::future::ready(()))
    }

    /// The node's control link is gone, and no other took its place.
    fn disconnected(&self, _: NodeId) -> GateCall<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}

/// Lets nobody in.
pub struct NoNodes;

impl NodeGate for NoNodes {
    fn admit<'a>(&'a self, _: &'a str) -> GateCall<'a, Result<NodeId>> {
        let error = Error::unauthenticated("invalid_token", "The token is not valid.");
        Box::pin(std::future::ready(Err(error)))
    }
}

/// What others need to know of the serving listener.
pub struct Agents {
    pub address: SocketAddr,
    /// What nodes dial.
    pub public_url: String,
    /// What nodes believe.
    pub trust: tls::AgentTrust,
    pub links: Arc<Links>,
}

/// Serves nodes beside the public listener, from the same state.
pub async fn start(
    config: &Config,
    state: AppState,
    gate: Arc<dyn NodeGate>,
    links: Arc<Links>,
    metrics: Arc<Metrics>,
    tasks: &Spawner,
) -> Result<Agents> {
    let tls = tls::agents_server_config(config)?;
    let trust = tls::agent_trust(config)?;
    let socket = bind(config.agents.listen).await?;
    let address = socket.local_addr().map_err(|error| Error::internal(error.to_string()))?;
    let door = Arc::new(door::Door { gate, links: links.clone(), tasks: tasks.clone() });
    let app = http::app_with(state, door::router(door));
    let listener = Listener { socket, tls: Some(tls), settings: config.http.clone(), metrics };
    tasks.spawn(listener.serve(app, None, tasks.clone()));
    Ok(Agents { address, public_url: config.agents_url(address), trust, links })
}
