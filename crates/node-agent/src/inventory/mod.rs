//! What this node has: facts of the host, and GPUs that the vendors' own tools list or that the configuration declares.
//!
//! Reading is tolerant (the tools promise no stability of their text) and never fails: what could not be learnt is a
//! warning for the operator. Real and declared GPUs are never mixed; declaring is an explicit choice.

mod amd;
mod declared;
mod host;
mod nvidia;
mod tool;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use gpuaas_agent_protocol::PROTOCOL;
use gpuaas_agent_protocol::inventory::{Gpu, NodeInventory, Runtime, Vendor};
use gpuaas_agent_protocol::spec::is_device_id;

pub use declared::DeclaredGpus;
use tool::Tools;

/// Where to look.
#[derive(Clone, Debug)]
pub struct Look {
    /// Folders that hold the vendors' tools, separated by colons.
    pub search_path: String,
    /// One run of a tool may take this long.
    pub tool_timeout: Duration,
    /// The folder whose file system workloads fill.
    pub data_dir: PathBuf,
    /// Not empty: these are the GPUs, and no tool is asked.
    pub declared: Vec<DeclaredGpus>,
    /// What the ids of declared GPUs are made from: the node's public key, known before it has joined.
    pub seed: Vec<u8>,
}

/// Devices, and what went wrong while looking for them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) gpus: Vec<Gpu>,
    pub(crate) warnings: Vec<String>,
}

impl Found {
    fn warning(text: impl Into<String>) -> Self {
        Self { gpus: Vec::new(), warnings: vec![text.into()] }
    }

    fn add(&mut self, other: Self) {
        self.gpus.extend(other.gpus);
        self.warnings.extend(other.warnings);
    }

    /// Keeps a device whose id can be bound to a container, and only once.
    fn push(&mut self, gpu: Gpu) {
        let vendor = gpu.vendor.name();
        if !is_device_id(&gpu.uuid) {
            self.warnings.push(format!("The {vendor} GPU {} has no usable id and is left out.", gpu.index));
        } else if self.gpus.iter().any(|known| known.uuid == gpu.uuid) {
            self.warnings.push(format!("The {vendor} GPU {} repeats the id {}.", gpu.index, gpu.uuid));
        } else {
            if gpu.memory_mib == 0 {
                self.warnings.push(format!("The memory of the {vendor} GPU {} is unknown.", gpu.index));
            }
            self.gpus.push(gpu);
        }
    }
}

/// Everything, with the runtime as whoever talks to it knows it.
pub async fn look(settings: &Look, runtime: Runtime) -> NodeInventory {
    let host = host::read(&settings.data_dir);
    let mut found =
        if settings.declared.is_empty() { discover(settings).await } else { declared::gpus(settings) };
    found.warnings.extend(host.warnings);
    NodeInventory {
        agent_version: env!("CARGO_PKG_VERSION").to_owned(),
        protocol: PROTOCOL,
        hostname: host.hostname,
        os: host.os,
        kernel: host.kernel,
        architecture: host::architecture().to_owned(),
        cpus: host.cpus,
        memory_mib: host.memory_mib,
        disk_total_mib: host.disk_total_mib,
        disk_free_mib: host.disk_free_mib,
        runtime,
        gpus: found.gpus,
        problems: Vec::new(),
        warnings: found.warnings,
    }
}

async fn discover(settings: &Look) -> Found {
    let tools = Tools { search_path: settings.search_path.clone(), timeout: settings.tool_timeout };
    let mut found = nvidia::discover(&tools).await;
    found.add(amd::discover(&tools).await);
    found
}

/// Which device file is which AMD GPU, by its id: `/dev/dri/by-path` names them by their place on the bus.
pub fn render_nodes(gpus: &[Gpu]) -> BTreeMap<String, String> {
    let real = gpus.iter().filter(|gpu| gpu.vendor == Vendor::Amd && !gpu.simulated);
    real.filter_map(|gpu| {
        let link = format!("/dev/dri/by-path/pci-{}-render", gpu.bus_id.as_ref()?.to_ascii_lowercase());
        let node = std::fs::canonicalize(link).ok()?;
        Some((gpu.uuid.clone(), node.to_str()?.to_owned()))
    })
    .collect()
}

/// As images name it.
pub fn architecture() -> &'static str {
    host::architecture()
}

/// A value that a tool prints when it has none: `N/A`, `[N/A]`, `[Not Supported]`, `[Unknown Error]`, nothing.
fn is_absent(value: &str) -> bool {
    value.is_empty()
        || value.starts_with('[')
        || ["n/a", "none", "not supported", "unknown", "unknown error"]
            .contains(&value.to_ascii_lowercase().as_str())
}

fn present(value: &str) -> Option<String> {
    let value = value.trim();
    (!is_absent(value)).then(|| value.chars().take(200).collect())
}

#[cfg(test)]
mod tests;
