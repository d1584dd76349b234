//! A database of its own for every test, gone afterwards.

use std::path::Path;

use sqlx::{AssertSqlSafe, Connection as _, PgConnection};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Database {
    Sqlite,
    Postgres,
}

/// An empty database; dropped with this value.
pub struct TestDatabase {
    pub url: String,
    postgres: Option<(String, String)>,
    folder: tempfile::TempDir,
}

#[expect(clippy::disallowed_methods, reason = "tests are told by ./test where PostgreSQL is")]
fn postgres_server() -> String {
    std::env::var("GPUAAS_TEST_POSTGRES").unwrap_or_else(|_| {
        panic!("this test needs PostgreSQL: run it through ./test, or set GPUAAS_TEST_POSTGRES to postgres://… of a server where databases may be created")
    })
}

impl TestDatabase {
    pub async fn create(kind: Database) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        match kind {
            Database::Sqlite => {
                let url = format!("sqlite:{}", folder.path().join("gpuaas.db").display());
                Self { url, postgres: None, folder }
            }
            Database::Postgres => {
                let server = postgres_server();
                let mut bytes = [0u8; 8];
                gpuaas_custody::Entropy::fill(&gpuaas_custody::SystemEntropy::new(), &mut bytes);
                let name = format!("test_{}", gpuaas_domain::chain::hex(&bytes));
                run_sql(&server, &format!("CREATE DATABASE {name}")).await;
                let (base, _) = server.rsplit_once('/').expect("a PostgreSQL address names a database");
                Self { url: format!("{base}/{name}"), postgres: Some((server, name)), folder }
            }
        }
    }

    /// A folder for the test's files.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }
}

async fn run_sql(url: &str, sql: &str) {
    let mut connection = PgConnection::connect(url).await.expect("the test PostgreSQL answers");
    sqlx::raw_sql(AssertSqlSafe(sql.to_owned()))
        .execute(&mut connection)
        .await
        .expect("the test PostgreSQL obeys");
}

impl Drop for TestDatabase {
    fn drop(&mut self) {
        if let Some((server, name)) = self.postgres.take() {
            // A thread of its own, because a drop cannot wait and the test's runtime may be ending.
            let _ = std::thread::spawn(move || {
                if let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() {
                    runtime.block_on(async {
                        if let Ok(mut connection) = PgConnection::connect(&server).await {
                            let sql = AssertSqlSafe(format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)"));
                            let _ = sqlx::raw_sql(sql).execute(&mut connection).await;
                        }
                    });
                }
            })
            .join();
        }
    }
}
