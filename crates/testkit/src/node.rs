//! A node in a test: the real executor, journal and links over a simulated engine, which outlives the agent as Docker
//! would.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use gpuaas_agent_protocol::inventory::{Gpu, NodeInventory, Runtime, Vendor};
use gpuaas_api::Route;
use gpuaas_faults::Faults;
use gpuaas_node_agent::agent::{self, Parts, Rhythm};
use gpuaas_node_agent::clock::Uptime;
use gpuaas_node_agent::config::Config;
use gpuaas_node_agent::executor::{Executor, ExecutorOptions, Limits};
use gpuaas_node_agent::identity::{Identity, NodeKey, StateFolder};
use gpuaas_node_agent::instance_api::Doors;
use gpuaas_node_agent::join::{JoinToken, join};
use gpuaas_node_agent::platform::Platform;
use gpuaas_node_agent::runtime::simulated::SimulatedRuntime;
use gpuaas_node_agent::seams::Workloads;
use gpuaas_node_agent::wiring::NoImages;
use gpuaas_program::Spawner;
use serde_json::json;

use crate::{Caller, KeyPair, MovableClock, TestPlatform};

/// A node that simulates its engine and nothing else.
pub struct SimulatedNode {
    pub id: String,
    pub name: String,
    pub runtime: SimulatedRuntime,
    folder: tempfile::TempDir,
    identity: Identity,
    key: Arc<NodeKey>,
    clock: Arc<MovableClock>,
    config: Config,
    running: Option<(Spawner, Arc<Executor>, agent::Running)>,
}

impl TestPlatform {
    /// A machine joins as a node with two simulated GPUs, and its agent runs and is connected.
    pub async fn node(&self, name: &str) -> SimulatedNode {
        self.node_with(name, Faults::none()).await
    }

    pub async fn node_with(&self, name: &str, faults: Faults) -> SimulatedNode {
        let mut node = self.join(name).await;
        node.start(faults).await;
        self.wait_ready(&node).await;
        node
    }

    pub async fn wait_ready(&self, node: &SimulatedNode) {
        self.until("the node is ready", async || {
            let answer = self.admin.call(Route::NodeGet, &[&node.id], None).await.expect(200);
            // What it said when it joined was without devices; the running agent tells of them.
            let devices = answer.body["gpus"].as_array().map_or(0, Vec::len);
            answer.body["ready"] == true && (devices > 0 || node.config.gpus.is_empty())
        })
        .await;
    }

    /// Joins without running.
    pub async fn join(&self, name: &str) -> SimulatedNode {
        SimulatedNode::join(&self.admin, name, self.clock.clone()).await
    }
}

impl SimulatedNode {
    /// Joins the platform that `admin` calls, without running.
    pub async fn join(admin: &Caller, name: &str, clock: Arc<MovableClock>) -> Self {
        let token = admin.call(Route::JoinTokenCreate, &[], Some(&json!({ "name": name }))).await.expect(201);
        let folder = tempfile::tempdir().expect("a folder");
        let state = StateFolder::at(folder.path().join("state"));
        let parsed = JoinToken::parse(token.body["token"].as_str().expect("a token")).expect("well-formed");
        let server = token.body["server"].as_str().expect("an address");
        let outcome = join(&state, server, &parsed, None, async |key| inventory(key)).await.expect("joins");
        let identity = match outcome {
            gpuaas_node_agent::join::Outcome::Joined(identity)
            | gpuaas_node_agent::join::Outcome::Already(identity) => identity,
        };
        let mut config = Config { state_dir: folder.path().join("state"), ..Config::default() };
        config.runtime = gpuaas_node_agent::config::RuntimeKind::Simulated;
        config.gpus = declared();
        Self {
            id: identity.node_id.to_string(),
            name: name.to_owned(),
            runtime: SimulatedRuntime::new(),
            key: Arc::new(state.get_key().expect("a key")),
            folder,
            identity,
            clock,
            config,
            running: None,
        }
    }
}

fn declared() -> Vec<gpuaas_node_agent::inventory::DeclaredGpus> {
    vec![gpuaas_node_agent::inventory::DeclaredGpus {
        vendor: Vendor::Nvidia,
        model: "Simulated 80GB".into(),
        memory_mib: 81_920,
        count: 2,
    }]
}

/// What the node says when it joins; the running agent says it again in full.
fn inventory(_: &[u8]) -> NodeInventory {
    NodeInventory {
        agent_version: "0.1.0".into(),
        protocol: gpuaas_agent_protocol::PROTOCOL,
        hostname: "simulated".into(),
        os: "simulated".into(),
        kernel: "0".into(),
        architecture: "amd64".into(),
        cpus: 16,
        memory_mib: 65_536,
        disk_total_mib: 1,
        disk_free_mib: 1,
        runtime: Runtime::Simulated,
        gpus: Vec::<Gpu>::new(),
        problems: Vec::new(),
        warnings: Vec::new(),
    }
}

impl SimulatedNode {
    /// Runs the agent, on what an earlier run left. Impatient, as tests are.
    pub async fn start(&mut self, faults: Faults) {
        let rhythm =
            Rhythm { retry: Duration::from_millis(100), report: Duration::from_secs(2), ..Rhythm::default() };
        self.start_with(faults, rhythm).await;
    }

    pub async fn start_with(&mut self, faults: Faults, rhythm: Rhythm) {
        assert!(self.running.is_none(), "one agent at a time");
        let spawner = Spawner::default();
        let doors = Doors::on_loopback(&spawner);
        let options = ExecutorOptions {
            node_id: self.identity.node_id.uuid(),
            node_key: self.key.pair().clone(),
            runtime: Arc::new(self.runtime.clone()),
            images: Arc::new(NoImages),
            door: doors.clone(),
            state: self.folder.path().join("state/journal"),
            scratch: self.folder.path().join("scratch"),
            volumes: self.volumes(),
            identities: None,
            limits: Limits {
                retry_backoff: (Duration::from_millis(20), Duration::from_millis(200)),
                restart_backoff: (Duration::from_millis(20), Duration::from_millis(200)),
                ..Limits::default()
            },
            faults,
            clock: Arc::new(Uptime::default()),
        };
        let executor = Arc::new(Executor::start(options).await.expect("the journal can be used"));
        let workloads: Arc<dyn Workloads> = executor.clone();
        doors.answer_with(&workloads);
        let platform =
            Platform::new(self.identity.clone(), self.key.clone(), self.clock.clone()).expect("a client");
        let links = agent::start(Parts {
            platform: Arc::new(platform),
            workloads,
            look: self.config.look(self.key.public()),
            runtime: tokio::sync::watch::channel(Runtime::Simulated).1,
            rhythm,
            spawner: spawner.clone(),
        });
        self.running = Some((spawner, executor, links));
    }

    /// Where the node keeps volumes, each in a folder named by its id.
    pub fn volumes(&self) -> std::path::PathBuf {
        self.folder.path().join("volumes")
    }

    /// Calls as the node itself does, with a token that it got by its key.
    pub async fn caller(&self, anonymous: &Caller) -> Caller {
        let platform =
            Platform::new(self.identity.clone(), self.key.clone(), self.clock.clone()).expect("a client");
        let token = platform.token().await.expect("a token");
        anonymous.clone().with_bearer(token.expose())
    }

    /// How often both links of this run have come up; none while one of them is down.
    pub fn connections(&self) -> Option<u64> {
        let (_, _, links) = self.running.as_ref()?;
        let (control, data) = (links.control.borrow(), links.data.borrow());
        (control.connected && data.connected).then(|| control.times.min(data.times))
    }

    /// Ends the agent where it stands; what runs goes on.
    pub async fn kill(&mut self) {
        if let Some((spawner, executor, _)) = self.running.take() {
            spawner.stop(Duration::ZERO).await;
            executor.shutdown().await;
        }
    }

    /// The executor of the running agent.
    pub fn executor(&self) -> &Executor {
        &self.running.as_ref().expect("the agent runs").1
    }

    /// Shows a key for a launch, as the agent of a real engine does. Gives the instance's account and the key.
    pub async fn show_key(&self, p: &TestPlatform, instance: &str, generation: i64) -> (String, KeyPair) {
        let mut pair = KeyPair::generate();
        let body = json!({"generation": generation, "public_key": pair.public_key()});
        let answer = self
            .caller(&p.anonymous())
            .await
            .call(Route::InstanceIdentityRegister, &[instance], Some(&body))
            .await;
        let answer = answer.expect(200);
        answer.body["key_id"].as_str().expect("a key id").clone_into(&mut pair.key_id);
        (answer.body["service_account_id"].as_str().expect("an account").to_owned(), pair)
    }

    /// Where a simulated app answers, for tunnels.
    pub fn serve(&self, component: &str, port: u16, at: SocketAddr) {
        self.runtime.serve(component, port, at);
    }
}
