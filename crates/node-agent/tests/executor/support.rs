//! A control plane's key, an engine, and an executor between them.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use gpuaas_agent_protocol::link::{Accepted, Refused};
use gpuaas_agent_protocol::report::{InstanceReport, Phase, PullProgress};
use gpuaas_agent_protocol::spec::{
    Check, ComponentSpec, ImageGrant, Probe, RestartBudget, RunAs, Scratch, VolumeMount, WorkloadSpec,
};
use gpuaas_agent_protocol::task::{self, Order, SignedTask, Task, Trust, Verifier};
use gpuaas_api::own_instance::IdentityGranted;
use gpuaas_domain::ids::{InstanceId, KeyId, ServiceAccountId};
use gpuaas_faults::Faults;
use gpuaas_node_agent::clock::Uptime;
use gpuaas_node_agent::executor::{Executor, ExecutorOptions, Identities, Limits};
use gpuaas_node_agent::platform::CallError;
use gpuaas_node_agent::runtime::ContainerRuntime;
use gpuaas_node_agent::seams::{
    Answer, Failure, IdentityGate, ImageSource, InstanceDoor, PullTicket, WantedImage,
};
use ring::rand::{SecureRandom as _, SystemRandom};
use ring::signature::{Ed25519KeyPair, KeyPair as _};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinSet};
use uuid::Uuid;

pub(crate) const NOW: i64 = 1_800_000_000_000_000;
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);

pub(crate) fn random_id() -> Uuid {
    let mut bytes = [0; 16];
    SystemRandom::new().fill(&mut bytes).unwrap();
    uuid::Builder::from_random_bytes(bytes).into_uuid()
}

pub(crate) fn new_key() -> Ed25519KeyPair {
    let pkcs8 = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
    Ed25519KeyPair::from_pkcs8(pkcs8.as_ref()).unwrap()
}

/// Gives images out under a fixed name, without any bytes.
pub(crate) struct Images {
    /// Every image has this name, if set; otherwise the one of its reference.
    pub(crate) name: Option<String>,
    pub(crate) progress: watch::Sender<PullProgress>,
    pub(crate) verdict: Arc<Mutex<Option<Failure>>>,
    /// What every question whether an image may be used is answered with, if set.
    pub(crate) refusal: Mutex<Option<Failure>>,
    /// Instance, generation and repository of every such question.
    pub(crate) asked: Mutex<Vec<(Uuid, u64, String)>>,
}

impl Images {
    pub(crate) fn new(name: Option<String>) -> Self {
        let progress = watch::Sender::new(PullProgress { done_bytes: 0, total_bytes: None });
        Self { name, progress, verdict: Arc::default(), refusal: Mutex::default(), asked: Mutex::default() }
    }
}

impl ImageSource for Images {
    fn local_name(&self, grant: &ImageGrant) -> String {
        self.name.clone().unwrap_or_else(|| {
            format!("127.0.0.1:1/{}@{}", grant.reference.repository(), grant.reference.digest())
        })
    }

    fn admit<'a>(&'a self, wanted: &'a WantedImage<'a>) -> Answer<'a, Result<(), Failure>> {
        let repository = wanted.grant.reference.repository().to_owned();
        self.asked.lock().unwrap().push((wanted.instance, wanted.generation, repository));
        let refusal = self.refusal.lock().unwrap().clone();
        Box::pin(std::future::ready(refusal.map_or(Ok(()), Err)))
    }

    fn open<'a>(&'a self, wanted: &'a WantedImage<'a>) -> Answer<'a, Result<PullTicket, Failure>> {
        Box::pin(async move {
            Ok(PullTicket {
                image: self.local_name(wanted.grant),
                username: "u".to_owned(),
                password: "p".to_owned(),
                progress: self.progress.subscribe(),
                verdict: Arc::clone(&self.verdict),
            })
        })
    }
}

/// How a gate answers.
#[derive(Clone, Copy, Default)]
pub(crate) enum Mood {
    #[default]
    Willing,
    Away,
    /// No, with this status.
    Refuses(u16),
}

/// Grants every key and remembers it.
#[derive(Default)]
pub(crate) struct Gate {
    /// Instance, generation and public key of everything that was shown.
    pub(crate) shown: Mutex<Vec<(Uuid, u64, String)>>,
    pub(crate) mood: Mutex<Mood>,
}

impl IdentityGate for Gate {
    fn show_key<'a>(
        &'a self,
        instance: Uuid,
        generation: u64,
        public_key: &'a str,
    ) -> Answer<'a, Result<IdentityGranted, CallError>> {
        let refusal = match *self.mood.lock().unwrap() {
            Mood::Willing => None,
            Mood::Away => Some(CallError::Unreachable("nobody is there".to_owned())),
            Mood::Refuses(status) => {
                let (code, message) = ("no".to_owned(), "No.".to_owned());
                Some(CallError::Refused { status, code, message })
            }
        };
        if refusal.is_none() {
            self.shown.lock().unwrap().push((instance, generation, public_key.to_owned()));
        }
        let granted = IdentityGranted {
            app_instance_id: InstanceId::new(instance),
            service_account_id: ServiceAccountId::new(Uuid::from_u128(instance.as_u128() ^ 1)),
            key_id: KeyId::new(random_id()),
            audience: "the platform".to_owned(),
        };
        Box::pin(std::future::ready(refusal.map_or(Ok(granted), Err)))
    }
}

/// Remembers which doors are open; with `listen` it answers on them, too.
#[derive(Default)]
pub(crate) struct Door {
    pub(crate) open: Mutex<BTreeSet<Uuid>>,
    pub(crate) listen: bool,
    pub(crate) serving: Mutex<(BTreeMap<Uuid, AbortHandle>, JoinSet<()>)>,
}

impl Door {
    async fn serve(&self, instance: Uuid, gateway: IpAddr) -> std::io::Result<()> {
        if self.serving.lock().unwrap().0.contains_key(&instance) {
            return Ok(());
        }
        let listener = TcpListener::bind((gateway, 7075)).await?;
        let mut serving = self.serving.lock().unwrap();
        let task = serving.1.spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let _ = stream
                    .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\ndoor")
                    .await;
                let _ = stream.shutdown().await;
            }
        });
        serving.0.insert(instance, task);
        Ok(())
    }
}

impl InstanceDoor for Door {
    fn open(&self, instance: Uuid, gateway: IpAddr, _: u8) -> Answer<'_, std::io::Result<String>> {
        Box::pin(async move {
            if self.listen {
                self.serve(instance, gateway).await?;
            }
            self.open.lock().unwrap().insert(instance);
            Ok(format!("http://{gateway}:7075"))
        })
    }

    fn close(&self, instance: Uuid) {
        self.open.lock().unwrap().remove(&instance);
        if let Some(task) = self.serving.lock().unwrap().0.remove(&instance) {
            task.abort();
        }
    }
}

/// One node and the control plane's side of it; executors come and go.
pub(crate) struct Node {
    pub(crate) id: Uuid,
    pub(crate) key: Arc<Ed25519KeyPair>,
    pub(crate) server: Ed25519KeyPair,
    pub(crate) server_key_id: Uuid,
    pub(crate) runtime: Arc<dyn ContainerRuntime>,
    pub(crate) images: Arc<Images>,
    pub(crate) door: Arc<Door>,
    pub(crate) folder: tempfile::TempDir,
    pub(crate) gate: Arc<Gate>,
    /// In memory, as the agent demands it.
    pub(crate) secrets: tempfile::TempDir,
    pub(crate) limits: Limits,
    nonce: AtomicU64,
}

impl Node {
    pub(crate) fn new(runtime: Arc<dyn ContainerRuntime>) -> Self {
        Self::with(random_id(), runtime, Images::new(None))
    }

    pub(crate) fn with(id: Uuid, runtime: Arc<dyn ContainerRuntime>, images: Images) -> Self {
        Self {
            id,
            key: Arc::new(new_key()),
            server: new_key(),
            server_key_id: random_id(),
            runtime,
            images: Arc::new(images),
            door: Arc::default(),
            folder: tempfile::tempdir().unwrap(),
            gate: Arc::default(),
            secrets: tempfile::tempdir_in("/dev/shm").expect("the machine has /dev/shm"),
            limits: Limits {
                restart_backoff: (Duration::from_millis(2), Duration::from_millis(20)),
                retry_backoff: (Duration::from_millis(2), Duration::from_millis(50)),
                ..Limits::default()
            },
            nonce: AtomicU64::new(1),
        }
    }

    pub(crate) fn state(&self) -> std::path::PathBuf {
        self.folder.path().join("state")
    }

    pub(crate) fn scratch(&self) -> std::path::PathBuf {
        self.folder.path().join("scratch")
    }

    pub(crate) fn volumes(&self) -> std::path::PathBuf {
        self.folder.path().join("volumes")
    }

    pub(crate) fn options(&self, state: &Path, faults: Faults) -> ExecutorOptions {
        ExecutorOptions {
            node_id: self.id,
            node_key: Arc::clone(&self.key),
            runtime: Arc::clone(&self.runtime),
            images: Arc::clone(&self.images) as Arc<dyn ImageSource>,
            door: Arc::clone(&self.door) as Arc<dyn InstanceDoor>,
            state: state.to_path_buf(),
            scratch: self.scratch(),
            volumes: self.volumes(),
            identities: Some(Identities {
                root: self.secrets.path().to_path_buf(),
                gate: Arc::clone(&self.gate) as Arc<dyn IdentityGate>,
            }),
            limits: self.limits.clone(),
            faults,
            clock: Arc::new(Uptime::default()),
        }
    }

    pub(crate) fn trust(&self) -> Trust {
        let verifier = Verifier {
            key_id: self.server_key_id,
            public_key: BASE64.encode(self.server.public_key().as_ref()),
            accepted_until: None,
        };
        Trust { era: 1, server_time: NOW, verifiers: vec![verifier] }
    }

    pub(crate) async fn start(&self, faults: Faults) -> Executor {
        let executor = Executor::start(self.options(&self.state(), faults)).await.unwrap();
        executor.set_trust(self.trust()).await;
        executor
    }

    pub(crate) fn task(&self, instance: Uuid, generation: u64, order: Order) -> Task {
        Task {
            protocol: gpuaas_agent_protocol::PROTOCOL,
            task_id: random_id(),
            node_id: self.id,
            instance_id: instance,
            generation,
            epoch: 1,
            era: 1,
            nonce: Uuid::from_u128(u128::from(self.nonce.fetch_add(1, Ordering::Relaxed)) << 64),
            issued_at: NOW - 1_000_000,
            expires_at: NOW + 3_600_000_000,
            correlation_id: Uuid::from_u128(7),
            order_digest: order.digest(),
            order,
        }
    }

    pub(crate) fn sign(&self, task: &Task) -> SignedTask {
        task::sign(task, self.server_key_id, &self.server)
    }

    pub(crate) async fn order(
        &self,
        executor: &Executor,
        instance: Uuid,
        generation: u64,
        order: Order,
    ) -> Result<Accepted, Refused> {
        executor.accept(&self.sign(&self.task(instance, generation, order))).await
    }

    /// Gives an order and waits for what comes of it.
    pub(crate) async fn reach(
        &self,
        executor: &Executor,
        instance: Uuid,
        generation: u64,
        order: Order,
        phase: Phase,
    ) -> InstanceReport {
        self.order(executor, instance, generation, order).await.expect("a proper order is accepted");
        wait_phase(executor, instance, generation, phase).await
    }
}

/// Waits for a report that says so.
pub(crate) async fn wait_for(
    executor: &Executor,
    instance: Uuid,
    what: &str,
    holds: impl Fn(&InstanceReport) -> bool,
) -> InstanceReport {
    let mut changes = executor.changes();
    let mut last = None;
    let waiting = async {
        loop {
            for report in changes.next().await.expect("the executor lives") {
                if report.instance_id == instance {
                    if holds(&report) {
                        return report;
                    }
                    last = Some(report);
                }
            }
        }
    };
    let found = tokio::time::timeout(PATIENCE, waiting).await.ok();
    found.unwrap_or_else(|| panic!("waited in vain for {what}; the last report is {last:#?}"))
}

pub(crate) async fn wait_phase(
    executor: &Executor,
    instance: Uuid,
    generation: u64,
    phase: Phase,
) -> InstanceReport {
    wait_for(executor, instance, &format!("{phase:?} of generation {generation}"), |report| {
        report.generation == generation && report.phase == phase
    })
    .await
}

pub(crate) fn image(repository: &str) -> ImageGrant {
    let reference = format!("registry.example.com/{repository}@sha256:{}", "ab".repeat(32));
    ImageGrant { reference: reference.parse().unwrap() }
}

pub(crate) fn component(name: &str) -> ComponentSpec {
    ComponentSpec {
        name: name.to_owned(),
        image: image(name),
        command: vec![],
        env: vec![],
        user: RunAs::Image,
        cpu_millis: 500,
        memory_mib: 64,
        pids: 64,
        read_only_root: true,
        tmpfs: vec![],
        scratch: vec![Scratch { name: format!("{name}-data"), path: "/data".to_owned() }],
        volumes: vec![],
        gpus: vec![],
        ports: vec![],
        readiness: None,
        liveness: None,
        egress: gpuaas_agent_protocol::spec::Egress::Platform,
    }
}

pub(crate) fn exec_probe(command: &[&str]) -> Probe {
    let command = command.iter().map(|part| (*part).to_owned()).collect();
    Probe { check: Check::Exec { command }, interval_ms: 50, timeout_ms: 5_000, failures: 2 }
}

pub(crate) fn workload(components: Vec<ComponentSpec>) -> WorkloadSpec {
    WorkloadSpec {
        components,
        readiness_deadline_seconds: 60,
        stop_grace_seconds: 1,
        restart: RestartBudget { max_restarts: 3, window_seconds: 600 },
    }
}

pub(crate) fn launch(components: Vec<ComponentSpec>) -> Order {
    Order::Launch { spec: workload(components) }
}

/// A volume at a path, for reading and writing.
pub(crate) fn at(path: &str, id: Uuid) -> VolumeMount {
    VolumeMount { id, path: path.to_owned(), read_only: false }
}

pub(crate) fn remove_volume(volume_id: Uuid) -> Order {
    Order::RemoveVolume { volume_id }
}

pub(crate) fn stop() -> Order {
    Order::Stop { grace_seconds: 1 }
}

pub(crate) fn remove() -> Order {
    Order::Remove { grace_seconds: 1 }
}
