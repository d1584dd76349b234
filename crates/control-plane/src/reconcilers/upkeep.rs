//! What has to happen by itself: releases wait for their instances, drained nodes are emptied, forgotten nodes are
//! written off with the volumes on them, launches that wait too long end.

use gpuaas_domain::allocation::Allocation;
use gpuaas_domain::iam::{Permit, Scope};
use gpuaas_domain::ids::{InstanceId, NodeId};
use gpuaas_domain::instance::Subject;
use gpuaas_domain::lifecycle::{Event, Operation, Status};
use gpuaas_domain::node::NodeStanding;
use gpuaas_domain::{Error, Kind, Result};

use super::TickStatus;
use crate::operations::allocations::finish_release;
use crate::operations::instances::{Carrying, move_instance};
use crate::operations::volumes;
use crate::plane::ControlPlane;

const PART: &str = "upkeep";
const BATCH: i64 = 100;

pub async fn tick(plane: &ControlPlane) -> Result<TickStatus> {
    let mut status = TickStatus::default();
    let mut after = None;
    loop {
        let releasing = plane.store.read().await?.list_releasing(after, BATCH).await?;
        after = releasing.last().map(|allocation| allocation.id);
        for allocation in &releasing {
            status.seen += 1;
            count(&mut status, step!(plane, "upkeep.release", release(plane, allocation).await));
        }
        // Those that wait for their nodes must not hide the others.
        if releasing.is_empty() {
            break;
        }
    }
    for (node, standing) in troubled_nodes(plane).await? {
        status.seen += 1;
        count(&mut status, step!(plane, "upkeep.node", empty_node(plane, node, standing).await));
    }
    let before = plane.now().plus_seconds(-plane.settings.launch.dispatch_deadline_seconds);
    let waiting = plane.store.read().await?.waiting_launches(before, BATCH).await?;
    for task in waiting {
        status.seen += 1;
        let Subject::Instance(instance) = task.subject else { continue };
        let event = Event::Overdue { delivered: task.attempts > 0 };
        count(&mut status, push(plane, instance, event, None).await);
    }
    let stranded = plane.store.read().await?.list_stranded_volumes(BATCH).await?;
    for volume in stranded {
        status.seen += 1;
        count(&mut status, step!(plane, "upkeep.volume", volumes::lose(plane, volume).await));
    }
    Ok(status)
}

fn count(status: &mut TickStatus, result: Result<bool>) {
    match result {
        Ok(changed) => status.changed += usize::from(changed),
        Err(error) => {
            status.errors += 1;
            tracing::warn!("upkeep failed at one point and goes on: {error}");
        }
    }
}

/// Ends what runs on it, waits, then frees it. Past the deadline what is on a node that is away is ended without it.
async fn release(plane: &ControlPlane, allocation: &Allocation) -> Result<bool> {
    let instances = plane.store.read().await?.list_allocation_instances(allocation.id).await?;
    let overdue = allocation.releasing_at.is_some_and(|since| {
        plane.now().seconds_since(since) > plane.settings.launch.release_deadline_seconds
    });
    // A node that is there is never passed over: it would go on with what nobody knows of.
    let late = overdue && allocation.node_id.is_none_or(|node| !plane.links().is_connected(node));
    let mut changed = false;
    for instance in &instances {
        let event = match instance.state.operation {
            _ if late => Event::ForceDecommission,
            Some(Operation::Decommission) => continue,
            _ => Event::Decommission,
        };
        let reason =
            late.then(|| "the allocation is being released and the node did not answer in time".to_owned());
        changed |= push(plane, instance.id, event, reason).await?;
    }
    if !instances.is_empty() {
        return Ok(changed);
    }
    let permit = Permit::system(PART, allocation.scope());
    let mut tx = plane.store.begin(&permit, plane.own_stamp()).await?;
    tx.lock_allocation(allocation.id).await?;
    if !tx.list_allocation_instances(allocation.id).await?.is_empty() {
        return Ok(false);
    }
    let Some(current) = tx.find_allocation(permit.tenant_scope(), allocation.id).await? else {
        return Ok(false);
    };
    if current.version != allocation.version {
        return Ok(false);
    }
    let change = finish_release(&mut tx, &current).await?;
    tx.commit(change, None).await?;
    Ok(true)
}

/// Nodes that are being drained or were forgotten with something still on them.
async fn troubled_nodes(plane: &ControlPlane) -> Result<Vec<(NodeId, NodeStanding)>> {
    plane.store.read().await?.list_troubled_nodes(BATCH).await
}

async fn empty_node(plane: &ControlPlane, node: NodeId, standing: NodeStanding) -> Result<bool> {
    let mut changed = false;
    let instances = plane.store.read().await?.list_node_instances(node).await?;
    for instance in instances {
        let event = if standing == NodeStanding::Forgotten {
            Event::NodeForgotten
        } else if matches!(instance.state.status, Status::Created | Status::Starting | Status::Running)
            && instance.state.operation != Some(Operation::Decommission)
        {
            Event::Stop
        } else {
            continue;
        };
        let reason = Some(format!(
            "the node is {}",
            if standing == NodeStanding::Forgotten { "forgotten" } else { "being drained" }
        ));
        changed |= push(plane, instance.id, event, reason).await?;
    }
    if standing == NodeStanding::Forgotten {
        changed |= write_off_allocations(plane, node).await?;
    }
    Ok(changed)
}

async fn write_off_allocations(plane: &ControlPlane, node: NodeId) -> Result<bool> {
    let allocations = plane.store.read().await?.list_node_allocations(node).await?;
    let mut changed = false;
    for allocation in allocations {
        let mut tx = plane.store.begin(&Permit::system(PART, allocation.scope()), plane.own_stamp()).await?;
        tx.lock_allocation(allocation.id).await?;
        let change = finish_release(&mut tx, &allocation).await?;
        tx.commit(change.because(Some("the node was forgotten".into())), None).await?;
        changed = true;
    }
    Ok(changed)
}

/// Moves one instance by an event of the platform's own.
async fn push(plane: &ControlPlane, id: InstanceId, event: Event, reason: Option<String>) -> Result<bool> {
    let permit = Permit::system(PART, Scope::Platform);
    for _ in 0..3 {
        let mut tx = plane.store.begin(&permit, plane.own_stamp()).await?;
        tx.lock_instance(id).await?;
        let Some(before) = tx.find_instance(permit.tenant_scope(), id).await? else { return Ok(false) };
        let carrying = Carrying { reason: reason.clone(), ..Carrying::default() };
        let Some((_, change)) =
            move_instance(plane, &mut tx, "instances.upkeep", &before, event.clone(), carrying).await?
        else {
            return Ok(false);
        };
        match tx.commit(change, None).await {
            Err(error) if error.kind() == Kind::Stale => {}
            other => return other.map(|()| true),
        }
    }
    Err(Error::stale())
}
