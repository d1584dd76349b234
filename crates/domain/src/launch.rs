//! The plan of a launch: one pure function over what is asked and what is there. `plan` and `create` run the same one,
//! so what was shown is what is done, or the difference is told.

mod evaluated;
pub(crate) mod images;
pub(crate) mod mounts;
pub(crate) mod target;

use std::collections::BTreeMap;
use std::str::FromStr as _;

use gpuaas_agent_protocol::Digest;
use gpuaas_agent_protocol::image::ImageRef;
use gpuaas_agent_protocol::spec::{GpuBinding, WorkloadSpec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use uuid::Uuid;

pub use mounts::PlannedMount;

pub use target::Needs;

use crate::access::{self, AccessMode, PublicAccess};
use crate::allocation::{Allocation, BoundaryMode, Price, prices_at};
use crate::artifact::{Artifact, Channels, TrustMode, TrustState};
use crate::entitlement::{Channel, Layers};
use crate::event::canonical;
use crate::ids::{AllocationId, AppVersionId, ArtifactId, GpuId, NodeId};
use crate::instance::{ControlPlaneScope, Endpoint, OperatingMode, RuntimeBackend};
use crate::launch_form::resolution::{Resolved, resolve};
use crate::launch_form::values;
use crate::manifest::ladder::VersionState;
use crate::manifest::{Component, Expose, Manifest, Port, Profile};
use crate::node::{GpuDevice, Node};
use crate::render::container::{self, Bindings};
use crate::render::input::{Identity, RenderInput};
use crate::text::member_at;
use crate::volume::{KnownVolume, MountSource};
use crate::{Error, FieldError, Kind, Result, Timestamp};

/// What the caller wants.
#[derive(Clone, Debug, Default)]
pub struct Wish {
    pub gpu_count: Option<u32>,
    pub cpu_millis: Option<u32>,
    pub memory_mib: Option<u32>,
    pub host_port: Option<u16>,
    /// Another image of the app than the one that fits best.
    pub variant: Option<String>,
    pub operating_mode: Option<OperatingMode>,
    pub values: Map<String, Value>,
    /// How endpoints are to be reached, by their names; the others as the app has it.
    pub access: BTreeMap<String, AccessMode>,
    /// What stands at the places for storage, by their names; at the others scratch.
    pub mounts: BTreeMap<String, MountSource>,
}

/// The version that is to run and the rules it runs under, as of one moment.
pub struct View<'a> {
    pub version_id: AppVersionId,
    pub manifest: &'a Manifest,
    pub version_state: VersionState,
    /// It was launched before: its version may have been deprecated since, and it stays operable (E-15).
    pub existing: bool,
    pub entitlement: &'a Layers,
    /// What the manifest's references mean.
    pub images: &'a [KnownImage],
    pub trust: TrustMode,
    pub channels: &'a Channels,
    pub boundary: BoundaryMode,
    /// The most that endpoints may be open to the world.
    pub public_ceiling: PublicAccess,
    /// Volumes of the project: at least those that are asked for.
    pub volumes: &'a [KnownVolume],
    pub now: Timestamp,
}

/// An allocation, and what is free of it.
#[derive(Clone, Copy)]
pub struct Target<'a> {
    pub allocation: &'a Allocation,
    /// Absent until the allocation is granted.
    pub node: Option<&'a Node>,
    /// The allocation's own devices, by index.
    pub gpus: &'a [GpuDevice],
    /// Those that instances hold.
    pub gpus_in_use: &'a [GpuId],
    pub cpu_millis_in_use: i64,
    pub memory_mib_in_use: i64,
    pub ports_in_use: &'a [i64],
    pub prices: &'a [Price],
}

/// An image that a manifest names, and what it was found to mean.
#[derive(Clone, Debug)]
pub struct KnownImage {
    /// As the manifest has it.
    pub reference: String,
    /// As the registry calls it today.
    pub canonical: ImageRef,
    /// Absent: nothing of this digest is registered there, or the project may not have it.
    pub artifact: Option<Artifact>,
}

/// The artifact a launch runs from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlannedArtifact {
    pub artifact_id: ArtifactId,
    pub reference: String,
    pub variant: Option<String>,
    pub trust: TrustState,
    /// The hash of the public key that stands for it.
    pub signer: Option<String>,
    pub channel: Option<String>,
}

/// What a launch will do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Plan {
    pub app_slug: String,
    pub app_version: String,
    pub app_version_id: AppVersionId,
    pub artifact_digest: String,
    pub artifact: PlannedArtifact,
    /// What was chosen, and the defaults of the rest.
    pub values: Map<String, Value>,
    pub allocation_id: AllocationId,
    pub node_id: NodeId,
    pub node_name: String,
    /// Whether the node or any bound device is made up.
    pub simulated: bool,
    pub operating_mode: OperatingMode,
    pub control_plane_scope: ControlPlaneScope,
    pub runtime_backend: RuntimeBackend,
    pub tenant_boundary_mode: String,
    pub execution_engine: String,
    pub gpu_ids: Vec<GpuId>,
    pub gpus: Vec<String>,
    pub cpu_millis: i64,
    pub memory_mib: i64,
    /// What is held of the allocation: more than the container gets where the app wants the node to itself.
    pub held_cpu_millis: i64,
    pub held_memory_mib: i64,
    pub host_port: Option<u16>,
    pub endpoints: Vec<Endpoint>,
    /// What stands at each place for storage.
    #[serde(default)]
    pub mounts: Vec<PlannedMount>,
    /// The allocation's prices; a launch adds nothing to them.
    pub prices: Vec<Price>,
    pub rendered: WorkloadSpec,
    pub rendered_digest: String,
}

impl Plan {
    /// What a caller may send back with `create`.
    pub fn digest(&self) -> String {
        let value = serde_json::to_value(self).unwrap_or(Value::Null);
        Digest::of(canonical(&value).as_bytes()).to_string()
    }

    /// Refuses if the caller has seen another plan, and says what moved.
    pub fn check_digest(&self, seen: Option<&str>) -> Result<()> {
        let digest = self.digest();
        match seen {
            Some(seen) if Digest::from_str(seen).is_err() => Err(Error::field(
                "/plan_digest",
                "invalid_digest",
                "A plan's digest is `sha256:` and 64 hexadecimal digits, as the plan gives it.",
            )),
            Some(seen) if seen != digest => Err(Error::conflict(
                "plan_changed",
                "The world has moved since the plan was made; look at the new plan and decide again.",
            )
            .with_param("plan_digest", digest)
            .with_param("plan", serde_json::to_value(self).unwrap_or(Value::Null))),
            Some(_) | None => Ok(()),
        }
    }
}

/// Checks, artifact, placement, rendering, price, in this order. Every refusal is a code and a sentence.
pub fn plan(view: &View<'_>, target: Target<'_>, wish: &Wish) -> Result<Plan> {
    check_launchable(view)?;
    let profile = view.manifest.expand();
    let component = single_component(view.manifest, &profile)?;
    let (needs, out_of_bounds) = target::needs(&profile, wish, Some(target), view.existing);
    let Resolved { values, mut faults, known, .. } = resolve(view.manifest, &wish.values, needs);
    faults.extend(out_of_bounds);
    faults.extend(mounts::faults(view, &profile, wish));
    if !faults.is_empty() {
        return Err(values::refusal(faults));
    }
    target::refuse(target::obstacles(view, target, needs))?;
    let node = target.node.ok_or_else(|| Error::internal("an active allocation without its node"))?;
    let mounts = mounts::plan(view, &profile, wish, node.id)?;
    let gpus = target::bound_gpus(target, needs);
    let (image, artifact) = images::pin(view, images::choose(view, component, &gpus, wish)?)?;
    check_port(target, component, wish)?;
    let endpoints = endpoints(component, wish, view.public_ceiling)?;
    let bindings = Bindings {
        gpus: gpus
            .iter()
            .map(|gpu| GpuBinding {
                vendor: gpu.vendor,
                uuid: gpu.device_uuid.clone(),
                simulated: gpu.simulated,
            })
            .collect(),
        cpu_millis: u32::try_from(needs.cpu_millis).unwrap_or(u32::MAX),
        memory_mib: u32::try_from(needs.memory_mib).unwrap_or(u32::MAX),
        host_port: wish.host_port,
        volumes: volumes(&mounts),
    };
    let known = evaluated::placed(view.manifest, component, known, node, &gpus);
    let component = &evaluated::component(component, &known)?;
    let identity = Identity::planned(&view.manifest.slug, &view.manifest.version);
    let input = RenderInput::of_one(identity, &profile, component, &image, &bindings);
    let rendered = container::spec(&input)?;
    let text = serde_json::to_string(&rendered).map_err(|error| Error::internal(error.to_string()))?;
    let (held_cpu_millis, held_memory_mib) = target::held(view.manifest, target, needs);
    Ok(Plan {
        app_slug: view.manifest.slug.to_string(),
        app_version: view.manifest.version.to_string(),
        app_version_id: view.version_id,
        artifact_digest: image.reference.digest().to_string(),
        artifact,
        values,
        allocation_id: target.allocation.id,
        node_id: node.id,
        node_name: node.name.clone(),
        simulated: node.is_simulated() || gpus.iter().any(|gpu| gpu.simulated),
        // The hint is heard, but only one mode is offered so far.
        operating_mode: OperatingMode::TenantDedicated,
        control_plane_scope: ControlPlaneScope::Project,
        runtime_backend: RuntimeBackend::LaunchableOci,
        tenant_boundary_mode: view.boundary.name().to_owned(),
        execution_engine: "node_agent".to_owned(),
        gpu_ids: gpus.iter().map(|gpu| gpu.id).collect(),
        gpus: gpus.iter().map(|gpu| gpu.device_uuid.clone()).collect(),
        cpu_millis: needs.cpu_millis,
        memory_mib: needs.memory_mib,
        held_cpu_millis,
        held_memory_mib,
        host_port: wish.host_port,
        endpoints,
        mounts,
        prices: prices_at(target.prices, view.now).into_iter().cloned().collect(),
        rendered_digest: Digest::of(text.as_bytes()).to_string(),
        rendered,
    })
}

fn volumes(mounts: &[PlannedMount]) -> BTreeMap<String, (Uuid, bool)> {
    let bound = mounts.iter().filter_map(|mount| Some((mount, mount.source.volume()?)));
    bound.map(|(mount, id)| (mount.name.clone(), (id.uuid(), mount.read_only))).collect()
}

pub(crate) fn check_launchable(view: &View<'_>) -> Result<()> {
    let not_entitled = || {
        Error::forbidden(
            "not_entitled",
            "The project may not launch this app or version; ask a tenant admin to enable it.",
        )
        .with_param("app_slug", view.manifest.slug.to_string())
    };
    if view.existing {
        return if view.entitlement.enabled() { Ok(()) } else { Err(not_entitled()) };
    }
    let channel = match view.version_state {
        VersionState::Active => Channel::Active,
        VersionState::Canary => Channel::Canary,
        state @ (VersionState::Draft
        | VersionState::Staged
        | VersionState::Deprecated
        | VersionState::Retired) => {
            return Err(Error::conflict(
                "version_not_launchable",
                format!(
                    "This version is {}; only active and canary versions get new instances.",
                    state.name()
                ),
            )
            .with_param("status", state.name()));
        }
    };
    if view.entitlement.admits(view.manifest.version.as_str(), channel) {
        return Ok(());
    }
    Err(not_entitled())
}

pub(crate) fn single_component<'p>(manifest: &Manifest, profile: &'p Profile) -> Result<&'p Component> {
    let unavailable = |what: String| Error::new(Kind::Unprocessable, "engine_not_available", what);
    match profile.components.as_slice() {
        [only] if manifest.backend() == RuntimeBackend::LaunchableOci => Ok(only),
        [_] => Err(unavailable("No engine of this platform runs this kind of profile yet.".into())),
        more => Err(unavailable(format!(
            "This profile has {} components; this platform runs one-container profiles so far.",
            more.len()
        ))),
    }
}

/// Another project's allocation is none.
pub fn unknown_allocation() -> FieldError {
    FieldError::new(target::PATH, "unknown_allocation", "The project has no such allocation.")
}

pub(crate) fn check_port(target: Target<'_>, component: &Component, wish: &Wish) -> Result<()> {
    let Some(port) = wish.host_port else { return Ok(()) };
    if !component.ports.iter().any(|declared| declared.expose == Expose::Private) {
        return Err(Error::field(
            "/host_port",
            "no_private_port",
            "The app declares no private port to publish.",
        ));
    }
    if port < 1024 {
        return Err(Error::field("/host_port", "out_of_range", "Use a port from 1024 to 65535."));
    }
    if target.ports_in_use.contains(&i64::from(port)) {
        return Err(Error::conflict(
            "port_taken",
            format!("Host port {port} of the node is in use; choose another."),
        )
        .with_param("port", port));
    }
    Ok(())
}

pub(crate) fn endpoints(component: &Component, wish: &Wish, ceiling: PublicAccess) -> Result<Vec<Endpoint>> {
    let named = |name: &String| component.ports.iter().any(|port| port.name() == *name);
    if let Some(unknown) = wish.access.keys().find(|name| !named(name)) {
        return Err(Error::field(
            member_at("/access", unknown),
            "unknown_endpoint",
            "The app has no endpoint of this name.",
        ));
    }
    let mut host_port = wish.host_port;
    let endpoint = |port: &Port| {
        let mode =
            access::choose(&port.name(), port.expose, wish.access.get(&port.name()).copied(), ceiling)?;
        Ok(Endpoint {
            component: component.name.clone(),
            name: port.name(),
            port: i64::from(port.container),
            expose: port.expose.name().to_owned(),
            host_port: if port.expose == Expose::Private { host_port.take().map(i64::from) } else { None },
            mode,
            public_access: PublicAccess::Off,
            label: None,
            policy: port.policy.clone().unwrap_or_default(),
        })
    };
    component.ports.iter().map(endpoint).collect()
}
