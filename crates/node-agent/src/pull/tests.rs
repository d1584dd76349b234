//! N05, R02, R06: a registry that is slow, silent, short, lying or hostile.

mod admission;
mod stub;

use std::sync::atomic::Ordering;

use super::*;
use stub::{Does, Image, OCI, Registry, Shelf, bench, http, image, registry, sign};

fn reason(ticket: &PullTicket) -> Option<FailureReason> {
    ticket.verdict.lock().unwrap().as_ref().map(|failure| failure.reason)
}

#[tokio::test]
async fn a_ticket_opens_its_image_and_nothing_else() {
    let image = image(Does::Serve, Does::Serve);
    let layer_digest = Digest::of(&image.layer);
    let registry = registry(image.shelf).await;
    let bench = bench(|_| ()).await;
    let mut ticket = bench.open(&registry, &image.grant_digest).await.unwrap();
    assert_eq!(ticket.image, format!("{}/apps/web@{}", bench.endpoint.address(), image.grant_digest));
    assert_eq!(ticket.progress.borrow_and_update().total_bytes, Some(200_037));
    assert_eq!(bench.get(&ticket, "/v2/").await.0, 200);
    let manifest = format!("/v2/apps/web/manifests/{}", image.grant_digest);
    let blob = format!("/v2/apps/web/blobs/{layer_digest}");
    assert_eq!(Digest::of(&bench.get(&ticket, &manifest).await.1.unwrap()), image.grant_digest);
    assert_eq!(bench.get(&ticket, &blob).await, (200, Some(image.layer.clone())));
    assert_eq!(bench.get(&ticket, &blob).await, (200, Some(image.layer.clone())));
    assert_eq!(ticket.progress.borrow().done_bytes, 200_000, "twice the same counts once");

    let url = format!("http://{}{blob}", bench.endpoint.address());
    let head = http().head(&url).basic_auth(&ticket.username, Some(&ticket.password)).send().await.unwrap();
    assert_eq!(head.headers()["content-length"], "200000");
    let post = http().post(&url).basic_auth(&ticket.username, Some(&ticket.password)).send().await.unwrap();
    assert_eq!(post.status(), 404);

    let unknown = Digest::of(b"other");
    for path in [
        format!("/v2/apps/web/manifests/{unknown}"),
        format!("/v2/apps/web/manifests/{layer_digest}"),
        format!("/v2/apps/web/blobs/{unknown}"),
        format!("/v2/apps/web/blobs/{}", image.grant_digest),
        format!("/v2/apps/other/blobs/{layer_digest}"),
        format!("/v2/apps/web/../web/blobs/{layer_digest}"),
        "/v2/apps/web/manifests/latest".into(),
        "/v2/apps/web/tags/list".into(),
        "/v2/_catalog".into(),
        "/".into(),
        format!("{blob}?x=1"),
    ] {
        let status = bench.get(&ticket, &path).await.0;
        // A dotted path is made plain by the client itself.
        assert_eq!(status, if path.contains("..") { 200 } else { 404 }, "{path}");
    }
    assert!(reason(&ticket).is_none());

    // R07: another ticket for the same image has other credentials, and one's end is the end of its own.
    let other = bench.open(&registry, &image.grant_digest).await.unwrap();
    assert_ne!(other.password, ticket.password);
    let mixed = http().get(&url).basic_auth(&other.username, Some(&ticket.password)).send().await.unwrap();
    assert_eq!(mixed.status(), 401);
    assert_eq!(http().get(&url).send().await.unwrap().status(), 401);
    let (username, password) = (ticket.username.clone(), ticket.password.clone());
    drop(ticket);
    let late = http().get(&url).basic_auth(username, Some(password)).send().await.unwrap();
    assert_eq!(late.status(), 401);
    assert_eq!(bench.get(&other, &blob).await.0, 200);
    // R06: nothing the engine sent to us went on to the registry.
    assert!(registry.seen.lock().unwrap().iter().all(|head| !head.contains("authorization: basic")));
}

#[tokio::test]
async fn a_manifest_that_does_not_come_right_has_a_reason() {
    let elsewhere = registry(Shelf::new()).await;
    let cases = [
        (Does::Status(404), FailureReason::ImageNotFound),
        (Does::Status(500), FailureReason::ImagePullFailed),
        (Does::Status(401), FailureReason::ImagePullFailed),
        (Does::Status(503), FailureReason::RegistryUnreachable),
        (Does::Lie, FailureReason::ImageDigestMismatch),
        (Does::Append, FailureReason::ImageDigestMismatch),
        (Does::Stall, FailureReason::ImagePullTimeout),
        (Does::HangUp { resumable: true }, FailureReason::ImagePullFailed),
        (Does::Redirect(format!("http://{}/x", elsewhere.address)), FailureReason::ImagePullFailed),
        (Does::Redirect("/v2/apps/web/other".into()), FailureReason::ImageNotFound),
    ];
    let bench = bench(|_| ()).await;
    for (does, expected) in cases {
        let image = image(does, Does::Serve);
        let registry = registry(image.shelf).await;
        let refused = bench.open(&registry, &image.grant_digest).await.err().unwrap();
        assert_eq!(refused.reason, expected, "{refused}");
    }
    assert_eq!(elsewhere.connections.load(Ordering::SeqCst), 0, "the hostile redirect was not followed");

    let gone = Registry { address: "127.0.0.1:9".parse().unwrap(), ..elsewhere };
    let refused = bench.open(&gone, &Digest::of(b"")).await.err().unwrap();
    assert_eq!(refused.reason, FailureReason::RegistryUnreachable);

    let image = image(Does::Serve, Does::Serve);
    let (_, bytes, _) = &image.shelf[&format!("/v2/apps/web/manifests/{}", image.grant_digest)];
    let foreign = String::from_utf8(bytes.clone()).unwrap();
    let foreign = foreign.replace("\"size\":200000", "\"size\":200000,\"urls\":[\"http://evil/\"]");
    let digest = Digest::of(foreign.as_bytes());
    let path = format!("/v2/apps/web/manifests/{digest}");
    let mut shelf = Shelf::from([(path, (OCI.into(), foreign.into_bytes(), Does::Serve))]);
    sign(&mut shelf, &digest, &stub::KEY, stub::NAME);
    let registry = registry(shelf).await;
    let refused = bench.open(&registry, &digest).await.err().unwrap();
    assert!(refused.detail.contains("another host"), "{refused}");
}

#[tokio::test]
async fn a_blob_that_does_not_come_right_is_cut_off_with_a_reason() {
    let elsewhere = registry(Shelf::new()).await;
    let cases = [
        (Does::Status(404), FailureReason::ImageNotFound),
        (Does::Status(500), FailureReason::ImagePullFailed),
        (Does::Lie, FailureReason::ImageDigestMismatch),
        (Does::Append, FailureReason::ImageDigestMismatch),
        (Does::Stall, FailureReason::ImagePullTimeout),
        (Does::HangUp { resumable: false }, FailureReason::ImagePullFailed),
        (Does::Redirect(format!("http://{}/x", elsewhere.address)), FailureReason::ImagePullFailed),
        (
            Does::Redirect(format!("http://localhost:{}/x", elsewhere.address.port())),
            FailureReason::ImagePullFailed,
        ),
    ];
    let bench = bench(|_| ()).await;
    for (does, expected) in cases {
        let image = image(Does::Serve, does);
        let blob = format!("/v2/apps/web/blobs/{}", Digest::of(&image.layer));
        let registry = registry(image.shelf).await;
        let ticket = bench.open(&registry, &image.grant_digest).await.unwrap();
        let (status, body) = bench.get(&ticket, &blob).await;
        assert!(status == 403 || body.is_none(), "{expected:?}: a whole body came");
        assert_eq!(reason(&ticket), Some(expected));
        assert_eq!(bench.get(&ticket, &blob).await.0, 403, "the engine is told not to try again");
    }
    assert_eq!(elsewhere.connections.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_slow_registry_meets_the_deadline_and_a_broken_transfer_goes_on() {
    let bench = bench(|settings| settings.total_timeout = Duration::from_secs(1)).await;
    let image_at_1_kib_per_second = image(Does::Serve, Does::Drip(102));
    let registry_slow = registry(image_at_1_kib_per_second.shelf).await;
    let digest = image_at_1_kib_per_second.grant_digest;
    let started = Instant::now();
    let ticket = bench.open(&registry_slow, &digest).await.unwrap();
    let blob = format!("/v2/apps/web/blobs/{}", Digest::of(&image_at_1_kib_per_second.layer));
    assert_eq!(bench.get(&ticket, &blob).await.1, None);
    assert_eq!(reason(&ticket), Some(FailureReason::ImagePullTimeout));
    assert!(started.elapsed() < Duration::from_secs(3));

    let image = image(Does::Serve, Does::HangUp { resumable: true });
    let registry = registry(image.shelf).await;
    let ticket = bench.open(&registry, &image.grant_digest).await.unwrap();
    assert_eq!(bench.get(&ticket, &blob).await, (200, Some(image.layer)));
    assert!(registry.seen.lock().unwrap().last().unwrap().contains("range: bytes=100000-"));
    assert!(reason(&ticket).is_none());
}

#[tokio::test]
async fn a_redirect_on_the_same_registry_is_followed_for_blobs() {
    let mut image = image(Does::Serve, Does::Redirect("/elsewhere".into()));
    image.shelf.insert("/elsewhere".into(), ("x/y".into(), image.layer.clone(), Does::Serve));
    let registry = registry(image.shelf).await;
    let bench = bench(|_| ()).await;
    let ticket = bench.open(&registry, &image.grant_digest).await.unwrap();
    let blob = format!("/v2/apps/web/blobs/{}", Digest::of(&image.layer));
    assert_eq!(bench.get(&ticket, &blob).await, (200, Some(image.layer)));
}

#[tokio::test]
async fn the_port_stays_over_restarts_and_gives_way_if_taken() {
    let first = bench(|_| ()).await;
    let port = first.endpoint.address().port();
    // Still taken by the first one.
    let second = stub::endpoint(stub::settings(first.state.path()), &first.gate).await;
    assert_ne!(second.address().port(), port);
    let file = first.state.path().join("pull-port");
    assert_eq!(std::fs::read_to_string(&file).unwrap().trim(), second.address().port().to_string());
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    std::fs::write(&file, free.to_string()).unwrap();
    let third = stub::endpoint(stub::settings(first.state.path()), &first.gate).await;
    assert_eq!(third.address().port(), free);
}

/// F-25, R02: the signature is of the index; what it leads to is what it promises.
#[tokio::test]
async fn a_signed_index_leads_to_the_image_of_this_machine() {
    let kind = "application/vnd.oci.image.index.v1+json";
    let bench = bench(|_| ()).await;
    for (lie, expected) in [(0, None), (1, Some(FailureReason::ImageDigestMismatch))] {
        let Image { mut shelf, grant_digest: child, layer } = image(Does::Serve, Does::Serve);
        let size = shelf[&format!("/v2/apps/web/manifests/{child}")].1.len() + lie;
        let index = serde_json::json!({"schemaVersion": 2, "mediaType": kind, "manifests": [{
            "mediaType": OCI, "digest": child, "size": size,
            "platform": {"os": "linux", "architecture": architecture()},
        }]});
        let index = index.to_string().into_bytes();
        let digest = Digest::of(&index);
        shelf.insert(format!("/v2/apps/web/manifests/{digest}"), (kind.into(), index, Does::Serve));
        sign(&mut shelf, &digest, &stub::KEY, stub::NAME);
        let registry = registry(shelf).await;
        let opened = bench.open(&registry, &digest).await;
        assert_eq!(opened.as_ref().err().map(|failure| failure.reason), expected);
        if let Ok(ticket) = opened {
            for path in [format!("manifests/{digest}"), format!("manifests/{child}")] {
                assert_eq!(bench.get(&ticket, &format!("/v2/apps/web/{path}")).await.0, 200, "{path}");
            }
            let blob = format!("/v2/apps/web/blobs/{}", Digest::of(&layer));
            assert_eq!(bench.get(&ticket, &blob).await, (200, Some(layer)));
        }
    }
}
