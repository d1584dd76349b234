//! How a simulated component behaves.

use std::time::Duration;

use crate::seams::Failure;

/// By default: the image is pulled at once, the container starts, is ready and never ends.
#[derive(Clone, Debug, Default)]
pub struct Behaviour {
    /// The pull fails so.
    pub pull_failure: Option<Failure>,
    /// The pull takes so long.
    pub pull_time: Duration,
    /// The engine makes the container and cannot start it.
    pub start_failure: Option<Failure>,
    /// The process ends so long after each start, with this code, killed for its memory or not.
    pub exit: Option<(Duration, i64, bool)>,
    /// Commands run inside end with 1 instead of 0; ports are closed.
    pub never_ready: bool,
    /// SIGTERM is ignored: a stop takes its whole grace.
    pub ignores_term: bool,
}
