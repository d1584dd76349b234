//! The command `gpuaas`. Everything is in the library, so that tests and generators can see the command tree.

use std::process::ExitCode;

fn main() -> ExitCode {
    // An Err only says that a provider is there already.
    drop(rustls::crypto::ring::default_provider().install_default());
    // One thread is enough: the command line waits for one answer at a time.
    match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime.block_on(gpuaas_cli::run(std::env::args_os())),
        Err(_) => ExitCode::from(7),
    }
}
