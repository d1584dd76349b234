//! Names of images. The only runtime name is a digest: a tag may change its meaning, so no type here holds one.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// `sha256:` and 64 lower-case hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Digest(String);

/// `registry/repository@sha256:…`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ImageRef {
    registry: String,
    repository: String,
    digest: Digest,
}

/// Why a text names no image we would run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadRef {
    /// There is no `@sha256:`: a tag alone, or nothing.
    DigestRequired,
    /// The digest is not 64 lower-case hexadecimal digits.
    MalformedDigest,
    /// The part before the digest is not `registry/repository`.
    MalformedName,
}

impl fmt::Display for BadRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::DigestRequired => {
                "Name the image by digest: registry/repository@sha256:…; a tag may change its meaning."
            }
            Self::MalformedDigest => "A digest is sha256: and 64 lower-case hexadecimal digits.",
            Self::MalformedName => "An image is named registry/repository@sha256:…, in lower case.",
        })
    }
}

impl std::error::Error for BadRef {}

impl Digest {
    pub fn of(bytes: &[u8]) -> Self {
        let hash = ring::digest::digest(&ring::digest::SHA256, bytes);
        Self(format!("sha256:{}", hex(hash.as_ref())))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The 64 digits without the algorithm.
    pub fn hex(&self) -> &str {
        &self.0["sha256:".len()..]
    }
}

/// Lower-case hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    use fmt::Write as _;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

impl FromStr for Digest {
    type Err = BadRef;

    fn from_str(text: &str) -> Result<Self, BadRef> {
        let digits = text.strip_prefix("sha256:").ok_or(BadRef::MalformedDigest)?;
        let well_formed =
            digits.len() == 64 && digits.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
        if well_formed { Ok(Self(text.to_owned())) } else { Err(BadRef::MalformedDigest) }
    }
}

impl ImageRef {
    pub fn registry(&self) -> &str {
        &self.registry
    }

    pub fn repository(&self) -> &str {
        &self.repository
    }

    pub fn digest(&self) -> &Digest {
        &self.digest
    }
}

impl FromStr for ImageRef {
    type Err = BadRef;

    /// A tag beside the digest (`repo:1.4@sha256:…`) is taken as a label and dropped.
    fn from_str(text: &str) -> Result<Self, BadRef> {
        let (name, digest) = text.split_once('@').ok_or(BadRef::DigestRequired)?;
        let digest = digest.parse()?;
        let (registry, rest) = name.split_once('/').ok_or(BadRef::MalformedName)?;
        let repository = match rest.rsplit_once(':') {
            Some((repository, tag)) if is_tag(tag) => repository,
            Some(_) => return Err(BadRef::MalformedName),
            None => rest,
        };
        if text.len() > 512 || !is_registry(registry) || !is_repository(repository) {
            return Err(BadRef::MalformedName);
        }
        Ok(Self { registry: registry.to_owned(), repository: repository.to_owned(), digest })
    }
}

/// A host name or address with an optional port. A name without dot or port could be a folder of another registry.
pub fn is_registry(text: &str) -> bool {
    let (host, port) = match text.split_once(':') {
        Some((host, port)) => (host, Some(port)),
        None => (text, None),
    };
    let label = |label: &str| {
        !label.is_empty()
            && label.len() <= 63
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
    };
    let port_ok = port.is_none_or(|port| {
        (1..=5).contains(&port.len())
            && port.bytes().all(|b| b.is_ascii_digit())
            && port.parse::<u16>().is_ok_and(|p| p != 0)
    });
    host.split('.').all(label) && port_ok && (host.contains('.') || port.is_some() || host == "localhost")
}

/// Components of `[a-z0-9]` joined by one `.`, one or two `_`, or hyphens, as the distribution protocol has it.
pub fn is_repository(text: &str) -> bool {
    let alphanumeric = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let separator = |run: &[u8]| matches!(run, b"." | b"_" | b"__") || run.iter().all(|byte| *byte == b'-');
    let component = |component: &str| {
        let bytes = component.as_bytes();
        let edge = |byte: Option<&u8>| byte.is_some_and(|byte| alphanumeric(*byte));
        edge(bytes.first())
            && edge(bytes.last())
            && bytes.split(|byte| alphanumeric(*byte)).filter(|run| !run.is_empty()).all(separator)
    };
    !text.is_empty() && text.len() <= 255 && text.split('/').all(component)
}

/// A word of at most 128 characters that starts with none that a path or an option could.
pub fn is_tag(text: &str) -> bool {
    (1..=128).contains(&text.len())
        && !text.starts_with(['.', '-'])
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-'))
}

macro_rules! text_on_the_wire {
    ($name:ident, $pattern:literal) => {
        impl TryFrom<String> for $name {
            type Error = BadRef;

            fn try_from(text: String) -> Result<Self, BadRef> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(value: $name) -> String {
                value.to_string()
            }
        }

        impl schemars::JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({ "type": "string", "pattern": $pattern, "maxLength": 512 })
            }
        }
    };
}

text_on_the_wire!(Digest, "^sha256:[0-9a-f]{64}$");
text_on_the_wire!(
    ImageRef,
    "^[a-z0-9.-]+(:[0-9]{1,5})?/[a-z0-9._/-]+(:[A-Za-z0-9_.-]+)?@sha256:[0-9a-f]{64}$"
);

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for ImageRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}@{}", self.registry, self.repository, self.digest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEX: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

    #[test]
    fn a_reference_is_printed_as_it_was_read_and_a_tag_is_only_a_label() {
        let text = format!("registry.gpuaas.example.com/apps/jupyter-cuda-dev@sha256:{HEX}");
        let image: ImageRef = text.parse().unwrap();
        assert_eq!(image.to_string(), text);
        assert_eq!(image.registry(), "registry.gpuaas.example.com");
        assert_eq!(image.repository(), "apps/jupyter-cuda-dev");
        assert_eq!(image.digest().hex(), HEX);
        let tagged: ImageRef =
            format!("registry.gpuaas.example.com/apps/jupyter-cuda-dev:1.4@sha256:{HEX}").parse().unwrap();
        assert_eq!(tagged, image);
        assert!(format!("127.0.0.1:5000/a@sha256:{HEX}").parse::<ImageRef>().is_ok());
    }

    /// T-04.
    #[test]
    fn a_tag_alone_is_no_name() {
        for tag in ["r.example.com/a:latest", "r.example.com/a", "a", ""] {
            assert_eq!(tag.parse::<ImageRef>(), Err(BadRef::DigestRequired), "{tag}");
        }
    }

    #[test]
    fn names_that_could_play_tricks_are_refused() {
        for name in [
            "a",
            "host/a",
            "H.example.com/a",
            "r.example.com/",
            "r.example.com//a",
            "r.example.com/A",
            "r.example.com/../a",
            "r.example.com/a/../b",
            "r.example.com/a..b",
            "r.example.com/a-.b",
            "r.example.com/a___b",
            "r.example.com/-a",
            "r.example.com/a b",
            "r.example.com:/a",
            "r.example.com:0/a",
            "r.example.com:99999/a",
            "r.example.com/a:b:c",
            "u:p@r.example.com/a",
            "r.example.com/a?x",
            "r.example.com/a#x",
            "-r.example.com/a",
            "r..example.com/a",
            "[::1]/a",
            "r.example.com/a\n",
            "r.example.com/ä",
        ] {
            assert!(format!("{name}@sha256:{HEX}").parse::<ImageRef>().is_err(), "{name}");
        }
        for digest in [
            "sha256:abc",
            "sha512:00",
            &format!("sha256:{}", HEX.to_uppercase()),
            &format!("sha256:{HEX}0"),
            HEX,
        ] {
            assert_eq!(
                format!("r.example.com/a@{digest}").parse::<ImageRef>(),
                Err(BadRef::MalformedDigest),
                "{digest}"
            );
        }
    }
}
