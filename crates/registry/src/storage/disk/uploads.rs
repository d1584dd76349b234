//! Uploads under way: one file each, and the hash of what it holds so far.
//!
//! The hash is kept in memory only. After a restart the file is the truth: the upload goes on where the file ends, and
//! the whole of it is read once more when it is finished. A crash may leave bytes that were never acknowledged, or, on
//! a power cut, bytes that were not written; the digest at the end finds both out.
//!
//! What an upload holds counts in the quota from the moment it comes, else many uploads side by side would each fit
//! alone. The bytes go over to the blob that it becomes; in every other end they are given back.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use futures_util::{Stream, StreamExt as _};
use gpuaas_faults::step;
use tokio::sync::OwnedMutexGuard;
use tokio::task::JoinHandle;

use super::LocalDisk;
use super::begin::Left;
use super::charge::Charge;
use super::files::{blocking, found, sync_parent};
use super::layout::Layout;
use crate::digest::{Algorithm, Digest, Hasher};
use crate::error::{Error, Result};
use crate::names::{RepositoryName, UploadId};
use crate::storage::Quota;

/// So much is written and hashed at a time, while as much again is being received.
const BATCH: usize = 1 << 20;
const READ: usize = 1 << 20;
/// After so much the disk starts with what is there, so that little is left to wait for at the end.
const FLUSH: u64 = 16 << 20;
/// A client that goes on after a broken connection may come before its last write has ended.
const PATIENCE: Duration = Duration::from_secs(2);

#[derive(Clone)]
pub(super) struct Upload {
    pub(super) repository: RepositoryName,
    session: Arc<tokio::sync::Mutex<Session>>,
    /// As the session has it; to be seen while somebody writes.
    pub(super) length: Arc<AtomicU64>,
}

/// Who holds it may write to the file.
pub(super) struct Session {
    file: Arc<File>,
    length: Arc<AtomicU64>,
    /// Of all that is in the file; none after a restart.
    hash: Option<Hasher>,
    flush: Arc<Flush>,
    /// Where the last flush was begun.
    flushed: u64,
    pub(super) used: SystemTime,
    /// For as many bytes as are there; more only while they are being written.
    charge: Charge,
}

/// Held while the disk works. Keeps why it failed, because the kernel says so only once.
type Flush = Mutex<Option<io::ErrorKind>>;

pub(super) struct Uploads(Mutex<HashMap<String, Upload>>);

impl Upload {
    pub(super) fn new(
        repository: RepositoryName,
        file: File,
        length: u64,
        hash: Option<Hasher>,
        used: SystemTime,
        quota: &Arc<dyn Quota>,
    ) -> Self {
        let charge = Charge::counted(quota, &repository, length);
        let length = Arc::new(AtomicU64::new(length));
        let flushed = length.load(Ordering::Acquire);
        let (file, flush) = (Arc::new(file), Arc::default());
        let session = Session { file, length: length.clone(), hash, flush, flushed, used, charge };
        Self { repository, session: Arc::new(tokio::sync::Mutex::new(session)), length }
    }

    pub(super) fn try_hold(&self) -> Option<OwnedMutexGuard<Session>> {
        self.session.clone().try_lock_owned().ok()
    }
}

impl Uploads {
    /// The quota begins with what is left: it is part of the usage.
    pub(super) fn new(left: Vec<Left>, quota: &Arc<dyn Quota>) -> Self {
        let uploads = left.into_iter().map(|left| {
            (left.name, Upload::new(left.repository, left.file, left.length, None, left.used, quota))
        });
        Self(Mutex::new(uploads.collect()))
    }

    pub(super) fn map(&self) -> MutexGuard<'_, HashMap<String, Upload>> {
        self.0.lock().expect("nothing panics while it is held")
    }

    pub(super) fn all(&self) -> Vec<(String, Upload)> {
        self.map().iter().map(|(name, upload)| (name.clone(), upload.clone())).collect()
    }

    pub(super) fn length(&self, name: &str) -> Result<u64> {
        self.map().get(name).map(|upload| upload.length.load(Ordering::Acquire)).ok_or(Error::UploadUnknown)
    }

    /// The right to write to it.
    async fn hold(&self, name: &str) -> Result<OwnedMutexGuard<Session>> {
        let upload = self.map().get(name).cloned().ok_or(Error::UploadUnknown)?;
        let held = tokio::time::timeout(PATIENCE, upload.session.lock_owned()).await;
        let session = held.map_err(|_| Error::UploadBusy)?;
        // Who held it before may have ended it.
        if self.map().contains_key(name) { Ok(session) } else { Err(Error::UploadUnknown) }
    }

    /// For who holds it: nobody finds it any more.
    pub(super) fn forget(&self, name: &str) {
        self.map().remove(name);
    }
}

impl Session {
    /// Behind what is there, or not at all.
    fn write(&mut self, frames: &[Bytes]) -> io::Result<()> {
        let start = self.length.load(Ordering::Acquire);
        let (mut at, mut hash) = (start, self.hash.clone());
        for frame in frames {
            if let Err(error) = self.file.write_all_at(frame, at) {
                // Gives a full disk back what did not fit. If this fails too, the next write goes over it.
                let _ = self.file.set_len(start);
                return Err(error);
            }
            at += frame.len() as u64;
            if let Some(hash) = &mut hash {
                hash.update(frame);
            }
        }
        self.hash = hash;
        self.length.store(at, Ordering::Release);
        Ok(())
    }

    /// Has the disk work while more is received, one flush at a time.
    fn flush(&mut self) {
        let length = self.length.load(Ordering::Acquire);
        if length < self.flushed + FLUSH || self.flush.try_lock().is_err() {
            return;
        }
        self.flushed = length;
        let (file, flush) = (self.file.clone(), self.flush.clone());
        tokio::task::spawn_blocking(move || {
            let mut failure = failure_of(&flush);
            if let Err(error) = file.sync_data() {
                *failure = Some(error.kind());
            }
        });
    }

    fn digest(&self, algorithm: Algorithm) -> io::Result<Digest> {
        if let (Algorithm::Sha256, Some(hash)) = (algorithm, &self.hash) {
            return Ok(hash.clone().finish());
        }
        let length = self.length.load(Ordering::Acquire);
        let mut hash = Hasher::new(algorithm);
        let mut buffer = vec![0; READ];
        let mut at = 0;
        while at < length {
            let wanted = buffer.len().min(usize::try_from(length - at).unwrap_or(usize::MAX));
            let read = self.file.read_at(&mut buffer[..wanted], at)?;
            if read == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            hash.update(&buffer[..read]);
            at += read as u64;
        }
        Ok(hash.finish())
    }
}

fn failure_of(flush: &Flush) -> MutexGuard<'_, Option<io::ErrorKind>> {
    flush.lock().expect("nothing panics while it is held")
}

/// What came of a body, and how it ended if it did.
struct Batch {
    frames: Vec<Bytes>,
    bytes: usize,
    end: Option<Result<()>>,
}

async fn gather(body: &mut (impl Stream<Item = Result<Bytes>> + Unpin)) -> Batch {
    let mut batch = Batch { frames: Vec::new(), bytes: 0, end: None };
    while batch.bytes < BATCH {
        match body.next().await {
            Some(Ok(frame)) => {
                batch.bytes += frame.len();
                batch.frames.push(frame);
            }
            Some(Err(error)) => {
                batch.end = Some(Err(error));
                break;
            }
            None => {
                batch.end = Some(Ok(()));
                break;
            }
        }
    }
    batch
}

/// The right to write goes with the write: if the request is dropped, the next one waits for neither more nor less.
type Writing = JoinHandle<(OwnedMutexGuard<Session>, io::Result<()>)>;

enum Turn {
    Idle(OwnedMutexGuard<Session>),
    Writing(Writing),
}

impl Turn {
    async fn finished(self) -> Result<OwnedMutexGuard<Session>> {
        match self {
            Self::Idle(session) => Ok(session),
            Self::Writing(job) => {
                let (session, written) = job.await.map_err(io::Error::other)?;
                written?;
                Ok(session)
            }
        }
    }
}

impl LocalDisk {
    pub(super) async fn append_upload<B>(
        &self,
        repository: &RepositoryName,
        upload: &UploadId,
        at: Option<u64>,
        mut body: B,
    ) -> Result<u64>
    where
        B: Stream<Item = Result<Bytes>> + Send + Unpin,
    {
        let name = Layout::upload_name(repository, upload);
        let mut session = self.uploads.hold(&name).await?;
        let length = session.length.clone();
        let start = length.load(Ordering::Acquire);
        if at.is_some_and(|at| at != start) {
            return Err(Error::OtherOffset { length: start });
        }
        session.used = self.options.clock.now();
        let mut turn = Turn::Idle(session);
        loop {
            let batch = gather(&mut body).await;
            let mut session = turn.finished().await?;
            if batch.bytes > 0 {
                step!(self.options.faults, "registry.upload.write", Ok::<(), Error>(()))?;
                let bytes = batch.bytes as u64;
                if let Err(error) = self.make_room(&mut session, bytes) {
                    // It can never be finished; kept, it would only take up what is too little already.
                    self.uploads.forget(&name);
                    let path = self.layout.uploads().join(&name);
                    // If this fails, the next start finds it.
                    let _ = blocking(move || fs::remove_file(path)).await;
                    return Err(error);
                }
                session.used = self.options.clock.now();
                let frames = batch.frames;
                turn = Turn::Writing(tokio::task::spawn_blocking(move || {
                    let written = session.write(&frames);
                    if written.is_err() {
                        session.charge.shrink(bytes);
                    }
                    session.flush();
                    (session, written)
                }));
            } else {
                turn = Turn::Idle(session);
            }
            if let Some(end) = batch.end {
                turn.finished().await?;
                return end.map(|()| length.load(Ordering::Acquire));
            }
        }
    }

    fn make_room(&self, session: &mut Session, bytes: u64) -> Result<()> {
        let limit = self.options.max_blob_bytes;
        if session.length.load(Ordering::Acquire) + bytes > limit {
            return Err(Error::TooLarge { limit });
        }
        session.charge.grow(bytes)
    }

    pub(super) async fn commit_upload(
        &self,
        repository: &RepositoryName,
        upload: &UploadId,
        digest: &Digest,
    ) -> Result<()> {
        let name = Layout::upload_name(repository, upload);
        let session = self.uploads.hold(&name).await?;
        // From here on nobody writes to this file: it may become a content.
        self.uploads.forget(&name);
        let done = self.commit(repository, &name, session, digest).await;
        let path = self.layout.uploads().join(&name);
        // Still there if it was refused, or if the content was known. If this fails, the next start finds it.
        let _ = blocking(move || fs::remove_file(path)).await;
        done
    }

    async fn commit(
        &self,
        repository: &RepositoryName,
        name: &str,
        session: OwnedMutexGuard<Session>,
        digest: &Digest,
    ) -> Result<()> {
        let size = session.length.load(Ordering::Acquire);
        let algorithm = digest.algorithm();
        let (mut session, found_digest) = blocking(move || {
            let digest = session.digest(algorithm);
            (session, digest)
        })
        .await;
        if found_digest? != *digest {
            return Err(Error::OtherDigest);
        }
        let now = self.options.clock.now();
        step!(self.options.faults, "registry.blob.sync", {
            let (file, flush) = (session.file.clone(), session.flush.clone());
            blocking(move || {
                // Waits for a flush under way: of two syncs at once only one is told of a failure.
                if let Some(kind) = *failure_of(&flush) {
                    return Err(kind.into());
                }
                // A write that failed half-way may have left bytes behind the end.
                file.set_len(size).and_then(|()| file.set_modified(now)).and_then(|()| file.sync_all())
            })
            .await
            .map_err(Error::from)
        })?;
        let target = self.ensure_repository(repository).await?;
        let _shared = target.changes.read().await;
        let _content = self.content_lock(digest).lock().await;
        let content = self.layout.content(digest);
        step!(self.options.faults, "registry.blob.place", {
            let (path, content) = (self.layout.uploads().join(name), content.clone());
            blocking(move || {
                if !content.exists() {
                    fs::rename(path, &content)?;
                }
                // Also if it was there: whoever put it there may not have come this far.
                sync_parent(&content)
            })
            .await
            .map_err(Error::from)
        })?;
        let charge = session.charge.hand_over();
        self.link_blob(content, repository, digest, size, Some(charge)).await
    }

    pub(super) async fn drop_upload(&self, repository: &RepositoryName, upload: &UploadId) -> Result<()> {
        let name = Layout::upload_name(repository, upload);
        let _session = self.uploads.hold(&name).await?;
        self.end_upload(&name).await
    }

    /// For who holds it.
    pub(super) async fn end_upload(&self, name: &str) -> Result<()> {
        step!(self.options.faults, "registry.upload.remove", {
            let path = self.layout.uploads().join(name);
            blocking(move || found(fs::remove_file(path))).await.map_err(Error::from)
        })?;
        self.uploads.forget(name);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use futures_util::stream;

    use super::super::Options;
    use super::*;

    /// The kernel tells of it once; who asks later would hear that all is well.
    #[tokio::test]
    async fn what_a_flush_could_not_write_is_never_a_blob() {
        let folder = tempfile::tempdir().unwrap();
        let disk = LocalDisk::open(folder.path(), Options::default()).await.unwrap();
        let repository: RepositoryName = "a".parse().unwrap();
        let bytes = Bytes::from(vec![7; 100]);
        let digest = Digest::of(Algorithm::Sha256, &bytes);
        for failed in [true, false] {
            let upload = disk.create_upload(&repository).await.unwrap();
            let body = stream::iter([Ok(bytes.clone())]);
            disk.append_upload(&repository, &upload, None, body).await.unwrap();
            if failed {
                let session = disk.uploads.hold(&Layout::upload_name(&repository, &upload)).await.unwrap();
                *failure_of(&session.flush) = Some(io::ErrorKind::StorageFull);
            }
            let committed = disk.commit_upload(&repository, &upload, &digest).await;
            assert_eq!(matches!(committed, Err(Error::DiskFull)), failed, "{committed:?}");
            assert_eq!(committed.is_ok(), !failed);
            assert_eq!(disk.blob_size(&repository, &digest).await.unwrap().is_some(), !failed);
        }
    }
}
