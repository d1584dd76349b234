//! A clock that follows the real one but can be moved.

use std::sync::atomic::{AtomicI64, Ordering};

use gpuaas_control_plane::{Clock, SystemClock};
use gpuaas_custody::{Entropy as _, SystemEntropy};
use gpuaas_domain::Timestamp;
use gpuaas_domain::ids::uuid_v7;
use gpuaas_store::Stamp;

#[derive(Default)]
pub struct MovableClock {
    ahead_micros: AtomicI64,
}

impl MovableClock {
    pub fn timestamp(&self) -> Timestamp {
        self.now()
    }

    /// A new id of this moment.
    pub fn uuid(&self) -> uuid::Uuid {
        let mut random = [0; 10];
        SystemEntropy::new().fill(&mut random);
        uuid_v7(self.now(), &random)
    }

    /// What a row written now is stamped with.
    pub fn stamp(&self) -> Stamp {
        gpuaas_server::roles::first_stamp(self, &SystemEntropy::new())
    }

    pub fn advance_seconds(&self, seconds: i64) {
        self.ahead_micros.fetch_add(seconds * 1_000_000, Ordering::SeqCst);
    }
}

impl Clock for MovableClock {
    fn now(&self) -> Timestamp {
        SystemClock.now().plus_micros(self.ahead_micros.load(Ordering::SeqCst))
    }
}
