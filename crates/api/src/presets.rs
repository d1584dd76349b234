//! Presets of launch forms on the wire.

pub use gpuaas_domain::preset::{Preset, PresetChoices};

use gpuaas_domain::text::Slug;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewPreset {
    #[schemars(with = "Slug")]
    pub app_slug: String,
    /// Unique for the app in the project.
    #[schemars(with = "Slug")]
    pub name: String,
    /// Its values are what the project's forms of this app begin with; another default steps back.
    #[serde(default)]
    pub is_default: bool,
    #[serde(default)]
    pub choices: PresetChoices,
}

/// What is left out stays.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PresetUpdate {
    #[schemars(with = "Option<Slug>")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_default: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub choices: Option<PresetChoices>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PresetQuery {
    #[schemars(range(min = 1, max = 200))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    #[schemars(length(max = 512))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Of one app only.
    #[schemars(length(max = 40))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub app: Option<String>,
}
