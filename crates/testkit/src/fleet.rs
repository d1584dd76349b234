//! Many nodes in one process: real agents over simulated engines.

use std::sync::Arc;
use std::time::Duration;

use gpuaas_faults::Faults;
use gpuaas_node_agent::agent::Rhythm;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::{Caller, MovableClock, SimulatedNode};

const JOINING_AT_ONCE: usize = 8;
const PATIENCE: Duration = Duration::from_secs(150);

/// Nodes that run until [`Fleet::end`].
pub struct Fleet {
    nodes: Vec<SimulatedNode>,
}

impl Fleet {
    /// Every agent has a token of its own, joins with it, and runs.
    pub async fn join(admin: &Caller, count: usize) -> Self {
        let clock = Arc::new(MovableClock::default());
        let mut joining = JoinSet::new();
        for first in 0..JOINING_AT_ONCE {
            let (admin, clock) = (admin.clone(), clock.clone());
            joining.spawn(async move {
                let mut nodes = Vec::new();
                for number in (first..count).step_by(JOINING_AT_ONCE) {
                    let name = format!("node-{number:04}");
                    let mut node = SimulatedNode::join(&admin, &name, clock.clone()).await;
                    node.start_with(Faults::none(), Rhythm::default()).await;
                    nodes.push(node);
                }
                nodes
            });
        }
        Self { nodes: joining.join_all().await.into_iter().flatten().collect() }
    }

    /// Waits until both links of every agent have come up so often, and the server says that it sees all of them.
    pub async fn all_connected(&self, admin: &Caller, times: u64) -> Result<(), String> {
        let begun = Instant::now();
        let all = self.nodes.len();
        loop {
            let is_up = |node: &&SimulatedNode| node.connections().is_some_and(|count| count >= times);
            let up = self.nodes.iter().filter(is_up).count();
            let seen = if up == all { self.count_seen(admin).await } else { 0 };
            if seen == all {
                return Ok(());
            }
            if begun.elapsed() > PATIENCE {
                return Err(format!("{up} of {all} agents have both links, the server sees {seen} of them"));
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    async fn count_seen(&self, admin: &Caller) -> usize {
        let (mut count, mut cursor) = (0, String::new());
        loop {
            let page = admin.get(&format!("/api/v1/nodes?limit=100{cursor}")).await.expect(200).body;
            let nodes = page["items"].as_array().map_or(&[][..], Vec::as_slice);
            let ours = |id: &str| self.nodes.iter().any(|node| node.id == id);
            count += nodes
                .iter()
                .filter(|node| !node["agent_connected_at"].is_null() && node["id"].as_str().is_some_and(ours))
                .count();
            match page["next_cursor"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => return count,
            }
        }
    }

    pub async fn end(self) {
        let mut ending = JoinSet::new();
        for mut node in self.nodes {
            ending.spawn(async move { node.kill().await });
        }
        ending.join_all().await;
    }
}
