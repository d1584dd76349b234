//! What a node says to the platform: joining, getting a token, telling what it has and what it sees. These are ordinary
//! calls with the node's own token, at the agents' address (TLS under the platform's CA).

use gpuaas_agent_protocol::inventory::NodeInventory;
use gpuaas_agent_protocol::task::Trust;
use gpuaas_domain::Timestamp;
use gpuaas_domain::ids::{InstanceId, NodeId};
use gpuaas_domain::text::Slug;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use gpuaas_domain::machine_token::NODE_TOKEN_AUDIENCE;

/// A machine asks to become a node.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JoinRequest {
    /// `id.secret`: the join token without its pin, which never leaves the node.
    #[schemars(length(max = 200))]
    pub token: String,
    /// How people call the node; the token may fix it.
    #[schemars(with = "Option<Slug>")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The node's own Ed25519 public key, base64url without padding. The private half never leaves the node.
    #[schemars(length(max = 64))]
    pub public_key: String,
    pub inventory: NodeInventory,
}

/// A machine that has become a node.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Joined {
    pub node_id: NodeId,
    pub name: String,
    /// The platform's CA certificate, to be the node's only root.
    pub ca_pem: String,
    pub trust: Trust,
}

/// A node asks for a token.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NodeTokenRequest {
    #[schemars(length(max = 4096))]
    pub assertion: String,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct NodeToken {
    pub access_token: String,
    pub token_type: String,
    pub expires_in: u32,
}

/// A node asks for an image that an order of its own names, each time before it uses it, pulled or not.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ImageAccessRequest {
    pub app_instance_id: InstanceId,
    pub generation: i64,
    /// `registry/repository@sha256:…`, exactly as in the order.
    #[schemars(length(max = 512))]
    pub reference: String,
}

/// The way to one image, for one node, while its order stands.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ImageAccess {
    /// Base address of the registry; absent, it is the platform's own, at the address the node calls anyway.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub registry_url: Option<String>,
    /// A bearer token for the registry: this repository, reading, what belongs to this digest, a few minutes.
    pub token: String,
    pub expires_at: Timestamp,
    pub trust: ImageTrust,
}

/// What must hold before the image is started.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ImageTrust {
    /// Whether an image without a signature that holds is refused. A platform marked local may only warn; bytes that do
    /// not fit the digest are refused always.
    pub enforce: bool,
    /// Every name (`host/repository`) under which it may have been signed.
    pub names: Vec<String>,
    pub keys: Vec<ImageKey>,
    /// Whether a signature that names no repository counts, as cosign 3 makes them.
    pub accept_unnamed: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ImageKey {
    /// In PEM.
    pub public_key: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub valid_until: Option<Timestamp>,
}
