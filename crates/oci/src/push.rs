//! Pushes an image to a registry: every blob that is not there yet, then the manifest under its digest, then its tag.
//!
//! The registry's word decides where an upload goes, but never to another host: what we send was meant for this
//! registry. What may pass (no connection, 429, 5xx) is tried again from the question whether it is there already, so a
//! half-finished upload costs time and nothing else. No credentials yet: the registry it talks to is on loopback.

use std::error::Error as StdError;
use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use reqwest::header::{CONTENT_LENGTH, CONTENT_TYPE, LOCATION};
use reqwest::{Method, RequestBuilder, Response, StatusCode, Url};

use crate::{Blob, Digest, Image, MANIFEST_TYPE};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// For a request without a body; a body gets a second more per `SLOWEST_BYTES_PER_SECOND`.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);
const SLOWEST_BYTES_PER_SECOND: u64 = 256 * 1024;
const ATTEMPTS: u32 = 5;
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const MOST_REDIRECTS: usize = 3;

/// A registry that speaks the OCI distribution protocol.
pub struct Registry {
    http: reqwest::Client,
    base: Url,
}

/// What a push did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pushed {
    pub digest: Digest,
    /// Blobs that were sent; the others were there.
    pub uploaded: usize,
}

#[derive(Debug)]
pub enum PushError {
    /// The address, repository or tag cannot be used.
    Unusable { what: String },
    /// No answer, although asked several times.
    Unreachable { url: String, source: reqwest::Error },
    /// An answer that is not the one the protocol promises.
    Refused { url: String, status: u16, body: String },
    /// The registry sends us to another host.
    OtherHost { url: String },
    /// The registry names the manifest by another digest than ours.
    OtherDigest { ours: Digest, theirs: String },
}

impl fmt::Display for PushError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unusable { what } => f.write_str(what),
            Self::Unreachable { url, .. } => write!(f, "{url} cannot be reached"),
            Self::Refused { url, status, body } if body.is_empty() => write!(f, "{url} answered {status}"),
            Self::Refused { url, status, body } => write!(f, "{url} answered {status}: {body}"),
            Self::OtherHost { url } => write!(f, "the registry points to another host: {url}"),
            Self::OtherDigest { ours, theirs } => {
                write!(f, "the registry names the manifest {theirs}, but it is {ours}")
            }
        }
    }
}

impl StdError for PushError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match self {
            Self::Unreachable { source, .. } => Some(source),
            Self::Unusable { .. }
            | Self::Refused { .. }
            | Self::OtherHost { .. }
            | Self::OtherDigest { .. } => None,
        }
    }
}

impl PushError {
    fn may_pass(&self) -> bool {
        match self {
            Self::Unreachable { .. } => true,
            Self::Refused { status, .. } => matches!(status, 408 | 429 | 500 | 502 | 503 | 504),
            Self::Unusable { .. } | Self::OtherHost { .. } | Self::OtherDigest { .. } => false,
        }
    }
}

type Result<T> = std::result::Result<T, PushError>;

impl Registry {
    /// `base_url` is scheme, host and port: `http://127.0.0.1:5000`.
    pub fn new(base_url: &str) -> Result<Self> {
        let unusable = |why: &str| PushError::Unusable { what: format!("{base_url} is no registry: {why}") };
        let base = Url::parse(base_url).map_err(|error| unusable(&error.to_string()))?;
        if !matches!(base.scheme(), "http" | "https") || base.host_str().is_none() {
            return Err(unusable("it must be http:// or https:// and a host"));
        }
        if base.path() != "/" || base.query().is_some() || base.fragment().is_some() {
            return Err(unusable("it must end after host and port"));
        }
        if !base.username().is_empty() || base.password().is_some() {
            return Err(unusable("credentials do not belong into an address"));
        }
        // Without a provider the TLS library panics; an Err only means that the program has chosen one already.
        drop(rustls::crypto::ring::default_provider().install_default());
        let home = base.clone();
        let same_host = reqwest::redirect::Policy::custom(move |attempt| {
            if attempt.previous().len() <= MOST_REDIRECTS && attempt.url().origin() == home.origin() {
                attempt.follow()
            } else {
                attempt.stop()
            }
        });
        let mut builder = reqwest::Client::builder()
            .redirect(same_host)
            .connect_timeout(CONNECT_TIMEOUT)
            .user_agent(concat!("gpuaas-oci/", env!("CARGO_PKG_VERSION")));
        if base.scheme() == "http" {
            // No certificate will be checked, and a proxy has no business between us and loopback.
            builder = builder.tls_certs_only([]).no_proxy();
        }
        let http = builder.build().map_err(|error| unusable(&error.to_string()))?;
        Ok(Self { http, base })
    }

    /// Whether the registry holds this manifest.
    pub async fn exists(&self, repository: &str, digest: &Digest) -> Result<bool> {
        let url = self.url(repository, &format!("manifests/{digest}"))?;
        retrying(|| self.is_there(&url)).await
    }

    /// Makes sure that the registry holds the image under its digest, and under `tag` if there is one.
    pub async fn push(&self, repository: &str, image: &Image, tag: Option<&str>) -> Result<Pushed> {
        let by_digest = self.url(repository, &format!("manifests/{}", image.digest()))?;
        let by_tag = match tag {
            Some(tag) if !is_tag(tag) => {
                return Err(PushError::Unusable { what: format!("{tag:?} is no tag") });
            }
            Some(tag) => Some(self.url(repository, &format!("manifests/{tag}"))?),
            None => None,
        };
        let mut uploaded = 0;
        for blob in image.blobs() {
            if retrying(|| self.ensure_blob(repository, blob)).await? {
                uploaded += 1;
            }
        }
        for url in [Some(by_digest), by_tag].into_iter().flatten() {
            retrying(|| self.put_manifest(&url, &image.manifest)).await?;
        }
        Ok(Pushed { digest: image.digest().clone(), uploaded })
    }

    /// True if it had to be sent.
    async fn ensure_blob(&self, repository: &str, blob: &Blob) -> Result<bool> {
        if self.is_there(&self.url(repository, &format!("blobs/{}", blob.digest))?).await? {
            return Ok(false);
        }
        let start = self.url(repository, "blobs/uploads/")?;
        let request = self.request(Method::POST, &start, 0).header(CONTENT_LENGTH, 0);
        let answer = send(&start, request, &[StatusCode::ACCEPTED]).await?;
        let mut target = self.upload_target(&start, &answer)?;
        target.query_pairs_mut().append_pair("digest", blob.digest.as_str());
        let request = self
            .request(Method::PUT, &target, blob.bytes.len())
            .header(CONTENT_TYPE, "application/octet-stream")
            .body(Bytes::copy_from_slice(&blob.bytes));
        send(&target, request, &[StatusCode::CREATED, StatusCode::NO_CONTENT]).await?;
        Ok(true)
    }

    /// `Location` may be a whole address or only its path.
    fn upload_target(&self, start: &Url, answer: &Response) -> Result<Url> {
        let location = answer.headers().get(LOCATION).and_then(|value| value.to_str().ok());
        let target = location.and_then(|location| answer.url().join(location).ok());
        match target {
            Some(target) if target.origin() == self.base.origin() => Ok(target),
            Some(target) => Err(PushError::OtherHost { url: target.origin().ascii_serialization() }),
            None => Err(PushError::Refused {
                url: start.to_string(),
                status: answer.status().as_u16(),
                body: "there is no usable Location".to_owned(),
            }),
        }
    }

    async fn put_manifest(&self, url: &Url, manifest: &Blob) -> Result<()> {
        let request = self
            .request(Method::PUT, url, manifest.bytes.len())
            .header(CONTENT_TYPE, manifest.media_type)
            .body(manifest.bytes.clone());
        let answer = send(url, request, &[StatusCode::CREATED, StatusCode::OK]).await?;
        let theirs = answer.headers().get("docker-content-digest").and_then(|value| value.to_str().ok());
        match theirs {
            Some(theirs) if theirs != manifest.digest.as_str() => {
                Err(PushError::OtherDigest { ours: manifest.digest.clone(), theirs: theirs.to_owned() })
            }
            Some(_) | None => Ok(()),
        }
    }

    async fn is_there(&self, url: &Url) -> Result<bool> {
        let request = self.request(Method::HEAD, url, 0).header("accept", MANIFEST_TYPE);
        let answer = send(url, request, &[StatusCode::OK, StatusCode::NOT_FOUND]).await?;
        Ok(answer.status() == StatusCode::OK)
    }

    fn request(&self, method: Method, url: &Url, body_bytes: usize) -> RequestBuilder {
        let for_body = Duration::from_secs(body_bytes as u64 / SLOWEST_BYTES_PER_SECOND);
        self.http.request(method, url.clone()).timeout(REQUEST_TIMEOUT + for_body)
    }

    fn url(&self, repository: &str, rest: &str) -> Result<Url> {
        if !is_repository(repository) {
            return Err(PushError::Unusable { what: format!("{repository:?} is no repository") });
        }
        self.base
            .join(&format!("/v2/{repository}/{rest}"))
            .map_err(|error| PushError::Unusable { what: format!("{repository}: {error}") })
    }
}

async fn send(url: &Url, request: RequestBuilder, good: &[StatusCode]) -> Result<Response> {
    let unreachable =
        |source: reqwest::Error| PushError::Unreachable { url: plain(url), source: source.without_url() };
    let answer = request.send().await.map_err(unreachable)?;
    let status = answer.status();
    if good.contains(&status) {
        return Ok(answer);
    }
    if status.is_redirection() {
        let to = answer.headers().get(LOCATION).and_then(|to| to.to_str().ok()).unwrap_or("nowhere");
        return Err(PushError::OtherHost { url: to.to_owned() });
    }
    let body = answer.text().await.unwrap_or_default();
    let body: String = body.trim().chars().take(500).collect();
    Err(PushError::Refused { url: plain(url), status: status.as_u16(), body })
}

/// Without the query: an upload's state is long and nobody's business.
fn plain(url: &Url) -> String {
    let mut url = url.clone();
    url.set_query(None);
    url.to_string()
}

async fn retrying<T, F: Future<Output = Result<T>>>(mut attempt: impl FnMut() -> F) -> Result<T> {
    let mut pause = FIRST_PAUSE;
    for _ in 1..ATTEMPTS {
        match attempt().await {
            Err(error) if error.may_pass() => tokio::time::sleep(pause).await,
            settled => return settled,
        }
        pause *= 2;
    }
    attempt().await
}

/// Lower-case words with single separators inside, as the distribution protocol has it. Nothing that changes a path.
fn is_repository(text: &str) -> bool {
    let alphanumeric = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let component = |component: &str| {
        let bytes = component.as_bytes();
        bytes.first().is_some_and(|byte| alphanumeric(*byte))
            && bytes.last().is_some_and(|byte| alphanumeric(*byte))
            && bytes.iter().all(|byte| alphanumeric(*byte) || matches!(byte, b'.' | b'_' | b'-'))
            && !["..", "___", "._", "_."].iter().any(|bad| component.contains(bad))
    };
    text.len() <= 255 && text.split('/').all(component)
}

fn is_tag(text: &str) -> bool {
    (1..=128).contains(&text.len())
        && !text.starts_with(['.', '-'])
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-'))
}

#[cfg(test)]
#[path = "push_tests.rs"]
mod tests;
