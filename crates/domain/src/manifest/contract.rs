//! What an app promises beyond running: the states it passes, the ways it fails, what can be seen of it (E-17).

use gpuaas_agent_protocol::FailureReason;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::formats;
use crate::lifecycle::Status;

/// What operators and tests may count on. It binds the app's team; the platform does not act on it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Contract {
    /// The states that an instance is expected to pass; empty: all.
    #[serde(default)]
    #[schemars(length(max = 16))]
    pub lifecycle_states: Vec<Status>,
    /// The reasons for which a launch is expected to fail where it does; `docs/reasons/` has a page for each.
    #[serde(default)]
    #[schemars(length(max = 64))]
    pub failure_reasons: Vec<FailureReason>,
    /// What can be seen of a running instance.
    #[serde(default)]
    pub observability: Observability,
}

/// What the app's own logs and metrics carry.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Observability {
    /// What each log line and each metric says about where it comes from.
    #[serde(default)]
    #[schemars(length(max = 16))]
    pub fields: Vec<ObservedField>,
    /// Metrics that the app gives, by the names under which Prometheus reads them.
    #[serde(default)]
    #[schemars(schema_with = "formats::metric_names", length(max = 64))]
    pub metrics: Vec<String>,
}

/// A fact about the instance, as events, logs and usage records call it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ObservedField {
    /// The tenant.
    OrgId,
    /// The project.
    ProjectId,
    /// The instance.
    AppInstanceId,
    /// The app.
    AppSlug,
    /// The version that runs.
    AppVersion,
    /// Who operates it.
    OperatingMode,
    /// How far its control plane reaches.
    ControlPlaneScope,
    /// What family runs it.
    RuntimeBackend,
    /// What ties it to the request that caused it.
    CorrelationId,
}
