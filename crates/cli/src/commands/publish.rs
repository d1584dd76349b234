//! Publishing an app: from a folder of its author's to a version that can be launched.
//!
//! The order is the law: everything is checked before anything is built, everything is built before anything is pushed,
//! everything is pushed and signed before anything is registered. So what is registered is whole, and a run that was
//! broken off is taken up by running it again: what is there already is found and left as it is.

mod build;
mod origin;
mod push;
mod register;
mod report;

use std::ops::Range;
use std::path::PathBuf;

use clap::Args;
use gpuaas_api::FieldDetail;
use gpuaas_api::Route;
use gpuaas_api::artifacts::{Artifact, Visibility};
use gpuaas_api::auth::{PrincipalKind, Whoami};
use gpuaas_api::catalog::{AppVersion, Terms};
use gpuaas_api::envelope::ErrorDetail;
use gpuaas_api::identity::{Because, ScopeName};
use gpuaas_domain::FieldError;
use gpuaas_domain::iam::Permission;
use gpuaas_domain::ids::ProjectId;
use gpuaas_domain::manifest::Document;
use gpuaas_domain::manifest::ladder::VersionState;
use gpuaas_oci::sign::PrivateKey;
use serde_json::{Value, json};

use self::report::{Report, share};
use super::registry::{VISIBILITIES, parse_visibility};
use crate::app::App;
use crate::args::{ProjectArg, Reason};
use crate::diagnostics::shown_in;
use crate::failure::{Exit, Failure, Result};
use crate::json::Raw;
use crate::session::{Session, parse};
use crate::signing;
use crate::source::{self, Locked, Source, Text};

/// What each part takes of the whole, in percent.
const BUILDING: Range<u8> = 1..50;
const PUSHING: Range<u8> = 50..90;
const REGISTERING: u8 = 92;
const RELEASING: u8 = 96;

/// Build, push, sign and register an app from the folder that its author keeps
///
/// FOLDER holds app.yaml or app.json: a manifest in which an image may be {build: FOLDER} or {image: SOURCE} instead of a
/// reference, SOURCE being docker:NAME, layout:FOLDER or archive:FILE. A folder to build has an executable `build`, which
/// is called with an empty folder and leaves an OCI layout or image.tar there, or a Dockerfile. Run again, it finds what
/// is there already. The platform is the one of the context, of --url or of GPUAAS_URL: nothing in the folder names it.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  gpuaas app publish ./jupyter --project lab\n  gpuaas app publish ./jupyter --release --entitle --reason reviewed\n  gpuaas app publish ./jupyter --context production --key release.pem --lock jupyter.lock.yaml"
)]
pub(crate) struct PublishArgs {
    /// The folder with the source manifest, or the manifest itself
    #[arg(value_name = "FOLDER")]
    path: PathBuf,
    #[command(flatten)]
    project: ProjectArg,
    /// Who may pull, for a repository that is not there yet; project unless given
    #[arg(long, value_parser = VISIBILITIES)]
    visibility: Option<String>,
    /// The private key to sign with; the one kept for this platform unless given, made if there is none
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    /// Leave no statement about commit and builder beside the image
    #[arg(long)]
    no_provenance: bool,
    /// Write the manifest with its digests here, for somebody who may register it
    #[arg(long, value_name = "FILE")]
    lock: Option<PathBuf>,
    /// Go on: promote the images to this environment's channel and move the version up the ladder to active
    #[arg(long)]
    release: bool,
    /// Also allow the project to launch it
    #[arg(long, requires = "release")]
    entitle: bool,
    #[command(flatten)]
    reason: Reason,
}

pub(crate) async fn run(app: &App, args: PublishArgs) -> Result<()> {
    let text = source::open(&args.path)?;
    let (source, document) = source::read(&text.bytes, text.format, &text.base)
        .and_then(|source| source.check().map(|document| (source, document)))
        .map_err(|faults| shown_in(&text, &app.printer, faulty(&faults)))?;
    let visibility = args.visibility.as_deref().map(parse_visibility).transpose()?;
    let session = app.session()?;
    let project = session.project_or_default(args.project.project.as_deref()).await?;
    let who: Whoami = parse(&session.read(Route::Whoami, &[]).await?)?;
    let may_publish = may_publish(&who);
    if args.release && !may_publish {
        let message = "--release needs a person who may publish apps (apps.publish on the platform)";
        return Err(Failure::new(Exit::Forbidden, "not_a_publisher", message)
            .fix("leave --release out; a publisher then runs `gpuaas artifact promote` for each image, and `gpuaas app release`"));
    }
    let manifest = &document.manifest;
    let report = Report::new(&session, manifest.slug.as_str(), manifest.display_name.as_str(), may_publish);
    let run = Run {
        session: &session,
        args: &args,
        text: &text,
        source: &source,
        document: &document,
        report: &report,
        project,
        visibility,
        may_publish,
    };
    let (outcome, ()) = tokio::join!(run.to_the_end(), report.tell());
    report.close(outcome.as_ref().err()).await;
    outcome?.show(&session, &args)
}

/// What could not be accepted as written, in the shape of the platform's own refusals.
fn faulty(faults: &[FieldError]) -> Failure {
    let fields = faults.iter().map(|fault| FieldDetail {
        path: fault.path.clone(),
        code: fault.code.to_owned(),
        message: fault.message.clone(),
    });
    let detail = ErrorDetail {
        code: "validation_failed".to_owned(),
        message: "The manifest cannot be accepted; nothing was built or pushed.".to_owned(),
        params: std::collections::BTreeMap::default(),
        correlation_id: String::new(),
        fields: fields.collect(),
    };
    Failure::Api { status: 400, detail: Box::new(detail) }
}

/// Versions of apps are registered by people who may do so on the whole platform.
fn may_publish(who: &Whoami) -> bool {
    let holds = |permissions: &[String]| permissions.iter().any(|key| key == Permission::AppPublish.key());
    who.kind == PrincipalKind::User
        && who.grants.iter().any(|grant| grant.scope.kind == ScopeName::Platform && holds(&grant.permissions))
}

struct Run<'a> {
    session: &'a Session<'a>,
    args: &'a PublishArgs,
    text: &'a Text,
    source: &'a Source,
    document: &'a Document,
    report: &'a Report<'a>,
    project: ProjectId,
    visibility: Option<Visibility>,
    may_publish: bool,
}

/// What came of it.
struct Published {
    artifacts: Vec<Artifact>,
    locked: Locked,
    version: Option<Raw>,
    /// Artifacts that a person has to look at.
    unverified: Vec<String>,
    entitled: bool,
}

/// A person's Ctrl-C, or a pipeline's end.
async fn told_to_stop() {
    use tokio::signal::unix::{SignalKind, signal};
    let Ok(mut terminate) = signal(SignalKind::terminate()) else { return std::future::pending().await };
    tokio::select! { _ = tokio::signal::ctrl_c() => {}, _ = terminate.recv() => {} }
}

impl Run<'_> {
    /// The work, or a person's stop. What was begun is dropped with it: programs end, folders go.
    async fn to_the_end(&self) -> Result<Published> {
        let outcome = tokio::select! {
            done = self.work() => done,
            () = told_to_stop() => Err(Failure::new(Exit::No, "interrupted", "it was interrupted")
                .fix("run the same command again: what has come through is not done twice")),
        };
        self.report.end();
        outcome
    }

    async fn work(&self) -> Result<Published> {
        let manifest = &self.document.manifest;
        let (slug, version) = (manifest.slug.as_str(), manifest.version.as_str());
        let images = &self.source.images;
        let (artifacts, locked) = if images.is_empty() {
            (Vec::new(), self.source.lock(&[])?)
        } else {
            let key = self.key().await?;
            let facts = origin::facts(&self.source.base).await;
            let mut built = Vec::new();
            for (number, image) in images.iter().enumerate() {
                let share = share(BUILDING, number, images.len());
                let printer = self.session.printer();
                built.push(build::build(self.report, printer, &self.source.base, image, &share).await?);
            }
            let way = self.push(&built, &key, &facts).await?;
            let artifacts = self.register_images(&way, &built, &facts).await?;
            let references: Vec<_> = artifacts.iter().map(|artifact| artifact.reference.clone()).collect();
            (artifacts, self.source.lock(&references)?)
        };
        let (mut artifacts, unverified) = self.verify(artifacts).await?;
        if let Some(path) = &self.args.lock {
            std::fs::write(path, &locked.text).map_err(|source| Failure::file("write", path, &source))?;
        }
        let mut made = None;
        if self.may_publish {
            self.report.stage("registering the version", REGISTERING);
            made = Some(self.register_version(&locked).await?);
        }
        let mut entitled = false;
        if self.args.release {
            self.report.stage("releasing the version", RELEASING);
            artifacts = self.promote(artifacts).await?;
            let because = Because { reason: self.args.reason.reason.clone() };
            made = Some(self.session.write(Route::AppPublish, &[&slug, &version], &because).await?);
            if self.args.entitle {
                let terms = Terms { enabled: true, ..Terms::default() };
                self.session.write(Route::EntitlementSet, &[&self.project, &slug], &terms).await?;
                entitled = true;
            }
        }
        Ok(Published { artifacts, locked, version: made, unverified, entitled })
    }

    /// The key to sign with, known to the project before anything is built.
    async fn key(&self) -> Result<PrivateKey> {
        self.report.stage("looking for the signing key", 0);
        let (app, printer) = (self.session.app, self.session.printer());
        let path = match &self.args.key {
            Some(path) => path.clone(),
            None => signing::default_path(app, &self.session.url)?,
        };
        let key = if self.args.key.is_none() && !path.exists() {
            let key = signing::create(&path)?;
            printer.end_progress();
            printer.note(&format!("Made a key to sign with: {}.", path.display()));
            key
        } else {
            signing::load(&path)?
        };
        let public = signing::public_path(&path);
        if signing::ensure_registered(self.session, self.project, key.public(), &public).await? {
            printer.end_progress();
            printer.note(&format!("The project knows the key as {} now.", signing::name_of(key.public())));
        }
        Ok(key)
    }
}

impl Published {
    fn to_json(&self, lock: Option<&PathBuf>) -> Value {
        let version = self.version.as_ref().and_then(|raw| serde_json::from_str::<Value>(raw.get()).ok());
        json!({
            "slug": self.locked.document.manifest.slug.as_str(),
            "app_version": self.locked.document.manifest.version.as_str(),
            "manifest_digest": self.locked.document.digest().to_string(),
            "manifest": self.locked.document.value(),
            "artifacts": self.artifacts,
            "version": version,
            "to_verify": self.unverified,
            "entitled": self.entitled,
            "lock": lock,
        })
    }

    fn show(self, session: &Session<'_>, args: &PublishArgs) -> Result<()> {
        let printer = session.printer();
        if printer.is_json() {
            printer.value(&self.to_json(args.lock.as_ref()))?;
        } else if let Some(raw) = &self.version {
            printer.facts::<AppVersion>(raw)?;
        } else if args.lock.is_none() {
            printer.text(self.locked.text.trim_end())?;
        }
        for artifact in &self.artifacts {
            printer.note(&format!(
                "{} ({}, {})",
                artifact.reference,
                artifact.status.name(),
                artifact.trust.state.name()
            ));
        }
        for id in &self.unverified {
            let command = session.again(&format!("gpuaas artifact verify {id}"));
            printer.note(&format!("A person has to verify the image: {command}"));
        }
        let manifest = &self.locked.document.manifest;
        let (slug, version) = (manifest.slug.as_str(), manifest.version.as_str());
        let written = args.lock.as_ref().map_or_else(|| "FILE".to_owned(), |path| path.display().to_string());
        printer.note(&match (&self.version, args.release) {
            (None, _) => format!(
                "You may not register versions: somebody who may runs gpuaas app register {written} with this manifest{}.",
                if args.lock.is_some() { "" } else { "; --lock FILE writes it" }
            ),
            (Some(raw), false) => match parse::<AppVersion>(raw)?.status {
                VersionState::Draft | VersionState::Staged | VersionState::Canary => {
                    let again = format!("gpuaas app publish {} --release", args.path.display());
                    format!("Published. Next: {}", session.again(&again))
                }
                out @ (VersionState::Active | VersionState::Deprecated | VersionState::Retired) => {
                    format!("{slug} {version} is {} already; nothing is left to do.", out.name())
                }
            },
            (Some(_), true) if self.entitled => {
                format!("Released {slug} {version}. Next: {}", session.again(&format!("gpuaas instance plan {slug} --allocation NAME")))
            }
            (Some(_), true) => format!("Released {slug} {version}. Next: gpuaas entitlement enable {slug} --project PROJECT"),
        });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::samples;

    #[test]
    fn only_a_person_with_the_right_on_the_platform_registers_versions() {
        let who = |kind: &str, scope: &str, permission: &str| -> Whoami {
            serde_json::from_value(json!({"kind": kind, "id": "x", "name": "x", "display_name": "x",
                "tenant_id": null, "project_id": null, "credential": "personal_token", "expires_at": null,
                "grants": [{"role_id": samples::ID, "role": "r", "permissions": [permission],
                    "scope": {"kind": scope, "tenant_id": null, "project_id": null}}]}))
            .unwrap()
        };
        assert!(may_publish(&who("user", "platform", "apps.publish")));
        assert!(!may_publish(&who("user", "tenant", "apps.publish")));
        assert!(!may_publish(&who("user", "platform", "apps.read")));
        assert!(!may_publish(&who("service_account", "platform", "apps.publish")));
    }

    #[test]
    fn faults_are_told_like_the_platforms_own() {
        let failure = faulty(&[FieldError::new("/artifact_ref/build", "not_found", "There is no folder x.")]);
        assert_eq!(failure.exit_code(), 8);
        assert_eq!(failure.body().unwrap().error.fields[0].path, "/artifact_ref/build");
    }
}
