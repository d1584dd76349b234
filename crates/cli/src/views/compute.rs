//! Nodes, SKUs and allocations.

use std::collections::BTreeMap;

use gpuaas_api::allocations::{Allocation, AllocationDetail, SkuView};
use gpuaas_api::nodes::{CreatedJoinToken, Node, NodeDetail};
use gpuaas_domain::ids::SkuId;
use gpuaas_domain::node::GpuDevice;

use super::{Facts, Row, dash, short, simulated, yes};
use crate::units;

/// `2 × A100 (simulated), 1 × H100`.
fn counted<'g>(gpus: impl Iterator<Item = (&'g str, bool)>) -> String {
    let mut kinds: BTreeMap<(&str, bool), usize> = BTreeMap::new();
    for kind in gpus {
        *kinds.entry(kind).or_default() += 1;
    }
    let shown: Vec<_> = kinds
        .iter()
        .map(|((model, made_up), count)| simulated(format!("{count} × {model}"), *made_up))
        .collect();
    if shown.is_empty() { "-".to_owned() } else { shown.join(", ") }
}

fn gpus_of(node: &Node) -> String {
    counted(node.inventory.gpus.iter().map(|gpu| (gpu.model.as_str(), gpu.simulated)))
}

/// What starts containers, by the words of the inventory.
fn runtime_of(node: &Node) -> String {
    let said = serde_json::to_value(&node.inventory.runtime).unwrap_or_default();
    let word = |name: &str| said[name].as_str().unwrap_or_default();
    match (word("kind"), word("version"), word("reason")) {
        ("unavailable", _, reason) => format!("unavailable: {reason}"),
        (kind, "", _) => kind.to_owned(),
        (kind, version, _) => format!("{kind} {version}"),
    }
}

fn readiness(node: &Node) -> String {
    if node.ready {
        return "ready".to_owned();
    }
    let why: Vec<_> = node.reasons.iter().map(|reason| reason.code.as_str()).collect();
    format!("no: {}", why.join(", "))
}

fn presence(node: &Node) -> String {
    match (node.agent_connected_at, node.last_seen_at) {
        (Some(since), _) => format!("since {}", short(since)),
        (None, Some(seen)) => format!("away, seen {}", short(seen)),
        (None, None) => "never".to_owned(),
    }
}

impl Row for Node {
    const TITLES: &'static [&'static str] = &["NAME", "READY", "AGENT", "CONNECTED", "GPUS", "RUNTIME", "ID"];
    const EMPTY: &'static str = "No nodes. Make a token with `gpuaas node join-token create` and run the line it prints on the machine that shall join.";

    fn cells(&self) -> Vec<String> {
        vec![
            simulated(&self.name, self.simulated),
            readiness(self),
            self.agent_version.clone(),
            presence(self),
            gpus_of(self),
            runtime_of(self),
            self.id.to_string(),
        ]
    }
}

impl Facts for Node {
    fn facts(&self) -> Vec<(&'static str, String)> {
        let seen = &self.inventory;
        let mut facts = vec![
            ("name", simulated(&self.name, self.simulated)),
            ("id", self.id.to_string()),
            ("standing", self.standing.name().into()),
            ("ready", yes(self.ready)),
        ];
        facts.extend(self.reasons.iter().map(|reason| ("why not", reason.message.clone())));
        facts.extend([
            ("cordoned", yes(self.cordoned)),
            ("draining", yes(self.draining)),
            ("agent", format!("{} (protocol {})", self.agent_version, seen.protocol)),
            ("connected", presence(self)),
            ("runtime", runtime_of(self)),
            ("capabilities", self.capabilities.join(", ")),
            ("host", format!("{} ({}, {}, {})", seen.hostname, seen.os, seen.kernel, seen.architecture)),
            ("processors", seen.cpus.to_string()),
            ("memory", units::mib(seen.memory_mib.into())),
            (
                "disk",
                format!(
                    "{} free of {}",
                    units::mib(i64::try_from(seen.disk_free_mib).unwrap_or(i64::MAX)),
                    units::mib(i64::try_from(seen.disk_total_mib).unwrap_or(i64::MAX))
                ),
            ),
            ("gpus", gpus_of(self)),
            ("joined", short(self.created_at)),
        ]);
        facts.extend(seen.problems.iter().map(|problem| ("problem", problem.clone())));
        facts.extend(seen.warnings.iter().map(|warning| ("warning", warning.clone())));
        facts
    }
}

impl Facts for NodeDetail {
    fn facts(&self) -> Vec<(&'static str, String)> {
        let list = |ids: Vec<String>| if ids.is_empty() { "none".to_owned() } else { ids.join(", ") };
        let mut facts = self.node.facts();
        facts.push(("allocations", list(self.allocations.iter().map(ToString::to_string).collect())));
        facts.push(("instances", list(self.instances.iter().map(ToString::to_string).collect())));
        facts.push(("volumes", list(self.volumes.iter().map(ToString::to_string).collect())));
        facts
    }
}

pub(crate) const GPU_TITLES: &[&str] = &["GPU", "VENDOR", "MODEL", "MEMORY", "STATE", "DEVICE"];

pub(crate) fn gpu_cells(gpu: &GpuDevice) -> Vec<String> {
    let state = match (gpu.present, gpu.quarantined) {
        (false, _) => "missing",
        (true, true) => "quarantined",
        (true, false) => "present",
    };
    vec![
        gpu.index.to_string(),
        gpu.vendor.name().into(),
        simulated(&gpu.model, gpu.simulated),
        units::mib(gpu.memory_mib),
        state.into(),
        gpu.device_uuid.clone(),
    ]
}

/// What to run on the machine that shall join.
pub(crate) fn join_line(created: &CreatedJoinToken) -> Option<String> {
    let token = created.token.as_ref()?;
    Some(format!("gpuaas-agent join --server {} --token {token}", created.server))
}

impl Facts for CreatedJoinToken {
    fn facts(&self) -> Vec<(&'static str, String)> {
        vec![
            ("token", dash(self.token.as_ref())),
            ("server", self.server.clone()),
            ("expires_at", short(self.expires_at)),
            ("id", self.id.to_string()),
            ("run on the node", dash(join_line(self))),
        ]
    }
}

/// `1 × nvidia A100`, as a SKU asks for them.
fn asked_gpus(view: &SkuView) -> String {
    let sku = &view.sku;
    let mut kind = Vec::new();
    if let Some(vendor) = sku.gpu_vendor {
        kind.push(vendor.name());
    }
    kind.extend(sku.gpu_model.as_deref());
    match (sku.gpu_count, kind.is_empty()) {
        (0, true) => "none".to_owned(),
        (count, true) => format!("{count} × any"),
        (count, false) => format!("{count} × {}", kind.join(" ")),
    }
}

fn current_prices(view: &SkuView) -> String {
    let now: Vec<_> = view
        .prices
        .iter()
        .filter(|price| view.current_price_ids.contains(&price.id))
        .map(units::price)
        .collect();
    if now.is_empty() { "-".to_owned() } else { now.join(", ") }
}

impl Row for SkuView {
    const TITLES: &'static [&'static str] =
        &["SLUG", "SHAPE", "GPUS", "VCPU", "MEMORY", "GRANTED BY", "PRICE", "OFFERED"];
    const EMPTY: &'static str = "No SKUs, so nothing can be allocated. An operator creates one with `gpuaas sku create SLUG --shape gpu_slice --gpus 1 --vcpu 2 --memory 4096`.";

    fn cells(&self) -> Vec<String> {
        let sku = &self.sku;
        vec![
            sku.slug.clone(),
            sku.shape.name().into(),
            asked_gpus(self),
            sku.vcpu.to_string(),
            units::mib(sku.memory_mib),
            sku.grant_policy.name().into(),
            current_prices(self),
            yes(!sku.retired),
        ]
    }
}

impl Facts for SkuView {
    fn facts(&self) -> Vec<(&'static str, String)> {
        let sku = &self.sku;
        let mut facts = vec![
            ("slug", sku.slug.clone()),
            ("name", sku.display_name.clone()),
            ("id", sku.id.to_string()),
            ("shape", sku.shape.name().into()),
            ("gpus", asked_gpus(self)),
            ("vcpu", sku.vcpu.to_string()),
            ("memory", units::mib(sku.memory_mib)),
            ("granted by", sku.grant_policy.name().into()),
            ("offered", yes(!sku.retired)),
        ];
        if self.prices.is_empty() {
            facts.push(("price", "-".into()));
        }
        facts.extend(self.prices.iter().map(|price| {
            let now = if self.current_price_ids.contains(&price.id) { ", holds now" } else { "" };
            ("price", format!("{} from {}{now}", units::price(price), short(price.valid_from)))
        }));
        facts
    }
}

pub(crate) const ALLOCATION_TITLES: &[&str] =
    &["NAME", "STATE", "SKU", "GPUS", "VCPU", "MEMORY", "REQUESTED", "ID", "PROJECT"];
pub(crate) const NO_ALLOCATIONS: &str = "No allocations. `gpuaas sku list` shows what there is; ask for one with `gpuaas allocation request --sku SKU`.";

/// SKUs by id, to show an allocation's by its slug.
pub(crate) type SkuNames = BTreeMap<SkuId, String>;

pub(crate) fn allocation_cells(allocation: &Allocation, skus: &SkuNames) -> Vec<String> {
    vec![
        allocation.name.clone(),
        allocation.state.name().into(),
        dash(skus.get(&allocation.sku_id)),
        allocation.gpu_count.to_string(),
        allocation.vcpu.to_string(),
        units::mib(allocation.memory_mib),
        short(allocation.requested_at),
        allocation.id.to_string(),
        allocation.project_id.to_string(),
    ]
}

impl Facts for Allocation {
    fn facts(&self) -> Vec<(&'static str, String)> {
        let mut facts = vec![
            ("name", self.name.clone()),
            ("id", self.id.to_string()),
            ("state", self.state.name().into()),
            ("shape", self.shape.name().into()),
            ("gpus", self.gpu_count.to_string()),
            ("vcpu", self.vcpu.to_string()),
            ("memory", units::mib(self.memory_mib)),
            ("project", self.project_id.to_string()),
            ("requested by", format!("{} {}", self.requested_by_kind, self.requested_by_id)),
            ("requested", short(self.requested_at)),
        ];
        let moments =
            [("active", self.active_at), ("releasing", self.releasing_at), ("released", self.released_at)];
        facts.extend(moments.into_iter().filter_map(|(name, at)| Some((name, short(at?)))));
        facts.extend(self.note.clone().map(|note| ("note", note)));
        facts
    }
}

impl Facts for AllocationDetail {
    fn facts(&self) -> Vec<(&'static str, String)> {
        let mut facts = self.allocation.facts();
        let free = &self.free;
        facts.extend([
            ("sku", self.sku.clone()),
            (
                "node",
                self.node_name
                    .as_ref()
                    .map_or_else(|| "-".to_owned(), |name| simulated(name, self.simulated)),
            ),
            ("capabilities", self.capabilities.join(", ")),
            (
                "free",
                format!(
                    "{} GPUs, {} processors, {}",
                    free.gpus,
                    units::cpus(free.cpu_millis),
                    units::mib(free.memory_mib)
                ),
            ),
        ]);
        facts
    }
}
