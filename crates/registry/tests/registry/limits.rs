//! What happens when there is too much of something, or too little.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use gpuaas_faults::SmallDisk;
use gpuaas_registry::{OpenGuard, Quota, RepositoryName, Storage as _};
use reqwest::Method;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::task::JoinSet;

use crate::world::{Plan, World, descriptor, image, look, noise, sha256};

/// C04: one blob, pushed by twenty at once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn twenty_pushes_of_one_blob_at_once_all_succeed_and_keep_one_content() {
    let world = World::new().await;
    let bytes = noise(1, 300_000);
    let mut pushes = JoinSet::new();
    for number in 0..20 {
        let (caller, bytes) = (world.caller.clone(), bytes.clone());
        pushes.spawn(async move {
            let repository = format!("shared/{}", number % 4);
            caller.push(&repository, &bytes).await;
            caller.push(&repository, b"{}").await;
            caller.put_manifest(&repository, "v1", &image(b"{}", &[&bytes])).await.is(201);
        });
    }
    pushes.join_all().await;
    let found = look(&world.root());
    assert_eq!((found.contents.len(), found.blobs.len(), found.uploads), (2, 4, 0));
    for number in 0..4 {
        let path = format!("/v2/shared/{number}/blobs/{}", sha256(&bytes));
        assert!(world.get(&path).await.is(200).bytes == bytes);
    }
}

#[tokio::test]
async fn uploads_are_bounded_and_abandoned_ones_make_room() {
    let mut plan = Plan::default();
    plan.options.max_uploads = 3;
    let world = World::with(plan, OpenGuard).await;
    let kept = world.start("a").await;
    for _ in 0..2 {
        world.start("a").await;
    }
    let answer = world.call(Method::POST, "/v2/b/blobs/uploads/").await.is(429);
    assert_eq!(answer.code(), "TOOMANYREQUESTS");
    assert_ne!(answer.header("retry-after"), "");
    world.clock.pass(Duration::from_hours(20));
    world.send(Method::PATCH, &kept, "still there").await.is(202);
    world.clock.pass(Duration::from_hours(20));
    assert_eq!(world.registry.collect().await.unwrap().uploads, 2);
    assert_eq!(world.get(&kept).await.is(204).header("range"), "0-10");
    world.start("b").await;
}

/// One owner's uploads take no place of another's.
#[tokio::test]
async fn each_owner_has_so_many_uploads_and_empty_ones_end_soon() {
    let mut plan = Plan::default();
    plan.options.quota = Arc::new(NamespaceQuota { limit: 10_000, ..NamespaceQuota::default() });
    plan.options.max_uploads_each = 4;
    let world = World::with(plan, OpenGuard).await;
    let kept = world.start("greedy/a").await;
    world.send(Method::PATCH, &kept, "something").await.is(202);
    for repository in ["greedy/a", "greedy/a", "greedy/b"] {
        world.start(repository).await;
    }
    for repository in ["greedy/a", "greedy/c"] {
        let answer = world.call(Method::POST, &format!("/v2/{repository}/blobs/uploads/")).await.is(429);
        assert_eq!(answer.code(), "TOOMANYREQUESTS");
    }
    world.push("modest/a", b"{}").await;
    world.start("modest/a").await;
    assert_eq!(look(&world.root()).uploads, 5);
    world.clock.pass(Duration::from_mins(11));
    world.start("greedy/c").await;
    assert_eq!(look(&world.root()).uploads, 2, "the empty ones have ended without the collector");
    assert_eq!(world.get(&kept).await.is(204).header("range"), "0-8");
}

/// Each alone would fit.
#[tokio::test]
async fn uploads_under_way_count_in_the_quota_until_they_end() {
    let quota = Arc::new(NamespaceQuota { limit: 8000, ..NamespaceQuota::default() });
    let mut plan = Plan::default();
    plan.options.quota = quota.clone();
    let (clock, options) = (plan.clock.clone(), plan.options.clone());
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("registry");
    let world = World::at(&root, folder, plan, OpenGuard).await;
    let used = || quota.used.lock().unwrap().get("acme").copied().unwrap_or_default();
    let bytes = noise(1, 7000);
    let first = world.start("acme/a").await;
    let second = world.start("acme/b").await;
    world.send(Method::PATCH, &first, bytes.clone()).await.is(202);
    assert_eq!(world.send(Method::PATCH, &second, bytes.clone()).await.is(403).code(), "DENIED");
    assert_eq!(used(), 7000);
    world.get(&second).await.is(404);

    world.call(Method::DELETE, &first).await.is(204);
    assert_eq!(used(), 0, "cancelled");
    let wrong = world.start("acme/a").await;
    world.send(Method::PATCH, &wrong, bytes.clone()).await.is(202);
    world.call(Method::PUT, &format!("{wrong}?digest={}", sha256(b"other"))).await.is(400);
    assert_eq!(used(), 0, "not what it promised");
    let left = world.start("acme/a").await;
    world.send(Method::PATCH, &left, bytes.clone()).await.is(202);
    clock.pass(Duration::from_hours(25));
    world.registry.collect().await.unwrap();
    assert_eq!(used(), 0, "abandoned");

    let small = noise(2, 3000);
    world.push("acme/a", &small).await;
    assert_eq!(used(), 3000, "once, when it is a blob");
    world.push("acme/a", &small).await;
    assert_eq!(used(), 3000, "known already");
    world.push("acme/b", &small).await;
    assert_eq!(used(), 6000, "each repository counts");
    let under_way = world.start("acme/new").await;
    world.send(Method::PATCH, &under_way, noise(3, 1500)).await.is(202);
    let large = noise(4, 1000);
    let path = format!("/v2/acme/a/blobs/uploads/?digest={}", sha256(&large));
    world.send(Method::POST, &path, large).await.is(403);
    assert_eq!(used(), 7500);

    // After a restart the quota begins with the usage.
    let kept = copy_of(&root);
    let quota = Arc::new(NamespaceQuota { limit: 8000, ..NamespaceQuota::default() });
    let options = gpuaas_registry::Options { quota: quota.clone(), ..options };
    let disk = gpuaas_registry::LocalDisk::open(kept.path(), options).await.unwrap();
    let usage = disk.usage().await.unwrap();
    for (repository, bytes) in &usage {
        assert!(quota.take(repository, *bytes));
    }
    let expected = [("acme/a", 3000), ("acme/b", 3000), ("acme/new", 1500)];
    assert!(usage.iter().map(|(repository, bytes)| (repository.as_str(), *bytes)).eq(expected));
    let repository: RepositoryName = "acme/new".parse().unwrap();
    let upload = under_way.rsplit('/').next().unwrap().parse().unwrap();
    disk.cancel_upload(&repository, &upload).await.unwrap();
    assert_eq!(quota.used.lock().unwrap()["acme"], 6000);
}

#[tokio::test]
async fn pushing_and_deleting_over_and_over_leaves_nothing_behind() {
    let world = World::new().await;
    for seed in 1..5 {
        let digest = world.push("a", &noise(seed, 5000)).await;
        assert_eq!(look(&world.root()).contents.len(), 1);
        world.call(Method::DELETE, &format!("/v2/a/blobs/{digest}")).await.is(202);
        assert!(look(&world.root()).contents.is_empty());
    }
}

/// The files as a dead process leaves them.
fn copy_of(root: &std::path::Path) -> tempfile::TempDir {
    let copy = tempfile::tempdir().unwrap();
    let done = std::process::Command::new("cp").arg("-a").arg(root.join(".")).arg(copy.path()).status();
    assert!(done.unwrap().success());
    copy
}

/// A manifest about a subject, with this much to say.
fn about(subject: &[u8], number: usize, annotation: &str) -> serde_json::Value {
    let mut manifest = image(b"{}", &[]);
    manifest["subject"] = descriptor("application/vnd.oci.image.manifest.v1+json", subject);
    manifest["artifactType"] = serde_json::json!(format!("application/x {}", number % 2));
    manifest["annotations"] = serde_json::json!({"number": number.to_string(), "text": annotation});
    manifest
}

/// Every page of a list; each is small.
async fn pages(world: &World, path: &str) -> Vec<Vec<serde_json::Value>> {
    let mut pages = Vec::new();
    let mut next = path.to_owned();
    loop {
        let answer = world.get(&next).await.is(200);
        assert!(answer.bytes.len() <= 1 << 20, "{} bytes", answer.bytes.len());
        pages.push(answer.json()["manifests"].as_array().unwrap().clone());
        match answer.header("link").strip_prefix('<').and_then(|link| link.split_once('>')) {
            Some((link, "; rel=\"next\"")) => link.clone_into(&mut next),
            other => {
                assert_eq!(other, None);
                return pages;
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn referrers_come_page_by_page_and_one_subject_has_only_so_many() {
    let mut plan = Plan::default();
    plan.options.max_referrers = 230;
    let world = World::with(plan, OpenGuard).await;
    world.push("a", b"{}").await;
    // An escape makes six characters of one.
    let text = "\u{1}".repeat(600);
    let mut digests = std::collections::BTreeSet::new();
    for number in 0..230 {
        let answer = world.put_manifest("a", "t", &about(b"many", number, &text)).await.is(201);
        digests.insert(answer.header("docker-content-digest").to_owned());
    }
    let path = format!("/v2/a/referrers/{}", sha256(b"many"));
    let all = pages(&world, &path).await;
    assert_eq!(all.iter().map(Vec::len).collect::<Vec<_>>(), [100, 100, 30]);
    let listed = all.concat();
    assert!(listed.iter().all(|one| one["annotations"]["text"] == text));
    assert!(listed.iter().map(|one| one["digest"].as_str().unwrap()).eq(digests.iter()));
    let some = pages(&world, &format!("{path}?artifactType=application%2Fx%201")).await;
    assert_eq!((some.len(), some.concat().len()), (3, 115));
    assert_eq!(
        world.registry.storage().list_referrers(&"a".parse().unwrap(), &sha256(b"many")).await.unwrap().len(),
        230
    );

    let refused = world.put_manifest("a", "t", &about(b"many", 230, "")).await.is(403);
    assert_eq!(refused.code(), "DENIED");
    world.put_manifest("a", "t", &about(b"many", 7, &text)).await.is(201);
    world.put_manifest("a", "t", &about(b"another", 230, "")).await.is(201);
    let first = digests.first().unwrap();
    world.call(Method::DELETE, &format!("/v2/a/manifests/{first}")).await.is(202);
    world.put_manifest("a", "t", &about(b"many", 230, "")).await.is(201);
    world.get(&format!("{path}?last=x")).await.is(400);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_referrers_say_at_length_is_not_in_the_list() {
    let world = World::new().await;
    world.push("a", b"{}").await;
    let text = "x".repeat(4_000_000);
    for number in 0..20 {
        let mut manifest = about(b"large", number, &text);
        if number % 2 == 0 {
            manifest["annotations"] = serde_json::json!({});
            manifest["artifactType"] = serde_json::json!(format!("{number}{text}"));
        }
        world.put_manifest("a", "t", &manifest).await.is(201);
    }
    let all = pages(&world, &format!("/v2/a/referrers/{}", sha256(b"large"))).await;
    assert!(all.len() > 1, "not all are read for one answer");
    let listed = all.concat();
    assert_eq!(listed.len(), 20);
    assert!(listed.iter().all(|one| one.get("annotations").is_none()));
    assert_eq!(listed.iter().filter(|one| one.get("artifactType").is_none()).count(), 10);
}

/// Bytes for each first segment of a name.
#[derive(Default)]
struct NamespaceQuota {
    limit: u64,
    used: Mutex<HashMap<String, u64>>,
}

fn namespace(repository: &RepositoryName) -> String {
    repository.as_str().split('/').next().unwrap().to_owned()
}

impl Quota for NamespaceQuota {
    fn room(&self, repository: &RepositoryName) -> u64 {
        self.limit - self.used.lock().unwrap().get(&namespace(repository)).copied().unwrap_or_default()
    }

    fn take(&self, repository: &RepositoryName, bytes: u64) -> bool {
        let mut used = self.used.lock().unwrap();
        let used = used.entry(namespace(repository)).or_default();
        let fits = *used + bytes <= self.limit;
        if fits {
            *used += bytes;
        }
        fits
    }

    fn give_back(&self, repository: &RepositoryName, bytes: u64) {
        let mut used = self.used.lock().unwrap();
        *used.get_mut(&namespace(repository)).expect("it was taken") -= bytes;
    }

    fn owner(&self, repository: &RepositoryName) -> String {
        namespace(repository)
    }
}

#[tokio::test]
async fn a_namespace_that_is_full_takes_no_more_until_something_goes() {
    let quota = Arc::new(NamespaceQuota { limit: 10_000, ..NamespaceQuota::default() });
    let mut plan = Plan::default();
    plan.options.quota = quota.clone();
    let world = World::with(plan, OpenGuard).await;
    let first = world.push("acme/a", &noise(1, 4000)).await;
    world.push("acme/a", &noise(1, 4000)).await;
    world.push("acme/c", &noise(3, 3000)).await;
    let path = |bytes: &[u8]| format!("/v2/acme/b/blobs/uploads/?digest={}", sha256(bytes));
    let second = noise(2, 6500);
    assert_eq!(world.send(Method::POST, &path(&second), second.clone()).await.is(403).code(), "DENIED");
    let mount = format!("/v2/acme/b/blobs/uploads/?mount={first}&from=acme/a");
    assert_eq!(world.call(Method::POST, &mount).await.is(403).code(), "DENIED");
    world.push("other/b", &second).await;
    world.push("acme/a", b"{}").await;
    let mut large = image(b"{}", &[]);
    large["annotations"] = serde_json::json!({"a": "x".repeat(5000)});
    assert_eq!(world.put_manifest("acme/a", "v1", &large).await.is(403).code(), "DENIED");
    world.put_manifest("acme/a", "v1", &image(b"{}", &[])).await.is(201);

    let counted: HashMap<String, u64> = world.registry.storage().usage().await.unwrap().into_iter().fold(
        HashMap::new(),
        |mut sums, (repository, bytes)| {
            *sums.entry(namespace(&repository)).or_default() += bytes;
            sums
        },
    );
    assert_eq!(counted, *quota.used.lock().unwrap(), "usage is what a quota starts from");

    world.call(Method::DELETE, &format!("/v2/acme/a/blobs/{first}")).await.is(202);
    world.call(Method::DELETE, "/v2/acme/a/manifests/v1").await.is(202);
    world.send(Method::POST, &path(&second), second).await.is(201);
    world.clock.pass(Duration::from_hours(48));
    world.registry.collect().await.unwrap();
    let manifest = image(b"{}", &[]);
    let kept = manifest["mediaType"].as_str().unwrap().len() + 1 + manifest.to_string().len() + "{}".len();
    let left = quota.used.lock().unwrap()["acme"];
    assert_eq!(left, kept as u64, "the manifest without a tag and its config stay");
    assert_eq!(look(&world.root()).blobs.len(), 1);
}

#[tokio::test]
async fn a_blob_larger_than_the_limit_is_refused_where_it_passes_it() {
    let mut plan = Plan::default();
    plan.options.max_blob_bytes = 1000;
    let world = World::with(plan, OpenGuard).await;
    world.push("a", &noise(1, 1000)).await;
    let bytes = noise(2, 1001);
    let path = format!("/v2/a/blobs/uploads/?digest={}", sha256(&bytes));
    assert_eq!(world.send(Method::POST, &path, bytes).await.is(413).code(), "SIZE_INVALID");
    assert_eq!(look(&world.root()).uploads, 0);
}

/// N08: reads are served, writes get a typed 507, nothing is damaged, and it recovers.
#[tokio::test]
async fn a_full_disk_refuses_writes_serves_reads_and_recovers() {
    let folder = tempfile::tempdir().unwrap();
    let disk = SmallDisk::with_size(folder.path(), "16m");
    let root = disk.path().join("registry");
    let world = World::at(&root, tempfile::tempdir().unwrap(), Plan::default(), OpenGuard).await;
    let digest = world.push_image("a", "v1", 1).await;
    let manifest = world.get("/v2/a/manifests/v1").await.is(200).bytes;

    let large = noise(9, 20 << 20);
    let path = format!("/v2/a/blobs/uploads/?digest={}", sha256(&large));
    let answer = world.send(Method::POST, &path, large.clone()).await.is(507);
    assert_eq!(answer.code(), "TOOMANYREQUESTS");
    assert_eq!(look(&root).uploads, 0, "what did not fit is given back");

    let location = world.start("a").await;
    world.send(Method::PATCH, &location, noise(8, 1 << 20)).await.is(202);
    disk.fill();
    world.send(Method::PATCH, &location, noise(7, 1 << 20)).await.is(507);
    let mut second = image(&noise(1, 100), &[]);
    second["annotations"] = serde_json::json!({"a": "x".repeat(100_000)});
    assert_eq!(world.put_manifest("a", "v2", &second).await.is(507).code(), "TOOMANYREQUESTS");
    assert_eq!(world.get(&format!("/v2/a/manifests/{digest}")).await.is(200).bytes, manifest);
    world.get(&format!("/v2/a/blobs/{}", sha256(&noise(1001, 5000)))).await.is(200);
    look(&root);

    disk.relieve();
    assert_eq!(world.get(&location).await.is(204).header("range"), format!("0-{}", (1 << 20) - 1));
    world.chunk(Method::PATCH, &location, 1 << 20, &noise(7, 1 << 20)).await.is(202);
    let whole = [noise(8, 1 << 20), noise(7, 1 << 20)].concat();
    world.call(Method::PUT, &format!("{location}?digest={}", sha256(&whole))).await.is(201);
    world.put_manifest("a", "v2", &second).await.is(201);
    let found = look(&root);
    assert_eq!((found.tags["a"].len(), found.uploads), (2, 0));
    drop(world);
}

/// A client that stops sending is told to go, and what it sent is kept.
#[tokio::test]
async fn a_client_that_sends_nothing_is_not_waited_for() {
    let mut plan = Plan::default();
    plan.settings.idle = Duration::from_millis(200);
    let world = World::with(plan, OpenGuard).await;
    let location = world.start("a").await;
    let address = world.base.strip_prefix("http://").unwrap();
    let mut socket = tokio::net::TcpStream::connect(address).await.unwrap();
    let head = format!("PATCH {location} HTTP/1.1\r\nhost: a\r\ncontent-length: 1000\r\n\r\n0123456789");
    socket.write_all(head.as_bytes()).await.unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
    assert!(answer.contains("connection: close"), "{answer}");
    assert_eq!(world.get(&location).await.is(204).header("range"), "0-9");
    world.chunk(Method::PATCH, &location, 10, b"abc").await.is(202);
    world.call(Method::PUT, &format!("{location}?digest={}", sha256(b"0123456789abc"))).await.is(201);

    let mut socket = tokio::net::TcpStream::connect(address).await.unwrap();
    let head = "PUT /v2/a/manifests/v1 HTTP/1.1\r\nhost: a\r\ncontent-length: 1000\r\ncontent-type: application/vnd.oci.image.manifest.v1+json\r\n\r\n{";
    socket.write_all(head.as_bytes()).await.unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
}

/// A client that breaks off leaves what it sent; the next request of the upload goes on behind it.
#[tokio::test]
async fn an_upload_goes_on_after_a_broken_connection() {
    let world = World::new().await;
    let bytes = noise(4, 4_000_000);
    let location = world.start("a").await;
    let address = world.base.strip_prefix("http://").unwrap();
    let mut socket = tokio::net::TcpStream::connect(address).await.unwrap();
    let head = format!("PATCH {location} HTTP/1.1\r\nhost: a\r\ncontent-length: 4000000\r\n\r\n");
    socket.write_all(head.as_bytes()).await.unwrap();
    socket.write_all(&bytes[..2_500_000]).await.unwrap();
    let received = async || {
        let status = world.get(&location).await.is(204);
        status.header("range").strip_prefix("0-").unwrap().parse::<usize>().unwrap() + 1
    };
    while received().await < 1 << 20 {
        tokio::task::yield_now().await;
    }
    drop(socket);
    let rest = loop {
        let at = received().await;
        let answer = world.chunk(Method::PATCH, &location, at, &bytes[at..]).await;
        // The bytes of the broken request may still have been on their way to the disk.
        if answer.status != 416 {
            break answer;
        }
    };
    rest.is(202);
    world.call(Method::PUT, &format!("{location}?digest={}", sha256(&bytes))).await.is(201);
}
