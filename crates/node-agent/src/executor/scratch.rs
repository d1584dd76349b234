//! Folders that die with their instance. Only ever below the scratch root, in a folder named by the instance's id.

use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _, chown};
use std::path::{Path, PathBuf};

use uuid::Uuid;

use crate::runtime::User;

pub(super) fn prepare_root(root: &Path) -> io::Result<()> {
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(root)
}

pub(super) fn folder(root: &Path, instance: Uuid) -> PathBuf {
    root.join(instance.to_string())
}

/// Makes a folder that its user alone can read. The name has passed the spec's check: no separators, no dots.
pub(super) fn ensure(root: &Path, instance: Uuid, name: &str, user: &User) -> io::Result<PathBuf> {
    let parent = folder(root, instance);
    let path = parent.join(name);
    for path in [&parent, &path] {
        match std::fs::DirBuilder::new().mode(0o700).create(path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            result => result?,
        }
    }
    let found = std::fs::symlink_metadata(&path)?;
    if !found.is_dir() {
        return Err(io::Error::new(io::ErrorKind::NotADirectory, format!("{} is no folder", path.display())));
    }
    if found.uid() != user.uid {
        chown(&path, Some(user.uid), Some(user.gid))?;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o700))?;
    }
    Ok(path)
}

/// The names of an instance's folders.
pub(super) fn list(root: &Path, instance: Uuid) -> Vec<String> {
    let entries = std::fs::read_dir(folder(root, instance)).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

pub(super) fn exists(root: &Path, instance: Uuid) -> bool {
    std::fs::symlink_metadata(folder(root, instance)).is_ok()
}

pub(super) fn remove(root: &Path, instance: Uuid) -> io::Result<()> {
    match std::fs::remove_dir_all(folder(root, instance)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result,
    }
}

/// Every instance that has a folder.
pub(super) fn instances(root: &Path) -> Vec<Uuid> {
    let entries = std::fs::read_dir(root).into_iter().flatten().flatten();
    entries.filter_map(|entry| Uuid::try_parse(entry.file_name().to_str()?).ok()).collect()
}
