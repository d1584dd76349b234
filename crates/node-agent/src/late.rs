//! The links come up before the engine does: a node whose Docker is down says so instead of being silent. Until the
//! executor is there, [`Late`] stands in its place: it refuses orders, reports nothing, and hands over what it heard.

use std::sync::{Arc, Mutex};

use gpuaas_agent_protocol::link::{Accepted, InstanceStats, LogQuery, Refused};
use gpuaas_agent_protocol::report::{InstanceReport, NodeReport};
use gpuaas_agent_protocol::task::{Refusal, SignedTask, Trust};
use tokio::sync::watch;
use uuid::Uuid;

use crate::seams::{Answer, ByteStream, ChangeFeed, LogBytes, NoAnswer, Workloads};
use crate::wall_clock::random;

/// Workloads that come later.
pub(crate) struct Late {
    inner: watch::Sender<Option<Arc<dyn Workloads>>>,
    run_id: Uuid,
    /// Heard before there was anybody to tell.
    trust: Mutex<Option<Trust>>,
}

impl Default for Late {
    fn default() -> Self {
        let run_id = uuid::Builder::from_random_bytes(random()).into_uuid();
        Self { inner: watch::Sender::new(None), run_id, trust: Mutex::default() }
    }
}

impl Late {
    /// From here on everything goes to `workloads`.
    pub(crate) async fn fill(&self, workloads: Arc<dyn Workloads>) {
        let heard = self.trust.lock().expect("no holder of the trust panics").take();
        if let Some(trust) = heard {
            workloads.adopt_trust(trust).await;
        }
        self.inner.send_replace(Some(workloads));
    }

    fn there(&self) -> Option<Arc<dyn Workloads>> {
        self.inner.borrow().clone()
    }
}

fn not_yet() -> NoAnswer {
    NoAnswer::Unavailable("the container engine of the node does not answer yet".to_owned())
}

impl Workloads for Late {
    fn accept<'a>(&'a self, signed: &'a SignedTask) -> Answer<'a, Result<Accepted, Refused>> {
        Box::pin(async move {
            match self.there() {
                Some(workloads) => workloads.accept(signed).await,
                None => Err(Refused { refusal: Refusal::NotReady, message: not_yet().to_string() }),
            }
        })
    }

    /// Not called full before there is somebody who knows.
    fn report_full(&self) -> Answer<'_, NodeReport> {
        Box::pin(async {
            match self.there() {
                Some(workloads) => workloads.report_full().await,
                None => NodeReport { run_id: self.run_id, full: false, instances: Vec::new() },
            }
        })
    }

    fn changes(&self) -> Box<dyn ChangeFeed> {
        Box::new(LateFeed { inner: self.inner.subscribe(), feed: None })
    }

    fn run_id(&self) -> Uuid {
        self.there().map_or(self.run_id, |workloads| workloads.run_id())
    }

    fn acknowledged<'a>(&'a self, report: &'a InstanceReport) -> Answer<'a, ()> {
        Box::pin(async move {
            if let Some(workloads) = self.there() {
                workloads.acknowledged(report).await;
            }
        })
    }

    fn logs(&self, instance: Uuid, query: LogQuery) -> Answer<'_, Result<LogBytes, NoAnswer>> {
        Box::pin(async move { self.there().ok_or_else(not_yet)?.logs(instance, query).await })
    }

    fn stats(&self, instance: Uuid) -> Answer<'_, Result<InstanceStats, NoAnswer>> {
        Box::pin(async move { self.there().ok_or_else(not_yet)?.stats(instance).await })
    }

    fn connect<'a>(
        &'a self,
        instance: Uuid,
        component: &'a str,
        port: u16,
    ) -> Answer<'a, Result<Box<dyn ByteStream>, NoAnswer>> {
        Box::pin(async move { self.there().ok_or_else(not_yet)?.connect(instance, component, port).await })
    }

    fn heartbeat(&self, instance: Uuid) -> bool {
        self.there().is_some_and(|workloads| workloads.heartbeat(instance))
    }

    fn status(&self, instance: Uuid) -> Option<InstanceReport> {
        self.there()?.status(instance)
    }

    fn adopt_trust(&self, trust: Trust) -> Answer<'_, ()> {
        Box::pin(async move {
            match self.there() {
                Some(workloads) => workloads.adopt_trust(trust).await,
                None => *self.trust.lock().expect("no holder of the trust panics") = Some(trust),
            }
        })
    }

    fn warnings(&self) -> Vec<String> {
        self.there().map(|workloads| workloads.warnings()).unwrap_or_default()
    }

    fn problems(&self) -> Vec<String> {
        self.there().map(|workloads| workloads.problems()).unwrap_or_default()
    }
}

struct LateFeed {
    inner: watch::Receiver<Option<Arc<dyn Workloads>>>,
    feed: Option<Box<dyn ChangeFeed>>,
}

impl ChangeFeed for LateFeed {
    fn next(&mut self) -> Answer<'_, Option<Vec<InstanceReport>>> {
        Box::pin(async {
            if self.feed.is_none() {
                let there = self.inner.wait_for(Option::is_some).await.ok()?.clone();
                self.feed = there.map(|workloads| workloads.changes());
            }
            self.feed.as_mut()?.next().await
        })
    }
}
