//! Reading a configuration: file, then environment, every unknown name refused.

use std::path::Path;

use gpuaas_domain::{Error, FieldError, Result};
use gpuaas_faults::Faults;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value as Schema;
use toml::{Table, Value};

/// Settings of a program, all from their types: names, ranges and defaults.
pub trait Settings: DeserializeOwned + JsonSchema {
    /// What the names of environment variables begin with, as `GPUAAS__`.
    const PREFIX: &'static str;
    /// The program that shows them.
    const PROGRAM: &'static str;

    /// What no type can say.
    fn validate(&self) -> Result<()>;
}

/// Reads `file` (if given) and the process's environment.
#[expect(clippy::disallowed_methods, reason = "this is the one place that reads the environment")]
pub fn load<S: Settings>(file: Option<&Path>) -> Result<S> {
    let text = match file {
        None => String::new(),
        Some(path) => std::fs::read_to_string(path).map_err(|error| {
            Error::invalid(
                "config_unreadable",
                format!("The configuration {} cannot be read: {error}.", path.display()),
            )
        })?,
    };
    let environment = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .filter(|(name, _)| name.starts_with(S::PREFIX));
    from_parts(&text, environment)
}

/// Where a test told this process to break; see `gpuaas_faults`. Nothing in a product build.
#[expect(clippy::disallowed_methods, reason = "this is the one place that reads the environment")]
pub fn faults(variable: &str) -> Faults {
    std::env::var(variable).ok().and_then(|text| Faults::from_setting(&text)).unwrap_or_default()
}

/// The same from text and pairs, for tests.
pub fn from_parts<S: Settings>(
    text: &str,
    environment: impl IntoIterator<Item = (String, String)>,
) -> Result<S> {
    let mut table: Table = text.parse().map_err(|error: toml::de::Error| {
        Error::invalid("config_invalid", format!("The configuration is not valid TOML: {}", one_line(&error)))
    })?;
    for (name, value) in environment {
        let path: Vec<String> = name[S::PREFIX.len()..].split("__").map(str::to_lowercase).collect();
        place(&mut table, &path, &value).map_err(|why| {
            Error::field(format!("/{}", path.join("/")), "unknown_key", format!("{name}: {why}"))
        })?;
    }
    check_keys::<S>(&table)?;
    let settings: S = serde_path_to_error::deserialize(Value::Table(table)).map_err(|error| {
        let path = error.path().to_string().replace('.', "/").replace(['[', ']'], "/");
        let path = format!("/{}", path.replace("//", "/").trim_matches('/'));
        Error::field(path, "invalid_value", one_line(&error.into_inner()))
    })?;
    settings.validate()?;
    Ok(settings)
}

fn one_line(error: &toml::de::Error) -> String {
    error.to_string().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Environment values are TOML values where they can be, else strings: `8080`, `true`, `[{vendor = "amd", …}]`,
/// `{lab = {workers = 4}}`, `127.0.0.1:80` and `/some/path` all work.
fn place(table: &mut Table, path: &[String], text: &str) -> std::result::Result<(), String> {
    let Some((last, sections)) = path.split_last() else {
        return Err("names no setting".into());
    };
    let mut here = table;
    for section in sections {
        here = here
            .entry(section.clone())
            .or_insert_with(|| Value::Table(Table::new()))
            .as_table_mut()
            .ok_or_else(|| format!("{section} is a setting, not a section"))?;
    }
    let value = match text.parse::<Value>() {
        Ok(value @ (Value::Integer(_) | Value::Boolean(_) | Value::Array(_) | Value::Table(_))) => value,
        _ => Value::String(text.to_owned()),
    };
    here.insert(last.clone(), value);
    Ok(())
}

/// Every setting by its dotted name, with its schema: of the place where it stands, and what that refers to.
pub fn for_each_setting<S: Settings>(mut visit: impl FnMut(&str, &Schema, &Schema)) {
    fn collect(root: &Schema, node: &Schema, prefix: &str, visit: &mut dyn FnMut(&str, &Schema, &Schema)) {
        let Some(properties) = node.get("properties").and_then(Schema::as_object) else { return };
        for (name, property) in properties {
            let key = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
            let target = property
                .get("$ref")
                .and_then(Schema::as_str)
                .and_then(|reference| root.pointer(reference.trim_start_matches('#')))
                .unwrap_or(property);
            if target.get("properties").is_some() {
                collect(root, target, &key, visit);
            } else {
                visit(&key, property, target);
            }
        }
    }
    let root = schemars::schema_for!(S).to_value();
    collect(&root, &root, "", &mut visit);
}

/// A table on one line, as a file or a variable may have it.
pub fn inline(table: &impl serde::Serialize) -> String {
    toml::Value::try_from(table).map_or_else(|_| "{}".to_owned(), |value| value.to_string())
}

pub fn known_keys<S: Settings>() -> Vec<String> {
    let mut keys = Vec::new();
    for_each_setting::<S>(|key, _, _| keys.push(key.to_owned()));
    keys
}

fn check_keys<S: Settings>(table: &Table) -> Result<()> {
    let known = known_keys::<S>();
    let mut open = Vec::new();
    // Names below such a setting are not ours.
    for_each_setting::<S>(|key, _, target| {
        if target.get("additionalProperties").is_some_and(Schema::is_object) {
            open.push(format!("{key}."));
        }
    });
    let mut wrong = Vec::new();
    walk(table, "", &mut |path: &str| {
        let is_section = known.iter().any(|key| key.starts_with(&format!("{path}.")));
        let is_open = open.iter().any(|key| path.starts_with(key.as_str()));
        if known.iter().any(|key| key == path) || is_section || is_open {
            return;
        }
        let hint = gpuaas_domain::text::nearest(path, known.iter().map(String::as_str)).map_or_else(
            || format!("See `{} config show` for all keys.", S::PROGRAM),
            |name| format!("Did you mean {name}?"),
        );
        wrong.push(FieldError::new(
            format!("/{}", path.replace('.', "/")),
            "unknown_key",
            format!("There is no setting {path}. {hint}"),
        ));
    });
    if wrong.is_empty() { Ok(()) } else { Err(Error::fields(wrong)) }
}

fn walk(table: &Table, prefix: &str, visit: &mut impl FnMut(&str)) {
    for (key, value) in table {
        let path = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
        visit(&path);
        if let Value::Table(inner) = value {
            walk(inner, &path, visit);
        }
    }
}
