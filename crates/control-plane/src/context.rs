//! One call: who makes it, for which route, in which story; and the permits and transactions it gets.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use gpuaas_domain::event::{Change, ObjectRef};
use gpuaas_domain::iam::{self, Actor, Denial, Grant, Permission, Permit, Scope};
use gpuaas_domain::identity::{ServiceAccount, User};
use gpuaas_domain::ids::{
    AuditId, EventId, InstanceId, KeyId, NodeId, PersonalTokenId, ProjectId, SessionId, TenantId, UserId,
};
use gpuaas_domain::standing::Standing;
use gpuaas_domain::{Error, Kind, Result, Timestamp};
use gpuaas_store::idempotency::Record;
use gpuaas_store::{Stamp, Tx};

use crate::plane::ControlPlane;

/// How a caller proved who they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Credential {
    Session(SessionId),
    PersonalToken(PersonalTokenId),
    ServiceAccountToken(KeyId),
    NodeToken,
    /// An instance speaking for itself, and the key that bought the token.
    InstanceToken {
        instance: InstanceId,
        key: KeyId,
    },
}

/// A caller we know, with everything they hold at this moment.
#[derive(Clone, Debug)]
pub struct Known {
    pub actor: Actor,
    pub grants: Vec<Grant>,
    pub credential: Credential,
    pub expires_at: Timestamp,
    pub user: Option<User>,
    pub account: Option<ServiceAccount>,
}

#[derive(Clone, Debug)]
pub enum Caller {
    Anonymous,
    Known(Box<Known>),
}

/// The story a call belongs to: its correlation id and trace.
#[derive(Clone, Debug)]
pub struct Origin {
    pub correlation_id: String,
    pub trace_id: String,
}

/// What the table of routes says about the route being called.
#[derive(Clone, Copy, Debug)]
pub struct RouteFacts {
    pub name: &'static str,
    /// The only permission this call may ask for.
    pub permission: Option<Permission>,
    pub action: &'static str,
}

/// The place a call speaks about, before anybody has looked whether it exists.
#[derive(Clone, Copy, Debug)]
pub enum Target {
    Platform,
    Tenant(TenantId),
    Project(ProjectId),
}

#[derive(Clone)]
pub struct OpContext {
    pub plane: Arc<ControlPlane>,
    pub caller: Caller,
    pub origin: Origin,
    pub route: RouteFacts,
    /// The version the caller expects to change, from `If-Match`.
    pub if_match: Option<i64>,
    /// What the door already decided for this route, so that nothing of the request is looked at before.
    pub granted: Option<Permit>,
    /// Whether a refusal of this call is in the trail already.
    pub denial: Arc<AtomicBool>,
}

/// A change that is ready but not committed: whoever answers the caller commits it together with the answer.
#[must_use = "a prepared change has no effect until it is committed"]
pub struct Prepared<T> {
    pending: Pending,
    outcome: T,
}

/// The transaction and the change it waits to be committed with.
#[must_use = "a pending change has no effect until it is committed"]
pub struct Pending {
    tx: Tx,
    change: Change,
}

impl Pending {
    pub async fn commit(self, record: Option<Record>) -> Result<()> {
        self.tx.commit(self.change, record).await
    }
}

impl<T> Prepared<T> {
    pub fn new(tx: Tx, change: Change, outcome: T) -> Self {
        Self { pending: Pending { tx, change }, outcome }
    }

    pub fn map<U>(self, f: impl FnOnce(T) -> U) -> Prepared<U> {
        Prepared { pending: self.pending, outcome: f(self.outcome) }
    }

    pub fn into_parts(self) -> (Pending, T) {
        (self.pending, self.outcome)
    }

    pub async fn commit(self, record: Option<Record>) -> Result<T> {
        self.pending.commit(record).await?;
        Ok(self.outcome)
    }
}

impl OpContext {
    pub fn now(&self) -> Timestamp {
        self.plane.now()
    }

    pub fn stamp(&self) -> Stamp {
        Stamp {
            at: self.now(),
            correlation_id: self.origin.correlation_id.clone(),
            trace_id: self.origin.trace_id.clone(),
            audit_id: AuditId::new(self.plane.new_uuid()),
            event_id: EventId::new(self.plane.new_uuid()),
        }
    }

    pub async fn begin(&self, permit: &Permit) -> Result<Tx> {
        self.plane.store.begin(permit, self.stamp()).await
    }

    /// The caller, or 401.
    pub fn known(&self) -> Result<&Known> {
        match &self.caller {
            Caller::Known(known) => Ok(known),
            Caller::Anonymous => Err(Error::unauthenticated(
                "unauthenticated",
                "Sign in first: this needs a session or a token.",
            )),
        }
    }

    /// The person calling; machines are refused.
    pub async fn person(&self) -> Result<UserId> {
        let known = self.known()?;
        match known.actor {
            Actor::User(user) => Ok(user),
            Actor::ServiceAccount(_) | Actor::Node(_) | Actor::System(_) => {
                let refusal = Error::forbidden(
                    "human_actor_required",
                    "A service account cannot do this; a person has to.",
                );
                self.record_denial(Scope::Platform, ObjectRef::new("account", known.actor.id()), &refusal)
                    .await?;
                Err(refusal)
            }
        }
    }

    /// The node calling; only routes for nodes get here.
    pub fn node(&self) -> Result<NodeId> {
        match self.known()?.actor {
            Actor::Node(node) => Ok(node),
            Actor::User(_) | Actor::ServiceAccount(_) | Actor::System(_) => Err(Error::not_found()),
        }
    }

    /// The instance calling, and its key; only routes for instances get here.
    pub fn instance(&self) -> Result<(InstanceId, KeyId)> {
        match self.known()?.credential {
            Credential::InstanceToken { instance, key } => Ok((instance, key)),
            Credential::Session(_)
            | Credential::PersonalToken(_)
            | Credential::ServiceAccountToken(_)
            | Credential::NodeToken => Err(Error::not_found()),
        }
    }

    /// The instance in the path must be the one that calls: another one looks missing, as everywhere.
    pub async fn permit_own_instance(&self, id: InstanceId) -> Result<()> {
        let (own, _) = self.instance()?;
        if own == id {
            return Ok(());
        }
        self.refuse_invisible(ObjectRef::new("app_instance", id)).await.map(drop)
    }

    /// The same call as if it had come by the route that needs this permission: for aliases, which learn only from the
    /// object which project they speak about.
    #[must_use]
    pub fn asking_for(&self, permission: Permission) -> Self {
        let mut context = self.clone();
        context.route.permission = Some(permission);
        context.granted = None;
        context
    }

    /// The permit of the door, if it is for exactly this.
    fn granted(&self, permission: Permission, is_target: impl FnOnce(Scope) -> bool) -> Option<Permit> {
        self.granted
            .clone()
            .filter(|permit| permit.permission() == Some(permission) && is_target(permit.scope()))
    }

    pub async fn permit_at(&self, permission: Permission, target: Target) -> Result<Permit> {
        match target {
            Target::Platform => self.permit_platform(permission).await,
            Target::Tenant(id) => self.permit_tenant(permission, id).await,
            Target::Project(id) => self.permit_project(permission, id).await,
        }
    }

    pub async fn permit_platform(&self, permission: Permission) -> Result<Permit> {
        if let Some(permit) = self.granted(permission, |scope| scope == Scope::Platform) {
            return Ok(permit);
        }
        self.decide(permission, Scope::Platform, ObjectRef::new("platform", self.plane.platform_id)).await
    }

    pub async fn permit_tenant(&self, permission: Permission, id: TenantId) -> Result<Permit> {
        if let Some(permit) = self.granted(permission, |scope| scope == Scope::Tenant(id)) {
            return Ok(permit);
        }
        let known = self.known()?;
        let object = ObjectRef::new("tenant", id);
        let standing = self.plane.store.read().await?.locate_tenant(id).await?;
        let Some(standing) = standing.filter(|standing| *standing != Standing::Tombstone) else {
            return self.refuse_missing(object).await;
        };
        let permit = self.decide(permission, Scope::Tenant(id), object.clone()).await?;
        let may_mend = permission.is_read() || permission == Permission::TenantManage;
        self.check_standing(known, standing, Scope::Platform, may_mend, "tenant", permit, object).await
    }

    pub async fn permit_project(&self, permission: Permission, id: ProjectId) -> Result<Permit> {
        if let Some(permit) = self.granted(permission, |scope| scope.project() == Some(id)) {
            return Ok(permit);
        }
        let known = self.known()?;
        let object = ObjectRef::new("project", id);
        let located = self.plane.store.read().await?.locate_project(id).await?;
        let Some(located) = located.filter(|located| located.project != Standing::Tombstone) else {
            return self.refuse_missing(object).await;
        };
        let permit = self.decide(permission, located.scope, object.clone()).await?;
        // How open an endpoint is can be taken back in what is suspended; nothing there is open meanwhile.
        let may_mend = permission.is_read()
            || matches!(permission, Permission::ProjectManage | Permission::InstanceExpose);
        let permit = self
            .check_standing(
                known,
                located.tenant,
                Scope::Platform,
                may_mend,
                "tenant",
                permit,
                object.clone(),
            )
            .await?;
        let tenant = located.scope.tenant().map_or(Scope::Platform, Scope::Tenant);
        self.check_standing(known, located.project, tenant, may_mend, "project", permit, object).await
    }

    /// Suspended means refused, except for those above it who look after it.
    #[expect(
        clippy::too_many_arguments,
        reason = "two callers, and the arguments are what the rule speaks about"
    )]
    async fn check_standing(
        &self,
        known: &Known,
        standing: Standing,
        keeper: Scope,
        may_mend: bool,
        what: &'static str,
        permit: Permit,
        object: ObjectRef,
    ) -> Result<Permit> {
        if standing.is_active()
            || (may_mend
                && known.grants.iter().any(|grant| {
                    grant.scope.covers(keeper)
                        && permit.permission().is_some_and(|used| grant.permissions.contains(&used))
                }))
        {
            return Ok(permit);
        }
        let advice = match standing {
            Standing::Suspended => "ask its admin to resume it",
            Standing::Active | Standing::Deleting | Standing::Tombstone => {
                "nothing can be done in it any more"
            }
        };
        let sentence = format!("The {what} is {}; {advice}.", standing.name());
        let refusal = if what == "tenant" {
            Error::forbidden("tenant_suspended", sentence)
        } else {
            Error::forbidden("project_suspended", sentence)
        };
        let refusal = refusal.with_param("state", standing.name());
        self.record_denial(permit.scope(), object, &refusal).await?;
        Err(refusal)
    }

    async fn decide(&self, permission: Permission, scope: Scope, object: ObjectRef) -> Result<Permit> {
        let known = self.known()?;
        if self.route.permission != Some(permission) {
            return Err(Error::internal(format!(
                "route {} declares {:?} but its operation asks for {permission}",
                self.route.name, self.route.permission
            )));
        }
        match iam::decide(known.actor, &known.grants, permission, scope) {
            Ok(permit) => {
                let span = tracing::Span::current();
                if let Some(tenant) = scope.tenant() {
                    span.record("org_id", tracing::field::display(tenant));
                }
                if let Some(project) = scope.project() {
                    span.record("project_id", tracing::field::display(project));
                }
                Ok(permit)
            }
            Err(Denial::Invisible) => self.refuse_invisible(object).await,
            Err(denial) => {
                let refusal = denial.into_error();
                self.record_denial(scope, object, &refusal).await?;
                Err(refusal)
            }
        }
    }

    /// For those who see the whole platform a missing object is just that, and no denial.
    async fn refuse_missing(&self, object: ObjectRef) -> Result<Permit> {
        if self.known()?.grants.iter().any(|grant| grant.scope == Scope::Platform) {
            return Err(Error::not_found());
        }
        self.refuse_invisible(object).await
    }

    /// Missing and foreign take the same way, at the same cost, into the platform's trail: the other tenant's
    /// trail must not tell that somebody asked, nor this one that there is something to ask about.
    async fn refuse_invisible(&self, object: ObjectRef) -> Result<Permit> {
        let refusal = Error::not_found();
        self.record_denial(Scope::Platform, object, &refusal).await?;
        Err(refusal)
    }

    async fn record_denial(&self, scope: Scope, object: ObjectRef, refusal: &Error) -> Result<()> {
        let known = self.known()?;
        self.denial.store(true, Ordering::SeqCst);
        self.plane
            .store
            .record_denial(&self.stamp(), known.actor, scope, self.route.action, object, refusal)
            .await
    }

    /// Puts a refusal of a known caller into the trail, if the rule that refused did not do so itself.
    pub async fn ensure_denial_recorded(&self, refusal: &Error) -> Result<()> {
        if refusal.kind() != Kind::Forbidden
            || matches!(self.caller, Caller::Anonymous)
            || self.denial.load(Ordering::SeqCst)
        {
            return Ok(());
        }
        let scope = self.granted.as_ref().map_or(Scope::Platform, Permit::scope);
        self.record_denial(scope, ObjectRef::new("route", self.route.name), refusal).await
    }

    /// Refuses to change what the caller has not seen.
    pub fn check_version(&self, version: i64) -> Result<()> {
        match self.if_match {
            Some(expected) if expected != version => Err(Error::stale().with_param("version", version)),
            Some(_) | None => Ok(()),
        }
    }
}
