//! Leased work: claimed with owner, epoch and expiry; done by whoever still holds the lease; and leases by name,
//! for jobs of which there is one.

use chrono::{DateTime, Utc};
use gpuaas_domain::ids::WorkId;
use gpuaas_domain::{Result, Timestamp};
use serde_json::Value;
use sqlx::types::Json;
use uuid::Uuid;

use crate::dialect::Dialect;
use crate::{Session, Tx};

#[derive(Clone, Debug, PartialEq)]
pub struct Work {
    pub id: WorkId,
    pub kind: String,
    pub payload: Value,
    pub correlation_id: String,
    pub trace_id: String,
    pub attempts: i64,
    /// Grows with every claim; a finisher with an older one has lost the work.
    pub epoch: i64,
}

row! {
    struct WorkRow {
        id: Uuid, kind: String, payload: Json<Value>, correlation_id: String, trace_id: String, attempts: i64, epoch: i64,
    }
}

/// A named lease: proof, until it expires, that one owner does the job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    pub name: String,
    pub owner: String,
    pub epoch: i64,
}

impl Session {
    pub async fn count_work(&mut self) -> Result<i64> {
        scalar!(self, i64, "SELECT COUNT(*) FROM work")
    }

    /// When the earliest item becomes due, if there is one.
    pub async fn next_work_at(&mut self) -> Result<Option<Timestamp>> {
        let row: Option<(DateTime<Utc>,)> =
            fetch_optional!(self, (DateTime<Utc>,), "SELECT run_at FROM work ORDER BY run_at, id LIMIT 1")?;
        Ok(row.map(|(at,)| Timestamp::new(at)))
    }
}

impl Tx {
    /// Queues work in the transaction that makes it necessary.
    pub async fn enqueue(
        &mut self,
        id: WorkId,
        kind: &str,
        payload: &Value,
        run_at: Timestamp,
    ) -> Result<()> {
        let stamp = self.stamp().clone();
        execute!(
            self,
            "INSERT INTO work (id, kind, payload, correlation_id, trace_id, run_at, attempts, owner, epoch, lease_until, last_error, created_at) \
             VALUES ($1, $2, $3, $4, $5, $6, 0, NULL, 0, NULL, NULL, $7)",
            id.uuid(),
            kind,
            Json(payload),
            stamp.correlation_id.as_str(),
            stamp.trace_id.as_str(),
            run_at.to_datetime(),
            stamp.at.to_datetime()
        )?;
        Ok(())
    }

    /// Claims at most `limit` due items and commits; nobody else gets them until `lease_until`.
    pub async fn claim_work(
        mut self,
        owner: &str,
        now: Timestamp,
        lease_until: Timestamp,
        limit: i64,
    ) -> Result<Vec<Work>> {
        let sql = match self.dialect() {
            Dialect::Sqlite => {
                "UPDATE work SET owner = $1, lease_until = $2, epoch = epoch + 1, attempts = attempts + 1 WHERE id IN \
                 (SELECT id FROM work WHERE run_at <= $3 AND (lease_until IS NULL OR lease_until <= $3) ORDER BY run_at, id LIMIT $4) \
                 RETURNING id, kind, payload, correlation_id, trace_id, attempts, epoch"
            }
            Dialect::Postgres => {
                "UPDATE work SET owner = $1, lease_until = $2, epoch = epoch + 1, attempts = attempts + 1 WHERE id IN \
                 (SELECT id FROM work WHERE run_at <= $3 AND (lease_until IS NULL OR lease_until <= $3) ORDER BY run_at, id LIMIT $4 FOR UPDATE SKIP LOCKED) \
                 RETURNING id, kind, payload, correlation_id, trace_id, attempts, epoch"
            }
        };
        let rows = fetch!(self, WorkRow, sql, owner, lease_until.to_datetime(), now.to_datetime(), limit)?;
        self.commit_housekeeping().await?;
        Ok(rows
            .into_iter()
            .map(|row| Work {
                id: WorkId::new(row.id),
                kind: row.kind,
                payload: row.payload.0,
                correlation_id: row.correlation_id,
                trace_id: row.trace_id,
                attempts: row.attempts,
                epoch: row.epoch,
            })
            .collect())
    }

    /// Takes a finished item off the queue, in the transaction of its effect. `false`: the lease was lost, so
    /// the caller must drop what it did.
    pub async fn finish_work(&mut self, id: WorkId, owner: &str, epoch: i64) -> Result<bool> {
        let touched = execute!(
            self,
            "DELETE FROM work WHERE id = $1 AND owner = $2 AND epoch = $3",
            id.uuid(),
            owner,
            epoch
        )?;
        Ok(touched == 1)
    }

    /// Puts a failed item back for later.
    pub async fn retry_work(
        mut self,
        id: WorkId,
        owner: &str,
        epoch: i64,
        run_at: Timestamp,
        why: &str,
    ) -> Result<bool> {
        let touched = execute!(
            self,
            "UPDATE work SET owner = NULL, lease_until = NULL, run_at = $4, last_error = $5 WHERE id = $1 AND owner = $2 AND epoch = $3",
            id.uuid(),
            owner,
            epoch,
            run_at.to_datetime(),
            why
        )?;
        self.commit_housekeeping().await?;
        Ok(touched == 1)
    }

    /// Takes or renews a named lease. The epoch grows whenever the owner changes.
    pub async fn acquire_lease(
        mut self,
        name: &str,
        owner: &str,
        now: Timestamp,
        until: Timestamp,
    ) -> Result<Option<Lease>> {
        let row: Option<(i64,)> = fetch_optional!(
            self,
            (i64,),
            "INSERT INTO leases (name, owner, epoch, lease_until) VALUES ($1, $2, 1, $4) \
             ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, lease_until = excluded.lease_until, \
             epoch = CASE WHEN leases.owner = excluded.owner THEN leases.epoch ELSE leases.epoch + 1 END \
             WHERE leases.owner = excluded.owner OR leases.lease_until <= $3 RETURNING epoch",
            name,
            owner,
            now.to_datetime(),
            until.to_datetime()
        )?;
        self.commit_housekeeping().await?;
        Ok(row.map(|(epoch,)| Lease { name: name.to_owned(), owner: owner.to_owned(), epoch }))
    }

    /// Gives a lease back before its time, so that the next holder need not wait.
    pub async fn release_lease(mut self, name: &str, owner: &str, now: Timestamp) -> Result<()> {
        execute!(
            self,
            "UPDATE leases SET lease_until = $3 WHERE name = $1 AND owner = $2 AND lease_until > $3",
            name,
            owner,
            now.to_datetime()
        )?;
        self.commit_housekeeping().await
    }

    /// Whether this transaction still acts for the holder; keeps the lease row still until it ends.
    pub(crate) async fn check_lease(&mut self, lease: &Lease) -> Result<bool> {
        let touched = execute!(
            self,
            "UPDATE leases SET epoch = epoch WHERE name = $1 AND owner = $2 AND epoch = $3",
            lease.name.as_str(),
            lease.owner.as_str(),
            lease.epoch
        )?;
        Ok(touched == 1)
    }
}
