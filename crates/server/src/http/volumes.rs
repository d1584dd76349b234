//! Volumes over HTTP.

use gpuaas_agent_protocol::receipt::SignedReceipt;
use gpuaas_api::envelope::{List, PageQuery};
use gpuaas_api::identity::Because;
use gpuaas_api::volumes::{NewVolume, Volume, VolumeDetail, VolumeQuery};
use gpuaas_control_plane::operations::volumes;
use gpuaas_domain::Error;
use gpuaas_domain::text::Slug;
use gpuaas_domain::volume::{MAX_SIZE_MIB, VolumeState};

use super::extract::{Body, Call, MaybeBody, Parsing, Query, page_request, parsed};
use super::problem::ApiResult;
use super::reply::{self, Accepted, Created, Found};
use super::tenants::reason;

pub(super) async fn list(call: Call, Query(query): Query<VolumeQuery>) -> ApiResult<Found<List<Volume>>> {
    let list = call.list_name(query.state.map_or("", VolumeState::name));
    let page = page_request(&PageQuery { limit: query.limit, cursor: query.cursor.clone() }, &list)?;
    Ok(Found(reply::list(volumes::list(&call, call.id("project_id")?, query.state, &page).await?, &list)))
}

pub(super) async fn get(call: Call) -> ApiResult<Found<VolumeDetail>> {
    let detail = volumes::get(&call, call.id("project_id")?, call.id("volume_id")?).await?;
    let node = detail.node.as_ref();
    Ok(Found(VolumeDetail {
        node_name: node.map(|node| node.name.clone()).unwrap_or_default(),
        node_connected: node.is_some_and(|node| node.agent_connected_at.is_some()),
        attachments: detail.holders,
        receipt: detail.receipt.map(|(payload, signature)| SignedReceipt { payload, signature }),
        volume: detail.volume,
    }))
}

pub(super) async fn create(call: Call, Body(new): Body<NewVolume>) -> ApiResult<Created<Volume>> {
    let mut parsing = Parsing::default();
    let name = parsing.field("/name", Slug::parse(&new.name));
    parsing.finish()?;
    if new.size_mib.is_some_and(|size| !(1..=MAX_SIZE_MIB).contains(&size)) {
        let sentence = format!("Use 1 to {MAX_SIZE_MIB}.");
        return Err(Error::field("/size_mib", "out_of_range", sentence).into());
    }
    let wanted =
        volumes::NewVolume { name: parsed(name)?, allocation: new.allocation_id, size_mib: new.size_mib };
    call.commit(volumes::create(&call, call.id("project_id")?, wanted).await?).await
}

pub(super) async fn delete(
    call: Call,
    MaybeBody(because): MaybeBody<Because>,
) -> ApiResult<Accepted<Volume>> {
    let (project, id) = (call.id("project_id")?, call.id("volume_id")?);
    call.commit(volumes::delete(&call, project, id, reason(&because)?).await?).await
}
