//! One component as a pod with one container.

use std::collections::BTreeMap;

use gpuaas_agent_protocol::inventory::Vendor;
use gpuaas_agent_protocol::spec::{Check, NOBODY, Probe, RunAs};

use super::model::{
    Capabilities, Capability, Claim, Container, ContainerSecurity, EmptyDir, Escaped, Exec, HttpGet, Medium,
    PodPort, PodSecurity, PodSpec, Probe as PodProbe, Protocol, PullPolicy, Resources, RestartPolicy,
    Seccomp, SeccompType, SecretItem, SecretKey, SecretVolume, TcpSocket, ValueFrom, Variable, Volume,
    VolumeMount, Words,
};
use super::{ACCOUNT, SECRETS, port_name};
use crate::manifest::Injection;
use crate::render::input::{ComponentInput, MountInput, MountSource, PortInput, RenderInput};
use crate::render::shared::{self, SECRETS_PATH, has_secret_files, real};

/// Group and owner may read; the group is the pod's own.
const SECRET_MODE: u32 = 0o440;

pub(super) fn spec(input: &RenderInput, component: &ComponentInput) -> PodSpec {
    PodSpec {
        service_account_name: ACCOUNT.to_owned(),
        automount_service_account_token: false,
        // Else every Service of the namespace would become variables of the container.
        enable_service_links: false,
        restart_policy: RestartPolicy::Always,
        termination_grace_period_seconds: input.stop_grace_seconds,
        security_context: security(component.user),
        containers: [container(input, component)],
        volumes: volumes(component),
    }
}

fn security(user: RunAs) -> PodSecurity {
    let seccomp_profile = Seccomp { r#type: SeccompType::RuntimeDefault };
    let (run_as_user, run_as_group, fs_group) = match user {
        RunAs::Image => (None, None, Some(NOBODY.1)),
        RunAs::User { uid, gid } => (Some(uid), Some(gid), Some(gid)),
        RunAs::Root => (Some(0), Some(0), None),
    };
    PodSecurity { run_as_non_root: user != RunAs::Root, run_as_user, run_as_group, fs_group, seccomp_profile }
}

fn container(input: &RenderInput, component: &ComponentInput) -> Container {
    let port = |port: &PortInput| PodPort {
        name: port_name(&port.name),
        container_port: port.container,
        protocol: Protocol::Tcp,
    };
    let readiness = component.readiness.as_ref().and_then(probe);
    let liveness = component.liveness.as_ref().and_then(probe);
    Container {
        name: component.name.clone(),
        image: component.image.to_string(),
        // The node asks the registry each time, so that one tenant's image on a node is no other tenant's.
        image_pull_policy: PullPolicy::Always,
        args: component.command.iter().map(Escaped::new).collect(),
        env: variables(component),
        ports: component.ports.iter().map(port).collect(),
        resources: resources(component),
        security_context: ContainerSecurity {
            allow_privilege_escalation: false,
            read_only_root_filesystem: component.read_only_root,
            capabilities: Capabilities { drop: [Capability::All] },
        },
        startup_probe: startup(readiness.as_ref(), liveness.is_some(), input.readiness_deadline_seconds),
        readiness_probe: readiness,
        liveness_probe: liveness,
        volume_mounts: volume_mounts(component),
    }
}

/// Keeps the liveness probe away until the container is ready for the first time or its deadline is over.
fn startup(readiness: Option<&PodProbe>, has_liveness: bool, deadline_seconds: u32) -> Option<PodProbe> {
    readiness.filter(|_| has_liveness).map(|readiness| PodProbe {
        failure_threshold: deadline_seconds.div_ceil(readiness.period_seconds).max(1),
        ..readiness.clone()
    })
}

fn probe(probe: &Probe) -> Option<PodProbe> {
    let (mut http_get, mut tcp_socket, mut exec) = (None, None, None);
    match &probe.check {
        Check::Http { port, path } => http_get = Some(HttpGet { path: path.clone(), port: *port }),
        Check::Tcp { port } => tcp_socket = Some(TcpSocket { port: *port }),
        Check::Exec { command } => {
            exec = Some(Exec { command: command.iter().map(Escaped::new).collect() });
        }
        Check::Heartbeat => return None,
    }
    Some(PodProbe {
        http_get,
        tcp_socket,
        exec,
        period_seconds: probe.interval_ms.div_ceil(1000),
        timeout_seconds: probe.timeout_ms.div_ceil(1000),
        failure_threshold: probe.failures,
    })
}

fn variables(component: &ComponentInput) -> Vec<Variable> {
    let gpus = shared::gpu_variables(&component.gpus).into_iter();
    let plain: BTreeMap<String, String> = shared::variables(component)
        .into_iter()
        .chain(gpus.map(|(name, value)| (name.to_owned(), value)))
        .collect();
    let plain = plain.into_iter().map(|(name, value)| Variable {
        name,
        value: Some(Escaped::new(value)),
        value_from: None,
    });
    let secret = component.secrets.iter().filter_map(|secret| match &secret.inject {
        Injection::Env { name } => Some(Variable {
            name: name.clone(),
            value: None,
            value_from: Some(ValueFrom {
                secret_key_ref: SecretKey { name: SECRETS.to_owned(), key: secret.name.clone() },
            }),
        }),
        Injection::File { .. } => None,
    });
    plain.chain(secret).collect()
}

/// As much as it may use is reserved: nothing is promised twice.
fn resources(component: &ComponentInput) -> Resources {
    let mut amounts = Words::from([
        ("cpu".to_owned(), format!("{}m", component.cpu_millis)),
        ("memory".to_owned(), format!("{}Mi", component.memory_mib)),
    ]);
    for (vendor, resource) in [(Vendor::Nvidia, "nvidia.com/gpu"), (Vendor::Amd, "amd.com/gpu")] {
        let count = real(&component.gpus, vendor).len();
        if count > 0 {
            amounts.insert(resource.to_owned(), count.to_string());
        }
    }
    Resources { requests: amounts.clone(), limits: amounts }
}

/// In the order of the mounts; names are ours, so that two never meet.
fn volumes(component: &ComponentInput) -> Vec<Volume> {
    let shared_memory = component.shared_memory_mib.map(|mib| memory("shared-memory".to_owned(), mib));
    let tmpfs = component.tmpfs.iter().enumerate();
    let tmpfs = tmpfs.map(|(index, tmpfs)| memory(format!("tmpfs-{index}"), tmpfs.size_mib));
    let mounts = component.mounts.iter().map(|mount| match mount.source {
        MountSource::Scratch => Volume {
            empty_dir: Some(EmptyDir { medium: None, size_limit: None }),
            ..empty(volume_name(mount))
        },
        MountSource::Volume { id } => Volume {
            persistent_volume_claim: Some(Claim {
                claim_name: format!("volume-{id}"),
                read_only: mount.read_only,
            }),
            ..empty(volume_name(mount))
        },
    });
    let secrets = has_secret_files(component).then(|| Volume {
        secret: Some(SecretVolume {
            secret_name: SECRETS.to_owned(),
            default_mode: SECRET_MODE,
            items: component
                .secrets
                .iter()
                .filter(|secret| matches!(secret.inject, Injection::File { .. }))
                .map(|secret| SecretItem { key: secret.name.clone(), path: secret.name.clone() })
                .collect(),
        }),
        ..empty("secrets".to_owned())
    });
    shared_memory.into_iter().chain(tmpfs).chain(mounts).chain(secrets).collect()
}

fn volume_mounts(component: &ComponentInput) -> Vec<VolumeMount> {
    let mount =
        |name: String, path: &str, read_only| VolumeMount { name, mount_path: path.to_owned(), read_only };
    let shared_memory =
        component.shared_memory_mib.map(|_| mount("shared-memory".to_owned(), "/dev/shm", false));
    let tmpfs = component.tmpfs.iter().enumerate();
    let tmpfs = tmpfs.map(|(index, tmpfs)| mount(format!("tmpfs-{index}"), &tmpfs.path, false));
    let mounts = component.mounts.iter().map(|one| mount(volume_name(one), &one.path, one.read_only));
    let secrets = has_secret_files(component).then(|| mount("secrets".to_owned(), SECRETS_PATH, true));
    shared_memory.into_iter().chain(tmpfs).chain(mounts).chain(secrets).collect()
}

fn volume_name(mount: &MountInput) -> String {
    format!("mount-{}", mount.name)
}

fn memory(name: String, mib: u32) -> Volume {
    Volume {
        empty_dir: Some(EmptyDir { medium: Some(Medium::Memory), size_limit: Some(format!("{mib}Mi")) }),
        ..empty(name)
    }
}

fn empty(name: String) -> Volume {
    Volume { name, empty_dir: None, persistent_volume_claim: None, secret: None }
}
