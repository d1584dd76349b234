//! Waiting for something that takes its time, and saying how far it is.
//!
//! The platform is asked again and again rather than listened to: what is shown is then always what is, whatever was
//! missed in between, and a platform that restarts meanwhile is waited for like anything else.

use std::time::Duration;

use clap::Args;
use tokio::time::Instant;

use crate::failure::{Exit, Failure, Result};
use crate::printer::Printer;
use crate::units;

const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// Whether to wait for an operation's end, and for how long.
#[derive(Args)]
pub(crate) struct WaitArgs {
    /// Wait until it is done, which is what happens unless told otherwise
    #[arg(long, overrides_with = "no_wait")]
    wait: bool,
    /// Come back as soon as the platform has taken the order
    #[arg(long)]
    no_wait: bool,
    /// How long to wait; the operation goes on afterwards
    #[arg(long, value_name = "SPAN", default_value = "10m", value_parser = units::duration)]
    pub(crate) timeout: Duration,
}

impl WaitArgs {
    pub(crate) fn waits(&self) -> bool {
        self.wait || !self.no_wait
    }
}

/// The same where waiting has to be asked for.
#[derive(Args)]
pub(crate) struct MayWait {
    /// Wait until it is done
    #[arg(long)]
    pub(crate) wait: bool,
    /// How long to wait; the operation goes on afterwards
    #[arg(long, value_name = "SPAN", default_value = "10m", value_parser = units::duration)]
    pub(crate) timeout: Duration,
}

/// Where something stands that is waited for.
pub(crate) enum Standing {
    Going,
    Reached,
    /// It will not get there.
    Over(Failure),
}

/// Looks until it is over one way or the other, and gives back what was seen last, with the verdict.
pub(crate) async fn follow<T>(
    printer: &Printer,
    timeout: Duration,
    how_to_look: &str,
    look: impl AsyncFn() -> Result<T>,
    tell: impl Fn(&T) -> (String, Standing),
) -> Result<(T, Result<()>)> {
    let start = Instant::now();
    let deadline = start + timeout;
    let mut pause = FIRST_PAUSE;
    let mut last = String::new();
    loop {
        let Ok(seen) = tokio::time::timeout_at(deadline, look()).await else { break };
        let (text, standing) = match &seen {
            Ok(seen) => tell(seen),
            Err(failure) if failure.is_passing() => {
                ("the platform does not answer; still trying".to_owned(), Standing::Going)
            }
            Err(_) => (last.clone(), Standing::Going),
        };
        let seen = match seen {
            Err(failure) if !failure.is_passing() => {
                printer.end_progress();
                return Err(failure);
            }
            seen => seen.ok(),
        };
        let changed = text != last;
        printer.progress(&text, &format!(", {}", units::span(start.elapsed())), changed);
        let verdict = match standing {
            Standing::Going => None,
            Standing::Reached => Some(Ok(())),
            Standing::Over(failure) => Some(Err(failure)),
        };
        if let (Some(seen), Some(verdict)) = (seen, verdict) {
            printer.end_progress();
            return Ok((seen, verdict));
        }
        pause = if changed { FIRST_PAUSE } else { (pause * 3 / 2).min(LONGEST_PAUSE) };
        last = text;
        if Instant::now() + pause >= deadline {
            tokio::time::sleep_until(deadline).await;
            break;
        }
        tokio::time::sleep(pause).await;
    }
    printer.end_progress();
    Err(Failure::new(
        Exit::StillGoing,
        "still_going",
        format!("it is not done after {}; the operation goes on", units::span(timeout)),
    )
    .fix(format!("look with `{how_to_look}`, or wait longer with --timeout")))
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::printer::Output;

    fn printer() -> Printer {
        Printer::new(Output::Json, true)
    }

    fn busy() -> Failure {
        Failure::new(Exit::Trouble, "transport", "no answer")
    }

    #[tokio::test(start_paused = true)]
    async fn it_ends_where_the_goal_is_and_outlives_trouble() {
        let looks = Cell::new(0);
        let look = async || {
            looks.set(looks.get() + 1);
            if looks.get() == 2 { Err(busy()) } else { Ok(looks.get()) }
        };
        let tell =
            |seen: &i32| (seen.to_string(), if *seen > 5 { Standing::Reached } else { Standing::Going });
        let (seen, verdict) = follow(&printer(), Duration::from_mins(1), "x", look, tell).await.unwrap();
        assert_eq!(seen, 6);
        verdict.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn it_never_waits_longer_than_asked() {
        let start = Instant::now();
        for stuck in [false, true] {
            let look = async || {
                if stuck {
                    std::future::pending::<()>().await;
                }
                Ok(())
            };
            let failure = follow(&printer(), Duration::from_secs(5), "gpuaas instance get x", look, |()| {
                ("same".to_owned(), Standing::Going)
            })
            .await
            .unwrap_err();
            assert_eq!(failure.exit_code(), 9);
            assert!(failure.hint().unwrap().contains("gpuaas instance get x"));
        }
        assert!(start.elapsed() <= Duration::from_secs(11), "{:?}", start.elapsed());
    }

    #[tokio::test(start_paused = true)]
    async fn a_refusal_ends_it_at_once() {
        let look = async || Err::<(), _>(Failure::new(Exit::NotFound, "not_found", "gone"));
        let failure =
            follow(&printer(), Duration::from_secs(5), "x", look, |()| (String::new(), Standing::Going))
                .await
                .unwrap_err();
        assert_eq!(failure.exit_code(), 5);
    }
}
