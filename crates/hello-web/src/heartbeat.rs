//! Tells the platform every ten seconds that the app lives: `POST $GPUAAS_BASE_URL/v1/heartbeat`, plain HTTP.
//!
//! The platform serves that address on the instance's own network. Names are looked up in `/etc/hosts` only: a static
//! program has no resolver, and the address is a number.

use std::io::{self, Read as _, Write as _};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use crate::{Facts, page};

const EVERY: Duration = Duration::from_secs(10);
const TIMEOUT: Duration = Duration::from_secs(3);

#[derive(Debug, PartialEq, Eq)]
struct Target {
    host: String,
    port: u16,
    path: String,
}

pub(crate) fn start(facts: &Arc<Facts>) {
    let Some(base) = facts.config.base_url.clone() else { return };
    let Some(target) = parse(&base) else {
        println!("no heartbeats: GPUAAS_BASE_URL must be http://host[:port][/path]");
        return;
    };
    let facts = Arc::clone(facts);
    std::thread::spawn(move || {
        // Only changes are worth a line.
        let mut last = None;
        loop {
            let outcome = beat(&target, &facts).map_err(|error| error.to_string());
            if last.as_ref() != Some(&outcome) {
                match &outcome {
                    Ok(status) => println!("heartbeat answered {status}"),
                    Err(error) => println!("heartbeat failed: {error}"),
                }
                last = Some(outcome);
            }
            std::thread::sleep(EVERY);
        }
    });
}

/// The status of the answer.
fn beat(target: &Target, facts: &Facts) -> io::Result<u16> {
    let hosts = std::fs::read_to_string("/etc/hosts").unwrap_or_default();
    let ip =
        find_address(&target.host, &hosts).ok_or_else(|| io::Error::other("the host is not known here"))?;
    let mut stream = TcpStream::connect_timeout(&SocketAddr::from((ip, target.port)), TIMEOUT)?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    stream.set_write_timeout(Some(TIMEOUT))?;
    let id = facts.config.instance_id.as_deref().map_or("null".to_owned(), page::json_text);
    let body = format!("{{\"instance_id\":{id},\"uptime_seconds\":{}}}", facts.started.elapsed().as_secs());
    let Target { host, port, path } = target;
    let length = body.len();
    let request = format!(
        "POST {path} HTTP/1.1\r\nhost: {host}:{port}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\
         connection: close\r\n\r\n{body}"
    );
    stream.write_all(request.as_bytes())?;
    let mut answer = Vec::new();
    // The first line is enough.
    stream.take(1024).read_to_end(&mut answer)?;
    let status = answer.strip_prefix(b"HTTP/1.1 ").and_then(|rest| rest.get(..3));
    status
        .and_then(|digits| std::str::from_utf8(digits).ok()?.parse().ok())
        .ok_or_else(|| io::Error::other("the answer is not HTTP/1.1"))
}

fn parse(base: &str) -> Option<Target> {
    let rest = base.strip_prefix("http://")?;
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (host, port.parse().ok()?),
        _ => (authority, 80),
    };
    let clean = |text: &str| text.bytes().all(|byte| byte.is_ascii_graphic() && !b"@?#".contains(&byte));
    if host.is_empty() || !clean(host) || !clean(path) {
        return None;
    }
    let path = format!("{}/v1/heartbeat", path.trim_end_matches('/'));
    Some(Target { host: host.to_owned(), port, path })
}

fn find_address(host: &str, hosts: &str) -> Option<IpAddr> {
    let bare = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host);
    bare.parse().ok().or_else(|| {
        hosts.lines().find_map(|line| {
            let mut words = line.split('#').next().unwrap_or_default().split_whitespace();
            let address = words.next()?.parse().ok()?;
            words.any(|name| name.eq_ignore_ascii_case(host)).then_some(address)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_base_address_is_taken_apart() {
        let target = |host: &str, port, path: &str| {
            Some(Target { host: host.to_owned(), port, path: path.to_owned() })
        };
        assert_eq!(parse("http://10.1.0.1:8081"), target("10.1.0.1", 8081, "/v1/heartbeat"));
        assert_eq!(parse("http://platform/api/"), target("platform", 80, "/api/v1/heartbeat"));
        assert_eq!(parse("http://[fd00::1]:81/"), target("[fd00::1]", 81, "/v1/heartbeat"));
        assert_eq!(parse("http://[fd00::1]"), target("[fd00::1]", 80, "/v1/heartbeat"));
        for bad in
            ["https://a", "http://", "http://a:x", "http://a b", "http://u@a", "a", "http://a/\r\nx: y"]
        {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn names_come_from_the_hosts_file() {
        let hosts = "127.0.0.1 localhost # platform\n::1\tlocalhost6\n10.1.0.1 gw platform\n";
        assert_eq!(find_address("platform", hosts), "10.1.0.1".parse().ok());
        assert_eq!(find_address("127.0.0.9", ""), "127.0.0.9".parse().ok());
        assert_eq!(find_address("[::1]", ""), "::1".parse().ok());
        assert_eq!(find_address("elsewhere", hosts), None);
    }
}
