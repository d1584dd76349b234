//! Small macros that run one SQL text on whichever database is behind a session.

/// Runs `$body` with `$conn` bound to the typed connection and `DB` to its database.
macro_rules! on {
    ($session:expr, $conn:ident => $body:expr) => {
        match $session.raw() {
            $crate::db::Raw::Sqlite($conn) => {
                type DB = ::sqlx::Sqlite;
                $body
            }
            $crate::db::Raw::Postgres($conn) => {
                type DB = ::sqlx::Postgres;
                $body
            }
        }
    };
}

/// All rows: `fetch!(session, TenantRow, "SELECT …", bind, bind)`.
macro_rules! fetch {
    ($session:expr, $row:ty, $sql:expr $(, $bind:expr)* $(,)?) => {
        on!($session, conn => ::sqlx::query_as::<DB, $row>($sql)$(.bind($bind))*.fetch_all(conn).await)
            .map_err($crate::dialect::map_error)
    };
}

/// At most one row.
macro_rules! fetch_optional {
    ($session:expr, $row:ty, $sql:expr $(, $bind:expr)* $(,)?) => {
        on!($session, conn => ::sqlx::query_as::<DB, $row>($sql)$(.bind($bind))*.fetch_optional(conn).await)
            .map_err($crate::dialect::map_error)
    };
}

/// One value.
macro_rules! scalar {
    ($session:expr, $type:ty, $sql:expr $(, $bind:expr)* $(,)?) => {
        on!($session, conn => ::sqlx::query_scalar::<DB, $type>($sql)$(.bind($bind))*.fetch_one(conn).await)
            .map_err($crate::dialect::map_error)
    };
}

/// A change; gives the number of rows touched.
macro_rules! execute {
    ($session:expr, $sql:expr $(, $bind:expr)* $(,)?) => {
        execute_raw!($session, $sql $(, $bind)*).map_err($crate::dialect::map_error)
    };
}

/// Like `execute!`, with the database's own error, for callers that expect a constraint to speak.
macro_rules! execute_raw {
    ($session:expr, $sql:expr $(, $bind:expr)* $(,)?) => {
        on!($session, conn => ::sqlx::query::<DB>($sql)$(.bind($bind))*.execute(conn).await.map(|done| done.rows_affected()))
    };
}

/// A row type that decodes on both databases, without sqlx's derive (which would build sqlx twice).
macro_rules! row {
    ($(#[$meta:meta])* $vis:vis struct $name:ident { $($inner:vis $field:ident : $type:ty),* $(,)? }) => {
        $(#[$meta])* $vis struct $name { $($inner $field: $type),* }

        impl<'r, R: ::sqlx::Row> ::sqlx::FromRow<'r, R> for $name
        where
            &'static str: ::sqlx::ColumnIndex<R>,
            $($type: ::sqlx::Decode<'r, R::Database> + ::sqlx::Type<R::Database>),*
        {
            fn from_row(row: &'r R) -> ::sqlx::Result<Self> {
                Ok(Self { $($field: row.try_get(stringify!($field))?),* })
            }
        }
    };
}

/// A text in a row that no value of ours is written as.
pub(crate) fn unknown(what: &str) -> gpuaas_domain::Error {
    gpuaas_domain::Error::internal(format!("a row has the unknown value {what:?}"))
}
