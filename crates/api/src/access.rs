//! Reaching an app's endpoints, on the wire.

use gpuaas_domain::Timestamp;
use gpuaas_domain::access::{AccessMode, PublicAccess};
use gpuaas_domain::ids::{EndpointTokenId, InstanceId, ProjectId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where to go on inside the app.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OpenRequest {
    /// A path of the app with its query, as in `/lab?reset`. The app's own start page if absent.
    #[schemars(length(max = 2000))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// An address that opens the app once.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct OpenedEndpoint {
    /// Go there at once, in a frame of the platform's pages or in a tab; it is good for one use.
    pub url: Option<String>,
    pub expires_at: Timestamp,
    pub secret_redacted: bool,
}

/// Whose endpoint a host name is.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct EndpointPlace {
    pub label: String,
    pub project_id: ProjectId,
    pub app_instance_id: InstanceId,
    pub instance_name: String,
    pub component: String,
    pub endpoint: String,
    pub mode: AccessMode,
    pub public_access: PublicAccess,
    pub version: i64,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PublicAccessChange {
    pub public_access: PublicAccess,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewEndpointToken {
    #[schemars(length(min = 1, max = 120))]
    pub name: String,
    /// Thirty days if absent, ninety at most.
    #[schemars(range(min = 60, max = 7_776_000))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_seconds: Option<i64>,
}

/// A token that opens one endpoint: `Authorization: Bearer …` at the endpoint's own address.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct EndpointToken {
    pub id: EndpointTokenId,
    pub name: String,
    pub created_by: crate::instances::Requester,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct CreatedEndpointToken {
    #[serde(flatten)]
    pub endpoint_token: EndpointToken,
    /// Shown once.
    pub token: Option<String>,
    pub secret_redacted: bool,
}

/// The keys that sign what apps are told about who is there, as a JSON Web Key Set.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct IdentityKeys {
    pub keys: Vec<IdentityKey>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct IdentityKey {
    pub kty: String,
    pub crv: String,
    pub alg: String,
    #[serde(rename = "use")]
    pub usage: String,
    pub kid: String,
    /// The public key, base64url.
    pub x: String,
}
