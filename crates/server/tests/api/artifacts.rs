//! Artifacts from intent to retirement: who may, what is refused and by which name, and what the trail says.

use gpuaas_api::Route;
use gpuaas_oci::sign::PrivateKey;
use gpuaas_oci::{Credentials, Image, Registry, SecretText, Settings};
use gpuaas_testkit::{
    Answer, Author, Caller, Home, Place, SimulatedNode, TestPlatform, both_databases, manifest, small_image,
};
use ring::rand::SystemRandom;
use serde_json::{Value, json};

use crate::registry::{ask_token, password, token, v2};

/// A home with an author, a node and room on it.
pub(crate) struct Scene {
    pub(crate) p: TestPlatform,
    pub(crate) home: Home,
    pub(crate) author: Author,
    pub(crate) allocation: String,
    /// It runs as long as the scene.
    pub(crate) node: SimulatedNode,
}

impl Scene {
    pub(crate) async fn new(p: TestPlatform) -> Self {
        let node = p.node("one").await;
        let home = p.home("acme").await;
        p.sku("small", 1).await;
        let allocation = p.allocation(&home.project, "small").await;
        let author = Author::new(&p.admin, &home.project, "author").await;
        Self { p, home, author, allocation, node }
    }

    pub(crate) async fn artifact(&self, route: Route, id: &str, body: Option<&Value>) -> Answer {
        self.p.admin.call(route, &[&self.home.project, id], body).await
    }

    async fn promote(&self, id: &str, channel: &str) -> Answer {
        self.artifact(Route::ArtifactPromote, id, Some(&json!({ "channel": channel }))).await
    }

    /// Pushed, signed and registered; nobody has verified it.
    async fn registered(&self, app: &str, image: &Image) -> Value {
        let push = self.author.push(app, "project", image).await;
        self.author.register(&push, image.digest()).await
    }

    /// A draft of an app that runs this artifact, and the project may have it.
    pub(crate) async fn draft(&self, slug: &str, version: &str, reference: &Value) {
        let mut app = manifest(slug, version);
        app["artifact_ref"] = reference.clone();
        app["runtime_profile"]["image_ref"] = reference.clone();
        self.p.admin.call(Route::ManifestRegister, &[], Some(&app)).await.expect(201);
        let enabled = json!({"enabled": true});
        self.p
            .admin
            .call(Route::EntitlementSet, &[&self.home.project, slug], Some(&enabled))
            .await
            .expect(200);
    }

    async fn climb(&self, slug: &str, version: &str, to: &str) -> Answer {
        self.p.admin.call(Route::AppMove, &[slug, version], Some(&json!({ "to": to }))).await
    }

    pub(crate) async fn launch(&self, slug: &str, version: &str) -> Answer {
        let wish = json!({"slug": slug, "app_version": version, "target_allocation_id": self.allocation});
        self.p.admin.call(Route::InstanceCreate, &[&self.home.project], Some(&wish)).await
    }

    pub(crate) async fn reaches(&self, id: &str, status: &str) {
        self.p
            .until(&format!("{id} is {status}"), async || {
                let body = self
                    .p
                    .admin
                    .call(Route::InstanceGet, &[&self.home.project, id], None)
                    .await
                    .expect(200)
                    .body;
                match status {
                    "decommissioned" => !body["decommissioned_at"].is_null(),
                    status => body["status"] == status && body["current_operation"].is_null(),
                }
            })
            .await;
    }

    pub(crate) async fn command(&self, route: Route, id: &str) -> Answer {
        self.p.admin.call(route, &[&self.home.project, id], None).await
    }
}

pub(crate) fn id(value: &Value) -> String {
    value["id"].as_str().unwrap_or_else(|| panic!("no id in {value}")).to_owned()
}

pub(crate) async fn trail(p: &TestPlatform, action: &str, object: &str) -> Vec<Value> {
    p.settle().await;
    let path = format!("/api/v1/audit?action={action}&object_id={object}&limit=50");
    p.admin.get(&path).await.expect(200).body["items"].as_array().cloned().expect("a list")
}

async fn events(p: &TestPlatform, kind: &str) -> Vec<Value> {
    p.settle().await;
    let mut found = Vec::new();
    let mut cursor = String::new();
    loop {
        let page = p.admin.get(&format!("/api/v1/events?limit=200{cursor}")).await.expect(200).body;
        let items = page["items"].as_array().cloned().expect("a list");
        found.extend(items.iter().filter(|event| event["type"] == kind).cloned());
        match page["next_cursor"].as_str() {
            Some(next) if !items.is_empty() => cursor = format!("&cursor={next}"),
            _ => return found,
        }
    }
}

/// The code of the fault at a path.
fn fault(answer: &Answer, path: &str) -> String {
    let fields = answer.body["error"]["fields"].as_array().cloned().unwrap_or_default();
    let found = fields.iter().find(|field| field["path"] == path).map(|field| field["code"].clone());
    found
        .and_then(|code| code.as_str().map(str::to_owned))
        .unwrap_or_else(|| format!("none at {path}: {}", answer.text))
}

/// Somebody at the registry with a password.
fn client(caller: &Caller, user: &str, password: &str) -> Registry {
    let credentials =
        Credentials::Password { user: user.to_owned(), password: SecretText::new(password.to_owned()) };
    Registry::with(caller.url(), Some(credentials), Settings::default()).expect("an address")
}

both_databases! {
    /// F-01, F-10, F-11, F-13, F-17, F-20: an intent says all a client must know, its wrap opens once and in time, a
    /// repeated answer never shows it again, and the trail has its whole life.
    async fn an_intent_says_everything_and_opens_once(p: TestPlatform) {
        let home = p.home("acme").await;
        let author = Author::new(&p.admin, &home.project, "author").await;
        let artifact = author.publish("web", "project", &small_image("one")).await;
        let (account, pair) = p.admin.create_service_account(&home.project, "ci", &["app-operator"]).await;
        let machine = p.machine(&account, &pair).await;
        let wish = json!({"app_slug": "web", "tag": "v1", "expires_in_seconds": 120});
        let once = machine.clone().with_header("idempotency-key", "intent-1");
        let intent = once.call(Route::PublishIntentCreate, &[&home.project], Some(&wish)).await.expect(201).body;
        let url = p.anonymous().url().to_owned();
        for (name, value) in [
            ("repository", json!("gpuaas/apps/acme-lab/web")),
            ("name", json!("registry.example.org/gpuaas/apps/acme-lab/web")),
            ("service", json!("registry.example.org")),
            ("token_url", json!(format!("{url}/api/v1/registry/token"))),
            ("registry_url", json!(url)),
            ("tag_hint", json!("v1")),
            ("digest_requirement", json!("sha256")),
            ("actions", json!(["pull", "push"])),
            ("secret_redacted", json!(false)),
        ] {
            assert_eq!(intent[name], value, "{name}");
        }
        assert_eq!(intent["credential"]["mode"], "wrapped");
        assert!(!intent["expires_at"].is_null() && intent["credential"]["wrap_token"].is_string());
        let again = once.call(Route::PublishIntentCreate, &[&home.project], Some(&wish)).await;
        let again = again.expect(201).body;
        assert_eq!((&again["id"], &again["secret_redacted"]), (&intent["id"], &json!(true)));
        assert!(again["credential"].get("wrap_token").is_none_or(Value::is_null), "{again}");

        let (_, secret) = author.unwrap(&intent).await;
        let wrap = json!({"token": intent["credential"]["wrap_token"]});
        p.anonymous().call(Route::Unwrap, &[], Some(&wrap)).await.expect_error(409, "already_unwrapped");
        let scope = "repository:gpuaas/apps/acme-lab/web:pull,push";
        token(&p, &secret, scope).await;
        token(&p, &secret, scope).await;
        let credential = id(&intent);
        let issued = trail(&p, "artifacts.publish_intent", &credential).await;
        assert_eq!(issued.len(), 1);
        for (name, value) in [("service_account", json!(true)), ("repository", json!("gpuaas/apps/acme-lab/web")), ("project_id", json!(home.project))] {
            assert_eq!(issued[0]["after"][name], value, "{}", issued[0]);
        }
        assert_eq!((&issued[0]["actor_kind"], &issued[0]["actor_id"]), (&json!("service_account"), &json!(account)));
        assert!(issued[0]["correlation_id"].as_str().is_some_and(|id| !id.is_empty()));
        let used = trail(&p, "registry.credential_used", &credential).await;
        assert_eq!(used.len(), 1, "the first use, not each");
        assert_eq!((&used[0]["after"]["actor_id"], &used[0]["project_id"]), (&json!(account), &json!(home.project)));
        let list = p.admin.call(Route::RegistryCredentialList, &[&home.project], None).await.expect(200).body;
        let listed = list["items"].as_array().unwrap().iter().find(|one| one["id"] == credential.as_str()).unwrap();
        assert!(!listed["first_used_at"].is_null() && listed["revoked_at"].is_null() && !list.to_string().contains(&secret));
        machine.call(Route::RegistryCredentialRevoke, &[&home.project, &credential], None).await.expect_error(403, "human_actor_required");
        let why = json!({"reason": "leaked"});
        p.admin.call(Route::RegistryCredentialRevoke, &[&home.project, &credential], Some(&why)).await.expect(200);
        let revoked = trail(&p, "registry.credential_revoke", &credential).await;
        let done: Vec<_> = revoked.iter().filter(|row| row["outcome"] == "done").collect();
        assert_eq!((done.len(), &done[0]["reason"], &done[0]["actor_kind"]), (1, &json!("leaked"), &json!("user")));
        assert_eq!(ask_token(&p, &secret, scope).await.status, 401);

        // A pull intent, for a person, with a life of its own.
        let wish = json!({"artifact_id": artifact["id"], "expires_in_seconds": 60});
        let pull = p.admin.call(Route::PullIntentCreate, &[&home.project], Some(&wish)).await.expect(201).body;
        for name in ["repository", "reference", "digest", "media_type", "size_bytes"] {
            assert_eq!(pull[name], artifact[name], "{name}");
        }
        for name in ["registry_url", "token_url", "service", "expires_at"] {
            assert!(pull[name].is_string(), "{name}");
        }
        assert_eq!((&pull["actions"], &pull["credential"]["mode"]), (&json!(["pull"]), &json!("wrapped")));
        let issued = trail(&p, "artifacts.pull_intent", &id(&pull)).await;
        assert_eq!((&issued[0]["after"]["digest"], &issued[0]["after"]["service_account"]), (&artifact["digest"], &json!(false)));
        p.clock.advance_seconds(61);
        let wrap = json!({"token": pull["credential"]["wrap_token"]});
        p.anonymous().call(Route::Unwrap, &[], Some(&wrap)).await.expect_error(409, "wrap_expired");

        for seconds in [-1, 0, 59, 3601, i64::MAX] {
            for (route, wish) in [
                (Route::PublishIntentCreate, json!({"app_slug": "web", "expires_in_seconds": seconds})),
                (Route::PullIntentCreate, json!({"artifact_id": artifact["id"], "expires_in_seconds": seconds})),
            ] {
                let answer = p.admin.call(route, &[&home.project], Some(&wish)).await.expect_error(400, "validation_failed");
                assert_eq!(fault(&answer, "/expires_in_seconds"), "out_of_range");
            }
        }
        for seconds in [60, 3600] {
            let wish = json!({"app_slug": "web", "expires_in_seconds": seconds});
            p.admin.call(Route::PublishIntentCreate, &[&home.project], Some(&wish)).await.expect(201);
        }
        for (wish, path) in [(json!({"app_slug": "../x"}), "/app_slug"), (json!({"app_slug": "web", "tag": "a b"}), "/tag"), (json!({"app_slug": "web", "repository": "x/y"}), "/repository")] {
            let answer = p.admin.call(Route::PublishIntentCreate, &[&home.project], Some(&wish)).await.expect_error(400, "validation_failed");
            assert!(!fault(&answer, path).starts_with("none"), "a client-chosen path: {}", answer.text);
        }
        // Who may only read gets no way to push.
        let (user, _) = p.member("uma", "project-user", Place::Project(&home.project)).await;
        user.call(Route::PublishIntentCreate, &[&home.project], Some(&json!({"app_slug": "web"}))).await.expect(403);
        let (stranger, _) = p.person("nobody").await;
        stranger.call(Route::PublishIntentCreate, &[&home.project], Some(&json!({"app_slug": "web"}))).await.expect(404);
    }

    /// F-04, F-12, F-28, F-30, T-04, T-05: what cannot be registered, each by its name; what is registered has one
    /// canonical reference.
    async fn registration_takes_only_what_is_there_and_ours(p: TestPlatform) {
        let (home, rival) = (p.home("acme").await, p.home("rival").await);
        let author = Author::new(&p.admin, &home.project, "author").await;
        let other = Author::new(&p.admin, &rival.project, "rival").await;
        let image = small_image("one");
        let push = author.push("web", "project", &image).await;
        let foreign = other.push("web", "project", &image).await;
        push.registry.push(&push.repository, &image, Some("latest")).await.expect("a tag");
        let register = async |body: Value| p.admin.call(Route::ArtifactRegister, &[&home.project], Some(&body)).await;
        let digest = image.digest().as_str();
        let (own, unknown) = ("gpuaas/apps/acme-lab/web", format!("sha256:{}", "0".repeat(64)));
        for (repository, digest, path, code) in [
            (own, unknown.as_str(), "/digest", "unknown_digest"),
            (own, "sha256:abc", "/digest", "malformed_digest"),
            (foreign.repository.as_str(), digest, "/repository", "unknown_repository"),
            ("gpuaas/apps/acme-lab/nothing", digest, "/repository", "unknown_repository"),
        ] {
            let answer = register(json!({"repository": repository, "digest": digest})).await.expect_error(400, "validation_failed");
            assert_eq!(fault(&answer, path), code);
        }
        for tag in ["latest", "v1.0.0", ""] {
            register(json!({"repository": own, "digest": tag})).await.expect_error(422, "digest_required");
        }
        for repository in [
            "docker.io/library/web", "registry.example.com/gpuaas/apps/acme-lab/web", "localhost:5000/x/y", "web", "acme-lab/web",
            "gpuaas/apps/web", "gpuaas/apps/acme-lab/web/deeper", "gpuaas/apps/acme-lab/../acme-lab/web", "gpuaas/apps/Acme-lab/web",
            "/gpuaas/apps/acme-lab/web", "gpuaas/apps/acme-lab/web:latest", "https://registry.example.org/gpuaas/apps/acme-lab/web",
        ] {
            register(json!({"repository": repository, "digest": digest})).await.expect_error(422, "image_source_not_allowed");
        }
        let answer = register(json!({"repository": own, "digest": digest, "media_type": "application/vnd.docker.distribution.manifest.v2+json"})).await;
        assert_eq!(fault(&answer.expect_error(400, "validation_failed"), "/media_type"), "media_type_differs");
        let answer = register(json!({"repository": own, "digest": digest, "source": {"git": "https://me:secret@git.example.org/x"}})).await;
        assert!(!answer.text.contains("me:secret"));
        assert_eq!(fault(&answer.expect_error(400, "validation_failed"), "/source"), "raw_secret_not_allowed");
        // The signature of the image is in the repository, and it is no image.
        let repository = push.repository.parse().unwrap();
        let tag: gpuaas_oci::Tag = format!("sha256-{}.sig", digest.trim_start_matches("sha256:")).parse().unwrap();
        let signature = push.registry.get_manifest(&repository, &tag).await.expect("a signature");
        let answer = register(json!({"repository": own, "digest": gpuaas_oci::Digest::of(&signature.bytes).as_str()})).await;
        answer.expect_error(422, "not_an_image");

        // With a host or without; what is kept is the same. Eight at once make one.
        let body = json!({"repository": format!("registry.example.org/{own}"), "digest": digest, "tag": "latest", "source": {"git": "https://git.example.org/x", "commit": "abc"}});
        let answers = futures_util::future::join_all((0..8).map(|_| register(body.clone()))).await;
        let made: Vec<_> = answers.iter().filter(|answer| answer.status == 201).collect();
        assert_eq!(made.len(), 1, "{:?}", answers.iter().map(|answer| (answer.status, answer.code())).collect::<Vec<_>>());
        assert!(answers.iter().all(|answer| answer.status == 201 || answer.code() == "artifact_exists"));
        let artifact = &made[0].body;
        assert_eq!(artifact["reference"], json!(format!("registry.example.org/{own}@{digest}")));
        for (name, value) in [("repository", json!(own)), ("tag", json!("latest")), ("status", json!("published")), ("active", json!(false)), ("visibility", json!("project")), ("channel", Value::Null)] {
            assert_eq!(artifact[name], value, "{name}");
        }
        assert_eq!((&artifact["trust"]["state"], &artifact["source"]["commit"]), (&json!("unverified"), &json!("abc")));
        assert!(artifact["size_bytes"].as_i64().unwrap() > 0);

        // Nobody else sees it; a neighbour's path does not lead to it.
        let (ria, _) = p.member("ria", "tenant-admin", Place::Tenant(&rival.tenant)).await;
        let list = ria.get(&format!("{}?visible=true", Route::ArtifactList.path(&[&rival.project]))).await.expect(200);
        assert!(!list.text.contains("acme"), "{}", list.text);
        for route in [Route::ArtifactGet, Route::ArtifactVerify, Route::ArtifactRevoke, Route::ArtifactDeprecate, Route::ArtifactRetire] {
            ria.call(route, &[&home.project, &id(artifact)], None).await.expect(404);
            ria.call(route, &[&rival.project, &id(artifact)], None).await.expect(404);
            // Even the platform's admin reaches it through its own project only.
            p.admin.call(route, &[&rival.project, &id(artifact)], None).await.expect(404);
        }
        let intent = json!({"artifact_id": artifact["id"]});
        let answer = ria.call(Route::PullIntentCreate, &[&rival.project], Some(&intent)).await.expect_error(400, "validation_failed");
        assert_eq!(fault(&answer, "/artifact_id"), "unknown_artifact");
        // T-11: a machine writes in its own project only.
        let (account, pair) = p.admin.create_service_account(&rival.project, "ci", &["app-operator"]).await;
        let machine = p.machine(&account, &pair).await;
        machine.call(Route::ArtifactRegister, &[&home.project], Some(&body)).await.expect(404);
    }

    /// F-03, F-04, F-30: what is everybody's has one place, an alias for it, and no project can take its name.
    async fn the_platforms_repositories_have_an_alias_and_a_guarded_name(p: TestPlatform) {
        let home = p.home("acme").await;
        p.admin.call(Route::ProjectCreate, &[&home.tenant], Some(&json!({"slug": "platform"}))).await.expect(400);
        let author = Author::new(&p.admin, &home.project, "author").await;
        let image = small_image("one");
        let artifact = author.publish("web", "platform", &image).await;
        let canonical = format!("registry.example.org/gpuaas/apps/platform/web@{}", image.digest());
        assert_eq!(artifact["reference"], json!(canonical));
        let user = password(&p.member("uma", "project-user", Place::Project(&home.project)).await.0);
        for scope in ["repository:apps/web:pull", "repository:gpuaas/apps/platform/web:pull"] {
            let token = token(&p, &user, scope).await;
            for name in ["apps/web", "gpuaas/apps/platform/web"] {
                for path in [format!("{name}/manifests/{}", image.digest()), format!("{name}/blobs/{}", image.config.digest), format!("{name}/tags/list")] {
                    assert_eq!(v2(&p, Some(&token), "GET", &path, b"").await.status, 200, "{scope} {path}");
                }
            }
        }
        // A whole push by the alias, as a client does it, lands in the one place.
        let registry = client(&p.anonymous(), "admin", &password(&p.admin));
        let second = small_image("two");
        registry.push("apps/web", &second, Some("two")).await.expect("a push by the alias");
        author.register(&author.intend("web", "platform").await, second.digest()).await;
        // Manifests may use either name; what is planned is canonical.
        for (version, reference) in [("1.0.0", canonical.clone()), ("2.0.0", format!("registry.example.org/apps/web@{}", image.digest()))] {
            let mut app = manifest("web", version);
            app["artifact_ref"] = json!(reference);
            app["runtime_profile"]["image_ref"] = json!(reference);
            p.admin.call(Route::ManifestRegister, &[], Some(&app)).await.expect(201);
            p.admin.call(Route::AppPublish, &["web", version], None).await.expect(200);
        }
        let uses = p.admin.call(Route::ArtifactGet, &[&home.project, &id(&artifact)], None).await.expect(200).body;
        assert_eq!(uses["used_by"].as_array().unwrap().len(), 2, "{uses}");
        // Another project cannot take the name, nor can who lacks the right make anything everybody's.
        let rival = p.home("rival").await;
        let wish = json!({"app_slug": "web", "visibility": "platform"});
        p.admin.call(Route::PublishIntentCreate, &[&rival.project], Some(&wish)).await.expect_error(409, "repository_taken");
        let (pat, _) = p.member("pat", "project-admin", Place::Project(&home.project)).await;
        let mine = json!({"app_slug": "mine", "visibility": "platform"});
        pat.call(Route::PublishIntentCreate, &[&home.project], Some(&mine)).await.expect_error(403, "permission_denied");
        let wide = json!({"visibility": "platform"});
        pat.call(Route::RepositorySet, &[&home.project, "mine"], Some(&wide)).await.expect_error(403, "permission_denied");
        // What was narrowed is not widened again without that right either.
        p.admin.call(Route::RepositorySet, &[&home.project, "web"], Some(&json!({"visibility": "project"}))).await.expect(200);
        pat.call(Route::RepositorySet, &[&home.project, "web"], Some(&wide)).await.expect_error(403, "permission_denied");
        p.admin.call(Route::RepositorySet, &[&home.project, "web"], Some(&wide)).await.expect(200);
    }

    /// F-21, F-22, F-23, R03, R04: only a signature of a good key over this digest in this repository verifies; what the
    /// key stood for falls with it, is told, and starts nothing new.
    async fn trust_comes_from_a_good_key_and_goes_with_it(p: TestPlatform) {
        let scene = Scene::new(p).await;
        let (p, project) = (&scene.p, &scene.home.project);
        let verify = async |artifact: &Value| {
            let found = scene.artifact(Route::ArtifactVerify, &id(artifact), None).await.expect(200).body;
            (found["trust"]["state"].as_str().unwrap().to_owned(), found)
        };
        // Not signed at all; signed by nobody we know; signed for another repository.
        let push = scene.author.intend("web", "project").await;
        let unsigned = small_image("unsigned");
        push.registry.push(&push.repository, &unsigned, None).await.unwrap();
        let unsigned = scene.author.register(&push, unsigned.digest()).await;
        let stranger = Author { caller: p.admin.clone(), project: project.clone(), key: PrivateKey::generate(&SystemRandom::new()).unwrap() };
        let image = small_image("stranger");
        let push = stranger.push("web", "project", &image).await;
        let by_stranger = stranger.register(&push, image.digest()).await;
        let image = small_image("copied");
        let from = scene.author.push("elsewhere", "project", &image).await;
        let to = scene.author.intend("web", "project").await;
        to.registry.push(&to.repository, &image, None).await.unwrap();
        let tag: gpuaas_oci::Tag = format!("sha256-{}.sig", image.digest().as_str().trim_start_matches("sha256:")).parse().unwrap();
        let (here, there) = (from.repository.parse().unwrap(), to.repository.parse().unwrap());
        let signature = from.registry.get_manifest(&here, &tag).await.unwrap();
        let parts: Value = serde_json::from_slice(&signature.bytes).unwrap();
        for part in parts["layers"].as_array().unwrap().iter().chain([&parts["config"]]) {
            let digest = part["digest"].as_str().unwrap().parse().unwrap();
            let bytes = from.registry.blob_bytes(&here, &digest, part["size"].as_u64().unwrap(), 1 << 20).await.unwrap();
            to.registry.push_blob(&there, &digest, &gpuaas_oci::BlobSource::Memory(bytes), &|_| ()).await.unwrap();
        }
        to.registry.put_manifest(&there, &tag, &signature.media_type, signature.bytes.clone()).await.unwrap();
        let copied = scene.author.register(&to, image.digest()).await;
        for (name, artifact) in [("unsigned", &unsigned), ("by a stranger", &by_stranger), ("copied", &copied)] {
            let (state, found) = verify(artifact).await;
            assert_eq!(state, "unverified", "{name}: {found}");
            assert!(found["trust"]["reason"].as_str().is_some_and(|text| text.len() > 10), "{name}: {found}");
            scene.promote(&id(artifact), "dev").await.expect_error(409, "artifact_not_verified");
        }

        // The result is kept: signer, time, statement.
        let image = small_image("good");
        let good = scene.author.publish("web", "project", &image).await;
        let keys = p.admin.call(Route::TrustKeyList, &[project], None).await.expect(200).body["items"].clone();
        let own = keys.as_array().unwrap().iter().find(|key| key["name"] == "author").unwrap().clone();
        assert_eq!((&good["trust"]["signer"], &good["trust"]["key_id"]), (&own["fingerprint"], &own["id"]));
        assert!(good["trust"]["verified_at"].is_string() && good["trust"]["statement_digest"].as_str().unwrap().starts_with("sha256:"));
        scene.draft("web", "1.0.0", &good["reference"]).await;
        scene.draft("web", "2.0.0", &good["reference"]).await;
        p.admin.call(Route::AppPublish, &["web", "1.0.0"], None).await.expect(200);
        let running = scene.launch("web", "1.0.0").await.expect(202).id();
        scene.reaches(&running, "running").await;

        let why = json!({"reason": "stolen"});
        p.admin.call(Route::TrustKeyRevoke, &[project, &id(&own)], Some(&why)).await.expect(200);
        let fallen = scene.artifact(Route::ArtifactGet, &id(&good), None).await.expect(200).body;
        assert_eq!((&fallen["trust"]["state"], &fallen["active"], &fallen["status"]), (&json!("unverified"), &json!(false), &json!("promoted")));
        let findings = events(p, "apps.version.finding").await;
        assert!(findings.iter().any(|event| event["data"]["app_version"] == "1.0.0" && event["data"]["digest"] == good["digest"]), "{findings:?}");
        assert!(!findings.iter().any(|event| event["data"]["app_version"] == "2.0.0"), "a draft is not in use");
        scene.launch("web", "1.0.0").await.expect_error(409, "artifact_not_verified");
        scene.climb("web", "2.0.0", "staged").await.expect_error(409, "artifact_not_verified");
        assert_eq!(verify(&good).await.0, "unverified", "a revoked key verifies nothing");
        scene.reaches(&running, "running").await;
        let again = json!({"name": "again", "public_key": own["public_key"]});
        p.admin.call(Route::TrustKeyAdd, &[project], Some(&again)).await.expect_error(409, "key_exists");
        // A neighbour's key and a neighbour's admin reach nothing here.
        let side = p.admin.create_project(&scene.home.tenant, "acme-side").await;
        let (ned, _) = p.member("ned", "project-admin", Place::Project(&side)).await;
        ned.call(Route::TrustKeyRevoke, &[&side, &id(&own)], None).await.expect(404);
        let neighbour = Author::new(&p.admin, &side, "side").await;
        let foreign = Author { caller: p.admin.clone(), project: project.clone(), key: neighbour.key };
        let image = small_image("neighbour");
        let push = foreign.push("web", "project", &image).await;
        let artifact = foreign.register(&push, image.digest()).await;
        assert_eq!(verify(&artifact).await.0, "unverified", "another project's key");
        // The platform's keys stand for everybody, until they are revoked.
        let body = json!({"name": "house", "public_key": foreign.key.public().to_pem()});
        let house = p.admin.call(Route::PlatformTrustKeyAdd, &[], Some(&body)).await.expect(201).body;
        assert_eq!(verify(&artifact).await.0, "verified");
        ned.call(Route::PlatformTrustKeyRevoke, &[&id(&house)], None).await.expect(403);
        p.admin.call(Route::TrustKeyRevoke, &[project, &id(&house)], None).await.expect(404);
        p.admin.call(Route::PlatformTrustKeyRevoke, &[&id(&house)], None).await.expect(200);
        let fallen = scene.artifact(Route::ArtifactGet, &id(&artifact), None).await.expect(200).body;
        assert_eq!(fallen["trust"]["state"], "unverified");

        // A key of its own time.
        let key = PrivateKey::generate(&SystemRandom::new()).unwrap();
        let until = p.clock.timestamp().plus_seconds(100);
        let body = json!({"name": "short", "public_key": key.public().to_pem(), "valid_until": until});
        p.admin.call(Route::TrustKeyAdd, &[project], Some(&body)).await.expect(201);
        let short = Author { caller: p.admin.clone(), project: project.clone(), key };
        let image = small_image("short");
        let push = short.push("web", "project", &image).await;
        let timed = short.register(&push, image.digest()).await;
        assert_eq!(verify(&timed).await.0, "verified");
        p.clock.advance_seconds(101);
        assert_eq!(verify(&timed).await.0, "unverified", "the key is over");
        let past = json!({"name": "past", "public_key": PrivateKey::generate(&SystemRandom::new()).unwrap().public().to_pem(), "valid_until": until});
        let answer = p.admin.call(Route::TrustKeyAdd, &[project], Some(&past)).await.expect_error(400, "validation_failed");
        assert_eq!(fault(&answer, "/valid_until"), "out_of_range");
        let private = json!({"name": "oops", "public_key": PrivateKey::generate(&SystemRandom::new()).unwrap().to_pem().expose()});
        let answer = p.admin.call(Route::TrustKeyAdd, &[project], Some(&private)).await.expect_error(400, "validation_failed");
        assert_eq!(fault(&answer, "/public_key"), "raw_secret_not_allowed");
    }

    /// F-07, F-18, F-19, F-20, F-24, T-11: promotion goes channel by channel, machines go as far as policy lets them, and
    /// what only a person may do is refused to them and written down.
    async fn machines_promote_to_dev_and_judge_nothing(p: TestPlatform) {
        let home = p.home("acme").await;
        let author = Author::new(&p.admin, &home.project, "author").await;
        let (account, pair) = p.admin.create_service_account(&home.project, "ci", &["app-operator"]).await;
        let machine = p.machine(&account, &pair).await;
        let as_machine = Author { caller: machine.clone(), project: home.project.clone(), key: PrivateKey::from_pem(&author.key.to_pem()).unwrap() };
        let image = small_image("one");
        let push = as_machine.push("web", "project", &image).await;
        let artifact = as_machine.register(&push, image.digest()).await;
        let at = [home.project.as_str(), artifact["id"].as_str().unwrap()];
        assert_eq!((&artifact["created_by_kind"], &artifact["created_by_id"]), (&json!("service_account"), &json!(account)));
        let rows = trail(&p, "artifacts.register", at[1]).await;
        let row = &rows[0]["after"];
        assert_eq!((&row["service_account"], &row["digest"], &row["repository"], &row["project_id"]), (&json!(true), &artifact["digest"], &artifact["repository"], &json!(home.project)));
        for (route, action) in [
            (Route::ArtifactVerify, "artifacts.verify"), (Route::ArtifactRevoke, "artifacts.revoke"),
            (Route::ArtifactDeprecate, "artifacts.deprecate"), (Route::ArtifactRetire, "artifacts.retire"),
        ] {
            machine.call(route, &at, None).await.expect_error(403, "human_actor_required");
            p.settle().await;
            let rows = p.admin.get(&format!("/api/v1/audit?action={action}&actor_id={account}")).await.expect(200).body;
            assert_eq!(rows["items"][0]["outcome"], "denied", "{action}: {rows}");
        }
        let key = json!({"name": "mine", "public_key": PrivateKey::generate(&SystemRandom::new()).unwrap().public().to_pem()});
        machine.call(Route::TrustKeyAdd, &[&home.project], Some(&key)).await.expect_error(403, "human_actor_required");
        let promote = async |caller: &Caller, channel: &str| caller.call(Route::ArtifactPromote, &at, Some(&json!({ "channel": channel }))).await;
        promote(&p.admin, "dev").await.expect_error(409, "artifact_not_verified");
        p.admin.call(Route::ArtifactVerify, &at, None).await.expect(200);
        promote(&p.admin, "staging").await.expect_error(409, "promotion_out_of_order");
        promote(&p.admin, "production").await.expect_error(409, "promotion_out_of_order");
        assert_eq!(fault(&promote(&p.admin, "moon").await.expect_error(400, "validation_failed"), "/channel"), "unknown_channel");
        let promoted = promote(&machine, "dev").await.expect(200).body;
        assert_eq!((&promoted["status"], &promoted["channel"], &promoted["active"]), (&json!("promoted"), &json!("dev"), &json!(false)));
        promote(&machine, "staging").await.expect_error(403, "human_actor_required");
        promote(&p.admin, "production").await.expect_error(409, "promotion_out_of_order");
        promote(&p.admin, "staging").await.expect(200);
        promote(&p.admin, "dev").await.expect_error(409, "promotion_out_of_order");
        promote(&p.admin, "production").await.expect(200);
        let found = p.admin.call(Route::ArtifactGet, &at, None).await.expect(200).body;
        let steps: Vec<_> = found["promotions"].as_array().unwrap().iter().map(|one| (one["channel"].as_str().unwrap(), one["actor_kind"].as_str().unwrap())).collect();
        assert_eq!(steps, [("dev", "service_account"), ("staging", "user"), ("production", "user")]);
        let rows = trail(&p, "artifacts.promote", at[1]).await;
        let done: Vec<_> = rows.iter().filter(|row| row["outcome"] == "done").map(|row| row["after"]["service_account"].clone()).collect();
        assert_eq!(done.len(), 3);
        assert_eq!(done.iter().filter(|machine| **machine == json!(true)).count(), 1);
    }

    /// E-14, F-06, F-08, F-25, F-29, T-19: what each state of an artifact lets start, by exact codes.
    async fn the_artifact_decides_what_may_start(p: TestPlatform) {
        let scene = Scene::new(p).await;
        let (p, project) = (&scene.p, &scene.home.project);
        let image = small_image("one");
        let artifact = scene.registered("web", &image).await;
        let at = id(&artifact);
        scene.draft("web", "1.0.0", &artifact["reference"]).await;
        scene.climb("web", "1.0.0", "staged").await.expect_error(409, "artifact_not_verified");
        p.admin.call(Route::AppPublish, &["web", "1.0.0"], None).await.expect_error(409, "artifact_not_verified");
        scene.artifact(Route::ArtifactVerify, &at, None).await.expect(200);
        scene.climb("web", "1.0.0", "staged").await.expect(200);
        scene.climb("web", "1.0.0", "canary").await.expect(200);
        scene.climb("web", "1.0.0", "active").await.expect_error(409, "artifact_not_promoted");
        for channel in ["dev", "staging"] {
            scene.promote(&at, channel).await.expect(200);
            scene.climb("web", "1.0.0", "active").await.expect_error(409, "artifact_not_promoted");
        }
        scene.promote(&at, "production").await.expect(200);
        scene.climb("web", "1.0.0", "active").await.expect(200);
        let first = scene.launch("web", "1.0.0").await.expect(202).id();
        scene.reaches(&first, "running").await;
        let seen = p.admin.call(Route::InstanceGet, &[project, &first], None).await.expect(200).body;
        assert_eq!(seen["artifact_digest"], artifact["digest"], "{seen}");

        // A tag that moves changes nothing.
        let push = scene.author.intend("web", "project").await;
        push.registry.push(&push.repository, &image, Some("stable")).await.unwrap();
        let other = small_image("other");
        push.registry.push(&push.repository, &other, Some("stable")).await.unwrap();
        let kept = scene.artifact(Route::ArtifactGet, &at, None).await.expect(200).body;
        assert_eq!(kept["digest"], artifact["digest"]);
        let wish = json!({"slug": "web", "target_allocation_id": scene.allocation});
        let plan = p.admin.call(Route::InstancePlan, &[project], Some(&wish)).await.expect(200);
        assert!(plan.text.contains(image.digest().as_str()) && !plan.text.contains(other.digest().as_str()));

        // An image that nobody registered cannot be launched, nor climbed with.
        let reference = format!("registry.example.org/gpuaas/apps/acme-lab/web@{}", other.digest());
        scene.draft("web", "3.0.0", &json!(reference)).await;
        scene.climb("web", "3.0.0", "staged").await.expect_error(409, "artifact_not_registered");

        // Deprecated: no version moves by itself, nothing new, the old one can be started again.
        scene.artifact(Route::ArtifactDeprecate, &at, Some(&json!({"reason": "old"}))).await.expect(200);
        let version = p.admin.call(Route::CatalogVersionGet, &["web", "1.0.0"], None).await.expect(200).body;
        assert_eq!(version["status"], "active");
        assert!(version["findings"].as_array().is_some_and(|list| list.len() == 1), "{version}");
        scene.launch("web", "1.0.0").await.expect_error(409, "artifact_not_active");
        p.admin.call(Route::InstancePlan, &[project], Some(&wish)).await.expect_error(409, "artifact_not_active");
        scene.promote(&at, "production").await.expect_error(409, "illegal_artifact_move");
        scene.command(Route::InstanceStop, &first).await.expect(202);
        scene.reaches(&first, "stopped").await;
        scene.command(Route::InstanceStart, &first).await.expect(202);
        scene.reaches(&first, "running").await;
        scene.artifact(Route::ArtifactRetire, &at, None).await.expect_error(409, "has_live_objects");

        // Revoked: what runs goes on, nothing starts, and no verification brings it back.
        scene.artifact(Route::ArtifactRevoke, &at, Some(&json!({"reason": "bad"}))).await.expect(200);
        scene.reaches(&first, "running").await;
        scene.launch("web", "1.0.0").await.expect_error(409, "artifact_revoked");
        scene.command(Route::InstanceStop, &first).await.expect(202);
        scene.reaches(&first, "stopped").await;
        scene.command(Route::InstanceStart, &first).await.expect_error(409, "artifact_revoked");
        scene.artifact(Route::ArtifactVerify, &at, None).await.expect_error(409, "artifact_revoked");
        let wish = json!({ "artifact_id": at });
        p.admin.call(Route::PullIntentCreate, &[project], Some(&wish)).await.expect_error(409, "artifact_revoked");
        let stays = scene.artifact(Route::ArtifactGet, &at, None).await.expect(200).body;
        assert_eq!((&stays["trust"]["state"], &stays["trust"]["reason"]), (&json!("revoked"), &json!("bad")));
        assert!(!events(p, "apps.version.finding").await.is_empty());
        scene.artifact(Route::ArtifactRetire, &at, None).await.expect_error(409, "has_live_objects");
        scene.command(Route::InstanceDecommission, &first).await.expect(202);
        scene.reaches(&first, "decommissioned").await;
        scene.artifact(Route::ArtifactRetire, &at, None).await.expect(200);
        for route in [Route::ArtifactVerify, Route::ArtifactRevoke, Route::ArtifactDeprecate, Route::ArtifactRetire] {
            scene.artifact(route, &at, None).await.expect_error(409, "illegal_artifact_move");
        }
        scene.promote(&at, "production").await.expect_error(409, "illegal_artifact_move");
        scene.artifact(Route::ArtifactGet, &at, None).await.expect(200);
        // Retired, its bytes may go.
        let delete = token(p, &password(&p.admin), "repository:gpuaas/apps/acme-lab/web:delete").await;
        let path = format!("gpuaas/apps/acme-lab/web/manifests/{}", image.digest());
        assert_eq!(v2(p, Some(&delete), "DELETE", &path, b"").await.status, 202);

        // A private image in a manifest that another tenant may launch: not registered, as far as it can tell.
        let good = scene.author.publish("private", "project", &small_image("private")).await;
        scene.draft("private", "1.0.0", &good["reference"]).await;
        p.admin.call(Route::AppPublish, &["private", "1.0.0"], None).await.expect(200);
        scene.command(Route::AllocationRelease, &scene.allocation).await.expect(200);
        let rival = p.home("rival").await;
        p.settle().await;
        let allocation = p.allocation(&rival.project, "small").await;
        p.admin.call(Route::EntitlementSet, &[&rival.project, "private"], Some(&json!({"enabled": true}))).await.expect(200);
        let wish = json!({"slug": "private", "target_allocation_id": allocation});
        p.admin.call(Route::InstanceCreate, &[&rival.project], Some(&wish)).await.expect_error(409, "artifact_not_registered");
    }

    /// F-27: another host and another root rename everything and rewrite nothing; what was signed stays signed.
    async fn a_registry_is_renamed_without_touching_its_data(p: TestPlatform) {
        let Scene { p, home, author, node, .. } = Scene::new(p).await;
        let old = author.publish("web", "project", &small_image("one")).await;
        let later = small_image("two");
        let push = author.push("web", "project", &later).await;
        let later = author.register(&push, later.digest()).await;
        let mut app = manifest("web", "1.0.0");
        app["artifact_ref"] = old["reference"].clone();
        app["runtime_profile"]["image_ref"] = old["reference"].clone();
        p.admin.call(Route::ManifestRegister, &[], Some(&app)).await.expect(201);
        p.admin.call(Route::AppPublish, &["web", "1.0.0"], None).await.expect(200);
        p.admin.call(Route::EntitlementSet, &[&home.project, "web"], Some(&json!({"enabled": true}))).await.expect(200);
        let held = token(&p, &password(&p.admin), "repository:gpuaas/apps/acme-lab/web:pull").await;
        let before = p.admin.call(Route::CatalogVersionGet, &["web", "1.0.0"], None).await.expect(200).body;
        drop(node);

        let (mut p, mut kept) = (p, old.clone());
        for (host, root) in [("images.example.net", "x/y"), ("registry.example.net", "apps/of-acme")] {
            p = p.restarted(&format!("host = {host:?}\nroot = {root:?}")).await;
            let name = format!("{root}/acme-lab/web");
            let author = Author { caller: p.admin.clone(), project: home.project.clone(), key: PrivateKey::from_pem(&author.key.to_pem()).unwrap() };
            let found = p.admin.call(Route::ArtifactGet, &[&home.project, &id(&old)], None).await.expect(200).body;
            assert_eq!(found["reference"], json!(format!("{host}/{name}@{}", old["digest"].as_str().unwrap())));
            assert_eq!((&found["trust"], &found["version"]), (&kept["trust"], &kept["version"]), "nothing was rewritten");
            let after = p.admin.call(Route::CatalogVersionGet, &["web", "1.0.0"], None).await.expect(200).body;
            assert_eq!((&after["manifest"], &after["manifest_digest"]), (&before["manifest"], &before["manifest_digest"]));
            // The old manifest is planned under the new name.
            let node = p.node(&host.replace('.', "-")).await;
            let allocation = p.allocation(&home.project, "small").await;
            let wish = json!({"slug": "web", "target_allocation_id": allocation});
            let plan = p.admin.call(Route::InstancePlan, &[&home.project], Some(&wish)).await.expect(200);
            assert!(plan.text.contains(&format!("{host}/{name}@")), "{}", plan.text);
            assert!(!plan.text.contains("registry.example.org/"), "{}", plan.text);
            let instance = p.admin.call(Route::InstanceCreate, &[&home.project], Some(&wish)).await.expect(202).id();
            let running = async || p.admin.call(Route::InstanceGet, &[&home.project, &instance], None).await.expect(200).body["status"] == "running";
            p.until("the old manifest runs", running).await;
            // The bytes are where they were, under the new name; the old one leads nowhere, and so does the old token.
            let path = format!("{name}/manifests/{}", old["digest"].as_str().unwrap());
            let basic = client(&p.anonymous(), "admin", &password(&p.admin));
            assert!(basic.exists(&name, &old["digest"].as_str().unwrap().parse().unwrap()).await.unwrap());
            assert_eq!(v2(&p, Some(&held), "GET", &path, b"").await.status, 401, "a token for another service");
            // An old signature verifies again.
            kept = p.admin.call(Route::ArtifactVerify, &[&home.project, &id(&old)], None).await.expect(200).body;
            assert_eq!(kept["trust"]["state"], "verified");
            // What nobody verified while its name was good is named as it is called now, or not at all.
            let never = p.admin.call(Route::ArtifactVerify, &[&home.project, &id(&later)], None).await.expect(200).body;
            assert_eq!(never["trust"]["state"], "unverified");
            // New pushes go to the new name.
            let fresh = author.publish("web", "project", &small_image(root)).await;
            assert_eq!(fresh["repository"], json!(name));
            let by_old = json!({"repository": "registry.example.org/gpuaas/apps/acme-lab/web", "digest": old["digest"]});
            p.admin.call(Route::ArtifactRegister, &[&home.project], Some(&by_old)).await.expect_error(422, "image_source_not_allowed");
            let everybody = author.publish("open", "platform", &small_image(host)).await;
            let digest = everybody["digest"].as_str().unwrap().parse().unwrap();
            assert!(basic.exists("apps/open", &digest).await.unwrap(), "{root}: by the alias");
            assert!(basic.exists(&format!("{root}/platform/open"), &digest).await.unwrap(), "{root}: by its name");
            drop(node);
        }
    }

    /// F-23, F-27: a look that fails takes the verification, not the memory of the name that was signed.
    async fn a_signature_survives_a_new_name_and_a_failed_look(p: TestPlatform) {
        let home = p.home("acme").await;
        let key = PrivateKey::generate(&SystemRandom::new()).unwrap();
        let until = p.clock.timestamp().plus_seconds(100);
        let body = json!({"name": "short", "public_key": key.public().to_pem(), "valid_until": until});
        p.admin.call(Route::TrustKeyAdd, &[&home.project], Some(&body)).await.expect(201);
        let author = Author { caller: p.admin.clone(), project: home.project.clone(), key };
        let old = author.publish("web", "project", &small_image("one")).await;
        let p = p.restarted("host = \"images.example.net\"").await;
        let at = [home.project.as_str(), old["id"].as_str().unwrap()];
        let state = async || p.admin.call(Route::ArtifactVerify, &at, None).await.expect(200).body["trust"]["state"].clone();
        p.clock.advance_seconds(101);
        assert_eq!(state().await, "unverified", "the key is over");
        let body = json!({"name": "house", "public_key": author.key.public().to_pem()});
        p.admin.call(Route::PlatformTrustKeyAdd, &[], Some(&body)).await.expect(201);
        assert_eq!(state().await, "verified", "another owner of the key says that it is good");
    }

    /// F-31: who says so on a platform of their own is only warned, but a revoked artifact starts nothing there either.
    async fn warning_lets_only_the_unverified_pass(p: TestPlatform) {
        let p = p.restarted("host = \"registry.example.org\"\nlocal = true\ntrust = \"warn\"").await;
        let scene = Scene::new(p).await;
        let p = &scene.p;
        let info = p.admin.call(Route::RegistryInfo, &[&scene.home.project], None).await.expect(200).body;
        assert_eq!(info["trust"], "warn");
        let push = scene.author.intend("web", "project").await;
        let image = small_image("unsigned");
        push.registry.push(&push.repository, &image, None).await.unwrap();
        let artifact = scene.author.register(&push, image.digest()).await;
        for channel in ["dev", "staging", "production"] {
            scene.promote(&id(&artifact), channel).await.expect(200);
        }
        scene.draft("web", "1.0.0", &artifact["reference"]).await;
        p.admin.call(Route::AppPublish, &["web", "1.0.0"], None).await.expect(200);
        let first = scene.launch("web", "1.0.0").await.expect(202).id();
        scene.reaches(&first, "running").await;
        scene.artifact(Route::ArtifactRevoke, &id(&artifact), None).await.expect(200);
        scene.launch("web", "1.0.0").await.expect_error(409, "artifact_revoked");
        scene.command(Route::InstanceStop, &first).await.expect(202);
        scene.reaches(&first, "stopped").await;
        scene.command(Route::InstanceStart, &first).await.expect_error(409, "artifact_revoked");
        // Not without the mark.
        let text = "data_dir = \"/tmp/x\"\n[registry]\nhost = \"registry.example.org\"\ntrust = \"warn\"\n";
        let refused = gpuaas_server::config::from_parts(text, []).err().expect("not marked local");
        assert!(format!("{refused:?}").contains("registry.local"), "{refused:?}");
    }

    /// F-01, F-15, T-18: the API takes no image bytes and gives none; it says where the way is.
    async fn the_api_points_to_intents_instead_of_taking_bytes(p: TestPlatform) {
        let home = p.home("acme").await;
        let author = Author::new(&p.admin, &home.project, "author").await;
        let artifact = author.publish("web", "project", &small_image("one")).await;
        let base = Route::ArtifactRegister.path(&[&home.project]);
        for (bytes, kind) in [
            (vec![0u8; 1000], "application/octet-stream"),
            (vec![0u8; 1000], "application/x-tar"),
            (vec![0u8; 1000], "application/vnd.oci.image.layer.v1.tar+gzip"),
            (vec![0u8; 80 << 10], "application/octet-stream"),
            (vec![b' '; 80 << 10], "application/json"),
        ] {
            let size = bytes.len();
            let answer = p.admin.send_raw("POST", &base, Some((bytes, kind))).await;
            assert!([413, 415].contains(&answer.status), "{kind} {size}: {}", answer.text);
            assert!(answer.text.contains("publish-intents"), "{kind} {size}: {}", answer.text);
        }
        for end in ["download", "blob", "content"] {
            let path = format!("{base}/{}/{end}", id(&artifact));
            p.admin.get(&path).await.expect(404);
        }
        p.admin.send_raw("PUT", &base, Some((vec![0u8; 10], "application/octet-stream"))).await.expect(405);
    }
}
