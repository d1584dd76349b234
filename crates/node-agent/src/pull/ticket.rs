//! One pull: what it may read, how far it has come, why it broke.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use gpuaas_agent_protocol::Digest;
use gpuaas_agent_protocol::report::PullProgress;
use tokio::sync::watch;

use super::manifest::Part;
use super::upstream::{Source, Upstream, mismatch};
use crate::seams::Failure;

/// A broken stream is taken up again where it stopped this often.
const MAX_RESUMES: u32 = 5;

pub(super) struct Ticket {
    pub(super) username: String,
    /// Of the password: comparing hashes tells nothing about how much of a guess was right.
    pub(super) password: Digest,
    pub(super) repository: String,
    pub(super) source: Source,
    /// Bytes and content type of the granted manifest, and of the one an index leads to.
    pub(super) manifests: BTreeMap<Digest, (Bytes, String)>,
    pub(super) blobs: Vec<Part>,
    pub(super) verdict: Arc<Mutex<Option<Failure>>>,
    progress: watch::Sender<PullProgress>,
    /// How much of each blob has been given; a blob given twice counts once.
    given: Mutex<BTreeMap<Digest, u64>>,
}

impl Ticket {
    pub(super) fn new(
        credentials: (String, Digest),
        repository: String,
        source: Source,
        manifests: BTreeMap<Digest, (Bytes, String)>,
        blobs: Vec<Part>,
    ) -> Self {
        let total_bytes = Some(blobs.iter().map(|part| part.size).sum());
        Self {
            username: credentials.0,
            password: credentials.1,
            repository,
            source,
            manifests,
            blobs,
            verdict: Arc::default(),
            progress: watch::Sender::new(PullProgress { done_bytes: 0, total_bytes }),
            given: Mutex::default(),
        }
    }

    pub(super) fn progress(&self) -> watch::Receiver<PullProgress> {
        self.progress.subscribe()
    }

    /// Nobody watches any more: whoever held the ticket has dropped it.
    pub(super) fn is_dead(&self) -> bool {
        self.progress.is_closed()
    }

    pub(super) async fn dead(&self) {
        self.progress.closed().await;
    }

    pub(super) fn broken(&self) -> Option<Failure> {
        self.verdict.lock().expect("no holder of a verdict panics").clone()
    }

    /// The first failure is the one that explains the others.
    pub(super) fn break_off(&self, failure: Failure) {
        tracing::warn!(reason = failure.reason.name(), "a pull of {} broke off: {failure}", self.repository);
        self.verdict.lock().expect("no holder of a verdict panics").get_or_insert(failure);
    }

    fn count(&self, digest: &Digest, offset: u64) {
        let mut given = self.given.lock().expect("no holder of the figures panics");
        let here = given.entry(digest.clone()).or_default();
        *here = offset.max(*here);
        let done_bytes = given.values().sum();
        self.progress.send_modify(|progress| progress.done_bytes = done_bytes);
    }
}

/// A blob on its way: hashed while it flows, its last bytes held back until the hash is right.
pub(super) struct Flow {
    ticket: Arc<Ticket>,
    upstream: Arc<Upstream>,
    part: Part,
    response: reqwest::Response,
    hash: ring::digest::Context,
    offset: u64,
    held: Option<Bytes>,
    resumes: u32,
    ended: bool,
}

impl Flow {
    pub(super) async fn open(
        ticket: Arc<Ticket>,
        upstream: Arc<Upstream>,
        part: Part,
    ) -> Result<Self, Failure> {
        let response = upstream.blob(&ticket.source, &part.digest, part.size, 0).await?;
        let hash = ring::digest::Context::new(&ring::digest::SHA256);
        let (offset, held, resumes, ended) = (0, None, 0, false);
        Ok(Self { ticket, upstream, part, response, hash, offset, held, resumes, ended })
    }

    /// The next bytes; after an error nothing more comes and the connection is cut.
    pub(super) async fn next(&mut self) -> Option<Result<Bytes, Failure>> {
        if self.ended {
            return None;
        }
        let next = self.advance().await;
        if let Err(failure) = &next {
            self.ended = true;
            self.ticket.break_off(failure.clone());
        }
        next.transpose()
    }

    async fn advance(&mut self) -> Result<Option<Bytes>, Failure> {
        loop {
            if self.ticket.is_dead() {
                return Err(super::upstream::failed("the pull was given up"));
            }
            match self.upstream.chunk(&self.ticket.source, &mut self.response).await? {
                Ok(Some(chunk)) if chunk.is_empty() => {}
                Ok(Some(chunk)) => {
                    self.offset += chunk.len() as u64;
                    if self.offset > self.part.size {
                        return Err(mismatch(
                            &self.part.digest,
                            "the registry sent more than the manifest says",
                        ));
                    }
                    self.hash.update(&chunk);
                    self.ticket.count(&self.part.digest, self.offset);
                    if let Some(before) = self.held.replace(chunk) {
                        return Ok(Some(before));
                    }
                }
                Ok(None) if self.offset == self.part.size => {
                    self.ended = true;
                    let hash = self.hash.clone().finish();
                    if gpuaas_agent_protocol::image::hex(hash.as_ref()) != self.part.digest.hex() {
                        return Err(mismatch(&self.part.digest, "the registry sent other bytes"));
                    }
                    return Ok(self.held.take());
                }
                Ok(None) => self.resume("it ended early").await?,
                Err(why) => self.resume(&why).await?,
            }
        }
    }

    async fn resume(&mut self, why: &str) -> Result<(), Failure> {
        self.resumes += 1;
        if self.resumes > MAX_RESUMES {
            return Err(super::upstream::failed(format!("the registry keeps breaking off: {why}")));
        }
        let (ticket, part) = (&self.ticket, &self.part);
        self.response = self.upstream.blob(&ticket.source, &part.digest, part.size, self.offset).await?;
        Ok(())
    }
}
