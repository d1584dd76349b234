//! Watches what runs: probes it, restarts it within its budget, and gives up beyond it.

use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use gpuaas_agent_protocol::FailureReason;
use gpuaas_agent_protocol::report::{Health, Phase};
use gpuaas_agent_protocol::spec::{ComponentSpec, Probe, RestartBudget, WorkloadSpec};
use gpuaas_faults::step;
use tokio::time::Instant;

use super::actor::{Actor, Halt};
use super::slot::{Component, Slot};
use crate::probes::{Complaint, probe};
use crate::runtime::{ContainerRuntime, ContainerView, State};
use crate::seams::Failure;

const FIRST_LOOKS: Duration = Duration::from_millis(5);

/// What is noticed about one component.
enum Seen {
    Ready,
    /// Its liveness probe has said no too often.
    Lost(Complaint),
    Exited,
    Unseen(Failure),
}

/// What is known of one component while it is watched.
struct Watch<'a> {
    spec: &'a ComponentSpec,
    view: ContainerView,
    ready: bool,
    /// What its readiness probe last said.
    complaint: Arc<Mutex<Complaint>>,
}

type Events<'a> = FuturesUnordered<Pin<Box<dyn Future<Output = (usize, Seen)> + Send + 'a>>>;

impl Actor {
    /// Never ends well: it goes on until there is another wish or it fails.
    pub(super) async fn supervise(&mut self, spec: &WorkloadSpec, mut was_running: bool) -> Result<(), Halt> {
        let mut watched = self.watched(spec)?;
        let patience = Duration::from_secs(u64::from(spec.readiness_deadline_seconds));
        let mut deadline = Instant::now() + patience;
        let mut events = Events::new();
        for (index, watch) in watched.iter().enumerate() {
            events.push(self.next_event(index, watch));
        }
        loop {
            if watched.iter().all(|watch| watch.ready) {
                self.settle_running(&mut was_running).await?;
            }
            let (index, seen) = self.wait(&mut events, &watched, deadline, was_running).await?;
            if let Seen::Ready = seen {
                watched[index].ready = true;
                self.show_watched(&watched);
            } else {
                self.mend(spec, &mut watched, index, seen).await?;
                deadline = Instant::now() + patience;
            }
            events.push(self.next_event(index, &watched[index]));
        }
    }

    fn watched<'a>(&self, spec: &'a WorkloadSpec) -> Result<Vec<Watch<'a>>, Halt> {
        let components = self.slot.live().components;
        let watched = spec.components.iter().map(|component| {
            let name = Some(component.name.as_str());
            let known = components.iter().find(|known| known.view.labels.component.as_deref() == name);
            // What is shown is no longer about this wish.
            let Component { view, ready } = known.cloned().ok_or(Halt::Superseded)?;
            let complaint = Arc::new(Mutex::new("It was not probed.".to_owned()));
            Ok(Watch { spec: component, view, ready, complaint })
        });
        watched.collect()
    }

    /// A component ended or does not answer: restarts it, if the budget allows.
    async fn mend(
        &mut self,
        spec: &WorkloadSpec,
        watched: &mut [Watch<'_>],
        index: usize,
        seen: Seen,
    ) -> Result<(), Halt> {
        self.show(|live| live.health = Health::Unhealthy);
        match seen {
            Seen::Ready => return Ok(()),
            Seen::Unseen(failure) => return Err(failure.into()),
            Seen::Lost(complaint) => {
                self.spend_restart(spec.restart, &watched[index], FailureReason::HealthLost, &complaint)
                    .await?;
                let grace = Duration::from_secs(u64::from(spec.stop_grace_seconds));
                self.runtime().stop(&watched[index].view.id, grace).await?;
            }
            Seen::Exited => {
                self.refresh(watched, index).await?;
                let (reason, detail) = why_ended(&watched[index].view);
                self.spend_restart(spec.restart, &watched[index], reason, &detail).await?;
            }
        }
        // A fresh start of the same container. What its process said before does not count for the new one.
        self.slot.forget_heard();
        self.start(&watched[index].view.id).await?;
        self.refresh(watched, index).await
    }

    /// Everything is ready: that is what running means.
    async fn settle_running(&mut self, was_running: &mut bool) -> Result<(), Halt> {
        if !*was_running {
            let subnet = self.record.subnet;
            let done: Result<(), Halt> = step!(self.shared.options.faults, "agent.ready", {
                self.save(|record| {
                    record.phase = Phase::Running;
                    record.subnet = subnet;
                })
                .await
            });
            done?;
            *was_running = true;
        }
        self.show(|live| {
            live.phase = Phase::Running;
            live.health = Health::Healthy;
            live.failure = None;
        });
        Ok(())
    }

    async fn wait(
        &self,
        events: &mut Events<'_>,
        watched: &[Watch<'_>],
        deadline: Instant,
        was_running: bool,
    ) -> Result<(usize, Seen), Halt> {
        let waiting = watched.iter().any(|watch| !watch.ready);
        tokio::select! {
            biased;
            () = self.superseded() => Err(Halt::Superseded),
            event = events.next() => Ok(event.expect("a spec has components")),
            () = tokio::time::sleep_until(deadline), if waiting => Err(Halt::Failed(too_late(watched, was_running))),
        }
    }

    /// The next thing of note about a component. It owns what it needs: the actor goes on changing.
    fn next_event<'a>(
        &self,
        index: usize,
        watch: &Watch<'a>,
    ) -> Pin<Box<dyn Future<Output = (usize, Seen)> + Send + 'a>> {
        let (runtime, slot) = (Arc::clone(&self.shared.options.runtime), Arc::clone(&self.slot));
        let (spec, view, ready, complaint) =
            (watch.spec, watch.view.clone(), watch.ready, Arc::clone(&watch.complaint));
        Box::pin(async move {
            let probing = async {
                match (ready, &spec.readiness, &spec.liveness) {
                    (false, None, _) => Seen::Ready,
                    (false, Some(readiness), _) => {
                        until_ready(&*runtime, &slot, &view, readiness, &complaint).await;
                        Seen::Ready
                    }
                    (true, _, Some(liveness)) => {
                        Seen::Lost(until_lost(&*runtime, &slot, &view, liveness).await)
                    }
                    (true, _, None) => std::future::pending().await,
                }
            };
            let seen = tokio::select! {
                biased;
                ended = runtime.wait_exit(&view.id) => ended.map_or_else(Seen::Unseen, |()| Seen::Exited),
                seen = probing => seen,
            };
            (index, seen)
        })
    }

    async fn refresh(&self, watched: &mut [Watch<'_>], index: usize) -> Result<(), Halt> {
        let Some(view) = self.runtime().find_container(&watched[index].view.id).await? else {
            let detail = "The container was removed by somebody else.";
            return Err(Halt::Failed(Failure::new(FailureReason::ContainerExited, detail)));
        };
        watched[index].view = view;
        watched[index].ready = false;
        self.show_watched(watched);
        Ok(())
    }

    /// Takes one restart off the budget, in the journal first, and waits out the backoff.
    async fn spend_restart(
        &mut self,
        budget: RestartBudget,
        watch: &Watch<'_>,
        reason: FailureReason,
        detail: &str,
    ) -> Result<(), Halt> {
        let now = self.shared.time.now();
        let window = i64::from(budget.window_seconds) * 1_000_000;
        let recent: Vec<i64> = self.record.restarts.iter().copied().filter(|at| now - at < window).collect();
        let failure = Failure::new(reason, format!("{}: {detail}", watch.spec.name));
        if recent.len() >= budget.max_restarts as usize {
            return Err(Halt::Failed(failure));
        }
        self.show(|live| live.complain(&failure));
        let doublings = u32::try_from(recent.len()).unwrap_or(u32::MAX).min(16);
        let (name, subnet) = (watch.spec.name.clone(), self.record.subnet);
        self.save(|record| {
            record.subnet = subnet;
            record.restarts.clone_from(&recent);
            record.restarts.push(now);
            *record.restarts_by_component.entry(name.clone()).or_default() += 1;
        })
        .await?;
        let (first, most) = self.limits().restart_backoff;
        self.unless_superseded(tokio::time::sleep((first * 2_u32.pow(doublings)).min(most))).await
    }

    fn show_watched(&self, watched: &[Watch<'_>]) {
        let components: Vec<Component> =
            watched.iter().map(|watch| Component { view: watch.view.clone(), ready: watch.ready }).collect();
        self.show(|live| live.components = components);
    }
}

async fn until_ready(
    runtime: &dyn ContainerRuntime,
    slot: &Slot,
    view: &ContainerView,
    readiness: &Probe,
    complaint: &Mutex<Complaint>,
) {
    // Most are up in no time: the first looks come close together, and then as often as the profile says.
    let interval = Duration::from_millis(u64::from(readiness.interval_ms));
    let mut pause = FIRST_LOOKS.min(interval);
    while let Err(said) = probe(runtime, view, readiness, slot.heard()).await {
        *complaint.lock().expect("nothing panics while it is held") = said;
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(interval);
    }
}

/// Probes for life until so many probes in a row have failed.
async fn until_lost(
    runtime: &dyn ContainerRuntime,
    slot: &Slot,
    view: &ContainerView,
    liveness: &Probe,
) -> Complaint {
    let mut failures = 0;
    loop {
        tokio::time::sleep(Duration::from_millis(u64::from(liveness.interval_ms))).await;
        match probe(runtime, view, liveness, slot.heard()).await {
            Ok(()) => failures = 0,
            Err(complaint) => {
                failures += 1;
                if failures >= liveness.failures {
                    return complaint;
                }
            }
        }
    }
}

fn why_ended(view: &ContainerView) -> (FailureReason, String) {
    match &view.state {
        State::Exited { out_of_memory: true, .. } => {
            (FailureReason::OutOfMemory, "It used more memory than it may and was killed.".to_owned())
        }
        State::Exited { code, error, .. } if error.is_empty() => {
            (FailureReason::ContainerExited, format!("The process ended with exit code {code}."))
        }
        State::Exited { code, error, .. } => {
            (FailureReason::ContainerExited, format!("The process ended with exit code {code}: {error}"))
        }
        State::Created | State::Running => (FailureReason::ContainerExited, "The process ended.".to_owned()),
    }
}

fn too_late(watched: &[Watch<'_>], was_running: bool) -> Failure {
    let reason = if was_running { FailureReason::HealthLost } else { FailureReason::ReadinessTimeout };
    let waiting = watched.iter().filter(|watch| !watch.ready).map(|watch| {
        format!("{}: {}", watch.spec.name, watch.complaint.lock().expect("nothing panics while it is held"))
    });
    Failure::new(reason, waiting.collect::<Vec<_>>().join(" "))
}
