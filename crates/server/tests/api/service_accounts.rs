//! Machine callers from creation to deletion.

use base64::Engine as _;
use gpuaas_api::Route;
use gpuaas_testkit::{KeyPair, Place, TestPlatform, both_databases};
use serde_json::json;

both_databases! {
    /// K-04, K-07: a key made by the platform is shown once, works, and buys tokens of 900 seconds.
    async fn a_key_made_here_is_shown_once_and_works(p: TestPlatform) {
        let home = p.home("acme").await;
        let body = json!({"name": "ci", "roles": ["app-operator"]});
        let made = p.admin.call(Route::ServiceAccountCreate, &[&home.project], Some(&body)).await.expect(201);
        let pem = made.body["private_key_pem"].as_str().unwrap();
        assert!(pem.starts_with("-----BEGIN PRIVATE KEY-----"));
        let der: String = pem.lines().filter(|line| !line.starts_with('-')).collect();
        let der = base64::engine::general_purpose::STANDARD.decode(der).unwrap();
        let pair = ring::signature::Ed25519KeyPair::from_pkcs8_maybe_unchecked(&der).unwrap();
        let pair = KeyPair { pair, key_id: made.body["key"]["id"].as_str().unwrap().to_owned() };
        let assertion = pair.sign(&pair.assertion(&made.id(), &p.platform_id(), p.now_seconds()));
        let token = p.anonymous().call(Route::ServiceAccountToken, &[], Some(&json!({"assertion": assertion}))).await.expect(200);
        assert_eq!(token.body["expires_in"], 900);
        assert_eq!(token.body["token_type"], "Bearer");
        let machine = p.anonymous().with_bearer(token.body["access_token"].as_str().unwrap());
        let me = machine.call(Route::Whoami, &[], None).await.expect(200);
        assert_eq!(me.body["kind"], "service_account");
        assert_eq!(me.body["project_id"], json!(home.project));
        let read = p.admin.call(Route::ServiceAccountGet, &[&home.project, &made.id()], None).await.expect(200);
        let list = p.admin.call(Route::ServiceAccountList, &[&home.project], None).await.expect(200);
        for text in [read.text, list.text] {
            assert!(!text.contains("PRIVATE KEY"), "K-04: never again");
        }
    }

    /// K-16: the alias answers like the canonical path.
    async fn the_alias_path_gives_tokens_too(p: TestPlatform) {
        let home = p.home("acme").await;
        let (account, pair) = p.admin.create_service_account(&home.project, "ci", &[]).await;
        let assertion = pair.sign(&pair.assertion(&account, &p.platform_id(), p.now_seconds()));
        let token = p.anonymous().post("/auth/sa/token", &json!({"assertion": assertion, "ttl_seconds": 60})).await.expect(200);
        assert_eq!(token.body["expires_in"], 60);
    }

    /// K-05: disabling counts at once, for the token in hand too.
    async fn disabling_kills_the_token_in_hand(p: TestPlatform) {
        let home = p.home("acme").await;
        let (account, pair) = p.admin.create_service_account(&home.project, "ci", &["app-operator"]).await;
        let machine = p.machine(&account, &pair).await;
        machine.call(Route::ProjectGet, &[&home.project], None).await.expect(200);
        p.admin.call(Route::ServiceAccountDisable, &[&home.project, &account], None).await.expect(200);
        machine.call(Route::ProjectGet, &[&home.project], None).await.expect_error(401, "account_disabled");
        let assertion = pair.sign(&pair.assertion(&account, &p.platform_id(), p.now_seconds()));
        p.anonymous().call(Route::ServiceAccountToken, &[], Some(&json!({"assertion": assertion}))).await
            .expect_error(401, "account_disabled");
        p.admin.call(Route::ServiceAccountDisable, &[&home.project, &account], None).await.expect_error(409, "illegal_state_move");
    }

    /// K-06: the old key ends after the overlap, the trail outlives the account.
    async fn rotation_overlaps_and_deletion_keeps_the_trail(p: TestPlatform) {
        let home = p.home("acme").await;
        let (account, old) = p.admin.create_service_account(&home.project, "ci", &["app-operator"]).await;
        let mut new = KeyPair::generate();
        let body = json!({"public_key": new.public_key(), "overlap_seconds": 120});
        let rotated = p.admin.call(Route::ServiceAccountRotateKey, &[&home.project, &account], Some(&body)).await.expect(200);
        rotated.body["key"]["id"].as_str().unwrap().clone_into(&mut new.key_id);
        assert!(rotated.body["private_key_pem"].is_null(), "the caller brought its own");
        let with_old = p.machine(&account, &old).await;
        let with_new = p.machine(&account, &new).await;
        with_old.call(Route::ProjectGet, &[&home.project], None).await.expect(200);
        p.clock.advance_seconds(121);
        with_old.call(Route::ProjectGet, &[&home.project], None).await.expect_error(401, "invalid_token");
        with_new.call(Route::ProjectGet, &[&home.project], None).await.expect(200);
        let late = old.sign(&old.assertion(&account, &p.platform_id(), p.now_seconds()));
        p.anonymous().call(Route::ServiceAccountToken, &[], Some(&json!({"assertion": late}))).await.expect_error(401, "invalid_assertion");

        p.admin.call(Route::ServiceAccountDelete, &[&home.project, &account], None).await.expect(204);
        with_new.call(Route::ProjectGet, &[&home.project], None).await.expect_error(401, "invalid_token");
        p.admin.call(Route::ServiceAccountGet, &[&home.project, &account], None).await.expect_error(404, "not_found");
        p.settle().await;
        let trail = p.admin.get(&format!("/api/v1/projects/{}/audit?object_id={account}", home.project)).await.expect(200);
        let actions: Vec<_> = trail.body["items"].as_array().unwrap().iter().map(|row| row["action"].as_str().unwrap().to_owned()).collect();
        for action in ["service_accounts.create", "service_accounts.rotate_key", "auth.service_account_token", "service_accounts.delete"] {
            assert!(actions.iter().any(|known| known == action), "{action} in {actions:?}");
        }
        // The name is free again.
        p.admin.create_service_account(&home.project, "ci", &[]).await;
    }

    /// K-14: a person and a machine with the same role get the same answer from the same endpoint.
    async fn humans_and_machines_use_the_same_endpoints(p: TestPlatform) {
        let home = p.home("acme").await;
        let (person, _) = p.member("olga", "app-operator", Place::Project(&home.project)).await;
        let (account, pair) = p.admin.create_service_account(&home.project, "ci", &["app-operator"]).await;
        let machine = p.machine(&account, &pair).await;
        p.settle().await;
        for route in [Route::ProjectGet, Route::ProjectEventList, Route::ProjectLimitList] {
            let (one, two) = (person.call(route, &[&home.project], None).await, machine.call(route, &[&home.project], None).await);
            assert_eq!((one.status, &one.body), (two.status, &two.body), "{route:?}");
        }
        let (one, two) = (
            person.call(Route::ProjectAuditList, &[&home.project], None).await,
            machine.call(Route::ProjectAuditList, &[&home.project], None).await,
        );
        assert_eq!((one.status, one.code()), (two.status, two.code()));
    }

    /// A key for which anybody could make up signatures is no key.
    async fn odd_public_keys_are_refused(p: TestPlatform) {
        let home = p.home("acme").await;
        let point = |first: u8, middle: u8, last: u8| {
            let mut bytes = [middle; 32];
            (bytes[0], bytes[31]) = (first, last);
            base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(bytes)
        };
        let mut keys: Vec<String> = ["", "AAAA", "not base64!", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="].map(str::to_owned).to_vec();
        for sign in [0, 0x80] {
            keys.extend([point(0, 0, sign), point(1, 0, sign)]);
            keys.extend([0xec, 0xed, 0xee].map(|first| point(first, 0xff, 0x7f | sign)));
        }
        keys.push("JuiVj8KyJ7BFw_SJ8u-Y8NXfrAXTxjM5sTgCiG1T_AU".into());
        keys.push("xxdqcD1N2E-6PAt2DRBnDyogU_osOczGTsf9d5KsA3o".into());
        for key in keys {
            let body = json!({"name": "ci", "public_key": key});
            p.admin.call(Route::ServiceAccountCreate, &[&home.project], Some(&body)).await.expect_error(400, "validation_failed");
        }
        let refused = json!({"name": "ci", "roles": ["app-operator", "no-such-role"]});
        let refused = p.admin.call(Route::ServiceAccountCreate, &[&home.project], Some(&refused)).await.expect(400);
        assert_eq!(refused.body["error"]["fields"][0]["path"], "/roles/1");
    }

    /// A10: a key is what its account holds; nobody rotates one for an account that holds more than they do.
    async fn rotating_a_key_is_no_way_up(p: TestPlatform) {
        let home = p.home("acme").await;
        let keeper = json!({"slug": "keeper", "permissions": ["projects.read", "service_accounts.read", "service_accounts.manage"]});
        p.admin.call(Route::RoleCreate, &[], Some(&keeper)).await.expect(201);
        let (keeper, _) = p.member("kim", "keeper", Place::Project(&home.project)).await;
        let (strong, _) = p.admin.create_service_account(&home.project, "strong", &["project-admin"]).await;
        let (weak, _) = p.admin.create_service_account(&home.project, "weak", &[]).await;
        keeper.call(Route::ServiceAccountRotateKey, &[&home.project, &strong], None).await.expect_error(403, "cannot_grant_more_than_own");
        keeper.call(Route::ServiceAccountRotateKey, &[&home.project, &weak], None).await.expect(200);
    }
}
