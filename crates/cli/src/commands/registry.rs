//! The registry: how to reach it with any client, who may pull, which credentials are about.

use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use clap::Subcommand;
use gpuaas_api::Route;
use gpuaas_api::artifacts::{
    CredentialDelivery, RegistryCredential, RegistryInfo, RepositoryView, SetRepository, Visibility,
};
use gpuaas_api::auth::{
    CreatedPersonalToken, CredentialKind, NewPersonalToken, UnwrapRequest, Unwrapped, Whoami,
};
use gpuaas_domain::Secret;
use gpuaas_domain::ids::{ProjectId, RegistryCredentialId};
use serde::Deserialize;
use serde_json::{Value, json};

use super::place::parse_id;
use crate::app::App;
use crate::args::{ListLimit, ProjectArg, Reason};
use crate::failure::{Exit, Failure, Result, unexpected};
use crate::session::{Session, parse};
use crate::views::Row as _;
use crate::{files, resolve, terminal};

pub(crate) const VISIBILITIES: [&str; 3] = ["platform", "tenant", "project"];

#[derive(Subcommand)]
pub(crate) enum RegistryCommand {
    /// Show how to push and pull, the room there is, and the project's repositories
    #[command(after_help = "Examples:\n  gpuaas registry info --project lab")]
    Info {
        #[command(flatten)]
        project: ProjectArg,
    },
    /// Sign docker, skopeo, oras or cosign in to the registry
    ///
    /// Makes a personal token for it and writes it to stdout, so that it can be piped; a service account's own access
    /// token is used as it is. Any user name goes with either.
    #[command(
        after_help = "Examples:\n  gpuaas registry login | docker login registry.example.org --username ada@example.org --password-stdin\n  gpuaas registry login --docker-config ~/.docker"
    )]
    Login {
        #[command(flatten)]
        project: ProjectArg,
        /// Write the credential into config.json in this folder instead, as `docker login` would
        #[arg(long, value_name = "FOLDER")]
        docker_config: Option<PathBuf>,
        /// How long the token lives: 30 days unless given, 90 at most
        #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(u32).range(1..=90))]
        expires_in_days: Option<u32>,
    },
    /// Say who may pull an app's images; makes the repository if it is not there
    #[command(after_help = "Examples:\n  gpuaas registry visibility jupyter tenant --project lab")]
    Visibility {
        /// The app's slug
        app: String,
        /// Who may pull: everybody, the tenant's projects, or this project alone
        #[arg(value_parser = VISIBILITIES)]
        visibility: String,
        /// Which one, where an app has two: one of the project and one of the platform
        #[arg(long, value_name = "NAME")]
        repository: Option<String>,
        #[command(flatten)]
        project: ProjectArg,
    },
    /// Credentials that were issued for the project's repositories
    #[command(subcommand)]
    Credential(CredentialCommand),
}

#[derive(Subcommand)]
pub(crate) enum CredentialCommand {
    /// List them, without what they open with
    #[command(after_help = "Examples:\n  gpuaas registry credential list --project lab")]
    List {
        #[command(flatten)]
        project: ProjectArg,
        #[command(flatten)]
        limit: ListLimit,
    },
    /// Void one at once
    #[command(after_help = "Examples:\n  gpuaas registry credential revoke CREDENTIAL_ID --reason leaked")]
    Revoke {
        /// The credential's id, as `list` shows it
        credential: String,
        #[command(flatten)]
        project: ProjectArg,
        #[command(flatten)]
        reason: Reason,
    },
}

pub(crate) async fn run(app: &App, command: RegistryCommand) -> Result<()> {
    let session = app.session()?;
    let printer = session.printer();
    match command {
        RegistryCommand::Info { project } => {
            let project = session.project_or_default(project.project.as_deref()).await?;
            let raw = session.read(Route::RegistryInfo, &[&project]).await?;
            printer.facts::<RegistryInfo>(&raw)?;
            if printer.is_json() {
                return Ok(());
            }
            let info: RegistryInfo = parse(&raw)?;
            printer.text("")?;
            let rows: Vec<_> = info.repositories.iter().map(RepositoryView::cells).collect();
            printer.rows(RepositoryView::TITLES, RepositoryView::EMPTY, &rows)
        }
        RegistryCommand::Login { project, docker_config, expires_in_days } => {
            let project = session.project_or_default(project.project.as_deref()).await?;
            login(&session, project, docker_config.as_deref(), expires_in_days).await
        }
        RegistryCommand::Visibility { app, visibility, repository, project } => {
            let app = resolve::slug("app", &app)?;
            let project = session.project_or_default(project.project.as_deref()).await?;
            let body = SetRepository { visibility: parse_visibility(&visibility)?, repository };
            let raw = session.write(Route::RepositorySet, &[&project, &app], &body).await?;
            printer.facts::<RepositoryView>(&raw)?;
            let name = parse::<RepositoryView>(&raw)?.name;
            printer.note(&format!("Images of {name} can be pulled by: {visibility}."));
            Ok(())
        }
        RegistryCommand::Credential(CredentialCommand::List { project, limit }) => {
            let project = session.project_or_default(project.project.as_deref()).await?;
            let list = session.list(Route::RegistryCredentialList, &[&project], &(), limit.get()).await?;
            printer.list::<RegistryCredential>(&list)
        }
        RegistryCommand::Credential(CredentialCommand::Revoke { credential, project, reason }) => {
            let project = session.project_or_default(project.project.as_deref()).await?;
            let id: RegistryCredentialId = parse_id(&credential, "credential")?;
            terminal::confirm(app, &format!("Credential {id} will stop working at once."))?;
            let done = format!("Revoked credential {id}.");
            session.act(Route::RegistryCredentialRevoke, &[&project, &id], reason.reason, &done).await
        }
    }
}

pub(crate) fn parse_visibility(text: &str) -> Result<Visibility> {
    Visibility::parse(text).ok_or_else(|| Failure::usage(format!("{text:?} is none of {VISIBILITIES:?}")))
}

async fn login(
    session: &Session<'_>,
    project: ProjectId,
    docker_config: Option<&Path>,
    expires_in_days: Option<u32>,
) -> Result<()> {
    let printer = session.printer();
    let info: RegistryInfo = parse(&session.read(Route::RegistryInfo, &[&project]).await?)?;
    let who: Whoami = parse(&session.read(Route::Whoami, &[]).await?)?;
    let password = match who.credential {
        CredentialKind::ServiceAccountToken => {
            session.app.target()?.token.unwrap_or_else(|| Secret::new(String::new()))
        }
        CredentialKind::Session | CredentialKind::PersonalToken => {
            let body = NewPersonalToken { name: format!("registry {}", info.host), expires_in_days };
            let made: CreatedPersonalToken = parse(&session.write(Route::TokenCreate, &[], &body).await?)?;
            Secret::new(made.secret.ok_or_else(lost)?)
        }
    };
    // Any name goes; a colon would end it early.
    let username = who.name.replace([':', ' '], "-");
    if let Some(folder) = docker_config {
        write_docker_config(folder, &info.host, &username, password.expose())?;
        printer.note(&format!("{} signs in to {} now.", folder.join("config.json").display(), info.host));
        return Ok(());
    }
    if printer.is_json() {
        return printer
            .value(&json!({"host": info.host, "username": username, "password": password.expose()}));
    }
    printer.line(password.expose())?;
    printer.note(&format!(
        "Shown now and never again. To sign in: gpuaas registry login | docker login {} --username {username} --password-stdin",
        info.host
    ));
    Ok(())
}

fn lost() -> Failure {
    Failure::new(Exit::Trouble, "secret_lost", "the answer that held the credential was lost")
        .fix("run the command again: it makes a new one")
}

/// What a registry client signs in with.
#[derive(Deserialize)]
pub(crate) struct Login {
    pub(crate) username: String,
    pub(crate) password: Secret<String>,
}

/// Opens a credential. It opens once, so nothing else may have gone wrong before.
pub(crate) async fn unwrap(session: &Session<'_>, delivery: &CredentialDelivery) -> Result<Login> {
    let token = delivery.wrap_token.clone().ok_or_else(lost)?;
    let body = UnwrapRequest { token };
    let opened: Unwrapped = parse(&session.write(Route::Unwrap, &[], &body).await?)?;
    read_login(&Secret::new(opened.value))
}

/// JSON, plain or in base64.
fn read_login(value: &Secret<String>) -> Result<Login> {
    let value = value.expose().trim();
    if value.starts_with('{') {
        return serde_json::from_str(value).map_err(|source| unexpected(&source));
    }
    let bytes = Secret::new(STANDARD.decode(value).unwrap_or_default());
    serde_json::from_slice(bytes.expose()).map_err(|source| unexpected(&source))
}

/// Adds a credential to a folder's `config.json` and leaves all else in it alone.
pub(crate) fn write_docker_config(folder: &Path, host: &str, username: &str, password: &str) -> Result<()> {
    let path = folder.join("config.json");
    let mut config = match std::fs::read(&path) {
        Ok(bytes) => {
            serde_json::from_slice::<Value>(&bytes).ok().filter(Value::is_object).ok_or_else(|| {
                Failure::usage(format!("{} is no configuration of docker's", path.display()))
                    .fix("choose another folder, or mend the file")
            })?
        }
        Err(source) if source.kind() == std::io::ErrorKind::NotFound => json!({}),
        Err(source) => return Err(Failure::file("read", &path, &source)),
    };
    let pair = Secret::new(format!("{username}:{password}"));
    if !config["auths"].is_object() {
        config["auths"] = json!({});
    }
    config["auths"][host] = json!({"auth": STANDARD.encode(pair.expose())});
    files::replace_private(&path, format!("{config:#}\n").as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_credential_is_read_plain_or_encoded() {
        let plain = r#"{"username":"u","password":"p"}"#;
        for text in [plain.to_owned(), STANDARD.encode(plain)] {
            let login = read_login(&Secret::new(text)).unwrap();
            assert_eq!((login.username.as_str(), login.password.expose().as_str()), ("u", "p"));
        }
        assert!(read_login(&Secret::new("!".into())).is_err());
    }

    #[test]
    fn a_docker_configuration_keeps_what_else_is_in_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.json");
        std::fs::write(&path, r#"{"credsStore":"x","auths":{"other":{"auth":"eA=="}}}"#).unwrap();
        write_docker_config(folder.path(), "r.example.org", "ada", "secret").unwrap();
        let config: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        assert_eq!(
            config,
            json!({"credsStore": "x", "auths": {"other": {"auth": "eA=="},
                "r.example.org": {"auth": STANDARD.encode("ada:secret")}}})
        );
        assert!(!files::is_exposed(&path));
        std::fs::write(&path, "[]").unwrap();
        assert!(write_docker_config(folder.path(), "r", "u", "p").is_err());
        write_docker_config(&folder.path().join("new"), "r", "u", "p").unwrap();
    }
}
