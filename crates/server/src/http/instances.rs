//! Instances over HTTP.

use std::collections::BTreeMap;

use gpuaas_agent_protocol::report::Health;
use gpuaas_api::catalog::Ui;
use gpuaas_api::envelope::{List, PageQuery};
use gpuaas_api::form::AppForm;
use gpuaas_api::identity::Because;
use gpuaas_api::instances::{
    Access, AppCommand, Endpoint, EndpointHealth, EndpointView, ForceDecommission, Instance, InstanceDetail,
    InstanceImage, InstanceMount, InstanceQuery, InstanceStats, LaunchRequest, PlacementIntent, PlanView,
    ReceiptView, RenderedQuery, RenderedView, TimelineEntry,
};
use gpuaas_control_plane::OpContext;
use gpuaas_control_plane::operations::instance_detail::{self, Detail};
use gpuaas_control_plane::operations::launch::{self, LaunchWish};
use gpuaas_control_plane::operations::rendered::{self, Verification};
use gpuaas_control_plane::operations::{form, instances};
use gpuaas_domain::iam::{Permission, Permit, Scope};
use gpuaas_domain::ids::{AllocationId, InstanceId, ProjectId};
use gpuaas_domain::launch::{PlannedGap, PlannedMount, Wish, outputs};
use gpuaas_domain::launch_form::Wanted;
use gpuaas_domain::lifecycle::Status;
use gpuaas_domain::manifest::Version;
use gpuaas_domain::text::Slug;
use gpuaas_domain::volume::MountSource;
use gpuaas_domain::{Error, FieldError};
use gpuaas_store::instances::InstanceFilter;

use super::extract::{Body, Call, MaybeBody, Query, page_request};
use super::launch_fields;
use super::problem::ApiResult;
use super::reply::{self, Accepted, Found};
use super::tenants::reason;

/// The one allocation a request names, however it names it (H-34); a form may name none.
fn target(request: &LaunchRequest) -> Result<Option<AllocationId>, FieldError> {
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
        [] => Ok(None),
        [first, rest @ ..] if rest.iter().all(|other| other == first) => Ok(Some(*first)),
        _ => Err(FieldError::new(
            "/placement_intent",
            "contradicting_targets",
            "target_allocation_id and placement_intent name different allocations.",
        )),
    }
}

fn parse(request: LaunchRequest) -> ApiResult<LaunchWish> {
    let mut faults = launch_fields::refused(&request.other);
    let mounts = launch_fields::mounts(&request.mounts, &mut faults);
    let mut keep = |path: &str, parsed: Result<Slug, gpuaas_domain::text::Refused>| {
        parsed.map_err(|no| faults.push(no.at(path))).ok()
    };
    let slug = keep("/slug", Slug::parse(request.slug.as_deref().unwrap_or_default()));
    let name = request.name.as_deref().map(|name| keep("/name", Slug::parse(name)));
    if request.app_version.as_deref().is_some_and(|version| Version::parse(version).is_err()) {
        faults.push(FieldError::new("/app_version", "unknown_app", "There is no such app or version."));
    }
    let required =
        || FieldError::new("/target_allocation_id", "required", "Say which allocation to launch on.");
    let allocation = target(&request).and_then(|target| target.ok_or_else(required));
    let allocation = allocation.map_err(|fault| faults.push(fault)).ok();
    let (Some(slug), Some(allocation), true) = (slug, allocation, faults.is_empty()) else {
        return Err(launch_fields::refusal(faults).into());
    };
    Ok(LaunchWish {
        slug,
        app_version: request.app_version.clone(),
        name: name.flatten(),
        allocation,
        plan_digest: request.plan_digest.clone(),
        choices: choices(request, mounts),
    })
}

/// What a launch may choose, the same for a plan, a launch and a form.
fn choices(request: LaunchRequest, mounts: BTreeMap<String, MountSource>) -> Wish {
    let resources = request.resources.unwrap_or_default();
    Wish {
        gpu_count: resources.gpu_count,
        cpu_millis: resources.cpu_millis,
        memory_mib: resources.memory_mib,
        host_port: request.host_port,
        variant: request.variant,
        operating_mode: request.operating_mode,
        values: request.values,
        access: request.access,
        mounts,
        addons: request.addons,
        lanes: request.lanes,
    }
}

/// What was filled in so far. Members that no launch may carry are refused as ever; everything else that cannot be read is
/// a fault that the form shows.
fn filled_in(slug: &Slug, request: LaunchRequest) -> ApiResult<(Option<String>, Wanted)> {
    let mut faults = Vec::new();
    let mounts = launch_fields::mounts(&request.mounts, &mut faults);
    let (forbidden, mut faults): (Vec<_>, Vec<_>) = faults.into_iter().partition(launch_fields::is_forbidden);
    let refused: Vec<_> = launch_fields::refused(&request.other).into_iter().chain(forbidden).collect();
    if !refused.is_empty() {
        return Err(launch_fields::refusal(refused).into());
    }
    if request.slug.as_deref().is_some_and(|named| named != slug.as_str()) {
        faults.push(FieldError::new("/slug", "invalid_value", "The path names another app."));
    }
    let name = request.name.as_deref().filter(|name| !name.is_empty());
    let name = name.and_then(|name| Slug::parse(name).map_err(|no| faults.push(no.at("/name"))).ok());
    let version = request.app_version.clone().filter(|version| {
        let good = Version::parse(version).is_ok();
        if !good {
            faults.push(FieldError::new("/app_version", "unknown_app", "There is no such app or version."));
        }
        good
    });
    let allocation = target(&request).unwrap_or_else(|fault| {
        faults.push(fault);
        None
    });
    let wish = choices(request, mounts);
    Ok((version, Wanted { name: name.map(String::from), allocation, wish, faults }))
}

pub(super) async fn form(call: Call, Body(request): Body<LaunchRequest>) -> ApiResult<Found<AppForm>> {
    let slug = call.slug("app_slug")?;
    let (version, wanted) = filled_in(&slug, request)?;
    let made = form::resolve(&call, call.id("project_id")?, &slug, version.as_deref(), wanted).await?;
    Ok(Found(made.into()))
}

pub(super) async fn rendered(
    call: Call,
    Query(query): Query<RenderedQuery>,
) -> ApiResult<Found<RenderedView>> {
    let (project, id) = (call.id("project_id")?, call.id("app_instance_id")?);
    let found = rendered::get(&call, project, id, query.engine).await?;
    let (verified, verification) = match found.verification {
        Verification::Rederived => (true, "Rendering the stored input again gives these bytes."),
        Verification::StoredBytes => {
            (true, "The renderer has another version by now; the stored bytes are what their digest says.")
        }
        Verification::Preview => (true, "Rendered just now; the instance runs on another engine."),
        Verification::Mismatch => (false, "The stored bytes are not what their digest says."),
    };
    Ok(Found(RenderedView {
        engine: found.engine,
        revision: found.revision,
        renderer_version: found.renderer_version,
        digest: found.digest,
        stored: found.stored,
        verified,
        verification: verification.to_owned(),
        files: found.files,
        masked: found.masked,
        gaps: found.gaps.into_iter().map(PlannedGap::from).collect(),
    }))
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
    let detail = instance_detail::get(&call, project, id).await?;
    let instructions = instructions(&detail);
    let endpoints = endpoints(&call, &detail);
    let (notes, commands) = (notes(&detail), commands(&detail, &endpoints));
    let (image, mounts) = (image_view(&detail), mounts_view(&detail.mounts));
    let ui = detail.manifest.ui.map(|ui| Ui { extension_kind: ui.extension_kind, path: ui.path });
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
        image,
        mounts,
        values: detail.values,
        ui,
        access: Access { endpoints, instructions, notes, commands },
        recent_events: detail.recent,
        instance,
    }))
}

/// Each declared port, where it is and whether something answers there.
fn endpoints(call: &Call, detail: &Detail) -> Vec<EndpointView> {
    let names = call.app.gateway.get().map(|gateway| gateway.names());
    let live = !detail.instance.state.is_decommissioned();
    let health = |component: &str| {
        let found = detail.components.iter().find(|one| one.name == component);
        match detail.instance.state.status {
            Status::Running if found.is_none_or(|one| one.ready) => EndpointHealth::Ready,
            Status::Created | Status::Starting | Status::Running => EndpointHealth::Starting,
            Status::Stopping | Status::Stopped | Status::Failed => EndpointHealth::Down,
        }
    };
    let view = |endpoint: &Endpoint| {
        let label = endpoint.label.as_ref().filter(|_| live);
        EndpointView {
            url: names.zip(label).map(|(names, label)| format!("{}/", names.origin(label))),
            path: detail.path(endpoint),
            title: detail.title(endpoint),
            health: health(&endpoint.component),
            endpoint: endpoint.clone(),
        }
    };
    detail.endpoints.iter().map(view).collect()
}

fn image_view(detail: &Detail) -> Option<InstanceImage> {
    let (reference, artifact) = detail.image.as_ref()?;
    let artifact = artifact.as_ref();
    Some(InstanceImage {
        reference: reference.to_string(),
        digest: reference.digest().to_string(),
        trust: artifact.map(|artifact| artifact.trust.state),
        signer: artifact.and_then(|artifact| artifact.trust.signer.clone()),
        variant: artifact.and_then(|artifact| artifact.variant.clone()),
        channel: artifact.and_then(|artifact| artifact.channel.clone()),
    })
}

fn mounts_view(mounts: &[PlannedMount]) -> Vec<InstanceMount> {
    mounts
        .iter()
        .map(|mount| InstanceMount {
            name: mount.name.clone(),
            path: mount.path.clone(),
            kind: mount.kind,
            read_only: mount.read_only,
            source: mount.source.clone(),
            volume_name: mount.volume_name.clone(),
        })
        .collect()
}

/// What the author says about the ways that are open.
fn notes(detail: &Detail) -> Vec<String> {
    let live = detail.instance.state.is_live();
    let Some(outputs) = detail.manifest.outputs.as_ref().filter(|_| live) else { return Vec::new() };
    let is_open = |proxied: bool| {
        let mut outside = detail.endpoints.iter().filter(|endpoint| endpoint.expose != "internal");
        outside.any(|endpoint| endpoint.mode.is_proxied() == proxied)
    };
    let ways = [(&outputs.access.private, is_open(false)), (&outputs.access.proxy, is_open(true))];
    ways.into_iter().filter(|(_, open)| *open).filter_map(|(note, _)| note.clone()).collect()
}

/// The app's own commands, with the addresses that people outside have.
fn commands(detail: &Detail, endpoints: &[EndpointView]) -> Vec<AppCommand> {
    if !detail.instance.state.is_live() {
        return Vec::new();
    }
    let running = outputs::Running {
        values: &detail.values,
        needs: detail.needs,
        node_name: detail.node.as_ref().map_or("", |node| node.name.as_str()),
        accelerator: detail.accelerator,
    };
    let address = |component: &str, port: u16| {
        let is_it =
            |one: &&EndpointView| one.endpoint.component == component && one.endpoint.port == i64::from(port);
        let found = endpoints.iter().find(is_it)?;
        // Without an address of its own it is where a tunnel ends.
        Some(found.url.clone().unwrap_or_else(|| format!("http://127.0.0.1:{port}")))
    };
    let found = outputs::commands(&detail.manifest, &running, address).into_iter();
    found
        .map(|one| AppCommand {
            line: outputs::line(&one.command),
            name: one.name,
            title: one.title,
            command: one.command,
        })
        .collect()
}

/// How people reach a private port (J-02), while there is something to reach.
fn instructions(detail: &Detail) -> Vec<String> {
    let mut all = Vec::new();
    if !detail.instance.state.is_live() {
        return all;
    }
    for endpoint in detail.endpoints.iter().filter(|endpoint| endpoint.expose != "internal") {
        if endpoint.mode.is_proxied() {
            all.push(format!(
                "gpuaas open {} --project {} opens {} in the browser",
                detail.instance.id, detail.instance.project_id, endpoint.name
            ));
        }
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
