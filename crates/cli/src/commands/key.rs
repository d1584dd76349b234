//! Keys that stand for images.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use gpuaas_api::Route;
use gpuaas_api::artifacts::{NewTrustKey, TrustKey};
use gpuaas_domain::Timestamp;
use gpuaas_domain::ids::{ProjectId, TrustKeyId};

use crate::app::App;
use crate::args::{ListLimit, ProjectArg};
use crate::failure::Result;
use crate::session::Session;
use crate::{resolve, signing, terminal, units};

#[derive(Subcommand)]
pub(crate) enum KeyCommand {
    /// Make a key to sign images with; the private half stays on this machine
    ///
    /// ECDSA on P-256 in PEM, as cosign and OpenSSL read it. Without --out it becomes the key that `gpuaas app publish`
    /// uses for this platform.
    #[command(after_help = "Examples:\n  gpuaas key generate\n  gpuaas key generate --out release.pem")]
    Generate {
        /// Where to write it; readable by you alone, never overwritten. The public half goes beside it as .pub
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
    },
    /// Let a key stand for a project's images, or for everybody's
    #[command(
        after_help = "Examples:\n  gpuaas key add release --public cosign.pub --project lab\n  gpuaas key add release --key release.pem --valid-until 2027-01-01T00:00:00Z\n  gpuaas key add vendor --public vendor.pub --platform"
    )]
    Add {
        /// What to call it
        name: String,
        #[command(flatten)]
        key: KeyArg,
        #[command(flatten)]
        place: KeyPlace,
        /// Signatures count until this moment
        #[arg(long, value_name = "TIME", value_parser = units::moment)]
        valid_until: Option<Timestamp>,
    },
    /// List the keys that may stand for a project's images, the platform's included
    #[command(after_help = "Examples:\n  gpuaas key list --project lab\n  gpuaas key list --platform")]
    List {
        #[command(flatten)]
        place: KeyPlace,
        #[command(flatten)]
        limit: ListLimit,
    },
    /// Revoke a key: what it stood for is not verified any more
    #[command(
        after_help = "Examples:\n  gpuaas key revoke release --reason 'the laptop was stolen' --project lab"
    )]
    Revoke {
        /// The key's name or id
        key: String,
        #[command(flatten)]
        place: KeyPlace,
        /// Why; kept with the key
        #[arg(long, value_name = "TEXT")]
        reason: String,
    },
}

/// Which key; that of this platform unless given.
#[derive(Args)]
#[group(multiple = false)]
pub(crate) struct KeyArg {
    /// The public half in PEM: P-256 or Ed25519
    #[arg(long, value_name = "FILE")]
    public: Option<PathBuf>,
    /// The private half in PEM; only its public half is sent
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
}

/// Whose images it stands for.
#[derive(Args)]
pub(crate) struct KeyPlace {
    #[command(flatten)]
    project: ProjectArg,
    /// For the images of every project
    #[arg(long, conflicts_with = "project")]
    platform: bool,
}

impl KeyPlace {
    /// None: the platform.
    async fn resolve(&self, session: &Session<'_>) -> Result<Option<ProjectId>> {
        if self.platform {
            return Ok(None);
        }
        session.project_or_default(self.project.project.as_deref()).await.map(Some)
    }
}

pub(crate) async fn run(app: &App, command: KeyCommand) -> Result<()> {
    match command {
        KeyCommand::Generate { out } => generate(app, out.as_deref()),
        KeyCommand::Add { name, key, place, valid_until } => {
            let session = app.session()?;
            let public = match (&key.public, &key.key) {
                (Some(path), _) => signing::load_public(path)?,
                (None, Some(path)) => signing::load(path)?.public().clone(),
                (None, None) => signing::load(&signing::default_path(app, &session.url)?)?.public().clone(),
            };
            let name = resolve::slug("key", &name)?.to_string();
            let project = place.resolve(&session).await?;
            let body = NewTrustKey { name: name.clone(), public_key: public.to_pem(), valid_until };
            let raw = signing::add(&session, project, &body).await?;
            session.printer().facts::<TrustKey>(&raw)?;
            let whose = if project.is_some() { "this project's" } else { "everybody's" };
            session.printer().note(&format!("Key {name} stands for {whose} images now."));
            Ok(())
        }
        KeyCommand::List { place, limit } => {
            let session = app.session()?;
            let list = match place.resolve(&session).await? {
                Some(project) => session.list(Route::TrustKeyList, &[&project], &(), limit.get()).await?,
                None => session.list(Route::PlatformTrustKeyList, &[], &(), limit.get()).await?,
            };
            session.printer().list::<TrustKey>(&list)
        }
        KeyCommand::Revoke { key, place, reason } => {
            let session = app.session()?;
            let project = place.resolve(&session).await?;
            let id: TrustKeyId = session.trust_key(project, &key).await?;
            terminal::confirm(app, &format!("What key {key} stood for will not be verified any more."))?;
            let done = format!("Revoked key {key}.");
            match project {
                Some(project) => {
                    session.act(Route::TrustKeyRevoke, &[&project, &id], Some(reason), &done).await
                }
                None => session.act(Route::PlatformTrustKeyRevoke, &[&id], Some(reason), &done).await,
            }
        }
    }
}

fn generate(app: &App, out: Option<&Path>) -> Result<()> {
    let path = match out {
        Some(path) => path.to_path_buf(),
        None => signing::default_path(app, &app.target()?.url)?,
    };
    let key = signing::create(&path)?;
    let public = signing::public_path(&path);
    let facts = [
        ("key", path.display().to_string()),
        ("public_key", public.display().to_string()),
        ("fingerprint", key.public().id().to_string()),
    ];
    if app.printer.is_json() {
        let members: std::collections::BTreeMap<_, _> = facts.into_iter().collect();
        return app.printer.value(&members);
    }
    app.printer.members(&facts)?;
    app.printer.note(&format!("Next: gpuaas key add NAME --public {}", public.display()));
    Ok(())
}
