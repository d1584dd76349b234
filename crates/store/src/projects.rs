//! Projects.

use chrono::{DateTime, Utc};
use gpuaas_domain::iam::{Scope, TenantScope};
use gpuaas_domain::identity::Project;
use gpuaas_domain::ids::{ProjectId, TenantId};
use gpuaas_domain::page::{Page, PageRequest};
use gpuaas_domain::standing::Standing;
use gpuaas_domain::{Error, Result, Timestamp};
use uuid::Uuid;

use crate::tenants::{after_id, one_row, parse_standing, slug_taken};
use crate::{Session, Tx};

row! {
    struct ProjectRow {
        id: Uuid, tenant_id: Uuid, slug: String, display_name: String, state: String, version: i64,
        created_at: DateTime<Utc>, updated_at: DateTime<Utc>,
    }
}

impl TryFrom<ProjectRow> for Project {
    type Error = Error;

    fn try_from(row: ProjectRow) -> Result<Self> {
        Ok(Self {
            id: ProjectId::new(row.id),
            tenant_id: TenantId::new(row.tenant_id),
            slug: row.slug,
            display_name: row.display_name,
            state: parse_standing(&row.state)?,
            version: row.version,
            created_at: Timestamp::new(row.created_at),
            updated_at: Timestamp::new(row.updated_at),
        })
    }
}

/// Where a project is and how it and its tenant stand; for deciding only.
#[derive(Clone, Copy, Debug)]
pub struct Located {
    pub scope: Scope,
    pub project: Standing,
    pub tenant: Standing,
}

impl Session {
    pub async fn find_project(&mut self, scope: TenantScope, id: ProjectId) -> Result<Option<Project>> {
        let row = fetch_optional!(
            self,
            ProjectRow,
            "SELECT id, tenant_id, slug, display_name, state, version, created_at, updated_at FROM projects \
             WHERE id = $1 AND ($2 IS NULL OR tenant_id = $2) AND ($3 IS NULL OR id = $3)",
            id.uuid(),
            scope.tenant().map(TenantId::uuid),
            scope.project().map(ProjectId::uuid)
        )?;
        row.map(Project::try_from).transpose()
    }

    pub async fn locate_project(&mut self, id: ProjectId) -> Result<Option<Located>> {
        let row: Option<(Uuid, String, String)> = fetch_optional!(
            self,
            (Uuid, String, String),
            "SELECT p.tenant_id, p.state, t.state FROM projects p JOIN tenants t ON t.id = p.tenant_id WHERE p.id = $1",
            id.uuid()
        )?;
        row.map(|(tenant, project_state, tenant_state)| {
            Ok(Located {
                scope: Scope::Project(TenantId::new(tenant), id),
                project: parse_standing(&project_state)?,
                tenant: parse_standing(&tenant_state)?,
            })
        })
        .transpose()
    }

    pub async fn find_project_by_slug(&mut self, slug: &str) -> Result<Option<Project>> {
        let row = fetch_optional!(
            self,
            ProjectRow,
            "SELECT id, tenant_id, slug, display_name, state, version, created_at, updated_at FROM projects WHERE slug = $1",
            slug
        )?;
        row.map(Project::try_from).transpose()
    }

    pub async fn list_projects(&mut self, scope: TenantScope, page: &PageRequest) -> Result<Page<Project>> {
        let rows = fetch!(
            self,
            ProjectRow,
            "SELECT id, tenant_id, slug, display_name, state, version, created_at, updated_at FROM projects \
             WHERE id > $1 AND state <> 'tombstone' AND ($2 IS NULL OR tenant_id = $2) ORDER BY id LIMIT $3",
            after_id(page)?,
            scope.tenant().map(TenantId::uuid),
            i64::from(page.limit) + 1
        )?;
        to_page(rows, page)
    }

    /// All projects, or those in which `principal` holds a role directly or through their tenant.
    pub async fn list_visible_projects(
        &mut self,
        all: bool,
        principal: Uuid,
        page: &PageRequest,
    ) -> Result<Page<Project>> {
        let rows = fetch!(
            self,
            ProjectRow,
            "SELECT id, tenant_id, slug, display_name, state, version, created_at, updated_at FROM projects p \
             WHERE id > $1 AND state <> 'tombstone' AND ($2 OR EXISTS (SELECT 1 FROM bindings b WHERE b.principal_id = $3 \
             AND (b.project_id = p.id OR (b.scope_kind = 'tenant' AND b.tenant_id = p.tenant_id)))) \
             ORDER BY id LIMIT $4",
            after_id(page)?,
            all,
            principal,
            i64::from(page.limit) + 1
        )?;
        to_page(rows, page)
    }

    /// Projects of a tenant that stand in the way of deleting it: their ids and slugs, at most 20, and how many.
    pub async fn live_projects(&mut self, tenant: TenantId) -> Result<(Vec<(Uuid, String)>, i64)> {
        let some = fetch!(
            self,
            (Uuid, String),
            "SELECT id, slug FROM projects WHERE tenant_id = $1 AND state <> 'tombstone' ORDER BY id LIMIT 20",
            tenant.uuid()
        )?;
        Ok((some, self.count_projects(tenant).await?))
    }

    pub async fn count_projects(&mut self, tenant: TenantId) -> Result<i64> {
        scalar!(
            self,
            i64,
            "SELECT COUNT(*) FROM projects WHERE tenant_id = $1 AND state <> 'tombstone'",
            tenant.uuid()
        )
    }
}

fn to_page(rows: Vec<ProjectRow>, page: &PageRequest) -> Result<Page<Project>> {
    let projects: Result<Vec<_>> = rows.into_iter().map(Project::try_from).collect();
    Ok(Page::from_rows(projects?, page.limit, |project| project.id.to_string()))
}

impl Tx {
    pub async fn insert_project(&mut self, project: &Project) -> Result<()> {
        execute_raw!(
            self,
            "INSERT INTO projects (id, tenant_id, slug, display_name, state, version, created_at, updated_at) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
            project.id.uuid(),
            project.tenant_id.uuid(),
            project.slug.as_str(),
            project.display_name.as_str(),
            project.state.name(),
            project.version,
            project.created_at.to_datetime(),
            project.updated_at.to_datetime()
        )
        .map_err(|error| slug_taken(error, "project"))?;
        Ok(())
    }

    pub async fn update_project(&mut self, project: Project) -> Result<Project> {
        let at = self.at();
        let touched = execute!(
            self,
            "UPDATE projects SET display_name = $3, state = $4, updated_at = $5, version = version + 1 \
             WHERE id = $1 AND version = $2",
            project.id.uuid(),
            project.version,
            project.display_name.as_str(),
            project.state.name(),
            at.to_datetime()
        )?;
        one_row(touched)?;
        Ok(Project { version: project.version + 1, updated_at: at, ..project })
    }
}
