//! Logs on standard error: lines for people, or one flat JSON object per line with the fields of the spans around it.

use std::fmt::{self, Write as _};
use std::io::Write as _;

use serde_json::{Map, Value};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Subscriber};
use tracing_subscriber::layer::{Context, SubscriberExt as _};
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer};

use crate::clock::{Clock, SystemClock};

/// How a line looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    Text,
    /// With these fields on every line, null where they do not apply, so that a search by one never misses a line.
    Json {
        always: &'static [&'static str],
    },
}

/// Longest text of one field: a log line must not become a store for what others send.
const MAX_FIELD: usize = 2_000;

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

struct Lines<C> {
    clock: C,
    form: Form,
}

impl<S, C> Layer<S> for Lines<C>
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
        let mut fields = Map::new();
        if let Some(scope) = context.event_scope(event) {
            for span in scope.from_root() {
                if let Some(of_span) = span.extensions().get::<Fields>() {
                    fields.extend(of_span.0.clone());
                }
            }
        }
        let mut own = Fields::default();
        event.record(&mut own);
        fields.extend(own.0);
        let (at, level) = (self.clock.now().to_string(), event.metadata().level().as_str());
        let line = match self.form {
            Form::Text => text(&at, level, fields),
            Form::Json { always } => json(&at, level, event.metadata().target(), fields, always),
        };
        let _ = std::io::stderr().lock().write_all(line.as_bytes());
    }
}

/// One event is one line: control characters are written as escapes.
fn text(at: &str, level: &str, mut fields: Map<String, Value>) -> String {
    let message = fields.remove("message");
    let message = message.as_ref().and_then(Value::as_str).unwrap_or_default();
    let mut line = format!(
        "{at} {level:<5} {}",
        message.escape_debug().to_string().replace("\\'", "'").replace("\\\"", "\"")
    );
    for (name, value) in fields {
        let _ = write!(line, " {name}={value}");
    }
    line.push('\n');
    line
}

fn json(at: &str, level: &str, target: &str, fields: Map<String, Value>, always: &[&str]) -> String {
    let mut line = Map::new();
    line.insert("timestamp".into(), at.into());
    line.insert("level".into(), level.into());
    line.insert("target".into(), target.into());
    line.extend(fields);
    for name in always {
        line.entry(*name).or_insert(Value::Null);
    }
    // Control characters are escaped in JSON, so one event is always one line.
    Value::Object(line).to_string() + "\n"
}

/// Starts logging. A second call (tests) does nothing.
pub fn init(level: &str, form: Form) {
    let filter = EnvFilter::new(format!("{level},sqlx=warn,hyper=warn,h2=warn,rustls=warn"));
    let lines = Lines { clock: SystemClock, form };
    let _ = tracing_subscriber::registry().with(filter).with(lines).try_init();
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_event_is_one_line_in_either_format() {
        let fields = || {
            let Value::Object(fields) = json!({"message": "it's\nup", "n": 3, "x": "a\nb"}) else { panic!() };
            fields
        };
        assert_eq!(text("T", "INFO", fields()), "T INFO  it's\\nup n=3 x=\"a\\nb\"\n");
        let line = super::json("T", "INFO", "t", fields(), &["n", "who"]);
        assert_eq!(line.matches('\n').count(), 1);
        assert!(line.contains("\"message\":\"it's\\nup\""), "{line}");
        assert!(line.contains("\"n\":3") && line.contains("\"who\":null"), "{line}");
    }
}
