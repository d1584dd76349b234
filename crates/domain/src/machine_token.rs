//! Signed tokens of machines: the *assertion* an account signs with its own key, and the *access token* the
//! platform gives for it. Both are compact JWTs with Ed25519 and nothing else.
//!
//! Written by hand on `ring`, because the algorithm, the type and the clock are not the token's to choose: the
//! header is compared with the one we would have written, time is an argument, and unknown or repeated members
//! are refused. A library's defaults (its own clock, its own leeway, a list of algorithms) would have to be
//! switched off one by one.

use std::marker::PhantomData;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ring::signature::{ED25519, Ed25519KeyPair, UnparsedPublicKey};
use serde::{Deserialize, Serialize};

use crate::ids::{InstanceId, KeyId, NodeId, ProjectId, ServiceAccountId, TenantId};
use crate::{Secret, Timestamp};

/// Longest life of an access token, whatever the configuration says.
pub const MAX_TOKEN_TTL_SECONDS: u32 = 900;
/// An assertion is used at once; five minutes leave room for a slow start.
pub const MAX_ASSERTION_TTL_SECONDS: i64 = 300;
/// Clocks of machines may differ by this much.
pub const CLOCK_SKEW_SECONDS: i64 = 60;
/// Larger than any token we make; checked before any work is done.
pub const MAX_TOKEN_BYTES: usize = 4096;

/// What a node's assertion is made for.
pub const NODE_TOKEN_AUDIENCE: &str = "gpuaas-node-token";

const ASSERTION_TYPE: &str = "gpuaas-assertion+jwt";
const NODE_ASSERTION_TYPE: &str = "gpuaas-node-assertion+jwt";
const IDENTITY_TYPE: &str = "gpuaas-identity+jwt";

/// Why a token is refused. For the log and the tests; callers get one answer for all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    TooLarge,
    Malformed,
    WrongHeader,
    UnknownKey,
    BadSignature,
    WrongIssuer,
    WrongAudience,
    Expired,
    NotYetValid,
    TooLongLived,
    BadNonce,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    alg: String,
    typ: String,
    kid: String,
}

/// What a machine (an account, or a node) says to get a token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Assertion<Id = ServiceAccountId> {
    /// The machine; `iss` and `sub` are the same.
    pub iss: Id,
    pub sub: Id,
    pub aud: String,
    /// The nonce: 16 to 128 characters, used once.
    pub jti: String,
    pub iat: i64,
    pub exp: i64,
}

/// What the platform says about the bearer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AccessClaims {
    pub iss: String,
    pub aud: String,
    pub sub: ServiceAccountId,
    pub tenant_id: TenantId,
    pub project_id: ProjectId,
    /// The key whose assertion bought this token: when it ends, so does the token.
    pub key_id: KeyId,
    pub jti: String,
    pub iat: i64,
    pub exp: i64,
}

/// What the platform says about a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NodeClaims {
    pub iss: String,
    pub aud: String,
    pub sub: NodeId,
    pub jti: String,
    pub iat: i64,
    pub exp: i64,
}

/// What the platform says about an instance that speaks for itself. A type of its own: every route but the instance's own
/// ones fails to read it, whatever its account may hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InstanceClaims {
    pub iss: String,
    pub aud: String,
    pub sub: ServiceAccountId,
    pub tenant_id: TenantId,
    pub project_id: ProjectId,
    pub app_instance_id: InstanceId,
    /// The launch that the key was made for: a later one has another key.
    pub generation: i64,
    pub key_id: KeyId,
    pub jti: String,
    pub iat: i64,
    pub exp: i64,
}

/// What the gateway says to an app about who is there. Good for that app only, and for nothing at the platform.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IdentityClaims {
    pub iss: String,
    /// The instance.
    pub aud: String,
    pub sub: String,
    /// `user` or `endpoint_token`.
    pub kind: String,
    pub endpoint: String,
    pub project_id: ProjectId,
    pub iat: i64,
    pub exp: i64,
}

/// For the header that tells an app who is there.
pub fn sign_identity(key: &Ed25519KeyPair, key_id: &str, claims: &IdentityClaims) -> String {
    sign(key, IDENTITY_TYPE, key_id, claims)
}

fn sign(key: &Ed25519KeyPair, typ: &str, kid: &str, claims: &impl Serialize) -> String {
    let header = Header { alg: "EdDSA".into(), typ: typ.into(), kid: kid.into() };
    let part = |bytes: Vec<u8>| URL_SAFE_NO_PAD.encode(bytes);
    let signed = format!(
        "{}.{}",
        part(serde_json::to_vec(&header).expect("a header is plain strings")),
        part(serde_json::to_vec(claims).expect("claims are plain values")),
    );
    let signature = URL_SAFE_NO_PAD.encode(key.sign(signed.as_bytes()).as_ref());
    format!("{signed}.{signature}")
}

/// A token taken apart, its header accepted, its signature not yet checked: all it offers is the key to look up.
pub struct Unverified<'t, C> {
    pub key_id: String,
    signed: &'t str,
    claims: Vec<u8>,
    signature: Vec<u8>,
    kind: PhantomData<C>,
}

fn take_apart<'t, C>(token: &'t str, typ: &str) -> Result<Unverified<'t, C>, Refusal> {
    if token.len() > MAX_TOKEN_BYTES {
        return Err(Refusal::TooLarge);
    }
    let (signed, signature) = token.rsplit_once('.').ok_or(Refusal::Malformed)?;
    let (header, claims) = signed.split_once('.').ok_or(Refusal::Malformed)?;
    let decode = |part: &str| URL_SAFE_NO_PAD.decode(part).map_err(|_| Refusal::Malformed);
    let header: Header = object(&decode(header)?).ok_or(Refusal::WrongHeader)?;
    if header.alg != "EdDSA" || header.typ != typ {
        return Err(Refusal::WrongHeader);
    }
    let (claims, signature) = (decode(claims)?, decode(signature)?);
    Ok(Unverified { key_id: header.kid, signed, claims, signature, kind: PhantomData })
}

/// A JSON object and nothing else: derived readers would also take the members as a plain list.
fn object<T: for<'de> Deserialize<'de>>(bytes: &[u8]) -> Option<T> {
    bytes.starts_with(b"{").then(|| serde_json::from_slice(bytes).ok()).flatten()
}

impl<C: for<'de> Deserialize<'de>> Unverified<'_, C> {
    fn verify(&self, public_key: &[u8; 32]) -> Result<C, Refusal> {
        UnparsedPublicKey::new(&ED25519, public_key)
            .verify(self.signed.as_bytes(), &self.signature)
            .map_err(|_| Refusal::BadSignature)?;
        object(&self.claims).ok_or(Refusal::Malformed)
    }
}

fn check_times(iat: i64, exp: i64, longest: i64, skew: i64, now: Timestamp) -> Result<(), Refusal> {
    let now = now.unix_seconds();
    let life = exp.checked_sub(iat).ok_or(Refusal::Malformed)?;
    if life <= 0 || life > longest {
        return Err(Refusal::TooLongLived);
    }
    if now >= exp.saturating_add(skew) {
        return Err(Refusal::Expired);
    }
    if iat > now.saturating_add(skew) {
        return Err(Refusal::NotYetValid);
    }
    Ok(())
}

/// PKCS#8 version 1 around an Ed25519 seed, as OpenSSL and ring read it.
pub fn pkcs8_pem(seed: &Secret<[u8; 32]>) -> Secret<String> {
    const HEAD: [u8; 16] =
        [0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20];
    let der = Secret::new([HEAD.as_slice(), seed.expose()].concat());
    let body = Secret::new(STANDARD.encode(der.expose()));
    Secret::new(format!("-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n", body.expose()))
}

pub fn sign_assertion(key: &Ed25519KeyPair, key_id: KeyId, assertion: &Assertion) -> String {
    sign(key, ASSERTION_TYPE, &key_id.to_string(), assertion)
}

pub fn open_assertion(token: &str) -> Result<Unverified<'_, Assertion>, Refusal> {
    take_apart(token, ASSERTION_TYPE)
}

/// A node has one key; its header names the node itself.
pub fn sign_node_assertion(key: &Ed25519KeyPair, assertion: &Assertion<NodeId>) -> String {
    sign(key, NODE_ASSERTION_TYPE, &assertion.sub.to_string(), assertion)
}

pub fn open_node_assertion(token: &str) -> Result<Unverified<'_, Assertion<NodeId>>, Refusal> {
    take_apart(token, NODE_ASSERTION_TYPE)
}

/// Checks an assertion against the key its header named, which belongs to `machine`.
pub fn check_assertion<Id: PartialEq + Copy + for<'de> Deserialize<'de>>(
    unverified: &Unverified<'_, Assertion<Id>>,
    machine: Id,
    public_key: &[u8; 32],
    audience: &str,
    now: Timestamp,
) -> Result<Assertion<Id>, Refusal> {
    let assertion = unverified.verify(public_key)?;
    if assertion.iss != machine || assertion.sub != machine {
        return Err(Refusal::WrongIssuer);
    }
    if assertion.aud != audience {
        return Err(Refusal::WrongAudience);
    }
    check_times(assertion.iat, assertion.exp, MAX_ASSERTION_TTL_SECONDS, CLOCK_SKEW_SECONDS, now)?;
    let nonce_ok = (16..=128).contains(&assertion.jti.len())
        && assertion.jti.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
    if !nonce_ok {
        return Err(Refusal::BadNonce);
    }
    Ok(assertion)
}

/// Whether a bearer looks like one of our access tokens at all; decides only which verifier is asked.
pub fn looks_like_jwt(token: &str) -> bool {
    token.bytes().filter(|b| *b == b'.').count() == 2
}

/// What every access token says about itself.
pub struct Issue<'c> {
    iss: &'c str,
    aud: &'c str,
    iat: i64,
    exp: i64,
}

/// An access token that the platform gives. Each kind names itself in the header, so that none is read as another.
pub trait Access: Serialize + for<'de> Deserialize<'de> {
    const TYPE: &'static str;

    fn issue(&self) -> Issue<'_>;
}

macro_rules! access {
    ($($claims:ty = $typ:literal;)*) => {$(
        impl Access for $claims {
            const TYPE: &'static str = $typ;

            fn issue(&self) -> Issue<'_> {
                Issue { iss: &self.iss, aud: &self.aud, iat: self.iat, exp: self.exp }
            }
        }
    )*};
}

access! {
    AccessClaims = "gpuaas-access+jwt";
    NodeClaims = "gpuaas-node-access+jwt";
    InstanceClaims = "gpuaas-instance-access+jwt";
}

pub fn sign_access<C: Access>(key: &Ed25519KeyPair, signer: &str, claims: &C) -> String {
    sign(key, C::TYPE, signer, claims)
}

pub fn open_access<C: Access>(token: &str) -> Result<Unverified<'_, C>, Refusal> {
    take_apart(token, C::TYPE)
}

/// Our own clock made the token, so it ends to the second, without leeway.
pub fn check_access<C: Access>(
    unverified: &Unverified<'_, C>,
    public_key: &[u8; 32],
    issuer: &str,
    audience: &str,
    now: Timestamp,
) -> Result<C, Refusal> {
    let claims = unverified.verify(public_key)?;
    let Issue { iss, aud, iat, exp } = claims.issue();
    if iss != issuer {
        return Err(Refusal::WrongIssuer);
    }
    if aud != audience {
        return Err(Refusal::WrongAudience);
    }
    match check_times(iat, exp, i64::from(MAX_TOKEN_TTL_SECONDS), 0, now) {
        // Replicas' clocks may differ a little about when a token was made, never about when it ends.
        Err(Refusal::NotYetValid) if iat <= now.unix_seconds() + CLOCK_SKEW_SECONDS => {}
        judged => judged?,
    }
    Ok(claims)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ring::signature::KeyPair as _;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_unix_seconds(1_800_000_000 + seconds).unwrap()
    }

    fn key() -> Ed25519KeyPair {
        Ed25519KeyPair::from_seed_unchecked(&[9; 32]).unwrap()
    }

    fn public(key: &Ed25519KeyPair) -> [u8; 32] {
        key.public_key().as_ref().try_into().unwrap()
    }

    fn account() -> ServiceAccountId {
        ServiceAccountId::new(uuid::Uuid::from_u128(3))
    }

    fn claims() -> AccessClaims {
        AccessClaims {
            iss: "platform".into(),
            aud: "api".into(),
            sub: account(),
            tenant_id: TenantId::new(uuid::Uuid::from_u128(1)),
            project_id: ProjectId::new(uuid::Uuid::from_u128(2)),
            key_id: KeyId::new(uuid::Uuid::from_u128(4)),
            jti: "j".into(),
            iat: at(0).unix_seconds(),
            exp: at(900).unix_seconds(),
        }
    }

    fn check(token: &str, now: Timestamp) -> Result<AccessClaims, Refusal> {
        check_access(&open_access::<AccessClaims>(token)?, &public(&key()), "platform", "api", now)
    }

    /// A06: a token lives to the second, and never longer than 900.
    #[test]
    fn an_access_token_ends_exactly_when_it_says() {
        let token = sign_access(&key(), "k", &claims());
        assert!(check(&token, at(899)).is_ok());
        assert_eq!(check(&token, at(900)), Err(Refusal::Expired));
        assert_eq!(check(&token, at(961)), Err(Refusal::Expired));
        let long = AccessClaims { exp: at(901).unix_seconds(), ..claims() };
        assert_eq!(check(&sign_access(&key(), "k", &long), at(0)), Err(Refusal::TooLongLived));
    }

    #[test]
    fn a_token_made_in_the_future_is_refused() {
        let token = sign_access(&key(), "k", &claims());
        assert!(check(&token, at(-60)).is_ok());
        assert_eq!(check(&token, at(-61)), Err(Refusal::NotYetValid));
    }

    /// A08: an assertion is not an access token and the other way round, even under the same key.
    #[test]
    fn types_are_not_interchangeable() {
        let now = at(0).unix_seconds();
        let assertion = Assertion {
            iss: account(),
            sub: account(),
            aud: "api".into(),
            jti: "0123456789abcdef".into(),
            iat: now,
            exp: now + 60,
        };
        let signed = sign_assertion(&key(), KeyId::new(uuid::Uuid::from_u128(4)), &assertion);
        assert_eq!(check(&signed, at(0)), Err(Refusal::WrongHeader));
        assert!(open_assertion(&sign_access(&key(), "k", &claims())).is_err());
        let opened = open_assertion(&signed).unwrap();
        assert_eq!(check_assertion(&opened, account(), &public(&key()), "api", at(0)), Ok(assertion));
        assert_eq!(
            check_assertion(&opened, account(), &public(&key()), "other", at(0)),
            Err(Refusal::WrongAudience)
        );
        assert_eq!(
            check_assertion(&opened, account(), &public(&key()), "api", at(121)),
            Err(Refusal::Expired)
        );
    }

    fn instance_claims() -> InstanceClaims {
        let AccessClaims { iss, aud, sub, tenant_id, project_id, key_id, jti, iat, exp } = claims();
        let app_instance_id = InstanceId::new(uuid::Uuid::from_u128(5));
        InstanceClaims {
            iss,
            aud,
            sub,
            tenant_id,
            project_id,
            app_instance_id,
            generation: 1,
            key_id,
            jti,
            iat,
            exp,
        }
    }

    /// A06, K-09: an instance's token lives to the second and at most 900 of them.
    #[test]
    fn an_instance_token_ends_exactly_when_it_says() {
        let check = |claims: &InstanceClaims, now| {
            let token = sign_access(&key(), "k", claims);
            let opened = open_access::<InstanceClaims>(&token).unwrap();
            check_access(&opened, &public(&key()), "platform", "api", now)
        };
        let claims = instance_claims();
        assert_eq!(check(&claims, at(899)), Ok(claims.clone()));
        assert_eq!(check(&claims, at(900)), Err(Refusal::Expired));
        let long = InstanceClaims { exp: at(901).unix_seconds(), ..claims.clone() };
        assert_eq!(check(&long, at(0)), Err(Refusal::TooLongLived));
        let elsewhere = InstanceClaims { aud: "gpuaas-api".into(), ..claims };
        assert_eq!(check(&elsewhere, at(0)), Err(Refusal::WrongAudience));
    }

    /// K-09, A08: an instance's token is no access token of the API or of a node, and neither of those is one of an
    /// instance, under the same key and audience.
    #[test]
    fn an_instance_token_opens_nothing_else() {
        let instance = sign_access(&key(), "k", &instance_claims());
        assert_eq!(open_access::<AccessClaims>(&instance).err(), Some(Refusal::WrongHeader));
        assert_eq!(open_access::<NodeClaims>(&instance).err(), Some(Refusal::WrongHeader));
        assert_eq!(open_assertion(&instance).err(), Some(Refusal::WrongHeader));
        let access = sign_access(&key(), "k", &claims());
        assert_eq!(open_access::<InstanceClaims>(&access).err(), Some(Refusal::WrongHeader));
    }
}
