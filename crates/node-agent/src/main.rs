//! `gpuaas-agent`.

use clap::Parser as _;

#[tokio::main]
async fn main() -> std::process::ExitCode {
    // Before anything else: two TLS providers in one program would be a choice made by chance.
    let _ = rustls::crypto::ring::default_provider().install_default();
    gpuaas_node_agent::cli::run(gpuaas_node_agent::cli::Cli::parse()).await
}
