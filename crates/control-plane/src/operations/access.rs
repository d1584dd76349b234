//! Opening an app: codes, sessions and tokens of one endpoint, and the questions the gateway asks.
//!
//! The gateway holds no right of its own. What it may let through is asked here, from the credential a session came from
//! down to the project's standing; it remembers an answer for a few seconds and asks again.

use gpuaas_domain::access::{AccessMode, EndpointRoute, Label, PublicAccess};
use gpuaas_domain::event::{Change, EventType, ObjectRef};
use gpuaas_domain::iam::{self, Actor, Grant, Permission, Permit, Scope, TenantScope};
use gpuaas_domain::ids::{
    AccessCodeId, AppSessionId, EndpointTokenId, InstanceId, ProjectId, ServiceAccountId, UserId,
};
use gpuaas_domain::limit::Limit;
use gpuaas_domain::machine_token::{self, IdentityClaims};
use gpuaas_domain::standing::Standing;
use gpuaas_domain::text::DisplayName;
use gpuaas_domain::{Error, Result, Secret, Timestamp};
use gpuaas_store::Session;
use gpuaas_store::access::{StoredAccess, StoredEndpointToken, Traffic};
use serde_json::{Value, json};

use super::authenticate::check_account;
use crate::context::Credential;
use crate::plane::ControlPlane;
use crate::tokens::{OpaqueKind, OpaqueToken};
use crate::{OpContext, Prepared};

/// What endpoints may be, and how long what opens them lives.
#[derive(Clone, Debug)]
pub struct GatewaySettings {
    /// The most that a public endpoint may be open to the world.
    pub public_ceiling: PublicAccess,
    pub code_ttl_seconds: i64,
    pub session_ttl_seconds: i64,
}

impl Default for GatewaySettings {
    fn default() -> Self {
        Self { public_ceiling: PublicAccess::Off, code_ttl_seconds: 60, session_ttl_seconds: 12 * 60 * 60 }
    }
}

const DEFAULT_TOKEN_SECONDS: i64 = 30 * 86_400;
const MAX_TOKEN_SECONDS: i64 = 90 * 86_400;
/// The app learns who is there by a token of this life; it is renewed as long as the session is checked.
const IDENTITY_SECONDS: i64 = 300;
/// Of one person: browsers and tabs that are really used, and room.
const SESSIONS_AT_ONE_ENDPOINT: i64 = 20;

/// What opens an endpoint once.
pub struct Opening {
    pub label: Label,
    pub code: Secret<String>,
    pub expires_at: Timestamp,
}

fn object(route: &EndpointRoute) -> ObjectRef {
    ObjectRef::new("endpoint", &route.label)
}

fn view(route: &EndpointRoute) -> Value {
    json!({"app_instance_id": route.instance_id, "component": route.component, "endpoint": route.name,
           "mode": route.mode, "public_access": route.public_access})
}

async fn load(
    plane: &ControlPlane,
    session: &mut Session,
    permit: &Permit,
    instance: InstanceId,
    endpoint: &str,
) -> Result<EndpointRoute> {
    let found = session.find_endpoint(permit.tenant_scope(), instance, endpoint).await?;
    found.map(|route| below_ceiling(plane, route)).ok_or_else(Error::not_found)
}

/// What was switched on counts only as far as the operator allows it now.
fn below_ceiling(plane: &ControlPlane, mut route: EndpointRoute) -> EndpointRoute {
    route.public_access = route.public_access.min(plane.settings.gateway.public_ceiling);
    route
}

async fn find(plane: &ControlPlane, session: &mut Session, label: &Label) -> Result<Option<EndpointRoute>> {
    Ok(session.find_endpoint_route(label).await?.map(|route| below_ceiling(plane, route)))
}

fn check_live(route: &EndpointRoute) -> Result<()> {
    if route.decommissioned {
        return Err(Error::conflict("instance_decommissioned", "The instance is gone; launch a new one."));
    }
    Ok(())
}

/// A code for the endpoint's own origin, good once and for a minute. It carries the caller's right, not their session.
pub async fn open(
    ctx: &OpContext,
    project: ProjectId,
    instance: InstanceId,
    endpoint: &str,
) -> Result<Prepared<Opening>> {
    let permit = ctx.permit_project(Permission::InstanceAccess, project).await?;
    let user = ctx.person().await?;
    let (session_id, personal_token_id) = match ctx.known()?.credential {
        Credential::Session(id) => (Some(id), None),
        Credential::PersonalToken(id) => (None, Some(id)),
        Credential::ServiceAccountToken(_) | Credential::NodeToken | Credential::InstanceToken { .. } => {
            return Err(Error::not_found());
        }
    };
    let mut tx = ctx.begin(&permit).await?;
    let route = load(&ctx.plane, &mut tx, &permit, instance, endpoint).await?;
    check_live(&route)?;
    let plane = &ctx.plane;
    let token = OpaqueToken::generate(OpaqueKind::AccessCode, plane.new_uuid(), &*plane.entropy);
    let expires_at = tx.at().plus_seconds(plane.settings.gateway.code_ttl_seconds);
    let code = StoredAccess {
        secret_hash: token.hash(),
        label: route.label.to_string(),
        user_id: user,
        session_id,
        personal_token_id,
        access_epoch: route.access_epoch,
        expires_at,
    };
    tx.insert_access_code(AccessCodeId::new(token.id), &code).await?;
    tx.keep_newest_access(&code.label, user, SESSIONS_AT_ONE_ENDPOINT).await?;
    let change = Change::new(ctx.route.action, object(&route)).after(view(&route));
    Ok(Prepared::new(tx, change, Opening { label: route.label, code: token.reveal(), expires_at }))
}

/// Whose endpoint a host name is, for somebody who came by the host name. Not yours looks like not there.
pub async fn resolve(ctx: &OpContext, label: &str) -> Result<EndpointRoute> {
    let known = ctx.known()?;
    let route = match Label::parse(label) {
        Some(label) => find(&ctx.plane, &mut ctx.plane.store.read().await?, &label).await?,
        None => None,
    };
    let scope = |route: &EndpointRoute| Scope::Project(route.tenant_id, route.project_id);
    route
        .filter(|route| {
            iam::decide(known.actor, &known.grants, Permission::InstanceAccess, scope(route)).is_ok()
        })
        .ok_or_else(Error::not_found)
}

/// Lets the world in at a public endpoint, or keeps it out again (J-04).
pub async fn set_public(
    ctx: &OpContext,
    project: ProjectId,
    instance: InstanceId,
    endpoint: &str,
    wanted: PublicAccess,
) -> Result<Prepared<EndpointRoute>> {
    let permit = ctx.permit_project(Permission::InstanceExpose, project).await?;
    let mut tx = ctx.begin(&permit).await?;
    tx.lock_instance(instance).await?;
    let route = load(&ctx.plane, &mut tx, &permit, instance, endpoint).await?;
    ctx.check_version(route.version)?;
    check_live(&route)?;
    if wanted != PublicAccess::Off && route.mode != AccessMode::Public {
        return Err(Error::conflict(
            "endpoint_not_public",
            "The endpoint was not launched with access mode public; launch it so.",
        ));
    }
    if wanted > ctx.plane.settings.gateway.public_ceiling {
        return Err(Error::forbidden(
            "public_access_off",
            "This platform's operator does not allow endpoints to be this open.",
        )
        .with_param("allowed", ctx.plane.settings.gateway.public_ceiling.name()));
    }
    tx.set_public_access(&route, wanted).await?;
    let after = EndpointRoute { public_access: wanted, version: route.version + 1, ..route.clone() };
    let change = Change::new(ctx.route.action, object(&route))
        .before(view(&route))
        .after(view(&after))
        .event(EventType::EndpointExposed, view(&after));
    Ok(Prepared::new(tx, change, after))
}

/// A token for one endpoint, with its secret.
pub struct NewEndpointToken {
    pub token: StoredEndpointToken,
    pub secret: Secret<String>,
}

pub async fn create_token(
    ctx: &OpContext,
    project: ProjectId,
    instance: InstanceId,
    endpoint: &str,
    name: DisplayName,
    ttl_seconds: Option<i64>,
) -> Result<Prepared<NewEndpointToken>> {
    let permit = ctx.permit_project(Permission::InstanceAccess, project).await?;
    let ttl = ttl_seconds.unwrap_or(DEFAULT_TOKEN_SECONDS);
    if !(60..=MAX_TOKEN_SECONDS).contains(&ttl) {
        return Err(Error::field(
            "/ttl_seconds",
            "out_of_range",
            format!("Use a number from 60 to {MAX_TOKEN_SECONDS}."),
        ));
    }
    let mut tx = ctx.begin(&permit).await?;
    tx.lock_instance(instance).await?;
    let route = load(&ctx.plane, &mut tx, &permit, instance, endpoint).await?;
    check_live(&route)?;
    let limit = tx.effective_limit(permit.scope(), Limit::EndpointTokens).await?;
    let present = tx.list_endpoint_tokens(&route.label).await?.len();
    Limit::EndpointTokens.check(limit, i64::try_from(present).unwrap_or(i64::MAX))?;
    let secret = OpaqueToken::generate(OpaqueKind::EndpointToken, ctx.plane.new_uuid(), &*ctx.plane.entropy);
    let token = StoredEndpointToken {
        id: EndpointTokenId::new(secret.id),
        secret_hash: secret.hash(),
        label: route.label.to_string(),
        tenant_id: route.tenant_id,
        project_id: route.project_id,
        name: name.into(),
        created_by_kind: permit.actor().kind().to_owned(),
        created_by_id: permit.actor().id(),
        created_at: tx.at(),
        expires_at: tx.at().plus_seconds(ttl),
    };
    tx.insert_endpoint_token(&token).await?;
    let change = Change::new(ctx.route.action, ObjectRef::new("endpoint_token", token.id))
        .after(json!({"endpoint": view(&route), "name": token.name, "expires_at": token.expires_at}));
    Ok(Prepared::new(tx, change, NewEndpointToken { token, secret: secret.reveal() }))
}

pub async fn list_tokens(
    ctx: &OpContext,
    project: ProjectId,
    instance: InstanceId,
    endpoint: &str,
) -> Result<Vec<StoredEndpointToken>> {
    let permit = ctx.permit_project(Permission::InstanceAccess, project).await?;
    let mut session = ctx.plane.store.read().await?;
    let route = load(&ctx.plane, &mut session, &permit, instance, endpoint).await?;
    let now = ctx.now();
    let tokens = session.list_endpoint_tokens(&route.label).await?;
    Ok(tokens.into_iter().filter(|token| token.expires_at > now).collect())
}

pub async fn revoke_token(
    ctx: &OpContext,
    project: ProjectId,
    instance: InstanceId,
    endpoint: &str,
    id: EndpointTokenId,
) -> Result<Prepared<()>> {
    let permit = ctx.permit_project(Permission::InstanceAccess, project).await?;
    let mut tx = ctx.begin(&permit).await?;
    let route = load(&ctx.plane, &mut tx, &permit, instance, endpoint).await?;
    if tx.delete_endpoint_token(&route.label, id).await? == 0 {
        return Err(Error::not_found());
    }
    let change = Change::new(ctx.route.action, ObjectRef::new("endpoint_token", id))
        .before(json!({"endpoint": view(&route)}));
    Ok(Prepared::new(tx, change, ()))
}

/// Gives every endpoint that the gateway serves a label of its own, once; and the new revision its traffic.
pub(crate) async fn route_endpoints(
    plane: &ControlPlane,
    tx: &mut gpuaas_store::Tx,
    instance: &gpuaas_domain::instance::Instance,
    endpoints: &[gpuaas_domain::instance::Endpoint],
) -> Result<()> {
    let known = tx.list_endpoints(instance.id).await?;
    let has_label = |endpoint: &gpuaas_domain::instance::Endpoint| {
        known.iter().any(|one| {
            one.component == endpoint.component && one.name == endpoint.name && one.label.is_some()
        })
    };
    for endpoint in endpoints.iter().filter(|one| one.mode.is_proxied() && !has_label(one)) {
        let label = Label::new(plane.entropy.bytes32().expose());
        tx.insert_endpoint_route(instance, endpoint, &label).await?;
    }
    tx.route_to_revision(instance.id, instance.revision_id).await
}

// --- what the gateway asks ----------------------------------------------------------------------------------------

/// Who is let through, and for how long at most.
pub struct AppGrant {
    /// Only while the endpoint's epoch is still this.
    pub access_epoch: Option<i64>,
    pub expires_at: Timestamp,
    /// A signed word to the app about who is there.
    pub identity: Option<Secret<String>>,
}

/// A fresh session with an endpoint.
pub struct AppSession {
    pub cookie: Secret<String>,
    pub expires_at: Timestamp,
}

fn refused(why: impl Into<String>) -> Error {
    Error::unauthenticated("app_session_required", "Open the app from the platform's pages.")
        .with_internal(why)
}

pub async fn route(plane: &ControlPlane, label: &Label) -> Result<Option<EndpointRoute>> {
    find(plane, &mut plane.store.read().await?, label).await
}

/// Exchanges a code, once, for a session with the endpoint it was made for.
pub async fn redeem(plane: &ControlPlane, label: &Label, code: &str) -> Result<AppSession> {
    let spent =
        || Error::unauthenticated("invalid_code", "This link was used or has expired; open the app again.");
    let token =
        OpaqueToken::parse(code).filter(|token| token.kind == OpaqueKind::AccessCode).ok_or_else(spent)?;
    let id = AccessCodeId::new(token.id);
    let mut session = plane.store.read().await?;
    let stored = session.find_access_code(id).await?.ok_or_else(spent)?;
    let now = plane.now();
    if !token.fits(&stored.secret_hash) || now >= stored.expires_at || stored.label != label.as_str() {
        return Err(spent());
    }
    let route = find(plane, &mut session, label).await?.ok_or_else(spent)?;
    if route.access_epoch != stored.access_epoch {
        return Err(spent());
    }
    let ends = still_held(plane, &mut session, &route, &stored).await?;
    drop(session);
    let scope = Scope::Project(route.tenant_id, route.project_id);
    let permit = Permit::own_account(Actor::User(stored.user_id));
    let mut tx = plane.store.begin(&permit, plane.own_stamp()).await?;
    if !tx.take_access_code(id).await? {
        return Err(spent());
    }
    let fresh = OpaqueToken::generate(OpaqueKind::AppSession, plane.new_uuid(), &*plane.entropy);
    let expires_at = ends.min(now.plus_seconds(plane.settings.gateway.session_ttl_seconds));
    let opened = StoredAccess { secret_hash: fresh.hash(), expires_at, ..stored };
    tx.insert_app_session(AppSessionId::new(fresh.id), &opened).await?;
    tx.keep_newest_access(&opened.label, opened.user_id, SESSIONS_AT_ONE_ENDPOINT).await?;
    let change = Change::new("apps.endpoint.entered", object(&route))
        .at(scope)
        .after(json!({"endpoint": view(&route), "app_session_id": fresh.id, "expires_at": expires_at}));
    tx.commit(change, None).await?;
    Ok(AppSession { cookie: fresh.reveal(), expires_at })
}

/// The session of a cookie, if it is this endpoint's and its person may still be here.
pub async fn check_session(plane: &ControlPlane, label: &Label, value: &str) -> Result<AppGrant> {
    let token = OpaqueToken::parse(value)
        .filter(|token| token.kind == OpaqueKind::AppSession)
        .ok_or_else(|| refused("not an app session"))?;
    let mut session = plane.store.read().await?;
    let stored = session
        .find_app_session(AppSessionId::new(token.id))
        .await?
        .filter(|stored| token.fits(&stored.secret_hash) && stored.label == label.as_str())
        .ok_or_else(|| refused("unknown"))?;
    if plane.now() >= stored.expires_at {
        return Err(refused("expired"));
    }
    let route = find(plane, &mut session, label).await?.ok_or_else(|| refused("its endpoint is gone"))?;
    if route.access_epoch != stored.access_epoch {
        return Err(refused("access was ended since"));
    }
    let ends = still_held(plane, &mut session, &route, &stored).await?;
    drop(session);
    Ok(AppGrant {
        access_epoch: Some(stored.access_epoch),
        expires_at: stored.expires_at.min(ends),
        identity: Some(identity(plane, &route, "user", &stored.user_id.to_string()).await?),
    })
}

/// A program's token for this endpoint.
pub async fn check_token(plane: &ControlPlane, label: &Label, value: &str) -> Result<AppGrant> {
    let no = |why: &str| {
        Error::unauthenticated("invalid_token", "The token is not valid here or has expired; make a new one.")
            .with_internal(why)
    };
    let token = OpaqueToken::parse(value)
        .filter(|token| token.kind == OpaqueKind::EndpointToken)
        .ok_or_else(|| no("not a token of an endpoint"))?;
    let mut session = plane.store.read().await?;
    let stored = session
        .find_endpoint_token(EndpointTokenId::new(token.id))
        .await?
        .filter(|stored| token.fits(&stored.secret_hash) && stored.label == label.as_str())
        .ok_or_else(|| no("unknown"))?;
    if plane.now() >= stored.expires_at {
        return Err(no("expired"));
    }
    let route = find(plane, &mut session, label).await?.ok_or_else(|| no("its endpoint is gone"))?;
    // A key of a public endpoint is the endpoint's own; any other is as good as its maker.
    if !(route.mode == AccessMode::Public && route.public_access >= PublicAccess::ApiKey) {
        maker_may(&mut session, &route, &stored).await?;
    }
    drop(session);
    Ok(AppGrant {
        access_epoch: None,
        expires_at: stored.expires_at,
        identity: Some(identity(plane, &route, "endpoint_token", &stored.id.to_string()).await?),
    })
}

/// Everybody, where the endpoint is open to everybody.
pub fn check_open(route: &EndpointRoute) -> bool {
    route.mode == AccessMode::Public && route.public_access == PublicAccess::Open
}

/// Until when what a session or code came from lasts, if its person may still open the endpoint.
async fn still_held(
    plane: &ControlPlane,
    session: &mut Session,
    route: &EndpointRoute,
    stored: &StoredAccess,
) -> Result<Timestamp> {
    let holder = match (stored.session_id, stored.personal_token_id) {
        (Some(id), _) => session.find_session(id).await?,
        (None, Some(id)) => session.find_personal_token(id).await?,
        (None, None) => None,
    };
    let holder = holder.ok_or_else(|| refused("what it came from has ended"))?;
    if holder.user.id != stored.user_id
        || holder.user.state != Standing::Active
        || plane.now() >= holder.expires_at
    {
        return Err(refused("its person may not sign in"));
    }
    may_open(session, Actor::User(holder.user.id), &holder.grants, route).await?;
    Ok(holder.expires_at)
}

async fn maker_may(session: &mut Session, route: &EndpointRoute, stored: &StoredEndpointToken) -> Result<()> {
    let gone = || refused("its maker is gone");
    let id = uuid::Uuid::parse_str(&stored.created_by_id).map_err(|_| gone())?;
    if stored.created_by_kind == "user" {
        let user = session.find_user(UserId::new(id)).await?.ok_or_else(gone)?;
        if user.state != Standing::Active {
            return Err(gone());
        }
        let grants = session.list_grants(id).await?;
        return may_open(session, Actor::User(user.id), &grants, route).await;
    }
    let anywhere: TenantScope = Permit::system("gateway", Scope::Platform).tenant_scope();
    let account =
        session.find_service_account(anywhere, ServiceAccountId::new(id)).await?.ok_or_else(gone)?;
    check_account(session, &account).await?;
    let grants = session.list_grants(id).await?;
    may_open(session, Actor::ServiceAccount(account.id), &grants, route).await
}

async fn may_open(
    session: &mut Session,
    actor: Actor,
    grants: &[Grant],
    route: &EndpointRoute,
) -> Result<()> {
    let scope = Scope::Project(route.tenant_id, route.project_id);
    iam::decide(actor, grants, Permission::InstanceAccess, scope)
        .map_err(|denial| refused(format!("{denial:?}")))?;
    let located = session.locate_project(route.project_id).await?;
    if !located.is_some_and(|located| located.project.is_active() && located.tenant.is_active()) {
        return Err(refused("the project or its tenant is not active"));
    }
    Ok(())
}

/// What the app is told about who is there: signed, for this instance, short.
async fn identity(
    plane: &ControlPlane,
    route: &EndpointRoute,
    kind: &str,
    subject: &str,
) -> Result<Secret<String>> {
    let (key_id, signer) = plane.token_signer().await?;
    let now = plane.now().unix_seconds();
    let claims = IdentityClaims {
        iss: plane.platform_id.to_string(),
        aud: route.instance_id.to_string(),
        sub: subject.to_owned(),
        kind: kind.to_owned(),
        endpoint: route.name.clone(),
        project_id: route.project_id,
        iat: now,
        exp: now + IDENTITY_SECONDS,
    };
    Ok(Secret::new(machine_token::sign_identity(&signer, &key_id.to_string(), &claims)))
}

/// The keys that sign what apps are told, newest first: id and public half.
pub async fn identity_keys(plane: &ControlPlane) -> Result<Vec<(String, [u8; 32])>> {
    plane.token_signer().await?;
    let keys = plane.token_keys.read().expect("no holder panics");
    let now = plane.now();
    let fresh = |retired: Option<Timestamp>| {
        retired.is_none_or(|at| now.seconds_since(at) <= i64::from(machine_token::MAX_TOKEN_TTL_SECONDS))
    };
    Ok(keys
        .verifiers
        .iter()
        .filter(|key| fresh(key.retired_at))
        .map(|key| (key.id.to_string(), key.public_key))
        .collect())
}

/// Adds what passed to the hour it passed in.
pub async fn add_traffic(plane: &ControlPlane, passed: &[(Label, Traffic)]) -> Result<()> {
    let now = plane.now();
    let hour = Timestamp::from_unix_seconds(now.unix_seconds().div_euclid(3600) * 3600).unwrap_or(now);
    let permit = Permit::system("gateway", Scope::Platform);
    plane.store.begin(&permit, plane.own_stamp()).await?.add_traffic(hour, passed).await
}
