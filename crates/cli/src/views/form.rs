//! The launch form: facts, then a table of everything that can be chosen.

use gpuaas_api::form::{
    AppForm, Form, FormAddon, FormAllocation, FormComponent, FormLane, FormOffer, FormReason, FormVariant,
};
use gpuaas_domain::launch_form::ResourceField;
use serde_json::Value;

use super::{Facts, dash, simulated, yes};
use crate::units;

pub(crate) type Table = (&'static [&'static str], Vec<Vec<String>>);

impl Facts for AppForm {
    fn facts(&self) -> Vec<(&'static str, String)> {
        let Form { app, allocations, allocation_id, resources, .. } = &self.form;
        let chosen = allocations.iter().find(|one| Some(one.id) == *allocation_id);
        let mut facts = vec![
            ("app", format!("{} {} ({})", app.slug, app.version, app.version_state.name())),
            ("name", app.display_name.clone()),
        ];
        facts.extend(app.description.clone().map(|description| ("description", description)));
        let others: Vec<&str> = self
            .form
            .versions
            .iter()
            .filter(|one| one.version != app.version)
            .map(|one| one.version.as_str())
            .collect();
        if !others.is_empty() {
            facts.push(("other versions", others.join(", ")));
        }
        facts.push(("allocation", dash(chosen.map(|one| simulated(&one.name, one.simulated)))));
        facts.push(("gpus", bounded(resources.gpu_count, |count| count.to_string())));
        facts.push(("processors", bounded(resources.cpu_millis, units::cpus)));
        facts.push(("memory", bounded(resources.memory_mib, units::mib)));
        let mounts = self.form.mounts.iter();
        facts.extend(mounts.map(|mount| {
            let chosen = mount.choices.iter().find(|one| one.source.volume() == mount.value.volume());
            let title = match (mount.value.volume(), chosen) {
                (None, _) => "scratch",
                (Some(_), Some(chosen)) => chosen.title.as_str(),
                (Some(_), None) => "unknown volume",
            };
            ("storage", format!("{} at {}: {title}", mount.name, mount.path))
        }));
        facts.extend(self.form.access.iter().map(|access| {
            let title = access.title.as_deref().unwrap_or(&access.endpoint);
            ("access", format!("{title} on port {}: {}", access.port, access.value.name()))
        }));
        let prices = chosen.into_iter().flat_map(|one| &one.prices);
        facts.extend(prices.map(|price| ("price", format!("{} for the allocation", units::price(price)))));
        facts.push(("launchable", yes(self.form.launchable)));
        facts
    }
}

fn bounded(field: ResourceField, show: impl Fn(i64) -> String) -> String {
    let value = show(field.value);
    match field.max {
        Some(most) if most > field.min => format!("{value} ({} to {})", show(field.min), show(most)),
        Some(_) => value,
        None => format!("{value} (at least {})", show(field.min)),
    }
}

/// Those that have something to show, in the order of reading.
pub(crate) fn tables(shown: &AppForm) -> Vec<Table> {
    let form = &shown.form;
    let none_fits = form.allocations.iter().all(|one| !one.fits);
    let offers = form.offers.iter().filter(|_| none_fits);
    let errors = form.errors.iter().map(|error| vec![error.path.clone(), error.message.clone()]);
    let running = form.components.iter().filter(|_| form.components.len() > 1);
    let tables: [Table; 9] = [
        (&["PARAMETER", "TYPE", "VALUE", "TAKES", "ABOUT"], parameters(form)),
        (&["MIND", "WHY"], warnings(form)),
        (&["COMPONENT", "CLASS", "RUNS", "CPU", "MEMORY", "GPUS"], running.map(component).collect()),
        (
            &["ADD-ON", "CHOSEN", "CPU", "MEMORY", "STORAGE", "PART OF THE PRICE", "BRINGS", "ABOUT"],
            form.addons.iter().map(addon).collect(),
        ),
        (
            &["LANE", "GPUS", "TENSOR PARALLEL", "LEAST GPU MEMORY", "GETS"],
            form.lanes.iter().filter(|lane| lane.runs).map(lane).collect(),
        ),
        (
            &["IMAGE", "COMPONENT", "FOR", "TRUST", "CHOSEN", "WHY NOT"],
            form.variants.iter().map(variant).collect(),
        ),
        (
            &["ALLOCATION", "SKU", "GPUS", "FREE", "FITS", "WHY NOT"],
            form.allocations.iter().map(allocation).collect(),
        ),
        (&["OFFER", "SHAPE", "GPUS", "GRANTED", "FITS", "WHY NOT"], offers.map(offer).collect()),
        (&["WRONG", "WHY"], errors.collect()),
    ];
    tables.into_iter().filter(|(_, rows)| !rows.is_empty()).collect()
}

fn component(one: &FormComponent) -> Vec<String> {
    let runs = match &one.why_not {
        Some(why) => format!("no: {why}"),
        None => yes(one.runs),
    };
    let name = if one.replicas > 1 { format!("{} x{}", one.name, one.replicas) } else { one.name.clone() };
    vec![
        name,
        one.class.name().to_owned(),
        runs,
        units::cpus(one.cpu_millis),
        units::mib(one.memory_mib),
        one.gpu_count.to_string(),
    ]
}

fn addon(one: &FormAddon) -> Vec<String> {
    let chosen = match (one.chosen, one.required_by.as_slice()) {
        (true, []) => "yes".to_owned(),
        (true, others) => format!("with {}", others.join(", ")),
        (false, _) => "no".to_owned(),
    };
    let share = one.effect.share.as_ref();
    let share =
        share.map(|share| format!("{} {} per hour", units::money(share.amount_micros), share.currency));
    let about = one.description.as_ref().unwrap_or(&one.display_name);
    vec![
        one.name.clone(),
        chosen,
        units::cpus(one.effect.cpu_millis),
        units::mib(one.effect.memory_mib),
        units::mib(one.effect.storage_mib),
        dash(share),
        if one.requires.is_empty() { "-".to_owned() } else { one.requires.join(", ") },
        if one.fits { about.clone() } else { why(&one.reasons) },
    ]
}

fn lane(one: &FormLane) -> Vec<String> {
    let gpus: Vec<String> = one.gpus.iter().map(|gpu| simulated(&gpu.uuid, gpu.simulated)).collect();
    vec![
        one.name.clone(),
        bounded(one.gpu_count, |count| count.to_string()),
        bounded(one.tensor_parallel, |degree| degree.to_string()),
        dash(one.min_gpu_memory_mib.map(|mib| units::mib(i64::from(mib)))),
        if gpus.is_empty() { "-".to_owned() } else { gpus.join(", ") },
    ]
}

/// In the order of the hints, where there are any.
fn parameters(form: &Form) -> Vec<Vec<String>> {
    let Some(properties) = form.schema.get("properties").and_then(Value::as_object) else {
        return Vec::new();
    };
    let ordered = form.ui_schema.get("ui:order").and_then(Value::as_array);
    let names: Vec<&str> = match ordered {
        Some(order) => order.iter().filter_map(Value::as_str).collect(),
        None => properties.keys().map(String::as_str).collect(),
    };
    let row = |name: &&str| {
        let property = properties.get(*name)?;
        let text = |key: &str| property.get(key).and_then(Value::as_str);
        let value = match form.values.get(*name) {
            Some(Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
            None if property.get("readOnly").is_some() => "(by the platform)".to_owned(),
            None => "-".to_owned(),
        };
        let required = form.schema.get("required").and_then(Value::as_array);
        let required = required.is_some_and(|all| all.iter().any(|one| one == *name));
        let about = [text("title"), text("description")].into_iter().flatten().collect::<Vec<_>>().join(": ");
        Some(vec![
            format!("{name}{}", if required { " *" } else { "" }),
            text("format").or(text("type")).unwrap_or("-").to_owned(),
            value,
            takes(property),
            if about.is_empty() { "-".to_owned() } else { about },
        ])
    };
    names.iter().filter_map(row).collect()
}

/// What the app's author says about values like these.
fn warnings(form: &Form) -> Vec<Vec<String>> {
    let told = form.ui_schema.iter().filter_map(|(name, hints)| {
        let told = hints.get("ui:warning")?.as_str()?;
        Some(told.lines().map(|line| vec![name.clone(), line.to_owned()]).collect::<Vec<_>>())
    });
    told.flatten().collect()
}

fn takes(property: &Value) -> String {
    let shown = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    if let Some(choices) = property.get("enum").and_then(Value::as_array) {
        return choices.iter().map(shown).collect::<Vec<_>>().join(", ");
    }
    let bounds = |least: &str, most: &str, unit: &str| match (property.get(least), property.get(most)) {
        (Some(least), Some(most)) => Some(format!("{least} to {most}{unit}")),
        (Some(least), None) => Some(format!("{least}{unit} or more")),
        (None, Some(most)) => Some(format!("{most}{unit} or less")),
        (None, None) => None,
    };
    let all = [
        bounds("minimum", "maximum", ""),
        bounds("minLength", "maxLength", " characters"),
        bounds("minItems", "maxItems", " entries"),
    ];
    dash(Some(all.into_iter().flatten().collect::<Vec<_>>().join(", ")).filter(|text| !text.is_empty()))
}

fn why(reasons: &[FormReason]) -> String {
    dash(
        Some(reasons.iter().map(|reason| reason.message.as_str()).collect::<Vec<_>>().join(" "))
            .filter(|text| !text.is_empty()),
    )
}

fn variant(variant: &FormVariant) -> Vec<String> {
    let accelerators: Vec<&str> = variant.accelerators.iter().map(|vendor| vendor.name()).collect();
    vec![
        variant.name.clone().unwrap_or_else(|| variant.digest.clone()),
        variant.component.clone(),
        if accelerators.is_empty() { "no GPU".to_owned() } else { accelerators.join(", ") },
        dash(variant.trust.map(gpuaas_domain::artifact::TrustState::name)),
        yes(variant.chosen),
        why(&variant.reasons),
    ]
}

fn allocation(one: &FormAllocation) -> Vec<String> {
    let model = one.gpu_model.as_ref().map(|model| format!(" × {model}")).unwrap_or_default();
    vec![
        simulated(&one.name, one.simulated),
        one.sku.clone(),
        format!("{}{model}", one.gpu_count),
        format!(
            "{} GPUs, {} processors, {}",
            one.free.gpu_count,
            units::cpus(one.free.cpu_millis),
            units::mib(one.free.memory_mib)
        ),
        yes(one.fits),
        why(&one.reasons),
    ]
}

fn offer(offer: &FormOffer) -> Vec<String> {
    vec![
        offer.slug.clone(),
        offer.shape.name().to_owned(),
        offer.gpu_count.to_string(),
        match offer.grant_policy {
            gpuaas_api::allocations::GrantPolicy::Auto => "at once".to_owned(),
            gpuaas_api::allocations::GrantPolicy::Admin => "by an admin".to_owned(),
        },
        yes(offer.fits),
        why(&offer.reasons),
    ]
}
