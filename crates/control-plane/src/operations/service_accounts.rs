//! Machine callers of a project, kept by people.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use gpuaas_domain::event::{Change, EventType, ObjectRef};
use gpuaas_domain::iam::{Actor, Permission, Permit};
use gpuaas_domain::identity::{AccountKey, AccountKind, AccountState, Principal, ServiceAccount};
use gpuaas_domain::ids::{BindingId, KeyId, ProjectId, ServiceAccountId};
use gpuaas_domain::instance_identity::is_reserved_name;
use gpuaas_domain::limit::Limit;
use gpuaas_domain::machine_token;
use gpuaas_domain::page::{Page, PageRequest};
use gpuaas_domain::text::DisplayName;
use gpuaas_domain::{Error, Result, Secret, Timestamp};
use gpuaas_store::Tx;
use ring::signature::{Ed25519KeyPair, KeyPair as _};
use serde_json::{Value, json};

use super::custody::{self, IssuedWrap};
use super::{bindings, roles};
use crate::{OpContext, Prepared};

const DEFAULT_OVERLAP_SECONDS: u32 = 300;
const MAX_OVERLAP_SECONDS: u32 = 3600;

/// Where the private half of a key comes from and goes to.
#[derive(Clone, Copy, Debug)]
pub enum KeyChoice {
    /// The caller made the pair and shows only the public half.
    Brought([u8; 32]),
    /// Made here, given in the answer, never stored.
    ShownOnce,
    /// Made here, sealed, and opened once by whoever gets the token.
    Wrapped,
}

impl KeyChoice {
    /// From what a request says.
    pub fn parse(public_key: Option<&str>, wrapped: bool) -> Result<Self> {
        let Some(text) = public_key else {
            return Ok(if wrapped { Self::Wrapped } else { Self::ShownOnce });
        };
        let refuse = |why: &str| Error::field("/public_key", "invalid_public_key", why.to_owned());
        let bytes = URL_SAFE_NO_PAD
            .decode(text)
            .map_err(|_| refuse("Give the raw Ed25519 public key in base64url without padding."))?;
        let key: [u8; 32] = bytes.try_into().map_err(|_| refuse("An Ed25519 public key has 32 bytes."))?;
        if is_small_order(key) {
            return Err(refuse("This is not a usable Ed25519 public key: anybody could sign for it."));
        }
        Ok(Self::Brought(key))
    }
}

/// The points of the curve whose order divides 8, in every encoding: for those a signature can be made up without
/// any private key.
fn is_small_order(mut key: [u8; 32]) -> bool {
    const ORDER_8: [[u8; 32]; 2] = [
        [
            0x26, 0xe8, 0x95, 0x8f, 0xc2, 0xb2, 0x27, 0xb0, 0x45, 0xc3, 0xf4, 0x89, 0xf2, 0xef, 0x98, 0xf0,
            0xd5, 0xdf, 0xac, 0x05, 0xd3, 0xc6, 0x33, 0x39, 0xb1, 0x38, 0x02, 0x88, 0x6d, 0x53, 0xfc, 0x05,
        ],
        [
            0xc7, 0x17, 0x6a, 0x70, 0x3d, 0x4d, 0xd8, 0x4f, 0xba, 0x3c, 0x0b, 0x76, 0x0d, 0x10, 0x67, 0x0f,
            0x2a, 0x20, 0x53, 0xfa, 0x2c, 0x39, 0xcc, 0xc6, 0x4e, 0xc7, 0xfd, 0x77, 0x92, 0xac, 0x03, 0x7a,
        ],
    ];
    // The sign bit does not change the order.
    key[31] &= 0x7f;
    let (middle_zero, middle_ones) =
        (key[1..31].iter().all(|byte| *byte == 0), key[1..31].iter().all(|byte| *byte == 0xff));
    // y = 0 and 1, and p - 1, p and p + 1 (the last two being 0 and 1 again).
    (middle_zero && key[31] == 0 && key[0] <= 1)
        || (middle_ones && key[31] == 0x7f && key[0] >= 0xec)
        || ORDER_8.contains(&key)
}

/// An account with a key it just got.
pub struct WithKey {
    pub account: ServiceAccount,
    pub key: AccountKey,
    pub private_key_pem: Option<Secret<String>>,
    pub wrapped: Option<IssuedWrap>,
}

pub async fn create(
    ctx: &OpContext,
    project: ProjectId,
    name: DisplayName,
    role_names: &[String],
    choice: KeyChoice,
) -> Result<Prepared<WithKey>> {
    let permit = ctx.permit_project(Permission::ServiceAccountManage, project).await?;
    if is_reserved_name(&String::from(name.clone())) {
        let message = "Names of this form belong to the accounts of instances; use another.";
        return Err(Error::field("/name", "reserved_name", message));
    }
    let mut tx = ctx.begin(&permit).await?;
    tx.lock_project(project).await?;
    check_home_active(&mut tx, project).await?;
    let limit = tx.effective_limit(permit.scope(), Limit::ServiceAccounts).await?;
    Limit::ServiceAccounts.check(limit, tx.count_service_accounts(project).await?)?;
    let at = tx.at();
    let account = ServiceAccount {
        id: ServiceAccountId::new(ctx.plane.new_uuid()),
        tenant_id: permit
            .scope()
            .tenant()
            .ok_or_else(|| Error::internal("a project permit names its tenant"))?,
        project_id: project,
        name: name.into(),
        kind: AccountKind::Operator,
        state: AccountState::Active,
        version: 1,
        created_at: at,
        updated_at: at,
    };
    tx.insert_service_account(&account).await?;
    let mut given = Vec::new();
    for (index, role_name) in role_names.iter().enumerate() {
        let role = roles::find_by_name(&mut tx, role_name, &format!("/roles/{index}")).await?;
        permit.check_may_grant(&role.permissions)?;
        let principal = Principal::ServiceAccount(account.id);
        bindings::insert(&mut tx, BindingId::new(ctx.plane.new_uuid()), &role, principal, permit.scope())
            .await?;
        given.push(role.slug);
    }
    let (key, private_key_pem, wrapped) = add_key(ctx, &mut tx, &permit, account.id, choice, at).await?;
    let mut after = account.audit_view();
    after["roles"] = json!(given);
    after["key_id"] = json!(key.id);
    let change = Change::new(ctx.route.action, ObjectRef::new("service_account", account.id))
        .after(after)
        .event(EventType::ServiceAccountCreated, view(&account));
    Ok(Prepared::new(tx, change, WithKey { account, key, private_key_pem, wrapped }))
}

/// One kind at a time: an account per instance would bury those that people made.
pub async fn list(
    ctx: &OpContext,
    project: ProjectId,
    kind: AccountKind,
    page: &PageRequest,
) -> Result<Page<ServiceAccount>> {
    let permit = ctx.permit_project(Permission::ServiceAccountRead, project).await?;
    ctx.plane.store.read().await?.list_service_accounts(permit.tenant_scope(), kind, page).await
}

pub async fn get(
    ctx: &OpContext,
    project: ProjectId,
    id: ServiceAccountId,
) -> Result<(ServiceAccount, Vec<AccountKey>)> {
    let permit = ctx.permit_project(Permission::ServiceAccountRead, project).await?;
    let mut session = ctx.plane.store.read().await?;
    let account =
        session.find_service_account(permit.tenant_scope(), id).await?.ok_or_else(Error::not_found)?;
    let keys = session.list_account_keys(id).await?;
    Ok((account, keys))
}

/// Blocks the account from the next request on; unexpired tokens are refused too.
pub async fn disable(
    ctx: &OpContext,
    project: ProjectId,
    id: ServiceAccountId,
    reason: Option<String>,
) -> Result<Prepared<ServiceAccount>> {
    let permit = ctx.permit_project(Permission::ServiceAccountManage, project).await?;
    let (mut tx, before) = load(ctx, &permit, project, id).await?;
    if before.state != AccountState::Active {
        return Err(Error::conflict("illegal_state_move", "The service account is disabled already.")
            .with_param("state", before.state.name()));
    }
    let after =
        tx.update_service_account(ServiceAccount { state: AccountState::Disabled, ..before.clone() }).await?;
    let change =
        change(ctx, &before, &after).because(reason).event(EventType::ServiceAccountDisabled, view(&after));
    Ok(Prepared::new(tx, change, after))
}

pub async fn rotate_key(
    ctx: &OpContext,
    project: ProjectId,
    id: ServiceAccountId,
    choice: KeyChoice,
    overlap_seconds: Option<u32>,
) -> Result<Prepared<WithKey>> {
    let permit = ctx.permit_project(Permission::ServiceAccountManage, project).await?;
    let overlap = overlap_seconds.unwrap_or(DEFAULT_OVERLAP_SECONDS);
    if overlap > MAX_OVERLAP_SECONDS {
        return Err(Error::field(
            "/overlap_seconds",
            "out_of_range",
            format!("Use a number from 0 to {MAX_OVERLAP_SECONDS}."),
        ));
    }
    let (mut tx, before) = load(ctx, &permit, project, id).await?;
    if before.state != AccountState::Active {
        return Err(Error::conflict(
            "account_not_active",
            "A disabled service account cannot get a new key.",
        ));
    }
    // Whoever gets the key gets what the account holds.
    let held = tx.list_grants(id.uuid()).await?.into_iter().flat_map(|grant| grant.permissions).collect();
    permit.check_may_grant(&held)?;
    check_home_active(&mut tx, project).await?;
    let at = tx.at();
    tx.end_account_keys(id, at.plus_seconds(i64::from(overlap))).await?;
    // A key that must not live another second may have been stolen, and so may what was made with it.
    if overlap == 0 {
        end_what_it_made(&mut tx, id).await?;
    }
    let account = tx.update_service_account(before.clone()).await?;
    let (key, private_key_pem, wrapped) = add_key(ctx, &mut tx, &permit, id, choice, at).await?;
    let change = change(ctx, &before, &account)
        .after(json!({"key_id": key.id, "overlap_seconds": overlap}))
        .event(EventType::ServiceAccountKeyRotated, json!({"service_account_id": id, "key_id": key.id}));
    Ok(Prepared::new(tx, change, WithKey { account, key, private_key_pem, wrapped }))
}

/// Credentials and tokens that outlive the access token they were asked for with.
async fn end_what_it_made(tx: &mut Tx, id: ServiceAccountId) -> Result<()> {
    tx.revoke_registry_credentials_of(Actor::ServiceAccount(id)).await?;
    tx.delete_endpoint_tokens_of(Actor::ServiceAccount(id)).await?;
    Ok(())
}

/// The row stays for the trail; keys, tokens and roles end at once.
pub async fn delete(
    ctx: &OpContext,
    project: ProjectId,
    id: ServiceAccountId,
    reason: Option<String>,
) -> Result<Prepared<()>> {
    let permit = ctx.permit_project(Permission::ServiceAccountManage, project).await?;
    let (mut tx, before) = load(ctx, &permit, project, id).await?;
    let at = tx.at();
    tx.end_account_keys(id, at).await?;
    end_what_it_made(&mut tx, id).await?;
    tx.delete_bindings_of(id.uuid()).await?;
    let after =
        tx.update_service_account(ServiceAccount { state: AccountState::Deleted, ..before.clone() }).await?;
    let change =
        change(ctx, &before, &after).because(reason).event(EventType::ServiceAccountDeleted, view(&after));
    Ok(Prepared::new(tx, change, ()))
}

/// Asked again under the lock: the project may have been deleted since the door looked.
pub(crate) async fn check_home_active(tx: &mut Tx, project: ProjectId) -> Result<()> {
    let located = tx.locate_project(project).await?;
    if located.is_some_and(|located| located.project.is_active() && located.tenant.is_active()) {
        return Ok(());
    }
    Err(Error::conflict(
        "project_not_active",
        "The project or its tenant was suspended or deleted meanwhile.",
    ))
}

/// The account of an instance lives and ends with it, by nobody's hand.
pub(crate) fn check_operator(account: &ServiceAccount) -> Result<()> {
    match account.kind {
        AccountKind::Operator => Ok(()),
        AccountKind::Instance => Err(Error::conflict(
            "account_of_instance",
            "This account belongs to an app instance; stop or decommission the instance instead.",
        )),
    }
}

async fn load(
    ctx: &OpContext,
    permit: &Permit,
    project: ProjectId,
    id: ServiceAccountId,
) -> Result<(Tx, ServiceAccount)> {
    let mut tx = ctx.begin(permit).await?;
    tx.lock_project(project).await?;
    let account = tx.find_service_account(permit.tenant_scope(), id).await?.ok_or_else(Error::not_found)?;
    check_operator(&account)?;
    ctx.check_version(account.version)?;
    Ok((tx, account))
}

fn change(ctx: &OpContext, before: &ServiceAccount, after: &ServiceAccount) -> Change {
    Change::new(ctx.route.action, ObjectRef::new("service_account", after.id))
        .before(before.audit_view())
        .after(after.audit_view())
}

fn view(account: &ServiceAccount) -> Value {
    json!({"service_account_id": account.id, "project_id": account.project_id, "name": account.name,
           "kind": account.kind.name(), "state": account.state.name()})
}

async fn add_key(
    ctx: &OpContext,
    tx: &mut Tx,
    permit: &Permit,
    account: ServiceAccountId,
    choice: KeyChoice,
    at: Timestamp,
) -> Result<(AccountKey, Option<Secret<String>>, Option<IssuedWrap>)> {
    let id = KeyId::new(ctx.plane.new_uuid());
    let (public_key, pem) = match choice {
        KeyChoice::Brought(key) => (key, None),
        KeyChoice::ShownOnce | KeyChoice::Wrapped => {
            let seed = ctx.plane.entropy.bytes32();
            let pair = Ed25519KeyPair::from_seed_unchecked(seed.expose())
                .map_err(|_| Error::internal("a seed is 32 bytes"))?;
            let public = pair
                .public_key()
                .as_ref()
                .try_into()
                .map_err(|_| Error::internal("a public key is 32 bytes"))?;
            (public, Some(machine_token::pkcs8_pem(&seed)))
        }
    };
    let key = AccountKey { id, service_account_id: account, public_key, not_after: None, created_at: at };
    tx.insert_account_key(&key).await?;
    match (choice, pem) {
        (KeyChoice::Wrapped, Some(pem)) => {
            let wrap =
                custody::wrap(ctx, tx, permit.scope(), &Secret::new(pem.expose().clone().into_bytes()))
                    .await?;
            Ok((key, None, Some(wrap)))
        }
        (KeyChoice::Brought(_) | KeyChoice::ShownOnce | KeyChoice::Wrapped, pem) => Ok((key, pem, None)),
    }
}
