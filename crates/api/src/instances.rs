//! Instances on the wire.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
pub use gpuaas_agent_protocol::link::{ComponentStats, InstanceStats, LogLine};
use gpuaas_agent_protocol::receipt::{self, SignedReceipt};
pub use gpuaas_domain::instance::{Component, Endpoint, Member, StoredReceipt, TimelineEntry};

use gpuaas_agent_protocol::FailureReason;
use gpuaas_agent_protocol::report::Health;
use gpuaas_domain::Timestamp;
use gpuaas_domain::access::AccessMode;
use gpuaas_domain::artifact::TrustState;
use gpuaas_domain::ids::{AllocationId, AppVersionId, InstanceId, NodeId, ProjectId, RevisionId, TenantId};
use gpuaas_domain::instance::{ControlPlaneScope, MemberRole, OperatingMode, RuntimeBackend};
pub use gpuaas_domain::launch::{LaneWish, ResourceWish};
use gpuaas_domain::launch::{Plan, PlannedGap};
use gpuaas_domain::lifecycle::{Operation, Status};
use gpuaas_domain::manifest::{ExecutionEngine, MountKind};
use gpuaas_domain::render::RenderedFile;
use gpuaas_domain::text::Slug;
pub use gpuaas_domain::volume::MountSource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// What to launch and where. What is not listed here is refused, and what the platform decides (`runtime_backend`,
/// `control_plane_scope`, `tenant_boundary_mode`) cannot be asserted: read it back.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
pub struct LaunchRequest {
    /// The app.
    #[schemars(with = "Option<Slug>")]
    #[serde(default, alias = "app_slug", skip_serializing_if = "Option::is_none")]
    pub slug: Option<String>,
    /// The newest one the project may launch if absent.
    #[schemars(length(max = 64))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub app_version: Option<String>,
    /// Made from the app if absent.
    #[schemars(with = "Option<Slug>")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Short for a placement on this one allocation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_allocation_id: Option<AllocationId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placement_intent: Option<PlacementIntent>,
    /// A hint: the platform decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operating_mode: Option<OperatingMode>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resources: Option<ResourceWish>,
    /// Publish the first private port on this port of the node's own 127.0.0.1.
    #[schemars(range(min = 1024, max = 65535))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_port: Option<u16>,
    /// Another image of the app than the one that fits best.
    #[schemars(length(max = 40))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
    /// The profile's parameters.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub values: Map<String, Value>,
    /// How endpoints are to be reached, by their names; the others as the app has it.
    #[schemars(length(max = 32))]
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub access: BTreeMap<String, AccessMode>,
    /// What stands at the places for storage that the app declares, by their names; at the others scratch. Read by hand, so
    /// that what has no business there is refused by name.
    #[schemars(with = "BTreeMap<String, MountSource>", length(max = 32))]
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub mounts: Value,
    /// Add-ons that are to run; those that they need come with them.
    #[schemars(length(max = 32), inner(length(max = 40)))]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub addons: Vec<String>,
    /// What is asked for lanes, by their names; the rest is as the app has it.
    #[schemars(length(max = 32))]
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub lanes: BTreeMap<String, LaneWish>,
    /// From a plan: refuse if the world has moved since.
    #[schemars(length(max = 80))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_digest: Option<String>,
    /// Everything else that was sent; refused by name.
    #[schemars(skip)]
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlacementIntent {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allocation_id: Option<AllocationId>,
    #[schemars(length(max = 64))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub members: Option<Vec<MemberIntent>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MemberIntent {
    pub role: MemberRole,
    pub allocation_id: AllocationId,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Instance {
    pub id: InstanceId,
    pub name: String,
    pub app_slug: String,
    pub app_version: String,
    pub app_version_id: AppVersionId,
    pub previous_version: Option<String>,
    pub artifact_digest: String,
    pub tenant_id: TenantId,
    pub project_id: ProjectId,
    pub status: Status,
    pub current_operation: Option<Operation>,
    pub health: Health,
    pub failure_reason: Option<FailureReason>,
    /// What the reason means, and the engine's own words.
    pub failure_message: Option<String>,
    pub target_allocation_id: AllocationId,
    pub placement_intent: PlacementIntent,
    pub node_id: NodeId,
    /// Decided by the platform; may differ from the hint.
    pub operating_mode: OperatingMode,
    pub control_plane_scope: ControlPlaneScope,
    pub runtime_backend: RuntimeBackend,
    pub tenant_boundary_mode: String,
    pub execution_engine: String,
    pub revision_id: RevisionId,
    pub desired_generation: i64,
    pub observed_generation: i64,
    pub requested_by: Requester,
    pub correlation_id: Option<String>,
    pub created_at: Timestamp,
    pub activated_at: Option<Timestamp>,
    pub decommissioned_at: Option<Timestamp>,
    pub version: i64,
    pub updated_at: Timestamp,
}

/// Who asked for it: `user` or `service_account`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Requester {
    pub kind: String,
    pub id: String,
}

impl From<gpuaas_domain::instance::Instance> for Instance {
    fn from(i: gpuaas_domain::instance::Instance) -> Self {
        let failure = i.state.failure;
        Self {
            id: i.id,
            name: i.name,
            app_slug: i.app_slug,
            app_version: i.app_version,
            app_version_id: i.app_version_id,
            previous_version: i.previous_version,
            artifact_digest: i.artifact_digest,
            tenant_id: i.tenant_id,
            project_id: i.project_id,
            status: i.state.status,
            current_operation: i.state.operation,
            health: i.state.health,
            failure_reason: failure.as_ref().map(|failure| failure.reason),
            failure_message: failure.map(|failure| {
                if failure.detail.is_empty() {
                    failure.reason.about().to_owned()
                } else {
                    format!("{} {}", failure.reason.about(), failure.detail)
                }
            }),
            target_allocation_id: i.target_allocation_id,
            placement_intent: PlacementIntent { allocation_id: Some(i.target_allocation_id), members: None },
            node_id: i.node_id,
            operating_mode: i.operating_mode,
            control_plane_scope: i.control_plane_scope,
            runtime_backend: i.runtime_backend,
            tenant_boundary_mode: i.tenant_boundary_mode,
            execution_engine: i.execution_engine,
            revision_id: i.revision_id,
            desired_generation: i.state.desired,
            observed_generation: i.state.observed,
            requested_by: Requester { kind: i.requested_by_kind, id: i.requested_by_id },
            correlation_id: None,
            created_at: i.created_at,
            activated_at: i.state.activated_at,
            decommissioned_at: i.state.decommissioned_at,
            version: i.version,
            updated_at: i.updated_at,
        }
    }
}

/// An instance with everything around it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct InstanceDetail {
    #[serde(flatten)]
    pub instance: Instance,
    pub node_name: String,
    /// Whether its node or any of its devices is made up.
    pub simulated: bool,
    pub members: Vec<Member>,
    pub components: Vec<Component>,
    pub gpus: Vec<String>,
    /// What it runs from.
    #[serde(default)]
    pub image: Option<InstanceImage>,
    /// Places for storage that its profile declares.
    #[serde(default)]
    pub mounts: Vec<InstanceMount>,
    /// What was chosen at the launch, and the defaults of the rest.
    #[serde(default)]
    pub values: Map<String, Value>,
    /// How its page appears in the shell; absent where it has none.
    #[serde(default)]
    pub ui: Option<crate::catalog::Ui>,
    pub access: Access,
    pub recent_events: Vec<TimelineEntry>,
}

/// What the engine of an instance was given, or another would be.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct RenderedView {
    pub engine: ExecutionEngine,
    /// The instance's revision that this is of.
    pub revision: i64,
    pub renderer_version: i64,
    /// Of the true bytes; those shown may be masked.
    pub digest: String,
    /// Whether this is what the instance runs from.
    pub stored: bool,
    /// Whether the stored bytes are what they should be; true for what was rendered just now.
    pub verified: bool,
    /// How that is known.
    pub verification: String,
    pub files: Vec<RenderedFile>,
    /// JSON pointers into the input to what is not shown.
    pub masked: Vec<String>,
    /// What the engine takes otherwise than written.
    pub gaps: Vec<PlannedGap>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RenderedQuery {
    /// The instance's own if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engine: Option<ExecutionEngine>,
}

/// The image of an instance, and what is known about it today.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct InstanceImage {
    /// By digest.
    pub reference: String,
    pub digest: String,
    /// Absent where it is not registered any more.
    pub trust: Option<TrustState>,
    /// The hash of the public key that stands for it.
    pub signer: Option<String>,
    pub variant: Option<String>,
    pub channel: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct InstanceMount {
    pub name: String,
    pub path: String,
    pub kind: MountKind,
    pub read_only: bool,
    /// What stands there.
    pub source: MountSource,
    /// Of the volume, if one stands there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volume_name: Option<String>,
}

/// How people reach it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Access {
    pub endpoints: Vec<EndpointView>,
    /// Commands and addresses, in words.
    pub instructions: Vec<String>,
    /// What the app's author says about reaching it.
    #[serde(default)]
    pub notes: Vec<String>,
    /// Commands of the app to copy, with what was chosen filled in.
    #[serde(default)]
    pub commands: Vec<AppCommand>,
}

/// A command that an app offers.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct AppCommand {
    pub name: String,
    pub title: String,
    /// Word by word.
    pub command: Vec<String>,
    /// The same as one line for a shell.
    pub line: String,
}

/// A declared port and how it is reached (J-10).
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct EndpointView {
    #[serde(flatten)]
    pub endpoint: Endpoint,
    /// Its own address at the gateway; absent where it has none.
    pub url: Option<String>,
    /// Where the app's page opens.
    pub path: String,
    pub title: Option<String>,
    pub health: EndpointHealth,
}

/// Whether something answers there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EndpointHealth {
    Ready,
    Starting,
    /// Nothing runs there.
    Down,
}

/// What a launch would do.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct PlanView {
    pub plan_digest: String,
    pub plan: Plan,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ForceDecommission {
    /// Why nobody can ask the node.
    #[schemars(length(min = 1, max = 500))]
    pub reason: String,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InstanceQuery {
    #[schemars(range(min = 1, max = 200))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    #[schemars(length(max = 512))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<Status>,
    /// An app's slug.
    #[schemars(length(max = 40))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub app: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allocation: Option<AllocationId>,
    /// Decommissioned ones too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<bool>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LogsQuery {
    #[schemars(length(max = 40))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub component: Option<String>,
    /// The last so many lines; all if absent.
    #[schemars(range(max = 100_000))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tail: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// Go on with what comes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub follow: Option<bool>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ForwardQuery {
    /// The first component with such a port if absent.
    #[schemars(length(max = 40))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub component: Option<String>,
    /// A declared port of the container; the first one if absent.
    #[schemars(range(min = 1))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
}

/// A receipt, with what it takes to check it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ReceiptView {
    #[serde(flatten)]
    pub receipt: StoredReceipt,
    /// The node's Ed25519 key, base64url. `signature` is over `gpuaas-receipt-v1`, a zero byte, and `payload`.
    pub node_public_key: Option<String>,
}

impl ReceiptView {
    pub fn new(receipt: StoredReceipt, node_public_key: Option<&[u8]>) -> Self {
        Self { receipt, node_public_key: node_public_key.map(|key| URL_SAFE_NO_PAD.encode(key)) }
    }

    /// Whether the node's key signed exactly this text; `None` where there is nothing to check.
    pub fn is_signed(&self) -> Option<bool> {
        let signature = self.receipt.signature.clone()?;
        let key = URL_SAFE_NO_PAD.decode(self.node_public_key.as_ref()?).ok()?;
        let signed = SignedReceipt { payload: self.receipt.payload.clone(), signature };
        Some(receipt::open(&signed, &key).is_some())
    }
}
