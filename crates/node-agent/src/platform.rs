//! The node's calls of the platform's API, with its own token, renewed before it ends.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use gpuaas_agent_protocol::inventory::NodeInventory;
use gpuaas_agent_protocol::report::NodeReport;
use gpuaas_agent_protocol::task::Trust;
use gpuaas_api::agent::{
    ImageAccess, ImageAccessRequest, JoinRequest, Joined, NODE_TOKEN_AUDIENCE, NodeToken, NodeTokenRequest,
};
use gpuaas_api::envelope::ErrorBody;
use gpuaas_api::own_instance::{IdentityGranted, IdentityRequest};
use gpuaas_domain::Secret;
use gpuaas_domain::machine_token::{Assertion, sign_node_assertion};
use gpuaas_tunnel::PinMismatch;
use reqwest::{Method, Url, header};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::identity::{Identity, NodeKey};
use crate::pinned::{Pin, pinned_tls};
use crate::seams::RelayedCall;
use crate::wall_clock::{Clock, random_text};

const TIMEOUT: Duration = Duration::from_secs(20);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// An answer to a node is small.
const MAX_ANSWER: usize = 1024 * 1024;
const ASSERTION_SECONDS: i64 = 60;

/// Why a call did not work out, sorted by what to do about it.
#[derive(Debug)]
pub enum CallError {
    /// No answer: try again later.
    Unreachable(String),
    /// Whoever answers is not the platform this node joined.
    Untrusted(String),
    /// The platform does not take this node's proof: it was revoked or forgotten.
    NotANode(String),
    /// The platform answered, and the answer is no.
    Refused { status: u16, code: String, message: String },
    /// An answer that is not of this API.
    Unreadable(String),
}

impl std::fmt::Display for CallError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unreachable(what) => write!(f, "the platform does not answer: {what}"),
            Self::Untrusted(what) => write!(f, "whoever answers is not the platform: {what}"),
            Self::NotANode(what) => write!(f, "the platform does not take this node: {what}"),
            Self::Refused { status, code, message } => write!(f, "{status} {code}: {message}"),
            Self::Unreadable(what) => write!(f, "the platform's answer cannot be read: {what}"),
        }
    }
}

impl std::error::Error for CallError {}

/// A token, and when to get the next one.
struct Held {
    token: Arc<Secret<String>>,
    renew_at: Instant,
}

pub struct Platform {
    http: reqwest::Client,
    base: Url,
    identity: Identity,
    key: Arc<NodeKey>,
    clock: Arc<dyn Clock>,
    held: Mutex<Option<Held>>,
}

fn builder() -> reqwest::ClientBuilder {
    reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
        .referer(false)
        .https_only(true)
        .connect_timeout(CONNECT_TIMEOUT)
        .timeout(TIMEOUT)
        .user_agent(concat!("gpuaas-agent/", env!("CARGO_PKG_VERSION")))
}

/// `https://host[:port]`: the only kind of address a node calls.
pub fn parse_server_url(text: &str) -> Result<Url, String> {
    let url = Url::parse(text).map_err(|error| error.to_string())?;
    let bare = url.username().is_empty() && url.password().is_none() && url.query().is_none();
    if url.scheme() != "https" || !url.has_host() || !bare || url.fragment().is_some() || url.path() != "/" {
        return Err("write it like https://gpu.example.org:8443, nothing after the port".to_owned());
    }
    Ok(url)
}

/// Asks to become a node. The server is believed if it holds the pinned CA key, and the CA it hands out is that one.
pub async fn join(server: &Url, pin: &Pin, request: &JoinRequest) -> Result<Joined, CallError> {
    let tls = pinned_tls(pin).map_err(|error| CallError::Untrusted(error.to_string()))?;
    let http = builder().tls_backend_preconfigured(tls).build().map_err(|error| unreachable(&error))?;
    let joined: Joined =
        send(&http, Method::POST, at(server, "/api/v1/nodes/join"), None, Some(request)).await?;
    if Pin::of_pem(&joined.ca_pem).as_ref() != Some(pin) {
        return Err(CallError::Untrusted("it hands out a CA other than the pinned one".to_owned()));
    }
    Ok(joined)
}

impl Platform {
    pub fn new(identity: Identity, key: Arc<NodeKey>, clock: Arc<dyn Clock>) -> Result<Self, CallError> {
        let base = parse_server_url(&identity.server_url).map_err(CallError::Unreadable)?;
        let roots = reqwest::Certificate::from_pem_bundle(identity.ca_pem.as_bytes())
            .map_err(|error| CallError::Untrusted(error.to_string()))?;
        let http = builder().tls_certs_only(roots).build().map_err(|error| unreachable(&error))?;
        Ok(Self { http, base, identity, key, clock, held: Mutex::new(None) })
    }

    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// A token that is good for a while yet.
    pub async fn token(&self) -> Result<Arc<Secret<String>>, CallError> {
        let mut held = self.held.lock().await;
        if let Some(held) = held.as_ref().filter(|held| Instant::now() < held.renew_at) {
            return Ok(held.token.clone());
        }
        let asked = Instant::now();
        let body = NodeTokenRequest { assertion: self.assertion() };
        let url = at(&self.base, "/api/v1/auth/node/token");
        let answer: NodeToken = match send(&self.http, Method::POST, url, None, Some(&body)).await {
            Ok(answer) => answer,
            Err(CallError::Refused { status: 401 | 403 | 404 | 410, code, message }) => {
                *held = None;
                return Err(CallError::NotANode(format!("{code}: {message}")));
            }
            Err(error) => return Err(error),
        };
        // At three quarters of its life, counted from before it was asked for.
        let life = Duration::from_secs(u64::from(answer.expires_in));
        let token = Arc::new(Secret::new(answer.access_token));
        *held = Some(Held { token: token.clone(), renew_at: asked + life * 3 / 4 });
        Ok(token)
    }

    /// Forgets a token that was refused, so that the next call gets another.
    pub async fn drop_token(&self, refused: &Arc<Secret<String>>) {
        let mut held = self.held.lock().await;
        if held.as_ref().is_some_and(|held| Arc::ptr_eq(&held.token, refused)) {
            *held = None;
        }
    }

    pub async fn trust(&self) -> Result<Trust, CallError> {
        self.call::<(), _>(Method::GET, "/api/v1/node/trust", None).await
    }

    pub async fn put_inventory(&self, inventory: &NodeInventory) -> Result<(), CallError> {
        self.call(Method::PUT, "/api/v1/node/inventory", Some(inventory)).await
    }

    pub async fn report(&self, report: &NodeReport) -> Result<(), CallError> {
        self.call(Method::POST, "/api/v1/node/reports", Some(report)).await
    }

    pub async fn image_access(&self, request: &ImageAccessRequest) -> Result<ImageAccess, CallError> {
        self.call(Method::POST, "/api/v1/node/image-access", Some(request)).await
    }

    /// Shows the public half of the key of one launch of an instance.
    pub async fn show_key(
        &self,
        instance: uuid::Uuid,
        generation: u64,
        public_key: &str,
    ) -> Result<IdentityGranted, CallError> {
        let generation = i64::try_from(generation).unwrap_or(i64::MAX);
        let body = IdentityRequest { generation, public_key: public_key.to_owned() };
        self.call(Method::POST, &format!("/api/v1/node/instances/{instance}/identity"), Some(&body)).await
    }

    /// Passes on what an app says, with the app's own token: the node's never goes with the words of others.
    pub async fn relay(&self, call: &RelayedCall) -> Result<(u16, Bytes), CallError> {
        let mut request = self
            .http
            .request(call.method.clone(), at(&self.base, &call.path))
            .header(header::ACCEPT, "application/json")
            .header("x-correlation-id", random_text::<16>());
        if let Some(bearer) = &call.bearer {
            request = request.bearer_auth(bearer.expose());
        }
        if let Some(key) = &call.idempotency_key {
            request = request.header("idempotency-key", key);
        }
        if !call.body.is_empty() {
            request = request.header(header::CONTENT_TYPE, "application/json").body(call.body.clone());
        }
        let mut response = request.send().await.map_err(|error| unreachable(&error))?;
        let bytes = collect(&mut response).await?;
        Ok((response.status().as_u16(), bytes.into()))
    }

    async fn call<B: Serialize + Sync, R: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: Option<&B>,
    ) -> Result<R, CallError> {
        let url = at(&self.base, path);
        let token = self.token().await?;
        match send(&self.http, method.clone(), url.clone(), Some(&token), body).await {
            Err(CallError::Refused { status: 401, .. }) => {
                self.drop_token(&token).await;
                let token = self.token().await?;
                send(&self.http, method, url, Some(&token), body).await
            }
            answer => answer,
        }
    }

    fn assertion(&self) -> String {
        let (node, now) = (self.identity.node_id, self.clock.now().unix_seconds());
        let assertion = Assertion {
            iss: node,
            sub: node,
            aud: NODE_TOKEN_AUDIENCE.to_owned(),
            jti: random_text::<16>(),
            iat: now,
            exp: now + ASSERTION_SECONDS,
        };
        sign_node_assertion(self.key.pair(), &assertion)
    }
}

fn at(base: &Url, path: &str) -> Url {
    let mut url = base.clone();
    url.set_path(path);
    url
}

async fn send<B: Serialize, R: DeserializeOwned>(
    http: &reqwest::Client,
    method: Method,
    url: Url,
    token: Option<&Secret<String>>,
    body: Option<&B>,
) -> Result<R, CallError> {
    let mut request = http
        .request(method.clone(), url)
        .header(header::ACCEPT, "application/json")
        .header("x-correlation-id", random_text::<16>());
    if method != Method::GET {
        request = request.header("idempotency-key", random_text::<16>());
    }
    if let Some(token) = token {
        request = request.bearer_auth(token.expose());
    }
    if let Some(body) = body {
        request = request.json(body);
    }
    let mut response = request.send().await.map_err(|error| unreachable(&error))?;
    let status = response.status();
    let bytes = collect(&mut response).await?;
    if status.is_success() {
        let text: &[u8] = if bytes.is_empty() { b"null" } else { &bytes };
        return serde_json::from_slice(text).map_err(|error| CallError::Unreadable(error.to_string()));
    }
    let (code, message) = serde_json::from_slice::<ErrorBody>(&bytes).map_or_else(
        |_| (format!("http_{}", status.as_u16()), "without the platform's error body".to_owned()),
        |body| (body.error.code, body.error.message),
    );
    Err(CallError::Refused { status: status.as_u16(), code, message })
}

async fn collect(response: &mut reqwest::Response) -> Result<Vec<u8>, CallError> {
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| unreachable(&error))? {
        if bytes.len() + chunk.len() > MAX_ANSWER {
            return Err(CallError::Unreadable(format!("it has more than {MAX_ANSWER} bytes")));
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
}

/// Sorted by who is at fault: a certificate that does not fit is no outage.
fn unreachable(error: &reqwest::Error) -> CallError {
    let mut cause: &(dyn std::error::Error + 'static) = error;
    loop {
        match cause.downcast_ref::<rustls::Error>() {
            Some(rustls::Error::InvalidCertificate(rustls::CertificateError::Other(other)))
                if other.0.is::<PinMismatch>() =>
            {
                return CallError::Untrusted(other.0.to_string());
            }
            Some(verdict @ rustls::Error::InvalidCertificate(_)) => {
                return CallError::Untrusted(verdict.to_string());
            }
            Some(_) | None => {}
        }
        match inner(cause) {
            Some(inner) => cause = inner,
            None => return CallError::Unreachable(cause.to_string()),
        }
    }
}

/// An I/O error that wraps another does not name it as its source, but the source of that.
fn inner<'e>(cause: &'e (dyn std::error::Error + 'static)) -> Option<&'e (dyn std::error::Error + 'static)> {
    let wrapped = cause.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
    match wrapped {
        Some(wrapped) => Some(wrapped),
        None => cause.source(),
    }
}

#[cfg(test)]
mod tests;
