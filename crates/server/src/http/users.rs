//! People over HTTP.

use gpuaas_api::envelope::{List, PageQuery};
use gpuaas_api::identity::{Because, CreatedUser, NewUser, User, UserUpdate};
use gpuaas_control_plane::operations::users;
use gpuaas_domain::standing::Move;
use gpuaas_domain::text::{DisplayName, Email};

use super::extract::{Body, Call, MaybeBody, Parsing, Query, page_request, parsed};
use super::problem::ApiResult;
use super::reply::{self, Created, Found, NoContent};
use super::tenants::reason;

fn with_password(made: users::WithPassword) -> CreatedUser {
    CreatedUser {
        user: made.user.into(),
        initial_password: made.made_password.map(|password| password.expose().clone()),
        secret_redacted: false,
    }
}

pub(super) async fn list(call: Call, Query(query): Query<PageQuery>) -> ApiResult<Found<List<User>>> {
    let list = call.list_name("");
    let page = users::list(&call, &page_request(&query, &list)?).await?;
    Ok(Found(reply::list(page, &list)))
}

pub(super) async fn create(call: Call, Body(new): Body<NewUser>) -> ApiResult<Created<CreatedUser>> {
    let mut parsing = Parsing::default();
    let email = parsing.field("/email", Email::parse(&new.email));
    let display_name = parsing.optional("/display_name", new.display_name.as_deref(), DisplayName::parse);
    parsing.finish()?;
    let new = users::NewUser { email: parsed(email)?, display_name, password: new.password };
    call.commit(users::create(&call, new).await?.map(with_password)).await
}

pub(super) async fn get(call: Call) -> ApiResult<Found<User>> {
    Ok(Found(users::get(&call, call.id("user_id")?).await?.into()))
}

pub(super) async fn update(call: Call, Body(update): Body<UserUpdate>) -> ApiResult<Found<User>> {
    let mut parsing = Parsing::default();
    let email = parsing.optional("/email", update.email.as_deref(), Email::parse);
    let name = parsing.optional("/display_name", update.display_name.as_deref(), DisplayName::parse);
    parsing.finish()?;
    call.commit(users::update(&call, call.id("user_id")?, email, name).await?).await
}

pub(super) async fn reset_password(call: Call) -> ApiResult<Found<CreatedUser>> {
    call.commit(users::reset_password(&call, call.id("user_id")?).await?.map(with_password)).await
}

pub(super) async fn suspend(call: Call, MaybeBody(because): MaybeBody<Because>) -> ApiResult<Found<User>> {
    call.commit(users::move_to(&call, call.id("user_id")?, Move::Suspend, reason(&because)?).await?).await
}

pub(super) async fn resume(call: Call, MaybeBody(because): MaybeBody<Because>) -> ApiResult<Found<User>> {
    call.commit(users::move_to(&call, call.id("user_id")?, Move::Resume, reason(&because)?).await?).await
}

pub(super) async fn delete(call: Call, MaybeBody(because): MaybeBody<Because>) -> ApiResult<NoContent> {
    call.commit(users::delete(&call, call.id("user_id")?, reason(&because)?).await?).await
}
