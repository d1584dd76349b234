//! Time without a wall clock. A node's own clock may be wrong or be set back, so an order's expiry is judged by the
//! server's time as last heard over the pinned link, counted on by a clock that only goes forward.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// How long this program has been running.
pub trait Clock: Send + Sync {
    fn elapsed(&self) -> Duration;
}

/// The machine's monotonic clock.
pub struct Uptime(Instant);

impl Default for Uptime {
    fn default() -> Self {
        Self(Instant::now())
    }
}

impl Clock for Uptime {
    fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }
}

/// The node's idea of server time, in microseconds since 1970.
pub struct ServerTime {
    clock: Arc<dyn Clock>,
    /// What the server said, and how long we had been running then.
    heard: Mutex<(i64, Duration)>,
}

impl ServerTime {
    /// Before the first word of the server, the last time that the journal remembers has to do: it is used to stamp
    /// reports, never to judge an order.
    pub fn from(remembered: i64, clock: Arc<dyn Clock>) -> Self {
        let now = clock.elapsed();
        Self { clock, heard: Mutex::new((remembered, now)) }
    }

    pub fn set(&self, server_time: i64) {
        *self.heard.lock().expect("nothing panics while it is held") = (server_time, self.clock.elapsed());
    }

    pub fn now(&self) -> i64 {
        let (heard, at) = *self.heard.lock().expect("nothing panics while it is held");
        let passed = self.clock.elapsed().saturating_sub(at);
        heard.saturating_add(i64::try_from(passed.as_micros()).unwrap_or(i64::MAX))
    }
}
