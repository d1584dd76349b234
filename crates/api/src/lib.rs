//! The public HTTP contract: the table of routes, request and response bodies, the error envelope, and (with the
//! feature `client`) a client. Server, CLI and tests all speak through these types; nothing else is public.

pub mod access;
pub mod agent;
pub mod allocations;
pub mod artifacts;
pub mod auth;
pub mod catalog;
pub mod envelope;
pub mod form;
pub mod identity;
pub mod instances;
pub mod nodes;
pub mod observe;
pub mod own_instance;
pub mod presets;
pub mod routes;
pub mod service_accounts;
pub mod volumes;

#[cfg(feature = "client")]
pub mod client;

pub use envelope::{ErrorBody, ErrorDetail, FieldDetail, List};
pub use routes::{Access, Method, RateClass, Route, Row, ScopeKind};
