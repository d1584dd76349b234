//! Who this node is: a key that never leaves it, and what the platform said when it joined.
//!
//! `key.p8` is written before the platform is asked, `node.json` after it has answered. A crash in between leaves a key
//! and no node; the same key with the same join token is accepted again.

use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use gpuaas_domain::ids::NodeId;
use gpuaas_domain::{Error, Result};
use ring::signature::{Ed25519KeyPair, KeyPair as _};
use serde::{Deserialize, Serialize};

const KEY: &str = "key.p8";
const NODE: &str = "node.json";

/// What a node knows about itself once it has joined.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Identity {
    pub node_id: NodeId,
    pub name: String,
    /// Scheme, host and port that the node calls.
    pub server_url: String,
    /// The platform's CA, the only root this node believes.
    pub ca_pem: String,
}

/// The node's own key.
pub struct NodeKey {
    pair: Arc<Ed25519KeyPair>,
}

impl NodeKey {
    pub fn pair(&self) -> &Arc<Ed25519KeyPair> {
        &self.pair
    }

    pub fn public(&self) -> &[u8] {
        self.pair.public_key().as_ref()
    }

    /// As it travels: base64url without padding.
    pub fn public_text(&self) -> String {
        URL_SAFE_NO_PAD.encode(self.public())
    }
}

/// The folder with everything that must outlive the agent's process.
#[derive(Clone, Debug)]
pub struct StateFolder {
    path: PathBuf,
}

/// Held while an agent uses its state folder; a second one is refused.
pub struct StateLock {
    _file: std::fs::File,
}

impl StateFolder {
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Makes the folder (0700) if it is not there.
    pub fn ensure(&self) -> Result<()> {
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&self.path)
            .map_err(|error| unusable(&self.path, &error))
    }

    /// One agent per folder, so that two never act for one node.
    pub fn lock(&self) -> Result<StateLock> {
        let path = self.path.join("lock");
        let file =
            std::fs::OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&path);
        let file = file.map_err(|error| unusable(&path, &error))?;
        rustix::fs::flock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive).map_err(|_| {
            Error::conflict(
                "state_in_use",
                format!("Another agent uses {}; stop it first.", self.path.display()),
            )
        })?;
        Ok(StateLock { _file: file })
    }

    pub fn find_identity(&self) -> Result<Option<Identity>> {
        let path = self.path.join(NODE);
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(unusable(&path, &error)),
        };
        serde_json::from_str(&text).map(Some).map_err(|error| unusable(&path, &error))
    }

    pub fn get_identity(&self) -> Result<Identity> {
        self.find_identity()?.ok_or_else(|| {
            Error::invalid(
                "not_joined",
                format!(
                    "This machine has not joined (no {}). Run gpuaas-agent join --server URL --token TOKEN.",
                    self.path.join(NODE).display()
                ),
            )
        })
    }

    pub fn save_identity(&self, identity: &Identity) -> Result<()> {
        let path = self.path.join(NODE);
        let text = serde_json::to_string_pretty(identity).expect("an identity is plain data") + "\n";
        write_whole(&path, text.as_bytes()).map_err(|error| unusable(&path, &error))
    }

    /// The key in the folder. One that others can read is no proof of anything.
    pub fn find_key(&self) -> Result<Option<NodeKey>> {
        let path = self.path.join(KEY);
        let about = match std::fs::metadata(&path) {
            Ok(about) => about,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(unusable(&path, &error)),
        };
        if about.mode() & 0o077 != 0 {
            return Err(Error::invalid(
                "key_exposed",
                format!("Others can read {0}; join anew, or: chmod 600 {0}", path.display()),
            ));
        }
        let bytes = std::fs::read(&path).map_err(|error| unusable(&path, &error))?;
        let pair = Ed25519KeyPair::from_pkcs8(&bytes).map_err(|error| unusable(&path, &error))?;
        Ok(Some(NodeKey { pair: Arc::new(pair) }))
    }

    pub fn get_key(&self) -> Result<NodeKey> {
        self.find_key()?.ok_or_else(|| {
            Error::invalid(
                "key_missing",
                format!(
                    "{} is missing: this node cannot prove who it is. Join anew.",
                    self.path.join(KEY).display()
                ),
            )
        })
    }

    /// The key in the folder, made if there is none.
    pub fn ensure_key(&self) -> Result<NodeKey> {
        if let Some(key) = self.find_key()? {
            return Ok(key);
        }
        let bytes = Ed25519KeyPair::generate_pkcs8(&ring::rand::SystemRandom::new())
            .map_err(|_| Error::internal("the operating system gives no random bytes"))?;
        let path = self.path.join(KEY);
        write_whole(&path, bytes.as_ref()).map_err(|error| unusable(&path, &error))?;
        self.get_key()
    }
}

fn unusable(path: &Path, error: &dyn std::fmt::Display) -> Error {
    Error::invalid("state_unusable", format!("{} cannot be used: {error}.", path.display()))
}

/// Writes a file (0600) that is either there with all its bytes, or as it was before.
pub(crate) fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(".part");
    let temporary = PathBuf::from(temporary);
    // Made anew, so that it has our mode and is nobody's link.
    let _ = std::fs::remove_file(&temporary);
    let mut file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&temporary)?;
    let done = file.write_all(bytes).and_then(|()| file.sync_all());
    let done = done.and_then(|()| std::fs::rename(&temporary, path));
    if done.is_err() {
        let _ = std::fs::remove_file(&temporary);
    }
    done?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    std::fs::File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn folder() -> (tempfile::TempDir, StateFolder) {
        let folder = tempfile::tempdir().unwrap();
        let state = StateFolder::at(folder.path().join("state"));
        state.ensure().unwrap();
        (folder, state)
    }

    #[test]
    fn a_key_is_made_once_and_only_its_owner_reads_it() {
        let (_folder, state) = folder();
        assert!(state.find_key().unwrap().is_none());
        assert_eq!(state.get_key().err().unwrap().code(), "key_missing");
        let first = state.ensure_key().unwrap().public_text();
        assert_eq!(state.ensure_key().unwrap().public_text(), first);
        assert_eq!(first.len(), 43);
        let path = state.path().join(KEY);
        assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        assert_eq!(std::fs::metadata(state.path()).unwrap().mode() & 0o777, 0o700);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
        assert_eq!(state.get_key().err().unwrap().code(), "key_exposed");
    }

    #[test]
    fn an_identity_is_read_as_written_and_a_broken_one_is_no_missing_one() {
        let (_folder, state) = folder();
        assert_eq!(state.get_identity().unwrap_err().code(), "not_joined");
        let identity = Identity {
            node_id: NodeId::new(uuid::Uuid::from_u128(7)),
            name: "n1".into(),
            server_url: "https://gpu.example.org".into(),
            ca_pem: "pem".into(),
        };
        state.save_identity(&identity).unwrap();
        assert_eq!(state.get_identity().unwrap(), identity);
        std::fs::write(state.path().join(NODE), "{").unwrap();
        assert_eq!(state.get_identity().unwrap_err().code(), "state_unusable");
    }

    #[test]
    fn two_agents_do_not_share_a_folder() {
        let (_folder, state) = folder();
        let held = state.lock().unwrap();
        assert_eq!(state.lock().err().unwrap().code(), "state_in_use");
        drop(held);
        state.lock().unwrap();
    }
}
