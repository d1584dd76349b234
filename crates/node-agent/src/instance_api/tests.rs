use std::sync::atomic::Ordering;

use gpuaas_agent_protocol::report::Phase;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};

use super::*;
use crate::fake::Fake;

const ONE: Uuid = Uuid::from_u128(0xaa);

struct Bench {
    doors: Arc<Doors>,
    fake: Arc<Fake>,
    _workloads: Arc<dyn Workloads>,
}

fn bench() -> Bench {
    let fake = Arc::new(Fake::new());
    fake.put(ONE, Phase::Running);
    let workloads: Arc<dyn Workloads> = fake.clone();
    let doors = Doors::on_port(0, &Spawner::default());
    doors.answer_with(&workloads);
    Bench { doors, fake, _workloads: workloads }
}

fn address(base: &str) -> SocketAddr {
    base.strip_prefix("http://").unwrap().parse().unwrap()
}

/// Speaks from this address; all that comes back.
async fn speak(from: &str, to: SocketAddr, text: &[u8]) -> String {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind(format!("{from}:0").parse().unwrap()).unwrap();
    let mut stream = socket.connect(to).await.unwrap();
    let _ = stream.write_all(text).await;
    let mut answer = Vec::new();
    let _ = tokio::time::timeout(Duration::from_secs(15), stream.read_to_end(&mut answer)).await;
    String::from_utf8_lossy(&answer).into_owned()
}

async fn ask(from: &str, to: SocketAddr, line: &str) -> String {
    speak(from, to, format!("{line} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").as_bytes()).await
}

#[tokio::test]
async fn a_workload_sees_itself_and_is_heard() {
    let bench = bench();
    let base = bench.doors.open(ONE, "127.0.1.1".parse().unwrap(), 24).await.unwrap();
    assert_eq!(bench.doors.open(ONE, "127.0.1.1".parse().unwrap(), 24).await.unwrap(), base, "open already");
    let to = address(&base);
    let status = ask("127.0.1.2", to, "GET /v1/status").await;
    assert!(status.starts_with("HTTP/1.1 200"), "{status}");
    let body: Value = serde_json::from_str(status.split("\r\n\r\n").nth(1).unwrap()).unwrap();
    assert_eq!(
        body,
        json!({"instance_id": ONE, "status": "running", "health": "healthy",
            "components": [{"name": "main", "running": true, "ready": true, "restarts": 0}]}),
        "nothing of the engine"
    );
    assert!(ask("127.0.1.2", to, "POST /v1/heartbeat").await.starts_with("HTTP/1.1 204"));
    assert_eq!(bench.fake.heartbeats.load(Ordering::SeqCst), 1);
    let unknown = ask("127.0.1.2", to, "GET /v1/secrets").await;
    assert!(unknown.starts_with("HTTP/1.1 404") && unknown.contains("\"not_found\""), "{unknown}");
    assert!(ask("127.0.1.2", to, "POST /v1/status").await.starts_with("HTTP/1.1 405"));

    bench.fake.instances.lock().unwrap().clear();
    assert!(ask("127.0.1.2", to, "GET /v1/status").await.starts_with("HTTP/1.1 404"));
    assert!(ask("127.0.1.2", to, "POST /v1/heartbeat").await.starts_with("HTTP/1.1 404"));

    bench.doors.close(ONE);
    for _ in 0..100 {
        if TcpStream::connect(to).await.is_err() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("the door stayed open");
}

#[tokio::test]
async fn only_the_own_subnet_is_answered_and_limits_hold() {
    let bench = bench();
    let base = bench.doors.open(ONE, "127.0.2.1".parse().unwrap(), 28).await.unwrap();
    let to = address(&base);
    assert!(ask("127.0.2.14", to, "GET /v1/status").await.starts_with("HTTP/1.1 200"));
    for stranger in ["127.0.2.16", "127.0.3.2", "127.0.0.1"] {
        let refused = ask(stranger, to, "POST /v1/heartbeat").await;
        assert!(refused.starts_with("HTTP/1.1 403"), "{stranger}: {refused}");
    }
    assert_eq!(bench.fake.heartbeats.load(Ordering::SeqCst), 0);

    let large = format!(
        "POST /v1/heartbeat HTTP/1.1\r\nhost: x\r\ncontent-length: 70000\r\nconnection: close\r\n\r\n{}",
        "x".repeat(70_000)
    );
    let refused = speak("127.0.2.2", to, large.as_bytes()).await;
    assert!(refused.is_empty() || refused.starts_with("HTTP/1.1 413"), "{refused}");
    let header = format!("GET /v1/status HTTP/1.1\r\nhost: x\r\nx: {}\r\n\r\n", "y".repeat(10_000));
    let refused = speak("127.0.2.2", to, header.as_bytes()).await;
    assert!(refused.is_empty() || refused.starts_with("HTTP/1.1 431"), "{refused}");
    let started = std::time::Instant::now();
    let slow =
        speak("127.0.2.2", to, b"POST /v1/heartbeat HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\n\r\nx").await;
    assert!(slow.starts_with("HTTP/1.1 408"), "{slow}");
    assert!(started.elapsed() < Duration::from_secs(16));
}

#[test]
fn subnets_hold_what_they_hold() {
    let holds = |gateway: &str, prefix, peer: &str| {
        Subnet { gateway: gateway.parse().unwrap(), prefix }.holds(peer.parse().unwrap())
    };
    assert!(holds("10.0.0.1", 28, "10.0.0.15") && !holds("10.0.0.1", 28, "10.0.0.16"));
    assert!(holds("10.0.0.1", 28, "::ffff:10.0.0.3"));
    assert!(holds("fd00::1", 64, "fd00::2") && !holds("fd00::1", 64, "fd00:0:0:1::2"));
    assert!(!holds("10.0.0.1", 28, "fd00::2") && !holds("10.0.0.1", 33, "10.0.0.1"));
    assert!(holds("10.0.0.1", 32, "10.0.0.1") && !holds("10.0.0.1", 32, "10.0.0.2"));
}
