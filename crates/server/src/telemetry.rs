//! What is on every line of the log.

use gpuaas_program::logging::{self, Form};

/// On every line, null where they do not apply, so that a search by one of them never misses a line (N-04).
const ALWAYS: &[&str] = &[
    "correlation_id",
    "trace_id",
    "org_id",
    "project_id",
    "app_instance_id",
    "operating_mode",
    "control_plane_scope",
    "runtime_backend",
];

/// Starts logging. A second call (tests) does nothing.
pub fn init(level: &str) {
    logging::init(level, Form::Json { always: ALWAYS });
}
