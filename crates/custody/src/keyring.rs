//! The master keys in a file that only its owner can read.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use gpuaas_domain::{Error, Result, Secret};
use serde::{Deserialize, Serialize};
use zeroize::Zeroize as _;

use crate::Entropy;

/// The keys by id. New values use `current`; older keys open what they wrapped until everything is rewrapped.
pub struct Keyring {
    current: String,
    keys: BTreeMap<String, Secret<[u8; 32]>>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    format: String,
    current: String,
    keys: BTreeMap<String, String>,
}

impl Drop for File {
    fn drop(&mut self) {
        for key in self.keys.values_mut() {
            key.zeroize();
        }
    }
}

const FORMAT: &str = "gpuaas-master-key/1";

impl Keyring {
    pub fn generate(entropy: &dyn Entropy) -> Self {
        let mut keyring = Self { current: String::new(), keys: BTreeMap::new() };
        keyring.add_key(entropy);
        keyring
    }

    /// A new current key; the former ones stay until [`Keyring::retire_others`].
    pub fn add_key(&mut self, entropy: &dyn Entropy) {
        let id = format!("mk-{}", gpuaas_domain::chain::hex(&entropy.bytes16()[..8]));
        self.keys.insert(id.clone(), entropy.bytes32());
        self.current = id;
    }

    /// Drops every key but the current one: what they wrapped cannot be opened any more.
    pub fn retire_others(&mut self) {
        let current = self.current.clone();
        self.keys.retain(|id, _| *id == current);
    }

    pub fn current(&self) -> &str {
        &self.current
    }

    pub fn len(&self) -> usize {
        self.keys.len()
    }

    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    pub(crate) fn key(&self, id: &str) -> Option<&[u8; 32]> {
        self.keys.get(id).map(Secret::expose)
    }

    pub fn load(path: &Path) -> Result<Self> {
        let metadata = fs::metadata(path).map_err(|error| unreadable(path, &error.to_string()))?;
        if metadata.permissions().mode() & 0o077 != 0 {
            return Err(Error::invalid(
                "master_key_exposed",
                format!("Other users can read the master key; run: chmod 600 {}", path.display()),
            ));
        }
        let text =
            Secret::new(fs::read_to_string(path).map_err(|error| unreadable(path, &error.to_string()))?);
        Self::parse(&text).map_err(|why| unreadable(path, &why))
    }

    /// Reads the text of a key file.
    pub fn parse(text: &Secret<String>) -> std::result::Result<Self, String> {
        let file: File =
            serde_json::from_str(text.expose()).map_err(|_| "it is not a key file".to_owned())?;
        if file.format != FORMAT {
            return Err(format!("its format is not {FORMAT}"));
        }
        let mut keys = BTreeMap::new();
        for (id, encoded) in &file.keys {
            let mut bytes = STANDARD.decode(encoded).map_err(|_| format!("key {id} is no base64"))?;
            let key: [u8; 32] =
                bytes.as_slice().try_into().map_err(|_| format!("key {id} is not 32 bytes"))?;
            bytes.zeroize();
            keys.insert(id.clone(), Secret::new(key));
        }
        if !keys.contains_key(&file.current) {
            return Err("its current key is missing".into());
        }
        Ok(Self { current: file.current.clone(), keys })
    }

    pub fn to_text(&self) -> Secret<String> {
        let keys = self.keys.iter().map(|(id, key)| (id.clone(), STANDARD.encode(key.expose()))).collect();
        let file = File { format: FORMAT.into(), current: self.current.clone(), keys };
        Secret::new(serde_json::to_string_pretty(&file).expect("a key file is plain strings"))
    }

    /// Replaces the file in one step, so that a crash leaves the old or the new one.
    pub fn save(&self, path: &Path) -> Result<()> {
        let temporary = path.with_extension("new");
        let write = || -> std::io::Result<()> {
            // Made anew, so that it has our mode and is nobody's link.
            if let Err(error) = fs::remove_file(&temporary)
                && error.kind() != std::io::ErrorKind::NotFound
            {
                return Err(error);
            }
            let mut file =
                fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&temporary)?;
            file.write_all(self.to_text().expose().as_bytes())?;
            file.sync_all()?;
            fs::rename(&temporary, path)?;
            if let Some(folder) = path.parent() {
                fs::File::open(folder)?.sync_all()?;
            }
            Ok(())
        };
        write().map_err(|error| {
            Error::internal(format!("writing the master key to {}: {error}", path.display()))
                .with_source(error)
        })
    }
}

fn unreadable(path: &Path, why: &str) -> Error {
    Error::invalid(
        "master_key_unreadable",
        format!("The master key {} cannot be read: {why}.", path.display()),
    )
}
