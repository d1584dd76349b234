//! The server: turns HTTP into operations, configuration into roles, and wires everything together. It holds no
//! rule of the business; those are in `domain` and `control-plane`.

pub mod agents;
pub mod commands;
pub mod config;
pub mod contract;
pub mod gateway;
pub mod http;
pub mod listener;
pub mod metrics;
mod places;
pub mod registry;
pub mod roles;
pub mod telemetry;
pub mod tls;
