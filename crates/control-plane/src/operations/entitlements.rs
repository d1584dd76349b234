//! What tenants and projects may launch, and by whose word.

use gpuaas_domain::entitlement::{Layers, Terms};
use gpuaas_domain::event::{Change, EventType, ObjectRef};
use gpuaas_domain::iam::{Permission, Scope};
use gpuaas_domain::ids::{ProjectId, TenantId};
use gpuaas_domain::{Error, Result};
use serde_json::json;

use crate::{OpContext, Prepared};

/// What was said about one app.
pub struct Said {
    pub app_slug: String,
    pub layers: Layers,
}

pub async fn list_for_tenant(ctx: &OpContext, tenant: TenantId) -> Result<Vec<Said>> {
    ctx.permit_tenant(Permission::EntitlementRead, tenant).await?;
    let rows = ctx.plane.store.read().await?.list_entitlements(tenant, None).await?;
    Ok(rows
        .into_iter()
        .map(|row| Said {
            app_slug: row.app_slug,
            layers: Layers { tenant: row.allowed, ..Layers::default() },
        })
        .collect())
}

pub async fn list_for_project(ctx: &OpContext, project: ProjectId) -> Result<Vec<Said>> {
    let permit = ctx.permit_project(Permission::EntitlementRead, project).await?;
    let tenant = permit.scope().tenant().ok_or_else(|| Error::internal("a project has a tenant"))?;
    let mut session = ctx.plane.store.read().await?;
    let slugs: std::collections::BTreeSet<String> = session
        .list_entitlements(tenant, None)
        .await?
        .into_iter()
        .chain(session.list_entitlements(tenant, Some(project)).await?)
        .map(|row| row.app_slug)
        .collect();
    let mut all = Vec::with_capacity(slugs.len());
    for app_slug in slugs {
        let layers = session.entitlement_layers(tenant, project, &app_slug).await?;
        all.push(Said { app_slug, layers });
    }
    Ok(all)
}

/// For all projects of a tenant.
pub async fn set_for_tenant(
    ctx: &OpContext,
    tenant: TenantId,
    slug: &str,
    terms: Terms,
) -> Result<Prepared<Said>> {
    let permit = ctx.permit_tenant(Permission::EntitlementManage, tenant).await?;
    let mut tx = ctx.begin(&permit).await?;
    tx.lock_tenant(tenant).await?;
    tx.find_app(slug).await?.ok_or_else(Error::not_found)?;
    let before = tx.list_entitlements(tenant, None).await?.into_iter().find(|row| row.app_slug == slug);
    tx.put_entitlement(ctx.plane.new_uuid(), tenant, None, slug, Some(&terms), None).await?;
    let change = Change::new(ctx.route.action, ObjectRef::new("entitlement", slug))
        .before(json!({"tenant": before.and_then(|row| row.allowed)}))
        .after(json!({"tenant": terms}))
        .event(
            EventType::EntitlementSet,
            json!({"tenant_id": tenant, "app_slug": slug, "enabled": terms.enabled}),
        );
    let layers = Layers { tenant: Some(terms), ..Layers::default() };
    Ok(Prepared::new(tx, change, Said { app_slug: slug.to_owned(), layers }))
}

/// For one project: whoever may do so for the tenant allows; whoever may only here narrows (E-22).
pub async fn set_for_project(
    ctx: &OpContext,
    project: ProjectId,
    slug: &str,
    terms: Terms,
) -> Result<Prepared<Said>> {
    let permit = ctx.permit_project(Permission::EntitlementManage, project).await?;
    let tenant = permit.scope().tenant().ok_or_else(|| Error::internal("a project has a tenant"))?;
    let above = ctx.known()?.grants.iter().any(|grant| {
        grant.scope.covers(Scope::Tenant(tenant))
            && grant.permissions.contains(&Permission::EntitlementManage)
    });
    let mut tx = ctx.begin(&permit).await?;
    tx.lock_project(project).await?;
    tx.find_app(slug).await?.ok_or_else(Error::not_found)?;
    let before = tx.entitlement_layers(tenant, project, slug).await?;
    let mut after = before.clone();
    if above {
        after.allowed = Some(terms);
    } else {
        before.check_narrowing(&terms)?;
        after.narrowed = Some(terms);
    }
    let id = ctx.plane.new_uuid();
    tx.put_entitlement(id, tenant, Some(project), slug, after.allowed.as_ref(), after.narrowed.as_ref())
        .await?;
    let said = |layers: &Layers| json!({"allowed": layers.allowed, "narrowed": layers.narrowed});
    let change = Change::new(ctx.route.action, ObjectRef::new("entitlement", slug))
        .before(said(&before))
        .after(said(&after))
        .event(
            EventType::EntitlementSet,
            json!({"tenant_id": tenant, "project_id": project, "app_slug": slug, "enabled": after.enabled()}),
        );
    Ok(Prepared::new(tx, change, Said { app_slug: slug.to_owned(), layers: after }))
}
