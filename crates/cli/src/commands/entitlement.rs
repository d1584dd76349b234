//! Which apps tenants and projects may launch.

use std::collections::BTreeSet;

use clap::{Args, Subcommand};
use gpuaas_api::catalog::{Channel, Entitlement, Terms};
use gpuaas_api::{List, Route};

use super::place::{Place, Siblings};
use crate::app::App;
use crate::failure::{Failure, Result};
use crate::json::Raw;
use crate::resolve;
use crate::session::{Session, parse};

#[derive(Subcommand)]
pub(crate) enum EntitlementCommand {
    /// List what a project or tenant may launch, and by whose word
    #[command(
        after_help = "Examples:\n  gpuaas entitlement list --project lab\n  gpuaas entitlement list --tenant acme"
    )]
    List {
        #[command(flatten)]
        place: WhomArgs,
    },
    /// Allow an app
    #[command(
        after_help = "Examples:\n  gpuaas entitlement enable jupyter --tenant acme\n  gpuaas entitlement enable jupyter --project lab --version 1.0.0 --channel active --channel canary"
    )]
    Enable {
        /// The app's slug
        app: String,
        #[command(flatten)]
        place: WhomArgs,
        /// Exactly this version; any unless given. Can be repeated
        #[arg(long = "version", value_name = "VERSION")]
        versions: Vec<String>,
        /// Versions on this rung of the ladder; active unless given. Can be repeated
        #[arg(long = "channel", value_name = "CHANNEL", value_parser = ["active", "canary"])]
        channels: Vec<String>,
    },
    /// Take an app back; what runs stays
    #[command(after_help = "Examples:\n  gpuaas entitlement disable jupyter --tenant acme")]
    Disable {
        /// The app's slug
        app: String,
        #[command(flatten)]
        place: WhomArgs,
    },
}

/// For whom; the context's defaults apply, the project's first.
#[derive(Args)]
#[group(multiple = false)]
pub(crate) struct WhomArgs {
    /// For this tenant (id or slug)
    #[arg(long)]
    tenant: Option<String>,
    /// For this project (id or slug)
    #[arg(long)]
    project: Option<String>,
}

impl WhomArgs {
    async fn resolve(&self, session: &Session<'_>) -> Result<Place> {
        let defaults = (&session.context.project, &session.context.tenant);
        match (&self.project, &self.tenant, defaults) {
            (Some(project), ..) => Ok(Place::Project(session.project(project).await?)),
            (None, Some(tenant), _) => Ok(Place::Tenant(session.tenant(tenant).await?)),
            (None, None, (Some(project), _)) => {
                session.printer().note(&format!("Project {project}, by the context's default."));
                Ok(Place::Project(session.project(project).await?))
            }
            (None, None, (None, Some(tenant))) => {
                session.printer().note(&format!("Tenant {tenant}, by the context's default."));
                Ok(Place::Tenant(session.tenant(tenant).await?))
            }
            (None, None, (None, None)) => Err(Failure::usage("for which tenant or project?")
                .fix("pass --tenant or --project, or set a default with `gpuaas context set-project`")),
        }
    }
}

/// There is nothing to say for the whole platform; `WhomArgs` never names it.
const LISTS: Siblings = Siblings {
    platform: Route::EntitlementList,
    tenant: Route::TenantEntitlementList,
    project: Route::EntitlementList,
};
const SETS: Siblings = Siblings {
    platform: Route::EntitlementSet,
    tenant: Route::TenantEntitlementSet,
    project: Route::EntitlementSet,
};

fn terms(versions: &[String], channels: &[String]) -> Result<Terms> {
    let versions: BTreeSet<String> = versions
        .iter()
        .map(|version| resolve::version(version).map(|version| version.as_str().to_owned()))
        .collect::<Result<_>>()?;
    let channels: BTreeSet<Channel> = channels
        .iter()
        .map(|name| if name == Channel::Canary.name() { Channel::Canary } else { Channel::Active })
        .collect();
    Ok(Terms {
        enabled: true,
        versions: Some(versions).filter(|versions| !versions.is_empty()),
        channels: Some(channels).filter(|channels| !channels.is_empty()),
    })
}

pub(crate) async fn run(app: &App, command: EntitlementCommand) -> Result<()> {
    let session = app.session()?;
    let printer = session.printer();
    match command {
        EntitlementCommand::List { place } => {
            let place = place.resolve(&session).await?;
            let raw = session.read(place.route(&LISTS), &place.parameters(&[])).await?;
            if printer.is_json() {
                return printer.json(raw.get());
            }
            printer.list::<Entitlement>(&parse::<List<Raw>>(&raw)?)
        }
        EntitlementCommand::Enable { app, place, versions, channels } => {
            let terms = terms(&versions, &channels)?;
            set(&session, &app, &place, &terms, "Enabled").await
        }
        EntitlementCommand::Disable { app, place } => {
            set(&session, &app, &place, &Terms::default(), "Disabled").await
        }
    }
}

async fn set(session: &Session<'_>, app: &str, place: &WhomArgs, terms: &Terms, done: &str) -> Result<()> {
    let app = resolve::slug("app", app)?;
    let place = place.resolve(session).await?;
    let raw = session.write(place.route(&SETS), &place.parameters(&[&app]), terms).await?;
    session.printer().facts::<Entitlement>(&raw)?;
    session.printer().note(&format!("{done} {app}."));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_say_only_what_was_said() {
        let json = |terms: Terms| serde_json::to_string(&terms).unwrap();
        assert_eq!(json(terms(&[], &[]).unwrap()), r#"{"enabled":true}"#);
        assert_eq!(
            json(terms(&["1.0.0".into()], &["canary".into(), "active".into()]).unwrap()),
            r#"{"enabled":true,"versions":["1.0.0"],"channels":["canary","active"]}"#
        );
        assert_eq!(json(Terms::default()), r#"{"enabled":false}"#);
        assert!(terms(&["x/y".into()], &[]).is_err());
    }
}
