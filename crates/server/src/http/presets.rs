//! Presets of launch forms over HTTP.

use gpuaas_api::envelope::{List, PageQuery};
use gpuaas_api::presets::{NewPreset, Preset, PresetQuery, PresetUpdate};
use gpuaas_control_plane::operations::presets;
use gpuaas_domain::text::Slug;

use super::extract::{Body, Call, Parsing, Query, page_request, parsed};
use super::problem::ApiResult;
use super::reply::{self, Created, Found, NoContent};

pub(super) async fn list(call: Call, Query(query): Query<PresetQuery>) -> ApiResult<Found<List<Preset>>> {
    let mut parsing = Parsing::default();
    let app = parsing.optional("/app", query.app.as_deref(), Slug::parse);
    parsing.finish()?;
    let list = call.list_name(query.app.as_deref().unwrap_or(""));
    let page = page_request(&PageQuery { limit: query.limit, cursor: query.cursor.clone() }, &list)?;
    let found = presets::list(&call, call.id("project_id")?, app.as_ref(), &page).await?;
    Ok(Found(reply::list(found, &list)))
}

pub(super) async fn create(call: Call, Body(new): Body<NewPreset>) -> ApiResult<Created<Preset>> {
    let mut parsing = Parsing::default();
    let app = parsing.field("/app_slug", Slug::parse(&new.app_slug));
    let name = parsing.field("/name", Slug::parse(&new.name));
    parsing.finish()?;
    let new = presets::NewPreset {
        app: parsed(app)?,
        name: parsed(name)?,
        is_default: new.is_default,
        choices: new.choices,
    };
    call.commit(presets::create(&call, call.id("project_id")?, new).await?).await
}

pub(super) async fn update(call: Call, Body(update): Body<PresetUpdate>) -> ApiResult<Found<Preset>> {
    let mut parsing = Parsing::default();
    let name = parsing.optional("/name", update.name.as_deref(), Slug::parse);
    parsing.finish()?;
    let change = presets::PresetChange { name, is_default: update.is_default, choices: update.choices };
    let (project, id) = (call.id("project_id")?, call.id("preset_id")?);
    call.commit(presets::update(&call, project, id, change).await?).await
}

pub(super) async fn delete(call: Call) -> ApiResult<NoContent> {
    call.commit(presets::delete(&call, call.id("project_id")?, call.id("preset_id")?).await?).await
}
