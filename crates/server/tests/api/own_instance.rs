//! Instances that speak for themselves: the key their node shows, the token it buys, what that opens, and when it ends.

use gpuaas_api::{Access, Route};
use gpuaas_testkit::{Answer, Caller, KeyPair, Ready, SimulatedNode, TestPlatform, both_databases, manifest};
use serde_json::{Value, json};

const NOBODY: &str = "01890000-0000-7000-8000-000000000000";

/// A running instance with a key.
struct World {
    node: SimulatedNode,
    ready: Ready,
    instance: String,
    account: String,
    pair: KeyPair,
    app: Caller,
}

fn metered(slug: &str) -> Value {
    let mut manifest = manifest(slug, "1.0.0");
    manifest["metering"] = json!({"kind": "tokens"});
    manifest
}

async fn launch(p: &TestPlatform, node: &SimulatedNode, ready: &Ready) -> (String, String, KeyPair, Caller) {
    let instance = ready.launch(&p.admin).await.expect(202).id();
    ready.reaches(p, &instance, "running").await;
    let (account, pair) = node.show_key(p, &instance, 1).await;
    let app = p.machine(&account, &pair).await;
    (instance, account, pair, app)
}

async fn ready(p: &TestPlatform, name: &str) -> Ready {
    let home = p.home(name).await;
    p.sku(&format!("{name}-sku"), 1).await;
    let allocation = p.allocation(&home.project, &format!("{name}-sku")).await;
    p.publish(&metered(name), &home.project).await;
    Ready { home, app: name.to_owned(), allocation }
}

impl World {
    async fn build(p: &TestPlatform) -> Self {
        let node = p.node("node-1").await;
        let ready = ready(p, "one").await;
        let (instance, account, pair, app) = launch(p, &node, &ready).await;
        Self { node, ready, instance, account, pair, app }
    }

    async fn command(&self, p: &TestPlatform, route: Route) -> Answer {
        p.admin.call(route, &[&self.ready.home.project, &self.instance], None).await
    }

    async fn show(&self, p: &TestPlatform, generation: i64) -> Answer {
        let body = json!({"generation": generation, "public_key": KeyPair::generate().public_key()});
        self.node
            .caller(&p.anonymous())
            .await
            .call(Route::InstanceIdentityRegister, &[&self.instance], Some(&body))
            .await
    }
}

fn record(p: &TestPlatform, key: &str, quantity: i64) -> Value {
    let at = |seconds: i64| gpuaas_domain::Timestamp::from_unix_seconds(p.now_seconds() + seconds).unwrap();
    json!({"meter": "tokens", "quantity": quantity, "window_start": at(-1), "window_end": at(0), "key": key})
}

fn batch(records: &[Value]) -> Value {
    json!({ "records": records })
}

async fn exchange(p: &TestPlatform, account: &str, pair: &KeyPair) -> Answer {
    let assertion = pair.sign(&pair.assertion(account, &p.platform_id(), p.now_seconds()));
    p.anonymous().call(Route::ServiceAccountToken, &[], Some(&json!({ "assertion": assertion }))).await
}

async fn stored(p: &TestPlatform, instance: &str) -> (i64, i64) {
    let id = instance.parse().expect("an id");
    p.store().read().await.unwrap().sum_metering(id, "tokens").await.unwrap()
}

fn own_routes() -> impl Iterator<Item = Route> {
    Route::ALL.iter().copied().filter(|route| route.row().access == Access::Instance)
}

fn body_for(p: &TestPlatform, route: Route) -> Option<Value> {
    match route {
        Route::OwnMemberEmit => Some(json!({"event": "member-add", "member": "worker-1", "role": "worker"})),
        Route::OwnMetering => Some(batch(&[record(p, "k-1", 5)])),
        _ => None,
    }
}

/// Every route of an instance refuses this caller like a token that is none.
async fn is_dead(p: &TestPlatform, app: &Caller, instance: &str) {
    for route in own_routes() {
        app.call(route, &[instance], body_for(p, route).as_ref()).await.expect_error(401, "invalid_token");
    }
}

both_databases! {
    /// L06, N09: what an instance says stays for ever, so it is said at a pace, whichever way it comes.
    async fn an_instance_speaks_at_a_pace(p: TestPlatform) {
        let w = World::build(&p).await;
        let mut refused = 0;
        for _ in 0..300 {
            let answer = w.app.call(Route::OwnStatus, &[NOBODY], None).await;
            refused += u32::from(answer.status == 429);
        }
        assert!(refused >= 50, "{refused} of 300 calls at once were refused");
        p.clock.advance_seconds(60);
        w.app.call(Route::OwnStatus, &[&w.instance], None).await.expect(200);
        let mut told = 0;
        for number in 0..800 {
            if number % 100 == 0 {
                p.clock.advance_seconds(10);
            }
            let body = json!({"event": "member-add", "member": "worker-1", "role": "worker"});
            let answer = w.app.call(Route::OwnMemberEmit, &[&w.instance], Some(&body)).await;
            told += u32::from(answer.status == 204);
        }
        assert!((400..=650).contains(&told), "{told} of 800 were taken");
    }
}

both_databases! {
    /// K-08, K-09, H-20, H-34: with its own token an instance reads its status, is heard, tells of members and usage.
    async fn an_instance_speaks_for_itself(p: TestPlatform) {
        let w = World::build(&p).await;
        let status = w.app.call(Route::OwnStatus, &[&w.instance], None).await.expect(200).body;
        assert_eq!((&status["status"], &status["generation"], &status["role"]), (&json!("running"), &json!(1), &json!("app")));
        assert_eq!(status["service_account_id"], json!(w.account));
        assert_eq!(status["last_heartbeat_at"], Value::Null);
        w.app.call(Route::OwnHeartbeat, &[&w.instance], None).await.expect(204);
        let status = w.app.call(Route::OwnStatus, &[&w.instance], None).await.expect(200).body;
        assert!(status["last_heartbeat_at"].is_string(), "{status}");
        for (event, detail) in [("member-add", None), ("member-failed", Some("it\u{202e} broke")), ("member-remove", None)] {
            let body = json!({"event": event, "member": "worker-1", "role": "worker", "detail": detail});
            w.app.call(Route::OwnMemberEmit, &[&w.instance], Some(&body)).await.expect(204);
        }
        let path = Route::InstanceEvents.path(&[&w.ready.home.project, &w.instance]);
        let timeline = p.admin.get(&path).await.expect(200).body;
        let said: Vec<_> = timeline["items"].as_array().unwrap().iter().filter(|entry| entry["payload"]["said_by"] == "app").collect();
        let names: Vec<_> = said.iter().map(|entry| entry["event_type"].as_str().unwrap()).collect();
        assert_eq!(names, ["member_added", "member_failed", "member_removed"]);
        assert_eq!(said[1]["payload"]["detail"], "it  broke", "nothing that deceives");
        let answer = w.app.call(Route::OwnMetering, &[&w.instance], Some(&batch(&[record(&p, "a", 3), record(&p, "b", 4)]))).await;
        assert_eq!(answer.expect(200).body, json!({"accepted": 2, "known_before": 0}));
        assert_eq!(stored(&p, &w.instance).await, (2, 7));
        p.settle().await;
        let audit = p.admin.get(&format!("/api/v1/audit?actor_id={}", w.account)).await.expect(200).body;
        assert!(audit["items"].as_array().unwrap().iter().any(|row| row["action"] == "own_instance.metering"), "H-24: {audit}");
    }

    /// K-09: its token opens no other route of the platform, and no other token opens its own ones.
    async fn an_instances_token_opens_nothing_else(p: TestPlatform) {
        let w = World::build(&p).await;
        let fill = |route: Route| {
            let parts = route.row().path.split('/').map(|part| match part {
                "{tenant_id}" => w.ready.home.tenant.as_str(),
                "{project_id}" => w.ready.home.project.as_str(),
                "{app_instance_id}" => w.instance.as_str(),
                "{allocation_id}" => w.ready.allocation.as_str(),
                "{service_account_id}" => w.account.as_str(),
                part if part.starts_with('{') => NOBODY,
                part => part,
            });
            parts.collect::<Vec<_>>().join("/")
        };
        let mut walked = 0;
        for route in Route::ALL.iter().copied() {
            let row = route.row();
            if matches!(row.access, Access::Public | Access::Instance) {
                continue;
            }
            let body = row.method.is_mutation().then(|| json!({}));
            w.app.send(row.method.name(), &fill(route), body.as_ref()).await.expect_error(401, "invalid_token");
            walked += 1;
        }
        assert!(walked > 100, "{walked}");
        let (account, pair) = p.admin.create_service_account(&w.ready.home.project, "robot", &["app-operator"]).await;
        let machine = p.machine(&account, &pair).await;
        let node = w.node.caller(&p.anonymous()).await;
        for caller in [&p.admin, &machine, &node] {
            is_dead(&p, caller, &w.instance).await;
        }
    }

    /// K-09: another instance, of the same project or another, is refused exactly like one that does not exist.
    async fn another_instance_looks_missing(p: TestPlatform) {
        let w = World::build(&p).await;
        let sibling = p.ready_in("sibling", w.ready.home.clone()).await;
        let (sibling, ..) = launch(&p, &w.node, &sibling).await;
        let far = p.node("node-2").await;
        let other = ready(&p, "other").await;
        let (foreign, ..) = launch(&p, &far, &other).await;
        let essence = |answer: Answer| {
            let mut body = answer.body.clone();
            body["error"]["correlation_id"] = json!("");
            (answer.status, body)
        };
        for route in own_routes() {
            for wrong in [None, route.row().method.is_mutation().then(|| json!({"nonsense": 1}))] {
                let body = wrong.or_else(|| body_for(&p, route));
                let missing = w.app.call(route, &[NOBODY], body.as_ref()).await.expect_error(404, "not_found");
                let missing = essence(missing);
                for theirs in [&sibling, &foreign] {
                    let refused = w.app.call(route, &[theirs], body.as_ref()).await;
                    assert_eq!(essence(refused), missing, "{route:?}");
                }
            }
        }
        assert_eq!((stored(&p, &sibling).await, stored(&p, &foreign).await), ((0, 0), (0, 0)));
    }

    /// K-08, attack 21: only the node of the instance shows a key, only for the launch that stands, and the former ends.
    async fn a_key_is_shown_by_the_right_node_for_the_right_launch(p: TestPlatform) {
        let w = World::build(&p).await;
        for generation in [0, 2, -1, i64::MAX] {
            w.show(&p, generation).await.expect_error(403, "identity_not_granted");
        }
        let stranger = p.node("node-2").await.caller(&p.anonymous()).await;
        let body = json!({"generation": 1, "public_key": KeyPair::generate().public_key()});
        let foreign = stranger.call(Route::InstanceIdentityRegister, &[&w.instance], Some(&body)).await.expect_error(403, "identity_not_granted");
        let missing = stranger.call(Route::InstanceIdentityRegister, &[NOBODY], Some(&body)).await.expect_error(403, "identity_not_granted");
        assert_eq!(foreign.body["error"]["message"], missing.body["error"]["message"]);
        let weak = json!({"generation": 1, "public_key": "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"});
        w.node.caller(&p.anonymous()).await.call(Route::InstanceIdentityRegister, &[&w.instance], Some(&weak)).await.expect_error(400, "validation_failed");
        w.app.call(Route::OwnStatus, &[&w.instance], None).await.expect(200);
        let (account, pair) = w.node.show_key(&p, &w.instance, 1).await;
        assert_eq!(account, w.account, "one account for the whole life");
        is_dead(&p, &w.app, &w.instance).await;
        exchange(&p, &w.account, &w.pair).await.expect_error(401, "invalid_assertion");
        p.machine(&account, &pair).await.call(Route::OwnStatus, &[&w.instance], None).await.expect(200);
    }

    /// A06, attack 21: a token lives to the second and no longer than 900, whatever is asked; an assertion is used once.
    async fn tokens_are_short_and_assertions_single(p: TestPlatform) {
        let w = World::build(&p).await;
        let assertion = w.pair.sign(&w.pair.assertion(&w.account, &p.platform_id(), p.now_seconds()));
        let body = json!({"assertion": assertion, "ttl_seconds": 900});
        let first = p.anonymous().call(Route::ServiceAccountToken, &[], Some(&body)).await.expect(200);
        assert_eq!(first.body["expires_in"], 900);
        p.anonymous().call(Route::ServiceAccountToken, &[], Some(&body)).await.expect_error(401, "assertion_replayed");
        let app = p.anonymous().with_bearer(first.body["access_token"].as_str().unwrap());
        p.clock.advance_seconds(899);
        app.call(Route::OwnStatus, &[&w.instance], None).await.expect(200);
        p.clock.advance_seconds(1);
        is_dead(&p, &app, &w.instance).await;
        p.machine(&w.account, &w.pair).await.call(Route::OwnStatus, &[&w.instance], None).await.expect(200);
    }

    /// A07, attack 21: a stop kills token and key with the same commit, before the node has done anything; the next launch
    /// needs a new key, and the old one stays dead.
    async fn a_stop_kills_token_and_key_at_once(p: TestPlatform) {
        let mut w = World::build(&p).await;
        w.node.kill().await;
        w.command(&p, Route::InstanceStop).await.expect(202);
        is_dead(&p, &w.app, &w.instance).await;
        exchange(&p, &w.account, &w.pair).await.expect_error(401, "invalid_assertion");
        for generation in [1, 2] {
            w.show(&p, generation).await.expect_error(403, "identity_not_granted");
        }
        assert_eq!(stored(&p, &w.instance).await, (0, 0), "nothing is taken after the stop");
        w.node.start(gpuaas_faults::Faults::none()).await;
        w.ready.reaches(&p, &w.instance, "stopped").await;
        w.command(&p, Route::InstanceStart).await.expect(202);
        w.ready.reaches(&p, &w.instance, "running").await;
        is_dead(&p, &w.app, &w.instance).await;
        exchange(&p, &w.account, &w.pair).await.expect_error(401, "invalid_assertion");
        let (account, pair) = w.node.show_key(&p, &w.instance, 3).await;
        assert_eq!(account, w.account);
        let status = p.machine(&account, &pair).await.call(Route::OwnStatus, &[&w.instance], None).await.expect(200);
        assert_eq!(status.body["generation"], 3);
    }

    /// A07: decommission, revocation of the node and suspension of project or tenant end what an instance may say.
    async fn whatever_ends_the_ground_ends_the_token(p: TestPlatform) {
        let w = World::build(&p).await;
        for (suspend, resume, place) in [
            (Route::ProjectSuspend, Route::ProjectResume, &w.ready.home.project),
            (Route::TenantSuspend, Route::TenantResume, &w.ready.home.tenant),
        ] {
            p.admin.call(suspend, &[place], None).await.expect(200);
            w.app.call(Route::OwnStatus, &[&w.instance], None).await.expect_error(401, "account_disabled");
            exchange(&p, &w.account, &w.pair).await.expect_error(401, "account_disabled");
            p.admin.call(resume, &[place], None).await.expect(200);
            w.app.call(Route::OwnStatus, &[&w.instance], None).await.expect(200);
        }
        w.command(&p, Route::InstanceDecommission).await.expect(202);
        is_dead(&p, &w.app, &w.instance).await;
        w.ready.ended(&p, &w.instance).await;
        is_dead(&p, &w.app, &w.instance).await;
        let accounts = format!("/api/v1/projects/{}/service-accounts?kind=instance", w.ready.home.project);
        assert_eq!(p.admin.get(&accounts).await.expect(200).body["items"], json!([]), "the account went with it");

        let (instance, account, pair, app) = launch(&p, &w.node, &w.ready).await;
        app.call(Route::OwnStatus, &[&instance], None).await.expect(200);
        p.admin.call(Route::NodeRevoke, &[&w.node.id], None).await.expect(200);
        is_dead(&p, &app, &instance).await;
        exchange(&p, &account, &pair).await.expect_error(401, "invalid_assertion");
    }

    /// K-16: accounts of instances stand in a list of their own, count for no limit, and nobody changes them by hand.
    async fn an_instances_account_is_nobodys_to_change(p: TestPlatform) {
        let w = World::build(&p).await;
        let project = &w.ready.home.project;
        let list = format!("/api/v1/projects/{project}/service-accounts");
        assert_eq!(p.admin.get(&list).await.expect(200).body["items"], json!([]));
        let own = p.admin.get(&format!("{list}?kind=instance")).await.expect(200).body;
        assert_eq!((&own["items"][0]["id"], &own["items"][0]["kind"]), (&json!(w.account), &json!("instance")));
        p.admin.call(Route::ServiceAccountGet, &[project, &w.account], None).await.expect(200);
        for route in [Route::ServiceAccountDisable, Route::ServiceAccountRotateKey, Route::ServiceAccountDelete] {
            let body = route.row().method.is_mutation().then(|| json!({}));
            p.admin.send(route.row().method.name(), &route.path(&[project, &w.account]), body.as_ref()).await
                .expect_error(409, "account_of_instance");
        }
        let role = json!({"role": "app-operator", "service_account_id": w.account});
        p.admin.call(Route::ProjectBindingCreate, &[project], Some(&role)).await.expect_error(409, "account_of_instance");
        p.admin.call(Route::ProjectLimitSet, &[project, "service_accounts"], Some(&json!({"value": 1}))).await.expect(200);
        p.admin.create_service_account(project, "robot", &[]).await;
        let name = json!({"name": format!("instance-{NOBODY}")});
        p.admin.call(Route::ServiceAccountCreate, &[project], Some(&name)).await.expect_error(400, "validation_failed");
        w.app.call(Route::OwnStatus, &[&w.instance], None).await.expect(200);
    }

    /// M-05: told twice, kept once: in one batch, in two, with and without a key, and by twenty at the same time.
    async fn a_record_is_kept_once(p: TestPlatform) {
        let w = World::build(&p).await;
        let send = |body: Value| { let (app, id) = (w.app.clone(), w.instance.clone()); async move { app.call(Route::OwnMetering, &[&id], Some(&body)).await } };
        let one = record(&p, "a", 3);
        assert_eq!(send(batch(&[one.clone(), one.clone()])).await.expect(200).body, json!({"accepted": 2, "known_before": 1}));
        assert_eq!(send(batch(std::slice::from_ref(&one))).await.expect(200).body, json!({"accepted": 1, "known_before": 1}));
        let mut unnamed = record(&p, "a", 4);
        unnamed.as_object_mut().unwrap().remove("key");
        for known in [0, 1] {
            assert_eq!(send(batch(std::slice::from_ref(&unnamed))).await.expect(200).body["known_before"], known);
        }
        assert_eq!(stored(&p, &w.instance).await, (2, 7));
        let other = send(batch(&[record(&p, "new", 1), record(&p, "a", 99)])).await.expect_error(400, "validation_failed");
        let field = &other.body["error"]["fields"][0];
        assert_eq!((&field["path"], &field["code"]), (&json!("/records/1/key"), &json!("metering_key_reused")));
        assert_eq!(stored(&p, &w.instance).await, (2, 7), "all or nothing");
        let many = batch(&[record(&p, "c-1", 10), record(&p, "c-2", 20)]);
        let answers = futures_util::future::join_all((0..20).map(|_| send(many.clone()))).await;
        let new: i64 = answers.into_iter().map(|answer| 2 - answer.expect(200).body["known_before"].as_i64().unwrap()).sum();
        assert_eq!((new, stored(&p, &w.instance).await), (2, (4, 37)));
        // With a key for the call, the first answer comes again.
        let keyed = w.app.clone().with_header("idempotency-key", "call-1");
        for _ in 0..2 {
            let answer = keyed.call(Route::OwnMetering, &[&w.instance], Some(&batch(&[record(&p, "d", 1)]))).await.expect(200);
            assert_eq!(answer.body["known_before"], 0);
        }
        assert_eq!(stored(&p, &w.instance).await, (5, 38));
        for sql in ["UPDATE app_metering_records SET quantity = 0", "DELETE FROM app_metering_records"] {
            let refused = crate::try_execute(&p, sql).await.unwrap_err().to_string();
            assert!(refused.contains("insert-only"), "{refused}");
        }
    }

    /// K-09: huge, negative, future, foreign and malformed usage is refused, each with its own code.
    async fn usage_that_cannot_be_is_refused(p: TestPlatform) {
        let w = World::build(&p).await;
        let with = |name: &str, value: Value| { let mut one = record(&p, "a", 1); one[name] = value; one };
        let later = gpuaas_domain::Timestamp::from_unix_seconds(p.now_seconds() + 61).unwrap();
        for (wrong, path, code) in [
            (with("quantity", json!(-1)), "quantity", "out_of_range"),
            (with("quantity", json!(1_000_000_000_001_i64)), "quantity", "out_of_range"),
            (with("window_end", json!(later)), "window_end", "window_in_future"),
            (with("window_start", json!("2020-01-01T00:00:00Z")), "window_end", "window_too_long"),
            (with("meter", json!("gpu_seconds")), "meter", "meter_not_declared"),
            (with("meter", json!("requests")), "meter", "meter_not_declared"),
            (with("key", json!("a b")), "key", "invalid_record_key"),
        ] {
            let answer = w.app.call(Route::OwnMetering, &[&w.instance], Some(&batch(&[wrong]))).await.expect_error(400, "validation_failed");
            let field = &answer.body["error"]["fields"][0];
            assert_eq!((&field["path"], &field["code"]), (&json!(format!("/records/0/{path}")), &json!(code)), "{}", answer.text);
        }
        for wrong in [json!({}), batch(&[]), json!({"records": [1]}), batch(&[with("quantity", json!(1.5))]), batch(&[with("extra", json!(1))])] {
            let answer = w.app.call(Route::OwnMetering, &[&w.instance], Some(&wrong)).await;
            assert_eq!(answer.status, 400, "{}", answer.text);
        }
        assert_eq!(stored(&p, &w.instance).await, (0, 0));
    }
}
