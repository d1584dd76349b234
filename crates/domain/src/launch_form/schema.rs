//! The parameters of a profile as JSON Schema, and its hints as a UI schema in the style of React JSON Schema Form. The one
//! says what is right, the other only how it looks: without it the form works, in the order of the names (B-02).

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::resolution::Resolved;
use super::values::{SECRET_NAME, pattern_of};
use crate::expression::{Budget, Expression, Value as Known};
use crate::manifest::{
    FieldHint, ItemType, Items, Manifest, Parameter, ParameterFormat, ParameterOwner, ParameterType, UiHints,
    Widget,
};

/// Of those parameters that the launch is asked for.
pub(super) fn schema(manifest: &Manifest, hidden: &BTreeSet<String>) -> Map<String, Value> {
    let offered = || manifest.parameters.iter().filter(|(name, _)| !hidden.contains(*name));
    let properties: Map<String, Value> =
        offered().map(|(name, parameter)| (name.clone(), Value::Object(property(parameter)))).collect();
    let needed = |parameter: &Parameter| parameter.required && parameter.owner == ParameterOwner::User;
    let required: Vec<&String> = offered().filter(|(_, one)| needed(one)).map(|(name, _)| name).collect();
    Map::from_iter([
        ("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema")),
        ("type".to_owned(), json!("object")),
        ("properties".to_owned(), Value::Object(properties)),
        ("required".to_owned(), json!(required)),
        ("additionalProperties".to_owned(), json!(false)),
    ])
}

/// Only the keys that say something.
#[derive(Default)]
struct Keys(Map<String, Value>);

impl Keys {
    fn put(&mut self, key: &str, value: Option<impl serde::Serialize>) {
        if let Some(value) = value {
            self.0.insert(key.to_owned(), json!(value));
        }
    }
}

fn property(parameter: &Parameter) -> Map<String, Value> {
    let mut keys = Keys::default();
    keys.put("type", Some(type_name(parameter.kind)));
    keys.put("title", parameter.title.as_ref());
    keys.put("description", parameter.description.as_ref());
    if parameter.owner == ParameterOwner::Platform {
        keys.put("readOnly", Some(true));
    } else {
        keys.put("default", parameter.default.as_ref());
    }
    keys.put("enum", Some(&parameter.choices).filter(|choices| !choices.is_empty()));
    keys.put("minimum", parameter.minimum.as_ref());
    keys.put("maximum", parameter.maximum.as_ref());
    keys.put("minLength", parameter.min_length);
    keys.put("maxLength", parameter.max_length);
    keys.put("minItems", parameter.min_items);
    keys.put("maxItems", parameter.max_items);
    let is_list = parameter.kind == ParameterType::Array;
    let format = parameter.format.filter(|_| !is_list);
    form(&mut keys, parameter.pattern.as_deref(), format);
    if parameter.kind == ParameterType::SecretRef {
        keys.put("format", Some("secret_ref"));
        keys.put("pattern", Some(SECRET_NAME));
    }
    if let Some(items) = &parameter.items {
        keys.put("items", Some(entry(items, parameter.format)));
    }
    keys.0
}

fn entry(items: &Items, of_list: Option<ParameterFormat>) -> Map<String, Value> {
    let mut keys = Keys::default();
    let kind = match items.kind {
        ItemType::String => "string",
        ItemType::Integer => "integer",
        ItemType::Number => "number",
        ItemType::Boolean => "boolean",
    };
    keys.put("type", Some(kind));
    keys.put("enum", Some(&items.choices).filter(|choices| !choices.is_empty()));
    keys.put("maxLength", items.max_length);
    form(&mut keys, items.pattern.as_deref(), items.format.or(of_list));
    keys.0
}

/// A reader that does not know our formats knows their pattern; a pattern of the author's own stands beside it.
fn form(keys: &mut Keys, pattern: Option<&str>, format: Option<ParameterFormat>) {
    keys.put("format", format.map(format_name));
    match (pattern, format.map(pattern_of)) {
        (Some(own), Some(ours)) => {
            keys.put("pattern", Some(own));
            keys.put("allOf", Some([json!({ "pattern": ours })]));
        }
        (own, ours) => keys.put("pattern", own.or(ours)),
    }
}

fn format_name(format: ParameterFormat) -> &'static str {
    match format {
        ParameterFormat::PipSpecifier => "pip_specifier",
        ParameterFormat::ModelName => "model_name",
    }
}

fn type_name(kind: ParameterType) -> &'static str {
    match kind {
        ParameterType::String | ParameterType::SecretRef => "string",
        ParameterType::Integer => "integer",
        ParameterType::Number => "number",
        ParameterType::Boolean => "boolean",
        ParameterType::Array => "array",
    }
}

/// Empty where the manifest has no hints. Their conditions see what parameters see, and cannot fail: what cannot be told yet is
/// shown, and warns of nothing.
pub(super) fn ui_schema(manifest: &Manifest, resolved: &Resolved) -> Map<String, Value> {
    let mut keys = Keys::default();
    let Some(hints) = &manifest.ui_hints else { return keys.0 };
    let hidden = &resolved.hidden;
    let mut budget = Budget::default();
    let mut holds = |text: &str| {
        let value = Expression::parse(text).and_then(|read| read.evaluate(&resolved.known, &mut budget));
        value.ok().and_then(|value| if let Known::Bool(holds) = value { Some(holds) } else { None })
    };
    keys.put("ui:order", order(manifest, hints, hidden));
    keys.put("ui:groups", Some(&hints.groups).filter(|groups| !groups.is_empty()));
    for name in manifest.parameters.keys().filter(|name| !hidden.contains(*name)) {
        let group = hints.groups.iter().find(|group| group.parameters.contains(name));
        let hint = hints.fields.get(name);
        let mut field = field(hint, group.map(|group| group.title.as_str()), &mut holds);
        let unwanted =
            hint.and_then(|hint| hint.when.as_deref()).is_some_and(|when| holds(when) == Some(false));
        // Who mends a form must see what is wrong with it.
        if unwanted && !resolved.has_fault(name) {
            field.insert("ui:widget".to_owned(), json!("hidden"));
        }
        keys.put(name, Some(field).filter(|field| !field.is_empty()));
    }
    keys.0
}

/// Every field once: those that the hints name, in that order, then the rest by name.
fn order<'m>(
    manifest: &'m Manifest,
    hints: &'m UiHints,
    hidden: &BTreeSet<String>,
) -> Option<Vec<&'m String>> {
    let grouped = hints.groups.iter().flat_map(|group| &group.parameters);
    let mut all: Vec<&String> = Vec::with_capacity(manifest.parameters.len());
    for name in hints.order.iter().chain(grouped).chain(manifest.parameters.keys()) {
        let offered = manifest.parameters.contains_key(name) && !hidden.contains(name);
        if offered && !all.contains(&name) {
            all.push(name);
        }
    }
    (!hints.order.is_empty() || !hints.groups.is_empty()).then_some(all)
}

fn field(
    hint: Option<&FieldHint>,
    group: Option<&str>,
    holds: &mut impl FnMut(&str) -> Option<bool>,
) -> Map<String, Value> {
    let mut keys = Keys::default();
    keys.put("ui:group", group);
    if let Some(hint) = hint {
        keys.put("ui:widget", hint.widget.map(widget_name));
        keys.put("ui:help", hint.help.as_ref());
        keys.put("ui:placeholder", hint.placeholder.as_ref());
        let fitting = hint.warnings.iter().filter(|warning| holds(&warning.when) == Some(true));
        let told: Vec<&str> =
            hint.warning.iter().chain(fitting.map(|warning| &warning.message)).map(String::as_str).collect();
        keys.put("ui:warning", Some(told.join("\n")).filter(|told| !told.is_empty()));
    }
    keys.0
}

/// As React JSON Schema Form calls them; `tags` and `secret_picker` are the shell's own.
fn widget_name(widget: Widget) -> &'static str {
    match widget {
        Widget::Text => "text",
        Widget::Textarea => "textarea",
        Widget::Select => "select",
        Widget::Radio => "radio",
        Widget::Checkbox => "checkbox",
        Widget::Slider => "range",
        Widget::Tags => "tags",
        Widget::SecretPicker => "secret_picker",
    }
}
