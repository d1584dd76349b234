//! Instances, plans, timelines and figures.

use gpuaas_api::access::EndpointToken;
use gpuaas_api::instances::{
    Component, ComponentStats, EndpointView, Instance, InstanceDetail, InstanceStats, MountSource, PlanView,
    TimelineEntry,
};
use gpuaas_domain::instance::health_name;
use serde_json::Value;

use super::{Facts, Row, dash, short, simulated, yes};
use crate::units;

/// Status in one word; the end has none of its own on the wire.
pub(crate) fn status(instance: &Instance) -> &'static str {
    if instance.decommissioned_at.is_some() { "decommissioned" } else { instance.status.name() }
}

impl Row for Instance {
    const TITLES: &'static [&'static str] =
        &["NAME", "APP", "VERSION", "STATUS", "HEALTH", "OPERATION", "CREATED", "ID"];
    const EMPTY: &'static str = "No instances. `gpuaas app catalog` shows what can be launched; launch with `gpuaas instance create APP --allocation NAME`.";

    fn cells(&self) -> Vec<String> {
        let status = match self.failure_reason {
            Some(reason) if self.decommissioned_at.is_none() => {
                format!("{} ({})", status(self), reason.name())
            }
            Some(_) | None => status(self).to_owned(),
        };
        vec![
            self.name.clone(),
            self.app_slug.clone(),
            self.app_version.clone(),
            status,
            health_name(self.health).into(),
            dash(self.current_operation.map(gpuaas_domain::lifecycle::Operation::name)),
            short(self.created_at),
            self.id.to_string(),
        ]
    }
}

impl Facts for Instance {
    fn facts(&self) -> Vec<(&'static str, String)> {
        let mut facts = vec![
            ("name", self.name.clone()),
            ("id", self.id.to_string()),
            ("app", format!("{} {}", self.app_slug, self.app_version)),
            ("status", status(self).into()),
            ("health", health_name(self.health).into()),
        ];
        facts.extend(self.current_operation.map(|operation| ("operation", operation.name().into())));
        facts.extend(self.failure_reason.map(|reason| ("failure", reason.name().into())));
        facts.extend(self.failure_message.clone().map(|message| ("because", message)));
        facts.extend([
            ("allocation", self.target_allocation_id.to_string()),
            ("runtime", format!("{}, {}", self.runtime_backend.name(), self.execution_engine)),
            ("boundary", self.tenant_boundary_mode.clone()),
            ("artifact", self.artifact_digest.clone()),
            ("requested by", format!("{} {}", self.requested_by.kind, self.requested_by.id)),
            ("created", short(self.created_at)),
        ]);
        let moments = [("activated", self.activated_at), ("decommissioned", self.decommissioned_at)];
        facts.extend(moments.into_iter().filter_map(|(name, at)| Some((name, short(at?)))));
        facts
    }
}

impl Facts for InstanceDetail {
    fn facts(&self) -> Vec<(&'static str, String)> {
        let mut facts = self.instance.facts();
        facts.push(("node", simulated(&self.node_name, self.simulated)));
        if !self.gpus.is_empty() {
            facts.push(("gpus", simulated(self.gpus.join(", "), self.simulated)));
        }
        facts.extend(self.mounts.iter().map(|mount| {
            ("storage", stored(&mount.name, &mount.path, mount.volume_name.as_deref(), &mount.source))
        }));
        let reachable = self.instance.decommissioned_at.is_none();
        let ways = self.access.instructions.iter().filter(|_| reachable);
        facts.extend(ways.map(|line| ("access", line.clone())));
        facts.extend(self.access.notes.iter().map(|note| ("note", note.clone())));
        facts.extend(
            self.access.commands.iter().map(|one| ("command", format!("{}: {}", one.title, one.line))),
        );
        facts
    }
}

/// `workspace at /workspace: volume home`.
fn stored(name: &str, path: &str, volume: Option<&str>, source: &MountSource) -> String {
    let what = match source {
        MountSource::Scratch => "scratch".to_owned(),
        MountSource::Volume { volume_id, read_only } => {
            let name = volume.map_or_else(|| volume_id.to_string(), str::to_owned);
            format!("volume {name}{}", if *read_only { ", read only" } else { "" })
        }
    };
    format!("{name} at {path}: {what}")
}

pub(crate) const COMPONENT_TITLES: &[&str] =
    &["COMPONENT", "RUNNING", "READY", "RESTARTS", "EXIT", "STARTED", "CONTAINER"];

pub(crate) fn component_cells(component: &Component) -> Vec<String> {
    let container = component.container_id.as_ref().map(|id| id.chars().take(12).collect::<String>());
    vec![
        component.name.clone(),
        yes(component.running),
        yes(component.ready),
        component.restarts.to_string(),
        dash(component.exit_code),
        dash(component.started_at.map(short)),
        dash(container),
    ]
}

pub(crate) const ENDPOINT_TITLES: &[&str] = &["PORT", "NAME", "COMPONENT", "ACCESS", "ADDRESS"];

pub(crate) fn endpoint_cells(view: &EndpointView) -> Vec<String> {
    let endpoint = &view.endpoint;
    let on_the_node = endpoint.host_port.map(|port| format!("127.0.0.1:{port} on the node"));
    vec![
        endpoint.port.to_string(),
        endpoint.name.clone(),
        endpoint.component.clone(),
        endpoint.mode.name().to_owned(),
        dash(view.url.clone().or(on_the_node)),
    ]
}

/// `done=1.0 MiB total=4.0 MiB` for a pull, `name=value` for anything else.
fn payload(entry: &TimelineEntry) -> String {
    let Value::Object(members) = &entry.payload else { return entry.payload.to_string() };
    let shown = members.iter().filter(|(_, value)| !value.is_null()).map(|(name, value)| match value {
        Value::Number(count) if name.ends_with("_bytes") => {
            format!("{}={}", name.trim_end_matches("_bytes"), units::bytes(count.as_u64().unwrap_or(0)))
        }
        Value::String(text) => format!("{name}={text}"),
        other => format!("{name}={other}"),
    });
    shown.collect::<Vec<_>>().join(" ")
}

impl Row for TimelineEntry {
    const TITLES: &'static [&'static str] = &["TIME", "EVENT", "DETAIL"];
    const EMPTY: &'static str = "Nothing has happened to this instance yet; `-f` waits.";

    fn cells(&self) -> Vec<String> {
        vec![short(self.occurred_at), self.event_type.clone(), payload(self)]
    }
}

pub(crate) const STATS_TITLES: &[&str] =
    &["COMPONENT", "CPU", "MEMORY", "LIMIT", "USED", "PIDS", "RECEIVED", "SENT"];
pub(crate) const NO_STATS: &str = "No component runs; `gpuaas instance get` shows why.";

fn stats_cells(stats: &ComponentStats, made_up: bool) -> Vec<String> {
    let used = stats.memory_bytes.saturating_mul(100).checked_div(stats.memory_limit_bytes);
    vec![
        simulated(&stats.name, made_up),
        units::cpus(i64::try_from(stats.cpu_millis).unwrap_or(i64::MAX)),
        units::bytes(stats.memory_bytes),
        if stats.memory_limit_bytes == 0 { "-".into() } else { units::bytes(stats.memory_limit_bytes) },
        dash(used.map(|percent| format!("{percent} %"))),
        stats.pids.to_string(),
        units::bytes(stats.network_rx_bytes),
        units::bytes(stats.network_tx_bytes),
    ]
}

pub(crate) fn stats_rows(stats: &InstanceStats) -> Vec<Vec<String>> {
    stats.components.iter().map(|component| stats_cells(component, stats.simulated)).collect()
}

impl Facts for PlanView {
    fn facts(&self) -> Vec<(&'static str, String)> {
        let plan = &self.plan;
        let gpus = if plan.gpus.is_empty() {
            "none".to_owned()
        } else {
            simulated(plan.gpus.join(", "), plan.simulated)
        };
        let mut facts = vec![
            ("app", format!("{} {}", plan.app_slug, plan.app_version)),
            ("artifact", plan.artifact_digest.clone()),
            ("node", simulated(&plan.node_name, plan.simulated)),
            ("allocation", plan.allocation_id.to_string()),
            ("gpus", gpus),
            ("processors", units::cpus(plan.cpu_millis)),
            ("memory", units::mib(plan.memory_mib)),
        ];
        if (plan.held_cpu_millis, plan.held_memory_mib) != (plan.cpu_millis, plan.memory_mib) {
            let held = format!(
                "{} processors, {}: the app wants the allocation to itself",
                units::cpus(plan.held_cpu_millis),
                units::mib(plan.held_memory_mib)
            );
            facts.push(("held", held));
        }
        facts.extend(plan.mounts.iter().map(|mount| {
            ("storage", stored(&mount.name, &mount.path, mount.volume_name.as_deref(), &mount.source))
        }));
        facts.extend(plan.host_port.map(|port| ("host port", format!("127.0.0.1:{port} on the node"))));
        facts.extend(plan.endpoints.iter().map(|endpoint| {
            (
                "port",
                format!("{} {} ({}, {})", endpoint.port, endpoint.name, endpoint.component, endpoint.expose),
            )
        }));
        facts.push(("runtime", format!("{}, {}", plan.runtime_backend.name(), plan.execution_engine)));
        facts.push(("boundary", plan.tenant_boundary_mode.clone()));
        facts.extend(
            plan.prices
                .iter()
                .map(|price| ("price", format!("{} for the allocation, nothing more", units::price(price)))),
        );
        facts.push(("plan digest", self.plan_digest.clone()));
        facts
    }
}

impl Row for EndpointToken {
    const TITLES: &'static [&'static str] = &["ID", "NAME", "EXPIRES", "MADE BY"];
    const EMPTY: &'static str =
        "No program has a token for this endpoint; make one with `gpuaas endpoint token-create`.";

    fn cells(&self) -> Vec<String> {
        vec![
            self.id.to_string(),
            self.name.clone(),
            short(self.expires_at),
            format!("{} {}", self.created_by.kind, self.created_by.id),
        ]
    }
}
