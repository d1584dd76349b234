//! Launching: load what is there, plan, commit instance, revision, holds and order together.

use gpuaas_agent_protocol::task::Order;
use gpuaas_domain::event::ObjectRef;
use gpuaas_domain::iam::{Permission, Permit, Scope, TenantScope};
use gpuaas_domain::ids::{AllocationId, InstanceId, MemberId, ProjectId, RevisionId, TenantId, VolumeId};
use gpuaas_domain::instance::{Instance, Member, MemberRole};
use gpuaas_domain::launch::{self, Plan, Planned, QuotaUse, Wish};
use gpuaas_domain::lifecycle::State;
use gpuaas_domain::limit::Limit;
use gpuaas_domain::manifest::ExecutionEngine;
use gpuaas_domain::render::input::Identity;
use gpuaas_domain::render::{RenderInput, render};
use gpuaas_domain::text::Slug;
use gpuaas_domain::volume::MountSource;
use gpuaas_domain::{Error, FieldError, Result};
use gpuaas_store::catalog::StoredVersion;
use gpuaas_store::instances::StoredRevision;
use gpuaas_store::{Session, Tx};
use serde_json::{Value, json};

use super::catalog;
use super::instances::{Carrying, carry_out};
use super::launch_view::{LoadedTarget, World};
use crate::plane::ControlPlane;
use crate::{OpContext, Prepared};

/// What the caller asks for, parsed.
#[derive(Clone, Debug)]
pub struct LaunchWish {
    pub slug: Slug,
    pub app_version: Option<String>,
    pub name: Option<Slug>,
    pub allocation: AllocationId,
    pub choices: Wish,
    pub plan_digest: Option<String>,
}

/// The part of a wish that a later start repeats, its values as they were resolved.
fn remembered(wish: &Wish, plan: &Plan) -> Value {
    json!({"gpu_count": wish.gpu_count, "cpu_millis": wish.cpu_millis, "memory_mib": wish.memory_mib,
           "host_port": wish.host_port, "variant": wish.variant, "values": plan.values, "access": wish.access,
           "mounts": wish.mounts, "addons": wish.addons, "lanes": wish.lanes})
}

pub(crate) fn recalled(input: &Value) -> Wish {
    let number =
        |name: &str| input.get(name).and_then(Value::as_u64).and_then(|number| u32::try_from(number).ok());
    let member = |name: &str| input.get(name).cloned();
    Wish {
        gpu_count: number("gpu_count"),
        cpu_millis: number("cpu_millis"),
        memory_mib: number("memory_mib"),
        host_port: number("host_port").and_then(|port| u16::try_from(port).ok()),
        variant: input.get("variant").and_then(Value::as_str).map(str::to_owned),
        operating_mode: None,
        access: member("access").and_then(|access| serde_json::from_value(access).ok()).unwrap_or_default(),
        mounts: member("mounts").and_then(|mounts| serde_json::from_value(mounts).ok()).unwrap_or_default(),
        addons: member("addons").and_then(|addons| serde_json::from_value(addons).ok()).unwrap_or_default(),
        lanes: member("lanes").and_then(|lanes| serde_json::from_value(lanes).ok()).unwrap_or_default(),
        values: input.get("values").and_then(Value::as_object).cloned().unwrap_or_default(),
    }
}

/// What a launch would do; changes nothing.
pub async fn plan(ctx: &OpContext, project: ProjectId, wish: &LaunchWish) -> Result<Plan> {
    let permit = ctx.permit_project(Permission::InstanceCreate, project).await?;
    let mut session = ctx.plane.store.read().await?;
    let version = choose_version(&ctx.plane, &mut session, &permit, project, wish).await?;
    make_plan(
        &ctx.plane,
        &mut session,
        permit.tenant_scope(),
        &version,
        wish.allocation,
        &wish.choices,
        false,
    )
    .await
    .map(|planned| planned.plan)
}

pub async fn create(ctx: &OpContext, project: ProjectId, wish: LaunchWish) -> Result<Prepared<Instance>> {
    let permit = ctx.permit_project(Permission::InstanceCreate, project).await?;
    let plane = &ctx.plane;
    let mut tx = ctx.begin(&permit).await?;
    tx.lock_project(project).await?;
    tx.lock_allocation(wish.allocation).await?;
    lock_volumes(&mut tx, &wish.choices).await?;
    let version = choose_version(plane, &mut tx, &permit, project, &wish).await?;
    let planned: Planned = step!(
        plane,
        "launch.plan",
        make_plan(plane, &mut tx, permit.tenant_scope(), &version, wish.allocation, &wish.choices, false)
            .await
    )?;
    let plan = &planned.plan;
    plan.check_engine()?;
    plan.check_digest(wish.plan_digest.as_deref())?;
    let id = InstanceId::new(plane.new_uuid());
    let short = &id.uuid().as_simple().to_string()[26..];
    let name = wish.name.map_or_else(|| format!("{}-{short}", short_slug(&plan.app_slug)), String::from);
    let (state, effects) = State::create();
    let at = tx.at();
    let tenant = permit.scope().tenant().ok_or_else(|| Error::internal("a project has a tenant"))?;
    let owner = tx.find_project(permit.tenant_scope(), project).await?.ok_or_else(Error::not_found)?;
    let identity = identity(&planned, (id, &name), (project, &owner.slug), 1)?;
    let revision = make_revision(plane, &planned, identity, &wish.choices, at)?;
    let instance = Instance {
        id,
        name,
        app_slug: plan.app_slug.clone(),
        app_version: plan.app_version.clone(),
        app_version_id: plan.app_version_id,
        previous_version: None,
        artifact_digest: plan.artifact_digest.clone(),
        tenant_id: tenant,
        project_id: project,
        state,
        target_allocation_id: plan.allocation_id,
        node_id: plan.node_id,
        operating_mode: plan.operating_mode,
        control_plane_scope: plan.control_plane_scope,
        runtime_backend: plan.runtime_backend,
        tenant_boundary_mode: plan.tenant_boundary_mode.clone(),
        execution_engine: plan.execution_engine.clone(),
        revision_id: revision.id,
        access_epoch: 1,
        requested_by_kind: permit.actor().kind().to_owned(),
        requested_by_id: permit.actor().id(),
        created_at: at,
        version: 1,
        updated_at: at,
    };
    tx.insert_instance(&instance).await?;
    tx.insert_revision(id, &revision).await?;
    let member = Member {
        id: MemberId::new(plane.new_uuid()),
        allocation_id: plan.allocation_id,
        role: MemberRole::Node,
        status: "created".into(),
    };
    tx.insert_member(id, &member).await?;
    for endpoint in &plan.endpoints {
        tx.insert_endpoint(id, endpoint).await?;
    }
    super::access::route_endpoints(plane, &mut tx, &instance, &plan.endpoints).await?;
    super::instances::note(
        plane,
        &mut tx,
        id,
        "member_added",
        json!({"role": "node", "allocation_id": plan.allocation_id}),
    )
    .await?;
    let carrying = Carrying { plan: Some(plan), ..Carrying::default() };
    let change = carry_out(plane, &mut tx, ctx.route.action, None, &instance, &effects, carrying).await?;
    Ok(Prepared::new(tx, change, instance))
}

fn short_slug(slug: &str) -> &str {
    let end = slug.len().min(33);
    slug[..end].trim_end_matches('-')
}

/// A stopped or failed instance starts again: planned anew, because what it held was given back.
pub async fn start(ctx: &OpContext, project: ProjectId, id: InstanceId) -> Result<Prepared<Instance>> {
    let permit = ctx.permit_project(Permission::InstanceCreate, project).await?;
    let plane = &ctx.plane;
    let (mut tx, before) = super::instances::load(ctx, &permit, id).await?;
    let (state, effects) = gpuaas_domain::lifecycle::apply(
        before.state.clone(),
        gpuaas_domain::lifecycle::Event::Start,
        tx.at(),
    )?;
    tx.lock_allocation(before.target_allocation_id).await?;
    let former = tx
        .find_revision(before.revision_id)
        .await?
        .ok_or_else(|| Error::internal("an instance without its revision"))?;
    let version = tx
        .find_app_version_by_id(before.app_version_id)
        .await?
        .ok_or_else(|| Error::internal("an instance without its version"))?;
    let wish = recalled(&former.wish);
    lock_volumes(&mut tx, &wish).await?;
    let planned =
        make_plan(plane, &mut tx, permit.tenant_scope(), &version, before.target_allocation_id, &wish, true)
            .await?;
    let plan = &planned.plan;
    plan.check_engine()?;
    let mut next = Instance { state, ..before.clone() };
    if plan.rendered_digest != former.rendered_digest {
        let owner = tx.find_project(permit.tenant_scope(), project).await?.ok_or_else(Error::not_found)?;
        let identity = identity(&planned, (id, &before.name), (project, &owner.slug), former.number + 1)?;
        let revision = make_revision(plane, &planned, identity, &wish, tx.at())?;
        tx.insert_revision(id, &revision).await?;
        next.revision_id = revision.id;
    }
    let next = tx.update_instance(next).await?;
    super::access::route_endpoints(plane, &mut tx, &next, &plan.endpoints).await?;
    let carrying = Carrying { plan: Some(plan), ..Carrying::default() };
    let change =
        carry_out(plane, &mut tx, ctx.route.action, Some(&before), &next, &effects, carrying).await?;
    Ok(Prepared::new(tx, change, next))
}

/// In the order of their ids, so that no two launches wait for each other.
async fn lock_volumes(tx: &mut Tx, wish: &Wish) -> Result<()> {
    let mut ids: Vec<VolumeId> = wish.mounts.values().filter_map(MountSource::volume).collect();
    ids.sort_unstable();
    for id in ids {
        tx.lock_volume(id).await?;
    }
    Ok(())
}

/// The limits that one more instance counts against.
pub(super) async fn quotas(session: &mut Session, scope: Scope, project: ProjectId) -> Result<Vec<QuotaUse>> {
    let most = session.effective_limit(scope, Limit::Instances).await?;
    Ok(vec![QuotaUse { limit: Limit::Instances, most, used: session.count_instances(project).await? }])
}

/// The version asked for, or the newest the project may launch.
async fn choose_version(
    plane: &ControlPlane,
    session: &mut Session,
    permit: &Permit,
    project: ProjectId,
    wish: &LaunchWish,
) -> Result<StoredVersion> {
    if let Some(version) = &wish.app_version {
        let found = session.find_app_version(wish.slug.as_str(), version).await?;
        return found.ok_or_else(|| Error::fields(vec![unknown_app("/app_version")]));
    }
    let tenant = permit.scope().tenant().ok_or_else(|| Error::internal("a project has a tenant"))?;
    newest_version(plane, session, (tenant, project), &wish.slug).await
}

pub(super) fn unknown_app(path: &str) -> FieldError {
    FieldError::new(path, "unknown_app", "There is no such app or version.")
}

/// The newest the project may launch; without one, the newest of all, of which the plan says why not.
pub(super) async fn newest_version(
    plane: &ControlPlane,
    session: &mut Session,
    owner: (TenantId, ProjectId),
    slug: &Slug,
) -> Result<StoredVersion> {
    let layers = session.entitlement_layers(owner.0, owner.1, slug.as_str()).await?;
    let launchable = session.list_launchable(slug.as_str()).await?;
    let mut newest = None;
    for version in &launchable {
        if !catalog::admits(&layers, version)? {
            continue;
        }
        // A version whose image was withdrawn, or is not for this project, does not stand before one that runs.
        if catalog::has_usable_artifacts(plane, session, version, owner).await? {
            return Ok(version.clone());
        }
        newest = newest.or(Some(version));
    }
    newest.or(launchable.first()).cloned().ok_or_else(|| Error::fields(vec![unknown_app("/slug")]))
}

pub(crate) async fn make_plan(
    plane: &ControlPlane,
    session: &mut Session,
    scope: TenantScope,
    version: &StoredVersion,
    allocation: AllocationId,
    wish: &Wish,
    existing: bool,
) -> Result<Planned> {
    let allocation = session.find_allocation(scope, allocation).await?;
    let allocation = allocation.ok_or_else(|| Error::fields(vec![launch::unknown_allocation()]))?;
    let owner = (allocation.tenant_id, allocation.project_id);
    // Of the project of the allocation, which is the caller's own.
    let project = Permit::system("plan", allocation.scope()).tenant_scope();
    let mut volumes = Vec::new();
    for id in wish.mounts.values().filter_map(MountSource::volume) {
        volumes.extend(session.find_known_volume(project, id).await?);
    }
    // What was launched before counts already.
    let quotas = if existing {
        Vec::new()
    } else {
        quotas(session, allocation.scope(), allocation.project_id).await?
    };
    let world = World::load(plane, session, version, owner, volumes, quotas).await?;
    let target = LoadedTarget::load(session, allocation).await?;
    launch::plan(&world.view(plane, existing), target.view(), wish)
}

/// Whose it is, for engines that name things by it.
fn identity(
    planned: &Planned,
    instance: (InstanceId, &str),
    project: (ProjectId, &str),
    revision: i64,
) -> Result<Identity> {
    let slug = |text: &str| Slug::parse(text).map_err(|_| Error::internal("a stored name is no slug"));
    Ok(Identity {
        instance_id: instance.0,
        instance_name: slug(instance.1)?,
        project_id: project.0,
        project_slug: slug(project.1)?,
        revision,
        ..planned.input.identity.clone()
    })
}

/// What is stored: the wish, what became of it, and the bytes that the engine is given (B-04, B-05).
fn make_revision(
    plane: &ControlPlane,
    planned: &Planned,
    identity: Identity,
    wish: &Wish,
    at: gpuaas_domain::Timestamp,
) -> Result<StoredRevision> {
    let engine = ExecutionEngine::parse(&planned.plan.execution_engine)
        .ok_or_else(|| Error::internal("a plan without an engine"))?;
    let number = identity.revision;
    let input = RenderInput { identity, ..planned.input.clone() };
    let rendered = render(engine, &input)?;
    let file = rendered.files.first().ok_or_else(|| Error::internal("nothing was rendered"))?;
    Ok(StoredRevision {
        id: RevisionId::new(plane.new_uuid()),
        number,
        app_version_id: planned.plan.app_version_id,
        renderer_version: rendered.renderer_version,
        wish: remembered(wish, &planned.plan),
        render_input: Some(serde_json::to_value(&input).expect("an input is plain data")),
        rendered: file.bytes.clone(),
        rendered_digest: rendered.digest,
        created_at: at,
    })
}

/// The order that brings a revision up.
pub(crate) async fn launch_order(tx: &mut Tx, instance: &Instance) -> Result<Order> {
    let revision = tx
        .find_revision(instance.revision_id)
        .await?
        .ok_or_else(|| Error::internal("an instance without its revision"))?;
    let spec = serde_json::from_str(&revision.rendered)
        .map_err(|error| Error::internal(format!("a stored spec cannot be read: {error}")))?;
    Ok(Order::Launch { spec })
}

pub(crate) fn object(instance: &Instance) -> ObjectRef {
    ObjectRef::new("app_instance", instance.id)
}
