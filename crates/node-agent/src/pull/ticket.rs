//! One pull: what it may read, how far it has come, why it broke.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use gpuaas_agent_protocol::report::PullProgress;
use gpuaas_agent_protocol::{Digest, FailureReason};
use gpuaas_oci::manifest::Descriptor;
use gpuaas_oci::{BlobReader, Registry};
use tokio::sync::watch;
use tokio::time::Instant;

use super::Admitted;
use super::registries::failed;
use crate::seams::Failure;

/// A part of an image: so many bytes of this digest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) digest: Digest,
    pub(super) size: u64,
}

impl Part {
    /// The same layer twice is transferred once.
    pub(super) fn each_once<'a>(descriptors: impl IntoIterator<Item = &'a Descriptor>) -> Vec<Self> {
        let mut parts: Vec<Self> = Vec::new();
        for Descriptor { digest, size, .. } in descriptors {
            if !parts.iter().any(|known| known.digest == *digest) {
                parts.push(Self { digest: digest.clone(), size: *size });
            }
        }
        parts
    }
}

pub(super) struct Ticket {
    pub(super) username: String,
    /// Of the password: comparing hashes tells nothing about how much of a guess was right.
    pub(super) password: Digest,
    pub(super) image: Admitted,
    pub(super) stall_timeout: Duration,
    /// Bytes and content type of the granted manifest, and of the one an index leads to.
    pub(super) manifests: BTreeMap<Digest, (Bytes, String)>,
    pub(super) blobs: Vec<Part>,
    /// One of the blobs, here already.
    pub(super) config: (Digest, Bytes),
    pub(super) verdict: Arc<Mutex<Option<Failure>>>,
    progress: watch::Sender<PullProgress>,
    /// How much of each blob has been given; a blob given twice counts once.
    given: Mutex<BTreeMap<Digest, u64>>,
}

impl Ticket {
    pub(super) fn new(
        credentials: (String, Digest),
        image: Admitted,
        stall_timeout: Duration,
        manifests: BTreeMap<Digest, (Bytes, String)>,
        blobs: Vec<Part>,
        config: (Digest, Bytes),
    ) -> Self {
        let total_bytes = Some(blobs.iter().map(|part| part.size).sum());
        Self {
            username: credentials.0,
            password: credentials.1,
            image,
            stall_timeout,
            manifests,
            blobs,
            config,
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
        let repository = &self.image.repository;
        tracing::warn!(reason = failure.reason.name(), "a pull of {repository} broke off: {failure}");
        self.verdict.lock().expect("no holder of a verdict panics").get_or_insert(failure);
    }

    pub(super) fn count(&self, digest: &Digest, offset: u64) {
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
    digest: Digest,
    reader: BlobReader<Arc<Registry>>,
    held: Option<Bytes>,
    ended: bool,
}

impl Flow {
    /// With the first bytes at hand: until they are there, a refusal can still be told.
    pub(super) async fn open(ticket: Arc<Ticket>, part: Part) -> Result<Self, Failure> {
        let Admitted { registry, repository, .. } = &ticket.image;
        let reader = BlobReader::new(registry.clone(), repository, &part.digest, part.size);
        let mut flow = Self { ticket, digest: part.digest, reader, held: None, ended: false };
        flow.held = flow.piece().await?;
        Ok(flow)
    }

    /// The next bytes; after an error nothing more comes and the connection is cut.
    pub(super) async fn next(&mut self) -> Option<Result<Bytes, Failure>> {
        if self.ended {
            return None;
        }
        let before = self.held.take()?;
        match self.piece().await {
            Ok(piece) => {
                self.held = piece;
                Some(Ok(before))
            }
            Err(failure) => {
                self.ended = true;
                self.ticket.break_off(failure.clone());
                Some(Err(failure))
            }
        }
    }

    /// From the registry; none at the end of a blob that is what its digest says.
    async fn piece(&mut self) -> Result<Option<Bytes>, Failure> {
        let Ticket { image, stall_timeout, .. } = &*self.ticket;
        if self.ticket.is_dead() {
            return Err(failed("the pull was given up"));
        }
        let silent = Instant::now() + *stall_timeout;
        let late = |_| {
            let detail = if silent < image.access.deadline {
                format!("the registry sent nothing for {} s", stall_timeout.as_secs_f32())
            } else {
                "the image did not arrive before its deadline".to_owned()
            };
            Failure::new(FailureReason::ImagePullTimeout, detail)
        };
        let next = tokio::time::timeout_at(silent.min(image.access.deadline), self.reader.next()).await;
        let piece = next.map_err(late)?.map_err(|error| image.access.failure(&error, &self.digest))?;
        self.ticket.count(&self.digest, self.reader.done());
        Ok(piece)
    }
}
