//! An engine without processes: it remembers what it was told, and behaves as a test tells it to. It outlives the
//! executor that uses it, as dockerd outlives the agent. Its logs and figures are invented and marked so.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use futures_util::StreamExt as _;
use gpuaas_agent_protocol::FailureReason;
use gpuaas_agent_protocol::link::{ComponentStats, LogLine, LogQuery};
use gpuaas_agent_protocol::spec::NOBODY;
use tokio::sync::watch;
use tokio::time::Instant;
use uuid::Uuid;

pub use super::simulated_plan::{Behaviour, Counts};
use super::simulated_plan::{Simulated, World};
use super::subnet::Subnet;
use super::{
    ContainerPlan, ContainerRuntime, ContainerView, Found, Guarding, LogStream, NetworkMade, NetworkPlan,
    NetworkView, Reply, State, User, network_name,
};
use crate::seams::{Failure, PullTicket};

/// A handle; clones share one engine.
#[derive(Clone, Default)]
pub struct SimulatedRuntime(Arc<Engine>);

#[derive(Default)]
struct Engine {
    world: Mutex<World>,
    changed: watch::Sender<u64>,
}

impl SimulatedRuntime {
    pub fn new() -> Self {
        Self::default()
    }

    /// How components of this name behave from now on.
    pub fn behave(&self, component: &str, behaviour: Behaviour) {
        self.world().behaviours.insert(component.to_owned(), behaviour);
    }

    /// The engine does not answer, or answers again.
    pub fn set_down(&self, down: bool) {
        self.world().down = down;
        self.notify();
    }

    /// Dialling this port of this component leads there.
    pub fn serve(&self, component: &str, port: u16, at: SocketAddr) {
        self.world().ports.insert((component.to_owned(), port), at);
    }

    /// Somebody else's network.
    pub fn occupy(&self, subnet: Subnet) {
        self.world().foreign_subnets.push(subnet);
    }

    /// A volume that carries our labels, as if left behind.
    pub fn leave_volume(&self, node: Uuid, instance: Uuid, name: &str) {
        self.world().volumes.push((node, instance, name.to_owned()));
    }

    /// The process of a component ends now.
    pub fn crash(&self, instance: Uuid, component: &str, code: i64) {
        for container in self.world().containers.values_mut() {
            let labels = &container.view.labels;
            if labels.instance == instance && labels.component.as_deref() == Some(component) {
                container.exit(code, false);
            }
        }
        self.notify();
    }

    /// Containers that are there, running or not.
    pub fn containers(&self) -> usize {
        self.world().containers.len()
    }

    pub fn counts(&self) -> Counts {
        self.world().counts.clone()
    }

    /// The plan each container of an instance was made from.
    pub fn plans(&self, instance: Uuid) -> Vec<ContainerPlan> {
        let world = self.world();
        let plans = world.containers.values().map(|container| &container.plan);
        plans.filter(|plan| plan.labels.instance == instance).cloned().collect()
    }

    fn world(&self) -> MutexGuard<'_, World> {
        let mut world = self.0.world.lock().expect("nothing panics while it is held");
        let now = Instant::now();
        for container in world.containers.values_mut() {
            if let Some((at, code, out_of_memory)) = container.exits_at.filter(|(at, ..)| *at <= now) {
                let _ = at;
                container.exit(code, out_of_memory);
            }
        }
        world
    }

    fn notify(&self) {
        self.0.changed.send_modify(|count| *count += 1);
    }

    /// The world, if the engine answers.
    fn up(&self) -> Result<MutexGuard<'_, World>, Failure> {
        let world = self.world();
        if world.down {
            return Err(Failure::new(FailureReason::EngineUnavailable, "The simulated engine is down."));
        }
        Ok(world)
    }

    /// Changes something, and wakes who waits for that.
    fn change<T>(&self, change: impl FnOnce(&mut World) -> Result<T, Failure>) -> Result<T, Failure> {
        let result = self.up().and_then(|mut world| {
            world.counts.changes += 1;
            change(&mut world)
        });
        self.notify();
        result
    }

    /// Ends when the condition holds for the container, or when it is gone.
    async fn until(&self, id: &str, holds: impl Fn(&Simulated) -> bool) -> Result<(), Failure> {
        let mut changed = self.0.changed.subscribe();
        loop {
            let exits_at = {
                let world = self.up()?;
                match world.containers.get(id) {
                    Some(container) if !holds(container) => container.exits_at.map(|(at, ..)| at),
                    _ => return Ok(()),
                }
            };
            let due = async {
                match exits_at {
                    Some(at) => tokio::time::sleep_until(at).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                _ = changed.changed() => {}
                () = due => {}
            }
        }
    }
}

impl ContainerRuntime for SimulatedRuntime {
    fn is_simulated(&self) -> bool {
        true
    }

    fn find_image_user<'a>(&'a self, image: &'a str) -> Reply<'a, Option<User>> {
        Box::pin(async move { Ok(self.up()?.images.contains(image).then(|| User::numeric(NOBODY))) })
    }

    fn pull<'a>(&'a self, ticket: &'a PullTicket) -> Reply<'a, ()> {
        Box::pin(async move {
            // One behaviour for the pull of any image: the one of the component that the image is named after.
            let behaviour = {
                let mut world = self.up()?;
                world.counts.pulls += 1;
                let named =
                    world.behaviours.keys().find(|name| ticket.image.contains(&format!("/{name}@"))).cloned();
                world.behaviour(named.as_deref())
            };
            if !behaviour.pull_time.is_zero() {
                tokio::time::sleep(behaviour.pull_time).await;
            }
            if let Some(failure) = behaviour.pull_failure {
                return Err(failure);
            }
            self.change(|world| {
                world.images.insert(ticket.image.clone());
                Ok(())
            })
        })
    }

    fn list_subnets(&self) -> Reply<'_, Vec<Subnet>> {
        Box::pin(async move {
            let world = self.up()?;
            let ours = world.networks.values().filter_map(|network| network.subnet);
            Ok(ours.chain(world.foreign_subnets.iter().copied()).collect())
        })
    }

    fn ensure_network<'a>(&'a self, plan: &'a NetworkPlan) -> Reply<'a, NetworkMade> {
        Box::pin(async move {
            self.change(|world| {
                let name = network_name(plan.labels.instance);
                if world.networks.contains_key(&name) {
                    return Ok(NetworkMade::Made);
                }
                let mut taken = world.networks.values().filter_map(|network| network.subnet);
                if taken.any(|taken| taken.overlaps(plan.subnet)) {
                    return Ok(NetworkMade::Overlaps);
                }
                let view = NetworkView {
                    name: name.clone(),
                    labels: plan.labels.clone(),
                    subnet: Some(plan.subnet),
                };
                world.networks.insert(name, view);
                Ok(NetworkMade::Made)
            })
        })
    }

    fn remove_network<'a>(&'a self, name: &'a str) -> Reply<'a, ()> {
        Box::pin(async move {
            self.change(|world| {
                if world.containers.values().any(|container| container.plan.network == name) {
                    return Err(Failure::new(FailureReason::StopFailed, "The network has active endpoints."));
                }
                world.networks.remove(name);
                Ok(())
            })
        })
    }

    fn remove_volume<'a>(&'a self, name: &'a str) -> Reply<'a, ()> {
        Box::pin(async move {
            self.change(|world| {
                world.volumes.retain(|(_, _, volume)| volume != name);
                Ok(())
            })
        })
    }

    fn ensure_container<'a>(&'a self, plan: &'a ContainerPlan) -> Reply<'a, String> {
        Box::pin(async move {
            self.change(|world| {
                let id = format!("simulated-{}", plan.name());
                if let Some(found) = world.containers.get(&id) {
                    let same = found.view.labels == plan.labels;
                    let taken = || Failure::new(FailureReason::ContainerCreateFailed, "The name is taken.");
                    return same.then_some(id).ok_or_else(taken);
                }
                if !world.images.contains(&plan.image) {
                    return Err(Failure::new(FailureReason::ImageNotFound, "No such image."));
                }
                let component = plan.labels.component.clone().unwrap_or_default();
                let step = (plan.labels.instance, plan.labels.generation, component);
                *world.counts.creates.entry(step).or_default() += 1;
                let view = ContainerView {
                    id: id.clone(),
                    name: plan.name(),
                    labels: plan.labels.clone(),
                    state: State::Created,
                    pid: None,
                    started_at: None,
                    address: None,
                };
                world.containers.insert(id.clone(), Simulated { plan: plan.clone(), view, exits_at: None });
                Ok(id)
            })
        })
    }

    fn start<'a>(&'a self, id: &'a str) -> Reply<'a, ()> {
        Box::pin(async move { self.change(|world| world.start(id)) })
    }

    fn stop<'a>(&'a self, id: &'a str, grace: Duration) -> Reply<'a, ()> {
        Box::pin(async move {
            let stubborn = {
                let world = self.up()?;
                let found = world.containers.get(id).filter(|container| container.view.state.is_running());
                found
                    .is_some_and(|found| world.behaviour(found.view.labels.component.as_deref()).ignores_term)
            };
            if stubborn {
                let stopped = self.until(id, |container| !container.view.state.is_running());
                let _ = tokio::time::timeout(grace, stopped).await;
                return self.kill(id).await;
            }
            self.change(|world| {
                world.containers.get_mut(id).into_iter().for_each(|container| container.exit(0, false));
                Ok(())
            })
        })
    }

    fn kill<'a>(&'a self, id: &'a str) -> Reply<'a, ()> {
        Box::pin(async move {
            self.change(|world| {
                world.containers.get_mut(id).into_iter().for_each(|container| container.exit(137, false));
                Ok(())
            })
        })
    }

    fn remove_container<'a>(&'a self, id: &'a str) -> Reply<'a, ()> {
        Box::pin(async move {
            self.change(|world| {
                world.containers.remove(id);
                Ok(())
            })
        })
    }

    fn find_container<'a>(&'a self, id: &'a str) -> Reply<'a, Option<ContainerView>> {
        Box::pin(async move { Ok(self.up()?.containers.get(id).map(|container| container.view.clone())) })
    }

    fn list(&self, node: Uuid, instance: Option<Uuid>) -> Reply<'_, Found> {
        let ours = move |n: Uuid, i: Uuid| n == node && instance.is_none_or(|instance| i == instance);
        Box::pin(async move {
            let world = self.up()?;
            let containers = world.containers.values().map(|container| &container.view);
            let networks = world.networks.values();
            Ok(Found {
                containers: containers.filter(|c| ours(c.labels.node, c.labels.instance)).cloned().collect(),
                networks: networks.filter(|n| ours(n.labels.node, n.labels.instance)).cloned().collect(),
                volumes: world
                    .volumes
                    .iter()
                    .filter(|(n, i, _)| ours(*n, *i))
                    .map(|(_, _, v)| v.clone())
                    .collect(),
            })
        })
    }

    fn wait_exit<'a>(&'a self, id: &'a str) -> Reply<'a, ()> {
        Box::pin(self.until(id, |container| !container.view.state.is_running()))
    }

    fn exec<'a>(&'a self, id: &'a str, _: &'a [String]) -> Reply<'a, i64> {
        Box::pin(async move {
            let world = self.up()?;
            let running = world.containers.get(id).filter(|container| container.view.state.is_running());
            let Some(container) = running else {
                return Err(Failure::new(FailureReason::Internal, "The container does not run."));
            };
            Ok(i64::from(world.behaviour(container.view.labels.component.as_deref()).never_ready))
        })
    }

    fn logs<'a>(&'a self, container: &'a ContainerView, query: &'a LogQuery) -> Reply<'a, LogStream> {
        Box::pin(async move {
            drop(self.up()?);
            let component = container.labels.component.clone().unwrap_or_default();
            let line = LogLine {
                line: format!("simulated: {component} says nothing, because nothing runs"),
                component,
                stream: "stdout".to_owned(),
                at: container.started_at.unwrap_or(0),
            };
            let wanted = query.since.is_none_or(|since| line.at >= since) && query.tail != Some(0);
            let lines = futures_util::stream::iter(wanted.then_some(Ok(line)));
            let (engine, id) = (self.clone(), container.id.clone());
            let end = futures_util::stream::once(async move {
                let _ = engine.wait_exit(&id).await;
            });
            let end = end.filter_map(|()| std::future::ready(None));
            Ok(if query.follow { Box::pin(lines.chain(end)) as LogStream } else { Box::pin(lines) })
        })
    }

    fn stats<'a>(&'a self, container: &'a ContainerView) -> Reply<'a, ComponentStats> {
        Box::pin(async move {
            let world = self.up()?;
            let plan = world.containers.get(&container.id).map(|container| &container.plan);
            let limit = plan.map_or(0, |plan| u64::from(plan.memory_mib) * 1024 * 1024);
            Ok(ComponentStats {
                name: container.labels.component.clone().unwrap_or_default(),
                cpu_millis: 0,
                memory_bytes: limit / 8,
                memory_limit_bytes: limit,
                pids: 1,
                network_rx_bytes: 0,
                network_tx_bytes: 0,
            })
        })
    }

    fn dial_address(&self, container: &ContainerView, port: u16) -> Option<SocketAddr> {
        let world = self.world();
        let component = container.labels.component.clone()?;
        if world.behaviour(Some(&component)).never_ready {
            return None;
        }
        world.ports.get(&(component, port)).copied()
    }

    fn pretends(&self, container: &ContainerView) -> Option<bool> {
        let world = self.world();
        let component = container.labels.component.as_deref()?;
        let served = world.ports.keys().any(|(name, _)| name == component);
        (!served).then(|| !world.behaviour(Some(component)).never_ready)
    }

    fn guard(&self) -> Guarding {
        Guarding::InPlace
    }
}
