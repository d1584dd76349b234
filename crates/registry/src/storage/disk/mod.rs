//! Storage in a folder of this machine. `layout` says where things lie and why they are files.
//!
//! Locks, always taken in this order: a repository's, then a content's. Who adds a blob to a repository holds its lock
//! shared; who puts or deletes a manifest, deletes a blob or collects garbage holds it alone. So nobody can take away a
//! blob between the moment when a manifest's parts were looked at and the moment when the manifest is there. A content's
//! lock keeps the collector from removing a content that is just being linked. Readers take no lock, except to fill the
//! cache, where an old answer must not outlive a deletion.
//!
//! A caller must not drop the future of a change half-way: the locks would open while a file is still being written.
//! The HTTP side runs changes in tasks of their own.

mod begin;
mod blobs;
mod charge;
mod collect;
mod files;
mod layout;
mod manifests;
mod uploads;

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use bytes::Bytes;
use futures_util::Stream;
use gpuaas_faults::Faults;
use tokio::sync::{OnceCell, RwLock};

use self::files::{blocking, make_folder, make_folders, names_in, sync_parent};
use self::layout::Layout;
use self::uploads::Uploads;
use crate::cache::Cache;
use crate::clock::{Clock, SystemClock};
use crate::digest::Digest;
use crate::error::Result;
use crate::names::{Reference, RepositoryName, UploadId};
use crate::storage::{
    Collected, NewManifest, NoQuota, Quota, ReferrerPage, Storage, StoredManifest, TagPage,
};

pub use self::blobs::DiskBlob;

/// Contents share so many locks.
const CONTENT_LOCKS: usize = 64;

#[derive(Clone)]
pub struct Options {
    pub clock: Arc<dyn Clock>,
    pub quota: Arc<dyn Quota>,
    pub faults: Faults,
    /// Each holds a file open, so this stays below what a process may have.
    pub max_uploads: usize,
    /// Of one owner, as the quota knows it: nobody takes the place of all others.
    pub max_uploads_each: usize,
    /// After so long an upload to which nothing was ever sent is garbage.
    pub empty_upload_lifetime: Duration,
    /// After so long without a byte an upload is garbage.
    pub upload_lifetime: Duration,
    pub max_blob_bytes: u64,
    /// Manifests about one subject; more are refused. Whoever asks for all of them has to hold them.
    pub max_referrers: usize,
    /// What is younger is never garbage: its manifest may be on the way.
    pub grace: Duration,
    pub cache_bytes: usize,
    /// What the names of all repositories begin with. It may change between two starts: their folders do without it.
    pub prefix: String,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            clock: Arc::new(SystemClock),
            quota: Arc::new(NoQuota),
            faults: Faults::none(),
            max_uploads: 1024,
            max_uploads_each: 32,
            empty_upload_lifetime: Duration::from_mins(10),
            upload_lifetime: Duration::from_hours(24),
            max_blob_bytes: 512 << 30,
            max_referrers: 1000,
            grace: Duration::from_hours(24),
            cache_bytes: 32 << 20,
            prefix: String::new(),
        }
    }
}

/// What is known of a repository in memory.
#[derive(Default)]
struct Repository {
    changes: RwLock<()>,
    /// Its folders are there, durably.
    made: OnceCell<()>,
}

pub struct LocalDisk {
    layout: Layout,
    options: Options,
    repositories: Mutex<HashMap<RepositoryName, Arc<Repository>>>,
    contents: Vec<tokio::sync::Mutex<()>>,
    uploads: Uploads,
    cache: Cache,
    drafts: AtomicU64,
    /// Two processes would not see each other's locks.
    _lock: File,
}

impl LocalDisk {
    /// Opens the folder, or makes it. Refuses if another process has it open.
    pub async fn open(root: &Path, options: Options) -> io::Result<Self> {
        let layout = Layout::new(root, &options.prefix);
        let opening = layout.clone();
        let (lock, uploads) = blocking(move || prepare(&opening)).await?;
        Ok(Self {
            layout,
            cache: Cache::new(options.cache_bytes),
            uploads: Uploads::new(uploads, &options.quota),
            options,
            repositories: Mutex::default(),
            contents: std::iter::repeat_with(tokio::sync::Mutex::default).take(CONTENT_LOCKS).collect(),
            drafts: AtomicU64::new(0),
            _lock: lock,
        })
    }

    fn repositories(&self) -> MutexGuard<'_, HashMap<RepositoryName, Arc<Repository>>> {
        self.repositories.lock().expect("nothing panics while it is held")
    }

    /// A repository that was pushed to before. Asking for others leaves no trace in memory.
    async fn find_repository(&self, name: &RepositoryName) -> Option<Arc<Repository>> {
        if let Some(found) = self.repositories().get(name) {
            return Some(found.clone());
        }
        // The last of its folders to be made.
        let folder = self.layout.all_referrers(name);
        if !blocking(move || folder.is_dir()).await {
            return None;
        }
        Some(self.repositories().entry(name.clone()).or_default().clone())
    }

    /// The repository, made if it was not there.
    async fn ensure_repository(&self, name: &RepositoryName) -> Result<Arc<Repository>> {
        let repository = self.repositories().entry(name.clone()).or_default().clone();
        let (folder, root) = (self.layout.repository(name), self.layout.repositories());
        repository
            .made
            .get_or_try_init(async || {
                blocking(move || {
                    layout::PARTS.iter().try_for_each(|part| make_folder(&folder.join(part), &root))
                })
                .await
            })
            .await?;
        Ok(repository)
    }

    fn content_lock(&self, digest: &Digest) -> &tokio::sync::Mutex<()> {
        let first = usize::from_str_radix(&digest.hex()[..2], 16).unwrap_or_default();
        &self.contents[first % CONTENT_LOCKS]
    }

    /// A place for a small file that is being written. Drafts of an earlier process are gone, so a number will do.
    fn draft(&self) -> PathBuf {
        self.layout.drafts().join(self.drafts.fetch_add(1, Ordering::Relaxed).to_string())
    }
}

/// The lock, and the uploads that an earlier process left.
fn prepare(layout: &Layout) -> io::Result<(File, Vec<begin::Left>)> {
    fs::create_dir_all(layout.root())?;
    sync_parent(layout.root())?;
    let folders = [layout.drafts(), layout.uploads(), layout.uploaders(), layout.repositories()];
    make_folders(&folders, layout.root())?;
    let lock = OpenOptions::new().create(true).truncate(false).write(true).open(layout.lock())?;
    lock.try_lock().map_err(|error| match error {
        TryLockError::WouldBlock => {
            io::Error::new(io::ErrorKind::ResourceBusy, "another process has this registry open")
        }
        TryLockError::Error(error) => error,
    })?;
    make_folders(&layout.content_folders(), layout.root())?;
    for name in names_in(&layout.drafts())? {
        fs::remove_file(layout.drafts().join(name))?;
    }
    Ok((lock, begin::left(layout)?))
}

impl Storage for LocalDisk {
    type Blob = DiskBlob;

    async fn find_blob_size(&self, repository: &RepositoryName, digest: &Digest) -> Result<Option<u64>> {
        self.blob_size(repository, digest).await
    }

    async fn find_blob(&self, repository: &RepositoryName, digest: &Digest) -> Result<Option<DiskBlob>> {
        let path = self.layout.blob(repository, digest);
        Ok(blocking(move || DiskBlob::open(&path)).await?)
    }

    async fn delete_blob(&self, repository: &RepositoryName, digest: &Digest) -> Result<()> {
        self.unlink_blob(repository, digest).await
    }

    async fn mount_blob(
        &self,
        repository: &RepositoryName,
        source: &RepositoryName,
        digest: &Digest,
    ) -> Result<bool> {
        self.mount(repository, source, digest).await
    }

    async fn start_upload(&self, repository: &RepositoryName) -> Result<UploadId> {
        self.create_upload(repository).await
    }

    async fn upload_length(&self, repository: &RepositoryName, upload: &UploadId) -> Result<u64> {
        self.uploads.length(&Layout::upload_name(repository, upload))
    }

    async fn append<B>(
        &self,
        repository: &RepositoryName,
        upload: &UploadId,
        at: Option<u64>,
        body: B,
    ) -> Result<u64>
    where
        B: Stream<Item = Result<Bytes>> + Send + Unpin,
    {
        self.append_upload(repository, upload, at, body).await
    }

    async fn finish_upload(
        &self,
        repository: &RepositoryName,
        upload: &UploadId,
        digest: &Digest,
    ) -> Result<()> {
        self.commit_upload(repository, upload, digest).await
    }

    async fn cancel_upload(&self, repository: &RepositoryName, upload: &UploadId) -> Result<()> {
        self.drop_upload(repository, upload).await
    }

    async fn put_manifest(&self, repository: &RepositoryName, new: NewManifest) -> Result<()> {
        self.write_manifest(repository, new).await
    }

    async fn find_manifest(
        &self,
        repository: &RepositoryName,
        reference: &Reference,
    ) -> Result<Option<Arc<StoredManifest>>> {
        self.look_up(repository, reference).await
    }

    async fn delete_manifest(&self, repository: &RepositoryName, reference: &Reference) -> Result<()> {
        match reference {
            Reference::Tag(tag) => self.remove_tag(repository, tag).await,
            Reference::Digest(digest) => self.remove_manifest(repository, digest).await,
        }
    }

    async fn list_tags(
        &self,
        repository: &RepositoryName,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Option<TagPage>> {
        self.tag_page(repository, after, limit).await
    }

    async fn referrer_page(
        &self,
        repository: &RepositoryName,
        subject: &Digest,
        after: Option<&Digest>,
    ) -> Result<ReferrerPage> {
        self.referrers(repository, subject, after).await
    }

    async fn collect(&self) -> Result<Collected> {
        self.collect_garbage().await
    }

    async fn usage(&self) -> Result<Vec<(RepositoryName, u64)>> {
        self.measure().await
    }
}
