//! Amounts: ranges that are ranges, defaults inside them and not below what the app needs.

use std::collections::BTreeSet;
use std::fmt::Display;

use super::Faults;
use crate::manifest::{MAIN, Manifest, Range};

pub(super) fn check(manifest: &Manifest, faults: &mut Faults) {
    for (index, component) in manifest.components.iter().enumerate() {
        let at = format!("/components/{index}");
        range(&format!("{at}/gpu_count"), component.gpu_count, None, faults);
        range(&format!("{at}/tensor_parallel"), component.tensor_parallel, Some(1), faults);
        range(&format!("{at}/replicas"), component.replicas, None, faults);
    }
    let Some(resources) = &manifest.resources else { return };
    range("/resources/gpu_count", resources.gpu_count, Some(manifest.compatibility.min_gpu_count), faults);
    range("/resources/vcpu", resources.vcpu, Some(manifest.least_vcpu()), faults);
    range("/resources/memory_mib", resources.memory_mib, Some(manifest.least_memory()), faults);
    range("/resources/shared_memory_mib", resources.shared_memory_mib, None, faults);
    range("/resources/host_port", resources.host_port, Some(1024), faults);
    if let Some(placement) = &resources.gpu_placement {
        range("/resources/gpu_placement/tensor_parallel", placement.tensor_parallel, Some(1), faults);
    }
    mounts(manifest, faults);
}

fn range<T: Ord + Copy + Display>(at: &str, range: Option<Range<T>>, least: Option<T>, faults: &mut Faults) {
    let Some(Range { default, min, max }) = range else { return };
    if let (Some(min), Some(max)) = (min, max)
        && min > max
    {
        return faults.add(format!("{at}/min"), "min_above_max", "The minimum is above the maximum.");
    }
    if let Some(least) = least {
        let sentence = format!("The app needs at least {least} to run.");
        for (member, amount) in [("default", default), ("max", max)] {
            if amount.is_some_and(|amount| amount < least) {
                faults.add(format!("{at}/{member}"), "default_below_minimum", sentence.clone());
            }
        }
    }
    if let Some(default) = default
        && (min.is_some_and(|min| default < min) || max.is_some_and(|max| default > max))
    {
        faults.add(format!("{at}/default"), "out_of_range", "The default is outside min and max.");
    }
}

fn mounts(manifest: &Manifest, faults: &mut Faults) {
    let Some(resources) = &manifest.resources else { return };
    faults.names("/resources/mounts", resources.mounts.iter().map(|mount| mount.name.as_str()));
    let components: BTreeSet<&str> = if manifest.runtime_profile.is_some() {
        BTreeSet::from([MAIN])
    } else {
        manifest.components.iter().map(|component| component.name.as_str()).collect()
    };
    let containers = manifest.containers();
    let folders = containers.iter().flat_map(|(_, container)| {
        container.tmpfs.iter().map(|one| &one.path).chain(container.scratch.iter().map(|one| &one.path))
    });
    let mut taken: BTreeSet<&str> = folders.map(String::as_str).collect();
    for (index, mount) in resources.mounts.iter().enumerate() {
        let at = format!("/resources/mounts/{index}");
        if !taken.insert(&mount.path) {
            faults.add(format!("{at}/path"), "duplicate_name", "Another mount or folder has this path.");
        }
        faults.references(&format!("{at}/components"), &mount.components, &components, "component");
    }
}
