//! Artifacts, their promotions, and the versions that name them.

use chrono::{DateTime, Utc};
use gpuaas_agent_protocol::Digest;
use gpuaas_domain::artifact::{Artifact, ArtifactState, Repository, RepositoryPath, Trust, TrustState};
use gpuaas_domain::iam::TenantScope;
use gpuaas_domain::ids::{AppVersionId, ArtifactId, ProjectId, TenantId, TrustKeyId};
use gpuaas_domain::page::{Page, PageRequest};
use gpuaas_domain::{Error, Result, Timestamp};
use serde_json::Value;
use sqlx::types::Json;
use uuid::Uuid;

use crate::dialect::{is_unique_violation, map_error};
use crate::repositories::RepositoryRow;
use crate::rows::unknown;
use crate::tenants::{after_id, one_row};
use crate::{Session, Tx};

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

impl Session {
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

    /// Artifacts that a key stands for now, under whatever name it was registered: of one project, or everywhere.
    pub async fn list_artifacts_signed_by(
        &mut self,
        fingerprint: &str,
        project: Option<ProjectId>,
        limit: i64,
    ) -> Result<Vec<Artifact>> {
        let rows = fetch!(
            self,
            ArtifactRow,
            artifact_select!(
                "a.trust_signer = $1 AND a.trust = 'verified' AND ($2 IS NULL OR r.project_id = $2) ORDER BY a.id LIMIT $3"
            ),
            fingerprint,
            project.map(ProjectId::uuid),
            limit
        )?;
        rows.into_iter().map(Artifact::try_from).collect()
    }

    /// Indexes of a repository that are not retired, at most 1 000.
    pub async fn list_live_indexes(&mut self, path: &RepositoryPath) -> Result<Vec<Digest>> {
        let rows = fetch!(
            self,
            (String,),
            "SELECT a.digest FROM app_artifacts a JOIN repositories r ON r.id = a.repository_id WHERE r.namespace = $1 \
             AND r.app_slug = $2 AND a.state <> 'retired' AND a.media_type IN \
             ('application/vnd.oci.image.index.v1+json', 'application/vnd.docker.distribution.manifest.list.v2+json') LIMIT 1000",
            path.namespace.as_str(),
            path.app_slug.as_str()
        )?;
        rows.into_iter().map(|(digest,)| digest.parse().map_err(|_| unknown(&digest))).collect()
    }
}

impl Tx {
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
}
