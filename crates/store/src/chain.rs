//! Numbers and hashes for committed events and audit rows, given by one sequencer in its own insert-only table.
//!
//! A row gets its number after it is committed, in the order the sequencer sees it. So a reader that has seen
//! number N never misses a row that commits late: that row gets N+1 or more.

use std::panic::AssertUnwindSafe;

use chrono::{DateTime, Utc};
use futures_util::FutureExt as _;
use gpuaas_domain::chain::{GENESIS, Hash, Stream, audit_link, event_link};
use gpuaas_domain::event::{AuditRow, EventRow, Outcome};
use gpuaas_domain::iam::{Scope, TenantScope};
use gpuaas_domain::ids::{AuditId, EventId, ProjectId, TenantId};
use gpuaas_domain::{Error, Result, Timestamp};
use uuid::Uuid;

use crate::dialect::Dialect;
use crate::work::Lease;
use crate::{Session, Tx};

row! {
    struct EventDbRow {
        id: Uuid, at: DateTime<Utc>, tenant_id: Option<Uuid>, project_id: Option<Uuid>, kind: String, subject: String,
        actor_kind: String, actor_id: String, data: String, correlation_id: String, trace_id: String,
    }
}

row! {
    struct AuditDbRow {
        id: Uuid, at: DateTime<Utc>, tenant_id: Option<Uuid>, project_id: Option<Uuid>, actor_kind: String,
        actor_id: String, action: String, outcome: String, object_kind: String, object_id: String,
        before_change: Option<String>, after_change: Option<String>, reason: Option<String>,
        correlation_id: String, trace_id: String,
    }
}

row! { struct LinkRow { seq: i64, row_id: Uuid, tenant_id: Option<Uuid>, project_id: Option<Uuid>, hash: Vec<u8> } }

/// An event with its number, decoded from one joined row.
struct NumberedEventRow {
    seq: i64,
    row: EventDbRow,
}

impl<'r, R: sqlx::Row> sqlx::FromRow<'r, R> for NumberedEventRow
where
    &'static str: sqlx::ColumnIndex<R>,
    i64: sqlx::Decode<'r, R::Database> + sqlx::Type<R::Database>,
    EventDbRow: sqlx::FromRow<'r, R>,
{
    fn from_row(row: &'r R) -> sqlx::Result<Self> {
        Ok(Self { seq: row.try_get("seq")?, row: EventDbRow::from_row(row)? })
    }
}

fn scope(tenant: Option<Uuid>, project: Option<Uuid>) -> Result<Scope> {
    match (tenant, project) {
        (None, None) => Ok(Scope::Platform),
        (Some(tenant), None) => Ok(Scope::Tenant(TenantId::new(tenant))),
        (Some(tenant), Some(project)) => Ok(Scope::Project(TenantId::new(tenant), ProjectId::new(project))),
        (None, Some(_)) => Err(Error::internal("a row has a project without a tenant")),
    }
}

impl TryFrom<EventDbRow> for EventRow {
    type Error = Error;

    fn try_from(row: EventDbRow) -> Result<Self> {
        Ok(Self {
            id: EventId::new(row.id),
            at: Timestamp::new(row.at),
            scope: scope(row.tenant_id, row.project_id)?,
            kind: row.kind,
            subject: row.subject,
            actor_kind: row.actor_kind,
            actor_id: row.actor_id,
            data: row.data,
            correlation_id: row.correlation_id,
            trace_id: row.trace_id,
        })
    }
}

impl TryFrom<AuditDbRow> for AuditRow {
    type Error = Error;

    fn try_from(row: AuditDbRow) -> Result<Self> {
        Ok(Self {
            id: AuditId::new(row.id),
            at: Timestamp::new(row.at),
            scope: scope(row.tenant_id, row.project_id)?,
            actor_kind: row.actor_kind,
            actor_id: row.actor_id,
            action: row.action,
            outcome: Outcome::parse(&row.outcome)
                .ok_or_else(|| Error::internal("an audit row has an unknown outcome"))?,
            object_kind: row.object_kind,
            object_id: row.object_id,
            before: row.before_change,
            after: row.after_change,
            reason: row.reason,
            correlation_id: row.correlation_id,
            trace_id: row.trace_id,
        })
    }
}

/// An audit row with its place in the chain.
#[derive(Clone, Debug)]
pub struct NumberedAudit {
    pub sequence: i64,
    pub hash: Vec<u8>,
    pub row: AuditRow,
}

/// What stands in the trail for a row that cannot be read any more.
fn unreadable(link: &LinkRow) -> Result<AuditRow> {
    let lost = || "(unreadable)".to_owned();
    Ok(AuditRow {
        id: AuditId::new(link.row_id),
        at: Timestamp::from_unix_seconds(0).ok_or_else(|| Error::internal("1970 is a moment"))?,
        scope: scope(link.tenant_id, link.project_id)?,
        actor_kind: lost(),
        actor_id: lost(),
        action: lost(),
        outcome: Outcome::Done,
        object_kind: lost(),
        object_id: lost(),
        before: None,
        after: None,
        reason: None,
        correlation_id: lost(),
        trace_id: lost(),
    })
}

/// What to find among audit rows; `None` means any.
#[derive(Clone, Debug, Default)]
pub struct AuditFilter {
    pub actor_id: Option<String>,
    pub action: Option<String>,
    pub object_id: Option<String>,
    pub correlation_id: Option<String>,
}

/// The end of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    pub sequence: i64,
    pub hash: Hash,
}

/// The first link that does not fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    pub sequence: i64,
    pub row_id: String,
    pub problem: String,
}

/// What a stretch of a chain looks like.
#[derive(Clone, Debug)]
pub struct Verified {
    pub checked: i64,
    pub next_from: Option<i64>,
    pub head: Head,
    pub pending: i64,
    pub broken: Option<Broken>,
}

fn to_hash(bytes: &[u8]) -> Result<Hash> {
    bytes.try_into().map_err(|_| Error::internal("a hash of the chain is not 32 bytes"))
}

enum Content {
    Audit(Box<AuditRow>),
    Event(Box<EventRow>),
}

impl Content {
    fn link(&self, previous: &Hash, sequence: i64) -> Hash {
        match self {
            Self::Audit(row) => audit_link(previous, sequence, row),
            Self::Event(row) => event_link(previous, sequence, row),
        }
    }

    fn scope(&self) -> Scope {
        match self {
            Self::Audit(row) => row.scope,
            Self::Event(row) => row.scope,
        }
    }
}

impl Session {
    async fn find_content(&mut self, stream: Stream, id: Uuid) -> Result<Option<Content>> {
        Ok(match stream {
            Stream::Audit => {
                let row = fetch_optional!(
                    self,
                    AuditDbRow,
                    "SELECT id, at, tenant_id, project_id, actor_kind, actor_id, action, outcome, object_kind, object_id, \
                     before_change, after_change, reason, correlation_id, trace_id FROM audit WHERE id = $1",
                    id
                )?;
                row.map(|row| AuditRow::try_from(row).map(|row| Content::Audit(Box::new(row)))).transpose()?
            }
            Stream::Events => {
                let row = fetch_optional!(
                    self,
                    EventDbRow,
                    "SELECT id, at, tenant_id, project_id, kind, subject, actor_kind, actor_id, data, correlation_id, trace_id \
                     FROM events WHERE id = $1",
                    id
                )?;
                row.map(|row| EventRow::try_from(row).map(|row| Content::Event(Box::new(row)))).transpose()?
            }
        })
    }

    pub async fn chain_head(&mut self, stream: Stream) -> Result<Head> {
        let row: Option<(i64, Vec<u8>)> = fetch_optional!(
            self,
            (i64, Vec<u8>),
            "SELECT seq, hash FROM chain WHERE stream = $1 ORDER BY seq DESC LIMIT 1",
            stream.name()
        )?;
        row.map_or(Ok(Head { sequence: 0, hash: GENESIS }), |(sequence, hash)| {
            Ok(Head { sequence, hash: to_hash(&hash)? })
        })
    }

    pub async fn count_unnumbered(&mut self, stream: Stream) -> Result<i64> {
        scalar!(self, i64, "SELECT COUNT(*) FROM unnumbered WHERE stream = $1", stream.name())
    }

    /// Numbered audit rows of a scope, newest first, before number `before` (all if `None`).
    pub async fn list_audit(
        &mut self,
        scope: TenantScope,
        filter: &AuditFilter,
        before: Option<i64>,
        limit: u32,
    ) -> Result<Vec<NumberedAudit>> {
        let links = fetch!(
            self,
            LinkRow,
            "SELECT c.seq, c.row_id, c.tenant_id, c.project_id, c.hash FROM chain c JOIN audit a ON a.id = c.row_id \
             WHERE c.stream = 'audit' AND c.seq < $1 AND ($2 IS NULL OR c.tenant_id = $2) AND ($3 IS NULL OR c.project_id = $3) \
             AND ($4 IS NULL OR a.actor_id = $4) AND ($5 IS NULL OR a.action = $5) \
             AND ($6 IS NULL OR a.object_id = $6) AND ($7 IS NULL OR a.correlation_id = $7) \
             ORDER BY c.seq DESC LIMIT $8",
            before.unwrap_or(i64::MAX),
            scope.tenant().map(TenantId::uuid),
            scope.project().map(ProjectId::uuid),
            filter.actor_id.as_deref(),
            filter.action.as_deref(),
            filter.object_id.as_deref(),
            filter.correlation_id.as_deref(),
            i64::from(limit)
        )?;
        let mut found = Vec::with_capacity(links.len());
        for link in links {
            let content =
                AssertUnwindSafe(self.find_content(Stream::Audit, link.row_id)).catch_unwind().await;
            let row = match content {
                Ok(Ok(Some(Content::Audit(row)))) => *row,
                Ok(Ok(Some(Content::Event(_)) | None)) => continue,
                // The trail is needed most when somebody has damaged it: one row must not hide the others.
                Ok(Err(_)) | Err(_) => unreadable(&link)?,
            };
            found.push(NumberedAudit { sequence: link.seq, hash: link.hash, row });
        }
        Ok(found)
    }

    /// Numbered events of a scope after number `after`, oldest first.
    pub async fn list_events(
        &mut self,
        scope: TenantScope,
        after: i64,
        limit: u32,
    ) -> Result<Vec<(i64, EventRow)>> {
        let rows = fetch!(
            self,
            NumberedEventRow,
            "SELECT c.seq, e.id, e.at, e.tenant_id, e.project_id, e.kind, e.subject, e.actor_kind, e.actor_id, e.data, \
             e.correlation_id, e.trace_id FROM chain c JOIN events e ON e.id = c.row_id \
             WHERE c.stream = 'events' AND c.seq > $1 AND ($2 IS NULL OR c.tenant_id = $2) AND ($3 IS NULL OR c.project_id = $3) \
             ORDER BY c.seq LIMIT $4",
            after,
            scope.tenant().map(TenantId::uuid),
            scope.project().map(ProjectId::uuid),
            i64::from(limit)
        )?;
        rows.into_iter().map(|numbered| Ok((numbered.seq, numbered.row.try_into()?))).collect()
    }

    /// Recomputes the links from number `from`, at most `limit` of them, and says which is the first that does
    /// not fit. What cannot even be read is named like what was changed.
    pub async fn verify_chain(&mut self, stream: Stream, from: i64, limit: i64) -> Result<Verified> {
        let unknown = Head { sequence: 0, hash: GENESIS };
        let head = self.chain_head(stream).await.unwrap_or(unknown);
        let pending = self.count_unnumbered(stream).await?;
        let mut verified = Verified { checked: 0, next_from: None, head, pending, broken: None };
        let from = from.max(1);
        let mut previous =
            if from == 1 { GENESIS } else { self.link_hash(stream, from - 1).await?.unwrap_or(GENESIS) };
        for expected in from..from.saturating_add(limit) {
            let link = match self.find_link(stream, expected).await {
                Ok(Some(link)) => link,
                Ok(None) => {
                    verified.broken = self.check_end(stream, expected).await?;
                    return Ok(verified);
                }
                Err(_) => {
                    let problem =
                        "the link of this number cannot be read: its columns are damaged".to_owned();
                    verified.broken =
                        Some(Broken { sequence: expected, row_id: "(unreadable)".into(), problem });
                    return Ok(verified);
                }
            };
            match self.check_link(stream, expected, &previous, &link).await {
                Ok(hash) => previous = hash,
                Err(problem) => {
                    verified.broken =
                        Some(Broken { sequence: expected, row_id: link.row_id.to_string(), problem });
                    return Ok(verified);
                }
            }
            verified.checked += 1;
        }
        verified.next_from = Some(from.saturating_add(limit));
        Ok(verified)
    }

    async fn find_link(&mut self, stream: Stream, sequence: i64) -> Result<Option<LinkRow>> {
        fetch_optional!(
            self,
            LinkRow,
            "SELECT seq, row_id, tenant_id, project_id, hash FROM chain WHERE stream = $1 AND seq = $2",
            stream.name(),
            sequence
        )
    }

    /// There is no link `end`: that is right only if nothing comes after it, nothing is beside the chain, and the
    /// table holds as many links as were walked.
    async fn check_end(&mut self, stream: Stream, end: i64) -> Result<Option<Broken>> {
        let missing = |problem: String| Some(Broken { sequence: end, row_id: "(missing)".into(), problem });
        let after: Option<(i64,)> = fetch_optional!(
            self,
            (i64,),
            "SELECT seq FROM chain WHERE stream = $1 AND seq > $2 ORDER BY seq LIMIT 1",
            stream.name(),
            end
        )?;
        if let Some((next,)) = after {
            return Ok(missing(format!("number {end} is missing; the next one is {next}")));
        }
        // Every platform records its own creation first.
        if end == 1 && stream == Stream::Audit && self.count_unnumbered(stream).await? == 0 {
            return Ok(missing("the chain is empty, but every platform has a first row".into()));
        }
        if let Some(broken) = self.find_unchained(stream).await? {
            return Ok(Some(broken));
        }
        // SQLite answers most questions from an index: ask the table itself too.
        let sql = match self.dialect() {
            Dialect::Sqlite => "SELECT COUNT(*) FROM chain NOT INDEXED WHERE stream = $1",
            Dialect::Postgres => "SELECT COUNT(*) FROM chain WHERE stream = $1",
        };
        let stored = scalar!(self, i64, sql, stream.name())?;
        if stored != end - 1 {
            return Ok(missing(format!("the table holds {stored} links, its index leads to {}", end - 1)));
        }
        Ok(None)
    }

    async fn link_hash(&mut self, stream: Stream, sequence: i64) -> Result<Option<Hash>> {
        let row: Option<(Vec<u8>,)> = fetch_optional!(
            self,
            (Vec<u8>,),
            "SELECT hash FROM chain WHERE stream = $1 AND seq = $2",
            stream.name(),
            sequence
        )?;
        row.map(|(hash,)| to_hash(&hash)).transpose()
    }

    /// The link's hash, or what is wrong with it.
    async fn check_link(
        &mut self,
        stream: Stream,
        sequence: i64,
        previous: &Hash,
        link: &LinkRow,
    ) -> std::result::Result<Hash, String> {
        // The driver panics on moments that have no place in our calendar; a damaged row must not do that to us.
        let content = AssertUnwindSafe(self.find_content(stream, link.row_id)).catch_unwind().await;
        let content = match content {
            Ok(Ok(Some(content))) => content,
            Ok(Ok(None)) => return Err("the row this number belongs to is gone or has another id".into()),
            Ok(Err(_)) | Err(_) => return Err("the row cannot be read: its columns are damaged".into()),
        };
        let hash = content.link(previous, sequence);
        if hash.as_slice() != link.hash.as_slice() {
            return Err("the row or its hash was changed after it was written".into());
        }
        let at = content.scope();
        if (at.tenant().map(TenantId::uuid), at.project().map(ProjectId::uuid))
            != (link.tenant_id, link.project_id)
        {
            return Err("the number points at another tenant or project than its row".into());
        }
        Ok(hash)
    }

    /// A row that has neither a number nor a place in the queue was put there behind our back.
    async fn find_unchained(&mut self, stream: Stream) -> Result<Option<Broken>> {
        let sql = match (stream, self.dialect()) {
            (Stream::Audit, Dialect::Sqlite) => {
                "SELECT a.id FROM audit a NOT INDEXED WHERE NOT EXISTS (SELECT 1 FROM chain c WHERE c.stream = 'audit' AND c.row_id = a.id) \
                 AND NOT EXISTS (SELECT 1 FROM unnumbered u WHERE u.stream = 'audit' AND u.row_id = a.id) LIMIT 1"
            }
            (Stream::Audit, Dialect::Postgres) => {
                "SELECT a.id FROM audit a WHERE NOT EXISTS (SELECT 1 FROM chain c WHERE c.stream = 'audit' AND c.row_id = a.id) \
                 AND NOT EXISTS (SELECT 1 FROM unnumbered u WHERE u.stream = 'audit' AND u.row_id = a.id) LIMIT 1"
            }
            (Stream::Events, Dialect::Sqlite) => {
                "SELECT e.id FROM events e NOT INDEXED WHERE NOT EXISTS (SELECT 1 FROM chain c WHERE c.stream = 'events' AND c.row_id = e.id) \
                 AND NOT EXISTS (SELECT 1 FROM unnumbered u WHERE u.stream = 'events' AND u.row_id = e.id) LIMIT 1"
            }
            (Stream::Events, Dialect::Postgres) => {
                "SELECT e.id FROM events e WHERE NOT EXISTS (SELECT 1 FROM chain c WHERE c.stream = 'events' AND c.row_id = e.id) \
                 AND NOT EXISTS (SELECT 1 FROM unnumbered u WHERE u.stream = 'events' AND u.row_id = e.id) LIMIT 1"
            }
        };
        let found: Result<Option<(Uuid,)>> = fetch_optional!(self, (Uuid,), sql);
        let problem =
            "the row is in no chain: it was written past the platform, or its id or number was changed";
        Ok(match found {
            Ok(None) => None,
            Ok(Some((id,))) => Some(Broken { sequence: 0, row_id: id.to_string(), problem: problem.into() }),
            Err(_) => Some(Broken { sequence: 0, row_id: "(unreadable)".into(), problem: problem.into() }),
        })
    }
}

impl Tx {
    /// Numbers at most `limit` waiting rows of a stream and commits. `None`: the lease is lost.
    pub async fn number_waiting(
        mut self,
        lease: &Lease,
        stream: Stream,
        limit: i64,
    ) -> Result<Option<usize>> {
        if !self.check_lease(lease).await? {
            return Ok(None);
        }
        let waiting = fetch!(
            self,
            (Uuid,),
            "SELECT row_id FROM unnumbered WHERE stream = $1 ORDER BY row_id LIMIT $2",
            stream.name(),
            limit
        )?;
        if waiting.is_empty() {
            return Ok(Some(0));
        }
        let Head { mut sequence, mut hash } = self.chain_head(stream).await?;
        for (row_id,) in &waiting {
            let Some(content) = self.find_content(stream, *row_id).await? else {
                // Somebody removed a row before it had a number. The others must not wait for it.
                tracing::error!("{} row {row_id} waited for a number but is gone", stream.name());
                execute!(
                    self,
                    "DELETE FROM unnumbered WHERE stream = $1 AND row_id = $2",
                    stream.name(),
                    *row_id
                )?;
                continue;
            };
            sequence += 1;
            hash = content.link(&hash, sequence);
            let at = content.scope();
            execute!(
                self,
                "INSERT INTO chain (stream, seq, row_id, tenant_id, project_id, hash) VALUES ($1, $2, $3, $4, $5, $6)",
                stream.name(),
                sequence,
                *row_id,
                at.tenant().map(TenantId::uuid),
                at.project().map(ProjectId::uuid),
                hash.as_slice()
            )?;
            execute!(
                self,
                "DELETE FROM unnumbered WHERE stream = $1 AND row_id = $2",
                stream.name(),
                *row_id
            )?;
        }
        self.commit_housekeeping().await?;
        Ok(Some(waiting.len()))
    }
}
