//! Bytes as they pass: at once, both ways, as many as there are, and broken where they broke.

use std::sync::Arc;
use std::time::{Duration, Instant};

use http_body_util::{BodyExt as _, Empty};
use hyper::Request;
use hyper_util::rt::{TokioExecutor, TokioIo};
use ring::digest::{Context, SHA256};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::{Mutex, mpsc};

use crate::app::Conversation;

use crate::wire;
use crate::world::{ALICE, BOB, World, soon};

/// What an app may say next, as the test decides.
fn told() -> (mpsc::UnboundedSender<&'static str>, Arc<Mutex<mpsc::UnboundedReceiver<&'static str>>>) {
    let (tell, told) = mpsc::unbounded_channel();
    (tell, Arc::new(Mutex::new(told)))
}

/// An app that answers with a stream and says in it what it is told; it ends without a word when nobody tells it more.
async fn streaming(mut conversation: Conversation, told: Arc<Mutex<mpsc::UnboundedReceiver<&'static str>>>) {
    if conversation.request().await.is_none() {
        return;
    }
    conversation
        .say("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
        .await;
    let mut told = told.lock().await;
    loop {
        tokio::select! {
            heard = conversation.listen() => if heard == 0 { return },
            next = told.recv() => match next {
                Some(text) => conversation.say(format!("{:x}\r\n{text}\r\n", text.len())).await,
                None => return,
            },
        }
    }
}

/// J-03: each event of a stream arrives before the app says the next one; nothing waits for more.
#[tokio::test]
async fn events_arrive_as_they_are_said() {
    let (tell, told) = told();
    let (world, _) = World::with(move |conversation| streaming(conversation, told.clone())).await;
    let mut client = world.connect().await;
    client.say(format!("{}Accept: text/event-stream\r\n\r\n", world.head("GET /events"))).await;
    let head = client.head().await.expect("the head comes before any event");
    assert_eq!((head.status(), head.one("content-type")), (200, Some("text/event-stream")));
    for event in ["data: 1\n\n", "data: 2\n\n", "data: a longer one\n\n", "data: 4\n\n"] {
        tell.send(event).unwrap();
        let chunk = format!("{:X}\r\n{event}\r\n", event.len()).into_bytes();
        let heard = client.exactly(chunk.len()).await.expect("the stream goes on");
        assert_eq!(heard.to_ascii_uppercase(), chunk.to_ascii_uppercase());
    }
}

type H2 = hyper::client::conn::http2::SendRequest<Empty<bytes::Bytes>>;

async fn http2(world: &World) -> H2 {
    let stream = TcpStream::connect(world.address).await.unwrap();
    let (sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream))
            .await
            .expect("the front speaks HTTP/2");
    world.others.spawn_until_stop(async move {
        let _ = connection.await;
    });
    sender
}

fn request(world: &World, path: &str) -> Request<Empty<bytes::Bytes>> {
    Request::get(format!("https://{}{path}", world.host()))
        .header("authorization", format!("Bearer {ALICE}"))
        .body(Empty::new())
        .unwrap()
}

/// J-03: the same over HTTP/2, where many streams share a connection and none waits for another.
#[tokio::test]
async fn over_http_2_events_arrive_as_they_are_said_and_beside_other_answers() {
    let (tell, told) = told();
    let (world, app) = World::with(move |mut conversation| {
        let told = told.clone();
        async move {
            let mut first = [0; 5];
            conversation.stream.peek(&mut first).await.unwrap();
            if &first == b"GET /" {
                streaming(conversation, told).await;
            } else {
                while conversation.request().await.is_some() {
                    conversation.say("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nother").await;
                }
            }
        }
    })
    .await;
    let mut sender = http2(&world).await;
    let mut events = soon("a head", sender.send_request(request(&world, "/events"))).await.unwrap();
    for event in ["data: 1\n\n", "data: 2\n\n", "data: 3\n\n"] {
        tell.send(event).unwrap();
        let frame = soon("an event", events.body_mut().frame()).await.unwrap().unwrap();
        assert_eq!(frame.into_data().unwrap(), event);
        let mut other = request(&world, "/other");
        *other.method_mut() = hyper::Method::DELETE;
        let other = soon("another answer", sender.send_request(other)).await.unwrap();
        assert_eq!(other.into_body().collect().await.unwrap().to_bytes(), "other");
    }
    // The app breaks off: so does this stream, and only this one.
    drop(tell);
    assert!(soon("the stream ends", events.body_mut().frame()).await.unwrap().is_err(), "not a clean end");
    assert_eq!(app.connections(), 2);
}

const MEGABYTES: usize = 50;
const BLOCK: usize = 64 * 1024;
const BLOCKS: usize = MEGABYTES * 16;

/// Bytes that repeat nowhere near a buffer's size.
fn block(number: usize) -> Vec<u8> {
    let mut state = u32::try_from(number).unwrap().wrapping_mul(2_654_435_761) | 1;
    let mut bytes = Vec::with_capacity(BLOCK);
    while bytes.len() < BLOCK {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        bytes.extend_from_slice(&state.to_le_bytes());
    }
    bytes
}

fn expected() -> Vec<u8> {
    let mut hash = Context::new(&SHA256);
    (0..BLOCKS).for_each(|number| hash.update(&block(number)));
    hash.finish().as_ref().to_vec()
}

async fn hash_of(stream: &mut TcpStream, begun: &[u8], size: usize) -> Vec<u8> {
    let mut hash = Context::new(&SHA256);
    hash.update(begun);
    let (mut left, mut buffer) = (size - begun.len(), vec![0; BLOCK]);
    while left > 0 {
        let most = left.min(BLOCK);
        let count = soon("more bytes", stream.read(&mut buffer[..most])).await.expect("a whole body");
        assert!(count > 0, "{left} bytes are missing");
        hash.update(&buffer[..count]);
        left -= count;
    }
    hash.finish().as_ref().to_vec()
}

async fn say_blocks(stream: &mut TcpStream) {
    for number in 0..BLOCKS {
        if stream.write_all(&block(number)).await.is_err() {
            return;
        }
    }
}

/// J-03: fifty megabytes go up and down, every byte of them.
#[tokio::test]
async fn large_bodies_arrive_byte_for_byte() {
    let (world, _) = World::with(|mut conversation| async move {
        while let Some(head) = conversation.head().await {
            let size = BLOCKS * BLOCK;
            if head.method() == "PUT" {
                assert_eq!(head.one("content-length"), Some(size.to_string().as_str()));
                let begun = conversation.take_waiting();
                let hash = hash_of(&mut conversation.stream, &begun, size).await;
                conversation.say("HTTP/1.1 200 OK\r\nContent-Length: 32\r\n\r\n").await;
                conversation.say(hash).await;
            } else {
                conversation.say(format!("HTTP/1.1 200 OK\r\nContent-Length: {size}\r\n\r\n")).await;
                say_blocks(&mut conversation.stream).await;
            }
        }
    })
    .await;
    let (size, expected) = (BLOCKS * BLOCK, expected());
    let mut client = world.connect().await;
    client.say(format!("{}Content-Length: {size}\r\n\r\n", world.head("PUT /file"))).await;
    say_blocks(&mut client.stream).await;
    assert_eq!(client.answer().await.expect("an answer").body, expected);
    client.say(format!("{}\r\n", world.head("GET /file"))).await;
    let head = client.head().await.expect("an answer");
    assert_eq!(head.one("content-length"), Some(size.to_string().as_str()));
    let begun = std::mem::take(&mut client.waiting);
    assert_eq!(hash_of(&mut client.stream, &begun, size).await, expected);
    let passed = world.gateway.take_passed();
    assert_eq!((passed[0].1.bytes_in, passed[0].1.requests), (size as u64, 2));
    assert_eq!(passed[0].1.bytes_out, size as u64 + 32);
}

/// How much can be said before it is a matter of the other side listening. `said` stops when nothing moves any more.
async fn said_before_it_stops(stream: &mut TcpStream) -> usize {
    let (bytes, mut said) = (vec![b'x'; BLOCK], 0);
    while let Ok(Ok(count)) = tokio::time::timeout(Duration::from_millis(300), stream.write(&bytes)).await {
        said += count;
        assert!(said < 64 << 20, "somebody keeps all of it");
    }
    said
}

/// N09: while one side does not listen the other cannot go on saying, so no body is ever kept in memory.
#[tokio::test]
async fn who_does_not_listen_makes_the_other_wait() {
    let (tell, told) = told();
    let (world, app) = World::with(move |mut conversation| {
        let told = told.clone();
        async move {
            let head = conversation.head().await.expect("a request");
            if head.method() == "PUT" {
                told.lock().await.recv().await;
                conversation.listen_to_the_end().await;
            } else {
                conversation.say("HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n").await;
                said_before_it_stops(&mut conversation.stream).await;
            }
        }
    })
    .await;
    let mut deaf = world.connect().await;
    deaf.say(format!("{}Content-Length: 99999999\r\n\r\n", world.head("PUT /"))).await;
    let up = said_before_it_stops(&mut deaf.stream).await;
    assert!(up < 32 << 20, "{up} bytes were taken for an app that does not listen");
    drop((deaf, tell));
    let mut idle = world.connect().await;
    idle.say(format!("{}\r\n", world.head("GET /"))).await;
    assert_eq!(idle.head().await.expect("an answer").status(), 200);
    app.ended(2).await;
    let rest = idle.rest().await.len();
    assert!(rest < 32 << 20, "{rest} bytes were on their way to a client that does not listen");
}

/// J-03: both sides speak at once, each piece answered before the next is said; also in a GET, whose body many forget.
#[tokio::test]
async fn both_sides_speak_at_once() {
    for method in ["POST", "GET"] {
        let (world, app) = World::with(|mut conversation| async move {
            let head = conversation.head().await.expect("a request");
            assert_eq!(head.one("transfer-encoding"), Some("chunked"));
            conversation.say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n").await;
            loop {
                let heard = conversation.take_waiting();
                conversation.say(&heard).await;
                if heard.ends_with(b"0\r\n\r\n") || conversation.listen().await == 0 {
                    return;
                }
            }
        })
        .await;
        let mut client = world.connect().await;
        client.say(format!("{}Transfer-Encoding: chunked\r\n\r\n", world.head(&format!("{method} /")))).await;
        assert_eq!(client.head().await.expect("before anything was said").status(), 200);
        for piece in ["5\r\nfirst\r\n", "6\r\nsecond\r\n", "5\r\nthird\r\n"] {
            client.say(piece).await;
            assert_eq!(client.exactly(piece.len()).await.expect("an echo"), piece.as_bytes(), "{method}");
        }
        client.say("0\r\n\r\n").await;
        assert_eq!(client.rest().await, b"0\r\n\r\n");
        app.ended(1).await;
        assert_eq!(app.only_request().body, b"firstsecondthird");
    }
}

/// J-03: whoever goes away, before the answer, in it, or in their own words, is gone for the app within a second.
#[tokio::test]
async fn a_client_that_goes_away_is_gone_for_the_app_too() {
    for (words, answer) in [
        ("GET / HTTP/1.1\r\n", ""),
        ("GET / HTTP/1.1\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\npart"),
        ("POST / HTTP/1.1\r\nContent-Length: 1000\r\n", ""),
        (
            "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\npart",
        ),
    ] {
        let (reached, mut arrived) = mpsc::unbounded_channel();
        let (world, app) = World::with(move |mut conversation| {
            let reached = reached.clone();
            async move {
                conversation.head().await;
                conversation.say(answer).await;
                reached.send(()).unwrap();
                conversation.listen_to_the_end().await;
            }
        })
        .await;
        let mut client = world.connect().await;
        let lines = format!("Host: {}\r\nAuthorization: Bearer {ALICE}\r\n\r\n", world.host());
        client.say(format!("{words}{lines}")).await;
        soon("the app hears it", arrived.recv()).await;
        if !answer.is_empty() {
            client.head().await.expect("an answer begins");
        }
        let gone = Instant::now();
        drop(client);
        app.ended(1).await;
        assert!(gone.elapsed() < Duration::from_secs(1), "{words} {answer}: {:?}", gone.elapsed());
    }
}

/// J-03: an app that breaks off in its answer is seen to break off; half an answer never looks whole.
#[tokio::test]
async fn an_answer_that_breaks_off_does_not_look_whole() {
    for answer in [
        "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\npart",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\npart\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\npa",
    ] {
        let (world, _) = World::with(move |mut conversation| async move {
            conversation.request().await;
            conversation.say(answer).await;
        })
        .await;
        let mut client = world.connect().await;
        client.say(format!("{}\r\n", world.head("GET /"))).await;
        assert!(client.answer().await.is_none(), "{answer}");
        let mut sender = http2(&world).await;
        let response = soon("a head", sender.send_request(request(&world, "/"))).await.unwrap();
        assert!(soon("the end", response.into_body().collect()).await.is_err(), "{answer}");
    }
    // And one that breaks off before it has said anything is not answering.
    for answer in ["", "HTTP/1.1 200 OK\r\nContent-"] {
        let (world, _) = World::with(move |mut conversation| async move {
            conversation.request().await;
            conversation.say(answer).await;
        })
        .await;
        assert_eq!(world.ask_as(ALICE, "GET /").await.status(), 502, "{answer:?}");
    }
}

/// G09: one person's requests share a connection to the app; two persons' never do, and strangers' never at all.
#[tokio::test]
async fn no_connection_to_an_app_is_shared_between_two_people() {
    let (world, app, _) = World::with_echoes().await;
    for _ in 0..10 {
        assert_eq!(world.ask_as(ALICE, "GET /").await.text(), "first: GET / for signed-alice");
    }
    assert_eq!(app.connections(), 1, "kept and used again");
    for _ in 0..10 {
        for (token, who) in [(ALICE, "alice"), (BOB, "bob")] {
            assert_eq!(world.ask_as(token, "GET /").await.text(), format!("first: GET / for signed-{who}"));
        }
    }
    assert_eq!(app.connections(), 2);
    world.platform.change(|known| known.open.insert(world.a.clone()));
    for _ in 0..3 {
        assert_eq!(world.ask("GET /", "").await.text(), "first: GET / for ");
    }
    assert_eq!(app.connections(), 5);
    for connection in app.heard() {
        let (requests, _) = wire::requests(&connection).unwrap();
        let mut seen: Vec<&str> = requests.iter().flat_map(|heard| heard.all("x-gpuaas-identity")).collect();
        seen.dedup();
        assert!(seen.len() <= 1, "{seen:?}");
    }
}

/// J-03: an app may close a connection that it is done with; nobody notices.
#[tokio::test]
async fn a_connection_that_the_app_closed_is_replaced() {
    let (world, app) = World::with(|mut conversation| async move {
        conversation.request().await;
        conversation.say("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").await;
    })
    .await;
    let mut client = world.connect().await;
    for turn in 1..=20 {
        client.say(format!("{}Content-Length: 3\r\n\r\nabc", world.head("POST /"))).await;
        let answer = client.answer().await.expect("an answer");
        assert_eq!((answer.status(), answer.text()), (200, "ok"), "{turn}");
        app.ended(turn).await;
    }
    assert_eq!(app.requests().0.len(), 20);
}

/// J-03: a connection to an earlier revision is not used for the next one.
#[tokio::test]
async fn a_new_revision_gets_a_new_connection() {
    let (world, app, _) = World::with_echoes().await;
    assert_eq!(world.ask_as(ALICE, "GET /old").await.status(), 200);
    world.platform.change_route(&world.a, |route| {
        route.active_revision = gpuaas_domain::ids::RevisionId::new(uuid::Uuid::from_u128(77));
    });
    world.gateway.refresh().await;
    assert_eq!(world.ask_as(ALICE, "GET /new").await.status(), 200);
    let targets = |heard: &Vec<u8>| -> Vec<String> {
        wire::requests(heard).unwrap().0.iter().map(|heard| heard.target().to_owned()).collect()
    };
    assert_eq!(app.heard().iter().map(targets).collect::<Vec<_>>(), [["/old"], ["/new"]]);
}
