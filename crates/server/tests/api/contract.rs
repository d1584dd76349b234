//! Health, envelope, tracing, metrics, redaction.

use gpuaas_api::Route;
use gpuaas_testkit::{Database, TestPlatform, both_databases};
use serde_json::json;

both_databases! {
    /// N-01, N-02: errors carry the caller's correlation id, or one of ours if theirs is no good.
    async fn the_correlation_id_goes_all_the_way(p: TestPlatform) {
        let caller = p.admin.clone().with_header("x-correlation-id", "my-story:1");
        let refused = caller.get("/api/v1/tenants/nope").await.expect_error(404, "not_found");
        assert_eq!(refused.body["error"]["correlation_id"], "my-story:1");
        assert_eq!(refused.header("x-correlation-id"), Some("my-story:1"));
        let odd = p.admin.clone().with_header("x-correlation-id", "a b<script>").get("/api/v1/tenants").await.expect(200);
        assert_ne!(odd.header("x-correlation-id"), Some("a b<script>"));
    }

    /// N-02: a W3C trace goes into events and audit rows.
    async fn the_trace_goes_into_events_and_audit(p: TestPlatform) {
        let trace = "4bf92f3577b34da6a3ce929d0e0e4736";
        let caller = p.admin.clone().with_header("traceparent", &format!("00-{trace}-00f067aa0ba902b7-01"));
        let tenant = caller.create_tenant("acme").await;
        p.settle().await;
        let rows = p.admin.get(&format!("/api/v1/tenants/{tenant}/audit")).await.expect(200);
        assert_eq!(rows.body["items"][0]["trace_id"], trace);
        let events = p.admin.get(&format!("/api/v1/tenants/{tenant}/events")).await.expect(200);
        assert_eq!(events.body["items"][0]["trace_id"], trace);
    }

    /// N-07: health for everybody, metrics for those who may read them.
    async fn health_is_public_and_metrics_are_not(p: TestPlatform) {
        p.anonymous().call(Route::Healthz, &[], None).await.expect(200);
        let ready = p.anonymous().call(Route::Readyz, &[], None).await.expect(200);
        assert_eq!(ready.body["status"], "ok");
        p.anonymous().call(Route::Metrics, &[], None).await.expect_error(401, "unauthenticated");
        let metrics = p.admin.call(Route::Metrics, &[], None).await.expect(200).text;
        for name in ["gpuaas_http_requests_total", "gpuaas_anonymous_denials_total", "gpuaas_unnumbered_rows", "gpuaas_open_streams"] {
            assert!(metrics.contains(name), "{name}");
        }
    }

    /// The contract browser is served whole, with a policy that allows nothing from elsewhere.
    async fn the_contract_browser_needs_no_outside_host(p: TestPlatform) {
        let page = p.anonymous().call(Route::Docs, &[], None).await.expect(200);
        let policy = page.header("content-security-policy").unwrap();
        assert!(policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'") && !policy.contains("unsafe"));
        for asset in ["docs.js", "docs.css"] {
            let file = p.anonymous().call(Route::DocsAsset, &[asset], None).await.expect(200);
            assert!(!file.text.contains("https://") || file.text.contains("curl"), "{asset} names another host");
        }
        p.anonymous().call(Route::DocsAsset, &["other.js"], None).await.expect_error(404, "not_found");
    }

    /// N-06, T-13: no secret, credential or hash of one is in any answer, event, audit row or plain column.
    async fn secrets_are_nowhere_to_be_found(p: TestPlatform) {
        let home = p.home("acme").await;
        let canary = "canary-correct-horse-9f3b";
        let user = json!({"email": "canary@example.org", "password": canary});
        p.admin.call(Route::UserCreate, &[], Some(&user)).await.expect(201);
        p.anonymous().call(Route::Login, &[], Some(&user)).await.expect(200);
        p.anonymous().call(Route::Login, &[], Some(&json!({"email": "canary@example.org", "password": format!("{canary}x")}))).await.expect(401);
        let account = p.admin.call(Route::ServiceAccountCreate, &[&home.project], Some(&json!({"name": "ci"}))).await.expect(201);
        let pem = account.body["private_key_pem"].as_str().unwrap().lines().nth(1).unwrap().to_owned();
        let token = p.admin.call(Route::TokenCreate, &[], Some(&json!({"name": "t"}))).await.expect(201);
        let token = token.body["secret"].as_str().unwrap().to_owned();
        p.settle().await;
        let mut dump = Vec::new();
        p.store().export(&mut dump).await.unwrap();
        let mut everything = String::from_utf8(dump).unwrap();
        for path in ["/api/v1/audit?limit=200", "/api/v1/events?limit=200", "/api/v1/users", "/metrics", "/api/v1/auth/tokens"] {
            everything.push_str(&p.admin.get(path).await.text);
        }
        let secret_half = token.splitn(3, '_').nth(2).unwrap();
        for secret in [canary, &pem, secret_half, &p.admin_password] {
            assert!(!everything.contains(secret), "a secret leaked");
        }
    }
}

/// D-24: the whole core suite runs here without any cluster, registry or container engine.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_platform_starts_with_nothing_around_it() {
    let p = TestPlatform::start(Database::Sqlite).await;
    p.anonymous().call(Route::Readyz, &[], None).await.expect(200);
    p.stop().await;
}
