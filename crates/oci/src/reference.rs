//! Names of things in registries, parsed once at the door.
//!
//! The grammar is the one of `agent-protocol`, so what a registry client takes and what a node runs are the same set of
//! names. A digest is SHA-256 and nothing else: every registry has it, the tag scheme for signatures has room for it,
//! and one algorithm cannot be mixed up with another. SHA-512 is known by name, to be refused with its own reason.

use std::fmt;
use std::str::FromStr;

use gpuaas_agent_protocol::ImageRef;
use gpuaas_agent_protocol::image::{hex, is_registry, is_repository, is_tag};

pub use gpuaas_agent_protocol::Digest;

/// A reference is a line, not a document.
const MAX_REFERENCE: usize = 512;

/// Why a text names nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadReference {
    TooLong,
    /// No `host/` in front: a name that every client completes in its own way.
    HostMissing,
    MalformedHost,
    MalformedRepository,
    MalformedTag,
    MalformedDigest,
    /// A well-known algorithm that we do not take.
    UnsupportedAlgorithm,
}

impl fmt::Display for BadReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TooLong => "a reference has at most 512 characters",
            Self::HostMissing => "a reference starts with the host of its registry",
            Self::MalformedHost => {
                "the host is a name with a dot, an address or localhost, and perhaps a port"
            }
            Self::MalformedRepository => {
                "a repository is lower-case words with single separators inside, parted by /"
            }
            Self::MalformedTag => "a tag is 1 to 128 letters, digits, dots, hyphens or underscores",
            Self::MalformedDigest => "a digest is sha256: and 64 lower-case hexadecimal digits",
            Self::UnsupportedAlgorithm => "only digests of sha256 are taken",
        })
    }
}

impl std::error::Error for BadReference {}

macro_rules! word {
    ($(#[$doc:meta])* $name:ident, $check:path, $bad:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(String);

        impl $name {
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = BadReference;

            fn from_str(text: &str) -> Result<Self, BadReference> {
                if $check(text) { Ok(Self(text.to_owned())) } else { Err(BadReference::$bad) }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

word!(
    /// A registry's host and perhaps its port: `registry.example.com`, `127.0.0.1:5000`.
    Host, is_registry, MalformedHost
);
word!(
    /// Where in a registry: `apps/hello`.
    Repository, is_repository, MalformedRepository
);
word!(
    /// A label that may change its meaning.
    Tag, is_tag, MalformedTag
);

/// `host/repository`: what a signature says it is for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name {
    pub host: Host,
    pub repository: Repository,
}

/// `host/repository[:tag][@digest]`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Reference {
    pub name: Name,
    pub tag: Option<Tag>,
    pub digest: Option<Digest>,
}

impl FromStr for Name {
    type Err = BadReference;

    fn from_str(text: &str) -> Result<Self, BadReference> {
        if text.len() > MAX_REFERENCE {
            return Err(BadReference::TooLong);
        }
        let (host, repository) = text.split_once('/').ok_or(BadReference::HostMissing)?;
        Ok(Self { host: host.parse()?, repository: repository.parse()? })
    }
}

impl FromStr for Reference {
    type Err = BadReference;

    fn from_str(text: &str) -> Result<Self, BadReference> {
        if text.len() > MAX_REFERENCE {
            return Err(BadReference::TooLong);
        }
        let (rest, digest) = match text.split_once('@') {
            Some((rest, digest)) => (rest, Some(parse_digest(digest)?)),
            None => (text, None),
        };
        let (host, rest) = rest.split_once('/').ok_or(BadReference::HostMissing)?;
        let (repository, tag) = match rest.split_once(':') {
            Some((repository, tag)) => (repository, Some(tag.parse()?)),
            None => (rest, None),
        };
        Ok(Self { name: Name { host: host.parse()?, repository: repository.parse()? }, tag, digest })
    }
}

/// A digest, with a reason of its own for the algorithm that we know and do not take.
pub fn parse_digest(text: &str) -> Result<Digest, BadReference> {
    if text.starts_with("sha512:") {
        return Err(BadReference::UnsupportedAlgorithm);
    }
    text.parse().map_err(|_| BadReference::MalformedDigest)
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.host, self.repository)
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.name)?;
        if let Some(tag) = &self.tag {
            write!(f, ":{tag}")?;
        }
        if let Some(digest) = &self.digest {
            write!(f, "@{digest}")?;
        }
        Ok(())
    }
}

impl From<&ImageRef> for Reference {
    fn from(image: &ImageRef) -> Self {
        let name = Name {
            host: Host(image.registry().to_owned()),
            repository: Repository(image.repository().to_owned()),
        };
        Self { name, tag: None, digest: Some(image.digest().clone()) }
    }
}

impl Tag {
    /// `sha256-<hex>` and perhaps an ending: where things that belong to a digest lie in a registry that has no
    /// Referrers API. cosign adds `.sig` and `.att`.
    pub fn of_digest(digest: &Digest, ending: &str) -> Self {
        let text = format!("sha256-{}{ending}", digest.hex());
        text.parse().expect("a digest and a short ending make a tag")
    }
}

/// Hashes bytes as they pass.
pub struct Hasher(ring::digest::Context);

impl Hasher {
    #[expect(clippy::new_without_default, reason = "a hasher of nothing is no default of anything")]
    pub fn new() -> Self {
        Self(ring::digest::Context::new(&ring::digest::SHA256))
    }

    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    pub fn finish(self) -> Digest {
        let text = format!("sha256:{}", hex(self.0.finish().as_ref()));
        text.parse().expect("32 bytes are 64 digits")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const HEX: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

    #[test]
    fn bytes_hashed_as_they_pass_have_the_same_name() {
        let mut hasher = Hasher::new();
        hasher.update(b"one ");
        hasher.update(b"two");
        assert_eq!(hasher.finish(), Digest::of(b"one two"));
        let nothing = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(Hasher::new().finish().as_str(), nothing);
    }

    /// F-06, F06.
    #[test]
    fn a_reference_says_what_it_has() {
        let full: Reference = format!("r.example.com:5000/a/b:1.0@sha256:{HEX}").parse().unwrap();
        assert_eq!(full.name.host.as_str(), "r.example.com:5000");
        assert_eq!(full.name.repository.as_str(), "a/b");
        assert_eq!(full.tag.as_ref().map(Tag::as_str), Some("1.0"));
        assert_eq!(full.digest.as_ref().map(Digest::hex), Some(HEX));
        let bare: Reference = "localhost/a".parse().unwrap();
        assert_eq!((bare.tag, bare.digest), (None, None));
        let image: ImageRef = format!("r.example.com/a@sha256:{HEX}").parse().unwrap();
        assert_eq!(Reference::from(&image).to_string(), image.to_string());
        assert_eq!(Tag::of_digest(image.digest(), ".sig").as_str(), format!("sha256-{HEX}.sig"));
    }

    /// F06.
    #[test]
    fn hostile_names_are_refused_with_their_reason() {
        use BadReference::*;
        let sha512 = format!("r.example.com/a@sha512:{HEX}{HEX}");
        let long = format!("r.example.com/{}", "a/".repeat(300));
        let bad_digest = format!("r.example.com/a@sha256:{}", HEX.to_uppercase());
        let twice = format!("r.example.com/a@sha256:{HEX}@sha256:{HEX}");
        for (text, reason) in [
            ("", HostMissing),
            ("a", HostMissing),
            ("alpine:3", HostMissing),
            ("library/alpine", MalformedHost),
            ("R.example.com/a", MalformedHost),
            ("u:p@r.example.com/a", MalformedDigest),
            ("https://r.example.com/a", MalformedHost),
            ("r.example.com:0/a", MalformedHost),
            ("r.example.com:70000/a", MalformedHost),
            ("r.example.com\r\nhost: x/a", MalformedHost),
            ("r.example.com/", MalformedRepository),
            ("r.example.com/../../etc/passwd", MalformedRepository),
            ("r.example.com/a/../b", MalformedRepository),
            ("r.example.com/a%2f..%2fb", MalformedRepository),
            ("r.example.com/a\\b", MalformedRepository),
            ("r.example.com/a?x=1", MalformedRepository),
            ("r.example.com/a#x", MalformedRepository),
            ("r.example.com/a\0", MalformedRepository),
            ("r.example.com/\u{430}", MalformedRepository),
            ("r.example.com/a:", MalformedTag),
            ("r.example.com/a:-x", MalformedTag),
            ("r.example.com/a:b/c", MalformedTag),
            ("r.example.com/a:b:c", MalformedTag),
            ("r.example.com/a@", MalformedDigest),
            ("r.example.com/a@md5:d41d8cd98f00b204e9800998ecf8427e", MalformedDigest),
            (bad_digest.as_str(), MalformedDigest),
            (twice.as_str(), MalformedDigest),
            (sha512.as_str(), UnsupportedAlgorithm),
            (long.as_str(), TooLong),
        ] {
            assert_eq!(text.parse::<Reference>(), Err(reason), "{text}");
        }
    }

    proptest! {
        /// F06.
        #[test]
        fn printing_and_parsing_are_inverse(
            host in "([a-z0-9]{1,8}\\.){1,3}[a-z]{2,5}(:[1-9][0-9]{0,3})?",
            repository in "[a-z0-9]{1,8}([._-][a-z0-9]{1,8}){0,2}(/[a-z0-9]{1,8}){0,3}",
            tag in proptest::option::of("[A-Za-z0-9_][A-Za-z0-9_.-]{0,30}"),
            seed in proptest::option::of(any::<u64>()),
        ) {
            let reference = Reference {
                name: Name { host: host.parse().unwrap(), repository: repository.parse().unwrap() },
                tag: tag.map(|tag| tag.parse().unwrap()),
                digest: seed.map(|seed| Digest::of(&seed.to_be_bytes())),
            };
            prop_assert_eq!(reference.to_string().parse::<Reference>().unwrap(), reference);
        }

        /// F06.
        #[test]
        fn what_is_taken_from_any_text_prints_as_that_text_and_climbs_nowhere(
            text in "[a-z0-9.:/@_%A-Z\\\\ -]{0,80}",
        ) {
            if let Ok(reference) = text.parse::<Reference>() {
                prop_assert_eq!(reference.to_string(), text);
                let path = reference.name.repository.as_str();
                let climbs = path.split('/').any(|part| part.is_empty() || part == "." || part == "..");
                prop_assert!(!climbs, "{}", path);
            }
        }
    }
}
