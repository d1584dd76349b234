//! One instance, and the proof of its end.

use gpuaas_api::Route;
use gpuaas_api::instances::{InstanceDetail, ReceiptView, TimelineEntry};

use super::InstanceArg;
use crate::failure::Result;
use crate::session::{Session, parse};
use crate::views::Row as _;
use crate::views::instances::{COMPONENT_TITLES, ENDPOINT_TITLES, component_cells, endpoint_cells};
use crate::views::receipt::{self, REMOVED_TITLES};

pub(super) async fn get(session: &Session<'_>, instance: &InstanceArg) -> Result<()> {
    let (project, id) = instance.resolve(session).await?;
    let raw = session.read(Route::InstanceGet, &[&project, &id]).await?;
    let printer = session.printer();
    printer.facts::<InstanceDetail>(&raw)?;
    if printer.is_json() {
        return Ok(());
    }
    let detail: InstanceDetail = parse(&raw)?;
    let components: Vec<_> = detail.components.iter().map(component_cells).collect();
    let endpoints: Vec<_> = detail.access.endpoints.iter().map(endpoint_cells).collect();
    let events: Vec<_> = detail.recent_events.iter().map(TimelineEntry::cells).collect();
    for (titles, rows) in
        [(COMPONENT_TITLES, components), (ENDPOINT_TITLES, endpoints), (TimelineEntry::TITLES, events)]
    {
        if !rows.is_empty() {
            printer.text("")?;
            printer.table(titles, &rows)?;
        }
    }
    Ok(())
}

pub(super) async fn receipt(session: &Session<'_>, instance: &InstanceArg) -> Result<()> {
    let (project, id) = instance.resolve(session).await?;
    let raw = session.read(Route::InstanceReceipt, &[&project, &id]).await?;
    let printer = session.printer();
    let kept: ReceiptView = parse(&raw)?;
    let (mut facts, aloud) = receipt::facts(&kept, None);
    if printer.is_json() {
        printer.json(raw.get())?;
    } else {
        // The name is for people; a receipt is one without it.
        if let Ok(raw) = session.read(Route::InstanceGet, &[&project, &id]).await {
            facts = receipt::facts(&kept, parse::<InstanceDetail>(&raw).ok().as_ref()).0;
        }
        printer.members(&facts)?;
        let removed = receipt::removed_rows(&kept.receipt);
        if !removed.is_empty() {
            printer.text("")?;
            printer.table(REMOVED_TITLES, &removed)?;
        }
    }
    for sentence in aloud {
        printer.warn(&sentence);
    }
    Ok(())
}
