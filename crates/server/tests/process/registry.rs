//! The registry with real programs: killed in the middle of a push, crowded, full, of another make, and raced by those who
//! move tags, revoke and hide while a node pulls.

use std::process::{Command, Output};
use std::time::Duration;

use base64::Engine as _;
use gpuaas_api::Route;
use gpuaas_faults::SmallDisk;
use gpuaas_oci::{Credentials, Digest, Image, ImageBuilder, Registry, SecretText, Settings, TokenRealm};
use gpuaas_testkit::process::{RegistryProcess, ServerProcess, free_port};
use gpuaas_testkit::{
    Author, Caller, Database, TestDatabase, TestPlatform, manifest, small_image, web_image,
};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::stage::{Stage, docker, wait};

/// Bytes that no compression makes smaller.
fn noise(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed | 1;
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        u8::try_from(state & 0xff).expect("eight bits")
    };
    std::iter::repeat_with(next).take(length).collect()
}

fn large_image(seed: u64, mebibytes: usize) -> Image {
    ImageBuilder::new("amd64").file("noise", 0o644, noise(seed, mebibytes << 20)).build().expect("an image")
}

/// A platform of one process without any node.
struct Platform {
    server: ServerProcess,
    admin: Caller,
    project: String,
    author: Author,
    database: TestDatabase,
}

impl Platform {
    async fn start(prepare: impl FnOnce(&std::path::Path)) -> Self {
        let database = TestDatabase::create(Database::Sqlite).await;
        let mut server = ServerProcess::prepare(&database.folder().join("data"), None);
        prepare(&database.folder().join("data"));
        server.lift_limits();
        server.serve();
        let admin = crate::admin(&server).await;
        let mine = admin.call(Route::ProjectListMine, &[], None).await.expect(200).body;
        let project = mine["items"][0]["id"].as_str().expect("the demo project").to_owned();
        let author = Author::new(&admin, &project, "author").await;
        Self { server, admin, project, author, database }
    }

    async fn info(&self) -> Value {
        self.admin.call(Route::RegistryInfo, &[&self.project], None).await.expect(200).body
    }

    async fn used(&self) -> u64 {
        self.info().await["used_bytes"].as_u64().expect("a number")
    }

    /// Uploads that were begun and not finished, as files.
    fn unfinished(&self) -> usize {
        let folder = self.database.folder().join("data/registry/uploads");
        std::fs::read_dir(folder).map_or(0, Iterator::count)
    }

    async fn token(&self, repository: &str) -> String {
        let password = self.admin.header("authorization").unwrap().trim_start_matches("Bearer ").to_owned();
        let basic = base64::engine::general_purpose::STANDARD.encode(format!("x:{password}"));
        let caller = self.admin.stranger().with_header("authorization", &format!("Basic {basic}"));
        let path = format!("/api/v1/registry/token?scope=repository:{repository}:pull,push");
        caller.get(&path).await.expect(200).body["token"].as_str().unwrap().to_owned()
    }
}

/// C05, R08: `kill -9` in the middle of a push loses at most what was on its way; the client asks how far it came and goes
/// on from there, with the token it had.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_push_goes_on_after_the_server_was_killed() {
    let mut platform = Platform::start(|_| ()).await;
    let image = large_image(7, 12);
    let push = platform.author.intend("web", "project").await;
    let token = platform.token(&push.repository).await;
    let caller = platform.admin.stranger().with_bearer(&token);
    let layer = &image.layers[0];
    let begun =
        caller.send_raw("POST", &format!("/v2/{}/blobs/uploads/", push.repository), None).await.expect(202);
    let location = begun.header("location").unwrap().to_owned();
    let location = location.strip_prefix(platform.server.url().as_str()).unwrap_or(&location).to_owned();
    let half = layer.bytes.len() / 2;
    let kind = "application/octet-stream";
    let first =
        caller.send_raw("PATCH", &location, Some((layer.bytes[..half].to_vec(), kind))).await.expect(202);
    let location = first.header("location").map_or(location.clone(), str::to_owned);
    let location = location.strip_prefix(platform.server.url().as_str()).unwrap_or(&location).to_owned();

    // The second half trickles in when the end comes.
    let rest: Vec<Vec<u8>> = layer.bytes[half..].chunks(256 << 10).map(<[u8]>::to_vec).collect();
    let body = futures_util::stream::unfold(rest.into_iter(), |mut rest| async move {
        tokio::time::sleep(Duration::from_millis(50)).await;
        rest.next().map(|piece| (Ok::<_, std::io::Error>(piece), rest))
    });
    let request = caller.http().patch(format!("{}{location}", platform.server.url())).bearer_auth(&token);
    let mut sending = JoinSet::new();
    sending.spawn(request.body(reqwest::Body::wrap_stream(body)).send());
    tokio::time::sleep(Duration::from_millis(400)).await;
    platform.server.kill();
    let sent = sending.join_next().await.expect("one").expect("no panic");
    assert!(sent.is_err(), "the server died while it read");
    platform.server.serve();

    let status = caller.send_raw("GET", &location, None).await.expect(204);
    let range = status.header("range").expect("how far it came");
    let done: usize = range.rsplit('-').next().unwrap().parse::<usize>().unwrap() + 1;
    assert!(done >= half && done < layer.bytes.len(), "{range}: what was acknowledged is kept");
    let rest =
        caller.send_raw("PATCH", &location, Some((layer.bytes[done..].to_vec(), kind))).await.expect(202);
    let location = rest.header("location").map_or(location.clone(), str::to_owned);
    let location = location.strip_prefix(platform.server.url().as_str()).unwrap_or(&location).to_owned();
    let mark = if location.contains('?') { '&' } else { '?' };
    caller.send_raw("PUT", &format!("{location}{mark}digest={}", layer.digest), None).await.expect(201);
    push.registry.push(&push.repository, &image, None).await.expect("the rest of the image");
    platform.author.sign(&push, image.digest()).await;
    let artifact = platform.author.register(&push, image.digest()).await;
    let at = [platform.project.as_str(), artifact["id"].as_str().unwrap()];
    let verified = platform.admin.call(Route::ArtifactVerify, &at, None).await.expect(200).body;
    assert_eq!(verified["trust"]["state"], "verified");

    // Killed between all steps of a push, again and again: in the end it is there, once.
    let other = large_image(8, 2);
    for _ in 0..3 {
        let pushing = push.registry.push(&push.repository, &other, None);
        let _ = tokio::time::timeout(Duration::from_millis(60), pushing).await;
        platform.server.kill();
        platform.server.serve();
    }
    push.registry.push(&push.repository, &other, None).await.expect("the whole image");
    let sizes = |image: &Image| image.blobs().map(|blob| blob.bytes.len() as u64).sum::<u64>();
    let most = sizes(&image) + sizes(&other) + 64 * 1024;
    assert!(platform.used().await <= most, "{} of {most}", platform.used().await);
}

/// R08: twenty clients push the same image at once; all are told yes, and it is there once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn twenty_pushes_of_one_image_at_once_are_one() {
    let platform = Platform::start(|_| ()).await;
    let image = std::sync::Arc::new(large_image(3, 4));
    let mut pushing = JoinSet::new();
    for _ in 0..20 {
        let push = platform.author.intend("web", "project").await;
        let image = image.clone();
        pushing
            .spawn(async move { push.registry.push(&push.repository, &image, Some("v1")).await.map(drop) });
    }
    for done in pushing.join_all().await {
        done.expect("each push ends well");
    }
    let size: u64 = image.blobs().map(|blob| blob.bytes.len() as u64).sum();
    let used = platform.used().await;
    assert!(used >= size && used < size + 64 * 1024, "{used} for {size}");
    assert_eq!(platform.unfinished(), 0);
    let push = platform.author.intend("web", "project").await;
    assert!(push.registry.exists(&push.repository, image.digest()).await.unwrap());
    // The same bytes in a second repository are counted there too, and mounted rather than sent.
    let second = platform.author.intend("other", "project").await;
    second.registry.push(&second.repository, &image, None).await.expect("a push");
    platform.author.register(&second, image.digest()).await;
}

/// F-05: over its quota a project is told so in the registry's words, nothing is left half, and with more room it works.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn over_the_quota_a_push_is_refused_whole() {
    let mut platform = Platform::start(|_| ()).await;
    let limit = async |platform: &Platform, mebibytes: i64| {
        let body = json!({ "value": mebibytes });
        let at = [platform.project.as_str(), "registry_mib"];
        platform.admin.call(Route::ProjectLimitSet, &at, Some(&body)).await.expect(200);
    };
    limit(&platform, 3).await;
    let push = platform.author.push("web", "project", &large_image(1, 1)).await;
    let before = platform.used().await;
    for round in 0..2 {
        let image = large_image(2, 4);
        let refused = push.registry.push(&push.repository, &image, None).await.expect_err("over the quota");
        let words = format!("{refused:?}").to_lowercase();
        assert!(words.contains("denied") && words.contains("quota"), "{words}");
        let repository = push.repository.parse().unwrap();
        for layer in &image.layers {
            assert!(push.registry.find_blob(&repository, &layer.digest).await.unwrap().is_none());
        }
        assert!(!push.registry.exists(&push.repository, image.digest()).await.unwrap());
        assert!(platform.used().await <= before + 64 * 1024, "{} after {before}", platform.used().await);
        // Another repository of the same project is no way around it.
        let other = platform.author.intend("other", "project").await;
        other.registry.push(&other.repository, &image, None).await.expect_err("the same quota");
        // Nor does a restart forget what is used.
        if round == 0 {
            platform.server.kill();
            platform.server.serve();
            assert_eq!(platform.used().await, before, "counted again from the disk");
        }
    }
    limit(&platform, 50).await;
    push.registry.push(&push.repository, &large_image(2, 4), None).await.expect("there is room now");
}

/// N08: a full disk is said clearly, nothing is half there, what was there can be pulled, and with room again it goes on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_refuses_pushes_and_heals() {
    let folder = tempfile::tempdir().unwrap();
    let disk = SmallDisk::with_size(folder.path(), "24m");
    let mut platform = Platform::start(|data| {
        let registry = data.join("registry");
        let _ = std::fs::remove_dir_all(&registry);
        std::os::unix::fs::symlink(disk.path(), registry).expect("a link");
    })
    .await;
    let old = large_image(1, 2);
    let push = platform.author.push("web", "project", &old).await;
    let before = platform.used().await;
    disk.fill();
    let new = large_image(2, 6);
    let settings = Settings { attempts: 1, ..Settings::default() };
    let token = platform.token(&push.repository).await;
    let url = platform.server.url();
    let impatient = Registry::with(&url, Some(Credentials::Token(SecretText::new(token))), settings).unwrap();
    let refused = impatient.push(&push.repository, &new, None).await.expect_err("the disk is full");
    let words = format!("{refused:?}");
    assert!(
        words.contains("507") || words.contains("TOOMANYREQUESTS") || words.contains("INSUFFICIENT"),
        "{words}"
    );
    assert!(!platform.server.has_died());
    let repository = push.repository.parse().unwrap();
    let layer = &old.layers[0];
    let read = push.registry.blob_bytes(&repository, &layer.digest, layer.bytes.len() as u64, 1 << 30).await;
    assert_eq!(Digest::of(&read.expect("the old bytes")), layer.digest);
    assert!(!push.registry.exists(&push.repository, new.digest()).await.unwrap());
    disk.relieve();
    push.registry.push(&push.repository, &new, None).await.expect("there is room again");
    assert!(platform.used().await > before);
    platform.author.sign(&push, new.digest()).await;
    platform.author.register(&push, new.digest()).await;
}

fn docker_as(config: &std::path::Path, arguments: &[&str]) -> Output {
    Command::new("docker").arg("--config").arg(config).args(arguments).output().expect("docker runs")
}

/// F-27, F-31, A08: a registry of another make that believes the platform's tokens: real clients sign in, push and pull;
/// strangers and old tokens do not.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_registry_of_another_make_takes_our_tokens() {
    let port = free_port();
    let host = format!("127.0.0.1:{port}");
    let p =
        TestPlatform::start_registry(Database::Sqlite, &format!("host = {host:?}\nurl = \"http://{host}\""))
            .await;
    let certificate = p.anonymous().call(Route::RegistryCertificate, &[], None).await.expect(200).text;
    let realm = format!("{}/api/v1/registry/token", p.running.public_url);
    let _external = RegistryProcess::believing(port, &realm, &host, &p.platform_id(), &certificate);
    let home = p.home("acme").await;
    let author = Author::new(&p.admin, &home.project, "author").await;
    let wish = json!({"app_slug": "web"});
    let intent =
        p.admin.call(Route::PublishIntentCreate, &[&home.project], Some(&wish)).await.expect(201).body;
    assert_eq!(
        (&intent["registry_url"], &intent["token_url"]),
        (&json!(format!("http://{host}")), &json!(realm))
    );
    let (user, password) = author.unwrap(&intent).await;
    let repository = intent["repository"].as_str().unwrap().to_owned();
    let client = |user: &str, password: &str| {
        let settings = Settings {
            token_realms: vec![TokenRealm { url: realm.clone(), service: host.clone() }],
            ..Settings::default()
        };
        let credentials =
            Credentials::Password { user: user.to_owned(), password: SecretText::new(password.to_owned()) };
        Registry::with(&format!("http://{host}"), Some(credentials), settings).unwrap()
    };

    // docker login, push, and the whole way to an active artifact.
    let folder = tempfile::tempdir().unwrap();
    let image = small_image(&p.platform_id());
    let name = format!("{host}/{repository}:v1");
    let archive = folder.path().join("image.tar");
    std::fs::write(&archive, image.to_archive(Some(&name))).unwrap();
    docker(&["load", "--input", &archive.display().to_string()]);
    let signed_in = docker_as(folder.path(), &["login", &host, "--username", &user, "--password", &password]);
    assert!(signed_in.status.success(), "{}", String::from_utf8_lossy(&signed_in.stderr));
    let pushed = docker_as(folder.path(), &["push", &name]);
    let said = String::from_utf8_lossy(&pushed.stdout).into_owned();
    assert!(pushed.status.success(), "{said} {}", String::from_utf8_lossy(&pushed.stderr));
    let digest =
        said.split("digest: ").nth(1).and_then(|rest| rest.split_whitespace().next()).expect("a digest");
    let digest: Digest = digest.parse().unwrap();
    let registry = client(&user, &password);
    let push = gpuaas_testkit::Push { registry, repository: repository.clone(), name: String::new() };
    author.sign(&push, &digest).await;
    let artifact = author.register(&push, &digest).await;
    let at = [home.project.as_str(), artifact["id"].as_str().unwrap()];
    let verified = p.admin.call(Route::ArtifactVerify, &at, None).await.expect(200).body;
    assert_eq!(verified["trust"]["state"], "verified", "{verified}");
    let by_digest = format!("{host}/{repository}@{digest}");
    let pulled = docker_as(folder.path(), &["pull", &by_digest]);
    assert!(pulled.status.success(), "{}", String::from_utf8_lossy(&pulled.stderr));

    docker(&["rmi", "--force", &name]);
    let _ = docker_as(folder.path(), &["rmi", "--force", &by_digest]);

    // A stranger signs in, because they are somebody, and gets nothing.
    let (stranger, _) = p.person("nobody").await;
    let secret = stranger.header("authorization").unwrap().trim_start_matches("Bearer ").to_owned();
    let theirs = tempfile::tempdir().unwrap();
    let _ = docker_as(theirs.path(), &["login", &host, "--username", "x", "--password", &secret]);
    docker(&["load", "--input", &archive.display().to_string()]);
    for arguments in [["push", name.as_str()], ["pull", by_digest.as_str()]] {
        let refused = docker_as(theirs.path(), &arguments);
        assert!(!refused.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&refused.stdout));
        docker(&["rmi", "--force", &name]);
    }
    let nobody = tempfile::tempdir().unwrap();
    assert!(!docker_as(nobody.path(), &["pull", &by_digest]).status.success());
    assert!(
        !docker_as(nobody.path(), &["login", &host, "--username", "x", "--password", "wrong"])
            .status
            .success()
    );

    // A token of an hour ago, and a good one for comparison.
    let basic = base64::engine::general_purpose::STANDARD.encode(format!("{user}:{password}"));
    let asking = p.anonymous().with_header("authorization", &format!("Basic {basic}"));
    let path = format!("/api/v1/registry/token?service={host}&scope=repository:{repository}:pull");
    let opens = async |token: &str| {
        let url = format!("http://{host}/v2/{repository}/manifests/{digest}");
        p.admin.http().get(url).bearer_auth(token).send().await.unwrap().status().as_u16()
    };
    let good = asking.get(&path).await.expect(200).body["token"].as_str().unwrap().to_owned();
    p.clock.advance_seconds(-3600);
    let old = asking.get(&path).await.expect(200).body["token"].as_str().unwrap().to_owned();
    p.clock.advance_seconds(3600);
    assert_eq!((opens(&good).await, opens(&old).await), (200, 401));
    p.stop().await;
}

impl Stage {
    /// The agent starts again, and pauses once at this point.
    fn pause_at(&mut self, point: &str, milliseconds: u32) {
        self.agent.kill();
        self.agent.set("GPUAAS_AGENT_FAULT", &format!("{point}:stall={milliseconds}"));
        self.agent.start();
    }

    /// An app of one image, active and allowed in a project.
    async fn app(&self, slug: &str, visibility: &str, image: &Image) -> Value {
        let artifact = self.author.publish(slug, visibility, image).await;
        self.offer(slug, &artifact).await;
        artifact
    }

    /// An app of an artifact that is there, active and allowed in the project.
    async fn offer(&self, slug: &str, artifact: &Value) {
        let mut app = manifest(slug, "1.0.0");
        app["artifact_ref"] = artifact["reference"].clone();
        app["runtime_profile"]["image_ref"] = artifact["reference"].clone();
        self.admin.call(Route::ManifestRegister, &[], Some(&app)).await.expect(201);
        self.admin.call(Route::AppPublish, &[slug, "1.0.0"], None).await.expect(200);
        let enabled = json!({"enabled": true});
        self.admin.call(Route::EntitlementSet, &[&self.project, slug], Some(&enabled)).await.expect(200);
    }

    async fn launch_in(&self, project: &str, allocation: &str, slug: &str) -> String {
        let wish = json!({"slug": slug, "target_allocation_id": allocation, "resources": {"memory_mib": 64}});
        wait(
            || self.agent.log(),
            async || {
                let answer = self.admin.call(Route::InstanceCreate, &[project], Some(&wish)).await;
                // That an agent is away and that it is back are both noticed a little later.
                if answer.code() == "node_not_ready" { None } else { Some(answer.expect(202).id()) }
            },
        )
        .await
    }

    /// It must fail; gives reason and message.
    async fn fails_in(&self, project: &str, id: &str) -> (String, String) {
        let body = wait(
            || format!("{}\n{}", self.server.log(), self.agent.log()),
            async || {
                let body = self.admin.call(Route::InstanceGet, &[project, id], None).await.expect(200).body;
                assert_ne!(body["status"], "running", "it started");
                (body["status"] == "failed").then_some(body)
            },
        )
        .await;
        let text = |name: &str| body[name].as_str().unwrap_or_default().to_owned();
        (text("failure_reason"), text("failure_message"))
    }
}

/// F-06, F-25, R01, R04, R07: while a node pulls, a tag moves, an artifact is revoked, a repository is hidden. What was
/// approved runs, or nothing does; what lies in the node's cache is nobody's right.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_changes_while_a_node_pulls_counts_at_once() {
    let mut stage = Stage::build(Database::Sqlite, "docker").await;
    let page = |text: &str| web_image(&format!("{text} {}\n", stage.node));
    let (moved, revoked, private) = (page("approved"), page("revoked"), page("private"));
    let swapped = page("swapped");
    stage.app("moved", "project", &moved).await;
    let bad = stage.app("revoked", "project", &revoked).await;
    stage.app("private", "tenant", &private).await;
    let push = stage.author.intend("moved", "project").await;
    push.registry.push(&push.repository, &moved, Some("stable")).await.expect("a tag");

    // R01: the tag moves between the order and the pull.
    stage.pause_at("agent.pull", 2000);
    let id = stage.launch_in(&stage.project, &stage.allocation, "moved").await;
    push.registry.push(&push.repository, &swapped, Some("stable")).await.expect("the tag moves");
    stage.runs(&id).await;
    let containers = stage.mine(&["ps"]);
    let served = docker(&["exec", &containers[0], "/bin/busybox", "cat", "/www/index.html"]);
    assert!(served.starts_with("approved"), "{served}");
    stage.command(Route::InstanceDecommission, &id).await;
    stage.reaches(&id, |body| !body["decommissioned_at"].is_null()).await;

    // R04: revoked while the node is about to pull.
    stage.pause_at("agent.pull", 2000);
    let id = stage.launch_in(&stage.project, &stage.allocation, "revoked").await;
    stage.reaches(&id, |body| body.to_string().contains("\"pulling\"")).await;
    let at = [stage.project.as_str(), bad["id"].as_str().unwrap()];
    stage.admin.call(Route::ArtifactRevoke, &at, None).await.expect(200);
    let (reason, message) = stage.fails_in(&stage.project, &id).await;
    // Told no when it asks, or shown nothing when it fetches: it depends on how far the pull had come.
    assert!(matches!(reason.as_str(), "image_not_allowed" | "image_not_found"), "{reason}: {message}");
    stage.nothing_left();
    stage
        .admin
        .call(Route::InstanceStart, &[&stage.project, &id], None)
        .await
        .expect_error(409, "artifact_revoked");
    stage.command(Route::InstanceDecommission, &id).await;
    stage.reaches(&id, |body| !body["decommissioned_at"].is_null()).await;

    // R07: one project has run it here, so the node has it; another one of the tenant may, until it may not.
    let id = stage.launch_in(&stage.project, &stage.allocation, "private").await;
    stage.runs(&id).await;
    let mine = stage.admin.call(Route::ProjectGet, &[&stage.project], None).await.expect(200).body;
    let tenant = mine["tenant_id"].as_str().unwrap_or_else(|| panic!("{mine}")).to_owned();
    let neighbour = stage.admin.create_project(&tenant, "neighbour").await;
    let take = async |project: &str| {
        let wish = json!({"sku": "small"});
        let allocation =
            stage.admin.call(Route::AllocationRequest, &[project], Some(&wish)).await.expect(201).id();
        let enabled = json!({"enabled": true});
        stage.admin.call(Route::EntitlementSet, &[project, "private"], Some(&enabled)).await.expect(200);
        allocation
    };
    let theirs = take(&neighbour).await;
    stage.server.kill();
    stage.server.set("GPUAAS_FAULT", "dispatch.send:stall=3000");
    stage.server.serve();
    let second = stage.launch_in(&neighbour, &theirs, "private").await;
    // Long enough for the platform to have said yes; if it has not yet, it must not any more.
    tokio::time::sleep(Duration::from_millis(800)).await;
    let narrow = json!({"visibility": "project"});
    stage.admin.call(Route::RepositorySet, &[&stage.project, "private"], Some(&narrow)).await.expect(200);
    let (reason, message) = stage.fails_in(&neighbour, &second).await;
    assert_eq!(reason, "image_not_allowed", "{message}");
    assert_eq!(stage.mine(&["ps"]).len(), 1, "only the owner's container runs");
    stage.runs(&id).await;

    // The node goes to another tenant, with the image still in its cache and a manifest that names it.
    for (project, id, allocation) in
        [(&stage.project, &id, &stage.allocation), (&neighbour, &second, &theirs)]
    {
        stage.admin.call(Route::InstanceDecommission, &[project, id], None).await.expect(202);
        wait(
            || stage.agent.log(),
            async || {
                let body = stage.admin.call(Route::InstanceGet, &[project, id], None).await.expect(200).body;
                (!body["decommissioned_at"].is_null()).then_some(())
            },
        )
        .await;
        stage.admin.call(Route::AllocationRelease, &[project, allocation], None).await.expect(200);
    }
    let stranger = stage.admin.create_tenant("stranger").await;
    let stranger = stage.admin.create_project(&stranger, "stranger-lab").await;
    let allocation = wait(
        || stage.server.log(),
        async || {
            let wish = json!({"sku": "small"});
            let answer = stage.admin.call(Route::AllocationRequest, &[&stranger], Some(&wish)).await;
            (answer.code() != "no_capacity").then(|| answer.expect(201).id())
        },
    )
    .await;
    let enabled = json!({"enabled": true});
    stage.admin.call(Route::EntitlementSet, &[&stranger, "private"], Some(&enabled)).await.expect(200);
    let wish = json!({"slug": "private", "target_allocation_id": allocation});
    let refused = stage.admin.call(Route::InstanceCreate, &[&stranger], Some(&wish)).await;
    refused.expect_error(409, "artifact_not_registered");
    stage.nothing_left();
}

/// F-16, F-25, R02: an index over images for several machines is launched by its own digest, and the node runs the image
/// of its kind.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_takes_its_own_image_of_an_index() {
    let stage = Stage::build(Database::Sqlite, "docker").await;
    let own = web_image(&format!("own {}\n", stage.node));
    let other =
        ImageBuilder::new("arm64").file("www/index.html", 0o644, b"other\n".to_vec()).build().unwrap();
    let images = [("arm64", &other), ("amd64", &own)];
    let (push, index) = stage.author.push_index("several", "project", &images).await;
    let artifact = stage.author.release(&push, &index).await;
    stage.offer("several", &artifact).await;
    let id = stage.launch_in(&stage.project, &stage.allocation, "several").await;
    let seen = stage.runs(&id).await;
    assert_eq!(seen["artifact_digest"], index.as_str(), "{seen}");
    let containers = stage.mine(&["ps"]);
    let served = docker(&["exec", &containers[0], "/bin/busybox", "cat", "/www/index.html"]);
    assert!(served.starts_with("own"), "{served}");
    stage.command(Route::InstanceDecommission, &id).await;
    stage.reaches(&id, |body| !body["decommissioned_at"].is_null()).await;
    stage.nothing_left();
}

/// A second process on the data of a first.
async fn second_process(kind: Database) {
    let stage = Stage::build(kind, "simulated").await;
    let node = async || {
        let node = stage.admin.call(Route::NodeGet, &[&stage.node], None).await.expect(200).body;
        (node["ready"].clone(), node["agent_connected_at"].clone())
    };
    let before = node().await;
    assert!(before.0 == true && before.1.is_string(), "{before:?}");
    let url = (kind == Database::Postgres).then_some(stage.database.url.as_str());
    let mut second = ServerProcess::bare(&stage.database.folder().join("data"), url);
    let said = tokio::task::spawn_blocking(move || second.serve_in_vain()).await.expect("no panic");
    assert!(said.contains("registry_unavailable"), "{said}");
    assert_eq!(node().await, before, "the first still has its node, without a break");
    let id = stage.create().await;
    stage.runs(&id).await;
}

/// O-08, *Bad input* (started twice): a second server on one data folder is refused by name before it touches anything; the
/// first keeps its nodes, and goes on launching.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_server_on_one_folder_is_refused_and_disturbs_nothing() {
    tokio::join!(second_process(Database::Sqlite), second_process(Database::Postgres));
}
