//! The agent's command line.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use gpuaas_domain::{Error, Result};
use gpuaas_program::Spawner;
use gpuaas_program::logging::{self, Form};
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::agent::{self, Parts, Rhythm};
use crate::config::{self, Config, LogFormat};
use crate::identity::{Identity, StateFolder, write_whole};
use crate::inventory;
use crate::join::{self, JoinToken, Outcome};
use crate::links::LinkState;
use crate::pinned::Pin;
use crate::platform::{CallError, Platform};
use crate::wall_clock::{Clock as _, SystemClock};
use crate::wiring;

/// After SIGTERM; the unit file allows a little more.
const STOP: Duration = Duration::from_secs(4);
const LINK_FILE: &str = "link.json";

/// The agent of the GPUaaS App Platform: runs on every node, takes signed orders, runs containers.
#[derive(Parser)]
#[command(
    name = "gpuaas-agent",
    version,
    about,
    after_help = "Examples:\n  gpuaas-agent join --server https://gpu.example.org:8443 --token ID.SECRET.PIN\n  gpuaas-agent run --config /etc/gpuaas/agent.toml\n  gpuaas-agent status -o json"
)]
pub struct Cli {
    /// The configuration file; the environment (GPUAAS_AGENT__SECTION__KEY) overrides it.
    #[arg(long, global = true)]
    config: Option<PathBuf>,
    /// The state folder; overrides the configuration.
    #[arg(long, global = true)]
    state: Option<PathBuf>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Make this machine a node of a platform. Repeating it changes nothing.
    Join(Join),
    /// Run until stopped. Stopping leaves workloads running; the next run takes them up again.
    Run,
    /// Say who this node is and how it stands.
    Status(Status),
    /// Look at the configuration.
    #[command(subcommand)]
    Config(ConfigCommand),
}

#[derive(Args)]
struct Join {
    /// The platform's address for nodes, such as https://gpu.example.org:8443.
    #[arg(long)]
    server: String,
    /// The join token, id.secret.pin. Others on this machine can see a command line: the variable is safer.
    #[arg(long, env = "GPUAAS_AGENT_JOIN_TOKEN", hide_env_values = true)]
    token: String,
    /// How people shall call the node; the token may fix it.
    #[arg(long)]
    name: Option<String>,
}

#[derive(Args)]
struct Status {
    /// How to print it.
    #[arg(short, long, value_enum, default_value_t = Output::Text)]
    output: Output,
}

#[derive(Clone, Copy, ValueEnum)]
enum Output {
    Text,
    Json,
}

#[derive(Subcommand)]
enum ConfigCommand {
    /// Say whether the configuration is valid, and if not, what to change.
    Check,
    /// Print the configuration in force.
    Show,
}

/// Runs the command line; the exit code is 0, or 1 with the error on standard error.
pub async fn run(cli: Cli) -> ExitCode {
    match dispatch(cli).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("error[{}]: {}", error.code(), error.message()));
            for field in error.field_errors() {
                say(&format!("  --> {}: {}", field.path, field.message));
            }
            if let Some(internal) = error.internal_text() {
                say(&format!("  details: {internal}"));
            }
            ExitCode::FAILURE
        }
    }
}

fn say(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

fn print(text: &str) {
    let _ = writeln!(std::io::stdout().lock(), "{text}");
}

async fn dispatch(cli: Cli) -> Result<()> {
    let mut config = config::load(cli.config.as_deref()).map_err(|error| match error.code() {
        "validation_failed" => error.reworded(
            "config_invalid",
            "The configuration (file or GPUAAS_AGENT__… variables) cannot be accepted.",
        ),
        _ => error,
    })?;
    if let Some(state) = cli.state {
        config.state_dir = state;
    }
    match cli.command {
        Command::Join(arguments) => join(&config, arguments).await,
        Command::Run => run_agent(config).await,
        Command::Status(arguments) => status(&config, arguments.output),
        Command::Config(ConfigCommand::Check) => {
            print("The configuration is valid.");
            Ok(())
        }
        Command::Config(ConfigCommand::Show) => {
            print(config.show().trim_end());
            Ok(())
        }
    }
}

async fn join(config: &Config, arguments: Join) -> Result<()> {
    let token = JoinToken::parse(&arguments.token)?;
    let state = StateFolder::at(&config.state_dir);
    let inventory = async |public_key: &[u8]| {
        let spawner = Spawner::default();
        let engine = wiring::watch_engine(config, &spawner).await.borrow().clone();
        spawner.stop(Duration::from_secs(1)).await;
        inventory::look(&config.look(public_key), engine).await
    };
    let outcome = join::join(&state, &arguments.server, &token, arguments.name, inventory).await?;
    print(&match outcome {
        Outcome::Joined(node) => {
            format!("This machine is now the node {} ({}) of {}.", node.name, node.node_id, node.server_url)
        }
        Outcome::Already(node) => {
            check_still_wanted(&state, &node).await?;
            format!(
                "This machine is the node {} ({}) of {} already.",
                node.name, node.node_id, node.server_url
            )
        }
    });
    Ok(())
}

/// A machine that was revoked or forgotten is a node no more, whatever its state folder says.
async fn check_still_wanted(state: &StateFolder, node: &Identity) -> Result<()> {
    let platform = Platform::new(node.clone(), Arc::new(state.get_key()?), Arc::new(SystemClock));
    let Ok(platform) = platform else { return Ok(()) };
    match platform.token().await {
        Err(CallError::NotANode(why)) => Err(Error::conflict(
            "not_a_node_any_more",
            format!(
                "This machine was the node {} ({}), which the platform no longer has ({why}). To join as a new node, \
                 end what still runs here and empty the state folder {}.",
                node.name,
                node.node_id,
                state.path().display()
            ),
        )),
        // It cannot be asked now; the agent will see.
        Ok(_) | Err(_) => Ok(()),
    }
}

async fn run_agent(config: Config) -> Result<()> {
    let form = match config.log.format {
        LogFormat::Text => Form::Text,
        LogFormat::Json => Form::Json { always: &[] },
    };
    logging::init(config.log.level.name(), form);
    let state = StateFolder::at(&config.state_dir);
    let identity = state.get_identity()?;
    let _lock = state.lock()?;
    let key = Arc::new(state.get_key()?);
    let failed = |what: &str, error: &dyn std::fmt::Display| {
        Error::invalid("agent_cannot_start", format!("{what}: {error}."))
    };
    let platform = Platform::new(identity.clone(), key.clone(), Arc::new(SystemClock))
        .map_err(|error| failed("The platform cannot be called", &error))?;
    let platform = Arc::new(platform);
    let spawner = Spawner::default();
    let runtime = wiring::watch_engine(&config, &spawner).await;
    let workloads = wiring::start_workloads(&config, &platform, &key, &spawner)
        .await
        .map_err(|error| failed("The pull endpoint cannot be opened", &error))?;
    let running = agent::start(Parts {
        platform,
        workloads,
        look: config.look(key.public()),
        runtime,
        rhythm: Rhythm { report: config.report_interval(), ..Rhythm::default() },
        spawner: spawner.clone(),
    });
    spawner.spawn_until_stop(keep_link_file(config.state_dir.join(LINK_FILE), running.control));
    tracing::info!(node.id = %identity.node_id, "node {} of {}", identity.name, identity.server_url);
    wait_for_signal().await?;
    tracing::info!("stopping; workloads go on");
    let all_ended = spawner.stop(STOP).await;
    tracing::info!(all_ended, "stopped");
    Ok(())
}

async fn wait_for_signal() -> Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let open = |kind| signal(kind).map_err(|error| Error::internal(format!("signals: {error}")));
    let (mut terminate, mut interrupt) = (open(SignalKind::terminate())?, open(SignalKind::interrupt())?);
    tokio::select! { _ = terminate.recv() => {}, _ = interrupt.recv() => {} }
    Ok(())
}

/// For `status`, which is another process.
async fn keep_link_file(path: PathBuf, mut link: watch::Receiver<LinkState>) {
    loop {
        let state = link.borrow_and_update().clone();
        let since = SystemClock.now().to_string();
        let text = json!({"connected": state.connected, "since": since, "trouble": state.trouble});
        if let Err(error) = write_whole(&path, format!("{text}\n").as_bytes()) {
            tracing::warn!("{} cannot be written: {error}", path.display());
        }
        if link.changed().await.is_err() {
            return;
        }
    }
}

fn status(config: &Config, output: Output) -> Result<()> {
    let state = StateFolder::at(&config.state_dir);
    let found = look_at(config, &state)?;
    print(&match output {
        Output::Json => format!("{found:#}"),
        Output::Text => as_text(&found),
    });
    Ok(())
}

/// The state folder, as one JSON object. Reads only.
fn look_at(config: &Config, state: &StateFolder) -> Result<Value> {
    let identity = state.find_identity()?;
    // Whoever holds the lock is the running agent.
    let running = state.path().join("lock").exists() && state.lock().is_err();
    let file = |name: &str| std::fs::read_to_string(state.path().join(name)).ok();
    let link: Value =
        file(LINK_FILE).and_then(|text| serde_json::from_str(&text).ok()).unwrap_or(Value::Null);
    let pull_port = file("pull-port").and_then(|text| text.trim().parse::<u16>().ok());
    let node = identity.as_ref().map(|node| {
        json!({
            "node_id": node.node_id,
            "name": node.name,
            "server_url": node.server_url,
            "ca_pin": Pin::of_pem(&node.ca_pem).map(|pin| pin.to_string()),
        })
    });
    Ok(json!({
        "joined": identity.is_some(),
        "node": node,
        "public_key": state.find_key()?.map(|key| key.public_text()),
        "running": running,
        "link": if running { link } else { Value::Null },
        "pull_port": pull_port,
        "runtime": config.runtime.name(),
        "state_dir": state.path(),
        "agent_version": env!("CARGO_PKG_VERSION"),
    }))
}

fn as_text(found: &Value) -> String {
    let word = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    let link = match (&found["running"], &found["link"]["connected"]) {
        (Value::Bool(false), _) => "-".to_owned(),
        (_, Value::Bool(true)) => format!("up since {}", word(&found["link"]["since"])),
        _ => format!("down: {}", word(&found["link"]["trouble"])),
    };
    let yes_no = |value: &Value| if value == true { "yes" } else { "no" };
    let node = &found["node"];
    [
        ("Joined", yes_no(&found["joined"]).to_owned()),
        ("Node", format!("{} ({})", word(&node["name"]), word(&node["node_id"]))),
        ("Server", word(&node["server_url"])),
        ("Running", yes_no(&found["running"]).to_owned()),
        ("Link", link),
        ("Runtime", word(&found["runtime"])),
        ("State", word(&found["state_dir"])),
    ]
    .map(|(name, value)| format!("{name:<8} {value}"))
    .join("\n")
}
