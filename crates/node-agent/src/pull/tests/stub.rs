//! A registry of a few lines that behaves as it is told, a platform that answers as it is told, and the endpoint
//! between them.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use gpuaas_agent_protocol::Digest;
use gpuaas_agent_protocol::spec::ImageGrant;
use gpuaas_api::agent::{ImageAccess, ImageAccessRequest, ImageKey, ImageTrust};
use gpuaas_domain::Timestamp;
use gpuaas_oci::manifest::{Annotations, Descriptor, write_image};
use gpuaas_oci::sign::{PrivateKey, SIGNATURE_ANNOTATION, SIMPLE_SIGNING, simple_payload};
use gpuaas_program::Spawner;
use ring::rand::SystemRandom;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use uuid::Uuid;

use crate::platform::CallError;
use crate::pull::{PullEndpoint, PullSettings};
use crate::seams::{Answer, Failure, ImageGate, ImageSource as _, PullTicket, WantedImage};
use crate::wall_clock::SystemClock;

/// What the image is called and signed as.
pub(super) const NAME: &str = "registry.example.com/apps/web";
/// Every token of the platform is this and a number.
pub(super) const TOKEN: &str = "t0ken-of-the-platform-";
/// Whom the platform trusts.
pub(super) static KEY: LazyLock<PrivateKey> =
    LazyLock::new(|| PrivateKey::generate(&SystemRandom::new()).unwrap());

pub(super) const OCI: &str = "application/vnd.oci.image.manifest.v1+json";

/// What a path of the registry does.
#[derive(Clone)]
pub(super) enum Does {
    Serve,
    /// So many bytes per tenth of a second.
    Drip(usize),
    /// Half of it, then silence.
    Stall,
    /// Promises all, sends half, hangs up. Takes `Range` if it may.
    HangUp {
        resumable: bool,
    },
    /// The right length, other bytes.
    Lie,
    /// Another length.
    Append,
    Status(u16),
    Redirect(String),
}

pub(super) struct Registry {
    pub(super) address: SocketAddr,
    pub(super) seen: Arc<Mutex<Vec<String>>>,
    pub(super) connections: Arc<AtomicU32>,
    /// Tokens before this number are over.
    pub(super) first_good: Arc<AtomicU32>,
}

pub(super) type Shelf = BTreeMap<String, (String, Vec<u8>, Does)>;

pub(super) async fn registry(shelf: Shelf) -> Registry {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (seen, connections) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicU32::new(0)));
    let (seen_too, counted) = (seen.clone(), connections.clone());
    let first_good = Arc::new(AtomicU32::new(0));
    let good_too = first_good.clone();
    let shelf = Arc::new(shelf);
    let spawner = Spawner::default();
    spawner.clone().spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            counted.fetch_add(1, Ordering::SeqCst);
            let (shelf, seen, first_good) = (shelf.clone(), seen_too.clone(), good_too.clone());
            spawner.spawn(async move {
                let _ = converse(stream, &shelf, &seen, &first_good).await;
            });
        }
    });
    Registry { address, seen, connections, first_good }
}

async fn converse(
    mut stream: TcpStream,
    shelf: &Shelf,
    seen: &Mutex<Vec<String>>,
    first_good: &AtomicU32,
) -> std::io::Result<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await?);
    }
    let head = String::from_utf8(head).unwrap().to_lowercase();
    let path = head.split(' ').nth(1).unwrap().to_owned();
    seen.lock().unwrap().push(head.clone());
    let token = head.lines().find_map(|line| line.strip_prefix(&format!("authorization: bearer {TOKEN}")));
    let token = token.and_then(|number| number.parse::<u32>().ok());
    if token.is_none_or(|number| number < first_good.load(Ordering::SeqCst)) {
        let answer = "HTTP/1.1 401 x\r\nwww-authenticate: Bearer realm=\"http://127.0.0.1:9/token\"\r\n\
                      content-length: 0\r\nconnection: close\r\n\r\n";
        return stream.write_all(answer.as_bytes()).await;
    }
    let from: usize = head
        .lines()
        .find_map(|line| line.strip_prefix("range: bytes="))
        .map_or(0, |range| range.trim_end_matches('-').parse().unwrap());
    let Some((kind, bytes, does)) = shelf.get(&path) else {
        return stream.write_all(b"HTTP/1.1 404 x\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").await;
    };
    let mut bytes = bytes.clone();
    let size = bytes.len();
    match does {
        // It says what it was sent, as a careless registry may.
        Does::Status(status) => {
            let length = head.len();
            let head =
                format!("HTTP/1.1 {status} x\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{head}");
            return stream.write_all(head.as_bytes()).await;
        }
        Does::Redirect(to) => {
            let head =
                format!("HTTP/1.1 307 x\r\nlocation: {to}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
            return stream.write_all(head.as_bytes()).await;
        }
        Does::Lie => bytes[size / 2] ^= 1,
        Does::Append => bytes.push(0),
        Does::Serve | Does::Drip(_) | Does::Stall | Does::HangUp { .. } => {}
    }
    let resumed = from > 0 && matches!(does, Does::HangUp { resumable: true });
    let (status, from) = if resumed { (206, from) } else { (200, 0) };
    let length = bytes.len() - from;
    let head = format!(
        "HTTP/1.1 {status} x\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n\
         content-range: bytes {from}-{}/{size}\r\nconnection: close\r\n\r\n",
        size.saturating_sub(1)
    );
    stream.write_all(head.as_bytes()).await?;
    match does {
        Does::Drip(step) => {
            for part in bytes.chunks(*step) {
                stream.write_all(part).await?;
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
        Does::Stall => {
            stream.write_all(&bytes[..size / 2]).await?;
            std::future::pending::<()>().await;
        }
        Does::HangUp { .. } if !resumed => stream.write_all(&bytes[..size / 2]).await?,
        _ => stream.write_all(&bytes[from..]).await?,
    }
    stream.flush().await
}

/// A signed image of one layer, its parts behaving like this.
pub(super) struct Image {
    pub(super) shelf: Shelf,
    pub(super) grant_digest: Digest,
    pub(super) layer: Vec<u8>,
}

/// Puts a signature beside a digest; gives the path of what was signed.
pub(super) fn sign(shelf: &mut Shelf, digest: &Digest, key: &PrivateKey, name: &str) -> String {
    let at = Timestamp::from_unix_seconds(1_700_000_000).unwrap().to_datetime();
    let payload = simple_payload(&name.parse().unwrap(), digest, at);
    let signature = key.sign(&SystemRandom::new(), &payload).unwrap();
    let mut layer = Descriptor::of(SIMPLE_SIGNING, &payload);
    layer.annotations.insert(SIGNATURE_ANNOTATION.into(), STANDARD.encode(signature));
    let config = Descriptor::of("application/vnd.oci.image.config.v1+json", b"{}");
    let manifest = write_image(None, &config, &[layer], None, &Annotations::new());
    let tag = format!("/v2/apps/web/manifests/sha256-{}.sig", digest.hex());
    shelf.insert(tag, (OCI.into(), manifest, Does::Serve));
    let path = format!("/v2/apps/web/blobs/{}", Digest::of(&payload));
    shelf.insert(path.clone(), ("application/octet-stream".into(), payload, Does::Serve));
    path
}

/// The platform: says who may have what, and gives every asker a token of its own.
pub(super) struct Gate {
    /// Where the image is.
    pub(super) registry: Mutex<Option<String>>,
    pub(super) trust: Mutex<ImageTrust>,
    pub(super) refuse: Mutex<Option<fn() -> CallError>>,
    pub(super) asked: Mutex<Vec<ImageAccessRequest>>,
}

impl Default for Gate {
    fn default() -> Self {
        let key = ImageKey { public_key: KEY.public().to_pem(), valid_until: None };
        let trust = ImageTrust {
            enforce: true,
            names: vec!["old.example.com/apps/web".into(), NAME.into()],
            keys: vec![key],
            accept_unnamed: false,
        };
        Self {
            registry: Mutex::default(),
            trust: Mutex::new(trust),
            refuse: Mutex::default(),
            asked: Mutex::default(),
        }
    }
}

impl ImageGate for Gate {
    fn ask<'a>(&'a self, request: &'a ImageAccessRequest) -> Answer<'a, Result<ImageAccess, CallError>> {
        let mut asked = self.asked.lock().unwrap();
        asked.push(request.clone());
        let answer = match *self.refuse.lock().unwrap() {
            Some(refusal) => Err(refusal()),
            None => Ok(ImageAccess {
                registry_url: self.registry.lock().unwrap().clone(),
                token: format!("{TOKEN}{}", asked.len()),
                expires_at: Timestamp::from_unix_seconds(2_000_000_000).unwrap(),
                trust: self.trust.lock().unwrap().clone(),
            }),
        };
        Box::pin(std::future::ready(answer))
    }
}

pub(super) fn image(manifest_does: Does, layer_does: Does) -> Image {
    let layer: Vec<u8> = (0..200_000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let config = br#"{"architecture":"amd64","os":"linux"}"#.to_vec();
    let (layer_digest, config_digest) = (Digest::of(&layer), Digest::of(&config));
    let manifest = format!(
        r#"{{"schemaVersion":2,"mediaType":"{OCI}","config":{{"mediaType":"application/vnd.oci.image.config.v1+json","digest":"{config_digest}","size":{}}},"layers":[{{"mediaType":"application/vnd.oci.image.layer.v1.tar","digest":"{layer_digest}","size":{}}}]}}"#,
        config.len(),
        layer.len()
    );
    let grant_digest = Digest::of(manifest.as_bytes());
    let blob = "application/octet-stream".to_owned();
    let mut shelf = Shelf::new();
    shelf.insert(
        format!("/v2/apps/web/manifests/{grant_digest}"),
        (OCI.into(), manifest.into_bytes(), manifest_does),
    );
    shelf.insert(format!("/v2/apps/web/blobs/{layer_digest}"), (blob.clone(), layer.clone(), layer_does));
    shelf.insert(format!("/v2/apps/web/blobs/{config_digest}"), (blob, config, Does::Serve));
    sign(&mut shelf, &grant_digest, &KEY, NAME);
    Image { shelf, grant_digest, layer }
}

pub(super) fn grant(digest: &Digest) -> ImageGrant {
    ImageGrant { reference: format!("{NAME}@{digest}").parse().unwrap() }
}

pub(super) fn wanted(grant: &ImageGrant) -> WantedImage<'_> {
    WantedImage { instance: Uuid::from_u128(5), generation: 3, grant }
}

pub(super) fn settings(state: &Path) -> PullSettings {
    PullSettings {
        state_dir: state.to_owned(),
        images_dir: state.to_owned(),
        stall_timeout: Duration::from_millis(400),
        total_timeout: Duration::from_secs(20),
        connect_timeout: Duration::from_secs(2),
        retry_pause: Duration::from_millis(5),
        platform_url: "https://127.0.0.1:9".into(),
        platform_ca_pem: String::new(),
    }
}

pub(super) struct Bench {
    pub(super) endpoint: PullEndpoint,
    pub(super) gate: Arc<Gate>,
    pub(super) state: tempfile::TempDir,
}

pub(super) async fn endpoint(settings: PullSettings, gate: &Arc<Gate>) -> PullEndpoint {
    drop(rustls::crypto::ring::default_provider().install_default());
    PullEndpoint::start(settings, gate.clone(), Arc::new(SystemClock), &Spawner::default()).await.unwrap()
}

pub(super) async fn bench(change: impl FnOnce(&mut PullSettings)) -> Bench {
    let state = tempfile::tempdir().unwrap();
    let mut settings = settings(state.path());
    change(&mut settings);
    let gate = Arc::new(Gate::default());
    Bench { endpoint: endpoint(settings, &gate).await, gate, state }
}

pub(super) fn http() -> reqwest::Client {
    let builder = reqwest::Client::builder().no_proxy().timeout(Duration::from_secs(30));
    builder.tls_certs_only([]).build().unwrap()
}

impl Bench {
    /// Asks for an image that this registry has.
    pub(super) async fn open(&self, registry: &Registry, digest: &Digest) -> Result<PullTicket, Failure> {
        *self.gate.registry.lock().unwrap() = Some(format!("http://{}", registry.address));
        self.endpoint.open(&wanted(&grant(digest))).await
    }

    /// As for an image that the engine has already.
    pub(super) async fn admit(&self, registry: &Registry, digest: &Digest) -> Result<(), Failure> {
        *self.gate.registry.lock().unwrap() = Some(format!("http://{}", registry.address));
        self.endpoint.admit(&wanted(&grant(digest))).await
    }

    /// What the engine gets: a status and, if all bytes came, the body.
    pub(super) async fn get(&self, ticket: &PullTicket, path: &str) -> (u16, Option<Vec<u8>>) {
        let url = format!("http://{}{path}", self.endpoint.address());
        let request = http().get(url).basic_auth(&ticket.username, Some(&ticket.password));
        let response = request.send().await.unwrap();
        (response.status().as_u16(), response.bytes().await.ok().map(|bytes| bytes.to_vec()))
    }
}
