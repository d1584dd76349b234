//! What opens the registry: credentials for one repository, and the keys that sign its tokens.

use chrono::{DateTime, Utc};
use gpuaas_agent_protocol::Digest;
use gpuaas_domain::artifact::RepositoryPath;
use gpuaas_domain::iam::Actor;
use gpuaas_domain::ids::{
    KeyId, PersonalTokenId, ProjectId, RegistryCredentialId, RepositoryId, SecretId, TenantId,
};
use gpuaas_domain::page::{Page, PageRequest};
use gpuaas_domain::{Error, Result, Timestamp};
use uuid::Uuid;

use crate::rows::unknown;
use crate::tenants::{after_id, one_row};
use crate::{Session, Tx};

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
    /// What it was asked for with, and ends with.
    pub personal_token_id: Option<PersonalTokenId>,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
    pub first_used_at: Option<Timestamp>,
    pub revoked_at: Option<Timestamp>,
    pub version: i64,
}

row! {
    struct CredentialRow {
        id: Uuid, tenant_id: Uuid, project_id: Uuid, repository_id: Uuid, purpose: String, digest: Option<String>,
        secret_hash: Vec<u8>, actor_kind: String, actor_id: String, personal_token_id: Option<Uuid>,
        created_at: DateTime<Utc>, expires_at: DateTime<Utc>, first_used_at: Option<DateTime<Utc>>, revoked_at: Option<DateTime<Utc>>, version: i64,
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
            personal_token_id: row.personal_token_id.map(PersonalTokenId::new),
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

macro_rules! credential_columns {
    () => {
        "id, tenant_id, project_id, repository_id, purpose, digest, secret_hash, actor_kind, actor_id, personal_token_id, created_at, expires_at, \
         first_used_at, revoked_at, version"
    };
}

impl Session {
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
}

impl Tx {
    pub async fn insert_registry_credential(&mut self, credential: &StoredCredential) -> Result<()> {
        execute!(
            self,
            "INSERT INTO registry_credentials (id, tenant_id, project_id, repository_id, purpose, digest, secret_hash, actor_kind, \
             actor_id, personal_token_id, created_at, expires_at, first_used_at, revoked_at, expired_at, version) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, NULL, NULL, NULL, 1)",
            credential.id.uuid(),
            credential.tenant_id.uuid(),
            credential.project_id.uuid(),
            credential.repository_id.uuid(),
            credential.purpose.name(),
            credential.digest.as_ref().map(Digest::as_str),
            credential.secret_hash.as_slice(),
            credential.actor_kind.as_str(),
            credential.actor_id.as_str(),
            credential.personal_token_id.map(PersonalTokenId::uuid),
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

    /// Ends every credential that somebody asked for and that still counts.
    pub async fn revoke_registry_credentials_of(&mut self, actor: Actor) -> Result<u64> {
        let at = self.at();
        execute!(
            self,
            "UPDATE registry_credentials SET revoked_at = $3, version = version + 1 \
             WHERE actor_kind = $1 AND actor_id = $2 AND revoked_at IS NULL AND expires_at > $3",
            actor.kind(),
            actor.id(),
            at.to_datetime()
        )
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
}
