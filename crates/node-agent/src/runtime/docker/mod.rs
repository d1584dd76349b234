//! Docker Engine over its socket. Containers get nothing but what [`body`] writes: no published port, no capability, no
//! host namespace, restart policy `no`.

mod body;
mod fault;
mod look;
mod user;
mod view;

use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;
use std::sync::Mutex;
use std::time::Duration;

use bollard::Docker;
use bollard::auth::DockerCredentials;
use bollard::errors::Error;
use bollard::exec::{CreateExecOptions, StartExecResults};
use bollard::query_parameters as query;
use futures_util::StreamExt as _;
use gpuaas_agent_protocol::FailureReason;
use gpuaas_agent_protocol::link::{ComponentStats, LogQuery};
use tokio::sync::OnceCell;
use uuid::Uuid;

use super::guard::{self, Guard};
use super::labels;
use super::subnet::Subnet;
use super::{
    ContainerPlan, ContainerRuntime, ContainerView, Found, Guarding, LogStream, NetworkMade, NetworkPlan,
    Reply, User,
};
use crate::seams::{Failure, PullTicket};

/// An engine that says nothing for so long is not there. Stops wait for the grace on top.
const ENGINE_TIMEOUT: Duration = Duration::from_mins(2);
const LONGEST_GRACE: u64 = 600;

/// What the Docker runtime has to be told.
#[derive(Clone, Debug)]
pub struct DockerOptions {
    pub node_id: Uuid,
    pub socket: String,
    /// Which device file is which AMD GPU, by its vendor's id.
    pub render_nodes: BTreeMap<String, String>,
    /// Where the networks of instances come from.
    pub range: String,
    /// The port of the instance API, the only one of the node that workloads reach.
    pub instance_api_port: u16,
    /// What sets the packet filter, without which nothing starts; none: it is not wanted.
    pub packet_filter: Option<String>,
}

impl DockerOptions {
    pub fn new(node_id: Uuid) -> Self {
        Self {
            node_id,
            socket: "/var/run/docker.sock".to_owned(),
            render_nodes: BTreeMap::new(),
            range: crate::config::Network::default().range,
            instance_api_port: crate::instance_api::PORT,
            packet_filter: Some(guard::PROGRAM.to_owned()),
        }
    }
}

/// Speaks to the engine when it is first needed: the agent starts and says so even where the engine is away.
pub struct DockerRuntime {
    docker: OnceCell<Docker>,
    options: DockerOptions,
    guard: Mutex<Guarding>,
    looking: tokio::sync::Mutex<()>,
}

impl DockerRuntime {
    pub fn new(options: DockerOptions) -> Self {
        let missing = "The packet filter has not been set yet: the container engine has not answered.";
        let guard = match &options.packet_filter {
            Some(_) => Guarding::Missing(missing.to_owned()),
            None => Guarding::Off,
        };
        Self {
            docker: OnceCell::new(),
            options,
            guard: Mutex::new(guard),
            looking: tokio::sync::Mutex::default(),
        }
    }

    /// Puts the packet filter in place, again if somebody took it away. Called at the first contact with the engine,
    /// whose own rules ours hang on, and to be called now and then.
    pub async fn ensure_guard(&self) {
        let Some(program) = &self.options.packet_filter else { return };
        let guard =
            match Guard::new(&self.options.range, self.options.instance_api_port, program).ensure().await {
                Ok(()) => Guarding::InPlace,
                Err(problem) => {
                    tracing::warn!("{problem}");
                    Guarding::Missing(problem)
                }
            };
        *self.guard.lock().expect("nothing panics while it is held") = guard;
    }

    /// No network without its guard: what is not kept in does not start.
    async fn demand_guard(&self) -> Result<(), Failure> {
        if matches!(self.guard(), Guarding::Missing(_)) {
            self.ensure_guard().await;
        }
        match self.guard() {
            Guarding::Missing(why) => Err(Failure::new(FailureReason::EngineUnavailable, why)),
            Guarding::InPlace | Guarding::Off => Ok(()),
        }
    }

    async fn docker(&self) -> Result<&Docker, Failure> {
        self.docker.get_or_try_init(|| self.connect()).await
    }

    async fn connect(&self) -> Result<Docker, Failure> {
        let timeout = ENGINE_TIMEOUT.as_secs() + LONGEST_GRACE;
        let docker = Docker::connect_with_unix(&self.options.socket, timeout, bollard::API_DEFAULT_VERSION)
            .map_err(|error| engine(&error))?;
        let docker = quick(docker.negotiate_version()).await?.map_err(|error| engine(&error))?;
        self.ensure_guard().await;
        // A look that was cut off with the agent.
        let options = query::RemoveContainerOptions { v: true, force: true, link: false };
        let _ = quick(docker.remove_container(&self.look_name(), Some(options))).await;
        Ok(docker)
    }

    async fn inspect(&self, id: &str) -> Result<Option<ContainerView>, Failure> {
        match quick(self.docker().await?.inspect_container(id, None)).await? {
            Ok(found) => Ok(view::container(found)),
            Err(error) if fault::status(&error) == Some(404) => Ok(None),
            Err(error) => Err(fault::failure(&error, FailureReason::Internal)),
        }
    }
}

/// The engine answers in time, or is not there.
async fn quick<T>(call: impl Future<Output = T>) -> Result<T, Failure> {
    tokio::time::timeout(ENGINE_TIMEOUT, call).await.map_err(|_| {
        Failure::new(FailureReason::EngineUnavailable, "The container engine did not answer in time.")
    })
}

fn engine(error: &Error) -> Failure {
    fault::failure(error, FailureReason::EngineUnavailable)
}

/// Gone already, or on its way: as good as done.
fn gone_is_fine(
    result: Result<(), Error>,
    accepted: &[u16],
    otherwise: FailureReason,
) -> Result<(), Failure> {
    match result {
        Err(error) if fault::status(&error).is_some_and(|status| accepted.contains(&status)) => Ok(()),
        Err(error) => Err(fault::failure(&error, otherwise)),
        Ok(()) => Ok(()),
    }
}

fn label_filter(node: Uuid, instance: Option<Uuid>) -> HashMap<String, Vec<String>> {
    let mut wanted = vec![format!("{}={node}", labels::NODE)];
    wanted.extend(instance.map(|instance| format!("{}={instance}", labels::INSTANCE)));
    HashMap::from([("label".to_owned(), wanted)])
}

impl ContainerRuntime for DockerRuntime {
    fn is_simulated(&self) -> bool {
        false
    }

    fn find_image_user<'a>(&'a self, image: &'a str) -> Reply<'a, Option<User>> {
        Box::pin(async move {
            let found = match quick(self.docker().await?.inspect_image(image)).await? {
                Ok(found) => found,
                Err(error) if fault::status(&error) == Some(404) => return Ok(None),
                Err(error) => return Err(fault::failure(&error, FailureReason::Internal)),
            };
            let named = found.config.and_then(|config| config.user).unwrap_or_default();
            Ok(Some(match user::parse(&named) {
                user::Named::Known(user) => user,
                user::Named::Look { user, group } => {
                    let (passwd, groups) = self.image_files(image).await?;
                    user::resolve(&user, group.as_deref(), &passwd, &groups)
                }
            }))
        })
    }

    fn pull<'a>(&'a self, ticket: &'a PullTicket) -> Reply<'a, ()> {
        Box::pin(async move {
            let options = query::CreateImageOptions {
                from_image: Some(ticket.image.clone()),
                ..query::CreateImageOptions::default()
            };
            let credentials = DockerCredentials {
                username: Some(ticket.username.clone()),
                password: Some(ticket.password.clone()),
                ..DockerCredentials::default()
            };
            let mut pull =
                Box::pin(self.docker().await?.create_image(Some(options), None, Some(credentials)));
            while let Some(step) = pull.next().await {
                step.map_err(|error| fault::failure(&error, FailureReason::ImagePullFailed))?;
            }
            Ok(())
        })
    }

    fn list_subnets(&self) -> Reply<'_, Vec<Subnet>> {
        Box::pin(async move {
            let networks =
                quick(self.docker().await?.list_networks(None)).await?.map_err(|error| engine(&error))?;
            let configs = networks.into_iter().filter_map(|network| network.ipam?.config).flatten();
            Ok(configs.filter_map(|config| config.subnet?.parse().ok()).collect())
        })
    }

    fn ensure_network<'a>(&'a self, plan: &'a NetworkPlan) -> Reply<'a, NetworkMade> {
        Box::pin(async move {
            // Names of networks are not unique for the engine, so look first; each instance has one actor.
            let found = self.list(plan.labels.node, Some(plan.labels.instance)).await?;
            if !found.networks.is_empty() {
                return Ok(NetworkMade::Made);
            }
            self.demand_guard().await?;
            match quick(self.docker().await?.create_network(body::network(plan))).await? {
                Ok(_) => Ok(NetworkMade::Made),
                Err(error) if fault::words(&error).contains("overlaps with other one") => {
                    Ok(NetworkMade::Overlaps)
                }
                // Somebody else's network on the same bridge name would be our own from another life: say so.
                Err(error) => Err(fault::failure(&error, FailureReason::ContainerCreateFailed)),
            }
        })
    }

    fn remove_network<'a>(&'a self, name: &'a str) -> Reply<'a, ()> {
        Box::pin(async move {
            let result = quick(self.docker().await?.remove_network(name)).await?;
            gone_is_fine(result, &[404], FailureReason::StopFailed)
        })
    }

    fn remove_volume<'a>(&'a self, name: &'a str) -> Reply<'a, ()> {
        Box::pin(async move {
            let result =
                quick(self.docker().await?.remove_volume(name, None::<query::RemoveVolumeOptions>)).await?;
            gone_is_fine(result, &[404], FailureReason::StopFailed)
        })
    }

    fn ensure_container<'a>(&'a self, plan: &'a ContainerPlan) -> Reply<'a, String> {
        Box::pin(async move {
            let name = plan.name();
            let body = body::container(plan, &self.options.render_nodes)?;
            let options = query::CreateContainerOptions {
                name: Some(name.clone()),
                ..query::CreateContainerOptions::default()
            };
            match quick(self.docker().await?.create_container(Some(options), body)).await? {
                Ok(made) => Ok(made.id),
                Err(error) if fault::status(&error) == Some(409) => match self.inspect(&name).await? {
                    Some(found) if found.labels == plan.labels => Ok(found.id),
                    _ => Err(fault::failure(&error, FailureReason::ContainerCreateFailed)),
                },
                Err(error) => Err(fault::failure(&error, FailureReason::ContainerCreateFailed)),
            }
        })
    }

    fn start<'a>(&'a self, id: &'a str) -> Reply<'a, ()> {
        Box::pin(async move {
            // 304: it runs already.
            let result = quick(self.docker().await?.start_container(id, None)).await?;
            gone_is_fine(result, &[304], FailureReason::ContainerStartFailed)
        })
    }

    fn stop<'a>(&'a self, id: &'a str, grace: Duration) -> Reply<'a, ()> {
        Box::pin(async move {
            let seconds = i32::try_from(grace.as_secs().min(LONGEST_GRACE)).unwrap_or(0);
            let options = query::StopContainerOptions { signal: None, t: Some(seconds) };
            let result = self.docker().await?.stop_container(id, Some(options)).await;
            gone_is_fine(result, &[304, 404], FailureReason::StopFailed)
        })
    }

    fn kill<'a>(&'a self, id: &'a str) -> Reply<'a, ()> {
        Box::pin(async move {
            // 409: it does not run.
            let options = query::KillContainerOptions { signal: "SIGKILL".to_owned() };
            let result = quick(self.docker().await?.kill_container(id, Some(options))).await?;
            gone_is_fine(result, &[404, 409], FailureReason::StopFailed)
        })
    }

    fn remove_container<'a>(&'a self, id: &'a str) -> Reply<'a, ()> {
        Box::pin(async move {
            // With its nameless volumes: an image may declare some.
            let options = query::RemoveContainerOptions { v: true, force: true, link: false };
            match quick(self.docker().await?.remove_container(id, Some(options))).await? {
                // Removal is under way, perhaps by ourselves before a restart.
                Err(error) if fault::words(&error).contains("already in progress") => Ok(()),
                result => gone_is_fine(result, &[404], FailureReason::StopFailed),
            }
        })
    }

    fn find_container<'a>(&'a self, id: &'a str) -> Reply<'a, Option<ContainerView>> {
        Box::pin(self.inspect(id))
    }

    fn list(&self, node: Uuid, instance: Option<Uuid>) -> Reply<'_, Found> {
        Box::pin(async move {
            let filters = Some(label_filter(node, instance));
            let options =
                query::ListContainersOptions { all: true, filters: filters.clone(), ..Default::default() };
            let summaries = quick(self.docker().await?.list_containers(Some(options)))
                .await?
                .map_err(|error| engine(&error))?;
            let mut found = Found::default();
            for id in summaries.into_iter().filter_map(|summary| summary.id) {
                // Gone between the list and the look.
                found.containers.extend(self.inspect(&id).await?);
            }
            let options = query::ListNetworksOptions { filters: filters.clone() };
            let networks = quick(self.docker().await?.list_networks(Some(options)))
                .await?
                .map_err(|error| engine(&error))?;
            found.networks = networks.into_iter().filter_map(view::network).collect();
            let options = query::ListVolumesOptions { filters };
            let volumes = quick(self.docker().await?.list_volumes(Some(options)))
                .await?
                .map_err(|error| engine(&error))?;
            found.volumes = volumes.volumes.into_iter().flatten().map(|volume| volume.name).collect();
            Ok(found)
        })
    }

    fn wait_exit<'a>(&'a self, id: &'a str) -> Reply<'a, ()> {
        Box::pin(async move {
            let options = query::WaitContainerOptions { condition: "not-running".to_owned() };
            match self.docker().await?.wait_container(id, Some(options)).next().await {
                None | Some(Ok(_) | Err(Error::DockerContainerWaitError { .. })) => Ok(()),
                Some(Err(error)) if fault::status(&error) == Some(404) => Ok(()),
                Some(Err(error)) => Err(engine(&error)),
            }
        })
    }

    fn exec<'a>(&'a self, id: &'a str, command: &'a [String]) -> Reply<'a, i64> {
        Box::pin(async move {
            let failed = |error: Error| fault::failure(&error, FailureReason::Internal);
            let options = CreateExecOptions {
                cmd: Some(command.to_vec()),
                attach_stdout: Some(true),
                attach_stderr: Some(true),
                ..CreateExecOptions::default()
            };
            let made = self.docker().await?.create_exec(id, options).await.map_err(failed)?;
            if let StartExecResults::Attached { mut output, .. } =
                self.docker().await?.start_exec(&made.id, None).await.map_err(failed)?
            {
                // Read to the end, keep nothing: a probe says yes or no.
                while let Some(part) = output.next().await {
                    part.map_err(failed)?;
                }
            }
            let ended = self.docker().await?.inspect_exec(&made.id).await.map_err(failed)?;
            Ok(ended.exit_code.unwrap_or(-1))
        })
    }

    fn logs<'a>(&'a self, container: &'a ContainerView, wanted: &'a LogQuery) -> Reply<'a, LogStream> {
        Box::pin(async move {
            let since = wanted.since.map_or(0, |since| i32::try_from(since / 1_000_000).unwrap_or(0));
            let options = query::LogsOptions {
                follow: wanted.follow,
                stdout: true,
                stderr: true,
                since,
                until: 0,
                timestamps: true,
                tail: wanted.tail.map_or_else(|| "all".to_owned(), |tail| tail.to_string()),
            };
            let component = container.labels.component.clone().unwrap_or_default();
            let from = wanted.since.unwrap_or(i64::MIN);
            let docker = self.docker().await?.clone();
            let stream = docker.logs(&container.id, Some(options)).flat_map(move |part| {
                let lines = match part {
                    Ok(output) => view::log_lines(&component, &output)
                        .into_iter()
                        .filter(|line| line.at >= from)
                        .map(Ok)
                        .collect(),
                    Err(error) => vec![Err(engine(&error))],
                };
                futures_util::stream::iter(lines)
            });
            Ok(Box::pin(stream) as LogStream)
        })
    }

    fn stats<'a>(&'a self, container: &'a ContainerView) -> Reply<'a, ComponentStats> {
        Box::pin(async move {
            let options = query::StatsOptions { stream: false, one_shot: false };
            let component = container.labels.component.clone().unwrap_or_default();
            let mut stats = Box::pin(self.docker().await?.stats(&container.id, Some(options)));
            match quick(stats.next()).await? {
                Some(Ok(found)) => Ok(view::stats(&component, &found)),
                Some(Err(error)) => Err(engine(&error)),
                None => Err(Failure::new(FailureReason::EngineUnavailable, "The engine gave no figures.")),
            }
        })
    }

    fn dial_address(&self, container: &ContainerView, port: u16) -> Option<SocketAddr> {
        container.address.map(|address| SocketAddr::new(address, port))
    }

    fn guard(&self) -> Guarding {
        self.guard.lock().expect("nothing panics while it is held").clone()
    }
}
