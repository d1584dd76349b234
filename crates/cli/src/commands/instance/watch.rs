//! What an instance writes, goes through and uses.

use std::collections::BTreeSet;
use std::pin::pin;
use std::time::Duration;

use futures_util::StreamExt as _;
use gpuaas_api::instances::{InstanceDetail, InstanceStats, LogLine, LogsQuery, TimelineEntry};
use gpuaas_api::{List, Route};
use gpuaas_domain::ids::{InstanceId, ProjectId, TimelineId};

use super::InstanceArg;
use crate::clock;
use crate::failure::{Result, unexpected};
use crate::json::Raw;
use crate::session::{Session, parse};
use crate::units::Since;
use crate::views::Row as _;
use crate::views::instances::{NO_STATS, STATS_TITLES, stats_rows};

/// How often what has no stream is asked for.
const EVENTS_PAUSE: Duration = Duration::from_secs(1);
const STATS_PAUSE: Duration = Duration::from_secs(2);

pub(super) struct LogWish {
    pub(super) follow: bool,
    pub(super) tail: Option<u32>,
    pub(super) since: Option<Since>,
    pub(super) component: Option<String>,
}

pub(super) async fn logs(session: &Session<'_>, instance: &InstanceArg, wish: LogWish) -> Result<()> {
    let (project, id) = instance.resolve(session).await?;
    let printer = session.printer();
    let named = !printer.is_json() && wish.component.is_none() && has_several(session, project, id).await;
    let query = LogsQuery {
        component: wish.component,
        tail: wish.tail,
        since: wish.since.map(|since| since.moment(clock::now())),
        follow: wish.follow.then_some(true),
    };
    let mut lines = pin!(session.client.lines(Route::InstanceLogs, &[&project, &id], Some(&query)));
    while let Some(line) = lines.next().await {
        let line = line?;
        if printer.is_json() {
            printer.raw_line(&line)?;
            continue;
        }
        let line: LogLine = serde_json::from_str(&line).map_err(|source| unexpected(&source))?;
        printer.log_line(named.then_some(line.component.as_str()), &line.line)?;
    }
    Ok(())
}

/// Whether lines need the name of their component. Logs are worth more than their prefix, so not knowing means no.
async fn has_several(session: &Session<'_>, project: ProjectId, id: InstanceId) -> bool {
    let Ok(raw) = session.read(Route::InstanceGet, &[&project, &id]).await else { return false };
    parse::<InstanceDetail>(&raw).is_ok_and(|detail| detail.components.len() > 1)
}

pub(super) async fn events(session: &Session<'_>, instance: &InstanceArg, follow: bool) -> Result<()> {
    let (project, id) = instance.resolve(session).await?;
    let printer = session.printer();
    if !follow {
        let list = session.list(Route::InstanceEvents, &[&project, &id], &(), None).await?;
        return printer.list::<TimelineEntry>(&list);
    }
    printer.note("Waiting for events; interrupt to stop.");
    let mut page = Page::default();
    loop {
        let query = page.query();
        let answer: List<Raw> =
            session.client.call::<(), _>(Route::InstanceEvents, &[&project, &id], Some(&query), None).await?;
        for raw in &answer.items {
            let entry: TimelineEntry = parse(raw)?;
            if !page.seen.insert(entry.id) {
                continue;
            }
            if printer.is_json() {
                printer.raw_line(raw.get())?;
            } else {
                printer.line(&entry.cells().join("  "))?;
            }
        }
        if !page.turn(answer.next_cursor) {
            tokio::time::sleep(EVENTS_PAUSE).await;
        }
    }
}

/// The last page of a timeline that still grows: it is read again until it is full, and then the next one.
#[derive(Default)]
struct Page {
    cursor: Option<String>,
    seen: BTreeSet<TimelineId>,
}

impl Page {
    fn query(&self) -> gpuaas_api::envelope::PageQuery {
        gpuaas_api::envelope::PageQuery { limit: Some(200), cursor: self.cursor.clone() }
    }

    /// Goes on to the next page, if there is one.
    fn turn(&mut self, next: Option<String>) -> bool {
        if next.is_none() || next == self.cursor {
            return false;
        }
        self.cursor = next;
        self.seen.clear();
        true
    }
}

pub(super) async fn stats(session: &Session<'_>, instance: &InstanceArg, watch: bool) -> Result<()> {
    let (project, id) = instance.resolve(session).await?;
    let printer = session.printer();
    loop {
        let raw = session.read(Route::InstanceStats, &[&project, &id]).await?;
        if printer.is_json() && watch {
            printer.raw_line(raw.get())?;
        } else if printer.is_json() {
            printer.json(raw.get())?;
        } else {
            let stats: InstanceStats = parse(&raw)?;
            printer.rows(STATS_TITLES, NO_STATS, &stats_rows(&stats))?;
        }
        if !watch {
            return Ok(());
        }
        tokio::time::sleep(STATS_PAUSE).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_growing_page_is_read_again_until_it_is_full() {
        let id = |n: u8| format!("01900000-0000-7000-8000-0000000000{n:02}").parse::<TimelineId>().unwrap();
        let mut page = Page::default();
        assert!(page.seen.insert(id(1)));
        assert!(!page.turn(None), "the end so far");
        assert!(!page.seen.insert(id(1)), "read again, said once");
        assert!(page.turn(Some("c".into())));
        assert_eq!(page.query().cursor.as_deref(), Some("c"));
        assert!(!page.turn(Some("c".into())), "a cursor that does not move is the end");
    }
}
