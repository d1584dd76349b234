//! Real programs, real Docker: a container that speaks for itself.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use gpuaas_api::Route;
use gpuaas_testkit::{Caller, Database, KeyPair, manifest, program_image};
use ring::signature::Ed25519KeyPair;
use serde_json::{Value, json};
use sqlx::Connection as _;

use crate::stage::{Setup, Stage, docker, wait};

/// Publishes the app that our own images have, and launches it.
async fn launch(stage: &Stage) -> String {
    let artifact = stage.author.publish("hello", "platform", &program_image("hello-web")).await;
    let mut app = manifest("hello", "1.0.0");
    app["artifact_ref"] = artifact["reference"].clone();
    app["metering"] = json!({"kind": "session_seconds"});
    let profile = &mut app["runtime_profile"];
    profile["image_ref"] = artifact["reference"].clone();
    profile["readiness"] =
        json!({"check": {"kind": "http", "port": 8080, "path": "/healthz"}, "interval_ms": 100});
    profile["read_only_root"] = json!(true);
    profile["egress"] = json!("platform");
    profile["env"] = json!([{"name": "METER_SECONDS", "value": "1"}]);
    stage.admin.call(Route::ManifestRegister, &[], Some(&app)).await.expect(201);
    stage.admin.call(Route::AppPublish, &["hello", "1.0.0"], None).await.expect(200);
    let yes = json!({"enabled": true});
    stage.admin.call(Route::EntitlementSet, &[&stage.project, "hello"], Some(&yes)).await.expect(200);
    let wish =
        json!({"slug": "hello", "target_allocation_id": stage.allocation, "resources": {"memory_mib": 64}});
    stage.admin.call(Route::InstanceCreate, &[&stage.project], Some(&wish)).await.expect(202).id()
}

/// How many records of an instance are kept, and how many of them have this key.
async fn kept(stage: &Stage, key: &str) -> (i64, i64) {
    let file = stage.folder.parent().expect("the data folder").join("gpuaas.db");
    let url = format!("sqlite:{}?mode=ro", file.display());
    let mut connection = sqlx::SqliteConnection::connect(&url).await.expect("the database");
    let text = "SELECT COUNT(*), COALESCE(SUM(record_key = ?), 0) FROM app_metering_records";
    sqlx::query_as(text).bind(key).fetch_one(&mut connection).await.expect("the table")
}

/// The key of an instance, as somebody who is root on the node could take it.
fn steal(secrets: &Path, instance: &str) -> (String, String, KeyPair) {
    let text = std::fs::read_to_string(secrets.join(instance).join("1-1/main/identity.json"));
    let file: Value = serde_json::from_str(&text.expect("the key file")).expect("JSON");
    let field = |name: &str| file[name].as_str().expect("a text").to_owned();
    let body: String = field("private_key").lines().filter(|line| !line.starts_with('-')).collect();
    let pair = Ed25519KeyPair::from_pkcs8_maybe_unchecked(&STANDARD.decode(body).expect("base64"));
    (
        field("service_account_id"),
        field("audience"),
        KeyPair { pair: pair.expect("a key"), key_id: field("key_id") },
    )
}

#[expect(clippy::disallowed_methods, reason = "the processes have the machine's clock")]
fn now() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after 1970");
    i64::try_from(since.as_secs()).expect("a time")
}

async fn exchange(
    door: &Caller,
    (account, audience, pair): &(String, String, KeyPair),
) -> gpuaas_testkit::Answer {
    let body = json!({"assertion": pair.sign(&pair.assertion(account, audience, now()))});
    door.call(Route::ServiceAccountToken, &[], Some(&body)).await
}

/// K-08, K-09, L-09, M-05, A07: a container reads its key file, gets a token through `GPUAAS_BASE_URL` and tells its usage,
/// some of it twice, which is kept once. Nothing of the key shows outside the file; a stop ends key and token at once and
/// takes the file away; the receipt says so.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_container_speaks_for_itself_until_it_is_stopped() {
    let secrets = tempfile::tempdir_in("/dev/shm").expect("the machine has /dev/shm");
    let agent = format!("[storage]\nsecrets_dir = {:?}\n", secrets.path().display().to_string());
    let stage = Stage::with(Database::Sqlite, "docker", Setup { agent, ..Setup::default() }).await;
    let id = launch(&stage).await;
    stage.runs(&id).await;
    let container = stage.mine(&["ps"])[0].clone();
    let told = || docker(&["logs", &container]);
    // Each record is told again with the next one.
    wait(
        || format!("{}\n{}\n{}", told(), stage.server.log(), stage.agent.log()),
        async || told().contains("metering answered 200 {\"accepted\":2,\"known_before\":1}").then_some(()),
    )
    .await;

    let env = docker(&["inspect", "--format", "{{range .Config.Env}}{{println .}}{{end}}", &container]);
    let value = |name: &str| {
        let found = env.lines().find_map(|line| line.strip_prefix(&format!("{name}=")));
        found.unwrap_or_else(|| panic!("no {name} in {env}")).to_owned()
    };
    let stolen = steal(secrets.path(), &id);
    assert_eq!(
        (value("GPUAAS_SA_ID"), value("GPUAAS_SA_KEY_FILE").as_str()),
        (stolen.0.clone(), "/run/gpuaas/identity.json")
    );
    let door = Caller::new(&value("GPUAAS_BASE_URL"));
    let token =
        exchange(&door, &stolen).await.expect(200).body["access_token"].as_str().expect("a token").to_owned();
    let (inside, outside) = (door.with_bearer(&token), Caller::new(stage.admin.url()).with_bearer(&token));
    let at = |seconds: i64| gpuaas_domain::Timestamp::from_unix_seconds(seconds).expect("a time");
    let record = json!({"meter": "session_seconds", "quantity": 1, "window_start": at(now() - 1), "window_end": at(now()), "key": "twice"});
    let batch = json!({ "records": [record] });
    let before = kept(&stage, "twice").await;
    assert!(before.0 >= 2 && before.1 == 0, "{before:?}");
    for (caller, known) in [(&inside, 0), (&outside, 1)] {
        let answer = caller.call(Route::OwnMetering, &[&id], Some(&batch)).await.expect(200);
        assert_eq!(answer.body, json!({"accepted": 1, "known_before": known}));
    }
    assert_eq!(kept(&stage, "twice").await.1, 1);
    let status = inside.call(Route::OwnStatus, &[&id], None).await.expect(200).body;
    assert_eq!(status["status"], "running");
    inside.call(Route::InstanceGet, &[&stage.project, &id], None).await.expect(404);
    outside.call(Route::InstanceGet, &[&stage.project, &id], None).await.expect_error(401, "invalid_token");

    let seen =
        format!("{}{}{}{}", docker(&["inspect", &container]), told(), stage.agent.log(), stage.server.log());
    let key =
        std::fs::read_to_string(secrets.path().join(&id).join("1-1/main/identity.json")).expect("the file");
    let key: Value = serde_json::from_str(&key).expect("JSON");
    let key = key["private_key"].as_str().and_then(|pem| pem.lines().nth(1)).expect("the key").to_owned();
    assert!(!seen.contains(&key) && !seen.contains("BEGIN PRIVATE KEY") && !seen.contains(&token));

    stage.command(Route::InstanceStop, &id).await;
    outside.call(Route::OwnMetering, &[&id], Some(&batch)).await.expect_error(401, "invalid_token");
    exchange(&Caller::new(stage.admin.url()), &stolen).await.expect_error(401, "invalid_assertion");
    stage.reaches(&id, |body| body["status"] == "stopped").await;
    assert_eq!(std::fs::read_dir(secrets.path()).expect("the folder").count(), 0);
    stage.command(Route::InstanceDecommission, &id).await;
    stage.reaches(&id, |body| !body["decommissioned_at"].is_null()).await;
    let receipt = stage.admin.call(Route::InstanceReceipt, &[&stage.project, &id], None).await.expect(200);
    assert!(receipt.text.contains("secret") && receipt.text.contains("1-1/main"), "{}", receipt.text);
    stage.nothing_left();
}
