//! A platform of processes with one node.

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use gpuaas_api::Route;
use gpuaas_testkit::process::{AgentProcess, ServerProcess};
use gpuaas_testkit::{Author, Caller, Database, TestDatabase, manifest, web_image};
use serde_json::{Value, json};

pub(crate) const PATIENCE: Duration = Duration::from_mins(1);

pub(crate) fn docker(arguments: &[&str]) -> String {
    let output = Command::new("docker").args(arguments).output().expect("apt-get install docker.io");
    assert!(output.status.success(), "docker {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// A platform of processes with one node on the real engine, and an app that may be launched.
pub(crate) struct Stage {
    pub(crate) server: ServerProcess,
    pub(crate) agent: AgentProcess,
    pub(crate) admin: Caller,
    pub(crate) project: String,
    pub(crate) allocation: String,
    pub(crate) node: String,
    pub(crate) author: Author,
    /// Where the registry keeps its bytes, for tests that change them.
    pub(crate) folder: PathBuf,
    pub(crate) database: TestDatabase,
}

/// What a stage may have of its own.
#[derive(Default)]
pub(crate) struct Setup {
    /// More settings of the agent, in TOML, before its devices.
    pub(crate) agent: String,
    pub(crate) agent_folder: Option<PathBuf>,
    /// What the agent runs in, as `ip netns exec NAME`.
    pub(crate) within: Vec<String>,
    /// The address that nodes dial.
    pub(crate) listen: Option<String>,
    /// More nodes will join than one address usually has.
    pub(crate) crowded: bool,
}

impl Stage {
    pub(crate) async fn build(kind: Database, runtime: &str) -> Self {
        Self::with(kind, runtime, Setup::default()).await
    }

    pub(crate) async fn with(kind: Database, runtime: &str, setup: Setup) -> Self {
        let database = TestDatabase::create(kind).await;
        let url = (kind == Database::Postgres).then_some(database.url.as_str());
        let mut server = ServerProcess::prepare(&database.folder().join("data"), url);
        if let Some(listen) = &setup.listen {
            server.set("GPUAAS__AGENTS__LISTEN", listen);
        }
        if setup.crowded {
            server.lift_limits();
        }
        server.serve();
        let admin = crate::admin(&server).await;
        let token = admin.call(Route::JoinTokenCreate, &[], None).await.expect(201).body;
        let text = |name: &str| token[name].as_str().expect("a text").to_owned();
        let folder = setup.agent_folder.unwrap_or_else(|| database.folder().join("agent"));
        let config = agent_config(runtime, &setup.agent);
        let mut agent = AgentProcess::join(&folder, &text("server"), &text("token"), &config, &setup.within);
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
        let author = Author::new(&admin, &project, "author").await;
        let artifact = author.publish("web", "platform", &web_image("hello\n")).await;
        let mut app = manifest("web", "1.0.0");
        app["artifact_ref"] = artifact["reference"].clone();
        app["runtime_profile"]["image_ref"] = artifact["reference"].clone();
        app["runtime_profile"]["readiness"] =
            json!({"check": {"kind": "http", "port": 8080, "path": "/"}, "interval_ms": 100});
        app["runtime_profile"]["read_only_root"] = json!(true);
        admin.call(Route::ManifestRegister, &[], Some(&app)).await.expect(201);
        admin.call(Route::AppPublish, &["web", "1.0.0"], None).await.expect(200);
        admin
            .call(Route::EntitlementSet, &[&project, "web"], Some(&json!({"enabled": true})))
            .await
            .expect(200);
        let folder = database.folder().join("data").join("registry");
        let allocation = asked.id();
        Self { server, agent, admin, project, allocation, node, author, folder, database }
    }

    pub(crate) async fn create(&self) -> String {
        let wish =
            json!({"slug": "web", "target_allocation_id": self.allocation, "resources": {"memory_mib": 64}});
        self.admin.call(Route::InstanceCreate, &[&self.project], Some(&wish)).await.expect(202).id()
    }

    pub(crate) async fn command(&self, route: Route, id: &str) {
        self.admin.call(route, &[&self.project, id], None).await.expect(202);
    }

    pub(crate) async fn reaches(&self, id: &str, done: impl Fn(&Value) -> bool) -> Value {
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

    pub(crate) async fn runs(&self, id: &str) -> Value {
        self.reaches(id, |body| body["status"] == "running" && body["current_operation"].is_null()).await
    }

    pub(crate) fn mine(&self, kind: &[&str]) -> Vec<String> {
        let filter = format!("label=gpuaas.node={}", self.node);
        let arguments: Vec<&str> = kind.iter().copied().chain(["--filter", &filter, "--quiet"]).collect();
        docker(&arguments).lines().map(str::to_owned).collect()
    }

    /// The process of the only container, and when it started.
    pub(crate) fn process(&self) -> String {
        let containers = self.mine(&["ps", "--all"]);
        assert_eq!(containers.len(), 1, "one container per instance: {containers:?}");
        docker(&[
            "inspect",
            "--format",
            "{{.State.Pid}} {{.State.StartedAt}} {{.RestartCount}}",
            &containers[0],
        ])
    }

    pub(crate) fn nothing_left(&self) {
        assert_eq!(self.mine(&["ps", "--all"]), Vec::<String>::new(), "containers");
        assert_eq!(self.mine(&["network", "ls"]), Vec::<String>::new(), "networks");
        assert_eq!(self.mine(&["volume", "ls"]), Vec::<String>::new(), "volumes");
    }
}

/// Whatever happened, a test leaves the engine as it found it.
impl Drop for Stage {
    fn drop(&mut self) {
        self.agent.kill();
        let filter = format!("label=gpuaas.node={}", self.node);
        for (list, remove) in
            [(&["ps", "--all"][..], &["rm", "--force"][..]), (&["network", "ls"], &["network", "rm"])]
        {
            let found = Command::new("docker").args(list).args(["--quiet", "--filter", &filter]).output();
            let found = found.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
            for id in found.unwrap_or_default().lines() {
                let _ = Command::new("docker").args(remove).arg(id).output();
            }
        }
    }
}

fn agent_config(runtime: &str, more: &str) -> String {
    // A range and a port of its own: other tests have nodes on this machine too, and of two agents with one range the later takes
    // the other's rules away.
    static STAGES: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let stage = STAGES.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let number = (std::process::id() + stage) % 180 + 20;
    let port = gpuaas_testkit::process::free_port().max(1024);
    format!(
        "runtime = {runtime:?}\n{more}[network]\nrange = \"10.{number}.0.0/16\"\ninstance_api_port = {port}\n\
         [[gpus]]\nvendor = \"nvidia\"\nmodel = \"Simulated\"\nmemory_mib = 1024\ncount = 1\n"
    )
}

pub(crate) async fn wait<T>(log: impl Fn() -> String, mut look: impl AsyncFnMut() -> Option<T>) -> T {
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

#[expect(clippy::disallowed_methods, reason = "what ./test --full says to its tests")]
pub(crate) fn full() -> bool {
    std::env::var_os("GPUAAS_TEST_FULL").is_some()
}
