//! Attack 25 at the gateway: whatever one client does, it is bounded, and the others do not notice.

use std::time::{Duration, Instant};

use futures_util::future::join_all;

use crate::http2::{Frames, Got};
use crate::wire;
use crate::world::{ALICE, BOB, World, soon};

const MIB: usize = 1 << 20;

/// N09: a body that says it is too large is refused before anybody is dialled, and one of exactly the limit is not.
#[tokio::test]
async fn a_body_that_says_it_is_too_large_is_refused_at_once() {
    let (world, app, _) = World::with_echoes().await;
    world.platform.change_route(&world.a, |route| route.policy.max_body_mib = Some(1));
    for length in [MIB + 1, 100 * MIB, usize::MAX / 2] {
        let mut client = world.connect().await;
        client.say(format!("{}Content-Length: {length}\r\n\r\n", world.head("POST /"))).await;
        let answer = client.answer().await.expect("an answer before the body");
        assert_eq!((answer.status(), answer.one("connection")), (413, Some("close")), "{length}");
        assert!(answer.text().contains("\"body_too_large\""));
        assert!(client.rest().await.is_empty());
    }
    assert_eq!(world.platform.dials(), 0);
    let mut client = world.connect().await;
    client.say(format!("{}Content-Length: {MIB}\r\n\r\n", world.head("POST /"))).await;
    client.say(vec![b'x'; MIB]).await;
    assert_eq!(client.answer().await.expect("an answer").status(), 200);
    assert_eq!(app.only_request().body.len(), MIB);
}

/// N09: a body that does not say how long it is ends at the limit, and no app takes it for a whole one.
#[tokio::test]
async fn a_body_that_grows_too_large_is_cut() {
    let (world, app, _) = World::with_echoes().await;
    world.platform.change_route(&world.a, |route| route.policy.max_body_mib = Some(1));
    let mut client = world.connect().await;
    client.say(format!("{}Transfer-Encoding: chunked\r\n\r\n", world.head("POST /"))).await;
    let piece = format!("10000\r\n{}\r\n", "x".repeat(65536));
    for _ in 0..20 {
        client.say(&piece).await;
    }
    client.say("0\r\n\r\n").await;
    // A client that is still speaking may hear the refusal or just the end.
    if let Some(answer) = client.answer().await {
        assert_eq!(answer.status(), 413);
    }
    app.ended(1).await;
    let (whole, left) = app.requests();
    assert!(whole.is_empty(), "{whole:?}");
    assert!(left.iter().all(|left| left.len() < MIB + 65536), "no more than the limit arrived");
    assert_eq!(world.ask_as(ALICE, "GET /").await.status(), 200, "and the endpoint goes on");
}

/// N09, J-11: an address that asks too much about what nobody knows has to wait; who is at work in an app does not notice.
#[tokio::test]
async fn guesses_are_bounded_and_work_goes_on() {
    let (world, _, _) = World::with_echoes().await;
    assert_eq!(world.ask_as(ALICE, "GET /").await.status(), 200);
    world.platform.change(|known| known.questions = Some(2));
    for _ in 0..2 {
        assert_eq!(world.ask_as("gpue_guess", "GET /").await.status(), 401);
    }
    let guess = world.ask_as("gpue_guess", "GET /").await;
    assert_eq!((guess.status(), guess.one("retry-after")), (429, Some("5")));
    assert!(guess.text().contains("\"too_many_requests\""));
    let code = world.ask("GET /.gpuaas/enter?code=guess", "").await;
    assert_eq!(code.status(), 429, "a code is a question too");
    assert_eq!(world.ask_as(ALICE, "GET /").await.status(), 200, "who is known is not asked about");
}

/// N09: an endpoint has so many places; who finds none is told so, and a place that is left is free again.
#[tokio::test]
async fn an_endpoint_has_so_many_places() {
    let (world, app) = World::with(|mut conversation| async move {
        while let Some(head) = conversation.head().await {
            if head.target() == "/stream" {
                conversation.say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n").await;
            } else {
                conversation.say("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").await;
            }
        }
    })
    .await;
    world.platform.change_route(&world.a, |route| route.policy.max_connections = Some(2));
    let mut open = Vec::new();
    for _ in 0..2 {
        let mut client = world.connect().await;
        client.say(format!("{}\r\n", world.head("GET /stream"))).await;
        assert_eq!(client.head().await.expect("a stream").status(), 200);
        open.push(client);
    }
    for _ in 0..3 {
        let full = world.ask_as(BOB, "GET /").await;
        assert_eq!((full.status(), full.one("retry-after")), (503, Some("5")));
        assert!(full.text().contains("\"too_many_connections\""));
    }
    assert_eq!(app.connections(), 2, "who found no place dialled nobody");
    drop(open.pop());
    app.ended(1).await;
    soon("a place is free", async {
        while world.ask_as(BOB, "GET /").await.status() != 200 {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

/// N09: heads without measure are refused by the front, in either protocol, and no app hears of them.
#[tokio::test]
async fn a_flood_of_headers_is_refused() {
    let (world, app, _) = World::with_echoes().await;
    let long = "x".repeat(70_000);
    let many = "X: y\r\n".repeat(200);
    let endless = format!("X: {}\r\n", "y".repeat(1000)).repeat(200);
    for flood in [
        format!("{}X: {long}\r\n\r\n", world.head("GET /")),
        format!("{}{many}\r\n", world.head("GET /")),
        format!("{}{endless}", world.head("GET /")),
        format!("{}\r\n", world.head(&format!("GET /{long}"))),
        format!("{}{long}: x\r\n\r\n", world.head("GET /")),
        long.clone(),
    ] {
        let mut client = world.connect().await;
        client.say(&flood).await;
        if let Some(answer) = client.answer().await {
            assert!([400, 414, 431].contains(&answer.status()), "{answer:?}");
        }
    }
    let host = world.host();
    let token = format!("Bearer {ALICE}");
    let mut headers = vec![
        (":method", "GET"),
        (":scheme", "https"),
        (":path", "/"),
        (":authority", host.as_str()),
        ("authorization", token.as_str()),
    ];
    let value = "y".repeat(400);
    headers.extend(std::iter::repeat_n(("x", value.as_str()), 30));
    let mut client = Frames::connect(&world).await;
    let stream = client.open(&headers, true).await;
    assert!(matches!(client.got(stream).await, Got::Answer(200, _)), "what fits is served");
    // Small enough for one frame, larger than the list may be.
    headers.extend(std::iter::repeat_n(("y", ""), 700));
    let stream = client.open(&headers, true).await;
    assert!(!matches!(client.got(stream).await, Got::Answer(200, _)));
    let mut client = Frames::connect(&world).await;
    let piece = [0, 1, b'x', 0x7f, 0xe1, 0x07]
        .into_iter()
        .chain(std::iter::repeat_n(b'y', 1120))
        .collect::<Vec<u8>>();
    let stream = client.open_without_end(&piece, 2000).await;
    assert_eq!(client.got(stream).await, Got::Cut, "headers that never end");
    assert_eq!(app.requests().0.len(), 1);
    assert_eq!(world.ask_as(ALICE, "GET /").await.status(), 200);
}

/// How long each of a hundred requests of somebody else takes; the slowest but one counts.
async fn others(world: &World) -> Duration {
    let mut times = Vec::new();
    for number in 0..100 {
        let began = Instant::now();
        let answer = world.ask_as(BOB, &format!("GET /{number}")).await;
        assert_eq!(answer.status(), 200);
        times.push(began.elapsed());
    }
    times.sort_unstable();
    times[98]
}

/// N09: clients that send one byte and then nothing, in the head or in the body, hold up nobody but themselves.
#[tokio::test]
async fn slow_clients_hold_up_nobody_else() {
    let (world, app, _) = World::with_echoes().await;
    let half = world.head("GET /slow");
    let body = format!("{}Content-Length: 1000\r\n\r\nx", world.head("POST /slow"));
    let mut slow = join_all((0..300).map(|number| {
        let (world, half, body) = (&world, &half, &body);
        async move {
            let mut client = world.connect().await;
            client.say(if number % 3 == 0 { body } else { half }).await;
            client
        }
    }))
    .await;
    let p99 = others(&world).await;
    assert!(p99 < Duration::from_millis(500), "{p99:?}");
    for client in &mut slow {
        client.say("X").await;
    }
    let p99 = others(&world).await;
    assert!(p99 < Duration::from_millis(500), "{p99:?}");
    drop(slow);
    app.ended(100).await;
    for heard in app.heard() {
        let (whole, _) = wire::requests(&heard).unwrap();
        assert!(whole.iter().all(|heard| heard.target() != "/slow"));
    }
}

/// N09: streams that are opened and reset by the thousand, and pings without end, harm nobody and leave nothing open.
#[tokio::test]
async fn a_flood_of_frames_holds_up_nobody_else() {
    let (world, app, _) = World::with_echoes().await;
    let (host, token) = (world.host(), format!("Bearer {ALICE}"));
    let headers = [
        (":method", "POST"),
        (":scheme", "https"),
        (":path", "/reset"),
        (":authority", host.as_str()),
        ("authorization", token.as_str()),
    ];
    let flood = async {
        let mut client = Frames::connect(&world).await;
        for _ in 0..2000 {
            let stream = client.open(&headers, false).await;
            client.reset(stream).await;
        }
        let mut client = Frames::connect(&world).await;
        for _ in 0..20_000 {
            client.say(&crate::http2::frame(6, 0, 0, &[0; 8])).await;
        }
    };
    let (p99, ()) = tokio::join!(others(&world), flood);
    assert!(p99 < Duration::from_millis(500), "{p99:?}");
    let dialled = world.platform.dials();
    assert!(dialled < 1000, "{dialled} of 2000 streams that were reset at once reached a dial");
    // Bob's own connection is the only one that stays.
    app.ended(app.connections() - 1).await;
}
