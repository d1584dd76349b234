//! Moving a platform between databases (D05).

use gpuaas_domain::chain::Stream;
use gpuaas_domain::event::{Change, EventType, ObjectRef};
use gpuaas_domain::iam::{Permit, Scope};
use gpuaas_testkit::Database;
use serde_json::json;

use crate::Bench;

fn permit() -> Permit {
    Permit::system("test", Scope::Platform)
}

async fn fill(b: &Bench) {
    let mut tx = b.store.begin(&permit(), b.stamp()).await.unwrap();
    tx.insert_platform(b.uuid(), "mk-test", b.now()).await.unwrap();
    tx.commit(Change::new("platform.create", ObjectRef::new("platform", 1)), None).await.unwrap();
    for number in 0..30 {
        let tenant = b.tenant(&format!("tenant-{number}"));
        let mut tx = b.store.begin(&permit(), b.stamp()).await.unwrap();
        tx.insert_tenant(&tenant).await.unwrap();
        let change = Change::new("tenants.create", ObjectRef::new("tenant", tenant.id))
            .after(tenant.audit_view())
            .event(EventType::TenantCreated, json!({"slug": tenant.slug, "odd": "\"\\\n\u{1F600}"}));
        tx.commit(change, None).await.unwrap();
    }
    let now = b.now();
    let tx = b.store.begin(&permit(), b.stamp()).await.unwrap();
    let lease = tx.acquire_lease("sequencer", "me", now, now.plus_seconds(60)).await.unwrap().unwrap();
    for stream in Stream::ALL {
        // Some rows stay unnumbered on purpose.
        let tx = b.store.begin(&permit(), b.stamp()).await.unwrap();
        tx.number_waiting(&lease, stream, 20).await.unwrap();
    }
}

async fn moves(from: Database, to: Database) {
    let (source, target) = (Bench::new(from).await, Bench::new(to).await);
    fill(&source).await;
    let mut file = Vec::new();
    let exported = source.store.export(&mut file).await.unwrap();
    let imported = target.store.import(&mut file.as_slice(), target.stamp(), false).await.unwrap();
    assert_eq!(exported, imported);
    assert_eq!(exported["tenants"].rows, 30);
    assert!(exported["unnumbered"].rows > 0);
    let mut again = Vec::new();
    assert_eq!(target.store.export(&mut again).await.unwrap(), exported, "exported again, it is the same");
    let verified = target.store.read().await.unwrap().verify_chain(Stream::Audit, 1, 1000).await.unwrap();
    assert!(verified.broken.is_none() && verified.checked == 20, "{verified:?}");
    // A second import finds the target full and changes nothing.
    let refused = target.store.import(&mut file.as_slice(), target.stamp(), false).await.unwrap_err();
    assert_eq!(refused.code(), "database_not_empty");
}

/// Shown by (d): from SQLite to PostgreSQL, equal.
#[tokio::test(flavor = "multi_thread")]
async fn from_sqlite_to_postgres() {
    moves(Database::Sqlite, Database::Postgres).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn from_postgres_to_sqlite() {
    moves(Database::Postgres, Database::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn from_sqlite_to_sqlite() {
    moves(Database::Sqlite, Database::Sqlite).await;
}

/// A cut, doubled or changed file is refused, and nothing of it arrives.
#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_file_changes_nothing() {
    let source = Bench::new(Database::Sqlite).await;
    fill(&source).await;
    let mut file = Vec::new();
    source.store.export(&mut file).await.unwrap();
    let text = String::from_utf8(file).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let row = lines.iter().position(|line| line.contains("tenant-7")).unwrap();
    let without = |index: usize| {
        lines
            .iter()
            .enumerate()
            .filter(|(at, _)| *at != index)
            .map(|(_, line)| *line)
            .collect::<Vec<_>>()
            .join("\n")
    };
    let start = text.find("\"schema\":[1,").unwrap();
    let schema = text[start..].split_inclusive(']').next().unwrap().to_owned();
    let damaged = [
        String::new(),
        text[..text.len() / 2].to_owned(),
        without(0),
        without(row),
        without(lines.len() - 1),
        text.replace("tenant-7", "tenant-x"),
        text.replacen("gpuaas-export/1", "gpuaas-export/9", 1),
        text.replacen(&schema, &schema.replace(']', ",9999]"), 1),
        text.replacen(&schema, &schema.replace("[1,", "["), 1),
        text.replacen("\"table\":\"tenants\"", "\"table\":\"nonsense\"", 1),
        format!("{text}{{\"row\":{{}}}}\n"),
    ];
    for (number, file) in damaged.iter().enumerate() {
        let target = Bench::new(Database::Sqlite).await;
        let refused = target.store.import(&mut file.as_bytes(), target.stamp(), false).await;
        assert!(refused.is_err(), "damage {number} was accepted");
        let prints = target.store.snapshot().await.unwrap().fingerprint().await.unwrap();
        assert!(prints.values().all(|print| print.rows == 0), "damage {number} left rows");
    }
}

/// D01: what an older version exported, which knew fewer tables, comes in; the new tables are empty.
#[tokio::test(flavor = "multi_thread")]
async fn an_older_export_comes_in() {
    let source = Bench::new(Database::Sqlite).await;
    fill(&source).await;
    let mut file = Vec::new();
    source.store.export(&mut file).await.unwrap();
    let text = String::from_utf8(file).unwrap();
    let (mut old, mut skipping) = (Vec::new(), false);
    for line in text.lines() {
        let mut value: serde_json::Value = serde_json::from_str(line).unwrap();
        if let Some(table) = value.get("table").and_then(serde_json::Value::as_str) {
            skipping = LATER.contains(&table);
        }
        if let Some(end) = value.get_mut("end").and_then(serde_json::Value::as_object_mut) {
            skipping = false;
            end.retain(|table, _| !LATER.contains(&table.as_str()));
        }
        if let Some(format) = value.get_mut("format").and_then(serde_json::Value::as_object_mut) {
            format["schema"] = serde_json::json!([1]);
        }
        if !skipping {
            old.push(value.to_string());
        }
    }
    let target = Bench::new(Database::Postgres).await;
    target.store.import(&mut old.join("\n").as_bytes(), target.stamp(), false).await.unwrap();
    let prints = target.store.snapshot().await.unwrap().fingerprint().await.unwrap();
    assert!(prints["tenants"].rows > 0 && prints["nodes"].rows == 0);
}

/// Tables that the first version did not have.
const LATER: &[&str] = &[
    "nodes",
    "join_tokens",
    "node_gpus",
    "task_keys",
    "skus",
    "sku_prices",
    "allocations",
    "gpu_holds",
    "port_holds",
    "compute_holds",
    "usage_intervals",
    "apps",
    "app_versions",
    "app_manifests",
    "entitlements",
    "app_instances",
    "app_instance_revisions",
    "app_instance_members",
    "app_instance_components",
    "app_instance_endpoints",
    "app_instance_events",
    "node_tasks",
    "receipts",
];

/// D03, D04: a restore bumps the era, so that nodes notice a database that went back in time.
#[tokio::test(flavor = "multi_thread")]
async fn a_restore_bumps_the_era() {
    let (source, target) = (Bench::new(Database::Sqlite).await, Bench::new(Database::Postgres).await);
    fill(&source).await;
    let mut file = Vec::new();
    source.store.export(&mut file).await.unwrap();
    target.store.import(&mut file.as_slice(), target.stamp(), true).await.unwrap();
    assert_eq!(target.store.read().await.unwrap().find_platform().await.unwrap().unwrap().era, 2);
}
