//! Steps from older values that can be taken, and that lead to parameters of this version.

use std::collections::BTreeSet;

use super::Faults;
use crate::launch_form::values::check as check_value;
use crate::manifest::migration::fate;
use crate::manifest::walk::join;
use crate::manifest::{Manifest, Migration, ParameterOwner};

/// Names in one map.
const MAX_NAMES: usize = 128;

pub(super) fn check(manifest: &Manifest, faults: &mut Faults) {
    for (index, step) in manifest.migrations.iter().enumerate() {
        let at = format!("/migrations/{index}");
        range(&at, step, manifest, faults);
        each_name_once(&at, step, faults);
        targets(&at, index, manifest, faults);
    }
}

fn range(at: &str, step: &Migration, manifest: &Manifest, faults: &mut Faults) {
    let at = format!("{at}/from");
    if step.from.is_empty() {
        faults.add(at, "min_above_max", "No version is between these bounds.");
    } else if !step.from.is_below(&manifest.version) {
        let sentence = "Values come from versions below this one: give it an upper bound, as in <2.0.0.";
        faults.add(at, "migration_not_below", sentence);
    }
}

/// So the order within a step makes no difference, and nothing goes in circles.
fn each_name_once(at: &str, step: &Migration, faults: &mut Faults) {
    if step.rename.is_empty() && step.remove.is_empty() && step.set.is_empty() {
        faults.add(at, "missing_field", "Say what becomes of the values: rename, remove or set.");
    }
    for (field, count) in [("rename", step.rename.len()), ("set", step.set.len())] {
        if count > MAX_NAMES {
            faults.add(format!("{at}/{field}"), "out_of_range", format!("At most {MAX_NAMES} names."));
        }
    }
    let mut seen = BTreeSet::new();
    for (place, name) in step.names() {
        if !seen.insert(name) {
            let sentence =
                "A name stands in one step once, as what is renamed, its new name, removed or set.";
            faults.add(format!("{at}{place}"), "migration_conflict", sentence);
        }
    }
}

/// What a step leaves is a parameter that users set, or becomes one in a later step.
fn targets(at: &str, index: usize, manifest: &Manifest, faults: &mut Faults) {
    let users = manifest.parameters.iter().filter(|(_, one)| one.owner == ParameterOwner::User);
    let known: BTreeSet<&str> = users.map(|(name, _)| name.as_str()).collect();
    let step = &manifest.migrations[index];
    for (old, new) in &step.rename {
        if let Some(last) = fate(manifest, index, new) {
            faults.reference(join(&format!("{at}/rename"), old), last, &known, "parameter of users");
        }
    }
    for (name, value) in &step.set {
        let place = join(&format!("{at}/set"), name);
        let Some(last) = fate(manifest, index, name) else { continue };
        faults.reference(place.clone(), last, &known, "parameter of users");
        if let Some(parameter) = manifest.parameters.get(last) {
            for fault in check_value(&place, parameter, value).err().into_iter().flatten() {
                faults.add(fault.path, fault.code, fault.message);
            }
        }
    }
}
