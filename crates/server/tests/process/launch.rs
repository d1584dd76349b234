//! Real programs, real Docker: a container outlives the death of everything around it, and nothing is left in the end.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use gpuaas_api::Route;
use gpuaas_testkit::{Caller, Database, manifest, web_image};
use serde_json::{Value, json};

use crate::stage::{PATIENCE, Stage, full, wait};

/// C05, C06, I14, H-22, and *Shown by* (b): `kill -9` of server and agent never touches the container, and in the middle of
/// every operation only delays it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_container_outlives_server_and_agent() {
    let mut stage = Stage::build(Database::Sqlite, "docker").await;
    let id = stage.create().await;
    stage.server.kill();
    stage.agent.kill();
    stage.server.serve();
    stage.agent.start();
    stage.runs(&id).await;
    let process = stage.process();

    for round in 0..3 {
        stage.agent.kill();
        assert_eq!(stage.process(), process, "round {round}: the agent's death is not the container's");
        stage.server.kill();
        stage.server.serve();
        stage.agent.start();
        wait(
            || stage.agent.log(),
            async || {
                let node = stage.admin.call(Route::NodeGet, &[&stage.node], None).await.expect(200).body;
                (node["ready"] == true).then_some(())
            },
        )
        .await;
        stage.runs(&id).await;
        assert_eq!(stage.process(), process, "round {round}: same pid, same start, no restart");
    }

    for (route, done) in [
        (Route::InstanceStop, "stopped"),
        (Route::InstanceStart, "running"),
        (Route::InstanceDecommission, ""),
    ] {
        stage.command(route, &id).await;
        stage.agent.kill();
        stage.server.kill();
        stage.agent.start();
        stage.server.serve();
        let over = |body: &Value| match done {
            "" => !body["decommissioned_at"].is_null(),
            status => body["status"] == status && body["current_operation"].is_null(),
        };
        stage.reaches(&id, over).await;
    }
    let receipt = stage.admin.call(Route::InstanceReceipt, &[&stage.project, &id], None).await.expect(200);
    assert_eq!(receipt.body["attested"], true);
    stage.nothing_left();
}

/// *Shown by* (c): cycle after cycle, nothing is left. Fifty of them with `--full`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cycles_leave_nothing_behind() {
    let stage = Stage::build(Database::Sqlite, "docker").await;
    for _ in 0..if full() { 50 } else { 4 } {
        let id = stage.create().await;
        stage.runs(&id).await;
        stage.command(Route::InstanceDecommission, &id).await;
        stage.reaches(&id, |body| !body["decommissioned_at"].is_null()).await;
        stage.nothing_left();
    }
}

/// C01, C03: death of the server at the first pass of each fault point that a launch and its end meet (those of the upkeep
/// are not among them); on PostgreSQL too with `--full`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn death_of_the_server_on_the_way_only_delays() {
    let points = [
        "launch.plan",
        "api.commit",
        "api.answer",
        "dispatch.sign",
        "dispatch.send",
        "dispatch.note",
        "report.record",
    ];
    die_at(&points, true).await;
}

/// The same for the agent at ten of its points; `node-agent/tests/executor` has all of them without a process of its own.
/// The simulated engine dies with the agent, so what ran is brought up again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn death_of_the_agent_on_the_way_only_delays() {
    let points = [
        "agent.journal",
        "agent.network",
        "agent.create",
        "agent.start",
        "agent.ready",
        "agent.stop",
        "agent.remove_container",
        "agent.remove_network",
        "agent.verify",
        "agent.receipt",
    ];
    die_at(&points, false).await;
}

async fn die_at(points: &[&str], is_server: bool) {
    let kinds: &[Database] =
        if full() { &[Database::Sqlite, Database::Postgres] } else { &[Database::Sqlite] };
    for kind in kinds {
        let mut stage = Stage::build(*kind, "simulated").await;
        for point in points {
            let fault = format!("{point}:die");
            if is_server {
                stage.server.kill();
                stage.server.set("GPUAAS_FAULT", &fault);
                stage.server.serve();
            } else {
                stage.agent.kill();
                stage.agent.set("GPUAAS_AGENT_FAULT", &fault);
                stage.agent.start();
            }
            assert!(live_and_heal(&mut stage, point).await, "{point} was never reached");
            stage.server.unset("GPUAAS_FAULT");
            stage.agent.unset("GPUAAS_AGENT_FAULT");
        }
    }
}

/// One whole life with somebody who restarts what dies. Says whether anything died.
async fn live_and_heal(stage: &mut Stage, point: &str) -> bool {
    let mut died = false;
    let key = format!("life-{point}");
    let caller = stage.admin.clone().with_header("idempotency-key", &key);
    let wish =
        json!({"slug": "web", "target_allocation_id": stage.allocation, "resources": {"memory_mib": 64}});
    let path = Route::InstanceCreate.path(&[&stage.project]);
    let body = insist(stage, &mut died, &caller, &path, Some(&wish)).await;
    let id = body["id"].as_str().expect("an id").to_owned();
    follow(stage, &mut died, &id, |body| body["status"] == "running").await;
    let path = Route::InstanceDecommission.path(&[&stage.project, &id]);
    insist(stage, &mut died, &caller, &path, None).await;
    follow(stage, &mut died, &id, |body| !body["decommissioned_at"].is_null()).await;
    died
}

/// What a careful client and a service manager do together: the same key again until it is answered.
async fn insist(
    stage: &mut Stage,
    died: &mut bool,
    caller: &Caller,
    path: &str,
    body: Option<&Value>,
) -> Value {
    let begun = Instant::now();
    loop {
        heal(stage, died);
        let mut request = caller.http().post(format!("{}{path}", caller.url()));
        for name in ["authorization", "idempotency-key"] {
            request = request.header(name, caller.header(name).unwrap_or_default());
        }
        if let Some(body) = body {
            request = request.json(body);
        }
        if let Ok(answer) = request.send().await
            && answer.status().as_u16() == 202
            && let Ok(body) = answer.json().await
        {
            return body;
        }
        assert!(begun.elapsed() < PATIENCE, "no answer to {path}: {}", stage.server.log());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

async fn follow(stage: &mut Stage, died: &mut bool, id: &str, done: impl Fn(&Value) -> bool) {
    let begun = Instant::now();
    loop {
        heal(stage, died);
        let path = Route::InstanceGet.path(&[&stage.project, &id]);
        let request = stage.admin.http().get(format!("{}{path}", stage.admin.url()));
        let request =
            request.header("authorization", stage.admin.header("authorization").unwrap_or_default());
        if let Ok(answer) = request.send().await
            && let Ok(body) = answer.json::<Value>().await
            && done(&body)
        {
            return;
        }
        assert!(begun.elapsed() < PATIENCE, "{id}: {}\n{}", stage.server.log(), stage.agent.log());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

fn heal(stage: &mut Stage, died: &mut bool) {
    if stage.server.has_died() {
        *died = true;
        stage.server.unset("GPUAAS_FAULT");
        stage.server.serve();
    }
    if stage.agent.has_died() {
        *died = true;
        stage.agent.unset("GPUAAS_AGENT_FAULT");
        stage.agent.start();
    }
}

/// A version of `web` with an image of its own, up to active.
async fn version(stage: &Stage, number: &str) -> Value {
    let page = format!("{number} {}\n", stage.node);
    let artifact = stage.author.publish("web", "platform", &web_image(&page)).await;
    let mut app = manifest("web", number);
    app["artifact_ref"] = artifact["reference"].clone();
    app["runtime_profile"]["image_ref"] = artifact["reference"].clone();
    stage.admin.call(Route::ManifestRegister, &[], Some(&app)).await.expect(201);
    stage.admin.call(Route::AppPublish, &["web", number], None).await.expect(200);
    artifact
}

/// Launches a version that must not start; gives reason and message.
async fn fails(stage: &Stage, number: &str) -> (String, String) {
    let wish = json!({"slug": "web", "app_version": number, "target_allocation_id": stage.allocation});
    let id = stage.admin.call(Route::InstanceCreate, &[&stage.project], Some(&wish)).await.expect(202).id();
    let body = wait(
        || stage.agent.log(),
        async || {
            let body =
                stage.admin.call(Route::InstanceGet, &[&stage.project, &id], None).await.expect(200).body;
            assert_ne!(body["status"], "running", "it started");
            (body["status"] == "failed").then_some(body)
        },
    )
    .await;
    stage.nothing_left();
    let text = |name: &str| body[name].as_str().unwrap_or_default().to_owned();
    (text("failure_reason"), text("failure_message"))
}

/// Where the registry keeps the manifests of `web`.
fn manifests(stage: &Stage) -> PathBuf {
    stage.folder.join("repositories/platform/web/_manifests")
}

fn content(stage: &Stage, digest: &str) -> PathBuf {
    let hex = digest.trim_start_matches("sha256:");
    stage.folder.join("content/sha256").join(&hex[..2]).join(hex)
}

/// The manifest in this file, after the line with its type.
fn read_manifest(file: &Path) -> Value {
    let text = std::fs::read_to_string(file).expect("a manifest");
    serde_json::from_str(text.split_once('\n').expect("a line").1).expect("JSON")
}

/// Changes one byte in the middle.
fn corrupt(file: &Path) {
    let mut bytes = std::fs::read(file).expect("a file");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(file, bytes).expect("a file");
}

/// N05, R01, R02, F-25, *Shown by (c)*: one byte changed in blob, manifest or signature stops the launch, each with a
/// reason that names it, and no container is made.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_changed_byte_stops_a_launch_and_is_named() {
    let mut stage = Stage::build(Database::Sqlite, "docker").await;
    let digest = |artifact: &Value| artifact["digest"].as_str().expect("a digest").to_owned();
    let file = |digest: &str| digest.replace(':', "-");
    let (config, blob, manifest, payload, signature) = (
        digest(&version(&stage, "6.0.0").await),
        digest(&version(&stage, "2.0.0").await),
        digest(&version(&stage, "3.0.0").await),
        digest(&version(&stage, "4.0.0").await),
        digest(&version(&stage, "5.0.0").await),
    );
    stage.server.kill();
    let folder = manifests(&stage);
    let layers = read_manifest(&folder.join(file(&blob)))["layers"].clone();
    let layer = layers[0]["digest"].as_str().expect("a layer").to_owned();
    corrupt(&content(&stage, &layer));
    let config = read_manifest(&folder.join(file(&config)))["config"]["digest"].clone();
    let config = config.as_str().expect("a config").to_owned();
    corrupt(&content(&stage, &config));
    corrupt(&folder.join(file(&manifest)));
    let signed = |image: &str| {
        let tag = stage.folder.join("repositories/platform/web/_tags").join(format!("{}.sig", file(image)));
        std::fs::read_to_string(tag).expect("a tag").trim().to_owned()
    };
    let about = read_manifest(&folder.join(file(&signed(&payload))));
    let payload = about["layers"][0]["digest"].as_str().expect("what was signed").to_owned();
    corrupt(&content(&stage, &payload));
    let signature = folder.join(file(&signed(&signature)));
    // The signature itself stands in an annotation of its manifest; the file must keep its name, so the tag leads astray.
    corrupt(&signature);
    stage.server.serve();
    let ready = async || {
        let nodes = stage.admin.call(Route::NodeList, &[], None).await.expect(200).body["items"].clone();
        (nodes[0]["ready"] == true).then_some(())
    };
    wait(|| stage.agent.log(), ready).await;
    let cases = [
        ("6.0.0", "image_digest_mismatch", config),
        ("2.0.0", "image_digest_mismatch", layer),
        ("3.0.0", "image_digest_mismatch", manifest),
        ("4.0.0", "image_untrusted", payload),
        ("5.0.0", "image_untrusted", String::new()),
    ];
    for (number, reason, named) in cases {
        let (found, message) = fails(&stage, number).await;
        assert_eq!(found, reason, "{number}: {message}\n{}", stage.agent.log());
        assert!(message.contains(&named), "{number}: {message}");
    }
}
