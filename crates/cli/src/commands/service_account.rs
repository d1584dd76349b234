//! Machine callers of a project, their keys and their tokens.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use gpuaas_api::Route;
use gpuaas_api::auth::{AccessToken, AssertionExchange, UnwrapRequest, Unwrapped};
use gpuaas_api::observe::Version;
use gpuaas_api::service_accounts::{
    AccountQuery, KeyDelivery, NewServiceAccount, RotateKey, ServiceAccount, ServiceAccountWithKey,
};
use gpuaas_domain::Secret;
use gpuaas_domain::identity::AccountKind;
use gpuaas_domain::ids::{KeyId, ServiceAccountId};

use super::place::parse_id;
use crate::app::App;
use crate::args::{ListLimit, ProjectArg, Reason};
use crate::config::same_platform;
use crate::failure::{Exit, Failure, Result};
use crate::files::{self, Reserved};
use crate::json::Raw;
use crate::keys::{KeyFile, NewPair, read_public_key};
use crate::session::{Session, parse};
use crate::{clock, terminal};

#[derive(Subcommand)]
pub(crate) enum ServiceAccountCommand {
    /// List a project's service accounts
    #[command(after_help = "Examples:\n  gpuaas service-account list --project lab")]
    List {
        #[command(flatten)]
        project: ProjectArg,
        /// Those that people made, or those of app instances
        #[arg(long, default_value = "operator", value_parser = ["operator", "instance"])]
        kind: String,
        #[command(flatten)]
        limit: ListLimit,
    },
    /// Show one service account with its keys
    #[command(after_help = "Examples:\n  gpuaas service-account get ci --project lab")]
    Get(AccountArg),
    /// Create a service account
    ///
    /// With --key-file the key pair is made on this machine and only its public half is sent. With --public-key you
    /// bring your own. With neither the platform makes the pair and shows the private half once.
    #[command(
        after_help = "Examples:\n  gpuaas service-account create ci --project lab --role app-operator --key-file ci.json\n  gpuaas service-account create ci --role app-operator --public-key ci.pub\n  gpuaas service-account create ci --role app-operator --wrapped"
    )]
    Create {
        /// A name for people to read
        name: String,
        #[command(flatten)]
        project: ProjectArg,
        /// A role to hold in the project, none beyond your own permissions. Can be repeated
        #[arg(long = "role", value_name = "ROLE", required = true)]
        roles: Vec<String>,
        #[command(flatten)]
        key: KeyArgs,
    },
    /// Disable a service account at once, unexpired tokens included
    #[command(after_help = "Examples:\n  gpuaas service-account disable ci --reason 'key leaked' --yes")]
    Disable {
        #[command(flatten)]
        account: AccountArg,
        #[command(flatten)]
        reason: Reason,
    },
    /// Give a service account a new key; the old one ends after a short overlap
    #[command(
        after_help = "Examples:\n  gpuaas service-account rotate-key ci --key-file ci-2.json\n  gpuaas service-account rotate-key ci --key-file ci-2.json --overlap-seconds 0"
    )]
    RotateKey {
        #[command(flatten)]
        account: AccountArg,
        #[command(flatten)]
        key: KeyArgs,
        /// How long the old key still works: 300 unless given, 0 ends it at once
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=3600))]
        overlap_seconds: Option<u32>,
    },
    /// Delete a service account; its trail stays
    #[command(after_help = "Examples:\n  gpuaas service-account delete ci --yes")]
    Delete {
        #[command(flatten)]
        account: AccountArg,
        #[command(flatten)]
        reason: Reason,
    },
    /// Sign in as a service account and print an access token
    ///
    /// Calls the platform named in the key file, or --url. The environment and the contexts are not asked, because
    /// whoever receives the signed assertion could pass it on.
    #[command(
        after_help = "Examples:\n  TOKEN=$(gpuaas service-account token --key-file ci.json)\n  gpuaas service-account token --key-file ci.json --ttl-seconds 60 -o json"
    )]
    Token {
        /// The key file that `create` or `rotate-key` wrote
        #[arg(long, value_name = "FILE")]
        key_file: PathBuf,
        /// How long the token shall live; the platform caps it
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=900))]
        ttl_seconds: Option<u32>,
    },
    /// Open a wrapped private key: once, before it expires
    #[command(
        after_help = "Examples:\n  gpuaas service-account unwrap --url https://gpu.example.org < wrap-token.txt\n  gpuaas service-account unwrap - --key-file ci.json --service-account ID --key-id ID --project ID < wrap-token.txt"
    )]
    Unwrap {
        /// The wrapping token; `-` reads it from stdin, where it leaves no trace in the shell's history
        #[arg(default_value = "-")]
        token: String,
        /// Write a key file instead of printing the key
        #[arg(long, value_name = "FILE", requires_all = ["service_account", "key_id"])]
        key_file: Option<PathBuf>,
        /// The account's id, for the key file
        #[arg(long, value_name = "ID")]
        service_account: Option<String>,
        /// The key's id, for the key file
        #[arg(long, value_name = "ID")]
        key_id: Option<String>,
        #[command(flatten)]
        project: ProjectArg,
    },
}

#[derive(Args)]
pub(crate) struct AccountArg {
    /// The account's id or name
    account: String,
    #[command(flatten)]
    project: ProjectArg,
}

#[derive(Args)]
#[group(multiple = false)]
pub(crate) struct KeyArgs {
    /// Your own Ed25519 public key, PEM or base64url; `-` reads stdin
    #[arg(long, value_name = "FILE")]
    public_key: Option<PathBuf>,
    /// Make the key pair here and write this key file, for you only
    #[arg(long, value_name = "OUT")]
    key_file: Option<PathBuf>,
    /// Have the platform make the pair and hand it out as a token that opens once
    #[arg(long)]
    wrapped: bool,
}

/// How the new key is made and where it goes.
enum Plan {
    Brought { public_key: String },
    MadeHere { pair: NewPair, place: Reserved, path: PathBuf },
    MadeThere { delivery: KeyDelivery },
}

impl Plan {
    /// Everything that can fail on this machine fails here, before the platform is asked.
    fn prepare(args: KeyArgs) -> Result<Self> {
        if let Some(path) = args.public_key {
            return Ok(Self::Brought { public_key: read_public_key(&read_file_or_stdin(&path)?)? });
        }
        if let Some(path) = args.key_file {
            return Ok(Self::MadeHere { pair: NewPair::make()?, place: Reserved::new(&path)?, path });
        }
        let delivery = if args.wrapped { KeyDelivery::Wrapped } else { KeyDelivery::Inline };
        Ok(Self::MadeThere { delivery })
    }

    fn public_key(&self) -> Option<String> {
        match self {
            Self::Brought { public_key } => Some(public_key.clone()),
            Self::MadeHere { pair, .. } => Some(pair.public_key.clone()),
            Self::MadeThere { .. } => None,
        }
    }

    fn delivery(&self) -> KeyDelivery {
        match self {
            Self::Brought { .. } | Self::MadeHere { .. } => KeyDelivery::Inline,
            Self::MadeThere { delivery } => *delivery,
        }
    }

    /// Stores or shows what came of it.
    fn finish(self, session: &Session<'_>, raw: &Raw) -> Result<()> {
        let printer = session.printer();
        let made: ServiceAccountWithKey = parse(raw)?;
        match self {
            Self::Brought { .. } => printer.object(raw),
            Self::MadeHere { pair, place, path } => {
                let file = KeyFile {
                    service_account_id: made.account.id,
                    key_id: made.key.id,
                    project_id: made.account.project_id,
                    platform_url: session.url.clone(),
                    private_key_pem: pair.private_key_pem,
                };
                place.fill(file.to_json().as_bytes())?;
                printer.object(raw)?;
                printer.note(&format!("Wrote the key to {}; it has not left this machine.", path.display()));
                Ok(())
            }
            Self::MadeThere { delivery } => {
                printer.object(raw)?;
                match (made.secret_redacted, delivery) {
                    (true, _) => printer.warn("the answer that held the private key was lost; rotate the key to get another"),
                    (false, KeyDelivery::Inline) => printer.note("The private key is shown now and never again."),
                    (false, KeyDelivery::Wrapped) => printer.note(
                        "Hand the token to the machine; there, `gpuaas service-account unwrap` opens it once.",
                    ),
                }
                Ok(())
            }
        }
    }
}

pub(crate) async fn run(app: &App, command: ServiceAccountCommand) -> Result<()> {
    match command {
        ServiceAccountCommand::Token { key_file, ttl_seconds } => token(app, &key_file, ttl_seconds).await,
        ServiceAccountCommand::Unwrap { token, key_file, service_account, key_id, project } => {
            let ids = service_account.as_deref().zip(key_id.as_deref());
            unwrap(app, &token, key_file.as_deref(), ids, project.project.as_deref()).await
        }
        ServiceAccountCommand::List { project, kind, limit } => {
            let session = app.session()?;
            let project = session.project_or_default(project.project.as_deref()).await?;
            let query = AccountQuery { kind: AccountKind::parse(&kind), ..AccountQuery::default() };
            let list = session.list(Route::ServiceAccountList, &[&project], &query, limit.get()).await?;
            session.printer().list::<ServiceAccount>(&list)
        }
        ServiceAccountCommand::Get(AccountArg { account, project }) => {
            let session = app.session()?;
            let project = session.project_or_default(project.project.as_deref()).await?;
            let id = session.service_account(project, &account).await?;
            session.printer().object(&session.read(Route::ServiceAccountGet, &[&project, &id]).await?)
        }
        ServiceAccountCommand::Create { name, project, roles, key } => {
            let session = app.session()?;
            let project = session.project_or_default(project.project.as_deref()).await?;
            let plan = Plan::prepare(key)?;
            let body = NewServiceAccount {
                name,
                roles,
                public_key: plan.public_key(),
                key_delivery: plan.delivery(),
            };
            let raw = session.write(Route::ServiceAccountCreate, &[&project], &body).await?;
            plan.finish(&session, &raw)
        }
        ServiceAccountCommand::RotateKey {
            account: AccountArg { account, project },
            key,
            overlap_seconds,
        } => {
            let session = app.session()?;
            let project = session.project_or_default(project.project.as_deref()).await?;
            let id = session.service_account(project, &account).await?;
            let plan = Plan::prepare(key)?;
            let body =
                RotateKey { public_key: plan.public_key(), key_delivery: plan.delivery(), overlap_seconds };
            let raw = session.write(Route::ServiceAccountRotateKey, &[&project, &id], &body).await?;
            plan.finish(&session, &raw)
        }
        ServiceAccountCommand::Disable { account: AccountArg { account, project }, reason } => {
            let session = app.session()?;
            let project = session.project_or_default(project.project.as_deref()).await?;
            let id = session.service_account(project, &account).await?;
            terminal::confirm(
                app,
                &format!("Service account {account} and all its tokens will stop working at once."),
            )?;
            let done = format!("Disabled service account {account}.");
            session.act(Route::ServiceAccountDisable, &[&project, &id], reason.reason, &done).await
        }
        ServiceAccountCommand::Delete { account: AccountArg { account, project }, reason } => {
            let session = app.session()?;
            let project = session.project_or_default(project.project.as_deref()).await?;
            let id = session.service_account(project, &account).await?;
            terminal::confirm(app, &format!("Service account {account} will be deleted."))?;
            let raw = session
                .remove(Route::ServiceAccountDelete, &[&project, &id], reason.reason.as_deref())
                .await?;
            session.printer().object(&raw)?;
            session.printer().note(&format!("Deleted service account {account}."));
            Ok(())
        }
    }
}

async fn token(app: &App, path: &Path, ttl_seconds: Option<u32>) -> Result<()> {
    let file = KeyFile::load(path)?;
    let url = app.globals.url.clone().unwrap_or_else(|| file.platform_url.clone());
    // A context for the same platform knows which CA to trust; nothing else is taken from it.
    let from_context = || {
        let (_, config) = app.load_config().ok()?;
        let known = config.contexts.values().find(|context| same_platform(&context.url, &url))?;
        known.ca_file.clone()
    };
    let ca_file = app.ca_file().or_else(from_context);
    let client = app.client(&url, None, ca_file.as_deref())?;
    let platform: Version = client.call::<(), _>(Route::Version, &[], None, None).await?;
    let assertion = file.assertion(&platform.platform_id.to_string(), clock::now())?;
    let body = AssertionExchange { assertion, ttl_seconds };
    let raw: Raw = client.call(Route::ServiceAccountToken, &[], None, Some(&body)).await?;
    if app.printer.is_json() {
        return app.printer.json(raw.get());
    }
    app.printer.line(&parse::<AccessToken>(&raw)?.access_token)
}

/// The token is the credential, so no other is sent; the place for the key is taken before it is opened, because it
/// opens only once.
async fn unwrap(
    app: &App,
    token: &str,
    key_file: Option<&Path>,
    ids: Option<(&str, &str)>,
    project: Option<&str>,
) -> Result<()> {
    let target = app.target()?;
    let place = match (key_file, ids) {
        (Some(path), Some((account, key))) => {
            let project = project.or(target.context.as_ref().and_then(|context| context.project.as_deref()));
            let project = project.ok_or_else(|| {
                Failure::usage("which project?").fix("pass --project with the project's id")
            })?;
            let ids: (ServiceAccountId, KeyId) =
                (parse_id(account, "service account")?, parse_id(key, "key")?);
            Some((Reserved::new(path)?, ids, parse_id(project, "project")?))
        }
        (Some(_), None) => return Err(Failure::usage("a key file needs --service-account and --key-id")),
        (None, _) => None,
    };
    let token = if token == "-" { terminal::secret_from_stdin()? } else { Secret::new(token.to_owned()) };
    let client = app.client(&target.url, None, target.ca_file.as_deref())?;
    let body = UnwrapRequest { token: token.expose().clone() };
    let raw: Raw = client.call(Route::Unwrap, &[], None, Some(&body)).await?;
    let Some((place, (service_account_id, key_id), project_id)) = place else {
        if app.printer.is_json() {
            return app.printer.json(raw.get());
        }
        return app.printer.text(parse::<Unwrapped>(&raw)?.value.trim_end());
    };
    let private_key_pem = Secret::new(parse::<Unwrapped>(&raw)?.value);
    let file = KeyFile { service_account_id, key_id, project_id, platform_url: target.url, private_key_pem };
    // Kept whatever it is: it cannot be opened again.
    place.fill(file.to_json().as_bytes())?;
    file.key_pair().map(|_| app.printer.note("Wrote the key file.")).map_err(|_| {
        Failure::new(
            Exit::Trouble,
            "not_a_key",
            "the key file was written, but what was wrapped is not a private key",
        )
    })
}

fn read_file_or_stdin(path: &Path) -> Result<String> {
    if path != Path::new("-") {
        return files::read_text(path);
    }
    let mut text = String::new();
    let read = std::io::stdin().lock().read_to_string(&mut text);
    read.map_err(|source| Failure::usage(format!("stdin could not be read: {source}")))?;
    Ok(text)
}
