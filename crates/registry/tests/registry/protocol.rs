//! The protocol, part by part: push, pull, discovery, management.

use gpuaas_registry::manifest::{DOCKER_LIST, DOCKER_MANIFEST, OCI_INDEX, OCI_MANIFEST};
use gpuaas_registry::{Algorithm, Digest, OpenGuard, Policy};
use reqwest::Method;
use serde_json::json;

use crate::world::{Caller, Plan, World, descriptor, image, index, noise, sha256};

#[tokio::test]
async fn the_version_check_says_what_is_spoken_here() {
    let world = World::new().await;
    for path in ["/v2/", "/v2"] {
        let answer = world.get(path).await.is(200);
        assert_eq!(answer.header("docker-distribution-api-version"), "registry/2.0");
    }
    assert_eq!(world.get("/v2/_catalog").await.is(404).code(), "UNSUPPORTED");
    assert_eq!(world.get("/").await.is(404).code(), "UNSUPPORTED");
    assert_eq!(world.call(Method::DELETE, "/v2/").await.is(405).code(), "UNSUPPORTED");
}

#[derive(Clone, Copy, Debug)]
enum Way {
    PostOnly,
    PostPut,
    Streamed,
    Chunks,
    ChunksAndPut,
}

const WAYS: [Way; 5] = [Way::PostOnly, Way::PostPut, Way::Streamed, Way::Chunks, Way::ChunksAndPut];

/// Pushes `bytes` in this way as if they were `digest`.
async fn push(caller: &Caller, way: Way, bytes: &[u8], digest: &Digest) -> crate::world::Answer {
    let finish = |location: &str| format!("{location}?digest={}", digest.as_str().replace(':', "%3A"));
    match way {
        Way::PostOnly => {
            caller
                .send(Method::POST, &format!("/v2/a/b/c/blobs/uploads/?digest={digest}"), bytes.to_vec())
                .await
        }
        Way::PostPut => {
            let location = caller.start("a/b/c").await;
            caller.send(Method::PUT, &finish(&location), bytes.to_vec()).await
        }
        Way::Streamed => {
            let location = caller.start("a/b/c").await;
            let pieces: Vec<Result<Vec<u8>, std::io::Error>> =
                bytes.chunks(777).map(|piece| Ok(piece.to_vec())).collect();
            let body = reqwest::Body::wrap_stream(futures_util::stream::iter(pieces));
            let patched = caller.send(Method::PATCH, &location, body).await.is(202);
            caller.call(Method::PUT, &finish(patched.header("location"))).await
        }
        Way::Chunks | Way::ChunksAndPut => {
            let mut location = caller.start("a/b/c").await;
            let size = bytes.len() / 3 + 1;
            let last = bytes.len() - bytes.len() % size;
            for (number, piece) in bytes.chunks(size).enumerate() {
                let at = number * size;
                if at == last && matches!(way, Way::ChunksAndPut) {
                    return caller.chunk(Method::PUT, &finish(&location), at, piece).await;
                }
                let answer = caller.chunk(Method::PATCH, &location, at, piece).await.is(202);
                assert_eq!(answer.header("range"), format!("0-{}", at + piece.len() - 1));
                answer.header("location").clone_into(&mut location);
            }
            caller.call(Method::PUT, &finish(&location)).await
        }
    }
}

/// F-01: the registry owns the upload protocol.
#[tokio::test]
async fn each_way_to_push_ends_in_the_same_blob() {
    let world = World::new().await;
    for (seed, way) in WAYS.into_iter().enumerate() {
        for algorithm in [Algorithm::Sha256, Algorithm::Sha512] {
            for length in [3001, 3_000_001] {
                let bytes = noise(seed as u64 + length as u64, length);
                let digest = Digest::of(algorithm, &bytes);
                let answer = push(&world, way, &bytes, &digest).await.is(201);
                assert_eq!(answer.header("docker-content-digest"), digest.as_str());
                let location = answer.header("location").to_owned();
                assert_eq!(location, format!("/v2/a/b/c/blobs/{digest}"));
                let got = world.get(&location).await.is(200);
                assert!(got.bytes == bytes, "{way:?}");
                assert_eq!(got.header("docker-content-digest"), digest.as_str());
                let head = world.head(&location).await.is(200);
                assert_eq!(head.header("content-length"), length.to_string());
                assert!(head.bytes.is_empty());
                world.call(Method::DELETE, &location).await.is(202);
                world.head(&location).await.is(404);
                assert_eq!(world.call(Method::DELETE, &location).await.is(404).code(), "BLOB_UNKNOWN");
            }
        }
    }
    let empty = world.push("a", b"").await;
    assert!(world.get(&format!("/v2/a/blobs/{empty}")).await.is(200).bytes.is_empty());
}

#[tokio::test]
async fn bytes_that_are_not_what_their_digest_promises_never_become_a_blob() {
    let world = World::new().await;
    for way in WAYS {
        for algorithm in [Algorithm::Sha256, Algorithm::Sha512] {
            let bytes = noise(7, 4000);
            let digest = Digest::of(algorithm, b"something else");
            assert_eq!(push(&world, way, &bytes, &digest).await.is(400).code(), "DIGEST_INVALID", "{way:?}");
            world.head(&format!("/v2/a/b/c/blobs/{digest}")).await.is(404);
            world.head(&format!("/v2/a/b/c/blobs/{}", sha256(&bytes))).await.is(404);
        }
    }
    let location = world.start("a/b/c").await;
    for digest in
        ["", "?digest=", "?digest=sha256:baddigeststring", "?digest=md5:d41d8cd98f00b204e9800998ecf8427e"]
    {
        assert_eq!(
            world.call(Method::PUT, &format!("{location}{digest}")).await.is(400).code(),
            "DIGEST_INVALID"
        );
    }
    world.get(&location).await.is(204);
    assert_eq!(crate::world::look(&world.root()).uploads, 1, "refused uploads leave nothing");
}

#[tokio::test]
async fn a_chunk_out_of_order_is_refused_and_the_upload_goes_on_where_it_was() {
    let world = World::new().await;
    let bytes = noise(1, 3000);
    let location = world.start("a").await;
    assert_eq!(world.get(&location).await.is(204).header("range"), "0-0");
    for at in [0, 1000, 2000] {
        let piece = &bytes[at..at + 1000];
        for wrong in [at + 1, at + 1000, at.wrapping_sub(500)] {
            if wrong < 1 << 40 {
                let answer = world.chunk(Method::PATCH, &location, wrong, piece).await.is(416);
                assert_eq!(answer.code(), "BLOB_UPLOAD_INVALID");
                let put = format!("{location}?digest={}", sha256(&bytes));
                world.chunk(Method::PUT, &put, wrong, piece).await.is(416);
            }
        }
        world.chunk(Method::PATCH, &location, at, piece).await.is(202);
        let status = world.get(&location).await.is(204);
        assert_eq!(status.header("range"), format!("0-{}", at + 999));
        assert_eq!(status.header("location"), location);
    }
    let request = world.request(Method::PATCH, &location).header("content-range", "3000-9999");
    let answer = crate::world::Answer::of(request.body("short").send().await.unwrap()).await;
    assert_eq!(answer.is(400).code(), "SIZE_INVALID");
    world.call(Method::PUT, &format!("{location}?digest={}", sha256(&bytes))).await.is(201);
    assert_eq!(world.get(&location).await.is(404).code(), "BLOB_UPLOAD_UNKNOWN");
}

#[tokio::test]
async fn an_upload_belongs_to_its_repository_and_can_be_given_up() {
    let world = World::new().await;
    let location = world.start("a").await;
    let elsewhere = location.replace("/v2/a/", "/v2/b/");
    for method in [Method::GET, Method::PATCH, Method::DELETE] {
        assert_eq!(world.call(method, &elsewhere).await.is(404).code(), "BLOB_UPLOAD_UNKNOWN");
    }
    world.call(Method::DELETE, &location).await.is(204);
    assert_eq!(world.call(Method::DELETE, &location).await.is(404).code(), "BLOB_UPLOAD_UNKNOWN");
    assert_eq!(world.send(Method::PATCH, &location, "x").await.is(404).code(), "BLOB_UPLOAD_UNKNOWN");
    assert_eq!(crate::world::look(&world.root()).uploads, 0);
}

#[tokio::test]
async fn a_range_gives_exactly_its_bytes() {
    let world = World::new().await;
    for length in [2048, 2_000_000] {
        let bytes = noise(3, length);
        let path = format!("/v2/a/blobs/{}", world.push("a", &bytes).await);
        let ranged = async |range: &str| {
            let request = world.request(Method::GET, &path).header("range", range);
            crate::world::Answer::of(request.send().await.unwrap()).await
        };
        for (range, from, to) in [
            ("bytes=500-1499".to_owned(), 500, 1500),
            ("bytes=500-".to_owned(), 500, length),
            ("bytes=-500".to_owned(), length - 500, length),
            (format!("bytes=2000-{}", length + 5000), 2000, length),
        ] {
            let answer = ranged(&range).await.is(206);
            assert!(answer.bytes == bytes[from..to], "{range}");
            assert_eq!(answer.header("content-range"), format!("bytes {from}-{}/{length}", to - 1));
            assert_eq!(answer.header("content-length"), (to - from).to_string());
        }
        for range in [
            "bytes=500-0".to_owned(),
            format!("bytes={length}-"),
            format!("bytes={}-{}", length + 1, length + 9),
        ] {
            let answer = ranged(&range).await.is(416);
            assert_eq!(answer.header("content-range"), format!("bytes */{length}"));
        }
        assert!(ranged("bytes=0-1,5-6").await.is(200).bytes == bytes, "several ranges get the whole");
    }
}

/// F-05.
#[tokio::test]
async fn a_blob_is_readable_only_where_it_was_pushed_or_mounted() {
    let world = World::new().await;
    let digest = world.push("tenant-a/app", b"secret layer").await;
    let elsewhere = format!("/v2/tenant-b/app/blobs/{digest}");
    assert_eq!(world.get(&elsewhere).await.is(404).code(), "BLOB_UNKNOWN");
    let mount = format!("/v2/tenant-b/app/blobs/uploads/?mount={digest}&from=tenant-a%2Fapp");
    let answer = world.call(Method::POST, &mount).await.is(201);
    assert_eq!(answer.header("location"), elsewhere);
    assert_eq!(answer.header("docker-content-digest"), digest.as_str());
    assert_eq!(world.get(&elsewhere).await.is(200).bytes, b"secret layer");
    world.call(Method::POST, &mount).await.is(201);
    world.call(Method::DELETE, &format!("/v2/tenant-a/app/blobs/{digest}")).await.is(202);
    assert_eq!(world.get(&elsewhere).await.is(200).bytes, b"secret layer", "each repository has its own");

    let missing = format!("/v2/tenant-b/app/blobs/uploads/?mount={}&from=tenant-a/app", sha256(b"nowhere"));
    let location = world.call(Method::POST, &missing).await.is(202).header("location").to_owned();
    world.send(Method::PUT, &format!("{location}?digest={}", sha256(b"nowhere")), "nowhere").await.is(201);
    let anonymous = format!("/v2/tenant-c/app/blobs/uploads/?mount={digest}");
    world.call(Method::POST, &anonymous).await.is(202);
    world.head(&format!("/v2/tenant-c/app/blobs/{digest}")).await.is(404);
}

/// F-06, F-12.
#[tokio::test]
async fn a_manifest_comes_back_as_it_was_pushed_by_tag_and_by_digest() {
    let world = World::new().await;
    let (config, layer) = (noise(1, 50), noise(2, 5000));
    for bytes in [&config, &layer] {
        world.push("a/b", bytes).await;
    }
    let mut docker = image(&config, &[&layer]);
    docker["mediaType"] = json!(DOCKER_MANIFEST);
    let child = image(&config, &[&layer, &layer]);
    let mut list = index(&[child.to_string().as_bytes()]);
    list["mediaType"] = json!(DOCKER_LIST);
    let family = [
        (child.clone(), OCI_MANIFEST),
        (docker, DOCKER_MANIFEST),
        (index(&[child.to_string().as_bytes()]), OCI_INDEX),
        (list, DOCKER_LIST),
    ];
    for (manifest, media_type) in family {
        let text = format!(" {manifest}\n");
        for algorithm in [Algorithm::Sha256, Algorithm::Sha512] {
            let digest = Digest::of(algorithm, text.as_bytes());
            // The tag comes first, so that the children of the list are there by their plain digest.
            world
                .put_bytes(
                    "a/b",
                    &sha256(manifest.to_string().as_bytes()).to_string(),
                    media_type,
                    manifest.to_string().into(),
                )
                .await
                .is(201);
            let answer =
                world.put_bytes("a/b", digest.as_str(), media_type, text.clone().into()).await.is(201);
            assert_eq!(answer.header("location"), format!("/v2/a/b/manifests/{digest}"));
            assert_eq!(answer.header("docker-content-digest"), digest.as_str());
            let tagged = world.put_bytes("a/b", "v1", media_type, text.clone().into()).await.is(201);
            let by_tag: Digest = tagged.header("docker-content-digest").parse().unwrap();
            assert_eq!(by_tag, sha256(text.as_bytes()));
            for (reference, digest) in [(digest.to_string(), &digest), ("v1".to_owned(), &by_tag)] {
                for method in [Method::GET, Method::HEAD] {
                    let got =
                        world.call(method.clone(), &format!("/v2/a/b/manifests/{reference}")).await.is(200);
                    assert_eq!(got.header("content-type"), media_type);
                    assert_eq!(got.header("content-length"), text.len().to_string());
                    assert_eq!(got.header("docker-content-digest"), digest.as_str());
                    let expected = if method == Method::GET { text.as_bytes() } else { b"" };
                    assert_eq!(got.bytes, expected);
                }
            }
        }
    }
}

/// F-06: re-pointing a tag changes nothing that is named by digest.
#[tokio::test]
async fn a_tag_moves_and_what_it_named_stays() {
    let world = World::new().await;
    let first = world.push_image("a", "latest", 1).await;
    let second = world.push_image("a", "latest", 2).await;
    let latest = world.get("/v2/a/manifests/latest").await.is(200);
    assert_eq!(latest.header("docker-content-digest"), second.as_str());
    world.get(&format!("/v2/a/manifests/{first}")).await.is(200);
    world.call(Method::DELETE, "/v2/a/manifests/latest").await.is(202);
    assert_eq!(world.get("/v2/a/manifests/latest").await.is(404).code(), "MANIFEST_UNKNOWN");
    world.get(&format!("/v2/a/manifests/{second}")).await.is(200);
}

/// R02, F-12: an unknown digest is refused.
#[tokio::test]
async fn a_manifest_whose_parts_are_not_there_or_lie_is_refused() {
    let world = World::new().await;
    let (config, layer) = (noise(1, 50), noise(2, 500));
    world.push("a", &config).await;
    world.push("elsewhere", &layer).await;
    let missing = world.put_manifest("a", "v1", &image(&config, &[&layer])).await.is(404);
    assert_eq!(missing.code(), "MANIFEST_BLOB_UNKNOWN");
    assert_eq!(missing.json()["errors"][0]["detail"][0]["digest"], sha256(&layer).as_str());
    world.push("a", &layer).await;
    let mut lie = image(&config, &[&layer]);
    lie["layers"][0]["size"] = json!(499);
    assert_eq!(world.put_manifest("a", "v1", &lie).await.is(400).code(), "SIZE_INVALID");
    let orphan = index(&[b"never pushed"]);
    assert_eq!(world.put_manifest("a", "v1", &orphan).await.is(404).code(), "MANIFEST_BLOB_UNKNOWN");

    let good = image(&config, &[&layer]).to_string();
    for media_type in [
        "application/json",
        "application/vnd.docker.distribution.manifest.v1+prettyjws",
        DOCKER_MANIFEST,
        OCI_INDEX,
    ] {
        let answer = world.put_bytes("a", "v1", media_type, good.clone().into()).await.is(400);
        assert_eq!(answer.code(), "MANIFEST_INVALID", "{media_type}");
    }
    let other = sha256(b"other").to_string();
    assert_eq!(
        world.put_bytes("a", &other, OCI_MANIFEST, good.clone().into()).await.is(400).code(),
        "DIGEST_INVALID"
    );
    assert_eq!(
        world.put_bytes("a", "sha256:bad", OCI_MANIFEST, good.into()).await.is(400).code(),
        "DIGEST_INVALID"
    );
    let foreign = json!({"schemaVersion": 2, "mediaType": OCI_MANIFEST, "config": descriptor("a/b", &config),
        "layers": [{"mediaType": "a/b", "digest": sha256(b"x").as_str(), "size": 1, "urls": ["http://evil.example/"]}]});
    assert_eq!(world.put_manifest("a", "v1", &foreign).await.is(400).code(), "MANIFEST_INVALID");
    world.get("/v2/a/manifests/v1").await.is(404);

    let mut plan = Plan::default();
    plan.settings.policy = Policy { foreign_layers: true, sparse_indexes: true };
    let lenient = World::with(plan, OpenGuard).await;
    lenient.push("a", &config).await;
    lenient.put_manifest("a", "v1", &foreign).await.is(201);
    lenient.put_manifest("a", "v2", &orphan).await.is(201);
}

#[tokio::test]
async fn a_manifest_of_four_mebibytes_is_taken_and_a_larger_one_not() {
    let world = World::new().await;
    world.push("a", b"{}").await;
    let mut manifest = image(b"{}", &[]);
    let bare = manifest.to_string().len() + ",\"annotations\":{\"a\":\"\"}".len();
    manifest["annotations"] = json!({"a": "x".repeat((4 << 20) - bare)});
    assert_eq!(manifest.to_string().len(), 4 << 20);
    world.put_manifest("a", "large", &manifest).await.is(201);
    assert_eq!(world.get("/v2/a/manifests/large").await.is(200).bytes, manifest.to_string().into_bytes());
    let larger = format!("{manifest} ");
    assert_eq!(
        world.put_bytes("a", "larger", OCI_MANIFEST, larger.into()).await.is(413).code(),
        "SIZE_INVALID"
    );
}

#[tokio::test]
async fn tags_come_in_order_and_page_by_page() {
    let world = World::new().await;
    assert_eq!(world.get("/v2/a/tags/list").await.is(404).code(), "NAME_UNKNOWN");
    world.push("a", b"{}").await;
    let manifest = image(b"{}", &[]);
    for tag in ["b", "A", "c", "10", "9", "_x"] {
        world.put_manifest("a", tag, &manifest).await.is(201);
    }
    let all = world.get("/v2/a/tags/list").await.is(200);
    assert_eq!(all.json(), json!({"name": "a", "tags": ["10", "9", "A", "_x", "b", "c"]}));
    assert_eq!(all.header("link"), "");
    let (mut path, mut seen) = ("/v2/a/tags/list?n=2".to_owned(), Vec::new());
    while !path.is_empty() {
        let page = world.get(&path).await.is(200);
        seen.extend(
            page.json()["tags"].as_array().unwrap().iter().map(|tag| tag.as_str().unwrap().to_owned()),
        );
        let link = page.header("link");
        path = link
            .strip_prefix('<')
            .and_then(|link| link.split_once(">; rel=\"next\""))
            .map_or_else(String::new, |(path, _)| path.to_owned());
    }
    assert_eq!(seen, ["10", "9", "A", "_x", "b", "c"]);
    assert_eq!(world.get("/v2/a/tags/list?last=A").await.json()["tags"], json!(["_x", "b", "c"]));
    assert_eq!(world.get("/v2/a/tags/list?n=0").await.json()["tags"], json!([]));
    world.get("/v2/a/tags/list?n=-1").await.is(400);
}

#[tokio::test]
async fn referrers_are_listed_also_when_the_subject_never_came() {
    let world = World::new().await;
    let subject = sha256(b"a manifest that comes later or never");
    let path = format!("/v2/a/referrers/{subject}");
    let none = world.get(&path).await.is(200);
    assert_eq!(none.header("content-type"), OCI_INDEX);
    assert_eq!(none.json(), json!({"schemaVersion": 2, "mediaType": OCI_INDEX, "manifests": []}));
    world.push("a", b"{}").await;
    let mut digests = Vec::new();
    for kind in ["application/x-sbom", "application/x-signature"] {
        let mut manifest = image(b"{}", &[]);
        manifest["artifactType"] = json!(kind);
        manifest["annotations"] = json!({"of": kind});
        manifest["subject"] = json!({"mediaType": OCI_MANIFEST, "digest": subject.as_str(), "size": 123});
        let answer = world
            .put_manifest("a", &sha256(manifest.to_string().as_bytes()).to_string(), &manifest)
            .await
            .is(201);
        assert_eq!(answer.header("oci-subject"), subject.as_str());
        digests.push((kind, answer.header("docker-content-digest").to_owned(), manifest.to_string().len()));
    }
    let mut plain = image(b"{}", &[]);
    plain["subject"] = json!({"mediaType": OCI_MANIFEST, "digest": subject.as_str(), "size": 123});
    world.put_manifest("a", "plain", &plain).await.is(201);
    let all = world.get(&path).await.is(200).json();
    assert_eq!(all["manifests"].as_array().unwrap().len(), 3);
    assert!(
        all["manifests"]
            .as_array()
            .unwrap()
            .iter()
            .any(|one| one["artifactType"] == "application/vnd.oci.image.config.v1+json")
    );
    let (kind, digest, size) = &digests[0];
    let filtered = world.get(&format!("{path}?artifactType=application%2Fx-sbom")).await.is(200);
    assert_eq!(filtered.header("oci-filters-applied"), "artifactType");
    assert_eq!(
        filtered.json()["manifests"],
        json!([{"mediaType": OCI_MANIFEST, "digest": digest, "size": size,
        "artifactType": kind, "annotations": {"of": kind}}])
    );
    world.call(Method::DELETE, &format!("/v2/a/manifests/{digest}")).await.is(202);
    assert_eq!(world.get(&path).await.json()["manifests"].as_array().unwrap().len(), 2);
    world.get("/v2/a/referrers/sha256:bad").await.is(400);
}

#[tokio::test]
async fn deleting_a_manifest_takes_its_tags_along_and_frees_its_blobs() {
    let world = World::new().await;
    let digest = world.push_image("a", "v1", 1).await;
    world.push_image("a", "v2", 1).await;
    world.push_image("a", "other", 5).await;
    let layer = format!("/v2/a/blobs/{}", sha256(&noise(1001, 5000)));
    assert_eq!(
        world.call(Method::DELETE, &layer).await.is(405).code(),
        "UNSUPPORTED",
        "the manifest needs it"
    );
    world.get(&layer).await.is(200);
    world.call(Method::DELETE, &format!("/v2/a/manifests/{digest}")).await.is(202);
    for gone in [digest.as_str(), "v1", "v2"] {
        assert_eq!(world.get(&format!("/v2/a/manifests/{gone}")).await.is(404).code(), "MANIFEST_UNKNOWN");
        world.call(Method::DELETE, &format!("/v2/a/manifests/{gone}")).await.is(404);
    }
    assert_eq!(world.get("/v2/a/tags/list").await.json()["tags"], json!(["other"]));
    world.call(Method::DELETE, &layer).await.is(202);
    world.get(&layer).await.is(404);
}

#[tokio::test]
async fn names_that_are_none_are_refused_before_anything_is_looked_at() {
    let world = World::new().await;
    let digest = sha256(b"");
    assert_eq!(world.get(&format!("/v2/A/blobs/{digest}")).await.is(400).code(), "NAME_INVALID");
    assert_eq!(world.call(Method::POST, "/v2/a/_b/blobs/uploads/").await.is(400).code(), "NAME_INVALID");
    assert_eq!(world.get("/v2/a/blobs/sha256:zz").await.is(400).code(), "DIGEST_INVALID");
    assert_eq!(world.get("/v2/a/manifests/.hidden").await.is(404).code(), "MANIFEST_UNKNOWN");
    let hidden = world.put_manifest("a", ".hidden", &image(b"{}", &[])).await.is(400);
    assert_eq!(hidden.code(), "MANIFEST_INVALID");
    assert_eq!(world.get("/v2/a%2f..%2fb/tags/list").await.is(400).code(), "NAME_INVALID");
}
