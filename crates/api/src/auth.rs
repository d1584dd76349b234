//! Signing in, and the credentials of people.

use gpuaas_domain::ids::{PersonalTokenId, ProjectId, RoleId, TenantId};
use gpuaas_domain::text::{DisplayName, Email};
use gpuaas_domain::{Secret, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::identity::ScopeRef;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LoginRequest {
    #[schemars(with = "Email")]
    pub email: String,
    #[schemars(length(max = 1024))]
    pub password: Secret<String>,
}

#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LoginLinkQuery {
    #[schemars(length(max = 200))]
    pub code: String,
}

/// Who is calling.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Whoami {
    pub kind: PrincipalKind,
    pub id: String,
    /// E-mail of a person, name of a service account.
    pub name: String,
    pub display_name: String,
    /// Of a service account: the one tenant and project it belongs to.
    pub tenant_id: Option<TenantId>,
    pub project_id: Option<ProjectId>,
    pub grants: Vec<GrantView>,
    /// How the caller proved who they are.
    pub credential: CredentialKind,
    pub expires_at: Option<Timestamp>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PrincipalKind {
    User,
    ServiceAccount,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CredentialKind {
    Session,
    PersonalToken,
    ServiceAccountToken,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct GrantView {
    pub role_id: RoleId,
    pub role: String,
    pub scope: ScopeRef,
    pub permissions: Vec<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PasswordChange {
    #[schemars(length(max = 1024))]
    pub current_password: Secret<String>,
    /// At least 12 characters.
    #[schemars(length(min = 12, max = 1024))]
    pub new_password: Secret<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewPersonalToken {
    #[schemars(with = "DisplayName")]
    pub name: String,
    /// 30 days unless given; 90 at most.
    #[schemars(range(min = 1, max = 90))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_in_days: Option<u32>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct PersonalToken {
    pub id: PersonalTokenId,
    pub name: String,
    pub expires_at: Timestamp,
    pub created_at: Timestamp,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct CreatedPersonalToken {
    #[serde(flatten)]
    pub token: PersonalToken,
    /// The token itself: shown now and never again. A repeated request gets `null` and `secret_redacted`.
    pub secret: Option<String>,
    pub secret_redacted: bool,
}

#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AssertionExchange {
    /// A JWT signed with the account's Ed25519 key: `typ` `gpuaas-assertion+jwt`, `kid` the key's id, `iss` and
    /// `sub` the account's id, `aud` the platform's id, `jti` a nonce used once, `exp` at most 300 s after `iat`.
    #[schemars(length(max = 4096))]
    pub assertion: String,
    /// How long the token shall live; capped by `auth.service_account_token_ttl_seconds`.
    #[schemars(range(min = 1, max = 900))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_seconds: Option<u32>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct AccessToken {
    pub access_token: String,
    /// Always `Bearer`.
    pub token_type: String,
    pub expires_in: u32,
    pub expires_at: Timestamp,
}

#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UnwrapRequest {
    #[schemars(length(max = 200))]
    pub token: String,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Unwrapped {
    /// What was wrapped. Opening it again is refused and raises an alarm in the audit trail.
    pub value: String,
}
