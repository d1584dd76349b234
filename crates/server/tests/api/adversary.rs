//! Nodes, apps and callers that mean harm, or are merely broken: each is kept from the others.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures_util::{SinkExt as _, StreamExt as _};
use gpuaas_agent_protocol::inventory::{Gpu, NodeInventory, Runtime, Vendor};
use gpuaas_agent_protocol::link::{Accepted, InstanceStats, LogQuery, Refused};
use gpuaas_agent_protocol::report::{ComponentReport, Health, InstanceReport, NodeReport, Phase};
use gpuaas_agent_protocol::task::{Refusal, SignedTask, Task, Trust};
use gpuaas_api::Route;
use gpuaas_control_plane::reconcilers::dispatch::Dispatcher;
use gpuaas_faults::{Action, Faults};
use gpuaas_node_agent::agent::{self, Parts, Rhythm};
use gpuaas_node_agent::config::Config;
use gpuaas_node_agent::identity::StateFolder;
use gpuaas_node_agent::inventory::DeclaredGpus;
use gpuaas_node_agent::join::{JoinToken, Outcome, join};
use gpuaas_node_agent::platform::Platform;
use gpuaas_node_agent::seams::{Answer, ByteStream, ChangeFeed, LogBytes, NoAnswer, Workloads};
use gpuaas_program::Spawner;
use gpuaas_testkit::{Caller, Place, Ready, TestPlatform, both_databases};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio_tungstenite::tungstenite::{Message, client::IntoClientRequest as _};
use uuid::Uuid;

/// What a node does with an order.
#[derive(Clone)]
enum Manner {
    Hang,
    Refuse(Refusal, String),
    Accept,
}

/// A node's insides as an adversary writes them; the links and its identity are real.
struct Insides {
    manner: Mutex<Manner>,
    orders: Mutex<Vec<Task>>,
}

struct Quiet;

impl ChangeFeed for Quiet {
    fn next(&mut self) -> Answer<'_, Option<Vec<InstanceReport>>> {
        Box::pin(std::future::pending())
    }
}

impl Workloads for Insides {
    fn accept<'a>(&'a self, signed: &'a SignedTask) -> Answer<'a, Result<Accepted, Refused>> {
        Box::pin(async move {
            let task: Task = serde_json::from_str(&signed.payload).unwrap();
            let task_id = task.task_id;
            self.orders.lock().unwrap().push(task);
            let manner = self.manner.lock().unwrap().clone();
            match manner {
                Manner::Hang => std::future::pending().await,
                Manner::Refuse(refusal, message) => Err(Refused { refusal, message }),
                Manner::Accept => Ok(Accepted { task_id }),
            }
        })
    }

    fn report_full(&self) -> Answer<'_, NodeReport> {
        Box::pin(async { report(Vec::new()) })
    }

    fn changes(&self) -> Box<dyn ChangeFeed> {
        Box::new(Quiet)
    }

    fn run_id(&self) -> Uuid {
        Uuid::from_u128(1)
    }

    fn acknowledged<'a>(&'a self, _: &'a InstanceReport) -> Answer<'a, ()> {
        Box::pin(async {})
    }

    fn logs(&self, _: Uuid, _: LogQuery) -> Answer<'_, Result<LogBytes, NoAnswer>> {
        Box::pin(async { Err(NoAnswer::NotFound) })
    }

    fn stats(&self, _: Uuid) -> Answer<'_, Result<InstanceStats, NoAnswer>> {
        Box::pin(async { Err(NoAnswer::NotFound) })
    }

    fn connect<'a>(
        &'a self,
        _: Uuid,
        _: &'a str,
        _: u16,
    ) -> Answer<'a, Result<Box<dyn ByteStream>, NoAnswer>> {
        Box::pin(async { Err(NoAnswer::NotFound) })
    }

    fn heartbeat(&self, _: Uuid) -> bool {
        false
    }

    fn status(&self, _: Uuid) -> Option<InstanceReport> {
        None
    }

    fn adopt_trust(&self, _: Trust) -> Answer<'_, ()> {
        Box::pin(async {})
    }

    fn warnings(&self) -> Vec<String> {
        Vec::new()
    }

    fn problems(&self) -> Vec<String> {
        Vec::new()
    }
}

struct BadNode {
    id: String,
    insides: Arc<Insides>,
    platform: Arc<Platform>,
    spawner: Spawner,
    _folder: tempfile::TempDir,
}

impl BadNode {
    async fn join(p: &TestPlatform, manner: Manner) -> Self {
        let token =
            p.admin.call(Route::JoinTokenCreate, &[], Some(&json!({"name": "bad"}))).await.expect(201);
        let folder = tempfile::tempdir().unwrap();
        let state = StateFolder::at(folder.path().join("state"));
        let parsed = JoinToken::parse(token.body["token"].as_str().unwrap()).unwrap();
        let server = token.body["server"].as_str().unwrap();
        let joined = join(&state, server, &parsed, None, async |_| inventory()).await.unwrap();
        let (Outcome::Joined(identity) | Outcome::Already(identity)) = joined;
        let key = Arc::new(state.get_key().unwrap());
        let config = Config {
            state_dir: folder.path().join("state"),
            gpus: vec![DeclaredGpus {
                vendor: Vendor::Nvidia,
                model: "Simulated".into(),
                memory_mib: 81_920,
                count: 2,
            }],
            ..Config::default()
        };
        let platform = Arc::new(Platform::new(identity.clone(), key.clone(), p.clock.clone()).unwrap());
        let insides = Arc::new(Insides { manner: Mutex::new(manner), orders: Mutex::default() });
        let spawner = Spawner::default();
        agent::start(Parts {
            platform: platform.clone(),
            workloads: insides.clone(),
            look: config.look(key.public()),
            runtime: tokio::sync::watch::channel(Runtime::Simulated).1,
            rhythm: Rhythm {
                retry: Duration::from_millis(100),
                report: Duration::from_mins(10),
                ..Rhythm::default()
            },
            spawner: spawner.clone(),
        });
        let id = identity.node_id.to_string();
        p.until("the node is ready", async || {
            let seen = p.admin.call(Route::NodeGet, &[&id], None).await.expect(200).body;
            seen["ready"] == true && seen["gpus"].as_array().is_some_and(|gpus| !gpus.is_empty())
        })
        .await;
        Self { id, insides, platform, spawner, _folder: folder }
    }

    fn behave(&self, manner: Manner) {
        *self.insides.manner.lock().unwrap() = manner;
    }

    async fn says(&self, instances: Vec<InstanceReport>) {
        self.platform.report(&report(instances)).await.unwrap();
    }
}

impl Drop for BadNode {
    fn drop(&mut self) {
        let spawner = self.spawner.clone();
        self.spawner.spawn(async move {
            spawner.stop(Duration::ZERO).await;
        });
    }
}

fn inventory() -> NodeInventory {
    NodeInventory {
        agent_version: "0.1.0".into(),
        protocol: gpuaas_agent_protocol::PROTOCOL,
        hostname: "bad".into(),
        os: "x".into(),
        kernel: "0".into(),
        architecture: "amd64".into(),
        cpus: 16,
        memory_mib: 65_536,
        disk_total_mib: 1,
        disk_free_mib: 1,
        runtime: Runtime::Simulated,
        gpus: Vec::new(),
        problems: Vec::new(),
        warnings: Vec::new(),
    }
}

fn report(instances: Vec<InstanceReport>) -> NodeReport {
    NodeReport { run_id: Uuid::from_u128(1), full: false, instances }
}

fn seen(id: &str, phase: Phase) -> InstanceReport {
    InstanceReport {
        instance_id: id.parse().unwrap(),
        generation: 1,
        era: u64::MAX,
        phase,
        reason: None,
        detail: None,
        pull: None,
        components: Vec::new(),
        health: Health::Healthy,
        receipt: None,
        observed_at: 1,
    }
}

/// A launch that holds a GPU.
async fn launch_with_gpu(p: &TestPlatform, ready: &Ready) -> String {
    let mut wish = ready.wish();
    wish["resources"] = json!({"gpu_count": 1});
    p.admin.call(Route::InstanceCreate, &[&ready.home.project], Some(&wish)).await.expect(202).id()
}

async fn open_tunnel(
    p: &TestPlatform,
    who: &Caller,
    ready: &Ready,
    id: &str,
) -> tokio_tungstenite::WebSocketStream<tokio_tungstenite::MaybeTlsStream<tokio::net::TcpStream>> {
    let path = Route::InstanceForward.path(&[&ready.home.project, &id]);
    let url = format!("{}{path}?port=8080", p.running.public_url.replace("http://", "ws://"));
    let mut request = url.into_client_request().unwrap();
    request.headers_mut().insert("authorization", who.header("authorization").unwrap().parse().unwrap());
    tokio_tungstenite::connect_async(request).await.unwrap().0
}

both_databases! {
    /// I1, I5, H-22: the platform dies between a node's answer and the note of it, and the node is away past the deadline.
    /// What the node started is stopped when it is back, and its device is nobody else's before that.
    async fn an_answer_that_was_lost_leaves_no_orphan(p: TestPlatform) {
        let mut node = p.node("one").await;
        let ready = p.ready("hello").await;
        let id = launch_with_gpu(&p, &ready).await;
        p.plane().break_at(Faults::at("dispatch.note", Action::Error, 1));
        Dispatcher::default().tick(p.plane(), "elsewhere").await.unwrap();
        p.plane().break_at(Faults::none());
        while node.runtime.containers() == 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        node.kill().await;
        let node_id = node.id.parse().unwrap();
        while p.plane().links().is_connected(node_id) {
            tokio::task::yield_now().await;
        }
        p.clock.advance_seconds(700);
        p.settle().await;
        assert_eq!(ready.instance(&p.admin, &id).await["status"], "stopping", "the node may have it");
        assert_eq!(crate::count(&p, "SELECT COUNT(*) FROM gpu_holds WHERE instance_id IS NOT NULL AND released_at IS NULL").await, 1);
        node.start(Faults::none()).await;
        ready.reaches(&p, &id, "stopped").await;
        assert_eq!(node.runtime.containers(), 0);
        assert_eq!(ready.instance(&p.admin, &id).await["failure_reason"], "deadline_exceeded");
    }

    /// I1, H-22: a refusal after an unanswered order proves nothing; and what was written off but runs is stopped.
    async fn a_refusal_after_silence_is_not_believed(p: TestPlatform) {
        let bad = BadNode::join(&p, Manner::Hang).await;
        let ready = p.ready("bad").await;
        let id = launch_with_gpu(&p, &ready).await;
        let mut dispatcher = Dispatcher::default();
        dispatcher.tick(p.plane(), "elsewhere").await.unwrap();
        bad.behave(Manner::Refuse(Refusal::JournalUnwritable, "disk full".into()));
        drop(dispatcher);
        p.clock.advance_seconds(60);
        p.until("the refusal was heard", async || ready.instance(&p.admin, &id).await["status"] == "stopping").await;
        assert_eq!(crate::count(&p, "SELECT COUNT(*) FROM gpu_holds WHERE instance_id IS NOT NULL AND released_at IS NULL").await, 1);

        bad.behave(Manner::Refuse(Refusal::SpecRefused, "no".into()));
        let other = ready.launch(&p.admin).await.expect(202).id();
        ready.reaches(&p, &other, "failed").await;
        bad.behave(Manner::Accept);
        bad.says(vec![seen(&other, Phase::Running)]).await;
        assert_eq!(ready.instance(&p.admin, &other).await["status"], "stopping", "written off, and there all the same");
    }

    /// S06: a node that never answers keeps its own orders waiting, not those of others.
    async fn a_hung_node_delays_nobody_else(p: TestPlatform) {
        let bad = BadNode::join(&p, Manner::Hang).await;
        let theirs = p.ready("bad").await;
        let _good = p.node("good").await;
        let ours = p.ready("good").await;
        theirs.launch(&p.admin).await.expect(202);
        let mut dispatcher = Dispatcher::default();
        dispatcher.tick(p.plane(), "elsewhere").await.unwrap();
        assert_eq!(bad.insides.orders.lock().unwrap().len(), 1, "it has the order and says nothing");
        let id = ours.launch(&p.admin).await.expect(202).id();
        let begun = Instant::now();
        while ours.instance(&p.admin, &id).await["status"] != "running" {
            dispatcher.tick(p.plane(), "elsewhere").await.unwrap();
            assert!(begun.elapsed() < Duration::from_secs(5), "it waits for somebody else's node");
        }
    }

    /// A node's words are cut and cleaned before anybody keeps or reads them, and none of them makes the platform repeat itself.
    async fn hostile_words_are_cleaned(p: TestPlatform) {
        let words = format!("\u{1b}]0;owned\u{7}\u{202e}evil\0{}", "A".repeat(200_000));
        let bad = BadNode::join(&p, Manner::Refuse(Refusal::SpecRefused, words)).await;
        let ready = p.ready("bad").await;
        let id = ready.launch(&p.admin).await.expect(202).id();
        ready.reaches(&p, &id, "failed").await;
        let body = ready.instance(&p.admin, &id).await;
        let said = body["failure_message"].as_str().unwrap();
        assert!(said.len() <= 2100 && !said.contains(['\u{1b}', '\u{202e}', '\0']), "{} bytes", said.len());
        assert_eq!(bad.insides.orders.lock().unwrap().len(), 1);

        let gpu = |uuid: String| Gpu {
            index: 0, uuid, vendor: Vendor::Nvidia, model: "M\u{1b}[31m".into(), memory_mib: 1,
            bus_id: None, driver_version: None, simulated: true,
        };
        let mut inventory = inventory();
        inventory.kernel = format!("\u{1b}[2J\u{202e}{}", "K".repeat(300_000));
        for round in 0..3 {
            inventory.gpus = (0..200).map(|n| gpu(format!("GPU-{round}-{n}"))).collect();
            bad.platform.put_inventory(&inventory).await.unwrap();
        }
        let node = p.admin.call(Route::NodeGet, &[&bad.id], None).await.expect(200);
        let kernel = node.body["inventory"]["kernel"].as_str().unwrap();
        assert!(kernel.len() <= 255 && !kernel.contains(['\u{1b}', '\u{202e}']), "{kernel}");
        let rows = crate::count(&p, "SELECT COUNT(*) FROM node_gpus WHERE device_uuid LIKE 'GPU-%-%'").await;
        assert_eq!(rows, 200, "devices that nobody ever had are not remembered");
        inventory.gpus = vec![gpu("GPU,0/all".into())];
        let refused = bad.platform.put_inventory(&inventory).await.unwrap_err();
        assert!(refused.to_string().contains("validation_failed"), "{refused}");
    }

    /// T05: a report is about the present of the node's own instances, in a size that fits.
    async fn a_report_cannot_flood(p: TestPlatform) {
        let bad = BadNode::join(&p, Manner::Accept).await;
        let ready = p.ready("bad").await;
        let id = ready.launch(&p.admin).await.expect(202).id();
        p.settle().await;
        let component = |name: String| ComponentReport {
            name, container_id: Some("y".repeat(2000)), running: true, ready: true, restarts: 0, started_at: None, exit_code: None,
        };
        for round in 0..3 {
            let mut one = seen(&id, Phase::Running);
            one.components = (0..64).map(|n| component(format!("c{round}-{n}"))).collect();
            one.components.push(component(format!("\u{1b}[31m{}", "x".repeat(2000))));
            bad.says(vec![one]).await;
        }
        let body = ready.instance(&p.admin, &id).await;
        assert!(body["components"].as_array().unwrap().len() <= 64 && body.to_string().len() < 40_000);
        let rows = async || crate::count(&p, "SELECT COUNT(*) FROM audit").await;
        let before = rows().await;
        let flips = (0..600).map(|n| InstanceReport {
            health: if n % 2 == 0 { Health::Healthy } else { Health::Unhealthy },
            ..seen(&id, Phase::Running)
        });
        bad.says(flips.collect()).await;
        assert!(rows().await - before <= 2, "one instance has one say in a report");
    }

    /// T05: what a node says about an instance of another moves nothing, with a receipt or without.
    async fn a_node_cannot_speak_for_another(p: TestPlatform) {
        let _good = p.node("good").await;
        let ready = p.ready("good").await;
        let id = ready.launch(&p.admin).await.expect(202).id();
        ready.reaches(&p, &id, "running").await;
        let bad = BadNode::join(&p, Manner::Accept).await;
        let before = ready.instance(&p.admin, &id).await;
        for phase in [Phase::Failed, Phase::Stopped, Phase::Removed, Phase::Starting] {
            bad.says(vec![seen(&id, phase)]).await;
        }
        assert_eq!(ready.instance(&p.admin, &id).await, before);
    }

    /// U-26: while a node is there nothing on it is written off, and what was ended without its word keeps other tenants away.
    async fn a_late_release_keeps_the_boundary(p: TestPlatform) {
        let bad = BadNode::join(&p, Manner::Accept).await;
        let ready = p.ready("bad").await;
        let id = ready.launch(&p.admin).await.expect(202).id();
        p.settle().await;
        bad.says(vec![seen(&id, Phase::Running)]).await;
        let project = &ready.home.project;
        p.admin.call(Route::AllocationRelease, &[project, &ready.allocation], None).await.expect(200);
        for _ in 0..3 {
            p.clock.advance_seconds(24 * 3600);
            p.settle().await;
        }
        let state = async || {
            p.admin.call(Route::AllocationGet, &[project, &ready.allocation], None).await.expect(200).body["state"].clone()
        };
        assert_eq!(state().await, "releasing", "a node that is there is not passed over");
        let other = p.home("other").await;
        let wish = json!({"sku": "bad-sku"});
        p.admin.call(Route::AllocationRequest, &[&other.project], Some(&wish)).await.expect_error(409, "no_capacity");

        let node_id = bad.id.parse().unwrap();
        bad.spawner.stop(Duration::from_secs(5)).await;
        while p.plane().links().is_connected(node_id) {
            tokio::task::yield_now().await;
        }
        p.until("the allocation is released", async || state().await == "released").await;
        let nodes = p.admin.call(Route::AllocationRequest, &[&other.project], Some(&wish)).await.expect_error(409, "no_capacity");
        let why = nodes.body["error"]["params"]["nodes"][0]["code"].clone();
        assert!(why == "unswept" || why == "agent_away", "{why}");
    }

    /// H-22: launches that a connected node took and never ends do not hide those of others.
    async fn stuck_launches_hide_nobody(p: TestPlatform) {
        let bad = BadNode::join(&p, Manner::Accept).await;
        let home = p.home("bad").await;
        let sku = json!({"slug": "big", "shape": "gpu_slice", "gpu_count": 0, "vcpu": 16, "memory_mib": 32768, "grant_policy": "auto"});
        p.admin.call(Route::SkuCreate, &[], Some(&sku)).await.expect(201);
        // The node also says by itself what it has, once, whenever it gets to it.
        p.until("the node is taken at its word", async || {
            bad.platform.put_inventory(&inventory()).await.unwrap();
            p.admin.call(Route::NodeGet, &[&bad.id], None).await.expect(200).body["inventory"]["cpus"] == 16
                && p.admin.call(Route::AllocationRequest, &[&home.project], Some(&json!({"sku": "big"}))).await.status == 201
        }).await;
        let held = p.admin.call(Route::AllocationList, &[&home.project], None).await.expect(200);
        let allocation = held.body["items"][0]["id"].as_str().unwrap().to_owned();
        p.publish(&gpuaas_testkit::manifest("bad", "1.0.0"), &home.project).await;
        p.admin.call(Route::ProjectLimitSet, &[&home.project, "instances"], Some(&json!({"value": 1000}))).await.expect(200);
        let wish = json!({"slug": "bad", "target_allocation_id": allocation, "resources": {"cpu_millis": 100, "memory_mib": 64}});
        for _ in 0..101 {
            p.admin.call(Route::InstanceCreate, &[&home.project], Some(&wish)).await.expect(202);
        }
        p.settle().await;
        let mut good = p.node("good").await;
        let ready = p.ready("good").await;
        let id = ready.launch(&p.admin).await.expect(202).id();
        good.kill().await;
        let node_id = good.id.parse().unwrap();
        while p.plane().links().is_connected(node_id) {
            tokio::task::yield_now().await;
        }
        p.clock.advance_seconds(700);
        ready.reaches(&p, &id, "failed").await;
    }

    /// Two admins who grant at the same time do not grant more than the project may have.
    async fn grants_that_race_keep_the_limit(p: TestPlatform) {
        let (one, two) = (p.node("one").await, p.node("two").await);
        let home = p.home("acme").await;
        let sku = json!({"slug": "machine", "shape": "baremetal", "gpu_count": 0, "vcpu": 1, "memory_mib": 512, "grant_policy": "admin"});
        p.admin.call(Route::SkuCreate, &[], Some(&sku)).await.expect(201);
        p.admin.call(Route::ProjectLimitSet, &[&home.project, "gpus"], Some(&json!({"value": 2}))).await.expect(200);
        let ask = async || p.admin.call(Route::AllocationRequest, &[&home.project], Some(&json!({"sku": "machine"}))).await.expect(201).id();
        let (first, second) = (ask().await, ask().await);
        let (on_one, on_two) = (json!({"node_id": one.id}), json!({"node_id": two.id}));
        let (first, second) = ([first.as_str()], [second.as_str()]);
        let (a, b) = tokio::join!(
            p.admin.call(Route::AllocationGrant, &first, Some(&on_one)),
            p.admin.call(Route::AllocationGrant, &second, Some(&on_two)),
        );
        assert_eq!([a.status, b.status].iter().filter(|status| **status == 200).count(), 1, "{} {}", a.text, b.text);
        assert_eq!(crate::count(&p, "SELECT COUNT(*) FROM gpu_holds WHERE released_at IS NULL").await, 2);
    }

    /// J-02: both directions of a tunnel flow at once, however much there is.
    async fn a_tunnel_echoes_more_than_any_buffer(p: TestPlatform) {
        const TOTAL: usize = 24 << 20;
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let node = p.node("one").await;
        let ready = p.ready("hello").await;
        let id = ready.launch(&p.admin).await.expect(202).id();
        ready.reaches(&p, &id, "running").await;
        node.serve("main", 8080, listener.local_addr().unwrap());
        // As `cat` does: reads a piece, writes it, reads the next.
        let echo = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut buffer = vec![0; 65_536];
            while let Ok(count @ 1..) = stream.read(&mut buffer).await {
                if stream.write_all(&buffer[..count]).await.is_err() {
                    break;
                }
            }
        };
        let talk = async {
            let (mut sink, mut source) = open_tunnel(&p, &p.admin, &ready, &id).await.split();
            let send = async {
                for _ in 0..TOTAL >> 18 {
                    sink.send(Message::Binary(vec![7; 1 << 18].into())).await.unwrap();
                }
            };
            let receive = async {
                let mut got = 0;
                while got < TOTAL {
                    let next = tokio::time::timeout(Duration::from_secs(20), source.next()).await;
                    if let Message::Binary(bytes) = next.expect("it flows").unwrap().unwrap() {
                        got += bytes.len();
                    }
                }
            };
            tokio::join!(send, receive);
        };
        tokio::select! { () = echo => panic!("the app hung up"), () = talk => {} }
    }

    /// G13: whoever loses access loses an open tunnel too, even one that is full to the brim.
    async fn a_stalled_tunnel_ends_with_the_access(p: TestPlatform) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let node = p.node("one").await;
        let ready = p.ready("hello").await;
        let id = ready.launch(&p.admin).await.expect(202).id();
        ready.reaches(&p, &id, "running").await;
        node.serve("main", 8080, listener.local_addr().unwrap());
        let (mia, user) = p.member("mia", "app-operator", Place::Project(&ready.home.project)).await;
        let (mut sink, mut source) = open_tunnel(&p, &mia, &ready, &id).await.split();
        let (_app, _) = listener.accept().await.unwrap();
        let full = async { while sink.send(Message::Binary(vec![1; 1 << 16].into())).await.is_ok() {} };
        let stalled = tokio::time::timeout(Duration::from_secs(2), full).await;
        assert!(stalled.is_err(), "the app reads nothing, so the pipe fills");
        p.admin.call(Route::UserSuspend, &[&user], Some(&json!({"reason": "out"}))).await.expect(200);
        let ended = async { while let Some(Ok(_)) = source.next().await {} };
        tokio::time::timeout(Duration::from_secs(12), ended).await.expect("the tunnel ends");
    }
}
