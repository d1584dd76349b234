//! Each launch has an identity of its own: a key made on the node, shown to the platform, seen by its containers alone.

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use gpuaas_agent_protocol::report::Phase;
use gpuaas_agent_protocol::spec::{ComponentSpec, Egress, RunAs};
use gpuaas_agent_protocol::{FailureReason, receipt};
use gpuaas_faults::Faults;
use gpuaas_node_agent::executor::Executor;
use gpuaas_node_agent::runtime::ContainerPlan;
use gpuaas_node_agent::runtime::simulated::SimulatedRuntime;
use ring::signature::{Ed25519KeyPair, KeyPair as _};
use serde_json::Value;
use uuid::Uuid;

use crate::docker::{Real, inspect, shell};
use crate::support::{Mood, Node, component, launch, random_id, remove, stop, wait_for, wait_phase};

fn simulated() -> (SimulatedRuntime, Node) {
    let engine = SimulatedRuntime::new();
    let node = Node::new(Arc::new(engine.clone()));
    (engine, node)
}

fn env<'a>(plan: &'a ContainerPlan, name: &str) -> Option<&'a str> {
    plan.env.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
}

fn read(folder: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(folder.join("identity.json")).unwrap()).unwrap()
}

fn seed(file: &Value) -> Vec<u8> {
    let pem = file["private_key"].as_str().unwrap();
    let body: String = pem.lines().filter(|line| !line.starts_with('-')).collect();
    STANDARD.decode(body).unwrap()[16..].to_vec()
}

/// The public half of the private key in a file, as it was shown.
fn public(file: &Value) -> String {
    let pair = Ed25519KeyPair::from_seed_unchecked(&seed(file)).unwrap();
    URL_SAFE_NO_PAD.encode(pair.public_key().as_ref())
}

/// Every file below a folder that holds these bytes.
fn holding(root: &Path, wanted: &[u8], found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(root).into_iter().flatten().flatten() {
        let path = entry.path();
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            holding(&path, wanted, found);
        } else if std::fs::read(&path).is_ok_and(|text| text.windows(wanted.len()).any(|part| part == wanted))
        {
            found.push(path);
        }
    }
}

fn only(engine: &SimulatedRuntime, instance: Uuid) -> ContainerPlan {
    let mut plans = engine.plans(instance);
    assert_eq!(plans.len(), 1);
    plans.remove(0)
}

/// K-08, L-09: the containers of a launch get one key, in files that their users alone can read, and nothing of it stands
/// anywhere else.
#[tokio::test]
async fn a_launch_gets_a_key_that_its_containers_alone_can_read() {
    let (engine, node) = simulated();
    let (executor, instance) = (node.start(Faults::none()).await, random_id());
    let side = ComponentSpec { user: RunAs::User { uid: 4321, gid: 4322 }, ..component("side") };
    node.reach(&executor, instance, 1, launch(vec![component("main"), side]), Phase::Running).await;
    let plans = engine.plans(instance);
    assert_eq!(plans.len(), 2);
    let mut files = BTreeSet::new();
    for plan in &plans {
        let folder = plan.secrets.as_deref().expect("a folder");
        let about = std::fs::metadata(folder.join("identity.json")).unwrap();
        assert_eq!((about.mode() & 0o7777, about.uid(), about.gid()), (0o400, plan.user.uid, plan.user.gid));
        let about = std::fs::metadata(folder).unwrap();
        assert_eq!((about.mode() & 0o7777, about.uid()), (0o500, plan.user.uid));
        let file = read(folder);
        assert_eq!(env(plan, "GPUAAS_SA_ID"), file["service_account_id"].as_str());
        assert_eq!(env(plan, "GPUAAS_SA_KEY_FILE"), Some("/run/gpuaas/identity.json"));
        assert_eq!(
            (&file["app_instance_id"], &file["generation"]),
            (&instance.to_string().into(), &1.into())
        );
        assert_eq!(file["audience"], "the platform");
        files.insert(file.to_string());
        for (name, value) in &plan.env {
            assert!(!value.contains("PRIVATE") && !value.contains(&STANDARD.encode(seed(&file))), "{name}");
        }
    }
    assert_ne!(plans[0].secrets, plans[1].secrets, "each its own folder");
    assert_eq!(files.len(), 1, "one key for all");
    let file: Value = serde_json::from_str(files.first().unwrap()).unwrap();
    let shown = node.gate.shown.lock().unwrap().clone();
    assert_eq!(shown, [(instance, 1, public(&file))], "only the public half went out, once");
    let secret = file["private_key"].as_str().unwrap().lines().nth(1).unwrap().as_bytes().to_vec();
    let mut found = Vec::new();
    holding(node.folder.path(), &secret, &mut found);
    assert_eq!(found, Vec::<PathBuf>::new(), "nothing of it in journal, scratch or logs");
    holding(node.secrets.path(), &secret, &mut found);
    assert_eq!(found.len(), 2, "the search finds what is there");
}

/// K-08, attack 21: a stop takes the key away; the next launch has another. The receipt names what went.
#[tokio::test]
async fn a_key_goes_with_its_launch() {
    let (engine, node) = simulated();
    let (executor, instance) = (node.start(Faults::none()).await, random_id());
    let up = launch(vec![component("main")]);
    node.reach(&executor, instance, 1, up.clone(), Phase::Running).await;
    let first = read(only(&engine, instance).secrets.as_deref().unwrap());
    node.reach(&executor, instance, 2, stop(), Phase::Stopped).await;
    assert_eq!(std::fs::read_dir(node.secrets.path()).unwrap().count(), 0, "nothing after a stop");
    node.reach(&executor, instance, 3, up.clone(), Phase::Running).await;
    let second = read(only(&engine, instance).secrets.as_deref().unwrap());
    assert_ne!(public(&first), public(&second));
    assert_eq!(second["generation"], 3);
    // A launch right after a launch: what the former one had goes, though nobody stopped it.
    node.reach(&executor, instance, 4, up, Phase::Running).await;
    let third = only(&engine, instance).secrets.unwrap();
    let launches = std::fs::read_dir(third.parent().unwrap().parent().unwrap()).unwrap().count();
    assert_eq!((launches, read(&third)["generation"].clone()), (1, 4.into()));
    let removed = node.reach(&executor, instance, 5, remove(), Phase::Removed).await;
    let receipt = receipt::open(&removed.receipt.unwrap(), node.key.public_key().as_ref()).unwrap();
    let secrets: Vec<_> = receipt.removed.iter().filter(|removed| removed.kind == "secret").collect();
    assert_eq!((secrets.len(), receipt.left.secrets), (3, 0), "{secrets:?}");
    assert_eq!(std::fs::read_dir(node.secrets.path()).unwrap().count(), 0);
}

/// K-08: an agent that comes back goes on with the key that is there, and asks nobody.
#[tokio::test]
async fn a_new_agent_goes_on_with_the_key_that_is_there() {
    let (engine, node) = simulated();
    let (executor, instance) = (node.start(Faults::none()).await, random_id());
    node.reach(&executor, instance, 1, launch(vec![component("main")]), Phase::Running).await;
    let before = read(only(&engine, instance).secrets.as_deref().unwrap());
    executor.shutdown().await;
    drop(executor);
    *node.gate.mood.lock().unwrap() = Mood::Away;
    let executor = node.start(Faults::none()).await;
    wait_phase(&executor, instance, 1, Phase::Running).await;
    // It even restarts without the platform: the files are still there.
    engine.crash(instance, "main", 1);
    wait_for(&executor, instance, "a restart", |report| {
        report.phase == Phase::Running && report.components.iter().any(|c| c.restarts == 1 && c.ready)
    })
    .await;
    assert_eq!(read(only(&engine, instance).secrets.as_deref().unwrap()), before);
    assert_eq!(node.gate.shown.lock().unwrap().len(), 1);
}

/// What a reboot leaves: containers that ended, and no tmpfs.
async fn reboot(engine: &SimulatedRuntime, node: &Node, executor: Executor, instance: Uuid) {
    executor.shutdown().await;
    drop(executor);
    engine.crash(instance, "main", 137);
    for entry in std::fs::read_dir(node.secrets.path()).unwrap() {
        std::fs::remove_dir_all(entry.unwrap().path()).unwrap();
    }
}

/// L-09: after a reboot without a link the instance waits and says for what; with the link it gets another key.
#[tokio::test]
async fn after_a_reboot_without_a_link_it_waits_for_its_secret() {
    let (engine, node) = simulated();
    let (executor, instance) = (node.start(Faults::none()).await, random_id());
    node.reach(&executor, instance, 1, launch(vec![component("main")]), Phase::Running).await;
    let before = read(only(&engine, instance).secrets.as_deref().unwrap());
    *node.gate.mood.lock().unwrap() = Mood::Away;
    reboot(&engine, &node, executor, instance).await;
    let executor = node.start(Faults::none()).await;
    let waiting = wait_for(&executor, instance, "its complaint", |report| {
        report.reason == Some(FailureReason::SecretUnavailable)
    })
    .await;
    assert_ne!(waiting.phase, Phase::Failed, "it waits: {waiting:?}");
    *node.gate.mood.lock().unwrap() = Mood::Willing;
    wait_for(&executor, instance, "its return", |report| {
        report.phase == Phase::Running && report.components.iter().any(|c| c.restarts == 1 && c.ready)
    })
    .await;
    let after = read(only(&engine, instance).secrets.as_deref().unwrap());
    assert_ne!(public(&before), public(&after));
    assert_eq!(after["service_account_id"], before["service_account_id"]);
}

/// K-08: where the platform says no, the launch fails and says why; where it is busy, the launch waits.
#[tokio::test]
async fn a_no_of_the_platform_ends_the_launch() {
    let (engine, node) = simulated();
    let (executor, instance) = (node.start(Faults::none()).await, random_id());
    *node.gate.mood.lock().unwrap() = Mood::Refuses(403);
    let failed = node.reach(&executor, instance, 1, launch(vec![component("main")]), Phase::Failed).await;
    assert_eq!(failed.reason, Some(FailureReason::SecretUnavailable));
    assert_eq!(failed.detail.as_deref(), Some("no: No."));
    assert_eq!(engine.containers(), 0);
    *node.gate.mood.lock().unwrap() = Mood::Refuses(503);
    node.order(&executor, instance, 2, launch(vec![component("main")])).await.unwrap();
    wait_for(&executor, instance, "a complaint", |report| {
        report.generation == 2 && report.reason == Some(FailureReason::SecretUnavailable)
    })
    .await;
    *node.gate.mood.lock().unwrap() = Mood::Willing;
    wait_phase(&executor, instance, 2, Phase::Running).await;
}

/// L-09: what would reach a disk is not written at all.
#[tokio::test]
async fn a_folder_on_a_disk_is_refused() {
    let (engine, mut node) = simulated();
    node.secrets = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    let (executor, instance) = (node.start(Faults::none()).await, random_id());
    let failed = node.reach(&executor, instance, 1, launch(vec![component("main")]), Phase::Failed).await;
    assert_eq!(failed.reason, Some(FailureReason::SecretUnavailable));
    assert!(failed.detail.unwrap().contains("is not on a tmpfs"));
    assert_eq!((engine.containers(), node.gate.shown.lock().unwrap().len()), (0, 0));
    assert_eq!(std::fs::read_dir(node.secrets.path()).unwrap().count(), 0);
}

/// Who may not reach even the platform gets no key for it.
#[tokio::test]
async fn without_any_egress_there_is_no_identity() {
    let (engine, node) = simulated();
    let (executor, instance) = (node.start(Faults::none()).await, random_id());
    let alone = ComponentSpec { egress: Egress::None, ..component("main") };
    node.reach(&executor, instance, 1, launch(vec![alone]), Phase::Running).await;
    let plan = only(&engine, instance);
    assert_eq!((plan.secrets.as_deref(), env(&plan, "GPUAAS_SA_ID")), (None, None));
    assert!(node.gate.shown.lock().unwrap().is_empty());
}

/// K-08, L-09, on the real engine: the process reads its file and cannot write it; `docker inspect` shows nothing of the key;
/// after the stop nothing is left on the node.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_container_reads_its_key_and_inspect_shows_none() {
    let real = Real::new("app").await;
    let node = &real.node;
    let (executor, instance) = (node.start(Faults::none()).await, random_id());
    let script = "cat $GPUAAS_SA_KEY_FILE; id; touch /run/gpuaas/x || echo not-writable; sleep 1000";
    let report = node.reach(&executor, instance, 1, launch(vec![shell(script)]), Phase::Running).await;
    let id = report.components[0].container_id.clone().expect("a container");
    let logs = || {
        let output = Command::new("docker").args(["logs", &id]).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let begun = std::time::Instant::now();
    while !logs().contains("not-writable") {
        assert!(begun.elapsed() < crate::support::PATIENCE, "{}", logs());
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    let text = logs();
    let file: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    assert!(text.contains("uid=1234"), "{text}");
    assert_eq!(
        node.gate.shown.lock().unwrap()[0].2,
        public(&file),
        "the key it has is the key that was shown"
    );
    let about =
        std::fs::metadata(node.secrets.path().join(instance.to_string()).join("1-1/main/identity.json"));
    let about = about.unwrap();
    assert_eq!((about.mode() & 0o7777, about.uid(), about.gid()), (0o400, 1234, 1235));
    let all = inspect(&id).to_string();
    let secret = file["private_key"].as_str().unwrap().lines().nth(1).unwrap();
    assert!(
        !all.contains(secret) && !all.contains("PRIVATE KEY") && all.contains("GPUAAS_SA_KEY_FILE"),
        "{all}"
    );
    node.reach(&executor, instance, 2, stop(), Phase::Stopped).await;
    assert_eq!(std::fs::read_dir(node.secrets.path()).unwrap().count(), 0);
    node.reach(&executor, instance, 3, remove(), Phase::Removed).await;
}
