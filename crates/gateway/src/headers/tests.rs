use proptest::prelude::*;

use super::*;

fn map(pairs: &[(&str, &str)]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in pairs {
        headers.append(HeaderName::from_bytes(name.as_bytes()).unwrap(), value.parse().unwrap());
    }
    headers
}

fn names() -> Names {
    Names::new(true, "apps.example.org", vec!["https://example.org".into()])
}

fn sent(pairs: &[(&str, &str)]) -> HeaderMap {
    let mut headers = map(pairs);
    to_app(
        &mut headers,
        Outgoing {
            names: &names(),
            cookie: Some(HeaderValue::from_static("a=1")),
            identity: Some(HeaderValue::from_static("signed")),
            keep_authorization: false,
            socket: false,
        },
    );
    headers
}

/// G01: nothing the client says about where it comes from, and nothing of ours, reaches the app.
#[test]
fn nothing_of_ours_and_nothing_forged_reaches_the_app() {
    let forged = [
        ("x-forwarded-for", "1.2.3.4"),
        ("x-forwarded-host", "evil.example"),
        ("x-forwarded-proto", "http"),
        ("x-forwarded-prefix", "/evil"),
        ("x_forwarded_for", "1.2.3.4"),
        ("forwarded", "for=1.2.3.4"),
        ("via", "1.1 evil"),
        ("x-real-ip", "1.2.3.4"),
        ("x-original-url", "/admin"),
        ("x-rewrite-url", "/admin"),
        ("x-gpuaas-identity", "forged"),
        ("x-gpuaas-user", "forged"),
        ("x-remote-user", "admin"),
        ("authorization", "Bearer gpue_x"),
        ("proxy-authorization", "Basic x"),
        ("cookie", "__Host-gpuaas_app_1=secret"),
        ("te", "trailers"),
        ("expect", "100-continue"),
    ];
    let mut pairs = forged.to_vec();
    pairs.extend([
        ("host", "abcd.apps.example.org"),
        ("accept", "text/html"),
        ("origin", "https://abcd.apps.example.org"),
    ]);
    let headers = sent(&pairs);
    let seen: Vec<String> =
        headers.iter().map(|(name, value)| format!("{name}: {}", value.to_str().unwrap())).collect();
    let mut seen: Vec<&str> = seen.iter().map(String::as_str).collect();
    seen.sort_unstable();
    assert_eq!(
        seen,
        [
            "accept: text/html",
            "cookie: a=1",
            "host: abcd.apps.example.org",
            "origin: https://abcd.apps.example.org",
            "x-forwarded-host: abcd.apps.example.org",
            "x-forwarded-proto: https",
            "x-gpuaas-identity: signed",
        ]
    );
}

/// G08: `Connection` takes headers away first; what we say comes after and stays.
#[test]
fn connection_cannot_take_away_what_we_say() {
    let headers = sent(&[
        ("host", "abcd.apps.example.org"),
        ("connection", "close, x-gpuaas-identity, x-forwarded-host, cookie, Host, content-length, x-secret"),
        ("x-secret", "1"),
        ("content-length", "3"),
    ]);
    assert_eq!(headers[IDENTITY], "signed");
    assert_eq!(headers[FORWARDED_HOST], "abcd.apps.example.org");
    assert_eq!(headers[header::HOST], "abcd.apps.example.org");
    assert_eq!(headers[header::CONTENT_LENGTH], "3");
    assert_eq!(headers[header::COOKIE], "a=1");
    assert!(!headers.contains_key("x-secret") && !headers.contains_key(header::CONNECTION));
}

/// G09: what two parsers could read differently is refused.
#[test]
fn ambiguous_framing_is_refused() {
    let look = |pairs: &[(&str, &str)]| check(&Method::POST, Version::HTTP_11, &map(pairs));
    assert_eq!(look(&[("content-length", "3")]), Ok(()));
    assert_eq!(look(&[("transfer-encoding", "chunked")]), Ok(()));
    for bad in [
        vec![("content-length", "3"), ("content-length", "3")],
        vec![("content-length", "3"), ("transfer-encoding", "chunked")],
        vec![("transfer-encoding", "chunked"), ("transfer-encoding", "chunked")],
        vec![("transfer-encoding", "gzip, chunked")],
        vec![("transfer-encoding", "identity")],
        vec![("transfer-encoding", "xchunked")],
    ] {
        assert_eq!(look(&bad), Err(Malformed::Length), "{bad:?}");
    }
    assert_eq!(check(&Method::GET, Version::HTTP_10, &map(&[])), Err(Malformed::Version));
    assert_eq!(check(&Method::CONNECT, Version::HTTP_11, &map(&[])), Err(Malformed::Method));
    assert_eq!(check(&Method::TRACE, Version::HTTP_11, &map(&[])), Err(Malformed::Method));
}

#[test]
fn only_a_clean_upgrade_is_one() {
    let good = [
        ("connection", "keep-alive, Upgrade"),
        ("upgrade", "WebSocket"),
        ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
        ("sec-websocket-version", "13"),
    ];
    let wanted = |pairs: &[(&str, &str)]| socket_wanted(&Method::GET, Version::HTTP_11, &map(pairs));
    assert_eq!(wanted(&good), Ok(true));
    assert_eq!(wanted(&good[..1]), Ok(false), "no upgrade header");
    assert_eq!(wanted(&[("connection", "upgrade"), ("upgrade", "h2c")]), Ok(false));
    assert_eq!(socket_wanted(&Method::POST, Version::HTTP_11, &map(&good)), Err(Malformed::Upgrade));
    for extra in [
        ("content-length", "5"),
        ("transfer-encoding", "chunked"),
        ("upgrade", "h2c"),
        ("sec-websocket-key", "x"),
    ] {
        let mut pairs = good.to_vec();
        pairs.push(extra);
        assert_eq!(wanted(&pairs), Err(Malformed::Upgrade), "{extra:?}");
    }
    assert_eq!(wanted(&good[1..]), Err(Malformed::Upgrade), "without Connection");
}

fn shown(pairs: &[(&str, &str)], policy: &EndpointPolicy) -> HeaderMap {
    let mut headers = map(pairs);
    Shield::new(&names(), policy).to_browser(&mut headers);
    headers
}

fn all<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Vec<&'h str> {
    headers.get_all(name).iter().map(|value| value.to_str().unwrap()).collect()
}

/// G11: ours is there whatever the app says, the app's own stays beside it, and only `frame-ancestors` is taken from it.
#[test]
fn an_app_can_make_its_policy_tighter_and_not_looser() {
    let headers = shown(
        &[
            ("content-security-policy", "frame-ancestors 'self'; report-uri /x"),
            ("content-security-policy", "Frame-Ancestors *"),
            ("content-security-policy", "script-src 'self'"),
            ("x-frame-options", "ALLOWALL"),
            ("x-content-type-options", "sniff"),
            ("referrer-policy", "unsafe-url"),
            ("cross-origin-opener-policy", "unsafe-none"),
            ("clear-site-data", "\"cookies\""),
            ("strict-transport-security", "max-age=0"),
            ("cache-control", "public, max-age=60, s-maxage=600"),
        ],
        &EndpointPolicy {
            content_security_policy: Some("img-src 'self'".into()),
            ..EndpointPolicy::default()
        },
    );
    assert_eq!(
        all(&headers, &header::CONTENT_SECURITY_POLICY),
        [
            "frame-ancestors https://example.org; base-uri 'self'; form-action 'self'",
            "report-uri /x",
            "script-src 'self'",
            "img-src 'self'",
        ]
    );
    assert_eq!(all(&headers, &header::X_CONTENT_TYPE_OPTIONS), ["nosniff"]);
    assert_eq!(all(&headers, &header::REFERRER_POLICY), ["no-referrer"]);
    assert_eq!(all(&headers, &COOP), ["same-origin"]);
    assert_eq!(all(&headers, &header::STRICT_TRANSPORT_SECURITY), ["max-age=31536000"]);
    assert_eq!(all(&headers, &header::CACHE_CONTROL), ["private, max-age=60"]);
    assert!(!headers.contains_key("x-frame-options") && !headers.contains_key("clear-site-data"));
    let nobody = EndpointPolicy { frame: Frame::Nobody, ..EndpointPolicy::default() };
    let headers = shown(&[], &nobody);
    assert!(all(&headers, &header::CONTENT_SECURITY_POLICY)[0].starts_with("frame-ancestors 'none'"));
}

proptest! {
    /// F05: whatever headers come, no hop-by-hop, forwarding or platform header goes on, and ours stand exactly once.
    #[test]
    fn whatever_comes_ours_stands_once_and_nothing_forged_goes_on(
        pairs in prop::collection::vec(("[a-zA-Z][a-zA-Z0-9_-]{0,24}|x-forwarded-[a-z]{1,8}|connection|x-gpuaas-[a-z]{1,9}|transfer-encoding|cookie", "[ -~]{0,40}"), 0..24)
    ) {
        let mut headers = HeaderMap::new();
        for (name, value) in &pairs {
            headers.append(HeaderName::from_bytes(name.as_bytes()).unwrap(), HeaderValue::from_str(value).unwrap());
        }
        headers.remove(header::HOST);
        headers.insert(header::HOST, HeaderValue::from_static("abcd.apps.example.org"));
        to_app(&mut headers, Outgoing {
            names: &names(),
            cookie: None,
            identity: Some(HeaderValue::from_static("signed")),
            keep_authorization: false,
            socket: false,
        });
        prop_assert_eq!(all(&headers, &IDENTITY), ["signed"]);
        prop_assert_eq!(all(&headers, &FORWARDED_HOST), ["abcd.apps.example.org"]);
        prop_assert_eq!(all(&headers, &header::HOST), ["abcd.apps.example.org"]);
        prop_assert!(!headers.contains_key(header::COOKIE) && !headers.contains_key(header::AUTHORIZATION));
        for name in headers.keys() {
            prop_assert!(!HOP_BY_HOP.contains(name), "{name}");
            prop_assert!(!name.as_str().contains('_'), "{name}");
            let ours = [IDENTITY, FORWARDED_HOST, FORWARDED_PROTO].contains(name);
            prop_assert!(ours || !is_ours_to_say(name.as_str()), "{name}");
        }
    }
}

/// G11: nothing between us and the browser keeps what one person saw, however the app says it.
#[test]
fn no_store_on_the_way_may_keep_an_answer() {
    let policy = EndpointPolicy::default();
    for (said, heard) in [
        (&["private", "public, s-maxage=60"][..], "private"),
        (&["max-age=60"][..], "private, max-age=60"),
        (&["no-store"][..], "no-store"),
        (&["no-store, public"][..], "no-store"),
        (&[][..], "private"),
        (&["Public", "S-MaxAge=9", "immutable"][..], "private, immutable"),
    ] {
        let mut pairs: Vec<(&str, &str)> = said.iter().map(|value| ("cache-control", *value)).collect();
        pairs.extend([("cdn-cache-control", "public"), ("surrogate-control", "max-age=60")]);
        let answer = shown(&pairs, &policy);
        assert_eq!(all(&answer, &header::CACHE_CONTROL), [heard], "{said:?}");
        assert!(!answer.contains_key("cdn-cache-control") && !answer.contains_key("surrogate-control"));
    }
}
