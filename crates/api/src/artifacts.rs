//! Artifacts, repositories, keys and registry credentials on the wire.

pub use gpuaas_domain::artifact::{ArtifactState, TrustMode, TrustState, Visibility};

use gpuaas_domain::Timestamp;
use gpuaas_domain::ids::{ArtifactId, ProjectId, RegistryCredentialId, RepositoryId, TrustKeyId};
use gpuaas_domain::text::Slug;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What a project needs to know to push and pull with any client.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct RegistryInfo {
    /// As it stands in references: `docker login <host>`.
    pub host: String,
    /// Base address of the distribution protocol.
    pub url: String,
    /// Folder under which all repositories lie.
    pub root: String,
    /// Where this project's own repositories lie: `<root>/<project>`.
    pub namespace: String,
    /// Where registry clients get their tokens.
    pub token_url: String,
    pub service: String,
    /// In the order of promotion.
    pub channels: Vec<String>,
    /// The channel that counts here: what is not promoted to it is not active.
    pub environment: String,
    pub trust: TrustMode,
    /// Bytes that this project's images may take, and take now.
    pub quota_bytes: i64,
    pub used_bytes: i64,
    pub repositories: Vec<RepositoryView>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct RepositoryView {
    pub id: RepositoryId,
    /// Canonical, without the host.
    pub name: String,
    pub app_slug: String,
    pub visibility: Visibility,
    pub project_id: ProjectId,
    pub version: i64,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// Makes a repository, or says who may pull from it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SetRepository {
    pub visibility: Visibility,
    /// Which one, where an app has two: one of the project and one of the platform. Canonical, without the host.
    #[schemars(length(max = 255))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repository: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Artifact {
    pub id: ArtifactId,
    pub project_id: ProjectId,
    pub app_slug: String,
    /// Canonical, without the host.
    pub repository: String,
    /// `host/repository@sha256:…`: what stands in a manifest.
    pub reference: String,
    pub digest: String,
    pub tag: Option<String>,
    pub media_type: String,
    pub size_bytes: i64,
    pub variant: Option<String>,
    pub source: Value,
    pub visibility: Visibility,
    pub status: ArtifactState,
    /// The furthest channel it was promoted to.
    pub channel: Option<String>,
    /// Whether it counts as active here: verified, and promoted to this environment's channel.
    pub active: bool,
    pub trust: ArtifactTrust,
    pub created_by_kind: String,
    pub created_by_id: String,
    pub version: i64,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ArtifactTrust {
    pub state: TrustState,
    pub key_id: Option<TrustKeyId>,
    /// The hash of the public key whose signature held.
    pub signer: Option<String>,
    pub verified_at: Option<Timestamp>,
    /// Of the bytes that were signed.
    pub statement_digest: Option<String>,
    /// Of the statement about how it was built, if one held too.
    pub provenance_digest: Option<String>,
    /// Why it is not verified.
    pub reason: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Promotion {
    pub channel: String,
    pub promoted_at: Timestamp,
    pub actor_kind: String,
    pub actor_id: String,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ArtifactDetail {
    #[serde(flatten)]
    pub artifact: Artifact,
    pub promotions: Vec<Promotion>,
    /// Versions of apps that name it, and where each is on its ladder.
    pub used_by: Vec<ArtifactUse>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ArtifactUse {
    pub app_slug: String,
    pub app_version: String,
    pub status: String,
}

/// Filters of the list.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ArtifactQuery {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Only this app's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub app: Option<String>,
    /// Also those of others that this project may pull.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub visible: Option<bool>,
}

/// Asks for the way to push.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewPublishIntent {
    #[schemars(with = "Slug")]
    pub app_slug: String,
    /// Who may pull, for a repository that is not there yet. `platform` needs the right to publish apps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub visibility: Option<Visibility>,
    /// The label that will be pushed.
    #[schemars(length(max = 128))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tag: Option<String>,
    #[schemars(range(min = 60, max = 3600))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_in_seconds: Option<i64>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct PublishIntent {
    pub id: RegistryCredentialId,
    /// Canonical, without the host.
    pub repository: String,
    /// `host/repository`.
    pub name: String,
    /// Base address of the distribution protocol.
    pub registry_url: String,
    pub token_url: String,
    pub service: String,
    /// The label to push under, if any.
    pub tag_hint: Option<String>,
    /// What registration will ask for.
    pub digest_requirement: String,
    pub actions: Vec<String>,
    pub credential: CredentialDelivery,
    pub expires_at: Timestamp,
    /// Set in a repeated answer: the wrap is shown once.
    #[serde(default)]
    pub secret_redacted: bool,
}

/// How a credential comes: as a token that opens it once.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct CredentialDelivery {
    /// `wrapped`: open it with `POST /api/v1/custody/unwrap`; the value is `{"username", "password"}`.
    pub mode: String,
    pub unwrap_url: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wrap_token: Option<String>,
    pub wrap_expires_at: Timestamp,
}

/// Asks for the way to pull one image.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewPullIntent {
    pub artifact_id: ArtifactId,
    #[schemars(range(min = 60, max = 3600))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_in_seconds: Option<i64>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct PullIntent {
    pub id: RegistryCredentialId,
    pub artifact_id: ArtifactId,
    pub repository: String,
    /// `host/repository@sha256:…`.
    pub reference: String,
    pub digest: String,
    pub media_type: String,
    pub size_bytes: i64,
    pub tag: Option<String>,
    pub registry_url: String,
    pub token_url: String,
    pub service: String,
    pub actions: Vec<String>,
    pub credential: CredentialDelivery,
    pub expires_at: Timestamp,
    #[serde(default)]
    pub secret_redacted: bool,
}

/// A credential that was issued, without what it opens with.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct RegistryCredential {
    pub id: RegistryCredentialId,
    /// `publish` or `pull`.
    pub purpose: String,
    pub repository: String,
    pub digest: Option<String>,
    pub actor_kind: String,
    pub actor_id: String,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
    pub first_used_at: Option<Timestamp>,
    pub revoked_at: Option<Timestamp>,
    pub version: i64,
}

/// Registers an image that was pushed.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewArtifact {
    /// As the intent named it; with or without the host.
    #[schemars(length(max = 512))]
    pub repository: String,
    /// `sha256:` and 64 hexadecimal digits.
    #[schemars(length(max = 100))]
    pub digest: String,
    #[schemars(length(max = 128))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tag: Option<String>,
    /// Of the manifest. Taken from the registry if left out; refused if the registry says otherwise.
    #[schemars(length(max = 200))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
    /// `cpu`, `nvidia-h200`, `amd-rocm`, …
    #[schemars(with = "Option<Slug>")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
    /// Where it comes from: repository, commit, pipeline. Names, never secrets.
    #[serde(default)]
    pub source: std::collections::BTreeMap<String, String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Promote {
    #[schemars(with = "Slug")]
    pub channel: String,
    #[schemars(length(max = 500))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct TrustKey {
    pub id: TrustKeyId,
    /// Absent: the platform's.
    pub project_id: Option<ProjectId>,
    pub name: String,
    /// The hash of the public key, as signatures name it.
    pub fingerprint: String,
    pub algorithm: String,
    /// In PEM.
    pub public_key: String,
    pub valid_until: Option<Timestamp>,
    pub revoked_at: Option<Timestamp>,
    pub revoked_reason: Option<String>,
    pub version: i64,
    pub created_at: Timestamp,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewTrustKey {
    #[schemars(with = "Slug")]
    pub name: String,
    /// In PEM: P-256 or Ed25519, as `cosign generate-key-pair` writes `cosign.pub`.
    #[schemars(length(max = 4096))]
    pub public_key: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub valid_until: Option<Timestamp>,
}

/// What a registry client asks of the token server (the distribution project's token protocol).
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct TokenQuery {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<String>,
    /// `repository:<name>:<actions>`, several with spaces between.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offline_token: Option<String>,
}

/// A token for the registry. Both names are there because clients look for either.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct RegistryToken {
    pub token: String,
    pub access_token: String,
    pub expires_in: u32,
    pub issued_at: Timestamp,
}

/// How far the making of an app has come.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SetPreparing {
    #[schemars(length(min = 1, max = 100))]
    pub display_name: String,
    /// What is being done: `building the image`.
    #[schemars(length(min = 1, max = 200))]
    pub stage: String,
    /// Of the whole, in percent.
    #[schemars(range(max = 100))]
    pub percent: u8,
    /// Set when it went wrong; says why.
    #[schemars(length(max = 500))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Preparing {
    pub stage: String,
    pub percent: u8,
    pub failure: Option<String>,
    pub updated_at: Timestamp,
}
