//! Tenants, projects, people, roles, bindings and limits on the wire.

use gpuaas_domain::ids::{BindingId, ProjectId, RoleId, TenantId, UserId};
use gpuaas_domain::standing::Standing;
use gpuaas_domain::text::{DisplayName, Email, Slug};
use gpuaas_domain::{Secret, Timestamp, iam, identity};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Tenant {
    pub id: TenantId,
    pub slug: String,
    pub display_name: String,
    pub state: Standing,
    pub version: i64,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

impl From<identity::Tenant> for Tenant {
    fn from(tenant: identity::Tenant) -> Self {
        let identity::Tenant { id, slug, display_name, state, version, created_at, updated_at } = tenant;
        Self { id, slug, display_name, state, version, created_at, updated_at }
    }
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewTenant {
    /// Unique on the platform, also among deleted tenants; never changes.
    #[schemars(with = "Slug")]
    pub slug: String,
    /// The slug unless given.
    #[schemars(with = "Option<DisplayName>")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display_name: Option<String>,
}

/// A new name for a tenant or a project.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rename {
    #[schemars(with = "DisplayName")]
    pub display_name: String,
}

/// Why something is done; kept in the audit row.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Because {
    #[schemars(length(max = 500))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
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

impl From<identity::Project> for Project {
    fn from(project: identity::Project) -> Self {
        let identity::Project { id, tenant_id, slug, display_name, state, version, created_at, updated_at } =
            project;
        Self { id, tenant_id, slug, display_name, state, version, created_at, updated_at }
    }
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewProject {
    /// Unique on the platform, also among deleted projects; never changes.
    #[schemars(with = "Slug")]
    pub slug: String,
    #[schemars(with = "Option<DisplayName>")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display_name: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct User {
    pub id: UserId,
    /// Empty once the person is erased.
    pub email: String,
    pub display_name: String,
    pub state: Standing,
    pub version: i64,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

impl From<identity::User> for User {
    fn from(user: identity::User) -> Self {
        let identity::User { id, email, display_name, state, version, created_at, updated_at } = user;
        Self { id, email, display_name, state, version, created_at, updated_at }
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewUser {
    #[schemars(with = "Email")]
    pub email: String,
    #[schemars(with = "Option<DisplayName>")]
    #[serde(default)]
    pub display_name: Option<String>,
    /// At least 12 characters. Without one the platform makes one and shows it once.
    #[schemars(length(min = 12, max = 1024))]
    #[serde(default)]
    pub password: Option<Secret<String>>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct CreatedUser {
    #[serde(flatten)]
    pub user: User,
    /// The password the platform made, if it made one: shown now and never again.
    pub initial_password: Option<String>,
    pub secret_redacted: bool,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UserUpdate {
    #[schemars(with = "Option<Email>")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub email: Option<String>,
    #[schemars(with = "Option<DisplayName>")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display_name: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct PermissionView {
    pub key: String,
    pub about: String,
    /// Service accounts are refused it whatever their roles say.
    pub needs_human: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Role {
    pub id: RoleId,
    pub slug: String,
    pub display_name: String,
    /// Built-in roles cannot be changed.
    pub builtin: bool,
    pub permissions: Vec<String>,
    pub version: i64,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

impl From<identity::Role> for Role {
    fn from(role: identity::Role) -> Self {
        let identity::Role { id, slug, display_name, builtin, permissions, version, created_at, updated_at } =
            role;
        let permissions = permissions.into_iter().map(|permission| permission.key().to_owned()).collect();
        Self { id, slug, display_name, builtin, permissions, version, created_at, updated_at }
    }
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewRole {
    #[schemars(with = "Slug")]
    pub slug: String,
    #[schemars(with = "Option<DisplayName>")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display_name: Option<String>,
    /// Permission keys; see `GET /api/v1/permissions`.
    #[schemars(length(max = 200))]
    pub permissions: Vec<String>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RoleUpdate {
    #[schemars(with = "Option<DisplayName>")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display_name: Option<String>,
    #[schemars(length(max = 200))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permissions: Option<Vec<String>>,
}

/// A place where roles hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ScopeRef {
    pub kind: ScopeName,
    pub tenant_id: Option<TenantId>,
    pub project_id: Option<ProjectId>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ScopeName {
    Platform,
    Tenant,
    Project,
}

impl From<iam::Scope> for ScopeRef {
    fn from(scope: iam::Scope) -> Self {
        let kind = match scope {
            iam::Scope::Platform => ScopeName::Platform,
            iam::Scope::Tenant(_) => ScopeName::Tenant,
            iam::Scope::Project(..) => ScopeName::Project,
        };
        Self { kind, tenant_id: scope.tenant(), project_id: scope.project() }
    }
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Binding {
    pub id: BindingId,
    pub role_id: RoleId,
    pub role: String,
    pub principal: PrincipalRef,
    pub scope: ScopeRef,
    pub created_at: Timestamp,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct PrincipalRef {
    pub kind: crate::auth::PrincipalKind,
    pub id: uuid::Uuid,
}

impl From<identity::Binding> for Binding {
    fn from(binding: identity::Binding) -> Self {
        let kind = match binding.principal {
            identity::Principal::User(_) => crate::auth::PrincipalKind::User,
            identity::Principal::ServiceAccount(_) => crate::auth::PrincipalKind::ServiceAccount,
        };
        Self {
            id: binding.id,
            role_id: binding.role_id,
            role: binding.role_slug,
            principal: PrincipalRef { kind, id: binding.principal.uuid() },
            scope: binding.scope.into(),
            created_at: binding.created_at,
        }
    }
}

/// Give a role to exactly one of: a person by id, a person by e-mail, a service account by id.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewBinding {
    /// A role's slug (`project-admin`) or id.
    #[schemars(length(min = 1, max = 64))]
    pub role: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_id: Option<UserId>,
    #[schemars(with = "Option<Email>")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub email: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_account_id: Option<gpuaas_domain::ids::ServiceAccountId>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct LimitView {
    pub name: String,
    pub about: String,
    pub value: i64,
    /// Whether this is the platform's default, not a number set here.
    pub is_default: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LimitSet {
    #[schemars(range(min = 0, max = 1_000_000_000))]
    pub value: i64,
}
