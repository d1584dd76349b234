//! How somebody comes in: a code that becomes a session, a token in a header, and the way back after signing in.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use gpuaas_domain::Secret;
use http_body_util::{Either, Full};
use hyper::body::Incoming;
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::{Method, Request, Response, StatusCode, Uri};

use crate::live::{Peer, Served};
use crate::names::is_path;
use crate::pages::Instead;
use crate::{Body, ENTER_PATH, Ends, Gateway, OWN_PATH, cookies, guard};

/// How tokens of endpoints begin.
const TOKEN_PREFIX: &str = "gpue_";

impl Gateway {
    /// The gateway's own paths: a code becomes a session, and the address loses the code.
    pub(crate) async fn own_page(
        &self,
        request: &Request<Incoming>,
        served: &Served,
    ) -> Result<Response<Body>, Ends> {
        if request.uri().path() != ENTER_PATH {
            return Err(Instead::NoSuchApp.into());
        }
        if *request.method() != Method::GET {
            return Err(Instead::MethodNotAllowed.into());
        }
        // A page may send somebody here; a script, an image or a worker may not.
        if request.headers().contains_key("sec-fetch-mode") && !guard::is_navigation(request.headers()) {
            return Err(Instead::CrossOrigin.into());
        }
        let (code, next) = read_query(request.uri().query().unwrap_or_default());
        let (code, next) = (code.ok_or(Instead::CodeSpent)?, next.unwrap_or_else(|| "/".to_owned()));
        if !is_path(&next) || next.starts_with(OWN_PATH) {
            return Err(Instead::BadRequest.into());
        }
        let entered = self.live.enter(served, &code, peer(request)).await;
        let entered = entered.map_err(|refused| Instead::unasked(refused, Instead::CodeSpent))?;
        let mut response = Response::new(Either::Left(Full::default()));
        *response.status_mut() = StatusCode::SEE_OTHER;
        let headers = response.headers_mut();
        let cookie = cookies::ours(&self.cookie_name, entered.cookie.expose(), entered.ends_in.as_secs());
        headers.insert(header::SET_COOKIE, cookie.ok_or(Instead::Unavailable)?);
        headers.insert(header::LOCATION, HeaderValue::from_str(&next).map_err(|_| Instead::BadRequest)?);
        served.shield.to_browser_own(headers);
        Ok(response)
    }
}

pub(crate) fn peer(request: &Request<Incoming>) -> Option<Peer> {
    request.extensions().get().copied()
}

/// Where to come back to after signing in.
pub(crate) fn next_page(method: &Method, uri: &Uri) -> String {
    let path = uri.path_and_query().map_or("/", hyper::http::uri::PathAndQuery::as_str);
    if *method == Method::GET && is_path(path) && !path.starts_with(OWN_PATH) {
        path.to_owned()
    } else {
        "/".to_owned()
    }
}

/// What `Authorization` holds.
pub(crate) enum Authorization {
    Absent,
    /// A token of an endpoint.
    Token(Secret<String>),
    /// Something else; it is never ours, and where a cookie opens it ends here.
    Other,
}

pub(crate) fn authorization(headers: &HeaderMap) -> Result<Authorization, Ends> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let Some(value) = values.next() else { return Ok(Authorization::Absent) };
    if values.next().is_some() {
        return Err(Instead::BadRequest.into());
    }
    let mut words = value.to_str().unwrap_or_default().split_ascii_whitespace();
    let token = match (words.next(), words.next(), words.next()) {
        (Some(scheme), Some(token), None) if scheme.eq_ignore_ascii_case("bearer") => token,
        _ => return Ok(Authorization::Other),
    };
    if token.starts_with(TOKEN_PREFIX) {
        return Ok(Authorization::Token(Secret::new(token.to_owned())));
    }
    // What opens the platform is not shown to an app, not even to one that is open to everybody.
    if is_ours(token) { Err(Instead::InvalidToken.into()) } else { Ok(Authorization::Other) }
}

/// Any credential of the platform: `gpu?_…`, or a token whose header says that we signed it.
fn is_ours(token: &str) -> bool {
    let opaque = token.strip_prefix("gpu").is_some_and(|rest| rest.get(1..2) == Some("_"));
    let header = token.split_once('.').and_then(|(header, _)| URL_SAFE_NO_PAD.decode(header).ok());
    opaque || header.is_some_and(|header| header.windows(8).any(|part| part == b"\"gpuaas-"))
}

/// `code=…&next=…`, percent-decoded.
fn read_query(query: &str) -> (Option<String>, Option<String>) {
    let find = |wanted: &str| {
        let mut found =
            query.split('&').filter_map(|pair| pair.split_once('=')).filter(|(name, _)| *name == wanted);
        match (found.next(), found.next()) {
            (Some((_, value)), None) => decoded(value),
            _ => None,
        }
    };
    (find("code"), find("next"))
}

fn decoded(text: &str) -> Option<String> {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            out.push(byte);
            continue;
        }
        let digits = [bytes.next()?, bytes.next()?];
        out.push(u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?);
    }
    String::from_utf8(out).ok()
}
