//! Attacks 3 and 7: without access nobody is dialled, and with it nobody else is.

use std::time::Duration;

use gpuaas_domain::access::PublicAccess;

use crate::wire::Message;
use crate::world::{ALICE, ALICE_S_COOKIE, BOB, COOKIE, NAVIGATES, OWN_PAGE, World};

/// G06: every method and every upgrade, with no credentials and with bad ones: refused or sent to sign in, and no app is
/// dialled.
#[tokio::test]
async fn without_a_session_nobody_is_dialled() {
    let (world, first, _) = World::with_echoes().await;
    let upgrade =
        "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: x\r\n";
    let own_origin = format!("{upgrade}Origin: {}\r\n", world.origin());
    let bad_cookie = format!("{OWN_PAGE}Cookie: {COOKIE}=guess\r\n");
    let bad_socket = format!("{own_origin}Cookie: {COOKIE}=guess\r\n");
    let methods =
        ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND", "MKCOL", "QUERY", "X-OWN"];
    let mut asked = 0;
    for path in
        ["/", "/lab", "/api/kernels", "/terminals/websocket/1", "/.gpuaas", "/%2e%2e/", "/static/x.js", "*"]
    {
        for method in methods {
            if path == "*" && method != "OPTIONS" {
                continue;
            }
            for lines in ["", OWN_PAGE, NAVIGATES, "Authorization: Basic eDp5\r\n", &bad_cookie] {
                let answer = world.ask(&format!("{method} {path}"), lines).await;
                let redirected = answer.status() == 303
                    && answer.one("location").is_some_and(|to| to.starts_with("https://example.org/open/"));
                assert!(answer.status() == 401 || redirected, "{method} {path} {lines}: {answer:?}");
                assert!(answer.all("set-cookie").is_empty());
                asked += 1;
            }
        }
        for lines in [upgrade, &own_origin, &bad_socket] {
            if path != "*" {
                let answer = world.ask(&format!("GET {path}"), lines).await;
                assert_eq!(answer.status(), 401, "{path} {lines}");
                asked += 1;
            }
        }
    }
    assert!(asked > 400, "{asked}");
    assert_eq!((world.platform.dials(), first.connections()), (0, 0));
}

/// G03, G06: a cookie that another page's request carries along opens nothing, and dials nobody.
#[tokio::test]
async fn another_page_s_request_dials_nobody() {
    let (world, _, _) = World::with_echoes().await;
    let cookie = format!("Cookie: {COOKIE}={ALICE_S_COOKIE}\r\n");
    for told in [
        "",
        "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: cors\r\nSec-Fetch-Dest: empty\r\n",
        "Sec-Fetch-Site: same-site\r\nSec-Fetch-Mode: no-cors\r\nSec-Fetch-Dest: image\r\n",
        "Sec-Fetch-Site: same-origin\r\nSec-Fetch-Site: same-origin\r\n",
        "Sec-Fetch-Site: same-origin\r\nOrigin: https://evil.example\r\n",
        "Sec-Fetch-Site: same-site\r\nOrigin: null\r\n",
        "Sec-Fetch-Site: \u{fc}\r\n",
    ] {
        for method in ["GET", "POST", "OPTIONS"] {
            let answer = world.ask(&format!("{method} /"), &format!("{cookie}{told}")).await;
            assert_eq!(answer.status(), 403, "{method} {told}");
        }
    }
    let form = "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: document\r\n";
    assert_eq!(world.ask("POST /", &format!("{cookie}{form}")).await.status(), 403);
    assert_eq!(world.platform.dials(), 0);
    assert_eq!(world.ask("GET /", &format!("{cookie}{form}")).await.status(), 200, "a plain link is fine");
}

/// G03, G11: a page that we forbid to say where it is sends its forms with the origin `null`. They arrive, and the app hears the
/// origin that it knows as its own.
#[tokio::test]
async fn a_plain_form_of_the_app_s_own_page_arrives() {
    let (world, app, _) = World::with_echoes().await;
    let form = "Sec-Fetch-Site: same-origin\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: document\r\nOrigin: null\r\n";
    let lines = format!("Cookie: {COOKIE}={ALICE_S_COOKIE}\r\n{form}Content-Length: 0\r\n");
    assert_eq!(world.ask("POST /sign-in", &lines).await.status(), 200);
    assert_eq!(app.only_request().one("origin"), Some(world.origin().as_str()));
}

/// G13, A07: a question about one visitor that nobody answers holds up neither what was taken from another, nor for longer
/// than the grace what was taken from themselves.
#[tokio::test]
async fn a_silent_answer_holds_up_no_revocation() {
    let (world, _, _) = World::with_echoes().await;
    for who in [ALICE, BOB] {
        assert_eq!(world.ask_as(who, "GET /").await.status(), 200);
    }
    world.platform.change(|known| {
        known.silent.insert(BOB.to_owned());
        known.tokens.remove(ALICE);
    });
    let refreshed = tokio::time::timeout(Duration::from_secs(5), world.gateway.refresh()).await;
    assert!(refreshed.is_ok(), "nobody waits for a silent answer");
    assert_eq!(world.ask_as(ALICE, "GET /").await.status(), 401);
    assert_eq!(world.ask_as(BOB, "GET /").await.status(), 200, "a short silence harms nobody who is inside");
}

/// J-04: where everybody may come in, nobody is known, and what the app's own sign-in needs gets through.
#[tokio::test]
async fn an_open_endpoint_knows_nobody() {
    let (world, app, _) = World::with_echoes().await;
    world.platform.change(|known| known.open.insert(world.a.clone()));
    world.platform.change_route(&world.a, |route| route.public_access = PublicAccess::Open);
    let answer = world.ask("GET /", "Authorization: Basic eDp5\r\nX-Gpuaas-Identity: root\r\n").await;
    assert_eq!(answer.text(), "first: GET / for ");
    assert_eq!(app.only_request().one("authorization"), Some("Basic eDp5"));
    let stale = world.ask("GET /", &format!("{OWN_PAGE}Cookie: {COOKIE}=guess\r\n")).await;
    assert_eq!(stale.text(), "first: GET / for ", "a session that ended is no obstacle");
    let wrong = world.ask_as("gpue_guess", "GET /").await;
    assert_eq!(wrong.status(), 401, "but a wrong token is a mistake somebody should hear of");
    assert!(app.heard().iter().all(|heard| !String::from_utf8_lossy(heard).contains("guess")));
}

/// G10: an app that redirects, or names other places, makes the gateway go nowhere; and no path becomes a target.
#[tokio::test]
async fn no_answer_and_no_path_sends_the_gateway_anywhere() {
    let (world, app) = World::with_app_that_says(
        "HTTP/1.1 302 Found\r\nLocation: http://169.254.169.254/latest/meta-data/\r\nRefresh: 0; url=http://10.0.0.1/\r\n\
         Alt-Svc: h2=\"evil.example:443\"\r\nLink: <http://10.0.0.1/>; rel=preload\r\nX-Accel-Redirect: /etc/passwd\r\n\
         Content-Length: 0\r\n\r\n",
    )
    .await;
    let answers = [
        world.ask_as(ALICE, "GET /").await,
        world.ask_as(ALICE, "GET //169.254.169.254/").await,
        world.ask_as(ALICE, "GET /http://169.254.169.254:80/").await,
        world.ask_as(ALICE, "GET /@169.254.169.254").await,
    ];
    for answer in answers {
        assert_eq!(answer.status(), 302, "passed to whoever asked");
        assert!(answer.all("alt-svc").is_empty());
    }
    let (heard, left) = app.requests();
    let targets: Vec<&str> = heard.iter().map(Message::target).collect();
    assert_eq!(targets, ["/", "//169.254.169.254/", "/http://169.254.169.254:80/", "/@169.254.169.254"]);
    assert!(left.is_empty());
    assert_eq!(world.platform.dials(), app.connections(), "every dial went to the app");
}

/// J-11: when nobody can say who may come in, nobody comes in; it is not taken for a refusal.
#[tokio::test]
async fn when_nobody_can_be_asked_nobody_comes_in() {
    let (world, _, _) = World::with_echoes().await;
    world.platform.change(|known| known.unavailable = true);
    assert_eq!(world.ask_as(ALICE, "GET /").await.status(), 503);
    world.platform.change(|known| known.unavailable = false);
    assert_eq!(world.ask_as(ALICE, "GET /").await.status(), 200);
    let checks = world.platform.checks();
    world.platform.change(|known| known.unavailable = true);
    world.gateway.refresh().await;
    assert_eq!(
        world.ask_as(ALICE, "GET /").await.status(),
        200,
        "a short silence harms nobody who is inside"
    );
    assert!(world.platform.checks() > checks, "it was asked");
}

/// G13, J-11: what a client goes on sending after its answer ends with its access, and holds its place until then.
#[tokio::test]
async fn an_upload_ends_with_access_also_after_its_answer() {
    let (world, app) = World::with(|mut conversation| async move {
        conversation.head().await;
        conversation.say("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
        conversation.listen_to_the_end().await;
    })
    .await;
    world.platform.change_route(&world.a, |route| route.policy.max_connections = Some(1));
    let mut client = world.connect().await;
    client.say(format!("{}Content-Length: 100000000\r\n\r\nbegun", world.head("POST /"))).await;
    assert_eq!(client.answer().await.expect("an answer").status(), 200);
    assert_eq!(
        world.ask_as(ALICE, "GET /").await.status(),
        503,
        "the upload still has the endpoint's only place"
    );
    world.platform.change(|known| known.tokens.clear());
    world.gateway.refresh().await;
    app.ended(1).await;
    let heard: usize = app.heard().iter().map(Vec::len).sum();
    assert!(heard < 4096, "{heard} bytes");
}

/// G07: no app puts a worker between its visitors and the gateway, and none is told that it may.
#[tokio::test]
async fn an_app_has_no_service_worker() {
    let (world, app) = World::with_app_that_says(
        "HTTP/1.1 200 OK\r\nService-Worker-Allowed: /\r\nContent-Length: 0\r\n\r\n",
    )
    .await;
    let as_alice = format!("Authorization: Bearer {ALICE}\r\n");
    let worker = world.ask("GET /sw.js", &format!("{as_alice}Service-Worker: script\r\n")).await;
    assert_eq!((worker.status(), app.connections()), (403, 0));
    assert!(worker.text().contains("\"service_worker_not_allowed\""));
    let page = world.ask("GET /", &as_alice).await;
    assert_eq!((page.status(), page.one("service-worker-allowed")), (200, None));
}

/// G02, J-06: what opens the platform is shown to no app, not even to one that everybody may use; the app's own keys are.
#[tokio::test]
async fn an_open_app_sees_its_own_keys_and_none_of_ours() {
    let (world, app, _) = World::with_echoes().await;
    world.platform.change(|known| known.open.insert(world.a.clone()));
    let jwt = "eyJhbGciOiJFZERTQSIsInR5cCI6ImdwdWFhcy1hY2Nlc3Mrand0Iiwia2lkIjoieCJ9.e30.AA";
    for ours in [
        "Bearer gpup_0_x",
        "bearer gpus_0_x",
        "Bearer\tgpue_0_x",
        "Bearer  gpue_0_x",
        &format!("Bearer {jwt}"),
    ] {
        let answer = world.ask("GET /", &format!("Authorization: {ours}\r\n")).await;
        assert_eq!(answer.status(), 401, "{ours:?}");
    }
    assert_eq!(app.connections(), 0);
    for own in ["Bearer sk-own", "Basic dXNlcjpwYXNz", "Bearer eyJhbGciOiJub25lIn0.e30."] {
        assert_eq!(world.ask("GET /", &format!("Authorization: {own}\r\n")).await.status(), 200, "{own}");
    }
}

/// N09: a client that breaks its own body is told so, and the app is not blamed.
#[tokio::test]
async fn a_broken_body_is_the_client_s_fault() {
    let (world, _, _) = World::with_echoes().await;
    let mut client = world.connect().await;
    client.say(format!("{}Transfer-Encoding: chunked\r\n\r\nzz\r\n", world.head("POST /"))).await;
    assert_eq!(client.answer().await.expect("an answer").status(), 400);
}
