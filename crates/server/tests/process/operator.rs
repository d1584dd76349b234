//! What an operator does on the server's own machine.

use gpuaas_testkit::process::ServerProcess;
use gpuaas_testkit::{Database, TestDatabase};
use std::os::unix::fs::PermissionsExt as _;

fn succeed(output: &std::process::Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn fail(output: &std::process::Output) -> String {
    assert!(!output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Shown by (d), D05: a platform moves from SQLite to PostgreSQL by export and import, and goes on there.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_platform_moves_to_postgres_and_goes_on() {
    let (old, new) =
        (TestDatabase::create(Database::Sqlite).await, TestDatabase::create(Database::Postgres).await);
    let mut source = ServerProcess::prepare(&old.folder().join("data"), None);
    source.serve();
    let admin = crate::admin(&source).await;
    let tenant = admin.create_tenant("mover").await;
    let (account, _) = {
        let project = admin.create_project(&tenant, "mover-lab").await;
        admin.create_service_account(&project, "ci", &["app-operator"]).await
    };
    assert!(!account.is_empty());
    source.terminate();
    let file = old.folder().join("platform.jsonl").display().to_string();
    succeed(&source.run(&["db", "export", &file]));
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);

    let data = new.folder().join("data");
    std::fs::create_dir_all(&data).unwrap();
    std::fs::copy(old.folder().join("data/master-key.json"), data.join("master-key.json")).unwrap();
    let mut target = source.moved_to(&data, Some(&new.url));
    let said = succeed(&target.run(&["db", "import", &file]));
    assert!(said.contains("equal"), "{said}");
    let again = fail(&target.run(&["db", "import", &file]));
    assert!(again.contains("database_not_empty"), "{again}");
    target.serve();
    // The same token, the same tenant, the same chain.
    let there = admin.at(&target.url());
    there.get(&format!("/api/v1/tenants/{tenant}")).await.expect(200);
    assert_eq!(there.get("/api/v1/audit/verify").await.expect(200).body["ok"], true);
    there.create_tenant("after-the-move").await;
}

/// D03: a backup taken while the server runs comes back elsewhere, master key included, in a new era.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_comes_back_with_its_master_key() {
    let (old, new) =
        (TestDatabase::create(Database::Sqlite).await, TestDatabase::create(Database::Sqlite).await);
    let mut source = ServerProcess::prepare(&old.folder().join("data"), None);
    source.serve();
    let admin = crate::admin(&source).await;
    let tenant = admin.create_tenant("saved").await;
    let project = admin.create_project(&tenant, "saved-lab").await;
    let (account, pair) = admin.create_service_account(&project, "ci", &["app-operator"]).await;
    let file = old.folder().join("backup.jsonl").display().to_string();
    succeed(&source.run(&["backup", "create", &file]));
    admin.create_tenant("too-late").await;
    source.terminate();

    let data = new.folder().join("data");
    let mut target = source.moved_to(&data, None);
    succeed(&target.run(&["backup", "restore", &file]));
    let twice = fail(&target.run(&["backup", "restore", &file]));
    assert!(twice.contains("data_dir_not_empty"), "{twice}");
    target.serve();
    let there = admin.at(&target.url());
    there.get(&format!("/api/v1/tenants/{tenant}")).await.expect(200);
    assert!(!there.get("/api/v1/tenants").await.expect(200).text.contains("too-late"));
    // The sealed token key opens with the restored master key: a machine still gets its token.
    let version = there.get("/api/v1/version").await.expect(200);
    let now: i64 = std::time::UNIX_EPOCH.elapsed().unwrap().as_secs().try_into().unwrap();
    let assertion = pair.sign(&pair.assertion(&account, version.body["platform_id"].as_str().unwrap(), now));
    there
        .post("/api/v1/auth/service-account/token", &serde_json::json!({ "assertion": assertion }))
        .await
        .expect(200);
}

/// The master key turns over while the server runs and serves machines (K03).
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_master_key_rotates_under_a_running_server() {
    let database = TestDatabase::create(Database::Sqlite).await;
    let mut server = ServerProcess::prepare(&database.folder().join("data"), None);
    server.serve();
    let admin = crate::admin(&server).await;
    let tenant = admin.create_tenant("acme").await;
    let project = admin.create_project(&tenant, "lab").await;
    let wrapped = serde_json::json!({"name": "before", "key_delivery": "wrapped"});
    let before =
        admin.post(&format!("/api/v1/projects/{project}/service-accounts"), &wrapped).await.expect(201);
    let said = succeed(&server.run(&["custody", "rotate-master-key"]));
    assert!(said.contains("4 secret(s)"), "{said}");
    let open = serde_json::json!({"token": before.body["wrapped_private_key"]["token"]});
    admin.post("/api/v1/custody/unwrap", &open).await.expect(200);
    let wrapped = serde_json::json!({"name": "after", "key_delivery": "wrapped"});
    let after =
        admin.post(&format!("/api/v1/projects/{project}/service-accounts"), &wrapped).await.expect(201);
    let open = serde_json::json!({"token": after.body["wrapped_private_key"]["token"]});
    admin.post("/api/v1/custody/unwrap", &open).await.expect(200);
    succeed(&server.run(&["custody", "rotate-token-key"]));
}

/// A wrong configuration is refused with the key, the reason and the nearest name; secrets are masked.
#[tokio::test]
async fn the_configuration_is_checked_before_anything_starts() {
    let database = TestDatabase::create(Database::Sqlite).await;
    let server = ServerProcess::prepare(&database.folder().join("data"), None);
    assert!(succeed(&server.run(&["config", "check"])).contains("valid"));
    let wrong = database.folder().join("wrong.toml");
    std::fs::write(&wrong, "[http]\nlisen = \"127.0.0.1:1\"\n").unwrap();
    let said = fail(&server.run(&["--config", &wrong.display().to_string(), "serve"]));
    assert!(said.contains("/http/lisen") && said.contains("http.listen"), "{said}");
    let open = server
        .with("GPUAAS__HTTP__LISTEN", "0.0.0.0:0")
        .with("GPUAAS__DATABASE__URL", "postgres://u:s3cret@h/d");
    let said = fail(&open.run(&["serve"]));
    assert!(said.contains("loopback"), "{said}");
    let shown = open.with("GPUAAS__HTTP__LISTEN", "127.0.0.1:0");
    assert!(!succeed(&shown.run(&["config", "show"])).contains("s3cret"));
}

/// D01: a database of a newer version stops the start and is left as it is.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_newer_database_stops_the_start() {
    use sqlx::Connection as _;
    let database = TestDatabase::create(Database::Sqlite).await;
    let server = ServerProcess::prepare(&database.folder().join("data"), None);
    let file = database.folder().join("data/gpuaas.db");
    let mut connection =
        sqlx::SqliteConnection::connect(&format!("sqlite:{}", file.display())).await.unwrap();
    sqlx::raw_sql("INSERT INTO _sqlx_migrations (version, description, installed_on, success, checksum, execution_time) VALUES (9999, 'f', '2030', 1, x'00', 0)")
        .execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
    let before = std::fs::read(&file).unwrap();
    for command in [["serve"].as_slice(), &["db", "migrate"], &["db", "export", "/dev/null"]] {
        let said = fail(&server.run(command));
        assert!(said.contains("schema_too_new"), "{said}");
    }
    assert_eq!(std::fs::read(&file).unwrap(), before, "not one byte was changed");
}

/// N-04, N-06: every line of the log is one JSON object with the fields of a story, and no secret is in it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_log_is_json_with_a_story_and_without_secrets() {
    let database = TestDatabase::create(Database::Sqlite).await;
    let mut server =
        ServerProcess::prepare(&database.folder().join("data"), None).with("GPUAAS__LOG__LEVEL", "debug");
    server.serve();
    let admin = crate::admin(&server).await.with_header("x-correlation-id", "story-7");
    let tenant = admin.create_tenant("acme").await;
    let project = admin.create_project(&tenant, "lab").await;
    let made = admin
        .post(&format!("/api/v1/projects/{project}/service-accounts"), &serde_json::json!({"name": "ci"}))
        .await
        .expect(201);
    admin.get("/api/v1/tenants?limit=1&cursor=%0d%0a%7b%22level%22%3a%22ERROR%22%7d").await.expect(400);
    server.terminate();
    let log = server.log();
    let mut stories = 0;
    for line in log.lines() {
        let line: serde_json::Value =
            serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        for field in [
            "correlation_id",
            "trace_id",
            "org_id",
            "project_id",
            "app_instance_id",
            "operating_mode",
            "control_plane_scope",
            "runtime_backend",
        ] {
            assert!(line.get(field).is_some(), "{field} is missing in {line}");
        }
        assert_ne!(line["level"], "ERROR", "{line}");
        if line["correlation_id"] == "story-7" && line["org_id"] == serde_json::json!(tenant) {
            stories += 1;
        }
    }
    assert!(stories >= 1, "the tenant's story is in the log");
    let file = crate::admin_file(&server);
    let pem = made.body["private_key_pem"].as_str().unwrap().lines().nth(1).unwrap();
    let token = admin.header("authorization").unwrap();
    for secret in [file["password"].as_str().unwrap(), pem, token.splitn(3, '_').nth(2).unwrap()] {
        assert!(!log.contains(secret), "a secret is in the log");
    }
}

/// A platform whose master key is gone is not given a new one, and what is there is for its owner alone.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_master_key_is_not_replaced() {
    let database = TestDatabase::create(Database::Sqlite).await;
    let data = database.folder().join("data");
    let server = ServerProcess::prepare(&data, None);
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&data), 0o700);
    for file in ["gpuaas.db", "master-key.json"] {
        assert_eq!(mode(&data.join(file)), 0o600, "{file}");
    }
    let key = data.join("master-key.json");
    std::fs::rename(&key, data.join("elsewhere")).unwrap();
    let said = fail(&server.run(&["serve"]));
    assert!(said.contains("master_key_missing"), "{said}");
    assert!(!key.exists());
}

/// N09: a body that trickles in is given up in time, whoever sends it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stalled_body_is_given_up() {
    use std::io::{Read as _, Write as _};
    let database = TestDatabase::create(Database::Sqlite).await;
    let mut server = ServerProcess::prepare(&database.folder().join("data"), None)
        .with("GPUAAS__HTTP__REQUEST_TIMEOUT_SECONDS", "1");
    server.serve();
    let address = server.url().replace("http://", "");
    let mut stream = std::net::TcpStream::connect(&address).unwrap();
    stream.set_read_timeout(Some(std::time::Duration::from_secs(10))).unwrap();
    let head = format!(
        "POST /api/v1/auth/login HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{{"
    );
    stream.write_all(head.as_bytes()).unwrap();
    let mut answer = [0; 12];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"HTTP/1.1 503");
}

/// N09: who connects and never comes to a request is let go, whichever protocol they may have begun with.
#[tokio::test]
async fn who_never_asks_is_let_go() {
    use std::io::{Read as _, Write as _};
    let database = TestDatabase::create(Database::Sqlite).await;
    let mut server = ServerProcess::prepare(&database.folder().join("data"), None)
        .with("GPUAAS__HTTP__HEADER_TIMEOUT_SECONDS", "1");
    server.serve();
    let address = server.url().replace("http://", "");
    let beginnings: [&[u8]; 5] =
        [b"", b"P", b"GET / HTT", b"PRI * HTTP/2.0\r\n\r\nSM\r\n", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"];
    for beginning in beginnings {
        let mut stream = std::net::TcpStream::connect(&address).unwrap();
        stream.set_read_timeout(Some(std::time::Duration::from_secs(10))).unwrap();
        stream.write_all(beginning).unwrap();
        let mut said = Vec::new();
        let ended = stream.read_to_end(&mut said);
        assert!(ended.is_ok(), "{:?}: {ended:?}", String::from_utf8_lossy(beginning));
    }
}
