//! Nodes: joining, standing, and what they may say.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use futures_util::future::join_all;
use gpuaas_api::Route;
use gpuaas_domain::machine_token::{Assertion, sign_node_assertion};
use gpuaas_testkit::{Caller, KeyPair, TestPlatform, both_databases};
use serde_json::{Value, json};

fn inventory() -> Value {
    json!({"agent_version": "0.1.0", "protocol": 1, "hostname": "host.example", "os": "Debian", "kernel": "6", "architecture": "amd64",
           "cpus": 8, "memory_mib": 16384, "disk_total_mib": 1000, "disk_free_mib": 500,
           "runtime": {"kind": "docker", "version": "20.10", "api_version": "1.41", "nvidia": true},
           "gpus": [{"index": 0, "uuid": "GPU-1", "vendor": "nvidia", "model": "A100", "memory_mib": 81920, "simulated": false}]})
}

async fn join_token(p: &TestPlatform) -> String {
    let made = p.admin.call(Route::JoinTokenCreate, &[], None).await.expect(201);
    let token = made.body["token"].as_str().unwrap().to_owned();
    token.rsplit_once('.').unwrap().0.to_owned()
}

fn request(token: &str, pair: &KeyPair, name: &str) -> Value {
    json!({"token": token, "name": name, "public_key": pair.public_key(), "inventory": inventory()})
}

/// A machine with this key becomes a node; gives its id.
pub(crate) async fn join(p: &TestPlatform, pair: &KeyPair, name: &str) -> String {
    let body = request(&join_token(p).await, pair, name);
    let joined = p.anonymous().call(Route::NodeJoin, &[], Some(&body)).await.expect(201);
    joined.body["node_id"].as_str().unwrap().to_owned()
}

/// A node's own token, got the way nodes get it.
async fn node_caller(p: &TestPlatform, node: &str, pair: &KeyPair) -> Caller {
    let id: gpuaas_domain::ids::NodeId = node.parse().unwrap();
    let now = p.now_seconds();
    let jti = URL_SAFE_NO_PAD.encode(p.clock.uuid().as_bytes());
    let assertion =
        Assertion { iss: id, sub: id, aud: "gpuaas-node-token".into(), jti, iat: now, exp: now + 60 };
    let signed = sign_node_assertion(&pair.pair, &assertion);
    let body = json!({ "assertion": signed });
    let answer = p.anonymous().call(Route::NodeTokenExchange, &[], Some(&body)).await.expect(200);
    p.anonymous()
        .call(Route::NodeTokenExchange, &[], Some(&body))
        .await
        .expect_error(401, "assertion_replayed");
    p.anonymous().with_bearer(answer.body["access_token"].as_str().unwrap())
}

both_databases! {
    /// T07, L-06: a token lets one machine in, however many race for it; the same machine may ask again.
    async fn a_join_token_is_good_for_one_machine(p: TestPlatform) {
        let token = join_token(&p).await;
        let machines: Vec<(KeyPair, String)> = (0..20).map(|n| (KeyPair::generate(), format!("racer-{n}"))).collect();
        let bodies: Vec<Value> = machines.iter().map(|(pair, name)| request(&token, pair, name)).collect();
        let anonymous = p.anonymous();
        let answers = join_all(bodies.iter().map(|body| anonymous.call(Route::NodeJoin, &[], Some(body)))).await;
        let winners: Vec<usize> = (0..20).filter(|n| answers[*n].status == 201).collect();
        assert_eq!(winners.len(), 1, "{:?}", answers.iter().map(|answer| answer.status).collect::<Vec<_>>());
        for (n, answer) in answers.into_iter().enumerate() {
            if n != winners[0] {
                answer.expect_error(401, "invalid_join_token");
            }
        }
        let again = anonymous.call(Route::NodeJoin, &[], Some(&bodies[winners[0]])).await.expect(201);
        let nodes = p.admin.call(Route::NodeList, &[], None).await.expect(200);
        assert_eq!(nodes.body["items"].as_array().unwrap().len(), 1);
        assert_eq!(nodes.body["items"][0]["id"], again.body["node_id"], "a lost answer is given again");
        for bad in ["", "x", "x.y", &token.replace('.', "..")] {
            anonymous.call(Route::NodeJoin, &[], Some(&request(bad, &machines[0].0, "late"))).await.expect_error(401, "invalid_join_token");
        }
    }

    /// T07: an expired token lets nobody in.
    async fn a_join_token_expires(p: TestPlatform) {
        let token = join_token(&p).await;
        p.clock.advance_seconds(3601);
        let body = request(&token, &KeyPair::generate(), "late");
        p.anonymous().call(Route::NodeJoin, &[], Some(&body)).await.expect_error(401, "invalid_join_token");
    }

    /// T05, T09, O-08: a node speaks about itself only; revoked, its token and its links are void at once.
    async fn a_node_speaks_for_itself_until_it_is_revoked(p: TestPlatform) {
        let pair = KeyPair::generate();
        let body = request(&join_token(&p).await, &pair, "edge");
        let node = p.anonymous().call(Route::NodeJoin, &[], Some(&body)).await.expect(201);
        assert!(node.body["ca_pem"].as_str().unwrap().contains("BEGIN CERTIFICATE"));
        let id = node.body["node_id"].as_str().unwrap().to_owned();
        let caller = node_caller(&p, &id, &pair).await;
        let trust = caller.call(Route::NodeTrust, &[], None).await.expect(200);
        assert_eq!(trust.body["verifiers"].as_array().unwrap().len(), 1);
        caller.call(Route::NodeInventoryPut, &[], Some(&inventory())).await.expect(204);
        let seen = p.admin.call(Route::NodeGet, &[&id], None).await.expect(200);
        assert_eq!(seen.body["capabilities"], json!(["container", "nvidia_runtime", "nvidia"]));
        assert_eq!(seen.body["reasons"][0]["code"], "agent_away");
        assert_eq!(seen.body["simulated"], false);
        for route in [Route::NodeList, Route::TenantList, Route::Whoami, Route::SkuList, Route::CatalogList] {
            caller.call(route, &[], None).await.expect_error(401, "invalid_token");
        }
        // A report about an instance that is not its own moves nothing.
        let report = json!({"run_id": p.clock.uuid(), "full": true, "instances": [{"instance_id": p.clock.uuid(), "generation": 1, "era": 1,
            "phase": "running", "observed_at": 1}]});
        caller.call(Route::NodeReportPost, &[], Some(&report)).await.expect(204);
        for hostile in [
            json!({"run_id": "x", "full": true, "instances": []}),
            json!({"run_id": p.clock.uuid(), "full": true, "instances": [{"instance_id": p.clock.uuid(), "generation": -1, "era": 1, "phase": "running", "observed_at": 1}]}),
            json!({"run_id": p.clock.uuid(), "full": true, "instances": [], "extra": 1}),
        ] {
            caller.call(Route::NodeReportPost, &[], Some(&hostile)).await.expect_error(400, "validation_failed");
        }
        p.admin.call(Route::NodeRevoke, &[&id], Some(&json!({"reason": "stolen"}))).await.expect(200);
        caller.call(Route::NodeTrust, &[], None).await.expect_error(401, "node_revoked");
        p.anonymous().call(Route::NodeJoin, &[], Some(&body)).await.expect_error(401, "invalid_join_token");
    }

    /// L-05, T04: a new key signs; nodes are told of both until the overlap is over.
    async fn order_keys_rotate_with_an_overlap(p: TestPlatform) {
        let pair = KeyPair::generate();
        let node = p.anonymous().call(Route::NodeJoin, &[], Some(&request(&join_token(&p).await, &pair, "edge"))).await.expect(201);
        let caller = node_caller(&p, node.body["node_id"].as_str().unwrap(), &pair).await;
        let verifiers = async || caller.call(Route::NodeTrust, &[], None).await.expect(200).body["verifiers"].as_array().unwrap().len();
        assert_eq!(verifiers().await, 1);
        p.admin.call(Route::TaskKeyRotate, &[], None).await.expect(204);
        assert_eq!(verifiers().await, 2);
        p.clock.advance_seconds(890);
        assert_eq!(verifiers().await, 2);
        p.clock.advance_seconds(20);
        let caller = node_caller(&p, node.body["node_id"].as_str().unwrap(), &pair).await;
        let left = caller.call(Route::NodeTrust, &[], None).await.expect(200);
        assert_eq!(left.body["verifiers"].as_array().unwrap().len(), 1, "the old key ended with the overlap");
    }

    /// L-05, T04: a rotation while instances run: nothing is refused, and what follows is signed with the new key.
    async fn a_rotation_disturbs_nothing(p: TestPlatform) {
        let _node = p.node("one").await;
        let ready = p.ready("hello").await;
        let id = ready.launch(&p.admin).await.expect(202).id();
        p.admin.call(Route::TaskKeyRotate, &[], None).await.expect(204);
        ready.reaches(&p, &id, "running").await;
        p.clock.advance_seconds(11);
        p.admin.call(Route::InstanceDecommission, &[&ready.home.project, &id], None).await.expect(202);
        ready.ended(&p, &id).await;
    }

    /// O-08: cordoned, a node gets no work; drained, what runs on it stops; forgotten, it is written off.
    async fn a_node_is_cordoned_drained_and_forgotten(p: TestPlatform) {
        let node = p.node("one").await;
        let ready = p.ready("hello").await;
        let id = ready.launch(&p.admin).await.expect(202).id();
        ready.reaches(&p, &id, "running").await;
        p.admin.call(Route::NodeCordon, &[&node.id], None).await.expect(200);
        ready.launch(&p.admin).await.expect_error(409, "node_not_ready");
        p.admin.call(Route::NodeUncordon, &[&node.id], None).await.expect(200);
        p.admin.call(Route::NodeDrain, &[&node.id], None).await.expect(200);
        ready.reaches(&p, &id, "stopped").await;
        p.admin.call(Route::NodeUncordon, &[&node.id], None).await.expect(200);
        p.admin.call(Route::InstanceStart, &[&ready.home.project, &id], None).await.expect(202);
        ready.reaches(&p, &id, "running").await;
        p.admin.call(Route::NodeForget, &[&node.id], None).await.expect(204);
        ready.reaches(&p, &id, "failed").await;
        assert_eq!(ready.instance(&p.admin, &id).await["failure_reason"], "node_forgotten");
        p.until("the allocation is written off", async || {
            p.admin.call(Route::AllocationGet, &[&ready.home.project, &ready.allocation], None).await.expect(200).body["state"] == "released"
        }).await;
        p.admin.call(Route::NodeGet, &[&node.id], None).await.expect(200);
        assert_eq!(p.admin.call(Route::NodeList, &[], None).await.expect(200).body["items"], json!([]));
    }
}
