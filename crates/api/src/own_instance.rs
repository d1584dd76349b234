//! What an app instance says and asks about itself, with a token of its own; and how its node gets it one.
//!
//! The app exchanges an assertion at `/api/v1/auth/service-account/token`, like every machine. Its node relays these calls:
//! they work at `GPUAAS_BASE_URL` as they do at the platform's own address.

use gpuaas_agent_protocol::report::Health;
use gpuaas_domain::Timestamp;
use gpuaas_domain::ids::{InstanceId, KeyId, ProjectId, ServiceAccountId};
use gpuaas_domain::instance::MemberRole;
use gpuaas_domain::instance_identity::Emission;
use gpuaas_domain::lifecycle::Status;
use gpuaas_domain::text::Slug;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A node shows the key it made for one launch.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IdentityRequest {
    pub generation: i64,
    /// Raw Ed25519 public key, base64url without padding. The private half stays on the node.
    #[schemars(length(max = 64))]
    pub public_key: String,
}

/// Who the instance is from now on; its former key has ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IdentityGranted {
    pub app_instance_id: InstanceId,
    pub service_account_id: ServiceAccountId,
    /// The `kid` of assertions.
    pub key_id: KeyId,
    /// The `aud` of assertions.
    pub audience: String,
}

/// What an instance may know about itself.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct OwnStatus {
    pub app_instance_id: InstanceId,
    pub name: String,
    pub project_id: ProjectId,
    pub app_slug: String,
    pub app_version: String,
    pub status: Status,
    pub health: Health,
    pub generation: i64,
    pub service_account_id: ServiceAccountId,
    /// Always `app`.
    pub role: String,
    /// When it last sent a heartbeat to the platform itself; those to its node are not counted here.
    pub last_heartbeat_at: Option<Timestamp>,
}

/// A line for the timeline about one of the app's members.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MemberEmission {
    pub event: Emission,
    /// How the app calls the member.
    #[schemars(with = "Slug")]
    pub member: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<MemberRole>,
    #[schemars(length(max = 2000))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MeteringBatch {
    #[schemars(length(min = 1, max = 100))]
    pub records: Vec<MeteringRecord>,
}

/// So much was used in a window of time.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MeteringRecord {
    /// The one that the app's manifest declares: `session_seconds`, `tokens` or `requests`.
    #[schemars(length(max = 40))]
    pub meter: String,
    #[schemars(range(min = 0, max = 1_000_000_000_000_i64))]
    pub quantity: i64,
    pub window_start: Timestamp,
    /// At most 24 hours after its start, and not in the future.
    pub window_end: Timestamp,
    /// Names the record within instance and meter: told twice, it counts once. Without it the window does.
    #[schemars(length(min = 1, max = 128))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

/// All records of the batch are kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MeteringTaken {
    pub accepted: u32,
    /// So many of them had been told before; they are kept once.
    pub known_before: u32,
}
