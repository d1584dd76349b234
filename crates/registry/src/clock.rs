//! Where "now" comes from: ages of blobs and uploads are judged by it. A parameter, so that tests can move it.

use std::time::SystemTime;

pub trait Clock: Send + Sync + 'static {
    fn now(&self) -> SystemTime;
}

pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the one place that reads the wall clock")]
    fn now(&self) -> SystemTime {
        SystemTime::now()
    }
}
