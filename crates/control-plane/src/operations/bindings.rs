//! Who holds which role, where.

use gpuaas_domain::event::{Change, EventType, ObjectRef};
use gpuaas_domain::iam::{Actor, BuiltinRole, Permission, Permit, Scope};
use gpuaas_domain::identity::{Binding, Principal, Role};
use gpuaas_domain::ids::{BindingId, ServiceAccountId, UserId};
use gpuaas_domain::limit::Limit;
use gpuaas_domain::page::{Page, PageRequest};
use gpuaas_domain::standing::Standing;
use gpuaas_domain::text::Email;
use gpuaas_domain::{Error, Result};
use gpuaas_store::Tx;
use serde_json::json;
use uuid::Uuid;

use super::{projects, roles, service_accounts, users};
use crate::{OpContext, Prepared, Target};

pub enum Who {
    User(UserId),
    Email(Email),
    ServiceAccount(ServiceAccountId),
}

pub(crate) fn principal_uuid(actor: Actor) -> Uuid {
    match actor {
        Actor::User(id) => id.uuid(),
        Actor::ServiceAccount(id) => id.uuid(),
        Actor::Node(id) => id.uuid(),
        Actor::System(_) => Uuid::nil(),
    }
}

pub async fn list(ctx: &OpContext, target: Target, page: &PageRequest) -> Result<Page<Binding>> {
    let permit = ctx.permit_at(Permission::BindingRead, target).await?;
    ctx.plane.store.read().await?.list_bindings(permit.tenant_scope(), page).await
}

pub async fn create(ctx: &OpContext, target: Target, role: &str, who: Who) -> Result<Prepared<Binding>> {
    let permit = ctx.permit_at(Permission::BindingManage, target).await?;
    let mut tx = ctx.begin(&permit).await?;
    tx.lock_platform().await?;
    match permit.scope() {
        Scope::Platform => {}
        Scope::Tenant(tenant) => {
            tx.lock_tenant(tenant).await?;
            projects::check_tenant_active(&mut tx, tenant).await?;
        }
        Scope::Project(_, project) => {
            tx.lock_project(project).await?;
            service_accounts::check_home_active(&mut tx, project).await?;
        }
    }
    let role = roles::find_by_name(&mut tx, role, "/role").await?;
    permit.check_may_grant(&role.permissions)?;
    let principal = find_principal(&mut tx, &permit, who).await?;
    let limit = tx.effective_limit(permit.scope(), Limit::Bindings).await?;
    Limit::Bindings.check(limit, tx.count_bindings_at(permit.scope()).await?)?;
    let binding =
        insert(&mut tx, BindingId::new(ctx.plane.new_uuid()), &role, principal, permit.scope()).await?;
    let change = Change::new(ctx.route.action, ObjectRef::new("binding", binding.id))
        .after(binding.audit_view())
        .event(EventType::BindingCreated, binding.audit_view());
    Ok(Prepared::new(tx, change, binding))
}

pub(crate) async fn insert(
    tx: &mut Tx,
    id: BindingId,
    role: &Role,
    principal: Principal,
    scope: Scope,
) -> Result<Binding> {
    let binding =
        Binding { id, role_id: role.id, role_slug: role.slug.clone(), principal, scope, created_at: tx.at() };
    tx.insert_binding(&binding).await?;
    Ok(binding)
}

async fn find_principal(tx: &mut Tx, permit: &Permit, who: Who) -> Result<Principal> {
    let missing =
        |path: &str| Error::field(path, "unknown_principal", "There is no active account of this kind here.");
    match who {
        Who::User(id) => {
            let user = tx.find_user(id).await?.filter(|user| user.state == Standing::Active);
            user.map(|user| Principal::User(user.id)).ok_or_else(|| missing("/user_id"))
        }
        Who::Email(email) => {
            let user =
                tx.find_user_by_email(email.as_str()).await?.filter(|user| user.state == Standing::Active);
            user.map(|user| Principal::User(user.id)).ok_or_else(|| missing("/email"))
        }
        Who::ServiceAccount(id) => {
            // An account belongs to one project; a wider role would let it write elsewhere.
            if permit.scope().project().is_none() {
                return Err(Error::forbidden(
                    "cross_project_write",
                    "A service account can hold roles only in its own project.",
                ));
            }
            let account = tx.find_service_account(permit.tenant_scope(), id).await?;
            let account = account.ok_or_else(|| missing("/service_account_id"))?;
            service_accounts::check_operator(&account)?;
            Ok(Principal::ServiceAccount(account.id))
        }
    }
}

pub async fn delete(ctx: &OpContext, target: Target, id: BindingId) -> Result<Prepared<()>> {
    let permit = ctx.permit_at(Permission::BindingManage, target).await?;
    let mut tx = ctx.begin(&permit).await?;
    tx.lock_platform().await?;
    let binding = tx.find_binding(permit.tenant_scope(), id).await?.ok_or_else(Error::not_found)?;
    if let (Scope::Platform, Principal::User(user)) = (binding.scope, binding.principal)
        && binding.role_id == BuiltinRole::PlatformAdmin.id()
    {
        users::keep_an_admin(&mut tx, user).await?;
    }
    let role = tx.find_role(binding.role_id).await?;
    permit.check_may_grant(&role.map(|role| role.permissions).unwrap_or_default())?;
    tx.delete_binding(id).await?;
    let change = Change::new(ctx.route.action, ObjectRef::new("binding", id))
        .before(binding.audit_view())
        .event(EventType::BindingDeleted, json!({"binding_id": id, "binding": binding.audit_view()}));
    Ok(Prepared::new(tx, change, ()))
}
