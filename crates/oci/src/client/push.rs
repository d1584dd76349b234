//! Pushes a whole image: every blob that is not there yet, then the manifest under its digest, then its tag.

use bytes::Bytes;

use super::{BlobSource, ClientError, Registry, Result};
use crate::{Digest, Image, Repository, Tag};

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

fn repository_of(text: &str) -> Result<Repository> {
    text.parse().map_err(|_| ClientError::Unusable { what: format!("{text:?} is no repository") })
}

#[cfg(test)]
#[path = "push_tests.rs"]
mod tests;
