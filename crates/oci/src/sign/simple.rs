//! Simple signing: a small text that names digest and repository, signed as it is.

use chrono::{DateTime, Utc};
use serde::Serialize;

use super::{MAX_PAYLOAD_BYTES, Policy, Refusal, Verified, decode_signature, shown};
use crate::json::{self, BadJson, Json};
use crate::{Digest, Name};

const TYPE: &str = "cosign container image signature";

#[derive(Serialize)]
struct Payload<'a> {
    critical: Critical<'a>,
    optional: Optional,
}

#[derive(Serialize)]
struct Critical<'a> {
    identity: Identity,
    image: Image<'a>,
    #[serde(rename = "type")]
    kind: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct Identity {
    docker_reference: String,
}

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct Image<'a> {
    docker_manifest_digest: &'a str,
}

#[derive(Serialize)]
struct Optional {
    creator: &'static str,
    timestamp: i64,
}

/// The text to sign for an image under a name.
pub fn simple_payload(name: &Name, digest: &Digest, at: DateTime<Utc>) -> Vec<u8> {
    let payload = Payload {
        critical: Critical {
            identity: Identity { docker_reference: name.to_string() },
            image: Image { docker_manifest_digest: digest.as_str() },
            kind: TYPE,
        },
        optional: Optional {
            creator: concat!("gpuaas-oci/", env!("CARGO_PKG_VERSION")),
            timestamp: at.timestamp(),
        },
    };
    serde_json::to_vec(&payload).expect("text and numbers only")
}

pub(super) fn check(payload: &[u8], signature: &str, policy: &Policy<'_>) -> Result<Verified, Refusal> {
    if payload.len() > MAX_PAYLOAD_BYTES {
        return Err(Refusal::TooLarge { bytes: payload.len() as u64, most: MAX_PAYLOAD_BYTES as u64 });
    }
    let signer = policy.signer(payload, &decode_signature(signature)?)?;
    let claims = read(payload).map_err(Refusal::Payload)?;
    if claims.kind != TYPE {
        return Err(Refusal::Type { found: shown(&claims.kind) });
    }
    if claims.digest != policy.digest.as_str() {
        return Err(Refusal::OtherDigest { found: shown(&claims.digest) });
    }
    policy.check_name(claims.reference.as_deref())?;
    let claimed_at = claims.timestamp.map(instant).transpose()?;
    policy.check_time(claimed_at)?;
    Ok(Verified {
        signer,
        statement: Digest::of(payload),
        claimed_at,
        checked_at: policy.now,
        predicate_type: None,
        payload: payload.to_vec(),
    })
}

struct Claims {
    kind: String,
    digest: String,
    reference: Option<String>,
    timestamp: Option<u64>,
}

fn read(payload: &[u8]) -> Result<Claims, BadJson> {
    let document = json::read(payload, MAX_PAYLOAD_BYTES)?;
    let top = document.open("", &["critical", "optional"])?;
    let critical = top.get("critical")?.open("critical", &["identity", "image", "type"])?;
    let identity = critical.get("identity")?.open("critical.identity", &["docker-reference"])?;
    let image = critical.get("image")?.open("critical.image", &["docker-manifest-digest"])?;
    let timestamp = match top.find("optional") {
        None => None,
        Some(optional) => match optional.open("optional", &["timestamp"])?.find("timestamp") {
            None => None,
            Some(Json::Unsigned(seconds)) => Some(*seconds),
            Some(_) => {
                let path = "optional.timestamp".to_owned();
                return Err(BadJson::WrongType { path, wanted: "a count of seconds" });
            }
        },
    };
    Ok(Claims {
        kind: critical.text("type")?.to_owned(),
        digest: image.text("docker-manifest-digest")?.to_owned(),
        reference: identity.find_text("docker-reference")?.map(str::to_owned),
        timestamp,
    })
}

fn instant(seconds: u64) -> Result<DateTime<Utc>, Refusal> {
    let seconds = i64::try_from(seconds).map_err(|_| Refusal::MalformedTime)?;
    DateTime::from_timestamp(seconds, 0).ok_or(Refusal::MalformedTime)
}
