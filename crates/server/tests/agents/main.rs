//! Nodes at their own listener: who is let in, what is asked over the links, and how they end.

mod world;

use futures_util::StreamExt as _;
use gpuaas_agent_protocol::link::LogQuery;
use gpuaas_control_plane::{ByteStream, Delivery, LinkError, NodeLink as _};
use gpuaas_domain::ids::InstanceId;
use gpuaas_server::agents::{CONTROL_PATH, DATA_PATH, Presence};
use gpuaas_tunnel::{Error as TunnelError, client_config_with_pin, dial};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::timeout;
use uuid::Uuid;

use world::{SOON, World, eventually, task};

const INSTANCE: InstanceId = InstanceId::new(Uuid::from_u128(7));

async fn echo(stream: &mut dyn ByteStream) {
    stream.write_all(b"hello").await.unwrap();
    let mut back = [0; 5];
    stream.read_exact(&mut back).await.unwrap();
    assert_eq!(&back, b"hello");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_is_called_over_its_two_links() {
    let w = World::start().await;
    let (node, links) = (w.node("t"), w.links());
    assert!(!links.is_connected(node) && links.last_seen(node).is_none());
    assert_eq!(links.send_task(node, &task("x")).await, Err(LinkError::NotConnected));

    let _control = w.control("t").await;
    eventually(|| links.is_connected(node)).await;
    assert_eq!(links.send_task(node, &task("x")).await, Ok(Delivery::Accepted));
    let Ok(Delivery::Refused(refused)) = links.send_task(node, &task("refuse")).await else { panic!() };
    assert_eq!((refused.refusal.name(), refused.message.as_str()), ("stale_era", "old"));
    for (payload, status, words) in [("fail", 500, "no"), ("conflict", 409, "not what was agreed")] {
        let answered = LinkError::Answered { status, message: words.to_owned() };
        assert_eq!(links.send_task(node, &task(payload)).await, Err(answered));
    }
    assert!(links.instances(node).await.unwrap().full);
    assert!(links.stats(node, INSTANCE).await.unwrap().simulated);

    assert_eq!(links.open(node, INSTANCE, "web", 8080).await.err(), Some(LinkError::NotConnected));
    let _data = w.data("t").await;
    eventually(|| links.last_seen(node).is_some()).await;
    let mut stream = loop {
        match links.open(node, INSTANCE, "web", 8080).await {
            Ok(stream) => break stream,
            Err(LinkError::NotConnected) => tokio::task::yield_now().await,
            Err(error) => panic!("{error}"),
        }
    };
    echo(&mut *stream).await;
    let refused = LinkError::Answered { status: 403, message: "this port is not declared".to_owned() };
    assert_eq!(links.open(node, INSTANCE, "web", 22).await.err(), Some(refused));
    assert!(matches!(links.open(node, INSTANCE, "not a name", 1).await.err(), Some(LinkError::Broken(_))));
    let seen = links.last_seen(node).unwrap();
    assert!(w.running.plane.now().unix_seconds() - seen.unix_seconds() < 30);
    assert_eq!(links.connected(), [node]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn logs_come_in_pieces_and_the_question_arrives_whole() {
    let w = World::start().await;
    let (node, links) = (w.node("t"), w.links());
    let _control = w.control("t").await;
    eventually(|| links.is_connected(node)).await;
    let query = LogQuery { component: Some("a&b c".into()), tail: Some(10), since: Some(-1), follow: true };
    let mut lines = links.logs(node, INSTANCE, query).await.unwrap();
    let mut all = Vec::new();
    while let Some(piece) = lines.next().await {
        all.extend(piece.unwrap());
    }
    assert_eq!(String::from_utf8(all).unwrap(), "component=a%26b%20c&tail=10&since=-1&follow=true\ntwo\n");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_link_takes_the_place_of_the_old_one() {
    let w = World::start().await;
    let (node, links) = (w.node("t"), w.links());
    let mut changes = links.subscribe();
    let mut first = w.control("t").await;
    assert_eq!(changes.recv().await.unwrap(), Presence::Connected(node));
    let mut first_data = w.data("t").await;
    let mut second = w.control("t").await;
    first.ended().await;
    assert_eq!(changes.recv().await.unwrap(), Presence::Connected(node));
    assert_eq!(links.send_task(node, &task("x")).await, Ok(Delivery::Accepted));
    let _second_data = w.data("t").await;
    first_data.ended().await;
    assert!(changes.try_recv().is_err(), "a replaced link is no change of presence, nor is a data link");

    second.scope.close();
    second.ended().await;
    assert_eq!(timeout(SOON, changes.recv()).await.unwrap().unwrap(), Presence::Disconnected(node));
    assert!(!links.is_connected(node) && links.last_seen(node).is_some());
    eventually(|| w.gate.told.lock().unwrap().len() == 3).await;
    let told: Vec<_> = w.gate.told.lock().unwrap().iter().map(|(what, _)| *what).collect();
    assert_eq!(told, ["connected", "connected", "disconnected"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_revoked_node_is_cut_off_at_once() {
    let w = World::start().await;
    let (node, other, links) = (w.node("t"), w.node("other"), w.links());
    let (mut control, mut data, _other) = (w.control("t").await, w.data("t").await, w.control("other").await);
    eventually(|| links.connected().len() == 2).await;
    let mut stream = timeout(SOON, async {
        loop {
            if let Ok(stream) = links.open(node, INSTANCE, "web", 8080).await {
                break stream;
            }
        }
    })
    .await
    .unwrap();
    echo(&mut *stream).await;

    w.gate.nodes.lock().unwrap().remove("t");
    let started = std::time::Instant::now();
    links.disconnect(node);
    assert!(!links.is_connected(node));
    assert!(timeout(SOON, stream.read_u8()).await.expect("the stream ends").is_err());
    control.ended().await;
    data.ended().await;
    assert!(started.elapsed().as_secs() < 5);
    assert!(links.is_connected(other));
    assert!(matches!(w.dial(CONTROL_PATH, "t").await, Err(TunnelError::Answered { status: 401, .. })));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_revoked_while_it_connects_does_not_slip_through() {
    let w = World::start().await;
    let node = w.node("t");
    w.gate.nodes.lock().unwrap().clear();
    w.gate.once.lock().unwrap().insert("t".to_owned(), node);
    let mut control = w.control("t").await;
    control.ended().await;
    assert!(!w.links().is_connected(node));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_has_no_token_is_told_so_in_our_words() {
    let w = World::start().await;
    w.node("t");
    let client = w.anybody();
    for path in [CONTROL_PATH, DATA_PATH] {
        let url = format!("{}{path}", w.running.agents.public_url);
        for (header, code) in [
            (None, "unauthenticated"),
            (Some("Bearer wrong"), "invalid_token"),
            (Some("Basic x"), "invalid_token"),
        ] {
            let mut request = client.get(&url);
            if let Some(header) = header {
                request = request.header("authorization", header);
            }
            let answer = request.send().await.unwrap();
            assert_eq!(answer.status(), 401);
            let body: serde_json::Value = answer.json().await.unwrap();
            assert_eq!(body["error"]["code"], code);
            assert!(body["error"]["correlation_id"].as_str().is_some_and(|id| !id.is_empty()));
        }
        let plain = client.get(&url).bearer_auth("t").send().await.unwrap();
        assert_eq!(plain.status(), 400);
        let body: serde_json::Value = plain.json().await.unwrap();
        assert_eq!(body["error"]["code"], "websocket_required");
        assert_eq!(client.post(&url).bearer_auth("t").send().await.unwrap().status(), 405);
        let refused = w.dial(path, "wrong").await;
        assert!(matches!(refused, Err(TunnelError::Answered { status: 401, .. })));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn links_are_for_the_listener_of_nodes_only() {
    let w = World::start().await;
    w.node("t");
    let client = w.anybody();
    for path in [CONTROL_PATH, DATA_PATH] {
        let public =
            client.get(format!("{}{path}", w.running.public_url)).bearer_auth("t").send().await.unwrap();
        assert_eq!(public.status(), 404);
        let body: serde_json::Value = public.json().await.unwrap();
        assert_eq!(body["error"]["code"], "not_found");
    }
    let api = client.get(format!("{}/readyz", w.running.agents.public_url)).send().await.unwrap();
    assert_eq!(api.status(), 200);
}

/// What a join token carries is enough to know the platform, and nothing less is.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_pin_of_the_local_ca_is_enough_to_join() {
    let w = World::start().await;
    w.node("t");
    let url = format!("{}{CONTROL_PATH}", w.running.agents.public_url.replace("https://", "wss://"));
    let pin = &w.running.agents.trust.pin;
    assert!(dial(&url, "t", &client_config_with_pin(pin).unwrap()).await.is_ok());
    let wrong = client_config_with_pin(&"0".repeat(64)).unwrap();
    assert!(matches!(dial(&url, "t", &wrong).await, Err(TunnelError::Untrusted(_))));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_link_that_breaks_under_a_call_says_so() {
    let w = World::start().await;
    let (node, links) = (w.node("t"), w.links());
    let _control = w.control("t").await;
    eventually(|| links.is_connected(node)).await;
    let broken = timeout(SOON, links.send_task(node, &task("vanish"))).await.unwrap();
    assert!(matches!(broken, Err(LinkError::Broken(_))), "{broken:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stopping_the_server_ends_the_links() {
    let w = World::start().await;
    let node = w.node("t");
    let (mut control, mut data) = (w.control("t").await, w.data("t").await);
    eventually(|| w.links().is_connected(node)).await;
    assert!(w.running.tasks.stop(SOON).await, "nothing is left running");
    control.ended().await;
    data.ended().await;
}
