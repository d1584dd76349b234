//! As much of HTTP/1.1 as a page needs: GET and HEAD, kept alive while there is room, no request bodies.
//!
//! Bounds: connections at once, bytes of a request's head, seconds a client may take to send it and to take the answer.
//! A thread per connection is enough for a demonstration and needs no runtime.

use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::{Facts, page};

const MOST_CONNECTIONS: usize = 64;
/// Connections beyond that are told to come back, up to this many at once; more are just closed.
const MOST_REFUSALS: usize = 32;
const MOST_HEAD_BYTES: usize = 8 * 1024;
const HEAD_TIMEOUT: Duration = Duration::from_secs(5);
const WRITE_TIMEOUT: Duration = Duration::from_secs(5);
const LINGER: Duration = Duration::from_millis(300);
const HTML: &str = "text/html; charset=utf-8";
const TEXT: &str = "text/plain; charset=utf-8";
const JSON: &str = "application/json";

pub(crate) struct Server {
    facts: Arc<Facts>,
    connections: AtomicUsize,
    /// Answers being made or written.
    answering: AtomicUsize,
}

/// An answer under way, counted while it lives.
struct Answering<'a>(&'a AtomicUsize);

impl<'a> Answering<'a> {
    fn begin(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Self(count)
    }
}

impl Drop for Answering<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// A connection's place, given back when it ends, however it ends.
struct Place {
    server: Arc<Server>,
    /// Connections that were there before.
    others: usize,
}

impl Place {
    fn take(server: &Arc<Server>) -> Self {
        let others = server.connections.fetch_add(1, Ordering::SeqCst);
        Self { server: Arc::clone(server), others }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.server.connections.fetch_sub(1, Ordering::SeqCst);
    }
}

struct Request {
    method: String,
    /// Without the query.
    path: String,
    /// Says whether the next request may follow on this connection.
    keep_alive: bool,
}

struct Answer {
    status: &'static str,
    content_type: &'static str,
    body: String,
}

impl Server {
    pub(crate) fn new(facts: Arc<Facts>) -> Arc<Self> {
        Arc::new(Self { facts, connections: AtomicUsize::new(0), answering: AtomicUsize::new(0) })
    }

    pub(crate) fn start(self: &Arc<Self>, listener: TcpListener) {
        let server = Arc::clone(self);
        std::thread::spawn(move || {
            loop {
                match listener.accept() {
                    Ok((stream, peer)) => server.admit(stream, peer),
                    // Out of file descriptors, most likely: let some connections end.
                    Err(_) => std::thread::sleep(Duration::from_millis(50)),
                }
            }
        });
    }

    /// Waits until no answer is under way, at most `patience`.
    pub(crate) fn drain(&self, patience: Duration) {
        let deadline = Instant::now() + patience;
        while self.answering.load(Ordering::SeqCst) > 0 && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn admit(self: &Arc<Self>, stream: TcpStream, peer: SocketAddr) {
        let place = Place::take(self);
        if place.others >= MOST_CONNECTIONS + MOST_REFUSALS {
            return;
        }
        let spawned = std::thread::Builder::new().stack_size(256 * 1024).spawn(move || {
            // What fails here is the client's going away.
            let _ = place.server.serve(stream, peer, place.others);
        });
        // No thread, no service: the connection is closed by being dropped.
        drop(spawned);
    }

    fn serve(&self, mut stream: TcpStream, peer: SocketAddr, others: usize) -> io::Result<()> {
        stream.set_write_timeout(Some(WRITE_TIMEOUT))?;
        stream.set_nodelay(true)?;
        if others >= MOST_CONNECTIONS {
            let busy =
                Answer { status: "503 Service Unavailable", content_type: TEXT, body: "busy\n".to_owned() };
            write(&mut stream, &busy, true, false)?;
            return linger(&mut stream);
        }
        let mut unread = Vec::new();
        while let Some(head) = read_head(&mut stream, &mut unread)? {
            let _answering = Answering::begin(&self.answering);
            let began = Instant::now();
            let request = parse(&head);
            let (answer, with_body, keep_alive, what) = if let Some(request) = &request {
                // Idle connections must not keep newcomers out.
                let room = self.connections.load(Ordering::SeqCst) <= MOST_CONNECTIONS / 2;
                let what = format!("{} {}", request.method, request.path);
                (self.answer(request), request.method != "HEAD", request.keep_alive && room, what)
            } else {
                let body = "this is no request\n".to_owned();
                let bad = Answer { status: "400 Bad Request", content_type: TEXT, body };
                (bad, true, false, "? ?".to_owned())
            };
            let code = answer.status.split(' ').next().unwrap_or_default();
            println!("{} {what} {code} {} us", peer.ip().to_canonical(), began.elapsed().as_micros());
            write(&mut stream, &answer, with_body, keep_alive)?;
            if !keep_alive {
                return linger(&mut stream);
            }
        }
        Ok(())
    }

    fn answer(&self, request: &Request) -> Answer {
        let ok = |content_type, body| Answer { status: "200 OK", content_type, body };
        if !matches!(request.method.as_str(), "GET" | "HEAD") {
            let body = "only GET and HEAD\n".to_owned();
            return Answer { status: "405 Method Not Allowed", content_type: TEXT, body };
        }
        match request.path.as_str() {
            "/" | "/index.html" => ok(HTML, page::home(&self.facts)),
            "/healthz" => ok(TEXT, "ok\n".to_owned()),
            "/env.json" => ok(JSON, page::env_json(&self.facts.config.shown)),
            _ => Answer { status: "404 Not Found", content_type: HTML, body: page::not_found().to_owned() },
        }
    }
}

/// Takes what the client still sends. A socket closed with unread bytes is reset, and the answer may be lost with it.
fn linger(stream: &mut TcpStream) -> io::Result<()> {
    stream.shutdown(Shutdown::Write)?;
    stream.set_read_timeout(Some(LINGER))?;
    let mut chunk = [0; 2048];
    let mut room = MOST_HEAD_BYTES;
    while room > 0 {
        match stream.read(&mut chunk)? {
            0 => break,
            count => room = room.saturating_sub(count),
        }
    }
    Ok(())
}

/// The bytes up to the empty line; what follows stays in `unread`. None: the client has ended or idles.
fn read_head(stream: &mut TcpStream, unread: &mut Vec<u8>) -> io::Result<Option<Vec<u8>>> {
    let deadline = Instant::now() + HEAD_TIMEOUT;
    loop {
        if let Some(end) = unread.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
            let rest = unread.split_off(end + 4);
            return Ok(Some(std::mem::replace(unread, rest)));
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if unread.len() > MOST_HEAD_BYTES {
            return Ok(Some(std::mem::take(unread)));
        }
        if left.is_zero() {
            return Ok(None);
        }
        stream.set_read_timeout(Some(left))?;
        let mut chunk = [0; 2048];
        let count = stream.read(&mut chunk)?;
        if count == 0 {
            return Ok(None);
        }
        unread.extend_from_slice(&chunk[..count]);
    }
}

fn parse(head: &[u8]) -> Option<Request> {
    let text = std::str::from_utf8(head).ok()?;
    let mut lines = text.strip_suffix("\r\n\r\n")?.split("\r\n");
    let mut words = lines.next()?.split(' ');
    let (method, target, version) = (words.next()?, words.next()?, words.next()?);
    let well_formed = words.next().is_none()
        && !method.is_empty()
        && method.bytes().all(|byte| byte.is_ascii_uppercase())
        && target.starts_with('/')
        && target.bytes().all(|byte| byte.is_ascii_graphic())
        && matches!(version, "HTTP/1.1" | "HTTP/1.0");
    if !well_formed {
        return None;
    }
    let mut keep_alive = version == "HTTP/1.1";
    for line in lines {
        let (name, value) = line.split_once(':')?;
        let value = value.trim().to_ascii_lowercase();
        // A body is never read, so what follows it could not be told from a request.
        let closes = (name.eq_ignore_ascii_case("connection")
            && value.split(',').any(|word| word.trim() == "close"))
            || (name.eq_ignore_ascii_case("content-length") && value != "0")
            || name.eq_ignore_ascii_case("transfer-encoding");
        keep_alive &= !closes;
    }
    let path = target.split('?').next().unwrap_or_default().to_owned();
    Some(Request { method: method.to_owned(), path, keep_alive })
}

fn write(stream: &mut TcpStream, answer: &Answer, with_body: bool, keep_alive: bool) -> io::Result<()> {
    let Answer { status, content_type, body } = answer;
    let connection = if keep_alive { "keep-alive" } else { "close" };
    let allow = if status.starts_with("405") { "allow: GET, HEAD\r\n" } else { "" };
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: {content_type}\r\ncontent-length: {length}\r\n{allow}cache-control: no-store\r\n\
         x-content-type-options: nosniff\r\nconnection: {connection}\r\n\r\n"
    );
    let body = if with_body { body.as_str() } else { "" };
    stream.write_all([head.as_str(), body].concat().as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_read_strictly() {
        let request = parse(b"GET /a?b=c HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
        assert_eq!((request.method.as_str(), request.path.as_str(), request.keep_alive), ("GET", "/a", true));
        let keeps = |head: &str| parse(head.as_bytes()).unwrap().keep_alive;
        assert!(!keeps("GET / HTTP/1.0\r\n\r\n"));
        assert!(!keeps("GET / HTTP/1.1\r\nConnection: Upgrade, Close\r\n\r\n"));
        assert!(!keeps("GET / HTTP/1.1\r\nContent-Length: 5\r\n\r\n"));
        assert!(!keeps("GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"));
        for bad in [
            "",
            "\r\n\r\n",
            "GET /\r\n\r\n",
            "GET  / HTTP/1.1\r\n\r\n",
            "get / HTTP/1.1\r\n\r\n",
            "GET x HTTP/1.1\r\n\r\n",
            "GET / HTTP/2\r\n\r\n",
            "GET /\x1b[2J HTTP/1.1\r\n\r\n",
            "GET / HTTP/1.1\r\nno colon\r\n\r\n",
        ] {
            assert!(parse(bad.as_bytes()).is_none(), "{bad:?}");
        }
    }
}
