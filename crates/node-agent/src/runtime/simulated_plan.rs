//! What the simulated engine holds, and how its components behave.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use gpuaas_agent_protocol::FailureReason;
use tokio::time::Instant;
use uuid::Uuid;

use super::subnet::Subnet;
use super::{ContainerPlan, ContainerView, NetworkView, State};
use crate::seams::Failure;

/// By default: the image is pulled at once, the container starts, is ready and never ends.
#[derive(Clone, Debug, Default)]
pub struct Behaviour {
    /// The pull fails so.
    pub pull_failure: Option<Failure>,
    /// The pull takes so long.
    pub pull_time: Duration,
    /// The engine makes the container and cannot start it.
    pub start_failure: Option<Failure>,
    /// The process ends so long after each start, with this code, killed for its memory or not.
    pub exit: Option<(Duration, i64, bool)>,
    /// Commands run inside end with 1 instead of 0; ports are closed.
    pub never_ready: bool,
    /// SIGTERM is ignored: a stop takes its whole grace.
    pub ignores_term: bool,
}

#[derive(Default)]
pub(super) struct World {
    pub(super) images: BTreeSet<String>,
    pub(super) containers: BTreeMap<String, Simulated>,
    pub(super) networks: BTreeMap<String, NetworkView>,
    pub(super) volumes: Vec<(Uuid, Uuid, String)>,
    pub(super) foreign_subnets: Vec<Subnet>,
    pub(super) behaviours: HashMap<String, Behaviour>,
    pub(super) ports: HashMap<(String, u16), SocketAddr>,
    pub(super) counts: Counts,
    pub(super) down: bool,
    pub(super) next: u64,
}

pub(super) struct Simulated {
    pub(super) plan: ContainerPlan,
    pub(super) view: ContainerView,
    pub(super) exits_at: Option<(Instant, i64, bool)>,
}

/// What the engine was asked for, ever.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    /// Containers made, by instance, generation and component.
    pub creates: BTreeMap<(Uuid, u64, String), u32>,
    pub starts: u32,
    pub pulls: u32,
    /// Calls that change something.
    pub changes: u32,
}

impl Simulated {
    pub(super) fn exit(&mut self, code: i64, out_of_memory: bool) {
        self.exits_at = None;
        if self.view.state.is_running() {
            self.view.state = State::Exited { code, out_of_memory, error: String::new() };
            self.view.pid = None;
        }
    }
}

impl World {
    pub(super) fn behaviour(&self, component: Option<&str>) -> Behaviour {
        component.and_then(|component| self.behaviours.get(component)).cloned().unwrap_or_default()
    }

    pub(super) fn start(&mut self, id: &str) -> Result<(), Failure> {
        let next = self.next + 1;
        let Some(container) = self.containers.get(id) else {
            return Err(Failure::new(FailureReason::ContainerStartFailed, "No such container."));
        };
        if container.view.state.is_running() {
            return Ok(());
        }
        let behaviour = self.behaviour(container.view.labels.component.as_deref());
        if let Some(failure) = behaviour.start_failure {
            return Err(failure);
        }
        self.counts.starts += 1;
        self.next = next;
        let number = i64::try_from(next).unwrap_or(i64::MAX);
        let container = self.containers.get_mut(id).expect("it was there above");
        container.view.state = State::Running;
        container.view.pid = Some(number);
        container.view.started_at = Some(number);
        container.view.address = Some(IpAddr::V4(Ipv4Addr::LOCALHOST));
        container.exits_at = behaviour.exit.map(|(after, code, oom)| (Instant::now() + after, code, oom));
        Ok(())
    }
}
