//! People's accounts, as a platform admin keeps them.

use gpuaas_domain::event::{Change, EventType, ObjectRef, personal_change};
use gpuaas_domain::iam::{BuiltinRole, Permission, Permit, Scope};
use gpuaas_domain::identity::User;
use gpuaas_domain::ids::{UserId, WorkId};
use gpuaas_domain::page::{Page, PageRequest};
use gpuaas_domain::standing::{Move, Standing};
use gpuaas_domain::text::{DisplayName, Email};
use gpuaas_domain::{Error, Result, Secret};
use gpuaas_store::Tx;
use serde_json::{Value, json};

use crate::passwords::check_strength;
use crate::reconcilers::erasure;
use crate::{OpContext, Prepared};

pub struct NewUser {
    pub email: Email,
    pub display_name: Option<DisplayName>,
    pub password: Option<Secret<String>>,
}

/// A person and, if the platform made it, the password to hand over.
pub struct WithPassword {
    pub user: User,
    pub made_password: Option<Secret<String>>,
}

pub async fn create(ctx: &OpContext, new: NewUser) -> Result<Prepared<WithPassword>> {
    let permit = ctx.permit_platform(Permission::UserManage).await?;
    let made_password = match &new.password {
        Some(given) => {
            check_strength("/password", given)?;
            None
        }
        None => Some(ctx.plane.make_password()),
    };
    let password =
        new.password.as_ref().or(made_password.as_ref()).expect("one of the two was just made sure of");
    let hash = ctx.plane.hash_password(password).await?;
    let mut tx = ctx.begin(&permit).await?;
    let user = new_user(UserId::new(ctx.plane.new_uuid()), &new.email, new.display_name, tx.at());
    tx.insert_user(&user, &hash).await?;
    let change = Change::new(ctx.route.action, ObjectRef::new("user", user.id))
        .after(user.audit_view())
        .event(EventType::UserCreated, view(&user));
    Ok(Prepared::new(tx, change, WithPassword { user, made_password }))
}

pub(crate) fn new_user(
    id: UserId,
    email: &Email,
    name: Option<DisplayName>,
    at: gpuaas_domain::Timestamp,
) -> User {
    let display_name =
        name.map_or_else(|| email.as_str().split('@').next().unwrap_or("user").to_owned(), String::from);
    User {
        id,
        email: email.to_string(),
        display_name,
        state: Standing::Active,
        version: 1,
        created_at: at,
        updated_at: at,
    }
}

/// Ids only: events reach other systems, and a person must be erasable.
pub(crate) fn view(user: &User) -> Value {
    json!({"user_id": user.id, "state": user.state.name()})
}

pub async fn list(ctx: &OpContext, page: &PageRequest) -> Result<Page<User>> {
    ctx.permit_platform(Permission::UserRead).await?;
    ctx.plane.store.read().await?.list_users(page).await
}

pub async fn get(ctx: &OpContext, id: UserId) -> Result<User> {
    ctx.permit_platform(Permission::UserRead).await?;
    let user = ctx.plane.store.read().await?.find_user(id).await?;
    user.filter(|user| user.state != Standing::Tombstone).ok_or_else(Error::not_found)
}

pub async fn update(
    ctx: &OpContext,
    id: UserId,
    email: Option<Email>,
    name: Option<DisplayName>,
) -> Result<Prepared<User>> {
    let permit = ctx.permit_platform(Permission::UserManage).await?;
    let (mut tx, before) = load(ctx, &permit, id).await?;
    check_not_stronger(&mut tx, &permit, id).await?;
    let wanted = User {
        email: email.map_or_else(|| before.email.clone(), String::from),
        display_name: name.map_or_else(|| before.display_name.clone(), String::from),
        ..before.clone()
    };
    let after = tx.update_user(wanted).await?;
    let mut after_view = after.audit_view();
    after_view["email"] = personal_change(before.email != after.email);
    after_view["display_name"] = personal_change(before.display_name != after.display_name);
    let change = Change::new(ctx.route.action, ObjectRef::new("user", id))
        .before(before.audit_view())
        .after(after_view)
        .event(EventType::UserUpdated, view(&after));
    Ok(Prepared::new(tx, change, after))
}

pub async fn reset_password(ctx: &OpContext, id: UserId) -> Result<Prepared<WithPassword>> {
    let permit = ctx.permit_platform(Permission::UserManage).await?;
    let password = ctx.plane.make_password();
    let hash = ctx.plane.hash_password(&password).await?;
    let (mut tx, user) = load(ctx, &permit, id).await?;
    check_not_stronger(&mut tx, &permit, id).await?;
    tx.set_password_hash(id, Some(&hash)).await?;
    // A reset is how a stolen account is taken back: nothing made with the old password stays.
    tx.delete_sessions_besides(id, None).await?;
    tx.delete_personal_tokens_of(id).await?;
    tx.delete_login_links_of(id).await?;
    let change =
        Change::new(ctx.route.action, ObjectRef::new("user", id)).event(EventType::UserUpdated, view(&user));
    Ok(Prepared::new(tx, change, WithPassword { user, made_password: Some(password) }))
}

pub async fn move_to(
    ctx: &OpContext,
    id: UserId,
    step: Move,
    reason: Option<String>,
) -> Result<Prepared<User>> {
    let permit = ctx.permit_platform(Permission::UserManage).await?;
    let (mut tx, before) = load(ctx, &permit, id).await?;
    check_not_stronger(&mut tx, &permit, id).await?;
    let state = before.state.after(step)?;
    if !state.is_active() {
        keep_an_admin(&mut tx, id).await?;
        tx.delete_sessions_besides(id, None).await?;
    }
    let after = tx.update_user(User { state, ..before.clone() }).await?;
    let change = state_change(ctx, &before, &after).because(reason);
    Ok(Prepared::new(tx, change, after))
}

/// Ends every credential at once; the erasure loop removes what is personal.
pub async fn delete(ctx: &OpContext, id: UserId, reason: Option<String>) -> Result<Prepared<()>> {
    let permit = ctx.permit_platform(Permission::UserManage).await?;
    let (mut tx, before) = load(ctx, &permit, id).await?;
    check_not_stronger(&mut tx, &permit, id).await?;
    let state = before.state.after(Move::Delete)?;
    keep_an_admin(&mut tx, id).await?;
    tx.delete_sessions_besides(id, None).await?;
    tx.delete_personal_tokens_of(id).await?;
    tx.delete_login_links_of(id).await?;
    let after = tx.update_user(User { state, ..before.clone() }).await?;
    tx.enqueue(WorkId::new(ctx.plane.new_uuid()), erasure::USER, &json!({ "id": id }), tx.at()).await?;
    let change = state_change(ctx, &before, &after).because(reason);
    Ok(Prepared::new(tx, change, ()))
}

/// Refuses to leave the platform without anybody who can look after it.
pub(crate) async fn keep_an_admin(tx: &mut Tx, leaving: UserId) -> Result<()> {
    tx.lock_platform().await?;
    let is_admin = tx
        .list_grants(leaving.uuid())
        .await?
        .iter()
        .any(|grant| grant.scope == Scope::Platform && grant.role == BuiltinRole::PlatformAdmin.id());
    if is_admin && tx.count_platform_admins_besides(leaving).await? == 0 {
        return Err(Error::conflict(
            "last_platform_admin",
            "This is the last active platform admin; give the role to somebody else first.",
        ));
    }
    Ok(())
}

/// Whoever can take an account over has what it has: so nobody touches an account that holds more than they do.
async fn check_not_stronger(tx: &mut Tx, permit: &Permit, id: UserId) -> Result<()> {
    let held = tx.list_grants(id.uuid()).await?.into_iter().flat_map(|grant| grant.permissions).collect();
    permit.check_may_grant(&held)
}

async fn load(ctx: &OpContext, permit: &Permit, id: UserId) -> Result<(Tx, User)> {
    let mut tx = ctx.begin(permit).await?;
    tx.lock_user(id).await?;
    let user = tx
        .find_user(id)
        .await?
        .filter(|user| user.state != Standing::Tombstone)
        .ok_or_else(Error::not_found)?;
    ctx.check_version(user.version)?;
    Ok((tx, user))
}

fn state_change(ctx: &OpContext, before: &User, after: &User) -> Change {
    Change::new(ctx.route.action, ObjectRef::new("user", after.id))
        .before(before.audit_view())
        .after(after.audit_view())
        .event(EventType::UserStateChanged, view(after))
}
