use gpuaas_domain::render::helm::{CuratedSubset, check_values};
use serde_json::Value;

/// `{"values": …, "subset": ["/…"], "defaults": …, "schema": …}`.
pub(crate) fn run(bytes: &[u8]) {
    let Ok(Value::Object(document)) = serde_json::from_slice::<Value>(bytes) else { return };
    let part = |name: &str| document.get(name).unwrap_or(&Value::Null);
    let texts = part("subset").as_array().into_iter().flatten().filter_map(Value::as_str);
    let subset = CuratedSubset(texts.map(str::to_owned).collect());
    let faults = check_values(part("values"), &subset, part("defaults"), part("schema"));
    if !faults.is_empty() {
        super::check_faults(&faults, usize::MAX);
    }
    if *part("schema") == Value::Bool(false) {
        assert!(!faults.is_empty(), "a schema that takes nothing takes nothing");
    }
}
