//! Use cases and loops: what the platform does, around decisions that `domain` makes.
//!
//! An *operation* reads like its sentence: permit, begin, load, decide, prepare. It ends in a [`Prepared`] change,
//! which the caller commits together with the answer it gives. A *reconciler* takes no input: it is woken by signal
//! or timer, looks at the world, and moves it one step.

/// A step that a test can break; see `gpuaas_faults`.
macro_rules! step {
    ($plane:expr, $name:literal, $body:expr) => {
        gpuaas_faults::step!($plane.faults(), $name, $body, |injected: gpuaas_faults::Injected| {
            gpuaas_domain::Error::internal(injected.to_string())
        })
    };
}

mod context;
mod node_link;
mod passwords;
mod plane;
mod profiles;
mod registry;
mod tokens;

pub mod operations;
pub mod reconcilers;

pub use context::{Caller, Credential, Known, OpContext, Origin, Pending, Prepared, RouteFacts, Target};
pub use gpuaas_program::{Clock, SystemClock};
pub use node_link::{ByteStream, Delivery, LinkCall, LinkError, LogBytes, NoLinks, NodeLink};
pub use plane::{AgentDoor, ControlPlane, LaunchSettings, Settings};
pub use registry::{AccessEntry, RegistryDoor, RegistrySettings, TokenClaims, Via};
pub use tokens::{OpaqueKind, OpaqueToken};
