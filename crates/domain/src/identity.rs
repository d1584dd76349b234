//! Tenants, projects, people, roles and service accounts as the platform knows them.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::Timestamp;
use crate::iam::{Permission, Scope};
use crate::ids::{BindingId, KeyId, PersonalTokenId, ProjectId, RoleId, ServiceAccountId, TenantId, UserId};
use crate::standing::Standing;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tenant {
    pub id: TenantId,
    pub slug: String,
    pub display_name: String,
    pub state: Standing,
    pub version: i64,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

impl Tenant {
    pub fn audit_view(&self) -> Value {
        json!({"slug": self.slug, "display_name": self.display_name, "state": self.state.name(), "version": self.version})
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Project {
    pub id: ProjectId,
    pub tenant_id: TenantId,
    pub slug: String,
    pub display_name: String,
    pub state: Standing,
    pub version: i64,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

impl Project {
    pub fn scope(&self) -> Scope {
        Scope::Project(self.tenant_id, self.id)
    }

    pub fn audit_view(&self) -> Value {
        json!({"slug": self.slug, "display_name": self.display_name, "state": self.state.name(), "version": self.version})
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct User {
    pub id: UserId,
    /// Empty once erased.
    pub email: String,
    pub display_name: String,
    pub state: Standing,
    pub version: i64,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

impl User {
    /// Without e-mail and name, so that a person can be erased without breaking the chain.
    pub fn audit_view(&self) -> Value {
        json!({"state": self.state.name(), "version": self.version})
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Role {
    pub id: RoleId,
    pub slug: String,
    pub display_name: String,
    pub builtin: bool,
    pub permissions: BTreeSet<Permission>,
    pub version: i64,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

impl Role {
    pub fn audit_view(&self) -> Value {
        json!({"slug": self.slug, "display_name": self.display_name, "permissions": self.permissions, "version": self.version})
    }
}

/// Who can hold a role.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Principal {
    User(UserId),
    ServiceAccount(ServiceAccountId),
}

impl Principal {
    pub fn kind(self) -> &'static str {
        match self {
            Self::User(_) => "user",
            Self::ServiceAccount(_) => "service_account",
        }
    }

    pub fn uuid(self) -> uuid::Uuid {
        match self {
            Self::User(id) => id.uuid(),
            Self::ServiceAccount(id) => id.uuid(),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Binding {
    pub id: BindingId,
    pub role_id: RoleId,
    pub role_slug: String,
    pub principal: Principal,
    pub scope: Scope,
    pub created_at: Timestamp,
}

impl Binding {
    pub fn audit_view(&self) -> Value {
        json!({"role": self.role_slug, "role_id": self.role_id, "principal_kind": self.principal.kind(),
               "principal_id": self.principal.uuid(), "scope": self.scope.kind()})
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AccountState {
    Active,
    Disabled,
    /// The row stays for the trail; the account is gone for every other purpose.
    Deleted,
}

impl AccountState {
    pub fn name(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Disabled => "disabled",
            Self::Deleted => "deleted",
        }
    }

    pub fn parse(name: &str) -> Option<Self> {
        [Self::Active, Self::Disabled, Self::Deleted].into_iter().find(|state| state.name() == name)
    }
}

/// K-16: operator accounts are made by people, instance accounts by the platform.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AccountKind {
    Operator,
    Instance,
}

impl AccountKind {
    pub fn name(self) -> &'static str {
        match self {
            Self::Operator => "operator",
            Self::Instance => "instance",
        }
    }

    pub fn parse(name: &str) -> Option<Self> {
        [Self::Operator, Self::Instance].into_iter().find(|kind| kind.name() == name)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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

impl ServiceAccount {
    pub fn scope(&self) -> Scope {
        Scope::Project(self.tenant_id, self.project_id)
    }

    pub fn audit_view(&self) -> Value {
        json!({"name": self.name, "kind": self.kind.name(), "state": self.state.name(), "version": self.version})
    }
}

/// A public key of a service account. `not_after` is set when a newer one takes over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccountKey {
    pub id: KeyId,
    pub service_account_id: ServiceAccountId,
    pub public_key: [u8; 32],
    pub not_after: Option<Timestamp>,
    pub created_at: Timestamp,
}

impl AccountKey {
    pub fn is_valid(&self, now: Timestamp) -> bool {
        self.not_after.is_none_or(|end| now < end)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PersonalToken {
    pub id: PersonalTokenId,
    pub user_id: UserId,
    pub name: String,
    pub expires_at: Timestamp,
    pub created_at: Timestamp,
}
