//! How fast waiting events and audit rows get their numbers, by the sequencer's own turn.

use std::sync::Arc;
use std::time::{Duration, Instant};

use gpuaas_control_plane::reconcilers::sequencer;
use gpuaas_control_plane::{ControlPlane, Settings, SystemClock};
use gpuaas_custody::{LocalCustody, SystemEntropy};
use uuid::Uuid;

use crate::databases::{self, Databases, Server};
use crate::figures::{Report, float};
use crate::{ROUNDS, Result, progress, writing};

const CALIBRATION: u64 = 300;

pub(crate) async fn measure(server: Server<'_>, round: Duration, report: &mut Report) -> Result {
    progress(&format!("the sequencer, {}", server.name()));
    let mut databases = Databases::new(server)?;
    let outcome = run(server, &mut databases, round, report).await;
    databases.remove().await?;
    outcome
}

async fn run(
    server: Server<'_>,
    databases: &mut Databases<'_>,
    round: Duration,
    report: &mut Report,
) -> Result {
    let url = databases.create("sequence").await?;
    let entropy = Arc::new(SystemEntropy::new());
    let custody =
        Arc::new(LocalCustody::open_or_create(&databases.folder().join("master.key"), entropy.clone())?);
    let store = databases::open(&url).await?;
    let plane =
        ControlPlane::new(store, custody, Arc::new(SystemClock), entropy, Settings::default(), Uuid::nil());
    number(&plane, 0, CALIBRATION).await?;
    let rate = number(&plane, CALIBRATION, CALIBRATION).await?;
    let writes = writing::whole(rate * round.as_secs_f64() / 2.0).max(100);
    let mut rates = Vec::new();
    for turn in 0..u64::from(ROUNDS) {
        rates.push(number(&plane, 2 * CALIBRATION + turn * writes, writes).await?);
    }
    plane.store.close().await;
    report.add(format!("sequencer, rows numbered, {}", server.name()), &rates, "/s", None);
    Ok(())
}

/// Makes writes that leave two rows each, then numbers them; gives rows per second.
async fn number(plane: &ControlPlane, first: u64, writes: u64) -> Result<f64> {
    writing::fill(&plane.store, first, writes).await?;
    let started = Instant::now();
    let status = sequencer::tick(plane, "bench").await?;
    let took = started.elapsed().as_secs_f64();
    let numbered = status.changed as u64;
    if numbered != 2 * writes {
        return Err(format!("{numbered} rows were numbered instead of {}", 2 * writes).into());
    }
    Ok(float(numbered) / took)
}
