//! The machine's clock, read in one place.

use std::time::{SystemTime, UNIX_EPOCH};

use gpuaas_domain::Timestamp;

#[expect(
    clippy::disallowed_methods,
    reason = "the program's edge: everything inside takes the time as an argument"
)]
pub(crate) fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let micros = i64::try_from(since.as_micros()).unwrap_or(i64::MAX);
    Timestamp::from_unix_micros(micros).expect("the clock shows a year of the calendar")
}
