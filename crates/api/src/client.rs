//! A client of the contract, for the command line, the node agent and the tests.
//!
//! Laws: a mutation carries an `Idempotency-Key` made once and kept through its retries, so that a lost answer
//! never means a second effect; only failures that are known to be passing are retried; redirects are not
//! followed, because a credential must not travel to a place the caller did not name; the token is sent only to
//! the base URL it was given with.

use std::fmt::Display;
use std::sync::OnceLock;
use std::time::Duration;

use futures_util::Stream;
use gpuaas_domain::Secret;
use reqwest::header::{self, HeaderMap, HeaderValue};
use reqwest::{StatusCode, Url};
use ring::rand::SecureRandom as _;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::auth::{CreatedPersonalToken, NewPersonalToken};
use crate::envelope::{ErrorBody, ErrorDetail};
use crate::observe::Event;
use crate::{Method, Route};

mod connect;
mod error;
mod events;
mod lines;
mod tunnel;
#[cfg(test)]
mod tunnel_tests;
#[cfg(test)]
mod wire_tests;

pub use error::ClientError;
pub use tunnel::Tunnel;

use connect::{builder, no_tls, parse_base};

const MAX_RETRIES: u32 = 3;
/// A server that asks for more patience than this is better told to the caller than waited for.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(10);
pub struct ClientOptions {
    /// Scheme, host and port of the platform, such as `https://gpu.example.org`.
    pub base_url: String,
    pub token: Option<Secret<String>>,
    /// Certificates to trust besides the machine's own, as PEM.
    pub ca_pem: Option<Vec<u8>>,
    /// For one attempt of one call; streams have none.
    pub timeout: Duration,
}

/// Anything that serialises to a flat object can be a query; absent members are left out.
pub trait Query {
    fn pairs(&self) -> Vec<(String, String)>;
}

impl<T: Serialize> Query for T {
    fn pairs(&self) -> Vec<(String, String)> {
        let Ok(serde_json::Value::Object(members)) = serde_json::to_value(self) else { return Vec::new() };
        let text = |value| match value {
            serde_json::Value::Null => None,
            serde_json::Value::String(text) => Some(text),
            other => Some(other.to_string()),
        };
        members.into_iter().filter_map(|(name, value)| Some((name, text(value)?))).collect()
    }
}

/// What `probe` saw, whatever the status.
#[derive(Clone, Debug)]
pub struct Probe {
    pub status: u16,
    /// The `Date` header, to compare clocks.
    pub date: Option<String>,
    pub body: String,
}

pub struct Client {
    http: reqwest::Client,
    /// Made when the first tunnel is opened; see [`Client::open_tunnel`].
    sockets: OnceLock<reqwest::Client>,
    base: Url,
    ca_pem: Option<Vec<u8>>,
    token: Option<Secret<String>>,
    timeout: Duration,
    correlation_id: Option<String>,
}

/// One call, ready to be sent as often as it takes.
struct Prepared {
    method: Method,
    url: Url,
    accept: &'static str,
    content_type: &'static str,
    body: Option<Vec<u8>>,
    idempotency_key: Option<String>,
    correlation_id: String,
}

#[derive(Clone, Copy)]
enum Credential<'a> {
    None,
    Token,
    Cookie(&'a HeaderValue),
}

impl Client {
    pub fn new(options: ClientOptions) -> Result<Self, ClientError> {
        // Without a provider the TLS library panics; an Err only means that the program has chosen one already.
        drop(rustls::crypto::ring::default_provider().install_default());
        let ClientOptions { base_url, token, ca_pem, timeout } = options;
        let base = parse_base(&base_url)?;
        let http = builder(&base, ca_pem.as_deref())?.build().map_err(|source| no_tls(&source))?;
        Ok(Self { http, sockets: OnceLock::new(), base, ca_pem, token, timeout, correlation_id: None })
    }

    /// Every call from here on belongs to the story `id`; otherwise each call gets an id of its own.
    #[must_use]
    pub fn with_correlation_id(mut self, id: impl Into<String>) -> Self {
        self.correlation_id = Some(id.into());
        self
    }

    /// Scheme, host and port: what a browser would send as `Origin`.
    pub fn origin(&self) -> String {
        self.base.origin().ascii_serialization()
    }

    /// Calls a route and reads its answer. An empty answer (204) is read as `()`.
    ///
    /// Not an `async fn`, so that the borrowed parameters are used up before the first await and the future can
    /// move between threads.
    pub fn call<B, R>(
        &self,
        route: Route,
        parameters: &[&dyn Display],
        query: Option<&dyn Query>,
        body: Option<&B>,
    ) -> impl Future<Output = Result<R, ClientError>> + Send
    where
        B: Serialize + ?Sized,
        R: DeserializeOwned,
    {
        let prepared = self.prepare(route, parameters, query, body);
        async move {
            let prepared = prepared?;
            let (_, bytes) = self.send(&prepared, Credential::Token).await?;
            decode(&prepared, &bytes)
        }
    }

    /// Calls a route with a document that is sent as it is, under its own media type.
    pub fn call_with_document<R: DeserializeOwned>(
        &self,
        route: Route,
        parameters: &[&dyn Display],
        document: Vec<u8>,
        content_type: &'static str,
    ) -> impl Future<Output = Result<R, ClientError>> + Send {
        let prepared = self.prepare::<()>(route, parameters, None, None);
        async move {
            let prepared = Prepared { content_type, body: Some(document), ..prepared? };
            let (_, bytes) = self.send(&prepared, Credential::Token).await?;
            decode(&prepared, &bytes)
        }
    }

    /// Signs in with a password, leaves with a personal token, and ends the browser session it needed for that.
    pub async fn login(
        &self,
        email: &str,
        password: &Secret<String>,
        token: &NewPersonalToken,
    ) -> Result<CreatedPersonalToken, ClientError> {
        // The request type is made for reading only, so that no secret is ever serialised by accident.
        let body = serde_json::json!({"email": email, "password": password.expose()});
        let sign_in = self.prepare(Route::Login, &[], None, Some(&body))?;
        let (headers, _) = self.send(&sign_in, Credential::None).await?;
        let cookie = session_cookie(&headers).ok_or_else(|| ClientError::Unusable {
            what: "the server accepted the password but set no session cookie".into(),
        })?;
        let create = self.prepare(Route::TokenCreate, &[], None, Some(token))?;
        let created = self.send(&create, Credential::Cookie(&cookie)).await;
        let sign_out = self.prepare::<()>(Route::Logout, &[], None, None)?;
        // The session ends by itself; failing to end it early must not lose the token.
        drop(self.send(&sign_out, Credential::Cookie(&cookie)).await);
        decode(&create, &created?.1)
    }

    /// Asks once, without credential and without retry, and takes any status for an answer.
    pub async fn probe(&self, route: Route) -> Result<Probe, ClientError> {
        let prepared = self.prepare::<()>(route, &[], None, None)?;
        let transport = |source| transport(&prepared.url, source);
        let response = self
            .request(&prepared, Credential::None)
            .timeout(self.timeout)
            .send()
            .await
            .map_err(transport)?;
        let status = response.status().as_u16();
        let date = text_header(response.headers(), "date");
        let body = response.text().await.map_err(transport)?;
        Ok(Probe { status, date, body })
    }

    /// Events as they happen, from after `after` on, or only new ones. Comes back by itself after an interruption,
    /// without gap and without repetition; ends after an error that waiting does not mend.
    pub fn follow_events<'c>(
        &'c self,
        route: Route,
        parameters: &[&dyn Display],
        after: Option<i64>,
    ) -> impl Stream<Item = Result<Event, ClientError>> + Send + use<'c> {
        let query = crate::observe::FollowQuery { after };
        events::follow(self, self.prepare::<()>(route, parameters, Some(&query), None))
    }

    /// Answers that come line by line, such as logs, from the first to the last. An interruption is an error, because
    /// nobody can say here which lines were lost.
    pub fn lines<'c>(
        &'c self,
        route: Route,
        parameters: &[&dyn Display],
        query: Option<&dyn Query>,
    ) -> impl Stream<Item = Result<String, ClientError>> + Send + use<'c> {
        lines::read(self, self.prepare::<()>(route, parameters, query, None))
    }

    /// Opens one connection through the platform to a port of an instance.
    pub fn open_tunnel(
        &self,
        route: Route,
        parameters: &[&dyn Display],
        query: Option<&dyn Query>,
    ) -> impl Future<Output = Result<Tunnel, ClientError>> + Send {
        let prepared = self.prepare::<()>(route, parameters, query, None);
        async move { tunnel::open(self, &prepared?).await }
    }

    fn prepare<B: Serialize + ?Sized>(
        &self,
        route: Route,
        parameters: &[&dyn Display],
        query: Option<&dyn Query>,
        body: Option<&B>,
    ) -> Result<Prepared, ClientError> {
        let row = route.row();
        let method = row.method;
        let mut url = self.base.clone();
        url.set_path(&format!("{}{}", self.base.path().trim_end_matches('/'), route.path(parameters)));
        let pairs = query.map(Query::pairs).unwrap_or_default();
        if !pairs.is_empty() {
            url.query_pairs_mut().extend_pairs(pairs);
        }
        let body = body.map(serde_json::to_vec).transpose().map_err(|source| ClientError::Unusable {
            what: format!("the request cannot be written as JSON: {source}"),
        })?;
        Ok(Prepared {
            method,
            url,
            accept: if row.streaming { "text/event-stream" } else { "application/json" },
            content_type: "application/json",
            body,
            idempotency_key: method.is_mutation().then(random_hex),
            correlation_id: self.correlation_id.clone().unwrap_or_else(random_hex),
        })
    }

    fn request(&self, prepared: &Prepared, credential: Credential<'_>) -> reqwest::RequestBuilder {
        self.request_over(&self.http, prepared, credential)
    }

    fn request_over(
        &self,
        http: &reqwest::Client,
        prepared: &Prepared,
        credential: Credential<'_>,
    ) -> reqwest::RequestBuilder {
        let method = match prepared.method {
            Method::Get => reqwest::Method::GET,
            Method::Post => reqwest::Method::POST,
            Method::Put => reqwest::Method::PUT,
            Method::Patch => reqwest::Method::PATCH,
            Method::Delete => reqwest::Method::DELETE,
        };
        let mut request = http
            .request(method, prepared.url.clone())
            .header(header::ACCEPT, prepared.accept)
            .header("x-correlation-id", &prepared.correlation_id);
        if let Some(key) = &prepared.idempotency_key {
            request = request.header("idempotency-key", key);
        }
        if let Some(body) = &prepared.body {
            request = request.header(header::CONTENT_TYPE, prepared.content_type).body(body.clone());
        }
        match (credential, &self.token) {
            (Credential::Token, Some(token)) => request.bearer_auth(token.expose()),
            (Credential::Cookie(cookie), _) => {
                request.header(header::ORIGIN, self.origin()).header(header::COOKIE, cookie)
            }
            (Credential::None, _) | (Credential::Token, None) => request,
        }
    }

    /// Sends until there is an answer worth having, and keeps the successful ones.
    async fn send(
        &self,
        prepared: &Prepared,
        credential: Credential<'_>,
    ) -> Result<(HeaderMap, Vec<u8>), ClientError> {
        let mut retries = 0;
        let response = loop {
            let outcome = self.request(prepared, credential).timeout(self.timeout).send().await;
            let wait = if retries < MAX_RETRIES { patience(&outcome, retries) } else { None };
            match wait {
                Some(wait) => tokio::time::sleep(wait).await,
                None => break outcome.map_err(|source| transport(&prepared.url, source))?,
            }
            retries += 1;
        };
        let (status, headers) = (response.status(), response.headers().clone());
        let body = response.bytes().await.map_err(|source| transport(&prepared.url, source))?;
        if status.is_success() {
            return Ok((headers, body.to_vec()));
        }
        Err(refusal(status, &headers, &body, prepared))
    }
}

/// The first cookie's `name=value`, marked so that it is not printed.
fn session_cookie(headers: &HeaderMap) -> Option<HeaderValue> {
    let cookie = headers.get(header::SET_COOKIE)?.to_str().ok()?;
    let pair = cookie.split(';').next()?.trim();
    let mut value = HeaderValue::from_str(pair).ok()?;
    value.set_sensitive(true);
    pair.contains('=').then_some(value)
}

fn is_passing(status: StatusCode) -> bool {
    matches!(status.as_u16(), 429 | 502 | 503)
}

/// How long to wait before trying again, or `None` when trying again would not help.
fn patience(outcome: &Result<reqwest::Response, reqwest::Error>, retries: u32) -> Option<Duration> {
    match outcome {
        Err(error) => error.is_connect().then(|| backoff(retries)),
        Ok(response) if is_passing(response.status()) => match retry_after(response.headers()) {
            Some(asked) => (asked <= MAX_RETRY_AFTER).then_some(asked),
            None => Some(backoff(retries)),
        },
        Ok(_) => None,
    }
}

fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    text_header(headers, "retry-after")?.trim().parse().ok().map(Duration::from_secs)
}

/// Doubling from 200 ms to 6.4 s, between half and one and a half times that, so that clients do not march in step.
fn backoff(tries: u32) -> Duration {
    let base = 200_u64 << tries.min(5);
    Duration::from_millis(base / 2 + base * u64::from(random::<1>()[0]) / 256)
}

fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    ring::rand::SystemRandom::new().fill(&mut bytes).expect("the operating system gives random bytes");
    bytes
}

fn random_hex() -> String {
    gpuaas_domain::chain::hex(&random::<16>())
}

fn text_header(headers: &HeaderMap, name: &str) -> Option<String> {
    headers.get(name)?.to_str().ok().map(str::to_owned)
}

fn transport(url: &Url, source: reqwest::Error) -> ClientError {
    ClientError::Transport { url: url.origin().ascii_serialization(), source: source.without_url() }
}

fn decode<R: DeserializeOwned>(prepared: &Prepared, bytes: &[u8]) -> Result<R, ClientError> {
    let bytes = if bytes.is_empty() { b"null".as_slice() } else { bytes };
    serde_json::from_slice(bytes).map_err(|source| ClientError::Decode {
        url: prepared.url.to_string(),
        correlation_id: prepared.correlation_id.clone(),
        source,
    })
}

/// The platform's own words, or words about whatever stood in its place (a proxy, another service).
fn refusal(status: StatusCode, headers: &HeaderMap, body: &[u8], prepared: &Prepared) -> ClientError {
    let detail = serde_json::from_slice::<ErrorBody>(body).map_or_else(
        |_| ErrorDetail {
            code: format!("http_{}", status.as_u16()),
            message: format!("{} answered {status} without the platform's error body.", prepared.url.path()),
            params: std::collections::BTreeMap::default(),
            correlation_id: text_header(headers, "x-correlation-id")
                .unwrap_or_else(|| prepared.correlation_id.clone()),
            fields: Vec::new(),
        },
        |body| body.error,
    );
    ClientError::Api { status: status.as_u16(), detail: Box::new(detail) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client() -> Client {
        let timeout = Duration::from_secs(1);
        Client::new(ClientOptions {
            base_url: "http://localhost:1/base/".into(),
            token: None,
            ca_pem: None,
            timeout,
        })
        .unwrap()
    }

    #[test]
    fn a_mutation_carries_a_key_and_a_read_does_not() {
        let client = client();
        let query = crate::envelope::PageQuery { limit: Some(5), cursor: None };
        let read = client.prepare::<()>(Route::TenantList, &[], Some(&query), None).unwrap();
        assert_eq!(read.url.as_str(), "http://localhost:1/base/api/v1/tenants?limit=5");
        assert_eq!(read.idempotency_key, None);
        let write = client.prepare::<()>(Route::TenantDelete, &[&"t"], None, None).unwrap();
        assert_eq!(write.idempotency_key.as_ref().map(String::len), Some(32));
        assert_eq!(client.origin(), "http://localhost:1");
    }

    #[test]
    fn an_answer_from_something_else_is_still_an_error_with_an_id() {
        let prepared = client().prepare::<()>(Route::Whoami, &[], None, None).unwrap();
        let error = refusal(StatusCode::BAD_GATEWAY, &HeaderMap::new(), b"<html>", &prepared);
        let ClientError::Api { status: 502, detail } = error else { panic!("{error}") };
        assert_eq!((detail.code.as_str(), &detail.correlation_id), ("http_502", &prepared.correlation_id));
        decode::<()>(&prepared, b"").unwrap();
    }

    #[test]
    fn the_session_cookie_is_the_first_pair_only() {
        let mut headers = HeaderMap::new();
        assert!(session_cookie(&headers).is_none());
        headers.insert(header::SET_COOKIE, HeaderValue::from_static("__Host-s=abc; Path=/; HttpOnly"));
        let cookie = session_cookie(&headers).unwrap();
        assert_eq!(cookie, "__Host-s=abc");
        assert!(cookie.is_sensitive());
    }

    #[test]
    fn waiting_grows_and_stays_bounded() {
        for tries in 0..40 {
            let wait = backoff(tries);
            assert!(wait >= Duration::from_millis(100) && wait <= Duration::from_secs(10), "{wait:?}");
        }
    }
}
