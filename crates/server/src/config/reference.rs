//! The configuration as documentation and as it stands, both made from the types.

use std::fmt::Write as _;

use gpuaas_program::config::{for_each_setting, inline};
use serde_json::Value;

use super::Config;

struct Setting {
    key: String,
    about: String,
    kind: String,
}

fn kind(node: &Value) -> String {
    if let Some(options) = node.get("oneOf").and_then(Value::as_array) {
        let names: Vec<_> = options
            .iter()
            .filter_map(|option| option.get("const").and_then(Value::as_str))
            .map(|name| format!("`{name}`"))
            .collect();
        return names.join(", ");
    }
    if let Some(options) = node.get("enum").and_then(Value::as_array) {
        let names: Vec<_> =
            options.iter().filter_map(Value::as_str).map(|name| format!("`{name}`")).collect();
        return names.join(", ");
    }
    let base = node.get("type").and_then(Value::as_str).unwrap_or("text");
    match (node.get("minimum"), node.get("maximum")) {
        (Some(least), Some(most)) => format!("{base} {least} to {most}"),
        _ => base.to_owned(),
    }
}

fn settings() -> Vec<Setting> {
    let mut out = Vec::new();
    for_each_setting::<Config>(|key, place, target| {
        let text = |node: &Value| node.get("description").and_then(Value::as_str).map(str::to_owned);
        let about = text(place).or_else(|| text(target)).unwrap_or_default().replace('\n', " ");
        out.push(Setting { key: key.to_owned(), about, kind: kind(target) });
    });
    out
}

/// Key and value of every setting, secrets masked.
fn values(config: &Config) -> Vec<(String, String)> {
    let quote = |text: &str| format!("{text:?}");
    let http = &config.http;
    let masked = if config.database.url.expose().is_empty() {
        quote("")
    } else {
        quote(&mask(config.database.url.expose()))
    };
    let tls_mode = match config.tls.mode {
        super::TlsMode::Off => "off",
        super::TlsMode::Files => "files",
        super::TlsMode::LocalCa => "local_ca",
    };
    [
        ("data_dir", quote(&config.data_dir.display().to_string())),
        ("domain", quote(&config.domain)),
        ("http.listen", quote(&http.listen.to_string())),
        ("http.public_url", quote(&http.public_url)),
        ("http.header_timeout_seconds", http.header_timeout_seconds.to_string()),
        ("http.request_timeout_seconds", http.request_timeout_seconds.to_string()),
        ("http.shutdown_seconds", http.shutdown_seconds.to_string()),
        ("http.max_connections", http.max_connections.to_string()),
        ("http.max_connections_per_address", http.max_connections_per_address.to_string()),
        ("tls.mode", quote(tls_mode)),
        ("tls.certificate_file", quote(&config.tls.certificate_file.display().to_string())),
        ("tls.key_file", quote(&config.tls.key_file.display().to_string())),
        ("agents.listen", quote(&config.agents.listen.to_string())),
        ("agents.public_url", quote(&config.agents.public_url)),
        ("agents.certificate_file", quote(&config.agents.certificate_file.display().to_string())),
        ("agents.key_file", quote(&config.agents.key_file.display().to_string())),
        ("launch.tenant_boundary", quote(config.launch.tenant_boundary.name())),
        ("launch.dispatch_deadline_seconds", config.launch.dispatch_deadline_seconds.to_string()),
        ("launch.release_deadline_seconds", config.launch.release_deadline_seconds.to_string()),
        ("launch.task_key_overlap_seconds", config.launch.task_key_overlap_seconds.to_string()),
        ("launch.defaults", inline(&config.launch.defaults)),
        ("registry.host", quote(&config.registry.host)),
        ("registry.also", quote(&config.registry.also)),
        ("registry.root", quote(&config.registry.root)),
        ("registry.allowed", quote(&config.registry.allowed)),
        ("registry.url", quote(&config.registry.url)),
        ("registry.token_ttl_seconds", config.registry.token_ttl_seconds.to_string()),
        ("registry.channels", quote(&config.registry.channels)),
        ("registry.environment", quote(&config.registry.environment)),
        ("registry.machine_channels", quote(&config.registry.machine_channels)),
        (
            "registry.trust",
            quote(match config.registry.trust {
                gpuaas_domain::artifact::TrustMode::Enforce => "enforce",
                gpuaas_domain::artifact::TrustMode::Warn => "warn",
            }),
        ),
        ("registry.local", config.registry.local.to_string()),
        ("registry.accept_unnamed", config.registry.accept_unnamed.to_string()),
        ("gateway.apps_domain", quote(&config.gateway.apps_domain)),
        ("gateway.public_access", quote(config.gateway.public_access.name())),
        ("gateway.session_ttl_seconds", config.gateway.session_ttl_seconds.to_string()),
        ("gateway.code_ttl_seconds", config.gateway.code_ttl_seconds.to_string()),
        ("database.url", masked),
        ("database.max_connections", config.database.max_connections.to_string()),
        ("database.auto_migrate", config.database.auto_migrate.to_string()),
        ("auth.service_account_token_ttl_seconds", config.auth.service_account_token_ttl_seconds.to_string()),
        ("auth.session_ttl_seconds", config.auth.session_ttl_seconds.to_string()),
        ("auth.login_link_ttl_seconds", config.auth.login_link_ttl_seconds.to_string()),
        ("auth.wrap_ttl_seconds", config.auth.wrap_ttl_seconds.to_string()),
        ("limits.reads_per_second", config.limits.reads_per_second.to_string()),
        ("limits.writes_per_second", config.limits.writes_per_second.to_string()),
        ("limits.credentials_per_second", config.limits.credentials_per_second.to_string()),
        ("limits.wrong_passwords", config.limits.wrong_passwords.to_string()),
        ("limits.max_streams", config.limits.max_streams.to_string()),
        ("log.level", quote(config.log.level.name())),
    ]
    .map(|(key, value)| (key.to_owned(), value))
    .to_vec()
}

/// What stands between `://` and `@` may hold a password; what follows `?` may too.
fn mask(url: &str) -> String {
    let without_query = url.split('?').next().unwrap_or_default();
    match without_query.split_once("://").and_then(|(scheme, rest)| Some((scheme, rest.rsplit_once('@')?))) {
        Some((scheme, (_, host))) => format!("{scheme}://***@{host}"),
        None => without_query.to_owned(),
    }
}

/// The configuration as it stands, as TOML that can be read back (but for masked secrets).
pub fn show(config: &Config) -> String {
    let mut out = String::new();
    let mut section = String::new();
    for (key, value) in values(config) {
        let (head, name) = key.rsplit_once('.').unwrap_or(("", &key));
        if head != section {
            head.clone_into(&mut section);
            let _ = write!(out, "\n[{section}]\n");
        }
        let _ = writeln!(out, "{name} = {value}");
    }
    out
}

/// The reference page.
pub fn reference() -> String {
    let defaults: std::collections::BTreeMap<_, _> = values(&Config::default()).into_iter().collect();
    let mut out = String::from(
        "# Configuration\n\nGenerated by `cargo xtask gen`; do not edit.\n\nOne TOML file (`gpuaas-server --config FILE …`), \
         then the environment: `GPUAAS__SECTION__KEY` overrides `section.key`. Unknown keys are refused. \
         `gpuaas-server config check` tells what is wrong, `gpuaas-server config show` what is in force, secrets masked.\n\n\
         | Key | Environment | Type | Default | Meaning |\n|---|---|---|---|---|\n",
    );
    for setting in settings() {
        let default = defaults.get(&setting.key).cloned().unwrap_or_default();
        let variable = format!("GPUAAS__{}", setting.key.replace('.', "__").to_uppercase());
        let _ = writeln!(
            out,
            "| `{}` | `{variable}` | {} | `{default}` | {} |",
            setting.key, setting.kind, setting.about
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_is_shown_and_documented() {
        let shown: Vec<_> = values(&Config::default()).into_iter().map(|(key, _)| key).collect();
        let mut known = gpuaas_program::config::known_keys::<Config>();
        let mut sorted = shown.clone();
        known.sort();
        sorted.sort();
        assert_eq!(sorted, known);
        assert!(settings().iter().all(|setting| !setting.about.is_empty()));
    }

    /// B-01: values that forms begin with are given by app and parameter, in a table or in a variable.
    #[test]
    fn forms_may_begin_with_values_of_the_site() {
        let table = "[launch.defaults.jupyterlab]\npackages = [\"numpy\"]\nidle-minutes = 30";
        let config: Config = super::super::from_parts(table, []).unwrap();
        assert_eq!(config.launch.defaults["jupyterlab"]["packages"][0], "numpy");
        assert!(show(&config).contains("idle-minutes = 30"), "{}", show(&config));
        let variable = ("GPUAAS__LAUNCH__DEFAULTS".to_owned(), "{ lab = { workers = 4 } }".to_owned());
        let config: Config = super::super::from_parts("", [variable]).unwrap();
        assert_eq!(config.launch.settings().defaults["lab"]["workers"], 4);
        assert!(super::super::from_parts("[launch.default.lab]\nworkers = 4", []).is_err());
    }

    /// N-06: `config show` masks the password in the database address.
    #[test]
    fn a_password_in_the_database_address_is_masked() {
        let config =
            super::super::from_parts("[database]\nurl = \"postgres://u:p4ss@db/x?password=q\"", []).unwrap();
        let text = show(&config);
        assert!(
            text.contains("postgres://***@db/x") && !text.contains("p4ss") && !text.contains("password=q"),
            "{text}"
        );
    }
}
