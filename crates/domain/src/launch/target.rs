//! Whether an allocation can carry a launch. [`obstacles`] lists everything that stands in the way: a plan fails with it,
//! the launch form shows it.

use gpuaas_agent_protocol::inventory::Vendor;

use super::composition::Composition;
use super::report::CheckName;
use super::{Target, View, Wish, lanes};
use crate::allocation::{AllocationState, Shape};
use crate::manifest::{CapacityShape, Compatibility, Manifest, PlacementIntent, Profile, Vcpu};
use crate::node::{GpuDevice, Node};
use crate::text::cpus;
use crate::{Error, FieldError, Result};

/// Where every obstacle of a target stands in a request.
pub(crate) const PATH: &str = "/target_allocation_id";

/// What a component gets where its profile says nothing.
pub(super) const DEFAULT_CPU_MILLIS: i64 = 1000;
pub(super) const DEFAULT_MEMORY_MIB: i64 = 512;

/// What a launch takes of its target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    pub gpu_count: u32,
    pub cpu_millis: i64,
    pub memory_mib: i64,
}

/// What the profile allows of one resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bounds {
    pub(crate) min: i64,
    pub(crate) max: Option<i64>,
    /// Nothing where the profile says nothing.
    pub(crate) default: i64,
}

impl Bounds {
    pub(crate) fn gpus(profile: &Profile) -> Self {
        let range = profile.gpu_count;
        Self {
            min: i64::from(range.min.unwrap_or(0)),
            max: range.max.map(i64::from),
            default: i64::from(range.default.unwrap_or(0)),
        }
    }

    pub(crate) fn cpu(profile: &Profile) -> Self {
        let millis = |vcpu: Option<Vcpu>| vcpu.map(|vcpu| i64::from(vcpu.millis()));
        let range = profile.vcpu;
        Self {
            min: millis(range.min).unwrap_or(0),
            max: millis(range.max),
            default: millis(range.default).unwrap_or(0),
        }
    }

    pub(crate) fn memory(profile: &Profile) -> Self {
        let mib = |mib: Option<crate::manifest::Mib>| mib.map(|mib| i64::from(mib.0));
        let range = profile.memory_mib;
        Self {
            min: mib(range.min).unwrap_or(0),
            max: mib(range.max),
            default: mib(range.default).unwrap_or(0),
        }
    }

    pub(super) fn holds(self, value: i64) -> bool {
        value >= self.min && self.max.is_none_or(|most| value <= most)
    }

    pub(super) fn sentence(self, unit: &str, said: impl Fn(i64) -> String) -> String {
        match self.max {
            Some(most) => format!("The app takes {} to {} {unit}.", said(self.min), said(most)),
            None => format!("The app takes {} {unit} or more.", said(self.min)),
        }
    }
}

/// What is asked for, or the profile's own defaults, and where that is out of the profile's bounds (B-07).
pub(crate) fn needs(
    profile: &Profile,
    wish: &Wish,
    target: Option<Target<'_>>,
    existing: bool,
) -> (Needs, Vec<FieldError>) {
    let (gpus, cpu, memory) = (Bounds::gpus(profile), Bounds::cpu(profile), Bounds::memory(profile));
    let total = target.map(|target| (target.allocation.vcpu * 1000, target.allocation.memory_mib));
    let pick = |wish: Option<u32>, default: i64, fallback: i64, total: Option<i64>| match wish {
        Some(wish) => i64::from(wish),
        None if default > 0 => default,
        None => total.map_or(fallback, |total| fallback.min(total)),
    };
    let gpu_count = wish.gpu_count.map_or(gpus.default, i64::from);
    let found = Needs {
        gpu_count: u32::try_from(gpu_count).unwrap_or(u32::MAX),
        cpu_millis: pick(wish.cpu_millis, cpu.default, DEFAULT_CPU_MILLIS, total.map(|total| total.0)),
        memory_mib: pick(wish.memory_mib, memory.default, DEFAULT_MEMORY_MIB, total.map(|total| total.1)),
    };
    let mut faults = Vec::new();
    // What runs already has its share; it is not taken away by a bound that was not looked at then.
    let kept = |bounds: Bounds| if existing { Bounds { max: None, ..bounds } } else { bounds };
    let plain: fn(i64) -> String = |value| value.to_string();
    for (path, bounds, value, unit, said) in [
        ("/resources/gpu_count", gpus, gpu_count, "GPUs", plain),
        ("/resources/cpu_millis", kept(cpu), found.cpu_millis, "vCPU", cpus),
        ("/resources/memory_mib", kept(memory), found.memory_mib, "MiB", plain),
    ] {
        if !bounds.holds(value) {
            faults.push(FieldError::new(path, "out_of_range", bounds.sentence(unit, said)));
        }
    }
    (found, faults)
}

/// Everything that keeps a launch from an allocation, the gravest first. Empty means that it fits.
pub(crate) fn obstacles(
    view: &View<'_>,
    target: Target<'_>,
    composition: &Composition<'_>,
    wish: &Wish,
    intent: PlacementIntent,
) -> Vec<Error> {
    let mut found = standing(target);
    found.extend(check_compatibility(view, target).err());
    found.extend(check_capabilities(view, target).err());
    // What is not granted has no devices to count, and what is being released none to give.
    if target.allocation.state == AllocationState::Active {
        found.extend(lanes::bind(composition, target, wish, intent).err().into_iter().flatten());
        found.extend(check_share(view, target, composition.total).err());
    }
    found
}

/// Whether the allocation and its node take work at all.
pub(super) fn standing(target: Target<'_>) -> Vec<Error> {
    [check_state(target).err(), check_node(target).err()].into_iter().flatten().collect()
}

/// The check that an obstacle belongs to.
pub(super) fn check_of(code: &str) -> CheckName {
    match code {
        "incompatible_allocation" => CheckName::Compatibility,
        "capability_missing" => CheckName::Capabilities,
        "gpu_already_bound" | "gpu_memory_floor" | "gpu_total_mismatch" | "lane_overlap" | "unknown_gpu" => {
            CheckName::Gpus
        }
        "allocation_full" => CheckName::Resources,
        _ => CheckName::Allocation,
    }
}

/// The obstacles as one refusal: the first names it, all are listed.
pub(super) fn refuse(mut obstacles: Vec<Error>) -> Result<()> {
    let fields = if obstacles.len() > 1 { reasons(&obstacles) } else { Vec::new() };
    if obstacles.is_empty() {
        return Ok(());
    }
    let first = obstacles.swap_remove(0);
    Err(if fields.is_empty() { first } else { first.with_fields(fields) })
}

/// Each reason by itself, as a fault of the target.
pub(crate) fn reasons(obstacles: &[Error]) -> Vec<FieldError> {
    let one = |error: &Error| match error.field_errors() {
        [] => vec![FieldError::new(PATH, error.code(), error.message())],
        several => several.to_vec(),
    };
    obstacles.iter().flat_map(one).collect()
}

fn check_state(target: Target<'_>) -> Result<()> {
    let state = target.allocation.state;
    let sentence = match state {
        AllocationState::Active if target.node.is_some() => return Ok(()),
        AllocationState::Active | AllocationState::Requested => {
            "The allocation was not granted yet.".to_owned()
        }
        AllocationState::Releasing | AllocationState::Released => {
            format!("The allocation is {}; launch on an active one.", state.name())
        }
    };
    Err(Error::conflict("allocation_not_active", sentence).with_param("state", state.name()))
}

fn check_node(target: Target<'_>) -> Result<()> {
    let obstacles = target.node.map(Node::obstacles).unwrap_or_default();
    let Some(first) = obstacles.first() else { return Ok(()) };
    let refusal =
        Error::conflict("node_not_ready", format!("The allocation's node takes no work. {}", first.message))
            .with_param("reason", first.code);
    let listed = obstacles.into_iter().map(|obstacle| FieldError::new(PATH, obstacle.code, obstacle.message));
    Err(refusal.with_fields(listed.collect()))
}

/// Every key that does not fit is named (I-03).
pub(super) fn check_compatibility(view: &View<'_>, target: Target<'_>) -> Result<()> {
    let wanted = &view.manifest.compatibility;
    let allocation = target.allocation;
    let mut faults = shape_faults(wanted, allocation.shape, allocation.gpu_count, "allocation");
    let mut note = |key: &'static str, message: String| faults.push(FieldError::new(PATH, key, message));
    let needs_gpu = wanted.min_gpu_count > 0;
    let fits = |gpu: &GpuDevice| wanted.supported_accelerators.contains(&gpu.vendor);
    if needs_gpu && !wanted.supported_accelerators.is_empty() && !target.gpus.iter().all(fits) {
        note(
            "supported_accelerators",
            "The allocation's GPUs are of a vendor the app does not support.".into(),
        );
    }
    if let Some(least) = wanted.min_gpu_memory_mib
        && needs_gpu
        && target.gpus.iter().any(|gpu| gpu.memory_mib < i64::from(least.0))
    {
        note("min_gpu_memory_mib", format!("The app needs {} MiB on each GPU.", least.0));
    }
    if faults.is_empty() {
        return Ok(());
    }
    let failing: Vec<&str> = faults.iter().map(|fault| fault.code).collect();
    Err(Error::fields(faults.clone())
        .reworded("incompatible_allocation", "The app cannot run on this allocation.")
        .with_param("failing", failing))
}

/// The keys that an allocation and what it could be made of have in common.
pub(crate) fn shape_faults(
    wanted: &Compatibility,
    shape: Shape,
    gpu_count: i64,
    what: &str,
) -> Vec<FieldError> {
    let mut faults = Vec::new();
    let mut note = |key: &'static str, message: String| faults.push(FieldError::new(PATH, key, message));
    let capacity = match shape {
        Shape::Baremetal => CapacityShape::Baremetal,
        Shape::GpuSlice => CapacityShape::GpuSlice,
    };
    if !wanted.requires_capacity_shape.contains(&capacity) {
        note("requires_capacity_shape", format!("The app does not run on a {} allocation.", shape.name()));
    }
    if i64::from(wanted.min_gpu_count) > gpu_count {
        note(
            "min_gpu_count",
            format!("The app needs {} GPUs, the {what} has {gpu_count}.", wanted.min_gpu_count),
        );
    }
    if wanted.requires_exclusive_node && shape != Shape::Baremetal {
        note("requires_exclusive_node", format!("The app needs a whole node; the {what} is a part of one."));
    }
    faults
}

/// O-10: each missing item is named.
pub(super) fn check_capabilities(view: &View<'_>, target: Target<'_>) -> Result<()> {
    let Some(node) = target.node else { return Ok(()) };
    let has = node.capabilities();
    let wanted = &view.manifest.compatibility;
    let real_nvidia = wanted.min_gpu_count > 0
        && target.gpus.iter().any(|gpu| !gpu.simulated && gpu.vendor == Vendor::Nvidia);
    let wanted = std::iter::once("container")
        .chain(real_nvidia.then_some("nvidia_runtime"))
        .chain(wanted.required_capabilities.iter().map(String::as_str));
    let missing: Vec<&str> = wanted.filter(|name| !has.contains(name)).collect();
    let Some(first) = missing.first() else { return Ok(()) };
    let sentence = |name: &str| format!("The node cannot do what the app needs: {name} is missing.");
    let refusal = Error::conflict("capability_missing", sentence(first)).with_param("missing", *first);
    if missing.len() == 1 {
        return Err(refusal);
    }
    let listed = missing.iter().map(|name| FieldError::new(PATH, "capability_missing", sentence(name)));
    Err(refusal.with_fields(listed.collect()))
}

/// The allocation's devices that nobody has and nothing keeps back.
pub(crate) fn free_gpus(target: Target<'_>) -> Vec<&GpuDevice> {
    let free = |gpu: &&GpuDevice| gpu.present && !gpu.quarantined && !target.gpus_in_use.contains(&gpu.id);
    target.gpus.iter().filter(free).collect()
}

/// Which of the allocation's devices it is, counted from 0.
pub(crate) fn slot_of(target: Target<'_>, device: &GpuDevice) -> u32 {
    let place = target.gpus.iter().position(|gpu| gpu.id == device.id).unwrap_or_default();
    u32::try_from(place).unwrap_or(u32::MAX)
}

/// What is free of processors (in thousandths) and memory.
pub(crate) fn free_share(target: Target<'_>) -> (i64, i64) {
    let allocation = target.allocation;
    (allocation.vcpu * 1000 - target.cpu_millis_in_use, allocation.memory_mib - target.memory_mib_in_use)
}

/// What a launch holds: more than its container gets where the app wants the node to itself.
pub(super) fn held(manifest: &Manifest, target: Target<'_>, needs: Needs) -> (i64, i64) {
    if manifest.compatibility.requires_exclusive_node {
        (target.allocation.vcpu * 1000, target.allocation.memory_mib)
    } else {
        (needs.cpu_millis, needs.memory_mib)
    }
}

pub(super) fn check_share(view: &View<'_>, target: Target<'_>, needs: Needs) -> Result<()> {
    let (held_cpu, held_memory) = held(view.manifest, target, needs);
    let (free_cpu, free_memory) = free_share(target);
    if held_cpu.max(needs.cpu_millis) <= free_cpu && held_memory.max(needs.memory_mib) <= free_memory {
        return Ok(());
    }
    Err(Error::conflict(
        "allocation_full",
        format!(
            "The launch needs {} vCPU and {held_memory} MiB; {} vCPU and {free_memory} MiB of the allocation are free.",
            cpus(held_cpu),
            cpus(free_cpu)
        ),
    )
    .with_param("free_cpu_millis", free_cpu)
    .with_param("free_memory_mib", free_memory))
}
