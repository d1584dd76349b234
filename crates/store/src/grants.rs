//! Roles and bindings.

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};
use gpuaas_domain::iam::{BuiltinRole, Grant, Permission, Scope, TenantScope};
use gpuaas_domain::identity::{Binding, Principal, Role};
use gpuaas_domain::ids::{BindingId, ProjectId, RoleId, ServiceAccountId, TenantId, UserId};
use gpuaas_domain::page::{Page, PageRequest};
use gpuaas_domain::{Error, Result, Timestamp};
use sqlx::types::Json;
use uuid::Uuid;

use crate::dialect::{is_unique_violation, map_error};
use crate::tenants::{after_id, one_row, slug_taken};
use crate::{Session, Tx};

row! {
    struct RoleRow {
        id: Uuid, slug: String, display_name: String, permissions: Json<Vec<String>>, version: i64,
        created_at: DateTime<Utc>, updated_at: DateTime<Utc>,
    }
}

row! {
    struct BindingRow {
        id: Uuid, role_id: Uuid, role_slug: Option<String>, principal_kind: String, principal_id: Uuid,
        scope_kind: String, tenant_id: Option<Uuid>, project_id: Option<Uuid>, created_at: DateTime<Utc>,
    }
}

row! {
    /// A binding with the custom role behind it, if it is one.
    pub(crate) struct GrantRow {
        pub(crate) id: Uuid, pub(crate) role_id: Uuid, pub(crate) slug: Option<String>,
        pub(crate) permissions: Option<Json<Vec<String>>>, pub(crate) scope_kind: String,
        pub(crate) tenant_id: Option<Uuid>, pub(crate) project_id: Option<Uuid>,
    }
}

impl TryFrom<GrantRow> for Grant {
    type Error = Error;

    fn try_from(row: GrantRow) -> Result<Self> {
        let role = RoleId::new(row.role_id);
        let (role_slug, permissions) = match BuiltinRole::by_id(role) {
            Some(builtin) => (builtin.slug().to_owned(), builtin.permissions()),
            None => (
                row.slug.unwrap_or_default(),
                row.permissions.map(|keys| parse_permissions(&keys.0)).unwrap_or_default(),
            ),
        };
        let scope = parse_scope(&row.scope_kind, row.tenant_id, row.project_id)?;
        Ok(Self { binding: BindingId::new(row.id), role, role_slug, scope, permissions })
    }
}

/// Keys that this version does not know (written by a later one) mean nothing here and grant nothing.
fn parse_permissions(keys: &[String]) -> BTreeSet<Permission> {
    keys.iter().filter_map(|key| Permission::parse(key)).collect()
}

pub(crate) fn parse_scope(kind: &str, tenant: Option<Uuid>, project: Option<Uuid>) -> Result<Scope> {
    match (kind, tenant, project) {
        ("platform", None, None) => Ok(Scope::Platform),
        ("tenant", Some(tenant), None) => Ok(Scope::Tenant(TenantId::new(tenant))),
        ("project", Some(tenant), Some(project)) => {
            Ok(Scope::Project(TenantId::new(tenant), ProjectId::new(project)))
        }
        _ => Err(Error::internal(format!("a row has the impossible scope {kind:?}"))),
    }
}

impl From<RoleRow> for Role {
    fn from(row: RoleRow) -> Self {
        Self {
            id: RoleId::new(row.id),
            slug: row.slug,
            display_name: row.display_name,
            builtin: false,
            permissions: parse_permissions(&row.permissions.0),
            version: row.version,
            created_at: Timestamp::new(row.created_at),
            updated_at: Timestamp::new(row.updated_at),
        }
    }
}

impl TryFrom<BindingRow> for Binding {
    type Error = Error;

    fn try_from(row: BindingRow) -> Result<Self> {
        let role_id = RoleId::new(row.role_id);
        let builtin = BuiltinRole::by_id(role_id).map(|role| role.slug().to_owned());
        Ok(Self {
            id: BindingId::new(row.id),
            role_id,
            role_slug: builtin.or(row.role_slug).unwrap_or_default(),
            principal: parse_principal(&row.principal_kind, row.principal_id)?,
            scope: parse_scope(&row.scope_kind, row.tenant_id, row.project_id)?,
            created_at: Timestamp::new(row.created_at),
        })
    }
}

fn parse_principal(kind: &str, id: Uuid) -> Result<Principal> {
    match kind {
        "user" => Ok(Principal::User(UserId::new(id))),
        "service_account" => Ok(Principal::ServiceAccount(ServiceAccountId::new(id))),
        other => Err(Error::internal(format!("a binding has the unknown principal kind {other:?}"))),
    }
}

/// A built-in role as a `Role`; it has existed since the beginning of time.
pub fn builtin_role(role: BuiltinRole) -> Role {
    let origin = Timestamp::from_unix_seconds(0).expect("1970 is representable");
    Role {
        id: role.id(),
        slug: role.slug().into(),
        display_name: role.title().into(),
        builtin: true,
        permissions: role.permissions(),
        version: 1,
        created_at: origin,
        updated_at: origin,
    }
}

impl Session {
    /// Everything a principal holds, with what each role means now. One query, made for every request.
    pub async fn list_grants(&mut self, principal: Uuid) -> Result<Vec<Grant>> {
        let rows = fetch!(
            self,
            GrantRow,
            "SELECT b.id, b.role_id, r.slug, r.permissions, b.scope_kind, b.tenant_id, b.project_id \
             FROM bindings b LEFT JOIN roles r ON r.id = b.role_id WHERE b.principal_id = $1 ORDER BY b.id",
            principal
        )?;
        rows.into_iter().map(Grant::try_from).collect()
    }

    pub async fn find_role(&mut self, id: RoleId) -> Result<Option<Role>> {
        if let Some(builtin) = BuiltinRole::by_id(id) {
            return Ok(Some(builtin_role(builtin)));
        }
        let row = fetch_optional!(
            self,
            RoleRow,
            "SELECT id, slug, display_name, permissions, version, created_at, updated_at FROM roles WHERE id = $1",
            id.uuid()
        )?;
        Ok(row.map(Role::from))
    }

    pub async fn find_role_by_slug(&mut self, slug: &str) -> Result<Option<Role>> {
        if let Some(builtin) = BuiltinRole::ALL.into_iter().find(|role| role.slug() == slug) {
            return Ok(Some(builtin_role(builtin)));
        }
        let row = fetch_optional!(
            self,
            RoleRow,
            "SELECT id, slug, display_name, permissions, version, created_at, updated_at FROM roles WHERE slug = $1",
            slug
        )?;
        Ok(row.map(Role::from))
    }

    /// Built-in roles first (their ids sort before all made ones), then custom ones.
    pub async fn list_roles(&mut self, page: &PageRequest) -> Result<Page<Role>> {
        let after = after_id(page)?;
        let builtin = BuiltinRole::ALL.into_iter().filter(|role| role.id().uuid() > after).map(builtin_role);
        let rows = fetch!(
            self,
            RoleRow,
            "SELECT id, slug, display_name, permissions, version, created_at, updated_at FROM roles \
             WHERE id > $1 ORDER BY id LIMIT $2",
            after,
            i64::from(page.limit) + 1
        )?;
        let mut roles: Vec<Role> = builtin.chain(rows.into_iter().map(Role::from)).collect();
        roles.truncate(page.limit as usize + 1);
        Ok(Page::from_rows(roles, page.limit, |role| role.id.to_string()))
    }

    pub async fn find_binding(&mut self, scope: TenantScope, id: BindingId) -> Result<Option<Binding>> {
        let row = fetch_optional!(
            self,
            BindingRow,
            "SELECT b.id, b.role_id, r.slug AS role_slug, b.principal_kind, b.principal_id, b.scope_kind, b.tenant_id, \
             b.project_id, b.created_at FROM bindings b LEFT JOIN roles r ON r.id = b.role_id \
             WHERE b.id = $1 AND b.scope_kind = $2 AND ($3 IS NULL OR b.tenant_id = $3) AND ($4 IS NULL OR b.project_id = $4)",
            id.uuid(),
            scope.scope().kind(),
            scope.tenant().map(TenantId::uuid),
            scope.project().map(ProjectId::uuid)
        )?;
        row.map(Binding::try_from).transpose()
    }

    /// The bindings made at exactly this scope.
    pub async fn list_bindings(&mut self, scope: TenantScope, page: &PageRequest) -> Result<Page<Binding>> {
        let rows = fetch!(
            self,
            BindingRow,
            "SELECT b.id, b.role_id, r.slug AS role_slug, b.principal_kind, b.principal_id, b.scope_kind, b.tenant_id, \
             b.project_id, b.created_at FROM bindings b LEFT JOIN roles r ON r.id = b.role_id \
             WHERE b.id > $1 AND b.scope_kind = $2 AND ($3 IS NULL OR b.tenant_id = $3) AND ($4 IS NULL OR b.project_id = $4) \
             ORDER BY b.id LIMIT $5",
            after_id(page)?,
            scope.scope().kind(),
            scope.tenant().map(TenantId::uuid),
            scope.project().map(ProjectId::uuid),
            i64::from(page.limit) + 1
        )?;
        let bindings: Result<Vec<_>> = rows.into_iter().map(Binding::try_from).collect();
        Ok(Page::from_rows(bindings?, page.limit, |binding| binding.id.to_string()))
    }

    pub async fn count_bindings_of_role(&mut self, role: RoleId) -> Result<i64> {
        scalar!(self, i64, "SELECT COUNT(*) FROM bindings WHERE role_id = $1", role.uuid())
    }

    pub async fn count_bindings_at(&mut self, scope: Scope) -> Result<i64> {
        scalar!(
            self,
            i64,
            "SELECT COUNT(*) FROM bindings WHERE scope_kind = $1 AND ($2 IS NULL OR tenant_id = $2) AND ($3 IS NULL OR project_id = $3)",
            scope.kind(),
            scope.tenant().map(TenantId::uuid),
            scope.project().map(ProjectId::uuid)
        )
    }
}

impl Tx {
    pub async fn insert_role(&mut self, role: &Role) -> Result<()> {
        let keys: Vec<&str> = role.permissions.iter().map(|permission| permission.key()).collect();
        execute_raw!(
            self,
            "INSERT INTO roles (id, slug, display_name, permissions, version, created_at, updated_at) \
             VALUES ($1, $2, $3, $4, $5, $6, $7)",
            role.id.uuid(),
            role.slug.as_str(),
            role.display_name.as_str(),
            Json(keys.clone()),
            role.version,
            role.created_at.to_datetime(),
            role.updated_at.to_datetime()
        )
        .map_err(|error| slug_taken(error, "role"))?;
        Ok(())
    }

    pub async fn update_role(&mut self, role: Role) -> Result<Role> {
        let at = self.at();
        let keys: Vec<&str> = role.permissions.iter().map(|permission| permission.key()).collect();
        let touched = execute!(
            self,
            "UPDATE roles SET display_name = $3, permissions = $4, updated_at = $5, version = version + 1 \
             WHERE id = $1 AND version = $2",
            role.id.uuid(),
            role.version,
            role.display_name.as_str(),
            Json(keys.clone()),
            at.to_datetime()
        )?;
        one_row(touched)?;
        Ok(Role { version: role.version + 1, updated_at: at, ..role })
    }

    pub async fn delete_role(&mut self, role: &Role) -> Result<()> {
        let touched =
            execute!(self, "DELETE FROM roles WHERE id = $1 AND version = $2", role.id.uuid(), role.version)?;
        one_row(touched)
    }

    pub async fn insert_binding(&mut self, binding: &Binding) -> Result<()> {
        execute_raw!(
            self,
            "INSERT INTO bindings (id, role_id, principal_kind, principal_id, scope_kind, tenant_id, project_id, created_at) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
            binding.id.uuid(),
            binding.role_id.uuid(),
            binding.principal.kind(),
            binding.principal.uuid(),
            binding.scope.kind(),
            binding.scope.tenant().map(TenantId::uuid),
            binding.scope.project().map(ProjectId::uuid),
            binding.created_at.to_datetime()
        )
        .map_err(|error| {
            if is_unique_violation(&error) {
                return Error::conflict("already_bound", "This principal already holds this role here.");
            }
            map_error(error)
        })?;
        Ok(())
    }

    pub async fn delete_binding(&mut self, id: BindingId) -> Result<()> {
        let touched = execute!(self, "DELETE FROM bindings WHERE id = $1", id.uuid())?;
        one_row(touched)
    }

    pub async fn delete_bindings_of(&mut self, principal: Uuid) -> Result<u64> {
        execute!(self, "DELETE FROM bindings WHERE principal_id = $1", principal)
    }

    /// Bindings inside a project or tenant that is going away.
    pub async fn delete_bindings_at(&mut self, scope: Scope) -> Result<u64> {
        match scope {
            Scope::Platform => Ok(0),
            Scope::Tenant(tenant) => {
                execute!(self, "DELETE FROM bindings WHERE tenant_id = $1", tenant.uuid())
            }
            Scope::Project(_, project) => {
                execute!(self, "DELETE FROM bindings WHERE project_id = $1", project.uuid())
            }
        }
    }
}
