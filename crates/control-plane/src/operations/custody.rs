//! Wrapped values that open once, and turning the master key over with live data.

use gpuaas_custody::{Place, Sealed, SecretClass};
use gpuaas_domain::event::{Change, EventType, ObjectRef};
use gpuaas_domain::iam::{Actor, Permit, Scope};
use gpuaas_domain::ids::{KeyId, SecretId, TenantId, WrapId};
use gpuaas_domain::{Error, Kind, Result, Secret, Timestamp};
use gpuaas_store::Tx;
use gpuaas_store::sealed::{SealedSecret, TokenKey, Wrap};
use ring::signature::{Ed25519KeyPair, KeyPair as _};
use serde_json::json;

use crate::plane::{ControlPlane, secret_place};
use crate::tokens::{OpaqueKind, OpaqueToken};
use crate::{OpContext, Prepared};

/// A token that opens a value once, before it expires.
pub struct IssuedWrap {
    pub token: Secret<String>,
    pub expires_at: Timestamp,
}

fn wrap_place(wrap: &Wrap) -> Place {
    Place {
        table: "wraps",
        column: "sealed",
        row: wrap.id.uuid(),
        tenant: wrap.tenant_id.map(TenantId::uuid),
    }
}

/// Seals inside `tx`, under the key the database says is current, which stays so until the transaction ends.
async fn seal_in(
    plane: &ControlPlane,
    tx: &mut Tx,
    class: SecretClass,
    place: Place,
    plain: &Secret<Vec<u8>>,
) -> Result<Sealed> {
    let key_id = tx.lock_kek().await?;
    plane.custody.seal(&key_id, class, place, plain).await
}

pub(crate) async fn wrap(
    ctx: &OpContext,
    tx: &mut Tx,
    scope: Scope,
    plain: &Secret<Vec<u8>>,
) -> Result<IssuedWrap> {
    let expires_at = tx.at().plus_seconds(ctx.plane.settings.wrap_ttl_seconds);
    wrap_until(ctx, tx, scope, plain, expires_at).await
}

/// The same with an end of its own: what is wrapped may not live as long.
pub(crate) async fn wrap_until(
    ctx: &OpContext,
    tx: &mut Tx,
    scope: Scope,
    plain: &Secret<Vec<u8>>,
    expires_at: Timestamp,
) -> Result<IssuedWrap> {
    let opaque = OpaqueToken::generate(OpaqueKind::Wrap, ctx.plane.new_uuid(), &*ctx.plane.entropy);
    let class = SecretClass::Operator;
    let mut wrap = Wrap {
        id: WrapId::new(opaque.id),
        tenant_id: scope.tenant(),
        project_id: scope.project(),
        class: class.name().into(),
        secret_hash: opaque.hash(),
        kek_id: String::new(),
        sealed: None,
        expires_at,
        opened_at: None,
        version: 1,
    };
    let sealed = seal_in(&ctx.plane, tx, class, wrap_place(&wrap), plain).await?;
    wrap.kek_id = sealed.kek_id;
    wrap.sealed = Some(sealed.bytes);
    tx.insert_wrap(&wrap).await?;
    Ok(IssuedWrap { token: opaque.reveal(), expires_at: wrap.expires_at })
}

/// Opens a wrapped value. The token is the only credential. A second open is refused and leaves an alarm in the
/// trail: either the rightful holder or a thief came late.
pub async fn unwrap(ctx: &OpContext, token: &str) -> Result<Prepared<Secret<Vec<u8>>>> {
    let refuse = || Error::unauthenticated("invalid_wrap", "This token does not open anything.");
    let opaque =
        OpaqueToken::parse(token).filter(|token| token.kind == OpaqueKind::Wrap).ok_or_else(refuse)?;
    let id = WrapId::new(opaque.id);
    let found = ctx.plane.store.read().await?.find_wrap(id).await?;
    let found = found.filter(|wrap| opaque.fits(&wrap.secret_hash)).ok_or_else(refuse)?;
    let scope = match (found.tenant_id, found.project_id) {
        (Some(tenant), Some(project)) => Scope::Project(tenant, project),
        (Some(tenant), None) => Scope::Tenant(tenant),
        (None, _) => Scope::Platform,
    };
    let permit = Permit::system("unwrap", scope);
    let mut tx = ctx.begin(&permit).await?;
    let wrap = tx.find_wrap(id).await?.ok_or_else(refuse)?;
    let refusal = if wrap.opened_at.is_some() {
        Some(Error::conflict(
            "already_unwrapped",
            "This value was opened before. If that was not you, revoke it and tell your admin.",
        ))
    } else if tx.at() >= wrap.expires_at || wrap.sealed.is_none() {
        Some(Error::conflict("wrap_expired", "This token has expired; ask for a new one."))
    } else {
        None
    };
    if let Some(refusal) = refusal {
        drop(tx);
        return Err(alarm(ctx, scope, id, refusal).await?);
    }
    let class =
        SecretClass::parse(&wrap.class).ok_or_else(|| Error::internal("a wrap has an unknown class"))?;
    let sealed = Sealed { kek_id: wrap.kek_id.clone(), bytes: wrap.sealed.clone().unwrap_or_default() };
    let plain = ctx.plane.custody.open(class, wrap_place(&wrap), &sealed).await?;
    match tx.open_wrap(&wrap).await {
        Ok(()) => {}
        Err(lost) if lost.kind() == Kind::Stale => {
            drop(tx);
            let refusal = Error::conflict(
                "already_unwrapped",
                "This value was opened before. If that was not you, revoke it and tell your admin.",
            );
            return Err(alarm(ctx, scope, id, refusal).await?);
        }
        Err(other) => return Err(other),
    }
    let change =
        Change::new(ctx.route.action, ObjectRef::new("wrap", id)).after(json!({"class": wrap.class}));
    Ok(Prepared::new(tx, change, plain))
}

async fn alarm(ctx: &OpContext, scope: Scope, id: WrapId, refusal: Error) -> Result<Error> {
    let actor = Actor::System("unwrap");
    ctx.plane
        .store
        .record_denial(&ctx.stamp(), actor, scope, ctx.route.action, ObjectRef::new("wrap", id), &refusal)
        .await?;
    tracing::warn!(wrap.id = %id, code = refusal.code(), "a wrapped value was asked for again");
    Ok(refusal)
}

/// Makes a new key that signs machine tokens; tokens of the former one live out their minutes.
pub(crate) async fn add_token_key(plane: &ControlPlane, tx: &mut Tx) -> Result<KeyId> {
    let seed = plane.entropy.bytes32();
    let pair = Ed25519KeyPair::from_seed_unchecked(seed.expose())
        .map_err(|_| Error::internal("a seed is 32 bytes"))?;
    let public_key =
        pair.public_key().as_ref().try_into().map_err(|_| Error::internal("a public key is 32 bytes"))?;
    let secret_id = seal_operator_secret(plane, tx, "token-signing-key", seed.expose().to_vec()).await?;
    let at = tx.at();
    let key = TokenKey {
        id: KeyId::new(plane.new_uuid()),
        public_key,
        secret_id,
        created_at: at,
        retired_at: None,
    };
    tx.insert_token_key(&key).await?;
    tx.retire_token_keys_besides(key.id).await?;
    Ok(key.id)
}

/// Makes a new key that signs registry tokens; tokens of the former one live out their minutes.
pub(crate) async fn add_registry_key(plane: &ControlPlane, tx: &mut Tx) -> Result<KeyId> {
    let (key, certificate) = crate::registry::new_key(plane.platform_id, tx.at())?;
    let secret = seal_operator_secret(plane, tx, "registry-token-key", key.expose().clone()).await?;
    let id = KeyId::new(plane.new_uuid());
    tx.insert_registry_key(id, &certificate, secret).await?;
    Ok(id)
}

/// Makes a new key that signs orders; what the former one signed is accepted until `accepted_until`.
pub(crate) async fn add_task_key(
    plane: &ControlPlane,
    tx: &mut Tx,
    accepted_until: Timestamp,
) -> Result<KeyId> {
    let seed = plane.entropy.bytes32();
    let pair = Ed25519KeyPair::from_seed_unchecked(seed.expose())
        .map_err(|_| Error::internal("a seed is 32 bytes"))?;
    let secret = seal_operator_secret(plane, tx, "task-signing-key", seed.expose().to_vec()).await?;
    let id = KeyId::new(plane.new_uuid());
    tx.retire_task_keys(accepted_until).await?;
    tx.insert_task_key(id, pair.public_key().as_ref(), secret).await?;
    Ok(id)
}

async fn seal_operator_secret(
    plane: &ControlPlane,
    tx: &mut Tx,
    name: &str,
    plain: Vec<u8>,
) -> Result<SecretId> {
    let mut secret = SealedSecret {
        id: SecretId::new(plane.new_uuid()),
        tenant_id: None,
        class: SecretClass::Operator.name().into(),
        name: name.into(),
        kek_id: String::new(),
        sealed: Vec::new(),
        version: 1,
    };
    let plain = Secret::new(plain);
    let sealed = seal_in(plane, tx, SecretClass::Operator, secret_place(&secret), &plain).await?;
    secret.kek_id = sealed.kek_id;
    secret.sealed = sealed.bytes;
    tx.insert_secret(&secret).await?;
    Ok(secret.id)
}

/// A new key for signing machine tokens.
pub async fn rotate_token_key(plane: &ControlPlane) -> Result<KeyId> {
    let permit = Permit::system("rotate-token-key", Scope::Platform);
    let mut tx = plane.store.begin(&permit, plane.own_stamp()).await?;
    let id = add_token_key(plane, &mut tx).await?;
    let registry_key = add_registry_key(plane, &mut tx).await?;
    let change = Change::new("custody.rotate_token_key", ObjectRef::new("token_key", id))
        .event(EventType::TokenSigningKeyRotated, json!({ "key_id": id, "registry_key_id": registry_key }));
    tx.commit(change, None).await?;
    plane.load_token_keys().await?;
    Ok(id)
}

/// Puts every sealed value under the current master key. First tells the database, so that from then on nothing
/// new is sealed under an older one; then rewraps what there is. Repeating it continues where it stopped.
pub async fn rewrap_all(plane: &ControlPlane, current: &str) -> Result<usize> {
    let permit = Permit::system("rotate-master-key", Scope::Platform);
    let mut tx = plane.store.begin(&permit, plane.own_stamp()).await?;
    tx.set_kek(current).await?;
    tx.commit(Change::new("custody.rotate_master_key", ObjectRef::new("master_key", current)), None).await?;
    let mut moved = 0;
    loop {
        let mut session = plane.store.read().await?;
        let secrets = session.list_secrets_besides(current, 100).await?;
        let wraps = session.list_wraps_besides(current, 100).await?;
        drop(session);
        if secrets.is_empty() && wraps.is_empty() {
            return Ok(moved);
        }
        for secret in secrets {
            rewrap_secret(plane, &permit, current, secret).await?;
            moved += 1;
        }
        for wrap in wraps {
            rewrap_wrap(plane, &permit, current, wrap).await?;
            moved += 1;
        }
    }
}

async fn rewrap_secret(
    plane: &ControlPlane,
    permit: &Permit,
    key_id: &str,
    secret: SealedSecret,
) -> Result<()> {
    let class =
        SecretClass::parse(&secret.class).ok_or_else(|| Error::internal("a secret has an unknown class"))?;
    let plain = plane.open_secret(class, &secret).await?;
    let sealed = plane.custody.seal(key_id, class, secret_place(&secret), &plain).await?;
    let mut tx = plane.store.begin(permit, plane.own_stamp()).await?;
    let resealed = SealedSecret { kek_id: sealed.kek_id, sealed: sealed.bytes, ..secret };
    settle(tx.reseal_secret(&resealed).await)?;
    tx.commit(Change::new("custody.rewrap", ObjectRef::new("secret", resealed.id)), None).await
}

async fn rewrap_wrap(plane: &ControlPlane, permit: &Permit, key_id: &str, wrap: Wrap) -> Result<()> {
    let class =
        SecretClass::parse(&wrap.class).ok_or_else(|| Error::internal("a wrap has an unknown class"))?;
    let sealed = Sealed { kek_id: wrap.kek_id.clone(), bytes: wrap.sealed.clone().unwrap_or_default() };
    let plain = plane.custody.open(class, wrap_place(&wrap), &sealed).await?;
    let sealed = plane.custody.seal(key_id, class, wrap_place(&wrap), &plain).await?;
    let mut tx = plane.store.begin(permit, plane.own_stamp()).await?;
    let resealed = Wrap { kek_id: sealed.kek_id, sealed: Some(sealed.bytes), ..wrap };
    settle(tx.reseal_wrap(&resealed).await)?;
    tx.commit(Change::new("custody.rewrap", ObjectRef::new("wrap", resealed.id)), None).await
}

/// Somebody else changed it first: the next round looks again.
fn settle(outcome: Result<()>) -> Result<()> {
    match outcome {
        Err(error) if error.kind() == Kind::Stale => Ok(()),
        other => other,
    }
}
