//! What every engine has to do, as one test. Called with a real engine and with the simulated one.

use std::time::Duration;

use futures_util::TryStreamExt as _;
use gpuaas_agent_protocol::link::LogQuery;
use uuid::Uuid;

use super::labels::Labels;
use super::subnet::Subnet;
use super::{ContainerPlan, ContainerRuntime, NetworkMade, NetworkPlan, State, User, network_name};

/// What the suite needs of its caller: an image that is there and a command in it that runs until SIGTERM.
pub struct Subject {
    pub node: Uuid,
    pub instance: Uuid,
    pub image: String,
    pub command: Vec<String>,
    /// A command that ends at once with 0, for `exec`.
    pub succeeds: Vec<String>,
    pub subnets: Vec<Subnet>,
}

/// Walks one container through its life, asking for most things twice.
pub async fn runtime_suite(runtime: &dyn ContainerRuntime, subject: &Subject) {
    let plan = make_network(runtime, subject).await;
    let id = runtime.ensure_container(&plan).await.expect("a container is made");
    assert_eq!(runtime.ensure_container(&plan).await.as_ref(), Ok(&id), "made once");
    let other = ContainerPlan {
        labels: Labels { order: "sha256:11".to_owned(), ..plan.labels.clone() },
        ..plan.clone()
    };
    assert!(runtime.ensure_container(&other).await.is_err(), "the same name for another order is a conflict");
    let made = runtime.find_container(&id).await.unwrap().expect("it is there");
    assert_eq!((&made.state, &made.labels, &made.name), (&State::Created, &plan.labels, &plan.name()));

    runs(runtime, subject, &id).await;

    runtime.stop(&id, Duration::from_secs(5)).await.expect("it stops");
    runtime.stop(&id, Duration::from_secs(5)).await.expect("a stopped one stops again");
    runtime.kill(&id).await.expect("a stopped one is killed without complaint");
    let stopped = runtime.find_container(&id).await.unwrap().unwrap();
    assert!(matches!(stopped.state, State::Exited { .. }), "{:?}", stopped.state);
    runtime.start(&id).await.expect("the same container starts afresh");
    let again = runtime.find_container(&id).await.unwrap().unwrap();
    assert!(again.state.is_running() && again.id == id);
    let waited = runtime.wait_exit(&id);
    let (waited, killed) = tokio::join!(waited, runtime.kill(&id));
    waited.expect("the end is noticed");
    killed.unwrap();

    let strangers = runtime.list(Uuid::from_u128(0xdead), None).await.unwrap();
    assert!(strangers.is_nothing(), "another node's label shows nothing of ours");
    let found = runtime.list(subject.node, Some(subject.instance)).await.unwrap();
    assert_eq!((found.containers.len(), found.networks.len()), (1, 1));
    assert!(runtime.remove_network(&plan.network).await.is_err() || !runtime.is_simulated());
    runtime.remove_container(&id).await.unwrap();
    runtime.remove_container(&id).await.expect("gone is fine");
    runtime.remove_network(&plan.network).await.unwrap();
    runtime.remove_network(&plan.network).await.expect("gone is fine");
    assert!(runtime.list(subject.node, None).await.unwrap().is_nothing());
    assert_eq!(runtime.find_container(&id).await.unwrap(), None);
    runtime.wait_exit(&id).await.expect("what is gone has ended");
    assert_eq!(runtime.find_image_user("127.0.0.1:1/none@sha256:00").await.ok().flatten(), None);
}

async fn make_network(runtime: &dyn ContainerRuntime, subject: &Subject) -> ContainerPlan {
    let labels = Labels {
        node: subject.node,
        instance: subject.instance,
        component: None,
        generation: 3,
        era: 1,
        order: "sha256:00".to_owned(),
    };
    let mut made = NetworkMade::Overlaps;
    for subnet in &subject.subnets {
        let plan = NetworkPlan { labels: labels.clone(), subnet: *subnet, internal: true };
        made = runtime.ensure_network(&plan).await.expect("a network is made");
        if made == NetworkMade::Made {
            assert_eq!(runtime.ensure_network(&plan).await, Ok(NetworkMade::Made), "made once");
            assert!(runtime.list_subnets().await.unwrap().contains(subnet));
            let overlap = NetworkPlan {
                labels: Labels {
                    instance: Uuid::from_u128(subject.instance.as_u128() ^ 1),
                    ..labels.clone()
                },
                ..plan
            };
            assert_eq!(runtime.ensure_network(&overlap).await, Ok(NetworkMade::Overlaps));
            break;
        }
    }
    assert_eq!(made, NetworkMade::Made, "none of the ranges was free");
    ContainerPlan {
        labels: Labels { component: Some("main".to_owned()), ..labels },
        image: subject.image.clone(),
        command: subject.command.clone(),
        env: vec![("GREETING".to_owned(), "hello".to_owned())],
        user: User::numeric((65532, 65532)),
        cpu_millis: 500,
        memory_mib: 32,
        pids: 16,
        read_only_root: true,
        tmpfs: vec![],
        binds: vec![],
        secrets: None,
        gpus: vec![],
        network: network_name(subject.instance),
        resolver: None,
    }
}

async fn runs(runtime: &dyn ContainerRuntime, subject: &Subject, id: &str) {
    runtime.start(id).await.expect("it starts");
    runtime.start(id).await.expect("a running one starts again");
    let view = runtime.find_container(id).await.unwrap().unwrap();
    assert!(
        view.state.is_running() && view.pid.is_some() && view.started_at.is_some() && view.address.is_some()
    );
    assert_eq!(runtime.exec(id, &subject.succeeds).await, Ok(0));
    let query = LogQuery { tail: Some(10), ..LogQuery::default() };
    let lines: Vec<_> = runtime.logs(&view, &query).await.unwrap().try_collect().await.unwrap();
    assert!(lines.iter().all(|line| line.component == "main"), "{lines:?}");
    let stats = runtime.stats(&view).await.expect("figures");
    assert_eq!((stats.name.as_str(), stats.memory_limit_bytes), ("main", 32 * 1024 * 1024));
    let waiting = tokio::time::timeout(Duration::from_millis(50), runtime.wait_exit(id)).await;
    assert!(waiting.is_err(), "it still runs");
}
