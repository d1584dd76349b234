//! What is to run, for any engine: every expression evaluated, every image pinned by digest, every device bound.
//!
//! This is what a revision stores and what each renderer is a function of. It names nothing of an engine: neither a path
//! of a host nor an option of a runtime can be written here, and unknown fields are refused. What was chosen is in; what a
//! node alone knows (its subnets, where its scratch lies) and what nobody may store (the values of secrets) is not.

use std::collections::BTreeMap;

use gpuaas_agent_protocol::image::ImageRef;
use gpuaas_agent_protocol::spec::{Egress, EnvVar, GpuBinding, Probe, RestartBudget, RunAs, Tmpfs};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::ids::{InstanceId, ProjectId};
use crate::manifest::{
    self, Component, ComponentClass, Expose, Image, Injection, Mib, Mount, Profile, Version,
};
use crate::text::Slug;

/// One revision of one instance.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RenderInput {
    pub identity: Identity,
    pub components: Vec<ComponentInput>,
    /// From the request to end until the end is forced.
    pub stop_grace_seconds: u32,
    /// From the start of the first container until every readiness probe has passed.
    pub readiness_deadline_seconds: u32,
    pub restart: RestartBudget,
    /// A chart of somebody else's that decides what runs on Helm; without it, ours runs the components. Other engines run
    /// the components either way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub helm: Option<HelmRelease>,
}

/// Whose it is. Engines name and label by it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Identity {
    pub instance_id: InstanceId,
    pub instance_name: Slug,
    pub project_id: ProjectId,
    pub project_slug: Slug,
    pub app_slug: Slug,
    pub app_version: Version,
    pub revision: i64,
}

/// One container role.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ComponentInput {
    pub name: String,
    #[serde(default)]
    pub class: ComponentClass,
    pub image: ImageRef,
    /// Replaces the image's command, not its entry point; empty keeps it.
    #[serde(default)]
    pub command: Vec<String>,
    #[serde(default)]
    pub env: Vec<EnvVar>,
    #[serde(default)]
    pub user: RunAs,
    pub cpu_millis: u32,
    pub memory_mib: u32,
    /// Of the memory above; absent: what the engine gives by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared_memory_mib: Option<u32>,
    pub pids: u32,
    #[serde(default)]
    pub read_only_root: bool,
    #[serde(default)]
    pub tmpfs: Vec<Tmpfs>,
    #[serde(default)]
    pub mounts: Vec<MountInput>,
    #[serde(default)]
    pub gpus: Vec<GpuBinding>,
    #[serde(default)]
    pub ports: Vec<PortInput>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub readiness: Option<Probe>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub liveness: Option<Probe>,
    #[serde(default)]
    pub egress: Egress,
    #[serde(default)]
    pub depends_on: Vec<String>,
    #[serde(default = "one")]
    pub replicas: u32,
    #[serde(default)]
    pub secrets: Vec<SecretInput>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lane: Option<String>,
}

fn one() -> u32 {
    1
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MountInput {
    pub name: String,
    pub path: String,
    #[serde(default)]
    pub read_only: bool,
    pub source: MountSource,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum MountSource {
    /// Dies with the instance. Components that name the same scratch share it.
    Scratch,
    /// The project's; outlives every instance.
    Volume { id: Uuid },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PortInput {
    pub name: String,
    pub container: u16,
    /// On the node's 127.0.0.1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<u16>,
    pub expose: Expose,
}

/// A secret by its name; the value is fetched by what starts the container.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SecretInput {
    pub name: String,
    pub inject: Injection,
}

/// A chart by name and exact version, and the values that its curated subset lets people set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HelmRelease {
    pub chart: String,
    pub version: Version,
    pub values: Map<String, Value>,
}

/// What a launch adds to its profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bindings {
    pub gpus: Vec<GpuBinding>,
    pub cpu_millis: u32,
    pub memory_mib: u32,
    /// On the node's 127.0.0.1, for the first private port.
    pub host_port: Option<u16>,
    /// The volumes at the profile's mounts, by their names, and whether they are for reading only. The others are scratch.
    pub volumes: BTreeMap<String, (Uuid, bool)>,
    pub replicas: u32,
    pub secrets: Vec<SecretInput>,
}

impl RenderInput {
    /// A launch of one component, which gets all that was bound.
    pub fn of_one(
        identity: Identity,
        profile: &Profile,
        component: &Component,
        image: &Image,
        bindings: &Bindings,
    ) -> Self {
        Self::of(identity, profile, vec![ComponentInput::bound(profile, component, image, bindings)])
    }

    /// A launch of these components.
    pub fn of(identity: Identity, profile: &Profile, components: Vec<ComponentInput>) -> Self {
        Self {
            identity,
            components,
            stop_grace_seconds: profile.stop_grace_seconds,
            readiness_deadline_seconds: profile.readiness_deadline_seconds,
            restart: profile.restart,
            helm: None,
        }
    }
}

/// Stands where an instance's id will be.
const PREVIEW: Uuid = Uuid::from_u128(0x0000_0000_0000_7000_8000_0000_0000_0000);

impl Identity {
    /// Before there is an instance: good for looking at a plan, refused by every engine that names things by it.
    pub fn planned(app_slug: &Slug, app_version: &Version) -> Self {
        Self {
            instance_id: InstanceId::new(Uuid::nil()),
            instance_name: app_slug.clone(),
            project_id: ProjectId::new(Uuid::nil()),
            project_slug: app_slug.clone(),
            app_slug: app_slug.clone(),
            app_version: app_version.clone(),
            revision: 0,
        }
    }

    /// With made-up ids where there are none yet, so that every engine's words can be shown before a launch.
    #[must_use]
    pub fn as_preview(self) -> Self {
        let shown = |id: Uuid| if id.is_nil() { PREVIEW } else { id };
        Self {
            instance_id: InstanceId::new(shown(self.instance_id.uuid())),
            project_id: ProjectId::new(shown(self.project_id.uuid())),
            ..self
        }
    }
}

impl ComponentInput {
    pub fn bound(profile: &Profile, component: &Component, image: &Image, bindings: &Bindings) -> Self {
        let mut host_port = bindings.host_port;
        let mut port = |port: &manifest::Port| PortInput {
            name: port.name(),
            container: port.container,
            host: if port.expose == Expose::Private { host_port.take() } else { None },
            expose: port.expose,
        };
        Self {
            name: component.name.clone(),
            class: component.class,
            image: image.reference.clone(),
            command: component.command.clone(),
            env: component
                .env
                .iter()
                .map(|variable| EnvVar { name: variable.name.clone(), value: variable.value.clone() })
                .collect(),
            user: component.user,
            cpu_millis: bindings.cpu_millis,
            memory_mib: bindings.memory_mib,
            shared_memory_mib: profile
                .shared_memory_mib
                .default
                .map(|Mib(mib)| mib.min(bindings.memory_mib))
                .filter(|mib| *mib > 0),
            pids: component.pids,
            read_only_root: component.read_only_root,
            tmpfs: component.tmpfs.clone(),
            mounts: mounts(profile, component, &bindings.volumes),
            gpus: bindings.gpus.clone(),
            ports: component.ports.iter().map(&mut port).collect(),
            readiness: component.readiness.clone(),
            liveness: component.liveness.clone(),
            egress: component.egress,
            depends_on: component.depends_on.clone(),
            replicas: bindings.replicas,
            secrets: bindings.secrets.clone(),
            lane: component.lane.clone(),
        }
    }
}

/// The component's own folders, then the places that the profile declares for it. Where no volume stands is scratch.
fn mounts(
    profile: &Profile,
    component: &Component,
    volumes: &BTreeMap<String, (Uuid, bool)>,
) -> Vec<MountInput> {
    let own = component.scratch.iter().map(|scratch| MountInput {
        name: scratch.name.clone(),
        path: scratch.path.clone(),
        read_only: false,
        source: MountSource::Scratch,
    });
    let sees = |mount: &&Mount| mount.components.is_empty() || mount.components.contains(&component.name);
    let declared = profile.mounts.iter().filter(sees).map(|mount| {
        let (source, read_only) = match volumes.get(&mount.name) {
            Some((id, read_only)) => (MountSource::Volume { id: *id }, *read_only),
            None => (MountSource::Scratch, mount.read_only),
        };
        MountInput { name: mount.name.clone(), path: mount.path.clone(), read_only, source }
    });
    own.chain(declared).collect()
}
