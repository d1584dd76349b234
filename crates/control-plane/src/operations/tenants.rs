//! Tenants: create, read, rename, suspend, resume, delete.

use gpuaas_domain::event::{Change, EventType, ObjectRef};
use gpuaas_domain::iam::{Permission, Permit, Scope};
use gpuaas_domain::identity::Tenant;
use gpuaas_domain::ids::{TenantId, WorkId};
use gpuaas_domain::page::{Page, PageRequest};
use gpuaas_domain::standing::{Move, Standing};
use gpuaas_domain::text::{DisplayName, Slug};
use gpuaas_domain::{Error, Result};
use gpuaas_store::Tx;
use serde_json::{Value, json};

use crate::reconcilers::erasure;
use crate::{OpContext, Prepared};

pub async fn create(ctx: &OpContext, slug: Slug, name: Option<DisplayName>) -> Result<Prepared<Tenant>> {
    let permit = ctx.permit_platform(Permission::TenantCreate).await?;
    let mut tx = ctx.begin(&permit).await?;
    let display_name = name.map_or_else(|| slug.to_string(), String::from);
    let tenant = new_tenant(TenantId::new(ctx.plane.new_uuid()), &slug, display_name, tx.at());
    tx.insert_tenant(&tenant).await?;
    let change = Change::new(ctx.route.action, ObjectRef::new("tenant", tenant.id))
        .at(Scope::Tenant(tenant.id))
        .after(tenant.audit_view())
        .event(EventType::TenantCreated, view(&tenant));
    Ok(Prepared::new(tx, change, tenant))
}

pub(crate) fn new_tenant(
    id: TenantId,
    slug: &Slug,
    display_name: String,
    at: gpuaas_domain::Timestamp,
) -> Tenant {
    Tenant {
        id,
        slug: slug.to_string(),
        display_name,
        state: Standing::Active,
        version: 1,
        created_at: at,
        updated_at: at,
    }
}

pub(crate) fn view(tenant: &Tenant) -> Value {
    json!({"tenant_id": tenant.id, "slug": tenant.slug, "display_name": tenant.display_name, "state": tenant.state.name()})
}

pub async fn list(ctx: &OpContext, page: &PageRequest) -> Result<Page<Tenant>> {
    let known = ctx.known()?;
    let all = known
        .grants
        .iter()
        .any(|grant| grant.scope == Scope::Platform && grant.permissions.contains(&Permission::TenantRead));
    let principal = super::bindings::principal_uuid(known.actor);
    ctx.plane.store.read().await?.list_tenants(all, principal, page).await
}

pub async fn get(ctx: &OpContext, id: TenantId) -> Result<Tenant> {
    let permit = ctx.permit_tenant(Permission::TenantRead, id).await?;
    ctx.plane.store.read().await?.find_tenant(permit.tenant_scope(), id).await?.ok_or_else(Error::not_found)
}

pub async fn rename(ctx: &OpContext, id: TenantId, name: DisplayName) -> Result<Prepared<Tenant>> {
    let permit = ctx.permit_tenant(Permission::TenantUpdate, id).await?;
    let (mut tx, before) = load(ctx, &permit, id).await?;
    let after = tx.update_tenant(Tenant { display_name: name.into(), ..before.clone() }).await?;
    let change = change(ctx, &before, &after).event(EventType::TenantUpdated, view(&after));
    Ok(Prepared::new(tx, change, after))
}

/// Suspends or resumes.
pub async fn move_to(
    ctx: &OpContext,
    id: TenantId,
    step: Move,
    reason: Option<String>,
) -> Result<Prepared<Tenant>> {
    let permit = ctx.permit_tenant(Permission::TenantManage, id).await?;
    let (mut tx, before) = load(ctx, &permit, id).await?;
    let state = before.state.after(step)?;
    let after = tx.update_tenant(Tenant { state, ..before.clone() }).await?;
    let change =
        change(ctx, &before, &after).because(reason).event(EventType::TenantStateChanged, view(&after));
    Ok(Prepared::new(tx, change, after))
}

/// Marks for deletion, if nothing lives inside; the erasure loop does the rest.
pub async fn delete(ctx: &OpContext, id: TenantId, reason: Option<String>) -> Result<Prepared<()>> {
    let permit = ctx.permit_tenant(Permission::TenantManage, id).await?;
    let (mut tx, before) = load(ctx, &permit, id).await?;
    let state = before.state.after(Move::Delete)?;
    let (live, count) = tx.live_projects(id).await?;
    if count > 0 {
        return Err(has_live_objects("tenant", "project", &live, count));
    }
    let after = tx.update_tenant(Tenant { state, ..before.clone() }).await?;
    tx.enqueue(WorkId::new(ctx.plane.new_uuid()), erasure::TENANT, &json!({ "id": id }), tx.at()).await?;
    let change =
        change(ctx, &before, &after).because(reason).event(EventType::TenantStateChanged, view(&after));
    Ok(Prepared::new(tx, change, ()))
}

async fn load(ctx: &OpContext, permit: &Permit, id: TenantId) -> Result<(Tx, Tenant)> {
    let mut tx = ctx.begin(permit).await?;
    tx.lock_tenant(id).await?;
    let tenant = tx.find_tenant(permit.tenant_scope(), id).await?.ok_or_else(Error::not_found)?;
    ctx.check_version(tenant.version)?;
    Ok((tx, tenant))
}

fn change(ctx: &OpContext, before: &Tenant, after: &Tenant) -> Change {
    Change::new(ctx.route.action, ObjectRef::new("tenant", after.id))
        .before(before.audit_view())
        .after(after.audit_view())
}

/// The refusal that lists what has to go first.
pub(crate) fn has_live_objects(
    what: &'static str,
    kind: &'static str,
    live: &[(uuid::Uuid, String)],
    count: i64,
) -> Error {
    let objects: Vec<_> =
        live.iter().map(|(id, name)| json!({"kind": kind, "id": id, "name": name})).collect();
    Error::conflict(
        "has_live_objects",
        format!("The {what} still has {count} live {kind}(s); delete them first."),
    )
    .with_param("objects", objects)
    .with_param("count", count)
}
