//! Manifests, tags and referrers of a repository.
//!
//! A manifest is one file, so it is there or not; its tag is written after it and removed before it, so a tag never
//! leads nowhere. A hint for the referrers list is written before the manifest and may be left over; the list believes
//! the manifest, not the hint.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use gpuaas_faults::step;

use super::LocalDisk;
use super::charge::Charge;
use super::files::{Draft, blocking, found, make_folder, names_in, remove};
use super::layout::Layout;
use crate::digest::Digest;
use crate::error::{Error, Result};
use crate::manifest::{self, Manifest, MediaType, Policy, Referrer};
use crate::names::{Reference, RepositoryName, Tag};
use crate::storage::{NewManifest, ReferrerPage, StoredManifest, TagPage};

/// What is stored was judged when it came; here it is only read.
const LENIENT: Policy = Policy { foreign_layers: true, sparse_indexes: true };

/// For one page of referrers so many manifests are read, and no more once they have had so many bytes together.
const PAGE_MANIFESTS: usize = 100;
const PAGE_READ: usize = 32 << 20;

fn corrupt(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("a stored {what} is damaged"))
}

fn load(layout: &Layout, repository: &RepositoryName, digest: &Digest) -> io::Result<Option<StoredManifest>> {
    let Some(file) = found(fs::read(layout.manifest(repository, digest)))? else { return Ok(None) };
    let file = Bytes::from(file);
    let end = file.iter().position(|byte| *byte == b'\n').ok_or_else(|| corrupt("manifest"))?;
    let media_type = std::str::from_utf8(&file[..end]).ok().and_then(MediaType::parse);
    let bytes = file.slice(end + 1..);
    if Digest::of(digest.algorithm(), &bytes) != *digest {
        return Err(corrupt("manifest"));
    }
    let media_type = media_type.ok_or_else(|| corrupt("manifest"))?;
    Ok(Some(StoredManifest { digest: digest.clone(), media_type, bytes }))
}

fn parse(stored: &StoredManifest) -> io::Result<Manifest> {
    manifest::read(&stored.bytes, stored.media_type, LENIENT).map_err(|_| corrupt("manifest"))
}

fn load_tag(layout: &Layout, repository: &RepositoryName, tag: &Tag) -> io::Result<Option<Digest>> {
    let Some(text) = found(fs::read_to_string(layout.tag(repository, tag)))? else { return Ok(None) };
    text.parse().map(Some).map_err(|_| corrupt("tag"))
}

/// Parts that are missing make one refusal, so that a client can send them all.
fn check_parts(layout: &Layout, repository: &RepositoryName, manifest: &Manifest) -> Result<()> {
    let mut missing = Vec::new();
    let mut check = |part: &manifest::Part, size: Option<u64>| match size {
        None => {
            missing.push(part.digest.clone());
            Ok(())
        }
        Some(size) if size != part.size => Err(Error::OtherSize { digest: part.digest.clone(), size }),
        Some(_) => Ok(()),
    };
    for blob in &manifest.blobs {
        check(blob, found(fs::metadata(layout.blob(repository, &blob.digest)))?.map(|blob| blob.len()))?;
    }
    for child in &manifest.children {
        check(child, load(layout, repository, &child.digest)?.map(|child| child.bytes.len() as u64))?;
    }
    if missing.is_empty() { Ok(()) } else { Err(Error::PartsMissing(missing)) }
}

/// A hint of its own, left by a try before, is none more.
fn check_referrers(folder: &Path, digest: &Digest, limit: usize) -> Result<()> {
    let hints = names_in(folder)?;
    if hints.len() >= limit && !hints.contains(&digest.file_name()) {
        return Err(Error::TooManyReferrers { limit });
    }
    Ok(())
}

impl LocalDisk {
    pub(super) async fn write_manifest(&self, repository: &RepositoryName, new: NewManifest) -> Result<()> {
        let NewManifest { digest, bytes, manifest, tag } = new;
        let known = self.ensure_repository(repository).await?;
        let _alone = known.changes.write().await;
        let media_type = manifest.media_type;
        let subject = manifest.subject.clone();
        let place = self.layout.manifest(repository, &digest);
        let (layout, name, there) = (self.layout.clone(), repository.clone(), place.clone());
        let is_known =
            blocking(move || check_parts(&layout, &name, &manifest).map(|()| there.exists())).await?;
        let cost = (media_type.as_str().len() + 1 + bytes.len()) as u64;
        if !is_known {
            if let Some(subject) = &subject {
                let (folder, limit) =
                    (self.layout.referrers(repository, subject), self.options.max_referrers);
                let digest = digest.clone();
                blocking(move || check_referrers(&folder, &digest, limit)).await?;
            }
            let charge = Charge::take(&self.options.quota, repository, cost)?;
            let written = self.add_manifest(repository, &digest, media_type, &bytes, subject.as_ref()).await;
            if written.is_ok() || blocking(move || place.exists()).await {
                charge.keep();
            }
            written?;
        }
        if let Some(tag) = tag {
            step!(self.options.faults, "registry.tag.put", {
                let (place, draft, text) =
                    (self.layout.tag(repository, &tag), self.draft(), digest.to_string());
                blocking(move || Draft::write(draft, &[text.as_bytes()])?.put(&place))
                    .await
                    .map_err(Error::from)
            })?;
            self.cache.remove(&(repository.clone(), Reference::Tag(tag)));
        }
        Ok(())
    }

    async fn add_manifest(
        &self,
        repository: &RepositoryName,
        digest: &Digest,
        media_type: MediaType,
        bytes: &Bytes,
        subject: Option<&Digest>,
    ) -> Result<()> {
        if let Some(subject) = subject {
            let all = self.layout.all_referrers(repository);
            let folder = self.layout.referrers(repository, subject);
            step!(self.options.faults, "registry.referrer.hint", {
                let (all, folder) = (all.clone(), folder.clone());
                let (draft, name) = (self.draft(), digest.file_name());
                blocking(move || {
                    make_folder(&folder, &all)?;
                    Draft::write(draft, &[])?.put(&folder.join(name))
                })
                .await
                .map_err(Error::from)
            })?;
        }
        step!(self.options.faults, "registry.manifest.put", {
            let (place, draft) = (self.layout.manifest(repository, digest), self.draft());
            let bytes = bytes.clone();
            blocking(move || {
                Draft::write(draft, &[media_type.as_str().as_bytes(), b"\n", &bytes])?.put(&place)
            })
            .await
            .map_err(Error::from)
        })
    }

    pub(super) async fn look_up(
        &self,
        repository: &RepositoryName,
        reference: &Reference,
    ) -> Result<Option<Arc<StoredManifest>>> {
        let key = (repository.clone(), reference.clone());
        if let Some(found) = self.cache.find(&key) {
            return Ok(Some(found));
        }
        let Some(known) = self.find_repository(repository).await else { return Ok(None) };
        // Who deletes holds it alone, so what goes into the cache is not gone already.
        let _shared = known.changes.read().await;
        let (layout, (name, reference)) = (self.layout.clone(), key.clone());
        let loaded = blocking(move || {
            let digest = match reference {
                Reference::Digest(digest) => Some(digest),
                Reference::Tag(tag) => load_tag(&layout, &name, &tag)?,
            };
            digest.map_or(Ok(None), |digest| load(&layout, &name, &digest))
        })
        .await?
        .map(Arc::new);
        if let Some(loaded) = &loaded {
            self.cache.insert(key, loaded.clone());
        }
        Ok(loaded)
    }

    pub(super) async fn remove_tag(&self, repository: &RepositoryName, tag: &Tag) -> Result<()> {
        let known = self.find_repository(repository).await.ok_or(Error::ManifestUnknown)?;
        let _alone = known.changes.write().await;
        if self.untag(repository, tag).await? { Ok(()) } else { Err(Error::ManifestUnknown) }
    }

    /// For who holds the repository alone.
    async fn untag(&self, repository: &RepositoryName, tag: &Tag) -> Result<bool> {
        let place = self.layout.tag(repository, tag);
        let there = place.clone();
        let was_there = blocking(move || there.exists()).await;
        step!(self.options.faults, "registry.tag.remove", {
            let place = place.clone();
            blocking(move || remove(&place)).await.map_err(Error::from)
        })?;
        self.cache.remove(&(repository.clone(), Reference::Tag(tag.clone())));
        Ok(was_there)
    }

    pub(super) async fn remove_manifest(&self, repository: &RepositoryName, digest: &Digest) -> Result<()> {
        let known = self.find_repository(repository).await.ok_or(Error::ManifestUnknown)?;
        let _alone = known.changes.write().await;
        let (layout, name, wanted) = (self.layout.clone(), repository.clone(), digest.clone());
        let (stored, tags) = blocking(move || {
            let Some(stored) = load(&layout, &name, &wanted)? else {
                return Ok::<_, io::Error>((None, Vec::new()));
            };
            let mut tags = Vec::new();
            for tag in names_in(&layout.tags(&name))?.iter().filter_map(|tag| tag.parse::<Tag>().ok()) {
                if load_tag(&layout, &name, &tag)?.as_ref() == Some(&wanted) {
                    tags.push(tag);
                }
            }
            Ok((Some(stored), tags))
        })
        .await?;
        let stored = stored.ok_or(Error::ManifestUnknown)?;
        for tag in &tags {
            self.untag(repository, tag).await?;
        }
        let place = self.layout.manifest(repository, digest);
        step!(self.options.faults, "registry.manifest.remove", {
            let place = place.clone();
            blocking(move || remove(&place)).await.map_err(Error::from)
        })?;
        self.cache.remove(&(repository.clone(), Reference::Digest(digest.clone())));
        let cost = stored.media_type.as_str().len() + 1 + stored.bytes.len();
        self.options.quota.give_back(repository, cost as u64);
        if let Some(subject) = parse(&stored)?.subject {
            step!(self.options.faults, "registry.referrer.remove", {
                let hint = self.layout.referrers(repository, &subject).join(digest.file_name());
                blocking(move || remove(&hint)).await.map_err(Error::from)
            })?;
        }
        Ok(())
    }

    pub(super) async fn tag_page(
        &self,
        repository: &RepositoryName,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Option<TagPage>> {
        if self.find_repository(repository).await.is_none() {
            return Ok(None);
        }
        let folder = self.layout.tags(repository);
        let after = after.map(str::to_owned);
        let mut tags: Vec<Tag> = blocking(move || names_in(&folder))
            .await?
            .iter()
            .filter(|name| after.as_ref().is_none_or(|after| *name > after))
            .filter_map(|name| name.parse().ok())
            .collect();
        tags.sort_unstable();
        let more = tags.len() > limit;
        tags.truncate(limit);
        Ok(Some(TagPage { tags, more }))
    }

    /// One manifest is held at a time, and so many are read for a page as are not too much to wait for.
    pub(super) async fn referrers(
        &self,
        repository: &RepositoryName,
        subject: &Digest,
        after: Option<&Digest>,
    ) -> Result<ReferrerPage> {
        let (layout, repository, subject) = (self.layout.clone(), repository.clone(), subject.clone());
        let after = after.cloned();
        let page = blocking(move || {
            let names = names_in(&layout.referrers(&repository, &subject))?;
            let mut hints: Vec<Digest> =
                names.iter().filter_map(|name| Digest::from_file_name(name)).collect();
            hints.retain(|digest| after.as_ref().is_none_or(|after| digest > after));
            hints.sort_unstable();
            let mut page = ReferrerPage::default();
            let mut read = 0;
            for (number, digest) in hints.iter().enumerate() {
                if number == PAGE_MANIFESTS || read >= PAGE_READ {
                    page.next = Some(hints[number - 1].clone());
                    break;
                }
                let Some(stored) = load(&layout, &repository, digest)? else { continue };
                read += stored.bytes.len();
                let manifest = parse(&stored)?;
                if manifest.subject.as_ref() == Some(&subject) {
                    page.referrers.push(Referrer::new(digest, stored.bytes.len() as u64, manifest));
                }
            }
            Ok::<_, io::Error>(page)
        })
        .await?;
        Ok(page)
    }

    /// Every blob that a manifest of the repository names. A manifest that cannot be read is an error: what it names is
    /// not known, so nothing here may be called garbage.
    pub(super) async fn references(&self, repository: &RepositoryName) -> Result<HashSet<Digest>> {
        let (layout, repository) = (self.layout.clone(), repository.clone());
        let named = blocking(move || {
            let mut named = HashSet::new();
            for name in names_in(&layout.manifests(&repository))? {
                let Some(digest) = Digest::from_file_name(&name) else { continue };
                let Some(stored) = load(&layout, &repository, &digest)? else { continue };
                named.extend(parse(&stored)?.blobs.into_iter().map(|part| part.digest));
            }
            Ok::<_, io::Error>(named)
        })
        .await?;
        Ok(named)
    }
}
