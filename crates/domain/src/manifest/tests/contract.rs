//! What an app promises.

use serde_json::json;

use super::super::*;
use super::{composition, faults, with};

/// E-17.
#[test]
fn a_contract_names_states_reasons_and_what_is_observed() {
    let manifest = parse(composition().to_string().as_bytes(), Format::Json).unwrap().manifest;
    let contract = manifest.contract.unwrap();
    assert_eq!(contract.lifecycle_states.len(), 6);
    assert_eq!(contract.failure_reasons, [gpuaas_agent_protocol::FailureReason::ReadinessTimeout]);
    assert_eq!(contract.observability.fields, [ObservedField::AppInstanceId, ObservedField::CorrelationId]);
    assert_eq!(contract.observability.metrics, ["requests_total"]);
}

/// E-17: only what the platform knows can be promised, once, and the states go with the rest.
#[test]
fn a_contract_that_cannot_be_kept_is_refused() {
    for (pointer, value, at, code) in [
        ("/contract/lifecycle_states", json!(["runing"]), "/contract/lifecycle_states/0", "invalid_value"),
        (
            "/contract/lifecycle_states",
            json!(["failed"]),
            "/contract/lifecycle_states",
            "contract_incomplete",
        ),
        (
            "/contract/lifecycle_states",
            json!(["running"]),
            "/contract/lifecycle_states",
            "contract_incomplete",
        ),
        ("/contract/failure_reasons/1", json!("readiness_timeout"), "", "duplicate_name"),
        ("/contract/failure_reasons/0", json!("bad_luck"), "", "invalid_value"),
        ("/contract/observability/fields/1", json!("app_instance_id"), "", "duplicate_name"),
        ("/contract/observability/metrics/0", json!("requests-total"), "", "invalid_value"),
        ("/contract/observability/logs", json!([]), "", "unknown_field"),
    ] {
        let at = if at.is_empty() { pointer } else { at };
        let found = faults(&with(composition(), pointer, value.clone()));
        assert_eq!(found, [(at.to_owned(), code)], "{pointer} = {value}");
    }
    assert_eq!(faults(&with(composition(), "/contract", json!({}))), [], "all of it may be left out");
}
