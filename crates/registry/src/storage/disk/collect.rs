//! Garbage: uploads that nobody goes on with, blobs that no manifest of their repository names, contents that no
//! repository has.
//!
//! A blob's age is its content's, which every push, mount and look makes young again, in all repositories at once. So
//! garbage may live a little longer than it should, and nothing that somebody counts on lives shorter. Manifests without
//! a tag stay: what runs is named by digest. A blob that is deleted by name takes its content along at once if nobody
//! else has it.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::SystemTime;

use gpuaas_faults::step;

use super::LocalDisk;
use super::files::{blocking, found, names_in, remove};
use super::layout::{Layout, PARTS};
use crate::digest::Digest;
use crate::error::{Error, Result};
use crate::names::RepositoryName;
use crate::storage::Collected;

/// Every repository below a folder.
fn repositories(layout: &Layout, folder: &str, list: &mut Vec<RepositoryName>) -> io::Result<()> {
    for name in names_in(&layout.repositories().join(folder))? {
        if name == "_referrers" {
            list.extend(layout.name(folder));
        } else if !PARTS.contains(&name.as_str()) {
            let below = if folder.is_empty() { name } else { format!("{folder}/{name}") };
            repositories(layout, &below, list)?;
        }
    }
    Ok(())
}

fn is_older(metadata: &fs::Metadata, than: SystemTime) -> io::Result<bool> {
    Ok(metadata.modified()? < than)
}

/// The size of a content that no repository links to and that is older than this, if it must be; nothing if it is wanted,
/// or gone.
fn garbage_size(content: &Path, limit: Option<SystemTime>) -> io::Result<Option<u64>> {
    let Some(metadata) = found(fs::metadata(content))? else { return Ok(None) };
    let is_old = limit.map_or(Ok(true), |limit| is_older(&metadata, limit))?;
    Ok((metadata.nlink() == 1 && is_old).then_some(metadata.len()))
}

impl LocalDisk {
    async fn all_repositories(&self) -> Result<Vec<RepositoryName>> {
        let layout = self.layout.clone();
        let list = blocking(move || {
            let mut list = Vec::new();
            repositories(&layout, "", &mut list).map(|()| list)
        });
        Ok(list.await?)
    }

    /// One repository that cannot be read keeps its garbage; the others do not. The first error is returned.
    pub(super) async fn collect_garbage(&self) -> Result<Collected> {
        let mut collected = Collected::default();
        let mut outcome = self.collect_uploads(&mut collected).await;
        for repository in self.all_repositories().await? {
            outcome = outcome.and(self.collect_blobs(&repository, &mut collected).await);
            outcome = outcome.and(self.collect_hints(&repository).await);
        }
        outcome = outcome.and(self.collect_contents(&mut collected).await);
        outcome.map(|()| collected)
    }

    pub(super) async fn collect_uploads(&self, collected: &mut Collected) -> Result<()> {
        let now = self.options.clock.now();
        for (name, upload) in self.uploads.all() {
            // Held by somebody, it is in use.
            let Some(session) = upload.try_hold() else { continue };
            let lifetime = match upload.length.load(Ordering::Acquire) {
                0 => self.options.empty_upload_lifetime.min(self.options.upload_lifetime),
                _ => self.options.upload_lifetime,
            };
            if now.duration_since(session.used).is_ok_and(|age| age > lifetime) {
                self.end_upload(&name).await?;
                collected.uploads += 1;
            }
        }
        Ok(())
    }

    async fn collect_blobs(&self, repository: &RepositoryName, collected: &mut Collected) -> Result<()> {
        let Some(known) = self.find_repository(repository).await else { return Ok(()) };
        let _alone = known.changes.write().await;
        let named = self.references(repository).await?;
        let (folder, limit) = (self.layout.blobs(repository), self.young());
        let garbage = blocking(move || {
            let mut garbage = Vec::new();
            for digest in names_in(&folder)?.iter().filter_map(|name| Digest::from_file_name(name)) {
                if named.contains(&digest) {
                    continue;
                }
                let path = folder.join(digest.file_name());
                let Some(metadata) = found(fs::metadata(&path))? else { continue };
                if is_older(&metadata, limit)? {
                    garbage.push((path, metadata.len()));
                }
            }
            Ok::<_, io::Error>(garbage)
        })
        .await?;
        for (path, size) in garbage {
            step!(self.options.faults, "registry.collect.unlink", {
                let path = path.clone();
                blocking(move || remove(&path)).await.map_err(Error::from)
            })?;
            self.options.quota.give_back(repository, size);
            collected.unlinked += 1;
        }
        Ok(())
    }

    /// Hints whose manifest never came, or has gone.
    async fn collect_hints(&self, repository: &RepositoryName) -> Result<()> {
        let Some(known) = self.find_repository(repository).await else { return Ok(()) };
        let _alone = known.changes.write().await;
        let (layout, name) = (self.layout.clone(), repository.clone());
        blocking(move || {
            let all = layout.all_referrers(&name);
            for subject in names_in(&all)? {
                for hint in names_in(&all.join(&subject))? {
                    let Some(digest) = Digest::from_file_name(&hint) else { continue };
                    if !layout.manifest(&name, &digest).exists() {
                        remove(&all.join(&subject).join(hint))?;
                    }
                }
                // Goes only if it is empty.
                let _ = fs::remove_dir(all.join(&subject));
            }
            Ok::<_, io::Error>(())
        })
        .await?;
        Ok(())
    }

    async fn collect_contents(&self, collected: &mut Collected) -> Result<()> {
        let (folders, limit) = (self.layout.content_folders(), self.young());
        let candidates = blocking(move || {
            let mut candidates = Vec::new();
            for folder in folders {
                for digest in names_in(&folder)?.iter().filter_map(|name| Digest::from_hex(name)) {
                    if garbage_size(&folder.join(digest.hex()), Some(limit))?.is_some() {
                        candidates.push(digest);
                    }
                }
            }
            Ok::<_, io::Error>(candidates)
        })
        .await?;
        for digest in candidates {
            // Who links a content holds this, so what we see now is true until we let go.
            let _content = self.content_lock(&digest).lock().await;
            if let Some(size) = self.remove_content(&digest, Some(self.young())).await? {
                collected.contents += 1;
                collected.bytes += size;
            }
        }
        Ok(())
    }

    /// For who holds the content: removes it if no repository has it, and it is older than this, if it must be. Its
    /// size, if it was removed.
    pub(super) async fn remove_content(
        &self,
        digest: &Digest,
        limit: Option<SystemTime>,
    ) -> Result<Option<u64>> {
        let path = self.layout.content(digest);
        let looked_at = path.clone();
        let size = blocking(move || garbage_size(&looked_at, limit)).await?;
        if size.is_some() {
            step!(self.options.faults, "registry.content.remove", {
                let path = path.clone();
                blocking(move || remove(&path)).await.map_err(Error::from)
            })?;
        }
        Ok(size)
    }

    /// What is older may be garbage.
    fn young(&self) -> SystemTime {
        self.options.clock.now().checked_sub(self.options.grace).unwrap_or(SystemTime::UNIX_EPOCH)
    }

    pub(super) async fn measure(&self) -> Result<Vec<(RepositoryName, u64)>> {
        let mut usage = BTreeMap::<RepositoryName, u64>::new();
        for (_, upload) in self.uploads.all() {
            *usage.entry(upload.repository).or_default() += upload.length.load(Ordering::Acquire);
        }
        for repository in self.all_repositories().await? {
            let folders = [self.layout.blobs(&repository), self.layout.manifests(&repository)];
            let bytes = blocking(move || {
                let mut bytes = 0;
                for folder in folders {
                    for name in names_in(&folder)? {
                        bytes += found(fs::metadata(folder.join(name)))?.map_or(0, |file| file.len());
                    }
                }
                Ok::<_, io::Error>(bytes)
            })
            .await?;
            *usage.entry(repository).or_default() += bytes;
        }
        Ok(usage.into_iter().collect())
    }
}
