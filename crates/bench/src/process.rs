//! The real server as a real process, and what the kernel says about it.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::Result;
use crate::figures::float;

const START_PATIENCE: Duration = Duration::from_secs(30);
const STOP_PATIENCE: Duration = Duration::from_secs(20);

/// Where the programs lie: beside this one.
pub(crate) fn programs_folder() -> Result<PathBuf> {
    let own = std::env::current_exe()?;
    Ok(own.parent().ok_or("a program lies in a folder")?.to_owned())
}

/// How to start the server on a data folder of its own.
pub(crate) struct Setup {
    program: PathBuf,
    data: PathBuf,
    port: u16,
    settings: Vec<(&'static str, &'static str)>,
}

impl Setup {
    /// Makes the data folder, its database and the first admin.
    pub(crate) fn bootstrap(
        programs: &Path,
        folder: &Path,
        settings: &[(&'static str, &'static str)],
    ) -> Result<Self> {
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port();
        let program = programs.join("gpuaas-server");
        let setup = Self { program, data: folder.join("data"), port, settings: settings.to_vec() };
        let output =
            setup.command().args(["bootstrap", "--demo", "--admin-file"]).arg(setup.admin_file()).output()?;
        if !output.status.success() {
            return Err(format!("bootstrap failed: {}", String::from_utf8_lossy(&output.stderr)).into());
        }
        Ok(setup)
    }

    pub(crate) fn admin_file(&self) -> PathBuf {
        self.data.with_extension("admin.json")
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command
            .env_clear()
            .env("GPUAAS__DATA_DIR", &self.data)
            .env("GPUAAS__AGENTS__LISTEN", "127.0.0.1:0")
            .env("GPUAAS__HTTP__LISTEN", format!("127.0.0.1:{}", self.port))
            .envs(self.settings.iter().copied());
        command
    }

    /// Starts serving; returns the server and how long it took until it said it is ready.
    pub(crate) fn serve(&self) -> Result<(Server, Duration)> {
        // As ./run does: the log goes to a file.
        let log = std::fs::File::create(self.data.with_extension("log"))?;
        let mut command = self.command();
        command.arg("serve").stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        let started = Instant::now();
        let mut server =
            Server { child: command.spawn()?, address: SocketAddr::from((Ipv4Addr::LOCALHOST, self.port)) };
        while !is_ready(server.address) {
            if let Some(status) = server.child.try_wait()? {
                return Err(format!("the server ended at once: {status}").into());
            }
            if started.elapsed() > START_PATIENCE {
                return Err("the server did not become ready".into());
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok((server, started.elapsed()))
    }
}

fn is_ready(address: SocketAddr) -> bool {
    let Ok(mut stream) = TcpStream::connect(address) else { return false };
    let asked = stream.set_read_timeout(Some(Duration::from_secs(2))).and_then(|()| {
        stream.write_all(b"GET /readyz HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n")
    });
    let mut status = [0; 12];
    asked.and_then(|()| stream.read_exact(&mut status)).is_ok() && status == *b"HTTP/1.1 200"
}

/// A serving process. Killed when dropped.
pub(crate) struct Server {
    child: Child,
    pub(crate) address: SocketAddr,
}

impl Server {
    /// Memory that is resident now, in MiB.
    pub(crate) fn resident_mib(&self) -> Result<f64> {
        resident_mib(self.child.id())
    }

    /// User and system time of all its threads so far.
    pub(crate) fn cpu_seconds(&self) -> Result<f64> {
        cpu_seconds(self.child.id())
    }

    /// Asks it to stop and waits.
    pub(crate) fn stop(mut self) -> Result {
        Command::new("kill").arg(self.child.id().to_string()).status()?;
        let asked = Instant::now();
        while self.child.try_wait()?.is_none() {
            if asked.elapsed() > STOP_PATIENCE {
                return Err("the server did not stop".into());
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Memory of a process that is resident now, in MiB.
pub(crate) fn resident_mib(process: u32) -> Result<f64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .ok_or("the kernel does not tell VmRSS")?;
    let kib: u64 = line.trim().trim_end_matches(" kB").parse()?;
    Ok(float(kib) / 1024.0)
}

/// User and system time of all threads of a process so far.
pub(crate) fn cpu_seconds(process: u32) -> Result<f64> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat"))?;
    // The name in parentheses may hold anything; after it come the fields from number 3 on.
    let (_, fields) = stat.rsplit_once(')').ok_or("the kernel's stat line has no name")?;
    let fields: Vec<_> = fields.split_whitespace().collect();
    let ticks = |number: usize| -> Result<u64> {
        Ok(fields.get(number - 3).ok_or("the stat line is short")?.parse()?)
    };
    Ok(float(ticks(14)? + ticks(15)?) / ticks_per_second())
}

fn ticks_per_second() -> f64 {
    static TICKS: std::sync::OnceLock<f64> = std::sync::OnceLock::new();
    *TICKS.get_or_init(|| {
        let output = Command::new("getconf").arg("CLK_TCK").output().ok();
        output.and_then(|output| String::from_utf8(output.stdout).ok()?.trim().parse().ok()).unwrap_or(100.0)
    })
}
