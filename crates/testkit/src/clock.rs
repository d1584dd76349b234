//! A clock that follows the real one but can be moved.

use std::sync::atomic::{AtomicI64, Ordering};

use gpuaas_control_plane::{Clock, SystemClock};
use gpuaas_domain::Timestamp;

#[derive(Default)]
pub struct MovableClock {
    ahead_micros: AtomicI64,
}

impl MovableClock {
    pub fn advance_seconds(&self, seconds: i64) {
        self.ahead_micros.fetch_add(seconds * 1_000_000, Ordering::SeqCst);
    }
}

impl Clock for MovableClock {
    fn now(&self) -> Timestamp {
        SystemClock.now().plus_micros(self.ahead_micros.load(Ordering::SeqCst))
    }
}
