//! Plain HTTP to the address in `GPUAAS_BASE_URL`, which the platform serves on the instance's own network. Names are
//! looked up in `/etc/hosts` only: a static program has no resolver, and the address is a number.

use std::io::{self, Read as _, Write as _};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::time::Duration;

const TIMEOUT: Duration = Duration::from_secs(3);
/// An answer of the platform; ours are short.
const MAX_ANSWER: u64 = 64 * 1024;

/// Where calls go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Base {
    host: String,
    port: u16,
    path: String,
}

pub(crate) fn parse(base: &str) -> Option<Base> {
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
    Some(Base { host: host.to_owned(), port, path: path.trim_end_matches('/').to_owned() })
}

/// Posts JSON; gives the status and the body of the answer.
pub(crate) fn post(base: &Base, path: &str, bearer: Option<&str>, body: &str) -> io::Result<(u16, String)> {
    let hosts = std::fs::read_to_string("/etc/hosts").unwrap_or_default();
    let ip =
        find_address(&base.host, &hosts).ok_or_else(|| io::Error::other("the host is not known here"))?;
    let mut stream = TcpStream::connect_timeout(&SocketAddr::from((ip, base.port)), TIMEOUT)?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    stream.set_write_timeout(Some(TIMEOUT))?;
    let Base { host, port, path: root } = base;
    let bearer = bearer.map(|token| format!("authorization: Bearer {token}\r\n")).unwrap_or_default();
    let length = body.len();
    let request = format!(
        "POST {root}{path} HTTP/1.1\r\nhost: {host}:{port}\r\n{bearer}content-type: application/json\r\n\
         content-length: {length}\r\nconnection: close\r\n\r\n{body}"
    );
    stream.write_all(request.as_bytes())?;
    let mut answer = Vec::new();
    stream.take(MAX_ANSWER).read_to_end(&mut answer)?;
    let answer = String::from_utf8_lossy(&answer);
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    let status = head.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3)?.parse().ok());
    let status = status.ok_or_else(|| io::Error::other("the answer is not HTTP/1.1"))?;
    Ok((status, body.to_owned()))
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
        let base =
            |host: &str, port, path: &str| Some(Base { host: host.to_owned(), port, path: path.to_owned() });
        assert_eq!(parse("http://10.1.0.1:8081"), base("10.1.0.1", 8081, ""));
        assert_eq!(parse("http://platform/api/"), base("platform", 80, "/api"));
        assert_eq!(parse("http://[fd00::1]:81/"), base("[fd00::1]", 81, ""));
        assert_eq!(parse("http://[fd00::1]"), base("[fd00::1]", 80, ""));
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
