//! A registry that speaks the OCI distribution protocol, seen from a client that trusts none of its words.
//!
//! The registry's word decides where an upload goes, but never to another host: what we send was meant for this
//! registry. Redirects are followed for reading only; to other hosts only if the settings say so, never from https to
//! http, and never with credentials (`auth`). Everything that comes is bounded in size and time and checked against
//! its digest. What may pass (no connection, 429, 5xx) is tried again. The road not taken is the client of the HTTP
//! library's own redirects: they decide by host what we decide by origin and purpose.

mod auth;
mod blob;
mod challenge;
mod error;
mod manifests;
mod pull;
mod push;
mod referrers;
mod source;

use std::collections::HashMap;
use std::future::Future;
use std::sync::Mutex;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use reqwest::header::{AUTHORIZATION, CONTENT_LENGTH, HeaderName, HeaderValue, LOCATION};
use reqwest::{Method, Response, StatusCode, Url};

pub use auth::{Credentials, TokenRealm};
pub use blob::Mounted;
pub(crate) use challenge::Scope;
pub use error::ClientError;
pub use manifests::{FetchedManifest, ManifestHead, Pointer, PutManifest};
pub use pull::BlobReader;
pub use push::Pushed;
pub use source::{BlobSource, Progress};

use crate::{Host, Name, Repository};

const MOST_REDIRECTS: usize = 3;
/// What a registry says about a refusal: enough for a person.
const MAX_REFUSAL_BYTES: usize = 4 * 1024;
const REFUSAL_LETTERS: usize = 500;

/// How patient and how trusting a client is.
#[derive(Clone, Debug)]
pub struct Settings {
    pub connect_timeout: Duration,
    /// For an answer to a request without a body; a body gets a second more per `slowest_bytes_per_second`.
    pub answer_timeout: Duration,
    pub slowest_bytes_per_second: u64,
    /// Between two pieces of an answer.
    pub stall_timeout: Duration,
    pub attempts: u32,
    pub first_pause: Duration,
    /// A blob up to this size goes in one request; a larger one in pieces that can be taken up again.
    pub monolithic_bytes: u64,
    pub chunk_bytes: u64,
    /// Roots to trust beside the system's, in PEM.
    pub extra_ca_pem: Option<String>,
    /// Token servers that are not the registry itself.
    pub token_realms: Vec<TokenRealm>,
    pub redirects: Redirects,
}

/// Where a registry may send a reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Redirects {
    /// The same scheme, host and port. A registry cannot point us at other machines of our network.
    SameOrigin,
    /// Blobs may come from anywhere, asked without credentials: for registries on object storage.
    BlobsFromAnywhere,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(5),
            answer_timeout: Duration::from_secs(30),
            slowest_bytes_per_second: 256 * 1024,
            stall_timeout: Duration::from_secs(30),
            attempts: 5,
            first_pause: Duration::from_millis(100),
            monolithic_bytes: 8 * 1024 * 1024,
            chunk_bytes: 8 * 1024 * 1024,
            extra_ca_pem: None,
            token_realms: Vec::new(),
            redirects: Redirects::SameOrigin,
        }
    }
}

/// A registry and who we are to it.
pub struct Registry {
    http: reqwest::Client,
    base: Url,
    host: Option<Host>,
    credentials: Option<Credentials>,
    tokens: Mutex<HashMap<Scope, HeaderValue>>,
    settings: Settings,
}

type Result<T> = std::result::Result<T, ClientError>;

/// A request. Its body is in memory, so it can be sent again.
struct Ask {
    method: Method,
    url: Url,
    scope: Scope,
    headers: Vec<(HeaderName, HeaderValue)>,
    body: Option<Bytes>,
    follow: Follow,
}

/// Which redirects of an answer are followed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Follow {
    Never,
    AtHome,
    /// As the settings have it.
    Blob,
}

impl Ask {
    fn new(method: Method, url: Url, scope: Scope) -> Self {
        let follow =
            if method == Method::GET || method == Method::HEAD { Follow::AtHome } else { Follow::Never };
        Self { method, url, scope, headers: Vec::new(), body: None, follow }
    }

    fn header(mut self, name: HeaderName, value: &str) -> Result<Self> {
        let value = HeaderValue::from_str(value)
            .map_err(|_| ClientError::Unusable { what: format!("{value:?} fits no {name} header") })?;
        self.headers.push((name, value));
        Ok(self)
    }

    fn body(mut self, body: Bytes) -> Self {
        self.body = Some(body);
        self
    }
}

impl Registry {
    /// `base_url` is scheme, host and port: `http://127.0.0.1:5000`.
    pub fn new(base_url: &str) -> Result<Self> {
        Self::with(base_url, None, Settings::default())
    }

    pub fn with(base_url: &str, credentials: Option<Credentials>, settings: Settings) -> Result<Self> {
        let unusable =
            |why: &str| ClientError::Unusable { what: format!("{base_url} is no registry: {why}") };
        let base = Url::parse(base_url).map_err(|error| unusable(&error.to_string()))?;
        if !matches!(base.scheme(), "http" | "https") || base.host_str().is_none() {
            return Err(unusable("it must be http:// or https:// and a host"));
        }
        if !base.username().is_empty() || base.password().is_some() {
            return Err(ClientError::Unusable {
                what: "credentials do not belong into an address".to_owned(),
            });
        }
        if base.path() != "/" || base.query().is_some() || base.fragment().is_some() {
            return Err(unusable("it must end after host and port"));
        }
        // Without a provider the TLS library panics; an Err only means that the program has chosen one already.
        drop(rustls::crypto::ring::default_provider().install_default());
        let mut builder = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .referer(false)
            .connect_timeout(settings.connect_timeout)
            .user_agent(concat!("gpuaas-oci/", env!("CARGO_PKG_VERSION")));
        if base.scheme() == "http" {
            // A proxy has no business between us and loopback.
            builder = builder.no_proxy();
        }
        let leaves_plain = settings.redirects == Redirects::BlobsFromAnywhere
            || settings.token_realms.iter().any(|realm| realm.url.starts_with("https:"));
        if base.scheme() == "http" && !leaves_plain {
            // No certificate will be checked; a machine without any roots can still use it.
            builder = builder.tls_certs_only([]);
        } else if let Some(pem) = &settings.extra_ca_pem {
            let roots = reqwest::Certificate::from_pem_bundle(pem.as_bytes())
                .map_err(|error| unusable(&error.to_string()))?;
            builder = builder.tls_certs_merge(roots);
        }
        let http = builder.build().map_err(|error| unusable(&error.to_string()))?;
        let host = base.host_str().and_then(|host| {
            let port = base.port().map_or(String::new(), |port| format!(":{port}"));
            format!("{host}{port}").parse().ok()
        });
        Ok(Self { http, base, host, credentials, tokens: Mutex::default(), settings })
    }

    /// `host/repository`, as a signature names it.
    pub fn name(&self, repository: &Repository) -> Result<Name> {
        let host = self.host.clone().ok_or_else(|| ClientError::Unusable {
            what: format!("{} is no host that a reference can name", self.base),
        })?;
        Ok(Name { host, repository: repository.clone() })
    }

    /// The parts are of types that hold nothing which changes a path.
    fn url(&self, repository: &Repository, rest: &str) -> Url {
        let mut url = self.base.clone();
        url.set_path(&format!("/v2/{repository}/{rest}"));
        url
    }

    /// An address that the registry gave, if it is the registry's own.
    fn at_home(&self, answer: &Response, location: &str) -> Result<Url> {
        let bad = |why| ClientError::BadAnswer { url: plain(answer.url()), why };
        let url = answer.url().join(location).map_err(|_| bad("its Location is no address"))?;
        if url.origin() != self.base.origin() || !url.username().is_empty() || url.password().is_some() {
            return Err(ClientError::OtherHost { url: url.origin().ascii_serialization() });
        }
        Ok(url)
    }

    /// An answer of one of these kinds.
    async fn ask(&self, ask: &Ask, good: &[StatusCode]) -> Result<Response> {
        let mut response = self.ask_as_known(ask).await?;
        let status = response.status();
        if good.contains(&status) {
            return Ok(response);
        }
        let url = plain(&ask.url);
        if status.is_redirection() {
            let to = response.headers().get(LOCATION).and_then(|to| to.to_str().ok());
            let to = to.and_then(|to| response.url().join(to).ok());
            return Err(ClientError::OtherHost { url: to.map_or("nowhere".to_owned(), |to| plain(&to)) });
        }
        if status == StatusCode::NOT_FOUND {
            return Err(ClientError::NotFound { url });
        }
        let body = read_limited(self, &mut response, MAX_REFUSAL_BYTES).await.unwrap_or_default();
        let body = String::from_utf8_lossy(&body);
        let body = body.trim().chars().map(|letter| if letter.is_control() { ' ' } else { letter });
        Err(ClientError::Refused { url, status: status.as_u16(), body: body.take(REFUSAL_LETTERS).collect() })
    }

    /// Asks with what we have; if the registry wants a proof, asks once more with it.
    async fn ask_as_known(&self, ask: &Ask) -> Result<Response> {
        let known = self.known_authorization(&ask.scope);
        let response = self.ask_following(ask, known.as_ref()).await?;
        if response.status() != StatusCode::UNAUTHORIZED {
            return Ok(response);
        }
        // Only the registry's own question is answered, not one of a host it redirected to.
        if response.url().origin() != self.base.origin() {
            return Err(ClientError::Unauthorized { url: plain(response.url()), had_credentials: false });
        }
        let proof = self.answer_challenge(&response, &ask.scope).await?;
        let response = self.ask_following(ask, Some(&proof)).await?;
        if response.status() == StatusCode::UNAUTHORIZED {
            let had_credentials = self.credentials.is_some();
            return Err(ClientError::Unauthorized { url: plain(&ask.url), had_credentials });
        }
        Ok(response)
    }

    async fn ask_following(&self, ask: &Ask, proof: Option<&HeaderValue>) -> Result<Response> {
        let mut url = ask.url.clone();
        let mut at_home = true;
        for _ in 0..=MOST_REDIRECTS {
            let mut request = self.http.request(ask.method.clone(), url.clone());
            for (name, value) in &ask.headers {
                request = request.header(name, value);
            }
            // Who has left the registry once stays a stranger, also when sent back.
            if let (true, Some(proof)) = (at_home, proof) {
                request = request.header(AUTHORIZATION, proof);
            }
            let length = ask.body.as_ref().map_or(0, Bytes::len);
            if let Some(body) = &ask.body {
                request = request.header(CONTENT_LENGTH, length).body(body.clone());
            }
            let response = self.in_time(&url, length, request.send()).await?.map_err(|source| {
                ClientError::Unreachable { url: plain(&url), source: source.without_url() }
            })?;
            let location = response.headers().get(LOCATION).and_then(|to| to.to_str().ok());
            let Some(to) = location.filter(|_| response.status().is_redirection()) else {
                return Ok(response);
            };
            let to = url.join(to).map_err(|_| ClientError::BadAnswer {
                url: plain(&url),
                why: "its Location is no address",
            })?;
            at_home &= self.may_follow(ask, &url, &to)?;
            url = to;
        }
        Err(ClientError::TooManyRedirects { url: plain(&ask.url) })
    }

    /// Whether the next address is the registry's own.
    fn may_follow(&self, ask: &Ask, from: &Url, to: &Url) -> Result<bool> {
        let other = || ClientError::OtherHost { url: to.origin().ascii_serialization() };
        if ask.follow == Follow::Never || !to.username().is_empty() || to.password().is_some() {
            return Err(other());
        }
        if from.scheme() == "https" && to.scheme() != "https" {
            return Err(ClientError::Downgrade { url: to.origin().ascii_serialization() });
        }
        let at_home = to.origin() == self.base.origin();
        let anywhere = ask.follow == Follow::Blob && self.settings.redirects == Redirects::BlobsFromAnywhere;
        if at_home || (anywhere && matches!(to.scheme(), "http" | "https")) {
            Ok(at_home)
        } else {
            Err(other())
        }
    }

    async fn in_time<T>(&self, url: &Url, body_bytes: usize, work: impl Future<Output = T>) -> Result<T> {
        let for_body = Duration::from_secs(body_bytes as u64 / self.settings.slowest_bytes_per_second.max(1));
        let limit = self.settings.answer_timeout + for_body;
        let late = |_| ClientError::TimedOut { url: plain(url), seconds: limit.as_secs() };
        tokio::time::timeout(limit, work).await.map_err(late)
    }

    /// The next piece of an answer, or none at its end.
    async fn next_piece(&self, answer: &mut Response) -> Result<Option<Bytes>> {
        let url = plain(answer.url());
        let seconds = self.settings.stall_timeout.as_secs();
        match tokio::time::timeout(self.settings.stall_timeout, answer.chunk()).await {
            Ok(Ok(piece)) => Ok(piece),
            Ok(Err(source)) => Err(ClientError::BrokenOff { url, source: Some(source.without_url()) }),
            Err(_) => Err(ClientError::TimedOut { url, seconds }),
        }
    }

    async fn retrying<T, F: Future<Output = Result<T>>>(&self, mut attempt: impl FnMut() -> F) -> Result<T> {
        let mut pause = self.settings.first_pause;
        for _ in 1..self.settings.attempts {
            match attempt().await {
                Err(error) if error.may_pass() => tokio::time::sleep(pause).await,
                settled => return settled,
            }
            pause *= 2;
        }
        attempt().await
    }
}

/// A whole answer of at most so many bytes.
async fn read_limited(registry: &Registry, answer: &mut Response, most: usize) -> Result<Bytes> {
    let too_large = |answer: &Response| ClientError::TooLarge { url: plain(answer.url()), most: most as u64 };
    if answer.content_length().is_some_and(|length| length > most as u64) {
        return Err(too_large(answer));
    }
    let mut bytes = BytesMut::new();
    while let Some(piece) = registry.next_piece(answer).await? {
        if bytes.len() + piece.len() > most {
            return Err(too_large(answer));
        }
        bytes.extend_from_slice(&piece);
    }
    Ok(bytes.freeze())
}

/// Without query and user: an upload's state is long, a signed address is a key, and neither is a reader's business.
fn plain(url: &Url) -> String {
    format!("{}{}", url.origin().ascii_serialization(), url.path())
}

#[cfg(test)]
mod stub;
#[cfg(test)]
mod tests;
