//! Against the real cosign and a real registry: it accepts what we sign, and we accept what it signs.
//!
//! Part of `./test --full`, which builds both versions once; that takes minutes, so it is a feature of its own.
//! What they made once is kept in `src/sign/fixtures` and checked in every run.

mod support;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use chrono::{DateTime, Utc};
use gpuaas_oci::sign::{
    Policy, PrivateKey, PublicKey, Purpose, Refusal, SLSA_PROVENANCE_V1, SLSA_PROVENANCE_V02, TrustedKey,
    Unnamed,
};
use gpuaas_oci::{ImageBuilder, Name, Repository};
use ring::rand::SystemRandom;
use serde_json::json;
use support::Loopback;

#[derive(Clone, Copy)]
enum Version {
    Two,
    Three,
}

struct Cosign {
    program: PathBuf,
    folder: tempfile::TempDir,
}

impl Cosign {
    fn find(version: Version) -> Self {
        #[expect(clippy::disallowed_methods, reason = "the tools' folder is under the home of whoever tests")]
        let home = std::env::var_os("HOME").expect("a home");
        let tools = Path::new(&home).join(".cache/gpuaas/tools");
        let program = match version {
            Version::Two => tools.join("cosign-v2/cosign"),
            Version::Three => tools.join("cosign-v3/cosign"),
        };
        assert!(program.exists(), "{} is missing; ./test --full builds it", program.display());
        Self { program, folder: tempfile::tempdir().unwrap() }
    }

    fn run(&self, words: &[&str]) -> Result<String, String> {
        let Output { status, stdout, stderr } = Command::new(&self.program)
            .args(words)
            .current_dir(self.folder.path())
            .env("COSIGN_PASSWORD", "")
            .output()
            .unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        if status.success() { Ok(text(stdout)) } else { Err(text(stderr)) }
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.folder.path().join(name), text).unwrap();
    }

    /// Makes a key pair and gives its public half.
    fn key_pair(&self) -> PublicKey {
        self.run(&["generate-key-pair"]).unwrap();
        PublicKey::from_pem(&std::fs::read_to_string(self.folder.path().join("cosign.pub")).unwrap()).unwrap()
    }
}

fn now() -> DateTime<Utc> {
    DateTime::from_timestamp(1_800_000_000, 0).unwrap()
}

fn repository() -> Repository {
    "apps/signed".parse().unwrap()
}

fn policy<'a>(digest: &'a gpuaas_oci::Digest, names: &'a [Name], keys: &'a [TrustedKey]) -> Policy<'a> {
    Policy {
        digest,
        names,
        keys,
        now: now(),
        max_age: None,
        unnamed: Unnamed::Refuse,
        predicate_types: &[SLSA_PROVENANCE_V02, SLSA_PROVENANCE_V1],
    }
}

/// F-22, F-23.
#[tokio::test]
async fn cosign_accepts_what_we_sign_and_nothing_else() {
    let (loopback, cosign) = (Loopback::start(), Cosign::find(Version::Two));
    let registry = loopback.registry();
    let image = ImageBuilder::new("amd64").file("x", 0o644, b"ours".to_vec()).build().unwrap();
    registry.push("apps/signed", &image, None).await.unwrap();
    let random = SystemRandom::new();
    let keys = [PrivateKey::generate(&random).unwrap(), PrivateKey::generate(&random).unwrap()];
    let mut statements = Vec::new();
    for key in &keys {
        statements.push(registry.sign(&repository(), image.digest(), key, now(), &random).await.unwrap());
    }
    let again = registry.sign(&repository(), image.digest(), &keys[0], now(), &random).await.unwrap();
    assert_eq!(again, statements[0], "once per key");
    let predicate = json!({
        "buildDefinition": { "buildType": "https://example.com/build", "externalParameters": {} },
        "runDetails": { "builder": { "id": "https://example.com/builder" } },
    });
    registry
        .attest(&repository(), image.digest(), SLSA_PROVENANCE_V1, &predicate, &keys[0], &random)
        .await
        .unwrap();

    let reference = format!("{}/apps/signed@{}", loopback.address, image.digest());
    cosign.write("one.pub", &keys[0].public().to_pem());
    cosign.write("two.pub", &keys[1].public().to_pem());
    cosign.write("stranger.pub", &PrivateKey::generate(&random).unwrap().public().to_pem());
    let verify = |key: &str| cosign.run(&["verify", "--insecure-ignore-tlog", "--key", key, &reference]);
    for key in ["one.pub", "two.pub"] {
        let said = verify(key).unwrap();
        assert!(said.contains(image.digest().as_str()), "{said}");
    }
    assert!(verify("stranger.pub").is_err());
    // The newer program reads the older shape too.
    let newer = Cosign::find(Version::Three);
    newer.write("one.pub", &keys[0].public().to_pem());
    newer.run(&["verify", "--insecure-ignore-tlog", "--key", "one.pub", &reference]).unwrap();
    let attested = |key: &str| {
        let words = [
            "verify-attestation",
            "--insecure-ignore-tlog",
            "--type",
            "slsaprovenance1",
            "--key",
            key,
            &reference,
        ];
        cosign.run(&words)
    };
    attested("one.pub").unwrap();
    assert!(attested("two.pub").is_err());

    // cosign signs with a key of ours, beside what lies there, and both hold.
    let pem = keys[1].to_pem();
    cosign.write("own.pem", pem.expose());
    cosign.run(&["import-key-pair", "--key", "own.pem", "--output-key-prefix", "own"]).unwrap();
    cosign.run(&["sign", "--yes", "--tlog-upload=false", "--key", "own.key", &reference]).unwrap();
    verify("one.pub").unwrap();
    verify("two.pub").unwrap();
    let names = [registry.name(&repository()).unwrap()];
    let trusted: Vec<TrustedKey> = keys.iter().map(|key| TrustedKey::new(key.public().clone())).collect();
    let verdict = registry
        .verify(&repository(), Purpose::Signature, &policy(image.digest(), &names, &trusted))
        .await
        .unwrap();
    assert!(verdict.verified.len() >= 2 && verdict.refused.is_empty(), "{verdict:?}");
}

/// F-22, F-23, R03.
#[tokio::test]
async fn we_accept_what_cosign_signs_for_its_image_repository_and_key() {
    let (loopback, cosign) = (Loopback::start(), Cosign::find(Version::Two));
    let registry = loopback.registry();
    let image = ImageBuilder::new("amd64").file("x", 0o644, b"theirs".to_vec()).build().unwrap();
    registry.push("apps/signed", &image, None).await.unwrap();
    let key = cosign.key_pair();
    let reference = format!("{}/apps/signed@{}", loopback.address, image.digest());
    let names = [registry.name(&repository()).unwrap()];
    let keys = [TrustedKey::new(key.clone())];
    let policy = policy(image.digest(), &names, &keys);
    let check = async |purpose, policy: Policy<'_>| {
        registry.verify(&repository(), purpose, &policy).await.unwrap().into_one()
    };
    assert_eq!(check(Purpose::Signature, policy).await, Err(Refusal::Unsigned));

    cosign.run(&["sign", "--yes", "--tlog-upload=false", "--key", "cosign.key", &reference]).unwrap();
    cosign.write("predicate.json", r#"{"builder":{"id":"https://b"},"buildType":"x","invocation":{}}"#);
    let attest =
        ["attest", "--yes", "--tlog-upload=false", "--key", "cosign.key", "--type", "slsaprovenance"];
    cosign.run(&[&attest[..], &["--predicate", "predicate.json", &reference]].concat()).unwrap();
    for purpose in [Purpose::Signature, Purpose::Provenance] {
        assert_eq!(check(purpose, policy).await.unwrap().signer, *key.id());
    }

    let revoked = [TrustedKey { revoked: true, ..keys[0].clone() }];
    let refused = check(Purpose::Signature, Policy { keys: &revoked, ..policy }).await.unwrap_err();
    assert_eq!(refused, Refusal::SignerRevoked { key: key.id().clone() });
    let elsewhere = ["r.example.com/apps/signed".parse().unwrap()];
    let refused = check(Purpose::Signature, Policy { names: &elsewhere, ..policy }).await.unwrap_err();
    assert!(matches!(refused, Refusal::OtherRepository { .. }), "{refused}");
    let stranger = [TrustedKey::new(PrivateKey::generate(&SystemRandom::new()).unwrap().public().clone())];
    let refused = check(Purpose::Provenance, Policy { keys: &stranger, ..policy }).await.unwrap_err();
    assert_eq!(refused, Refusal::NoKeyMatches);
    let refused =
        check(Purpose::Provenance, Policy { predicate_types: &[SLSA_PROVENANCE_V1], ..policy }).await;
    assert_eq!(refused, Err(Refusal::PredicateType { found: SLSA_PROVENANCE_V02.to_owned() }));
}

/// F-22: bundles beside the image, found by the tag of an older registry.
#[tokio::test]
async fn we_accept_the_bundles_of_cosign_3() {
    let (loopback, cosign) = (Loopback::start(), Cosign::find(Version::Three));
    let registry = loopback.registry();
    let image = ImageBuilder::new("amd64").file("x", 0o644, b"bundles".to_vec()).build().unwrap();
    registry.push("apps/signed", &image, None).await.unwrap();
    let key = cosign.key_pair();
    let reference = format!("{}/apps/signed@{}", loopback.address, image.digest());
    cosign.write("predicate.json", r#"{"builder":{"id":"https://b"},"buildType":"x","invocation":{}}"#);
    let quiet = ["--yes", "--tlog-upload=false", "--use-signing-config=false", "--key", "cosign.key"];
    cosign.run(&[&["sign"], &quiet[..], &[&reference]].concat()).unwrap();
    let predicate = ["--type", "slsaprovenance", "--predicate", "predicate.json", &reference];
    cosign.run(&[&["attest"], &quiet[..], &predicate[..]].concat()).unwrap();

    let names = [registry.name(&repository()).unwrap()];
    let keys = [TrustedKey::new(key.clone())];
    let strict = policy(image.digest(), &names, &keys);
    let check = async |purpose, policy: Policy<'_>| {
        registry.verify(&repository(), purpose, &policy).await.unwrap().into_one()
    };
    assert_eq!(check(Purpose::Provenance, strict).await.unwrap().signer, *key.id());
    let refused = check(Purpose::Signature, strict).await.unwrap_err();
    assert!(matches!(refused, Refusal::RepositoryNotNamed { .. }), "it names a digest only: {refused}");
    let lenient = Policy { unnamed: Unnamed::Accept, ..strict };
    assert_eq!(check(Purpose::Signature, lenient).await.unwrap().signer, *key.id());
}
