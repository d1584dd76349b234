//! Intents: credentials for one repository or one image, for a short while, delivered wrapped.

use gpuaas_agent_protocol::Digest;
use gpuaas_domain::artifact::{self, Artifact, Repository, RepositoryPath, Visibility};
use gpuaas_domain::event::{Change, EventType, ObjectRef};
use gpuaas_domain::iam::{Actor, Permission, Permit, Scope};
use gpuaas_domain::ids::{ArtifactId, ProjectId, RegistryCredentialId};
use gpuaas_domain::page::{Page, PageRequest};
use gpuaas_domain::text::Slug;
use gpuaas_domain::{Error, Result, Secret, Timestamp};
use gpuaas_store::Tx;
use gpuaas_store::registry_access::{Purpose, StoredCredential};
use serde_json::json;

use super::custody::{self, IssuedWrap};
use super::repositories::{ensure_repository, repository_view};
use crate::context::Credential;
use crate::tokens::{OpaqueKind, OpaqueToken};
use crate::{OpContext, Prepared};

/// What an intent lives unless it says otherwise.
const INTENT_SECONDS: i64 = 900;
const INTENT_RANGE: std::ops::RangeInclusive<i64> = 60..=3600;

/// A credential for one repository, delivered wrapped.
pub struct IssuedIntent {
    pub id: RegistryCredentialId,
    pub repository: Repository,
    pub wrap: IssuedWrap,
    pub expires_at: Timestamp,
}

async fn issue_credential(
    ctx: &OpContext,
    tx: &mut Tx,
    holder: (Scope, &Permit),
    repository: Repository,
    purpose: Purpose,
    digest: Option<Digest>,
    seconds: Option<i64>,
) -> Result<IssuedIntent> {
    let (scope, permit) = holder;
    let seconds = seconds.unwrap_or(INTENT_SECONDS);
    if !INTENT_RANGE.contains(&seconds) {
        return Err(Error::field(
            "/expires_in_seconds",
            "out_of_range",
            format!("Use {} to {} seconds.", INTENT_RANGE.start(), INTENT_RANGE.end()),
        ));
    }
    let token =
        OpaqueToken::generate(OpaqueKind::RegistryCredential, ctx.plane.new_uuid(), &*ctx.plane.entropy);
    let at = tx.at();
    let expires_at = at.plus_seconds(seconds);
    let (Some(tenant_id), Some(project_id)) = (scope.tenant(), scope.project()) else {
        return Err(Error::internal("an intent without a project"));
    };
    let credential = StoredCredential {
        id: RegistryCredentialId::new(token.id),
        tenant_id,
        project_id,
        repository_id: repository.id,
        purpose,
        digest,
        secret_hash: token.hash(),
        actor_kind: permit.actor().kind().to_owned(),
        actor_id: permit.actor().id(),
        created_at: at,
        expires_at,
        personal_token_id: match ctx.known()?.credential {
            Credential::PersonalToken(id) => Some(id),
            Credential::Session(_)
            | Credential::ServiceAccountToken(_)
            | Credential::NodeToken
            | Credential::InstanceToken { .. } => None,
        },
        first_used_at: None,
        revoked_at: None,
        version: 1,
    };
    tx.insert_registry_credential(&credential).await?;
    let value = json!({"username": "intent", "password": token.reveal().expose()});
    let value = Secret::new(value.to_string().into_bytes());
    let wrap = custody::wrap_until(ctx, tx, scope, &value, expires_at).await?;
    Ok(IssuedIntent { id: credential.id, repository, wrap, expires_at })
}

fn intent_change(ctx: &OpContext, permit: &Permit, intent: &IssuedIntent, digest: Option<&Digest>) -> Change {
    let view = json!({
        "credential_id": intent.id, "repository": ctx.plane.registry().names.repository(&intent.repository.path()),
        "digest": digest.map(Digest::as_str), "expires_at": intent.expires_at, "project_id": permit.scope().project(),
        "service_account": matches!(permit.actor(), Actor::ServiceAccount(_)),
    });
    Change::new(ctx.route.action, ObjectRef::new("registry_credential", intent.id))
        .after(view.clone())
        .event(EventType::RegistryCredentialIssued, view)
}

/// Step one of publishing: the way to push to one repository, for a short while (F-01, F-10, F-11).
pub async fn publish_intent(
    ctx: &OpContext,
    project: ProjectId,
    app: &Slug,
    visibility: Option<Visibility>,
    seconds: Option<i64>,
) -> Result<Prepared<IssuedIntent>> {
    let permit = ctx.permit_project(Permission::ArtifactPublish, project).await?;
    let mut tx = ctx.begin(&permit).await?;
    tx.lock_project(project).await?;
    let (repository, made) = ensure_repository(ctx, &mut tx, project, app, visibility).await?;
    if made {
        let view = repository_view(ctx, &repository);
        let change = Change::new("registry.repository_set", ObjectRef::new("repository", repository.id))
            .after(view.clone())
            .event(EventType::RepositoryChanged, view);
        let stamp = ctx.stamp();
        tx.record(&stamp, change).await?;
    }
    let holder = (permit.scope(), &permit);
    let intent = issue_credential(ctx, &mut tx, holder, repository, Purpose::Publish, None, seconds).await?;
    let change = intent_change(ctx, &permit, &intent, None);
    Ok(Prepared::new(tx, change, intent))
}

/// The way to pull one image (F-13).
pub async fn pull_intent(
    ctx: &OpContext,
    project: ProjectId,
    id: ArtifactId,
    seconds: Option<i64>,
) -> Result<Prepared<(IssuedIntent, Artifact)>> {
    let permit = ctx.permit_project(Permission::ArtifactRead, project).await?;
    let mut tx = ctx.begin(&permit).await?;
    let tenant = permit.scope().tenant().ok_or_else(|| Error::internal("a project has a tenant"))?;
    let artifact = tx.find_visible_artifact(tenant, project, id).await?.ok_or_else(|| {
        Error::field("/artifact_id", "unknown_artifact", "The project can see no such artifact.")
    })?;
    let names = &ctx.plane.registry().names;
    if !names.allows(&artifact.repository.path()) {
        return Err(artifact::NotOurs::OffTheAllowlist.into_error(names));
    }
    if artifact.trust.state == artifact::TrustState::Revoked {
        artifact::check_trust(&artifact, artifact::TrustMode::Warn, tx.at())?;
    }
    let holder = (permit.scope(), &permit);
    let (repository, digest) = (artifact.repository.clone(), artifact.digest.clone());
    let intent =
        issue_credential(ctx, &mut tx, holder, repository, Purpose::Pull, Some(digest.clone()), seconds)
            .await?;
    let change = intent_change(ctx, &permit, &intent, Some(&digest));
    Ok(Prepared::new(tx, change, (intent, artifact)))
}

pub async fn list_credentials(
    ctx: &OpContext,
    project: ProjectId,
    page: &PageRequest,
) -> Result<Page<(StoredCredential, RepositoryPath)>> {
    ctx.permit_project(Permission::ArtifactRead, project).await?;
    ctx.plane.store.read().await?.list_registry_credentials(project, page).await
}

pub async fn revoke_credential(
    ctx: &OpContext,
    project: ProjectId,
    id: RegistryCredentialId,
    reason: Option<String>,
) -> Result<Prepared<(StoredCredential, RepositoryPath)>> {
    let permit = ctx.permit_project(Permission::ArtifactManage, project).await?;
    let mut tx = ctx.begin(&permit).await?;
    let found = tx.find_registry_credential(id).await?.filter(|found| found.project_id == project);
    let found = found.ok_or_else(Error::not_found)?;
    ctx.check_version(found.version)?;
    let repository = tx
        .find_repository_by_id(found.repository_id)
        .await?
        .ok_or_else(|| Error::internal("a credential without its repository"))?;
    let after =
        if found.revoked_at.is_some() { found } else { tx.revoke_registry_credential(&found).await? };
    let view = json!({"credential_id": id, "repository": ctx.plane.registry().names.repository(&repository.path()),
                      "purpose": after.purpose.name(), "revoked_at": after.revoked_at});
    let change = Change::new(ctx.route.action, ObjectRef::new("registry_credential", id))
        .after(view.clone())
        .because(reason)
        .event(EventType::RegistryCredentialRevoked, view);
    Ok(Prepared::new(tx, change, (after, repository.path())))
}
