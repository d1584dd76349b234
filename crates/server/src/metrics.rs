//! What the platform counts about itself, in the Prometheus text format.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub struct RequestLabels {
    pub route: &'static str,
    pub status: u16,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub struct LoopLabels {
    pub name: &'static str,
}

pub struct Metrics {
    registry: Registry,
    pub requests: Family<RequestLabels, Counter>,
    pub request_seconds: Histogram,
    pub anonymous_denials: Counter,
    pub rate_limited: Counter,
    pub replayed_answers: Counter,
    pub open_streams: Gauge,
    pub connections: Gauge,
    pub unnumbered_rows: Gauge,
    pub queued_work: Gauge,
    pub loop_turns: Family<LoopLabels, Counter>,
    pub loop_changes: Family<LoopLabels, Counter>,
    pub loop_errors: Family<LoopLabels, Counter>,
}

impl Metrics {
    pub fn new() -> Self {
        let mut metrics = Self {
            registry: Registry::with_prefix("gpuaas"),
            requests: Family::default(),
            request_seconds: Histogram::new(exponential_buckets(0.000_5, 2.0, 16)),
            anonymous_denials: Counter::default(),
            rate_limited: Counter::default(),
            replayed_answers: Counter::default(),
            open_streams: Gauge::default(),
            connections: Gauge::default(),
            unnumbered_rows: Gauge::default(),
            queued_work: Gauge::default(),
            loop_turns: Family::default(),
            loop_changes: Family::default(),
            loop_errors: Family::default(),
        };
        let registry = &mut metrics.registry;
        registry.register("http_requests", "Requests by route and status", metrics.requests.clone());
        registry.register(
            "http_request_seconds",
            "How long requests took, streams aside",
            metrics.request_seconds.clone(),
        );
        registry.register(
            "anonymous_denials",
            "Calls without a valid credential where one is needed",
            metrics.anonymous_denials.clone(),
        );
        registry.register(
            "rate_limited",
            "Calls refused because the caller was too fast",
            metrics.rate_limited.clone(),
        );
        registry.register(
            "replayed_answers",
            "Repeated requests answered from the first answer",
            metrics.replayed_answers.clone(),
        );
        registry.register("open_streams", "Event streams open now", metrics.open_streams.clone());
        registry.register("connections", "Client connections open now", metrics.connections.clone());
        registry.register(
            "unnumbered_rows",
            "Events and audit rows waiting for their number",
            metrics.unnumbered_rows.clone(),
        );
        registry.register("queued_work", "Items in the work queue", metrics.queued_work.clone());
        registry.register("loop_turns", "Turns of background loops", metrics.loop_turns.clone());
        registry.register("loop_changes", "Changes made by background loops", metrics.loop_changes.clone());
        registry.register("loop_errors", "Failed turns of background loops", metrics.loop_errors.clone());
        metrics
    }

    pub fn encode(&self) -> Result<String, std::fmt::Error> {
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &self.registry)?;
        Ok(text)
    }
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}
