//! The name of bytes. The protocol's registries must take SHA-256 and may take SHA-512; we take both and nothing else.
//!
//! A type beside [`gpuaas_agent_protocol::Digest`], which is SHA-256 alone on purpose: what runs has one algorithm, what
//! is stored has two. A digest of there is one of here; the way back is a question.

use std::fmt;
use std::str::FromStr;

use gpuaas_agent_protocol::image::hex;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Algorithm {
    Sha256,
    Sha512,
}

impl Algorithm {
    pub const ALL: [Self; 2] = [Self::Sha256, Self::Sha512];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Sha256 => "sha256",
            Self::Sha512 => "sha512",
        }
    }

    const fn digits(self) -> usize {
        match self {
            Self::Sha256 => 64,
            Self::Sha512 => 128,
        }
    }

    fn ring(self) -> &'static ring::digest::Algorithm {
        match self {
            Self::Sha256 => &ring::digest::SHA256,
            Self::Sha512 => &ring::digest::SHA512,
        }
    }
}

/// An algorithm, `:` and lower-case hexadecimal digits.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest {
    algorithm: Algorithm,
    text: Box<str>,
}

/// A text that is no digest we take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MalformedDigest;

impl fmt::Display for MalformedDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a digest is sha256: and 64, or sha512: and 128 lower-case hexadecimal digits")
    }
}

impl std::error::Error for MalformedDigest {}

impl Digest {
    pub fn of(algorithm: Algorithm, bytes: &[u8]) -> Self {
        let mut hasher = Hasher::new(algorithm);
        hasher.update(bytes);
        hasher.finish()
    }

    pub const fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    pub const fn as_str(&self) -> &str {
        &self.text
    }

    pub fn hex(&self) -> &str {
        &self.text[self.algorithm.name().len() + 1..]
    }

    fn from_parts(algorithm: Algorithm, digits: &str) -> Result<Self, MalformedDigest> {
        let well_formed = digits.len() == algorithm.digits()
            && digits.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
        if !well_formed {
            return Err(MalformedDigest);
        }
        Ok(Self { algorithm, text: format!("{}:{digits}", algorithm.name()).into() })
    }

    /// The name of a file that stands for it: the colon is a separator in too many tools.
    pub(crate) fn file_name(&self) -> String {
        format!("{}-{}", self.algorithm.name(), self.hex())
    }

    /// The algorithms differ in length.
    pub(crate) fn from_hex(digits: &str) -> Option<Self> {
        Algorithm::ALL.into_iter().find_map(|algorithm| Self::from_parts(algorithm, digits).ok())
    }

    pub(crate) fn from_file_name(name: &str) -> Option<Self> {
        split(name, '-').ok()
    }
}

fn split(text: &str, separator: char) -> Result<Digest, MalformedDigest> {
    let (name, digits) = text.split_once(separator).ok_or(MalformedDigest)?;
    let algorithm =
        Algorithm::ALL.into_iter().find(|algorithm| algorithm.name() == name).ok_or(MalformedDigest)?;
    Digest::from_parts(algorithm, digits)
}

impl FromStr for Digest {
    type Err = MalformedDigest;

    fn from_str(text: &str) -> Result<Self, MalformedDigest> {
        split(text, ':')
    }
}

impl From<&gpuaas_agent_protocol::Digest> for Digest {
    fn from(digest: &gpuaas_agent_protocol::Digest) -> Self {
        Self { algorithm: Algorithm::Sha256, text: digest.as_str().into() }
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Computes a digest while the bytes go by.
#[derive(Clone)]
pub(crate) struct Hasher {
    algorithm: Algorithm,
    context: ring::digest::Context,
}

impl Hasher {
    pub(crate) fn new(algorithm: Algorithm) -> Self {
        Self { algorithm, context: ring::digest::Context::new(algorithm.ring()) }
    }

    pub(crate) fn update(&mut self, bytes: &[u8]) {
        self.context.update(bytes);
    }

    pub(crate) fn finish(self) -> Digest {
        let digits = hex(self.context.finish().as_ref());
        Digest { algorithm: self.algorithm, text: format!("{}:{digits}", self.algorithm.name()).into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_printed_as_it_was_read_and_nothing_else_is_one() {
        let nothing = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(Digest::of(Algorithm::Sha256, b"").as_str(), nothing);
        let long = Digest::of(Algorithm::Sha512, b"");
        for text in [nothing, long.as_str()] {
            let digest: Digest = text.parse().unwrap();
            assert_eq!(digest.to_string(), text);
            assert_eq!(Digest::from_file_name(&digest.file_name()), Some(digest));
        }
        for text in [
            "",
            "sha256:",
            "sha256",
            "md5:d41d8cd98f00b204e9800998ecf8427e",
            "sha256:../../../etc/passwd",
            &nothing.to_uppercase(),
            &nothing[7..],
            &format!("{nothing}0"),
            &format!("sha512:{}", &nothing[7..]),
            &format!("sha256:{}", long.hex()),
        ] {
            assert_eq!(text.parse::<Digest>(), Err(MalformedDigest), "{text}");
        }
    }
}
