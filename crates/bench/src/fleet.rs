//! Many agents on one server: what they cost it, and how soon all of them are back after it was killed. The agents are
//! real ones over simulated engines, in this process.

use std::sync::Arc;
use std::time::Duration;

use gpuaas_faults::Faults;
use gpuaas_node_agent::agent::Rhythm;
use gpuaas_testkit::process::ServerProcess;
use gpuaas_testkit::{Caller, MovableClock, SimulatedNode};
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::figures::{Goal, Report};
use crate::process::resident_mib;
use crate::{Result, progress};

const AGENTS: usize = 1000;
const JOINING_AT_ONCE: usize = 8;
/// Two links and now and then a call for each agent, on both sides, with room for the rest.
const FILES: u64 = 5000;
const PATIENCE: Duration = Duration::from_secs(150);
/// Everything that agents say when they come up has been said.
const SETTLING: Duration = Duration::from_secs(5);

pub(crate) async fn measure(report: &mut Report) -> Result {
    progress("a fleet of 1 000 agents");
    if max_open_files()? < FILES {
        report.note(format!("The fleet was not measured: it needs {FILES} open files (ulimit -n)."));
        return Ok(());
    }
    let folder = tempfile::tempdir()?;
    let mut server = ServerProcess::prepare(&folder.path().join("data"), None);
    // All agents are on one address here, and their admin is one caller.
    for limit in ["READS", "WRITES", "CREDENTIALS"] {
        server.set(&format!("GPUAAS__LIMITS__{limit}_PER_SECOND"), "1000000");
    }
    tokio::task::block_in_place(|| server.serve());
    let admin = server.admin().await;
    let before = resident_mib(server.pid())?;
    let begun = Instant::now();
    let nodes = join_all(&admin).await?;
    all_connected(&nodes, &admin, 1).await?;
    report.add("fleet.join_1000_agents", &[begun.elapsed().as_secs_f64()], "s", None);
    tokio::time::sleep(SETTLING).await;
    report.add("fleet.rss_no_agents", &[before], "MiB", None);
    report.add("fleet.rss_1000_agents", &[resident_mib(server.pid())?], "MiB", None);

    progress("a fleet that comes back");
    let killed = Instant::now();
    tokio::task::block_in_place(|| {
        server.kill();
        server.serve();
    });
    all_connected(&nodes, &admin, 2).await?;
    let goal = Goal::Below(120.0, "S02: all back after a restart");
    report.add("fleet.reconnect_storm", &[killed.elapsed().as_secs_f64()], "s", Some(goal));
    tokio::time::sleep(SETTLING).await;
    report.add("fleet.rss_1000_agents_back", &[resident_mib(server.pid())?], "MiB", None);
    server.kill();
    let mut ending = JoinSet::new();
    for mut node in nodes {
        ending.spawn(async move { node.kill().await });
    }
    ending.join_all().await;
    Ok(())
}

/// Every agent has a token of its own, joins with it, and runs.
async fn join_all(admin: &Caller) -> Result<Vec<SimulatedNode>> {
    let clock = Arc::new(MovableClock::default());
    let mut joining = JoinSet::new();
    for first in 0..JOINING_AT_ONCE {
        let (admin, clock) = (admin.clone(), clock.clone());
        joining.spawn(async move {
            let mut nodes = Vec::new();
            for number in (first..AGENTS).step_by(JOINING_AT_ONCE) {
                let mut node = SimulatedNode::join(&admin, &format!("node-{number:04}"), clock.clone()).await;
                node.start_with(Faults::none(), Rhythm::default()).await;
                nodes.push(node);
            }
            nodes
        });
    }
    let mut nodes = Vec::with_capacity(AGENTS);
    while let Some(joined) = joining.join_next().await {
        nodes.extend(joined?);
    }
    Ok(nodes)
}

/// Waits until both links of every agent have come up so often, and the server says that it sees all of them.
async fn all_connected(nodes: &[SimulatedNode], admin: &Caller, times: u64) -> Result {
    let begun = Instant::now();
    loop {
        let up = nodes.iter().filter(|node| node.connections().is_some_and(|count| count >= times)).count();
        let seen = if up == nodes.len() { count_seen(admin).await } else { 0 };
        if seen == nodes.len() {
            return Ok(());
        }
        if begun.elapsed() > PATIENCE {
            return Err(
                format!("{up} of {AGENTS} agents have both links, the server sees {seen} of them").into()
            );
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

async fn count_seen(admin: &Caller) -> usize {
    let (mut count, mut cursor) = (0, String::new());
    loop {
        let page = admin.get(&format!("/api/v1/nodes?limit=100{cursor}")).await.expect(200).body;
        let nodes = page["items"].as_array().map_or(&[][..], Vec::as_slice);
        count += nodes.iter().filter(|node| !node["agent_connected_at"].is_null()).count();
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return count,
        }
    }
}

/// The server inherits this process's limit.
fn max_open_files() -> Result<u64> {
    let limits = std::fs::read_to_string("/proc/self/limits")?;
    let soft = limits
        .lines()
        .find_map(|line| line.strip_prefix("Max open files")?.split_whitespace().next()?.parse::<u64>().ok());
    // Not a number: unlimited.
    Ok(soft.unwrap_or(u64::MAX))
}
