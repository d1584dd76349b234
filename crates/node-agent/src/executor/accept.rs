//! The way of an order into the journal. Once it is there the answer is given; the rest is the actor's.

use std::collections::BTreeMap;
use std::sync::Arc;

use gpuaas_agent_protocol::link::{Accepted, Refused};
use gpuaas_agent_protocol::task::{Refusal, SignedTask, Trust, Verifier};
use gpuaas_faults::step;
use uuid::Uuid;

use super::slot::{Slot, Unwritable};
use super::{Executor, Shared};
use crate::admission::{self, Knowledge, Verdict};
use crate::journal::{MAX_TOMBSTONES, NodeRecord, Record, Wish, surplus_tombstones};

/// What orders are judged by.
pub(super) struct Gate {
    verifiers: Vec<Verifier>,
    node: NodeRecord,
    nonces: BTreeMap<Uuid, i64>,
}

impl Gate {
    pub(super) fn new(node: NodeRecord, nonces: BTreeMap<Uuid, i64>) -> Self {
        Self { verifiers: Vec::new(), node, nonces }
    }
}

impl Executor {
    /// What the node believes from now on, as fetched over the pinned link. Before the first call no order is obeyed:
    /// without the server's time none can be judged.
    pub async fn set_trust(&self, trust: Trust) {
        let mut gate = self.shared.gate.lock().await;
        self.shared.time.set(trust.server_time);
        gate.verifiers = trust.verifiers;
        gate.node.server_time = trust.server_time;
        gate.node.era = gate.node.era.max(trust.era);
        if let Err(error) = self.shared.write_node(gate.node).await {
            tracing::warn!("could not keep the server's time and era: {error}");
        }
    }

    /// Judges an order and writes it down.
    pub async fn accept(&self, signed: &SignedTask) -> Result<Accepted, Refused> {
        let result = self.shared.accept(signed).await;
        match &result {
            Ok(accepted) => {
                let task = accepted.task_id;
                tracing::info!(task.id = %task, "accepted the order {task}");
            }
            Err(refused) => {
                tracing::warn!(refusal = refused.refusal.name(), "refused an order: {}", refused.message);
            }
        }
        result
    }
}

impl Shared {
    async fn accept(self: &Arc<Self>, signed: &SignedTask) -> Result<Accepted, Refused> {
        let mut gate = self.gate.lock().await;
        // Whose record is meant is known only after the first look; the second has it locked.
        let instance = match self.judge(signed, &gate)? {
            Verdict::New(task, _) | Verdict::Again(task, _) => task.instance_id,
        };
        let slot = self.find(instance).unwrap_or_else(|| Arc::new(Slot::new(Record::new(instance, 0))));
        let writing = Arc::clone(&slot.writing).lock_owned().await;
        let (task, record, again) = match self.judge(signed, &gate)? {
            Verdict::New(task, record) => (task, record, false),
            Verdict::Again(task, record) => (task, record, true),
        };
        if task.era > gate.node.era {
            let node = NodeRecord { era: task.era, ..gate.node };
            self.write_node(node).await.map_err(|error| unwritable(&error))?;
            gate.node = node;
        }
        let before = slot.record().wish;
        let mut writing = Some(writing);
        let written: Result<(), Unwritable> = step!(self.options.faults, "agent.journal", {
            let held = writing.take().expect("it comes back from every write");
            self.write(&slot, (*record).clone(), held).await.map(|held| writing = Some(held))
        });
        written.map_err(|error| unwritable(&error))?;
        let now = self.time.now();
        gate.nonces.retain(|_, expires_at| *expires_at >= now);
        gate.nonces.insert(task.nonce, task.expires_at);
        self.take_up(&slot, &before, again);
        Ok(Accepted { task_id: task.task_id })
    }

    fn judge(&self, signed: &SignedTask, gate: &Gate) -> Result<Verdict, Refused> {
        let records = |instance: Uuid| self.find(instance).map(|slot| slot.record());
        let knowledge = Knowledge {
            node_id: self.options.node_id,
            verifiers: &gate.verifiers,
            server_time: self.time.now(),
            era: gate.node.era,
            records: &records,
            nonces: &gate.nonces,
        };
        admission::judge(signed, &knowledge)
    }

    /// The record is written; now the actor may know. The file is still held, so that no change meant for the wish
    /// before gets into this one.
    fn take_up(self: &Arc<Self>, slot: &Arc<Slot>, before: &Wish, again: bool) {
        let record = slot.record();
        let known = self
            .slots
            .lock()
            .expect("nothing panics while it is held")
            .insert(record.instance, Arc::clone(slot))
            .is_some();
        if again && record.wish == *before {
            self.board.repeat(|| self.report(slot));
            return;
        }
        slot.wish_changed();
        self.publish(slot);
        // The actor of a removed instance has ended.
        if !known || *before == Wish::Gone {
            self.spawn_actor(slot);
        }
    }

    async fn write_node(&self, node: NodeRecord) -> Result<(), Unwritable> {
        let journal = Arc::clone(&self.journal);
        let written = tokio::task::spawn_blocking(move || journal.write_node(&node)).await;
        Ok(written.expect("writing a file does not panic")?)
    }

    /// Lets go of the oldest marks of removed instances that nobody needs any more.
    pub(super) async fn drop_tombstones(&self) {
        let gate = self.gate.lock().await;
        let records: Vec<Record> = self.slots().iter().map(|slot| slot.record()).collect();
        for instance in surplus_tombstones(records.iter(), gate.node.era, self.time.now(), MAX_TOMBSTONES) {
            if let Err(error) = self.journal.forget(instance) {
                tracing::warn!(instance.id = %instance, "could not forget the removed instance {instance}: {error}");
                return;
            }
            self.slots.lock().expect("nothing panics while it is held").remove(&instance);
            self.board.forget(instance);
        }
    }
}

fn unwritable(error: &Unwritable) -> Refused {
    admission::refused(Refusal::JournalUnwritable, &error.to_string())
}
