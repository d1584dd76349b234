//! The launch form: everything somebody can choose for one app in one project, what is chosen so far, and what is wrong
//! with it. Web, command line and any other client only draw it.
//!
//! Laws: it is made of the manifest alone, for any registered manifest (B-03); hints change how it looks and nothing else
//! (B-02); it is launchable exactly where a plan of the same choices succeeds, because it asks that plan.

pub(crate) mod command;
mod offers;
mod parts;
mod pattern;
pub mod resolution;
mod schema;
mod seen;
#[cfg(test)]
mod tests;
pub mod values;
mod view;

use std::collections::BTreeMap;

use serde_json::{Map, Value};

pub use view::{
    AddonEffect, Form, FormAccess, FormAccessMode, FormAddon, FormAllocation, FormApp, FormComponent,
    FormError, FormFree, FormLane, FormMount, FormOffer, FormReason, FormResources, FormUi, FormVariant,
    FormVersion, MountChoice, ResourceField,
};

pub use crate::volume::MountSource;
use resolution::Resolved;

use crate::access::AccessMode;
use crate::ids::AllocationId;
use crate::launch::composition::{Composition, compose};
use crate::launch::{self, LaneWish, Target, View, Wish, images, lanes, mounts, target};
use crate::manifest::ladder::VersionState;
use crate::manifest::{Component, Profile};
use crate::node::GpuDevice;
use crate::{Error, FieldError, Kind, Result};

/// What is there.
pub struct FormView<'a> {
    pub app: View<'a>,
    pub project_slug: &'a str,
    /// Those the project may launch, the newest first.
    pub versions: &'a [(String, VersionState)],
    /// The one that is launched where none is asked for.
    pub recommended: Option<&'a str>,
    pub targets: &'a [NamedTarget<'a>],
    pub skus: &'a [crate::allocation::Sku],
}

/// An allocation with the name of what it was made of.
#[derive(Clone, Copy)]
pub struct NamedTarget<'a> {
    pub sku: &'a str,
    pub target: Target<'a>,
}

/// What is asked for so far, and what could not be read of it.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    pub name: Option<String>,
    pub allocation: Option<AllocationId>,
    pub wish: Wish,
    pub faults: Vec<FieldError>,
}

/// What a launch with these choices would be asked for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Choices {
    pub slug: String,
    pub version: String,
    pub name: Option<String>,
    pub allocation: Option<AllocationId>,
    pub gpu_count: Option<u32>,
    pub cpu_millis: Option<u32>,
    pub memory_mib: Option<u32>,
    pub host_port: Option<u16>,
    pub variant: Option<String>,
    /// Those that differ from the defaults.
    pub values: Map<String, Value>,
    pub access: BTreeMap<String, AccessMode>,
    /// Those at which no scratch stands.
    pub mounts: BTreeMap<String, MountSource>,
    pub addons: Vec<String>,
    pub lanes: BTreeMap<String, LaneWish>,
}

/// The form, and the choices as a request. Refused only where the plan refuses the app itself: whoever may not launch it
/// gets no form either.
pub fn resolve(view: &FormView<'_>, wanted: &Wanted) -> Result<(Form, Choices)> {
    let app = &view.app;
    let mut errors = wanted.faults.clone();
    match launch::check_launchable(app) {
        Err(error) if error.kind() == Kind::Forbidden => return Err(error),
        Err(error) => errors.push(fault("/app_version", &error)),
        Ok(()) => {}
    }
    errors.extend(launch::check_quotas(app).err().map(|error| fault("/", &error)));
    let profile = app.manifest.expand();
    let allocations = allocations(view, &profile, &wanted.wish);
    let mut misplaced = Vec::new();
    let chosen = choose_allocation(view, &allocations, wanted, &mut misplaced);
    let composition = compose(app, &profile, &wanted.wish, chosen);
    errors.extend(composition.faults.iter().cloned());
    errors.extend(mounts::faults(app, &profile, &wanted.wish));
    errors.extend(misplaced);
    let resolved = &composition.resolved;
    if let Some(chosen) = chosen {
        let obstacles = target::obstacles(app, chosen, &composition, &wanted.wish, profile.gpu_placement);
        errors.extend(target::reasons(&obstacles));
        let held = mounts::all_obstacles(app, &profile, &wanted.wish, chosen.node.map(|node| node.id));
        errors.extend(target::reasons(&held));
    }
    let bound =
        chosen.and_then(|chosen| lanes::bind(&composition, chosen, &wanted.wish, profile.gpu_placement).ok());
    let bound = bound.unwrap_or_else(|| vec![Vec::new(); composition.parts.len()]);
    let variants = variants(app, &profile, &composition, &bound, &wanted.wish, &mut errors);
    let refused = launch::endpoints(&composition, &wanted.wish, app.public_ceiling).err();
    errors.extend(refused.map(|error| fault("/access", &error)));
    let mut plannable = false;
    if let Some(chosen) = chosen {
        errors.extend(
            launch::check_port(chosen, &composition, &wanted.wish)
                .err()
                .map(|error| fault("/host_port", &error)),
        );
        if errors.is_empty() {
            // The plan has the last word.
            let planned = launch::plan(app, chosen, &wanted.wish);
            plannable = planned.is_ok();
            let refused = planned.and_then(|planned| planned.plan.check_engine());
            errors.extend(refused.err().into_iter().flat_map(|error| faults("/", &error)));
        }
    }
    let choices = choices(view, wanted, resolved, chosen.map(|chosen| chosen.allocation.id));
    let form = Form {
        app: FormApp::of(app.manifest, app.version_state),
        versions: versions(view),
        schema: schema::schema(app.manifest, &resolved.hidden),
        ui_schema: schema::ui_schema(app.manifest, resolved),
        values: shown(app, resolved, &wanted.wish.values),
        resources: resources(&profile, &composition, chosen),
        variants,
        allocation_id: choices.allocation,
        offers: view.skus.iter().map(|sku| offers::offer(app.manifest, sku, composition.total)).collect(),
        addons: parts::addons(view, &profile, wanted, &composition, chosen),
        lanes: parts::lanes(&composition, &bound, chosen),
        components: parts::components(&composition),
        default_sources: app.defaults.sources(app.manifest),
        mounts: profile
            .mounts
            .iter()
            .map(|mount| {
                let node = chosen.and_then(|chosen| chosen.node);
                FormMount::of(app, mount, &wanted.wish, node.map(|node| node.id))
            })
            .collect(),
        access: view::access(app.manifest, &composition, &wanted.wish.access, app.public_ceiling),
        command: command::line(&choices, view, command_name(&allocations, &choices).as_deref()),
        plannable,
        launchable: errors.is_empty() && chosen.is_some(),
        errors: errors.into_iter().map(FormError::from).collect(),
        allocations: allocations.into_iter().map(|(allocation, _)| allocation).collect(),
    };
    Ok((form, choices))
}

/// The faults of one refusal, or the refusal itself at a place of the request.
fn faults(path: &str, error: &Error) -> Vec<FieldError> {
    match error.field_errors() {
        [] => vec![fault(path, error)],
        several => several.to_vec(),
    }
}

/// The faults of one refusal at a place of the request, as one.
fn fault(path: &str, error: &Error) -> FieldError {
    match error.field_errors() {
        [only] => only.clone(),
        _ => FieldError::new(path, error.code(), error.message()),
    }
}

fn versions(view: &FormView<'_>) -> Vec<FormVersion> {
    let one = |(version, state): &(String, VersionState)| FormVersion {
        version: version.clone(),
        state: *state,
        recommended: view.recommended == Some(version.as_str()),
    };
    view.versions.iter().map(one).collect()
}

/// Each allocation with what stands in its way; those that fit first, and of these the smallest, since a launch should not
/// take what a larger one needs.
fn allocations<'v>(view: &FormView<'v>, profile: &Profile, wish: &Wish) -> Vec<(FormAllocation, Target<'v>)> {
    let judge = |named: &NamedTarget<'v>| {
        let composition = compose(&view.app, profile, wish, Some(named.target));
        let obstacles = target::obstacles(&view.app, named.target, &composition, wish, profile.gpu_placement);
        let mut reasons: Vec<FormReason> =
            target::reasons(&obstacles).into_iter().map(FormReason::from).collect();
        // A volume that was chosen says where the launch can be.
        let node = named.target.node.map(|node| node.id);
        let elsewhere = mounts::all_obstacles(&view.app, profile, wish, node);
        let elsewhere = elsewhere.iter().filter(|error| error.code() == "volume_on_other_node");
        reasons.extend(elsewhere.map(|error| FormReason::new(error.code(), error.message())));
        (FormAllocation::of(named.sku, named.target, reasons, view.app.now), named.target)
    };
    let mut all: Vec<_> = view.targets.iter().map(judge).collect();
    all.sort_by(|(a, _), (b, _)| rank(a).cmp(&rank(b)));
    all
}

fn rank(of: &FormAllocation) -> (bool, i64, i64, i64, &str, AllocationId) {
    (!of.fits, of.gpu_count, of.vcpu, of.memory_mib, &of.name, of.id)
}

/// The one asked for, whatever speaks against it; else the first that fits.
fn choose_allocation<'v>(
    view: &FormView<'v>,
    allocations: &[(FormAllocation, Target<'v>)],
    wanted: &Wanted,
    errors: &mut Vec<FieldError>,
) -> Option<Target<'v>> {
    if let Some(id) = wanted.allocation {
        let found = view.targets.iter().find(|named| named.target.allocation.id == id);
        if found.is_none() {
            errors.push(launch::unknown_allocation());
        }
        return found.map(|named| named.target);
    }
    if errors.iter().any(|fault| fault.path.starts_with("/placement_intent")) {
        return None;
    }
    let best = allocations.iter().find(|(allocation, _)| allocation.fits).map(|(_, target)| *target);
    if best.is_none() {
        let sentence = if allocations.is_empty() {
            "The project has no allocation; request one of the offers."
        } else {
            "No allocation of the project fits; free one, or request one of the offers."
        };
        errors.push(FieldError::new(target::PATH, "required", sentence));
    }
    best
}

/// Every image that the profile names, and whether it may be started (F-26).
fn variants(
    app: &View<'_>,
    profile: &Profile,
    composition: &Composition<'_>,
    bound: &[Vec<&GpuDevice>],
    wish: &Wish,
    errors: &mut Vec<FieldError>,
) -> Vec<FormVariant> {
    let mut all = Vec::new();
    errors.extend(images::check_variant(profile, wish).err().map(|error| fault("/variant", &error)));
    for (part, gpus) in composition.parts.iter().zip(bound).filter(|(part, _)| part.runs()) {
        let component = part.component;
        let chosen = images::choose(app, component, gpus, wish);
        let refused = match &chosen {
            Err(error) => Some(fault("/variant", error)),
            Ok(image) => images::known(app, image)
                .and_then(|found| images::check(app, found).err())
                .map(|error| fault("/variant", &error)),
        };
        errors.extend(refused);
        all.extend(component.images.iter().map(|image| {
            let chosen = chosen.as_ref().is_ok_and(|chosen| *chosen == image);
            variant(app, component, image, gpus, chosen)
        }));
    }
    all
}

fn variant(
    app: &View<'_>,
    component: &Component,
    image: &crate::manifest::Image,
    gpus: &[&GpuDevice],
    chosen: bool,
) -> FormVariant {
    let found = images::known(app, image);
    let refused = found.and_then(|found| images::check(app, found).err());
    let artifact = found.and_then(|found| found.artifact.as_ref());
    let usable = found.is_some() && refused.is_none();
    FormVariant {
        component: component.name.clone(),
        name: image.variant.clone(),
        accelerator: image.accelerators.first().copied(),
        accelerators: image.accelerators.clone(),
        reference: found.map_or_else(|| image.reference.to_string(), |found| found.canonical.to_string()),
        digest: image.reference.digest().to_string(),
        trust: artifact.map(|artifact| artifact.trust.state),
        signer: artifact.and_then(|artifact| artifact.trust.signer.clone()),
        channel: artifact.and_then(|artifact| artifact.channel.clone()),
        usable,
        fits: images::fits(image, gpus),
        reasons: refused.iter().map(|error| FormReason::new(error.code(), error.message())).collect(),
        chosen: chosen && usable,
        notes: app.manifest.variant_of(image).and_then(|variant| variant.notes.clone()),
    }
}

fn resources(profile: &Profile, composition: &Composition<'_>, chosen: Option<Target<'_>>) -> FormResources {
    let needs = composition.core;
    let field = |bounds: target::Bounds, value: i64, total: Option<i64>| ResourceField {
        min: bounds.min,
        // Neither the manifest's bound nor the allocation can be exceeded.
        max: [bounds.max, total].into_iter().flatten().min(),
        default: if bounds.default > 0 { bounds.default } else { value.min(bounds.max.unwrap_or(value)) },
        value,
    };
    let allocation = chosen.map(|chosen| chosen.allocation);
    // Add-ons take theirs on top.
    let on_top = (
        (composition.total.cpu_millis - needs.cpu_millis).max(0),
        (composition.total.memory_mib - needs.memory_mib).max(0),
    );
    let gpus = target::Bounds::gpus(profile);
    let count = i64::from(needs.gpu_count);
    let lanes: Vec<_> = composition.running().filter(|part| part.lane().is_some()).collect();
    let gpu_count = match lanes.as_slice() {
        [] => {
            ResourceField { default: gpus.default, ..field(gpus, count, allocation.map(|one| one.gpu_count)) }
        }
        [only] => {
            let lane = parts::lane_count(only, chosen);
            let max = [lane.max, gpus.max].into_iter().flatten().min();
            ResourceField { min: lane.min.max(gpus.min), max, ..lane }
        }
        // Each says itself what it gets; the sum is not chosen.
        _ => ResourceField { min: count, max: Some(count), default: count, value: count },
    };
    FormResources {
        gpu_count,
        cpu_millis: field(
            target::Bounds::cpu(profile),
            needs.cpu_millis,
            allocation.map(|one| one.vcpu * 1000 - on_top.0),
        ),
        memory_mib: field(
            target::Bounds::memory(profile),
            needs.memory_mib,
            allocation.map(|one| one.memory_mib - on_top.1),
        ),
    }
}

/// Defaults, and over them what was given, right or wrong: who mends a form must see what is in it. What looks like a
/// secret is not sent back.
fn shown(app: &View<'_>, resolved: &Resolved, given: &Map<String, Value>) -> Map<String, Value> {
    let mut shown = resolved.values.clone();
    for (name, value) in known_values(app, resolved, given) {
        shown.entry(name).or_insert(value);
    }
    shown
}

fn known_values(app: &View<'_>, resolved: &Resolved, given: &Map<String, Value>) -> Map<String, Value> {
    let secret = |name: &str| resolved.faults_of(name).any(|fault| fault.code == values::RAW_SECRET);
    let is_known = |name: &str| {
        // What is not asked for is not kept, nor sent back.
        if resolved.hidden.contains(name) {
            return false;
        }
        let parameter = app.manifest.parameters.get(name);
        parameter.is_some_and(|parameter| parameter.owner == crate::manifest::ParameterOwner::User)
    };
    let kept = given.iter().filter(|(name, _)| is_known(name) && !secret(name));
    kept.map(|(name, value)| (name.clone(), value.clone())).collect()
}

fn choices(
    view: &FormView<'_>,
    wanted: &Wanted,
    resolved: &Resolved,
    allocation: Option<AllocationId>,
) -> Choices {
    let (app, wish) = (&view.app, &wanted.wish);
    let differs = |name: &String, value: &Value| {
        let own = app.manifest.parameters.get(name).and_then(|parameter| parameter.default.as_ref());
        let default = app.defaults.of(app.manifest, name).or(own);
        default.is_none_or(|default| !values::is_same(default, value))
    };
    let values = known_values(app, resolved, &wish.values);
    let components = app.manifest.expand().components;
    // A name that is none of the app's is told as a fault; it has no place in a line to be pasted.
    let known_endpoint = |(name, _): &(&String, &AccessMode)| {
        components.iter().flat_map(|one| &one.ports).any(|port| port.name() == **name)
    };
    let known_variant = |name: &&String| {
        components.iter().flat_map(|one| &one.images).any(|image| image.variant.as_ref() == Some(name))
    };
    let declared = |name: &String| {
        app.manifest.resources.iter().flat_map(|one| &one.mounts).any(|mount| mount.name == *name)
    };
    let mounts = wish.mounts.iter().filter(|(name, source)| declared(name) && source.volume().is_some());
    let is_addon = |name: &&String| app.manifest.addons.iter().any(|addon| addon.name == **name);
    let is_lane = |name: &String| {
        let named = components.iter().filter(|one| one.gpu_count.is_some());
        named.map(|one| one.lane.as_ref().unwrap_or(&one.name)).any(|lane| lane == name)
    };
    let lanes = wish.lanes.iter().filter(|(name, lane)| is_lane(name) && **lane != LaneWish::default());
    Choices {
        slug: app.manifest.slug.to_string(),
        version: app.manifest.version.to_string(),
        name: wanted.name.clone(),
        allocation,
        gpu_count: wish.gpu_count,
        cpu_millis: wish.cpu_millis,
        memory_mib: wish.memory_mib,
        host_port: wish.host_port,
        variant: wish.variant.as_ref().filter(known_variant).cloned(),
        values: values.into_iter().filter(|(name, value)| differs(name, value)).collect(),
        access: wish.access.iter().filter(known_endpoint).map(|(name, mode)| (name.clone(), *mode)).collect(),
        mounts: mounts.map(|(name, source)| (name.clone(), source.clone())).collect(),
        addons: wish.addons.iter().filter(is_addon).cloned().collect(),
        lanes: lanes.map(|(name, lane)| (name.clone(), lane.clone())).collect(),
    }
}

/// The allocation's name where no other has it, and its id otherwise.
fn command_name<'a>(
    allocations: &'a [(FormAllocation, Target<'_>)],
    choices: &Choices,
) -> Option<std::borrow::Cow<'a, str>> {
    let (chosen, _) = allocations.iter().find(|(one, _)| Some(one.id) == choices.allocation)?;
    let namesakes = allocations.iter().filter(|(one, _)| one.name == chosen.name).count();
    Some(if namesakes == 1 { chosen.name.as_str().into() } else { chosen.id.to_string().into() })
}
