//! The whole journey with the real programs: from a fresh platform to a verified trail, on both databases.

mod author;
mod publish;

use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use gpuaas_testkit::process::{ServerProcess, binary};
use gpuaas_testkit::{Database, TestDatabase};
use serde_json::Value;
use sqlx::{AssertSqlSafe, Connection as _};

/// The CLI with a configuration of its own.
struct Cli {
    folder: PathBuf,
}

impl Cli {
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(binary("gpuaas"));
        command.args(arguments).env_clear().env("GPUAAS_CONFIG", self.folder.join("cli.toml"));
        command.env("HOME", &self.folder).stdin(Stdio::null());
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().expect("the CLI runs")
    }

    #[track_caller]
    fn ok(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    #[track_caller]
    fn json(&self, arguments: &[&str]) -> Value {
        let text = self.ok(&[arguments, &["-o", "json"]].concat());
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{arguments:?}: {error}: {text}"))
    }

    /// Exit code and standard error of a call that is refused.
    #[track_caller]
    fn refused(&self, arguments: &[&str]) -> (i32, String) {
        let output = self.run(arguments);
        assert!(!output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stdout));
        (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
    }
}

async fn tamper(kind: Database, url: &str, sql: [&str; 2]) {
    let sql = AssertSqlSafe(match kind {
        Database::Sqlite => sql[0].to_owned(),
        Database::Postgres => sql[1].to_owned(),
    });
    match kind {
        Database::Sqlite => {
            let mut connection = sqlx::SqliteConnection::connect(url).await.unwrap();
            sqlx::raw_sql(sql).execute(&mut connection).await.unwrap();
        }
        Database::Postgres => {
            let mut connection = sqlx::PgConnection::connect(url).await.unwrap();
            sqlx::raw_sql(sql).execute(&mut connection).await.unwrap();
        }
    }
}

async fn journey(kind: Database) {
    let database = TestDatabase::create(kind).await;
    let data = database.folder().join("data");
    let postgres = (kind == Database::Postgres).then_some(database.url.as_str());
    let mut server = ServerProcess::prepare(&data, postgres);
    server.serve();
    let cli = Cli { folder: database.folder().to_owned() };
    let admin_file = server.admin_file().display().to_string();

    let (code, said) = cli.refused(&["tenant", "list"]);
    assert_eq!(code, 3, "{said}");
    cli.ok(&["login", "--admin-file", &admin_file]);
    assert_eq!(cli.json(&["whoami"])["kind"], "user");
    let tenant = cli.json(&["tenant", "create", "acme"])["id"].as_str().unwrap().to_owned();
    cli.ok(&["project", "create", "acme-lab", "--tenant", "acme"]);
    let user = cli.json(&["user", "create", "ada@example.org"]);
    assert!(user["initial_password"].as_str().unwrap().len() >= 12);
    cli.ok(&[
        "role",
        "create",
        "deployer",
        "--permission",
        "apps.instance.read",
        "--permission",
        "audit.read",
        "--permission",
        "projects.read",
    ]);
    cli.ok(&["project", "bind", "acme-lab", "--role", "project-admin", "--user", "ada@example.org"]);
    let key_file = database.folder().join("ci.json").display().to_string();
    let account = cli.json(&[
        "service-account",
        "create",
        "ci",
        "--project",
        "acme-lab",
        "--role",
        "deployer",
        "--key-file",
        &key_file,
    ]);
    let account = account["id"].as_str().unwrap().to_owned();
    let token = cli.ok(&["service-account", "token", "--key-file", &key_file]);
    assert_eq!(token.trim().split('.').count(), 3, "the token and nothing else is on standard output");

    // The machine reads its own trail with its own token.
    let token_file = database.folder().join("token");
    std::fs::write(&token_file, token.trim()).unwrap();
    let machine = |arguments: &[&str]| {
        let (url, file) = (server.url(), token_file.display().to_string());
        let with = [arguments, &["--url", &url, "--token-file", &file]].concat();
        with.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>()
    };
    let list = machine(&["audit", "list", "--project", "acme-lab", "--actor", &account, "-o", "json"]);
    let list: Vec<&str> = list.iter().map(String::as_str).collect();
    // Rows are numbered a moment after they are written, and listed from then on.
    let is_listed = || {
        let trail: Value = serde_json::from_str(&cli.ok(&list)).unwrap();
        let rows = trail["items"].as_array().or_else(|| trail.as_array()).unwrap();
        rows.iter().any(|row| row["action"] == "auth.service_account_token")
    };
    let deadline = Instant::now() + Duration::from_secs(10);
    while !is_listed() {
        assert!(Instant::now() < deadline, "the machine's own sign-in is not in the trail");
        std::thread::sleep(Duration::from_millis(50));
    }
    let create = machine(&["tenant", "create", "mine"]);
    let (code, said) = cli.refused(&create.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(code, 4, "{said}");
    assert!(said.contains("human_actor_required") && said.contains("correlation id"), "{said}");

    // Errors name code, field, fix and story; exit codes tell the kind.
    let (code, said) = cli.refused(&["tenant", "create", "Not A Slug"]);
    assert_eq!(code, 8, "{said}");
    assert!(said.contains("/slug") && said.contains("correlation id"), "{said}");
    assert_eq!(cli.refused(&["tenant", "create", "acme"]).0, 6);
    assert_eq!(cli.refused(&["tenant", "get", "nobody-here"]).0, 5);
    assert_eq!(cli.refused(&["tenant", "frobnicate"]).0, 2);

    // The chains are whole; one changed bit is found and named.
    assert!(cli.ok(&["audit", "verify"]).starts_with("ok:"));
    assert!(cli.ok(&["audit", "verify", "--stream", "all"]).contains("events ok"));
    let id = cli.json(&["audit", "list", "--action", "tenants.create", "--object", &tenant]);
    let id = id["items"].as_array().or_else(|| id.as_array()).unwrap()[0]["id"].as_str().unwrap().to_owned();
    let database_url = if kind == Database::Sqlite {
        format!("sqlite:{}", data.join("gpuaas.db").display())
    } else {
        database.url.clone()
    };
    let hex = id.replace('-', "");
    tamper(kind, &database_url, [
        &format!("DROP TRIGGER audit_no_update; UPDATE audit SET action = 'tenants.creatd' WHERE id = x'{hex}'"),
        &format!("ALTER TABLE audit DISABLE TRIGGER ALL; UPDATE audit SET action = 'tenants.creatd' WHERE id = '{id}'"),
    ])
    .await;
    let (code, said) = {
        let output = cli.run(&["audit", "verify"]);
        (
            output.status.code().unwrap(),
            format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr)),
        )
    };
    assert_eq!(code, 1);
    assert!(said.contains(&id), "the row is named: {said}");

    cli.ok(&["doctor"]);
    cli.ok(&["logout"]);
    assert_eq!(cli.refused(&["whoami"]).0, 3);
}

/// Shown by (b), K-14: the CLI's journey on SQLite.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_journey_on_sqlite() {
    journey(Database::Sqlite).await;
}

/// Shown by (c): the same on PostgreSQL.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_journey_on_postgres() {
    journey(Database::Postgres).await;
}

/// Events come as they happen, one JSON object a line.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn events_are_followed_live() {
    use std::io::BufRead as _;
    let database = TestDatabase::create(Database::Sqlite).await;
    let mut server = ServerProcess::prepare(&database.folder().join("data"), None);
    server.serve();
    let cli = Cli { folder: database.folder().to_owned() };
    cli.ok(&["login", "--admin-file", &server.admin_file().display().to_string()]);
    let mut follow = std::process::Command::new(binary("gpuaas"))
        .args(["event", "follow", "--after", "0", "-o", "json"])
        .env_clear()
        .env("GPUAAS_CONFIG", database.folder().join("cli.toml"))
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let lines = std::io::BufReader::new(follow.stdout.take().unwrap()).lines();
    cli.ok(&["tenant", "create", "followed"]);
    let mut found = false;
    for line in lines.map_while(Result::ok).take(2_000) {
        if line.contains("followed") {
            found = true;
            break;
        }
    }
    let _ = follow.kill();
    let _ = follow.wait();
    assert!(found);
}
