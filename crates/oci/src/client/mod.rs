//! A registry that speaks the OCI distribution protocol, seen from a client that trusts none of its words.
//!
//! The registry's word decides where an upload goes, but never to another host: what we send was meant for this
//! registry. Redirects are followed for reading only; to other hosts only if the settings say so, never from https to
//! http, and never with credentials (`auth`). Everything that comes is bounded in size and time and checked against
//! its digest. What may pass (no connection, 429, 5xx) is tried again. The road not taken is the client of the HTTP
//! library's own redirects: they decide by host what we decide by origin and purpose.

mod ask;
mod auth;
mod blob;
mod error;
mod manifests;
mod pull;
mod push;
mod referrers;
mod scope;
mod source;

use std::collections::HashMap;
use std::future::Future;
use std::sync::Mutex;
use std::time::Duration;

use reqwest::header::HeaderValue;
use reqwest::{Response, Url};

use ask::{Ask, Follow, read_limited};
pub use auth::{Credentials, Renewal, TokenRealm, TokenSource};
pub use blob::{BlobHead, Mounted};
pub use error::ClientError;
pub use manifests::{FetchedManifest, ManifestHead, Pointer, PutManifest};
pub use pull::BlobReader;
pub use push::Pushed;
pub(crate) use scope::Scope;
pub use source::{BlobSource, Progress};

use crate::{Host, Name, Repository};

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
    /// What references call the registry where that is another host than the one we reach it at.
    pub known_as: Option<Host>,
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
            known_as: None,
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

impl Registry {
    /// `base_url` is scheme, host and port: `http://127.0.0.1:5000`.
    pub fn new(base_url: &str) -> Result<Self> {
        Self::with(base_url, None, Settings::default())
    }

    pub fn with(base_url: &str, credentials: Option<Credentials>, settings: Settings) -> Result<Self> {
        let base = parse_base(base_url)?;
        let unusable = |why: &str| no_registry(base_url, why);
        // A colon ends the name in the header, so the rest would become the password.
        if let Some(Credentials::Password { user, .. }) = &credentials
            && (user.contains(':') || user.chars().any(char::is_control))
        {
            return Err(ClientError::Unusable { what: format!("{user:?} is no name to sign in with") });
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
        Ok(Self::at(base, http, credentials, settings))
    }

    /// Over connections that the caller keeps for many registries or identities. The HTTP client must follow no
    /// redirects by itself; whom it trusts and how it connects is its own affair, whatever the settings say.
    pub fn over(
        http: reqwest::Client,
        base_url: &str,
        credentials: Option<Credentials>,
        settings: Settings,
    ) -> Result<Self> {
        Ok(Self::at(parse_base(base_url)?, http, credentials, settings))
    }

    fn at(base: Url, http: reqwest::Client, credentials: Option<Credentials>, settings: Settings) -> Self {
        let host = base.host_str().and_then(|host| {
            let port = base.port().map_or(String::new(), |port| format!(":{port}"));
            format!("{host}{port}").parse().ok()
        });
        Self { http, base, host, credentials, tokens: Mutex::default(), settings }
    }

    /// `host/repository`, as a signature names it.
    pub fn name(&self, repository: &Repository) -> Result<Name> {
        let host = self.settings.known_as.as_ref().or(self.host.as_ref());
        let host = host.cloned().ok_or_else(|| ClientError::Unusable {
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

fn no_registry(base_url: &str, why: &str) -> ClientError {
    ClientError::Unusable { what: format!("{base_url} is no registry: {why}") }
}

fn parse_base(base_url: &str) -> Result<Url> {
    let unusable = |why: &str| no_registry(base_url, why);
    let base = Url::parse(base_url).map_err(|error| unusable(&error.to_string()))?;
    if !matches!(base.scheme(), "http" | "https") || base.host_str().is_none() {
        return Err(unusable("it must be http:// or https:// and a host"));
    }
    if !base.username().is_empty() || base.password().is_some() {
        return Err(ClientError::Unusable { what: "credentials do not belong into an address".to_owned() });
    }
    if base.path() != "/" || base.query().is_some() || base.fragment().is_some() {
        return Err(unusable("it must end after host and port"));
    }
    Ok(base)
}

/// Without query and user: an upload's state is long, a signed address is a key, and neither is a reader's business.
fn plain(url: &Url) -> String {
    format!("{}{}", url.origin().ascii_serialization(), url.path())
}

#[cfg(test)]
pub(crate) mod stub;
#[cfg(test)]
mod tests;
