//! Named places where a test can break the program.
//!
//! Every step boundary of a multi-step path is a [`step!`]. The names register themselves at link time, so a test walks
//! [`points`] and can prove that none was forgotten. A product run carries [`Faults::none`], where reaching a point costs
//! one comparison.
//!
//! Faults are a value that is handed down, not a global: two platforms in one test process break apart from each other.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::watch;

mod small_disk;

pub use small_disk::SmallDisk;

#[doc(hidden)]
pub use inventory;

/// A place that can break.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Point {
    pub name: &'static str,
}

inventory::collect!(Point);

/// Every registered place of the linked crates, sorted, each once.
pub fn points() -> Vec<&'static str> {
    let names: BTreeSet<&'static str> =
        inventory::iter::<Point>.into_iter().map(|point| point.name).collect();
    names.into_iter().collect()
}

/// What happens at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// The component is gone: nothing after this point runs. In a process of its own it aborts; in a test the future
    /// never resumes, [`Faults::died`] fires, and the test throws the component away.
    Die,
    /// The step fails before it has any effect.
    Error,
    /// The step takes this long before it goes on.
    Stall(Duration),
    /// The step is done twice.
    Twice,
}

impl Action {
    fn parse(text: &str) -> Option<Self> {
        match text {
            "die" => Some(Self::Die),
            "error" => Some(Self::Error),
            "twice" => Some(Self::Twice),
            _ => Some(Self::Stall(Duration::from_millis(text.strip_prefix("stall=")?.parse().ok()?))),
        }
    }
}

/// The error of a step that was told to fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Injected(pub &'static str);

impl std::fmt::Display for Injected {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "injected fault at {}", self.0)
    }
}

impl std::error::Error for Injected {}

/// How often the step at hand is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Times {
    Once,
    Twice,
}

/// What a program or a part of it will meet.
#[derive(Clone, Default)]
pub struct Faults(Option<Arc<Plan>>);

struct Plan {
    point: String,
    action: Action,
    /// Passes that go well first.
    skip: AtomicU32,
    /// Fires on so many passes then; after that the place is sound again.
    left: AtomicU32,
    dead: watch::Sender<bool>,
    real: bool,
    reached: Mutex<BTreeSet<&'static str>>,
}

impl Faults {
    /// Nothing breaks.
    pub const fn none() -> Self {
        Self(None)
    }

    /// One place breaks so many times.
    pub fn at(point: &str, action: Action, times: u32) -> Self {
        Self(Some(Arc::new(Plan::new(point, action, 0, times, false))))
    }

    /// One place breaks once, on this pass: 1 is the first.
    pub fn on_pass(point: &str, action: Action, pass: u32) -> Self {
        Self(Some(Arc::new(Plan::new(point, action, pass.saturating_sub(1), 1, false))))
    }

    /// Nothing breaks, but [`Faults::reached`] tells what was passed.
    pub fn watching() -> Self {
        Self::at("", Action::Error, 0)
    }

    /// `point:die`, `point:error`, `point:twice` or `point:stall=MS`, once, in a process of its own; with `@3` after the
    /// point, on its third pass. Only in debug builds: a product binary has no way to be told to break.
    pub fn from_setting(text: &str) -> Option<Self> {
        if !cfg!(debug_assertions) {
            return None;
        }
        let (point, action) = text.split_once(':')?;
        let (point, pass) = match point.split_once('@') {
            Some((point, pass)) => (point, pass.parse::<u32>().ok()?),
            None => (point, 1),
        };
        Some(Self(Some(Arc::new(Plan::new(point, Action::parse(action)?, pass.saturating_sub(1), 1, true)))))
    }

    /// Called by [`step!`].
    pub async fn reach(&self, name: &'static str) -> Result<Times, Injected> {
        let Some(plan) = &self.0 else { return Ok(Times::Once) };
        plan.reached.lock().expect("nothing panics while it is held").insert(name);
        let down = |count: &AtomicU32| {
            count.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |count| count.checked_sub(1)).is_ok()
        };
        let fires = plan.point == name && !down(&plan.skip) && down(&plan.left);
        if !fires {
            return Ok(Times::Once);
        }
        match plan.action {
            Action::Die if plan.real => std::process::abort(),
            Action::Die => {
                plan.dead.send_replace(true);
                std::future::pending().await
            }
            Action::Error => Err(Injected(name)),
            Action::Stall(time) => {
                tokio::time::sleep(time).await;
                Ok(Times::Once)
            }
            Action::Twice => Ok(Times::Twice),
        }
    }

    /// Whether the planned fault has happened as often as planned.
    pub fn spent(&self) -> bool {
        self.0.as_ref().is_none_or(|plan| plan.left.load(Ordering::SeqCst) == 0)
    }

    /// Ends when a [`Action::Die`] has struck; never otherwise.
    pub async fn died(&self) {
        match &self.0 {
            Some(plan) => {
                let mut dead = plan.dead.subscribe();
                if dead.wait_for(|dead| *dead).await.is_err() {
                    std::future::pending::<()>().await;
                }
            }
            None => std::future::pending().await,
        }
    }

    /// Every place passed so far.
    pub fn reached(&self) -> Vec<&'static str> {
        self.0.as_ref().map_or_else(Vec::new, |plan| {
            plan.reached.lock().expect("nothing panics while it is held").iter().copied().collect()
        })
    }
}

impl Plan {
    fn new(point: &str, action: Action, skip: u32, times: u32, real: bool) -> Self {
        Self {
            point: point.to_owned(),
            action,
            skip: AtomicU32::new(skip),
            left: AtomicU32::new(times),
            dead: watch::Sender::new(false),
            real,
            reached: Mutex::new(BTreeSet::new()),
        }
    }
}

/// Registers a place and does the step behind it: `step!(faults, "dispatch.send", link.send(&task).await)`. The step is
/// an expression that yields a `Result` whose error can be made from [`Injected`]; it must bear to be done twice.
#[macro_export]
macro_rules! step {
    ($faults:expr, $name:literal, $body:expr) => {
        $crate::step!($faults, $name, $body, Into::into)
    };
    // With a function that makes the error, where it cannot be made by `From`.
    ($faults:expr, $name:literal, $body:expr, $error:expr) => {{
        $crate::inventory::submit! { $crate::Point { name: $name } }
        match $faults.reach($name).await {
            Ok($crate::Times::Once) => $body,
            Ok($crate::Times::Twice) => match $body {
                Ok(_) => $body,
                failed => failed,
            },
            Err(injected) => Err($error(injected)),
        }
    }};
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn two_steps(faults: &Faults, log: &mut Vec<&'static str>) -> Result<(), Injected> {
        step!(faults, "test.first", {
            log.push("first");
            Ok::<(), Injected>(())
        })?;
        step!(faults, "test.second", {
            log.push("second");
            Ok::<(), Injected>(())
        })
    }

    #[tokio::test]
    async fn a_step_fails_repeats_or_never_returns_as_planned() {
        let run = async |faults: &Faults| {
            let mut log = Vec::new();
            let result = two_steps(faults, &mut log).await;
            (result, log)
        };
        assert_eq!(run(&Faults::none()).await, (Ok(()), vec!["first", "second"]));
        let error = Faults::at("test.second", Action::Error, 1);
        assert_eq!(run(&error).await, (Err(Injected("test.second")), vec!["first"]));
        assert!(error.spent());
        assert_eq!(run(&error).await, (Ok(()), vec!["first", "second"]), "once was planned");
        assert_eq!(
            run(&Faults::at("test.first", Action::Twice, 1)).await,
            (Ok(()), vec!["first", "first", "second"])
        );
        let die = Faults::at("test.first", Action::Die, 1);
        tokio::select! {
            _ = run(&die) => panic!("a dead component went on"),
            () = die.died() => {}
        }
        assert_eq!(die.reached(), ["test.first"]);
    }

    #[test]
    fn places_register_themselves() {
        assert!(points().contains(&"test.first") && points().contains(&"test.second"));
    }
}
