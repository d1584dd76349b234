//! Whether a component answers. One look at a time; when to look and what follows is the executor's business.

use std::net::SocketAddr;
use std::time::Duration;

use gpuaas_agent_protocol::spec::{Check, Probe};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::runtime::{ContainerRuntime, ContainerView};

/// Why a probe did not pass, in words for the report.
pub type Complaint = String;

/// One look, within the probe's timeout. `heard` is how long ago the app last called the instance API.
pub async fn probe(
    runtime: &dyn ContainerRuntime,
    container: &ContainerView,
    probe: &Probe,
    heard: Option<Duration>,
) -> Result<(), Complaint> {
    let timeout = Duration::from_millis(u64::from(probe.timeout_ms));
    let look = async {
        match &probe.check {
            Check::Http { .. } | Check::Tcp { .. } if runtime.pretends(container) == Some(true) => Ok(()),
            Check::Http { port, path } => http(dial(runtime, container, *port)?, path).await,
            Check::Tcp { port } => connect(dial(runtime, container, *port)?).await.map(drop),
            Check::Exec { command } => match runtime.exec(&container.id, command).await {
                Ok(0) => Ok(()),
                Ok(code) => Err(format!("The command ended with {code}.")),
                Err(failure) => Err(failure.detail),
            },
            Check::Heartbeat => {
                let limit = Duration::from_millis(u64::from(probe.interval_ms)) + timeout;
                match heard {
                    Some(ago) if ago <= limit => Ok(()),
                    Some(ago) => Err(format!("The last heartbeat was {} ms ago.", ago.as_millis())),
                    None => Err("No heartbeat yet.".to_owned()),
                }
            }
        }
    };
    tokio::time::timeout(timeout, look)
        .await
        .unwrap_or_else(|_| Err(format!("No answer within {} ms.", probe.timeout_ms)))
}

fn dial(
    runtime: &dyn ContainerRuntime,
    container: &ContainerView,
    port: u16,
) -> Result<SocketAddr, Complaint> {
    runtime.dial_address(container, port).ok_or_else(|| "The container has no address.".to_owned())
}

async fn connect(at: SocketAddr) -> Result<TcpStream, Complaint> {
    TcpStream::connect(at).await.map_err(|error| format!("Port {}: {error}.", at.port()))
}

/// By hand: one request, one status line. A client library would follow redirects and reuse connections.
async fn http(at: SocketAddr, path: &str) -> Result<(), Complaint> {
    let mut stream = connect(at).await?;
    let request = format!(
        "GET {path} HTTP/1.1\r\nHost: {at}\r\nUser-Agent: gpuaas-agent\r\nAccept: */*\r\nConnection: close\r\n\r\n"
    );
    let failed = |error: std::io::Error| format!("Port {}: {error}.", at.port());
    stream.write_all(request.as_bytes()).await.map_err(failed)?;
    let mut head = Vec::with_capacity(64);
    while head.len() < 1024 && !head.contains(&b'\n') {
        let mut part = [0; 64];
        let count = stream.read(&mut part).await.map_err(failed)?;
        if count == 0 {
            break;
        }
        head.extend_from_slice(&part[..count]);
    }
    match status(&head) {
        Some(200..=399) => Ok(()),
        Some(status) => Err(format!("The answer was {status}.")),
        None => Err("The answer was no HTTP.".to_owned()),
    }
}

fn status(head: &[u8]) -> Option<u16> {
    let line = head.split(|byte| *byte == b'\n').next()?;
    let line = std::str::from_utf8(line).ok()?;
    line.strip_prefix("HTTP/1.")?.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_line_is_read_and_nonsense_is_not() {
        assert_eq!(status(b"HTTP/1.1 200 OK\r\n"), Some(200));
        assert_eq!(status(b"HTTP/1.0 503 Busy\r\nX: y"), Some(503));
        for head in [&b""[..], b"SSH-2.0-OpenSSH\r\n", b"HTTP/2 200\r\n", b"HTTP/1.1\r\n", b"\xff\xfe"] {
            assert_eq!(status(head), None, "{head:?}");
        }
    }
}
