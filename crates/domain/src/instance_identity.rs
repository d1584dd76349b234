//! Who an instance is when it speaks for itself (K-08): a service account of its own, and a key that lives for one
//! generation. The key is made on the node and its private half never leaves it.

use crate::Timestamp;
use crate::ids::{InstanceId, KeyId, NodeId, ServiceAccountId, parse_uuid};
use crate::instance::Instance;
use crate::lifecycle::{Status, named};

/// The account of an instance, and the one key that counts now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstanceIdentity {
    pub instance_id: InstanceId,
    pub service_account_id: ServiceAccountId,
    pub key_id: KeyId,
    pub generation: i64,
    /// Where the private half lies.
    pub node_id: NodeId,
    pub registered_at: Timestamp,
    /// When the app last said to the platform that it lives.
    pub heard_at: Option<Timestamp>,
}

named! {
    /// What an app may say about its members (H-20).
    Emission {
        MemberAdd = "member-add",
        MemberRemove = "member-remove",
        MemberFailed = "member-failed",
    }
}

impl Emission {
    /// How the timeline calls it (H-34).
    pub fn timeline_name(self) -> &'static str {
        match self {
            Self::MemberAdd => "member_added",
            Self::MemberRemove => "member_removed",
            Self::MemberFailed => "member_failed",
        }
    }
}

const NAME_PREFIX: &str = "instance-";

/// How the account of an instance is called.
pub fn account_name(instance: InstanceId) -> String {
    format!("{NAME_PREFIX}{instance}")
}

/// Whether a name is one that an instance's account may need.
pub fn is_reserved_name(name: &str) -> bool {
    name.strip_prefix(NAME_PREFIX).is_some_and(|rest| parse_uuid(rest).is_some())
}

/// Whether an instance has a life of its own right now: launched, and nobody wants it ended.
fn is_up(instance: &Instance) -> bool {
    let wanted = matches!(instance.state.status, Status::Created | Status::Starting | Status::Running);
    wanted && !instance.state.is_decommissioned()
}

/// Whether a node may show a key for this launch: it is bound to the node, it is the newest wish, and that is to run.
pub fn may_register(instance: &Instance, node: NodeId, generation: i64) -> bool {
    is_up(instance) && instance.node_id == node && instance.state.desired == generation
}

/// Whether this key speaks for the instance at this moment.
pub fn speaks_for(identity: &InstanceIdentity, instance: &Instance, key: KeyId) -> bool {
    identity.instance_id == instance.id
        && identity.key_id == key
        && may_register(instance, identity.node_id, identity.generation)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{AllocationId, AppVersionId, ProjectId, RevisionId, TenantId};
    use crate::instance::{ControlPlaneScope, OperatingMode, RuntimeBackend};
    use crate::lifecycle::{Event, apply};
    use uuid::Uuid;

    fn at() -> Timestamp {
        Timestamp::from_unix_seconds(1_800_000_000).unwrap()
    }

    fn node() -> NodeId {
        NodeId::new(Uuid::from_u128(7))
    }

    fn key() -> KeyId {
        KeyId::new(Uuid::from_u128(8))
    }

    fn identity(instance: &Instance) -> InstanceIdentity {
        InstanceIdentity {
            instance_id: instance.id,
            service_account_id: ServiceAccountId::new(Uuid::from_u128(9)),
            key_id: key(),
            generation: instance.state.desired,
            node_id: node(),
            registered_at: at(),
            heard_at: None,
        }
    }

    fn sample() -> Instance {
        let id = |number| Uuid::from_u128(number);
        let (state, _) = crate::lifecycle::State::create();
        Instance {
            id: InstanceId::new(id(1)),
            name: "one".into(),
            app_slug: "app".into(),
            app_version: "1.0.0".into(),
            app_version_id: AppVersionId::new(id(2)),
            previous_version: None,
            artifact_digest: String::new(),
            tenant_id: TenantId::new(id(3)),
            project_id: ProjectId::new(id(4)),
            state,
            target_allocation_id: AllocationId::new(id(5)),
            node_id: node(),
            operating_mode: OperatingMode::default(),
            control_plane_scope: ControlPlaneScope::default(),
            runtime_backend: RuntimeBackend::LaunchableOci,
            tenant_boundary_mode: String::new(),
            execution_engine: String::new(),
            revision_id: RevisionId::new(id(6)),
            access_epoch: 1,
            requested_by_kind: "user".into(),
            requested_by_id: String::new(),
            created_at: at(),
            version: 1,
            updated_at: at(),
        }
    }

    fn moved(instance: &Instance, event: Event) -> Instance {
        let (state, _) = apply(instance.state.clone(), event, at()).unwrap();
        Instance { state, ..instance.clone() }
    }

    /// K-08, attack 21: a key is for one node and one generation, and only while that is meant to run.
    #[test]
    fn a_key_is_for_the_launch_that_stands() {
        let instance = sample();
        assert!(may_register(&instance, node(), 1));
        assert!(!may_register(&instance, NodeId::new(Uuid::from_u128(1)), 1), "another node");
        assert!(!may_register(&instance, node(), 0), "an older generation");
        assert!(!may_register(&instance, node(), 2), "a generation nobody asked for");
        for ended in [moved(&instance, Event::Stop), moved(&instance, Event::Decommission)] {
            assert!(!may_register(&ended, node(), ended.state.desired), "{:?}", ended.state.status);
        }
    }

    /// K-09, A07: whatever ends or replaces a launch ends what its key may say.
    #[test]
    fn a_key_speaks_until_the_instance_is_to_end() {
        let instance = sample();
        let identity = identity(&instance);
        assert!(speaks_for(&identity, &instance, key()));
        assert!(!speaks_for(&identity, &instance, KeyId::new(Uuid::from_u128(1))), "a former key");
        let other = Instance { id: InstanceId::new(Uuid::from_u128(99)), ..instance.clone() };
        assert!(!speaks_for(&identity, &other, key()), "another instance");
        for event in [Event::Stop, Event::Decommission, Event::ForceDecommission, Event::NodeForgotten] {
            assert!(!speaks_for(&identity, &moved(&instance, event.clone()), key()), "{event:?}");
        }
    }

    #[test]
    fn the_names_of_instances_accounts_are_kept_for_them() {
        let id = InstanceId::new(Uuid::from_u128(5));
        assert!(is_reserved_name(&account_name(id)));
        for free in
            ["instance-1", "instance-", "an instance", "Instance-00000000-0000-0000-0000-000000000005"]
        {
            assert!(!is_reserved_name(free), "{free}");
        }
    }
}
