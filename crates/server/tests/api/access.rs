//! Opening an app through the gateway: codes, sessions, tokens, and everything that ends them.

use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;
use axum::http::HeaderMap;
use axum::routing::get;
use gpuaas_api::Route;
use gpuaas_testkit::{
    Answer, Caller, Database, Place, Ready, SimulatedNode, TestPlatform, both_databases, manifest,
};
use serde_json::{Value, json};

/// An app that says what it was told, and one page that never ends.
async fn echo() -> SocketAddr {
    let shown = |headers: HeaderMap| async move {
        let pairs = headers.iter().map(|(name, value)| (name.to_string(), json!(value.to_str().unwrap())));
        axum::Json(Value::Object(pairs.collect()))
    };
    let endless = || async {
        let ticks = futures_util::stream::unfold((), |()| async {
            tokio::time::sleep(Duration::from_millis(20)).await;
            Some((Ok::<_, std::io::Error>("tick\n"), ()))
        });
        axum::body::Body::from_stream(ticks)
    };
    let app = Router::new().route("/endless", get(endless)).fallback(shown);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    #[expect(clippy::disallowed_methods, reason = "an app of a test ends with the test")]
    tokio::spawn(async move { axum::serve(listener, app).await });
    at
}

/// An app with a page, running on a node, and the project around it.
struct Opened {
    _node: SimulatedNode,
    ready: Ready,
    id: String,
    /// The endpoint's host, as browsers say it.
    host: String,
}

fn with_page(slug: &str, expose: &str) -> Value {
    let mut manifest = manifest(slug, "2.0.0");
    manifest["runtime_profile"]["ports"][0]["expose"] = json!(expose);
    if expose == "embedded_ui_gateway" {
        manifest["ui"] = json!({"extension_kind": "embedded", "path": "/lab"});
    }
    manifest
}

async fn running(p: &TestPlatform, name: &str, expose: &str, access: Option<&str>) -> Opened {
    let node = p.node(name).await;
    let at = echo().await;
    for component in ["main", "app", name] {
        node.serve(component, 8080, at);
    }
    let ready = p.ready(name).await;
    p.publish(&with_page(name, expose), &ready.home.project).await;
    let mut wish = ready.wish();
    if let Some(mode) = access {
        wish["access"] = json!({ "web": mode });
    }
    let launched = p.admin.call(Route::InstanceCreate, &[&ready.home.project], Some(&wish)).await.expect(202);
    let id = launched.id();
    ready.reaches(p, &id, "running").await;
    let detail = ready.instance(&p.admin, &id).await;
    let url = detail["access"]["endpoints"][0]["url"].as_str().unwrap_or_default();
    let host = url.trim_start_matches("http://").trim_end_matches('/').to_owned();
    Opened { _node: node, ready, id, host }
}

impl Opened {
    fn project(&self) -> &str {
        &self.ready.home.project
    }

    async fn open(&self, caller: &Caller) -> Answer {
        caller
            .call(Route::EndpointOpen, &[self.project(), &self.id, "web"], Some(&json!({"next": "/lab?x=1"})))
            .await
    }

    /// A browser that has no session with the app yet.
    fn browser(&self, p: &TestPlatform) -> Caller {
        p.anonymous()
            .with_header("host", &self.host)
            .with_header("sec-fetch-site", "same-origin")
            .with_header("sec-fetch-mode", "cors")
            .with_header("sec-fetch-dest", "empty")
    }

    /// A browser that has entered.
    async fn entered(&self, p: &TestPlatform, caller: &Caller) -> Caller {
        let url = self.open(caller).await.expect(200).body["url"].as_str().unwrap().to_owned();
        let answer = enter(&self.browser(p), &url).await.expect(303);
        let cookie = answer.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
        self.browser(p).with_header("cookie", &cookie)
    }
}

/// Follows a one-use address the way a browser's tab does.
async fn enter(browser: &Caller, url: &str) -> Answer {
    let path = &url[url.find("/.gpuaas/").unwrap()..];
    browser
        .clone()
        .with_header("sec-fetch-site", "cross-site")
        .with_header("sec-fetch-mode", "navigate")
        .with_header("sec-fetch-dest", "document")
        .get(path)
        .await
}

/// The same person in a browser at the platform's own pages.
async fn portal(p: &TestPlatform, name: &str) -> Caller {
    let body = json!({"email": format!("{name}@example.org"), "password": "correct horse battery"});
    let answer = p.anonymous().call(Route::Login, &[], Some(&body)).await.expect(200);
    let cookie = answer.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
    p.anonymous().with_header("cookie", &cookie).with_header("origin", p.anonymous().url())
}

async fn refresh(p: &TestPlatform) {
    p.running.gateway.as_ref().unwrap().refresh().await;
}

both_databases! {
    /// J-03, J-05, J-06, J-07, G01, G02, G12: a code is good once and at its own endpoint, and becomes a session that the app
    /// never sees.
    async fn a_person_opens_an_app_by_a_code_that_is_good_once(p: TestPlatform) {
        let app = running(&p, "page", "embedded_ui_gateway", None).await;
        let detail = app.ready.instance(&p.admin, &app.id).await;
        let endpoint = &detail["access"]["endpoints"][0];
        assert_eq!((&endpoint["mode"], &endpoint["path"], &endpoint["health"]), (&json!("embedded_ui_gateway"), &json!("/lab"), &json!("ready")));
        assert!(app.host.contains(".apps.localhost:"), "{}", app.host);

        let opened = app.open(&p.admin).await.expect(200);
        let url = opened.body["url"].as_str().unwrap().to_owned();
        assert!(url.starts_with(&format!("http://{}/.gpuaas/enter?code=gpuc_", app.host)), "{url}");
        let first = enter(&app.browser(&p), &url).await.expect(303);
        assert_eq!(first.header("location"), Some("/lab?x=1"));
        let cookie = first.header("set-cookie").unwrap().to_owned();
        assert!(cookie.starts_with("__Host-gpuaas_app_") && cookie.contains("; Secure; HttpOnly; SameSite=None; Partitioned"), "{cookie}");
        let again = enter(&app.browser(&p), &url).await.expect(401);
        assert!(again.text.contains("used before"), "{}", again.text);

        let browser = app.browser(&p).with_header("cookie", cookie.split(';').next().unwrap());
        let seen = browser.get("/whoami").await.expect(200).body;
        assert_eq!(seen["host"], json!(app.host), "the app sees its own name");
        assert!(seen["cookie"].is_null() && seen["authorization"].is_null(), "{seen}");
        let identity = seen["x-gpuaas-identity"].as_str().unwrap();
        let keys = p.anonymous().call(Route::IdentityKeys, &[], None).await.expect(200).body;
        assert!(is_signed(identity, &keys), "anybody can check who the app was told");
        let audit = crate::count(&p, "SELECT COUNT(*) FROM audit WHERE action IN ('apps.endpoint.opened', 'apps.endpoint.entered')").await;
        assert_eq!(audit, 2);

        let unknown = p.anonymous().with_header("host", &app.host.replacen('.', "a.", 1));
        unknown.get("/").await.expect(404);
        let keyed = p.admin.clone().with_header("idempotency-key", "open-1");
        let first = app.open(&keyed).await.expect(200);
        let replayed = app.open(&keyed).await.expect(200);
        assert!(first.body["url"].is_string() && replayed.body["url"].is_null() && replayed.body["secret_redacted"] == true);
    }
}

fn is_signed(token: &str, keys: &Value) -> bool {
    use base64::Engine as _;
    let decode = |text: &str| base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(text).unwrap();
    let (signed, signature) = token.rsplit_once('.').unwrap();
    keys["keys"].as_array().unwrap().iter().any(|key| {
        let public = decode(key["x"].as_str().unwrap());
        ring::signature::UnparsedPublicKey::new(&ring::signature::ED25519, public)
            .verify(signed.as_bytes(), &decode(signature))
            .is_ok()
    })
}

/// A stream that is open, to see it end.
async fn endless(browser: &Caller) -> reqwest::Response {
    let mut request = browser.http().get(format!("{}/endless", browser.url()));
    for name in ["host", "sec-fetch-site", "sec-fetch-mode", "sec-fetch-dest", "cookie", "authorization"] {
        if let Some(value) = browser.header(name) {
            request = request.header(name, value);
        }
    }
    let mut response = request.send().await.unwrap();
    assert_eq!(response.status(), 200);
    assert!(response.chunk().await.unwrap().is_some());
    response
}

async fn ends(mut response: reqwest::Response) {
    let over = async { while let Ok(Some(_)) = response.chunk().await {} };
    tokio::time::timeout(Duration::from_secs(5), over).await.expect("what is open closes");
}

both_databases! {
    /// J-11, G13, A07: whatever withdraws the right to be there ends the session and what it has open.
    async fn what_ends_access_ends_the_session_and_what_is_open(p: TestPlatform) {
        let app = running(&p, "ends", "embedded_ui_gateway", None).await;
        let project = app.project().to_owned();
        for (round, way) in ["logout", "suspended", "role", "project", "password"].into_iter().enumerate() {
            let name = format!("guest{round}");
            let (guest, user) = p.member(&name, "project-user", Place::Project(&project)).await;
            let guest = if way == "logout" { portal(&p, &name).await } else { guest };
            let browser = app.entered(&p, &guest).await;
            browser.get("/").await.expect(200);
            let open = endless(&browser).await;
            match way {
                "logout" => { guest.call(Route::Logout, &[], None).await.expect(204); }
                "suspended" => { p.admin.call(Route::UserSuspend, &[&user], None).await.expect(200); }
                "password" => { p.admin.call(Route::UserResetPassword, &[&user], None).await.expect(200); }
                "project" => { p.admin.call(Route::ProjectSuspend, &[&project], None).await.expect(200); }
                _ => {
                    let held = p.admin.call(Route::ProjectBindingList, &[&project], None).await.expect(200).body;
                    let held = held["items"].as_array().unwrap().iter().find(|one| one["principal"]["id"] == json!(user)).unwrap()["id"].clone();
                    p.admin.call(Route::ProjectBindingDelete, &[&project, held.as_str().unwrap()], None).await.expect(204);
                }
            }
            refresh(&p).await;
            ends(open).await;
            browser.get("/").await.expect(401);
            if way == "project" {
                p.admin.call(Route::ProjectResume, &[&project], None).await.expect(200);
                refresh(&p).await;
            }
        }
    }

    /// J-11, G13: a session ends when its time is over, also under what is open.
    async fn a_session_ends_with_its_time(p: TestPlatform) {
        let app = running(&p, "timed", "embedded_ui_gateway", None).await;
        let browser = app.entered(&p, &p.admin).await;
        let open = endless(&browser).await;
        p.clock.advance_seconds(12 * 60 * 60 + 1);
        refresh(&p).await;
        ends(open).await;
        browser.get("/").await.expect(401);
    }

    /// J-11, N09: one person has so many sessions at one endpoint; the oldest ends when another begins.
    async fn sessions_of_one_person_are_bounded(p: TestPlatform) {
        let app = running(&p, "many", "embedded_ui_gateway", None).await;
        let first = app.entered(&p, &p.admin).await;
        first.get("/").await.expect(200);
        let mut last = None;
        for _ in 0..20 {
            p.clock.advance_seconds(1);
            last = Some(app.entered(&p, &p.admin).await);
        }
        refresh(&p).await;
        first.get("/").await.expect(401);
        last.unwrap().get("/").await.expect(200);
        assert_eq!(crate::count(&p, "SELECT COUNT(*) FROM app_sessions").await, 20);
    }

    /// G13, P-05: a commit wakes everybody who follows commits, not the first who waits.
    async fn a_commit_wakes_everybody_who_follows(p: TestPlatform) {
        let mut followers = [p.plane().store.commits(), p.plane().store.commits()];
        p.admin.create_tenant("waking").await;
        for follower in &mut followers {
            let waiting = tokio::time::timeout(Duration::from_secs(5), follower.wait(Duration::from_mins(1)));
            waiting.await.expect("it has something to look at");
        }
    }

    /// A08, F03: a hostile name of an endpoint finds nothing and says nothing.
    async fn a_hostile_name_of_an_endpoint_finds_nothing(p: TestPlatform) {
        let app = running(&p, "hostile", "embedded_ui_gateway", None).await;
        for name in ["..", "%2e%2e", "web%2fopen", "WEB", "web%00", "%27%20OR%201=1", "web%20"] {
            let path = format!("/api/v1/projects/{}/app-instances/{}/endpoints/{name}/open", app.project(), app.id);
            let answer = p.admin.post(&path, &json!({})).await;
            assert!(matches!(answer.status, 400 | 404 | 405), "{name}: {} {}", answer.status, answer.text);
        }
        let mut wish = app.ready.wish();
        wish["access"] = json!({"web\u{202e}/~\u{1b}[31m": "private"});
        let refused = p.admin.call(Route::InstancePlan, &[app.project()], Some(&wish)).await.expect_error(400, "validation_failed");
        assert_eq!(refused.body["error"]["fields"][0]["path"], json!("/access/web\u{fffd}~1~0\u{fffd}[31m"));
    }

    /// J-10: each declared port says which component it is of, how it is reached and where, and whether it answers.
    async fn an_endpoint_is_reported_for_its_service(p: TestPlatform) {
        let app = running(&p, "reported", "embedded_ui_gateway", Some("platform_proxy")).await;
        let endpoint = async || app.ready.instance(&p.admin, &app.id).await["access"]["endpoints"][0].clone();
        let running = endpoint().await;
        for (member, value) in [("name", "web"), ("mode", "platform_proxy"), ("health", "ready")] {
            assert_eq!(running[member], value, "{member}");
        }
        assert!(running["component"].is_string() && running["url"] == json!(format!("http://{}/", app.host)), "{running}");
        p.admin.call(Route::InstanceStop, &[app.project(), &app.id], None).await.expect(202);
        app.ready.reaches(&p, &app.id, "stopped").await;
        assert_eq!(endpoint().await["health"], "down");
        assert_eq!(endpoint().await["url"], running["url"], "the address stays");
    }

    /// H-30, J-03, G13: a stop closes what is open, shows a page, and the session of before does not come back with a start.
    async fn a_stop_closes_everything_and_a_start_wants_a_new_session(p: TestPlatform) {
        let app = running(&p, "stops", "embedded_ui_gateway", None).await;
        let browser = app.entered(&p, &p.admin).await;
        let open = endless(&browser).await;
        p.admin.call(Route::InstanceStop, &[app.project(), &app.id], None).await.expect(202);
        refresh(&p).await;
        ends(open).await;
        app.ready.reaches(&p, &app.id, "stopped").await;
        refresh(&p).await;
        browser.get("/").await.expect(401);
        let fresh = app.entered(&p, &p.admin).await;
        let page = fresh.clone().with_header("sec-fetch-mode", "navigate").with_header("sec-fetch-dest", "document").get("/").await.expect(503);
        assert!(page.text.contains("The app is stopped") && page.header("refresh").is_some(), "{}", page.text);
        p.admin.call(Route::InstanceStart, &[app.project(), &app.id], None).await.expect(202);
        app.ready.reaches(&p, &app.id, "running").await;
        refresh(&p).await;
        browser.get("/").await.expect(401);
        app.entered(&p, &p.admin).await.get("/").await.expect(200);
        p.admin.call(Route::InstanceDecommission, &[app.project(), &app.id], None).await.expect(202);
        app.ready.ended(&p, &app.id).await;
        app.open(&p.admin).await.expect_error(409, "instance_decommissioned");
        let detail = app.ready.instance(&p.admin, &app.id).await;
        assert!(detail["access"]["endpoints"][0]["url"].is_null());
    }

    /// J-03, K-09, G02: a token opens one endpoint for programs, and ends with its revocation or its maker's right.
    async fn a_token_opens_one_endpoint_and_ends_with_its_maker(p: TestPlatform) {
        let app = running(&p, "tokens", "platform_proxy", None).await;
        let (maker, user) = p.member("maker", "project-user", Place::Project(app.project())).await;
        let make = async |caller: &Caller| {
            let made = caller.call(Route::EndpointTokenCreate, &[app.project(), &app.id, "web"], Some(&json!({"name": "ci"}))).await.expect(201);
            (made.id(), made.body["token"].as_str().unwrap().to_owned())
        };
        let (id, token) = make(&maker).await;
        let program = p.anonymous().with_header("host", &app.host).with_bearer(&token);
        let seen = program.get("/v1/models").await.expect(200).body;
        assert!(seen["authorization"].is_null() && seen["x-gpuaas-identity"].is_string(), "{seen}");
        let open = endless(&program).await;
        p.anonymous().with_header("host", &app.host).with_bearer("gpue_0_0").get("/").await.expect(401);
        p.anonymous().with_header("host", &app.host).with_bearer(maker.header("cookie").unwrap_or("x")).get("/").await.expect(401);
        p.anonymous().with_bearer(&token).get("/api/v1/auth/whoami").await.expect_error(401, "invalid_token");
        let listed = maker.call(Route::EndpointTokenList, &[app.project(), &app.id, "web"], None).await.expect(200);
        assert!(listed.body["items"][0]["id"] == json!(id) && !listed.text.contains("gpue_"));
        maker.call(Route::EndpointTokenRevoke, &[app.project(), &app.id, "web", &id], None).await.expect(204);
        refresh(&p).await;
        ends(open).await;
        program.get("/").await.expect(401);

        let (_, token) = make(&maker).await;
        let program = program.with_bearer(&token);
        program.get("/").await.expect(200);
        p.admin.call(Route::UserSuspend, &[&user], None).await.expect(200);
        refresh(&p).await;
        program.get("/").await.expect(401);
    }

    /// A07, attack 21: a key that is rotated without overlap takes along what was made with it: endpoint tokens and registry
    /// credentials. One that overlaps is a change of keys, and takes nothing.
    async fn what_a_stolen_key_made_ends_with_it(p: TestPlatform) {
        let app = running(&p, "stolen", "platform_proxy", None).await;
        let (account, pair) = p.admin.create_service_account(app.project(), "ci", &["app-operator"]).await;
        let machine = p.machine(&account, &pair).await;
        let made = machine.call(Route::EndpointTokenCreate, &[app.project(), &app.id, "web"], Some(&json!({"name": "ci"}))).await;
        let program = p.anonymous().with_header("host", &app.host).with_bearer(made.expect(201).body["token"].as_str().unwrap());
        let wish = json!({"app_slug": "stolen", "expires_in_seconds": 3600});
        let intent = machine.call(Route::PublishIntentCreate, &[app.project()], Some(&wish)).await.expect(201).body;
        let wrapped = json!({"token": intent["credential"]["wrap_token"]});
        let opened = p.anonymous().call(Route::Unwrap, &[], Some(&wrapped)).await.expect(200).body;
        let opened: Value = serde_json::from_str(opened["value"].as_str().unwrap()).unwrap();
        let (user, password) = (opened["username"].as_str().unwrap(), opened["password"].as_str().unwrap());
        let basic = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, format!("{user}:{password}"));
        let registry = p.anonymous().with_header("authorization", &format!("Basic {basic}"));
        let scope = format!("/api/v1/registry/token?service=registry.example.org&scope=repository:{}:pull,push", intent["repository"].as_str().unwrap());
        let rotate = async |overlap: u32| {
            let body = json!({"overlap_seconds": overlap, "public_key": gpuaas_testkit::KeyPair::generate().public_key()});
            p.admin.call(Route::ServiceAccountRotateKey, &[app.project(), &account], Some(&body)).await.expect(200);
            refresh(&p).await;
        };
        for overlap in [60, 0] {
            program.get("/").await.expect(200);
            registry.get(&scope).await.expect(200);
            rotate(overlap).await;
        }
        program.get("/").await.expect(401);
        registry.get(&scope).await.expect(401);
    }

    /// A02, G02: whose an endpoint is, is told to those who may open it and to nobody else.
    async fn somebody_else_s_endpoint_looks_like_none(p: TestPlatform) {
        let app = running(&p, "mine", "embedded_ui_gateway", None).await;
        let label = app.host.split('.').next().unwrap();
        let (stranger, _) = p.person("stranger").await;
        let home = p.home("elsewhere").await;
        let (neighbour, _) = p.member("neighbour", "project-admin", Place::Project(&home.project)).await;
        for other in [&stranger, &neighbour] {
            app.open(other).await.expect_error(404, "not_found");
            other.call(Route::EndpointResolve, &[label], None).await.expect_error(404, "not_found");
            other.call(Route::EndpointResolve, &["nobody"], None).await.expect_error(404, "not_found");
            other.call(Route::EndpointTokenList, &[app.project(), &app.id, "web"], None).await.expect_error(404, "not_found");
        }
        // The same instance under another project's path, and an endpoint it does not have.
        neighbour.call(Route::EndpointOpen, &[&home.project, &app.id, "web"], None).await.expect_error(404, "not_found");
        p.admin.call(Route::EndpointOpen, &[app.project(), &app.id, "nope"], None).await.expect_error(404, "not_found");
        let place = p.admin.call(Route::EndpointResolve, &[label], None).await.expect(200).body;
        assert_eq!((&place["app_instance_id"], &place["endpoint"]), (&json!(app.id), &json!("web")));
        app.open(&p.anonymous()).await.expect_error(401, "unauthenticated");
        for next in ["//evil.example", "https://evil.example", "/\\evil.example", "lab", "/a b"] {
            p.admin.call(Route::EndpointOpen, &[app.project(), &app.id, "web"], Some(&json!({"next": next}))).await.expect_error(400, "validation_failed");
        }
    }

    /// J-01, J-08, J-12: a launch picks among the ways the app offers, and private has no address at the gateway.
    async fn a_launch_picks_how_an_endpoint_is_reached(p: TestPlatform) {
        let app = running(&p, "modes", "embedded_ui_gateway", Some("private")).await;
        assert_eq!(app.host, "", "private is not at the gateway");
        app.open(&p.admin).await.expect_error(404, "not_found");
        for (access, code) in [
            (json!({"web": "public"}), "access_not_allowed"),
            (json!({"nope": "private"}), "unknown_endpoint"),
        ] {
            let mut wish = app.ready.wish();
            wish["access"] = access;
            let refused = p.admin.call(Route::InstancePlan, &[app.project()], Some(&wish)).await.expect_error(400, "validation_failed");
            assert_eq!(refused.body["error"]["fields"][0]["code"], json!(code), "{}", refused.text);
        }
    }
}

/// J-04: public needs the app's word, the operator's, a permission of its own, and leaves a trail; the keys of a public endpoint
/// outlive their maker's right, and the world comes in only where it is open.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_world_comes_in_only_where_everybody_agreed() {
    let p = TestPlatform::start_with(Database::Sqlite, "[gateway]\npublic_access = \"open\"\n").await;
    let app = running(&p, "world", "public", Some("public")).await;
    let anybody = p.anonymous().with_header("host", &app.host);
    anybody.get("/").await.expect(401);
    let (user, id) = p.member("user", "project-user", Place::Project(app.project())).await;
    let set = async |caller: &Caller, access: &str| {
        let at = [app.project(), &app.id, "web"];
        caller.call(Route::EndpointPublicSet, &at, Some(&json!({"public_access": access}))).await
    };
    set(&user, "open").await.expect_error(403, "permission_denied");
    set(&p.admin, "api_key").await.expect(200);
    refresh(&p).await;
    anybody.get("/").await.expect(401);
    let made = user
        .call(Route::EndpointTokenCreate, &[app.project(), &app.id, "web"], Some(&json!({"name": "k"})))
        .await
        .expect(201);
    let keyed = anybody.clone().with_bearer(made.body["token"].as_str().unwrap());
    p.admin.call(Route::UserSuspend, &[&id], None).await.expect(200);
    keyed.get("/").await.expect(200);
    set(&p.admin, "open").await.expect(200);
    refresh(&p).await;
    let seen = anybody
        .clone()
        .with_header("authorization", "Bearer sk-the-apps-own")
        .get("/")
        .await
        .expect(200)
        .body;
    assert_eq!(seen["authorization"], json!("Bearer sk-the-apps-own"), "an open app does its own signing in");
    assert!(seen["x-gpuaas-identity"].is_null());
    let open = endless(&anybody).await;
    // What is suspended is open to nobody, and can be closed for good meanwhile.
    p.admin.call(Route::ProjectSuspend, &[app.project()], None).await.expect(200);
    refresh(&p).await;
    ends(open).await;
    anybody.get("/").await.expect(401);
    keyed.get("/").await.expect(401);
    p.admin.call(Route::ProjectResume, &[app.project()], None).await.expect(200);
    refresh(&p).await;
    let open = endless(&anybody).await;
    p.admin.call(Route::ProjectSuspend, &[app.project()], None).await.expect(200);
    set(&p.admin, "off").await.expect(200);
    refresh(&p).await;
    ends(open).await;
    p.admin.call(Route::ProjectResume, &[app.project()], None).await.expect(200);
    refresh(&p).await;
    anybody.get("/").await.expect(401);
    keyed.get("/").await.expect(401);
    assert_eq!(
        crate::count(
            &p,
            "SELECT COUNT(*) FROM audit WHERE action = 'apps.endpoint.exposed' AND outcome = 'done'"
        )
        .await,
        3
    );
    p.stop().await;

    let closed = TestPlatform::start(Database::Sqlite).await;
    let app = running(&closed, "closed", "public", None).await;
    let at = [app.project(), app.id.as_str(), "web"];
    let refused =
        closed.admin.call(Route::EndpointPublicSet, &at, Some(&json!({"public_access": "open"}))).await;
    refused.expect_error(409, "endpoint_not_public");
    closed.stop().await;
}

both_databases! {
    /// J-03, J-05: requests, bytes and sessions of an endpoint are counted and survive in the database.
    async fn what_passes_is_counted(p: TestPlatform) {
        let app = running(&p, "counted", "embedded_ui_gateway", None).await;
        let browser = app.entered(&p, &p.admin).await;
        for _ in 0..3 {
            browser.get("/").await.expect(200);
        }
        let gateway = p.running.gateway.as_ref().unwrap();
        gpuaas_server::gateway::write_traffic(gateway, p.plane()).await;
        browser.send_raw("POST", "/", Some((vec![7; 1000], "application/octet-stream"))).await.expect(200);
        gpuaas_server::gateway::write_traffic(gateway, p.plane()).await;
        let label = gpuaas_domain::access::Label::parse(app.host.split('.').next().unwrap()).unwrap();
        let since = gpuaas_domain::Timestamp::from_unix_seconds(0).unwrap();
        let passed = p.store().read().await.unwrap().traffic_since(&label, since).await.unwrap();
        assert_eq!((passed.requests, passed.bytes_in, passed.sessions), (4, 1000, 1), "coming in is no request to the app");
        assert!(passed.bytes_out > 100);
    }
}
