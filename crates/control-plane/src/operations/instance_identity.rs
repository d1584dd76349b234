//! Who an instance is: the key its node shows for it, and from the token bought with that key back to the instance.
//!
//! Nothing is cached and nothing has to be told to anybody: what ends an instance ends its key in the same transaction,
//! and every request looks at both. So a stolen key or token is worth nothing from the next request on.

use gpuaas_domain::event::{Change, EventType};
use gpuaas_domain::iam::{Actor, BuiltinRole, Permit, Scope};
use gpuaas_domain::identity::{AccountKey, AccountKind, AccountState, ServiceAccount};
use gpuaas_domain::ids::{InstanceId, KeyId, ServiceAccountId};
use gpuaas_domain::instance::Instance;
use gpuaas_domain::instance_identity::{self, InstanceIdentity, may_register, speaks_for};
use gpuaas_domain::machine_token::{self, InstanceClaims, Refusal};
use gpuaas_domain::node::NodeStanding;
use gpuaas_domain::{Error, Result, Timestamp};
use gpuaas_store::{Session, Tx};
use serde_json::json;

use super::authenticate::{self, invalid_token};
use super::launch::object;
use super::service_accounts::{self, KeyChoice};
use crate::context::{Credential, Known};
use crate::plane::ControlPlane;
use crate::{OpContext, Prepared};

/// The one audience of instances' tokens.
pub const INSTANCE_AUDIENCE: &str = "gpuaas-instance";

/// What a node is told about an identity it showed a key for.
pub struct Registered {
    pub instance: InstanceId,
    pub account: ServiceAccountId,
    pub key: KeyId,
    /// What assertions of this key are made for.
    pub audience: String,
}

/// A node shows the public half of a key that it made for one launch. The former key ends at once.
pub async fn register(
    ctx: &OpContext,
    id: InstanceId,
    generation: i64,
    public_key: &str,
) -> Result<Prepared<Registered>> {
    let node = ctx.node()?;
    let KeyChoice::Brought(public_key) = KeyChoice::parse(Some(public_key), false)? else {
        return Err(Error::internal("a key that is given is brought"));
    };
    // One answer for all: a node learns nothing about instances that are not its own.
    let not_granted = || {
        Error::forbidden("identity_not_granted", "No launch that stands lets this node have the identity.")
    };
    let mut tx = ctx.begin(&Permit::own_account(Actor::Node(node))).await?;
    tx.lock_instance(id).await?;
    let anywhere = Permit::system("identity", Scope::Platform).tenant_scope();
    let instance = tx
        .find_instance(anywhere, id)
        .await?
        .filter(|instance| may_register(instance, node, generation))
        .ok_or_else(not_granted)?;
    service_accounts::check_home_active(&mut tx, instance.project_id).await?;
    let at = tx.at();
    let (account, fresh) = ensure_account(&ctx.plane, &mut tx, &instance, at).await?;
    tx.end_account_keys(account, at).await?;
    let key = AccountKey {
        id: KeyId::new(ctx.plane.new_uuid()),
        service_account_id: account,
        public_key,
        not_after: None,
        created_at: at,
    };
    tx.insert_account_key(&key).await?;
    tx.put_instance_identity(&InstanceIdentity {
        instance_id: id,
        service_account_id: account,
        key_id: key.id,
        generation,
        node_id: node,
        registered_at: at,
        heard_at: None,
    })
    .await?;
    let view = json!({"service_account_id": account, "app_instance_id": id, "kind": AccountKind::Instance.name(),
                      "role": BuiltinRole::App.slug(), "key_id": key.id, "generation": generation});
    let kind = if fresh { EventType::ServiceAccountCreated } else { EventType::ServiceAccountKeyRotated };
    let change = Change::new(ctx.route.action, object(&instance))
        .at(instance.scope())
        .after(view.clone())
        .event(kind, view);
    let audience = ctx.plane.platform_id.to_string();
    Ok(Prepared::new(tx, change, Registered { instance: id, account, key: key.id, audience }))
}

/// The account of an instance, made when it is first needed. Says whether that was now.
async fn ensure_account(
    plane: &ControlPlane,
    tx: &mut Tx,
    instance: &Instance,
    at: Timestamp,
) -> Result<(ServiceAccountId, bool)> {
    if let Some(known) = tx.find_instance_identity(instance.id).await? {
        return Ok((known.service_account_id, false));
    }
    let account = ServiceAccount {
        id: ServiceAccountId::new(plane.new_uuid()),
        tenant_id: instance.tenant_id,
        project_id: instance.project_id,
        name: instance_identity::account_name(instance.id),
        kind: AccountKind::Instance,
        state: AccountState::Active,
        version: 1,
        created_at: at,
        updated_at: at,
    };
    tx.insert_service_account(&account).await?;
    Ok((account.id, true))
}

/// The identity and the instance behind a key, if the key speaks for it right now.
pub(crate) async fn find_speaker(
    session: &mut Session,
    account: ServiceAccountId,
    key: KeyId,
) -> Result<Option<(InstanceIdentity, Instance)>> {
    let Some(identity) = session.find_identity_of_account(account).await? else { return Ok(None) };
    let anywhere = Permit::system("authenticate", Scope::Platform).tenant_scope();
    let Some(instance) = session.find_instance(anywhere, identity.instance_id).await? else {
        return Ok(None);
    };
    // Whoever holds a revoked node holds the keys on it.
    let standing = session.find_node_key(identity.node_id).await?.map(|(standing, _)| standing);
    let speaks = standing == Some(NodeStanding::Active) && speaks_for(&identity, &instance, key);
    Ok(speaks.then_some((identity, instance)))
}

/// What a token says that an instance's key has bought.
pub(crate) fn claims(
    plane: &ControlPlane,
    account: &ServiceAccount,
    identity: &InstanceIdentity,
    now: Timestamp,
    ttl_seconds: u32,
) -> InstanceClaims {
    InstanceClaims {
        iss: plane.platform_id.to_string(),
        aud: INSTANCE_AUDIENCE.into(),
        sub: account.id,
        tenant_id: account.tenant_id,
        project_id: account.project_id,
        app_instance_id: identity.instance_id,
        generation: identity.generation,
        key_id: identity.key_id,
        jti: plane.new_uuid().to_string(),
        iat: now.unix_seconds(),
        exp: now.unix_seconds() + i64::from(ttl_seconds),
    }
}

/// From an instance's bearer token to the instance. Asked on every call, so that a stop counts at once.
pub async fn bearer(plane: &ControlPlane, token: &str) -> Result<Known> {
    let refuse = |refusal: Refusal| invalid_token(format!("instance token: {refusal:?}"));
    let unverified = machine_token::open_access::<InstanceClaims>(token).map_err(refuse)?;
    let public_key = plane
        .token_verifier(&unverified.key_id)
        .await?
        .ok_or_else(|| invalid_token("signed by an unknown key"))?;
    let (issuer, now) = (plane.platform_id.to_string(), plane.now());
    let claims = machine_token::check_access(&unverified, &public_key, &issuer, INSTANCE_AUDIENCE, now)
        .map_err(refuse)?;
    let mut session = plane.store.read().await?;
    let scope =
        Permit::system("authenticate", Scope::Project(claims.tenant_id, claims.project_id)).tenant_scope();
    let account = session
        .find_service_account(scope, claims.sub)
        .await?
        .filter(|account| account.kind == AccountKind::Instance)
        .ok_or_else(|| invalid_token("its account is gone"))?;
    let key = session.find_account_key(claims.key_id).await?;
    if !key.is_some_and(|key| key.service_account_id == account.id && key.is_valid(now)) {
        return Err(invalid_token("its key has ended"));
    }
    let speaker = find_speaker(&mut session, account.id, claims.key_id).await?;
    let fits = speaker.is_some_and(|(identity, _)| {
        identity.instance_id == claims.app_instance_id && identity.generation == claims.generation
    });
    if !fits {
        return Err(invalid_token("its instance has ended or moved on"));
    }
    authenticate::check_account(&mut session, &account).await?;
    let expires_at =
        Timestamp::from_unix_seconds(claims.exp).ok_or_else(|| invalid_token("its end is no time"))?;
    Ok(Known {
        actor: Actor::ServiceAccount(account.id),
        grants: Vec::new(),
        credential: Credential::InstanceToken { instance: claims.app_instance_id, key: claims.key_id },
        expires_at,
        user: None,
        account: Some(account),
    })
}
