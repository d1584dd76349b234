//! One typed configuration: a TOML file, then the environment on top. Unknown keys are refused with the nearest name.

mod load;

use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use gpuaas_domain::{FieldError, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::identity::Identity;
use crate::inventory::{DeclaredGpus, Look};
use crate::pull::PullSettings;
use crate::runtime::subnet::Subnet;

pub use load::{faults, from_parts, load};

/// Everything an operator can set on a node.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Where the agent keeps its key, its orders and what it must remember. `--state` overrides it.
    pub state_dir: PathBuf,
    /// What starts containers: `docker`, or `simulated` to try the platform without any.
    pub runtime: RuntimeKind,
    pub docker: Docker,
    pub network: Network,
    pub storage: Storage,
    pub pull: Pull,
    pub inventory: Inventory,
    pub report: Report,
    pub log: Log,
    /// GPUs to pretend to have, as `[[gpus]]` with vendor, model, memory_mib and count; they are marked simulated
    /// everywhere. Empty: the vendors' tools are asked.
    pub gpus: Vec<DeclaredGpus>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RuntimeKind {
    Docker,
    Simulated,
}

#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Docker {
    /// The engine's socket.
    pub socket: PathBuf,
    /// Where the engine keeps images; its free space is what an image must fit into.
    pub data_dir: PathBuf,
}

#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Network {
    /// The range that instances get their networks (/28) from; nothing else on the node may use it.
    pub range: String,
    /// The port of the instance API on each network's gateway address.
    #[schemars(range(min = 1024, max = 65535))]
    pub instance_api_port: u16,
    /// `required`: no workload starts until the node's packet filter keeps it from the node and from others. `off`: they
    /// start without; only for a node whose workloads may reach everything it can.
    pub packet_filter: PacketFilter,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PacketFilter {
    Required,
    Off,
}

#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Storage {
    /// Where scratch folders of instances are made. Empty: `scratch` in the state folder.
    pub scratch_dir: PathBuf,
    /// Where volumes are kept; never inside the scratch folder. Empty: `volumes` beside the scratch folder.
    pub volumes_dir: PathBuf,
    /// Where the keys of instances lie; must be on a tmpfs, so that they never reach a disk. Empty: `/run/gpuaas`, or
    /// `/dev/shm/gpuaas` where `/run` is none.
    pub secrets_dir: PathBuf,
}

#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Pull {
    /// Seconds without a byte from a registry after which a pull is given up.
    #[schemars(range(min = 1, max = 3600))]
    pub stall_seconds: u32,
    /// Seconds a whole image may take.
    #[schemars(range(min = 1, max = 86_400))]
    pub deadline_seconds: u32,
    /// Seconds to connect to a registry.
    #[schemars(range(min = 1, max = 300))]
    pub connect_seconds: u32,
}

#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Inventory {
    /// Folders to look for nvidia-smi, amd-smi and rocm-smi in, separated by colons.
    pub search_path: String,
    /// Seconds one run of such a tool may take.
    #[schemars(range(min = 1, max = 300))]
    pub tool_seconds: u32,
}

#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Report {
    /// Seconds between full reports; changes are told at once.
    #[schemars(range(min = 1, max = 600))]
    pub interval_seconds: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LogLevel {
    Error,
    Warn,
    Info,
    Debug,
    Trace,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LogFormat {
    Text,
    Json,
}

#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Log {
    /// The least level written, to standard error.
    pub level: LogLevel,
    /// Lines for people (`text`) or of JSON (`json`).
    pub format: LogFormat,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            state_dir: "/var/lib/gpuaas-agent".into(),
            runtime: RuntimeKind::Docker,
            docker: Docker::default(),
            network: Network::default(),
            storage: Storage::default(),
            pull: Pull::default(),
            inventory: Inventory::default(),
            report: Report::default(),
            log: Log::default(),
            gpus: Vec::new(),
        }
    }
}

impl Default for Docker {
    fn default() -> Self {
        Self { socket: "/var/run/docker.sock".into(), data_dir: "/var/lib/docker".into() }
    }
}

impl Network {
    /// The program that sets the packet filter, unless it is off.
    pub fn packet_filter(&self) -> Option<String> {
        (self.packet_filter == PacketFilter::Required).then(|| crate::runtime::guard::PROGRAM.to_owned())
    }
}

impl Default for Network {
    fn default() -> Self {
        Self {
            range: "10.213.0.0/16".into(),
            instance_api_port: crate::instance_api::PORT,
            packet_filter: PacketFilter::Required,
        }
    }
}

impl Default for Storage {
    fn default() -> Self {
        Self { scratch_dir: PathBuf::new(), volumes_dir: PathBuf::new(), secrets_dir: PathBuf::new() }
    }
}

impl Default for Pull {
    fn default() -> Self {
        Self { stall_seconds: 30, deadline_seconds: 3600, connect_seconds: 10 }
    }
}

impl Default for Inventory {
    fn default() -> Self {
        let search_path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/opt/rocm/bin".into();
        Self { search_path, tool_seconds: 20 }
    }
}

impl Default for Report {
    fn default() -> Self {
        Self { interval_seconds: 30 }
    }
}

impl Default for Log {
    fn default() -> Self {
        Self { level: LogLevel::Info, format: LogFormat::Text }
    }
}

impl RuntimeKind {
    pub fn name(self) -> &'static str {
        match self {
            Self::Docker => "docker",
            Self::Simulated => "simulated",
        }
    }
}

impl PacketFilter {
    pub fn name(self) -> &'static str {
        match self {
            Self::Required => "required",
            Self::Off => "off",
        }
    }
}

impl LogFormat {
    pub fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Json => "json",
        }
    }
}

impl LogLevel {
    pub fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warn => "warn",
            Self::Info => "info",
            Self::Debug => "debug",
            Self::Trace => "trace",
        }
    }
}

fn seconds(count: u32) -> Duration {
    Duration::from_secs(count.into())
}

impl Config {
    /// What types alone cannot say.
    fn check(&self) -> Result<()> {
        let mut wrong = Vec::new();
        let mut range = |path: &str, value: u32, least: u32, most: u32| {
            if !(least..=most).contains(&value) {
                let message = format!("Use a number from {least} to {most}.");
                wrong.push(FieldError::new(path, "out_of_range", message));
            }
        };
        range("/pull/stall_seconds", self.pull.stall_seconds, 1, 3600);
        range("/pull/deadline_seconds", self.pull.deadline_seconds, 1, 86_400);
        range("/pull/connect_seconds", self.pull.connect_seconds, 1, 300);
        range("/inventory/tool_seconds", self.inventory.tool_seconds, 1, 300);
        range("/report/interval_seconds", self.report.interval_seconds, 1, 600);
        range("/network/instance_api_port", self.network.instance_api_port.into(), 1024, 65_535);
        for (index, group) in self.gpus.iter().enumerate() {
            range(&format!("/gpus/{index}/count"), group.count, 1, 64);
            range(&format!("/gpus/{index}/memory_mib"), group.memory_mib, 1, 16 * 1024 * 1024);
        }
        let named = |group: &DeclaredGpus| !group.model.trim().is_empty() && group.model.len() <= 200;
        if let Some(index) = self.gpus.iter().position(|group| !named(group)) {
            let message = "Name the model in 1 to 200 characters.";
            wrong.push(FieldError::new(format!("/gpus/{index}/model"), "invalid_value", message));
        }
        if private_range(&self.network.range).is_none() {
            let message = "Write a private IPv4 range of /8 to /28, such as 10.213.0.0/16.";
            wrong.push(FieldError::new("/network/range", "invalid_value", message));
        }
        let (scratch, volumes) = (self.scratch_dir(), self.volumes_dir());
        if scratch.starts_with(&volumes) || volumes.starts_with(&scratch) {
            let message = "Keep volumes and scratch in folders of their own, neither inside the other.";
            wrong.push(FieldError::new("/storage/volumes_dir", "invalid_value", message));
        }
        if wrong.is_empty() { Ok(()) } else { Err(gpuaas_domain::Error::fields(wrong)) }
    }

    pub fn scratch_dir(&self) -> PathBuf {
        if self.storage.scratch_dir.as_os_str().is_empty() {
            self.state_dir.join("scratch")
        } else {
            self.storage.scratch_dir.clone()
        }
    }

    pub fn volumes_dir(&self) -> PathBuf {
        if self.storage.volumes_dir.as_os_str().is_empty() {
            self.scratch_dir().with_file_name("volumes")
        } else {
            self.storage.volumes_dir.clone()
        }
    }

    pub fn secrets_dir(&self) -> PathBuf {
        if self.storage.secrets_dir.as_os_str().is_empty() {
            crate::executor::secrets::usual_root()
        } else {
            self.storage.secrets_dir.clone()
        }
    }

    /// Where the instances' networks come from.
    pub fn pool(&self) -> Subnet {
        private_range(&self.network.range).expect("the range was checked when it was read")
    }

    /// Where to look for what the node has; `seed` is its public key.
    pub fn look(&self, seed: &[u8]) -> Look {
        Look {
            search_path: self.inventory.search_path.clone(),
            tool_timeout: seconds(self.inventory.tool_seconds),
            data_dir: self.scratch_dir(),
            declared: self.gpus.clone(),
            seed: seed.to_vec(),
        }
    }

    pub fn pull_settings(&self, identity: &Identity) -> PullSettings {
        PullSettings {
            state_dir: self.state_dir.clone(),
            images_dir: match self.runtime {
                RuntimeKind::Docker => self.docker.data_dir.clone(),
                RuntimeKind::Simulated => self.state_dir.clone(),
            },
            stall_timeout: seconds(self.pull.stall_seconds),
            total_timeout: seconds(self.pull.deadline_seconds),
            connect_timeout: seconds(self.pull.connect_seconds),
            retry_pause: Duration::from_millis(400),
            platform_url: identity.server_url.clone(),
            platform_ca_pem: identity.ca_pem.clone(),
        }
    }

    pub fn report_interval(&self) -> Duration {
        seconds(self.report.interval_seconds)
    }

    /// The configuration in force, one `key = value` per line, as TOML that can be read back.
    pub fn show(&self) -> String {
        let text = |text: &dyn std::fmt::Display| format!("{:?}", text.to_string());
        let mut out = format!(
            "state_dir = {}\nruntime = {}\n\n[docker]\nsocket = {}\ndata_dir = {}\n\n[network]\nrange = {}\n\
             instance_api_port = {}\npacket_filter = {}\n\n[storage]\nscratch_dir = {}\nvolumes_dir = {}\nsecrets_dir = {}\n\n[pull]\nstall_seconds = {}\n\
             deadline_seconds = {}\nconnect_seconds = {}\n\n[inventory]\nsearch_path = {}\ntool_seconds = {}\n\n\
             [report]\ninterval_seconds = {}\n\n[log]\nlevel = {}\nformat = {}\n",
            text(&self.state_dir.display()),
            text(&self.runtime.name()),
            text(&self.docker.socket.display()),
            text(&self.docker.data_dir.display()),
            text(&self.network.range),
            self.network.instance_api_port,
            text(&self.network.packet_filter.name()),
            text(&self.storage.scratch_dir.display()),
            text(&self.storage.volumes_dir.display()),
            text(&self.storage.secrets_dir.display()),
            self.pull.stall_seconds,
            self.pull.deadline_seconds,
            self.pull.connect_seconds,
            text(&self.inventory.search_path),
            self.inventory.tool_seconds,
            self.report.interval_seconds,
            text(&self.log.level.name()),
            text(&self.log.format.name()),
        );
        for group in &self.gpus {
            let _ = write!(
                out,
                "\n[[gpus]]\nvendor = {}\nmodel = {}\nmemory_mib = {}\ncount = {}\n",
                text(&group.vendor.name()),
                text(&group.model),
                group.memory_mib,
                group.count
            );
        }
        out
    }
}

/// Instances get addresses that mean nothing outside the node.
fn private_range(text: &str) -> Option<Subnet> {
    let (address, prefix) = text.split_once('/')?;
    let private = address.parse::<std::net::Ipv4Addr>().ok()?.is_private();
    let size = (8..=28).contains(&prefix.parse::<u8>().ok()?);
    (private && size).then(|| text.parse().ok()).flatten()
}
