//! How often a caller may call: token buckets in memory, bounded in number.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Mutex;

use gpuaas_domain::{Error, Kind, Timestamp};

const MAX_BUCKETS: usize = 100_000;

#[derive(Clone, Copy)]
struct Bucket {
    tokens: f64,
    at: Timestamp,
}

/// One kind of limit: `per_second` on average, `burst` at once.
pub(crate) struct Buckets<K> {
    per_second: f64,
    burst: f64,
    by_key: Mutex<HashMap<K, Bucket>>,
}

impl<K: Hash + Eq + Clone> Buckets<K> {
    pub(crate) fn new(per_second: f64, burst: f64) -> Self {
        Self { per_second, burst, by_key: Mutex::new(HashMap::new()) }
    }

    fn filled(&self, bucket: Option<&Bucket>, now: Timestamp) -> f64 {
        bucket.map_or(self.burst, |bucket| {
            #[expect(
                clippy::cast_precision_loss,
                reason = "microseconds of a few minutes fit a double exactly"
            )]
            let seconds = (now.unix_micros() - bucket.at.unix_micros()).max(0) as f64 / 1e6;
            (bucket.tokens + seconds * self.per_second).min(self.burst)
        })
    }

    /// Takes one token, or says how long to wait.
    pub(crate) fn take(&self, key: K, now: Timestamp) -> Result<(), Error> {
        self.take_many(key, 1, now)
    }

    /// Takes all of them or none.
    pub(crate) fn take_many(&self, key: K, count: u32, now: Timestamp) -> Result<(), Error> {
        let count = f64::from(count);
        let mut buckets = self.by_key.lock().expect("no holder of the buckets panics");
        let tokens = self.filled(buckets.get(&key), now);
        if tokens < count {
            return Err(too_many((count - tokens) / self.per_second));
        }
        if buckets.len() >= MAX_BUCKETS {
            // Full buckets say nothing: forget them. If none is full, forget half of what there is: under such a
            // flood a few callers get a little more, and memory stays bounded.
            buckets.retain(|_, bucket| self.filled(Some(bucket), now) < self.burst);
            if buckets.len() >= MAX_BUCKETS {
                let mut keep = false;
                buckets.retain(|_, _| {
                    keep = !keep;
                    keep
                });
            }
        }
        buckets.insert(key, Bucket { tokens: tokens - count, at: now });
        Ok(())
    }

    /// Gives a token back that turned out not to be owed.
    pub(crate) fn give_back(&self, key: &K, now: Timestamp) {
        let mut buckets = self.by_key.lock().expect("no holder of the buckets panics");
        let tokens = self.filled(buckets.get(key), now);
        buckets.insert(key.clone(), Bucket { tokens: (tokens + 1.0).min(self.burst), at: now });
    }
}

fn too_many(seconds: f64) -> Error {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a wait of minutes, rounded up"
    )]
    let wait = seconds.ceil().clamp(1.0, 3600.0) as u64;
    Error::new(Kind::TooMany, "too_many_requests", format!("Too many calls; try again in {wait} s."))
        .with_param("retry_after_seconds", wait)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_empties_and_fills_with_time() {
        let buckets = Buckets::new(1.0, 2.0);
        let at = |seconds: i64| Timestamp::from_unix_seconds(1_000 + seconds).unwrap();
        assert!(buckets.take("a", at(0)).is_ok());
        assert!(buckets.take("a", at(0)).is_ok());
        assert_eq!(buckets.take("a", at(0)).unwrap_err().code(), "too_many_requests");
        assert!(buckets.take("b", at(0)).is_ok());
        assert!(buckets.take("a", at(1)).is_ok());
        assert!(buckets.take_many("c", 3, at(0)).is_err(), "all or none");
        assert!(buckets.take_many("c", 2, at(0)).is_ok());
    }
}
