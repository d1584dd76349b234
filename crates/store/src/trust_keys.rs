//! Keys that may stand for images: a project's own, and the platform's.

use chrono::{DateTime, Utc};
use gpuaas_domain::artifact::TrustKey;
use gpuaas_domain::iam::TenantScope;
use gpuaas_domain::ids::{ProjectId, TenantId, TrustKeyId};
use gpuaas_domain::{Error, Result, Timestamp};
use uuid::Uuid;

use crate::dialect::{is_unique_violation, map_error};
use crate::tenants::one_row;
use crate::{Session, Tx};

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

macro_rules! key_columns {
    () => {
        "id, tenant_id, project_id, name, fingerprint, algorithm, public_key, valid_until, revoked_at, revoked_reason, version, created_at"
    };
}

impl Session {
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
}

impl Tx {
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
}
