//! Volumes outlive instances, and go by an order for that very volume only.

use std::path::PathBuf;
use std::sync::Arc;

use gpuaas_agent_protocol::receipt::{self, Receipt};
use gpuaas_agent_protocol::report::{InstanceReport, Phase};
use gpuaas_agent_protocol::spec::{ComponentSpec, RunAs, VolumeMount};
use gpuaas_agent_protocol::task::Refusal;
use gpuaas_agent_protocol::{FailureReason, task::Order};
use gpuaas_faults::Faults;
use gpuaas_node_agent::runtime::simulated::SimulatedRuntime;
use ring::signature::KeyPair as _;
use uuid::Uuid;

use crate::docker::{Real, inspect, shell, wait_line};
use crate::support::{
    Node, at, component, launch, random_id, remove, remove_volume, stop, wait_for, wait_phase,
};

fn with(volume: Uuid, component: ComponentSpec) -> Order {
    launch(vec![ComponentSpec { volumes: vec![at("/work", volume)], ..component }])
}

fn opened(node: &Node, report: &InstanceReport) -> Receipt {
    let signed = report.receipt.clone().expect("what is removed has a receipt");
    receipt::open(&signed, node.key.public_key().as_ref()).expect("signed by the node")
}

fn folder(node: &Node, volume: Uuid) -> PathBuf {
    node.volumes().join(volume.to_string())
}

/// I-08, I-09, H-06, C-16: what stops and what is removed leaves its volume; the next instance finds the bytes; the order to
/// remove it takes them and nothing else.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_volume_outlives_its_instances_until_it_is_removed() {
    let engine = SimulatedRuntime::new();
    let node = Node::new(Arc::new(engine.clone()));
    let executor = node.start(Faults::none()).await;
    let (volume, other) = (random_id(), random_id());
    let (first, second, third) = (random_id(), random_id(), random_id());
    node.reach(&executor, third, 1, with(other, component("main")), Phase::Running).await;
    node.reach(&executor, first, 1, with(volume, component("main")), Phase::Running).await;
    let binds = engine.plans(first)[0].binds.clone();
    let bind = binds.iter().find(|bind| bind.target == "/work").expect("the volume is mounted");
    assert!(bind.source == folder(&node, volume) && !bind.read_only);
    std::fs::write(folder(&node, volume).join("file"), "kept").unwrap();
    std::fs::write(folder(&node, other).join("file"), "other").unwrap();
    node.reach(&executor, first, 2, stop(), Phase::Stopped).await;
    let removed = node.reach(&executor, first, 3, remove(), Phase::Removed).await;
    let receipt = opened(&node, &removed);
    assert_eq!(receipt.volumes_kept, [volume], "the receipt names what stays");
    assert!(receipt.left.is_nothing() && receipt.removed.iter().all(|one| one.name != volume.to_string()));

    // As after a reboot: a new agent, and an engine that has forgotten.
    executor.shutdown().await;
    drop(executor);
    let executor = node.start(Faults::none()).await;
    let mounted = ComponentSpec {
        volumes: vec![VolumeMount { read_only: true, ..at("/elsewhere", volume) }],
        ..component("reader")
    };
    node.reach(&executor, second, 1, launch(vec![mounted]), Phase::Running).await;
    assert!(engine.plans(second)[0].binds.iter().any(|bind| bind.read_only && bind.target == "/elsewhere"));
    assert_eq!(std::fs::read_to_string(folder(&node, volume).join("file")).unwrap(), "kept");

    // In use it stays, whatever is ordered; and goes once it is free.
    node.order(&executor, volume, 1, remove_volume(volume)).await.unwrap();
    let waiting = wait_for(&executor, volume, "a complaint", |report| report.reason.is_some()).await;
    assert_eq!((waiting.phase, waiting.reason), (Phase::Removing, Some(FailureReason::VolumeUnusable)));
    assert!(folder(&node, volume).join("file").exists());
    node.order(&executor, second, 2, remove()).await.unwrap();
    let gone = wait_phase(&executor, volume, 1, Phase::Removed).await;
    let receipt = opened(&node, &gone);
    assert!(receipt.instance_id == volume && receipt.left.is_nothing() && receipt.volumes_kept.is_empty());
    assert_eq!((receipt.removed[0].kind.as_str(), receipt.removed.len()), ("volume", 1));
    assert!(!folder(&node, volume).exists());
    assert_eq!(std::fs::read_to_string(folder(&node, other).join("file")).unwrap(), "other");
    assert_eq!(engine.containers(), 1, "the third goes on");
    // Said again, it is said again.
    node.order(&executor, volume, 1, remove_volume(volume)).await.unwrap();
    executor.acknowledged(volume, 1, Phase::Removed).await;
    assert!(executor.report_full().instances.iter().all(|report| report.instance_id != volume));
}

/// What was never mounted has nothing to remove; an order about another volume than it names is refused.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn orders_about_volumes_are_checked() {
    let node = Node::new(Arc::new(SimulatedRuntime::new()));
    let executor = node.start(Faults::none()).await;
    let (volume, instance) = (random_id(), random_id());
    let refused = node.order(&executor, instance, 1, remove_volume(volume)).await.unwrap_err();
    assert_eq!(refused.refusal, Refusal::SpecRefused);
    node.reach(&executor, instance, 1, launch(vec![component("main")]), Phase::Running).await;
    let refused = node.order(&executor, instance, 2, remove_volume(instance)).await.unwrap_err();
    assert_eq!(refused.refusal, Refusal::Contradiction, "an instance is no volume");
    let gone = node.reach(&executor, volume, 1, remove_volume(volume), Phase::Removed).await;
    assert!(opened(&node, &gone).removed.is_empty());
}

/// I-06, I-08: with a real engine and real processes: written by one instance, read by the next, gone after the order.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn docker_files_in_a_volume_outlive_the_instance() {
    let real = Real::new("").await;
    let executor = real.node.start(Faults::none()).await;
    let (volume, other) = (random_id(), random_id());
    let (first, second) = (random_id(), random_id());
    let writer = shell("echo precious > /work/file && echo written; cat /work/file");
    real.node.reach(&executor, first, 1, with(volume, writer), Phase::Running).await;
    wait_line(&executor, first, "written").await;
    let removed = real.node.reach(&executor, first, 2, remove(), Phase::Removed).await;
    assert_eq!(opened(&real.node, &removed).volumes_kept, [volume]);

    let reader = ComponentSpec {
        volumes: vec![VolumeMount { read_only: true, ..at("/work", volume) }, at("/other", other)],
        ..shell(
            "echo found $(cat /work/file); echo x > /work/no || echo read-only; touch /other/mine && echo both",
        )
    };
    real.node.reach(&executor, second, 1, launch(vec![reader]), Phase::Running).await;
    assert_eq!(wait_line(&executor, second, "found").await, "found precious");
    wait_line(&executor, second, "read-only").await;
    wait_line(&executor, second, "both").await;
    let mounts = inspect(&format!("gpuaas-{second}-main-g1"))["Mounts"].clone();
    let writable = |target: &str| {
        let all = mounts.as_array().unwrap();
        all.iter().find(|mount| mount["Destination"] == target).unwrap()["RW"].clone()
    };
    assert_eq!((writable("/work"), writable("/other")), (false.into(), true.into()));
    real.node.reach(&executor, second, 2, stop(), Phase::Stopped).await;
    real.node.reach(&executor, volume, 1, remove_volume(volume), Phase::Removed).await;
    assert!(!folder(&real.node, volume).exists());
    assert!(folder(&real.node, other).join("mine").exists(), "nothing else was touched");
}

/// A volume with files in it changes no hands: an app of another user is refused and told why, until the owner opens it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn docker_files_of_another_user_are_left_alone() {
    let real = Real::new("").await;
    let executor = real.node.start(Faults::none()).await;
    let (volume, first, second) = (random_id(), random_id(), random_id());
    let user =
        |uid: u32, script: &str| ComponentSpec { user: RunAs::User { uid, gid: uid }, ..shell(script) };
    let owner = user(3001, "touch /work/mine && echo done");
    real.node.reach(&executor, first, 1, with(volume, owner), Phase::Running).await;
    wait_line(&executor, first, "done").await;
    real.node.reach(&executor, first, 2, stop(), Phase::Stopped).await;
    let order = with(volume, user(3002, "ls /work; echo reads"));
    let failed = real.node.reach(&executor, second, 1, order.clone(), Phase::Failed).await;
    assert_eq!(failed.reason, Some(FailureReason::VolumeUnusable));
    assert!(failed.detail.unwrap().contains("belong to user 3001"), "it says whose they are");
    let opens = with(volume, user(3001, "chmod 777 /work && echo open"));
    real.node.reach(&executor, first, 3, opens, Phase::Running).await;
    wait_line(&executor, first, "open").await;
    real.node.reach(&executor, first, 4, stop(), Phase::Stopped).await;
    real.node.reach(&executor, second, 2, order, Phase::Running).await;
    wait_line(&executor, second, "reads").await;
}
