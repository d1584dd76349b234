//! SKUs and allocations over HTTP.

use gpuaas_api::allocations::{
    Allocation, AllocationDetail, AllocationQuery, FreeShare, GrantAllocation, NewAllocation, NewPrice,
    NewSku, Sku, SkuChange, SkuView,
};
use gpuaas_api::envelope::{List, PageQuery};
use gpuaas_api::identity::Because;
use gpuaas_control_plane::operations::{allocations, skus};
use gpuaas_domain::allocation::prices_at;
use gpuaas_domain::ids::SkuId;
use gpuaas_domain::text::{DisplayName, Slug};
use gpuaas_domain::{Error, FieldError};

use super::extract::{Body, Call, MaybeBody, Parsing, Query, page_request, parsed};
use super::problem::ApiResult;
use super::reply::{self, Created, Found};
use super::tenants::reason;

fn sku_view(priced: skus::Priced) -> SkuView {
    let current_price_ids = prices_at(&priced.prices, priced.at).into_iter().map(|price| price.id).collect();
    SkuView { sku: priced.sku, prices: priced.prices, current_price_ids }
}

pub(super) async fn list_skus(call: Call, Query(query): Query<PageQuery>) -> ApiResult<Found<List<SkuView>>> {
    let list = call.list_name("");
    let page = skus::list(&call, &page_request(&query, &list)?).await?;
    Ok(Found(reply::list(page.map(sku_view), &list)))
}

pub(super) async fn get_sku(call: Call) -> ApiResult<Found<SkuView>> {
    let slug = call.slug("sku")?;
    Ok(Found(sku_view(skus::get(&call, slug.as_str()).await?)))
}

fn new_price(price: NewPrice) -> skus::NewPrice {
    let NewPrice { amount_micros, currency, per_units, unit, valid_from } = price;
    skus::NewPrice { amount_micros, currency, per_units, unit, valid_from }
}

pub(super) async fn create_sku(call: Call, Body(new): Body<NewSku>) -> ApiResult<Created<SkuView>> {
    let mut parsing = Parsing::default();
    let slug = parsing.field("/slug", Slug::parse(&new.slug));
    let name = parsing.optional("/display_name", new.display_name.as_deref(), DisplayName::parse);
    let model = parsing.optional("/gpu_model", new.gpu_model.as_deref(), DisplayName::parse);
    parsing.finish()?;
    let mut faults = Vec::new();
    for (path, value, least, most) in [
        ("/gpu_count", new.gpu_count, 0, 1024),
        ("/vcpu", new.vcpu, 1, 4096),
        ("/memory_mib", new.memory_mib, 64, 67_108_864),
    ] {
        if !(least..=most).contains(&value) {
            faults.push(FieldError::new(path, "out_of_range", format!("Use {least} to {most}.")));
        }
    }
    if !faults.is_empty() {
        return Err(Error::fields(faults).into());
    }
    let slug = parsed(slug)?;
    let now = call.now();
    let sku = Sku {
        id: SkuId::new(call.plane.new_uuid()),
        display_name: name.map_or_else(|| slug.to_string(), String::from),
        slug: slug.into(),
        shape: new.shape,
        gpu_count: new.gpu_count,
        gpu_vendor: new.gpu_vendor,
        gpu_model: model.map(String::from),
        vcpu: new.vcpu,
        memory_mib: new.memory_mib,
        grant_policy: new.grant_policy,
        retired: false,
        version: 1,
        created_at: now,
        updated_at: now,
    };
    let prepared = skus::create(&call, sku, new.price.map(new_price)).await?;
    call.commit(prepared.map(sku_view)).await
}

pub(super) async fn update_sku(call: Call, Body(change): Body<SkuChange>) -> ApiResult<Found<SkuView>> {
    let mut parsing = Parsing::default();
    let name = parsing.optional("/display_name", change.display_name.as_deref(), DisplayName::parse);
    parsing.finish()?;
    let slug = call.slug("sku")?;
    let prepared = skus::update(&call, slug.as_str(), name, change.grant_policy, change.retired).await?;
    call.commit(prepared.map(sku_view)).await
}

pub(super) async fn add_price(call: Call, Body(price): Body<NewPrice>) -> ApiResult<Created<SkuView>> {
    let slug = call.slug("sku")?;
    let prepared = skus::add_price(&call, slug.as_str(), new_price(price)).await?;
    call.commit(prepared.map(sku_view)).await
}

fn page_of(query: &AllocationQuery) -> PageQuery {
    PageQuery { limit: query.limit, cursor: query.cursor.clone() }
}

fn filters(query: &AllocationQuery) -> String {
    query.state.map_or_else(String::new, |state| state.name().to_owned())
}

pub(super) async fn list(
    call: Call,
    Query(query): Query<AllocationQuery>,
) -> ApiResult<Found<List<Allocation>>> {
    let list = call.list_name(&filters(&query));
    let page = page_request(&page_of(&query), &list)?;
    Ok(Found(reply::list(allocations::list(&call, call.id("project_id")?, query.state, &page).await?, &list)))
}

pub(super) async fn list_all(
    call: Call,
    Query(query): Query<AllocationQuery>,
) -> ApiResult<Found<List<Allocation>>> {
    let list = call.list_name(&filters(&query));
    let page = page_request(&page_of(&query), &list)?;
    Ok(Found(reply::list(allocations::list_all(&call, query.state, &page).await?, &list)))
}

pub(super) async fn get(call: Call) -> ApiResult<Found<AllocationDetail>> {
    let detail = allocations::get(&call, call.id("project_id")?, call.id("allocation_id")?).await?;
    let node = detail.node.as_ref();
    let mut accelerators: Vec<String> = detail.gpus.iter().map(|gpu| gpu.vendor.name().to_owned()).collect();
    accelerators.dedup();
    let (allocation, in_use) = (detail.allocation, detail.in_use);
    Ok(Found(AllocationDetail {
        sku: detail.sku,
        node_name: node.map(|node| node.name.clone()),
        capabilities: node
            .map_or_else(Vec::new, |node| node.capabilities().into_iter().map(str::to_owned).collect()),
        accelerators,
        simulated: detail.gpus.iter().any(|gpu| gpu.simulated)
            || node.is_some_and(|node| {
                node.inventory.runtime == gpuaas_agent_protocol::inventory::Runtime::Simulated
            }),
        free: FreeShare {
            gpus: allocation.gpu_count - i64::try_from(in_use.gpus.len()).unwrap_or(0),
            cpu_millis: allocation.vcpu * 1000 - in_use.cpu_millis,
            memory_mib: allocation.memory_mib - in_use.memory_mib,
        },
        gpus: detail.gpus,
        allocation,
    }))
}

pub(super) async fn request(call: Call, Body(new): Body<NewAllocation>) -> ApiResult<Created<Allocation>> {
    let mut parsing = Parsing::default();
    let sku = parsing.field("/sku", Slug::parse(&new.sku));
    let name = parsing.optional("/name", new.name.as_deref(), Slug::parse);
    let note = parsing.optional("/note", new.note.as_deref(), gpuaas_domain::text::Reason::parse);
    parsing.finish()?;
    let note = note.map(|note| note.as_str().to_owned());
    call.commit(allocations::request(&call, call.id("project_id")?, parsed(sku)?.as_str(), name, note).await?)
        .await
}

pub(super) async fn grant(
    call: Call,
    MaybeBody(grant): MaybeBody<GrantAllocation>,
) -> ApiResult<Found<Allocation>> {
    call.commit(allocations::grant(&call, call.id("allocation_id")?, grant.node_id).await?).await
}

pub(super) async fn deny(call: Call, MaybeBody(because): MaybeBody<Because>) -> ApiResult<Found<Allocation>> {
    call.commit(allocations::deny(&call, call.id("allocation_id")?, reason(&because)?).await?).await
}

pub(super) async fn release(
    call: Call,
    MaybeBody(because): MaybeBody<Because>,
) -> ApiResult<Found<Allocation>> {
    let (project, id) = (call.id("project_id")?, call.id("allocation_id")?);
    call.commit(allocations::release(&call, project, id, reason(&because)?).await?).await
}
