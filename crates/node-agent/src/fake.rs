//! Workloads for tests: no engine, no journal, only answers.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use gpuaas_agent_protocol::link::{Accepted, InstanceStats, LogQuery, Refused};
use gpuaas_agent_protocol::report::{ComponentReport, Health, InstanceReport, NodeReport, Phase};
use gpuaas_agent_protocol::task::{Refusal, SignedTask, Trust};
use tokio::sync::broadcast;
use uuid::Uuid;

use crate::seams::{Answer, ByteStream, ChangeFeed, LogBytes, NoAnswer, Workloads};

pub(crate) struct Fake {
    pub(crate) instances: Mutex<BTreeMap<Uuid, InstanceReport>>,
    pub(crate) heartbeats: AtomicU32,
    pub(crate) trusted: AtomicBool,
    pub(crate) accepted: Mutex<Vec<SignedTask>>,
    pub(crate) acknowledged: Mutex<Vec<Uuid>>,
    changed: broadcast::Sender<InstanceReport>,
}

impl Fake {
    pub(crate) fn new() -> Self {
        Self {
            instances: Mutex::default(),
            heartbeats: AtomicU32::new(0),
            trusted: AtomicBool::new(false),
            accepted: Mutex::default(),
            acknowledged: Mutex::default(),
            changed: broadcast::channel(64).0,
        }
    }

    pub(crate) fn put(&self, instance: Uuid, phase: Phase) {
        let report = InstanceReport {
            instance_id: instance,
            generation: 1,
            era: 1,
            phase,
            reason: None,
            detail: Some("words of the engine".into()),
            pull: None,
            components: vec![ComponentReport {
                name: "main".into(),
                container_id: Some("c0ffee".into()),
                running: true,
                ready: true,
                restarts: 0,
                started_at: None,
                exit_code: None,
            }],
            health: Health::Healthy,
            receipt: None,
            observed_at: 1,
        };
        self.instances.lock().unwrap().insert(instance, report.clone());
        let _ = self.changed.send(report);
    }

    fn known(&self, instance: Uuid) -> Result<(), NoAnswer> {
        if self.instances.lock().unwrap().contains_key(&instance) { Ok(()) } else { Err(NoAnswer::NotFound) }
    }
}

impl Workloads for Fake {
    /// Takes an order once it has been told whom to trust.
    fn accept<'a>(&'a self, signed: &'a SignedTask) -> Answer<'a, Result<Accepted, Refused>> {
        Box::pin(async move {
            if !self.trusted.load(Ordering::SeqCst) {
                return Err(Refused { refusal: Refusal::UnknownKey, message: "unknown".into() });
            }
            let task_id = signed.key_id;
            self.accepted.lock().unwrap().push(signed.clone());
            Ok(Accepted { task_id })
        })
    }

    fn report_full(&self) -> Answer<'_, NodeReport> {
        let instances = self.instances.lock().unwrap().values().cloned().collect();
        Box::pin(std::future::ready(NodeReport { run_id: Uuid::from_u128(1), full: true, instances }))
    }

    fn logs(&self, instance: Uuid, query: LogQuery) -> Answer<'_, Result<LogBytes, NoAnswer>> {
        Box::pin(async move {
            self.known(instance)?;
            let lines =
                (0..query.tail.unwrap_or(3)).map(|n| Ok(Bytes::from(format!("{{\"line\":\"{n}\"}}\n"))));
            let lines: LogBytes = if query.follow {
                Box::pin(stream::iter(lines).chain(stream::pending()))
            } else {
                Box::pin(stream::iter(lines))
            };
            Ok(lines)
        })
    }

    fn stats(&self, instance: Uuid) -> Answer<'_, Result<InstanceStats, NoAnswer>> {
        let known = self.known(instance);
        Box::pin(async move { known.map(|()| InstanceStats { components: Vec::new(), simulated: true }) })
    }

    /// Port 80 echoes, port 81 refuses, others are not declared.
    fn connect<'a>(
        &'a self,
        instance: Uuid,
        component: &'a str,
        port: u16,
    ) -> Answer<'a, Result<Box<dyn ByteStream>, NoAnswer>> {
        Box::pin(async move {
            self.known(instance)?;
            match (component, port) {
                ("main", 80) => {
                    let (near, far) = tokio::io::duplex(1024);
                    let (mut read, mut write) = tokio::io::split(far);
                    gpuaas_program::Spawner::default().spawn(async move {
                        let _ = tokio::io::copy(&mut read, &mut write).await;
                        let _ = tokio::io::AsyncWriteExt::shutdown(&mut write).await;
                    });
                    let near: Box<dyn ByteStream> = Box::new(near);
                    Ok(near)
                }
                ("main", 81) => Err(NoAnswer::Unavailable("connection refused".into())),
                _ => Err(NoAnswer::NotFound),
            }
        })
    }

    fn heartbeat(&self, instance: Uuid) -> bool {
        self.heartbeats.fetch_add(1, Ordering::SeqCst);
        self.known(instance).is_ok()
    }

    fn status(&self, instance: Uuid) -> Option<InstanceReport> {
        self.instances.lock().unwrap().get(&instance).cloned()
    }

    fn changes(&self) -> Box<dyn ChangeFeed> {
        Box::new(Feed(self.changed.subscribe()))
    }

    fn run_id(&self) -> Uuid {
        Uuid::from_u128(1)
    }

    fn acknowledged<'a>(&'a self, report: &'a InstanceReport) -> Answer<'a, ()> {
        self.acknowledged.lock().unwrap().push(report.instance_id);
        Box::pin(std::future::ready(()))
    }

    fn adopt_trust(&self, _: Trust) -> Answer<'_, ()> {
        self.trusted.store(true, Ordering::SeqCst);
        Box::pin(std::future::ready(()))
    }

    fn warnings(&self) -> Vec<String> {
        vec!["a warning of the executor".into()]
    }

    fn problems(&self) -> Vec<String> {
        vec!["a problem of the executor".into()]
    }
}

struct Feed(broadcast::Receiver<InstanceReport>);

impl ChangeFeed for Feed {
    fn next(&mut self) -> Answer<'_, Option<Vec<InstanceReport>>> {
        Box::pin(async { self.0.recv().await.ok().map(|report| vec![report]) })
    }
}
