//! The leased work queue and named leases.

use std::collections::BTreeMap;

use gpuaas_domain::chain::Stream;
use gpuaas_domain::event::{Change, ObjectRef};
use gpuaas_domain::iam::{Permit, Scope};
use gpuaas_domain::ids::WorkId;
use serde_json::json;

use crate::{Bench, on_both};

fn permit() -> Permit {
    Permit::system("test", Scope::Platform)
}

async fn enqueue(b: &Bench, count: usize) {
    for number in 0..count {
        let mut tx = b.store.begin(&permit(), b.stamp()).await.unwrap();
        tx.enqueue(WorkId::new(b.uuid()), "test", &json!({"number": number}), b.now()).await.unwrap();
        tx.commit(Change::new("test.enqueue", ObjectRef::new("work", number)), None).await.unwrap();
    }
}

on_both! {
    /// Eight workers share forty items; none is done twice, none is left.
    async fn no_item_is_claimed_twice(b: Bench) {
        enqueue(&b, 40).await;
        let workers = (0..8).map(|number| {
            let (store, now, stamps): (_, _, Vec<_>) = (b.store.clone(), b.now(), (0..40).map(|_| b.stamp()).collect());
            async move {
                let mut mine = Vec::new();
                for stamp in stamps {
                    let tx = store.begin(&permit(), stamp).await.unwrap();
                    let claimed = tx.claim_work(&format!("w{number}"), now, now.plus_seconds(60), 3).await.unwrap();
                    if claimed.is_empty() {
                        break;
                    }
                    mine.extend(claimed);
                }
                mine
            }
        });
        let mut seen = BTreeMap::new();
        for work in futures_util::future::join_all(workers).await.into_iter().flatten() {
            *seen.entry(work.id).or_insert(0) += 1;
        }
        assert_eq!(seen.len(), 40);
        assert!(seen.values().all(|count| *count == 1));
    }

    /// A worker that slept through its lease cannot finish what another took over.
    async fn a_lost_lease_finishes_nothing(b: Bench) {
        enqueue(&b, 1).await;
        let now = b.now();
        let claim = async |owner: &str, at: gpuaas_domain::Timestamp| {
            let tx = b.store.begin(&permit(), b.stamp()).await.unwrap();
            tx.claim_work(owner, at, at.plus_seconds(30), 1).await.unwrap().pop()
        };
        let slow = claim("slow", now).await.unwrap();
        assert!(claim("quick", now.plus_seconds(29)).await.is_none());
        let quick = claim("quick", now.plus_seconds(31)).await.unwrap();
        assert_eq!((quick.id, quick.attempts), (slow.id, 2));
        assert!(quick.epoch > slow.epoch);
        let mut tx = b.store.begin(&permit(), b.stamp()).await.unwrap();
        assert!(!tx.finish_work(slow.id, "slow", slow.epoch).await.unwrap());
        drop(tx);
        let mut tx = b.store.begin(&permit(), b.stamp()).await.unwrap();
        assert!(tx.finish_work(quick.id, "quick", quick.epoch).await.unwrap());
        tx.commit(Change::new("test.done", ObjectRef::new("work", quick.id)), None).await.unwrap();
        assert_eq!(b.store.read().await.unwrap().count_work().await.unwrap(), 0);
    }

    /// A failed item comes back later, not sooner.
    async fn a_failed_item_waits_its_time(b: Bench) {
        enqueue(&b, 1).await;
        let now = b.now();
        let tx = b.store.begin(&permit(), b.stamp()).await.unwrap();
        let work = tx.claim_work("w", now, now.plus_seconds(30), 1).await.unwrap().pop().unwrap();
        let tx = b.store.begin(&permit(), b.stamp()).await.unwrap();
        assert!(tx.retry_work(work.id, "w", work.epoch, now.plus_seconds(100), "why").await.unwrap());
        for (at, expected) in [(now.plus_seconds(99), 0), (now.plus_seconds(100), 1)] {
            let tx = b.store.begin(&permit(), b.stamp()).await.unwrap();
            assert_eq!(tx.claim_work("w", at, at.plus_seconds(30), 1).await.unwrap().len(), expected);
        }
    }

    /// One sequencer at a time; a former one that wakes up late numbers nothing.
    async fn a_fenced_sequencer_numbers_nothing(b: Bench) {
        let now = b.now();
        let acquire = async |owner: &str, at: gpuaas_domain::Timestamp| {
            let tx = b.store.begin(&permit(), b.stamp()).await.unwrap();
            tx.acquire_lease("sequencer", owner, at, at.plus_seconds(15)).await.unwrap()
        };
        let old = acquire("old", now).await.unwrap();
        assert!(acquire("new", now.plus_seconds(14)).await.is_none());
        assert_eq!(acquire("old", now.plus_seconds(1)).await.unwrap().epoch, old.epoch, "renewing keeps the epoch");
        let new = acquire("new", now.plus_seconds(40)).await.unwrap();
        assert_eq!(new.epoch, old.epoch + 1);
        enqueue(&b, 1).await;
        let tx = b.store.begin(&permit(), b.stamp()).await.unwrap();
        assert_eq!(tx.number_waiting(&old, Stream::Audit, 10).await.unwrap(), None);
        let tx = b.store.begin(&permit(), b.stamp()).await.unwrap();
        assert_eq!(tx.number_waiting(&new, Stream::Audit, 10).await.unwrap(), Some(1));
    }
}
