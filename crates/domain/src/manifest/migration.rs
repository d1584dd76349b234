//! What becomes of the values of an older version: names that changed, names that went, values that are given.
//!
//! The newer manifest says it, so an older version needs no foresight. A step is for every version of its range, and
//! the steps are taken in their order; each sees what the ones before it left. What comes out is not checked here: the launch
//! form does that for any values, and one judge is enough.

use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Manifest, Version, VersionRange, formats};
use crate::FieldError;
use crate::text::member_at;

/// One step from the values of older versions to those of this one. Each name stands in it once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Migration {
    /// The versions whose values take this step: one, as `1.4.2`, or all within bounds, as `<2.0.0` or `>=1.2.0 <2.0.0`.
    #[schemars(schema_with = "formats::version_range")]
    pub from: VersionRange,
    /// The new name of a value, by its old name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "new_names")]
    pub rename: BTreeMap<String, String>,
    /// Names whose values are dropped.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "formats::parameter_names", length(max = 128))]
    pub remove: Vec<String>,
    /// Values that are given, by name, whatever stood there.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub set: BTreeMap<String, Value>,
}

fn new_names(generator: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "object", "additionalProperties": formats::parameter_name(generator) })
}

impl Migration {
    /// Every name it speaks of, with the place where it does.
    pub(super) fn names(&self) -> Vec<(String, &str)> {
        let renamed = self.rename.iter().flat_map(|(old, new)| {
            let at = member_at("/rename", old);
            [(at.clone(), old.as_str()), (at, new.as_str())]
        });
        let removed =
            self.remove.iter().enumerate().map(|(index, name)| (format!("/remove/{index}"), name.as_str()));
        let set = self.set.keys().map(|name| (member_at("/set", name), name.as_str()));
        renamed.chain(removed).chain(set).collect()
    }
}

/// Values of an older version as this manifest takes them: its steps, in order. Names that no step speaks of stay. Refused
/// where a value would have to take the place of another.
pub fn migrate(
    values: &Map<String, Value>,
    from: &Version,
    manifest: &Manifest,
) -> Result<Map<String, Value>, Vec<FieldError>> {
    let mut values = values.clone();
    let mut faults = Vec::new();
    for step in manifest.migrations.iter().filter(|step| step.from.covers(from)) {
        for name in &step.remove {
            values.remove(name);
        }
        for (old, new) in &step.rename {
            let Some(value) = values.remove(old) else { continue };
            if values.contains_key(new) {
                let sentence = format!(
                    "The values of {from} have both {old} and {new}, and {old} is called {new} now: leave one of them out."
                );
                faults.push(FieldError::new(member_at("/values", old), "migration_conflict", sentence));
            }
            values.insert(new.clone(), value);
        }
        values.extend(step.set.iter().map(|(name, value)| (name.clone(), value.clone())));
    }
    if faults.is_empty() { Ok(values) } else { Err(faults) }
}

/// What a name that this step leaves is called in the end; `None` where a later step drops or replaces its value. Only steps
/// that are taken whenever this one is count.
pub(super) fn fate<'m>(manifest: &'m Manifest, index: usize, mut name: &'m str) -> Option<&'m str> {
    let range = &manifest.migrations[index].from;
    for later in manifest.migrations[index + 1..].iter().filter(|later| later.from.includes(range)) {
        if later.remove.iter().any(|one| one == name) || later.set.contains_key(name) {
            return None;
        }
        if let Some(new) = later.rename.get(name) {
            name = new;
        }
    }
    Some(name)
}
