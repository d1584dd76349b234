//! What an idle socket costs. A program of its own, because it measures the memory of its process.

#[expect(dead_code, reason = "the other tests of the gateway use the rest")]
#[path = "../gateway/app.rs"]
mod app;
#[expect(dead_code, reason = "the other tests of the gateway use the rest")]
#[path = "../gateway/client.rs"]
mod client;
#[expect(dead_code, reason = "the other tests of the gateway use the rest")]
#[path = "../gateway/wire.rs"]
mod wire;
#[expect(dead_code, reason = "the other tests of the gateway use the rest")]
#[path = "../gateway/world.rs"]
mod world;

use futures_util::StreamExt as _;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use world::World;

/// Client, front, dialled connection and app: each socket has four ends, and all of them are in this process.
const ENDS: u64 = 4;
/// Half of the 500 MiB that 10 000 of them may use (DESIGN §6), with the client's and the app's side in it.
const MOST_PER_SOCKET: u64 = 24 * 1024;

/// Files that are open anyway.
const OTHERS: u64 = 200;

#[expect(clippy::disallowed_methods, reason = "what ./test --full says to its tests")]
fn is_full() -> bool {
    std::env::var_os("GPUAAS_TEST_FULL").is_some()
}

/// 2 000, or in a full run 10 000 or what the machine's limit of open files has room for, which is never less.
fn how_many() -> u64 {
    let wanted = if is_full() { 10_000 } else { 2_000 };
    let needed = ENDS * wanted + OTHERS;
    let now = getrlimit(Resource::Nofile);
    let raise = |to: u64| {
        let limit = Rlimit { current: Some(to), maximum: now.maximum.map(|maximum| maximum.max(to)) };
        setrlimit(Resource::Nofile, limit).is_ok()
    };
    if now.current.is_none_or(|current| current >= needed) || raise(needed) {
        return wanted;
    }
    let most = now.maximum.filter(|most| raise(*most)).or(now.current).unwrap_or(0);
    let room = most.saturating_sub(OTHERS) / ENDS;
    assert!(
        room >= 2_000,
        "{most} open files have room for {room} sockets with {ENDS} ends each; allow more with `ulimit -Hn {needed}`"
    );
    room
}

/// Memory of this process, in bytes.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux says what a process uses");
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).expect("a line about memory");
    let kibibytes = line.split_ascii_whitespace().nth(1).and_then(|number| number.parse::<u64>().ok());
    kibibytes.expect("a number of kB") * 1024
}

/// N09, J-03: thousands of idle WebSockets stay open, answer when spoken to, and cost little. What is measured is the growth
/// of the process with both ends of every socket in it, so the gateway's own share is smaller still.
#[tokio::test]
async fn thousands_of_idle_sockets_cost_little() {
    let count = how_many();
    let (world, app) = World::with(|mut conversation| async move {
        conversation.head().await;
        conversation
            .say("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: x\r\n\r\n")
            .await;
        while conversation.listen().await > 0 {
            let heard = conversation.take_waiting();
            conversation.say(heard).await;
        }
    })
    .await;
    let head = world.upgrade(&world.origin());
    let open = async |_| {
        let mut client = world.connect().await;
        client.say(format!("{head}\r\n")).await;
        assert_eq!(client.head().await.expect("an answer").status(), 101);
        client.waiting = Vec::new();
        client
    };
    // What is made once is not a socket's cost.
    let first = open(0).await;
    let before = resident();
    let mut sockets: Vec<_> =
        futures_util::stream::iter(1..=count).map(open).buffer_unordered(64).collect().await;
    let grown = resident().saturating_sub(before);
    assert_eq!(app.connections() as u64, count + 1);
    for socket in sockets.iter_mut().step_by(50) {
        socket.say("are you there?").await;
        assert_eq!(socket.exactly(14).await.expect("an echo"), b"are you there?");
    }
    let each = grown / count;
    assert!(each <= MOST_PER_SOCKET, "{each} bytes for each of {count} idle sockets, {grown} in all");
    // When access ends, all of them close.
    world.platform.change(|known| known.cookies.clear());
    world.gateway.refresh().await;
    for mut socket in sockets.into_iter().chain([first]) {
        assert!(socket.rest().await.is_empty());
    }
    app.ended(usize::try_from(count).expect("a small number") + 1).await;
}
