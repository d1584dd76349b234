//! Tenants.

use chrono::{DateTime, Utc};
use gpuaas_domain::iam::TenantScope;
use gpuaas_domain::identity::Tenant;
use gpuaas_domain::ids::TenantId;
use gpuaas_domain::page::{Page, PageRequest};
use gpuaas_domain::standing::Standing;
use gpuaas_domain::{Error, Result, Timestamp};
use uuid::Uuid;

use crate::dialect::{is_unique_violation, map_error};
use crate::{Session, Tx};

row! {
    pub(crate) struct TenantRow {
        id: Uuid, slug: String, display_name: String, state: String, version: i64,
        created_at: DateTime<Utc>, updated_at: DateTime<Utc>,
    }
}

impl TryFrom<TenantRow> for Tenant {
    type Error = Error;

    fn try_from(row: TenantRow) -> Result<Self> {
        Ok(Self {
            id: TenantId::new(row.id),
            slug: row.slug,
            display_name: row.display_name,
            state: parse_standing(&row.state)?,
            version: row.version,
            created_at: Timestamp::new(row.created_at),
            updated_at: Timestamp::new(row.updated_at),
        })
    }
}

pub(crate) fn parse_standing(text: &str) -> Result<Standing> {
    Standing::parse(text).ok_or_else(|| Error::internal(format!("unknown state {text:?} in the database")))
}

/// The id a page starts after; the nil id comes before all.
pub(crate) fn after_id(page: &PageRequest) -> Result<Uuid> {
    match &page.after {
        None => Ok(Uuid::nil()),
        Some(text) => gpuaas_domain::ids::parse_uuid(text)
            .ok_or_else(|| Error::field("/cursor", "invalid_cursor", "This cursor is not from this list.")),
    }
}

impl Session {
    pub async fn find_tenant(&mut self, scope: TenantScope, id: TenantId) -> Result<Option<Tenant>> {
        let row = fetch_optional!(
            self,
            TenantRow,
            "SELECT id, slug, display_name, state, version, created_at, updated_at FROM tenants \
             WHERE id = $1 AND ($2 IS NULL OR id = $2)",
            id.uuid(),
            scope.tenant().map(TenantId::uuid)
        )?;
        row.map(Tenant::try_from).transpose()
    }

    /// Only for deciding whether a caller may go on: says whether the tenant exists and how it stands.
    pub async fn locate_tenant(&mut self, id: TenantId) -> Result<Option<Standing>> {
        let row: Option<(String,)> =
            fetch_optional!(self, (String,), "SELECT state FROM tenants WHERE id = $1", id.uuid())?;
        row.map(|(state,)| parse_standing(&state)).transpose()
    }

    pub async fn find_tenant_by_slug(&mut self, slug: &str) -> Result<Option<Tenant>> {
        let row = fetch_optional!(
            self,
            TenantRow,
            "SELECT id, slug, display_name, state, version, created_at, updated_at FROM tenants WHERE slug = $1",
            slug
        )?;
        row.map(Tenant::try_from).transpose()
    }

    /// All tenants, or those in which `principal` holds any role.
    pub async fn list_tenants(
        &mut self,
        all: bool,
        principal: Uuid,
        page: &PageRequest,
    ) -> Result<Page<Tenant>> {
        let rows = fetch!(
            self,
            TenantRow,
            "SELECT id, slug, display_name, state, version, created_at, updated_at FROM tenants t \
             WHERE id > $1 AND state <> 'tombstone' \
             AND ($2 OR EXISTS (SELECT 1 FROM bindings b WHERE b.principal_id = $3 AND b.tenant_id = t.id)) \
             ORDER BY id LIMIT $4",
            after_id(page)?,
            all,
            principal,
            i64::from(page.limit) + 1
        )?;
        let tenants: Result<Vec<_>> = rows.into_iter().map(Tenant::try_from).collect();
        Ok(Page::from_rows(tenants?, page.limit, |tenant| tenant.id.to_string()))
    }
}

impl Tx {
    pub async fn insert_tenant(&mut self, tenant: &Tenant) -> Result<()> {
        execute_raw!(
            self,
            "INSERT INTO tenants (id, slug, display_name, state, version, created_at, updated_at) \
             VALUES ($1, $2, $3, $4, $5, $6, $7)",
            tenant.id.uuid(),
            tenant.slug.as_str(),
            tenant.display_name.as_str(),
            tenant.state.name(),
            tenant.version,
            tenant.created_at.to_datetime(),
            tenant.updated_at.to_datetime()
        )
        .map_err(|error| slug_taken(error, "tenant"))?;
        Ok(())
    }

    /// Stores the new state of a tenant that was read at `tenant.version`, and returns it with its new version.
    pub async fn update_tenant(&mut self, tenant: Tenant) -> Result<Tenant> {
        let at = self.at();
        let touched = execute!(
            self,
            "UPDATE tenants SET display_name = $3, state = $4, updated_at = $5, version = version + 1 \
             WHERE id = $1 AND version = $2",
            tenant.id.uuid(),
            tenant.version,
            tenant.display_name.as_str(),
            tenant.state.name(),
            at.to_datetime()
        )?;
        one_row(touched)?;
        Ok(Tenant { version: tenant.version + 1, updated_at: at, ..tenant })
    }
}

/// A guarded update touches one row, or somebody was faster.
pub(crate) fn one_row(touched: u64) -> Result<()> {
    if touched == 1 { Ok(()) } else { Err(Error::stale()) }
}

pub(crate) fn slug_taken(error: sqlx::Error, kind: &'static str) -> Error {
    if is_unique_violation(&error) {
        return Error::conflict(
            "slug_taken",
            format!("There is, or was, another {kind} with this slug; choose another."),
        )
        .with_param("kind", kind);
    }
    map_error(error)
}
