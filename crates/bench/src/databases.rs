//! Empty databases with the platform's schema: files in a temporary folder, or databases on a given PostgreSQL.

use gpuaas_store::transfer::Fingerprints;
use gpuaas_store::{ConnectOptions, Dialect, Store};
use sqlx::{AssertSqlSafe, Connection as _, PgConnection};
use tempfile::TempDir;

use crate::Result;

/// The server's own default.
pub(crate) const MAX_CONNECTIONS: u32 = 16;

/// Where databases are made.
#[derive(Clone, Copy)]
pub(crate) enum Server<'a> {
    Sqlite,
    Postgres(&'a str),
}

pub(crate) fn servers(postgres: Option<&str>) -> impl Iterator<Item = Server<'_>> {
    std::iter::once(Server::Sqlite).chain(postgres.map(Server::Postgres))
}

impl Server<'_> {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Sqlite => Dialect::Sqlite.name(),
            Self::Postgres(_) => Dialect::Postgres.name(),
        }
    }
}

/// A set of databases of one measurement. [`Databases::remove`] takes them away again.
pub(crate) struct Databases<'a> {
    server: Server<'a>,
    folder: TempDir,
    names: Vec<String>,
}

impl<'a> Databases<'a> {
    pub(crate) fn new(server: Server<'a>) -> Result<Self> {
        Ok(Self { server, folder: tempfile::tempdir()?, names: Vec::new() })
    }

    pub(crate) fn folder(&self) -> &std::path::Path {
        self.folder.path()
    }

    /// Makes a database, migrated; gives its address.
    pub(crate) async fn create(&mut self, label: &str) -> Result<String> {
        let url = match self.server {
            Server::Sqlite => format!("sqlite:{}", self.folder.path().join(format!("{label}.db")).display()),
            Server::Postgres(server) => {
                let name = format!("bench_{}_{label}", std::process::id());
                run_sql(server, format!("CREATE DATABASE {name}")).await?;
                let (base, _) = server.rsplit_once('/').ok_or("a PostgreSQL address names a database")?;
                let url = format!("{base}/{name}");
                self.names.push(name);
                url
            }
        };
        let store = open(&url).await?;
        store.migrate().await?;
        store.close().await;
        Ok(url)
    }

    pub(crate) async fn remove(self) -> Result {
        if let Server::Postgres(server) = self.server {
            for name in &self.names {
                run_sql(server, format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)")).await?;
            }
        }
        Ok(())
    }
}

async fn run_sql(url: &str, sql: String) -> Result {
    let mut connection = PgConnection::connect(url).await?;
    sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut connection).await?;
    Ok(connection.close().await?)
}

pub(crate) async fn open(url: &str) -> Result<Store> {
    Ok(Store::connect(&ConnectOptions { url, max_connections: MAX_CONNECTIONS }).await?)
}

/// Rows and hash of every table.
pub(crate) async fn fingerprints(url: &str) -> Result<Fingerprints> {
    let store = open(url).await?;
    let prints = store.export(&mut std::io::sink()).await?;
    store.close().await;
    Ok(prints)
}
