//! F05: two readers of HTTP, and thousands of heads that nobody would write. What the app has heard, read by the second
//! reader, is what the front has understood: the same requests, for the same host, with bodies of the same length.

use std::time::Duration;

use futures_util::future::join_all;

use crate::world::{ALICE, BOB, Understood, World};

/// The same cases every time.
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, most: usize) -> usize {
        usize::try_from(self.next() % most as u64).expect("below a usize")
    }

    fn one_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    fn of<'t>(&mut self, all: &[&'t str]) -> &'t str {
        all[self.below(all.len())]
    }
}

const METHODS: [&str; 10] =
    ["GET", "POST", "PUT", "DELETE", "OPTIONS", "HEAD", "PATCH", "get", "PURGE", "P\u{d6}ST"];
const TARGETS: [&str; 16] = [
    "/",
    "/a?b=c",
    "/a%20b",
    "//x/y",
    "/a/../b",
    "/?",
    "/a#b",
    "*",
    "/\u{fc}",
    "/a b",
    "http://{host}/x",
    "http://evil.example/x",
    "/{}|\\^`\"<>",
    "",
    "/%00",
    "/;a=b",
];
const ODD: [&str; 38] = [
    "Content-Length: 3",
    "Content-Length: 03",
    "Content-Length: 3 ",
    "Content-Length: 3, 3",
    "Content-Length: +3",
    "Content-Length: 0",
    "Content-Length:",
    "Content-Length : 3",
    "content-length: 99999999999999999999",
    "Content_Length: 3",
    "Transfer-Encoding: chunked",
    "Transfer-Encoding: Chunked",
    "Transfer-Encoding: chunked, identity",
    "Transfer-Encoding: identity, chunked",
    "Transfer-Encoding:\tchunked",
    "Transfer-Encoding: chunked\u{b}",
    "Transfer-Encoding\t: chunked",
    "Transfer_Encoding: chunked",
    "TE: trailers",
    "Trailer: Content-Length",
    "Connection: close",
    "Connection: Transfer-Encoding",
    "Connection: Content-Length, Host",
    "Connection: Upgrade",
    "Upgrade: h2c",
    "Upgrade: websocket",
    "Expect: 100-continue",
    "Expect: 200",
    "Host: evil.example",
    "X-Forwarded-Host: evil.example",
    " folded: x",
    "X: \u{1}",
    "X: a\rb",
    "X",
    ": x",
    "X:",
    "X: \u{fc}\u{1f980}",
    "Cookie: a=b; c",
];
const BODIES: [&str; 10] = [
    "abc",
    "",
    "3\r\nabc\r\n0\r\n\r\n",
    "3;x=y\r\nabc\r\n0\r\n\r\n",
    "03\r\nabc\r\n0\r\nX: y\r\n\r\n",
    "3\nabc\n0\n\n",
    "0\r\n\r\n",
    "3\r\nabcd\r\n0\r\n\r\n",
    "-1\r\nabc\r\n0\r\n\r\n",
    "abcGET /hidden HTTP/1.1\r\nHost: x\r\n\r\n",
];

fn one_request(chance: &mut Chance, host: &str, number: usize) -> Vec<u8> {
    let method = if chance.one_in(3) { chance.of(&METHODS) } else { chance.of(&METHODS[..3]) };
    let target = if chance.one_in(3) {
        chance.of(&TARGETS).replace("{host}", host)
    } else {
        format!("/case/{number}")
    };
    let version =
        if chance.one_in(30) { chance.of(&["HTTP/1.0", "HTTP/2.0", "http/1.1", ""]) } else { "HTTP/1.1" };
    let mut lines = vec![format!("Host: {host}"), format!("Authorization: Bearer {ALICE}")];
    // Mostly a clean way to say how long the body is; and odd lines anywhere.
    let body = match chance.below(4) {
        0 => {
            lines.push("Content-Length: 3".into());
            "abc"
        }
        1 => {
            lines.push("Transfer-Encoding: chunked".into());
            chance.of(&BODIES[2..5])
        }
        2 => chance.of(&BODIES),
        _ => "",
    };
    for _ in 0..chance.below(3) {
        let at = chance.below(lines.len() + 1);
        lines.insert(at, chance.of(&ODD).to_owned());
    }
    let mut bytes = format!("{method} {target} {version}").into_bytes();
    for line in lines {
        bytes.extend(
            if chance.one_in(60) { chance.of(&["\n", "\r", "\r\r\n", "\n\r"]) } else { "\r\n" }.as_bytes(),
        );
        bytes.extend(line.as_bytes());
    }
    bytes.extend(b"\r\n\r\n");
    bytes.extend(body.as_bytes());
    if chance.one_in(40) {
        let at = chance.below(bytes.len());
        bytes[at] = chance.next().to_le_bytes()[0];
    }
    bytes
}

/// One case after the other; says how many requests an app has heard.
async fn run(seed: u64, cases: usize) -> usize {
    let mut chance = Chance(seed);
    let (world, app, other) = World::with_echoes().await;
    let host = world.host();
    let mut passed = 0;
    for number in 0..cases {
        let mut bytes = one_request(&mut chance, &host, number);
        if chance.one_in(4) {
            bytes.extend(one_request(&mut chance, &host, number));
        }
        let shown = String::from_utf8_lossy(&bytes).into_owned();
        let mut client = world.connect().await;
        client.say(&bytes).await;
        // Until it closes or falls silent; what hangs in the middle of a body goes when the client goes.
        while let Ok(count) = tokio::time::timeout(Duration::from_millis(25), client.listen()).await {
            if count == 0 {
                break;
            }
        }
        drop(client);
        // Somebody else's request on a connection of their own: nothing of the case may be in its answer.
        let fence = world.ask_as(BOB, "GET /fence").await;
        assert_eq!(fence.text(), "first: GET /fence for signed-bob", "{shown:?}");
        passed += world.gateway.take_passed().iter().map(|(_, passed)| passed.bytes_in).sum::<u64>();
        // Each request that was heard is one that was understood, and no understood one is heard twice.
        let mut understood = world.understood();
        let (heard, _unfinished) = app.requests();
        for heard in &heard {
            let coded = heard.one("transfer-encoding").is_some();
            let length = (!coded).then_some(heard.body.len() as u64);
            let same = |one: &Understood| {
                one.method == heard.method()
                    && one.target == heard.target()
                    && one.host.as_deref() == heard.one("host")
                    && one.length == length
            };
            let at = understood.iter().position(same);
            understood.swap_remove(at.unwrap_or_else(|| panic!("{shown:?} became {heard:?}")));
            assert_eq!(heard.one("host"), Some(host.as_str()), "{shown:?}");
        }
        let bodies: usize = heard.iter().map(|heard| heard.body.len()).sum();
        assert!(passed >= bodies as u64, "{shown:?}: the app heard {bodies} bytes, the front {passed}");
    }
    assert_eq!(other.connections(), 0);
    app.requests().0.iter().filter(|heard| heard.target() != "/fence").count()
}

/// F05, G09: no case is understood in two ways.
#[tokio::test]
async fn the_front_and_the_app_understand_the_same() {
    let heard: usize = join_all((1..=16).map(|seed| run(0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(seed), 100)))
        .await
        .iter()
        .sum();
    assert!(
        heard > 500,
        "only {heard} requests of the cases reached an app; the cases are too wild to prove anything"
    );
}
