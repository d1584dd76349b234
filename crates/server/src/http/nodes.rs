//! Nodes over HTTP: for their operators, and what nodes say themselves.

use gpuaas_agent_protocol::inventory::NodeInventory;
use gpuaas_agent_protocol::report::NodeReport;
use gpuaas_agent_protocol::task::Trust;
use gpuaas_api::agent::{JoinRequest, Joined, NodeToken, NodeTokenRequest};
use gpuaas_api::envelope::{List, PageQuery};
use gpuaas_api::identity::Because;
use gpuaas_api::nodes::{CreatedJoinToken, NewJoinToken, Node, NodeDetail};
use gpuaas_control_plane::operations::node_identity::{self, IssuedJoinToken, JoinWish};
use gpuaas_control_plane::operations::nodes::{self, Deed};
use gpuaas_control_plane::operations::reports;
use gpuaas_domain::ids::NodeId;
use gpuaas_domain::text::Slug;

use super::extract::{Body, Call, MaybeBody, Parsing, Query, page_request};
use super::problem::ApiResult;
use super::reply::{self, Created, Found, NoContent};
use super::tenants::reason;

pub(super) async fn create_join_token(
    call: Call,
    MaybeBody(new): MaybeBody<NewJoinToken>,
) -> ApiResult<Created<CreatedJoinToken>> {
    let mut parsing = Parsing::default();
    let name = parsing.optional("/name", new.name.as_deref(), Slug::parse);
    parsing.finish()?;
    let prepared = node_identity::create_join_token(&call, name, new.expires_in_seconds).await?;
    let view = |issued: IssuedJoinToken| CreatedJoinToken {
        id: issued.id,
        token: Some(issued.token.expose().clone()),
        server: issued.server,
        expires_at: issued.expires_at,
        secret_redacted: false,
    };
    call.commit(prepared.map(view)).await
}

pub(super) async fn join(call: Call, Body(request): Body<JoinRequest>) -> ApiResult<Created<Joined>> {
    let mut parsing = Parsing::default();
    let name = parsing.optional("/name", request.name.as_deref(), Slug::parse);
    parsing.finish()?;
    let JoinRequest { token, public_key, inventory, .. } = request;
    let prepared = node_identity::join(&call, JoinWish { token, name, public_key, inventory }).await?;
    let view = |joined: node_identity::Joined| Joined {
        node_id: joined.node.id,
        name: joined.node.name,
        ca_pem: joined.ca_pem,
        trust: joined.trust,
    };
    call.commit(prepared.map(view)).await
}

pub(super) async fn exchange(
    call: Call,
    Body(request): Body<NodeTokenRequest>,
) -> ApiResult<Found<NodeToken>> {
    let prepared = node_identity::exchange(&call, &request.assertion).await?;
    let view = |issued: gpuaas_control_plane::operations::authenticate::IssuedToken| NodeToken {
        access_token: issued.token.expose().clone(),
        token_type: "Bearer".into(),
        expires_in: issued.expires_in_seconds,
    };
    call.commit(prepared.map(view)).await
}

pub(super) async fn trust(call: Call) -> ApiResult<Found<Trust>> {
    call.node()?;
    Ok(Found(node_identity::trust(&call.plane).await?))
}

pub(super) async fn put_inventory(call: Call, Body(inventory): Body<NodeInventory>) -> ApiResult<NoContent> {
    call.commit(nodes::put_inventory(&call, inventory).await?).await
}

pub(super) async fn report(call: Call, Body(report): Body<NodeReport>) -> ApiResult<NoContent> {
    reports::record(&call.plane, call.node()?, &report).await?;
    Ok(NoContent)
}

pub(super) async fn list(call: Call, Query(query): Query<PageQuery>) -> ApiResult<Found<List<Node>>> {
    let list = call.list_name("");
    let page = nodes::list(&call, &page_request(&query, &list)?).await?;
    Ok(Found(reply::list(page, &list)))
}

pub(super) async fn get(call: Call) -> ApiResult<Found<NodeDetail>> {
    let detail = nodes::get(&call, call.id("node_id")?).await?;
    Ok(Found(NodeDetail {
        node: detail.node.into(),
        gpus: detail.gpus,
        allocations: detail.allocations,
        instances: detail.instances,
        volumes: detail.volumes,
    }))
}

async fn change(call: &Call, deed: Deed, because: &Because) -> ApiResult<Found<Node>> {
    let id: NodeId = call.id("node_id")?;
    let done = call.commit(nodes::change(call, id, deed, reason(because)?).await?).await?;
    if matches!(deed, Deed::Revoke | Deed::Forget) {
        call.plane.links().disconnect(id);
    }
    Ok(done)
}

pub(super) async fn cordon(call: Call, MaybeBody(because): MaybeBody<Because>) -> ApiResult<Found<Node>> {
    change(&call, Deed::Cordon, &because).await
}

pub(super) async fn uncordon(call: Call, MaybeBody(because): MaybeBody<Because>) -> ApiResult<Found<Node>> {
    change(&call, Deed::Uncordon, &because).await
}

pub(super) async fn drain(call: Call, MaybeBody(because): MaybeBody<Because>) -> ApiResult<Found<Node>> {
    change(&call, Deed::Drain, &because).await
}

pub(super) async fn revoke(call: Call, MaybeBody(because): MaybeBody<Because>) -> ApiResult<Found<Node>> {
    change(&call, Deed::Revoke, &because).await
}

pub(super) async fn forget(call: Call, MaybeBody(because): MaybeBody<Because>) -> ApiResult<NoContent> {
    let id: NodeId = call.id("node_id")?;
    let done =
        call.commit(nodes::change(&call, id, Deed::Forget, reason(&because)?).await?.map(drop)).await?;
    call.plane.links().disconnect(id);
    Ok(done)
}

pub(super) async fn rotate_task_key(call: Call) -> ApiResult<NoContent> {
    call.commit(node_identity::rotate_task_key(&call).await?.map(drop)).await
}
