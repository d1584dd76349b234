//! Whether a browser's request comes from the app's own pages. Cookies ride along by themselves, and two apps under one
//! domain are the same site to a browser, so `SameSite` is no wall between them: this is.

use hyper::{HeaderMap, Method, header};

/// The origin of a page that does not say where it is.
const HIDDEN: &str = "null";

/// What a request is, as far as its origin matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    /// The browser's cookie opens it.
    Cookie,
    /// A token in a header opens it, which no page sends by itself; or nothing is needed.
    Token,
}

/// Why a request is not let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Foreign {
    /// A page of another origin sent it, or nobody says who did.
    CrossOrigin,
    /// A WebSocket without exactly this origin.
    SocketOrigin,
}

/// Both for requests and for upgrades. `own` is the endpoint's origin.
pub(crate) fn check(
    using: Use,
    method: &Method,
    headers: &HeaderMap,
    socket: bool,
    own: &str,
) -> Result<(), Foreign> {
    let origin = single(headers, header::ORIGIN.as_str());
    if socket {
        // Browsers send no Fetch-Metadata with a WebSocket; programs send no Origin.
        return match (using, origin) {
            (_, Once(origin)) if origin == own => Ok(()),
            (Use::Token, Absent) => Ok(()),
            _ => Err(Foreign::SocketOrigin),
        };
    }
    if using == Use::Token {
        return Ok(());
    }
    let site = single(headers, "sec-fetch-site");
    let own_origin = match origin {
        Absent => true,
        // A page that may not say where it is (we tell it so: `no-referrer`) sends a form with this. Of which site it is,
        // the browser says beside it; a page in a sandbox is never `same-origin`.
        Once(HIDDEN) if site == Once("same-origin") => true,
        Once(origin) => origin == own,
        Odd => false,
    };
    let mode = single(headers, "sec-fetch-mode");
    let dest = single(headers, "sec-fetch-dest");
    // An allowlist: what a browser may say tomorrow is refused until somebody has thought about it.
    let allowed = match site {
        Once("same-origin") => own_origin,
        // Somebody typed it, or followed a link: a page opens, nothing more.
        Once("none" | "same-site" | "cross-site") => {
            matches!(*method, Method::GET | Method::HEAD)
                && mode == Once("navigate")
                && matches!(dest, Once("document" | "iframe"))
                && (own_origin || site != Once("none"))
        }
        Once(_) | Odd | Absent => false,
    };
    if allowed { Ok(()) } else { Err(Foreign::CrossOrigin) }
}

/// What an app is told instead of the hidden origin of its own page: many compare it with their own.
pub(crate) fn show_origin(headers: &mut HeaderMap, own: &str) {
    let hidden = single(headers, header::ORIGIN.as_str()) == Once(HIDDEN);
    if hidden
        && single(headers, "sec-fetch-site") == Once("same-origin")
        && let Ok(own) = hyper::header::HeaderValue::from_str(own)
    {
        headers.insert(header::ORIGIN, own);
    }
}

/// Who reads an answer of ours, known before the request is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reader {
    Person,
    /// A person, inside another page.
    Framed,
    Program,
}

impl Reader {
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        match (is_navigation(headers), is_framed(headers)) {
            (true, false) => Self::Person,
            (true, true) => Self::Framed,
            (false, _) => Self::Program,
        }
    }
}

/// Whether a person looks at the answer: then it is a page, and where it makes sense a redirect.
pub(crate) fn is_navigation(headers: &HeaderMap) -> bool {
    match single(headers, "sec-fetch-mode") {
        Once(mode) => mode == "navigate",
        Odd => false,
        Absent => {
            let accept = headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok());
            accept.is_some_and(|accept| accept.contains("text/html"))
        }
    }
}

/// Whether the answer is shown inside another page.
fn is_framed(headers: &HeaderMap) -> bool {
    single(headers, "sec-fetch-dest") == Once("iframe")
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Said<'h> {
    Absent,
    Once(&'h str),
    /// Twice, or unreadable: as good as a wrong one.
    Odd,
}
use Said::{Absent, Odd, Once};

fn single<'h>(headers: &'h HeaderMap, name: &str) -> Said<'h> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => Absent,
        (Some(value), None) => value.to_str().map_or(Odd, Once),
        (Some(_), Some(_)) => Odd,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: &str = "https://abcd.apps.example.org";

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let mut map = HeaderMap::new();
        for (name, value) in pairs {
            map.append(*name, value.parse().unwrap());
        }
        map
    }

    /// G05: of more than twenty origins a WebSocket may say it has, only the exact one passes.
    #[test]
    fn a_socket_needs_exactly_this_origin() {
        let socket =
            |using, pairs: &[(&'static str, &str)]| check(using, &Method::GET, &headers(pairs), true, OWN);
        assert_eq!(socket(Use::Cookie, &[("origin", OWN)]), Ok(()));
        for other in [
            "null",
            "",
            "https://abcd.apps.example.org/",
            "https://abcd.apps.example.org:443",
            "https://abcd.apps.example.org:8443",
            "http://abcd.apps.example.org",
            "https://ABCD.apps.example.org",
            "https://abcd.apps.example.org.evil.example",
            "https://evil.example/https://abcd.apps.example.org",
            "https://evilabcd.apps.example.org",
            "https://x.abcd.apps.example.org",
            "https://efgh.apps.example.org",
            "https://apps.example.org",
            "https://example.org",
            "https://abcd.apps.example.orgs",
            "https://abcd.apps.example.org@evil.example",
            "https://evil.example#abcd.apps.example.org",
            "wss://abcd.apps.example.org",
            "file://",
            "chrome-extension://abcd",
            " https://abcd.apps.example.org ",
            "https://abcd.apps.example.org https://abcd.apps.example.org",
            "*",
        ] {
            let trimmed = other.trim();
            if trimmed == OWN {
                continue;
            }
            for using in [Use::Cookie, Use::Token] {
                assert_eq!(socket(using, &[("origin", other)]), Err(Foreign::SocketOrigin), "{other:?}");
            }
        }
        assert_eq!(socket(Use::Cookie, &[]), Err(Foreign::SocketOrigin), "missing");
        assert_eq!(socket(Use::Cookie, &[("origin", OWN), ("origin", OWN)]), Err(Foreign::SocketOrigin));
        assert_eq!(socket(Use::Token, &[]), Ok(()), "a program says no origin");
    }

    /// G03: of what another page can make a browser send, only plain navigation passes.
    #[test]
    fn another_page_can_only_navigate() {
        let say = |method: &Method, site: &str, mode: &str, dest: &str| {
            let told =
                headers(&[("sec-fetch-site", site), ("sec-fetch-mode", mode), ("sec-fetch-dest", dest)]);
            check(Use::Cookie, method, &told, false, OWN).is_ok()
        };
        for site in ["same-site", "cross-site"] {
            for (mode, dest) in [
                ("cors", "empty"),
                ("no-cors", "image"),
                ("no-cors", "script"),
                ("no-cors", "style"),
                ("no-cors", "empty"),
                ("same-origin", "worker"),
                ("same-origin", "sharedworker"),
                ("navigate", "object"),
                ("navigate", "embed"),
                ("navigate", "frame"),
                ("websocket", "websocket"),
                ("navigate", ""),
                ("nonsense", "document"),
            ] {
                assert!(!say(&Method::GET, site, mode, dest), "{site} {mode} {dest}");
            }
            assert!(!say(&Method::POST, site, "navigate", "document"), "a form");
            assert!(!say(&Method::DELETE, site, "navigate", "document"));
            assert!(say(&Method::GET, site, "navigate", "document"));
            assert!(
                say(&Method::GET, site, "navigate", "iframe"),
                "the portal's frame; frame-ancestors stops the others"
            );
        }
        assert!(say(&Method::POST, "same-origin", "cors", "empty"));
        assert!(say(&Method::GET, "none", "navigate", "document"));
        assert!(!say(&Method::POST, "none", "navigate", "document"));
        assert!(!say(&Method::GET, "something-new", "navigate", "document"));
    }

    #[test]
    fn a_cookie_without_a_word_about_its_page_is_refused() {
        assert!(check(Use::Cookie, &Method::GET, &headers(&[]), false, OWN).is_err());
        let twice = headers(&[("sec-fetch-site", "same-origin"), ("sec-fetch-site", "cross-site")]);
        assert!(check(Use::Cookie, &Method::GET, &twice, false, OWN).is_err());
        let form = headers(&[("sec-fetch-site", "same-origin"), ("origin", "null")]);
        assert!(check(Use::Cookie, &Method::POST, &form, false, OWN).is_ok(), "a form under no-referrer");
        for site in ["same-site", "cross-site", "none"] {
            let sandboxed = headers(&[("sec-fetch-site", site), ("origin", "null")]);
            assert!(check(Use::Cookie, &Method::POST, &sandboxed, false, OWN).is_err(), "{site}");
        }
        let lying = headers(&[("sec-fetch-site", "same-origin"), ("origin", "https://evil.example")]);
        assert!(check(Use::Cookie, &Method::POST, &lying, false, OWN).is_err());
        assert!(check(Use::Token, &Method::POST, &headers(&[]), false, OWN).is_ok());
    }
}
