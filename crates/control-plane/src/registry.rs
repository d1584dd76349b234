//! The registry as the control plane sees it: what it is called, where it is reached, and the tokens that open it.
//!
//! Registries want their tokens signed with ES256 under a certificate, so these have a key of their own beside the machine
//! tokens'. A token says who asked and by which credential, one repository and what may be done there, and for some callers
//! the one image they may have. It proves that; whether it still holds is looked up at each use.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use gpuaas_agent_protocol::Digest;
use gpuaas_custody::SecretClass;
use gpuaas_domain::artifact::{Channels, RegistryNames, TrustMode};
use gpuaas_domain::ids::{
    InstanceId, KeyId, NodeId, PersonalTokenId, RegistryCredentialId, ServiceAccountId,
};
use gpuaas_domain::{Error, Result, Secret, Timestamp};
use gpuaas_oci::{Credentials, Registry, SecretText};
use gpuaas_store::registry_access::RegistryKey;
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _, UnparsedPublicKey,
};
use serde::{Deserialize, Serialize};

use crate::plane::ControlPlane;

/// Clocks differ.
const LEEWAY_SECONDS: i64 = 30;
/// How long a process may go on signing with a key that another has retired.
const KEYS_SECONDS: i64 = 10;
/// The platform's own look at the registry.
const OWN_TOKEN_SECONDS: i64 = 120;
const MAX_TOKEN_BYTES: usize = 16 * 1024;

/// What an operator says about the registry.
#[derive(Clone, Debug)]
pub struct RegistrySettings {
    /// The host may be empty: then it is the platform's own address.
    pub names: RegistryNames,
    /// Another registry that believes our tokens; absent, it is our own role.
    pub external_url: Option<String>,
    pub token_ttl_seconds: i64,
    pub channels: Channels,
    pub trust: TrustMode,
    /// Whether a signature that names no repository counts.
    pub accept_unnamed: bool,
}

impl Default for RegistrySettings {
    fn default() -> Self {
        Self {
            names: RegistryNames {
                host: String::new(),
                also: Vec::new(),
                root: "gpuaas/apps".to_owned(),
                allowed: Vec::new(),
            },
            external_url: None,
            token_ttl_seconds: 300,
            channels: Channels::default(),
            trust: TrustMode::Enforce,
            accept_unnamed: false,
        }
    }
}

/// Where the registry is, known once the server listens.
#[derive(Clone, Debug)]
pub struct RegistryDoor {
    pub names: RegistryNames,
    /// As clients reach it.
    pub public_url: String,
    pub token_url: String,
    /// As the platform itself reaches it, and the CA to believe there.
    pub own_url: String,
    pub own_ca_pem: Option<String>,
}

impl RegistryDoor {
    /// What is known before anybody listens: names only.
    pub(crate) fn unplugged(settings: &RegistrySettings) -> Self {
        Self {
            names: settings.names.clone(),
            public_url: String::new(),
            token_url: String::new(),
            own_url: String::new(),
            own_ca_pem: None,
        }
    }

    /// Who tokens are for.
    pub fn service(&self) -> &str {
        &self.names.host
    }
}

/// By which credential somebody asked for a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Via {
    PersonalToken(PersonalTokenId),
    ServiceAccount {
        account: ServiceAccountId,
        key: KeyId,
    },
    Credential(RegistryCredentialId),
    /// A node, while it carries out the launch of this generation.
    Node {
        node: NodeId,
        instance: InstanceId,
        generation: i64,
    },
    /// The platform itself.
    Platform,
}

/// One entry of a token, as the distribution project's token protocol has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccessEntry {
    #[serde(rename = "type")]
    pub kind: String,
    pub name: String,
    pub actions: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenClaims {
    pub iss: String,
    pub sub: String,
    pub aud: String,
    pub exp: i64,
    pub nbf: i64,
    pub iat: i64,
    pub jti: String,
    pub access: Vec<AccessEntry>,
    pub via: Via,
    /// The one image it opens; absent, what the repository holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<Digest>,
}

#[derive(Deserialize)]
struct Header {
    alg: String,
    kid: String,
}

/// The keys that sign and check registry tokens.
#[derive(Default)]
pub(crate) struct RegistryKeys {
    signer: Option<Arc<Signer>>,
    verifiers: Vec<Verifier>,
    loaded_at: Option<Timestamp>,
}

struct Signer {
    id: KeyId,
    pair: EcdsaKeyPair,
    certificate: String,
}

#[derive(Clone)]
struct Verifier {
    id: String,
    public_key: Vec<u8>,
    retired_at: Option<Timestamp>,
}

/// A private key in PKCS#8 and a certificate for it, in PEM.
pub(crate) fn new_key(platform: uuid::Uuid, now: Timestamp) -> Result<(Secret<Vec<u8>>, String)> {
    let broken = |error: rcgen::Error| Error::internal(format!("no key for registry tokens: {error}"));
    let pair = rcgen::KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256).map_err(broken)?;
    let mut about = rcgen::CertificateParams::default();
    about.distinguished_name.push(rcgen::DnType::CommonName, format!("GPUaaS registry tokens {platform}"));
    // Registries check that the certificate is valid; its end is that of the key, which is rotated, not the calendar's.
    let year = |offset: i32| {
        let year = i32::try_from(1970 + now.unix_seconds() / 31_556_952).unwrap_or(2026) + offset;
        rcgen::date_time_ymd(year, 1, 1)
    };
    about.not_before = year(-1);
    about.not_after = year(30);
    about.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    about.key_usages = vec![rcgen::KeyUsagePurpose::DigitalSignature, rcgen::KeyUsagePurpose::KeyCertSign];
    let certificate = about.self_signed(&pair).map_err(broken)?;
    Ok((Secret::new(pair.serialize_der()), certificate.pem()))
}

fn der_of(pem: &str) -> Option<Vec<u8>> {
    let body: String = pem.lines().filter(|line| !line.starts_with("-----")).collect();
    STANDARD.decode(body).ok()
}

impl ControlPlane {
    /// Says where the registry is, once, when the server knows its own address.
    pub fn plug_registry(&self, door: RegistryDoor) {
        let _ = self.registry_door.set(door);
    }

    /// What the registry is called and where it is. A process that does not serve knows names only.
    pub fn registry(&self) -> &RegistryDoor {
        self.registry_door.get().unwrap_or(&self.unplugged)
    }

    async fn load_registry_keys(&self) -> Result<()> {
        let mut session = self.store.read().await?;
        let keys = session.list_registry_keys().await?;
        let mut signer = None;
        let mut verifiers = Vec::new();
        for RegistryKey { id, certificate, secret_id, retired_at } in keys {
            let secret = session
                .find_secret(secret_id)
                .await?
                .ok_or_else(|| Error::internal("the secret of the registry key is missing"))?;
            let der = self.open_secret(SecretClass::Operator, &secret).await?;
            let pair = EcdsaKeyPair::from_pkcs8(
                &ECDSA_P256_SHA256_FIXED_SIGNING,
                der.expose(),
                &SystemRandom::new(),
            )
            .map_err(|_| Error::internal("the registry key cannot be read"))?;
            verifiers.push(Verifier {
                id: id.to_string(),
                public_key: pair.public_key().as_ref().to_vec(),
                retired_at,
            });
            if retired_at.is_none() && signer.is_none() {
                signer = Some(Arc::new(Signer { id, pair, certificate }));
            }
        }
        *self.registry_keys.write().expect("no holder panics") =
            RegistryKeys { signer, verifiers, loaded_at: Some(self.now()) };
        Ok(())
    }

    async fn registry_signer(&self) -> Result<Arc<Signer>> {
        {
            let keys = self.registry_keys.read().expect("no holder panics");
            let fresh = keys.loaded_at.is_some_and(|at| self.now().seconds_since(at).abs() < KEYS_SECONDS);
            if let Some(signer) = keys.signer.clone().filter(|_| fresh) {
                return Ok(signer);
            }
        }
        self.load_registry_keys().await?;
        let keys = self.registry_keys.read().expect("no holder panics");
        keys.signer
            .clone()
            .ok_or_else(|| Error::internal("the platform has no key to sign registry tokens with"))
    }

    /// The certificates that tokens are signed under, newest first, for a registry that is to believe them.
    pub async fn registry_certificates(&self) -> Result<String> {
        let keys = self.store.read().await?.list_registry_keys().await?;
        let now = self.now();
        let good = keys.into_iter().filter(|key| {
            key.retired_at.is_none_or(|at| now.seconds_since(at) <= self.settings.registry.token_ttl_seconds)
        });
        Ok(good.map(|key| key.certificate).collect())
    }

    /// A token for these entries.
    pub(crate) async fn sign_registry_token(
        &self,
        via: Via,
        subject: String,
        access: Vec<AccessEntry>,
        image: Option<Digest>,
        ttl_seconds: i64,
    ) -> Result<(Secret<String>, Timestamp)> {
        let signer = self.registry_signer().await?;
        let now = self.now();
        let claims = TokenClaims {
            iss: self.platform_id.to_string(),
            sub: subject,
            aud: self.registry().service().to_owned(),
            exp: now.unix_seconds() + ttl_seconds,
            nbf: now.unix_seconds() - LEEWAY_SECONDS,
            iat: now.unix_seconds(),
            jti: self.new_uuid().to_string(),
            access,
            via,
            image,
        };
        let certificate = der_of(&signer.certificate)
            .ok_or_else(|| Error::internal("the certificate of the registry key cannot be read"))?;
        let header = serde_json::json!({"typ": "JWT", "alg": "ES256", "kid": signer.id.to_string(),
                                        "x5c": [STANDARD.encode(certificate)]});
        let encode = |value: &serde_json::Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let claims = serde_json::to_value(&claims).map_err(|error| Error::internal(error.to_string()))?;
        let message = format!("{}.{}", encode(&header), encode(&claims));
        let signature = signer
            .pair
            .sign(&SystemRandom::new(), message.as_bytes())
            .map_err(|_| Error::internal("the source of randomness fails"))?;
        let token = format!("{message}.{}", URL_SAFE_NO_PAD.encode(signature));
        Ok((Secret::new(token), now.plus_seconds(ttl_seconds)))
    }

    /// What a token of ours says, if it is one and has not ended. Nothing else is decided here.
    pub async fn read_registry_token(&self, token: &str) -> Result<Option<TokenClaims>> {
        let Some(Unverified { message, signature, header, claims }) = split(token) else { return Ok(None) };
        let Some(header) = strict::<Header>(&header).filter(|header| header.alg == "ES256") else {
            return Ok(None);
        };
        let Some(public_key) = self.registry_verifier(&header.kid).await? else { return Ok(None) };
        let key = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, public_key);
        if key.verify(message.as_bytes(), &signature).is_err() {
            return Ok(None);
        }
        let now = self.now().unix_seconds();
        Ok(strict::<TokenClaims>(&claims).filter(|claims| {
            claims.iss == self.platform_id.to_string()
                && claims.aud == self.registry().service()
                && claims.nbf <= now
                && now < claims.exp
        }))
    }

    async fn registry_verifier(&self, id: &str) -> Result<Option<Vec<u8>>> {
        let now = self.now();
        let ttl = self.settings.registry.token_ttl_seconds;
        let find = |keys: &RegistryKeys| {
            keys.verifiers
                .iter()
                .find(|key| {
                    key.id == id
                        && key.retired_at.is_none_or(|at| now.seconds_since(at) <= ttl + LEEWAY_SECONDS)
                })
                .map(|key| key.public_key.clone())
        };
        {
            let keys = self.registry_keys.read().expect("no holder panics");
            if let Some(found) = find(&keys) {
                return Ok(Some(found));
            }
            // Unknown ids are free to make up: look in the database at most once a second for them.
            if keys.loaded_at.is_some_and(|at| now.seconds_since(at).abs() < 1) {
                return Ok(None);
            }
        }
        self.load_registry_keys().await?;
        Ok(find(&self.registry_keys.read().expect("no holder panics")))
    }

    /// A client of the live registry that may read one repository.
    pub(crate) async fn registry_client(&self, repository: &str) -> Result<Registry> {
        let access = vec![AccessEntry {
            kind: "repository".to_owned(),
            name: repository.to_owned(),
            actions: vec!["pull".to_owned()],
        }];
        let (token, _) = self
            .sign_registry_token(Via::Platform, "platform".to_owned(), access, None, OWN_TOKEN_SECONDS)
            .await?;
        let door = self.registry();
        let settings = gpuaas_oci::Settings {
            attempts: 2,
            answer_timeout: std::time::Duration::from_secs(10),
            stall_timeout: std::time::Duration::from_secs(10),
            extra_ca_pem: door.own_ca_pem.clone(),
            ..gpuaas_oci::Settings::default()
        };
        let credentials = Credentials::Token(SecretText::new(token.expose().clone()));
        Registry::with(&door.own_url, Some(credentials), settings)
            .map_err(|error| Error::internal(format!("the registry cannot be asked: {error}")))
    }
}

/// The parts of a JWT, decoded but not believed.
struct Unverified<'t> {
    message: &'t str,
    signature: Vec<u8>,
    header: Vec<u8>,
    claims: Vec<u8>,
}

fn split(token: &str) -> Option<Unverified<'_>> {
    if token.len() > MAX_TOKEN_BYTES {
        return None;
    }
    let (message, signature) = token.rsplit_once('.')?;
    let (header, claims) = message.split_once('.')?;
    let decode = |part: &str| URL_SAFE_NO_PAD.decode(part).ok();
    Some(Unverified {
        message,
        signature: decode(signature)?,
        header: decode(header)?,
        claims: decode(claims)?,
    })
}

/// A JSON object of this type, nothing after it.
fn strict<T: for<'de> Deserialize<'de>>(bytes: &[u8]) -> Option<T> {
    serde_json::from_slice(bytes).ok().filter(|_: &T| bytes.first() == Some(&b'{'))
}
