//! The laws of the store, the same on both databases.

mod laws;
mod parity;
mod transfer;
mod volumes;
mod work;

use gpuaas_domain::Timestamp;
use gpuaas_domain::identity::Tenant;
use gpuaas_domain::ids::TenantId;
use gpuaas_domain::standing::Standing;
use gpuaas_store::{ConnectOptions, Stamp, Store};
use gpuaas_testkit::{Database, MovableClock, TestDatabase};

/// A migrated store without a server around it.
struct Bench {
    store: Store,
    database: TestDatabase,
    kind: Database,
    clock: MovableClock,
}

impl Bench {
    async fn new(kind: Database) -> Self {
        let bench = Self::empty(kind).await;
        bench.store.migrate().await.unwrap();
        bench
    }

    async fn empty(kind: Database) -> Self {
        let database = TestDatabase::create(kind).await;
        let store = connect(&database.url).await;
        Self { store, database, kind, clock: MovableClock::default() }
    }

    fn now(&self) -> Timestamp {
        self.clock.timestamp()
    }

    fn uuid(&self) -> uuid::Uuid {
        self.clock.uuid()
    }

    fn stamp(&self) -> Stamp {
        self.clock.stamp()
    }

    fn tenant(&self, slug: &str) -> Tenant {
        let at = self.now();
        Tenant {
            id: TenantId::new(self.uuid()),
            slug: slug.into(),
            display_name: slug.into(),
            state: Standing::Active,
            version: 1,
            created_at: at,
            updated_at: at,
        }
    }

    /// Runs SQL past the store.
    async fn sql(&self, sql: &str) -> Result<(), sqlx::Error> {
        use sqlx::{AssertSqlSafe, Connection as _};
        let sql = AssertSqlSafe(sql.to_owned());
        match self.kind {
            Database::Sqlite => {
                let mut connection = sqlx::SqliteConnection::connect(&self.database.url).await?;
                sqlx::raw_sql(sql).execute(&mut connection).await.map(|_| ())
            }
            Database::Postgres => {
                let mut connection = sqlx::PgConnection::connect(&self.database.url).await?;
                sqlx::raw_sql(sql).execute(&mut connection).await.map(|_| ())
            }
        }
    }
}

async fn connect(url: &str) -> Store {
    Store::connect(&ConnectOptions { url, max_connections: 12 }).await.unwrap()
}

/// One body, two databases.
macro_rules! on_both {
    ($($(#[$meta:meta])* async fn $name:ident($bench:ident: Bench) $body:block)*) => {
        $(
            $(#[$meta])*
            mod $name {
                use super::*;

                async fn run($bench: Bench) $body

                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn on_sqlite() {
                    run(Bench::new(gpuaas_testkit::Database::Sqlite).await).await;
                }

                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn on_postgres() {
                    run(Bench::new(gpuaas_testkit::Database::Postgres).await).await;
                }
            }
        )*
    };
}
pub(crate) use on_both;
