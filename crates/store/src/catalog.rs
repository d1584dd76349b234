//! Apps, their versions, and who may launch them.

use chrono::{DateTime, Utc};
use gpuaas_domain::entitlement::{Layers, Terms};
use gpuaas_domain::ids::{AppVersionId, ProjectId, TenantId};
use gpuaas_domain::page::{Page, PageRequest};
use gpuaas_domain::{Error, Result, Timestamp};
use serde_json::Value;
use sqlx::types::Json;
use uuid::Uuid;

use crate::dialect::{is_unique_violation, map_error};
use crate::tenants::{after_id, one_row};
use crate::{Session, Tx};

/// A version as stored: the document, and where it is on the ladder.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredVersion {
    pub id: AppVersionId,
    pub app_slug: String,
    pub app_version: String,
    pub manifest: Value,
    pub manifest_digest: String,
    pub status: String,
    pub version: i64,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

row! {
    struct VersionRow {
        id: Uuid, app_slug: String, app_version: String, manifest: Json<Value>, manifest_digest: String, status: String,
        version: i64, created_at: DateTime<Utc>, updated_at: DateTime<Utc>,
    }
}

impl From<VersionRow> for StoredVersion {
    fn from(row: VersionRow) -> Self {
        Self {
            id: AppVersionId::new(row.id),
            app_slug: row.app_slug,
            app_version: row.app_version,
            manifest: row.manifest.0,
            manifest_digest: row.manifest_digest,
            status: row.status,
            version: row.version,
            created_at: Timestamp::new(row.created_at),
            updated_at: Timestamp::new(row.updated_at),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredApp {
    pub slug: String,
    pub display_name: String,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

row! {
    struct AppRow {
        slug: String, display_name: String, created_at: DateTime<Utc>, updated_at: DateTime<Utc>,
    }
}

impl From<AppRow> for StoredApp {
    fn from(row: AppRow) -> Self {
        Self {
            slug: row.slug,
            display_name: row.display_name,
            created_at: Timestamp::new(row.created_at),
            updated_at: Timestamp::new(row.updated_at),
        }
    }
}

/// What a row of entitlements says, whoever's it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredEntitlement {
    pub id: Uuid,
    pub app_slug: String,
    pub allowed: Option<Terms>,
    pub narrowed: Option<Terms>,
    pub version: i64,
    pub updated_at: Timestamp,
}

row! {
    struct EntitlementRow {
        id: Uuid, app_slug: String, allowed: Option<Json<Terms>>, narrowed: Option<Json<Terms>>, version: i64, updated_at: DateTime<Utc>,
    }
}

impl From<EntitlementRow> for StoredEntitlement {
    fn from(row: EntitlementRow) -> Self {
        Self {
            id: row.id,
            app_slug: row.app_slug,
            allowed: row.allowed.map(|json| json.0),
            narrowed: row.narrowed.map(|json| json.0),
            version: row.version,
            updated_at: Timestamp::new(row.updated_at),
        }
    }
}

/// The typed columns of a manifest (E-08).
pub struct Projection<'a> {
    pub artifact_kind: &'a str,
    pub artifact_ref: &'a str,
    pub compatibility: &'a Value,
    pub runtime_profile: Option<&'a Value>,
    pub ui: Option<&'a Value>,
    pub metering: Option<&'a Value>,
}

macro_rules! version_columns {
    () => {
        "id, app_slug, app_version, manifest, manifest_digest, status, version, created_at, updated_at"
    };
}

impl Session {
    pub async fn list_apps(&mut self, page: &PageRequest) -> Result<Page<StoredApp>> {
        let rows = fetch!(
            self,
            AppRow,
            "SELECT slug, display_name, created_at, updated_at FROM apps WHERE slug > $1 ORDER BY slug LIMIT $2",
            page.after.as_deref().unwrap_or(""),
            i64::from(page.limit) + 1
        )?;
        Ok(Page::from_rows(rows.into_iter().map(StoredApp::from).collect(), page.limit, |app| {
            app.slug.clone()
        }))
    }

    pub async fn find_app(&mut self, slug: &str) -> Result<Option<StoredApp>> {
        let row = fetch_optional!(
            self,
            AppRow,
            "SELECT slug, display_name, created_at, updated_at FROM apps WHERE slug = $1",
            slug
        )?;
        Ok(row.map(StoredApp::from))
    }

    pub async fn list_app_versions(&mut self, slug: &str, page: &PageRequest) -> Result<Page<StoredVersion>> {
        let rows = fetch!(
            self,
            VersionRow,
            concat!(
                "SELECT ",
                version_columns!(),
                " FROM app_versions WHERE app_slug = $1 AND id > $2 ORDER BY id LIMIT $3"
            ),
            slug,
            after_id(page)?,
            i64::from(page.limit) + 1
        )?;
        let all = rows.into_iter().map(StoredVersion::from).collect();
        Ok(Page::from_rows(all, page.limit, |version: &StoredVersion| version.id.to_string()))
    }

    pub async fn find_app_version(&mut self, slug: &str, version: &str) -> Result<Option<StoredVersion>> {
        let row = fetch_optional!(
            self,
            VersionRow,
            concat!(
                "SELECT ",
                version_columns!(),
                " FROM app_versions WHERE app_slug = $1 AND app_version = $2"
            ),
            slug,
            version
        )?;
        Ok(row.map(StoredVersion::from))
    }

    pub async fn find_app_version_by_id(&mut self, id: AppVersionId) -> Result<Option<StoredVersion>> {
        let row = fetch_optional!(
            self,
            VersionRow,
            concat!("SELECT ", version_columns!(), " FROM app_versions WHERE id = $1"),
            id.uuid()
        )?;
        Ok(row.map(StoredVersion::from))
    }

    /// The newest version of an app in one of the launchable states.
    pub async fn list_launchable(&mut self, slug: &str) -> Result<Vec<StoredVersion>> {
        let rows = fetch!(
            self,
            VersionRow,
            concat!(
                "SELECT ",
                version_columns!(),
                " FROM app_versions WHERE app_slug = $1 AND status IN ('active', 'canary') ORDER BY id DESC LIMIT 100"
            ),
            slug
        )?;
        Ok(rows.into_iter().map(StoredVersion::from).collect())
    }

    pub async fn count_version_instances(&mut self, id: AppVersionId) -> Result<i64> {
        scalar!(
            self,
            i64,
            "SELECT COUNT(*) FROM app_instances WHERE app_version_id = $1 AND decommissioned_at IS NULL",
            id.uuid()
        )
    }

    pub async fn list_entitlements(
        &mut self,
        tenant: TenantId,
        project: Option<ProjectId>,
    ) -> Result<Vec<StoredEntitlement>> {
        let rows = match project {
            None => fetch!(
                self,
                EntitlementRow,
                "SELECT id, app_slug, allowed, narrowed, version, updated_at FROM entitlements \
                 WHERE tenant_id = $1 AND project_id IS NULL ORDER BY app_slug",
                tenant.uuid()
            )?,
            Some(project) => fetch!(
                self,
                EntitlementRow,
                "SELECT id, app_slug, allowed, narrowed, version, updated_at FROM entitlements \
                 WHERE tenant_id = $1 AND project_id = $2 ORDER BY app_slug",
                tenant.uuid(),
                project.uuid()
            )?,
        };
        Ok(rows.into_iter().map(StoredEntitlement::from).collect())
    }

    /// Everything said about one app that holds in a project.
    pub async fn entitlement_layers(
        &mut self,
        tenant: TenantId,
        project: ProjectId,
        slug: &str,
    ) -> Result<Layers> {
        let of_tenant =
            self.list_entitlements(tenant, None).await?.into_iter().find(|row| row.app_slug == slug);
        let own =
            self.list_entitlements(tenant, Some(project)).await?.into_iter().find(|row| row.app_slug == slug);
        let (allowed, narrowed) = own.map_or((None, None), |row| (row.allowed, row.narrowed));
        Ok(Layers { tenant: of_tenant.and_then(|row| row.allowed), allowed, narrowed })
    }
}

impl Tx {
    /// Makes sure the app exists; the newest registration names it.
    pub async fn put_app(&mut self, slug: &str, display_name: &str) -> Result<()> {
        let at = self.at().to_datetime();
        execute!(
            self,
            "INSERT INTO apps (slug, display_name, created_at, updated_at) VALUES ($1, $2, $3, $3) \
             ON CONFLICT (slug) DO UPDATE SET display_name = excluded.display_name, updated_at = excluded.updated_at",
            slug,
            display_name,
            at
        )?;
        Ok(())
    }

    pub async fn insert_app_version(
        &mut self,
        version: &StoredVersion,
        projection: &Projection<'_>,
    ) -> Result<()> {
        execute_raw!(
            self,
            "INSERT INTO app_versions (id, app_slug, app_version, manifest, manifest_digest, status, version, created_at, updated_at) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
            version.id.uuid(),
            version.app_slug.as_str(),
            version.app_version.as_str(),
            Json(&version.manifest),
            version.manifest_digest.as_str(),
            version.status.as_str(),
            version.version,
            version.created_at.to_datetime(),
            version.updated_at.to_datetime()
        )
        .map_err(|error| {
            if is_unique_violation(&error) {
                return Error::conflict(
                    "version_exists",
                    "This version is registered and no draft any more, so it never changes; register a new one.",
                );
            }
            map_error(error)
        })?;
        execute!(
            self,
            "INSERT INTO app_manifests (slug, version, artifact_kind, artifact_ref, compatibility, runtime_profile, ui, metering, status) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
            version.app_slug.as_str(),
            version.app_version.as_str(),
            projection.artifact_kind,
            projection.artifact_ref,
            Json(projection.compatibility),
            projection.runtime_profile.map(Json),
            projection.ui.map(Json),
            projection.metering.map(Json),
            version.status.as_str()
        )?;
        Ok(())
    }

    /// Makes room for a draft's next text. Only a draft has no instance that points to it.
    pub async fn delete_draft(&mut self, draft: &StoredVersion) -> Result<()> {
        execute!(self, "DELETE FROM app_version_images WHERE app_version_id = $1", draft.id.uuid())?;
        execute!(
            self,
            "DELETE FROM app_manifests WHERE slug = $1 AND version = $2",
            draft.app_slug.as_str(),
            draft.app_version.as_str()
        )?;
        let touched = execute!(
            self,
            "DELETE FROM app_versions WHERE id = $1 AND version = $2 AND status = 'draft'",
            draft.id.uuid(),
            draft.version
        )?;
        if touched == 1 { Ok(()) } else { Err(Error::stale()) }
    }

    pub async fn move_app_version(&mut self, version: StoredVersion, status: &str) -> Result<StoredVersion> {
        let at = self.at();
        let touched = execute!(
            self,
            "UPDATE app_versions SET status = $3, updated_at = $4, version = version + 1 WHERE id = $1 AND version = $2",
            version.id.uuid(),
            version.version,
            status,
            at.to_datetime()
        )?;
        one_row(touched)?;
        execute!(
            self,
            "UPDATE app_manifests SET status = $3 WHERE slug = $1 AND version = $2",
            version.app_slug.as_str(),
            version.app_version.as_str(),
            status
        )?;
        Ok(StoredVersion {
            status: status.to_owned(),
            version: version.version + 1,
            updated_at: at,
            ..version
        })
    }

    /// Replaces what is said about an app at this place. `id` is for a new row only.
    pub async fn put_entitlement(
        &mut self,
        id: Uuid,
        tenant: TenantId,
        project: Option<ProjectId>,
        slug: &str,
        allowed: Option<&Terms>,
        narrowed: Option<&Terms>,
    ) -> Result<()> {
        let at = self.at().to_datetime();
        let touched = match project {
            None => execute!(
                self,
                "UPDATE entitlements SET allowed = $3, narrowed = $4, updated_at = $5, version = version + 1 \
                 WHERE tenant_id = $1 AND app_slug = $2 AND project_id IS NULL",
                tenant.uuid(),
                slug,
                allowed.map(Json),
                narrowed.map(Json),
                at
            )?,
            Some(project) => execute!(
                self,
                "UPDATE entitlements SET allowed = $3, narrowed = $4, updated_at = $5, version = version + 1 \
                 WHERE project_id = $1 AND app_slug = $2",
                project.uuid(),
                slug,
                allowed.map(Json),
                narrowed.map(Json),
                at
            )?,
        };
        if touched == 0 {
            execute!(
                self,
                "INSERT INTO entitlements (id, tenant_id, project_id, app_slug, allowed, narrowed, version, created_at, updated_at) \
                 VALUES ($1, $2, $3, $4, $5, $6, 1, $7, $7)",
                id,
                tenant.uuid(),
                project.map(ProjectId::uuid),
                slug,
                allowed.map(Json),
                narrowed.map(Json),
                at
            )?;
        }
        Ok(())
    }
}
