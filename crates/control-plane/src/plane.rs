//! What every operation needs at hand: store, custody, clock, entropy, settings.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, OnceLock, RwLock};

use gpuaas_agent_protocol::FailureReason;
use gpuaas_custody::{Entropy, Place, Sealed, SecretClass, SecretStore};
use gpuaas_domain::allocation::BoundaryMode;
use gpuaas_domain::ids::{AuditId, EventId, InstanceId, KeyId, uuid_v7};
use gpuaas_domain::machine_token::MAX_TOKEN_TTL_SECONDS;
use gpuaas_domain::{Error, Result, Secret, Timestamp};
use gpuaas_faults::Faults;
use gpuaas_program::Clock;
use gpuaas_store::sealed::{SealedSecret, TokenKey};
use gpuaas_store::{Stamp, Store};
use ring::signature::Ed25519KeyPair;
use tokio::sync::Semaphore;
use uuid::Uuid;

use crate::node_link::{NoLinks, NodeLink};
use crate::operations::access::GatewaySettings;
use crate::profiles::Profiles;
use crate::registry::{RegistryDoor, RegistryKeys, RegistrySettings};

#[derive(Clone, Debug)]
pub struct Settings {
    /// Life of a machine token; at most 900.
    pub service_account_token_ttl_seconds: u32,
    pub session_ttl_seconds: i64,
    pub login_link_ttl_seconds: i64,
    pub wrap_ttl_seconds: i64,
    pub launch: LaunchSettings,
    pub registry: RegistrySettings,
    pub gateway: GatewaySettings,
}

/// What launches turn on.
#[derive(Clone, Debug)]
pub struct LaunchSettings {
    /// Whether tenants may share a node.
    pub boundary: BoundaryMode,
    /// How long a launch may wait for its node.
    pub dispatch_deadline_seconds: i64,
    /// How long a release waits for what runs before it is ended without the node's word.
    pub release_deadline_seconds: i64,
    /// How long nodes accept orders signed with a retired key.
    pub task_key_overlap_seconds: i64,
    /// How long an order is good for once it is signed.
    pub task_ttl_seconds: i64,
    /// Values that launch forms begin with, by app and parameter.
    pub defaults: BTreeMap<String, serde_json::Map<String, serde_json::Value>>,
}

impl Default for LaunchSettings {
    fn default() -> Self {
        Self {
            boundary: BoundaryMode::DedicatedNode,
            dispatch_deadline_seconds: 600,
            release_deadline_seconds: 900,
            task_key_overlap_seconds: 900,
            task_ttl_seconds: 60,
            defaults: BTreeMap::new(),
        }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            service_account_token_ttl_seconds: MAX_TOKEN_TTL_SECONDS,
            session_ttl_seconds: 12 * 60 * 60,
            login_link_ttl_seconds: 15 * 60,
            wrap_ttl_seconds: 60 * 60,
            launch: LaunchSettings::default(),
            registry: RegistrySettings::default(),
            gateway: GatewaySettings::default(),
        }
    }
}

/// How long a process may go on signing with a key that another process has retired.
const TOKEN_KEYS_SECONDS: i64 = 10;

/// The keys that sign and check machine tokens. Loaded once, again when an unknown key id turns up.
#[derive(Default)]
pub(crate) struct TokenKeys {
    pub(crate) signer: Option<(KeyId, Arc<Ed25519KeyPair>)>,
    pub(crate) verifiers: Vec<TokenKey>,
    loaded_at: Option<Timestamp>,
}

/// Where agents dial in, and what they check before they say anything.
#[derive(Clone, Debug)]
pub struct AgentDoor {
    pub url: String,
    pub ca_pem: String,
    /// SHA-256 of the CA's public key, in hexadecimal.
    pub pin: String,
}

/// The keys that sign orders. Loaded at start and after each rotation.
#[derive(Default)]
pub(crate) struct TaskKeys {
    pub(crate) signer: Option<(KeyId, Arc<Ed25519KeyPair>)>,
    pub(crate) loaded_at: Option<Timestamp>,
}

pub struct ControlPlane {
    pub store: Store,
    pub custody: Arc<dyn SecretStore>,
    pub clock: Arc<dyn Clock>,
    pub entropy: Arc<dyn Entropy>,
    pub settings: Settings,
    pub platform_id: Uuid,
    /// Breaks on purpose, in tests.
    faults: RwLock<Faults>,
    pub(crate) token_keys: RwLock<TokenKeys>,
    pub(crate) task_keys: RwLock<TaskKeys>,
    pub(crate) registry_keys: RwLock<RegistryKeys>,
    pub(crate) registry_door: OnceLock<RegistryDoor>,
    pub(crate) profiles: Profiles,
    pub(crate) unplugged: RegistryDoor,
    pub(crate) progress: Mutex<HashMap<InstanceId, (u64, Timestamp)>>,
    /// What each instance waits for, as its node last complained.
    pub(crate) complaints: Mutex<HashMap<InstanceId, (FailureReason, String)>>,
    last_id: Mutex<(i64, u16)>,
    links: OnceLock<Arc<dyn NodeLink>>,
    agent_door: OnceLock<AgentDoor>,
    /// Password hashing takes memory and a core for a moment; no more than this many at once.
    pub(crate) hashing: Semaphore,
}

impl ControlPlane {
    /// Tells this platform from others on the same host. The end of its id: the beginning is a time, and two may be of one.
    pub fn short_id(&self) -> String {
        self.platform_id.as_simple().to_string().split_off(24)
    }

    pub fn new(
        store: Store,
        custody: Arc<dyn SecretStore>,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
        settings: Settings,
        platform_id: Uuid,
    ) -> Self {
        let hashing = Semaphore::new(2);
        let unplugged = RegistryDoor::unplugged(&settings.registry);
        Self {
            store,
            custody,
            clock,
            entropy,
            settings,
            platform_id,
            faults: RwLock::new(Faults::none()),
            token_keys: RwLock::default(),
            task_keys: RwLock::default(),
            registry_keys: RwLock::default(),
            registry_door: OnceLock::new(),
            profiles: Profiles::default(),
            unplugged,
            progress: Mutex::default(),
            complaints: Mutex::default(),
            last_id: Mutex::default(),
            links: OnceLock::new(),
            agent_door: OnceLock::new(),
            hashing,
        }
    }

    pub fn faults(&self) -> Faults {
        self.faults.read().expect("no holder panics").clone()
    }

    pub fn break_at(&self, faults: Faults) {
        *self.faults.write().expect("no holder panics") = faults;
    }

    /// Plugs the links in, once, when the server begins to listen for agents.
    pub fn plug_links(&self, links: Arc<dyn NodeLink>, door: AgentDoor) {
        let _ = self.links.set(links);
        let _ = self.agent_door.set(door);
    }

    pub fn links(&self) -> &dyn NodeLink {
        self.links.get().map_or(&NoLinks, |links| &**links)
    }

    /// Where agents dial; absent in a process that does not listen for them.
    pub fn agent_door(&self) -> Option<&AgentDoor> {
        self.agent_door.get()
    }

    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Ids of one process grow, also within a millisecond: what was written first is listed first.
    pub fn new_uuid(&self) -> Uuid {
        let mut random = [0; 10];
        self.entropy.fill(&mut random);
        let now = self.now();
        let millis = now.unix_micros() / 1000;
        let mut last = self.last_id.lock().expect("no holder panics");
        *last = if last.0 == millis { (millis, last.1.saturating_add(1)) } else { (millis, 0) };
        // The twelve bits after the time; beyond them chance decides, as it did before.
        if last.1 < 1 << 12 {
            [random[0], random[1]] = last.1.to_be_bytes();
        }
        uuid_v7(now, &random)
    }

    /// A stamp for what the platform does on its own account.
    pub fn stamp(&self, correlation_id: &str, trace_id: &str) -> Stamp {
        Stamp {
            at: self.now(),
            correlation_id: correlation_id.to_owned(),
            trace_id: trace_id.to_owned(),
            audit_id: AuditId::new(self.new_uuid()),
            event_id: EventId::new(self.new_uuid()),
        }
    }

    /// A stamp with a story of its own.
    pub fn own_stamp(&self) -> Stamp {
        let id = gpuaas_domain::chain::hex(&self.entropy.bytes16());
        self.stamp(&id, &id)
    }

    /// Opens a stored secret.
    pub async fn open_secret(&self, class: SecretClass, secret: &SealedSecret) -> Result<Secret<Vec<u8>>> {
        let sealed = Sealed { kek_id: secret.kek_id.clone(), bytes: secret.sealed.clone() };
        self.custody.open(class, secret_place(secret), &sealed).await
    }

    /// The key that signs machine tokens now.
    pub(crate) async fn token_signer(&self) -> Result<(KeyId, Arc<Ed25519KeyPair>)> {
        {
            let keys = self.token_keys.read().expect("no holder panics");
            let fresh =
                keys.loaded_at.is_some_and(|at| self.now().seconds_since(at).abs() < TOKEN_KEYS_SECONDS);
            if let Some(signer) = keys.signer.clone().filter(|_| fresh) {
                return Ok(signer);
            }
        }
        self.load_token_keys().await?;
        let keys = self.token_keys.read().expect("no holder panics");
        keys.signer.clone().ok_or_else(|| Error::internal("the platform has no key to sign tokens with"))
    }

    /// The public half of the key a token names. A key retired longer ago than any token lives is unknown.
    pub(crate) async fn token_verifier(&self, key_id: &str) -> Result<Option<[u8; 32]>> {
        let now = self.now();
        let find = |keys: &TokenKeys| {
            keys.verifiers
                .iter()
                .filter(|key| {
                    key.retired_at.is_none_or(|at| now.seconds_since(at) <= i64::from(MAX_TOKEN_TTL_SECONDS))
                })
                .find(|key| key.id.to_string() == key_id)
                .map(|key| key.public_key)
        };
        {
            let keys = self.token_keys.read().expect("no holder panics");
            if let Some(found) = find(&keys) {
                return Ok(Some(found));
            }
            // Unknown ids are free to make up: look in the database at most once a second for them.
            if keys.loaded_at.is_some_and(|at| now.seconds_since(at).abs() < 1) {
                return Ok(None);
            }
        }
        self.load_token_keys().await?;
        Ok(find(&self.token_keys.read().expect("no holder panics")))
    }

    pub(crate) async fn load_token_keys(&self) -> Result<()> {
        let mut session = self.store.read().await?;
        let verifiers = session.list_token_keys().await?;
        let mut signer = None;
        if let Some(current) = verifiers.iter().find(|key| key.retired_at.is_none()) {
            let secret = session
                .find_secret(current.secret_id)
                .await?
                .ok_or_else(|| Error::internal("the secret of the token key is missing"))?;
            drop(session);
            let seed = self.open_secret(SecretClass::Operator, &secret).await?;
            let pair = Ed25519KeyPair::from_seed_and_public_key(seed.expose(), &current.public_key)
                .map_err(|_| Error::internal("the token key does not fit its public half"))?;
            signer = Some((current.id, Arc::new(pair)));
        }
        *self.token_keys.write().expect("no holder panics") =
            TokenKeys { signer, verifiers, loaded_at: Some(self.now()) };
        Ok(())
    }
}

pub(crate) fn secret_place(secret: &SealedSecret) -> Place {
    Place {
        table: "secrets",
        column: "sealed",
        row: secret.id.uuid(),
        tenant: secret.tenant_id.map(gpuaas_domain::ids::TenantId::uuid),
    }
}
