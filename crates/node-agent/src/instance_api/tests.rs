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

/// A platform that remembers what reaches it.
#[derive(Default)]
struct Platform {
    heard: Mutex<Vec<(String, Option<String>, String)>>,
    away: std::sync::atomic::AtomicBool,
    /// Calls wait here until they are let go.
    held: Option<Arc<tokio::sync::Semaphore>>,
}

impl Relay for Platform {
    fn relay<'a>(
        &'a self,
        call: &'a crate::seams::RelayedCall,
    ) -> Answer<'a, Result<(u16, Bytes), crate::platform::CallError>> {
        Box::pin(async move {
            if self.away.load(Ordering::SeqCst) {
                return Err(crate::platform::CallError::Unreachable("gone".to_owned()));
            }
            let bearer = call.bearer.as_ref().map(|bearer| bearer.expose().clone());
            let body = String::from_utf8(call.body.to_vec()).unwrap();
            self.heard.lock().unwrap().push((format!("{} {}", call.method, call.path), bearer, body));
            if let Some(held) = &self.held {
                held.acquire().await.unwrap().forget();
            }
            Ok((201, Bytes::from_static(b"{\"told\":true}")))
        })
    }
}

async fn call(to: SocketAddr, line: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    let text = format!(
        "{line} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n{headers}content-length: {length}\r\n\r\n{body}"
    );
    speak("127.0.1.2", to, text.as_bytes()).await
}

async fn relayed(platform: &Arc<Platform>) -> (Bench, SocketAddr) {
    let bench = bench();
    bench.doors.relay_to(platform.clone());
    let base = bench.doors.open(ONE, "127.0.1.1".parse().unwrap(), 24).await.unwrap();
    (bench, address(&base))
}

/// K-09: an instance's own calls and the exchange go on to the platform with the app's token, and nothing else does.
#[tokio::test]
async fn only_the_instances_own_calls_are_passed_on() {
    let platform = Arc::new(Platform::default());
    let (bench, to) = relayed(&platform).await;
    let bearer = "authorization: Bearer its-own\r\n";
    let own = |verb: &str| format!("/api/v1/app-instances/{ONE}/{verb}");
    for (method, verb) in
        [("GET", "status"), ("POST", "heartbeat"), ("POST", "members"), ("POST", "metering")]
    {
        let body = if method == "POST" { "{\"a\":1}" } else { "" };
        let answer = call(to, &format!("{method} {}", own(verb)), bearer, body).await;
        assert!(answer.starts_with("HTTP/1.1 201") && answer.contains("{\"told\":true}"), "{answer}");
        let expected = (format!("{method} {}", own(verb)), Some("its-own".to_owned()), body.to_owned());
        assert_eq!(platform.heard.lock().unwrap().pop(), Some(expected));
    }
    assert_eq!(bench.fake.heartbeats.load(Ordering::SeqCst), 1, "the node heard it, too");
    let exchange = call(to, "POST /api/v1/auth/service-account/token", bearer, "{}").await;
    assert!(exchange.starts_with("HTTP/1.1 201"), "{exchange}");
    let heard = platform.heard.lock().unwrap().pop().unwrap();
    assert_eq!(heard.1, None, "an exchange needs no token and shows none");
    let other = Uuid::from_u128(0xbb);
    for line in [
        format!("GET /api/v1/app-instances/{other}/status"),
        format!("GET {}?x=/../../nodes", own("nothing")),
        format!("GET {}/../../../nodes", own("status")),
        format!("DELETE {}", own("status")),
        format!("GET /api/v1/app-instances/{ONE}"),
        format!("GET /api/v1/app-instances/{ONE}/status/"),
        format!("GET //api/v1/app-instances/{ONE}/status"),
        "GET /api/v1/projects".to_owned(),
        "POST /api/v1/node/reports".to_owned(),
        "POST /api/v1/auth/node/token".to_owned(),
        "GET /api/v1/auth/service-account/token".to_owned(),
        "POST http://elsewhere/api/v1/node/trust".to_owned(),
    ] {
        let answer = call(to, &line, bearer, "").await;
        assert!(answer.starts_with("HTTP/1.1 404"), "{line}: {answer}");
    }
    assert_eq!(platform.heard.lock().unwrap().len(), 0);
}

/// Attack 21: one app cannot use up the node's way to the platform: rate, turns and size end at its own door.
#[tokio::test]
async fn what_is_passed_on_is_bounded() {
    let platform = Arc::new(Platform::default());
    let (_bench, to) = relayed(&platform).await;
    let mut turned_away = 0;
    for _ in 0..12 {
        let answer = call(to, "POST /api/v1/auth/service-account/token", "", "{}").await;
        turned_away += usize::from(answer.starts_with("HTTP/1.1 429") && answer.contains("retry-after: 5"));
    }
    assert!((5..=7).contains(&turned_away), "5 at once, then one in 5 s: {turned_away} of 12");
    let large = "x".repeat(64 * 1024 + 1);
    let answer = call(to, &format!("POST /api/v1/app-instances/{ONE}/metering"), "", &large).await;
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 413"), "{answer}");

    let held = Arc::new(tokio::sync::Semaphore::new(0));
    let slow = Arc::new(Platform { held: Some(held.clone()), ..Platform::default() });
    let (_bench, to) = relayed(&slow).await;
    let line = format!("GET /api/v1/app-instances/{ONE}/status");
    let waiting: Vec<_> = (0..4)
        .map(|_| {
            let line = line.clone();
            Box::pin(async move { call(to, &line, "", "").await })
        })
        .collect();
    let waiting = futures_util::future::join_all(waiting);
    let fifth = async {
        while slow.heard.lock().unwrap().len() < 4 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let answer = call(to, &line, "", "").await;
        held.add_permits(4);
        answer
    };
    let (answers, fifth) = tokio::join!(waiting, fifth);
    assert!(fifth.starts_with("HTTP/1.1 429"), "{fifth}");
    assert!(answers.iter().all(|answer| answer.starts_with("HTTP/1.1 201")), "{answers:?}");
}

#[tokio::test]
async fn a_platform_that_is_away_is_called_so() {
    let platform = Arc::new(Platform::default());
    platform.away.store(true, Ordering::SeqCst);
    let (_bench, to) = relayed(&platform).await;
    let answer = call(to, &format!("GET /api/v1/app-instances/{ONE}/status"), "", "").await;
    assert!(answer.starts_with("HTTP/1.1 503") && answer.contains("platform_away"), "{answer}");
}
