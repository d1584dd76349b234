//! The seam to a node that is connected right now. `server` plugs the links in; a reconciler or operation that needs a
//! node and finds it away leaves the work where it is and tries again when the node is back.

use std::future::Future;
use std::pin::Pin;

use futures_util::Stream;
use gpuaas_agent_protocol::link::{InstanceStats, LogQuery, Refused};
use gpuaas_agent_protocol::report::NodeReport;
use gpuaas_agent_protocol::task::SignedTask;
use gpuaas_domain::ids::{InstanceId, NodeId};
use tokio::io::{AsyncRead, AsyncWrite};

pub type LinkCall<'a, T> = Pin<Box<dyn Future<Output = Result<T, LinkError>> + Send + 'a>>;

/// Lines of JSON, as the node sends them.
pub type LogBytes = Pin<Box<dyn Stream<Item = Result<Vec<u8>, LinkError>> + Send>>;

/// Both directions of one connection into a container.
pub trait ByteStream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> ByteStream for T {}

/// What a node said to an order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// It is in the node's journal.
    Accepted,
    Refused(Refused),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkError {
    /// The node has no link at the moment.
    NotConnected,
    TimedOut,
    /// The link broke; whether the node heard is unknown.
    Broken(String),
    /// The node answered, and it was no.
    Answered {
        status: u16,
        message: String,
    },
}

impl std::fmt::Display for LinkError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NotConnected => f.write_str("the node is not connected"),
            Self::TimedOut => f.write_str("the node did not answer in time"),
            Self::Broken(what) => write!(f, "the link to the node broke: {what}"),
            Self::Answered { status, message } => write!(f, "the node answered {status}: {message}"),
        }
    }
}

impl std::error::Error for LinkError {}

pub trait NodeLink: Send + Sync {
    fn is_connected(&self, node: NodeId) -> bool;

    fn send_task<'a>(&'a self, node: NodeId, task: &'a SignedTask) -> LinkCall<'a, Delivery>;

    /// Everything the node has, right now.
    fn instances(&self, node: NodeId) -> LinkCall<'_, NodeReport>;

    fn logs(&self, node: NodeId, instance: InstanceId, query: LogQuery) -> LinkCall<'_, LogBytes>;

    fn stats(&self, node: NodeId, instance: InstanceId) -> LinkCall<'_, InstanceStats>;

    /// A connection to a declared port of a component, over the data link.
    fn open<'a>(
        &'a self,
        node: NodeId,
        instance: InstanceId,
        component: &'a str,
        port: u16,
    ) -> LinkCall<'a, Box<dyn ByteStream>>;

    /// Ends every link and stream of a node at once.
    fn disconnect(&self, node: NodeId);
}

/// No node is ever connected: for commands that open the platform without serving it.
pub struct NoLinks;

impl NodeLink for NoLinks {
    fn is_connected(&self, _: NodeId) -> bool {
        false
    }

    fn send_task<'a>(&'a self, _: NodeId, _: &'a SignedTask) -> LinkCall<'a, Delivery> {
        away()
    }

    fn instances(&self, _: NodeId) -> LinkCall<'_, NodeReport> {
        away()
    }

    fn logs(&self, _: NodeId, _: InstanceId, _: LogQuery) -> LinkCall<'_, LogBytes> {
        away()
    }

    fn stats(&self, _: NodeId, _: InstanceId) -> LinkCall<'_, InstanceStats> {
        away()
    }

    fn open<'a>(&'a self, _: NodeId, _: InstanceId, _: &'a str, _: u16) -> LinkCall<'a, Box<dyn ByteStream>> {
        away()
    }

    fn disconnect(&self, _: NodeId) {}
}

fn away<'a, T: Send + 'a>() -> LinkCall<'a, T> {
    Box::pin(std::future::ready(Err(LinkError::NotConnected)))
}
