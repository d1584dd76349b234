//! Loops that move the world towards what it should be. Each takes no input, does a bounded amount, can be
//! repeated at any point, and says what it saw.

pub mod dispatch;
pub mod erasure;
pub mod housekeeping;
pub mod sequencer;
pub mod upkeep;

/// What one turn of a loop saw and did; shown as metrics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TickStatus {
    pub seen: usize,
    pub changed: usize,
    pub errors: usize,
    /// Begun and not over; the next turn may find it done.
    pub pending: usize,
}

impl TickStatus {
    pub fn idle(self) -> bool {
        self.changed == 0 && self.pending == 0
    }
}
