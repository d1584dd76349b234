//! Tenants and projects from first to last.

use gpuaas_api::Route;
use gpuaas_testkit::{Place, TestPlatform, both_databases};
use serde_json::json;

both_databases! {
    /// N-05, L08: every change leaves one audit row with actor, before, after, reason and correlation id.
    async fn a_change_leaves_exactly_one_audit_row_and_one_event(p: TestPlatform) {
        let admin = p.admin.clone().with_header("x-correlation-id", "story-1");
        let tenant = admin.create_tenant("acme").await;
        admin.call(Route::TenantUpdate, &[&tenant], Some(&json!({"display_name": "Acme Works"}))).await.expect(200);
        admin.call(Route::TenantSuspend, &[&tenant], Some(&json!({"reason": "unpaid"}))).await.expect(200);
        p.settle().await;
        let rows = p.admin.get("/api/v1/audit?correlation_id=story-1").await.expect(200).body["items"].clone();
        let actions: Vec<_> = rows.as_array().unwrap().iter().map(|row| row["action"].as_str().unwrap()).collect();
        assert_eq!(actions, ["tenants.suspend", "tenants.update", "tenants.create"], "newest first");
        let suspended = &rows[0];
        assert_eq!(suspended["before"]["state"], "active");
        assert_eq!(suspended["after"]["state"], "suspended");
        assert_eq!(suspended["reason"], "unpaid");
        assert_eq!(suspended["actor_kind"], "user");
        assert_eq!(suspended["tenant_id"], json!(tenant));
        assert_eq!(suspended["org_id"], json!(tenant), "K-16: one value under both names");
        let events = p.admin.get(&format!("/api/v1/tenants/{tenant}/events")).await.expect(200).body["items"].clone();
        let kinds: Vec<_> = events.as_array().unwrap().iter().map(|event| event["type"].as_str().unwrap()).collect();
        assert_eq!(kinds, ["tenants.created", "tenants.updated", "tenants.state_changed"]);
        for event in events.as_array().unwrap() {
            assert_eq!(event["correlation_id"], "story-1", "N-02");
            assert_eq!(event["specversion"], "1.0");
        }
    }

    /// Deletion goes active → suspended → deleting → tombstone, and is refused while something lives inside.
    async fn a_tenant_is_deleted_from_the_inside_out(p: TestPlatform) {
        let home = p.home("acme").await;
        let (account, _) = p.admin.create_service_account(&home.project, "robot", &[]).await;
        let refused = p.admin.call(Route::TenantDelete, &[&home.tenant], None).await.expect_error(409, "has_live_objects");
        assert_eq!(refused.body["error"]["params"]["objects"][0]["id"], json!(home.project));
        let refused = p.admin.call(Route::ProjectDelete, &[&home.project], None).await.expect_error(409, "has_live_objects");
        assert_eq!(refused.body["error"]["params"]["objects"][0]["id"], json!(account));

        p.admin.call(Route::ServiceAccountDelete, &[&home.project, &account], None).await.expect(204);
        p.admin.call(Route::ProjectDelete, &[&home.project], None).await.expect(204);
        let deleting = p.admin.call(Route::ProjectGet, &[&home.project], None).await.expect(200);
        assert_eq!(deleting.body["state"], "deleting");
        p.settle().await;
        p.admin.call(Route::ProjectGet, &[&home.project], None).await.expect_error(404, "not_found");
        p.admin.call(Route::TenantDelete, &[&home.tenant], None).await.expect(204);
        p.settle().await;
        p.admin.call(Route::TenantGet, &[&home.tenant], None).await.expect_error(404, "not_found");
        // A slug is never used again.
        p.admin.call(Route::TenantCreate, &[], Some(&json!({"slug": "acme"}))).await.expect_error(409, "slug_taken");
        // The trail is still there, and whole.
        p.settle().await;
        let trail = p.admin.get(&format!("/api/v1/audit?object_id={}", home.tenant)).await.expect(200);
        let actions: Vec<_> = trail.body["items"].as_array().unwrap().iter().map(|row| row["action"].as_str().unwrap().to_owned()).collect();
        assert_eq!(actions[0], "tenants.erase");
        assert_eq!(actions[1], "tenants.delete");
        assert_eq!(p.admin.get("/api/v1/audit/verify").await.expect(200).body["ok"], true);
    }

    /// A suspended tenant's people are refused; the platform's keeper can look and resume.
    async fn a_suspended_tenant_refuses_its_people(p: TestPlatform) {
        let home = p.home("acme").await;
        let (owner, _) = p.member("olga", "tenant-admin", Place::Tenant(&home.tenant)).await;
        owner.call(Route::ProjectGet, &[&home.project], None).await.expect(200);
        p.admin.call(Route::TenantSuspend, &[&home.tenant], None).await.expect(200);
        owner.call(Route::ProjectGet, &[&home.project], None).await.expect_error(403, "tenant_suspended");
        owner.call(Route::ProjectCreate, &[&home.tenant], Some(&json!({"slug": "more"}))).await.expect_error(403, "tenant_suspended");
        p.admin.call(Route::ProjectCreate, &[&home.tenant], Some(&json!({"slug": "more"}))).await.expect_error(403, "tenant_suspended");
        p.admin.call(Route::TenantSuspend, &[&home.tenant], None).await.expect_error(409, "illegal_state_move");
        p.admin.call(Route::TenantGet, &[&home.tenant], None).await.expect(200);
        p.admin.call(Route::TenantResume, &[&home.tenant], None).await.expect(200);
        owner.call(Route::ProjectGet, &[&home.project], None).await.expect(200);
    }

    /// DESIGN's API laws: ETag is the version and If-Match is honoured.
    async fn a_stale_version_is_refused(p: TestPlatform) {
        let tenant = p.admin.create_tenant("acme").await;
        let read = p.admin.call(Route::TenantGet, &[&tenant], None).await.expect(200);
        assert_eq!(read.header("etag"), Some("\"1\""));
        let guarded = p.admin.clone().with_header("if-match", "\"1\"");
        let body = json!({"display_name": "One"});
        let changed = guarded.call(Route::TenantUpdate, &[&tenant], Some(&body)).await.expect(200);
        assert_eq!(changed.header("etag"), Some("\"2\""));
        guarded.call(Route::TenantUpdate, &[&tenant], Some(&body)).await.expect_error(412, "stale_version");
        guarded.call(Route::TenantDelete, &[&tenant], None).await.expect_error(412, "stale_version");
    }

    /// Lists are pages: every item once, in order, whatever the page size.
    async fn a_list_read_page_by_page_has_every_item_once(p: TestPlatform) {
        let tenant = p.admin.create_tenant("acme").await;
        let mut made = Vec::new();
        for number in 0..23 {
            made.push(p.admin.create_project(&tenant, &format!("p-{number}")).await);
        }
        for limit in [1, 7, 23, 200] {
            let mut seen = Vec::new();
            let mut path = format!("/api/v1/tenants/{tenant}/projects?limit={limit}");
            loop {
                let page = p.admin.get(&path).await.expect(200);
                seen.extend(page.body["items"].as_array().unwrap().iter().map(|item| item["id"].as_str().unwrap().to_owned()));
                match page.body["next_cursor"].as_str() {
                    Some(cursor) => path = format!("/api/v1/tenants/{tenant}/projects?limit={limit}&cursor={cursor}"),
                    None => break,
                }
            }
            assert_eq!(seen, made, "limit {limit}");
        }
    }

    /// Limits are rows, checked where the thing is made, also when many come at once.
    async fn a_limit_holds_under_concurrency(p: TestPlatform) {
        let tenant = p.admin.create_tenant("acme").await;
        p.admin.call(Route::TenantLimitSet, &[&tenant, "projects"], Some(&json!({"value": 3}))).await.expect(200);
        let attempts = (0..12).map(|number| {
            let (admin, tenant) = (p.admin.clone(), tenant.clone());
            async move { admin.call(Route::ProjectCreate, &[&tenant], Some(&json!({"slug": format!("p-{number}")}))).await.status }
        });
        let statuses = futures_util::future::join_all(attempts).await;
        assert_eq!(statuses.iter().filter(|status| **status == 201).count(), 3, "{statuses:?}");
        assert!(statuses.iter().all(|status| [201, 409].contains(status)), "{statuses:?}");
        let limits = p.admin.call(Route::TenantLimitList, &[&tenant], None).await.expect(200);
        let projects = limits.body["items"].as_array().unwrap().iter().find(|limit| limit["name"] == "projects").unwrap().clone();
        assert_eq!((projects["value"].as_i64(), projects["is_default"].as_bool()), (Some(3), Some(false)));
        p.admin.call(Route::TenantLimitSet, &[&tenant, "nonsense"], Some(&json!({"value": 3}))).await.expect_error(404, "not_found");
        p.admin.call(Route::TenantLimitSet, &[&tenant, "projects"], Some(&json!({"value": -1}))).await.expect_error(400, "validation_failed");
    }

    /// Nothing is made inside what is being deleted, however close the two come.
    async fn nothing_is_born_in_a_dying_tenant(p: TestPlatform) {
        for round in 0..12 {
            let tenant = p.admin.create_tenant(&format!("dying-{round}")).await;
            let body = json!({"slug": format!("late-{round}")});
            let at = [tenant.as_str()];
            let (made, deleted) = tokio::join!(
                p.admin.call(Route::ProjectCreate, &at, Some(&body)),
                p.admin.call(Route::TenantDelete, &at, None),
            );
            assert_ne!((made.status, deleted.status), (201, 204), "round {round}");
            assert!([201, 403, 404, 409].contains(&made.status) && [204, 409].contains(&deleted.status), "{} {}", made.text, deleted.text);
        }
        p.settle().await;
    }

    /// A role somewhere above lifts a suspension only for what that role itself may do.
    async fn a_small_platform_role_does_not_lift_a_suspension(p: TestPlatform) {
        let home = p.home("acme").await;
        let (owner, id) = p.member("olga", "tenant-admin", Place::Tenant(&home.tenant)).await;
        p.admin.call(Route::RoleCreate, &[], Some(&json!({"slug": "scraper", "permissions": ["platform.metrics.read"]}))).await.expect(201);
        p.admin.call(Route::PlatformBindingCreate, &[], Some(&json!({"role": "scraper", "user_id": id}))).await.expect(201);
        p.admin.call(Route::TenantSuspend, &[&home.tenant], None).await.expect(200);
        owner.call(Route::TenantGet, &[&home.tenant], None).await.expect_error(403, "tenant_suspended");
        owner.call(Route::ProjectSuspend, &[&home.project], None).await.expect_error(403, "tenant_suspended");
    }
}
