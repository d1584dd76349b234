//! R06: whatever a registry says, credentials reach nobody but itself and the token server that was allowed.

use std::sync::Arc;

use super::*;

/// The password, its encoded pair, and every token that was ever issued.
fn assert_nothing_leaked(stranger: &Stub) {
    let all = stranger.everything();
    let pair = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, format!("ann:{PASSWORD}"));
    for secret in [PASSWORD, &pair, "issued-token", "uthorization"] {
        assert!(!all.contains(secret), "{secret} reached a stranger:\n{all}");
    }
}

fn nobody() -> Stub {
    Stub::start(|_| answer("200 OK", &[("content-type", "application/json")], br#"{"token":"stolen"}"#))
}

/// A registry that asks for a token at `realm` and serves blobs and manifests to who has it.
fn asking(realm: &str) -> Stub {
    let challenge = format!(
        r#"Bearer realm="{realm}",service="registry",scope="repository:everything:*,registry:catalog:*""#
    );
    Stub::start(move |seen| {
        if seen.line.starts_with("GET /token") {
            return answer("200 OK", &[], br#"{"access_token":"issued-token","expires_in":60}"#);
        }
        if seen.header("authorization") != Some("Bearer issued-token") {
            return answer("401 Unauthorized", &[("www-authenticate", &challenge)], b"");
        }
        answer("200 OK", &[("content-length-is", "5")], b"hello")
    })
}

#[tokio::test]
async fn a_token_is_fetched_once_for_what_is_about_to_be_done_and_no_more() {
    let registry = asking("HERE/token");
    let client = Registry::with(&registry.url, Some(password()), quick()).unwrap();
    let (repository, digest) = (repository(), Digest::of(b"hello"));
    for _ in 0..2 {
        assert_eq!(client.find_blob(&repository, &digest).await.unwrap(), Some(BlobHead { size: Some(5) }));
    }
    let blob = format!("HEAD /v2/apps/a/blobs/{digest}");
    let token = "GET /token?service=registry&scope=repository%3Aapps%2Fa%3Apull".to_owned();
    assert_eq!(registry.lines(), [blob.clone(), token, blob.clone(), blob]);
    let seen = registry.seen();
    assert!(seen[0].header("authorization").is_none(), "nothing is shown before it is asked for");
    assert!(seen[1].header("authorization").unwrap().starts_with("Basic "));
    assert_eq!(seen[3].header("authorization"), Some("Bearer issued-token"));
}

#[tokio::test]
async fn without_credentials_a_token_is_asked_for_without_any() {
    let registry = asking("HERE/token");
    let found = client(&registry, quick()).find_blob(&repository(), &Digest::of(b"hello")).await.unwrap();
    assert_eq!(found, Some(BlobHead { size: Some(5) }));
    assert!(registry.seen()[1].header("authorization").is_none());
}

#[tokio::test]
async fn a_password_goes_to_a_registry_that_asks_for_it_directly() {
    let registry = Stub::start(|seen| match seen.header("authorization") {
        Some(_) => answer("200 OK", &[], b"hello"),
        None => answer("401 Unauthorized", &[("www-authenticate", "Basic realm=\"x\"")], b""),
    });
    let client = Registry::with(&registry.url, Some(password()), quick()).unwrap();
    assert!(client.find_blob(&repository(), &Digest::of(b"hello")).await.unwrap().is_some());
    let anonymous = Registry::with(&registry.url, None, quick()).unwrap();
    let refused = anonymous.find_blob(&repository(), &Digest::of(b"hello")).await.unwrap_err();
    assert!(matches!(refused, ClientError::Unauthorized { had_credentials: false, .. }), "{refused}");
}

/// R06.
#[tokio::test]
async fn a_hostile_realm_gets_nothing() {
    let stranger = nobody();
    let with_user = stranger.url.replace("http://", "http://ann@");
    for realm in [
        stranger.url.clone(),
        format!("{}/token?x=", stranger.url),
        with_user,
        "nonsense".to_owned(),
        "http://eve:x@HOST/token".to_owned(),
    ] {
        let registry = asking(&realm);
        let client = Registry::with(&registry.url, Some(password()), quick()).unwrap();
        let refused = client.find_blob(&repository(), &Digest::of(b"hello")).await.unwrap_err();
        assert!(matches!(refused, ClientError::ForeignRealm { .. }), "{realm}: {refused}");
        assert!(!registry.everything().contains("uthorization"), "{realm}");
    }
    assert!(stranger.lines().is_empty(), "{:?}", stranger.lines());
}

/// R06: an allowed token server serves one service only; a registry cannot ask it for a token that opens another.
#[tokio::test]
async fn an_allowed_realm_is_allowed_for_its_service_only() {
    let tokens = Stub::start(|_| answer("200 OK", &[], br#"{"token":"issued-token"}"#));
    let realm = format!("{}/token", tokens.url);
    let registry = asking(&realm);
    for (service, allowed) in [("registry", true), ("billing", false)] {
        let known = TokenRealm { url: realm.clone(), service: service.to_owned() };
        let settings = Settings { token_realms: vec![known], ..quick() };
        let client = Registry::with(&registry.url, Some(password()), settings).unwrap();
        let outcome = client.find_blob(&repository(), &Digest::of(b"hello")).await;
        assert_eq!(outcome.is_ok(), allowed, "{service}: {outcome:?}");
    }
    assert_eq!(tokens.lines(), ["GET /token?service=registry&scope=repository%3Aapps%2Fa%3Apull"]);
}

/// R06.
#[tokio::test]
async fn no_credential_goes_from_an_encrypted_registry_to_a_plain_realm() {
    let stranger = nobody();
    let realm = TokenRealm { url: format!("{}/token", stranger.url), service: "registry".to_owned() };
    let settings = Settings { token_realms: vec![realm.clone()], extra_ca_pem: None, ..quick() };
    let plain = Registry::with(&stranger.url, Some(password()), settings).unwrap();
    let registry = Registry { base: Url::parse("https://r.example.com").unwrap(), ..plain };
    let answer = plain_answer(&stranger).await;
    let refused = registry.answer_challenge(&answer, &Scope::pull(&repository())).await.unwrap_err();
    assert!(matches!(refused, ClientError::Downgrade { .. }), "{refused}");
    let ask =
        Ask::new(Method::GET, Url::parse("https://r.example.com/v2/").unwrap(), Scope::pull(&repository()));
    let to = Url::parse("http://r.example.com/v2/").unwrap();
    let refused = registry.may_follow(&ask, &ask.url, &to).unwrap_err();
    assert!(matches!(refused, ClientError::Downgrade { .. }), "{refused}");
    assert_nothing_leaked(&stranger);
}

/// A challenge that names the stranger, as a response.
async fn plain_answer(stranger: &Stub) -> Response {
    let challenge = format!(r#"Bearer realm="{}/token",service="registry""#, stranger.url);
    let stub = Stub::start(move |_| answer("401 Unauthorized", &[("www-authenticate", &challenge)], b""));
    let registry = client(&stub, quick());
    registry.http.get(&stub.url).send().await.unwrap()
}

/// R06: bytes may come from elsewhere, credentials go nowhere.
#[tokio::test]
async fn a_blob_from_another_host_is_asked_for_without_credentials() {
    let elsewhere = Stub::start(|_| answer("200 OK", &[], b"hello"));
    let target = format!("{}/bucket/key?signed=1", elsewhere.url);
    let registry = Stub::start(move |seen| match seen.header("authorization") {
        Some(_) => answer("307 Temporary Redirect", &[("location", &target)], b""),
        None => answer("401 Unauthorized", &[("www-authenticate", "Basic")], b""),
    });
    let (repository, digest) = (repository(), Digest::of(b"hello"));

    let strict = Registry::with(&registry.url, Some(password()), quick()).unwrap();
    let refused = strict.blob_bytes(&repository, &digest, 5, 100).await.unwrap_err();
    assert!(matches!(refused, ClientError::OtherHost { .. }), "{refused}");
    assert!(!refused.to_string().contains("signed"), "a signed address is a key: {refused}");
    assert!(elsewhere.lines().is_empty());

    let settings = Settings { redirects: Redirects::BlobsFromAnywhere, ..quick() };
    let open = Registry::with(&registry.url, Some(password()), settings).unwrap();
    assert_eq!(&open.blob_bytes(&repository, &digest, 5, 100).await.unwrap()[..], b"hello");
    assert_eq!(elsewhere.lines(), ["GET /bucket/key?signed=1"]);
    assert_nothing_leaked(&elsewhere);
    let refused = open.get_manifest(&repository, &digest).await.unwrap_err();
    assert!(matches!(refused, ClientError::OtherHost { .. }), "manifests come from the registry: {refused}");
    assert_eq!(elsewhere.lines().len(), 1);
}

/// R06.
#[tokio::test]
async fn who_was_sent_away_and_back_stays_a_stranger_and_its_challenge_is_not_answered() {
    let bouncer = Stub::start(|seen| match seen.line.split_once("?back=") {
        Some((_, back)) => answer("302 Found", &[("location", back)], b""),
        None => answer("401 Unauthorized", &[("www-authenticate", "Basic")], b""),
    });
    let (there, asks) = (bouncer.url.clone(), bouncer.url.clone());
    let registry = Stub::start(move |seen| {
        if seen.line.ends_with("/secret") {
            let body: &[u8] = if seen.header("authorization").is_some() { b"shown" } else { b"hello" };
            return answer("200 OK", &[], body);
        }
        let target =
            if seen.line.contains("/apps/b/") { asks.clone() } else { format!("{there}/?back=HERE/secret") };
        answer("307 Temporary Redirect", &[("location", &target)], b"")
    });
    let settings = Settings { redirects: Redirects::BlobsFromAnywhere, ..quick() };
    let token = Credentials::Token(SecretText::new("issued-token".to_owned()));
    let client = Registry::with(&registry.url, Some(token), settings).unwrap();
    // `HERE` is filled in by the bouncer's own address unless the registry names itself.
    let digest = Digest::of(b"hello");
    let _ = client.blob_bytes(&repository(), &digest, 5, 100).await;
    let refused = client.blob_bytes(&"apps/b".parse().unwrap(), &digest, 5, 100).await.unwrap_err();
    assert!(matches!(refused, ClientError::Unauthorized { had_credentials: false, .. }), "{refused}");
    assert_eq!(registry.seen()[0].header("authorization"), Some("Bearer issued-token"));
    for seen in registry.seen().iter().filter(|seen| seen.line.ends_with("/secret")) {
        assert!(seen.header("authorization").is_none(), "{}", seen.head);
    }
    assert!(registry.lines().iter().any(|line| line == "GET /secret"), "{:?}", registry.lines());
    assert_nothing_leaked(&bouncer);
}

/// R06: addresses inside of answers are held to the same law.
#[tokio::test]
async fn an_upload_or_a_page_on_another_host_gets_nothing() {
    let stranger = nobody();
    let (upload, page) =
        (format!("{}/upload", stranger.url), format!("<{}/page>; rel=\"next\"", stranger.url));
    let registry = Stub::start(move |seen| match seen.line.split(' ').next() {
        Some("HEAD") => answer("404 Not Found", &[], b""),
        Some("POST") => answer("202 Accepted", &[("location", &upload)], b""),
        _ => answer("200 OK", &[("link", &page)], br#"{"name":"apps/a","tags":["1"]}"#),
    });
    let client = Registry::with(&registry.url, Some(password()), quick()).unwrap();
    for bytes in [&b"small"[..], b"more than ten bytes"] {
        let source = BlobSource::Memory(Bytes::from_static(bytes));
        let refused =
            client.push_blob(&repository(), &Digest::of(bytes), &source, &|_| ()).await.unwrap_err();
        assert!(matches!(refused, ClientError::OtherHost { .. }), "{refused}");
    }
    let refused = client.list_tags(&repository()).await.unwrap_err();
    assert!(matches!(refused, ClientError::OtherHost { .. }), "{refused}");
    assert!(stranger.lines().is_empty());
}

/// R06, R02: a layer that names other hosts is never asked for there, and an image with one is not run.
#[tokio::test]
async fn a_foreign_layer_is_not_fetched_from_where_it_points() {
    let stranger = nobody();
    let built = crate::ImageBuilder::new("amd64").file("x", 0o644, b"x".to_vec()).build().unwrap();
    let size = built.layers[0].bytes.len();
    let foreign = String::from_utf8(built.manifest.bytes.clone()).unwrap().replace(
        &format!("\"size\":{size}"),
        &format!("\"size\":{size},\"urls\":[\"{}/layer\"]", stranger.url),
    );
    let (digest, body) = (Digest::of(foreign.as_bytes()), foreign.clone());
    let registry = Stub::start(move |seen| {
        if seen.line.contains("/manifests/") {
            answer("200 OK", &[("content-type", crate::MANIFEST_TYPE)], body.as_bytes())
        } else {
            answer("404 Not Found", &[], b"")
        }
    });
    let client = Registry::with(&registry.url, Some(password()), quick()).unwrap();
    let fetched = client.get_manifest(&repository(), &digest).await.unwrap();
    let Ok(crate::manifest::Manifest::Image(image)) = fetched.read() else { panic!("an image") };
    assert!(image.check_runnable().unwrap_err().to_string().contains("leads to another host"));
    let layer = &image.layers[0];
    let refused = client.blob_bytes(&repository(), &layer.digest, layer.size, 1000).await.unwrap_err();
    assert!(matches!(refused, ClientError::NotFound { .. }), "{refused}");
    assert!(stranger.lines().is_empty());
}

/// F07.
#[tokio::test]
async fn an_answer_that_is_no_token_is_never_sent_on() {
    let huge = format!(r#"{{"token":"{}"}}"#, "x".repeat(100_000)).into_bytes();
    let answers: [&[u8]; 6] = [
        b"",
        b"{}",
        br#"{"token":"a\r\nx: y"}"#,
        br#"{"token":"a b"}"#,
        br#"{"token":"a","token":"b"}"#,
        &huge,
    ];
    for body in answers {
        let body = body.to_vec();
        let registry = Stub::start(move |seen| {
            if seen.line.starts_with("GET /token") {
                answer("200 OK", &[], &body)
            } else {
                answer("401 Unauthorized", &[("www-authenticate", "Bearer realm=\"HERE/token\"")], b"")
            }
        });
        let client = Registry::with(&registry.url, Some(password()), quick()).unwrap();
        let refused = client.find_blob(&repository(), &Digest::of(b"hello")).await.unwrap_err();
        let named = matches!(refused, ClientError::NoToken { .. } | ClientError::TooLarge { .. });
        assert!(named, "{refused}");
        assert_eq!(registry.lines().len(), 2, "{:?}", registry.lines());
    }
}

#[tokio::test]
async fn wrong_credentials_are_told_and_not_tried_again_and_again() {
    let registry = Stub::start(|_| answer("401 Unauthorized", &[("www-authenticate", "Basic")], b""));
    let client = Registry::with(&registry.url, Some(password()), quick()).unwrap();
    let refused = client.find_blob(&repository(), &Digest::of(b"hello")).await.unwrap_err();
    assert!(matches!(refused, ClientError::Unauthorized { had_credentials: true, .. }), "{refused}");
    assert_eq!(registry.lines().len(), 2);
    assert!(!format!("{refused:?} {refused}").contains(PASSWORD));
}

/// Issues `issued-token-1`, `-2` and so on, as many as it has.
struct Issuer {
    most: u32,
    now: std::sync::Mutex<(u32, Arc<SecretText>)>,
}

impl Issuer {
    fn new(most: u32) -> Arc<Self> {
        Arc::new(Self { most, now: std::sync::Mutex::new((1, token(1))) })
    }
}

fn token(number: u32) -> Arc<SecretText> {
    Arc::new(SecretText::new(format!("issued-token-{number}")))
}

impl TokenSource for Issuer {
    fn token(&self) -> Arc<SecretText> {
        self.now.lock().unwrap().1.clone()
    }

    fn renew<'a>(&'a self, _: &'a Arc<SecretText>) -> Renewal<'a> {
        let mut now = self.now.lock().unwrap();
        let next = now.0 + 1;
        let answer = if next <= self.most { Ok(token(next)) } else { Err("not any more".to_owned()) };
        if let Ok(token) = &answer {
            *now = (next, token.clone());
        }
        Box::pin(std::future::ready(answer))
    }
}

/// F-16, R06: a token that ends is renewed by whoever issued it; the realm that the registry names is never asked.
#[tokio::test]
async fn an_issued_token_is_renewed_by_its_issuer_and_by_nobody_else() {
    let realm = nobody();
    let challenge = format!(r#"Bearer realm="{}/token",service="registry""#, realm.url);
    let registry = Stub::start(move |seen| match seen.header("authorization") {
        Some("Bearer issued-token-2") => answer("200 OK", &[], b"hello"),
        _ => answer("401 Unauthorized", &[("www-authenticate", &challenge)], b""),
    });
    let digest = Digest::of(b"hello");
    let ask = async |most| {
        let credentials = Credentials::Issued(Issuer::new(most));
        let client = Registry::with(&registry.url, Some(credentials), quick()).unwrap();
        client.blob_bytes(&repository(), &digest, 5, 100).await
    };
    assert_eq!(ask(2).await.unwrap(), "hello");
    let refused = ask(1).await.unwrap_err();
    assert!(matches!(&refused, ClientError::NotRenewed { why } if why == "not any more"), "{refused}");
    assert_eq!(registry.lines().len(), 3);
    assert!(realm.seen().is_empty(), "{}", realm.everything());
}

/// R06: an issued token does not follow a redirect.
#[tokio::test]
async fn an_issued_token_stays_with_its_registry() {
    let stranger = nobody();
    let target = format!("{}/x", stranger.url);
    let registry = Stub::start(move |_| answer("307 Temporary Redirect", &[("location", &target)], b""));
    let digest = Digest::of(b"hello");
    for redirects in [Redirects::SameOrigin, Redirects::BlobsFromAnywhere] {
        let credentials = Credentials::Issued(Issuer::new(1));
        let settings = Settings { redirects, ..quick() };
        let client = Registry::with(&registry.url, Some(credentials), settings).unwrap();
        client.blob_bytes(&repository(), &digest, 5, 100).await.unwrap_err();
    }
    assert_eq!(registry.seen()[0].header("authorization"), Some("Bearer issued-token-1"));
    assert_eq!(stranger.lines(), ["GET /x"]);
    assert_nothing_leaked(&stranger);
}
