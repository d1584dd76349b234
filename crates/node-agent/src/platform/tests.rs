use std::sync::atomic::Ordering;

use super::*;
use crate::fake_platform::{FakePlatform, JOIN_TOKEN};
use crate::identity::StateFolder;
use crate::join::{JoinToken, Outcome, join as join_platform};
use crate::wall_clock::SystemClock;

fn state() -> (tempfile::TempDir, StateFolder) {
    let folder = tempfile::tempdir().unwrap();
    let state = StateFolder::at(folder.path().join("state"));
    (folder, state)
}

async fn bare_inventory(_: &[u8]) -> NodeInventory {
    let look = crate::inventory::Look {
        search_path: String::new(),
        tool_timeout: Duration::from_secs(1),
        data_dir: "/".into(),
        declared: Vec::new(),
        seed: Vec::new(),
    };
    crate::inventory::look(&look, gpuaas_agent_protocol::inventory::Runtime::Simulated).await
}

async fn try_join(state: &StateFolder, server: &str, token: &str) -> Result<Outcome, gpuaas_domain::Error> {
    let token = JoinToken::parse(token)?;
    join_platform(state, server, &token, Some("gpu-1".into()), bare_inventory).await
}

#[tokio::test]
async fn joining_is_done_once_and_survives_a_lost_answer() {
    let platform = FakePlatform::start().await;
    let (_folder, state) = state();
    platform.world.lose_answer.store(true, Ordering::SeqCst);
    let lost = try_join(&state, &platform.url, &platform.join_token()).await.unwrap_err();
    assert_eq!(lost.code(), "join_unfinished");
    assert!(state.find_identity().unwrap().is_none());

    let joined = try_join(&state, &platform.url, &platform.join_token()).await.unwrap();
    let Outcome::Joined(node) = joined else { panic!("{joined:?}") };
    assert_eq!((node.name.as_str(), node.server_url.as_str()), ("gpu-1", platform.url.as_str()));
    assert_eq!(state.get_identity().unwrap(), node);
    let joins = platform.world.joins.lock().unwrap().len();
    assert_eq!(joins, 2);
    assert!(platform.world.joins.lock().unwrap().iter().all(|join| join.token == JOIN_TOKEN));

    // Again: said without a call. Elsewhere: refused.
    let again = try_join(&state, &format!("{}/", platform.url), &platform.join_token()).await.unwrap();
    assert_eq!(again, Outcome::Already(node));
    assert_eq!(platform.world.joins.lock().unwrap().len(), joins);
    let other = try_join(&state, "https://other.example.org", &platform.join_token()).await.unwrap_err();
    assert_eq!(other.code(), "joined_elsewhere");
}

#[tokio::test]
async fn nothing_is_sent_to_whoever_does_not_hold_the_pinned_key() {
    let (platform, impostor) = (FakePlatform::start().await, FakePlatform::start().await);
    let (_folder, state) = state();
    let refused = try_join(&state, &impostor.url, &platform.join_token()).await.unwrap_err();
    assert_eq!(refused.code(), "server_untrusted");
    assert!(impostor.world.requests.lock().unwrap().is_empty());
    assert!(state.find_identity().unwrap().is_none());

    let bad = format!("jt-1.wrong.{}", platform.pin);
    let refused = try_join(&state, &platform.url, &bad).await.unwrap_err();
    assert_eq!(refused.code(), "join_refused");
    assert!(refused.message().contains("This join token is not valid."), "{refused}");
    let gone = try_join(&state, "https://127.0.0.1:9", &platform.join_token()).await.unwrap_err();
    assert_eq!(gone.code(), "join_unfinished");

    let pin = &platform.pin;
    for token in ["", "a.b", "a.b.c", &format!(".x.{pin}"), &format!("a.{pin}"), &format!("a.b c.{pin}")] {
        assert_eq!(JoinToken::parse(token).err().unwrap().code(), "join_token_malformed", "{token}");
    }
    for url in ["http://h", "https://", "h", "https://u:p@h", "https://h/x", "https://h?x", "https://h#x"] {
        let refused = try_join(&state, url, &platform.join_token()).await.unwrap_err();
        assert_eq!(refused.code(), "server_url_invalid", "{url}");
    }
}

fn caller(platform: &FakePlatform, state: &StateFolder) -> Platform {
    state.ensure().unwrap();
    let key = Arc::new(state.ensure_key().unwrap());
    let identity = platform.enrol(&key.public_text());
    Platform::new(identity, key, Arc::new(SystemClock)).unwrap()
}

#[tokio::test]
async fn a_token_is_kept_renewed_in_time_and_replaced_when_refused() {
    let platform = FakePlatform::start().await;
    let (_folder, state) = state();
    let caller = caller(&platform, &state);
    let given = || platform.world.tokens_given.load(Ordering::SeqCst);
    caller.trust().await.unwrap();
    caller.trust().await.unwrap();
    assert_eq!(given(), 1);
    platform.forget_tokens();
    caller.trust().await.unwrap();
    assert_eq!(given(), 2, "a refused token is replaced within the call");
    // One that ends at once is never used twice.
    platform.forget_tokens();
    platform.world.token_life.store(0, Ordering::SeqCst);
    caller.trust().await.unwrap();
    caller.trust().await.unwrap();
    assert_eq!(given(), 4);
}

#[tokio::test]
async fn errors_are_sorted_by_what_to_do() {
    let platform = FakePlatform::start().await;
    let (_folder, state) = state();
    let caller = caller(&platform, &state);
    caller.trust().await.unwrap();
    platform.world.failing.store(1, Ordering::SeqCst);
    assert!(matches!(caller.trust().await, Err(CallError::Refused { status: 500, .. })));
    platform.world.revoked.store(true, Ordering::SeqCst);
    assert!(matches!(caller.trust().await, Err(CallError::NotANode(_))));

    // Only the stored CA is believed.
    let impostor = FakePlatform::start().await;
    let identity = Identity { server_url: impostor.url.clone(), ..caller.identity().clone() };
    let astray = Platform::new(identity, caller.key.clone(), Arc::new(SystemClock)).unwrap();
    let refused = astray.trust().await.unwrap_err();
    assert!(matches!(refused, CallError::Untrusted(_)), "{refused:?}");
    assert!(impostor.world.requests.lock().unwrap().is_empty());
    let identity = Identity { server_url: "https://127.0.0.1:9".into(), ..caller.identity().clone() };
    let alone = Platform::new(identity, caller.key.clone(), Arc::new(SystemClock)).unwrap();
    assert!(matches!(alone.trust().await, Err(CallError::Unreachable(_))));
}

/// K-09: what an app says goes out with the app's own token or none, never with the node's.
#[tokio::test]
async fn an_apps_words_never_carry_the_nodes_token() {
    let platform = FakePlatform::start().await;
    let (_folder, state) = state();
    state.ensure().unwrap();
    let key = Arc::new(state.ensure_key().unwrap());
    let identity = platform.enrol(&key.public_text());
    let node = Platform::new(identity, key, Arc::new(SystemClock)).unwrap();
    node.trust().await.expect("the node's own token opens this");
    for bearer in [None, Some(Arc::new(Secret::new("the-apps-own".to_owned())))] {
        let call = RelayedCall {
            method: Method::GET,
            path: "/api/v1/node/trust".to_owned(),
            bearer,
            idempotency_key: None,
            body: Bytes::new(),
        };
        let (status, body) = node.relay(&call).await.expect("an answer");
        assert_eq!(status, 401, "{}", String::from_utf8_lossy(&body));
        assert!(body.starts_with(b"{\"error\""), "the platform's own words come back");
    }
    node.trust().await.expect("an app's refusal does not cost the node its token");
    assert_eq!(platform.world.tokens_given.load(Ordering::SeqCst), 1);
}
