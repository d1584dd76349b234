//! Why a signature or a statement proves nothing. Every reason is its own.

use std::fmt;

use chrono::{DateTime, Utc};

use super::KeyId;
use crate::json::BadJson;
use crate::manifest::BadManifest;
use crate::{Digest, Name};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Nothing lies beside the image.
    Unsigned,
    /// Whoever asked trusts nobody.
    NoTrustedKeys,
    TooManyCandidates {
        found: usize,
    },
    /// What it lies in cannot be read.
    Manifest(BadManifest),
    /// The layer does not carry the signature it must.
    SignatureMissing,
    SignatureNotBase64,
    SignatureTooLong,
    /// No trusted key made this signature over these bytes: another key, other bytes, or a forgery.
    NoKeyMatches,
    SignerRevoked {
        key: KeyId,
    },
    SignerExpired {
        key: KeyId,
        since: DateTime<Utc>,
    },
    TooLarge {
        bytes: u64,
        most: u64,
    },
    /// The bytes are not those that the manifest names.
    OtherBytes {
        wanted: Digest,
        found: String,
    },
    /// The registry itself says that it is not what it was.
    Damaged,
    LayerType {
        found: String,
    },
    /// It lies beside this image and says it belongs to another.
    OtherSubject {
        found: Digest,
    },
    /// The signed text cannot be read, or not in one way only.
    Payload(BadJson),
    Envelope(BadJson),
    Bundle(BadJson),
    /// A signature of another kind of thing.
    Type {
        found: String,
    },
    OtherDigest {
        found: String,
    },
    OtherRepository {
        found: String,
    },
    RepositoryNotNamed {
        wanted: Option<Name>,
    },
    FromTheFuture {
        claimed: DateTime<Utc>,
    },
    TooOld {
        claimed: DateTime<Utc>,
    },
    /// Its age matters and it has none.
    NoTime,
    MalformedTime,
    PayloadType {
        found: String,
    },
    PayloadNotBase64,
    NoSignatures,
    TooManySignatures {
        found: usize,
    },
    StatementType {
        found: String,
    },
    NoSubject,
    TooManySubjects {
        found: usize,
    },
    /// It names its subject, but not by sha256.
    SubjectWithoutDigest,
    PredicateType {
        found: String,
    },
    PredicateMissing,
    BundleType {
        found: String,
    },
    /// A bundle without a statement: a signature over something else.
    BundleContent,
    /// Made with a certificate instead of a key.
    Certificate,
    /// The bundle names another key than the one that signed.
    OtherKeyNamed {
        signer: KeyId,
    },
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unsigned => f.write_str("no signature of a form that is read here lies beside the image"),
            Self::NoTrustedKeys => f.write_str("no key is trusted, so nothing can be"),
            Self::TooManyCandidates { found } => {
                write!(f, "more lies beside the image than is looked at ({found} things were)")
            }
            Self::Manifest(why) => why.fmt(f),
            Self::SignatureMissing => f.write_str("the signature was taken off"),
            Self::SignatureNotBase64 => f.write_str("the signature is not base64"),
            Self::SignatureTooLong => f.write_str("no signature is that long"),
            Self::NoKeyMatches => f.write_str("no trusted key made this signature over these bytes"),
            Self::SignerRevoked { key } => write!(f, "the key {key} signed it and is revoked"),
            Self::SignerExpired { key, since } => {
                write!(f, "the key {key} signed it and is out of use since {since}")
            }
            Self::TooLarge { bytes, most } => write!(f, "it has {bytes} bytes; at most {most} are read"),
            Self::Damaged => f.write_str("it was changed in the registry's storage"),
            Self::OtherBytes { wanted, found } => write!(f, "the registry has {found} for {wanted}"),
            Self::LayerType { found } => write!(f, "it is of the type {found:?}, which is no signature"),
            Self::OtherSubject { found } => write!(f, "it belongs to {found}"),
            Self::Payload(why) => write!(f, "what is signed cannot be read: {why}"),
            Self::Envelope(why) => write!(f, "the envelope cannot be read: {why}"),
            Self::Bundle(why) => write!(f, "the bundle cannot be read: {why}"),
            Self::Type { found } => write!(f, "it is a signature of another kind: {found:?}"),
            Self::OtherDigest { found } => write!(f, "it is for another image: {found}"),
            Self::OtherRepository { found } => write!(f, "it is for another repository: {found:?}"),
            Self::RepositoryNotNamed { wanted: Some(name) } => {
                write!(f, "it does not say that it is for {name}")
            }
            Self::RepositoryNotNamed { wanted: None } => f.write_str("it names no repository"),
            Self::FromTheFuture { claimed } => {
                write!(f, "it says it was made at {claimed}, which is yet to come")
            }
            Self::TooOld { claimed } => write!(f, "it was made at {claimed}, too long ago"),
            Self::NoTime => f.write_str("it does not say when it was made"),
            Self::MalformedTime => f.write_str("its time is no time"),
            Self::PayloadType { found } => {
                write!(f, "the envelope holds {found:?}, not an in-toto statement")
            }
            Self::PayloadNotBase64 => f.write_str("the statement is not base64"),
            Self::NoSignatures => f.write_str("the envelope has no signature"),
            Self::TooManySignatures { found } => write!(f, "the envelope has {found} signatures"),
            Self::StatementType { found } => write!(f, "the statement is of the type {found:?}"),
            Self::NoSubject => f.write_str("the statement is about nothing"),
            Self::TooManySubjects { found } => write!(f, "the statement is about {found} things"),
            Self::SubjectWithoutDigest => f.write_str("the statement does not name its subject by sha256"),
            Self::PredicateType { found } => {
                write!(f, "the statement says {found:?}, which was not asked for")
            }
            Self::PredicateMissing => f.write_str("the statement says nothing"),
            Self::BundleType { found } => write!(f, "the bundle is of the type {found:?}"),
            Self::BundleContent => f.write_str("the bundle holds no statement"),
            Self::Certificate => f.write_str("it was signed with a certificate; only keys are trusted"),
            Self::OtherKeyNamed { signer } => {
                write!(f, "the key {signer} signed it, but the bundle names another")
            }
        }
    }
}

impl std::error::Error for Refusal {}
