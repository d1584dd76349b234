//! The program on every node: it takes signed orders, runs containers, and says what it sees.
//!
//! `admission` judges an order, `journal` remembers it before anything is done, `executor` brings each instance to
//! what the journal says, `runtime` is the container engine (Docker, or a simulation that shares everything above it).
//! The agent touches nothing that does not carry its own labels.

pub mod admission;
pub mod agent;
pub mod cli;
pub mod clock;
pub mod config;
mod engine;
pub mod executor;
#[cfg(test)]
mod fake;
#[cfg(test)]
mod fake_platform;
mod http_door;
pub mod identity;
pub mod instance_api;
pub mod inventory;
pub mod join;
pub mod journal;
mod late;
pub mod links;
pub mod pinned;
pub mod platform;
pub mod probes;
pub mod pull;
pub mod runtime;
pub mod seams;
pub mod service;
mod tasks;
pub mod wall_clock;
pub mod wiring;
