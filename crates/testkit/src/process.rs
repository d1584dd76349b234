//! Real programs as real processes: started, killed, started again.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// A program of this workspace, built beside the test.
pub fn binary(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("a test has a path");
    let folder = test.parent().and_then(Path::parent).expect("tests lie two folders below the programs");
    let path = folder.join(name);
    assert!(path.exists(), "{name} is not built: run cargo build --workspace first");
    path
}

/// A server with its own data folder. Killed when dropped.
pub struct ServerProcess {
    child: Option<Child>,
    data: PathBuf,
    database: Option<String>,
    port: u16,
    settings: Vec<(String, String)>,
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
        let port = std::net::TcpListener::bind("127.0.0.1:0")
            .and_then(|socket| socket.local_addr())
            .expect("a free port")
            .port();
        Self {
            child: None,
            data: data.to_owned(),
            database: database.map(str::to_owned),
            port,
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
            settings: self.settings.clone(),
        }
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
            .env("GPUAAS__AGENTS__LISTEN", "127.0.0.1:0")
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
