//! Connections, sessions and the one kind of transaction.

use std::str::FromStr as _;
use std::sync::Arc;
use std::time::Duration;

use gpuaas_domain::event::Change;
use gpuaas_domain::iam::Permit;
use gpuaas_domain::ids::{AuditId, EventId};
use gpuaas_domain::{Error, Kind, Result, Timestamp};
use sqlx::pool::PoolConnection;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{PgConnection, PgPool, Postgres, Sqlite, SqliteConnection, SqlitePool, Transaction};
use tokio::sync::{Notify, watch};

use crate::dialect::{Dialect, map_error};
use crate::idempotency::Record;

/// The pools of one database. Cheap to clone.
#[derive(Clone)]
pub struct Store {
    pub(crate) db: Db,
    signals: Arc<Signals>,
}

/// Who should look, and what the other processes should be told.
#[derive(Default)]
struct Signals {
    /// Something was committed: whoever follows it should look.
    committed: watch::Sender<u64>,
    /// An order for a node may be waiting: the dispatcher should look.
    orders: Notify,
    /// The sequencer numbered something: readers of streams should look.
    sequenced: watch::Sender<u64>,
    /// What happened in this process, for [`Store::relay_wakeups`].
    own: Own,
}

#[derive(Default)]
struct Own {
    commits: watch::Sender<u64>,
    numberings: watch::Sender<u64>,
}

impl Signals {
    fn commit_here(&self, orders: bool) {
        bump(&self.committed);
        if orders {
            self.orders.notify_one();
        }
        bump(&self.own.commits);
    }
}

/// See [`Store::commits`].
pub struct Commits(watch::Receiver<u64>);

impl Commits {
    /// Waits until something may have been committed since the last time, or the time is up.
    pub async fn wait(&mut self, at_most: Duration) {
        let _ = tokio::time::timeout(at_most, self.0.changed()).await;
    }
}

fn bump(count: &watch::Sender<u64>) {
    count.send_modify(|count| *count = count.wrapping_add(1));
}

#[derive(Clone)]
pub(crate) enum Db {
    /// One writer, because SQLite has one; readers never wait for it (WAL).
    Sqlite {
        write: SqlitePool,
        read: SqlitePool,
    },
    Postgres(PgPool),
}

/// A connection to read with: from the pool, or inside a transaction.
pub struct Session(Inner);

enum Inner {
    Sqlite(PoolConnection<Sqlite>),
    Postgres(PoolConnection<Postgres>),
    SqliteTx(Transaction<'static, Sqlite>),
    PostgresTx(Transaction<'static, Postgres>),
}

pub(crate) enum Raw<'s> {
    Sqlite(&'s mut SqliteConnection),
    Postgres(&'s mut PgConnection),
}

impl Session {
    pub(crate) fn raw(&mut self) -> Raw<'_> {
        match &mut self.0 {
            Inner::Sqlite(connection) => Raw::Sqlite(connection),
            Inner::SqliteTx(transaction) => Raw::Sqlite(transaction),
            Inner::Postgres(connection) => Raw::Postgres(connection),
            Inner::PostgresTx(transaction) => Raw::Postgres(transaction),
        }
    }

    pub(crate) fn dialect(&self) -> Dialect {
        match &self.0 {
            Inner::Sqlite(_) | Inner::SqliteTx(_) => Dialect::Sqlite,
            Inner::Postgres(_) | Inner::PostgresTx(_) => Dialect::Postgres,
        }
    }

    async fn commit(self) -> Result<()> {
        match self.0 {
            Inner::SqliteTx(transaction) => transaction.commit().await.map_err(map_error),
            Inner::PostgresTx(transaction) => transaction.commit().await.map_err(map_error),
            Inner::Sqlite(_) | Inner::Postgres(_) => Ok(()),
        }
    }
}

/// What every row written by one request shares: the moment, the story it belongs to, and the ids of its audit
/// row and event.
#[derive(Clone, Debug)]
pub struct Stamp {
    pub at: Timestamp,
    pub correlation_id: String,
    pub trace_id: String,
    pub audit_id: AuditId,
    pub event_id: EventId,
}

/// A transaction. Dropped without [`Tx::commit`] it leaves no trace.
pub struct Tx {
    session: Session,
    permit: Permit,
    stamp: Stamp,
    signals: Arc<Signals>,
    /// Whether an order for a node was written.
    pub(crate) has_orders: bool,
}

impl std::ops::Deref for Tx {
    type Target = Session;

    fn deref(&self) -> &Session {
        &self.session
    }
}

impl std::ops::DerefMut for Tx {
    fn deref_mut(&mut self) -> &mut Session {
        &mut self.session
    }
}

impl Tx {
    pub fn permit(&self) -> &Permit {
        &self.permit
    }

    pub fn stamp(&self) -> &Stamp {
        &self.stamp
    }

    pub fn at(&self) -> Timestamp {
        self.stamp.at
    }

    /// Writes the audit row, the event and the idempotency record of this change, and commits all of it at once.
    pub async fn commit(mut self, change: Change, reply: Option<Record>) -> Result<()> {
        if let Some(record) = reply {
            self.session.insert_idempotency(record, self.stamp.at).await?;
        }
        self.session.insert_change(&self.permit, &self.stamp, change).await?;
        self.session.commit().await?;
        self.signals.commit_here(self.has_orders);
        Ok(())
    }

    /// Writes a further change of the same transaction: its own audit row and event, under a stamp of its own.
    pub async fn record(&mut self, stamp: &Stamp, change: Change) -> Result<()> {
        let permit = self.permit.clone();
        self.session.insert_change(&permit, stamp, change).await
    }

    /// Commits work that has no audit row of its own: numbering, leases, cleaning up. Only this crate can.
    pub(crate) async fn commit_housekeeping(self) -> Result<()> {
        self.session.commit().await?;
        if self.has_orders {
            self.signals.orders.notify_one();
        }
        Ok(())
    }
}

/// How a database is reached. `sqlite:PATH` or `postgres://…`.
pub struct ConnectOptions<'a> {
    pub url: &'a str,
    pub max_connections: u32,
}

impl Store {
    /// Opens the pools; creates a SQLite file that is not there. Does not migrate.
    pub async fn connect(options: &ConnectOptions<'_>) -> Result<Self> {
        let db = if options.url.starts_with("sqlite:") {
            connect_sqlite(options).await?
        } else if options.url.starts_with("postgres://") || options.url.starts_with("postgresql://") {
            connect_postgres(options).await?
        } else {
            return Err(Error::invalid(
                "invalid_database_url",
                "The database address must start with sqlite: or postgres://.",
            ));
        };
        Ok(Self { db, signals: Arc::default() })
    }

    pub fn dialect(&self) -> Dialect {
        match self.db {
            Db::Sqlite { .. } => Dialect::Sqlite,
            Db::Postgres(_) => Dialect::Postgres,
        }
    }

    /// A connection to read with.
    pub async fn read(&self) -> Result<Session> {
        let inner = match &self.db {
            Db::Sqlite { read, .. } => Inner::Sqlite(read.acquire().await.map_err(map_error)?),
            Db::Postgres(pool) => Inner::Postgres(pool.acquire().await.map_err(map_error)?),
        };
        Ok(Session(inner))
    }

    /// A read transaction that sees one moment of the database throughout.
    pub async fn snapshot(&self) -> Result<Session> {
        let inner = match &self.db {
            Db::Sqlite { read, .. } => Inner::SqliteTx(read.begin().await.map_err(map_error)?),
            Db::Postgres(pool) => {
                let begin = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
                Inner::PostgresTx(pool.begin_with(begin).await.map_err(map_error)?)
            }
        };
        Ok(Session(inner))
    }

    /// A transaction to write with: no permit, no write.
    pub async fn begin(&self, permit: &Permit, stamp: Stamp) -> Result<Tx> {
        let inner = match &self.db {
            Db::Sqlite { write, .. } => {
                Inner::SqliteTx(write.begin_with("BEGIN IMMEDIATE").await.map_err(map_error)?)
            }
            Db::Postgres(pool) => Inner::PostgresTx(pool.begin().await.map_err(map_error)?),
        };
        Ok(Tx {
            session: Session(inner),
            permit: permit.clone(),
            stamp,
            signals: self.signals.clone(),
            has_orders: false,
        })
    }

    /// Whatever is committed from now on. Each follower has its own, so that none takes another's wake-up.
    pub fn commits(&self) -> Commits {
        Commits(self.signals.committed.subscribe())
    }

    /// Waits until an order may be waiting, or the time is up.
    pub async fn wait_orders(&self, at_most: Duration) {
        let _ = tokio::time::timeout(at_most, self.signals.orders.notified()).await;
    }

    pub fn notify_orders(&self) {
        self.signals.orders.notify_one();
    }

    pub(crate) fn notify_committed(&self) {
        self.signals.commit_here(false);
    }

    /// Changes whenever new numbers were given, here or in another process.
    pub fn watch_sequenced(&self) -> watch::Receiver<u64> {
        self.signals.sequenced.subscribe()
    }

    pub fn notify_sequenced(&self) {
        bump(&self.signals.sequenced);
        bump(&self.signals.own.numberings);
    }

    pub async fn close(&self) {
        match &self.db {
            Db::Sqlite { write, read } => {
                read.close().await;
                write.close().await;
            }
            Db::Postgres(pool) => pool.close().await,
        }
    }
}

async fn connect_sqlite(options: &ConnectOptions<'_>) -> Result<Db> {
    let base = SqliteConnectOptions::from_str(options.url)
        .map_err(|error| invalid_url(&error))?
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        // An acknowledged change survives a power cut; what NORMAL would save is measured in ./bench.
        .synchronous(SqliteSynchronous::Full)
        .busy_timeout(Duration::from_secs(10))
        .foreign_keys(true)
        // A whole page crosses to the caller's thread at once instead of in two waits.
        .row_buffer_size(256)
        .statement_cache_capacity(256);
    let write = SqlitePoolOptions::new()
        .max_connections(1)
        .before_acquire(|connection, _| Box::pin(is_usable(connection)))
        .acquire_timeout(Duration::from_secs(30))
        .connect_with(base.clone())
        .await
        .map_err(map_error)?;
    let read = SqlitePoolOptions::new()
        .max_connections(options.max_connections.clamp(2, 8))
        // A file does not hang up: asking each time whether it is still there costs more than most reads.
        .test_before_acquire(false)
        .acquire_timeout(Duration::from_secs(10))
        .connect_with(base)
        .await
        .map_err(map_error)?;
    Ok(Db::Sqlite { write, read })
}

/// After a full disk SQLite has rolled back by itself, and the driver still counts a transaction: such a connection
/// would refuse every write for ever, so it is dropped and a new one opened.
async fn is_usable(connection: &mut SqliteConnection) -> sqlx::Result<bool> {
    use sqlx::Connection as _;
    connection.ping().await?;
    Ok(!connection.is_in_transaction())
}

async fn connect_postgres(options: &ConnectOptions<'_>) -> Result<Db> {
    let connect = PgConnectOptions::from_str(options.url)
        .map_err(|error| invalid_url(&error))?
        .application_name("gpuaas")
        // A waiter gives up rather than hang: the caller gets 503 and may try again.
        .options([("lock_timeout", "10s"), ("statement_timeout", "60s")])
        .statement_cache_capacity(256);
    let pool = PgPoolOptions::new()
        .max_connections(options.max_connections.max(2))
        .acquire_timeout(Duration::from_secs(10))
        .connect_with(connect)
        .await
        .map_err(map_error)?;
    Ok(Db::Postgres(pool))
}

fn invalid_url(error: &sqlx::Error) -> Error {
    // The address may hold a password: say what is wrong without repeating it.
    Error::new(Kind::Invalid, "invalid_database_url", "The database address cannot be read.").with_internal(
        format!("database address: {}", error.to_string().chars().take(80).collect::<String>()),
    )
}

const WAKE_CHANNEL: &str = "gpuaas_wake";
const COMMITTED: &str = "committed";
const SEQUENCED: &str = "sequenced";

impl Store {
    /// The wake-up between processes on PostgreSQL: what this one commits or numbers is told to the others, and
    /// what they tell wakes our loops. A lost message costs at most one polling period. Runs until dropped;
    /// returns at once on SQLite, where there is one process.
    pub async fn relay_wakeups(&self) {
        let Db::Postgres(pool) = &self.db else { return };
        loop {
            if let Err(error) = self.relay_until_broken(pool).await {
                tracing::debug!("the wake-up channel broke and is opened again: {error}");
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    }

    async fn relay_until_broken(&self, pool: &PgPool) -> sqlx::Result<()> {
        let mut listener = sqlx::postgres::PgListener::connect_with(pool).await?;
        listener.listen(WAKE_CHANNEL).await?;
        let mut commits = self.signals.own.commits.subscribe();
        let mut numberings = self.signals.own.numberings.subscribe();
        loop {
            let told = tokio::select! {
                notification = listener.recv() => {
                    match notification?.payload() {
                        COMMITTED => {
                            bump(&self.signals.committed);
                            self.signals.orders.notify_one();
                        }
                        SEQUENCED => bump(&self.signals.sequenced),
                        _ => {}
                    }
                    continue;
                }
                _ = commits.changed() => COMMITTED,
                _ = numberings.changed() => SEQUENCED,
            };
            sqlx::query("SELECT pg_notify($1, $2)").bind(WAKE_CHANNEL).bind(told).execute(pool).await?;
            // At most one message in 20 ms, however busy we are.
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}
