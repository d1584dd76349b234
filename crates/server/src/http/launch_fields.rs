//! What a launch request may not carry, by name. The value is never repeated, and never logged.

use gpuaas_domain::text::nearest;
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

/// All faults; a refusal that has a name of its own gives it to the whole answer.
pub(super) fn refusal(faults: Vec<FieldError>) -> Error {
    let named = faults
        .iter()
        .find(|fault| {
            FORBIDDEN.iter().any(|(code, ..)| *code == fault.code)
                || fault.code == "composition_limit_exceeded"
        })
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
        let other = json!({"slugg": 1}).as_object().cloned().unwrap_or_default();
        assert!(refused(&other)[0].message.contains("did you mean slug"));
    }
}
