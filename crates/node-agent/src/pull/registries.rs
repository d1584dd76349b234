//! The registry's side of a pull.
//!
//! No credential is sent, and a redirect is followed for blobs only and only to the same scheme, host and port: a
//! registry must not be able to point the node at other machines of its network, and there is no host but the granted
//! one that a credential may ever reach. A registry that hands its blobs out from elsewhere has to be told to proxy
//! them (`redirect.disable` in CNCF distribution).

use std::future::Future;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use gpuaas_agent_protocol::spec::ImageGrant;
use gpuaas_agent_protocol::{Digest, FailureReason};
use reqwest::{Response, StatusCode, Url, header};
use tokio::time::Instant;

use super::PullSettings;
use super::manifest::{ACCEPTED, MAX_MANIFEST_BYTES};
use crate::seams::Failure;

const MAX_REDIRECTS: u32 = 3;
const TRIES: u32 = 4;

pub(super) struct Upstream {
    plain: reqwest::Client,
    tls: reqwest::Client,
    stall: Duration,
    retry_pause: Duration,
}

/// One repository on one registry, until a moment.
#[derive(Clone, Debug)]
pub(super) struct Source {
    /// `https://host[:port][/prefix]/v2/repository`.
    base: Url,
    pub(super) deadline: Instant,
}

impl Source {
    pub(super) fn of(grant: &ImageGrant, deadline: Instant) -> Result<Self, Failure> {
        let text = format!("{}/v2/{}", grant.upstream.trim_end_matches('/'), grant.reference.repository());
        let base = Url::parse(&text).map_err(|error| {
            failed(format!("{} is not the address of a registry: {error}", grant.upstream))
        })?;
        Ok(Self { base, deadline })
    }

    fn url(&self, kind: &str, digest: &Digest) -> Url {
        let mut url = self.base.clone();
        url.set_path(&format!("{}/{kind}/{digest}", self.base.path()));
        url
    }
}

/// An answer that is no answer, and whether asking again may help.
struct Refused {
    failure: Failure,
    passing: bool,
}

impl Upstream {
    pub(super) fn new(settings: &PullSettings) -> std::io::Result<Self> {
        let builder = || {
            reqwest::Client::builder()
                .redirect(reqwest::redirect::Policy::none())
                .no_proxy()
                .referer(false)
                .connect_timeout(settings.connect_timeout)
                .pool_max_idle_per_host(8)
                .user_agent(concat!("gpuaas-agent/", env!("CARGO_PKG_VERSION")))
        };
        let unusable = |error: reqwest::Error| std::io::Error::other(error);
        // No certificate will be checked; a machine without any roots can still pull from itself.
        let plain = builder().tls_certs_only([]).build().map_err(unusable)?;
        let mut tls = builder();
        if let Some(pem) = &settings.extra_ca_pem {
            let roots = reqwest::Certificate::from_pem_bundle(pem.as_bytes()).map_err(unusable)?;
            tls = tls.tls_certs_merge(roots);
        }
        // A machine without roots of its own gets the platform's alone.
        let tls = match tls.build() {
            Ok(tls) => tls,
            Err(error) => {
                tracing::warn!("the machine's own certificates cannot be used for registries: {error}");
                let pem = settings.extra_ca_pem.as_deref().unwrap_or_default();
                let roots = reqwest::Certificate::from_pem_bundle(pem.as_bytes()).map_err(unusable)?;
                builder().tls_certs_only(roots).build().map_err(unusable)?
            }
        };
        Ok(Self { plain, tls, stall: settings.stall_timeout, retry_pause: settings.retry_pause })
    }

    /// A whole manifest whose bytes are what the digest promises, and its content type.
    pub(super) async fn manifest(
        &self,
        source: &Source,
        digest: &Digest,
    ) -> Result<(Bytes, String), Failure> {
        let url = source.url("manifests", digest);
        let mut response = self.ask(source, &url, None, false).await?;
        let kind = response.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let kind = kind.unwrap_or_default().split(';').next().unwrap_or_default().trim().to_owned();
        let mut bytes = BytesMut::new();
        while let Some(chunk) = self.in_time(source, response.chunk()).await?.map_err(|error| {
            failed(format!("the registry broke off in the middle of the manifest: {}", root_cause(&error)))
        })? {
            if bytes.len() + chunk.len() > MAX_MANIFEST_BYTES {
                return Err(failed("the manifest has more than 4 MiB"));
            }
            bytes.extend_from_slice(&chunk);
        }
        let bytes = bytes.freeze();
        if Digest::of(&bytes) != *digest {
            return Err(Failure::new(
                FailureReason::ImageDigestMismatch,
                format!("the registry sent a manifest of {} instead of {digest}", Digest::of(&bytes)),
            ));
        }
        Ok((bytes, kind))
    }

    /// A blob from this byte on, its length already agreed with what the manifest says.
    pub(super) async fn blob(
        &self,
        source: &Source,
        digest: &Digest,
        size: u64,
        from: u64,
    ) -> Result<Response, Failure> {
        let url = source.url("blobs", digest);
        let response = self.ask(source, &url, (from > 0).then_some(from), true).await?;
        if from > 0 {
            let range = response.headers().get(header::CONTENT_RANGE).and_then(|value| value.to_str().ok());
            let wanted = format!("bytes {from}-{}/{size}", size.saturating_sub(1));
            if response.status() != StatusCode::PARTIAL_CONTENT || range != Some(wanted.as_str()) {
                return Err(failed("the registry broke off and cannot go on where it stopped"));
            }
        } else if let Some(sent) = response.content_length().filter(|sent| *sent != size) {
            return Err(mismatch(
                digest,
                &format!("the registry has {sent} bytes, the manifest says {size}"),
            ));
        }
        Ok(response)
    }

    /// The next bytes, or none at the end.
    pub(super) async fn chunk(
        &self,
        source: &Source,
        response: &mut Response,
    ) -> Result<Result<Option<Bytes>, String>, Failure> {
        let next = self.in_time(source, response.chunk()).await?;
        Ok(next.map_err(|error| root_cause(&error)))
    }

    /// Asks until there is an answer worth having, with pauses, within the deadline.
    async fn ask(
        &self,
        source: &Source,
        url: &Url,
        from: Option<u64>,
        blob: bool,
    ) -> Result<Response, Failure> {
        let mut pause = self.retry_pause;
        for tries in 1..=TRIES {
            let refused = match self.ask_once(source, url.clone(), from, blob).await {
                Ok(response) => return Ok(response),
                Err(refused) => refused,
            };
            if !refused.passing || tries == TRIES || Instant::now() + pause >= source.deadline {
                return Err(refused.failure);
            }
            tokio::time::sleep(pause).await;
            pause *= 4;
        }
        Err(failed("the registry was asked too often"))
    }

    async fn ask_once(
        &self,
        source: &Source,
        mut url: Url,
        from: Option<u64>,
        blob: bool,
    ) -> Result<Response, Refused> {
        for _ in 0..=MAX_REDIRECTS {
            let client = if url.scheme() == "https" { &self.tls } else { &self.plain };
            let mut request = client.get(url.clone());
            if !blob {
                request = request.header(header::ACCEPT, ACCEPTED.join(", "));
            }
            if let Some(from) = from {
                request = request.header(header::RANGE, format!("bytes={from}-"));
            }
            let sent = self.in_time(source, request.send()).await.map_err(finally)?;
            let response = sent.map_err(|error| unreachable(&url, &error))?;
            let status = response.status();
            if status.is_success() {
                return Ok(response);
            }
            if !status.is_redirection() {
                return Err(refusal(&url, status));
            }
            let target = response.headers().get(header::LOCATION).and_then(|to| to.to_str().ok());
            let target = target.and_then(|to| url.join(to).ok());
            match target {
                Some(to) if blob && to.origin() == url.origin() && to.username().is_empty() => url = to,
                Some(_) | None => {
                    return Err(finally(failed(
                        "the registry points to another place; blobs come from the registry itself",
                    )));
                }
            }
        }
        Err(finally(failed("the registry redirects without end")))
    }

    /// The answer, unless the registry falls silent or the pull is out of time.
    async fn in_time<T>(&self, source: &Source, work: impl Future<Output = T>) -> Result<T, Failure> {
        let silent = Instant::now() + self.stall;
        tokio::time::timeout_at(silent.min(source.deadline), work).await.map_err(|_| {
            let detail = if silent < source.deadline {
                format!("the registry sent nothing for {} s", self.stall.as_secs_f32())
            } else {
                "the image did not arrive before its deadline".to_owned()
            };
            Failure::new(FailureReason::ImagePullTimeout, detail)
        })
    }
}

pub(super) fn failed(detail: impl Into<String>) -> Failure {
    Failure::new(FailureReason::ImagePullFailed, detail)
}

pub(super) fn mismatch(digest: &Digest, detail: &str) -> Failure {
    Failure::new(FailureReason::ImageDigestMismatch, format!("{digest}: {detail}"))
}

fn finally(failure: Failure) -> Refused {
    Refused { failure, passing: false }
}

fn unreachable(url: &Url, error: &reqwest::Error) -> Refused {
    let host = url.origin().ascii_serialization();
    let detail = format!("{host} does not answer: {}", root_cause(error));
    Refused { failure: Failure::new(FailureReason::RegistryUnreachable, detail), passing: true }
}

fn refusal(url: &Url, status: StatusCode) -> Refused {
    let host = url.origin().ascii_serialization();
    let detail = format!("{host} answered {} to {}", status.as_u16(), url.path());
    let (reason, passing) = match status.as_u16() {
        404 | 410 => (FailureReason::ImageNotFound, false),
        502..=504 => (FailureReason::RegistryUnreachable, true),
        429 | 500 => (FailureReason::ImagePullFailed, true),
        _ => (FailureReason::ImagePullFailed, false),
    };
    Refused { failure: Failure::new(reason, detail), passing }
}

/// The innermost words: the outer ones repeat the address.
fn root_cause(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}
