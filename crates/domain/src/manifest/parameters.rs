//! What a launch may choose: a subset of JSON Schema per parameter, and hints for the form apart from it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Number, Value};

use super::formats;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Parameter {
    #[serde(rename = "type")]
    pub kind: ParameterType,
    #[serde(default)]
    #[schemars(schema_with = "formats::display_name")]
    pub title: Option<String>,
    #[serde(default)]
    #[schemars(schema_with = "formats::prose")]
    pub description: Option<String>,
    #[serde(default)]
    pub default: Option<Value>,
    #[serde(default, rename = "enum")]
    #[schemars(length(max = 256))]
    pub choices: Vec<Value>,
    #[serde(default)]
    pub minimum: Option<Number>,
    #[serde(default)]
    pub maximum: Option<Number>,
    #[serde(default)]
    pub min_length: Option<u32>,
    #[serde(default)]
    #[schemars(range(max = 32768))]
    pub max_length: Option<u32>,
    #[serde(default)]
    #[schemars(schema_with = "formats::expression")]
    pub pattern: Option<String>,
    #[serde(default)]
    pub format: Option<ParameterFormat>,
    /// Of a list: what each entry is.
    #[serde(default)]
    pub items: Option<Items>,
    #[serde(default)]
    pub min_items: Option<u32>,
    #[serde(default)]
    #[schemars(range(max = 1024))]
    pub max_items: Option<u32>,
    #[serde(default)]
    pub required: bool,
    /// Platform-owned parameters are computed by the server; a client's value is refused.
    #[serde(default)]
    pub owner: ParameterOwner,
    /// How the platform computes it.
    #[serde(default)]
    #[schemars(schema_with = "formats::expression")]
    pub value: Option<String>,
    /// Offered only where this holds.
    #[serde(default)]
    #[schemars(schema_with = "formats::expression")]
    pub when: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ParameterType {
    String,
    Integer,
    Number,
    Boolean,
    Array,
    /// The name of a secret of the project, never its value.
    SecretRef,
}

/// Grammars of the platform for a text or each entry of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ParameterFormat {
    /// A package and its versions: no options, addresses, paths or shell characters.
    PipSpecifier,
    /// A model as `owner/name`.
    ModelName,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Items {
    #[serde(rename = "type")]
    pub kind: ItemType,
    #[serde(default, rename = "enum")]
    #[schemars(length(max = 256))]
    pub choices: Vec<Value>,
    #[serde(default)]
    #[schemars(range(max = 32768))]
    pub max_length: Option<u32>,
    #[serde(default)]
    #[schemars(schema_with = "formats::expression")]
    pub pattern: Option<String>,
    #[serde(default)]
    pub format: Option<ParameterFormat>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ItemType {
    String,
    Integer,
    Number,
    Boolean,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ParameterOwner {
    #[default]
    User,
    Platform,
}

/// How the form is laid out. Without any of it the form works, in the order of the names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UiHints {
    #[serde(default)]
    #[schemars(schema_with = "formats::parameter_names")]
    pub order: Vec<String>,
    #[serde(default)]
    pub groups: Vec<HintGroup>,
    /// By parameter.
    #[serde(default)]
    pub fields: BTreeMap<String, FieldHint>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HintGroup {
    #[schemars(schema_with = "formats::display_name")]
    pub title: String,
    #[serde(default)]
    #[schemars(schema_with = "formats::prose")]
    pub description: Option<String>,
    #[schemars(schema_with = "formats::parameter_names")]
    pub parameters: Vec<String>,
    #[serde(default)]
    pub collapsed: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FieldHint {
    #[serde(default)]
    pub widget: Option<Widget>,
    #[serde(default)]
    #[schemars(schema_with = "formats::prose")]
    pub help: Option<String>,
    #[serde(default)]
    #[schemars(schema_with = "formats::prose")]
    pub placeholder: Option<String>,
    #[serde(default)]
    #[schemars(schema_with = "formats::prose")]
    pub warning: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Widget {
    Text,
    Textarea,
    Select,
    Radio,
    Checkbox,
    Slider,
    Tags,
    SecretPicker,
}
