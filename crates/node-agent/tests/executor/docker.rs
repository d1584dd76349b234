//! On the real Docker Engine, with an image made of one static program. Every test has a node id of its own, and takes
//! everything that carries it away, even when it fails.

use std::io::Write as _;
use std::net::Ipv4Addr;
use std::process::{Command, Stdio};
use std::sync::Arc;

use futures_util::{StreamExt as _, TryStreamExt as _};
use gpuaas_agent_protocol::link::LogQuery;
use gpuaas_agent_protocol::report::{Health, Phase};
use gpuaas_agent_protocol::spec::{
    Check, ComponentSpec, Egress, GpuBinding, Port, Probe, RunAs, Scratch, Tmpfs,
};
use gpuaas_agent_protocol::task::Order;
use gpuaas_agent_protocol::{FailureReason, receipt};
use gpuaas_faults::Faults;
use gpuaas_node_agent::executor::Executor;
use gpuaas_node_agent::runtime::docker::{DockerOptions, DockerRuntime};
use gpuaas_node_agent::runtime::labels::Labels;
use gpuaas_node_agent::runtime::suite::{Subject, runtime_suite};
use gpuaas_node_agent::runtime::{ContainerRuntime, Guarding, NetworkPlan};
use gpuaas_node_agent::seams::Failure;
use ring::signature::KeyPair as _;
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use uuid::Uuid;

use crate::support::{
    Door, Images, Node, PATIENCE, component, exec_probe, launch, random_id, remove, stop, wait_for,
    wait_phase, workload,
};

const APPLETS: &[&str] = &[
    "sh", "sleep", "nc", "wget", "httpd", "cat", "id", "touch", "true", "false", "tail", "echo", "mkdir",
    "chmod", "ls",
];

/// A node on the engine of this machine.
pub(crate) struct Real {
    pub(crate) node: Node,
    engine: Arc<DockerRuntime>,
    image: String,
}

impl Real {
    pub(crate) async fn new(user: &str) -> Self {
        Self::with_door(user, Door::default()).await
    }

    async fn with_door(user: &str, door: Door) -> Self {
        let id = random_id();
        let image = format!("gpuaas-test/{id}:1");
        make_image(&image, user);
        let engine = Arc::new(DockerRuntime::new(DockerOptions::new(id)));
        engine.list(id, None).await.expect("start Docker: systemctl start docker");
        let runtime = Arc::clone(&engine) as Arc<dyn ContainerRuntime>;
        let mut node = Node::with(id, runtime, Images::new(Some(image.clone())));
        node.door = Arc::new(door);
        Self { node, engine, image }
    }
}

impl Drop for Real {
    fn drop(&mut self) {
        let label = format!("label=gpuaas.node={}", self.node.id);
        for (list, take) in
            [(&["ps", "-aq"][..], &["rm", "-fv"][..]), (&["network", "ls", "-q"], &["network", "rm"])]
        {
            let ids = Command::new("docker").args(list).args(["--filter", &label]).output();
            let ids =
                ids.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
            if !ids.trim().is_empty() {
                let _ = Command::new("docker").args(take).args(ids.split_whitespace()).output();
            }
        }
        let _ = Command::new("docker").args(["rmi", "-f", &self.image]).output();
    }
}

/// One static program under many names, and the account files that an image has.
fn make_image(name: &str, user: &str) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    for path in ["bin", "etc", "tmp", "data"] {
        std::fs::create_dir(root.join(path)).unwrap();
    }
    std::fs::copy("/bin/busybox", root.join("bin/busybox")).expect("apt-get install busybox-static");
    for applet in APPLETS {
        std::os::unix::fs::symlink("busybox", root.join("bin").join(applet)).unwrap();
    }
    let accounts = "root:x:0:0::/:/bin/sh\napp:x:1234:1235::/:/bin/sh\nsly:x:0:0::/:/bin/sh\n";
    std::fs::write(root.join("etc/passwd"), accounts).unwrap();
    std::fs::write(root.join("etc/group"), "root:x:0:\n").unwrap();
    let tar = Command::new("tar").arg("-C").arg(root).args(["-c", "."]).output().unwrap();
    let mut import = Command::new("docker");
    import.arg("import").stdin(Stdio::piped()).stdout(Stdio::null());
    if !user.is_empty() {
        import.args(["--change", &format!("USER {user}")]);
    }
    let mut import = import.args(["-", name]).spawn().expect("install Docker: apt-get install docker.io");
    import.stdin.take().unwrap().write_all(&tar.stdout).unwrap();
    assert!(import.wait().unwrap().success());
}

pub(crate) fn shell(script: &str) -> ComponentSpec {
    let script = format!("trap 'exit 0' TERM; {script}\nwhile :; do sleep 1 & wait $!; done");
    ComponentSpec { command: vec!["/bin/sh".to_owned(), "-c".to_owned(), script], ..component("main") }
}

pub(crate) fn inspect(name: &str) -> Value {
    let output = Command::new("docker").args(["inspect", name]).output().unwrap();
    serde_json::from_slice::<Value>(&output.stdout).unwrap()[0].take()
}

async fn pid(real: &Real, instance: Uuid) -> Option<i64> {
    real.engine.list(real.node.id, Some(instance)).await.unwrap().containers[0].pid
}

async fn all_logs(executor: &Executor, instance: Uuid) -> String {
    let lines = executor.logs(instance, LogQuery::default()).await.unwrap().unwrap();
    let lines: Vec<_> = lines.try_collect().await.unwrap();
    lines.into_iter().flat_map(|line| [line.line, "\n".to_owned()]).collect()
}

/// Waits for a line of the log.
pub(crate) async fn wait_line(executor: &Executor, instance: Uuid, wanted: &str) -> String {
    let query = LogQuery { follow: true, ..LogQuery::default() };
    let mut lines = executor.logs(instance, query).await.unwrap().unwrap();
    let waiting = async {
        let mut text = String::new();
        while let Some(line) = lines.next().await {
            let line = line.unwrap().line;
            if line.contains(wanted) {
                return line;
            }
            text = format!("{text}{line}\n");
        }
        panic!("the log ended without {wanted}: {text}")
    };
    tokio::time::timeout(PATIENCE, waiting).await.unwrap_or_else(|_| panic!("no line with {wanted}"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn docker_passes_the_suite() {
    let real = Real::new("").await;
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let subject = Subject {
        node: real.node.id,
        instance: random_id(),
        image: real.image.clone(),
        command: words(&["/bin/sleep", "600"]),
        succeeds: words(&["/bin/true"]),
        subnets: (0..16).map(|index| format!("10.214.77.{}/28", index * 16).parse().unwrap()).collect(),
    };
    runtime_suite(&*real.engine, &subject).await;
}

/// F-25, R07: the engine has the image, the platform says no.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_private_image_in_the_engine_is_not_started_without_leave() {
    let real = Real::new("").await;
    let refusal = Failure::new(FailureReason::ImageNotAllowed, "not_found: There is no such image.");
    *real.node.images.refusal.lock().unwrap() = Some(refusal);
    let executor = real.node.start(Faults::none()).await;
    let failed = real.node.reach(&executor, random_id(), 1, launch(vec![shell("")]), Phase::Failed).await;
    assert_eq!(failed.reason, Some(FailureReason::ImageNotAllowed));
    assert!(real.engine.list(real.node.id, None).await.unwrap().containers.is_empty());
}

#[tokio::test]
async fn an_engine_that_is_not_there_is_named_so() {
    let mut options = DockerOptions::new(random_id());
    options.socket = "/nowhere/docker.sock".to_owned();
    let engine = DockerRuntime::new(options);
    let away = engine.list(random_id(), None).await.unwrap_err();
    assert_eq!(away.reason, FailureReason::EngineUnavailable);
    assert!(matches!(engine.guard(), Guarding::Missing(_)), "an unset packet filter is no secret");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_workload_is_launched_stopped_started_and_removed_with_a_receipt() {
    let real = Real::new("").await;
    let executor = real.node.start(Faults::none()).await;
    let instance = random_id();
    let order =
        launch(vec![shell("echo hello from $GPUAAS_COMPONENT; echo kept >> /data/file; cat /data/file")]);
    let running = real.node.reach(&executor, instance, 1, order.clone(), Phase::Running).await;
    assert!(running.components[0].running && running.components[0].started_at.is_some());
    assert_eq!(wait_line(&executor, instance, "hello").await, "hello from main");
    let stats = executor.stats(instance).await.unwrap().unwrap();
    assert!(!stats.simulated && stats.components[0].memory_limit_bytes == 64 * 1024 * 1024);

    real.node.reach(&executor, instance, 2, stop(), Phase::Stopped).await;
    assert!(real.engine.list(real.node.id, None).await.unwrap().is_nothing());
    assert!(all_logs(&executor, instance).await.contains("hello"), "the last words are kept");
    real.node.reach(&executor, instance, 3, order, Phase::Running).await;
    wait_line(&executor, instance, "hello").await;
    let kept = std::fs::read_to_string(real.node.scratch().join(instance.to_string()).join("main-data/file"))
        .unwrap();
    assert_eq!(kept, "kept\nkept\n", "scratch outlives a stop");

    let gone = real.node.reach(&executor, instance, 4, remove(), Phase::Removed).await;
    let receipt = receipt::open(&gone.receipt.unwrap(), real.node.key.public_key().as_ref()).unwrap();
    assert!(receipt.left.is_nothing() && !receipt.simulated);
    let names: Vec<&str> = receipt.removed.iter().map(|removed| removed.name.as_str()).collect();
    for generation in [1, 3] {
        assert!(names.contains(&format!("gpuaas-{instance}-main-g{generation}").as_str()), "{names:?}");
    }
    assert!(real.engine.list(real.node.id, None).await.unwrap().is_nothing());
    assert_eq!(std::fs::read_dir(real.node.scratch()).unwrap().count(), 0);
}

/// H01: what the engine says about a container is what the rules say.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_container_has_nothing_it_was_not_given() {
    let real = Real::new("root").await;
    let executor = real.node.start(Faults::none()).await;
    let instance = random_id();
    let mut main = shell(
        "id; touch /forbidden 2>/dev/null || echo root-is-read-only; touch /work/x && echo tmpfs-is-not",
    );
    main.tmpfs = vec![Tmpfs { path: "/work".to_owned(), size_mib: 8 }];
    main.gpus = vec![GpuBinding {
        vendor: gpuaas_agent_protocol::inventory::Vendor::Nvidia,
        uuid: "GPU-1".to_owned(),
        simulated: true,
    }];
    main.ports = vec![Port { name: "web".to_owned(), container: 8080, host: None }];
    real.node.reach(&executor, instance, 1, launch(vec![main]), Phase::Running).await;
    assert!(
        wait_line(&executor, instance, "uid=").await.contains("uid=65532 gid=65532"),
        "root became nobody"
    );
    wait_line(&executor, instance, "root-is-read-only").await;
    wait_line(&executor, instance, "tmpfs-is-not").await;

    let found = inspect(&format!("gpuaas-{instance}-main-g1"));
    let host = &found["HostConfig"];
    assert_eq!(found["Config"]["User"], "65532:65532");
    assert_eq!(host["CapDrop"], serde_json::json!(["ALL"]));
    assert!(host["CapAdd"].is_null());
    assert_eq!(host["SecurityOpt"], serde_json::json!(["no-new-privileges:true"]));
    assert_eq!((&host["Privileged"], &host["ReadonlyRootfs"]), (&Value::Bool(false), &Value::Bool(true)));
    assert_eq!((host["Memory"].as_i64(), host["MemorySwap"].as_i64()), (Some(64 << 20), Some(64 << 20)));
    assert_eq!((host["NanoCpus"].as_i64(), host["PidsLimit"].as_i64()), (Some(500_000_000), Some(64)));
    assert_eq!(host["NetworkMode"], format!("gpuaas-{instance}"));
    assert_eq!(
        (&host["PidMode"], &host["UTSMode"], &host["UsernsMode"]),
        (&"".into(), &"".into(), &"".into())
    );
    assert_eq!((&host["IpcMode"], &host["RestartPolicy"]["Name"]), (&"private".into(), &"no".into()));
    assert_eq!(host["Tmpfs"]["/work"], "rw,nosuid,nodev,mode=1777,size=8m");
    assert_eq!(host["LogConfig"]["Config"], serde_json::json!({"max-size": "10m", "max-file": "3"}));
    assert!(host["PortBindings"].as_object().is_none_or(serde_json::Map::is_empty));
    assert!(host["Devices"].as_array().is_none_or(Vec::is_empty) && host["Binds"].is_null());
    // Its scratch, to write; its identity, to read; nothing else of the node.
    let secrets = real.node.secrets.path().join(instance.to_string()).join("1-1/main");
    let scratch = real.node.scratch().join(instance.to_string()).join("main-data");
    let mut mounts: Vec<_> = found["Mounts"].as_array().unwrap().iter().collect();
    mounts.sort_by_key(|mount| mount["Destination"].as_str());
    let seen: Vec<_> = mounts
        .iter()
        .map(|mount| (mount["Source"].as_str(), mount["Destination"].as_str(), mount["RW"].as_bool()))
        .collect();
    let wanted =
        [(scratch.to_str(), Some("/data"), Some(true)), (secrets.to_str(), Some("/run/gpuaas"), Some(false))];
    assert_eq!(seen, wanted, "{mounts:?}");
    let env = found["Config"]["Env"].to_string();
    for wanted in [
        "GPUAAS_BASE_URL=http://10.",
        "GPUAAS_COMPONENT=main",
        "GPUAAS_GPUS=GPU-1",
        "GPUAAS_GPUS_SIMULATED=1",
        "NVIDIA_VISIBLE_DEVICES=void",
    ] {
        assert!(env.contains(wanted), "{wanted} in {env}");
    }
    let network = inspect(&format!("gpuaas-{instance}"));
    assert_eq!(
        (&network["Internal"], &network["Labels"]["gpuaas.instance"]),
        (&Value::Bool(true), &instance.to_string().into())
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_a_container_is_comes_from_its_image_unless_that_is_root() {
    for (user, declared, expected) in [
        ("1000:1001", RunAs::Image, "uid=1000 gid=1001"),
        ("app", RunAs::Image, "uid=1234 gid=1235"),
        ("sly", RunAs::Image, "uid=65532 gid=65532"),
        ("", RunAs::User { uid: 77, gid: 78 }, "uid=77 gid=78"),
        ("", RunAs::Root, "uid=0 gid=0"),
    ] {
        let real = Real::new(user).await;
        let executor = real.node.start(Faults::none()).await;
        let instance = random_id();
        let main = ComponentSpec { user: declared, ..shell("id; touch /data/x && echo owns-its-scratch") };
        real.node.reach(&executor, instance, 1, launch(vec![main]), Phase::Running).await;
        let who = wait_line(&executor, instance, "uid=").await;
        assert!(who.replace("(app)", "").replace("(root)", "").contains(expected), "{user}: {who}");
        if declared != RunAs::Root {
            wait_line(&executor, instance, "owns-its-scratch").await;
        }
        real.node.reach(&executor, instance, 2, remove(), Phase::Removed).await;
    }
}

/// C06 in small.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restart_of_the_agent_leaves_the_process_alone() {
    let real = Real::new("").await;
    let mut executor = real.node.start(Faults::none()).await;
    let instance = random_id();
    let mut main = shell("true");
    main.readiness = Some(exec_probe(&["/bin/true"]));
    real.node.reach(&executor, instance, 1, launch(vec![main]), Phase::Running).await;
    let before = pid(&real, instance).await;
    assert!(before.is_some());
    for lost in [false, true] {
        executor.shutdown().await;
        drop(executor);
        if lost {
            std::fs::remove_dir_all(real.node.state()).unwrap();
        }
        executor = real.node.start(Faults::none()).await;
        wait_for(&executor, instance, "the container", |r| {
            r.phase == Phase::Running && !r.components.is_empty()
        })
        .await;
        assert_eq!(pid(&real, instance).await, before);
    }
    real.node.reach(&executor, instance, 2, remove(), Phase::Removed).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn too_much_memory_and_a_crash_loop_have_their_names_and_leave_their_last_words() {
    let real = Real::new("").await;
    let executor = real.node.start(Faults::none()).await;
    let greedy = ComponentSpec { memory_mib: 16, ..shell("exec tail /dev/zero") };
    let mut spec = workload(vec![greedy]);
    spec.restart.max_restarts = 0;
    let report = real.node.reach(&executor, random_id(), 1, Order::Launch { spec }, Phase::Failed).await;
    assert_eq!(report.reason, Some(FailureReason::OutOfMemory), "{:?}", report.detail);

    let instance = random_id();
    let looping = ComponentSpec {
        command: vec!["/bin/sh".to_owned(), "-c".to_owned(), "echo last words; exit 7".to_owned()],
        ..component("main")
    };
    let mut spec = workload(vec![looping]);
    spec.restart.max_restarts = 2;
    let report = real.node.reach(&executor, instance, 1, Order::Launch { spec }, Phase::Failed).await;
    assert_eq!(report.reason, Some(FailureReason::ContainerExited));
    assert!(report.detail.unwrap().contains("exit code 7"));
    assert_eq!(all_logs(&executor, instance).await, "last words\n".repeat(3), "three runs of one container");

    let missing = ComponentSpec { command: vec!["/no/such/program".to_owned()], ..component("main") };
    let report = real.node.reach(&executor, random_id(), 1, launch(vec![missing]), Phase::Failed).await;
    assert_eq!(report.reason, Some(FailureReason::ContainerStartFailed), "{:?}", report.detail);
    assert!(real.engine.list(real.node.id, None).await.unwrap().is_nothing(), "failures leave nothing");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn probes_by_http_tcp_and_exec_and_a_way_to_declared_ports() {
    let real = Real::new("").await;
    let executor = real.node.start(Faults::none()).await;
    let instance = random_id();
    let probe = |check| Some(Probe { check, interval_ms: 100, timeout_ms: 2_000, failures: 2 });
    let mut web = shell("mkdir /data/www; echo content > /data/www/index.html; httpd -p 8080 -h /data/www");
    web.readiness = probe(Check::Http { port: 8080, path: "/index.html".to_owned() });
    web.liveness = probe(Check::Exec { command: vec!["/bin/true".to_owned()] });
    let host = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port();
    web.ports = vec![Port { name: "web".to_owned(), container: 8080, host: Some(host) }];
    let mut tcp = ComponentSpec { name: "tcp".to_owned(), ..shell("nc -ll -p 9000 -e cat &") };
    tcp.scratch = vec![Scratch { name: "other".to_owned(), path: "/data".to_owned() }];
    tcp.readiness = probe(Check::Tcp { port: 9000 });
    let running = real.node.reach(&executor, instance, 1, launch(vec![web, tcp]), Phase::Running).await;
    assert_eq!((running.health, running.components.len()), (Health::Healthy, 2));
    for mut stream in [
        executor.connect(instance, "main", 8080).await.unwrap(),
        tokio::net::TcpStream::connect((Ipv4Addr::LOCALHOST, host)).await.unwrap(),
    ] {
        stream.write_all(b"GET /index.html HTTP/1.0\r\n\r\n").await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        assert!(answer.contains("content"), "{answer}");
    }
    assert!(executor.connect(instance, "main", 9000).await.is_err(), "not declared");
    let mut blind = shell("true");
    blind.readiness = probe(Check::Http { port: 8080, path: "/".to_owned() });
    let mut spec = workload(vec![blind]);
    spec.readiness_deadline_seconds = 1;
    let late = real.node.reach(&executor, random_id(), 1, Order::Launch { spec }, Phase::Failed).await;
    assert_eq!(late.reason, Some(FailureReason::ReadinessTimeout));
    real.node.reach(&executor, instance, 2, remove(), Phase::Removed).await;
}

/// H05: from inside, the node is its instance API and nothing else.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn from_inside_only_the_instance_api_of_the_node_is_reached() {
    let real = Real::with_door("", Door { listen: true, ..Door::default() }).await;
    assert_eq!(real.engine.guard(), Guarding::InPlace);
    let executor = real.node.start(Faults::none()).await;
    // Something of the node that is none of a workload's business. It hangs up at once, so that a breach shows as one.
    let open = tokio::net::TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0)).await.unwrap();
    let port = open.local_addr().unwrap().port();
    let mut serving = tokio::task::JoinSet::new();
    serving.spawn(async move { while open.accept().await.is_ok() {} });
    for egress in [Egress::Platform, Egress::Internet] {
        let instance = random_id();
        let script = format!(
            "G=${{GPUAAS_BASE_URL#http://}}; G=${{G%:*}}; echo ask | nc -w 5 $G 7075; echo; \
             for A in $G 172.17.0.1 169.254.169.254 10.0.0.1 192.168.0.1; do \
             if nc -w 2 $A {port} </dev/null >/dev/null 2>&1; then echo reached $A; else echo kept-from $A; fi; done; echo scan-is-over"
        );
        let main = ComponentSpec { egress, ..shell(&script) };
        real.node.reach(&executor, instance, 1, launch(vec![main]), Phase::Running).await;
        wait_line(&executor, instance, "scan-is-over").await;
        let text = all_logs(&executor, instance).await;
        assert!(text.contains("door"), "the instance API answers: {text}");
        assert!(!text.contains("reached") && text.matches("kept-from").count() == 5, "{egress:?}: {text}");
        real.node.reach(&executor, instance, 2, remove(), Phase::Removed).await;
    }
    // Without any way out there is not even the door.
    let instance = random_id();
    let script = "echo base=${GPUAAS_BASE_URL:-none}; while read A N; do :; done < /etc/hosts; \
                  for N in 1 17 33 49 65 81; do nc -w 1 ${A%.*}.$N 7075 </dev/null && echo reached; done; \
                  echo scan-is-over";
    let main = ComponentSpec { egress: Egress::None, ..shell(script) };
    real.node.reach(&executor, instance, 1, launch(vec![main]), Phase::Running).await;
    wait_line(&executor, instance, "scan-is-over").await;
    let text = all_logs(&executor, instance).await;
    assert!(text.contains("base=none") && !text.contains("reached"), "{text}");
    real.node.reach(&executor, instance, 2, remove(), Phase::Removed).await;
}

/// What cannot be kept in is not started.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_packet_filter_nothing_starts() {
    let real = Real::new("").await;
    let mut options = DockerOptions::new(real.node.id);
    options.packet_filter = Some("/bin/false".to_owned());
    let engine = Arc::new(DockerRuntime::new(options.clone()));
    let plan = NetworkPlan {
        labels: Labels {
            node: real.node.id,
            instance: random_id(),
            component: None,
            generation: 1,
            era: 1,
            order: "sha256:00".to_owned(),
        },
        subnet: "10.214.78.0/28".parse().unwrap(),
        internal: true,
    };
    let refused = engine.ensure_network(&plan).await.unwrap_err();
    assert_eq!(refused.reason, FailureReason::EngineUnavailable);
    assert!(refused.detail.contains("packet filter"), "{}", refused.detail);
    assert!(real.engine.list(real.node.id, None).await.unwrap().networks.is_empty());
    options.packet_filter = None;
    let open = DockerRuntime::new(options);
    open.ensure_network(&plan).await.unwrap();
    assert_eq!(open.guard(), Guarding::Off);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn forty_instances_at_once_get_forty_networks() {
    let real = Real::new("").await;
    let executor = real.node.start(Faults::none()).await;
    let instances: Vec<Uuid> = (0..40).map(|_| random_id()).collect();
    let main = ComponentSpec {
        command: vec!["/bin/sleep".to_owned(), "600".to_owned()],
        scratch: vec![],
        ..component("main")
    };
    for instance in &instances {
        real.node.order(&executor, *instance, 1, launch(vec![main.clone()])).await.unwrap();
    }
    for instance in &instances {
        wait_phase(&executor, *instance, 1, Phase::Running).await;
    }
    let found = real.engine.list(real.node.id, None).await.unwrap();
    let subnets: std::collections::BTreeSet<_> =
        found.networks.iter().filter_map(|network| network.subnet).collect();
    assert_eq!((found.containers.len(), subnets.len()), (40, 40));
    for instance in &instances {
        real.node.order(&executor, *instance, 2, Order::Remove { grace_seconds: 0 }).await.unwrap();
    }
    for instance in &instances {
        wait_phase(&executor, *instance, 2, Phase::Removed).await;
    }
    assert!(real.engine.list(real.node.id, None).await.unwrap().is_nothing());
}
