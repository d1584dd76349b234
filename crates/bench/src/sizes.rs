//! Sizes of the programs as built.

use std::path::Path;

use crate::Result;
use crate::figures::{Goal, Report, float};

pub(crate) fn measure(programs: &Path, report: &mut Report) -> Result {
    for name in ["gpuaas-server", "gpuaas"] {
        let bytes = std::fs::metadata(programs.join(name)).map_err(|error| format!("{name}: {error}"))?.len();
        report.add(format!("program {name}"), &[float(bytes) / 1e6], "MB", Some(Goal::Below(40.0, "")));
    }
    Ok(())
}
