//! Parameters that can be met: bounds in order, defaults that the parameter itself would accept, hints that exist.

use std::collections::BTreeSet;

use serde_json::Value;

use super::Faults;
use crate::launch_form::values::{check as check_value, compile};
use crate::manifest::walk::join;
use crate::manifest::{ItemType, Items, Manifest, Parameter, ParameterOwner, ParameterType};

/// Names that ask a user for a place on some disk.
const PATH_NAMES: &[&str] = &[
    "workspace_path",
    "workspace_dir",
    "mount_path",
    "host_path",
    "data_path",
    "storage_path",
    "volume_path",
];
const MAX_PARAMETERS: usize = 128;

pub(super) fn check(manifest: &Manifest, faults: &mut Faults) {
    if manifest.parameters.len() > MAX_PARAMETERS {
        faults.add("/parameters", "out_of_range", format!("At most {MAX_PARAMETERS} parameters."));
    }
    for (name, parameter) in &manifest.parameters {
        let at = join("/parameters", name);
        let is_choice = !parameter.choices.is_empty();
        if PATH_NAMES.contains(&name.as_str()) && parameter.owner == ParameterOwner::User && !is_choice {
            faults.add(
                &at,
                "workspace_path_not_allowed",
                "Users choose a volume, not a path: declare its place in resources.mounts.",
            );
        }
        bounds(&at, parameter, faults);
        patterns(&at, parameter, faults);
        values(&at, parameter, faults);
    }
    hints(manifest, faults);
}

fn bounds(at: &str, parameter: &Parameter, faults: &mut Faults) {
    let numbers = |number: &Option<serde_json::Number>| number.as_ref().and_then(serde_json::Number::as_f64);
    let pairs = [
        ("minimum", numbers(&parameter.minimum), numbers(&parameter.maximum)),
        ("min_length", parameter.min_length.map(f64::from), parameter.max_length.map(f64::from)),
        ("min_items", parameter.min_items.map(f64::from), parameter.max_items.map(f64::from)),
    ];
    for (field, least, most) in pairs {
        if let (Some(least), Some(most)) = (least, most)
            && least > most
        {
            faults.add(format!("{at}/{field}"), "min_above_max", "The minimum is above the maximum.");
        }
    }
    if parameter.kind == ParameterType::Array && parameter.items.is_none() {
        faults.add(format!("{at}/items"), "missing_field", "Say what each entry of the list is.");
    }
    if parameter.owner == ParameterOwner::Platform && parameter.value.is_none() && parameter.default.is_none()
    {
        faults.add(format!("{at}/value"), "missing_field", "Say how the platform computes it.");
    }
    if parameter.owner == ParameterOwner::User && parameter.value.is_some() {
        faults.add(format!("{at}/value"), "exclusive_blocks", "Only platform-owned parameters are computed.");
    }
}

/// What cannot be read would let no value pass.
fn patterns(at: &str, parameter: &Parameter, faults: &mut Faults) {
    let of_entries = parameter.items.as_ref().and_then(|items| items.pattern.as_deref());
    for (field, pattern) in [("pattern", parameter.pattern.as_deref()), ("items/pattern", of_entries)] {
        if pattern.is_some_and(|pattern| compile(pattern).is_none()) {
            faults.add(
                format!("{at}/{field}"),
                "invalid_pattern",
                "This is no regular expression that the platform reads: no look-around, no back-references, no \\p, and not too large.",
            );
        }
    }
}

fn values(at: &str, parameter: &Parameter, faults: &mut Faults) {
    for (index, choice) in parameter.choices.iter().enumerate() {
        if !is_of(choice, parameter.kind) {
            faults.add(format!("{at}/enum/{index}"), "wrong_type", "This is not of the parameter's type.");
        }
    }
    let Some(default) = &parameter.default else { return };
    let at = format!("{at}/default");
    if !is_of(default, parameter.kind) {
        return faults.add(at, "wrong_type", "This is not of the parameter's type.");
    }
    if !parameter.choices.is_empty() && !parameter.choices.contains(default) {
        return faults.add(at, "invalid_value", "The default is none of the choices.");
    }
    let below = |size: f64, least: Option<f64>| least.is_some_and(|least| size < least);
    let above = |size: f64, most: Option<f64>| most.is_some_and(|most| size > most);
    let number = |number: &Option<serde_json::Number>| number.as_ref().and_then(serde_json::Number::as_f64);
    let count = |count: usize| u32::try_from(count).map_or(f64::INFINITY, f64::from);
    let outside = match default {
        Value::Number(value) => value.as_f64().is_none_or(|value| {
            below(value, number(&parameter.minimum)) || above(value, number(&parameter.maximum))
        }),
        Value::String(text) => {
            let size = count(text.chars().count());
            below(size, parameter.min_length.map(f64::from))
                || above(size, parameter.max_length.map(f64::from))
        }
        Value::Array(items) => {
            let size = count(items.len());
            below(size, parameter.min_items.map(f64::from)) || above(size, parameter.max_items.map(f64::from))
        }
        Value::Null | Value::Bool(_) | Value::Object(_) => false,
    };
    if outside {
        return faults.add(at, "out_of_range", "The default is outside the parameter's own bounds.");
    }
    if let (Value::Array(items), Some(of)) = (default, &parameter.items)
        && items.iter().any(|item| !item_is_of(item, of))
    {
        for (index, _) in items.iter().enumerate().filter(|(_, item)| !item_is_of(item, of)) {
            faults.add(format!("{at}/{index}"), "wrong_type", "This is not what an entry of the list is.");
        }
        return;
    }
    // A launch that chooses nothing must pass where one that chooses the same would.
    for fault in check_value(&at, parameter, default).err().into_iter().flatten() {
        faults.add(fault.path, fault.code, fault.message);
    }
}

fn is_of(value: &Value, kind: ParameterType) -> bool {
    match kind {
        ParameterType::String | ParameterType::SecretRef => value.is_string(),
        ParameterType::Integer => value.is_i64() || value.is_u64(),
        ParameterType::Number => value.is_number(),
        ParameterType::Boolean => value.is_boolean(),
        ParameterType::Array => value.is_array(),
    }
}

fn item_is_of(value: &Value, items: &Items) -> bool {
    let typed = match items.kind {
        ItemType::String => value.is_string(),
        ItemType::Integer => value.is_i64() || value.is_u64(),
        ItemType::Number => value.is_number(),
        ItemType::Boolean => value.is_boolean(),
    };
    typed && (items.choices.is_empty() || items.choices.contains(value))
}

fn hints(manifest: &Manifest, faults: &mut Faults) {
    let Some(hints) = &manifest.ui_hints else { return };
    let known: BTreeSet<&str> = manifest.parameters.keys().map(String::as_str).collect();
    faults.references("/ui_hints/order", &hints.order, &known, "parameter");
    for (index, group) in hints.groups.iter().enumerate() {
        faults.references(
            &format!("/ui_hints/groups/{index}/parameters"),
            &group.parameters,
            &known,
            "parameter",
        );
    }
    for name in hints.fields.keys() {
        faults.reference(join("/ui_hints/fields", name), name, &known, "parameter");
    }
}
