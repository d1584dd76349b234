//! How much the expressions of one launch may do.

use super::fault::{Code, Fault, Span};

/// Parts looked at. Without loops an expression has at most as many steps as parts, so this is spent on long lists: a
/// hundred searches through the longest one.
pub const MAX_STEPS: usize = 100_000;
/// Bytes put together, in all: four times the largest order that a node takes, since parts are made before the whole.
pub const MAX_BYTES: usize = 1024 * 1024;
/// Reading is cheap, but not free.
const BYTES_PER_STEP: usize = 64;

/// What is left. One is made for each launch and handed to every evaluation in it: many small expressions are as bounded
/// as one large one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Budget {
    steps: usize,
    bytes: usize,
}

impl Default for Budget {
    fn default() -> Self {
        Self { steps: MAX_STEPS, bytes: MAX_BYTES }
    }
}

impl Budget {
    pub fn steps_used(&self) -> usize {
        MAX_STEPS - self.steps
    }

    pub fn bytes_used(&self) -> usize {
        MAX_BYTES - self.bytes
    }

    pub(super) fn step(&mut self, count: usize, span: Span) -> Result<(), Fault> {
        self.steps = self.steps.checked_sub(count).ok_or_else(|| {
            let message = format!("The expressions of a launch take more than {MAX_STEPS} steps.");
            Fault::new(Code::LimitExceeded, span, message)
        })?;
        Ok(())
    }

    pub(super) fn read(&mut self, bytes: usize, span: Span) -> Result<(), Fault> {
        self.step(1 + bytes / BYTES_PER_STEP, span)
    }

    /// Asked before anything of that size is made.
    pub(super) fn produce(&mut self, bytes: usize, span: Span) -> Result<(), Fault> {
        self.bytes = self.bytes.checked_sub(bytes).ok_or_else(|| {
            let message = format!("The expressions of a launch make more than {MAX_BYTES} bytes.");
            Fault::new(Code::LimitExceeded, span, message)
        })?;
        Ok(())
    }
}
