//! Repositories of images: whose they are and who sees them. Their bytes lie in the registry.

use chrono::{DateTime, Utc};
use gpuaas_domain::artifact::{Repository, RepositoryPath, Visibility};
use gpuaas_domain::ids::{ProjectId, RepositoryId, TenantId};
use gpuaas_domain::{Error, Result, Timestamp};
use uuid::Uuid;

use crate::dialect::{is_unique_violation, map_error};
use crate::rows::unknown;
use crate::tenants::one_row;
use crate::{Session, Tx};

row! {
    pub(crate) struct RepositoryRow {
        pub(crate) id: Uuid, pub(crate) tenant_id: Uuid, pub(crate) project_id: Uuid, pub(crate) namespace: String,
        pub(crate) app_slug: String, pub(crate) visibility: String, pub(crate) version: i64,
        pub(crate) created_at: DateTime<Utc>, pub(crate) updated_at: DateTime<Utc>,
    }
}

impl TryFrom<RepositoryRow> for Repository {
    type Error = Error;

    fn try_from(row: RepositoryRow) -> Result<Self> {
        Ok(Self {
            id: RepositoryId::new(row.id),
            tenant_id: TenantId::new(row.tenant_id),
            project_id: ProjectId::new(row.project_id),
            namespace: row.namespace,
            app_slug: row.app_slug,
            visibility: Visibility::parse(&row.visibility).ok_or_else(|| unknown(&row.visibility))?,
            version: row.version,
            created_at: Timestamp::new(row.created_at),
            updated_at: Timestamp::new(row.updated_at),
        })
    }
}

macro_rules! repository_columns {
    () => {
        "id, tenant_id, project_id, namespace, app_slug, visibility, version, created_at, updated_at"
    };
}

impl Session {
    /// For the registry's door and the resolution of references, which decide by what they find.
    pub async fn find_repository_by_path(&mut self, path: &RepositoryPath) -> Result<Option<Repository>> {
        let row = fetch_optional!(
            self,
            RepositoryRow,
            concat!(
                "SELECT ",
                repository_columns!(),
                " FROM repositories WHERE namespace = $1 AND app_slug = $2"
            ),
            path.namespace.as_str(),
            path.app_slug.as_str()
        )?;
        row.map(Repository::try_from).transpose()
    }

    pub async fn find_repository_by_id(&mut self, id: RepositoryId) -> Result<Option<Repository>> {
        let row = fetch_optional!(
            self,
            RepositoryRow,
            concat!("SELECT ", repository_columns!(), " FROM repositories WHERE id = $1"),
            id.uuid()
        )?;
        row.map(Repository::try_from).transpose()
    }

    pub async fn list_repositories(&mut self, project: ProjectId) -> Result<Vec<Repository>> {
        let rows = fetch!(
            self,
            RepositoryRow,
            concat!(
                "SELECT ",
                repository_columns!(),
                " FROM repositories WHERE project_id = $1 ORDER BY id LIMIT 1000"
            ),
            project.uuid()
        )?;
        rows.into_iter().map(Repository::try_from).collect()
    }
}

impl Tx {
    pub async fn insert_repository(&mut self, repository: &Repository) -> Result<()> {
        execute_raw!(
            self,
            "INSERT INTO repositories (id, tenant_id, project_id, namespace, app_slug, visibility, version, created_at, updated_at) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
            repository.id.uuid(),
            repository.tenant_id.uuid(),
            repository.project_id.uuid(),
            repository.namespace.as_str(),
            repository.app_slug.as_str(),
            repository.visibility.name(),
            repository.version,
            repository.created_at.to_datetime(),
            repository.updated_at.to_datetime()
        )
        .map_err(|error| {
            if is_unique_violation(&error) {
                return Error::conflict("repository_taken", "Another project has a repository of this name.");
            }
            map_error(error)
        })?;
        Ok(())
    }

    pub async fn set_visibility(
        &mut self,
        repository: Repository,
        visibility: Visibility,
    ) -> Result<Repository> {
        let at = self.at();
        let touched = execute!(
            self,
            "UPDATE repositories SET visibility = $3, updated_at = $4, version = version + 1 WHERE id = $1 AND version = $2",
            repository.id.uuid(),
            repository.version,
            visibility.name(),
            at.to_datetime()
        )?;
        one_row(touched)?;
        Ok(Repository { visibility, version: repository.version + 1, updated_at: at, ..repository })
    }
}
