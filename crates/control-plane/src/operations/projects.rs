//! Projects: create, read, rename, suspend, resume, delete.

use gpuaas_domain::artifact::PLATFORM_NAMESPACE;
use gpuaas_domain::event::{Change, EventType, ObjectRef};
use gpuaas_domain::iam::{Permission, Permit, Scope};
use gpuaas_domain::identity::Project;
use gpuaas_domain::ids::{ProjectId, TenantId, WorkId};
use gpuaas_domain::limit::Limit;
use gpuaas_domain::page::{Page, PageRequest};
use gpuaas_domain::standing::{Move, Standing};
use gpuaas_domain::text::{DisplayName, Slug};
use gpuaas_domain::{Error, Result};
use gpuaas_store::Tx;
use serde_json::{Value, json};

use super::tenants::has_live_objects;
use crate::reconcilers::erasure;
use crate::{OpContext, Prepared};

pub async fn create(
    ctx: &OpContext,
    tenant: TenantId,
    slug: Slug,
    name: Option<DisplayName>,
) -> Result<Prepared<Project>> {
    let permit = ctx.permit_tenant(Permission::ProjectCreate, tenant).await?;
    if slug.as_str() == PLATFORM_NAMESPACE {
        return Err(Error::field(
            "/slug",
            "reserved_name",
            "This name is the platform's own; choose another.",
        ));
    }
    let mut tx = ctx.begin(&permit).await?;
    tx.lock_tenant(tenant).await?;
    check_tenant_active(&mut tx, tenant).await?;
    let limit = tx.effective_limit(permit.scope(), Limit::Projects).await?;
    Limit::Projects.check(limit, tx.count_projects(tenant).await?)?;
    let display_name = name.map_or_else(|| slug.to_string(), String::from);
    let project = new_project(ProjectId::new(ctx.plane.new_uuid()), tenant, &slug, display_name, tx.at());
    tx.insert_project(&project).await?;
    let change = Change::new(ctx.route.action, ObjectRef::new("project", project.id))
        .at(project.scope())
        .after(project.audit_view())
        .event(EventType::ProjectCreated, view(&project));
    Ok(Prepared::new(tx, change, project))
}

/// Asked again under the lock: the tenant may have been deleted since the door looked.
pub(crate) async fn check_tenant_active(tx: &mut Tx, tenant: TenantId) -> Result<()> {
    if tx.locate_tenant(tenant).await?.is_some_and(Standing::is_active) {
        return Ok(());
    }
    Err(Error::conflict("tenant_not_active", "The tenant was suspended or deleted meanwhile."))
}

pub(crate) fn new_project(
    id: ProjectId,
    tenant_id: TenantId,
    slug: &Slug,
    display_name: String,
    at: gpuaas_domain::Timestamp,
) -> Project {
    let state = Standing::Active;
    Project {
        id,
        tenant_id,
        slug: slug.to_string(),
        display_name,
        state,
        version: 1,
        created_at: at,
        updated_at: at,
    }
}

pub(crate) fn view(project: &Project) -> Value {
    json!({"project_id": project.id, "tenant_id": project.tenant_id, "slug": project.slug,
           "display_name": project.display_name, "state": project.state.name()})
}

/// All projects of a tenant.
pub async fn list(ctx: &OpContext, tenant: TenantId, page: &PageRequest) -> Result<Page<Project>> {
    let permit = ctx.permit_tenant(Permission::ProjectRead, tenant).await?;
    ctx.plane.store.read().await?.list_projects(permit.tenant_scope(), page).await
}

/// The caller's own.
pub async fn list_visible(ctx: &OpContext, page: &PageRequest) -> Result<Page<Project>> {
    let known = ctx.known()?;
    let all = known
        .grants
        .iter()
        .any(|grant| grant.scope == Scope::Platform && grant.permissions.contains(&Permission::ProjectRead));
    let principal = super::bindings::principal_uuid(known.actor);
    ctx.plane.store.read().await?.list_visible_projects(all, principal, page).await
}

pub async fn get(ctx: &OpContext, id: ProjectId) -> Result<Project> {
    let permit = ctx.permit_project(Permission::ProjectRead, id).await?;
    ctx.plane.store.read().await?.find_project(permit.tenant_scope(), id).await?.ok_or_else(Error::not_found)
}

pub async fn rename(ctx: &OpContext, id: ProjectId, name: DisplayName) -> Result<Prepared<Project>> {
    let permit = ctx.permit_project(Permission::ProjectUpdate, id).await?;
    let (mut tx, before) = load(ctx, &permit, id).await?;
    let after = tx.update_project(Project { display_name: name.into(), ..before.clone() }).await?;
    let change = change(ctx, &before, &after).event(EventType::ProjectUpdated, view(&after));
    Ok(Prepared::new(tx, change, after))
}

pub async fn move_to(
    ctx: &OpContext,
    id: ProjectId,
    step: Move,
    reason: Option<String>,
) -> Result<Prepared<Project>> {
    let permit = ctx.permit_project(Permission::ProjectManage, id).await?;
    let (mut tx, before) = load(ctx, &permit, id).await?;
    let state = before.state.after(step)?;
    let after = tx.update_project(Project { state, ..before.clone() }).await?;
    let change =
        change(ctx, &before, &after).because(reason).event(EventType::ProjectStateChanged, view(&after));
    Ok(Prepared::new(tx, change, after))
}

pub async fn delete(ctx: &OpContext, id: ProjectId, reason: Option<String>) -> Result<Prepared<()>> {
    let permit = ctx.permit_project(Permission::ProjectManage, id).await?;
    let (mut tx, before) = load(ctx, &permit, id).await?;
    let state = before.state.after(Move::Delete)?;
    let count = tx.count_service_accounts(id).await?;
    if count > 0 {
        let live = tx.live_service_accounts(id).await?;
        return Err(has_live_objects("project", "service_account", &live, count));
    }
    let count = tx.count_instances(id).await?;
    if count > 0 {
        let live = tx.live_instances(id).await?;
        return Err(has_live_objects("project", "app_instance", &live, count));
    }
    let count = tx.count_allocations(id).await?;
    if count > 0 {
        let live = tx.live_allocations(id).await?;
        return Err(has_live_objects("project", "allocation", &live, count));
    }
    let live = tx.live_volumes(id).await?;
    if !live.is_empty() {
        let count = i64::try_from(live.len()).unwrap_or(i64::MAX);
        return Err(has_live_objects("project", "volume", &live, count));
    }
    let live = tx.live_artifacts(id).await?;
    if !live.is_empty() {
        let count = i64::try_from(live.len()).unwrap_or(i64::MAX);
        return Err(has_live_objects("project", "app_artifact", &live, count));
    }
    let after = tx.update_project(Project { state, ..before.clone() }).await?;
    tx.enqueue(WorkId::new(ctx.plane.new_uuid()), erasure::PROJECT, &json!({ "id": id }), tx.at()).await?;
    let change =
        change(ctx, &before, &after).because(reason).event(EventType::ProjectStateChanged, view(&after));
    Ok(Prepared::new(tx, change, ()))
}

async fn load(ctx: &OpContext, permit: &Permit, id: ProjectId) -> Result<(Tx, Project)> {
    let mut tx = ctx.begin(permit).await?;
    tx.lock_project(id).await?;
    let project = tx.find_project(permit.tenant_scope(), id).await?.ok_or_else(Error::not_found)?;
    ctx.check_version(project.version)?;
    Ok((tx, project))
}

fn change(ctx: &OpContext, before: &Project, after: &Project) -> Change {
    Change::new(ctx.route.action, ObjectRef::new("project", after.id))
        .before(before.audit_view())
        .after(after.audit_view())
}
