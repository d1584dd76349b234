//! What people may set of a chart.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::schema::{self, MAX_FAULTS};
use crate::FieldError;
use crate::text::member_at;

/// The values of a chart that are open to people, as JSON pointers. All below a pointer is open too.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CuratedSubset(pub Vec<String>);

/// Holds values against the subset and against the chart's own `values.schema.json`. `defaults` is the chart's
/// `values.yaml`: Helm judges what is given laid over it, and so does this.
pub fn check_values(
    values: &Value,
    subset: &CuratedSubset,
    defaults: &Value,
    chart_schema: &Value,
) -> Vec<FieldError> {
    let mut faults = Vec::new();
    if values.is_object() {
        outside("", values, subset, &mut faults);
    } else {
        faults.push(FieldError::new("/", "wrong_type", "Values are an object."));
    }
    if faults.is_empty() {
        faults = schema::faults(&laid_over(defaults, values), chart_schema);
    }
    faults
}

fn outside(at: &str, value: &Value, subset: &CuratedSubset, faults: &mut Vec<FieldError>) {
    let open = |pointer: &String| {
        at == pointer || at.strip_prefix(pointer).is_some_and(|rest| rest.starts_with('/'))
    };
    if faults.len() >= MAX_FAULTS {
        return;
    }
    if !at.is_empty() && subset.0.iter().any(open) {
        return;
    }
    match value {
        Value::Object(map) if !map.is_empty() || at.is_empty() => {
            map.iter().for_each(|(key, value)| outside(&exact(at, key), value, subset, faults));
        }
        Value::Object(_)
        | Value::Array(_)
        | Value::Null
        | Value::Bool(_)
        | Value::Number(_)
        | Value::String(_) => {
            let message = "This value of the chart cannot be set here.";
            faults.push(FieldError::new(shown(at), "value_not_curated", message));
        }
    }
}

/// For comparing: nothing is cut or replaced.
fn exact(at: &str, key: &str) -> String {
    format!("{at}/{}", key.replace('~', "~0").replace('/', "~1"))
}

/// For showing: a key is the caller's and must not lie in a log.
fn shown(at: &str) -> String {
    at.split('/')
        .skip(1)
        .fold(String::new(), |path, key| member_at(&path, &key.replace("~1", "/").replace("~0", "~")))
}

/// As Helm does it: objects are merged, everything else is replaced, and null takes a default away.
fn laid_over(below: &Value, above: &Value) -> Value {
    match (below, above) {
        (Value::Object(below), Value::Object(above)) => {
            let mut merged = below.clone();
            for (key, value) in above {
                match (value, merged.get(key)) {
                    (Value::Null, _) => drop(merged.remove(key)),
                    (value, Some(under)) => {
                        let value = laid_over(under, value);
                        merged.insert(key.clone(), value);
                    }
                    (value, None) => drop(merged.insert(key.clone(), value.clone())),
                }
            }
            Value::Object(merged)
        }
        (_, above) => above.clone(),
    }
}
