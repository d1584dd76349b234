//! Attack 6: however a message is written, an app hears at most the one request that was meant, and nobody gets an answer to
//! somebody else's.

use std::time::Duration;

use futures_util::future::join_all;

use crate::app::App;
use crate::corpus::Fate::{self, NeverEnds, Once, OnceAndClosed, Refused};
use crate::corpus::corpus;
use crate::http2::{Frames, Got};
use crate::wire::Message;
use crate::world::{ALICE, ALICE_S_COOKIE, BOB, COOKIE, World, soon};

/// How long nothing must follow before we believe that nothing does.
const QUIET: Duration = Duration::from_millis(250);

/// Says the bytes to a fresh world, and everything that is answered.
async fn attack(bytes: Vec<u8>, fate: Fate) -> (World, App, Vec<u8>, bool) {
    let (world, app, _) = World::with_echoes().await;
    let mut client = world.connect().await;
    client.say(&bytes).await;
    let mut open = true;
    // What must come is waited for: an answer, or the end.
    let done = |said: &[u8]| match fate {
        NeverEnds => true,
        Refused => !said.is_empty(),
        Once | OnceAndClosed => crate::wire::find(said, b" for signed-alice").is_some(),
    };
    while open && !done(&client.waiting) {
        open = client.listen().await > 0;
    }
    while open {
        match tokio::time::timeout(QUIET, client.listen()).await {
            Ok(0) => open = false,
            Ok(_) => {}
            Err(_) => break,
        }
    }
    (world, app, client.waiting, open)
}

/// Afterwards everybody still gets their own answer, and the app has heard what was meant and no more.
async fn judge(name: &str, world: &World, app: &App, fate: Fate) {
    for (token, who) in [(BOB, "bob"), (ALICE, "alice"), (BOB, "bob")] {
        let answer = world.ask_as(token, &format!("GET /{who}")).await;
        assert_eq!(answer.text(), format!("first: GET /{who} for signed-{who}"), "{name}");
    }
    let (heard, left) = app.requests();
    let attacks: Vec<&Message> =
        heard.iter().filter(|heard| !["/alice", "/bob"].contains(&heard.target())).collect();
    let expected = usize::from(matches!(fate, Once | OnceAndClosed));
    assert_eq!(attacks.len(), expected, "{name}: {attacks:?}");
    assert!(attacks.iter().all(|heard| heard.target() == "/attack"), "{name}: {attacks:?}");
    for left in left {
        // What was begun and given up: a head of ours, cut off.
        assert!(left.starts_with(b"POST /attack HTTP/1.1\r\n"), "{name}: {left:?}");
        assert!(matches!(fate, Refused | NeverEnds), "{name}: {left:?}");
        assert!(fate == NeverEnds || crate::wire::find(&left, b"smuggled").is_none(), "{name}: {left:?}");
    }
}

/// G09, F05: of every message that two readers could end at different places, the app hears one request or none.
#[tokio::test]
async fn no_hidden_request_reaches_an_app() {
    let host = World::with_echoes().await.0.host();
    join_all(corpus(&host).into_iter().map(|(name, bytes, fate)| async move {
        let (world, app, said, open) = attack(bytes.into_bytes(), fate).await;
        let text = String::from_utf8_lossy(&said).into_owned();
        let answers = text.matches("HTTP/1.1 ").count() - text.matches("HTTP/1.1 100 ").count();
        assert!(answers <= 1, "{name}: {text}");
        assert!(!text.contains("smuggled"), "{name}: {text}");
        match fate {
            Refused => {
                assert!(!text.contains("HTTP/1.1 200"), "{name}: {text}");
                assert!(!open || !text.is_empty(), "{name}: neither answered nor closed");
            }
            NeverEnds => assert!(open && text.is_empty(), "{name}: {text}"),
            Once | OnceAndClosed => {
                let answered = text.contains("HTTP/1.1 200") && text.contains(" /attack for signed-alice");
                assert!(answered, "{name}: {text}");
                assert!(fate == Once || !open, "{name}: {text}");
            }
        }
        judge(name, &world, &app, fate).await;
    }))
    .await;
}

/// G09: the rule is no more than it must be: two clean requests on one connection are two answers.
#[tokio::test]
async fn clean_requests_on_one_connection_are_all_answered_in_order() {
    let (world, app, _) = World::with_echoes().await;
    let mut client = world.connect().await;
    let (first, second) = (world.head("POST /1"), world.head("GET /2"));
    client.say(format!("{first}Content-Length: 5\r\n\r\n12345{second}\r\n{second}\r\n")).await;
    for expected in ["POST /1", "GET /2", "GET /2"] {
        let answer = client.answer().await.expect("an answer");
        assert_eq!(answer.text(), format!("first: {expected} for signed-alice"));
    }
    let (heard, left) = app.requests();
    assert_eq!((heard.len(), left.len(), &heard[0].body[..]), (3, 0, &b"12345"[..]));
}

/// G09, F05: what a client says too early after an upgrade reaches the app only where the app has agreed to one.
#[tokio::test]
async fn early_bytes_after_an_upgrade_request_are_nobody_s_request() {
    let hidden = "GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n";
    for answer in [
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
        "HTTP/1.1 400 Bad Request\r\nContent-Length: 2\r\n\r\nno",
        "HTTP/1.1 426 Upgrade Required\r\nConnection: upgrade\r\nUpgrade: websocket\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\n",
        "HTTP/1.1 101 Switching Protocols\r\n\r\n",
    ] {
        let (world, app) = World::with_app_that_says(answer).await;
        let mut client = world.connect().await;
        client.say(format!("{}\r\n{hidden}", world.upgrade(&world.origin()))).await;
        let said = String::from_utf8(client.rest().await).unwrap();
        assert!(!said.contains("HTTP/1.1 101"), "{said}");
        assert_eq!(said.matches("HTTP/1.1 ").count(), 1, "{said}");
        app.ended(1).await;
        assert_eq!(app.only_request().target(), "/socket", "{answer}");
    }
    let agrees = "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: x\r\n\r\n";
    let (world, app) = World::with(move |mut conversation| async move {
        conversation.head().await;
        assert!(conversation.take_waiting().is_empty(), "nothing before the app has agreed");
        conversation.say(agrees).await;
        conversation.listen_to_the_end().await;
    })
    .await;
    let mut client = world.connect().await;
    client.say(format!("{}\r\n{hidden}", world.upgrade(&world.origin()))).await;
    assert_eq!(client.head().await.expect("an answer").status(), 101);
    client.say("more").await;
    drop(client);
    app.ended(1).await;
    let heard = app.heard().remove(0);
    let (_, size) = crate::wire::head(&heard).unwrap().expect("a head");
    assert_eq!(&heard[size..], format!("{hidden}more").as_bytes(), "in the socket, where they belong");
}

/// G09: an upgrade that two readers could read differently is refused before anybody is dialled.
#[tokio::test]
async fn an_unclear_upgrade_dials_nobody() {
    let (world, app, _) = World::with_echoes().await;
    let clean = world.upgrade(&world.origin());
    for (from, to) in [
        ("GET", "POST"),
        ("Sec-WebSocket-Version: 13", "Sec-WebSocket-Version: 12"),
        ("Sec-WebSocket-Version: 13", "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Version: 13"),
        ("Connection: keep-alive, Upgrade", "Connection: keep-alive"),
        ("Upgrade: websocket", "Upgrade: websocket\r\nUpgrade: websocket"),
        ("Upgrade: websocket", "Upgrade: websocket\r\nUpgrade: h2c"),
        ("Upgrade: websocket", "Upgrade: websocket\r\nContent-Length: 5"),
        ("Upgrade: websocket", "Upgrade: websocket\r\nTransfer-Encoding: chunked"),
        ("Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n", ""),
    ] {
        let mut client = world.connect().await;
        client.say(format!("{}\r\n", clean.replacen(from, to, 1))).await;
        let answer = client.answer().await.expect("an answer");
        assert_eq!(answer.status(), 400, "{from} → {to}");
        assert!(client.rest().await.is_empty(), "and the connection ends");
    }
    assert_eq!((world.platform.dials(), app.connections()), (0, 0));
}

type Headers<'t> = Vec<(&'t str, &'t str)>;

/// G09: what HTTP/2 can say and HTTP/1.1 cannot is refused, so nothing becomes a second request on its way down.
#[tokio::test]
async fn nothing_grows_into_a_second_request_on_the_way_from_http_2() {
    let hidden = "x\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n";
    let split = "x\r\nTransfer-Encoding: chunked";
    let path = "/attack HTTP/1.1\r\nHost: x\r\n\r\nGET /smuggled";
    let whole = "https://evil.example/attack";
    let cases: Vec<(&str, Headers<'_>, &str)> = vec![
        ("CRLF in a value", vec![("x", hidden)], ""),
        ("header in a value", vec![("x", split)], ""),
        ("LF in a value", vec![("x", "a\nb: c")], ""),
        ("NUL in a value", vec![("x", "a\0b")], ""),
        ("CRLF in a name", vec![("x\r\ny", "a")], ""),
        ("colon in a name", vec![("x:y", "a")], ""),
        ("space in a name", vec![("x y", "a")], ""),
        ("upper-case name", vec![("Transfer-Encoding", "chunked")], ""),
        ("transfer-encoding", vec![("transfer-encoding", "chunked")], "0\r\n\r\nGET /smuggled"),
        ("connection", vec![("connection", "x-forwarded-host")], ""),
        ("keep-alive", vec![("keep-alive", "timeout=5")], ""),
        ("proxy-connection", vec![("proxy-connection", "keep-alive")], ""),
        ("upgrade", vec![("upgrade", "websocket")], ""),
        ("te", vec![("te", "gzip, chunked")], ""),
        ("length too long", vec![("content-length", "100")], "12345"),
        ("length too short", vec![("content-length", "1")], "12345"),
        ("two lengths", vec![("content-length", "5"), ("content-length", "0")], "12345"),
        ("negative length", vec![("content-length", "-5")], "12345"),
        ("plus length", vec![("content-length", "+5")], "12345"),
        ("path with a request", vec![(":path", path)], ""),
        ("path with a space", vec![(":path", "/attack x")], ""),
        ("whole address as path", vec![(":path", whole)], ""),
        ("path without slash", vec![(":path", "attack")], ""),
        ("empty path", vec![(":path", "")], ""),
        ("method with a request", vec![(":method", "GET / HTTP/1.1\r\nHost: x\r\n\r\nGET")], ""),
        ("method with a space", vec![(":method", "GET /smuggled")], ""),
        ("CONNECT", vec![(":method", "CONNECT")], ""),
        ("TRACE", vec![(":method", "TRACE")], ""),
        ("two paths", vec![(":path", "/attack"), (":path", "/smuggled")], ""),
        ("protocol", vec![(":method", "CONNECT"), (":protocol", "websocket")], ""),
    ];
    join_all(cases.iter().map(|(name, changes, body)| async move {
        let (world, app, _) = World::with_echoes().await;
        let (host, token) = (world.host(), format!("Bearer {ALICE}"));
        let mut headers: Vec<(&str, &str)> =
            [(":method", "POST"), (":scheme", "https"), (":path", "/attack"), (":authority", host.as_str())]
                .into_iter()
                .filter(|(kept, _)| changes.iter().all(|(changed, _)| changed != kept))
                .collect();
        headers.extend(changes.iter().filter(|(name, _)| name.starts_with(':')));
        headers.push(("authorization", &token));
        headers.extend(changes.iter().filter(|(name, _)| !name.starts_with(':')));
        let mut client = Frames::connect(&world).await;
        let stream = client.open(&headers, body.is_empty()).await;
        if !body.is_empty() {
            client.data(stream, body.as_bytes(), true).await;
        }
        let got = client.got(stream).await;
        assert!(!matches!(got, Got::Answer(200, _)), "{name}: {got:?}");
        judge(name, &world, &app, Refused).await;
    }))
    .await;
}

/// G09: and what is clean in HTTP/2 is one clean request of HTTP/1.1.
#[tokio::test]
async fn a_clean_request_of_http_2_is_one_request_of_http_1() {
    let (world, app, _) = World::with_echoes().await;
    let cookie = format!("{COOKIE}={ALICE_S_COOKIE}");
    let mut client = Frames::connect(&world).await;
    let host = world.host();
    let headers = [
        (":method", "POST"),
        (":scheme", "https"),
        (":path", "/attack?x=%0d%0a"),
        (":authority", host.as_str()),
        ("sec-fetch-site", "same-origin"),
        ("cookie", "a=1"),
        ("cookie", &cookie),
        ("cookie", "b=2"),
        ("te", "trailers"),
        ("x", "a: b, c"),
    ];
    let stream = client.open(&headers, false).await;
    client.data(stream, b"0\r\n\r\nGET /smuggled HTTP/1.1\r\n\r\n", true).await;
    assert_eq!(
        client.got(stream).await,
        Got::Answer(200, "first: POST /attack?x=%0d%0a for signed-alice".into())
    );
    let heard = app.only_request();
    assert_eq!(heard.one("cookie"), Some("a=1; b=2"));
    assert_eq!(heard.one("host"), Some(host.as_str()));
    assert_eq!(heard.one("te"), None);
    assert_eq!(heard.body, b"0\r\n\r\nGET /smuggled HTTP/1.1\r\n\r\n");
}

/// Answers that lie about where they end; each is said to `/lie` only.
const LIES: [(&str, &str); 16] = [
    ("two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 200\r\n\r\nok"),
    (
        "coding and length",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n2\r\nok\r\n0\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison",
    ),
    (
        "length and coding",
        "HTTP/1.1 200 OK\r\nContent-Length: 400\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
    ),
    (
        "an answer too many",
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison",
    ),
    (
        "many answers too many",
        "HTTP/1.1 204 No Content\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoisonHTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison",
    ),
    (
        "an upgrade nobody asked for",
        "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison",
    ),
    ("longer than said", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokpoison"),
    ("a body where none is", "HTTP/1.1 304 Not Modified\r\nContent-Length: 6\r\n\r\npoison"),
    ("negative length", "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\npoison"),
    ("plus length", "HTTP/1.1 200 OK\r\nContent-Length: +6\r\n\r\npoison"),
    ("huge chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\npoison"),
    ("bare CR in a header", "HTTP/1.1 200 OK\r\nX: a\rSet-Cookie: b=c\r\nContent-Length: 2\r\n\r\nok"),
    ("NUL in a header", "HTTP/1.1 200 OK\r\nX: a\0b\r\nContent-Length: 2\r\n\r\nok"),
    ("no HTTP at all", "SSH-2.0-OpenSSH_9.2\r\n\r\n"),
    (
        "early hints and more",
        "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokpoison",
    ),
    ("old version", "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nokpoison"),
];

/// G09: an app that lies about its answers harms the one who asked it, at most: the next answer, to the same person or to
/// another, is the right one.
#[tokio::test]
async fn an_answer_that_lies_spoils_no_other_answer() {
    join_all(LIES.iter().map(|(name, lie)| async move {
        let (world, app) = World::with(move |mut conversation| async move {
            while let Some(request) = conversation.request().await {
                if request.target() == "/lie" {
                    conversation.say(lie).await;
                } else {
                    let body = format!("{} {}", request.target(), request.all("x-gpuaas-identity").join("+"));
                    let length = body.len();
                    conversation
                        .say(format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{body}"))
                        .await;
                }
            }
        })
        .await;
        let mut client = world.connect().await;
        client.say(format!("{}\r\n", world.head("GET /lie"))).await;
        let said = client.answer().await;
        if let Some(said) = &said {
            assert!(!said.text().contains("poison") && said.all("set-cookie").is_empty(), "{name}: {said:?}");
        }
        // On the same connection, where it is still there.
        client.say(format!("{}\r\n", world.head("GET /next"))).await;
        if let Some(next) = client.answer().await {
            assert_eq!(next.text(), "/next signed-alice", "{name}");
        }
        assert!(client.waiting.is_empty(), "{name}: {:?}", client.waiting);
        for (token, who) in [(BOB, "bob"), (ALICE, "alice"), (BOB, "bob"), (ALICE, "alice")] {
            let answer = world.ask_as(token, &format!("GET /{who}")).await;
            assert_eq!(answer.text(), format!("/{who} signed-{who}"), "{name}");
        }
        let (heard, left) = app.requests();
        assert!(
            left.is_empty() && heard.iter().filter(|heard| heard.target() == "/lie").count() == 1,
            "{name}"
        );
    }))
    .await;
}

/// G09: an app that answers before it has heard everything gets the rest of that body, never as another request.
#[tokio::test]
async fn the_rest_of_a_body_that_was_answered_early_is_no_request() {
    let (world, app) = World::with(|mut conversation| async move {
        while let Some(head) = conversation.head().await {
            conversation
                .say(format!(
                    "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{}",
                    head.target().len(),
                    head.target()
                ))
                .await;
        }
    })
    .await;
    let hidden = "GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n";
    let mut slow = world.connect().await;
    slow.say(format!("{}Content-Length: {}\r\n\r\n", world.head("POST /early"), hidden.len())).await;
    assert_eq!(slow.answer().await.expect("an answer").text(), "/early");
    // The same person's next request does not wait for the rest of that body, and does not share its connection.
    let next = soon("the next request is answered", world.ask_as(ALICE, "GET /next")).await;
    assert_eq!(next.text(), "/next");
    assert_eq!(app.connections(), 2);
    slow.say(hidden).await;
    drop(slow);
    app.ended(1).await;
    for heard in app.heard() {
        let (requests, left) = crate::wire::requests(&heard).unwrap();
        assert!(requests.iter().all(|heard| heard.target() != "/smuggled"), "{requests:?}");
        assert!(left.is_empty() || left.starts_with(b"POST /early "), "{left:?}");
    }
}
