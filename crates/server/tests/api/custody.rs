//! Wrapped values through the API, and turning keys over with live data.

use gpuaas_api::Route;
use gpuaas_control_plane::operations::custody;
use gpuaas_custody::{Keyring, LocalCustody, SystemEntropy};
use gpuaas_testkit::{TestPlatform, both_databases};
use serde_json::json;

both_databases! {
    /// L-02, T06: of many who open a wrapped key at once, one gets it; every other try is refused and audited.
    async fn a_wrapped_value_opens_once(p: TestPlatform) {
        let home = p.home("acme").await;
        let body = json!({"name": "ci", "key_delivery": "wrapped"});
        let made = p.admin.call(Route::ServiceAccountCreate, &[&home.project], Some(&body)).await.expect(201);
        assert!(made.body["private_key_pem"].is_null());
        let token = made.body["wrapped_private_key"]["token"].as_str().unwrap().to_owned();
        let open = json!({"token": token});
        let tries = (0..10).map(|_| { let (caller, open) = (p.anonymous(), open.clone()); async move { caller.call(Route::Unwrap, &[], Some(&open)).await } });
        let answers = futures_util::future::join_all(tries).await;
        let opened: Vec<_> = answers.iter().filter(|answer| answer.status == 200).collect();
        assert_eq!(opened.len(), 1);
        assert!(opened[0].body["value"].as_str().unwrap().contains("PRIVATE KEY"));
        assert!(answers.iter().filter(|answer| answer.status != 200).all(|answer| answer.code() == "already_unwrapped"));
        p.settle().await;
        let trail = p.admin.get("/api/v1/audit?action=custody.unwrap&limit=200").await.expect(200);
        let outcome = |name| trail.body["items"].as_array().unwrap().iter().filter(|row| row["outcome"] == name).count();
        assert_eq!((outcome("done"), outcome("denied")), (1, 9));
        assert!(!trail.text.contains("PRIVATE KEY") && !trail.text.contains(&token), "N-06");
    }

    async fn a_wrapped_value_expires(p: TestPlatform) {
        let home = p.home("acme").await;
        let body = json!({"name": "ci", "key_delivery": "wrapped"});
        let made = p.admin.call(Route::ServiceAccountCreate, &[&home.project], Some(&body)).await.expect(201);
        let open = json!({"token": made.body["wrapped_private_key"]["token"]});
        p.clock.advance_seconds(3601);
        p.anonymous().call(Route::Unwrap, &[], Some(&open)).await.expect_error(409, "wrap_expired");
        p.sweep().await;
        p.anonymous().call(Route::Unwrap, &[], Some(&open)).await.expect_error(409, "wrap_expired");
    }

    /// K03: the master key is turned over while the server runs; nothing sealed is lost, the old key is gone.
    async fn the_master_key_turns_over_with_live_data(p: TestPlatform) {
        let home = p.home("acme").await;
        let (account, pair) = p.admin.create_service_account(&home.project, "ci", &["app-operator"]).await;
        let wrapped = json!({"name": "later", "key_delivery": "wrapped"});
        let wrapped = p.admin.call(Route::ServiceAccountCreate, &[&home.project], Some(&wrapped)).await.expect(201);
        let before = p.machine(&account, &pair).await;

        // Another process does it, as an operator would.
        let file = p.database.folder().join("data").join("master-key.json");
        let old_key = std::fs::read_to_string(&file).unwrap();
        let other = LocalCustody::open_or_create(&file, std::sync::Arc::new(SystemEntropy::new())).unwrap();
        other.update(Keyring::add_key).unwrap();
        gpuaas_custody::SecretStore::refresh(&*p.plane().custody).unwrap();
        let moved = custody::rewrap_all(p.plane(), &p.plane().custody.current_key()).await.unwrap();
        assert_eq!(moved, 4, "the token key, the registry key, the order key and the wrapped key");
        other.update(|keyring, _| keyring.retire_others()).unwrap();
        gpuaas_custody::SecretStore::refresh(&*p.plane().custody).unwrap();
        assert_ne!(std::fs::read_to_string(&file).unwrap(), old_key);

        before.call(Route::ProjectGet, &[&home.project], None).await.expect(200);
        p.machine(&account, &pair).await.call(Route::ProjectGet, &[&home.project], None).await.expect(200);
        let open = json!({"token": wrapped.body["wrapped_private_key"]["token"]});
        p.anonymous().call(Route::Unwrap, &[], Some(&open)).await.expect(200);
        assert_eq!(custody::rewrap_all(p.plane(), &p.plane().custody.current_key()).await.unwrap(), 0, "repeating changes nothing");
    }

    /// L-02, K04: a sealed value moved to another row does not open.
    async fn sealed_bytes_moved_between_rows_do_not_open(p: TestPlatform) {
        let home = p.home("acme").await;
        let mut tokens = Vec::new();
        for name in ["one", "two"] {
            let body = json!({"name": name, "key_delivery": "wrapped"});
            let made = p.admin.call(Route::ServiceAccountCreate, &[&home.project], Some(&body)).await.expect(201);
            tokens.push(made.body["wrapped_private_key"]["token"].as_str().unwrap().to_owned());
        }
        let swap = "CREATE TABLE other AS SELECT id, sealed FROM wraps; \
                    UPDATE wraps SET sealed = (SELECT o.sealed FROM other o WHERE o.id <> wraps.id); DROP TABLE other";
        crate::execute(&p, swap).await;
        for token in tokens {
            p.anonymous().call(Route::Unwrap, &[], Some(&json!({"token": token}))).await.expect_error(500, "internal_error");
        }
    }

    /// A new signing key: tokens of the old one live out their minutes, then not one second more.
    async fn the_token_key_turns_over_without_refusing_anybody(p: TestPlatform) {
        let home = p.home("acme").await;
        let (account, pair) = p.admin.create_service_account(&home.project, "ci", &["app-operator"]).await;
        let old = p.machine(&account, &pair).await;
        custody::rotate_token_key(p.plane()).await.unwrap();
        let new = p.machine(&account, &pair).await;
        for caller in [&old, &new] {
            caller.call(Route::ProjectGet, &[&home.project], None).await.expect(200);
        }
    }
}
