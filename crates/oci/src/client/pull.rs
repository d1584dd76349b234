//! Blobs on their way out of a registry: streamed, taken up again after a break, and checked to the last byte.

use std::ops::Deref;

use bytes::Bytes;
use reqwest::header::{CONTENT_RANGE, RANGE};
use reqwest::{Method, Response, StatusCode};
use tokio::io::{AsyncWrite, AsyncWriteExt as _};

use super::source::Progress;
use super::{Ask, ClientError, Follow, Registry, Result, Scope, plain};
use crate::{Digest, Hasher, Repository};

/// A blob that is being read. Its bytes are good only when `next` has said that there are no more. It borrows the
/// registry, or shares it.
pub struct BlobReader<R> {
    registry: R,
    repository: Repository,
    digest: Digest,
    size: u64,
    done: u64,
    hasher: Option<Hasher>,
    answer: Option<Response>,
    failures: u32,
}

impl Registry {
    /// Starts to read a blob of this many bytes.
    pub fn blob(&self, repository: &Repository, digest: &Digest, size: u64) -> BlobReader<&Self> {
        BlobReader::new(self, repository, digest, size)
    }

    /// Writes a blob as it comes. What was written is good only if this succeeds.
    pub async fn pull_blob(
        &self,
        repository: &Repository,
        digest: &Digest,
        size: u64,
        into: &mut (dyn AsyncWrite + Unpin + Send),
        progress: &(dyn Fn(Progress) + Send + Sync),
    ) -> Result<()> {
        let unwritable = |source| ClientError::Local { what: format!("{digest} cannot be written"), source };
        let mut reader = self.blob(repository, digest, size);
        while let Some(piece) = reader.next().await? {
            into.write_all(&piece).await.map_err(unwritable)?;
            progress(Progress { done: reader.done, total: size });
        }
        into.flush().await.map_err(unwritable)
    }

    /// A small blob in memory.
    pub async fn blob_bytes(
        &self,
        repository: &Repository,
        digest: &Digest,
        size: u64,
        most: u64,
    ) -> Result<Bytes> {
        if size > most {
            return Err(ClientError::TooLarge {
                url: plain(&self.url(repository, &format!("blobs/{digest}"))),
                most,
            });
        }
        let mut bytes = Vec::new();
        let mut reader = self.blob(repository, digest, size);
        while let Some(piece) = reader.next().await? {
            bytes.extend_from_slice(&piece);
        }
        Ok(Bytes::from(bytes))
    }
}

impl<R: Deref<Target = Registry>> BlobReader<R> {
    pub fn new(registry: R, repository: &Repository, digest: &Digest, size: u64) -> Self {
        Self {
            registry,
            repository: repository.clone(),
            digest: digest.clone(),
            size,
            done: 0,
            hasher: Some(Hasher::new()),
            answer: None,
            failures: 0,
        }
    }

    /// Bytes that have come so far.
    pub fn done(&self) -> u64 {
        self.done
    }

    /// The next bytes; none when all have come and are those of the digest.
    pub async fn next(&mut self) -> Result<Option<Bytes>> {
        loop {
            match self.try_next().await {
                Err(error) if error.may_pass() && self.failures + 1 < self.registry.settings.attempts => {
                    self.answer = None;
                    let pause = self.registry.settings.first_pause * 2_u32.pow(self.failures.min(10));
                    self.failures += 1;
                    tokio::time::sleep(pause).await;
                }
                settled => return settled,
            }
        }
    }

    async fn try_next(&mut self) -> Result<Option<Bytes>> {
        if self.done == self.size && self.answer.is_none() && self.done > 0 {
            return self.finish();
        }
        let mut answer = match self.answer.take() {
            Some(answer) => answer,
            None => self.open().await?,
        };
        let Some(piece) = self.registry.next_piece(&mut answer).await? else {
            if self.done < self.size {
                return Err(ClientError::BrokenOff { url: plain(answer.url()), source: None });
            }
            return self.finish();
        };
        self.done += piece.len() as u64;
        if self.done > self.size {
            return Err(ClientError::OtherSize { promised: self.size, found: self.done });
        }
        if let Some(hasher) = &mut self.hasher {
            hasher.update(&piece);
        }
        self.failures = 0;
        self.answer = Some(answer);
        Ok(Some(piece))
    }

    fn finish(&mut self) -> Result<Option<Bytes>> {
        let Some(hasher) = self.hasher.take() else { return Ok(None) };
        let found = hasher.finish();
        if found == self.digest {
            return Ok(None);
        }
        Err(ClientError::OtherDigest { ours: self.digest.clone(), theirs: found.to_string() })
    }

    /// From the first byte that is missing, its length agreed with what was promised.
    async fn open(&self) -> Result<Response> {
        let url = self.registry.url(&self.repository, &format!("blobs/{}", self.digest));
        let mut ask = Ask::new(Method::GET, url, Scope::pull(&self.repository));
        ask.follow = Follow::Blob;
        if self.done == 0 {
            let answer = self.registry.ask(&ask, &[StatusCode::OK]).await?;
            return match answer.content_length() {
                Some(found) if found != self.size => {
                    Err(ClientError::OtherSize { promised: self.size, found })
                }
                Some(_) | None => Ok(answer),
            };
        }
        ask = ask.header(RANGE, &format!("bytes={}-", self.done))?;
        let answer = self.registry.ask(&ask, &[StatusCode::OK, StatusCode::PARTIAL_CONTENT]).await?;
        let wanted = format!("bytes {}-{}/{}", self.done, self.size.saturating_sub(1), self.size);
        let range = answer.headers().get(CONTENT_RANGE).and_then(|value| value.to_str().ok());
        if answer.status() == StatusCode::PARTIAL_CONTENT && range == Some(wanted.as_str()) {
            return Ok(answer);
        }
        Err(ClientError::BadAnswer {
            url: plain(answer.url()),
            why: "it broke off and cannot go on where it stopped",
        })
    }
}
