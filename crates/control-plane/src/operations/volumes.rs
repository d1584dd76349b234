//! Volumes: created on the node of an allocation, deleted once nobody holds them and the node has taken the bytes away.

use gpuaas_agent_protocol::report::{InstanceReport, Phase};
use gpuaas_agent_protocol::task::Order;
use gpuaas_domain::allocation::AllocationState;
use gpuaas_domain::event::{Change, EventType, ObjectRef};
use gpuaas_domain::iam::{Actor, Permission, Permit, Scope};
use gpuaas_domain::ids::{AllocationId, NodeId, ProjectId, TaskId, VolumeId};
use gpuaas_domain::instance::{NodeTask, Subject, TaskState};
use gpuaas_domain::limit::Limit;
use gpuaas_domain::node::{Node, NodeStanding};
use gpuaas_domain::page::{Page, PageRequest};
use gpuaas_domain::text::Slug;
use gpuaas_domain::volume::{self, Attachment, Effect, Event, Volume, VolumeState};
use gpuaas_domain::{Error, Kind, Result};
use gpuaas_store::Tx;
use gpuaas_store::volumes::REMOVAL_GENERATION;
use serde_json::{Value, json};

use super::reports::{checked_receipt, report_text};
use crate::plane::ControlPlane;
use crate::{OpContext, Prepared};

/// A volume with everything around it.
pub struct Detail {
    pub volume: Volume,
    pub node: Option<Node>,
    pub holders: Vec<Attachment>,
    /// The node's statement that nothing is left, and its signature.
    pub receipt: Option<(String, String)>,
}

/// What a new volume shall be.
pub struct NewVolume {
    pub name: Slug,
    pub allocation: AllocationId,
    pub size_mib: Option<i64>,
}

pub async fn list(
    ctx: &OpContext,
    project: ProjectId,
    state: Option<VolumeState>,
    page: &PageRequest,
) -> Result<Page<Volume>> {
    let permit = ctx.permit_project(Permission::VolumeRead, project).await?;
    ctx.plane.store.read().await?.list_volumes(permit.tenant_scope(), state, page).await
}

pub async fn get(ctx: &OpContext, project: ProjectId, id: VolumeId) -> Result<Detail> {
    let permit = ctx.permit_project(Permission::VolumeRead, project).await?;
    let scope = permit.tenant_scope();
    let mut session = ctx.plane.store.read().await?;
    let volume = session.find_volume(scope, id).await?.ok_or_else(Error::not_found)?;
    Ok(Detail {
        node: session.find_node(volume.node_id).await?,
        holders: session.list_attachments(scope, id).await?,
        receipt: session.find_volume_receipt(scope, id).await?,
        volume,
    })
}

pub async fn create(ctx: &OpContext, project: ProjectId, new: NewVolume) -> Result<Prepared<Volume>> {
    let permit = ctx.permit_project(Permission::VolumeCreate, project).await?;
    let mut tx = ctx.begin(&permit).await?;
    tx.lock_project(project).await?;
    let limit = tx.effective_limit(permit.scope(), Limit::Volumes).await?;
    Limit::Volumes.check(limit, tx.count_volumes(project).await?)?;
    let node_id = node_of(&mut tx, &permit, new.allocation).await?;
    let at = tx.at();
    let tenant = permit.scope().tenant().ok_or_else(|| Error::internal("a project has a tenant"))?;
    let volume = Volume {
        id: VolumeId::new(ctx.plane.new_uuid()),
        tenant_id: tenant,
        project_id: project,
        name: new.name.into(),
        node_id,
        size_mib: new.size_mib,
        state: VolumeState::Ready,
        problem: None,
        created_by_kind: permit.actor().kind().to_owned(),
        created_by_id: permit.actor().id(),
        created_at: at,
        deleting_at: None,
        ended_at: None,
        version: 1,
        updated_at: at,
    };
    tx.insert_volume(&volume).await?;
    let change = Change::new(ctx.route.action, object(&volume))
        .after(volume.audit_view())
        .event(EventType::VolumeCreated, view(&volume));
    Ok(Prepared::new(tx, change, volume))
}

/// Where a volume will lie: with the allocation that its instances are to run on.
async fn node_of(tx: &mut Tx, permit: &Permit, allocation: AllocationId) -> Result<NodeId> {
    let found = tx.find_allocation(permit.tenant_scope(), allocation).await?.ok_or_else(|| {
        Error::field("/allocation_id", "unknown_allocation", "The project has no such allocation.")
    })?;
    let inactive = || {
        let sentence = "A volume lies where an allocation is; name one that is active.";
        Error::conflict("allocation_not_active", sentence).with_param("state", found.state.name())
    };
    let node = found.node_id.filter(|_| found.state == AllocationState::Active).ok_or_else(inactive)?;
    let standing = tx.find_node(node).await?.map(|node| node.standing);
    if standing == Some(NodeStanding::Active) { Ok(node) } else { Err(inactive()) }
}

/// Refused while anybody holds it; else its bytes go as soon as the node can be asked.
pub async fn delete(
    ctx: &OpContext,
    project: ProjectId,
    id: VolumeId,
    reason: Option<String>,
) -> Result<Prepared<Volume>> {
    let permit = ctx.permit_project(Permission::VolumeDelete, project).await?;
    let mut tx = ctx.begin(&permit).await?;
    tx.lock_volume(id).await?;
    let before = tx.find_volume(permit.tenant_scope(), id).await?.ok_or_else(Error::not_found)?;
    ctx.check_version(before.version)?;
    let holders = tx.list_attachments(permit.tenant_scope(), id).await?;
    let moved = carry_out(&ctx.plane, &mut tx, &before, Event::Delete, &holders).await?;
    let Some((after, kind)) = moved else {
        // Asked again for what is under way or done: harmless, and in the trail.
        let change =
            Change::new(ctx.route.action, object(&before)).after(before.audit_view()).because(reason);
        return Ok(Prepared::new(tx, change, before));
    };
    let change = changed(ctx.route.action, &before, &after).because(reason).event(kind, view(&after));
    Ok(Prepared::new(tx, change, after))
}

/// Moves a volume by one event and does what that asks for, if it changes anything.
async fn carry_out(
    plane: &ControlPlane,
    tx: &mut Tx,
    before: &Volume,
    event: Event,
    holders: &[Attachment],
) -> Result<Option<(Volume, EventType)>> {
    let (after, effect) = volume::apply(before.clone(), event, holders, tx.at())?;
    if after == *before {
        return Ok(None);
    }
    let after = tx.update_volume(after).await?;
    match effect {
        Some(Effect::OrderRemoval) => order_removal(plane, tx, &after).await?,
        Some(Effect::FinishOrder) => tx.close_removal(after.id, TaskState::Done).await?,
        Some(Effect::VoidOrder) => tx.close_removal(after.id, TaskState::Superseded).await?,
        None => {}
    }
    let kind = match after.state {
        VolumeState::Ready => EventType::VolumeCreated,
        VolumeState::Deleting => EventType::VolumeDeleting,
        VolumeState::Deleted => EventType::VolumeDeleted,
        VolumeState::Lost => EventType::VolumeLost,
    };
    Ok(Some((after, kind)))
}

async fn order_removal(plane: &ControlPlane, tx: &mut Tx, volume: &Volume) -> Result<()> {
    let order = Order::RemoveVolume { volume_id: volume.id.uuid() };
    let stamp = tx.stamp().clone();
    let task = NodeTask {
        id: TaskId::new(plane.new_uuid()),
        node_id: volume.node_id,
        subject: Subject::Volume(volume.id),
        generation: REMOVAL_GENERATION,
        family: order.family().to_owned(),
        order: serde_json::to_string(&order).expect("an order is plain data"),
        state: TaskState::Queued,
        attempts: 0,
        correlation_id: stamp.correlation_id,
        trace_id: stamp.trace_id,
        created_at: stamp.at,
    };
    tx.enqueue_removal(&task).await
}

/// What a node says about a volume that it shall remove. Only its own receipt ends it.
pub(super) async fn record_removal(plane: &ControlPlane, node: NodeId, seen: &InstanceReport) -> Result<()> {
    for _ in 0..3 {
        match try_record_removal(plane, node, seen).await {
            Err(error) if error.kind() == Kind::Stale => {}
            other => return other,
        }
    }
    Err(Error::stale())
}

async fn try_record_removal(plane: &ControlPlane, node: NodeId, seen: &InstanceReport) -> Result<()> {
    let id = VolumeId::new(seen.instance_id);
    let Some(task) = plane.store.read().await?.find_removal(id).await? else { return Ok(()) };
    let stamp = plane.stamp(&task.correlation_id, &task.trace_id);
    let mut tx = plane.store.begin(&Permit::own_account(Actor::Node(node)), stamp).await?;
    tx.lock_volume(id).await?;
    let anywhere = Permit::system("report", Scope::Platform).tenant_scope();
    let found = tx.find_volume(anywhere, id).await?.filter(|volume| volume.node_id == node);
    let Some(before) = found else { return Ok(()) };
    if seen.phase != Phase::Removed {
        let problem = seen.detail.as_deref().map(report_text);
        if problem == before.problem {
            return Ok(());
        }
        tx.note_volume_problem(id, problem.as_deref()).await?;
        return tx.commit_observation().await;
    }
    let receipt = checked_receipt(&mut tx, node, id.uuid(), seen).await?;
    let (Some(_), Some(signed)) = (receipt, &seen.receipt) else {
        tracing::warn!(volume.id = %id, "node {node} says volume {id} is gone without a receipt that holds");
        return Ok(());
    };
    let Some((after, kind)) = carry_out(plane, &mut tx, &before, Event::Removed, &[]).await? else {
        return Ok(());
    };
    tx.keep_volume_receipt(id, &signed.payload, &signed.signature).await?;
    let change = changed("volumes.removed", &before, &after).event(kind, view(&after));
    tx.commit(change, None).await
}

/// A node that should know of the removal and does not is told again: it lost its journal, or never heard.
pub(super) async fn resend_removal(plane: &ControlPlane, node: NodeId, id: VolumeId) -> Result<()> {
    let tx = plane.store.begin(&Permit::system("resync", Scope::Platform), plane.own_stamp()).await?;
    if tx.requeue_removal(id).await? > 0 {
        tracing::info!(node.id = %node, volume.id = %id, "node {node} has lost the removal of volume {id}; it is sent again");
    }
    Ok(())
}

/// Its node is no node any more: nobody will ever reach the bytes, or say that they are gone.
pub(crate) async fn lose(plane: &ControlPlane, id: VolumeId) -> Result<bool> {
    let permit = Permit::system("upkeep", Scope::Platform);
    let mut tx = plane.store.begin(&permit, plane.own_stamp()).await?;
    tx.lock_volume(id).await?;
    let Some(before) = tx.find_volume(permit.tenant_scope(), id).await? else { return Ok(false) };
    let Some((after, kind)) = carry_out(plane, &mut tx, &before, Event::NodeGone, &[]).await? else {
        return Ok(false);
    };
    let why = Some("the node was revoked or forgotten".to_owned());
    let change = changed("volumes.lost", &before, &after).because(why).event(kind, view(&after));
    tx.commit(change, None).await?;
    Ok(true)
}

fn object(volume: &Volume) -> ObjectRef {
    ObjectRef::new("volume", volume.id)
}

fn changed(action: &'static str, before: &Volume, after: &Volume) -> Change {
    Change::new(action, object(after)).at(after.scope()).before(before.audit_view()).after(after.audit_view())
}

fn view(volume: &Volume) -> Value {
    let mut view = volume.audit_view();
    view["volume_id"] = json!(volume.id);
    view["project_id"] = json!(volume.project_id);
    view["tenant_id"] = json!(volume.tenant_id);
    view
}
