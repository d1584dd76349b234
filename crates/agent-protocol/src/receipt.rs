//! The proof that nothing is left, signed by the node that looked.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use ring::signature::{ED25519, Ed25519KeyPair, UnparsedPublicKey};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

const CONTEXT: &[u8] = b"gpuaas-receipt-v1\0";

/// What a node attests after it removed an instance, or a volume, and looked again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Receipt {
    /// The instance's, or the volume's.
    pub instance_id: Uuid,
    pub node_id: Uuid,
    pub generation: u64,
    /// What was taken away over the life of the instance on this node.
    pub removed: Vec<Removed>,
    /// What was looked for afterwards, and how many were found: all zero.
    pub left: Left,
    /// Volumes that were mounted and stay where they are: they outlive instances.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub volumes_kept: Vec<Uuid>,
    /// The node's idea of server time, microseconds since 1970.
    pub checked_at: i64,
    /// True where no real container was ever started.
    pub simulated: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Removed {
    /// `container`, `network`, `volume`, `scratch`, `secret` or `port`.
    pub kind: String,
    pub name: String,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Left {
    pub containers: u32,
    pub networks: u32,
    pub volumes: u32,
    pub scratch_paths: u32,
    pub secrets: u32,
    pub ports: u32,
}

impl Left {
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

/// A receipt as it travels and is kept: the exact bytes that were signed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SignedReceipt {
    /// The JSON text of a [`Receipt`].
    pub payload: String,
    /// Ed25519 by the node's key over the context and the payload, base64url.
    pub signature: String,
}

pub fn sign(receipt: &Receipt, key: &Ed25519KeyPair) -> SignedReceipt {
    let payload = serde_json::to_string(receipt).expect("a receipt is plain data");
    let signature = BASE64.encode(key.sign(&signed_bytes(&payload)).as_ref());
    SignedReceipt { payload, signature }
}

/// The receipt, if this node key signed it.
pub fn open(signed: &SignedReceipt, node_public_key: &[u8]) -> Option<Receipt> {
    let signature = BASE64.decode(&signed.signature).ok()?;
    UnparsedPublicKey::new(&ED25519, node_public_key)
        .verify(&signed_bytes(&signed.payload), &signature)
        .ok()?;
    serde_json::from_str(&signed.payload).ok()
}

fn signed_bytes(payload: &str) -> Vec<u8> {
    [CONTEXT, payload.as_bytes()].concat()
}
