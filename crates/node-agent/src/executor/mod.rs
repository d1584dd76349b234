//! Brings every instance to what the journal says, and says what is.
//!
//! One actor per instance. It reads the wish, looks at what carries the instance's labels, does what is missing, and
//! looks again: started anew at any point it ends in the same place. A higher generation ends the waiting for the old
//! one; a call to the engine is never cut off half-way, because what it does later would go unseen.

mod accept;
mod actor;
mod adopt;
mod board;
mod identity;
mod launch;
mod network;
mod output;
mod ports;
mod scratch;
pub mod secrets;
mod slot;
mod supervise;
mod teardown;
mod volumes;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use gpuaas_agent_protocol::report::{InstanceReport, NodeReport, Phase};
use gpuaas_faults::Faults;
use ring::rand::SecureRandom as _;
use ring::signature::Ed25519KeyPair;
use tokio::sync::{Semaphore, watch};
use uuid::Uuid;

pub use board::Changes;

use crate::clock::{Clock, ServerTime};
use crate::journal::{Journal, Record, Wish};
use crate::runtime::subnet::Subnet;
use crate::runtime::{ContainerRuntime, Guarding, guard};
use crate::seams::{IdentityGate, ImageSource, InstanceDoor};
use crate::tasks::Tasks;
use accept::Gate;
use board::Board;
use slot::Slot;

/// How much and how long.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Where the instances' networks come from.
    pub pool: Subnet,
    pub pull_deadline: Duration,
    pub concurrent_pulls: usize,
    /// Calls that make or start containers at the same time.
    pub concurrent_starts: usize,
    /// Before the first restart, and the most; it doubles in between.
    pub restart_backoff: (Duration, Duration),
    /// Before what failed for the moment is tried again.
    pub retry_backoff: (Duration, Duration),
    /// Progress of a pull is told at most this often.
    pub progress_interval: Duration,
    /// Of the logs of each component that is torn down.
    pub saved_log_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            pool: Subnet::DEFAULT_POOL,
            pull_deadline: Duration::from_mins(30),
            concurrent_pulls: 4,
            concurrent_starts: 16,
            restart_backoff: (Duration::from_millis(250), Duration::from_secs(30)),
            retry_backoff: (Duration::from_millis(250), Duration::from_secs(15)),
            progress_interval: Duration::from_millis(250),
            saved_log_bytes: 1024 * 1024,
        }
    }
}

pub struct ExecutorOptions {
    pub node_id: Uuid,
    pub node_key: Arc<Ed25519KeyPair>,
    pub runtime: Arc<dyn ContainerRuntime>,
    pub images: Arc<dyn ImageSource>,
    pub door: Arc<dyn InstanceDoor>,
    /// The journal and the saved logs; nobody else's.
    pub state: PathBuf,
    /// Below it each instance has a folder of its own.
    pub scratch: PathBuf,
    /// Below it each volume has a folder of its own. Not below `scratch`.
    pub volumes: PathBuf,
    /// Who gives instances an identity of their own, and where it lies; none where nothing real runs.
    pub identities: Option<Identities>,
    pub limits: Limits,
    pub faults: Faults,
    pub clock: Arc<dyn Clock>,
}

/// What it takes to give an instance an identity of its own.
#[derive(Clone)]
pub struct Identities {
    /// On the node's tmpfs: below it each instance has a folder of its own.
    pub root: PathBuf,
    pub gate: Arc<dyn IdentityGate>,
}

/// What all actors share.
struct Shared {
    options: ExecutorOptions,
    journal: Arc<Journal>,
    time: ServerTime,
    slots: Mutex<BTreeMap<Uuid, Arc<Slot>>>,
    gate: Arc<tokio::sync::Mutex<Gate>>,
    board: Board,
    /// Ranges promised to networks that are being made.
    reserved: tokio::sync::Mutex<BTreeSet<Subnet>>,
    pulls: Semaphore,
    starts: Semaphore,
    tasks: Tasks,
    /// The engine has been asked what of ours it has.
    recovered: watch::Sender<bool>,
    run_id: Uuid,
    warnings: Vec<String>,
}

/// Obeys orders. When dropped, everything it does ends and every container goes on as it is.
pub struct Executor {
    shared: Arc<Shared>,
}

impl Executor {
    /// Reads the journal, takes up what runs, and goes on where the last run ended.
    pub async fn start(options: ExecutorOptions) -> std::io::Result<Self> {
        let (journal, remembered) = Journal::open(&options.state)?;
        scratch::prepare_root(&options.scratch)?;
        volumes::prepare_root(&options.volumes)?;
        let mut nonces = BTreeMap::new();
        let mut slots = BTreeMap::new();
        for record in remembered.records {
            nonces.extend(record.nonces.iter().map(|(nonce, expires_at)| (*nonce, *expires_at)));
            slots.insert(record.instance, Arc::new(Slot::new(record)));
        }
        for warning in &remembered.warnings {
            tracing::warn!("{warning}");
        }
        let limits = &options.limits;
        let shared = Arc::new(Shared {
            journal: Arc::new(journal),
            time: ServerTime::from(remembered.node.server_time, Arc::clone(&options.clock)),
            gate: Arc::new(tokio::sync::Mutex::new(Gate::new(remembered.node, nonces))),
            slots: Mutex::new(slots),
            board: Board::default(),
            reserved: tokio::sync::Mutex::default(),
            pulls: Semaphore::new(limits.concurrent_pulls.max(1)),
            starts: Semaphore::new(limits.concurrent_starts.max(1)),
            tasks: Tasks::default(),
            recovered: watch::Sender::new(false),
            run_id: new_run_id(),
            warnings: remembered.warnings,
            options,
        });
        let executor = Self { shared };
        for slot in executor.shared.slots() {
            executor.shared.publish(&slot);
            executor.shared.spawn_actor(&slot);
        }
        let first = executor.shared.adopt_unknown().await;
        if let Err(failure) = first {
            tracing::warn!("could not ask the engine what of ours it has: {failure}");
            let shared = Arc::clone(&executor.shared);
            executor.shared.tasks.spawn(async move { shared.adopt_until_done().await });
        }
        Ok(executor)
    }

    /// Everything the node has. Not called full before the engine has been asked.
    pub fn report_full(&self) -> NodeReport {
        let instances = self.shared.slots();
        let instances =
            instances.iter().filter(|slot| !slot.is_forgotten()).map(|slot| self.shared.report(slot));
        NodeReport {
            run_id: self.shared.run_id,
            full: *self.shared.recovered.borrow(),
            instances: instances.collect(),
        }
    }

    /// Reports to send, from now on and everything so far.
    pub fn changes(&self) -> Changes {
        self.shared.board.changes()
    }

    /// This run of the agent, as reports name it.
    pub fn run_id(&self) -> Uuid {
        self.shared.run_id
    }

    /// What the operator has to know, in sentences: damaged journal files, a packet filter that is switched off.
    pub fn warnings(&self) -> Vec<String> {
        let off = (self.shared.options.runtime.guard() == Guarding::Off).then(|| guard::OFF.to_owned());
        self.shared.warnings.iter().cloned().chain(off).collect()
    }

    /// What keeps the node from starting anything, in sentences.
    pub fn problems(&self) -> Vec<String> {
        match self.shared.options.runtime.guard() {
            Guarding::Missing(why) => vec![why],
            Guarding::InPlace | Guarding::Off => Vec::new(),
        }
    }

    /// The control plane has this report. Only then is a removed instance left out of full ones.
    pub async fn acknowledged(&self, instance: Uuid, generation: u64, phase: Phase) {
        let Some(slot) = self.shared.find(instance) else { return };
        if phase != Phase::Removed {
            return;
        }
        let saved = self
            .shared
            .save(&slot, |record| {
                let meant =
                    record.wish == Wish::Gone && record.generation == generation && !record.acknowledged;
                record.acknowledged |= meant;
                meant
            })
            .await;
        if let Err(error) = saved {
            tracing::warn!(instance.id = %instance, "could not note that {instance} is acknowledged: {error}");
        }
        self.shared.drop_tombstones().await;
    }

    /// What is known of an instance, for itself.
    pub fn status(&self, instance: Uuid) -> Option<InstanceReport> {
        let slot = self.shared.find(instance)?;
        (!slot.is_forgotten()).then(|| self.shared.report(&slot))
    }

    /// The app says that it lives. False for an instance that is not here.
    pub fn heartbeat(&self, instance: Uuid) -> bool {
        self.shared.find(instance).is_some_and(|slot| slot.hear())
    }

    /// Ends all work and waits for that. Containers go on; the next start takes them up.
    pub async fn shutdown(&self) {
        self.shared.tasks.end().await;
    }
}

impl Drop for Executor {
    fn drop(&mut self) {
        self.shared.tasks.abort();
    }
}

impl Shared {
    fn slots(&self) -> Vec<Arc<Slot>> {
        self.slots.lock().expect("nothing panics while it is held").values().cloned().collect()
    }

    fn find(&self, instance: Uuid) -> Option<Arc<Slot>> {
        self.slots.lock().expect("nothing panics while it is held").get(&instance).cloned()
    }

    fn report(&self, slot: &Slot) -> InstanceReport {
        slot.report(self.time.now())
    }

    fn publish(&self, slot: &Slot) {
        self.board.publish(|| self.report(slot));
    }

    /// Changes a record on disk, then in memory. `change` says whether there is anything to change.
    async fn save(
        &self,
        slot: &Slot,
        change: impl FnOnce(&mut Record) -> bool,
    ) -> Result<bool, slot::Unwritable> {
        let writing = Arc::clone(&slot.writing).lock_owned().await;
        let mut record = slot.record();
        if !change(&mut record) {
            return Ok(false);
        }
        record.updated_at = self.time.now();
        let _writing = self.write(slot, record, writing).await?;
        Ok(true)
    }

    /// The lock goes along, so that a write whose caller has gone away is still over before the next one. It comes back
    /// for what has to happen before anybody else changes the record.
    async fn write(
        &self,
        slot: &Slot,
        record: Record,
        writing: tokio::sync::OwnedMutexGuard<()>,
    ) -> Result<tokio::sync::OwnedMutexGuard<()>, slot::Unwritable> {
        let journal = Arc::clone(&self.journal);
        let written = tokio::task::spawn_blocking(move || {
            let result = journal.write(&record);
            (result.map(|()| record), writing)
        });
        let (result, writing) = written.await.expect("writing a file does not panic");
        slot.set_record(result?);
        Ok(writing)
    }
}

/// Random, because a clock or a counter may repeat after a reinstallation.
fn new_run_id() -> Uuid {
    let mut bytes = [0; 16];
    ring::rand::SystemRandom::new().fill(&mut bytes).expect("the system has randomness");
    uuid::Builder::from_random_bytes(bytes).into_uuid()
}
