//! The keys that may stand for images: each project's own, and the platform's for all.

use gpuaas_domain::artifact::{Artifact, Trust, TrustKey};
use gpuaas_domain::event::{Change, EventType, ObjectRef};
use gpuaas_domain::iam::Permission;
use gpuaas_domain::ids::{ProjectId, TrustKeyId};
use gpuaas_domain::limit::Limit;
use gpuaas_domain::text::Slug;
use gpuaas_domain::{Error, Result, Timestamp};
use gpuaas_oci::sign::PublicKey;
use serde_json::{Value, json};

use super::artifacts;
use crate::context::Target;
use crate::{OpContext, Prepared};

/// Of one revocation; the rest is told by the key itself, which does not count any more.
const MOST_ARTIFACTS: i64 = 10_000;

fn view(key: &TrustKey) -> Value {
    json!({"key_id": key.id, "name": key.name, "fingerprint": key.fingerprint, "algorithm": key.algorithm,
           "project_id": key.owner.map(|(_, project)| project), "valid_until": key.valid_until,
           "revoked_at": key.revoked_at, "version": key.version})
}

fn target(project: Option<ProjectId>) -> Target {
    project.map_or(Target::Platform, Target::Project)
}

pub async fn list(ctx: &OpContext, project: Option<ProjectId>) -> Result<Vec<TrustKey>> {
    ctx.permit_at(Permission::TrustKeyRead, target(project)).await?;
    ctx.plane.store.read().await?.list_trust_keys(project).await
}

pub async fn add(
    ctx: &OpContext,
    project: Option<ProjectId>,
    name: Slug,
    public_key: &str,
    valid_until: Option<Timestamp>,
) -> Result<Prepared<TrustKey>> {
    let permit = ctx.permit_at(Permission::TrustKeyManage, target(project)).await?;
    if public_key.contains("PRIVATE KEY") {
        return Err(Error::field(
            "/public_key",
            "raw_secret_not_allowed",
            "This is a private key. Keep it to yourself and send the public half; make a new pair if it was sent elsewhere too.",
        ));
    }
    let key = PublicKey::from_pem(public_key)
        .map_err(|why| Error::field("/public_key", "invalid_key", format!("{why}.")))?;
    let mut tx = ctx.begin(&permit).await?;
    if let Some(project) = project {
        tx.lock_project(project).await?;
    }
    if valid_until.is_some_and(|end| end <= tx.at()) {
        return Err(Error::field("/valid_until", "out_of_range", "The key would be over already."));
    }
    let fingerprint = key.id().to_string();
    let known = tx.list_trust_keys(project).await?;
    if let Some(known) = known.iter().find(|known| {
        known.fingerprint == fingerprint
            && (known.revoked_at.is_some() || known.owner.map(|(_, owner)| owner) == project)
    }) {
        let sentence = if known.revoked_at.is_some() {
            "This key was revoked; make a new one."
        } else {
            "This key is there already."
        };
        return Err(Error::conflict("key_exists", sentence).with_param("key_id", known.id.to_string()));
    }
    let limit = tx.effective_limit(permit.scope(), Limit::TrustKeys).await?;
    let own = known.iter().filter(|known| known.owner.map(|(_, owner)| owner) == project).count();
    Limit::TrustKeys.check(limit, i64::try_from(own).unwrap_or(i64::MAX))?;
    let added = TrustKey {
        id: TrustKeyId::new(ctx.plane.new_uuid()),
        owner: permit.scope().tenant().zip(permit.scope().project()),
        name: name.into(),
        fingerprint,
        algorithm: key.algorithm().to_owned(),
        public_key: key.to_pem(),
        valid_until,
        revoked_at: None,
        revoked_reason: None,
        version: 1,
        created_at: tx.at(),
    };
    tx.insert_trust_key(&added).await?;
    let change = Change::new(ctx.route.action, ObjectRef::new("trust_key", added.id))
        .after(view(&added))
        .event(EventType::TrustKeyAdded, view(&added));
    Ok(Prepared::new(tx, change, added))
}

/// What the key stood for is not verified any more, in the same breath (F-23).
pub async fn revoke(
    ctx: &OpContext,
    project: Option<ProjectId>,
    id: TrustKeyId,
    reason: Option<String>,
) -> Result<Prepared<TrustKey>> {
    let permit = ctx.permit_at(Permission::TrustKeyManage, target(project)).await?;
    let mut tx = ctx.begin(&permit).await?;
    let before = tx.find_trust_key(permit.tenant_scope(), id).await?.ok_or_else(Error::not_found)?;
    ctx.check_version(before.version)?;
    if before.revoked_at.is_some() {
        let change = Change::new(ctx.route.action, ObjectRef::new("trust_key", id)).after(view(&before));
        return Ok(Prepared::new(tx, change.because(reason), before));
    }
    let after = tx.revoke_trust_key(before.clone(), reason.clone()).await?;
    // By the key itself: it may be registered under other names too, and a stolen key is stolen under all of them.
    for artifact in tx.list_artifacts_signed_by(&after.fingerprint, project, MOST_ARTIFACTS).await? {
        let why = format!("Its key {} was revoked.", after.name);
        let trust = Trust { signed_as: artifact.trust.signed_as.clone(), ..Trust::unverified(Some(why)) };
        let lost = tx.update_artifact(Artifact { trust, ..artifact }).await?;
        artifacts::raise_findings(ctx, &mut tx, &lost).await?;
        let change = Change::new("artifacts.trust_lost", ObjectRef::new("app_artifact", lost.id))
            .at(lost.repository.scope())
            .after(json!({"artifact_id": lost.id, "digest": lost.digest.as_str(), "trust": lost.trust.state.name(),
                          "reason": lost.trust.reason}))
            .event(EventType::ArtifactTrustChanged, json!({"artifact_id": lost.id, "digest": lost.digest.as_str(),
                          "trust": lost.trust.state.name(), "trust_reason": lost.trust.reason}));
        let stamp = ctx.stamp();
        tx.record(&stamp, change).await?;
    }
    let change = Change::new(ctx.route.action, ObjectRef::new("trust_key", id))
        .before(view(&before))
        .after(view(&after))
        .because(reason)
        .event(EventType::TrustKeyRevoked, view(&after));
    Ok(Prepared::new(tx, change, after))
}
