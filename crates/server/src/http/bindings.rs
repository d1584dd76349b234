//! Bindings over HTTP, at platform, tenant and project alike.

use gpuaas_api::envelope::{List, PageQuery};
use gpuaas_api::identity::{Binding, NewBinding};
use gpuaas_control_plane::operations::bindings::{self, Who};
use gpuaas_domain::Error;
use gpuaas_domain::text::Email;

use super::extract::{Body, Call, Parsing, Query, page_request, parsed};
use super::problem::ApiResult;
use super::reply::{self, Created, Found, NoContent};

pub(super) async fn list(call: Call, Query(query): Query<PageQuery>) -> ApiResult<Found<List<Binding>>> {
    let list = call.list_name("");
    let page = bindings::list(&call, call.target()?, &page_request(&query, &list)?).await?;
    Ok(Found(reply::list(page, &list)))
}

pub(super) async fn create(call: Call, Body(new): Body<NewBinding>) -> ApiResult<Created<Binding>> {
    let target = call.target()?;
    let who = who(&new)?;
    call.commit(bindings::create(&call, target, &new.role, who).await?).await
}

fn who(new: &NewBinding) -> ApiResult<Who> {
    match (new.user_id, new.email.as_deref(), new.service_account_id) {
        (Some(id), None, None) => Ok(Who::User(id)),
        (None, None, Some(id)) => Ok(Who::ServiceAccount(id)),
        (None, Some(email), None) => {
            let mut parsing = Parsing::default();
            let email = parsing.field("/email", Email::parse(email));
            parsing.finish()?;
            Ok(Who::Email(parsed(email)?))
        }
        _ => Err(Error::field(
            "/",
            "one_principal",
            "Give exactly one of user_id, email and service_account_id.",
        )
        .into()),
    }
}

pub(super) async fn delete(call: Call) -> ApiResult<NoContent> {
    let target = call.target()?;
    call.commit(bindings::delete(&call, target, call.id("binding_id")?).await?).await
}
