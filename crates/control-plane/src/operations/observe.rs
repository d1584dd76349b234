//! Reading the trail and the events, and checking that nobody touched them.

use gpuaas_domain::chain::Stream;
use gpuaas_domain::event::EventRow;
use gpuaas_domain::iam::{Permission, TenantScope};
use gpuaas_domain::page::{Page, PageRequest};
use gpuaas_domain::{Error, Result};
use gpuaas_store::chain::{AuditFilter, NumberedAudit, Verified};

use crate::{OpContext, Target};

/// How many links one call checks; the caller goes on from where it stopped.
const VERIFY_STRETCH: i64 = 5_000;

fn bad_cursor() -> Error {
    Error::field("/cursor", "invalid_cursor", "This cursor is not from this list.")
}

fn position(page: &PageRequest) -> Result<Option<i64>> {
    page.after.as_deref().map(|text| text.parse().map_err(|_| bad_cursor())).transpose()
}

/// Newest first.
pub async fn audit(
    ctx: &OpContext,
    target: Target,
    filter: &AuditFilter,
    page: &PageRequest,
) -> Result<Page<NumberedAudit>> {
    let permit = ctx.permit_at(Permission::AuditRead, target).await?;
    let before = position(page)?;
    let mut session = ctx.plane.store.read().await?;
    let rows = session.list_audit(permit.tenant_scope(), filter, before, page.limit + 1).await?;
    Ok(Page::from_rows(rows, page.limit, |row| row.sequence.to_string()))
}

pub async fn verify(ctx: &OpContext, stream: Stream, from: i64) -> Result<Verified> {
    ctx.permit_platform(Permission::AuditVerify).await?;
    if from < 1 {
        return Err(Error::field("/from", "out_of_range", "Numbers start at 1."));
    }
    ctx.plane.store.read().await?.verify_chain(stream, from, VERIFY_STRETCH).await
}

fn check_after(after: Option<i64>) -> Result<()> {
    match after {
        Some(after) if after < 0 => {
            Err(Error::field("/after", "out_of_range", "Use 0 or a number of the list."))
        }
        Some(_) | None => Ok(()),
    }
}

/// Oldest first.
pub async fn events(
    ctx: &OpContext,
    target: Target,
    after: Option<i64>,
    page: &PageRequest,
) -> Result<Page<(i64, EventRow)>> {
    let permit = ctx.permit_at(Permission::EventRead, target).await?;
    check_after(after)?;
    let after = position(page)?.or(after).unwrap_or(0);
    let rows =
        ctx.plane.store.read().await?.list_events(permit.tenant_scope(), after, page.limit + 1).await?;
    Ok(Page::from_rows(rows, page.limit, |(sequence, _)| sequence.to_string()))
}

/// Where to start following: after what was asked for, or at the present end.
pub async fn start_following(
    ctx: &OpContext,
    target: Target,
    after: Option<i64>,
) -> Result<(TenantScope, i64)> {
    let permit = ctx.permit_at(Permission::EventRead, target).await?;
    check_after(after)?;
    let after = match after {
        Some(after) => after,
        None => ctx.plane.store.read().await?.chain_head(Stream::Events).await?.sequence,
    };
    Ok((permit.tenant_scope(), after))
}
