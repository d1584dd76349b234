//! Instances over HTTP.

use gpuaas_agent_protocol::report::Health;
use gpuaas_api::envelope::{List, PageQuery};
use gpuaas_api::identity::Because;
use gpuaas_api::instances::{
    Access, ForceDecommission, Instance, InstanceDetail, InstanceQuery, InstanceStats, LaunchRequest,
    PlacementIntent, PlanView, ReceiptView, TimelineEntry,
};
use gpuaas_control_plane::OpContext;
use gpuaas_control_plane::operations::instances;
use gpuaas_control_plane::operations::launch::{self, LaunchWish};
use gpuaas_domain::iam::{Permission, Permit, Scope};
use gpuaas_domain::ids::{AllocationId, InstanceId, ProjectId};
use gpuaas_domain::manifest::Version;
use gpuaas_domain::text::Slug;
use gpuaas_domain::{Error, FieldError};
use gpuaas_store::instances::InstanceFilter;

use super::extract::{Body, Call, MaybeBody, Query, page_request};
use super::launch_fields;
use super::problem::ApiResult;
use super::reply::{self, Accepted, Found};
use super::tenants::reason;

/// The one allocation a request names, however it names it (H-34).
fn target(request: &LaunchRequest) -> Result<AllocationId, FieldError> {
    let PlacementIntent { allocation_id, members } = request.placement_intent.clone().unwrap_or_default();
    let member = match members.as_deref() {
        None | Some([]) => None,
        Some([only]) => Some(only.allocation_id),
        Some(_) => {
            return Err(FieldError::new(
                "/placement_intent/members",
                "composition_limit_exceeded",
                "This app runs on one allocation.",
            ));
        }
    };
    let named: Vec<AllocationId> =
        [request.target_allocation_id, allocation_id, member].into_iter().flatten().collect();
    match named.as_slice() {
        [] => Err(FieldError::new("/target_allocation_id", "required", "Say which allocation to launch on.")),
        [first, rest @ ..] if rest.iter().all(|other| other == first) => Ok(*first),
        _ => Err(FieldError::new(
            "/placement_intent",
            "contradicting_targets",
            "target_allocation_id and placement_intent name different allocations.",
        )),
    }
}

fn parse(request: LaunchRequest) -> ApiResult<LaunchWish> {
    let mut faults = launch_fields::refused(&request.other);
    let mut keep = |path: &str, parsed: Result<Slug, gpuaas_domain::text::Refused>| {
        parsed.map_err(|no| faults.push(no.at(path))).ok()
    };
    let slug = keep("/slug", Slug::parse(request.slug.as_deref().unwrap_or_default()));
    let name = request.name.as_deref().map(|name| keep("/name", Slug::parse(name)));
    if request.app_version.as_deref().is_some_and(|version| Version::parse(version).is_err()) {
        faults.push(FieldError::new("/app_version", "unknown_app", "There is no such app or version."));
    }
    let allocation = target(&request).map_err(|fault| faults.push(fault)).ok();
    let (Some(slug), Some(allocation), true) = (slug, allocation, faults.is_empty()) else {
        return Err(launch_fields::refusal(faults).into());
    };
    let resources = request.resources.unwrap_or_default();
    Ok(LaunchWish {
        slug,
        app_version: request.app_version,
        name: name.flatten(),
        allocation,
        gpu_count: resources.gpu_count,
        cpu_millis: resources.cpu_millis,
        memory_mib: resources.memory_mib,
        host_port: request.host_port,
        variant: request.variant,
        operating_mode: request.operating_mode,
        values: request.values,
        plan_digest: request.plan_digest,
    })
}

/// The answer to a command: the instance, and the story to follow it by.
fn told(call: &Call) -> impl Fn(gpuaas_domain::instance::Instance) -> Instance {
    let correlation_id = call.origin.correlation_id.clone();
    move |instance| Instance { correlation_id: Some(correlation_id.clone()), ..Instance::from(instance) }
}

pub(super) async fn plan(call: Call, Body(request): Body<LaunchRequest>) -> ApiResult<Found<PlanView>> {
    let plan = launch::plan(&call, call.id("project_id")?, &parse(request)?).await?;
    Ok(Found(PlanView { plan_digest: plan.digest(), plan }))
}

pub(super) async fn create(call: Call, Body(request): Body<LaunchRequest>) -> ApiResult<Accepted<Instance>> {
    let prepared = launch::create(&call, call.id("project_id")?, parse(request)?).await?;
    call.commit(prepared.map(told(&call))).await
}

/// Finds the project from the allocation, then goes the same way as the project's own route.
pub(super) async fn create_by_allocation(
    call: Call,
    Body(request): Body<LaunchRequest>,
) -> ApiResult<Accepted<Instance>> {
    let wish = parse(request)?;
    let context = call.asking_for(Permission::InstanceCreate);
    let project = project_of_allocation(&context, wish.allocation).await?;
    let prepared = launch::create(&context, project, wish).await?;
    call.commit(prepared.map(told(&call))).await
}

pub(super) async fn stop_by_id(
    call: Call,
    MaybeBody(because): MaybeBody<Because>,
) -> ApiResult<Accepted<Instance>> {
    let id: InstanceId = call.id("app_instance_id")?;
    let context = call.asking_for(Permission::InstanceDelete);
    let project = project_of_instance(&context, id).await?;
    let prepared = instances::stop(&context, project, id, reason(&because)?).await?;
    call.commit(prepared.map(told(&call))).await
}

/// Only to find the way; whether the caller may go it is asked there. What is not there takes the same way, to a project
/// that cannot be, so that it answers like what is foreign: same words, same cost, same row in the trail.
async fn project_of_allocation(ctx: &OpContext, id: AllocationId) -> ApiResult<ProjectId> {
    let anywhere = Permit::system("alias", Scope::Platform).tenant_scope();
    let found = ctx.plane.store.read().await?.find_allocation(anywhere, id).await?;
    Ok(found.map_or_else(|| ProjectId::new(id.uuid()), |allocation| allocation.project_id))
}

async fn project_of_instance(ctx: &OpContext, id: InstanceId) -> ApiResult<ProjectId> {
    let anywhere = Permit::system("alias", Scope::Platform).tenant_scope();
    let found = ctx.plane.store.read().await?.find_instance(anywhere, id).await?;
    Ok(found.map_or_else(|| ProjectId::new(id.uuid()), |instance| instance.project_id))
}

fn ids(call: &Call) -> ApiResult<(ProjectId, InstanceId)> {
    Ok((call.id("project_id")?, call.id("app_instance_id")?))
}

pub(super) async fn list(call: Call, Query(query): Query<InstanceQuery>) -> ApiResult<Found<List<Instance>>> {
    let filter = InstanceFilter {
        status: query.status,
        app: query.app.as_deref(),
        allocation: query.allocation,
        ended: query.ended.unwrap_or(false),
    };
    let named = format!("{:?}", (query.status, &query.app, query.allocation, query.ended));
    let list = call.list_name(&named);
    let page = page_request(&PageQuery { limit: query.limit, cursor: query.cursor.clone() }, &list)?;
    Ok(Found(reply::list(instances::list(&call, call.id("project_id")?, &filter, &page).await?, &list)))
}

pub(super) async fn get(call: Call) -> ApiResult<Found<InstanceDetail>> {
    let (project, id) = ids(&call)?;
    let detail = instances::get(&call, project, id).await?;
    let instructions = instructions(&detail);
    let mut instance: Instance = detail.instance.into();
    // While its node is away nobody sees how it fares.
    if detail.node.as_ref().is_none_or(|node| node.agent_connected_at.is_none()) {
        instance.health = Health::Unknown;
    }
    Ok(Found(InstanceDetail {
        node_name: detail.node.map(|node| node.name).unwrap_or_default(),
        simulated: detail.simulated,
        members: detail.members,
        components: detail.components,
        gpus: detail.gpus,
        access: Access { endpoints: detail.endpoints, instructions },
        recent_events: detail.recent,
        instance,
    }))
}

/// How people reach a private port (J-02), while there is something to reach.
fn instructions(detail: &instances::Detail) -> Vec<String> {
    let mut all = Vec::new();
    if !detail.instance.state.is_live() {
        return all;
    }
    for endpoint in detail.endpoints.iter().filter(|endpoint| endpoint.expose != "internal") {
        all.push(format!(
            "gpuaas port-forward {} --port {} --project {} opens {} on your own machine",
            detail.instance.id, endpoint.port, detail.instance.project_id, endpoint.name
        ));
        if let Some(port) = endpoint.host_port {
            let node = detail.node.as_ref().map_or("the node", |node| node.name.as_str());
            all.push(format!("on {node} itself: http://127.0.0.1:{port}/"));
        }
    }
    all
}

pub(super) async fn stop(
    call: Call,
    MaybeBody(because): MaybeBody<Because>,
) -> ApiResult<Accepted<Instance>> {
    let (project, id) = ids(&call)?;
    call.commit(instances::stop(&call, project, id, reason(&because)?).await?.map(told(&call))).await
}

pub(super) async fn start(call: Call) -> ApiResult<Accepted<Instance>> {
    let (project, id) = ids(&call)?;
    call.commit(launch::start(&call, project, id).await?.map(told(&call))).await
}

pub(super) async fn decommission(
    call: Call,
    MaybeBody(because): MaybeBody<Because>,
) -> ApiResult<Accepted<Instance>> {
    let (project, id) = ids(&call)?;
    call.commit(instances::decommission(&call, project, id, reason(&because)?).await?.map(told(&call))).await
}

pub(super) async fn force_decommission(
    call: Call,
    Body(force): Body<ForceDecommission>,
) -> ApiResult<Accepted<Instance>> {
    let (project, id) = ids(&call)?;
    let because =
        Because { reason: Some(force.reason.trim().to_owned()).filter(|reason| !reason.is_empty()) };
    let why = reason(&because)?
        .ok_or_else(|| Error::field("/reason", "required", "Say why nobody can ask the node."))?;
    call.commit(instances::force_decommission(&call, project, id, why).await?.map(told(&call))).await
}

pub(super) async fn timeline(
    call: Call,
    Query(query): Query<PageQuery>,
) -> ApiResult<Found<List<TimelineEntry>>> {
    let (project, id) = ids(&call)?;
    let list = call.list_name("");
    let page = instances::timeline(&call, project, id, &page_request(&query, &list)?).await?;
    Ok(Found(reply::list(page, &list)))
}

pub(super) async fn receipt(call: Call) -> ApiResult<Found<ReceiptView>> {
    let (project, id) = ids(&call)?;
    let (receipt, key) = instances::receipt(&call, project, id).await?;
    Ok(Found(ReceiptView::new(receipt, key.as_deref())))
}

pub(super) async fn stats(call: Call) -> ApiResult<Found<InstanceStats>> {
    let (project, id) = ids(&call)?;
    Ok(Found(instances::stats(&call, project, id).await?))
}
