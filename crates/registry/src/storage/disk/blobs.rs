//! Blobs of repositories: hard links to contents.

use std::fs::{self, File};
use std::io::{self, IoSliceMut, Read as _};
use std::ops::Range;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use bytes::Bytes;
use futures_util::future::Either;
use futures_util::stream::{self, Stream};
use gpuaas_faults::step;
use rustix::fs::{Advice, fadvise};
use rustix::io::{ReadWriteFlags, preadv2};

use super::LocalDisk;
use super::charge::Charge;
use super::files::{Draft, blocking, found, remove, sync_parent, touch};
use crate::digest::Digest;
use crate::error::{Error, Result};
use crate::names::RepositoryName;
use crate::storage::BlobSource;

/// Large enough that a call does not count, small enough that what was read is still in the core's cache when it is sent.
const CHUNK: usize = 256 << 10;
/// What is this small is read where it is opened.
const SMALL: u64 = 64 << 10;

impl LocalDisk {
    /// Also makes the blob young again if it has passed half of the grace: whoever learns that it is there may rely on
    /// it for a while.
    pub(super) async fn blob_size(
        &self,
        repository: &RepositoryName,
        digest: &Digest,
    ) -> Result<Option<u64>> {
        let path = self.layout.blob(repository, digest);
        let looked_at = path.clone();
        let Some(metadata) = blocking(move || found(fs::metadata(looked_at))).await? else { return Ok(None) };
        let now = self.options.clock.now();
        let age = now.duration_since(metadata.modified()?).unwrap_or_default();
        if age > self.options.grace / 2 {
            let Some(known) = self.find_repository(repository).await else { return Ok(None) };
            // Not while the collector looks at ages here.
            let _shared = known.changes.read().await;
            let touched = blocking(move || found(touch(&path, now))).await?;
            return Ok(touched.map(|()| metadata.len()));
        }
        Ok(Some(metadata.len()))
    }

    /// Makes the file at `from`, which is a content or another repository's link to it, a blob of the repository. The
    /// caller holds the repository's lock and the content's, and may have paid.
    pub(super) async fn link_blob(
        &self,
        from: PathBuf,
        repository: &RepositoryName,
        digest: &Digest,
        size: u64,
        paid: Option<Charge>,
    ) -> Result<()> {
        let place = self.layout.blob(repository, digest);
        let now = self.options.clock.now();
        let (young, there) = (from.clone(), place.clone());
        let known = blocking(move || touch(&young, now).map(|()| there.exists())).await?;
        if known {
            // It may lie in an inode of its own, after a content had too many links.
            return Ok(blocking(move || touch(&place, now)).await?);
        }
        let charge = paid.map_or_else(|| Charge::take(&self.options.quota, repository, size), Ok)?;
        let content = self.layout.content(digest);
        let linked: Result<()> = step!(self.options.faults, "registry.blob.link", {
            let (from, place, content, draft) = (from.clone(), place.clone(), content.clone(), self.draft());
            blocking(move || link(&from, &place, &content, draft, now)).await.map_err(Error::from)
        });
        if linked.is_ok() || blocking(move || place.exists()).await {
            charge.keep();
        }
        linked
    }

    pub(super) async fn mount(
        &self,
        repository: &RepositoryName,
        source: &RepositoryName,
        digest: &Digest,
    ) -> Result<bool> {
        let from = self.layout.blob(source, digest);
        let looked_at = from.clone();
        let Some(metadata) = blocking(move || found(fs::metadata(looked_at))).await? else {
            return Ok(false);
        };
        let target = self.ensure_repository(repository).await?;
        let _shared = target.changes.read().await;
        let _content = self.content_lock(digest).lock().await;
        match self.link_blob(from, repository, digest, metadata.len(), None).await {
            Ok(()) => Ok(true),
            // The source has lost it meanwhile.
            Err(Error::Io(error)) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    pub(super) async fn unlink_blob(&self, repository: &RepositoryName, digest: &Digest) -> Result<()> {
        let known = self.find_repository(repository).await.ok_or(Error::BlobUnknown)?;
        let _alone = known.changes.write().await;
        let path = self.layout.blob(repository, digest);
        let looked_at = path.clone();
        let size = blocking(move || found(fs::metadata(looked_at))).await?.ok_or(Error::BlobUnknown)?.len();
        if self.references(repository).await?.contains(digest) {
            return Err(Error::BlobInUse);
        }
        // Who links this content waits, and then finds it gone or has it already.
        let _content = self.content_lock(digest).lock().await;
        step!(self.options.faults, "registry.blob.unlink", {
            let path = path.clone();
            blocking(move || remove(&path)).await.map_err(Error::from)
        })?;
        self.options.quota.give_back(repository, size);
        // It counts for nobody now, so it does not wait for the collector: pushed and deleted over and over, it would
        // fill the disk. The grace is for what nobody has deleted.
        self.remove_content(digest, None).await.map(drop)
    }
}

/// File systems bound how many links an inode has (ext4: 65 000). Then the content becomes a fresh copy, which takes the
/// links from now on; the full inode lives as long as its repositories have it.
fn link(from: &Path, place: &Path, content: &Path, draft: PathBuf, now: SystemTime) -> io::Result<()> {
    match fs::hard_link(from, place) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) if error.kind() == io::ErrorKind::TooManyLinks => {
            Draft::copy(from, draft, now)?.put(content)?;
            fs::hard_link(content, place)?;
        }
        done => done?,
    }
    sync_parent(place)
}

/// A blob that is open for reading.
pub struct DiskBlob {
    size: u64,
    bytes: Held,
}

enum Held {
    Read(Bytes),
    In(File),
}

impl DiskBlob {
    pub(super) fn open(path: &Path) -> io::Result<Option<Self>> {
        let Some(mut file) = found(File::open(path))? else { return Ok(None) };
        let size = file.metadata()?.len();
        if size > SMALL {
            // The disk works while the network does. A file system that takes no advice is no failure.
            let _ = fadvise(&file, 0, None, Advice::Sequential);
            return Ok(Some(Self { size, bytes: Held::In(file) }));
        }
        let bytes = read_exactly(&mut file, size)?;
        Ok(Some(Self { size, bytes: Held::Read(bytes) }))
    }
}

/// Into fresh memory that is not cleared first.
fn read_exactly(file: &mut File, length: u64) -> io::Result<Bytes> {
    let mut buffer = Vec::with_capacity(usize::try_from(length).unwrap_or_default());
    file.take(length).read_to_end(&mut buffer)?;
    if buffer.len() as u64 != length {
        return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "a blob is shorter than it was"));
    }
    Ok(buffer.into())
}

/// What is left to read.
struct Reading {
    file: Arc<File>,
    left: Range<u64>,
    buffers: Arc<Mutex<Vec<Vec<u8>>>>,
}

/// A buffer that comes back when its bytes are sent, because fresh memory costs as much as the copy into it.
struct Loan {
    buffer: Vec<u8>,
    length: usize,
    home: Arc<Mutex<Vec<Vec<u8>>>>,
}

impl AsRef<[u8]> for Loan {
    fn as_ref(&self) -> &[u8] {
        &self.buffer[..self.length]
    }
}

impl Drop for Loan {
    fn drop(&mut self) {
        if let Ok(mut home) = self.home.lock() {
            home.push(std::mem::take(&mut self.buffer));
        }
    }
}

/// What the kernel has in memory already; nothing if it would have to wait for the disk, or cannot tell.
fn read_now(file: &File, buffer: &mut [u8], at: u64) -> Option<usize> {
    let read = preadv2(file, &mut [IoSliceMut::new(buffer)], at, ReadWriteFlags::NOWAIT);
    read.ok().filter(|length| *length > 0)
}

impl Reading {
    fn lend(&self) -> Loan {
        let used = self.buffers.lock().ok().and_then(|mut buffers| buffers.pop());
        let buffer = used.unwrap_or_else(|| {
            let all = usize::try_from(self.left.end - self.left.start).unwrap_or(CHUNK);
            vec![0; all.min(CHUNK)]
        });
        Loan { buffer, length: 0, home: self.buffers.clone() }
    }

    async fn next(&mut self) -> io::Result<Option<Bytes>> {
        let left = usize::try_from(self.left.end - self.left.start).unwrap_or(usize::MAX);
        if left == 0 {
            return Ok(None);
        }
        let mut loan = self.lend();
        let (at, wanted) = (self.left.start, left.min(loan.buffer.len()));
        if let Some(length) = read_now(&self.file, &mut loan.buffer[..wanted], at) {
            loan.length = length;
        } else {
            let file = self.file.clone();
            loan = blocking(move || {
                file.read_exact_at(&mut loan.buffer[..wanted], at)?;
                loan.length = wanted;
                Ok::<_, io::Error>(loan)
            })
            .await?;
        }
        self.left.start += loan.length as u64;
        Ok(Some(Bytes::from_owner(loan)))
    }
}

impl BlobSource for DiskBlob {
    fn size(&self) -> u64 {
        self.size
    }

    fn read(self, range: Range<u64>) -> impl Stream<Item = io::Result<Bytes>> + Send + 'static {
        let file = match self.bytes {
            Held::Read(bytes) => {
                let inside = |at: u64| usize::try_from(at).unwrap_or(usize::MAX).min(bytes.len());
                let part = bytes.slice(inside(range.start)..inside(range.end));
                return Either::Left(stream::iter((!part.is_empty()).then_some(Ok(part))));
            }
            Held::In(file) => file,
        };
        let left = range.start..range.end.max(range.start);
        let reading = Reading { file: Arc::new(file), left, buffers: Arc::default() };
        Either::Right(stream::try_unfold(reading, |mut reading| async move {
            let bytes = reading.next().await?;
            Ok(bytes.map(|bytes| (bytes, reading)))
        }))
    }
}
