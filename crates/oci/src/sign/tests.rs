use ring::rand::SystemRandom;
use serde_json::{Value, json};

use super::*;
use crate::json::BadJson;

const IMAGE: &str = "sha256:1111111111111111111111111111111111111111111111111111111111111111";
const OTHER: &str = "sha256:2222222222222222222222222222222222222222222222222222222222222222";

/// A signer, what it is trusted for, and the moment of the check.
struct World {
    key: PrivateKey,
    names: Vec<Name>,
    keys: Vec<TrustedKey>,
    digest: Digest,
    now: DateTime<Utc>,
}

impl World {
    fn new() -> Self {
        let key = PrivateKey::generate(&SystemRandom::new()).unwrap();
        let keys = vec![TrustedKey::new(stranger().public().clone()), TrustedKey::new(key.public().clone())];
        Self {
            key,
            keys,
            names: vec!["r.example.com/apps/a".parse().unwrap()],
            digest: IMAGE.parse().unwrap(),
            now: DateTime::from_timestamp(1_700_000_000, 0).unwrap(),
        }
    }

    fn policy(&self) -> Policy<'_> {
        Policy {
            digest: &self.digest,
            names: &self.names,
            keys: &self.keys,
            now: self.now,
            max_age: None,
            unnamed: Unnamed::Refuse,
            predicate_types: &[SLSA_PROVENANCE_V1],
        }
    }

    fn payload(&self) -> Vec<u8> {
        simple_payload(&self.names[0], &self.digest, self.now)
    }

    fn signed(&self, payload: impl Into<Vec<u8>>) -> Evidence {
        let payload = payload.into();
        let signature = STANDARD.encode(self.key.sign(&SystemRandom::new(), &payload).unwrap());
        Evidence::Simple { payload, signature }
    }

    /// Our payload with something replaced, signed as it then is: a signer who means it.
    fn edited(&self, from: &str, to: &str) -> Evidence {
        let payload = String::from_utf8(self.payload()).unwrap();
        assert!(payload.contains(from), "{from} is not in {payload}");
        self.signed(payload.replace(from, to))
    }

    fn statement(&self) -> String {
        json!({
            "_type": "https://in-toto.io/Statement/v1",
            "subject": [{ "name": self.names[0].to_string(), "digest": { "sha256": self.digest.hex() } }],
            "predicateType": SLSA_PROVENANCE_V1,
            "predicate": { "builder": "b" },
        })
        .to_string()
    }

    fn envelope(&self, statement: &[u8]) -> Value {
        let kind = "application/vnd.in-toto+json";
        let signature = self.key.sign(&SystemRandom::new(), &dsse::authenticated(kind, statement)).unwrap();
        json!({
            "payloadType": kind,
            "payload": STANDARD.encode(statement),
            "signatures": [{ "keyid": "", "sig": STANDARD.encode(signature) }],
        })
    }

    fn stated(&self, from: &str, to: &str) -> Evidence {
        let statement = self.statement();
        assert!(statement.contains(from), "{from} is not in {statement}");
        enveloped(&self.envelope(statement.replace(from, to).as_bytes()))
    }

    fn bundle(&self, statement: &str) -> Value {
        json!({
            "mediaType": SIGSTORE_BUNDLE,
            "verificationMaterial": { "publicKey": { "hint": "" } },
            "dsseEnvelope": self.envelope(statement.as_bytes()),
        })
    }
}

fn stranger() -> PrivateKey {
    PrivateKey::generate(&SystemRandom::new()).unwrap()
}

fn enveloped(envelope: &Value) -> Evidence {
    Evidence::Envelope(envelope.to_string().into_bytes())
}

fn bundled(bundle: &Value) -> Evidence {
    Evidence::Bundle(bundle.to_string().into_bytes())
}

fn base64_of_hex(hex: &str) -> String {
    let bytes: Vec<u8> =
        (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect();
    STANDARD.encode(bytes)
}

/// F-22: signer, time and statement digest come out.
#[test]
fn a_signature_by_a_trusted_key_for_this_image_and_repository_holds() {
    let world = World::new();
    let verified = world.signed(world.payload()).check(Purpose::Signature, &world.policy()).unwrap();
    assert_eq!(verified.signer, *world.key.public().id());
    assert_eq!(verified.statement, Digest::of(&world.payload()));
    assert_eq!((verified.claimed_at, verified.checked_at), (Some(world.now), world.now));
}

/// F-22.
#[test]
fn provenance_by_a_trusted_key_about_this_image_holds() {
    let world = World::new();
    let verified = world.stated("\"b\"", "\"c\"").check(Purpose::Provenance, &world.policy()).unwrap();
    assert_eq!(verified.signer, *world.key.public().id());
    assert_eq!(verified.predicate_type.as_deref(), Some(SLSA_PROVENANCE_V1));
    let among_others = world.stated(
        "\"subject\":[",
        "\"subject\":[{\"name\":\"other\",\"digest\":{\"sha256\":\"33\"}},{\"digest\":{\"sha1\":\"1\"}},",
    );
    among_others.check(Purpose::Provenance, &world.policy()).expect("a build has several results");
    let made = provenance_envelope(
        &world.names[0],
        &world.digest,
        SLSA_PROVENANCE_V1,
        &json!({ "builder": 1 }),
        &world.key,
        &SystemRandom::new(),
    );
    Evidence::Envelope(made.unwrap())
        .check(Purpose::Provenance, &world.policy())
        .expect("what we make ourselves");
}

#[test]
fn a_bundle_names_the_key_that_signed_it() {
    let world = World::new();
    let mut bundle = world.bundle(&world.statement());
    bundle["verificationMaterial"]["publicKey"]["hint"] =
        base64_of_hex(world.key.public().id().digest().hex()).into();
    bundled(&bundle).check(Purpose::Provenance, &world.policy()).unwrap();
}

/// R03, F07: forged, moved, stripped and mismatched proofs, each refused with a reason of its own.
#[test]
fn every_forged_or_mismatched_proof_is_refused_with_a_reason_of_its_own() {
    use Refusal::*;
    let world = World::new();
    let policy = world.policy();
    let good = world.payload();
    let text = str::to_owned;
    let Evidence::Simple { signature, .. } = world.signed(good.clone()) else { panic!() };
    let with = |payload: &[u8], signature: &str| Evidence::Simple {
        payload: payload.to_vec(),
        signature: signature.to_owned(),
    };
    let mut corpus: Vec<(&str, Evidence, Purpose, Policy<'_>, Refusal)> = Vec::new();

    let mut simple = |what, evidence, why| corpus.push((what, evidence, Purpose::Signature, policy, why));
    simple("the signature is cut off", with(&good, ""), SignatureMissing);
    simple("no base64", with(&good, "%%%"), SignatureNotBase64);
    simple("a novel as signature", with(&good, &"A".repeat(4096)), SignatureTooLong);
    simple(
        "a megabyte as payload",
        with(&vec![b' '; 1 << 20], &signature),
        TooLarge { bytes: 1 << 20, most: 65_536 },
    );
    simple("one byte of the payload changed", with(&[&good[..], b" "].concat(), &signature), NoKeyMatches);
    simple(
        "another kind",
        world.edited("cosign container image", "atomic container"),
        Type { found: text("atomic container signature") },
    );
    simple("another digest", world.edited(IMAGE, OTHER), OtherDigest { found: text(OTHER) });
    simple(
        "a digest in capitals",
        world.edited("sha256:", "SHA256:"),
        OtherDigest { found: IMAGE.replace("sha", "SHA") },
    );
    simple(
        "no digest",
        world.edited("docker-manifest-digest", "digest"),
        Payload(BadJson::Missing { path: text("critical.image.docker-manifest-digest") }),
    );
    simple(
        "another repository",
        world.edited("apps/a", "apps/b"),
        OtherRepository { found: text("r.example.com/apps/b") },
    );
    simple(
        "another registry",
        world.edited("r.example.com", "evil.example.com"),
        OtherRepository { found: text("evil.example.com/apps/a") },
    );
    simple(
        "a tag beside the repository",
        world.edited("apps/a", "apps/a:1"),
        OtherRepository { found: text("r.example.com/apps/a:1") },
    );
    simple(
        "no repository",
        world.edited("r.example.com/apps/a", ""),
        RepositoryNotNamed { wanted: world.names.first().cloned() },
    );
    simple(
        "two digests",
        world.edited("\"image\":{", &format!("\"image\":{{\"docker-manifest-digest\":\"{OTHER}\",")),
        Payload(BadJson::Duplicate { member: text("docker-manifest-digest") }),
    );
    simple(
        "a digest in other letters",
        world.edited("\"image\":{", &format!("\"image\":{{\"Docker-Manifest-Digest\":\"{OTHER}\",")),
        Payload(BadJson::Misspelled {
            member: text("Docker-Manifest-Digest"),
            meant: "docker-manifest-digest",
        }),
    );
    simple(
        "something behind the payload",
        world.edited("}}", "}}{}"),
        Payload(BadJson::Trailing { line: 1, column: good.len() + 1 }),
    );
    simple("no JSON", world.signed("hello"), Payload(BadJson::Malformed { line: 1, column: 1 }));
    simple("not UTF-8", world.signed(vec![0xff, 0xfe]), Payload(BadJson::NotUtf8));
    simple("nested without end", world.signed("[".repeat(5000)), Payload(BadJson::TooDeep { most: 32 }));
    let future = world.now + TimeDelta::hours(1);
    simple(
        "from the future",
        world.signed(simple_payload(&world.names[0], &world.digest, future)),
        FromTheFuture { claimed: future },
    );
    simple("a time beyond all calendars", world.edited("1700000000", "18446744073709551615"), MalformedTime);
    simple(
        "a time that is none",
        world.edited("1700000000", "\"now\""),
        Payload(BadJson::WrongType { path: text("optional.timestamp"), wanted: "a count of seconds" }),
    );
    simple(
        "provenance in place of a signature",
        world.stated("\"b\"", "\"c\""),
        PredicateType { found: text(SLSA_PROVENANCE_V1) },
    );

    let revoked = [TrustedKey { revoked: true, ..TrustedKey::new(world.key.public().clone()) }];
    let signer = world.key.public().id().clone();
    corpus.push((
        "a revoked key",
        world.signed(good.clone()),
        Purpose::Signature,
        Policy { keys: &revoked, ..policy },
        SignerRevoked { key: signer.clone() },
    ));
    let since = world.now - TimeDelta::seconds(1);
    let expired = [TrustedKey { valid_until: Some(since), ..TrustedKey::new(world.key.public().clone()) }];
    corpus.push((
        "an expired key",
        world.signed(good.clone()),
        Purpose::Signature,
        Policy { keys: &expired, ..policy },
        SignerExpired { key: signer.clone(), since },
    ));
    corpus.push((
        "nobody is trusted",
        world.signed(good.clone()),
        Purpose::Signature,
        Policy { keys: &[], ..policy },
        NoTrustedKeys,
    ));
    let day = Some(TimeDelta::days(1));
    let old = world.now - TimeDelta::days(2);
    corpus.push((
        "too old",
        world.signed(simple_payload(&world.names[0], &world.digest, old)),
        Purpose::Signature,
        Policy { max_age: day, ..policy },
        TooOld { claimed: old },
    ));
    corpus.push((
        "without a time",
        world.edited("\"timestamp\":1700000000", "\"x\":1"),
        Purpose::Signature,
        Policy { max_age: day, ..policy },
        NoTime,
    ));

    let mut provenance =
        |what, evidence, why| corpus.push((what, evidence, Purpose::Provenance, policy, why));
    let statement = world.statement();
    let whole = world.envelope(statement.as_bytes());
    let changed = |change: &dyn Fn(&mut Value)| {
        let mut envelope = whole.clone();
        change(&mut envelope);
        enveloped(&envelope)
    };
    provenance(
        "a signature in place of provenance",
        world.signed(good.clone()),
        LayerType { found: text(SIMPLE_SIGNING) },
    );
    provenance(
        "no envelope",
        Evidence::Envelope(b"{}".to_vec()),
        Envelope(BadJson::Missing { path: text("payloadType") }),
    );
    provenance(
        "another payload type",
        changed(&|e| e["payloadType"] = "text/plain".into()),
        PayloadType { found: text("text/plain") },
    );
    provenance("a payload that is not base64", changed(&|e| e["payload"] = "?".into()), PayloadNotBase64);
    provenance("no signature", changed(&|e| e["signatures"] = json!([])), NoSignatures);
    provenance(
        "a crowd of signatures",
        changed(&|e| e["signatures"] = json!(vec![json!({"sig": "AA=="}); 17])),
        TooManySignatures { found: 17 },
    );
    provenance(
        "a signature without its text",
        changed(&|e| e["signatures"] = json!([{"keyid": ""}])),
        Envelope(BadJson::Missing { path: text("signatures[0].sig") }),
    );
    provenance(
        "another statement type",
        world.stated("Statement/v1", "Statement/v9"),
        StatementType { found: text("https://in-toto.io/Statement/v9") },
    );
    provenance("about nothing", world.stated("\"subject\"", "\"object\""), NoSubject);
    provenance(
        "about the world",
        world.stated("\"subject\":[", &format!("\"subject\":[{}", "{\"digest\":{}},".repeat(256))),
        TooManySubjects { found: 257 },
    );
    provenance("without sha256", world.stated("\"sha256\"", "\"sha1\""), SubjectWithoutDigest);
    let nines = "9".repeat(64);
    provenance(
        "about another image",
        world.stated(world.digest.hex(), &nines),
        OtherDigest { found: format!("sha256:{nines}") },
    );
    provenance(
        "in another repository",
        world.stated("apps/a", "apps/c"),
        OtherRepository { found: text("r.example.com/apps/c") },
    );
    provenance(
        "a predicate nobody asked for",
        world.stated(SLSA_PROVENANCE_V1, "https://spdx.dev/Document"),
        PredicateType { found: text("https://spdx.dev/Document") },
    );
    provenance("saying nothing", world.stated("{\"builder\":\"b\"}", "{}"), PredicateMissing);
    provenance(
        "two predicates",
        world.stated("\"predicate\":", "\"predicate\":{},\"predicate\":"),
        Payload(BadJson::Duplicate { member: text("predicate") }),
    );

    let bundle = world.bundle(&statement);
    let changed = |change: &dyn Fn(&mut Value)| {
        let mut bundle = bundle.clone();
        change(&mut bundle);
        bundled(&bundle)
    };
    provenance(
        "a bundle of another version",
        changed(&|b| b["mediaType"] = "x".into()),
        BundleType { found: text("x") },
    );
    provenance(
        "a bundle without material",
        changed(&|b| b["verificationMaterial"] = Value::Null),
        Bundle(BadJson::Missing { path: text("verificationMaterial") }),
    );
    provenance(
        "a certificate",
        changed(&|b| b["verificationMaterial"] = json!({"certificate": {}})),
        Certificate,
    );
    provenance("a bundle without a statement", changed(&|b| b["dsseEnvelope"] = Value::Null), BundleContent);
    let hint = base64_of_hex(stranger().public().id().digest().hex());
    provenance(
        "a bundle that names another key",
        changed(&|b| b["verificationMaterial"]["publicKey"]["hint"] = hint.clone().into()),
        OtherKeyNamed { signer },
    );

    let mut reasons = std::collections::BTreeSet::new();
    for (what, evidence, purpose, policy, why) in &corpus {
        assert_eq!(evidence.check(*purpose, policy), Err(why.clone()), "{what}");
        reasons.insert(why.to_string());
    }
    assert_eq!(reasons.len(), corpus.len(), "each has its own reason");
    assert!(reasons.len() >= 30, "{}", reasons.len());
}

/// R03: signatures of others, also true ones, do not count.
#[test]
fn a_signature_by_a_key_that_nobody_registered_is_nothing() {
    let world = World::new();
    let other = World::new();
    for evidence in [other.signed(other.payload()), other.stated("\"b\"", "\"b\"")] {
        for purpose in [Purpose::Signature, Purpose::Provenance] {
            assert!(evidence.check(purpose, &world.policy()).is_err());
        }
    }
    // The lengths in front keep a statement from being read as a payload, and the other way round.
    let crossed = Evidence::Simple {
        payload: world.statement().into_bytes(),
        signature: world.envelope(world.statement().as_bytes())["signatures"][0]["sig"]
            .as_str()
            .unwrap()
            .to_owned(),
    };
    assert_eq!(crossed.check(Purpose::Signature, &world.policy()), Err(Refusal::NoKeyMatches));
}

/// F-23.
#[test]
fn one_revocation_of_a_key_is_enough_however_often_it_is_registered() {
    let mut world = World::new();
    world.keys.push(TrustedKey { revoked: true, ..TrustedKey::new(world.key.public().clone()) });
    let refused = world.signed(world.payload()).check(Purpose::Signature, &world.policy()).unwrap_err();
    assert_eq!(refused, Refusal::SignerRevoked { key: world.key.public().id().clone() });
}

#[test]
fn a_statement_without_a_repository_holds_only_where_that_is_accepted() {
    let world = World::new();
    let sign = json!({
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{ "digest": { "sha256": world.digest.hex() } }],
        "predicateType": "https://sigstore.dev/cosign/sign/v1",
    });
    let evidence = bundled(&world.bundle(&sign.to_string()));
    let refused = evidence.check(Purpose::Signature, &world.policy()).unwrap_err();
    assert_eq!(refused.to_string(), "it does not say that it is for r.example.com/apps/a");
    let lenient = Policy { unnamed: Unnamed::Accept, ..world.policy() };
    evidence.check(Purpose::Signature, &lenient).unwrap();
}

/// A person is told the nearest miss.
#[test]
fn of_several_refusals_the_revoked_key_is_told() {
    let key = stranger().public().id().clone();
    let refused = [Refusal::NoKeyMatches, Refusal::NoTime, Refusal::SignerRevoked { key: key.clone() }];
    let refused = refused.into_iter().map(|why| (String::new(), why)).collect();
    let verdict = Verdict { verified: Vec::new(), refused };
    assert_eq!(verdict.into_one(), Err(Refusal::SignerRevoked { key }));
    assert_eq!(Verdict::default().into_one(), Err(Refusal::Unsigned));
}

/// What the real program made with a key pair, kept as it came: cosign 2.6.4 wrote the signature and the envelope,
/// cosign 3.1.2 the bundles. F-22.
#[test]
fn what_cosign_made_holds_for_its_image_and_for_no_other() {
    let digest: Digest =
        "sha256:8a435dc2334d2f5ba0c1c5ac4d0fd561553e0dfa239c6291df0b289446aab8c3".parse().unwrap();
    let names = ["127.0.0.1:15999/apps/a".parse().unwrap()];
    let keys = [TrustedKey::new(PublicKey::from_pem(include_str!("fixtures/cosign.pub")).unwrap())];
    let policy = Policy {
        digest: &digest,
        names: &names,
        keys: &keys,
        now: DateTime::from_timestamp(1_800_000_000, 0).unwrap(),
        max_age: None,
        unnamed: Unnamed::Refuse,
        predicate_types: &[SLSA_PROVENANCE_V02],
    };
    let simple = Evidence::Simple {
        payload: include_bytes!("fixtures/simple-payload.json").to_vec(),
        signature: include_str!("fixtures/simple-signature.txt").to_owned(),
    };
    let envelope = Evidence::Envelope(include_bytes!("fixtures/envelope.json").to_vec());
    let signature_bundle = Evidence::Bundle(include_bytes!("fixtures/bundle-signature.json").to_vec());
    let provenance_bundle = Evidence::Bundle(include_bytes!("fixtures/bundle-provenance.json").to_vec());

    simple.check(Purpose::Signature, &policy).unwrap();
    envelope.check(Purpose::Provenance, &policy).unwrap();
    provenance_bundle.check(Purpose::Provenance, &policy).unwrap();
    // Its signature alone names no repository.
    let refused = signature_bundle.check(Purpose::Signature, &policy).unwrap_err();
    assert!(matches!(refused, Refusal::RepositoryNotNamed { .. }), "{refused}");
    let lenient = Policy { unnamed: Unnamed::Accept, ..policy };
    signature_bundle.check(Purpose::Signature, &lenient).unwrap();

    let other: Digest = OTHER.parse().unwrap();
    let elsewhere = Policy { digest: &other, ..lenient };
    for evidence in [&simple, &envelope, &signature_bundle, &provenance_bundle] {
        for purpose in [Purpose::Signature, Purpose::Provenance] {
            assert!(evidence.check(purpose, &elsewhere).is_err());
        }
    }
}
