//! Projects over HTTP.

use gpuaas_api::envelope::{List, PageQuery};
use gpuaas_api::identity::{Because, NewProject, Project, Rename};
use gpuaas_control_plane::operations::projects;
use gpuaas_domain::standing::Move;
use gpuaas_domain::text::{DisplayName, Slug};

use super::extract::{Body, Call, MaybeBody, Parsing, Query, page_request, parsed};
use super::problem::ApiResult;
use super::reply::{self, Created, Found, NoContent};
use super::tenants::reason;

pub(super) async fn list_visible(
    call: Call,
    Query(query): Query<PageQuery>,
) -> ApiResult<Found<List<Project>>> {
    let list = call.list_name("");
    let page = projects::list_visible(&call, &page_request(&query, &list)?).await?;
    Ok(Found(reply::list(page, &list)))
}

pub(super) async fn list(call: Call, Query(query): Query<PageQuery>) -> ApiResult<Found<List<Project>>> {
    let list = call.list_name("");
    let page = projects::list(&call, call.id("tenant_id")?, &page_request(&query, &list)?).await?;
    Ok(Found(reply::list(page, &list)))
}

pub(super) async fn create(call: Call, Body(new): Body<NewProject>) -> ApiResult<Created<Project>> {
    let mut parsing = Parsing::default();
    let slug = parsing.field("/slug", Slug::parse(&new.slug));
    let name = parsing.optional("/display_name", new.display_name.as_deref(), DisplayName::parse);
    parsing.finish()?;
    call.commit(projects::create(&call, call.id("tenant_id")?, parsed(slug)?, name).await?).await
}

pub(super) async fn get(call: Call) -> ApiResult<Found<Project>> {
    Ok(Found(projects::get(&call, call.id("project_id")?).await?.into()))
}

pub(super) async fn rename(call: Call, Body(new): Body<Rename>) -> ApiResult<Found<Project>> {
    let mut parsing = Parsing::default();
    let name = parsing.field("/display_name", DisplayName::parse(&new.display_name));
    parsing.finish()?;
    call.commit(projects::rename(&call, call.id("project_id")?, parsed(name)?).await?).await
}

pub(super) async fn suspend(call: Call, MaybeBody(because): MaybeBody<Because>) -> ApiResult<Found<Project>> {
    call.commit(projects::move_to(&call, call.id("project_id")?, Move::Suspend, reason(&because)?).await?)
        .await
}

pub(super) async fn resume(call: Call, MaybeBody(because): MaybeBody<Because>) -> ApiResult<Found<Project>> {
    call.commit(projects::move_to(&call, call.id("project_id")?, Move::Resume, reason(&because)?).await?)
        .await
}

pub(super) async fn delete(call: Call, MaybeBody(because): MaybeBody<Because>) -> ApiResult<NoContent> {
    call.commit(projects::delete(&call, call.id("project_id")?, reason(&because)?).await?).await
}
