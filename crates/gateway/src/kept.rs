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
        // Past its time an answer counts no more, also where nobody came to take it away.
        let entry = entries.get(key).filter(|entry| !entry.is_stale())?;
        entry.used.store(self.now(), Ordering::Relaxed);
        Some(entry.value.clone())
    }

    /// Unless somebody was faster: then theirs, so that there is one of each.
    pub(crate) fn keep(&self, key: K, value: Arc<V>) -> Result<Arc<V>, Refused> {
        let mut entries = self.entries.write().expect("no holder panics");
        // What no longer counts has things open that must end first; see [`Kept::take_stale`].
        let is_stale = entries.get(&key).is_some_and(Entry::is_stale);
        if is_stale || (entries.len() >= MOST && !entries.contains_key(&key)) {
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

    /// Forgets what nobody used lately and nobody holds but the caller. Looked at under the lock: who comes at this moment has
    /// it already, or asks anew.
    pub(crate) fn forget_unused(&self, key: &K) -> bool {
        let (now, mut entries) = (self.now(), self.entries.write().expect("no holder panics"));
        let unused = entries.get(key).is_none_or(|entry| {
            // The map's and the caller's.
            !entry.is_recent(now) && Arc::strong_count(&entry.value) <= 2
        });
        if unused {
            entries.remove(key);
        }
        unused
    }

    /// Takes out whatever nobody has confirmed for too long.
    pub(crate) fn take_stale(&self) -> Vec<Arc<V>> {
        let mut entries = self.entries.write().expect("no holder panics");
        entries.extract_if(|_, entry| entry.is_stale()).map(|(_, entry)| entry.value).collect()
    }

    pub(crate) fn look(&self) -> Vec<(K, Arc<V>)> {
        let entries = self.entries.read().expect("no holder panics");
        entries.iter().map(|(key, entry)| (key.clone(), entry.value.clone())).collect()
    }
}

impl<V> Entry<V> {
    fn is_stale(&self) -> bool {
        self.confirmed.elapsed() > GRACE
    }

    fn is_recent(&self, now: u64) -> bool {
        let kept = u64::try_from(KEPT.as_millis()).unwrap_or(u64::MAX);
        now.saturating_sub(self.used.load(Ordering::Relaxed)) < kept
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

    /// G13, A07: what nobody confirms for too long does not count, even if nobody comes to take it away; and what is in use
    /// is not forgotten.
    #[tokio::test(start_paused = true)]
    async fn an_old_answer_is_none() {
        let kept: Kept<usize, usize> = Kept::new();
        for number in 0..3 {
            kept.keep(number, Arc::new(number)).expect("there is room");
        }
        tokio::time::advance(GRACE).await;
        kept.confirm(&1);
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!((kept.find(&0), kept.find(&1)), (None, Some(Arc::new(1))));
        assert_eq!(kept.keep(0, Arc::new(9)), Err(Refused::Unavailable), "what it has open must end first");
        assert_eq!(kept.take_stale().len(), 2);
        assert_eq!(kept.keep(0, Arc::new(9)), Ok(Arc::new(9)));
        tokio::time::advance(KEPT).await;
        let (looked, held) = (kept.look(), kept.entries.read().unwrap()[&1].value.clone());
        assert_eq!(looked.len(), 2);
        assert!(!kept.forget_unused(&1), "somebody has it");
        drop(held);
        assert!(kept.forget_unused(&1));
    }
}
