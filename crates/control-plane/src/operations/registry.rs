//! The door of the registry: who may do what in which repository.
//!
//! Clients bring a password to the token server and get a token for one repository; the registry shows the token at each
//! request, and what its holder may do is looked up again each time. So a role that was taken away, a credential that was
//! revoked or an image that lost its trust count from the next byte on. The same tokens open a registry of another make,
//! which cannot look anything up: there they count until they end, some minutes later.

use gpuaas_agent_protocol::Digest;
use gpuaas_agent_protocol::image::ImageRef;
use gpuaas_agent_protocol::spec::WorkloadSpec;
use gpuaas_domain::artifact::{self, Artifact, Repository, RepositoryPath, Visibility};
use gpuaas_domain::event::{Change, EventType, ObjectRef};
use gpuaas_domain::iam::{self, Actor, Denial, Grant, Permission, Permit, Scope};
use gpuaas_domain::ids::{
    ArtifactId, InstanceId, ProjectId, RegistryCredentialId, RepositoryId, ServiceAccountId, UserId,
    parse_uuid,
};
use gpuaas_domain::instance::Instance;
use gpuaas_domain::limit::Limit;
use gpuaas_domain::node::NodeStanding;
use gpuaas_domain::page::{Page, PageRequest};
use gpuaas_domain::standing::Standing;
use gpuaas_domain::text::Slug;
use gpuaas_domain::{Error, Kind, Result, Secret, Timestamp};
use gpuaas_store::artifacts::{Purpose, StoredCredential};
use gpuaas_store::{Session, Tx};
use serde_json::{Value, json};

use super::authenticate;
use super::custody::{self, IssuedWrap};
use crate::context::Credential;
use crate::plane::ControlPlane;
use crate::registry::{AccessEntry, TokenClaims, Via};
use crate::tokens::{OpaqueKind, OpaqueToken};
use crate::{OpContext, Prepared};

/// A push also looks what is there, and may mount from one more repository.
const MAX_SCOPES: usize = 2;
/// What an intent lives unless it says otherwise.
const INTENT_SECONDS: i64 = 900;
const INTENT_RANGE: std::ops::RangeInclusive<i64> = 60..=3600;

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

    fn parse(name: &str) -> Option<Self> {
        [Self::Pull, Self::Push, Self::Delete].into_iter().find(|action| action.name() == name)
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

/// `repository:<name>:<actions>`.
fn parse_scope(text: &str) -> Option<(&str, Vec<Action>)> {
    let rest = text.strip_prefix("repository:").or_else(|| text.strip_prefix("repository(plugin):"))?;
    let (name, actions) = rest.rsplit_once(':')?;
    let mut wanted = Vec::new();
    for action in actions.split(',') {
        match action {
            "*" => wanted.extend([Action::Pull, Action::Push, Action::Delete]),
            named => wanted.extend(Action::parse(named)),
        }
    }
    Some((name, wanted))
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

/// The launch of this generation on this node is still what is wanted.
fn stands(instance: &Instance, node: uuid::Uuid, generation: i64) -> bool {
    instance.node_id.uuid() == node
        && instance.state.desired == generation
        && instance.state.decommissioned_at.is_none()
}

/// What the platform says about an image before a node starts it (F-25).
fn may_run(plane: &ControlPlane, instance: &Instance, artifact: &Artifact) -> Result<()> {
    let names = &plane.registry().names;
    if !names.allows(&artifact.repository.path()) {
        return Err(artifact::NotOurs::OffTheAllowlist.into_error(names));
    }
    if !artifact.repository.is_visible_to(instance.tenant_id, instance.project_id) {
        return Err(Error::conflict(
            "artifact_not_registered",
            "The image is not one that this project may have.",
        ));
    }
    artifact::check_trust(artifact, plane.settings.registry.trust, plane.now())
}

/// The image a launch names, if it may be started now; asked before an order is sent.
pub(crate) async fn check_order(
    plane: &ControlPlane,
    session: &mut Session,
    instance: InstanceId,
    spec: &WorkloadSpec,
) -> Result<()> {
    let anywhere = Permit::system("dispatch", Scope::Platform).tenant_scope();
    let Some(instance) = session.find_instance(anywhere, instance).await? else { return Ok(()) };
    for component in &spec.components {
        find_granted(plane, session, &instance, &component.image.reference).await?;
    }
    Ok(())
}

async fn find_granted(
    plane: &ControlPlane,
    session: &mut Session,
    instance: &Instance,
    reference: &ImageRef,
) -> Result<Artifact> {
    let names = &plane.registry().names;
    let path = names.parse(reference).map_err(|not_ours| not_ours.into_error(names))?;
    let artifact = session.find_artifact_by_digest(&path, reference.digest()).await?.ok_or_else(|| {
        Error::conflict("artifact_not_registered", format!("Nothing is registered as {reference}."))
    })?;
    may_run(plane, instance, &artifact)?;
    Ok(artifact)
}

/// What a node is told about an image.
pub struct NodeAccess {
    pub registry_url: Option<String>,
    pub token: Secret<String>,
    pub expires_at: Timestamp,
    pub enforce: bool,
    pub accept_unnamed: bool,
    pub names: Vec<String>,
    /// Public keys in PEM, and when each ends.
    pub keys: Vec<(String, Option<Timestamp>)>,
}

/// The way to one image for the node that is to start it: bound to node, launch and digest (F-16).
pub async fn node_access(
    ctx: &OpContext,
    id: InstanceId,
    generation: i64,
    reference: &str,
) -> Result<Prepared<NodeAccess>> {
    let plane = &ctx.plane;
    let node = ctx.node()?;
    let not_granted =
        || Error::forbidden("image_not_granted", "No order that stands lets this node have the image.");
    let reference: ImageRef = reference.parse().map_err(|_| not_granted())?;
    let permit = Permit::own_account(Actor::Node(node));
    let mut tx = ctx.begin(&permit).await?;
    let anywhere = Permit::system("registry", Scope::Platform).tenant_scope();
    let instance = tx
        .find_instance(anywhere, id)
        .await?
        .filter(|found| stands(found, node.uuid(), generation))
        .ok_or_else(not_granted)?;
    let revision = tx.find_revision(instance.revision_id).await?.ok_or_else(not_granted)?;
    let spec: WorkloadSpec = serde_json::from_str(&revision.rendered)
        .map_err(|error| Error::internal(format!("a stored spec cannot be read: {error}")))?;
    if !spec.components.iter().any(|component| component.image.reference == reference) {
        return Err(not_granted());
    }
    let artifact = find_granted(plane, &mut tx, &instance, &reference).await?;
    let owner = artifact.repository.project_id;
    let now = plane.now();
    let keys = tx.list_trust_keys(Some(owner)).await?.into_iter().filter(|key| key.is_good(now));
    let keys = keys.map(|key| (key.public_key, key.valid_until)).collect();
    let names = &plane.registry().names;
    let path = artifact.repository.path();
    let entry = AccessEntry {
        kind: "repository".to_owned(),
        name: names.repository(&path),
        actions: vec!["pull".to_owned()],
    };
    let settings = &plane.settings.registry;
    let (token, expires_at) = plane
        .sign_registry_token(
            Via::Node { node, instance: id, generation },
            format!("node:{node}"),
            vec![entry],
            Some(artifact.digest.clone()),
            settings.token_ttl_seconds,
        )
        .await?;
    let change = Change::new(ctx.route.action, ObjectRef::new("app_artifact", artifact.id))
        .at(Scope::Project(instance.tenant_id, instance.project_id))
        .after(json!({"app_instance_id": id, "repository": names.repository(&path),
                      "digest": artifact.digest.to_string(), "expires_at": expires_at}));
    let access = NodeAccess {
        registry_url: settings.external_url.clone(),
        token,
        expires_at,
        enforce: settings.trust == artifact::TrustMode::Enforce,
        accept_unnamed: settings.accept_unnamed,
        names: names.signing_names(&path, artifact.trust.signed_as.as_deref()),
        keys,
    };
    Ok(Prepared::new(tx, change, access))
}

/// A project's repository for an app, made if it is not there.
pub(crate) async fn ensure_repository(
    ctx: &OpContext,
    tx: &mut Tx,
    project: ProjectId,
    app: &Slug,
    visibility: Option<Visibility>,
) -> Result<(Repository, bool)> {
    let scope = Permit::system("registry", Scope::Platform).tenant_scope();
    let owner = tx.find_project(scope, project).await?.ok_or_else(Error::not_found)?;
    let wants_platform = visibility == Some(Visibility::Platform);
    let namespaces = if wants_platform {
        vec![artifact::PLATFORM_NAMESPACE.to_owned()]
    } else {
        vec![owner.slug.clone(), artifact::PLATFORM_NAMESPACE.to_owned()]
    };
    for namespace in namespaces {
        let path = RepositoryPath { namespace, app_slug: app.to_string() };
        if let Some(found) = tx.find_repository_by_path(&path).await?
            && found.project_id == project
        {
            return Ok((found, false));
        }
    }
    let namespace = if wants_platform { artifact::PLATFORM_NAMESPACE.to_owned() } else { owner.slug.clone() };
    let repository = Repository {
        id: RepositoryId::new(ctx.plane.new_uuid()),
        tenant_id: owner.tenant_id,
        project_id: project,
        namespace,
        app_slug: app.to_string(),
        visibility: visibility.unwrap_or(Visibility::Project),
        version: 1,
        created_at: tx.at(),
        updated_at: tx.at(),
    };
    let names = &ctx.plane.registry().names;
    if !names.allows(&repository.path()) {
        return Err(artifact::NotOurs::OffTheAllowlist.into_error(names));
    }
    if wants_platform {
        check_platform_right(ctx)?;
    }
    tx.insert_repository(&repository).await?;
    Ok((repository, true))
}

/// What everybody will see needs the right to publish apps for everybody.
fn check_platform_right(ctx: &OpContext) -> Result<()> {
    let known = ctx.known()?;
    iam::decide(known.actor, &known.grants, Permission::AppPublish, Scope::Platform)
        .map(drop)
        .map_err(Denial::into_error)
}

pub(crate) fn repository_view(ctx: &OpContext, repository: &Repository) -> Value {
    json!({"repository_id": repository.id, "name": ctx.plane.registry().names.repository(&repository.path()),
           "visibility": repository.visibility.name(), "project_id": repository.project_id,
           "version": repository.version})
}

/// Makes a repository, or says who may pull from it. What was everybody's stays under its name.
pub async fn set_repository(
    ctx: &OpContext,
    project: ProjectId,
    app: &Slug,
    visibility: Visibility,
    named: Option<&str>,
) -> Result<Prepared<Repository>> {
    let permit = ctx.permit_project(Permission::ArtifactManage, project).await?;
    let mut tx = ctx.begin(&permit).await?;
    tx.lock_project(project).await?;
    let (found, made) = match find_named(ctx, &mut tx, project, app, named).await? {
        Some(found) => (found, false),
        None => ensure_repository(ctx, &mut tx, project, app, Some(visibility)).await?,
    };
    let before = repository_view(ctx, &found);
    let after = if made || found.visibility == visibility {
        found
    } else {
        ctx.check_version(found.version)?;
        if visibility == Visibility::Platform {
            check_movable(ctx, &found)?;
        }
        tx.set_visibility(found, visibility).await?
    };
    let mut change = Change::new(ctx.route.action, ObjectRef::new("repository", after.id))
        .after(repository_view(ctx, &after))
        .event(EventType::RepositoryChanged, repository_view(ctx, &after));
    if !made {
        change = change.before(before);
    }
    Ok(Prepared::new(tx, change, after))
}

/// The one that was named; else the project's own for the app, before the one it keeps for everybody.
async fn find_named(
    ctx: &OpContext,
    tx: &mut Tx,
    project: ProjectId,
    app: &Slug,
    named: Option<&str>,
) -> Result<Option<Repository>> {
    let names = &ctx.plane.registry().names;
    if let Some(name) = named {
        let path = names.parse_repository(name).map_err(|not_ours| not_ours.into_error(names))?;
        let found = tx.find_repository_by_path(&path).await?;
        let found = found.filter(|found| found.project_id == project && found.app_slug == app.as_str());
        return found.map(Some).ok_or_else(|| {
            Error::field(
                "/repository",
                "unknown_repository",
                "The project has no such repository for this app.",
            )
        });
    }
    let own = tx.list_repositories(project).await?.into_iter().filter(|one| one.app_slug == app.as_str());
    Ok(own.min_by_key(|one| one.namespace == artifact::PLATFORM_NAMESPACE))
}

/// Everybody's repositories have names of their own, so another one cannot become everybody's.
fn check_movable(ctx: &OpContext, repository: &Repository) -> Result<()> {
    if repository.namespace == artifact::PLATFORM_NAMESPACE {
        return check_platform_right(ctx);
    }
    let names = &ctx.plane.registry().names;
    let path = RepositoryPath {
        namespace: artifact::PLATFORM_NAMESPACE.to_owned(),
        app_slug: repository.app_slug.clone(),
    };
    Err(Error::conflict(
        "repository_fixed",
        format!(
            "{} stays the project's; what everybody may pull lies in {}. Publish it there with the visibility platform.",
            names.repository(&repository.path()),
            names.repository(&path)
        ),
    ))
}

/// What a project sees of the registry.
pub struct Info {
    pub namespace: String,
    pub quota_bytes: i64,
    pub repositories: Vec<Repository>,
}

pub async fn info(ctx: &OpContext, project: ProjectId) -> Result<Info> {
    let permit = ctx.permit_project(Permission::ArtifactRead, project).await?;
    let mut session = ctx.plane.store.read().await?;
    let owner = session.find_project(permit.tenant_scope(), project).await?.ok_or_else(Error::not_found)?;
    let quota = session.effective_limit(permit.scope(), Limit::RegistryMib).await?;
    Ok(Info {
        namespace: format!("{}/{}", ctx.plane.registry().names.root, owner.slug),
        quota_bytes: quota.saturating_mul(1024 * 1024),
        repositories: session.list_repositories(project).await?,
    })
}

/// Bytes that the owner of a repository may have in all of its repositories, and these.
pub async fn quota_of(plane: &ControlPlane, repository: &str) -> Result<Option<(ProjectId, i64)>> {
    let Ok(path) = plane.registry().names.parse_repository(repository) else { return Ok(None) };
    let mut session = plane.store.read().await?;
    let Some(found) = session.find_repository_by_path(&path).await? else { return Ok(None) };
    let scope = Scope::Project(found.tenant_id, found.project_id);
    let limit = session.effective_limit(scope, Limit::RegistryMib).await?;
    Ok(Some((found.project_id, limit.saturating_mul(1024 * 1024))))
}

/// A credential for one repository, delivered wrapped.
pub struct IssuedIntent {
    pub id: RegistryCredentialId,
    pub repository: Repository,
    pub wrap: IssuedWrap,
    pub expires_at: Timestamp,
}

async fn issue_credential(
    ctx: &OpContext,
    tx: &mut Tx,
    holder: (Scope, &Permit),
    repository: Repository,
    purpose: Purpose,
    digest: Option<Digest>,
    seconds: Option<i64>,
) -> Result<IssuedIntent> {
    let (scope, permit) = holder;
    let seconds = seconds.unwrap_or(INTENT_SECONDS);
    if !INTENT_RANGE.contains(&seconds) {
        return Err(Error::field(
            "/expires_in_seconds",
            "out_of_range",
            format!("Use {} to {} seconds.", INTENT_RANGE.start(), INTENT_RANGE.end()),
        ));
    }
    let token =
        OpaqueToken::generate(OpaqueKind::RegistryCredential, ctx.plane.new_uuid(), &*ctx.plane.entropy);
    let at = tx.at();
    let expires_at = at.plus_seconds(seconds);
    let (Some(tenant_id), Some(project_id)) = (scope.tenant(), scope.project()) else {
        return Err(Error::internal("an intent without a project"));
    };
    let credential = StoredCredential {
        id: RegistryCredentialId::new(token.id),
        tenant_id,
        project_id,
        repository_id: repository.id,
        purpose,
        digest,
        secret_hash: token.hash(),
        actor_kind: permit.actor().kind().to_owned(),
        actor_id: permit.actor().id(),
        created_at: at,
        expires_at,
        first_used_at: None,
        revoked_at: None,
        version: 1,
    };
    tx.insert_registry_credential(&credential).await?;
    let value = json!({"username": "intent", "password": token.reveal().expose()});
    let value = Secret::new(value.to_string().into_bytes());
    let wrap = custody::wrap_until(ctx, tx, scope, &value, expires_at).await?;
    Ok(IssuedIntent { id: credential.id, repository, wrap, expires_at })
}

fn intent_change(ctx: &OpContext, permit: &Permit, intent: &IssuedIntent, digest: Option<&Digest>) -> Change {
    let view = json!({
        "credential_id": intent.id, "repository": ctx.plane.registry().names.repository(&intent.repository.path()),
        "digest": digest.map(Digest::as_str), "expires_at": intent.expires_at, "project_id": permit.scope().project(),
        "service_account": matches!(permit.actor(), Actor::ServiceAccount(_)),
    });
    Change::new(ctx.route.action, ObjectRef::new("registry_credential", intent.id))
        .after(view.clone())
        .event(EventType::RegistryCredentialIssued, view)
}

/// Step one of publishing: the way to push to one repository, for a short while (F-01, F-10, F-11).
pub async fn publish_intent(
    ctx: &OpContext,
    project: ProjectId,
    app: &Slug,
    visibility: Option<Visibility>,
    seconds: Option<i64>,
) -> Result<Prepared<IssuedIntent>> {
    let permit = ctx.permit_project(Permission::ArtifactPublish, project).await?;
    let mut tx = ctx.begin(&permit).await?;
    tx.lock_project(project).await?;
    let (repository, made) = ensure_repository(ctx, &mut tx, project, app, visibility).await?;
    if made {
        let view = repository_view(ctx, &repository);
        let change = Change::new("registry.repository_set", ObjectRef::new("repository", repository.id))
            .after(view.clone())
            .event(EventType::RepositoryChanged, view);
        let stamp = ctx.stamp();
        tx.record(&stamp, change).await?;
    }
    let holder = (permit.scope(), &permit);
    let intent = issue_credential(ctx, &mut tx, holder, repository, Purpose::Publish, None, seconds).await?;
    let change = intent_change(ctx, &permit, &intent, None);
    Ok(Prepared::new(tx, change, intent))
}

/// The way to pull one image (F-13).
pub async fn pull_intent(
    ctx: &OpContext,
    project: ProjectId,
    id: ArtifactId,
    seconds: Option<i64>,
) -> Result<Prepared<(IssuedIntent, Artifact)>> {
    let permit = ctx.permit_project(Permission::ArtifactRead, project).await?;
    let mut tx = ctx.begin(&permit).await?;
    let tenant = permit.scope().tenant().ok_or_else(|| Error::internal("a project has a tenant"))?;
    let artifact = tx.find_visible_artifact(tenant, project, id).await?.ok_or_else(|| {
        Error::field("/artifact_id", "unknown_artifact", "The project can see no such artifact.")
    })?;
    let names = &ctx.plane.registry().names;
    if !names.allows(&artifact.repository.path()) {
        return Err(artifact::NotOurs::OffTheAllowlist.into_error(names));
    }
    if artifact.trust.state == artifact::TrustState::Revoked {
        artifact::check_trust(&artifact, artifact::TrustMode::Warn, tx.at())?;
    }
    let holder = (permit.scope(), &permit);
    let (repository, digest) = (artifact.repository.clone(), artifact.digest.clone());
    let intent =
        issue_credential(ctx, &mut tx, holder, repository, Purpose::Pull, Some(digest.clone()), seconds)
            .await?;
    let change = intent_change(ctx, &permit, &intent, Some(&digest));
    Ok(Prepared::new(tx, change, (intent, artifact)))
}

pub async fn list_credentials(
    ctx: &OpContext,
    project: ProjectId,
    page: &PageRequest,
) -> Result<Page<(StoredCredential, RepositoryPath)>> {
    ctx.permit_project(Permission::ArtifactRead, project).await?;
    ctx.plane.store.read().await?.list_registry_credentials(project, page).await
}

pub async fn revoke_credential(
    ctx: &OpContext,
    project: ProjectId,
    id: RegistryCredentialId,
    reason: Option<String>,
) -> Result<Prepared<(StoredCredential, RepositoryPath)>> {
    let permit = ctx.permit_project(Permission::ArtifactManage, project).await?;
    let mut tx = ctx.begin(&permit).await?;
    let found = tx.find_registry_credential(id).await?.filter(|found| found.project_id == project);
    let found = found.ok_or_else(Error::not_found)?;
    ctx.check_version(found.version)?;
    let repository = tx
        .find_repository_by_id(found.repository_id)
        .await?
        .ok_or_else(|| Error::internal("a credential without its repository"))?;
    let after =
        if found.revoked_at.is_some() { found } else { tx.revoke_registry_credential(&found).await? };
    let view = json!({"credential_id": id, "repository": ctx.plane.registry().names.repository(&repository.path()),
                      "purpose": after.purpose.name(), "revoked_at": after.revoked_at});
    let change = Change::new(ctx.route.action, ObjectRef::new("registry_credential", id))
        .after(view.clone())
        .because(reason)
        .event(EventType::RegistryCredentialRevoked, view);
    Ok(Prepared::new(tx, change, (after, repository.path())))
}
