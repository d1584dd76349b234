//! The storage seam: what the protocol's operations mean, without saying where the bytes lie.
//!
//! Laws that every implementation keeps, and that the HTTP side relies on:
//! - what was answered is durable; what was not answered is there as a whole or not at all;
//! - a blob is readable in a repository only if it was pushed or mounted there;
//! - a manifest is there only together with all the blobs it names, at the sizes it gives;
//! - a tag leads to a manifest that is there;
//! - collecting garbage takes nothing that a manifest names, and nothing young.

pub mod disk;

use std::future::Future;
use std::io;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::Stream;

use crate::digest::Digest;
use crate::error::Result;
use crate::manifest::{Manifest, MediaType, Referrer};
use crate::names::{Reference, RepositoryName, Tag, UploadId};

/// A manifest as it was pushed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredManifest {
    pub digest: Digest,
    pub media_type: MediaType,
    pub bytes: Bytes,
}

/// A manifest that was read and found good, about to be stored.
pub struct NewManifest {
    pub digest: Digest,
    pub bytes: Bytes,
    pub manifest: Manifest,
    pub tag: Option<Tag>,
}

/// A part of the tags, in order.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct TagPage {
    pub tags: Vec<Tag>,
    /// There are more behind the last one.
    pub more: bool,
}

/// A part of what refers to a subject, in the order of digests.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct ReferrerPage {
    pub referrers: Vec<Referrer>,
    /// Where the next page begins, behind this one. It may be one that this page does not show.
    pub next: Option<Digest>,
}

/// What a round of garbage collection took.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Collected {
    /// Blobs that no manifest of their repository names.
    pub unlinked: u64,
    /// Contents that no repository has, and their bytes.
    pub contents: u64,
    pub bytes: u64,
    /// Uploads that nobody went on with.
    pub uploads: u64,
}

/// A blob that is open for reading. It stays readable when it is deleted meanwhile.
pub trait BlobSource: Send + 'static {
    fn size(&self) -> u64;

    /// The bytes of this range, which lies inside the blob.
    fn read(self, range: Range<u64>) -> impl Stream<Item = io::Result<Bytes>> + Send + 'static;
}

pub trait Storage: Send + Sync + 'static {
    type Blob: BlobSource;

    /// The size. Who asks may be about to leave out an upload, so what is there counts as young again.
    fn find_blob_size(
        &self,
        repository: &RepositoryName,
        digest: &Digest,
    ) -> impl Future<Output = Result<Option<u64>>> + Send;

    fn find_blob(
        &self,
        repository: &RepositoryName,
        digest: &Digest,
    ) -> impl Future<Output = Result<Option<Self::Blob>>> + Send;

    /// Refuses while a manifest of the repository names it.
    fn delete_blob(
        &self,
        repository: &RepositoryName,
        digest: &Digest,
    ) -> impl Future<Output = Result<()>> + Send;

    /// Says whether the source had it.
    fn mount_blob(
        &self,
        repository: &RepositoryName,
        source: &RepositoryName,
        digest: &Digest,
    ) -> impl Future<Output = Result<bool>> + Send;

    fn start_upload(&self, repository: &RepositoryName) -> impl Future<Output = Result<UploadId>> + Send;

    /// How many bytes are there.
    fn upload_length(
        &self,
        repository: &RepositoryName,
        upload: &UploadId,
    ) -> impl Future<Output = Result<u64>> + Send;

    /// Adds the body behind what is there, which must end at `at` if that is given. What came before the body broke
    /// off is kept, but an upload that is too large, or for which there is no room, is over. Returns the new length.
    fn append<B>(
        &self,
        repository: &RepositoryName,
        upload: &UploadId,
        at: Option<u64>,
        body: B,
    ) -> impl Future<Output = Result<u64>> + Send
    where
        B: Stream<Item = Result<Bytes>> + Send + Unpin;

    /// Makes it a blob of the repository, if it is what the digest promises. The upload is over either way.
    fn finish_upload(
        &self,
        repository: &RepositoryName,
        upload: &UploadId,
        digest: &Digest,
    ) -> impl Future<Output = Result<()>> + Send;

    fn cancel_upload(
        &self,
        repository: &RepositoryName,
        upload: &UploadId,
    ) -> impl Future<Output = Result<()>> + Send;

    fn put_manifest(
        &self,
        repository: &RepositoryName,
        new: NewManifest,
    ) -> impl Future<Output = Result<()>> + Send;

    fn find_manifest(
        &self,
        repository: &RepositoryName,
        reference: &Reference,
    ) -> impl Future<Output = Result<Option<Arc<StoredManifest>>>> + Send;

    /// By digest the manifest and every tag that leads to it, by tag the tag alone.
    fn delete_manifest(
        &self,
        repository: &RepositoryName,
        reference: &Reference,
    ) -> impl Future<Output = Result<()>> + Send;

    /// Nothing if the repository is not known.
    fn list_tags(
        &self,
        repository: &RepositoryName,
        after: Option<&str>,
        limit: usize,
    ) -> impl Future<Output = Result<Option<TagPage>>> + Send;

    /// A part of them, small enough to be held and sent whole.
    fn referrer_page(
        &self,
        repository: &RepositoryName,
        subject: &Digest,
        after: Option<&Digest>,
    ) -> impl Future<Output = Result<ReferrerPage>> + Send;

    /// All of them, which [`Storage::put_manifest`] keeps few.
    fn list_referrers(
        &self,
        repository: &RepositoryName,
        subject: &Digest,
    ) -> impl Future<Output = Result<Vec<Referrer>>> + Send {
        async {
            let mut page = self.referrer_page(repository, subject, None).await?;
            let mut all = std::mem::take(&mut page.referrers);
            while let Some(after) = page.next {
                page = self.referrer_page(repository, subject, Some(&after)).await?;
                all.append(&mut page.referrers);
            }
            Ok(all)
        }
    }

    /// One round of garbage collection, beside everything else that goes on.
    fn collect(&self) -> impl Future<Output = Result<Collected>> + Send;

    /// The bytes of each repository, blobs, manifests and uploads under way, as a [`Quota`] counts them.
    fn usage(&self) -> impl Future<Output = Result<Vec<(RepositoryName, u64)>>> + Send;
}

/// How much a repository may hold. The owner groups repositories as it likes; it starts from [`Storage::usage`], and is
/// told of every change after that.
pub trait Quota: Send + Sync + 'static {
    /// What the repository may still take; looked at before an upload begins, so that nobody sends in vain.
    fn room(&self, repository: &RepositoryName) -> u64;

    /// Takes so many bytes at once, or none of them. What is uploaded is taken as it comes, and only once.
    fn take(&self, repository: &RepositoryName, bytes: u64) -> bool;

    fn give_back(&self, repository: &RepositoryName, bytes: u64);

    /// Whose repository it is: each owner has so many uploads under way, in all repositories together. Unless it is
    /// known better, each repository stands for itself.
    fn owner(&self, repository: &RepositoryName) -> String {
        repository.to_string()
    }
}

/// As much as the disk holds.
pub struct NoQuota;

impl Quota for NoQuota {
    fn room(&self, _: &RepositoryName) -> u64 {
        u64::MAX
    }

    fn take(&self, _: &RepositoryName, _: u64) -> bool {
        true
    }

    fn give_back(&self, _: &RepositoryName, _: u64) {}
}
