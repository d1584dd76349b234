//! Limits over HTTP.

use gpuaas_api::envelope::List;
use gpuaas_api::identity::{LimitSet, LimitView};
use gpuaas_control_plane::operations::limits::{self, Effective};
use gpuaas_domain::Error;
use gpuaas_domain::limit::Limit;

use super::extract::{Body, Call};
use super::problem::ApiResult;
use super::reply::Found;

fn view(effective: Effective) -> LimitView {
    LimitView {
        name: effective.limit.name().into(),
        about: effective.limit.about().into(),
        value: effective.value,
        is_default: effective.is_default,
    }
}

pub(super) async fn list(call: Call) -> ApiResult<Found<List<LimitView>>> {
    let items = limits::list(&call, call.target()?).await?.into_iter().map(view).collect();
    Ok(Found(List { items, next_cursor: None }))
}

pub(super) async fn set(call: Call, Body(new): Body<LimitSet>) -> ApiResult<Found<LimitView>> {
    let target = call.target()?;
    let limit = call.segment("limit").and_then(Limit::parse).ok_or_else(Error::not_found)?;
    call.commit(limits::set(&call, target, limit, new.value).await?.map(view)).await
}
