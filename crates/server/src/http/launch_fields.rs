//! What a launch request may not carry, by name. The value is never repeated, and never logged.

use std::collections::BTreeMap;

use gpuaas_domain::text::{member_at, nearest};
use gpuaas_domain::volume::MountSource;
use gpuaas_domain::{Error, FieldError};
use serde_json::{Map, Value};

const KNOWN: &[&str] = &[
    "slug",
    "app_slug",
    "app_version",
    "name",
    "target_allocation_id",
    "placement_intent",
    "operating_mode",
    "resources",
    "host_port",
    "variant",
    "values",
    "access",
    "mounts",
    "addons",
    "lanes",
    "plan_digest",
];

/// T-01, T-02, T-03, T-07, T-09, T-16: families of names, each with the code of its refusal.
const FORBIDDEN: &[(&str, &str, &[&str])] = &[
    (
        "unsupported_compose_yaml",
        "Compose files are not accepted; launch a registered app.",
        &[
            "compose",
            "compose_yaml",
            "compose_file",
            "docker_compose",
            "docker_compose_yaml",
            "services",
            "yaml",
        ],
    ),
    (
        "privileged_not_allowed",
        "Privileges, capabilities, devices and host namespaces cannot be asked for.",
        &[
            "privileged",
            "cap_add",
            "capabilities",
            "devices",
            "device_requests",
            "network_mode",
            "pid_mode",
            "ipc_mode",
            "host_network",
            "host_pid",
            "host_ipc",
            "security_opt",
            "sysctls",
            "userns_mode",
            "runtime",
        ],
    ),
    (
        "host_mount_not_allowed",
        "Host paths cannot be mounted.",
        &["volumes", "binds", "mounts", "host_path", "host_paths", "host_mounts", "docker_socket"],
    ),
    (
        "workspace_path_not_allowed",
        "Workspace paths are declared by the profile; choose a volume for them.",
        &["workspace", "workspace_path", "workspace_dir", "working_dir"],
    ),
    (
        "raw_secret_not_allowed",
        "Secrets are named, never sent.",
        &["secret", "secrets", "secret_values", "password", "token", "api_key", "credentials"],
    ),
    (
        "forbidden_field",
        "The profile and the platform decide this; it cannot be sent.",
        &[
            "image",
            "image_ref",
            "image_tag",
            "tag",
            "artifact_ref",
            "registry",
            "registry_auth",
            "registry_credentials",
            "registry_username",
            "registry_password",
            "pull_secret",
            "command",
            "entrypoint",
            "args",
            "env",
            "environment",
            "runtime_config",
            "runtime_profile",
            "config",
            "manifest",
            "control_plane_scope",
            "runtime_backend",
            "tenant_boundary_mode",
            "execution_engine",
            "status",
            "node_id",
            "tenant_id",
            "project_id",
        ],
    ),
];

/// Every member that has no business in a launch request.
pub(super) fn refused(other: &Map<String, Value>) -> Vec<FieldError> {
    other.keys().map(|name| refuse(name)).collect()
}

fn refuse(name: &str) -> FieldError {
    let shown: String = name.chars().filter(|c| !gpuaas_domain::text::is_deceptive(*c)).take(64).collect();
    let path = format!("/{}", shown.replace('~', "~0").replace('/', "~1"));
    let folded = name.to_ascii_lowercase();
    for (code, message, names) in FORBIDDEN {
        if names.contains(&folded.as_str()) {
            return FieldError::new(path, code, *message);
        }
    }
    let message = nearest(&folded, KNOWN.iter().copied()).map_or_else(
        || "There is no such field.".to_owned(),
        |known| format!("There is no such field; did you mean {known}?"),
    );
    FieldError::new(path, "unknown_field", message)
}

/// Members of a choice for storage that would say where it lies or where it appears.
const HOST_SIDE: &[&str] = &["source", "src", "host_path", "bind", "device", "driver", "type"];
const CONTAINER_SIDE: &[&str] =
    &["path", "target", "dst", "destination", "mount_path", "container_path", "sub_path", "subpath", "dir"];

/// What stands at the places for storage. What cannot be read is left out and told.
pub(super) fn mounts(given: &Value, faults: &mut Vec<FieldError>) -> BTreeMap<String, MountSource> {
    let mut chosen = BTreeMap::new();
    match given {
        Value::Null => {}
        Value::Object(all) if all.len() <= 32 => {
            for (name, choice) in all {
                match mount(&member_at("/mounts", name), choice) {
                    Ok(source) => _ = chosen.insert(name.clone(), source),
                    Err(fault) => faults.push(fault),
                }
            }
        }
        Value::Object(_) => {
            faults.push(FieldError::new(
                "/mounts",
                "out_of_range",
                "An app has at most 32 places for storage.",
            ));
        }
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            let sentence =
                "Host paths cannot be mounted; name the app's places for storage, and what stands there.";
            faults.push(FieldError::new("/mounts", "host_mount_not_allowed", sentence));
        }
    }
    chosen
}

fn mount(at: &str, choice: &Value) -> Result<MountSource, FieldError> {
    let fault =
        |member: &str, code, sentence: &str| Err(FieldError::new(format!("{at}{member}"), code, sentence));
    let Value::Object(choice) = choice else {
        let sentence = "The profile says where storage appears; choose scratch or a volume of the project.";
        return fault("", "workspace_path_not_allowed", sentence);
    };
    for name in choice.keys() {
        let place = member_at(at, name);
        let folded = name.to_ascii_lowercase();
        if CONTAINER_SIDE.contains(&folded.as_str()) {
            let sentence = "The profile says where storage appears; it cannot be sent.";
            return Err(FieldError::new(place, "workspace_path_not_allowed", sentence));
        }
        if HOST_SIDE.contains(&folded.as_str()) {
            return Err(FieldError::new(place, "host_mount_not_allowed", "Host paths cannot be mounted."));
        }
        if !["kind", "volume_id", "read_only"].contains(&name.as_str()) {
            return Err(FieldError::new(place, "unknown_field", "There is no such field."));
        }
    }
    let read_only = match choice.get("read_only") {
        None | Some(Value::Null) => false,
        Some(Value::Bool(read_only)) => *read_only,
        Some(_) => return fault("/read_only", "invalid_value", "Say true or false."),
    };
    let volume = choice.get("volume_id").filter(|id| !id.is_null());
    match (choice.get("kind").and_then(Value::as_str), volume) {
        (Some("scratch"), None) if !read_only => Ok(MountSource::Scratch),
        (Some("scratch"), None) => {
            fault("/read_only", "invalid_value", "Scratch that cannot be written is empty.")
        }
        (Some("scratch"), Some(_)) => fault("/volume_id", "invalid_value", "Scratch is no volume."),
        (Some("volume"), None) => fault("/volume_id", "required", "Say which volume."),
        (Some("volume"), Some(id)) => match id.as_str().and_then(|id| id.parse().ok()) {
            Some(volume_id) => Ok(MountSource::Volume { volume_id, read_only }),
            None => fault("/volume_id", "unknown_volume", "The project has no such volume."),
        },
        _ => fault("/kind", "invalid_value", "Choose scratch or volume."),
    }
}

/// Whether a fault is of what may never be sent.
pub(super) fn is_forbidden(fault: &FieldError) -> bool {
    FORBIDDEN.iter().any(|(code, ..)| *code == fault.code)
}

/// All faults; a refusal that has a name of its own gives it to the whole answer.
pub(super) fn refusal(faults: Vec<FieldError>) -> Error {
    let named = faults
        .iter()
        .find(|fault| is_forbidden(fault) || fault.code == "composition_limit_exceeded")
        .map(|fault| (fault.code, fault.message.clone()));
    let error = Error::fields(faults);
    match named {
        Some((code, message)) => error.reworded(code, message),
        None => error,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// T-01, T-02, T-03, T-07, T-09, T-16: each family has its code, and no value is repeated.
    #[test]
    fn forbidden_members_are_named_and_never_quoted() {
        for (name, code) in [
            ("compose_yaml", "unsupported_compose_yaml"),
            ("services", "unsupported_compose_yaml"),
            ("privileged", "privileged_not_allowed"),
            ("Cap_Add", "privileged_not_allowed"),
            ("volumes", "host_mount_not_allowed"),
            ("workspace_path", "workspace_path_not_allowed"),
            ("image", "forbidden_field"),
            ("registry_password", "forbidden_field"),
            ("secrets", "raw_secret_not_allowed"),
            ("runtime_backend", "forbidden_field"),
            ("tenant_boundary_mode", "forbidden_field"),
        ] {
            let other = json!({name: "s3cret-value"}).as_object().cloned().unwrap_or_default();
            let error = refusal(refused(&other));
            assert_eq!(error.code(), code, "{name}");
            assert!(!error.to_string().contains("s3cret"), "{error}");
        }
        for (mounts, path, code) in [
            (json!(["/:/host"]), "/mounts", "host_mount_not_allowed"),
            (json!({"workspace": "/home/me"}), "/mounts/workspace", "workspace_path_not_allowed"),
            (
                json!({"a/b": {"kind": "scratch", "path": "/x"}}),
                "/mounts/a~1b/path",
                "workspace_path_not_allowed",
            ),
            (json!({"w": {"kind": "bind", "Source": "/"}}), "/mounts/w/Source", "host_mount_not_allowed"),
            (json!({"w": {"kind": "host"}}), "/mounts/w/kind", "invalid_value"),
            (json!({"w": {}}), "/mounts/w/kind", "invalid_value"),
            (json!({"w": {"kind": "volume"}}), "/mounts/w/volume_id", "required"),
            (
                json!({"w": {"kind": "volume", "volume_id": "../etc"}}),
                "/mounts/w/volume_id",
                "unknown_volume",
            ),
            (json!({"w": {"kind": "volume", "volume_id": 7}}), "/mounts/w/volume_id", "unknown_volume"),
            (json!({"w": {"kind": "scratch", "volume_id": "x"}}), "/mounts/w/volume_id", "invalid_value"),
            (json!({"w": {"kind": "scratch", "size": 1}}), "/mounts/w/size", "unknown_field"),
            (json!({"w": {"kind": "volume", "read_only": "yes"}}), "/mounts/w/read_only", "invalid_value"),
        ] {
            let mut faults = Vec::new();
            assert!(super::mounts(&mounts, &mut faults).is_empty());
            assert_eq!((faults[0].path.as_str(), faults[0].code), (path, code), "{mounts}");
        }
        let id = "01900000-0000-7000-8000-000000000001";
        let both =
            json!({"a": {"kind": "scratch"}, "b": {"kind": "volume", "volume_id": id, "read_only": true}});
        let mut faults = Vec::new();
        let chosen = super::mounts(&both, &mut faults);
        assert!(faults.is_empty() && chosen["a"] == MountSource::Scratch && chosen["b"].is_read_only(false));
        let other = json!({"slugg": 1}).as_object().cloned().unwrap_or_default();
        assert!(refused(&other)[0].message.contains("did you mean slug"));
    }
}
