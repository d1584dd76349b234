//! SKUs and their price book.

use gpuaas_domain::allocation::{GrantPolicy, Price, Sku};
use gpuaas_domain::event::{Change, EventType, ObjectRef};
use gpuaas_domain::iam::Permission;
use gpuaas_domain::ids::PriceId;
use gpuaas_domain::page::{Page, PageRequest};
use gpuaas_domain::text::DisplayName;
use gpuaas_domain::{Error, FieldError, Result, Timestamp};
use serde_json::json;

use crate::{OpContext, Prepared};

/// A SKU with its price book.
pub struct Priced {
    pub sku: Sku,
    pub prices: Vec<Price>,
    /// The moment this was true.
    pub at: Timestamp,
}

/// What a price is made of.
pub struct NewPrice {
    pub amount_micros: i64,
    pub currency: String,
    pub per_units: i64,
    pub unit: String,
    pub valid_from: Option<Timestamp>,
}

pub async fn list(ctx: &OpContext, page: &PageRequest) -> Result<Page<Priced>> {
    ctx.known()?;
    let mut session = ctx.plane.store.read().await?;
    let found = session.list_skus(page).await?;
    let mut items = Vec::with_capacity(found.items.len());
    for sku in found.items {
        items.push(Priced { prices: session.list_prices(sku.id).await?, sku, at: ctx.now() });
    }
    Ok(Page { items, next: found.next })
}

pub async fn get(ctx: &OpContext, slug: &str) -> Result<Priced> {
    ctx.known()?;
    let mut session = ctx.plane.store.read().await?;
    let sku = session.find_sku_by_slug(slug).await?.ok_or_else(Error::not_found)?;
    Ok(Priced { prices: session.list_prices(sku.id).await?, sku, at: ctx.now() })
}

pub async fn create(ctx: &OpContext, sku: Sku, price: Option<NewPrice>) -> Result<Prepared<Priced>> {
    let permit = ctx.permit_platform(Permission::SkuManage).await?;
    let mut tx = ctx.begin(&permit).await?;
    let at = tx.at();
    let sku = Sku { created_at: at, updated_at: at, version: 1, ..sku };
    tx.insert_sku(&sku).await?;
    let mut prices = Vec::new();
    if let Some(price) = price {
        let price = make_price(ctx, &sku, price, at)?;
        tx.insert_price(&price).await?;
        prices.push(price);
    }
    let change = Change::new(ctx.route.action, ObjectRef::new("sku", sku.id))
        .after(sku.audit_view())
        .event(EventType::SkuChanged, json!({"sku": sku.slug, "sku_id": sku.id}));
    Ok(Prepared::new(tx, change, Priced { sku, prices, at }))
}

fn make_price(ctx: &OpContext, sku: &Sku, price: NewPrice, now: Timestamp) -> Result<Price> {
    let mut faults = Vec::new();
    let mut note = |path: &str, code, message: &str| faults.push(FieldError::new(path, code, message));
    if !(0..=1_000_000_000_000_000).contains(&price.amount_micros) {
        note("/amount_micros", "out_of_range", "Use 0 to 10^15 millionths.");
    }
    if !(1..=1_000_000_000).contains(&price.per_units) {
        note("/per_units", "out_of_range", "Use 1 to 10^9 units.");
    }
    if price.currency.len() != 3 || !price.currency.bytes().all(|b| b.is_ascii_uppercase()) {
        note("/currency", "invalid_currency", "Use three capital letters, such as EUR.");
    }
    if price.unit != "allocation_seconds" {
        note("/unit", "unknown_unit", "The unit is allocation_seconds.");
    }
    let valid_from = price.valid_from.unwrap_or(now);
    if valid_from < now {
        note(
            "/valid_from",
            "in_the_past",
            "A price cannot begin in the past: what was charged stays as it was.",
        );
    }
    if !faults.is_empty() {
        return Err(Error::fields(faults));
    }
    Ok(Price {
        id: PriceId::new(ctx.plane.new_uuid()),
        sku_id: sku.id,
        amount_micros: price.amount_micros,
        currency: price.currency,
        per_units: price.per_units,
        unit: price.unit,
        valid_from,
    })
}

pub async fn update(
    ctx: &OpContext,
    slug: &str,
    name: Option<DisplayName>,
    policy: Option<GrantPolicy>,
    retired: Option<bool>,
) -> Result<Prepared<Priced>> {
    let permit = ctx.permit_platform(Permission::SkuManage).await?;
    let mut tx = ctx.begin(&permit).await?;
    let before = tx.find_sku_by_slug(slug).await?.ok_or_else(Error::not_found)?;
    ctx.check_version(before.version)?;
    let wanted = Sku {
        display_name: name.map_or_else(|| before.display_name.clone(), String::from),
        grant_policy: policy.unwrap_or(before.grant_policy),
        retired: retired.unwrap_or(before.retired),
        ..before.clone()
    };
    let sku = tx.update_sku(wanted).await?;
    let prices = tx.list_prices(sku.id).await?;
    let change = Change::new(ctx.route.action, ObjectRef::new("sku", sku.id))
        .before(before.audit_view())
        .after(sku.audit_view())
        .event(EventType::SkuChanged, json!({"sku": sku.slug, "sku_id": sku.id}));
    let at = tx.at();
    Ok(Prepared::new(tx, change, Priced { sku, prices, at }))
}

pub async fn add_price(ctx: &OpContext, slug: &str, price: NewPrice) -> Result<Prepared<Priced>> {
    let permit = ctx.permit_platform(Permission::SkuManage).await?;
    let mut tx = ctx.begin(&permit).await?;
    let sku = tx.find_sku_by_slug(slug).await?.ok_or_else(Error::not_found)?;
    let price = make_price(ctx, &sku, price, tx.at())?;
    tx.insert_price(&price).await?;
    let prices = tx.list_prices(sku.id).await?;
    let change = Change::new(ctx.route.action, ObjectRef::new("sku", sku.id))
        .after(json!({"price_id": price.id, "amount_micros": price.amount_micros, "currency": price.currency,
                      "per_units": price.per_units, "unit": price.unit, "valid_from": price.valid_from}))
        .event(EventType::SkuChanged, json!({"sku": sku.slug, "sku_id": sku.id, "price_id": price.id}));
    let at = tx.at();
    Ok(Prepared::new(tx, change, Priced { sku, prices, at }))
}
