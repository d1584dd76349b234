//! Publishing an app: from a folder of its author's to a version that can be launched.
//!
//! The order is the law: everything is checked before anything is built, everything is built before anything is pushed,
//! everything is pushed and signed before anything is registered. So what is registered is whole, and a run that was
//! broken off is taken up by running it again: what is there already is found and left as it is.

mod build;
mod origin;
mod report;

use std::ops::Range;
use std::path::PathBuf;

use clap::Args;
use gpuaas_api::FieldDetail;
use gpuaas_api::Route;
use gpuaas_api::artifacts::{
    Artifact, ArtifactQuery, ArtifactState, NewArtifact, NewPublishIntent, Promote, PublishIntent,
    RegistryInfo, TrustMode, TrustState, Visibility,
};
use gpuaas_api::auth::{PrincipalKind, Whoami};
use gpuaas_api::catalog::{AppVersion, AppVersionDetail, Terms};
use gpuaas_api::envelope::ErrorDetail;
use gpuaas_api::identity::{Because, ScopeName};
use gpuaas_domain::FieldError;
use gpuaas_domain::iam::Permission;
use gpuaas_domain::ids::ProjectId;
use gpuaas_domain::manifest::Document;
use gpuaas_domain::manifest::ladder::VersionState;
use gpuaas_oci::sign::{Policy, PrivateKey, Purpose, SLSA_PROVENANCE_V1, TrustedKey, Unnamed};
use gpuaas_oci::{
    ClientError, Credentials, Digest, Name, Progress, Registry, Repository, SecretText, Settings, Tag,
    TokenRealm,
};
use ring::rand::SystemRandom;
use serde_json::{Value, json};

use self::build::Built;
use self::report::{Report, share};
use super::artifact::next_channel;
use super::registry::{VISIBILITIES, parse_visibility, unwrap};
use crate::app::App;
use crate::args::{ProjectArg, Reason};
use crate::failure::{Exit, Failure, Result};
use crate::json::Raw;
use crate::session::{Session, parse};
use crate::source::{self, Locked, Source};
use crate::{clock, files, signing, units};

/// Long enough for a large image; a longer push asks again.
const INTENT_SECONDS: i64 = 3600;
/// A credential with less left than this is not used for something new.
const MARGIN_SECONDS: i64 = 60;
const RENEWALS: u32 = 3;
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
    let (bytes, format, base) = source::open(&args.path)?;
    let (source, document) = source::read(&bytes, format, &base)
        .and_then(|source| source.check().map(|document| (source, document)))
        .map_err(|faults| faulty(&faults))?;
    let visibility = args.visibility.as_deref().map(parse_visibility).transpose()?;
    let session = app.session()?;
    let project = session.project_or_default(args.project.project.as_deref()).await?;
    let who: Whoami = parse(&session.read(Route::Whoami, &[]).await?)?;
    let may_publish = may_publish(&who);
    if args.release && !may_publish {
        let message = "--release needs a person who may publish apps (apps.publish on the platform)";
        return Err(Failure::new(Exit::Forbidden, "not_a_publisher", message)
            .fix("leave --release out; a publisher then runs `gpuaas app release`"));
    }
    let manifest = &document.manifest;
    let report = Report::new(&session, manifest.slug.as_str(), manifest.display_name.as_str(), may_publish);
    let run = Run {
        session: &session,
        args: &args,
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

/// A way into the repository, for a while.
struct Way {
    intent: PublishIntent,
    registry: Registry,
    repository: Repository,
}

impl Run<'_> {
    /// The work, or a person's stop. What was begun is dropped with it: programs end, folders go.
    async fn to_the_end(&self) -> Result<Published> {
        let outcome = tokio::select! {
            done = self.work() => done,
            _ = tokio::signal::ctrl_c() => Err(Failure::new(Exit::No, "interrupted", "it was interrupted")
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

    /// A new way into the repository. The credential opens once and goes nowhere but to the registry and its tokens.
    async fn way(&self) -> Result<Way> {
        let body = NewPublishIntent {
            app_slug: self.document.manifest.slug.to_string(),
            visibility: self.visibility,
            tag: None,
            expires_in_seconds: Some(INTENT_SECONDS),
        };
        let raw = self.session.write(Route::PublishIntentCreate, &[&self.project], &body).await?;
        let intent: PublishIntent = parse(&raw)?;
        let login = unwrap(self.session, &intent.credential).await?;
        let name: Name = intent.name.parse().map_err(|_| {
            Failure::new(Exit::Trouble, "unexpected_answer", format!("{:?} is no repository", intent.name))
        })?;
        let ca_file = self.session.app.target()?.ca_file;
        let settings = Settings {
            extra_ca_pem: ca_file.map(|path| files::read_text(&path)).transpose()?,
            token_realms: vec![TokenRealm { url: intent.token_url.clone(), service: intent.service.clone() }],
            known_as: Some(name.host),
            ..Settings::default()
        };
        let password = SecretText::new(login.password.expose().clone());
        let credentials = Credentials::Password { user: login.username.clone(), password };
        let registry = Registry::with(&intent.registry_url, Some(credentials), settings)?;
        Ok(Way { repository: name.repository, registry, intent })
    }

    /// Sends what the registry lacks, and leaves signatures beside it.
    async fn push(&self, built: &[Built], key: &PrivateKey, facts: &origin::Facts) -> Result<Way> {
        let mut way = self.way().await?;
        let references: Vec<_> =
            built.iter().map(|built| format!("{}@{}", way.intent.name, built.entry.digest)).collect();
        // Better known now than after the images have travelled.
        self.known_version(&self.source.lock(&references)?).await?;
        for (number, image) in built.iter().enumerate() {
            let share = share(PUSHING, number, built.len());
            let sent = self.push_one(&mut way, image, self.tag(number), &share).await?;
            let digest = &image.entry.digest;
            self.session.printer().end_progress();
            self.session.printer().note(&match sent {
                0 => format!("{digest} is in the registry already."),
                _ => format!("Pushed {digest} ({}).", units::bytes(image.size)),
            });
            self.report.stage("signing the image", share.end);
            if way.intent.expires_at.unix_seconds() - clock::now().unix_seconds() < MARGIN_SECONDS {
                way = self.way().await?;
            }
            self.sign(&way, digest, key, number, facts).await?;
        }
        Ok(way)
    }

    async fn push_one(
        &self,
        way: &mut Way,
        image: &Built,
        tag: Option<Tag>,
        share: &Range<u8>,
    ) -> Result<usize> {
        let told = |of: Progress| {
            let aside = format!(", {} of {}", units::bytes(of.done), units::bytes(of.total));
            self.report.part("pushing the image", share, of.done, of.total, &aside);
        };
        let mut renewals = 0;
        loop {
            let pushed =
                way.registry.push_layout(&way.repository, &image.layout, &image.entry, tag.as_ref(), &told);
            match pushed.await {
                Ok(pushed) => return Ok(pushed.uploaded),
                // The credential may have ended on the way; what has come through is not sent again.
                Err(ClientError::Unauthorized { .. })
                    if renewals < RENEWALS && clock::now() >= way.intent.expires_at =>
                {
                    renewals += 1;
                    *way = self.way().await?;
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// The label that an image is pushed under: its own, or the version. Two of one name would be one.
    fn tag(&self, number: usize) -> Option<Tag> {
        let label = |number: usize| {
            let image = &self.source.images[number];
            let version = self.document.manifest.version.as_str();
            image.tag.clone().unwrap_or_else(|| match &image.variant {
                Some(variant) => format!("{version}-{variant}"),
                None => version.to_owned(),
            })
        };
        let own = label(number);
        let taken = (0..number).any(|other| label(other) == own);
        if taken { None } else { own.parse().ok() }
    }

    /// Once per key, and what says how it was made once too.
    async fn sign(
        &self,
        way: &Way,
        digest: &Digest,
        key: &PrivateKey,
        number: usize,
        facts: &origin::Facts,
    ) -> Result<()> {
        let (random, now) = (SystemRandom::new(), clock::now().to_datetime());
        way.registry.sign(&way.repository, digest, key, now, &random).await?;
        if self.args.no_provenance || !facts.contains_key("commit") {
            return Ok(());
        }
        let own = [TrustedKey::new(key.public().clone())];
        let names = [way.registry.name(&way.repository)?];
        let policy = Policy {
            digest,
            names: &names,
            keys: &own,
            now,
            max_age: None,
            unnamed: Unnamed::Refuse,
            predicate_types: &[SLSA_PROVENANCE_V1],
        };
        let known = way.registry.verify(&way.repository, Purpose::Provenance, &policy).await?;
        if !known.verified.is_empty() {
            return Ok(());
        }
        let manifest = &self.document.manifest;
        let image = &self.source.images[number];
        let predicate = origin::provenance(manifest.slug.as_str(), manifest.version.as_str(), image, facts);
        way.registry.attest(&way.repository, digest, SLSA_PROVENANCE_V1, &predicate, key, &random).await?;
        Ok(())
    }

    async fn register_images(
        &self,
        way: &Way,
        built: &[Built],
        facts: &origin::Facts,
    ) -> Result<Vec<Artifact>> {
        self.report.stage("registering the image", PUSHING.end);
        let query =
            ArtifactQuery { app: Some(self.document.manifest.slug.to_string()), ..ArtifactQuery::default() };
        let known: Vec<Artifact> =
            self.session.list_where(Route::ArtifactList, &[&self.project], &query).await?;
        let mut artifacts = Vec::new();
        for (number, image) in built.iter().enumerate() {
            let digest = image.entry.digest.as_str();
            let found =
                known.iter().find(|one| one.digest == digest && one.repository == way.intent.repository);
            if let Some(found) = found {
                check_usable(found)?;
                artifacts.push(found.clone());
                continue;
            }
            let body = NewArtifact {
                repository: way.intent.repository.clone(),
                digest: digest.to_owned(),
                tag: self.tag(number).map(|tag| tag.to_string()),
                media_type: Some(image.entry.media_type.clone()),
                variant: self.source.images[number].variant.clone(),
                source: facts.clone(),
            };
            let raw = self.session.write(Route::ArtifactRegister, &[&self.project], &body).await?;
            artifacts.push(parse(&raw)?);
        }
        Ok(artifacts)
    }

    /// Has the platform look at the signatures. Gives the artifacts as they are now, and those a person has to verify.
    async fn verify(&self, artifacts: Vec<Artifact>) -> Result<(Vec<Artifact>, Vec<String>)> {
        let (mut seen, mut left) = (Vec::new(), Vec::new());
        for artifact in artifacts {
            if artifact.trust.state == TrustState::Verified {
                seen.push(artifact);
                continue;
            }
            let because = Because { reason: self.args.reason.reason.clone() };
            match self.session.write(Route::ArtifactVerify, &[&self.project, &artifact.id], &because).await {
                Ok(raw) => seen.push(parse(&raw)?),
                Err(failure) if failure.is_forbidden() => {
                    left.push(artifact.id.to_string());
                    seen.push(artifact);
                }
                Err(failure) => return Err(failure),
            }
        }
        let doubtful = seen
            .iter()
            .find(|one| one.trust.state != TrustState::Verified && !left.contains(&one.id.to_string()));
        if let Some(doubtful) = doubtful {
            let why = doubtful.trust.reason.as_deref().unwrap_or("no reason was given");
            let message = format!("{} is not verified: {why}", doubtful.digest);
            let info: RegistryInfo = parse(&self.session.read(Route::RegistryInfo, &[&self.project]).await?)?;
            if info.trust == TrustMode::Enforce {
                return Err(Failure::new(Exit::Conflict, "not_verified", message)
                    .fix("see `gpuaas key list`; sign with a key that the project knows"));
            }
            self.session.printer().end_progress();
            self.session.printer().warn(&message);
        }
        Ok((seen, left))
    }

    /// The version as it is registered now. Refuses one that is out with another manifest.
    async fn known_version(&self, locked: &Locked) -> Result<Option<AppVersion>> {
        let manifest = &self.document.manifest;
        let parameters: [&dyn std::fmt::Display; 2] = [&manifest.slug.as_str(), &manifest.version.as_str()];
        let known = match self.session.read(Route::CatalogVersionGet, &parameters).await {
            Ok(raw) => parse::<AppVersionDetail>(&raw)?.version,
            Err(failure) if failure.exit_code() == Exit::NotFound as u8 => return Ok(None),
            Err(failure) => return Err(failure),
        };
        let same = known.manifest_digest == locked.document.digest().to_string();
        if same || known.status.is_editable() {
            return Ok(Some(known));
        }
        let message =
            format!("{} {} is {} with another manifest", known.slug, known.app_version, known.status.name());
        Err(Failure::new(Exit::Conflict, "version_exists", message)
            .fix("raise `version` in the manifest and run it again"))
    }

    async fn register_version(&self, locked: &Locked) -> Result<Raw> {
        let manifest = &self.document.manifest;
        if let Some(known) = self.known_version(locked).await?
            && known.manifest_digest == locked.document.digest().to_string()
        {
            let printer = self.session.printer();
            printer.end_progress();
            printer.note(&format!("{} {} is registered already.", known.slug, known.app_version));
            return self
                .session
                .read(Route::CatalogVersionGet, &[&manifest.slug.as_str(), &manifest.version.as_str()])
                .await;
        }
        let content_type = if locked.json { "application/json" } else { "application/yaml" };
        let bytes = locked.text.clone().into_bytes();
        Ok(self.session.client.call_with_document(Route::ManifestRegister, &[], bytes, content_type).await?)
    }

    /// Channel by channel to the one that counts here.
    async fn promote(&self, artifacts: Vec<Artifact>) -> Result<Vec<Artifact>> {
        let info: RegistryInfo = parse(&self.session.read(Route::RegistryInfo, &[&self.project]).await?)?;
        let mut promoted = Vec::new();
        for mut artifact in artifacts {
            for channel in way_up(&info.channels, &info.environment, artifact.channel.as_deref()) {
                let body = Promote { channel, reason: self.args.reason.reason.clone() };
                let raw =
                    self.session.write(Route::ArtifactPromote, &[&self.project, &artifact.id], &body).await?;
                artifact = parse(&raw)?;
            }
            promoted.push(artifact);
        }
        Ok(promoted)
    }
}

/// The channels that are still to come, up to the one that counts.
fn way_up(channels: &[String], environment: &str, reached: Option<&str>) -> Vec<String> {
    let place = |wanted: &str| channels.iter().position(|channel| channel == wanted);
    let Some(goal) = place(environment) else { return Vec::new() };
    let mut way = Vec::new();
    let mut at = reached.map(str::to_owned);
    while let Some(next) = next_channel(channels, at.as_deref()) {
        if place(next).is_none_or(|next| next > goal) {
            break;
        }
        way.push(next.clone());
        at = Some(next.clone());
    }
    way
}

fn check_usable(artifact: &Artifact) -> Result<()> {
    let why = match (artifact.status, artifact.trust.state) {
        (_, TrustState::Revoked) => "revoked",
        (ArtifactState::Retired, _) => "retired",
        (ArtifactState::Deprecated, _) => "deprecated",
        (ArtifactState::Published | ArtifactState::Promoted, _) => return Ok(()),
    };
    let message = format!("the image {} was {why}; nothing new may be made of it", artifact.digest);
    Err(Failure::new(Exit::Conflict, "artifact_not_active", message)
        .fix(format!("`gpuaas artifact get {}` says why; publish another image", artifact.id)))
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
                format!("Released {slug} {version}. Next: {}", session.again(&format!("gpuaas instance create {slug} --allocation NAME")))
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
    fn the_way_up_ends_where_it_counts() {
        let channels = ["dev", "staging", "production"].map(str::to_owned);
        assert_eq!(way_up(&channels, "production", None), ["dev", "staging", "production"]);
        assert_eq!(way_up(&channels, "staging", Some("dev")), ["staging"]);
        assert!(way_up(&channels, "staging", Some("production")).is_empty());
        assert!(way_up(&channels, "staging", Some("staging")).is_empty());
    }

    #[test]
    fn what_was_withdrawn_is_not_published_again() {
        let artifact = |status: &str, trust: &str| -> Artifact {
            let mut value = samples::artifact();
            value["status"] = json!(status);
            value["trust"]["state"] = json!(trust);
            serde_json::from_value(value).unwrap()
        };
        check_usable(&artifact("published", "unverified")).unwrap();
        check_usable(&artifact("promoted", "verified")).unwrap();
        for (status, trust) in [("deprecated", "verified"), ("retired", "verified"), ("published", "revoked")]
        {
            assert_eq!(
                check_usable(&artifact(status, trust)).unwrap_err().exit_code(),
                6,
                "{status} {trust}"
            );
        }
    }

    #[test]
    fn faults_are_told_like_the_platforms_own() {
        let failure = faulty(&[FieldError::new("/artifact_ref/build", "not_found", "There is no folder x.")]);
        assert_eq!(failure.exit_code(), 8);
        assert_eq!(failure.body().unwrap().error.fields[0].path, "/artifact_ref/build");
    }
}
