//! From a launch that was accepted to the order that its node has: launches come at a steady rate, whether the earlier
//! ones were answered or not.

use std::time::Duration;

use chrono::DateTime;
use gpuaas_api::Route;
use gpuaas_faults::Faults;
use gpuaas_node_agent::agent::Rhythm;
use gpuaas_testkit::{Database, TestPlatform, manifest};
use serde_json::json;
use sqlx::{Connection as _, SqliteConnection};
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::figures::{Goal, Report, float};
use crate::{Result, progress};

const PER_SECOND: u32 = 50;
/// A longer run says nothing more and fills the node's addresses.
const LONGEST_SECONDS: u32 = 20;
const PATIENCE: Duration = Duration::from_mins(1);
/// The least that a node takes.
const MEMORY_MIB: u32 = 6;

pub(crate) async fn measure(seconds: u32, report: &mut Report) -> Result {
    progress("an accepted launch to its order");
    let seconds = seconds.min(LONGEST_SECONDS);
    let platform = TestPlatform::start_serving(Database::Sqlite, "").await;
    let mut node = platform.join("node").await;
    node.start_with(Faults::none(), Rhythm::default()).await;
    platform.wait_ready(&node).await;
    let measured = launch_all(&platform, seconds * PER_SECOND).await;
    node.kill().await;
    let took = match measured {
        Ok(()) => took_ms(&platform.database.url, seconds * PER_SECOND).await,
        Err(error) => Err(error),
    };
    platform.stop().await;
    let took = took?;
    report.add("dispatch.accept_to_sent_p50", &[percentile(&took, 50)], "ms", None);
    let goal = Goal::Below(100.0, "at 50 launches a second");
    report.add("dispatch.accept_to_sent_p99", &[percentile(&took, 99)], "ms", Some(goal));
    Ok(())
}

/// Launches at the rate, and waits until every order has gone out. One refusal and there is no figure.
async fn launch_all(platform: &TestPlatform, count: u32) -> Result {
    let home = platform.home("bench").await;
    let sku = json!({"slug": "bench", "shape": "gpu_slice", "gpu_count": 0, "vcpu": 1,
                     "memory_mib": (count * MEMORY_MIB).max(64), "grant_policy": "auto"});
    platform.admin.call(Route::SkuCreate, &[], Some(&sku)).await.expect(201);
    let allocation = platform.allocation(&home.project, "bench").await;
    let mut app = manifest("web", "1.0.0");
    app["runtime_profile"]["resources"] = json!({"min_memory_mib": MEMORY_MIB, "min_vcpu": 0.001});
    platform.publish(&app, &home.project).await;
    let wish = json!({"slug": "web", "target_allocation_id": allocation,
                      "resources": {"cpu_millis": 1, "memory_mib": MEMORY_MIB}});
    let (mut calls, begun) = (JoinSet::new(), Instant::now());
    for number in 0..count {
        tokio::time::sleep_until(begun + Duration::from_secs(1) / PER_SECOND * number).await;
        let (caller, project, wish) = (platform.admin.clone(), home.project.clone(), wish.clone());
        calls.spawn(async move {
            let answer = caller.call(Route::InstanceCreate, &[&project], Some(&wish)).await;
            (answer.status, answer.text)
        });
    }
    let mut refused = Vec::new();
    while let Some(ended) = calls.join_next().await {
        let (status, text) = ended?;
        if status != 202 {
            refused.push(text);
        }
    }
    if let Some(first) = refused.first() {
        return Err(format!("{} of {count} launches were refused, such as: {first}", refused.len()).into());
    }
    let mut database = SqliteConnection::connect(&platform.database.url).await?;
    let begun = Instant::now();
    loop {
        let unsent = "SELECT COUNT(*) FROM node_tasks WHERE sent_at IS NULL";
        let unsent: i64 = sqlx::query_scalar(unsent).fetch_one(&mut database).await?;
        if unsent == 0 {
            break;
        }
        if begun.elapsed() > PATIENCE {
            return Err(format!("{unsent} of {count} orders were not sent").into());
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let failed = "SELECT COUNT(*) FROM app_instances WHERE status = 'failed'";
    let failed: i64 = sqlx::query_scalar(failed).fetch_one(&mut database).await?;
    if failed > 0 {
        return Err(format!("{failed} of {count} launches failed").into());
    }
    Ok(())
}

/// Sorted, one of each launch.
async fn took_ms(url: &str, count: u32) -> Result<Vec<f64>> {
    let mut database = SqliteConnection::connect(url).await?;
    let rows: Vec<(String, String)> =
        sqlx::query_as("SELECT created_at, sent_at FROM node_tasks WHERE family = 'container.launch'")
            .fetch_all(&mut database)
            .await?;
    if rows.len() != count as usize {
        return Err(format!("{} orders instead of {count}", rows.len()).into());
    }
    let mut took = Vec::with_capacity(rows.len());
    for (created, sent) in rows {
        let between = DateTime::parse_from_rfc3339(&sent)? - DateTime::parse_from_rfc3339(&created)?;
        let micros = u64::try_from(between.num_microseconds().unwrap_or(i64::MAX))
            .map_err(|_| "an order was sent before it was made")?;
        took.push(float(micros) / 1000.0);
    }
    took.sort_by(f64::total_cmp);
    Ok(took)
}

fn percentile(sorted: &[f64], percent: usize) -> f64 {
    sorted.get(sorted.len() * percent / 100).copied().unwrap_or(f64::NAN)
}
