//! Dial again, and again: soon at first, then less often, never all nodes at the same moment.

use std::future::Future;
use std::ops::ControlFlow;
use std::time::Duration;

const FIRST: Duration = Duration::from_millis(200);
const LONGEST: Duration = Duration::from_secs(15);
/// A link that lived this long was a good one: the next attempt starts from the beginning.
const GOOD_LIFE: Duration = Duration::from_secs(30);

#[derive(Clone, Debug)]
pub struct Backoff {
    next: Duration,
}

impl Default for Backoff {
    fn default() -> Self {
        Self { next: FIRST }
    }
}

impl Backoff {
    /// How long to wait after a link (or an attempt) that lived so long. `chance` is from 0 to 1; the wait lies between
    /// half of what is due and all of it.
    pub fn delay(&mut self, lived: Duration, chance: f64) -> Duration {
        if lived >= GOOD_LIFE {
            self.next = FIRST;
        }
        let due = self.next;
        self.next = (due * 2).min(LONGEST);
        due.mul_f64(f64::midpoint(1.0, chance.clamp(0.0, 1.0)))
    }
}

/// Turns `attempt` until it breaks. An attempt dials, serves, and says how long the link lived; zero if it never came up.
pub async fn keep_connected<B, A, S>(
    mut attempt: impl FnMut() -> A,
    mut sleep: impl FnMut(Duration) -> S,
    mut chance: impl FnMut() -> f64,
) -> B
where
    A: Future<Output = ControlFlow<B, Duration>>,
    S: Future<Output = ()>,
{
    let mut backoff = Backoff::default();
    loop {
        match attempt().await {
            ControlFlow::Break(end) => return end,
            ControlFlow::Continue(lived) => sleep(backoff.delay(lived, chance())).await,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    #[tokio::test]
    async fn waits_double_to_a_bound_and_start_over_after_a_good_link() {
        let lives = [0, 0, 1, 2, 0, 0, 0, 0, 0, 30, 0].map(Duration::from_secs);
        let mut lives = lives.into_iter();
        let slept = RefCell::new(Vec::new());
        let end = keep_connected(
            || std::future::ready(lives.next().map_or(ControlFlow::Break("over"), ControlFlow::Continue)),
            |wait| {
                slept.borrow_mut().push(wait.as_millis());
                std::future::ready(())
            },
            || 1.0,
        )
        .await;
        assert_eq!(end, "over");
        assert_eq!(slept.into_inner(), [200, 400, 800, 1600, 3200, 6400, 12_800, 15_000, 15_000, 200, 400]);
    }

    #[test]
    fn chance_takes_off_up_to_half() {
        let first = |chance| Backoff::default().delay(Duration::ZERO, chance);
        assert_eq!(first(0.0), Duration::from_millis(100));
        assert_eq!(first(0.5), Duration::from_millis(150));
        assert_eq!(first(f64::INFINITY), Duration::from_millis(200));
        assert_eq!(first(-3.0), Duration::from_millis(100));
    }
}
