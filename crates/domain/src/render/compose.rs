//! A Docker Compose (v2) project for one node.
//!
//! Escape law: Compose replaces `$X` and `${X}` in every value, wherever it stands, and reads `$$` as `$`; so each `$` of
//! a value is doubled, and the type of the model's texts can be made in no other way.
//!
//! The project is the same on every node. What only the node knows the agent adds in a second file, which Compose merges
//! over this one ([`overlay`]): where scratch and secrets lie, the subnet, the device files of AMD's GPUs, the user of an
//! image that names none, its own labels, and the values of secrets that are variables. So:
//!
//! - *Scratch* is a named volume of the project, `scratch-<name>`, which `down --volumes` removes. The agent points it at a
//!   folder that it has made for the container's user; a volume of Docker's own would be root's. A bind with a host path
//!   would put the node's layout into a stored revision.
//! - *Volumes of the project* are external, `gpuaas-volume-<id>`: Compose never removes such a one.
//! - *Secrets as files* are the volume `secrets-<component>`, read-only at `/run/gpuaas/secrets`, which the agent points
//!   at its tmpfs.
//! - *Nothing is published.* A host port is the agent's own listener on 127.0.0.1, open while the instance is up; Docker
//!   publishes nothing from an internal network, and on any other it would open the port before readiness.
//! - *Restart* is `no` and probes are the agent's, as for a single container. Only a probe that is a command becomes a
//!   health check, because http and tcp probes would need a tool inside the image.

mod model;
mod overlay;

use std::collections::BTreeMap;

use gpuaas_agent_protocol::inventory::Vendor;
use gpuaas_agent_protocol::spec::{Check, Egress, Probe, RunAs};

use self::model::{
    Dependency, Deploy, Devices, Healthcheck, Logging, Network, Project, Reservations, Resources, Service,
    Text, Texts, Volume, VolumeMount, VolumeOptions, texts,
};
use super::input::{ComponentInput, MountInput, MountSource, RenderInput};
use super::shared::{self, SECRETS_PATH, component_labels, each_component, instance_name, real};
use super::{Gap, Refusal, Rendered, check, yaml_file};
use crate::manifest::{ExecutionEngine, Injection};
use crate::text::cpus;

pub use overlay::{NodeFacts, overlay};

/// Raised when the same input would give another output.
pub const RENDERER_VERSION: i64 = 1;
pub const FILE: &str = "compose.yaml";

const NETWORK: &str = "instance";

pub fn render(input: &RenderInput) -> Result<Rendered, Refusal> {
    let mut gaps = check::faults(input);
    gaps.extend(shared::check_identity(input));
    gaps.extend(self::gaps(input));
    let gaps = Refusal::unless_clean(gaps)?;
    let files = vec![yaml_file(FILE, &project(input))];
    Ok(Rendered::new(ExecutionEngine::DockerCompose, RENDERER_VERSION, files, gaps))
}

fn project(input: &RenderInput) -> Project {
    let services = input.components.iter().map(|one| (one.name.clone(), service(input, one))).collect();
    let network = Network {
        name: Text::new(instance_name(input)),
        driver: "bridge",
        internal: input.components.iter().all(|component| component.egress != Egress::Internet),
        attachable: false,
        enable_ipv6: false,
        labels: labels(shared::labels(input)),
    };
    Project {
        name: Text::new(instance_name(input)),
        services,
        networks: BTreeMap::from([(NETWORK, network)]),
        volumes: volumes(input),
    }
}

fn service(input: &RenderInput, component: &ComponentInput) -> Service {
    let memory = Text::new(format!("{}m", component.memory_mib));
    let tmpfs = component
        .tmpfs
        .iter()
        .map(|tmpfs| format!("{}:rw,nosuid,nodev,mode=1777,size={}m", tmpfs.path, tmpfs.size_mib));
    Service {
        image: Text::new(component.image.to_string()),
        // The agent has pulled and verified it.
        pull_policy: "never",
        command: texts(&component.command),
        environment: environment(component),
        user: user(component.user),
        hostname: Text::new(&component.name),
        read_only: component.read_only_root,
        cap_drop: ["ALL"],
        security_opt: ["no-new-privileges:true"],
        init: true,
        ipc: "private",
        pids_limit: component.pids,
        cpus: Text::new(cpus(i64::from(component.cpu_millis))),
        mem_limit: memory.clone(),
        // The same figure means no swap at all.
        memswap_limit: memory,
        shm_size: component.shared_memory_mib.map(|mib| Text::new(format!("{mib}m"))),
        tmpfs: texts(tmpfs),
        volumes: mounts(component),
        networks: [NETWORK],
        expose: component.ports.iter().map(|port| Text::new(port.container.to_string())).collect(),
        healthcheck: healthcheck(component.readiness.as_ref(), input.readiness_deadline_seconds),
        depends_on: component.depends_on.iter().map(|name| (name.clone(), dependency(input, name))).collect(),
        deploy: devices(component),
        scale: (component.replicas != 1).then_some(component.replicas),
        labels: labels(component_labels(input, component)),
        restart: "no",
        stop_grace_period: Text::new(format!("{}s", input.stop_grace_seconds)),
        logging: Logging {
            driver: "json-file",
            options: BTreeMap::from([("max-file", "3"), ("max-size", "10m")]),
        },
    }
}

fn environment(component: &ComponentInput) -> Texts {
    let mut variables = shared::variables(component);
    let known = shared::gpu_variables(&component.gpus);
    variables.extend(known.into_iter().map(|(name, value)| (name.to_owned(), value)));
    if !component.gpus.is_empty() {
        let ids: Vec<&str> = component.gpus.iter().map(|gpu| gpu.uuid.as_str()).collect();
        variables.insert("GPUAAS_GPUS".to_owned(), ids.join(","));
    }
    variables.into_iter().map(|(name, value)| (name, Text::new(value))).collect()
}

fn user(user: RunAs) -> Option<Text> {
    match user {
        RunAs::Image => None,
        RunAs::User { uid, gid } => Some(Text::new(format!("{uid}:{gid}"))),
        RunAs::Root => Some(Text::new("0:0")),
    }
}

fn labels(labels: BTreeMap<&'static str, String>) -> Texts {
    labels.into_iter().map(|(name, value)| (name.to_owned(), Text::new(value))).collect()
}

/// The key of a mount's volume in the project.
fn volume_key(mount: &MountInput) -> String {
    match mount.source {
        MountSource::Scratch => format!("scratch-{}", mount.name),
        MountSource::Volume { id } => format!("volume-{id}"),
    }
}

fn secrets_key(component: &ComponentInput) -> String {
    format!("secrets-{}", component.name)
}

fn mounts(component: &ComponentInput) -> Vec<VolumeMount> {
    let mount = |source: String, target: &str, read_only| VolumeMount {
        r#type: "volume",
        source: Text::new(source),
        target: Text::new(target),
        read_only,
        volume: VolumeOptions { nocopy: true },
    };
    let declared = component.mounts.iter().map(|one| mount(volume_key(one), &one.path, one.read_only));
    let secrets =
        shared::has_secret_files(component).then(|| mount(secrets_key(component), SECRETS_PATH, true));
    declared.chain(secrets).collect()
}

fn volumes(input: &RenderInput) -> BTreeMap<String, Volume> {
    let own = |key: &str| Volume::Own {
        name: Text::new(format!("{}-{key}", instance_name(input))),
        labels: labels(shared::labels(input)),
    };
    let mut volumes = BTreeMap::new();
    for component in &input.components {
        for mount in &component.mounts {
            let key = volume_key(mount);
            let volume = match mount.source {
                MountSource::Scratch => own(&key),
                MountSource::Volume { id } => {
                    Volume::External { external: true, name: Text::new(format!("gpuaas-volume-{id}")) }
                }
            };
            volumes.insert(key, volume);
        }
        if shared::has_secret_files(component) {
            let key = secrets_key(component);
            volumes.insert(key.clone(), own(&key));
        }
    }
    volumes
}

fn healthcheck(readiness: Option<&Probe>, deadline_seconds: u32) -> Healthcheck {
    let millis = |millis: u32| Text::new(format!("{millis}ms"));
    match readiness {
        Some(Probe { check: Check::Exec { command }, interval_ms, timeout_ms, failures }) => {
            Healthcheck::On {
                test: texts(std::iter::once("CMD").chain(command.iter().map(String::as_str))),
                interval: millis(*interval_ms),
                timeout: millis(*timeout_ms),
                retries: *failures,
                // Until then a failure is no sign of illness.
                start_period: Text::new(format!("{deadline_seconds}s")),
            }
        }
        Some(Probe { check: Check::Http { .. } | Check::Tcp { .. } | Check::Heartbeat, .. }) | None => {
            Healthcheck::Off { disable: true }
        }
    }
}

fn is_awaited(component: &ComponentInput) -> bool {
    matches!(component.readiness, Some(Probe { check: Check::Exec { .. }, .. }))
}

fn dependency(input: &RenderInput, name: &str) -> Dependency {
    let awaited = input.components.iter().any(|component| component.name == name && is_awaited(component));
    Dependency { condition: if awaited { "service_healthy" } else { "service_started" } }
}

fn devices(component: &ComponentInput) -> Option<Deploy> {
    let ids = real(&component.gpus, Vendor::Nvidia);
    if ids.is_empty() {
        return None;
    }
    let devices = vec![Devices { driver: "nvidia", capabilities: ["gpu"], device_ids: texts(ids) }];
    Some(Deploy { resources: Resources { reservations: Reservations { devices } } })
}

fn gaps(input: &RenderInput) -> Vec<Gap> {
    let mut gaps = Vec::new();
    if input.helm.is_some() && input.components.is_empty() {
        gaps.push(Gap::refuse("/helm", "chart_needs_cluster", "A node runs no charts."));
    }
    let egress = input.components.first().map(|component| component.egress);
    gaps.extend(each_component(input, |at, component, gaps| {
        if Some(component.egress) != egress {
            let message = "The components of an instance share one network: all have the same egress.";
            gaps.push(Gap::refuse(format!("{at}/egress"), "mixed_egress", message));
        }
        filled_by_node(at, component, gaps);
        for (which, probe) in [("readiness", &component.readiness), ("liveness", &component.liveness)] {
            if let Some(probe) = probe
                && !(which == "readiness" && matches!(probe.check, Check::Exec { .. }))
            {
                let message = "The node agent makes this probe; Compose does not know of it.";
                gaps.push(Gap::note(format!("{at}/{which}"), "probed_by_agent", message));
            }
        }
        for (index, name) in component.depends_on.iter().enumerate() {
            let one = input.components.iter().find(|one| one.name == *name);
            if one.is_some_and(|one| one.readiness.is_some() && !is_awaited(one)) {
                let message = "Compose only waits until this component has started; the agent starts the \
                               project in waves where readiness counts.";
                gaps.push(Gap::note(format!("{at}/depends_on/{index}"), "dependency_not_awaited", message));
            }
        }
    }));
    gaps.push(Gap::note("/restart", "restart_by_agent", "The node agent restarts within this budget."));
    let message = "The node agent keeps this deadline.";
    gaps.push(Gap::note("/readiness_deadline_seconds", "deadline_by_agent", message));
    gaps
}

/// What the second file brings.
fn filled_by_node(at: &str, component: &ComponentInput, gaps: &mut Vec<Gap>) {
    if component.user == RunAs::Image {
        let message = "The node agent puts a user in where the image has none.";
        gaps.push(Gap::note(format!("{at}/user"), "user_by_agent", message));
    }
    if !real(&component.gpus, Vendor::Amd).is_empty() {
        let message = "The node agent puts the files of these devices in.";
        gaps.push(Gap::note(format!("{at}/gpus"), "device_files_by_agent", message));
    }
    for (index, port) in component.ports.iter().enumerate().filter(|(_, port)| port.host.is_some()) {
        let message = format!("The node agent listens on 127.0.0.1 for port {}.", port.container);
        gaps.push(Gap::note(format!("{at}/ports/{index}/host"), "host_port_by_agent", message));
    }
    for (index, secret) in component.secrets.iter().enumerate() {
        if matches!(secret.inject, Injection::Env { .. }) {
            let message = "The node agent puts the value in; it is in no stored file.";
            gaps.push(Gap::note(format!("{at}/secrets/{index}"), "secret_by_agent", message));
        }
    }
    if component.egress != Egress::Internet {
        let message = "The network has no way out; what of the node answers is the node's packet filter's.";
        gaps.push(Gap::note(format!("{at}/egress"), "egress_by_node", message));
    }
}
