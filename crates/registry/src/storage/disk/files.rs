//! The few things done to files, each of them whole or not at all. All of them block.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Runs what blocks where it may block. A panic there is a broken invariant and goes on here.
pub(super) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // The runtime ends, and with it everybody who could wait for the answer.
            Err(_) => std::future::pending().await,
        },
    }
}

/// Makes what was done to the names in this folder durable.
pub(super) fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Makes a folder and those above it up to `root`, durably. Syncs also what is there already: whoever made it may not
/// have come so far.
pub(super) fn make_folder(folder: &Path, root: &Path) -> io::Result<()> {
    let Some(parent) = folder.parent().filter(|_| folder != root) else { return Ok(()) };
    make_folder(parent, root)?;
    create(folder)?;
    sync_folder(parent)
}

fn create(folder: &Path) -> io::Result<()> {
    match fs::create_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        done => done,
    }
}

/// Makes many folders, durably; folders in one folder stand together. Waiting for the disk once for each parent instead
/// of once for each of them is the difference between a start in milliseconds and one in seconds.
pub(super) fn make_folders(folders: &[PathBuf], root: &Path) -> io::Result<()> {
    for siblings in folders.chunk_by(|one, other| one.parent() == other.parent()) {
        let Some(parent) = siblings.first().and_then(|folder| folder.parent()) else { continue };
        make_folder(parent, root)?;
        siblings.iter().try_for_each(|folder| create(folder))?;
        sync_folder(parent)?;
    }
    Ok(())
}

/// A file beside its later place; gone again unless it was put there.
pub(super) struct Draft(PathBuf);

impl Draft {
    /// Writes these pieces, durably.
    pub(super) fn write(path: PathBuf, pieces: &[&[u8]]) -> io::Result<Self> {
        let mut file = OpenOptions::new().write(true).create_new(true).open(&path)?;
        let draft = Self(path);
        for piece in pieces {
            file.write_all(piece)?;
        }
        file.sync_all()?;
        Ok(draft)
    }

    /// The same bytes as those of another file, durably, and of this age.
    pub(super) fn copy(from: &Path, path: PathBuf, modified: SystemTime) -> io::Result<Self> {
        let draft = Self(path);
        fs::copy(from, &draft.0)?;
        let file = OpenOptions::new().write(true).open(&draft.0)?;
        file.set_modified(modified)?;
        file.sync_all()?;
        Ok(draft)
    }

    /// Takes its place, over what may be there.
    pub(super) fn put(self, place: &Path) -> io::Result<()> {
        fs::rename(&self.0, place)?;
        // Nothing is left to remove.
        std::mem::forget(self);
        sync_parent(place)
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

pub(super) fn sync_parent(place: &Path) -> io::Result<()> {
    place.parent().map_or(Ok(()), sync_folder)
}

/// Takes a name away, durably. Says whether it was there.
pub(super) fn remove(place: &Path) -> io::Result<bool> {
    match fs::remove_file(place) {
        Ok(()) => sync_parent(place).map(|()| true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Makes a file young. No sync: after a crash it is as old as it was, and nobody was promised more.
pub(super) fn touch(place: &Path, now: SystemTime) -> io::Result<()> {
    OpenOptions::new().write(true).open(place)?.set_modified(now)
}

/// The names in a folder; none if there is no such folder.
pub(super) fn names_in(folder: &Path) -> io::Result<Vec<String>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    // What we did not write is not ours: a name that is no text is left alone.
    entries
        .filter_map(|entry| match entry {
            Ok(entry) => entry.file_name().into_string().ok().map(Ok),
            Err(error) => Some(Err(error)),
        })
        .collect()
}

/// Nothing where there is no such file.
pub(super) fn found<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}
