//! Removes what has expired: sessions, tokens, links, nonces, first answers.

use gpuaas_domain::Result;
use gpuaas_domain::iam::{Permit, Scope};
use gpuaas_store::idempotency::RETENTION_SECONDS;

use super::TickStatus;
use crate::plane::ControlPlane;

pub async fn tick(plane: &ControlPlane) -> Result<TickStatus> {
    let now = plane.now();
    let tx = plane.store.begin(&Permit::system("housekeeping", Scope::Platform), plane.own_stamp()).await?;
    let swept = tx.sweep_expired(now, now.plus_seconds(-RETENTION_SECONDS)).await?;
    let swept = usize::try_from(swept).unwrap_or(usize::MAX);
    Ok(TickStatus { seen: swept, changed: swept, ..TickStatus::default() })
}
