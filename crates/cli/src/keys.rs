//! Keys of service accounts: made here, kept in a private file, used to sign assertions. A private key made by this
//! program never leaves the machine.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use gpuaas_domain::ids::{KeyId, ProjectId, ServiceAccountId};
use gpuaas_domain::machine_token::{Assertion, sign_assertion};
use gpuaas_domain::{Secret, Timestamp};
use ring::rand::{SecureRandom as _, SystemRandom};
use ring::signature::{Ed25519KeyPair, KeyPair as _};
use serde::Deserialize;

use crate::failure::{Exit, Failure, Result};
use crate::files;

/// Long enough for a slow network, well below what the platform accepts.
const ASSERTION_TTL_SECONDS: i64 = 120;
/// What stands before the 32 raw bytes in an Ed25519 public key of the SubjectPublicKeyInfo form.
const SPKI_PREFIX: [u8; 12] = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];

/// What a machine needs to sign in as a service account.
#[derive(Deserialize)]
pub(crate) struct KeyFile {
    pub(crate) service_account_id: ServiceAccountId,
    pub(crate) key_id: KeyId,
    pub(crate) project_id: ProjectId,
    pub(crate) platform_url: String,
    pub(crate) private_key_pem: Secret<String>,
}

impl KeyFile {
    /// Written by hand because a secret does not serialise.
    pub(crate) fn to_json(&self) -> String {
        let value = serde_json::json!({
            "service_account_id": self.service_account_id,
            "key_id": self.key_id,
            "project_id": self.project_id,
            "platform_url": self.platform_url,
            "private_key_pem": self.private_key_pem.expose(),
        });
        format!("{value:#}\n")
    }

    /// Refuses a file that others can read: whoever reads it is the service account.
    pub(crate) fn load(path: &Path) -> Result<Self> {
        let text = Secret::new(files::read_text(path)?);
        if files::is_exposed(path) {
            let message = format!("{} can be read by others, so its key is not used", path.display());
            return Err(Failure::new(Exit::Usage, "key_file_exposed", message)
                .fix(format!("chmod 600 {}; if others may have read it, rotate the key", path.display())));
        }
        serde_json::from_str(text.expose()).map_err(|source| {
            Failure::usage(format!("{} is not a service account's key file: {source}", path.display()))
                .fix("make one with `gpuaas service-account create --key-file FILE`")
        })
    }

    pub(crate) fn key_pair(&self) -> Result<Ed25519KeyPair> {
        let refuse = || Failure::usage("the private key in the key file is not an Ed25519 key in PKCS#8 PEM");
        let der = Secret::new(from_pem(self.private_key_pem.expose(), "PRIVATE KEY").ok_or_else(refuse)?);
        Ed25519KeyPair::from_pkcs8_maybe_unchecked(der.expose()).map_err(|_| refuse())
    }

    /// A statement by the account that buys one access token at the platform called `platform_id`.
    pub(crate) fn assertion(&self, platform_id: &str, now: Timestamp) -> Result<String> {
        let key = self.key_pair()?;
        let assertion = Assertion {
            iss: self.service_account_id,
            sub: self.service_account_id,
            aud: platform_id.to_owned(),
            jti: nonce()?,
            iat: now.unix_seconds(),
            exp: now.unix_seconds() + ASSERTION_TTL_SECONDS,
        };
        Ok(sign_assertion(&key, self.key_id, &assertion))
    }
}

fn nonce() -> Result<String> {
    let mut bytes = [0; 16];
    SystemRandom::new().fill(&mut bytes).map_err(|_| no_entropy())?;
    Ok(gpuaas_domain::chain::hex(&bytes))
}

fn no_entropy() -> Failure {
    Failure::new(Exit::Trouble, "no_entropy", "the operating system gave no random bytes")
}

/// A new pair: the private half as PEM, the public half as the API takes it.
pub(crate) struct NewPair {
    pub(crate) private_key_pem: Secret<String>,
    pub(crate) public_key: String,
}

impl NewPair {
    pub(crate) fn make() -> Result<Self> {
        let document = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).map_err(|_| no_entropy())?;
        let pair = Ed25519KeyPair::from_pkcs8(document.as_ref()).map_err(|_| no_entropy())?;
        let public_key = URL_SAFE_NO_PAD.encode(pair.public_key().as_ref());
        Ok(Self { private_key_pem: Secret::new(to_pem(document.as_ref(), "PRIVATE KEY")), public_key })
    }
}

/// A public key as people have it (PEM, or base64url of the raw bytes), in the form the API takes.
pub(crate) fn read_public_key(text: &str) -> Result<String> {
    let raw: Option<[u8; 32]> = if text.contains("-----BEGIN") {
        from_pem(text, "PUBLIC KEY").and_then(|der| der.strip_prefix(&SPKI_PREFIX)?.try_into().ok())
    } else {
        URL_SAFE_NO_PAD.decode(text.trim()).ok().and_then(|raw| raw.try_into().ok())
    };
    raw.map(|raw| URL_SAFE_NO_PAD.encode(raw)).ok_or_else(|| {
        Failure::usage("the public key is not an Ed25519 key").fix(
            "give PEM (openssl pkey -in key.pem -pubout) or the 32 raw bytes as base64url without padding",
        )
    })
}

fn to_pem(der: &[u8], label: &str) -> String {
    let mut text = format!("-----BEGIN {label}-----\n");
    let encoded = STANDARD.encode(der);
    let mut rest = encoded.as_str();
    while !rest.is_empty() {
        let (line, more) = rest.split_at(rest.len().min(64));
        text.push_str(line);
        text.push('\n');
        rest = more;
    }
    text + &format!("-----END {label}-----\n")
}

fn from_pem(text: &str, label: &str) -> Option<Vec<u8>> {
    let (_, rest) = text.split_once(&format!("-----BEGIN {label}-----"))?;
    let (body, _) = rest.split_once(&format!("-----END {label}-----"))?;
    let body: String = body.split_ascii_whitespace().collect();
    STANDARD.decode(body).ok()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use gpuaas_domain::machine_token::{check_assertion, open_assertion};

    use super::*;
    use crate::files::Reserved;

    fn key_file() -> (KeyFile, [u8; 32]) {
        let pair = NewPair::make().unwrap();
        let public: [u8; 32] = URL_SAFE_NO_PAD.decode(&pair.public_key).unwrap().try_into().unwrap();
        let file = KeyFile {
            service_account_id: ServiceAccountId::new(uuid::Uuid::from_u128(3)),
            key_id: KeyId::new(uuid::Uuid::from_u128(4)),
            project_id: ProjectId::new(uuid::Uuid::from_u128(2)),
            platform_url: "https://gpu.example.org".into(),
            private_key_pem: pair.private_key_pem,
        };
        (file, public)
    }

    #[test]
    fn the_platform_accepts_what_this_program_signs() {
        let (file, public) = key_file();
        let now = Timestamp::from_unix_seconds(1_800_000_000).unwrap();
        let signed = file.assertion("platform", now).unwrap();
        let opened = open_assertion(&signed).unwrap();
        assert_eq!(opened.key_id, file.key_id.to_string());
        let checked = check_assertion(&opened, file.service_account_id, &public, "platform", now).unwrap();
        assert_eq!(checked.jti.len(), 32);
        assert!(check_assertion(&opened, file.service_account_id, &public, "other", now).is_err());
        assert_ne!(file.assertion("platform", now).unwrap(), signed, "a nonce is used once");
    }

    #[test]
    fn a_key_file_is_private_and_never_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key.json");
        let (file, _) = key_file();
        Reserved::new(&path).unwrap().fill(file.to_json().as_bytes()).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let again = KeyFile::load(&path).unwrap();
        assert_eq!(again.private_key_pem.expose(), file.private_key_pem.expose());
        assert_eq!(again.to_json(), file.to_json());
        let refused = Reserved::new(&path).err().unwrap();
        assert_eq!(refused.exit_code(), 2);
        assert!(path.exists(), "the refusal leaves the file alone");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
        assert!(KeyFile::load(&path).is_err(), "others may read it");
    }

    #[test]
    fn a_place_that_was_not_needed_is_given_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key.json");
        drop(Reserved::new(&path).unwrap());
        assert!(!path.exists());
    }

    #[test]
    fn public_keys_are_read_in_both_spellings() {
        let raw = [7; 32];
        let plain = URL_SAFE_NO_PAD.encode(raw);
        let pem = to_pem(&[&SPKI_PREFIX[..], &raw].concat(), "PUBLIC KEY");
        assert_eq!(read_public_key(&format!("{plain}\n")).unwrap(), plain);
        assert_eq!(read_public_key(&pem).unwrap(), plain);
        for bad in [
            "",
            "AAAA",
            "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----",
            &to_pem(&raw, "PRIVATE KEY"),
        ] {
            assert!(read_public_key(bad).is_err(), "{bad}");
        }
    }
}
