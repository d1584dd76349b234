//! Limits of tenants and projects.

use gpuaas_domain::event::{Change, EventType, ObjectRef};
use gpuaas_domain::iam::Permission;
use gpuaas_domain::limit::Limit;
use gpuaas_domain::{Error, Result};
use serde_json::json;

use crate::{OpContext, Prepared, Target};

/// A limit as it holds here.
#[derive(Clone, Copy, Debug)]
pub struct Effective {
    pub limit: Limit,
    pub value: i64,
    pub is_default: bool,
}

pub async fn list(ctx: &OpContext, target: Target) -> Result<Vec<Effective>> {
    let permit = ctx.permit_at(Permission::LimitRead, target).await?;
    let mut session = ctx.plane.store.read().await?;
    let mut all = Vec::with_capacity(Limit::ALL.len());
    for limit in Limit::ALL.iter().copied() {
        let set = session.find_limit(permit.scope(), limit).await?;
        all.push(Effective {
            limit,
            value: set.unwrap_or_else(|| limit.default_value()),
            is_default: set.is_none(),
        });
    }
    Ok(all)
}

pub async fn set(ctx: &OpContext, target: Target, limit: Limit, value: i64) -> Result<Prepared<Effective>> {
    let permit = ctx.permit_at(Permission::LimitManage, target).await?;
    if !(0..=Limit::MAX).contains(&value) {
        return Err(Error::field(
            "/value",
            "out_of_range",
            format!("Use a number from 0 to {}.", Limit::MAX),
        ));
    }
    let mut tx = ctx.begin(&permit).await?;
    let before = tx.effective_limit(permit.scope(), limit).await?;
    tx.set_limit(permit.scope(), limit, value).await?;
    let after = json!({"name": limit.name(), "value": value});
    let change = Change::new(ctx.route.action, ObjectRef::new("limit", limit.name()))
        .before(json!({"name": limit.name(), "value": before}))
        .after(after.clone())
        .event(EventType::LimitSet, after);
    Ok(Prepared::new(tx, change, Effective { limit, value, is_default: false }))
}
