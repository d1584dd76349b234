//! Allocations: compute that a project holds on one node, by SKU. [`fit`] finds a node and the exact devices, or says
//! for every node why not.

use gpuaas_agent_protocol::inventory::Vendor;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::ids::{AllocationId, GpuId, NodeId, PriceId, ProjectId, SkuId, TenantId};
use crate::lifecycle::named;
use crate::node::{GpuDevice, Node};
use crate::{Error, Result, Timestamp};

named! {
    /// What an allocation is: a whole machine, or some of its devices.
    Shape {
        Baremetal = "baremetal",
        GpuSlice = "gpu_slice",
    }
}

named! {
    AllocationState {
        Requested = "requested",
        Active = "active",
        Releasing = "releasing",
        Released = "released",
    }
}

named! {
    /// Who says yes to a request.
    GrantPolicy {
        /// Capacity and limits decide.
        Auto = "auto",
        /// A platform admin decides.
        Admin = "admin",
    }
}

/// Something that can be allocated.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Sku {
    pub id: SkuId,
    pub slug: String,
    pub display_name: String,
    pub shape: Shape,
    pub gpu_count: i64,
    /// Only devices of this vendor; any if absent.
    pub gpu_vendor: Option<Vendor>,
    /// Only devices whose model has exactly this name; any if absent.
    pub gpu_model: Option<String>,
    pub vcpu: i64,
    pub memory_mib: i64,
    pub grant_policy: GrantPolicy,
    pub retired: bool,
    pub version: i64,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

impl Sku {
    pub fn audit_view(&self) -> Value {
        json!({"slug": self.slug, "shape": self.shape, "gpu_count": self.gpu_count, "vcpu": self.vcpu,
               "memory_mib": self.memory_mib, "grant_policy": self.grant_policy, "retired": self.retired, "version": self.version})
    }
}

/// A price: so many millionths of a currency per so many units. Never changed; a newer one takes over from its time on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Price {
    pub id: PriceId,
    pub sku_id: SkuId,
    pub amount_micros: i64,
    /// ISO 4217, such as `EUR`.
    pub currency: String,
    pub per_units: i64,
    /// What is counted: `allocation_seconds`.
    pub unit: String,
    pub valid_from: Timestamp,
}

/// The prices that hold at a moment: of each currency and unit the newest that has begun.
pub fn prices_at(prices: &[Price], at: Timestamp) -> Vec<&Price> {
    let mut current: std::collections::BTreeMap<(&str, &str), &Price> = std::collections::BTreeMap::new();
    for price in prices.iter().filter(|price| price.valid_from <= at) {
        let slot = current.entry((&price.currency, &price.unit)).or_insert(price);
        if price.valid_from > slot.valid_from {
            *slot = price;
        }
    }
    current.into_values().collect()
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Allocation {
    pub id: AllocationId,
    pub tenant_id: TenantId,
    pub project_id: ProjectId,
    pub name: String,
    pub sku_id: SkuId,
    pub node_id: Option<NodeId>,
    pub state: AllocationState,
    pub shape: Shape,
    pub gpu_count: i64,
    pub vcpu: i64,
    pub memory_mib: i64,
    pub requested_by_kind: String,
    pub requested_by_id: String,
    /// Why it was asked for, turned down or released.
    pub note: Option<String>,
    pub requested_at: Timestamp,
    pub active_at: Option<Timestamp>,
    pub releasing_at: Option<Timestamp>,
    pub released_at: Option<Timestamp>,
    pub version: i64,
    pub updated_at: Timestamp,
}

impl Allocation {
    pub fn scope(&self) -> crate::iam::Scope {
        crate::iam::Scope::Project(self.tenant_id, self.project_id)
    }

    pub fn audit_view(&self) -> Value {
        json!({"name": self.name, "state": self.state, "sku_id": self.sku_id, "node_id": self.node_id,
               "shape": self.shape, "gpu_count": self.gpu_count, "vcpu": self.vcpu, "memory_mib": self.memory_mib,
               "version": self.version})
    }

    /// The one table of moves.
    pub fn check_move(&self, to: AllocationState) -> Result<()> {
        use AllocationState as S;
        let legal = matches!(
            (self.state, to),
            (S::Requested, S::Active | S::Released) | (S::Active, S::Releasing) | (S::Releasing, S::Released)
        );
        if legal {
            return Ok(());
        }
        Err(Error::conflict(
            "illegal_allocation_move",
            format!("An allocation that is {} cannot become {}.", self.state.name(), to.name()),
        )
        .with_param("state", self.state.name()))
    }
}

/// A node, what it has, and what is taken already.
#[derive(Clone, Debug)]
pub struct NodeView {
    pub node: Node,
    pub gpus: Vec<GpuDevice>,
    /// Devices that active allocations hold.
    pub held: Vec<GpuId>,
    pub allocations: Vec<Taken>,
    /// Whose things were ended without the node's word and may still be there.
    pub unswept: Vec<TenantId>,
}

/// What one active allocation takes of a node.
#[derive(Clone, Copy, Debug)]
pub struct Taken {
    pub tenant: TenantId,
    pub shape: Shape,
    pub vcpu: i64,
    pub memory_mib: i64,
}

/// Whether nodes may be shared between tenants (U-26).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BoundaryMode {
    /// No two tenants on a node.
    #[default]
    DedicatedNode,
    /// Tenants share a node, never a device.
    DedicatedDevice,
}

impl BoundaryMode {
    pub fn name(self) -> &'static str {
        match self {
            Self::DedicatedNode => "dedicated_node",
            Self::DedicatedDevice => "dedicated_device",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fit {
    pub node: NodeId,
    pub gpus: Vec<GpuId>,
}

/// Why a node does not do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Misfit {
    pub node: String,
    pub code: &'static str,
    pub message: String,
}

/// The first node (by name) that has room, with the lowest-numbered free devices. A pure choice: the same view gives the
/// same answer.
pub fn fit(sku: &Sku, tenant: TenantId, mode: BoundaryMode, nodes: &[NodeView]) -> Result<Fit, Vec<Misfit>> {
    let mut order: Vec<&NodeView> = nodes.iter().collect();
    order.sort_by(|a, b| a.node.name.cmp(&b.node.name));
    let mut misfits = Vec::new();
    for view in order {
        match fit_on(sku, tenant, mode, view) {
            Ok(gpus) => return Ok(Fit { node: view.node.id, gpus }),
            Err((code, message)) => misfits.push(Misfit { node: view.node.name.clone(), code, message }),
        }
    }
    Err(misfits)
}

fn fit_on(
    sku: &Sku,
    tenant: TenantId,
    mode: BoundaryMode,
    view: &NodeView,
) -> Result<Vec<GpuId>, (&'static str, String)> {
    if let Some(obstacle) = view.node.obstacles().into_iter().next() {
        return Err((obstacle.code, obstacle.message));
    }
    if mode == BoundaryMode::DedicatedNode {
        if view.allocations.iter().any(|taken| taken.tenant != tenant) {
            return Err(("other_tenant", "Another tenant has the node.".into()));
        }
        if view.unswept.iter().any(|other| *other != tenant) {
            let message = "Something of another tenant was ended without the node, which has not swept yet.";
            return Err(("unswept", message.into()));
        }
    }
    let whole = |taken: &Taken| taken.shape == Shape::Baremetal;
    if view.allocations.iter().any(whole) || (sku.shape == Shape::Baremetal && !view.allocations.is_empty()) {
        return Err(("node_taken", "The node, or a part of it, is allocated already.".into()));
    }
    let cpus = i64::from(view.node.inventory.cpus);
    let memory = i64::from(view.node.inventory.memory_mib);
    let used_cpu: i64 = view.allocations.iter().map(|taken| taken.vcpu).sum();
    let used_memory: i64 = view.allocations.iter().map(|taken| taken.memory_mib).sum();
    if sku.vcpu > cpus - used_cpu {
        return Err((
            "too_few_cpus",
            format!("{} of {cpus} processors are free, {} needed.", cpus - used_cpu, sku.vcpu),
        ));
    }
    if sku.memory_mib > memory - used_memory {
        let free = memory - used_memory;
        return Err((
            "too_little_memory",
            format!("{free} of {memory} MiB are free, {} needed.", sku.memory_mib),
        ));
    }
    let mut free: Vec<&GpuDevice> = view
        .gpus
        .iter()
        .filter(|gpu| gpu.present && !gpu.quarantined && !view.held.contains(&gpu.id))
        .filter(|gpu| sku.gpu_vendor.is_none_or(|vendor| vendor == gpu.vendor))
        .filter(|gpu| sku.gpu_model.as_ref().is_none_or(|model| *model == gpu.model))
        .collect();
    free.sort_by_key(|gpu| gpu.index);
    let wanted = if sku.shape == Shape::Baremetal {
        free.len().max(usize::try_from(sku.gpu_count).unwrap_or(0))
    } else {
        usize::try_from(sku.gpu_count).unwrap_or(0)
    };
    if free.len() < wanted {
        return Err(("too_few_gpus", format!("{} fitting GPUs are free, {wanted} needed.", free.len())));
    }
    Ok(free.into_iter().take(wanted).map(|gpu| gpu.id).collect())
}
