//! Keys that sign images: ECDSA on P-256 as cosign makes them, and Ed25519 to check with.
//!
//! A public key is a fixed frame of bytes and the key itself; whatever is framed otherwise is refused, so one key has
//! one id. The mathematics is ring's: the workspace has one library for it.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::rand::{SecureRandom, SystemRandom};
use ring::signature::{
    self, ECDSA_P256_SHA256_ASN1, ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair as _,
};
use zeroize::Zeroizing;

use crate::{Digest, SecretText};

/// `SEQUENCE { SEQUENCE { ecPublicKey, prime256v1 }, BIT STRING }`; the point follows.
const P256_FRAME: [u8; 26] = [
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86,
    0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
];
/// `SEQUENCE { SEQUENCE { Ed25519 }, BIT STRING }`; 32 bytes follow.
const ED25519_FRAME: [u8; 12] = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];
const P256_POINT: usize = 65;
const ED25519_KEY: usize = 32;
/// A key in PEM has some 200 letters, a private one 250.
const MAX_PEM: usize = 4096;
const PUBLIC_LABEL: &str = "PUBLIC KEY";
const PRIVATE_LABEL: &str = "PRIVATE KEY";

/// Why a text is no key we can use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BadKey {
    NotPem,
    TooLong,
    /// A secret where a public key was asked for. It should be replaced: it has been shown.
    PrivateKeyGiven,
    /// A public key where a private one was asked for.
    PublicKeyGiven,
    /// PEM of something else.
    Label {
        found: String,
    },
    NotBase64,
    /// Not an ECDSA key on P-256, nor Ed25519, in the usual frame.
    Unsupported,
    /// In the right frame, but no point of the curve.
    NotOnCurve,
    /// A private key behind a password.
    Encrypted,
}

impl fmt::Display for BadKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotPem => f.write_str("a key is given in PEM"),
            Self::TooLong => f.write_str("no key is that long"),
            Self::PrivateKeyGiven => f.write_str(
                "this is a private key: give the public one, and replace this one, for it has been shown",
            ),
            Self::PublicKeyGiven => f.write_str("this is a public key; signing needs the private one"),
            Self::Label { found } => write!(f, "this is a {found:?}, not a key"),
            Self::NotBase64 => f.write_str("the key is damaged: it is not base64"),
            Self::Unsupported => f.write_str("only ECDSA keys on P-256 and Ed25519 keys are taken"),
            Self::NotOnCurve => f.write_str("the key is damaged: it is no point of its curve"),
            Self::Encrypted => f.write_str("the private key is behind a password; decrypt it first"),
        }
    }
}

impl std::error::Error for BadKey {}

/// The digest of a public key in its frame.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyId(Digest);

impl KeyId {
    pub fn digest(&self) -> &Digest {
        &self.0
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    P256,
    Ed25519,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicKey {
    kind: Kind,
    framed: Vec<u8>,
    id: KeyId,
}

impl PublicKey {
    pub fn from_pem(pem: &str) -> Result<Self, BadKey> {
        let (label, body) = block(pem)?;
        match label {
            PUBLIC_LABEL => Self::from_der(&decode(body)?),
            label if label.contains(PRIVATE_LABEL) => Err(BadKey::PrivateKeyGiven),
            label => Err(BadKey::Label { found: label.chars().take(50).collect() }),
        }
    }

    /// From the frame with the key in it (`SubjectPublicKeyInfo`).
    pub fn from_der(der: &[u8]) -> Result<Self, BadKey> {
        let kind = match der {
            der if der.starts_with(&P256_FRAME) && der.len() == P256_FRAME.len() + P256_POINT => Kind::P256,
            der if der.starts_with(&ED25519_FRAME) && der.len() == ED25519_FRAME.len() + ED25519_KEY => {
                Kind::Ed25519
            }
            _ => return Err(BadKey::Unsupported),
        };
        if kind == Kind::P256 && !is_point(&der[P256_FRAME.len()..]) {
            return Err(BadKey::NotOnCurve);
        }
        Ok(Self { kind, framed: der.to_vec(), id: KeyId(Digest::of(der)) })
    }

    pub fn to_pem(&self) -> String {
        encode(PUBLIC_LABEL, &self.framed)
    }

    pub fn id(&self) -> &KeyId {
        &self.id
    }

    /// What people call its kind.
    pub fn algorithm(&self) -> &'static str {
        match self.kind {
            Kind::P256 => "ecdsa-p256",
            Kind::Ed25519 => "ed25519",
        }
    }

    /// Whether this key made this signature over exactly these bytes.
    pub fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        match self.kind {
            Kind::P256 => {
                let key = signature::UnparsedPublicKey::new(
                    &ECDSA_P256_SHA256_ASN1,
                    &self.framed[P256_FRAME.len()..],
                );
                key.verify(message, signature).is_ok()
            }
            Kind::Ed25519 => {
                let key = signature::UnparsedPublicKey::new(
                    &signature::ED25519,
                    &self.framed[ED25519_FRAME.len()..],
                );
                key.verify(message, signature).is_ok()
            }
        }
    }
}

/// ring looks at a point when it agrees on a secret with it; the secret is thrown away.
fn is_point(point: &[u8]) -> bool {
    use ring::agreement;
    let Ok(throwaway) = agreement::EphemeralPrivateKey::generate(&agreement::ECDH_P256, &SystemRandom::new())
    else {
        return false;
    };
    let peer = agreement::UnparsedPublicKey::new(&agreement::ECDH_P256, point);
    agreement::agree_ephemeral(throwaway, &peer, |_| ()).is_ok()
}

/// An ECDSA key on P-256. It cannot be printed; whoever wants to keep it asks for its PEM.
pub struct PrivateKey {
    pair: EcdsaKeyPair,
    der: Zeroizing<Vec<u8>>,
    public: PublicKey,
}

impl PrivateKey {
    /// None if the source of randomness fails.
    pub fn generate(random: &dyn SecureRandom) -> Option<Self> {
        let document = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, random).ok()?;
        Self::from_der(document.as_ref()).ok()
    }

    /// From `PRIVATE KEY`, as OpenSSL writes it (PKCS #8 with the public key inside).
    pub fn from_pem(pem: &SecretText) -> Result<Self, BadKey> {
        let (label, body) = block(pem.expose())?;
        match label {
            PRIVATE_LABEL => Self::from_der(&decode(body)?),
            PUBLIC_LABEL => Err(BadKey::PublicKeyGiven),
            label if label.starts_with("ENCRYPTED") => Err(BadKey::Encrypted),
            label if label.contains(PRIVATE_LABEL) => Err(BadKey::Unsupported),
            label => Err(BadKey::Label { found: label.chars().take(50).collect() }),
        }
    }

    fn from_der(der: &[u8]) -> Result<Self, BadKey> {
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, der, &SystemRandom::new())
            .map_err(|_| BadKey::Unsupported)?;
        let framed: Vec<u8> = [&P256_FRAME, pair.public_key().as_ref()].concat();
        let public = PublicKey::from_der(&framed)?;
        Ok(Self { pair, der: Zeroizing::new(der.to_vec()), public })
    }

    pub fn to_pem(&self) -> SecretText {
        SecretText::new(encode(PRIVATE_LABEL, &self.der))
    }

    pub fn public(&self) -> &PublicKey {
        &self.public
    }

    /// None if the source of randomness fails.
    pub fn sign(&self, random: &dyn SecureRandom, message: &[u8]) -> Option<Vec<u8>> {
        self.pair.sign(random, message).ok().map(|signature| signature.as_ref().to_vec())
    }
}

/// One block with its label: nothing before it but white space, nothing behind.
fn block(pem: &str) -> Result<(&str, &str), BadKey> {
    if pem.len() > MAX_PEM {
        return Err(BadKey::TooLong);
    }
    let rest = pem.trim().strip_prefix("-----BEGIN ").ok_or(BadKey::NotPem)?;
    let (label, rest) = rest.split_once("-----").ok_or(BadKey::NotPem)?;
    let body = rest.strip_suffix(&format!("-----END {label}-----")).ok_or(BadKey::NotPem)?;
    Ok((label, body))
}

fn decode(body: &str) -> Result<Zeroizing<Vec<u8>>, BadKey> {
    let letters: Zeroizing<String> =
        Zeroizing::new(body.chars().filter(|letter| !letter.is_ascii_whitespace()).collect());
    STANDARD.decode(letters.as_bytes()).map(Zeroizing::new).map_err(|_| BadKey::NotBase64)
}

fn encode(label: &str, der: &[u8]) -> String {
    let letters = Zeroizing::new(STANDARD.encode(der));
    // Room for all of it at once: a text that grows leaves copies behind.
    let mut pem = String::with_capacity(letters.len() * 2 + 100);
    for part in ["-----BEGIN ", label, "-----\n"] {
        pem.push_str(part);
    }
    let mut rest = letters.as_str();
    while !rest.is_empty() {
        let (line, next) = rest.split_at(rest.len().min(64));
        pem.push_str(line);
        pem.push('\n');
        rest = next;
    }
    for part in ["-----END ", label, "-----\n"] {
        pem.push_str(part);
    }
    pem
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key() -> PrivateKey {
        PrivateKey::generate(&SystemRandom::new()).unwrap()
    }

    /// F-23.
    #[test]
    fn a_key_survives_being_written_down_and_signs_for_its_public_half_only() {
        let key = key();
        let again = PrivateKey::from_pem(&key.to_pem()).unwrap();
        let public = PublicKey::from_pem(&key.public().to_pem()).unwrap();
        assert_eq!((again.public(), public.id()), (&public, key.public().id()));
        let signature = again.sign(&SystemRandom::new(), b"message").unwrap();
        assert!(public.verifies(b"message", &signature));
        assert!(!public.verifies(b"massage", &signature));
        assert!(!self::key().public().verifies(b"message", &signature));
    }

    #[test]
    fn an_ed25519_key_can_check() {
        use ring::signature::Ed25519KeyPair;
        let document = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
        let pair = Ed25519KeyPair::from_pkcs8(document.as_ref()).unwrap();
        let framed = [&ED25519_FRAME, pair.public_key().as_ref()].concat();
        let public = PublicKey::from_pem(&encode(PUBLIC_LABEL, &framed)).unwrap();
        assert!(public.verifies(b"message", pair.sign(b"message").as_ref()));
        assert!(!public.verifies(b"massage", pair.sign(b"message").as_ref()));
    }

    /// F07.
    #[test]
    fn what_is_no_key_is_refused_with_its_reason() {
        let pem = key().public().to_pem();
        let der = key().public().framed.clone();
        let mut off_curve = der.clone();
        *off_curve.last_mut().unwrap() ^= 1;
        let mut p384 = der.clone();
        p384[22] = 0x22;
        let compressed = [&der[..26], &[2], &der[27..59]].concat();
        for (text, why) in [
            (String::new(), BadKey::NotPem),
            ("ssh-ed25519 AAAA".to_owned(), BadKey::NotPem),
            (pem.clone() + &pem, BadKey::NotBase64),
            (pem.replace("END", "FIN"), BadKey::NotPem),
            (" ".repeat(5000), BadKey::TooLong),
            (key().to_pem().expose().to_owned(), BadKey::PrivateKeyGiven),
            (encode("ENCRYPTED SIGSTORE PRIVATE KEY", b"x"), BadKey::PrivateKeyGiven),
            (pem.replace("PUBLIC KEY", "CERTIFICATE"), BadKey::Label { found: "CERTIFICATE".to_owned() }),
            (pem.replace("MF", "M!"), BadKey::NotBase64),
            (encode(PUBLIC_LABEL, &off_curve), BadKey::NotOnCurve),
            (encode(PUBLIC_LABEL, &p384), BadKey::Unsupported),
            (encode(PUBLIC_LABEL, &compressed), BadKey::Unsupported),
            (encode(PUBLIC_LABEL, &der[..90]), BadKey::Unsupported),
            (encode(PUBLIC_LABEL, &[der.as_slice(), &[0]].concat()), BadKey::Unsupported),
            (encode(PUBLIC_LABEL, b""), BadKey::Unsupported),
        ] {
            assert_eq!(PublicKey::from_pem(&text), Err(why), "{text}");
        }
        let private = |pem: String| PrivateKey::from_pem(&SecretText::new(pem)).err();
        assert_eq!(private(pem), Some(BadKey::PublicKeyGiven));
        assert_eq!(private(encode(PRIVATE_LABEL, b"x")), Some(BadKey::Unsupported));
        let cosign = encode("ENCRYPTED SIGSTORE PRIVATE KEY", b"x");
        assert_eq!(private(cosign), Some(BadKey::Encrypted));
    }
}
