//! A real engine pulls from the agent, which fetches from a real registry (Debian's `docker-registry`) what the platform
//! lets it have. A machine that lacks either fails this test with the command that installs it.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use gpuaas_agent_protocol::spec::ImageGrant;
use gpuaas_agent_protocol::{Digest, FailureReason};
use gpuaas_api::agent::{ImageAccess, ImageAccessRequest, ImageKey, ImageTrust};
use gpuaas_domain::Timestamp;
use gpuaas_node_agent::platform::CallError;
use gpuaas_node_agent::pull::{PullEndpoint, PullSettings};
use gpuaas_node_agent::seams::{Answer, ImageGate, ImageSource as _, PullTicket, WantedImage};
use gpuaas_node_agent::wall_clock::SystemClock;
use gpuaas_oci::sign::PrivateKey;
use gpuaas_program::Spawner;
use ring::rand::{SecureRandom as _, SystemRandom};
use uuid::Uuid;

const SOCKET: &str = "/var/run/docker.sock";
const REGISTRY: &str = "/usr/bin/docker-registry";

struct Registry {
    process: Child,
    url: String,
    root: tempfile::TempDir,
}

impl Drop for Registry {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn http() -> reqwest::Client {
    drop(rustls::crypto::ring::default_provider().install_default());
    let builder = reqwest::Client::builder().no_proxy().timeout(Duration::from_secs(20));
    builder.tls_certs_only([]).build().unwrap()
}

async fn start_registry() -> Registry {
    let root = tempfile::tempdir().unwrap();
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let config = format!(
        "version: 0.1\nlog: {{level: error}}\nstorage: {{filesystem: {{rootdirectory: {}}}}}\n\
         http: {{addr: '127.0.0.1:{port}'}}\n",
        root.path().join("data").display()
    );
    std::fs::write(root.path().join("config.yml"), config).unwrap();
    let process = Command::new(REGISTRY)
        .args(["serve", root.path().join("config.yml").to_str().unwrap()])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let url = format!("http://127.0.0.1:{port}");
    let registry = Registry { process, url, root };
    for _ in 0..200 {
        if http().get(format!("{}/v2/", registry.url)).send().await.is_ok() {
            return registry;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("the registry did not start");
}

/// A tar archive with one file.
fn tar(name: &str, content: &[u8]) -> Vec<u8> {
    let mut header = [0_u8; 512];
    header[..name.len()].copy_from_slice(name.as_bytes());
    header[100..107].copy_from_slice(b"0000644");
    header[108..115].copy_from_slice(b"0000000");
    header[116..123].copy_from_slice(b"0000000");
    header[124..135].copy_from_slice(format!("{:011o}", content.len()).as_bytes());
    header[136..147].copy_from_slice(b"00000000000");
    header[148..156].fill(b' ');
    header[156] = b'0';
    header[257..265].copy_from_slice(b"ustar\x0000");
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    let mut archive = header.to_vec();
    archive.extend_from_slice(content);
    archive.resize(archive.len().next_multiple_of(512) + 1024, 0);
    archive
}

async fn push_blob(registry: &Registry, repository: &str, bytes: &[u8]) -> Digest {
    let start = http().post(format!("{}/v2/{repository}/blobs/uploads/", registry.url)).send().await.unwrap();
    let place = start.headers()["location"].to_str().unwrap();
    let mut url = reqwest::Url::parse(&registry.url).unwrap().join(place).unwrap();
    let digest = Digest::of(bytes);
    url.query_pairs_mut().append_pair("digest", digest.as_str());
    let done = http().put(url).body(bytes.to_vec()).send().await.unwrap();
    assert_eq!(done.status(), 201);
    digest
}

/// Pushes an image that nobody has seen before; gives the digests of manifest and layer.
async fn push_image(registry: &Registry, repository: &str) -> (Digest, Digest) {
    let mut content = vec![0; 300_000];
    SystemRandom::new().fill(&mut content).unwrap();
    let layer = tar("random.bin", &content);
    let layer_digest = push_blob(registry, repository, &layer).await;
    let config = serde_json::json!({
        "architecture": "amd64", "os": "linux", "config": {},
        "rootfs": {"type": "layers", "diff_ids": [layer_digest]}
    });
    let config = config.to_string().into_bytes();
    let config_digest = push_blob(registry, repository, &config).await;
    let kind = "application/vnd.oci.image.manifest.v1+json";
    let manifest = serde_json::json!({
        "schemaVersion": 2, "mediaType": kind,
        "config": {"mediaType": "application/vnd.oci.image.config.v1+json", "digest": config_digest, "size": config.len()},
        "layers": [{"mediaType": "application/vnd.oci.image.layer.v1.tar", "digest": layer_digest, "size": layer.len()}],
    });
    let manifest = manifest.to_string();
    let digest = Digest::of(manifest.as_bytes());
    let url = format!("{}/v2/{repository}/manifests/{digest}", registry.url);
    let done = http().put(url).header("content-type", kind).body(manifest).send().await.unwrap();
    assert_eq!(done.status(), 201, "{:?}", done.text().await);
    (digest, layer_digest)
}

/// A platform that lets the node have everything, until it says no.
struct Gate {
    access: ImageAccess,
    revoked: Mutex<bool>,
}

impl ImageGate for Gate {
    fn ask<'a>(&'a self, _: &'a ImageAccessRequest) -> Answer<'a, Result<ImageAccess, CallError>> {
        let answer = if *self.revoked.lock().unwrap() {
            let (code, message) = ("artifact_revoked".to_owned(), "It was revoked.".to_owned());
            Err(CallError::Refused { status: 403, code, message })
        } else {
            Ok(self.access.clone())
        };
        Box::pin(std::future::ready(answer))
    }
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_unix_seconds(seconds).unwrap()
}

async fn sign(registry: &Registry, repository: &str, digest: &Digest, key: &PrivateKey) {
    let client = gpuaas_oci::Registry::new(&registry.url).unwrap();
    let (repository, now) = (repository.parse().unwrap(), at(1_700_000_000).to_datetime());
    client.sign(&repository, digest, key, now, &SystemRandom::new()).await.unwrap();
}

/// `docker pull` with the ticket's credentials in a configuration of its own.
async fn docker_pull(folder: &Path, ticket: &PullTicket) -> std::process::Output {
    let auth = STANDARD.encode(format!("{}:{}", ticket.username, ticket.password));
    let host = ticket.image.split('/').next().unwrap();
    let config = serde_json::json!({"auths": {host: {"auth": auth}}});
    std::fs::write(folder.join("config.json"), config.to_string()).unwrap();
    docker(&["--config", folder.to_str().unwrap(), "pull", "--quiet", &ticket.image]).await
}

async fn docker(arguments: &[&str]) -> std::process::Output {
    let run = tokio::process::Command::new("docker").args(arguments).kill_on_drop(true).output();
    tokio::time::timeout(Duration::from_mins(1), run).await.expect("docker ends in time").unwrap()
}

/// F-16, F-25, R04, N05.
#[tokio::test(flavor = "multi_thread")]
async fn a_real_engine_pulls_what_it_may_and_nothing_broken() {
    for (part, package) in [(SOCKET, "docker.io"), (REGISTRY, "docker-registry")] {
        assert!(Path::new(part).exists(), "{part} is missing: apt-get install {package}");
    }
    let registry = start_registry().await;
    let folder = tempfile::tempdir().unwrap();
    let settings = PullSettings {
        state_dir: folder.path().to_owned(),
        images_dir: folder.path().to_owned(),
        stall_timeout: Duration::from_secs(5),
        total_timeout: Duration::from_mins(1),
        connect_timeout: Duration::from_secs(2),
        retry_pause: Duration::from_millis(50),
        platform_url: "https://127.0.0.1:9".to_owned(),
        platform_ca_pem: String::new(),
    };
    let repository = "gpuaas-test/real-pull";
    let key = PrivateKey::generate(&SystemRandom::new()).unwrap();
    let trust = ImageTrust {
        enforce: true,
        names: vec![format!("{}/{repository}", registry.url.trim_start_matches("http://"))],
        keys: vec![ImageKey { public_key: key.public().to_pem(), valid_until: None }],
        accept_unnamed: false,
    };
    let (registry_url, expires_at) = (Some(registry.url.clone()), at(2_000_000_000));
    let access = ImageAccess { registry_url, token: "t".to_owned(), expires_at, trust };
    let gate = Arc::new(Gate { access, revoked: Mutex::default() });
    let clock = Arc::new(SystemClock);
    let endpoint = PullEndpoint::start(settings, gate.clone(), clock, &Spawner::default()).await.unwrap();
    let (digest, _) = push_image(&registry, repository).await;
    let grant = |digest: &Digest| ImageGrant {
        reference: format!("registry.example.com/{repository}@{digest}").parse().unwrap(),
    };
    let open = async |digest: &Digest| {
        let grant = grant(digest);
        let wanted = WantedImage { instance: Uuid::from_u128(1), generation: 1, grant: &grant };
        endpoint.open(&wanted).await
    };

    let unsigned = open(&digest).await.err().unwrap();
    assert_eq!(unsigned.reason, FailureReason::ImageUntrusted, "{unsigned}");
    sign(&registry, repository, &digest, &key).await;
    let ticket = open(&digest).await.unwrap();
    let pulled = docker_pull(folder.path(), &ticket).await;
    assert!(pulled.status.success(), "{}", String::from_utf8_lossy(&pulled.stderr));
    let progress = *ticket.progress.borrow();
    assert_eq!(Some(progress.done_bytes), progress.total_bytes);
    let found = docker(&["image", "inspect", "--format", "{{json .RepoDigests}}", &ticket.image]).await;
    let found = String::from_utf8(found.stdout).unwrap();
    assert!(found.contains(&endpoint.local_name(&grant(&digest))), "{found}");
    *gate.revoked.lock().unwrap() = true;
    let revoked = open(&digest).await.err().unwrap();
    assert_eq!(revoked.reason, FailureReason::ImageNotAllowed, "{revoked}");
    *gate.revoked.lock().unwrap() = false;
    docker(&["rmi", &ticket.image]).await;

    // A layer that was changed on the registry's disk never becomes an image (N05).
    let (digest, layer) = push_image(&registry, repository).await;
    let hex = layer.hex();
    let data = format!("data/docker/registry/v2/blobs/sha256/{}/{hex}/data", &hex[..2]);
    let path = registry.root.path().join(data);
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[600] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    sign(&registry, repository, &digest, &key).await;
    let ticket = open(&digest).await.unwrap();
    let pulled = docker_pull(folder.path(), &ticket).await;
    assert!(!pulled.status.success());
    let verdict = ticket.verdict.lock().unwrap().clone().unwrap();
    assert_eq!(verdict.reason, FailureReason::ImageDigestMismatch, "{verdict}");
    assert!(!docker(&["image", "inspect", &ticket.image]).await.status.success());
}
