//! The first start: the platform's own row, its token key, the first admin, and what `./run` shows newcomers.
//! Every step looks first, so that repeating it changes nothing.

use gpuaas_domain::event::{Change, EventType, ObjectRef};
use gpuaas_domain::iam::{BuiltinRole, Permit, Scope};
use gpuaas_domain::identity::Principal;
use gpuaas_domain::ids::{BindingId, LinkId, ProjectId, TenantId, UserId};
use gpuaas_domain::text::{DisplayName, Email, Slug};
use gpuaas_domain::{Error, Result, Secret};
use gpuaas_store::{Stamp, Store, grants};
use uuid::Uuid;

use super::{bindings, custody, projects, tenants, users};
use crate::plane::ControlPlane;
use crate::tokens::{OpaqueKind, OpaqueToken};

const PART: &str = "bootstrap";

/// Makes sure the platform has an id. Returns it.
pub async fn ensure_platform(store: &Store, new_id: Uuid, kek_id: &str, stamp: Stamp) -> Result<Uuid> {
    if let Some(platform) = store.read().await?.find_platform().await? {
        return Ok(platform.platform_id);
    }
    let mut tx = store.begin(&Permit::system(PART, Scope::Platform), stamp).await?;
    if let Some(platform) = tx.find_platform().await? {
        return Ok(platform.platform_id);
    }
    let at = tx.at();
    if !tx.insert_platform(new_id, kek_id, at).await? {
        drop(tx);
        let platform = store.read().await?.find_platform().await?;
        return platform
            .map(|platform| platform.platform_id)
            .ok_or_else(|| Error::internal("the platform's row is gone"));
    }
    tx.commit(Change::new("platform.create", ObjectRef::new("platform", new_id)), None).await?;
    Ok(new_id)
}

/// Makes sure there is a key to sign machine tokens with.
pub async fn ensure_token_key(plane: &ControlPlane) -> Result<()> {
    let has_signer =
        |keys: &[gpuaas_store::sealed::TokenKey]| keys.iter().any(|key| key.retired_at.is_none());
    if has_signer(&plane.store.read().await?.list_token_keys().await?) {
        return plane.load_token_keys().await;
    }
    let mut tx = plane.store.begin(&Permit::system(PART, Scope::Platform), plane.own_stamp()).await?;
    tx.lock_platform().await?;
    if !has_signer(&tx.list_token_keys().await?) {
        let id = custody::add_token_key(plane, &mut tx).await?;
        tx.commit(Change::new("custody.create_token_key", ObjectRef::new("token_key", id)), None).await?;
    }
    plane.load_token_keys().await
}

/// Makes sure there is a key to sign registry tokens with.
pub async fn ensure_registry_key(plane: &ControlPlane) -> Result<()> {
    let has_signer =
        |keys: &[gpuaas_store::registry_access::RegistryKey]| keys.iter().any(|key| key.retired_at.is_none());
    if has_signer(&plane.store.read().await?.list_registry_keys().await?) {
        return Ok(());
    }
    let mut tx = plane.store.begin(&Permit::system(PART, Scope::Platform), plane.own_stamp()).await?;
    tx.lock_platform().await?;
    if !has_signer(&tx.list_registry_keys().await?) {
        let id = custody::add_registry_key(plane, &mut tx).await?;
        tx.commit(Change::new("custody.create_registry_key", ObjectRef::new("registry_key", id)), None)
            .await?;
    }
    Ok(())
}

/// Makes sure this person exists and is platform admin. Returns the password if the account was just made.
pub async fn ensure_admin(plane: &ControlPlane, email: &Email) -> Result<Option<Secret<String>>> {
    if plane.store.read().await?.find_user_by_email(email.as_str()).await?.is_some() {
        return Ok(None);
    }
    let password = plane.make_password();
    let hash = plane.hash_password(&password).await?;
    let mut tx = plane.store.begin(&Permit::system(PART, Scope::Platform), plane.own_stamp()).await?;
    if tx.find_user_by_email(email.as_str()).await?.is_some() {
        return Ok(None);
    }
    let name = DisplayName::parse("Platform admin").map_err(|refused| Error::internal(refused.message))?;
    let user = users::new_user(UserId::new(plane.new_uuid()), email, Some(name), tx.at());
    tx.insert_user(&user, &hash).await?;
    let role = grants::builtin_role(BuiltinRole::PlatformAdmin);
    let binding = BindingId::new(plane.new_uuid());
    bindings::insert(&mut tx, binding, &role, Principal::User(user.id), Scope::Platform).await?;
    let change = Change::new("bootstrap.admin", ObjectRef::new("user", user.id))
        .after(serde_json::json!({"role": role.slug, "binding_id": binding}))
        .event(EventType::UserCreated, users::view(&user));
    tx.commit(change, None).await?;
    Ok(Some(password))
}

/// A new password for an admin whose password nobody knows any more.
pub async fn reset_admin_password(plane: &ControlPlane, email: &Email) -> Result<Secret<String>> {
    let password = plane.make_password();
    let hash = plane.hash_password(&password).await?;
    let mut tx = plane.store.begin(&Permit::system(PART, Scope::Platform), plane.own_stamp()).await?;
    let user = tx
        .find_user_by_email(email.as_str())
        .await?
        .ok_or_else(|| Error::invalid("unknown_user", "There is no account with this e-mail address."))?;
    tx.set_password_hash(user.id, Some(&hash)).await?;
    tx.commit(Change::new("bootstrap.reset_password", ObjectRef::new("user", user.id)), None).await?;
    Ok(password)
}

/// Makes sure a tenant with one project exists, for newcomers to try things in.
pub async fn ensure_demo(
    plane: &ControlPlane,
    tenant_slug: &Slug,
    project_slug: &Slug,
) -> Result<(TenantId, ProjectId)> {
    let permit = Permit::system(PART, Scope::Platform);
    let known = plane.store.read().await?.find_tenant_by_slug(tenant_slug.as_str()).await?;
    let tenant = if let Some(tenant) = known {
        tenant.id
    } else {
        let mut tx = plane.store.begin(&permit, plane.own_stamp()).await?;
        let tenant =
            tenants::new_tenant(TenantId::new(plane.new_uuid()), tenant_slug, "Demo".into(), tx.at());
        tx.insert_tenant(&tenant).await?;
        let change = Change::new("bootstrap.demo", ObjectRef::new("tenant", tenant.id))
            .at(Scope::Tenant(tenant.id))
            .after(tenant.audit_view())
            .event(EventType::TenantCreated, tenants::view(&tenant));
        tx.commit(change, None).await?;
        tenant.id
    };
    if let Some(project) = plane.store.read().await?.find_project_by_slug(project_slug.as_str()).await? {
        return Ok((tenant, project.id));
    }
    let mut tx = plane.store.begin(&permit, plane.own_stamp()).await?;
    let project = projects::new_project(
        ProjectId::new(plane.new_uuid()),
        tenant,
        project_slug,
        "Demo lab".into(),
        tx.at(),
    );
    tx.insert_project(&project).await?;
    let change = Change::new("bootstrap.demo", ObjectRef::new("project", project.id))
        .at(project.scope())
        .after(project.audit_view())
        .event(EventType::ProjectCreated, projects::view(&project));
    tx.commit(change, None).await?;
    Ok((tenant, project.id))
}

/// A code that signs this person's browser in, once. Whoever can run this owns the server's machine already.
pub async fn make_login_link(plane: &ControlPlane, email: &Email) -> Result<Secret<String>> {
    let user = plane
        .store
        .read()
        .await?
        .find_user_by_email(email.as_str())
        .await?
        .filter(|user| user.state.is_active())
        .ok_or_else(|| {
            Error::invalid("unknown_user", "There is no active account with this e-mail address.")
        })?;
    let token = OpaqueToken::generate(OpaqueKind::LoginLink, plane.new_uuid(), &*plane.entropy);
    let mut tx = plane.store.begin(&Permit::system("login-link", Scope::Platform), plane.own_stamp()).await?;
    let expires_at = tx.at().plus_seconds(plane.settings.login_link_ttl_seconds);
    tx.insert_login_link(LinkId::new(token.id), user.id, &token.hash(), expires_at).await?;
    let change = Change::new("auth.login_link_created", ObjectRef::new("user", user.id))
        .after(serde_json::json!({ "expires_at": expires_at }));
    tx.commit(change, None).await?;
    Ok(token.reveal())
}
