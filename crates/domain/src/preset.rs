//! Choices of a launch form under a name, and the defaults that come from a project and from the site.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::access::AccessMode;
use crate::ids::{PresetId, ProjectId, TenantId};
use crate::launch::{LaneWish, ResourceWish, Wish};
use crate::launch_form::values;
use crate::manifest::schema::without_null;
use crate::manifest::{Manifest, ParameterOwner, looks_like_secret, walk};
use crate::text::member_at;
use crate::volume::MountSource;
use crate::{Error, FieldError, Result, Timestamp};

/// What a preset may be in all, as JSON.
const MAX_BYTES: usize = 32 * 1024;
/// Add-ons, lanes, places or endpoints of one.
const MAX_NAMES: usize = 32;
const MAX_NAME: usize = 40;

/// What somebody keeps of a form. It is judged when it is used: the app may have another version by then.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PresetChoices {
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub values: Map<String, Value>,
    #[schemars(length(max = 32), inner(length(max = 40)))]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub addons: Vec<String>,
    #[schemars(length(max = 32))]
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub lanes: BTreeMap<String, LaneWish>,
    #[serde(default, skip_serializing_if = "ResourceWish::is_empty")]
    pub resources: ResourceWish,
    #[schemars(length(max = 32))]
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub mounts: BTreeMap<String, MountSource>,
    #[schemars(length(max = 32))]
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub access: BTreeMap<String, AccessMode>,
    #[schemars(length(max = 40))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
}

impl From<PresetChoices> for Wish {
    fn from(choices: PresetChoices) -> Self {
        Self {
            gpu_count: choices.resources.gpu_count,
            cpu_millis: choices.resources.cpu_millis,
            memory_mib: choices.resources.memory_mib,
            host_port: None,
            variant: choices.variant,
            operating_mode: None,
            values: choices.values,
            access: choices.access,
            mounts: choices.mounts,
            addons: choices.addons,
            lanes: choices.lanes,
        }
    }
}

/// A preset of one app in one project.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Preset {
    pub id: PresetId,
    pub tenant_id: TenantId,
    pub project_id: ProjectId,
    pub app_slug: String,
    pub name: String,
    /// Its values are what the project's forms of this app begin with.
    pub is_default: bool,
    pub choices: PresetChoices,
    pub created_by_kind: String,
    pub created_by_id: String,
    pub created_at: Timestamp,
    pub version: i64,
    pub updated_at: Timestamp,
}

impl Preset {
    /// Values are left out: they are the project's own.
    pub fn audit_view(&self) -> Value {
        json!({"app_slug": self.app_slug, "name": self.name, "is_default": self.is_default, "version": self.version,
               "values": self.choices.values.keys().collect::<Vec<_>>(), "addons": self.choices.addons})
    }
}

static SCHEMA: LazyLock<Value> = LazyLock::new(|| {
    let mut schema = schemars::schema_for!(PresetChoices).to_value();
    without_null(&mut schema);
    schema
});

/// Choices that somebody wrote into a file, or everything that is wrong with their shape.
pub fn read(written: &Value) -> Result<PresetChoices, Vec<FieldError>> {
    let faults = walk::faults(written, &SCHEMA);
    if !faults.is_empty() {
        return Err(faults);
    }
    let unread = |_| vec![FieldError::new("/", "wrong_type", "This is not a set of choices.")];
    PresetChoices::deserialize(written).map_err(unread)
}

/// Names go into the trail.
pub fn check_name(name: &str) -> Result<()> {
    if looks_like_secret(name) { Err(Error::field("/name", values::RAW_SECRET, SECRET)) } else { Ok(()) }
}

/// Whether this may be kept: within what the API says of it, and nothing that looks like a secret, be it a value or a name.
/// Names go into the trail, from which nothing is ever taken.
pub fn check(choices: &PresetChoices) -> Result<()> {
    let written = serde_json::to_value(choices).unwrap_or_default();
    if written.to_string().len() > MAX_BYTES {
        let sentence = format!("A preset is at most {MAX_BYTES} bytes of JSON.");
        return Err(Error::fields(vec![FieldError::new("/choices", "too_large", sentence)]));
    }
    let mut faults = Vec::new();
    for fault in walk::faults(&written, &SCHEMA) {
        faults.push(FieldError { path: format!("/choices{}", fault.path), ..fault });
    }
    for (part, chosen) in written.as_object().into_iter().flatten() {
        let at = member_at("/choices", part);
        let members = chosen.as_object();
        let texts = chosen.as_array().into_iter().flatten().chain([chosen]).filter_map(Value::as_str);
        let keys = members.into_iter().flat_map(|members| members.keys()).map(String::as_str);
        if keys.clone().chain(texts).any(looks_like_secret) {
            faults.push(FieldError::new(at.clone(), values::RAW_SECRET, SECRET));
        }
        // What the schema has no word for that every reader of it knows.
        if keys.clone().any(|name| name.chars().count() > MAX_NAME) {
            let sentence = format!("A name is at most {MAX_NAME} characters.");
            faults.push(FieldError::new(at.clone(), "out_of_range", sentence));
        }
        if part != "values" && keys.count() > MAX_NAMES {
            faults.push(FieldError::new(at, "out_of_range", format!("At most {MAX_NAMES} of them.")));
        }
    }
    for (name, value) in &choices.values {
        if holds_secret(value) && !looks_like_secret(name) {
            let at = member_at("/choices/values", name);
            faults.push(FieldError::new(at, values::RAW_SECRET, SECRET));
        }
    }
    faults.truncate(MAX_NAMES);
    if faults.is_empty() { Ok(()) } else { Err(Error::fields(faults)) }
}

const SECRET: &str =
    "This looks like a secret. Presets are read by the whole project; name a secret instead.";

fn holds_secret(value: &Value) -> bool {
    match value {
        Value::String(text) => looks_like_secret(text),
        Value::Array(items) => items.iter().any(holds_secret),
        Value::Object(members) => {
            members.iter().any(|(name, value)| looks_like_secret(name) || holds_secret(value))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// What stands where nobody chose: the project's word before the site's, and either before the app's.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Defaults {
    pub site: Map<String, Value>,
    pub project: Map<String, Value>,
}

/// Who said a default.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DefaultSource {
    App,
    Project,
    Site,
}

impl Defaults {
    /// What was given, and the defaults of the rest that the profile takes. A default that it does not take is none: nobody
    /// could mend it in a form.
    pub fn complete(&self, manifest: &Manifest, given: &Map<String, Value>) -> Map<String, Value> {
        let mut all = given.clone();
        for (name, (value, _)) in self.taken(manifest) {
            all.entry(name).or_insert_with(|| value.clone());
        }
        all
    }

    /// Whose default each parameter has, of those that have one.
    pub fn sources(&self, manifest: &Manifest) -> BTreeMap<String, DefaultSource> {
        let own = manifest.parameters.iter().filter(|(_, parameter)| parameter.default.is_some());
        let mut sources: BTreeMap<String, DefaultSource> =
            own.map(|(name, _)| (name.clone(), DefaultSource::App)).collect();
        sources.extend(self.taken(manifest).into_iter().map(|(name, (_, source))| (name, source)));
        sources
    }

    /// The project's or the site's default for a parameter.
    pub fn of(&self, manifest: &Manifest, name: &str) -> Option<&Value> {
        self.taken(manifest).remove(name).map(|(value, _)| value)
    }

    fn taken(&self, manifest: &Manifest) -> BTreeMap<String, (&Value, DefaultSource)> {
        let mut taken = BTreeMap::new();
        for (name, parameter) in &manifest.parameters {
            let said = [(&self.project, DefaultSource::Project), (&self.site, DefaultSource::Site)];
            let mut found = said.into_iter().filter_map(|(all, source)| Some((all.get(name)?, source)));
            let fits = |(value, _): &(&Value, DefaultSource)| {
                values::check(&values::pointer(name), parameter, value).is_ok()
            };
            if parameter.owner == ParameterOwner::User
                && let Some(first) = found.find(fits)
            {
                taken.insert(name.clone(), first);
            }
        }
        taken
    }
}
