//! Every route of the table, as everybody who should not get in.

use gpuaas_api::{Access, Route, ScopeKind};
use gpuaas_domain::iam::Permission;
use gpuaas_testkit::{Answer, Caller, Place, Ready, SimulatedNode, TestPlatform, both_databases};
use serde_json::json;

/// Real ids for the parameters of a route, so that "not there" is never the reason for a refusal.
struct World {
    tenant: String,
    project: String,
    user: String,
    role: String,
    account: String,
    binding: String,
    node: String,
    sku: String,
    ready: Ready,
    instance: String,
    volume: String,
    preset: String,
    _running: SimulatedNode,
}

impl World {
    async fn build(p: &TestPlatform) -> Self {
        let home = p.home("victim").await;
        let (_, user) = p.member("owner", "tenant-admin", Place::Tenant(&home.tenant)).await;
        let role = json!({"slug": "everything", "permissions": Permission::ALL.iter().map(|p| p.key()).collect::<Vec<_>>()});
        let role = p.admin.call(Route::RoleCreate, &[], Some(&role)).await.expect(201).id();
        let (account, _) = p.admin.create_service_account(&home.project, "robot", &[]).await;
        let body = json!({"role": "project-user", "user_id": user});
        let binding =
            p.admin.call(Route::ProjectBindingCreate, &[&home.project], Some(&body)).await.expect(201).id();
        let node = p.node("walked").await;
        let ready = p.ready_in("walked", home.clone()).await;
        let instance = ready.launch(&p.admin).await.expect(202).id();
        ready.reaches(p, &instance, "running").await;
        let body = json!({"name": "walked", "allocation_id": ready.allocation});
        let volume = p.admin.call(Route::VolumeCreate, &[&home.project], Some(&body)).await.expect(201).id();
        let body = json!({"app_slug": "walked", "name": "walked"});
        let preset = p.admin.call(Route::PresetCreate, &[&home.project], Some(&body)).await.expect(201).id();
        Self {
            tenant: home.tenant,
            project: home.project,
            user,
            role,
            account,
            binding,
            node: node.id.clone(),
            sku: "walked-sku".into(),
            ready,
            instance,
            volume,
            preset,
            _running: node,
        }
    }

    fn path(&self, route: Route) -> String {
        let filled = route.row().path.split('/').map(|part| match part {
            "{tenant_id}" => &self.tenant,
            "{project_id}" => &self.project,
            "{user_id}" => &self.user,
            "{role_id}" => &self.role,
            "{service_account_id}" => &self.account,
            "{binding_id}" | "{token_id}" => &self.binding,
            "{limit}" => "projects",
            "{node_id}" => &self.node,
            "{sku}" => &self.sku,
            "{allocation_id}" => &self.ready.allocation,
            "{app_slug}" => &self.ready.app,
            "{app_version}" => "1.0.0",
            "{app_instance_id}" => &self.instance,
            "{volume_id}" => &self.volume,
            "{preset_id}" => &self.preset,
            "{asset}" => "docs.js",
            other => other,
        });
        filled.collect::<Vec<_>>().join("/")
    }

    /// The same path with ids that belong to nothing.
    fn missing(&self, route: Route) -> String {
        let nobody = "01890000-0000-7000-8000-000000000000";
        self.path(route).replace(&self.tenant, nobody).replace(&self.project, nobody)
    }
}

async fn knock(caller: &Caller, route: Route, path: &str) -> Answer {
    let body = route.row().method.is_mutation().then(|| json!({}));
    caller.send(route.row().method.name(), path, body.as_ref()).await
}

/// The envelope without what differs between any two requests.
fn essence(answer: &Answer) -> (u16, serde_json::Value) {
    let mut body = answer.body.clone();
    body["error"]["correlation_id"] = json!("");
    (answer.status, body)
}

fn guarded() -> impl Iterator<Item = Route> {
    Route::ALL.iter().copied().filter(|route| route.row().access != Access::Public)
}

both_databases! {
    /// K-01, A01: without a credential nothing but health, sign-in and discovery answers.
    async fn anonymous_gets_401_everywhere(p: TestPlatform) {
        let world = World::build(&p).await;
        for route in guarded() {
            knock(&p.anonymous(), route, &world.path(route)).await.expect_error(401, "unauthenticated");
        }
    }

    /// A01, A07: a suspended person's unexpired token opens nothing.
    async fn a_disabled_account_gets_401_everywhere(p: TestPlatform) {
        let world = World::build(&p).await;
        let (caller, id) = p.member("leaver", "platform-admin", Place::Platform).await;
        caller.call(Route::Whoami, &[], None).await.expect(200);
        p.admin.call(Route::UserSuspend, &[&id], None).await.expect(200);
        for route in guarded() {
            // Routes for nodes and instances do not even look whose token it is.
            let code = if matches!(route.row().access, Access::Node | Access::Instance) { "invalid_token" } else { "account_disabled" };
            knock(&caller, route, &world.path(route)).await.expect_error(401, code);
        }
    }

    /// A01, A02, E-05: for the admin of another tenant, what exists looks exactly like what does not.
    async fn a_stranger_cannot_tell_foreign_from_missing(p: TestPlatform) {
        let world = World::build(&p).await;
        let other = p.home("stranger").await;
        let (stranger, _) = p.member("mallory", "tenant-admin", Place::Tenant(&other.tenant)).await;
        for route in guarded() {
            match route.row().access {
                Access::Needs(_, ScopeKind::Tenant | ScopeKind::Project) => {
                    let foreign = knock(&stranger, route, &world.path(route)).await.expect_error(404, "not_found");
                    let missing = knock(&stranger, route, &world.missing(route)).await;
                    assert_eq!(essence(&foreign), essence(&missing), "{route:?}");
                }
                Access::Needs(_, ScopeKind::Platform) => {
                    knock(&stranger, route, &world.path(route)).await.expect_error(403, "permission_denied");
                }
                Access::Node | Access::Instance => {
                    knock(&stranger, route, &world.path(route)).await.expect_error(401, "invalid_token");
                }
                Access::SignedIn | Access::Person | Access::Public => {}
            }
        }
        // The aliases learn the project from the object, and answer like the project's own routes.
        let wish = world.ready.wish();
        stranger.call(Route::InstanceCreateAlias, &[], Some(&wish)).await.expect_error(404, "not_found");
        let foreign = stranger.call(Route::InstanceStopAlias, &[&world.instance], None).await.expect_error(404, "not_found");
        let nobody = "01890000-0000-7000-8000-000000000000";
        let missing = stranger.call(Route::InstanceStopAlias, &[nobody], None).await.expect_error(404, "not_found");
        assert_eq!(essence(&foreign), essence(&missing));
        // A foreign child under an own parent is missing too.
        for (route, path) in [
            (Route::ServiceAccountGet, format!("/api/v1/projects/{}/service-accounts/{}", other.project, world.account)),
            (Route::ServiceAccountDelete, format!("/api/v1/projects/{}/service-accounts/{}", other.project, world.account)),
            (Route::ProjectBindingDelete, format!("/api/v1/projects/{}/bindings/{}", other.project, world.binding)),
            (Route::TenantBindingDelete, format!("/api/v1/tenants/{}/bindings/{}", other.tenant, world.binding)),
            (Route::AllocationGet, Route::AllocationGet.path(&[&other.project, &world.ready.allocation])),
            (Route::AllocationRelease, Route::AllocationRelease.path(&[&other.project, &world.ready.allocation])),
            (Route::VolumeGet, Route::VolumeGet.path(&[&other.project, &world.volume])),
            (Route::VolumeDelete, Route::VolumeDelete.path(&[&other.project, &world.volume])),
            (Route::PresetUpdate, Route::PresetUpdate.path(&[&other.project, &world.preset])),
            (Route::PresetDelete, Route::PresetDelete.path(&[&other.project, &world.preset])),
            (Route::InstanceRendered, Route::InstanceRendered.path(&[&other.project, &world.instance])),
            (Route::InstanceGet, Route::InstanceGet.path(&[&other.project, &world.instance])),
            (Route::InstanceStop, Route::InstanceStop.path(&[&other.project, &world.instance])),
            (Route::InstanceStart, Route::InstanceStart.path(&[&other.project, &world.instance])),
            (Route::InstanceDecommission, Route::InstanceDecommission.path(&[&other.project, &world.instance])),
            (Route::InstanceLogs, Route::InstanceLogs.path(&[&other.project, &world.instance])),
            (Route::InstanceStats, Route::InstanceStats.path(&[&other.project, &world.instance])),
            (Route::InstanceEvents, Route::InstanceEvents.path(&[&other.project, &world.instance])),
            (Route::InstanceReceipt, Route::InstanceReceipt.path(&[&other.project, &world.instance])),
        ] {
            knock(&stranger, route, &path).await.expect_error(404, "not_found");
        }
        // And nothing of the victim shows in the stranger's lists.
        for path in ["/api/v1/tenants", "/api/v1/projects"] {
            let list = stranger.get(path).await.expect(200);
            assert!(!list.text.contains("victim"), "{}", list.text);
        }
    }

    /// A01, K-02: a member of the project whose role lacks the permission is told so, and the refusal is audited.
    async fn the_wrong_role_gets_403_everywhere(p: TestPlatform) {
        let world = World::build(&p).await;
        // The role `app` holds projects.read alone.
        let (member, id) = p.member("intern", "app", Place::Project(&world.project)).await;
        let mut refused = 0;
        for route in guarded() {
            let Access::Needs(permission, scope) = route.row().access else { continue };
            if permission == Permission::ProjectRead && scope == ScopeKind::Project {
                knock(&member, route, &world.path(route)).await.expect(200);
                continue;
            }
            knock(&member, route, &world.path(route)).await.expect_error(403, "permission_denied");
            refused += 1;
        }
        p.settle().await;
        let mut denied = 0;
        let mut path = format!("/api/v1/audit?actor_id={id}&limit=200");
        loop {
            let page = p.admin.get(&path).await.expect(200);
            denied += page.body["items"].as_array().unwrap().iter().filter(|row| row["outcome"] == "denied").count();
            match page.body["next_cursor"].as_str() {
                Some(cursor) => path = format!("/api/v1/audit?actor_id={id}&limit=200&cursor={cursor}"),
                None => break,
            }
        }
        assert_eq!(denied, refused, "one audit row per refusal");
    }

    /// T-11, K-10, K-11: a service account that holds every permission is still refused what needs a person.
    async fn a_machine_is_refused_what_needs_a_person(p: TestPlatform) {
        let world = World::build(&p).await;
        let (account, pair) = p.admin.create_service_account(&world.project, "all", &["everything"]).await;
        let machine = p.machine(&account, &pair).await;
        for route in guarded() {
            let answer = match route.row().access {
                Access::Needs(permission, ScopeKind::Project) if permission.needs_human() => {
                    knock(&machine, route, &world.path(route)).await.expect_error(403, "human_actor_required")
                }
                Access::Person => knock(&machine, route, &world.path(route)).await.expect_error(403, "human_actor_required"),
                _ => continue,
            };
            assert_eq!(answer.status, 403);
        }
        machine.call(Route::ProjectGet, &[&world.project], None).await.expect(200);
        machine.call(Route::ProjectEventList, &[&world.project], None).await.expect(200);
        let elsewhere = p.home("elsewhere").await;
        machine.call(Route::ProjectGet, &[&elsewhere.project], None).await.expect_error(404, "not_found");
        // Not even an admin can give it a role outside its project.
        let body = json!({"role": "app-operator", "service_account_id": account});
        p.admin.call(Route::TenantBindingCreate, &[&world.tenant], Some(&body)).await.expect_error(403, "cross_project_write");
        p.admin.call(Route::ProjectBindingCreate, &[&elsewhere.project], Some(&body)).await.expect_error(400, "validation_failed");
    }

    /// T-14, A03, S-01: what is served is what the contract says, nothing beside it.
    async fn served_routes_and_contract_are_the_same(p: TestPlatform) {
        let api = p.anonymous().call(Route::OpenApi, &[], None).await.expect(200).body;
        assert_eq!(api, gpuaas_server::contract::openapi());
        let events = p.anonymous().call(Route::AsyncApi, &[], None).await.expect(200).body;
        assert_eq!(events, gpuaas_server::contract::asyncapi());
        for route in Route::ALL {
            let row = route.row();
            for method in ["GET", "POST", "PUT", "PATCH", "DELETE"] {
                let known = Route::ALL.iter().any(|other| other.row().path == row.path && other.row().method.name() == method);
                if !known {
                    p.admin.send(method, row.path, None).await.expect_error(405, "method_not_allowed");
                }
            }
        }
        for path in ["/admin", "/internal", "/debug", "/api", "/api/v1", "/api/v2/tenants", "/api/v1/tenants/", "/metrics/", "/.env"] {
            p.admin.get(path).await.expect_error(404, "not_found");
        }
    }

    /// A10: no call gives anybody a permission they lacked.
    async fn nobody_hands_out_more_than_they_hold(p: TestPlatform) {
        let world = World::build(&p).await;
        let (project_admin, id) = p.member("pat", "project-admin", Place::Project(&world.project)).await;
        for role in ["platform-admin", "tenant-admin", "everything"] {
            let body = json!({"role": role, "user_id": id});
            project_admin.call(Route::ProjectBindingCreate, &[&world.project], Some(&body)).await
                .expect_error(403, "cannot_grant_more_than_own");
            let body = json!({"name": format!("x-{role}"), "roles": [role]});
            project_admin.call(Route::ServiceAccountCreate, &[&world.project], Some(&body)).await
                .expect_error(403, "cannot_grant_more_than_own");
        }
        let body = json!({"role": "app-operator", "user_id": id});
        project_admin.call(Route::ProjectBindingCreate, &[&world.project], Some(&body)).await.expect(201);
        project_admin.call(Route::TenantBindingCreate, &[&world.tenant], Some(&body)).await.expect_error(403, "permission_denied");
        project_admin.call(Route::PlatformBindingCreate, &[], Some(&body)).await.expect_error(403, "permission_denied");
    }
}
