//! What can go wrong, sorted by what the caller can do about it. Turned into the protocol's words in one place,
//! `http::answer`.

use std::fmt;
use std::io;
use std::time::Duration;

use crate::digest::{Digest, MalformedDigest};
use crate::manifest::Ambiguous;

pub type Result<T> = std::result::Result<T, Error>;

#[derive(Debug)]
pub enum Error {
    // The request means nothing.
    NoSuchRoute,
    MethodNotAllowed,
    BadName,
    BadTag,
    BadDigest(MalformedDigest),
    BadQuery(&'static str),
    BadRange,
    UnknownMediaType,
    Manifest(Ambiguous),

    // What it asks for is not there.
    RepositoryUnknown,
    BlobUnknown,
    ManifestUnknown,
    UploadUnknown,

    // It does not fit what is there.
    /// The bytes are not what the digest promises.
    OtherDigest,
    /// The upload goes on at this byte.
    OtherOffset {
        length: u64,
    },
    /// The request ended before or after the length that it gave.
    OtherLength,
    /// Another request writes to this upload.
    UploadBusy,
    /// A manifest names parts that are not in the repository.
    PartsMissing(Vec<Digest>),
    /// A manifest gives a part a size it does not have.
    OtherSize {
        digest: Digest,
        size: u64,
    },
    /// A manifest of the repository needs this blob.
    BlobInUse,

    // It asks for too much.
    TooLarge {
        limit: u64,
    },
    TooManyUploads {
        limit: usize,
    },
    TooManyReferrers {
        limit: usize,
    },
    OverQuota,
    DiskFull,

    // The other side did not keep its part.
    /// Nothing came for this long.
    TooSlow(Duration),
    BodyBroken(String),

    // Our own fault; the caller is told nothing of it.
    Io(io::Error),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSuchRoute => f.write_str("there is nothing at this path"),
            Self::MethodNotAllowed => f.write_str("this cannot be done here"),
            Self::BadName => f.write_str("this is no name of a repository"),
            Self::BadTag => f.write_str("this is no tag"),
            Self::BadDigest(error) => error.fmt(f),
            Self::BadQuery(what) => write!(f, "the query parameter {what} cannot be read"),
            Self::BadRange => f.write_str("the range cannot be read or lies outside"),
            Self::UnknownMediaType => {
                f.write_str("a manifest comes as an image or index of OCI or of Docker's second schema")
            }
            Self::Manifest(error) => write!(f, "the manifest is refused: {error}"),
            Self::RepositoryUnknown => f.write_str("this repository is not known"),
            Self::BlobUnknown => f.write_str("this blob is not in the repository"),
            Self::ManifestUnknown => f.write_str("this manifest is not in the repository"),
            Self::UploadUnknown => f.write_str("this upload is not known; it may have ended"),
            Self::OtherDigest => f.write_str("the bytes are not what the digest promises"),
            Self::OtherOffset { length } => write!(f, "the upload has {length} bytes and goes on there"),
            Self::OtherLength => f.write_str("the request had another length than it gave"),
            Self::UploadBusy => f.write_str("another request writes to this upload"),
            Self::PartsMissing(_) => f.write_str("the manifest names parts that are not in the repository"),
            Self::OtherSize { digest, size } => write!(f, "{digest} has {size} bytes"),
            Self::BlobInUse => f.write_str("a manifest needs this blob: delete the manifest first"),
            Self::TooLarge { limit } => write!(f, "at most {limit} bytes are taken"),
            Self::TooManyUploads { limit } => write!(f, "{limit} uploads are under way; try again later"),
            Self::TooManyReferrers { limit } => {
                write!(f, "too many referrers: {limit} manifests are about this subject; delete one first")
            }
            Self::OverQuota => f.write_str("the quota for this repository is used up"),
            Self::DiskFull => f.write_str("the registry has no room left"),
            Self::TooSlow(time) => write!(f, "nothing came for {} seconds", time.as_secs()),
            Self::BodyBroken(_) => f.write_str("the request broke off"),
            Self::Io(_) => f.write_str("the registry could not do it"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io(error) => Some(error),
            Self::BadDigest(error) => Some(error),
            Self::Manifest(error) => Some(error),
            _ => None,
        }
    }
}

impl From<io::Error> for Error {
    /// A full disk is an answer of its own: the caller can wait, and the operator can make room.
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::DiskFull,
            _ => Self::Io(error),
        }
    }
}

impl From<gpuaas_faults::Injected> for Error {
    fn from(injected: gpuaas_faults::Injected) -> Self {
        Self::Io(io::Error::other(injected))
    }
}

impl From<MalformedDigest> for Error {
    fn from(error: MalformedDigest) -> Self {
        Self::BadDigest(error)
    }
}

impl From<Ambiguous> for Error {
    fn from(error: Ambiguous) -> Self {
        Self::Manifest(error)
    }
}
