//! Opaque credentials: `prefix_id_secret`. The id finds the row, the secret is compared by its hash.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use gpuaas_custody::Entropy;
use gpuaas_domain::Secret;
use ring::digest::{SHA256, digest};
use uuid::Uuid;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpaqueKind {
    Session,
    PersonalToken,
    LoginLink,
    Wrap,
    RegistryCredential,
    AccessCode,
    AppSession,
    EndpointToken,
}

impl OpaqueKind {
    const ALL: [Self; 8] = [
        Self::Session,
        Self::PersonalToken,
        Self::LoginLink,
        Self::Wrap,
        Self::RegistryCredential,
        Self::AccessCode,
        Self::AppSession,
        Self::EndpointToken,
    ];

    /// Distinct and easy to find by secret scanners.
    pub fn prefix(self) -> &'static str {
        match self {
            Self::Session => "gpus",
            Self::PersonalToken => "gpup",
            Self::LoginLink => "gpul",
            Self::Wrap => "gpuw",
            Self::RegistryCredential => "gpur",
            Self::AccessCode => "gpuc",
            Self::AppSession => "gpua",
            Self::EndpointToken => "gpue",
        }
    }
}

/// A credential as its holder has it.
pub struct OpaqueToken {
    pub kind: OpaqueKind,
    pub id: Uuid,
    secret: Secret<[u8; 32]>,
}

impl OpaqueToken {
    pub fn generate(kind: OpaqueKind, id: Uuid, entropy: &dyn Entropy) -> Self {
        Self { kind, id, secret: entropy.bytes32() }
    }

    /// What is given to the holder, once.
    pub fn reveal(&self) -> Secret<String> {
        Secret::new(format!(
            "{}_{}_{}",
            self.kind.prefix(),
            self.id.as_simple(),
            URL_SAFE_NO_PAD.encode(self.secret.expose())
        ))
    }

    /// What is stored.
    pub fn hash(&self) -> Vec<u8> {
        digest(&SHA256, self.secret.expose()).as_ref().to_vec()
    }

    /// Compares in constant time. The secret has 256 bits, so a plain hash is enough.
    pub fn fits(&self, stored: &[u8]) -> bool {
        #[expect(deprecated, reason = "ring offers no other constant-time comparison of slices")]
        ring::constant_time::verify_slices_are_equal(&self.hash(), stored).is_ok()
    }

    pub fn parse(text: &str) -> Option<Self> {
        let (prefix, rest) = text.split_once('_')?;
        let kind = OpaqueKind::ALL.into_iter().find(|kind| kind.prefix() == prefix)?;
        let (id, secret) = rest.split_once('_')?;
        let parsed = Uuid::try_parse(id).ok().filter(|parsed| parsed.as_simple().to_string() == id)?;
        let bytes = URL_SAFE_NO_PAD.decode(secret).ok()?;
        Some(Self { kind, id: parsed, secret: Secret::new(bytes.try_into().ok()?) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpuaas_custody::SystemEntropy;

    #[test]
    fn a_credential_reads_back_and_fits_only_itself() {
        let entropy = SystemEntropy::new();
        let token = OpaqueToken::generate(OpaqueKind::PersonalToken, Uuid::from_u128(5), &entropy);
        let text = token.reveal();
        let again = OpaqueToken::parse(text.expose()).unwrap();
        assert!(again.fits(&token.hash()));
        let other = OpaqueToken::generate(OpaqueKind::PersonalToken, Uuid::from_u128(5), &entropy);
        assert!(!other.fits(&token.hash()));
        for bad in [
            "",
            "gpup",
            "gpup__",
            "gpup_x_y",
            "nope_00000000000000000000000000000005_AAAA",
            &text.expose()[..60],
        ] {
            assert!(OpaqueToken::parse(bad).is_none(), "{bad}");
        }
    }
}
