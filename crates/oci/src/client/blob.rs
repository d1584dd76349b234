//! Blobs on their way into a registry: asked for, mounted from a neighbour, sent whole or in pieces.
//!
//! Pieces can be taken up again. After a break the registry is asked how far it came and the rest follows from there;
//! if it has forgotten the upload, or cannot say, a new one begins. The registry compares the digest at the end, so a
//! piece that was doubled or lost costs time and nothing else.

use bytes::Bytes;
use reqwest::header::{CONTENT_RANGE, CONTENT_TYPE, HeaderMap, LOCATION, RANGE};
use reqwest::{Method, Response, StatusCode, Url};

use super::source::{BlobSource, Progress};
use super::{Ask, ClientError, Follow, Registry, Result, Scope, plain};
use crate::{Digest, Repository};

const OCTETS: &str = "application/octet-stream";
/// A registry may ask for larger pieces than ours; this large and no larger.
const MAX_CHUNK_BYTES: u64 = 256 * 1024 * 1024;

/// What a registry says of a blob without showing it. Only its word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlobHead {
    pub size: Option<u64>,
}

/// What a mount came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mounted {
    Yes,
    /// The registry does not do it, or does not show us the other repository: send the bytes.
    No,
}

/// An upload that the registry has opened.
struct Session {
    url: Url,
    /// Bytes that the registry has.
    offset: u64,
    chunk: u64,
}

impl Registry {
    /// Whether the registry has a blob.
    pub async fn find_blob(&self, repository: &Repository, digest: &Digest) -> Result<Option<BlobHead>> {
        self.retrying(|| self.find_blob_once(repository, digest)).await
    }

    async fn find_blob_once(&self, repository: &Repository, digest: &Digest) -> Result<Option<BlobHead>> {
        let url = self.url(repository, &format!("blobs/{digest}"));
        let mut ask = Ask::new(Method::HEAD, url, Scope::pull(repository));
        ask.follow = Follow::Blob;
        let answer = self.ask(&ask, &[StatusCode::OK, StatusCode::NOT_FOUND]).await?;
        // Of an answer to HEAD the library knows no body, so the length is read from its header.
        let size = answer.headers().get("content-length").and_then(|value| value.to_str().ok()?.parse().ok());
        Ok((answer.status() == StatusCode::OK).then_some(BlobHead { size }))
    }

    /// Makes sure that the registry holds these bytes. True if they had to be sent.
    pub async fn push_blob(
        &self,
        repository: &Repository,
        digest: &Digest,
        source: &BlobSource,
        progress: &(dyn Fn(Progress) + Send + Sync),
    ) -> Result<bool> {
        if source.size() <= self.settings.monolithic_bytes {
            let bytes = source.read(0, source.size()).await?;
            let sent = self.retrying(|| self.ensure_small(repository, digest, &bytes)).await?;
            progress(Progress { done: source.size(), total: source.size() });
            return Ok(sent);
        }
        if self.find_blob(repository, digest).await?.is_some() {
            progress(Progress { done: source.size(), total: source.size() });
            return Ok(false);
        }
        // Failures in a row without a piece that came through, and uploads begun again: both have an end.
        let (mut failures, mut restarts) = (0, 0);
        let mut session = None;
        loop {
            let Err(error) =
                self.send_pieces(repository, digest, source, &mut session, &mut failures, progress).await
            else {
                return Ok(true);
            };
            failures += 1;
            if !may_resume(&error) || failures.max(restarts) >= self.settings.attempts {
                return Err(error);
            }
            tokio::time::sleep(self.settings.first_pause * 2_u32.pow(failures.min(10) - 1)).await;
            session = match session {
                Some(session) => self.resume(repository, session).await,
                None => None,
            };
            restarts += u32::from(session.is_none());
        }
    }

    /// From the question on whether it is there: a half-finished upload is started over.
    async fn ensure_small(&self, repository: &Repository, digest: &Digest, bytes: &Bytes) -> Result<bool> {
        if self.find_blob_once(repository, digest).await?.is_some() {
            return Ok(false);
        }
        let session = self.open_upload(repository).await?;
        self.finish_upload(repository, session.url, digest, bytes.clone()).await?;
        Ok(true)
    }

    async fn send_pieces(
        &self,
        repository: &Repository,
        digest: &Digest,
        source: &BlobSource,
        open: &mut Option<Session>,
        failures: &mut u32,
        progress: &(dyn Fn(Progress) + Send + Sync),
    ) -> Result<()> {
        let total = source.size();
        let mut session = match open.take() {
            Some(session) => session,
            None => self.open_upload(repository).await?,
        };
        while session.offset < total {
            progress(Progress { done: session.offset, total });
            let piece = source.read(session.offset, session.chunk).await?;
            let sent = self.send_piece(repository, &session, &piece).await;
            match sent {
                // Whoever moves on may fail again later.
                Ok(next) => (session, *failures) = (next, 0),
                Err(error) => {
                    *open = Some(session);
                    return Err(error);
                }
            }
        }
        let url = session.url.clone();
        if let Err(error) = self.finish_upload(repository, url, digest, Bytes::new()).await {
            // The end may have come through although its answer did not.
            if error.may_pass() && self.find_blob(repository, digest).await.is_ok_and(|found| found.is_some())
            {
                progress(Progress { done: total, total });
                return Ok(());
            }
            *open = Some(session);
            return Err(error);
        }
        progress(Progress { done: total, total });
        Ok(())
    }

    async fn open_upload(&self, repository: &Repository) -> Result<Session> {
        let url = self.url(repository, "blobs/uploads/");
        let ask = Ask::new(Method::POST, url, Scope::push(repository)).body(Bytes::new());
        let answer = self.ask(&ask, &[StatusCode::ACCEPTED]).await?;
        let least =
            answer.headers().get("oci-chunk-min-length").and_then(|value| value.to_str().ok()?.parse().ok());
        let chunk = self.settings.chunk_bytes.max(least.unwrap_or(1)).clamp(1, MAX_CHUNK_BYTES);
        Ok(Session { url: self.upload_location(&answer)?, offset: 0, chunk })
    }

    fn upload_location(&self, answer: &Response) -> Result<Url> {
        let location = answer.headers().get(LOCATION).and_then(|value| value.to_str().ok());
        let location = location.ok_or_else(|| ClientError::BadAnswer {
            url: plain(answer.url()),
            why: "there is no usable Location",
        })?;
        self.at_home(answer, location)
    }

    async fn send_piece(&self, repository: &Repository, session: &Session, piece: &Bytes) -> Result<Session> {
        let end = session.offset + piece.len() as u64;
        let ask = Ask::new(Method::PATCH, session.url.clone(), Scope::push(repository))
            .header(CONTENT_TYPE, OCTETS)?
            .header(CONTENT_RANGE, &format!("{}-{}", session.offset, end - 1))?
            .body(piece.clone());
        let answer = self.ask(&ask, &[StatusCode::ACCEPTED]).await?;
        // A registry may have taken less than it was sent; more would be somebody else's bytes.
        let offset = match received(answer.headers()) {
            Some(offset) if offset > end || offset <= session.offset => {
                return Err(ClientError::BadAnswer {
                    url: plain(&session.url),
                    why: "its Range does not fit what was sent",
                });
            }
            Some(offset) => offset,
            None => end,
        };
        Ok(Session { url: self.upload_location(&answer)?, offset, chunk: session.chunk })
    }

    /// Where to go on, or none if the registry cannot say.
    async fn resume(&self, repository: &Repository, session: Session) -> Option<Session> {
        let ask = Ask::new(Method::GET, session.url.clone(), Scope::push(repository));
        let answer =
            self.ask(&ask, &[StatusCode::NO_CONTENT, StatusCode::OK, StatusCode::ACCEPTED]).await.ok()?;
        // `0-0` is one byte or none. Starting over costs no more than that byte.
        let offset = received(answer.headers()).filter(|offset| *offset > 1)?;
        let url = if answer.headers().contains_key(LOCATION) {
            self.upload_location(&answer).ok()?
        } else {
            session.url
        };
        Some(Session { url, offset, chunk: session.chunk })
    }

    async fn finish_upload(
        &self,
        repository: &Repository,
        mut url: Url,
        digest: &Digest,
        bytes: Bytes,
    ) -> Result<()> {
        url.query_pairs_mut().append_pair("digest", digest.as_str());
        let ask =
            Ask::new(Method::PUT, url, Scope::push(repository)).header(CONTENT_TYPE, OCTETS)?.body(bytes);
        self.ask(&ask, &[StatusCode::CREATED, StatusCode::NO_CONTENT]).await.map(drop)
    }

    /// Asks the registry to show a blob of one repository in another.
    pub async fn mount_blob(&self, from: &Repository, to: &Repository, digest: &Digest) -> Result<Mounted> {
        let mut url = self.url(to, "blobs/uploads/");
        url.query_pairs_mut().append_pair("mount", digest.as_str()).append_pair("from", from.as_str());
        let ask = Ask::new(Method::POST, url, Scope::mount(from, to)).body(Bytes::new());
        let good = [StatusCode::CREATED, StatusCode::ACCEPTED];
        let answer = self.retrying(|| self.ask(&ask, &good)).await?;
        if answer.status() == StatusCode::CREATED {
            return Ok(Mounted::Yes);
        }
        // It opened an upload instead. Left alone it would wait for bytes until somebody tidies up.
        let url = self.upload_location(&answer)?;
        let cancel = Ask::new(Method::DELETE, url, Scope::push(to));
        let _ = self.ask(&cancel, &[StatusCode::NO_CONTENT, StatusCode::ACCEPTED]).await;
        Ok(Mounted::No)
    }

    pub async fn delete_blob(&self, repository: &Repository, digest: &Digest) -> Result<()> {
        let url = self.url(repository, &format!("blobs/{digest}"));
        let ask = Ask::new(Method::DELETE, url, Scope::delete(repository));
        let good = [StatusCode::ACCEPTED, StatusCode::OK, StatusCode::NO_CONTENT];
        self.retrying(|| self.ask(&ask, &good)).await.map(drop)
    }
}

/// A break, or an upload of which the registry has another picture than we.
fn may_resume(error: &ClientError) -> bool {
    match error {
        ClientError::NotFound { .. } => true,
        ClientError::Refused { status, .. } if [400, 410, 416].contains(status) => true,
        other => other.may_pass(),
    }
}

/// `Range: 0-<last>` as the number of bytes.
fn received(headers: &HeaderMap) -> Option<u64> {
    let range = headers.get(RANGE)?.to_str().ok()?;
    let range = range.strip_prefix("bytes=").unwrap_or(range);
    let last: u64 = range.strip_prefix("0-")?.parse().ok()?;
    last.checked_add(1)
}
