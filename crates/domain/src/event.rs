//! What is told to the outside world (events) and what is kept for the auditor (audit rows).
//!
//! Both are written once, in the transaction of the change they tell about, and never touched again. They hold
//! ids, never personal data or secrets: of a personal field they say only that it was set or changed.

use serde_json::{Value, json};

use crate::Timestamp;
use crate::iam::Scope;
use crate::ids::{AuditId, EventId};

/// The events this version can send. The name is public contract; see the AsyncAPI file.
macro_rules! event_types {
    ($($variant:ident = $name:literal, $about:literal;)*) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum EventType { $(#[doc = $about] $variant,)* }

        impl EventType {
            pub const ALL: &'static [EventType] = &[$(EventType::$variant),*];

            pub fn name(self) -> &'static str {
                match self { $(EventType::$variant => $name),* }
            }

            pub fn about(self) -> &'static str {
                match self { $(EventType::$variant => $about),* }
            }
        }
    };
}

event_types! {
    TenantCreated = "tenants.created", "A tenant was created.";
    TenantUpdated = "tenants.updated", "A tenant's name changed.";
    TenantStateChanged = "tenants.state_changed", "A tenant was suspended, resumed, marked for deletion or erased.";
    ProjectCreated = "projects.created", "A project was created.";
    ProjectUpdated = "projects.updated", "A project's name changed.";
    ProjectStateChanged = "projects.state_changed", "A project was suspended, resumed, marked for deletion or erased.";
    UserCreated = "users.created", "A person's account was created.";
    UserUpdated = "users.updated", "A person's account changed.";
    UserStateChanged = "users.state_changed", "A person's account was suspended, resumed, marked for deletion or erased.";
    RoleCreated = "roles.created", "A custom role was created.";
    RoleUpdated = "roles.updated", "A custom role's permissions or name changed.";
    RoleDeleted = "roles.deleted", "A custom role was deleted.";
    BindingCreated = "bindings.created", "A role was given.";
    BindingDeleted = "bindings.deleted", "A role was taken away.";
    ServiceAccountCreated = "service_accounts.created", "A service account was created.";
    ServiceAccountDisabled = "service_accounts.disabled", "A service account was disabled.";
    ServiceAccountKeyRotated = "service_accounts.key_rotated", "A service account got a new key.";
    ServiceAccountDeleted = "service_accounts.deleted", "A service account was deleted.";
    LimitSet = "limits.set", "A limit was set.";
    NodeJoined = "nodes.joined", "A machine became a node.";
    NodeChanged = "nodes.changed", "A node was cordoned, drained, revoked or forgotten, or came back.";
    SkuChanged = "skus.changed", "A SKU was created, priced, changed or retired.";
    AllocationRequested = "allocations.requested", "A project asked for an allocation.";
    AllocationActive = "allocations.active", "An allocation was granted.";
    AllocationReleasing = "allocations.releasing", "An allocation is being released; what runs on it is stopped first.";
    AllocationReleased = "allocations.released", "An allocation was released, or its request was turned down.";
    PresetChanged = "launch_presets.changed", "A preset of a launch form was made or changed.";
    PresetDeleted = "launch_presets.deleted", "A preset of a launch form was deleted.";
    VolumeCreated = "volumes.created", "A volume was created.";
    VolumeDeleting = "volumes.deleting", "A volume is being deleted; its node removes the bytes.";
    VolumeDeleted = "volumes.deleted", "A volume is deleted: its node has removed the bytes, or they were lost before.";
    VolumeLost = "volumes.lost", "A volume is lost: its node was revoked or forgotten.";
    AppVersionRegistered = "apps.version.registered", "A manifest was registered as a draft.";
    AppVersionMoved = "apps.version.moved", "A version of an app moved on the ladder.";
    AppPreparing = "apps.preparing", "How far the making of an app has come.";
    ArtifactRegistered = "apps.artifact.registered", "An image was registered as an artifact.";
    ArtifactPromoted = "apps.artifact.promoted", "An artifact was promoted to a channel.";
    ArtifactStateChanged = "apps.artifact.state_changed", "An artifact was deprecated or retired.";
    ArtifactTrustChanged = "apps.artifact.trust_changed", "An artifact was verified or revoked, or lost its verification.";
    AppVersionFinding = "apps.version.finding", "An artifact of a version in use may not be used any more; new launches are refused.";
    RepositoryChanged = "apps.repository.changed", "A repository was made, or who may see it changed.";
    TrustKeyAdded = "apps.trust_key.added", "A key may now stand for images.";
    TrustKeyRevoked = "apps.trust_key.revoked", "A key does not stand for images any more.";
    RegistryCredentialIssued = "registry.credential.issued", "A short-lived credential for one repository was issued.";
    RegistryCredentialRevoked = "registry.credential.revoked", "A credential for a repository was revoked.";
    EntitlementSet = "apps.entitlement.set", "What a tenant or project may launch changed.";
    InstanceRequested = "apps.instance.requested", "A launch was accepted.";
    InstanceDeploying = "apps.instance.deploying", "The node has the launch and works on it.";
    InstanceRunning = "apps.instance.running", "The instance is ready.";
    InstanceStopRequested = "apps.instance.stop_requested", "A stop was accepted.";
    InstanceStopped = "apps.instance.stopped", "The instance is stopped: no process of it is left.";
    InstanceStartRequested = "apps.instance.start_requested", "A start was accepted.";
    InstanceDecommissionRequested = "apps.instance.decommission_requested", "The final removal was accepted.";
    InstanceDecommissioned = "apps.instance.decommissioned", "The instance is gone; there is a receipt.";
    InstanceFailed = "apps.instance.failed", "The instance failed; the reason says why.";
    InstanceHealthChanged = "apps.instance.health_changed", "The instance became healthy or unhealthy.";
    EndpointExposed = "apps.endpoint.exposed", "Who may come in at a public endpoint changed.";
    TaskKeyRotated = "platform.task_key_rotated", "The platform signs orders to nodes with a new key.";
    TokenSigningKeyRotated = "platform.token_key_rotated", "The platform signs machine tokens with a new key.";
}

/// What a change concerns: the kind of object and its id, both shown in audit rows and events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectRef {
    pub kind: &'static str,
    pub id: String,
}

impl ObjectRef {
    pub fn new(kind: &'static str, id: impl std::fmt::Display) -> Self {
        Self { kind, id: id.to_string() }
    }
}

/// One committed change: what it was about, how it looked before and after, and what the world is told.
/// A transaction cannot be committed without one.
#[derive(Clone, Debug)]
pub struct Change {
    pub action: &'static str,
    pub object: ObjectRef,
    /// Where it happened, if not at the scope of the permit (a platform admin creating a tenant, say).
    pub scope: Option<Scope>,
    pub before: Option<Value>,
    pub after: Option<Value>,
    pub reason: Option<String>,
    pub event: Option<(EventType, Value)>,
}

impl Change {
    pub fn new(action: &'static str, object: ObjectRef) -> Self {
        Self { action, object, scope: None, before: None, after: None, reason: None, event: None }
    }

    #[must_use]
    pub fn at(mut self, scope: Scope) -> Self {
        self.scope = Some(scope);
        self
    }

    #[must_use]
    pub fn before(mut self, view: Value) -> Self {
        self.before = Some(view);
        self
    }

    #[must_use]
    pub fn after(mut self, view: Value) -> Self {
        self.after = Some(view);
        self
    }

    #[must_use]
    pub fn because(mut self, reason: Option<String>) -> Self {
        self.reason = reason;
        self
    }

    #[must_use]
    pub fn event(mut self, kind: EventType, data: Value) -> Self {
        self.event = Some((kind, data));
        self
    }
}

/// How a personal field stands in an audit row: whether it is there, never what it says.
pub fn personal_change(changed: bool) -> Value {
    json!(if changed { "(changed)" } else { "(unchanged)" })
}

/// An audit row as stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditRow {
    pub id: AuditId,
    pub at: Timestamp,
    pub scope: Scope,
    pub actor_kind: String,
    pub actor_id: String,
    pub action: String,
    pub outcome: Outcome,
    pub object_kind: String,
    pub object_id: String,
    pub before: Option<String>,
    pub after: Option<String>,
    pub reason: Option<String>,
    pub correlation_id: String,
    pub trace_id: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Done,
    Denied,
}

impl Outcome {
    pub fn name(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Denied => "denied",
        }
    }

    pub fn parse(name: &str) -> Option<Self> {
        [Self::Done, Self::Denied].into_iter().find(|outcome| outcome.name() == name)
    }
}

/// An event as stored. `data` is canonical JSON text, because its exact bytes are hashed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventRow {
    pub id: EventId,
    pub at: Timestamp,
    pub scope: Scope,
    pub kind: String,
    pub subject: String,
    pub actor_kind: String,
    pub actor_id: String,
    pub data: String,
    pub correlation_id: String,
    pub trace_id: String,
}

/// JSON with sorted keys and no spaces: the same value always gives the same bytes.
pub fn canonical(value: &Value) -> String {
    match value {
        Value::Object(map) => {
            let sorted: std::collections::BTreeMap<_, _> = map.iter().collect();
            let parts: Vec<_> = sorted
                .into_iter()
                .map(|(key, value)| format!("{}:{}", Value::from(key.as_str()), canonical(value)))
                .collect();
            format!("{{{}}}", parts.join(","))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(canonical).collect::<Vec<_>>().join(",")),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn canonical_text_does_not_depend_on_key_order() {
        let a: Value = serde_json::from_str(r#"{"b":[1,{"z":"\"","a":null}],"a":true}"#).unwrap();
        assert_eq!(canonical(&a), r#"{"a":true,"b":[1,{"a":null,"z":"\""}]}"#);
        let again: Value = serde_json::from_str(&canonical(&a)).unwrap();
        assert_eq!(canonical(&again), canonical(&a));
    }
}
