//! The server's command line: serve, and what an operator does on the server's own machine.

mod private_file;
mod transfer;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use gpuaas_control_plane::operations::{bootstrap, custody};
use gpuaas_custody::{Keyring, SecretStore as _};
use gpuaas_domain::text::{Email, Slug};
use gpuaas_domain::{Error, Result, Secret};
use serde_json::json;
use tokio::signal::unix::{Signal, SignalKind, signal};

use private_file::write_private;

use crate::config::{self, Config, TlsMode};
use crate::{roles, telemetry, tls};

/// The GPUaaS App Platform's server.
#[derive(Parser)]
#[command(
    name = "gpuaas-server",
    version,
    about,
    after_help = "Examples:\n  gpuaas-server --config server.toml config check\n  gpuaas-server serve\n  gpuaas-server db export platform.jsonl"
)]
pub struct Cli {
    /// The configuration file; the environment (GPUAAS__SECTION__KEY) overrides it.
    #[arg(long, global = true)]
    config: Option<PathBuf>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Serve until stopped.
    Serve,
    /// Make the first admin (and the demo tenant) if they are not there; repeating it changes nothing.
    Bootstrap(Bootstrap),
    /// Print an address that signs a browser in, once.
    LoginLink(LoginLink),
    /// Look at the configuration.
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Look after the database.
    #[command(subcommand)]
    Db(DbCommand),
    /// Save or bring back a whole platform: database and master key in one file.
    #[command(subcommand)]
    Backup(BackupCommand),
    /// Look after the keys.
    #[command(subcommand)]
    Custody(CustodyCommand),
    /// Look after TLS.
    #[command(subcommand)]
    Tls(TlsCommand),
}

#[derive(Args)]
struct Bootstrap {
    /// Also make the tenant `demo` with the project `demo-lab`.
    #[arg(long)]
    demo: bool,
    /// The first admin's e-mail address.
    #[arg(long, default_value = "admin@example.org")]
    admin_email: String,
    /// Where to write url, e-mail and password (0600).
    #[arg(long)]
    admin_file: PathBuf,
}

#[derive(Args)]
struct LoginLink {
    /// Whose browser; read from --admin-file if absent.
    #[arg(long)]
    email: Option<String>,
    /// The file `bootstrap` wrote.
    #[arg(long)]
    admin_file: Option<PathBuf>,
}

#[derive(Subcommand)]
enum ConfigCommand {
    /// Say whether the configuration is valid, and if not, what to change.
    Check,
    /// Print the configuration in force, secrets masked.
    Show,
}

#[derive(Subcommand)]
enum DbCommand {
    /// Bring the schema up to date.
    Migrate,
    /// Write everything in the database to a file, as of one moment.
    Export { file: PathBuf },
    /// Fill an empty database from an export; all or nothing.
    Import { file: PathBuf },
}

#[derive(Subcommand)]
enum BackupCommand {
    /// Write database, master key and local CA to one file (0600). Works while the server runs.
    Create { file: PathBuf },
    /// Bring a backup back into an empty database and an empty data folder.
    Restore { file: PathBuf },
}

#[derive(Subcommand)]
enum CustodyCommand {
    /// Make a new master key, put every secret under it, retire the old one. Works while the server runs.
    RotateMasterKey,
    /// Make new keys for signing machine tokens and registry tokens; running tokens live out their minutes.
    ///
    /// A registry of your own has to be given the new certificate; see docs/how-to/registry.md.
    RotateTokenKey,
}

#[derive(Subcommand)]
enum TlsCommand {
    /// Print how to trust the platform's own CA.
    Trust,
}

/// Runs the command line; the exit code is 0, or 1 with the error on standard error.
pub async fn run(cli: Cli) -> std::process::ExitCode {
    match dispatch(cli).await {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("error[{}]: {}", error.code(), error.message()));
            for field in error.field_errors() {
                say(&format!("  --> {}: {}", field.path, field.message));
            }
            if let Some(internal) = error.internal_text() {
                say(&format!("  details: {internal}"));
            }
            std::process::ExitCode::FAILURE
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
    let config = config::load(cli.config.as_deref()).map_err(|error| match error.code() {
        "validation_failed" => error.reworded(
            "config_invalid",
            "The configuration (file or GPUAAS__… variables) cannot be accepted.",
        ),
        _ => error,
    })?;
    match cli.command {
        Command::Serve => serve(config).await,
        Command::Bootstrap(arguments) => make_first(&config, &arguments).await,
        Command::LoginLink(arguments) => login_link(&config, &arguments).await,
        Command::Config(ConfigCommand::Check) => {
            // Looks at certificate files, but makes no CA: checking changes nothing.
            if config.tls.mode == TlsMode::Files {
                tls::server_config(&config)?;
            }
            if !config.agents.certificate_file.as_os_str().is_empty() {
                tls::agents_server_config(&config)?;
                tls::agent_trust(&config)?;
            }
            print("The configuration is valid.");
            Ok(())
        }
        Command::Config(ConfigCommand::Show) => {
            print(config::show(&config).trim_end());
            Ok(())
        }
        Command::Db(DbCommand::Migrate) => {
            roles::connect(&config).await?.migrate().await?;
            print("The database schema is up to date.");
            Ok(())
        }
        Command::Db(DbCommand::Export { file }) => transfer::export(&config, &file).await,
        Command::Db(DbCommand::Import { file }) => transfer::import(&config, &file).await,
        Command::Backup(BackupCommand::Create { file }) => transfer::backup(&config, &file).await,
        Command::Backup(BackupCommand::Restore { file }) => transfer::restore(&config, &file).await,
        Command::Custody(CustodyCommand::RotateMasterKey) => rotate_master_key(&config).await,
        Command::Custody(CustodyCommand::RotateTokenKey) => {
            let id = custody::rotate_token_key(&roles::open(&config).await?.plane).await?;
            print(&format!(
                "Machine tokens are signed with {id} from now on, registry tokens with a new key too."
            ));
            Ok(())
        }
        Command::Tls(TlsCommand::Trust) => {
            print(tls::trust_instructions(&config)?.trim_end());
            Ok(())
        }
    }
}

async fn serve(config: Config) -> Result<()> {
    telemetry::init(config.log.level.name());
    // Before anybody is served: who is told to stop while starting stops in order too.
    let mut signals = Signals::open()?;
    let opened = roles::open(&config).await?;
    let running = roles::start(&config, opened).await?;
    tracing::info!(address = %running.address, public_url = %running.public_url, "serving on {}", running.public_url);
    signals.wait().await;
    tracing::info!("stopping: finishing what is under way");
    let all_ended = running.tasks.stop(Duration::from_secs(config.http.shutdown_seconds + 2)).await;
    running.plane.store.close().await;
    tracing::info!(all_ended, "stopped");
    Ok(())
}

struct Signals {
    terminate: Signal,
    interrupt: Signal,
    _file_limit: Signal,
}

impl Signals {
    fn open() -> Result<Self> {
        let open = |kind| signal(kind).map_err(|error| Error::internal(format!("signals: {error}")));
        Ok(Self {
            terminate: open(SignalKind::terminate())?,
            interrupt: open(SignalKind::interrupt())?,
            // A file at its size limit shall fail that write, not end the server (SIGXFSZ).
            _file_limit: open(SignalKind::from_raw(25))?,
        })
    }

    async fn wait(&mut self) {
        tokio::select! { _ = self.terminate.recv() => {}, _ = self.interrupt.recv() => {} }
    }
}

fn parse_email(text: &str) -> Result<Email> {
    Email::parse(text).map_err(|refused| Error::fields(vec![refused.at("/email")]))
}

fn read_admin_file(path: &Path) -> Option<serde_json::Value> {
    serde_json::from_str(&std::fs::read_to_string(path).ok()?).ok()
}

async fn make_first(config: &Config, arguments: &Bootstrap) -> Result<()> {
    let plane = roles::open(config).await?.plane;
    let email = parse_email(&arguments.admin_email)?;
    let made = bootstrap::ensure_admin(&plane, &email).await?;
    if arguments.demo {
        let slug = |text| Slug::parse(text).map_err(|refused| Error::internal(refused.message));
        bootstrap::ensure_demo(&plane, &slug("demo")?, &slug("demo-lab")?).await?;
    }
    let url = config.public_url(config.http.listen);
    let before = read_admin_file(&arguments.admin_file);
    let known = before.as_ref().and_then(|file| file["password"].as_str()).map(str::to_owned);
    let password = made.map(|password| password.expose().clone()).or(known).map(Secret::new);
    let password = match password {
        Some(password) => password,
        // Lost, or never written because an earlier run was killed: whoever runs this owns the machine anyway.
        None => bootstrap::reset_admin_password(&plane, &email).await?,
    };
    let body = json!({"url": url, "email": email, "password": password.expose()});
    write_private(
        &arguments.admin_file,
        &format!(
            "{body:#}
"
        ),
    )?;
    say(&format!("The first admin is {email}; see {}", arguments.admin_file.display()));
    Ok(())
}

async fn login_link(config: &Config, arguments: &LoginLink) -> Result<()> {
    let file = arguments.admin_file.as_deref().and_then(read_admin_file);
    let from_file = |name: &str| file.as_ref().and_then(|file| file[name].as_str()).map(str::to_owned);
    let email = arguments.email.clone().or_else(|| from_file("email")).ok_or_else(|| {
        Error::invalid("email_missing", "Say whose browser shall be signed in: --email or --admin-file.")
    })?;
    let plane = roles::open(config).await?.plane;
    let code = bootstrap::make_login_link(&plane, &parse_email(&email)?).await?;
    let url = from_file("url").unwrap_or_else(|| config.public_url(config.http.listen));
    print(&format!("{}/auth/link?code={}", config.browser_url(&url), code.expose()));
    Ok(())
}

/// One at a time: the lock is held until the old key is gone, and it goes only when nothing needs it.
async fn rotate_master_key(config: &Config) -> Result<()> {
    let opened = roles::open(config).await?;
    let _turn = opened.custody.lock()?;
    opened.custody.update(Keyring::add_key)?;
    let key_id = opened.custody.current_key();
    let moved = custody::rewrap_all(&opened.plane, &key_id).await?;
    opened.custody.update(|keyring, _| keyring.retire_others())?;
    print(&format!("{moved} secret(s) are under the new master key; the old one opens nothing any more."));
    Ok(())
}
