//! The node agent's own form: a [`WorkloadSpec`].

use std::collections::BTreeMap;

use gpuaas_agent_protocol::spec::{
    ComponentSpec, EnvVar, GpuBinding, ImageGrant, Port, RestartBudget, Scratch, VolumeMount, WorkloadSpec,
};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::manifest::{Component, Expose, Image, Mount, Profile};

/// Raised when the same input would give another output.
pub const RENDERER_VERSION: i64 = 1;

/// What a launch adds to its profile.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bindings {
    pub gpus: Vec<GpuBinding>,
    pub cpu_millis: u32,
    pub memory_mib: u32,
    /// On the node's 127.0.0.1, for the first private port.
    pub host_port: Option<u16>,
    /// The volumes at the profile's mounts, by their names, and whether they are for reading only. The others are scratch.
    pub volumes: BTreeMap<String, (Uuid, bool)>,
}

/// One component on one node. A profile with more is for another engine.
pub fn render(profile: &Profile, component: &Component, image: &Image, bindings: &Bindings) -> WorkloadSpec {
    let RestartBudget { max_restarts, window_seconds } = profile.restart;
    WorkloadSpec {
        components: vec![render_component(profile, component, image, bindings)],
        readiness_deadline_seconds: profile.readiness_deadline_seconds,
        stop_grace_seconds: profile.stop_grace_seconds,
        restart: RestartBudget { max_restarts, window_seconds },
    }
}

fn render_component(
    profile: &Profile,
    component: &Component,
    image: &Image,
    bindings: &Bindings,
) -> ComponentSpec {
    let mut host_port = bindings.host_port;
    let ports = component
        .ports
        .iter()
        .map(|port| Port {
            name: port.name(),
            container: port.container,
            host: if port.expose == Expose::Private { host_port.take() } else { None },
        })
        .collect();
    let sees = |mount: &&Mount| mount.components.is_empty() || mount.components.contains(&component.name);
    let (volumes, mounts): (Vec<&Mount>, Vec<&Mount>) =
        profile.mounts.iter().filter(sees).partition(|mount| bindings.volumes.contains_key(&mount.name));
    // What no volume stands at is scratch: it dies with the instance.
    let mounts =
        mounts.into_iter().map(|mount| Scratch { name: mount.name.clone(), path: mount.path.clone() });
    let volumes = volumes.into_iter().map(|mount| {
        let (id, read_only) = bindings.volumes[&mount.name];
        VolumeMount { id, path: mount.path.clone(), read_only }
    });
    ComponentSpec {
        name: component.name.clone(),
        image: ImageGrant { reference: image.reference.clone() },
        command: component.command.clone(),
        env: component
            .env
            .iter()
            .map(|variable| EnvVar { name: variable.name.clone(), value: variable.value.clone() })
            .collect(),
        user: component.user,
        cpu_millis: bindings.cpu_millis,
        memory_mib: bindings.memory_mib,
        pids: component.pids,
        read_only_root: component.read_only_root,
        tmpfs: component.tmpfs.clone(),
        scratch: component.scratch.iter().cloned().chain(mounts).collect(),
        volumes: volumes.collect(),
        gpus: bindings.gpus.clone(),
        ports,
        readiness: component.readiness.clone(),
        liveness: component.liveness.clone(),
        egress: component.egress,
    }
}
