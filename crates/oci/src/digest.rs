//! The name of bytes. Only SHA-256: every registry has it, and one algorithm cannot be mixed up with another.

use std::fmt;
use std::str::FromStr;

/// `sha256:` and 64 lower-case hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest(String);

/// A text that is no digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MalformedDigest;

impl fmt::Display for MalformedDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a digest is sha256: and 64 lower-case hexadecimal digits")
    }
}

impl std::error::Error for MalformedDigest {}

impl Digest {
    pub fn of(bytes: &[u8]) -> Self {
        use fmt::Write as _;
        let hash = ring::digest::digest(&ring::digest::SHA256, bytes);
        let mut text = String::from("sha256:");
        for byte in hash.as_ref() {
            let _ = write!(text, "{byte:02x}");
        }
        Self(text)
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The 64 digits without the algorithm.
    pub fn hex(&self) -> &str {
        &self.0["sha256:".len()..]
    }
}

impl FromStr for Digest {
    type Err = MalformedDigest;

    fn from_str(text: &str) -> Result<Self, MalformedDigest> {
        let digits = text.strip_prefix("sha256:").ok_or(MalformedDigest)?;
        let well_formed =
            digits.len() == 64 && digits.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
        if well_formed { Ok(Self(text.to_owned())) } else { Err(MalformedDigest) }
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_of_nothing_is_the_known_one() {
        let nothing = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(Digest::of(b"").as_str(), nothing);
        assert_eq!(nothing.parse::<Digest>().unwrap().hex(), &nothing[7..]);
        for text in
            ["", "sha256:", "sha512:00", &nothing.to_uppercase(), &nothing[7..], &format!("{nothing}0")]
        {
            assert_eq!(text.parse::<Digest>(), Err(MalformedDigest), "{text}");
        }
    }
}
