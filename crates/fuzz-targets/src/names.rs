use std::fmt::Display;
use std::str::FromStr;

use chrono::{TimeDelta, TimeZone as _, Utc};
use gpuaas_agent_protocol::ImageRef;
use gpuaas_domain::manifest::Version;
use gpuaas_domain::text::{DisplayName, Email, Slug};
use gpuaas_oci::manifest::{ACCEPTED, Manifest, Platform};
use gpuaas_oci::sign::{Evidence, Policy, PublicKey, Purpose, TrustedKey, Unnamed};
use gpuaas_oci::{Digest, Host, Name, Reference, Repository, SecretText, Tag, manifest, parse_digest};

/// What is read prints as it was written.
fn same<T: FromStr + Display>(text: &str) {
    if let Ok(read) = text.parse::<T>() {
        assert_eq!(read.to_string(), text);
    }
}

pub(crate) fn text(bytes: &[u8]) {
    gpuaas_oci::fuzz_one(bytes);
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    same::<Host>(text);
    same::<Repository>(text);
    same::<Tag>(text);
    same::<Name>(text);
    same::<Reference>(text);
    same::<Digest>(text);
    // A tag beside the digest is a label and dropped; what is printed is read as the same.
    if let Ok(image) = text.parse::<ImageRef>() {
        assert_eq!(image.to_string().parse(), Ok(image));
    }
    if let Ok(reference) = text.parse::<Reference>() {
        let climbs =
            reference.name.repository.as_str().split('/').any(|part| part.is_empty() || part == "..");
        assert!(!climbs, "a repository is no way out of its folder");
    }
    if let Ok(digest) = parse_digest(text) {
        assert_eq!(digest.to_string(), text);
    }
    let _ = (Slug::parse(text), DisplayName::parse(text), Email::parse(text), Version::parse(text));
}

/// The first byte says what the rest came as.
pub(crate) fn documents(bytes: &[u8]) {
    let Some((kind, document)) = bytes.split_first() else { return };
    match kind % 8 {
        kind @ 0..=3 => image(document, ACCEPTED[usize::from(kind)]),
        4 => evidence(&Evidence::Envelope(document.to_vec())),
        5 => evidence(&Evidence::Bundle(document.to_vec())),
        6 => evidence(&Evidence::Simple { payload: document.to_vec(), signature: "AAAA".to_owned() }),
        _ => keys(document),
    }
}

fn image(bytes: &[u8], content_type: &str) {
    let linux = Platform::linux("amd64");
    match manifest::read(bytes, content_type) {
        Ok(Manifest::Image(image)) => {
            let _ = image.check_runnable();
            let _ = image.check_config(bytes, &linux);
        }
        Ok(Manifest::Index(index)) => {
            let _ = index.choose(&linux);
        }
        Err(why) => assert!(!why.to_string().is_empty()),
    }
}

/// Nothing that a fuzzer makes up is signed by this key.
fn evidence(found: &Evidence) {
    const KEY: &str = include_str!("../../oci/src/sign/fixtures/cosign.pub");
    let key = PublicKey::from_pem(KEY).expect("the key is one");
    let policy = Policy {
        digest: &Digest::of(b"an image"),
        names: &["registry.gpuaas.example.com/apps/x".parse().expect("a name")],
        keys: &[TrustedKey::new(key)],
        now: Utc.timestamp_opt(1_800_000_000, 0).single().expect("a time"),
        max_age: Some(TimeDelta::days(30)),
        unnamed: Unnamed::Accept,
        predicate_types: &[],
    };
    for purpose in [Purpose::Signature, Purpose::Provenance] {
        assert!(found.check(purpose, &policy).is_err(), "it is not signed");
    }
}

fn keys(bytes: &[u8]) {
    if let Ok(key) = PublicKey::from_der(bytes) {
        assert_eq!(PublicKey::from_pem(&key.to_pem()).expect("its own text").id(), key.id());
    }
    if let Ok(text) = std::str::from_utf8(bytes) {
        let _ = PublicKey::from_pem(text);
        let _ = gpuaas_oci::sign::PrivateKey::from_pem(&SecretText::new(text.to_owned()));
    }
}
