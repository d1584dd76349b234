//! What goes wrong around a node, with real programs: its engine goes away, its disk is full, its wire is cut, its trust
//! ends, and a whole fleet comes back at once.

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use futures_util::{SinkExt as _, StreamExt as _};
use gpuaas_api::Route;
use gpuaas_faults::SmallDisk;
use gpuaas_testkit::{Database, Fleet};
use serde_json::{Value, json};
use tokio::net::{UnixListener, UnixStream};
use tokio::task::JoinSet;
use tokio_tungstenite::tungstenite::{Message, client::IntoClientRequest as _};

use crate::stage::{Setup, Stage, full, wait};

/// The engine's socket under another name, so that it can go away for one agent alone.
struct EngineSocket {
    path: PathBuf,
    serving: JoinSet<()>,
}

impl EngineSocket {
    fn at(path: PathBuf) -> Self {
        Self { path, serving: JoinSet::new() }
    }

    fn open(&mut self) {
        let listener = UnixListener::bind(&self.path).expect("a socket");
        self.serving.spawn(async move {
            let mut calls = JoinSet::new();
            while let Ok((mut near, _)) = listener.accept().await {
                calls.spawn(async move {
                    let mut far = UnixStream::connect("/var/run/docker.sock").await.expect("Docker runs");
                    let _ = tokio::io::copy_bidirectional(&mut near, &mut far).await;
                });
            }
        });
    }

    async fn close(&mut self) {
        self.serving.shutdown().await;
        std::fs::remove_file(&self.path).expect("a socket");
    }
}

async fn instance_events(stage: &Stage, id: &str) -> Vec<Value> {
    let page = stage.admin.call(Route::InstanceEvents, &[&stage.project, id], None).await.expect(200);
    page.body["items"].as_array().cloned().unwrap_or_default()
}

/// D-04, H-22, O-08, O-10, *Bad input* (Docker down): the container runs on, the node says that it is unfit, new work is
/// refused by name, and what was ordered meanwhile is done when the engine is back.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_engine_that_goes_away_is_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let mut engine = EngineSocket::at(folder.path().join("engine.sock"));
    engine.open();
    let setup = Setup {
        agent: format!("[docker]\nsocket = {:?}\n", engine.path.display().to_string()),
        ..Setup::default()
    };
    let stage = Stage::with(Database::Sqlite, "docker", setup).await;
    let id = stage.create().await;
    stage.runs(&id).await;
    let process = stage.process();

    engine.close().await;
    let log = || stage.agent.log();
    wait(log, async || {
        let node = stage.admin.call(Route::NodeGet, &[&stage.node], None).await.expect(200).body;
        let said = node["reasons"]
            .as_array()
            .is_some_and(|all| all.iter().any(|o| o["code"] == "engine_unavailable"));
        (node["ready"] == false && said).then_some(())
    })
    .await;
    let wish =
        json!({"slug": "web", "target_allocation_id": stage.allocation, "resources": {"memory_mib": 64}});
    let refused = stage.admin.call(Route::InstanceCreate, &[&stage.project], Some(&wish)).await;
    refused.expect_error(409, "node_not_ready");
    stage.command(Route::InstanceStop, &id).await;
    wait(log, async || {
        let events = instance_events(&stage, &id).await;
        events
            .iter()
            .any(|e| e["event_type"] == "waiting" && e["payload"]["reason"] == "engine_unavailable")
            .then_some(())
    })
    .await;
    assert_eq!(stage.process(), process, "without its engine's ear the container runs on");

    engine.open();
    stage.reaches(&id, |body| body["status"] == "stopped").await;
    stage.command(Route::InstanceDecommission, &id).await;
    stage.reaches(&id, |body| !body["decommissioned_at"].is_null()).await;
    stage.nothing_left();
}

/// N08, *Bad input* (agent's disk full): a launch that cannot be written down fails by name, but what fills the disk can be
/// stopped; with room again both work, and the agent has lived through it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_of_the_agent_is_named_and_passes() {
    let folder = tempfile::tempdir().unwrap();
    let disk = SmallDisk::with_size(folder.path(), "4m");
    let setup = Setup { agent_folder: Some(disk.path().join("agent")), ..Setup::default() };
    let mut stage = Stage::with(Database::Sqlite, "simulated", setup).await;
    let old = stage.create().await;
    stage.runs(&old).await;

    disk.fill();
    let new = stage.create().await;
    let failed = wait(
        || stage.server.log(),
        async || {
            let body =
                stage.admin.call(Route::InstanceGet, &[&stage.project, &new], None).await.expect(200).body;
            (body["status"] == "failed").then_some(body)
        },
    )
    .await;
    assert_eq!(failed["failure_reason"], "disk_full", "{}", failed["failure_message"]);
    stage.command(Route::InstanceStop, &old).await;
    stage.reaches(&old, |body| body["status"] == "stopped").await;
    assert!(!stage.agent.has_died());

    disk.relieve();
    stage.command(Route::InstanceStart, &new).await;
    stage.runs(&new).await;
    for id in [old, new] {
        stage.command(Route::InstanceDecommission, &id).await;
        stage.reaches(&id, |body| !body["decommissioned_at"].is_null()).await;
    }
}

/// A network of its own for one agent, and a wire to it that can be cut.
struct Namespace {
    name: String,
    /// The address of this side.
    host: String,
}

fn run(program: &str, arguments: &[&str]) {
    let output = Command::new(program).args(arguments).output().expect("apt-get install iproute2 iptables");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{program} {arguments:?} (this test needs root: sudo -E ./test): {said}"
    );
}

impl Namespace {
    fn create() -> Self {
        let number = std::process::id() % 16_384 * 4;
        let (high, low) = (number / 256, number % 256);
        let net = Self {
            name: format!("gpuaas-{}", std::process::id()),
            host: format!("10.251.{high}.{}", low + 1),
        };
        let (here, there) = (Self::wire(), format!("{}-in", Self::wire()));
        run("ip", &["netns", "add", &net.name]);
        run("ip", &["link", "add", &here, "type", "veth", "peer", "name", &there]);
        run("ip", &["link", "set", &there, "netns", &net.name]);
        run("ip", &["addr", "add", &format!("{}/30", net.host), "dev", &here]);
        run("ip", &["link", "set", &here, "up"]);
        net.inside(&["ip", "addr", "add", &format!("10.251.{high}.{}/30", low + 2), "dev", &there]);
        net.inside(&["ip", "link", "set", &there, "up"]);
        net.inside(&["ip", "link", "set", "lo", "up"]);
        net
    }

    fn wire() -> String {
        format!("gt{}", std::process::id())
    }

    fn inside(&self, command: &[&str]) {
        run("ip", &[&["netns", "exec", &self.name], command].concat());
    }

    fn within(&self) -> Vec<String> {
        ["ip", "netns", "exec", &self.name].map(str::to_owned).to_vec()
    }

    /// Packets of these directions vanish; nobody is told.
    fn cut(&self, directions: &[&str]) {
        for direction in directions {
            self.inside(&["iptables", "-I", direction, "-j", "DROP"]);
        }
    }

    fn heal(&self) {
        self.inside(&["iptables", "-F"]);
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        let _ = Command::new("ip").args(["link", "del", &Self::wire()]).output();
        let _ = Command::new("ip").args(["netns", "del", &self.name]).output();
    }
}

/// N01, N03: a cut in either direction, or both, touches no workload; what was ordered meanwhile is done once it is whole.
/// Longer than the links live without a word with `--full`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_partition_only_delays() {
    let net = Namespace::create();
    let setup = Setup { within: net.within(), listen: Some(format!("{}:0", net.host)), ..Setup::default() };
    let stage = Stage::with(Database::Sqlite, "simulated", setup).await;
    let id = stage.create().await;
    stage.runs(&id).await;
    let lengths: &[u64] = if full() { &[2, 40] } else { &[2] };
    for length in lengths {
        for directions in [&["INPUT"][..], &["OUTPUT"], &["INPUT", "OUTPUT"]] {
            let pause = Duration::from_secs(*length);
            let before = stage.runs(&id).await["components"].clone();
            net.cut(directions);
            tokio::time::sleep(pause).await;
            net.heal();
            let whole = Instant::now();
            ready(&stage).await;
            assert_eq!(
                stage.runs(&id).await["components"],
                before,
                "{directions:?}: the workload is as it was"
            );

            net.cut(directions);
            stage.command(Route::InstanceStop, &id).await;
            tokio::time::sleep(pause).await;
            let body =
                stage.admin.call(Route::InstanceGet, &[&stage.project, &id], None).await.expect(200).body;
            assert_eq!(body["status"], "stopping", "{directions:?}: nobody makes up what the node did");
            net.heal();
            let healed = Instant::now();
            stage.reaches(&id, |body| body["status"] == "stopped").await;
            assert!(healed.elapsed() < Duration::from_secs(30), "{directions:?}: {:?}", whole.elapsed());
            stage.command(Route::InstanceStart, &id).await;
            stage.runs(&id).await;
        }
    }
    stage.command(Route::InstanceDecommission, &id).await;
    net.cut(&["INPUT", "OUTPUT"]);
    tokio::time::sleep(Duration::from_secs(1)).await;
    net.heal();
    stage.reaches(&id, |body| !body["decommissioned_at"].is_null()).await;
}

async fn ready(stage: &Stage) {
    wait(
        || stage.agent.log(),
        async || {
            let node = stage.admin.call(Route::NodeGet, &[&stage.node], None).await.expect(200).body;
            (node["ready"] == true).then_some(())
        },
    )
    .await;
}

/// *Bad input* (node revoked during a stream): the stream ends, none opens any more, and once the node is forgotten what
/// it had is written off. What runs on the machine is left to whoever has it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_revoked_node_loses_its_streams() {
    let stage = Stage::build(Database::Sqlite, "docker").await;
    let id = stage.create().await;
    stage.runs(&id).await;
    let open = async || {
        let path = Route::InstanceForward.path(&[&stage.project, &id]);
        let url = format!("{}{path}?port=8080", stage.admin.url().replace("http://", "ws://"));
        let mut request = url.into_client_request().unwrap();
        let bearer = stage.admin.header("authorization").unwrap().parse().unwrap();
        request.headers_mut().insert("authorization", bearer);
        tokio_tungstenite::connect_async(request).await
    };
    let (mut socket, _) = open().await.expect("the tunnel opens");
    // Half a request: the app waits for the rest, and so does the tunnel.
    socket.send(Message::Binary("GET / HTTP/1.1\r\n".into())).await.unwrap();
    let still = tokio::time::timeout(Duration::from_millis(500), socket.next()).await;
    assert!(still.is_err(), "the tunnel is open: {still:?}");

    let reason = json!({"reason": "stolen"});
    stage.admin.call(Route::NodeRevoke, &[&stage.node], Some(&reason)).await.expect(200);
    let ended = async {
        while let Some(Ok(message)) = socket.next().await {
            assert!(matches!(message, Message::Close(_)), "{message:?}");
        }
    };
    tokio::time::timeout(Duration::from_secs(10), ended)
        .await
        .expect("the stream ends with the node's trust");
    let refused = open().await.expect_err("nothing goes to a node without trust");
    assert!(refused.to_string().contains("409") || refused.to_string().contains("503"), "{refused}");
    let node = stage.admin.call(Route::NodeGet, &[&stage.node], None).await.expect(200).body;
    assert_eq!((&node["ready"], &node["agent_connected_at"]), (&json!(false), &Value::Null));

    stage.admin.call(Route::NodeForget, &[&stage.node], None).await.expect(204);
    let body = wait(
        || stage.server.log(),
        async || {
            let body =
                stage.admin.call(Route::InstanceGet, &[&stage.project, &id], None).await.expect(200).body;
            (body["status"] == "failed").then_some(body)
        },
    )
    .await;
    assert_eq!(body["failure_reason"], "node_forgotten");
}

/// S02: every agent is back after the server was killed, and an order that was accepted just before is carried out. A
/// hundred agents; a thousand with `--full`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fleet_comes_back_and_loses_nothing() {
    let setup = Setup { crowded: true, ..Setup::default() };
    let mut stage = Stage::with(Database::Sqlite, "simulated", setup).await;
    let fleet = Fleet::join(&stage.admin, if full() { 1000 } else { 100 }).await;
    fleet.all_connected(&stage.admin, 1).await.unwrap();
    for round in 2..4 {
        let id = stage.create().await;
        stage.server.kill();
        stage.server.serve();
        fleet.all_connected(&stage.admin, round).await.unwrap();
        stage.runs(&id).await;
        stage.command(Route::InstanceDecommission, &id).await;
        stage.reaches(&id, |body| !body["decommissioned_at"].is_null()).await;
    }
    fleet.end().await;
}
