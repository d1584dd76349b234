//! Tenants over HTTP.

use gpuaas_api::envelope::{List, PageQuery};
use gpuaas_api::identity::{Because, NewTenant, Rename, Tenant};
use gpuaas_control_plane::operations::tenants;
use gpuaas_domain::standing::Move;
use gpuaas_domain::text::{DisplayName, Reason, Slug};

use super::extract::{Body, Call, MaybeBody, Parsing, Query, page_request, parsed};
use super::problem::ApiResult;
use super::reply::{self, Created, Found, NoContent};

pub(super) async fn list(call: Call, Query(query): Query<PageQuery>) -> ApiResult<Found<List<Tenant>>> {
    let list = call.list_name("");
    let page = tenants::list(&call, &page_request(&query, &list)?).await?;
    Ok(Found(reply::list(page, &list)))
}

pub(super) async fn create(call: Call, Body(new): Body<NewTenant>) -> ApiResult<Created<Tenant>> {
    let mut parsing = Parsing::default();
    let slug = parsing.field("/slug", Slug::parse(&new.slug));
    let name = parsing.optional("/display_name", new.display_name.as_deref(), DisplayName::parse);
    parsing.finish()?;
    call.commit(tenants::create(&call, parsed(slug)?, name).await?).await
}

pub(super) async fn get(call: Call) -> ApiResult<Found<Tenant>> {
    Ok(Found(tenants::get(&call, call.id("tenant_id")?).await?.into()))
}

pub(super) async fn rename(call: Call, Body(new): Body<Rename>) -> ApiResult<Found<Tenant>> {
    let mut parsing = Parsing::default();
    let name = parsing.field("/display_name", DisplayName::parse(&new.display_name));
    parsing.finish()?;
    call.commit(tenants::rename(&call, call.id("tenant_id")?, parsed(name)?).await?).await
}

/// The reason somebody gave, if any.
pub(super) fn reason(because: &Because) -> ApiResult<Option<String>> {
    let mut parsing = Parsing::default();
    let reason = parsing.optional("/reason", because.reason.as_deref(), Reason::parse);
    parsing.finish()?;
    Ok(reason.map(|reason| reason.as_str().to_owned()))
}

pub(super) async fn suspend(call: Call, MaybeBody(because): MaybeBody<Because>) -> ApiResult<Found<Tenant>> {
    call.commit(tenants::move_to(&call, call.id("tenant_id")?, Move::Suspend, reason(&because)?).await?).await
}

pub(super) async fn resume(call: Call, MaybeBody(because): MaybeBody<Because>) -> ApiResult<Found<Tenant>> {
    call.commit(tenants::move_to(&call, call.id("tenant_id")?, Move::Resume, reason(&because)?).await?).await
}

pub(super) async fn delete(call: Call, MaybeBody(because): MaybeBody<Because>) -> ApiResult<NoContent> {
    call.commit(tenants::delete(&call, call.id("tenant_id")?, reason(&because)?).await?).await
}
