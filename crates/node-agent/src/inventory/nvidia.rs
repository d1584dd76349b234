//! `nvidia-smi`.

use gpuaas_agent_protocol::inventory::{Gpu, Vendor};

use super::tool::{Said, Tools};
use super::{Found, present};

const TOOL: &str = "nvidia-smi";
const QUERY: &[&str] =
    &["--query-gpu=index,uuid,name,pci.bus_id,memory.total,driver_version", "--format=csv,noheader,nounits"];

pub(super) async fn discover(tools: &Tools) -> Found {
    let Some(tool) = tools.find(TOOL) else { return Found::default() };
    match tools.run(&tool, QUERY).await {
        Ok(said) => parse(&said),
        Err(why) => Found::warning(why),
    }
}

pub(super) fn parse(said: &Said) -> Found {
    if said.stdout.to_ascii_lowercase().contains("no devices were found") {
        return Found::warning("nvidia-smi: No devices were found.");
    }
    if said.code != Some(0) {
        return Found::warning(format!("nvidia-smi {}: {}", said.ending(), said.first_line()));
    }
    let mut found = Found::default();
    for line in said.stdout.lines().filter(|line| !line.trim().is_empty()) {
        match gpu(line) {
            Some(gpu) => found.push(gpu),
            None => found.warnings.push(format!(
                "nvidia-smi said something else than a GPU: {}",
                line.trim().chars().take(200).collect::<String>()
            )),
        }
    }
    found
}

/// Two fields before the name and three after it; a comma inside stays with the name.
fn gpu(line: &str) -> Option<Gpu> {
    let fields: Vec<&str> = line.split(',').map(str::trim).collect();
    let [index, uuid, name @ .., bus, memory, driver] = fields.as_slice() else { return None };
    let memory = memory.trim_end_matches("MiB").trim();
    Some(Gpu {
        index: index.parse().ok()?,
        uuid: present(uuid).unwrap_or_default(),
        vendor: Vendor::Nvidia,
        model: present(&name.join(", ")).unwrap_or_else(|| "NVIDIA GPU".to_owned()),
        memory_mib: memory.parse().unwrap_or(0),
        bus_id: present(bus),
        driver_version: present(driver),
        simulated: false,
    })
}
