//! What belongs to a digest: signatures, provenance, bills of material.
//!
//! A registry of the newer specification lists them itself. In an older one they stand in an index under the tag
//! `sha256-<hex>`, which whoever adds one has to keep; two who add at the same time may lose one of them there, so the
//! list is read again and the entry put back if it is missing.

use reqwest::{Method, StatusCode};

use super::manifests::content_type;
use super::{Ask, ClientError, Registry, Result, Scope, plain, read_limited};
use crate::manifest::{self, BadManifest, Descriptor, MAX_MANIFEST_BYTES, Manifest, OCI_INDEX};
use crate::{Digest, Repository, Tag};

const MAX_PAGES: usize = 16;
const ADD_ATTEMPTS: usize = 3;

impl Registry {
    /// What refers to a digest, perhaps of one type only.
    pub async fn list_referrers(
        &self,
        repository: &Repository,
        digest: &Digest,
        artifact_type: Option<&str>,
    ) -> Result<Vec<Descriptor>> {
        let mut all = match self.listed_referrers(repository, digest).await? {
            Some(all) => all,
            None => self.tagged_referrers(repository, digest).await?,
        };
        // A registry may or may not have filtered.
        all.retain(|entry| artifact_type.is_none_or(|wanted| entry.artifact_type.as_deref() == Some(wanted)));
        Ok(all)
    }

    /// None if the registry keeps no such lists.
    async fn listed_referrers(
        &self,
        repository: &Repository,
        digest: &Digest,
    ) -> Result<Option<Vec<Descriptor>>> {
        let mut all = Vec::new();
        let mut next = Some(self.url(repository, &format!("referrers/{digest}")));
        for page in 0..MAX_PAGES {
            let Some(url) = next.take() else { return Ok(Some(all)) };
            let ask = Ask::new(Method::GET, url.clone(), Scope::pull(repository));
            let good = [
                StatusCode::OK,
                StatusCode::NOT_FOUND,
                StatusCode::BAD_REQUEST,
                StatusCode::METHOD_NOT_ALLOWED,
            ];
            let mut answer = self.retrying(|| self.ask(&ask, &good)).await?;
            if answer.status() != StatusCode::OK || content_type(&answer) != OCI_INDEX {
                if page == 0 {
                    return Ok(None);
                }
                return Err(ClientError::BadAnswer {
                    url: plain(&url),
                    why: "a page of its list is missing",
                });
            }
            next = self.next_page(&answer)?;
            let bytes = read_limited(self, &mut answer, MAX_MANIFEST_BYTES).await?;
            all.extend(entries(&plain(&url), &bytes, OCI_INDEX)?);
        }
        let url = plain(&self.url(repository, &format!("referrers/{digest}")));
        Err(ClientError::TooLarge { url, most: MAX_PAGES as u64 })
    }

    async fn tagged_referrers(&self, repository: &Repository, digest: &Digest) -> Result<Vec<Descriptor>> {
        let tag = Tag::of_digest(digest, "");
        match self.find_manifest(repository, &tag).await? {
            Some(found) => entries(&format!("{repository}:{tag}"), &found.bytes, &found.media_type),
            None => Ok(Vec::new()),
        }
    }

    /// Puts a manifest that names `subject`, and makes sure that it is found from there.
    pub async fn put_referrer(
        &self,
        repository: &Repository,
        subject: &Digest,
        entry: &Descriptor,
        bytes: &[u8],
    ) -> Result<()> {
        let put = self.put_manifest(repository, &entry.digest, &entry.media_type, bytes.to_vec()).await?;
        if put.subject_seen {
            return Ok(());
        }
        let tag = Tag::of_digest(subject, "");
        for _ in 0..ADD_ATTEMPTS {
            let mut all = self.tagged_referrers(repository, subject).await?;
            if all.iter().any(|known| known.digest == entry.digest) {
                return Ok(());
            }
            all.push(entry.clone());
            let index = manifest::write_index(&all);
            self.put_manifest(repository, &tag, OCI_INDEX, index).await?;
        }
        Ok(())
    }
}

fn entries(url: &str, bytes: &[u8], media_type: &str) -> Result<Vec<Descriptor>> {
    let bad = |why| ClientError::Manifest { url: url.to_owned(), why };
    match manifest::read(bytes, media_type).map_err(bad)? {
        Manifest::Index(index) => Ok(index.manifests),
        Manifest::Image(_) => Err(bad(BadManifest::ImageAsIndex)),
    }
}
