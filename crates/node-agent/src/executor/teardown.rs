//! Taking down: after a failure, for a stop, and for good. What will be removed is noted first, so that a receipt names
//! it whatever happens in between.

use std::sync::Arc;
use std::time::Duration;

use gpuaas_agent_protocol::FailureReason;
use gpuaas_agent_protocol::receipt::{self, Left, Receipt};
use gpuaas_agent_protocol::report::Phase;
use gpuaas_faults::step;

use super::actor::{Actor, Halt, all};
use super::scratch;
use crate::journal::Wish;
use crate::runtime::{ContainerView, Found};
use crate::seams::Failure;

/// While something is torn down every failure is for the moment: there is no other end than done.
fn again(failure: Failure) -> Halt {
    Halt::Again(failure)
}

fn on_disk(what: &str, error: &std::io::Error) -> Halt {
    Halt::Again(Failure::new(FailureReason::StopFailed, format!("{what}: {error}.")))
}

impl Actor {
    pub(super) async fn stop(&mut self, grace_seconds: u32) -> Result<(), Halt> {
        self.show_phase(Phase::Stopping);
        self.take_down(grace_seconds).await?;
        self.save(|record| {
            record.phase = Phase::Stopped;
            record.failure = None;
            record.subnet = None;
        })
        .await?;
        self.show(|live| {
            live.components.clear();
            live.phase = Phase::Stopped;
            live.failure = None;
        });
        Ok(())
    }

    /// The failure is in the journal; what is left of the attempt goes, its last words and its scratch stay.
    pub(super) async fn clean_up_failed(&mut self, grace_seconds: u32) -> Result<(), Halt> {
        self.take_down(grace_seconds).await?;
        self.save(|record| {
            record.phase = Phase::Failed;
            record.subnet = None;
        })
        .await?;
        let failure = self.record.failure.clone();
        self.show(|live| {
            live.components.clear();
            live.phase = Phase::Failed;
            live.failure = failure;
            live.pull = None;
        });
        Ok(())
    }

    pub(super) async fn remove(&mut self, grace_seconds: u32) -> Result<(), Halt> {
        self.show_phase(Phase::Removing);
        self.take_down(grace_seconds).await?;
        let root = self.shared.options.scratch.clone();
        let folders = scratch::list(&root, self.instance);
        if !folders.is_empty() {
            self.save(|record| folders.iter().for_each(|name| record.note_removed("scratch", name))).await?;
        }
        let instance = self.instance;
        let removed: Result<(), Halt> = step!(self.shared.options.faults, "agent.remove_scratch", {
            let root = root.clone();
            let done = tokio::task::spawn_blocking(move || scratch::remove(&root, instance)).await;
            done.expect("removing a folder does not panic")
                .map_err(|error| on_disk("The scratch folder stays", &error))
        });
        removed?;
        let removed: Result<(), Halt> = step!(self.shared.options.faults, "agent.remove_logs", {
            self.shared.journal.remove_logs(instance).map_err(|error| on_disk("The saved logs stay", &error))
        });
        removed?;
        self.attest().await
    }

    /// Looks again; only what was not found is attested.
    async fn attest(&mut self) -> Result<(), Halt> {
        let left: Result<Left, Halt> =
            step!(self.shared.options.faults, "agent.verify", self.count_left().await);
        self.sign_off(left?).await
    }

    /// The end of an instance or a volume, if nothing of it is left.
    pub(super) async fn sign_off(&mut self, left: Left) -> Result<(), Halt> {
        if !left.is_nothing() {
            let detail = format!(
                "Still there: {} containers, {} networks, {} volumes, {} scratch paths, {} secrets, {} ports.",
                left.containers, left.networks, left.volumes, left.scratch_paths, left.secrets, left.ports
            );
            return Err(Halt::Again(Failure::new(FailureReason::StopFailed, detail)));
        }
        let receipt = Receipt {
            instance_id: self.instance,
            node_id: self.shared.options.node_id,
            generation: self.record.generation,
            removed: self.record.removed.clone(),
            left,
            volumes_kept: self.record.volumes.iter().copied().collect(),
            checked_at: self.shared.time.now(),
            simulated: self.runtime().is_simulated(),
        };
        let signed = receipt::sign(&receipt, &self.shared.options.node_key);
        let saved: Result<(), Halt> = step!(self.shared.options.faults, "agent.receipt", {
            self.save(|record| {
                record.wish = Wish::Gone;
                record.phase = Phase::Removed;
                record.failure = None;
                record.subnet = None;
                record.removed.clear();
                record.volumes.clear();
                record.receipt = Some(signed.clone());
            })
            .await
        });
        saved?;
        self.show(|live| {
            live.components.clear();
            live.phase = Phase::Removed;
            live.failure = None;
        });
        Ok(())
    }

    async fn count_left(&self) -> Result<Left, Halt> {
        let found = self.look().await?;
        let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        Ok(Left {
            containers: count(found.containers.len()),
            networks: count(found.networks.len()),
            volumes: count(found.volumes.len()),
            scratch_paths: u32::from(scratch::exists(&self.shared.options.scratch, self.instance))
                + u32::from(self.shared.journal.log_folder(self.instance).exists()),
            secrets: count(self.secrets().len()),
            ports: count(self.ports.open().len()),
        })
    }

    /// Containers, networks, volumes, ports and the door of the instance, whatever order made them.
    async fn take_down(&mut self, grace_seconds: u32) -> Result<(), Halt> {
        let found = self.look().await?;
        self.note(&found).await?;
        self.show_components(&found.containers, |_| false);
        self.remove_containers(&found.containers, grace_seconds).await?;
        self.remove_secrets().await?;
        self.ports.close();
        self.shared.options.door.close(self.instance);
        self.remove_networks(&found).await?;
        for volume in &found.volumes {
            step!(self.shared.options.faults, "agent.remove_volume", {
                self.runtime().remove_volume(volume).await.map_err(again)
            })?;
        }
        Ok(())
    }

    /// What an earlier generation left; its scratch stays for this one.
    pub(super) async fn clear_earlier(&mut self, found: &Found, grace_seconds: u32) -> Result<(), Halt> {
        let earlier = Found {
            containers: found.containers.iter().filter(|c| !self.is_ours(&c.labels)).cloned().collect(),
            networks: found.networks.iter().filter(|n| !self.is_ours(&n.labels)).cloned().collect(),
            volumes: Vec::new(),
        };
        self.note(&earlier).await?;
        self.remove_containers(&earlier.containers, grace_seconds).await?;
        self.ports.close();
        self.remove_networks(&earlier).await
    }

    async fn note(&mut self, found: &Found) -> Result<(), Halt> {
        let (ports, secrets) = (self.ports.open(), self.secrets());
        if found.is_nothing() && ports.is_empty() && secrets.is_empty() {
            return Ok(());
        }
        self.save(|record| {
            for container in &found.containers {
                record.note_removed("container", &container.name);
            }
            for network in &found.networks {
                record.note_removed("network", &network.name);
            }
            for volume in &found.volumes {
                record.note_removed("volume", volume);
            }
            for secret in &secrets {
                record.note_removed("secret", secret);
            }
            for port in &ports {
                record.note_removed("port", &format!("127.0.0.1:{port}"));
            }
        })
        .await
    }

    async fn remove_containers(&self, containers: &[ContainerView], grace_seconds: u32) -> Result<(), Halt> {
        let grace = Duration::from_secs(u64::from(grace_seconds));
        all(containers.iter().map(|container| self.remove_one(container, grace))).await
    }

    async fn remove_one(&self, container: &ContainerView, grace: Duration) -> Result<(), Halt> {
        if container.state.is_running() {
            step!(self.shared.options.faults, "agent.stop", {
                self.runtime().stop(&container.id, grace).await.map_err(again)
            })?;
        }
        // Logs that cannot be kept must not keep the container.
        let kept: Result<(), Halt> = step!(
            self.shared.options.faults,
            "agent.save_logs",
            self.shared.keep_logs(container).await.map_err(again)
        );
        if let Err(Halt::Again(failure)) = kept {
            tracing::warn!(instance.id = %self.instance, "could not keep the last logs of {}: {failure}", container.name);
        }
        step!(self.shared.options.faults, "agent.remove_container", {
            self.runtime().remove_container(&container.id).await.map_err(again)
        })
    }

    async fn remove_networks(&self, found: &Found) -> Result<(), Halt> {
        let shared = Arc::clone(&self.shared);
        for network in &found.networks {
            step!(shared.options.faults, "agent.remove_network", {
                self.runtime().remove_network(&network.name).await.map_err(again)
            })?;
        }
        Ok(())
    }
}
