//! Attack 3 and what sockets are for: opened by the exact origin only, carrying everything, closed when access ends.

use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use gpuaas_domain::lifecycle::Status;
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::{WebSocketStream, accept_async_with_config, client_async_with_config};

use crate::app::{App, Conversation};
use crate::client::Raw;
use crate::world::{ALICE, ALICE_S_COOKIE, BOB, COOKIE, World, soon};

const AGREES: &str = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
                      Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n";

/// Agrees to every socket and says back what it hears; other requests get a stream that never ends, or no answer at all.
async fn sockets_and_streams(mut conversation: Conversation) {
    while let Some(head) = conversation.head().await {
        match head.target() {
            "/socket" => {
                conversation.say(AGREES).await;
                loop {
                    let heard = conversation.take_waiting();
                    conversation.say(heard).await;
                    if conversation.listen().await == 0 {
                        return;
                    }
                }
            }
            "/stream" => {
                conversation.say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n").await;
            }
            "/thinks" => {}
            _ => conversation.say("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").await,
        }
    }
}

/// G05: of more than twenty origins only the endpoint's own, to the letter, opens a socket; for the others no app is dialled.
#[tokio::test]
async fn only_the_exact_origin_opens_a_socket() {
    let (world, app) = World::with(sockets_and_streams).await;
    let own = world.origin();
    let host = world.host();
    let others = [
        "null".to_owned(),
        String::new(),
        format!("{own}/"),
        format!("{own}:443"),
        format!("{own}:8443"),
        format!("{own}."),
        format!("http://{host}"),
        format!("HTTPS://{host}"),
        format!("https://{}", host.to_uppercase()),
        format!("{own}.evil.example"),
        format!("https://evil.example/{own}"),
        format!("https://evil{host}"),
        format!("https://x.{host}"),
        format!("https://{}", world.other_host()),
        "https://apps.example.org".to_owned(),
        "https://example.org".to_owned(),
        format!("{own}s"),
        format!("{own}@evil.example"),
        format!("https://evil.example#{host}"),
        format!("https://evil.example\\.{host}"),
        format!("wss://{host}"),
        host.clone(),
        "file://".to_owned(),
        "chrome-extension://abcd".to_owned(),
        format!("{own} {own}"),
        format!("{own}, {own}"),
        "*".to_owned(),
        format!("{own}\u{e9}"),
    ];
    let mut heads: Vec<String> = others.iter().map(|origin| world.upgrade(origin)).collect();
    heads.push(world.upgrade(&own).replace(&format!("Origin: {own}\r\n"), ""));
    heads.push(
        world.upgrade(&own).replace("Upgrade: websocket", &format!("Upgrade: websocket\r\nOrigin: {own}")),
    );
    for head in heads {
        let mut client = world.connect().await;
        client.say(format!("{head}\r\n")).await;
        let answer = client.answer().await.expect("an answer");
        assert_eq!(answer.status(), 403, "{head}");
    }
    assert_eq!((world.platform.dials(), app.connections()), (0, 0));
    let mut client = open(&world, &world.upgrade(&own)).await;
    client.say("hello").await;
    assert_eq!(client.exactly(5).await.expect("an echo"), b"hello");
    let program = world.upgrade(&own).replace(&format!("Origin: {own}\r\n"), "");
    let program = program
        .replace(&format!("Cookie: {COOKIE}={ALICE_S_COOKIE}"), &format!("Authorization: Bearer {BOB}"));
    open(&world, &program).await;
    assert_eq!(app.connections(), 2, "a program with a token says no origin");
}

async fn open(world: &World, head: &str) -> Raw {
    let mut client = world.connect().await;
    client.say(format!("{head}\r\n")).await;
    let answer = client.head().await.expect("an answer");
    assert_eq!(answer.status(), 101, "{answer:?}");
    client
}

fn large() -> WebSocketConfig {
    WebSocketConfig::default().max_message_size(Some(8 << 20)).max_frame_size(Some(8 << 20))
}

/// A real WebSocket on both sides.
async fn real(world: &World) -> WebSocketStream<TcpStream> {
    let request = hyper::Request::get(format!("ws://{}/socket", world.host()))
        .header("host", world.host())
        .header("cookie", format!("{COOKIE}={ALICE_S_COOKIE}"))
        .header("origin", world.origin())
        .header("connection", "Upgrade")
        .header("upgrade", "websocket")
        .header("sec-websocket-version", "13")
        .header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==")
        .body(())
        .unwrap();
    let stream = TcpStream::connect(world.address).await.unwrap();
    stream.set_nodelay(true).unwrap();
    soon("a socket", client_async_with_config(request, stream, Some(large()))).await.expect("a socket").0
}

async fn real_echo(conversation: Conversation) {
    let mut socket = accept_async_with_config(conversation.stream, Some(large())).await.expect("a socket");
    while let Some(Ok(message)) = socket.next().await {
        match message {
            Message::Text(text) if text.as_str() == "bye" => {
                let _ = socket.close(None).await;
            }
            Message::Text(_) | Message::Binary(_) => socket.send(message).await.expect("somebody listens"),
            _ => {}
        }
    }
}

/// J-03: messages of every size pass both ways, whole and in order, and either side may say goodbye.
#[tokio::test]
async fn messages_pass_both_ways_and_either_side_may_close() {
    let (world, app) = World::with(real_echo).await;
    let mut socket = real(&world).await;
    for round in 0..3_u8 {
        let megabyte: Vec<u8> = (0..1 << 20).map(|at: u32| (at % 251) as u8 ^ round).collect();
        socket.send(Message::binary(megabyte.clone())).await.unwrap();
        let back = soon("a large message", socket.next()).await.unwrap().unwrap();
        assert!(back.into_data() == megabyte, "round {round}");
    }
    let (mut says, mut hears) = socket.split();
    let saying = async {
        for number in 0..1000 {
            says.feed(Message::text(number.to_string())).await.unwrap();
        }
        says.flush().await.unwrap();
    };
    let hearing = async {
        for number in 0..1000 {
            let heard = soon("a small message", hears.next()).await.unwrap().unwrap();
            assert_eq!(heard.into_text().unwrap().as_str(), number.to_string());
        }
    };
    tokio::join!(saying, hearing);
    let mut socket = says.reunite(hears).unwrap();
    socket.send(Message::text("bye")).await.unwrap();
    let last = soon("a goodbye", socket.next()).await.unwrap().unwrap();
    assert!(last.is_close(), "{last:?}");
    assert!(soon("the end", socket.next()).await.is_none());
    drop(socket);
    app.ended(1).await;

    let mut socket = real(&world).await;
    socket.close(None).await.unwrap();
    app.ended(2).await;
    assert!(matches!(soon("the app's goodbye", socket.next()).await, Some(Ok(Message::Close(_))) | None));
}

/// J-03: an end without a goodbye reaches the other side too, whichever side it was.
#[tokio::test]
async fn an_end_without_a_goodbye_reaches_the_other_side() {
    let (world, app) = World::with(|mut conversation: Conversation| async move {
        conversation.head().await;
        conversation.say(AGREES).await;
        while conversation.listen().await > 0 {
            if conversation.take_waiting() == b"die" {
                return;
            }
        }
    })
    .await;
    let mut client = open(&world, &world.upgrade(&world.origin())).await;
    client.say("die").await;
    assert!(client.rest().await.is_empty(), "closed");
    drop(client);
    drop(open(&world, &world.upgrade(&world.origin())).await);
    app.ended(2).await;
}

/// A socket, a stream and a request that waits, all of one person.
async fn all_kinds(world: &World, head: impl Fn(&str) -> String) -> [Raw; 3] {
    let upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
    let socket = open(world, &format!("{}{upgrade}", head("/socket"))).await;
    let mut stream = world.connect().await;
    stream.say(format!("{}\r\n", head("/stream"))).await;
    assert_eq!(stream.head().await.expect("a stream").status(), 200);
    assert_eq!(stream.exactly(10).await.expect("its first words"), b"5\r\nfirst\r\n");
    let mut waits = world.connect().await;
    waits.say(format!("{}\r\n", head("/thinks"))).await;
    [socket, stream, waits]
}

async fn heard_by_the_app(app: &App, requests: usize) {
    soon("the app hears all of them", async {
        while app.heard().iter().filter(|heard| !heard.is_empty()).count() < requests {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

/// None of them goes on, and none ends as if all were well.
async fn all_closed([mut socket, mut stream, mut waits]: [Raw; 3], refusal: u16) {
    assert!(socket.rest().await.is_empty());
    assert!(stream.rest().await.is_empty(), "a stream that is cut has no clean end");
    assert_eq!(waits.answer().await.expect("a refusal").status(), refusal);
}

/// G13, J-11: when somebody loses access, what they have open closes at once, and what others have stays.
#[tokio::test]
async fn who_loses_access_loses_what_is_open() {
    let (world, app) = World::with(sockets_and_streams).await;
    let as_who = |token: &'static str| {
        let host = world.host();
        move |path: &str| format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n")
    };
    let alice = all_kinds(&world, as_who(ALICE)).await;
    let [mut bob, _stream, _waits] = all_kinds(&world, as_who(BOB)).await;
    heard_by_the_app(&app, 6).await;
    world.gateway.refresh().await;
    world.platform.change(|known| known.tokens.remove(ALICE));
    world.gateway.refresh().await;
    all_closed(alice, 401).await;
    app.ended(3).await;
    bob.say("still here").await;
    assert_eq!(bob.exactly(10).await.expect("an echo"), b"still here");
    assert_eq!(world.ask_as(ALICE, "GET /").await.status(), 401);
}

/// G13, J-03: when the app is stopped, or its epoch or revision moves, everything that is open to it closes.
#[tokio::test]
async fn when_an_app_stops_everything_open_to_it_closes() {
    for (change, refusal) in [
        (
            Box::new(|route: &mut gpuaas_domain::access::EndpointRoute| route.status = Status::Stopped)
                as Box<dyn Fn(&mut gpuaas_domain::access::EndpointRoute)>,
            503,
        ),
        (Box::new(|route| route.decommissioned = true), 410),
        (Box::new(|route| route.access_epoch += 1), 503),
    ] {
        let (world, app) = World::with(sockets_and_streams).await;
        let host = world.host();
        let open = all_kinds(&world, |path| {
            format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {ALICE}\r\n")
        })
        .await;
        heard_by_the_app(&app, 3).await;
        world.platform.change_route(&world.a, change);
        world.gateway.refresh().await;
        all_closed(open, refusal).await;
        app.ended(3).await;
    }
}

/// G13: a stop of the gateway closes every socket, lets go every idle connection, and nothing of it is left running.
#[tokio::test]
async fn a_stop_closes_every_socket_and_leaves_nothing() {
    let (world, app) = World::with(sockets_and_streams).await;
    let mut sockets = Vec::new();
    for _ in 0..20 {
        sockets.push(open(&world, &world.upgrade(&world.origin())).await);
    }
    assert_eq!(world.ask_as(ALICE, "GET /").await.status(), 200);
    assert!(world.tasks.stop(Duration::from_secs(10)).await, "all of the gateway's work has ended");
    for mut socket in sockets {
        assert!(socket.rest().await.is_empty());
    }
    app.ended(21).await;
}
