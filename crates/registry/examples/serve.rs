//! A registry without a guard, for the conformance suite, for clients tried by hand, and for tests that kill it:
//! `serve FOLDER [ADDRESS]`. Prints the address it listens on.

use std::io::Write as _;

use gpuaas_registry::{LocalDisk, OpenGuard, Options, Policy, Registry, Settings};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().ok_or("usage: serve FOLDER [ADDRESS]")?;
    let address = arguments.next().unwrap_or_else(|| "127.0.0.1:0".to_owned());
    let storage = LocalDisk::open(folder.as_ref(), Options::default()).await?;
    // The suite pushes layers that lie elsewhere.
    let policy = Policy { foreign_layers: true, ..Policy::default() };
    let registry = Registry::new(storage, OpenGuard, Settings { policy, ..Settings::default() });
    let listener = tokio::net::TcpListener::bind(address).await?;
    writeln!(std::io::stdout(), "{}", listener.local_addr()?)?;
    axum::serve(listener, registry.router()).await?;
    Ok(())
}
