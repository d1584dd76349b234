//! The latest report of every instance, numbered by change, so that a sender that was away misses none.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use gpuaas_agent_protocol::report::InstanceReport;
use tokio::sync::watch;
use uuid::Uuid;

#[derive(Clone, Default)]
pub(super) struct Board(Arc<Inner>);

#[derive(Default)]
struct Inner {
    reports: Mutex<BTreeMap<Uuid, (u64, InstanceReport)>>,
    revision: watch::Sender<u64>,
}

impl Board {
    /// Keeps a report; tells only if it says something new.
    pub(super) fn publish(&self, look: impl FnOnce() -> InstanceReport) {
        self.put(look, false);
    }

    /// Keeps and tells, even if nothing is new: somebody has asked again.
    pub(super) fn repeat(&self, look: impl FnOnce() -> InstanceReport) {
        self.put(look, true);
    }

    pub(super) fn forget(&self, instance: Uuid) {
        self.0.reports.lock().expect("nothing panics while it is held").remove(&instance);
    }

    /// Looks while the board is held, so that an older look never overwrites a newer one.
    fn put(&self, look: impl FnOnce() -> InstanceReport, always: bool) {
        let mut reports = self.0.reports.lock().expect("nothing panics while it is held");
        let report = look();
        let known = reports.get(&report.instance_id);
        let same = known.is_some_and(|(_, known)| {
            InstanceReport { observed_at: report.observed_at, ..known.clone() } == report
        });
        if same && !always {
            return;
        }
        let mut next = 0;
        self.0.revision.send_modify(|revision| {
            *revision += 1;
            next = *revision;
        });
        reports.insert(report.instance_id, (next, report));
    }

    pub(super) fn changes(&self) -> Changes {
        let mut revision = self.0.revision.subscribe();
        revision.mark_changed();
        Changes { board: self.clone(), seen: 0, revision }
    }
}

/// A reader of reports. A new one starts with everything; whoever could not send starts a new one.
pub struct Changes {
    board: Board,
    seen: u64,
    revision: watch::Receiver<u64>,
}

impl Changes {
    /// Waits for what this reader has not had; the latest report of each instance only. `None` after the end.
    pub async fn next(&mut self) -> Option<Vec<InstanceReport>> {
        loop {
            {
                let reports = self.board.0.reports.lock().expect("nothing panics while it is held");
                let fresh: Vec<_> =
                    reports.values().filter(|(number, _)| *number > self.seen).cloned().collect();
                if let Some(last) = fresh.iter().map(|(number, _)| *number).max() {
                    self.seen = last;
                    return Some(fresh.into_iter().map(|(_, report)| report).collect());
                }
            }
            self.revision.changed().await.ok()?;
        }
    }
}
