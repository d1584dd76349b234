//! Roles: the built-in ones to read, custom ones to make.

use std::collections::BTreeSet;

use gpuaas_domain::event::{Change, EventType, ObjectRef};
use gpuaas_domain::iam::{Permission, Permit};
use gpuaas_domain::identity::Role;
use gpuaas_domain::ids::RoleId;
use gpuaas_domain::page::{Page, PageRequest};
use gpuaas_domain::text::{DisplayName, Slug};
use gpuaas_domain::{Error, Result};
use gpuaas_store::{Session, Tx};
use serde_json::{Value, json};

use crate::{OpContext, Prepared};

pub async fn list(ctx: &OpContext, page: &PageRequest) -> Result<Page<Role>> {
    ctx.known()?;
    ctx.plane.store.read().await?.list_roles(page).await
}

pub async fn get(ctx: &OpContext, id: RoleId) -> Result<Role> {
    ctx.known()?;
    ctx.plane.store.read().await?.find_role(id).await?.ok_or_else(Error::not_found)
}

/// By id or slug, as bindings name it.
pub(crate) async fn find_by_name(session: &mut Session, name: &str, path: &str) -> Result<Role> {
    let found = match name.parse::<RoleId>() {
        Ok(id) => session.find_role(id).await?,
        Err(_) if Slug::parse(name).is_ok() => session.find_role_by_slug(name).await?,
        Err(_) => None,
    };
    found.ok_or_else(|| {
        Error::field(path, "unknown_role", "There is no such role; `GET /api/v1/roles` lists them.")
    })
}

pub async fn create(
    ctx: &OpContext,
    slug: Slug,
    name: Option<DisplayName>,
    permissions: BTreeSet<Permission>,
) -> Result<Prepared<Role>> {
    let permit = ctx.permit_platform(Permission::RoleManage).await?;
    permit.check_may_grant(&permissions)?;
    let mut tx = ctx.begin(&permit).await?;
    if tx.find_role_by_slug(slug.as_str()).await?.is_some() {
        return Err(Error::conflict("slug_taken", "There is another role with this slug; choose another.")
            .with_param("kind", "role"));
    }
    let at = tx.at();
    let role = Role {
        id: RoleId::new(ctx.plane.new_uuid()),
        display_name: name.map_or_else(|| slug.to_string(), String::from),
        slug: slug.into(),
        builtin: false,
        permissions,
        version: 1,
        created_at: at,
        updated_at: at,
    };
    tx.insert_role(&role).await?;
    let change = Change::new(ctx.route.action, ObjectRef::new("role", role.id))
        .after(role.audit_view())
        .event(EventType::RoleCreated, view(&role));
    Ok(Prepared::new(tx, change, role))
}

pub async fn update(
    ctx: &OpContext,
    id: RoleId,
    name: Option<DisplayName>,
    permissions: Option<BTreeSet<Permission>>,
) -> Result<Prepared<Role>> {
    let permit = ctx.permit_platform(Permission::RoleManage).await?;
    if let Some(wanted) = &permissions {
        permit.check_may_grant(wanted)?;
    }
    let (mut tx, before) = load_custom(ctx, &permit, id).await?;
    // Nor does anybody take away what they do not hold.
    permit.check_may_grant(&before.permissions)?;
    let wanted = Role {
        display_name: name.map_or_else(|| before.display_name.clone(), String::from),
        permissions: permissions.unwrap_or_else(|| before.permissions.clone()),
        ..before.clone()
    };
    let after = tx.update_role(wanted).await?;
    let change = Change::new(ctx.route.action, ObjectRef::new("role", id))
        .before(before.audit_view())
        .after(after.audit_view())
        .event(EventType::RoleUpdated, view(&after));
    Ok(Prepared::new(tx, change, after))
}

pub async fn delete(ctx: &OpContext, id: RoleId) -> Result<Prepared<()>> {
    let permit = ctx.permit_platform(Permission::RoleManage).await?;
    let (mut tx, before) = load_custom(ctx, &permit, id).await?;
    let held = tx.count_bindings_of_role(id).await?;
    if held > 0 {
        return Err(Error::conflict(
            "role_in_use",
            format!("{held} binding(s) still give this role; take them away first."),
        )
        .with_param("count", held));
    }
    tx.delete_role(&before).await?;
    let change = Change::new(ctx.route.action, ObjectRef::new("role", id))
        .before(before.audit_view())
        .event(EventType::RoleDeleted, view(&before));
    Ok(Prepared::new(tx, change, ()))
}

async fn load_custom(ctx: &OpContext, permit: &Permit, id: RoleId) -> Result<(Tx, Role)> {
    let mut tx = ctx.begin(permit).await?;
    // Giving a role and deleting it take turns.
    tx.lock_platform().await?;
    let role = tx.find_role(id).await?.ok_or_else(Error::not_found)?;
    if role.builtin {
        return Err(Error::conflict(
            "builtin_role",
            "Built-in roles cannot be changed; make a custom role instead.",
        ));
    }
    ctx.check_version(role.version)?;
    Ok((tx, role))
}

fn view(role: &Role) -> Value {
    json!({"role_id": role.id, "slug": role.slug, "permissions": role.permissions})
}

/// Parses permission keys, naming each that is unknown and the nearest known one.
pub fn parse_permissions(keys: &[String]) -> Result<BTreeSet<Permission>> {
    let mut wrong = Vec::new();
    let mut found = BTreeSet::new();
    for (index, key) in keys.iter().enumerate() {
        if let Some(permission) = Permission::parse(key) {
            found.insert(permission);
            continue;
        }
        let known = Permission::ALL.iter().map(|permission| permission.key());
        let hint = gpuaas_domain::text::nearest(key, known)
            .map_or_else(String::new, |name| format!(" Did you mean {name}?"));
        wrong.push(gpuaas_domain::FieldError::new(
            format!("/permissions/{index}"),
            "unknown_permission",
            format!("There is no such permission.{hint}"),
        ));
    }
    if wrong.is_empty() { Ok(found) } else { Err(Error::fields(wrong)) }
}
