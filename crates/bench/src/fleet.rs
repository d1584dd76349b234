//! Many agents on one server: what they cost it, and how soon all of them are back after it was killed. The agents are
//! real ones over simulated engines, in this process.

use std::time::Duration;

use gpuaas_testkit::Fleet;
use gpuaas_testkit::process::ServerProcess;
use tokio::time::Instant;

use crate::figures::{Goal, Report};
use crate::process::resident_mib;
use crate::{Result, progress};

const AGENTS: usize = 1000;
/// Two links and now and then a call for each agent, on both sides, with room for the rest.
const FILES: u64 = 5000;
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
    server.lift_limits();
    tokio::task::block_in_place(|| server.serve());
    let admin = server.admin().await;
    let before = resident_mib(server.pid())?;
    let begun = Instant::now();
    let fleet = Fleet::join(&admin, AGENTS).await;
    fleet.all_connected(&admin, 1).await?;
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
    fleet.all_connected(&admin, 2).await?;
    let goal = Goal::Below(120.0, "S02: all back after a restart");
    report.add("fleet.reconnect_storm", &[killed.elapsed().as_secs_f64()], "s", Some(goal));
    tokio::time::sleep(SETTLING).await;
    report.add("fleet.rss_1000_agents_back", &[resident_mib(server.pid())?], "MiB", None);
    server.kill();
    fleet.end().await;
    Ok(())
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
