//! What is there and not in the journal. It is never taken down on our own account: it is reported, and the control
//! plane decides.

use std::collections::BTreeMap;
use std::sync::Arc;

use gpuaas_agent_protocol::report::Phase;
use uuid::Uuid;

use super::slot::Slot;
use super::{Shared, scratch};
use crate::journal::{Record, Wish};
use crate::seams::Failure;

impl Shared {
    /// Gives every instance a record that has something here and none in the journal.
    pub(super) async fn adopt_unknown(self: &Arc<Self>) -> Result<(), Failure> {
        let found = self.options.runtime.list(self.options.node_id, None).await?;
        let mut adopted: BTreeMap<Uuid, Record> = BTreeMap::new();
        let running =
            found.containers.iter().map(|container| (&container.labels, container.state.is_running()));
        let networks = found.networks.iter().map(|network| (&network.labels, false));
        for (labels, running) in running.chain(networks) {
            let record = adopted
                .entry(labels.instance)
                .or_insert_with(|| Record::new(labels.instance, self.time.now()));
            if labels.generation >= record.generation {
                record.generation = labels.generation;
                record.era = labels.era;
                labels.order.clone_into(&mut record.order_digest);
            }
            if running {
                record.phase = Phase::Running;
            }
        }
        for instance in scratch::instances(&self.options.scratch) {
            adopted.entry(instance).or_insert_with(|| Record {
                phase: Phase::Stopped,
                ..Record::new(instance, self.time.now())
            });
        }
        for (instance, record) in adopted {
            // The gate keeps an order for it from getting in between.
            let _gate = self.gate.lock().await;
            if self.find(instance).is_some() {
                continue;
            }
            tracing::warn!(instance.id = %instance, "the journal does not know {instance}; it is adopted by its labels");
            if let Err(error) = self.journal.write(&record) {
                tracing::warn!(instance.id = %instance, "could not write down {instance}: {error}");
            }
            debug_assert_eq!(record.wish, Wish::Adopted);
            let slot = Arc::new(Slot::new(record));
            self.slots.lock().expect("nothing panics while it is held").insert(instance, Arc::clone(&slot));
            self.publish(&slot);
            self.spawn_actor(&slot);
        }
        self.recovered.send_replace(true);
        Ok(())
    }

    pub(super) async fn adopt_until_done(self: &Arc<Self>) {
        let (mut backoff, most) = self.options.limits.retry_backoff;
        while self.adopt_unknown().await.is_err() {
            tokio::time::sleep(backoff).await;
            backoff = (backoff * 2).min(most);
        }
    }
}
