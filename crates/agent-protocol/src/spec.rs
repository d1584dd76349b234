//! What a node is asked to run. There is no field for what is forbidden: no privilege, capability, host path, host
//! network, device or security option can be written here, and unknown fields are refused.
//!
//! [`WorkloadSpec::check`] is the agent's own allowlist. The control plane runs it too before it sends, but the agent
//! trusts nobody: a spec that passes a signature check still has to pass this.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::image::ImageRef;
use crate::inventory::Vendor;

/// Bytes of JSON that an order may have.
pub const MAX_SPEC_BYTES: usize = 256 * 1024;
pub const MAX_COMPONENTS: usize = 16;
const MAX_ENV: usize = 256;
const MAX_ARGS: usize = 256;
const MAX_TEXT: usize = 32 * 1024;
const MAX_PORTS: usize = 32;
const MAX_MOUNTS: usize = 32;
const MAX_GPUS: usize = 64;

/// Everything of one instance that runs on this node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkloadSpec {
    pub components: Vec<ComponentSpec>,
    /// From the start of the first container until every readiness probe has passed.
    pub readiness_deadline_seconds: u32,
    /// From SIGTERM until SIGKILL.
    pub stop_grace_seconds: u32,
    pub restart: RestartBudget,
}

/// One container.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ComponentSpec {
    pub name: String,
    pub image: ImageGrant,
    /// Replaces the image's command; empty keeps it.
    #[serde(default)]
    pub command: Vec<String>,
    #[serde(default)]
    pub env: Vec<EnvVar>,
    #[serde(default)]
    pub user: RunAs,
    pub cpu_millis: u32,
    pub memory_mib: u32,
    pub pids: u32,
    #[serde(default)]
    pub read_only_root: bool,
    #[serde(default)]
    pub tmpfs: Vec<Tmpfs>,
    #[serde(default)]
    pub scratch: Vec<Scratch>,
    // Left out where there is none: what was rendered before there were volumes keeps its bytes and its digest.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub volumes: Vec<VolumeMount>,
    #[serde(default)]
    pub gpus: Vec<GpuBinding>,
    #[serde(default)]
    pub ports: Vec<Port>,
    #[serde(default)]
    pub readiness: Option<Probe>,
    #[serde(default)]
    pub liveness: Option<Probe>,
    #[serde(default)]
    pub egress: Egress,
}

/// An image this task may pull, and where its bytes come from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ImageGrant {
    /// In canonical form. Where its registry is reached, and whether this node may have it now, the platform says when
    /// the node asks: an order may lie for a while.
    pub reference: ImageRef,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EnvVar {
    pub name: String,
    pub value: String,
}

/// Who the process is. Root only where the profile says so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "as", rename_all = "snake_case", deny_unknown_fields)]
pub enum RunAs {
    /// The image's own user; where that is root, a user without rights (65532).
    #[default]
    Image,
    /// This user and group, neither of them 0.
    User {
        /// The user's number.
        uid: u32,
        /// The group's number.
        gid: u32,
    },
    /// Root, inside the container only.
    Root,
}

/// The user a container gets when its image names none: no account of the host.
pub const NOBODY: (u32, u32) = (65532, 65532);

/// A folder in memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tmpfs {
    /// Where it appears in the container.
    pub path: String,
    /// Mebibytes that fit in.
    pub size_mib: u32,
}

/// A folder below the node's scratch root that dies with the instance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scratch {
    /// What it is called.
    pub name: String,
    /// Where it appears in the container.
    pub path: String,
}

/// A folder below the node's volumes root that outlives the instance. Which folder follows from the id alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VolumeMount {
    pub id: Uuid,
    pub path: String,
    #[serde(default)]
    pub read_only: bool,
}

/// One device, exactly this one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GpuBinding {
    pub vendor: Vendor,
    /// The vendor's own id, stable over reboots.
    pub uuid: String,
    /// No such device exists; nothing is passed to the container but its environment says so.
    pub simulated: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Port {
    pub name: String,
    pub container: u16,
    /// Published on the node's 127.0.0.1, nowhere else.
    #[serde(default)]
    pub host: Option<u16>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Probe {
    pub check: Check,
    pub interval_ms: u32,
    pub timeout_ms: u32,
    /// So many failures in a row mean unhealthy.
    pub failures: u32,
}

/// What a probe does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Check {
    /// 200 to 399 is good.
    Http {
        /// The container's port.
        port: u16,
        /// Where on the port.
        path: String,
    },
    /// Opens a connection; that it opens is good.
    Tcp {
        /// The container's port.
        port: u16,
    },
    /// Exit code 0 is good.
    Exec {
        /// The program and its arguments; no shell reads them.
        command: Vec<String>,
    },
    /// The app calls the instance API at least this often.
    Heartbeat,
}

/// Where a component may connect to beyond its own instance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Egress {
    /// Nowhere.
    None,
    /// The instance API only.
    #[default]
    Platform,
    /// The internet, and the instance API.
    Internet,
}

/// How often the agent may restart what ended by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RestartBudget {
    /// So many times within the window.
    pub max_restarts: u32,
    /// Seconds that are looked back.
    pub window_seconds: u32,
}

/// Why a spec is not run: where, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecFault {
    pub path: String,
    pub message: String,
}

impl std::fmt::Display for SpecFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.path, self.message)
    }
}

impl std::error::Error for SpecFault {}

/// Variables that steer a loader, a container runtime or ourselves: an image or profile has no business setting them.
const ENV_DENIED: &[&str] = &["LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT", "GLIBC_TUNABLES"];
const ENV_DENIED_PREFIXES: &[&str] = &["NVIDIA_", "CUDA_VISIBLE", "ROCR_VISIBLE", "HIP_VISIBLE", "GPUAAS_"];

/// Places inside a container that mounts may not cover.
const PATH_DENIED: &[&str] = &[
    "/",
    "/proc",
    "/sys",
    "/dev",
    "/etc",
    "/run/gpuaas",
    "/bin",
    "/sbin",
    "/lib",
    "/lib64",
    "/usr",
    "/boot",
];

impl WorkloadSpec {
    /// Every volume that any component mounts.
    pub fn volume_ids(&self) -> BTreeSet<Uuid> {
        self.components.iter().flat_map(|component| &component.volumes).map(|volume| volume.id).collect()
    }

    /// The allowlist. The first fault is enough: nobody but a forger meets it.
    pub fn check(&self) -> Result<(), SpecFault> {
        within("/components", self.components.len(), 1, MAX_COMPONENTS)?;
        within("/readiness_deadline_seconds", self.readiness_deadline_seconds, 1, 24 * 3600)?;
        within("/stop_grace_seconds", self.stop_grace_seconds, 0, 600)?;
        within("/restart/max_restarts", self.restart.max_restarts, 0, 100)?;
        within("/restart/window_seconds", self.restart.window_seconds, 1, 24 * 3600)?;
        let mut names = BTreeSet::new();
        let mut host_ports = BTreeSet::new();
        let mut gpus = BTreeSet::new();
        for (index, component) in self.components.iter().enumerate() {
            let at = format!("/components/{index}");
            component.check(&at)?;
            // The network is the instance's: what one component may reach, all may.
            if component.egress != self.components[0].egress {
                return fault(format!("{at}/egress"), "All components of an instance have the same egress.");
            }
            if !names.insert(&component.name) {
                return fault(format!("{at}/name"), "Each component needs a name of its own.");
            }
            for gpu in &component.gpus {
                if !gpus.insert(&gpu.uuid) {
                    return fault(format!("{at}/gpus"), "A device is bound once.");
                }
            }
            for port in component.ports.iter().filter_map(|port| port.host) {
                if !host_ports.insert(port) {
                    return fault(format!("{at}/ports"), "A host port is published once.");
                }
            }
        }
        Ok(())
    }
}

impl ComponentSpec {
    fn check(&self, at: &str) -> Result<(), SpecFault> {
        check_name(&format!("{at}/name"), &self.name)?;
        within(&format!("{at}/command"), self.command.len(), 0, MAX_ARGS)?;
        for (index, part) in self.command.iter().enumerate() {
            check_text(&format!("{at}/command/{index}"), part)?;
        }
        self.check_env(at)?;
        if let RunAs::User { uid, gid } = self.user
            && (uid == 0 || gid == 0)
        {
            return fault(format!("{at}/user"), "Root is declared as root, not as uid or gid 0.");
        }
        within(&format!("{at}/cpu_millis"), self.cpu_millis, 1, 4_096_000)?;
        within(&format!("{at}/memory_mib"), self.memory_mib, 6, 64 * 1024 * 1024)?;
        within(&format!("{at}/pids"), self.pids, 1, 1_000_000)?;
        self.check_mounts(at)?;
        within(&format!("{at}/gpus"), self.gpus.len(), 0, MAX_GPUS)?;
        for (index, gpu) in self.gpus.iter().enumerate() {
            check_device(&format!("{at}/gpus/{index}/uuid"), &gpu.uuid)?;
        }
        self.check_ports(at)?;
        for (which, probe) in [("readiness", &self.readiness), ("liveness", &self.liveness)] {
            if let Some(probe) = probe {
                probe.check_at(&format!("{at}/{which}"))?;
                if probe.check == Check::Heartbeat && self.egress == Egress::None {
                    return fault(
                        format!("{at}/{which}/check"),
                        "Without any egress no heartbeat gets out; use egress `platform` or another check.",
                    );
                }
            }
        }
        Ok(())
    }

    fn check_env(&self, at: &str) -> Result<(), SpecFault> {
        within(&format!("{at}/env"), self.env.len(), 0, MAX_ENV)?;
        let mut seen = BTreeSet::new();
        for (index, variable) in self.env.iter().enumerate() {
            let at = format!("{at}/env/{index}");
            if !is_env_name(&variable.name) {
                return fault(
                    format!("{at}/name"),
                    "A variable is letters, digits and underscores, and starts with no digit.",
                );
            }
            if is_denied_env(&variable.name) {
                return fault(
                    format!("{at}/name"),
                    "This variable steers the loader, the GPU runtime or the platform.",
                );
            }
            if !seen.insert(&variable.name) {
                return fault(format!("{at}/name"), "A variable is set once.");
            }
            check_text(&format!("{at}/value"), &variable.value)?;
        }
        Ok(())
    }

    fn check_mounts(&self, at: &str) -> Result<(), SpecFault> {
        within(&format!("{at}/tmpfs"), self.tmpfs.len(), 0, MAX_MOUNTS)?;
        within(&format!("{at}/scratch"), self.scratch.len(), 0, MAX_MOUNTS)?;
        within(&format!("{at}/volumes"), self.volumes.len(), 0, MAX_MOUNTS)?;
        let mut paths: Vec<&str> = Vec::new();
        let mut names = BTreeSet::new();
        for (index, tmpfs) in self.tmpfs.iter().enumerate() {
            check_mount_path(&format!("{at}/tmpfs/{index}/path"), &tmpfs.path)?;
            within(&format!("{at}/tmpfs/{index}/size_mib"), tmpfs.size_mib, 1, 1024 * 1024)?;
            paths.push(&tmpfs.path);
        }
        for (index, scratch) in self.scratch.iter().enumerate() {
            check_name(&format!("{at}/scratch/{index}/name"), &scratch.name)?;
            check_mount_path(&format!("{at}/scratch/{index}/path"), &scratch.path)?;
            if !names.insert(&scratch.name) {
                return fault(
                    format!("{at}/scratch/{index}/name"),
                    "Each scratch folder needs a name of its own.",
                );
            }
            paths.push(&scratch.path);
        }
        let mut ids = BTreeSet::new();
        for (index, volume) in self.volumes.iter().enumerate() {
            check_mount_path(&format!("{at}/volumes/{index}/path"), &volume.path)?;
            if volume.id.is_nil() || !ids.insert(volume.id) {
                return fault(format!("{at}/volumes/{index}/id"), "A volume has an id and is mounted once.");
            }
            paths.push(&volume.path);
        }
        paths.sort_unstable();
        if paths.windows(2).any(|pair| pair[0] == pair[1]) {
            return fault(format!("{at}/scratch"), "Two mounts share a path.");
        }
        Ok(())
    }

    fn check_ports(&self, at: &str) -> Result<(), SpecFault> {
        within(&format!("{at}/ports"), self.ports.len(), 0, MAX_PORTS)?;
        let mut names = BTreeSet::new();
        let mut numbers = BTreeSet::new();
        for (index, port) in self.ports.iter().enumerate() {
            let at = format!("{at}/ports/{index}");
            check_name(&format!("{at}/name"), &port.name)?;
            within(&format!("{at}/container"), port.container, 1, u16::MAX)?;
            if let Some(host) = port.host {
                within(&format!("{at}/host"), host, 1024, u16::MAX)?;
            }
            if !names.insert(&port.name) || !numbers.insert(port.container) {
                return fault(at, "Each port needs a name and a number of its own.");
            }
        }
        Ok(())
    }
}

impl Probe {
    fn check_at(&self, at: &str) -> Result<(), SpecFault> {
        within(&format!("{at}/interval_ms"), self.interval_ms, 50, 3_600_000)?;
        within(&format!("{at}/timeout_ms"), self.timeout_ms, 50, 600_000)?;
        within(&format!("{at}/failures"), self.failures, 1, 1000)?;
        match &self.check {
            Check::Http { port, path } => {
                within(&format!("{at}/check/port"), *port, 1, u16::MAX)?;
                let clean =
                    path.starts_with('/') && path.len() <= 1024 && path.bytes().all(|b| b.is_ascii_graphic());
                if !clean {
                    return fault(
                        format!("{at}/check/path"),
                        "A probe path starts with / and is visible ASCII.",
                    );
                }
                Ok(())
            }
            Check::Tcp { port } => within(&format!("{at}/check/port"), *port, 1, u16::MAX),
            Check::Exec { command } => {
                within(&format!("{at}/check/command"), command.len(), 1, MAX_ARGS)?;
                command.iter().try_for_each(|part| check_text(&format!("{at}/check/command"), part))
            }
            Check::Heartbeat => Ok(()),
        }
    }
}

/// Whether a profile or image may not set this variable.
pub fn is_denied_env(name: &str) -> bool {
    ENV_DENIED.contains(&name) || ENV_DENIED_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

pub fn is_env_name(name: &str) -> bool {
    (1..=256).contains(&name.len())
        && !name.as_bytes()[0].is_ascii_digit()
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// An absolute path inside the container that hides nothing the container or the platform relies on.
pub fn is_mount_path(path: &str) -> bool {
    let plain = path.starts_with('/')
        && path.len() <= 512
        && !path.ends_with('/')
        && path[1..].split('/').all(|part| !part.is_empty() && part != "." && part != "..")
        && path.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'/' | b'.' | b'_' | b'-'));
    plain
        && !PATH_DENIED.contains(&path)
        && !["/proc/", "/sys/", "/dev/", "/run/gpuaas/"].iter().any(|root| path.starts_with(root))
}

fn fault<T>(path: impl Into<String>, message: &str) -> Result<T, SpecFault> {
    Err(SpecFault { path: path.into(), message: message.to_owned() })
}

fn within<N: PartialOrd + Copy + std::fmt::Display>(
    path: &str,
    value: N,
    least: N,
    most: N,
) -> Result<(), SpecFault> {
    if value < least || value > most {
        return fault(path, &format!("{value} is outside {least} to {most}."));
    }
    Ok(())
}

fn check_name(path: &str, name: &str) -> Result<(), SpecFault> {
    let clean = (1..=40).contains(&name.len())
        && !name.starts_with('-')
        && !name.ends_with('-')
        && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
    if clean { Ok(()) } else { fault(path, "A name is 1 to 40 of a-z, 0-9 and inner hyphens.") }
}

fn check_text(path: &str, text: &str) -> Result<(), SpecFault> {
    if text.len() > MAX_TEXT || text.contains('\0') {
        return fault(path, "At most 32 KiB, without NUL.");
    }
    Ok(())
}

fn check_mount_path(path: &str, mount: &str) -> Result<(), SpecFault> {
    if is_mount_path(mount) {
        Ok(())
    } else {
        fault(path, "This place in the container cannot be mounted over.")
    }
}

/// Whether a device can be named by this: it stands in lists that are separated by commas.
pub fn is_device_id(uuid: &str) -> bool {
    (1..=128).contains(&uuid.len())
        && uuid.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b':' | b'.'))
}

fn check_device(path: &str, uuid: &str) -> Result<(), SpecFault> {
    if is_device_id(uuid) { Ok(()) } else { fault(path, "A device id is letters, digits and - _ : .") }
}
