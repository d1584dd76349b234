//! Tables of what is taken and what is not, and laws that hold for any input.

mod accepted;
mod bounds;
mod evaluation;
mod laws;
mod refused;
mod templates;

use super::*;

/// The names of a small app.
fn types() -> Types {
    let mut types = Types::default();
    types.set(&["params", "model"], Type::Text);
    types.set(&["params", "context"], Type::Int);
    types.set(&["params", "ratio"], Type::Double);
    types.set(&["params", "fast"], Type::Bool);
    types.set(&["params", "packages"], Type::list(Type::Text));
    types.set(&["params", "ports"], Type::list(Type::Int));
    types.set(&["params", "hub_token"], Type::Secret);
    types.set_optional(&["params", "note"], Type::Text);
    types.set_optional(&["params", "limit"], Type::Int);
    types.set_optional(&["params", "extra_token"], Type::Secret);
    for name in ["gpu_count", "cpu_millis", "memory_mib", "shared_memory_mib"] {
        types.set(&["resources", name], Type::Int);
    }
    types.set(&["addons", "metrics"], Type::Bool);
    types.set(&["addons", "metrics-exporter"], Type::Bool);
    for name in ["node_name", "accelerator", "gpu_model"] {
        types.set(&["placement", name], Type::Text);
    }
    types.set(&["placement", "lanes", "lane-a", "gpu_count"], Type::Int);
    types.set(&["placement", "lanes", "lane-a", "tensor_parallel"], Type::Int);
    types.set(&["placement", "lanes", "lane-a", "gpus"], Type::list(Type::Text));
    types.set(&["endpoints", "api", "port"], Type::Int);
    types.set(&["endpoints", "api", "path"], Type::Text);
    types.set(&["endpoints", "api", "url"], Type::Text);
    types.elsewhere(&["elsewhere"], "This group is not for this place.");
    types
}

/// A launch of it: `limit` is given, `note` and `extra_token` are not.
fn values() -> Values {
    let mut values = Values::default();
    values.set(&["params", "model"], "a/b");
    values.set(&["params", "context"], 4096);
    values.set(&["params", "ratio"], Value::Double(0.5));
    values.set(&["params", "fast"], true);
    values.set(&["params", "packages"], vec!["numpy", "torch"]);
    values.set(&["params", "ports"], vec![80, 443]);
    values.set(&["params", "hub_token"], Value::Secret("hub".to_owned()));
    values.set(&["params", "limit"], 5);
    values.set(&["resources", "gpu_count"], 2);
    values.set(&["resources", "cpu_millis"], 8000);
    values.set(&["resources", "memory_mib"], 16384);
    values.set(&["resources", "shared_memory_mib"], 1024);
    values.set(&["addons", "metrics"], true);
    values.set(&["addons", "metrics-exporter"], false);
    values.set(&["placement", "node_name"], "node-1");
    values.set(&["placement", "accelerator"], "nvidia");
    values.set(&["placement", "gpu_model"], "h200");
    values.set(&["placement", "lanes", "lane-a", "gpu_count"], 2);
    values.set(&["placement", "lanes", "lane-a", "tensor_parallel"], 2);
    values.set(&["placement", "lanes", "lane-a", "gpus"], vec!["GPU-1", "GPU-2"]);
    values.set(&["endpoints", "api", "port"], 8080);
    values.set(&["endpoints", "api", "path"], "/v1");
    values.set(&["endpoints", "api", "url"], "https://api.example.org/v1");
    values
}

/// Read and checked: its type, or why not.
fn judge(text: &str) -> Result<Type, Fault> {
    Expression::parse(text)?.check(&types())
}

fn evaluate(text: &str) -> Result<Value, Fault> {
    let expression = Expression::parse(text)?;
    expression.check(&types())?;
    expression.evaluate(&values(), &mut Budget::default())
}
