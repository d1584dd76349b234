//! Host names: one origin for each endpoint, told from the authority of the request and from nothing else.

use std::borrow::Cow;

use gpuaas_domain::access::Label;
use hyper::http::uri::Authority;
use hyper::{HeaderMap, Uri, Version, header};

/// What the gateway and the platform's pages are called.
#[derive(Clone, Debug)]
pub struct Names {
    scheme: &'static str,
    /// Host and port as browsers write them, as in `apps.example.org` or `apps.localhost:8080`.
    apps: String,
    /// The same with the port always there.
    apps_with_port: String,
    /// The platform's own pages, as origins; the first is where people are sent.
    portals: Vec<String>,
}

/// What a request's authority says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Host {
    /// An endpoint, perhaps.
    App(Label),
    /// Under the apps' domain, but nobody's.
    Nobody,
    /// Not the gateway's.
    Elsewhere,
    /// Two answers to the question who is meant, or none.
    Unclear,
}

impl Names {
    /// `apps` is host[:port]; without a port it is the scheme's own.
    pub fn new(secure: bool, apps: &str, portals: Vec<String>) -> Self {
        let (scheme, port) = if secure { ("https", "443") } else { ("http", "80") };
        let apps = apps.to_ascii_lowercase();
        let bare = apps.strip_suffix(&format!(":{port}")).unwrap_or(&apps).to_owned();
        let with_port = if bare.contains(':') { bare.clone() } else { format!("{bare}:{port}") };
        Self { scheme, apps: bare, apps_with_port: with_port, portals }
    }

    pub fn is_secure(&self) -> bool {
        self.scheme == "https"
    }

    pub fn scheme(&self) -> &'static str {
        self.scheme
    }

    pub fn portals(&self) -> &[String] {
        &self.portals
    }

    /// Who may show apps in frames. An IPv6 address cannot be said in a policy: browsers skip it with a complaint.
    pub fn frame_ancestors(&self) -> String {
        let named: Vec<&str> =
            self.portals.iter().map(String::as_str).filter(|portal| !portal.contains('[')).collect();
        if named.is_empty() { "'none'".to_owned() } else { named.join(" ") }
    }

    /// An endpoint's origin; also what `Origin` must be for its sockets.
    pub fn origin(&self, label: &Label) -> String {
        format!("{}://{label}.{}", self.scheme, self.apps)
    }

    /// For the pages that show apps in frames.
    pub fn frame_source(&self) -> String {
        format!("{}://*.{}", self.scheme, self.apps)
    }

    /// Where somebody without a session is sent.
    pub fn way_in(&self, label: &Label, next: &str) -> String {
        let portal = self.portals.first().map_or("", String::as_str);
        format!("{portal}/open/{label}?next={}", escaped(next))
    }

    /// Routing is by the authority of the request: the `Host` of HTTP/1, the `:authority` of HTTP/2. Where both a header
    /// and an absolute address name a host they must agree; forwarding headers are not looked at.
    pub fn host_of(&self, version: Version, uri: &Uri, headers: &HeaderMap) -> Host {
        let mut hosts = headers.get_all(header::HOST).iter();
        let host = match (hosts.next(), hosts.next()) {
            (Some(host), None) => match host.to_str() {
                Ok(host) => Some(lower_case(host)),
                Err(_) => return Host::Unclear,
            },
            (None, _) => None,
            (Some(_), Some(_)) => return Host::Unclear,
        };
        let authority = uri.authority().map(|authority| lower_case(authority.as_str()));
        let named = match (host, authority) {
            (Some(host), Some(authority)) if host != authority => return Host::Unclear,
            (Some(host), _) => host,
            (None, Some(authority)) if version >= Version::HTTP_2 => authority,
            (None, _) => return Host::Unclear,
        };
        self.read(&named)
    }

    fn read(&self, named: &str) -> Host {
        let parts = named.split_once('.').filter(|(_, rest)| self.is_bare(rest));
        if let Some(label) = parts.and_then(|(label, _)| Label::parse(label)) {
            return Host::App(label);
        }
        // The parser of the rest of the program must agree that this is a host, and nothing but one.
        if named.contains('@') || named.parse::<Authority>().is_err() {
            return Host::Unclear;
        }
        let is_portal = |portal: &String| portal.split_once("://").is_some_and(|(_, own)| own == named);
        if self.portals.iter().any(is_portal) {
            return Host::Elsewhere;
        }
        // Written with a dot at its end it is the same name to DNS, and to nobody here.
        let absolute = named.split_once(':').map_or(named, |(host, _)| host).ends_with('.');
        if absolute {
            return Host::Nobody;
        }
        let Some((_, rest)) = named.split_once('.') else { return Host::Elsewhere };
        let below = |domain: &str| rest.strip_suffix(domain).is_some_and(|head| head.ends_with('.'));
        if self.is_bare(rest) || below(&self.apps) || below(&self.apps_with_port) || self.is_bare(named) {
            Host::Nobody
        } else {
            Host::Elsewhere
        }
    }

    /// A name as TLS knows it, which has no port.
    pub(crate) fn without_port(&self, name: &str) -> Host {
        let port = self.apps.split_once(':').map_or(String::new(), |(_, port)| format!(":{port}"));
        self.read(&format!("{name}{port}"))
    }

    /// The apps' domain itself, which is nobody's.
    fn is_bare(&self, named: &str) -> bool {
        named == self.apps || named == self.apps_with_port
    }
}

/// Nearly always it is already.
fn lower_case(host: &str) -> Cow<'_, str> {
    if host.bytes().any(|byte| byte.is_ascii_uppercase()) {
        Cow::Owned(host.to_ascii_lowercase())
    } else {
        Cow::Borrowed(host)
    }
}

/// Everything but what stands for itself in a query.
pub fn escaped(text: &str) -> String {
    use std::fmt::Write as _;
    text.bytes().fold(String::new(), |mut out, byte| {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~' | b'/') {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
        out
    })
}

/// A path to go on to: on this origin, and readable as nothing else. `//host` and `/\host` are addresses to a browser.
pub fn is_path(text: &str) -> bool {
    text.starts_with('/')
        && !text[1..].starts_with(['/', '\\'])
        && text.len() <= 2000
        && text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// G11: a policy names only what browsers can read in it; nobody is left means nobody may.
    #[test]
    fn frames_are_allowed_to_the_portals_that_a_policy_can_name() {
        let all = ["http://127.0.0.1:8080", "http://localhost:8080", "http://[::1]:8080"];
        let names = |portals: &[&str]| {
            Names::new(false, "apps.localhost:8080", portals.iter().map(ToString::to_string).collect())
        };
        assert_eq!(names(&all).frame_ancestors(), "http://127.0.0.1:8080 http://localhost:8080");
        assert_eq!(names(&all[2..]).frame_ancestors(), "'none'");
        assert_eq!(names(&[]).frame_ancestors(), "'none'");
    }

    /// G01: a name with a dot at its end is nobody's, the platform's own too.
    #[test]
    fn a_dot_at_the_end_leads_nowhere() {
        let names = Names::new(true, "apps.gpu.example.org", vec!["https://gpu.example.org".into()]);
        for name in [
            format!("{}.apps.gpu.example.org.", label()),
            "gpu.example.org.".into(),
            "gpu.example.org.:443".into(),
        ] {
            assert_eq!(names.read(&name), Host::Nobody, "{name}");
        }
        assert_eq!(names.read("gpu.example.org"), Host::Elsewhere);
        assert_eq!(names.without_port(&format!("{}.apps.gpu.example.org", label())), Host::App(label()));
    }

    fn label() -> Label {
        Label::new(&[7; 32])
    }

    fn names() -> Names {
        Names::new(false, "apps.localhost:8080", vec!["http://127.0.0.1:8080".into()])
    }

    fn host(names: &Names, uri: &str, hosts: &[&str]) -> Host {
        let mut headers = HeaderMap::new();
        for host in hosts {
            headers.append(header::HOST, host.parse().unwrap());
        }
        names.host_of(Version::HTTP_11, &uri.parse().unwrap(), &headers)
    }

    /// the platform's own pages may stand among the apps, so that both are one site.
    #[test]
    fn a_portal_below_the_apps_domain_is_the_platform_s() {
        let names =
            Names::new(false, "apps.localhost:8080", vec!["http://portal.apps.localhost:8080".into()]);
        assert_eq!(host(&names, "/", &["portal.apps.localhost:8080"]), Host::Elsewhere);
        assert_eq!(host(&names, "/", &["other.apps.localhost:8080"]), Host::Nobody);
    }

    /// G08: of all the ways to name a host only the exact one leads to an endpoint, whatever else the request says.
    #[test]
    fn only_the_exact_authority_leads_to_an_endpoint() {
        let (names, label) = (names(), label());
        let own = format!("{label}.apps.localhost:8080");
        assert_eq!(host(&names, "/", &[&own]), Host::App(label.clone()));
        assert_eq!(host(&names, "/", &[&own.to_uppercase()]), Host::App(label.clone()));
        assert_eq!(host(&names, &format!("http://{own}/x"), &[&own]), Host::App(label.clone()));
        for elsewhere in ["127.0.0.1:8080", "localhost:8080", "example.org", "[::1]:8080"] {
            assert_eq!(host(&names, "/", &[elsewhere]), Host::Elsewhere, "{elsewhere}");
        }
        let ends_with_more = format!("{own}.example.org");
        assert_eq!(host(&names, "/", &[&ends_with_more]), Host::Elsewhere);
        for nobody in [
            "apps.localhost:8080".to_owned(),
            format!("x.{own}"),
            format!("{label}x.apps.localhost:8080"),
            "www.apps.localhost:8080".to_owned(),
        ] {
            assert_eq!(host(&names, "/", &[&nobody]), Host::Nobody, "{nobody}");
        }
        for (uri, hosts) in [
            ("/", vec![own.as_str(), own.as_str()]),
            ("/", vec![own.as_str(), "127.0.0.1:8080"]),
            ("/", vec![]),
            ("http://127.0.0.1:8080/", vec![own.as_str()]),
            ("/", vec![&*Box::leak(format!("user@{own}").into_boxed_str())]),
            ("/", vec![&*Box::leak(format!("{own}/").into_boxed_str())]),
            ("/", vec![""]),
        ] {
            assert_eq!(host(&names, uri, &hosts), Host::Unclear, "{uri} {hosts:?}");
        }
        // Another port of the same name is another origin.
        assert_eq!(host(&names, "/", &[&format!("{label}.apps.localhost:9")]), Host::Elsewhere);
        assert_eq!(host(&names, "/", &[&format!("{label}.apps.localhost.")]), Host::Nobody);
    }

    #[test]
    fn a_scheme_s_own_port_may_be_left_out() {
        let names = Names::new(true, "apps.example.org", vec![]);
        let label = label();
        for own in [format!("{label}.apps.example.org"), format!("{label}.apps.example.org:443")] {
            assert_eq!(host(&names, "/", &[&own]), Host::App(label.clone()), "{own}");
        }
        assert_eq!(names.origin(&label), format!("https://{label}.apps.example.org"));
    }

    /// J-11: where to go on is a path here, never an address elsewhere.
    #[test]
    fn the_next_page_is_a_path_of_this_origin() {
        for good in ["/", "/lab?reset&x=1", "/a//b"] {
            assert!(is_path(good), "{good}");
        }
        for bad in [
            "",
            "lab",
            "//evil.example",
            "/\\evil.example",
            "https://evil.example",
            "/a b",
            "/a\r\nX: y",
            "/ä",
        ] {
            assert!(!is_path(bad), "{bad}");
        }
    }
}
