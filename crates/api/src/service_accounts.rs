//! Machine callers of a project on the wire.

use gpuaas_domain::Timestamp;
use gpuaas_domain::identity::{self, AccountKind, AccountState};
use gpuaas_domain::ids::{KeyId, ProjectId, ServiceAccountId, TenantId};
use gpuaas_domain::text::DisplayName;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ServiceAccount {
    pub id: ServiceAccountId,
    pub tenant_id: TenantId,
    pub project_id: ProjectId,
    pub name: String,
    pub kind: AccountKind,
    pub state: AccountState,
    pub version: i64,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

impl From<identity::ServiceAccount> for ServiceAccount {
    fn from(account: identity::ServiceAccount) -> Self {
        let identity::ServiceAccount {
            id,
            tenant_id,
            project_id,
            name,
            kind,
            state,
            version,
            created_at,
            updated_at,
        } = account;
        Self { id, tenant_id, project_id, name, kind, state, version, created_at, updated_at }
    }
}

/// Which accounts to list.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AccountQuery {
    #[schemars(range(min = 1, max = 200))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    #[schemars(length(max = 512))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// `operator` (those that people made) unless said; `instance` for the accounts of app instances.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<AccountKind>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ServiceAccountDetail {
    #[serde(flatten)]
    pub account: ServiceAccount,
    pub keys: Vec<AccountKey>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct AccountKey {
    pub id: KeyId,
    /// Raw Ed25519 public key, base64url without padding.
    pub public_key: String,
    /// When this key stops working; absent for the current one.
    pub not_after: Option<Timestamp>,
    pub created_at: Timestamp,
}

/// How the private key of a new pair reaches the caller.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum KeyDelivery {
    /// In the answer, once.
    #[default]
    Inline,
    /// As a token that opens once at `POST /api/v1/custody/unwrap`, to be handed to a machine.
    Wrapped,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewServiceAccount {
    #[schemars(with = "DisplayName")]
    pub name: String,
    /// Roles to hold in the project, by slug or id; none beyond the creator's own permissions.
    #[schemars(length(max = 20))]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<String>,
    /// Bring your own raw Ed25519 public key (base64url, no padding) and the private half never leaves you.
    #[schemars(length(max = 64))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub public_key: Option<String>,
    #[serde(default)]
    pub key_delivery: KeyDelivery,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RotateKey {
    #[schemars(length(max = 64))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub public_key: Option<String>,
    #[serde(default)]
    pub key_delivery: KeyDelivery,
    /// How long the old key still works: 300 unless given, 3600 at most, 0 to end it at once.
    #[schemars(range(min = 0, max = 3600))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overlap_seconds: Option<u32>,
}

/// An account with the key it just got.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ServiceAccountWithKey {
    #[serde(flatten)]
    pub account: ServiceAccount,
    pub key: AccountKey,
    /// Ed25519 private key as PKCS#8 PEM: shown now and never again. `null` if the caller brought its own key,
    /// asked for wrapped delivery, or repeats a request.
    pub private_key_pem: Option<String>,
    /// Opens once at `POST /api/v1/custody/unwrap`.
    pub wrapped_private_key: Option<WrapView>,
    pub secret_redacted: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct WrapView {
    pub token: String,
    pub expires_at: Timestamp,
}
