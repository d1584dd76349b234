//! Moving a whole platform between databases: export to lines of JSON, import into an empty database, and a
//! fingerprint of every table that must be equal on both sides before the import is committed.
//!
//! Tables and columns are read from the migrations, so a new table is exported without anybody remembering it.

use std::collections::BTreeMap;
use std::io::{BufRead, Write};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chrono::{DateTime, Utc};
use futures_util::TryStreamExt as _;
use gpuaas_domain::event::{Change, ObjectRef, canonical};
use gpuaas_domain::iam::{Permit, Scope};
use gpuaas_domain::{Error, Result, Timestamp, chain};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use sqlx::types::Json;
use sqlx::{AssertSqlSafe, ColumnIndex, Decode, Row, Type};
use uuid::Uuid;

use crate::db::{Session, Stamp, Store};
use crate::dialect::map_error;
use crate::migrate::{columns, table_names, versions};

const FORMAT: &str = "gpuaas-export/1";

/// How much a table holds, and a hash that does not depend on the order of its rows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fingerprint {
    pub rows: u64,
    pub sha256: String,
}

pub type Fingerprints = BTreeMap<String, Fingerprint>;

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Line {
    /// What this is, and the migrations its tables come from.
    Format {
        name: String,
        schema: Vec<i64>,
    },
    Table(String),
    Row(Map<String, Value>),
    End(Fingerprints),
}

/// Adds up row hashes modulo 2²⁵⁶: equal sets give equal sums in any order.
#[derive(Default)]
struct Sum {
    rows: u64,
    total: [u8; 32],
}

impl Sum {
    fn add(&mut self, row: &Map<String, Value>) {
        let text = canonical(&Value::Object(row.clone()));
        let hash = ring::digest::digest(&ring::digest::SHA256, text.as_bytes());
        let mut carry = 0u16;
        for (total, byte) in self.total.iter_mut().zip(hash.as_ref()) {
            carry += u16::from(*total) + u16::from(*byte);
            *total = carry.to_le_bytes()[0];
            carry >>= 8;
        }
        self.rows += 1;
    }

    fn finish(self) -> Fingerprint {
        Fingerprint { rows: self.rows, sha256: chain::hex(&self.total) }
    }
}

fn read_row<'r, R>(row: &'r R, columns: &[(&'static str, &'static str)]) -> sqlx::Result<Map<String, Value>>
where
    R: Row,
    usize: ColumnIndex<R>,
    Option<Uuid>: Decode<'r, R::Database> + Type<R::Database>,
    Option<String>: Decode<'r, R::Database> + Type<R::Database>,
    Option<i64>: Decode<'r, R::Database> + Type<R::Database>,
    Option<bool>: Decode<'r, R::Database> + Type<R::Database>,
    Option<DateTime<Utc>>: Decode<'r, R::Database> + Type<R::Database>,
    Option<Json<Value>>: Decode<'r, R::Database> + Type<R::Database>,
    Option<Vec<u8>>: Decode<'r, R::Database> + Type<R::Database>,
{
    let mut map = Map::new();
    for (index, (name, token)) in columns.iter().enumerate() {
        let value = match *token {
            "uuid" => json!(row.try_get::<Option<Uuid>, _>(index)?),
            "i64" => json!(row.try_get::<Option<i64>, _>(index)?),
            "bool" => json!(row.try_get::<Option<bool>, _>(index)?),
            "ts" => json!(
                row.try_get::<Option<DateTime<Utc>>, _>(index)?.map(|at| Timestamp::new(at).to_string())
            ),
            "json" => row.try_get::<Option<Json<Value>>, _>(index)?.map_or(Value::Null, |json| json.0),
            "bytes" => json!(row.try_get::<Option<Vec<u8>>, _>(index)?.map(|bytes| STANDARD.encode(bytes))),
            _ => json!(row.try_get::<Option<String>, _>(index)?),
        };
        map.insert((*name).to_owned(), value);
    }
    Ok(map)
}

fn select(table: &str, columns: &[(&'static str, &'static str)]) -> String {
    let names: Vec<_> = columns.iter().map(|(name, _)| *name).collect();
    format!("SELECT {} FROM {table}", names.join(", "))
}

fn insert(table: &str, columns: &[(&'static str, &'static str)]) -> String {
    let names: Vec<_> = columns.iter().map(|(name, _)| *name).collect();
    let marks: Vec<_> = (1..=columns.len()).map(|n| format!("${n}")).collect();
    format!("INSERT INTO {table} ({}) VALUES ({})", names.join(", "), marks.join(", "))
}

fn broken(what: impl Into<String>) -> Error {
    Error::invalid("invalid_export_file", format!("The file is not a complete export: {}.", what.into()))
}

fn other_schema(schema: &[i64]) -> Error {
    Error::conflict(
        "export_schema_differs",
        "The export comes from a newer version of the platform; import it with that version.",
    )
    .with_param("schema", schema)
    .with_param("expected", versions())
}

fn write_line(out: &mut dyn Write, line: &Line) -> Result<()> {
    let text = serde_json::to_string(line).map_err(|error| Error::internal(error.to_string()))?;
    writeln!(out, "{text}")
        .map_err(|error| Error::internal(format!("writing the export: {error}")).with_source(error))
}

impl Session {
    /// Visits every row of a table and sums it up.
    async fn visit(
        &mut self,
        table: &str,
        mut each: impl FnMut(&Map<String, Value>) -> Result<()>,
    ) -> Result<Fingerprint> {
        let columns = columns(table);
        let mut sum = Sum::default();
        on!(self, conn => {
            let mut rows = sqlx::query::<DB>(AssertSqlSafe(select(table, &columns))).fetch(conn);
            while let Some(row) = rows.try_next().await.map_err(map_error)? {
                let row = read_row(&row, &columns).map_err(map_error)?;
                each(&row)?;
                sum.add(&row);
            }
        });
        Ok(sum.finish())
    }

    /// The fingerprints of all tables.
    pub async fn fingerprint(&mut self) -> Result<Fingerprints> {
        let mut all = Fingerprints::new();
        for table in table_names() {
            let print = self.visit(table, |_| Ok(())).await?;
            all.insert(table.to_owned(), print);
        }
        Ok(all)
    }

    async fn insert_exported(&mut self, table: &str, row: &Map<String, Value>) -> Result<()> {
        let columns = columns(table);
        let text = |name: &str| row.get(name).and_then(Value::as_str);
        on!(self, conn => {
            let mut query = sqlx::query::<DB>(AssertSqlSafe(insert(table, &columns)));
            for (name, token) in &columns {
                query = match *token {
                    "uuid" => query.bind(text(name).map(Uuid::try_parse).transpose().map_err(|_| broken(format!("{table}.{name} is no id")))?),
                    "i64" => query.bind(row.get(*name).and_then(Value::as_i64)),
                    "bool" => query.bind(row.get(*name).and_then(Value::as_bool)),
                    "ts" => query.bind(
                        text(name).map(str::parse::<DateTime<Utc>>).transpose().map_err(|_| broken(format!("{table}.{name} is no time")))?,
                    ),
                    "json" => query.bind(row.get(*name).filter(|value| !value.is_null()).cloned().map(Json)),
                    "bytes" => query.bind(
                        text(name).map(|text| STANDARD.decode(text)).transpose().map_err(|_| broken(format!("{table}.{name} is no base64")))?,
                    ),
                    _ => query.bind(text(name).map(str::to_owned)),
                };
            }
            query.execute(conn).await.map_err(map_error)?;
        });
        Ok(())
    }
}

impl Store {
    /// Writes everything, as of one moment, to `out`.
    pub async fn export(&self, out: &mut (dyn Write + Send)) -> Result<Fingerprints> {
        let mut session = self.snapshot().await?;
        write_line(out, &Line::Format { name: FORMAT.into(), schema: versions() })?;
        let mut all = Fingerprints::new();
        for table in table_names() {
            write_line(out, &Line::Table(table.into()))?;
            let print = session.visit(table, |row| write_line(out, &Line::Row(row.clone()))).await?;
            all.insert(table.to_owned(), print);
        }
        write_line(out, &Line::End(all.clone()))?;
        Ok(all)
    }

    /// Fills an empty, migrated database. All or nothing: it is committed only if every table's fingerprint is
    /// the one in the file. Returns the fingerprints.
    pub async fn import(
        &self,
        lines: &mut (dyn BufRead + Send),
        stamp: Stamp,
        restored: bool,
    ) -> Result<Fingerprints> {
        let mut tx = self.begin(&Permit::system("import", Scope::Platform), stamp).await?;
        if tx.fingerprint().await?.values().any(|print| print.rows > 0) {
            return Err(Error::conflict(
                "database_not_empty",
                "The target database already holds a platform; import into an empty one.",
            ));
        }
        let mut table: Option<&'static str> = None;
        let mut end = None;
        for (number, line) in lines.lines().enumerate() {
            let line = line.map_err(|error| broken(format!("line {}: {error}", number + 1)))?;
            let line: Line = serde_json::from_str(&line)
                .map_err(|error| broken(format!("line {}: {error}", number + 1)))?;
            if end.is_some() {
                return Err(broken("there is something after its end"));
            }
            if number == 0 && !matches!(line, Line::Format { .. }) {
                return Err(broken("its first line does not say what it is"));
            }
            match line {
                Line::Format { name, .. } if number > 0 || name != FORMAT => {
                    return Err(broken(format!("its format is {name:?}, not {FORMAT:?}")));
                }
                // An older export fits as long as later migrations only added tables, which then stay empty. The first
                // one that changes a table has to say here how an older row becomes a newer one.
                Line::Format { schema, .. } if schema.is_empty() || !versions().starts_with(&schema) => {
                    return Err(other_schema(&schema));
                }
                Line::Format { .. } => {}
                Line::Table(name) => {
                    table = table_names().into_iter().find(|known| *known == name);
                    if table.is_none() {
                        return Err(broken(format!("it has the unknown table {name:?}")));
                    }
                    if name == "unnumbered" {
                        // The database queued every imported event and audit row; most have their number already.
                        execute!(tx, "DELETE FROM unnumbered")?;
                    }
                }
                Line::Row(row) => {
                    let table = table
                        .ok_or_else(|| broken(format!("line {} has a row before any table", number + 1)))?;
                    tx.insert_exported(table, &row).await?;
                }
                Line::End(prints) => end = Some(prints),
            }
        }
        let expected = end.ok_or_else(|| broken("its end is missing"))?;
        let found = tx.fingerprint().await?;
        let differs = |table: &str, print: &Fingerprint| match expected.get(table) {
            Some(expected) => expected != print,
            None => print.rows > 0,
        };
        if let Some((table, _)) = found.iter().find(|(table, print)| differs(table, print)) {
            return Err(broken(format!("what arrived in {table} is not what was exported")));
        }
        if restored {
            // Agents tell a restored database by its era and adopt what runs instead of ending it.
            let era = tx.bump_era().await?;
            let change =
                Change::new("platform.restore", ObjectRef::new("platform", 1)).after(json!({ "era": era }));
            tx.commit(change, None).await?;
        } else {
            tx.commit_housekeeping().await?;
        }
        Ok(found)
    }
}
