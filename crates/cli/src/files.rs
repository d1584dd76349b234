//! Files that hold credentials: readable by their owner only, never half-written, never overwritten by accident.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use crate::failure::{Exit, Failure, Result};

/// Replaces a file in one step: a reader sees the old content or the new one, and only the owner sees either.
pub(crate) fn replace_private(path: &Path, content: &[u8]) -> Result<()> {
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        create_private_folder(folder)?;
    }
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.new", std::process::id()));
    let draft = path.with_file_name(name);
    let written = create_new(&draft).and_then(|mut file| {
        file.write_all(content)?;
        file.sync_all()?;
        std::fs::rename(&draft, path)
    });
    written.map_err(|source| {
        // Left behind, the draft would hold a credential nobody looks after.
        drop(std::fs::remove_file(&draft));
        Failure::file("write", path, &source)
    })
}

pub(crate) fn create_private_folder(folder: &Path) -> Result<()> {
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)
        .map_err(|source| Failure::file("create the folder", folder, &source))
}

fn create_new(path: &Path) -> std::io::Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

/// A file that exists and is empty, waiting for a key that the server is being asked about. Taking the place first
/// means that a key is never made and then found to have nowhere to go.
pub(crate) struct Reserved {
    path: PathBuf,
    file: Option<File>,
}

impl Reserved {
    pub(crate) fn new(path: &Path) -> Result<Self> {
        let file = create_new(path).map_err(|source| match source.kind() {
            std::io::ErrorKind::AlreadyExists => Failure::new(
                Exit::Usage,
                "file_exists",
                format!("{} exists and is not overwritten", path.display()),
            )
            .fix("choose another name, or remove the file if its key is no longer used"),
            _ => Failure::file("create", path, &source),
        })?;
        Ok(Self { path: path.to_owned(), file: Some(file) })
    }

    pub(crate) fn fill(mut self, content: &[u8]) -> Result<()> {
        let Some(mut file) = self.file.take() else { return Ok(()) };
        file.write_all(content)
            .and_then(|()| file.sync_all())
            .map_err(|source| Failure::file("write", &self.path, &source))
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        if self.file.is_some() {
            drop(std::fs::remove_file(&self.path));
        }
    }
}

/// Whether others than the owner can read a file.
pub(crate) fn is_exposed(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|meta| meta.permissions().mode() & 0o077 != 0)
}

pub(crate) fn read_text(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).map_err(|source| Failure::file("read", path, &source))
}
