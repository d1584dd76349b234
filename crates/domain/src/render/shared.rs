//! What several renderers say in the same way.

use std::collections::BTreeMap;

use gpuaas_agent_protocol::inventory::Vendor;
use gpuaas_agent_protocol::spec::GpuBinding;
use uuid::Uuid;

use super::Gap;
use super::input::{ComponentInput, RenderInput};
use crate::manifest::{ComponentClass, Injection};

/// Where a container finds what only it may read.
pub(super) const SECRETS_PATH: &str = "/run/gpuaas/secrets";

pub(super) const INSTANCE: &str = "gpuaas.instance";
pub(super) const COMPONENT: &str = "gpuaas.component";

/// Everything of the instance carries these, in every revision: an engine makes a network or volume anew whose labels have
/// changed.
pub(super) fn labels(input: &RenderInput) -> BTreeMap<&'static str, String> {
    let identity = &input.identity;
    BTreeMap::from([
        (INSTANCE, identity.instance_id.to_string()),
        ("gpuaas.project", identity.project_id.to_string()),
        ("gpuaas.app", identity.app_slug.to_string()),
    ])
}

/// And what belongs to one component these too.
pub(super) fn component_labels(
    input: &RenderInput,
    component: &ComponentInput,
) -> BTreeMap<&'static str, String> {
    let mut labels = labels(input);
    labels.insert(COMPONENT, component.name.clone());
    labels.insert("gpuaas.revision", input.identity.revision.to_string());
    labels.insert("gpuaas.class", class_name(component.class).to_owned());
    if let Some(lane) = &component.lane {
        labels.insert("gpuaas.lane", lane.clone());
    }
    labels
}

fn class_name(class: ComponentClass) -> &'static str {
    match class {
        ComponentClass::Primary => "primary",
        ComponentClass::Gateway => "gateway",
        ComponentClass::Sidecar => "sidecar",
        ComponentClass::Addon => "addon",
    }
}

/// A name that is the instance's alone in the whole engine.
pub(super) fn instance_name(input: &RenderInput) -> String {
    format!("gpuaas-{}", input.identity.instance_id)
}

/// Variables of the profile and those that say where the secrets are; what the platform adds comes from elsewhere.
pub(super) fn variables(component: &ComponentInput) -> BTreeMap<String, String> {
    let own = component.env.iter().map(|variable| (variable.name.clone(), variable.value.clone()));
    let files = component.secrets.iter().filter_map(|secret| match &secret.inject {
        Injection::File { env } => Some((env.clone(), format!("{SECRETS_PATH}/{}", secret.name))),
        Injection::Env { .. } => None,
    });
    own.chain(files).collect()
}

pub(super) fn has_secret_files(component: &ComponentInput) -> bool {
    component.secrets.iter().any(|secret| matches!(secret.inject, Injection::File { .. }))
}

/// The devices that exist, of one vendor.
pub(super) fn real(gpus: &[GpuBinding], vendor: Vendor) -> Vec<&str> {
    gpus.iter().filter(|gpu| !gpu.simulated && gpu.vendor == vendor).map(|gpu| gpu.uuid.as_str()).collect()
}

/// What a container is told about its devices. Where it has none of NVIDIA's, an image that asks for all gets none.
pub(super) fn gpu_variables(gpus: &[GpuBinding]) -> Vec<(&'static str, String)> {
    let mut variables = Vec::new();
    if real(gpus, Vendor::Nvidia).is_empty() {
        variables.push(("NVIDIA_VISIBLE_DEVICES", "void".to_owned()));
    }
    if gpus.iter().any(|gpu| gpu.simulated) {
        variables.push(("GPUAAS_GPUS_SIMULATED", "1".to_owned()));
    }
    variables
}

/// Engines that name things by the instance need one.
pub(super) fn check_identity(input: &RenderInput) -> Vec<Gap> {
    if input.identity.instance_id.uuid() != Uuid::nil() && input.identity.project_id.uuid() != Uuid::nil() {
        return Vec::new();
    }
    let message = "This is a plan: there is no instance yet that things could be named by.";
    vec![Gap::refuse("/identity/instance_id", "identity_missing", message)]
}

/// Gaps are told in the order of the input, whatever looked for them first.
pub(super) fn each_component(
    input: &RenderInput,
    mut look: impl FnMut(&str, &ComponentInput, &mut Vec<Gap>),
) -> Vec<Gap> {
    let mut gaps = Vec::new();
    for (index, component) in input.components.iter().enumerate() {
        look(&format!("/components/{index}"), component, &mut gaps);
    }
    gaps
}
