//! Sealed bytes. What is inside is custody's business; here they are rows.

use chrono::{DateTime, Utc};
use gpuaas_domain::ids::{KeyId, ProjectId, SecretId, TenantId, WrapId};
use gpuaas_domain::{Error, Result, Timestamp};
use uuid::Uuid;

use crate::tenants::one_row;
use crate::{Session, Tx};

#[derive(Clone, Debug)]
pub struct SealedSecret {
    pub id: SecretId,
    pub tenant_id: Option<TenantId>,
    pub class: String,
    pub name: String,
    pub kek_id: String,
    pub sealed: Vec<u8>,
    pub version: i64,
}

row! {
    struct SecretRow {
        id: Uuid, tenant_id: Option<Uuid>, class: String, name: String, kek_id: String, sealed: Vec<u8>, version: i64,
    }
}

impl From<SecretRow> for SealedSecret {
    fn from(row: SecretRow) -> Self {
        Self {
            id: SecretId::new(row.id),
            tenant_id: row.tenant_id.map(TenantId::new),
            class: row.class,
            name: row.name,
            kek_id: row.kek_id,
            sealed: row.sealed,
            version: row.version,
        }
    }
}

/// A value that opens once. `sealed` is gone after opening or expiry.
#[derive(Clone, Debug)]
pub struct Wrap {
    pub id: WrapId,
    pub tenant_id: Option<TenantId>,
    pub project_id: Option<ProjectId>,
    pub class: String,
    pub secret_hash: Vec<u8>,
    pub kek_id: String,
    pub sealed: Option<Vec<u8>>,
    pub expires_at: Timestamp,
    pub opened_at: Option<Timestamp>,
    pub version: i64,
}

row! {
    struct WrapRow {
        id: Uuid, tenant_id: Option<Uuid>, project_id: Option<Uuid>, class: String, secret_hash: Vec<u8>, kek_id: String,
        sealed: Option<Vec<u8>>, expires_at: DateTime<Utc>, opened_at: Option<DateTime<Utc>>, version: i64,
    }
}

impl From<WrapRow> for Wrap {
    fn from(row: WrapRow) -> Self {
        Self {
            id: WrapId::new(row.id),
            tenant_id: row.tenant_id.map(TenantId::new),
            project_id: row.project_id.map(ProjectId::new),
            class: row.class,
            secret_hash: row.secret_hash,
            kek_id: row.kek_id,
            sealed: row.sealed,
            expires_at: Timestamp::new(row.expires_at),
            opened_at: row.opened_at.map(Timestamp::new),
            version: row.version,
        }
    }
}

/// A key that signs machine tokens, its private half still sealed.
#[derive(Clone, Debug)]
pub struct TokenKey {
    pub id: KeyId,
    pub public_key: [u8; 32],
    pub secret_id: SecretId,
    pub created_at: Timestamp,
    pub retired_at: Option<Timestamp>,
}

row! {
    struct TokenKeyRow {
        id: Uuid, public_key: Vec<u8>, secret_id: Uuid, created_at: DateTime<Utc>, retired_at: Option<DateTime<Utc>>,
    }
}

impl Session {
    pub async fn find_secret(&mut self, id: SecretId) -> Result<Option<SealedSecret>> {
        let row = fetch_optional!(
            self,
            SecretRow,
            "SELECT id, tenant_id, class, name, kek_id, sealed, version FROM secrets WHERE id = $1",
            id.uuid()
        )?;
        Ok(row.map(SealedSecret::from))
    }

    /// Secrets not yet under `kek_id`, some at a time.
    pub async fn list_secrets_besides(&mut self, kek_id: &str, limit: i64) -> Result<Vec<SealedSecret>> {
        let rows = fetch!(
            self,
            SecretRow,
            "SELECT id, tenant_id, class, name, kek_id, sealed, version FROM secrets WHERE kek_id <> $1 ORDER BY id LIMIT $2",
            kek_id,
            limit
        )?;
        Ok(rows.into_iter().map(SealedSecret::from).collect())
    }

    pub async fn list_wraps_besides(&mut self, kek_id: &str, limit: i64) -> Result<Vec<Wrap>> {
        let rows = fetch!(
            self,
            WrapRow,
            "SELECT id, tenant_id, project_id, class, secret_hash, kek_id, sealed, expires_at, opened_at, version FROM wraps \
             WHERE kek_id <> $1 AND sealed IS NOT NULL ORDER BY id LIMIT $2",
            kek_id,
            limit
        )?;
        Ok(rows.into_iter().map(Wrap::from).collect())
    }

    pub async fn find_wrap(&mut self, id: WrapId) -> Result<Option<Wrap>> {
        let row = fetch_optional!(
            self,
            WrapRow,
            "SELECT id, tenant_id, project_id, class, secret_hash, kek_id, sealed, expires_at, opened_at, version FROM wraps WHERE id = $1",
            id.uuid()
        )?;
        Ok(row.map(Wrap::from))
    }

    /// Newest first; the first one that is not retired signs.
    pub async fn list_token_keys(&mut self) -> Result<Vec<TokenKey>> {
        let rows = fetch!(
            self,
            TokenKeyRow,
            "SELECT id, public_key, secret_id, created_at, retired_at FROM token_keys ORDER BY id DESC"
        )?;
        rows.into_iter()
            .map(|row| {
                Ok(TokenKey {
                    id: KeyId::new(row.id),
                    public_key: row
                        .public_key
                        .try_into()
                        .map_err(|_| Error::internal("a token key is not 32 bytes"))?,
                    secret_id: SecretId::new(row.secret_id),
                    created_at: Timestamp::new(row.created_at),
                    retired_at: row.retired_at.map(Timestamp::new),
                })
            })
            .collect()
    }
}

impl Tx {
    pub async fn insert_secret(&mut self, secret: &SealedSecret) -> Result<()> {
        let at = self.at().to_datetime();
        execute!(
            self,
            "INSERT INTO secrets (id, tenant_id, class, name, kek_id, sealed, version, created_at) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
            secret.id.uuid(),
            secret.tenant_id.map(TenantId::uuid),
            secret.class.as_str(),
            secret.name.as_str(),
            secret.kek_id.as_str(),
            secret.sealed.as_slice(),
            secret.version,
            at
        )?;
        Ok(())
    }

    /// Same plain value, other key: replaces the sealed bytes if nobody else did.
    pub async fn reseal_secret(&mut self, secret: &SealedSecret) -> Result<()> {
        let touched = execute!(
            self,
            "UPDATE secrets SET kek_id = $3, sealed = $4, version = version + 1 WHERE id = $1 AND version = $2",
            secret.id.uuid(),
            secret.version,
            secret.kek_id.as_str(),
            secret.sealed.as_slice()
        )?;
        one_row(touched)
    }

    pub async fn reseal_wrap(&mut self, wrap: &Wrap) -> Result<()> {
        let touched = execute!(
            self,
            "UPDATE wraps SET kek_id = $3, sealed = $4, version = version + 1 WHERE id = $1 AND version = $2",
            wrap.id.uuid(),
            wrap.version,
            wrap.kek_id.as_str(),
            wrap.sealed.as_deref()
        )?;
        one_row(touched)
    }

    pub async fn insert_wrap(&mut self, wrap: &Wrap) -> Result<()> {
        execute!(
            self,
            "INSERT INTO wraps (id, tenant_id, project_id, class, secret_hash, kek_id, sealed, expires_at, opened_at, version) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
            wrap.id.uuid(),
            wrap.tenant_id.map(TenantId::uuid),
            wrap.project_id.map(ProjectId::uuid),
            wrap.class.as_str(),
            wrap.secret_hash.as_slice(),
            wrap.kek_id.as_str(),
            wrap.sealed.as_deref(),
            wrap.expires_at.to_datetime(),
            wrap.opened_at.map(Timestamp::to_datetime),
            wrap.version
        )?;
        Ok(())
    }

    /// Marks a wrap as opened and drops its content; fails as stale if somebody else opened it first.
    pub async fn open_wrap(&mut self, wrap: &Wrap) -> Result<()> {
        let at = self.at().to_datetime();
        let touched = execute!(
            self,
            "UPDATE wraps SET opened_at = $3, sealed = NULL, version = version + 1 WHERE id = $1 AND version = $2 AND opened_at IS NULL",
            wrap.id.uuid(),
            wrap.version,
            at
        )?;
        one_row(touched)
    }

    pub async fn insert_token_key(&mut self, key: &TokenKey) -> Result<()> {
        execute!(
            self,
            "INSERT INTO token_keys (id, public_key, secret_id, created_at, retired_at) VALUES ($1, $2, $3, $4, $5)",
            key.id.uuid(),
            key.public_key.as_slice(),
            key.secret_id.uuid(),
            key.created_at.to_datetime(),
            key.retired_at.map(Timestamp::to_datetime)
        )?;
        Ok(())
    }

    pub async fn retire_token_keys_besides(&mut self, keep: KeyId) -> Result<u64> {
        let at = self.at().to_datetime();
        execute!(
            self,
            "UPDATE token_keys SET retired_at = $2 WHERE id <> $1 AND retired_at IS NULL",
            keep.uuid(),
            at
        )
    }
}
