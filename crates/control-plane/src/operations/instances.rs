//! Instances after their launch: reading, stopping, ending; and carrying out what the state machine decides.

use gpuaas_agent_protocol::link::{InstanceStats, LogQuery};
use gpuaas_agent_protocol::receipt::SignedReceipt;
use gpuaas_agent_protocol::task::Order;
use gpuaas_domain::event::{Change, EventType};
use gpuaas_domain::iam::{Permission, Permit};
use gpuaas_domain::ids::{InstanceId, IntervalId, ProjectId, ReservationId, TaskId, TimelineId};
use gpuaas_domain::instance::{
    Instance, NodeTask, StoredReceipt, Subject, TaskState, TimelineEntry, health_name,
};
use gpuaas_domain::launch::Plan;
use gpuaas_domain::lifecycle::{self, Effect, Event, OrderKind};
use gpuaas_domain::page::{Page, PageRequest};
use gpuaas_domain::{Error, Kind, Result};
use gpuaas_store::Tx;
use gpuaas_store::instances::InstanceFilter;
use serde_json::{Value, json};

use super::launch::{launch_order, object};
use crate::node_link::{ByteStream, LinkError, LogBytes};
use crate::plane::ControlPlane;
use crate::{OpContext, Prepared};

/// How long the agent's grace may be exceeded before a stop is called late; the agent kills at the grace itself.
const STOP_GRACE_SECONDS: u32 = 10;

/// What the effects of a move need besides the instance.
#[derive(Default)]
pub(crate) struct Carrying<'a> {
    pub(crate) plan: Option<&'a Plan>,
    pub(crate) receipt: Option<&'a SignedReceipt>,
    pub(crate) reason: Option<String>,
}

/// Does what the state machine decided, in the transaction of the move. Gives the change to commit it with.
pub(crate) async fn carry_out(
    plane: &ControlPlane,
    tx: &mut Tx,
    action: &'static str,
    before: Option<&Instance>,
    after: &Instance,
    effects: &[Effect],
    carrying: Carrying<'_>,
) -> Result<Change> {
    let mut events = Vec::new();
    for effect in effects {
        match effect {
            Effect::Reserve => reserve(plane, tx, after, carrying.plan).await?,
            Effect::Release => {
                tx.release_holds(after.id).await?;
                tx.release_volumes(after.id).await?;
                tx.lift_quarantine(after.id).await?;
            }
            Effect::Quarantine => {
                // Its volumes stay held: what runs there may still write to them.
                tx.quarantine_gpus(after.id).await?;
                tx.release_holds(after.id).await?;
            }
            Effect::SupersedeOrders => tx.supersede_tasks(after.id).await?,
            Effect::Order(kind) => order(plane, tx, after, *kind).await?,
            Effect::FinishOrder => tx.finish_task(after.id, after.state.desired).await?,
            Effect::OpenRun => open_run(plane, tx, after).await?,
            Effect::CloseRun => tx.close_run(after.id, tx.at()).await?,
            // The epoch in the row is what tickets and tunnels are compared with; see `before.access_epoch`. Its own key
            // ends here, so that it says nothing more either.
            Effect::RevokeAccess => {
                tx.end_instance_keys(after.id, tx.at()).await?;
            }
            Effect::KeepReceipt => keep_receipt(tx, after, carrying.receipt).await?,
            Effect::UnattestedReceipt => unattested_receipt(tx, after, carrying.reason.clone()).await?,
            Effect::Publish(kind) => events.push(*kind),
            Effect::Note(what) => note(plane, tx, after.id, what, json!({})).await?,
        }
    }
    if after.state.is_decommissioned() {
        tx.retire_instance_account(after.id).await?;
    }
    tx.set_member_status(after.id, member_status(after)).await?;
    for kind in &events {
        note(
            plane,
            tx,
            after.id,
            timeline_name(*kind),
            timeline_payload(*kind, after, carrying.reason.as_deref()),
        )
        .await?;
    }
    let change = |event: Option<EventType>| {
        let mut change = Change::new(action, object(after))
            .at(after.scope())
            .after(after.view())
            .because(carrying.reason.clone());
        if let Some(before) = before {
            change = change.before(before.view());
        }
        match event {
            Some(kind) => change.event(kind, after.view()),
            None => change,
        }
    };
    let last = events.pop();
    for kind in events {
        let stamp = tx.stamp().clone();
        let stamp = plane.stamp(&stamp.correlation_id, &stamp.trace_id);
        tx.record(&stamp, change(Some(kind))).await?;
    }
    Ok(change(last))
}

fn member_status(instance: &Instance) -> &'static str {
    if instance.state.is_decommissioned() { "removed" } else { instance.state.status.name() }
}

/// The seeds' own names where they have one.
fn timeline_name(kind: EventType) -> &'static str {
    match kind {
        EventType::InstanceRunning => "start_completed",
        EventType::InstanceHealthChanged => "health_changed",
        EventType::InstanceFailed => "failed",
        other => other.name().rsplit('.').next().unwrap_or("event"),
    }
}

fn timeline_payload(kind: EventType, instance: &Instance, because: Option<&str>) -> Value {
    let mut payload = json!({"status": instance.state.status, "generation": instance.state.desired});
    if kind == EventType::InstanceHealthChanged || kind == EventType::InstanceRunning {
        payload["health"] = json!(health_name(instance.state.health));
    }
    // Why somebody wanted it: who launched it must not have to ask an operator.
    if let Some(because) = because {
        payload["because"] = json!(because);
    }
    if let Some(failure) = &instance.state.failure {
        payload["reason"] = json!(failure.reason.name());
        payload["detail"] = json!(failure.detail);
    }
    payload
}

/// A line in the timeline.
pub(crate) async fn note(
    plane: &ControlPlane,
    tx: &mut Tx,
    id: InstanceId,
    what: &str,
    payload: Value,
) -> Result<()> {
    let entry = TimelineEntry {
        id: TimelineId::new(plane.new_uuid()),
        event_type: what.to_owned(),
        payload,
        occurred_at: tx.at(),
    };
    tx.add_to_timeline(id, &entry).await
}

async fn reserve(plane: &ControlPlane, tx: &mut Tx, instance: &Instance, plan: Option<&Plan>) -> Result<()> {
    let plan = plan.ok_or_else(|| Error::internal("a reservation without a plan"))?;
    let gpus: Vec<_> = plan.gpu_ids.iter().map(|gpu| (ReservationId::new(plane.new_uuid()), *gpu)).collect();
    tx.hold_gpus(plan.allocation_id, Some(instance.id), &gpus).await?;
    let ports: Vec<_> =
        plan.host_port.iter().map(|port| (ReservationId::new(plane.new_uuid()), i64::from(*port))).collect();
    tx.hold_ports(instance.node_id, instance.id, &ports).await?;
    for mount in &plan.mounts {
        if let Some(volume) = mount.source.volume() {
            let id = ReservationId::new(plane.new_uuid());
            let owner = (instance.tenant_id, instance.project_id);
            let attachment = (volume, instance.id, instance.revision_id);
            tx.attach_volume(id, owner, attachment, &mount.name, mount.read_only).await?;
        }
    }
    let id = ReservationId::new(plane.new_uuid());
    tx.hold_compute(id, plan.allocation_id, instance.id, plan.held_cpu_millis, plan.held_memory_mib).await
}

async fn order(plane: &ControlPlane, tx: &mut Tx, instance: &Instance, kind: OrderKind) -> Result<()> {
    let order = match kind {
        OrderKind::Launch => launch_order(tx, instance).await?,
        OrderKind::Stop => Order::Stop { grace_seconds: grace(tx, instance).await? },
        OrderKind::Remove => Order::Remove { grace_seconds: grace(tx, instance).await? },
    };
    let stamp = tx.stamp().clone();
    let task = NodeTask {
        id: TaskId::new(plane.new_uuid()),
        node_id: instance.node_id,
        subject: Subject::Instance(instance.id),
        generation: instance.state.desired,
        family: order.family().to_owned(),
        order: serde_json::to_string(&order).expect("an order is plain data"),
        state: TaskState::Queued,
        attempts: 0,
        correlation_id: stamp.correlation_id,
        trace_id: stamp.trace_id,
        created_at: stamp.at,
    };
    tx.enqueue_task(&task).await
}

async fn grace(tx: &mut Tx, instance: &Instance) -> Result<u32> {
    let revision = tx.find_revision(instance.revision_id).await?;
    let spec = revision.and_then(|revision| serde_json::from_str::<Value>(&revision.rendered).ok());
    let seconds = spec.as_ref().and_then(|spec| spec.get("stop_grace_seconds")?.as_u64());
    Ok(seconds.and_then(|seconds| u32::try_from(seconds).ok()).unwrap_or(STOP_GRACE_SECONDS))
}

async fn open_run(plane: &ControlPlane, tx: &mut Tx, instance: &Instance) -> Result<()> {
    let anywhere = Permit::system("metering", instance.scope()).tenant_scope();
    let allocation = tx
        .find_allocation(anywhere, instance.target_allocation_id)
        .await?
        .ok_or_else(|| Error::internal("an instance without its allocation"))?;
    let at = tx.at();
    let id = IntervalId::new(plane.new_uuid());
    tx.open_interval(id, &allocation, Some((instance.id, instance.state.desired)), at).await
}

async fn keep_receipt(tx: &mut Tx, instance: &Instance, receipt: Option<&SignedReceipt>) -> Result<()> {
    let receipt = receipt.ok_or_else(|| Error::internal("a removal without a receipt"))?;
    let at = tx.at();
    tx.keep_receipt(&StoredReceipt {
        instance_id: instance.id,
        node_id: instance.node_id,
        attested: true,
        payload: receipt.payload.clone(),
        signature: Some(receipt.signature.clone()),
        reason: None,
        created_at: at,
    })
    .await
}

async fn unattested_receipt(tx: &mut Tx, instance: &Instance, reason: Option<String>) -> Result<()> {
    let at = tx.at();
    let payload = json!({"instance_id": instance.id, "node_id": instance.node_id, "generation": instance.state.desired,
                         "attested": false, "statement": "nobody has looked at the node"});
    tx.keep_receipt(&StoredReceipt {
        instance_id: instance.id,
        node_id: instance.node_id,
        attested: false,
        payload: payload.to_string(),
        signature: None,
        reason,
        created_at: at,
    })
    .await
}

/// Moves an instance by one event, if that changes anything. Gives the change to commit with.
pub(crate) async fn move_instance(
    plane: &ControlPlane,
    tx: &mut Tx,
    action: &'static str,
    before: &Instance,
    event: Event,
    carrying: Carrying<'_>,
) -> Result<Option<(Instance, Change)>> {
    let (state, effects) = lifecycle::apply(before.state.clone(), event, tx.at())?;
    if state == before.state && effects.is_empty() {
        return Ok(None);
    }
    let revoked = effects.contains(&Effect::RevokeAccess);
    let access_epoch = before.access_epoch + i64::from(revoked);
    let after = tx.update_instance(Instance { state, access_epoch, ..before.clone() }).await?;
    let change = carry_out(plane, tx, action, Some(before), &after, &effects, carrying).await?;
    Ok(Some((after, change)))
}

/// Loads for a command of a caller.
pub(crate) async fn load(ctx: &OpContext, permit: &Permit, id: InstanceId) -> Result<(Tx, Instance)> {
    let mut tx = ctx.begin(permit).await?;
    tx.lock_instance(id).await?;
    let instance = tx.find_instance(permit.tenant_scope(), id).await?.ok_or_else(Error::not_found)?;
    ctx.check_version(instance.version)?;
    Ok((tx, instance))
}

async fn command(
    ctx: &OpContext,
    permit: &Permit,
    id: InstanceId,
    event: Event,
    reason: Option<String>,
) -> Result<Prepared<Instance>> {
    let (mut tx, before) = load(ctx, permit, id).await?;
    let carrying = Carrying { reason: reason.clone(), ..Carrying::default() };
    let moved = move_instance(&ctx.plane, &mut tx, ctx.route.action, &before, event, carrying).await?;
    if let Some((after, change)) = moved {
        return Ok(Prepared::new(tx, change, after));
    }
    // Asked again for what is under way or done: harmless, and in the trail.
    let change = Change::new(ctx.route.action, object(&before))
        .at(before.scope())
        .after(before.view())
        .because(reason);
    Ok(Prepared::new(tx, change, before))
}

pub async fn stop(
    ctx: &OpContext,
    project: ProjectId,
    id: InstanceId,
    reason: Option<String>,
) -> Result<Prepared<Instance>> {
    let permit = ctx.permit_project(Permission::InstanceDelete, project).await?;
    command(ctx, &permit, id, Event::Stop, reason).await
}

pub async fn decommission(
    ctx: &OpContext,
    project: ProjectId,
    id: InstanceId,
    reason: Option<String>,
) -> Result<Prepared<Instance>> {
    let permit = ctx.permit_project(Permission::InstanceDelete, project).await?;
    command(ctx, &permit, id, Event::Decommission, reason).await
}

pub async fn force_decommission(
    ctx: &OpContext,
    project: ProjectId,
    id: InstanceId,
    reason: String,
) -> Result<Prepared<Instance>> {
    let permit = ctx.permit_project(Permission::InstanceForce, project).await?;
    let node = {
        let mut session = ctx.plane.store.read().await?;
        session.find_instance(permit.tenant_scope(), id).await?.ok_or_else(Error::not_found)?.node_id
    };
    if ctx.plane.links().is_connected(node) {
        return Err(Error::conflict(
            "node_is_connected",
            "The node is there and can be asked: decommission the instance without force.",
        ));
    }
    command(ctx, &permit, id, Event::ForceDecommission, Some(reason)).await
}

pub async fn list(
    ctx: &OpContext,
    project: ProjectId,
    filter: &InstanceFilter<'_>,
    page: &PageRequest,
) -> Result<Page<Instance>> {
    let permit = ctx.permit_project(Permission::InstanceRead, project).await?;
    ctx.plane.store.read().await?.list_instances(permit.tenant_scope(), filter, page).await
}

pub async fn timeline(
    ctx: &OpContext,
    project: ProjectId,
    id: InstanceId,
    page: &PageRequest,
) -> Result<Page<TimelineEntry>> {
    let permit = ctx.permit_project(Permission::InstanceRead, project).await?;
    let mut session = ctx.plane.store.read().await?;
    session.find_instance(permit.tenant_scope(), id).await?.ok_or_else(Error::not_found)?;
    session.list_timeline(id, page).await
}

/// The receipt, and the key of the node that signed it.
pub async fn receipt(
    ctx: &OpContext,
    project: ProjectId,
    id: InstanceId,
) -> Result<(StoredReceipt, Option<Vec<u8>>)> {
    let permit = ctx.permit_project(Permission::InstanceRead, project).await?;
    let mut session = ctx.plane.store.read().await?;
    session.find_instance(permit.tenant_scope(), id).await?.ok_or_else(Error::not_found)?;
    let kept = session.find_receipt(id).await?.ok_or_else(|| {
        Error::conflict("no_receipt_yet", "There is a receipt once the instance is decommissioned.")
    })?;
    let key = session.find_node_key(kept.node_id).await?.map(|(_, key)| key);
    Ok((kept, key))
}

/// A link's failure in the caller's terms.
fn away(error: &LinkError) -> Error {
    match error {
        LinkError::NotConnected | LinkError::TimedOut | LinkError::Broken(_) => Error::new(
            Kind::Unavailable,
            "node_away",
            "The instance's node cannot be reached right now; try again.",
        )
        .with_internal(error.to_string()),
        LinkError::Answered { .. } => {
            Error::conflict("nothing_there", "The node has nothing of this instance to show right now.")
                .with_internal(error.to_string())
        }
    }
}

async fn find(
    ctx: &OpContext,
    permission: Permission,
    project: ProjectId,
    id: InstanceId,
) -> Result<Instance> {
    let permit = ctx.permit_project(permission, project).await?;
    let mut session = ctx.plane.store.read().await?;
    session.find_instance(permit.tenant_scope(), id).await?.ok_or_else(Error::not_found)
}

pub async fn stats(ctx: &OpContext, project: ProjectId, id: InstanceId) -> Result<InstanceStats> {
    let instance = find(ctx, Permission::InstanceRead, project, id).await?;
    ctx.plane.links().stats(instance.node_id, id).await.map_err(|error| away(&error))
}

pub async fn logs(ctx: &OpContext, project: ProjectId, id: InstanceId, query: LogQuery) -> Result<LogBytes> {
    let instance = find(ctx, Permission::InstanceAccess, project, id).await?;
    ctx.plane.links().logs(instance.node_id, id, query).await.map_err(|error| away(&error))
}

/// A connection to a declared port that is not for the instance's own components only (J-08).
pub async fn forward(
    ctx: &OpContext,
    project: ProjectId,
    id: InstanceId,
    component: Option<&str>,
    port: Option<u16>,
) -> Result<Box<dyn ByteStream>> {
    let instance = find(ctx, Permission::InstanceAccess, project, id).await?;
    let endpoints = ctx.plane.store.read().await?.list_endpoints(id).await?;
    let target = endpoints
        .iter()
        .filter(|endpoint| endpoint.expose != "internal")
        .filter(|endpoint| component.is_none_or(|name| name == endpoint.component))
        .find(|endpoint| port.is_none_or(|port| i64::from(port) == endpoint.port))
        .ok_or_else(|| {
            Error::conflict("port_not_declared", "The app declares no such port for people to reach.")
        })?;
    if instance.state.status != lifecycle::Status::Running {
        return Err(Error::conflict("instance_not_running", "The instance is not running; start it first.")
            .with_param("status", instance.state.status.name()));
    }
    let port = u16::try_from(target.port).map_err(|_| Error::internal("a port is 16 bits"))?;
    ctx.plane.links().open(instance.node_id, id, &target.component, port).await.map_err(|error| away(&error))
}
