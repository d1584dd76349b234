//! The steps of a plan that are more than one line each, and what each check says it has found.

use std::collections::BTreeMap;

use gpuaas_agent_protocol::spec::{Egress, GpuBinding, RunAs, WorkloadSpec};
use serde_json::{Value, json};
use uuid::Uuid;

use super::composition::{Composition, Part};
use super::report::{CheckName, Checks, PlannedAddon, PlannedComponent, failed, is_available};
use super::{
    PlannedArtifact, PlannedMount, Target, View, Wish, evaluated, has_private_port, images, lanes, report,
    target,
};
use crate::instance::{ControlPlaneScope, Endpoint, OperatingMode};
use crate::launch_form::values;
use crate::manifest::{ExecutionEngine, Image, Injection, Manifest, Profile, SecretNeed};
use crate::node::{GpuDevice, Node};
use crate::render::container::Bindings;
use crate::render::input::{ComponentInput, Identity, RenderInput, SecretInput};
use crate::render::{container, render, vllm_openai};
use crate::text::cpus;
use crate::{Error, Kind, Result};

/// The image of each part and what stands for it; an idle part has none.
pub(super) type Pinned = Vec<Option<(Image, PlannedArtifact)>>;

/// What every step looks at.
pub(super) struct Making<'a, 'p> {
    pub(super) view: &'a View<'a>,
    pub(super) target: Target<'a>,
    pub(super) wish: &'a Wish,
    pub(super) profile: &'p Profile,
    pub(super) composition: &'a Composition<'p>,
}

impl<'a> Making<'a, '_> {
    /// The devices of each part. A refusal is named by its first reason and lists all.
    pub(super) fn place(&self, checks: &mut Checks) -> Result<Vec<Vec<&'a GpuDevice>>> {
        let (view, target) = (self.view, self.target);
        let bound = lanes::bind(self.composition, target, self.wish, self.profile.gpu_placement);
        let obstacles =
            target::obstacles(view, target, self.composition, self.wish, self.profile.gpu_placement);
        if let Some(first) = obstacles.first() {
            let check = target::check_of(first.code());
            return target::refuse(obstacles).map_err(|error| failed(check, error)).map(|()| Vec::new());
        }
        let bound = bound.map_err(|_| Error::internal("devices were refused without a reason"))?;
        let allocation = target.allocation;
        checks.note(
            CheckName::Allocation,
            true,
            format!("Allocation {} is active and its node takes work.", allocation.name),
            json!({ "allocation": allocation.name, "node": target.node.map(|node| &node.name) }),
        );
        let wanted = &view.manifest.compatibility;
        checks.note(
            CheckName::Compatibility,
            true,
            format!("The app runs on a {} allocation.", allocation.shape.name()),
            json!({ "shape": allocation.shape, "min_gpu_count": wanted.min_gpu_count, "gpu_count": allocation.gpu_count }),
        );
        checks.note(
            CheckName::Capabilities,
            true,
            "The node can do what the app needs.".to_owned(),
            json!({ "required": wanted.required_capabilities }),
        );
        let (message, evidence) = report::bound(self.composition, &bound, target);
        checks.note(CheckName::Gpus, true, message, evidence);
        let (free_cpu, free_memory) = target::free_share(target);
        let total = self.composition.total;
        checks.note(
            CheckName::Resources,
            true,
            format!(
                "{} vCPU and {} MiB are taken of {} vCPU and {free_memory} MiB that are free.",
                cpus(total.cpu_millis),
                total.memory_mib,
                cpus(free_cpu)
            ),
            json!({ "cpu_millis": total.cpu_millis, "memory_mib": total.memory_mib,
                    "free_cpu_millis": free_cpu, "free_memory_mib": free_memory }),
        );
        Ok(bound)
    }

    /// The image of each running part, if it may be started now.
    pub(super) fn pin(&self, bound: &[Vec<&GpuDevice>]) -> Result<Pinned> {
        images::check_variant(self.profile, self.wish)?;
        let pin = |(part, gpus): (&Part<'_>, &Vec<&GpuDevice>)| {
            if !part.runs() {
                return Ok(None);
            }
            let image = images::choose(self.view, part.component, gpus, self.wish)?;
            images::pin(self.view, image).map(Some)
        };
        self.composition.parts.iter().zip(bound).map(pin).collect()
    }

    /// Everything evaluated, bound and pinned: what engines are told.
    pub(super) fn input(
        &self,
        node: &Node,
        bound: &[Vec<&GpuDevice>],
        images: &Pinned,
        volumes: &BTreeMap<String, (Uuid, bool)>,
    ) -> Result<RenderInput> {
        let manifest = self.view.manifest;
        let known = evaluated::placed(manifest, self.composition, bound, node);
        let mut host_port = self.wish.host_port;
        let mut components = Vec::new();
        for ((part, gpus), image) in self.composition.parts.iter().zip(bound).zip(images) {
            let Some((image, _)) = image else { continue };
            let (component, mut secrets) = evaluated::component(part.component, &known)?;
            secrets.extend(needed_secrets(manifest, &component.name));
            let bindings = Bindings {
                gpus: gpus.iter().map(|gpu| binding(gpu)).collect(),
                cpu_millis: u32::try_from(part.cpu_millis).unwrap_or(u32::MAX),
                memory_mib: u32::try_from(part.memory_mib).unwrap_or(u32::MAX),
                host_port: if has_private_port(part) { host_port.take() } else { None },
                volumes: volumes.clone(),
                replicas: part.replicas,
                secrets,
            };
            components.push(ComponentInput::bound(self.profile, &component, image, &bindings));
        }
        // Nobody waits for what does not run.
        let names: Vec<String> = components.iter().map(|one| one.name.clone()).collect();
        for component in &mut components {
            component.depends_on.retain(|name| names.contains(name));
        }
        if self.profile.renderer.as_deref() == Some(vllm_openai::NAME) {
            self.fill(&mut components)?;
        }
        let identity = Identity::planned(&manifest.slug, &manifest.version);
        let helm = evaluated::release(manifest, &known)?;
        Ok(RenderInput { helm, ..RenderInput::of(identity, self.profile, components) })
    }

    /// The command of a renderer that the platform owns (C-11).
    fn fill(&self, components: &mut [ComponentInput]) -> Result<()> {
        let parameters = vllm_openai::read(&self.composition.resolved.values).map_err(values::refusal)?;
        let served = components.iter_mut().find(|component| component.name == vllm_openai::COMPONENT);
        let served = served.ok_or_else(nothing_runs)?;
        vllm_openai::fill(served, &parameters).map_err(values::refusal)
    }

    pub(super) fn components(
        &self,
        input: &RenderInput,
        images: &Pinned,
        bound: &[Vec<&GpuDevice>],
    ) -> Vec<PlannedComponent> {
        let parts = self.composition.parts.iter().zip(images).zip(bound);
        parts
            .filter_map(|((part, image), gpus)| {
                let (_, artifact) = image.as_ref()?;
                let rendered = input.components.iter().find(|one| one.name == part.component.name)?;
                Some(PlannedComponent::of(part, artifact.clone(), gpus, rendered.depends_on.clone()))
            })
            .collect()
    }
}

fn binding(gpu: &GpuDevice) -> GpuBinding {
    GpuBinding { vendor: gpu.vendor, uuid: gpu.device_uuid.clone(), simulated: gpu.simulated }
}

/// Those that the app cannot run without; what it could do with is named by a parameter.
fn needed_secrets(manifest: &Manifest, component: &str) -> Vec<SecretInput> {
    let is_for = |need: &&SecretNeed| {
        need.required && (need.components.is_empty() || need.components.iter().any(|name| name == component))
    };
    let needed = manifest.secrets.iter().filter(is_for);
    needed.map(|need| SecretInput { name: need.name.clone(), inject: need.inject.clone() }).collect()
}

pub(super) fn nothing_runs() -> Error {
    Error::new(Kind::Unprocessable, "nothing_runs", "No component of the app runs with what was chosen.")
}

/// The way it is operated (H-08, H-10). A request may hint at one; so far one is offered, and an app that is made for
/// another is refused rather than run otherwise than it expects.
pub(super) fn operation(manifest: &Manifest) -> Result<(OperatingMode, ControlPlaneScope)> {
    let offered = (OperatingMode::TenantDedicated, ControlPlaneScope::Project);
    match &manifest.operation {
        Some(declared) if !declared.modes.contains(&offered.0) || declared.scope != offered.1 => {
            Err(Error::new(
                Kind::Unprocessable,
                "operation_not_supported",
                "The app is made to be shared by a tenant or run by the platform; no policy of this platform allows that yet.",
            )
            .with_param("scope", declared.scope.name()))
        }
        _ => Ok(offered),
    }
}

/// The first engine of the profile that this platform has; without one, the first that can say it all.
pub(super) fn choose_engine(
    profile: &Profile,
    input: &RenderInput,
    checks: &mut Checks,
) -> Result<ExecutionEngine> {
    let listed: Vec<&str> = profile.engines.iter().map(|engine| engine.name()).collect();
    let evidence = json!({ "listed": listed, "components": input.components.len() });
    if let Some(engine) = profile.engines.iter().find(|engine| is_available(**engine, input)) {
        let message = format!("It runs on {}.", engine.name());
        checks.note(CheckName::Engine, true, message, evidence);
        return Ok(*engine);
    }
    let Some(first) = profile.engines.first() else {
        let message = "No engine of this platform runs this kind of profile yet.";
        let error = Error::new(Kind::Unprocessable, "engine_not_available", message);
        return Err(failed(CheckName::Engine, error));
    };
    let message = match input.components.len() {
        1 => format!("No engine of this platform runs {} yet.", listed.join(" or ")),
        count => format!("The launch has {count} components; no engine of this platform runs several yet."),
    };
    checks.note(CheckName::Engine, false, message, evidence);
    let preview = RenderInput { identity: input.identity.clone().as_preview(), ..input.clone() };
    Ok(*profile.engines.iter().find(|engine| render(**engine, &preview).is_ok()).unwrap_or(first))
}

/// What the engine is given, and its digest.
pub(super) fn rendered(
    engine: ExecutionEngine,
    input: &RenderInput,
) -> Result<(Option<WorkloadSpec>, String)> {
    if engine == ExecutionEngine::NodeAgent {
        if let Some(secret) = input.components.iter().find_map(|component| component.secrets.first()) {
            return Err(secret_not_supported(secret));
        }
        let spec = container::spec(input)?;
        return Ok((Some(spec), render(engine, input)?.digest));
    }
    let preview = RenderInput { identity: input.identity.clone().as_preview(), ..input.clone() };
    Ok((None, render(engine, &preview)?.digest))
}

fn secret_not_supported(secret: &SecretInput) -> Error {
    let variable = match &secret.inject {
        Injection::Env { name } | Injection::File { env: name } => name.clone(),
    };
    let error = Error::new(
        Kind::Unprocessable,
        "secret_not_supported",
        "The app wants a secret of the project, which this engine cannot give yet; leave it empty.",
    );
    failed(
        CheckName::Secrets,
        error.with_param("variable", variable).with_param("secret", secret.name.clone()),
    )
}

// What the checks say.

type Told = (String, Value);

pub(super) fn entitled(view: &View<'_>) -> Told {
    let manifest = view.manifest;
    let state = view.version_state.name();
    let message = format!("The project may launch {} {}, which is {state}.", manifest.slug, manifest.version);
    (message, json!({ "app": manifest.slug.as_str(), "version": manifest.version.as_str(), "state": state }))
}

pub(super) fn within_quotas(view: &View<'_>) -> Told {
    let used: serde_json::Map<String, Value> = view
        .quotas
        .iter()
        .map(|quota| (quota.limit.name().to_owned(), json!({ "used": quota.used, "most": quota.most })))
        .collect();
    ("The project's limits leave room for it.".to_owned(), Value::Object(used))
}

pub(super) fn valued(composition: &Composition<'_>) -> Told {
    let addons: Vec<&str> = composition.addons.iter().map(|addon| addon.name).collect();
    let running = composition.running().count();
    let message = match (running, addons.as_slice()) {
        (1, []) => "Every value is one that the profile allows.".to_owned(),
        (count, []) => format!("Every value is one that the profile allows; {count} components run."),
        (count, addons) => {
            format!(
                "Every value is one that the profile allows; {count} components run, with {}.",
                addons.join(", ")
            )
        }
    };
    (message, json!({ "values": composition.resolved.values.len(), "components": running, "addons": addons }))
}

/// The places of the profile, and what add-ons take of the node's disk beside them.
pub(super) fn stored(mounts: &[PlannedMount], addons: &[PlannedAddon]) -> Told {
    let each = mounts.iter().map(|mount| match &mount.volume_name {
        Some(volume) => format!("{} is volume {volume}", mount.path),
        None => format!("{} is scratch and ends with the instance", mount.path),
    });
    let kept = addons.iter().filter_map(|addon| Some((addon, addon.storage_mib?)));
    let kept = kept.map(|(addon, mib)| format!("{} takes {mib} MiB of scratch", addon.name));
    let told: Vec<String> = each.chain(kept).collect();
    let message =
        if told.is_empty() { "It keeps nothing.".to_owned() } else { format!("{}.", told.join("; ")) };
    let places: serde_json::Map<String, Value> =
        mounts.iter().map(|mount| (mount.name.clone(), json!(mount.volume_name))).collect();
    (message, Value::Object(places))
}

pub(super) fn trusted(images: &Pinned) -> Told {
    let images: Vec<&PlannedArtifact> = images.iter().flatten().map(|(_, artifact)| artifact).collect();
    let message = match images.as_slice() {
        [only] => format!("The image is {}.", only.trust.name()),
        several => format!("All {} images may be started.", several.len()),
    };
    let each: Vec<Value> = images
        .iter()
        .map(|one| json!({ "reference": one.reference, "trust": one.trust, "channel": one.channel }))
        .collect();
    (message, json!({ "images": each }))
}

pub(super) fn exposed(endpoints: &[Endpoint]) -> Told {
    let outside =
        endpoints.iter().filter(|one| one.expose != crate::manifest::Expose::Internal.name()).count();
    let message = match outside {
        0 => "Nothing of it can be reached from outside.".to_owned(),
        1 => "One endpoint can be reached by those with access.".to_owned(),
        count => format!("{count} endpoints can be reached by those with access."),
    };
    let each: Vec<Value> = endpoints
        .iter()
        .map(|one| json!({ "component": one.component, "endpoint": one.name, "mode": one.mode }))
        .collect();
    (message, json!({ "endpoints": each }))
}

/// Secrets by name, and what components may do: both were judged when the profile was registered.
pub(super) fn note_security(checks: &mut Checks, input: &RenderInput) {
    let mut secrets: Vec<&str> =
        input.components.iter().flat_map(|one| &one.secrets).map(|secret| secret.name.as_str()).collect();
    secrets.sort_unstable();
    secrets.dedup();
    let message = match secrets.as_slice() {
        [] => "It needs no secret.".to_owned(),
        names => format!("It gets the secrets {}, by name; no value is stored.", names.join(", ")),
    };
    checks.note(CheckName::Secrets, true, message, json!({ "secrets": secrets }));
    let of = |holds: fn(&ComponentInput) -> bool| -> Vec<&str> {
        input.components.iter().filter(|one| holds(one)).map(|one| one.name.as_str()).collect()
    };
    let internet = of(|one| one.egress == Egress::Internet);
    let root = of(|one| one.user == RunAs::Root);
    let message = match (internet.as_slice(), root.as_slice()) {
        ([], []) => "No component is root or connects to the internet.".to_owned(),
        (names, []) => format!("No component is root; {} may connect to the internet.", names.join(", ")),
        (_, names) => {
            format!("{} may be root in its container, as its profile was allowed.", names.join(", "))
        }
    };
    checks.note(CheckName::Security, true, message, json!({ "internet": internet, "root": root }));
}
