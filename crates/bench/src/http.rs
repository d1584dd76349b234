//! A small HTTP/1.1 client on kept-alive connections, so that the load costs little beside the server it loads.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::Result;
use crate::figures::float;

const PATIENCE: Duration = Duration::from_secs(20);

type Headers<'a> = &'a [(&'a str, &'a str)];

pub(crate) fn request(
    to: SocketAddr,
    method: &str,
    path: &str,
    headers: Headers<'_>,
    body: Option<&Value>,
) -> Vec<u8> {
    let mut text = format!("{method} {path} HTTP/1.1\r\nhost: {to}\r\n");
    for (name, value) in headers {
        let _ = write!(text, "{name}: {value}\r\n");
    }
    let body = body.map(Value::to_string).unwrap_or_default();
    if !body.is_empty() {
        let _ = write!(text, "content-type: application/json\r\ncontent-length: {}\r\n", body.len());
    }
    format!("{text}\r\n{body}").into_bytes()
}

/// One connection and the last answer on it.
pub(crate) struct Connection {
    stream: TcpStream,
    answer: Vec<u8>,
    head_end: usize,
}

impl Connection {
    pub(crate) async fn open(address: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, answer: Vec::with_capacity(64 * 1024), head_end: 0 })
    }

    /// Sends a request and reads its answer whole; gives the status.
    pub(crate) async fn exchange(&mut self, request: &[u8]) -> Result<u16> {
        self.stream.write_all(request).await?;
        self.answer.clear();
        let mut wanted = usize::MAX;
        while self.answer.len() < wanted {
            if self.stream.read_buf(&mut self.answer).await? == 0 {
                return Err("the server closed the connection".into());
            }
            if wanted == usize::MAX
                && let Some(end) = self.answer.windows(4).position(|four| four == b"\r\n\r\n")
            {
                self.head_end = end;
                let length = self.header("content-length").ok_or("an answer without a length")?;
                let length = length.parse::<usize>()?;
                wanted = end + 4 + if request.starts_with(b"HEAD ") { 0 } else { length };
            }
        }
        Ok(std::str::from_utf8(&self.answer[9..12])?.parse()?)
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let head = std::str::from_utf8(&self.answer[..self.head_end]).ok()?;
        head.lines().find_map(|line| {
            let (found, value) = line.split_once(':')?;
            found.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }

    /// Sends a request that must succeed; gives its JSON.
    pub(crate) async fn ask(&mut self, request: &[u8]) -> Result<Value> {
        let status = self.exchange(request).await?;
        let body = &self.answer[self.head_end + 4..];
        if !(200..300).contains(&status) {
            return Err(format!("status {status}: {}", String::from_utf8_lossy(body)).into());
        }
        Ok(serde_json::from_slice(body)?)
    }
}

/// What a stretch of load saw.
pub(crate) struct Load {
    pub(crate) requests: f64,
    pub(crate) seconds: f64,
    pub(crate) p99_ms: f64,
}

/// Sends one request over and over on `connections`, each waiting for its answer, until the time is up or `at_most`
/// were sent on each. Any answer but 200 ends it.
pub(crate) async fn load(
    address: SocketAddr,
    request: &[u8],
    connections: usize,
    time: Duration,
    at_most: usize,
) -> Result<Load> {
    let mut open = Vec::with_capacity(connections);
    for _ in 0..connections {
        open.push(Connection::open(address).await?);
    }
    let started = Instant::now();
    let mut running = JoinSet::new();
    for mut connection in open {
        let request = request.to_vec();
        running.spawn(async move {
            let mut took = Vec::new();
            while started.elapsed() < time && took.len() < at_most {
                let sent = Instant::now();
                let status = tokio::time::timeout(PATIENCE, connection.exchange(&request)).await??;
                took.push(sent.elapsed());
                if status != 200 {
                    return Err(format!("status {status} under load").into());
                }
            }
            Result::Ok(took)
        });
    }
    let mut took = Vec::new();
    while let Some(ended) = running.join_next().await {
        took.extend(ended??);
    }
    let seconds = started.elapsed().as_secs_f64();
    took.sort_unstable();
    let p99 = took.get(took.len() * 99 / 100).copied().unwrap_or_default();
    Ok(Load { requests: float(took.len() as u64), seconds, p99_ms: p99.as_secs_f64() * 1000.0 })
}
