//! Service accounts, their keys, and the nonces of assertions that were used.

use chrono::{DateTime, Utc};
use gpuaas_domain::iam::TenantScope;
use gpuaas_domain::identity::{AccountKey, AccountKind, AccountState, ServiceAccount};
use gpuaas_domain::ids::{KeyId, ProjectId, ServiceAccountId, TenantId};
use gpuaas_domain::page::{Page, PageRequest};
use gpuaas_domain::{Error, Result, Timestamp};
use uuid::Uuid;

use crate::dialect::{is_unique_violation, map_error};
use crate::tenants::{after_id, one_row};
use crate::{Session, Tx};

row! {
    struct AccountRow {
        id: Uuid, tenant_id: Uuid, project_id: Uuid, name: String, kind: String, state: String, version: i64,
        created_at: DateTime<Utc>, updated_at: DateTime<Utc>,
    }
}

row! {
    struct KeyRow {
        id: Uuid, service_account_id: Uuid, public_key: Vec<u8>, not_after: Option<DateTime<Utc>>,
        created_at: DateTime<Utc>,
    }
}

impl TryFrom<AccountRow> for ServiceAccount {
    type Error = Error;

    fn try_from(row: AccountRow) -> Result<Self> {
        let unknown =
            |what: &str| Error::internal(format!("a service account has the unknown value {what:?}"));
        Ok(Self {
            id: ServiceAccountId::new(row.id),
            tenant_id: TenantId::new(row.tenant_id),
            project_id: ProjectId::new(row.project_id),
            name: row.name,
            kind: AccountKind::parse(&row.kind).ok_or_else(|| unknown(&row.kind))?,
            state: AccountState::parse(&row.state).ok_or_else(|| unknown(&row.state))?,
            version: row.version,
            created_at: Timestamp::new(row.created_at),
            updated_at: Timestamp::new(row.updated_at),
        })
    }
}

impl TryFrom<KeyRow> for AccountKey {
    type Error = Error;

    fn try_from(row: KeyRow) -> Result<Self> {
        Ok(Self {
            id: KeyId::new(row.id),
            service_account_id: ServiceAccountId::new(row.service_account_id),
            public_key: row
                .public_key
                .try_into()
                .map_err(|_| Error::internal("a public key is not 32 bytes"))?,
            not_after: row.not_after.map(Timestamp::new),
            created_at: Timestamp::new(row.created_at),
        })
    }
}

impl Session {
    pub async fn find_service_account(
        &mut self,
        scope: TenantScope,
        id: ServiceAccountId,
    ) -> Result<Option<ServiceAccount>> {
        let row = fetch_optional!(
            self,
            AccountRow,
            "SELECT id, tenant_id, project_id, name, kind, state, version, created_at, updated_at FROM service_accounts \
             WHERE id = $1 AND state <> 'deleted' AND ($2 IS NULL OR tenant_id = $2) AND ($3 IS NULL OR project_id = $3)",
            id.uuid(),
            scope.tenant().map(TenantId::uuid),
            scope.project().map(ProjectId::uuid)
        )?;
        row.map(ServiceAccount::try_from).transpose()
    }

    pub async fn list_service_accounts(
        &mut self,
        scope: TenantScope,
        kind: AccountKind,
        page: &PageRequest,
    ) -> Result<Page<ServiceAccount>> {
        let rows = fetch!(
            self,
            AccountRow,
            "SELECT id, tenant_id, project_id, name, kind, state, version, created_at, updated_at FROM service_accounts \
             WHERE id > $1 AND state <> 'deleted' AND ($2 IS NULL OR tenant_id = $2) AND ($3 IS NULL OR project_id = $3) \
             AND kind = $5 ORDER BY id LIMIT $4",
            after_id(page)?,
            scope.tenant().map(TenantId::uuid),
            scope.project().map(ProjectId::uuid),
            i64::from(page.limit) + 1,
            kind.name()
        )?;
        let accounts: Result<Vec<_>> = rows.into_iter().map(ServiceAccount::try_from).collect();
        Ok(Page::from_rows(accounts?, page.limit, |account| account.id.to_string()))
    }

    /// Those that people made: an instance's own account comes and goes with the instance.
    pub async fn count_service_accounts(&mut self, project: ProjectId) -> Result<i64> {
        scalar!(
            self,
            i64,
            "SELECT COUNT(*) FROM service_accounts WHERE project_id = $1 AND state <> 'deleted' AND kind = 'operator'",
            project.uuid()
        )
    }

    /// Accounts that stand in the way of deleting a project: at most 20.
    pub async fn live_service_accounts(&mut self, project: ProjectId) -> Result<Vec<(Uuid, String)>> {
        fetch!(
            self,
            (Uuid, String),
            "SELECT id, name FROM service_accounts WHERE project_id = $1 AND state <> 'deleted' AND kind = 'operator' \
             ORDER BY id LIMIT 20",
            project.uuid()
        )
    }

    pub async fn list_account_keys(&mut self, account: ServiceAccountId) -> Result<Vec<AccountKey>> {
        let rows = fetch!(
            self,
            KeyRow,
            "SELECT id, service_account_id, public_key, not_after, created_at FROM service_account_keys \
             WHERE service_account_id = $1 ORDER BY id",
            account.uuid()
        )?;
        rows.into_iter().map(AccountKey::try_from).collect()
    }

    /// A key by the `kid` an assertion names; authentication only.
    pub async fn find_account_key(&mut self, id: KeyId) -> Result<Option<AccountKey>> {
        let row = fetch_optional!(
            self,
            KeyRow,
            "SELECT id, service_account_id, public_key, not_after, created_at FROM service_account_keys WHERE id = $1",
            id.uuid()
        )?;
        row.map(AccountKey::try_from).transpose()
    }
}

impl Tx {
    pub async fn insert_service_account(&mut self, account: &ServiceAccount) -> Result<()> {
        execute_raw!(
            self,
            "INSERT INTO service_accounts (id, tenant_id, project_id, name, kind, state, version, created_at, updated_at) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
            account.id.uuid(),
            account.tenant_id.uuid(),
            account.project_id.uuid(),
            account.name.as_str(),
            account.kind.name(),
            account.state.name(),
            account.version,
            account.created_at.to_datetime(),
            account.updated_at.to_datetime()
        )
        .map_err(|error| {
            if is_unique_violation(&error) {
                return Error::conflict("name_taken", "The project has another service account with this name.");
            }
            map_error(error)
        })?;
        Ok(())
    }

    pub async fn update_service_account(&mut self, account: ServiceAccount) -> Result<ServiceAccount> {
        let at = self.at();
        let touched = execute!(
            self,
            "UPDATE service_accounts SET state = $3, updated_at = $4, version = version + 1 WHERE id = $1 AND version = $2",
            account.id.uuid(),
            account.version,
            account.state.name(),
            at.to_datetime()
        )?;
        one_row(touched)?;
        Ok(ServiceAccount { version: account.version + 1, updated_at: at, ..account })
    }

    pub async fn insert_account_key(&mut self, key: &AccountKey) -> Result<()> {
        execute!(
            self,
            "INSERT INTO service_account_keys (id, service_account_id, public_key, not_after, created_at) \
             VALUES ($1, $2, $3, $4, $5)",
            key.id.uuid(),
            key.service_account_id.uuid(),
            key.public_key.as_slice(),
            key.not_after.map(Timestamp::to_datetime),
            key.created_at.to_datetime()
        )?;
        Ok(())
    }

    /// Ends all keys of an account at `end`, unless they end sooner.
    pub async fn end_account_keys(&mut self, account: ServiceAccountId, end: Timestamp) -> Result<u64> {
        execute!(
            self,
            "UPDATE service_account_keys SET not_after = $2 WHERE service_account_id = $1 AND (not_after IS NULL OR not_after > $2)",
            account.uuid(),
            end.to_datetime()
        )
    }

    /// Notes a nonce; `false` if it was used before. The primary key decides, so two replays cannot both win.
    pub async fn use_nonce(&mut self, machine: Uuid, nonce: &str, expires_at: Timestamp) -> Result<bool> {
        let touched = execute!(
            self,
            "INSERT INTO used_nonces (service_account_id, nonce, expires_at) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
            machine,
            nonce,
            expires_at.to_datetime()
        )?;
        Ok(touched == 1)
    }
}
