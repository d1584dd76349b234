//! What nodes see becomes status, timeline and events. A report is a claim about the node's own instances: it moves
//! nothing else, and hearing it twice changes nothing.

use std::collections::{HashMap, HashSet};

use gpuaas_agent_protocol::receipt;
use gpuaas_agent_protocol::report::{ComponentReport, InstanceReport, NodeReport, Phase, PullProgress};
use gpuaas_domain::iam::{Actor, Permit, Scope};
use gpuaas_domain::ids::{InstanceId, NodeId};
use gpuaas_domain::instance::{Component, Instance};
use gpuaas_domain::lifecycle::{Event, Failure};
use gpuaas_domain::text::{self, Slug};
use gpuaas_domain::{Error, Kind, Result, Timestamp};
use gpuaas_store::Tx;
use serde_json::json;
use uuid::Uuid;

use super::instances::{Carrying, move_instance, note};
use super::volumes;
use crate::plane::ControlPlane;

/// How often a stale write is tried again with fresh eyes.
const ATTEMPTS: usize = 3;
/// Bytes of an engine's own words that are kept.
const DETAIL_CHARS: usize = 2000;
const MAX_COMPONENTS: usize = 64;
/// Progress of a pull is kept at most this often.
const PROGRESS_SECONDS: i64 = 2;

/// Takes a report. What cannot be used is left out and said in the log; the rest counts.
pub async fn record(plane: &ControlPlane, node: NodeId, report: &NodeReport) -> Result<()> {
    let era = plane.store.read().await?.find_platform().await?.map_or(0, |platform| platform.era);
    let era = u64::try_from(era).unwrap_or(0);
    // What was ordered before a restore is another story: the order of this one is sent first. A report is about the
    // present, so each instance has one say in it: the last.
    let last: HashMap<Uuid, &InstanceReport> =
        report.instances.iter().map(|seen| (seen.instance_id, seen)).collect();
    let own = plane.store.read().await?.list_node_instances(node).await?;
    let known: HashSet<Uuid> = own.iter().map(|instance| instance.id.uuid()).collect();
    let leaving = plane.store.read().await?.list_deleting_volumes(node).await?;
    let is_leaving = |id: &Uuid| leaving.iter().any(|volume| volume.uuid() == *id);
    let strangers = last.keys().filter(|id| !known.contains(id) && !is_leaving(id)).count();
    if strangers > 0 {
        tracing::warn!(node.id = %node, "node {node} speaks of {strangers} instances that are not its own");
    }
    for seen in last.values().filter(|seen| seen.era >= era && known.contains(&seen.instance_id)) {
        step!(plane, "report.record", record_one(plane, node, seen).await)?;
    }
    for seen in last.values().filter(|seen| seen.era >= era && is_leaving(&seen.instance_id)) {
        step!(plane, "report.volume", volumes::record_removal(plane, node, seen).await)?;
    }
    if report.full {
        resend_lost(plane, node, report, era).await?;
        for volume in leaving.iter().filter(|volume| !last.contains_key(&volume.uuid())) {
            volumes::resend_removal(plane, node, *volume).await?;
        }
    }
    Ok(())
}

async fn record_one(plane: &ControlPlane, node: NodeId, seen: &InstanceReport) -> Result<()> {
    for _ in 0..ATTEMPTS {
        match try_record(plane, node, seen).await {
            Err(error) if error.kind() == Kind::Stale => {}
            other => return other,
        }
    }
    Err(Error::stale())
}

async fn try_record(plane: &ControlPlane, node: NodeId, seen: &InstanceReport) -> Result<()> {
    let id = InstanceId::new(seen.instance_id);
    let permit = Permit::own_account(Actor::Node(node));
    let found = {
        let mut session = plane.store.read().await?;
        let anywhere = Permit::system("report", Scope::Platform).tenant_scope();
        session.find_instance(anywhere, id).await?.filter(|instance| instance.node_id == node)
    };
    let Some(instance) = found else {
        tracing::warn!(node.id = %node, instance.id = %id, "node {node} speaks of instance {id}, which is not one of its own");
        return Ok(());
    };
    let generation = i64::try_from(seen.generation).unwrap_or(i64::MAX);
    if generation != instance.state.desired {
        return Ok(());
    }
    let (correlation, trace) = story(plane, &instance).await?;
    let mut tx = plane.store.begin(&permit, plane.stamp(&correlation, &trace)).await?;
    tx.lock_instance(id).await?;
    let anywhere = Permit::system("report", Scope::Platform).tenant_scope();
    let before = tx.find_instance(anywhere, id).await?.ok_or_else(Error::not_found)?;
    let gone = matches!(seen.phase, Phase::Stopped | Phase::Failed | Phase::Removed);
    let changed = put_components(&mut tx, id, &seen.components, gone).await?;
    let receipt = checked_receipt(&mut tx, node, before.id.uuid(), seen).await?;
    if seen.phase == Phase::Removed && receipt.is_none() && !before.state.is_decommissioned() {
        tracing::warn!(instance.id = %id, "node {node} says instance {id} is gone without a receipt that holds");
        return Ok(());
    }
    let event =
        Event::Observed { generation, phase: seen.phase, health: seen.health, failure: failure(seen) };
    let waits = note_complaint(plane, &mut tx, &before, seen).await?;
    let carrying =
        Carrying { receipt: seen.receipt.as_ref().filter(|_| receipt.is_some()), ..Carrying::default() };
    let noted = note_progress(plane, &mut tx, &before, seen).await?;
    match move_instance(plane, &mut tx, "instances.observe", &before, event, carrying).await? {
        Some((_, change)) => tx.commit(change, None).await,
        None if changed || noted || waits => tx.commit_observation().await,
        None => Ok(()),
    }
}

/// The story of the order this is about, so that one correlation id leads from the request to the end.
async fn story(plane: &ControlPlane, instance: &Instance) -> Result<(String, String)> {
    let task = plane.store.read().await?.find_task(instance.id, instance.state.desired).await?;
    Ok(task.map_or_else(
        || {
            let stamp = plane.own_stamp();
            (stamp.correlation_id, stamp.trace_id)
        },
        |task| (task.correlation_id, task.trace_id),
    ))
}

fn failure(seen: &InstanceReport) -> Option<Failure> {
    let detail = report_text(seen.detail.as_deref().unwrap_or_default());
    seen.reason.map(|reason| Failure { reason, detail })
}

/// A node's own words, as they may be kept and shown: nothing that deceives, and not too many.
pub(crate) fn report_text(words: &str) -> String {
    let clean = |c: char| if c == '\n' || !text::is_deceptive(c) { c } else { ' ' };
    words.chars().map(clean).take(DETAIL_CHARS).collect()
}

/// What the node sees of each container; where all are gone, what is known of them says so.
async fn put_components(tx: &mut Tx, id: InstanceId, seen: &[ComponentReport], gone: bool) -> Result<bool> {
    let known = tx.list_components(id).await?;
    let mut changed = false;
    for former in known.iter().filter(|former| gone && (former.running || former.ready)) {
        let ended = Component { running: false, ready: false, ..former.clone() };
        tx.put_component(id, &ended).await?;
        changed = true;
    }
    if gone {
        return Ok(changed);
    }
    let mut names: HashSet<&str> = known.iter().map(|former| former.name.as_str()).collect();
    for one in seen.iter().take(MAX_COMPONENTS) {
        // A node invents no components: their names are those of a profile, and there are only so many.
        names.insert(&one.name);
        if Slug::parse(&one.name).is_err() || names.len() > MAX_COMPONENTS {
            names.remove(one.name.as_str());
            continue;
        }
        let component = Component {
            name: one.name.clone(),
            container_id: one.container_id.clone().filter(|id| is_container_id(id)),
            running: one.running,
            ready: one.ready,
            restarts: i64::from(one.restarts),
            exit_code: one.exit_code,
            started_at: one.started_at.and_then(Timestamp::from_unix_micros),
        };
        if !known.contains(&component) {
            tx.put_component(id, &component).await?;
            changed = true;
        }
    }
    Ok(changed)
}

fn is_container_id(id: &str) -> bool {
    (1..=128).contains(&id.len()) && id.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
}

/// A receipt counts if this node signed it, for this instance or volume and generation, and it says that nothing is left.
pub(super) async fn checked_receipt(
    tx: &mut Tx,
    node: NodeId,
    subject: Uuid,
    seen: &InstanceReport,
) -> Result<Option<receipt::Receipt>> {
    let Some(signed) = &seen.receipt else { return Ok(None) };
    let Some((_, key)) = tx.find_node_key(node).await? else { return Ok(None) };
    Ok(receipt::open(signed, &key).filter(|receipt| {
        receipt.instance_id == subject
            && receipt.node_id == node.uuid()
            && receipt.generation == seen.generation
            && receipt.left.is_nothing()
    }))
}

/// Pulling is told as it goes, but not every byte of it.
async fn note_progress(
    plane: &ControlPlane,
    tx: &mut Tx,
    before: &Instance,
    seen: &InstanceReport,
) -> Result<bool> {
    let Some(PullProgress { done_bytes, total_bytes }) = seen.pull.filter(|_| seen.phase == Phase::Pulling)
    else {
        plane.progress.lock().expect("no holder panics").remove(&before.id);
        return Ok(false);
    };
    let now = tx.at();
    let due = {
        let mut progress = plane.progress.lock().expect("no holder panics");
        let last = progress.get(&before.id).copied();
        let due =
            last.is_none_or(|(done, at)| done != done_bytes && now.seconds_since(at) >= PROGRESS_SECONDS);
        if due {
            progress.insert(before.id, (done_bytes, now));
        }
        due
    };
    if due {
        note(plane, tx, before.id, "pulling", json!({"done_bytes": done_bytes, "total_bytes": total_bytes}))
            .await?;
    }
    Ok(due)
}

/// What holds an instance up for the moment is told once: a node tries again every few seconds.
async fn note_complaint(
    plane: &ControlPlane,
    tx: &mut Tx,
    before: &Instance,
    seen: &InstanceReport,
) -> Result<bool> {
    // The end of a story has its own line.
    let over = matches!(seen.phase, Phase::Running | Phase::Stopped | Phase::Failed | Phase::Removed);
    let complaint = failure(seen).filter(|_| !over);
    let news = {
        let mut known = plane.complaints.lock().expect("no holder panics");
        match &complaint {
            None => {
                known.remove(&before.id);
                false
            }
            Some(Failure { reason, detail }) => {
                known.insert(before.id, (*reason, detail.clone())).as_ref()
                    != Some(&(*reason, detail.clone()))
            }
        }
    };
    if let Some(Failure { reason, detail }) = complaint.filter(|_| news) {
        note(plane, tx, before.id, "waiting", json!({"reason": reason.name(), "detail": detail})).await?;
    }
    Ok(news)
}

/// What a node should have and does not is sent again: it lost its journal, or never heard.
async fn resend_lost(plane: &ControlPlane, node: NodeId, report: &NodeReport, era: u64) -> Result<()> {
    let instances = plane.store.read().await?.list_node_instances(node).await?;
    for instance in instances {
        let seen = report.instances.iter().find(|seen| seen.instance_id == instance.id.uuid());
        let current = seen.is_some_and(|seen| {
            let desired = u64::try_from(instance.state.desired).unwrap_or(0);
            (seen.era, seen.generation) >= (era, desired)
        });
        // Stopped and failed instances need nothing on their node, unless it has something of another story.
        let wanted = seen.is_some_and(|seen| seen.era < era)
            || instance.state.operation.is_some()
            || instance.state.status == gpuaas_domain::lifecycle::Status::Running
            || instance.state.is_decommissioned();
        if current || !wanted {
            continue;
        }
        let tx = plane.store.begin(&Permit::system("resync", Scope::Platform), plane.own_stamp()).await?;
        if tx.requeue_task(instance.id, instance.state.desired).await? > 0 {
            tracing::info!(node.id = %node, instance.id = %instance.id, "node {node} has lost instance {}; its order is sent again", instance.id);
        }
    }
    Ok(())
}

/// A node's control link came up: what waits for it goes out at once, and what it has is looked at.
pub async fn resync(plane: &ControlPlane, node: NodeId) -> Result<()> {
    let tx = plane.store.begin(&Permit::system("resync", Scope::Platform), plane.own_stamp()).await?;
    let now = tx.at();
    tx.hasten_tasks(node, now).await?;
    match plane.links().instances(node).await {
        Ok(report) => record(plane, node, &NodeReport { full: true, ..report }).await,
        Err(error) => {
            tracing::info!(node.id = %node, "node {node} could not be asked what it has: {error}");
            Ok(())
        }
    }
}
