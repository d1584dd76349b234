//! Manifests that were asked for lately, so that a HEAD costs no file. Bounded by bytes.
//!
//! Two generations: what is asked for is young; when the young have used half of the room, they become old and the old
//! go. Cheaper than keeping an order of use, and what is asked for often stays.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

use crate::names::{Reference, RepositoryName};
use crate::storage::StoredManifest;

type Key = (RepositoryName, Reference);
type Generation = HashMap<Key, Arc<StoredManifest>>;

/// What an entry costs beside its bytes, roughly.
const OVERHEAD: usize = 512;

pub(crate) struct Cache {
    half: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    young: Generation,
    old: Generation,
    young_bytes: usize,
}

impl Cache {
    pub(crate) fn new(bytes: usize) -> Self {
        Self { half: bytes / 2, state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nothing panics while it is held")
    }

    pub(crate) fn find(&self, key: &Key) -> Option<Arc<StoredManifest>> {
        let mut state = self.state();
        if let Some(found) = state.young.get(key) {
            return Some(found.clone());
        }
        let found = state.old.remove(key)?;
        self.add(&mut state, key.clone(), found.clone());
        Some(found)
    }

    pub(crate) fn insert(&self, key: Key, manifest: Arc<StoredManifest>) {
        self.add(&mut self.state(), key, manifest);
    }

    fn add(&self, state: &mut State, key: Key, manifest: Arc<StoredManifest>) {
        let bytes = manifest.bytes.len() + OVERHEAD;
        if bytes > self.half {
            return;
        }
        if state.young_bytes + bytes > self.half {
            state.old = std::mem::take(&mut state.young);
            state.young_bytes = 0;
        }
        state.young_bytes += bytes;
        if let Some(before) = state.young.insert(key, manifest) {
            state.young_bytes -= before.bytes.len() + OVERHEAD;
        }
    }

    pub(crate) fn remove(&self, key: &Key) {
        let mut state = self.state();
        state.old.remove(key);
        if let Some(gone) = state.young.remove(key) {
            state.young_bytes -= gone.bytes.len() + OVERHEAD;
        }
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::digest::{Algorithm, Digest};
    use crate::manifest::MediaType;

    fn entry(number: usize) -> (Key, Arc<StoredManifest>) {
        let bytes = Bytes::from(vec![b' '; 488 + number % 2]);
        let digest = Digest::of(Algorithm::Sha256, number.to_string().as_bytes());
        let key = ("a".parse().unwrap(), Reference::Digest(digest.clone()));
        (key, Arc::new(StoredManifest { digest, media_type: MediaType::OciIndex, bytes }))
    }

    #[test]
    fn the_cache_stays_within_its_bytes_and_keeps_what_is_asked_for() {
        let cache = Cache::new(20_000);
        let (favourite, manifest) = entry(0);
        cache.insert(favourite.clone(), manifest);
        for number in 1..1000 {
            let (key, manifest) = entry(number);
            cache.insert(key, manifest);
            assert!(cache.find(&favourite).is_some(), "{number}");
            let state = cache.state();
            let held: usize = state.young.values().map(|kept| kept.bytes.len() + OVERHEAD).sum();
            assert_eq!(held, state.young_bytes);
            assert!(
                held + state.old.values().map(|kept| kept.bytes.len() + OVERHEAD).sum::<usize>() <= 20_000
            );
        }
        cache.remove(&favourite);
        assert!(cache.find(&favourite).is_none());
        assert!(cache.find(&entry(1).0).is_none(), "the first ones have gone");
    }
}
