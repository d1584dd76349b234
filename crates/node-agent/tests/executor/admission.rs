//! Orders that must not be obeyed: forged, mutated, late, replayed. None of them reaches the engine.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use gpuaas_agent_protocol::report::Phase;
use gpuaas_agent_protocol::task::{self, Refusal, SignedTask, Task};
use gpuaas_faults::Faults;
use gpuaas_node_agent::executor::Executor;
use gpuaas_node_agent::runtime::simulated::SimulatedRuntime;
use ring::signature::KeyPair as _;
use uuid::Uuid;

use crate::support::{NOW, Node, component, launch, new_key, random_id, remove, stop};

const SECOND: i64 = 1_000_000;

/// A node that runs generation 5 of an instance, sent by the lease holder of epoch 3 in era 2.
async fn settled() -> (Node, SimulatedRuntime, Executor, Uuid) {
    let engine = SimulatedRuntime::new();
    let node = Node::new(Arc::new(engine.clone()));
    let executor = node.start(Faults::none()).await;
    let instance = random_id();
    let task = settled_task(&node, instance);
    executor.accept(&node.sign(&task)).await.unwrap();
    crate::support::wait_phase(&executor, instance, 5, Phase::Running).await;
    (node, engine, executor, instance)
}

fn settled_task(node: &Node, instance: Uuid) -> Task {
    Task { epoch: 3, era: 2, ..node.task(instance, 5, launch(vec![component("main")])) }
}

/// The next proper order, to be spoilt.
fn next(node: &Node, instance: Uuid) -> Task {
    Task { epoch: 3, era: 2, ..node.task(instance, 6, stop()) }
}

type Forgery = (&'static str, Refusal, SignedTask);

fn by_content(node: &Node, instance: Uuid) -> Vec<Forgery> {
    let spoilt = |name: &'static str, refusal: Refusal, spoil: &dyn Fn(&mut Task)| {
        let mut task = next(node, instance);
        spoil(&mut task);
        (name, refusal, node.sign(&task))
    };
    let with_order = |task: &mut Task, order: gpuaas_agent_protocol::task::Order| {
        task.order_digest = order.digest();
        task.order = order;
    };
    vec![
        spoilt("another node", Refusal::WrongNode, &|t| t.node_id = random_id()),
        spoilt("no node", Refusal::WrongNode, &|t| t.node_id = Uuid::nil()),
        spoilt("protocol 0", Refusal::WrongProtocol, &|t| t.protocol = 0),
        spoilt("protocol 2", Refusal::WrongProtocol, &|t| t.protocol = 2),
        spoilt("protocol 65535", Refusal::WrongProtocol, &|t| t.protocol = u16::MAX),
        spoilt("expired by a second", Refusal::Expired, &|t| t.expires_at = NOW - SECOND),
        spoilt("expired in 1970", Refusal::Expired, &|t| (t.issued_at, t.expires_at) = (0, 1)),
        spoilt("never valid", Refusal::Expired, &|t| t.expires_at = i64::MIN),
        spoilt("issued in an hour", Refusal::NotYetValid, &|t| t.issued_at = NOW + 3600 * SECOND),
        spoilt("issued at the end of time", Refusal::NotYetValid, &|t| t.issued_at = i64::MAX),
        spoilt("valid for a week", Refusal::Malformed, &|t| t.expires_at = NOW + 7 * 86_400 * SECOND),
        spoilt("valid for ever", Refusal::Malformed, &|t| t.expires_at = i64::MAX),
        spoilt("an older era", Refusal::StaleEra, &|t| t.era = 1),
        spoilt("era 0", Refusal::StaleEra, &|t| t.era = 0),
        spoilt("an older epoch", Refusal::StaleEpoch, &|t| t.epoch = 2),
        spoilt("epoch 0", Refusal::StaleEpoch, &|t| t.epoch = 0),
        spoilt("an older generation", Refusal::StaleGeneration, &|t| t.generation = 4),
        spoilt("generation 0", Refusal::StaleGeneration, &|t| t.generation = 0),
        spoilt("same generation, other order", Refusal::Contradiction, &|t| t.generation = 5),
        spoilt("same generation, removal", Refusal::Contradiction, &|t| {
            t.generation = 5;
            with_order(t, remove());
        }),
        spoilt("same generation, one byte of the spec", Refusal::Contradiction, &|t| {
            t.generation = 5;
            let mut main = component("main");
            main.memory_mib += 1;
            with_order(t, launch(vec![main]));
        }),
        spoilt("the digest of another order", Refusal::DigestMismatch, &|t| {
            t.order_digest = remove().digest();
        }),
        spoilt("another order under the digest", Refusal::DigestMismatch, &|t| t.order = remove()),
        spoilt("an hour of grace", Refusal::SpecRefused, &|t| {
            with_order(t, gpuaas_agent_protocol::task::Order::Stop { grace_seconds: 3600 });
        }),
        spoilt("no components", Refusal::SpecRefused, &|t| with_order(t, launch(vec![]))),
        spoilt("one component twice", Refusal::SpecRefused, &|t| {
            with_order(t, launch(vec![component("a"), component("a")]));
        }),
        spoilt("a spec beyond its size", Refusal::TooLarge, &|t| {
            let mut main = component("main");
            main.command = vec!["x".repeat(30_000); 10];
            with_order(t, launch(vec![main]));
        }),
        spoilt("an order beyond any size", Refusal::TooLarge, &|t| {
            let mut main = component("main");
            main.command = vec!["x".repeat(30_000); 20];
            with_order(t, launch(vec![main]));
        }),
    ]
}

fn by_envelope(node: &Node, instance: Uuid) -> Vec<Forgery> {
    let good = node.sign(&next(node, instance));
    let flipped = |at: usize| {
        let mut bytes = good.payload.clone().into_bytes();
        let at = at % bytes.len();
        bytes[at] ^= 1;
        SignedTask { payload: String::from_utf8(bytes).unwrap(), ..good.clone() }
    };
    let signature = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = BASE64.decode(&good.signature).unwrap();
        change(&mut bytes);
        SignedTask { signature: BASE64.encode(bytes), ..good.clone() }
    };
    let text = |payload: &str| {
        let bytes = [&b"gpuaas-task-v1\0"[..], payload.as_bytes()].concat();
        let signature = BASE64.encode(node.server.sign(&bytes).as_ref());
        SignedTask { key_id: node.server_key_id, payload: payload.to_owned(), signature }
    };
    let other = node.sign(&next(node, instance));
    let unframed = BASE64.encode(node.server.sign(good.payload.as_bytes()).as_ref());
    let stranger = new_key();
    let mut list = vec![
        (
            "a key nobody knows",
            Refusal::UnknownKey,
            task::sign(&next(node, instance), random_id(), &node.server),
        ),
        ("the nil key", Refusal::UnknownKey, SignedTask { key_id: Uuid::nil(), ..good.clone() }),
        (
            "a stranger's signature",
            Refusal::BadSignature,
            task::sign(&next(node, instance), node.server_key_id, &stranger),
        ),
        (
            "the node's own signature",
            Refusal::BadSignature,
            task::sign(&next(node, instance), node.server_key_id, &node.key),
        ),
        (
            "the signature of another order",
            Refusal::BadSignature,
            SignedTask { signature: other.signature, ..good.clone() },
        ),
        (
            "a signature without its context",
            Refusal::BadSignature,
            SignedTask { signature: unframed, ..good.clone() },
        ),
        ("no signature", Refusal::BadSignature, SignedTask { signature: String::new(), ..good.clone() }),
        ("no base64", Refusal::BadSignature, SignedTask { signature: "§".to_owned(), ..good.clone() }),
        ("a short signature", Refusal::BadSignature, signature(&|bytes| bytes.truncate(63))),
        ("a long signature", Refusal::BadSignature, signature(&|bytes| bytes.push(0))),
        ("a zero signature", Refusal::BadSignature, signature(&|bytes| bytes.fill(0))),
        ("a flipped signature", Refusal::BadSignature, signature(&|bytes| bytes[5] ^= 1)),
        ("an empty payload, signed", Refusal::Malformed, text("")),
        ("no object, signed", Refusal::Malformed, text("[]")),
        (
            "an unknown field, signed",
            Refusal::Malformed,
            text(&good.payload.replacen('{', "{\"privileged\":true,", 1)),
        ),
        (
            "an unknown order, signed",
            Refusal::Malformed,
            text(&good.payload.replace("container.stop", "host.exec")),
        ),
        (
            "a negative generation, signed",
            Refusal::Malformed,
            text(&good.payload.replace("\"generation\":6", "\"generation\":-6")),
        ),
        (
            "a field twice, signed",
            Refusal::Malformed,
            text(&good.payload.replacen('{', "{\"generation\":9,", 1)),
        ),
        (
            "spaces at the end",
            Refusal::BadSignature,
            SignedTask { payload: format!("{} ", good.payload), ..good.clone() },
        ),
    ];
    list.extend((0..12).map(|index| ("a flipped byte", Refusal::BadSignature, flipped(index * 41 + 3))));
    list
}

/// T03.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_forged_order_is_obeyed_and_none_reaches_the_engine() {
    let (node, engine, executor, instance) = settled().await;
    let before = engine.counts();
    let mut forgeries = by_content(&node, instance);
    forgeries.extend(by_envelope(&node, instance));
    assert!(forgeries.len() >= 40, "{}", forgeries.len());
    for (name, refusal, signed) in &forgeries {
        let refused = executor.accept(signed).await.expect_err(name);
        assert_eq!(refused.refusal, *refusal, "{name}: {}", refused.message);
        assert!(!refused.message.is_empty());
    }
    assert_eq!(engine.counts().changes, before.changes, "the engine was left alone");
    assert_eq!(executor.status(instance).unwrap().phase, Phase::Running);
    executor.accept(&node.sign(&next(&node, instance))).await.expect("the unspoilt order is obeyed");
    crate::support::wait_phase(&executor, instance, 6, Phase::Stopped).await;
}

/// T01.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_order_is_heard_once_even_over_restarts() {
    let engine = SimulatedRuntime::new();
    let node = Node::new(Arc::new(engine.clone()));
    let executor = node.start(Faults::none()).await;
    let instance = random_id();
    let up = launch(vec![component("main")]);
    let first = node.sign(&node.task(instance, 1, up.clone()));
    executor.accept(&first).await.unwrap();
    crate::support::wait_phase(&executor, instance, 1, Phase::Running).await;
    assert_eq!(executor.accept(&first).await.unwrap_err().refusal, Refusal::Replayed);
    executor.shutdown().await;
    drop(executor);

    let executor = node.start(Faults::none()).await;
    assert_eq!(executor.accept(&first).await.unwrap_err().refusal, Refusal::Replayed, "after a restart");
    node.order(&executor, instance, 1, up.clone()).await.expect("the same wish with a fresh nonce is fine");
    let removed = node.sign(&node.task(instance, 2, remove()));
    executor.accept(&removed).await.unwrap();
    crate::support::wait_phase(&executor, instance, 2, Phase::Removed).await;
    executor.acknowledged(instance, 2, Phase::Removed).await;
    assert!(executor.report_full().instances.is_empty() && executor.status(instance).is_none());
    executor.shutdown().await;
    drop(executor);

    let executor = node.start(Faults::none()).await;
    for replay in [&first, &removed] {
        assert_eq!(executor.accept(replay).await.unwrap_err().refusal, Refusal::Replayed);
    }
    let late = node.order(&executor, instance, 1, up).await.unwrap_err();
    assert_eq!(
        late.refusal,
        Refusal::StaleGeneration,
        "a removed instance is not brought back by an old order"
    );
    assert_eq!(engine.counts().creates.len(), 1);
    node.order(&executor, instance, 2, remove()).await.expect("asked again, answered again");
    let again = crate::support::wait_phase(&executor, instance, 2, Phase::Removed).await;
    assert!(again.receipt.is_some());
}

/// T02, in small: orders of one instance in any order and number end where the highest generation says.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn shuffled_and_doubled_orders_end_where_the_last_one_says() {
    let engine = SimulatedRuntime::new();
    let node = Node::new(Arc::new(engine.clone()));
    let executor = node.start(Faults::none()).await;
    let instance = random_id();
    let up = launch(vec![component("main")]);
    let mut sent: Vec<SignedTask> = Vec::new();
    for generation in 1..=20 {
        let order = if generation % 2 == 0 { stop() } else { up.clone() };
        sent.push(node.sign(&node.task(instance, generation, order)));
    }
    for index in 0..60 {
        let _ = executor.accept(&sent[(index * 7) % 20]).await;
    }
    crate::support::wait_phase(&executor, instance, 20, Phase::Stopped).await;
    assert!(engine.plans(instance).is_empty());
    assert!(engine.counts().creates.values().all(|count| *count == 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restored_control_plane_counts_anew_in_a_new_era_and_restarts_nothing() {
    let (node, engine, executor, instance) = settled().await;
    let again = Task { era: 3, epoch: 1, ..settled_task(&node, instance) };
    executor.accept(&node.sign(&again)).await.expect("the same wish from after the restore");
    assert_eq!(executor.status(instance).unwrap().phase, Phase::Running);
    assert_eq!(engine.counts().starts, 1);
    let old = executor.accept(&node.sign(&next(&node, instance))).await.unwrap_err();
    assert_eq!(old.refusal, Refusal::StaleEra, "the old world has lost its say");
    let lower = Task { era: 4, epoch: 1, ..node.task(instance, 2, stop()) };
    executor.accept(&node.sign(&lower)).await.expect("generations count within their era");
    crate::support::wait_phase(&executor, instance, 2, Phase::Stopped).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_trust_nothing_is_obeyed_and_a_retired_key_is_not_either() {
    let engine = SimulatedRuntime::new();
    let node = Node::new(Arc::new(engine.clone()));
    let executor = Executor::start(node.options(&node.state(), Faults::none())).await.unwrap();
    let instance = random_id();
    let up = launch(vec![component("main")]);
    let refused = node.order(&executor, instance, 1, up.clone()).await.unwrap_err();
    assert_eq!(refused.refusal, Refusal::UnknownKey);
    let mut trust = node.trust();
    trust.verifiers[0].accepted_until = Some(NOW - SECOND);
    executor.set_trust(trust.clone()).await;
    assert_eq!(
        node.order(&executor, instance, 1, up.clone()).await.unwrap_err().refusal,
        Refusal::UnknownKey
    );
    trust.verifiers[0].public_key = BASE64.encode(new_key().public_key().as_ref());
    trust.verifiers[0].accepted_until = None;
    executor.set_trust(trust).await;
    assert_eq!(node.order(&executor, instance, 1, up).await.unwrap_err().refusal, Refusal::BadSignature);
    assert_eq!(engine.counts().changes, 0);
}
