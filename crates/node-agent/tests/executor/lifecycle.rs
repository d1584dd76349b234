//! The life of instances on the simulated engine: what goes wrong, and what is said about it.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use futures_util::TryStreamExt as _;
use gpuaas_agent_protocol::FailureReason;
use gpuaas_agent_protocol::link::LogQuery;
use gpuaas_agent_protocol::report::{Health, Phase, PullProgress};
use gpuaas_agent_protocol::spec::{Check, Port, Probe};
use gpuaas_agent_protocol::task::{Order, Refusal};
use gpuaas_faults::{Faults, SmallDisk};
use gpuaas_node_agent::executor::Executor;
use gpuaas_node_agent::runtime::simulated::{Behaviour, SimulatedRuntime};
use gpuaas_node_agent::runtime::suite::{Subject, runtime_suite};
use gpuaas_node_agent::runtime::{ContainerRuntime, bridge_name};
use gpuaas_node_agent::seams::{Failure, ImageSource as _, WantedImage};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::support::{
    Node, PATIENCE, component, exec_probe, image, launch, random_id, remove, stop, wait_for, wait_phase,
    workload,
};

fn node() -> (Node, SimulatedRuntime) {
    let engine = SimulatedRuntime::new();
    (Node::new(Arc::new(engine.clone())), engine)
}

#[tokio::test]
async fn the_simulated_engine_passes_the_suite() {
    let (node, engine) = node();
    let grant = image("main");
    let wanted = WantedImage { instance: random_id(), generation: 1, grant: &grant };
    let ticket = node.images.open(&wanted).await.unwrap();
    engine.pull(&ticket).await.unwrap();
    let subject = Subject {
        node: node.id,
        instance: random_id(),
        image: ticket.image,
        command: vec![],
        succeeds: vec![],
        subnets: vec!["10.213.0.0/28".parse().unwrap()],
    };
    runtime_suite(&engine, &subject).await;
}

#[test]
fn a_bridge_fits_an_interface_name() {
    let name = bridge_name(random_id());
    assert!(name.len() <= 15 && name.starts_with("gpuaas-"), "{name}");
}

/// Each fault of the engine has its own name, and leaves nothing but scratch.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_launch_that_fails_says_why_and_cleans_up() {
    let quick = Duration::from_millis(1);
    let said = |reason| Some(Failure::new(reason, "the engine's own words"));
    let cases = [
        (
            Behaviour { pull_failure: said(FailureReason::ImageNotFound), ..Behaviour::default() },
            FailureReason::ImageNotFound,
        ),
        (
            Behaviour { start_failure: said(FailureReason::ContainerStartFailed), ..Behaviour::default() },
            FailureReason::ContainerStartFailed,
        ),
        (
            Behaviour { start_failure: said(FailureReason::GpuUnavailable), ..Behaviour::default() },
            FailureReason::GpuUnavailable,
        ),
        (Behaviour { exit: Some((quick, 3, false)), ..Behaviour::default() }, FailureReason::ContainerExited),
        (Behaviour { exit: Some((quick, 137, true)), ..Behaviour::default() }, FailureReason::OutOfMemory),
        (Behaviour { never_ready: true, ..Behaviour::default() }, FailureReason::ReadinessTimeout),
    ];
    for (behaviour, reason) in cases {
        let (node, engine) = node();
        engine.behave("main", behaviour);
        let executor = node.start(Faults::none()).await;
        let mut main = component("main");
        main.readiness = Some(exec_probe(&["true"]));
        let mut spec = workload(vec![main, component("side")]);
        spec.readiness_deadline_seconds = 1;
        let instance = random_id();
        let report = node.reach(&executor, instance, 1, Order::Launch { spec }, Phase::Failed).await;
        assert_eq!(report.reason, Some(reason));
        assert!(report.detail.is_some_and(|detail| !detail.is_empty()));
        assert!(engine.list(node.id, None).await.unwrap().is_nothing(), "{reason:?}");
        assert!(node.door.open.lock().unwrap().is_empty());
        executor.shutdown().await;
        drop(executor);
        let changes = engine.counts().changes;
        let executor = node.start(Faults::none()).await;
        let after = executor.status(instance).unwrap();
        assert_eq!(
            (after.phase, after.reason),
            (Phase::Failed, Some(reason)),
            "a restart does not launch it again"
        );
        assert_eq!(engine.counts().changes, changes);
        node.reach(&executor, instance, 2, remove(), Phase::Removed).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crash_is_mended_within_the_budget_and_not_beyond_it() {
    let (node, engine) = node();
    let executor = node.start(Faults::none()).await;
    let instance = random_id();
    node.reach(&executor, instance, 1, launch(vec![component("main")]), Phase::Running).await;
    for restarts in 1..=3 {
        engine.crash(instance, "main", 1);
        let report = wait_for(&executor, instance, "a restart", |report| {
            report.components.first().is_some_and(|c| c.restarts == restarts && c.ready)
                && report.health == Health::Healthy
        })
        .await;
        assert_eq!(report.phase, Phase::Running);
    }
    engine.crash(instance, "main", 9);
    let report = wait_phase(&executor, instance, 1, Phase::Failed).await;
    assert_eq!(report.reason, Some(FailureReason::ContainerExited));
    assert!(report.detail.unwrap().contains("exit code 9"));
    let counts = engine.counts();
    assert_eq!((counts.starts, counts.creates.len()), (4, 1), "the same container, started afresh");
    let lines: Vec<_> =
        executor.logs(instance, LogQuery::default()).await.unwrap().unwrap().try_collect().await.unwrap();
    assert!(lines[0].line.contains("simulated"), "the last words are kept: {lines:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn missed_heartbeats_mean_unhealthy_and_a_restart() {
    let (node, engine) = node();
    let executor = node.start(Faults::none()).await;
    let instance = random_id();
    let probe = Probe { check: Check::Heartbeat, interval_ms: 50, timeout_ms: 50, failures: 2 };
    let mut main = component("main");
    main.readiness = Some(probe.clone());
    main.liveness = Some(probe);
    let started = node.reach(&executor, instance, 1, launch(vec![main]), Phase::Starting).await;
    assert_eq!(started.health, Health::Unknown);
    assert!(executor.heartbeat(instance) && !executor.heartbeat(random_id()));
    wait_phase(&executor, instance, 1, Phase::Running).await;
    let lost = wait_for(&executor, instance, "ill health", |report| report.health == Health::Unhealthy).await;
    assert_eq!(lost.phase, Phase::Running);
    wait_for(&executor, instance, "a restart", |r| r.components.first().is_some_and(|c| c.restarts == 1))
        .await;
    assert!(engine.counts().starts <= 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_later_order_ends_a_slow_pull_and_progress_is_told_now_and_then() {
    let (node, engine) = node();
    engine.behave("main", Behaviour { pull_time: Duration::from_hours(1), ..Behaviour::default() });
    let executor = node.start(Faults::none()).await;
    let instance = random_id();
    node.reach(&executor, instance, 1, launch(vec![component("main")]), Phase::Pulling).await;
    let progress = PullProgress { done_bytes: 7, total_bytes: Some(9) };
    node.images.progress.send_replace(progress);
    wait_for(&executor, instance, "progress", |report| report.pull == Some(progress)).await;
    let gone = node.reach(&executor, instance, 2, remove(), Phase::Removed).await;
    assert!(gone.receipt.is_some() && gone.pull.is_none());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pull_that_takes_too_long_is_named_so_and_the_source_knows_better_than_the_engine() {
    let (mut node, engine) = node();
    node.limits.pull_deadline = Duration::from_millis(20);
    engine.behave("slow", Behaviour { pull_time: Duration::from_hours(1), ..Behaviour::default() });
    let broken = Failure::new(FailureReason::ImagePullFailed, "unexpected EOF");
    engine.behave("broken", Behaviour { pull_failure: Some(broken), ..Behaviour::default() });
    *node.images.verdict.lock().unwrap() =
        Some(Failure::new(FailureReason::ImageDigestMismatch, "not these bytes"));
    let executor = node.start(Faults::none()).await;
    let slow = node.reach(&executor, random_id(), 1, launch(vec![component("slow")]), Phase::Failed).await;
    assert_eq!(slow.reason, Some(FailureReason::ImagePullTimeout));
    let broken =
        node.reach(&executor, random_id(), 1, launch(vec![component("broken")]), Phase::Failed).await;
    assert_eq!(broken.reason, Some(FailureReason::ImageDigestMismatch));
}

fn not_allowed() -> Failure {
    Failure::new(FailureReason::ImageNotAllowed, "artifact_revoked: It was revoked.")
}

/// F-16, F-25, R04, R07: that the engine has an image is no leave to start it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_image_in_the_cache_starts_only_if_the_platform_lets_it() {
    let (node, engine) = node();
    let executor = node.start(Faults::none()).await;
    let order = || launch(vec![component("main"), component("side")]);
    let first = random_id();
    node.reach(&executor, first, 1, order(), Phase::Running).await;
    node.reach(&executor, first, 2, stop(), Phase::Stopped).await;
    let before = (engine.counts().pulls, engine.counts().creates.len(), engine.counts().starts);
    assert_eq!(before, (2, 2, 2));

    *node.images.refusal.lock().unwrap() = Some(not_allowed());
    node.images.asked.lock().unwrap().clear();
    let again = node.reach(&executor, first, 3, order(), Phase::Failed).await;
    let stranger = random_id();
    let other = node.reach(&executor, stranger, 1, order(), Phase::Failed).await;
    for report in [again, other] {
        assert_eq!(report.reason, Some(FailureReason::ImageNotAllowed));
        assert_eq!(report.detail.as_deref(), Some("artifact_revoked: It was revoked."));
    }
    let counts = engine.counts();
    assert_eq!((counts.pulls, counts.creates.len(), counts.starts), before, "nothing was made or started");
    let asked = node.images.asked.lock().unwrap().clone();
    assert!(asked.contains(&(first, 3, "main".to_owned())), "{asked:?}");
    assert!(asked.contains(&(stranger, 1, "main".to_owned())), "{asked:?}");
}

/// R04: revoked after the last byte of a pull was asked for.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_revoked_while_it_is_pulled_does_not_start() {
    let (node, engine) = node();
    engine.behave("main", Behaviour { pull_time: Duration::from_millis(300), ..Behaviour::default() });
    let executor = node.start(Faults::none()).await;
    let instance = random_id();
    node.reach(&executor, instance, 1, launch(vec![component("main")]), Phase::Pulling).await;
    *node.images.refusal.lock().unwrap() = Some(not_allowed());
    let failed = wait_phase(&executor, instance, 1, Phase::Failed).await;
    assert_eq!(failed.reason, Some(FailureReason::ImageNotAllowed));
    assert_eq!((engine.counts().creates.len(), engine.counts().starts), (0, 0));
}

/// R04: an agent that ended between making a container and starting it asks once more.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_container_that_was_made_and_never_started_is_asked_for_again() {
    let (node, engine) = node();
    let broken = Failure::new(FailureReason::EngineUnavailable, "for the moment");
    engine.behave("main", Behaviour { start_failure: Some(broken), ..Behaviour::default() });
    let executor = node.start(Faults::none()).await;
    let instance = random_id();
    node.order(&executor, instance, 1, launch(vec![component("main")])).await.unwrap();
    wait_for(&executor, instance, "the fault", |r| r.reason == Some(FailureReason::EngineUnavailable)).await;
    executor.shutdown().await;
    drop(executor);
    assert_eq!((engine.counts().creates.len(), engine.counts().starts), (1, 0));
    engine.behave("main", Behaviour::default());
    *node.images.refusal.lock().unwrap() = Some(not_allowed());
    let executor = node.start(Faults::none()).await;
    let failed = wait_phase(&executor, instance, 1, Phase::Failed).await;
    assert_eq!(failed.reason, Some(FailureReason::ImageNotAllowed));
    assert_eq!(engine.counts().starts, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_engine_that_is_away_is_waited_for() {
    let (node, engine) = node();
    engine.set_down(true);
    let executor = node.start(Faults::none()).await;
    assert!(!executor.report_full().full, "nobody has looked yet");
    let instance = random_id();
    node.order(&executor, instance, 1, launch(vec![component("main")])).await.unwrap();
    let waiting =
        wait_for(&executor, instance, "the fault", |r| r.reason == Some(FailureReason::EngineUnavailable))
            .await;
    assert_ne!(waiting.phase, Phase::Failed);
    engine.set_down(false);
    let running = wait_phase(&executor, instance, 1, Phase::Running).await;
    assert_eq!(running.reason, None);
    engine.set_down(true);
    wait_for(&executor, instance, "the fault", |r| r.reason == Some(FailureReason::EngineUnavailable)).await;
    engine.set_down(false);
    wait_for(&executor, instance, "recovery", |r| r.phase == Phase::Running && r.reason.is_none()).await;
    assert_eq!(engine.counts().starts, 1);
}

/// C12: the whole state folder is lost.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_journal_is_made_good_by_labels() {
    let (node, engine) = node();
    let executor = node.start(Faults::none()).await;
    let (running, stopped) = (random_id(), random_id());
    let up = launch(vec![component("main")]);
    node.reach(&executor, running, 4, up.clone(), Phase::Running).await;
    node.reach(&executor, stopped, 1, up.clone(), Phase::Running).await;
    node.reach(&executor, stopped, 2, stop(), Phase::Stopped).await;
    executor.shutdown().await;
    drop(executor);
    std::fs::remove_dir_all(node.state()).unwrap();

    let executor = node.start(Faults::none()).await;
    let report = executor.report_full();
    assert!(report.full && report.instances.len() == 2);
    let adopted = executor.status(running).unwrap();
    assert_eq!((adopted.phase, adopted.generation), (Phase::Running, 4));
    assert_eq!(executor.status(stopped).unwrap().phase, Phase::Stopped, "its scratch is still there");
    let older = node.order(&executor, running, 3, stop()).await.unwrap_err();
    assert_eq!(older.refusal, Refusal::StaleGeneration, "the labels keep the mark");
    let other = node.order(&executor, running, 4, stop()).await.unwrap_err();
    assert_eq!(other.refusal, Refusal::Contradiction);
    node.order(&executor, running, 4, up).await.expect("the same order brings the spec back");
    wait_for(&executor, running, "readiness", |r| r.phase == Phase::Running && r.health == Health::Healthy)
        .await;
    let counts = engine.counts();
    assert!(counts.creates.values().all(|count| *count == 1) && counts.starts == 2, "{counts:?}");
    for (instance, generation) in [(running, 5), (stopped, 3)] {
        node.reach(&executor, instance, generation, remove(), Phase::Removed).await;
    }
    assert!(engine.list(node.id, None).await.unwrap().is_nothing());
}

/// N08: the disk of the journal is full: nothing new begins, what runs goes on, and it can be ended.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_a_full_disk_nothing_begins_and_everything_can_end() {
    let (node, engine) = node();
    let disk = SmallDisk::mount(node.folder.path());
    let executor = Executor::start(node.options(&disk.path().join("state"), Faults::none())).await.unwrap();
    executor.set_trust(node.trust()).await;
    let (old, new) = (random_id(), random_id());
    node.reach(&executor, old, 1, launch(vec![component("main")]), Phase::Running).await;
    disk.fill();
    let before = engine.counts().changes;
    let refused = node.order(&executor, new, 1, launch(vec![component("main")])).await.unwrap_err();
    assert_eq!(refused.refusal, Refusal::JournalUnwritable);
    assert_eq!(engine.counts().changes, before, "nothing was done");
    assert_eq!(executor.status(old).unwrap().phase, Phase::Running);
    assert!(executor.status(new).is_none());
    node.reach(&executor, old, 2, stop(), Phase::Stopped).await;
    node.reach(&executor, old, 3, remove(), Phase::Removed).await;
    disk.relieve();
    node.reach(&executor, new, 1, launch(vec![component("main")]), Phase::Running).await;
    executor.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_range_of_networks_ends_and_says_so() {
    let (mut node, engine) = node();
    node.limits.pool = "10.213.0.0/27".parse().unwrap();
    engine.occupy("10.213.0.0/28".parse().unwrap());
    let executor = node.start(Faults::none()).await;
    let first = random_id();
    node.reach(&executor, first, 1, launch(vec![component("main")]), Phase::Running).await;
    let second = node.reach(&executor, random_id(), 1, launch(vec![component("main")]), Phase::Failed).await;
    assert_eq!(second.reason, Some(FailureReason::NetworkExhausted));
    node.reach(&executor, first, 2, stop(), Phase::Stopped).await;
    node.reach(&executor, random_id(), 1, launch(vec![component("main")]), Phase::Running).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_declared_ports_are_dialled_and_host_ports_live_as_long_as_the_instance() {
    let (node, engine) = node();
    let app = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    engine.serve("main", 8080, app.local_addr().unwrap());
    engine.serve("main", 9090, app.local_addr().unwrap());
    let probe = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let host = probe.local_addr().unwrap().port();
    drop(probe);
    let mut main = component("main");
    main.ports = vec![Port { name: "web".to_owned(), container: 8080, host: Some(host) }];
    let executor = node.start(Faults::none()).await;
    let instance = random_id();
    node.reach(&executor, instance, 1, launch(vec![main.clone()]), Phase::Running).await;

    for (instance, component, port) in
        [(instance, "main", 9090), (instance, "side", 8080), (random_id(), "main", 8080)]
    {
        let refused = executor.connect(instance, component, port).await.unwrap_err();
        assert_eq!(refused.kind(), std::io::ErrorKind::NotFound);
    }
    let direct = executor.connect(instance, "main", 8080).await.unwrap();
    let (mut served, _) = app.accept().await.unwrap();
    drop(direct);
    assert_eq!(served.read(&mut [0]).await.unwrap(), 0);

    let mut outside = TcpStream::connect((Ipv4Addr::LOCALHOST, host)).await.unwrap();
    let (mut inside, _) = tokio::time::timeout(PATIENCE, app.accept()).await.unwrap().unwrap();
    outside.write_all(b"ping").await.unwrap();
    let mut heard = [0; 4];
    inside.read_exact(&mut heard).await.unwrap();
    assert_eq!(&heard, b"ping");

    let rival = node.reach(&executor, random_id(), 1, launch(vec![main]), Phase::Failed).await;
    assert_eq!(rival.reason, Some(FailureReason::PortTaken));
    let gone = node.reach(&executor, instance, 2, remove(), Phase::Removed).await;
    let receipt: serde_json::Value = serde_json::from_str(&gone.receipt.unwrap().payload).unwrap();
    assert!(receipt["removed"].to_string().contains(&format!("127.0.0.1:{host}")), "{receipt}");
    TcpListener::bind((Ipv4Addr::LOCALHOST, host)).await.expect("the port is free again");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_removal_of_what_never_was_is_attested_and_stats_are_marked() {
    let (node, engine) = node();
    let executor = node.start(Faults::none()).await;
    let gone = node.reach(&executor, random_id(), 1, remove(), Phase::Removed).await;
    let receipt: serde_json::Value = serde_json::from_str(&gone.receipt.unwrap().payload).unwrap();
    assert_eq!(receipt["removed"], serde_json::json!([]));
    let instance = random_id();
    node.reach(&executor, instance, 1, launch(vec![component("main")]), Phase::Running).await;
    let stats = executor.stats(instance).await.unwrap().unwrap();
    assert!(stats.simulated && stats.components.len() == 1);
    assert!(executor.stats(random_id()).await.unwrap().is_none());
    assert!(executor.logs(random_id(), LogQuery::default()).await.unwrap().is_none());
    drop(engine);
}

/// C06 on the simulation: agents come and go, workloads do not notice.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fifty_restarts_of_the_agent_restart_no_workload() {
    let (node, engine) = node();
    let instances: Vec<_> = (0..10).map(|_| random_id()).collect();
    let mut executor = node.start(Faults::none()).await;
    for instance in &instances {
        node.reach(&executor, *instance, 1, launch(vec![component("main")]), Phase::Running).await;
    }
    for _ in 0..50 {
        executor.shutdown().await;
        drop(executor);
        executor = node.start(Faults::none()).await;
        assert!(executor.report_full().instances.iter().all(|report| report.phase == Phase::Running));
    }
    for instance in &instances {
        wait_for(&executor, *instance, "health", |report| report.health == Health::Healthy).await;
    }
    let counts = engine.counts();
    assert_eq!((counts.starts, counts.creates.len()), (10, 10));
}
