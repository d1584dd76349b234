//! What the executor needs from the edges of the agent, so that each side can be tested alone.

use std::future::Future;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex};

use gpuaas_agent_protocol::FailureReason;
use gpuaas_agent_protocol::report::PullProgress;
use gpuaas_agent_protocol::spec::ImageGrant;
use tokio::sync::watch;
use uuid::Uuid;

pub type Answer<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A failure as it will be reported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    pub reason: FailureReason,
    pub detail: String,
}

impl Failure {
    pub fn new(reason: FailureReason, detail: impl Into<String>) -> Self {
        Self { reason, detail: detail.into() }
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.reason.name(), self.detail)
    }
}

impl std::error::Error for Failure {}

/// Where the engine may pull one image from, for as long as this value lives.
pub struct PullTicket {
    /// What the engine is told to pull: `127.0.0.1:port/repository@sha256:…`.
    pub image: String,
    pub username: String,
    pub password: String,
    pub progress: watch::Receiver<PullProgress>,
    /// Why the source refused or broke off, if it did: says more than the engine's own words.
    pub verdict: Arc<Mutex<Option<Failure>>>,
}

/// Gives the engine images by digest; knows what each order may pull.
pub trait ImageSource: Send + Sync {
    /// The name under which the engine knows this image once pulled.
    fn local_name(&self, grant: &ImageGrant) -> String;

    fn open<'a>(&'a self, grant: &'a ImageGrant) -> Answer<'a, Result<PullTicket, Failure>>;
}

/// The instance API: what a workload may ask of its node, on its own network's gateway address.
pub trait InstanceDoor: Send + Sync {
    /// Opens (or finds open) the door of an instance and gives its base address.
    fn open(&self, instance: Uuid, gateway: IpAddr, prefix: u8) -> Answer<'_, std::io::Result<String>>;

    fn close(&self, instance: Uuid);
}
