//! A registry of a test's own: Debian's `docker-registry` in a temporary folder.

use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use gpuaas_oci::Registry;

const REGISTRY: &str = "/usr/bin/docker-registry";
/// `ann` with the password `correct-horse`.
const HTPASSWD: &str = "ann:$2y$04$7v/gEGu.LSQcSOR0Ish3JexCyPTKRY99CF94E7CpDPf.xEZw4xeYO\n";

/// A registry of this test's own, in a temporary folder.
pub(crate) struct Loopback {
    child: Child,
    pub(crate) address: String,
    _folder: tempfile::TempDir,
}

impl Drop for Loopback {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Loopback {
    pub(crate) fn start() -> Self {
        Self::start_with("")
    }

    /// With more lines in its configuration; `FOLDER` in them is its own.
    pub(crate) fn start_with(more: &str) -> Self {
        assert!(
            Path::new(REGISTRY).exists(),
            "a registry is missing; install it with: apt-get install -y --no-install-recommends docker-registry"
        );
        // Somebody else may take the port between our look and the registry's start.
        (0..5).find_map(|_| Self::try_start(more)).expect("the registry did not start five times in a row")
    }

    fn try_start(more: &str) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
        let config = folder.path().join("config.yml");
        let storage = folder.path().join("storage");
        let text = format!(
            "version: 0.1\nlog: {{level: error, accesslog: {{disabled: true}}}}\nstorage:\n  filesystem: {{rootdirectory: '{}'}}\n  \
             delete: {{enabled: true}}\nhttp: {{addr: '{address}'}}\n{}",
            storage.display(),
            more.replace("FOLDER", &folder.path().display().to_string())
        );
        std::fs::write(&config, text).unwrap();
        std::fs::write(folder.path().join("htpasswd"), HTPASSWD).unwrap();
        let mut child = Command::new(REGISTRY)
            .env_clear()
            .args(["serve".as_ref(), config.as_os_str()])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let deadline = Instant::now() + Duration::from_secs(10);
        while std::net::TcpStream::connect(&address).is_err() {
            if child.try_wait().unwrap().is_some() || Instant::now() > deadline {
                let _ = child.kill();
                let _ = child.wait();
                return None;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Some(Self { child, address, _folder: folder })
    }

    pub(crate) fn registry(&self) -> Registry {
        Registry::new(&format!("http://{}", self.address)).unwrap()
    }
}
