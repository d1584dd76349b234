//! One question and its answer: with the proof the registry wants, through the redirects we allow, in bounded time.

use std::future::Future;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use reqwest::header::{AUTHORIZATION, CONTENT_LENGTH, HeaderName, HeaderValue, LOCATION};
use reqwest::{Method, Response, StatusCode, Url};

use super::{ClientError, Credentials, Redirects, Registry, Result, Scope, plain};

const MOST_REDIRECTS: usize = 3;
/// What a registry says about a refusal: enough for a person.
const MAX_REFUSAL_BYTES: usize = 4 * 1024;
const REFUSAL_LETTERS: usize = 500;

/// A request. Its body is in memory, so it can be sent again.
pub(super) struct Ask {
    pub(super) method: Method,
    pub(super) url: Url,
    pub(super) scope: Scope,
    pub(super) headers: Vec<(HeaderName, HeaderValue)>,
    pub(super) body: Option<Bytes>,
    pub(super) follow: Follow,
}

/// Which redirects of an answer are followed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Follow {
    Never,
    AtHome,
    /// As the settings have it.
    Blob,
}

impl Ask {
    pub(super) fn new(method: Method, url: Url, scope: Scope) -> Self {
        let follow =
            if method == Method::GET || method == Method::HEAD { Follow::AtHome } else { Follow::Never };
        Self { method, url, scope, headers: Vec::new(), body: None, follow }
    }

    pub(super) fn header(mut self, name: HeaderName, value: &str) -> Result<Self> {
        let value = HeaderValue::from_str(value)
            .map_err(|_| ClientError::Unusable { what: format!("{value:?} fits no {name} header") })?;
        self.headers.push((name, value));
        Ok(self)
    }

    pub(super) fn body(mut self, body: Bytes) -> Self {
        self.body = Some(body);
        self
    }
}

impl Registry {
    /// An answer of one of these kinds.
    pub(super) async fn ask(&self, ask: &Ask, good: &[StatusCode]) -> Result<Response> {
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
        let body: String = body.take(REFUSAL_LETTERS).collect();
        if status == StatusCode::INTERNAL_SERVER_ERROR && body.contains("\"DIGEST_INVALID\"") {
            return Err(ClientError::Damaged { url });
        }
        Err(ClientError::Refused { url, status: status.as_u16(), body })
    }

    /// Asks with what we have; if the registry wants a proof, asks once more with it.
    pub(super) async fn ask_as_known(&self, ask: &Ask) -> Result<Response> {
        if let Some(Credentials::Issued(source)) = &self.credentials {
            return self.ask_as_issued(ask, source.as_ref()).await;
        }
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

    pub(super) async fn ask_following(&self, ask: &Ask, proof: Option<&HeaderValue>) -> Result<Response> {
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
    pub(super) fn may_follow(&self, ask: &Ask, from: &Url, to: &Url) -> Result<bool> {
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

    pub(super) async fn in_time<T>(
        &self,
        url: &Url,
        body_bytes: usize,
        work: impl Future<Output = T>,
    ) -> Result<T> {
        let for_body = Duration::from_secs(body_bytes as u64 / self.settings.slowest_bytes_per_second.max(1));
        let limit = self.settings.answer_timeout + for_body;
        let late = |_| ClientError::TimedOut { url: plain(url), seconds: limit.as_secs() };
        tokio::time::timeout(limit, work).await.map_err(late)
    }

    /// The next piece of an answer, or none at its end.
    pub(super) async fn next_piece(&self, answer: &mut Response) -> Result<Option<Bytes>> {
        let url = plain(answer.url());
        let seconds = self.settings.stall_timeout.as_secs();
        match tokio::time::timeout(self.settings.stall_timeout, answer.chunk()).await {
            Ok(Ok(piece)) => Ok(piece),
            Ok(Err(source)) => Err(ClientError::BrokenOff { url, source: Some(source.without_url()) }),
            Err(_) => Err(ClientError::TimedOut { url, seconds }),
        }
    }
}

/// A whole answer of at most so many bytes. All of it in time: a registry that sends a byte now and then is as bad as a
/// silent one.
pub(super) async fn read_limited(registry: &Registry, answer: &mut Response, most: usize) -> Result<Bytes> {
    let url = answer.url().clone();
    registry.in_time(&url, most, read_all(registry, answer, most)).await?
}

async fn read_all(registry: &Registry, answer: &mut Response, most: usize) -> Result<Bytes> {
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
