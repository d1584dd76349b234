//! What an app says that was used (M-04, M-05): checked here, kept as said, rated later. It is the app's own dimension;
//! the time of GPUs is measured by the platform and never taken from here.

use crate::machine_token::CLOCK_SKEW_SECONDS;
use crate::manifest::MeterKind;
use crate::{Error, FieldError, Result, Timestamp};

pub const MAX_RECORDS: usize = 100;
/// People at one app at the same time.
const MAX_SESSIONS_AT_ONCE: i64 = 100_000;
/// More than the fastest model says, or the busiest app answers, on one node.
const MAX_EACH_SECOND: i64 = 10_000_000;
pub const MAX_WINDOW_SECONDS: i64 = 24 * 3600;
pub const MAX_KEY: usize = 128;

/// One record, as it was said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    pub meter: String,
    pub quantity: i64,
    pub window_start: Timestamp,
    pub window_end: Timestamp,
    /// Names the record, so that saying it twice counts once; without it the window does.
    pub key: Option<String>,
}

/// One record, as it may be kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Usage {
    pub meter: MeterKind,
    pub quantity: i64,
    pub window_start: Timestamp,
    pub window_end: Timestamp,
    pub key: String,
}

/// What the records are held against.
#[derive(Clone, Copy, Debug)]
pub struct Facts {
    /// What the app's manifest declares.
    pub declared: Option<MeterKind>,
    /// Nothing was used before.
    pub created_at: Timestamp,
    pub now: Timestamp,
}

/// All of them or none: a batch that is half kept would have to be taken apart by the app.
pub fn check(readings: Vec<Reading>, facts: Facts) -> Result<Vec<Usage>> {
    if readings.is_empty() || readings.len() > MAX_RECORDS {
        let message = format!("Send 1 to {MAX_RECORDS} records at a time.");
        return Err(Error::field("/records", "out_of_range", message));
    }
    let mut faults = Vec::new();
    let mut kept = Vec::new();
    for (index, reading) in readings.into_iter().enumerate() {
        match check_one(reading, facts) {
            Ok(usage) => kept.push(usage),
            Err((field, code, message)) => {
                faults.push(FieldError::new(format!("/records/{index}/{field}"), code, message));
            }
        }
    }
    if faults.is_empty() { Ok(kept) } else { Err(Error::fields(faults)) }
}

type Fault = (&'static str, &'static str, String);

fn check_one(reading: Reading, facts: Facts) -> Result<Usage, Fault> {
    let Reading { meter, quantity, window_start, window_end, key } = reading;
    let meter = facts.declared.filter(|declared| declared.name() == meter).ok_or_else(|| {
        let declared = facts.declared.map_or("nothing", MeterKind::name);
        ("meter", "meter_not_declared", format!("The app's manifest declares {declared} under `metering`."))
    })?;
    if window_end <= window_start {
        return Err(("window_end", "window_empty", "A window ends after it starts.".into()));
    }
    if window_end.seconds_since(window_start) > MAX_WINDOW_SECONDS {
        return Err(("window_end", "window_too_long", "A window has at most 24 hours; send several.".into()));
    }
    if window_end > facts.now.plus_seconds(CLOCK_SKEW_SECONDS) {
        return Err(("window_end", "window_in_future", "Only what was used already can be told.".into()));
    }
    if window_start < facts.created_at.plus_seconds(-CLOCK_SKEW_SECONDS) {
        return Err(("window_start", "window_before_instance", "The instance was not there yet.".into()));
    }
    // What cannot have happened in the window was not used: sums stay within reason, and in a whole number.
    let most = window_end.seconds_since(window_start).saturating_add(1).saturating_mul(each_second(meter));
    if !(0..=most).contains(&quantity) {
        return Err(("quantity", "out_of_range", format!("Use a number from 0 to {most} for this window.")));
    }
    let key = key.unwrap_or_else(|| format!("{}/{}", window_start.unix_micros(), window_end.unix_micros()));
    let clean = (1..=MAX_KEY).contains(&key.len()) && key.bytes().all(|b| b.is_ascii_graphic());
    if !clean {
        let message = format!("A key is 1 to {MAX_KEY} visible ASCII characters.");
        return Err(("key", "invalid_record_key", message));
    }
    Ok(Usage { meter, quantity, window_start, window_end, key })
}

/// The most that one second of a window can hold.
fn each_second(meter: MeterKind) -> i64 {
    match meter {
        MeterKind::SessionSeconds => MAX_SESSIONS_AT_ONCE,
        MeterKind::Tokens | MeterKind::Requests => MAX_EACH_SECOND,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_unix_seconds(1_800_000_000 + seconds).unwrap()
    }

    fn facts() -> Facts {
        Facts { declared: Some(MeterKind::Tokens), created_at: at(0), now: at(1000) }
    }

    fn reading() -> Reading {
        Reading {
            meter: "tokens".into(),
            quantity: 7,
            window_start: at(100),
            window_end: at(160),
            key: Some("a-1".into()),
        }
    }

    fn refusal(reading: Reading) -> (String, &'static str) {
        let error = check(vec![self::reading(), reading], facts()).unwrap_err();
        let fault = &error.field_errors()[0];
        (fault.path.clone(), fault.code)
    }

    /// M-05: what is told as it should be is kept as it was told.
    #[test]
    fn a_proper_record_is_kept() {
        let kept = check(vec![reading()], facts()).unwrap();
        assert_eq!((kept[0].quantity, kept[0].key.as_str(), kept[0].meter), (7, "a-1", MeterKind::Tokens));
        for edge in [
            Reading { quantity: 0, ..reading() },
            Reading { quantity: 61 * MAX_EACH_SECOND, ..reading() },
            Reading { window_end: at(1060), ..reading() },
            Reading { window_start: at(-60), ..reading() },
            Reading { key: Some("k".repeat(MAX_KEY)), ..reading() },
        ] {
            assert!(check(vec![edge.clone()], facts()).is_ok(), "{edge:?}");
        }
    }

    /// K-09: every wrong record is refused with its place and its own code, and then nothing of the batch is kept.
    #[test]
    fn wrong_records_are_refused_one_by_one() {
        let refused = |reading: Reading, field: &str, code: &str| {
            let (path, found) = refusal(reading);
            assert_eq!((path.as_str(), found), (format!("/records/1/{field}").as_str(), code));
        };
        refused(Reading { meter: "requests".into(), ..reading() }, "meter", "meter_not_declared");
        refused(Reading { meter: "gpu_seconds".into(), ..reading() }, "meter", "meter_not_declared");
        refused(Reading { quantity: -1, ..reading() }, "quantity", "out_of_range");
        refused(Reading { quantity: 61 * MAX_EACH_SECOND + 1, ..reading() }, "quantity", "out_of_range");
        refused(Reading { quantity: i64::MIN, ..reading() }, "quantity", "out_of_range");
        refused(Reading { window_end: at(100), ..reading() }, "window_end", "window_empty");
        refused(Reading { window_end: at(1061), ..reading() }, "window_end", "window_in_future");
        refused(Reading { window_start: at(-61), ..reading() }, "window_start", "window_before_instance");
        refused(Reading { window_end: at(100 + 86_401), ..reading() }, "window_end", "window_too_long");
        for bad in ["", "a b", "ä", "a\n", &"k".repeat(MAX_KEY + 1)] {
            refused(Reading { key: Some(bad.into()), ..reading() }, "key", "invalid_record_key");
        }
    }

    #[test]
    fn an_app_that_declares_no_meter_has_nothing_to_tell() {
        let error = check(vec![reading()], Facts { declared: None, ..facts() }).unwrap_err();
        assert_eq!(error.field_errors()[0].code, "meter_not_declared");
    }

    #[test]
    fn a_batch_has_its_size() {
        for count in [0, MAX_RECORDS + 1] {
            let error = check(vec![reading(); count], facts()).unwrap_err();
            assert_eq!(error.field_errors()[0].path, "/records");
        }
        assert!(check(vec![reading(); MAX_RECORDS], facts()).is_ok());
    }

    /// Without a key the window names the record.
    #[test]
    fn the_window_is_the_key_of_a_record_without_one() {
        let one = check(vec![Reading { key: None, ..reading() }], facts()).unwrap();
        let again = check(vec![Reading { key: None, quantity: 9, ..reading() }], facts()).unwrap();
        let other = check(vec![Reading { key: None, window_end: at(161), ..reading() }], facts()).unwrap();
        assert_eq!(one[0].key, again[0].key);
        assert_ne!(one[0].key, other[0].key);
    }
}
