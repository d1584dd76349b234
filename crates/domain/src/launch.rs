//! The plan of a launch: one pure function over what is asked and what is there. `plan` and `create` run the same one,
//! so what was shown is what is done, or the difference is told.

pub(crate) mod composition;
mod evaluated;
pub(crate) mod images;
pub(crate) mod lanes;
pub(crate) mod mounts;
pub mod offline;
pub mod outputs;
pub(crate) mod report;
mod steps;
pub(crate) mod target;

use std::collections::BTreeMap;
use std::str::FromStr as _;
use std::sync::Arc;

use gpuaas_agent_protocol::Digest;
use gpuaas_agent_protocol::image::ImageRef;
use gpuaas_agent_protocol::spec::WorkloadSpec;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use uuid::Uuid;

pub use lanes::LaneWish;
pub use mounts::PlannedMount;
pub use report::{
    CheckName, PlanCheck, PlannedAddon, PlannedComponent, PlannedEngine, PlannedGap, Quote, QuoteLine,
};
pub use target::Needs;

use composition::{Composition, Part, compose};
use report::{Checks, failed};
use steps::Making;

use crate::access::{self, AccessMode, PublicAccess};
use crate::allocation::{Allocation, BoundaryMode, Price, prices_at};
use crate::artifact::{Artifact, Channels, TrustMode, TrustState};
use crate::entitlement::{Channel, Layers};
use crate::event::canonical;
use crate::ids::{AllocationId, AppVersionId, ArtifactId, GpuId, NodeId};
use crate::instance::{ControlPlaneScope, Endpoint, OperatingMode, RuntimeBackend};
use crate::launch_form::resolution::{Memo, Prepared};
use crate::launch_form::values;
use crate::limit::Limit;
use crate::manifest::ladder::VersionState;
use crate::manifest::{ComponentClass, Expose, Manifest, Port};
use crate::node::{GpuDevice, Node};
use crate::preset::Defaults;
use crate::render::RenderInput;
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
    /// Add-ons that are to run; those that they need come with them.
    pub addons: Vec<String>,
    /// What is asked for lanes, by their names.
    pub lanes: BTreeMap<String, LaneWish>,
}

/// The amounts that are asked for; what is left out is as the profile has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ResourceWish {
    #[schemars(range(max = 64))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpu_count: Option<u32>,
    /// Thousandths of a processor.
    #[schemars(range(min = 1, max = 4_096_000))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_millis: Option<u32>,
    #[schemars(range(min = 6, max = 67_108_864))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_mib: Option<u32>,
}

impl ResourceWish {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The version that is to run and the rules it runs under, as of one moment.
pub struct View<'a> {
    pub version_id: AppVersionId,
    pub manifest: &'a Manifest,
    /// Of the same manifest.
    pub prepared: Arc<Prepared>,
    /// What the values came to so far.
    pub resolved: Memo,
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
    /// Limits that one more launch counts against (M-09).
    pub quotas: &'a [QuotaUse],
    /// What stands where nobody chose.
    pub defaults: &'a Defaults,
    pub now: Timestamp,
}

/// A limit, and how much of it is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuotaUse {
    pub limit: Limit,
    pub most: i64,
    pub used: i64,
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
    /// What runs, in the manifest's order.
    #[serde(default)]
    pub components: Vec<PlannedComponent>,
    /// Add-ons that are on.
    #[serde(default)]
    pub addons: Vec<PlannedAddon>,
    pub quote: Quote,
    /// The checks that were made, in their order.
    #[serde(default)]
    pub checks: Vec<PlanCheck>,
    /// How each engine of the profile would take it.
    #[serde(default)]
    pub engines: Vec<PlannedEngine>,
    /// What a node is told; absent where another engine runs it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rendered: Option<WorkloadSpec>,
    pub rendered_digest: String,
}

/// A plan, and what is rendered from it.
#[derive(Clone, Debug)]
pub struct Planned {
    pub plan: Plan,
    pub input: RenderInput,
}

impl Plan {
    /// What a caller may send back with `create`.
    pub fn digest(&self) -> String {
        let mut value = serde_json::to_value(self).unwrap_or(Value::Null);
        // What the checks found (how much is free) may change while the plan stays what it is.
        if let Some(plan) = value.as_object_mut() {
            plan.remove("checks");
        }
        Digest::of(canonical(&value).as_bytes()).to_string()
    }

    /// Refuses where no engine of this platform runs it.
    pub fn check_engine(&self) -> Result<()> {
        match self.checks.iter().find(|check| !check.passed) {
            None => Ok(()),
            Some(check) => {
                let error = Error::new(Kind::Unprocessable, "engine_not_available", check.message.clone());
                Err(failed(check.name, error))
            }
        }
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

/// Checks, composition, placement, artifacts, rendering, price. Every refusal is a code, a path and a sentence, and names
/// the check that made it.
pub fn plan(view: &View<'_>, target: Target<'_>, wish: &Wish) -> Result<Planned> {
    let mut checks = Checks::default();
    let manifest = view.manifest;
    checks.require(CheckName::Entitlement, check_launchable(view), |()| steps::entitled(view))?;
    checks.require(CheckName::Quota, check_quotas(view), |()| steps::within_quotas(view))?;
    let profile = manifest.expand();
    let composition = compose(view, &profile, wish, Some(target));
    let mut faults = composition.faults.clone();
    faults.extend(mounts::faults(view, &profile, wish));
    let accepted = if faults.is_empty() { Ok(()) } else { Err(values::refusal(faults)) };
    let accepted = accepted.and_then(|()| match composition.running().next() {
        Some(_) => Ok(()),
        None => Err(steps::nothing_runs()),
    });
    checks.require(CheckName::Values, accepted, |()| steps::valued(&composition))?;
    let made = Making { view, target, wish, profile: &profile, composition: &composition };
    let bound = made.place(&mut checks)?;
    let node = target.node.ok_or_else(|| Error::internal("an active allocation without its node"))?;
    let mounts = mounts::plan(view, &profile, wish, node.id);
    let addons = report::addons(manifest, &composition);
    let mounts = checks.require(CheckName::Storage, mounts, |mounts| steps::stored(mounts, &addons))?;
    let images = checks.require(CheckName::Artifacts, made.pin(&bound), steps::trusted)?;
    let endpoints = check_port(target, &composition, wish)
        .and_then(|()| endpoints(&composition, wish, view.public_ceiling));
    let endpoints = checks.require(CheckName::Exposure, endpoints, |endpoints| steps::exposed(endpoints))?;
    let input = made.input(node, &bound, &images, &volumes(&mounts))?;
    steps::note_security(&mut checks, &input);
    let engine = steps::choose_engine(&profile, &input, &mut checks)?;
    let (rendered, rendered_digest) = steps::rendered(engine, &input)?;
    let (held_cpu_millis, held_memory_mib) = target::held(manifest, target, composition.total);
    let main =
        images.iter().zip(&composition.parts).filter_map(|(image, part)| Some((image.as_ref()?, part)));
    let main = main.min_by_key(|(_, part)| part.component.class != ComponentClass::Primary);
    let (main, _) = main.ok_or_else(steps::nothing_runs)?;
    let gpus: Vec<&GpuDevice> = bound.iter().flatten().copied().collect();
    let (operating_mode, control_plane_scope) = steps::operation(manifest)?;
    let plan = Plan {
        app_slug: manifest.slug.to_string(),
        app_version: manifest.version.to_string(),
        app_version_id: view.version_id,
        artifact_digest: main.0.reference.digest().to_string(),
        artifact: main.1.clone(),
        values: composition.resolved.values.clone(),
        allocation_id: target.allocation.id,
        node_id: node.id,
        node_name: node.name.clone(),
        simulated: node.is_simulated() || gpus.iter().any(|gpu| gpu.simulated),
        operating_mode,
        control_plane_scope,
        runtime_backend: engine.backend(),
        tenant_boundary_mode: view.boundary.name().to_owned(),
        execution_engine: engine.name().to_owned(),
        gpu_ids: gpus.iter().map(|gpu| gpu.id).collect(),
        gpus: gpus.iter().map(|gpu| gpu.device_uuid.clone()).collect(),
        cpu_millis: composition.total.cpu_millis,
        memory_mib: composition.total.memory_mib,
        held_cpu_millis,
        held_memory_mib,
        host_port: wish.host_port,
        endpoints,
        mounts,
        prices: prices_at(target.prices, view.now).into_iter().cloned().collect(),
        components: made.components(&input, &images, &bound),
        addons,
        quote: report::quote(&composition, target, view.now),
        checks: checks.done(),
        engines: report::engines(&profile.engines, &input),
        rendered,
        rendered_digest,
    };
    Ok(Planned { plan, input })
}

pub(crate) fn check_quotas(view: &View<'_>) -> Result<()> {
    view.quotas.iter().try_for_each(|quota| quota.limit.check(quota.most, quota.used))
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

/// Another project's allocation is none.
pub fn unknown_allocation() -> FieldError {
    FieldError::new(target::PATH, "unknown_allocation", "The project has no such allocation.")
}

pub(crate) fn check_port(target: Target<'_>, composition: &Composition<'_>, wish: &Wish) -> Result<()> {
    let Some(port) = wish.host_port else { return Ok(()) };
    if composition.running().all(|part| !has_private_port(part)) {
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

fn has_private_port(part: &Part<'_>) -> bool {
    part.component.ports.iter().any(|port| port.expose == Expose::Private)
}

pub(crate) fn endpoints(
    composition: &Composition<'_>,
    wish: &Wish,
    ceiling: PublicAccess,
) -> Result<Vec<Endpoint>> {
    let named = |name: &String| {
        composition.running().flat_map(|part| &part.component.ports).any(|port| port.name() == *name)
    };
    if let Some(unknown) = wish.access.keys().find(|name| !named(name)) {
        return Err(Error::field(
            member_at("/access", unknown),
            "unknown_endpoint",
            "The app has no endpoint of this name.",
        ));
    }
    let mut host_port = wish.host_port;
    let mut endpoint = |component: &str, port: &Port| {
        let mode =
            access::choose(&port.name(), port.expose, wish.access.get(&port.name()).copied(), ceiling)?;
        Ok(Endpoint {
            component: component.to_owned(),
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
    let ports = composition
        .running()
        .flat_map(|part| part.component.ports.iter().map(|port| (part.component.name.as_str(), port)));
    ports.map(|(component, port)| endpoint(component, port)).collect()
}
