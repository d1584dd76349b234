//! One use case per function: permit, begin, load, decide, prepare.

pub mod authenticate;
pub mod bindings;
pub mod bootstrap;
pub mod custody;
pub mod limits;
pub mod observe;
pub mod own_account;
pub mod projects;
pub mod roles;
pub mod service_accounts;
pub mod tenants;
pub mod users;
