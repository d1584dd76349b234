//! The launch form through the front door: what a project may choose, what is wrong so far, and who gets none.

use gpuaas_api::Route;
use gpuaas_testkit::{
    Answer, Author, Caller, Place, Ready, TestPlatform, both_databases, manifest, small_image,
};
use serde_json::{Value, json};

async fn form(caller: &Caller, project: &str, app: &str, body: &Value) -> Answer {
    caller.call(Route::AppForm, &[project, app], Some(body)).await
}

fn codes(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|one| one["code"].as_str().unwrap()).collect()
}

/// Path and code of each error.
fn errors(body: &Value) -> Vec<(&str, &str)> {
    let errors = body["errors"].as_array().unwrap().iter();
    errors.map(|one| (one["path"].as_str().unwrap(), one["code"].as_str().unwrap())).collect()
}

/// An app with parameters, a page and a workspace that this test never saw before.
fn tuner() -> Value {
    let mut app = manifest("tuner", "1.0.0");
    app["description"] = json!("Tunes.");
    app["runtime_profile"]["ports"] =
        json!([{"name": "web", "container": 8080, "expose": "embedded_ui_gateway"}]);
    app["ui"] = json!({"extension_kind": "embedded", "path": "/lab"});
    app["parameters"] = json!({
        "epochs": {"type": "integer", "minimum": 1, "maximum": 9, "default": 3, "title": "Epochs"},
        "label": {"type": "string", "pattern": "^[a-z ']+$", "required": true}
    });
    app["ui_hints"] = json!({"order": ["label", "epochs"], "fields": {"epochs": {"widget": "slider", "help": "How often."}}});
    app["resources"] = json!({"mounts": [{"name": "workspace", "path": "/workspace", "kind": "workspace"}]});
    app["outputs"] = json!({"endpoints": [{"name": "web", "title": "The lab", "port": 8080}]});
    app
}

both_databases! {
    /// A-16, B-01, B-05, B-10: what was chosen reaches the container, computed and conditional parts included, and does so again
    /// after a stop; hidden values are dropped.
    async fn what_was_chosen_reaches_the_container(p: TestPlatform) {
        let _node = p.node("one").await;
        let ready = p.ready("hello").await;
        let project = &ready.home.project;
        let mut app = manifest("server", "1.0.0");
        app["parameters"] = json!({
            "mode": {"type": "string", "enum": ["fast", "careful"], "default": "fast"},
            "checks": {"type": "integer", "default": 3, "when": "params.mode == 'careful'"},
            "twice": {"type": "integer", "owner": "platform", "value": "params.checks * 2"}
        });
        app["validation"]["rules"] = json!([{"rule": "params.checks < 9", "message": "Fewer checks.", "parameter": "checks"}]);
        app["runtime_profile"]["command"] = json!(["serve", "--mode=${params.mode}", "--twice", "${params.twice}"]);
        app["runtime_profile"]["env"] = json!([{"name": "CHECKS", "value": "${params.checks}", "when": "params.mode == 'careful'"}]);
        p.publish(&app, project).await;
        let empty = form(&p.admin, project, "server", &json!({})).await.expect(200).body;
        assert!(empty["schema"]["properties"].get("checks").is_none() && empty["launchable"] == json!(true), "{empty}");
        let careful = form(&p.admin, project, "server", &json!({"values": {"mode": "careful", "checks": 9}})).await.expect(200).body;
        assert_eq!(errors(&careful), [("/values/checks", "rule_failed")]);
        let wish = json!({"slug": "server", "name": "chosen", "target_allocation_id": ready.allocation, "values": {"mode": "careful", "checks": 4}});
        let plan = p.admin.call(Route::InstancePlan, &[project], Some(&wish)).await.expect(200).body;
        let container = &plan["plan"]["rendered"]["components"][0];
        assert_eq!(container["command"], json!(["serve", "--mode=careful", "--twice", "8"]));
        assert_eq!(container["env"], json!([{"name": "CHECKS", "value": "4"}]));
        let launched = p.admin.call(Route::InstanceCreate, &[project], Some(&wish)).await.expect(202);
        ready.reaches(&p, &launched.id(), "running").await;
        for (command, status) in [(Route::InstanceStop, "stopped"), (Route::InstanceStart, "running")] {
            p.admin.call(command, &[project, &launched.id()], None).await.expect(202);
            ready.reaches(&p, &launched.id(), status).await;
        }
        let detail = ready.instance(&p.admin, &launched.id()).await;
        assert_eq!(detail["values"], json!({"mode": "careful", "checks": 4}));
        let other = json!({"slug": "server", "target_allocation_id": ready.allocation, "values": {"mode": "careful", "checks": 4, "twice": 1}});
        let refused = p.admin.call(Route::InstanceCreate, &[project], Some(&other)).await.expect(400);
        assert_eq!(refused.body["error"]["fields"][0]["code"], "platform_owned");
    }

    /// B-02, B-03, A-15, P-01: a new app has its form at once; it can be filled in, planned and launched as it stands, and the
    /// values stay with the instance over a restart.
    async fn a_form_leads_to_a_launch(p: TestPlatform) {
        let _node = p.node("one").await;
        let ready = p.ready("hello").await;
        let project = &ready.home.project;
        p.publish(&tuner(), project).await;
        let empty = form(&p.admin, project, "tuner", &json!({})).await.expect(200).body;
        assert_eq!(empty["app"]["ui"], json!({"extension_kind": "embedded", "path": "/lab"}));
        assert_eq!(empty["app"]["description"], "Tunes.");
        assert_eq!(empty["versions"], json!([{"version": "1.0.0", "state": "active", "recommended": true}]));
        assert_eq!(empty["schema"]["properties"]["epochs"]["maximum"], 9);
        assert_eq!(empty["schema"]["required"], json!(["label"]));
        assert_eq!(empty["ui_schema"]["ui:order"], json!(["label", "epochs"]));
        assert_eq!(empty["ui_schema"]["epochs"], json!({"ui:widget": "range", "ui:help": "How often."}));
        assert_eq!(empty["values"], json!({"epochs": 3}));
        assert_eq!(empty["allocation_id"], json!(ready.allocation), "the only one that fits");
        assert_eq!(empty["allocations"][0]["simulated"], true);
        assert_eq!(empty["allocations"][0]["prices"][0]["amount_micros"], 1_500_000);
        assert_eq!(empty["mounts"][0]["value"], json!({"kind": "scratch"}));
        assert_eq!(empty["access"][0]["title"], "The lab");
        assert_eq!((errors(&empty), &empty["launchable"]), (vec![("/values/label", "required")], &json!(false)));

        let wish = json!({"name": "Not A Slug", "values": {"label": "UPPER", "epochs": 10, "nothing": 1}, "resources": {"gpu_count": 7}});
        let wrong = form(&p.admin, project, "tuner", &wish).await.expect(200).body;
        assert_eq!(errors(&wrong), [
            ("/name", "invalid_slug"), ("/values/epochs", "out_of_range"), ("/values/label", "pattern_mismatch"),
            ("/values/nothing", "unknown_value"), ("/target_allocation_id", "required"),
        ]);
        assert_eq!(codes(&wrong["allocations"][0]["reasons"]), ["gpu_already_bound"]);
        // Plan and launch refuse the same values at the same places.
        let refused = json!({"slug": "tuner", "target_allocation_id": ready.allocation, "values": wish["values"]});
        for route in [Route::InstancePlan, Route::InstanceCreate] {
            let answer = p.admin.call(route, &[project], Some(&refused)).await.expect_error(400, "validation_failed");
            assert_eq!(codes(&answer.body["error"]["fields"]), ["out_of_range", "pattern_mismatch", "unknown_value"]);
        }

        let good = form(&p.admin, project, "tuner", &json!({"name": "first", "values": {"label": "it's fine"}})).await.expect(200).body;
        assert_eq!((errors(&good), &good["launchable"]), (vec![], &json!(true)));
        assert!(good["command"].as_str().unwrap().ends_with(r"--name first --set 'label=it'\''s fine'"), "{}", good["command"]);
        let plan = p.admin.call(Route::InstancePlan, &[project], Some(&good["request"])).await.expect(200);
        assert_eq!(plan.body["plan"]["values"], json!({"epochs": 3, "label": "it's fine"}));
        let id = p.admin.call(Route::InstanceCreate, &[project], Some(&good["request"])).await.expect(202).id();
        let ordered = ready.instance(&p.admin, &id).await;
        assert_eq!(ordered["components"][0]["name"], "main", "what was ordered is known before the node speaks: {ordered}");
        ready.reaches(&p, &id, "running").await;
        // What the pages of the shell need: the entry in the catalog, and the instance with image, trust, storage and values.
        let page = p.admin.call(Route::ProjectCatalog, &[project], None).await.expect(200).body;
        let entry = page["items"].as_array().unwrap().iter().find(|app| app["slug"] == "tuner").unwrap();
        assert_eq!((&entry["entitled"], &entry["description"]), (&json!(true), &json!("Tunes.")));
        assert_eq!(entry["ui"], json!({"extension_kind": "embedded", "path": "/lab"}));
        assert_eq!((&entry["versions"][0]["app_version"], &entry["versions"][0]["ui"]), (&json!("1.0.0"), &entry["ui"]));
        let seen = ready.instance(&p.admin, &id).await;
        let image = &seen["image"];
        assert_eq!((&image["reference"], &image["digest"]), (&good["variants"][0]["reference"], &good["variants"][0]["digest"]));
        assert_eq!((&image["trust"], &image["channel"]), (&json!("verified"), &json!("production")));
        assert_eq!(seen["mounts"], json!([{"name": "workspace", "path": "/workspace", "kind": "workspace", "read_only": false, "source": {"kind": "scratch"}}]));
        assert_eq!(seen["values"], json!({"epochs": 3, "label": "it's fine"}));
        assert_eq!((&seen["ui"], &seen["components"][0]["name"]), (&entry["ui"], &json!("main")));
        let kept = "SELECT COUNT(*) FROM app_instance_revisions WHERE CAST(wish AS TEXT) LIKE '%it''s fine%'";
        assert_eq!(crate::count(&p, kept).await, 1, "the resolved values are kept with the revision");
        let taken = form(&p.admin, project, "tuner", &good["request"]).await.expect(200).body;
        assert!(errors(&taken).contains(&("/name", "name_taken")), "{taken}");
        p.admin.call(Route::InstanceStop, &[project, &id], None).await.expect(202);
        ready.reaches(&p, &id, "stopped").await;
        p.admin.call(Route::InstanceStart, &[project, &id], None).await.expect(202);
        ready.reaches(&p, &id, "running").await;
        p.settle().await;
        let trail = p.admin.get("/api/v1/audit?action=apps.form&limit=50").await.expect(200);
        assert_eq!(trail.body["items"], json!([]), "a form changes nothing");
    }

    /// I-03, P-01: of two allocations the one that fits is chosen and the other has every reason; without any, offers stand in
    /// their place; another project's allocation looks missing.
    async fn allocations_are_offered_with_reasons(p: TestPlatform) {
        let _node = p.node("one").await;
        let ready = p.ready("hello").await;
        let project = &ready.home.project;
        p.sku("plain", 0).await;
        let plain = p.allocation(project, "plain").await;
        let mut app = manifest("trainer", "1.0.0");
        app["compatibility"] = json!({"requires_capacity_shape": ["gpu_slice"], "min_gpu_count": 1, "supported_accelerators": ["nvidia"]});
        p.publish(&app, project).await;
        let seen = form(&p.admin, project, "trainer", &json!({})).await.expect(200).body;
        let [first, second] = seen["allocations"].as_array().unwrap().as_slice() else { panic!("two: {seen}") };
        assert_eq!((&first["id"], &first["fits"], &first["reasons"]), (&json!(ready.allocation), &json!(true), &json!([])));
        assert_eq!(first["free"], json!({"gpu_count": 1, "cpu_millis": 1000, "memory_mib": 1024}));
        assert_eq!((&second["id"], &second["fits"]), (&json!(plain), &json!(false)));
        assert_eq!(codes(&second["reasons"]), ["min_gpu_count", "gpu_already_bound"]);
        assert_eq!((&seen["allocation_id"], &seen["launchable"]), (&json!(ready.allocation), &json!(true)));

        // The one that does not fit may be asked for; the form says why not, and so does the API.
        let asked = form(&p.admin, project, "trainer", &json!({"target_allocation_id": plain})).await.expect(200).body;
        assert_eq!((&asked["allocation_id"], &asked["launchable"]), (&json!(plain), &json!(false)));
        assert_eq!(errors(&asked), [("/target_allocation_id", "min_gpu_count"), ("/target_allocation_id", "gpu_already_bound")]);
        let refused = p.admin.call(Route::InstanceCreate, &[project], Some(&asked["request"])).await.expect_error(400, "incompatible_allocation");
        assert_eq!(refused.body["error"]["params"]["failing"], json!(["min_gpu_count"]));
        assert_eq!(codes(&refused.body["error"]["fields"]), ["min_gpu_count", "gpu_already_bound"]);

        // A project without any.
        let other = p.home("other").await;
        p.admin.call(Route::EntitlementSet, &[&other.project, "trainer"], Some(&json!({"enabled": true}))).await.expect(200);
        let bare = form(&p.admin, &other.project, "trainer", &json!({})).await.expect(200).body;
        assert_eq!((&bare["allocations"], &bare["allocation_id"]), (&json!([]), &Value::Null));
        assert_eq!(errors(&bare), [("/target_allocation_id", "required")]);
        let offers: Vec<(&str, bool)> = bare["offers"].as_array().unwrap().iter()
            .map(|offer| (offer["slug"].as_str().unwrap(), offer["fits"].as_bool().unwrap())).collect();
        assert!(offers.contains(&("hello-sku", true)) && offers.contains(&("plain", false)), "{offers:?}");
        let foreign = form(&p.admin, &other.project, "trainer", &json!({"target_allocation_id": ready.allocation})).await.expect(200).body;
        let missing = form(&p.admin, &other.project, "trainer", &json!({"target_allocation_id": "01890000-0000-7000-8000-000000000000"})).await.expect(200).body;
        assert_eq!(errors(&foreign), [("/target_allocation_id", "unknown_allocation")]);
        assert_eq!(foreign, missing, "foreign is like missing, in every member");
    }

    /// E-03, K-11, T-16: the raw catalog has every app, the project's page and forms only those it may launch.
    async fn an_app_without_entitlement_has_no_form(p: TestPlatform) {
        let _node = p.node("one").await;
        let ready = p.ready("hello").await;
        let (project, neighbour) = (&ready.home.project, p.home("neighbour").await);
        p.publish(&manifest("secretive", "1.0.0"), &neighbour.project).await;
        let (member, _) = p.member("mia", "project-user", Place::Project(project)).await;
        let slugs = |body: &Value| -> Vec<String> {
            body["items"].as_array().unwrap().iter().map(|app| app["slug"].as_str().unwrap().to_owned()).collect()
        };
        let raw = member.call(Route::CatalogList, &[], None).await.expect(200);
        assert_eq!(slugs(&raw.body), ["hello", "secretive"]);
        let page = member.call(Route::ProjectCatalog, &[project], None).await.expect(200);
        assert_eq!(slugs(&page.body), ["hello"]);
        form(&member, project, "hello", &json!({})).await.expect(200);
        let wish = json!({"slug": "secretive", "target_allocation_id": ready.allocation});
        member.call(Route::InstancePlan, &[project], Some(&wish)).await.expect_error(403, "not_entitled");
        form(&member, project, "secretive", &json!({})).await.expect_error(403, "not_entitled");
        form(&member, project, "nothing", &json!({})).await.expect_error(404, "not_found");
        form(&member, &neighbour.project, "secretive", &json!({})).await.expect_error(404, "not_found");
        form(&member, project, "hello", &json!({"compose_yaml": "services: {}"})).await.expect_error(400, "unsupported_compose_yaml");
        let (reader, _) = p.member("rita", "app", Place::Project(project)).await;
        form(&reader, project, "hello", &json!({})).await.expect_error(403, "permission_denied");
        let wrong = form(&member, project, "hello", &json!({"app_version": "9.9.9", "slug": "other"})).await.expect(200).body;
        assert_eq!(errors(&wrong), [("/slug", "invalid_value"), ("/app_version", "unknown_app")]);
        // Deprecated: the form of that version says so.
        p.admin.call(Route::AppDeprecate, &["hello", "1.0.0"], None).await.expect(200);
        let old = form(&member, project, "hello", &json!({"app_version": "1.0.0"})).await.expect(200).body;
        assert_eq!((errors(&old), &old["versions"]), (vec![("/app_version", "version_not_launchable")], &json!([])));
    }

    /// F-26: an image that is verified and promoted is offered; once it is withdrawn it is shown with its reason and not offered.
    async fn only_verified_images_are_offered(p: TestPlatform) {
        let _node = p.node("one").await;
        let ready: Ready = p.ready("hello").await;
        let project = &ready.home.project;
        let author = Author::new(&p.admin, project, "author").await;
        let artifact = author.publish("web", "project", &small_image("one")).await;
        let mut app = manifest("web", "1.0.0");
        app["artifact_ref"] = artifact["reference"].clone();
        app["runtime_profile"]["image_ref"] = artifact["reference"].clone();
        p.admin.call(Route::ManifestRegister, &[], Some(&app)).await.expect(201);
        p.admin.call(Route::AppPublish, &["web", "1.0.0"], None).await.expect(200);
        p.admin.call(Route::EntitlementSet, &[project, "web"], Some(&json!({"enabled": true}))).await.expect(200);
        let seen = form(&p.admin, project, "web", &json!({})).await.expect(200).body;
        let [only] = seen["variants"].as_array().unwrap().as_slice() else { panic!("one image: {seen}") };
        assert_eq!((&only["reference"], &only["digest"]), (&artifact["reference"], &artifact["digest"]));
        assert_eq!((&only["trust"], &only["channel"]), (&json!("verified"), &json!("production")));
        assert!(only["signer"].is_string() && only["usable"] == true && only["chosen"] == true, "{only}");
        assert_eq!(seen["launchable"], true);

        let id = artifact["id"].as_str().unwrap();
        p.admin.call(Route::ArtifactRevoke, &[project, id], Some(&json!({"reason": "bad"}))).await.expect(200);
        let seen = form(&p.admin, project, "web", &json!({})).await.expect(200).body;
        let only = &seen["variants"][0];
        assert_eq!((&only["usable"], &only["chosen"], &only["trust"]), (&json!(false), &json!(false), &json!("revoked")));
        assert_eq!((codes(&only["reasons"]), errors(&seen)), (vec!["artifact_revoked"], vec![("/variant", "artifact_revoked")]));
        assert_eq!(seen["launchable"], false);
        p.admin.call(Route::InstanceCreate, &[project], Some(&seen["request"])).await.expect_error(409, "artifact_revoked");
    }
}
