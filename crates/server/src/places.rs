//! Who holds how many connections. One address must not take the places of everybody else, and a connection without a request
//! is a place that nobody uses.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::Notify;

/// HTTP/2 keeps a connection alive by pings, without any request, for as long as the other side likes.
const UNUSED: Duration = Duration::from_secs(90);

type ByAddress = Arc<Mutex<HashMap<IpAddr, usize>>>;

/// Connections by address.
#[derive(Clone)]
pub(crate) struct Places {
    each: usize,
    /// A proxy on this machine brings everybody's.
    spares_loopback: bool,
    held: ByAddress,
}

/// One of an address's places, until it is dropped.
pub(crate) struct Place {
    of: Option<(IpAddr, ByAddress)>,
}

impl Places {
    /// A quarter of all for one address, unless the operator says how many.
    pub(crate) fn new(all: usize, said: usize) -> Self {
        let each = if said == 0 { (all / 4).max(1) } else { said };
        Self { each, spares_loopback: said == 0, held: Arc::default() }
    }

    pub(crate) fn take(&self, address: IpAddr) -> Option<Place> {
        if self.spares_loopback && address.is_loopback() {
            return Some(Place { of: None });
        }
        let mut held = self.held.lock().expect("no holder panics");
        let count = held.entry(address).or_insert(0);
        if *count >= self.each {
            return None;
        }
        *count += 1;
        Some(Place { of: Some((address, self.held.clone())) })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let Some((address, held)) = &self.of else { return };
        let mut held = held.lock().expect("no holder panics");
        if let Some(count) = held.get_mut(address) {
            *count -= 1;
            if *count == 0 {
                held.remove(address);
            }
        }
    }
}

/// Whether anything goes on in an HTTP/2 connection. Older ones have a clock of their own for the next request.
#[derive(Default)]
pub(crate) struct Use {
    counted: AtomicBool,
    open: AtomicUsize,
    changed: Notify,
}

/// A request, or an answer that is not over yet.
pub(crate) struct Busy(Arc<Use>);

impl Use {
    pub(crate) fn begin(self: &Arc<Self>) -> Busy {
        self.counted.store(true, Ordering::Relaxed);
        self.open.fetch_add(1, Ordering::Relaxed);
        self.changed.notify_one();
        Busy(self.clone())
    }

    /// Comes back when nobody has used the connection for a while.
    pub(crate) async fn ends(&self) {
        loop {
            let changed = self.changed.notified();
            if !self.counted.load(Ordering::Relaxed) || self.open.load(Ordering::Relaxed) > 0 {
                changed.await;
            } else if tokio::time::timeout(UNUSED, changed).await.is_err() {
                return;
            }
        }
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::Relaxed);
        self.0.changed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// N09: one address takes its share, and gives it back.
    #[test]
    fn an_address_has_its_share_and_no_more() {
        let (one, other) = (IpAddr::from([192, 0, 2, 1]), IpAddr::from([192, 0, 2, 2]));
        let places = Places::new(8, 0);
        let held: Vec<Place> = (0..2).map(|_| places.take(one).expect("its share")).collect();
        assert!(places.take(one).is_none());
        assert!(places.take(other).is_some(), "others have theirs");
        drop(held);
        assert!(places.take(one).is_some());
        assert!(places.held.lock().unwrap().is_empty(), "nobody is remembered without a connection");
        let loopback = IpAddr::from([127, 0, 0, 1]);
        let many: Vec<Option<Place>> = (0..9).map(|_| places.take(loopback)).collect();
        assert!(many.iter().all(Option::is_some), "a proxy of this machine brings everybody");
        let strict = Places::new(8, 1);
        let _first = strict.take(loopback).expect("one");
        assert!(strict.take(loopback).is_none(), "what the operator says counts for all");
    }

    /// N09: a connection that was used and is no longer ends; one with a long answer does not.
    #[tokio::test(start_paused = true)]
    async fn an_unused_connection_ends() {
        let work = Arc::new(Use::default());
        let waiting = |work: &Arc<Use>| {
            let work = work.clone();
            async move { tokio::time::timeout(UNUSED * 10, work.ends()).await.is_ok() }
        };
        assert!(!waiting(&work).await, "what is not HTTP/2 has its own clock");
        let busy = work.begin();
        assert!(!waiting(&work).await, "an answer may take its time");
        drop(busy);
        assert!(waiting(&work).await);
    }
}
