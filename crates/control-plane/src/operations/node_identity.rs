//! How a machine becomes a node and proves that it is one; and the keys that sign what nodes are told.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use gpuaas_agent_protocol::inventory::{NodeInventory, Runtime};
use gpuaas_agent_protocol::spec::is_device_id;
use gpuaas_agent_protocol::task::{Trust, Verifier};
use gpuaas_custody::SecretClass;
use gpuaas_domain::event::{Change, EventType, ObjectRef};
use gpuaas_domain::iam::{Actor, Permission, Permit, Scope};
use gpuaas_domain::ids::{GpuId, JoinTokenId, KeyId, NodeId, parse_uuid};
use gpuaas_domain::machine_token::{self, CLOCK_SKEW_SECONDS, NODE_TOKEN_AUDIENCE, NodeClaims};
use gpuaas_domain::node::{JoinToken, Node, NodeStanding};
use gpuaas_domain::text::{Slug, is_deceptive};
use gpuaas_domain::{Error, Result, Secret, Timestamp};
use gpuaas_store::Tx;
use ring::signature::Ed25519KeyPair;
use serde_json::json;
use uuid::Uuid;

use super::authenticate::IssuedToken;
use super::custody;
use crate::context::{Credential, Known};
use crate::plane::{ControlPlane, TaskKeys};
use crate::{OpContext, Prepared};

/// The one audience of nodes' tokens.
const NODE_AUDIENCE: &str = "gpuaas-node";
const TOKEN_SECONDS: u32 = 900;
const TASK_KEYS_SECONDS: i64 = 10;
const JOIN_DEFAULT_SECONDS: i64 = 3600;
const JOIN_MAX_SECONDS: i64 = 86_400;

/// A token that lets one machine join.
pub struct IssuedJoinToken {
    pub id: JoinTokenId,
    /// `id.secret.pin`
    pub token: Secret<String>,
    pub server: String,
    pub expires_at: Timestamp,
}

pub async fn create_join_token(
    ctx: &OpContext,
    name: Option<Slug>,
    expires_in_seconds: Option<i64>,
) -> Result<Prepared<IssuedJoinToken>> {
    let permit = ctx.permit_platform(Permission::NodeManage).await?;
    let door = ctx.plane.agent_door().ok_or_else(|| {
        Error::conflict(
            "agents_not_served",
            "This server does not listen for agents; see [agents] in its configuration.",
        )
    })?;
    let seconds = expires_in_seconds.unwrap_or(JOIN_DEFAULT_SECONDS);
    if !(60..=JOIN_MAX_SECONDS).contains(&seconds) {
        return Err(Error::field("/expires_in_seconds", "out_of_range", "Use 60 to 86400 seconds."));
    }
    let id = JoinTokenId::new(ctx.plane.new_uuid());
    let secret = ctx.plane.entropy.bytes32();
    let text = URL_SAFE_NO_PAD.encode(secret.expose());
    let mut tx = ctx.begin(&permit).await?;
    let expires_at = tx.at().plus_seconds(seconds);
    let name = name.as_ref().map(Slug::as_str);
    tx.insert_join_token(id, &hash(&text), name, &permit.actor().id(), expires_at).await?;
    let token = Secret::new(format!("{}.{text}.{}", id.uuid().as_simple(), door.pin));
    let change = Change::new(ctx.route.action, ObjectRef::new("join_token", id))
        .after(json!({"name": name, "expires_at": expires_at}));
    Ok(Prepared::new(tx, change, IssuedJoinToken { id, token, server: door.url.clone(), expires_at }))
}

fn hash(secret: &str) -> Vec<u8> {
    ring::digest::digest(&ring::digest::SHA256, secret.as_bytes()).as_ref().to_vec()
}

/// What a machine is told when it has become a node.
pub struct Joined {
    pub node: Node,
    pub ca_pem: String,
    pub trust: Trust,
}

pub struct JoinWish {
    pub token: String,
    pub name: Option<Slug>,
    pub public_key: String,
    pub inventory: NodeInventory,
}

/// A machine joins. Whoever repeats it with the same token and the same key gets the same answer, because an answer may
/// be lost; anybody else with that token is refused.
pub async fn join(ctx: &OpContext, wish: JoinWish) -> Result<Prepared<Joined>> {
    let refuse = || {
        Error::unauthenticated("invalid_join_token", "The join token is not valid, was used, or has expired.")
    };
    let door = ctx.plane.agent_door().ok_or_else(refuse)?;
    let (id, secret) = wish.token.split_once('.').ok_or_else(refuse)?;
    let id = Uuid::try_parse(id).map(JoinTokenId::new).map_err(|_| refuse())?;
    let public_key =
        URL_SAFE_NO_PAD.decode(&wish.public_key).ok().filter(|key| key.len() == 32).ok_or_else(|| {
            Error::field("/public_key", "invalid_key", "Send 32 bytes of Ed25519 as base64url.")
        })?;
    let inventory = checked_inventory(wish.inventory)?;
    let trust = trust(&ctx.plane).await?;
    let mut tx = ctx.begin(&Permit::system("join", Scope::Platform)).await?;
    tx.lock_platform().await?;
    let token =
        tx.find_join_token(id).await?.filter(|token| token.secret_hash == hash(secret)).ok_or_else(refuse)?;
    if let Some(node) = joined_before(&mut tx, &token, &public_key).await? {
        let change = Change::new("nodes.join_repeated", ObjectRef::new("node", node.id));
        return Ok(Prepared::new(tx, change, Joined { node, ca_pem: door.ca_pem.clone(), trust }));
    }
    if token.used_at.is_some() || tx.at() >= token.expires_at {
        return Err(refuse());
    }
    let name = match (&token.name, wish.name) {
        (Some(fixed), _) => fixed.clone(),
        (None, Some(name)) => name.to_string(),
        (None, None) => name_from(&inventory.hostname, id),
    };
    let at = tx.at();
    let node = Node {
        id: NodeId::new(ctx.plane.new_uuid()),
        name,
        standing: NodeStanding::Active,
        cordoned: false,
        draining: false,
        agent_version: inventory.agent_version.clone(),
        agent_connected_at: None,
        last_seen_at: None,
        inventory,
        inventory_at: at,
        version: 1,
        created_at: at,
        updated_at: at,
    };
    tx.insert_node(&node, &public_key).await?;
    if !tx.use_join_token(id, node.id).await? {
        return Err(refuse());
    }
    put_gpus(&ctx.plane, &mut tx, &node).await?;
    let change = Change::new(ctx.route.action, ObjectRef::new("node", node.id))
        .after(node.audit_view())
        .event(EventType::NodeJoined, json!({"node_id": node.id, "name": node.name}));
    Ok(Prepared::new(tx, change, Joined { node, ca_pem: door.ca_pem.clone(), trust }))
}

async fn joined_before(tx: &mut Tx, token: &JoinToken, public_key: &[u8]) -> Result<Option<Node>> {
    let Some(node) = token.node_id else { return Ok(None) };
    let same = tx
        .find_node_key(node)
        .await?
        .is_some_and(|(standing, key)| standing == NodeStanding::Active && key == public_key);
    if same { tx.find_node(node).await } else { Ok(None) }
}

/// A host name made fit for an address.
fn name_from(hostname: &str, token: JoinTokenId) -> String {
    let mut clean: String = hostname
        .chars()
        .take(30)
        .map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' })
        .collect();
    while clean.contains("--") {
        clean = clean.replace("--", "-");
    }
    let clean = clean.trim_matches('-');
    if Slug::parse(clean).is_ok() {
        clean.to_owned()
    } else {
        format!("node-{}", &token.uuid().as_simple().to_string()[24..])
    }
}

/// What a node says of itself, as it may be kept and shown.
pub(crate) fn checked_inventory(mut inventory: NodeInventory) -> Result<NodeInventory> {
    let mut seen = std::collections::BTreeSet::new();
    for (index, gpu) in inventory.gpus.iter().enumerate() {
        if !is_device_id(&gpu.uuid) || !seen.insert(&gpu.uuid) {
            return Err(Error::field(
                format!("/inventory/gpus/{index}"),
                "invalid_gpu",
                "Each GPU needs an id of its own, of letters, digits and - _ : .",
            ));
        }
    }
    if inventory.gpus.len() > 1024 {
        return Err(Error::field("/inventory/gpus", "too_much", "At most 1024 GPUs."));
    }
    let NodeInventory { agent_version, hostname, os, kernel, architecture, runtime, .. } = &mut inventory;
    for text in [agent_version, hostname, os, kernel, architecture] {
        tidy(text, 255);
    }
    match runtime {
        Runtime::Docker { version, api_version, runc_version, .. } => {
            for text in [Some(version), Some(api_version), runc_version.as_mut()].into_iter().flatten() {
                tidy(text, 100);
            }
        }
        Runtime::Unavailable { reason } => tidy(reason, 1000),
        Runtime::Simulated => {}
    }
    for gpu in &mut inventory.gpus {
        let texts = [Some(&mut gpu.model), gpu.bus_id.as_mut(), gpu.driver_version.as_mut()];
        for text in texts.into_iter().flatten() {
            tidy(text, 200);
        }
    }
    for said in [&mut inventory.warnings, &mut inventory.problems] {
        said.truncate(100);
        for text in said.iter_mut() {
            tidy(text, 1000);
        }
    }
    Ok(inventory)
}

fn tidy(text: &mut String, most: usize) {
    *text = text.chars().filter(|c| !is_deceptive(*c)).take(most).collect();
}

pub(crate) async fn put_gpus(plane: &ControlPlane, tx: &mut Tx, node: &Node) -> Result<()> {
    let gpus: Vec<_> = node.inventory.gpus.iter().map(|gpu| (GpuId::new(plane.new_uuid()), gpu)).collect();
    tx.put_gpus(node.id, &gpus).await
}

/// Exchanges a node's assertion for a token.
pub async fn exchange(ctx: &OpContext, assertion: &str) -> Result<Prepared<IssuedToken>> {
    let plane = &ctx.plane;
    let refuse = |why: String| {
        Error::unauthenticated("invalid_assertion", "The assertion is not valid.").with_internal(why)
    };
    let unverified = machine_token::open_node_assertion(assertion).map_err(|no| refuse(format!("{no:?}")))?;
    let node = parse_uuid(&unverified.key_id)
        .map(NodeId::new)
        .ok_or_else(|| refuse("its key id is no id".into()))?;
    let found = plane.store.read().await?.find_node_key(node).await?;
    let (standing, key) = found.ok_or_else(|| refuse("unknown node".into()))?;
    let key: [u8; 32] = key.try_into().map_err(|_| Error::internal("a node's key is not 32 bytes"))?;
    let now = plane.now();
    let claims = machine_token::check_assertion(&unverified, node, &key, NODE_TOKEN_AUDIENCE, now)
        .map_err(|no| refuse(format!("{no:?}")))?;
    if standing != NodeStanding::Active {
        return Err(node_revoked());
    }
    let (signer_id, signer) = plane.token_signer().await?;
    let mut tx = ctx.begin(&Permit::own_account(Actor::Node(node))).await?;
    let until = Timestamp::from_unix_seconds(claims.exp).unwrap_or(now).plus_seconds(CLOCK_SKEW_SECONDS + 1);
    if !tx.use_nonce(node.uuid(), &claims.jti, until).await? {
        return Err(Error::unauthenticated(
            "assertion_replayed",
            "This assertion was used before; sign a new one.",
        ));
    }
    let access = NodeClaims {
        iss: plane.platform_id.to_string(),
        aud: NODE_AUDIENCE.into(),
        sub: node,
        jti: plane.new_uuid().to_string(),
        iat: now.unix_seconds(),
        exp: now.unix_seconds() + i64::from(TOKEN_SECONDS),
    };
    let token = Secret::new(machine_token::sign_access(&signer, &signer_id.to_string(), &access));
    let expires_at = now.plus_seconds(i64::from(TOKEN_SECONDS));
    let change = Change::new(ctx.route.action, ObjectRef::new("node", node))
        .after(json!({"expires_at": expires_at, "jti": access.jti}));
    Ok(Prepared::new(tx, change, IssuedToken { token, expires_in_seconds: TOKEN_SECONDS, expires_at }))
}

fn node_revoked() -> Error {
    Error::unauthenticated(
        "node_revoked",
        "This node was revoked or forgotten; it has to join again with a new token.",
    )
}

/// From a node's bearer token to the node. Asked on every call and every link, so that a revocation counts at once.
pub async fn bearer(plane: &ControlPlane, token: &str) -> Result<Known> {
    let invalid = |why: String| {
        Error::unauthenticated("invalid_token", "The token is not valid or has expired; get a new one.")
            .with_internal(why)
    };
    let unverified = machine_token::open_access::<NodeClaims>(token)
        .map_err(|no| invalid(format!("node token: {no:?}")))?;
    let key = plane
        .token_verifier(&unverified.key_id)
        .await?
        .ok_or_else(|| invalid("signed by an unknown key".into()))?;
    let issuer = plane.platform_id.to_string();
    let claims = machine_token::check_access(&unverified, &key, &issuer, NODE_AUDIENCE, plane.now())
        .map_err(|no| invalid(format!("node token: {no:?}")))?;
    let found = plane.store.read().await?.find_node_key(claims.sub).await?;
    let (standing, _) = found.ok_or_else(|| invalid("unknown node".into()))?;
    if standing != NodeStanding::Active {
        return Err(node_revoked());
    }
    let expires_at =
        Timestamp::from_unix_seconds(claims.exp).ok_or_else(|| invalid("its end is no time".into()))?;
    Ok(Known {
        actor: Actor::Node(claims.sub),
        grants: Vec::new(),
        credential: Credential::NodeToken,
        expires_at,
        user: None,
        account: None,
    })
}

/// What nodes have to believe.
pub async fn trust(plane: &ControlPlane) -> Result<Trust> {
    let mut session = plane.store.read().await?;
    let era = session.find_platform().await?.map_or(0, |platform| platform.era);
    let now = plane.now();
    let keys = session.list_task_keys().await?;
    Ok(Trust {
        era: u64::try_from(era).unwrap_or(0),
        server_time: now.unix_micros(),
        verifiers: keys
            .into_iter()
            .filter(|key| key.accepted_until.is_none_or(|until| until > now))
            .map(|key| Verifier {
                key_id: key.id.uuid(),
                public_key: URL_SAFE_NO_PAD.encode(&key.public_key),
                accepted_until: key.accepted_until.map(Timestamp::unix_micros),
            })
            .collect(),
    })
}

/// Makes sure there is a key to sign orders with.
pub async fn ensure_task_key(plane: &ControlPlane) -> Result<()> {
    let current = |keys: &[gpuaas_store::nodes::TaskKey]| keys.iter().any(|key| key.retired_at.is_none());
    if current(&plane.store.read().await?.list_task_keys().await?) {
        return Ok(());
    }
    let mut tx = plane.store.begin(&Permit::system("bootstrap", Scope::Platform), plane.own_stamp()).await?;
    tx.lock_platform().await?;
    if !current(&tx.list_task_keys().await?) {
        let until = tx.at();
        let id = custody::add_task_key(plane, &mut tx, until).await?;
        tx.commit(Change::new("nodes.create_task_key", ObjectRef::new("task_key", id)), None).await?;
    }
    Ok(())
}

/// Signs with a new key from now on; nodes go on accepting the old one for the overlap (L-05).
pub async fn rotate_task_key(ctx: &OpContext) -> Result<Prepared<KeyId>> {
    let permit = ctx.permit_platform(Permission::NodeManage).await?;
    let mut tx = ctx.begin(&permit).await?;
    tx.lock_platform().await?;
    let until = tx.at().plus_seconds(ctx.plane.settings.launch.task_key_overlap_seconds);
    let id = custody::add_task_key(&ctx.plane, &mut tx, until).await?;
    let change = Change::new(ctx.route.action, ObjectRef::new("task_key", id))
        .after(json!({"former_accepted_until": until}))
        .event(EventType::TaskKeyRotated, json!({ "key_id": id, "former_accepted_until": until }));
    Ok(Prepared::new(tx, change, id))
}

impl ControlPlane {
    /// The key that signs orders now.
    pub(crate) async fn task_signer(&self) -> Result<(KeyId, Arc<Ed25519KeyPair>)> {
        {
            let keys = self.task_keys.read().expect("no holder panics");
            let fresh =
                keys.loaded_at.is_some_and(|at| self.now().seconds_since(at).abs() < TASK_KEYS_SECONDS);
            if let Some(signer) = keys.signer.clone().filter(|_| fresh) {
                return Ok(signer);
            }
        }
        let mut session = self.store.read().await?;
        let keys = session.list_task_keys().await?;
        let current = keys
            .into_iter()
            .find(|key| key.retired_at.is_none())
            .ok_or_else(|| Error::internal("the platform has no key to sign orders with"))?;
        let secret = session
            .find_secret(current.secret_id)
            .await?
            .ok_or_else(|| Error::internal("the secret of the order key is missing"))?;
        drop(session);
        let seed = self.open_secret(SecretClass::Operator, &secret).await?;
        let pair = Ed25519KeyPair::from_seed_and_public_key(seed.expose(), &current.public_key)
            .map_err(|_| Error::internal("the order key does not fit its public half"))?;
        let signer = (current.id, Arc::new(pair));
        *self.task_keys.write().expect("no holder panics") =
            TaskKeys { signer: Some(signer.clone()), loaded_at: Some(self.now()) };
        Ok(signer)
    }
}
