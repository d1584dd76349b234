//! Orders, signed.
//!
//! A task is stored unsigned and signed each time it is sent, with a fresh nonce: what is heard twice is a replay. The
//! signature covers the exact bytes of `payload`, so nothing has to be brought into a canonical form to be checked.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use ring::signature::{ED25519, Ed25519KeyPair, UnparsedPublicKey};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::image::Digest;
use crate::spec::WorkloadSpec;

/// Signed before the payload, so that a signature made for anything else never fits a task.
const CONTEXT: &[u8] = b"gpuaas-task-v1\0";

/// Bytes of a whole signed task on the wire.
pub const MAX_TASK_BYTES: usize = 2 * crate::spec::MAX_SPEC_BYTES;

/// The families of orders (O-01). Another type does not parse.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", deny_unknown_fields)]
pub enum Order {
    /// Bring the workload up and keep it up.
    #[serde(rename = "container.launch")]
    Launch { spec: WorkloadSpec },
    /// Take containers and network down; keep scratch.
    #[serde(rename = "container.stop")]
    Stop { grace_seconds: u32 },
    /// Take everything down and prove that nothing is left.
    #[serde(rename = "container.remove")]
    Remove { grace_seconds: u32 },
    /// Take the bytes of a volume away and prove that nothing is left. The task's `instance_id` is the volume's.
    #[serde(rename = "volume.remove")]
    RemoveVolume { volume_id: Uuid },
}

impl Order {
    pub fn family(&self) -> &'static str {
        match self {
            Self::Launch { .. } => "container.launch",
            Self::Stop { .. } => "container.stop",
            Self::Remove { .. } => "container.remove",
            Self::RemoveVolume { .. } => "volume.remove",
        }
    }

    pub fn digest(&self) -> Digest {
        Digest::of(&serde_json::to_vec(self).expect("an order is plain data"))
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Task {
    pub protocol: u16,
    pub task_id: Uuid,
    pub node_id: Uuid,
    /// What the order is about: an instance, or the volume that is removed. Marks are kept and reports are made by it.
    pub instance_id: Uuid,
    /// Which wish of the control plane for this instance; a higher one replaces a lower one.
    pub generation: u64,
    /// Which holder of the dispatch lease sent it; a lower one has lost the lease.
    pub epoch: u64,
    /// Raised by a restore of the database; a lower one comes from a world that is gone.
    pub era: u64,
    pub nonce: Uuid,
    /// Server time, microseconds since 1970.
    pub issued_at: i64,
    pub expires_at: i64,
    pub correlation_id: Uuid,
    pub order_digest: Digest,
    pub order: Order,
}

/// A task as it travels.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SignedTask {
    pub key_id: Uuid,
    /// The JSON text of a [`Task`].
    pub payload: String,
    /// Ed25519 over the context and the payload, base64url.
    pub signature: String,
}

/// A public key that orders may be signed with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Verifier {
    pub key_id: Uuid,
    /// Ed25519, base64url.
    pub public_key: String,
    /// Server time in microseconds after which it is no longer accepted; none while it is current.
    #[serde(default)]
    pub accepted_until: Option<i64>,
}

/// What a node has to believe, fetched over its pinned connection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Trust {
    pub era: u64,
    /// Server time, microseconds since 1970; the agent counts on from here with its monotonic clock.
    pub server_time: i64,
    pub verifiers: Vec<Verifier>,
}

/// Why an agent refuses a task. The names go back to the control plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Refusal {
    TooLarge,
    Malformed,
    UnknownKey,
    BadSignature,
    WrongProtocol,
    WrongNode,
    Expired,
    NotYetValid,
    StaleEra,
    StaleEpoch,
    StaleGeneration,
    Replayed,
    DigestMismatch,
    SpecRefused,
    /// Same generation, other order.
    Contradiction,
    /// The node cannot write its journal, so it may not act.
    JournalUnwritable,
    /// The node's engine does not answer yet.
    NotReady,
}

impl Refusal {
    pub fn name(self) -> &'static str {
        match self {
            Self::TooLarge => "too_large",
            Self::Malformed => "malformed",
            Self::UnknownKey => "unknown_key",
            Self::BadSignature => "bad_signature",
            Self::WrongProtocol => "wrong_protocol",
            Self::WrongNode => "wrong_node",
            Self::Expired => "expired",
            Self::NotYetValid => "not_yet_valid",
            Self::StaleEra => "stale_era",
            Self::StaleEpoch => "stale_epoch",
            Self::StaleGeneration => "stale_generation",
            Self::Replayed => "replayed",
            Self::DigestMismatch => "digest_mismatch",
            Self::SpecRefused => "spec_refused",
            Self::Contradiction => "contradiction",
            Self::JournalUnwritable => "journal_unwritable",
            Self::NotReady => "not_ready",
        }
    }
}

pub fn sign(task: &Task, key_id: Uuid, key: &Ed25519KeyPair) -> SignedTask {
    let payload = serde_json::to_string(task).expect("a task is plain data");
    let signature = BASE64.encode(key.sign(&signed_bytes(&payload)).as_ref());
    SignedTask { key_id, payload, signature }
}

/// Opens an envelope with the verifiers in hand at a server time. What it says is judged by the caller: this knows no
/// node, no history.
pub fn open(signed: &SignedTask, verifiers: &[Verifier], server_time: i64) -> Result<Task, Refusal> {
    if signed.payload.len() > MAX_TASK_BYTES {
        return Err(Refusal::TooLarge);
    }
    let verifier =
        verifiers.iter().find(|verifier| verifier.key_id == signed.key_id).ok_or(Refusal::UnknownKey)?;
    if verifier.accepted_until.is_some_and(|until| server_time > until) {
        return Err(Refusal::UnknownKey);
    }
    let key = BASE64.decode(&verifier.public_key).map_err(|_| Refusal::UnknownKey)?;
    let signature = BASE64.decode(&signed.signature).map_err(|_| Refusal::BadSignature)?;
    UnparsedPublicKey::new(&ED25519, key)
        .verify(&signed_bytes(&signed.payload), &signature)
        .map_err(|_| Refusal::BadSignature)?;
    let task: Task = serde_json::from_str(&signed.payload).map_err(|_| Refusal::Malformed)?;
    if task.protocol != crate::PROTOCOL {
        return Err(Refusal::WrongProtocol);
    }
    if task.order.digest() != task.order_digest {
        return Err(Refusal::DigestMismatch);
    }
    if server_time > task.expires_at {
        return Err(Refusal::Expired);
    }
    Ok(task)
}

fn signed_bytes(payload: &str) -> Vec<u8> {
    [CONTEXT, payload.as_bytes()].concat()
}
