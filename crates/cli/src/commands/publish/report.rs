//! How far publishing is: for the person at the terminal, and for everybody who looks at the catalog meanwhile.

use std::ops::Range;
use std::sync::Mutex;
use std::time::Duration;

use gpuaas_api::Route;
use gpuaas_api::artifacts::SetPreparing;
use tokio::sync::Notify;

use crate::failure::Failure;
use crate::session::Session;

/// Between two words about the same stage.
const PAUSE: Duration = Duration::from_secs(1);
/// The platform is told in passing; nothing waits for it longer.
const PATIENCE: Duration = Duration::from_secs(5);
/// As long as the contract takes them.
const STAGE_LETTERS: usize = 200;
const FAILURE_LETTERS: usize = 500;
const NAME_LETTERS: usize = 100;

#[derive(Clone, Default, PartialEq, Eq)]
struct State {
    stage: String,
    percent: u8,
    over: bool,
}

pub(crate) struct Report<'a> {
    session: &'a Session<'a>,
    slug: String,
    display_name: String,
    /// Whether the platform would listen to this caller.
    told: bool,
    state: Mutex<State>,
    stage_changed: Notify,
}

impl<'a> Report<'a> {
    pub(crate) fn new(session: &'a Session<'a>, slug: &str, display_name: &str, told: bool) -> Self {
        let display_name = display_name.chars().take(NAME_LETTERS).collect();
        let (state, stage_changed) = (Mutex::default(), Notify::new());
        Self { session, slug: slug.to_owned(), display_name, told, state, stage_changed }
    }

    /// Something new is being done. `percent` is of the whole.
    pub(crate) fn stage(&self, stage: &str, percent: u8) {
        self.set(stage, percent, "");
    }

    /// So much of a part that takes this share of the whole.
    pub(crate) fn part(&self, stage: &str, share: &Range<u8>, done: u64, total: u64, aside: &str) {
        self.set(stage, within(share, done, total), aside);
    }

    fn set(&self, stage: &str, percent: u8, aside: &str) {
        let stage: String = stage.chars().take(STAGE_LETTERS).collect();
        let Ok(mut state) = self.state.lock() else { return };
        let changed = state.stage != stage;
        self.session.printer().progress(&stage, &format!(" {percent} %{aside}"), changed);
        (state.stage, state.percent) = (stage, percent);
        if changed {
            self.stage_changed.notify_one();
        }
    }

    pub(crate) fn end(&self) {
        self.session.printer().end_progress();
        if let Ok(mut state) = self.state.lock() {
            state.over = true;
        }
        self.stage_changed.notify_one();
    }

    fn now(&self) -> State {
        self.state.lock().map_or_else(|_| State { over: true, ..State::default() }, |state| state.clone())
    }

    /// Tells the platform until the end: each stage as it begins, and how far it is once a second. Whether it listens
    /// changes nothing here.
    pub(crate) async fn tell(&self) {
        let mut last = State::default();
        loop {
            let now = self.now();
            if now.over {
                return;
            }
            if self.told && now != last {
                self.send(&now, None).await;
                last = now;
            }
            tokio::select! {
                () = tokio::time::sleep(PAUSE) => {}
                () = self.stage_changed.notified() => {}
            }
        }
    }

    async fn send(&self, state: &State, failure: Option<String>) {
        let stage = if state.stage.is_empty() { "starting".to_owned() } else { state.stage.clone() };
        let body =
            SetPreparing { display_name: self.display_name.clone(), stage, percent: state.percent, failure };
        let sent = async { self.session.write(Route::AppPreparingSet, &[&self.slug], &body).await };
        drop(tokio::time::timeout(PATIENCE, sent).await);
    }

    /// The last word: nothing is being made any more, or it went wrong.
    pub(crate) async fn close(&self, failure: Option<&Failure>) {
        if !self.told {
            return;
        }
        if let Some(body) = failure.and_then(Failure::body) {
            // The whole catalog reads it: only what kind of trouble it was, nothing that a build has said.
            let why = format!("{} went wrong ({})", self.now().stage, body.error.code);
            self.send(&self.now(), Some(why.chars().take(FAILURE_LETTERS).collect())).await;
            return;
        }
        let cleared = async { self.session.remove(Route::AppPreparingClear, &[&self.slug], None).await };
        drop(tokio::time::timeout(PATIENCE, cleared).await);
    }
}

/// The percent of the whole that a part has reached.
fn within(share: &Range<u8>, done: u64, total: u64) -> u8 {
    let width = u128::from(share.end.saturating_sub(share.start));
    let reached = u128::from(done.min(total)) * width / u128::from(total.max(1));
    share.start + u8::try_from(reached).unwrap_or(0)
}

/// The share of one image among several in a stretch of the whole.
pub(crate) fn share(of: Range<u8>, number: usize, count: usize) -> Range<u8> {
    let at = |number: usize| within(&of, number as u64, count.max(1) as u64);
    at(number)..at(number + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_add_up_to_the_whole() {
        assert_eq!((share(0..50, 0, 2), share(0..50, 1, 2)), (0..25, 25..50));
        assert_eq!(share(50..90, 2, 3), 76..90);
        assert_eq!(
            (within(&(10..20), 5, 10), within(&(10..20), 99, 10), within(&(10..20), 0, 0)),
            (15, 20, 10)
        );
    }
}
