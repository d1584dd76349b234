//! What the executor needs from the edges of the agent, so that each side can be tested alone.

use std::future::Future;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use futures_util::Stream;
use gpuaas_agent_protocol::FailureReason;
use gpuaas_agent_protocol::link::{Accepted, InstanceStats, LogQuery, Refused};
use gpuaas_agent_protocol::report::{InstanceReport, NodeReport, PullProgress};
use gpuaas_agent_protocol::spec::ImageGrant;
use gpuaas_agent_protocol::task::{SignedTask, Trust};
use gpuaas_api::agent::{ImageAccess, ImageAccessRequest};
use gpuaas_api::own_instance::IdentityGranted;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;
use uuid::Uuid;

use crate::platform::CallError;

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

/// An image, and the order that wants it.
#[derive(Clone, Copy, Debug)]
pub struct WantedImage<'a> {
    pub instance: Uuid,
    pub generation: u64,
    pub grant: &'a ImageGrant,
}

/// Gives the engine images by digest; knows what each order may use.
pub trait ImageSource: Send + Sync {
    /// The name under which the engine knows this image once pulled.
    fn local_name(&self, grant: &ImageGrant) -> String;

    /// Whether the order may use this image now, and somebody trusted stands for it. That the engine has it says
    /// neither.
    fn admit<'a>(&'a self, wanted: &'a WantedImage<'a>) -> Answer<'a, Result<(), Failure>>;

    /// The way to an image that may be used now.
    fn open<'a>(&'a self, wanted: &'a WantedImage<'a>) -> Answer<'a, Result<PullTicket, Failure>>;
}

/// The platform, as far as it lets this node have images.
pub trait ImageGate: Send + Sync {
    fn ask<'a>(&'a self, request: &'a ImageAccessRequest) -> Answer<'a, Result<ImageAccess, CallError>>;
}

/// The platform, as far as it lets this node speak for who its instances are.
pub trait IdentityGate: Send + Sync {
    /// Shows the public half of a key that was made for one launch; every former key of the instance ends.
    fn show_key<'a>(
        &'a self,
        instance: Uuid,
        generation: u64,
        public_key: &'a str,
    ) -> Answer<'a, Result<IdentityGranted, CallError>>;
}

/// A call that an app makes of the platform, with a token of its own or none.
#[derive(Clone)]
pub struct RelayedCall {
    pub method: reqwest::Method,
    pub path: String,
    pub bearer: Option<Arc<gpuaas_domain::Secret<String>>>,
    pub idempotency_key: Option<String>,
    pub body: Bytes,
}

/// The platform, as apps reach it through their node: never with the node's own token.
pub trait Relay: Send + Sync {
    /// Status and bytes of the platform's answer.
    fn relay<'a>(&'a self, call: &'a RelayedCall) -> Answer<'a, Result<(u16, Bytes), CallError>>;
}

/// The instance API: what a workload may ask of its node, on its own network's gateway address.
pub trait InstanceDoor: Send + Sync {
    /// Opens (or finds open) the door of an instance and gives its base address.
    fn open(&self, instance: Uuid, gateway: IpAddr, prefix: u8) -> Answer<'_, std::io::Result<String>>;

    fn close(&self, instance: Uuid);
}

/// Lines of JSON, each a `LogLine`.
pub type LogBytes = Pin<Box<dyn Stream<Item = std::io::Result<Bytes>> + Send>>;

/// Both directions of one connection into a container.
pub trait ByteStream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> ByteStream for T {}

/// Why a workload gives no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoAnswer {
    /// No such instance, component or declared port on this node.
    NotFound,
    /// It is there and does not answer: not running, refused, or the engine is away.
    Unavailable(String),
}

impl std::fmt::Display for NoAnswer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NotFound => f.write_str("not on this node"),
            Self::Unavailable(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for NoAnswer {}

/// Reports as they change. A new feed starts with everything; of each instance only the latest is told.
pub trait ChangeFeed: Send {
    /// Waits for what this feed has not told. `None` after the end. Dropping the wait loses nothing.
    fn next(&mut self) -> Answer<'_, Option<Vec<InstanceReport>>>;
}

/// What the edges of the agent (links, reports, instance API) need from what runs the workloads.
pub trait Workloads: Send + Sync {
    /// Judges an order and puts it into the journal.
    fn accept<'a>(&'a self, signed: &'a SignedTask) -> Answer<'a, Result<Accepted, Refused>>;

    /// Everything the node has, right now.
    fn report_full(&self) -> Answer<'_, NodeReport>;

    fn changes(&self) -> Box<dyn ChangeFeed>;

    /// This run of the agent, as reports name it.
    fn run_id(&self) -> Uuid;

    /// The platform has taken this report.
    fn acknowledged<'a>(&'a self, report: &'a InstanceReport) -> Answer<'a, ()>;

    fn logs(&self, instance: Uuid, query: LogQuery) -> Answer<'_, Result<LogBytes, NoAnswer>>;

    fn stats(&self, instance: Uuid) -> Answer<'_, Result<InstanceStats, NoAnswer>>;

    /// A connection to a declared port of a component.
    fn connect<'a>(
        &'a self,
        instance: Uuid,
        component: &'a str,
        port: u16,
    ) -> Answer<'a, Result<Box<dyn ByteStream>, NoAnswer>>;

    /// The app says that it lives. False: no such instance.
    fn heartbeat(&self, instance: Uuid) -> bool;

    /// What is known about one instance without asking the engine.
    fn status(&self, instance: Uuid) -> Option<InstanceReport>;

    /// What to believe from now on: keys of orders, era, server time.
    fn adopt_trust(&self, trust: Trust) -> Answer<'_, ()>;

    /// What the operator has to know, in sentences; they go into the inventory.
    fn warnings(&self) -> Vec<String>;

    /// What keeps it from taking work, in sentences.
    fn problems(&self) -> Vec<String>;
}
