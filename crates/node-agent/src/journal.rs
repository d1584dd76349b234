//! What the node was told and what came of it, on disk before anything is done.
//!
//! One small file per instance, written whole (new file, fsync, rename, fsync of the folder), so a crash leaves the old
//! text or the new one. A file that cannot be read is set aside as `.corrupt` and the instance is taken up again from the
//! labels of its containers, as after the loss of the whole folder.
//!
//! A removed instance leaves a tombstone: its marks without its order, so that an old order cannot bring it back. A
//! tombstone is only needed while a signed order from before the removal may still be valid, which is at most
//! [`crate::admission::LONGEST_VALIDITY`]; orders of an earlier era are refused by the era alone. So when there are more
//! than [`MAX_TOMBSTONES`], the oldest of those that are no longer needed go; a needed one is never dropped, even if the
//! folder grows. Nonces live with their instance, so that accepting an order writes one file: a nonce is covered by the
//! signature together with the instance, so it can only ever come back for the same one.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use gpuaas_agent_protocol::FailureReason;
use gpuaas_agent_protocol::image::Digest;
use gpuaas_agent_protocol::receipt::{Removed, SignedReceipt};
use gpuaas_agent_protocol::report::Phase;
use gpuaas_agent_protocol::spec::WorkloadSpec;
use gpuaas_agent_protocol::task::Order;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::admission::LONGEST_VALIDITY;
use crate::runtime::subnet::Subnet;

pub const MAX_TOMBSTONES: usize = 10_000;
/// Names of removed things that a record keeps; a crash loop must not grow it without end.
const MAX_REMOVED: usize = 1_000;

/// What the control plane wants of an instance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "wish", rename_all = "snake_case")]
pub enum Wish {
    Launch {
        spec: Box<WorkloadSpec>,
    },
    Stop {
        grace_seconds: u32,
    },
    Remove {
        grace_seconds: u32,
    },
    /// The record is about a volume, not an instance.
    RemoveVolume {
        volume: Uuid,
    },
    /// Found by labels; what was ordered is lost. It is left as it is until the next order.
    Adopted,
    /// Removed; only the marks are left.
    Gone,
}

impl Wish {
    /// Nothing of it is to run.
    fn is_end(&self) -> bool {
        matches!(self, Self::Stop { .. } | Self::Remove { .. } | Self::RemoveVolume { .. } | Self::Gone)
    }
}

impl From<Order> for Wish {
    fn from(order: Order) -> Self {
        match order {
            Order::Launch { spec } => Self::Launch { spec: Box::new(spec) },
            Order::Stop { grace_seconds } => Self::Stop { grace_seconds },
            Order::Remove { grace_seconds } => Self::Remove { grace_seconds },
            Order::RemoveVolume { volume_id } => Self::RemoveVolume { volume: volume_id },
        }
    }
}

/// Everything the node remembers of one instance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    pub instance: Uuid,
    pub era: u64,
    pub epoch: u64,
    pub generation: u64,
    pub wish: Wish,
    pub order_digest: String,
    /// The last one that was reached for good: `Accepted`, `Running`, `Stopped`, `Failed` or `Removed`.
    pub phase: Phase,
    /// Why it failed or is being torn down.
    pub failure: Option<(FailureReason, String)>,
    pub subnet: Option<Subnet>,
    pub removed: Vec<Removed>,
    /// What any launch of it mounted: it stays when the instance goes, and the receipt says so.
    #[serde(default)]
    pub volumes: BTreeSet<Uuid>,
    /// Server times of restarts within the budget's window.
    pub restarts: Vec<i64>,
    pub restarts_by_component: BTreeMap<String, u32>,
    pub receipt: Option<SignedReceipt>,
    /// The control plane has heard of the removal.
    pub acknowledged: bool,
    /// Nonces of accepted orders and when they expire.
    pub nonces: BTreeMap<Uuid, i64>,
    pub updated_at: i64,
}

impl Record {
    pub fn new(instance: Uuid, at: i64) -> Self {
        Self {
            instance,
            era: 0,
            epoch: 0,
            generation: 0,
            wish: Wish::Adopted,
            order_digest: String::new(),
            phase: Phase::Accepted,
            failure: None,
            subnet: None,
            removed: Vec::new(),
            volumes: BTreeSet::new(),
            restarts: Vec::new(),
            restarts_by_component: BTreeMap::new(),
            receipt: None,
            acknowledged: false,
            nonces: BTreeMap::new(),
            updated_at: at,
        }
    }

    /// A new wish: what was reached for the old one no longer counts, what was removed does.
    pub fn take_order(&mut self, order: Order, digest: &Digest) {
        if let Order::Launch { spec } = &order {
            self.volumes.extend(spec.volume_ids());
        }
        self.wish = order.into();
        digest.as_str().clone_into(&mut self.order_digest);
        self.phase = Phase::Accepted;
        self.failure = None;
        self.restarts.clear();
        self.restarts_by_component.clear();
        self.receipt = None;
        self.acknowledged = false;
    }

    pub fn note_removed(&mut self, kind: &str, name: &str) {
        let known = self.removed.iter().any(|removed| removed.kind == kind && removed.name == name);
        if !known && self.removed.len() < MAX_REMOVED {
            self.removed.push(Removed { kind: kind.to_owned(), name: name.to_owned() });
        }
    }

    /// Whether a signed order from before the removal may still be valid.
    fn is_needed(&self, era: u64, now: i64) -> bool {
        self.wish != Wish::Gone
            || !self.acknowledged
            || (self.era >= era
                && now.saturating_sub(self.updated_at)
                    <= i64::try_from(LONGEST_VALIDITY.as_micros()).unwrap_or(i64::MAX))
    }
}

/// What belongs to the node as a whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeRecord {
    pub era: u64,
    /// The last server time heard.
    pub server_time: i64,
}

/// Room that is kept for the ends of instances.
const RESERVES: usize = 8;
const RESERVE_BYTES: usize = 32 * 1024;

fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

/// The folder. One program uses it at a time.
#[derive(Debug)]
pub struct Journal {
    root: PathBuf,
    _lock: File,
}

/// What a start finds.
#[derive(Debug, Default)]
pub struct Remembered {
    pub node: NodeRecord,
    pub records: Vec<Record>,
    /// Sentences for the operator about what could not be read.
    pub warnings: Vec<String>,
}

impl Journal {
    pub fn open(root: &Path) -> io::Result<(Self, Remembered)> {
        for folder in [root.to_path_buf(), root.join("instances"), root.join("logs")] {
            fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
            fs::set_permissions(&folder, fs::Permissions::from_mode(0o700))?;
        }
        let lock = lock(&root.join("lock"))?;
        let journal = Self { root: root.to_path_buf(), _lock: lock };
        journal.fill_reserves();
        let mut remembered = Remembered::default();
        if let Some(node) = Self::read(&root.join("node.json"), &mut remembered.warnings) {
            remembered.node = node;
        }
        for entry in fs::read_dir(root.join("instances"))? {
            let path = entry?.path();
            match path.extension().and_then(|extension| extension.to_str()) {
                Some("json") => {
                    remembered.records.extend(Self::read::<Record>(&path, &mut remembered.warnings));
                }
                // Half of a write that a crash cut short.
                Some("new") => fs::remove_file(&path)?,
                _ => {}
            }
        }
        Ok((journal, remembered))
    }

    pub fn write_node(&self, node: &NodeRecord) -> io::Result<()> {
        write_whole(&self.root.join("node.json"), &serde_json::to_vec(node)?)
    }

    /// On a full disk a launch is not written down, but an end is: who fills the disk must not outlive the order to stop.
    pub fn write(&self, record: &Record) -> io::Result<()> {
        let (path, bytes) = (self.path(record.instance), serde_json::to_vec(record)?);
        let written = write_whole(&path, &bytes);
        match written {
            Err(full) if is_full(&full) && record.wish.is_end() => {
                self.write_into_reserve(&path, &bytes).map_err(|_| full)
            }
            written => {
                if written.is_ok() {
                    self.fill_reserves();
                }
                written
            }
        }
    }

    /// Room that is taken already cannot be taken by others: the text goes into one of the reserves, which becomes the
    /// record.
    fn write_into_reserve(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        if bytes.len() > RESERVE_BYTES {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let reserve = (0..RESERVES).map(|number| self.reserve(number)).find(|reserve| reserve.exists());
        let reserve = reserve.ok_or(io::ErrorKind::StorageFull)?;
        let mut file = File::options().write(true).open(&reserve)?;
        file.write_all(bytes)?;
        file.set_len(bytes.len() as u64)?;
        file.sync_all()?;
        fs::rename(&reserve, path)?;
        File::open(self.root.join("instances"))?.sync_all()
    }

    /// Best effort: a disk without room for them has been told of by then.
    fn fill_reserves(&self) {
        for number in 0..RESERVES {
            let reserve = self.reserve(number);
            if !reserve.exists() && write_whole(&reserve, &vec![0; RESERVE_BYTES]).is_err() {
                return;
            }
        }
    }

    fn reserve(&self, number: usize) -> PathBuf {
        self.root.join(format!("reserve-{number}"))
    }

    pub fn forget(&self, instance: Uuid) -> io::Result<()> {
        gone_is_fine(fs::remove_file(self.path(instance)))
    }

    /// Where the last logs of an instance are kept once its containers are gone.
    pub fn log_folder(&self, instance: Uuid) -> PathBuf {
        self.root.join("logs").join(instance.to_string())
    }

    pub fn save_log(&self, instance: Uuid, component: &str, text: &[u8]) -> io::Result<()> {
        let folder = self.log_folder(instance);
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
        write_whole(&folder.join(format!("{component}.jsonl")), text)
    }

    pub fn read_log(&self, instance: Uuid, component: &str) -> io::Result<Vec<u8>> {
        fs::read(self.log_folder(instance).join(format!("{component}.jsonl")))
    }

    /// The components of which a log was saved.
    pub fn saved_logs(&self, instance: Uuid) -> Vec<String> {
        let names = fs::read_dir(self.log_folder(instance)).into_iter().flatten().flatten();
        let mut names: Vec<String> = names
            .filter_map(|entry| Some(entry.file_name().to_str()?.strip_suffix(".jsonl")?.to_owned()))
            .collect();
        names.sort_unstable();
        names
    }

    pub fn remove_logs(&self, instance: Uuid) -> io::Result<()> {
        gone_is_fine(fs::remove_dir_all(self.log_folder(instance)))
    }

    fn path(&self, instance: Uuid) -> PathBuf {
        self.root.join("instances").join(format!("{instance}.json"))
    }

    fn read<T: for<'de> Deserialize<'de>>(path: &Path, warnings: &mut Vec<String>) -> Option<T> {
        let bytes = match fs::read(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
            Err(error) => {
                warnings.push(format!("The journal file {} cannot be read: {error}.", path.display()));
                return None;
            }
        };
        match serde_json::from_slice(&bytes) {
            Ok(value) => Some(value),
            Err(error) => {
                let aside = path.with_extension("json.corrupt");
                let moved = fs::rename(path, &aside)
                    .map_or("stays where it is".to_owned(), |()| format!("is now {}", aside.display()));
                warnings
                    .push(format!("The journal file {} is damaged ({error}); it {moved}.", path.display()));
                None
            }
        }
    }
}

/// The tombstones to let go: the oldest of those nobody needs, as far as there are too many.
pub fn surplus_tombstones<'a>(
    records: impl Iterator<Item = &'a Record>,
    era: u64,
    now: i64,
    most: usize,
) -> Vec<Uuid> {
    let mut stones: Vec<&Record> = records.filter(|record| record.wish == Wish::Gone).collect();
    let surplus = stones.len().saturating_sub(most);
    stones.sort_by_key(|record| record.updated_at);
    stones
        .into_iter()
        .filter(|record| !record.is_needed(era, now))
        .take(surplus)
        .map(|record| record.instance)
        .collect()
}

fn gone_is_fine(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result,
    }
}

/// A program that was just killed may take a moment to let go of the lock.
fn lock(path: &Path) -> io::Result<File> {
    let file = File::options().create(true).truncate(false).write(true).mode(0o600).open(path)?;
    for _ in 0..100 {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(fs::TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(20)),
            Err(fs::TryLockError::Error(error)) => return Err(error),
        }
    }
    Err(io::Error::new(io::ErrorKind::AlreadyExists, format!("Another agent uses {}.", path.display())))
}

fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let new = path.with_extension("new");
    let written = (|| {
        let mut file = File::options().create(true).truncate(true).write(true).mode(0o600).open(&new)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&new, path)?;
        File::open(path.parent().expect("a file of ours lies in a folder"))?.sync_all()
    })();
    if written.is_err() {
        // On a full disk the half of it would keep others from fitting.
        let _ = fs::remove_file(&new);
    }
    written
}

#[cfg(test)]
#[path = "journal_tests.rs"]
mod tests;
