//! The one signer and sender of orders: takes what is queued and due, signs it, sends it, and notes what the node said.
//!
//! The holder of the `dispatch` lease does this; its epoch is in every order, and an agent that has seen a higher one
//! refuses a lower one. An order that was sent but not noted is sent again: the agent has it in its journal and says yes.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use gpuaas_agent_protocol::task::{Order, Refusal, SignedTask, Task, sign as sign_task};
use gpuaas_agent_protocol::{FailureReason, PROTOCOL};
use gpuaas_domain::iam::{Permit, Scope};
use gpuaas_domain::ids::{InstanceId, NodeId};
use gpuaas_domain::instance::{NodeTask, Subject};
use gpuaas_domain::lifecycle::{Event, Failure};
use gpuaas_domain::{Error, Kind, Result, Timestamp};
use tokio::task::{self, JoinError, JoinSet};
use tokio::time::Instant;
use uuid::Uuid;

use super::TickStatus;
use crate::node_link::{Delivery, LinkError};
use crate::operations::instances::{Carrying, move_instance};
use crate::operations::node_images;
use crate::operations::reports::report_text;
use crate::plane::ControlPlane;

const LEASE: &str = "dispatch";
/// What a killed holder costs the next one in waiting.
const LEASE_SECONDS: i64 = 5;
const BATCH: i64 = 200;
const PART: &str = "dispatch";
/// Where a node is away its orders wait; coming back hastens them.
const AWAY: Duration = Duration::from_secs(30);
/// A node that answers does so in no time. One that does not keeps its own orders waiting and nobody else's.
const USUAL: Duration = Duration::from_millis(200);

/// What the dispatcher remembers between turns.
#[derive(Default)]
pub struct Dispatcher {
    held: Option<(i64, Timestamp)>,
    /// One for each node that is being sent something.
    flights: JoinSet<TickStatus>,
    busy: HashMap<task::Id, NodeId>,
}

impl Dispatcher {
    pub async fn tick(&mut self, plane: &Arc<ControlPlane>, owner: &str) -> Result<TickStatus> {
        let mut status = TickStatus::default();
        while let Some(landed) = self.flights.try_join_next_with_id() {
            self.land(landed, &mut status);
        }
        let now = plane.now();
        let due = {
            let mut session = plane.store.read().await?;
            let mut due = session.due_tasks(now, BATCH).await?;
            due.extend(session.due_removals(now, BATCH).await?);
            due
        };
        let mut by_node: BTreeMap<NodeId, Vec<NodeTask>> = BTreeMap::new();
        for task in due.into_iter().filter(|task| !self.busy.values().any(|node| *node == task.node_id)) {
            by_node.entry(task.node_id).or_default().push(task);
        }
        if by_node.is_empty() {
            status.pending = self.busy.len();
            return Ok(status);
        }
        let Some(epoch) = self.epoch(plane, owner, now).await? else { return Ok(status) };
        let mut started = HashSet::new();
        for (node, tasks) in by_node {
            status.seen += tasks.len();
            let plane = plane.clone();
            let id = self.flights.spawn(async move { deliver_all(&plane, tasks, epoch).await }).id();
            self.busy.insert(id, node);
            started.insert(id);
        }
        let deadline = Instant::now() + USUAL;
        while started.iter().any(|id| self.busy.contains_key(id)) {
            match tokio::time::timeout_at(deadline, self.flights.join_next_with_id()).await {
                Ok(Some(landed)) => self.land(landed, &mut status),
                Ok(None) | Err(_) => break,
            }
        }
        status.pending = self.busy.len();
        Ok(status)
    }

    fn land(
        &mut self,
        landed: std::result::Result<(task::Id, TickStatus), JoinError>,
        status: &mut TickStatus,
    ) {
        match landed {
            Ok((id, one)) => {
                self.busy.remove(&id);
                status.changed += one.changed;
                status.errors += one.errors;
            }
            Err(error) => {
                self.busy.remove(&error.id());
                status.errors += 1;
                tracing::error!("a delivery of orders broke off and is tried again: {error}");
            }
        }
    }

    /// The epoch of the lease, taken or renewed when it is half over.
    async fn epoch(&mut self, plane: &ControlPlane, owner: &str, now: Timestamp) -> Result<Option<i64>> {
        if let Some((epoch, until)) = self.held
            && until.seconds_since(now) > LEASE_SECONDS / 2
        {
            return Ok(Some(epoch));
        }
        let until = now.plus_seconds(LEASE_SECONDS);
        let tx = plane.store.begin(&Permit::system(PART, Scope::Platform), plane.own_stamp()).await?;
        let lease = tx.acquire_lease(LEASE, owner, now, until).await?;
        self.held = lease.as_ref().map(|lease| (lease.epoch, until));
        Ok(lease.map(|lease| lease.epoch))
    }
}

/// Gives the lease back when the process stops.
pub async fn release(plane: &ControlPlane, owner: &str) -> Result<()> {
    let tx = plane.store.begin(&Permit::system(PART, Scope::Platform), plane.own_stamp()).await?;
    tx.release_lease(LEASE, owner, plane.now()).await
}

/// The orders of one node, one after the other.
async fn deliver_all(plane: &ControlPlane, tasks: Vec<NodeTask>, epoch: i64) -> TickStatus {
    let mut status = TickStatus::default();
    for task in tasks {
        let delivered = match deliver(plane, &task, epoch).await {
            Err(error) => {
                status.errors += 1;
                tracing::warn!("an order could not be dispatched and is tried again: {error}");
                postpone(plane, &task, backoff(task.attempts), "the platform could not send it", true)
                    .await
                    .map(|()| false)
            }
            delivered => delivered,
        };
        match delivered {
            Ok(true) => status.changed += 1,
            Ok(false) => {}
            Err(error) => {
                status.errors += 1;
                tracing::warn!("an order could not be put off: {error}");
            }
        }
    }
    status
}

/// Sends one order. Says whether the node has it now.
async fn deliver(plane: &ControlPlane, task: &NodeTask, epoch: i64) -> Result<bool> {
    if !plane.links().is_connected(task.node_id) {
        postpone(plane, task, AWAY, "the node is away", true).await?;
        return Ok(false);
    }
    if let Subject::Instance(instance) = task.subject
        && task.family == "container.launch"
        && let Some(failure) = refusal(plane, instance, task).await?
    {
        // Nothing of it is on the node, unless an earlier sending's answer was lost.
        let event = Event::Refused { generation: task.generation, failure, perhaps_taken: task.attempts > 0 };
        note_answer(plane, task, event, false).await?;
        return Ok(false);
    }
    // Counted before it goes out: whatever happens to the answer, the node may have it.
    let tx = plane.store.begin(&Permit::system(PART, Scope::Platform), plane.own_stamp()).await?;
    let next = tx.at().plus_seconds(seconds(AWAY));
    let Some(attempts) = tx.claim_task(task, next).await? else { return Ok(false) };
    let signed = step!(plane, "dispatch.sign", sign(plane, task, epoch).await)?;
    let answer: Result<_> = step!(plane, "dispatch.send", {
        Ok::<_, Error>(plane.links().send_task(task.node_id, &signed).await)
    });
    match answer? {
        Ok(Delivery::Accepted) => {
            let event = Event::Delivered { generation: task.generation };
            step!(plane, "dispatch.note", note_answer(plane, task, event.clone(), true).await)?;
            Ok(true)
        }
        Ok(Delivery::Refused(refused)) => {
            let message = report_text(&refused.message);
            tracing::warn!(node.id = %task.node_id, subject.id = %task.subject.uuid(), "node {} refused an order: {} {message}", task.node_id, refused.refusal.name());
            match reason(refused.refusal) {
                Some(reason) if task.family == "container.launch" => {
                    let failure = Failure { reason, detail: message };
                    // An answer to an earlier sending may have been lost.
                    let perhaps_taken = attempts > 1;
                    let event = Event::Refused { generation: task.generation, failure, perhaps_taken };
                    note_answer(plane, task, event, false).await?;
                }
                _ => postpone(plane, task, backoff(attempts), refused.refusal.name(), true).await?,
            }
            Ok(false)
        }
        Err(LinkError::NotConnected) => {
            postpone(plane, task, AWAY, "the node is away", false).await?;
            Ok(false)
        }
        Err(error) => {
            postpone(plane, task, backoff(attempts), &error.to_string(), true).await?;
            Ok(false)
        }
    }
}

/// Why a launch must not go out any more: its image was revoked, or lost its trust, since it was planned (F-25).
async fn refusal(plane: &ControlPlane, instance: InstanceId, task: &NodeTask) -> Result<Option<Failure>> {
    let order: Order = serde_json::from_str(&task.order)
        .map_err(|error| Error::internal(format!("a stored order cannot be read: {error}")))?;
    let Order::Launch { spec } = order else { return Ok(None) };
    let mut session = plane.store.read().await?;
    match node_images::check_order(plane, &mut session, instance, &spec).await {
        Ok(()) => Ok(None),
        Err(error) if matches!(error.kind(), Kind::Internal | Kind::Unavailable) => Err(error),
        Err(error) => {
            let detail = format!("{}: {}", error.code(), error.message());
            Ok(Some(Failure { reason: FailureReason::ImageNotAllowed, detail }))
        }
    }
}

/// A refusal that no repetition mends ends the launch; the others pass.
fn reason(refusal: Refusal) -> Option<FailureReason> {
    match refusal {
        Refusal::SpecRefused | Refusal::TooLarge => Some(FailureReason::SpecRefused),
        Refusal::JournalUnwritable => Some(FailureReason::DiskFull),
        Refusal::Malformed
        | Refusal::WrongProtocol
        | Refusal::WrongNode
        | Refusal::StaleGeneration
        | Refusal::DigestMismatch
        | Refusal::Contradiction => Some(FailureReason::TaskRefused),
        Refusal::UnknownKey
        | Refusal::BadSignature
        | Refusal::Expired
        | Refusal::NotYetValid
        | Refusal::StaleEra
        | Refusal::StaleEpoch
        | Refusal::Replayed
        | Refusal::NotReady => None,
    }
}

/// A quarter of a second, then twice as long each time, half a minute at most.
fn backoff(attempts: i64) -> Duration {
    (Duration::from_millis(250) * (1 << attempts.clamp(0, 7))).min(AWAY)
}

fn seconds(time: Duration) -> i64 {
    i64::try_from(time.as_secs()).unwrap_or(i64::MAX)
}

async fn sign(plane: &ControlPlane, task: &NodeTask, epoch: i64) -> Result<SignedTask> {
    let (key_id, key) = plane.task_signer().await?;
    let era = plane.store.read().await?.find_platform().await?.map_or(0, |platform| platform.era);
    let order: Order = serde_json::from_str(&task.order)
        .map_err(|error| Error::internal(format!("a stored order cannot be read: {error}")))?;
    let now = plane.now();
    let positive = |number: i64| u64::try_from(number).unwrap_or(0);
    let claims = Task {
        protocol: PROTOCOL,
        task_id: task.id.uuid(),
        node_id: task.node_id.uuid(),
        instance_id: task.subject.uuid(),
        generation: positive(task.generation),
        epoch: positive(epoch),
        era: positive(era),
        nonce: plane.new_uuid(),
        issued_at: now.unix_micros(),
        expires_at: now.plus_seconds(plane.settings.launch.task_ttl_seconds).unix_micros(),
        // Stories made elsewhere need not be ids; the node only carries it along.
        correlation_id: Uuid::try_parse(&task.correlation_id).unwrap_or(Uuid::nil()),
        order_digest: order.digest(),
        order,
    };
    Ok(sign_task(&claims, key_id.uuid(), &key))
}

/// Tries again later. `sent` is false where the order counted as sent has certainly not left.
async fn postpone(
    plane: &ControlPlane,
    task: &NodeTask,
    wait: Duration,
    why: &str,
    sent: bool,
) -> Result<()> {
    let tx = plane.store.begin(&Permit::system(PART, Scope::Platform), plane.own_stamp()).await?;
    let next = tx.at().plus_micros(i64::try_from(wait.as_micros()).unwrap_or(i64::MAX));
    tx.postpone_task(task, next, why, sent).await
}

/// What the node said, in the row of the order and in the state of the instance.
async fn note_answer(plane: &ControlPlane, task: &NodeTask, event: Event, sent: bool) -> Result<()> {
    let instance = match task.subject {
        Subject::Instance(instance) => instance,
        // What the node makes of it, it reports.
        Subject::Volume(volume) => {
            let mut tx = plane.store.begin(&Permit::system(PART, Scope::Platform), plane.own_stamp()).await?;
            tx.mark_sent(task).await?;
            tx.note_volume_problem(volume, None).await?;
            return tx.commit_observation().await;
        }
    };
    for _ in 0..3 {
        let stamp = plane.stamp(&task.correlation_id, &task.trace_id);
        let mut tx = plane.store.begin(&Permit::system(PART, Scope::Platform), stamp).await?;
        tx.lock_instance(instance).await?;
        let anywhere = Permit::system(PART, Scope::Platform).tenant_scope();
        let Some(before) = tx.find_instance(anywhere, instance).await? else { return Ok(()) };
        if sent && !tx.mark_sent(task).await? {
            return Ok(());
        }
        let moved =
            move_instance(plane, &mut tx, "instances.dispatch", &before, event.clone(), Carrying::default())
                .await;
        let result = match moved {
            Ok(Some((_, change))) => tx.commit(change, None).await,
            Ok(None) => tx.commit_observation().await,
            Err(error) => Err(error),
        };
        match result {
            Err(error) if error.kind() == Kind::Stale => {}
            other => return other,
        }
    }
    Err(Error::stale())
}
