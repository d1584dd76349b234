//! Add-ons with what they take, lanes with their devices, and every component with its part.

use super::view::{
    AddonEffect, FormAddon, FormComponent, FormGpu, FormLane, FormReason, PriceShare, ResourceField,
};
use super::{FormView, Wanted};
use crate::launch::composition::{Composition, Idle, Part, compose};
use crate::launch::{Target, Wish, report, target};
use crate::manifest::{Addon, Mib, Profile, Range};
use crate::node::GpuDevice;

pub(super) fn addons(
    view: &FormView<'_>,
    profile: &Profile,
    wanted: &Wanted,
    composition: &Composition<'_>,
    chosen: Option<Target<'_>>,
) -> Vec<FormAddon> {
    let manifest = view.app.manifest;
    let one = |addon: &Addon| {
        let on = composition.addons.iter().find(|one| one.name == addon.name);
        // What it would take is what it takes once it is on.
        let mut addons = wanted.wish.addons.clone();
        if on.is_none() {
            addons.push(addon.name.clone());
        }
        let wish = Wish { addons, ..wanted.wish.clone() };
        let with = compose(&view.app, profile, &wish, chosen);
        let reasons: Vec<FormReason> = match chosen {
            Some(chosen) if on.is_none() => {
                let obstacles = target::obstacles(&view.app, chosen, &with, &wish, profile.gpu_placement);
                target::reasons(&obstacles).into_iter().map(FormReason::from).collect()
            }
            _ => Vec::new(),
        };
        FormAddon {
            name: addon.name.clone(),
            kind: addon.kind,
            display_name: addon.display_name.clone().unwrap_or_else(|| addon.name.clone()),
            description: addon.description.clone(),
            chosen: on.is_some(),
            required_by: on
                .map(|on| on.brought_by.iter().map(|name| (*name).to_owned()).collect())
                .unwrap_or_default(),
            requires: addon.requires.clone(),
            components: addon.components.clone(),
            effect: effect(addon, &with, chosen, view),
            fits: reasons.is_empty(),
            reasons,
        }
    };
    manifest.addons.iter().map(one).collect()
}

fn effect(
    addon: &Addon,
    with: &Composition<'_>,
    chosen: Option<Target<'_>>,
    view: &FormView<'_>,
) -> AddonEffect {
    let own = with.running().filter(|part| part.addon == Some(addon.name.as_str()));
    let needs = own.map(Part::needs).fold(target::Needs::default(), |sum, one| target::Needs {
        gpu_count: sum.gpu_count.saturating_add(one.gpu_count),
        cpu_millis: sum.cpu_millis.saturating_add(one.cpu_millis),
        memory_mib: sum.memory_mib.saturating_add(one.memory_mib),
    });
    let price = chosen.and_then(|chosen| Some((chosen, report::hourly(chosen, view.app.now)?)));
    AddonEffect {
        cpu_millis: needs.cpu_millis,
        memory_mib: needs.memory_mib,
        gpu_count: needs.gpu_count,
        storage_mib: addon.storage_mib.map_or(0, |Mib(mib)| i64::from(mib)),
        share: price.map(|(chosen, (currency, micros))| PriceShare {
            amount_micros: report::part_of(chosen, micros, needs),
            currency,
        }),
    }
}

pub(super) fn lanes(
    composition: &Composition<'_>,
    bound: &[Vec<&GpuDevice>],
    chosen: Option<Target<'_>>,
) -> Vec<FormLane> {
    let lane = |(part, gpus): (&Part<'_>, &Vec<&GpuDevice>)| {
        let name = part.lane()?.to_owned();
        Some(FormLane {
            name,
            component: part.component.name.clone(),
            runs: part.runs(),
            gpu_count: lane_count(part, chosen),
            tensor_parallel: field(
                part.component.tensor_parallel.unwrap_or_default(),
                part.tensor_parallel,
                1,
                chosen,
            ),
            min_gpu_memory_mib: part.component.min_gpu_memory_mib.map(|Mib(mib)| mib),
            gpus: gpus.iter().filter_map(|gpu| Some(FormGpu::of(chosen?, gpu))).collect(),
        })
    };
    composition.parts.iter().zip(bound).filter_map(lane).collect()
}

/// How many devices a lane may have.
pub(super) fn lane_count(part: &Part<'_>, chosen: Option<Target<'_>>) -> ResourceField {
    field(part.component.gpu_count.unwrap_or_default(), part.gpu_count, 0, chosen)
}

fn field(range: Range<u32>, value: u32, least: u32, chosen: Option<Target<'_>>) -> ResourceField {
    let most = chosen.map(|chosen| chosen.allocation.gpu_count);
    ResourceField {
        min: i64::from(range.min.unwrap_or(least)),
        max: [range.max.map(i64::from), most].into_iter().flatten().min(),
        default: range.default.map_or(i64::from(value), i64::from),
        value: i64::from(value),
    }
}

impl FormGpu {
    fn of(target: Target<'_>, gpu: &GpuDevice) -> Self {
        Self {
            slot: target::slot_of(target, gpu),
            uuid: gpu.device_uuid.clone(),
            model: gpu.model.clone(),
            memory_mib: gpu.memory_mib,
            simulated: gpu.simulated,
        }
    }
}

pub(super) fn components(composition: &Composition<'_>) -> Vec<FormComponent> {
    let one = |part: &Part<'_>| FormComponent {
        name: part.component.name.clone(),
        class: part.component.class,
        lane: part.component.lane.clone(),
        addon: part.addon.map(str::to_owned),
        runs: part.runs(),
        why_not: part.idle.map(Idle::sentence).map(str::to_owned),
        replicas: part.replicas,
        cpu_millis: part.cpu_millis,
        memory_mib: part.memory_mib,
        gpu_count: if part.runs() { part.gpu_count } else { 0 },
    };
    composition.parts.iter().map(one).collect()
}
