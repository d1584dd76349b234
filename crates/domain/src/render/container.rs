//! The node agent's own form: a [`WorkloadSpec`] of one component. A profile with more is for another engine.
//!
//! Escape law: none is needed. The agent reads the JSON once and hands each text to the Docker Engine as a field of its
//! own; nothing is read a second time.

use gpuaas_agent_protocol::spec::{ComponentSpec, ImageGrant, Port, Scratch, VolumeMount, WorkloadSpec};

use super::input::{ComponentInput, MountSource, RenderInput};
use super::{Gap, JSON, Refusal, Rendered, RenderedFile, check};
use crate::manifest::ExecutionEngine;

pub use super::input::Bindings;

/// Raised when the same input would give another output.
pub const RENDERER_VERSION: i64 = 1;

pub fn render(input: &RenderInput) -> Result<Rendered, Refusal> {
    let workload = spec(input)?;
    let bytes = serde_json::to_string(&workload).expect("an order is plain data");
    let file = RenderedFile { name: "workload.json".to_owned(), media_type: JSON.to_owned(), bytes };
    Ok(Rendered::new(ExecutionEngine::NodeAgent, RENDERER_VERSION, vec![file], gaps(input)))
}

/// The order itself, which has passed the check that the agent makes.
pub fn spec(input: &RenderInput) -> Result<WorkloadSpec, Refusal> {
    let mut faults = check::faults(input);
    faults.extend(gaps(input));
    Refusal::unless_clean(faults)?;
    let workload = WorkloadSpec {
        components: input.components.iter().map(component).collect(),
        readiness_deadline_seconds: input.readiness_deadline_seconds,
        stop_grace_seconds: input.stop_grace_seconds,
        restart: input.restart,
    };
    workload
        .check()
        .map_err(|fault| Refusal { gaps: vec![Gap::refuse(fault.path, "spec_refused", fault.message)] })?;
    Ok(workload)
}

fn component(component: &ComponentInput) -> ComponentSpec {
    let port = |port: &super::input::PortInput| Port {
        name: port.name.clone(),
        container: port.container,
        host: port.host,
    };
    let scratch = component
        .mounts
        .iter()
        .filter(|mount| mount.source == MountSource::Scratch)
        .map(|mount| Scratch { name: mount.name.clone(), path: mount.path.clone() });
    let volumes = component.mounts.iter().filter_map(|mount| match mount.source {
        MountSource::Volume { id } => {
            Some(VolumeMount { id, path: mount.path.clone(), read_only: mount.read_only })
        }
        MountSource::Scratch => None,
    });
    ComponentSpec {
        name: component.name.clone(),
        image: ImageGrant { reference: component.image.clone() },
        command: component.command.clone(),
        env: component.env.clone(),
        user: component.user,
        cpu_millis: component.cpu_millis,
        memory_mib: component.memory_mib,
        pids: component.pids,
        read_only_root: component.read_only_root,
        tmpfs: component.tmpfs.clone(),
        scratch: scratch.collect(),
        volumes: volumes.collect(),
        gpus: component.gpus.clone(),
        ports: component.ports.iter().map(port).collect(),
        readiness: component.readiness.clone(),
        liveness: component.liveness.clone(),
        egress: component.egress,
    }
}

fn gaps(input: &RenderInput) -> Vec<Gap> {
    let mut gaps = Vec::new();
    if input.components.len() > 1 {
        let message = "The node agent runs one container by itself; several are a composition.";
        gaps.push(Gap::refuse("/components", "one_component_only", message));
    }
    if input.helm.is_some() && input.components.is_empty() {
        gaps.push(Gap::refuse("/helm", "chart_needs_cluster", "A node runs no charts."));
    }
    for (index, component) in input.components.iter().enumerate() {
        let at = format!("/components/{index}");
        if component.replicas > 1 {
            let message = "The node agent runs one container by itself; several are a composition.";
            gaps.push(Gap::refuse(format!("{at}/replicas"), "one_component_only", message));
        }
        for (index, mount) in component.mounts.iter().enumerate() {
            let at = format!("{at}/mounts/{index}");
            if mount.source == MountSource::Scratch && mount.read_only {
                let message = "Scratch of a single container can be written.";
                gaps.push(Gap::note(format!("{at}/read_only"), "read_only_not_kept", message));
            }
        }
        if !component.secrets.is_empty() {
            let message = "The node agent's own orders name no secrets yet.";
            gaps.push(Gap::refuse(format!("{at}/secrets"), "secret_not_supported", message));
        }
        if component.shared_memory_mib.is_some() {
            let message = "The container gets the engine's own amount of shared memory.";
            gaps.push(Gap::note(format!("{at}/shared_memory_mib"), "shared_memory_not_set", message));
        }
    }
    gaps
}
