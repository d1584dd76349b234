//! What every program of ours that stays up is made with: a clock, a configuration, logs, and background work that its
//! end waits for.

mod clock;
pub mod config;
pub mod logging;
mod spawner;

pub use clock::{Clock, SystemClock};
pub use spawner::Spawner;
