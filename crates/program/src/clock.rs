//! The wall clock.

use gpuaas_domain::Timestamp;

/// Where "now" comes from. A parameter, so that tests can move it.
pub trait Clock: Send + Sync {
    fn now(&self) -> Timestamp;
}

pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the one place that reads the wall clock")]
    fn now(&self) -> Timestamp {
        // A machine that wakes up before 1970 has lost its battery, not its mind.
        let since_1970 =
            std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        let micros = i64::try_from(since_1970.as_micros()).expect("the year is below 292 000");
        Timestamp::from_unix_micros(micros).expect("the present is representable")
    }
}
