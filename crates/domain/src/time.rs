//! Moments in UTC, cut to microseconds, because that is the finest grain both databases keep.

use chrono::{DateTime, SecondsFormat, TimeDelta, Utc};
use serde::{Deserialize, Serialize};

/// A moment in UTC, RFC 3339, cut to microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, schemars::JsonSchema)]
#[serde(transparent)]
pub struct Timestamp(DateTime<Utc>);

impl Timestamp {
    pub fn new(at: DateTime<Utc>) -> Self {
        let micros = at.timestamp_micros();
        Self(DateTime::from_timestamp_micros(micros).expect("a DateTime has a representable microsecond"))
    }

    /// From seconds since 1970, as tokens carry them. `None` when out of range.
    pub fn from_unix_seconds(seconds: i64) -> Option<Self> {
        DateTime::from_timestamp(seconds, 0).map(Self)
    }

    pub fn from_unix_micros(micros: i64) -> Option<Self> {
        DateTime::from_timestamp_micros(micros).map(Self)
    }

    pub fn unix_seconds(self) -> i64 {
        self.0.timestamp()
    }

    pub fn unix_micros(self) -> i64 {
        self.0.timestamp_micros()
    }

    pub fn to_datetime(self) -> DateTime<Utc> {
        self.0
    }

    #[must_use]
    pub fn plus_seconds(self, seconds: i64) -> Self {
        self.plus_micros(seconds.saturating_mul(1_000_000))
    }

    /// Saturates at the ends of the calendar instead of panicking.
    #[must_use]
    pub fn plus_micros(self, micros: i64) -> Self {
        let end = if micros < 0 { DateTime::<Utc>::MIN_UTC } else { DateTime::<Utc>::MAX_UTC };
        Self::new(self.0.checked_add_signed(TimeDelta::microseconds(micros)).unwrap_or(end))
    }

    /// Whole seconds from `earlier` to `self`; negative when `self` comes first.
    pub fn seconds_since(self, earlier: Self) -> i64 {
        self.0.signed_duration_since(earlier.0).num_seconds()
    }
}

impl std::fmt::Display for Timestamp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0.to_rfc3339_opts(SecondsFormat::Micros, true))
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        DateTime::<Utc>::deserialize(deserializer).map(Self::new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_cut_to_microseconds_and_survives_a_round_trip() {
        let fine: Timestamp = serde_json::from_str("\"2026-01-02T03:04:05.123456789Z\"").unwrap();
        assert_eq!(fine.to_string(), "2026-01-02T03:04:05.123456Z");
        assert_eq!(Timestamp::from_unix_micros(fine.unix_micros()), Some(fine));
    }

    #[test]
    fn adding_an_absurd_span_saturates() {
        let start = Timestamp::from_unix_seconds(0).unwrap();
        assert!(start.plus_seconds(i64::MAX) > start);
        assert!(start.plus_seconds(i64::MIN) < start);
    }
}
