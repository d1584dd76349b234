//! Sigstore's bundle, as cosign 3 leaves it beside an image: an envelope and a hint at the key. Made with a key pair it
//! has neither certificate nor log entry.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::{MAX_ENVELOPE_BYTES, Policy, Purpose, Refusal, SIGSTORE_BUNDLE, Verified, dsse, shown};
use crate::Digest;
use crate::json::{self, BadJson};

const MATERIAL: &[&str] = &["publicKey", "certificate", "x509CertificateChain", "tlogEntries"];

pub(super) fn check(bytes: &[u8], purpose: Purpose, policy: &Policy<'_>) -> Result<Verified, Refusal> {
    if bytes.len() > MAX_ENVELOPE_BYTES {
        return Err(Refusal::TooLarge { bytes: bytes.len() as u64, most: MAX_ENVELOPE_BYTES as u64 });
    }
    let unreadable = |why: BadJson| Refusal::Bundle(why);
    let document = json::read(bytes, MAX_ENVELOPE_BYTES).map_err(unreadable)?;
    let top = document
        .open("", &["mediaType", "verificationMaterial", "dsseEnvelope", "messageSignature"])
        .map_err(unreadable)?;
    let kind = top.text("mediaType").map_err(unreadable)?;
    if kind != SIGSTORE_BUNDLE {
        return Err(Refusal::BundleType { found: shown(kind) });
    }
    let material = top.get("verificationMaterial").map_err(unreadable)?;
    let material = material.open("verificationMaterial", MATERIAL).map_err(unreadable)?;
    if material.find("certificate").is_some() || material.find("x509CertificateChain").is_some() {
        return Err(Refusal::Certificate);
    }
    let key = material.get("publicKey").map_err(unreadable)?;
    let key = key.open("verificationMaterial.publicKey", &["hint"]).map_err(unreadable)?;
    let hint = key.find_text("hint").map_err(unreadable)?.unwrap_or_default();
    let envelope = top.find("dsseEnvelope").ok_or(Refusal::BundleContent)?;
    let verified = dsse::check_read(envelope, "dsseEnvelope", purpose, policy)?;
    // The hint chooses nothing, but one that lies is no accident.
    if !hint.is_empty() && !names(hint, verified.signer.digest()) {
        return Err(Refusal::OtherKeyNamed { signer: verified.signer });
    }
    Ok(verified)
}

/// cosign's hint is the digest of the public key, in base64.
fn names(hint: &str, key: &Digest) -> bool {
    let hex = STANDARD.decode(hint).map(|bytes| gpuaas_agent_protocol::image::hex(&bytes));
    hex.is_ok_and(|hex| hex == key.hex())
}
