//! Allocations: asked for, granted on exact devices, released once nothing runs on them.

use gpuaas_domain::allocation::{self, Allocation, AllocationState, GrantPolicy, Sku};
use gpuaas_domain::event::{Change, EventType, ObjectRef};
use gpuaas_domain::iam::{Permission, Permit};
use gpuaas_domain::ids::{AllocationId, IntervalId, NodeId, ProjectId, ReservationId};
use gpuaas_domain::limit::Limit;
use gpuaas_domain::node::{GpuDevice, Node};
use gpuaas_domain::page::{Page, PageRequest};
use gpuaas_domain::text::Slug;
use gpuaas_domain::{Error, Result};
use gpuaas_store::Tx;
use gpuaas_store::allocations::InUse;
use serde_json::{Value, json};

use crate::plane::ControlPlane;
use crate::{OpContext, Prepared};

/// An allocation with everything around it.
pub struct Detail {
    pub allocation: Allocation,
    pub sku: String,
    pub node: Option<Node>,
    pub gpus: Vec<GpuDevice>,
    pub in_use: InUse,
}

pub async fn list(
    ctx: &OpContext,
    project: ProjectId,
    state: Option<AllocationState>,
    page: &PageRequest,
) -> Result<Page<Allocation>> {
    let permit = ctx.permit_project(Permission::AllocationRead, project).await?;
    ctx.plane.store.read().await?.list_allocations(permit.tenant_scope(), state, page).await
}

pub async fn list_all(
    ctx: &OpContext,
    state: Option<AllocationState>,
    page: &PageRequest,
) -> Result<Page<Allocation>> {
    let permit = ctx.permit_platform(Permission::AllocationGrant).await?;
    ctx.plane.store.read().await?.list_allocations(permit.tenant_scope(), state, page).await
}

pub async fn get(ctx: &OpContext, project: ProjectId, id: AllocationId) -> Result<Detail> {
    let permit = ctx.permit_project(Permission::AllocationRead, project).await?;
    let mut session = ctx.plane.store.read().await?;
    let allocation =
        session.find_allocation(permit.tenant_scope(), id).await?.ok_or_else(Error::not_found)?;
    let sku = session.find_sku(allocation.sku_id).await?.map_or_else(String::new, |sku| sku.slug);
    let node = match allocation.node_id {
        Some(node) => session.find_node(node).await?,
        None => None,
    };
    let gpus = session.allocation_gpus(id).await?;
    let in_use = session.allocation_in_use(id).await?;
    Ok(Detail { allocation, sku, node, gpus, in_use })
}

pub async fn request(
    ctx: &OpContext,
    project: ProjectId,
    sku: &str,
    name: Option<Slug>,
    note: Option<String>,
) -> Result<Prepared<Allocation>> {
    let permit = ctx.permit_project(Permission::AllocationRequest, project).await?;
    let mut tx = ctx.begin(&permit).await?;
    tx.lock_project(project).await?;
    let sku = tx.find_sku_by_slug(sku).await?.filter(|sku| !sku.retired).ok_or_else(|| {
        Error::field("/sku", "unknown_sku", "There is no such SKU, or it is not offered any more.")
    })?;
    check_limits(&mut tx, &permit, project, &sku).await?;
    let id = AllocationId::new(ctx.plane.new_uuid());
    let at = tx.at();
    let tenant = permit.scope().tenant().ok_or_else(|| Error::internal("a project has a tenant"))?;
    let short = &id.uuid().as_simple().to_string()[26..];
    let wanted = Allocation {
        id,
        tenant_id: tenant,
        project_id: project,
        name: name.map_or_else(
            || format!("{}-{short}", sku.slug.chars().take(33).collect::<String>().trim_end_matches('-')),
            String::from,
        ),
        sku_id: sku.id,
        node_id: None,
        state: AllocationState::Requested,
        shape: sku.shape,
        gpu_count: sku.gpu_count,
        vcpu: sku.vcpu,
        memory_mib: sku.memory_mib,
        requested_by_kind: permit.actor().kind().to_owned(),
        requested_by_id: permit.actor().id(),
        note,
        requested_at: at,
        active_at: None,
        releasing_at: None,
        released_at: None,
        version: 1,
        updated_at: at,
    };
    tx.insert_allocation(&wanted).await?;
    let kind;
    let allocation = if sku.grant_policy == GrantPolicy::Auto {
        kind = EventType::AllocationActive;
        place(&ctx.plane, &mut tx, &sku, wanted, None).await?
    } else {
        kind = EventType::AllocationRequested;
        wanted
    };
    let change = Change::new(ctx.route.action, ObjectRef::new("allocation", id))
        .after(allocation.audit_view())
        .event(kind, view(&allocation));
    Ok(Prepared::new(tx, change, allocation))
}

async fn check_limits(tx: &mut Tx, permit: &Permit, project: ProjectId, sku: &Sku) -> Result<()> {
    let limit = tx.effective_limit(permit.scope(), Limit::Allocations).await?;
    Limit::Allocations.check(limit, tx.count_allocations(project).await?)?;
    let limit = tx.effective_limit(permit.scope(), Limit::Gpus).await?;
    let after = tx.sum_gpus(project).await? + sku.gpu_count;
    // The limit counts GPUs, and this asks for several at once.
    Limit::Gpus.check(limit, after - 1)
}

/// Finds room and takes it: the node, the exact devices, the interval that will be charged.
async fn place(
    plane: &ControlPlane,
    tx: &mut Tx,
    sku: &Sku,
    allocation: Allocation,
    only: Option<NodeId>,
) -> Result<Allocation> {
    let nodes = tx.list_active_nodes().await?;
    let nodes: Vec<Node> = nodes.into_iter().filter(|node| only.is_none_or(|only| only == node.id)).collect();
    let mut views = Vec::with_capacity(nodes.len());
    for node in nodes {
        views.push(tx.view_node(node).await?);
    }
    let fit = allocation::fit(sku, allocation.tenant_id, plane.settings.launch.boundary, &views).map_err(
        |misfits| {
            Error::conflict(
                "no_capacity",
                "No node has room for this SKU right now; the reasons are listed per node.",
            )
            .with_param("nodes", serde_json::to_value(misfits).unwrap_or(Value::Null))
        },
    )?;
    // What another transaction took meanwhile is seen now, or refused by the database.
    tx.lock_node(fit.node).await?;
    let again = tx.find_node(fit.node).await?.ok_or_else(Error::not_found)?;
    let view = tx.view_node(again).await?;
    let fit = allocation::fit(sku, allocation.tenant_id, plane.settings.launch.boundary, &[view])
        .map_err(|_| Error::conflict("no_capacity", "Somebody else was faster; try again."))?;
    let at = tx.at();
    let gpu_count = i64::try_from(fit.gpus.len()).unwrap_or(0);
    let active = Allocation {
        node_id: Some(fit.node),
        state: AllocationState::Active,
        gpu_count,
        active_at: Some(at),
        ..allocation
    };
    let active = tx.update_allocation(active).await?;
    // Counted again now that it is known: a whole machine brings as many devices as it has.
    let limit = tx.effective_limit(active.scope(), Limit::Gpus).await?;
    Limit::Gpus.check(limit, tx.sum_gpus(active.project_id).await? - 1)?;
    let holds: Vec<_> = fit.gpus.iter().map(|gpu| (ReservationId::new(plane.new_uuid()), *gpu)).collect();
    tx.hold_gpus(active.id, None, &holds).await?;
    tx.open_interval(IntervalId::new(plane.new_uuid()), &active, None, at).await?;
    Ok(active)
}

pub async fn grant(ctx: &OpContext, id: AllocationId, node: Option<NodeId>) -> Result<Prepared<Allocation>> {
    let permit = ctx.permit_platform(Permission::AllocationGrant).await?;
    let (mut tx, before) = load(ctx, &permit, id).await?;
    before.check_move(AllocationState::Active)?;
    let sku =
        tx.find_sku(before.sku_id).await?.ok_or_else(|| Error::internal("an allocation without a SKU"))?;
    let after = place(&ctx.plane, &mut tx, &sku, before.clone(), node).await?;
    let change = changed(ctx.route.action, &before, &after).event(EventType::AllocationActive, view(&after));
    Ok(Prepared::new(tx, change, after))
}

pub async fn deny(ctx: &OpContext, id: AllocationId, reason: Option<String>) -> Result<Prepared<Allocation>> {
    let permit = ctx.permit_platform(Permission::AllocationGrant).await?;
    let (mut tx, before) = load(ctx, &permit, id).await?;
    if before.state != AllocationState::Requested {
        before.check_move(AllocationState::Requested)?;
    }
    let at = tx.at();
    let denied = Allocation {
        state: AllocationState::Released,
        released_at: Some(at),
        note: reason.clone().or(before.note.clone()),
        ..before.clone()
    };
    let after = tx.update_allocation(denied).await?;
    let change = changed(ctx.route.action, &before, &after)
        .because(reason)
        .event(EventType::AllocationReleased, view(&after));
    Ok(Prepared::new(tx, change, after))
}

pub async fn release(
    ctx: &OpContext,
    project: ProjectId,
    id: AllocationId,
    reason: Option<String>,
) -> Result<Prepared<Allocation>> {
    let permit = ctx.permit_project(Permission::AllocationRequest, project).await?;
    let (mut tx, before) = load(ctx, &permit, id).await?;
    if matches!(before.state, AllocationState::Releasing | AllocationState::Released) {
        let change = changed(ctx.route.action, &before, &before);
        return Ok(Prepared::new(tx, change, before));
    }
    let at = tx.at();
    let (wanted, kind) = if before.state == AllocationState::Requested {
        let gone = Allocation { state: AllocationState::Released, released_at: Some(at), ..before.clone() };
        (gone, EventType::AllocationReleased)
    } else {
        let going =
            Allocation { state: AllocationState::Releasing, releasing_at: Some(at), ..before.clone() };
        (going, EventType::AllocationReleasing)
    };
    let after = tx.update_allocation(wanted).await?;
    let change = changed(ctx.route.action, &before, &after).because(reason).event(kind, view(&after));
    Ok(Prepared::new(tx, change, after))
}

/// Nothing runs on it any more: the devices are free and the interval ends.
pub(crate) async fn finish_release(tx: &mut Tx, before: &Allocation) -> Result<Change> {
    let at = tx.at();
    let gone = Allocation { state: AllocationState::Released, released_at: Some(at), ..before.clone() };
    let after = tx.update_allocation(gone).await?;
    tx.release_allocation_gpus(after.id).await?;
    tx.close_allocation_interval(after.id, at).await?;
    Ok(changed("allocations.released", before, &after).event(EventType::AllocationReleased, view(&after)))
}

async fn load(ctx: &OpContext, permit: &Permit, id: AllocationId) -> Result<(Tx, Allocation)> {
    let mut tx = ctx.begin(permit).await?;
    let found = tx.find_allocation(permit.tenant_scope(), id).await?.ok_or_else(Error::not_found)?;
    // The project first, as a launch does: its limits are counted under this lock.
    tx.lock_project(found.project_id).await?;
    tx.lock_allocation(id).await?;
    let allocation = tx.find_allocation(permit.tenant_scope(), id).await?.ok_or_else(Error::not_found)?;
    ctx.check_version(allocation.version)?;
    Ok((tx, allocation))
}

fn changed(action: &'static str, before: &Allocation, after: &Allocation) -> Change {
    Change::new(action, ObjectRef::new("allocation", after.id))
        .at(after.scope())
        .before(before.audit_view())
        .after(after.audit_view())
}

fn view(allocation: &Allocation) -> Value {
    let mut view = allocation.audit_view();
    view["allocation_id"] = json!(allocation.id);
    view["project_id"] = json!(allocation.project_id);
    view["tenant_id"] = json!(allocation.tenant_id);
    view
}
