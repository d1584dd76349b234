//! Writes can be repeated: the same key and request give the first answer again and change nothing more.

use futures_util::future::join_all;
use gpuaas_api::envelope::SHOWN_ONCE;
use gpuaas_api::{Access, Route};
use gpuaas_oci::sign::PrivateKey;
use gpuaas_testkit::{
    Answer, Author, Caller, Database, Home, KeyPair, Place, SimulatedNode, TestPlatform, both_databases,
    manifest, small_image,
};
use ring::rand::SystemRandom;
use serde_json::{Value, json};
use sqlx::Connection as _;

fn keyed(caller: &Caller, key: &str) -> Caller {
    caller.clone().with_header("idempotency-key", key)
}

fn is_replay(answer: &Answer) -> bool {
    answer.header("idempotency-replayed") == Some("true")
}

async fn items(caller: &Caller, path: &str) -> Vec<Value> {
    let answer = caller.get(path).await.expect(200);
    assert_eq!(answer.body["next_cursor"], Value::Null, "the lists of these tests fit on one page");
    answer.body["items"].as_array().expect("a list").clone()
}

async fn accounts(p: &TestPlatform, home: &Home) -> usize {
    items(&p.admin, &Route::ServiceAccountList.path(&[&home.project])).await.len()
}

async fn tokens_called(p: &TestPlatform, name: &str) -> usize {
    items(&p.admin, "/api/v1/auth/tokens").await.iter().filter(|token| token["name"] == name).count()
}

both_databases! {
    /// Who has lost the permission gets no old answer either.
    async fn an_old_answer_is_not_given_to_the_unpermitted(p: TestPlatform) {
        let home = p.home("acme").await;
        let (member, id) = p.person("olga").await;
        let body = json!({"role": "project-admin", "user_id": id});
        let binding = p.admin.call(Route::ProjectBindingCreate, &[&home.project], Some(&body)).await.expect(201).id();
        let rename = json!({"display_name": "Ours"});
        let caller = keyed(&member, "rename-1");
        let first = caller.call(Route::ProjectUpdate, &[&home.project], Some(&rename)).await.expect(200);
        let again = caller.call(Route::ProjectUpdate, &[&home.project], Some(&rename)).await.expect(200);
        assert_eq!((&first.text, first.header("etag")), (&again.text, again.header("etag")), "byte by byte the same");
        p.admin.call(Route::ProjectBindingDelete, &[&home.project, &binding], None).await.expect(204);
        caller.call(Route::ProjectUpdate, &[&home.project], Some(&rename)).await.expect_error(404, "not_found");
    }

    /// A09: the same key and body give the first answer again: one object, one row in the trail, one event.
    async fn a_repeated_request_gets_the_first_answer(p: TestPlatform) {
        let caller = keyed(&p.admin, "key-1");
        let body = json!({"slug": "acme", "display_name": "Acme Größe"});
        let first = caller.call(Route::TenantCreate, &[], Some(&body)).await.expect(201);
        assert!(!is_replay(&first));
        for _ in 0..3 {
            let again = caller.call(Route::TenantCreate, &[], Some(&body)).await.expect(201);
            assert!(is_replay(&again));
            assert_eq!(again.body, first.body);
            assert_eq!(again.header("content-type"), first.header("content-type"));
        }
        p.settle().await;
        let id = first.id();
        assert_eq!(items(&p.admin, "/api/v1/tenants").await.len(), 1);
        assert_eq!(items(&p.admin, &format!("/api/v1/audit?object_id={id}")).await.len(), 1);
        let events = items(&p.admin, "/api/v1/events").await;
        assert_eq!(events.iter().filter(|event| event["org_id"] == json!(id)).count(), 1);
    }

    /// A09: the same key with another body is a mistake of the caller's, said so, without an effect.
    async fn a_key_is_good_for_one_request(p: TestPlatform) {
        let caller = keyed(&p.admin, "key-1");
        let tenant = caller.create_tenant("acme").await;
        for body in [json!({"slug": "other"}), json!({"slug": "acme", "display_name": "x"}), json!({"slug": 1}), json!({})] {
            caller.call(Route::TenantCreate, &[], Some(&body)).await.expect_error(422, "idempotency_key_reused");
        }
        caller.send_raw("POST", "/api/v1/tenants", None).await.expect_error(422, "idempotency_key_reused");
        caller.send("POST", "/api/v1/tenants?x=1", Some(&json!({"slug": "acme"}))).await.expect_error(422, "idempotency_key_reused");
        assert_eq!(items(&p.admin, "/api/v1/tenants").await.len(), 1);
        assert_eq!(caller.call(Route::TenantCreate, &[], Some(&json!({"slug": "acme"}))).await.expect(201).id(), tenant);
    }

    /// A09: the same key and body at another tenant never give the first tenant's object.
    async fn a_key_does_not_carry_an_answer_to_another_place(p: TestPlatform) {
        let (home, other) = (p.home("acme").await, p.home("rival").await);
        let caller = keyed(&p.admin, "key-1");
        let body = json!({"slug": "shared"});
        caller.call(Route::ProjectCreate, &[&home.tenant], Some(&body)).await.expect(201);
        caller.call(Route::ProjectCreate, &[&other.tenant], Some(&body)).await.expect_error(422, "idempotency_key_reused");
        let rename = json!({"display_name": "Same"});
        let one = caller.call(Route::ProjectUpdate, &[&home.project], Some(&rename)).await.expect(200);
        assert_eq!(one.id(), home.project, "another route has keys of its own");
        caller.call(Route::ProjectUpdate, &[&other.project], Some(&rename)).await.expect_error(422, "idempotency_key_reused");
        assert_eq!(p.admin.call(Route::ProjectGet, &[&other.project], None).await.body["version"], 1);
    }

    /// A09: keys are a caller's own: people and machines that choose the same one do not meet.
    async fn keys_of_two_callers_do_not_meet(p: TestPlatform) {
        let home = p.home("acme").await;
        let (ann, _) = p.member("ann", "project-admin", Place::Project(&home.project)).await;
        let (bob, _) = p.member("bob", "project-admin", Place::Project(&home.project)).await;
        let (robot, pair) = p.admin.create_service_account(&home.project, "robot", &["project-admin"]).await;
        let machine = p.machine(&robot, &pair).await;
        // Names of personal tokens are not unique, so nothing but the key could hold the others back.
        let body = json!({"name": "same"});
        let mut ids = Vec::new();
        for caller in [&ann, &bob, &p.admin] {
            let answer = keyed(caller, "key-1").call(Route::TokenCreate, &[], Some(&body)).await.expect(201);
            assert!(!is_replay(&answer));
            assert!(!ids.contains(&answer.id()), "{ids:?}");
            ids.push(answer.id());
        }
        let rename = json!({"display_name": "Same"});
        for caller in [&ann, &machine] {
            let answer = keyed(caller, "key-2").call(Route::ProjectUpdate, &[&home.project], Some(&rename)).await;
            assert!(!is_replay(&answer), "{}", answer.text);
        }
        keyed(&bob, "key-1").call(Route::TokenCreate, &[], Some(&json!({"name": "x"}))).await.expect_error(422, "idempotency_key_reused");
    }

    /// A09: two tokens of one person are one caller: a request begun with one can be repeated with the other.
    async fn a_person_keeps_their_keys_across_tokens(p: TestPlatform) {
        let home = p.home("acme").await;
        let secret = p.admin.call(Route::TokenCreate, &[], Some(&json!({"name": "second"}))).await.expect(201).body["secret"].clone();
        let second = p.anonymous().with_bearer(secret.as_str().expect("a token"));
        let first = keyed(&p.admin, "key-1").call(Route::ProjectCreate, &[&home.tenant], Some(&json!({"slug": "one"}))).await.expect(201);
        let again = keyed(&second, "key-1").call(Route::ProjectCreate, &[&home.tenant], Some(&json!({"slug": "one"}))).await.expect(201);
        assert!(is_replay(&again));
        assert_eq!(again.id(), first.id());
    }

    /// A09: fifty identical creates at once make one object; everybody gets it or is told to ask again.
    async fn fifty_identical_creates_make_one_object(p: TestPlatform) {
        let home = p.home("acme").await;
        let caller = keyed(&p.admin, "key-1");
        let (project, key) = (home.project.as_str(), KeyPair::generate().public_key());
        // A personal token has no name to collide with: there only the key can hold the others back.
        for (route, parameters, body) in [
            (Route::TokenCreate, vec![], json!({"name": "same"})),
            (Route::ServiceAccountCreate, vec![project], json!({"name": "robot", "public_key": key})),
        ] {
            let answers = join_all((0..50).map(|_| caller.call(route, &parameters, Some(&body)))).await;
            let again = caller.call(route, &parameters, Some(&body)).await.expect(201);
            assert!(is_replay(&again));
            assert_eq!(answers.iter().filter(|answer| answer.status == 201 && !is_replay(answer)).count(), 1);
            for answer in answers {
                if answer.status == 201 {
                    assert_eq!(answer.id(), again.id());
                } else {
                    answer.expect_error(409, "idempotency_in_progress");
                }
            }
            p.settle().await;
            assert_eq!(items(&p.admin, &format!("/api/v1/audit?object_id={}", again.id())).await.len(), 1, "{route:?}");
        }
        assert_eq!(accounts(&p, &home).await, 1);
        assert_eq!(tokens_called(&p, "same").await, 1);
        let events = items(&p.admin, &Route::ProjectEventList.path(&[&home.project])).await;
        assert_eq!(events.iter().filter(|event| event["data"]["name"] == "robot").count(), 1);
    }

    /// A09: without a key the uniqueness of a slug holds by itself: fifty at once, one winner.
    async fn fifty_creates_of_one_slug_have_one_winner(p: TestPlatform) {
        let body = json!({"slug": "acme"});
        let answers = join_all((0..50).map(|_| p.admin.call(Route::TenantCreate, &[], Some(&body)))).await;
        assert_eq!(answers.iter().filter(|answer| answer.status == 201).count(), 1);
        for answer in answers.into_iter().filter(|answer| answer.status != 201) {
            answer.expect_error(409, "slug_taken");
        }
        assert_eq!(items(&p.admin, "/api/v1/tenants").await.len(), 1);
    }

    /// A09, L-02: what is shown once is not shown again, and is not kept for the purpose either.
    async fn a_repeated_request_does_not_show_secrets(p: TestPlatform) {
        let home = p.home("acme").await;
        let (_, user) = p.person("ann").await;
        let (account, _) = p.admin.create_service_account(&home.project, "robot", &[]).await;
        let mut secrets = Vec::new();
        for (name, route, parameters, body) in [
            ("private_key_pem", Route::ServiceAccountCreate, vec![home.project.as_str()], json!({"name": "inline"})),
            ("wrapped_private_key", Route::ServiceAccountCreate, vec![&home.project], json!({"name": "wrapped", "key_delivery": "wrapped"})),
            ("private_key_pem", Route::ServiceAccountRotateKey, vec![&home.project, &account], json!({})),
            ("secret", Route::TokenCreate, vec![], json!({"name": "shown once"})),
            ("initial_password", Route::UserCreate, vec![], json!({"email": "new@example.org"})),
            ("initial_password", Route::UserResetPassword, vec![&user], json!({})),
        ] {
            let caller = keyed(&p.admin, &format!("key-{}", secrets.len()));
            let first = caller.call(route, &parameters, Some(&body)).await;
            assert!(matches!(first.status, 200 | 201), "{}", first.text);
            assert_eq!(first.body["secret_redacted"], false, "{route:?}");
            let secret = if name == "wrapped_private_key" { &first.body[name]["token"] } else { &first.body[name] };
            secrets.push(secret.as_str().unwrap_or_else(|| panic!("{route:?} shows {name}")).to_owned());
            let again = caller.call(route, &parameters, Some(&body)).await.expect(first.status);
            assert!(is_replay(&again));
            assert!(again.body.as_object().expect("an object").contains_key(name), "{}", again.text);
            assert_eq!((&again.body[name], &again.body["secret_redacted"]), (&Value::Null, &json!(true)), "{route:?}");
            assert_eq!(besides_secrets(&again.body), besides_secrets(&first.body), "{route:?}");
        }
        let kept = stored_answers(&p).await;
        assert_eq!(kept.len(), secrets.len());
        for secret in &secrets {
            // A PEM stands in JSON with its line ends escaped: look for its one long line.
            let telling = secret.lines().max_by_key(|line| line.len()).expect("a line");
            assert!(kept.iter().all(|reply| !reply.contains(telling)));
        }
    }

    /// A09: a request that failed leaves no trace of its key: mended or allowed, the same key goes through.
    async fn a_failed_request_can_be_tried_again(p: TestPlatform) {
        let home = p.home("acme").await;
        let caller = keyed(&p.admin, "key-1");
        let create = json!({"name": "robot", "public_key": KeyPair::generate().public_key()});
        let set_limit = async |value: u32| {
            p.admin.call(Route::ProjectLimitSet, &[&home.project, "service_accounts"], Some(&json!({ "value": value }))).await.expect(200)
        };
        set_limit(0).await;
        caller.call(Route::ServiceAccountCreate, &[&home.project], Some(&create)).await.expect_error(409, "limit_reached");
        set_limit(1).await;
        let made = caller.call(Route::ServiceAccountCreate, &[&home.project], Some(&create)).await.expect(201);
        assert!(!is_replay(&made));

        let caller = keyed(&p.admin, "key-2");
        caller.call(Route::TenantCreate, &[], Some(&json!({"slug": "acme"}))).await.expect_error(409, "slug_taken");
        caller.call(Route::TenantCreate, &[], Some(&json!({"slug": "-"}))).await.expect_error(400, "validation_failed");
        caller.call(Route::TenantCreate, &[], Some(&json!({"slug": "free"}))).await.expect(201);

        let (ann, id) = p.person("ann").await;
        let caller = keyed(&ann, "key-3");
        let rename = json!({"display_name": "Renamed"});
        caller.call(Route::ProjectUpdate, &[&home.project], Some(&rename)).await.expect(404);
        p.admin.call(Route::ProjectBindingCreate, &[&home.project], Some(&json!({"role": "project-admin", "user_id": id}))).await.expect(201);
        caller.call(Route::ProjectUpdate, &[&home.project], Some(&rename)).await.expect(200);
    }

    /// A09: a first answer is kept for a day and then forgotten, with or without housekeeping.
    async fn a_key_is_forgotten_after_a_day(p: TestPlatform) {
        let caller = keyed(&p.admin, "key-1");
        let create = async || caller.call(Route::TokenCreate, &[], Some(&json!({"name": "same"}))).await.expect(201);
        let first = create().await;
        p.clock.advance_seconds(86_400 - 60);
        p.sweep().await;
        let again = create().await;
        assert!(is_replay(&again));
        assert_eq!(again.id(), first.id());
        p.clock.advance_seconds(61);
        let second = create().await;
        assert!(!is_replay(&second) && second.id() != first.id());
        assert!(is_replay(&create().await));
        p.clock.advance_seconds(86_401);
        p.sweep().await;
        assert_eq!(stored_answers(&p).await.len(), 0);
        assert!(!is_replay(&create().await));
        assert_eq!(tokens_called(&p, "same").await, 3);
    }

    /// A09: a key is 1 to 128 visible ASCII characters; another one is refused instead of ignored.
    async fn odd_keys_are_refused(p: TestPlatform) {
        let body = json!({"slug": "acme"});
        for key in ["", " ", "a b", "a\tb", "\u{e9}", "\u{202e}", "key\u{a0}", &"k".repeat(129), &"k".repeat(5000)] {
            keyed(&p.admin, key).call(Route::TenantCreate, &[], Some(&body)).await.expect_error(400, "invalid_idempotency_key");
        }
        assert_eq!(items(&p.admin, "/api/v1/tenants").await.len(), 0);
        for (index, key) in ["k", &"k".repeat(128), "'; DROP TABLE idempotency; --".replace(' ', "_").as_str(), "{\"a\":1}", "../../x"].iter().enumerate() {
            let body = json!({"slug": format!("acme-{index}")});
            let caller = keyed(&p.admin, key);
            let first = caller.call(Route::TenantCreate, &[], Some(&body)).await.expect(201);
            assert_eq!(caller.call(Route::TenantCreate, &[], Some(&body)).await.expect(201).body, first.body);
        }
        // Reading needs no key, so any will do.
        keyed(&p.admin, "a b").call(Route::TenantList, &[], None).await.expect(200);
    }

    /// A09: a repeated deletion is answered like the first; a second deletion finds nothing.
    async fn a_repeated_deletion_is_done_again(p: TestPlatform) {
        let home = p.home("acme").await;
        let (account, _) = p.admin.create_service_account(&home.project, "robot", &[]).await;
        let caller = keyed(&p.admin, "key-1");
        let first = caller.call(Route::ServiceAccountDelete, &[&home.project, &account], None).await.expect(204);
        let again = caller.call(Route::ServiceAccountDelete, &[&home.project, &account], None).await.expect(204);
        assert!(!is_replay(&first) && is_replay(&again));
        assert_eq!(again.text, "");
        p.admin.call(Route::ServiceAccountDelete, &[&home.project, &account], None).await.expect(404);
        p.settle().await;
        assert_eq!(items(&p.admin, "/api/v1/audit?action=service_accounts.delete").await.len(), 1);
    }

    /// A09: of a hundred writers that saw the same version one wins; the others learn that they are late.
    async fn a_hundred_racing_writers_have_one_winner(p: TestPlatform) {
        let home = p.home("acme").await;
        let caller = p.admin.clone().with_header("if-match", "\"1\"");
        let rename = async |n: usize| caller.call(Route::ProjectUpdate, &[&home.project], Some(&json!({"display_name": format!("Writer {n}")}))).await;
        let answers = join_all((0..100).map(rename)).await;
        let winners: Vec<&Answer> = answers.iter().filter(|answer| answer.status == 200).collect();
        assert_eq!(winners.len(), 1);
        let now = p.admin.call(Route::ProjectGet, &[&home.project], None).await.expect(200);
        assert_eq!((&now.body["version"], &now.body["display_name"]), (&json!(2), &winners[0].body["display_name"]));
        for answer in answers.into_iter().filter(|answer| answer.status != 200) {
            assert_eq!(answer.status, 412, "{}", answer.text);
        }
        p.settle().await;
        assert_eq!(items(&p.admin, "/api/v1/audit?action=projects.update").await.len(), 1);
    }

    /// A09: every mutation of the table honours the key: one effect, one row in the trail, the first answer again.
    async fn every_mutation_can_be_repeated(p: TestPlatform) {
        let mut walked = 0;
        let mut nodes = Vec::new();
        for route in Route::ALL.iter().copied() {
            let row = route.row();
            // What a node says is about the present: saying it twice changes nothing, with or without a key. A plan
            // and a form change nothing to begin with. What an instance says has a test of its own.
            let exempt = matches!(row.access, Access::Public | Access::Node | Access::Instance)
                || matches!(route, Route::InstancePlan | Route::AppForm);
            if !row.method.is_mutation() || exempt {
                continue;
            }
            let request = valid_request(&p, route, &mut nodes).await;
            let parameters: Vec<&str> = request.parameters.iter().map(String::as_str).collect();
            let caller = keyed(&request.caller, "walk").with_header("x-correlation-id", route.name());
            let first = caller.call(route, &parameters, request.body.as_ref()).await;
            assert!(matches!(first.status, 200 | 201 | 202 | 204) && !is_replay(&first), "{route:?} {}: {}", first.status, first.text);
            let again = caller.call(route, &parameters, request.body.as_ref()).await;
            assert_eq!(again.status, first.status, "{route:?}: {}", again.text);
            assert!(is_replay(&again), "{route:?}");
            assert_eq!(besides_secrets(&again.body), besides_secrets(&first.body), "{route:?}");
            p.settle().await;
            // What a loop does later on behalf of the request stands in the same story, under its own action.
            let action = row.audit.expect("every mutation is audited");
            let trail = items(&p.admin, &format!("/api/v1/audit?correlation_id={}&action={action}", route.name())).await;
            // Publishing climbs three rungs, each a transition of its own.
            let rows = if route == Route::AppPublish { 3 } else { 1 };
            assert_eq!(trail.len(), rows, "{route:?}: {trail:?}");
            walked += 1;
        }
        assert!(walked >= 60, "{walked} mutations");
    }
}

/// An answer without what is shown once.
fn besides_secrets(body: &Value) -> Value {
    let mut body = body.clone();
    if let Some(members) = body.as_object_mut() {
        members.retain(|name, _| !SHOWN_ONCE.contains(&name.as_str()) && name != "secret_redacted");
        members.values_mut().for_each(|member| *member = besides_secrets(member));
    }
    body
}

/// The answers that are kept for repeated requests, read past the platform.
async fn stored_answers(p: &TestPlatform) -> Vec<String> {
    let sql = "SELECT reply FROM idempotency";
    let read = "the database reads";
    match p.kind {
        Database::Sqlite => {
            let mut connection =
                sqlx::SqliteConnection::connect(&p.database.url).await.expect("the database opens");
            sqlx::query_scalar(sql).fetch_all(&mut connection).await.expect(read)
        }
        Database::Postgres => {
            let mut connection =
                sqlx::PgConnection::connect(&p.database.url).await.expect("the database opens");
            sqlx::query_scalar(sql).fetch_all(&mut connection).await.expect(read)
        }
    }
}

struct Request {
    caller: Caller,
    parameters: Vec<String>,
    body: Option<Value>,
}

/// A request that this route carries out, about objects made for it alone. A new mutation needs a line here.
async fn valid_request(p: &TestPlatform, route: Route, nodes: &mut Vec<SimulatedNode>) -> Request {
    use Route as R;
    if let Some(request) = valid_launch_request(p, route, nodes).await {
        return request;
    }
    if let Some(request) = valid_artifact_request(p, route).await {
        return request;
    }
    let slug = route.name().to_lowercase();
    let admin = &p.admin;
    let home = p.home(&slug[..slug.len().min(30)]).await;
    let Home { tenant, project } = home.clone();
    let person = async || p.person(&slug).await;
    let bare_tenant = async || admin.create_tenant(&format!("{slug}-bare")).await;
    let role = async || {
        let body = json!({"slug": format!("{slug}-role"), "permissions": []});
        admin.call(R::RoleCreate, &[], Some(&body)).await.expect(201).id()
    };
    let binding = async |route: Route, parameters: &[&str]| {
        let user = person().await.1;
        admin
            .call(route, parameters, Some(&json!({"role": "project-user", "user_id": user})))
            .await
            .expect(201)
            .id()
    };
    let account = async || admin.create_service_account(&project, "robot", &[]).await.0;
    let suspended = async |route: Route, id: &str| {
        admin.call(route, &[id], None).await.expect(200);
        id.to_owned()
    };
    let rename = Some(json!({"display_name": "Renamed"}));
    let limit = Some(json!({"value": 7}));
    let mut caller = admin.clone();
    let (parameters, body) = match route {
        R::Logout => {
            caller = person().await.0;
            (vec![], None)
        }
        R::PasswordChange => {
            caller = person().await.0;
            (
                vec![],
                Some(
                    json!({"current_password": "correct horse battery", "new_password": "another horse battery"}),
                ),
            )
        }
        R::TokenCreate => (vec![], Some(json!({"name": "walked"}))),
        R::TokenRevoke => {
            let token =
                admin.call(R::TokenCreate, &[], Some(&json!({"name": "gone"}))).await.expect(201).id();
            (vec![token], None)
        }
        R::TenantCreate => (vec![], Some(json!({"slug": "walked"}))),
        R::TenantUpdate => (vec![tenant], rename),
        R::TenantSuspend => (vec![tenant], None),
        R::TenantResume => {
            (vec![suspended(R::TenantSuspend, &tenant).await], Some(json!({"reason": "because"})))
        }
        R::TenantDelete => (vec![bare_tenant().await], None),
        R::ProjectCreate => (vec![tenant], Some(json!({"slug": "walked"}))),
        R::ProjectUpdate => (vec![project], rename),
        R::ProjectSuspend | R::ProjectDelete => (vec![project], None),
        R::ProjectResume => (vec![suspended(R::ProjectSuspend, &project).await], None),
        R::UserCreate => (vec![], Some(json!({"email": "walked@example.org"}))),
        R::UserUpdate => (vec![person().await.1], rename),
        R::UserResetPassword | R::UserSuspend | R::UserDelete => (vec![person().await.1], None),
        R::UserResume => (vec![suspended(R::UserSuspend, &person().await.1).await], None),
        R::RoleCreate => (vec![], Some(json!({"slug": "walked", "permissions": []}))),
        R::RoleUpdate => (vec![role().await], rename),
        R::RoleDelete => (vec![role().await], None),
        R::PlatformBindingCreate => {
            (vec![], Some(json!({"role": "project-user", "user_id": person().await.1})))
        }
        R::TenantBindingCreate => {
            (vec![tenant], Some(json!({"role": "project-user", "user_id": person().await.1})))
        }
        R::ProjectBindingCreate => {
            (vec![project], Some(json!({"role": "project-user", "user_id": person().await.1})))
        }
        R::PlatformBindingDelete => (vec![binding(R::PlatformBindingCreate, &[]).await], None),
        R::TenantBindingDelete => {
            (vec![tenant.clone(), binding(R::TenantBindingCreate, &[&tenant]).await], None)
        }
        R::ProjectBindingDelete => {
            (vec![project.clone(), binding(R::ProjectBindingCreate, &[&project]).await], None)
        }
        R::ServiceAccountCreate => (vec![project], Some(json!({"name": "walked"}))),
        R::ServiceAccountDisable | R::ServiceAccountRotateKey | R::ServiceAccountDelete => {
            (vec![project.clone(), account().await], None)
        }
        R::TenantLimitSet => (vec![tenant, "projects".into()], limit),
        R::ProjectLimitSet => (vec![project, "service_accounts".into()], limit),
        other => panic!("{other:?} is a mutation this walk does not know; give it a valid request here"),
    };
    Request { caller, parameters, body }
}

/// The same for artifacts, keys and credentials of the registry.
async fn valid_artifact_request(p: &TestPlatform, route: Route) -> Option<Request> {
    use Route as R;
    let slug: String = route.name().to_lowercase().chars().take(24).collect();
    let admin = &p.admin;
    let request = |parameters: Vec<String>, body: Option<Value>| {
        Some(Request { caller: admin.clone(), parameters, body })
    };
    let key = || {
        let key = PrivateKey::generate(&SystemRandom::new()).expect("a key");
        json!({"name": slug, "public_key": key.public().to_pem()})
    };
    match route {
        R::AppPreparingSet | R::AppPreparingClear => {
            let body = json!({"display_name": "Walked", "stage": "building", "percent": 5});
            if route == R::AppPreparingClear {
                admin.call(R::AppPreparingSet, &[&slug], Some(&body)).await.expect(204);
                return request(vec![slug], None);
            }
            return request(vec![slug], Some(body));
        }
        R::PlatformTrustKeyAdd => return request(vec![], Some(key())),
        R::PlatformTrustKeyRevoke => {
            let id = admin.call(R::PlatformTrustKeyAdd, &[], Some(&key())).await.expect(201).id();
            return request(vec![id], None);
        }
        R::RepositorySet
        | R::RegistryCredentialRevoke
        | R::TrustKeyAdd
        | R::TrustKeyRevoke
        | R::ArtifactRegister
        | R::PublishIntentCreate
        | R::PullIntentCreate
        | R::ArtifactVerify
        | R::ArtifactPromote
        | R::ArtifactDeprecate
        | R::ArtifactRetire
        | R::ArtifactRevoke => {}
        _ => return None,
    }
    let project = p.home(&slug).await.project;
    let author = Author::new(admin, &project, "author").await;
    let image = small_image(&slug);
    let push = author.push("walked", "project", &image).await;
    let registered = async || {
        let id = author.register(&push, image.digest()).await["id"].as_str().expect("an id").to_owned();
        admin.call(R::ArtifactVerify, &[&project, &id], None).await.expect(200);
        id
    };
    let named = json!({"app_slug": "walked"});
    match route {
        R::RepositorySet => request(vec![project, "walked".into()], Some(json!({"visibility": "tenant"}))),
        R::RegistryCredentialRevoke => {
            let id = admin.call(R::PublishIntentCreate, &[&project], Some(&named)).await.expect(201).id();
            request(vec![project, id], None)
        }
        R::TrustKeyAdd => request(vec![project], Some(key())),
        R::TrustKeyRevoke => {
            let id = admin.call(R::TrustKeyAdd, &[&project], Some(&key())).await.expect(201).id();
            request(vec![project, id], None)
        }
        R::PublishIntentCreate => request(vec![project], Some(named)),
        R::ArtifactRegister => {
            let body = json!({"repository": push.repository, "digest": image.digest().as_str()});
            request(vec![project], Some(body))
        }
        R::PullIntentCreate => {
            let id = registered().await;
            request(vec![project], Some(json!({ "artifact_id": id })))
        }
        R::ArtifactPromote => {
            let id = registered().await;
            request(vec![project, id], Some(json!({"channel": "dev"})))
        }
        _ => {
            let id = registered().await;
            if route == R::ArtifactRetire {
                admin.call(R::ArtifactDeprecate, &[&project, &id], None).await.expect(200);
            }
            request(vec![project, id], None)
        }
    }
}

/// The same for nodes, allocations, apps and instances, which need a node of their own.
async fn valid_launch_request(
    p: &TestPlatform,
    route: Route,
    nodes: &mut Vec<SimulatedNode>,
) -> Option<Request> {
    use Route as R;
    let slug: String = route.name().to_lowercase().chars().take(24).collect();
    let admin = &p.admin;
    let request = |parameters: Vec<String>, body: Option<Value>| {
        Some(Request { caller: admin.clone(), parameters, body })
    };
    let draft = async || {
        let home = p.home(&format!("{slug}-stock")).await;
        p.stock(&manifest(&slug, "1.0.0"), &home.project).await;
        admin.call(R::ManifestRegister, &[], Some(&manifest(&slug, "1.0.0"))).await.expect(201);
        vec![slug.clone(), "1.0.0".to_owned()]
    };
    match route {
        R::JoinTokenCreate => return request(vec![], Some(json!({"name": "walked"}))),
        R::TaskKeyRotate => return request(vec![], None),
        R::NodeCordon | R::NodeUncordon | R::NodeDrain | R::NodeRevoke | R::NodeForget => {
            let node = p.join(&slug).await;
            let id = node.id.clone();
            nodes.push(node);
            return request(vec![id], None);
        }
        R::SkuCreate => {
            let body =
                json!({"slug": slug, "shape": "gpu_slice", "gpu_count": 0, "vcpu": 1, "memory_mib": 64});
            return request(vec![], Some(body));
        }
        R::SkuUpdate | R::SkuPriceAdd => {
            p.sku(&slug, 0).await;
            let body = if route == R::SkuUpdate {
                json!({"retired": true})
            } else {
                json!({"amount_micros": 5, "currency": "USD", "per_units": 1})
            };
            return request(vec![slug], Some(body));
        }
        R::ManifestRegister | R::ManifestRegisterAlias => {
            return request(vec![], Some(manifest(&slug, "1.0.0")));
        }
        R::AppPublish => return request(draft().await, None),
        R::AppMove => return request(draft().await, Some(json!({"to": "staged"}))),
        R::AppDeprecate => {
            let named = draft().await;
            admin.call(R::AppPublish, &[&named[0], &named[1]], None).await.expect(200);
            return request(named, None);
        }
        R::TenantEntitlementSet | R::EntitlementSet => {
            draft().await;
            let home = p.home(&slug).await;
            let place = if route == R::EntitlementSet { home.project } else { home.tenant };
            return request(vec![place, slug], Some(json!({"enabled": true})));
        }
        R::PresetCreate | R::PresetUpdate | R::PresetDelete => {
            draft().await;
            let home = p.home(&slug).await;
            let body = json!({"app_slug": slug, "name": "walked"});
            if route == R::PresetCreate {
                return request(vec![home.project], Some(body));
            }
            let id = admin.call(R::PresetCreate, &[&home.project], Some(&body)).await.expect(201).id();
            let change = (route == R::PresetUpdate).then(|| json!({"is_default": true}));
            return request(vec![home.project, id], change);
        }
        R::AllocationRequest
        | R::AllocationGrant
        | R::AllocationDeny
        | R::AllocationRelease
        | R::VolumeCreate
        | R::VolumeDelete
        | R::InstanceCreate
        | R::InstanceCreateAlias
        | R::InstanceStop
        | R::InstanceStopAlias
        | R::InstanceStart
        | R::InstanceDecommission
        | R::InstanceForceDecommission
        | R::EndpointOpen
        | R::EndpointPublicSet
        | R::EndpointTokenCreate
        | R::EndpointTokenRevoke => {}
        _ => return None,
    }
    // One node for all of them would serve one tenant only.
    let mut node = p.node(&slug).await;
    let ready = p.ready(&slug).await;
    let project = ready.home.project.clone();
    let made = match route {
        R::AllocationRequest => (vec![project], Some(json!({"sku": format!("{slug}-sku")}))),
        R::AllocationGrant | R::AllocationDeny => {
            let change = json!({"grant_policy": "admin"});
            admin.call(R::SkuUpdate, &[&format!("{slug}-sku")], Some(&change)).await.expect(200);
            let body = json!({"sku": format!("{slug}-sku")});
            let asked = admin.call(R::AllocationRequest, &[&project], Some(&body)).await.expect(201);
            assert_eq!(asked.body["state"], "requested");
            (vec![asked.id()], None)
        }
        R::AllocationRelease => (vec![project, ready.allocation.clone()], None),
        R::VolumeCreate | R::VolumeDelete => {
            let body = json!({"name": "walked", "allocation_id": ready.allocation});
            if route == R::VolumeDelete {
                let id = admin.call(R::VolumeCreate, &[&project], Some(&body)).await.expect(201).id();
                (vec![project, id], None)
            } else {
                (vec![project], Some(body))
            }
        }
        R::InstanceCreate => (vec![project], Some(ready.wish())),
        R::InstanceCreateAlias => (vec![], Some(ready.wish())),
        R::EndpointOpen | R::EndpointPublicSet | R::EndpointTokenCreate | R::EndpointTokenRevoke => {
            let mut proxied = manifest(&slug, "2.0.0");
            proxied["runtime_profile"]["ports"][0]["expose"] = json!("platform_proxy");
            p.publish(&proxied, &project).await;
            let instance = ready.launch(admin).await.expect(202).id();
            ready.reaches(p, &instance, "running").await;
            let mut place = vec![project, instance, "web".to_owned()];
            let named = json!({"name": "ci"});
            if route == R::EndpointTokenRevoke {
                let at: Vec<&str> = place.iter().map(String::as_str).collect();
                let made = admin.call(R::EndpointTokenCreate, &at, Some(&named)).await.expect(201);
                place.push(made.id());
            }
            let body = match route {
                R::EndpointPublicSet => Some(json!({"public_access": "off"})),
                R::EndpointTokenCreate => Some(named),
                _ => None,
            };
            (place, body)
        }
        _ => {
            let instance = ready.launch(admin).await.expect(202).id();
            ready.reaches(p, &instance, "running").await;
            let mut body = None;
            if route == R::InstanceStart {
                admin.call(R::InstanceStop, &[&project, &instance], None).await.expect(202);
                ready.reaches(p, &instance, "stopped").await;
            } else if route == R::InstanceForceDecommission {
                node.kill().await;
                p.until("the node is away", async || {
                    let seen = admin.call(R::NodeGet, &[&node.id], None).await.expect(200);
                    seen.body["agent_connected_at"].is_null()
                })
                .await;
                body = Some(json!({"reason": "it burnt down"}));
            }
            match route {
                R::InstanceStopAlias => (vec![instance], body),
                _ => (vec![project, instance], body),
            }
        }
    };
    nodes.push(node);
    request(made.0, made.1)
}
