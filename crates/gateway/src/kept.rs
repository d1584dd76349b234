//! What is remembered: read by every request, kept fresh in the background.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, RwLock};
use std::time::Duration;

use tokio::time::Instant;

use crate::live::Refused;

/// What nobody used for so long is forgotten, and asked for again.
const KEPT: Duration = Duration::from_mins(1);
/// How long an answer counts when nobody can be asked. Nothing can be revoked then either.
const GRACE: Duration = Duration::from_secs(30);
/// Things remembered at one time. Beyond it nobody new comes in: what is not remembered is not asked about again, so it
/// could not be taken away.
const MOST: usize = 200_000;

struct Entry<V> {
    value: Arc<V>,
    /// When somebody asked for it, in milliseconds since the start; written by readers.
    used: AtomicU64,
    confirmed: Instant,
}

/// A map with readers on every request and one writer in the background.
pub(crate) struct Kept<K, V> {
    entries: RwLock<HashMap<K, Entry<V>>>,
    began: Instant,
}

impl<K: Eq + Hash + Clone, V> Kept<K, V> {
    pub(crate) fn new() -> Self {
        Self { entries: RwLock::default(), began: Instant::now() }
    }

    fn now(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    pub(crate) fn find<Q: Eq + Hash + ?Sized>(&self, key: &Q) -> Option<Arc<V>>
    where
        K: std::borrow::Borrow<Q>,
    {
        let entries = self.entries.read().expect("no holder panics");
        let entry = entries.get(key)?;
        entry.used.store(self.now(), Ordering::Relaxed);
        Some(entry.value.clone())
    }

    /// Unless somebody was faster: then theirs, so that there is one of each.
    pub(crate) fn keep(&self, key: K, value: Arc<V>) -> Result<Arc<V>, Refused> {
        let mut entries = self.entries.write().expect("no holder panics");
        if entries.len() >= MOST && !entries.contains_key(&key) {
            return Err(Refused::Unavailable);
        }
        let fresh = || Entry { value, used: AtomicU64::new(self.now()), confirmed: Instant::now() };
        Ok(entries.entry(key).or_insert_with(fresh).value.clone())
    }

    pub(crate) fn replace(&self, key: &K, value: Arc<V>) {
        if let Some(entry) = self.entries.write().expect("no holder panics").get_mut(key) {
            entry.value = value;
            entry.confirmed = Instant::now();
        }
    }

    pub(crate) fn confirm(&self, key: &K) {
        if let Some(entry) = self.entries.write().expect("no holder panics").get_mut(key) {
            entry.confirmed = Instant::now();
        }
    }

    pub(crate) fn remove(&self, key: &K) {
        self.entries.write().expect("no holder panics").remove(key);
    }

    /// Everything, with whether it was used lately and whether its answer is too old to count.
    pub(crate) fn look(&self) -> Vec<(K, Arc<V>, bool, bool)> {
        let now = self.now();
        let kept = u64::try_from(KEPT.as_millis()).unwrap_or(u64::MAX);
        let entries = self.entries.read().expect("no holder panics");
        let one = |(key, entry): (&K, &Entry<V>)| {
            let recent = now.saturating_sub(entry.used.load(Ordering::Relaxed)) < kept;
            (key.clone(), entry.value.clone(), recent, entry.confirmed.elapsed() > GRACE)
        };
        entries.iter().map(one).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// G13: whoever could not be let go is not let in.
    #[test]
    fn when_all_places_are_taken_nobody_new_is_remembered_or_let_in() {
        let kept: Kept<usize, usize> = Kept::new();
        for number in 0..MOST {
            kept.keep(number, Arc::new(number)).expect("there is room");
        }
        assert_eq!(kept.keep(MOST, Arc::new(0)), Err(Refused::Unavailable));
        assert_eq!(kept.keep(7, Arc::new(0)), Ok(Arc::new(7)), "who is known stays known");
        kept.remove(&3);
        assert_eq!(kept.keep(MOST, Arc::new(1)), Ok(Arc::new(1)));
    }
}
