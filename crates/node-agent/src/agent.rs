//! The running agent: two links, and three loops that tell the platform what is and hear whom to believe. All of them
//! re-read the present; what could not be said is not queued but said as it is then. Each starts when the link is up.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use gpuaas_agent_protocol::inventory::{NodeInventory, Runtime};
use gpuaas_agent_protocol::report::{InstanceReport, NodeReport};
use gpuaas_program::Spawner;
use gpuaas_tunnel::KeepAlive;
use tokio::sync::{Mutex, watch};
use tokio::time::Instant;
use uuid::Uuid;

use crate::inventory::{self, Look};
use crate::links::{Link, LinkState};
use crate::platform::{CallError, Platform};
use crate::seams::{Answer, ChangeFeed, Workloads};
use crate::service::{AgentApi, LinkKind, TrustSource};
use crate::wall_clock::random;

/// How often what is done.
#[derive(Clone, Copy, Debug)]
pub struct Rhythm {
    /// A full report at least this often.
    pub report: Duration,
    /// Changes are gathered this long, so that ten of them are one call.
    pub gather: Duration,
    /// The inventory is looked at this often, and told if it differs.
    pub look: Duration,
    /// The inventory is told at least this often.
    pub inventory: Duration,
    pub trust: Duration,
    /// After a call that did not get through.
    pub retry: Duration,
    pub keep_alive: KeepAlive,
}

impl Default for Rhythm {
    fn default() -> Self {
        Self {
            report: Duration::from_secs(30),
            gather: Duration::from_millis(5),
            look: Duration::from_mins(5),
            inventory: Duration::from_hours(1),
            trust: Duration::from_mins(10),
            retry: Duration::from_secs(2),
            keep_alive: KeepAlive::default(),
        }
    }
}

/// Everything the loops need.
pub struct Parts {
    pub platform: Arc<Platform>,
    pub workloads: Arc<dyn Workloads>,
    pub look: Look,
    /// The engine as it stands; a change is told at once.
    pub runtime: watch::Receiver<Runtime>,
    pub rhythm: Rhythm,
    pub spawner: Spawner,
}

/// An agent at work, and how its links stand.
pub struct Running {
    pub control: watch::Receiver<LinkState>,
    pub data: watch::Receiver<LinkState>,
}

/// Starts links and loops; they end with the spawner. Workloads are not touched by starting or stopping this.
pub fn start(parts: Parts) -> Running {
    let Parts { platform, workloads, look, runtime, rhythm, spawner } = parts;
    let trust = Arc::new(TrustKeeper {
        platform: platform.clone(),
        workloads: workloads.clone(),
        asked: Mutex::new(None),
    });
    let api = Arc::new(AgentApi::new(workloads.clone(), trust.clone()));
    let open = |kind| {
        let (state, watched) = watch::channel(LinkState::default());
        let (api, platform, spawner_of_link) = (api.clone(), platform.clone(), spawner.clone());
        let keep_alive = rhythm.keep_alive;
        let link = Link { kind, api, platform, keep_alive, state, spawner: spawner_of_link };
        spawner.spawn_until_stop(link.keep());
        watched
    };
    let (control, data) = (open(LinkKind::Control), open(LinkKind::Data));
    let reporter = Reporter::new(platform.clone(), workloads.clone(), rhythm);
    spawner.spawn_until_stop(reporter.run(control.clone()));
    let teller = InventoryTeller { platform, workloads, look, rhythm, told: None };
    spawner.spawn_until_stop(teller.run(runtime, control.clone()));
    spawner.spawn_until_stop(keep_trust(trust, control.clone(), rhythm));
    Running { control, data }
}

/// Waits for the link to come up once more than it had when we looked last.
async fn came_up(link: &mut watch::Receiver<LinkState>, seen: &mut u64) {
    let up = link.wait_for(|state| state.times > *seen).await.map(|state| state.times);
    match up {
        Ok(times) => *seen = times,
        // The link is gone for good: the agent is stopping.
        Err(_) => std::future::pending().await,
    }
}

/// Between half and one and a half times as long, so that nodes do not march in step.
fn jittered(pause: Duration) -> Duration {
    pause.mul_f64(0.5 + f64::from(random::<1>()[0]) / 255.0)
}

/// Fetches whom to believe, not more than once in a few seconds.
struct TrustKeeper {
    platform: Arc<Platform>,
    workloads: Arc<dyn Workloads>,
    asked: Mutex<Option<Instant>>,
}

impl TrustKeeper {
    const LEAST_PAUSE: Duration = Duration::from_secs(5);

    async fn fetch(&self) -> Result<(), CallError> {
        let trust = self.platform.trust().await?;
        *self.asked.lock().await = Some(Instant::now());
        self.workloads.adopt_trust(trust).await;
        Ok(())
    }
}

impl TrustSource for TrustKeeper {
    /// Whoever sends orders with made-up keys must not make us call the platform for each of them.
    fn refresh(&self) -> Answer<'_, bool> {
        Box::pin(async {
            let recent = self.asked.lock().await.is_some_and(|asked| asked.elapsed() < Self::LEAST_PAUSE);
            if recent {
                return false;
            }
            match self.fetch().await {
                Ok(()) => true,
                Err(error) => {
                    tracing::warn!("an order is signed with an unknown key, and {error}");
                    false
                }
            }
        })
    }
}

async fn keep_trust(keeper: Arc<TrustKeeper>, mut link: watch::Receiver<LinkState>, rhythm: Rhythm) {
    let mut seen = 0;
    let mut pause = rhythm.trust;
    loop {
        tokio::select! { () = came_up(&mut link, &mut seen) => {}, () = tokio::time::sleep(pause) => {} }
        pause = match keeper.fetch().await {
            Ok(()) => jittered(rhythm.trust),
            Err(error) => after(&error, rhythm, "whom to trust"),
        };
    }
}

/// How long to wait after a call that failed. The link says why it is down; here it is a detail.
fn after(error: &CallError, rhythm: Rhythm, what: &str) -> Duration {
    match error {
        CallError::Unreachable(_) | CallError::Untrusted(_) | CallError::NotANode(_) => {
            tracing::debug!("{what} is not settled: {error}");
        }
        CallError::Refused { .. } | CallError::Unreadable(_) => {
            tracing::warn!("{what} is not settled: {error}");
        }
    }
    match error {
        CallError::Unreachable(_) => jittered(rhythm.retry),
        CallError::Refused { status, .. } if *status >= 500 || *status == 429 => jittered(rhythm.retry),
        CallError::Refused { .. }
        | CallError::Unreadable(_)
        | CallError::Untrusted(_)
        | CallError::NotANode(_) => jittered(rhythm.retry * 15),
    }
}

/// Tells what is, all of it now and then and what changes at once.
struct Reporter {
    platform: Arc<Platform>,
    workloads: Arc<dyn Workloads>,
    feed: Box<dyn ChangeFeed>,
    rhythm: Rhythm,
    /// Everything shall be told.
    full: bool,
    /// What changed and was not told yet; the latest of each instance.
    changed: BTreeMap<Uuid, InstanceReport>,
}

impl Reporter {
    fn new(platform: Arc<Platform>, workloads: Arc<dyn Workloads>, rhythm: Rhythm) -> Self {
        let feed = workloads.changes();
        Self { platform, workloads, feed, rhythm, full: false, changed: BTreeMap::new() }
    }

    async fn run(mut self, mut link: watch::Receiver<LinkState>) {
        let mut seen = 0;
        let mut next_full = Instant::now() + self.rhythm.report;
        loop {
            let mut ended = false;
            tokio::select! {
                () = came_up(&mut link, &mut seen) => self.full = true,
                () = tokio::time::sleep_until(next_full) => self.full = true,
                changes = self.feed.next() => match changes {
                    Some(changes) => self.note(changes),
                    None => ended = true,
                }
            }
            if ended {
                return;
            }
            if !self.full {
                self.listen(self.rhythm.gather).await;
            }
            if self.tell().await {
                next_full = Instant::now() + self.rhythm.report;
            }
        }
    }

    fn note(&mut self, changes: Vec<InstanceReport>) {
        self.changed.extend(changes.into_iter().map(|report| (report.instance_id, report)));
    }

    /// Waits, and takes in what changes meanwhile.
    async fn listen(&mut self, pause: Duration) {
        let until = Instant::now() + pause;
        while let Ok(Some(changes)) = tokio::time::timeout_at(until, self.feed.next()).await {
            self.note(changes);
        }
        tokio::time::sleep_until(until).await;
    }

    /// Until the platform has heard it. Says whether it was everything.
    async fn tell(&mut self) -> bool {
        loop {
            let report = if self.full {
                self.workloads.report_full().await
            } else {
                let instances: Vec<_> = self.changed.values().cloned().collect();
                NodeReport { run_id: self.workloads.run_id(), full: false, instances }
            };
            match self.platform.report(&report).await {
                Ok(()) => {
                    for told in &report.instances {
                        self.workloads.acknowledged(told).await;
                    }
                    self.changed.clear();
                    return std::mem::take(&mut self.full);
                }
                Err(error) => self.listen(after(&error, self.rhythm, "the report")).await,
            }
        }
    }
}

/// Free space changes all the time and is told with the rest.
fn differs(a: &NodeInventory, b: &NodeInventory) -> bool {
    let still = NodeInventory { disk_free_mib: b.disk_free_mib, ..a.clone() };
    still != *b
}

struct InventoryTeller {
    platform: Arc<Platform>,
    workloads: Arc<dyn Workloads>,
    look: Look,
    rhythm: Rhythm,
    told: Option<(NodeInventory, Instant)>,
}

impl InventoryTeller {
    async fn run(mut self, mut runtime: watch::Receiver<Runtime>, mut link: watch::Receiver<LinkState>) {
        let mut seen = 0;
        let mut pause = self.rhythm.look;
        let mut engine_watched = true;
        loop {
            tokio::select! {
                () = came_up(&mut link, &mut seen) => self.told = None,
                () = tokio::time::sleep(pause) => {}
                changed = runtime.changed(), if engine_watched => engine_watched = changed.is_ok(),
            }
            let engine = runtime.borrow_and_update().clone();
            let mut found = inventory::look(&self.look, engine).await;
            found.warnings.extend(self.workloads.warnings());
            found.problems.extend(self.workloads.problems());
            pause = self.tell(found).await;
        }
    }

    /// Tells what is news, or is due; gives the pause until the next look.
    async fn tell(&mut self, found: NodeInventory) -> Duration {
        let due = self
            .told
            .as_ref()
            .is_none_or(|(before, at)| at.elapsed() >= self.rhythm.inventory || differs(before, &found));
        if !due {
            return self.rhythm.look;
        }
        match self.platform.put_inventory(&found).await {
            Ok(()) => {
                let before = self.told.replace((found.clone(), Instant::now()));
                let old = before.map(|(before, _)| before.warnings).unwrap_or_default();
                for warning in found.warnings.iter().filter(|warning| !old.contains(warning)) {
                    tracing::warn!("inventory: {warning}");
                }
                self.rhythm.look
            }
            Err(error) => after(&error, self.rhythm, "the inventory"),
        }
    }
}

#[cfg(test)]
mod tests;
