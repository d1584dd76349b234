//! F-16, F-25, T-05, R03, R04, R06, R07: who may have an image, who stands for it, and where the token goes.

use std::fmt::Write as _;

use gpuaas_api::agent::ImageKey;
use gpuaas_oci::sign::PrivateKey;
use ring::rand::SystemRandom;
use tracing::field::{Field, Visit};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt as _};

use super::stub::{KEY, NAME, TOKEN, grant, settings, wanted};
use super::*;
use crate::fake_platform::FakePlatform;
use crate::identity::StateFolder;
use crate::platform::CallError;
use crate::wall_clock::SystemClock;

fn refused(status: u16) -> CallError {
    CallError::Refused { status, code: "artifact_revoked".into(), message: "It was revoked.".into() }
}

/// Without a signature that holds, and what is said about it.
fn distrusted() -> Vec<(&'static str, Shelf, Digest, String)> {
    let fresh = || image(Does::Serve, Does::Serve);
    let tag = |digest: &Digest| format!("/v2/apps/web/manifests/sha256-{}.sig", digest.hex());
    let stranger = PrivateKey::generate(&SystemRandom::new()).unwrap();
    let mut cases = Vec::new();
    let mut case = |what, image: Image, said: &str| {
        cases.push((what, image.shelf, image.grant_digest, said.to_owned()));
    };

    let mut unsigned = fresh();
    unsigned.shelf.remove(&tag(&unsigned.grant_digest));
    case("unsigned", unsigned, "no signature lies beside the image");

    let mut other_key = fresh();
    sign(&mut other_key.shelf, &other_key.grant_digest, &stranger, NAME);
    case("another key", other_key, "no trusted key made this signature");

    let mut elsewhere = fresh();
    sign(&mut elsewhere.shelf, &elsewhere.grant_digest, &KEY, "registry.example.com/apps/other");
    case(
        "another repository",
        elsewhere,
        "it is for another repository: \"registry.example.com/apps/other\"",
    );

    let mut moved = fresh();
    let other = Digest::of(b"another image");
    sign(&mut moved.shelf, &other, &KEY, NAME);
    let signature = moved.shelf.remove(&tag(&other)).unwrap();
    moved.shelf.insert(tag(&moved.grant_digest), signature);
    case("another image", moved, &format!("it is for another image: {other}"));

    let mut changed = fresh();
    let payload = sign(&mut changed.shelf, &changed.grant_digest, &KEY, NAME);
    changed.shelf.get_mut(&payload).unwrap().2 = Does::Lie;
    let named = payload.rsplit('/').next().unwrap();
    case("a changed byte in what was signed", changed, &format!("for {named}"));

    let mut broken = fresh();
    let at = tag(&broken.grant_digest);
    broken.shelf.get_mut(&at).unwrap().1[0] ^= 1;
    case("a changed byte in the signature's manifest", broken, ".sig: the manifest cannot be read");

    let mut lost = fresh();
    let payload = sign(&mut lost.shelf, &lost.grant_digest, &KEY, NAME);
    lost.shelf.remove(&payload);
    case("what was signed is gone", lost, "the registry has nothing for");
    cases
}

/// F-25, R03, R04: at launch, from the registry or from the cache.
#[tokio::test]
async fn an_image_that_nobody_trusted_stands_for_is_refused_and_told_why() {
    let bench = bench(|_| ()).await;
    for (what, shelf, digest, said) in distrusted() {
        let registry = registry(shelf).await;
        for refused in [
            bench.open(&registry, &digest).await.err().unwrap(),
            bench.admit(&registry, &digest).await.unwrap_err(),
        ] {
            assert_eq!(refused.reason, FailureReason::ImageUntrusted, "{what}: {refused}");
            assert!(refused.detail.contains(&said), "{what}: {refused}");
            assert!(refused.detail.contains(&format!("{NAME}@{digest}")), "{what}: {refused}");
        }
        let seen = registry.seen.lock().unwrap().join("");
        assert!(
            !seen.contains(Digest::of(&image(Does::Serve, Does::Serve).layer).hex()),
            "nothing was pulled"
        );
        // Where the platform only warns.
        bench.gate.trust.lock().unwrap().enforce = false;
        bench.admit(&registry, &digest).await.expect(what);
        bench.gate.trust.lock().unwrap().enforce = true;
    }
}

/// F-25: a key is trusted until its day, and one that cannot be read trusts nobody and hinders nobody.
#[tokio::test]
async fn a_key_counts_while_it_is_valid() {
    let bench = bench(|_| ()).await;
    let image = image(Does::Serve, Does::Serve);
    let registry = registry(image.shelf).await;
    let until = |seconds| gpuaas_domain::Timestamp::from_unix_seconds(seconds);
    let key = |valid_until| ImageKey { public_key: KEY.public().to_pem(), valid_until };
    let damaged = ImageKey { public_key: "-----BEGIN".into(), valid_until: None };
    bench.gate.trust.lock().unwrap().keys = vec![damaged.clone(), key(until(4_000_000_000))];
    bench.admit(&registry, &image.grant_digest).await.unwrap();
    for (keys, said) in [
        (vec![key(until(1_700_000_001))], "is out of use since"),
        (vec![damaged], "no key is trusted"),
        (vec![], "no key is trusted"),
    ] {
        bench.gate.trust.lock().unwrap().keys = keys;
        let refused = bench.admit(&registry, &image.grant_digest).await.unwrap_err();
        assert_eq!(refused.reason, FailureReason::ImageUntrusted, "{refused}");
        assert!(refused.detail.contains(said), "{refused}");
    }
}

/// F-25: a changed byte in the manifest is a mismatch and names it, trusted or not.
#[tokio::test]
async fn a_changed_manifest_is_refused_even_where_signatures_are_not_enforced() {
    let bench = bench(|_| ()).await;
    bench.gate.trust.lock().unwrap().enforce = false;
    let image = image(Does::Lie, Does::Serve);
    let registry = registry(image.shelf).await;
    let refused = bench.admit(&registry, &image.grant_digest).await.unwrap_err();
    assert_eq!(refused.reason, FailureReason::ImageDigestMismatch, "{refused}");
    assert!(refused.detail.contains(image.grant_digest.as_str()), "{refused}");
}

/// F-16: an image that is there already costs a few small questions.
#[tokio::test]
async fn an_image_in_the_engine_is_admitted_without_a_pull() {
    let bench = bench(|_| ()).await;
    let image = image(Does::Serve, Does::Serve);
    let registry = registry(image.shelf).await;
    bench.admit(&registry, &image.grant_digest).await.unwrap();
    let asked = bench.gate.asked.lock().unwrap();
    let [request] = &asked[..] else { panic!("{asked:?}") };
    assert_eq!(request.app_instance_id.uuid(), wanted(&grant(&image.grant_digest)).instance);
    assert_eq!(
        (request.generation, request.reference.clone()),
        (3, format!("{NAME}@{}", image.grant_digest))
    );
    // The manifest, what is beside it under two tags and in a list, and what was signed.
    assert_eq!(registry.seen.lock().unwrap().len(), 5);
}

/// R04, R07, T-05: revoked, retired, another project's, off the allowlist: the registry is not even asked.
#[tokio::test]
async fn what_the_platform_refuses_is_not_used_and_its_words_are_told() {
    let bench = bench(|_| ()).await;
    let image = image(Does::Serve, Does::Serve);
    let registry = registry(image.shelf).await;
    let refusals: [fn() -> CallError; 5] = [
        || refused(403),
        || refused(404),
        || refused(409),
        || refused(422),
        || CallError::NotANode("artifact_revoked: It was revoked.".into()),
    ];
    for refusal in refusals {
        *bench.gate.refuse.lock().unwrap() = Some(refusal);
        for refused in [
            bench.open(&registry, &image.grant_digest).await.err().unwrap(),
            bench.admit(&registry, &image.grant_digest).await.unwrap_err(),
        ] {
            assert_eq!(refused.reason, FailureReason::ImageNotAllowed, "{refused}");
            assert!(refused.detail.contains("artifact_revoked: It was revoked."), "{refused}");
        }
    }
    assert_eq!(bench.gate.asked.lock().unwrap().len(), 10, "a refusal is an answer");
    assert_eq!(registry.connections.load(Ordering::SeqCst), 0);
}

/// F-16, R04: without the platform's word nothing is used; it is asked again first.
#[tokio::test]
async fn a_platform_that_is_away_is_asked_again_and_then_named() {
    let bench = bench(|_| ()).await;
    let image = image(Does::Serve, Does::Serve);
    let registry = registry(image.shelf).await;
    let troubles: [(fn() -> CallError, usize); 5] = [
        (|| CallError::Unreachable("no route".into()), 4),
        (|| refused(503), 4),
        (|| refused(429), 4),
        (|| CallError::Untrusted("an impostor".into()), 1),
        (|| CallError::Unreadable("not JSON".into()), 1),
    ];
    for (trouble, times) in troubles {
        *bench.gate.refuse.lock().unwrap() = Some(trouble);
        let refused = bench.admit(&registry, &image.grant_digest).await.unwrap_err();
        assert_eq!(refused.reason, FailureReason::RegistryUnreachable, "{refused}");
        assert_eq!(std::mem::take(&mut *bench.gate.asked.lock().unwrap()).len(), times, "{refused}");
    }
    assert_eq!(registry.connections.load(Ordering::SeqCst), 0);
}

/// R04: revoked while it is pulled.
#[tokio::test]
async fn a_pull_ends_when_the_platform_takes_its_leave_back() {
    let bench = bench(|_| ()).await;
    let image = image(Does::Serve, Does::Serve);
    let blob = format!("/v2/apps/web/blobs/{}", Digest::of(&image.layer));
    let registry = registry(image.shelf).await;
    let ticket = bench.open(&registry, &image.grant_digest).await.unwrap();
    registry.first_good.store(u32::MAX, Ordering::SeqCst);
    *bench.gate.refuse.lock().unwrap() = Some(|| refused(403));
    assert_eq!(bench.get(&ticket, &blob).await.0, 403);
    let verdict = ticket.verdict.lock().unwrap().clone().unwrap();
    assert_eq!(verdict.reason, FailureReason::ImageNotAllowed, "{verdict}");
    assert!(verdict.detail.contains("artifact_revoked: It was revoked."), "{verdict}");
}

/// F-16: a token that ends in a long pull, between blobs or in the middle of one.
#[tokio::test]
async fn a_token_that_ends_is_renewed_and_the_pull_goes_on_where_it_was() {
    let bench = bench(|_| ()).await;
    let image = image(Does::Serve, Does::HangUp { resumable: true });
    let blob = format!("/v2/apps/web/blobs/{}", Digest::of(&image.layer));
    let registry = registry(image.shelf).await;
    let ticket = bench.open(&registry, &image.grant_digest).await.unwrap();
    registry.first_good.store(2, Ordering::SeqCst);
    let (one, other) = tokio::join!(bench.get(&ticket, &blob), bench.get(&ticket, &blob));
    assert_eq!((one.0, one.1.as_ref()), (200, Some(&image.layer)));
    assert_eq!(other, one);
    assert_eq!(bench.gate.asked.lock().unwrap().len(), 2, "one renewal serves both");
    let seen = registry.seen.lock().unwrap().clone();
    assert!(
        seen.iter().any(|head| head.contains("range: bytes=100000-") && head.contains(&format!("{TOKEN}2")))
    );
    drop(seen);

    // A registry that refuses every token is no endless loop.
    registry.first_good.store(u32::MAX, Ordering::SeqCst);
    assert_eq!(bench.get(&ticket, &blob).await.0, 403);
    assert_eq!(reason(&ticket), Some(FailureReason::ImagePullFailed));
    assert_eq!(bench.gate.asked.lock().unwrap().len(), 3);
}

/// R06: the next token may be for another registry; the one we talk to does not get it.
#[tokio::test]
async fn a_token_for_another_registry_is_not_shown_to_this_one() {
    let bench = bench(|_| ()).await;
    let image = image(Does::Serve, Does::Serve);
    let blob = format!("/v2/apps/web/blobs/{}", Digest::of(&image.layer));
    let registry = registry(image.shelf).await;
    let ticket = bench.open(&registry, &image.grant_digest).await.unwrap();
    registry.first_good.store(2, Ordering::SeqCst);
    *bench.gate.registry.lock().unwrap() = Some("http://127.0.0.1:9".into());
    assert_eq!(bench.get(&ticket, &blob).await.0, 403);
    assert_eq!(reason(&ticket), Some(FailureReason::ImagePullFailed));
    assert!(registry.seen.lock().unwrap().iter().all(|head| !head.contains(&format!("{TOKEN}2"))));
}

/// All that is logged, at every level.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<String>>);

impl Visit for Log {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        let _ = writeln!(self.0.lock().unwrap(), "{field}={value:?}");
    }
}

impl<S: tracing::Subscriber> Layer<S> for Log {
    fn on_event(&self, event: &tracing::Event<'_>, _: Context<'_, S>) {
        event.record(&mut self.clone());
    }
}

/// R06: a registry that redirects, names a realm of its own, or repeats what it was sent.
#[tokio::test]
async fn the_token_reaches_the_registry_and_nothing_else() {
    let log = Log::default();
    let _logging = tracing::subscriber::set_default(tracing_subscriber::registry().with(log.clone()));
    let bench = bench(|_| ()).await;
    let elsewhere = registry(Shelf::new()).await;
    let away = Does::Redirect(format!("http://{}/x", elsewhere.address));
    let mut told = String::new();
    for does in [away, Does::Status(500), Does::Status(403), Does::Lie, Does::Stall] {
        let image_of_bad_layer = image(Does::Serve, does.clone());
        let blob = format!("/v2/apps/web/blobs/{}", Digest::of(&image_of_bad_layer.layer));
        let holder = registry(image_of_bad_layer.shelf).await;
        let ticket = bench.open(&holder, &image_of_bad_layer.grant_digest).await.unwrap();
        let (status, body) = bench.get(&ticket, &blob).await;
        let verdict = ticket.verdict.lock().unwrap().clone().unwrap();
        let _ = writeln!(told, "{status} {} {verdict}", String::from_utf8_lossy(&body.unwrap_or_default()));
        assert!(holder.seen.lock().unwrap().iter().all(|head| head.contains(TOKEN)), "shown at once");

        let image_of_bad_manifest = image(does, Does::Serve);
        let holder = registry(image_of_bad_manifest.shelf).await;
        let refused = bench.open(&holder, &image_of_bad_manifest.grant_digest).await.err().unwrap();
        let _ = writeln!(told, "{refused} {refused:?}");
    }
    // 401 with a realm elsewhere, over and over.
    let image = image(Does::Serve, Does::Serve);
    let holder = registry(image.shelf).await;
    holder.first_good.store(u32::MAX, Ordering::SeqCst);
    let refused = bench.open(&holder, &image.grant_digest).await.err().unwrap();
    let _ = writeln!(told, "{refused}");
    assert_eq!(elsewhere.connections.load(Ordering::SeqCst), 0);
    let logged = log.0.lock().unwrap().clone();
    assert!(logged.contains("broke off"), "the log was read: {logged}");
    assert!(!logged.contains(TOKEN), "{logged}");
    assert!(!told.contains(TOKEN), "{told}");
}

/// F-16: without an address the registry is the platform's own, believed by the platform's CA and no other.
#[tokio::test]
async fn the_platforms_own_registry_is_reached_at_the_platforms_address() {
    let platform = FakePlatform::start().await;
    let image = image(Does::Serve, Does::Serve);
    let shelf = image.shelf.into_iter().map(|(path, (kind, bytes, _))| (path, (kind, bytes)));
    *platform.world.registry.lock().unwrap() = shelf.collect();
    let trust = serde_json::json!({
        "enforce": true, "names": [NAME], "accept_unnamed": false, "keys": [{"public_key": KEY.public().to_pem()}],
    });
    *platform.world.image_trust.lock().unwrap() = trust;
    let folder = tempfile::tempdir().unwrap();
    let state = StateFolder::at(folder.path());
    state.ensure().unwrap();
    let key = Arc::new(state.ensure_key().unwrap());
    let identity = platform.enrol(&key.public_text());
    let caller = crate::platform::Platform::new(identity.clone(), key, Arc::new(SystemClock)).unwrap();
    let caller = Arc::new(caller);
    let start = async |platform_ca_pem: &str| {
        let settings = PullSettings {
            platform_url: identity.server_url.clone(),
            platform_ca_pem: platform_ca_pem.to_owned(),
            ..settings(folder.path())
        };
        PullEndpoint::start(settings, caller.clone(), Arc::new(SystemClock), &Spawner::default())
            .await
            .unwrap()
    };
    let grant = grant(&image.grant_digest);
    let endpoint = start(&identity.ca_pem).await;
    let ticket = endpoint.open(&wanted(&grant)).await.unwrap();
    let url = format!("http://{}/v2/apps/web/blobs/{}", endpoint.address(), Digest::of(&image.layer));
    let got = http().get(url).basic_auth(&ticket.username, Some(&ticket.password)).send().await.unwrap();
    assert_eq!(got.bytes().await.unwrap(), image.layer);

    platform.world.image_refused.store(true, Ordering::SeqCst);
    let refused = endpoint.admit(&wanted(&grant)).await.unwrap_err();
    assert_eq!(refused.reason, FailureReason::ImageNotAllowed, "{refused}");
    platform.world.image_refused.store(false, Ordering::SeqCst);

    let impostor = FakePlatform::start().await;
    let misled = start(&impostor.ca_pem).await;
    let refused = misled.admit(&wanted(&grant)).await.unwrap_err();
    assert_eq!(refused.reason, FailureReason::RegistryUnreachable, "{refused}");
}
