//! Images on nodes: what the platform says before an order is sent, and when a node asks for the way to an image.

use gpuaas_agent_protocol::image::ImageRef;
use gpuaas_agent_protocol::spec::WorkloadSpec;
use gpuaas_domain::artifact::{self, Artifact};
use gpuaas_domain::event::{Change, ObjectRef};
use gpuaas_domain::iam::{Actor, Permit, Scope};
use gpuaas_domain::ids::InstanceId;
use gpuaas_domain::instance::Instance;
use gpuaas_domain::{Error, Result, Secret, Timestamp};
use gpuaas_store::Session;
use serde_json::json;

use crate::plane::ControlPlane;
use crate::registry::{AccessEntry, Via};
use crate::{OpContext, Prepared};

/// The launch of this generation on this node is still what is wanted.
pub(super) fn stands(instance: &Instance, node: uuid::Uuid, generation: i64) -> bool {
    instance.node_id.uuid() == node
        && instance.state.desired == generation
        && instance.state.decommissioned_at.is_none()
}

/// What the platform says about an image before a node starts it (F-25).
pub(super) fn may_run(plane: &ControlPlane, instance: &Instance, artifact: &Artifact) -> Result<()> {
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
    let keys = artifact::good_keys(tx.list_trust_keys(Some(owner)).await?, now);
    let keys = keys.into_iter().map(|key| (key.public_key, key.valid_until)).collect();
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
