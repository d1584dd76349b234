//! The server's command line: serve, and what an operator does on the server's own machine.

use std::io::{BufRead, BufReader, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use gpuaas_control_plane::operations::{bootstrap, custody};
use gpuaas_control_plane::{Clock as _, SystemClock};
use gpuaas_custody::{Keyring, SystemEntropy};
use gpuaas_domain::text::{Email, Slug};
use gpuaas_domain::{Error, Result, Secret};
use gpuaas_store::transfer::Fingerprints;
use serde_json::json;

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
    /// Make a new key for signing machine tokens; running tokens live out their minutes.
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
    let config = config::load(cli.config.as_deref())?;
    match cli.command {
        Command::Serve => serve(config).await,
        Command::Bootstrap(arguments) => make_first(&config, &arguments).await,
        Command::LoginLink(arguments) => login_link(&config, &arguments).await,
        Command::Config(ConfigCommand::Check) => {
            // Looks at certificate files, but makes no CA: checking changes nothing.
            if config.tls.mode == TlsMode::Files {
                tls::server_config(&config)?;
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
        Command::Db(DbCommand::Export { file }) => export(&config, &file).await,
        Command::Db(DbCommand::Import { file }) => import(&config, &file).await,
        Command::Backup(BackupCommand::Create { file }) => backup(&config, &file).await,
        Command::Backup(BackupCommand::Restore { file }) => restore(&config, &file).await,
        Command::Custody(CustodyCommand::RotateMasterKey) => rotate_master_key(&config).await,
        Command::Custody(CustodyCommand::RotateTokenKey) => {
            let id = custody::rotate_token_key(&roles::open(&config).await?.plane).await?;
            print(&format!("Machine tokens are signed with {id} from now on."));
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
    let opened = roles::open(&config).await?;
    let running = roles::start(&config, opened).await?;
    tracing::info!(address = %running.address, public_url = %running.public_url, "serving on {}", running.public_url);
    wait_for_signal().await?;
    tracing::info!("stopping: finishing what is under way");
    let all_ended = running.tasks.stop(Duration::from_secs(config.http.shutdown_seconds + 2)).await;
    running.plane.store.close().await;
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

fn parse_email(text: &str) -> Result<Email> {
    Email::parse(text).map_err(|refused| Error::fields(vec![refused.at("/email")]))
}

/// A file in the making that only its owner may read. It takes its place when finished, and leaves nothing if not.
struct PrivateFile {
    out: BufWriter<std::fs::File>,
    temporary: PathBuf,
    path: PathBuf,
}

impl PrivateFile {
    fn create(path: &Path) -> Result<Self> {
        let mut temporary = path.as_os_str().to_owned();
        temporary.push(".part");
        let temporary = PathBuf::from(temporary);
        let file =
            std::fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&temporary);
        let file = file.map_err(|error| unwritable(path, &error))?;
        Ok(Self { out: BufWriter::new(file), temporary, path: path.to_owned() })
    }

    fn write(&mut self, text: &str) -> Result<()> {
        self.out.write_all(text.as_bytes()).map_err(|error| unwritable(&self.path, &error))
    }

    fn finish(mut self) -> Result<()> {
        let done = self.out.flush().and_then(|()| self.out.get_ref().sync_all());
        done.and_then(|()| std::fs::rename(&self.temporary, &self.path))
            .map_err(|error| unwritable(&self.path, &error))
    }
}

impl Drop for PrivateFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.temporary);
    }
}

fn unwritable(path: &Path, error: &std::io::Error) -> Error {
    Error::invalid("file_unwritable", format!("{} cannot be written: {error}.", path.display()))
}

fn write_private(path: &Path, text: &str) -> Result<()> {
    let mut file = PrivateFile::create(path)?;
    file.write(text)?;
    file.finish()
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
    let Some(password) = password else {
        return Err(Error::conflict(
            "admin_password_unknown",
            format!(
                "{email} exists, but {} does not hold its password; reset it with another admin or remove the data folder.",
                arguments.admin_file.display()
            ),
        ));
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
    print(&format!("{url}/auth/link?code={}", code.expose()));
    Ok(())
}

fn report(prints: &Fingerprints) {
    for (table, print) in prints {
        say(&format!("  {table:<22} {:>10} rows  {}", print.rows, &print.sha256[..16]));
    }
}

async fn export(config: &Config, file: &Path) -> Result<()> {
    let store = roles::connect(config).await?;
    check_current(&store).await?;
    let mut out = PrivateFile::create(file)?;
    let prints = store.export(&mut out.out).await?;
    out.finish()?;
    report(&prints);
    print(&format!("Exported to {}. The master key is not in it; `backup create` has both.", file.display()));
    Ok(())
}

async fn check_current(store: &gpuaas_store::Store) -> Result<()> {
    match store.schema_state().await? {
        gpuaas_store::SchemaState::Current => Ok(()),
        gpuaas_store::SchemaState::Behind => Err(Error::conflict(
            "schema_behind",
            "The database schema is older than this program; run gpuaas-server db migrate.",
        )),
        gpuaas_store::SchemaState::Newer => store.migrate().await,
    }
}

fn open_file(file: &Path) -> Result<BufReader<std::fs::File>> {
    let file = std::fs::File::open(file).map_err(|error| {
        Error::invalid("file_unreadable", format!("{} cannot be read: {error}.", file.display()))
    })?;
    Ok(BufReader::new(file))
}

async fn import(config: &Config, file: &Path) -> Result<()> {
    let mut lines = open_file(file)?;
    let store = roles::connect(config).await?;
    store.migrate().await?;
    let stamp = roles::first_stamp(&SystemClock, &SystemEntropy::new());
    let prints = store.import(&mut lines, stamp, false).await?;
    report(&prints);
    print("Imported; every table's count and hash is equal to the export's. Copy the master key file along.");
    Ok(())
}

const BACKUP_FORMAT: &str = "gpuaas-backup/1";

async fn backup(config: &Config, file: &Path) -> Result<()> {
    let store = roles::connect(config).await?;
    check_current(&store).await?;
    let key = Keyring::load(&config.master_key_file())?.to_text();
    let mut files = json!({});
    for name in ["ca.pem", "ca-key.pem"] {
        if let Ok(text) = std::fs::read_to_string(config.ca_dir().join(name)) {
            files[name] = json!(text);
        }
    }
    let head = json!({"format": BACKUP_FORMAT, "made_at": SystemClock.now(), "master_key": key.expose(), "ca": files});
    let mut out = PrivateFile::create(file)?;
    out.write(&format!("{head}\n"))?;
    let prints = store.export(&mut out.out).await?;
    out.finish()?;
    report(&prints);
    print(&format!(
        "Saved to {} (it holds the master key: keep it as safe as the platform itself).",
        file.display()
    ));
    Ok(())
}

async fn restore(config: &Config, file: &Path) -> Result<()> {
    let refuse =
        |why: &str| Error::invalid("invalid_backup_file", format!("The file is not a backup: {why}."));
    if config.master_key_file().exists() {
        return Err(Error::conflict(
            "data_dir_not_empty",
            "The data folder already has a master key; restore into an empty one.",
        ));
    }
    let mut lines = open_file(file)?;
    let mut head = String::new();
    lines.read_line(&mut head).map_err(|error| refuse(&error.to_string()))?;
    let head: serde_json::Value =
        serde_json::from_str(&head).map_err(|_| refuse("its first line is no JSON"))?;
    if head["format"] != BACKUP_FORMAT {
        return Err(refuse("it has another format"));
    }
    let key = Secret::new(head["master_key"].as_str().unwrap_or_default().to_owned());
    let keyring = Keyring::parse(&key).map_err(|why| refuse(&why))?;
    let store = roles::connect(config).await?;
    store.migrate().await?;
    let stamp = roles::first_stamp(&SystemClock, &SystemEntropy::new());
    let prints = store.import(&mut lines, stamp, true).await?;
    keyring.save(&config.master_key_file())?;
    if let Some(files) = head["ca"].as_object().filter(|files| !files.is_empty()) {
        std::fs::create_dir_all(config.ca_dir()).map_err(|error| Error::internal(error.to_string()))?;
        for name in ["ca.pem", "ca-key.pem"] {
            if let Some(text) = files.get(name).and_then(serde_json::Value::as_str) {
                write_private(&config.ca_dir().join(name), text)?;
            }
        }
    }
    report(&prints);
    print(
        "Restored. The platform's era has grown by one, so that nodes adopt what runs instead of ending it.",
    );
    Ok(())
}

async fn rotate_master_key(config: &Config) -> Result<()> {
    let opened = roles::open(config).await?;
    opened.custody.update(Keyring::add_key)?;
    let moved = custody::rewrap_all(&opened.plane).await?;
    opened.custody.update(|keyring, _| keyring.retire_others())?;
    print(&format!("{moved} secret(s) are under the new master key; the old one opens nothing any more."));
    Ok(())
}
