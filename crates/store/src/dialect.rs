//! Where the two databases differ, and nowhere else.

use gpuaas_domain::{Error, Kind};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    Sqlite,
    Postgres,
}

impl Dialect {
    /// The column type behind a token of the migration files.
    pub(crate) fn column_type(self, token: &str) -> Option<&'static str> {
        Some(match (self, token) {
            (Self::Sqlite, "uuid" | "bytes") => "BLOB",
            // Byte order on both sides, or the same list would be sorted two ways.
            (Self::Postgres, "text") => "TEXT COLLATE \"C\"",
            (Self::Sqlite, "text" | "ts" | "json") => "TEXT",
            (Self::Sqlite, "i64" | "bool") => "INTEGER",
            (Self::Postgres, "uuid") => "UUID",
            (Self::Postgres, "bytes") => "BYTEA",
            (Self::Postgres, "ts") => "TIMESTAMPTZ",
            (Self::Postgres, "json") => "JSONB",
            (Self::Postgres, "i64") => "BIGINT",
            (Self::Postgres, "bool") => "BOOLEAN",
            (Self::Sqlite, "strict") => " STRICT",
            (Self::Postgres, "strict") => "",
            _ => return None,
        })
    }

    /// The database itself refuses to change or remove rows of `table`.
    pub(crate) fn insert_only(self, table: &str) -> String {
        match self {
            Self::Sqlite => ["UPDATE", "DELETE"]
                .map(|verb| {
                    format!(
                        "CREATE TRIGGER {table}_no_{lower} BEFORE {verb} ON {table} BEGIN SELECT RAISE(ABORT, '{table} is insert-only'); END;",
                        lower = verb.to_lowercase()
                    )
                })
                .join("\n"),
            Self::Postgres => format!(
                "CREATE FUNCTION {table}_refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION '{table} is insert-only' USING ERRCODE = 'restrict_violation'; END $$;\n\
                 CREATE TRIGGER {table}_no_change BEFORE UPDATE OR DELETE ON {table} FOR EACH ROW EXECUTE FUNCTION {table}_refuse();\n\
                 CREATE TRIGGER {table}_no_truncate BEFORE TRUNCATE ON {table} FOR EACH STATEMENT EXECUTE FUNCTION {table}_refuse();"
            ),
        }
    }

    /// Every new row of `table` waits in `unnumbered`, visible exactly when the row itself is.
    pub(crate) fn number_later(self, table: &str) -> String {
        match self {
            Self::Sqlite => format!(
                "CREATE TRIGGER {table}_number_later AFTER INSERT ON {table} BEGIN INSERT INTO unnumbered (stream, row_id) VALUES ('{table}', NEW.id); END;"
            ),
            Self::Postgres => format!(
                "CREATE FUNCTION {table}_number_later() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO unnumbered (stream, row_id) VALUES ('{table}', NEW.id); RETURN NULL; END $$;\n\
                 CREATE TRIGGER {table}_number_later AFTER INSERT ON {table} FOR EACH ROW EXECUTE FUNCTION {table}_number_later();"
            ),
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Sqlite => "sqlite",
            Self::Postgres => "postgres",
        }
    }
}

/// A database error in the caller's terms. Constraint violations that mean something to the caller are matched
/// by the operation before this; what arrives here is contention, an outage or a bug.
pub(crate) fn map_error(error: sqlx::Error) -> Error {
    match &error {
        sqlx::Error::PoolTimedOut | sqlx::Error::Io(_) | sqlx::Error::PoolClosed => {
            return unavailable("The database is not reachable right now; try again.").with_source(error);
        }
        sqlx::Error::Database(inner) => {
            let code = inner.code().unwrap_or_default();
            if is_passing(&code) {
                return unavailable("The database is busy, full or away right now; try again.")
                    .with_source(error);
            }
        }
        _ => {}
    }
    Error::internal(format!("database: {error}")).with_source(error)
}

/// What an operator mends or time heals, as opposed to our own mistakes.
fn is_passing(code: &str) -> bool {
    if let (5, true) = (code.len(), code.bytes().all(|b| b.is_ascii_alphanumeric())) {
        // Connection, resources, operator's doing; serialisation and lock waits; read-only after a failover;
        // database or privilege taken away.
        let classes = ["08", "53", "57", "58", "28", "40"];
        let codes = ["55P03", "55000", "25006", "3D000", "42501"];
        return classes.contains(&&code[..2]) || codes.contains(&code);
    }
    // SQLite's extended codes keep the plain one in their low byte: busy, locked, no memory, read-only, I/O error,
    // full, cannot open.
    code.parse::<u32>().is_ok_and(|code| [5, 6, 7, 8, 10, 13, 14].contains(&(code & 0xff)))
}

fn unavailable(message: &str) -> Error {
    Error::new(Kind::Unavailable, "database_unavailable", message)
}

/// Whether the error says that a unique index already has this value.
pub(crate) fn is_unique_violation(error: &sqlx::Error) -> bool {
    matches!(error, sqlx::Error::Database(inner) if inner.is_unique_violation())
}
