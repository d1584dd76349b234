//! The registry's door, walked by everybody at every repository with every method, and the tokens that open it.
//!
//! The forger of these tests holds the platform's own key for registry tokens, so that each forged token is wrong in one
//! thing only.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use gpuaas_api::Route;
use gpuaas_custody::SecretClass;
use gpuaas_oci::Image;
use gpuaas_testkit::{Answer, Author, Caller, Home, Place, TestPlatform, both_databases, small_image};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair};
use serde_json::{Value, json};

const HOST: &str = "registry.example.org";
const ROOT: &str = "gpuaas/apps";
const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";

/// How much somebody may do in a repository. Each includes what stands before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Hidden,
    Read,
    Push,
    Manage,
}
use Level::{Hidden, Manage, Push, Read};

/// Asks the token server, as registry clients do.
pub(crate) async fn ask_token(p: &TestPlatform, password: &str, scope: &str) -> Answer {
    let basic = STANDARD.encode(format!("anybody:{password}"));
    let caller = p.anonymous().with_header("authorization", &format!("Basic {basic}"));
    let scope = scope.replace(' ', "%20");
    caller.get(&format!("/api/v1/registry/token?service={HOST}&scope={scope}")).await
}

pub(crate) async fn token(p: &TestPlatform, password: &str, scope: &str) -> String {
    let answer = ask_token(p, password, scope).await.expect(200);
    answer.body["token"].as_str().expect("a token").to_owned()
}

pub(crate) fn password(caller: &Caller) -> String {
    caller.header("authorization").and_then(|text| text.strip_prefix("Bearer ")).expect("a bearer").to_owned()
}

/// One request to the registry.
pub(crate) async fn v2(
    p: &TestPlatform,
    token: Option<&str>,
    method: &str,
    path: &str,
    body: &[u8],
) -> Answer {
    let caller = token.map_or(p.anonymous(), |token| p.anonymous().with_bearer(token));
    let kind = if path.contains("/manifests/") { MANIFEST } else { "application/octet-stream" };
    caller.send_raw(method, &format!("/v2/{path}"), Some((body.to_vec(), kind))).await
}

/// What an answer tells, without what is another at each answer.
fn telling(answer: &Answer) -> (u16, BTreeMap<String, String>, String) {
    let headers = answer
        .headers
        .iter()
        .filter(|(name, _)| !["date", "x-correlation-id", "x-request-id"].contains(&name.as_str()))
        .map(|(name, value)| (name.to_string(), value.to_str().unwrap_or_default().to_owned()))
        .collect();
    (answer.status, headers, answer.text.clone())
}

/// Two homes, repositories of every visibility with the same two images in each, and one of everybody.
struct World {
    p: TestPlatform,
    acme: Home,
    side: String,
    image: Image,
    extra: Image,
    author: Author,
    artifact: String,
}

const OWN: &str = "gpuaas/apps/acme-lab/own";
const SHARED: &str = "gpuaas/apps/acme-lab/shared";
const OPEN: &str = "gpuaas/apps/platform/open";
const SIDE: &str = "gpuaas/apps/acme-side/side";
const FOREIGN: &str = "gpuaas/apps/rival-lab/foreign";
const MISSING: &str = "gpuaas/apps/acme-lab/missing";
const OFF: &str = "gpuaas/apps/acme-lab/off";
const REPOSITORIES: [&str; 7] = [OWN, SHARED, OPEN, SIDE, FOREIGN, MISSING, OFF];

impl World {
    async fn new(p: TestPlatform) -> Self {
        let acme = p.home("acme").await;
        let side = p.admin.create_project(&acme.tenant, "acme-side").await;
        let rival = p.home("rival").await;
        let (image, extra) = (small_image("one"), small_image("two"));
        let author = Author::new(&p.admin, &acme.project, "acme").await;
        let mut artifact = String::new();
        for (app, visibility) in
            [("own", "project"), ("shared", "tenant"), ("open", "platform"), ("off", "project")]
        {
            let push = author.push(app, visibility, &image).await;
            push.registry.push(&push.repository, &image, Some("label")).await.expect("a tag");
            push.registry.push(&push.repository, &extra, None).await.expect("another image");
            let made = author.register(&push, image.digest()).await;
            if app == "own" {
                made["id"].as_str().expect("an id").clone_into(&mut artifact);
            }
        }
        for (project, app) in [(&side, "side"), (&rival.project, "foreign")] {
            let other = Author::new(&p.admin, project, "other").await;
            let push = other.push(app, "project", &image).await;
            push.registry.push(&push.repository, &image, Some("label")).await.expect("a tag");
            push.registry.push(&push.repository, &extra, None).await.expect("another image");
        }
        // From here on one repository is off the allowlist, with all its bytes in place.
        let allowed = [OWN, SHARED, "gpuaas/apps/platform", SIDE, "gpuaas/apps/rival-lab", MISSING].join(" ");
        let p = p.restarted(&format!("host = {HOST:?}\nallowed = {allowed:?}")).await;
        let author = Author { caller: p.admin.clone(), ..author };
        Self { p, acme, side, image, extra, author, artifact }
    }

    /// Every method at one repository, with what it must answer at this level.
    async fn walk(&self, who: &str, token: Option<&str>, repository: &str, level: Level) -> Vec<Answer> {
        let (p, image, extra) = (&self.p, &self.image, &self.extra);
        let loose = format!("loose bytes of {who} in {repository}");
        let digest = gpuaas_oci::Digest::of(loose.as_bytes());
        let anonymous = token.is_none();
        let mut answers = Vec::new();
        let mut seen = |method: &str, path: &str, answer: Answer, least: Level, good: u16| {
            let expected = match level {
                _ if anonymous => 401,
                Hidden => 404,
                level if level >= least => good,
                _ => 403,
            };
            assert_eq!(answer.status, expected, "{who}, {level:?}: {method} {path}: {}", answer.text);
            answers.push(answer);
        };
        let reads = [
            ("GET", format!("{repository}/manifests/{}", image.digest()), 200),
            ("HEAD", format!("{repository}/manifests/{}", image.digest()), 200),
            ("GET", format!("{repository}/manifests/label"), 200),
            ("GET", format!("{repository}/blobs/{}", image.config.digest), 200),
            ("HEAD", format!("{repository}/blobs/{}", image.config.digest), 200),
            ("GET", format!("{repository}/tags/list"), 200),
            ("GET", format!("{repository}/referrers/{}", image.digest()), 200),
        ];
        for (method, path, good) in reads {
            seen(method, &path, v2(p, token, method, &path, b"").await, Read, good);
        }
        let start = format!("{repository}/blobs/uploads/");
        let answer = v2(p, token, "POST", &start, b"").await;
        let made_up = format!("/v2/{repository}/blobs/uploads/00000000000000000000000000000000");
        let location = answer.header("location").unwrap_or(&made_up).trim_start_matches("/v2/").to_owned();
        seen("POST", &start, answer, Push, 202);
        seen("PATCH", &location, v2(p, token, "PATCH", &location, loose.as_bytes()).await, Push, 202);
        let finish = format!("{location}?digest={digest}");
        seen("PUT", &finish, v2(p, token, "PUT", &finish, b"").await, Push, 201);
        let put = format!("{repository}/manifests/{}", extra.digest());
        seen("PUT", &put, v2(p, token, "PUT", &put, &extra.manifest.bytes).await, Push, 201);
        seen("DELETE", &put, v2(p, token, "DELETE", &put, b"").await, Manage, 202);
        if level == Manage {
            seen("PUT", &put, v2(p, token, "PUT", &put, &extra.manifest.bytes).await, Push, 201);
        }
        let blob = format!("{repository}/blobs/{digest}");
        seen("DELETE", &blob, v2(p, token, "DELETE", &blob, b"").await, Manage, 202);
        // A mount from where one may not look is an ordinary upload; from where one may, it spares the bytes.
        let hidden = format!("{start}?mount={}&from={FOREIGN}", image.config.digest);
        if !who.contains("rival") && !who.contains("platform") {
            seen("POST", &hidden, v2(p, token, "POST", &hidden, b"").await, Push, 202);
        }
        answers
    }
}

fn scope(repository: &str) -> String {
    format!("repository:{repository}:pull,push,delete")
}

/// The key of registry tokens, opened the way only the platform itself can.
async fn registry_signer(p: &TestPlatform) -> (EcdsaKeyPair, String) {
    let mut session = p.store().read().await.expect("the database reads");
    let keys = session.list_registry_keys().await.expect("the keys are listed");
    let key = keys.iter().find(|key| key.retired_at.is_none()).expect("one key signs");
    let secret = session.find_secret(key.secret_id).await.expect("a look").expect("the secret is there");
    drop(session);
    let der = p.plane().open_secret(SecretClass::Operator, &secret).await.expect("the secret opens");
    let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, der.expose(), &SystemRandom::new());
    (pair.expect("a key"), key.id.to_string())
}

fn encode(value: &Value) -> String {
    URL_SAFE_NO_PAD.encode(value.to_string())
}

fn sign(pair: &EcdsaKeyPair, header: &Value, claims: &str) -> String {
    let message = format!("{}.{}", encode(header), URL_SAFE_NO_PAD.encode(claims));
    let signature = pair.sign(&SystemRandom::new(), message.as_bytes()).expect("randomness");
    format!("{message}.{}", URL_SAFE_NO_PAD.encode(signature))
}

fn with(value: &Value, name: &str, new: Value) -> Value {
    let mut value = value.clone();
    value[name] = new;
    value
}

fn without(value: &Value, name: &str) -> Value {
    let mut value = value.clone();
    value.as_object_mut().expect("an object").remove(name);
    value
}

both_databases! {
    /// R05, F-05, F-11, F-28, T-11: the table of everybody, every repository and every method is as it is written here, and
    /// what is hidden cannot be told from what is not there.
    async fn everybody_opens_exactly_what_is_theirs(p: TestPlatform) {
        let world = World::new(p).await;
        let (p, acme) = (&world.p, &world.acme);
        let member = async |name: &str, role: &str, at: Place<'_>| password(&p.member(name, role, at).await.0);
        let machine = async |project: &str, name: &str| {
            let (account, pair) = p.admin.create_service_account(project, name, &["app-operator"]).await;
            password(&p.machine(&account, &pair).await)
        };
        let rivals = p.admin.call(Route::TenantList, &[], None).await.expect(200).body["items"].clone();
        let rivals = rivals.as_array().unwrap().iter().find(|tenant| tenant["slug"] == "rival").unwrap()["id"].clone();
        let rival_tenant = rivals.as_str().unwrap();
        let projects = p.admin.call(Route::ProjectList, &[rival_tenant], None).await.expect(200).body;
        let rival_project = projects["items"][0]["id"].as_str().unwrap().to_owned();
        let nobody = password(&p.person("nobody").await.0);
        let intent = json!({"app_slug": "own"});
        let intent = p.admin.call(Route::PublishIntentCreate, &[&acme.project], Some(&intent)).await.expect(201).body;
        let (_, publish) = world.author.unwrap(&intent).await;
        // own, shared, open, side, foreign
        let table: Vec<(&str, String, [Level; 5])> = vec![
            ("platform admin", password(&p.admin), [Manage, Manage, Manage, Manage, Manage]),
            ("tenant admin", member("tia", "tenant-admin", Place::Tenant(&acme.tenant)).await, [Manage, Manage, Manage, Manage, Hidden]),
            ("project admin", member("pat", "project-admin", Place::Project(&acme.project)).await, [Manage, Manage, Manage, Hidden, Hidden]),
            ("app operator", member("ola", "app-operator", Place::Project(&acme.project)).await, [Push, Push, Push, Hidden, Hidden]),
            ("project user", member("uma", "project-user", Place::Project(&acme.project)).await, [Read, Read, Read, Hidden, Hidden]),
            ("neighbour", member("ned", "project-admin", Place::Project(&world.side)).await, [Hidden, Read, Read, Manage, Hidden]),
            ("rival tenant admin", member("ria", "tenant-admin", Place::Tenant(rival_tenant)).await, [Hidden, Hidden, Read, Hidden, Manage]),
            ("machine", machine(&acme.project, "ci").await, [Push, Push, Push, Hidden, Hidden]),
            ("neighbour's machine", machine(&world.side, "ci").await, [Hidden, Read, Read, Push, Hidden]),
            ("rival machine", machine(&rival_project, "ci").await, [Hidden, Hidden, Read, Hidden, Push]),
            ("publish intent", publish, [Push, Hidden, Hidden, Hidden, Hidden]),
            ("somebody without any role", nobody, [Hidden; 5]),
        ];
        for (who, password, levels) in &table {
            let mut hidden: BTreeMap<&str, Vec<Answer>> = BTreeMap::new();
            for (at, repository) in REPOSITORIES.iter().enumerate() {
                let level = levels.get(at).copied().unwrap_or(Hidden);
                let token = token(p, password, &scope(repository)).await;
                let answers = world.walk(who, Some(&token), repository, level).await;
                if level == Hidden {
                    hidden.insert(repository, answers);
                }
                // The same token at every other repository: nothing but what says "this is for something else".
                for other in REPOSITORIES.iter().filter(|other| *other != repository) {
                    let path = format!("{other}/manifests/{}", world.image.digest());
                    let answer = v2(p, Some(&token), "GET", &path, b"").await;
                    assert!([401, 404].contains(&answer.status), "{who}: {repository} opens {other}");
                }
            }
            let missing: Vec<_> = hidden[MISSING].iter().map(telling).collect();
            for (repository, answers) in &hidden {
                let told: Vec<_> = answers.iter().map(telling).collect();
                for (one, other) in told.iter().zip(&missing) {
                    let bare = |text: &str, name: &str| text.replace(name, "NAME");
                    assert_eq!((one.0, bare(&one.2, repository)), (other.0, bare(&other.2, MISSING)), "{who}: {repository}");
                    assert_eq!(one.1, other.1, "{who}: {repository}");
                }
            }
        }
        for repository in REPOSITORIES {
            world.walk("anonymous", None, repository, Hidden).await;
            assert_eq!(ask_token(p, "gpat_made-up", &scope(repository)).await.status, 401);
        }
        // A mount from one's own repository spares the bytes; it needs the source in the token too.
        let pat = &table[2].1;
        let both = format!("repository:{SHARED}:pull,push repository:{OWN}:pull");
        let (one, both) = (token(p, pat, &scope(SHARED)).await, token(p, pat, &both).await);
        let push = world.author.intend("own", "project").await;
        let fresh = small_image("only in own");
        push.registry.push(&push.repository, &fresh, None).await.expect("a push");
        let blob = &fresh.layers[0].digest;
        let path = format!("{SHARED}/blobs/uploads/?mount={blob}&from={OWN}");
        assert_eq!(v2(p, Some(&one), "POST", &path, b"").await.status, 202, "a token for one repository");
        assert_eq!(v2(p, Some(&both), "POST", &path, b"").await.status, 201, "a token for both");
        // Writing in two repositories never goes into one token.
        let greedy = token(p, pat, &format!("repository:{OWN}:push,pull repository:{SHARED}:push,pull,delete")).await;
        assert_eq!(v2(p, Some(&greedy), "POST", &format!("{OWN}/blobs/uploads/"), b"").await.status, 202);
        assert_eq!(v2(p, Some(&greedy), "POST", &format!("{SHARED}/blobs/uploads/"), b"").await.status, 401);
        // What an artifact names stays, even for who may delete.
        let path = format!("{OWN}/manifests/{}", world.image.digest());
        let delete = token(p, pat, &scope(OWN)).await;
        assert_eq!(v2(p, Some(&delete), "DELETE", &path, b"").await.status, 403);
        assert_eq!(v2(p, Some(&delete), "GET", &path, b"").await.status, 200);
        // There is no catalogue for anybody.
        let path = "_catalog";
        assert_eq!(v2(p, Some(&delete), "GET", path, b"").await.status, 404);
        world.p.stop().await;
    }

    /// F-13, F-16, R07: a pull intent and a node's token open one image, and of the repository nothing else.
    async fn one_image_is_all_that_a_pull_intent_opens(p: TestPlatform) {
        let world = World::new(p).await;
        let (p, acme, image, extra) = (&world.p, &world.acme, &world.image, &world.extra);
        let wish = json!({ "artifact_id": world.artifact });
        let intent = p.admin.call(Route::PullIntentCreate, &[&acme.project], Some(&wish)).await.expect(201).body;
        let (_, credential) = world.author.unwrap(&intent).await;
        let pull = token(p, &credential, &scope(OWN)).await;
        let open = [
            format!("{OWN}/manifests/{}", image.digest()),
            format!("{OWN}/blobs/{}", image.config.digest),
            format!("{OWN}/blobs/{}", image.layers[0].digest),
            format!("{OWN}/referrers/{}", image.digest()),
            format!("{OWN}/manifests/sha256-{}.sig", image.digest().as_str().trim_start_matches("sha256:")),
        ];
        let closed = [
            format!("{OWN}/manifests/{}", extra.digest()),
            format!("{OWN}/manifests/label"),
            format!("{OWN}/blobs/{}", extra.config.digest),
            format!("{OWN}/blobs/{}", extra.layers[0].digest),
            format!("{OWN}/referrers/{}", extra.digest()),
            format!("{OWN}/tags/list"),
            format!("{SHARED}/manifests/{}", image.digest()),
            format!("{OFF}/manifests/{}", image.digest()),
        ];
        for path in &open {
            assert_eq!(v2(p, Some(&pull), "GET", path, b"").await.status, 200, "{path}");
        }
        for path in &closed {
            let answer = v2(p, Some(&pull), "GET", path, b"").await;
            assert_eq!(answer.status, 404, "{path}: {}", answer.text);
        }
        for (method, path) in [
            ("POST", format!("{OWN}/blobs/uploads/")),
            ("PUT", format!("{OWN}/manifests/label")),
            ("DELETE", format!("{OWN}/manifests/{}", image.digest())),
            ("DELETE", format!("{OWN}/blobs/{}", image.config.digest)),
        ] {
            assert_eq!(v2(p, Some(&pull), method, &path, &image.manifest.bytes).await.status, 403, "{method} {path}");
        }
        // Another's intent for a shared image holds as long as the image is shared.
        let (ned, _) = p.member("ned", "project-admin", Place::Project(&world.side)).await;
        let list = p.admin.get(&format!("{}?app=shared", Route::ArtifactList.path(&[&acme.project]))).await.expect(200);
        let shared = list.body["items"][0]["id"].as_str().unwrap().to_owned();
        let wish = json!({ "artifact_id": shared });
        let intent = ned.call(Route::PullIntentCreate, &[&world.side], Some(&wish)).await.expect(201).body;
        let (_, credential) = world.author.unwrap(&intent).await;
        let pull = token(p, &credential, &scope(SHARED)).await;
        let path = format!("{SHARED}/manifests/{}", image.digest());
        assert_eq!(v2(p, Some(&pull), "GET", &path, b"").await.status, 200);
        let narrow = json!({"visibility": "project"});
        p.admin.call(Route::RepositorySet, &[&acme.project, "shared"], Some(&narrow)).await.expect(200);
        assert_eq!(v2(p, Some(&pull), "GET", &path, b"").await.status, 404);
        ned.call(Route::PullIntentCreate, &[&world.side], Some(&wish)).await.expect_error(400, "validation_failed");
        world.p.stop().await;
    }

    /// F-17, F-18, R05: who loses role, token, account, project or credential is refused at the very next request, with the
    /// token in hand; and gets no new one.
    async fn what_was_taken_away_counts_from_the_next_byte(p: TestPlatform) {
        let world = World::new(p).await;
        let (p, acme) = (&world.p, &world.acme);
        let path = format!("{OWN}/manifests/{}", world.image.digest());
        let before = async |password: &str| {
            let token = token(p, password, &scope(OWN)).await;
            assert_eq!(v2(p, Some(&token), "GET", &path, b"").await.status, 200);
            token
        };
        let after = async |who: &str, token: &str, password: &str| {
            for (method, path) in [("GET", path.clone()), ("POST", format!("{OWN}/blobs/uploads/"))] {
                let answer = v2(p, Some(token), method, &path, b"").await;
                assert!([403, 404].contains(&answer.status), "{who}: {method} {}", answer.text);
            }
            let again = ask_token(p, password, &scope(OWN)).await;
            let empty = again.status == 200 && {
                let token = again.body["token"].as_str().unwrap();
                [401, 403, 404].contains(&v2(p, Some(token), "GET", &path, b"").await.status)
            };
            assert!(again.status == 401 || empty, "{who}: {}", again.text);
        };

        let (pat, id) = p.member("pat", "project-admin", Place::Project(&acme.project)).await;
        let held = before(&password(&pat)).await;
        let bindings = p.admin.call(Route::ProjectBindingList, &[&acme.project], None).await.expect(200).body;
        let binding = bindings["items"].as_array().unwrap().iter().find(|known| known["principal"]["id"] == id.as_str());
        let binding = binding.unwrap_or_else(|| panic!("{bindings}"))["id"].as_str().unwrap().to_owned();
        p.admin.call(Route::ProjectBindingDelete, &[&acme.project, &binding], None).await.expect(204);
        after("role taken away", &held, &password(&pat)).await;

        let (zoe, _) = p.member("zoe", "project-admin", Place::Project(&acme.project)).await;
        let held = before(&password(&zoe)).await;
        let tokens = zoe.call(Route::TokenList, &[], None).await.expect(200).body;
        let id = tokens["items"][0]["id"].as_str().unwrap().to_owned();
        zoe.call(Route::TokenRevoke, &[&id], None).await.expect(204);
        after("personal token revoked", &held, &password(&zoe)).await;

        let (sue, id) = p.member("sue", "project-admin", Place::Project(&acme.project)).await;
        let held = before(&password(&sue)).await;
        p.admin.call(Route::UserSuspend, &[&id], None).await.expect(200);
        after("user suspended", &held, &password(&sue)).await;

        let (ida, id) = p.member("ida", "app-operator", Place::Project(&acme.project)).await;
        let wish = json!({"app_slug": "own"});
        let mut credentials = Vec::new();
        for _ in 0..2 {
            let intent = ida.call(Route::PublishIntentCreate, &[&acme.project], Some(&wish)).await.expect(201).body;
            let (_, credential) = world.author.unwrap(&intent).await;
            let held = before(&credential).await;
            credentials.push((intent["id"].as_str().unwrap().to_owned(), held, credential));
        }
        let (first, held, credential) = &credentials[0];
        p.admin.call(Route::RegistryCredentialRevoke, &[&acme.project, first], None).await.expect(200);
        after("credential revoked", held, credential).await;
        let (_, held, credential) = &credentials[1];
        assert_eq!(v2(p, Some(held), "GET", &path, b"").await.status, 200, "the other credential is another one");
        p.admin.call(Route::UserSuspend, &[&id], None).await.expect(200);
        after("holder of the credential suspended", held, credential).await;

        let (account, pair) = p.admin.create_service_account(&acme.project, "ci", &["app-operator"]).await;
        let machine = p.machine(&account, &pair).await;
        let held = before(&password(&machine)).await;
        let wish = json!({"app_slug": "own"});
        let intent = machine.call(Route::PublishIntentCreate, &[&acme.project], Some(&wish)).await.expect(201).body;
        let (_, credential) = world.author.unwrap(&intent).await;
        let by_intent = before(&credential).await;
        p.admin.call(Route::ServiceAccountDisable, &[&acme.project, &account], None).await.expect(200);
        after("machine disabled", &held, &password(&machine)).await;
        after("machine behind the intent disabled", &by_intent, &credential).await;

        // A credential ends, and so does a token.
        let intent = p.admin.call(Route::PublishIntentCreate, &[&acme.project], Some(&json!({"app_slug": "own", "expires_in_seconds": 60}))).await.expect(201).body;
        let (_, credential) = world.author.unwrap(&intent).await;
        let held = before(&credential).await;
        let (tia, _) = p.member("tia", "tenant-admin", Place::Tenant(&acme.tenant)).await;
        let person = before(&password(&tia)).await;
        p.clock.advance_seconds(61);
        assert_eq!(v2(p, Some(&held), "GET", &path, b"").await.status, 401, "a token lives no longer than its credential");
        assert_eq!(ask_token(p, &credential, &scope(OWN)).await.status, 401);
        assert_eq!(v2(p, Some(&person), "GET", &path, b"").await.status, 200);
        p.clock.advance_seconds(300);
        assert_eq!(v2(p, Some(&person), "GET", &path, b"").await.status, 401);

        // Suspended: nobody pulls, whatever they hold.
        let shared = format!("{SHARED}/manifests/{}", world.image.digest());
        let held = before(&password(&tia)).await;
        let (ned, _) = p.member("ned", "project-admin", Place::Project(&world.side)).await;
        let neighbour = token(p, &password(&ned), &scope(SHARED)).await;
        assert_eq!(v2(p, Some(&neighbour), "GET", &shared, b"").await.status, 200);
        p.admin.call(Route::ProjectSuspend, &[&acme.project], None).await.expect(200);
        after("project suspended", &held, &password(&tia)).await;
        assert!([403, 404].contains(&v2(p, Some(&neighbour), "GET", &shared, b"").await.status));
        p.admin.call(Route::ProjectResume, &[&acme.project], None).await.expect(200);
        assert_eq!(v2(p, Some(&held), "GET", &path, b"").await.status, 200, "the same token, and the project is back");
        assert_eq!(v2(p, Some(&neighbour), "GET", &shared, b"").await.status, 200);
        p.admin.call(Route::TenantSuspend, &[&acme.tenant], None).await.expect(200);
        after("tenant suspended", &held, &password(&tia)).await;
        // The people of a suspended tenant are refused at the open repositories of others too.
        p.admin.call(Route::TenantResume, &[&acme.tenant], None).await.expect(200);
        let rival = p.home("third").await;
        let (ria, _) = p.member("ria", "tenant-admin", Place::Tenant(&rival.tenant)).await;
        let open = format!("{OPEN}/manifests/{}", world.image.digest());
        let held = token(p, &password(&ria), &scope(OPEN)).await;
        assert_eq!(v2(p, Some(&held), "GET", &open, b"").await.status, 200);
        p.admin.call(Route::TenantSuspend, &[&rival.tenant], None).await.expect(200);
        let answer = v2(p, Some(&held), "GET", &open, b"").await;
        assert!([403, 404].contains(&answer.status), "a suspended tenant's people: {}", answer.status);
        world.p.stop().await;
    }

    /// A08, R05: a token that is wrong in one thing opens nothing, whatever it claims; the same token without the fault opens.
    async fn forged_registry_tokens_open_nothing(p: TestPlatform) {
        let world = World::new(p).await;
        let p = &world.p;
        let (pair, kid) = registry_signer(p).await;
        let other = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new()).unwrap();
        let other = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, other.as_ref(), &SystemRandom::new()).unwrap();
        let (pat, _) = p.member("pat", "project-admin", Place::Project(&world.acme.project)).await;
        let genuine = token(p, &password(&pat), &scope(OWN)).await;
        let parts: Vec<&str> = genuine.split('.').collect();
        let read = |part: &str| -> Value { serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap() };
        let (header, claims) = (read(parts[0]), read(parts[1]));
        assert_eq!((&header["alg"], &header["kid"]), (&json!("ES256"), &json!(kid)));
        let path = format!("{OWN}/manifests/{}", world.image.digest());
        let opens = async |token: &str| v2(p, Some(token), "GET", &path, b"").await.status;
        let resigned = sign(&pair, &header, &claims.to_string());
        assert_eq!((opens(&genuine).await, opens(&resigned).await), (200, 200), "nothing is wrong with these");

        let now = p.now_seconds();
        let signed = |header: &Value, claims: &Value| sign(&pair, header, &claims.to_string());
        let twice = claims.to_string().replacen('{', "{\"aud\":\"registry.example.org\",", 1);
        let unsigned = format!("{}.{}.", encode(&with(&header, "alg", json!("none"))), parts[1]);
        let message = format!("{}.{}", encode(&with(&header, "alg", json!("HS256"))), parts[1]);
        let certificate = STANDARD.decode(header["x5c"][0].as_str().unwrap()).unwrap();
        let hmac = ring::hmac::sign(&ring::hmac::Key::new(ring::hmac::HMAC_SHA256, &certificate), message.as_bytes());
        let mut flipped = URL_SAFE_NO_PAD.decode(parts[2]).unwrap();
        flipped[10] ^= 1;
        let zeros = URL_SAFE_NO_PAD.encode([0u8; 64]);
        let personal = password(&pat);
        let corpus: Vec<(&str, String)> = vec![
            ("alg none", unsigned),
            ("alg None with the old signature", format!("{}.{}.{}", encode(&with(&header, "alg", json!("None"))), parts[1], parts[2])),
            ("HS256 under the certificate", format!("{message}.{}", URL_SAFE_NO_PAD.encode(hmac.as_ref()))),
            ("alg RS256", signed(&with(&header, "alg", json!("RS256")), &claims)),
            ("alg ES384", signed(&with(&header, "alg", json!("ES384")), &claims)),
            ("no alg", signed(&without(&header, "alg"), &claims)),
            ("another key", sign(&other, &header, &claims.to_string())),
            ("another key in jwk", sign(&other, &with(&header, "jwk", json!({"kty": "EC", "crv": "P-256"})), &claims.to_string())),
            ("another key in x5c", sign(&other, &with(&header, "x5c", json!(["AAAA"])), &claims.to_string())),
            ("unknown kid", signed(&with(&header, "kid", json!(p.platform_id())), &claims)),
            ("no kid", signed(&without(&header, "kid"), &claims)),
            ("kid as path", signed(&with(&header, "kid", json!("../../etc/passwd")), &claims)),
            ("wrong aud", signed(&header, &with(&claims, "aud", json!("registry.example.com")))),
            ("aud in a list", signed(&header, &with(&claims, "aud", json!([HOST])))),
            ("no aud", signed(&header, &without(&claims, "aud"))),
            ("wrong iss", signed(&header, &with(&claims, "iss", json!("00000000-0000-0000-0000-000000000000")))),
            ("no iss", signed(&header, &without(&claims, "iss"))),
            ("expired", signed(&header, &with(&claims, "exp", json!(now)))),
            ("no exp", signed(&header, &without(&claims, "exp"))),
            ("exp as text", signed(&header, &with(&claims, "exp", json!("9999999999")))),
            ("not yet", signed(&header, &with(&claims, "nbf", json!(now + 60)))),
            ("claims twice", sign(&pair, &header, &twice)),
            ("claims in a list", sign(&pair, &header, &json!([claims]).to_string())),
            ("something after the claims", sign(&pair, &header, &format!("{claims}{{}}"))),
            ("via unknown", signed(&header, &with(&claims, "via", json!("root")))),
            ("no via", signed(&header, &without(&claims, "via"))),
            ("another type of resource", signed(&header, &with(&claims, "access", json!([{"type": "registry", "name": OWN, "actions": ["pull"]}])))),
            ("another repository", signed(&header, &with(&claims, "access", json!([{"type": "repository", "name": SHARED, "actions": ["pull"]}])))),
            ("a prefix of the repository", signed(&header, &with(&claims, "access", json!([{"type": "repository", "name": ROOT, "actions": ["pull"]}])))),
            ("any repository", signed(&header, &with(&claims, "access", json!([{"type": "repository", "name": "*", "actions": ["*"]}])))),
            ("any action", signed(&header, &with(&claims, "access", json!([{"type": "repository", "name": OWN, "actions": ["*"]}])))),
            ("no access", signed(&header, &with(&claims, "access", json!([])))),
            ("a person who never was", signed(&header, &with(&claims, "via", json!({"personal_token": "00000000-0000-7000-8000-000000000000"})))),
            ("a credential that never was", signed(&header, &with(&claims, "via", json!({"credential": "00000000-0000-7000-8000-000000000000"})))),
            ("a node that never was", signed(&header, &with(&with(&claims, "via", json!({"node": {"node": "00000000-0000-7000-8000-000000000000", "instance": "00000000-0000-7000-8000-000000000000", "generation": 1}})), "image", json!(world.image.digest().as_str())))),
            ("another image", signed(&header, &with(&claims, "image", json!(world.extra.digest().as_str())))),
            ("a changed signature", format!("{}.{}.{}", parts[0], parts[1], URL_SAFE_NO_PAD.encode(&flipped))),
            ("a signature of zeros", format!("{}.{}.{zeros}", parts[0], parts[1])),
            ("no signature", format!("{}.{}", parts[0], parts[1])),
            ("padding", format!("{genuine}=")),
            ("four parts", format!("{genuine}.AAAA")),
            ("too long", format!("{}{}", genuine, "A".repeat(20_000))),
            ("a personal token", personal.clone()),
            ("empty", String::new()),
        ];
        assert!(corpus.len() >= 40);
        for (name, forged) in &corpus {
            let status = opens(forged).await;
            assert!([401, 404].contains(&status), "{name}: {status}");
        }
        // Said twice, or under another scheme, it is not said.
        let http = p.anonymous();
        let url = format!("{}/v2/{path}", http.url());
        let twice = http.http().get(&url).header("authorization", format!("Bearer {genuine}")).header("authorization", format!("Bearer {genuine}"));
        assert_eq!(twice.send().await.unwrap().status().as_u16(), 401);
        for scheme in ["Basic", "Token", ""] {
            let one = http.http().get(&url).header("authorization", format!("{scheme} {genuine}").trim().to_owned());
            assert_eq!(one.send().await.unwrap().status().as_u16(), 401, "{scheme}");
        }
        // And the registry's token opens nothing of the API.
        p.anonymous().with_bearer(&genuine).call(Route::Whoami, &[], None).await.expect_error(401, "invalid_token");
        // The platform's own look is for reading only, whatever its token says.
        let own = with(&claims, "via", json!("platform"));
        let own = signed(&header, &own);
        assert_eq!(opens(&own).await, 200);
        assert_eq!(v2(p, Some(&own), "POST", &format!("{OWN}/blobs/uploads/"), b"").await.status, 403);
        assert_eq!(v2(p, Some(&own), "DELETE", &path, b"").await.status, 403);
        // No token for another service, and none for what is no repository.
        let basic = STANDARD.encode(format!("x:{personal}"));
        let asking = p.anonymous().with_header("authorization", &format!("Basic {basic}"));
        asking.get("/api/v1/registry/token?service=other.example.org").await.expect_error(400, "unknown_service");
        for scope in ["registry:catalog:*", "repository:", "repository::pull", "repository:../x:pull", "repository:GPUAAS/apps/acme-lab/own:pull", "x"] {
            let token = token(p, &personal, scope).await;
            let claims = read(token.split('.').nth(1).unwrap());
            assert_eq!(claims["access"], json!([]), "{scope}");
        }
        world.p.stop().await;
    }
}
