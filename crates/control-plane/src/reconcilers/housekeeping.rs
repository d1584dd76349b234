//! Removes what has expired: sessions, tokens, links, nonces, first answers; and notes the end of registry credentials.

use gpuaas_domain::Result;
use gpuaas_domain::event::{Change, ObjectRef};
use gpuaas_domain::iam::{Permit, Scope};
use gpuaas_store::idempotency::RETENTION_SECONDS;
use serde_json::json;

use super::TickStatus;
use crate::plane::ControlPlane;

/// Of one round; the next one goes on.
const BATCH: i64 = 100;

pub async fn tick(plane: &ControlPlane) -> Result<TickStatus> {
    let now = plane.now();
    let tx = plane.store.begin(&Permit::system("housekeeping", Scope::Platform), plane.own_stamp()).await?;
    let swept = tx.sweep_expired(now, now.plus_seconds(-RETENTION_SECONDS)).await?;
    let swept = usize::try_from(swept).unwrap_or(usize::MAX) + end_credentials(plane).await?;
    Ok(TickStatus { seen: swept, changed: swept, ..TickStatus::default() })
}

/// The end of a registry credential stands in the trail as its beginning does (F-17).
async fn end_credentials(plane: &ControlPlane) -> Result<usize> {
    let ended = plane.store.read().await?.list_ended_credentials(plane.now(), BATCH).await?;
    for credential in &ended {
        let permit =
            Permit::system("housekeeping", Scope::Project(credential.tenant_id, credential.project_id));
        let mut tx = plane.store.begin(&permit, plane.own_stamp()).await?;
        if tx.end_registry_credential(credential).await? {
            let object = ObjectRef::new("registry_credential", credential.id);
            let view = json!({"purpose": credential.purpose.name(), "expires_at": credential.expires_at});
            tx.commit(Change::new("registry.credential_expired", object).after(view), None).await?;
        }
    }
    Ok(ended.len())
}
