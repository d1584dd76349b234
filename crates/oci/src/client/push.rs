//! Pushes a whole image: every blob that is not there yet, then the manifest under its digest, then its tag.

use bytes::Bytes;

use super::{BlobSource, ClientError, Pointer, Registry, Result};
use crate::manifest::{self, BadManifest, Descriptor, ImageManifest, MAX_MANIFEST_BYTES, Manifest};
use crate::{BadLayout, Digest, Image, Layout, Repository, Tag};

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
    /// Every byte is compared with its digest before it is sent.
    pub async fn push_layout(
        &self,
        repository: &Repository,
        layout: &Layout,
        entry: &Descriptor,
        tag: Option<&Tag>,
    ) -> Result<Pushed> {
        let bytes = layout.read(entry, MAX_MANIFEST_BYTES as u64).map_err(from_layout)?;
        let mut uploaded = 0;
        match manifest::read_promised(&bytes, entry).map_err(|why| bad(entry, why))? {
            Manifest::Image(image) => uploaded += self.push_parts(repository, layout, &image).await?,
            Manifest::Index(index) => {
                for part in &index.manifests {
                    let bytes = layout.read(part, MAX_MANIFEST_BYTES as u64).map_err(from_layout)?;
                    match manifest::read_promised(&bytes, part).map_err(|why| bad(part, why))? {
                        Manifest::Image(image) => {
                            uploaded += self.push_parts(repository, layout, &image).await?;
                        }
                        Manifest::Index(_) => return Err(bad(part, BadManifest::NestedIndex)),
                    }
                    self.put_manifest(repository, &part.digest, &part.media_type, bytes).await?;
                }
            }
        }
        let pointers = [Some(Pointer::Digest(&entry.digest)), tag.map(Pointer::Tag)];
        for pointer in pointers.into_iter().flatten() {
            self.put_manifest(repository, pointer, &entry.media_type, bytes.clone()).await?;
        }
        Ok(Pushed { digest: entry.digest.clone(), uploaded })
    }

    async fn push_parts(
        &self,
        repository: &Repository,
        layout: &Layout,
        image: &ImageManifest,
    ) -> Result<usize> {
        let mut uploaded = 0;
        for part in image.layers.iter().chain([&image.config]) {
            uploaded += usize::from(self.push_part(repository, layout, part).await?);
        }
        Ok(uploaded)
    }

    async fn push_part(&self, repository: &Repository, layout: &Layout, part: &Descriptor) -> Result<bool> {
        if self.find_blob(repository, &part.digest).await?.is_some() {
            return Ok(false);
        }
        let place = layout.place(part).map_err(from_layout)?;
        let source = BlobSource::File { path: place.path, offset: place.offset, size: place.size };
        let found = source.digest().await?;
        if found != part.digest {
            return Err(ClientError::OtherDigest { ours: part.digest.clone(), theirs: found.to_string() });
        }
        self.push_blob(repository, &part.digest, &source, &|_| ()).await
    }
}

fn from_layout(why: BadLayout) -> ClientError {
    ClientError::Layout { why }
}

fn bad(entry: &Descriptor, why: BadManifest) -> ClientError {
    ClientError::Manifest { url: entry.digest.to_string(), why }
}

fn repository_of(text: &str) -> Result<Repository> {
    text.parse().map_err(|_| ClientError::Unusable { what: format!("{text:?} is no repository") })
}

#[cfg(test)]
#[path = "push_tests.rs"]
mod tests;
