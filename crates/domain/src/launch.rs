//! The plan of a launch: one pure function over what is asked and what is there. `plan` and `create` run the same one,
//! so what was shown is what is done, or the difference is told.

use std::str::FromStr as _;

use gpuaas_agent_protocol::Digest;
use gpuaas_agent_protocol::image::ImageRef;
use gpuaas_agent_protocol::spec::{GpuBinding, WorkloadSpec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::allocation::{Allocation, AllocationState, BoundaryMode, Price, Shape, prices_at};
use crate::artifact::{self, Artifact, Channels, TrustMode, TrustState};
use crate::entitlement::{Channel, Layers};
use crate::event::canonical;
use crate::ids::{AllocationId, AppVersionId, ArtifactId, GpuId, NodeId};
use crate::instance::{ControlPlaneScope, Endpoint, OperatingMode, RuntimeBackend};
use crate::manifest::ladder::VersionState;
use crate::manifest::{CapacityShape, Component, Expose, Image, Manifest, Profile};
use crate::node::{GpuDevice, Node};
use crate::render::container::{self, Bindings};
use crate::{Error, FieldError, Kind, Result, Timestamp};

/// What a component gets where its profile says nothing.
const DEFAULT_CPU_MILLIS: i64 = 1000;
const DEFAULT_MEMORY_MIB: i64 = 512;

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
}

/// What is there, as of one moment.
pub struct View<'a> {
    pub version_id: AppVersionId,
    pub manifest: &'a Manifest,
    pub version_state: VersionState,
    /// It was launched before: its version may have been deprecated since, and it stays operable (E-15).
    pub existing: bool,
    pub entitlement: &'a Layers,
    pub allocation: &'a Allocation,
    pub node: &'a Node,
    /// The allocation's own devices, by index.
    pub gpus: &'a [GpuDevice],
    /// Those that instances hold.
    pub gpus_in_use: &'a [GpuId],
    pub cpu_millis_in_use: i64,
    pub memory_mib_in_use: i64,
    pub ports_in_use: &'a [i64],
    /// What the manifest's references mean.
    pub images: &'a [KnownImage],
    pub trust: TrustMode,
    pub channels: &'a Channels,
    pub boundary: BoundaryMode,
    pub prices: &'a [Price],
    pub now: Timestamp,
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
pub fn plan(view: &View<'_>, wish: &Wish) -> Result<Plan> {
    check_launchable(view)?;
    check_target(view)?;
    let profile = view.manifest.expand();
    let component = single_component(view.manifest, &profile)?;
    check_values(view.manifest, component, wish)?;
    check_compatibility(view)?;
    let gpus = bind_gpus(view, &profile, wish)?;
    let (cpu_millis, memory_mib) = share(view, &profile, wish)?;
    let image = choose_image(view, component, &gpus, wish)?;
    let (image, artifact) = check_artifact(view, image)?;
    check_port(view, component, wish)?;
    let bindings = Bindings {
        gpus: gpus
            .iter()
            .map(|gpu| GpuBinding {
                vendor: gpu.vendor,
                uuid: gpu.device_uuid.clone(),
                simulated: gpu.simulated,
            })
            .collect(),
        cpu_millis: u32::try_from(cpu_millis).unwrap_or(u32::MAX),
        memory_mib: u32::try_from(memory_mib).unwrap_or(u32::MAX),
        host_port: wish.host_port,
    };
    let rendered = container::render(&profile, component, &image, &bindings);
    rendered.check().map_err(|fault| {
        Error::new(
            Kind::Unprocessable,
            "spec_refused",
            "The profile cannot be run: the node's own rules refuse it.",
        )
        .with_param("path", fault.path.clone())
        .with_internal(fault.to_string())
    })?;
    let text = serde_json::to_string(&rendered).map_err(|error| Error::internal(error.to_string()))?;
    let exclusive = view.manifest.compatibility.requires_exclusive_node;
    Ok(Plan {
        app_slug: view.manifest.slug.to_string(),
        app_version: view.manifest.version.to_string(),
        app_version_id: view.version_id,
        artifact_digest: image.reference.digest().to_string(),
        artifact,
        allocation_id: view.allocation.id,
        node_id: view.node.id,
        node_name: view.node.name.clone(),
        simulated: view.node.is_simulated() || gpus.iter().any(|gpu| gpu.simulated),
        // The hint is heard, but only one mode is offered so far.
        operating_mode: OperatingMode::TenantDedicated,
        control_plane_scope: ControlPlaneScope::Project,
        runtime_backend: RuntimeBackend::LaunchableOci,
        tenant_boundary_mode: view.boundary.name().to_owned(),
        execution_engine: "node_agent".to_owned(),
        gpu_ids: gpus.iter().map(|gpu| gpu.id).collect(),
        gpus: gpus.iter().map(|gpu| gpu.device_uuid.clone()).collect(),
        cpu_millis,
        memory_mib,
        held_cpu_millis: if exclusive { view.allocation.vcpu * 1000 } else { cpu_millis },
        held_memory_mib: if exclusive { view.allocation.memory_mib } else { memory_mib },
        host_port: wish.host_port,
        endpoints: endpoints(component, wish.host_port),
        prices: prices_at(view.prices, view.now).into_iter().cloned().collect(),
        rendered_digest: Digest::of(text.as_bytes()).to_string(),
        rendered,
    })
}

fn check_launchable(view: &View<'_>) -> Result<()> {
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

fn check_target(view: &View<'_>) -> Result<()> {
    if view.allocation.state != AllocationState::Active {
        return Err(Error::conflict(
            "allocation_not_active",
            format!("The allocation is {}; launch on an active one.", view.allocation.state.name()),
        )
        .with_param("state", view.allocation.state.name()));
    }
    if let Some(obstacle) = view.node.obstacles().into_iter().next() {
        return Err(Error::conflict(
            "node_not_ready",
            format!("The allocation's node takes no work. {}", obstacle.message),
        )
        .with_param("reason", obstacle.code));
    }
    Ok(())
}

fn single_component<'p>(manifest: &Manifest, profile: &'p Profile) -> Result<&'p Component> {
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

fn check_values(manifest: &Manifest, component: &Component, wish: &Wish) -> Result<()> {
    let unknown: Vec<FieldError> = wish
        .values
        .keys()
        .filter(|name| !manifest.parameters.contains_key(name.as_str()))
        .map(|name| {
            FieldError::new(
                format!("/values/{}", name.replace('~', "~0").replace('/', "~1")),
                "unknown_value",
                "The profile has no such parameter.",
            )
        })
        .collect();
    if !unknown.is_empty() {
        return Err(Error::fields(unknown));
    }
    let written = component.command.iter().chain(component.env.iter().map(|variable| &variable.value));
    if !wish.values.is_empty() || written.into_iter().any(|text| text.contains("${")) {
        return Err(Error::new(
            Kind::Unprocessable,
            "expression_not_supported",
            "This profile takes values into its command or environment, which this platform cannot do yet.",
        ));
    }
    Ok(())
}

/// Every key that does not fit is named (I-03).
fn check_compatibility(view: &View<'_>) -> Result<()> {
    let wanted = &view.manifest.compatibility;
    let mut faults = Vec::new();
    let mut note = |key: &'static str, message: String| {
        faults.push(FieldError::new("/target_allocation_id", key, message));
    };
    let shape = match view.allocation.shape {
        Shape::Baremetal => CapacityShape::Baremetal,
        Shape::GpuSlice => CapacityShape::GpuSlice,
    };
    if !wanted.requires_capacity_shape.contains(&shape) {
        note(
            "requires_capacity_shape",
            format!("The app does not run on a {} allocation.", view.allocation.shape.name()),
        );
    }
    if i64::from(wanted.min_gpu_count) > view.allocation.gpu_count {
        note(
            "min_gpu_count",
            format!(
                "The app needs {} GPUs, the allocation has {}.",
                wanted.min_gpu_count, view.allocation.gpu_count
            ),
        );
    }
    if wanted.requires_exclusive_node && view.allocation.shape != Shape::Baremetal {
        note(
            "requires_exclusive_node",
            "The app needs a whole node; the allocation is a part of one.".into(),
        );
    }
    let needs_gpu = wanted.min_gpu_count > 0;
    let fits = |gpu: &GpuDevice| wanted.supported_accelerators.contains(&gpu.vendor);
    if needs_gpu && !wanted.supported_accelerators.is_empty() && !view.gpus.iter().all(fits) {
        note(
            "supported_accelerators",
            "The allocation's GPUs are of a vendor the app does not support.".into(),
        );
    }
    if let Some(least) = wanted.min_gpu_memory_mib
        && needs_gpu
        && view.gpus.iter().any(|gpu| gpu.memory_mib < i64::from(least.0))
    {
        note("min_gpu_memory_mib", format!("The app needs {} MiB on each GPU.", least.0));
    }
    if faults.is_empty() {
        return check_capabilities(view);
    }
    let failing: Vec<&str> = faults.iter().map(|fault| fault.code).collect();
    Err(Error::fields(faults.clone())
        .reworded("incompatible_allocation", "The app cannot run on this allocation.")
        .with_param("failing", failing))
}

/// O-10: the missing item is named.
fn check_capabilities(view: &View<'_>) -> Result<()> {
    let has = view.node.capabilities();
    let real_nvidia = view.manifest.compatibility.min_gpu_count > 0
        && view
            .gpus
            .iter()
            .any(|gpu| !gpu.simulated && gpu.vendor == gpuaas_agent_protocol::inventory::Vendor::Nvidia);
    let wanted = std::iter::once("container")
        .chain(real_nvidia.then_some("nvidia_runtime"))
        .chain(view.manifest.compatibility.required_capabilities.iter().map(String::as_str));
    match wanted.into_iter().find(|name| !has.contains(name)) {
        None => Ok(()),
        Some(missing) => Err(Error::conflict(
            "capability_missing",
            format!("The node cannot do what the app needs: {missing} is missing."),
        )
        .with_param("missing", missing)),
    }
}

fn bind_gpus<'v>(view: &View<'v>, profile: &Profile, wish: &Wish) -> Result<Vec<&'v GpuDevice>> {
    let default = profile.gpu_count.default.unwrap_or(0);
    let wanted = wish.gpu_count.unwrap_or(default);
    let least = profile.gpu_count.min.unwrap_or(0);
    let most = profile.gpu_count.max.map_or(i64::MAX, i64::from);
    if wanted < least || i64::from(wanted) > most {
        return Err(Error::field(
            "/resources/gpu_count",
            "out_of_range",
            match profile.gpu_count.max {
                Some(most) => format!("The app takes {least} to {most} GPUs."),
                None => format!("The app takes {least} GPUs or more."),
            },
        ));
    }
    let free: Vec<&GpuDevice> = view
        .gpus
        .iter()
        .filter(|gpu| gpu.present && !gpu.quarantined && !view.gpus_in_use.contains(&gpu.id))
        .collect();
    if free.len() < wanted as usize {
        return Err(Error::conflict(
            "gpu_already_bound",
            format!(
                "{} GPUs of the allocation are free, {wanted} needed; stop something or ask for fewer.",
                free.len()
            ),
        )
        .with_param("free", free.len())
        .with_param("needed", wanted));
    }
    Ok(free.into_iter().take(wanted as usize).collect())
}

/// Processor and memory of the one component.
fn share(view: &View<'_>, profile: &Profile, wish: &Wish) -> Result<(i64, i64)> {
    let least_cpu = i64::from(profile.vcpu.min.map_or(0, crate::manifest::Vcpu::millis));
    let least_memory = i64::from(profile.memory_mib.min.map_or(0, |mib| mib.0));
    let total_cpu = view.allocation.vcpu * 1000;
    let total_memory = view.allocation.memory_mib;
    let default_cpu = i64::from(profile.vcpu.default.map_or(0, crate::manifest::Vcpu::millis));
    let default_memory = i64::from(profile.memory_mib.default.map_or(0, |mib| mib.0));
    let pick = |wish: Option<u32>, default: i64, fallback: i64, total: i64| match wish {
        Some(wish) => i64::from(wish),
        None if default > 0 => default,
        None => fallback.min(total),
    };
    let cpu = pick(wish.cpu_millis, default_cpu, DEFAULT_CPU_MILLIS, total_cpu);
    let memory = pick(wish.memory_mib, default_memory, DEFAULT_MEMORY_MIB, total_memory);
    let mut faults = Vec::new();
    if cpu < least_cpu {
        faults.push(FieldError::new(
            "/resources/cpu_millis",
            "out_of_range",
            format!("The app needs at least {least_cpu} thousandths of a processor."),
        ));
    }
    if memory < least_memory {
        faults.push(FieldError::new(
            "/resources/memory_mib",
            "out_of_range",
            format!("The app needs at least {least_memory} MiB."),
        ));
    }
    if !faults.is_empty() {
        return Err(Error::fields(faults));
    }
    let exclusive = view.manifest.compatibility.requires_exclusive_node;
    let (held_cpu, held_memory) = if exclusive { (total_cpu, total_memory) } else { (cpu, memory) };
    let free_cpu = total_cpu - view.cpu_millis_in_use;
    let free_memory = total_memory - view.memory_mib_in_use;
    if held_cpu > free_cpu || held_memory > free_memory || cpu > free_cpu || memory > free_memory {
        return Err(Error::conflict(
            "allocation_full",
            format!(
                "The launch needs {held_cpu} thousandths of a processor and {held_memory} MiB; {free_cpu} and {free_memory} of the allocation are free."
            ),
        )
        .with_param("free_cpu_millis", free_cpu)
        .with_param("free_memory_mib", free_memory));
    }
    Ok((cpu, memory))
}

/// The variant asked for; else the first image made for the bound devices, or the first of all.
fn choose_image<'c>(
    view: &View<'_>,
    component: &'c Component,
    gpus: &[&GpuDevice],
    wish: &Wish,
) -> Result<&'c Image> {
    let fits = |image: &&Image| {
        let vendor_fits = |gpu: &&GpuDevice| image.accelerators.contains(&gpu.vendor);
        let model_fits =
            |gpu: &&GpuDevice| image.gpu_models.is_empty() || image.gpu_models.contains(&gpu.model);
        if gpus.is_empty() {
            image.accelerators.is_empty()
        } else {
            gpus.iter().all(|gpu| vendor_fits(gpu) && model_fits(gpu))
        }
    };
    if let Some(variant) = &wish.variant {
        let names = || component.images.iter().filter_map(|image| image.variant.as_deref());
        return component.images.iter().find(|image| image.variant.as_ref() == Some(variant)).ok_or_else(
            || {
                let known: Vec<&str> = names().collect();
                let sentence = match known.as_slice() {
                    [] => "The app has one image only; leave the variant out.".to_owned(),
                    known => format!("The app has the variants {}.", known.join(", ")),
                };
                Error::field("/variant", "unknown_variant", sentence)
            },
        );
    }
    let usable =
        |image: &&Image| known(view, image).is_some_and(|found| check_artifact_of(view, found).is_ok());
    let images = || component.images.iter();
    images()
        .find(|image| fits(image) && usable(image))
        .or_else(|| images().find(fits))
        .or(component.images.first())
        .ok_or_else(|| {
            Error::new(Kind::Unprocessable, "no_image", "The profile names no image that could run here.")
        })
}

fn known<'v>(view: &View<'v>, image: &Image) -> Option<&'v KnownImage> {
    let reference = image.reference.to_string();
    view.images.iter().find(|known| known.reference == reference)
}

/// What the artifact's own lifecycle and trust say about a launch (F-25, F-29, T-19).
fn check_artifact_of<'v>(view: &View<'_>, found: &'v KnownImage) -> Result<&'v Artifact> {
    let Some(artifact) = &found.artifact else {
        return Err(Error::conflict(
            "artifact_not_registered",
            format!("Nothing is registered as {}, or not for this project.", found.canonical),
        )
        .with_param("reference", found.canonical.to_string()));
    };
    artifact::check_trust(artifact, view.trust, view.now)?;
    if !view.existing {
        artifact::check_rung(artifact, view.version_state, view.channels, view.trust, view.now)?;
    }
    Ok(artifact)
}

/// The image by its canonical name, if it may be started now.
fn check_artifact(view: &View<'_>, image: &Image) -> Result<(Image, PlannedArtifact)> {
    let found = known(view, image)
        .ok_or_else(|| Error::internal(format!("{} was not looked up", image.reference)))?;
    let artifact = check_artifact_of(view, found)?;
    let planned = PlannedArtifact {
        artifact_id: artifact.id,
        reference: found.canonical.to_string(),
        variant: image.variant.clone().or_else(|| artifact.variant.clone()),
        trust: artifact.trust.state,
        signer: artifact.trust.signer.clone(),
        channel: artifact.channel.clone(),
    };
    Ok((Image { reference: found.canonical.clone(), ..image.clone() }, planned))
}

fn check_port(view: &View<'_>, component: &Component, wish: &Wish) -> Result<()> {
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
    if view.ports_in_use.contains(&i64::from(port)) {
        return Err(Error::conflict(
            "port_taken",
            format!("Host port {port} of the node is in use; choose another."),
        )
        .with_param("port", port));
    }
    Ok(())
}

fn endpoints(component: &Component, host_port: Option<u16>) -> Vec<Endpoint> {
    let mut host_port = host_port;
    component
        .ports
        .iter()
        .map(|port| Endpoint {
            component: component.name.clone(),
            name: port.name(),
            port: i64::from(port.container),
            expose: match port.expose {
                Expose::EmbeddedUiGateway => "embedded_ui_gateway",
                Expose::Private => "private",
                Expose::Internal => "internal",
            }
            .to_owned(),
            host_port: if port.expose == Expose::Private { host_port.take().map(i64::from) } else { None },
        })
        .collect()
}
