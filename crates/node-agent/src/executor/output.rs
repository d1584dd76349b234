//! Logs and figures of instances, while they run and the last words afterwards.

use std::collections::VecDeque;
use std::sync::Arc;

use futures_util::{StreamExt as _, stream};
use gpuaas_agent_protocol::FailureReason;
use gpuaas_agent_protocol::link::{InstanceStats, LogLine, LogQuery};
use uuid::Uuid;

use super::{Executor, Shared};
use crate::runtime::{ContainerView, LogStream, State};
use crate::seams::Failure;

/// Lines asked of the engine for the last words; more never fit the limit in bytes by much.
const SAVED_LINES: u32 = 20_000;

impl Executor {
    /// `None` where there is no such instance. Of what runs from the engine, of what ran from what was kept.
    pub async fn logs(&self, instance: Uuid, query: LogQuery) -> Result<Option<LogStream>, Failure> {
        let Some(slot) = self.shared.find(instance).filter(|slot| !slot.is_forgotten()) else {
            return Ok(None);
        };
        let wanted = |name: &str| query.component.as_deref().is_none_or(|component| component == name);
        let found = self.shared.options.runtime.list(self.shared.options.node_id, Some(instance)).await?;
        let generation = slot.record().generation;
        let mut streams = Vec::new();
        for container in &found.containers {
            let name = container.labels.component.as_deref().unwrap_or_default();
            if wanted(name) && container.labels.generation == generation && container.state != State::Created
            {
                streams.push(self.shared.options.runtime.logs(container, &query).await?);
            }
        }
        if streams.is_empty() {
            for component in self.shared.journal.saved_logs(instance).into_iter().filter(|name| wanted(name))
            {
                streams.push(self.shared.saved_log(instance, component, query.clone()).await);
            }
        }
        Ok(Some(if query.follow {
            Box::pin(stream::select_all(streams)) as LogStream
        } else {
            Box::pin(stream::iter(streams).flatten())
        }))
    }

    /// `None` where there is no such instance.
    pub async fn stats(&self, instance: Uuid) -> Result<Option<InstanceStats>, Failure> {
        let Some(slot) = self.shared.find(instance).filter(|slot| !slot.is_forgotten()) else {
            return Ok(None);
        };
        let live = slot.live();
        let running = live.components.iter().filter(|component| component.view.state.is_running());
        let runtime = &self.shared.options.runtime;
        let components =
            futures_util::future::try_join_all(running.map(|component| runtime.stats(&component.view)));
        Ok(Some(InstanceStats { components: components.await?, simulated: runtime.is_simulated() }))
    }
}

impl Shared {
    /// Keeps the end of a container's log, since it goes with the container.
    pub(super) async fn keep_logs(&self, container: &ContainerView) -> Result<(), Failure> {
        if container.state == State::Created {
            return Ok(());
        }
        let query = LogQuery { tail: Some(SAVED_LINES), ..LogQuery::default() };
        let mut lines = self.options.runtime.logs(container, &query).await?;
        let mut kept: VecDeque<Vec<u8>> = VecDeque::new();
        let mut size = 0;
        while let Some(line) = lines.next().await {
            let mut text = serde_json::to_vec(&line?).expect("a line is plain data");
            text.push(b'\n');
            size += text.len();
            kept.push_back(text);
            while size > self.options.limits.saved_log_bytes {
                size -= kept.pop_front().map_or(size, |dropped| dropped.len());
            }
        }
        let bytes: Vec<u8> = kept.into_iter().flatten().collect();
        let (journal, instance) = (Arc::clone(&self.journal), container.labels.instance);
        let component = container.labels.component.clone().unwrap_or_default();
        let saved = tokio::task::spawn_blocking(move || journal.save_log(instance, &component, &bytes)).await;
        let saved = saved.expect("writing a file does not panic");
        saved.map_err(|error| {
            Failure::new(FailureReason::DiskFull, format!("The log cannot be kept: {error}."))
        })
    }

    async fn saved_log(&self, instance: Uuid, component: String, query: LogQuery) -> LogStream {
        let journal = Arc::clone(&self.journal);
        let read = tokio::task::spawn_blocking(move || journal.read_log(instance, &component)).await;
        let text = read.expect("reading a file does not panic").unwrap_or_default();
        let lines =
            text.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice::<LogLine>(line).ok());
        let since = query.since.unwrap_or(i64::MIN);
        let lines: Vec<LogLine> = lines.filter(|line| line.at >= since).collect();
        let skip = query.tail.map_or(0, |tail| lines.len().saturating_sub(tail as usize));
        Box::pin(stream::iter(lines.into_iter().skip(skip).map(Ok)))
    }
}
