//! One use case per function: permit, begin, load, decide, prepare.

pub mod allocations;
pub mod artifacts;
pub mod authenticate;
pub mod bindings;
pub mod bootstrap;
pub mod catalog;
pub mod custody;
pub mod entitlements;
pub mod instances;
pub mod launch;
pub mod limits;
pub mod node_identity;
pub mod nodes;
pub mod observe;
pub mod own_account;
pub mod projects;
pub mod registry;
pub mod reports;
pub mod roles;
pub mod service_accounts;
pub mod skus;
pub mod tenants;
pub mod trust_keys;
pub mod users;
