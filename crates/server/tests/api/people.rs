//! People: accounts, sessions, personal tokens, roles.

use gpuaas_api::Route;
use gpuaas_testkit::{Caller, Place, TestPlatform, both_databases};
use serde_json::json;

async fn sign_in(p: &TestPlatform, email: &str, password: &str) -> Caller {
    let answer = p
        .anonymous()
        .call(Route::Login, &[], Some(&json!({"email": email, "password": password})))
        .await
        .expect(200);
    let cookie = answer.header("set-cookie").unwrap().to_owned();
    assert!(
        cookie.contains("HttpOnly") && cookie.contains("SameSite=Lax") && cookie.contains("Path=/"),
        "{cookie}"
    );
    p.anonymous().with_header("cookie", cookie.split(';').next().unwrap())
}

both_databases! {
    /// K-01: a browser's session works for reading, and for changing only from our own pages.
    async fn the_session_cookie_is_closed_to_other_sites(p: TestPlatform) {
        let browser = sign_in(&p, &p.admin_email, &p.admin_password).await;
        browser.call(Route::Whoami, &[], None).await.expect(200);
        // What a page of an app could start without reading the answer is not started (attack 2).
        for (site, mode) in [("cross-site", "no-cors"), ("same-site", "no-cors"), ("same-site", "cors"), ("odd", "no-cors")] {
            let page = browser.clone().with_header("sec-fetch-site", site).with_header("sec-fetch-mode", mode);
            page.call(Route::Whoami, &[], None).await.expect_error(403, "cross_origin");
        }
        let followed = browser.clone().with_header("sec-fetch-site", "cross-site").with_header("sec-fetch-mode", "navigate");
        let answer = followed.call(Route::Whoami, &[], None).await.expect(200);
        assert_eq!(answer.header("cross-origin-resource-policy"), Some("same-origin"));
        let body = json!({"slug": "acme"});
        for foreign in [
            browser.clone(),
            browser.clone().with_header("origin", "https://evil.example"),
            browser.clone().with_header("origin", "null"),
            browser.clone().with_header("sec-fetch-site", "cross-site"),
            browser.clone().with_header("sec-fetch-site", "same-site").with_header("origin", p.anonymous().url()),
        ] {
            foreign.call(Route::TenantCreate, &[], Some(&body)).await.expect_error(403, "cross_origin");
        }
        let own = browser.clone().with_header("origin", p.anonymous().url());
        own.call(Route::TenantCreate, &[], Some(&body)).await.expect(201);
        own.call(Route::Logout, &[], None).await.expect(204);
        browser.call(Route::Whoami, &[], None).await.expect_error(401, "invalid_token");
        // Nor may another site sign a browser in.
        let login = json!({"email": p.admin_email, "password": p.admin_password});
        p.anonymous().with_header("origin", "https://evil.example").call(Route::Login, &[], Some(&login)).await
            .expect_error(403, "cross_origin");
    }

    async fn a_session_ends_with_time(p: TestPlatform) {
        let browser = sign_in(&p, &p.admin_email, &p.admin_password).await;
        p.clock.advance_seconds(12 * 3600 - 5);
        browser.call(Route::Whoami, &[], None).await.expect(200);
        p.clock.advance_seconds(6);
        browser.call(Route::Whoami, &[], None).await.expect_error(401, "invalid_token");
        p.sweep().await;
        browser.call(Route::Whoami, &[], None).await.expect_error(401, "invalid_token");
    }

    async fn a_wrong_password_and_an_unknown_account_look_the_same(p: TestPlatform) {
        let try_in = async |email: &str| {
            p.anonymous().call(Route::Login, &[], Some(&json!({"email": email, "password": "wrong password"}))).await
        };
        let (known, unknown) = (try_in("admin@example.org").await, try_in("nobody@example.org").await);
        assert_eq!((known.status, known.code()), (unknown.status, unknown.code()));
        assert_eq!(known.body["error"]["message"], unknown.body["error"]["message"]);
        known.expect_error(401, "invalid_credentials");
    }

    /// T-12: personal tokens are short-lived, revocable at once, and only their owner's.
    async fn a_personal_token_lives_at_most_90_days_and_dies_at_once(p: TestPlatform) {
        let (ada, _) = p.person("ada").await;
        ada.call(Route::TokenCreate, &[], Some(&json!({"name": "long", "expires_in_days": 91}))).await.expect(400);
        let made = ada.call(Route::TokenCreate, &[], Some(&json!({"name": "ci"}))).await.expect(201);
        let token = p.anonymous().with_bearer(made.body["secret"].as_str().unwrap());
        token.call(Route::Whoami, &[], None).await.expect(200);
        let (bob, _) = p.person("bob").await;
        bob.call(Route::TokenRevoke, &[&made.id()], None).await.expect_error(404, "not_found");
        ada.call(Route::TokenRevoke, &[&made.id()], None).await.expect(204);
        token.call(Route::Whoami, &[], None).await.expect_error(401, "invalid_token");
        let list = ada.call(Route::TokenList, &[], None).await.expect(200);
        assert!(!list.text.contains("gpup_"), "secrets are never listed");

        let month = ada.call(Route::TokenCreate, &[], Some(&json!({"name": "default"}))).await.expect(201);
        let month = p.anonymous().with_bearer(month.body["secret"].as_str().unwrap());
        p.clock.advance_seconds(30 * 86_400 - 5);
        month.call(Route::Whoami, &[], None).await.expect(200);
        p.clock.advance_seconds(6);
        month.call(Route::Whoami, &[], None).await.expect_error(401, "invalid_token");
    }

    /// A person is erased without breaking the chain, and the address can be used again.
    async fn a_deleted_person_leaves_only_an_id(p: TestPlatform) {
        let (eve, id) = p.member("eve", "platform-admin", Place::Platform).await;
        p.admin.call(Route::UserUpdate, &[&id], Some(&json!({"display_name": "Eve Exposed"}))).await.expect(200);
        p.admin.call(Route::UserDelete, &[&id], None).await.expect(204);
        eve.call(Route::Whoami, &[], None).await.expect_error(401, "invalid_token");
        p.settle().await;
        p.admin.call(Route::UserGet, &[&id], None).await.expect_error(404, "not_found");
        let trail = p.admin.get("/api/v1/audit?limit=200").await.expect(200);
        let events = p.admin.get("/api/v1/events?limit=200").await.expect(200);
        for text in [&trail.text, &events.text] {
            assert!(!text.contains("eve@") && !text.contains("Eve Exposed"), "N-06: {text}");
            assert!(text.contains(&id));
        }
        assert!(trail.text.contains("(changed)"));
        assert_eq!(p.admin.get("/api/v1/audit/verify").await.expect(200).body["ok"], true);
        p.person("eve").await;
    }

    async fn the_last_platform_admin_cannot_be_removed(p: TestPlatform) {
        let id = p.admin.call(Route::Whoami, &[], None).await.expect(200).id();
        p.admin.call(Route::UserSuspend, &[&id], None).await.expect_error(409, "last_platform_admin");
        p.admin.call(Route::UserDelete, &[&id], None).await.expect_error(409, "last_platform_admin");
        let bindings = p.admin.call(Route::PlatformBindingList, &[], None).await.expect(200);
        let binding = bindings.body["items"][0]["id"].as_str().unwrap().to_owned();
        p.admin.call(Route::PlatformBindingDelete, &[&binding], None).await.expect_error(409, "last_platform_admin");
        p.member("second", "platform-admin", Place::Platform).await;
        p.admin.call(Route::PlatformBindingDelete, &[&binding], None).await.expect(204);
        p.admin.call(Route::UserList, &[], None).await.expect_error(403, "permission_denied");
    }

    /// K-02: roles are sets of permission keys; a change of the set counts from the next request on.
    async fn a_custom_role_means_what_it_holds_now(p: TestPlatform) {
        let home = p.home("acme").await;
        let new = json!({"slug": "reader", "permissions": ["projects.read"]});
        let role = p.admin.call(Route::RoleCreate, &[], Some(&new)).await.expect(201).id();
        let (reader, _) = p.member("rita", "reader", Place::Project(&home.project)).await;
        reader.call(Route::ProjectEventList, &[&home.project], None).await.expect_error(403, "permission_denied");
        let wider = json!({"permissions": ["projects.read", "events.read"]});
        p.admin.call(Route::RoleUpdate, &[&role], Some(&wider)).await.expect(200);
        reader.call(Route::ProjectEventList, &[&home.project], None).await.expect(200);
        p.admin.call(Route::RoleDelete, &[&role], None).await.expect_error(409, "role_in_use");
        let wrong = json!({"slug": "typo", "permissions": ["projects.raed"]});
        let refused = p.admin.call(Route::RoleCreate, &[], Some(&wrong)).await.expect(400);
        assert!(refused.text.contains("projects.read"), "the nearest name is offered: {}", refused.text);
        let builtin = gpuaas_domain::iam::BuiltinRole::ProjectUser.id().to_string();
        p.admin.call(Route::RoleUpdate, &[&builtin], Some(&wider)).await.expect_error(409, "builtin_role");
        let taken = json!({"slug": "project-admin", "permissions": []});
        p.admin.call(Route::RoleCreate, &[], Some(&taken)).await.expect_error(409, "slug_taken");
    }

    async fn changing_the_password_ends_other_sessions(p: TestPlatform) {
        p.person("ada").await;
        let one = sign_in(&p, "ada@example.org", "correct horse battery").await;
        let two = sign_in(&p, "ada@example.org", "correct horse battery").await;
        let from_page = one.clone().with_header("origin", p.anonymous().url());
        let wrong = json!({"current_password": "not it at all", "new_password": "another horse entirely"});
        from_page.call(Route::PasswordChange, &[], Some(&wrong)).await.expect_error(400, "validation_failed");
        let weak = json!({"current_password": "correct horse battery", "new_password": "short"});
        from_page.call(Route::PasswordChange, &[], Some(&weak)).await.expect_error(400, "validation_failed");
        let right = json!({"current_password": "correct horse battery", "new_password": "another horse entirely"});
        from_page.call(Route::PasswordChange, &[], Some(&right)).await.expect(204);
        one.call(Route::Whoami, &[], None).await.expect(200);
        two.call(Route::Whoami, &[], None).await.expect_error(401, "invalid_token");
        sign_in(&p, "ada@example.org", "another horse entirely").await;
    }

    /// The address `./run` prints signs in once.
    async fn a_sign_in_link_works_once(p: TestPlatform) {
        use gpuaas_control_plane::operations::bootstrap::make_login_link;
        let email = gpuaas_domain::text::Email::parse(&p.admin_email).unwrap();
        let code = make_login_link(p.plane(), &email).await.unwrap();
        let path = format!("/auth/link?code={}", code.expose());
        let opened = futures_util::future::join_all((0..8).map(|_| { let (caller, path) = (p.anonymous(), path.clone()); async move { caller.get(&path).await } })).await;
        assert_eq!(opened.iter().filter(|answer| answer.status == 303).count(), 1);
        let winner = opened.iter().find(|answer| answer.status == 303).unwrap();
        assert_eq!(winner.header("location"), Some("/"), "the web shell");
        let cookie = winner.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
        p.anonymous().with_header("cookie", &cookie).call(Route::Whoami, &[], None).await.expect(200);
        let late = make_login_link(p.plane(), &email).await.unwrap();
        p.clock.advance_seconds(15 * 60 + 1);
        let late = format!("/auth/link?code={}", late.expose());
        p.anonymous().get(&late).await.expect_error(401, "invalid_link");
        let browser = p.anonymous().with_header("accept", "text/html,*/*;q=0.8").get(&late).await.expect(303);
        assert_eq!(browser.header("location"), Some("/sign-in?problem=invalid_link"), "a page that says why");
        assert_eq!(browser.header("set-cookie"), None);
    }

    /// A10: whoever looks after accounts cannot take over one that holds more than they do.
    async fn a_helpdesk_cannot_take_over_an_admin(p: TestPlatform) {
        let role = json!({"slug": "helpdesk", "permissions": ["users.read", "users.manage"]});
        p.admin.call(Route::RoleCreate, &[], Some(&role)).await.expect(201);
        let (helpdesk, _) = p.member("hans", "helpdesk", Place::Platform).await;
        let admin = p.admin.call(Route::Whoami, &[], None).await.expect(200).id();
        p.member("second", "platform-admin", Place::Platform).await;
        for route in [Route::UserResetPassword, Route::UserSuspend, Route::UserDelete] {
            helpdesk.call(route, &[&admin], None).await.expect_error(403, "cannot_grant_more_than_own");
        }
        let email = json!({"email": "mine@example.org"});
        helpdesk.call(Route::UserUpdate, &[&admin], Some(&email)).await.expect_error(403, "cannot_grant_more_than_own");
        p.settle().await;
        let denied = p.admin.get("/api/v1/audit?action=users.reset_password").await.expect(200);
        assert_eq!(denied.body["items"][0]["outcome"], "denied");
        assert_eq!(denied.body["items"][0]["reason"], "cannot_grant_more_than_own");
        // Of somebody weaker they can, and a reset ends everything made with the old password.
        let (ada, id) = p.person("ada").await;
        ada.call(Route::Whoami, &[], None).await.expect(200);
        helpdesk.call(Route::UserResetPassword, &[&id], None).await.expect(200);
        ada.call(Route::Whoami, &[], None).await.expect_error(401, "invalid_token");
    }
}

/// Many guesses at once are no way around the limit.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_guesses_count_one_by_one() {
    let p = TestPlatform::start_with(gpuaas_testkit::Database::Sqlite, "wrong_passwords = 3").await;
    let guess = json!({"email": "admin@example.org", "password": "wrong password"});
    let tries = (0..30).map(|_| {
        let (caller, guess) = (p.anonymous(), guess.clone());
        async move { caller.call(Route::Login, &[], Some(&guess)).await.status }
    });
    let statuses = futures_util::future::join_all(tries).await;
    assert!(statuses.iter().filter(|status| **status == 401).count() <= 3, "{statuses:?}");
    assert!(statuses.iter().all(|status| [401, 429].contains(status)), "{statuses:?}");
}
