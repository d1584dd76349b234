//! Signed tokens of machines: the *assertion* an account signs with its own key, and the *access token* the
//! platform gives for it. Both are compact JWTs with Ed25519 and nothing else.
//!
//! Written by hand on `ring`, because the algorithm, the type and the clock are not the token's to choose: the
//! header is compared with the one we would have written, time is an argument, and unknown or repeated members
//! are refused. A library's defaults (its own clock, its own leeway, a list of algorithms) would have to be
//! switched off one by one.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{ED25519, Ed25519KeyPair, UnparsedPublicKey};
use serde::{Deserialize, Serialize};

use crate::Timestamp;
use crate::ids::{KeyId, NodeId, ProjectId, ServiceAccountId, TenantId};

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
const ACCESS_TYPE: &str = "gpuaas-access+jwt";
const NODE_ASSERTION_TYPE: &str = "gpuaas-node-assertion+jwt";
const NODE_ACCESS_TYPE: &str = "gpuaas-node-access+jwt";

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
pub struct Unverified<'t> {
    pub key_id: String,
    signed: &'t str,
    claims: Vec<u8>,
    signature: Vec<u8>,
}

fn take_apart<'t>(token: &'t str, typ: &str) -> Result<Unverified<'t>, Refusal> {
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
    Ok(Unverified { key_id: header.kid, signed, claims: decode(claims)?, signature: decode(signature)? })
}

/// A JSON object and nothing else: derived readers would also take the members as a plain list.
fn object<T: for<'de> Deserialize<'de>>(bytes: &[u8]) -> Option<T> {
    bytes.starts_with(b"{").then(|| serde_json::from_slice(bytes).ok()).flatten()
}

impl Unverified<'_> {
    fn verify<T: for<'de> Deserialize<'de>>(&self, public_key: &[u8; 32]) -> Result<T, Refusal> {
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

pub fn sign_assertion(key: &Ed25519KeyPair, key_id: KeyId, assertion: &Assertion) -> String {
    sign(key, ASSERTION_TYPE, &key_id.to_string(), assertion)
}

pub fn open_assertion(token: &str) -> Result<Unverified<'_>, Refusal> {
    take_apart(token, ASSERTION_TYPE)
}

/// A node has one key; its header names the node itself.
pub fn sign_node_assertion(key: &Ed25519KeyPair, assertion: &Assertion<NodeId>) -> String {
    sign(key, NODE_ASSERTION_TYPE, &assertion.sub.to_string(), assertion)
}

pub fn open_node_assertion(token: &str) -> Result<Unverified<'_>, Refusal> {
    take_apart(token, NODE_ASSERTION_TYPE)
}

/// Checks an assertion against the key its header named, which belongs to `machine`.
pub fn check_assertion<Id: PartialEq + Copy + for<'de> Deserialize<'de>>(
    unverified: &Unverified<'_>,
    machine: Id,
    public_key: &[u8; 32],
    audience: &str,
    now: Timestamp,
) -> Result<Assertion<Id>, Refusal> {
    let assertion: Assertion<Id> = unverified.verify(public_key)?;
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

pub fn sign_access(key: &Ed25519KeyPair, signer: &str, claims: &AccessClaims) -> String {
    sign(key, ACCESS_TYPE, signer, claims)
}

/// Whether a bearer looks like one of our access tokens at all; decides only which verifier is asked.
pub fn looks_like_jwt(token: &str) -> bool {
    token.bytes().filter(|b| *b == b'.').count() == 2
}

pub fn open_access(token: &str) -> Result<Unverified<'_>, Refusal> {
    take_apart(token, ACCESS_TYPE)
}

pub fn sign_node_access(key: &Ed25519KeyPair, signer: &str, claims: &NodeClaims) -> String {
    sign(key, NODE_ACCESS_TYPE, signer, claims)
}

pub fn open_node_access(token: &str) -> Result<Unverified<'_>, Refusal> {
    take_apart(token, NODE_ACCESS_TYPE)
}

pub fn check_node_access(
    unverified: &Unverified<'_>,
    public_key: &[u8; 32],
    issuer: &str,
    audience: &str,
    now: Timestamp,
) -> Result<NodeClaims, Refusal> {
    let claims: NodeClaims = unverified.verify(public_key)?;
    check_bearer(&claims.iss, &claims.aud, claims.iat, claims.exp, issuer, audience, now)?;
    Ok(claims)
}

pub fn check_access(
    unverified: &Unverified<'_>,
    public_key: &[u8; 32],
    issuer: &str,
    audience: &str,
    now: Timestamp,
) -> Result<AccessClaims, Refusal> {
    let claims: AccessClaims = unverified.verify(public_key)?;
    check_bearer(&claims.iss, &claims.aud, claims.iat, claims.exp, issuer, audience, now)?;
    Ok(claims)
}

/// Our own clock made the token, so it ends to the second, without leeway.
fn check_bearer(
    iss: &str,
    aud: &str,
    iat: i64,
    exp: i64,
    issuer: &str,
    audience: &str,
    now: Timestamp,
) -> Result<(), Refusal> {
    if iss != issuer {
        return Err(Refusal::WrongIssuer);
    }
    if aud != audience {
        return Err(Refusal::WrongAudience);
    }
    let longest = i64::from(MAX_TOKEN_TTL_SECONDS);
    check_times(iat, exp, longest, 0, now).or_else(|refusal| match refusal {
        // Replicas' clocks may differ a little about when a token was made, never about when it ends.
        Refusal::NotYetValid if iat <= now.unix_seconds() + CLOCK_SKEW_SECONDS => Ok(()),
        other => Err(other),
    })
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
        check_access(&open_access(token)?, &public(&key()), "platform", "api", now)
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
}
