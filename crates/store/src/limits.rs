//! Limits as rows, with the platform's defaults where none stands.

use gpuaas_domain::Result;
use gpuaas_domain::iam::Scope;
use gpuaas_domain::limit::Limit;
use uuid::Uuid;

use crate::{Session, Tx};

fn scope_id(scope: Scope) -> Uuid {
    match scope {
        Scope::Platform => Uuid::nil(),
        Scope::Tenant(tenant) => tenant.uuid(),
        Scope::Project(_, project) => project.uuid(),
    }
}

impl Session {
    /// The number set here, if one is.
    pub async fn find_limit(&mut self, scope: Scope, limit: Limit) -> Result<Option<i64>> {
        let row: Option<(i64,)> = fetch_optional!(
            self,
            (i64,),
            "SELECT value FROM limits WHERE scope_kind = $1 AND scope_id = $2 AND name = $3",
            scope.kind(),
            scope_id(scope),
            limit.name()
        )?;
        Ok(row.map(|(value,)| value))
    }

    pub async fn effective_limit(&mut self, scope: Scope, limit: Limit) -> Result<i64> {
        Ok(self.find_limit(scope, limit).await?.unwrap_or_else(|| limit.default_value()))
    }
}

impl Tx {
    pub async fn set_limit(&mut self, scope: Scope, limit: Limit, value: i64) -> Result<()> {
        let at = self.at().to_datetime();
        execute!(
            self,
            "INSERT INTO limits (scope_kind, scope_id, name, value, updated_at) VALUES ($1, $2, $3, $4, $5) \
             ON CONFLICT (scope_kind, scope_id, name) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at",
            scope.kind(),
            scope_id(scope),
            limit.name(),
            value,
            at
        )?;
        Ok(())
    }

    /// Makes counting and inserting one step: two transactions that count under the same limit take turns.
    /// SQLite has one writer anyway.
    pub async fn lock_tenant(&mut self, tenant: gpuaas_domain::ids::TenantId) -> Result<()> {
        if self.dialect() == crate::dialect::Dialect::Postgres {
            let _: Option<(i64,)> = fetch_optional!(
                self,
                (i64,),
                "SELECT version FROM tenants WHERE id = $1 FOR UPDATE",
                tenant.uuid()
            )?;
        }
        Ok(())
    }

    pub async fn lock_project(&mut self, project: gpuaas_domain::ids::ProjectId) -> Result<()> {
        if self.dialect() == crate::dialect::Dialect::Postgres {
            let _: Option<(i64,)> = fetch_optional!(
                self,
                (i64,),
                "SELECT version FROM projects WHERE id = $1 FOR UPDATE",
                project.uuid()
            )?;
        }
        Ok(())
    }

    pub async fn lock_user(&mut self, user: gpuaas_domain::ids::UserId) -> Result<()> {
        if self.dialect() == crate::dialect::Dialect::Postgres {
            let _: Option<(i64,)> = fetch_optional!(
                self,
                (i64,),
                "SELECT version FROM users WHERE id = $1 FOR UPDATE",
                user.uuid()
            )?;
        }
        Ok(())
    }

    /// Changes to who is platform admin take turns, so that two of them cannot remove each other.
    pub async fn lock_platform(&mut self) -> Result<()> {
        if self.dialect() == crate::dialect::Dialect::Postgres {
            let _: Option<(i64,)> =
                fetch_optional!(self, (i64,), "SELECT era FROM platform WHERE id = 1 FOR UPDATE")?;
        }
        Ok(())
    }
}
