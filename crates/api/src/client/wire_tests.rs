//! The client against a scripted peer: what goes over the wire, and how often.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::thread::JoinHandle;
use std::time::Duration;

use futures_util::StreamExt as _;
use gpuaas_domain::Secret;
use serde_json::{Value, json};

use super::{Client, ClientError, ClientOptions};
use crate::Route;
use crate::auth::NewPersonalToken;

/// What the peer was sent: request line and headers in lower case, then the body.
struct Seen {
    head: String,
    body: String,
}

impl Seen {
    fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }
}

/// Gives each connection the next answer, then shows what it was asked.
fn peer(answers: Vec<String>) -> (Client, JoinHandle<Vec<Seen>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let base_url = format!("http://{}", listener.local_addr().unwrap());
    let served = std::thread::spawn(move || {
        let serve = |answer: String| {
            let (stream, _) = listener.accept().unwrap();
            let mut reader = BufReader::new(stream);
            let (mut head, mut line) = (String::new(), String::new());
            while reader.read_line(&mut line).unwrap() > 2 {
                let (name, value) = line.trim_end().split_once(": ").unwrap_or((line.trim_end(), ""));
                head.extend([name.to_lowercase().as_str(), ": ", value, "\n"]);
                line.clear();
            }
            let seen = Seen { head, body: String::new() };
            let length = seen.header("content-length").map_or(0, |length| length.parse().unwrap());
            let mut body = vec![0; length];
            reader.read_exact(&mut body).unwrap();
            reader.get_mut().write_all(answer.as_bytes()).unwrap();
            Seen { body: String::from_utf8(body).unwrap(), ..seen }
        };
        answers.into_iter().map(serve).collect()
    });
    let token = Some(Secret::new("the-token".to_owned()));
    let options = ClientOptions { base_url, token, ca_pem: None, timeout: Duration::from_secs(5) };
    (Client::new(options).unwrap(), served)
}

fn answer(status: &str, headers: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\nconnection: close\r\n{headers}content-length: {}\r\n\r\n{body}", body.len())
}

const UNAVAILABLE: &str = r#"{"error":{"code":"unavailable","message":"Later.","correlation_id":"c"}}"#;

#[tokio::test]
async fn a_repeated_mutation_keeps_its_key_and_its_story() {
    let busy = answer("503 Busy", "retry-after: 0\r\n", UNAVAILABLE);
    let (client, served) = peer(vec![busy.clone(), busy, answer("201 Created", "", r#"{"slug":"acme"}"#)]);
    let reply: Value =
        client.call(Route::TenantCreate, &[], None, Some(&json!({"slug": "acme"}))).await.unwrap();
    assert_eq!(reply, json!({"slug": "acme"}));
    let seen = served.join().unwrap();
    for name in ["idempotency-key", "x-correlation-id"] {
        let values: Vec<_> = seen.iter().map(|seen| seen.header(name).unwrap()).collect();
        assert!(
            values.len() == 3 && values.iter().all(|value| *value == values[0] && value.len() == 32),
            "{values:?}"
        );
    }
    assert!(seen.iter().all(|seen| seen.header("authorization") == Some("Bearer the-token")));
    assert!(seen.iter().all(|seen| seen.body == r#"{"slug":"acme"}"#));
}

#[tokio::test]
async fn patience_ends_where_the_caller_should_be_told() {
    for (status, retry_after, tries) in [("503 Busy", 11, 1), ("429 Slow", 0, 4), ("500 Oops", 0, 1)] {
        let reply = answer(status, &format!("retry-after: {retry_after}\r\n"), UNAVAILABLE);
        let (client, served) = peer(vec![reply; tries]);
        let error = client.call::<(), ()>(Route::Whoami, &[], None, None).await.unwrap_err();
        assert!(matches!(&error, ClientError::Api { detail, .. } if detail.code == "unavailable"), "{error}");
        assert_eq!(served.join().unwrap().len(), tries);
    }
}

#[tokio::test]
async fn a_redirect_is_an_answer_and_not_a_way_for_the_token() {
    let (client, served) = peer(vec![answer("302 Found", "location: http://127.0.0.1:1/\r\n", "")]);
    let error = client.call::<(), ()>(Route::Whoami, &[], None, None).await.unwrap_err();
    assert!(matches!(error, ClientError::Api { status: 302, .. }), "{error}");
    assert_eq!(served.join().unwrap().len(), 1);
}

#[tokio::test]
async fn signing_in_trades_a_password_for_a_token_and_leaves_no_session() {
    let token = r#"{"id":"01900000-0000-7000-8000-000000000001","name":"n","expires_at":"2027-01-01T00:00:00Z","created_at":"2026-12-01T00:00:00Z","secret":"s3cret","secret_redacted":false}"#;
    let (client, served) = peer(vec![
        answer("200 OK", "set-cookie: session=abc; Path=/; HttpOnly\r\nset-cookie: other=x\r\n", "{}"),
        answer("201 Created", "", token),
        answer("204 No Content", "", ""),
    ]);
    let origin = client.origin();
    let wanted = NewPersonalToken { name: "n".into(), expires_in_days: Some(1) };
    let created = client.login("ada@example.org", &Secret::new("pw".to_owned()), &wanted).await.unwrap();
    assert_eq!(created.secret.as_deref(), Some("s3cret"));
    let seen = served.join().unwrap();
    assert_eq!(seen[0].body, r#"{"email":"ada@example.org","password":"pw"}"#);
    assert!(
        seen.iter().all(|seen| seen.header("authorization").is_none()),
        "the session is its own credential"
    );
    for later in &seen[1..] {
        assert_eq!(
            (later.header("cookie"), later.header("origin")),
            (Some("session=abc"), Some(origin.as_str()))
        );
    }
}

#[tokio::test]
async fn a_stream_comes_back_where_it_broke_off() {
    let event = |sequence: i64| {
        let id = "01900000-0000-7000-8000-000000000001";
        let event = json!({"specversion": "1.0", "id": id, "event_id": id, "source": "s", "type": "t", "subject": "x",
            "time": "2026-01-01T00:00:00Z", "datacontenttype": "application/json", "sequence": sequence,
            "correlation_id": "c", "trace_id": "t", "org_id": null, "project_id": null, "actor_kind": "user",
            "actor_id": "a", "data": {}});
        let text = format!(": hello\n\nid: {sequence}\nevent: t\ndata: {event}\n\n");
        format!("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: text/event-stream\r\n\r\n{text}")
    };
    let gone =
        answer("401 No", "", r#"{"error":{"code":"unauthenticated","message":"No.","correlation_id":"c"}}"#);
    let (client, served) = peer(vec![event(5), answer("503 Busy", "", ""), event(6), gone]);
    let got: Vec<_> = client.follow_events(Route::PlatformEventStream, &[], Some(4)).collect().await;
    let sequences: Vec<_> = got.iter().map(|item| item.as_ref().map(|event| event.sequence).ok()).collect();
    assert_eq!(sequences, [Some(5), Some(6), None], "two events, then the end of the credential");
    let seen = served.join().unwrap();
    assert!(seen[0].head.starts_with("get /api/v1/events/stream?after=4 http/1.1"), "{}", seen[0].head);
    let resumed: Vec<_> = seen.iter().map(|seen| seen.header("last-event-id")).collect();
    assert_eq!(resumed, [None, Some("5"), Some("5"), Some("6")]);
}
