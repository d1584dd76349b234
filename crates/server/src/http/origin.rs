//! Where a browser's request comes from. Cookies ride along by themselves, so a call that uses one must show that
//! it comes from our own pages: Fetch-Metadata where the browser sends it, the exact Origin otherwise.

use axum::http::{HeaderMap, header};
use gpuaas_domain::{Error, Result};

/// The origins our own pages can have.
#[derive(Clone, Debug)]
pub(crate) struct OwnOrigins {
    origins: Vec<String>,
}

impl OwnOrigins {
    /// From the public address; on loopback its other names count too, because people type them.
    pub(crate) fn new(public_url: &str) -> Self {
        let mut origins = vec![public_url.trim_end_matches('/').to_lowercase()];
        if let Some((scheme, authority)) = crate::config::parse_origin(public_url) {
            let (host, port) = authority.rsplit_once(':').unwrap_or((authority.as_str(), ""));
            if matches!(host, "127.0.0.1" | "localhost" | "[::1]") {
                let port = if port.is_empty() { String::new() } else { format!(":{port}") };
                origins = [crate::config::LOOPBACK_PORTAL, "127.0.0.1", "localhost", "[::1]"]
                    .map(|name| format!("{scheme}://{name}{port}"))
                    .to_vec();
            }
        }
        Self { origins }
    }

    pub(crate) fn all(self) -> Vec<String> {
        self.origins
    }

    fn is_own(&self, origin: &str) -> bool {
        self.origins.iter().any(|own| own == origin)
    }

    /// Whether the name the client used for us is one of ours; a rebound name is not.
    fn is_own_host(&self, headers: &HeaderMap) -> bool {
        let Some(host) = single(headers, header::HOST.as_str()) else { return true };
        self.origins
            .iter()
            .any(|own| own.split_once("://").is_some_and(|(_, authority)| authority == host.to_lowercase()))
    }

    /// For calls that change something with a cookie.
    pub(crate) fn check_cookie_call(&self, headers: &HeaderMap) -> Result<()> {
        self.check_cookie_use(headers)?;
        let site = single(headers, "sec-fetch-site");
        let origin = single(headers, header::ORIGIN.as_str());
        let allowed = match (site, origin) {
            (Some(site), Some(origin)) => site == "same-origin" && self.is_own(origin),
            (Some(site), None) => site == "same-origin",
            (None, Some(origin)) => self.is_own(origin),
            (None, None) => false,
        };
        if allowed { Ok(()) } else { Err(cross_origin()) }
    }

    /// For any use of the cookie: the host must be ours, and the page too, unless somebody follows a link. An app's page is
    /// of the same site, and what it cannot read it could still start, time and count.
    pub(crate) fn check_cookie_use(&self, headers: &HeaderMap) -> Result<()> {
        let site_ok = match single(headers, "sec-fetch-site") {
            None | Some("same-origin" | "none") => true,
            Some(_) => single(headers, "sec-fetch-mode") == Some("navigate"),
        };
        if site_ok && self.is_own_host(headers) { Ok(()) } else { Err(cross_origin()) }
    }

    /// For a link that signs a browser in: somebody follows it. Programs send no such header.
    pub(crate) fn check_followed(headers: &HeaderMap) -> Result<()> {
        match single(headers, "sec-fetch-mode") {
            None | Some("navigate") => Ok(()),
            Some(_) => Err(cross_origin()),
        }
    }

    /// For signing in: nobody else's page may sign a browser in. Clients that are no browsers send neither header.
    pub(crate) fn check_sign_in(&self, headers: &HeaderMap) -> Result<()> {
        let site_ok =
            single(headers, "sec-fetch-site").is_none_or(|site| matches!(site, "same-origin" | "none"));
        let origin_ok = single(headers, header::ORIGIN.as_str()).is_none_or(|origin| self.is_own(origin));
        if site_ok && origin_ok { Ok(()) } else { Err(cross_origin()) }
    }

    /// For WebSockets with a cookie: browsers send no Fetch-Metadata there, so only the exact Origin counts.
    pub(crate) fn check_socket(&self, headers: &HeaderMap) -> Result<()> {
        match single(headers, header::ORIGIN.as_str()) {
            Some(origin) if self.is_own(origin) && self.is_own_host(headers) => Ok(()),
            Some(_) | None => Err(cross_origin()),
        }
    }
}

/// A header that stands exactly once; two of them are as good as a wrong one.
fn single<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    let mut values = headers.get_all(name).iter();
    let first = values.next()?;
    if values.next().is_some() {
        return Some("(repeated)");
    }
    Some(first.to_str().unwrap_or("(unreadable)"))
}

fn cross_origin() -> Error {
    Error::forbidden(
        "cross_origin",
        "This call used the browser's session but did not come from the platform's own pages.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let mut map = HeaderMap::new();
        for (name, value) in pairs {
            map.append(*name, value.parse().unwrap());
        }
        map
    }

    /// K-01: of all the ways a page can send a cookie along, only our own pages' way passes.
    #[test]
    fn only_our_own_pages_may_use_the_cookie_to_change_things() {
        let own = OwnOrigins::new("http://127.0.0.1:8080");
        let host = ("host", "127.0.0.1:8080");
        let passes = |pairs: &[(&'static str, &str)]| own.check_cookie_call(&headers(pairs)).is_ok();
        assert!(passes(&[host, ("origin", "http://127.0.0.1:8080")]));
        assert!(passes(&[host, ("sec-fetch-site", "same-origin")]));
        assert!(passes(&[
            ("host", "localhost:8080"),
            ("origin", "http://localhost:8080"),
            ("sec-fetch-site", "same-origin")
        ]));
        for wrong in [
            vec![host],
            vec![host, ("sec-fetch-site", "cross-site")],
            vec![host, ("sec-fetch-site", "same-site")],
            vec![host, ("sec-fetch-site", "none")],
            vec![host, ("sec-fetch-site", "same-origin"), ("origin", "http://evil.example")],
            vec![host, ("sec-fetch-site", "cross-site"), ("origin", "http://127.0.0.1:8080")],
            vec![host, ("origin", "null")],
            vec![host, ("origin", "http://127.0.0.1:80801")],
            vec![host, ("origin", "http://127.0.0.1")],
            vec![host, ("origin", "https://127.0.0.1:8080")],
            vec![host, ("origin", "http://127.0.0.1:8080.evil.example")],
            vec![host, ("origin", "http://127.0.0.1:8080"), ("origin", "http://evil.example")],
            vec![("host", "rebound.example:8080"), ("origin", "http://rebound.example:8080")],
        ] {
            assert!(!passes(&wrong), "{wrong:?}");
        }
    }

    #[test]
    fn sockets_need_the_exact_origin() {
        let own = OwnOrigins::new("https://gpu.example.org");
        let host = ("host", "gpu.example.org");
        assert!(own.check_socket(&headers(&[host, ("origin", "https://gpu.example.org")])).is_ok());
        for wrong in [
            "null",
            "http://gpu.example.org",
            "https://gpu.example.org.evil",
            "https://xgpu.example.org",
            "https://gpu.example.org:444",
            "",
        ] {
            assert!(own.check_socket(&headers(&[host, ("origin", wrong)])).is_err(), "{wrong}");
        }
        assert!(own.check_socket(&headers(&[host])).is_err());
    }
}
