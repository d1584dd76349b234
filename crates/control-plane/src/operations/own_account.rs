//! What people do to their own account: sign in and out, change the password, keep personal tokens.

use gpuaas_domain::event::{Change, ObjectRef};
use gpuaas_domain::iam::{Actor, Permit};
use gpuaas_domain::identity::{PersonalToken, User};
use gpuaas_domain::ids::{LinkId, PersonalTokenId, SessionId, UserId};
use gpuaas_domain::limit::Limit;
use gpuaas_domain::page::{Page, PageRequest};
use gpuaas_domain::standing::Standing;
use gpuaas_domain::text::DisplayName;
use gpuaas_domain::{Error, Result, Secret, Timestamp};
use serde_json::json;

use super::authenticate;
use crate::context::Credential;
use crate::passwords::check_strength;
use crate::tokens::{OpaqueKind, OpaqueToken};
use crate::{OpContext, Prepared};

const DEFAULT_TOKEN_DAYS: u32 = 30;
const MAX_TOKEN_DAYS: u32 = 90;

/// A fresh browser session.
pub struct SignedIn {
    pub user: User,
    pub cookie: Secret<String>,
    pub expires_at: Timestamp,
}

pub async fn sign_in(ctx: &OpContext, email: &str, password: &Secret<String>) -> Result<Prepared<SignedIn>> {
    let (user, hash) = authenticate::password(&ctx.plane, email, password).await?;
    let mut tx = ctx.begin(&Permit::own_account(Actor::User(user))).await?;
    tx.lock_user(user).await?;
    // A reset that came in between counts: the old password must not open anything after it.
    if tx.find_password_hash(user).await? != Some(hash) {
        return Err(Error::unauthenticated(
            "invalid_credentials",
            "E-mail and password do not fit together.",
        ));
    }
    open_session(ctx, tx, user).await
}

/// A one-time link signs in whoever opens it first.
pub async fn sign_in_by_link(ctx: &OpContext, code: &str) -> Result<Prepared<SignedIn>> {
    let refuse = || {
        Error::unauthenticated(
            "invalid_link",
            "This link was used, has expired or is not ours; ask for a new one.",
        )
    };
    let token =
        OpaqueToken::parse(code).filter(|token| token.kind == OpaqueKind::LoginLink).ok_or_else(refuse)?;
    let id = LinkId::new(token.id);
    let stored = ctx.plane.store.read().await?.find_login_link(id).await?.ok_or_else(refuse)?;
    if !token.fits(&stored.secret_hash) || ctx.now() >= stored.expires_at {
        return Err(refuse());
    }
    let mut tx = ctx.begin(&Permit::own_account(Actor::User(stored.user_id))).await?;
    if !tx.take_login_link(id).await? {
        return Err(refuse());
    }
    open_session(ctx, tx, stored.user_id).await
}

async fn open_session(ctx: &OpContext, mut tx: gpuaas_store::Tx, user: UserId) -> Result<Prepared<SignedIn>> {
    let user = tx.find_user(user).await?.filter(|user| user.state == Standing::Active).ok_or_else(|| {
        Error::unauthenticated("account_disabled", "This account is suspended; ask an admin.")
    })?;
    let token = OpaqueToken::generate(OpaqueKind::Session, ctx.plane.new_uuid(), &*ctx.plane.entropy);
    let expires_at = tx.at().plus_seconds(ctx.plane.settings.session_ttl_seconds);
    tx.insert_session(SessionId::new(token.id), user.id, &token.hash(), expires_at).await?;
    let change = Change::new(ctx.route.action, ObjectRef::new("user", user.id))
        .after(json!({"session_id": token.id, "expires_at": expires_at}));
    Ok(Prepared::new(tx, change, SignedIn { user, cookie: token.reveal(), expires_at }))
}

/// Ends the session the call came with; a token is not a session and stays.
pub async fn sign_out(ctx: &OpContext) -> Result<Prepared<()>> {
    let known = ctx.known()?;
    let mut tx = ctx.begin(&Permit::own_account(known.actor)).await?;
    let ended = match known.credential {
        Credential::Session(id) => tx.delete_session(id).await?,
        Credential::PersonalToken(_)
        | Credential::ServiceAccountToken(_)
        | Credential::NodeToken
        | Credential::InstanceToken { .. } => 0,
    };
    let change = Change::new(ctx.route.action, ObjectRef::new(known.actor.kind(), known.actor.id()))
        .after(json!({"sessions_ended": ended}));
    Ok(Prepared::new(tx, change, ()))
}

pub async fn change_password(
    ctx: &OpContext,
    current: &Secret<String>,
    new: &Secret<String>,
) -> Result<Prepared<()>> {
    let user = ctx.person().await?;
    check_strength("/new_password", new)?;
    let hash = ctx.plane.store.read().await?.find_password_hash(user).await?;
    if !ctx.plane.password_fits(current, hash).await? {
        return Err(Error::field(
            "/current_password",
            "wrong_password",
            "This is not your current password.",
        ));
    }
    let hash = ctx.plane.hash_password(new).await?;
    let keep = match ctx.known()?.credential {
        Credential::Session(id) => Some(id),
        Credential::PersonalToken(_)
        | Credential::ServiceAccountToken(_)
        | Credential::NodeToken
        | Credential::InstanceToken { .. } => None,
    };
    let mut tx = ctx.begin(&Permit::own_account(Actor::User(user))).await?;
    tx.set_password_hash(user, Some(&hash)).await?;
    let ended = tx.delete_sessions_besides(user, keep).await?;
    let change = Change::new(ctx.route.action, ObjectRef::new("user", user))
        .after(json!({"other_sessions_ended": ended}));
    Ok(Prepared::new(tx, change, ()))
}

pub async fn list_tokens(ctx: &OpContext, page: &PageRequest) -> Result<Page<PersonalToken>> {
    let user = ctx.person().await?;
    ctx.plane.store.read().await?.list_personal_tokens(user, page).await
}

/// A token and its secret, which nobody can read again.
pub struct NewToken {
    pub token: PersonalToken,
    pub secret: Secret<String>,
}

pub async fn create_token(
    ctx: &OpContext,
    name: DisplayName,
    days: Option<u32>,
) -> Result<Prepared<NewToken>> {
    let user = ctx.person().await?;
    let days = days.unwrap_or(DEFAULT_TOKEN_DAYS);
    if !(1..=MAX_TOKEN_DAYS).contains(&days) {
        return Err(Error::field(
            "/expires_in_days",
            "out_of_range",
            format!("Use a number from 1 to {MAX_TOKEN_DAYS}."),
        ));
    }
    let permit = Permit::own_account(Actor::User(user));
    let mut tx = ctx.begin(&permit).await?;
    tx.lock_user(user).await?;
    // A reset or revocation that came in between counts: what is gone makes nothing new.
    let still_there = match ctx.known()?.credential {
        Credential::Session(id) => tx.find_session(id).await?.is_some(),
        Credential::PersonalToken(id) => tx.find_personal_token(id).await?.is_some(),
        Credential::ServiceAccountToken(_) | Credential::NodeToken | Credential::InstanceToken { .. } => {
            false
        }
    };
    if !still_there {
        return Err(Error::unauthenticated(
            "invalid_token",
            "The token or session has ended; sign in again.",
        ));
    }
    let at = tx.at();
    let limit = tx.effective_limit(permit.scope(), Limit::PersonalTokens).await?;
    Limit::PersonalTokens.check(limit, tx.count_personal_tokens(user, at).await?)?;
    let opaque = OpaqueToken::generate(OpaqueKind::PersonalToken, ctx.plane.new_uuid(), &*ctx.plane.entropy);
    let token = PersonalToken {
        id: PersonalTokenId::new(opaque.id),
        user_id: user,
        name: name.into(),
        expires_at: at.plus_seconds(i64::from(days) * 86_400),
        created_at: at,
    };
    tx.insert_personal_token(&token, &opaque.hash()).await?;
    let change = Change::new(ctx.route.action, ObjectRef::new("personal_token", token.id))
        .after(json!({"user_id": user, "expires_at": token.expires_at}));
    Ok(Prepared::new(tx, change, NewToken { token, secret: opaque.reveal() }))
}

pub async fn revoke_token(ctx: &OpContext, id: PersonalTokenId) -> Result<Prepared<()>> {
    let user = ctx.person().await?;
    let mut tx = ctx.begin(&Permit::own_account(Actor::User(user))).await?;
    if tx.delete_personal_token(user, id).await? == 0 {
        return Err(Error::not_found());
    }
    let change =
        Change::new(ctx.route.action, ObjectRef::new("personal_token", id)).before(json!({"user_id": user}));
    Ok(Prepared::new(tx, change, ()))
}
