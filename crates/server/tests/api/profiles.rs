//! Profiles through the front door: several components planned, presets of forms, and what an engine was given.

use gpuaas_api::Route;
use gpuaas_testkit::{Database, Place, Ready, TestPlatform, both_databases, manifest};
use serde_json::{Value, json};

use crate::try_execute;

/// A lane behind a gateway, with metrics as an add-on.
fn stack(slug: &str) -> Value {
    let mut app = manifest(slug, "1.0.0");
    let image = app["artifact_ref"].clone();
    app.as_object_mut().unwrap().remove("runtime_profile");
    let component = |name: &str, class: &str, port: u16, expose: &str| {
        json!({"name": name, "class": class, "image_ref": image,
               "ports": [{"name": name, "container": port, "expose": expose}],
               "resources": {"min_memory_mib": 64, "min_vcpu": 0.1},
               "readiness": {"check": {"kind": "tcp", "port": port}}})
    };
    let mut chat = component("chat", "primary", 8000, "internal");
    chat["lane"] = json!("chat");
    chat["gpu_count"] = json!({"default": 1, "min": 1, "max": 4});
    chat["command"] = json!(["serve", "${params.model}", "--parts=${placement.lanes.chat.tensor_parallel}"]);
    let mut gateway = component("gateway", "gateway", 8080, "platform_proxy");
    gateway["depends_on"] = json!(["chat"]);
    app["components"] = json!([gateway, chat, component("metrics", "addon", 9090, "internal")]);
    app["addons"] =
        json!([{"name": "metrics", "kind": "metrics", "components": ["metrics"], "storage_mib": 512}]);
    app["parameters"] = json!({"model": {"type": "string", "default": "small"}, "context": {"type": "integer", "minimum": 1, "maximum": 8192, "default": 1024}});
    app["execution_engines"] = json!(["docker_compose", "kubernetes", "helm"]);
    app["compatibility"]["min_gpu_count"] = json!(1);
    app["validation"] = json!({"smoke": [{"name": "answers", "component": "gateway", "check": {"kind": "tcp", "port": 8080}}]});
    app
}

fn wish(ready: &Ready, slug: &str) -> Value {
    json!({"slug": slug, "target_allocation_id": ready.allocation})
}

fn names(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect()
}

both_databases! {
    /// B-06, C-04, C-06, C-07, C-09, C-18: several components have a form, a plan with named checks, a quote and what each engine
    /// would be given; launching them is refused before anything is done.
    async fn several_components_are_planned(p: TestPlatform) {
        let _node = p.node("one").await;
        let ready = p.ready("hello").await;
        let project = &ready.home.project;
        p.publish(&stack("stack"), project).await;
        let form = p.admin.call(Route::AppForm, &[project, "stack"], Some(&json!({}))).await.expect(200).body;
        assert_eq!((&form["plannable"], &form["launchable"]), (&json!(true), &json!(false)), "{form}");
        assert_eq!(form["addons"][0]["chosen"], false);
        assert_eq!(form["addons"][0]["effect"]["memory_mib"], 64);
        assert_eq!(form["lanes"][0]["name"], "chat");
        let mut asked = wish(&ready, "stack");
        asked["addons"] = json!(["metrics"]);
        let planned = p.admin.call(Route::InstancePlan, &[project], Some(&asked)).await.expect(200).body;
        let plan = &planned["plan"];
        assert_eq!(names(&plan["components"]), ["gateway", "chat", "metrics"]);
        assert_eq!(names(&plan["checks"])[..3], ["entitlement", "quota", "values"]);
        assert_eq!(plan["quote"]["lines"].as_array().unwrap().len(), 3);
        let engines: Vec<_> = plan["engines"].as_array().unwrap().iter().map(|one| (one["engine"].as_str().unwrap(), one["renders"].as_bool().unwrap())).collect();
        assert_eq!(engines, [("docker_compose", true), ("kubernetes", true), ("helm", true)]);
        let refused = p.admin.call(Route::InstanceCreate, &[project], Some(&asked)).await.expect_error(422, "engine_not_available");
        assert_eq!(refused.body["error"]["params"]["check"], "engine");
        let list = p.admin.call(Route::InstanceList, &[project], None).await.expect(200);
        assert_eq!(list.body["items"], json!([]));
        for (member, value, path, code) in [
            ("addons", json!(["metrix"]), "/addons/0", "unknown_addon"),
            ("lanes", json!({"talk": {}}), "/lanes/talk", "unknown_lane"),
            ("lanes", json!({"chat": {"gpu_count": 9}}), "/lanes/chat/gpu_count", "out_of_range"),
        ] {
            let mut wrong = wish(&ready, "stack");
            wrong[member] = value;
            let error = p.admin.call(Route::InstancePlan, &[project], Some(&wrong)).await.expect(400);
            let field = &error.body["error"]["fields"][0];
            assert_eq!((field["path"].as_str(), field["code"].as_str()), (Some(path), Some(code)));
        }
        let mut odd = wish(&ready, "stack");
        odd["lanes"] = json!({"chat": {"devices": "all"}});
        p.admin.call(Route::InstancePlan, &[project], Some(&odd)).await.expect(400);
    }

    /// B-01, P-02, U-10: presets are the project's; one may be what its forms begin with, and what it says is told as such.
    async fn presets_are_kept_and_one_is_the_default(p: TestPlatform) {
        let _node = p.node("one").await;
        let ready = p.ready("hello").await;
        let project = &ready.home.project;
        p.publish(&stack("stack"), project).await;
        let save = |name: &str, is_default: bool, context: Value| json!({"app_slug": "stack", "name": name, "is_default": is_default, "choices": {"values": {"context": context}, "addons": ["metrics"]}});
        let small = p.admin.call(Route::PresetCreate, &[project], Some(&save("small", true, json!(512)))).await.expect(201);
        p.admin.call(Route::PresetCreate, &[project], Some(&save("small", false, json!(1)))).await.expect_error(409, "name_taken");
        let large = p.admin.call(Route::PresetCreate, &[project], Some(&save("large", true, json!(4096)))).await.expect(201);
        let list = p.admin.get(&format!("{}?app=stack", Route::PresetList.path(&[project]))).await.expect(200).body;
        let defaults: Vec<_> = list["items"].as_array().unwrap().iter().map(|one| (one["name"].as_str().unwrap(), one["is_default"].as_bool().unwrap())).collect();
        assert_eq!(defaults, [("small", false), ("large", true)], "one default at a time");
        let form = p.admin.call(Route::AppForm, &[project, "stack"], Some(&json!({}))).await.expect(200).body;
        assert_eq!((&form["values"]["context"], &form["default_sources"]["context"]), (&json!(4096), &json!("project")));
        assert_eq!(form["addons"][0]["chosen"], false, "an add-on is chosen by who launches");
        let plan = p.admin.call(Route::InstancePlan, &[project], Some(&wish(&ready, "stack"))).await.expect(200).body;
        assert_eq!(plan["plan"]["values"]["context"], 4096);
        let mut own = wish(&ready, "stack");
        own["values"] = json!({"context": 1024});
        let plan = p.admin.call(Route::InstancePlan, &[project], Some(&own)).await.expect(200).body;
        assert_eq!(plan["plan"]["values"]["context"], 1024, "what was chosen stands before any default");
        // A default that the app does not take is none.
        let change = json!({"choices": {"values": {"context": 999_999}}});
        p.admin.call(Route::PresetUpdate, &[project, &large.id()], Some(&change)).await.expect(200);
        let form = p.admin.call(Route::AppForm, &[project, "stack"], Some(&json!({}))).await.expect(200).body;
        assert_eq!((&form["values"]["context"], &form["default_sources"]["context"]), (&json!(1024), &json!("app")));
        // Secrets are not kept, nor what nobody knows.
        let secret = json!({"app_slug": "stack", "name": "leaky", "choices": {"values": {"model": "hf_abcdefghijklmnopqrstuvwxyz0123456789"}}});
        let refused = p.admin.call(Route::PresetCreate, &[project], Some(&secret)).await.expect(400);
        assert_eq!(refused.body["error"]["fields"][0]["code"], "raw_secret_not_allowed");
        assert!(!refused.text.contains("hf_abc"));
        let text = "hf_abcdefghijklmnopqrstuvwxyz0123456789";
        for choices in [
            json!({"values": {text: 1}}), json!({"addons": [text]}), json!({"lanes": {text: {}}}), json!({"variant": text}),
            json!({"addons": vec!["x"; 33]}), json!({"addons": ["x".repeat(41)]}), json!({"lanes": {"x".repeat(41): {}}}),
            json!({"resources": {"gpu_count": 65}}), json!({"resources": {"cpu_millis": 0}}), json!({"lanes": {"chat": {"tensor_parallel": 0}}}),
            json!({"values": {"model": "x".repeat(40_000)}}),
        ] {
            let body = json!({"app_slug": "stack", "name": "odd", "choices": choices});
            let refused = p.admin.call(Route::PresetCreate, &[project], Some(&body)).await.expect(400);
            assert!(!refused.text.contains("hf_abc"), "{}", refused.text);
        }
        let named = json!({"app_slug": "stack", "name": "sk-abcdefghijklmnopqrstuvwxyz012345"});
        p.admin.call(Route::PresetCreate, &[project], Some(&named)).await.expect(400);
        // What stands in a wrong place is not repeated either.
        for choices in [json!({"access": {"x": text}}), json!({"mounts": {"x": {"kind": text}}}), json!({text: 1}), json!({"lanes": {text: {"gpu_count": "x"}}})] {
            let body = json!({"app_slug": "stack", "name": "odd", "choices": choices});
            let refused = p.admin.call(Route::PresetCreate, &[project], Some(&body)).await.expect(400);
            assert!(!refused.text.contains("hf_abc"), "{}", refused.text);
        }
        p.settle().await;
        let trail = p.admin.get(&format!("/api/v1/projects/{project}/audit")).await.expect(200);
        assert!(trail.text.contains("former_default") && !trail.text.contains("hf_abc"), "who stepped back is in the trail, a secret never");
        p.admin.call(Route::PresetCreate, &[project], Some(&json!({"app_slug": "no-such-app", "name": "x"}))).await.expect(400);
        p.admin.call(Route::PresetCreate, &[project], Some(&json!({"app_slug": "stack", "name": "x", "choices": {"command": ["sh"]}}))).await.expect(400);
        // Somebody else's preset is missing, and who only looks cannot change one.
        let other = p.home("other").await;
        let (stranger, _) = p.member("mallory", "project-admin", Place::Project(&other.project)).await;
        stranger.call(Route::PresetDelete, &[project, &small.id()], None).await.expect_error(404, "not_found");
        stranger.call(Route::PresetDelete, &[&other.project, &small.id()], None).await.expect_error(404, "not_found");
        p.admin.call(Route::PresetDelete, &[project, &small.id()], None).await.expect(204);
        p.admin.call(Route::PresetDelete, &[project, &small.id()], None).await.expect_error(404, "not_found");
    }

    /// B-04, B-05, B-13, T-03: operators see what the engine was given and what another would be, with secrets masked and the
    /// proof that it is what the stored input gives; who only uses the project sees none of it.
    async fn what_an_engine_was_given_is_shown_masked(p: TestPlatform) {
        let _node = p.node("one").await;
        let ready = p.ready("hello").await;
        let project = &ready.home.project;
        let mut app = manifest("server", "1.0.0");
        app["parameters"] = json!({"word": {"type": "string", "default": "plain"}});
        app["outputs"] = json!({"commands": [{"name": "say", "title": "Say it", "command": ["echo", "${params.word} on ${placement.node_name}"]}],
                                "access": {"private": "Bring your own client."}});
        app["runtime_profile"]["env"] = json!([{"name": "LICENSE_TOKEN", "value": "${params.word}"}, {"name": "MODE", "value": "fast"}]);
        p.publish(&app, project).await;
        let mut asked = wish(&ready, "server");
        asked["values"] = json!({"word": "opensesame"});
        let planned = p.admin.call(Route::InstancePlan, &[project], Some(&asked)).await.expect(200).body;
        let id = p.admin.call(Route::InstanceCreate, &[project], Some(&asked)).await.expect(202).id();
        ready.reaches(&p, &id, "running").await;
        let detail = p.admin.call(Route::InstanceGet, &[project, &id], None).await.expect(200).body;
        assert_eq!(detail["access"]["commands"], json!([{"name": "say", "title": "Say it", "command": ["echo", "opensesame on one"], "line": "echo 'opensesame on one'"}]));
        assert_eq!(detail["access"]["notes"], json!(["Bring your own client."]));
        let shown = p.admin.call(Route::InstanceRendered, &[project, &id], None).await.expect(200);
        assert!(!shown.text.contains("opensesame"), "{}", shown.text);
        assert_eq!((&shown.body["stored"], &shown.body["verified"]), (&json!(true), &json!(true)));
        assert_eq!(shown.body["digest"], planned["plan"]["rendered_digest"], "what was planned is what runs");
        assert_eq!(shown.body["masked"], json!(["/components/0/env/0/value"]));
        assert!(shown.body["files"][0]["bytes"].as_str().unwrap().contains("fast"));
        let path = Route::InstanceRendered.path(&[project, &id]);
        let other = p.admin.get(&format!("{path}?engine=kubernetes")).await.expect(200);
        assert!(!other.text.contains("opensesame"));
        assert_eq!(other.body["stored"], false);
        assert!(other.body["files"][0]["bytes"].as_str().unwrap().contains(&id), "objects are named by the instance");
        p.admin.get(&format!("{path}?engine=systemd")).await.expect(400);
        let (user, _) = p.member("user", "project-user", Place::Project(project)).await;
        user.call(Route::InstanceRendered, &[project, &id], None).await.expect_error(403, "permission_denied");
        // The database itself keeps what was rendered as it is.
        try_execute(&p, "UPDATE app_instance_revisions SET rendered = REPLACE(rendered, 'fast', 'slow')").await.unwrap_err();
    }
}

/// B-05, C-18, D-01: the same profile and choices give the same bytes whatever database the platform has.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_databases_give_equal_bytes() {
    let mut seen = Vec::new();
    for database in [Database::Sqlite, Database::Postgres] {
        let p = TestPlatform::start(database).await;
        let _node = p.node("one").await;
        let ready = p.ready("hello").await;
        let project = &ready.home.project;
        // Without devices: those of a test's node are called differently each time.
        let mut app = stack("stack");
        app["components"][1]["gpu_count"] = json!({"default": 0, "min": 0, "max": 4});
        app["compatibility"]["min_gpu_count"] = json!(0);
        p.publish(&app, project).await;
        let mut asked = wish(&ready, "stack");
        asked["addons"] = json!(["metrics"]);
        asked["values"] = json!({"model": "größe ${x} $(y) {{ z }}", "context": 77});
        let plan =
            p.admin.call(Route::InstancePlan, &[project], Some(&asked)).await.expect(200).body["plan"].take();
        let single =
            p.admin.call(Route::InstancePlan, &[project], Some(&ready.wish())).await.expect(200).body["plan"]
                .take();
        let mut form = p
            .admin
            .call(Route::AppForm, &[project, "stack"], Some(&json!({"addons": ["metrics"]})))
            .await
            .expect(200)
            .body;
        let form = ["schema", "ui_schema", "values", "addons", "components", "errors"]
            .map(|member| form[member].take());
        seen.push([
            ("engines", plan["engines"].clone()),
            ("digest", plan["rendered_digest"].clone()),
            ("form", json!(form)),
            ("order", single["rendered"].clone()),
            ("digest of the order", single["rendered_digest"].clone()),
        ]);
    }
    for (sqlite, postgres) in seen[0].iter().zip(&seen[1]) {
        assert_eq!(sqlite, postgres);
    }
}
