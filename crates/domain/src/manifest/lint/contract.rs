//! A contract that can be kept: nothing twice, and states that go with the rest.

use std::collections::BTreeSet;

use super::Faults;
use crate::lifecycle::Status;
use crate::manifest::Manifest;

pub(super) fn check(manifest: &Manifest, faults: &mut Faults) {
    let Some(contract) = &manifest.contract else { return };
    let states = &contract.lifecycle_states;
    once("/contract/lifecycle_states", states, faults);
    once("/contract/failure_reasons", &contract.failure_reasons, faults);
    once("/contract/observability/fields", &contract.observability.fields, faults);
    once("/contract/observability/metrics", &contract.observability.metrics, faults);
    let lacks = |state: Status| !states.is_empty() && !states.contains(&state);
    let mut incomplete = |sentence: &str| {
        faults.add("/contract/lifecycle_states", "contract_incomplete", sentence);
    };
    if lacks(Status::Running) {
        incomplete("An app is launched to run: add running.");
    }
    if lacks(Status::Failed) && !contract.failure_reasons.is_empty() {
        incomplete("There are failure_reasons, so instances can fail: add failed.");
    }
}

fn once<T: Ord>(at: &str, entries: &[T], faults: &mut Faults) {
    let mut seen = BTreeSet::new();
    for (index, entry) in entries.iter().enumerate() {
        if !seen.insert(entry) {
            faults.add(format!("{at}/{index}"), "duplicate_name", "This stands in the list already.");
        }
    }
}
