//! From an order to running containers. Every step looks whether it is done already.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::net::IpAddr;

use futures_util::future::try_join_all;
use gpuaas_agent_protocol::FailureReason;
use gpuaas_agent_protocol::report::Phase;
use gpuaas_agent_protocol::spec::{ComponentSpec, Egress, NOBODY, RunAs, WorkloadSpec};
use gpuaas_faults::step;

use super::actor::{Actor, Halt, all};
use super::identity::has_identity;
use super::network::is_internal;
use super::scratch;
use super::slot::Component;
use crate::runtime::subnet::Subnet;
use crate::runtime::{Bind, ContainerPlan, ContainerView, State, User, network_name};
use crate::seams::{Failure, PullTicket, WantedImage};

/// An image that the engine has.
struct ReadyImage {
    /// Who its process is.
    user: User,
    /// Just now.
    pulled: bool,
}

impl Actor {
    pub(super) async fn launch(&mut self, spec: &WorkloadSpec) -> Result<(), Halt> {
        let mut found = self.look().await?;
        if found.containers.iter().any(|container| !self.is_ours(&container.labels))
            || found.networks.iter().any(|network| !self.is_ours(&network.labels))
        {
            self.clear_earlier(&found, spec.stop_grace_seconds).await?;
            found = self.look().await?;
        }
        let was_running = self.record.phase == Phase::Running;
        let missing: Vec<&ComponentSpec> =
            spec.components.iter().filter(|c| of_component(&found.containers, c).is_none()).collect();
        if !was_running && !missing.is_empty() {
            self.show_phase(Phase::Creating);
        }
        let subnet = self.ensure_network(spec, &found).await?;
        // Made by an earlier run of the agent and never started: as good as not made.
        let unstarted = spec.components.iter().filter(|component| {
            of_component(&found.containers, component).is_some_and(|found| found.state == State::Created)
        });
        try_join_all(unstarted.map(|component| self.admit(component))).await?;
        if missing.is_empty() {
            if found.containers.iter().any(|container| !container.state.is_running()) {
                // It will be started again: after a reboot nothing of its secrets is left.
                self.ensure_identity(spec).await?;
            }
            self.open_door_for(spec, subnet).await?;
        } else {
            self.make_containers(spec, &missing, subnet).await?;
        }
        self.open_ports(spec).await?;
        self.start_created(spec, was_running).await?;
        self.supervise(spec, was_running).await
    }

    async fn make_containers(
        &self,
        spec: &WorkloadSpec,
        missing: &[&ComponentSpec],
        subnet: Subnet,
    ) -> Result<(), Halt> {
        let images = try_join_all(missing.iter().map(|component| self.ensure_image(component))).await?;
        self.show_phase(Phase::Creating);
        if images.iter().any(|image| image.pulled) {
            // That may have taken long: what was revoked meanwhile does not start.
            try_join_all(missing.iter().map(|component| self.admit(component))).await?;
        }
        let users: Vec<User> = images.into_iter().map(|image| image.user).collect();
        let mut folders: BTreeMap<&str, Vec<Bind>> = BTreeMap::new();
        for (component, user) in missing.iter().zip(&users) {
            let mut binds =
                step!(self.shared.options.faults, "agent.scratch", self.make_scratch(component, user))?;
            let volumes =
                step!(self.shared.options.faults, "agent.volume", self.make_volumes(component, user))?;
            binds.extend(volumes);
            folders.insert(&component.name, binds);
        }
        let identity = self.ensure_identity(spec).await?;
        let base_url = self.open_door_for(spec, subnet).await?;
        let plans = missing.iter().zip(users).map(|(component, user)| {
            let binds = folders.remove(component.name.as_str()).unwrap_or_default();
            let resolver = is_internal(spec).then(|| IpAddr::V4(subnet.gateway()));
            let mut plan = self.plan(component, user, base_url.as_deref());
            if let Some(identity) = identity.as_ref().filter(|_| has_identity(component)) {
                plan.secrets = Some(identity.folder(&component.name));
                plan.env.extend(identity.env());
            }
            ContainerPlan { binds, resolver, ..plan }
        });
        let plans: Vec<ContainerPlan> = plans.collect();
        all(plans.iter().map(|plan| self.create(plan))).await
    }

    async fn create(&self, plan: &ContainerPlan) -> Result<(), Halt> {
        let _turn = self.shared.starts.acquire().await.expect("nobody closes it");
        self.check_current()?;
        step!(self.shared.options.faults, "agent.create", {
            self.runtime().ensure_container(plan).await.map(drop).map_err(Halt::from)
        })
    }

    fn plan(&self, component: &ComponentSpec, user: User, base_url: Option<&str>) -> ContainerPlan {
        let mut env: Vec<(String, String)> =
            component.env.iter().map(|variable| (variable.name.clone(), variable.value.clone())).collect();
        let base_url = base_url.filter(|_| component.egress != Egress::None);
        env.extend(base_url.map(|url| ("GPUAAS_BASE_URL".to_owned(), url.to_owned())));
        env.extend([
            ("GPUAAS_INSTANCE_ID".to_owned(), self.instance.to_string()),
            ("GPUAAS_COMPONENT".to_owned(), component.name.clone()),
        ]);
        ContainerPlan {
            labels: self.labels(Some(&component.name)),
            image: self.shared.options.images.local_name(&component.image),
            command: component.command.clone(),
            env,
            user,
            cpu_millis: component.cpu_millis,
            memory_mib: component.memory_mib,
            pids: component.pids,
            read_only_root: component.read_only_root,
            tmpfs: component.tmpfs.clone(),
            binds: Vec::new(),
            secrets: None,
            gpus: component.gpus.clone(),
            network: network_name(self.instance),
            resolver: None,
        }
    }

    /// Whether the image may be used now, whatever the engine has.
    async fn admit(&self, component: &ComponentSpec) -> Result<(), Halt> {
        let wanted = self.wanted(component);
        Ok(self.unless_superseded(self.shared.options.images.admit(&wanted)).await??)
    }

    fn wanted<'a>(&self, component: &'a ComponentSpec) -> WantedImage<'a> {
        WantedImage { instance: self.instance, generation: self.record.generation, grant: &component.image }
    }

    /// The image is there and may be used, pulled now or before.
    async fn ensure_image(&self, component: &ComponentSpec) -> Result<ReadyImage, Halt> {
        let name = self.shared.options.images.local_name(&component.image);
        let mut user = self.runtime().find_image_user(&name).await?;
        let pulled = user.is_none();
        if pulled {
            self.show_phase(Phase::Pulling);
            step!(self.shared.options.faults, "agent.pull", self.pull(component).await)?;
            user = self.runtime().find_image_user(&name).await?;
        } else {
            self.admit(component).await?;
        }
        let Some(user) = user else {
            let detail = format!("The engine pulled {name} and does not know it.");
            return Err(Halt::Failed(Failure::new(FailureReason::ImagePullFailed, detail)));
        };
        Ok(ReadyImage { user: run_as(component, user), pulled })
    }

    async fn pull(&self, component: &ComponentSpec) -> Result<(), Halt> {
        let deadline = self.limits().pull_deadline;
        let pulling = async {
            let _turn = self.shared.pulls.acquire().await.expect("nobody closes it");
            let ticket = self.shared.options.images.open(&self.wanted(component)).await?;
            let pulled = tokio::select! {
                pulled = self.runtime().pull(&ticket) => pulled,
                never = self.show_progress(&ticket) => match never {},
            };
            let verdict = ticket.verdict.lock().expect("nothing panics while it is held").clone();
            pulled.map_err(|failure| verdict.unwrap_or(failure))
        };
        let pulled = self.unless_superseded(tokio::time::timeout(deadline, pulling)).await?;
        let late = || {
            let detail = format!(
                "The pull of {} took longer than {} s.",
                component.image.reference,
                deadline.as_secs()
            );
            Failure::new(FailureReason::ImagePullTimeout, detail)
        };
        Ok(pulled.unwrap_or_else(|_| Err(late()))?)
    }

    async fn show_progress(&self, ticket: &PullTicket) -> Infallible {
        let mut progress = ticket.progress.clone();
        loop {
            let now = *progress.borrow_and_update();
            self.show(|live| live.pull = Some(now));
            tokio::time::sleep(self.limits().progress_interval).await;
            if progress.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    fn make_scratch(&self, component: &ComponentSpec, user: &User) -> Result<Vec<Bind>, Halt> {
        let root = &self.shared.options.scratch;
        let made = component.scratch.iter().map(|wanted| {
            let source = scratch::ensure(root, self.instance, &wanted.name, user)?;
            Ok(Bind { source, target: wanted.path.clone(), read_only: false })
        });
        made.collect::<std::io::Result<_>>()
            .map_err(|error| on_disk("The scratch folder cannot be made", &error))
    }

    async fn open_ports(&mut self, spec: &WorkloadSpec) -> Result<(), Halt> {
        let shared = std::sync::Arc::clone(&self.shared);
        step!(shared.options.faults, "agent.ports", {
            self.ports.ensure(&shared, self.instance, spec).await.map_err(Halt::from)
        })
    }

    /// Starts what never ran. What ran and ended is a matter of the restart budget.
    async fn start_created(&self, spec: &WorkloadSpec, was_running: bool) -> Result<(), Halt> {
        let found = self.look().await?;
        let created = found
            .containers
            .iter()
            .filter(|container| container.state == State::Created && self.is_ours(&container.labels));
        all(created.map(|container| self.start(&container.id))).await?;
        if !was_running {
            self.show_phase(Phase::Starting);
        }
        let found = self.look().await?;
        let whole =
            spec.components.iter().all(|component| of_component(&found.containers, component).is_some());
        if !whole {
            let detail = "A container vanished while it was started.";
            return Err(Halt::Again(Failure::new(FailureReason::ContainerStartFailed, detail)));
        }
        self.show_components(&found.containers, |container| was_running && container.state.is_running());
        Ok(())
    }

    pub(super) async fn start(&self, id: &str) -> Result<(), Halt> {
        let _turn = self.shared.starts.acquire().await.expect("nobody closes it");
        self.check_current()?;
        step!(self.shared.options.faults, "agent.start", self.runtime().start(id).await.map_err(Halt::from))
    }

    pub(super) fn show_components(
        &self,
        containers: &[ContainerView],
        ready: impl Fn(&ContainerView) -> bool,
    ) {
        let components: Vec<Component> =
            containers.iter().map(|view| Component { ready: ready(view), view: view.clone() }).collect();
        self.show(|live| live.components = components);
    }
}

pub(super) fn on_disk(what: &str, error: &std::io::Error) -> Halt {
    let reason = match error.kind() {
        std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => FailureReason::DiskFull,
        _ => FailureReason::Internal,
    };
    Halt::Failed(Failure::new(reason, format!("{what}: {error}.")))
}

/// Who the process of a component is, where its image names this user.
pub(super) fn run_as(component: &ComponentSpec, by_image: User) -> User {
    match component.user {
        RunAs::Image if by_image.uid == 0 => User::numeric(NOBODY),
        RunAs::Image => by_image,
        RunAs::User { uid, gid } => User::numeric((uid, gid)),
        RunAs::Root => User::numeric((0, 0)),
    }
}

pub(super) fn of_component<'a>(
    containers: &'a [ContainerView],
    component: &ComponentSpec,
) -> Option<&'a ContainerView> {
    containers.iter().find(|container| container.labels.component.as_deref() == Some(component.name.as_str()))
}
