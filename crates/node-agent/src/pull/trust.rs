//! Whether somebody whom the platform trusts stands for an image: judged here, from the signatures themselves.

use gpuaas_agent_protocol::FailureReason;
use gpuaas_api::agent::ImageTrust;
use gpuaas_domain::Timestamp;
use gpuaas_oci::sign::{Policy, PublicKey, Purpose, TrustedKey, Unnamed, Verdict};
use gpuaas_oci::{ClientError, Digest, Name, Registry, Repository};

use crate::seams::Failure;

/// A person reads them; whoever may write beside an image may write many.
const MOST_TOLD: usize = 4;
const MOST_LETTERS: usize = 300;

/// What lies beside the image, each judged.
pub(super) async fn look(
    registry: &Registry,
    repository: &Repository,
    digest: &Digest,
    trust: &ImageTrust,
    now: Timestamp,
) -> Result<Verdict, ClientError> {
    let names: Vec<Name> = readable(&trust.names, "a name", |name| name.parse());
    let keys = readable(&trust.keys, "a key", |key| {
        let valid_until = key.valid_until.map(Timestamp::to_datetime);
        PublicKey::from_pem(&key.public_key).map(|key| TrustedKey { key, revoked: false, valid_until })
    });
    let policy = Policy {
        digest,
        names: &names,
        keys: &keys,
        now: now.to_datetime(),
        max_age: None,
        unnamed: if trust.accept_unnamed { Unnamed::Accept } else { Unnamed::Refuse },
        predicate_types: &[],
    };
    registry.verify(repository, Purpose::Signature, &policy).await
}

/// One that cannot be read makes nothing trusted, and nothing else untrusted.
fn readable<T, U, E: std::fmt::Display>(all: &[T], what: &str, read: impl Fn(&T) -> Result<U, E>) -> Vec<U> {
    let read = all.iter().map(read);
    let warn = |error: &E| tracing::warn!("{what} of the platform's trust cannot be read: {error}");
    read.filter_map(|one| one.inspect_err(warn).ok()).collect()
}

/// One signature that holds is enough; none is a refusal, or a warning where the platform only warns.
pub(super) fn judge(reference: &str, trust: &ImageTrust, verdict: &Verdict) -> Result<(), Failure> {
    if !verdict.verified.is_empty() {
        return Ok(());
    }
    let why = format!("{reference}: {}", told(verdict));
    if trust.enforce {
        return Err(Failure::new(FailureReason::ImageUntrusted, why));
    }
    tracing::warn!("an image is used without a signature that holds: {why}");
    Ok(())
}

fn told(verdict: &Verdict) -> String {
    if verdict.refused.is_empty() {
        return "no signature lies beside the image".to_owned();
    }
    let short = |text: String| text.chars().take(MOST_LETTERS).collect::<String>();
    let told = verdict.refused.iter().take(MOST_TOLD);
    let mut told: Vec<String> = told.map(|(origin, why)| short(format!("{origin}: {why}"))).collect();
    if verdict.refused.len() > MOST_TOLD {
        told.push(format!("and {} more", verdict.refused.len() - MOST_TOLD));
    }
    format!("no signature holds: {}", told.join("; "))
}
