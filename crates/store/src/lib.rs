//! All SQL of the platform, one text for SQLite and PostgreSQL. It stores and finds; it never decides.
//!
//! Laws: a write needs a [`Tx`], a `Tx` needs a `Permit`, and a `Tx` is committed only together with the
//! [`Change`](gpuaas_domain::event::Change) it made, so that no state change lacks its audit row and event.
//! Every query that serves a caller takes a `TenantScope`.

#[macro_use]
mod rows;

mod db;
mod dialect;
mod migrate;

pub mod access;
pub mod accounts;
pub mod allocations;
pub mod artifacts;
pub mod catalog;
pub mod chain;
pub mod credentials;
pub mod grants;
pub mod idempotency;
pub mod instance_identities;
pub mod instances;
pub mod limits;
pub mod node_tasks;
pub mod nodes;
pub mod outbox;
pub mod platform;
pub mod preparations;
pub mod presets;
pub mod projects;
pub mod registry_access;
pub mod repositories;
pub mod sealed;
pub mod skus;
pub mod tenants;
pub mod transfer;
pub mod trust_keys;
pub mod users;
pub mod volumes;
pub mod work;

pub use db::{Commits, ConnectOptions, Session, Stamp, Store, Tx};
pub use dialect::Dialect;
pub use migrate::{SchemaState, columns as schema_columns, render as render_schema, table_names};
