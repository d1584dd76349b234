//! The loop of one instance.

use std::sync::Arc;
use std::time::Duration;

use gpuaas_agent_protocol::FailureReason;
use gpuaas_agent_protocol::report::{Health, Phase};
use gpuaas_faults::{Injected, step};
use tokio::sync::watch;
use uuid::Uuid;

use super::Shared;
use super::ports::HostPorts;
use super::slot::{Live, Slot, Stamp, Unwritable, cut};
use crate::journal::{Record, Wish};
use crate::runtime::labels::Labels;
use crate::runtime::{ContainerRuntime, Found};
use crate::seams::Failure;

/// Why work on a wish ends before its end.
#[derive(Debug)]
pub(super) enum Halt {
    /// There is another wish.
    Superseded,
    /// It did not work out and will not.
    Failed(Failure),
    /// It did not work out for the moment.
    Again(Failure),
}

impl From<Failure> for Halt {
    /// An engine that is away may come back; everything else an engine says, it will say again.
    fn from(failure: Failure) -> Self {
        match failure.reason {
            FailureReason::EngineUnavailable => Self::Again(failure),
            _ => Self::Failed(failure),
        }
    }
}

impl From<Injected> for Halt {
    fn from(injected: Injected) -> Self {
        Self::Again(Failure::new(FailureReason::Internal, injected.to_string()))
    }
}

impl From<Unwritable> for Halt {
    fn from(error: Unwritable) -> Self {
        Self::Again(Failure::new(FailureReason::DiskFull, error.to_string()))
    }
}

/// Work on one wish.
pub(super) struct Actor {
    pub(super) shared: Arc<Shared>,
    pub(super) slot: Arc<Slot>,
    pub(super) instance: Uuid,
    pub(super) stamp: Stamp,
    wishes: watch::Receiver<u64>,
    pub(super) record: Record,
    /// Listeners on the node for this instance.
    pub(super) ports: HostPorts,
}

impl Shared {
    pub(super) fn spawn_actor(self: &Arc<Self>, slot: &Arc<Slot>) {
        if slot.record().wish == Wish::Gone {
            return;
        }
        let (shared, slot) = (Arc::clone(self), Arc::clone(slot));
        self.tasks.spawn(async move { run(shared, slot).await });
    }
}

async fn run(shared: Arc<Shared>, slot: Arc<Slot>) {
    let (first, most) = shared.options.limits.retry_backoff;
    let mut backoff = first;
    let instance = slot.record().instance;
    let mut ports = HostPorts::default();
    loop {
        let (stamp, wishes) = slot.stamp();
        let record = slot.record();
        let mut actor = Actor {
            shared: Arc::clone(&shared),
            slot: Arc::clone(&slot),
            instance,
            stamp,
            wishes,
            record,
            ports,
        };
        let outcome = actor.pursue().await;
        let gone = slot.record().wish == Wish::Gone;
        match actor.only_launches_fail(outcome) {
            Ok(()) if gone => return,
            Ok(()) => {
                backoff = first;
                actor.superseded().await;
            }
            Err(Halt::Superseded) => backoff = first,
            Err(Halt::Failed(failure)) => {
                tracing::warn!(instance.id = %instance, "the instance {instance} failed: {failure}");
                if let Err(error) = actor.note_failure(failure).await {
                    tracing::warn!(instance.id = %instance, "could not note the failure of {instance}: {error}");
                    actor.rest(backoff).await;
                    backoff = (backoff * 2).min(most);
                }
            }
            Err(Halt::Again(failure)) => {
                tracing::warn!(instance.id = %instance, "{instance} does not get on, trying again: {failure}");
                actor.show(|live| live.complain(&failure));
                actor.rest(backoff).await;
                backoff = (backoff * 2).min(most);
            }
        }
        ports = actor.ports;
    }
}

/// Waits for all of them, whatever comes of some: a call to the engine is not cut off.
pub(super) async fn all(
    work: impl IntoIterator<Item = impl Future<Output = Result<(), Halt>>>,
) -> Result<(), Halt> {
    futures_util::future::join_all(work).await.into_iter().collect()
}

impl Actor {
    /// Does what the wish asks for. Ends well only where nothing is left to do until the next wish.
    async fn pursue(&mut self) -> Result<(), Halt> {
        let record = self.record.clone();
        match (&record.wish, record.phase) {
            (Wish::Gone, _) | (Wish::Launch { .. }, Phase::Failed) | (Wish::Stop { .. }, Phase::Stopped) => {
                Ok(())
            }
            (Wish::Launch { spec }, _) => match record.failure {
                Some(_) => self.clean_up_failed(spec.stop_grace_seconds).await,
                None => self.launch(spec).await,
            },
            (Wish::Stop { grace_seconds }, _) => self.stop(*grace_seconds).await,
            (Wish::Remove { grace_seconds }, _) => self.remove(*grace_seconds).await,
            (Wish::RemoveVolume { volume }, _) => self.remove_volume(*volume).await,
            (Wish::Adopted, _) => self.keep_as_it_is().await,
        }
    }

    /// Taking down has no other end than done, and what failed already fails no more.
    fn only_launches_fail(&self, outcome: Result<(), Halt>) -> Result<(), Halt> {
        let launching = matches!(self.record.wish, Wish::Launch { .. }) && self.record.failure.is_none();
        match outcome {
            Err(Halt::Failed(failure)) if !launching => Err(Halt::Again(failure)),
            outcome => outcome,
        }
    }

    pub(super) fn runtime(&self) -> &dyn ContainerRuntime {
        &*self.shared.options.runtime
    }

    pub(super) fn limits(&self) -> &super::Limits {
        &self.shared.options.limits
    }

    /// Everything of this instance that the engine has.
    pub(super) async fn look(&self) -> Result<Found, Halt> {
        Ok(self.runtime().list(self.shared.options.node_id, Some(self.instance)).await?)
    }

    pub(super) fn labels(&self, component: Option<&str>) -> Labels {
        Labels {
            node: self.shared.options.node_id,
            instance: self.instance,
            component: component.map(str::to_owned),
            generation: self.record.generation,
            era: self.record.era,
            order: self.record.order_digest.clone(),
        }
    }

    pub(super) fn is_ours(&self, labels: &Labels) -> bool {
        labels.is_of(self.record.generation, &self.record.order_digest)
    }

    /// Ends when there is another wish.
    pub(super) async fn superseded(&self) {
        let mut wishes = self.wishes.clone();
        if wishes.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// Waits for something that may be left half-done.
    pub(super) async fn unless_superseded<T>(&self, work: impl Future<Output = T>) -> Result<T, Halt> {
        tokio::select! {
            biased;
            () = self.superseded() => Err(Halt::Superseded),
            done = work => Ok(done),
        }
    }

    /// Goes on only if this is still what is wanted; called before anything is made.
    pub(super) fn check_current(&self) -> Result<(), Halt> {
        if self.slot.is_current(self.stamp) { Ok(()) } else { Err(Halt::Superseded) }
    }

    async fn rest(&self, time: Duration) {
        let _ = self.unless_superseded(tokio::time::sleep(time)).await;
    }

    /// Changes what is reported.
    pub(super) fn show(&self, change: impl FnOnce(&mut Live)) {
        if self.slot.show(self.stamp, change) {
            self.shared.publish(&self.slot);
        }
    }

    pub(super) fn show_phase(&self, phase: Phase) {
        self.show(|live| {
            live.phase = phase;
            live.failure = None;
            live.pull = None;
        });
    }

    /// Changes the journal; only for the wish of now.
    pub(super) async fn save(&mut self, change: impl Fn(&mut Record)) -> Result<(), Halt> {
        let (slot, stamp) = (Arc::clone(&self.slot), self.stamp);
        let mut current = false;
        let saved: Result<bool, Halt> = step!(self.shared.options.faults, "agent.journal", {
            let saved = self.shared.save(&slot, |record| {
                current = slot.is_current(stamp);
                if current {
                    change(record);
                }
                current
            });
            saved.await.map_err(Halt::from)
        });
        if !saved? {
            return Err(Halt::Superseded);
        }
        self.record = self.slot.record();
        Ok(())
    }

    /// What failed is torn down next; noted first, so that a restart does not launch it once more.
    async fn note_failure(&mut self, failure: Failure) -> Result<(), Unwritable> {
        let noted = (failure.reason, cut(&failure.detail));
        let (slot, stamp) = (Arc::clone(&self.slot), self.stamp);
        let changed = self.shared.save(&slot, |record| {
            let current = slot.is_current(stamp) && record.failure.is_none();
            if current {
                record.failure = Some(noted);
            }
            current
        });
        changed.await?;
        self.show(|live| live.complain(&failure));
        Ok(())
    }

    /// Found by labels, with no order known: it runs on, is seen, and waits for the next order.
    async fn keep_as_it_is(&mut self) -> Result<(), Halt> {
        let found = self.look().await?;
        if let Some(subnet) = found.networks.iter().find_map(|network| network.subnet) {
            self.open_door(subnet).await?;
        }
        self.show_components(&found.containers, |_| false);
        let health = if found.containers.iter().all(|c| c.state.is_running()) {
            Health::Unknown
        } else {
            Health::Unhealthy
        };
        self.show(|live| live.health = health);
        let running = found.containers.iter().filter(|container| container.state.is_running());
        let ends: Vec<_> = running.map(|container| self.runtime().wait_exit(&container.id)).collect();
        if ends.is_empty() {
            return Ok(());
        }
        let first = futures_util::future::select_all(ends);
        self.unless_superseded(first).await?.0?;
        Box::pin(self.keep_as_it_is()).await
    }
}
