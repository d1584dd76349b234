//! What the specification allows a manifest to be, each kind pushed, listed, pulled and deleted in the same way, and
//! what the pinned conformance suite does not ask for. `docs/how-to/registry-conformance.md` says which sentence of the
//! specification is shown by which test.

use base64::Engine as _;
use gpuaas_registry::manifest::{OCI_INDEX, OCI_MANIFEST};
use gpuaas_registry::{Algorithm, Digest};
use reqwest::Method;
use serde_json::{Value, json};

use crate::world::{Answer, World, descriptor, image, noise, sha256};

const EMPTY: &str = "application/vnd.oci.empty.v1+json";
const EXAMPLE: &str = "application/vnd.example.thing";

fn artifact(layers: &[&[u8]]) -> Value {
    let layers: Vec<_> = layers.iter().map(|layer| descriptor(EXAMPLE, layer)).collect();
    json!({"schemaVersion": 2, "mediaType": OCI_MANIFEST, "artifactType": EXAMPLE,
        "config": descriptor(EMPTY, b"{}"), "layers": layers})
}

fn index_of(children: &[(&str, &Value)]) -> Value {
    let manifests: Vec<_> =
        children.iter().map(|(kind, child)| descriptor(kind, child.to_string().as_bytes())).collect();
    json!({"schemaVersion": 2, "mediaType": OCI_INDEX, "manifests": manifests})
}

fn with(mut document: Value, member: &str, value: Value) -> Value {
    document[member] = value;
    document
}

/// Pushes by digest and by tag, asks for both in every way, then takes it away again, tag first.
async fn goes_there_and_back(world: &World, name: &str, manifest: &Value) {
    let kind = manifest["mediaType"].as_str().unwrap();
    let bytes = manifest.to_string().into_bytes();
    let digest = sha256(&bytes).to_string();
    for reference in [digest.as_str(), "tag"] {
        let put = world.put_bytes("a", reference, kind, bytes.clone()).await.is(201);
        assert_eq!(put.header("location"), format!("/v2/a/manifests/{digest}"), "{name}");
        assert_eq!(put.header("docker-content-digest"), digest, "{name}");
        let subject = manifest["subject"]["digest"].as_str().unwrap_or_default();
        assert_eq!(put.header("oci-subject"), subject, "{name}");
    }
    for reference in [digest.as_str(), "tag"] {
        let path = format!("/v2/a/manifests/{reference}");
        for (answer, body) in [(world.get(&path).await, bytes.as_slice()), (world.head(&path).await, b"")] {
            let answer = answer.is(200);
            assert_eq!(answer.bytes, body, "{name}");
            assert_eq!(answer.header("content-type"), kind, "{name}");
            assert_eq!(answer.header("content-length"), bytes.len().to_string(), "{name}");
            assert_eq!(answer.header("docker-content-digest"), digest, "{name}");
        }
    }
    world.call(Method::DELETE, "/v2/a/manifests/tag").await.is(202);
    world.head("/v2/a/manifests/tag").await.is(404);
    world.head(&format!("/v2/a/manifests/{digest}")).await.is(200);
    world.call(Method::DELETE, &format!("/v2/a/manifests/{digest}")).await.is(202);
    world.head(&format!("/v2/a/manifests/{digest}")).await.is(404);
}

/// Every kind of content that the newest conformance suite makes up and a strict registry takes.
#[tokio::test]
async fn every_kind_of_manifest_goes_there_and_back_byte_by_byte() {
    let world = World::new().await;
    let (config, layer) = (noise(1, 300), noise(2, 3000));
    for blob in [&b"{}"[..], &config, &layer] {
        world.push("a", blob).await;
    }
    let plain = image(&config, &[&layer]);
    let child = with(plain.clone(), "annotations", json!({"a": "child"}));
    let list = index_of(&[(OCI_MANIFEST, &child)]);
    for (reference, manifest, kind) in [
        (sha256(child.to_string().as_bytes()), &child, OCI_MANIFEST),
        (sha256(list.to_string().as_bytes()), &list, OCI_INDEX),
    ] {
        world.put_bytes("a", reference.as_str(), kind, manifest.to_string().into()).await.is(201);
    }
    let missing = json!({"mediaType": OCI_MANIFEST, "digest": sha256(b"never pushed").as_str(), "size": 12});
    let annotations: Value = (0..390).map(|n| (format!("large-{n}"), json!("A".repeat(10_000)))).collect();
    let mut inline = plain.clone();
    inline["config"]["data"] = json!(base64::engine::general_purpose::STANDARD.encode(&config));
    for (name, manifest) in [
        ("image", plain.clone()),
        ("image without layers", image(&config, &[])),
        ("large manifest", with(plain.clone(), "annotations", annotations)),
        ("index", with(list.clone(), "annotations", json!({"a": "top"}))),
        ("index of an index", index_of(&[(OCI_INDEX, &list)])),
        ("empty index", index_of(&[])),
        ("artifact", artifact(&[&layer])),
        ("artifact without layers", with(artifact(&[]), "layers", json!([descriptor(EMPTY, b"{}")]))),
        ("artifact index", with(list.clone(), "artifactType", json!(EXAMPLE))),
        ("data in a descriptor", inline),
        (
            "members that nobody knows",
            with(plain.clone(), "org.example.own", json!({"any": ["thing", {"config": 1}]})),
        ),
        ("subject that never came", with(artifact(&[&layer]), "subject", missing.clone())),
        ("index with a subject", with(list.clone(), "subject", missing)),
    ] {
        goes_there_and_back(&world, name, &manifest).await;
    }
}

/// A whole image in the other algorithm: blobs, manifest, index and referrer.
#[tokio::test]
async fn an_image_in_sha512_is_an_image() {
    let world = World::new().await;
    let named = |bytes: &[u8]| Digest::of(Algorithm::Sha512, bytes).to_string();
    let described =
        |kind: &str, bytes: &[u8]| json!({"mediaType": kind, "digest": named(bytes), "size": bytes.len()});
    let (config, layer) = (noise(3, 100), noise(4, 1000));
    for blob in [&config, &layer] {
        let path = format!("/v2/a/blobs/uploads/?digest={}", named(blob));
        world.send(Method::POST, &path, blob.clone()).await.is(201);
    }
    let put = async |kind: &str, manifest: &Value| -> Answer {
        let text = manifest.to_string();
        world.put_bytes("a", &named(text.as_bytes()), kind, text.into()).await.is(201)
    };
    let image = json!({"schemaVersion": 2, "mediaType": OCI_MANIFEST,
        "config": described(EXAMPLE, &config), "layers": [described(EXAMPLE, &layer)]});
    put(OCI_MANIFEST, &image).await;
    let subject = described(OCI_MANIFEST, image.to_string().as_bytes());
    let list = json!({"schemaVersion": 2, "mediaType": OCI_INDEX, "artifactType": EXAMPLE, "subject": subject,
        "manifests": [subject]});
    assert_eq!(put(OCI_INDEX, &list).await.header("oci-subject"), named(image.to_string().as_bytes()));
    let referrers =
        world.get(&format!("/v2/a/referrers/{}", named(image.to_string().as_bytes()))).await.is(200);
    assert_eq!(referrers.json()["manifests"][0]["digest"], named(list.to_string().as_bytes()));
    assert_eq!(referrers.json()["manifests"][0]["artifactType"], EXAMPLE);
}

/// A filter that fits nothing gives an empty index, not an error; the filter is named in the answer, and only then.
#[tokio::test]
async fn referrers_that_do_not_fit_the_filter_are_left_out() {
    let world = World::new().await;
    world.push("a", b"{}").await;
    let subject = json!({"mediaType": OCI_MANIFEST, "digest": sha256(b"subject").as_str(), "size": 7});
    let referrer = with(artifact(&[]), "subject", subject);
    world.put_manifest("a", "tagged", &referrer).await.is(201);
    let path = format!("/v2/a/referrers/{}", sha256(b"subject"));
    let all = world.get(&path).await.is(200);
    assert_eq!(all.header("oci-filters-applied"), "");
    assert_eq!(all.json()["manifests"].as_array().unwrap().len(), 1);
    let none = world.get(&format!("{path}?artifactType=application%2Fvnd.example.other")).await.is(200);
    assert_eq!(none.header("oci-filters-applied"), "artifactType");
    assert_eq!(none.json(), json!({"schemaVersion": 2, "mediaType": OCI_INDEX, "manifests": []}));
    // Clients for older registries keep the list under a tag; it is an ordinary index to us.
    let tag = sha256(b"subject").as_str().replace(':', "-");
    let fallback = index_of(&[(OCI_MANIFEST, &referrer)]);
    world.put_manifest("a", &tag, &fallback).await.is(201);
    assert_eq!(world.get(&format!("/v2/a/manifests/{tag}")).await.is(200).json(), fallback);
}

/// A name that is taken for nothing is refused with the code of the specification, and the body says why.
#[tokio::test]
async fn every_refusal_is_a_list_of_errors_with_a_known_code() {
    let world = World::new().await;
    let nothing = sha256(b"nothing");
    for (method, path, status, code) in [
        (Method::GET, format!("/v2/a/blobs/{nothing}"), 404, "BLOB_UNKNOWN"),
        (Method::GET, format!("/v2/a/manifests/{nothing}"), 404, "MANIFEST_UNKNOWN"),
        (Method::GET, "/v2/a/manifests/never".to_owned(), 404, "MANIFEST_UNKNOWN"),
        (Method::GET, "/v2/a/manifests/.no-tag".to_owned(), 404, "MANIFEST_UNKNOWN"),
        (Method::GET, "/v2/a/tags/list".to_owned(), 404, "NAME_UNKNOWN"),
        (Method::GET, "/v2/A/tags/list".to_owned(), 400, "NAME_INVALID"),
        (Method::GET, "/v2/a/manifests/sha256:baddigeststring".to_owned(), 400, "DIGEST_INVALID"),
        (Method::PUT, "/v2/a/manifests/sha256:baddigeststring".to_owned(), 400, "DIGEST_INVALID"),
        (Method::PUT, "/v2/a/manifests/.no-tag".to_owned(), 400, "MANIFEST_INVALID"),
        (Method::DELETE, format!("/v2/a/manifests/{nothing}"), 404, "MANIFEST_UNKNOWN"),
        (Method::DELETE, format!("/v2/a/blobs/{nothing}"), 404, "BLOB_UNKNOWN"),
        (Method::PATCH, format!("/v2/a/blobs/uploads/{}", "0".repeat(32)), 404, "BLOB_UPLOAD_UNKNOWN"),
    ] {
        let answer = world.call(method, &path).await.is(status);
        assert_eq!(answer.header("content-type"), "application/json", "{path}");
        let body = answer.json();
        let errors = body["errors"].as_array().unwrap();
        assert_eq!(errors.len(), 1, "{path}");
        assert_eq!(errors[0]["code"], code, "{path}");
        assert!(errors[0]["message"].as_str().is_some_and(|text| !text.is_empty()), "{path}");
    }
}
