//! `kill -9` at any moment loses nothing that was acknowledged and doubles nothing.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use gpuaas_testkit::process::ServerProcess;
use gpuaas_testkit::{Caller, Database, TestDatabase};
use serde_json::json;

const CREATES: usize = 2_000;
const CLIENTS: usize = 8;

/// One try; `None` if the server went away before it answered.
async fn try_create(caller: &Caller, path: &str, slug: &str) -> Option<(u16, String)> {
    let request = caller
        .http()
        .post(format!("{}{path}", caller.url()))
        .header("authorization", caller.header("authorization")?)
        .header("idempotency-key", slug)
        .json(&json!({ "slug": slug }))
        .timeout(Duration::from_secs(5));
    let response = request.send().await.ok()?;
    let status = response.status().as_u16();
    let body: serde_json::Value = response.json().await.ok()?;
    Some((status, body["id"].as_str().unwrap_or_default().to_owned()))
}

async fn burst(kind: Database) {
    let database = TestDatabase::create(kind).await;
    let url = (kind == Database::Postgres).then_some(database.url.as_str());
    let mut server = ServerProcess::prepare(&database.folder().join("data"), url);
    server.serve();
    let admin = crate::admin(&server).await;
    let tenant = admin.create_tenant("burst").await;
    let path = format!("/api/v1/tenants/{tenant}/projects");
    let (next, acknowledged) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let clients: Vec<_> = (0..CLIENTS)
        .map(|_| {
            let (admin, path, next, acknowledged) =
                (admin.clone(), path.clone(), next.clone(), acknowledged.clone());
            #[expect(clippy::disallowed_methods, reason = "clients of a test are joined below")]
            tokio::spawn(async move {
                let mut mine = BTreeMap::new();
                loop {
                    let number = next.fetch_add(1, Ordering::SeqCst);
                    if number >= CREATES {
                        return mine;
                    }
                    let slug = format!("p-{number}");
                    // The same key until it is answered: what a careful client does.
                    let (status, id) = loop {
                        match try_create(&admin, &path, &slug).await {
                            Some(answer) if answer.0 == 201 => break answer,
                            Some((status, _)) => assert!([409, 503].contains(&status), "{slug}: {status}"),
                            None => {}
                        }
                        tokio::time::sleep(Duration::from_millis(20)).await;
                    };
                    assert_eq!(status, 201);
                    mine.insert(slug, id);
                    acknowledged.fetch_add(1, Ordering::SeqCst);
                }
            })
        })
        .collect();
    for kill_at in [CREATES / 5, CREATES / 2, CREATES * 4 / 5] {
        while acknowledged.load(Ordering::SeqCst) < kill_at {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        server.kill();
        server.serve();
    }
    let mut expected = BTreeMap::new();
    for client in clients {
        expected.extend(client.await.unwrap());
    }
    assert_eq!(expected.len(), CREATES);
    let mut found = BTreeMap::new();
    let mut cursor = String::new();
    loop {
        let page = admin.get(&format!("{path}?limit=200{cursor}")).await.expect(200);
        for item in page.body["items"].as_array().unwrap() {
            let doubled = found
                .insert(item["slug"].as_str().unwrap().to_owned(), item["id"].as_str().unwrap().to_owned());
            assert!(doubled.is_none(), "{item} is there twice");
        }
        match page.body["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    assert_eq!(found, expected, "every acknowledged create is there once, with the id that was answered");
    // One audit row and one event each, all numbered, and the chains are whole.
    for stream in ["audit", "events"] {
        let mut from = 1;
        loop {
            let report =
                admin.get(&format!("/api/v1/audit/verify?stream={stream}&from={from}")).await.expect(200);
            assert_eq!(report.body["ok"], true, "{}", report.text);
            match report.body["next_from"].as_i64() {
                Some(next) => from = next,
                None => break,
            }
        }
    }
    let export = database.folder().join("export.jsonl");
    let done = server.run(&["db", "export", &export.display().to_string()]);
    assert!(done.status.success());
    let text = std::fs::read_to_string(&export).unwrap();
    for marker in ["\"action\":\"projects.create\"", "\"kind\":\"projects.created\""] {
        let rows = text.lines().filter(|line| line.contains(marker)).count();
        assert_eq!(
            rows,
            CREATES + usize::from(marker.contains("kind")),
            "{marker} (the demo project's event is one more)"
        );
    }
}

/// Shown by (e), A09: 2 000 creates by 8 clients while the server is killed three times.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_acknowledged_create_survives_kill_9_on_sqlite() {
    burst(Database::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_acknowledged_create_survives_kill_9_on_postgres() {
    burst(Database::Postgres).await;
}

/// N10: a stop signal under load finishes what is under way and ends in time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stop_signal_loses_nothing_that_was_answered() {
    let database = TestDatabase::create(Database::Sqlite).await;
    let mut server = ServerProcess::prepare(&database.folder().join("data"), None);
    server.serve();
    let admin = crate::admin(&server).await;
    let tenant = admin.create_tenant("burst").await;
    let path = format!("/api/v1/tenants/{tenant}/projects");
    let done = Arc::new(AtomicUsize::new(0));
    let clients: Vec<_> = (0..4)
        .map(|client| {
            let (admin, path, done) = (admin.clone(), path.clone(), done.clone());
            #[expect(clippy::disallowed_methods, reason = "clients of a test are joined below")]
            tokio::spawn(async move {
                for number in 0.. {
                    match try_create(&admin, &path, &format!("c{client}-{number}")).await {
                        Some((201, _)) => done.fetch_add(1, Ordering::SeqCst),
                        Some(_) | None => return number,
                    };
                }
                unreachable!("the server stops")
            })
        })
        .collect();
    while done.load(Ordering::SeqCst) < 200 {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    let started = std::time::Instant::now();
    assert!(server.terminate().success());
    assert!(started.elapsed() < Duration::from_secs(20));
    let mut answered = 0;
    for client in clients {
        answered += client.await.unwrap();
    }
    server.serve();
    let mut found = 0;
    let mut cursor = String::new();
    loop {
        let page = admin.get(&format!("{path}?limit=200{cursor}")).await.expect(200);
        found += page.body["items"].as_array().unwrap().len();
        match page.body["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    assert!(found >= answered, "{found} found, {answered} answered");
    assert!(!server.log().contains("\"level\":\"ERROR\""));
}

/// N08: a disk that is full costs the writes of that moment, typed, and nothing after.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_is_refused_and_heals() {
    let database = TestDatabase::create(Database::Sqlite).await;
    let mut server = ServerProcess::prepare(&database.folder().join("data"), None);
    server.serve();
    let admin = crate::admin(&server).await;
    let limit = |bytes: &str| {
        let pid = server.pid().to_string();
        let done =
            std::process::Command::new("prlimit").args(["--pid", &pid, &format!("--fsize={bytes}")]).status();
        assert!(done.expect("prlimit of util-linux runs").success());
    };
    limit("4096:unlimited");
    for number in 0..5 {
        let refused = admin.post("/api/v1/tenants", &json!({ "slug": format!("full-{number}") })).await;
        refused.expect_error(503, "database_unavailable");
        admin.get("/api/v1/tenants").await.expect(200);
    }
    limit("unlimited:unlimited");
    admin.create_tenant("healed").await;
    let list = admin.get("/api/v1/tenants").await.expect(200);
    assert!(!list.text.contains("full-"), "nothing half done: {}", list.text);
    server.terminate();
    assert!(!server.log().contains("\"level\":\"ERROR\""), "{}", server.log());
}

/// Several first starts, and several rotations, at once: one at a time, and nothing sealed is lost.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_first_starts_and_rotations_lose_no_key() {
    let database = TestDatabase::create(Database::Sqlite).await;
    let data = database.folder().join("data");
    let file = data.with_extension("admin.json").display().to_string();
    let server = ServerProcess::bare(&data, None);
    let all = |arguments: &[&str]| {
        std::thread::scope(|scope| {
            let runs: Vec<_> = (0..4).map(|_| scope.spawn(|| server.run(arguments))).collect();
            runs.into_iter().map(|run| run.join().unwrap()).collect::<Vec<_>>()
        })
    };
    all(&["bootstrap", "--demo", "--admin-file", &file]);
    let last = server.run(&["bootstrap", "--demo", "--admin-file", &file]);
    assert!(last.status.success(), "{}", String::from_utf8_lossy(&last.stderr));
    for rotated in all(&["custody", "rotate-master-key"]) {
        assert!(rotated.status.success(), "{}", String::from_utf8_lossy(&rotated.stderr));
    }
    let mut server = server;
    server.serve();
    let admin = crate::admin(&server).await;
    let tenant = admin.create_tenant("acme").await;
    let project = admin.create_project(&tenant, "lab").await;
    let body = json!({"name": "ci", "key_delivery": "wrapped"});
    let made = admin.post(&format!("/api/v1/projects/{project}/service-accounts"), &body).await.expect(201);
    admin
        .post("/api/v1/custody/unwrap", &json!({"token": made.body["wrapped_private_key"]["token"]}))
        .await
        .expect(200);
}
