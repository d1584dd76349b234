//! The part of a Compose project that we write. There is no field for privilege, capabilities to add, host networks,
//! host paths, builds or tags.

use std::collections::BTreeMap;

use serde::Serialize;

/// Text that Compose gives on as it was: it replaces `$X` and `${X}` in every value and reads `$$` as `$`. Only
/// [`Text::new`] makes one, so no value gets past the escape.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub(super) struct Text(String);

impl Text {
    pub(super) fn new(text: impl AsRef<str>) -> Self {
        Self(text.as_ref().replace('$', "$$"))
    }
}

pub(super) fn texts<T: AsRef<str>>(texts: impl IntoIterator<Item = T>) -> Vec<Text> {
    texts.into_iter().map(Text::new).collect()
}

/// Keys are not replaced by Compose; ours are names.
pub(super) type Texts = BTreeMap<String, Text>;

#[derive(Debug, Serialize)]
pub(super) struct Project {
    pub(super) name: Text,
    pub(super) services: BTreeMap<String, Service>,
    pub(super) networks: BTreeMap<&'static str, Network>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) volumes: BTreeMap<String, Volume>,
}

#[derive(Debug, Serialize)]
pub(super) struct Service {
    pub(super) image: Text,
    pub(super) pull_policy: &'static str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) command: Vec<Text>,
    pub(super) environment: Texts,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) user: Option<Text>,
    pub(super) hostname: Text,
    pub(super) read_only: bool,
    pub(super) cap_drop: [&'static str; 1],
    pub(super) security_opt: [&'static str; 1],
    pub(super) init: bool,
    pub(super) ipc: &'static str,
    pub(super) pids_limit: u32,
    pub(super) cpus: Text,
    pub(super) mem_limit: Text,
    pub(super) memswap_limit: Text,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) shm_size: Option<Text>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) tmpfs: Vec<Text>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) volumes: Vec<VolumeMount>,
    pub(super) networks: [&'static str; 1],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) expose: Vec<Text>,
    pub(super) healthcheck: Healthcheck,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) depends_on: BTreeMap<String, Dependency>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) deploy: Option<Deploy>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) scale: Option<u32>,
    pub(super) labels: Texts,
    pub(super) restart: &'static str,
    pub(super) stop_grace_period: Text,
    pub(super) logging: Logging,
}

#[derive(Debug, Serialize)]
pub(super) struct VolumeMount {
    pub(super) r#type: &'static str,
    pub(super) source: Text,
    pub(super) target: Text,
    pub(super) read_only: bool,
    pub(super) volume: VolumeOptions,
}

#[derive(Debug, Serialize)]
pub(super) struct VolumeOptions {
    /// Else what the image has in that place would be copied into the volume.
    pub(super) nocopy: bool,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Healthcheck {
    /// Also the image's own: it would have a say in when the project is up.
    Off {
        disable: bool,
    },
    On {
        test: Vec<Text>,
        interval: Text,
        timeout: Text,
        retries: u32,
        start_period: Text,
    },
}

#[derive(Debug, Serialize)]
pub(super) struct Dependency {
    pub(super) condition: &'static str,
}

#[derive(Debug, Serialize)]
pub(super) struct Deploy {
    pub(super) resources: Resources,
}

#[derive(Debug, Serialize)]
pub(super) struct Resources {
    pub(super) reservations: Reservations,
}

#[derive(Debug, Serialize)]
pub(super) struct Reservations {
    pub(super) devices: Vec<Devices>,
}

#[derive(Debug, Serialize)]
pub(super) struct Devices {
    pub(super) driver: &'static str,
    pub(super) capabilities: [&'static str; 1],
    pub(super) device_ids: Vec<Text>,
}

#[derive(Debug, Serialize)]
pub(super) struct Logging {
    pub(super) driver: &'static str,
    pub(super) options: BTreeMap<&'static str, &'static str>,
}

#[derive(Debug, Serialize)]
pub(super) struct Network {
    pub(super) name: Text,
    pub(super) driver: &'static str,
    pub(super) internal: bool,
    pub(super) attachable: bool,
    pub(super) enable_ipv6: bool,
    pub(super) labels: Texts,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Volume {
    /// Made with the project and removed with it.
    Own { name: Text, labels: Texts },
    /// There before and after.
    External { external: bool, name: Text },
}
