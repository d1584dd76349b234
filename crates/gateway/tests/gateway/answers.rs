//! What comes back: an app's answer kept to its own origin, or one of our pages.

use gpuaas_domain::lifecycle::Status;
use gpuaas_domain::manifest::Frame;

use crate::wire::Message;
use crate::world::{ALICE, ALICE_S_COOKIE, COOKIE, NAVIGATES, World};

const HOSTILE: &str = "HTTP/1.1 200 OK\r\n\
    Set-Cookie: own=1; Path=/; HttpOnly; SameSite=Strict\r\n\
    Set-Cookie: tossed=1; Domain=apps.example.org\r\n\
    Set-Cookie: __Host-gpuaas_app_0123abcd=stolen; Path=/; Secure\r\n\
    Set-Cookie: GPUAAS_session=stolen\r\n\
    X-Frame-Options: DENY\r\n\
    Content-Security-Policy: frame-ancestors *; script-src 'self'\r\n\
    Content-Security-Policy: frame-ancestors https://evil.example\r\n\
    Clear-Site-Data: \"*\"\r\n\
    Strict-Transport-Security: max-age=0; includeSubDomains\r\n\
    Referrer-Policy: unsafe-url\r\n\
    X-Content-Type-Options: sniff\r\n\
    Cross-Origin-Opener-Policy: unsafe-none\r\n\
    Cross-Origin-Resource-Policy: cross-origin\r\n\
    Origin-Agent-Cluster: ?0\r\n\
    Report-To: {}\r\n\
    NEL: {}\r\n\
    Alt-Svc: h2=\"evil.example:443\"\r\n\
    X-Gpuaas-Identity: signed-root\r\n\
    Proxy-Authenticate: Basic\r\n\
    Cache-Control: public, max-age=60, s-maxage=600\r\n\
    Connection: keep-alive, x-hop\r\n\
    Keep-Alive: timeout=500\r\n\
    X-Hop: 1\r\n\
    Trailer: x-late\r\n\
    X-Own: kept\r\n\
    Content-Length: 2\r\n\r\nok";

/// G07, G11, J-06: of what an app says to the browser, what reaches beyond its own origin, or loosens what we say, does not arrive.
#[tokio::test]
async fn an_app_cannot_reach_beyond_its_own_origin() {
    let (world, _) = World::with_app_that_says(HOSTILE).await;
    world.platform.change_route(&world.a, |route| {
        route.policy.content_security_policy = Some("object-src 'none'".into());
    });
    let answer = world.ask_as(ALICE, "GET /").await;
    assert_eq!((answer.text(), answer.one("x-own")), ("ok", Some("kept")));
    assert_eq!(answer.all("set-cookie"), ["own=1; Path=/; HttpOnly; Secure; SameSite=None; Partitioned"]);
    assert_eq!(
        answer.all("content-security-policy"),
        [
            "frame-ancestors https://example.org; base-uri 'self'; form-action 'self'",
            "script-src 'self'",
            "object-src 'none'"
        ]
    );
    for (name, value) in [
        ("strict-transport-security", "max-age=31536000"),
        ("referrer-policy", "no-referrer"),
        ("x-content-type-options", "nosniff"),
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
        ("origin-agent-cluster", "?1"),
        ("cache-control", "private, max-age=60"),
    ] {
        assert_eq!(answer.one(name), Some(value), "{name}");
    }
    for gone in [
        "x-frame-options",
        "clear-site-data",
        "report-to",
        "nel",
        "alt-svc",
        "x-gpuaas-identity",
        "proxy-authenticate",
        "x-hop",
        "keep-alive",
        "trailer",
    ] {
        assert!(answer.all(gone).is_empty(), "{gone}");
    }
}

/// G11: an endpoint that nobody may frame says so.
#[tokio::test]
async fn an_endpoint_that_nobody_may_frame_says_so() {
    let (world, _, _) = World::with_echoes().await;
    world.platform.change_route(&world.a, |route| route.policy.frame = Frame::Nobody);
    let answer = world.ask_as(ALICE, "GET /").await;
    assert!(
        answer
            .one("content-security-policy")
            .is_some_and(|policy| policy.starts_with("frame-ancestors 'none'"))
    );
}

/// G07, G09: also what an app says while it agrees to a socket is confined to what a socket needs.
#[tokio::test]
async fn an_app_that_agrees_to_a_socket_says_no_more_than_that() {
    let (world, _) = World::with_app_that_says(
        HOSTILE
            .replace(
                "HTTP/1.1 200 OK",
                "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: y",
            )
            .replace("Content-Length: 2\r\n\r\nok", "\r\n")
            .replace("keep-alive, x-hop", "upgrade"),
    )
    .await;
    let mut client = world.connect().await;
    client.say(format!("{}\r\n", world.upgrade(&world.origin()))).await;
    let answer = client.head().await.expect("an answer");
    let mut names: Vec<&str> = answer.headers.iter().map(|(name, _)| name.as_str()).collect();
    names.sort_unstable();
    assert_eq!(answer.status(), 101);
    assert_eq!(names, ["connection", "date", "sec-websocket-accept", "set-cookie", "upgrade"]);
    assert_eq!(answer.one("set-cookie"), Some("own=1; Path=/; HttpOnly; Secure; SameSite=None; Partitioned"));
}

/// G09: an answer with two lengths is passed on with one.
#[tokio::test]
async fn an_answer_with_a_coding_and_a_length_has_one_when_it_arrives() {
    for lines in [
        "Content-Length: 400\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: chunked\r\nContent-Length: 1",
    ] {
        let (world, _) =
            World::with_app_that_says(format!("HTTP/1.1 200 OK\r\n{lines}\r\n\r\n2\r\nok\r\n0\r\n\r\n"))
                .await;
        let answer = world.ask_as(ALICE, "GET /").await;
        assert_eq!((answer.text(), answer.all("content-length").len()), ("ok", 0), "{lines}");
    }
}

fn is_page(answer: &Message) -> bool {
    answer.one("content-type") == Some("text/html; charset=utf-8")
}

/// J-03, G11: whatever state an app is in, a person gets a page that says so and asks again where waiting helps, and a program
/// gets the platform's envelope; neither reaches the app.
#[tokio::test]
async fn every_state_has_a_page_for_people_and_an_envelope_for_programs() {
    let (world, app, _) = World::with_echoes().await;
    let name = "<script>alert(1)</script>\"&";
    let cookie = format!("{NAVIGATES}Cookie: {COOKIE}={ALICE_S_COOKIE}\r\n");
    for (status, gone, expected, code, refresh) in [
        (Status::Created, false, 503, "app_starting", Some("2")),
        (Status::Starting, false, 503, "app_starting", Some("2")),
        (Status::Stopping, false, 503, "app_stopped", Some("10")),
        (Status::Stopped, false, 503, "app_stopped", Some("10")),
        (Status::Failed, false, 503, "app_failed", Some("10")),
        (Status::Stopped, true, 410, "app_gone", None),
    ] {
        world.platform.change_route(&world.a, |route| {
            (route.status, route.decommissioned, route.instance_name) = (status, gone, name.into());
        });
        world.gateway.refresh().await;
        let page = world.ask("GET /lab", &cookie).await;
        assert!(page.status() == expected && is_page(&page), "{page:?}");
        assert_eq!((page.one("refresh"), page.one("retry-after")), (refresh, refresh), "{code}");
        assert!(page.text().contains("&lt;script&gt;alert(1)&lt;/script&gt;&quot;&amp;"), "{}", page.text());
        assert!(!page.text().contains("<script"), "{}", page.text());
        assert_eq!(page.one("cache-control"), Some("no-store"));
        let policy = page.one("content-security-policy").expect("a policy");
        assert!(
            policy.contains("default-src 'none'") && policy.contains("frame-ancestors https://example.org")
        );

        let envelope = world.ask_as(ALICE, "GET /api").await;
        assert_eq!((envelope.status(), envelope.one("content-type")), (expected, Some("application/json")));
        let body: serde_json::Value = serde_json::from_str(envelope.text()).expect("JSON");
        assert_eq!(body["error"]["code"], code);
        assert!(!envelope.text().contains("script"), "{}", envelope.text());
    }
    assert_eq!((app.connections(), world.platform.dials()), (0, 0));
}

/// J-11: somebody without a session is sent to sign in and back; inside a frame, where that cannot work, the page says what
/// to do; and neither says what the app is called.
#[tokio::test]
async fn somebody_without_a_session_is_shown_the_way_in() {
    let (world, _, _) = World::with_echoes().await;
    let top = world.ask("GET /lab?a=b", NAVIGATES).await;
    let way = format!("https://example.org/open/{}?next=/lab%3Fa%3Db", world.a);
    assert_eq!((top.status(), top.one("location")), (303, Some(way.as_str())));
    assert_eq!(top.one("cache-control"), Some("no-store"));
    let framed = world.ask("GET /lab", &NAVIGATES.replace("document", "iframe")).await;
    assert!(framed.status() == 401 && is_page(&framed), "{framed:?}");
    assert!(framed.all("location").is_empty() && framed.all("refresh").is_empty());
    assert!(framed.text().contains("target=\"_top\"") && !framed.text().contains("notebook-1"));
    let program = world.ask("GET /lab", "").await;
    assert_eq!((program.status(), program.one("www-authenticate")), (401, Some("Bearer realm=\"endpoint\"")));
    assert!(program.text().contains("\"app_session_required\""));
}

/// J-03: an app that takes no connection, an address that is nobody's, a page that may not ask.
#[tokio::test]
async fn an_app_that_is_not_there_has_a_page_too() {
    let (world, _, _) = World::with_echoes().await;
    let nobody = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.unwrap().local_addr().unwrap();
    world.platform.change(|known| known.routes.get_mut(&world.a).unwrap().1 = nobody);
    let cookie = format!("{NAVIGATES}Cookie: {COOKIE}={ALICE_S_COOKIE}\r\n");
    let page = world.ask("GET /", &cookie).await;
    assert!(page.status() == 502 && is_page(&page) && page.one("refresh") == Some("3"), "{page:?}");
    assert!(world.ask_as(ALICE, "GET /").await.text().contains("\"app_not_answering\""));
    world.platform.change(|known| known.routes.remove(&world.a));
    world.gateway.refresh().await;
    let gone = world.ask("GET /", &cookie).await;
    assert!(gone.status() == 404 && is_page(&gone) && !gone.text().contains("notebook-1"), "{gone:?}");
    let bad = world.ask("GET /", "Host: x\r\nAccept: text/html\r\n").await;
    assert!(bad.status() == 400 && is_page(&bad), "{bad:?}");
}
