//! What a launch may choose: a subset of JSON Schema per parameter, and hints for the form apart from it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Number, Value};

use super::formats;

/// Something that a launch may choose: a subset of JSON Schema.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Parameter {
    /// What its values are.
    #[serde(rename = "type")]
    pub kind: ParameterType,
    /// The name that people see.
    #[serde(default)]
    #[schemars(schema_with = "formats::display_name")]
    pub title: Option<String>,
    /// What it does, under the field.
    #[serde(default)]
    #[schemars(schema_with = "formats::prose")]
    pub description: Option<String>,
    /// What a launch gets that does not choose.
    #[serde(default)]
    pub default: Option<Value>,
    /// The values to choose from; empty: any of the type.
    #[serde(default, rename = "enum")]
    #[schemars(length(max = 256))]
    pub choices: Vec<Value>,
    /// The least number.
    #[serde(default)]
    pub minimum: Option<Number>,
    /// The greatest number.
    #[serde(default)]
    pub maximum: Option<Number>,
    /// Characters at least.
    #[serde(default)]
    pub min_length: Option<u32>,
    /// Characters at most.
    #[serde(default)]
    #[schemars(range(max = 32768))]
    pub max_length: Option<u32>,
    /// A regular expression that texts match, without look-around and back-references.
    #[serde(default)]
    #[schemars(schema_with = "formats::expression")]
    pub pattern: Option<String>,
    /// A grammar of the platform that texts, or the entries of a list, follow.
    #[serde(default)]
    pub format: Option<ParameterFormat>,
    /// Of a list: what each entry is.
    #[serde(default)]
    pub items: Option<Items>,
    /// Entries at least.
    #[serde(default)]
    pub min_items: Option<u32>,
    /// Entries at most.
    #[serde(default)]
    #[schemars(range(max = 1024))]
    pub max_items: Option<u32>,
    /// Whether a launch must choose it, where it has no default.
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

/// What the values of a parameter are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ParameterType {
    /// Text.
    String,
    /// Whole numbers.
    Integer,
    /// Numbers with a point.
    Number,
    /// True or false.
    Boolean,
    /// Lists.
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

/// What each entry of a list is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Items {
    /// What it is.
    #[serde(rename = "type")]
    pub kind: ItemType,
    /// The values to choose from; empty: any of the type.
    #[serde(default, rename = "enum")]
    #[schemars(length(max = 256))]
    pub choices: Vec<Value>,
    /// Characters at most.
    #[serde(default)]
    #[schemars(range(max = 32768))]
    pub max_length: Option<u32>,
    /// A regular expression that it matches.
    #[serde(default)]
    #[schemars(schema_with = "formats::expression")]
    pub pattern: Option<String>,
    /// A grammar of the platform that it follows.
    #[serde(default)]
    pub format: Option<ParameterFormat>,
}

/// What the entries of a list are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ItemType {
    /// Texts.
    String,
    /// Whole numbers.
    Integer,
    /// Numbers with a point.
    Number,
    /// True or false.
    Boolean,
}

/// Who gives a parameter its value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ParameterOwner {
    /// Whoever launches.
    #[default]
    User,
    /// The platform, by `value` or `default`.
    Platform,
}

/// How the form is laid out. Without any of it the form works, in the order of the names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UiHints {
    /// The order of the fields; those not named follow by name.
    #[serde(default)]
    #[schemars(schema_with = "formats::parameter_names")]
    pub order: Vec<String>,
    /// Fields that stand together.
    #[serde(default)]
    pub groups: Vec<HintGroup>,
    /// By parameter.
    #[serde(default)]
    pub fields: BTreeMap<String, FieldHint>,
}

/// Fields that stand together under a title.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HintGroup {
    /// The title.
    #[schemars(schema_with = "formats::display_name")]
    pub title: String,
    /// Words under the title.
    #[serde(default)]
    #[schemars(schema_with = "formats::prose")]
    pub description: Option<String>,
    /// The parameters, in their order.
    #[schemars(schema_with = "formats::parameter_names")]
    pub parameters: Vec<String>,
    /// Whether it is closed at first.
    #[serde(default)]
    pub collapsed: bool,
}

/// How one field looks. Nothing here changes what a launch gets.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FieldHint {
    /// What the field is drawn as, where that fits its type.
    #[serde(default)]
    pub widget: Option<Widget>,
    /// Words under the field.
    #[serde(default)]
    #[schemars(schema_with = "formats::prose")]
    pub help: Option<String>,
    /// What stands in the field while it is empty.
    #[serde(default)]
    #[schemars(schema_with = "formats::prose")]
    pub placeholder: Option<String>,
    /// A warning that is always shown.
    #[serde(default)]
    #[schemars(schema_with = "formats::prose")]
    pub warning: Option<String>,
    /// The field is shown only where this holds. Hidden, it keeps its value; with a fault it is shown all the same.
    #[serde(default)]
    #[schemars(schema_with = "formats::expression")]
    pub when: Option<String>,
    /// Warnings that are shown where their condition holds.
    #[serde(default)]
    #[schemars(length(max = 16))]
    pub warnings: Vec<FieldWarning>,
}

/// A warning at a field, for some choices.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FieldWarning {
    /// Shown where this holds.
    #[schemars(schema_with = "formats::expression")]
    pub when: String,
    /// What is said.
    #[schemars(schema_with = "formats::prose")]
    pub message: String,
}

/// What a field is drawn as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Widget {
    /// One line.
    Text,
    /// Several lines.
    Textarea,
    /// A list to open; for choices.
    Select,
    /// All choices at once.
    Radio,
    /// A box to tick.
    Checkbox,
    /// A slider; for numbers with bounds.
    Slider,
    /// One entry after the other; for lists.
    Tags,
    /// The secrets of the project.
    SecretPicker,
}
