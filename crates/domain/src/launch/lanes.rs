//! Which devices each component gets. Sets of two components never share a device, every device of a set has the memory
//! that its component needs, and where that cannot be, the refusal says what is missing for whom.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::composition::{Composition, Part};
use super::target::free_gpus;
use super::{Target, Wish};
use crate::manifest::{Component, Mib, PlacementIntent, Range};
use crate::node::GpuDevice;
use crate::text::{member_at, nearest};
use crate::{Error, FieldError, Kind};

/// What is asked for one lane; what is left out is as the profile has it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LaneWish {
    #[schemars(range(max = 64))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpu_count: Option<u32>,
    /// How many devices hold one model together.
    #[schemars(range(min = 1, max = 64))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tensor_parallel: Option<u32>,
    /// Which of the allocation's GPUs, counted from 0. A device's own number on its node is nobody's to choose (U-12).
    #[schemars(length(max = 64))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slots: Option<Vec<u32>>,
}

/// Names that nobody has are told up to here.
const MOST_TOLD: usize = 32;

fn pointer(lane: &str) -> String {
    member_at("/lanes", lane)
}

/// Names in the request that are no lane of the app.
pub(super) fn unknown(parts: &[Part<'_>], wish: &Wish) -> Vec<FieldError> {
    let known: Vec<&str> = parts.iter().filter_map(Part::lane).collect();
    let unknown = wish.lanes.keys().filter(|name| !known.contains(&name.as_str()));
    unknown
        .take(MOST_TOLD)
        .map(|name| {
            let hint = match nearest(name, known.iter().copied()) {
                Some(near) => format!(" Did you mean {near}?"),
                None if known.is_empty() => " It has none.".to_owned(),
                None => format!(" It has {}.", known.join(", ")),
            };
            FieldError::new(pointer(name), "unknown_lane", format!("The app has no such lane.{hint}"))
        })
        .collect()
}

/// How many devices hold one model together: as asked for, as the profile has it, or all of them.
pub(super) fn degree(component: &Component, asked: Option<&LaneWish>, gpu_count: u32) -> u32 {
    let usual = component.tensor_parallel.and_then(|range| range.default);
    asked.and_then(|lane| lane.tensor_parallel).or(usual).unwrap_or(gpu_count)
}

/// What the profile says against the counts of one lane.
pub(super) fn faults(part: &Part<'_>, gpus: Range<u32>) -> Vec<FieldError> {
    let mut faults = Vec::new();
    let at = part.lane().map(pointer).unwrap_or_default();
    if !holds(gpus, part.gpu_count) {
        let sentence = format!("This lane takes {} GPUs.", bounds(gpus));
        faults.push(FieldError::new(format!("{at}/gpu_count"), "out_of_range", sentence));
    }
    let at = format!("{at}/tensor_parallel");
    let degrees = part.component.tensor_parallel.unwrap_or_default();
    if part.gpu_count > 0 && !holds(degrees, part.tensor_parallel) {
        let sentence = format!("The degree of this lane is {}.", bounds(degrees));
        faults.push(FieldError::new(at, "out_of_range", sentence));
    } else if part.gpu_count > 0
        && (part.tensor_parallel == 0 || !part.gpu_count.is_multiple_of(part.tensor_parallel))
    {
        // A device left over would idle, one missing would keep the model from starting.
        let sentence = format!(
            "{} GPUs cannot be parted into groups of {}; choose a degree that divides them.",
            part.gpu_count, part.tensor_parallel
        );
        faults.push(FieldError::new(at, "tensor_parallel_mismatch", sentence));
    }
    faults
}

fn holds(range: Range<u32>, value: u32) -> bool {
    range.min.is_none_or(|least| value >= least) && range.max.is_none_or(|most| value <= most)
}

fn bounds(range: Range<u32>) -> String {
    match (range.min.unwrap_or(0), range.max) {
        (least, Some(most)) if least == most => least.to_string(),
        (least, Some(most)) => format!("{least} to {most}"),
        (least, None) => format!("{least} or more"),
    }
}

/// The devices of each part, in the order of the parts; an idle one has none. Err: everything that stands in the way.
pub(crate) fn bind<'t>(
    composition: &Composition<'_>,
    target: Target<'t>,
    wish: &Wish,
    intent: PlacementIntent,
) -> Result<Vec<Vec<&'t GpuDevice>>, Vec<Error>> {
    let mut work = Work {
        left: free_gpus(target),
        bound: vec![Vec::new(); composition.parts.len()],
        refused: Vec::new(),
    };
    let mut waiting = Vec::new();
    let mut owners: BTreeMap<u32, &str> = BTreeMap::new();
    for (index, part) in
        composition.parts.iter().enumerate().filter(|(_, part)| part.gpu_count > 0 && part.runs())
    {
        let asked = part.lane().and_then(|lane| wish.lanes.get(lane)).and_then(|lane| lane.slots.as_ref());
        match (part.lane(), asked) {
            (Some(lane), Some(asked)) => work.pick(index, part, lane, asked, target, &mut owners),
            _ => waiting.push(index),
        }
    }
    // Who needs most of each device chooses first: what is left does for the others just as well.
    waiting.sort_by_key(|index| std::cmp::Reverse(floor(composition.parts[*index].component)));
    for index in waiting {
        work.fill(index, &composition.parts[index], intent);
    }
    let wanted = composition.total.gpu_count as usize;
    let free = free_gpus(target).len();
    if free < wanted {
        // The whole is the plainer reason; that single lanes go without follows from it.
        work.refused.retain(|error| error.code() == "lane_overlap" || error.code() == "unknown_gpu");
        work.refused.push(too_few(composition, free, wanted));
    }
    if work.refused.is_empty() { Ok(work.bound) } else { Err(work.refused) }
}

fn too_few(composition: &Composition<'_>, free: usize, wanted: usize) -> Error {
    let lanes: Vec<String> = composition
        .running()
        .filter(|part| part.gpu_count > 0)
        .filter_map(|part| Some(format!("{} {}", part.lane()?, part.gpu_count)))
        .collect();
    let sentence = if lanes.len() > 1 {
        format!(
            "{free} GPUs of the allocation are free, the lanes need {wanted} ({}); stop something or ask for fewer.",
            lanes.join(", ")
        )
    } else {
        format!("{free} GPUs of the allocation are free, {wanted} needed; stop something or ask for fewer.")
    };
    Error::conflict("gpu_already_bound", sentence).with_param("free", free).with_param("needed", wanted)
}

fn floor(component: &Component) -> i64 {
    component.min_gpu_memory_mib.map_or(0, |Mib(mib)| i64::from(mib))
}

struct Work<'t> {
    /// In the order of their numbers.
    left: Vec<&'t GpuDevice>,
    bound: Vec<Vec<&'t GpuDevice>>,
    refused: Vec<Error>,
}

impl<'t> Work<'t> {
    /// Exactly those of the allocation's devices that were asked for.
    fn pick<'p>(
        &mut self,
        index: usize,
        part: &Part<'p>,
        lane: &'p str,
        asked: &[u32],
        target: Target<'t>,
        owners: &mut BTreeMap<u32, &'p str>,
    ) {
        let at = format!("{}/slots", pointer(lane));
        let mut refuse = |error: Error| {
            let field = FieldError::new(at.clone(), error.code(), error.message());
            self.refused.push(error.with_fields(vec![field]));
        };
        if asked.len() != part.gpu_count as usize {
            let sentence = format!("Lane {lane} has {} GPUs; name as many.", part.gpu_count);
            return refuse(Error::new(Kind::Unprocessable, "gpu_total_mismatch", sentence));
        }
        for number in asked {
            let Some(device) = target.gpus.get(*number as usize) else {
                let sentence = format!(
                    "The allocation has {} GPUs, counted from 0; {number} is none.",
                    target.gpus.len()
                );
                refuse(Error::new(Kind::Unprocessable, "unknown_gpu", sentence));
                continue;
            };
            if let Some(owner) = owners.insert(*number, lane) {
                let sentence = if owner == lane {
                    format!("GPU {number} is named twice for lane {lane}.")
                } else {
                    format!("GPU {number} cannot be bound to the lanes {owner} and {lane} at once.")
                };
                refuse(Error::new(Kind::Unprocessable, "lane_overlap", sentence));
            } else if device.memory_mib < floor(part.component) {
                let sentence = too_small(lane, part, &format!("GPU {number} has {}.", device.memory_mib));
                refuse(Error::new(Kind::Unprocessable, "gpu_memory_floor", sentence));
            } else if let Some(place) = self.left.iter().position(|gpu| gpu.id == device.id) {
                self.bound[index].push(self.left.remove(place));
            } else {
                let sentence =
                    format!("GPU {number} of the allocation is in use or kept back; choose another.");
                refuse(Error::conflict("gpu_already_bound", sentence));
            }
        }
    }

    /// Any that do.
    fn fill(&mut self, index: usize, part: &Part<'_>, intent: PlacementIntent) {
        let wanted = part.gpu_count as usize;
        let fitting: Vec<usize> =
            (0..self.left.len()).filter(|at| self.left[*at].memory_mib >= floor(part.component)).collect();
        if fitting.len() < wanted {
            let name = part.lane().unwrap_or(&part.component.name);
            let error = if part.component.min_gpu_memory_mib.is_some() {
                let sentence = too_small(name, part, &format!("{} such are free for it.", fitting.len()));
                Error::conflict("gpu_memory_floor", sentence)
            } else {
                let sentence = format!("{name} needs {wanted} GPUs, {} are left for it.", fitting.len());
                Error::conflict("gpu_already_bound", sentence)
            };
            self.refused.push(error.with_param("free", fitting.len()).with_param("needed", wanted));
            return;
        }
        let mut chosen: Vec<usize> = select(&fitting, |at| self.left[at].index, wanted, intent);
        chosen.sort_unstable_by(|a, b| b.cmp(a));
        let mut taken: Vec<&'t GpuDevice> = chosen.into_iter().map(|at| self.left.remove(at)).collect();
        taken.reverse();
        self.bound[index] = taken;
    }
}

fn too_small(lane: &str, part: &Part<'_>, found: &str) -> String {
    let least = floor(part.component);
    format!("{lane} needs {} GPUs of at least {least} MiB each. {found}", part.gpu_count)
}

/// So many of the fitting places, in their order.
fn select(
    fitting: &[usize],
    number: impl Fn(usize) -> i64,
    wanted: usize,
    intent: PlacementIntent,
) -> Vec<usize> {
    match intent {
        _ if wanted == 0 => Vec::new(),
        PlacementIntent::Any => fitting[..wanted].to_vec(),
        // Neighbours on the node have neighbouring numbers: the window whose ends are closest.
        PlacementIntent::Packed => {
            let width = |window: &&[usize]| number(window[wanted - 1]) - number(window[0]);
            fitting.windows(wanted).min_by_key(width).unwrap_or_default().to_vec()
        }
        PlacementIntent::Spread => (0..wanted).map(|step| fitting[step * fitting.len() / wanted]).collect(),
    }
}
