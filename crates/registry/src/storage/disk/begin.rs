//! How uploads begin: by a request, or with the process, which finds those of an earlier one.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::Path;
use std::time::SystemTime;

use gpuaas_faults::step;
use ring::rand::SecureRandom as _;

use super::LocalDisk;
use super::files::{Draft, blocking, found, names_in};
use super::layout::Layout;
use super::uploads::Upload;
use crate::digest::{Algorithm, Hasher};
use crate::error::{Error, Result};
use crate::names::{RepositoryName, UploadId};
use crate::storage::Collected;

/// An upload that was there at start.
pub(super) struct Left {
    pub(super) name: String,
    pub(super) repository: RepositoryName,
    pub(super) file: File,
    pub(super) length: u64,
    pub(super) used: SystemTime,
}

/// An upload of nobody would count for nobody, so it ends.
pub(super) fn left(layout: &Layout) -> io::Result<Vec<Left>> {
    let mut uploads = Vec::new();
    let mut uploaders = HashSet::new();
    for name in names_in(&layout.uploads())? {
        let path = layout.uploads().join(&name);
        let uploader = Layout::uploader_of(&name).map(|uploader| layout.uploaders().join(uploader));
        let text = uploader.as_ref().map_or(Ok(None), |uploader| found(fs::read_to_string(uploader)))?;
        let Some(repository) = text.and_then(|text| text.parse().ok()) else {
            fs::remove_file(path)?;
            continue;
        };
        uploaders.extend(uploader);
        let file = open(&path, false)?;
        let metadata = file.metadata()?;
        uploads.push(Left { name, repository, file, length: metadata.len(), used: metadata.modified()? });
    }
    for name in names_in(&layout.uploaders())? {
        let path = layout.uploaders().join(name);
        if !uploaders.contains(&path) {
            fs::remove_file(path)?;
        }
    }
    Ok(uploads)
}

fn open(path: &Path, new: bool) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create_new(new).open(path)
}

impl LocalDisk {
    pub(super) async fn create_upload(&self, repository: &RepositoryName) -> Result<UploadId> {
        let mut random = [0; 16];
        ring::rand::SystemRandom::new()
            .fill(&mut random)
            .map_err(|_| io::Error::other("the operating system gives no random bytes"))?;
        let id = UploadId::from_random(random);
        let name = Layout::upload_name(repository, &id);
        if self.check_uploads(&self.uploads.map(), repository).is_err() {
            // What nobody goes on with makes room, if the collector has not come by.
            self.collect_uploads(&mut Collected::default()).await?;
            self.check_uploads(&self.uploads.map(), repository)?;
        }
        if self.options.quota.room(repository) == 0 {
            return Err(Error::OverQuota);
        }
        step!(self.options.faults, "registry.upload.name", {
            let (place, draft, text) =
                (self.layout.uploader(repository), self.draft(), repository.to_string());
            blocking(move || {
                if place.exists() {
                    return Ok(());
                }
                Draft::write(draft, &[text.as_bytes()])?.put(&place)
            })
            .await
            .map_err(Error::from)
        })?;
        let path = self.layout.uploads().join(&name);
        let file = step!(self.options.faults, "registry.upload.create", {
            let path = path.clone();
            blocking(move || open(&path, true).or_else(|_| open(&path, false))).await.map_err(Error::from)
        })?;
        let hash = Some(Hasher::new(Algorithm::Sha256));
        let upload =
            Upload::new(repository.clone(), file, 0, hash, self.options.clock.now(), &self.options.quota);
        let added = {
            let mut map = self.uploads.map();
            self.check_uploads(&map, repository).map(|()| map.insert(name, upload))
        };
        if let Err(error) = added {
            blocking(move || fs::remove_file(path)).await?;
            return Err(error);
        }
        Ok(id)
    }

    /// Whether there is a place for one more.
    fn check_uploads(&self, map: &HashMap<String, Upload>, repository: &RepositoryName) -> Result<()> {
        let (all, each) = (self.options.max_uploads, self.options.max_uploads_each);
        if map.len() >= all {
            return Err(Error::TooManyUploads { limit: all });
        }
        // Asked anew: after a start the owners are known only when they come.
        let owner = |of: &RepositoryName| self.options.quota.owner(of);
        let own = owner(repository);
        let others = map
            .values()
            .filter(|upload| upload.repository == *repository || owner(&upload.repository) == own);
        if others.count() >= each { Err(Error::TooManyUploads { limit: each }) } else { Ok(()) }
    }
}
