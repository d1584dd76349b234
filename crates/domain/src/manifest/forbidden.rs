//! What a manifest may not say, whatever the spelling: names of fields, whole documents of other tools, and texts.
//!
//! The types leave no room for any of it; this module only gives the refusal its name, so that an author learns that
//! it is a rule of the platform and not a slip of the pen.
//!
//! The schema and the defaults of a `chart` are another tool's by their nature. They are compared with and go nowhere
//! (A-10, docs/decisions/0020), so their texts are not looked at; what `chart.set` says is.

use serde_json::{Map, Value};

use super::walk::{join, pointer};
use crate::FieldError;

type Refusal = (&'static str, &'static str);

const PRIVILEGED: Refusal = (
    "privileged_not_allowed",
    "Privileges, capabilities, host namespaces and devices are not given to apps.",
);
const HOST_MOUNT: Refusal = (
    "host_mount_not_allowed",
    "Nothing of the host is mounted; declare a place for storage in resources.mounts, or scratch.",
);
const COMPOSE: Refusal = (
    "unsupported_compose_yaml",
    "Compose files are not taken; describe components, and the platform renders what it needs.",
);
const KUBERNETES: Refusal = (
    "unsupported_k8s_manifest",
    "Kubernetes objects are not taken; describe components and resources instead.",
);
const CHART: Refusal = (
    "unsupported_chart",
    "Helm charts are not taken; describe components and parameters, and name a chart in the block chart.",
);
const NATIVE: Refusal = (
    "engine_native_not_allowed",
    "The manifest states intent; values and configuration of an engine are made by the platform.",
);
const PATHS: Refusal = (
    "workspace_path_not_allowed",
    "Where storage appears is fixed by the manifest: declare it in resources.mounts.",
);

/// Spelled without case, hyphens and underscores, since each tool has its own way.
const FIELDS: &[(Refusal, &[&str])] = &[
    (
        PRIVILEGED,
        &[
            "privileged",
            "capadd",
            "capabilities",
            "capdrop",
            "network",
            "networkmode",
            "hostnetwork",
            "pid",
            "pidmode",
            "hostpid",
            "ipc",
            "ipcmode",
            "hostipc",
            "uts",
            "hostuts",
            "device",
            "devices",
            "devicerequests",
            "devicecgrouprules",
            "securityopt",
            "securitycontext",
            "usernsmode",
            "userns",
            "hostusers",
            "cgroup",
            "cgroupns",
            "cgroupparent",
            "runtimeclassname",
            "sysctls",
            "allowprivilegeescalation",
            "seccomp",
            "seccompprofile",
            "apparmor",
            "apparmorprofile",
            "groupadd",
            "oomscoreadj",
        ],
    ),
    (
        HOST_MOUNT,
        &[
            "volume",
            "volumes",
            "volumesfrom",
            "volumemounts",
            "bind",
            "binds",
            "bindmounts",
            "mount",
            "mounts",
            "hostmount",
            "hostmounts",
            "hostpath",
            "hostpaths",
            "hostdir",
            "dockersock",
            "dockersocket",
        ],
    ),
    (
        COMPOSE,
        &[
            "services",
            "compose",
            "composefile",
            "composeyaml",
            "composeyml",
            "dockercompose",
            "dockercomposefile",
            "dockercomposeyaml",
            "dockercomposeyml",
        ],
    ),
    (
        KUBERNETES,
        &[
            "apiversion",
            "k8s",
            "kubernetes",
            "kubernetesyaml",
            "k8smanifest",
            "k8smanifests",
            "manifests",
            "podspec",
            "podtemplate",
            "deployment",
            "statefulset",
            "daemonset",
            "initcontainers",
            "nodeselector",
            "tolerations",
            "affinity",
            "serviceaccountname",
        ],
    ),
    (CHART, &["chart", "charts", "helmchart", "chartarchive", "charturl"]),
    (
        NATIVE,
        &[
            "helm",
            "helmvalues",
            "values",
            "valuesyaml",
            "valuesschema",
            "dstack",
            "dstackyml",
            "dstackyaml",
            "dstackconfig",
            "slurm",
            "slurmscript",
            "sbatch",
            "sbatchscript",
            "rayjob",
            "raycluster",
            "rawyaml",
            "yaml",
            "enginevalues",
            "engineconfig",
            "nativeconfig",
        ],
    ),
    (PATHS, &["workspace", "workspacepath", "workspacedir", "storagepath", "datapath"]),
];

/// Why an unknown field is not just unknown.
pub(super) fn field(name: &str) -> Option<Refusal> {
    let plain: String = name
        .chars()
        .filter(|c| !matches!(c, '_' | '-' | '.'))
        .take(64)
        .map(|c| c.to_ascii_lowercase())
        .collect();
    FIELDS.iter().find(|(_, names)| names.contains(&plain.as_str())).map(|(refusal, _)| *refusal)
}

/// A whole document of another tool. Its other faults would be noise.
pub(super) fn foreign(document: &Map<String, Value>) -> Option<FieldError> {
    if document.contains_key("slug") || document.contains_key("artifact_ref") {
        return None;
    }
    let has = |name: &str| document.contains_key(name);
    let (key, (code, message)) = if has("services") && !has("type") {
        ("services", COMPOSE)
    } else if has("apiVersion") && has("appVersion") {
        ("apiVersion", CHART)
    } else if has("apiVersion") && has("kind") {
        ("apiVersion", KUBERNETES)
    } else if matches!(
        document.get("type").and_then(Value::as_str),
        Some("task" | "service" | "dev-environment" | "fleet" | "volume" | "gateway")
    ) {
        ("type", NATIVE)
    } else {
        return None;
    };
    Some(FieldError::new(format!("/{key}"), code, message))
}

/// Whether values of a chart of this name would give it what no app gets (T-02, T-03).
pub(super) fn in_values(name: &str) -> Option<Refusal> {
    field(name).filter(|refusal| [PRIVILEGED, HOST_MOUNT].contains(refusal))
}

const IMPORTED: [&str; 2] = ["/chart/values_schema/", "/chart/defaults/"];

/// Texts anywhere in the document that smuggle in what has no field.
pub(super) fn texts(document: &Value) -> Vec<FieldError> {
    let mut found = Vec::new();
    // An address of a chart, or the text of one.
    if document["chart"].is_string() {
        found.push(FieldError::new("/chart", CHART.0, CHART.1));
    }
    each_text("", document, &mut |path, text| {
        if IMPORTED.iter().any(|imported| path.starts_with(imported)) {
            return;
        }
        let refusal = if text.contains("docker.sock") || text.contains("containerd.sock") {
            HOST_MOUNT
        } else if starts_a_line(text, "services:") && (text.contains("image:") || text.contains("build:")) {
            COMPOSE
        } else if starts_a_line(text, "apiVersion:") && starts_a_line(text, "kind:") {
            KUBERNETES
        } else {
            return;
        };
        found.push(FieldError::new(pointer(path), refusal.0, refusal.1));
    });
    found
}

fn starts_a_line(text: &str, word: &str) -> bool {
    text.lines().any(|line| line.starts_with(word))
}

pub(super) fn each_text(path: &str, value: &Value, see: &mut impl FnMut(&str, &str)) {
    match value {
        Value::String(text) => see(path, text),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                each_text(&format!("{path}/{index}"), item, see);
            }
        }
        Value::Object(map) => {
            for (key, item) in map {
                each_text(&join(path, key), item, see);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
