//! People's accounts. The e-mail is NULL once a person is erased, so that the address can be used again.

use chrono::{DateTime, Utc};
use gpuaas_domain::iam::BuiltinRole;
use gpuaas_domain::identity::User;
use gpuaas_domain::ids::UserId;
use gpuaas_domain::page::{Page, PageRequest};
use gpuaas_domain::{Error, Result, Timestamp};
use uuid::Uuid;

use crate::dialect::{is_unique_violation, map_error};
use crate::tenants::{after_id, one_row, parse_standing};
use crate::{Session, Tx};

row! {
    struct UserRow {
        id: Uuid, email: Option<String>, display_name: String, state: String, version: i64,
        created_at: DateTime<Utc>, updated_at: DateTime<Utc>,
    }
}

impl TryFrom<UserRow> for User {
    type Error = Error;

    fn try_from(row: UserRow) -> Result<Self> {
        Ok(Self {
            id: UserId::new(row.id),
            email: row.email.unwrap_or_default(),
            display_name: row.display_name,
            state: parse_standing(&row.state)?,
            version: row.version,
            created_at: Timestamp::new(row.created_at),
            updated_at: Timestamp::new(row.updated_at),
        })
    }
}

impl Session {
    pub async fn find_user(&mut self, id: UserId) -> Result<Option<User>> {
        let row = fetch_optional!(
            self,
            UserRow,
            "SELECT id, email, display_name, state, version, created_at, updated_at FROM users WHERE id = $1",
            id.uuid()
        )?;
        row.map(User::try_from).transpose()
    }

    pub async fn find_user_by_email(&mut self, email: &str) -> Result<Option<User>> {
        let row = fetch_optional!(
            self,
            UserRow,
            "SELECT id, email, display_name, state, version, created_at, updated_at FROM users WHERE email = $1",
            email
        )?;
        row.map(User::try_from).transpose()
    }

    pub async fn find_password_hash(&mut self, id: UserId) -> Result<Option<String>> {
        let row: Option<(Option<String>,)> = fetch_optional!(
            self,
            (Option<String>,),
            "SELECT password_hash FROM users WHERE id = $1",
            id.uuid()
        )?;
        Ok(row.and_then(|(hash,)| hash))
    }

    pub async fn list_users(&mut self, page: &PageRequest) -> Result<Page<User>> {
        let rows = fetch!(
            self,
            UserRow,
            "SELECT id, email, display_name, state, version, created_at, updated_at FROM users \
             WHERE id > $1 AND state <> 'tombstone' ORDER BY id LIMIT $2",
            after_id(page)?,
            i64::from(page.limit) + 1
        )?;
        let users: Result<Vec<_>> = rows.into_iter().map(User::try_from).collect();
        Ok(Page::from_rows(users?, page.limit, |user| user.id.to_string()))
    }

    /// How many active people hold the platform-admin role, leaving one of them out.
    pub async fn count_platform_admins_besides(&mut self, user: UserId) -> Result<i64> {
        scalar!(
            self,
            i64,
            "SELECT COUNT(*) FROM bindings b JOIN users u ON u.id = b.principal_id \
             WHERE b.scope_kind = 'platform' AND b.role_id = $1 AND u.state = 'active' AND u.id <> $2",
            BuiltinRole::PlatformAdmin.id().uuid(),
            user.uuid()
        )
    }
}

impl Tx {
    pub async fn insert_user(&mut self, user: &User, password_hash: &str) -> Result<()> {
        execute_raw!(
            self,
            "INSERT INTO users (id, email, display_name, password_hash, state, version, created_at, updated_at) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
            user.id.uuid(),
            user.email.as_str(),
            user.display_name.as_str(),
            password_hash,
            user.state.name(),
            user.version,
            user.created_at.to_datetime(),
            user.updated_at.to_datetime()
        )
        .map_err(email_taken)?;
        Ok(())
    }

    /// An empty e-mail is stored as none.
    pub async fn update_user(&mut self, user: User) -> Result<User> {
        let at = self.at();
        let email = Some(user.email.as_str()).filter(|email| !email.is_empty());
        let touched = execute_raw!(
            self,
            "UPDATE users SET email = $3, display_name = $4, state = $5, updated_at = $6, version = version + 1 \
             WHERE id = $1 AND version = $2",
            user.id.uuid(),
            user.version,
            email,
            user.display_name.as_str(),
            user.state.name(),
            at.to_datetime()
        )
        .map_err(email_taken)?;
        one_row(touched)?;
        Ok(User { version: user.version + 1, updated_at: at, ..user })
    }

    pub async fn set_password_hash(&mut self, id: UserId, hash: Option<&str>) -> Result<()> {
        execute!(self, "UPDATE users SET password_hash = $2 WHERE id = $1", id.uuid(), hash)?;
        Ok(())
    }
}

fn email_taken(error: sqlx::Error) -> Error {
    if is_unique_violation(&error) {
        return Error::conflict("email_taken", "There is already an account with this e-mail address.");
    }
    map_error(error)
}
