//! Attacks 1 and 4: what opens an endpoint opens that one only, and nothing of it reaches the app.

use crate::world::{ALICE, ALICE_S_COOKIE, BOB, CAROL, COOKIE, NAVIGATES, OWN_PAGE, World};

/// G01, J-06: an app that shows everything it got shows nothing of ours, nothing forged, and everything of its own.
#[tokio::test]
async fn an_app_gets_its_own_and_who_is_there_and_nothing_of_ours() {
    let (world, app, _) = World::with_echoes().await;
    let forged = "X-Forwarded-For: 1.2.3.4\r\nForwarded: for=1.2.3.4\r\nX-Gpuaas-Identity: signed-root\r\n\
                  x-gpuaas-identity: signed-root\r\nX_Gpuaas_Identity: signed-root\r\nProxy-Authorization: Basic eDp5\r\n\
                  Authorization: Basic eDp5\r\nConnection: keep-alive, x-gpuaas-identity, cookie\r\n";
    let cookies = format!(
        "Cookie: theirs=1; {COOKIE}={ALICE_S_COOKIE}; _xsrf=2|a\r\n\
         Cookie: gpuaas_session_0123abcd=portal; __Host-gpuaas_session_0123abcd=portal; last=\"3\"\r\n"
    );
    world.ask("GET /dump?a=b", &format!("{forged}{cookies}{OWN_PAGE}X-Own: kept\r\n")).await;
    let heard = app.only_request();
    assert_eq!(heard.target(), "/dump?a=b");
    assert_eq!(heard.one("host"), Some(world.host().as_str()));
    assert_eq!(heard.all("x-gpuaas-identity"), ["signed-alice"]);
    assert_eq!(heard.one("cookie"), Some("theirs=1; _xsrf=2|a; last=\"3\""));
    assert_eq!(heard.one("x-own"), Some("kept"));
    let mut names: Vec<&str> = heard.headers.iter().map(|(name, _)| name.as_str()).collect();
    names.sort_unstable();
    let expected = [
        "cookie",
        "host",
        "sec-fetch-dest",
        "sec-fetch-mode",
        "sec-fetch-site",
        "x-forwarded-host",
        "x-forwarded-proto",
        "x-gpuaas-identity",
        "x-own",
    ];
    assert_eq!(names, expected);
    let whole = String::from_utf8(app.heard().concat()).unwrap();
    for secret in [ALICE_S_COOKIE, "portal", "1.2.3.4", "signed-root", "eDp5", COOKIE] {
        assert!(!whole.contains(secret), "{secret} in {whole}");
    }
}

/// G01: a token opens the endpoint and ends there; it wins over a cookie, and neither is passed on.
#[tokio::test]
async fn a_token_is_not_passed_on() {
    let (world, app, _) = World::with_echoes().await;
    let both = format!("authorization: bearer {BOB}\r\nCookie: {COOKIE}={ALICE_S_COOKIE}\r\n");
    assert_eq!(world.ask("GET /", &both).await.text(), "first: GET / for signed-bob");
    let whole = String::from_utf8(app.heard().concat()).unwrap();
    assert!(!whole.contains("gpue_") && !whole.contains(ALICE_S_COOKIE), "{whole}");
}

/// G02, G12: a code is good once, at its own endpoint, and becomes a cookie that no other origin, script or page shares.
#[tokio::test]
async fn a_code_becomes_one_session_at_its_own_endpoint() {
    let (world, app, _) = World::with_echoes().await;
    world.platform.change(|known| {
        known.codes.insert("code-a".into(), (world.a.clone(), "fresh".into()));
        known.codes.insert("code-b".into(), (world.b.clone(), "foreign".into()));
    });
    let foreign = world.ask("GET /.gpuaas/enter?code=code-b&next=/lab", NAVIGATES).await;
    assert_eq!((foreign.status(), foreign.all("set-cookie").len()), (401, 0), "a code of another endpoint");
    assert!(world.platform.change(|known| known.codes.contains_key("code-b")), "and it is not spent");

    let entered = world.ask("GET /.gpuaas/enter?code=code-a&next=%2Flab%3Freset%26x%3D1", NAVIGATES).await;
    assert_eq!(entered.status(), 303);
    assert_eq!(entered.one("location"), Some("/lab?reset&x=1"));
    assert_eq!(entered.one("cache-control"), Some("no-store"));
    let cookie = entered.one("set-cookie").expect("a session");
    let mut parts: Vec<&str> = cookie.split("; ").collect();
    assert_eq!(parts.remove(0), format!("{COOKIE}=fresh"));
    parts.sort_unstable();
    assert_eq!(parts, ["HttpOnly", "Max-Age=3600", "Partitioned", "Path=/", "SameSite=None", "Secure"]);

    let inside = world.ask("GET /lab?reset&x=1", &format!("{NAVIGATES}Cookie: {COOKIE}=fresh\r\n")).await;
    assert_eq!(inside.text(), "first: GET /lab?reset&x=1 for signed-alice");
    let again = world.ask("GET /.gpuaas/enter?code=code-a&next=/lab", NAVIGATES).await;
    assert_eq!((again.status(), again.all("set-cookie").len()), (401, 0));
    assert!(again.text().contains("This link was used before"));
    assert_eq!(app.requests().0.len(), 1, "codes never reach an app");
}

/// G02: each field of what opens an endpoint is looked at: endpoint, epoch, kind, spelling.
#[tokio::test]
async fn what_opens_one_endpoint_opens_no_other() {
    let (world, first, second) = World::with_echoes().await;
    let to = |host: &str, lines: &str| format!("GET / HTTP/1.1\r\nHost: {host}\r\n{lines}\r\n");
    let bearer = |token: &str| format!("Authorization: Bearer {token}\r\n");
    let cookie = |value: &str| format!("{OWN_PAGE}Cookie: {COOKIE}={value}\r\n");
    let (a, b) = (world.host(), world.other_host());
    // Both are known and in use where they belong, so that nothing depends on what is remembered.
    assert_eq!(world.ask_as(ALICE, "GET /").await.status(), 200);
    assert_eq!(world.ask("GET /", &cookie(ALICE_S_COOKIE)).await.status(), 200);
    let heard = first.requests().0.len();
    for (name, bytes) in [
        ("a cookie of the first at the second", to(&b, &cookie(ALICE_S_COOKIE))),
        ("a token of the first at the second", to(&b, &bearer(ALICE))),
        ("a token of the second at the first", to(&a, &bearer(CAROL))),
        ("no such cookie", to(&a, &cookie("guess"))),
        ("no such token", to(&a, &bearer("gpue_guess"))),
        ("an empty token", to(&a, &bearer("gpue_"))),
        ("another kind of token", to(&a, &bearer("gpuat_alice"))),
        ("a cookie as a token", to(&a, &bearer(ALICE_S_COOKIE))),
        ("a token as a cookie", to(&a, &cookie(ALICE))),
        ("a token in the address", to(&a, "").replacen("GET /", &format!("GET /?token={ALICE}"), 1)),
        ("two cookies", to(&a, &format!("{}Cookie: {COOKIE}={ALICE_S_COOKIE}\r\n", cookie(ALICE_S_COOKIE)))),
        ("two tokens", to(&a, &format!("{}{}", bearer(ALICE), bearer(ALICE)))),
        (
            "a cookie under another name",
            to(&a, &format!("{OWN_PAGE}Cookie: {}={ALICE_S_COOKIE}\r\n", COOKIE.to_lowercase())),
        ),
    ] {
        let mut client = world.connect().await;
        client.say(&bytes).await;
        let answer = client.answer().await.expect("an answer");
        assert!([400, 401].contains(&answer.status()), "{name}: {answer:?}");
    }
    assert_eq!((first.requests().0.len(), second.connections()), (heard, 0));
}

/// G02, G13: when the endpoint's epoch moves, what was given before opens nothing, at once and for good.
#[tokio::test]
async fn what_was_given_in_an_earlier_epoch_is_refused() {
    let (world, _, _) = World::with_echoes().await;
    let cookie = format!("{OWN_PAGE}Cookie: {COOKIE}={ALICE_S_COOKIE}\r\n");
    assert_eq!(world.ask("GET /", &cookie).await.status(), 200);
    world.platform.change_route(&world.a, |route| route.access_epoch = 2);
    world.gateway.refresh().await;
    assert_eq!(world.ask("GET /", &cookie).await.status(), 401);
    world.gateway.refresh().await;
    assert_eq!(world.ask("GET /", &cookie).await.status(), 401, "also when it is looked up afresh");
    assert_eq!(world.ask_as(ALICE, "GET /").await.status(), 200, "a token has no epoch");
}

/// J-11, G12: after entering one goes on at this origin, whatever the address says.
#[tokio::test]
async fn nobody_is_sent_elsewhere_after_entering() {
    let (world, _, _) = World::with_echoes().await;
    for next in [
        "//evil.example",
        "/%5Cevil.example",
        "/\\evil.example",
        "https://evil.example/",
        "https:evil.example",
        "%2F%2Fevil.example",
        "%09//evil.example",
        "/%0d%0aSet-Cookie:%20a=b",
        "/%00",
        "javascript:alert(1)",
        "evil",
        "/.gpuaas/enter?code=x",
        "/a&next=//evil.example",
        "",
    ] {
        world.platform.change(|known| known.codes.insert("code".into(), (world.a.clone(), "fresh".into())));
        let answer = world.ask(&format!("GET /.gpuaas/enter?code=code&next={next}"), NAVIGATES).await;
        // A `next` that cannot be read, or stands twice, is none.
        if answer.status() == 303 {
            assert_eq!(answer.one("location"), Some("/"), "{next}");
        } else {
            assert_eq!((answer.status(), answer.all("location").len()), (400, 0), "{next}");
        }
    }
}

/// G12, G07: entering is for somebody who goes there, not for what a page loads behind their back.
#[tokio::test]
async fn only_a_navigation_enters() {
    let (world, app, _) = World::with_echoes().await;
    for (first, lines, status) in [
        ("GET", "Sec-Fetch-Mode: cors\r\nSec-Fetch-Dest: empty\r\n", 403),
        ("GET", "Sec-Fetch-Mode: no-cors\r\nSec-Fetch-Dest: image\r\n", 403),
        ("POST", NAVIGATES, 405),
        ("HEAD", NAVIGATES, 405),
    ] {
        world.platform.change(|known| known.codes.insert("code".into(), (world.a.clone(), "fresh".into())));
        let answer = world.ask(&format!("{first} /.gpuaas/enter?code=code"), lines).await;
        assert_eq!((answer.status(), answer.all("set-cookie").len()), (status, 0), "{first} {lines}");
        assert!(world.platform.change(|known| known.codes.contains_key("code")), "nothing is spent");
    }
    assert_eq!(world.ask("GET /.gpuaas/other", NAVIGATES).await.status(), 404);
    assert_eq!(app.connections(), 0);
}

/// G07: a cookie that a neighbour's script leaves at the common domain, of whatever bytes, keeps nobody out.
#[tokio::test]
async fn a_neighbour_s_cookie_keeps_nobody_out() {
    let (world, app, _) = World::with_echoes().await;
    let strange = "toss=\u{fc}\u{1f980}; a=1";
    let lines = format!("{OWN_PAGE}Cookie: {strange}; {COOKIE}={ALICE_S_COOKIE}; =nameless; bare\r\n");
    let answer = world.ask("GET /", &lines).await;
    assert_eq!(answer.text(), "first: GET / for signed-alice");
    let whole = String::from_utf8(app.heard().concat()).unwrap();
    assert!(whole.contains(&format!("cookie: {strange}; =nameless; bare\r\n")), "{whole}");
}
