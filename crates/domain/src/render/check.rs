//! What no engine would run: faults of the input itself, all of them, each with its pointer.
//!
//! The agent holds the same limits for its own orders and checks them again; it trusts nobody. Texts may hold anything but
//! NUL, because escaping is the renderers' work; names may not, because they become names in engines.

use std::collections::{BTreeMap, BTreeSet};

use gpuaas_agent_protocol::spec::{
    Check, Egress, MAX_COMPONENTS, MAX_SPEC_BYTES, Probe, RunAs, is_denied_env, is_device_id, is_env_name,
    is_mount_path,
};

use super::Gap;
use super::input::{ComponentInput, RenderInput};
use crate::manifest::Injection;

const MAX_LIST: usize = 256;
const MAX_MOUNTS: usize = 32;
const MAX_PORTS: usize = 32;
const MAX_GPUS: usize = 64;
const MAX_REPLICAS: u32 = 64;
const MAX_TEXT: usize = 32 * 1024;
const DAY: u32 = 24 * 3600;

/// Every fault, in the order of the input.
pub(super) fn faults(input: &RenderInput) -> Vec<Gap> {
    let mut faults = Faults(Vec::new());
    // A chart brings its own workloads.
    let least = usize::from(input.helm.is_none());
    faults.within("/components", input.components.len(), least, MAX_COMPONENTS);
    faults.within("/stop_grace_seconds", input.stop_grace_seconds, 0, 600);
    faults.within("/readiness_deadline_seconds", input.readiness_deadline_seconds, 1, DAY);
    faults.within("/restart/max_restarts", input.restart.max_restarts, 0, 100);
    faults.within("/restart/window_seconds", input.restart.window_seconds, 1, DAY);
    for (index, component) in input.components.iter().enumerate().take(MAX_COMPONENTS) {
        faults.component(&format!("/components/{index}"), component);
    }
    faults.between(input);
    if let Err(gap) = start_order(input) {
        faults.0.push(gap);
    }
    faults.0
}

/// The names in waves: those of a wave depend on earlier ones only. An engine that cannot wait for a dependency is started
/// wave by wave.
pub fn start_order(input: &RenderInput) -> Result<Vec<Vec<&str>>, Gap> {
    let mut waiting: BTreeMap<&str, (usize, BTreeSet<&str>)> = BTreeMap::new();
    for (index, component) in input.components.iter().enumerate() {
        let needs = component.depends_on.iter().map(String::as_str).collect();
        waiting.insert(&component.name, (index, needs));
    }
    let mut waves = Vec::new();
    while !waiting.is_empty() {
        let wave: Vec<&str> =
            waiting.iter().filter(|(_, (_, needs))| needs.is_empty()).map(|(name, _)| *name).collect();
        if wave.is_empty() {
            let first = waiting.values().map(|(index, _)| *index).min().unwrap_or_default();
            return Err(Gap::refuse(
                format!("/components/{first}/depends_on"),
                "dependency_cycle",
                "These components wait for each other, or for one that is not there.",
            ));
        }
        for name in &wave {
            waiting.remove(name);
        }
        for (_, needs) in waiting.values_mut() {
            needs.retain(|name| !wave.contains(name));
        }
        waves.push(wave);
    }
    Ok(waves)
}

struct Faults(Vec<Gap>);

impl Faults {
    fn fault(&mut self, path: impl Into<String>, code: &'static str, message: impl Into<String>) {
        self.0.push(Gap::refuse(path, code, message));
    }

    fn unless(&mut self, good: bool, path: impl Into<String>, code: &'static str, message: &str) {
        if !good {
            self.fault(path, code, message);
        }
    }

    fn within<N: PartialOrd + Copy + std::fmt::Display>(
        &mut self,
        path: impl Into<String>,
        value: N,
        least: N,
        most: N,
    ) {
        if value < least || value > most {
            self.fault(path, "out_of_range", format!("{value} is outside {least} to {most}."));
        }
    }

    fn name(&mut self, path: String, name: &str) {
        let clean = (1..=40).contains(&name.len())
            && !name.starts_with('-')
            && !name.ends_with('-')
            && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
        self.unless(clean, path, "invalid_name", "A name is 1 to 40 of a-z, 0-9 and inner hyphens.");
    }

    fn text(&mut self, path: String, text: &str) {
        let good = text.len() <= MAX_TEXT && !text.contains('\0');
        self.unless(good, path, "invalid_text", "At most 32 KiB, without NUL.");
    }

    fn component(&mut self, at: &str, component: &ComponentInput) {
        self.name(format!("{at}/name"), &component.name);
        if let Some(lane) = &component.lane {
            self.name(format!("{at}/lane"), lane);
        }
        self.within(format!("{at}/command"), component.command.len(), 0, MAX_LIST);
        for (index, part) in component.command.iter().enumerate() {
            self.text(format!("{at}/command/{index}"), part);
        }
        self.environment(at, component);
        if let RunAs::User { uid, gid } = component.user {
            let message = "Root is declared as root, not as uid or gid 0.";
            self.unless(uid != 0 && gid != 0, format!("{at}/user"), "invalid_value", message);
        }
        self.within(format!("{at}/cpu_millis"), component.cpu_millis, 1, 4_096_000);
        self.within(format!("{at}/memory_mib"), component.memory_mib, 6, 64 * 1024 * 1024);
        if let Some(shared) = component.shared_memory_mib {
            self.within(format!("{at}/shared_memory_mib"), shared, 1, component.memory_mib);
        }
        self.within(format!("{at}/pids"), component.pids, 1, 1_000_000);
        self.within(format!("{at}/replicas"), component.replicas, 1, MAX_REPLICAS);
        self.mounts(at, component);
        self.within(format!("{at}/gpus"), component.gpus.len(), 0, MAX_GPUS);
        for (index, gpu) in component.gpus.iter().enumerate() {
            let message = "A device id is letters, digits and - _ : .";
            self.unless(
                is_device_id(&gpu.uuid),
                format!("{at}/gpus/{index}/uuid"),
                "invalid_device",
                message,
            );
        }
        self.ports(at, component);
        for (which, probe) in [("readiness", &component.readiness), ("liveness", &component.liveness)] {
            if let Some(probe) = probe {
                self.probe(&format!("{at}/{which}"), probe);
                let heard = probe.check != Check::Heartbeat || component.egress != Egress::None;
                let message =
                    "Without any egress no heartbeat gets out; use egress `platform` or another check.";
                self.unless(heard, format!("{at}/{which}/check"), "heartbeat_not_heard", message);
            }
        }
        // What is bound is bound to one container.
        if component.replicas > 1 {
            let message = "Each replica with devices of its own is a component of its own.";
            self.unless(
                component.gpus.is_empty(),
                format!("{at}/replicas"),
                "replicas_share_devices",
                message,
            );
            let free = component.ports.iter().all(|port| port.host.is_none());
            self.unless(
                free,
                format!("{at}/replicas"),
                "replicas_share_port",
                "One host port has one replica.",
            );
        }
    }

    fn environment(&mut self, at: &str, component: &ComponentInput) {
        self.within(format!("{at}/env"), component.env.len(), 0, MAX_LIST);
        self.within(format!("{at}/secrets"), component.secrets.len(), 0, MAX_MOUNTS);
        let mut seen = BTreeSet::new();
        for (index, variable) in component.env.iter().enumerate() {
            self.variable(format!("{at}/env/{index}/name"), &variable.name, &mut seen);
            self.text(format!("{at}/env/{index}/value"), &variable.value);
        }
        let mut names = BTreeSet::new();
        for (index, secret) in component.secrets.iter().enumerate() {
            let at = format!("{at}/secrets/{index}");
            self.name(format!("{at}/name"), &secret.name);
            self.unless(names.insert(&secret.name), format!("{at}/name"), "not_unique", "Once is enough.");
            match &secret.inject {
                Injection::File { env } => self.variable(format!("{at}/inject/env"), env, &mut seen),
                Injection::Env { name } => self.variable(format!("{at}/inject/name"), name, &mut seen),
            }
        }
    }

    fn variable<'a>(&mut self, path: String, name: &'a str, seen: &mut BTreeSet<&'a str>) {
        if !is_env_name(name) {
            let message = "A variable is letters, digits and underscores, and starts with no digit.";
            self.fault(path, "invalid_name", message);
        } else if is_denied_env(name) {
            self.fault(path, "denied_variable", "It steers the loader, the GPU runtime or the platform.");
        } else if !seen.insert(name) {
            self.fault(path, "not_unique", "A variable is set once.");
        }
    }

    fn mounts(&mut self, at: &str, component: &ComponentInput) {
        self.within(format!("{at}/tmpfs"), component.tmpfs.len(), 0, MAX_MOUNTS);
        self.within(format!("{at}/mounts"), component.mounts.len(), 0, MAX_MOUNTS);
        let (mut paths, mut names) = (BTreeSet::new(), BTreeSet::new());
        for (index, tmpfs) in component.tmpfs.iter().enumerate() {
            self.place(format!("{at}/tmpfs/{index}/path"), &tmpfs.path, &mut paths);
            self.within(format!("{at}/tmpfs/{index}/size_mib"), tmpfs.size_mib, 1, 1024 * 1024);
        }
        for (index, mount) in component.mounts.iter().enumerate() {
            let at = format!("{at}/mounts/{index}");
            self.name(format!("{at}/name"), &mount.name);
            let message = "Each mount needs a name of its own.";
            self.unless(names.insert(&mount.name), format!("{at}/name"), "not_unique", message);
            self.place(format!("{at}/path"), &mount.path, &mut paths);
        }
    }

    fn place<'a>(&mut self, path: String, place: &'a str, seen: &mut BTreeSet<&'a str>) {
        if !is_mount_path(place) {
            self.fault(path, "invalid_path", "This place in the container cannot be mounted over.");
        } else if !seen.insert(place) {
            self.fault(path, "not_unique", "Two mounts share a path.");
        }
    }

    fn ports(&mut self, at: &str, component: &ComponentInput) {
        self.within(format!("{at}/ports"), component.ports.len(), 0, MAX_PORTS);
        let (mut names, mut numbers) = (BTreeSet::new(), BTreeSet::new());
        for (index, port) in component.ports.iter().enumerate() {
            let at = format!("{at}/ports/{index}");
            self.name(format!("{at}/name"), &port.name);
            self.within(format!("{at}/container"), port.container, 1, u16::MAX);
            if let Some(host) = port.host {
                self.within(format!("{at}/host"), host, 1024, u16::MAX);
            }
            let own = names.insert(&port.name) & numbers.insert(port.container);
            self.unless(own, at, "not_unique", "Each port needs a name and a number of its own.");
        }
    }

    fn probe(&mut self, at: &str, probe: &Probe) {
        self.within(format!("{at}/interval_ms"), probe.interval_ms, 50, 3_600_000);
        self.within(format!("{at}/timeout_ms"), probe.timeout_ms, 50, 600_000);
        self.within(format!("{at}/failures"), probe.failures, 1, 1000);
        match &probe.check {
            Check::Http { port, path } => {
                self.within(format!("{at}/check/port"), *port, 1, u16::MAX);
                let clean =
                    path.starts_with('/') && path.len() <= 1024 && path.bytes().all(|b| b.is_ascii_graphic());
                let message = "A probe path starts with / and is visible ASCII.";
                self.unless(clean, format!("{at}/check/path"), "invalid_path", message);
            }
            Check::Tcp { port } => self.within(format!("{at}/check/port"), *port, 1, u16::MAX),
            Check::Exec { command } => {
                self.within(format!("{at}/check/command"), command.len(), 1, MAX_LIST);
                for (index, part) in command.iter().enumerate() {
                    self.text(format!("{at}/check/command/{index}"), part);
                }
            }
            Check::Heartbeat => {}
        }
    }

    /// What concerns more than one component.
    fn between(&mut self, input: &RenderInput) {
        let bytes: usize = input.components.iter().map(text_bytes).sum();
        let message = "All texts of the components together have at most 256 KiB.";
        self.unless(bytes <= MAX_SPEC_BYTES, "/components", "too_large", message);
        let (mut names, mut devices, mut ports) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        for (index, component) in input.components.iter().enumerate() {
            let at = format!("/components/{index}");
            let message = "Each component needs a name of its own.";
            self.unless(names.insert(&component.name), format!("{at}/name"), "not_unique", message);
            for (index, gpu) in component.gpus.iter().enumerate() {
                let own = devices.insert(&gpu.uuid);
                self.unless(own, format!("{at}/gpus/{index}/uuid"), "not_unique", "A device is bound once.");
            }
            for (index, host) in component.ports.iter().map(|port| port.host).enumerate() {
                let own = host.is_none_or(|host| ports.insert(host));
                let message = "A host port is published once.";
                self.unless(own, format!("{at}/ports/{index}/host"), "not_unique", message);
            }
        }
    }
}

/// Of the texts that people choose; names are short and few.
fn text_bytes(component: &ComponentInput) -> usize {
    let probes = [&component.readiness, &component.liveness].into_iter().flatten();
    let commands = probes.filter_map(|probe| match &probe.check {
        Check::Exec { command } => Some(command),
        Check::Http { .. } | Check::Tcp { .. } | Check::Heartbeat => None,
    });
    let values = component.env.iter().map(|variable| variable.name.len() + variable.value.len());
    let words = component.command.iter().chain(commands.flatten()).map(String::len);
    values.chain(words).sum()
}
