//! What instances say about themselves, over HTTP; and the keys that their nodes show for them.

use gpuaas_api::own_instance::{
    IdentityGranted, IdentityRequest, MemberEmission, MeteringBatch, MeteringRecord, MeteringTaken, OwnStatus,
};
use gpuaas_control_plane::operations::instance_identity::{self, Registered};
use gpuaas_control_plane::operations::own_instance::{self, Said, Taken};
use gpuaas_domain::metering::Reading;
use gpuaas_domain::text::Slug;

use super::extract::{Body, Call, MaybeBody, Parsing, parsed};
use super::problem::ApiResult;
use super::reply::{Found, NoContent};

pub(super) async fn register(
    call: Call,
    Body(shown): Body<IdentityRequest>,
) -> ApiResult<Found<IdentityGranted>> {
    let id = call.id("app_instance_id")?;
    let prepared = instance_identity::register(&call, id, shown.generation, &shown.public_key).await?;
    let view = |registered: Registered| IdentityGranted {
        app_instance_id: registered.instance,
        service_account_id: registered.account,
        key_id: registered.key,
        audience: registered.audience,
    };
    call.commit(prepared.map(view)).await
}

pub(super) async fn status(call: Call) -> ApiResult<Found<OwnStatus>> {
    let own_instance::OwnStatus { instance, identity, role } =
        own_instance::status(&call, call.id("app_instance_id")?).await?;
    Ok(Found(OwnStatus {
        app_instance_id: instance.id,
        name: instance.name,
        project_id: instance.project_id,
        app_slug: instance.app_slug,
        app_version: instance.app_version,
        status: instance.state.status,
        health: instance.state.health,
        generation: instance.state.desired,
        service_account_id: identity.service_account_id,
        role: role.to_owned(),
        last_heartbeat_at: identity.heard_at,
    }))
}

/// Apps tell all kinds of things with a heartbeat; that it came is what counts.
pub(super) async fn heartbeat(
    call: Call,
    MaybeBody(_): MaybeBody<serde_json::Map<String, serde_json::Value>>,
) -> ApiResult<NoContent> {
    own_instance::heartbeat(&call, call.id("app_instance_id")?).await?;
    Ok(NoContent)
}

pub(super) async fn emit(call: Call, Body(said): Body<MemberEmission>) -> ApiResult<NoContent> {
    let mut parsing = Parsing::default();
    let member = parsing.field("/member", Slug::parse(&said.member));
    parsing.finish()?;
    let instance = call.id("app_instance_id")?;
    call.app.emitted.take(instance, call.now())?;
    let said = Said { emission: said.event, member: parsed(member)?, role: said.role, detail: said.detail };
    call.commit(own_instance::emit(&call, instance, said).await?).await
}

pub(super) async fn meter(call: Call, Body(batch): Body<MeteringBatch>) -> ApiResult<Found<MeteringTaken>> {
    let reading = |record: MeteringRecord| Reading {
        meter: record.meter,
        quantity: record.quantity,
        window_start: record.window_start,
        window_end: record.window_end,
        key: record.key,
    };
    let readings: Vec<_> = batch.records.into_iter().map(reading).collect();
    let instance = call.id("app_instance_id")?;
    // What is kept for ever comes at a pace.
    let count = u32::try_from(readings.len()).unwrap_or(u32::MAX);
    call.app.metered.take_many(instance, count, call.now())?;
    let prepared = own_instance::meter(&call, instance, readings).await?;
    let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    let view =
        |taken: Taken| MeteringTaken { accepted: count(taken.accepted), known_before: count(taken.known) };
    call.commit(prepared.map(view)).await
}
