//! The story a request belongs to: its correlation id and its trace.

use axum::http::HeaderMap;
use gpuaas_control_plane::{ControlPlane, Origin};
use gpuaas_domain::chain;

/// From the caller's headers where they are sound, else made here.
pub(super) fn origin(headers: &HeaderMap, plane: &ControlPlane) -> Origin {
    Origin { correlation_id: correlation_id(headers, plane), trace_id: trace_id(headers, plane) }
}

/// A caller's own id for the story, if it is harmless; else one of ours.
fn correlation_id(headers: &HeaderMap, plane: &ControlPlane) -> String {
    headers
        .get("x-correlation-id")
        .and_then(|value| value.to_str().ok())
        .filter(|text| (1..=128).contains(&text.len()))
        .filter(|text| {
            text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.' | b':'))
        })
        .map_or_else(|| chain::hex(&plane.entropy.bytes16()), str::to_owned)
}

/// The trace id of a W3C `traceparent`, or a new one.
fn trace_id(headers: &HeaderMap, plane: &ControlPlane) -> String {
    let is_hex = |text: &str| text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    headers
        .get("traceparent")
        .and_then(|value| value.to_str().ok())
        .and_then(|text| {
            let parts: Vec<_> = text.split('-').collect();
            let [version, trace, parent, flags] = parts.as_slice() else { return None };
            let sizes = (version.len(), trace.len(), parent.len(), flags.len()) == (2, 32, 16, 2);
            let some = |part: &str| part.bytes().any(|b| b != b'0');
            let sound = sizes
                && parts.iter().all(|part| is_hex(part))
                && *version != "ff"
                && some(trace)
                && some(parent);
            sound.then(|| (*trace).to_owned())
        })
        .unwrap_or_else(|| chain::hex(&plane.entropy.bytes16()))
}
