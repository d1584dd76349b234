//! Real programs, real Docker: a container outlives the death of everything around it, and nothing is left in the end.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use gpuaas_api::Route;
use gpuaas_testkit::process::{AgentProcess, RegistryProcess, ServerProcess};
use gpuaas_testkit::{Caller, Database, TestDatabase, manifest};
use serde_json::{Value, json};

const PATIENCE: Duration = Duration::from_mins(1);

fn docker(arguments: &[&str]) -> String {
    let output = Command::new("docker").args(arguments).output().expect("apt-get install docker.io");
    assert!(output.status.success(), "docker {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// A platform of processes with one node on the real engine, and an app that may be launched.
struct Stage {
    server: ServerProcess,
    agent: AgentProcess,
    admin: Caller,
    project: String,
    allocation: String,
    node: String,
    registry: RegistryProcess,
    _database: TestDatabase,
}

impl Stage {
    async fn build(kind: Database, runtime: &str) -> Self {
        let registry = RegistryProcess::start();
        let digest = registry.push_web("apps/web").await;
        let database = TestDatabase::create(kind).await;
        let url = (kind == Database::Postgres).then_some(database.url.as_str());
        let mut server = ServerProcess::prepare(&database.folder().join("data"), url);
        let host = registry.host();
        server.set("GPUAAS__LAUNCH__REGISTRIES", &format!("{host}=http://{host}"));
        server.serve();
        let admin = crate::admin(&server).await;
        let token = admin.call(Route::JoinTokenCreate, &[], None).await.expect(201).body;
        let text = |name: &str| token[name].as_str().expect("a text").to_owned();
        let folder = database.folder().join("agent");
        let mut agent = AgentProcess::join(&folder, &text("server"), &text("token"), &agent_config(runtime));
        agent.start();
        let project =
            admin.call(Route::ProjectListMine, &[], None).await.expect(200).body["items"][0].clone();
        let project = project["id"].as_str().expect("the demo project").to_owned();
        let node = wait(
            || agent.log(),
            async || {
                let nodes = admin.call(Route::NodeList, &[], None).await.expect(200).body["items"].clone();
                (nodes[0]["ready"] == true).then(|| nodes[0]["id"].as_str().unwrap_or_default().to_owned())
            },
        )
        .await;
        let sku = json!({"slug": "small", "shape": "gpu_slice", "gpu_count": 0, "vcpu": 1, "memory_mib": 512, "grant_policy": "auto"});
        admin.call(Route::SkuCreate, &[], Some(&sku)).await.expect(201);
        let asked = admin
            .call(Route::AllocationRequest, &[&project], Some(&json!({"sku": "small"})))
            .await
            .expect(201);
        let mut app = manifest("web", "1.0.0");
        let image = format!("{host}/apps/web@{digest}");
        app["artifact_ref"] = json!(image);
        app["runtime_profile"]["image_ref"] = json!(image);
        app["runtime_profile"]["readiness"] =
            json!({"check": {"kind": "http", "port": 8080, "path": "/"}, "interval_ms": 100});
        app["runtime_profile"]["read_only_root"] = json!(true);
        admin.call(Route::ManifestRegister, &[], Some(&app)).await.expect(201);
        admin.call(Route::AppPublish, &["web", "1.0.0"], None).await.expect(200);
        admin
            .call(Route::EntitlementSet, &[&project, "web"], Some(&json!({"enabled": true})))
            .await
            .expect(200);
        Self { server, agent, admin, project, allocation: asked.id(), node, registry, _database: database }
    }

    async fn create(&self) -> String {
        let wish =
            json!({"slug": "web", "target_allocation_id": self.allocation, "resources": {"memory_mib": 64}});
        self.admin.call(Route::InstanceCreate, &[&self.project], Some(&wish)).await.expect(202).id()
    }

    async fn command(&self, route: Route, id: &str) {
        self.admin.call(route, &[&self.project, id], None).await.expect(202);
    }

    async fn reaches(&self, id: &str, done: impl Fn(&Value) -> bool) -> Value {
        let look = async || {
            let path = Route::InstanceGet.path(&[&self.project, &id]);
            let request = self.admin.http().get(format!("{}{path}", self.admin.url()));
            let request = request.header("authorization", self.admin.header("authorization")?);
            let body: Value = request.send().await.ok()?.json().await.ok()?;
            assert!(body["status"] != "failed", "{}", body["failure_message"]);
            done(&body).then_some(body)
        };
        wait(|| format!("{}\n{}", self.server.log(), self.agent.log()), look).await
    }

    async fn runs(&self, id: &str) -> Value {
        self.reaches(id, |body| body["status"] == "running" && body["current_operation"].is_null()).await
    }

    fn mine(&self, kind: &[&str]) -> Vec<String> {
        let filter = format!("label=gpuaas.node={}", self.node);
        let arguments: Vec<&str> = kind.iter().copied().chain(["--filter", &filter, "--quiet"]).collect();
        docker(&arguments).lines().map(str::to_owned).collect()
    }

    /// The process of the only container, and when it started.
    fn process(&self) -> String {
        let containers = self.mine(&["ps", "--all"]);
        assert_eq!(containers.len(), 1, "one container per instance: {containers:?}");
        docker(&[
            "inspect",
            "--format",
            "{{.State.Pid}} {{.State.StartedAt}} {{.RestartCount}}",
            &containers[0],
        ])
    }

    fn nothing_left(&self) {
        assert_eq!(self.mine(&["ps", "--all"]), Vec::<String>::new(), "containers");
        assert_eq!(self.mine(&["network", "ls"]), Vec::<String>::new(), "networks");
        assert_eq!(self.mine(&["volume", "ls"]), Vec::<String>::new(), "volumes");
    }
}

fn agent_config(runtime: &str) -> String {
    // A range and a port of its own: other tests of this machine have nodes too.
    let number = std::process::id() % 200 + 20;
    let port = gpuaas_testkit::process::free_port().max(1024);
    format!(
        "runtime = {runtime:?}\n[network]\nrange = \"10.{number}.0.0/16\"\ninstance_api_port = {port}\n\
         [[gpus]]\nvendor = \"nvidia\"\nmodel = \"Simulated\"\nmemory_mib = 1024\ncount = 1\n"
    )
}

async fn wait<T>(log: impl Fn() -> String, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = look().await {
            return found;
        }
        if begun.elapsed() > PATIENCE {
            let text = log();
            let lines: Vec<&str> = text.lines().collect();
            panic!(
                "waited in vain; the logs end so:\n{}",
                lines[lines.len().saturating_sub(30)..].join("\n")
            );
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

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

#[expect(clippy::disallowed_methods, reason = "what ./test --full says to its tests")]
fn full() -> bool {
    std::env::var_os("GPUAAS_TEST_FULL").is_some()
}

/// N05, R01, *Bad input*: what a registry does wrong has its own name each, and no container starts.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lying_or_absent_registry_is_named() {
    let stage = Stage::build(Database::Sqlite, "docker").await;
    let host = stage.registry.host();
    let failing = async |version: &str, digest: &str| {
        let mut app = manifest("web", version);
        let image = format!("{host}/apps/web@{digest}");
        app["artifact_ref"] = json!(image);
        app["runtime_profile"]["image_ref"] = json!(image);
        stage.admin.call(Route::ManifestRegister, &[], Some(&app)).await.expect(201);
        stage.admin.call(Route::AppPublish, &["web", version], None).await.expect(200);
        let wish = json!({"slug": "web", "app_version": version, "target_allocation_id": stage.allocation});
        let id =
            stage.admin.call(Route::InstanceCreate, &[&stage.project], Some(&wish)).await.expect(202).id();
        let body = wait(
            || stage.agent.log(),
            async || {
                let body =
                    stage.admin.call(Route::InstanceGet, &[&stage.project, &id], None).await.expect(200).body;
                (body["status"] == "failed").then_some(body)
            },
        )
        .await;
        stage.nothing_left();
        body["failure_reason"].as_str().unwrap_or_default().to_owned()
    };
    let missing = format!("sha256:{}", "0".repeat(64));
    assert_eq!(failing("2.0.0", &missing).await, "image_not_found");
    // An image that no test pulled before: the engine may keep the layers of others.
    let digest = stage.registry.push_page("apps/web", &format!("{}\n", stage.node)).await;
    corrupt_layer(&stage.registry.folder().join("data/docker/registry/v2/blobs/sha256"));
    assert_eq!(failing("3.0.0", &digest).await, "image_digest_mismatch");
}

/// Changes one byte of every large blob: those are layers.
fn corrupt_layer(blobs: &Path) {
    for first in std::fs::read_dir(blobs).expect("the registry keeps its blobs in files").flatten() {
        for blob in std::fs::read_dir(first.path()).into_iter().flatten().flatten() {
            let file = blob.path().join("data");
            let mut bytes = std::fs::read(&file).unwrap_or_default();
            if bytes.len() > 100_000 {
                let middle = bytes.len() / 2;
                bytes[middle] ^= 1;
                std::fs::write(&file, bytes).expect("a file");
            }
        }
    }
}
