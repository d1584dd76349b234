//! Every decision of the platform, pure: no clock, no randomness, no files, no network, no SQL.
//!
//! What a function needs to know about the world is an argument; what should happen is its result. That is
//! why everything here can be tested by calling it, and why server, worker and CLI cannot disagree.

pub mod access;
pub mod allocation;
pub mod artifact;
pub mod chain;
pub mod entitlement;
pub mod error;
pub mod event;
pub mod expression;
pub mod iam;
pub mod identity;
pub mod ids;
pub mod instance;
pub mod instance_identity;
pub mod launch;
pub mod launch_form;
pub mod lifecycle;
pub mod limit;
pub mod machine_token;
pub mod manifest;
pub mod metering;
pub mod node;
pub mod page;
pub mod preset;
pub mod render;
pub mod secret;
pub mod standing;
pub mod text;
pub mod time;
pub mod volume;

pub use error::{Error, FieldError, Kind, Result};
pub use secret::Secret;
pub use time::Timestamp;
