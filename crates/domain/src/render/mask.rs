//! What people may look at: the input without anything that looks like a secret. Secrets proper are only names in it; this
//! is about what somebody typed into an ordinary field.

use super::RenderInput;
use crate::manifest::looks_like_secret;

/// Stands where something is masked.
pub(super) const MASK: &str = "(masked)";

/// Parts of a variable's name that say what is in it.
const TELLING: &[&str] =
    &["PASSWORD", "PASSWD", "SECRET", "TOKEN", "API_KEY", "APIKEY", "PRIVATE_KEY", "CREDENTIAL"];

/// The input to look at, and the pointers to what is masked.
pub fn masked(input: &RenderInput) -> (RenderInput, Vec<String>) {
    let (mut shown, mut pointers) = (input.clone(), Vec::new());
    for (index, component) in shown.components.iter_mut().enumerate() {
        for (at, variable) in component.env.iter_mut().enumerate() {
            if is_telling(&variable.name) || looks_like_secret(&variable.value) {
                MASK.clone_into(&mut variable.value);
                pointers.push(format!("/components/{index}/env/{at}/value"));
            }
        }
        for (at, part) in component.command.iter_mut().enumerate() {
            if looks_like_secret(part) {
                MASK.clone_into(part);
                pointers.push(format!("/components/{index}/command/{at}"));
            }
        }
    }
    (shown, pointers)
}

/// A path of a file is no secret.
fn is_telling(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    TELLING.iter().any(|word| name.contains(word)) && !name.ends_with("_FILE") && !name.ends_with("_PATH")
}

#[cfg(test)]
mod tests {
    use gpuaas_agent_protocol::spec::EnvVar;

    use super::*;
    use crate::render::input::Identity;
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
        input.components[0].command =
            vec!["run".to_owned(), "--key=sk-abcdefghijklmnopqrstuvwxyz0123456789".to_owned()];
        let (shown, pointers) = masked(&input);
        let values: Vec<&str> = shown.components[0].env.iter().map(|one| one.value.as_str()).collect();
        assert_eq!(values, [MASK, "/run/secrets/hf", MASK, "fast"]);
        assert_eq!(shown.components[0].command, ["run", MASK]);
        assert_eq!(
            pointers,
            ["/components/0/env/0/value", "/components/0/env/2/value", "/components/0/command/1"]
        );
    }
}
