//! What the control plane and a node say to each other, pure: no I/O, no clock, no randomness.
//!
//! The control plane sends a [`task::SignedTask`]; the agent re-validates its [`spec::WorkloadSpec`], acts, and
//! answers with [`report::NodeReport`]s that say what *is*. A node knows its orders only: no tenant, price or
//! manifest appears here. Every type refuses unknown fields, so what cannot be said cannot be smuggled in.
//!
//! The server speaks [`PROTOCOL`] and the one before it; an agent of another age is told to upgrade.

pub mod image;
pub mod inventory;
pub mod link;
pub mod reason;
pub mod receipt;
pub mod report;
pub mod spec;
pub mod task;

pub use image::{Digest, ImageRef};
pub use reason::FailureReason;

/// The version of this protocol. Raised when an agent of the version before could misread a message.
pub const PROTOCOL: u16 = 1;
