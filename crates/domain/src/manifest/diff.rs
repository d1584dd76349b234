//! What changes for people between two manifests: what they choose, what they get, what it may cost, what it may do.
//!
//! Each manifest is told as facts (area, subject, aspect, value); two lists of facts are compared. So a fact that is shown is
//! a fact that is compared, and texts, order and spelling that nobody notices make no difference.

use std::collections::{BTreeMap, BTreeSet};

use gpuaas_agent_protocol::Digest;
use gpuaas_agent_protocol::image::ImageRef;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{Chart, Component, Manifest, Parameter, ParameterOwner, Range};
use crate::event::canonical;

/// What a change is about, in the order in which it is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Area {
    Identity,
    /// What a launch may choose.
    Parameters,
    Artifacts,
    /// Amounts, and with them the price.
    Resources,
    /// What the app may do and who reaches it.
    Rights,
    /// How it is known that it works, and what may be counted on.
    Checks,
    Notes,
}

impl Area {
    pub const ALL: [Self; 7] = [
        Self::Identity,
        Self::Parameters,
        Self::Artifacts,
        Self::Resources,
        Self::Rights,
        Self::Checks,
        Self::Notes,
    ];

    pub fn title(self) -> &'static str {
        match self {
            Self::Identity => "Identity",
            Self::Parameters => "Parameters",
            Self::Artifacts => "Images",
            Self::Resources => "Resources",
            Self::Rights => "What the app may do",
            Self::Checks => "How it is checked",
            Self::Notes => "Notes",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    Added,
    Removed,
    Changed,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Change {
    pub area: Area,
    pub kind: Kind,
    /// Such as `model` or `memory`.
    pub subject: String,
    /// Which side of the subject; `None` where the whole subject came or went.
    pub aspect: Option<String>,
    pub before: Option<Value>,
    pub after: Option<Value>,
}

type Facts = BTreeMap<(Area, String), BTreeMap<String, Value>>;

/// Everything that differs, in the order of areas and subjects. Of a manifest and itself: nothing.
pub fn diff(before: &Manifest, after: &Manifest) -> Vec<Change> {
    let (before, after) = (facts(before), facts(after));
    let subjects: BTreeSet<&(Area, String)> = before.keys().chain(after.keys()).collect();
    let mut changes = Vec::new();
    for key in subjects {
        let (area, subject) = key;
        let change = |kind, aspect: Option<&String>, before: Option<Value>, after: Option<Value>| Change {
            area: *area,
            kind,
            subject: subject.clone(),
            aspect: aspect.filter(|aspect| !aspect.is_empty()).cloned(),
            before,
            after,
        };
        match (before.get(key), after.get(key)) {
            (Some(old), Some(new)) => {
                let aspects: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
                for aspect in aspects.into_iter().filter(|aspect| old.get(*aspect) != new.get(*aspect)) {
                    let (old, new) = (old.get(aspect).cloned(), new.get(aspect).cloned());
                    changes.push(change(Kind::Changed, Some(aspect), old, new));
                }
            }
            (Some(old), None) => changes.push(change(Kind::Removed, None, Some(whole(old)), None)),
            (None, Some(new)) => changes.push(change(Kind::Added, None, None, Some(whole(new)))),
            (None, None) => {}
        }
    }
    changes
}

/// A subject with one nameless aspect is that aspect's value.
fn whole(aspects: &BTreeMap<String, Value>) -> Value {
    match aspects.get("") {
        Some(only) if aspects.len() == 1 => only.clone(),
        _ => aspects.iter().map(|(name, value)| (name.clone(), value.clone())).collect(),
    }
}

struct Teller(Facts);

impl Teller {
    /// Nothing and empty lists are no facts, but an empty list may be what a user gets.
    fn tell(&mut self, area: Area, subject: &str, aspect: &str, value: impl Serialize) {
        let value = serde_json::to_value(value).unwrap_or_default();
        let empty = !["default", "fixed"].contains(&aspect) && value.as_array().is_some_and(Vec::is_empty);
        if !value.is_null() && !empty {
            self.0.entry((area, subject.to_owned())).or_default().insert(aspect.to_owned(), value);
        }
    }
}

fn facts(manifest: &Manifest) -> Facts {
    let mut told = Teller(Facts::new());
    identity(manifest, &mut told);
    for (name, parameter) in &manifest.parameters {
        self::parameter(name, parameter, &mut told);
    }
    if let Some(hints) = &manifest.ui_hints {
        for (name, hint) in &hints.fields {
            told.tell(Area::Parameters, name, "warning", &hint.warning);
            told.tell(Area::Parameters, name, "shown when", &hint.when);
            told.tell(Area::Parameters, name, "warnings", &hint.warnings);
        }
    }
    for step in &manifest.migrations {
        // Several steps may be for the same versions, and their order counts.
        let subject = format!("values from {}", step.from.as_str());
        let place = told.0.get(&(Area::Parameters, subject.clone())).map_or(1, |known| known.len() + 1);
        told.tell(Area::Parameters, &subject, &format!("step {place}"), step);
    }
    artifacts(manifest, &mut told);
    if let Some(chart) = &manifest.chart {
        self::chart(chart, &mut told);
    }
    resources(manifest, &mut told);
    rights(manifest, &mut told);
    checks(manifest, &mut told);
    told.tell(Area::Notes, "notes", "", &manifest.notes);
    told.tell(Area::Notes, "description", "", &manifest.description);
    for variant in manifest.artifacts.iter().flat_map(|artifact| &artifact.variants) {
        told.tell(Area::Notes, &format!("variant {}", variant.name), "", &variant.notes);
    }
    told.0
}

fn identity(manifest: &Manifest, told: &mut Teller) {
    let area = Area::Identity;
    told.tell(area, "app", "", manifest.slug.as_str());
    told.tell(area, "version", "", manifest.version.as_str());
    told.tell(area, "name", "", manifest.display_name.as_str());
    told.tell(area, "publisher", "", manifest.publisher.as_ref().map(crate::text::DisplayName::as_str));
    told.tell(area, "support", "", manifest.support_level);
    told.tell(area, "kind", "", manifest.artifact_kind);
    told.tell(area, "meter", "", manifest.metering.as_ref().map(|metering| metering.kind));
    told.tell(area, "page", "", manifest.ui.as_ref().map(|ui| &ui.path));
}

fn parameter(name: &str, parameter: &Parameter, told: &mut Teller) {
    let mut aspect = |aspect: &str, value: Value| told.tell(Area::Parameters, name, aspect, value);
    aspect("type", json!(parameter.kind));
    aspect("default", json!(parameter.default));
    aspect("choices", json!(parameter.choices));
    aspect("minimum", json!(parameter.minimum));
    aspect("maximum", json!(parameter.maximum));
    aspect("least characters", json!(parameter.min_length));
    aspect("most characters", json!(parameter.max_length));
    aspect("least entries", json!(parameter.min_items));
    aspect("most entries", json!(parameter.max_items));
    aspect("pattern", json!(parameter.pattern));
    aspect("format", json!(parameter.format));
    aspect("entries", json!(parameter.items.as_ref().map(|items| items.kind)));
    aspect("choices of entries", json!(parameter.items.as_ref().map_or(&[][..], |items| &items.choices)));
    aspect("required", json!(parameter.required.then_some(true)));
    let platforms = parameter.owner == ParameterOwner::Platform;
    aspect("owner", json!(platforms.then_some(parameter.owner)));
    aspect("when", json!(parameter.when));
}

/// What tells one image from another; the host is the environment's.
fn image(reference: &ImageRef) -> Value {
    json!(format!("{}@{}", reference.repository(), reference.digest()))
}

fn artifacts(manifest: &Manifest, told: &mut Teller) {
    told.tell(Area::Artifacts, "artifact", "", image(&manifest.artifact_ref));
    let profile = manifest.expand();
    for component in &profile.components {
        for one in &component.images {
            let subject = match &one.variant {
                Some(variant) => format!("{} ({variant})", component.name),
                None => component.name.clone(),
            };
            told.tell(Area::Artifacts, &subject, "image", image(&one.reference));
            told.tell(Area::Artifacts, &subject, "accelerators", &one.accelerators);
            told.tell(Area::Artifacts, &subject, "GPU models", &one.gpu_models);
        }
    }
}

/// Which chart, and every value that is set of it. Its own files are told by their digests.
fn chart(chart: &Chart, told: &mut Teller) {
    let digest = |of: &Map<String, Value>| {
        (!of.is_empty()).then(|| Digest::of(canonical(&json!(of)).as_bytes()).to_string())
    };
    told.tell(Area::Artifacts, "chart", "name", &chart.name);
    told.tell(Area::Artifacts, "chart", "version", &chart.version);
    told.tell(Area::Artifacts, "chart", "schema", digest(&chart.values_schema));
    told.tell(Area::Artifacts, "chart", "defaults", digest(&chart.defaults));
    for one in &chart.set {
        let subject = format!("chart value {}", one.path);
        told.tell(Area::Rights, &subject, "computed", &one.value);
        told.tell(Area::Rights, &subject, "fixed", &one.literal);
    }
}

fn range<T: Serialize>(told: &mut Teller, subject: &str, range: &Range<T>) {
    told.tell(Area::Resources, subject, "default", &range.default);
    told.tell(Area::Resources, subject, "minimum", &range.min);
    told.tell(Area::Resources, subject, "maximum", &range.max);
}

fn resources(manifest: &Manifest, told: &mut Teller) {
    let area = Area::Resources;
    let profile = manifest.expand();
    range(told, "GPUs", &profile.gpu_count);
    range(told, "processors", &profile.vcpu);
    range(told, "memory MiB", &profile.memory_mib);
    range(told, "shared memory MiB", &profile.shared_memory_mib);
    for component in &profile.components {
        let of = |what: &str| format!("{} {what}", component.name);
        if let Some(gpus) = &component.gpu_count {
            range(told, &of("GPUs"), gpus);
        }
        if let Some(degree) = &component.tensor_parallel {
            range(told, &of("tensor parallel"), degree);
        }
        if profile.components.len() > 1 {
            range(told, &of("replicas"), &component.replicas);
            told.tell(area, &of("memory MiB"), "minimum", component.resources.min_memory_mib);
            told.tell(area, &of("processors"), "minimum", component.resources.min_vcpu);
        }
    }
    let needs = &manifest.compatibility;
    told.tell(area, "capacity", "shapes", &needs.requires_capacity_shape);
    told.tell(area, "capacity", "accelerators", &needs.supported_accelerators);
    told.tell(area, "capacity", "memory of each GPU MiB", needs.min_gpu_memory_mib);
    told.tell(area, "capacity", "capabilities", &needs.required_capabilities);
    told.tell(area, "capacity", "exclusive node", needs.requires_exclusive_node.then_some(true));
    for addon in &manifest.addons {
        told.tell(area, &format!("add-on {}", addon.name), "storage MiB", addon.storage_mib);
    }
}

fn rights(manifest: &Manifest, told: &mut Teller) {
    let area = Area::Rights;
    let profile = manifest.expand();
    for component in &profile.components {
        container(component, told);
    }
    for mount in &profile.mounts {
        let subject = format!("mount {}", mount.name);
        told.tell(area, &subject, "path", &mount.path);
        told.tell(area, &subject, "kind", mount.kind);
        told.tell(area, &subject, "read only", mount.read_only.then_some(true));
        told.tell(area, &subject, "required", mount.required.then_some(true));
        told.tell(area, &subject, "least MiB", mount.min_size_mib);
        told.tell(area, &subject, "components", &mount.components);
    }
    for secret in &manifest.secrets {
        let subject = format!("secret {}", secret.name);
        told.tell(area, &subject, "kind", secret.kind);
        told.tell(area, &subject, "required", secret.required);
        told.tell(area, &subject, "injected", &secret.inject);
        told.tell(area, &subject, "components", &secret.components);
    }
    for addon in &manifest.addons {
        let subject = format!("add-on {}", addon.name);
        told.tell(area, &subject, "kind", addon.kind);
        told.tell(area, &subject, "components", &addon.components);
        told.tell(area, &subject, "requires", &addon.requires);
    }
    told.tell(area, "engines", "", &profile.engines);
    told.tell(area, "renderer", "", &profile.renderer);
    if let Some(operation) = &manifest.operation {
        told.tell(area, "operation", "modes", &operation.modes);
        told.tell(area, "operation", "scope", operation.scope);
    }
}

fn checks(manifest: &Manifest, told: &mut Teller) {
    let area = Area::Checks;
    if let Some(validation) = &manifest.validation {
        for test in &validation.smoke {
            let subject = format!("smoke {}", test.name);
            told.tell(area, &subject, "component", &test.component);
            told.tell(area, &subject, "check", &test.check);
            told.tell(area, &subject, "when", &test.when);
            told.tell(area, &subject, "seconds", test.timeout_seconds);
        }
        for rule in &validation.rules {
            told.tell(area, &format!("rule {}", rule.rule), "message", &rule.message);
        }
        told.tell(area, "readiness gates", "", &validation.readiness_gates);
    }
    if let Some(contract) = &manifest.contract {
        told.tell(area, "contract", "states", &contract.lifecycle_states);
        told.tell(area, "contract", "failure reasons", &contract.failure_reasons);
        told.tell(area, "contract", "observed fields", &contract.observability.fields);
        told.tell(area, "contract", "metrics", &contract.observability.metrics);
    }
}

fn container(component: &Component, told: &mut Teller) {
    let area = Area::Rights;
    let name = &component.name;
    told.tell(area, name, "class", component.class);
    told.tell(area, name, "egress", component.egress);
    told.tell(area, name, "user", component.user);
    told.tell(area, name, "read-only root", component.read_only_root);
    told.tell(area, name, "command", &component.command);
    told.tell(area, name, "when", &component.when);
    for variable in &component.env {
        told.tell(area, name, &format!("variable {}", variable.name), &variable.value);
    }
    for port in &component.ports {
        let subject = format!("{name} port {}", port.container);
        told.tell(area, &subject, "expose", port.expose);
        told.tell(area, &subject, "name", &port.name);
        told.tell(area, &subject, "policy", &port.policy);
    }
}
