//! Folders that outlive instances. Below the volumes root each volume has one, named by its id; nothing but an order for
//! that very volume takes it away, no stop, no removal of an instance and no sweep.
//!
//! A folder that is to go is first renamed, then emptied: whatever breaks in between, nobody mounts half of a volume, and
//! the next attempt finds it. Links are never followed: the folder's own name is looked at, and what is inside is removed
//! by the entries of its folders.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _, chown};
use std::path::{Path, PathBuf};

use gpuaas_agent_protocol::FailureReason;
use gpuaas_agent_protocol::receipt::Left;
use gpuaas_agent_protocol::report::Phase;
use gpuaas_agent_protocol::spec::ComponentSpec;
use gpuaas_faults::step;
use uuid::Uuid;

use super::Shared;
use super::actor::{Actor, Halt};
use crate::journal::Wish;
use crate::runtime::{Bind, User};
use crate::seams::Failure;

pub(super) fn prepare_root(root: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(root)
}

fn folder(root: &Path, volume: Uuid) -> PathBuf {
    root.join(volume.to_string())
}

/// What is being removed is no volume any more: no id is spelled like this.
fn aside(root: &Path, volume: Uuid) -> PathBuf {
    root.join(format!(".removing-{volume}"))
}

/// Why a volume is not mounted.
#[derive(Debug)]
pub(super) enum Unusable {
    Io(io::Error),
    /// Its files are somebody else's, and they did not open it to others.
    OtherOwner(u32),
}

impl From<io::Error> for Unusable {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// The folder of a volume, made now or before, that this user can use. An empty one is given to the user; one with files
/// in it is never: whose files they are is for the apps that wrote them.
pub(super) fn ensure(root: &Path, volume: Uuid, user: &User, read_only: bool) -> Result<PathBuf, Unusable> {
    let path = folder(root, volume);
    match fs::DirBuilder::new().mode(0o700).create(&path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        result => {
            result?;
            File::open(root)?.sync_all()?;
        }
    }
    let found = fs::symlink_metadata(&path)?;
    if !found.is_dir() {
        let what = format!("{} is no folder", path.display());
        return Err(io::Error::new(io::ErrorKind::NotADirectory, what).into());
    }
    if found.uid() == user.uid {
        return Ok(path);
    }
    if fs::read_dir(&path)?.next().is_none() {
        chown(&path, Some(user.uid), Some(user.gid))?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o700))?;
        return Ok(path);
    }
    let wanted = if read_only { 0o5 } else { 0o7 };
    let shift = if found.gid() == user.gid { 3 } else { 0 };
    if (found.mode() >> shift) & wanted == wanted {
        return Ok(path);
    }
    Err(Unusable::OtherOwner(found.uid()))
}

fn is_there(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}

/// Whether anything of a volume is left, under its own name or set aside.
fn exists(root: &Path, volume: Uuid) -> bool {
    is_there(&folder(root, volume)) || is_there(&aside(root, volume))
}

/// From here on there is no such volume.
fn set_aside(root: &Path, volume: Uuid) -> io::Result<()> {
    let (from, to) = (folder(root, volume), aside(root, volume));
    if !is_there(&from) {
        return Ok(());
    }
    if is_there(&to) {
        remove_aside(root, volume)?;
    }
    fs::rename(&from, &to)?;
    File::open(root)?.sync_all()
}

fn remove_aside(root: &Path, volume: Uuid) -> io::Result<()> {
    let path = aside(root, volume);
    let removed = match fs::symlink_metadata(&path) {
        Ok(found) if found.is_dir() => fs::remove_dir_all(&path),
        Ok(_) => fs::remove_file(&path),
        Err(error) => Err(error),
    };
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => {
            removed?;
            File::open(root)?.sync_all()
        }
    }
}

impl Shared {
    /// An instance that has the volume mounted, as far as the journal knows.
    fn mounted_by(&self, volume: Uuid) -> Option<Uuid> {
        let mounts = self.slots().into_iter().map(|slot| slot.record()).find(|record| {
            let over = matches!(record.phase, Phase::Stopped | Phase::Failed | Phase::Removed);
            !over && record.volumes.contains(&volume)
        });
        mounts.map(|record| record.instance)
    }

    fn is_being_removed(&self, volume: Uuid) -> bool {
        self.find(volume).is_some_and(|slot| matches!(slot.record().wish, Wish::RemoveVolume { .. }))
    }
}

impl Actor {
    pub(super) fn make_volumes(&self, component: &ComponentSpec, user: &User) -> Result<Vec<Bind>, Halt> {
        let root = &self.shared.options.volumes;
        let mut binds = Vec::new();
        for wanted in &component.volumes {
            let refuse = |detail: String| Halt::Failed(Failure::new(FailureReason::VolumeUnusable, detail));
            if self.shared.is_being_removed(wanted.id) {
                return Err(refuse(format!("The volume {} is being removed.", wanted.id)));
            }
            let source = ensure(root, wanted.id, user, wanted.read_only).map_err(|no| match no {
                Unusable::Io(error) => super::launch::on_disk("The volume's folder cannot be used", &error),
                Unusable::OtherOwner(uid) => refuse(format!(
                    "The files of volume {} belong to user {uid} and this app runs as user {}; from an app that runs as \
                     {uid}, open the folder to others (chmod).",
                    wanted.id, user.uid
                )),
            })?;
            binds.push(Bind { source, target: wanted.path.clone(), read_only: wanted.read_only });
        }
        Ok(binds)
    }

    /// Takes the bytes of a volume away; looks again, and attests that nothing is left.
    pub(super) async fn remove_volume(&mut self, volume: Uuid) -> Result<(), Halt> {
        self.show_phase(Phase::Removing);
        if let Some(instance) = self.shared.mounted_by(volume) {
            let detail = format!("The instance {instance} has the volume mounted.");
            return Err(Halt::Again(Failure::new(FailureReason::VolumeUnusable, detail)));
        }
        let root = self.shared.options.volumes.clone();
        if exists(&root, volume) {
            self.save(|record| record.note_removed("volume", &volume.to_string())).await?;
        }
        let stays = |error: io::Error| {
            Halt::Again(Failure::new(
                FailureReason::StopFailed,
                format!("The volume's folder stays: {error}."),
            ))
        };
        let away: Result<(), Halt> =
            step!(self.shared.options.faults, "agent.volume_aside", set_aside(&root, volume).map_err(stays));
        away?;
        let removed: Result<(), Halt> = step!(self.shared.options.faults, "agent.volume_bytes", {
            let root = root.clone();
            let done = tokio::task::spawn_blocking(move || remove_aside(&root, volume)).await;
            done.expect("removing a folder does not panic").map_err(stays)
        });
        removed?;
        self.sign_off(Left { volumes: u32::from(exists(&root, volume)), ..Left::default() }).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn me() -> User {
        User::numeric((rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw()))
    }

    #[test]
    fn a_folder_goes_to_a_user_only_while_it_is_empty() {
        let root = tempfile::tempdir().unwrap();
        let (root, volume) = (root.path(), Uuid::from_u128(7));
        let stranger = User::numeric((4321, 4322));
        let path = ensure(root, volume, &me(), false).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o700);
        if me().uid == 0 {
            assert_eq!(ensure(root, volume, &stranger, false).unwrap(), path, "nothing in it yet");
            assert_eq!(fs::metadata(&path).unwrap().uid(), 4321);
            ensure(root, volume, &me(), false).unwrap();
        }
        fs::write(path.join("file"), "kept").unwrap();
        let refused = ensure(root, volume, &stranger, false).unwrap_err();
        assert!(matches!(refused, Unusable::OtherOwner(uid) if uid == me().uid), "{refused:?}");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        assert!(ensure(root, volume, &stranger, true).is_ok(), "opened for reading");
        assert!(ensure(root, volume, &stranger, false).is_err());
        assert_eq!(fs::metadata(&path).unwrap().uid(), me().uid, "files change no hands");
    }

    #[test]
    fn removal_follows_no_links_and_can_be_taken_up_anywhere() {
        let base = tempfile::tempdir().unwrap();
        let (root, outside) = (base.path().join("volumes"), base.path().join("outside"));
        fs::create_dir_all(&root).unwrap();
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("precious"), "1").unwrap();
        let (volume, other) = (Uuid::from_u128(1), Uuid::from_u128(2));
        let path = ensure(&root, volume, &me(), false).unwrap();
        ensure(&root, other, &me(), false).unwrap();
        std::os::unix::fs::symlink(&outside, path.join("link")).unwrap();
        fs::create_dir(path.join("deep")).unwrap();
        fs::write(path.join("deep/file"), "x").unwrap();
        set_aside(&root, volume).unwrap();
        assert!(!is_there(&path) && exists(&root, volume), "half-way: no volume, and not gone");
        set_aside(&root, volume).unwrap();
        remove_aside(&root, volume).unwrap();
        remove_aside(&root, volume).unwrap();
        assert!(!exists(&root, volume));
        assert!(outside.join("precious").exists(), "a link is removed, not what it leads to");
        assert!(exists(&root, other), "nothing else was touched");
        // In place of the folder.
        std::os::unix::fs::symlink(&outside, &path).unwrap();
        assert!(matches!(ensure(&root, volume, &me(), false).unwrap_err(), Unusable::Io(_)));
        set_aside(&root, volume).unwrap();
        remove_aside(&root, volume).unwrap();
        assert!(!exists(&root, volume) && outside.join("precious").exists());
    }
}
