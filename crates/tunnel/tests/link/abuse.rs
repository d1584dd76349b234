//! What is not a link is ended with an error, never a panic.

use std::sync::Arc;
use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use gpuaas_tunnel::{Error, KeepAlive, Link, Scope, dial, serve};
use hyper::service::service_fn;
use rustls_pki_types::ServerName;
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use tokio_rustls::client::TlsStream;
use tokio_rustls::{TlsAcceptor, TlsConnector};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;

use crate::world::{Authority, PATIENCE, Platform, TOKEN, platform};

type Socket = WebSocketStream<TlsStream<TcpStream>>;

async fn handshake(platform: &Platform) -> Socket {
    let tcp = TcpStream::connect(platform.address).await.unwrap();
    let name = ServerName::try_from("127.0.0.1").unwrap();
    let tls = TlsConnector::from(Arc::new(platform.trust())).connect(name, tcp).await.unwrap();
    let mut request = platform.url().into_client_request().unwrap();
    request.headers_mut().insert("authorization", format!("Bearer {TOKEN}").parse().unwrap());
    let large = WebSocketConfig::default().max_message_size(None).max_frame_size(None);
    tokio_tungstenite::client_async_with_config(request, tls, Some(large)).await.unwrap().0
}

async fn ended(accepted: Result<Link, Error>) {
    if let Ok(link) = accepted {
        timeout(Duration::from_secs(2), link.closed()).await.expect("the link ends");
    }
}

#[tokio::test]
async fn messages_that_do_not_belong_end_the_link() {
    let mut platform = platform(KeepAlive::default()).await;
    let empty_settings = [0, 0, 0, 4, 0, 0, 0, 0, 0];
    for message in [
        Message::text("hello"),
        Message::binary(vec![0; (64 << 10) + 1]),
        Message::binary(vec![0; 4 << 20]),
        Message::binary(vec![0xff; 1000]),
        Message::Close(None),
    ] {
        for greeted in [false, true] {
            let mut socket = handshake(&platform).await;
            if greeted {
                socket.send(Message::binary(empty_settings.to_vec())).await.unwrap();
            }
            // The other end may be gone before all is written.
            let _ = socket.send(message.clone()).await;
            ended(platform.next().await).await;
            while let Some(Ok(_)) = timeout(PATIENCE, socket.next()).await.unwrap() {}
        }
    }
}

#[tokio::test]
async fn bytes_that_are_no_messages_end_the_link() {
    let mut platform = platform(KeepAlive::default()).await;
    for garbage in [vec![0xff; 4096], vec![0; 4096], b"GET / HTTP/1.1\r\n\r\n".to_vec()] {
        let mut socket = handshake(&platform).await;
        let _ = socket.get_mut().write_all(&garbage).await;
        let _ = socket.get_mut().flush().await;
        ended(platform.next().await).await;
    }
}

/// Empty messages and pings are allowed and mean nothing.
#[tokio::test]
async fn empty_messages_are_not_the_end() {
    let mut platform = platform(KeepAlive::default()).await;
    let mut socket = handshake(&platform).await;
    for _ in 0..10 {
        socket.send(Message::binary(Vec::new())).await.unwrap();
        socket.send(Message::Ping(b"?".to_vec().into())).await.unwrap();
    }
    let link = platform.next().await.unwrap();
    let answered = async { while !matches!(socket.next().await, Some(Ok(Message::Pong(_)))) {} };
    timeout(PATIENCE, answered).await.expect("a ping is answered");
    assert!(!link.is_closed());
}

/// The node, too, ends a link that talks nonsense.
#[tokio::test]
async fn a_hostile_platform_ends_the_nodes_side() {
    let authority = Authority::new();
    let tls = authority.server("127.0.0.1", &[&authority]);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("wss://{}/link", listener.local_addr().unwrap());
    let trust = gpuaas_tunnel::client_config_with_ca(&authority.certificate.pem()).unwrap();
    for message in [Message::text("hello"), Message::binary(vec![0; 65 << 10]), Message::binary(vec![1; 99])]
    {
        let hostile = async {
            let (tcp, _) = listener.accept().await.unwrap();
            let tls = TlsAcceptor::from(tls.clone()).accept(tcp).await.unwrap();
            let mut socket = tokio_tungstenite::accept_async(tls).await.unwrap();
            socket.send(message).await.unwrap();
            while let Some(Ok(_)) = socket.next().await {}
        };
        let node = async {
            let io = dial(&url, TOKEN, &trust).await.unwrap();
            let nothing = service_fn(|_| std::future::pending::<Result<hyper::Response<String>, Error>>());
            serve(io, nothing, &Scope::new(), KeepAlive::default()).await
        };
        let both = Box::pin(async { tokio::join!(hostile, node) });
        let ((), end) = timeout(PATIENCE, both).await.unwrap();
        assert!(matches!(end, Err(Error::Broken(_))), "{end:?}");
    }
}
