//! Real programs as real processes: started, killed, started again.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::Caller;
use crate::platform::sign_in;

/// A program of this workspace, built with whoever asks: beside it, or one folder up, as tests lie below the programs.
pub fn binary(name: &str) -> PathBuf {
    let own = std::env::current_exe().expect("a program has a path");
    own.ancestors()
        .skip(1)
        .take(2)
        .map(|folder| folder.join(name))
        .find(|path| path.is_file())
        .unwrap_or_else(|| panic!("{name} is not built: run cargo build --workspace first"))
}

/// A server with its own data folder. Killed when dropped.
pub struct ServerProcess {
    child: Option<Child>,
    data: PathBuf,
    database: Option<String>,
    port: u16,
    agents_port: u16,
    settings: Vec<(String, String)>,
}

/// A port that nobody listens on right now.
pub fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0")
        .and_then(|socket| socket.local_addr())
        .expect("a free port")
        .port()
}

impl ServerProcess {
    /// Bootstraps the demo platform and prepares to serve on a free port.
    pub fn prepare(data: &Path, database: Option<&str>) -> Self {
        let server = Self::bare(data, database);
        let output =
            server.run(&["bootstrap", "--demo", "--admin-file", &server.admin_file().display().to_string()]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        server
    }

    /// Nothing made yet; a free port chosen.
    pub fn bare(data: &Path, database: Option<&str>) -> Self {
        Self {
            child: None,
            data: data.to_owned(),
            database: database.map(str::to_owned),
            port: free_port(),
            agents_port: free_port(),
            settings: Vec::new(),
        }
    }

    /// Another server that takes over this one's port and admin file, with its own data and database.
    #[must_use]
    pub fn moved_to(&self, data: &Path, database: Option<&str>) -> Self {
        let _ = std::fs::copy(self.admin_file(), data.with_extension("admin.json"));
        Self {
            child: None,
            data: data.to_owned(),
            database: database.map(str::to_owned),
            port: self.port,
            agents_port: self.agents_port,
            settings: self.settings.clone(),
        }
    }

    /// The same for a server that is made already; counts from its next start.
    pub fn set(&mut self, name: &str, value: &str) {
        self.settings.retain(|(known, _)| known != name);
        self.settings.push((name.to_owned(), value.to_owned()));
    }

    pub fn unset(&mut self, name: &str) {
        self.settings.retain(|(known, _)| known != name);
    }

    /// Whether it has ended by itself.
    pub fn has_died(&mut self) -> bool {
        self.child.as_mut().is_none_or(|child| child.try_wait().ok().flatten().is_some())
    }

    /// A setting by its environment variable.
    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.settings.push((name.to_owned(), value.to_owned()));
        self
    }

    pub fn admin_file(&self) -> PathBuf {
        self.data.with_extension("admin.json")
    }

    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// The first admin, signed in with what bootstrap wrote.
    pub async fn admin(&self) -> Caller {
        let text = std::fs::read_to_string(self.admin_file()).expect("bootstrap wrote the file");
        let file: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        let text = |name: &str| file[name].as_str().expect("a text");
        sign_in(&Caller::new(&self.url()), text("email"), text("password")).await
    }

    /// Many callers from one address, and one admin who asks for all of them.
    pub fn lift_limits(&mut self) {
        for limit in ["READS", "WRITES", "CREDENTIALS"] {
            self.set(&format!("GPUAAS__LIMITS__{limit}_PER_SECOND"), "1000000");
        }
    }

    pub fn log_file(&self) -> PathBuf {
        self.data.with_extension("log")
    }

    pub fn log(&self) -> String {
        std::fs::read_to_string(self.log_file()).unwrap_or_default()
    }

    pub fn pid(&self) -> u32 {
        self.child.as_ref().expect("the server runs").id()
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(binary("gpuaas-server"));
        command
            .args(arguments)
            .env_clear()
            .env("GPUAAS__DATA_DIR", &self.data)
            .env("GPUAAS__AGENTS__LISTEN", format!("127.0.0.1:{}", self.agents_port))
            .env("GPUAAS__HTTP__LISTEN", format!("127.0.0.1:{}", self.port));
        if let Some(url) = &self.database {
            command.env("GPUAAS__DATABASE__URL", url);
        }
        command.envs(self.settings.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Runs another command of the server's program with the same settings.
    pub fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().expect("the program runs")
    }

    /// Starts serving and waits until it is ready.
    pub fn serve(&mut self) {
        self.serve_until(Self::is_ready);
    }

    /// Starts serving where that must come to nothing; gives what it said until it ended by itself.
    pub fn serve_in_vain(&mut self) -> String {
        let path = self.data.with_extension("refused.log");
        let log = std::fs::File::create(&path).expect("a log file");
        let child =
            self.command(&["serve"]).stderr(log).stdout(Stdio::null()).spawn().expect("the server starts");
        self.child = Some(child);
        let patience = Instant::now();
        let said = || std::fs::read_to_string(&path).unwrap_or_default();
        while !self.has_died() {
            assert!(!self.is_ready(), "the server serves: {}", said());
            assert!(patience.elapsed() < Duration::from_secs(30), "the server does not end: {}", said());
            std::thread::sleep(Duration::from_millis(50));
        }
        let ended = self.child.take().and_then(|mut child| child.wait().ok());
        assert!(ended.is_some_and(|status| !status.success()), "the server ended in peace: {}", said());
        said()
    }

    /// Behind TLS, where readiness cannot be asked in the clear: waits until the port answers.
    pub fn serve_tls(&mut self) {
        self.serve_until(|server| std::net::TcpStream::connect(("127.0.0.1", server.port)).is_ok());
    }

    fn serve_until(&mut self, ready: impl Fn(&Self) -> bool) {
        let log =
            std::fs::OpenOptions::new().create(true).append(true).open(self.log_file()).expect("a log file");
        let child =
            self.command(&["serve"]).stderr(log).stdout(Stdio::null()).spawn().expect("the server starts");
        self.child = Some(child);
        let patience = Instant::now();
        while !ready(self) {
            let ended = self.child.as_mut().and_then(|child| child.try_wait().ok().flatten());
            assert!(ended.is_none(), "the server ended: {}", self.log());
            assert!(patience.elapsed() < Duration::from_secs(30), "the server is not ready: {}", self.log());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn is_ready(&self) -> bool {
        use std::io::{Read as _, Write as _};
        let Ok(mut stream) = std::net::TcpStream::connect(("127.0.0.1", self.port)) else { return false };
        let _ = stream.set_read_timeout(Some(Duration::from_secs(2)));
        let _ = stream.write_all(b"GET /readyz HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n");
        let mut text = String::new();
        let _ = stream.read_to_string(&mut text);
        text.starts_with("HTTP/1.1 200")
    }

    /// SIGKILL: no farewell, no flush.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// SIGTERM, and waits for the end.
    pub fn terminate(&mut self) -> std::process::ExitStatus {
        let mut child = self.child.take().expect("the server runs");
        let asked = Command::new("kill").arg(child.id().to_string()).status().expect("kill runs");
        assert!(asked.success());
        child.wait().expect("the server ends")
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A node's agent with a state folder of its own. Killed when dropped; what it started goes on.
pub struct AgentProcess {
    child: Option<Child>,
    state: PathBuf,
    config: PathBuf,
    settings: Vec<(String, String)>,
    within: Vec<String>,
}

impl AgentProcess {
    /// Joins with a token of the platform. `config` is TOML; `within` is a command that runs another, as `ip netns exec`.
    pub fn join(folder: &Path, server: &str, token: &str, config: &str, within: &[String]) -> Self {
        let agent = Self {
            child: None,
            within: within.to_vec(),
            state: folder.join("state"),
            config: folder.join("agent.toml"),
            settings: Vec::new(),
        };
        std::fs::create_dir_all(folder).expect("a folder");
        std::fs::write(&agent.config, config).expect("a file");
        let output = agent
            .command(&["join", "--server", server, "--token", token])
            .output()
            .expect("the program runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        agent
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let program = binary("gpuaas-agent");
        let mut command = match self.within.split_first() {
            None => Command::new(program),
            Some((first, rest)) => {
                let mut command = Command::new(first);
                command.args(rest).arg(program);
                command
            }
        };
        command.args(arguments).arg("--state").arg(&self.state).arg("--config").arg(&self.config).env_clear();
        // It calls iptables, which Debian keeps in sbin.
        command.env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
        command.envs(self.settings.iter().map(|(name, value)| (name, value)));
        command
    }

    pub fn set(&mut self, name: &str, value: &str) {
        self.settings.retain(|(known, _)| known != name);
        self.settings.push((name.to_owned(), value.to_owned()));
    }

    pub fn unset(&mut self, name: &str) {
        self.settings.retain(|(known, _)| known != name);
    }

    pub fn start(&mut self) {
        let log = self.state.with_extension("log");
        let log = std::fs::OpenOptions::new().create(true).append(true).open(log).expect("a log file");
        let child =
            self.command(&["run"]).stderr(log).stdout(Stdio::null()).spawn().expect("the agent starts");
        self.child = Some(child);
    }

    pub fn log(&self) -> String {
        std::fs::read_to_string(self.state.with_extension("log")).unwrap_or_default()
    }

    pub fn has_died(&mut self) -> bool {
        self.child.as_mut().is_none_or(|child| child.try_wait().ok().flatten().is_some())
    }

    /// SIGKILL.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Drop for AgentProcess {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Debian's own registry on a loopback port, with a folder that goes with it.
pub struct RegistryProcess {
    child: Child,
    pub port: u16,
    folder: tempfile::TempDir,
}

impl RegistryProcess {
    pub fn start() -> Self {
        Self::start_with(tempfile::tempdir().expect("a folder"), free_port(), "")
    }

    /// One that believes the tokens of a platform, signed under these certificates in PEM.
    pub fn believing(port: u16, realm: &str, service: &str, issuer: &str, certificates: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let bundle = folder.path().join("bundle.pem");
        std::fs::write(&bundle, certificates).expect("a file");
        let auth = format!(
            "auth:\n  token:\n    realm: {realm:?}\n    service: {service:?}\n    issuer: {issuer:?}\n    rootcertbundle: {:?}\n",
            bundle.display().to_string()
        );
        Self::start_with(folder, port, &auth)
    }

    fn start_with(folder: tempfile::TempDir, port: u16, more: &str) -> Self {
        let config = folder.path().join("config.yml");
        let text = format!(
            "version: 0.1\nstorage:\n  filesystem:\n    rootdirectory: {}\nhttp:\n  addr: 127.0.0.1:{port}\n{more}",
            folder.path().join("data").display()
        );
        std::fs::write(&config, text).expect("a file");
        let child = Command::new("/usr/bin/docker-registry")
            .arg("serve")
            .arg(&config)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("docker-registry runs: apt-get install docker-registry");
        let patience = Instant::now();
        while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(patience.elapsed() < Duration::from_secs(20), "the registry does not listen");
            std::thread::sleep(Duration::from_millis(20));
        }
        Self { child, port, folder }
    }

    pub fn host(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Where it keeps its bytes, for tests that change them.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Pushes an image of busybox that serves one page; gives its digest.
    pub async fn push_web(&self, repository: &str) -> String {
        self.push_page(repository, "hello\n").await
    }

    /// The same with another page, and so with another digest.
    pub async fn push_page(&self, repository: &str, page: &str) -> String {
        let image = crate::web_image(page);
        let registry = gpuaas_oci::Registry::new(&format!("http://{}", self.host())).expect("an address");
        registry.push(repository, &image, None).await.expect("the registry takes it");
        image.digest().to_string()
    }
}

impl Drop for RegistryProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
