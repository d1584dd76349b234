//! A registry on a port of its own, a client for it, and an independent look at its files.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use gpuaas_registry::manifest::{OCI_INDEX, OCI_MANIFEST};
use gpuaas_registry::{
    Algorithm, Clock, Digest, Guard, LocalDisk, OpenGuard, Options, Registry, Settings, SystemClock,
};
use reqwest::{Body, Client, Method, RequestBuilder, Response, StatusCode};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

/// The machine's clock, so much later.
#[derive(Default)]
pub(crate) struct LaterClock(AtomicU64);

impl LaterClock {
    pub(crate) fn pass(&self, time: Duration) {
        self.0.fetch_add(time.as_secs(), Ordering::SeqCst);
    }
}

impl Clock for LaterClock {
    fn now(&self) -> SystemTime {
        SystemClock.now() + Duration::from_secs(self.0.load(Ordering::SeqCst))
    }
}

/// What a world is made of.
pub(crate) struct Plan {
    pub(crate) options: Options,
    pub(crate) settings: Settings,
    pub(crate) clock: Arc<LaterClock>,
}

impl Default for Plan {
    fn default() -> Self {
        let clock = Arc::new(LaterClock::default());
        let options = Options { clock: clock.clone(), ..Options::default() };
        Self { options, settings: Settings::default(), clock }
    }
}

pub(crate) struct World {
    pub(crate) registry: Arc<Registry<LocalDisk>>,
    pub(crate) clock: Arc<LaterClock>,
    pub(crate) caller: Caller,
    folder: TempDir,
    _server: JoinSet<()>,
}

impl World {
    pub(crate) async fn new() -> Self {
        Self::with(Plan::default(), OpenGuard).await
    }

    pub(crate) async fn with(plan: Plan, guard: impl Guard) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("registry");
        Self::at(&root, folder, plan, guard).await
    }

    /// In this folder, which may lie elsewhere than the one to remove at the end.
    pub(crate) async fn at(root: &Path, folder: TempDir, plan: Plan, guard: impl Guard) -> Self {
        let storage = LocalDisk::open(root, plan.options).await.unwrap();
        let registry = Registry::new(storage, guard, plan.settings);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let caller = Caller::new(&listener.local_addr().unwrap().to_string());
        let router = registry.router();
        let mut server = JoinSet::new();
        server.spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { registry, clock: plan.clock, caller, folder, _server: server }
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.folder.path().join("registry")
    }
}

impl std::ops::Deref for World {
    type Target = Caller;

    fn deref(&self) -> &Caller {
        &self.caller
    }
}

/// Speaks the protocol as a client does.
#[derive(Clone)]
pub(crate) struct Caller {
    pub(crate) base: String,
    client: Client,
    token: Option<String>,
}

/// An answer, read to its end.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: reqwest::header::HeaderMap,
    pub(crate) bytes: Vec<u8>,
}

impl Answer {
    pub(crate) async fn of(response: Response) -> Self {
        let (status, headers) = (response.status(), response.headers().clone());
        Self { status, headers, bytes: response.bytes().await.unwrap().to_vec() }
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.bytes).unwrap_or_else(|_| panic!("no JSON: {self:?}"))
    }

    /// The code of its first error; the body has the shape of the specification.
    pub(crate) fn code(&self) -> String {
        let body = self.json();
        assert_eq!(self.header("content-type"), "application/json");
        let errors = body["errors"].as_array().unwrap_or_else(|| panic!("no errors: {body}"));
        assert!(errors[0]["message"].as_str().is_some_and(|text| !text.is_empty()));
        errors[0]["code"].as_str().unwrap().to_owned()
    }

    pub(crate) fn is(self, status: u16) -> Self {
        assert_eq!(
            self.status.as_u16(),
            status,
            "{} {:?}",
            String::from_utf8_lossy(&self.bytes),
            self.headers
        );
        self
    }
}

pub(crate) fn sha256(bytes: &[u8]) -> Digest {
    Digest::of(Algorithm::Sha256, bytes)
}

/// Bytes that differ from seed to seed and do not repeat.
pub(crate) fn noise(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut bytes = Vec::with_capacity(length + 8);
    while bytes.len() < length {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend(state.to_le_bytes());
    }
    bytes.truncate(length);
    bytes
}

pub(crate) fn descriptor(media_type: &str, bytes: &[u8]) -> Value {
    json!({"mediaType": media_type, "digest": sha256(bytes).as_str(), "size": bytes.len()})
}

/// An image of this config and these layers.
pub(crate) fn image(config: &[u8], layers: &[&[u8]]) -> Value {
    let layers: Vec<Value> =
        layers.iter().map(|layer| descriptor("application/vnd.oci.image.layer.v1.tar", layer)).collect();
    json!({"schemaVersion": 2, "mediaType": OCI_MANIFEST,
        "config": descriptor("application/vnd.oci.image.config.v1+json", config), "layers": layers})
}

pub(crate) fn index(manifests: &[&[u8]]) -> Value {
    let manifests: Vec<Value> = manifests.iter().map(|child| descriptor(OCI_MANIFEST, child)).collect();
    json!({"schemaVersion": 2, "mediaType": OCI_INDEX, "manifests": manifests})
}

impl Caller {
    pub(crate) fn new(address: &str) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = Client::builder().timeout(Duration::from_mins(1)).build().unwrap();
        Self { base: format!("http://{address}"), client, token: None }
    }

    pub(crate) fn with_token(&self, token: &str) -> Self {
        Self { token: Some(token.to_owned()), ..self.clone() }
    }

    pub(crate) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let request = self.client.request(method, format!("{}{path}", self.base));
        match &self.token {
            Some(token) => request.bearer_auth(token),
            None => request,
        }
    }

    pub(crate) async fn call(&self, method: Method, path: &str) -> Answer {
        self.send(method, path, Vec::new()).await
    }

    pub(crate) async fn send(&self, method: Method, path: &str, body: impl Into<Body>) -> Answer {
        Answer::of(self.request(method, path).body(body).send().await.unwrap()).await
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.call(Method::GET, path).await
    }

    pub(crate) async fn head(&self, path: &str) -> Answer {
        self.call(Method::HEAD, path).await
    }

    /// The location of a new upload.
    pub(crate) async fn start(&self, repository: &str) -> String {
        let answer = self.call(Method::POST, &format!("/v2/{repository}/blobs/uploads/")).await.is(202);
        answer.header("location").to_owned()
    }

    pub(crate) async fn chunk(&self, method: Method, path: &str, at: usize, bytes: &[u8]) -> Answer {
        let range = format!("{at}-{}", at + bytes.len() - 1);
        let request = self.request(method, path).header("content-range", range);
        Answer::of(request.body(bytes.to_vec()).send().await.unwrap()).await
    }

    pub(crate) async fn push(&self, repository: &str, bytes: &[u8]) -> Digest {
        let digest = sha256(bytes);
        let path = format!("/v2/{repository}/blobs/uploads/?digest={digest}");
        self.send(Method::POST, &path, bytes.to_vec()).await.is(201);
        digest
    }

    pub(crate) async fn put_manifest(&self, repository: &str, reference: &str, manifest: &Value) -> Answer {
        let media_type = manifest["mediaType"].as_str().unwrap_or(OCI_MANIFEST);
        self.put_bytes(repository, reference, media_type, manifest.to_string().into_bytes()).await
    }

    pub(crate) async fn put_bytes(
        &self,
        repository: &str,
        reference: &str,
        media_type: &str,
        bytes: Vec<u8>,
    ) -> Answer {
        let path = format!("/v2/{repository}/manifests/{reference}");
        let request = self.request(Method::PUT, &path).header("content-type", media_type);
        Answer::of(request.body(bytes).send().await.unwrap()).await
    }

    /// A small image under this tag; its digest.
    pub(crate) async fn push_image(&self, repository: &str, tag: &str, seed: u64) -> Digest {
        let (config, layer) = (noise(seed, 100), noise(seed + 1000, 5000));
        self.push(repository, &config).await;
        self.push(repository, &layer).await;
        let answer = self.put_manifest(repository, tag, &image(&config, &[&layer])).await.is(201);
        answer.header("docker-content-digest").parse().unwrap()
    }
}

/// What lies in a registry's folder, by repository.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) blobs: BTreeMap<String, BTreeSet<String>>,
    pub(crate) named: BTreeMap<String, BTreeSet<String>>,
    pub(crate) manifests: BTreeMap<String, BTreeSet<String>>,
    pub(crate) tags: BTreeMap<String, BTreeMap<String, String>>,
    pub(crate) contents: BTreeSet<String>,
    pub(crate) uploads: usize,
}

fn files(folder: &Path) -> Vec<(String, PathBuf)> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    entries
        .map(|entry| entry.unwrap())
        .map(|entry| (entry.file_name().into_string().unwrap(), entry.path()))
        .collect()
}

/// Reads every file and checks the laws: each blob and content has the bytes of its name, each manifest has all its
/// blobs at their sizes, each tag leads to a manifest.
pub(crate) fn look(root: &Path) -> Found {
    let mut found = Found { uploads: files(&root.join("uploads")).len(), ..Found::default() };
    for algorithm in [Algorithm::Sha256, Algorithm::Sha512] {
        for (_, folder) in files(&root.join("content").join(algorithm.name())) {
            for (name, path) in files(&folder) {
                let digest = Digest::of(algorithm, &fs::read(path).unwrap());
                assert_eq!(digest.hex(), name, "a content has other bytes");
                found.contents.insert(digest.to_string());
            }
        }
    }
    look_below(&root.join("repositories"), "", &mut found);
    found
}

fn check_name(name: &str, bytes: &[u8]) -> String {
    let digest: Digest = name.replace('-', ":").parse().unwrap();
    assert_eq!(Digest::of(digest.algorithm(), bytes), digest, "{name} has other bytes");
    digest.to_string()
}

fn look_below(root: &Path, repository: &str, found: &mut Found) {
    let folder = root.join(repository);
    for (name, _) in files(&folder).iter().filter(|(name, _)| !name.starts_with('_')) {
        let below = if repository.is_empty() { name.clone() } else { format!("{repository}/{name}") };
        look_below(root, &below, found);
    }
    let mut sizes = BTreeMap::new();
    for (name, path) in files(&folder.join("_blobs")) {
        let bytes = fs::read(path).unwrap();
        sizes.insert(check_name(&name, &bytes), bytes.len() as u64);
    }
    let (mut manifests, mut named) = (BTreeSet::new(), BTreeSet::new());
    for (name, path) in files(&folder.join("_manifests")) {
        let file = fs::read(path).unwrap();
        let end = file.iter().position(|byte| *byte == b'\n').unwrap();
        let manifest: Value = serde_json::from_slice(&file[end + 1..]).unwrap();
        manifests.insert(check_name(&name, &file[end + 1..]));
        let layers = manifest["layers"].as_array().into_iter().flatten();
        for part in layers.chain(manifest.get("config")) {
            let digest = part["digest"].as_str().unwrap().to_owned();
            assert_eq!(sizes.get(&digest).copied(), part["size"].as_u64(), "{repository}: {digest} is lost");
            named.insert(digest);
        }
    }
    for (tag, path) in files(&folder.join("_tags")) {
        let digest = fs::read_to_string(path).unwrap();
        assert!(manifests.contains(&digest), "{repository}:{tag} leads nowhere");
        found.tags.entry(repository.to_owned()).or_default().insert(tag, digest);
    }
    if !sizes.is_empty() {
        found.blobs.insert(repository.to_owned(), sizes.into_keys().collect());
    }
    if !manifests.is_empty() {
        found.manifests.insert(repository.to_owned(), manifests);
        found.named.insert(repository.to_owned(), named);
    }
}
