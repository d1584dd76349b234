//! What a request can name, parsed once at the door: inner code never sees a text that could be a path.

use std::fmt;
use std::str::FromStr;

use gpuaas_agent_protocol::image::{hex, is_repository, is_tag};

use crate::digest::{Digest, MalformedDigest};

/// A text that names nothing here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadName;

impl fmt::Display for BadName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not a name of the distribution protocol")
    }
}

impl std::error::Error for BadName {}

macro_rules! name {
    ($(#[$doc:meta])* $name:ident, $is:expr) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Box<str>);

        impl $name {
            pub const fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = BadName;

            fn from_str(text: &str) -> Result<Self, BadName> {
                if $is(text) { Ok(Self(text.into())) } else { Err(BadName) }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

name!(
    /// A repository: any number of components, at most 255 characters. No component starts with `_` or `.`, so beside
    /// them a store can keep files of its own.
    RepositoryName,
    is_repository
);
name!(
    /// A label that may be moved.
    Tag,
    is_tag
);
name!(
    /// An upload that is under way: 32 hexadecimal digits that nobody can guess.
    UploadId,
    |text: &str| text.len() == 32 && text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
);

impl UploadId {
    pub(crate) fn from_random(bytes: [u8; 16]) -> Self {
        Self(hex(&bytes).into())
    }
}

/// What a manifest is asked for by.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reference {
    Tag(Tag),
    Digest(Digest),
}

/// Why a text refers to no manifest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadReference {
    Digest(MalformedDigest),
    Tag(BadName),
}

impl FromStr for Reference {
    type Err = BadReference;

    /// A tag has no colon, so a text with one is meant as a digest.
    fn from_str(text: &str) -> Result<Self, BadReference> {
        if text.contains(':') {
            text.parse().map(Self::Digest).map_err(BadReference::Digest)
        } else {
            text.parse().map(Self::Tag).map_err(BadReference::Tag)
        }
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tag(tag) => tag.fmt(f),
            Self::Digest(digest) => digest.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// F-04, F-30.
    #[test]
    fn a_repository_has_any_number_of_segments_and_never_leaves_its_folder() {
        for name in ["a", "gpuaas/apps/acme/jupyter", "a/b/c/d/e/f/g", "a.b_c__d---e/f", &"a".repeat(255)] {
            assert!(name.parse::<RepositoryName>().is_ok(), "{name}");
        }
        for name in [
            "", "/", "a/", "/a", "a//b", "..", "a/../b", "_blobs", "a/_tags", ".a", "A", "a\0", "ä", "a b",
            "a-.b",
        ] {
            assert!(name.parse::<RepositoryName>().is_err(), "{name:?}");
        }
        assert!("a".repeat(256).parse::<RepositoryName>().is_err());
    }

    #[test]
    fn a_reference_with_a_colon_is_a_digest_or_nothing() {
        assert!(matches!("v1.0_x-Y".parse(), Ok(Reference::Tag(_))));
        assert_eq!("sha256:short".parse::<Reference>(), Err(BadReference::Digest(MalformedDigest)));
        for tag in ["", ".a", "-a", "a/b", "..", &"a".repeat(129)] {
            assert!(tag.parse::<Reference>().is_err(), "{tag:?}");
        }
        assert!(UploadId::from_random([255; 16]).as_str().parse::<UploadId>().is_ok());
        assert!("../../../../../../../../../../a".parse::<UploadId>().is_err());
    }
}
