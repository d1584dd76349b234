//! Gives committed events and audit rows their number and hash. One process at a time holds the lease; the
//! lease's epoch fences a former holder that wakes up late.

use gpuaas_domain::Result;
use gpuaas_domain::chain::Stream;
use gpuaas_domain::iam::{Permit, Scope};

use super::TickStatus;
use crate::plane::ControlPlane;

const LEASE: &str = "sequencer";
/// What a killed holder costs the next one in waiting.
const LEASE_SECONDS: i64 = 5;
const BATCH: i64 = 200;

/// One turn: numbers what waits, in batches, until nothing does.
pub async fn tick(plane: &ControlPlane, owner: &str) -> Result<TickStatus> {
    let permit = Permit::system("sequencer", Scope::Platform);
    let mut status = TickStatus::default();
    let mut session = plane.store.read().await?;
    let mut waiting = 0;
    for stream in Stream::ALL {
        waiting += session.count_unnumbered(stream).await?;
    }
    drop(session);
    if waiting == 0 {
        return Ok(status);
    }
    let now = plane.now();
    let tx = plane.store.begin(&permit, plane.own_stamp()).await?;
    let Some(lease) = tx.acquire_lease(LEASE, owner, now, now.plus_seconds(LEASE_SECONDS)).await? else {
        return Ok(status);
    };
    for stream in Stream::ALL {
        loop {
            let tx = plane.store.begin(&permit, plane.own_stamp()).await?;
            let Some(numbered) = tx.number_waiting(&lease, stream, BATCH).await? else {
                return Ok(status);
            };
            status.seen += numbered;
            status.changed += numbered;
            if numbered < usize::try_from(BATCH).unwrap_or(usize::MAX) {
                break;
            }
        }
    }
    plane.store.notify_sequenced();
    Ok(status)
}

/// An ordered stop does not make the next holder wait.
pub async fn release(plane: &ControlPlane, owner: &str) -> Result<()> {
    let tx = plane.store.begin(&Permit::system("sequencer", Scope::Platform), plane.own_stamp()).await?;
    tx.release_lease(LEASE, owner, plane.now()).await
}
