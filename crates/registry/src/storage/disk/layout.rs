//! Where things lie. Everything below one folder, on one file system:
//!
//! ```text
//! lock                                    held by the one process that may write here
//! drafts/<random>                         small files on their way to their place; emptied at start
//! uploads/<id>.<of the repository>        bytes that came so far
//! uploaders/<of the repository>           its name, written before its first upload; unused ones go at start
//! content/sha256/ab/<hex>                 each content once
//! repositories/<name>/_blobs/<digest>     a hard link to a content: the repository has this blob
//! repositories/<name>/_manifests/<digest> media type, a line end, the manifest
//! repositories/<name>/_tags/<tag>         a digest
//! repositories/<name>/_referrers/<subject>/<digest>  a hint: that manifest may be about this subject
//! ```
//!
//! Why files and no database: a repository is a folder, a blob's membership is a hard link, so the file system counts
//! how many repositories have a content, and a pull opens one file to learn both whether it may and what it reads. Each
//! change becomes visible by one rename, link or unlink; there is no second record that could disagree after a crash.
//! The library knows no database, and an operator can look at, copy and restore the folder with ordinary tools.

use std::path::{Path, PathBuf};

use gpuaas_agent_protocol::image::hex;

use crate::digest::{Algorithm, Digest};
use crate::names::{RepositoryName, Tag, UploadId};

/// The parts of a repository's folder. No component of a repository's name starts with `_`.
pub(super) const PARTS: [&str; 4] = ["_blobs", "_manifests", "_tags", "_referrers"];

/// Where repositories lie whose names lack the prefix.
const ELSEWHERE: &str = "_elsewhere";

#[derive(Clone)]
pub(super) struct Layout {
    root: PathBuf,
    /// Left out of the folders of repositories, which so outlive its change.
    prefix: String,
}

impl Layout {
    pub(super) fn new(root: &Path, prefix: &str) -> Self {
        let prefix = if prefix.is_empty() { String::new() } else { format!("{prefix}/") };
        Self { root: root.to_owned(), prefix }
    }

    /// The name of the repository in this folder.
    pub(super) fn name(&self, folder: &str) -> Option<RepositoryName> {
        match folder.strip_prefix(ELSEWHERE).and_then(|rest| rest.strip_prefix('/')) {
            Some(elsewhere) => elsewhere.parse().ok(),
            None => format!("{}{folder}", self.prefix).parse().ok(),
        }
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    pub(super) fn lock(&self) -> PathBuf {
        self.root.join("lock")
    }

    pub(super) fn drafts(&self) -> PathBuf {
        self.root.join("drafts")
    }

    pub(super) fn uploads(&self) -> PathBuf {
        self.root.join("uploads")
    }

    pub(super) fn uploaders(&self) -> PathBuf {
        self.root.join("uploaders")
    }

    /// Where the name of a repository with uploads stands, which may be too long for the name of a file.
    pub(super) fn uploader(&self, repository: &RepositoryName) -> PathBuf {
        self.uploaders().join(Self::uploader_name(repository))
    }

    fn uploader_name(repository: &RepositoryName) -> String {
        let hash = ring::digest::digest(&ring::digest::SHA256, repository.as_str().as_bytes());
        hex(hash.as_ref())[..32].to_owned()
    }

    /// The name binds an upload to its repository: elsewhere it cannot be found.
    pub(super) fn upload_name(repository: &RepositoryName, upload: &UploadId) -> String {
        format!("{upload}.{}", Self::uploader_name(repository))
    }

    /// The other half of an upload's name.
    pub(super) fn uploader_of(upload: &str) -> Option<&str> {
        upload.split_once('.').map(|(_, uploader)| uploader)
    }

    /// All folders of contents: made once, so that no push has to.
    pub(super) fn content_folders(&self) -> Vec<PathBuf> {
        Algorithm::ALL
            .iter()
            .flat_map(|algorithm| (0..=255_u8).map(move |first| (algorithm, first)))
            .map(|(algorithm, first)| {
                self.root.join("content").join(algorithm.name()).join(format!("{first:02x}"))
            })
            .collect()
    }

    pub(super) fn content(&self, digest: &Digest) -> PathBuf {
        let hex = digest.hex();
        self.root.join("content").join(digest.algorithm().name()).join(&hex[..2]).join(hex)
    }

    pub(super) fn repositories(&self) -> PathBuf {
        self.root.join("repositories")
    }

    pub(super) fn repository(&self, repository: &RepositoryName) -> PathBuf {
        match repository.as_str().strip_prefix(self.prefix.as_str()) {
            Some(folder) => self.repositories().join(folder),
            None => self.repositories().join(ELSEWHERE).join(repository.as_str()),
        }
    }

    pub(super) fn blobs(&self, repository: &RepositoryName) -> PathBuf {
        self.repository(repository).join("_blobs")
    }

    pub(super) fn blob(&self, repository: &RepositoryName, digest: &Digest) -> PathBuf {
        self.blobs(repository).join(digest.file_name())
    }

    pub(super) fn manifests(&self, repository: &RepositoryName) -> PathBuf {
        self.repository(repository).join("_manifests")
    }

    pub(super) fn manifest(&self, repository: &RepositoryName, digest: &Digest) -> PathBuf {
        self.manifests(repository).join(digest.file_name())
    }

    pub(super) fn tags(&self, repository: &RepositoryName) -> PathBuf {
        self.repository(repository).join("_tags")
    }

    pub(super) fn tag(&self, repository: &RepositoryName, tag: &Tag) -> PathBuf {
        self.tags(repository).join(tag.as_str())
    }

    pub(super) fn all_referrers(&self, repository: &RepositoryName) -> PathBuf {
        self.repository(repository).join("_referrers")
    }

    pub(super) fn referrers(&self, repository: &RepositoryName, subject: &Digest) -> PathBuf {
        self.all_referrers(repository).join(subject.file_name())
    }
}
