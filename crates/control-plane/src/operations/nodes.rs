//! Nodes, for those who operate them, and what nodes say about themselves.

use gpuaas_agent_protocol::inventory::NodeInventory;
use gpuaas_domain::event::{Change, EventType, ObjectRef};
use gpuaas_domain::iam::{Permission, Permit, Scope};
use gpuaas_domain::ids::{AllocationId, InstanceId, NodeId, VolumeId};
use gpuaas_domain::node::{GpuDevice, Node, NodeStanding};
use gpuaas_domain::page::{Page, PageRequest};
use gpuaas_domain::{Error, Result};
use gpuaas_store::Tx;
use serde_json::{Value, json};

use super::node_identity::{checked_inventory, put_gpus};
use crate::plane::ControlPlane;
use crate::{OpContext, Prepared};

pub async fn list(ctx: &OpContext, page: &PageRequest) -> Result<Page<Node>> {
    ctx.permit_platform(Permission::NodeRead).await?;
    ctx.plane.store.read().await?.list_nodes(page).await
}

/// A node with everything on it.
pub struct Detail {
    pub node: Node,
    pub gpus: Vec<GpuDevice>,
    pub allocations: Vec<AllocationId>,
    pub instances: Vec<InstanceId>,
    pub volumes: Vec<VolumeId>,
}

pub async fn get(ctx: &OpContext, id: NodeId) -> Result<Detail> {
    ctx.permit_platform(Permission::NodeRead).await?;
    let mut session = ctx.plane.store.read().await?;
    let node = session.find_node(id).await?.ok_or_else(Error::not_found)?;
    let allocations =
        session.list_node_allocations(id).await?.into_iter().map(|allocation| allocation.id).collect();
    let instances = session.list_node_instances(id).await?.into_iter().map(|instance| instance.id).collect();
    let volumes = session.list_node_volumes(id).await?.into_iter().map(|volume| volume.id).collect();
    Ok(Detail { gpus: session.list_gpus(id).await?, node, allocations, instances, volumes })
}

/// What can be done to a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed {
    Cordon,
    Uncordon,
    Drain,
    Revoke,
    Forget,
}

pub async fn change(
    ctx: &OpContext,
    id: NodeId,
    deed: Deed,
    reason: Option<String>,
) -> Result<Prepared<Node>> {
    let permit = ctx.permit_platform(Permission::NodeManage).await?;
    let (mut tx, before) = load(ctx, &permit, id).await?;
    if before.standing != NodeStanding::Active && deed != Deed::Forget {
        return Err(Error::conflict(
            "illegal_state_move",
            "The node was revoked; all that is left is to forget it. To come back it joins as a new one.",
        ));
    }
    let mut node = before.clone();
    match deed {
        Deed::Cordon => node.cordoned = true,
        Deed::Uncordon => (node.cordoned, node.draining) = (false, false),
        Deed::Drain => (node.cordoned, node.draining) = (true, true),
        Deed::Revoke => (node.standing, node.agent_connected_at) = (NodeStanding::Revoked, None),
        Deed::Forget => (node.standing, node.agent_connected_at) = (NodeStanding::Forgotten, None),
    }
    let after = tx.update_node(node).await?;
    if after.standing != NodeStanding::Active {
        // Whoever holds the machine holds the keys of what runs on it.
        tx.end_node_instance_keys(id, tx.at()).await?;
    }
    let change = Change::new(ctx.route.action, ObjectRef::new("node", id))
        .before(before.audit_view())
        .after(after.audit_view())
        .because(reason)
        .event(EventType::NodeChanged, view(&after));
    Ok(Prepared::new(tx, change, after))
}

async fn load(ctx: &OpContext, permit: &Permit, id: NodeId) -> Result<(Tx, Node)> {
    let mut tx = ctx.begin(permit).await?;
    tx.lock_node(id).await?;
    let node = tx.find_node(id).await?.ok_or_else(Error::not_found)?;
    if node.standing == NodeStanding::Forgotten {
        return Err(Error::not_found());
    }
    ctx.check_version(node.version)?;
    Ok((tx, node))
}

fn view(node: &Node) -> Value {
    let mut view = node.audit_view();
    view["node_id"] = json!(node.id);
    view
}

/// A node tells what it has.
pub async fn put_inventory(ctx: &OpContext, inventory: NodeInventory) -> Result<Prepared<()>> {
    let id = ctx.node()?;
    let inventory = checked_inventory(inventory)?;
    let mut tx = ctx.begin(&Permit::own_account(ctx.known()?.actor)).await?;
    tx.lock_node(id).await?;
    let before = tx.find_node(id).await?.ok_or_else(Error::not_found)?;
    let at = tx.at();
    let node = Node {
        agent_version: inventory.agent_version.clone(),
        inventory,
        inventory_at: at,
        ..before.clone()
    };
    let after = tx.update_node(node).await?;
    put_gpus(&ctx.plane, &mut tx, &after).await?;
    let change = Change::new(ctx.route.action, ObjectRef::new("node", id))
        .before(before.audit_view())
        .after(after.audit_view());
    Ok(Prepared::new(tx, change, ()))
}

/// The control link of a node came up or went down.
pub async fn note_presence(plane: &ControlPlane, node: NodeId, connected: bool) -> Result<()> {
    let tx = plane.store.begin(&Permit::system("links", Scope::Platform), plane.own_stamp()).await?;
    let now = tx.at();
    tx.note_presence(node, connected.then_some(now), now).await?;
    Ok(())
}

/// Several nodes were heard of.
pub async fn note_seen(plane: &ControlPlane, nodes: &[NodeId]) -> Result<()> {
    if nodes.is_empty() {
        return Ok(());
    }
    let tx = plane.store.begin(&Permit::system("links", Scope::Platform), plane.own_stamp()).await?;
    let now = tx.at();
    tx.note_seen(nodes, now).await
}

/// When the process that holds the links starts, nobody is connected.
pub async fn forget_presence(plane: &ControlPlane) -> Result<()> {
    let tx = plane.store.begin(&Permit::system("links", Scope::Platform), plane.own_stamp()).await?;
    tx.forget_presence().await
}
