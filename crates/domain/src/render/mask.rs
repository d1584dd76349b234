//! What people may look at: the input without anything that looks like a secret. Secrets proper are only names in it; this
//! is about what somebody typed into an ordinary field.

use gpuaas_agent_protocol::spec::{Check, Probe};
use serde_json::Value;

use super::RenderInput;
use crate::manifest::looks_like_secret;
use crate::text::member_at;

/// Stands where something is masked.
pub(super) const MASK: &str = "(masked)";

/// Parts of a name that say what is in it.
const TELLING: &[&str] = &[
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "SECRET",
    "TOKEN",
    "API_KEY",
    "APIKEY",
    "ACCESS_KEY",
    "ACCESSKEY",
    "PRIVATE_KEY",
    "PRIVATEKEY",
    "CREDENTIAL",
];
/// Words that end such a name; a public key is no secret.
const TELLING_ENDS: &[&str] = &["PASS", "PWD", "PGPASS", "KEY", "AUTHORIZATION", "BEARER"];
const HARMLESS_ENDS: &[&str] =
    &["PUBLIC_KEY", "PUBLICKEY", "PUB_KEY", "PRIMARY_KEY", "SORT_KEY", "PARTITION_KEY"];

/// The input to look at, and the pointers to what is masked.
pub fn masked(input: &RenderInput) -> (RenderInput, Vec<String>) {
    let (mut shown, mut pointers) = (input.clone(), Vec::new());
    for (index, component) in shown.components.iter_mut().enumerate() {
        let at = format!("/components/{index}");
        for (place, variable) in component.env.iter_mut().enumerate() {
            if is_telling(&variable.name, &variable.value) || looks_like_secret(&variable.value) {
                MASK.clone_into(&mut variable.value);
                pointers.push(format!("{at}/env/{place}/value"));
            }
        }
        arguments(&format!("{at}/command"), &mut component.command, &mut pointers);
        for (which, probe) in [("readiness", &mut component.readiness), ("liveness", &mut component.liveness)]
        {
            if let Some(Probe { check: Check::Exec { command }, .. }) = probe {
                arguments(&format!("{at}/{which}/check/command"), command, &mut pointers);
            }
        }
    }
    for (key, value) in shown.helm.iter_mut().flat_map(|release| release.values.iter_mut()) {
        member(&member_at("/helm/values", key), key, value, &mut pointers);
    }
    (shown, pointers)
}

/// Of a command: what looks like a secret, what stands behind an option or a name that tells, and headers and addresses that
/// carry one.
fn arguments(at: &str, command: &mut [String], pointers: &mut Vec<String>) {
    let mut follows = false;
    for (place, part) in command.iter_mut().enumerate() {
        let is_option = part.starts_with('-');
        let assigned =
            part.split_once('=').filter(|(name, value)| is_telling(name.trim_start_matches('-'), value));
        let header = part.split_once(':').filter(|(name, value)| is_telling(name, value.trim_start()));
        let hidden = match (assigned, header) {
            (Some((name, _)), _) => Some(format!("{name}={MASK}")),
            (None, Some((name, _))) => Some(format!("{name}: {MASK}")),
            (None, None) if follows || looks_like_secret(part) || asks_with_secret(part) => {
                Some(MASK.to_owned())
            }
            (None, None) => None,
        };
        follows = is_option && !part.contains('=') && is_telling(part.trim_start_matches('-'), "");
        if let Some(hidden) = hidden {
            *part = hidden;
            pointers.push(format!("{at}/{place}"));
        }
    }
}

/// `?token=…` in an address.
fn asks_with_secret(text: &str) -> bool {
    let Some((_, query)) = text.split_once('?') else { return false };
    query.split('&').filter_map(|pair| pair.split_once('=')).any(|(name, value)| is_telling(name, value))
}

fn member(at: &str, key: &str, value: &mut Value, pointers: &mut Vec<String>) {
    match value {
        Value::String(text) if is_telling(key, text) || looks_like_secret(text) => {
            *value = Value::from(MASK);
            pointers.push(at.to_owned());
        }
        Value::Number(_) if is_telling(key, "") => {
            *value = Value::from(MASK);
            pointers.push(at.to_owned());
        }
        Value::Array(items) => {
            for (index, item) in items.iter_mut().enumerate() {
                member(&format!("{at}/{index}"), key, item, pointers);
            }
        }
        Value::Object(members) => {
            for (name, value) in members {
                // Below a name that tells, everything is told by it.
                let key = if is_telling(key, "") { key } else { name.as_str() };
                member(&member_at(at, name), key, value, pointers);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Tokens of a model are counted, not kept; and the path of a file is no secret.
fn is_telling(name: &str, value: &str) -> bool {
    let name = name.to_ascii_uppercase().replace('-', "_").replace("TOKENS", "");
    let is_file =
        (name.ends_with("_FILE") || name.ends_with("_PATH")) && (value.is_empty() || value.starts_with('/'));
    let ends = |ends: &[&str]| ends.iter().any(|end| name == *end || name.ends_with(&format!("_{end}")));
    let is_told =
        TELLING.iter().any(|word| name.contains(word)) || (ends(TELLING_ENDS) && !ends(HARMLESS_ENDS));
    is_told && !is_file
}

#[cfg(test)]
mod tests {
    use gpuaas_agent_protocol::spec::EnvVar;
    use serde_json::json;

    use super::*;
    use crate::render::input::{HelmRelease, Identity};
    use crate::text::Slug;

    /// B-13, T-03: what looks like a secret by its name or its shape is not shown; paths and plain values are.
    #[test]
    fn what_looks_like_a_secret_is_not_shown() {
        let manifest =
            crate::manifest::Document::from_stored(crate::manifest::tests::sample()).unwrap().manifest;
        let profile = manifest.expand();
        let component = &profile.components[0];
        let bindings = crate::render::container::Bindings {
            gpus: Vec::new(),
            cpu_millis: 1000,
            memory_mib: 512,
            host_port: None,
            volumes: std::collections::BTreeMap::new(),
            replicas: 1,
            secrets: Vec::new(),
        };
        let identity = Identity::planned(&Slug::parse("app").unwrap(), &manifest.version);
        let mut input = RenderInput::of_one(identity, &profile, component, &component.images[0], &bindings);
        let variable = |name: &str, value: &str| EnvVar { name: name.to_owned(), value: value.to_owned() };
        input.components[0].env = vec![
            variable("DB_PASSWORD", "hunter2"),
            variable("HF_TOKEN_FILE", "/run/secrets/hf"),
            variable("NOTE", "hf_abcdefghijklmnopqrstuvwxyz0123456789"),
            variable("MODE", "fast"),
        ];
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        input.components[0].command = words(&[
            "run",
            "--key=sk-abcdefghijklmnopqrstuvwxyz0123456789",
            "--password",
            "hunter2",
            "--api-key=hunter2",
            "--max-tokens=5",
            "DB_PASSWORD=hunter2",
            "--env",
            "SIGNING_KEY=hunter2",
            "--api-key",
            "-hunter2",
            "Authorization: Bearer hunter2",
            "http://a/b?token=hunter2&x=1",
            "--public-key=abc",
            "--monkey=x",
        ]);
        input.components[0].readiness = Some(Probe {
            check: Check::Exec { command: words(&["ask", "--db-pass=hunter2"]) },
            interval_ms: 1000,
            timeout_ms: 1000,
            failures: 3,
        });
        input.helm = Some(HelmRelease {
            chart: "stack".to_owned(),
            version: manifest.version.clone(),
            values: json!({"auth": {"adminPassword": "hunter2", "enabled": true, "password": {"value": "hunter2"}}, "replicas": 2})
                .as_object()
                .unwrap()
                .clone(),
        });
        let (shown, pointers) = masked(&input);
        let values: Vec<&str> = shown.components[0].env.iter().map(|one| one.value.as_str()).collect();
        assert_eq!(values, [MASK, "/run/secrets/hf", MASK, "fast"]);
        let told = [
            "run",
            "--key=(masked)",
            "--password",
            MASK,
            "--api-key=(masked)",
            "--max-tokens=5",
            "DB_PASSWORD=(masked)",
            "--env",
            "SIGNING_KEY=(masked)",
            "--api-key",
            MASK,
            "Authorization: (masked)",
            "http://a/b?token=(masked)",
            "--public-key=abc",
            "--monkey=x",
        ];
        assert_eq!(shown.components[0].command, told);
        let values = &shown.helm.as_ref().unwrap().values;
        assert_eq!(
            Value::Object(values.clone()),
            json!({"auth": {"adminPassword": MASK, "enabled": true, "password": {"value": MASK}}, "replicas": 2})
        );
        assert!(!serde_json::to_string(&shown).unwrap().contains("hunter2"));
        assert_eq!(
            pointers,
            [
                "/components/0/env/0/value",
                "/components/0/env/2/value",
                "/components/0/command/1",
                "/components/0/command/3",
                "/components/0/command/4",
                "/components/0/command/6",
                "/components/0/command/8",
                "/components/0/command/10",
                "/components/0/command/11",
                "/components/0/command/12",
                "/components/0/readiness/check/command/1",
                "/helm/values/auth/adminPassword",
                "/helm/values/auth/password/value",
            ]
        );
    }
}
