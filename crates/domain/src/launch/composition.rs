//! Which components a launch runs, and what each of them takes. Add-ons and conditions decide the first, the chosen totals
//! and the components' minima the second.
//!
//! Laws: an add-on is off unless it is chosen or one that is chosen brings it. The app's own components share what was
//! chosen for the app; an add-on takes its part on top, so that choosing one never makes the app smaller.

use std::sync::Arc;

use super::target::{self, Needs};
use super::{Target, View, Wish, lanes};
use crate::FieldError;
use crate::expression::{Budget, Expression, Value as Known, Values};
use crate::launch_form::resolution::{Around, Resolved};
use crate::manifest::{Component, ComponentClass, Manifest, Profile};
use crate::text::{cpus, nearest};

/// More than any profile has of either.
const MOST_ASKED: usize = 32;

const GPU_COUNT: &str = "/resources/gpu_count";

/// The least that any engine gives a container.
const LEAST_CPU_MILLIS: i64 = 10;
const LEAST_MEMORY_MIB: i64 = 6;

/// What runs, and what is wrong with what was asked for.
pub(crate) struct Composition<'p> {
    /// In the manifest's order.
    pub(crate) addons: Vec<ChosenAddon<'p>>,
    /// Every component of the profile, in its order, running or not.
    pub(crate) parts: Vec<Part<'p>>,
    /// What was chosen for the app itself: expressions see it as `resources`.
    pub(crate) core: Needs,
    /// With the add-ons.
    pub(crate) total: Needs,
    pub(crate) resolved: Arc<Resolved>,
    /// Of values, add-ons, lanes and amounts.
    pub(crate) faults: Vec<FieldError>,
}

/// An add-on that is on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ChosenAddon<'p> {
    pub(crate) name: &'p str,
    /// The chosen add-ons that bring it; empty where it was chosen itself.
    pub(crate) brought_by: Vec<&'p str>,
}

/// One component in one launch.
#[derive(Clone, Debug)]
pub(crate) struct Part<'p> {
    pub(crate) component: &'p Component,
    /// The add-on it belongs to, the chosen one first.
    pub(crate) addon: Option<&'p str>,
    /// Why it does not run.
    pub(crate) idle: Option<Idle>,
    /// Of each replica.
    pub(crate) cpu_millis: i64,
    pub(crate) memory_mib: i64,
    pub(crate) replicas: u32,
    pub(crate) gpu_count: u32,
    /// How many devices hold one model together; nothing without devices.
    pub(crate) tensor_parallel: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Idle {
    AddonNotChosen,
    ConditionDoesNotHold,
}

impl Idle {
    pub(crate) fn sentence(self) -> &'static str {
        match self {
            Self::AddonNotChosen => "Its add-on is not chosen.",
            Self::ConditionDoesNotHold => "Its condition does not hold for what was chosen.",
        }
    }
}

impl<'p> Part<'p> {
    pub(crate) fn runs(&self) -> bool {
        self.idle.is_none()
    }

    /// What the lane is asked for by; a component with devices of its own and no lane's name goes by its own.
    pub(crate) fn lane(&self) -> Option<&'p str> {
        let component = self.component;
        component.gpu_count.map(|_| component.lane.as_deref().unwrap_or(&component.name))
    }

    pub(crate) fn needs(&self) -> Needs {
        let replicas = i64::from(self.replicas);
        Needs {
            gpu_count: self.gpu_count.saturating_mul(self.replicas),
            cpu_millis: self.cpu_millis.saturating_mul(replicas),
            memory_mib: self.memory_mib.saturating_mul(replicas),
        }
    }
}

impl<'p> Composition<'p> {
    pub(crate) fn running(&self) -> impl Iterator<Item = &Part<'p>> {
        self.parts.iter().filter(|part| part.runs())
    }
}

/// Settles add-ons, totals, values, components and their parts, in this order. What is not known yet (no target is chosen)
/// is taken as it would be on the largest one.
pub(crate) fn compose<'p>(
    view: &View<'p>,
    profile: &'p Profile,
    wish: &Wish,
    target: Option<Target<'_>>,
) -> Composition<'p> {
    let (manifest, existing) = (view.manifest, view.existing);
    let (addons, mut faults) = chosen_addons(manifest, wish);
    let mut parts = parts(manifest, profile, &addons);
    faults.extend(give_gpus(&mut parts, wish));
    let (mut core, mut out_of_bounds) = target::needs(profile, wish, target, existing);
    let has_lanes = parts.iter().any(|part| part.lane().is_some());
    if has_lanes {
        // Lanes say themselves what they take; the total is what they come to, and is judged once it is known what runs.
        core.gpu_count = own_gpus(&parts);
        out_of_bounds.retain(|fault| fault.path != GPU_COUNT);
    }
    faults.extend(out_of_bounds);
    let names: Vec<&str> = addons.iter().map(|addon| addon.name).collect();
    // What was launched before keeps what it was launched with.
    let given = if existing { wish.values.clone() } else { view.defaults.complete(manifest, &wish.values) };
    let resolved = view.resolved.of(&view.prepared, &given, Around { needs: core, addons: &names });
    faults.extend(resolved.faults.iter().cloned());
    let known = around(resolved.known.clone(), target, core);
    let mut budget = Budget::default();
    for part in parts.iter_mut().filter(|part| part.runs()) {
        if part.component.when.as_deref().is_some_and(|when| !holds(when, &known, &mut budget)) {
            part.idle = Some(Idle::ConditionDoesNotHold);
        }
    }
    if has_lanes {
        let bounds = target::Bounds::gpus(profile);
        let count = i64::from(own_gpus(&parts));
        if !existing && count > 0 && !bounds.holds(count) {
            let sentence =
                format!("{} Its lanes take {count}.", bounds.sentence("GPUs", |gpus| gpus.to_string()));
            faults.push(FieldError::new(GPU_COUNT, "out_of_range", sentence));
        }
    } else {
        faults.extend(give_all(profile, &mut parts, wish));
    }
    faults.extend(share(&mut core, wish, target, &mut parts));
    let total = sum(parts.iter());
    Composition { addons, parts, core, total, resolved, faults }
}

/// What the lanes of the app itself come to, without those of add-ons.
fn own_gpus(parts: &[Part<'_>]) -> u32 {
    sum(parts.iter().filter(|part| part.addon.is_none())).gpu_count
}

fn sum<'a, 'p: 'a>(parts: impl Iterator<Item = &'a Part<'p>>) -> Needs {
    parts.filter(|part| part.runs()).map(Part::needs).fold(Needs::default(), |sum, one| Needs {
        gpu_count: sum.gpu_count.saturating_add(one.gpu_count),
        cpu_millis: sum.cpu_millis.saturating_add(one.cpu_millis),
        memory_mib: sum.memory_mib.saturating_add(one.memory_mib),
    })
}

/// Those asked for and those that they bring, however far that leads.
fn chosen_addons<'p>(manifest: &'p Manifest, wish: &Wish) -> (Vec<ChosenAddon<'p>>, Vec<FieldError>) {
    let find = |name: &str| manifest.addons.iter().position(|addon| addon.name == name);
    let mut faults = Vec::new();
    let mut on: Vec<Option<Vec<&'p str>>> = vec![None; manifest.addons.len()];
    let mut asked = Vec::new();
    if wish.addons.len() > MOST_ASKED || wish.lanes.len() > MOST_ASKED {
        // Told once, whatever was sent: an answer is not as long as its question.
        let (path, what) =
            if wish.addons.len() > MOST_ASKED { ("/addons", "add-ons") } else { ("/lanes", "lanes") };
        let sentence = format!("At most {MOST_ASKED} {what} can be asked for.");
        return (Vec::new(), vec![FieldError::new(path, "out_of_range", sentence)]);
    }
    for (index, name) in wish.addons.iter().enumerate() {
        if let Some(found) = find(name) {
            asked.push(found);
            continue;
        }
        let known = manifest.addons.iter().map(|addon| addon.name.as_str());
        let hint = match nearest(name, known.clone()) {
            Some(near) => format!(" Did you mean {near}?"),
            None if manifest.addons.is_empty() => " It has none.".to_owned(),
            None => format!(" It has {}.", known.collect::<Vec<_>>().join(", ")),
        };
        let sentence = format!("The app has no such add-on.{hint}");
        faults.push(FieldError::new(format!("/addons/{index}"), "unknown_addon", sentence));
    }
    for &index in &asked {
        on[index] = Some(Vec::new());
    }
    let mut reached: Vec<usize> = asked.clone();
    while let Some(index) = reached.pop() {
        let addon = &manifest.addons[index];
        for needed in addon.requires.iter().filter_map(|name| find(name)) {
            let is_new = on[needed].is_none();
            let brought_by = on[needed].get_or_insert_default();
            if !asked.contains(&needed) && !brought_by.contains(&addon.name.as_str()) {
                brought_by.push(&addon.name);
            }
            if is_new {
                reached.push(needed);
            }
        }
    }
    let chosen = manifest.addons.iter().zip(on).filter_map(|(addon, brought_by)| {
        Some(ChosenAddon { name: addon.name.as_str(), brought_by: brought_by? })
    });
    (chosen.collect(), faults)
}

fn parts<'p>(manifest: &'p Manifest, profile: &'p Profile, chosen: &[ChosenAddon<'p>]) -> Vec<Part<'p>> {
    let part = |component: &'p Component| {
        let is_chosen = |name: &str| chosen.iter().any(|addon| addon.name == name);
        let lists = |addon: &&'p crate::manifest::Addon| addon.components.contains(&component.name);
        let owners: Vec<&'p str> =
            manifest.addons.iter().filter(lists).map(|addon| addon.name.as_str()).collect();
        let on = owners.iter().copied().find(|name| is_chosen(name));
        Part {
            component,
            addon: on.or(owners.first().copied()),
            idle: (on.is_none() && !owners.is_empty()).then_some(Idle::AddonNotChosen),
            cpu_millis: 0,
            memory_mib: 0,
            replicas: component.replicas.default.unwrap_or(1).max(1),
            gpu_count: 0,
            tensor_parallel: 0,
        }
    };
    profile.components.iter().map(part).collect()
}

/// How many devices each lane gets. Where none declares its own, [`give_all`] follows once it is known what runs.
fn give_gpus(parts: &mut [Part<'_>], wish: &Wish) -> Vec<FieldError> {
    let mut faults = lanes::unknown(parts, wish);
    let lanes: Vec<usize> = (0..parts.len()).filter(|index| parts[*index].lane().is_some()).collect();
    if lanes.is_empty() {
        return faults;
    }
    for &index in &lanes {
        let part = &mut parts[index];
        let range = part.component.gpu_count.unwrap_or_default();
        let asked = part.lane().and_then(|lane| wish.lanes.get(lane));
        // With one lane, the app's own count is meant for it.
        let named =
            asked.and_then(|lane| lane.slots.as_ref()).and_then(|slots| u32::try_from(slots.len()).ok());
        let count = asked.and_then(|lane| lane.gpu_count).or(named);
        let count = count.or(wish.gpu_count.filter(|_| lanes.len() == 1));
        part.gpu_count = count.or(range.default).or(range.min).unwrap_or(0);
        part.tensor_parallel = lanes::degree(part.component, asked, part.gpu_count);
        if part.runs() {
            faults.extend(lanes::faults(part, range));
        }
    }
    if let Some(wanted) = wish.gpu_count.filter(|_| lanes.len() > 1) {
        let total = sum(parts.iter()).gpu_count;
        if wanted != total {
            let sentence = format!("The lanes take {total} GPUs together; ask for them lane by lane.");
            faults.push(FieldError::new(GPU_COUNT, "gpu_total_mismatch", sentence));
        }
    }
    faults
}

/// All devices to the first primary component that runs, or to the first of any class.
fn give_all(profile: &Profile, parts: &mut [Part<'_>], wish: &Wish) -> Option<FieldError> {
    let count = wish.gpu_count.or(profile.gpu_count.default).unwrap_or(0);
    let rank = |part: &&mut Part<'_>| part.component.class != ComponentClass::Primary;
    let part = parts.iter_mut().filter(|part| part.runs()).min_by_key(rank)?;
    if count > 0 && part.replicas > 1 {
        // Nobody could say which of them has which device.
        let sentence = format!(
            "{} runs {} times, and replicas cannot share GPUs; choose 0, or let its profile declare lanes.",
            part.component.name, part.replicas
        );
        return Some(FieldError::new(GPU_COUNT, "out_of_range", sentence));
    }
    part.gpu_count = count;
    part.tensor_parallel = lanes::degree(part.component, None, count);
    None
}

/// What conditions of components see: the node and its devices, but not which of them is whose.
fn around(mut known: Values, target: Option<Target<'_>>, core: Needs) -> Values {
    let node = target.and_then(|target| target.node);
    let gpus = target.map(target::free_gpus).unwrap_or_default();
    let first = gpus.first().filter(|_| core.gpu_count > 0);
    known.set(&["placement", "node_name"], node.map_or("", |node| node.name.as_str()));
    known.set(&["placement", "accelerator"], first.map_or("", |gpu| gpu.vendor.name()));
    known.set(&["placement", "gpu_model"], first.map_or("", |gpu| gpu.model.as_str()));
    known
}

/// A condition that cannot be told, because a value it looks at is wrong, keeps the component: what it takes is shown.
fn holds(text: &str, known: &Values, budget: &mut Budget) -> bool {
    let found = Expression::parse(text).and_then(|expression| expression.evaluate(known, budget));
    found != Ok(Known::Bool(false))
}

/// Gives each running component its processors and memory, and says where the chosen total is too small for that.
fn share(
    core: &mut Needs,
    wish: &Wish,
    target: Option<Target<'_>>,
    parts: &mut [Part<'_>],
) -> Vec<FieldError> {
    let total = target.map(|target| (target.allocation.vcpu * 1000, target.allocation.memory_mib));
    let mut faults = Vec::new();
    let declared = |part: &Part<'_>| part.component.resources.min_vcpu.map(|vcpu| i64::from(vcpu.millis()));
    let amount = Amount {
        usual: target::DEFAULT_CPU_MILLIS,
        least: LEAST_CPU_MILLIS,
        chosen: wish.cpu_millis.is_some(),
        most: total.map(|total| total.0),
    };
    match split(&amount, &mut core.cpu_millis, parts, declared, |part, share| part.cpu_millis = share) {
        Ok(()) => {}
        Err(least) => {
            let sentence = format!("The components that run need {} vCPU together.", cpus(least));
            faults.push(FieldError::new("/resources/cpu_millis", "out_of_range", sentence));
        }
    }
    let declared =
        |part: &Part<'_>| part.component.resources.min_memory_mib.map(|memory| i64::from(memory.0));
    let amount = Amount {
        usual: target::DEFAULT_MEMORY_MIB,
        least: LEAST_MEMORY_MIB,
        chosen: wish.memory_mib.is_some(),
        most: total.map(|total| total.1),
    };
    match split(&amount, &mut core.memory_mib, parts, declared, |part, share| part.memory_mib = share) {
        Ok(()) => {}
        Err(least) => {
            let sentence = format!("The components that run need {least} MiB together.");
            faults.push(FieldError::new("/resources/memory_mib", "out_of_range", sentence));
        }
    }
    faults
}

/// How one resource is shared out.
struct Amount {
    /// For a component that declares nothing.
    usual: i64,
    least: i64,
    /// Whether somebody asked for the total; otherwise it may grow to what the components need.
    chosen: bool,
    /// What the allocation has.
    most: Option<i64>,
}

/// Each of the app's own components gets its minimum, those without one the usual amount as far as it goes, and the primary
/// ones what is left, in equal parts. A lone component has it all. Err: the least that would do.
fn split(
    amount: &Amount,
    total: &mut i64,
    parts: &mut [Part<'_>],
    declared: impl Fn(&Part<'_>) -> Option<i64>,
    mut give: impl FnMut(&mut Part<'_>, i64),
) -> Result<(), i64> {
    let wanted = |part: &Part<'_>| declared(part).unwrap_or(amount.usual);
    for part in parts.iter_mut().filter(|part| part.runs() && part.addon.is_some()) {
        let share = wanted(part).max(amount.least);
        give(part, share);
    }
    let own: Vec<usize> =
        (0..parts.len()).filter(|index| parts[*index].runs() && parts[*index].addon.is_none()).collect();
    if let [only] = own[..]
        && parts[only].replicas == 1
    {
        give(&mut parts[only], *total);
        return Ok(());
    }
    if own.is_empty() {
        *total = 0;
        return Ok(());
    }
    let times = |index: usize| i64::from(parts[index].replicas);
    let together = |of: &dyn Fn(&Part<'_>) -> i64| -> i64 {
        own.iter().fold(0, |sum, &index| sum.saturating_add(of(&parts[index]).saturating_mul(times(index))))
    };
    let usual = together(&wanted);
    let least = together(&|part| declared(part).unwrap_or(amount.least).max(amount.least));
    if !amount.chosen {
        let grown = (*total).max(usual);
        // Components without a minimum make do with less where the allocation is small.
        *total = amount.most.map_or(grown, |most| grown.min(most.max(least).max(*total)));
    }
    if *total < least {
        return Err(least);
    }
    let mut shares: Vec<i64> = if *total >= usual {
        own.iter().map(|&index| wanted(&parts[index]).max(amount.least)).collect()
    } else {
        let modest: i64 = own
            .iter()
            .filter(|&&index| declared(&parts[index]).is_none())
            .map(|&index| i64::from(parts[index].replicas))
            .sum();
        let spare = (*total - least) / modest.max(1);
        let of = |index: usize| declared(&parts[index]).unwrap_or(amount.least + spare).max(amount.least);
        own.iter().map(|&index| of(index)).collect()
    };
    let given: i64 = own.iter().zip(&shares).map(|(&index, share)| share * times(index)).sum();
    let is_primary = |index: usize| parts[index].component.class == ComponentClass::Primary;
    let mut growing: Vec<usize> = (0..own.len()).filter(|at| is_primary(own[*at])).collect();
    if growing.is_empty() {
        growing.push(0);
    }
    let heads: i64 = growing.iter().map(|at| times(own[*at])).sum();
    let more = (*total - given).max(0) / heads;
    for at in growing {
        shares[at] += more;
    }
    for (index, share) in own.into_iter().zip(shares) {
        give(&mut parts[index], share);
    }
    Ok(())
}
