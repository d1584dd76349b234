//! Pushes a whole image: every blob that is not there yet, then the manifest under its digest, then its tag.

use std::collections::BTreeMap;

use bytes::Bytes;

use super::{BlobSource, ClientError, Pointer, Progress, Registry, Result};
use crate::manifest::{Descriptor, MAX_MANIFEST_BYTES};
use crate::{BadLayout, Digest, Image, LaidImage, Layout, Repository, Tag};

/// What a push did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pushed {
    pub digest: Digest,
    /// Blobs that were sent; the others were there.
    pub uploaded: usize,
}

impl Registry {
    /// Whether the registry holds this manifest. Takes the repository as it was typed.
    pub async fn exists(&self, repository: &str, digest: &Digest) -> Result<bool> {
        Ok(self.find_manifest_head(&repository_of(repository)?, digest).await?.is_some())
    }

    /// Makes sure that the registry holds the image under its digest, and under `tag` if there is one. Takes both names
    /// as they were typed.
    pub async fn push(&self, repository: &str, image: &Image, tag: Option<&str>) -> Result<Pushed> {
        let repository = repository_of(repository)?;
        let unusable = |tag: &str| ClientError::Unusable { what: format!("{tag:?} is no tag") };
        let tag: Option<Tag> = tag.map(|tag| tag.parse().map_err(|_| unusable(tag))).transpose()?;
        let mut uploaded = 0;
        for blob in image.blobs() {
            let source = BlobSource::Memory(Bytes::copy_from_slice(&blob.bytes));
            if self.push_blob(&repository, &blob.digest, &source, &|_| ()).await? {
                uploaded += 1;
            }
        }
        let manifest = &image.manifest;
        self.put_manifest(&repository, image.digest(), manifest.media_type, manifest.bytes.clone()).await?;
        if let Some(tag) = &tag {
            self.put_manifest(&repository, tag, manifest.media_type, manifest.bytes.clone()).await?;
        }
        Ok(Pushed { digest: image.digest().clone(), uploaded })
    }
}

impl Registry {
    /// Makes sure that the registry holds what a layout has under this entry: an image, or an index and its images.
    /// Every byte is compared with its digest before it is sent. `progress` counts the bytes of all blobs, those that
    /// were there included.
    pub async fn push_layout(
        &self,
        repository: &Repository,
        layout: &Layout,
        entry: &Descriptor,
        tag: Option<&Tag>,
        progress: &(dyn Fn(Progress) + Send + Sync),
    ) -> Result<Pushed> {
        let bytes = layout.read(entry, MAX_MANIFEST_BYTES as u64).map_err(from_layout)?;
        let images = layout.images(entry).map_err(from_layout)?;
        let parts: BTreeMap<&Digest, &Descriptor> =
            images.iter().flat_map(LaidImage::parts).map(|part| (&part.digest, part)).collect();
        let total = parts.values().map(|part| part.size).sum();
        let (mut done, mut uploaded) = (0, 0);
        for part in parts.values() {
            let told = |of: Progress| progress(Progress { done: done + of.done, total });
            uploaded += usize::from(self.push_part(repository, layout, part, &told).await?);
            done += part.size;
            progress(Progress { done, total });
        }
        for image in images.iter().filter(|image| image.entry.digest != entry.digest) {
            let bytes = layout.read(&image.entry, MAX_MANIFEST_BYTES as u64).map_err(from_layout)?;
            self.put_manifest(repository, &image.entry.digest, &image.entry.media_type, bytes).await?;
        }
        let pointers = [Some(Pointer::Digest(&entry.digest)), tag.map(Pointer::Tag)];
        for pointer in pointers.into_iter().flatten() {
            self.put_manifest(repository, pointer, &entry.media_type, bytes.clone()).await?;
        }
        Ok(Pushed { digest: entry.digest.clone(), uploaded })
    }

    async fn push_part(
        &self,
        repository: &Repository,
        layout: &Layout,
        part: &Descriptor,
        progress: &(dyn Fn(Progress) + Send + Sync),
    ) -> Result<bool> {
        if self.find_blob(repository, &part.digest).await?.is_some() {
            return Ok(false);
        }
        let place = layout.place(part).map_err(from_layout)?;
        let source = BlobSource::File { path: place.path, offset: place.offset, size: place.size };
        let found = source.digest().await?;
        if found != part.digest {
            return Err(ClientError::OtherDigest { ours: part.digest.clone(), theirs: found.to_string() });
        }
        self.push_blob(repository, &part.digest, &source, progress).await
    }
}

fn from_layout(why: BadLayout) -> ClientError {
    ClientError::Layout { why }
}

fn repository_of(text: &str) -> Result<Repository> {
    text.parse().map_err(|_| ClientError::Unusable { what: format!("{text:?} is no repository") })
}

#[cfg(test)]
#[path = "push_tests.rs"]
mod tests;
