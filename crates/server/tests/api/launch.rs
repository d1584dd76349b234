//! One container from request to receipt, on a node that simulates its engine and nothing else.

use gpuaas_agent_protocol::FailureReason;
use gpuaas_api::Route;
use gpuaas_node_agent::runtime::simulated::Behaviour;
use gpuaas_node_agent::seams::Failure;
use gpuaas_testkit::{Place, Ready, SimulatedNode, TestPlatform, both_databases};
use serde_json::{Value, json};

/// Rows that must be zero once everything is over.
async fn open_things(p: &TestPlatform) -> Vec<(&'static str, i64)> {
    let mut found = Vec::new();
    for (what, sql) in [
        ("GPU holds", "SELECT COUNT(*) FROM gpu_holds WHERE instance_id IS NOT NULL AND released_at IS NULL"),
        ("port holds", "SELECT COUNT(*) FROM port_holds WHERE released_at IS NULL"),
        ("compute holds", "SELECT COUNT(*) FROM compute_holds WHERE released_at IS NULL"),
        ("runs", "SELECT COUNT(*) FROM usage_intervals WHERE instance_id IS NOT NULL AND ended_at IS NULL"),
        ("orders", "SELECT COUNT(*) FROM node_tasks WHERE state IN ('queued', 'sent')"),
    ] {
        found.push((what, crate::count(p, sql).await));
    }
    found
}

async fn nothing_open(p: &TestPlatform) {
    for (what, count) in open_things(p).await {
        assert_eq!(count, 0, "{what} left open");
    }
}

fn event_types(body: &Value) -> Vec<&str> {
    body["recent_events"]
        .as_array()
        .unwrap()
        .iter()
        .map(|event| event["event_type"].as_str().unwrap())
        .collect()
}

async fn launched(p: &TestPlatform, name: &str) -> (SimulatedNode, Ready, String) {
    let node = p.node(name).await;
    let ready = p.ready(name).await;
    let id = ready.launch(&p.admin).await.expect(202).id();
    ready.reaches(p, &id, "running").await;
    (node, ready, id)
}

both_databases! {
    /// H-03, H-07, H-12..H-15, H-18, H-25, H-32, H-33, D-02, D-03, D-07, I-09: from request to receipt.
    async fn an_instance_lives_from_request_to_receipt(p: TestPlatform) {
        let node = p.node("one").await;
        let ready = p.ready("hello").await;
        let answer = ready.launch(&p.admin).await.expect(202);
        assert_eq!((&answer.body["status"], &answer.body["current_operation"]), (&json!("created"), &json!("deploy")));
        assert!(answer.body["correlation_id"].as_str().is_some_and(|id| !id.is_empty()));
        let id = answer.id();
        ready.reaches(&p, &id, "running").await;
        let body = ready.instance(&p.admin, &id).await;
        assert!(!body["activated_at"].is_null());
        assert_eq!(body["operating_mode"], "tenant_dedicated");
        assert_eq!(body["control_plane_scope"], "project");
        assert_eq!(body["runtime_backend"], "launchable_oci");
        assert_eq!(body["tenant_boundary_mode"], "dedicated_node");
        assert_eq!(body["execution_engine"], "node_agent");
        assert_eq!(body["requested_by"]["kind"], "user");
        assert_eq!(body["simulated"], true, "a made-up engine is called so");
        assert_eq!(body["members"][0]["role"], "node");
        assert!(event_types(&body).starts_with(&["member_added", "requested", "deploying"]), "{:?}", event_types(&body));
        assert_eq!(event_types(&body).last(), Some(&"start_completed"));

        let stats = p.admin.call(Route::InstanceStats, &[&ready.home.project, &id], None).await.expect(200);
        assert_eq!(stats.body["simulated"], true);
        p.admin.call(Route::InstanceLogs, &[&ready.home.project, &id], None).await.expect(200);
        p.admin.call(Route::InstanceReceipt, &[&ready.home.project, &id], None).await.expect_error(409, "no_receipt_yet");

        p.admin.call(Route::InstanceStop, &[&ready.home.project, &id], None).await.expect(202);
        ready.reaches(&p, &id, "stopped").await;
        nothing_open(&p).await;
        p.admin.call(Route::InstanceStop, &[&ready.home.project, &id], None).await.expect(202);
        p.admin.call(Route::InstanceStart, &[&ready.home.project, &id], None).await.expect(202);
        ready.reaches(&p, &id, "running").await;

        p.admin.call(Route::InstanceDecommission, &[&ready.home.project, &id], None).await.expect(202);
        ready.ended(&p, &id).await;
        let receipt = p.admin.call(Route::InstanceReceipt, &[&ready.home.project, &id], None).await.expect(200);
        assert_eq!(receipt.body["attested"], true);
        let view: gpuaas_api::instances::ReceiptView = serde_json::from_value(receipt.body.clone()).unwrap();
        assert_eq!(view.is_signed(), Some(true), "anybody can check it");
        let payload: Value = serde_json::from_str(receipt.body["payload"].as_str().unwrap()).unwrap();
        assert_eq!(payload["left"], json!({"containers": 0, "networks": 0, "volumes": 0, "scratch_paths": 0, "secrets": 0, "ports": 0}));
        assert_eq!(payload["simulated"], true);
        nothing_open(&p).await;
        assert_eq!(node.runtime.containers(), 0);

        p.settle().await;
        let events = p.admin.get(&format!("/api/v1/projects/{}/events?limit=200", ready.home.project)).await.expect(200);
        let kinds: Vec<&str> = events.body["items"].as_array().unwrap().iter()
            .filter(|event| event["data"]["app_instance_id"] == json!(id))
            .map(|event| event["type"].as_str().unwrap()).collect();
        assert_eq!(kinds, [
            "apps.instance.requested", "apps.instance.deploying", "apps.instance.running",
            "apps.instance.stop_requested", "apps.instance.stopped",
            "apps.instance.start_requested", "apps.instance.running",
            "apps.instance.decommission_requested", "apps.instance.decommissioned",
        ]);
        p.admin.call(Route::InstanceStart, &[&ready.home.project, &id], None).await.expect_error(409, "illegal_instance_move");
        let gone = p.admin.call(Route::InstanceList, &[&ready.home.project], None).await.expect(200);
        assert_eq!(gone.body["items"], json!([]), "what is over is not listed unless asked for");
    }

    /// H-31, H-34: the short paths do the same, found from the allocation and the instance.
    async fn the_aliases_are_the_same_door(p: TestPlatform) {
        let _node = p.node("one").await;
        let ready = p.ready("hello").await;
        let (operator, _) = p.member("olga", "app-operator", Place::Project(&ready.home.project)).await;
        let made = operator.call(Route::InstanceCreateAlias, &[], Some(&ready.wish())).await.expect(202);
        assert_eq!(made.body["project_id"], json!(ready.home.project));
        ready.reaches(&p, &made.id(), "running").await;
        operator.call(Route::InstanceStopAlias, &[&made.id()], None).await.expect(202);
        ready.reaches(&p, &made.id(), "stopped").await;
        let (reader, _) = p.member("rita", "app", Place::Project(&ready.home.project)).await;
        reader.call(Route::InstanceStopAlias, &[&made.id()], None).await.expect_error(403, "permission_denied");
    }

    /// H-08, H-34: `plan` shows what `create` does, changes nothing, and its digest holds both to it.
    async fn a_plan_is_what_create_does(p: TestPlatform) {
        let _node = p.node("one").await;
        let ready = p.ready("hello").await;
        let project = &ready.home.project;
        let plan = p.admin.call(Route::InstancePlan, &[project], Some(&ready.wish())).await.expect(200);
        let again = p.admin.call(Route::InstancePlan, &[project], Some(&ready.wish())).await.expect(200);
        assert_eq!(plan.body, again.body, "the same world gives the same plan");
        assert_eq!(plan.body["plan"]["prices"][0]["amount_micros"], 1_500_000);
        nothing_open(&p).await;
        let mut wish = ready.wish();
        wish["plan_digest"] = plan.body["plan_digest"].clone();
        let made = p.admin.call(Route::InstanceCreate, &[project], Some(&wish)).await.expect(202);
        assert_eq!(made.body["artifact_digest"], plan.body["plan"]["artifact_digest"]);
        // Another wish gives another plan, and so would another world.
        wish["resources"] = json!({"cpu_millis": 200});
        let moved = p.admin.call(Route::InstanceCreate, &[project], Some(&wish)).await.expect_error(409, "plan_changed");
        assert!(moved.body["error"]["params"]["plan_digest"].as_str().is_some_and(|digest| digest.starts_with("sha256:")));
    }

    /// I-05, H-33, A-01: releasing an allocation ends what runs on it first, then frees the devices and ends the interval.
    async fn a_release_ends_what_runs_on_it(p: TestPlatform) {
        let (_node, ready, id) = launched(&p, "hello").await;
        let project = &ready.home.project;
        let going = p.admin.call(Route::AllocationRelease, &[project, &ready.allocation], None).await.expect(200);
        assert_eq!(going.body["state"], "releasing");
        p.admin.call(Route::InstanceCreate, &[project], Some(&ready.wish())).await.expect_error(409, "allocation_not_active");
        p.until("the allocation is released", async || {
            let seen = p.admin.call(Route::AllocationGet, &[project, &ready.allocation], None).await.expect(200);
            seen.body["state"] == "released"
        }).await;
        ready.ended(&p, &id).await;
        nothing_open(&p).await;
        assert_eq!(crate::count(&p, "SELECT COUNT(*) FROM gpu_holds WHERE released_at IS NULL").await, 0);
        assert_eq!(crate::count(&p, "SELECT COUNT(*) FROM usage_intervals WHERE ended_at IS NULL").await, 0);
        let receipt = p.admin.call(Route::InstanceReceipt, &[project, &id], None).await.expect(200);
        assert_eq!(receipt.body["attested"], true);
    }

    /// H-17, H-19: what goes wrong on the node has one name, and a failed instance holds nothing and can be tried again.
    async fn a_failed_launch_says_why_and_holds_nothing(p: TestPlatform) {
        let node = p.node("one").await;
        let ready = p.ready("hello").await;
        node.runtime.behave("hello", Behaviour {
            pull_failure: Some(Failure::new(FailureReason::ImageNotFound, "no such image")), ..Behaviour::default()
        });
        let id = ready.launch(&p.admin).await.expect(202).id();
        ready.reaches(&p, &id, "failed").await;
        let body = ready.instance(&p.admin, &id).await;
        assert_eq!(body["failure_reason"], "image_not_found", "{}", body["failure_message"]);
        nothing_open(&p).await;
        p.admin.call(Route::InstanceStop, &[&ready.home.project, &id], None).await.expect_error(409, "illegal_instance_move");
        node.runtime.behave("hello", Behaviour::default());
        p.admin.call(Route::InstanceStart, &[&ready.home.project, &id], None).await.expect(202);
        ready.reaches(&p, &id, "running").await;
        p.admin.call(Route::InstanceDecommission, &[&ready.home.project, &id], None).await.expect(202);
        ready.ended(&p, &id).await;
        nothing_open(&p).await;
    }

    /// N01, H-22: a stop asked for while the node is away waits for it; nothing says stopped before.
    async fn orders_wait_for_a_node_that_is_away(p: TestPlatform) {
        let (mut node, ready, id) = launched(&p, "hello").await;
        node.kill().await;
        p.until("the node is away", async || {
            p.admin.call(Route::NodeGet, &[&node.id], None).await.expect(200).body["ready"] == false
        }).await;
        p.admin.call(Route::InstanceStop, &[&ready.home.project, &id], None).await.expect(202);
        p.settle().await;
        assert_eq!(ready.instance(&p.admin, &id).await["status"], "stopping");
        p.admin.call(Route::InstanceStats, &[&ready.home.project, &id], None).await.expect_error(503, "node_away");
        node.start(gpuaas_faults::Faults::none()).await;
        ready.reaches(&p, &id, "stopped").await;
        nothing_open(&p).await;
    }

    /// DESIGN §3.9: a node that is gone for good: ended by an admin's word, the devices kept from everybody until it sweeps.
    async fn a_forced_end_is_unattested_and_quarantines(p: TestPlatform) {
        let mut node = p.node("one").await;
        let ready = p.ready("hello").await;
        let project = ready.home.project.clone();
        let mut wish = ready.wish();
        wish["resources"] = json!({"gpu_count": 1});
        let id = p.admin.call(Route::InstanceCreate, &[&project], Some(&wish)).await.expect(202).id();
        ready.reaches(&p, &id, "running").await;
        let reason = json!({"reason": "the machine burnt down"});
        p.admin.call(Route::InstanceForceDecommission, &[&project, &id], Some(&reason)).await.expect_error(409, "node_is_connected");
        node.kill().await;
        p.until("the node is away", async || {
            p.admin.call(Route::NodeGet, &[&node.id], None).await.expect(200).body["ready"] == false
        }).await;
        p.admin.call(Route::InstanceForceDecommission, &[&project, &id], Some(&json!({"reason": " "}))).await.expect_error(400, "validation_failed");
        let (operator, _) = p.member("olga", "app-operator", Place::Project(&project)).await;
        operator.call(Route::InstanceForceDecommission, &[&project, &id], Some(&reason)).await.expect_error(403, "permission_denied");
        p.admin.call(Route::InstanceForceDecommission, &[&project, &id], Some(&reason)).await.expect(202);
        let receipt = p.admin.call(Route::InstanceReceipt, &[&project, &id], None).await.expect(200);
        assert_eq!((&receipt.body["attested"], &receipt.body["reason"]), (&json!(false), &reason["reason"]));
        let gpus = p.admin.call(Route::NodeGet, &[&node.id], None).await.expect(200).body["gpus"].clone();
        assert_eq!(gpus.as_array().unwrap().iter().filter(|gpu| gpu["quarantined"] == true).count(), 1, "{gpus}");
        node.start(gpuaas_faults::Faults::none()).await;
        p.until("the node has swept", async || {
            let gpus = p.admin.call(Route::NodeGet, &[&node.id], None).await.expect(200).body["gpus"].clone();
            gpus.as_array().unwrap().iter().all(|gpu| gpu["quarantined"] == false)
        }).await;
        assert_eq!(node.runtime.containers(), 0);
        nothing_open(&p).await;
    }

    /// D03, D04: after a restore the same generation may mean something else. What a node says of the time before does not
    /// count; it gets the order of this era, and what runs is neither restarted nor lost.
    async fn a_new_era_asks_again_and_restarts_nothing(p: TestPlatform) {
        let (mut node, ready, id) = launched(&p, "hello").await;
        let before = ready.instance(&p.admin, &id).await["components"].clone();
        let sent = crate::count(&p, "SELECT COUNT(*) FROM node_tasks WHERE state = 'done'").await;
        assert_eq!((sent, node.runtime.counts().starts), (1, 1));
        node.kill().await;
        crate::execute(&p, "UPDATE platform SET era = era + 1").await;
        node.start(gpuaas_faults::Faults::none()).await;
        p.wait_ready(&node).await;
        p.until("the order was sent again", async || {
            crate::count(&p, "SELECT COUNT(*) FROM node_tasks WHERE attempts > 1 AND state = 'done'").await == 1
        }).await;
        assert_eq!(ready.instance(&p.admin, &id).await["components"], before);
        assert_eq!(node.runtime.counts().starts, 1, "nothing was restarted");
        p.admin.call(Route::InstanceStop, &[&ready.home.project, &id], None).await.expect(202);
        ready.reaches(&p, &id, "stopped").await;
    }

    /// J-02, J-08, J-09: a declared port is reached through the data link; what is not declared is not reachable.
    async fn a_private_tunnel_reaches_declared_ports_only(p: TestPlatform) {
        use futures_util::{SinkExt as _, StreamExt as _};
        use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
        use tokio_tungstenite::tungstenite::{Message, client::IntoClientRequest as _};
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (node, ready, id) = launched(&p, "hello").await;
        node.serve("main", 8080, address);
        let echo = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut bytes = [0; 5];
            stream.read_exact(&mut bytes).await.unwrap();
            stream.write_all(&bytes).await.unwrap();
        };
        let open = async |query: &str| {
            let path = Route::InstanceForward.path(&[&ready.home.project, &id]);
            let url = format!("{}{path}{query}", p.running.public_url.replace("http://", "ws://"));
            let mut request = url.into_client_request().unwrap();
            request.headers_mut().insert("authorization", p.admin.header("authorization").unwrap().parse().unwrap());
            tokio_tungstenite::connect_async(request).await
        };
        let call = async {
            let (mut socket, _) = open("?port=8080").await.expect("the tunnel opens");
            socket.send(Message::Binary("hello".into())).await.unwrap();
            loop {
                match socket.next().await.unwrap().unwrap() {
                    Message::Binary(bytes) => { assert_eq!(&bytes[..], b"hello"); break; }
                    Message::Close(_) => panic!("closed before the answer"),
                    _ => {}
                }
            }
        };
        tokio::join!(echo, call);
        for query in ["?port=22", "?port=8080&component=other"] {
            let refused = open(query).await.expect_err("not declared");
            assert!(refused.to_string().contains("409"), "{query}: {refused}");
        }
    }
}
