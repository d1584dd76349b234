//! Roles over HTTP.

use gpuaas_api::envelope::{List, PageQuery};
use gpuaas_api::identity::{NewRole, PermissionView, Role, RoleUpdate};
use gpuaas_control_plane::operations::roles;
use gpuaas_domain::iam::Permission;
use gpuaas_domain::text::{DisplayName, Slug};

use super::extract::{Body, Call, Parsing, Query, page_request, parsed};
use super::problem::ApiResult;
use super::reply::{self, Created, Found, NoContent};

/// Short and fixed, so it has one page.
pub(super) async fn permissions(call: Call) -> ApiResult<Found<List<PermissionView>>> {
    call.known()?;
    let items = Permission::ALL
        .iter()
        .map(|permission| PermissionView {
            key: permission.key().into(),
            about: permission.about().into(),
            needs_human: permission.needs_human(),
        })
        .collect();
    Ok(Found(List { items, next_cursor: None }))
}

pub(super) async fn list(call: Call, Query(query): Query<PageQuery>) -> ApiResult<Found<List<Role>>> {
    let list = call.list_name("");
    let page = roles::list(&call, &page_request(&query, &list)?).await?;
    Ok(Found(reply::list(page, &list)))
}

pub(super) async fn get(call: Call) -> ApiResult<Found<Role>> {
    Ok(Found(roles::get(&call, call.id("role_id")?).await?.into()))
}

pub(super) async fn create(call: Call, Body(new): Body<NewRole>) -> ApiResult<Created<Role>> {
    let mut parsing = Parsing::default();
    let slug = parsing.field("/slug", Slug::parse(&new.slug));
    let name = parsing.optional("/display_name", new.display_name.as_deref(), DisplayName::parse);
    parsing.finish()?;
    let permissions = roles::parse_permissions(&new.permissions)?;
    call.commit(roles::create(&call, parsed(slug)?, name, permissions).await?).await
}

pub(super) async fn update(call: Call, Body(update): Body<RoleUpdate>) -> ApiResult<Found<Role>> {
    let mut parsing = Parsing::default();
    let name = parsing.optional("/display_name", update.display_name.as_deref(), DisplayName::parse);
    parsing.finish()?;
    let permissions = update.permissions.as_deref().map(roles::parse_permissions).transpose()?;
    call.commit(roles::update(&call, call.id("role_id")?, name, permissions).await?).await
}

pub(super) async fn delete(call: Call) -> ApiResult<NoContent> {
    call.commit(roles::delete(&call, call.id("role_id")?).await?).await
}
