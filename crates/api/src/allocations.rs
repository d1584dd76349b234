//! SKUs and allocations on the wire.

pub use gpuaas_domain::allocation::{Allocation, AllocationState, GrantPolicy, Price, Shape, Sku};

use gpuaas_agent_protocol::inventory::Vendor;
use gpuaas_domain::Timestamp;
use gpuaas_domain::ids::{NodeId, PriceId};
use gpuaas_domain::node::GpuDevice;
use gpuaas_domain::text::{DisplayName, Slug};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewSku {
    #[schemars(with = "Slug")]
    pub slug: String,
    #[schemars(with = "Option<DisplayName>")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display_name: Option<String>,
    pub shape: Shape,
    #[schemars(range(min = 0, max = 1024))]
    pub gpu_count: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpu_vendor: Option<Vendor>,
    #[schemars(length(max = 120))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpu_model: Option<String>,
    #[schemars(range(min = 1, max = 4096))]
    pub vcpu: i64,
    #[schemars(range(min = 64, max = 67_108_864))]
    pub memory_mib: i64,
    #[serde(default = "admin")]
    pub grant_policy: GrantPolicy,
    /// The first price, if it has one from the start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<NewPrice>,
}

fn admin() -> GrantPolicy {
    GrantPolicy::Admin
}

/// So many millionths of a currency per so many units.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewPrice {
    #[schemars(range(min = 0, max = 1_000_000_000_000_000_i64))]
    pub amount_micros: i64,
    /// ISO 4217.
    #[schemars(regex(pattern = "^[A-Z]{3}$"))]
    pub currency: String,
    /// 3600 with `allocation_seconds` is a price per hour.
    #[schemars(range(min = 1, max = 1_000_000_000))]
    pub per_units: i64,
    #[schemars(regex(pattern = "^allocation_seconds$"))]
    #[serde(default = "allocation_seconds")]
    pub unit: String,
    /// Now if absent; never in the past.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub valid_from: Option<Timestamp>,
}

fn allocation_seconds() -> String {
    "allocation_seconds".into()
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SkuChange {
    #[schemars(with = "Option<DisplayName>")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display_name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grant_policy: Option<GrantPolicy>,
    /// A retired SKU is not offered any more; what is allocated stays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retired: Option<bool>,
}

/// A SKU with its price book, oldest first, and the prices that hold now.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct SkuView {
    #[serde(flatten)]
    pub sku: Sku,
    pub prices: Vec<Price>,
    pub current_price_ids: Vec<PriceId>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewAllocation {
    /// By slug.
    #[schemars(with = "Slug")]
    pub sku: String,
    /// Made from the SKU if absent.
    #[schemars(with = "Option<Slug>")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Why it is needed, for whoever grants it.
    #[schemars(length(max = 500))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GrantAllocation {
    /// On this node; the platform chooses if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_id: Option<NodeId>,
}

/// An allocation with its exact devices.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct AllocationDetail {
    #[serde(flatten)]
    pub allocation: Allocation,
    pub sku: String,
    pub node_name: Option<String>,
    /// What the node can do: `container`, `nvidia`, …
    pub capabilities: Vec<String>,
    pub accelerators: Vec<String>,
    pub gpus: Vec<GpuDevice>,
    /// Whether the node or any of the devices is made up.
    pub simulated: bool,
    pub free: FreeShare,
}

/// What instances leave of an allocation.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct FreeShare {
    pub gpus: i64,
    pub cpu_millis: i64,
    pub memory_mib: i64,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AllocationQuery {
    #[schemars(range(min = 1, max = 200))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    #[schemars(length(max = 512))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<AllocationState>,
}
