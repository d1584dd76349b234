//! Forwarding against a small platform that speaks WebSocket.

use std::time::Duration;

use futures_util::SinkExt as _;
use gpuaas_api::client::ClientOptions;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio_tungstenite::tungstenite::Message;

use super::*;
use crate::printer::Output;
use crate::tests::samples;

fn detail() -> InstanceDetail {
    serde_json::from_value(samples::instance_detail()).unwrap()
}

#[test]
fn the_first_port_for_people_is_the_target() {
    let detail = detail();
    let pick = |component: Option<&str>, port| {
        target(&detail, &ForwardQuery { component: component.map(str::to_owned), port })
    };
    assert_eq!(pick(None, None), Some(8888));
    assert_eq!(pick(None, Some(8888)), Some(8888));
    assert_eq!(pick(None, Some(5432)), None, "internal ports are not for people");
    assert_eq!(pick(Some("db"), None), None);
}

#[test]
fn it_says_where_it_listens_and_where_that_leads() {
    let here = SocketAddr::from(([127, 0, 0, 1], 4711));
    assert_eq!(
        place(here, &detail(), Some(8888)),
        json!({"url": "http://127.0.0.1:4711/", "address": "127.0.0.1", "local_port": 4711,
            "instance_id": samples::ID, "port": 8888})
    );
    assert_eq!(
        announcement(here, "jupyter", Some(8888)),
        "Forwarding http://127.0.0.1:4711/ → instance jupyter port 8888 (Ctrl-C ends it)"
    );
    assert_eq!(
        announcement(SocketAddr::from(([0; 16], 1)), "x", None),
        "Forwarding http://[::]:1/ → instance x (Ctrl-C ends it)"
    );
}

/// Refuses the first tunnel, then answers each with what it heard, in capitals.
async fn platform(listener: TcpListener) {
    let (mut refused, _) = listener.accept().await.unwrap();
    let mut seen = vec![0; 4096];
    assert!(refused.read(&mut seen).await.unwrap() > 0);
    let body =
        json!({"error": {"code": "node_away", "message": "Try again.", "correlation_id": "c"}}).to_string();
    let answer =
        format!("HTTP/1.1 409 Conflict\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    refused.write_all(answer.as_bytes()).await.unwrap();
    drop(refused);
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        let mut socket = tokio_tungstenite::accept_async(stream).await.unwrap();
        let mut heard = Vec::new();
        while let Some(Ok(Message::Binary(bytes))) = socket.next().await {
            if bytes.is_empty() {
                break;
            }
            heard.extend_from_slice(&bytes);
        }
        socket.send(Message::Binary(heard.to_ascii_uppercase().into())).await.unwrap();
        socket.close(None).await.unwrap();
        while socket.next().await.is_some_and(|message| message.is_ok()) {}
    }
}

#[tokio::test]
async fn each_connection_has_its_tunnel_and_a_refused_one_spoils_nothing() {
    let there = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let client = Client::new(ClientOptions {
        base_url: format!("http://{}", there.local_addr().unwrap()),
        token: None,
        ca_pem: None,
        timeout: Duration::from_secs(5),
    })
    .unwrap();
    let here = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = here.local_addr().unwrap();
    let printer = Printer::new(Output::Table, true);
    let detail = detail();
    let tunnels = Tunnels {
        client: &client,
        printer: &printer,
        project: detail.instance.project_id,
        instance: detail.instance.id,
        query: ForwardQuery::default(),
        said: RefCell::default(),
    };
    let talk = async || {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(b"hello").await.unwrap();
        stream.shutdown().await.unwrap();
        let mut answer = String::new();
        // A refused connection may end as a reset.
        drop(stream.read_to_string(&mut answer).await);
        answer
    };
    let talking = async {
        assert_eq!(talk().await, "", "the first tunnel is refused");
        assert_eq!(talk().await, "HELLO");
        assert_eq!(talk().await, "HELLO");
    };
    tokio::select! {
        () = platform(there) => {}
        ended = tunnels.serve(&here) => panic!("{ended:?}"),
        () = talking => {}
    }
}
