//! Wiring: from a configuration to an opened platform, and from that to running roles.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use gpuaas_control_plane::operations::{bootstrap, node_identity, nodes};
use gpuaas_control_plane::reconcilers::{TickStatus, dispatch, erasure, housekeeping, sequencer, upkeep};
use gpuaas_control_plane::{AgentDoor, Clock, ControlPlane, RegistryDoor, Settings, SystemClock};
use gpuaas_custody::{Entropy, LocalCustody, SecretStore, SystemEntropy};
use gpuaas_domain::ids::{AuditId, EventId, uuid_v7};
use gpuaas_domain::{Error, Result, chain};
use gpuaas_program::Spawner;
use gpuaas_store::{ConnectOptions, SchemaState, Stamp, Store};

use crate::agents::{self, Agents, Links, NodeGate, PlatformGate};
use crate::config::{Config, TlsMode};
use crate::gateway;
use crate::listener::{Listener, bind};
use crate::metrics::{LoopLabels, Metrics};
use crate::registry::RegistryRole;
use crate::tls::AgentTrust;
use crate::{http, tls};

/// A platform that is open but serves nobody yet.
pub struct Opened {
    pub plane: Arc<ControlPlane>,
    pub custody: Arc<LocalCustody>,
}

/// Connects and looks at the schema, changing nothing. What is made here is for the platform's own user alone.
pub async fn connect(config: &Config) -> Result<Store> {
    use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
    let unusable = |path: &std::path::Path, error: std::io::Error| {
        Error::invalid("data_dir_unusable", format!("{} cannot be made: {error}.", path.display()))
    };
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&config.data_dir)
        .map_err(|error| unusable(&config.data_dir, error))?;
    let url = config.database_url();
    if let Some(path) = url.expose().strip_prefix("sqlite:").map(std::path::Path::new)
        && !path.exists()
    {
        // SQLite gives its side files the mode of this one.
        let made = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
        made.map_err(|error| unusable(path, error))?;
    }
    Store::connect(&ConnectOptions { url: url.expose(), max_connections: config.database.max_connections })
        .await
}

/// A platform whose master key is gone must not get a new one: nothing it sealed would ever open again.
async fn check_master_key(config: &Config, store: &Store) -> Result<()> {
    let file = config.master_key_file();
    if file.exists() || store.read().await?.find_platform().await?.is_none() {
        return Ok(());
    }
    Err(Error::conflict(
        "master_key_missing",
        format!("This platform's master key {} is not there; bring it back from a backup.", file.display()),
    ))
}

/// Opens the platform as configured: database, schema, master key, the platform's own row, the token key.
pub async fn open(config: &Config) -> Result<Opened> {
    open_with(config, Arc::new(SystemClock), Arc::new(SystemEntropy::new())).await
}

/// The same with a given clock and entropy, for tests.
pub async fn open_with(config: &Config, clock: Arc<dyn Clock>, entropy: Arc<dyn Entropy>) -> Result<Opened> {
    let store = connect(config).await?;
    match store.schema_state().await? {
        SchemaState::Behind if !config.database.auto_migrate => {
            return Err(Error::conflict(
                "schema_behind",
                "The database schema is older than this program; run gpuaas-server db migrate.",
            ));
        }
        SchemaState::Behind | SchemaState::Newer | SchemaState::Current => store.migrate().await?,
    }
    check_master_key(config, &store).await?;
    let custody = Arc::new(LocalCustody::open_or_create(&config.master_key_file(), entropy.clone())?);
    let stamp = first_stamp(&*clock, &*entropy);
    let platform_id =
        bootstrap::ensure_platform(&store, new_uuid(&*clock, &*entropy), &custody.current_key(), stamp)
            .await?;
    let settings = Settings {
        service_account_token_ttl_seconds: config.auth.service_account_token_ttl_seconds,
        session_ttl_seconds: config.auth.session_ttl_seconds,
        login_link_ttl_seconds: config.auth.login_link_ttl_seconds,
        wrap_ttl_seconds: config.auth.wrap_ttl_seconds,
        launch: config.launch.settings(),
        registry: config.registry.settings().map_err(|fault| Error::fields(vec![fault]))?,
        gateway: config.gateway.settings(),
    };
    let plane = Arc::new(ControlPlane::new(store, custody.clone(), clock, entropy, settings, platform_id));
    bootstrap::ensure_token_key(&plane).await?;
    bootstrap::ensure_registry_key(&plane).await?;
    node_identity::ensure_task_key(&plane).await?;
    Ok(Opened { plane, custody })
}

fn new_uuid(clock: &dyn Clock, entropy: &dyn Entropy) -> uuid::Uuid {
    let mut random = [0; 10];
    entropy.fill(&mut random);
    uuid_v7(clock.now(), &random)
}

/// A stamp for what happens before there is a control plane.
pub fn first_stamp(clock: &dyn Clock, entropy: &dyn Entropy) -> Stamp {
    let story = chain::hex(&entropy.bytes16());
    Stamp {
        at: clock.now(),
        correlation_id: story.clone(),
        trace_id: story,
        audit_id: AuditId::new(new_uuid(clock, entropy)),
        event_id: EventId::new(new_uuid(clock, entropy)),
    }
}

/// A serving platform.
pub struct Running {
    pub plane: Arc<ControlPlane>,
    pub address: SocketAddr,
    pub public_url: String,
    pub agents: Agents,
    /// Absent where another registry is used.
    pub registry: Option<Arc<RegistryRole>>,
    /// Absent where the platform has no name that apps could have theirs below.
    pub gateway: Option<Arc<gpuaas_gateway::Gateway>>,
    pub tasks: Spawner,
    pub metrics: Arc<Metrics>,
}

/// Starts all roles: the API behind its listener, and the worker's loops.
pub async fn start(config: &Config, opened: Opened) -> Result<Running> {
    opened.plane.break_at(crate::config::faults());
    let gate = Arc::new(PlatformGate::new(opened.plane.clone()));
    let tasks = Spawner::default();
    let registry = registry_role(config, &opened.plane, &tasks);
    // First of all: a second process on this folder must end here, before it speaks for the nodes of the first.
    if let Some(registry) = &registry {
        registry.open().await?;
    }
    let running = start_listeners(config, opened, gate, registry, tasks).await?;
    start_loops(&running.plane, &running.metrics, &running.tasks);
    start_presence(&running);
    if let Some(gateway) = &running.gateway {
        gateway::start_loops(gateway, &running.plane, &running.tasks);
    }
    Ok(running)
}

/// The API alone; tests turn the loops by hand.
pub async fn start_api(config: &Config, opened: Opened) -> Result<Running> {
    let gate = Arc::new(PlatformGate::new(opened.plane.clone()));
    start_api_with_gate(config, opened, gate).await
}

/// The same with another idea of who is a node, for tests.
pub async fn start_api_with_gate(
    config: &Config,
    opened: Opened,
    gate: Arc<dyn NodeGate>,
) -> Result<Running> {
    let tasks = Spawner::default();
    let registry = registry_role(config, &opened.plane, &tasks);
    start_listeners(config, opened, gate, registry, tasks).await
}

async fn start_listeners(
    config: &Config,
    opened: Opened,
    gate: Arc<dyn NodeGate>,
    registry: Option<Arc<RegistryRole>>,
    tasks: Spawner,
) -> Result<Running> {
    let metrics = Arc::new(Metrics::new());
    let tls = tls::server_config(config)?;
    let socket = bind(config.http.listen).await?;
    let address = socket.local_addr().map_err(|error| Error::internal(error.to_string()))?;
    let public_url = config.public_url(address);
    let plane = opened.plane;
    let state = http::state(plane.clone(), config, public_url.clone(), metrics.clone(), tasks.clone());
    let links = Arc::new(Links::new(plane.clock.clone()));
    nodes::forget_presence(&plane).await?;
    if let Some(role) = &registry {
        let _ = state.registry.set(role.clone());
    }
    let agents = agents::start(config, state.clone(), gate, links.clone(), metrics.clone(), &tasks).await?;
    plane.plug_registry(registry_door(config, &plane, address, &public_url, &agents));
    let AgentTrust { ca_pem, pin } = agents.trust.clone();
    plane.plug_links(links, AgentDoor { url: agents.public_url.clone(), ca_pem, pin });
    if let Some(gateway) = gateway::role(config, &plane, &public_url, &tasks) {
        let _ = state.gateway.set(gateway);
    } else {
        tracing::warn!("apps cannot be opened in the browser: set gateway.apps_domain or domain");
    }
    let gateway = state.gateway.get().cloned();
    let app = http::app(state);
    let listener = Listener { socket, tls, settings: config.http.clone(), metrics: metrics.clone() };
    tasks.spawn(listener.serve(app, gateway.clone(), tasks.clone()));
    Ok(Running { plane, address, public_url, agents, registry, gateway, tasks, metrics })
}

/// The built-in registry, unless another one is used.
fn registry_role(config: &Config, plane: &Arc<ControlPlane>, tasks: &Spawner) -> Option<Arc<RegistryRole>> {
    plane
        .settings
        .registry
        .external_url
        .is_none()
        .then(|| RegistryRole::new(plane.clone(), config.registry_dir(), tasks.clone()))
}

/// What the registry is called and where it is, now that the listeners have their ports.
fn registry_door(
    config: &Config,
    plane: &ControlPlane,
    address: SocketAddr,
    public_url: &str,
    agents: &Agents,
) -> RegistryDoor {
    let settings = &plane.settings.registry;
    let mut names = settings.names.clone();
    names.host = config.registry_host(address.port());
    let own_name = public_url.split_once("://").map_or(public_url, |(_, authority)| authority).to_owned();
    if names.host.is_empty() {
        names.host.clone_from(&own_name);
    } else if settings.external_url.is_none() && names.host != own_name {
        names.also.push(own_name);
    }
    // The platform asks its own registry over loopback where that is plain, else at the nodes' listener, whose CA it is.
    let (own_url, own_ca_pem) = match &settings.external_url {
        Some(url) => (url.clone(), None),
        None if config.tls.mode == TlsMode::Off => (format!("http://{address}"), None),
        None => (agents.public_url.clone(), Some(agents.trust.ca_pem.clone())),
    };
    RegistryDoor {
        names,
        public_url: settings.external_url.clone().unwrap_or_else(|| public_url.to_owned()),
        token_url: format!("{public_url}{}", gpuaas_api::Route::RegistryTokenGet.row().path),
        own_url,
        own_ca_pem,
    }
}

fn start_loops(plane: &Arc<ControlPlane>, metrics: &Arc<Metrics>, tasks: &Spawner) {
    // The owner's name must differ between processes, or two would share a lease.
    let owner = format!("worker-{}", chain::hex(&plane.entropy.bytes16()));
    let (p, o, stop) = (plane.clone(), owner.clone(), tasks.clone());
    tasks.spawn(async move {
        stop.stopped().await;
        for released in [sequencer::release(&p, &o).await, dispatch::release(&p, &o).await] {
            if let Err(error) = released {
                tracing::warn!("a lease could not be given back: {error}");
            }
        }
    });
    let (p, o) = (plane.clone(), owner.clone());
    run_loop("sequencer", Duration::from_secs(1), true, plane, metrics, tasks, move || {
        let (plane, owner) = (p.clone(), o.clone());
        async move { sequencer::tick(&plane, &owner).await }
    });
    start_dispatch(plane, &owner, metrics, tasks);
    let p = plane.clone();
    run_loop("upkeep", Duration::from_secs(1), false, plane, metrics, tasks, move || {
        let plane = p.clone();
        async move { upkeep::tick(&plane).await }
    });
    let (p, o) = (plane.clone(), owner);
    run_loop("erasure", Duration::from_secs(1), false, plane, metrics, tasks, move || {
        let (plane, owner) = (p.clone(), o.clone());
        async move { erasure::tick(&plane, &owner).await }
    });
    let p = plane.clone();
    run_loop("housekeeping", Duration::from_mins(1), false, plane, metrics, tasks, move || {
        let plane = p.clone();
        async move { housekeeping::tick(&plane).await }
    });
    if plane.store.dialect() == gpuaas_store::Dialect::Postgres {
        let (store, stop) = (plane.store.clone(), tasks.clone());
        tasks.spawn(async move {
            tokio::select! {
                () = store.relay_wakeups() => {}
                () = stop.stopped() => {}
            }
        });
    }
}

/// The dispatcher has a wake-up of its own, so that an order goes out at once.
fn start_dispatch(plane: &Arc<ControlPlane>, owner: &str, metrics: &Arc<Metrics>, tasks: &Spawner) {
    let (plane, owner, metrics, stop) = (plane.clone(), owner.to_owned(), metrics.clone(), tasks.clone());
    tasks.spawn(async move {
        let labels = LoopLabels { name: "dispatch" };
        let mut dispatcher = dispatch::Dispatcher::default();
        while !stop.is_stopping() {
            metrics.loop_turns.get_or_create(&labels).inc();
            match dispatcher.tick(&plane, &owner).await {
                Ok(status) => {
                    metrics.loop_changes.get_or_create(&labels).inc_by(status.changed as u64);
                    metrics.loop_errors.get_or_create(&labels).inc_by(status.errors as u64);
                    if status.changed > 0 {
                        continue;
                    }
                }
                Err(error) => {
                    metrics.loop_errors.get_or_create(&labels).inc();
                    tracing::warn!(worker = "dispatch", "a turn of dispatch failed and is tried again: {error}");
                }
            }
            tokio::select! { () = plane.store.wait_orders(Duration::from_secs(1)) => {}, () = stop.stopped() => {} }
        }
    });
}

/// Writes in batches when nodes were last heard of; the link itself says whether they are there.
fn start_presence(running: &Running) {
    let (plane, links, stop) = (running.plane.clone(), running.agents.links.clone(), running.tasks.clone());
    running.tasks.spawn(async move {
        loop {
            tokio::select! { () = tokio::time::sleep(Duration::from_secs(30)) => {}, () = stop.stopped() => return }
            if let Err(error) = nodes::note_seen(&plane, &links.connected()).await {
                tracing::warn!("when nodes were last heard of could not be written: {error}");
            }
        }
    });
}

/// Turns a loop every `period`, or as soon as something is committed, until the server stops.
fn run_loop<F, W>(
    name: &'static str,
    period: Duration,
    on_commit: bool,
    plane: &Arc<ControlPlane>,
    metrics: &Arc<Metrics>,
    tasks: &Spawner,
    turn: F,
) where
    F: Fn() -> W + Send + 'static,
    W: Future<Output = Result<TickStatus>> + Send,
{
    let (mut commits, metrics, stop) = (plane.store.commits(), metrics.clone(), tasks.clone());
    tasks.spawn(async move {
        let labels = LoopLabels { name };
        while !stop.is_stopping() {
            metrics.loop_turns.get_or_create(&labels).inc();
            match turn().await {
                Ok(status) => {
                    metrics.loop_changes.get_or_create(&labels).inc_by(status.changed as u64);
                    metrics.loop_errors.get_or_create(&labels).inc_by(status.errors as u64);
                }
                Err(error) => {
                    metrics.loop_errors.get_or_create(&labels).inc();
                    tracing::warn!(worker = name, "a turn of {name} failed and is tried again: {error}");
                    tokio::select! { () = tokio::time::sleep(Duration::from_secs(1)) => {}, () = stop.stopped() => {} }
                }
            }
            let wait = async {
                if on_commit { commits.wait(period).await } else { tokio::time::sleep(period).await }
            };
            tokio::select! { () = wait => {}, () = stop.stopped() => {} }
        }
    });
}
