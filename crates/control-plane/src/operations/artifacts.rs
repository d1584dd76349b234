//! Artifacts: registering what was pushed, verifying who stands for it, promoting and withdrawing it.
//!
//! The registry is asked before a transaction begins, never inside one. Every change says actor, project, repository, digest
//! and whether a machine did it (F-20).

use gpuaas_agent_protocol::Digest;
use gpuaas_domain::artifact::{
    self, Artifact, ArtifactState, Repository, Trust, TrustKey, TrustMode, TrustState,
};
use gpuaas_domain::event::{Change, EventType, ObjectRef};
use gpuaas_domain::iam::{Actor, Permission, Permit};
use gpuaas_domain::ids::{ArtifactId, ProjectId, TenantId};
use gpuaas_domain::page::{Page, PageRequest};
use gpuaas_domain::text::Slug;
use gpuaas_domain::{Error, Kind, Result, Timestamp};
use gpuaas_oci::manifest::Manifest;
use gpuaas_oci::sign::{Policy, PublicKey, Purpose, TrustedKey, Unnamed, Verified};
use gpuaas_oci::{ClientError, Name, Registry};
use gpuaas_store::Tx;
use gpuaas_store::artifacts::{StoredPromotion, VersionUse};
use serde_json::{Value, json};

use crate::plane::ControlPlane;
use crate::{OpContext, Prepared};

const SOURCE_FACTS: usize = 20;
const SOURCE_LETTERS: usize = 500;
/// Statements about how an image came to be.
const PROVENANCE: &[&str] = &[gpuaas_oci::sign::SLSA_PROVENANCE_V1, gpuaas_oci::sign::SLSA_PROVENANCE_V02];

/// What a caller says about an image that was pushed.
pub struct NewArtifact {
    pub repository: String,
    pub digest: String,
    pub tag: Option<String>,
    pub media_type: Option<String>,
    pub variant: Option<Slug>,
    pub source: std::collections::BTreeMap<String, String>,
}

fn view(ctx: &OpContext, artifact: &Artifact, permit: &Permit) -> Value {
    json!({
        "artifact_id": artifact.id, "project_id": artifact.repository.project_id,
        "repository": ctx.plane.registry().names.repository(&artifact.repository.path()),
        "digest": artifact.digest.as_str(), "status": artifact.state.name(), "channel": artifact.channel,
        "trust": artifact.trust.state.name(), "signer": artifact.trust.signer, "trust_reason": artifact.trust.reason,
        "service_account": matches!(permit.actor(), Actor::ServiceAccount(_)), "version": artifact.version,
    })
}

fn object(artifact: &Artifact) -> ObjectRef {
    ObjectRef::new("app_artifact", artifact.id)
}

/// The registry's refusals as ours.
fn registry_error(error: &ClientError) -> Error {
    match error {
        ClientError::OtherDigest { ours, theirs } => Error::conflict(
            "registry_content_changed",
            format!("The registry holds {theirs} where {ours} should be; its storage was changed."),
        ),
        ClientError::Manifest { why, .. } => Error::new(
            Kind::Unprocessable,
            "manifest_refused",
            format!("The image's manifest is refused: {why}."),
        ),
        error => Error::new(
            Kind::Unavailable,
            "registry_unavailable",
            "The registry cannot be asked now; try again.",
        )
        .with_internal(error.to_string()),
    }
}

/// The project's own repository of this name, with or without the host.
async fn find_own_repository(ctx: &OpContext, project: ProjectId, name: &str) -> Result<Repository> {
    let names = &ctx.plane.registry().names;
    let hosts = std::iter::once(&names.host).chain(&names.also);
    let bare = hosts
        .filter(|host| !host.is_empty())
        .find_map(|host| name.strip_prefix(host.as_str())?.strip_prefix('/'))
        .unwrap_or(name);
    // A name with a host that is not ours reads as a repository that is not ours either.
    let path = names.parse_repository(bare).map_err(|not_ours| {
        let not_ours = if bare.split('/').next().is_some_and(|first| first.contains(['.', ':'])) {
            artifact::NotOurs::OtherRegistry
        } else {
            not_ours
        };
        not_ours.into_error(names)
    })?;
    let found = ctx.plane.store.read().await?.find_repository_by_path(&path).await?;
    found.filter(|found| found.project_id == project).ok_or_else(|| {
        Error::field(
            "/repository",
            "unknown_repository",
            "The project has no such repository; ask for a publish intent.",
        )
    })
}

fn parse_digest(text: &str) -> Result<Digest> {
    text.parse().map_err(|_| {
        if text.starts_with("sha256:") {
            Error::field(
                "/digest",
                "malformed_digest",
                "A digest is sha256: and 64 lower-case hexadecimal digits.",
            )
        } else {
            Error::new(
                Kind::Unprocessable,
                "digest_required",
                "Name the image by digest (sha256:…); a tag may change its meaning and rides along only.",
            )
        }
    })
}

fn check_source(source: &std::collections::BTreeMap<String, String>) -> Result<()> {
    let good = source.len() <= SOURCE_FACTS
        && source.iter().all(|(name, value)| {
            let clean = |text: &str| !text.chars().any(gpuaas_domain::text::is_deceptive);
            !name.is_empty()
                && name.len() <= 100
                && value.len() <= SOURCE_LETTERS
                && clean(name)
                && clean(value)
        });
    let secret = source.values().any(|value| {
        value.contains("://")
            && value
                .split("://")
                .nth(1)
                .is_some_and(|rest| rest.split('/').next().is_some_and(|host| host.contains('@')))
    });
    if secret {
        return Err(Error::field(
            "/source",
            "raw_secret_not_allowed",
            "An address here carries a user or password; leave it out.",
        ));
    }
    if good {
        Ok(())
    } else {
        Err(Error::field(
            "/source",
            "invalid_value",
            "At most 20 facts, names up to 100 and values up to 500 characters of plain text.",
        ))
    }
}

/// What the live registry holds under a digest: its type and the bytes of all its parts.
async fn look(registry: &Registry, repository: &str, digest: &Digest) -> Result<Option<(String, i64)>> {
    let name = repository.parse().map_err(|_| Error::internal("a repository has no name"))?;
    let found = registry.find_manifest(&name, digest).await.map_err(|error| registry_error(&error))?;
    let Some(found) = found else { return Ok(None) };
    let not_an_image = || {
        Error::new(
            Kind::Unprocessable,
            "not_an_image",
            "The digest names something that is no container image.",
        )
    };
    let sum = |parts: Vec<u64>| {
        let sum = parts.into_iter().try_fold(found.bytes.len() as u64, u64::checked_add);
        sum.and_then(|sum| i64::try_from(sum).ok())
    };
    let manifest = found.read().map_err(|why| {
        Error::new(
            Kind::Unprocessable,
            "manifest_refused",
            format!("The image's manifest is refused: {why}."),
        )
    })?;
    let size = match manifest {
        Manifest::Image(image) => {
            // Signatures have the configuration of an image too; their layers say that they are none.
            image.check_runnable().map_err(|why| not_an_image().with_internal(why.to_string()))?;
            sum(image.layers.iter().map(|layer| layer.size).chain([image.config.size]).collect())
        }
        Manifest::Index(index) => {
            if index.artifact_type.is_some() || index.manifests.is_empty() {
                return Err(not_an_image());
            }
            sum(index.manifests.iter().map(|entry| entry.size).collect())
        }
    };
    let size = size.ok_or_else(|| {
        Error::new(Kind::Unprocessable, "manifest_refused", "The sizes of the image overflow.")
    })?;
    Ok(Some((found.media_type, size)))
}

/// Step three of publishing: the digest that was pushed becomes an artifact (F-12).
pub async fn register(ctx: &OpContext, project: ProjectId, new: NewArtifact) -> Result<Prepared<Artifact>> {
    let permit = ctx.permit_project(Permission::ArtifactPublish, project).await?;
    check_source(&new.source)?;
    if let Some(tag) = &new.tag
        && !gpuaas_agent_protocol::image::is_tag(tag)
    {
        return Err(Error::field("/tag", "invalid_value", "A tag is at most 128 letters, digits and . _ -."));
    }
    let digest = parse_digest(&new.digest)?;
    let repository = find_own_repository(ctx, project, &new.repository).await?;
    let name = ctx.plane.registry().names.repository(&repository.path());
    let registry = ctx.plane.registry_client(&name).await?;
    let (media_type, size_bytes) = look(&registry, &name, &digest).await?.ok_or_else(|| {
        Error::field(
            "/digest",
            "unknown_digest",
            "The repository holds nothing of this digest; push it first.",
        )
    })?;
    if new.media_type.is_some_and(|said| said != media_type) {
        return Err(Error::field(
            "/media_type",
            "media_type_differs",
            format!("The registry has it as {media_type}."),
        ));
    }
    let mut tx = ctx.begin(&permit).await?;
    if let Some(known) = tx.find_artifact_by_digest(&repository.path(), &digest).await? {
        return Err(Error::conflict(
            "artifact_exists",
            "This digest is registered in this repository already.",
        )
        .with_param("artifact_id", known.id.to_string()));
    }
    let at = tx.at();
    let artifact = Artifact {
        id: ArtifactId::new(ctx.plane.new_uuid()),
        repository,
        digest,
        tag: new.tag,
        media_type,
        size_bytes,
        variant: new.variant.map(String::from),
        source: json!(new.source),
        state: ArtifactState::Published,
        channel: None,
        trust: Trust::unverified(None),
        created_by_kind: permit.actor().kind().to_owned(),
        created_by_id: permit.actor().id(),
        version: 1,
        created_at: at,
        updated_at: at,
    };
    tx.insert_artifact(&artifact).await?;
    let change = Change::new(ctx.route.action, object(&artifact))
        .after(view(ctx, &artifact, &permit))
        .event(EventType::ArtifactRegistered, view(ctx, &artifact, &permit));
    Ok(Prepared::new(tx, change, artifact))
}

pub async fn list(
    ctx: &OpContext,
    project: ProjectId,
    app: Option<&str>,
    visible: bool,
    page: &PageRequest,
) -> Result<Page<Artifact>> {
    let permit = ctx.permit_project(Permission::ArtifactRead, project).await?;
    let tenant = tenant_of(&permit)?;
    ctx.plane.store.read().await?.list_artifacts(tenant, project, app, visible, page).await
}

fn tenant_of(permit: &Permit) -> Result<TenantId> {
    permit.scope().tenant().ok_or_else(|| Error::internal("a project has a tenant"))
}

/// One artifact that the project may see, with where it was promoted and who uses it.
pub async fn get(
    ctx: &OpContext,
    project: ProjectId,
    id: ArtifactId,
) -> Result<(Artifact, Vec<StoredPromotion>, Vec<VersionUse>)> {
    let permit = ctx.permit_project(Permission::ArtifactRead, project).await?;
    let mut session = ctx.plane.store.read().await?;
    let artifact = session
        .find_visible_artifact(tenant_of(&permit)?, project, id)
        .await?
        .ok_or_else(Error::not_found)?;
    let promotions = session.list_promotions(id).await?;
    let uses = session.list_artifact_uses(&artifact).await?;
    Ok((artifact, promotions, uses))
}

async fn load(ctx: &OpContext, permit: &Permit, id: ArtifactId) -> Result<(Tx, Artifact)> {
    let mut tx = ctx.begin(permit).await?;
    let found = tx.find_artifact(permit.tenant_scope(), id).await?.ok_or_else(Error::not_found)?;
    ctx.check_version(found.version)?;
    Ok((tx, found))
}

/// Looks for a signature that holds, and for a statement about the build.
async fn examine(plane: &ControlPlane, artifact: &Artifact, keys: &[TrustKey]) -> Result<Trust> {
    let names = &plane.registry().names;
    let path = artifact.repository.path();
    if !names.allows(&path) {
        return Err(artifact::NotOurs::OffTheAllowlist.into_error(names));
    }
    let name = names.repository(&path);
    let registry = plane.registry_client(&name).await?;
    let now = plane.now();
    // The name that once was signed is kept: when host or root have changed since, nothing else knows it.
    let failed = |reason: String| Trust {
        at: Some(now),
        signed_as: artifact.trust.signed_as.clone(),
        ..Trust::unverified(Some(reason))
    };
    if look(&registry, &name, &artifact.digest).await?.is_none() {
        return Ok(failed("The registry does not hold it any more.".into()));
    }
    let trusted: Vec<TrustedKey> = keys
        .iter()
        .filter_map(|key| {
            Some(TrustedKey {
                key: PublicKey::from_pem(&key.public_key).ok()?,
                revoked: key.revoked_at.is_some(),
                valid_until: key.valid_until.map(Timestamp::to_datetime),
            })
        })
        .collect();
    let allowed: Vec<Name> = names
        .signing_names(&path, artifact.trust.signed_as.as_deref())
        .iter()
        .filter_map(|name| name.parse().ok())
        .collect();
    let policy = Policy {
        digest: &artifact.digest,
        names: &allowed,
        keys: &trusted,
        now: now.to_datetime(),
        max_age: None,
        unnamed: if plane.settings.registry.accept_unnamed { Unnamed::Accept } else { Unnamed::Refuse },
        predicate_types: PROVENANCE,
    };
    let repository = name.parse().map_err(|_| Error::internal("a repository has no name"))?;
    let verdict = registry
        .verify(&repository, Purpose::Signature, &policy)
        .await
        .map_err(|error| registry_error(&error))?;
    let signature = match verdict.into_one() {
        Ok(verified) => verified,
        Err(refusal) => return Ok(failed(format!("{refusal}."))),
    };
    let statements = registry
        .verify(&repository, Purpose::Provenance, &policy)
        .await
        .map_err(|error| registry_error(&error))?;
    let signer = signature.signer.to_string();
    let key = keys.iter().find(|key| key.fingerprint == signer && key.is_good(now));
    Ok(Trust {
        state: TrustState::Verified,
        key: key.map(|key| key.id),
        at: Some(now),
        until: key.and_then(|key| key.valid_until),
        statement_digest: Some(signature.statement.to_string()),
        provenance_digest: statements.verified.first().map(|verified| verified.statement.to_string()),
        signed_as: name_in(&signature),
        signer: Some(signer),
        reason: None,
    })
}

/// The repository as the signed text names it.
fn name_in(verified: &Verified) -> Option<String> {
    let payload: Value = serde_json::from_slice(&verified.payload).ok()?;
    payload["critical"]["identity"]["docker-reference"].as_str().map(str::to_owned)
}

/// A person has the signatures checked in the live registry; what was found is kept, good or bad (F-21, F-22).
pub async fn verify(ctx: &OpContext, project: ProjectId, id: ArtifactId) -> Result<Prepared<Artifact>> {
    let permit = ctx.permit_project(Permission::ArtifactManage, project).await?;
    let mut session = ctx.plane.store.read().await?;
    let found = session.find_artifact(permit.tenant_scope(), id).await?.ok_or_else(Error::not_found)?;
    check_alive(&found)?;
    if found.trust.state == TrustState::Revoked {
        artifact::check_trust(&found, TrustMode::Warn, ctx.now())?;
    }
    let keys = session.list_trust_keys(Some(project)).await?;
    drop(session);
    let trust = examine(&ctx.plane, &found, &keys).await?;
    let (mut tx, before) = load(ctx, &permit, id).await?;
    if before.version != found.version {
        return Err(Error::stale().with_param("version", before.version));
    }
    // A key that was revoked while the registry was asked does not count.
    let keys = tx.list_trust_keys(Some(project)).await?;
    let good = trust.key.is_none_or(|id| keys.iter().any(|key| key.id == id && key.is_good(tx.at())));
    let trust = if good {
        trust
    } else {
        let signed_as = before.trust.signed_as.clone();
        Trust { signed_as, ..Trust::unverified(Some("Its key was revoked just now.".into())) }
    };
    change_trust(ctx, tx, &permit, before, trust, None).await
}

async fn change_trust(
    ctx: &OpContext,
    mut tx: Tx,
    permit: &Permit,
    before: Artifact,
    trust: Trust,
    reason: Option<String>,
) -> Result<Prepared<Artifact>> {
    let lost = before.trust.state == TrustState::Verified && trust.state != TrustState::Verified;
    let after = tx.update_artifact(Artifact { trust, ..before.clone() }).await?;
    if lost || after.trust.state == TrustState::Revoked {
        raise_findings(ctx, &mut tx, &after).await?;
    }
    let change = Change::new(ctx.route.action, object(&after))
        .before(view(ctx, &before, permit))
        .after(view(ctx, &after, permit))
        .because(reason)
        .event(EventType::ArtifactTrustChanged, view(ctx, &after, permit));
    Ok(Prepared::new(tx, change, after))
}

/// Versions in use that name the artifact cannot be launched any more: the world is told, once for each.
pub(crate) async fn raise_findings(ctx: &OpContext, tx: &mut Tx, artifact: &Artifact) -> Result<()> {
    for used in tx.list_artifact_uses(artifact).await? {
        if !["staged", "canary", "active"].contains(&used.status.as_str()) {
            continue;
        }
        let view = json!({"app_slug": used.app_slug, "app_version": used.app_version, "status": used.status,
                          "artifact_id": artifact.id, "digest": artifact.digest.as_str(),
                          "artifact_status": artifact.state.name(), "trust": artifact.trust.state.name(),
                          "finding": "new launches of this version are refused"});
        let change = Change::new("apps.finding", ObjectRef::new("app_version", used.version_id))
            .after(view.clone())
            .event(EventType::AppVersionFinding, view);
        let stamp = ctx.stamp();
        tx.record(&stamp, change).await?;
    }
    Ok(())
}

fn check_alive(artifact: &Artifact) -> Result<()> {
    match artifact.state {
        ArtifactState::Retired => artifact::check_move(ArtifactState::Retired, ArtifactState::Published),
        _ => Ok(()),
    }
}

/// To the next channel; a service account only as far as policy lets it (F-18, F-24).
pub async fn promote(
    ctx: &OpContext,
    project: ProjectId,
    id: ArtifactId,
    channel: &str,
    reason: Option<String>,
) -> Result<Prepared<Artifact>> {
    let permit = ctx.permit_project(Permission::ArtifactPromote, project).await?;
    let (mut tx, before) = load(ctx, &permit, id).await?;
    let settings = &ctx.plane.settings.registry;
    artifact::check_move(before.state, ArtifactState::Promoted)?;
    settings.channels.check_promotion(before.channel.as_deref(), channel)?;
    if !permit.actor().is_human() && !settings.channels.is_for_machines(channel) {
        return Err(Error::forbidden(
            "human_actor_required",
            format!("A service account may not promote to {channel}; a person with the permission has to."),
        )
        .with_param("channel", channel));
    }
    artifact::check_trust(&before, settings.trust, tx.at())?;
    let actor = permit.actor();
    tx.insert_promotion(ctx.plane.new_uuid(), id, channel, (actor.kind(), &actor.id())).await?;
    let next =
        Artifact { state: ArtifactState::Promoted, channel: Some(channel.to_owned()), ..before.clone() };
    let after = tx.update_artifact(next).await?;
    let change = Change::new(ctx.route.action, object(&after))
        .before(view(ctx, &before, &permit))
        .after(view(ctx, &after, &permit))
        .because(reason)
        .event(EventType::ArtifactPromoted, view(ctx, &after, &permit));
    Ok(Prepared::new(tx, change, after))
}

/// Deprecates or retires. What runs goes on; nothing new is made of it (F-08).
pub async fn withdraw(
    ctx: &OpContext,
    project: ProjectId,
    id: ArtifactId,
    to: ArtifactState,
    reason: Option<String>,
) -> Result<Prepared<Artifact>> {
    let permit = ctx.permit_project(Permission::ArtifactManage, project).await?;
    let (mut tx, before) = load(ctx, &permit, id).await?;
    artifact::check_move(before.state, to)?;
    if to == ArtifactState::Retired && tx.count_artifact_instances(&before).await? > 0 {
        return Err(Error::conflict(
            "has_live_objects",
            "Instances that run from this artifact are not decommissioned yet; end them first.",
        ));
    }
    let after = tx.update_artifact(Artifact { state: to, ..before.clone() }).await?;
    if to == ArtifactState::Deprecated {
        raise_findings(ctx, &mut tx, &after).await?;
    }
    let change = Change::new(ctx.route.action, object(&after))
        .before(view(ctx, &before, &permit))
        .after(view(ctx, &after, &permit))
        .because(reason)
        .event(EventType::ArtifactStateChanged, view(ctx, &after, &permit));
    Ok(Prepared::new(tx, change, after))
}

/// Takes trust away for good.
pub async fn revoke(
    ctx: &OpContext,
    project: ProjectId,
    id: ArtifactId,
    reason: Option<String>,
) -> Result<Prepared<Artifact>> {
    let permit = ctx.permit_project(Permission::ArtifactManage, project).await?;
    let (tx, before) = load(ctx, &permit, id).await?;
    check_alive(&before)?;
    let at = tx.at();
    let trust = Trust {
        state: TrustState::Revoked,
        at: Some(at),
        reason: reason.clone().or_else(|| Some("It was revoked.".to_owned())),
        ..before.trust.clone()
    };
    change_trust(ctx, tx, &permit, before, trust, reason).await
}
