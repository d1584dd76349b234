//! Who may do what, where.
//!
//! A *role* is a set of *permissions*; a *grant* is a role given to a principal at a *scope* (platform, tenant or
//! project). [`decide`] is the only way to obtain a [`Permit`], and nothing is written or read for a caller
//! without one: no bypass exists because no other constructor does.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::ids::{BindingId, NodeId, ProjectId, RoleId, ServiceAccountId, TenantId, UserId};
use crate::{Error, Result};

macro_rules! permissions {
    ($($variant:ident = $key:literal, $about:literal;)*) => {
        /// One thing that can be allowed. The key is what roles hold and people read; it never changes.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema)]
        pub enum Permission {
            $(#[doc = $about] #[serde(rename = $key)] $variant,)*
        }

        impl Permission {
            pub const ALL: &'static [Permission] = &[$(Permission::$variant),*];

            pub fn key(self) -> &'static str {
                match self { $(Permission::$variant => $key),* }
            }

            pub fn about(self) -> &'static str {
                match self { $(Permission::$variant => $about),* }
            }
        }
    };
}

permissions! {
    MetricsRead = "platform.metrics.read", "Read the platform's metrics.";
    TenantCreate = "tenants.create", "Create tenants.";
    TenantRead = "tenants.read", "See a tenant.";
    TenantUpdate = "tenants.update", "Rename a tenant.";
    TenantManage = "tenants.manage", "Suspend, resume and delete a tenant.";
    ProjectCreate = "projects.create", "Create projects in a tenant.";
    ProjectRead = "projects.read", "See a project.";
    ProjectUpdate = "projects.update", "Rename a project.";
    ProjectManage = "projects.manage", "Suspend, resume and delete a project.";
    UserRead = "users.read", "See the people of the platform.";
    UserManage = "users.manage", "Create, change, suspend and delete people's accounts.";
    RoleManage = "roles.manage", "Create, change and delete custom roles.";
    BindingRead = "bindings.read", "See who holds which role.";
    BindingManage = "bindings.manage", "Give and take roles, up to one's own permissions.";
    ServiceAccountRead = "service_accounts.read", "See a project's service accounts.";
    ServiceAccountManage = "service_accounts.manage", "Create, disable, rotate and delete service accounts.";
    LimitRead = "limits.read", "See limits.";
    LimitManage = "limits.manage", "Set limits.";
    AuditRead = "audit.read", "Read audit rows.";
    AuditVerify = "audit.verify", "Check the hash chains of audit rows and events.";
    EventRead = "events.read", "Read events.";
    NodeRead = "nodes.read", "See nodes.";
    NodeManage = "nodes.manage", "Let machines join, cordon, drain, revoke and forget nodes.";
    SkuManage = "skus.manage", "Create, price and retire SKUs.";
    AllocationRead = "allocations.read", "See a project's allocations.";
    AllocationRequest = "allocations.request", "Ask for allocations and release them.";
    AllocationGrant = "allocations.grant", "Grant and turn down requests for allocations.";
    VolumeRead = "volumes.read", "See a project's volumes and what uses them.";
    VolumeCreate = "volumes.create", "Create volumes in a project.";
    VolumeDelete = "volumes.delete", "Delete a project's volumes with everything in them.";
    AppPublish = "apps.publish", "Register versions of apps and move them on the ladder.";
    ArtifactRead = "apps.artifacts.read", "See a project's artifacts and pull from its repositories.";
    ArtifactPublish = "apps.artifacts.publish", "Push images to a project's repositories and register them.";
    ArtifactPromote = "apps.artifacts.promote", "Promote artifacts from channel to channel.";
    ArtifactManage = "apps.artifacts.manage", "Verify, revoke, deprecate and retire artifacts; say who sees a repository.";
    TrustKeyRead = "apps.trust_keys.read", "See the keys that may stand for images.";
    TrustKeyManage = "apps.trust_keys.manage", "Add and revoke keys that may stand for images.";
    EntitlementRead = "apps.entitlements.read", "See what a tenant or project may launch.";
    EntitlementManage = "apps.entitlements.manage", "Allow a tenant or project to launch an app; inside a project, narrow it.";
    InstanceAccess = "apps.instance.access", "Open app instances: read their logs, reach their ports.";
    InstanceForce = "apps.instance.force", "End an app instance without its node's word.";
    InstanceRead = "apps.instance.read", "See app instances.";
    InstanceInspect = "apps.instance.inspect", "See what the engine of an instance was given, with secrets masked.";
    InstanceCreate = "apps.instance.create", "Launch app instances.";
    InstanceDelete = "apps.instance.delete", "Stop and decommission app instances.";
    InstanceExpose = "apps.instance.expose", "Open an app's public endpoint to holders of its key, or to everybody.";
    InstanceUpgrade = "apps.instance.upgrade", "Upgrade app instances.";
    InstanceRollback = "apps.instance.rollback", "Roll app instances back.";
}

impl Permission {
    pub fn parse(key: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|permission| permission.key() == key)
    }

    /// Looking, not changing.
    pub fn is_read(self) -> bool {
        self == Self::AuditVerify || self.key().rsplit_once('.').is_some_and(|(_, verb)| verb == "read")
    }

    /// Work that needs a person behind it; a service account is refused whatever its roles say.
    pub fn needs_human(self) -> bool {
        use Permission as P;
        matches!(
            self,
            P::ServiceAccountRead
                | P::ServiceAccountManage
                | P::BindingManage
                | P::RoleManage
                | P::UserManage
                | P::TenantCreate
                | P::TenantManage
                | P::ProjectCreate
                | P::ProjectManage
                | P::LimitManage
                | P::NodeManage
                | P::SkuManage
                | P::AllocationGrant
                | P::AppPublish
                | P::ArtifactManage
                | P::TrustKeyManage
                | P::EntitlementRead
                | P::EntitlementManage
                | P::InstanceExpose
        )
    }
}

impl std::fmt::Display for Permission {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.key())
    }
}

/// The roles every platform has. Their permissions live here, not in the database, so that an upgrade that adds
/// a permission reaches every platform at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BuiltinRole {
    PlatformAdmin,
    TenantAdmin,
    ProjectAdmin,
    AppOperator,
    ProjectUser,
    App,
}

impl BuiltinRole {
    pub const ALL: [Self; 6] = [
        Self::PlatformAdmin,
        Self::TenantAdmin,
        Self::ProjectAdmin,
        Self::AppOperator,
        Self::ProjectUser,
        Self::App,
    ];

    pub fn slug(self) -> &'static str {
        match self {
            Self::PlatformAdmin => "platform-admin",
            Self::TenantAdmin => "tenant-admin",
            Self::ProjectAdmin => "project-admin",
            Self::AppOperator => "app-operator",
            Self::ProjectUser => "project-user",
            Self::App => "app",
        }
    }

    pub fn title(self) -> &'static str {
        match self {
            Self::PlatformAdmin => "Platform admin",
            Self::TenantAdmin => "Tenant admin",
            Self::ProjectAdmin => "Project admin",
            Self::AppOperator => "App operator",
            Self::ProjectUser => "Project user",
            Self::App => "App (an instance's own identity)",
        }
    }

    /// Fixed, so that bindings survive export and import and never depend on insertion order.
    pub fn id(self) -> RoleId {
        let number = match self {
            Self::PlatformAdmin => 1,
            Self::TenantAdmin => 2,
            Self::ProjectAdmin => 3,
            Self::AppOperator => 4,
            Self::ProjectUser => 5,
            Self::App => 6,
        };
        RoleId::new(uuid::Uuid::from_u128(0x0000_0000_0000_7000_8000_0000_0000_0000 | number))
    }

    pub fn by_id(id: RoleId) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.id() == id)
    }

    pub fn permissions(self) -> BTreeSet<Permission> {
        use Permission as P;
        let list: &[P] = match self {
            Self::PlatformAdmin => P::ALL,
            Self::TenantAdmin => &[
                P::TenantRead,
                P::TenantUpdate,
                P::ProjectCreate,
                P::ProjectRead,
                P::ProjectUpdate,
                P::ProjectManage,
                P::BindingRead,
                P::BindingManage,
                P::ServiceAccountRead,
                P::ServiceAccountManage,
                P::LimitRead,
                P::AuditRead,
                P::EventRead,
                P::AllocationRead,
                P::AllocationRequest,
                P::VolumeRead,
                P::VolumeCreate,
                P::VolumeDelete,
                P::EntitlementRead,
                P::EntitlementManage,
                P::ArtifactRead,
                P::ArtifactPublish,
                P::ArtifactPromote,
                P::ArtifactManage,
                P::TrustKeyRead,
                P::TrustKeyManage,
                P::InstanceAccess,
                P::InstanceForce,
                P::InstanceRead,
                P::InstanceInspect,
                P::InstanceCreate,
                P::InstanceExpose,
                P::InstanceDelete,
                P::InstanceUpgrade,
                P::InstanceRollback,
            ],
            Self::ProjectAdmin => &[
                P::ProjectRead,
                P::ProjectUpdate,
                P::BindingRead,
                P::BindingManage,
                P::ServiceAccountRead,
                P::ServiceAccountManage,
                P::LimitRead,
                P::AuditRead,
                P::EventRead,
                P::AllocationRead,
                P::AllocationRequest,
                P::VolumeRead,
                P::VolumeCreate,
                P::VolumeDelete,
                P::EntitlementRead,
                P::EntitlementManage,
                P::ArtifactRead,
                P::ArtifactPublish,
                P::ArtifactPromote,
                P::ArtifactManage,
                P::TrustKeyRead,
                P::TrustKeyManage,
                P::InstanceAccess,
                P::InstanceForce,
                P::InstanceRead,
                P::InstanceInspect,
                P::InstanceCreate,
                P::InstanceExpose,
                P::InstanceDelete,
                P::InstanceUpgrade,
                P::InstanceRollback,
            ],
            Self::AppOperator => &[
                P::ProjectRead,
                P::LimitRead,
                P::EventRead,
                P::AllocationRead,
                P::AllocationRequest,
                P::VolumeRead,
                P::VolumeCreate,
                P::VolumeDelete,
                P::EntitlementRead,
                P::ArtifactRead,
                P::ArtifactPublish,
                P::ArtifactPromote,
                P::TrustKeyRead,
                P::InstanceAccess,
                P::InstanceRead,
                P::InstanceInspect,
                P::InstanceCreate,
                P::InstanceDelete,
                P::InstanceUpgrade,
                P::InstanceRollback,
            ],
            Self::ProjectUser => &[
                P::ProjectRead,
                P::LimitRead,
                P::EventRead,
                P::AllocationRead,
                P::AllocationRequest,
                P::VolumeRead,
                P::VolumeCreate,
                P::ArtifactRead,
                P::InstanceAccess,
                P::InstanceRead,
                P::InstanceCreate,
                P::InstanceDelete,
            ],
            Self::App => &[P::ProjectRead],
        };
        list.iter().copied().collect()
    }
}

/// Where a permission holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Scope {
    Platform,
    Tenant(TenantId),
    /// The tenant rides along so that a tenant-wide grant can be seen to cover it.
    Project(TenantId, ProjectId),
}

impl Scope {
    pub fn tenant(self) -> Option<TenantId> {
        match self {
            Self::Platform => None,
            Self::Tenant(tenant) | Self::Project(tenant, _) => Some(tenant),
        }
    }

    pub fn project(self) -> Option<ProjectId> {
        match self {
            Self::Project(_, project) => Some(project),
            Self::Platform | Self::Tenant(_) => None,
        }
    }

    /// Whether something given at `self` also holds at `other`.
    pub fn covers(self, other: Self) -> bool {
        match self {
            Self::Platform => true,
            Self::Tenant(tenant) => other.tenant() == Some(tenant),
            Self::Project(..) => self == other,
        }
    }

    pub fn kind(self) -> &'static str {
        match self {
            Self::Platform => "platform",
            Self::Tenant(_) => "tenant",
            Self::Project(..) => "project",
        }
    }
}

/// Who is calling, after authentication.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Actor {
    User(UserId),
    ServiceAccount(ServiceAccountId),
    /// A node, speaking about itself.
    Node(NodeId),
    /// The platform itself: first start, reconcilers, operator commands on the server's own machine.
    System(&'static str),
}

impl Actor {
    pub fn kind(self) -> &'static str {
        match self {
            Self::User(_) => "user",
            Self::ServiceAccount(_) => "service_account",
            Self::Node(_) => "node",
            Self::System(_) => "system",
        }
    }

    /// The id as text, or the name of the part of the platform.
    pub fn id(self) -> String {
        match self {
            Self::User(id) => id.to_string(),
            Self::ServiceAccount(id) => id.to_string(),
            Self::Node(id) => id.to_string(),
            Self::System(part) => part.to_owned(),
        }
    }

    pub fn is_human(self) -> bool {
        matches!(self, Self::User(_))
    }
}

/// A role held at a scope, with the permissions it means now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    pub binding: BindingId,
    pub role: RoleId,
    pub role_slug: String,
    pub scope: Scope,
    pub permissions: BTreeSet<Permission>,
}

/// Proof that an actor may use a permission at a scope. Only [`decide`] and [`Permit::system`] make one.
#[derive(Clone, Debug)]
pub struct Permit {
    actor: Actor,
    permission: Option<Permission>,
    scope: Scope,
    held: BTreeSet<Permission>,
}

impl Permit {
    /// The platform's own authority. `part` is named in the audit row.
    pub fn system(part: &'static str, scope: Scope) -> Self {
        Self {
            actor: Actor::System(part),
            permission: None,
            scope,
            held: Permission::ALL.iter().copied().collect(),
        }
    }

    /// What a signed-in person may always do to their own account.
    pub fn own_account(actor: Actor) -> Self {
        Self { actor, permission: None, scope: Scope::Platform, held: BTreeSet::new() }
    }

    pub fn actor(&self) -> Actor {
        self.actor
    }

    pub fn scope(&self) -> Scope {
        self.scope
    }

    pub fn permission(&self) -> Option<Permission> {
        self.permission
    }

    /// Which rows this permit lets a query see.
    pub fn tenant_scope(&self) -> TenantScope {
        TenantScope(self.scope)
    }

    /// Nobody hands out what they do not hold themselves.
    pub fn check_may_grant(&self, wanted: &BTreeSet<Permission>) -> Result<()> {
        let lacking: Vec<_> = wanted.difference(&self.held).map(|permission| permission.key()).collect();
        if lacking.is_empty() {
            return Ok(());
        }
        Err(Error::forbidden(
            "cannot_grant_more_than_own",
            "You can only give roles whose permissions you hold yourself at this scope.",
        )
        .with_param("lacking", lacking))
    }
}

/// The part of the data a query may touch. Every query of `store` that serves a caller takes one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TenantScope(Scope);

impl TenantScope {
    pub fn scope(self) -> Scope {
        self.0
    }

    pub fn tenant(self) -> Option<TenantId> {
        self.0.tenant()
    }

    pub fn project(self) -> Option<ProjectId> {
        self.0.project()
    }
}

/// Why a call was not permitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Denial {
    /// The caller may not even know that the target exists.
    Invisible,
    /// The caller sees the target but lacks the permission.
    Lacking(Permission),
    /// The caller is a machine and this needs a person.
    HumanRequired(Permission),
}

impl Denial {
    pub fn into_error(self) -> Error {
        match self {
            Self::Invisible => Error::not_found(),
            Self::Lacking(permission) => Error::forbidden(
                "permission_denied",
                format!("This needs the permission {permission}; ask an admin of this scope for a role that has it."),
            )
            .with_param("permission", permission.key()),
            Self::HumanRequired(permission) => Error::forbidden(
                "human_actor_required",
                "A service account cannot do this; a person with the permission has to.",
            )
            .with_param("permission", permission.key()),
        }
    }
}

/// The one decision about permissions.
pub fn decide(
    actor: Actor,
    grants: &[Grant],
    permission: Permission,
    target: Scope,
) -> Result<Permit, Denial> {
    let covering = || grants.iter().filter(|grant| grant.scope.covers(target));
    let visible = match target {
        Scope::Platform => true,
        // A role anywhere inside a tenant lets its holder know that the tenant exists.
        Scope::Tenant(tenant) => {
            grants.iter().any(|grant| grant.scope == Scope::Platform || grant.scope.tenant() == Some(tenant))
        }
        Scope::Project(..) => covering().next().is_some(),
    };
    if !visible {
        return Err(Denial::Invisible);
    }
    if permission.needs_human() && !actor.is_human() {
        return Err(Denial::HumanRequired(permission));
    }
    let held: BTreeSet<_> = covering().flat_map(|grant| grant.permissions.iter().copied()).collect();
    if !held.contains(&permission) {
        return Err(Denial::Lacking(permission));
    }
    Ok(Permit { actor, permission: Some(permission), scope: target, held })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn id(n: u128) -> uuid::Uuid {
        uuid::Uuid::from_u128(n)
    }

    fn tenant(n: u128) -> TenantId {
        TenantId::new(id(n))
    }

    fn grant(role: BuiltinRole, scope: Scope) -> Grant {
        Grant {
            binding: BindingId::new(id(0)),
            role: role.id(),
            role_slug: role.slug().into(),
            scope,
            permissions: role.permissions(),
        }
    }

    fn user() -> Actor {
        Actor::User(UserId::new(id(1)))
    }

    /// K-02: the six roles exist, are told apart by their ids, and only the platform admin holds everything.
    #[test]
    fn builtin_roles_are_distinct_sets() {
        for role in BuiltinRole::ALL {
            assert_eq!(BuiltinRole::by_id(role.id()), Some(role));
            assert_eq!(
                role.permissions().len() == Permission::ALL.len(),
                role == BuiltinRole::PlatformAdmin,
                "{role:?}"
            );
        }
    }

    /// K-03: the operator path is guarded by these keys, spelled exactly so.
    #[test]
    fn the_operator_role_holds_the_instance_keys() {
        let held = BuiltinRole::AppOperator.permissions();
        for key in ["read", "create", "delete", "upgrade", "rollback"] {
            let permission = Permission::parse(&format!("apps.instance.{key}")).unwrap();
            assert!(held.contains(&permission));
        }
    }

    #[test]
    fn a_foreign_project_is_invisible_and_an_own_one_only_forbidden() {
        let own = Scope::Project(tenant(10), ProjectId::new(id(11)));
        let sibling = Scope::Project(tenant(10), ProjectId::new(id(12)));
        let foreign = Scope::Project(tenant(20), ProjectId::new(id(21)));
        let grants = [grant(BuiltinRole::ProjectUser, own)];
        let ask = |scope| decide(user(), &grants, Permission::ProjectUpdate, scope).unwrap_err();
        assert_eq!(ask(own), Denial::Lacking(Permission::ProjectUpdate));
        assert_eq!(ask(sibling), Denial::Invisible);
        assert_eq!(ask(foreign), Denial::Invisible);
        assert_eq!(ask(Scope::Tenant(tenant(10))), Denial::Lacking(Permission::ProjectUpdate));
        assert_eq!(ask(Scope::Tenant(tenant(20))), Denial::Invisible);
    }

    /// T-11, K-11: a service account with every permission is still refused what needs a person.
    #[test]
    fn a_machine_cannot_administer_accounts() {
        let scope = Scope::Project(tenant(10), ProjectId::new(id(11)));
        let machine = Actor::ServiceAccount(ServiceAccountId::new(id(5)));
        let grants = [grant(BuiltinRole::PlatformAdmin, Scope::Platform)];
        for permission in
            [Permission::ServiceAccountManage, Permission::ServiceAccountRead, Permission::BindingManage]
        {
            assert_eq!(
                decide(machine, &grants, permission, scope).unwrap_err(),
                Denial::HumanRequired(permission)
            );
        }
        assert!(decide(machine, &grants, Permission::InstanceCreate, scope).is_ok());
    }

    fn any_scope() -> impl Strategy<Value = Scope> {
        prop_oneof![
            Just(Scope::Platform),
            (1u128..4).prop_map(|t| Scope::Tenant(tenant(t))),
            (1u128..4, 1u128..4).prop_map(|(t, p)| Scope::Project(tenant(t), ProjectId::new(id(t * 10 + p)))),
        ]
    }

    fn any_grant() -> impl Strategy<Value = Grant> {
        (proptest::sample::select(BuiltinRole::ALL.to_vec()), any_scope())
            .prop_map(|(role, scope)| grant(role, scope))
    }

    proptest! {
        /// A permit exists exactly when one grant that covers the target holds the permission.
        #[test]
        fn permits_follow_from_grants_alone(
            grants in proptest::collection::vec(any_grant(), 0..4),
            target in any_scope(),
            permission in proptest::sample::select(Permission::ALL.to_vec()),
        ) {
            let expected = grants.iter().any(|g| g.scope.covers(target) && g.permissions.contains(&permission));
            prop_assert_eq!(decide(user(), &grants, permission, target).is_ok(), expected);
        }

        /// Nobody gains a permission he lacked by granting a role to himself (A10).
        #[test]
        fn granting_never_widens(
            grants in proptest::collection::vec(any_grant(), 0..4),
            target in any_scope(),
            role in proptest::sample::select(BuiltinRole::ALL.to_vec()),
        ) {
            if let Ok(permit) = decide(user(), &grants, Permission::BindingManage, target)
                && permit.check_may_grant(&role.permissions()).is_ok()
            {
                for permission in role.permissions() {
                    prop_assert!(decide(user(), &grants, permission, target).is_ok());
                }
            }
        }
    }
}
