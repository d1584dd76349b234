//! What people see while there is no app to show: one page, no script, refreshing itself where waiting helps. Programs get
//! the platform's error envelope instead.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use gpuaas_domain::access::{EndpointRoute, Label};
use gpuaas_domain::lifecycle::Status;
use http_body_util::Full;
use hyper::header::{self, HeaderValue};
use hyper::{Response, StatusCode};

use crate::guard::Reader;
use crate::live::Refused;
use crate::names::Names;

/// Why there is no answer of the app.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instead {
    BadRequest,
    NoSuchApp,
    /// Sign in, or open the app from the platform's pages.
    SessionRequired,
    InvalidToken,
    CodeSpent,
    CrossOrigin,
    ServiceWorker,
    Starting,
    Stopped,
    Failed,
    Gone,
    /// It runs, and does not answer.
    NotAnswering,
    NodeAway,
    TooMany,
    /// One address asks for too much that nobody knows.
    TooOften,
    TooLarge,
    MethodNotAllowed,
    VersionNotSupported,
    /// The platform cannot say at the moment who may come in.
    Unavailable,
}

struct Words {
    status: StatusCode,
    code: &'static str,
    title: &'static str,
    says: &'static str,
    /// Seconds after which the page asks again.
    refresh: Option<u32>,
}

impl Instead {
    /// What a visitor is told when the platform said no, or was not asked.
    pub(crate) fn unasked(refused: Refused, no: Self) -> Self {
        match refused {
            Refused::No => no,
            Refused::Unavailable => Self::Unavailable,
            Refused::TooOften => Self::TooOften,
        }
    }

    /// What a state that is not running means to a visitor.
    pub fn of(route: &EndpointRoute) -> Option<Self> {
        if route.decommissioned {
            return Some(Self::Gone);
        }
        match route.status {
            Status::Running => None,
            Status::Created | Status::Starting => Some(Self::Starting),
            Status::Stopping | Status::Stopped => Some(Self::Stopped),
            Status::Failed => Some(Self::Failed),
        }
    }

    fn words(self) -> Words {
        use StatusCode as S;
        let words = |status, code, title, says, refresh| Words { status, code, title, says, refresh };
        match self {
            Self::BadRequest => words(
                S::BAD_REQUEST,
                "bad_request",
                "This request cannot be read",
                "The request says two things at once, or nothing.",
                None,
            ),
            Self::NoSuchApp => words(
                S::NOT_FOUND,
                "not_found",
                "There is no app here",
                "The address may be mistyped, or the app was removed.",
                None,
            ),
            Self::SessionRequired => words(
                S::UNAUTHORIZED,
                "app_session_required",
                "Open the app from the platform",
                "Your session with this app has ended, or it never began.",
                None,
            ),
            Self::InvalidToken => words(
                S::UNAUTHORIZED,
                "invalid_token",
                "This token does not open the app",
                "The token is not this endpoint's, has expired or was revoked; make a new one.",
                None,
            ),
            Self::CodeSpent => words(
                S::UNAUTHORIZED,
                "invalid_code",
                "This link was used before",
                "Such a link is good once and for a minute. Open the app again.",
                None,
            ),
            Self::CrossOrigin => words(
                S::FORBIDDEN,
                "cross_origin",
                "Another page asked for this",
                "Only the app's own pages may do that with your session.",
                None,
            ),
            Self::Starting => words(
                S::SERVICE_UNAVAILABLE,
                "app_starting",
                "The app is starting",
                "This page shows it as soon as it is ready.",
                Some(2),
            ),
            Self::Stopped => words(
                S::SERVICE_UNAVAILABLE,
                "app_stopped",
                "The app is stopped",
                "Start it again from the platform; this page then shows it.",
                Some(10),
            ),
            Self::Failed => words(
                S::SERVICE_UNAVAILABLE,
                "app_failed",
                "The app has failed",
                "The platform's page of the app says why and lets you start it again.",
                Some(10),
            ),
            Self::Gone => words(
                S::GONE,
                "app_gone",
                "The app is gone",
                "It was decommissioned. Launch a new one from the catalog.",
                None,
            ),
            Self::NotAnswering => words(
                S::BAD_GATEWAY,
                "app_not_answering",
                "The app does not answer",
                "It runs but took no connection. Its logs may say why.",
                Some(3),
            ),
            Self::NodeAway => words(
                S::BAD_GATEWAY,
                "node_unreachable",
                "The app's node is away",
                "The node has no connection to the platform at the moment. The app may go on running there.",
                Some(5),
            ),
            Self::TooMany => words(
                S::SERVICE_UNAVAILABLE,
                "too_many_connections",
                "The app has too many visitors",
                "Its limit of connections is reached; try again in a moment.",
                Some(5),
            ),
            Self::ServiceWorker => words(
                S::FORBIDDEN,
                "service_worker_not_allowed",
                "Apps have no service workers here",
                "A worker would stand between its visitors and the gateway.",
                None,
            ),
            Self::TooOften => words(
                S::TOO_MANY_REQUESTS,
                "too_many_requests",
                "Too many tries from your address",
                "Wait a moment, then try again.",
                Some(5),
            ),
            Self::TooLarge => words(
                S::PAYLOAD_TOO_LARGE,
                "body_too_large",
                "This is too large",
                "The app takes smaller requests only.",
                None,
            ),
            Self::MethodNotAllowed => words(
                S::METHOD_NOT_ALLOWED,
                "method_not_allowed",
                "This method is not passed on",
                "CONNECT and TRACE end here.",
                None,
            ),
            Self::VersionNotSupported => words(
                S::HTTP_VERSION_NOT_SUPPORTED,
                "version_not_supported",
                "This client is too old",
                "Use HTTP/1.1 or HTTP/2.",
                None,
            ),
            Self::Unavailable => words(
                S::SERVICE_UNAVAILABLE,
                "unavailable",
                "The platform is busy",
                "It cannot say at the moment who may come in; try again.",
                Some(3),
            ),
        }
    }
}

const STYLE: &str = ":root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;margin:0;min-height:100vh;display:grid;\
place-items:center;background:Canvas;color:CanvasText}main{max-width:32rem;padding:2rem;text-align:center}h1{font-size:1.4rem;\
margin:0 0 .5rem}p{margin:.25rem 0 1.25rem;opacity:.8}a{display:inline-block;padding:.5rem 1.1rem;border:1px solid;border-radius:.5rem;\
color:inherit;text-decoration:none}a:focus-visible{outline:3px solid Highlight;outline-offset:2px}small{display:block;margin-top:1.5rem;opacity:.6}";

/// Makes the answers that are not the app's.
pub(crate) struct Pages {
    names: Names,
    policy: String,
}

impl Pages {
    pub(crate) fn new(names: &Names) -> Self {
        let hash = STANDARD.encode(ring::digest::digest(&ring::digest::SHA256, STYLE.as_bytes()));
        let ancestors = names.frame_ancestors();
        let policy = format!(
            "default-src 'none'; style-src 'sha256-{hash}'; base-uri 'none'; form-action 'none'; frame-ancestors {ancestors}"
        );
        Self { names: names.clone(), policy }
    }

    /// A redirect for a person at the front door, a page for one inside, an envelope for a program.
    pub(crate) fn answer(
        &self,
        instead: Instead,
        reader: Reader,
        place: Option<(&Label, &str)>,
        route: Option<&EndpointRoute>,
    ) -> Response<Full<Bytes>> {
        let words = instead.words();
        if let (Instead::SessionRequired, Some((label, next))) = (instead, place)
            && reader == Reader::Person
        {
            let mut redirect = Response::new(Full::default());
            *redirect.status_mut() = StatusCode::SEE_OTHER;
            if let Ok(to) = HeaderValue::from_str(&self.names.way_in(label, next)) {
                redirect.headers_mut().insert(header::LOCATION, to);
            }
            self.finish(&mut redirect, None);
            return redirect;
        }
        let (kind, body) = match reader {
            Reader::Person | Reader::Framed => ("text/html; charset=utf-8", self.page(&words, place, route)),
            Reader::Program => ("application/json", envelope(&words)),
        };
        let mut response = Response::new(Full::from(body));
        *response.status_mut() = words.status;
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
        if words.status == StatusCode::UNAUTHORIZED {
            response
                .headers_mut()
                .insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"endpoint\""));
        }
        self.finish(&mut response, words.refresh);
        response
    }

    fn finish(&self, response: &mut Response<Full<Bytes>>, refresh: Option<u32>) {
        let headers = response.headers_mut();
        if let Ok(policy) = HeaderValue::from_str(&self.policy) {
            headers.insert(header::CONTENT_SECURITY_POLICY, policy);
        }
        if let Some(seconds) = refresh {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
            headers.insert(header::REFRESH, HeaderValue::from(seconds));
        }
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
        if self.names.is_secure() {
            headers.insert(header::STRICT_TRANSPORT_SECURITY, HeaderValue::from_static("max-age=31536000"));
        }
    }

    fn page(&self, words: &Words, place: Option<(&Label, &str)>, route: Option<&EndpointRoute>) -> String {
        let portal = self.names.portals().first().map_or("/", String::as_str);
        // Who has no session is not told what the app is called.
        let (target, action) = match (route, place) {
            (Some(route), _) => {
                (format!("{portal}/workloads/instance/{}", route.instance_id), "Go to the app's page")
            }
            (None, Some((label, next))) => (self.names.way_in(label, next), "Open the app"),
            (None, None) => (format!("{portal}/"), "Go to the platform"),
        };
        let name =
            route.map(|route| format!("<small>{}</small>", text(&route.instance_name))).unwrap_or_default();
        format!(
            "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\
             <title>{title}</title><style>{STYLE}</style></head><body><main role=\"status\"><h1>{title}</h1><p>{says}</p>\
             <a href=\"{target}\" target=\"_top\" rel=\"noopener\">{action}</a>{name}</main></body></html>",
            title = words.title,
            says = words.says,
            target = text(&target),
        )
    }
}

fn text(raw: &str) -> String {
    raw.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// The platform's error envelope. Every word of it is ours.
fn envelope(words: &Words) -> String {
    format!(
        "{{\"error\":{{\"code\":\"{}\",\"message\":\"{}. {}\",\"params\":{{}},\"fields\":[]}}}}",
        words.code, words.title, words.says
    )
}
