//! How the parts hang together: names, dependencies, add-ons, secrets, outputs, and how many there may be.

use std::collections::{BTreeMap, BTreeSet};

use gpuaas_agent_protocol::spec::{MAX_COMPONENTS, is_denied_env};

use super::Faults;
use crate::manifest::{Injection, MAIN, Manifest, ManifestComponent, Topology};

/// Members of one instance, whatever a topology says.
const MAX_MEMBERS: u32 = 64;
/// Inputs of a build that a manifest names.
const MAX_BUILD_INPUTS: usize = 64;
/// Containers of one role, whatever a topology says.
const MAX_REPLICAS: u32 = 64;

pub(super) fn check(manifest: &Manifest, faults: &mut Faults) {
    let components: BTreeSet<&str> = if manifest.runtime_profile.is_some() {
        BTreeSet::from([MAIN])
    } else {
        manifest.components.iter().map(|component| component.name.as_str()).collect()
    };
    faults.names("/components", manifest.components.iter().map(|component| component.name.as_str()));
    lanes(manifest, faults);
    lanes_together(manifest, faults);
    images(manifest, faults);
    dependencies(manifest, &components, faults);
    addons(manifest, &components, faults);
    secrets(manifest, &components, faults);
    outputs(manifest, &components, faults);
    validation(manifest, &components, faults);
    topology(manifest, &components, faults);
}

/// A lane is asked for by its name, or by its component's where it has none; either means one component, with devices that
/// it shares with nobody. What a launch without choices gets must be one that can start.
fn lanes(manifest: &Manifest, faults: &mut Faults) {
    let mut seen = BTreeSet::new();
    for (index, component) in manifest.components.iter().enumerate() {
        let at = format!("/components/{index}");
        if let Some(gpus) = component.gpu_count {
            let replicas = component.replicas.unwrap_or_default();
            if [replicas.min, replicas.default].into_iter().flatten().any(|count| count > 1) {
                let sentence = "Replicas would share the lane's GPUs; make each a lane of its own.";
                faults.add(format!("{at}/replicas"), "exclusive_blocks", sentence);
            }
            let count = gpus.default.or(gpus.min).unwrap_or(0);
            let degree = component.tensor_parallel.and_then(|degrees| degrees.default).unwrap_or(count);
            if count > 0 && (degree == 0 || !count.is_multiple_of(degree)) {
                let sentence =
                    format!("By default the lane has {count} GPUs, which no groups of {degree} come to.");
                faults.add(format!("{at}/tensor_parallel/default"), "tensor_parallel_mismatch", sentence);
            }
        } else if component.lane.is_some() {
            let sentence = "A lane has GPUs of its own: say how many.";
            faults.add(format!("{at}/gpu_count"), "missing_field", sentence);
        }
        let named = component.lane.as_deref();
        let Some(lane) = named.or(component.gpu_count.map(|_| component.name.as_str())) else { continue };
        if !seen.insert(lane) {
            let member = if named.is_some() { "lane" } else { "name" };
            let sentence = "Another component is the lane of this name; each lane has its own.";
            faults.add(format!("{at}/{member}"), "duplicate_name", sentence);
        }
    }
}

/// What is said of the whole launch must agree with what its lanes say.
fn lanes_together(manifest: &Manifest, faults: &mut Faults) {
    let is_own =
        |name: &str| !manifest.addons.iter().any(|addon| addon.components.iter().any(|one| one == name));
    let lanes = manifest.components.iter().filter(|one| one.gpu_count.is_some() && is_own(&one.name));
    let lanes: Vec<_> = lanes.collect();
    let Some(whole) = manifest.resources.as_ref().and_then(|resources| resources.gpu_count) else { return };
    // Which of them run is not known before a launch.
    if lanes.is_empty() || lanes.iter().any(|lane| lane.when.is_some()) {
        return;
    }
    let usual =
        |lane: &&ManifestComponent| lane.gpu_count.and_then(|gpus| gpus.default.or(gpus.min)).unwrap_or(0);
    let count = lanes.iter().map(usual).fold(0_u32, u32::saturating_add);
    let sentence = format!("The lanes take {count} GPUs by default; say the same here, or leave it out.");
    if whole.default.is_some_and(|default| default != count) {
        faults.add("/resources/gpu_count/default", "gpu_total_mismatch", sentence);
    } else if whole.min.is_some_and(|least| count < least) {
        faults.add("/resources/gpu_count/min", "gpu_total_mismatch", sentence);
    } else if whole.max.is_some_and(|most| count > most) {
        faults.add("/resources/gpu_count/max", "gpu_total_mismatch", sentence);
    }
}

fn images(manifest: &Manifest, faults: &mut Faults) {
    faults.names("/artifacts", manifest.artifacts.iter().map(|artifact| artifact.name.as_str()));
    for (index, artifact) in manifest.artifacts.iter().enumerate() {
        let names = artifact.variants.iter().map(|variant| variant.name.as_str());
        faults.names(&format!("/artifacts/{index}/variants"), names);
        if artifact.source.as_ref().is_some_and(|source| source.build_inputs.len() > MAX_BUILD_INPUTS) {
            let at = format!("/artifacts/{index}/source/build_inputs");
            faults.add(at, "out_of_range", format!("At most {MAX_BUILD_INPUTS} inputs."));
        }
    }
    let known = manifest.artifacts.iter().map(|artifact| artifact.name.as_str()).collect();
    for (at, container) in manifest.containers() {
        if let Some(artifact) = container.artifact {
            faults.reference(format!("{at}/artifact"), artifact, &known, "artifact");
        }
    }
    for (index, component) in manifest.components.iter().enumerate() {
        match (&component.image_ref, &component.artifact) {
            (None, None) => {
                let at = format!("/components/{index}/image_ref");
                faults.add(at, "missing_field", "Name the image: image_ref, or artifact.");
            }
            (Some(_), Some(_)) => {
                let at = format!("/components/{index}/artifact");
                faults.add(at, "exclusive_blocks", "Either image_ref or artifact names the image, not both.");
            }
            (Some(_), None) | (None, Some(_)) => {}
        }
    }
}

/// Start order follows the dependencies, so there must be one.
fn dependencies(manifest: &Manifest, known: &BTreeSet<&str>, faults: &mut Faults) {
    for (index, component) in manifest.components.iter().enumerate() {
        faults.references(
            &format!("/components/{index}/depends_on"),
            &component.depends_on,
            known,
            "component",
        );
    }
    let needs = manifest.components.iter().map(|one| (one.name.as_str(), one.depends_on.as_slice()));
    if let Some(index) = first_in_a_circle(needs) {
        let sentence = "These components wait for each other, so none could start.";
        faults.add(format!("/components/{index}/depends_on"), "dependency_cycle", sentence);
    }
}

/// The first of those that lead back to themselves, or to such. What nobody knows is somebody else's fault.
fn first_in_a_circle<'m>(entries: impl Iterator<Item = (&'m str, &'m [String])>) -> Option<usize> {
    let entries: Vec<_> = entries.collect();
    let known: BTreeSet<&str> = entries.iter().map(|(name, _)| *name).collect();
    let mut waiting: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (name, needs) in &entries {
        let needs = needs.iter().map(String::as_str).filter(|name| known.contains(name));
        waiting.entry(name).or_default().extend(needs);
    }
    while let Some(ready) = waiting.iter().find(|(_, needs)| needs.is_empty()).map(|(name, _)| *name) {
        waiting.remove(ready);
        for needs in waiting.values_mut() {
            needs.remove(ready);
        }
    }
    entries.iter().position(|(name, _)| waiting.contains_key(name))
}

fn addons(manifest: &Manifest, components: &BTreeSet<&str>, faults: &mut Faults) {
    faults.names("/addons", manifest.addons.iter().map(|addon| addon.name.as_str()));
    let known: BTreeSet<&str> = manifest.addons.iter().map(|addon| addon.name.as_str()).collect();
    for (index, addon) in manifest.addons.iter().enumerate() {
        faults.references(&format!("/addons/{index}/components"), &addon.components, components, "component");
        faults.references(&format!("/addons/{index}/requires"), &addon.requires, &known, "add-on");
    }
    let needs = manifest.addons.iter().map(|addon| (addon.name.as_str(), addon.requires.as_slice()));
    if let Some(index) = first_in_a_circle(needs) {
        let sentence = "These add-ons require each other, so none can be chosen alone; make them one.";
        faults.add(format!("/addons/{index}/requires"), "dependency_cycle", sentence);
    }
}

fn secrets(manifest: &Manifest, components: &BTreeSet<&str>, faults: &mut Faults) {
    faults.names("/secrets", manifest.secrets.iter().map(|secret| secret.name.as_str()));
    for (index, secret) in manifest.secrets.iter().enumerate() {
        faults.references(
            &format!("/secrets/{index}/components"),
            &secret.components,
            components,
            "component",
        );
        let (at, variable) = match &secret.inject {
            Injection::File { env } => {
                if !env.ends_with("_FILE") {
                    let at = format!("/secrets/{index}/inject/env");
                    faults.add(at, "invalid_value", "The variable holds a path; its name ends in _FILE.");
                }
                ("env", env)
            }
            Injection::Env { name } => ("name", name),
        };
        if is_denied_env(variable) {
            let at = format!("/secrets/{index}/inject/{at}");
            faults.add(at, "reserved_env_name", "This variable is not an app's to set.");
        }
    }
    let known: BTreeSet<&str> = manifest.secrets.iter().map(|secret| secret.name.as_str()).collect();
    for (at, container) in manifest.containers() {
        for (index, variable) in container.env.iter().enumerate() {
            if let Some(name) = variable.value.strip_prefix("secret://") {
                faults.reference(format!("{at}/env/{index}/value"), name, &known, "secret in secrets");
            }
        }
    }
}

fn outputs(manifest: &Manifest, components: &BTreeSet<&str>, faults: &mut Faults) {
    let Some(outputs) = &manifest.outputs else { return };
    faults.names("/outputs/endpoints", outputs.endpoints.iter().map(|endpoint| endpoint.name.as_str()));
    for (index, endpoint) in outputs.endpoints.iter().enumerate() {
        let at = format!("/outputs/endpoints/{index}");
        component_of(&at, endpoint.component.as_deref(), components, faults);
        let declared = |(_, container): &(String, super::super::runtime::Container<'_>)| {
            container.ports.iter().any(|port| port.container == endpoint.port)
        };
        if !manifest.containers().iter().any(declared) {
            faults.add(format!("{at}/port"), "unknown_reference", "No component declares this port.");
        }
    }
    let endpoints = outputs.endpoints.iter().map(|endpoint| endpoint.name.as_str()).collect();
    let addons = manifest.addons.iter().map(|addon| addon.name.as_str()).collect();
    for (index, dashboard) in outputs.dashboards.iter().enumerate() {
        let at = format!("/outputs/dashboards/{index}");
        faults.reference(format!("{at}/endpoint"), &dashboard.endpoint, &endpoints, "endpoint");
        if let Some(addon) = &dashboard.addon {
            faults.reference(format!("{at}/addon"), addon, &addons, "add-on");
        }
    }
}

/// A part of a composition says whose it is; with one component there is nothing to say.
fn component_of(at: &str, name: Option<&str>, components: &BTreeSet<&str>, faults: &mut Faults) {
    match name {
        Some(name) => faults.reference(format!("{at}/component"), name, components, "component"),
        None if components.len() > 1 => {
            faults.add(
                format!("{at}/component"),
                "missing_field",
                "There are several components: say which.",
            );
        }
        None => {}
    }
}

fn validation(manifest: &Manifest, components: &BTreeSet<&str>, faults: &mut Faults) {
    let Some(validation) = &manifest.validation else { return };
    faults.names("/validation/smoke", validation.smoke.iter().map(|test| test.name.as_str()));
    for (index, test) in validation.smoke.iter().enumerate() {
        let at = format!("/validation/smoke/{index}");
        component_of(&at, test.component.as_deref(), components, faults);
    }
    faults.references("/validation/readiness_gates", &validation.readiness_gates, components, "component");
    let parameters = manifest.parameters.keys().map(String::as_str).collect();
    for (index, rule) in validation.rules.iter().enumerate() {
        if let Some(parameter) = &rule.parameter {
            faults.reference(
                format!("/validation/rules/{index}/parameter"),
                parameter,
                &parameters,
                "parameter",
            );
        }
    }
}

fn topology(manifest: &Manifest, components: &BTreeSet<&str>, faults: &mut Faults) {
    const CODE: &str = "composition_limit_exceeded";
    let empty = Topology { members: Vec::new(), max_services: None, max_replicas: None, max_members: None };
    let topology = manifest.topology.as_ref().unwrap_or(&empty);
    let limit = |declared: Option<u32>, ours: u32| declared.map_or(ours, |declared| declared.min(ours));

    let most_services = limit(topology.max_services, u32::try_from(MAX_COMPONENTS).unwrap_or(u32::MAX));
    let most_replicas = limit(topology.max_replicas, MAX_REPLICAS);
    if manifest.components.len() as u64 > u64::from(most_services) {
        faults.add("/components", CODE, format!("At most {most_services} components run in one instance."));
    }
    for (index, component) in manifest.components.iter().enumerate() {
        let range = component.replicas.unwrap_or_default();
        if [range.min, range.default, range.max].into_iter().flatten().any(|count| count > most_replicas) {
            let at = format!("/components/{index}/replicas");
            faults.add(at, CODE, format!("At most {most_replicas} replicas of one component."));
        }
    }
    let most_members = limit(topology.max_members, MAX_MEMBERS);
    let mut members = 0_u32;
    let mut roles = BTreeSet::new();
    for (index, member) in topology.members.iter().enumerate() {
        let at = format!("/topology/members/{index}");
        if member.min > member.max {
            faults.add(format!("{at}/min"), "min_above_max", "The minimum is above the maximum.");
        }
        if !roles.insert(member.role) {
            faults.add(format!("{at}/role"), "duplicate_name", "The role stands in the list twice.");
        }
        members = members.saturating_add(member.max);
        if members > most_members {
            faults.add(format!("{at}/max"), CODE, format!("At most {most_members} members in all."));
        }
        faults.references(&format!("{at}/components"), &member.components, components, "component");
    }
}
