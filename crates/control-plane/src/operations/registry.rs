//! The door of the registry: who may do what in which repository.
//!
//! Clients bring a password to the token server and get a token for one repository; the registry shows the token at each
//! request, and what its holder may do is looked up again each time. So a role that was taken away, a credential that was
//! revoked or an image that lost its trust count from the next byte on. The same tokens open a registry of another make,
//! which cannot look anything up: there they count until they end, some minutes later.

use gpuaas_agent_protocol::Digest;
use gpuaas_domain::artifact::{self, Repository, Visibility};
use gpuaas_domain::event::{Change, ObjectRef};
use gpuaas_domain::iam::{self, Actor, Denial, Grant, Permission, Permit, Scope};
use gpuaas_domain::ids::{RegistryCredentialId, ServiceAccountId, UserId, parse_uuid};
use gpuaas_domain::node::NodeStanding;
use gpuaas_domain::standing::Standing;
use gpuaas_domain::{Error, Kind, Result, Secret, Timestamp};
use gpuaas_store::Session;
use gpuaas_store::registry_access::{Purpose, StoredCredential};
use serde_json::json;

use super::authenticate;
use super::node_images::{may_run, stands};
use crate::OpContext;
use crate::context::Credential;
use crate::plane::ControlPlane;
use crate::registry::{AccessEntry, TokenClaims, Via};
use crate::tokens::{OpaqueKind, OpaqueToken};

/// A push also looks what is there, and may mount from one more repository.
const MAX_SCOPES: usize = 2;
const MAX_SCOPE_BYTES: usize = 1024;

/// What can be done in a repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    Pull,
    Push,
    Delete,
}

impl Action {
    pub fn name(self) -> &'static str {
        match self {
            Self::Pull => "pull",
            Self::Push => "push",
            Self::Delete => "delete",
        }
    }

    fn permission(self) -> Permission {
        match self {
            Self::Pull => Permission::ArtifactRead,
            Self::Push => Permission::ArtifactPublish,
            Self::Delete => Permission::ArtifactManage,
        }
    }
}

/// What the door says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    Allow {
        /// The one image; absent, all that the repository holds.
        image: Option<Digest>,
    },
    /// As if it were not there.
    Hide,
    Forbid,
}

/// Somebody at the registry's door, with what they hold at this moment.
struct Asker {
    via: Via,
    actor: Actor,
    grants: Vec<Grant>,
    /// All that a credential for one repository opens.
    credential: Option<StoredCredential>,
}

fn refuse_credentials(why: impl Into<String>) -> Error {
    Error::unauthenticated(
        "invalid_credentials",
        "The password is no personal token, no machine's token and no registry credential that is good now.",
    )
    .with_internal(why)
}

/// From a password to somebody we know.
async fn sign_in(plane: &ControlPlane, password: &str) -> Result<Asker> {
    if let Some(token) = OpaqueToken::parse(password)
        && token.kind == OpaqueKind::RegistryCredential
    {
        let id = RegistryCredentialId::new(token.id);
        let asker = recall(plane, Via::Credential(id)).await?;
        let asker = asker.ok_or_else(|| refuse_credentials("a credential that is not good"))?;
        let fits = asker.credential.as_ref().is_some_and(|known| token.fits(&known.secret_hash));
        return if fits { Ok(asker) } else { Err(refuse_credentials("a wrong secret")) };
    }
    let known = authenticate::bearer(plane, password).await.map_err(|error| match error.kind() {
        Kind::Unauthenticated => refuse_credentials(error.internal_text().unwrap_or_default().to_owned()),
        _ => error,
    })?;
    let via = match (known.credential, known.actor) {
        (Credential::PersonalToken(id), _) => Via::PersonalToken(id),
        (Credential::ServiceAccountToken(key), Actor::ServiceAccount(account)) => {
            Via::ServiceAccount { account, key }
        }
        _ => return Err(refuse_credentials("a credential of another kind")),
    };
    Ok(Asker { via, actor: known.actor, grants: known.grants, credential: None })
}

/// Who is behind a token, if they are still good for anything. Nodes and the platform have ways of their own.
async fn recall(plane: &ControlPlane, via: Via) -> Result<Option<Asker>> {
    let mut session = plane.store.read().await?;
    let now = plane.now();
    let found = match via {
        Via::PersonalToken(id) => session
            .find_personal_token(id)
            .await?
            .filter(|holder| now < holder.expires_at && holder.user.state == Standing::Active)
            .map(|holder| (Actor::User(holder.user.id), holder.grants)),
        Via::ServiceAccount { account, key } => {
            let key = session.find_account_key(key).await?;
            if key.is_some_and(|key| key.service_account_id == account && key.is_valid(now)) {
                machine(&mut session, account).await?
            } else {
                None
            }
        }
        Via::Credential(id) => {
            let Some(credential) = session.find_registry_credential(id).await? else { return Ok(None) };
            if credential.revoked_at.is_some() || now >= credential.expires_at {
                return Ok(None);
            }
            // It ends with what it was asked for with.
            let alive = match credential.personal_token_id {
                Some(id) => {
                    session.find_personal_token(id).await?.is_some_and(|holder| now < holder.expires_at)
                }
                None => true,
            };
            if !alive {
                return Ok(None);
            }
            let holder = parse_uuid(&credential.actor_id);
            let found = match (credential.actor_kind.as_str(), holder) {
                ("user", Some(id)) => person(&mut session, UserId::new(id)).await?,
                ("service_account", Some(id)) => machine(&mut session, ServiceAccountId::new(id)).await?,
                _ => None,
            };
            return Ok(found.map(|(actor, grants)| Asker {
                via,
                actor,
                grants,
                credential: Some(credential),
            }));
        }
        Via::Node { .. } | Via::Platform => None,
    };
    Ok(found.map(|(actor, grants)| Asker { via, actor, grants, credential: None }))
}

async fn person(session: &mut Session, id: UserId) -> Result<Option<(Actor, Vec<Grant>)>> {
    let user = session.find_user(id).await?.filter(|user| user.state == Standing::Active);
    if user.is_none() {
        return Ok(None);
    }
    Ok(Some((Actor::User(id), session.list_grants(id.uuid()).await?)))
}

async fn machine(session: &mut Session, id: ServiceAccountId) -> Result<Option<(Actor, Vec<Grant>)>> {
    let anywhere = Permit::system("registry", Scope::Platform).tenant_scope();
    let Some(account) = session.find_service_account(anywhere, id).await? else { return Ok(None) };
    match authenticate::check_account(session, &account).await {
        Ok(()) => Ok(Some((Actor::ServiceAccount(id), session.list_grants(id.uuid()).await?))),
        Err(error) if error.kind() == Kind::Unauthenticated => Ok(None),
        Err(error) => Err(error),
    }
}

/// Whether a grant of this kind lies in a place that is not suspended.
async fn is_member(session: &mut Session, grants: &[Grant], counts: impl Fn(&Grant) -> bool) -> Result<bool> {
    let anywhere = Permit::system("registry", Scope::Platform).tenant_scope();
    for grant in grants.iter().filter(|grant| counts(grant)) {
        let active = match grant.scope {
            Scope::Platform => true,
            Scope::Tenant(tenant) => {
                session.find_tenant(anywhere, tenant).await?.is_some_and(|tenant| tenant.state.is_active())
            }
            Scope::Project(_, project) => session
                .locate_project(project)
                .await?
                .is_some_and(|located| located.project.is_active() && located.tenant.is_active()),
        };
        if active {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The one rule about repositories and people.
async fn decide(
    session: &mut Session,
    asker: &Asker,
    repository: &Repository,
    action: Action,
) -> Result<Answer> {
    let located = session.locate_project(repository.project_id).await?;
    let home = Scope::Project(repository.tenant_id, repository.project_id);
    let alive = located.is_some_and(|located| located.project.is_active() && located.tenant.is_active());
    let own = iam::decide(asker.actor, &asker.grants, action.permission(), home);
    let mut sees = iam::decide(asker.actor, &asker.grants, Permission::ArtifactRead, home).is_ok();
    if !sees {
        sees = match repository.visibility {
            Visibility::Platform => is_member(session, &asker.grants, |_| true).await?,
            Visibility::Tenant => {
                is_member(session, &asker.grants, |grant| {
                    grant.permissions.contains(&Permission::ArtifactRead)
                        && grant.scope.tenant() == home.tenant()
                })
                .await?
            }
            Visibility::Project => false,
        };
    }
    let invisible = matches!(own, Err(Denial::Invisible)) && !sees;
    let mut allowed = alive && (own.is_ok() || (action == Action::Pull && sees));
    let mut image = None;
    if let Some(credential) = &asker.credential {
        let purpose = match credential.purpose {
            Purpose::Publish => matches!(action, Action::Pull | Action::Push),
            Purpose::Pull => action == Action::Pull,
        };
        if credential.repository_id != repository.id {
            return Ok(Answer::Hide);
        }
        allowed = allowed && purpose;
        image.clone_from(&credential.digest);
    }
    Ok(match (allowed, invisible) {
        (true, _) => Answer::Allow { image },
        (false, true) => Answer::Hide,
        (false, false) => Answer::Forbid,
    })
}

/// Whether the holder of a token may do this in a repository, right now.
pub async fn check(
    plane: &ControlPlane,
    claims: &TokenClaims,
    repository: &str,
    action: Action,
) -> Result<Answer> {
    let names = &plane.registry().names;
    let Ok(path) = names.parse_repository(repository) else { return Ok(Answer::Hide) };
    match claims.via {
        Via::Platform => {
            return Ok(if action == Action::Pull { Answer::Allow { image: None } } else { Answer::Forbid });
        }
        Via::Node { node, instance, generation } => {
            let mut session = plane.store.read().await?;
            let Some(image) = claims.image.clone().filter(|_| action == Action::Pull) else {
                return Ok(Answer::Forbid);
            };
            let standing = session.find_node_key(node).await?;
            if standing.is_none_or(|(standing, _)| standing != NodeStanding::Active) {
                return Ok(Answer::Hide);
            }
            let anywhere = Permit::system("registry", Scope::Platform).tenant_scope();
            let instance = session.find_instance(anywhere, instance).await?;
            let Some(instance) = instance.filter(|found| stands(found, node.uuid(), generation)) else {
                return Ok(Answer::Hide);
            };
            let found = session.find_artifact_by_digest(&path, &image).await?;
            let good = found.is_some_and(|artifact| may_run(plane, &instance, &artifact).is_ok());
            return Ok(if good { Answer::Allow { image: Some(image) } } else { Answer::Hide });
        }
        Via::PersonalToken(_) | Via::ServiceAccount { .. } | Via::Credential(_) => {}
    }
    let Some(asker) = recall(plane, claims.via).await? else { return Ok(Answer::Hide) };
    let mut session = plane.store.read().await?;
    let Some(found) = session.find_repository_by_path(&path).await? else { return Ok(Answer::Hide) };
    decide(&mut session, &asker, &found, action).await
}

/// Whether a manifest may be deleted: not while an artifact that is not retired names it.
pub async fn may_delete(plane: &ControlPlane, repository: &str, digest: &Digest) -> Result<bool> {
    let Ok(path) = plane.registry().names.parse_repository(repository) else { return Ok(false) };
    let found = plane.store.read().await?.find_artifact_by_digest(&path, digest).await?;
    Ok(found.is_none_or(|artifact| artifact.state == artifact::ArtifactState::Retired))
}

/// The indexes of a repository that artifacts in use name: their children must not go either.
pub async fn live_indexes(plane: &ControlPlane, repository: &str) -> Result<Vec<Digest>> {
    let Ok(path) = plane.registry().names.parse_repository(repository) else { return Ok(Vec::new()) };
    plane.store.read().await?.list_live_indexes(&path).await
}

/// `repository:<name>:<actions>`.
fn parse_scope(text: &str) -> Option<(&str, Vec<Action>)> {
    if text.len() > MAX_SCOPE_BYTES {
        return None;
    }
    let rest = text.strip_prefix("repository:").or_else(|| text.strip_prefix("repository(plugin):"))?;
    let (name, actions) = rest.rsplit_once(':')?;
    let asks = |action: Action| actions.split(',').any(|asked| asked == "*" || asked == action.name());
    // Each once, however often it is asked for: what is decided must not tell by its time what is there.
    Some((name, [Action::Pull, Action::Push, Action::Delete].into_iter().filter(|one| asks(*one)).collect()))
}

/// A token and when it ends.
pub struct IssuedToken {
    pub token: Secret<String>,
    pub issued_at: Timestamp,
    pub expires_in_seconds: u32,
}

/// The token server. What is asked for and not allowed is left out of the token, as the protocol wants it.
pub async fn issue_token(
    ctx: &OpContext,
    password: &str,
    service: Option<&str>,
    scopes: &[String],
) -> Result<IssuedToken> {
    let plane = &ctx.plane;
    let door = plane.registry();
    if service.is_some_and(|service| service != door.service()) {
        return Err(Error::invalid(
            "unknown_service",
            format!("This platform gives tokens for {} only.", door.service()),
        ));
    }
    let asker = sign_in(plane, password).await?;
    let scopes: Vec<&str> = scopes.iter().flat_map(|scope| scope.split_whitespace()).collect();
    let mut access: Vec<AccessEntry> = Vec::new();
    let mut image = None;
    let mut writes = 0;
    for (name, wanted) in scopes.iter().filter_map(|scope| parse_scope(scope)).take(MAX_SCOPES) {
        let Ok(path) = door.names.parse_repository(name) else { continue };
        let mut session = plane.store.read().await?;
        let Some(repository) = session.find_repository_by_path(&path).await? else { continue };
        let mut actions = Vec::new();
        for action in wanted {
            // One repository to write to; a second one only to mount from.
            if action != Action::Pull && writes > 0 && !access.is_empty() {
                continue;
            }
            if let Answer::Allow { image: limit } = decide(&mut session, &asker, &repository, action).await? {
                actions.push(action.name().to_owned());
                image = image.or(limit);
                writes += usize::from(action != Action::Pull);
            }
        }
        if !actions.is_empty() {
            access.push(AccessEntry {
                kind: "repository".to_owned(),
                name: door.names.repository(&path),
                actions,
            });
        }
    }
    if let Some(credential) = &asker.credential
        && credential.first_used_at.is_none()
    {
        note_use(ctx, credential).await?;
    }
    let ttl = plane.settings.registry.token_ttl_seconds;
    let ttl = match &asker.credential {
        Some(credential) => ttl.min(credential.expires_at.seconds_since(plane.now()).max(1)),
        None => ttl,
    };
    let subject = format!("{}:{}", asker.actor.kind(), asker.actor.id());
    let (token, _) = plane.sign_registry_token(asker.via, subject, access, image, ttl).await?;
    Ok(IssuedToken {
        token,
        issued_at: plane.now(),
        expires_in_seconds: u32::try_from(ttl).unwrap_or(u32::MAX),
    })
}

/// The first use is in the trail; the rest of its life is bounded by its minutes.
async fn note_use(ctx: &OpContext, credential: &StoredCredential) -> Result<()> {
    let scope = Scope::Project(credential.tenant_id, credential.project_id);
    let mut tx = ctx.begin(&Permit::system("registry", scope)).await?;
    if !tx.use_registry_credential(credential.id).await? {
        return Ok(());
    }
    let change =
        Change::new("registry.credential_used", ObjectRef::new("registry_credential", credential.id))
            .after(json!({"purpose": credential.purpose.name(), "actor_kind": credential.actor_kind,
                      "actor_id": credential.actor_id}));
    tx.commit(change, None).await
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R05, F07: however often an action is asked for it is looked at once, in one order; what is too long is not read.
    #[test]
    fn a_scope_asks_for_each_action_once() {
        let actions = |text: &str| parse_scope(text).map(|(_, actions)| actions);
        let scope = |actions: &str| format!("repository:gpuaas/apps/lab/web:{actions}");
        let many = vec!["pull"; 190].join(",");
        assert!(scope(&many).len() <= MAX_SCOPE_BYTES);
        assert_eq!(actions(&scope(&many)), Some(vec![Action::Pull]));
        let all = vec![Action::Pull, Action::Push, Action::Delete];
        for text in
            ["delete,push,pull", "*", "*,*,pull,*", "push,push,*", "pull,delete,pull,push,delete,push"]
        {
            assert_eq!(actions(&scope(text)).as_ref(), Some(&all), "{text}");
        }
        assert_eq!(actions(&scope("push,pull,push")), Some(vec![Action::Pull, Action::Push]));
        assert_eq!(actions(&scope("fly,,PULL, pull")), Some(Vec::new()));
        let thousands = vec!["pull"; 5000].join(",");
        assert_eq!(actions(&scope(&thousands)), None);
        assert_eq!(parse_scope(&scope("pull")).map(|(name, _)| name), Some("gpuaas/apps/lab/web"));
        for other in ["repository:x", "registry:catalog:*", "pull", ""] {
            assert_eq!(actions(other), None, "{other}");
        }
    }
}
