//! DSSE: a signature over the type and the bytes of a statement, each with its length in front, so that neither can be
//! moved into the other. The statement is in-toto's: these subjects, this predicate.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::rand::SecureRandom;
use serde_json::Value;

use super::{MAX_ENVELOPE_BYTES, Policy, PrivateKey, Purpose, Refusal, Verified, decode_signature, shown};
use crate::json::{self, BadJson, Json};
use crate::{Digest, Name};

const PAYLOAD_TYPE: &str = "application/vnd.in-toto+json";
const STATEMENT_V1: &str = "https://in-toto.io/Statement/v1";
const STATEMENT_TYPES: &[&str] = &["https://in-toto.io/Statement/v0.1", STATEMENT_V1];
/// What cosign 3 says instead of a simple signature.
const COSIGN_SIGN: &str = "https://sigstore.dev/cosign/sign/v1";
pub const SLSA_PROVENANCE_V02: &str = "https://slsa.dev/provenance/v0.2";
pub const SLSA_PROVENANCE_V1: &str = "https://slsa.dev/provenance/v1";
const MAX_SIGNATURES: usize = 16;
const MAX_SUBJECTS: usize = 256;

/// An envelope with a statement about one image. None if the source of randomness fails.
pub fn provenance_envelope(
    name: &Name,
    digest: &Digest,
    predicate_type: &str,
    predicate: &Value,
    key: &PrivateKey,
    random: &dyn SecureRandom,
) -> Option<Vec<u8>> {
    let statement = serde_json::json!({
        "_type": STATEMENT_V1,
        "subject": [{ "name": name.to_string(), "digest": { "sha256": digest.hex() } }],
        "predicateType": predicate_type,
        "predicate": predicate,
    });
    let payload = statement.to_string().into_bytes();
    let signature = key.sign(random, &authenticated(PAYLOAD_TYPE, &payload))?;
    let envelope = serde_json::json!({
        "payloadType": PAYLOAD_TYPE,
        "payload": STANDARD.encode(&payload),
        "signatures": [{ "keyid": "", "sig": STANDARD.encode(signature) }],
    });
    Some(envelope.to_string().into_bytes())
}

/// What is signed: `DSSEv1 <length> <type> <length> <body>`.
pub(super) fn authenticated(payload_type: &str, payload: &[u8]) -> Vec<u8> {
    let mut bytes = format!("DSSEv1 {} {payload_type} {} ", payload_type.len(), payload.len()).into_bytes();
    bytes.extend_from_slice(payload);
    bytes
}

pub(super) fn check(bytes: &[u8], purpose: Purpose, policy: &Policy<'_>) -> Result<Verified, Refusal> {
    if bytes.len() > MAX_ENVELOPE_BYTES {
        return Err(Refusal::TooLarge { bytes: bytes.len() as u64, most: MAX_ENVELOPE_BYTES as u64 });
    }
    let document = json::read(bytes, MAX_ENVELOPE_BYTES).map_err(Refusal::Envelope)?;
    check_read(&document, "", purpose, policy)
}

/// The same for an envelope inside of something else.
pub(super) fn check_read(
    envelope: &Json,
    path: &str,
    purpose: Purpose,
    policy: &Policy<'_>,
) -> Result<Verified, Refusal> {
    let envelope =
        envelope.open(path, &["payloadType", "payload", "signatures"]).map_err(Refusal::Envelope)?;
    let kind = envelope.text("payloadType").map_err(Refusal::Envelope)?;
    if kind != PAYLOAD_TYPE {
        return Err(Refusal::PayloadType { found: shown(kind) });
    }
    let payload = envelope.text("payload").map_err(Refusal::Envelope)?;
    let payload = STANDARD.decode(payload).map_err(|_| Refusal::PayloadNotBase64)?;
    let signatures = envelope.find_list("signatures").map_err(Refusal::Envelope)?.unwrap_or_default();
    let signer = signer(signatures, &authenticated(kind, &payload), policy)?;
    let predicate_type = check_statement(&payload, purpose, policy)?;
    Ok(Verified {
        signer,
        statement: Digest::of(&payload),
        claimed_at: None,
        checked_at: policy.now,
        predicate_type: Some(predicate_type),
        payload,
    })
}

/// Of several signatures one is enough. What one of them lacks is told only if none is good.
fn signer(signatures: &[Json], message: &[u8], policy: &Policy<'_>) -> Result<super::KeyId, Refusal> {
    if signatures.len() > MAX_SIGNATURES {
        return Err(Refusal::TooManySignatures { found: signatures.len() });
    }
    let mut refusal = Refusal::NoSignatures;
    for (at, signature) in signatures.iter().enumerate() {
        let object =
            signature.open(&format!("signatures[{at}]"), &["keyid", "sig"]).map_err(Refusal::Envelope)?;
        let text = object.text("sig").map_err(Refusal::Envelope)?;
        match decode_signature(text).and_then(|signature| policy.signer(message, &signature)) {
            Ok(signer) => return Ok(signer),
            // A revoked signer says more than a stranger beside it.
            Err(why) if matches!(refusal, Refusal::NoSignatures | Refusal::NoKeyMatches) => refusal = why,
            Err(_) => {}
        }
    }
    Err(refusal)
}

fn check_statement(payload: &[u8], purpose: Purpose, policy: &Policy<'_>) -> Result<String, Refusal> {
    let unreadable = |why: BadJson| Refusal::Payload(why);
    let document = json::read(payload, MAX_ENVELOPE_BYTES).map_err(unreadable)?;
    let top = document.open("", &["_type", "subject", "predicateType", "predicate"]).map_err(unreadable)?;
    let kind = top.text("_type").map_err(unreadable)?;
    if !STATEMENT_TYPES.contains(&kind) {
        return Err(Refusal::StatementType { found: shown(kind) });
    }
    let predicate_type = top.text("predicateType").map_err(unreadable)?;
    let (allowed, predicate_needed) = match purpose {
        Purpose::Signature => (predicate_type == COSIGN_SIGN, false),
        Purpose::Provenance => (policy.predicate_types.contains(&predicate_type), true),
    };
    if !allowed {
        return Err(Refusal::PredicateType { found: shown(predicate_type) });
    }
    let empty = match top.find("predicate") {
        Some(Json::Object(members)) => members.is_empty(),
        Some(_) => {
            return Err(unreadable(BadJson::NoObject { path: "predicate".to_owned() }));
        }
        None => true,
    };
    if predicate_needed && empty {
        return Err(Refusal::PredicateMissing);
    }
    check_subjects(top.find_list("subject").map_err(unreadable)?.unwrap_or_default(), policy)?;
    Ok(predicate_type.to_owned())
}

/// One subject is our image, under a name we know. Others may stand beside it: a build has several results.
fn check_subjects(subjects: &[Json], policy: &Policy<'_>) -> Result<(), Refusal> {
    if subjects.len() > MAX_SUBJECTS {
        return Err(Refusal::TooManySubjects { found: subjects.len() });
    }
    let mut refusal = Refusal::NoSubject;
    for (at, subject) in subjects.iter().enumerate() {
        let path = format!("subject[{at}]");
        let subject = subject.open(&path, &["name", "digest"]).map_err(Refusal::Payload)?;
        let digests = subject.get("digest").map_err(Refusal::Payload)?;
        let digests = digests.open(&subject.path("digest"), &["sha256"]).map_err(Refusal::Payload)?;
        let name = subject.find_text("name").map_err(Refusal::Payload)?;
        let judged = match digests.find_text("sha256").map_err(Refusal::Payload)? {
            Some(hex) if hex == policy.digest.hex() => policy.check_name(name),
            Some(hex) => Err(Refusal::OtherDigest { found: shown(&format!("sha256:{hex}")) }),
            None => Err(Refusal::SubjectWithoutDigest),
        };
        match judged {
            Ok(()) => return Ok(()),
            Err(why) => refusal = why,
        }
    }
    Err(refusal)
}
