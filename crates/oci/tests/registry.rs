//! Against a real registry (Debian's `docker-registry`) and a real engine: what we push, Docker pulls and runs.

mod support;

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Output};
use std::sync::Mutex;
use std::time::Duration;

use bytes::Bytes;
use chrono::DateTime;
use gpuaas_oci::manifest::{Annotations, Descriptor, Manifest, OCI_MANIFEST, write_image};
use gpuaas_oci::sign::{Policy, PrivateKey, Purpose, Refusal, SLSA_PROVENANCE_V1, TrustedKey, Unnamed};
use gpuaas_oci::{
    BlobHead, BlobSource, ClientError, Credentials, Digest, Image, ImageBuilder, Layout, Mounted, Progress,
    Registry, Repository, SecretText, Settings, Tag, is_docker_archive, unpack_docker_archive,
};
use ring::rand::SystemRandom;
use support::Loopback;

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

fn repository() -> Repository {
    "apps/large".parse().unwrap()
}

/// Bytes that nobody compresses, the same on every run.
fn large(bytes: usize) -> Vec<u8> {
    let mut state = 1_u64;
    let next = |state: &mut u64| {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*state >> 56) as u8
    };
    (0..bytes).map(|_| next(&mut state)).collect()
}

fn in_pieces() -> Settings {
    Settings {
        monolithic_bytes: 1024,
        chunk_bytes: 256 * 1024,
        first_pause: Duration::from_millis(10),
        ..Settings::default()
    }
}

#[tokio::test]
async fn a_large_blob_goes_in_pieces_comes_back_is_mounted_and_deleted() {
    let loopback = Loopback::start();
    let registry = Registry::with(&format!("http://{}", loopback.address), None, in_pieces()).unwrap();
    let (repository, other): (Repository, Repository) = (repository(), "apps/other".parse().unwrap());
    let bytes = large(1_000_000);
    let digest = Digest::of(&bytes);
    let source = BlobSource::Memory(Bytes::from(bytes.clone()));
    let steps = Mutex::new(Vec::new());
    let note = |step: Progress| steps.lock().unwrap().push(step.done);
    assert!(registry.push_blob(&repository, &digest, &source, &note).await.unwrap());
    assert_eq!(*steps.lock().unwrap(), [0, 262_144, 524_288, 786_432, 1_000_000]);
    assert!(!registry.push_blob(&repository, &digest, &source, &note).await.unwrap(), "it is there");
    assert_eq!(
        registry.find_blob(&repository, &digest).await.unwrap(),
        Some(BlobHead { size: Some(1_000_000) })
    );

    let mut back = Vec::new();
    registry.pull_blob(&repository, &digest, 1_000_000, &mut back, &|_| ()).await.unwrap();
    assert!(back == bytes);

    assert_eq!(registry.find_blob(&other, &digest).await.unwrap(), None);
    assert_eq!(registry.mount_blob(&repository, &other, &digest).await.unwrap(), Mounted::Yes);
    assert_eq!(registry.find_blob(&other, &digest).await.unwrap(), Some(BlobHead { size: Some(1_000_000) }));
    let unknown = Digest::of(b"unknown");
    assert_eq!(registry.mount_blob(&repository, &other, &unknown).await.unwrap(), Mounted::No);
    registry.delete_blob(&other, &digest).await.unwrap();
    assert_eq!(registry.find_blob(&other, &digest).await.unwrap(), None);
}

/// Stands between client and registry and ends a connection after so many bytes, a few times.
fn breaking_proxy(target: String, breaks: &'static [usize]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        let mut left = breaks.iter();
        for client in listener.incoming() {
            let (client, server) = (client.unwrap(), TcpStream::connect(&target).unwrap());
            let limit = left.next().copied().unwrap_or(usize::MAX);
            let (mut up, mut into) = (client.try_clone().unwrap(), server.try_clone().unwrap());
            let (mut down, mut back) = (server.try_clone().unwrap(), client.try_clone().unwrap());
            std::thread::spawn(move || {
                let _ = std::io::copy(&mut down, &mut back);
                let _ = back.shutdown(std::net::Shutdown::Both);
            });
            std::thread::spawn(move || {
                let mut piece = [0; 16 * 1024];
                let mut passed = 0;
                while let Ok(length @ 1..) = up.read(&mut piece) {
                    passed += length;
                    if passed > limit || into.write_all(&piece[..length]).is_err() {
                        break;
                    }
                }
                let _ = client.shutdown(std::net::Shutdown::Both);
                let _ = server.shutdown(std::net::Shutdown::Both);
            });
        }
    });
    address
}

#[tokio::test]
async fn a_large_blob_arrives_whole_although_the_connection_breaks() {
    let loopback = Loopback::start();
    let address = breaking_proxy(loopback.address.clone(), &[400_000, 300_000, 100_000]);
    let registry = Registry::with(&format!("http://{address}"), None, in_pieces()).unwrap();
    let bytes = large(2_000_000);
    let digest = Digest::of(&bytes);
    let source = BlobSource::Memory(Bytes::from(bytes));
    assert!(registry.push_blob(&repository(), &digest, &source, &|_| ()).await.unwrap());
    assert_eq!(
        loopback.registry().find_blob(&repository(), &digest).await.unwrap(),
        Some(BlobHead { size: Some(2_000_000) })
    );
}

/// F-06: a tag is a label; what it meant before stays under its digest.
#[tokio::test]
async fn manifests_tags_and_referrers_are_listed_and_deleted() {
    let loopback = Loopback::start();
    let registry = loopback.registry();
    let repository: Repository = "apps/hello".parse().unwrap();
    let (one, two) = (sample("one").build().unwrap(), sample("two").build().unwrap());
    registry.push("apps/hello", &one, Some("latest")).await.unwrap();
    registry.push("apps/hello", &two, Some("latest")).await.unwrap();
    let latest: Tag = "latest".parse().unwrap();
    assert_eq!(registry.get_manifest(&repository, &latest).await.unwrap().digest, *two.digest());
    let first = registry.get_manifest(&repository, one.digest()).await.unwrap();
    let Ok(Manifest::Image(image)) = first.read() else { panic!("an image") };
    image.check_runnable().unwrap();
    let head = registry.find_manifest_head(&repository, &latest).await.unwrap().unwrap();
    assert_eq!((head.digest.as_ref(), head.media_type.as_str()), (Some(two.digest()), OCI_MANIFEST));
    assert_eq!(registry.list_tags(&repository).await.unwrap(), [latest]);

    // This registry keeps no list of referrers, so the tag does.
    let subject = Descriptor::of(OCI_MANIFEST, &one.manifest.bytes);
    for note in ["first", "second", "first"] {
        let empty = b"{}";
        let config = Descriptor::of("application/vnd.oci.empty.v1+json", empty);
        registry
            .push_blob(&repository, &config.digest, &BlobSource::Memory(Bytes::from_static(empty)), &|_| ())
            .await
            .unwrap();
        let annotations = Annotations::from([("note".to_owned(), note.to_owned())]);
        let bytes = write_image(
            Some("text/note"),
            &config,
            std::slice::from_ref(&config),
            Some(&subject),
            &annotations,
        );
        let mut entry = Descriptor::of(OCI_MANIFEST, &bytes);
        entry.artifact_type = Some("text/note".to_owned());
        registry.put_referrer(&repository, one.digest(), &entry, &bytes).await.unwrap();
    }
    assert_eq!(registry.list_referrers(&repository, one.digest(), Some("text/note")).await.unwrap().len(), 2);
    assert!(registry.list_referrers(&repository, two.digest(), None).await.unwrap().is_empty());

    registry.delete_manifest(&repository, one.digest()).await.unwrap();
    assert!(registry.find_manifest(&repository, one.digest()).await.unwrap().is_none());
    let gone = registry.get_manifest(&repository, one.digest()).await.unwrap_err();
    assert!(matches!(gone, ClientError::NotFound { .. }), "{gone}");
}

#[tokio::test]
async fn a_registry_with_a_password_lets_in_who_knows_it() {
    let auth = "auth: {htpasswd: {realm: 'test', path: 'FOLDER/htpasswd'}}\n";
    let loopback = Loopback::start_with(auth);
    let url = format!("http://{}", loopback.address);
    let image = sample("guarded").build().unwrap();
    let with = |password: &str| {
        let password = SecretText::new(password.to_owned());
        Registry::with(&url, Some(Credentials::Password { user: "ann".to_owned(), password }), in_pieces())
            .unwrap()
    };
    let refused = loopback.registry().push("apps/hello", &image, None).await.unwrap_err();
    assert!(matches!(refused, ClientError::Unauthorized { had_credentials: false, .. }), "{refused}");
    let refused = with("wrong").push("apps/hello", &image, None).await.unwrap_err();
    assert!(matches!(refused, ClientError::Unauthorized { had_credentials: true, .. }), "{refused}");
    with("correct-horse").push("apps/hello", &image, None).await.unwrap();
}

/// F-24: what was saved in one place is pushed in another and is the same.
#[tokio::test]
async fn a_saved_layout_is_pushed_and_keeps_its_digest() {
    let loopback = Loopback::start();
    let folder = tempfile::tempdir().unwrap();
    let image = sample("saved").build().unwrap();
    let path = folder.path().join("image.tar");
    std::fs::write(&path, image.to_archive(Some("apps/saved:1"))).unwrap();
    let layout = Layout::open(&path).unwrap();
    let registry = Registry::with(&format!("http://{}", loopback.address), None, in_pieces()).unwrap();
    let (repository, tag): (Repository, Tag) = ("apps/saved".parse().unwrap(), "1".parse().unwrap());
    let told: Mutex<Vec<Progress>> = Mutex::default();
    let hear = |progress: Progress| told.lock().unwrap().push(progress);
    let entry = &layout.entries()[0];
    let pushed = registry.push_layout(&repository, &layout, entry, Some(&tag), &hear).await.unwrap();
    assert_eq!((pushed.uploaded, &pushed.digest), (2, image.digest()));
    let told = told.into_inner().unwrap();
    let total = image.blobs().map(|blob| blob.bytes.len() as u64).sum();
    assert!(told.windows(2).all(|pair| pair[0].done <= pair[1].done), "{told:?}");
    assert_eq!(told.last(), Some(&Progress { done: total, total }));
    let again = registry.push_layout(&repository, &layout, entry, Some(&tag), &|_| ()).await.unwrap();
    assert_eq!(again.uploaded, 0, "what is there is not sent again");
    assert_eq!(registry.get_manifest(&repository, &tag).await.unwrap().digest, *image.digest());
    let layer = &image.layers[0];
    let back =
        registry.blob_bytes(&repository, &layer.digest, layer.bytes.len() as u64, 1 << 20).await.unwrap();
    assert_eq!(&back[..], layer.bytes);
}

/// Whatever the engine here writes: a layout, or the list of older engines.
#[tokio::test]
async fn what_an_engine_saves_is_pushed_with_its_configuration_unchanged() {
    let loopback = Loopback::start();
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let name = format!("gpuaas-oci-test-saved:{}", std::process::id());
    let image = sample("engine").build().unwrap();
    std::fs::write(at("load.tar"), image.to_archive(Some(&name))).unwrap();
    docker(&["load", "--quiet", "--input", at("load.tar").to_str().unwrap()]);
    docker(&["save", "--output", at("saved.tar").to_str().unwrap(), &name]);
    docker(&["rmi", &name]);
    let layout = match Layout::open(at("saved.tar")) {
        Ok(layout) => layout,
        Err(why) => {
            assert!(is_docker_archive(&at("saved.tar")), "{why}");
            unpack_docker_archive(&at("saved.tar"), &at("layout"), &|_, _| true).unwrap();
            Layout::open(at("layout")).unwrap()
        }
    };
    let entry = &layout.entries()[0];
    let found = layout.images(entry).unwrap();
    assert_eq!(found[0].manifest.config.digest, image.config.digest);
    let repository: Repository = "apps/engine".parse().unwrap();
    loopback.registry().push_layout(&repository, &layout, entry, None, &|_| ()).await.unwrap();
    assert!(loopback.registry().exists("apps/engine", &entry.digest).await.unwrap());
}

/// F-22, F-23: every signer once, in one place, and each can be revoked by itself.
#[tokio::test]
async fn several_keys_sign_one_image_and_each_is_found_once() {
    let loopback = Loopback::start();
    let registry = loopback.registry();
    let repository: Repository = "apps/signed".parse().unwrap();
    let image = sample("signed").build().unwrap();
    registry.push("apps/signed", &image, None).await.unwrap();
    let random = SystemRandom::new();
    let now = DateTime::from_timestamp(1_700_000_000, 0).unwrap();
    let keys = [PrivateKey::generate(&random).unwrap(), PrivateKey::generate(&random).unwrap()];
    for key in keys.iter().chain(&keys) {
        registry.sign(&repository, image.digest(), key, now, &random).await.unwrap();
    }
    let predicate = serde_json::json!({ "builder": { "id": "https://example.com/builder" } });
    registry
        .attest(&repository, image.digest(), SLSA_PROVENANCE_V1, &predicate, &keys[0], &random)
        .await
        .unwrap();

    let tag = Tag::of_digest(image.digest(), ".sig");
    let Ok(Manifest::Image(signatures)) = registry.get_manifest(&repository, &tag).await.unwrap().read()
    else {
        panic!("a manifest of signatures")
    };
    assert_eq!(signatures.layers.len(), 2);
    let names = [registry.name(&repository).unwrap()];
    let trusted: Vec<TrustedKey> = keys.iter().map(|key| TrustedKey::new(key.public().clone())).collect();
    let policy = |trusted| Policy {
        digest: image.digest(),
        names: &names,
        keys: trusted,
        now,
        max_age: None,
        unnamed: Unnamed::Refuse,
        predicate_types: &[SLSA_PROVENANCE_V1],
    };
    let verdict = registry.verify(&repository, Purpose::Signature, &policy(&trusted)).await.unwrap();
    assert_eq!((verdict.verified.len(), verdict.refused.len()), (2, 0));
    registry.verify(&repository, Purpose::Provenance, &policy(&trusted)).await.unwrap().into_one().unwrap();

    let mut fewer = trusted.clone();
    fewer[0].revoked = true;
    let verdict = registry.verify(&repository, Purpose::Signature, &policy(&fewer)).await.unwrap();
    assert_eq!(verdict.into_one().unwrap().signer, *keys[1].public().id());
    let revoked = Refusal::SignerRevoked { key: keys[0].public().id().clone() };
    let verdict = registry.verify(&repository, Purpose::Provenance, &policy(&fewer)).await.unwrap();
    assert_eq!(verdict.into_one(), Err(revoked));
}
