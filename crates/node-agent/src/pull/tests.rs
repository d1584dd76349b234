//! N05, R02, R06: a registry that is slow, silent, short, lying or hostile.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::*;

const OCI: &str = "application/vnd.oci.image.manifest.v1+json";

/// What a path of the registry does.
#[derive(Clone)]
enum Does {
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

struct Registry {
    address: SocketAddr,
    seen: Arc<Mutex<Vec<String>>>,
    connections: Arc<AtomicU32>,
}

type Shelf = BTreeMap<String, (String, Vec<u8>, Does)>;

async fn registry(shelf: Shelf) -> Registry {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (seen, connections) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicU32::new(0)));
    let (seen_too, counted) = (seen.clone(), connections.clone());
    let shelf = Arc::new(shelf);
    let spawner = Spawner::default();
    spawner.clone().spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            counted.fetch_add(1, Ordering::SeqCst);
            let (shelf, seen) = (shelf.clone(), seen_too.clone());
            spawner.spawn(async move {
                let _ = converse(stream, &shelf, &seen).await;
            });
        }
    });
    Registry { address, seen, connections }
}

async fn converse(mut stream: TcpStream, shelf: &Shelf, seen: &Mutex<Vec<String>>) -> std::io::Result<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await?);
    }
    let head = String::from_utf8(head).unwrap().to_lowercase();
    let path = head.split(' ').nth(1).unwrap().to_owned();
    seen.lock().unwrap().push(head.clone());
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
        Does::Status(status) => {
            let head = format!("HTTP/1.1 {status} x\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
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

/// An image of one layer, its parts behaving like this.
struct Image {
    shelf: Shelf,
    grant_digest: Digest,
    layer: Vec<u8>,
}

fn image(manifest_does: Does, layer_does: Does) -> Image {
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
    Image { shelf, grant_digest, layer }
}

fn grant(registry: &Registry, digest: &Digest) -> ImageGrant {
    ImageGrant {
        reference: format!("registry.example.com/apps/web@{digest}").parse().unwrap(),
        upstream: format!("http://{}", registry.address),
    }
}

fn settings(state: &Path) -> PullSettings {
    PullSettings {
        state_dir: state.to_owned(),
        images_dir: state.to_owned(),
        stall_timeout: Duration::from_millis(400),
        total_timeout: Duration::from_secs(20),
        connect_timeout: Duration::from_secs(2),
        retry_pause: Duration::from_millis(5),
        extra_ca_pem: None,
    }
}

struct Bench {
    endpoint: PullEndpoint,
    state: tempfile::TempDir,
}

async fn bench(change: impl FnOnce(&mut PullSettings)) -> Bench {
    drop(rustls::crypto::ring::default_provider().install_default());
    let state = tempfile::tempdir().unwrap();
    let mut settings = settings(state.path());
    change(&mut settings);
    let endpoint = PullEndpoint::start(settings, &Spawner::default()).await.unwrap();
    Bench { endpoint, state }
}

fn http() -> reqwest::Client {
    let builder = reqwest::Client::builder().no_proxy().timeout(Duration::from_secs(30));
    builder.tls_certs_only([]).build().unwrap()
}

impl Bench {
    /// What the engine gets: a status and, if all bytes came, the body.
    async fn get(&self, ticket: &PullTicket, path: &str) -> (u16, Option<Vec<u8>>) {
        let url = format!("http://{}{path}", self.endpoint.address());
        let request = http().get(url).basic_auth(&ticket.username, Some(&ticket.password));
        let response = request.send().await.unwrap();
        (response.status().as_u16(), response.bytes().await.ok().map(|bytes| bytes.to_vec()))
    }
}

fn reason(ticket: &PullTicket) -> Option<FailureReason> {
    ticket.verdict.lock().unwrap().as_ref().map(|failure| failure.reason)
}

#[tokio::test]
async fn a_ticket_opens_its_image_and_nothing_else() {
    let image = image(Does::Serve, Does::Serve);
    let layer_digest = Digest::of(&image.layer);
    let registry = registry(image.shelf).await;
    let bench = bench(|_| ()).await;
    let grant = grant(&registry, &image.grant_digest);
    let mut ticket = bench.endpoint.open(&grant).await.unwrap();
    assert_eq!(ticket.image, format!("{}/apps/web@{}", bench.endpoint.address(), image.grant_digest));
    assert_eq!(ticket.progress.borrow_and_update().total_bytes, Some(200_037));
    assert_eq!(bench.get(&ticket, "/v2/").await.0, 200);
    let manifest = format!("/v2/apps/web/manifests/{}", image.grant_digest);
    let blob = format!("/v2/apps/web/blobs/{layer_digest}");
    assert_eq!(Digest::of(&bench.get(&ticket, &manifest).await.1.unwrap()), image.grant_digest);
    assert_eq!(bench.get(&ticket, &blob).await, (200, Some(image.layer.clone())));
    assert_eq!(bench.get(&ticket, &blob).await, (200, Some(image.layer.clone())));
    assert_eq!(ticket.progress.borrow().done_bytes, 200_000, "twice the same counts once");

    let url = format!("http://{}{blob}", bench.endpoint.address());
    let head = http().head(&url).basic_auth(&ticket.username, Some(&ticket.password)).send().await.unwrap();
    assert_eq!(head.headers()["content-length"], "200000");
    let post = http().post(&url).basic_auth(&ticket.username, Some(&ticket.password)).send().await.unwrap();
    assert_eq!(post.status(), 404);

    let unknown = Digest::of(b"other");
    for path in [
        format!("/v2/apps/web/manifests/{unknown}"),
        format!("/v2/apps/web/manifests/{layer_digest}"),
        format!("/v2/apps/web/blobs/{unknown}"),
        format!("/v2/apps/web/blobs/{}", image.grant_digest),
        format!("/v2/apps/other/blobs/{layer_digest}"),
        format!("/v2/apps/web/../web/blobs/{layer_digest}"),
        "/v2/apps/web/manifests/latest".into(),
        "/v2/apps/web/tags/list".into(),
        "/v2/_catalog".into(),
        "/".into(),
        format!("{blob}?x=1"),
    ] {
        let status = bench.get(&ticket, &path).await.0;
        // A dotted path is made plain by the client itself.
        assert_eq!(status, if path.contains("..") { 200 } else { 404 }, "{path}");
    }
    assert!(reason(&ticket).is_none());

    // R07: another ticket for the same image has other credentials, and one's end is the end of its own.
    let other = bench.endpoint.open(&grant).await.unwrap();
    assert_ne!(other.password, ticket.password);
    let mixed = http().get(&url).basic_auth(&other.username, Some(&ticket.password)).send().await.unwrap();
    assert_eq!(mixed.status(), 401);
    assert_eq!(http().get(&url).send().await.unwrap().status(), 401);
    let (username, password) = (ticket.username.clone(), ticket.password.clone());
    drop(ticket);
    let late = http().get(&url).basic_auth(username, Some(password)).send().await.unwrap();
    assert_eq!(late.status(), 401);
    assert_eq!(bench.get(&other, &blob).await.0, 200);
    // R06: nothing the engine sent to us went on to the registry.
    assert!(registry.seen.lock().unwrap().iter().all(|head| !head.contains("authorization")));
}

#[tokio::test]
async fn a_manifest_that_does_not_come_right_has_a_reason() {
    let elsewhere = registry(Shelf::new()).await;
    let cases = [
        (Does::Status(404), FailureReason::ImageNotFound),
        (Does::Status(500), FailureReason::ImagePullFailed),
        (Does::Status(401), FailureReason::ImagePullFailed),
        (Does::Status(503), FailureReason::RegistryUnreachable),
        (Does::Lie, FailureReason::ImageDigestMismatch),
        (Does::Append, FailureReason::ImageDigestMismatch),
        (Does::Stall, FailureReason::ImagePullTimeout),
        (Does::HangUp { resumable: true }, FailureReason::ImagePullFailed),
        (Does::Redirect(format!("http://{}/x", elsewhere.address)), FailureReason::ImagePullFailed),
        (Does::Redirect("/v2/apps/web/other".into()), FailureReason::ImagePullFailed),
    ];
    let bench = bench(|_| ()).await;
    for (does, expected) in cases {
        let image = image(does, Does::Serve);
        let registry = registry(image.shelf).await;
        let refused = bench.endpoint.open(&grant(&registry, &image.grant_digest)).await.err().unwrap();
        assert_eq!(refused.reason, expected, "{refused}");
    }
    assert_eq!(elsewhere.connections.load(Ordering::SeqCst), 0, "the hostile redirect was not followed");

    let gone = Registry { address: "127.0.0.1:9".parse().unwrap(), ..elsewhere };
    let refused = bench.endpoint.open(&grant(&gone, &Digest::of(b""))).await.err().unwrap();
    assert_eq!(refused.reason, FailureReason::RegistryUnreachable);

    let mut image = image(Does::Serve, Does::Serve);
    for (_, bytes, _) in image.shelf.values_mut().filter(|(kind, ..)| kind == OCI) {
        let text = String::from_utf8(bytes.clone()).unwrap();
        *bytes = text.replace("\"size\":200000", "\"size\":200000,\"urls\":[\"http://evil/\"]").into_bytes();
        image.grant_digest = Digest::of(bytes);
    }
    let foreign = image.shelf.values().find(|(kind, ..)| kind == OCI).unwrap().clone();
    let shelf = Shelf::from([(format!("/v2/apps/web/manifests/{}", image.grant_digest), foreign)]);
    let registry = registry(shelf).await;
    let refused = bench.endpoint.open(&grant(&registry, &image.grant_digest)).await.err().unwrap();
    assert!(refused.detail.contains("another host"), "{refused}");
}

#[tokio::test]
async fn a_blob_that_does_not_come_right_is_cut_off_with_a_reason() {
    let elsewhere = registry(Shelf::new()).await;
    let cases = [
        (Does::Status(404), FailureReason::ImageNotFound),
        (Does::Status(500), FailureReason::ImagePullFailed),
        (Does::Lie, FailureReason::ImageDigestMismatch),
        (Does::Append, FailureReason::ImageDigestMismatch),
        (Does::Stall, FailureReason::ImagePullTimeout),
        (Does::HangUp { resumable: false }, FailureReason::ImagePullFailed),
        (Does::Redirect(format!("http://{}/x", elsewhere.address)), FailureReason::ImagePullFailed),
        (
            Does::Redirect(format!("http://localhost:{}/x", elsewhere.address.port())),
            FailureReason::ImagePullFailed,
        ),
    ];
    let bench = bench(|_| ()).await;
    for (does, expected) in cases {
        let image = image(Does::Serve, does);
        let blob = format!("/v2/apps/web/blobs/{}", Digest::of(&image.layer));
        let registry = registry(image.shelf).await;
        let ticket = bench.endpoint.open(&grant(&registry, &image.grant_digest)).await.unwrap();
        let (status, body) = bench.get(&ticket, &blob).await;
        assert!(status == 403 || body.is_none(), "{expected:?}: a whole body came");
        assert_eq!(reason(&ticket), Some(expected));
        assert_eq!(bench.get(&ticket, &blob).await.0, 403, "the engine is told not to try again");
    }
    assert_eq!(elsewhere.connections.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_slow_registry_meets_the_deadline_and_a_broken_transfer_goes_on() {
    let bench = bench(|settings| settings.total_timeout = Duration::from_secs(1)).await;
    let image_at_1_kib_per_second = image(Does::Serve, Does::Drip(102));
    let registry_slow = registry(image_at_1_kib_per_second.shelf).await;
    let digest = image_at_1_kib_per_second.grant_digest;
    let started = Instant::now();
    let ticket = bench.endpoint.open(&grant(&registry_slow, &digest)).await.unwrap();
    let blob = format!("/v2/apps/web/blobs/{}", Digest::of(&image_at_1_kib_per_second.layer));
    assert_eq!(bench.get(&ticket, &blob).await.1, None);
    assert_eq!(reason(&ticket), Some(FailureReason::ImagePullTimeout));
    assert!(started.elapsed() < Duration::from_secs(3));

    let image = image(Does::Serve, Does::HangUp { resumable: true });
    let registry = registry(image.shelf).await;
    let ticket = bench.endpoint.open(&grant(&registry, &image.grant_digest)).await.unwrap();
    assert_eq!(bench.get(&ticket, &blob).await, (200, Some(image.layer)));
    assert!(registry.seen.lock().unwrap().last().unwrap().contains("range: bytes=100000-"));
    assert!(reason(&ticket).is_none());
}

#[tokio::test]
async fn a_redirect_on_the_same_registry_is_followed_for_blobs() {
    let mut image = image(Does::Serve, Does::Redirect("/elsewhere".into()));
    image.shelf.insert("/elsewhere".into(), ("x/y".into(), image.layer.clone(), Does::Serve));
    let registry = registry(image.shelf).await;
    let bench = bench(|_| ()).await;
    let ticket = bench.endpoint.open(&grant(&registry, &image.grant_digest)).await.unwrap();
    let blob = format!("/v2/apps/web/blobs/{}", Digest::of(&image.layer));
    assert_eq!(bench.get(&ticket, &blob).await, (200, Some(image.layer)));
}

#[tokio::test]
async fn the_port_stays_over_restarts_and_gives_way_if_taken() {
    let first = bench(|_| ()).await;
    let port = first.endpoint.address().port();
    // Still taken by the first one.
    let second = PullEndpoint::start(settings(first.state.path()), &Spawner::default()).await.unwrap();
    assert_ne!(second.address().port(), port);
    let file = first.state.path().join("pull-port");
    assert_eq!(std::fs::read_to_string(&file).unwrap().trim(), second.address().port().to_string());
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    std::fs::write(&file, free.to_string()).unwrap();
    let third = PullEndpoint::start(settings(first.state.path()), &Spawner::default()).await.unwrap();
    assert_eq!(third.address().port(), free);
}
