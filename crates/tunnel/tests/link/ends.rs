//! How a link ends, and who notices.

use std::time::Duration;

use gpuaas_tunnel::{Error, KeepAlive, Scope, dial};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::timeout;

use crate::world::{PATIENCE, TOKEN, connect, get, platform};

const SOON: Duration = Duration::from_secs(2);

#[tokio::test]
async fn closing_ends_every_stream_at_both_ends() {
    let mut platform = platform(KeepAlive::default()).await;
    let (link, mut node) = platform.connect().await;
    let mut streams = Vec::new();
    for _ in 0..10 {
        let mut stream = link.open(connect("echo:1"), PATIENCE).await.unwrap();
        stream.write_all(b"x").await.unwrap();
        stream.read_u8().await.unwrap();
        streams.push(stream);
    }
    let waiting = link.clone();
    let waiting = async move { waiting.request(get("/never"), PATIENCE).await };
    let closing = async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        link.close();
    };
    let (cut_off, ()) = timeout(SOON, async { tokio::join!(waiting, closing) }).await.unwrap();
    assert!(matches!(cut_off, Err(Error::Closed)), "{cut_off:?}");
    for stream in &mut streams {
        let end = timeout(SOON, stream.read_u8()).await.expect("the stream ends at once");
        assert!(end.is_err());
    }
    assert!(timeout(SOON, node.end()).await.is_ok(), "the node's end noticed");
    assert!(node.scope.is_closed());
    assert!(matches!(link.request(get("/small"), PATIENCE).await, Err(Error::Closed)));
}

#[tokio::test]
async fn the_node_going_away_is_noticed_at_once() {
    let mut platform = platform(KeepAlive::default()).await;
    let (link, mut node) = platform.connect().await;
    let mut stream = link.open(connect("echo:1"), PATIENCE).await.unwrap();
    node.scope.close();
    assert!(matches!(node.end().await, Err(Error::Closed)));
    timeout(SOON, link.closed()).await.expect("the link knows");
    assert!(timeout(SOON, stream.read_u8()).await.unwrap().is_err());
}

#[tokio::test]
async fn letting_go_of_a_link_ends_it() {
    let mut platform = platform(KeepAlive::default()).await;
    let (link, mut node) = platform.connect().await;
    drop(link);
    assert!(timeout(SOON, node.end()).await.is_ok());
}

/// Passes bytes on until told to swallow them, with both sockets left open: a cable pulled out.
async fn cable(to: std::net::SocketAddr, scope: &Scope) -> (String, watch::Sender<bool>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("wss://{}/link", listener.local_addr().unwrap());
    let (pull, pulled) = watch::channel(false);
    let inner = scope.clone();
    scope.spawn(async move {
        loop {
            let (mut near, _) = listener.accept().await.unwrap();
            let (mut far, mut pulled) = (TcpStream::connect(to).await.unwrap(), pulled.clone());
            inner.spawn(async move {
                let pulled = async move { drop(pulled.wait_for(|pulled| *pulled).await) };
                tokio::select! {
                    _ = tokio::io::copy_bidirectional(&mut near, &mut far) => {}
                    () = pulled => std::future::pending().await,
                }
            });
        }
    });
    (url, pull)
}

#[tokio::test]
async fn a_pulled_cable_is_noticed_at_both_ends() {
    let quick = KeepAlive { interval: Duration::from_millis(200), timeout: Duration::from_millis(300) };
    let mut platform = platform(quick).await;
    let scope = Scope::new();
    let (url, pull) = cable(platform.address, &scope).await;
    let (link, mut node) = platform.connect_with(quick, &url).await;
    // Idle and alive: the questions and answers keep it so.
    tokio::time::sleep(Duration::from_millis(1500)).await;
    assert!(!link.is_closed() && link.last_heard().elapsed() < Duration::from_secs(1));
    pull.send_replace(true);
    timeout(PATIENCE, link.closed()).await.expect("the platform notices");
    let end = node.end().await;
    assert!(matches!(end, Err(Error::Broken(_))), "{end:?}");
}

#[tokio::test]
async fn dialling_fails_with_the_reason() {
    let platform = platform(KeepAlive::default()).await;
    let trust = platform.trust();
    let refused = dial(&platform.url(), "wrong", &trust).await;
    let Err(Error::Answered { status: 401, message }) = refused else { panic!("not refused") };
    assert_eq!(message, "who are you?");
    for address in ["ws://127.0.0.1/x", "https://127.0.0.1/x", "wss://", "nonsense"] {
        assert!(matches!(dial(address, TOKEN, &trust).await, Err(Error::Address(_))), "{address}");
    }
    let nobody = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let missing = dial(&format!("wss://{nobody}/x"), TOKEN, &trust).await;
    assert!(matches!(missing, Err(Error::Unreachable(_))));
}
