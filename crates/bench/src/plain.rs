//! The peer: the same rows into the same tables by sqlx alone, one transaction each, prepared statements, pools set as
//! the store sets them (`crates/store/src/db.rs`).

use std::str::FromStr as _;
use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{PgPool, Postgres, Sqlite, SqlitePool, Transaction};

use crate::Result;
use crate::databases::{MAX_CONNECTIONS, Server};
use crate::drafts::Rows;

/// How the idempotency row comes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    Insert,
    /// As the store does: an expired row of the same key is removed first.
    DeleteThenInsert,
    /// The same effect in one statement.
    Upsert,
}

#[derive(Clone)]
pub(crate) enum Pool {
    Sqlite(SqlitePool),
    Postgres(PgPool),
}

impl Pool {
    pub(crate) async fn open(server: Server<'_>, url: &str, synchronous: SqliteSynchronous) -> Result<Self> {
        Ok(match server {
            Server::Sqlite => Self::Sqlite(open_sqlite(url, synchronous).await?),
            Server::Postgres(_) => Self::Postgres(open_postgres(url).await?),
        })
    }

    pub(crate) async fn write(&self, rows: &Rows, key: Key) -> Result {
        match self {
            Self::Sqlite(pool) => {
                let mut tx = pool.begin_with("BEGIN IMMEDIATE").await?;
                write_sqlite(&mut tx, rows, key).await?;
                tx.commit().await?;
            }
            Self::Postgres(pool) => {
                let mut tx = pool.begin().await?;
                write_postgres(&mut tx, rows, key).await?;
                tx.commit().await?;
            }
        }
        Ok(())
    }

    pub(crate) async fn close(&self) {
        match self {
            Self::Sqlite(pool) => pool.close().await,
            Self::Postgres(pool) => pool.close().await,
        }
    }
}

async fn open_sqlite(url: &str, synchronous: SqliteSynchronous) -> Result<SqlitePool> {
    let options = SqliteConnectOptions::from_str(url)?
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(synchronous)
        .busy_timeout(Duration::from_secs(10))
        .foreign_keys(true)
        .statement_cache_capacity(256);
    let pool = SqlitePoolOptions::new().max_connections(1).acquire_timeout(Duration::from_secs(30));
    Ok(pool.connect_with(options).await?)
}

async fn open_postgres(url: &str) -> Result<PgPool> {
    let options = PgConnectOptions::from_str(url)?
        .application_name("gpuaas")
        .options([("lock_timeout", "10s"), ("statement_timeout", "60s")])
        .statement_cache_capacity(256);
    let pool = PgPoolOptions::new().max_connections(MAX_CONNECTIONS).acquire_timeout(Duration::from_secs(10));
    Ok(pool.connect_with(options).await?)
}

const TENANT: &str = "INSERT INTO tenants (id, slug, display_name, state, version, created_at, updated_at) \
     VALUES ($1, $2, $3, $4, $5, $6, $7)";
const EVENT: &str = "INSERT INTO events (id, at, tenant_id, project_id, kind, subject, actor_kind, actor_id, data, \
     correlation_id, trace_id) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)";
const AUDIT: &str = "INSERT INTO audit (id, at, tenant_id, project_id, actor_kind, actor_id, action, outcome, object_kind, \
     object_id, before_change, after_change, reason, correlation_id, trace_id) \
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)";
const DELETE_KEY: &str = "DELETE FROM idempotency WHERE principal = $1 AND route = $2 AND idempotency_key = $3 AND created_at <= $4";
const INSERT_KEY: &str = "INSERT INTO idempotency (principal, route, idempotency_key, request_hash, status, reply, created_at) \
     VALUES ($1, $2, $3, $4, $5, $6, $7)";
const UPSERT_KEY: &str = "INSERT INTO idempotency (principal, route, idempotency_key, request_hash, status, reply, created_at) \
     VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (principal, route, idempotency_key) DO UPDATE SET \
     request_hash = excluded.request_hash, status = excluded.status, reply = excluded.reply, \
     created_at = excluded.created_at WHERE idempotency.created_at <= $8";

/// The same function for both databases; sqlx's types do not let one be generic without pages of bounds.
macro_rules! write_rows {
    ($name:ident, $database:ty) => {
        async fn $name(tx: &mut Transaction<'static, $database>, rows: &Rows, key: Key) -> sqlx::Result<()> {
            let Rows { tenant, at, event, audit, record, .. } = rows;
            sqlx::query::<$database>(TENANT)
                .bind(tenant.id.uuid())
                .bind(tenant.slug.as_str())
                .bind(tenant.display_name.as_str())
                .bind(tenant.state.name())
                .bind(tenant.version)
                .bind(tenant.created_at.to_datetime())
                .bind(tenant.updated_at.to_datetime())
                .execute(&mut **tx)
                .await?;
            let expired = *at - chrono::TimeDelta::seconds(gpuaas_store::idempotency::RETENTION_SECONDS);
            if key == Key::DeleteThenInsert {
                sqlx::query::<$database>(DELETE_KEY)
                    .bind(record.key.principal.as_str())
                    .bind(record.key.route)
                    .bind(record.key.key.as_str())
                    .bind(expired)
                    .execute(&mut **tx)
                    .await?;
            }
            let query = sqlx::query::<$database>(if key == Key::Upsert { UPSERT_KEY } else { INSERT_KEY })
                .bind(record.key.principal.as_str())
                .bind(record.key.route)
                .bind(record.key.key.as_str())
                .bind(record.request_hash.as_slice())
                .bind(i64::from(record.status))
                .bind(record.reply.as_str())
                .bind(*at);
            let query = if key == Key::Upsert { query.bind(expired) } else { query };
            query.execute(&mut **tx).await?;
            sqlx::query::<$database>(EVENT)
                .bind(event.id)
                .bind(*at)
                .bind(rows.tenant_id)
                .bind(rows.project_id)
                .bind(event.kind)
                .bind(event.subject.as_str())
                .bind(rows.actor_kind.as_str())
                .bind(rows.actor_id.as_str())
                .bind(event.data.as_str())
                .bind(rows.correlation_id.as_str())
                .bind(rows.trace_id.as_str())
                .execute(&mut **tx)
                .await?;
            sqlx::query::<$database>(AUDIT)
                .bind(audit.id)
                .bind(*at)
                .bind(rows.tenant_id)
                .bind(rows.project_id)
                .bind(rows.actor_kind.as_str())
                .bind(rows.actor_id.as_str())
                .bind(audit.action)
                .bind(audit.outcome)
                .bind(audit.object_kind)
                .bind(audit.object_id.as_str())
                .bind(audit.before.as_deref())
                .bind(audit.after.as_deref())
                .bind(audit.reason.as_deref())
                .bind(rows.correlation_id.as_str())
                .bind(rows.trace_id.as_str())
                .execute(&mut **tx)
                .await?;
            Ok(())
        }
    };
}

write_rows!(write_sqlite, Sqlite);
write_rows!(write_postgres, Postgres);
