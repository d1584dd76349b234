//! App instances as the platform keeps them.

use gpuaas_agent_protocol::report::Health;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::Timestamp;
use crate::access::{AccessMode, Label, PublicAccess};
use crate::iam::Scope;
use crate::ids::{
    AllocationId, AppVersionId, InstanceId, MemberId, NodeId, ProjectId, RevisionId, TaskId, TenantId,
    TimelineId, VolumeId,
};
use crate::lifecycle::{Failure, Operation, State, Status, named};
use crate::manifest::EndpointPolicy;

named! {
    /// Who operates an app: its tenant, or the platform for all.
    #[derive(Default)]
    OperatingMode {
        #[default]
        TenantDedicated = "tenant_dedicated",
        PlatformManaged = "platform_managed",
    }
}

named! {
    /// How far the control plane of an app reaches.
    #[derive(Default)]
    ControlPlaneScope {
        #[default]
        Project = "project",
        Tenant = "tenant",
        Platform = "platform",
    }
}

named! {
    /// What family runs it; the spelling of `runtime_backend` (D-06).
    RuntimeBackend {
        K8s = "k8s",
        Slurm = "slurm",
        Ray = "ray",
        BareMetal = "bare_metal",
        LaunchableOci = "launchable_oci",
        DockerCompose = "docker_compose",
    }
}

named! {
    MemberRole {
        Controller = "controller",
        Worker = "worker",
        Head = "head",
        Node = "node",
    }
}

named! {
    TaskState {
        Queued = "queued",
        /// The node has it.
        Sent = "sent",
        Done = "done",
        Superseded = "superseded",
    }
}

/// An instance with its effective fields (H-08).
#[derive(Clone, Debug, PartialEq)]
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
    pub state: State,
    pub target_allocation_id: AllocationId,
    pub node_id: NodeId,
    pub operating_mode: OperatingMode,
    pub control_plane_scope: ControlPlaneScope,
    pub runtime_backend: RuntimeBackend,
    pub tenant_boundary_mode: String,
    pub execution_engine: String,
    pub revision_id: RevisionId,
    pub access_epoch: i64,
    pub requested_by_kind: String,
    pub requested_by_id: String,
    pub created_at: Timestamp,
    pub version: i64,
    pub updated_at: Timestamp,
}

impl Instance {
    pub fn scope(&self) -> Scope {
        Scope::Project(self.tenant_id, self.project_id)
    }

    /// What events and audit rows say: enough for a consumer to know the state without asking (H-16).
    pub fn view(&self) -> Value {
        json!({
            "app_instance_id": self.id, "name": self.name, "app_slug": self.app_slug, "app_version": self.app_version,
            "artifact_digest": self.artifact_digest, "project_id": self.project_id, "tenant_id": self.tenant_id,
            "status": self.state.status, "current_operation": self.state.operation, "health": health_name(self.state.health),
            "target_allocation_id": self.target_allocation_id, "node_id": self.node_id,
            "generation": self.state.desired,
            "failure_reason": self.state.failure.as_ref().map(|failure| failure.reason.name()),
            "requested_by": {"kind": self.requested_by_kind, "id": self.requested_by_id},
            "activated_at": self.state.activated_at, "decommissioned_at": self.state.decommissioned_at,
            "version": self.version,
        })
    }
}

pub fn health_name(health: Health) -> &'static str {
    match health {
        Health::Unknown => "unknown",
        Health::Healthy => "healthy",
        Health::Unhealthy => "unhealthy",
    }
}

pub fn parse_health(text: &str) -> Option<Health> {
    [Health::Unknown, Health::Healthy, Health::Unhealthy]
        .into_iter()
        .find(|health| health_name(*health) == text)
}

/// The parts of a stored state.
pub struct StoredState<'a> {
    pub status: &'a str,
    pub operation: Option<&'a str>,
    pub desired: i64,
    pub observed: i64,
    pub health: &'a str,
    pub failure_reason: Option<&'a str>,
    pub failure_detail: Option<&'a str>,
    pub activated_at: Option<Timestamp>,
    pub decommissioned_at: Option<Timestamp>,
}

impl StoredState<'_> {
    /// `None` where the row holds a word we do not know.
    pub fn read(&self) -> Option<State> {
        let failure = match self.failure_reason {
            None => None,
            Some(reason) => Some(Failure {
                reason: gpuaas_agent_protocol::FailureReason::parse(reason)?,
                detail: self.failure_detail.unwrap_or_default().to_owned(),
            }),
        };
        let operation = match self.operation {
            None => None,
            Some(text) => Some(Operation::parse(text)?),
        };
        Some(State {
            status: Status::parse(self.status)?,
            operation,
            desired: self.desired,
            observed: self.observed,
            health: parse_health(self.health)?,
            failure,
            activated_at: self.activated_at,
            decommissioned_at: self.decommissioned_at,
        })
    }
}

/// An instance's share of one allocation (H-13).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Member {
    pub id: MemberId,
    pub allocation_id: AllocationId,
    pub role: MemberRole,
    pub status: String,
}

/// One container as last seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Component {
    pub name: String,
    pub container_id: Option<String>,
    pub running: bool,
    pub ready: bool,
    pub restarts: i64,
    pub exit_code: Option<i64>,
    pub started_at: Option<Timestamp>,
}

impl Component {
    /// One that was ordered and that nobody has seen yet.
    pub fn unseen(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            container_id: None,
            running: false,
            ready: false,
            restarts: 0,
            exit_code: None,
            started_at: None,
        }
    }
}

/// A declared port of a component.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Endpoint {
    pub component: String,
    pub name: String,
    pub port: i64,
    pub expose: String,
    /// On the node's own 127.0.0.1.
    pub host_port: Option<i64>,
    /// How it is reached (J-12).
    pub mode: AccessMode,
    /// Who comes in besides those with access, where the mode is `public`.
    pub public_access: PublicAccess,
    /// The first part of its host name at the gateway.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<Label>,
    #[serde(skip)]
    pub policy: EndpointPolicy,
}

/// A line of an instance's timeline (H-14).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TimelineEntry {
    pub id: TimelineId,
    pub event_type: String,
    pub payload: Value,
    pub occurred_at: Timestamp,
}

/// What an order is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    Instance(InstanceId),
    /// It is to be removed.
    Volume(VolumeId),
}

impl Subject {
    pub fn uuid(self) -> uuid::Uuid {
        match self {
            Self::Instance(id) => id.uuid(),
            Self::Volume(id) => id.uuid(),
        }
    }
}

/// An order as it waits for its node.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeTask {
    pub id: TaskId,
    pub node_id: NodeId,
    pub subject: Subject,
    pub generation: i64,
    pub family: String,
    /// JSON of `agent_protocol::task::Order`.
    pub order: String,
    pub state: TaskState,
    pub attempts: i64,
    pub correlation_id: String,
    pub trace_id: String,
    pub created_at: Timestamp,
}

/// What is kept as proof of the end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StoredReceipt {
    pub instance_id: InstanceId,
    pub node_id: NodeId,
    /// Whether the node itself looked and signed.
    pub attested: bool,
    /// The exact text that was signed (JSON).
    pub payload: String,
    /// Ed25519 by the node's key, base64url; absent where nobody looked.
    pub signature: Option<String>,
    /// Why it was ended without the node.
    pub reason: Option<String>,
    pub created_at: Timestamp,
}
