//! The first app of the platform: one page that says where it runs. It is the smallest thing that can be launched,
//! opened, watched and ended, so it is what `./run`, the tests and a newcomer start with.
//!
//! It lives alone in an image made from nothing: static, without a shell, as PID 1 and without root. So it handles
//! SIGTERM itself, reads names from `/etc/hosts` itself, and writes its log to standard output.

#![expect(clippy::print_stdout, reason = "the log of a container is its standard output")]

mod client;
mod config;
mod heartbeat;
mod http;
mod metering;
mod page;

use std::net::{Ipv6Addr, SocketAddr, TcpListener};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use config::Config;

/// How long a stop waits for answers that are being written.
const DRAIN: Duration = Duration::from_millis(700);

/// What the page and the heartbeat tell.
struct Facts {
    config: Config,
    hostname: String,
    started: Instant,
}

fn main() -> ExitCode {
    // Before anything else: a signal that comes while we start must not be lost.
    let mut signals = match Signals::new([SIGTERM, SIGINT]) {
        Ok(signals) => signals,
        Err(error) => return failed(&format!("signals cannot be handled: {error}")),
    };
    let config = match Config::from_environment() {
        Ok(config) => config,
        Err(sentence) => return failed(&sentence),
    };
    let listener = match listen(config.port) {
        Ok(listener) => listener,
        Err(error) => return failed(&format!("cannot listen on port {}: {error}", config.port)),
    };
    let port = listener.local_addr().map_or(config.port, |address| address.port());
    let hostname = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default().trim().to_owned();
    let facts = Arc::new(Facts { config, hostname, started: Instant::now() });
    let server = http::Server::new(Arc::clone(&facts));
    server.start(listener);
    speak(&facts);
    println!("listening on port {port}");

    let signal = signals.forever().next().unwrap_or(SIGTERM);
    println!("stopping on signal {signal}");
    server.drain(DRAIN);
    ExitCode::SUCCESS
}

/// What the app tells the platform, where there is one.
fn speak(facts: &Arc<Facts>) {
    let Some(base) = facts.config.base_url.as_deref() else { return };
    let Some(base) = client::parse(base) else {
        println!("nothing is told: GPUAAS_BASE_URL must be http://host[:port][/path]");
        return;
    };
    if let Some(key_file) = facts.config.key_file.clone() {
        metering::start(base.clone(), key_file, Duration::from_secs(facts.config.meter_seconds));
    }
    heartbeat::start(facts, base);
}

fn failed(sentence: &str) -> ExitCode {
    println!("hello-web: {sentence}");
    ExitCode::FAILURE
}

/// Both families where there is IPv6, else IPv4 alone.
fn listen(port: u16) -> std::io::Result<TcpListener> {
    TcpListener::bind(SocketAddr::from((Ipv6Addr::UNSPECIFIED, port)))
        .or_else(|_| TcpListener::bind(SocketAddr::from(([0, 0, 0, 0], port))))
}
