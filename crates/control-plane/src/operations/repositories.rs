//! Repositories: made by the control plane under computed names, shown to a project, its tenant or everybody.

use gpuaas_domain::artifact::{self, Repository, RepositoryPath, Visibility};
use gpuaas_domain::event::{Change, EventType, ObjectRef};
use gpuaas_domain::iam::{self, Denial, Permission, Permit, Scope};
use gpuaas_domain::ids::{ProjectId, RepositoryId};
use gpuaas_domain::limit::Limit;
use gpuaas_domain::text::Slug;
use gpuaas_domain::{Error, Result};
use gpuaas_store::Tx;
use serde_json::{Value, json};

use crate::plane::ControlPlane;
use crate::{OpContext, Prepared};

/// A project's repository for an app, made if it is not there.
pub(crate) async fn ensure_repository(
    ctx: &OpContext,
    tx: &mut Tx,
    project: ProjectId,
    app: &Slug,
    visibility: Option<Visibility>,
) -> Result<(Repository, bool)> {
    let scope = Permit::system("registry", Scope::Platform).tenant_scope();
    let owner = tx.find_project(scope, project).await?.ok_or_else(Error::not_found)?;
    let wants_platform = visibility == Some(Visibility::Platform);
    // Nobody pushes to everybody's repository without saying so.
    let namespace = if wants_platform { artifact::PLATFORM_NAMESPACE.to_owned() } else { owner.slug.clone() };
    let path = RepositoryPath { namespace: namespace.clone(), app_slug: app.to_string() };
    if let Some(found) = tx.find_repository_by_path(&path).await?
        && found.project_id == project
    {
        return Ok((found, false));
    }
    let limit = tx.effective_limit(Scope::Project(owner.tenant_id, project), Limit::Repositories).await?;
    let present = i64::try_from(tx.list_repositories(project).await?.len()).unwrap_or(i64::MAX);
    Limit::Repositories.check(limit, present)?;
    let repository = Repository {
        id: RepositoryId::new(ctx.plane.new_uuid()),
        tenant_id: owner.tenant_id,
        project_id: project,
        namespace,
        app_slug: app.to_string(),
        visibility: visibility.unwrap_or(Visibility::Project),
        version: 1,
        created_at: tx.at(),
        updated_at: tx.at(),
    };
    let names = &ctx.plane.registry().names;
    if !names.allows(&repository.path()) {
        return Err(artifact::NotOurs::OffTheAllowlist.into_error(names));
    }
    if wants_platform {
        check_platform_right(ctx)?;
    }
    tx.insert_repository(&repository).await?;
    Ok((repository, true))
}

/// What everybody will see needs the right to publish apps for everybody.
fn check_platform_right(ctx: &OpContext) -> Result<()> {
    let known = ctx.known()?;
    iam::decide(known.actor, &known.grants, Permission::AppPublish, Scope::Platform)
        .map(drop)
        .map_err(Denial::into_error)
}

pub(crate) fn repository_view(ctx: &OpContext, repository: &Repository) -> Value {
    json!({"repository_id": repository.id, "name": ctx.plane.registry().names.repository(&repository.path()),
           "visibility": repository.visibility.name(), "project_id": repository.project_id,
           "version": repository.version})
}

/// Makes a repository, or says who may pull from it. What was everybody's stays under its name.
pub async fn set_repository(
    ctx: &OpContext,
    project: ProjectId,
    app: &Slug,
    visibility: Visibility,
    named: Option<&str>,
) -> Result<Prepared<Repository>> {
    let permit = ctx.permit_project(Permission::ArtifactManage, project).await?;
    let mut tx = ctx.begin(&permit).await?;
    tx.lock_project(project).await?;
    let (found, made) = match find_named(ctx, &mut tx, project, app, named).await? {
        Some(found) => (found, false),
        None => ensure_repository(ctx, &mut tx, project, app, Some(visibility)).await?,
    };
    let before = repository_view(ctx, &found);
    let after = if made || found.visibility == visibility {
        found
    } else {
        ctx.check_version(found.version)?;
        check_movable(ctx, &found, visibility)?;
        tx.set_visibility(found, visibility).await?
    };
    let mut change = Change::new(ctx.route.action, ObjectRef::new("repository", after.id))
        .after(repository_view(ctx, &after))
        .event(EventType::RepositoryChanged, repository_view(ctx, &after));
    if !made {
        change = change.before(before);
    }
    Ok(Prepared::new(tx, change, after))
}

/// The one that was named; else the project's own for the app, before the one it keeps for everybody.
async fn find_named(
    ctx: &OpContext,
    tx: &mut Tx,
    project: ProjectId,
    app: &Slug,
    named: Option<&str>,
) -> Result<Option<Repository>> {
    let names = &ctx.plane.registry().names;
    if let Some(name) = named {
        let path = names.parse_repository(name).map_err(|not_ours| not_ours.into_error(names))?;
        let found = tx.find_repository_by_path(&path).await?;
        let found = found.filter(|found| found.project_id == project && found.app_slug == app.as_str());
        return found.map(Some).ok_or_else(|| {
            Error::field(
                "/repository",
                "unknown_repository",
                "The project has no such repository for this app.",
            )
        });
    }
    let own = tx.list_repositories(project).await?.into_iter().filter(|one| one.app_slug == app.as_str());
    Ok(own.min_by_key(|one| one.namespace == artifact::PLATFORM_NAMESPACE))
}

/// Everybody's repositories have names of their own, so another one cannot become everybody's; and who hides or shows
/// everybody's needs the right to publish for everybody.
fn check_movable(ctx: &OpContext, repository: &Repository, to: Visibility) -> Result<()> {
    if repository.namespace == artifact::PLATFORM_NAMESPACE {
        return check_platform_right(ctx);
    }
    if to != Visibility::Platform {
        return Ok(());
    }
    let names = &ctx.plane.registry().names;
    let path = RepositoryPath {
        namespace: artifact::PLATFORM_NAMESPACE.to_owned(),
        app_slug: repository.app_slug.clone(),
    };
    Err(Error::conflict(
        "repository_fixed",
        format!(
            "{} stays the project's; what everybody may pull lies in {}. Publish it there with the visibility platform.",
            names.repository(&repository.path()),
            names.repository(&path)
        ),
    ))
}

/// What a project sees of the registry.
pub struct Info {
    pub namespace: String,
    pub quota_bytes: i64,
    pub repositories: Vec<Repository>,
}

pub async fn info(ctx: &OpContext, project: ProjectId) -> Result<Info> {
    let permit = ctx.permit_project(Permission::ArtifactRead, project).await?;
    let mut session = ctx.plane.store.read().await?;
    let owner = session.find_project(permit.tenant_scope(), project).await?.ok_or_else(Error::not_found)?;
    let quota = session.effective_limit(permit.scope(), Limit::RegistryMib).await?;
    Ok(Info {
        namespace: format!("{}/{}", ctx.plane.registry().names.root, owner.slug),
        quota_bytes: quota.saturating_mul(1024 * 1024),
        repositories: session.list_repositories(project).await?,
    })
}

/// Bytes that the owner of a repository may have in all of its repositories, and these.
pub async fn quota_of(plane: &ControlPlane, repository: &str) -> Result<Option<(ProjectId, i64)>> {
    let Ok(path) = plane.settings.registry.names.parse_repository(repository) else { return Ok(None) };
    let mut session = plane.store.read().await?;
    let Some(found) = session.find_repository_by_path(&path).await? else { return Ok(None) };
    let scope = Scope::Project(found.tenant_id, found.project_id);
    let limit = session.effective_limit(scope, Limit::RegistryMib).await?;
    Ok(Some((found.project_id, limit.saturating_mul(1024 * 1024))))
}
