//! The container engine, as far as the executor needs one. Docker and the simulation pass the same suite
//! ([`suite::runtime_suite`]), so what is proven on one about the executor holds on the other.
//!
//! Everything made here carries [`labels`]; nothing is ever touched that does not carry this node's own.

pub mod docker;
pub mod guard;
pub mod labels;
pub mod simulated;
mod simulated_plan;
pub mod subnet;
pub mod suite;

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::pin::Pin;
use std::time::Duration;

use futures_util::Stream;
use gpuaas_agent_protocol::link::{ComponentStats, LogLine, LogQuery};
use gpuaas_agent_protocol::spec::{GpuBinding, Tmpfs};
use uuid::Uuid;

use crate::seams::{Answer, Failure, PullTicket};
use labels::Labels;
use subnet::Subnet;

pub type LogStream = Pin<Box<dyn Stream<Item = Result<LogLine, Failure>> + Send>>;

/// Where a container sees its secrets; no profile can mount anything there.
pub const SECRETS_PATH: &str = "/run/gpuaas";

/// What every call of an engine answers.
pub type Reply<'a, T> = Answer<'a, Result<T, Failure>>;

/// The network of one instance, as it shall be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetworkPlan {
    pub labels: Labels,
    pub subnet: Subnet,
    /// No way out but to the node itself.
    pub internal: bool,
}

/// What came of the wish for a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NetworkMade {
    Made,
    /// Something else on the node has addresses of this range: try another.
    Overlaps,
}

/// Who a process is: what the engine is told, and the number that owns its folders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    pub text: String,
    pub uid: u32,
    pub gid: u32,
}

impl User {
    pub fn numeric((uid, gid): (u32, u32)) -> Self {
        Self { text: format!("{uid}:{gid}"), uid, gid }
    }
}

/// A folder of the node, and where it is seen. Made by the executor below the roots of scratch and volumes only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bind {
    pub source: PathBuf,
    pub target: String,
    pub read_only: bool,
}

/// One container, as it shall be. There is no field for a privilege, a capability or a host namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContainerPlan {
    pub labels: Labels,
    pub image: String,
    pub command: Vec<String>,
    pub env: Vec<(String, String)>,
    pub user: User,
    pub cpu_millis: u32,
    pub memory_mib: u32,
    pub pids: u32,
    pub read_only_root: bool,
    pub tmpfs: Vec<Tmpfs>,
    pub binds: Vec<Bind>,
    /// A folder on the node's tmpfs with what only this container may read, seen at [`SECRETS_PATH`] and never written.
    pub secrets: Option<PathBuf>,
    pub gpus: Vec<GpuBinding>,
    pub network: String,
    /// Asked for names outside the instance; nothing answers there on a network without a way out.
    pub resolver: Option<IpAddr>,
}

impl ContainerPlan {
    pub fn name(&self) -> String {
        let Labels { instance, generation, component, .. } = &self.labels;
        format!("gpuaas-{instance}-{}-g{generation}", component.as_deref().unwrap_or("none"))
    }
}

/// A container, as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContainerView {
    pub id: String,
    pub name: String,
    pub labels: Labels,
    pub state: State,
    pub pid: Option<i64>,
    /// Microseconds since 1970, by the engine.
    pub started_at: Option<i64>,
    pub address: Option<IpAddr>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// Made and never started.
    Created,
    Running,
    Exited {
        code: i64,
        out_of_memory: bool,
        error: String,
    },
}

impl State {
    pub fn is_running(&self) -> bool {
        matches!(self, Self::Running)
    }
}

/// A network, as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetworkView {
    pub name: String,
    pub labels: Labels,
    pub subnet: Option<Subnet>,
}

/// Everything that carries the labels that were asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    pub containers: Vec<ContainerView>,
    pub networks: Vec<NetworkView>,
    /// Names.
    pub volumes: Vec<String>,
}

impl Found {
    pub fn is_nothing(&self) -> bool {
        self.containers.is_empty() && self.networks.is_empty() && self.volumes.is_empty()
    }
}

/// What a node's engine can do. Every call bears to be made twice: what is there already is not made again, and what
/// is gone already is no failure.
pub trait ContainerRuntime: Send + Sync {
    /// Nothing real happens.
    fn is_simulated(&self) -> bool;

    /// Who an image runs as by its own word; `None` where the engine does not have the image.
    fn find_image_user<'a>(&'a self, image: &'a str) -> Reply<'a, Option<User>>;

    /// Pulls; ends early when the future is dropped.
    fn pull<'a>(&'a self, ticket: &'a PullTicket) -> Reply<'a, ()>;

    /// Every range that any network of the engine holds, ours or not.
    fn list_subnets(&self) -> Reply<'_, Vec<Subnet>>;

    fn ensure_network<'a>(&'a self, plan: &'a NetworkPlan) -> Reply<'a, NetworkMade>;

    fn remove_network<'a>(&'a self, name: &'a str) -> Reply<'a, ()>;

    fn remove_volume<'a>(&'a self, name: &'a str) -> Reply<'a, ()>;

    /// The id of the container of this name, made now or before.
    fn ensure_container<'a>(&'a self, plan: &'a ContainerPlan) -> Reply<'a, String>;

    fn start<'a>(&'a self, id: &'a str) -> Reply<'a, ()>;

    /// SIGTERM, and SIGKILL after the grace.
    fn stop<'a>(&'a self, id: &'a str, grace: Duration) -> Reply<'a, ()>;

    fn kill<'a>(&'a self, id: &'a str) -> Reply<'a, ()>;

    fn remove_container<'a>(&'a self, id: &'a str) -> Reply<'a, ()>;

    fn find_container<'a>(&'a self, id: &'a str) -> Reply<'a, Option<ContainerView>>;

    /// What carries this node's label, of one instance or of all.
    fn list(&self, node: Uuid, instance: Option<Uuid>) -> Reply<'_, Found>;

    /// Ends when the container is not running (any more).
    fn wait_exit<'a>(&'a self, id: &'a str) -> Reply<'a, ()>;

    /// The exit code of a command inside the container.
    fn exec<'a>(&'a self, id: &'a str, command: &'a [String]) -> Reply<'a, i64>;

    fn logs<'a>(&'a self, container: &'a ContainerView, query: &'a LogQuery) -> Reply<'a, LogStream>;

    fn stats<'a>(&'a self, container: &'a ContainerView) -> Reply<'a, ComponentStats>;

    /// Where a port of a container is reached from the node.
    fn dial_address(&self, container: &ContainerView, port: u16) -> Option<SocketAddr>;

    /// Whether an app that nobody can ask counts as answering: where no process is, the engine answers for it.
    fn pretends(&self, _: &ContainerView) -> Option<bool> {
        None
    }

    /// Whether the node's packet filter keeps workloads from what is not theirs.
    fn guard(&self) -> Guarding;
}

/// How workloads are kept from the node and from one another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Guarding {
    InPlace,
    /// By the operator's own choice.
    Off,
    /// Nothing is started until it is there: why it is not.
    Missing(String),
}

/// The name of an instance's network.
pub fn network_name(instance: Uuid) -> String {
    format!("gpuaas-{instance}")
}

/// The name of its bridge; an interface has at most 15 characters. The last digits: the first ones of ids made in the
/// same minute are alike.
pub fn bridge_name(instance: Uuid) -> String {
    let digits = instance.simple().to_string();
    format!("gpuaas-{}", &digits[digits.len() - 8..])
}

/// What a container is told about its devices.
pub fn gpu_env(gpus: &[GpuBinding]) -> BTreeMap<&'static str, String> {
    let ids = |simulated: bool| {
        let ids: Vec<&str> =
            gpus.iter().filter(|gpu| gpu.simulated == simulated).map(|gpu| gpu.uuid.as_str()).collect();
        ids.join(",")
    };
    let mut env = BTreeMap::new();
    if gpus.iter().all(|gpu| gpu.simulated) {
        env.insert("NVIDIA_VISIBLE_DEVICES", "void".to_owned());
    }
    if gpus.iter().any(|gpu| gpu.simulated) {
        env.insert("GPUAAS_GPUS", ids(true));
        env.insert("GPUAAS_GPUS_SIMULATED", "1".to_owned());
    } else if !gpus.is_empty() {
        env.insert("GPUAAS_GPUS", ids(false));
    }
    env
}
