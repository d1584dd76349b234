//! Events by cursor, as server-sent events and over WebSocket; the chain; the late commit.

use std::time::Duration;

use futures_util::StreamExt as _;
use gpuaas_api::Route;
use gpuaas_domain::chain::Stream;
use gpuaas_domain::event::{Change, EventType, ObjectRef};
use gpuaas_domain::iam::{Permit, Scope};
use gpuaas_testkit::{Caller, Database, Place, TestPlatform, both_databases};
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;

/// Reads server-sent events until `count` have come.
async fn read_stream(response: reqwest::Response, count: usize) -> Vec<(i64, Value)> {
    let mut bytes = response.bytes_stream();
    let (mut text, mut events) = (String::new(), Vec::new());
    while events.len() < count {
        let chunk = tokio::time::timeout(Duration::from_secs(20), bytes.next())
            .await
            .expect("an event comes")
            .unwrap()
            .unwrap();
        text.push_str(std::str::from_utf8(&chunk).unwrap());
        while let Some((message, rest)) = text.split_once("\n\n") {
            let field = |name: &str| {
                message.lines().find_map(|line| line.strip_prefix(name)).map(|value| value.trim().to_owned())
            };
            if let (Some(id), Some(data)) = (field("id:"), field("data:")) {
                events.push((id.parse().unwrap(), serde_json::from_str(&data).unwrap()));
            }
            text = rest.to_owned();
        }
    }
    events
}

async fn open_stream(caller: &Caller, bearer: &str, path: &str, last: Option<i64>) -> reqwest::Response {
    let mut request = caller.http().get(format!("{}{path}", caller.url())).bearer_auth(bearer);
    if let Some(last) = last {
        request = request.header("last-event-id", last);
    }
    request.send().await.unwrap()
}

async fn token_of(caller: &Caller) -> String {
    caller.call(Route::TokenCreate, &[], Some(&json!({"name": "stream"}))).await.expect(201).body["secret"]
        .as_str()
        .unwrap()
        .to_owned()
}

both_databases! {
    /// Events arrive live, in order, and a reader that comes back with Last-Event-ID misses none.
    async fn a_stream_resumes_where_it_stopped(p: TestPlatform) {
        let token = token_of(&p.admin).await;
        p.settle().await;
        let first = open_stream(&p.admin, &token, "/api/v1/events/stream", None).await;
        assert_eq!(first.headers()["content-type"], "text/event-stream");
        for name in ["one", "two", "three"] {
            p.admin.create_tenant(name).await;
        }
        p.settle().await;
        let seen = read_stream(first, 3).await;
        p.admin.create_tenant("four").await;
        p.settle().await;
        let resumed = open_stream(&p.admin, &token, "/api/v1/events/stream", Some(seen[1].0)).await;
        let again = read_stream(resumed, 2).await;
        assert_eq!(again[0], seen[2]);
        assert_eq!(again[1].1["data"]["slug"], "four");
        let all = p.admin.get("/api/v1/events").await.expect(200);
        let sequences: Vec<_> = all.body["items"].as_array().unwrap().iter().map(|event| event["sequence"].as_i64().unwrap()).collect();
        let expected: Vec<i64> = (1..).take(sequences.len()).collect();
        assert_eq!(sequences, expected, "no gaps");
    }

    async fn a_socket_gets_the_events_of_its_project_only(p: TestPlatform) {
        let home = p.home("acme").await;
        let other = p.home("other").await;
        let (member, _) = p.member("olga", "project-user", Place::Project(&home.project)).await;
        let token = token_of(&member).await;
        let url = format!("{}/api/v1/projects/{}/events/socket?after=0", p.admin.url().replace("http", "ws"), home.project);
        let mut request = url.into_client_request().unwrap();
        request.headers_mut().insert("authorization", format!("Bearer {token}").parse().unwrap());
        let (mut socket, _) = tokio_tungstenite::connect_async(request).await.unwrap();
        p.admin.create_service_account(&other.project, "theirs", &[]).await;
        p.admin.create_service_account(&home.project, "ours", &[]).await;
        p.settle().await;
        let mut kinds = Vec::new();
        while kinds.len() < 3 {
            let message = tokio::time::timeout(Duration::from_secs(20), socket.next()).await.expect("an event comes").unwrap().unwrap();
            if let Ok(text) = message.to_text() && text.starts_with('{') {
                let event: Value = serde_json::from_str(text).unwrap();
                assert_eq!(event["project_id"], json!(home.project));
                kinds.push(event["type"].as_str().unwrap().to_owned());
            }
        }
        assert_eq!(kinds, ["projects.created", "bindings.created", "service_accounts.created"]);
        // A plain request is told what is missing, and a stranger's handshake is refused before it opens.
        member.call(Route::ProjectEventSocket, &[&home.project], None).await.expect_error(400, "websocket_required");
        let foreign = format!("{}/api/v1/projects/{}/events/socket", p.admin.url().replace("http", "ws"), other.project);
        let mut request = foreign.into_client_request().unwrap();
        request.headers_mut().insert("authorization", format!("Bearer {token}").parse().unwrap());
        assert!(tokio_tungstenite::connect_async(request).await.is_err());
    }

    /// A07: a stream ends within seconds of its caller's authority.
    async fn a_stream_ends_when_its_caller_may_no_longer_listen(p: TestPlatform) {
        let home = p.home("acme").await;
        let (member, id) = p.member("olga", "project-user", Place::Project(&home.project)).await;
        let token = token_of(&member).await;
        let stream = open_stream(&member, &token, &format!("/api/v1/projects/{}/events/stream", home.project), None).await;
        p.admin.call(Route::UserSuspend, &[&id], None).await.expect(200);
        let mut bytes = stream.bytes_stream();
        let ended = tokio::time::timeout(Duration::from_secs(12), async { while bytes.next().await.is_some() {} }).await;
        assert!(ended.is_ok(), "the stream is still open");
    }

    /// L03: one changed bit anywhere in a row is found, and the row is named.
    async fn one_flipped_bit_is_found_and_named(p: TestPlatform) {
        let tenant = p.admin.create_tenant("acme").await;
        for number in 0..5 {
            p.admin.create_project(&tenant, &format!("p-{number}")).await;
        }
        p.settle().await;
        let ok = p.admin.get("/api/v1/audit/verify").await.expect(200);
        assert_eq!(ok.body["ok"], true);
        let victim = p.admin.get("/api/v1/audit?limit=1").await.expect(200).body["items"][0].clone();
        let sequence = victim["sequence"].as_i64().unwrap();
        for change in [
            "UPDATE audit SET action = 'projects.creatd' WHERE action = 'projects.create'",
            "UPDATE audit SET after_change = NULL WHERE action = 'projects.create'",
            "UPDATE audit SET tenant_id = NULL, project_id = NULL WHERE action = 'projects.create'",
            "UPDATE audit SET at = (SELECT MIN(a.at) FROM audit a) WHERE action = 'projects.create'",
            "DELETE FROM audit WHERE action = 'projects.create'",
        ] {
            let broken = crate::with_tampering(&p, change, async || p.admin.get("/api/v1/audit/verify").await.expect(200)).await;
            assert_eq!(broken.body["ok"], false, "{change}");
            assert!(broken.body["broken"]["row_id"].as_str().unwrap().len() == 36, "{change}");
            assert!(broken.body["broken"]["sequence"].as_i64().unwrap() <= sequence, "{change}");
        }
        let chain = "UPDATE chain SET hash = (SELECT c.hash FROM chain c WHERE c.stream = 'audit' AND c.seq = 1) WHERE stream = 'audit' AND seq = 3";
        let broken = crate::with_tampering(&p, chain, async || p.admin.get("/api/v1/audit/verify").await.expect(200)).await;
        assert_eq!(broken.body["broken"]["sequence"], 3);
        let damaged = match p.kind {
            Database::Sqlite => "UPDATE chain SET hash = x'00' WHERE stream = 'audit' AND seq = (SELECT MAX(seq) FROM chain WHERE stream = 'audit')",
            Database::Postgres => "UPDATE chain SET hash = '\\x00' WHERE stream = 'audit' AND seq = (SELECT MAX(seq) FROM chain WHERE stream = 'audit')",
        };
        let broken = crate::with_tampering(&p, damaged, async || p.admin.get("/api/v1/audit/verify").await.expect(200)).await;
        assert_eq!(broken.body["ok"], false, "a damaged end is named, not an error");
        let unreadable = match p.kind {
            Database::Sqlite => "UPDATE audit SET at = 'no time at all' WHERE action = 'tenants.create'",
            Database::Postgres => "UPDATE audit SET at = 'infinity' WHERE action = 'tenants.create'",
        };
        let (broken, list) = crate::with_tampering(&p, unreadable, async || {
            (p.admin.get("/api/v1/audit/verify").await.expect(200), p.admin.get("/api/v1/audit").await.expect(200))
        }).await;
        assert_eq!(broken.body["ok"], false, "a row that cannot be read is named");
        assert!(list.text.contains("(unreadable)") && list.text.contains("projects.create"), "one row does not hide the others");
        let cut = "DELETE FROM chain WHERE stream = 'audit' AND seq = 2";
        let broken = crate::with_tampering(&p, cut, async || p.admin.get("/api/v1/audit/verify").await.expect(200)).await;
        assert_eq!(broken.body["broken"]["sequence"], 2);
        assert_eq!(p.admin.get("/api/v1/audit/verify").await.expect(200).body["ok"], true, "undone, it is whole again");
    }
}

/// Shown by (f): on PostgreSQL a transaction that began first and commits last is never skipped by a reader.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_late_commit_is_never_skipped() {
    let p = TestPlatform::start(Database::Postgres).await;
    p.settle().await;
    let permit = Permit::system("test", Scope::Platform);
    let plane = p.plane();
    let change = |name: &str| {
        Change::new("test.event", ObjectRef::new("test", name))
            .event(EventType::TenantUpdated, json!({ "name": name }))
    };
    let mut seen: i64 = p.store().read().await.unwrap().chain_head(Stream::Events).await.unwrap().sequence;
    let mut names = Vec::new();
    let mut late = Vec::new();
    for round in 0..20 {
        // Stamped (and its ids made) before everything below, committed after it.
        let slow = p.store().begin(&permit, plane.own_stamp()).await.unwrap();
        let quick = p.store().begin(&permit, plane.own_stamp()).await.unwrap();
        quick.commit(change(&format!("quick-{round}")), None).await.unwrap();
        late.push((slow, format!("slow-{round}")));
        if round % 3 == 2 {
            let (slow, name) = late.remove(0);
            slow.commit(change(&name), None).await.unwrap();
        }
        if late.len() > 4 {
            let (slow, name) = late.remove(0);
            slow.commit(change(&name), None).await.unwrap();
        }
        p.settle().await;
        let scope = permit.tenant_scope();
        for (sequence, row) in p.store().read().await.unwrap().list_events(scope, seen, 200).await.unwrap() {
            assert_eq!(sequence, seen + 1, "no gap");
            seen = sequence;
            names
                .push(serde_json::from_str::<Value>(&row.data).unwrap()["name"].as_str().unwrap().to_owned());
        }
    }
    for (slow, name) in late {
        slow.commit(change(&name), None).await.unwrap();
    }
    p.settle().await;
    for (_, row) in
        p.store().read().await.unwrap().list_events(permit.tenant_scope(), seen, 200).await.unwrap()
    {
        names.push(serde_json::from_str::<Value>(&row.data).unwrap()["name"].as_str().unwrap().to_owned());
    }
    let mut expected: Vec<_> =
        (0..20).flat_map(|round| [format!("quick-{round}"), format!("slow-{round}")]).collect();
    expected.sort();
    names.sort();
    assert_eq!(names, expected, "every event once");
}
