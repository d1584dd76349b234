//! Tells the platform every ten seconds that the app lives: `POST $GPUAAS_BASE_URL/v1/heartbeat`, plain HTTP.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use crate::client::{self, Base};
use crate::{Facts, page};

const EVERY: Duration = Duration::from_secs(10);

pub(crate) fn start(facts: &Arc<Facts>, base: Base) {
    let facts = Arc::clone(facts);
    std::thread::spawn(move || {
        // Only changes are worth a line.
        let mut last = None;
        loop {
            let outcome = beat(&base, &facts).map_err(|error| error.to_string());
            if last.as_ref() != Some(&outcome) {
                match &outcome {
                    Ok(status) => println!("heartbeat answered {status}"),
                    Err(error) => println!("heartbeat failed: {error}"),
                }
                last = Some(outcome);
            }
            std::thread::sleep(EVERY);
        }
    });
}

/// The status of the answer.
fn beat(base: &Base, facts: &Facts) -> io::Result<u16> {
    let id = facts.config.instance_id.as_deref().map_or("null".to_owned(), page::json_text);
    let body = format!("{{\"instance_id\":{id},\"uptime_seconds\":{}}}", facts.started.elapsed().as_secs());
    client::post(base, "/v1/heartbeat", None, &body).map(|(status, _)| status)
}
