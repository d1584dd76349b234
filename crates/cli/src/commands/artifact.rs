//! Images that a project has published: what is known of each, and how far it has come.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use gpuaas_api::Route;
use gpuaas_api::artifacts::{
    Artifact, ArtifactDetail, ArtifactQuery, CredentialDelivery, NewArtifact, NewPublishIntent,
    NewPullIntent, Promote, PublishIntent, PullIntent, RegistryInfo, TrustState,
};
use gpuaas_api::identity::Because;
use gpuaas_domain::Timestamp;
use gpuaas_domain::ids::{ArtifactId, ProjectId};
use serde_json::{Value, json};

use super::registry::{VISIBILITIES, parse_visibility, unwrap, write_docker_config};
use crate::app::App;
use crate::args::{ListLimit, ProjectArg, Reason};
use crate::failure::{Exit, Failure, Result};
use crate::json::Raw;
use crate::session::{Session, parse};
use crate::views::short;
use crate::{resolve, terminal, units};

#[derive(Subcommand)]
pub(crate) enum ArtifactCommand {
    /// List a project's artifacts
    #[command(
        after_help = "Examples:\n  gpuaas artifact list --project lab\n  gpuaas artifact list --app jupyter --visible"
    )]
    List {
        #[command(flatten)]
        project: ProjectArg,
        /// Only this app's
        #[arg(long, value_name = "SLUG")]
        app: Option<String>,
        /// Also those of others that this project may pull
        #[arg(long)]
        visible: bool,
        #[command(flatten)]
        limit: ListLimit,
    },
    /// Show one artifact with its promotions and the versions that use it
    #[command(
        after_help = "Examples:\n  gpuaas artifact get 3f2a9c\n  gpuaas artifact get jupyter@sha256:3f2a9c -o json"
    )]
    Get(ArtifactArg),
    /// Register an image that was pushed with docker, skopeo or oras
    #[command(
        after_help = "Examples:\n  gpuaas artifact register registry.example.org/gpuaas/apps/lab/jupyter@sha256:3f2a… --variant cpu\n  gpuaas artifact register gpuaas/apps/lab/jupyter@sha256:3f2a… --source commit=$GIT_COMMIT"
    )]
    Register {
        /// Repository and digest, as they stand in the manifest
        #[arg(value_name = "REPOSITORY@DIGEST")]
        image: String,
        /// The label it was pushed under
        #[arg(long)]
        tag: Option<String>,
        /// What it is made for: cpu, nvidia-h200, amd-rocm, …
        #[arg(long)]
        variant: Option<String>,
        /// Where it comes from; names, never secrets. Can be repeated
        #[arg(long = "source", value_name = "NAME=VALUE", value_parser = pair)]
        source: Vec<(String, String)>,
        #[command(flatten)]
        project: ProjectArg,
    },
    /// Check an artifact's signatures in the live registry and keep the result
    #[command(after_help = "Examples:\n  gpuaas artifact verify jupyter@sha256:3f2a9c")]
    Verify {
        #[command(flatten)]
        artifact: ArtifactArg,
        #[command(flatten)]
        reason: Reason,
    },
    /// Promote an artifact to the next channel
    #[command(
        after_help = "Examples:\n  gpuaas artifact promote 3f2a9c\n  gpuaas artifact promote 3f2a9c --channel staging --reason reviewed"
    )]
    Promote {
        #[command(flatten)]
        artifact: ArtifactArg,
        /// The channel; the next one unless given
        #[arg(long, value_name = "NAME")]
        channel: Option<String>,
        #[command(flatten)]
        reason: Reason,
    },
    /// Let nothing new be made of an artifact; what runs stays
    #[command(after_help = "Examples:\n  gpuaas artifact deprecate 3f2a9c --reason 'use 1.1.0'")]
    Deprecate {
        #[command(flatten)]
        artifact: ArtifactArg,
        #[command(flatten)]
        reason: Reason,
    },
    /// Put an artifact away for the auditor
    #[command(after_help = "Examples:\n  gpuaas artifact retire 3f2a9c --reason 'end of life'")]
    Retire {
        #[command(flatten)]
        artifact: ArtifactArg,
        #[command(flatten)]
        reason: Reason,
    },
    /// Withdraw trust from an artifact for good; nothing starts from it any more
    #[command(
        after_help = "Examples:\n  gpuaas artifact revoke 3f2a9c --reason 'the build was tampered with'"
    )]
    Revoke {
        #[command(flatten)]
        artifact: ArtifactArg,
        #[command(flatten)]
        reason: Reason,
    },
    /// Get a credential to push to one repository, for a short while
    #[command(
        after_help = "Examples:\n  gpuaas artifact publish-intent jupyter --docker-config ./docker && DOCKER_CONFIG=./docker docker push …\n  gpuaas artifact publish-intent jupyter --expires-in 10m -o json"
    )]
    PublishIntent {
        /// The app's slug
        app: String,
        /// Who may pull, for a repository that is not there yet; project unless given
        #[arg(long, value_parser = VISIBILITIES)]
        visibility: Option<String>,
        /// The label that will be pushed
        #[arg(long)]
        tag: Option<String>,
        #[command(flatten)]
        way: WayArgs,
        #[command(flatten)]
        project: ProjectArg,
    },
    /// Get a credential to pull one image, for a short while
    #[command(
        after_help = "Examples:\n  gpuaas artifact pull-intent 3f2a9c --docker-config ./docker && DOCKER_CONFIG=./docker docker pull …\n  gpuaas artifact pull-intent jupyter@sha256:3f2a9c -o json"
    )]
    PullIntent {
        #[command(flatten)]
        artifact: ArtifactArg,
        #[command(flatten)]
        way: WayArgs,
    },
}

#[derive(Args)]
pub(crate) struct ArtifactArg {
    /// The artifact: its id, APP@sha256:…, or the first digits of its digest
    artifact: String,
    #[command(flatten)]
    project: ProjectArg,
}

#[derive(Args)]
pub(crate) struct WayArgs {
    /// How long it works: 1m to 1h
    #[arg(long, value_name = "TIME", value_parser = units::duration)]
    expires_in: Option<Duration>,
    /// Write the credential into config.json in this folder instead of showing it
    #[arg(long, value_name = "FOLDER")]
    docker_config: Option<PathBuf>,
}

impl WayArgs {
    fn seconds(&self) -> Option<i64> {
        self.expires_in.map(|span| i64::try_from(span.as_secs()).unwrap_or(i64::MAX))
    }
}

fn pair(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("write NAME=VALUE")?;
    if name.is_empty() { Err("write NAME=VALUE".to_owned()) } else { Ok((name.to_owned(), value.to_owned())) }
}

pub(crate) async fn run(app: &App, command: ArtifactCommand) -> Result<()> {
    let session = app.session()?;
    let printer = session.printer();
    match command {
        ArtifactCommand::List { project, app, visible, limit } => {
            let project = session.project_or_default(project.project.as_deref()).await?;
            let app = app.map(|app| resolve::slug("app", &app)).transpose()?;
            let query = ArtifactQuery {
                app: app.map(|app| app.to_string()),
                visible: visible.then_some(true),
                ..ArtifactQuery::default()
            };
            printer
                .list::<Artifact>(&session.list(Route::ArtifactList, &[&project], &query, limit.get()).await?)
        }
        ArtifactCommand::Get(artifact) => {
            let (project, id) = artifact.resolve(&session, true).await?;
            printer.facts::<ArtifactDetail>(&session.read(Route::ArtifactGet, &[&project, &id]).await?)
        }
        ArtifactCommand::Register { image, tag, variant, source, project } => {
            let project = session.project_or_default(project.project.as_deref()).await?;
            let body = registration(&image, tag, variant, source)?;
            let raw = session.write(Route::ArtifactRegister, &[&project], &body).await?;
            printer.facts::<Artifact>(&raw)?;
            let made: Artifact = parse(&raw)?;
            printer.note(&format!(
                "Registered. Next: {}",
                session.again(&format!("gpuaas artifact verify {}", made.id))
            ));
            Ok(())
        }
        ArtifactCommand::Verify { artifact, reason } => verify(&session, &artifact, reason).await,
        ArtifactCommand::Promote { artifact, channel, reason } => {
            promote(&session, &artifact, channel, reason.reason).await
        }
        ArtifactCommand::Deprecate { artifact, reason } => {
            change(&session, Route::ArtifactDeprecate, &artifact, reason, "Deprecated").await
        }
        ArtifactCommand::Retire { artifact, reason } => {
            terminal::confirm(app, &format!("Artifact {} will be put away for good.", artifact.artifact))?;
            change(&session, Route::ArtifactRetire, &artifact, reason, "Retired").await
        }
        ArtifactCommand::Revoke { artifact, reason } => {
            let what = format!("Nothing will start from artifact {} any more, ever.", artifact.artifact);
            terminal::confirm(app, &what)?;
            change(&session, Route::ArtifactRevoke, &artifact, reason, "Revoked").await
        }
        ArtifactCommand::PublishIntent { app, visibility, tag, way, project } => {
            let app_slug = resolve::slug("app", &app)?.to_string();
            let project = session.project_or_default(project.project.as_deref()).await?;
            let visibility = visibility.map(|text| parse_visibility(&text)).transpose()?;
            let body = NewPublishIntent { app_slug, visibility, tag, expires_in_seconds: way.seconds() };
            let raw = session.write(Route::PublishIntentCreate, &[&project], &body).await?;
            let intent: PublishIntent = parse(&raw)?;
            let until = intent.expires_at;
            show_way(&session, &way, &intent.name, (&intent.credential, &raw), "Push to", until).await
        }
        ArtifactCommand::PullIntent { artifact, way } => {
            let (project, artifact_id) = artifact.resolve(&session, true).await?;
            let body = NewPullIntent { artifact_id, expires_in_seconds: way.seconds() };
            let raw = session.write(Route::PullIntentCreate, &[&project], &body).await?;
            let intent: PullIntent = parse(&raw)?;
            let until = intent.expires_at;
            show_way(&session, &way, &intent.reference, (&intent.credential, &raw), "Pull", until).await
        }
    }
}

impl ArtifactArg {
    async fn resolve(&self, session: &Session<'_>, visible: bool) -> Result<(ProjectId, ArtifactId)> {
        let project = session.project_or_default(self.project.project.as_deref()).await?;
        Ok((project, session.artifact(project, &self.artifact, visible).await?))
    }
}

fn registration(
    image: &str,
    tag: Option<String>,
    variant: Option<String>,
    source: Vec<(String, String)>,
) -> Result<NewArtifact> {
    let refuse = || {
        Failure::usage(format!("{image:?} does not name an image by its digest"))
            .fix("write REPOSITORY@sha256:…, as `docker push` and `skopeo inspect` show it")
    };
    let (repository, digest) = image.split_once('@').ok_or_else(refuse)?;
    gpuaas_oci::parse_digest(digest).map_err(|_| refuse())?;
    let source: BTreeMap<_, _> = source.into_iter().collect();
    Ok(NewArtifact {
        repository: repository.to_owned(),
        digest: digest.to_owned(),
        tag,
        media_type: None,
        variant,
        source,
    })
}

/// Found wanting is an answer too, but not one that a script should go on after.
async fn verify(session: &Session<'_>, artifact: &ArtifactArg, reason: Reason) -> Result<()> {
    let (project, id) = artifact.resolve(session, false).await?;
    let because = Because { reason: reason.reason };
    let raw = session.write(Route::ArtifactVerify, &[&project, &id], &because).await?;
    session.printer().facts::<Artifact>(&raw)?;
    let seen: Artifact = parse(&raw)?;
    if seen.trust.state == TrustState::Verified {
        session.printer().note(&format!("Verified {}.", seen.digest));
        return Ok(());
    }
    let why = seen.trust.reason.as_deref().unwrap_or("no signature holds");
    Err(Failure::new(Exit::No, "not_verified", format!("{} is not verified: {why}", seen.digest))
        .fix("sign it with a key of `gpuaas key list`, then verify it again"))
}

async fn change(
    session: &Session<'_>,
    route: Route,
    artifact: &ArtifactArg,
    reason: Reason,
    done: &str,
) -> Result<()> {
    let (project, id) = artifact.resolve(session, false).await?;
    let raw = session.write(route, &[&project, &id], &Because { reason: reason.reason }).await?;
    session.printer().facts::<Artifact>(&raw)?;
    session.printer().note(&format!("{done} {}.", parse::<Artifact>(&raw)?.digest));
    Ok(())
}

/// The channel behind the one it has reached, if there is one. One that is not configured any more counts as none.
pub(crate) fn next_channel<'c>(channels: &'c [String], reached: Option<&str>) -> Option<&'c String> {
    let at = reached.and_then(|reached| channels.iter().position(|channel| channel == reached));
    channels.get(at.map_or(0, |at| at + 1))
}

async fn promote(
    session: &Session<'_>,
    artifact: &ArtifactArg,
    channel: Option<String>,
    reason: Option<String>,
) -> Result<()> {
    let (project, id) = artifact.resolve(session, false).await?;
    let channel = if let Some(channel) = channel {
        resolve::slug("channel", &channel)?.to_string()
    } else {
        let now: ArtifactDetail = parse(&session.read(Route::ArtifactGet, &[&project, &id]).await?)?;
        let info: RegistryInfo = parse(&session.read(Route::RegistryInfo, &[&project]).await?)?;
        let next = next_channel(&info.channels, now.artifact.channel.as_deref());
        next.cloned().ok_or_else(|| {
            let message = "it has been promoted as far as there are channels";
            Failure::new(Exit::Conflict, "promoted_to_the_end", message)
        })?
    };
    let body = Promote { channel: channel.clone(), reason };
    let raw = session.write(Route::ArtifactPromote, &[&project, &id], &body).await?;
    session.printer().facts::<Artifact>(&raw)?;
    session.printer().note(&format!("Promoted to {channel}."));
    Ok(())
}

/// Opens the credential and shows it once, or puts it where registry clients look.
async fn show_way(
    session: &Session<'_>,
    way: &WayArgs,
    name: &str,
    (delivery, intent): (&CredentialDelivery, &Raw),
    what: &str,
    until: Timestamp,
) -> Result<()> {
    let printer = session.printer();
    let login = unwrap(session, delivery).await?;
    let host = name.split('/').next().unwrap_or(name);
    if let Some(folder) = &way.docker_config {
        write_docker_config(folder, host, &login.username, login.password.expose())?;
        if printer.is_json() {
            return printer.value(&opened(intent, &json!({"name": name, "docker_config": folder}))?);
        }
        printer.line(name)?;
        printer.note(&format!("{what} it with DOCKER_CONFIG={} until {}.", folder.display(), short(until)));
        return Ok(());
    }
    if printer.is_json() {
        let more = json!({"name": name, "username": login.username, "password": login.password.expose()});
        return printer.value(&opened(intent, &more)?);
    }
    printer.members(&[
        ("name", name.to_owned()),
        ("username", login.username.clone()),
        ("password", login.password.expose().clone()),
        ("expires", short(until)),
    ])?;
    printer.note("The password is shown now and never again.");
    Ok(())
}

/// What the API answered, with what was in the wrap instead of the wrap.
fn opened(intent: &Raw, more: &Value) -> Result<Value> {
    let mut whole: Value = parse(intent)?;
    if let (Some(whole), Some(more)) = (whole.as_object_mut(), more.as_object()) {
        whole.remove("credential");
        whole.extend(more.clone());
    }
    Ok(whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_is_registered_by_digest_only() {
        let digest = format!("sha256:{}", "0".repeat(64));
        let good = registration(&format!("h.example/a/b@{digest}"), None, None, vec![pair("a=b=c").unwrap()])
            .unwrap();
        assert_eq!((good.repository.as_str(), &good.digest), ("h.example/a/b", &digest));
        assert_eq!(good.source["a"], "b=c");
        for bad in ["a/b:latest", "a/b@sha256:0", "a/b"] {
            assert_eq!(registration(bad, None, None, Vec::new()).err().unwrap().exit_code(), 2, "{bad}");
        }
        assert!(pair("x").is_err() && pair("=x").is_err());
    }

    #[test]
    fn the_next_channel_is_the_one_behind() {
        let channels = ["dev", "staging", "production"].map(str::to_owned);
        let next = |reached| next_channel(&channels, reached).map(String::as_str);
        assert_eq!(next(None), Some("dev"));
        assert_eq!(next(Some("dev")), Some("staging"));
        assert_eq!(next(Some("gone")), Some("dev"));
        assert_eq!(next(Some("production")), None);
    }
}
