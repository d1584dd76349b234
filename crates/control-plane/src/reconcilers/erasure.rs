//! Takes tenants, projects and people from `deleting` to `tombstone`, through the leased work queue: bindings go,
//! personal data goes, the id and (for tenants and projects) the slug stay.

use std::str::FromStr;

use gpuaas_domain::event::{Change, EventType, ObjectRef, personal_change};
use gpuaas_domain::iam::{Permit, Scope};
use gpuaas_domain::identity::{Project, Tenant, User};
use gpuaas_domain::ids::{ProjectId, TenantId, UserId};
use gpuaas_domain::standing::{Move, Standing};
use gpuaas_domain::{Error, Result};
use gpuaas_store::Tx;
use gpuaas_store::work::Work;

use super::TickStatus;
use crate::operations::{projects, tenants, users};
use crate::plane::ControlPlane;

pub(crate) const TENANT: &str = "erase_tenant";
pub(crate) const PROJECT: &str = "erase_project";
pub(crate) const USER: &str = "erase_user";

const LEASE_SECONDS: i64 = 60;
const BATCH: i64 = 20;

pub async fn tick(plane: &ControlPlane, owner: &str) -> Result<TickStatus> {
    let now = plane.now();
    let due = plane.store.read().await?.next_work_at().await?;
    if due.is_none_or(|due| due > now) {
        return Ok(TickStatus::default());
    }
    let permit = Permit::system("erasure", Scope::Platform);
    let tx = plane.store.begin(&permit, plane.own_stamp()).await?;
    let claimed = tx.claim_work(owner, now, now.plus_seconds(LEASE_SECONDS), BATCH).await?;
    let mut status = TickStatus { seen: claimed.len(), ..TickStatus::default() };
    for work in claimed {
        match erase(plane, &permit, owner, &work).await {
            Ok(()) => status.changed += 1,
            Err(error) => {
                status.errors += 1;
                tracing::warn!(work.id = %work.id, work.kind = %work.kind, correlation_id = %work.correlation_id, "erasing failed: {error}");
                // Later and later, up to an hour: what cannot be erased now needs somebody to look.
                let wait = (1i64 << work.attempts.clamp(0, 12)).min(3600);
                let tx = plane.store.begin(&permit, plane.own_stamp()).await?;
                tx.retry_work(work.id, owner, work.epoch, now.plus_seconds(wait), error.code()).await?;
            }
        }
    }
    Ok(status)
}

async fn erase(plane: &ControlPlane, permit: &Permit, owner: &str, work: &Work) -> Result<()> {
    let mut tx = plane.store.begin(permit, plane.stamp(&work.correlation_id, &work.trace_id)).await?;
    if !tx.finish_work(work.id, owner, work.epoch).await? {
        return Ok(()); // Somebody else holds it now.
    }
    let change = match work.kind.as_str() {
        TENANT => erase_tenant(&mut tx, permit, id_of(work)?).await?,
        PROJECT => erase_project(&mut tx, permit, id_of(work)?).await?,
        USER => erase_user(&mut tx, id_of(work)?).await?,
        other => return Err(Error::internal(format!("work of the unknown kind {other:?}"))),
    };
    tx.commit(change, None).await
}

fn id_of<T: FromStr>(work: &Work) -> Result<T> {
    let text = work.payload.get("id").and_then(serde_json::Value::as_str).unwrap_or_default();
    text.parse().map_err(|_| Error::internal("work without a readable id"))
}

async fn erase_tenant(tx: &mut Tx, permit: &Permit, id: TenantId) -> Result<Change> {
    let before = tx.find_tenant(permit.tenant_scope(), id).await?.ok_or_else(Error::not_found)?;
    let state = before.state.after(Move::Erase)?;
    if tx.count_projects(id).await? > 0 {
        return Err(Error::conflict("has_live_objects", "The tenant still has live projects."));
    }
    tx.delete_bindings_at(Scope::Tenant(id)).await?;
    let after = tx.update_tenant(Tenant { state, display_name: String::new(), ..before.clone() }).await?;
    Ok(Change::new("tenants.erase", ObjectRef::new("tenant", id))
        .at(Scope::Tenant(id))
        .before(before.audit_view())
        .after(after.audit_view())
        .event(EventType::TenantStateChanged, tenants::view(&after)))
}

async fn erase_project(tx: &mut Tx, permit: &Permit, id: ProjectId) -> Result<Change> {
    let before = tx.find_project(permit.tenant_scope(), id).await?.ok_or_else(Error::not_found)?;
    let state = before.state.after(Move::Erase)?;
    if tx.count_service_accounts(id).await? > 0 {
        return Err(Error::conflict("has_live_objects", "The project still has live service accounts."));
    }
    if tx.count_instances(id).await? > 0 || tx.count_allocations(id).await? > 0 {
        return Err(Error::conflict("has_live_objects", "The project still has instances or allocations."));
    }
    if !tx.live_volumes(id).await?.is_empty() {
        return Err(Error::conflict("has_live_objects", "The project still has volumes."));
    }
    tx.delete_bindings_at(before.scope()).await?;
    let after = tx.update_project(Project { state, display_name: String::new(), ..before.clone() }).await?;
    Ok(Change::new("projects.erase", ObjectRef::new("project", id))
        .at(after.scope())
        .before(before.audit_view())
        .after(after.audit_view())
        .event(EventType::ProjectStateChanged, projects::view(&after)))
}

async fn erase_user(tx: &mut Tx, id: UserId) -> Result<Change> {
    let before = tx.find_user(id).await?.ok_or_else(Error::not_found)?;
    let state = before.state.after(Move::Erase)?;
    debug_assert_eq!(state, Standing::Tombstone);
    tx.delete_bindings_of(id.uuid()).await?;
    tx.set_password_hash(id, None).await?;
    let erased = User { state, email: String::new(), display_name: String::new(), ..before.clone() };
    let after = tx.update_user(erased).await?;
    let mut view = after.audit_view();
    view["email"] = personal_change(true);
    view["display_name"] = personal_change(true);
    Ok(Change::new("users.erase", ObjectRef::new("user", id))
        .before(before.audit_view())
        .after(view)
        .event(EventType::UserStateChanged, users::view(&after)))
}
