//! Choices of launch forms under names.

use chrono::{DateTime, Utc};
use gpuaas_domain::iam::TenantScope;
use gpuaas_domain::ids::{PresetId, ProjectId, TenantId};
use gpuaas_domain::page::{Page, PageRequest};
use gpuaas_domain::preset::{Preset, PresetChoices};
use gpuaas_domain::{Error, Result, Timestamp};
use sqlx::types::Json;
use uuid::Uuid;

use crate::dialect::{is_unique_violation, map_error};
use crate::tenants::{after_id, one_row};
use crate::{Session, Tx};

row! {
    struct PresetRow {
        id: Uuid, tenant_id: Uuid, project_id: Uuid, app_slug: String, name: String, is_default: bool,
        choices: Json<PresetChoices>, created_by_kind: String, created_by_id: String, created_at: DateTime<Utc>,
        version: i64, updated_at: DateTime<Utc>,
    }
}

macro_rules! preset_columns {
    () => {
        "id, tenant_id, project_id, app_slug, name, is_default, choices, created_by_kind, created_by_id, created_at, version, updated_at"
    };
}

impl From<PresetRow> for Preset {
    fn from(row: PresetRow) -> Self {
        Self {
            id: PresetId::new(row.id),
            tenant_id: TenantId::new(row.tenant_id),
            project_id: ProjectId::new(row.project_id),
            app_slug: row.app_slug,
            name: row.name,
            is_default: row.is_default,
            choices: row.choices.0,
            created_by_kind: row.created_by_kind,
            created_by_id: row.created_by_id,
            created_at: Timestamp::new(row.created_at),
            version: row.version,
            updated_at: Timestamp::new(row.updated_at),
        }
    }
}

impl Session {
    pub async fn find_preset(&mut self, scope: TenantScope, id: PresetId) -> Result<Option<Preset>> {
        let row = fetch_optional!(
            self,
            PresetRow,
            concat!(
                "SELECT ",
                preset_columns!(),
                " FROM launch_presets WHERE id = $1 AND ($2 IS NULL OR tenant_id = $2) AND ($3 IS NULL OR project_id = $3)"
            ),
            id.uuid(),
            scope.tenant().map(TenantId::uuid),
            scope.project().map(ProjectId::uuid)
        )?;
        Ok(row.map(Preset::from))
    }

    /// Those of the scope, of one app where it is named.
    pub async fn list_presets(
        &mut self,
        scope: TenantScope,
        app: Option<&str>,
        page: &PageRequest,
    ) -> Result<Page<Preset>> {
        let rows = fetch!(
            self,
            PresetRow,
            concat!(
                "SELECT ",
                preset_columns!(),
                " FROM launch_presets WHERE id > $1 AND ($2 IS NULL OR tenant_id = $2) AND ($3 IS NULL OR project_id = $3) \
                 AND ($4 = '' OR app_slug = $4) ORDER BY id LIMIT $5"
            ),
            after_id(page)?,
            scope.tenant().map(TenantId::uuid),
            scope.project().map(ProjectId::uuid),
            app.unwrap_or(""),
            i64::from(page.limit) + 1
        )?;
        let all: Vec<Preset> = rows.into_iter().map(Preset::from).collect();
        Ok(Page::from_rows(all, page.limit, |preset| preset.id.to_string()))
    }

    /// What the project's forms of an app begin with.
    pub async fn find_default_preset(&mut self, project: ProjectId, app: &str) -> Result<Option<Preset>> {
        let row = fetch_optional!(
            self,
            PresetRow,
            concat!(
                "SELECT ",
                preset_columns!(),
                " FROM launch_presets WHERE project_id = $1 AND app_slug = $2 AND is_default"
            ),
            project.uuid(),
            app
        )?;
        Ok(row.map(Preset::from))
    }

    pub async fn count_presets(&mut self, project: ProjectId) -> Result<i64> {
        scalar!(self, i64, "SELECT COUNT(*) FROM launch_presets WHERE project_id = $1", project.uuid())
    }
}

fn taken(error: sqlx::Error) -> Error {
    if is_unique_violation(&error) {
        return Error::conflict(
            "name_taken",
            "The project has another preset of this name for this app; choose another.",
        );
    }
    map_error(error)
}

impl Tx {
    pub async fn insert_preset(&mut self, preset: &Preset) -> Result<()> {
        execute_raw!(
            self,
            "INSERT INTO launch_presets (id, tenant_id, project_id, app_slug, name, is_default, choices, created_by_kind, \
             created_by_id, created_at, version, updated_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $10)",
            preset.id.uuid(),
            preset.tenant_id.uuid(),
            preset.project_id.uuid(),
            preset.app_slug.as_str(),
            preset.name.as_str(),
            preset.is_default,
            Json(&preset.choices),
            preset.created_by_kind.as_str(),
            preset.created_by_id.as_str(),
            preset.created_at.to_datetime(),
            preset.version
        )
        .map_err(taken)?;
        Ok(())
    }

    pub async fn update_preset(&mut self, preset: Preset) -> Result<Preset> {
        let at = self.at();
        let touched = execute_raw!(
            self,
            "UPDATE launch_presets SET name = $5, is_default = $6, choices = $7, updated_at = $8, version = version + 1 \
             WHERE id = $1 AND tenant_id = $2 AND project_id = $3 AND version = $4",
            preset.id.uuid(),
            preset.tenant_id.uuid(),
            preset.project_id.uuid(),
            preset.version,
            preset.name.as_str(),
            preset.is_default,
            Json(&preset.choices),
            at.to_datetime()
        )
        .map_err(taken)?;
        one_row(touched)?;
        Ok(Preset { version: preset.version + 1, updated_at: at, ..preset })
    }

    pub async fn delete_preset(&mut self, preset: &Preset) -> Result<()> {
        let touched = execute!(
            self,
            "DELETE FROM launch_presets WHERE id = $1 AND tenant_id = $2 AND project_id = $3 AND version = $4",
            preset.id.uuid(),
            preset.tenant_id.uuid(),
            preset.project_id.uuid(),
            preset.version
        )?;
        one_row(touched)
    }
}
