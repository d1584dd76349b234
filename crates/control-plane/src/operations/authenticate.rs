//! From a credential to a caller we know, and from a machine's assertion to its access token.
//!
//! Nothing is cached: an account that was disabled, a key that ended, a role that was taken away count from the
//! next request on.

use gpuaas_domain::event::{Change, ObjectRef};
use gpuaas_domain::iam::{Actor, Permit, Scope};
use gpuaas_domain::identity::{AccountKind, AccountState, ServiceAccount};
use gpuaas_domain::ids::{KeyId, PersonalTokenId, SessionId, UserId};
use gpuaas_domain::machine_token::{self, AccessClaims, CLOCK_SKEW_SECONDS, MAX_TOKEN_TTL_SECONDS, Refusal};
use gpuaas_domain::standing::Standing;
use gpuaas_domain::{Error, Result, Secret, Timestamp};
use gpuaas_store::Session;
use gpuaas_store::credentials::Holder;

use super::instance_identity;
use crate::context::{Credential, Known};
use crate::plane::ControlPlane;
use crate::tokens::{OpaqueKind, OpaqueToken};
use crate::{OpContext, Prepared};

/// The one audience of access tokens of the public API.
pub const API_AUDIENCE: &str = "gpuaas-api";

pub(crate) fn invalid_token(why: impl Into<String>) -> Error {
    Error::unauthenticated(
        "invalid_token",
        "The token is not valid or has expired; sign in again or get a new one.",
    )
    .with_internal(why)
}

fn account_disabled() -> Error {
    Error::unauthenticated("account_disabled", "This account is suspended or disabled; ask an admin.")
}

/// `Authorization: Bearer …`: a personal token or a machine's access token.
pub async fn bearer(plane: &ControlPlane, token: &str) -> Result<Known> {
    if machine_token::looks_like_jwt(token) {
        return machine(plane, token).await;
    }
    match OpaqueToken::parse(token) {
        Some(token) if token.kind == OpaqueKind::PersonalToken => {
            let id = PersonalTokenId::new(token.id);
            let holder = plane.store.read().await?.find_personal_token(id).await?;
            person(plane, &token, holder, Credential::PersonalToken(id))
        }
        Some(_) => Err(invalid_token("an opaque token of another kind was used as bearer")),
        None => Err(invalid_token("not a token of ours")),
    }
}

/// The browser's session cookie.
pub async fn session_cookie(plane: &ControlPlane, value: &str) -> Result<Known> {
    let token = OpaqueToken::parse(value)
        .filter(|token| token.kind == OpaqueKind::Session)
        .ok_or_else(|| invalid_token("not a session"))?;
    let id = SessionId::new(token.id);
    let holder = plane.store.read().await?.find_session(id).await?;
    person(plane, &token, holder, Credential::Session(id))
}

fn person(
    plane: &ControlPlane,
    token: &OpaqueToken,
    holder: Option<Holder>,
    credential: Credential,
) -> Result<Known> {
    let holder =
        holder.filter(|holder| token.fits(&holder.secret_hash)).ok_or_else(|| invalid_token("unknown"))?;
    if plane.now() >= holder.expires_at {
        return Err(invalid_token("expired"));
    }
    if holder.user.state != Standing::Active {
        return Err(account_disabled());
    }
    let Holder { expires_at, user, grants, .. } = holder;
    Ok(Known { actor: Actor::User(user.id), grants, credential, expires_at, user: Some(user), account: None })
}

async fn machine(plane: &ControlPlane, token: &str) -> Result<Known> {
    let refuse = |refusal: Refusal| invalid_token(format!("access token: {refusal:?}"));
    let unverified = machine_token::open_access::<AccessClaims>(token).map_err(refuse)?;
    let public_key = plane
        .token_verifier(&unverified.key_id)
        .await?
        .ok_or_else(|| invalid_token("signed by an unknown key"))?;
    let issuer = plane.platform_id.to_string();
    let claims = machine_token::check_access(&unverified, &public_key, &issuer, API_AUDIENCE, plane.now())
        .map_err(refuse)?;

    let mut session = plane.store.read().await?;
    let scope =
        Permit::system("authenticate", Scope::Project(claims.tenant_id, claims.project_id)).tenant_scope();
    let account = session
        .find_service_account(scope, claims.sub)
        .await?
        .filter(|account| account.kind == AccountKind::Operator)
        .ok_or_else(|| invalid_token("its account is gone"))?;
    let key =
        session.find_account_key(claims.key_id).await?.ok_or_else(|| invalid_token("its key is gone"))?;
    if key.service_account_id != account.id || !key.is_valid(plane.now()) {
        return Err(invalid_token("its key has ended"));
    }
    check_account(&mut session, &account).await?;
    let grants = session.list_grants(account.id.uuid()).await?;
    let expires_at =
        Timestamp::from_unix_seconds(claims.exp).ok_or_else(|| invalid_token("its end is no time"))?;
    Ok(Known {
        actor: Actor::ServiceAccount(account.id),
        grants,
        credential: Credential::ServiceAccountToken(claims.key_id),
        expires_at,
        user: None,
        account: Some(account),
    })
}

pub(crate) async fn check_account(session: &mut Session, account: &ServiceAccount) -> Result<()> {
    let located = session.locate_project(account.project_id).await?;
    let home_active =
        located.is_some_and(|located| located.project.is_active() && located.tenant.is_active());
    if account.state != AccountState::Active || !home_active {
        return Err(account_disabled());
    }
    Ok(())
}

/// An access token and when it ends.
pub struct IssuedToken {
    pub token: Secret<String>,
    pub expires_in_seconds: u32,
    pub expires_at: Timestamp,
}

/// Exchanges an assertion. Each is good for one token.
pub async fn exchange(
    ctx: &OpContext,
    assertion: &str,
    ttl_seconds: Option<u32>,
) -> Result<Prepared<IssuedToken>> {
    let plane = &ctx.plane;
    let refuse = |why: String| {
        Error::unauthenticated(
            "invalid_assertion",
            "The assertion is not valid; see the documentation of this call.",
        )
        .with_internal(why)
    };
    let unverified =
        machine_token::open_assertion(assertion).map_err(|refusal| refuse(format!("{refusal:?}")))?;
    let key_id: KeyId = unverified.key_id.parse().map_err(|_| refuse("its key id is no id".into()))?;
    let mut session = plane.store.read().await?;
    let key = session.find_account_key(key_id).await?.ok_or_else(|| refuse("unknown key".into()))?;
    let now = plane.now();
    let audience = plane.platform_id.to_string();
    let claims =
        machine_token::check_assertion(&unverified, key.service_account_id, &key.public_key, &audience, now)
            .map_err(|refusal| refuse(format!("{refusal:?}")))?;
    if !key.is_valid(now) {
        return Err(refuse("the key has ended".into()));
    }
    let anywhere = Permit::system("authenticate", Scope::Platform).tenant_scope();
    let account = session
        .find_service_account(anywhere, key.service_account_id)
        .await?
        .ok_or_else(|| refuse("the account is deleted".into()))?;
    check_account(&mut session, &account).await?;
    let speaker = match account.kind {
        AccountKind::Operator => None,
        // An instance's key is worth something only while it is the one that counts.
        AccountKind::Instance => Some(
            instance_identity::find_speaker(&mut session, account.id, key_id)
                .await?
                .ok_or_else(|| refuse("its instance has ended or moved on".into()))?,
        ),
    };
    drop(session);

    let actor = Actor::ServiceAccount(account.id);
    let object = ObjectRef::new("service_account", account.id);
    let ttl = ttl_seconds
        .unwrap_or(plane.settings.service_account_token_ttl_seconds)
        .clamp(1, plane.settings.service_account_token_ttl_seconds.min(MAX_TOKEN_TTL_SECONDS));
    let (signer_id, signer) = plane.token_signer().await?;
    let mut tx = ctx.begin(&Permit::own_account(actor)).await?;
    let nonce_until =
        Timestamp::from_unix_seconds(claims.exp).unwrap_or(now).plus_seconds(CLOCK_SKEW_SECONDS + 1);
    if !tx.use_nonce(account.id.uuid(), &claims.jti, nonce_until).await? {
        drop(tx);
        let refusal =
            Error::unauthenticated("assertion_replayed", "This assertion was used before; sign a new one.");
        plane
            .store
            .record_denial(&ctx.stamp(), actor, account.scope(), ctx.route.action, object, &refusal)
            .await?;
        return Err(refusal);
    }
    let expires_at = now.plus_seconds(i64::from(ttl));
    let signer_id = signer_id.to_string();
    let (token, jti) = if let Some((identity, _)) = &speaker {
        let claims = instance_identity::claims(plane, &account, identity, now, ttl);
        (machine_token::sign_access(&signer, &signer_id, &claims), claims.jti)
    } else {
        let claims = AccessClaims {
            iss: plane.platform_id.to_string(),
            aud: API_AUDIENCE.into(),
            sub: account.id,
            tenant_id: account.tenant_id,
            project_id: account.project_id,
            key_id,
            jti: plane.new_uuid().to_string(),
            iat: now.unix_seconds(),
            exp: now.unix_seconds() + i64::from(ttl),
        };
        (machine_token::sign_access(&signer, &signer_id, &claims), claims.jti)
    };
    let token = Secret::new(token);
    let change = Change::new(ctx.route.action, object)
        .at(account.scope())
        .after(serde_json::json!({"key_id": key_id, "expires_at": expires_at, "jti": jti}));
    Ok(Prepared::new(tx, change, IssuedToken { token, expires_in_seconds: ttl, expires_at }))
}

/// Checks e-mail and password; one answer for every way to be wrong.
///
/// Returns the hash that was compared too: whoever acts on the answer checks that it is still the one.
pub(crate) async fn password(
    plane: &ControlPlane,
    email: &str,
    password: &Secret<String>,
) -> Result<(UserId, String)> {
    let folded = gpuaas_domain::text::Email::parse(email).ok();
    let mut session = plane.store.read().await?;
    let user = match &folded {
        Some(email) => session.find_user_by_email(email.as_str()).await?,
        None => None,
    };
    let hash = match &user {
        Some(user) => session.find_password_hash(user.id).await?,
        None => None,
    };
    drop(session);
    let fits = plane.password_fits(password, hash.clone()).await?;
    match user {
        Some(user) if fits && user.state == Standing::Active => Ok((user.id, hash.unwrap_or_default())),
        Some(_) if fits => Err(account_disabled()),
        _ => Err(Error::unauthenticated("invalid_credentials", "E-mail and password do not fit together.")),
    }
}
