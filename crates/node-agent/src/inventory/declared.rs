//! GPUs that exist in the configuration only. They are marked `simulated` for ever and everywhere.

use gpuaas_agent_protocol::image::Digest;
use gpuaas_agent_protocol::inventory::{Gpu, Vendor};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Found, Look};

/// A group of equal GPUs to pretend to have.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeclaredGpus {
    pub vendor: Vendor,
    /// As the vendor's tool would name it.
    pub model: String,
    pub memory_mib: u32,
    /// How many.
    #[serde(default = "one")]
    pub count: u32,
}

fn one() -> u32 {
    1
}

/// The id of a device hangs on the node and on what the device is, not on where the list mentions it.
pub(super) fn gpus(settings: &Look) -> Found {
    let mut found = Found::default();
    for group in &settings.declared {
        for _ in 0..group.count {
            let twins = found.gpus.iter().filter(|gpu| {
                (gpu.vendor, gpu.model.as_str(), gpu.memory_mib)
                    == (group.vendor, group.model.as_str(), group.memory_mib)
            });
            let (twin, index) = (twins.count(), found.gpus.len());
            let kind = format!("\0{}\0{}\0{}\0{twin}", group.vendor.name(), group.model, group.memory_mib);
            let hash =
                Digest::of(&[b"gpuaas-declared-gpu\0", settings.seed.as_slice(), kind.as_bytes()].concat());
            let hex = hash.hex();
            found.gpus.push(Gpu {
                index: u32::try_from(index).unwrap_or(u32::MAX),
                uuid: format!(
                    "SIM-{}-{}-{}-{}-{}",
                    &hex[..8],
                    &hex[8..12],
                    &hex[12..16],
                    &hex[16..20],
                    &hex[20..32]
                ),
                vendor: group.vendor,
                model: group.model.clone(),
                memory_mib: group.memory_mib,
                bus_id: None,
                driver_version: None,
                simulated: true,
            });
        }
    }
    found
}
