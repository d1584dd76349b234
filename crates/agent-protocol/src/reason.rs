//! Why a launch or an operation failed: a closed list, so that the same fault always has the same name (H-17).
//! `docs/reasons/` has a page for each.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

macro_rules! reasons {
    ($($variant:ident = $name:literal, $about:literal;)*) => {
        /// Why a launch or an operation failed.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
        pub enum FailureReason {
            $(#[doc = $about] #[serde(rename = $name)] $variant,)*
        }

        impl FailureReason {
            pub const ALL: &'static [FailureReason] = &[$(FailureReason::$variant),*];

            pub fn name(self) -> &'static str {
                match self { $(FailureReason::$variant => $name),* }
            }

            /// One sentence for people.
            pub fn about(self) -> &'static str {
                match self { $(FailureReason::$variant => $about),* }
            }

            pub fn parse(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|reason| reason.name() == name)
            }
        }
    };
}

reasons! {
    ImageNotFound = "image_not_found", "The registry has no image of this digest.";
    ImageDigestMismatch = "image_digest_mismatch", "The registry sent bytes that are not what the digest promises.";
    ImageNotAllowed = "image_not_allowed", "The platform does not let this node have the image: it is not this project's, was revoked, or its source is off the allowlist.";
    ImageUntrusted = "image_untrusted", "No signature of a trusted key stands for this image.";
    ImagePullFailed = "image_pull_failed", "The image could not be pulled.";
    ImagePullTimeout = "image_pull_timeout", "The registry sent the image too slowly.";
    RegistryUnreachable = "registry_unreachable", "The registry does not answer.";
    EngineUnavailable = "engine_unavailable", "The container engine of the node does not answer.";
    DiskFull = "disk_full", "The node has no disk space left.";
    NetworkExhausted = "network_exhausted", "The node has no free network range left for another instance.";
    PortTaken = "port_taken", "Something on the node already listens on the host port.";
    GpuUnavailable = "gpu_unavailable", "A bound GPU is not there or the engine cannot pass it on.";
    ContainerCreateFailed = "container_create_failed", "The engine refused to create the container.";
    ContainerStartFailed = "container_start_failed", "The container was created but its command could not be started.";
    ContainerExited = "container_exited", "The app ended by itself, more often than the restart budget allows.";
    OutOfMemory = "out_of_memory", "The app was killed because it used more memory than it may.";
    ReadinessTimeout = "readiness_timeout", "The app did not become ready before its deadline.";
    HealthLost = "health_lost", "The app stopped answering its health checks and did not recover.";
    SpecRefused = "spec_refused", "The node's own rules refuse what it was asked to run.";
    TaskRefused = "task_refused", "The node refused the order.";
    SecretUnavailable = "secret_unavailable", "A secret the app needs cannot be had at the moment.";
    VolumeUnusable = "volume_unusable", "A volume cannot be mounted: its files belong to another user, or it is being removed.";
    StopFailed = "stop_failed", "The app could not be torn down.";
    NodeForgotten = "node_forgotten", "The node was forgotten or revoked while the instance was on it.";
    DeadlineExceeded = "deadline_exceeded", "The operation made no progress before its deadline.";
    Internal = "internal", "A fault of the platform; the detail and the log say more.";
}
