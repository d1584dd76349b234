//! What the executor holds of one instance between the journal and the report.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use gpuaas_agent_protocol::FailureReason;
use gpuaas_agent_protocol::report::{ComponentReport, Health, InstanceReport, Phase, PullProgress};
use gpuaas_faults::Injected;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::journal::{Record, Wish};
use crate::runtime::ContainerView;
use crate::seams::Failure;

const MAX_DETAIL: usize = 2_000;

/// The journal cannot be written, so nothing may be done.
#[derive(Debug)]
pub(super) struct Unwritable(pub(super) String);

impl std::fmt::Display for Unwritable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "The journal cannot be written: {}.", self.0)
    }
}

impl From<std::io::Error> for Unwritable {
    fn from(error: std::io::Error) -> Self {
        Self(error.to_string())
    }
}

impl From<Injected> for Unwritable {
    fn from(injected: Injected) -> Self {
        Self(injected.to_string())
    }
}

/// Which wish an actor works for. It ends when the slot has another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp(u64);

pub(super) struct Slot {
    record: Mutex<Record>,
    live: Mutex<Live>,
    heard: Mutex<Option<Instant>>,
    /// Held while the journal file is written.
    pub(super) writing: Arc<tokio::sync::Mutex<()>>,
    /// Counts wishes; wakes the actor.
    wishes: watch::Sender<u64>,
}

/// What is true at the moment and not worth a file.
#[derive(Clone, Debug)]
pub(super) struct Live {
    pub(super) phase: Phase,
    /// Why it does not get on, or why it failed.
    pub(super) failure: Option<(FailureReason, String)>,
    pub(super) pull: Option<PullProgress>,
    pub(super) components: Vec<Component>,
    pub(super) health: Health,
}

#[derive(Clone, Debug)]
pub(super) struct Component {
    pub(super) view: ContainerView,
    pub(super) ready: bool,
}

impl Live {
    fn of(record: &Record) -> Self {
        Self {
            phase: record.phase,
            failure: record.failure.clone(),
            pull: None,
            components: Vec::new(),
            health: Health::Unknown,
        }
    }

    pub(super) fn complain(&mut self, failure: &Failure) {
        self.failure = Some((failure.reason, cut(&failure.detail)));
    }
}

impl Slot {
    pub(super) fn new(record: Record) -> Self {
        Self {
            live: Mutex::new(Live::of(&record)),
            record: Mutex::new(record),
            heard: Mutex::new(None),
            writing: Arc::default(),
            wishes: watch::Sender::new(0),
        }
    }

    pub(super) fn record(&self) -> Record {
        self.record.lock().expect("nothing panics while it is held").clone()
    }

    pub(super) fn set_record(&self, record: Record) {
        *self.record.lock().expect("nothing panics while it is held") = record;
    }

    /// What the actor works for now, and what tells it that this is over.
    pub(super) fn stamp(&self) -> (Stamp, watch::Receiver<u64>) {
        let mut wishes = self.wishes.subscribe();
        let stamp = Stamp(*wishes.borrow_and_update());
        (stamp, wishes)
    }

    pub(super) fn is_current(&self, stamp: Stamp) -> bool {
        *self.wishes.borrow() == stamp.0
    }

    /// A new wish is in the record: what was true of the old one is forgotten, and the actor is woken.
    pub(super) fn wish_changed(&self) {
        let mut live = self.live.lock().expect("nothing panics while it is held");
        *live = Live::of(&self.record());
        self.wishes.send_modify(|count| *count += 1);
    }

    pub(super) fn live(&self) -> Live {
        self.live.lock().expect("nothing panics while it is held").clone()
    }

    /// Changes what is shown, if the actor still works for the wish of now.
    pub(super) fn show(&self, stamp: Stamp, change: impl FnOnce(&mut Live)) -> bool {
        let mut live = self.live.lock().expect("nothing panics while it is held");
        let current = self.is_current(stamp);
        if current {
            change(&mut live);
        }
        current
    }

    pub(super) fn hear(&self) -> bool {
        let here = !self.is_forgotten();
        if here {
            *self.heard.lock().expect("nothing panics while it is held") = Some(Instant::now());
        }
        here
    }

    pub(super) fn heard(&self) -> Option<Duration> {
        self.heard.lock().expect("nothing panics while it is held").map(|at| at.elapsed())
    }

    /// What a process said before it was restarted does not count for the new one.
    pub(super) fn forget_heard(&self) {
        *self.heard.lock().expect("nothing panics while it is held") = None;
    }

    /// Removed, and the control plane knows.
    pub(super) fn is_forgotten(&self) -> bool {
        let record = self.record.lock().expect("nothing panics while it is held");
        record.wish == Wish::Gone && record.acknowledged
    }

    pub(super) fn report(&self, observed_at: i64) -> InstanceReport {
        let record = self.record();
        let live = self.live();
        let components = live.components.iter().map(|component| {
            let view = &component.view;
            let name = view.labels.component.clone().unwrap_or_default();
            ComponentReport {
                container_id: Some(view.id.clone()),
                running: view.state.is_running(),
                ready: component.ready,
                restarts: record.restarts_by_component.get(&name).copied().unwrap_or(0),
                started_at: view.started_at,
                exit_code: match view.state {
                    crate::runtime::State::Exited { code, .. } => Some(code),
                    crate::runtime::State::Created | crate::runtime::State::Running => None,
                },
                name,
            }
        });
        InstanceReport {
            instance_id: record.instance,
            generation: record.generation,
            era: record.era,
            phase: live.phase,
            reason: live.failure.as_ref().map(|(reason, _)| *reason),
            detail: live.failure.as_ref().map(|(_, detail)| detail.clone()),
            pull: live.pull,
            components: components.collect(),
            health: live.health,
            receipt: record.receipt,
            observed_at,
        }
    }
}

/// At most so many characters, whole ones.
pub(super) fn cut(text: &str) -> String {
    text.chars().take(MAX_DETAIL).collect()
}
