//! What cannot be launched, registered or allocated, and the exact words of each refusal.

use gpuaas_api::Route;
use gpuaas_testkit::{DIGEST, Place, TestPlatform, both_databases, manifest};
use serde_json::{Value, json};

/// The code of the first fault at a path, or the code of the whole answer.
fn fault<'a>(body: &'a Value, path: &str) -> &'a str {
    let fields = body["error"]["fields"].as_array().map_or(&[][..], Vec::as_slice);
    fields
        .iter()
        .find(|field| field["path"] == path)
        .and_then(|field| field["code"].as_str())
        .unwrap_or("(none)")
}

both_databases! {
    /// T-01..T-05, T-10: a manifest that may not be is refused with its canonical code and pointer, and
    /// nothing of it is stored.
    async fn manifests_are_refused_by_name(p: TestPlatform) {
        let changed = |change: fn(&mut Value)| {
            let mut document = manifest("hello", "1.0.0");
            change(&mut document);
            document
        };
        for (document, code, path) in [
            (changed(|m| m["runtime_profile"]["image_ref"] = json!("registry.example.org/apps/hello:latest")), "digest_required", "/runtime_profile/image_ref"),
            (changed(|m| m["runtime_profile"]["privileged"] = json!(true)), "privileged_not_allowed", "/runtime_profile/privileged"),
            (changed(|m| m["runtime_profile"]["cap_add"] = json!(["SYS_ADMIN"])), "privileged_not_allowed", "/runtime_profile/cap_add"),
            (changed(|m| m["runtime_profile"]["volumes"] = json!(["/:/host"])), "host_mount_not_allowed", "/runtime_profile/volumes"),
            (changed(|m| m["services"] = json!({"a": {"image": "x"}})), "unsupported_compose_yaml", "/services"),
            (changed(|m| m["runtime_profile"]["env"] = json!([{"name": "HF_TOKEN", "value": "hf_abcdefghijklmnopqrstuvwxyz0123456789"}])), "raw_secret_not_allowed", "/runtime_profile/env/0/value"),
            (changed(|m| {
                let foreign = format!("evil.example.org/apps/hello@{DIGEST}");
                m["runtime_profile"]["image_ref"] = json!(foreign);
                m["artifact_ref"] = json!(foreign);
            }), "image_source_not_allowed", "/artifact_ref"),
        ] {
            let answer = p.admin.call(Route::ManifestRegister, &[], Some(&document)).await.expect(400);
            assert_eq!(answer.code(), code, "{}", answer.text);
            assert_eq!(fault(&answer.body, path), code, "{}", answer.text);
            assert!(!answer.text.contains("hf_abc"), "the value is not repeated: {}", answer.text);
        }
        let unknown = changed(|m| m["runtime_profile"]["comand"] = json!([]));
        let answer = p.admin.call(Route::ManifestRegister, &[], Some(&unknown)).await.expect_error(400, "validation_failed");
        assert_eq!(fault(&answer.body, "/runtime_profile/comand"), "unknown_field");
        assert!(answer.text.contains("command"), "the nearest name is offered: {}", answer.text);
        p.admin.send_raw("POST", "/api/v1/admin/apps/manifests", Some((b"slug: [".to_vec(), "application/yaml"))).await.expect(400);
        p.admin.send_raw("POST", "/api/v1/admin/apps/manifests", Some((b"x".to_vec(), "text/plain"))).await.expect_error(415, "unsupported_media_type");
        assert_eq!(p.admin.call(Route::CatalogList, &[], None).await.expect(200).body["items"], json!([]));
    }

    /// the seeds' sample registers unchanged where its registry is configured, once its digest is real.
    async fn the_sample_of_the_papers_registers(p: TestPlatform) {
        let p = p.with_registry("registry.gpuaas.example.com").await;
        let image = format!("registry.gpuaas.example.com/apps/jupyter-cuda-dev@{DIGEST}");
        let sample = json!({
            "slug": "jupyter-cuda-dev", "display_name": "Jupyter (CUDA dev)", "version": "1.4.2", "artifact_kind": "oci", "artifact_ref": image,
            "compatibility": {"requires_capacity_shape": ["baremetal", "gpu_slice"], "min_gpu_count": 1, "requires_exclusive_node": false, "supported_accelerators": ["nvidia"]},
            "runtime_profile": {"kind": "launchable_oci", "image_ref": image, "command": ["jupyter", "lab", "--ip=0.0.0.0", "--port=8888"],
                "env": [{"name": "GRANT_SUDO", "value": "no"}], "ports": [{"container": 8888, "expose": "embedded_ui_gateway"}],
                "resources": {"min_memory_mib": 4096, "min_vcpu": 4}},
            "ui": {"extension_kind": "embedded", "path": "/lab"}, "metering": {"kind": "session_seconds"}
        });
        let made = p.admin.call(Route::ManifestRegisterAlias, &[], Some(&sample)).await.expect(201);
        assert_eq!((&made.body["manifest"], &made.body["status"]), (&sample, &json!("draft")));
        let seen = p.admin.call(Route::CatalogVersionGet, &["jupyter-cuda-dev", "1.4.2"], None).await.expect(200);
        assert_eq!(seen.body["manifest"], sample);
        // E-20: a draft may be written again; what has been published may not.
        let mut next = sample.clone();
        next["display_name"] = json!("Jupyter, again");
        let again = p.admin.call(Route::ManifestRegister, &[], Some(&next)).await.expect(201);
        assert_eq!((&again.body["id"], &again.body["version"]), (&made.body["id"], &json!(2)));
        assert_ne!(again.body["manifest_digest"], made.body["manifest_digest"]);
        p.admin.call(Route::AppPublish, &["jupyter-cuda-dev", "1.4.2"], None).await.expect_error(409, "artifact_not_registered");
        let home = p.home("acme").await;
        p.stock(&sample, &home.project).await;
        p.admin.call(Route::AppPublish, &["jupyter-cuda-dev", "1.4.2"], None).await.expect(200);
        p.admin.call(Route::ManifestRegister, &[], Some(&sample)).await.expect_error(409, "version_exists");
        let seen = p.admin.call(Route::CatalogVersionGet, &["jupyter-cuda-dev", "1.4.2"], None).await.expect(200);
        assert_eq!(seen.body["manifest"], next);
    }

    /// E-01, E-03, E-04, E-13, E-15, E-22, K-11: ladder and entitlements.
    async fn versions_climb_and_projects_are_entitled(p: TestPlatform) {
        let _node = p.node("one").await;
        let ready = p.ready("hello").await;
        let (project, tenant) = (&ready.home.project, &ready.home.tenant);
        p.admin.call(Route::AppMove, &["hello", "1.0.0"], Some(&json!({"to": "retired"}))).await.expect_error(409, "illegal_version_move");
        p.settle().await;
        let trail = p.admin.get("/api/v1/audit?action=apps.publish&limit=50").await.expect(200);
        assert_eq!(trail.body["items"].as_array().unwrap().len(), 3, "draft to staged to canary to active");

        // The raw catalog is for everybody; the project's page shows what it may launch.
        p.admin.call(Route::ManifestRegister, &[], Some(&manifest("other", "1.0.0"))).await.expect(201);
        let (member, _) = p.member("mia", "project-user", Place::Project(project)).await;
        let raw = member.call(Route::CatalogList, &[], None).await.expect(200);
        assert_eq!(raw.body["items"].as_array().unwrap().len(), 2);
        let page = member.call(Route::ProjectCatalog, &[project], None).await.expect(200);
        assert_eq!(page.body["items"].as_array().unwrap().len(), 1);
        assert_eq!(page.body["items"][0]["slug"], "hello");

        // A project admin may narrow, not widen.
        let (pat, _) = p.member("pat", "project-admin", Place::Project(project)).await;
        let (tia, _) = p.member("tia", "tenant-admin", Place::Tenant(tenant)).await;
        pat.call(Route::EntitlementSet, &[project, "other"], Some(&json!({"enabled": true}))).await.expect_error(403, "entitlement_not_allowed");
        pat.call(Route::EntitlementSet, &[project, "hello"], Some(&json!({"enabled": false}))).await.expect(200);
        ready.launch(&member).await.expect_error(403, "not_entitled");
        pat.call(Route::EntitlementSet, &[project, "hello"], Some(&json!({"enabled": true, "versions": ["1.0.0"]}))).await.expect(200);
        tia.call(Route::EntitlementSet, &[project, "hello"], Some(&json!({"enabled": false}))).await.expect(200);
        ready.launch(&member).await.expect_error(403, "not_entitled");
        tia.call(Route::EntitlementSet, &[project, "hello"], Some(&json!({"enabled": true}))).await.expect(200);
        let id = ready.launch(&member).await.expect(202).id();
        ready.reaches(&p, &id, "running").await;

        // Deprecated: no new instance, the old one goes on and can be restarted.
        p.admin.call(Route::AppDeprecate, &["hello", "1.0.0"], Some(&json!({"reason": "superseded"}))).await.expect(200);
        let mut wish = ready.wish();
        wish["app_version"] = json!("1.0.0");
        p.admin.call(Route::InstanceCreate, &[project], Some(&wish)).await.expect_error(409, "version_not_launchable");
        member.call(Route::InstanceStop, &[project, &id], None).await.expect(202);
        ready.reaches(&p, &id, "stopped").await;
        member.call(Route::InstanceStart, &[project, &id], None).await.expect(202);
        ready.reaches(&p, &id, "running").await;
        p.admin.call(Route::AppMove, &["hello", "1.0.0"], Some(&json!({"to": "retired"}))).await.expect_error(409, "has_live_objects");
    }

    /// I-02..I-04, I-10, I-12, H-11, H-34, O-10, T-16: every way a target can be wrong.
    async fn targets_that_do_not_do_are_named(p: TestPlatform) {
        let node = p.node("one").await;
        let ready = p.ready("hello").await;
        let project = &ready.home.project;
        let other = p.home("other").await;
        let launch = async |body: Value| p.admin.call(Route::InstanceCreate, &[project], Some(&body)).await;
        let with = |change: fn(&mut Value)| {
            let mut wish = ready.wish();
            change(&mut wish);
            wish
        };
        let nobody = "01890000-0000-7000-8000-000000000000";

        // Another project's allocation does not exist here.
        let foreign = p.admin.call(Route::InstanceCreate, &[&other.project], Some(&ready.wish())).await.expect_error(400, "validation_failed");
        assert_eq!(fault(&foreign.body, "/target_allocation_id"), "unknown_allocation");
        launch(json!({"slug": "hello"})).await.expect_error(400, "validation_failed");
        launch(json!({"slug": "nothing", "target_allocation_id": ready.allocation})).await.expect_error(400, "validation_failed");
        let mut both = ready.wish();
        both["placement_intent"] = json!({"allocation_id": nobody});
        let contradiction = launch(both).await.expect_error(400, "validation_failed");
        assert_eq!(fault(&contradiction.body, "/placement_intent"), "contradicting_targets");
        launch(with(|w| w["runtime_backend"] = json!("k8s"))).await.expect_error(400, "forbidden_field");
        launch(with(|w| w["control_plane_scope"] = json!("platform"))).await.expect_error(400, "forbidden_field");
        launch(with(|w| w["compose_yaml"] = json!("services: {}"))).await.expect_error(400, "unsupported_compose_yaml");
        launch(with(|w| w["volumes"] = json!(["/:/x"]))).await.expect_error(400, "host_mount_not_allowed");
        launch(with(|w| w["values"] = json!({"model": "x"}))).await.expect_error(400, "validation_failed");
        launch(with(|w| w["resources"] = json!({"memory_mib": 100_000}))).await.expect_error(409, "allocation_full");
        launch(with(|w| w["resources"] = json!({"gpu_count": 2}))).await.expect_error(409, "gpu_already_bound");
        launch(with(|w| w["host_port"] = json!(80))).await.expect_error(400, "validation_failed");

        // Ports and devices have one holder.
        let mut first = ready.wish();
        first["host_port"] = json!(gpuaas_testkit::process::free_port());
        first["resources"] = json!({"gpu_count": 1, "cpu_millis": 100, "memory_mib": 64});
        let id = launch(first.clone()).await.expect(202).id();
        first["resources"]["gpu_count"] = json!(0);
        launch(first).await.expect_error(409, "port_taken");
        launch(with(|w| w["resources"] = json!({"gpu_count": 1, "cpu_millis": 100, "memory_mib": 64}))).await.expect_error(409, "gpu_already_bound");
        ready.reaches(&p, &id, "running").await;

        // An app that does not fit is told by which key.
        let mut large = manifest("large", "1.0.0");
        large["compatibility"] = json!({"requires_capacity_shape": ["baremetal"], "min_gpu_count": 4, "requires_exclusive_node": true, "supported_accelerators": ["amd"]});
        p.publish(&large, project).await;
        let misfit = launch(json!({"slug": "large", "target_allocation_id": ready.allocation})).await.expect_error(400, "incompatible_allocation");
        assert_eq!(misfit.body["error"]["params"]["failing"], json!(["requires_capacity_shape", "min_gpu_count", "requires_exclusive_node", "supported_accelerators"]));

        // One tenant per node: the rest of the node is not for others.
        let refused = p.admin.call(Route::AllocationRequest, &[&other.project], Some(&json!({"sku": "hello-sku"}))).await.expect_error(409, "no_capacity");
        assert_eq!(refused.body["error"]["params"]["nodes"][0]["code"], "other_tenant");
        p.admin.call(Route::ProjectLimitSet, &[project, "gpus"], Some(&json!({"value": 1}))).await.expect(200);
        p.admin.call(Route::AllocationRequest, &[project], Some(&json!({"sku": "hello-sku"}))).await.expect_error(409, "limit_reached");
        p.admin.call(Route::AllocationRequest, &[project], Some(&json!({"sku": "no-such"}))).await.expect_error(400, "validation_failed");
        drop(node);
    }

    /// A whole machine counts with all the devices it brings, not with those its SKU asks for at least.
    async fn a_whole_machine_counts_whole(p: TestPlatform) {
        let _node = p.node("one").await;
        let home = p.home("acme").await;
        let project = &home.project;
        let sku = json!({"slug": "machine", "shape": "baremetal", "gpu_count": 1, "vcpu": 1, "memory_mib": 512, "grant_policy": "auto"});
        p.admin.call(Route::SkuCreate, &[], Some(&sku)).await.expect(201);
        let wish = json!({"sku": "machine"});
        p.admin.call(Route::ProjectLimitSet, &[project, "gpus"], Some(&json!({"value": 1}))).await.expect(200);
        p.admin.call(Route::AllocationRequest, &[project], Some(&wish)).await.expect_error(409, "limit_reached");
        p.admin.call(Route::ProjectLimitSet, &[project, "gpus"], Some(&json!({"value": 2}))).await.expect(200);
        let made = p.admin.call(Route::AllocationRequest, &[project], Some(&wish)).await.expect(201);
        assert_eq!(made.body["gpu_count"], 2);
    }

    /// H-22: a launch whose node never comes ends by itself, with a reason, and holds nothing.
    async fn a_launch_that_waits_too_long_ends(p: TestPlatform) {
        let mut node = p.node("one").await;
        let ready = p.ready("hello").await;
        // Planned while the node was there; gone before any loop has turned, so that the order never reached it.
        let id = ready.launch(&p.admin).await.expect(202).id();
        node.kill().await;
        let node_id = node.id.parse().unwrap();
        while p.plane().links().is_connected(node_id) {
            tokio::task::yield_now().await;
        }
        p.settle().await;
        assert_eq!(ready.instance(&p.admin, &id).await["status"], "created", "it waits for its node");
        p.clock.advance_seconds(700);
        ready.reaches(&p, &id, "failed").await;
        assert_eq!(ready.instance(&p.admin, &id).await["failure_reason"], "deadline_exceeded");
    }

    /// K-10, H-24: a service account with the role launches and ends like a person, and is named as what it is.
    async fn a_machine_launches_and_ends(p: TestPlatform) {
        let _node = p.node("one").await;
        let ready = p.ready("hello").await;
        let project = &ready.home.project;
        let (account, pair) = p.admin.create_service_account(project, "robot", &["app-operator"]).await;
        let machine = p.machine(&account, &pair).await;
        let made = ready.launch(&machine).await.expect(202);
        assert_eq!(made.body["requested_by"], json!({"kind": "service_account", "id": account}));
        ready.reaches(&p, &made.id(), "running").await;
        machine.call(Route::InstanceStop, &[project, &made.id()], None).await.expect(202);
        ready.reaches(&p, &made.id(), "stopped").await;
        machine.call(Route::InstanceStart, &[project, &made.id()], None).await.expect(202);
        ready.reaches(&p, &made.id(), "running").await;
        machine.call(Route::InstanceDecommission, &[project, &made.id()], None).await.expect(202);
        ready.ended(&p, &made.id()).await;
        machine.call(Route::EntitlementList, &[project], None).await.expect_error(403, "human_actor_required");
        machine.call(Route::EntitlementSet, &[project, "hello"], Some(&json!({"enabled": false}))).await.expect_error(403, "human_actor_required");
        machine.call(Route::CatalogList, &[], None).await.expect(200);
        p.admin.call(Route::ServiceAccountDelete, &[project, &account], None).await.expect(204);
        let held = p.admin.call(Route::ProjectDelete, &[project], None).await.expect_error(409, "has_live_objects");
        assert!(held.text.contains("allocation"), "what is held is listed: {}", held.text);
    }
}
