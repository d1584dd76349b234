use std::sync::atomic::Ordering;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use gpuaas_agent_protocol::link::{Accepted, INSTANCE_HEADER, InstanceStats, Refused};
use gpuaas_agent_protocol::receipt;
use gpuaas_agent_protocol::report::Phase;
use gpuaas_agent_protocol::spec::WorkloadSpec;
use gpuaas_agent_protocol::task::{self, Order, Refusal, SignedTask, Task, Verifier};
use gpuaas_tunnel::{Error, Link as Dialled};
use http_body_util::{BodyExt as _, Full};
use hyper::{Request, Response};
use ring::signature::{Ed25519KeyPair, KeyPair as _};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::*;
use crate::config::{Config, RuntimeKind};
use crate::fake::Fake;
use crate::fake_platform::{FakePlatform, node_id, until, within};
use crate::identity::StateFolder;
use crate::wall_clock::{Clock as _, SystemClock};

const PATIENCE: Duration = Duration::from_secs(10);
const ONE: Uuid = Uuid::from_u128(0x0192_0000_0000_7000_8000_0000_0000_00aa);

struct Bench {
    platform: FakePlatform,
    workloads: Arc<Fake>,
    running: Running,
    spawner: Spawner,
    engine: watch::Sender<Runtime>,
    control: Dialled,
    data: Dialled,
    _folder: tempfile::TempDir,
}

async fn bench() -> Bench {
    let mut platform = FakePlatform::start().await;
    let folder = tempfile::tempdir().unwrap();
    let state = StateFolder::at(folder.path());
    let key = Arc::new(state.ensure_key().unwrap());
    let identity = platform.enrol(&key.public_text());
    let workloads = Arc::new(Fake::new());
    workloads.put(ONE, Phase::Running);
    let (engine, runtime) = watch::channel(Runtime::Unavailable { reason: "down".into() });
    let spawner = Spawner::default();
    let rhythm = Rhythm {
        report: Duration::from_hours(1),
        gather: Duration::from_millis(50),
        retry: Duration::from_millis(20),
        ..Rhythm::default()
    };
    let look = Look {
        search_path: String::new(),
        tool_timeout: Duration::from_secs(1),
        data_dir: folder.path().to_owned(),
        declared: Vec::new(),
        seed: key.public().to_vec(),
    };
    let running = start(Parts {
        platform: Arc::new(Platform::new(identity, key, Arc::new(SystemClock)).unwrap()),
        workloads: workloads.clone(),
        look,
        runtime,
        rhythm,
        spawner: spawner.clone(),
    });
    let control = within(platform.control.recv()).await.unwrap();
    let data = within(platform.data.recv()).await.unwrap();
    Bench { platform, workloads, running, spawner, engine, control, data, _folder: folder }
}

async fn body(response: Response<hyper::body::Incoming>) -> Vec<u8> {
    response.into_body().collect().await.unwrap().to_bytes().to_vec()
}

fn get(path: &str) -> Request<Full<Bytes>> {
    Request::get(format!("http://node{path}")).body(Full::default()).unwrap()
}

fn connect(target: &str, instance: &str) -> Request<Full<Bytes>> {
    let request = Request::builder().method("CONNECT").uri(target).header(INSTANCE_HEADER, instance);
    request.body(Full::default()).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_and_what_changes_reaches_the_platform() {
    let bench = bench().await;
    let world = &bench.platform.world;
    until("a full report", || world.reports.lock().unwrap().iter().any(|report| report.full)).await;
    until("the inventory", || !world.inventories.lock().unwrap().is_empty()).await;
    until("trust", || bench.workloads.trusted.load(Ordering::SeqCst)).await;
    assert_eq!(world.inventories.lock().unwrap()[0].warnings, ["a warning of the executor"]);
    assert_eq!(world.inventories.lock().unwrap()[0].problems, ["a problem of the executor"]);

    // Several changes in a moment are one call; what cannot be said is said later, as it is then.
    tokio::time::sleep(Duration::from_millis(300)).await;
    world.reports.lock().unwrap().clear();
    bench.workloads.acknowledged.lock().unwrap().clear();
    world.failing.store(3, Ordering::SeqCst);
    bench.workloads.put(ONE, Phase::Stopping);
    bench.workloads.put(ONE, Phase::Stopped);
    until("the change", || !bench.workloads.acknowledged.lock().unwrap().is_empty()).await;
    {
        let reports = world.reports.lock().unwrap();
        assert_eq!(reports.len(), 1, "{reports:?}");
        assert!(!reports[0].full);
        assert_eq!(reports[0].instances[0].phase, Phase::Stopped);
    }

    // The engine comes up: told at once.
    let before = world.inventories.lock().unwrap().len();
    bench.engine.send_replace(Runtime::Simulated);
    until("the engine", || world.inventories.lock().unwrap().len() > before).await;
    assert_eq!(world.inventories.lock().unwrap().last().unwrap().runtime, Runtime::Simulated);

    let started = Instant::now();
    assert!(bench.spawner.stop(PATIENCE).await);
    assert!(started.elapsed() < Duration::from_secs(1));
    within(bench.control.closed()).await;
    within(bench.data.closed()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_platform_asks_over_the_control_link_and_streams_over_the_data_link() {
    let bench = bench().await;
    let ask = async |request| bench.control.request(request, PATIENCE).await.unwrap();
    let full = body(ask(get("/v1/instances")).await).await;
    assert!(serde_json::from_slice::<NodeReport>(&full).unwrap().full);
    let logs = ask(get(&format!("/v1/instances/{ONE}/logs?tail=2"))).await;
    assert_eq!(body(logs).await, b"{\"line\":\"0\"}\n{\"line\":\"1\"}\n");
    let mut following = ask(get(&format!("/v1/instances/{ONE}/logs?follow=true&tail=1"))).await;
    let first = within(following.body_mut().frame()).await.unwrap().unwrap();
    assert_eq!(first.into_data().unwrap(), "{\"line\":\"0\"}\n");
    drop(following);
    let stats = body(ask(get(&format!("/v1/instances/{ONE}/stats"))).await).await;
    assert!(serde_json::from_slice::<InstanceStats>(&stats).unwrap().simulated);
    let unknown = Uuid::from_u128(5);
    for path in [
        "/v1/instances/".to_owned(),
        format!("/v1/instances/{unknown}/logs"),
        format!("/v1/instances/{unknown}/stats"),
        format!("/v1/instances/{ONE}/shell"),
        format!("/v1/instances/{}/stats", ONE.simple()),
        "/v1/tasks".to_owned(),
    ] {
        assert_eq!(ask(get(&path)).await.status(), 404, "{path}");
    }
    assert_eq!(ask(get(&format!("/v1/instances/{ONE}/logs?tale=2"))).await.status(), 400);

    let mut stream = bench.data.open(connect("main:80", &ONE.to_string()), PATIENCE).await.unwrap();
    stream.write_all(b"hello").await.unwrap();
    stream.shutdown().await.unwrap();
    let mut echoed = String::new();
    within(stream.read_to_string(&mut echoed)).await.unwrap();
    assert_eq!(echoed, "hello");
    for (target, instance, status) in [
        ("main:81", ONE.to_string(), 502),
        ("main:82", ONE.to_string(), 404),
        ("other:80", ONE.to_string(), 404),
        ("main:80", unknown.to_string(), 404),
        ("main:80", "nonsense".into(), 400),
        ("main:99999", ONE.to_string(), 400),
    ] {
        let refused = bench.data.open(connect(target, &instance), PATIENCE).await.err().unwrap();
        assert!(matches!(refused, Error::Answered { status: s, .. } if s == status), "{target}: {refused}");
    }
    // Each link does its own part only.
    assert_eq!(bench.data.request(get("/v1/instances"), PATIENCE).await.unwrap().status(), 404);
    assert!(bench.control.open(connect("main:80", &ONE.to_string()), PATIENCE).await.is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_with_an_unknown_key_makes_the_node_ask_whom_to_trust_once() {
    let bench = bench().await;
    let world = &bench.platform.world;
    until("trust", || bench.workloads.trusted.load(Ordering::SeqCst)).await;
    let task = SignedTask { key_id: ONE, payload: "p".into(), signature: "s".into() };
    let order = |text: String| Request::post("http://node/v1/tasks").body(Full::from(text)).unwrap();
    let send = async |text: String| {
        let response = bench.control.request(order(text), PATIENCE).await.unwrap();
        (response.status().as_u16(), body(response).await)
    };
    let text = serde_json::to_string(&task).unwrap();
    let (status, answer) = send(text.clone()).await;
    assert_eq!(status, 202);
    assert_eq!(serde_json::from_slice::<Accepted>(&answer).unwrap().task_id, ONE);

    // The keys were fetched a moment ago: a flood of unknown ones makes no flood of calls.
    bench.workloads.trusted.store(false, Ordering::SeqCst);
    let trusts = world.trusts.load(Ordering::SeqCst);
    for _ in 0..5 {
        let (status, answer) = send(text.clone()).await;
        assert_eq!(status, 409);
        assert_eq!(serde_json::from_slice::<Refused>(&answer).unwrap().refusal, Refusal::UnknownKey);
    }
    assert_eq!(world.trusts.load(Ordering::SeqCst), trusts);

    let (status, answer) = send("{".into()).await;
    assert_eq!(
        (status, serde_json::from_slice::<Refused>(&answer).unwrap().refusal),
        (409, Refusal::Malformed)
    );
    let (status, answer) = send("x".repeat(5 << 20)).await;
    assert_eq!(
        (status, serde_json::from_slice::<Refused>(&answer).unwrap().refusal),
        (409, Refusal::TooLarge)
    );
}

/// An order as the control plane would sign it.
fn order(order: Order, generation: u64, key: &Ed25519KeyPair) -> Request<Full<Bytes>> {
    let now = SystemClock.now().unix_micros();
    let task = Task {
        protocol: gpuaas_agent_protocol::PROTOCOL,
        task_id: Uuid::from_u128(generation.into()),
        node_id: node_id().uuid(),
        instance_id: ONE,
        generation,
        epoch: 1,
        era: 1,
        nonce: Uuid::from_u128(u128::from(generation) << 64),
        issued_at: now,
        expires_at: now + 60_000_000,
        correlation_id: ONE,
        order_digest: order.digest(),
        order,
    };
    let signed = serde_json::to_vec(&task::sign(&task, ONE, key)).unwrap();
    Request::post("http://node/v1/tasks").body(Full::from(signed)).unwrap()
}

fn spec() -> WorkloadSpec {
    let component = serde_json::json!({
        "name": "main", "cpu_millis": 100, "memory_mib": 64, "pids": 10,
        "image": {"reference": format!("r.example.com/web@sha256:{}", "a".repeat(64))},
    });
    serde_json::from_value(serde_json::json!({
        "components": [component], "readiness_deadline_seconds": 30, "stop_grace_seconds": 0,
        "restart": {"max_restarts": 0, "window_seconds": 60},
    }))
    .unwrap()
}

/// Everything but the engine is real: links, orders, executor, reports, receipt.
#[tokio::test(flavor = "multi_thread")]
async fn an_order_over_the_link_becomes_a_running_workload_and_ends_with_a_receipt() {
    let mut platform = FakePlatform::start().await;
    let signer = Ed25519KeyPair::from_seed_unchecked(&[3; 32]).unwrap();
    let public_key = URL_SAFE_NO_PAD.encode(signer.public_key());
    platform.world.verifiers.lock().unwrap().push(Verifier { key_id: ONE, public_key, accepted_until: None });
    let folder = tempfile::tempdir().unwrap();
    let state = StateFolder::at(folder.path());
    let key = Arc::new(state.ensure_key().unwrap());
    let identity = platform.enrol(&key.public_text());
    let config =
        Config { state_dir: folder.path().into(), runtime: RuntimeKind::Simulated, ..Config::default() };
    let spawner = Spawner::default();
    let caller = Arc::new(Platform::new(identity, key.clone(), Arc::new(SystemClock)).unwrap());
    let workloads = crate::wiring::start_workloads(&config, &caller, &key, &spawner).await.unwrap();
    start(Parts {
        platform: caller,
        workloads,
        look: config.look(key.public()),
        runtime: crate::wiring::watch_engine(&config, &spawner).await,
        rhythm: Rhythm { retry: Duration::from_millis(20), ..Rhythm::default() },
        spawner: spawner.clone(),
    });
    let control = within(platform.control.recv()).await.unwrap();
    let world = platform.world.clone();
    let last = || world.reports.lock().unwrap().iter().flat_map(|report| &report.instances).last().cloned();

    let response =
        control.request(order(Order::Launch { spec: spec() }, 1, &signer), PATIENCE).await.unwrap();
    let status = response.status();
    assert_eq!(status, 202, "{}", String::from_utf8(body(response).await).unwrap());
    until("running", || last().is_some_and(|report| report.phase == Phase::Running)).await;
    let stats = control.request(get(&format!("/v1/instances/{ONE}/stats")), PATIENCE).await.unwrap();
    assert!(serde_json::from_slice::<InstanceStats>(&body(stats).await).unwrap().simulated);

    let remove = order(Order::Remove { grace_seconds: 0 }, 2, &signer);
    assert_eq!(control.request(remove, PATIENCE).await.unwrap().status(), 202);
    until("removed", || last().is_some_and(|report| report.phase == Phase::Removed)).await;
    let receipt = receipt::open(&last().unwrap().receipt.unwrap(), key.public()).expect("signed by the node");
    assert!(receipt.left.is_nothing() && receipt.simulated);
    assert!(spawner.stop(PATIENCE).await);
}

/// T09, the node's side.
#[tokio::test(flavor = "multi_thread")]
async fn links_come_back_and_a_revoked_node_says_so() {
    let mut bench = bench().await;
    bench.platform.forget_tokens();
    bench.control.close();
    let again = within(bench.platform.control.recv()).await.unwrap();
    assert!(!again.is_closed());
    until("the state", || bench.running.control.borrow().connected).await;
    assert_eq!(bench.running.control.borrow().times, 2);

    bench.platform.world.revoked.store(true, Ordering::SeqCst);
    again.close();
    until("the refusal", || {
        let state = bench.running.control.borrow();
        state.trouble.as_ref().is_some_and(|trouble| trouble.contains("does not take this node"))
    })
    .await;
    assert!(bench.running.data.borrow().connected, "the other link is the platform's to close");
}
