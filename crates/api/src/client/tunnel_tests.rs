//! Tunnels and streamed lines against small peers that speak for themselves.

use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use gpuaas_domain::Secret;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio_tungstenite::tungstenite::Message;

use super::{Client, ClientError, ClientOptions};
use crate::Route;
use crate::instances::ForwardQuery;

fn client(listener: &TcpListener) -> Client {
    Client::new(ClientOptions {
        base_url: format!("http://{}", listener.local_addr().unwrap()),
        token: Some(Secret::new("the-token".to_owned())),
        ca_pem: None,
        timeout: Duration::from_secs(5),
    })
    .unwrap()
}

/// Answers what it was sent in capitals once the near side has ended, then closes.
#[expect(clippy::result_large_err, reason = "the shape of the callback is the WebSocket library's")]
async fn shouting(listener: TcpListener) -> String {
    let (stream, _) = listener.accept().await.unwrap();
    let mut path = String::new();
    let mut socket = tokio_tungstenite::accept_hdr_async(stream, |request: &Request, response: Response| {
        assert_eq!(request.headers()["authorization"], "Bearer the-token");
        path = request.uri().to_string();
        Ok(response)
    })
    .await
    .unwrap();
    let mut heard = Vec::new();
    while let Some(Ok(message)) = socket.next().await {
        match message {
            Message::Binary(bytes) if bytes.is_empty() => break,
            Message::Binary(bytes) => heard.extend_from_slice(&bytes),
            other => panic!("{other:?}"),
        }
    }
    socket.send(Message::Ping(Vec::new().into())).await.unwrap();
    socket.send(Message::Binary(heard.to_ascii_uppercase().into())).await.unwrap();
    socket.close(None).await.unwrap();
    // Gone with something unread, it would take back what is still on its way.
    while socket.next().await.is_some_and(|message| message.is_ok()) {}
    path
}

type Request = tokio_tungstenite::tungstenite::handshake::server::Request;
type Response = tokio_tungstenite::tungstenite::handshake::server::Response;

#[tokio::test]
async fn a_tunnel_carries_bytes_both_ways_and_a_half_close() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let client = client(&listener);
    let near = async {
        let query = ForwardQuery { component: None, port: Some(8080) };
        let tunnel = client.open_tunnel(Route::InstanceForward, &[&"p", &"i"], Some(&query)).await.unwrap();
        let (mine, theirs) = tokio::io::duplex(1000);
        let (mut reader, mut writer) = tokio::io::split(mine);
        let speaking = async {
            writer.write_all(&b"hello ".repeat(50_000)).await.unwrap();
            writer.shutdown().await.unwrap();
        };
        let mut answer = Vec::new();
        let (joined, (), read) =
            tokio::join!(tunnel.join(theirs), speaking, async { reader.read_to_end(&mut answer).await });
        joined.unwrap();
        read.unwrap();
        answer
    };
    let (path, answer) = tokio::join!(shouting(listener), near);
    assert_eq!(path, "/api/v1/projects/p/app-instances/i/forward?port=8080");
    assert_eq!(answer, b"HELLO ".repeat(50_000));
}

async fn answer_once(listener: TcpListener, answer: &str) {
    let (mut stream, _) = listener.accept().await.unwrap();
    let mut seen = vec![0; 4096];
    assert!(stream.read(&mut seen).await.unwrap() > 0);
    stream.write_all(answer.as_bytes()).await.unwrap();
    stream.shutdown().await.unwrap();
}

fn answer(status: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}", body.len())
}

const NOT_RUNNING: &str =
    r#"{"error":{"code":"instance_not_running","message":"Start it first.","correlation_id":"c"}}"#;

#[tokio::test]
async fn a_refused_tunnel_says_what_the_platform_said() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let client = client(&listener);
    let refused = answer("409 Conflict", NOT_RUNNING);
    let (opened, ()) = tokio::join!(
        client.open_tunnel(Route::InstanceForward, &[&"p", &"i"], None),
        answer_once(listener, &refused)
    );
    let Err(ClientError::Api { status: 409, detail }) = opened else { panic!("not refused") };
    assert_eq!(detail.message, "Start it first.");
}

#[tokio::test]
async fn a_stranger_who_switches_protocols_is_not_believed() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let client = client(&listener);
    let stranger = "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\
                    sec-websocket-accept: nonsense\r\n\r\n";
    let (opened, ()) = tokio::join!(
        client.open_tunnel(Route::InstanceForward, &[&"p", &"i"], None),
        answer_once(listener, stranger)
    );
    assert!(matches!(opened, Err(ClientError::Unusable { .. })));
}

#[tokio::test]
async fn lines_come_in_order_and_a_refusal_is_an_answer() {
    for (reply, lines, refused) in [
        (answer("200 OK", "{\"a\":1}\n\n{\"b\":2}"), vec!["{\"a\":1}", "{\"b\":2}"], false),
        (answer("200 OK", ""), vec![], false),
        (answer("409 Conflict", NOT_RUNNING), vec![], true),
    ] {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = client(&listener);
        let reading = client.lines(Route::InstanceLogs, &[&"p", &"i"], None).collect::<Vec<_>>();
        let (got, ()) = tokio::join!(reading, answer_once(listener, &reply));
        let whole: Vec<_> = got.iter().filter_map(|line| line.as_deref().ok()).collect();
        assert_eq!(whole, lines);
        assert_eq!(got.iter().any(Result::is_err), refused);
    }
}

#[tokio::test]
async fn a_document_goes_out_as_it_is_under_its_own_type() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let client = client(&listener);
    let peer = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut seen = Vec::new();
        while !seen.ends_with(b"slug: x\n") {
            let mut piece = [0; 1024];
            let count = stream.read(&mut piece).await.unwrap();
            seen.extend_from_slice(&piece[..count]);
        }
        stream.write_all(answer("201 Created", "{}").as_bytes()).await.unwrap();
        String::from_utf8(seen).unwrap().to_lowercase()
    };
    let sent = client.call_with_document::<serde_json::Value>(
        Route::ManifestRegister,
        &[],
        b"slug: x\n".to_vec(),
        "application/yaml",
    );
    let (seen, reply) = tokio::join!(peer, sent);
    reply.unwrap();
    assert!(seen.starts_with("post /api/v1/admin/apps/manifests http/1.1"), "{seen}");
    assert!(seen.contains("content-type: application/yaml") && seen.contains("idempotency-key: "), "{seen}");
}
