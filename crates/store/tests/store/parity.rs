//! Both databases have the same tables, columns, nullability and indexes.

use std::collections::{BTreeMap, BTreeSet};

use gpuaas_store::table_names;
use gpuaas_testkit::Database;
use sqlx::{AssertSqlSafe, Connection as _, Row as _};

use crate::Bench;

type Columns = BTreeMap<String, (String, bool)>;
type Indexes = BTreeSet<(Vec<String>, bool)>;

/// What a type is on either side, by one name.
fn family(sql: &str) -> &'static str {
    match sql.to_uppercase().as_str() {
        "BLOB" | "UUID" | "BYTEA" => "bytes",
        "TEXT" | "TIMESTAMP WITH TIME ZONE" | "JSONB" => "text",
        "INTEGER" | "BIGINT" | "BOOLEAN" => "integer",
        other => panic!("unexpected column type {other}"),
    }
}

async fn sqlite(url: &str) -> BTreeMap<String, (Columns, Indexes)> {
    let mut connection = sqlx::SqliteConnection::connect(url).await.unwrap();
    let mut all = BTreeMap::new();
    for table in table_names() {
        let mut columns = Columns::new();
        for row in sqlx::query(AssertSqlSafe(format!("PRAGMA table_info({table})")))
            .fetch_all(&mut connection)
            .await
            .unwrap()
        {
            columns
                .insert(row.get("name"), (family(row.get("type")).into(), row.get::<i64, _>("notnull") == 0));
        }
        let mut indexes = Indexes::new();
        for index in sqlx::query(AssertSqlSafe(format!("PRAGMA index_list({table})")))
            .fetch_all(&mut connection)
            .await
            .unwrap()
        {
            let name: String = index.get("name");
            let parts = sqlx::query(AssertSqlSafe(format!("PRAGMA index_info({name})")))
                .fetch_all(&mut connection)
                .await
                .unwrap();
            indexes.insert((
                parts.iter().map(|part| part.get("name")).collect(),
                index.get::<i64, _>("unique") == 1,
            ));
        }
        // An INTEGER PRIMARY KEY is the row's own number and has no index of its own.
        if table == "platform" {
            indexes.insert((vec!["id".into()], true));
        }
        all.insert(table.to_owned(), (columns, indexes));
    }
    all
}

async fn postgres(url: &str) -> BTreeMap<String, (Columns, Indexes)> {
    let mut connection = sqlx::PgConnection::connect(url).await.unwrap();
    let mut all = BTreeMap::new();
    for table in table_names() {
        let mut columns = Columns::new();
        let sql = "SELECT column_name::text, data_type::text, is_nullable::text FROM information_schema.columns WHERE table_name = $1";
        for row in sqlx::query(sql).bind(table).fetch_all(&mut connection).await.unwrap() {
            let kind: String = row.get(1);
            columns.insert(row.get(0), (family(&kind).into(), row.get::<String, _>(2) == "YES"));
        }
        let mut indexes = Indexes::new();
        let sql = "SELECT i.indisunique, ARRAY(SELECT a.attname::text FROM unnest(i.indkey) WITH ORDINALITY k(n, o) \
                   JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.n ORDER BY k.o) \
                   FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid WHERE c.relname = $1";
        for row in sqlx::query(sql).bind(table).fetch_all(&mut connection).await.unwrap() {
            indexes.insert((row.get::<Vec<String>, _>(1), row.get(0)));
        }
        all.insert(table.to_owned(), (columns, indexes));
    }
    all
}

/// STYLE rule 23: one migration set, the same schema on both sides.
#[tokio::test(flavor = "multi_thread")]
async fn both_schemas_are_the_same() {
    let (one, two) = (Bench::new(Database::Sqlite).await, Bench::new(Database::Postgres).await);
    let (one, two) = (sqlite(&one.database.url).await, postgres(&two.database.url).await);
    assert!(one.len() > 15);
    for (table, (columns, indexes)) in &one {
        let (other_columns, other_indexes) = &two[table];
        assert_eq!(columns, other_columns, "columns of {table}");
        assert_eq!(indexes, other_indexes, "indexes of {table}");
        let declared: BTreeSet<_> =
            gpuaas_store::schema_columns(table).into_iter().map(|(name, _)| name.to_owned()).collect();
        assert_eq!(declared, columns.keys().cloned().collect(), "declared columns of {table}");
    }
}
