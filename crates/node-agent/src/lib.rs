//! The program on every node: it takes signed orders, runs containers, and says what it sees.
//!
//! `admission` judges an order, `journal` remembers it before anything is done, `executor` brings each instance to
//! what the journal says, `runtime` is the container engine (Docker, or a simulation that shares everything above it).
//! The agent touches nothing that does not carry its own labels.

pub mod admission;
pub mod clock;
pub mod executor;
pub mod journal;
pub mod probes;
pub mod runtime;
pub mod seams;
mod tasks;
#[cfg(test)]
mod test_disk;
