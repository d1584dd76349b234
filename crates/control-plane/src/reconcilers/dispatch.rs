//! The one signer and sender of orders: takes what is queued and due, signs it, sends it, and notes what the node said.
//!
//! The holder of the `dispatch` lease does this; its epoch is in every order, and an agent that has seen a higher one
//! refuses a lower one. An order that was sent but not noted is sent again: the agent has it in its journal and says yes.

use futures_util::StreamExt as _;
use gpuaas_agent_protocol::task::{self, Refusal, Task};
use gpuaas_agent_protocol::{FailureReason, PROTOCOL};
use gpuaas_domain::iam::{Permit, Scope};
use gpuaas_domain::instance::NodeTask;
use gpuaas_domain::lifecycle::{Event, Failure};
use gpuaas_domain::{Error, Kind, Result, Timestamp};
use uuid::Uuid;

use super::TickStatus;
use crate::node_link::{Delivery, LinkError};
use crate::operations::instances::{Carrying, move_instance};
use crate::plane::ControlPlane;

const LEASE: &str = "dispatch";
const LEASE_SECONDS: i64 = 15;
const BATCH: i64 = 200;
const AT_ONCE: usize = 16;
const PART: &str = "dispatch";
/// Where a node is away its orders wait; coming back hastens them.
const AWAY_SECONDS: i64 = 30;

/// What the dispatcher remembers between turns.
#[derive(Default)]
pub struct Dispatcher {
    held: Option<(i64, Timestamp)>,
}

impl Dispatcher {
    pub async fn tick(&mut self, plane: &ControlPlane, owner: &str) -> Result<TickStatus> {
        let now = plane.now();
        let due = plane.store.read().await?.due_tasks(now, BATCH).await?;
        if due.is_empty() {
            return Ok(TickStatus::default());
        }
        let Some(epoch) = self.epoch(plane, owner, now).await? else { return Ok(TickStatus::default()) };
        let mut status = TickStatus { seen: due.len(), ..TickStatus::default() };
        let mut sent =
            futures_util::stream::iter(due).map(|task| deliver(plane, task, epoch)).buffer_unordered(AT_ONCE);
        while let Some(result) = sent.next().await {
            match result {
                Ok(true) => status.changed += 1,
                Ok(false) => {}
                Err(error) => {
                    status.errors += 1;
                    tracing::warn!("an order could not be dispatched and is tried again: {error}");
                }
            }
        }
        Ok(status)
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

/// Sends one order. Says whether the node has it now.
async fn deliver(plane: &ControlPlane, task: NodeTask, epoch: i64) -> Result<bool> {
    if !plane.links().is_connected(task.node_id) {
        postpone(plane, &task, AWAY_SECONDS, "the node is away", false).await?;
        return Ok(false);
    }
    let signed = step!(plane, "dispatch.sign", sign(plane, &task, epoch).await)?;
    let answer: Result<_> = step!(plane, "dispatch.send", {
        Ok::<_, Error>(plane.links().send_task(task.node_id, &signed).await)
    });
    match answer? {
        Ok(Delivery::Accepted) => {
            let event = Event::Delivered { generation: task.generation };
            step!(plane, "dispatch.note", note_answer(plane, &task, event.clone(), true).await)?;
            Ok(true)
        }
        Ok(Delivery::Refused(refused)) => {
            tracing::warn!(node.id = %task.node_id, instance.id = %task.instance_id, "node {} refused an order: {} {}", task.node_id, refused.refusal.name(), refused.message);
            match reason(refused.refusal) {
                Some(reason) if task.family == "container.launch" => {
                    let failure = Failure { reason, detail: refused.message };
                    let event = Event::Refused { generation: task.generation, failure };
                    note_answer(plane, &task, event, false).await?;
                }
                _ => postpone(plane, &task, backoff(task.attempts), refused.refusal.name(), true).await?,
            }
            Ok(false)
        }
        Err(LinkError::NotConnected) => {
            postpone(plane, &task, AWAY_SECONDS, "the node is away", false).await?;
            Ok(false)
        }
        Err(error) => {
            postpone(plane, &task, backoff(task.attempts), &error.to_string(), true).await?;
            Ok(false)
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

fn backoff(attempts: i64) -> i64 {
    (1i64 << attempts.clamp(0, 5)).min(30)
}

async fn sign(plane: &ControlPlane, task: &NodeTask, epoch: i64) -> Result<task::SignedTask> {
    let (key_id, key) = plane.task_signer().await?;
    let era = plane.store.read().await?.find_platform().await?.map_or(0, |platform| platform.era);
    let order: task::Order = serde_json::from_str(&task.order)
        .map_err(|error| Error::internal(format!("a stored order cannot be read: {error}")))?;
    let now = plane.now();
    let positive = |number: i64| u64::try_from(number).unwrap_or(0);
    let claims = Task {
        protocol: PROTOCOL,
        task_id: task.id.uuid(),
        node_id: task.node_id.uuid(),
        instance_id: task.instance_id.uuid(),
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
    Ok(task::sign(&claims, key_id.uuid(), &key))
}

async fn postpone(
    plane: &ControlPlane,
    task: &NodeTask,
    seconds: i64,
    why: &str,
    attempted: bool,
) -> Result<()> {
    let tx = plane.store.begin(&Permit::system(PART, Scope::Platform), plane.own_stamp()).await?;
    let next = tx.at().plus_seconds(seconds);
    tx.postpone_task(task.id, next, why, attempted).await
}

/// What the node said, in the row of the order and in the state of the instance.
async fn note_answer(plane: &ControlPlane, task: &NodeTask, event: Event, sent: bool) -> Result<()> {
    for _ in 0..3 {
        let stamp = plane.stamp(&task.correlation_id, &task.trace_id);
        let mut tx = plane.store.begin(&Permit::system(PART, Scope::Platform), stamp).await?;
        tx.lock_instance(task.instance_id).await?;
        let anywhere = Permit::system(PART, Scope::Platform).tenant_scope();
        let Some(before) = tx.find_instance(anywhere, task.instance_id).await? else { return Ok(()) };
        if sent && !tx.mark_sent(task.id).await? {
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
