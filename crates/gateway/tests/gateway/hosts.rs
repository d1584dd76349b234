//! Attack 5: who is meant is told by the authority of the request, and by nothing else.

use crate::http2::{Frames, Got};
use crate::world::{APPS, World};

/// Two endpoints that let everybody in, so that nothing but the routing stands between them.
async fn open_world() -> (World, crate::app::App, crate::app::App) {
    let (world, first, second) = World::with_echoes().await;
    world.platform.change(|known| known.open.extend([world.a.clone(), world.b.clone()]));
    (world, first, second)
}

/// Headers that some program, somewhere, believes more than `Host`.
const BELIEVED: [(&str, &str); 30] = [
    ("X-Forwarded-Host", "{b}"),
    ("x-forwarded-host", "{b}, {a}"),
    ("X-Forwarded-Server", "{b}"),
    ("X-Forwarded-For", "127.0.0.1"),
    ("X-Forwarded-Proto", "http"),
    ("X-Forwarded-Scheme", "http"),
    ("X-Forwarded-Port", "80"),
    ("X-Forwarded-Prefix", "//{b}"),
    ("X-Forwarded-Uri", "https://{b}/"),
    ("X-Forwarded-User", "root"),
    ("X_Forwarded_Host", "{b}"),
    ("X-Forwarded_Host", "{b}"),
    ("Forwarded", "for=127.0.0.1;host={b};proto=http"),
    ("X-Host", "{b}"),
    ("X-Original-Host", "{b}"),
    ("X-HTTP-Host-Override", "{b}"),
    ("X-Original-URL", "https://{b}/"),
    ("X-Rewrite-URL", "/admin"),
    ("X-HTTP-Method-Override", "DELETE"),
    ("X-Real-IP", "127.0.0.1"),
    ("X-Client-IP", "127.0.0.1"),
    ("Client-IP", "127.0.0.1"),
    ("True-Client-IP", "127.0.0.1"),
    ("CF-Connecting-IP", "127.0.0.1"),
    ("Via", "1.1 {b}"),
    ("Proxy-Host", "{b}"),
    ("Proxy-Connection", "keep-alive"),
    ("X-Gpuaas-Identity", "signed-root"),
    ("X-Gpuaas-Label", "{b}"),
    ("X-Remote-User", "root"),
];

/// G08, G01: none of the headers that programs believe moves a request, and none reaches the app as the client said it;
/// also where `Connection` names them, or names the host.
#[tokio::test]
async fn headers_that_programs_believe_move_nothing() {
    let (world, first, second) = open_world().await;
    let (a, b) = (world.host(), world.other_host());
    let filled = |text: &str| text.replace("{a}", &a).replace("{b}", &b);
    let mut asked = 0;
    for (name, value) in BELIEVED {
        let value = filled(value);
        for connection in [String::new(), format!("Connection: {name}, host, x-forwarded-host\r\n")] {
            asked += 1;
            let target = format!("/{asked}");
            let answer =
                world.ask(&format!("GET {target}"), &format!("{connection}{name}: {value}\r\n")).await;
            assert_eq!(answer.text(), format!("first: GET {target} for "), "{name} {connection}");
            let (heard, left) = first.requests();
            assert!(left.is_empty());
            let heard = heard.iter().find(|heard| heard.target() == target).expect("the app heard it");
            let seen = heard.all(name);
            let ours = match name.to_ascii_lowercase().as_str() {
                "x-forwarded-host" => vec![a.as_str()],
                "x-forwarded-proto" => vec!["https"],
                _ => vec![],
            };
            assert_eq!(seen, ours, "{name}");
            assert_eq!(heard.one("host"), Some(a.as_str()));
            assert_eq!(heard.one("x-forwarded-host"), Some(a.as_str()));
            assert_eq!(heard.one("x-forwarded-proto"), Some("https"));
            assert!(heard.headers.iter().all(|(_, value)| !value.contains(&b)), "{heard:?}");
        }
    }
    assert_eq!(second.connections(), 0);
}

/// Whole requests of HTTP/1.1, and whether they reach the first endpoint; nothing ever reaches the second.
fn spellings(a: &str, b: &str) -> Vec<(String, bool)> {
    let label = a.split('.').next().unwrap_or_default();
    let host = |host: &str| format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n");
    let lines = |lines: &str| format!("GET / HTTP/1.1\r\n{lines}\r\n\r\n");
    let target = |target: &str, host: &str| format!("GET {target} HTTP/1.1\r\nHost: {host}\r\n\r\n");
    vec![
        (host(a), true),
        (host(&a.to_uppercase()), true),
        (host(&format!("{a}:443")), true),
        (lines(&format!("Host:{a}")), true),
        (lines(&format!("Host:\t {a} \t")), true),
        (lines(&format!("hOsT: {a}")), true),
        (target(&format!("http://{a}/x"), a), true),
        (target(&format!("https://{a}/x"), a), true),
        (target(&format!("HTTPS://{}/x", a.to_uppercase()), a), true),
        (target(&format!("//{b}/x"), a), true),
        (target(&format!("/x?host={b}"), a), true),
        (target(&format!("/x/http://{b}/"), a), true),
        // Two names in one request.
        (target(&format!("http://{b}/"), a), false),
        (target(&format!("https://{b}:443/"), a), false),
        (target(&format!("http://{a}/"), b).replace(&format!("Host: {b}"), "Host: example.org"), false),
        (target(&format!("http://{a}@{b}/"), a), false),
        (target(&format!("http://{b}@{a}/"), a), false),
        (target(&format!("http://{a}:80/"), a), false),
        (format!("GET http://{a}/ HTTP/1.1\r\n\r\n"), false),
        (target(b, a), false),
        (target(&format!("{b}:443"), a), false),
        (target(&format!("@{b}/"), a), false),
        (format!("CONNECT {b}:443 HTTP/1.1\r\nHost: {a}\r\n\r\n"), false),
        (format!("CONNECT {a}:443 HTTP/1.1\r\nHost: {a}:443\r\n\r\n"), false),
        (lines(&format!("Host: {a}\r\nHost: {b}")), false),
        (lines(&format!("Host: {b}\r\nHost: {a}")), false),
        (lines(&format!("Host: {a}\r\nHost: {a}")), false),
        (lines(&format!("Host: {a}\r\nhost: {b}")), false),
        (lines(&format!("Host: {a}\r\n Host: {b}")), false),
        (lines(&format!("Host: {a}\r\n\t{b}")), false),
        (lines(&format!("Host: {a}\nHost: {b}")), false),
        (lines(&format!("Host: {a}\rHost: {b}")), false),
        (lines(&format!("Host: {a}\r\nHost : {b}")), false),
        (lines(&format!("Host: {a}\r\nHost\x0b: {b}")), false),
        (lines(&format!("Host: {a}\r\n\0Host: {b}")), false),
        (lines(&format!("Host : {a}")), false),
        (lines("Host:"), false),
        (lines("Accept: */*"), false),
        // Almost the name.
        (host(&format!("{a}, {b}")), false),
        (host(&format!("{a} {b}")), false),
        (host(&format!("{a},")), false),
        (host(&format!("{a}.")), false),
        (host(&format!("{a}.:443")), false),
        (host(&format!("{a}:80")), false),
        (host(&format!("{a}:0443")), false),
        (host(&format!("{a}:+443")), false),
        (host(&format!("{a}:65979")), false),
        (host(&format!("{a}:443:443")), false),
        (host(&format!("{a}:443@{b}")), false),
        (host(&format!("{a}:")), false),
        (host(&format!("{a}:4 43")), false),
        (host(&format!("{a}:\u{ff14}\u{ff14}\u{ff13}")), false),
        (host(&format!("user@{a}")), false),
        (host(&format!("{a}@{b}")), false),
        (host(&format!("user:secret@{a}")), false),
        (host(&format!("{a}/")), false),
        (host(&format!("{a}/{b}")), false),
        (host(&format!("{a}?{b}")), false),
        (host(&format!("{a}#{b}")), false),
        (host(&format!("{a}\\{b}")), false),
        (host(&format!("https://{a}")), false),
        (host(&format!("{label}%2e{APPS}")), false),
        (host(&format!("{label}\u{3002}{APPS}")), false),
        (host(&format!("{label}_.{APPS}")), false),
        (host(&format!("-{a}")), false),
        (host(&format!("x{a}")), false),
        (host(&format!("{label}.{a}")), false),
        (host(&format!(".{a}")), false),
        (host(&format!("{}.{APPS}", &label[1..])), false),
        (host(&format!("{a}.evil.example")), false),
        (host(&format!("{label}.evil-{APPS}")), false),
        (host(&format!("*.{APPS}")), false),
        (host(APPS), false),
        (host("127.0.0.1"), false),
        (host("[::1]"), false),
        (host(&format!("\"{a}\"")), false),
    ]
}

/// G08, F05: more than fifty ways to write who is meant. The exact one leads to the endpoint, the others nowhere.
#[tokio::test]
async fn only_the_exact_name_leads_to_an_endpoint_and_none_to_the_other() {
    let (world, first, second) = open_world().await;
    let mut reached = 0;
    for (bytes, reaches) in spellings(&world.host(), &world.other_host()) {
        let mut client = world.connect().await;
        client.say(&bytes).await;
        let answer = client.answer().await;
        if reaches {
            reached += 1;
            let answer = answer.unwrap_or_else(|| panic!("{bytes:?} was not answered"));
            assert!(answer.text().starts_with("first: GET /"), "{bytes:?} {answer:?}");
        } else if let Some(answer) = answer {
            assert!([400, 404, 405, 421].contains(&answer.status()), "{bytes:?} {answer:?}");
        }
        let (heard, left) = first.requests();
        assert!(left.is_empty() && heard.len() == reached, "{bytes:?} {heard:?}");
        let last = heard.last().expect("the first one reaches");
        assert!(last.one("host").is_some_and(|host| host.to_lowercase().starts_with(&world.host())));
        assert!(last.target().starts_with('/'), "an app gets a path, never an address: {last:?}");
    }
    assert_eq!(second.connections(), 0);
}

/// G08: the same over HTTP/2, where the name has a place of its own.
#[tokio::test]
async fn over_http_2_the_authority_leads_and_nothing_may_contradict_it() {
    let (world, first, second) = open_world().await;
    let (a, b) = (world.host(), world.other_host());
    let (upper, port, user, dot) =
        (a.to_uppercase(), format!("{a}:443"), format!("user@{a}"), format!("{a}."));
    let (both, at, other_address) = (format!("{a},{b}"), format!("{a}@{b}"), format!("https://{b}/"));
    let cases: Vec<(Vec<(&str, &str)>, bool)> = vec![
        (vec![(":authority", &a)], true),
        (vec![(":authority", &upper)], true),
        (vec![(":authority", &port)], true),
        (vec![(":authority", &a), ("host", &a)], true),
        (vec![("host", &a)], true),
        (vec![(":authority", &a), ("x-forwarded-host", &b)], true),
        (vec![(":authority", &a), ("forwarded", &b)], true),
        (vec![(":authority", &a), ("x-original-url", &other_address)], true),
        (vec![(":authority", &a), ("host", &b)], false),
        (vec![(":authority", &b), ("host", &a)], false),
        (vec![(":authority", &a), ("host", &a), ("host", &b)], false),
        (vec![("host", &a), ("host", &b)], false),
        (vec![(":authority", &a), (":authority", &b)], false),
        (vec![("accept", "*/*"), (":authority", &a)], false),
        (vec![(":authority", &a), (":host", &b)], false),
        (vec![(":authority", &a), ("Host", &b)], false),
        (vec![(":authority", &user)], false),
        (vec![(":authority", &at)], false),
        (vec![(":authority", &dot)], false),
        (vec![(":authority", &both)], false),
        (vec![(":authority", "")], false),
        (vec![], false),
    ];
    let mut reached = 0;
    for (case, reaches) in cases {
        let mut headers = vec![(":method", "GET"), (":scheme", "https"), (":path", "/h2")];
        headers.extend(&case);
        let mut client = Frames::connect(&world).await;
        let stream = client.open(&headers, true).await;
        let got = client.got(stream).await;
        if reaches {
            reached += 1;
            assert_eq!(got, Got::Answer(200, "first: GET /h2 for ".into()), "{case:?}");
        } else {
            assert!(!matches!(got, Got::Answer(200, _)), "{case:?} {got:?}");
        }
        assert_eq!(first.requests().0.len(), reached, "{case:?}");
    }
    let (heard, _) = first.requests();
    for heard in heard {
        assert!(heard.one("host").is_some_and(|host| host.to_lowercase().starts_with(&a)), "{heard:?}");
        assert!(heard.headers.iter().all(|(_, value)| !value.contains(&b)), "{heard:?}");
    }
    assert_eq!(second.connections(), 0);
}
