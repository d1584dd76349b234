//! Reading the configuration: file, then environment, every unknown name refused.

use std::path::Path;

use gpuaas_domain::{Error, FieldError, Result};
use toml::{Table, Value};

use super::Config;
use super::reference::known_keys;

const PREFIX: &str = "GPUAAS__";

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
    let told = std::env::var("GPUAAS_FAULT").ok();
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
        let path = format!("/{}", error.path().to_string().replace('.', "/"));
        let message = error.into_inner();
        Error::field(path, "invalid_value", one_line(&message))
    })?;
    config.validate()?;
    Ok(config)
}

fn one_line(error: &toml::de::Error) -> String {
    error.to_string().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Environment values are TOML values where they can be, else strings: `8080`, `true`, `127.0.0.1:80` all work.
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
        Ok(value @ (Value::Integer(_) | Value::Boolean(_))) => value,
        _ => Value::String(text.to_owned()),
    };
    here.insert(last.clone(), value);
    Ok(())
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
            || "See `gpuaas-server config show` for all keys.".to_owned(),
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

    fn parse(text: &str, environment: &[(&str, &str)]) -> Result<Config> {
        from_parts(text, environment.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())))
    }

    fn refusal(text: &str, environment: &[(&str, &str)]) -> Error {
        parse(text, environment).err().expect("this configuration is wrong")
    }

    #[test]
    fn the_environment_overrides_the_file() {
        let config = parse(
            "[http]\nlisten = \"127.0.0.1:1\"\n[auth]\nsession_ttl_seconds = 600",
            &[("GPUAAS__HTTP__LISTEN", "127.0.0.1:2"), ("GPUAAS__DATABASE__AUTO_MIGRATE", "false")],
        )
        .unwrap();
        assert_eq!(config.http.listen.port(), 2);
        assert_eq!(config.auth.session_ttl_seconds, 600);
        assert!(!config.database.auto_migrate);
    }

    #[test]
    fn an_unknown_key_is_refused_with_the_nearest_name() {
        let error = refusal("[http]\nlisen = \"127.0.0.1:1\"", &[]);
        assert_eq!(error.field_errors()[0].path, "/http/lisen");
        assert!(error.field_errors()[0].message.contains("http.listen"), "{error}");
        assert_eq!(refusal("", &[("GPUAAS__HTP__LISTEN", "x")]).field_errors()[0].code, "unknown_key");
    }

    #[test]
    fn wrong_values_say_where_and_why() {
        assert_eq!(refusal("[http]\nlisten = 5", &[]).field_errors()[0].path, "/http/listen");
        assert_eq!(
            refusal("[auth]\nservice_account_token_ttl_seconds = 901", &[]).field_errors()[0].path,
            "/auth/service_account_token_ttl_seconds"
        );
        assert_eq!(
            refusal("[http]\nlisten = \"0.0.0.0:80\"", &[]).field_errors()[0].code,
            "plain_http_beyond_loopback"
        );
        assert_eq!(
            refusal("[agents]\npublic_url = \"http://plain.example\"", &[]).field_errors()[0].path,
            "/agents/public_url"
        );
        assert_eq!(
            refusal("[agents]\ncertificate_file = \"c.pem\"", &[]).field_errors()[0].path,
            "/agents/key_file"
        );
        assert_eq!(refusal("= 5", &[]).code(), "config_invalid");
    }
}
