//! Every step of every operation is broken in every way; each time the node ends where it should.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use gpuaas_agent_protocol::receipt;
use gpuaas_agent_protocol::report::{InstanceReport, Phase};
use gpuaas_agent_protocol::task::Order;
use gpuaas_faults::{Action, Faults, points};
use gpuaas_node_agent::executor::Executor;
use gpuaas_node_agent::runtime::ContainerRuntime as _;
use gpuaas_node_agent::runtime::simulated::SimulatedRuntime;
use ring::signature::KeyPair as _;
use uuid::Uuid;

use crate::support::{
    Node, at, component, exec_probe, launch, random_id, remove, remove_volume, stop, wait_phase,
};

/// The last step is about the volume that the others mount.
fn script(volume: Uuid) -> Vec<(Order, Phase)> {
    let mut main = component("main");
    main.readiness = Some(exec_probe(&["true"]));
    main.volumes = vec![at("/work", volume)];
    let up = launch(vec![main, component("side")]);
    vec![
        (up.clone(), Phase::Running),
        (stop(), Phase::Stopped),
        (up, Phase::Running),
        (remove(), Phase::Removed),
        (remove_volume(volume), Phase::Removed),
    ]
}

/// Sends an order until it is accepted, as the control plane does, and waits for its end.
async fn carry_out(
    node: &Node,
    executor: &Executor,
    instance: Uuid,
    generation: u64,
    step: &(Order, Phase),
) -> InstanceReport {
    while node.order(executor, instance, generation, step.0.clone()).await.is_err() {
        tokio::task::yield_now().await;
    }
    wait_phase(executor, instance, generation, step.1).await
}

/// Breaks one place during one operation. Tells whether the place was met at all.
async fn broken(point: &str, action: Action, broken_step: usize) -> bool {
    let engine = SimulatedRuntime::new();
    let node = Node::new(Arc::new(engine.clone()));
    let (instance, volume) = (random_id(), random_id());
    let script = script(volume);
    let mut met = false;
    let mut executor = node.start(Faults::none()).await;
    let mut ends = Vec::new();
    for (index, step) in script.iter().enumerate() {
        let generation = index as u64 + 1;
        let last = index == script.len() - 1;
        let (subject, generation) = if last { (volume, 1) } else { (instance, generation) };
        if index == script.len() - 2 {
            engine.leave_volume(node.id, instance, "left");
        }
        if last {
            std::fs::write(node.volumes().join(volume.to_string()).join("file"), "x").unwrap();
        }
        if index != broken_step {
            ends.push(carry_out(&node, &executor, subject, generation, step).await);
            continue;
        }
        let faults = Faults::at(point, action, 1);
        executor.shutdown().await;
        drop(executor);
        executor = node.start(faults.clone()).await;
        let done = tokio::select! {
            done = carry_out(&node, &executor, subject, generation, step) => Some(done),
            () = faults.died() => None,
        };
        met = faults.spent();
        executor.shutdown().await;
        drop(executor);
        executor = node.start(Faults::none()).await;
        ends.push(match done {
            Some(done) => done,
            None => carry_out(&node, &executor, subject, generation, step).await,
        });
    }
    let what = format!("{point} {action:?} in step {broken_step}");
    let made = engine.counts().creates;
    assert!(made.values().all(|count| *count == 1), "{what}: {made:?}");
    assert_eq!(made.len(), 4, "{what}: two components, launched twice: {made:?}");
    assert!(engine.list(node.id, None).await.unwrap().is_nothing(), "{what}");
    assert_eq!(std::fs::read_dir(node.scratch()).unwrap().count(), 0, "{what}");
    assert_eq!(std::fs::read_dir(node.state().join("logs")).unwrap().count(), 0, "{what}");
    assert_eq!(std::fs::read_dir(node.secrets.path()).unwrap().count(), 0, "{what}");
    assert!(node.door.open.lock().unwrap().is_empty(), "{what}");
    assert_eq!(std::fs::read_dir(node.volumes()).unwrap().count(), 0, "{what}");
    let open = |report: &InstanceReport| {
        let receipt = report.receipt.clone().expect("what is removed has a receipt");
        receipt::open(&receipt, node.key.public_key().as_ref()).expect("signed by the node")
    };
    let gone = open(&ends[4]);
    assert!(gone.left.is_nothing() && gone.instance_id == volume && gone.generation == 1, "{what}");
    assert_eq!(
        (gone.removed.len(), gone.removed[0].name.as_str()),
        (1, volume.to_string().as_str()),
        "{what}"
    );
    let receipt = open(&ends[3]);
    assert_eq!(receipt.volumes_kept, [volume], "{what}");
    assert!(receipt.left.is_nothing() && receipt.simulated && receipt.generation == 4, "{what}");
    let kinds: BTreeSet<&str> = receipt.removed.iter().map(|removed| removed.kind.as_str()).collect();
    assert_eq!(kinds, BTreeSet::from(["container", "network", "scratch", "secret", "volume"]), "{what}");
    assert_eq!(receipt.removed.iter().filter(|removed| removed.kind == "container").count(), 4, "{what}");
    executor.shutdown().await;
    met
}

async fn walk(action: Action) {
    let points: Vec<&str> = points().into_iter().filter(|point| point.starts_with("agent.")).collect();
    assert!(points.len() >= 15, "{points:?}");
    let mut met = BTreeSet::new();
    for point in &points {
        for step in 0..script(Uuid::nil()).len() {
            if broken(point, action, step).await {
                met.insert(*point);
            }
        }
    }
    assert_eq!(met, points.into_iter().collect(), "every place lies on the way of some operation");
}

/// C01, C03.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_death_at_any_step_converges() {
    walk(Action::Die).await;
}

/// C01, C03.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_error_at_any_step_converges() {
    walk(Action::Error).await;
}

/// C01, C03.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn any_step_can_be_done_twice() {
    walk(Action::Twice).await;
}

/// C01, C03.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn any_step_can_take_its_time() {
    walk(Action::Stall(Duration::from_millis(20))).await;
}
