//! Apps and their versions.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use gpuaas_api::catalog::{App as AppRow, AppVersion, AppVersionDetail, LaunchableApp, MoveVersion};
use gpuaas_api::identity::Because;
use gpuaas_api::{List, Route};
use gpuaas_domain::manifest::Format;
use gpuaas_domain::manifest::ladder::VersionState;

use crate::app::App;
use crate::args::{ListLimit, ProjectArg, Reason};
use crate::diagnostics::shown_in;
use crate::failure::{Failure, Result};
use crate::json::Raw;
use crate::session::{Session, parse};
use crate::{resolve, source, yaml};

use super::{diff, form, init, publish, validate};

#[derive(Subcommand)]
pub(crate) enum AppCommand {
    /// List every app of the platform
    #[command(after_help = "Examples:\n  gpuaas app list")]
    List {
        #[command(flatten)]
        limit: ListLimit,
    },
    /// List the versions of an app
    #[command(after_help = "Examples:\n  gpuaas app versions jupyter")]
    Versions {
        /// The app's slug
        app: String,
        #[command(flatten)]
        limit: ListLimit,
    },
    /// Show one version with its manifest
    #[command(
        after_help = "Examples:\n  gpuaas app get jupyter 1.0.0\n  gpuaas app get jupyter 1.0.0 -o json"
    )]
    Get(VersionArg),
    /// Register a manifest as a draft version
    #[command(
        after_help = "Examples:\n  gpuaas app register manifest.yaml\n  generate | gpuaas app register -"
    )]
    Register(ManifestArg),
    Validate(validate::ValidateArgs),
    Init(init::InitArgs),
    Diff(diff::DiffArgs),
    Publish(publish::PublishArgs),
    /// Move a version up the ladder to active
    #[command(after_help = "Examples:\n  gpuaas app release jupyter 1.0.0 --reason reviewed")]
    Release {
        #[command(flatten)]
        version: VersionArg,
        #[command(flatten)]
        reason: Reason,
    },
    /// Take a version out of new launches
    #[command(after_help = "Examples:\n  gpuaas app deprecate jupyter 1.0.0 --reason 'use 1.1.0'")]
    Deprecate {
        #[command(flatten)]
        version: VersionArg,
        #[command(flatten)]
        reason: Reason,
    },
    /// Move a version one rung of the ladder
    #[command(after_help = "Examples:\n  gpuaas app move jupyter 1.1.0 --to canary")]
    Move {
        #[command(flatten)]
        version: VersionArg,
        /// The rung
        #[arg(long, value_name = "STATE", value_parser = VersionState::ALL.map(VersionState::name))]
        to: String,
        #[command(flatten)]
        reason: Reason,
    },
    /// Show what there is to choose for a launch, and change nothing
    ///
    /// Parameters with their values so far, the project's allocations with every reason why one does not fit, what could be
    /// requested instead, and the command that launches exactly this.
    #[command(
        after_help = "Examples:\n  gpuaas app form jupyter --project lab\n  gpuaas app form vllm --allocation training --set model=llama-3\n  gpuaas app form jupyter -o json | jq .request"
    )]
    Form(Box<form::FormArgs>),
    /// List the apps a project may launch
    #[command(after_help = "Examples:\n  gpuaas app catalog --project lab")]
    Catalog {
        #[command(flatten)]
        project: ProjectArg,
    },
}

#[derive(Args)]
pub(crate) struct VersionArg {
    /// The app's slug
    app: String,
    /// The version, such as 1.0.0
    version: String,
}

#[derive(Args)]
pub(crate) struct ManifestArg {
    /// The manifest: .json, .yaml, .yml, a folder with app.yaml or app.json, or `-` for stdin
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

pub(crate) async fn run(app: &App, command: AppCommand) -> Result<()> {
    // What needs no platform, or may not need one, comes before signing in.
    match &command {
        AppCommand::Validate(args) => return validate::run(app, args),
        AppCommand::Init(args) => return init::run(app, args),
        AppCommand::Diff(args) => return diff::run(app, args).await,
        _ => {}
    }
    let command = match command {
        AppCommand::Publish(args) => return publish::run(app, args).await,
        AppCommand::Form(args) => return form::run(app, *args).await,
        other => other,
    };
    let session = app.session()?;
    let printer = session.printer();
    match command {
        AppCommand::List { limit } => {
            printer.list::<AppRow>(&session.list(Route::CatalogList, &[], &(), limit.get()).await?)
        }
        AppCommand::Versions { app, limit } => {
            let app = resolve::slug("app", &app)?;
            let list = session.list(Route::CatalogVersionList, &[&app], &(), limit.get()).await?;
            printer.list::<AppVersion>(&list)
        }
        AppCommand::Get(version) => get(&session, &version).await,
        AppCommand::Register(manifest) => register(&session, &manifest).await,
        AppCommand::Validate(args) => validate::run(app, &args),
        AppCommand::Init(args) => init::run(app, &args),
        AppCommand::Diff(args) => diff::run(app, &args).await,
        AppCommand::Publish(args) => publish::run(app, args).await,
        AppCommand::Release { version, reason } => {
            let because = Because { reason: reason.reason };
            change(&session, Route::AppPublish, &version, &because, "Released").await
        }
        AppCommand::Deprecate { version, reason } => {
            let because = Because { reason: reason.reason };
            change(&session, Route::AppDeprecate, &version, &because, "Deprecated").await
        }
        AppCommand::Move { version, to, reason } => {
            let to = VersionState::parse(&to).ok_or_else(|| Failure::usage("there is no such rung"))?;
            let body = MoveVersion { to, reason: reason.reason };
            change(&session, Route::AppMove, &version, &body, "Moved").await
        }
        AppCommand::Form(args) => form::run(app, *args).await,
        AppCommand::Catalog { project } => {
            let project = session.project_or_default(project.project.as_deref()).await?;
            let raw = session.read(Route::ProjectCatalog, &[&project]).await?;
            if printer.is_json() {
                return printer.json(raw.get());
            }
            printer.list::<LaunchableApp>(&parse::<List<Raw>>(&raw)?)
        }
    }
}

async fn get(session: &Session<'_>, version: &VersionArg) -> Result<()> {
    let (app, number) = (resolve::slug("app", &version.app)?, resolve::version(&version.version)?);
    let raw = session.read(Route::CatalogVersionGet, &[&app, &number.as_str()]).await?;
    let printer = session.printer();
    printer.facts::<AppVersion>(&raw)?;
    if printer.is_json() {
        return Ok(());
    }
    printer.text("")?;
    printer.text(&yaml::render(&parse::<AppVersionDetail>(&raw)?.manifest))
}

async fn change<B: serde::Serialize>(
    session: &Session<'_>,
    route: Route,
    version: &VersionArg,
    body: &B,
    done: &str,
) -> Result<()> {
    let (app, number) = (resolve::slug("app", &version.app)?, resolve::version(&version.version)?);
    let raw = session.write(route, &[&app, &number.as_str()], body).await?;
    session.printer().facts::<AppVersion>(&raw)?;
    session.printer().note(&format!("{done} {app} {}.", number.as_str()));
    Ok(())
}

async fn register(session: &Session<'_>, manifest: &ManifestArg) -> Result<()> {
    let text = source::open(&manifest.file)?;
    // What cannot be read is the platform's to refuse: it lists every fault.
    if source::read(&text.bytes, text.format, &text.base).is_ok_and(|source| !source.images.is_empty()) {
        return Err(Failure::usage("this manifest names images that are still to be made")
            .fix("run `gpuaas app publish FOLDER`: it makes them and registers the version"));
    }
    let content_type = match text.format {
        Format::Json => "application/json",
        Format::Yaml | Format::Guess => "application/yaml",
    };
    let bytes = text.bytes.clone();
    let sent = session.client.call_with_document(Route::ManifestRegister, &[], bytes, content_type).await;
    let raw: Raw = sent.map_err(|error| shown_in(&text, session.printer(), error.into()))?;
    session.printer().facts::<AppVersion>(&raw)?;
    let made: AppVersion = parse(&raw)?;
    session.printer().note(&format!(
        "Registered as a {}. Next: gpuaas app release {} {}",
        made.status.name(),
        made.slug,
        made.app_version
    ));
    Ok(())
}
