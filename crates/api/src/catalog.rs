//! Apps, versions and entitlements on the wire.

pub use gpuaas_domain::entitlement::{Channel, Terms};
pub use gpuaas_domain::launch_form::FormUi as Ui;

use gpuaas_domain::Timestamp;
use gpuaas_domain::ids::AppVersionId;
use gpuaas_domain::manifest::ladder::VersionState;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct App {
    pub slug: String,
    pub display_name: String,
    /// Set while a version of it is being made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preparing: Option<crate::artifacts::Preparing>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// A version without its document.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct AppVersion {
    pub id: AppVersionId,
    pub slug: String,
    pub app_version: String,
    pub display_name: String,
    pub status: VersionState,
    pub artifact_kind: String,
    /// By digest: what runs can be traced to this.
    pub artifact_ref: String,
    pub publisher: Option<String>,
    pub support_level: Option<String>,
    pub notes: Option<String>,
    #[serde(default)]
    pub description: Option<String>,
    /// How its page appears in the shell; absent where it has none.
    #[serde(default)]
    pub ui: Option<Ui>,
    pub manifest_digest: String,
    pub version: i64,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct AppVersionDetail {
    #[serde(flatten)]
    pub version: AppVersion,
    /// The document as it was registered.
    pub manifest: Value,
    /// Why new launches are refused although the version's own state would allow them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    pub code: String,
    pub message: String,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MoveVersion {
    pub to: VersionState,
    #[schemars(length(max = 500))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// What holds for one app, and by whose word.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Entitlement {
    pub app_slug: String,
    /// Whether the app may be launched at all.
    pub enabled: bool,
    /// Said for the whole tenant.
    pub tenant: Option<Terms>,
    /// Said for this project by somebody above it.
    pub allowed: Option<Terms>,
    /// Said by the project itself: only ever less.
    pub narrowed: Option<Terms>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Entitlements {
    pub items: Vec<Entitlement>,
}

/// The apps a project may launch, with the versions it may launch.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ProjectCatalog {
    pub items: Vec<LaunchableApp>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct LaunchableApp {
    #[serde(flatten)]
    pub app: App,
    /// Whether the project may launch it; what it may not is not listed here.
    #[serde(default)]
    pub entitled: bool,
    /// Of the newest of `versions`, like all that follows.
    #[serde(default)]
    pub description: Option<String>,
    #[serde(default)]
    pub publisher: Option<String>,
    #[serde(default)]
    pub support_level: Option<String>,
    #[serde(default)]
    pub ui: Option<Ui>,
    /// The newest first; empty while there is none to launch.
    pub versions: Vec<AppVersion>,
}
