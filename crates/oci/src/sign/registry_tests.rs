//! A registry full of things that look like proofs.

use std::collections::BTreeMap;

use ring::rand::SystemRandom;

use super::*;
use crate::client::Settings;
use crate::client::stub::{Stub, answer};
use crate::manifest::{OCI_INDEX, write_index};
use crate::sign::TrustedKey;

/// Paths under the repository, each with type and bytes.
#[derive(Default)]
struct Shelf(BTreeMap<String, (String, Vec<u8>)>);

impl Shelf {
    fn blob(&mut self, media_type: &str, bytes: &[u8], signature: Option<&str>) -> Descriptor {
        let mut part = Descriptor::of(media_type, bytes);
        if let Some(signature) = signature {
            part.annotations.insert(SIGNATURE_ANNOTATION.to_owned(), signature.to_owned());
        }
        self.0.insert(format!("blobs/{}", part.digest), (String::new(), bytes.to_vec()));
        part
    }

    fn manifest(
        &mut self,
        tag: Option<&Tag>,
        layers: &[Descriptor],
        subject: Option<&Descriptor>,
    ) -> Descriptor {
        let config = Descriptor::of(CONFIG_TYPE, b"{}");
        let bytes = manifest::write_image(None, &config, layers, subject, &Annotations::new());
        let part = Descriptor::of(OCI_MANIFEST, &bytes);
        let name = tag.map_or(part.digest.to_string(), ToString::to_string);
        self.0.insert(format!("manifests/{name}"), (OCI_MANIFEST.to_owned(), bytes));
        part
    }

    fn serve(self) -> Stub {
        Stub::start(move |seen| {
            let path = seen.line.split("/v2/apps/a/").nth(1).unwrap_or_default();
            match self.0.get(path) {
                Some((kind, bytes)) => answer("200 OK", &[("content-type", kind)], bytes),
                None => answer("404 Not Found", &[], b""),
            }
        })
    }
}

fn quick() -> Settings {
    Settings { attempts: 1, ..Settings::default() }
}

/// R03: one bad candidate does not hide a good one, and none of the bad ones counts.
#[tokio::test]
async fn among_forgeries_the_true_signature_is_found_and_each_forgery_has_its_reason() {
    let random = SystemRandom::new();
    let key = PrivateKey::generate(&random).unwrap();
    let image = Descriptor::of(OCI_MANIFEST, b"image");
    let other = Descriptor::of(OCI_MANIFEST, b"other image");
    let now = DateTime::from_timestamp(1_700_000_000, 0).unwrap();
    let name = "r.example.com/apps/a".parse().unwrap();
    let signed = |digest: &Digest| {
        let payload = simple_payload(&name, digest, now);
        let signature = STANDARD.encode(key.sign(&random, &payload).unwrap());
        (payload, signature)
    };
    let (good, signature) = signed(&image.digest);
    let (moved, moved_signature) = signed(&other.digest);

    let mut shelf = Shelf::default();
    let stripped = shelf.blob(SIMPLE_SIGNING, b"stripped", None);
    let wrong_type = shelf.blob("text/plain", b"plain", Some(&signature));
    let mut swapped = shelf.blob(SIMPLE_SIGNING, b"swapped here", Some(&signature));
    let swapped_bytes = shelf.0.remove(&format!("blobs/{}", swapped.digest)).unwrap();
    swapped.digest = Digest::of(b"promised byte");
    swapped.size = 12;
    shelf.0.insert(format!("blobs/{}", swapped.digest), swapped_bytes);
    let mut huge = Descriptor::of(SIMPLE_SIGNING, b"huge");
    huge.size = 1 << 20;
    let of_another = shelf.blob(SIMPLE_SIGNING, &moved, Some(&moved_signature));
    let forged = shelf.blob(SIMPLE_SIGNING, b"{\"forged\":1}", Some(&signature));
    let truth = shelf.blob(SIMPLE_SIGNING, &good, Some(&signature));
    let tag = Purpose::Signature.tag(&image.digest);
    let layers = [stripped, wrong_type, swapped, huge, of_another, forged, truth.clone()];
    shelf.manifest(Some(&tag), &layers, None);
    let referrer = shelf.manifest(None, &[truth], Some(&other));
    let list = write_index(&[referrer]);
    shelf.0.insert(format!("referrers/{}", image.digest), (OCI_INDEX.to_owned(), list));
    let stub = shelf.serve();

    let keys = [TrustedKey::new(key.public().clone())];
    let policy = Policy {
        digest: &image.digest,
        names: std::slice::from_ref(&name),
        keys: &keys,
        now,
        max_age: None,
        unnamed: Unnamed::Refuse,
        predicate_types: &[],
    };
    let registry = Registry::with(&stub.url, None, quick()).unwrap();
    let repository = "apps/a".parse().unwrap();
    let verdict = registry.verify(&repository, Purpose::Signature, &policy).await.unwrap();
    assert_eq!(verdict.verified.len(), 1);
    assert_eq!(verdict.verified[0].statement, Digest::of(&good));
    let reasons: Vec<&Refusal> = verdict.refused.iter().map(|(_, why)| why).collect();
    assert!(
        matches!(
            reasons[..],
            [
                Refusal::SignatureMissing,
                Refusal::LayerType { .. },
                Refusal::OtherBytes { .. },
                Refusal::TooLarge { .. },
                Refusal::OtherDigest { .. },
                Refusal::NoKeyMatches,
                Refusal::OtherSubject { .. },
            ]
        ),
        "{reasons:?}"
    );
}

/// F07: whoever piles things up beside an image costs us a bounded look.
#[tokio::test]
async fn a_pile_of_candidates_is_not_looked_through_to_its_end() {
    let image = Descriptor::of(OCI_MANIFEST, b"image");
    let mut shelf = Shelf::default();
    let referrers: Vec<Descriptor> = (0..200)
        .map(|at| {
            let layer = shelf.blob(SIMPLE_SIGNING, format!("{at}").as_bytes(), Some("AA=="));
            shelf.manifest(None, &[layer], Some(&image))
        })
        .collect();
    shelf.0.insert(format!("referrers/{}", image.digest), (OCI_INDEX.to_owned(), write_index(&referrers)));
    let stub = shelf.serve();
    let registry = Registry::with(&stub.url, None, quick()).unwrap();
    let repository = "apps/a".parse().unwrap();
    let found = registry.list_evidence(&repository, &image.digest, Purpose::Signature).await.unwrap();
    assert_eq!(found.len(), MAX_CANDIDATES + 1);
    let last = found.last().and_then(|candidate| candidate.evidence.clone().err());
    assert_eq!(last, Some(Refusal::TooManyCandidates { found: MAX_CANDIDATES }));
    assert!(stub.lines().len() < 140, "{}", stub.lines().len());
}

/// What cannot be read under the tag is told, and nothing is written over it.
#[tokio::test]
async fn an_ambiguous_manifest_under_the_tag_is_no_proof_and_is_left_alone() {
    let image = Descriptor::of(OCI_MANIFEST, b"image");
    let mut shelf = Shelf::default();
    let tag = Purpose::Signature.tag(&image.digest);
    let twice = br#"{"schemaVersion":2,"schemaVersion":2}"#.to_vec();
    shelf.0.insert(format!("manifests/{tag}"), (OCI_MANIFEST.to_owned(), twice));
    let stub = shelf.serve();
    let registry = Registry::with(&stub.url, None, quick()).unwrap();
    let repository = "apps/a".parse().unwrap();
    let found = registry.list_evidence(&repository, &image.digest, Purpose::Signature).await.unwrap();
    assert!(matches!(found[0].evidence, Err(Refusal::Manifest(_))), "{found:?}");
    let random = SystemRandom::new();
    let key = PrivateKey::generate(&random).unwrap();
    let now = DateTime::from_timestamp(1_700_000_000, 0).unwrap();
    assert!(registry.sign(&repository, &image.digest, &key, now, &random).await.is_err());
    assert!(
        !stub.lines().iter().any(|line| line.starts_with("PUT /v2/apps/a/manifests")),
        "{:?}",
        stub.lines()
    );
}

/// R03: a byte changed in what holds a signature, or its text gone, is told with its name; the signature beside it that
/// holds still counts.
#[tokio::test]
async fn a_changed_byte_in_one_signature_does_not_hide_another() {
    let random = SystemRandom::new();
    let key = PrivateKey::generate(&random).unwrap();
    let image = Descriptor::of(OCI_MANIFEST, b"image");
    let now = DateTime::from_timestamp(1_700_000_000, 0).unwrap();
    let name = "r.example.com/apps/a".parse().unwrap();
    let payload = simple_payload(&name, &image.digest, now);
    let signature = STANDARD.encode(key.sign(&random, &payload).unwrap());

    let mut shelf = Shelf::default();
    let truth = shelf.blob(SIMPLE_SIGNING, &payload, Some(&signature));
    let lost = Descriptor::of(SIMPLE_SIGNING, b"lost");
    shelf.manifest(Some(&Purpose::Signature.tag(&image.digest)), &[lost.clone(), truth.clone()], None);
    let changed = shelf.manifest(None, &[truth], Some(&image));
    let bytes = &mut shelf.0.get_mut(&format!("manifests/{}", changed.digest)).unwrap().1;
    let at = bytes.len() / 2;
    bytes[at] ^= 1;
    let list = write_index(std::slice::from_ref(&changed));
    shelf.0.insert(format!("referrers/{}", image.digest), (OCI_INDEX.to_owned(), list));
    let stub = shelf.serve();

    let keys = [TrustedKey::new(key.public().clone())];
    let policy = Policy {
        digest: &image.digest,
        names: std::slice::from_ref(&name),
        keys: &keys,
        now,
        max_age: None,
        unnamed: Unnamed::Refuse,
        predicate_types: &[],
    };
    let registry = Registry::with(&stub.url, None, quick()).unwrap();
    let verdict = registry.verify(&"apps/a".parse().unwrap(), Purpose::Signature, &policy).await.unwrap();
    assert_eq!(verdict.verified.len(), 1);
    let told: Vec<String> = verdict.refused.iter().map(|(origin, why)| format!("{origin}: {why}")).collect();
    assert!(told[0].ends_with(&format!("the registry has nothing for {}", lost.digest)), "{told:?}");
    assert!(told[1].contains(changed.digest.as_str()), "{told:?}");
}

/// What a registry that takes things holds, and the one path that it says is damaged until it is written again.
fn damaged_at(damaged: String) -> Stub {
    let mut shelf: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    Stub::start(move |seen| {
        let (method, path) = seen.line.split_once(' ').unwrap_or_default();
        let path = path.strip_prefix("/v2/apps/a/").unwrap_or_default();
        match method {
            "POST" => answer("202 Accepted", &[("location", "/v2/apps/a/blobs/uploads/1")], b""),
            "PUT" => {
                let blob = path.split_once("?digest=").map(|(_, digest)| digest.replace("%3A", ":"));
                let path = blob.map_or(path.to_owned(), |digest| format!("blobs/{digest}"));
                shelf.insert(path, seen.body.clone());
                answer("201 Created", &[], b"")
            }
            _ => match shelf.get(path) {
                Some(bytes) => answer("200 OK", &[("content-type", OCI_MANIFEST)], bytes),
                None if path == damaged => {
                    answer("500 Internal Server Error", &[], br#"{"errors":[{"code":"DIGEST_INVALID"}]}"#)
                }
                None => answer("404 Not Found", &[], b""),
            },
        }
    })
}

/// F-22: where a signature lay and was damaged, a new one takes its place and is found.
#[tokio::test]
async fn a_damaged_signature_is_replaced_by_signing_again() {
    let random = SystemRandom::new();
    let key = PrivateKey::generate(&random).unwrap();
    let image = Descriptor::of(OCI_MANIFEST, b"image");
    let tag = Purpose::Signature.tag(&image.digest);
    let now = DateTime::from_timestamp(1_700_000_000, 0).unwrap();
    let stub = damaged_at(format!("manifests/{tag}"));
    let registry = Registry::with(&stub.url, None, quick()).unwrap();
    let repository = "apps/a".parse().unwrap();
    let before = registry.list_evidence(&repository, &image.digest, Purpose::Signature).await.unwrap();
    assert!(matches!(before[0].evidence, Err(Refusal::Damaged)), "{before:?}");

    let statement = registry.sign(&repository, &image.digest, &key, now, &random).await.unwrap();
    let keys = [TrustedKey::new(key.public().clone())];
    let names = [registry.name(&repository).unwrap()];
    let policy = Policy {
        digest: &image.digest,
        names: &names,
        keys: &keys,
        now,
        max_age: None,
        unnamed: Unnamed::Refuse,
        predicate_types: &[],
    };
    let verdict = registry.verify(&repository, Purpose::Signature, &policy).await.unwrap();
    assert_eq!(verdict.verified.iter().map(|found| &found.statement).collect::<Vec<_>>(), [&statement]);
    assert!(verdict.refused.is_empty(), "{:?}", verdict.refused);
}
