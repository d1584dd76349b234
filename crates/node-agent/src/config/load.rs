//! Reading the configuration: file, then environment, every unknown name refused.

use std::path::Path;

use gpuaas_domain::{Error, FieldError, Result};
use serde_json::Value as Schema;
use toml::{Table, Value};

use super::Config;

const PREFIX: &str = "GPUAAS_AGENT__";

/// Reads `file` (if given) and the process's environment.
#[expect(clippy::disallowed_methods, reason = "this is the one place that reads the environment")]
pub fn load(file: Option<&Path>) -> Result<Config> {
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
        .filter(|(name, _)| name.starts_with(PREFIX));
    from_parts(&text, environment)
}

/// Where a test told this process to break; see `gpuaas_faults`. Nothing in a product build.
#[expect(clippy::disallowed_methods, reason = "this is the one place that reads the environment")]
pub fn faults() -> gpuaas_faults::Faults {
    let told = std::env::var("GPUAAS_AGENT_FAULT").ok();
    told.and_then(|text| gpuaas_faults::Faults::from_setting(&text)).unwrap_or_default()
}

/// The same from text and pairs, for tests.
pub fn from_parts(text: &str, environment: impl IntoIterator<Item = (String, String)>) -> Result<Config> {
    let mut table: Table = text.parse().map_err(|error: toml::de::Error| {
        Error::invalid("config_invalid", format!("The configuration is not valid TOML: {}", one_line(&error)))
    })?;
    for (name, value) in environment {
        let path: Vec<String> = name[PREFIX.len()..].split("__").map(str::to_lowercase).collect();
        place(&mut table, &path, &value).map_err(|why| {
            Error::field(format!("/{}", path.join("/")), "unknown_key", format!("{name}: {why}"))
        })?;
    }
    check_keys(&table)?;
    let config: Config = serde_path_to_error::deserialize(Value::Table(table)).map_err(|error| {
        let path = error.path().to_string().replace('.', "/").replace(['[', ']'], "/");
        let path = format!("/{}", path.replace("//", "/").trim_matches('/'));
        let message = error.into_inner();
        Error::field(path, "invalid_value", one_line(&message))
    })?;
    config.validate()?;
    Ok(config)
}

fn one_line(error: &toml::de::Error) -> String {
    error.to_string().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Environment values are TOML values where they can be, else strings: `8080`, `true`, `[{vendor = "amd", …}]` and
/// `/some/path` all work.
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
        Ok(value @ (Value::Integer(_) | Value::Boolean(_) | Value::Array(_))) => value,
        _ => Value::String(text.to_owned()),
    };
    here.insert(last.clone(), value);
    Ok(())
}

/// Every setting, by its dotted name, from the types themselves.
fn known_keys() -> Vec<String> {
    fn collect(root: &Schema, node: &Schema, prefix: &str, out: &mut Vec<String>) {
        let Some(properties) = node.get("properties").and_then(Schema::as_object) else { return };
        for (name, property) in properties {
            let key = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
            let target = property
                .get("$ref")
                .and_then(Schema::as_str)
                .and_then(|reference| root.pointer(reference.trim_start_matches('#')))
                .unwrap_or(property);
            if target.get("properties").is_some() {
                collect(root, target, &key, out);
            } else {
                out.push(key);
            }
        }
    }
    let root = schemars::schema_for!(Config).to_value();
    let mut out = Vec::new();
    collect(&root, &root, "", &mut out);
    out
}

fn check_keys(table: &Table) -> Result<()> {
    let known = known_keys();
    let mut wrong = Vec::new();
    walk(table, "", &mut |path: &str| {
        let is_section = known.iter().any(|key| key.starts_with(&format!("{path}.")));
        if known.iter().any(|key| key == path) || is_section {
            return;
        }
        let hint = gpuaas_domain::text::nearest(path, known.iter().map(String::as_str)).map_or_else(
            || "See `gpuaas-agent config show` for all keys.".to_owned(),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::RuntimeKind;

    fn parse(text: &str, environment: &[(&str, &str)]) -> Result<Config> {
        from_parts(text, environment.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())))
    }

    fn refusal(text: &str, environment: &[(&str, &str)]) -> Error {
        parse(text, environment).expect_err("this configuration is wrong")
    }

    #[test]
    fn the_environment_overrides_the_file_and_gpus_can_be_declared_in_both() {
        let config = parse(
            "runtime = \"docker\"\n[pull]\nstall_seconds = 5\n[[gpus]]\nvendor = \"nvidia\"\nmodel = \"H100\"\nmemory_mib = 81559\ncount = 2",
            &[("GPUAAS_AGENT__RUNTIME", "simulated"), ("GPUAAS_AGENT__DOCKER__SOCKET", "/x/docker.sock")],
        )
        .unwrap();
        assert_eq!(config.runtime, RuntimeKind::Simulated);
        assert_eq!(config.docker.socket, Path::new("/x/docker.sock"));
        assert_eq!((config.pull.stall_seconds, config.gpus[0].count), (5, 2));
        let gpus = "[{vendor = \"amd\", model = \"MI300X\", memory_mib = 196592}]";
        let config = parse("", &[("GPUAAS_AGENT__GPUS", gpus)]).unwrap();
        assert_eq!((config.gpus[0].model.as_str(), config.gpus[0].count), ("MI300X", 1));
    }

    #[test]
    fn wrong_names_and_values_say_where_and_why() {
        let error = refusal("[docker]\nsoket = \"/x\"", &[]);
        assert_eq!(error.field_errors()[0].path, "/docker/soket");
        assert!(error.field_errors()[0].message.contains("docker.socket"), "{error}");
        assert_eq!(refusal("", &[("GPUAAS_AGENT__LOGG__LEVEL", "x")]).field_errors()[0].code, "unknown_key");
        for (text, path) in [
            ("runtime = \"podman\"", "/runtime"),
            ("[pull]\nstall_seconds = 0", "/pull/stall_seconds"),
            ("[network]\nrange = \"8.8.8.0/24\"", "/network/range"),
            ("[network]\nrange = \"10.213.0.1/16\"", "/network/range"),
            ("[network]\nrange = \"10.213.0.0/30\"", "/network/range"),
            ("[network]\ninstance_api_port = 80", "/network/instance_api_port"),
            ("[[gpus]]\nvendor = \"nvidia\"\nmodel = \"\"\nmemory_mib = 5", "/gpus/0/model"),
            ("[[gpus]]\nvendor = \"nvidia\"\nmodel = \"x\"\nmemory_mib = 5\ncount = 1000", "/gpus/0/count"),
            ("[[gpus]]\nvendor = \"voodoo\"\nmodel = \"x\"\nmemory_mib = 5", "/gpus/0/vendor"),
        ] {
            assert_eq!(refusal(text, &[]).field_errors()[0].path, path, "{text}");
        }
        assert_eq!(refusal("= 5", &[]).code(), "config_invalid");
    }

    #[test]
    fn what_is_shown_can_be_read_back_and_has_every_setting() {
        let gpus = "[[gpus]]\nvendor = \"amd\"\nmodel = \"MI\\\"300X\"\nmemory_mib = 7";
        let config = parse(gpus, &[]).unwrap();
        let shown = config.show();
        assert_eq!(parse(&shown, &[]).unwrap().show(), shown);
        for key in known_keys() {
            let name = key.rsplit('.').next().unwrap();
            let there = shown.contains(&format!("{name} = ")) || shown.contains(&format!("[[{name}]]"));
            assert!(there, "{key}");
        }
    }
}
