//! One numbered set of migrations, written once with type tokens and rendered for the database at hand.

use std::borrow::Cow;

use gpuaas_domain::{Error, Result};
use sqlx::migrate::{MigrateError, Migration, MigrationType, Migrator};

use crate::db::{Db, Store};
use crate::dialect::Dialect;

const SET: &[(i64, &str, &str)] = &[
    (1, "foundation", include_str!("../migrations/0001_foundation.sql")),
    (2, "launch", include_str!("../migrations/0002_launch.sql")),
    (3, "artifacts", include_str!("../migrations/0003_artifacts.sql")),
    (4, "gateway", include_str!("../migrations/0004_gateway.sql")),
    (5, "instance_identity", include_str!("../migrations/0005_instance_identity.sql")),
    (6, "volumes", include_str!("../migrations/0006_volumes.sql")),
    (7, "profiles", include_str!("../migrations/0007_profiles.sql")),
];

/// How the database stands to the migrations this program knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SchemaState {
    Current,
    Behind,
    /// Made by a newer version of the platform: it must not be touched.
    Newer,
}

/// The SQL of all migrations for one database.
pub fn render(dialect: Dialect) -> Result<String> {
    let parts: Result<Vec<_>> = SET.iter().map(|(_, _, text)| render_one(dialect, text)).collect();
    Ok(parts?.join("\n"))
}

fn render_one(dialect: Dialect, text: &str) -> Result<String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("{{") {
        out.push_str(&rest[..start]);
        let end = rest[start..]
            .find("}}")
            .ok_or_else(|| Error::internal("a token of a migration is not closed"))?;
        let token = &rest[start + 2..start + end];
        match token.split_once(' ') {
            Some(("insert_only", table)) => out.push_str(&dialect.insert_only(table)),
            Some(("number_later", table)) => out.push_str(&dialect.number_later(table)),
            _ => out.push_str(
                dialect
                    .column_type(token)
                    .ok_or_else(|| Error::internal(format!("unknown migration token {token}")))?,
            ),
        }
        rest = &rest[start + end + 2..];
    }
    out.push_str(rest);
    Ok(out)
}

/// The numbers of all migrations.
pub(crate) fn versions() -> Vec<i64> {
    SET.iter().map(|(version, ..)| *version).collect()
}

/// Every table in the order of creation, so that parents come before children.
pub fn table_names() -> Vec<&'static str> {
    SET.iter()
        .flat_map(|(_, _, text)| text.lines())
        .filter_map(|line| line.strip_prefix("CREATE TABLE ")?.split(' ').next())
        .collect()
}

/// The columns of a table with the token of their type, as the migrations declare them.
pub fn columns(table: &str) -> Vec<(&'static str, &'static str)> {
    let (opening, added) = (format!("CREATE TABLE {table} ("), format!("ALTER TABLE {table} ADD COLUMN "));
    let made = SET.iter().flat_map(|(_, _, text)| {
        text.lines().skip_while(|line| *line != opening).skip(1).take_while(|line| !line.starts_with(')'))
    });
    let later =
        SET.iter().flat_map(|(_, _, text)| text.lines()).filter_map(|line| line.strip_prefix(added.as_str()));
    made.chain(later)
        .filter_map(|line| {
            let (name, rest) = line.trim().split_once(' ')?;
            let token = rest.strip_prefix("{{")?.split_once("}}")?.0;
            Some((name, token))
        })
        .collect()
}

fn migrator(dialect: Dialect) -> Result<Migrator> {
    let migrations: Result<Vec<_>> = SET
        .iter()
        .map(|(version, name, text)| {
            let sql = sqlx::AssertSqlSafe(render_one(dialect, text)?);
            Ok(Migration::new(
                *version,
                Cow::Borrowed(*name),
                MigrationType::Simple,
                sqlx::SqlSafeStr::into_sql_str(sql),
                false,
            ))
        })
        .collect();
    Ok(Migrator::with_migrations(migrations?))
}

impl Store {
    /// Looks without touching anything.
    pub async fn schema_state(&self) -> Result<SchemaState> {
        let known = versions();
        let mut session = self.read().await?;
        let present = match self.dialect() {
            Dialect::Sqlite => {
                scalar!(session, i64, "SELECT COUNT(*) FROM sqlite_master WHERE name = '_sqlx_migrations'")?
            }
            Dialect::Postgres => scalar!(
                session,
                i64,
                "SELECT COUNT(*) FROM pg_tables WHERE tablename = '_sqlx_migrations' AND schemaname = current_schema()"
            )?,
        };
        if present == 0 {
            return Ok(SchemaState::Behind);
        }
        let applied: Vec<(i64,)> =
            fetch!(session, (i64,), "SELECT version FROM _sqlx_migrations ORDER BY version")?;
        let applied: Vec<i64> = applied.into_iter().map(|(version,)| version).collect();
        Ok(if applied.iter().any(|version| !known.contains(version)) {
            SchemaState::Newer
        } else if applied.len() < known.len() {
            SchemaState::Behind
        } else {
            SchemaState::Current
        })
    }

    /// Brings the schema up to date. Repeating it does nothing; a newer schema is refused and left as it is.
    pub async fn migrate(&self) -> Result<()> {
        match self.schema_state().await? {
            SchemaState::Current => return Ok(()),
            SchemaState::Newer => return Err(newer_schema()),
            SchemaState::Behind => {}
        }
        let migrator = migrator(self.dialect())?;
        let outcome = match &self.db {
            Db::Sqlite { write, .. } => migrator.run(write).await,
            Db::Postgres(pool) => migrator.run(pool).await,
        };
        outcome.map_err(|error| match error {
            MigrateError::VersionMissing(_) => newer_schema(),
            other => Error::internal(format!("migration failed: {other}")).with_source(other),
        })
    }
}

pub(crate) fn newer_schema() -> Error {
    Error::conflict(
        "schema_too_new",
        "The database was made by a newer version of the platform; nothing was changed. Start that version or a later one.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_token_is_rendered_for_both_databases() {
        for dialect in [Dialect::Sqlite, Dialect::Postgres] {
            assert!(!render(dialect).unwrap().contains("{{"));
        }
    }

    #[test]
    fn tables_and_columns_are_read_from_the_migrations() {
        assert!(table_names().contains(&"tenants"));
        assert_eq!(
            columns("leases"),
            [("name", "text"), ("owner", "text"), ("epoch", "i64"), ("lease_until", "ts")]
        );
    }
}
