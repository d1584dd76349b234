//! Against a real registry (Debian's `docker-registry`) and a real engine: what we push, Docker pulls and runs.

use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use gpuaas_oci::{Image, ImageBuilder, Registry};

const REGISTRY: &str = "/usr/bin/docker-registry";

/// A registry of this test's own, in a temporary folder.
struct Loopback {
    child: Child,
    address: String,
    _folder: tempfile::TempDir,
}

impl Drop for Loopback {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Loopback {
    fn start() -> Self {
        assert!(
            Path::new(REGISTRY).exists(),
            "a registry is missing; install it with: apt-get install -y --no-install-recommends docker-registry"
        );
        // Somebody else may take the port between our look and the registry's start.
        (0..5).find_map(|_| Self::try_start()).expect("the registry did not start five times in a row")
    }

    fn try_start() -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
        let config = folder.path().join("config.yml");
        let storage = folder.path().join("storage");
        let text = format!(
            "version: 0.1\nlog: {{level: error, accesslog: {{disabled: true}}}}\nstorage:\n  filesystem: {{rootdirectory: '{}'}}\n  \
             delete: {{enabled: true}}\nhttp: {{addr: '{address}'}}\n",
            storage.display()
        );
        std::fs::write(&config, text).unwrap();
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

    fn registry(&self) -> Registry {
        Registry::new(&format!("http://{}", self.address)).unwrap()
    }
}

/// Runs `docker` and returns what it printed; a failure ends the test with its words.
fn docker(arguments: &[&str]) -> String {
    let Output { status, stdout, stderr } =
        Command::new("docker").args(arguments).output().unwrap_or_else(|error| {
            panic!("docker cannot be started ({error}); install it with: apt-get install -y docker.io")
        });
    assert!(status.success(), "docker {}: {}", arguments.join(" "), String::from_utf8_lossy(&stderr));
    String::from_utf8(stdout).unwrap()
}

/// Takes an image out of the engine again, also when the test fails.
struct Pulled(String);

impl Drop for Pulled {
    fn drop(&mut self) {
        let _ = Command::new("docker").args(["image", "rm", "--force", &self.0]).output();
    }
}

/// This machine's, as Go spells it: the engine runs nothing else.
fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

fn sample(text: &str) -> ImageBuilder {
    ImageBuilder::new(architecture()).file("/etc/motd", 0o644, text.as_bytes().to_vec()).user("65532:65532")
}

/// A program that needs nothing but a kernel and says who it is.
fn static_program(text: &str) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let (source, program) = (folder.path().join("hello.c"), folder.path().join("hello"));
    let code = format!(
        "#include <stdio.h>\n#include <unistd.h>\nint main(int n, char **v) {{ printf(\"{text} %d %s\\n\", getuid(), v[n - 1]); return 0; }}\n"
    );
    std::fs::write(&source, code).unwrap();
    let status =
        Command::new("cc").args(["-static", "-Os", "-s", "-o"]).args([&program, &source]).status().unwrap();
    assert!(status.success(), "cc could not link a static program: apt-get install -y gcc libc6-dev");
    std::fs::read(program).unwrap()
}

/// Its own text makes its own digest: two runs of this test share an engine.
fn runnable(text: &str) -> Image {
    let text = format!("{text}-{}", std::process::id());
    ImageBuilder::new(architecture())
        .file("/hello", 0o755, static_program(&text))
        .user("65532:65532")
        .entrypoint(["/hello"])
        .cmd(["friend"])
        .build()
        .unwrap()
}

#[tokio::test]
async fn a_push_is_there_and_the_second_sends_no_blob() {
    let loopback = Loopback::start();
    let registry = loopback.registry();
    let image = sample("one").build().unwrap();
    assert!(!registry.exists("apps/hello", image.digest()).await.unwrap());
    let first = registry.push("apps/hello", &image, Some("1.0")).await.unwrap();
    assert_eq!((first.uploaded, &first.digest), (2, image.digest()));
    assert!(registry.exists("apps/hello", image.digest()).await.unwrap());
    assert!(!registry.exists("apps/other", image.digest()).await.unwrap());

    let again = sample("one").build().unwrap();
    let second = registry.push("apps/hello", &again, None).await.unwrap();
    assert_eq!((second.uploaded, second.digest), (0, first.digest));
}

#[tokio::test]
async fn docker_pulls_by_digest_and_runs_it_without_root() {
    let loopback = Loopback::start();
    let image = runnable("pulled");
    loopback.registry().push("apps/hello", &image, Some("latest")).await.unwrap();

    let reference = Pulled(format!("{}/apps/hello@{}", loopback.address, image.digest()));
    docker(&["pull", "--quiet", &reference.0]);
    let said = docker(&["run", "--rm", "--network", "none", "--read-only", &reference.0]);
    assert_eq!(said, format!("pulled-{} 65532 friend\n", std::process::id()));
    let said = docker(&["run", "--rm", "--network", "none", &reference.0, "you"]);
    assert_eq!(said, format!("pulled-{} 65532 you\n", std::process::id()));

    let tagged = Pulled(format!("{}/apps/hello:latest", loopback.address));
    docker(&["pull", "--quiet", &tagged.0]);
    let ids = docker(&["image", "inspect", "--format", "{{.Id}}", &reference.0, &tagged.0]);
    assert!(ids.lines().all(|id| id == image.config.digest.as_str()), "{ids}");
}

#[test]
fn docker_loads_the_archive() {
    let image = runnable("loaded");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("image.tar");
    let name = Pulled(format!("gpuaas-oci-test:{}", std::process::id()));
    std::fs::write(&file, image.to_archive(Some(&name.0))).unwrap();
    docker(&["load", "--quiet", "--input", file.to_str().unwrap()]);
    let said = docker(&["run", "--rm", "--network", "none", &name.0]);
    assert_eq!(said, format!("loaded-{} 65532 friend\n", std::process::id()));
}
