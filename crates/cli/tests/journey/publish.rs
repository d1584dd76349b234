//! What `gpuaas app publish` gives to the programs it runs, and what it leaves when it is told to stop.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use gpuaas_testkit::process::ServerProcess;
use gpuaas_testkit::{Database, TestDatabase, manifest, small_image};
use serde_json::{Value, json};

use crate::Cli;

const PATIENCE: Duration = Duration::from_secs(30);

#[track_caller]
fn wait(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < PATIENCE, "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn program(path: &Path, script: &str) {
    std::fs::write(path, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// A platform with a project, an author's token, and the folder of an app.
struct Desk {
    cli: Cli,
    token: String,
    url: String,
    app: PathBuf,
    _server: ServerProcess,
    database: TestDatabase,
}

impl Desk {
    /// `public` is the address that the platform says it has, where that is another one than its own.
    async fn new(prepare: impl FnOnce(&mut ServerProcess) -> Option<String>) -> Self {
        let database = TestDatabase::create(Database::Sqlite).await;
        let mut server = ServerProcess::prepare(&database.folder().join("data"), None);
        let url = prepare(&mut server).unwrap_or_else(|| server.url());
        server.serve();
        let cli = Cli { folder: database.folder().to_owned() };
        cli.ok(&["login", "--admin-file", &server.admin_file().display().to_string(), "--url", &url]);
        cli.ok(&["tenant", "create", "acme"]);
        cli.ok(&["project", "create", "acme-lab", "--tenant", "acme"]);
        let token = cli.json(&["token", "create", "publish"])["secret"].as_str().unwrap().to_owned();
        let app = database.folder().join("app");
        std::fs::create_dir_all(app.join("image")).unwrap();
        for folder in ["bin", "tmp"] {
            std::fs::create_dir(database.folder().join(folder)).unwrap();
        }
        let archive = small_image("published").to_archive(Some("hello:1"));
        std::fs::write(app.join("image/ready.tar"), archive).unwrap();
        let desk = Self { cli, token, url, app, _server: server, database };
        desk.image(&json!({"build": "image"}));
        desk
    }

    fn at(&self, name: &str) -> PathBuf {
        self.database.folder().join(name)
    }

    /// Where the app's image comes from.
    fn image(&self, from: &Value) {
        let mut app = manifest("hello", "1.0.0");
        app["artifact_ref"] = from.clone();
        app["runtime_profile"]["image_ref"] = from.clone();
        std::fs::write(self.app.join("app.json"), app.to_string()).unwrap();
    }

    fn build(&self, script: &str) {
        program(&self.app.join("image/build"), script);
    }

    fn publish(&self) -> Command {
        let app = self.app.display().to_string();
        let mut command = self.cli.command(&["app", "publish", &app, "--project", "acme-lab"]);
        command.env("GPUAAS_TOKEN", &self.token).env("GPUAAS_URL", &self.url).env("MARK", "seen");
        command.env("PATH", format!("{}:/usr/bin:/bin", self.at("bin").display()));
        command.env("TMPDIR", self.at("tmp")).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// SIGTERM once something holds; gives what came of it.
    fn told_to_stop_when(&self, what: &str, holds: impl Fn() -> bool) -> Output {
        let mut publish: Child = self.publish().spawn().unwrap();
        wait(what, || {
            assert!(publish.try_wait().unwrap().is_none(), "it ended before {what}");
            holds()
        });
        let asked = Command::new("kill").arg(publish.id().to_string()).status().unwrap();
        assert!(asked.success());
        publish.wait_with_output().unwrap()
    }

    /// Nothing of the app is registered, and nothing lies about.
    #[track_caller]
    fn nothing_stands(&self) {
        let artifacts = self.cli.json(&["artifact", "list", "--project", "acme-lab"]);
        let artifacts = artifacts["items"].as_array().or_else(|| artifacts.as_array()).unwrap().clone();
        assert!(artifacts.is_empty(), "{artifacts:?}");
        assert_eq!(self.cli.refused(&["app", "get", "hello", "1.0.0"]).0, 5);
        let left: Vec<_> = std::fs::read_dir(self.at("tmp")).unwrap().flatten().collect();
        assert!(left.is_empty(), "{left:?}");
    }
}

/// One that ended and that nobody has asked after yet is over too.
fn is_running(id: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().next()).is_some_and(|state| state != "Z")
}

/// Passes everything on to a port, but keeps back what a client says from the first request that starts so, while armed.
struct Proxy {
    port: u16,
    armed: Arc<AtomicBool>,
    held: Arc<AtomicBool>,
}

impl Proxy {
    fn start(to: u16, method: &'static str, part: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (armed, held) = (Arc::new(AtomicBool::new(true)), Arc::new(AtomicBool::new(false)));
        let proxy = Self { port, armed: armed.clone(), held: held.clone() };
        std::thread::spawn(move || {
            for near in listener.incoming().map_while(Result::ok) {
                let Ok(far) = TcpStream::connect(("127.0.0.1", to)) else { continue };
                let (mut from, mut into) = (far.try_clone().unwrap(), near.try_clone().unwrap());
                std::thread::spawn(move || std::io::copy(&mut from, &mut into));
                let (armed, held) = (armed.clone(), held.clone());
                std::thread::spawn(move || pass(near, far, &armed, &held, (method, part)));
            }
        });
        proxy
    }
}

fn pass(mut near: TcpStream, mut far: TcpStream, armed: &AtomicBool, held: &AtomicBool, what: (&str, &str)) {
    let mut buffer = vec![0; 64 << 10];
    while let Ok(length @ 1..) = near.read(&mut buffer) {
        let line = String::from_utf8_lossy(&buffer[..length.min(1000)]).into_owned();
        let line = line.lines().next().unwrap_or_default();
        if armed.load(Ordering::SeqCst) && line.starts_with(what.0) && line.contains(what.1) {
            held.store(true, Ordering::SeqCst);
            // Until the client goes away.
            while matches!(near.read(&mut buffer), Ok(1..)) {}
            break;
        }
        if far.write_all(&buffer[..length]).is_err() {
            break;
        }
    }
    let _ = far.shutdown(std::net::Shutdown::Both);
}

/// F-27: the author's own programs, git and the engine's client see what the author sees, but not the platform's
/// token.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_publishing_runs_does_not_see_the_token() {
    let desk = Desk::new(|_| None).await;
    let tell = |name: &str| format!("env > {}\necho no more >&2\nexit 1", desk.at(name).display());
    program(&desk.at("bin/git"), &tell("git.env"));
    program(&desk.at("bin/docker"), &tell("docker.env"));
    desk.build(&tell("build.env"));
    for image in [json!({"build": "image"}), json!({"image": "docker:hello"})] {
        desk.image(&image);
        let output = desk.publish().output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains("build_failed") && said.contains("no more"), "{said}");
    }
    for name in ["git.env", "build.env", "docker.env"] {
        let seen = std::fs::read_to_string(desk.at(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(seen.contains("MARK=seen"), "{name}: {seen}");
        assert!(!seen.contains("GPUAAS_TOKEN") && !seen.contains(&desk.token), "{name}: {seen}");
    }
    desk.nothing_stands();
}

/// F-01, *Bad input* (interrupted): told to stop while it builds or pushes, it ends all that it started, leaves nothing
/// registered and says so; run again it comes to its end.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn told_to_stop_publishing_leaves_nothing_half_done() {
    let mut proxy = None;
    let desk = Desk::new(|server| {
        let own = server.url();
        let to = own.rsplit(':').next().and_then(|port| port.parse().ok()).expect("a port");
        let made = Proxy::start(to, "PUT /v2/", "/manifests/");
        let url = format!("http://127.0.0.1:{}", made.port);
        server.set("GPUAAS__HTTP__PUBLIC_URL", &url);
        proxy = Some(made);
        Some(url)
    })
    .await;
    let proxy = proxy.expect("made above");
    let stopped = |output: &Output| {
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains("interrupted") && said.contains("run the same command again"), "{said}");
    };

    desk.build("echo $$ > own; sleep 600 & echo $! > child; touch \"$1/begun\" ready; wait");
    let output = desk.told_to_stop_when("the build runs", || desk.app.join("image/ready").exists());
    stopped(&output);
    for name in ["own", "child"] {
        let id = std::fs::read_to_string(desk.app.join("image").join(name)).unwrap().trim().to_owned();
        wait(&format!("the {name} process ends"), || !is_running(&id));
    }
    desk.nothing_stands();
    assert!(!proxy.held.load(Ordering::SeqCst));

    desk.build("cp ready.tar \"$1/image.tar\"");
    let output = desk.told_to_stop_when("the image is all but pushed", || proxy.held.load(Ordering::SeqCst));
    stopped(&output);
    desk.nothing_stands();
    let list = desk.cli.ok(&["app", "list"]);
    assert!(list.contains("interrupted"), "the catalog says why nothing came of it: {list}");

    proxy.armed.store(false, Ordering::SeqCst);
    let output = desk.publish().output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let version = desk.cli.json(&["app", "get", "hello", "1.0.0"]);
    assert_eq!(version["status"], "draft", "{version}");
    let artifacts = desk.cli.json(&["artifact", "list", "--project", "acme-lab"]);
    let artifacts = artifacts["items"].as_array().or_else(|| artifacts.as_array()).unwrap().clone();
    assert_eq!(artifacts.len(), 1, "{artifacts:?}");
}
