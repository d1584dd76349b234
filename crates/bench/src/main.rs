//! Figures of this machine, this build, this run: `name value goal`. Called by `./bench`, which builds the programs
//! and brings a PostgreSQL. These are measurements, not tests: a missed goal is printed, not asserted.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command-line tool talks to its terminal")]

mod daemon;
mod databases;
mod dispatching;
mod drafts;
mod figures;
mod fleet;
mod gateway;
mod http;
mod launching;
mod link;
mod plain;
mod process;
mod profile;
mod registry;
mod sequencing;
mod serving;
mod sizes;
mod stage;
mod writing;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Parser, ValueEnum};
use figures::Report;

type Error = Box<dyn std::error::Error + Send + Sync>;
type Result<T = ()> = std::result::Result<T, Error>;

/// Rounds per figure; writes that compete have more and shorter ones. Odd, so that the median is a round that happened.
const ROUNDS: u32 = 11;

/// Measures the platform and prints `name value goal`.
#[derive(Parser)]
#[command(name = "bench")]
struct Arguments {
    /// What `./bench` starts beside itself.
    #[command(subcommand)]
    role: Option<stage::Role>,
    /// How long each figure is measured, in all its rounds together.
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=600))]
    seconds: u32,
    /// Print JSON instead of the table.
    #[arg(long)]
    json: bool,
    /// End with status 1 if a goal is missed.
    #[arg(long)]
    strict: bool,
    /// Also write the same rows in other ways, to see where the time of a guarded write goes.
    #[arg(long)]
    explain: bool,
    /// Only this part; may be repeated.
    #[arg(long, value_enum, value_name = "PART")]
    only: Vec<Part>,
    /// A PostgreSQL where databases may be created; without it, SQLite alone is measured.
    #[arg(long, env = "GPUAAS_TEST_POSTGRES", hide_env_values = true, value_name = "URL")]
    postgres: Option<String>,
    /// Where the Docker Engine answers.
    #[arg(long, env = "GPUAAS_DOCKER_SOCKET", default_value = "/var/run/docker.sock", value_name = "SOCKET")]
    docker: String,
    /// The program configurable-http-proxy; without it the gateway is measured against nginx alone.
    #[arg(long, value_name = "FILE")]
    http_proxy: Option<PathBuf>,
    /// The folder that ajv is installed in; without it values are judged by our own code alone.
    #[arg(long, value_name = "FOLDER")]
    ajv: Option<PathBuf>,
    /// Also write the JSON to this file.
    #[arg(long, value_name = "FILE")]
    results: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Part {
    /// Idle memory of the server.
    Idle,
    /// Start to ready.
    Start,
    /// List and get over HTTP.
    Http,
    /// Guarded write against plain sqlx.
    Write,
    /// The sequencer.
    Sequence,
    /// A node's link against plain TCP.
    Link,
    /// Create to running on the real engine, against the engine alone.
    Launch,
    /// From an accepted launch to the order on its node.
    Dispatch,
    /// A thousand agents: memory, and all of them back after a kill.
    Fleet,
    /// The registry against plain files, nginx and distribution.
    Registry,
    /// The gateway against nginx and configurable-http-proxy.
    Gateway,
    /// Values against ajv, plans, renderers.
    Profile,
    /// Sizes of the programs.
    Size,
}

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    if let Some(role) = &arguments.role {
        return match role.play().await {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("bench: {error}");
                ExitCode::FAILURE
            }
        };
    }
    match run(&arguments).await {
        Ok(report) if arguments.strict && report.missed() > 0 => ExitCode::FAILURE,
        Ok(_) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(arguments: &Arguments) -> Result<Report> {
    let wanted = |part: Part| arguments.only.is_empty() || arguments.only.contains(&part);
    let round = Duration::from_secs(arguments.seconds.into()) / ROUNDS;
    let programs = process::programs_folder()?;
    let mut report = Report::begin(arguments.seconds);
    if wanted(Part::Idle) {
        serving::measure_idle(&programs, &mut report)?;
    }
    if wanted(Part::Start) {
        serving::measure_start(&programs, &mut report)?;
    }
    if wanted(Part::Http) {
        serving::measure_requests(&programs, round, &mut report).await?;
    }
    for server in databases::servers(arguments.postgres.as_deref()) {
        if wanted(Part::Write) {
            writing::measure(server, arguments.seconds, arguments.explain, &mut report).await?;
        }
        if wanted(Part::Sequence) {
            sequencing::measure(server, round, &mut report).await?;
        }
    }
    if arguments.postgres.is_none() && (wanted(Part::Write) || wanted(Part::Sequence)) {
        report.note("PostgreSQL was not measured: no address was given.");
    }
    if wanted(Part::Link) {
        link::measure(round, &mut report).await?;
    }
    if wanted(Part::Launch) {
        launching::measure(&arguments.docker, &mut report).await?;
    }
    if wanted(Part::Dispatch) {
        dispatching::measure(arguments.seconds, &mut report).await?;
    }
    if wanted(Part::Fleet) {
        fleet::measure(&mut report).await?;
    }
    if wanted(Part::Registry) {
        registry::measure(&programs, round, &mut report).await?;
    }
    if wanted(Part::Gateway) {
        gateway::measure(arguments.http_proxy.as_deref(), round, &mut report).await?;
    }
    if wanted(Part::Profile) {
        tokio::task::block_in_place(|| profile::measure(arguments.ajv.as_deref(), round, &mut report))?;
    }
    if wanted(Part::Size) {
        sizes::measure(&programs, &mut report)?;
    }
    report.end();
    if let Some(file) = &arguments.results {
        if let Some(folder) = file.parent() {
            std::fs::create_dir_all(folder)?;
        }
        std::fs::write(file, format!("{:#}\n", report.json()))?;
    }
    if arguments.json {
        println!("{:#}", report.json());
    } else {
        print!("{}", report.table());
    }
    Ok(report)
}

/// Says on standard error what takes its time now.
fn progress(what: &str) {
    eprintln!("measuring {what}");
}
