//! Repositories, artifacts and their promotions, trusted keys, and what opens the registry.

use chrono::{DateTime, Utc};
use gpuaas_agent_protocol::Digest;
use gpuaas_domain::artifact::{
    Artifact, ArtifactState, Repository, RepositoryPath, Trust, TrustKey, TrustState, Visibility,
};
use gpuaas_domain::iam::TenantScope;
use gpuaas_domain::ids::{
    AppVersionId, ArtifactId, KeyId, ProjectId, RegistryCredentialId, RepositoryId, SecretId, TenantId,
    TrustKeyId,
};
use gpuaas_domain::page::{Page, PageRequest};
use gpuaas_domain::{Error, Result, Timestamp};
use serde_json::Value;
use sqlx::types::Json;
use uuid::Uuid;

use crate::dialect::{is_unique_violation, map_error};
use crate::tenants::{after_id, one_row};
use crate::{Session, Tx};

row! {
    struct RepositoryRow {
        id: Uuid, tenant_id: Uuid, project_id: Uuid, namespace: String, app_slug: String, visibility: String,
        version: i64, created_at: DateTime<Utc>, updated_at: DateTime<Utc>,
    }
}

fn unknown(what: &str) -> Error {
    Error::internal(format!("a row has the unknown value {what:?}"))
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

row! {
    struct ArtifactRow {
        id: Uuid, digest: String, tag: Option<String>, media_type: String, size_bytes: i64, variant: Option<String>,
        source: Json<Value>, state: String, channel: Option<String>, trust: String, trust_key_id: Option<Uuid>,
        trust_signer: Option<String>, trust_at: Option<DateTime<Utc>>, statement_digest: Option<String>,
        provenance_digest: Option<String>, signed_as: Option<String>, trust_reason: Option<String>,
        created_by_kind: String, created_by_id: String, version: i64, created_at: DateTime<Utc>, updated_at: DateTime<Utc>,
        key_ends_at: Option<DateTime<Utc>>, r_id: Uuid, r_tenant_id: Uuid, r_project_id: Uuid, r_namespace: String, r_app_slug: String, r_visibility: String,
        r_version: i64, r_created_at: DateTime<Utc>, r_updated_at: DateTime<Utc>,
    }
}

impl TryFrom<ArtifactRow> for Artifact {
    type Error = Error;

    fn try_from(row: ArtifactRow) -> Result<Self> {
        Ok(Self {
            id: ArtifactId::new(row.id),
            repository: Repository::try_from(RepositoryRow {
                id: row.r_id,
                tenant_id: row.r_tenant_id,
                project_id: row.r_project_id,
                namespace: row.r_namespace,
                app_slug: row.r_app_slug,
                visibility: row.r_visibility,
                version: row.r_version,
                created_at: row.r_created_at,
                updated_at: row.r_updated_at,
            })?,
            digest: row.digest.parse().map_err(|_| unknown(&row.digest))?,
            tag: row.tag,
            media_type: row.media_type,
            size_bytes: row.size_bytes,
            variant: row.variant,
            source: row.source.0,
            state: ArtifactState::parse(&row.state).ok_or_else(|| unknown(&row.state))?,
            channel: row.channel,
            trust: Trust {
                state: TrustState::parse(&row.trust).ok_or_else(|| unknown(&row.trust))?,
                key: row.trust_key_id.map(TrustKeyId::new),
                signer: row.trust_signer,
                at: row.trust_at.map(Timestamp::new),
                until: row.key_ends_at.map(Timestamp::new),
                statement_digest: row.statement_digest,
                provenance_digest: row.provenance_digest,
                signed_as: row.signed_as,
                reason: row.trust_reason,
            },
            created_by_kind: row.created_by_kind,
            created_by_id: row.created_by_id,
            version: row.version,
            created_at: Timestamp::new(row.created_at),
            updated_at: Timestamp::new(row.updated_at),
        })
    }
}

row! {
    struct KeyRow {
        id: Uuid, tenant_id: Option<Uuid>, project_id: Option<Uuid>, name: String, fingerprint: String, algorithm: String,
        public_key: String, valid_until: Option<DateTime<Utc>>, revoked_at: Option<DateTime<Utc>>,
        revoked_reason: Option<String>, version: i64, created_at: DateTime<Utc>,
    }
}

impl From<KeyRow> for TrustKey {
    fn from(row: KeyRow) -> Self {
        Self {
            id: TrustKeyId::new(row.id),
            owner: row
                .tenant_id
                .zip(row.project_id)
                .map(|(tenant, project)| (TenantId::new(tenant), ProjectId::new(project))),
            name: row.name,
            fingerprint: row.fingerprint,
            algorithm: row.algorithm,
            public_key: row.public_key,
            valid_until: row.valid_until.map(Timestamp::new),
            revoked_at: row.revoked_at.map(Timestamp::new),
            revoked_reason: row.revoked_reason,
            version: row.version,
            created_at: Timestamp::new(row.created_at),
        }
    }
}

/// What a credential of the registry is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    Publish,
    Pull,
}

impl Purpose {
    pub fn name(self) -> &'static str {
        match self {
            Self::Publish => "publish",
            Self::Pull => "pull",
        }
    }

    fn parse(name: &str) -> Option<Self> {
        [Self::Publish, Self::Pull].into_iter().find(|purpose| purpose.name() == name)
    }
}

/// A credential for one repository, issued to somebody for a short while.
#[derive(Clone, Debug)]
pub struct StoredCredential {
    pub id: RegistryCredentialId,
    pub tenant_id: TenantId,
    pub project_id: ProjectId,
    pub repository_id: RepositoryId,
    pub purpose: Purpose,
    /// The one image it opens; absent, the whole repository.
    pub digest: Option<Digest>,
    pub secret_hash: Vec<u8>,
    pub actor_kind: String,
    pub actor_id: String,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
    pub first_used_at: Option<Timestamp>,
    pub revoked_at: Option<Timestamp>,
    pub version: i64,
}

row! {
    struct CredentialRow {
        id: Uuid, tenant_id: Uuid, project_id: Uuid, repository_id: Uuid, purpose: String, digest: Option<String>,
        secret_hash: Vec<u8>, actor_kind: String, actor_id: String, created_at: DateTime<Utc>, expires_at: DateTime<Utc>,
        first_used_at: Option<DateTime<Utc>>, revoked_at: Option<DateTime<Utc>>, version: i64,
    }
}

impl TryFrom<CredentialRow> for StoredCredential {
    type Error = Error;

    fn try_from(row: CredentialRow) -> Result<Self> {
        let digest = row.digest.map(|text| text.parse().map_err(|_| unknown(&text))).transpose()?;
        Ok(Self {
            id: RegistryCredentialId::new(row.id),
            tenant_id: TenantId::new(row.tenant_id),
            project_id: ProjectId::new(row.project_id),
            repository_id: RepositoryId::new(row.repository_id),
            purpose: Purpose::parse(&row.purpose).ok_or_else(|| unknown(&row.purpose))?,
            digest,
            secret_hash: row.secret_hash,
            actor_kind: row.actor_kind,
            actor_id: row.actor_id,
            created_at: Timestamp::new(row.created_at),
            expires_at: Timestamp::new(row.expires_at),
            first_used_at: row.first_used_at.map(Timestamp::new),
            revoked_at: row.revoked_at.map(Timestamp::new),
            version: row.version,
        })
    }
}

/// A key that signs registry tokens, its private half still sealed.
#[derive(Clone, Debug)]
pub struct RegistryKey {
    pub id: KeyId,
    /// In PEM.
    pub certificate: String,
    pub secret_id: SecretId,
    pub retired_at: Option<Timestamp>,
}

row! {
    struct RegistryKeyRow {
        id: Uuid, certificate: String, secret_id: Uuid, retired_at: Option<DateTime<Utc>>,
    }
}

/// A promotion as it happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredPromotion {
    pub channel: String,
    pub actor_kind: String,
    pub actor_id: String,
    pub at: Timestamp,
}

/// An image as a version names it, and the repository it was found to mean.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VersionImage {
    pub reference: String,
    pub path: RepositoryPath,
    pub digest: Digest,
}

/// A version that names an artifact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VersionUse {
    pub version_id: AppVersionId,
    pub app_slug: String,
    pub app_version: String,
    pub status: String,
}

/// How far the making of an app has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preparation {
    pub app_slug: String,
    pub stage: String,
    pub percent: i64,
    pub failure: Option<String>,
    pub updated_at: Timestamp,
}

row! {
    struct PreparationRow {
        app_slug: String, stage: String, percent: i64, failure: Option<String>, updated_at: DateTime<Utc>,
    }
}

macro_rules! repository_columns {
    () => {
        "id, tenant_id, project_id, namespace, app_slug, visibility, version, created_at, updated_at"
    };
}

macro_rules! artifact_select {
    ($rest:literal) => {
        concat!(
            "SELECT a.id, a.digest, a.tag, a.media_type, a.size_bytes, a.variant, a.source, a.state, a.channel, a.trust, \
             a.trust_key_id, a.trust_signer, a.trust_at, a.statement_digest, a.provenance_digest, a.signed_as, a.trust_reason, \
             a.created_by_kind, a.created_by_id, a.version, a.created_at, a.updated_at, r.id AS r_id, r.tenant_id AS r_tenant_id, \
             r.project_id AS r_project_id, r.namespace AS r_namespace, r.app_slug AS r_app_slug, r.visibility AS r_visibility, \
             r.version AS r_version, r.created_at AS r_created_at, r.updated_at AS r_updated_at, \
             k.valid_until AS key_ends_at FROM app_artifacts a JOIN repositories r ON r.id = a.repository_id \
             LEFT JOIN trust_keys k ON k.id = a.trust_key_id WHERE ",
            $rest
        )
    };
}

macro_rules! key_columns {
    () => {
        "id, tenant_id, project_id, name, fingerprint, algorithm, public_key, valid_until, revoked_at, revoked_reason, version, created_at"
    };
}

macro_rules! credential_columns {
    () => {
        "id, tenant_id, project_id, repository_id, purpose, digest, secret_hash, actor_kind, actor_id, created_at, expires_at, \
         first_used_at, revoked_at, version"
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

    pub async fn find_artifact(&mut self, scope: TenantScope, id: ArtifactId) -> Result<Option<Artifact>> {
        let row = fetch_optional!(
            self,
            ArtifactRow,
            artifact_select!(
                "a.id = $1 AND ($2 IS NULL OR r.tenant_id = $2) AND ($3 IS NULL OR r.project_id = $3)"
            ),
            id.uuid(),
            scope.tenant().map(TenantId::uuid),
            scope.project().map(ProjectId::uuid)
        )?;
        row.map(Artifact::try_from).transpose()
    }

    /// An artifact that this project may pull, whoever owns it.
    pub async fn find_visible_artifact(
        &mut self,
        tenant: TenantId,
        project: ProjectId,
        id: ArtifactId,
    ) -> Result<Option<Artifact>> {
        let row = fetch_optional!(
            self,
            ArtifactRow,
            artifact_select!(
                "a.id = $1 AND (r.project_id = $2 OR r.visibility = 'platform' OR (r.visibility = 'tenant' AND r.tenant_id = $3))"
            ),
            id.uuid(),
            project.uuid(),
            tenant.uuid()
        )?;
        row.map(Artifact::try_from).transpose()
    }

    /// What a reference means. Who may have it is the caller's to decide.
    pub async fn find_artifact_by_digest(
        &mut self,
        path: &RepositoryPath,
        digest: &Digest,
    ) -> Result<Option<Artifact>> {
        let row = fetch_optional!(
            self,
            ArtifactRow,
            artifact_select!("r.namespace = $1 AND r.app_slug = $2 AND a.digest = $3"),
            path.namespace.as_str(),
            path.app_slug.as_str(),
            digest.as_str()
        )?;
        row.map(Artifact::try_from).transpose()
    }

    /// A project's artifacts, and with `visible` those of others that it may pull.
    pub async fn list_artifacts(
        &mut self,
        tenant: TenantId,
        project: ProjectId,
        app: Option<&str>,
        visible: bool,
        page: &PageRequest,
    ) -> Result<Page<Artifact>> {
        let rows = fetch!(
            self,
            ArtifactRow,
            artifact_select!(
                "a.id > $1 AND ($2 IS NULL OR r.app_slug = $2) AND (r.project_id = $3 OR ($4 AND (r.visibility = 'platform' \
                 OR (r.visibility = 'tenant' AND r.tenant_id = $5)))) ORDER BY a.id LIMIT $6"
            ),
            after_id(page)?,
            app,
            project.uuid(),
            visible,
            tenant.uuid(),
            i64::from(page.limit) + 1
        )?;
        let all: Result<Vec<_>> = rows.into_iter().map(Artifact::try_from).collect();
        Ok(Page::from_rows(all?, page.limit, |artifact| artifact.id.to_string()))
    }

    /// Artifacts that stand in the way of deleting a project: at most 20.
    pub async fn live_artifacts(&mut self, project: ProjectId) -> Result<Vec<(Uuid, String)>> {
        fetch!(
            self,
            (Uuid, String),
            "SELECT a.id, a.digest FROM app_artifacts a JOIN repositories r ON r.id = a.repository_id \
             WHERE r.project_id = $1 AND a.state <> 'retired' ORDER BY a.id LIMIT 20",
            project.uuid()
        )
    }

    pub async fn list_promotions(&mut self, artifact: ArtifactId) -> Result<Vec<StoredPromotion>> {
        let rows = fetch!(
            self,
            (String, String, String, DateTime<Utc>),
            "SELECT channel, actor_kind, actor_id, promoted_at FROM artifact_promotions WHERE artifact_id = $1 ORDER BY id",
            artifact.uuid()
        )?;
        let promotion = |(channel, actor_kind, actor_id, at)| StoredPromotion {
            channel,
            actor_kind,
            actor_id,
            at: Timestamp::new(at),
        };
        Ok(rows.into_iter().map(promotion).collect())
    }

    /// Versions that name an artifact, at most 100, newest first.
    pub async fn list_artifact_uses(&mut self, artifact: &Artifact) -> Result<Vec<VersionUse>> {
        let rows = fetch!(
            self,
            (Uuid, String, String, String),
            "SELECT DISTINCT v.id, v.app_slug, v.app_version, v.status FROM app_version_images i JOIN app_versions v ON v.id = i.app_version_id \
             WHERE i.digest = $1 AND i.namespace = $2 AND i.app_slug = $3 ORDER BY v.id DESC LIMIT 100",
            artifact.digest.as_str(),
            artifact.repository.namespace.as_str(),
            artifact.repository.app_slug.as_str()
        )?;
        let found = |(id, app_slug, app_version, status)| VersionUse {
            version_id: AppVersionId::new(id),
            app_slug,
            app_version,
            status,
        };
        Ok(rows.into_iter().map(found).collect())
    }

    /// Instances that are not decommissioned and run from this digest.
    pub async fn count_artifact_instances(&mut self, artifact: &Artifact) -> Result<i64> {
        scalar!(
            self,
            i64,
            "SELECT COUNT(*) FROM app_instances WHERE decommissioned_at IS NULL AND artifact_digest = $1 AND app_version_id IN \
             (SELECT app_version_id FROM app_version_images WHERE digest = $1 AND namespace = $2 AND app_slug = $3)",
            artifact.digest.as_str(),
            artifact.repository.namespace.as_str(),
            artifact.repository.app_slug.as_str()
        )
    }

    pub async fn list_version_images(&mut self, version: AppVersionId) -> Result<Vec<VersionImage>> {
        let rows = fetch!(
            self,
            (String, String, String, String),
            "SELECT reference, namespace, app_slug, digest FROM app_version_images WHERE app_version_id = $1 ORDER BY reference",
            version.uuid()
        )?;
        rows.into_iter()
            .map(|(reference, namespace, app_slug, digest)| {
                let digest = digest.parse().map_err(|_| unknown(&digest))?;
                Ok(VersionImage { reference, path: RepositoryPath { namespace, app_slug }, digest })
            })
            .collect()
    }

    /// A project's own keys and the platform's; `None` gives the platform's alone.
    pub async fn list_trust_keys(&mut self, project: Option<ProjectId>) -> Result<Vec<TrustKey>> {
        let rows = fetch!(
            self,
            KeyRow,
            concat!(
                "SELECT ",
                key_columns!(),
                " FROM trust_keys WHERE project_id IS NULL OR project_id = $1 ORDER BY id LIMIT 1000"
            ),
            project.map(ProjectId::uuid)
        )?;
        Ok(rows.into_iter().map(TrustKey::from).collect())
    }

    pub async fn find_trust_key(&mut self, scope: TenantScope, id: TrustKeyId) -> Result<Option<TrustKey>> {
        let row = match scope.project() {
            Some(project) => fetch_optional!(
                self,
                KeyRow,
                concat!("SELECT ", key_columns!(), " FROM trust_keys WHERE id = $1 AND project_id = $2"),
                id.uuid(),
                project.uuid()
            )?,
            None => fetch_optional!(
                self,
                KeyRow,
                concat!("SELECT ", key_columns!(), " FROM trust_keys WHERE id = $1 AND project_id IS NULL"),
                id.uuid()
            )?,
        };
        Ok(row.map(TrustKey::from))
    }

    /// Artifacts that a key stands for now.
    pub async fn list_artifacts_of_key(&mut self, key: TrustKeyId, limit: i64) -> Result<Vec<Artifact>> {
        let rows = fetch!(
            self,
            ArtifactRow,
            artifact_select!("a.trust_key_id = $1 AND a.trust = 'verified' ORDER BY a.id LIMIT $2"),
            key.uuid(),
            limit
        )?;
        rows.into_iter().map(Artifact::try_from).collect()
    }

    /// By its id alone: the secret that comes with it, or the registry's own token, proves the rest.
    pub async fn find_registry_credential(
        &mut self,
        id: RegistryCredentialId,
    ) -> Result<Option<StoredCredential>> {
        let row = fetch_optional!(
            self,
            CredentialRow,
            concat!("SELECT ", credential_columns!(), " FROM registry_credentials WHERE id = $1"),
            id.uuid()
        )?;
        row.map(StoredCredential::try_from).transpose()
    }

    pub async fn list_registry_credentials(
        &mut self,
        project: ProjectId,
        page: &PageRequest,
    ) -> Result<Page<(StoredCredential, RepositoryPath)>> {
        let rows = fetch!(
            self,
            CredentialRow,
            concat!(
                "SELECT ",
                credential_columns!(),
                " FROM registry_credentials WHERE project_id = $1 AND id > $2 ORDER BY id LIMIT $3"
            ),
            project.uuid(),
            after_id(page)?,
            i64::from(page.limit) + 1
        )?;
        let mut all = Vec::with_capacity(rows.len());
        for row in rows {
            let credential = StoredCredential::try_from(row)?;
            let repository = self
                .find_repository_by_id(credential.repository_id)
                .await?
                .ok_or_else(|| Error::internal("a credential without its repository"))?;
            all.push((credential, repository.path()));
        }
        Ok(Page::from_rows(all, page.limit, |(credential, _)| credential.id.to_string()))
    }

    /// Credentials that ended and were not told so yet, some at a time.
    pub async fn list_ended_credentials(
        &mut self,
        now: Timestamp,
        limit: i64,
    ) -> Result<Vec<StoredCredential>> {
        let rows = fetch!(
            self,
            CredentialRow,
            concat!(
                "SELECT ",
                credential_columns!(),
                " FROM registry_credentials WHERE expires_at <= $1 AND revoked_at IS NULL AND expired_at IS NULL ORDER BY expires_at LIMIT $2"
            ),
            now.to_datetime(),
            limit
        )?;
        rows.into_iter().map(StoredCredential::try_from).collect()
    }

    /// Newest first; the first one that is not retired signs.
    pub async fn list_registry_keys(&mut self) -> Result<Vec<RegistryKey>> {
        let rows = fetch!(
            self,
            RegistryKeyRow,
            "SELECT id, certificate, secret_id, retired_at FROM registry_keys ORDER BY id DESC LIMIT 20"
        )?;
        let key = |row: RegistryKeyRow| RegistryKey {
            id: KeyId::new(row.id),
            certificate: row.certificate,
            secret_id: SecretId::new(row.secret_id),
            retired_at: row.retired_at.map(Timestamp::new),
        };
        Ok(rows.into_iter().map(key).collect())
    }

    pub async fn list_preparations(&mut self) -> Result<Vec<Preparation>> {
        let rows = fetch!(
            self,
            PreparationRow,
            "SELECT app_slug, stage, percent, failure, updated_at FROM app_preparations ORDER BY app_slug LIMIT 1000"
        )?;
        let preparation = |row: PreparationRow| Preparation {
            app_slug: row.app_slug,
            stage: row.stage,
            percent: row.percent,
            failure: row.failure,
            updated_at: Timestamp::new(row.updated_at),
        };
        Ok(rows.into_iter().map(preparation).collect())
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

    pub async fn insert_artifact(&mut self, artifact: &Artifact) -> Result<()> {
        execute_raw!(
            self,
            "INSERT INTO app_artifacts (id, repository_id, digest, tag, media_type, size_bytes, variant, source, state, channel, trust, \
             trust_key_id, trust_signer, trust_at, statement_digest, provenance_digest, signed_as, trust_reason, created_by_kind, \
             created_by_id, version, created_at, updated_at) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23)",
            artifact.id.uuid(),
            artifact.repository.id.uuid(),
            artifact.digest.as_str(),
            artifact.tag.as_deref(),
            artifact.media_type.as_str(),
            artifact.size_bytes,
            artifact.variant.as_deref(),
            Json(&artifact.source),
            artifact.state.name(),
            artifact.channel.as_deref(),
            artifact.trust.state.name(),
            artifact.trust.key.map(TrustKeyId::uuid),
            artifact.trust.signer.as_deref(),
            artifact.trust.at.map(Timestamp::to_datetime),
            artifact.trust.statement_digest.as_deref(),
            artifact.trust.provenance_digest.as_deref(),
            artifact.trust.signed_as.as_deref(),
            artifact.trust.reason.as_deref(),
            artifact.created_by_kind.as_str(),
            artifact.created_by_id.as_str(),
            artifact.version,
            artifact.created_at.to_datetime(),
            artifact.updated_at.to_datetime()
        )
        .map_err(|error| {
            if is_unique_violation(&error) {
                return Error::conflict("artifact_exists", "This digest is registered in this repository already.");
            }
            map_error(error)
        })?;
        Ok(())
    }

    /// Writes state, channel and trust.
    pub async fn update_artifact(&mut self, artifact: Artifact) -> Result<Artifact> {
        let at = self.at();
        let touched = execute!(
            self,
            "UPDATE app_artifacts SET state = $3, channel = $4, trust = $5, trust_key_id = $6, trust_signer = $7, trust_at = $8, \
             statement_digest = $9, provenance_digest = $10, signed_as = $11, trust_reason = $12, updated_at = $13, \
             version = version + 1 WHERE id = $1 AND version = $2",
            artifact.id.uuid(),
            artifact.version,
            artifact.state.name(),
            artifact.channel.as_deref(),
            artifact.trust.state.name(),
            artifact.trust.key.map(TrustKeyId::uuid),
            artifact.trust.signer.as_deref(),
            artifact.trust.at.map(Timestamp::to_datetime),
            artifact.trust.statement_digest.as_deref(),
            artifact.trust.provenance_digest.as_deref(),
            artifact.trust.signed_as.as_deref(),
            artifact.trust.reason.as_deref(),
            at.to_datetime()
        )?;
        one_row(touched)?;
        Ok(Artifact { version: artifact.version + 1, updated_at: at, ..artifact })
    }

    /// The first promotion to a channel is the one that is remembered.
    pub async fn insert_promotion(
        &mut self,
        id: Uuid,
        artifact: ArtifactId,
        channel: &str,
        actor: (&str, &str),
    ) -> Result<()> {
        let at = self.at().to_datetime();
        execute!(
            self,
            "INSERT INTO artifact_promotions (id, artifact_id, channel, actor_kind, actor_id, promoted_at) \
             VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (artifact_id, channel) DO NOTHING",
            id,
            artifact.uuid(),
            channel,
            actor.0,
            actor.1,
            at
        )?;
        Ok(())
    }

    pub async fn put_version_images(&mut self, version: AppVersionId, images: &[VersionImage]) -> Result<()> {
        for image in images {
            execute!(
                self,
                "INSERT INTO app_version_images (app_version_id, reference, namespace, app_slug, digest) VALUES ($1, $2, $3, $4, $5)",
                version.uuid(),
                image.reference.as_str(),
                image.path.namespace.as_str(),
                image.path.app_slug.as_str(),
                image.digest.as_str()
            )?;
        }
        Ok(())
    }

    pub async fn insert_trust_key(&mut self, key: &TrustKey) -> Result<()> {
        execute_raw!(
            self,
            "INSERT INTO trust_keys (id, tenant_id, project_id, name, fingerprint, algorithm, public_key, valid_until, revoked_at, \
             revoked_reason, version, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)",
            key.id.uuid(),
            key.owner.map(|(tenant, _)| tenant.uuid()),
            key.owner.map(|(_, project)| project.uuid()),
            key.name.as_str(),
            key.fingerprint.as_str(),
            key.algorithm.as_str(),
            key.public_key.as_str(),
            key.valid_until.map(Timestamp::to_datetime),
            key.revoked_at.map(Timestamp::to_datetime),
            key.revoked_reason.as_deref(),
            key.version,
            key.created_at.to_datetime()
        )
        .map_err(|error| {
            if is_unique_violation(&error) {
                return Error::conflict("name_taken", "There is another key with this name.");
            }
            map_error(error)
        })?;
        Ok(())
    }

    pub async fn revoke_trust_key(&mut self, key: TrustKey, reason: Option<String>) -> Result<TrustKey> {
        let at = self.at();
        let touched = execute!(
            self,
            "UPDATE trust_keys SET revoked_at = $3, revoked_reason = $4, version = version + 1 WHERE id = $1 AND version = $2",
            key.id.uuid(),
            key.version,
            at.to_datetime(),
            reason.as_deref()
        )?;
        one_row(touched)?;
        Ok(TrustKey { revoked_at: Some(at), revoked_reason: reason, version: key.version + 1, ..key })
    }

    pub async fn insert_registry_credential(&mut self, credential: &StoredCredential) -> Result<()> {
        execute!(
            self,
            "INSERT INTO registry_credentials (id, tenant_id, project_id, repository_id, purpose, digest, secret_hash, actor_kind, \
             actor_id, created_at, expires_at, first_used_at, revoked_at, expired_at, version) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, NULL, NULL, NULL, 1)",
            credential.id.uuid(),
            credential.tenant_id.uuid(),
            credential.project_id.uuid(),
            credential.repository_id.uuid(),
            credential.purpose.name(),
            credential.digest.as_ref().map(Digest::as_str),
            credential.secret_hash.as_slice(),
            credential.actor_kind.as_str(),
            credential.actor_id.as_str(),
            credential.created_at.to_datetime(),
            credential.expires_at.to_datetime()
        )?;
        Ok(())
    }

    /// Notes the first use; later ones change nothing.
    pub async fn use_registry_credential(&mut self, id: RegistryCredentialId) -> Result<bool> {
        let at = self.at().to_datetime();
        let touched = execute!(
            self,
            "UPDATE registry_credentials SET first_used_at = $2, version = version + 1 WHERE id = $1 AND first_used_at IS NULL",
            id.uuid(),
            at
        )?;
        Ok(touched == 1)
    }

    /// Says whether nobody else has noted it.
    pub async fn end_registry_credential(&mut self, credential: &StoredCredential) -> Result<bool> {
        let at = self.at().to_datetime();
        let touched = execute!(
            self,
            "UPDATE registry_credentials SET expired_at = $2, version = version + 1 WHERE id = $1 AND expired_at IS NULL",
            credential.id.uuid(),
            at
        )?;
        Ok(touched == 1)
    }

    pub async fn revoke_registry_credential(
        &mut self,
        credential: &StoredCredential,
    ) -> Result<StoredCredential> {
        let at = self.at();
        let touched = execute!(
            self,
            "UPDATE registry_credentials SET revoked_at = $3, version = version + 1 WHERE id = $1 AND version = $2",
            credential.id.uuid(),
            credential.version,
            at.to_datetime()
        )?;
        one_row(touched)?;
        Ok(StoredCredential { revoked_at: Some(at), version: credential.version + 1, ..credential.clone() })
    }

    pub async fn insert_registry_key(
        &mut self,
        id: KeyId,
        certificate: &str,
        secret: SecretId,
    ) -> Result<()> {
        let at = self.at().to_datetime();
        execute!(self, "UPDATE registry_keys SET retired_at = $1 WHERE retired_at IS NULL", at)?;
        execute!(
            self,
            "INSERT INTO registry_keys (id, certificate, secret_id, created_at, retired_at) VALUES ($1, $2, $3, $4, NULL)",
            id.uuid(),
            certificate,
            secret.uuid(),
            at
        )?;
        Ok(())
    }

    pub async fn put_preparation(
        &mut self,
        slug: &str,
        stage: &str,
        percent: u8,
        failure: Option<&str>,
    ) -> Result<()> {
        let at = self.at().to_datetime();
        execute!(
            self,
            "INSERT INTO app_preparations (app_slug, stage, percent, failure, updated_at) VALUES ($1, $2, $3, $4, $5) \
             ON CONFLICT (app_slug) DO UPDATE SET stage = excluded.stage, percent = excluded.percent, failure = excluded.failure, \
             updated_at = excluded.updated_at",
            slug,
            stage,
            i64::from(percent),
            failure,
            at
        )?;
        Ok(())
    }

    pub async fn clear_preparation(&mut self, slug: &str) -> Result<bool> {
        Ok(execute!(self, "DELETE FROM app_preparations WHERE app_slug = $1", slug)? > 0)
    }
}
