//! Audit rows, events, health: what can be observed.

use gpuaas_domain::Timestamp;
use gpuaas_domain::chain::Stream;
use gpuaas_domain::ids::{AuditId, EventId, ProjectId, TenantId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct AuditEntry {
    pub sequence: i64,
    pub id: AuditId,
    pub at: Timestamp,
    pub actor_kind: String,
    pub actor_id: String,
    pub action: String,
    /// `done` or `denied`.
    pub outcome: String,
    pub object_kind: String,
    pub object_id: String,
    /// The tenant; `org_id` is the same value under its other name.
    pub tenant_id: Option<TenantId>,
    pub org_id: Option<TenantId>,
    pub project_id: Option<ProjectId>,
    pub before: Option<serde_json::Value>,
    pub after: Option<serde_json::Value>,
    pub reason: Option<String>,
    pub correlation_id: String,
    pub trace_id: String,
    /// SHA-256 over the row and the one before it, in hex.
    pub hash: String,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AuditQuery {
    #[schemars(range(min = 1, max = 200))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    #[schemars(length(max = 512))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Only rows of this actor (a user's or service account's id).
    #[schemars(length(max = 64))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actor_id: Option<String>,
    /// Only rows with exactly this action.
    #[schemars(length(max = 64))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action: Option<String>,
    /// Only rows about this object.
    #[schemars(length(max = 64))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object_id: Option<String>,
    /// Only rows of one request's story.
    #[schemars(length(max = 128))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub correlation_id: Option<String>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VerifyQuery {
    /// Which chain; `audit` unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stream: Option<Stream>,
    /// First sequence number to check; 1 unless given.
    #[schemars(range(min = 1))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<i64>,
}

/// What a check of one stretch found. Go on with `from = next_from` until it is absent.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct VerifyReport {
    pub stream: Stream,
    pub ok: bool,
    pub checked: i64,
    pub next_from: Option<i64>,
    /// The last number of the chain and its hash: keep it elsewhere to notice a cut end.
    pub head_sequence: i64,
    pub head_hash: String,
    /// Rows that are committed but not numbered yet.
    pub pending: i64,
    pub broken: Option<BrokenLink>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct BrokenLink {
    pub sequence: i64,
    pub row_id: String,
    /// What is wrong with it, in a sentence.
    pub problem: String,
}

/// CloudEvents 1.0 with the platform's extensions.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Event {
    pub specversion: String,
    pub id: EventId,
    pub event_id: EventId,
    pub source: String,
    #[serde(rename = "type")]
    pub kind: String,
    pub subject: String,
    pub time: Timestamp,
    pub datacontenttype: String,
    /// Position in the platform's one order of events; never reused, never reordered.
    pub sequence: i64,
    pub correlation_id: String,
    pub trace_id: String,
    pub org_id: Option<TenantId>,
    pub project_id: Option<ProjectId>,
    pub actor_kind: String,
    pub actor_id: String,
    pub data: serde_json::Value,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EventQuery {
    #[schemars(range(min = 1, max = 200))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    #[schemars(length(max = 512))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Only events after this sequence number; an alternative to `cursor`.
    #[schemars(range(min = 0))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<i64>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FollowQuery {
    /// Start after this sequence number; without it (and without `Last-Event-ID`) only new events come.
    #[schemars(range(min = 0))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<i64>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Health {
    /// `ok`, or `unavailable` with the reason in `checks`.
    pub status: String,
    pub checks: Vec<HealthCheck>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct HealthCheck {
    pub name: String,
    pub ok: bool,
    pub detail: String,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Version {
    pub name: String,
    pub version: String,
    /// The `aud` of assertions and the `iss` of tokens.
    pub platform_id: uuid::Uuid,
    pub api: String,
}
