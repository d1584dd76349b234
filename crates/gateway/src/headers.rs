//! What headers go on to the app, and what comes back. Functions on headers, in this order: hop-by-hop out, what only we
//! may say out, ours in last.

use gpuaas_domain::manifest::{EndpointPolicy, Frame};
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::{HeaderMap, Method, Version};

use crate::names::Names;

/// Headers of one connection, not of the message (RFC 9110, 7.6.1), and those that old programs treat so.
const HOP_BY_HOP: [HeaderName; 9] = [
    header::CONNECTION,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    header::PROXY_AUTHENTICATE,
    header::PROXY_AUTHORIZATION,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
];

/// What programs believe about where a request comes from. Only we know.
const FORWARDING: [&str; 17] = [
    "forwarded",
    "via",
    "x-real-ip",
    "client-ip",
    "x-client-ip",
    "x-cluster-client-ip",
    "x-originating-ip",
    "true-client-ip",
    "cf-connecting-ip",
    "fastly-client-ip",
    "remote-user",
    "x-host",
    "x-http-host-override",
    "x-rewrite-url",
    "x-http-method",
    "x-http-method-override",
    "x-method-override",
];

/// What tells an app who is there.
pub(crate) const IDENTITY: HeaderName = HeaderName::from_static("x-gpuaas-identity");
const FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");
const FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");

/// Why a request is not even looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Malformed {
    Method,
    Version,
    Connection,
    Length,
    Upgrade,
}

/// What our own parser lets pass and another one might read differently.
pub(crate) fn check(method: &Method, version: Version, headers: &HeaderMap) -> Result<(), Malformed> {
    if matches!(*method, Method::CONNECT | Method::TRACE) {
        return Err(Malformed::Method);
    }
    if version < Version::HTTP_11 {
        return Err(Malformed::Version);
    }
    let count = |name: &HeaderName| headers.get_all(name).iter().count();
    if count(&header::CONTENT_LENGTH) > 1 || count(&header::TRANSFER_ENCODING) > 1 {
        return Err(Malformed::Length);
    }
    if headers.contains_key(header::TRANSFER_ENCODING) {
        let only_chunked = headers[header::TRANSFER_ENCODING]
            .to_str()
            .is_ok_and(|value| value.eq_ignore_ascii_case("chunked"));
        if !only_chunked || headers.contains_key(header::CONTENT_LENGTH) {
            return Err(Malformed::Length);
        }
    }
    let unreadable = |value: &HeaderValue| value.to_str().is_err();
    if headers.get_all(header::CONNECTION).iter().any(unreadable) {
        return Err(Malformed::Connection);
    }
    Ok(())
}

/// Whether this asks for a WebSocket; `Err` where it asks for one in a way that two readers could read differently.
pub(crate) fn socket_wanted(
    method: &Method,
    version: Version,
    headers: &HeaderMap,
) -> Result<bool, Malformed> {
    let mut upgrades = headers.get_all(header::UPGRADE).iter();
    let Some(upgrade) = upgrades.next() else { return Ok(false) };
    let named = upgrade.to_str().is_ok_and(|value| value.eq_ignore_ascii_case("websocket"));
    if !named || version != Version::HTTP_11 {
        // Some other protocol: not offered, so it is an ordinary request, and the header goes with the others.
        return if upgrades.next().is_none() { Ok(false) } else { Err(Malformed::Upgrade) };
    }
    let once = |name: &HeaderName| headers.get_all(name).iter().count() == 1;
    let has_body = headers.contains_key(header::TRANSFER_ENCODING)
        || headers.get(header::CONTENT_LENGTH).is_some_and(|length| length != "0");
    let clean = upgrades.next().is_none()
        && *method == Method::GET
        && listed(headers).any(|name| name.eq_ignore_ascii_case("upgrade"))
        && once(&header::SEC_WEBSOCKET_KEY)
        && once(&header::SEC_WEBSOCKET_VERSION)
        && headers[header::SEC_WEBSOCKET_VERSION] == "13"
        && !has_body;
    if clean { Ok(true) } else { Err(Malformed::Upgrade) }
}

/// What `Connection` names.
fn listed(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    headers
        .get_all(header::CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(str::trim)
}

fn remove_hop_by_hop(headers: &mut HeaderMap) {
    // What frames the message is not the sender's to take away; and what goes anyway need not be named.
    let stays = ["content-length", "host", "keep-alive", "upgrade"];
    let named: Vec<HeaderName> = listed(headers)
        .filter(|name| !stays.iter().any(|stays| name.eq_ignore_ascii_case(stays)))
        .filter_map(|name| HeaderName::try_from(name).ok())
        .collect();
    for name in named {
        headers.remove(name);
    }
    for name in &HOP_BY_HOP {
        headers.remove(name);
    }
}

/// What only we may say to an app.
fn is_ours_to_say(name: &str) -> bool {
    name.starts_with("x-forwarded-")
        || name.starts_with("x-gpuaas-")
        || name.starts_with("x-original-")
        || name.starts_with("x-remote-")
        || name.starts_with("proxy-")
        || FORWARDING.contains(&name)
        // Many programs read `x_forwarded_for` as `x-forwarded-for`.
        || name.contains('_')
}

/// The request's headers as the app gets them.
pub(crate) struct Outgoing<'r> {
    pub(crate) names: &'r Names,
    /// What is left of the cookies.
    pub(crate) cookie: Option<HeaderValue>,
    /// Who is there, signed.
    pub(crate) identity: Option<HeaderValue>,
    /// The app does its own signing in, so a header that is not ours is the app's.
    pub(crate) keep_authorization: bool,
    pub(crate) socket: bool,
}

pub(crate) fn to_app(headers: &mut HeaderMap, out: Outgoing<'_>) {
    remove_hop_by_hop(headers);
    let strange: Vec<HeaderName> =
        headers.keys().filter(|name| is_ours_to_say(name.as_str())).cloned().collect();
    for name in strange {
        headers.remove(name);
    }
    headers.remove(header::COOKIE);
    headers.remove(header::EXPECT);
    if !out.keep_authorization {
        headers.remove(header::AUTHORIZATION);
    }
    if let Some(host) = headers.get(header::HOST).cloned() {
        headers.insert(FORWARDED_HOST, host);
    }
    headers.insert(FORWARDED_PROTO, HeaderValue::from_static(out.names.scheme()));
    if let Some(cookie) = out.cookie {
        headers.insert(header::COOKIE, cookie);
    }
    if let Some(identity) = out.identity {
        headers.insert(IDENTITY, identity);
    }
    if out.socket {
        headers.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
        headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
    }
}

/// What an app may not say to a browser: it is ours to say, or it reaches beyond the app's own origin.
const NOT_THE_APP_S: [HeaderName; 11] = [
    HeaderName::from_static("service-worker-allowed"),
    header::X_FRAME_OPTIONS,
    header::STRICT_TRANSPORT_SECURITY,
    HeaderName::from_static("clear-site-data"),
    HeaderName::from_static("report-to"),
    HeaderName::from_static("reporting-endpoints"),
    HeaderName::from_static("nel"),
    header::ALT_SVC,
    HeaderName::from_static("public-key-pins"),
    HeaderName::from_static("origin-trial"),
    HeaderName::from_static("document-isolation-policy"),
];

const COOP: HeaderName = HeaderName::from_static("cross-origin-opener-policy");
const CORP: HeaderName = HeaderName::from_static("cross-origin-resource-policy");
const AGENT_CLUSTER: HeaderName = HeaderName::from_static("origin-agent-cluster");

/// What every answer of one endpoint carries, made once.
#[derive(Clone, Debug)]
pub(crate) struct Shield {
    content_policy: HeaderValue,
    own_content_policy: Option<HeaderValue>,
    secure: bool,
}

impl Shield {
    pub(crate) fn new(names: &Names, policy: &EndpointPolicy) -> Self {
        let ancestors = match policy.frame {
            Frame::Portal => names.frame_ancestors(),
            Frame::Nobody => "'none'".to_owned(),
        };
        let text = format!("frame-ancestors {ancestors}; base-uri 'self'; form-action 'self'");
        Self {
            content_policy: HeaderValue::from_str(&text)
                .unwrap_or_else(|_| HeaderValue::from_static("frame-ancestors 'none'")),
            own_content_policy: policy
                .content_security_policy
                .as_deref()
                .and_then(|policy| HeaderValue::from_str(policy).ok()),
            secure: names.is_secure(),
        }
    }

    /// The answer's headers as the browser gets them. Policies add up in a browser, so ours can only make it tighter.
    pub(crate) fn to_browser(&self, headers: &mut HeaderMap) {
        // Two lengths: the coding was believed, so the other one lies.
        if headers.contains_key(header::TRANSFER_ENCODING) {
            headers.remove(header::CONTENT_LENGTH);
        }
        remove_hop_by_hop(headers);
        let strange: Vec<HeaderName> = headers
            .keys()
            .filter(|name| {
                let name = name.as_str();
                let for_stores = name.ends_with("cdn-cache-control") || name == "surrogate-control";
                name.starts_with("x-gpuaas-") || name.starts_with("proxy-") || for_stores
            })
            .cloned()
            .collect();
        for name in strange.iter().chain(&NOT_THE_APP_S) {
            headers.remove(name);
        }
        if headers.contains_key(header::SET_COOKIE) {
            let kept: Vec<HeaderValue> =
                headers.get_all(header::SET_COOKIE).iter().filter_map(crate::cookies::confine).collect();
            headers.remove(header::SET_COOKIE);
            for cookie in kept {
                headers.append(header::SET_COOKIE, cookie);
            }
        }
        self.set_policies(headers);
        headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
        headers.insert(COOP, HeaderValue::from_static("same-origin"));
        headers.insert(CORP, HeaderValue::from_static("same-origin"));
        headers.insert(AGENT_CLUSTER, HeaderValue::from_static("?1"));
        if self.secure {
            headers.insert(header::STRICT_TRANSPORT_SECURITY, HeaderValue::from_static("max-age=31536000"));
        }
        keep_private(headers);
    }

    /// For the gateway's own answers at this endpoint: nothing of the app is in them.
    pub(crate) fn to_browser_own(&self, headers: &mut HeaderMap) {
        headers.insert(header::CONTENT_SECURITY_POLICY, self.content_policy.clone());
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
        headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    }

    fn set_policies(&self, headers: &mut HeaderMap) {
        // The app's own stay, but for the one directive that is ours: it would lock out the pages that show the app.
        let kept: Vec<HeaderValue> = headers
            .get_all(header::CONTENT_SECURITY_POLICY)
            .iter()
            .filter_map(without_frame_ancestors)
            .collect();
        headers.insert(header::CONTENT_SECURITY_POLICY, self.content_policy.clone());
        for policy in kept.into_iter().chain(self.own_content_policy.clone()) {
            headers.append(header::CONTENT_SECURITY_POLICY, policy);
        }
    }
}

/// `None` where nothing is left. What cannot be read is kept: a policy too many is no harm.
fn without_frame_ancestors(value: &HeaderValue) -> Option<HeaderValue> {
    let Ok(text) = value.to_str() else { return Some(value.clone()) };
    if !text.to_ascii_lowercase().contains("frame-ancestors") {
        return Some(value.clone());
    }
    let policies: Vec<String> = text
        .split(',')
        .map(|policy| {
            let directives = policy.split(';').map(str::trim).filter(|directive| {
                let name = directive.split_ascii_whitespace().next().unwrap_or_default();
                !name.is_empty() && !name.eq_ignore_ascii_case("frame-ancestors")
            });
            directives.collect::<Vec<_>>().join("; ")
        })
        .filter(|policy| !policy.is_empty())
        .collect();
    if policies.is_empty() {
        return None;
    }
    Some(HeaderValue::from_str(&policies.join(", ")).unwrap_or_else(|_| value.clone()))
}

/// No store between us and the browser may keep what one person saw.
fn keep_private(headers: &mut HeaderMap) {
    // Said twice is said together, and what cannot be read says nothing.
    let said: Vec<&str> =
        headers.get_all(header::CACHE_CONTROL).iter().filter_map(|value| value.to_str().ok()).collect();
    let said = said.join(",");
    let mut kept: Vec<&str> = said
        .split(',')
        .map(str::trim)
        .filter(|part| {
            let part = part.to_ascii_lowercase();
            !part.is_empty() && part != "public" && part != "private" && !part.starts_with("s-maxage")
        })
        .collect();
    if !kept.iter().any(|part| part.eq_ignore_ascii_case("no-store")) {
        kept.insert(0, "private");
    }
    let value = HeaderValue::from_str(&kept.join(", ")).unwrap_or(HeaderValue::from_static("no-store"));
    headers.insert(header::CACHE_CONTROL, value);
}

#[cfg(test)]
mod tests;
