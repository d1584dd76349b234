//! Volumes through the front door: created, mounted, held, given back, deleted, lost.

use std::path::PathBuf;
use std::time::Duration;

use futures_util::future::join_all;
use gpuaas_agent_protocol::receipt::{self, SignedReceipt};
use gpuaas_api::Route;
use gpuaas_faults::{Action, Faults};
use gpuaas_testkit::{Answer, Caller, Place, Ready, SimulatedNode, TestPlatform, both_databases, manifest};
use serde_json::{Value, json};

/// A project with an app that declares places for storage, on a node.
struct Scene {
    node: SimulatedNode,
    ready: Ready,
}

impl Scene {
    async fn build(p: &TestPlatform) -> Self {
        let node = p.node("one").await;
        let ready = p.ready("hello").await;
        let mut app = manifest("notebook", "1.0.0");
        app["resources"] = json!({"mounts": [
            {"name": "workspace", "path": "/workspace", "kind": "workspace"},
            {"name": "corpus", "path": "/data/corpus", "kind": "data", "read_only": true},
        ]});
        p.publish(&app, &ready.home.project).await;
        Self { node, ready }
    }

    fn project(&self) -> &str {
        &self.ready.home.project
    }

    fn wish(&self, mounts: &Value) -> Value {
        json!({"slug": "notebook", "target_allocation_id": self.ready.allocation, "mounts": mounts,
               "resources": {"cpu_millis": 100, "memory_mib": 64}})
    }

    async fn create(&self, caller: &Caller, name: &str) -> Answer {
        let body = json!({"name": name, "allocation_id": self.ready.allocation, "size_mib": 1024});
        caller.call(Route::VolumeCreate, &[self.project()], Some(&body)).await
    }

    async fn volume(&self, p: &TestPlatform, id: &str) -> Value {
        p.admin.call(Route::VolumeGet, &[self.project(), id], None).await.expect(200).body
    }

    async fn delete(&self, p: &TestPlatform, id: &str) -> Answer {
        p.admin.call(Route::VolumeDelete, &[self.project(), id], None).await
    }

    async fn launch(&self, p: &TestPlatform, mounts: &Value) -> Answer {
        p.admin.call(Route::InstanceCreate, &[self.project()], Some(&self.wish(mounts))).await
    }

    async fn running(&self, p: &TestPlatform, mounts: &Value) -> String {
        let id = self.launch(p, mounts).await.expect(202).id();
        self.ready.reaches(p, &id, "running").await;
        id
    }

    async fn end(&self, p: &TestPlatform, id: &str) {
        p.admin.call(Route::InstanceDecommission, &[self.project(), id], None).await.expect(202);
        self.ready.ended(p, id).await;
    }

    async fn reaches(&self, p: &TestPlatform, id: &str, state: &str) {
        p.until(&format!("volume {id} is {state}"), async || self.volume(p, id).await["state"] == state)
            .await;
    }

    async fn away(&mut self, p: &TestPlatform) {
        self.node.kill().await;
        p.until("the node is away", async || {
            p.admin.call(Route::NodeGet, &[&self.node.id], None).await.expect(200).body["ready"] == false
        })
        .await;
    }

    fn folder(&self, id: &str) -> PathBuf {
        self.node.volumes().join(id)
    }
}

fn workspace(id: &str) -> Value {
    json!({"workspace": {"kind": "volume", "volume_id": id}})
}

fn fault<'a>(answer: &'a Answer, path: &str) -> &'a str {
    let fields = answer.body["error"]["fields"].as_array().map_or(&[][..], Vec::as_slice);
    let found = fields.iter().find(|field| field["path"] == path);
    found.and_then(|field| field["code"].as_str()).unwrap_or("(none)")
}

both_databases! {
    /// I-06, I-07, I-08, P-01, P-03, H-06: a workspace outlives its instance, and is shown wherever a launch is.
    async fn a_workspace_outlives_its_instance(p: TestPlatform) {
        let scene = Scene::build(&p).await;
        let project = scene.project();
        let made = scene.create(&p.admin, "home").await.expect(201);
        let id = made.id();
        assert_eq!((&made.body["state"], &made.body["node_id"], &made.body["size_mib"]), (&json!("ready"), &json!(scene.node.id), &json!(1024)));
        assert_eq!(made.header("etag"), Some("\"1\""));
        let listed = p.admin.call(Route::VolumeList, &[project], None).await.expect(200);
        assert_eq!(listed.body["items"][0]["name"], "home");
        let node = p.admin.call(Route::NodeGet, &[&scene.node.id], None).await.expect(200);
        assert_eq!(node.body["volumes"], json!([id]), "who forgets the node sees what is lost with it");

        let form = p.admin.call(Route::AppForm, &[project, "notebook"], Some(&json!({}))).await.expect(200).body;
        let choices = &form["mounts"][0]["choices"];
        assert_eq!((&choices[0]["kind"], &choices[1]["volume_id"], &choices[1]["fits"]), (&json!("scratch"), &json!(id), &json!(true)), "{choices}");
        let form = p.admin.call(Route::AppForm, &[project, "notebook"], Some(&json!({"mounts": workspace(&id)}))).await.expect(200).body;
        assert_eq!((&form["launchable"], &form["request"]["mounts"]), (&json!(true), &workspace(&id)), "{}", form["errors"]);
        assert!(form["command"].as_str().unwrap().ends_with(" --mount workspace=volume:home"), "{}", form["command"]);
        let plan = p.admin.call(Route::InstancePlan, &[project], Some(&scene.wish(&workspace(&id)))).await.expect(200).body["plan"].clone();
        assert_eq!(plan["rendered"]["components"][0]["volumes"], json!([{"id": id, "path": "/workspace", "read_only": false}]));
        assert_eq!(plan["rendered"]["components"][0]["scratch"], json!([{"name": "corpus", "path": "/data/corpus"}]));
        assert_eq!(plan["mounts"][0]["volume_name"], "home");

        let first = scene.running(&p, &workspace(&id)).await;
        let seen = scene.ready.instance(&p.admin, &first).await;
        assert_eq!(seen["mounts"], json!([
            {"name": "workspace", "path": "/workspace", "kind": "workspace", "read_only": false, "source": {"kind": "volume", "volume_id": id}, "volume_name": "home"},
            {"name": "corpus", "path": "/data/corpus", "kind": "data", "read_only": true, "source": {"kind": "scratch"}},
        ]));
        let held = scene.volume(&p, &id).await;
        assert_eq!((&held["attachments"][0]["instance_id"], &held["attachments"][0]["mount"]), (&json!(first), &json!("workspace")));
        std::fs::write(scene.folder(&id).join("notes"), "kept").unwrap();
        scene.end(&p, &first).await;
        let receipt = p.admin.call(Route::InstanceReceipt, &[project, &first], None).await.expect(200);
        let payload: Value = serde_json::from_str(receipt.body["payload"].as_str().unwrap()).unwrap();
        assert_eq!(payload["volumes_kept"], json!([id]), "the receipt says what stays");
        assert_eq!(scene.volume(&p, &id).await["attachments"], json!([]));

        let second = scene.running(&p, &workspace(&id)).await;
        assert_eq!(std::fs::read_to_string(scene.folder(&id).join("notes")).unwrap(), "kept");
        let refused = scene.delete(&p, &id).await.expect_error(409, "volume_in_use");
        assert_eq!(refused.body["error"]["params"]["instances"][0]["id"], json!(second), "who holds it is named");
        scene.end(&p, &second).await;
        let version = scene.volume(&p, &id).await["version"].clone();
        let stale = p.admin.clone().with_header("if-match", "\"9\"");
        stale.call(Route::VolumeDelete, &[project, &id], None).await.expect_error(412, "stale_version");
        let current = p.admin.clone().with_header("if-match", &format!("\"{version}\""));
        assert_eq!(current.call(Route::VolumeDelete, &[project, &id], None).await.expect(202).body["state"], "deleting");
        scene.reaches(&p, &id, "deleted").await;
        assert!(!scene.folder(&id).exists(), "the bytes are gone");
        let gone = scene.volume(&p, &id).await;
        let signed: SignedReceipt = serde_json::from_value(gone["receipt"].clone()).unwrap();
        let key = {
            let mut session = p.store().read().await.unwrap();
            session.find_node_key(scene.node.id.parse().unwrap()).await.unwrap().unwrap().1
        };
        let proof = receipt::open(&signed, &key).expect("the node signed it");
        assert!(proof.left.is_nothing() && proof.instance_id.to_string() == id);
        assert_eq!(p.admin.call(Route::VolumeList, &[project], None).await.expect(200).body["items"], json!([]));
        let ended = p.admin.get(&format!("{}?state=deleted", Route::VolumeList.path(&[&project]))).await.expect(200);
        assert_eq!(ended.body["items"][0]["id"], json!(id));
        scene.create(&p.admin, "home").await.expect(201);
        assert_eq!(scene.delete(&p, &id).await.expect(202).body["state"], "deleted", "asked again, nothing happens");

        p.settle().await;
        let events = p.admin.get(&format!("/api/v1/projects/{project}/events?limit=200")).await.expect(200);
        let kinds: Vec<&str> = events.body["items"].as_array().unwrap().iter()
            .filter(|event| event["data"]["volume_id"] == json!(id)).map(|event| event["type"].as_str().unwrap()).collect();
        assert_eq!(kinds, ["volumes.created", "volumes.deleting", "volumes.deleted"]);
        let trail = p.admin.get(&format!("/api/v1/audit?object_id={id}&limit=50")).await.expect(200);
        let actions: Vec<&str> = trail.body["items"].as_array().unwrap().iter().map(|row| row["action"].as_str().unwrap()).collect();
        assert!(["volumes.create", "volumes.delete", "volumes.removed"].iter().all(|one| actions.contains(one)), "{actions:?}");
    }

    /// I-06: one writes, others read; a stop gives the volume back and a start has to get it again.
    async fn a_volume_has_one_writer_and_a_stop_gives_it_back(p: TestPlatform) {
        let scene = Scene::build(&p).await;
        let project = scene.project();
        let id = scene.create(&p.admin, "home").await.expect(201).id();
        let first = scene.running(&p, &workspace(&id)).await;
        let refused = scene.launch(&p, &workspace(&id)).await.expect_error(409, "volume_in_use");
        assert_eq!(fault(&refused, "/mounts/workspace/volume_id"), "volume_in_use", "{}", refused.text);
        let form = p.admin.call(Route::AppForm, &[project, "notebook"], Some(&json!({"mounts": workspace(&id)}))).await.expect(200).body;
        assert_eq!((&form["launchable"], &form["errors"][0]["code"]), (&json!(false), &json!("volume_in_use")));
        let reader = json!({"workspace": {"kind": "volume", "volume_id": id, "read_only": true}});
        let second = scene.running(&p, &reader).await;
        let third = scene.running(&p, &json!({"corpus": {"kind": "volume", "volume_id": id}})).await;
        assert_eq!(scene.volume(&p, &id).await["attachments"].as_array().unwrap().len(), 3);
        for instance in [&second, &third] {
            scene.end(&p, instance).await;
        }

        p.admin.call(Route::InstanceStop, &[project, &first], None).await.expect(202);
        scene.ready.reaches(&p, &first, "stopped").await;
        let other = scene.running(&p, &workspace(&id)).await;
        p.admin.call(Route::InstanceStart, &[project, &first], None).await.expect_error(409, "volume_in_use");
        assert_eq!(scene.ready.instance(&p.admin, &first).await["status"], "stopped", "a refused start changes nothing");
        scene.end(&p, &other).await;
        p.admin.call(Route::InstanceStart, &[project, &first], None).await.expect(202);
        scene.ready.reaches(&p, &first, "running").await;
        assert_eq!(scene.volume(&p, &id).await["attachments"][0]["instance_id"], json!(first));
        // Ten at once: one gets it, and the database says so.
        scene.end(&p, &first).await;
        let (racing, place) = (scene.wish(&workspace(&id)), [project]);
        let answers = join_all((0..10).map(|_| p.admin.call(Route::InstanceCreate, &place, Some(&racing)))).await;
        assert_eq!(answers.iter().filter(|answer| answer.status == 202).count(), 1);
        for answer in answers.into_iter().filter(|answer| answer.status != 202) {
            answer.expect_error(409, "volume_in_use");
        }
        assert_eq!(crate::count(&p, "SELECT COUNT(*) FROM volume_attachments WHERE released_at IS NULL").await, 1);
    }

    /// T-03, T-07, U-07, I-07: what cannot be chosen is refused with its code and place, and nothing is launched.
    async fn wrong_choices_are_named(p: TestPlatform) {
        let scene = Scene::build(&p).await;
        let project = scene.project();
        let id = scene.create(&p.admin, "home").await.expect(201).id();
        let nobody = "01890000-0000-7000-8000-000000000000";
        let rival = p.admin.create_project(&scene.ready.home.tenant, "rival").await;
        p.sku("rival-sku", 1).await;
        let theirs = p.allocation(&rival, "rival-sku").await;
        let body = json!({"name": "theirs", "allocation_id": theirs});
        let foreign = p.admin.call(Route::VolumeCreate, &[&rival], Some(&body)).await.expect(201).id();
        for (mounts, status, code, path, field) in [
            (json!({"root": {"kind": "scratch"}}), 400, "validation_failed", "/mounts/root", "unknown_mount"),
            (workspace(nobody), 400, "validation_failed", "/mounts/workspace/volume_id", "unknown_volume"),
            (workspace(&foreign), 400, "validation_failed", "/mounts/workspace/volume_id", "unknown_volume"),
            (json!({"workspace": {"kind": "volume", "volume_id": id}, "corpus": {"kind": "volume", "volume_id": id}}), 400, "validation_failed", "/mounts/corpus", "volume_mounted_twice"),
            (json!({"workspace": "/home/me"}), 400, "workspace_path_not_allowed", "/mounts/workspace", "workspace_path_not_allowed"),
            (json!({"workspace": {"kind": "volume", "volume_id": id, "path": "/etc"}}), 400, "workspace_path_not_allowed", "/mounts/workspace/path", "workspace_path_not_allowed"),
            (json!([{"source": "/", "target": "/host"}]), 400, "host_mount_not_allowed", "/mounts", "host_mount_not_allowed"),
        ] {
            for (route, parameters) in [(Route::InstanceCreate, vec![project]), (Route::InstancePlan, vec![project])] {
                let answer = p.admin.call(route, &parameters, Some(&scene.wish(&mounts))).await.expect_error(status, code);
                assert_eq!(fault(&answer, path), field, "{}", answer.text);
            }
            let form = p.admin.call(Route::AppForm, &[project, "notebook"], Some(&json!({"mounts": mounts}))).await;
            if code == "validation_failed" {
                let errors = form.expect(200).body["errors"].clone();
                assert!(errors.as_array().unwrap().iter().any(|one| one["path"] == path && one["code"] == field), "{errors}");
            } else {
                form.expect_error(400, code);
            }
        }
        // Another node than the allocation's.
        let _second = p.node("two").await;
        let whole = json!({"slug": "whole", "shape": "baremetal", "gpu_count": 0, "vcpu": 1, "memory_mib": 512, "grant_policy": "auto"});
        p.admin.call(Route::SkuCreate, &[], Some(&whole)).await.expect(201);
        let elsewhere = p.allocation(project, "whole").await;
        let mut wish = scene.wish(&workspace(&id));
        wish["target_allocation_id"] = json!(elsewhere);
        let answer = p.admin.call(Route::InstanceCreate, &[project], Some(&wish)).await.expect_error(409, "volume_on_other_node");
        assert_eq!(fault(&answer, "/mounts/workspace/volume_id"), "volume_on_other_node");
        assert_eq!(crate::count(&p, "SELECT COUNT(*) FROM app_instances").await, 0);
        // And what is no volume.
        for (body, code, path) in [
            (json!({"name": "No Slug", "allocation_id": scene.ready.allocation}), "validation_failed", "/name"),
            (json!({"name": "more", "allocation_id": theirs}), "validation_failed", "/allocation_id"),
            (json!({"name": "more", "allocation_id": scene.ready.allocation, "size_mib": 0}), "validation_failed", "/size_mib"),
        ] {
            let answer = p.admin.call(Route::VolumeCreate, &[project], Some(&body)).await.expect_error(400, code);
            assert_ne!(fault(&answer, path), "(none)", "{}", answer.text);
        }
        scene.create(&p.admin, "home").await.expect_error(409, "name_taken");
        p.admin.call(Route::ProjectLimitSet, &[project, "volumes"], Some(&json!({"value": 1}))).await.expect(200);
        scene.create(&p.admin, "more").await.expect_error(409, "limit_reached");
        let held = p.admin.call(Route::ProjectDelete, &[&rival], None).await.expect_error(409, "has_live_objects");
        assert!(held.text.contains("allocation"), "{}", held.text);
        p.admin.call(Route::AllocationRelease, &[&rival, &theirs], None).await.expect(200);
        p.until("the allocation is released", async || {
            p.admin.call(Route::AllocationGet, &[&rival, &theirs], None).await.expect(200).body["state"] == "released"
        }).await;
        let held = p.admin.call(Route::ProjectDelete, &[&rival], None).await.expect_error(409, "has_live_objects");
        assert!(held.text.contains("theirs"), "a volume outlives its allocation, and keeps its project: {}", held.text);
        p.admin.call(Route::VolumeCreate, &[&rival], Some(&json!({"name": "late", "allocation_id": theirs}))).await.expect_error(409, "allocation_not_active");
    }

    /// A01, A02, K-02: another project's, another tenant's and the wrong role's callers get nothing and learn nothing.
    async fn volumes_are_the_projects_own(p: TestPlatform) {
        let scene = Scene::build(&p).await;
        let project = scene.project();
        let id = scene.create(&p.admin, "home").await.expect(201).id();
        let rival = p.admin.create_project(&scene.ready.home.tenant, "rival").await;
        let (neighbour, _) = p.member("nina", "project-admin", Place::Project(&rival)).await;
        let other = p.home("other").await;
        let (stranger, _) = p.member("sven", "tenant-admin", Place::Tenant(&other.tenant)).await;
        for (caller, own) in [(&neighbour, &rival), (&stranger, &other.project)] {
            for route in [Route::VolumeGet, Route::VolumeDelete] {
                caller.call(route, &[project, &id], None).await.expect_error(404, "not_found");
                caller.call(route, &[own, &id], None).await.expect_error(404, "not_found");
            }
            caller.call(Route::VolumeList, &[project], None).await.expect_error(404, "not_found");
            assert_eq!(caller.call(Route::VolumeList, &[own], None).await.expect(200).body["items"], json!([]));
        }
        // Who works in a project makes volumes; who answers for it deletes them.
        let (user, _) = p.member("uma", "project-user", Place::Project(project)).await;
        let mine = scene.create(&user, "mine").await.expect(201).id();
        user.call(Route::VolumeGet, &[project, &mine], None).await.expect(200);
        user.call(Route::VolumeDelete, &[project, &mine], None).await.expect_error(403, "permission_denied");
        let (operator, _) = p.member("olga", "app-operator", Place::Project(project)).await;
        operator.call(Route::VolumeDelete, &[project, &mine], None).await.expect(202);
        let (reader, _) = p.member("rita", "app", Place::Project(project)).await;
        reader.call(Route::VolumeGet, &[project, &id], None).await.expect_error(403, "permission_denied");
        let (account, pair) = p.admin.create_service_account(project, "robot", &["app-operator"]).await;
        let machine = p.machine(&account, &pair).await;
        let made = scene.create(&machine, "ci").await.expect(201);
        assert_eq!(made.body["created_by_kind"], "service_account");
        machine.call(Route::VolumeDelete, &[project, &made.id()], None).await.expect(202);
    }

    /// H-06, C-16: a deletion waits for its node, is shown so, and survives the death of the agent.
    async fn a_deletion_waits_for_its_node(p: TestPlatform) {
        let mut scene = Scene::build(&p).await;
        let id = scene.create(&p.admin, "home").await.expect(201).id();
        let instance = scene.running(&p, &workspace(&id)).await;
        std::fs::write(scene.folder(&id).join("notes"), "bytes").unwrap();
        scene.end(&p, &instance).await;
        scene.away(&p).await;
        assert_eq!(scene.delete(&p, &id).await.expect(202).body["state"], "deleting");
        p.settle().await;
        let waiting = scene.volume(&p, &id).await;
        assert_eq!((&waiting["state"], &waiting["node_connected"], &waiting["problem"]), (&json!("deleting"), &json!(false), &json!("the node is away")));
        assert!(scene.folder(&id).join("notes").exists());
        scene.create(&p.admin, "home").await.expect_error(409, "name_taken");
        scene.launch(&p, &workspace(&id)).await.expect_error(409, "node_not_ready");
        // Killed after the folder was set aside and before it was empty.
        let faults = Faults::at("agent.volume_bytes", Action::Die, 1);
        scene.node.start(faults.clone()).await;
        p.wait_ready(&scene.node).await;
        scene.launch(&p, &workspace(&id)).await.expect_error(409, "volume_not_ready");
        p.until("the agent has died", async || faults.spent()).await;
        scene.node.kill().await;
        assert_eq!(scene.volume(&p, &id).await["state"], "deleting", "nobody has said that it is gone");
        scene.node.start(Faults::none()).await;
        scene.reaches(&p, &id, "deleted").await;
        assert_eq!(std::fs::read_dir(scene.node.volumes()).unwrap().count(), 0);
        assert_eq!(crate::count(&p, "SELECT COUNT(*) FROM volume_tasks WHERE state <> 'done'").await, 0);
    }

    /// C-16: after a forced end nobody knows whether the app still writes: the volume stays held until the node has swept.
    async fn a_forced_end_holds_the_volume_until_the_sweep(p: TestPlatform) {
        let mut scene = Scene::build(&p).await;
        let id = scene.create(&p.admin, "home").await.expect(201).id();
        let instance = scene.running(&p, &workspace(&id)).await;
        scene.away(&p).await;
        let reason = json!({"reason": "it does not answer"});
        p.admin.call(Route::InstanceForceDecommission, &[scene.project(), &instance], Some(&reason)).await.expect(202);
        scene.delete(&p, &id).await.expect_error(409, "volume_in_use");
        scene.node.start(Faults::none()).await;
        p.until("the node has swept", async || scene.volume(&p, &id).await["attachments"] == json!([])).await;
        scene.delete(&p, &id).await.expect(202);
        scene.reaches(&p, &id, "deleted").await;
    }

    /// I-08: what lies on a node that is given up is lost, and says so; its name is free once it is deleted.
    async fn volumes_are_lost_with_their_node(p: TestPlatform) {
        let mut scene = Scene::build(&p).await;
        let project = scene.project().to_owned();
        let kept = scene.create(&p.admin, "home").await.expect(201).id();
        let leaving = scene.create(&p.admin, "old").await.expect(201).id();
        scene.away(&p).await;
        scene.delete(&p, &leaving).await.expect(202);
        let faults = Faults::at("upkeep.volume", Action::Error, 1);
        p.plane().break_at(faults.clone());
        p.admin.call(Route::NodeRevoke, &[&scene.node.id], Some(&json!({"reason": "stolen"}))).await.expect(200);
        for id in [&kept, &leaving] {
            scene.reaches(&p, id, "lost").await;
        }
        assert!(faults.spent());
        p.plane().break_at(Faults::none());
        assert_eq!(crate::count(&p, "SELECT COUNT(*) FROM volume_tasks WHERE state IN ('queued', 'sent')").await, 0);
        let again = json!({"name": "home", "allocation_id": scene.ready.allocation});
        p.admin.call(Route::VolumeCreate, &[&project], Some(&again)).await.expect_error(409, "allocation_not_active");
        assert_eq!(scene.delete(&p, &kept).await.expect(202).body["state"], "deleted");
        assert_eq!(scene.volume(&p, &kept).await["receipt"], Value::Null, "nobody attests what nobody saw");
        p.settle().await;
        let events = p.admin.get(&format!("/api/v1/projects/{project}/events?limit=200")).await.expect(200);
        let lost = events.body["items"].as_array().unwrap().iter().filter(|event| event["type"] == "volumes.lost").count();
        assert_eq!(lost, 2);
    }

    /// The same when a node is forgotten with a volume in use.
    async fn a_forgotten_node_takes_its_volumes_along(p: TestPlatform) {
        let scene = Scene::build(&p).await;
        let id = scene.create(&p.admin, "home").await.expect(201).id();
        let instance = scene.running(&p, &workspace(&id)).await;
        p.plane().break_at(Faults::at("upkeep.volume", Action::Twice, 1));
        p.admin.call(Route::NodeForget, &[&scene.node.id], None).await.expect(204);
        scene.reaches(&p, &id, "lost").await;
        scene.ready.reaches(&p, &instance, "failed").await;
        assert_eq!(scene.volume(&p, &id).await["attachments"], json!([]));
    }

    /// A node speaks for its own volumes only, and only a receipt ends one.
    async fn nobody_is_believed_about_a_volume_without_proof(p: TestPlatform) {
        let mut scene = Scene::build(&p).await;
        let liar = p.node("liar").await;
        let id = scene.create(&p.admin, "home").await.expect(201).id();
        scene.away(&p).await;
        scene.delete(&p, &id).await.expect(202);
        let claim = json!({"run_id": p.clock.uuid(), "full": false, "instances": [{"instance_id": id, "generation": 1, "era": 9, "phase": "removed", "observed_at": 1}]});
        for node in [&liar, &scene.node] {
            node.caller(&p.anonymous()).await.call(Route::NodeReportPost, &[], Some(&claim)).await.expect(204);
        }
        assert_eq!(scene.volume(&p, &id).await["state"], "deleting");
        scene.node.start(Faults::none()).await;
        scene.reaches(&p, &id, "deleted").await;
    }

    /// C01, C03: every step of the control plane that a deletion passes, broken in every way: the bytes go once, and it is said.
    async fn no_broken_step_loses_a_deletion(p: TestPlatform) {
        let scene = Scene::build(&p).await;
        let mut number = 0;
        for point in ["api.commit", "api.answer", "dispatch.sign", "dispatch.send", "dispatch.note", "report.volume"] {
            for action in [Action::Error, Action::Twice, Action::Stall(Duration::from_millis(20))] {
                number += 1;
                let id = scene.create(&p.admin, &format!("v{number}")).await.expect(201).id();
                std::fs::create_dir(scene.folder(&id)).unwrap();
                std::fs::write(scene.folder(&id).join("notes"), "bytes").unwrap();
                let faults = Faults::at(point, action, 1);
                p.plane().break_at(faults.clone());
                let caller = p.admin.clone().with_header("idempotency-key", &format!("delete-{number}"));
                let mut answer = caller.call(Route::VolumeDelete, &[scene.project(), &id], None).await;
                if answer.status == 500 {
                    answer = caller.call(Route::VolumeDelete, &[scene.project(), &id], None).await;
                }
                answer.expect(202);
                scene.reaches(&p, &id, "deleted").await;
                assert!(faults.spent(), "{point} {action:?} was not met");
                assert!(!scene.folder(&id).exists());
            }
        }
        p.plane().break_at(Faults::none());
        assert_eq!(crate::count(&p, "SELECT COUNT(*) FROM volume_tasks WHERE state <> 'done'").await, 0);
        assert_eq!(crate::count(&p, "SELECT COUNT(*) FROM events WHERE kind = 'volumes.deleted'").await, number);
    }

    /// A node that lost its journal is told again, and says again that the volume is gone.
    async fn a_lost_journal_is_told_again(p: TestPlatform) {
        let mut scene = Scene::build(&p).await;
        let id = scene.create(&p.admin, "home").await.expect(201).id();
        scene.away(&p).await;
        scene.delete(&p, &id).await.expect(202);
        crate::execute(&p, "UPDATE volume_tasks SET state = 'sent'").await;
        scene.node.start(Faults::none()).await;
        scene.reaches(&p, &id, "deleted").await;
    }
}
