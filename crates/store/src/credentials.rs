//! What people prove themselves with: sessions, personal tokens, one-time links. Only hashes are stored.

use chrono::{DateTime, Utc};
use gpuaas_domain::iam::Grant;
use gpuaas_domain::identity::{PersonalToken, User};
use gpuaas_domain::ids::{LinkId, PersonalTokenId, SessionId, UserId};
use gpuaas_domain::page::{Page, PageRequest};
use gpuaas_domain::{Result, Timestamp};
use sqlx::types::Json;
use uuid::Uuid;

use crate::grants::GrantRow;
use crate::tenants::{after_id, parse_standing};
use crate::{Session, Tx};

/// A credential with the account it belongs to and all that account holds, read in one go because every request
/// needs all three.
#[derive(Clone, Debug)]
pub struct Holder {
    pub secret_hash: Vec<u8>,
    pub expires_at: Timestamp,
    pub user: User,
    pub grants: Vec<Grant>,
}

row! {
    struct HolderRow {
        secret_hash: Vec<u8>, expires_at: DateTime<Utc>, id: Uuid, email: Option<String>, display_name: String,
        state: String, version: i64, created_at: DateTime<Utc>, updated_at: DateTime<Utc>,
        binding_id: Option<Uuid>, role_id: Option<Uuid>, role_slug: Option<String>,
        permissions: Option<Json<Vec<String>>>, scope_kind: Option<String>, tenant_id: Option<Uuid>,
        project_id: Option<Uuid>,
    }
}

impl Holder {
    /// One row per role held, or one without a role.
    fn from_rows(rows: Vec<HolderRow>) -> Result<Option<Self>> {
        let mut holder: Option<Self> = None;
        for row in rows {
            let grant = match (row.binding_id, row.role_id, &row.scope_kind) {
                (Some(binding), Some(role), Some(kind)) => Some(GrantRow {
                    id: binding,
                    role_id: role,
                    slug: row.role_slug,
                    permissions: row.permissions,
                    scope_kind: kind.clone(),
                    tenant_id: row.tenant_id,
                    project_id: row.project_id,
                }),
                _ => None,
            };
            let user = User {
                id: UserId::new(row.id),
                email: row.email.unwrap_or_default(),
                display_name: row.display_name,
                state: parse_standing(&row.state)?,
                version: row.version,
                created_at: Timestamp::new(row.created_at),
                updated_at: Timestamp::new(row.updated_at),
            };
            let expires_at = Timestamp::new(row.expires_at);
            let holder = holder.get_or_insert(Self {
                secret_hash: row.secret_hash,
                expires_at,
                user,
                grants: Vec::new(),
            });
            holder.grants.extend(grant.map(Grant::try_from).transpose()?);
        }
        Ok(holder)
    }
}

/// A one-time link: whose it is, the hash of its secret, and when it ends.
#[derive(Clone, Debug)]
pub struct Stored {
    pub user_id: UserId,
    pub secret_hash: Vec<u8>,
    pub expires_at: Timestamp,
}

row! { struct StoredRow { user_id: Uuid, secret_hash: Vec<u8>, expires_at: DateTime<Utc> } }

row! {
    struct TokenRow { id: Uuid, user_id: Uuid, name: String, expires_at: DateTime<Utc>, created_at: DateTime<Utc> }
}

impl From<StoredRow> for Stored {
    fn from(row: StoredRow) -> Self {
        Self {
            user_id: UserId::new(row.user_id),
            secret_hash: row.secret_hash,
            expires_at: Timestamp::new(row.expires_at),
        }
    }
}

impl From<TokenRow> for PersonalToken {
    fn from(row: TokenRow) -> Self {
        Self {
            id: PersonalTokenId::new(row.id),
            user_id: UserId::new(row.user_id),
            name: row.name,
            expires_at: Timestamp::new(row.expires_at),
            created_at: Timestamp::new(row.created_at),
        }
    }
}

impl Session {
    pub async fn find_session(&mut self, id: SessionId) -> Result<Option<Holder>> {
        Holder::from_rows(fetch!(
            self,
            HolderRow,
            "SELECT c.secret_hash, c.expires_at, u.id, u.email, u.display_name, u.state, u.version, u.created_at, u.updated_at, \
             b.id AS binding_id, b.role_id, r.slug AS role_slug, r.permissions, b.scope_kind, b.tenant_id, b.project_id \
             FROM sessions c JOIN users u ON u.id = c.user_id LEFT JOIN bindings b ON b.principal_id = u.id \
             LEFT JOIN roles r ON r.id = b.role_id WHERE c.id = $1 ORDER BY b.id",
            id.uuid()
        )?)
    }

    pub async fn find_personal_token(&mut self, id: PersonalTokenId) -> Result<Option<Holder>> {
        Holder::from_rows(fetch!(
            self,
            HolderRow,
            "SELECT c.secret_hash, c.expires_at, u.id, u.email, u.display_name, u.state, u.version, u.created_at, u.updated_at, \
             b.id AS binding_id, b.role_id, r.slug AS role_slug, r.permissions, b.scope_kind, b.tenant_id, b.project_id \
             FROM personal_tokens c JOIN users u ON u.id = c.user_id LEFT JOIN bindings b ON b.principal_id = u.id \
             LEFT JOIN roles r ON r.id = b.role_id WHERE c.id = $1 ORDER BY b.id",
            id.uuid()
        )?)
    }

    pub async fn find_login_link(&mut self, id: LinkId) -> Result<Option<Stored>> {
        let row = fetch_optional!(
            self,
            StoredRow,
            "SELECT user_id, secret_hash, expires_at FROM login_links WHERE id = $1",
            id.uuid()
        )?;
        Ok(row.map(Stored::from))
    }

    pub async fn list_personal_tokens(
        &mut self,
        user: UserId,
        page: &PageRequest,
    ) -> Result<Page<PersonalToken>> {
        let rows = fetch!(
            self,
            TokenRow,
            "SELECT id, user_id, name, expires_at, created_at FROM personal_tokens WHERE user_id = $1 AND id > $2 ORDER BY id LIMIT $3",
            user.uuid(),
            after_id(page)?,
            i64::from(page.limit) + 1
        )?;
        let tokens = rows.into_iter().map(PersonalToken::from).collect();
        Ok(Page::from_rows(tokens, page.limit, |token: &PersonalToken| token.id.to_string()))
    }

    pub async fn count_personal_tokens(&mut self, user: UserId, now: Timestamp) -> Result<i64> {
        scalar!(
            self,
            i64,
            "SELECT COUNT(*) FROM personal_tokens WHERE user_id = $1 AND expires_at > $2",
            user.uuid(),
            now.to_datetime()
        )
    }
}

impl Tx {
    pub async fn insert_session(
        &mut self,
        id: SessionId,
        user: UserId,
        hash: &[u8],
        expires_at: Timestamp,
    ) -> Result<()> {
        let at = self.at().to_datetime();
        execute!(
            self,
            "INSERT INTO sessions (id, user_id, secret_hash, created_at, expires_at) VALUES ($1, $2, $3, $4, $5)",
            id.uuid(),
            user.uuid(),
            hash,
            at,
            expires_at.to_datetime()
        )?;
        Ok(())
    }

    pub async fn delete_session(&mut self, id: SessionId) -> Result<u64> {
        execute!(self, "DELETE FROM sessions WHERE id = $1", id.uuid())
    }

    pub async fn delete_sessions_besides(&mut self, user: UserId, keep: Option<SessionId>) -> Result<u64> {
        let keep = keep.map_or(Uuid::nil(), SessionId::uuid);
        execute!(self, "DELETE FROM sessions WHERE user_id = $1 AND id <> $2", user.uuid(), keep)
    }

    pub async fn insert_personal_token(&mut self, token: &PersonalToken, hash: &[u8]) -> Result<()> {
        execute!(
            self,
            "INSERT INTO personal_tokens (id, user_id, name, secret_hash, created_at, expires_at) VALUES ($1, $2, $3, $4, $5, $6)",
            token.id.uuid(),
            token.user_id.uuid(),
            token.name.as_str(),
            hash,
            token.created_at.to_datetime(),
            token.expires_at.to_datetime()
        )?;
        Ok(())
    }

    /// Only the owner's own; the number of rows says whether there was one.
    pub async fn delete_personal_token(&mut self, user: UserId, id: PersonalTokenId) -> Result<u64> {
        execute!(self, "DELETE FROM personal_tokens WHERE id = $1 AND user_id = $2", id.uuid(), user.uuid())
    }

    pub async fn delete_personal_tokens_of(&mut self, user: UserId) -> Result<u64> {
        execute!(self, "DELETE FROM personal_tokens WHERE user_id = $1", user.uuid())
    }

    pub async fn insert_login_link(
        &mut self,
        id: LinkId,
        user: UserId,
        hash: &[u8],
        expires_at: Timestamp,
    ) -> Result<()> {
        execute!(
            self,
            "INSERT INTO login_links (id, user_id, secret_hash, expires_at) VALUES ($1, $2, $3, $4)",
            id.uuid(),
            user.uuid(),
            hash,
            expires_at.to_datetime()
        )?;
        Ok(())
    }

    /// One deletion is one use; whoever deletes the row has the link.
    pub async fn take_login_link(&mut self, id: LinkId) -> Result<bool> {
        Ok(execute!(self, "DELETE FROM login_links WHERE id = $1", id.uuid())? == 1)
    }

    pub async fn delete_login_links_of(&mut self, user: UserId) -> Result<u64> {
        execute!(self, "DELETE FROM login_links WHERE user_id = $1", user.uuid())
    }

    /// Removes what has expired. Housekeeping: nothing that could still be used is touched.
    pub async fn sweep_expired(mut self, now: Timestamp, idempotency_before: Timestamp) -> Result<u64> {
        let at = now.to_datetime();
        let mut swept = execute!(self, "DELETE FROM sessions WHERE expires_at <= $1", at)?;
        swept += execute!(self, "DELETE FROM personal_tokens WHERE expires_at <= $1", at)?;
        swept += execute!(self, "DELETE FROM access_codes WHERE expires_at <= $1", at)?;
        swept += execute!(self, "DELETE FROM app_sessions WHERE expires_at <= $1", at)?;
        swept += execute!(self, "DELETE FROM endpoint_tokens WHERE expires_at <= $1", at)?;
        swept += execute!(self, "DELETE FROM login_links WHERE expires_at <= $1", at)?;
        swept += execute!(self, "DELETE FROM used_nonces WHERE expires_at <= $1", at)?;
        swept += execute!(
            self,
            "DELETE FROM idempotency WHERE created_at <= $1",
            idempotency_before.to_datetime()
        )?;
        // An expired wrap keeps its row, so that a late opener is told apart from a guess, but not its content.
        swept += execute!(
            self,
            "UPDATE wraps SET sealed = NULL, version = version + 1 WHERE expires_at <= $1 AND sealed IS NOT NULL",
            at
        )?;
        self.commit_housekeeping().await?;
        Ok(swept)
    }
}
