//! The API through its front door, on both databases.

mod access;
mod adversary;
mod artifacts;
mod contract;
mod custody;
mod events;
mod faults;
mod forged_tokens;
mod hostile_input;
mod idempotency;
mod images;
mod launch;
mod launch_form;
mod launch_refusals;
mod lifecycle;
mod nodes;
mod own_instance;
mod people;
mod profiles;
mod registry;
mod service_accounts;
mod shell;
mod volumes;
mod walk;

use gpuaas_testkit::{Database, TestPlatform};
use sqlx::{AssertSqlSafe, Connection as _};

/// Runs SQL past the platform, as somebody with the database's password could.
async fn execute(p: &TestPlatform, sql: &str) {
    try_execute(p, sql).await.unwrap();
}

async fn try_execute(p: &TestPlatform, sql: &str) -> Result<(), sqlx::Error> {
    let sql = AssertSqlSafe(sql.to_owned());
    match p.kind {
        Database::Sqlite => {
            let mut connection = sqlx::SqliteConnection::connect(&p.database.url).await?;
            sqlx::raw_sql(sql).execute(&mut connection).await.map(drop)
        }
        Database::Postgres => {
            let mut connection = sqlx::PgConnection::connect(&p.database.url).await?;
            sqlx::raw_sql(sql).execute(&mut connection).await.map(drop)
        }
    }
}

/// How many random walks, and the first seed: more with `./test --full`, one of choice with `GPUAAS_TEST_SEED`.
#[expect(clippy::disallowed_methods, reason = "what ./test says to its tests")]
fn random_walks() -> (u64, u64) {
    let seed = std::env::var("GPUAAS_TEST_SEED").ok().and_then(|text| text.parse().ok());
    match seed {
        Some(seed) => (1, seed),
        None if std::env::var_os("GPUAAS_TEST_FULL").is_some() => (1000, 1),
        None => (20, 1),
    }
}

/// Shown with a test that fails.
#[expect(clippy::print_stdout, reason = "a failing seed must be seen")]
fn say(text: &str) {
    println!("{text}");
}

/// Counts past the platform.
async fn count(p: &TestPlatform, sql: &'static str) -> i64 {
    match p.kind {
        Database::Sqlite => {
            let mut connection = sqlx::SqliteConnection::connect(&p.database.url).await.unwrap();
            sqlx::query_scalar(sql).fetch_one(&mut connection).await.unwrap()
        }
        Database::Postgres => {
            let mut connection = sqlx::PgConnection::connect(&p.database.url).await.unwrap();
            sqlx::query_scalar(sql).fetch_one(&mut connection).await.unwrap()
        }
    }
}

/// Switches the database's own guards off, tampers, looks, and puts everything back.
async fn with_tampering<T>(p: &TestPlatform, sql: &str, look: impl AsyncFnOnce() -> T) -> T {
    match p.kind {
        Database::Sqlite => {
            execute(p, "CREATE TABLE saved_audit AS SELECT * FROM audit; CREATE TABLE saved_chain AS SELECT * FROM chain; \
                DROP TRIGGER audit_no_update; DROP TRIGGER audit_no_delete; DROP TRIGGER chain_no_update; DROP TRIGGER chain_no_delete; DROP TRIGGER audit_number_later;").await;
            execute(p, sql).await;
            let seen = look().await;
            execute(p, "DELETE FROM audit; INSERT INTO audit SELECT * FROM saved_audit; DROP TABLE saved_audit; \
                DELETE FROM chain; INSERT INTO chain SELECT * FROM saved_chain; DROP TABLE saved_chain; \
                CREATE TRIGGER audit_no_update BEFORE UPDATE ON audit BEGIN SELECT RAISE(ABORT, 'x'); END; \
                CREATE TRIGGER audit_no_delete BEFORE DELETE ON audit BEGIN SELECT RAISE(ABORT, 'x'); END; \
                CREATE TRIGGER chain_no_update BEFORE UPDATE ON chain BEGIN SELECT RAISE(ABORT, 'x'); END; \
                CREATE TRIGGER chain_no_delete BEFORE DELETE ON chain BEGIN SELECT RAISE(ABORT, 'x'); END; \
                CREATE TRIGGER audit_number_later AFTER INSERT ON audit BEGIN INSERT INTO unnumbered (stream, row_id) VALUES ('audit', NEW.id); END;").await;
            seen
        }
        Database::Postgres => {
            execute(p, "CREATE TABLE saved_audit AS SELECT * FROM audit; CREATE TABLE saved_chain AS SELECT * FROM chain; \
                ALTER TABLE audit DISABLE TRIGGER ALL; ALTER TABLE chain DISABLE TRIGGER ALL;").await;
            execute(p, sql).await;
            let seen = look().await;
            execute(
                p,
                "DELETE FROM audit; INSERT INTO audit SELECT * FROM saved_audit; DROP TABLE saved_audit; \
                DELETE FROM chain; INSERT INTO chain SELECT * FROM saved_chain; DROP TABLE saved_chain; \
                ALTER TABLE audit ENABLE TRIGGER ALL; ALTER TABLE chain ENABLE TRIGGER ALL;",
            )
            .await;
            seen
        }
    }
}
