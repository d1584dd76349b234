//! Signatures the way cosign makes them with keys, and in-toto statements in DSSE envelopes.
//!
//! The law: first the signature over the exact bytes, with a key that is trusted now; only then are the bytes read, and
//! everything in them that says what they are about must say what was asked: digest, repository, kind. A signature
//! that holds is not yet a signature for this image. Time and keys are arguments. Transparency logs and certificates
//! are not looked at: trust here is a set of keys that somebody registered.

mod bundle;
mod dsse;
mod key;
mod refusal;
#[cfg(feature = "client")]
mod registry;
mod simple;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chrono::{DateTime, TimeDelta, Utc};

pub use dsse::{SLSA_PROVENANCE_V1, SLSA_PROVENANCE_V02, provenance_envelope};
pub use key::{BadKey, KeyId, PrivateKey, PublicKey};
pub use refusal::Refusal;
#[cfg(feature = "client")]
pub use registry::Candidate;
pub use simple::simple_payload;

use crate::{Digest, Name};

/// cosign's own payload has 250 bytes.
pub const MAX_PAYLOAD_BYTES: usize = 64 * 1024;
/// Provenance names every source and may be long.
pub const MAX_ENVELOPE_BYTES: usize = 4 * 1024 * 1024;
pub const MAX_CANDIDATES: usize = 64;

pub const SIMPLE_SIGNING: &str = "application/vnd.dev.cosign.simplesigning.v1+json";
pub const DSSE_ENVELOPE: &str = "application/vnd.dsse.envelope.v1+json";
pub const SIGSTORE_BUNDLE: &str = "application/vnd.dev.sigstore.bundle.v0.3+json";
/// Where cosign keeps a simple signature.
pub const SIGNATURE_ANNOTATION: &str = "dev.cosignproject.cosign/signature";
const MAX_SIGNATURE_LETTERS: usize = 512;
/// Clocks differ.
const LEEWAY: TimeDelta = TimeDelta::minutes(5);

/// A key that somebody registered.
#[derive(Clone, Debug)]
pub struct TrustedKey {
    pub key: PublicKey,
    pub revoked: bool,
    pub valid_until: Option<DateTime<Utc>>,
}

impl TrustedKey {
    pub fn new(key: PublicKey) -> Self {
        Self { key, revoked: false, valid_until: None }
    }
}

/// What must hold.
#[derive(Clone, Copy, Debug)]
pub struct Policy<'a> {
    pub digest: &'a Digest,
    /// Every name under which the image may have been signed.
    pub names: &'a [Name],
    pub keys: &'a [TrustedKey],
    pub now: DateTime<Utc>,
    /// No signature older than this, and none without a time.
    pub max_age: Option<TimeDelta>,
    /// cosign 3 signs a digest without a repository. Accepting that, a signature made for one repository is good for
    /// all.
    pub unnamed: Unnamed,
    /// What a statement may say, for statements that are no signatures.
    pub predicate_types: &'a [&'a str],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unnamed {
    Refuse,
    Accept,
}

/// What is asked of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// That somebody stands for the image.
    Signature,
    /// How the image came to be.
    Provenance,
}

/// Something found beside an image that may be a proof.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Evidence {
    Simple { payload: Vec<u8>, signature: String },
    Envelope(Vec<u8>),
    Bundle(Vec<u8>),
}

/// A proof that holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified {
    pub signer: KeyId,
    /// Of the bytes that were signed.
    pub statement: Digest,
    /// When it was made, in the signer's words.
    pub claimed_at: Option<DateTime<Utc>>,
    pub checked_at: DateTime<Utc>,
    pub predicate_type: Option<String>,
    /// The bytes that were signed, to read on in.
    pub payload: Vec<u8>,
}

/// What was found, each with where it lay.
#[derive(Clone, Debug, Default)]
pub struct Verdict {
    pub verified: Vec<Verified>,
    pub refused: Vec<(String, Refusal)>,
}

impl Verdict {
    /// One proof that holds, or the reason why none does. The nearest miss is told: a revoked key before a stranger's.
    pub fn into_one(self) -> Result<Verified, Refusal> {
        let nearness = |why: &Refusal| match why {
            Refusal::SignerRevoked { .. } | Refusal::SignerExpired { .. } => 0,
            Refusal::NoKeyMatches | Refusal::LayerType { .. } | Refusal::PredicateType { .. } => 2,
            _ => 1,
        };
        let nearest = self.refused.into_iter().map(|(_, why)| why).min_by_key(nearness);
        self.verified.into_iter().next().ok_or_else(|| nearest.unwrap_or(Refusal::Unsigned))
    }
}

impl Evidence {
    /// Whether this proves what the policy asks for.
    pub fn check(&self, purpose: Purpose, policy: &Policy<'_>) -> Result<Verified, Refusal> {
        match (self, purpose) {
            (Self::Simple { payload, signature }, Purpose::Signature) => {
                simple::check(payload, signature, policy)
            }
            (Self::Simple { .. }, Purpose::Provenance) => {
                Err(Refusal::LayerType { found: SIMPLE_SIGNING.to_owned() })
            }
            (Self::Envelope(bytes), purpose) => dsse::check(bytes, purpose, policy),
            (Self::Bundle(bytes), purpose) => bundle::check(bytes, purpose, policy),
        }
    }
}

impl Policy<'_> {
    /// The trusted key that made this signature over these bytes.
    fn signer(&self, message: &[u8], signature: &[u8]) -> Result<KeyId, Refusal> {
        if self.keys.is_empty() {
            return Err(Refusal::NoTrustedKeys);
        }
        let made = |trusted: &&TrustedKey| trusted.key.verifies(message, signature);
        let trusted = self.keys.iter().find(made).ok_or(Refusal::NoKeyMatches)?;
        let key = trusted.key.id().clone();
        // The same key may be registered twice; one revocation is enough.
        if self.keys.iter().any(|other| other.revoked && *other.key.id() == key) {
            return Err(Refusal::SignerRevoked { key });
        }
        // The longest of its registrations counts.
        let same = self.keys.iter().filter(|other| *other.key.id() == key);
        let ends = same
            .map(|other| other.valid_until)
            .try_fold(None, |last, end| end.map(|end| last.max(Some(end))));
        match ends.flatten() {
            Some(since) if since <= self.now => Err(Refusal::SignerExpired { key, since }),
            Some(_) | None => Ok(key),
        }
    }

    fn check_name(&self, name: Option<&str>) -> Result<(), Refusal> {
        match name.filter(|name| !name.is_empty()) {
            Some(name) if self.names.iter().any(|known| known.to_string() == name) => Ok(()),
            Some(name) => Err(Refusal::OtherRepository { found: shown(name) }),
            None if self.unnamed == Unnamed::Accept => Ok(()),
            None => Err(Refusal::RepositoryNotNamed { wanted: self.names.first().cloned() }),
        }
    }

    fn check_time(&self, claimed: Option<DateTime<Utc>>) -> Result<(), Refusal> {
        match (claimed, self.max_age) {
            (Some(claimed), _) if claimed > self.now + LEEWAY => Err(Refusal::FromTheFuture { claimed }),
            (Some(claimed), Some(most)) if self.now - claimed > most => Err(Refusal::TooOld { claimed }),
            (None, Some(_)) => Err(Refusal::NoTime),
            (Some(_) | None, _) => Ok(()),
        }
    }
}

fn decode_signature(text: &str) -> Result<Vec<u8>, Refusal> {
    if text.is_empty() {
        return Err(Refusal::SignatureMissing);
    }
    if text.len() > MAX_SIGNATURE_LETTERS {
        return Err(Refusal::SignatureTooLong);
    }
    STANDARD.decode(text).map_err(|_| Refusal::SignatureNotBase64)
}

/// A stranger's words in a sentence of ours: not too many of them.
fn shown(text: &str) -> String {
    text.chars().take(200).collect()
}

#[cfg(test)]
mod tests;
