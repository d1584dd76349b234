//! Where the parts of the agent meet: engine, images, doors and executor behind the edges that talk to the platform.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt as _;
use gpuaas_agent_protocol::inventory::Runtime;
use gpuaas_agent_protocol::link::{Accepted, InstanceStats, LogQuery, Refused};
use gpuaas_agent_protocol::report::{InstanceReport, NodeReport, PullProgress};
use gpuaas_agent_protocol::spec::ImageGrant;
use gpuaas_agent_protocol::task::{SignedTask, Trust};
use gpuaas_api::agent::{ImageAccess, ImageAccessRequest};
use gpuaas_api::own_instance::IdentityGranted;
use gpuaas_program::Spawner;
use tokio::sync::watch;
use uuid::Uuid;

use crate::clock::Uptime;
use crate::config::{Config, RuntimeKind};
use crate::executor::{Changes, Executor, ExecutorOptions, Identities, Limits};
use crate::identity::NodeKey;
use crate::instance_api::Doors;
use crate::late::Late;
use crate::platform::{CallError, Platform};
use crate::pull::PullEndpoint;
use crate::runtime::ContainerRuntime;
use crate::runtime::docker::{DockerOptions, DockerRuntime};
use crate::runtime::simulated::SimulatedRuntime;
use crate::seams::{
    Answer, ByteStream, ChangeFeed, Failure, IdentityGate, ImageGate, ImageSource, LogBytes, NoAnswer,
    PullTicket, Relay, RelayedCall, WantedImage, Workloads,
};
use crate::wall_clock::SystemClock;
use crate::{engine, inventory};

const LOOK_AT_ENGINE: Duration = Duration::from_secs(10);
const RETRY_ENGINE: Duration = Duration::from_secs(5);
const RENEW_GUARD: Duration = Duration::from_mins(1);

/// The engine as the inventory describes it.
pub async fn watch_engine(config: &Config, spawner: &Spawner) -> watch::Receiver<Runtime> {
    match config.runtime {
        RuntimeKind::Simulated => watch::channel(Runtime::Simulated).1,
        RuntimeKind::Docker => {
            let search_path = config.inventory.search_path.clone();
            engine::watch_docker(config.docker.socket.clone(), search_path, LOOK_AT_ENGINE, spawner).await
        }
    }
}

/// Opens images and doors, and starts the executor as soon as the engine answers. What is given back can be asked at
/// once; it ends with the spawner and leaves every container running.
pub async fn start_workloads(
    config: &Config,
    platform: &Arc<Platform>,
    key: &Arc<NodeKey>,
    spawner: &Spawner,
) -> std::io::Result<Arc<dyn Workloads>> {
    let identity = platform.identity();
    let (images, doors): (Arc<dyn ImageSource>, _) = match config.runtime {
        RuntimeKind::Docker => {
            let (settings, clock) = (config.pull_settings(identity), Arc::new(SystemClock));
            let endpoint = PullEndpoint::start(settings, platform.clone(), clock, spawner).await?;
            tracing::info!("images are pulled from {}", endpoint.address());
            (Arc::new(endpoint), Doors::on_port(config.network.instance_api_port, spawner))
        }
        RuntimeKind::Simulated => (Arc::new(NoImages), Doors::on_loopback(spawner)),
    };
    let late = Arc::new(Late::default());
    let workloads: Arc<dyn Workloads> = late.clone();
    doors.answer_with(&workloads);
    doors.relay_to(platform.clone());
    let parts = Starting {
        identities: identities(config, platform),
        config: config.clone(),
        node_id: identity.node_id.uuid(),
        key: key.clone(),
        images,
        doors,
        late,
        spawner: spawner.clone(),
    };
    let stopping = spawner.clone();
    spawner.spawn(async move {
        let executor = tokio::select! {
            executor = parts.start() => executor,
            () = stopping.stopped() => return,
        };
        stopping.stopped().await;
        executor.shutdown().await;
    });
    Ok(workloads)
}

struct Starting {
    identities: Option<Identities>,
    config: Config,
    node_id: Uuid,
    key: Arc<NodeKey>,
    images: Arc<dyn ImageSource>,
    doors: Arc<Doors>,
    late: Arc<Late>,
    spawner: Spawner,
}

impl Starting {
    /// Tries until the engine is there and the journal can be read.
    async fn start(self) -> Arc<Executor> {
        let mut told = None;
        loop {
            match self.try_start().await {
                Ok(executor) => {
                    let executor = Arc::new(executor);
                    self.late.fill(executor.clone()).await;
                    tracing::info!("orders are taken");
                    return executor;
                }
                Err(why) => {
                    // The same trouble is told once.
                    if told.as_ref() != Some(&why) {
                        tracing::warn!("orders are not taken yet: {why}");
                    }
                    told = Some(why);
                }
            }
            tokio::time::sleep(RETRY_ENGINE).await;
        }
    }

    async fn try_start(&self) -> Result<Executor, String> {
        let runtime: Arc<dyn ContainerRuntime> = match self.config.runtime {
            RuntimeKind::Simulated => Arc::new(SimulatedRuntime::new()),
            RuntimeKind::Docker => {
                let found = inventory::look(&self.config.look(self.key.public()), Runtime::Simulated).await;
                let options = DockerOptions {
                    node_id: self.node_id,
                    socket: self.config.docker.socket.display().to_string(),
                    render_nodes: inventory::render_nodes(&found.gpus),
                    range: self.config.network.range.clone(),
                    instance_api_port: self.config.network.instance_api_port,
                    packet_filter: self.config.network.packet_filter(),
                };
                let docker = Arc::new(DockerRuntime::new(options));
                // A reload of the host's own firewall takes our rules with it.
                let guarded = docker.clone();
                self.spawner.spawn_until_stop(async move {
                    loop {
                        tokio::time::sleep(RENEW_GUARD).await;
                        guarded.ensure_guard().await;
                    }
                });
                docker
            }
        };
        let options = ExecutorOptions {
            node_id: self.node_id,
            node_key: self.key.pair().clone(),
            runtime,
            images: self.images.clone(),
            door: self.doors.clone(),
            state: self.config.state_dir.join("journal"),
            scratch: self.config.scratch_dir(),
            volumes: self.config.volumes_dir(),
            identities: self.identities.clone(),
            limits: Limits {
                pool: self.config.pool(),
                pull_deadline: Duration::from_secs(self.config.pull.deadline_seconds.into()),
                ..Limits::default()
            },
            faults: crate::config::faults(),
            clock: Arc::new(Uptime::default()),
        };
        Executor::start(options).await.map_err(|error| format!("the journal cannot be used: {error}"))
    }
}

/// Identities are for what really runs. To give a file to the user of a container takes root; an agent without it runs
/// workloads that have none.
fn identities(config: &Config, platform: &Arc<Platform>) -> Option<Identities> {
    let is_root = rustix::process::geteuid().is_root();
    match config.runtime {
        RuntimeKind::Simulated => None,
        RuntimeKind::Docker if !is_root => {
            tracing::warn!("the agent is not root: instances get no identity of their own");
            None
        }
        RuntimeKind::Docker => Some(Identities { root: config.secrets_dir(), gate: platform.clone() }),
    }
}

impl IdentityGate for Platform {
    fn show_key<'a>(
        &'a self,
        instance: Uuid,
        generation: u64,
        public_key: &'a str,
    ) -> Answer<'a, Result<IdentityGranted, CallError>> {
        Box::pin(Platform::show_key(self, instance, generation, public_key))
    }
}

impl Relay for Platform {
    fn relay<'a>(&'a self, call: &'a RelayedCall) -> Answer<'a, Result<(u16, Bytes), CallError>> {
        Box::pin(Platform::relay(self, call))
    }
}

impl ImageGate for Platform {
    fn ask<'a>(&'a self, request: &'a ImageAccessRequest) -> Answer<'a, Result<ImageAccess, CallError>> {
        Box::pin(self.image_access(request))
    }
}

/// Images for an engine that pulls none: nothing of anybody's is run, so nobody is asked.
pub struct NoImages;

impl ImageSource for NoImages {
    fn local_name(&self, grant: &ImageGrant) -> String {
        grant.reference.to_string()
    }

    fn admit<'a>(&'a self, _: &'a WantedImage<'a>) -> Answer<'a, Result<(), Failure>> {
        Box::pin(std::future::ready(Ok(())))
    }

    fn open<'a>(&'a self, wanted: &'a WantedImage<'a>) -> Answer<'a, Result<PullTicket, Failure>> {
        let progress = watch::channel(PullProgress { done_bytes: 0, total_bytes: Some(0) }).1;
        let (username, password) = (String::new(), String::new());
        let image = self.local_name(wanted.grant);
        let ticket = PullTicket { image, username, password, progress, verdict: Arc::new(Mutex::new(None)) };
        Box::pin(std::future::ready(Ok(ticket)))
    }
}

impl ChangeFeed for Changes {
    fn next(&mut self) -> Answer<'_, Option<Vec<InstanceReport>>> {
        Box::pin(Changes::next(self))
    }
}

fn unavailable(failure: &Failure) -> NoAnswer {
    NoAnswer::Unavailable(failure.to_string())
}

impl Workloads for Executor {
    fn accept<'a>(&'a self, signed: &'a SignedTask) -> Answer<'a, Result<Accepted, Refused>> {
        Box::pin(Executor::accept(self, signed))
    }

    fn report_full(&self) -> Answer<'_, NodeReport> {
        Box::pin(async { Executor::report_full(self) })
    }

    fn changes(&self) -> Box<dyn ChangeFeed> {
        Box::new(Executor::changes(self))
    }

    fn run_id(&self) -> Uuid {
        Executor::run_id(self)
    }

    fn acknowledged<'a>(&'a self, report: &'a InstanceReport) -> Answer<'a, ()> {
        Box::pin(Executor::acknowledged(self, report.instance_id, report.generation, report.phase))
    }

    fn logs(&self, instance: Uuid, query: LogQuery) -> Answer<'_, Result<LogBytes, NoAnswer>> {
        Box::pin(async move {
            let found =
                Executor::logs(self, instance, query).await.map_err(|failure| unavailable(&failure))?;
            let lines = found.ok_or(NoAnswer::NotFound)?;
            let lines = lines.map(|line| {
                let mut text = serde_json::to_vec(&line.map_err(std::io::Error::other)?)?;
                text.push(b'\n');
                Ok(Bytes::from(text))
            });
            let lines: LogBytes = Box::pin(lines);
            Ok(lines)
        })
    }

    fn stats(&self, instance: Uuid) -> Answer<'_, Result<InstanceStats, NoAnswer>> {
        Box::pin(async move {
            let found = Executor::stats(self, instance).await.map_err(|failure| unavailable(&failure))?;
            found.ok_or(NoAnswer::NotFound)
        })
    }

    fn connect<'a>(
        &'a self,
        instance: Uuid,
        component: &'a str,
        port: u16,
    ) -> Answer<'a, Result<Box<dyn ByteStream>, NoAnswer>> {
        Box::pin(async move {
            match Executor::connect(self, instance, component, port).await {
                Ok(stream) => {
                    let stream: Box<dyn ByteStream> = Box::new(stream);
                    Ok(stream)
                }
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => Err(NoAnswer::NotFound),
                Err(error) => Err(NoAnswer::Unavailable(error.to_string())),
            }
        })
    }

    fn heartbeat(&self, instance: Uuid) -> bool {
        Executor::heartbeat(self, instance)
    }

    fn status(&self, instance: Uuid) -> Option<InstanceReport> {
        Executor::status(self, instance)
    }

    fn adopt_trust(&self, trust: Trust) -> Answer<'_, ()> {
        Box::pin(self.set_trust(trust))
    }

    fn warnings(&self) -> Vec<String> {
        Executor::warnings(self)
    }

    fn problems(&self) -> Vec<String> {
        Executor::problems(self)
    }
}
