//! What flows: requests, streams, and that nobody who stalls stops the others.

use std::time::{Duration, Instant};

use gpuaas_tunnel::{Error, KeepAlive, Link, LinkStream};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Bytes;
use hyper::{Request, StatusCode};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::world::{PATIENCE, connect, get, platform, text};

#[tokio::test]
async fn requests_small_and_large_are_answered() {
    let mut platform = platform(KeepAlive::default()).await;
    let (link, _node) = platform.connect().await;
    let small = link.request(get("/small"), PATIENCE).await.unwrap();
    assert_eq!((small.status(), text(small).await.as_str()), (StatusCode::OK, "small"));

    let sent = vec![3; 5 << 20];
    let large = Request::post("http://node/echo").body(Full::from(sent.clone())).unwrap();
    let mut answer = link.request(large, PATIENCE).await.unwrap().into_body();
    let (mut got, mut pieces) = (Vec::new(), 0);
    while let Some(frame) = answer.frame().await {
        got.extend_from_slice(&frame.unwrap().into_data().unwrap());
        pieces += 1;
    }
    assert!(got == sent && pieces > 1, "{} bytes in {pieces} pieces", got.len());
    assert_eq!(link.request(get("/nothing"), PATIENCE).await.unwrap().status(), StatusCode::NOT_FOUND);
    let late = link.request(get("/never"), Duration::from_millis(50)).await;
    assert!(matches!(late, Err(Error::TimedOut)), "{late:?}");
    assert!(!link.is_closed());
}

#[tokio::test]
async fn a_refused_stream_is_an_answer_and_the_link_lives_on() {
    let mut platform = platform(KeepAlive::default()).await;
    let (link, _node) = platform.connect().await;
    let refused = link.open(connect("elsewhere:22"), PATIENCE).await;
    let Err(Error::Answered { status: 403, message }) = refused else { panic!("{refused:?}") };
    assert_eq!(message, "no such port");
    assert_eq!(link.request(get("/small"), PATIENCE).await.unwrap().status(), StatusCode::OK);
}

#[tokio::test]
async fn one_direction_may_end_before_the_other() {
    let mut platform = platform(KeepAlive::default()).await;
    let (link, _node) = platform.connect().await;
    let mut stream = link.open(connect("count:1"), PATIENCE).await.unwrap();
    stream.write_all(&vec![1; 300_000]).await.unwrap();
    stream.shutdown().await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert_eq!(answer, "300000 bytes");
}

/// 30 MB out and 30 MB back at the same time, every byte where it belongs.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_echo_of_30_mb_arrives_whole() {
    const WHOLE: usize = 30_000_000;
    let mut platform = platform(KeepAlive::default()).await;
    let (link, _node) = platform.connect().await;
    let stream = link.open(connect("echo:1"), PATIENCE).await.unwrap();
    let (mut read, mut write) = tokio::io::split(stream);
    let byte = |index: usize| u8::try_from(index % 251).unwrap();
    let sent: Vec<u8> = (0..WHOLE).map(byte).collect();
    let out = async {
        write.write_all(&sent).await.unwrap();
        write.shutdown().await.unwrap();
    };
    let mut got = Vec::with_capacity(WHOLE);
    let ((), back) = tokio::join!(out, read.read_to_end(&mut got));
    assert_eq!(back.unwrap(), WHOLE);
    assert!(got == sent, "the bytes are not those that were sent");
}

/// Downloads that nobody reads, each with its window full.
async fn stalled(link: &Link, count: usize) -> Vec<LinkStream> {
    let mut streams = Vec::new();
    for _ in 0..count {
        let mut stream = link.open(connect("flood:1"), PATIENCE).await.unwrap();
        stream.read_u8().await.unwrap();
        streams.push(stream);
    }
    // As long as anything moves, the windows are not full yet.
    let quiet = Duration::from_millis(300);
    while link.last_heard().elapsed() < quiet {
        tokio::time::sleep(quiet).await;
    }
    streams
}

async fn round_trips(link: &Link, count: usize) -> Vec<Duration> {
    let mut times = Vec::new();
    for _ in 0..count {
        let started = Instant::now();
        let answer = link.request(get("/small"), PATIENCE).await.unwrap();
        assert_eq!(text(answer).await, "small");
        times.push(started.elapsed());
    }
    times.sort();
    times
}

/// The requirement names the bound: 50 ms, on the control connection, with 100 downloads stalled on the data connection.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_stalled_downloads_do_not_delay_the_other_connection() {
    let mut platform = platform(KeepAlive::default()).await;
    let (control, _control_node) = platform.connect().await;
    let (data, _data_node) = platform.connect().await;
    let _streams = stalled(&data, 100).await;
    let times = round_trips(&control, 100).await;
    // The slowest few may be this machine's own doing.
    assert!(times[95] < Duration::from_millis(50), "{:?} at worst {:?}", times[50], times[99]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_stalled_downloads_do_not_freeze_their_own_connection() {
    let mut platform = platform(KeepAlive::default()).await;
    let (link, _node) = platform.connect().await;
    let mut streams = stalled(&link, 100).await;
    let times = round_trips(&link, 50).await;
    assert!(times[45] < Duration::from_millis(50), "{:?} at worst {:?}", times[25], times[49]);

    let mut echo = link.open(connect("echo:1"), PATIENCE).await.unwrap();
    echo.write_all(b"still here").await.unwrap();
    let mut back = [0; 10];
    echo.read_exact(&mut back).await.unwrap();
    assert_eq!(&back, b"still here");
    // One that is read again goes on.
    let mut more = vec![0; 2 << 20];
    streams[50].read_exact(&mut more).await.unwrap();
}

/// HTTP/2 libraries count streams given up as a sign of an attack and end the connection; ours is meant to last.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn thousands_of_downloads_broken_off_do_not_end_the_link() {
    let mut platform = platform(KeepAlive::default()).await;
    let (link, _node) = platform.connect().await;
    for _ in 0..15 {
        let mut streams = Vec::new();
        for _ in 0..100 {
            streams.push(link.open(connect("flood:1"), PATIENCE).await.unwrap());
        }
        drop(streams);
    }
    // Given up before they are even answered.
    for _ in 0..1500 {
        let _ = link.request(get("/never"), Duration::ZERO).await;
    }
    assert_eq!(link.request(get("/small"), PATIENCE).await.unwrap().status(), StatusCode::OK);
}

/// A hundred empty frames in the whole life of a connection end it: they must not be sent.
#[tokio::test]
async fn a_body_with_empty_pieces_does_not_end_the_link() {
    let mut platform = platform(KeepAlive::default()).await;
    let (link, _node) = platform.connect().await;
    let answer = link.request(get("/hollow"), PATIENCE).await.unwrap();
    assert_eq!(text(answer).await, "at last");
    assert!(!link.is_closed());
}

#[tokio::test]
async fn an_empty_body_is_an_empty_body() {
    let mut platform = platform(KeepAlive::default()).await;
    let (link, _node) = platform.connect().await;
    let empty = Request::post("http://node/echo").body(Full::<Bytes>::default()).unwrap();
    assert_eq!(text(link.request(empty, PATIENCE).await.unwrap()).await, "");
}
