//! SKUs and their prices.

use chrono::{DateTime, Utc};
use gpuaas_agent_protocol::inventory::Vendor;
use gpuaas_domain::allocation::{GrantPolicy, Price, Shape, Sku};
use gpuaas_domain::ids::{PriceId, SkuId};
use gpuaas_domain::page::{Page, PageRequest};
use gpuaas_domain::{Error, Result, Timestamp};
use uuid::Uuid;

use crate::dialect::{is_unique_violation, map_error};
use crate::nodes::{parse_vendor, unknown};
use crate::tenants::{after_id, one_row, slug_taken};
use crate::{Session, Tx};

row! {
    struct SkuRow {
        id: Uuid, slug: String, display_name: String, shape: String, gpu_count: i64, gpu_vendor: Option<String>,
        gpu_model: Option<String>, vcpu: i64, memory_mib: i64, grant_policy: String, retired: bool, version: i64,
        created_at: DateTime<Utc>, updated_at: DateTime<Utc>,
    }
}

macro_rules! sku_columns {
    () => {
        "id, slug, display_name, shape, gpu_count, gpu_vendor, gpu_model, vcpu, memory_mib, grant_policy, retired, version, created_at, updated_at"
    };
}

impl TryFrom<SkuRow> for Sku {
    type Error = Error;

    fn try_from(row: SkuRow) -> Result<Self> {
        Ok(Self {
            id: SkuId::new(row.id),
            slug: row.slug,
            display_name: row.display_name,
            shape: Shape::parse(&row.shape).ok_or_else(|| unknown("shape", &row.shape))?,
            gpu_count: row.gpu_count,
            gpu_vendor: row.gpu_vendor.as_deref().map(parse_vendor).transpose()?,
            gpu_model: row.gpu_model,
            vcpu: row.vcpu,
            memory_mib: row.memory_mib,
            grant_policy: GrantPolicy::parse(&row.grant_policy)
                .ok_or_else(|| unknown("policy", &row.grant_policy))?,
            retired: row.retired,
            version: row.version,
            created_at: Timestamp::new(row.created_at),
            updated_at: Timestamp::new(row.updated_at),
        })
    }
}

row! {
    struct PriceRow {
        id: Uuid, sku_id: Uuid, amount_micros: i64, currency: String, per_units: i64, unit: String, valid_from: DateTime<Utc>,
    }
}

impl Session {
    pub async fn find_sku(&mut self, id: SkuId) -> Result<Option<Sku>> {
        let row = fetch_optional!(
            self,
            SkuRow,
            concat!("SELECT ", sku_columns!(), " FROM skus WHERE id = $1"),
            id.uuid()
        )?;
        row.map(Sku::try_from).transpose()
    }

    pub async fn find_sku_by_slug(&mut self, slug: &str) -> Result<Option<Sku>> {
        let row = fetch_optional!(
            self,
            SkuRow,
            concat!("SELECT ", sku_columns!(), " FROM skus WHERE slug = $1"),
            slug
        )?;
        row.map(Sku::try_from).transpose()
    }

    pub async fn list_skus(&mut self, page: &PageRequest) -> Result<Page<Sku>> {
        let rows = fetch!(
            self,
            SkuRow,
            concat!("SELECT ", sku_columns!(), " FROM skus WHERE id > $1 ORDER BY id LIMIT $2"),
            after_id(page)?,
            i64::from(page.limit) + 1
        )?;
        let skus: Result<Vec<_>> = rows.into_iter().map(Sku::try_from).collect();
        Ok(Page::from_rows(skus?, page.limit, |sku| sku.id.to_string()))
    }

    pub async fn list_prices(&mut self, sku: SkuId) -> Result<Vec<Price>> {
        let rows = fetch!(
            self,
            PriceRow,
            "SELECT id, sku_id, amount_micros, currency, per_units, unit, valid_from FROM sku_prices WHERE sku_id = $1 ORDER BY valid_from, id",
            sku.uuid()
        )?;
        Ok(rows
            .into_iter()
            .map(|row| Price {
                id: PriceId::new(row.id),
                sku_id: SkuId::new(row.sku_id),
                amount_micros: row.amount_micros,
                currency: row.currency,
                per_units: row.per_units,
                unit: row.unit,
                valid_from: Timestamp::new(row.valid_from),
            })
            .collect())
    }
}

impl Tx {
    pub async fn insert_sku(&mut self, sku: &Sku) -> Result<()> {
        execute_raw!(
            self,
            "INSERT INTO skus (id, slug, display_name, shape, gpu_count, gpu_vendor, gpu_model, vcpu, memory_mib, grant_policy, retired, version, created_at, updated_at) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $13)",
            sku.id.uuid(),
            sku.slug.as_str(),
            sku.display_name.as_str(),
            sku.shape.name(),
            sku.gpu_count,
            sku.gpu_vendor.map(Vendor::name),
            sku.gpu_model.as_deref(),
            sku.vcpu,
            sku.memory_mib,
            sku.grant_policy.name(),
            sku.retired,
            sku.version,
            sku.created_at.to_datetime()
        )
        .map_err(|error| slug_taken(error, "SKU"))?;
        Ok(())
    }

    /// What may change about a SKU: its name, its policy, whether it is still offered. The rest is what people pay for.
    pub async fn update_sku(&mut self, sku: Sku) -> Result<Sku> {
        let at = self.at();
        let touched = execute!(
            self,
            "UPDATE skus SET display_name = $3, grant_policy = $4, retired = $5, updated_at = $6, version = version + 1 WHERE id = $1 AND version = $2",
            sku.id.uuid(),
            sku.version,
            sku.display_name.as_str(),
            sku.grant_policy.name(),
            sku.retired,
            at.to_datetime()
        )?;
        one_row(touched)?;
        Ok(Sku { version: sku.version + 1, updated_at: at, ..sku })
    }

    pub async fn insert_price(&mut self, price: &Price) -> Result<()> {
        let at = self.at().to_datetime();
        execute_raw!(
            self,
            "INSERT INTO sku_prices (id, sku_id, amount_micros, currency, per_units, unit, valid_from, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
            price.id.uuid(),
            price.sku_id.uuid(),
            price.amount_micros,
            price.currency.as_str(),
            price.per_units,
            price.unit.as_str(),
            price.valid_from.to_datetime(),
            at
        )
        .map_err(|error| {
            if is_unique_violation(&error) {
                return Error::conflict("price_exists", "There is a price of this unit and currency from this moment on.");
            }
            map_error(error)
        })?;
        Ok(())
    }
}
