//! What the objects cannot say.

use std::collections::BTreeMap;

use gpuaas_agent_protocol::spec::{Check, Egress, Probe, RunAs};

use super::object_name;
use crate::render::Gap;
use crate::render::input::{ComponentInput, MountSource, RenderInput};
use crate::render::shared::each_component;

pub(super) fn find(input: &RenderInput) -> Vec<Gap> {
    let scratch = scratch_users(input);
    let mut gaps = each_component(input, |at, component, gaps| {
        if object_name(&component.name) != component.name {
            let message = "Names of Services start with a letter: the others find it under another name.";
            gaps.push(Gap::note(format!("{at}/name"), "name_changed", message));
        }
        user(at, component, gaps);
        if !component.gpus.is_empty() {
            let message =
                "The cluster is asked for so many devices; it chooses which, and simulated ones are none.";
            gaps.push(Gap::note(format!("{at}/gpus"), "devices_by_count", message));
        }
        let message = "The limit of processes is the node's; pods have no field for it.";
        gaps.push(Gap::note(format!("{at}/pids"), "pids_not_limited", message));
        for (index, mount) in component.mounts.iter().enumerate() {
            if mount.source == MountSource::Scratch
                && scratch.get(&mount.name).is_some_and(|users| *users > 1)
            {
                let message = "Pods do not share scratch; choose a volume for this place.";
                gaps.push(Gap::refuse(format!("{at}/mounts/{index}/source"), "scratch_not_shared", message));
            }
        }
        for (index, port) in component.ports.iter().enumerate() {
            if port.host.is_some() {
                let message = "Pods have no port on a node's 127.0.0.1; use a forwarded port instead.";
                gaps.push(Gap::refuse(
                    format!("{at}/ports/{index}/host"),
                    "host_port_not_available",
                    message,
                ));
            }
        }
        for (which, probe) in [("readiness", &component.readiness), ("liveness", &component.liveness)] {
            if let Some(probe) = probe {
                self::probe(&format!("{at}/{which}"), probe, gaps);
            }
        }
        gaps.push(egress(at, component));
        if !component.depends_on.is_empty() {
            let message = "Pods start together; who comes too early is restarted.";
            gaps.push(Gap::note(format!("{at}/depends_on"), "no_start_order", message));
        }
    });
    if input.helm.is_some() && input.components.is_empty() {
        gaps.push(Gap::refuse("/helm", "chart_needs_helm", "A chart is run by the Helm engine."));
    }
    let message = "The cluster restarts for ever with growing pauses; the platform counts and ends it.";
    gaps.push(Gap::note("/restart", "restart_by_platform", message));
    let message = "The deadline counts for each component from its own start.";
    gaps.push(Gap::note("/readiness_deadline_seconds", "deadline_per_component", message));
    gaps
}

/// How many containers would share each scratch.
fn scratch_users(input: &RenderInput) -> BTreeMap<String, u32> {
    let mut users = BTreeMap::new();
    for component in &input.components {
        for mount in component.mounts.iter().filter(|mount| mount.source == MountSource::Scratch) {
            *users.entry(mount.name.clone()).or_default() += component.replicas;
        }
    }
    users
}

fn user(at: &str, component: &ComponentInput, gaps: &mut Vec<Gap>) {
    let (code, message) = match component.user {
        RunAs::User { .. } => return,
        RunAs::Image => (
            "user_must_be_numeric",
            "The image's own user must be a number other than 0, or the cluster refuses to start it.",
        ),
        RunAs::Root => ("root_user", "A namespace with the restricted standard refuses root."),
    };
    gaps.push(Gap::note(format!("{at}/user"), code, message));
}

fn probe(at: &str, probe: &Probe, gaps: &mut Vec<Gap>) {
    if probe.check == Check::Heartbeat {
        let message = "The cluster does not hear heartbeats; the platform judges by them.";
        return gaps.push(Gap::note(format!("{at}/check"), "heartbeat_by_platform", message));
    }
    for (field, millis) in [("interval_ms", probe.interval_ms), ("timeout_ms", probe.timeout_ms)] {
        if millis % 1000 != 0 {
            let message = "The cluster counts whole seconds; this is rounded up.";
            gaps.push(Gap::note(format!("{at}/{field}"), "rounded_to_seconds", message));
        }
    }
}

fn egress(at: &str, component: &ComponentInput) -> Gap {
    let message = match component.egress {
        Egress::None => "The resolver stays reachable, and a network without policies lets all through.",
        Egress::Platform => "The platform is what its namespaces are labelled as.",
        Egress::Internet => "The internet is every address outside the private ranges.",
    };
    Gap::note(format!("{at}/egress"), "egress_roughly", message)
}
