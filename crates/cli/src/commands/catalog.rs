//! Apps and their versions.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use gpuaas_api::catalog::{App as AppRow, AppVersion, AppVersionDetail, LaunchableApp, MoveVersion};
use gpuaas_api::identity::Because;
use gpuaas_api::{List, Route};
use gpuaas_domain::FieldError;
use gpuaas_domain::manifest::ladder::VersionState;
use gpuaas_domain::manifest::{Document, Format};
use serde_json::{Value, json};

use crate::app::App;
use crate::args::{ListLimit, ProjectArg, Reason};
use crate::failure::{Exit, Failure, Result};
use crate::json::Raw;
use crate::printer::Style;
use crate::session::{Session, parse};
use crate::{resolve, source, yaml};

use super::{form, publish};

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
    /// Check a manifest on this machine, without a platform
    ///
    /// Takes a source manifest too, in which images are still to be built. Which registries images may come from is known
    /// to the platform alone, so that is checked when it is registered.
    #[command(
        after_help = "Examples:\n  gpuaas app validate manifest.yaml\n  gpuaas app validate ./jupyter\n  gpuaas app validate - -o json < m.json"
    )]
    Validate(ManifestArg),
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
    Form(form::FormArgs),
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
    if let AppCommand::Validate(manifest) = &command {
        return validate(app, manifest);
    }
    if let AppCommand::Publish(args) = command {
        return publish::run(app, args).await;
    }
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
        AppCommand::Validate(manifest) => validate(app, &manifest),
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
        AppCommand::Form(args) => form::run(&session, args).await,
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
    let (bytes, format, base) = source::open(&manifest.file)?;
    // What cannot be read is the platform's to refuse: it lists every fault.
    if source::read(&bytes, format, &base).is_ok_and(|source| !source.images.is_empty()) {
        return Err(Failure::usage("this manifest names images that are still to be made")
            .fix("run `gpuaas app publish FOLDER`: it makes them and registers the version"));
    }
    let content_type = match format {
        Format::Json => "application/json",
        Format::Yaml | Format::Guess => "application/yaml",
    };
    let raw: Raw =
        session.client.call_with_document(Route::ManifestRegister, &[], bytes, content_type).await?;
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

const CHECKED_THERE: &str =
    "Which registries images may come from is checked by the platform when the manifest is registered.";

/// Every fault that can be seen without a platform, of a manifest or a source manifest.
fn check(bytes: &[u8], format: Format, base: &Path) -> Result<Checked, Vec<FieldError>> {
    let source = source::read(bytes, format, base)?;
    Ok(Checked { document: source.check()?, images: source.images.len() })
}

struct Checked {
    document: Document,
    /// That are still to be made.
    images: usize,
}

/// The verdict for programs.
fn verdict(checked: &Result<Checked, Vec<FieldError>>) -> Value {
    let faults = match checked {
        Ok(Checked { document, images }) => {
            // What is still to be made has no digest yet, so neither has the whole.
            let digest = (*images == 0).then(|| document.digest().to_string());
            return json!({"ok": true, "slug": document.manifest.slug.as_str(),
                "app_version": document.manifest.version.as_str(), "manifest_digest": digest,
                "images_to_make": images, "fields": []});
        }
        Err(faults) => faults,
    };
    let fields: Vec<_> = faults
        .iter()
        .map(|fault| json!({"path": fault.path, "code": fault.code, "message": fault.message}))
        .collect();
    json!({"ok": false, "fields": fields})
}

fn validate(app: &App, manifest: &ManifestArg) -> Result<()> {
    let (bytes, format, base) = source::open(&manifest.file)?;
    let printer = &app.printer;
    let checked = check(&bytes, format, &base);
    if printer.is_json() {
        printer.value(&verdict(&checked))?;
        return checked.map(drop).map_err(|_| Failure::Said(Exit::No));
    }
    let faults = match checked {
        Ok(Checked { document, images }) => {
            let (slug, version) = (document.manifest.slug.as_str(), document.manifest.version.as_str());
            let about = match images {
                0 => document.digest().to_string(),
                1 => "1 image to make".to_owned(),
                more => format!("{more} images to make"),
            };
            printer.marked("ok", Style::Good, &format!("{slug} {version} ({about})"))?;
            printer.note(CHECKED_THERE);
            return Ok(());
        }
        Err(faults) => faults,
    };
    for fault in &faults {
        printer.line(&format!("{}: {}", fault.path, fault.message))?;
    }
    let count = if faults.len() == 1 { "1 fault".to_owned() } else { format!("{} faults", faults.len()) };
    printer.note(&format!("{count}. {CHECKED_THERE}"));
    Err(Failure::Said(Exit::No))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HELLO: &str = include_str!("../../../../apps/hello-web/app.yaml");
    const BUILT: &str = "{build: ../../images/hello-web}";

    fn checked(text: &str) -> Result<Checked, Vec<FieldError>> {
        check(text.as_bytes(), Format::Yaml, Path::new(""))
    }

    #[test]
    fn a_manifest_is_checked_without_knowing_registries() {
        let good =
            HELLO.replace(BUILT, &format!("registry.example.org/apps/hello-web@sha256:{}", "0".repeat(64)));
        assert_eq!(checked(&good).ok().unwrap().document.manifest.slug.as_str(), "hello-web");
        assert_eq!(checked(HELLO).ok().unwrap().images, 1, "a source manifest is good too");
        let faults = checked(&HELLO.replace(BUILT, "registry.example.org/apps/hello-web:1")).err().unwrap();
        assert!(faults.iter().any(|fault| fault.path == "/artifact_ref"), "{faults:?}");
        let told = verdict(&checked(&good));
        assert_eq!(
            (&told["ok"], &told["slug"], &told["app_version"], &told["images_to_make"]),
            (&json!(true), &json!("hello-web"), &json!("1.0.0"), &json!(0))
        );
        assert!(told["manifest_digest"].as_str().unwrap().starts_with("sha256:"));
        let misspelt = good.replace("publisher:", "publishr:");
        assert_eq!(
            verdict(&checked(&misspelt)),
            json!({"ok": false, "fields": [{"path": "/publishr", "code": "unknown_field",
                "message": "There is no such field. Did you mean publisher?"}]})
        );
    }

    #[test]
    fn a_source_manifest_is_checked_with_made_up_digests() {
        let to_make = HELLO.replace(BUILT, "{image: docker:hello}");
        let told = verdict(&checked(&to_make));
        assert_eq!((&told["ok"], &told["images_to_make"]), (&json!(true), &json!(1)), "{told}");
        assert_eq!(told["manifest_digest"], json!(null));
        let misspelt = to_make.replacen("{image:", "{imag:", 1);
        let told = verdict(&checked(&misspelt));
        assert_eq!(told["fields"][0]["path"], json!("/artifact_ref"), "{told}");
    }
}
