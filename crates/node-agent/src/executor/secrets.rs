//! What only a container may read, on the node's tmpfs: `<root>/<instance>/<launch>/<component>/identity.json`. It never
//! touches a disk, and goes with the containers it was for.
//!
//! `docker cp` into a container's own tmpfs would land on the disk, and the environment shows in `docker inspect`; so it is
//! a folder of the node, bound read-only, and a file that its owner alone can read.

use std::io::{self, Write as _};
use std::os::unix::fs::{
    DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _, fchown, lchown,
};
use std::path::{Path, PathBuf};

use gpuaas_domain::Secret;
use uuid::Uuid;

use crate::runtime::User;

/// The name of the file in the container's folder.
pub const IDENTITY_FILE: &str = "identity.json";

/// Where a folder may lie, in this order, if the operator names none.
const USUAL: [&str; 2] = ["/run/gpuaas", "/dev/shm/gpuaas"];
const TMPFS_MAGIC: u64 = 0x0102_1994;
const RAMFS_MAGIC: u64 = 0x8584_58f6;

fn is_memory(path: &Path) -> io::Result<bool> {
    let found = rustix::fs::statfs(path)?;
    let magic = u64::try_from(found.f_type).unwrap_or(0);
    Ok([TMPFS_MAGIC, RAMFS_MAGIC].contains(&(magic & 0xffff_ffff)))
}

/// The first usual place that is in memory; the first one, if none is, so that the refusal names it.
pub fn usual_root() -> PathBuf {
    let in_memory = |path: &&str| {
        let parent = Path::new(path).parent().unwrap_or(Path::new("/"));
        is_memory(Path::new(path)).or_else(|_| is_memory(parent)).unwrap_or(false)
    };
    USUAL.iter().find(|path| in_memory(path)).unwrap_or(&USUAL[0]).into()
}

/// Makes the root if it is not there. Refused where what is written would reach a disk.
pub(super) fn prepare_root(root: &Path) -> io::Result<()> {
    std::fs::DirBuilder::new().recursive(true).mode(0o711).create(root)?;
    // Some of the usual places are everybody's to write to: whoever was there first could exchange what lies in it.
    let found = std::fs::symlink_metadata(root)?;
    if !found.is_dir() || found.uid() != rustix::process::geteuid().as_raw() || found.mode() & 0o022 != 0 {
        return Err(io::Error::other(format!(
            "{} is not a folder that this program alone may change; remove it, or name another as storage.secrets_dir",
            root.display()
        )));
    }
    if is_memory(root)? {
        return Ok(());
    }
    Err(io::Error::other(format!(
        "{} is not on a tmpfs; mount one there, or name another folder as storage.secrets_dir",
        root.display()
    )))
}

pub(super) fn folder(root: &Path, instance: Uuid) -> PathBuf {
    root.join(instance.to_string())
}

/// The folder of one launch: a later one finds nothing of it. An order is not enough, because after a restore the platform
/// counts generations anew.
pub(super) fn launch_folder(root: &Path, instance: Uuid, era: u64, generation: u64) -> PathBuf {
    folder(root, instance).join(format!("{era}-{generation}"))
}

fn make(path: &Path) -> io::Result<()> {
    match std::fs::DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        result => result,
    }
}

/// Writes a component's file, whole or not at all: 0400, its user's, in a folder that nobody else enters.
pub(super) fn write(launch: &Path, component: &str, user: &User, text: &Secret<String>) -> io::Result<()> {
    if let Some(instance) = launch.parent() {
        make(instance)?;
    }
    let folder = launch.join(component);
    make(launch)?;
    make(&folder)?;
    let (part, whole) = (folder.join(".part"), folder.join(IDENTITY_FILE));
    match std::fs::remove_file(&part) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o400).open(&part)?;
    file.write_all(text.expose().as_bytes())?;
    fchown(&file, Some(user.uid), Some(user.gid))?;
    // The name last: where it stands, everything else is as it must be.
    std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o500))?;
    lchown(&folder, Some(user.uid), Some(user.gid))?;
    std::fs::rename(&part, &whole)
}

/// The text of a component's file, if it has one.
pub(super) fn read(launch: &Path, component: &str) -> Option<Secret<String>> {
    std::fs::read_to_string(launch.join(component).join(IDENTITY_FILE)).ok().map(Secret::new)
}

/// What an instance has, by launch and component: names, no contents.
pub(super) fn list(root: &Path, instance: Uuid) -> Vec<String> {
    let names = |path: &Path| {
        let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
        let mut names: Vec<_> =
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    };
    let own = folder(root, instance);
    if !own.exists() {
        return Vec::new();
    }
    let launches = names(&own);
    let mut found = Vec::new();
    for launch in launches {
        let components = names(&own.join(&launch));
        found.extend(components.iter().map(|component| format!("{launch}/{component}")));
        if components.is_empty() {
            found.push(launch);
        }
    }
    // An empty folder is something that is left, too.
    if found.is_empty() {
        found.push(instance.to_string());
    }
    found
}

pub(super) fn remove(root: &Path, instance: Uuid) -> io::Result<()> {
    gone(std::fs::remove_dir_all(folder(root, instance)))
}

/// What earlier launches left.
pub(super) fn remove_others(root: &Path, instance: Uuid, keep: &Path) -> io::Result<()> {
    let entries = std::fs::read_dir(folder(root, instance)).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| entry.path() != keep) {
        gone(std::fs::remove_dir_all(entry.path()))?;
    }
    Ok(())
}

fn gone(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result,
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt as _;

    use super::*;

    fn root() -> tempfile::TempDir {
        tempfile::tempdir_in("/dev/shm").expect("the machine has /dev/shm")
    }

    fn me() -> User {
        let (uid, gid) = (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
        User::numeric((uid, gid))
    }

    /// L-09: memory, never a disk.
    #[test]
    fn only_memory_will_do() {
        prepare_root(&root().path().join("new")).unwrap();
        let disk = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let refused = prepare_root(disk.path()).unwrap_err().to_string();
        assert!(refused.contains("is not on a tmpfs"), "{refused}");
        let shared = root().path().join("shared");
        std::fs::create_dir_all(&shared).unwrap();
        std::fs::set_permissions(&shared, std::fs::Permissions::from_mode(0o777)).unwrap();
        assert!(prepare_root(&shared).unwrap_err().to_string().contains("alone may change"));
        let (place, link) = (root(), root().path().join("link"));
        std::fs::create_dir_all(link.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(place.path(), &link).unwrap();
        assert!(prepare_root(&link).unwrap_err().to_string().contains("alone may change"), "a link");
        let usual = usual_root();
        assert!(is_memory(usual.parent().unwrap()).unwrap(), "{}", usual.display());
    }

    /// L-09: the file is its user's alone, and so is the folder.
    #[test]
    fn a_file_is_its_users_alone() {
        let (root, instance) = (root(), Uuid::from_u128(1));
        let launch = launch_folder(root.path(), instance, 1, 2);
        for text in ["one", "two"] {
            write(&launch, "main", &me(), &Secret::new(text.to_owned())).unwrap();
            assert_eq!(read(&launch, "main").unwrap().expose(), text);
        }
        let about = |path: &Path| {
            let found = std::fs::metadata(path).unwrap();
            (found.mode() & 0o7777, found.uid(), found.gid())
        };
        assert_eq!(about(&launch.join("main").join(IDENTITY_FILE)), (0o400, me().uid, me().gid));
        assert_eq!(about(&launch.join("main")), (0o500, me().uid, me().gid));
        for path in [&launch, &folder(root.path(), instance)] {
            assert_eq!(about(path).0, 0o700);
        }
        assert_eq!(read(&launch, "other").map(|_| ()), None);
    }

    #[test]
    fn what_is_there_is_named_and_goes() {
        let (root, instance) = (root(), Uuid::from_u128(1));
        assert!(list(root.path(), instance).is_empty());
        for generation in [1, 2] {
            let launch = launch_folder(root.path(), instance, 1, generation);
            write(&launch, "main", &me(), &Secret::new("x".to_owned())).unwrap();
        }
        assert_eq!(list(root.path(), instance), ["1-1/main", "1-2/main"]);
        remove_others(root.path(), instance, &launch_folder(root.path(), instance, 1, 2)).unwrap();
        assert_eq!(list(root.path(), instance), ["1-2/main"]);
        remove(root.path(), instance).unwrap();
        remove(root.path(), instance).unwrap();
        assert!(list(root.path(), instance).is_empty());
    }
}
