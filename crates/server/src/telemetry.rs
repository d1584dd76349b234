//! Logs as one flat JSON object per line, with the fields of the span they happen in; metrics for Prometheus.

use std::fmt;
use std::io::Write as _;

use serde_json::{Map, Value};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Subscriber};
use tracing_subscriber::layer::{Context, SubscriberExt as _};
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer};

use gpuaas_control_plane::Clock;

/// Longest text of one field: a log line must not become a store for what callers send.
const MAX_FIELD: usize = 2_000;

/// On every line, null where they do not apply, so that a search by one of them never misses a line (N-04).
const ALWAYS: [&str; 8] = [
    "correlation_id",
    "trace_id",
    "org_id",
    "project_id",
    "app_instance_id",
    "operating_mode",
    "control_plane_scope",
    "runtime_backend",
];

#[derive(Default)]
struct Fields(Map<String, Value>);

impl Fields {
    fn put(&mut self, field: &Field, value: Value) {
        self.0.insert(field.name().to_owned(), value);
    }
}

impl Visit for Fields {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.put(field, Value::from(value.chars().take(MAX_FIELD).collect::<String>()));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.put(field, value.into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.put(field, value.into());
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.put(field, value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.put(field, value.into());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.put(field, Value::from(format!("{value:?}").chars().take(MAX_FIELD).collect::<String>()));
    }
}

struct JsonLines<C>(C);

impl<S, C> Layer<S> for JsonLines<C>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    C: Clock + 'static,
{
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        if let Some(span) = context.span(id) {
            span.extensions_mut().insert(fields);
        }
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        if let Some(span) = context.span(id)
            && let Some(fields) = span.extensions_mut().get_mut::<Fields>()
        {
            values.record(fields);
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let mut line = Map::new();
        line.insert("timestamp".into(), self.0.now().to_string().into());
        line.insert("level".into(), event.metadata().level().as_str().into());
        line.insert("target".into(), event.metadata().target().into());
        if let Some(scope) = context.event_scope(event) {
            for span in scope.from_root() {
                if let Some(fields) = span.extensions().get::<Fields>() {
                    line.extend(fields.0.clone());
                }
            }
        }
        let mut fields = Fields::default();
        event.record(&mut fields);
        line.extend(fields.0);
        for name in ALWAYS {
            line.entry(name).or_insert(Value::Null);
        }
        // serde_json escapes control characters, so one event is always one line.
        let mut text = Value::Object(line).to_string();
        text.push('\n');
        let _ = std::io::stderr().lock().write_all(text.as_bytes());
    }
}

/// Starts logging. A second call (tests) does nothing.
pub fn init(level: &str) {
    let filter = EnvFilter::new(format!("{level},sqlx=warn,hyper=warn,h2=warn,rustls=warn"));
    let _ = tracing_subscriber::registry()
        .with(filter)
        .with(JsonLines(gpuaas_control_plane::SystemClock))
        .try_init();
}
