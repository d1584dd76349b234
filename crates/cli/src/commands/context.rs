//! The platforms this machine knows.

use clap::Subcommand;
use serde::Serialize;

use crate::app::App;
use crate::config::{Config, Context};
use crate::failure::{Failure, Result};
use crate::{terminal, views};

#[derive(Subcommand)]
pub(crate) enum ContextCommand {
    /// List the contexts; the current one is marked
    #[command(after_help = "Examples:\n  gpuaas context list")]
    List,
    /// Make a context the current one
    #[command(after_help = "Examples:\n  gpuaas context use staging")]
    Use {
        /// The context's name
        name: String,
    },
    /// Show the current context, or another; never its token
    #[command(after_help = "Examples:\n  gpuaas context show\n  gpuaas context show staging -o json")]
    Show {
        /// The context's name
        name: Option<String>,
    },
    /// Forget a context, without revoking its token (`gpuaas logout` does)
    #[command(after_help = "Examples:\n  gpuaas logout --context staging && gpuaas context remove staging")]
    Remove {
        /// The context's name
        name: String,
    },
    /// Set the project used when --project is absent
    #[command(
        after_help = "Examples:\n  gpuaas context set-project lab\n  gpuaas context set-project --none"
    )]
    SetProject {
        /// Id or slug
        #[arg(required_unless_present = "none")]
        project: Option<String>,
        /// Have no default
        #[arg(long, conflicts_with = "project")]
        none: bool,
    },
    /// Set the tenant used when --tenant is absent
    #[command(after_help = "Examples:\n  gpuaas context set-tenant acme\n  gpuaas context set-tenant --none")]
    SetTenant {
        /// Id or slug
        #[arg(required_unless_present = "none")]
        tenant: Option<String>,
        /// Have no default
        #[arg(long, conflicts_with = "tenant")]
        none: bool,
    },
}

/// A context as it may be shown.
#[derive(Serialize)]
struct Shown<'c> {
    name: &'c str,
    current: bool,
    url: &'c str,
    email: Option<&'c str>,
    signed_in: bool,
    expires_at: Option<gpuaas_domain::Timestamp>,
    tenant: Option<&'c str>,
    project: Option<&'c str>,
    ca_file: Option<String>,
}

fn shown<'c>(config: &'c Config, name: &'c str, context: &'c Context) -> Shown<'c> {
    Shown {
        name,
        current: config.current.as_deref() == Some(name),
        url: &context.url,
        email: context.email.as_deref(),
        signed_in: context.token.is_some(),
        expires_at: context.expires_at,
        tenant: context.tenant.as_deref(),
        project: context.project.as_deref(),
        ca_file: context.ca_file.as_ref().map(|path| path.display().to_string()),
    }
}

pub(crate) fn run(app: &App, command: ContextCommand) -> Result<()> {
    let (path, mut config) = app.load_config()?;
    let done = match command {
        ContextCommand::List => return list(app, &config),
        ContextCommand::Show { name } => return show(app, &config, name.as_deref()),
        ContextCommand::Use { name } => {
            config.get_mut(&name)?;
            config.current = Some(name.clone());
            format!("Context {name} is the current one.")
        }
        ContextCommand::Remove { name } => {
            config.get_mut(&name)?;
            terminal::confirm(app, &format!("Context {name} will be forgotten; its token is not revoked."))?;
            config.contexts.remove(&name);
            if config.current.as_ref() == Some(&name) {
                config.current = None;
            }
            format!("Forgot context {name}.")
        }
        ContextCommand::SetProject { project, none: _ } => {
            let said = said("project", project.as_deref());
            current(app, &mut config)?.project = project;
            said
        }
        ContextCommand::SetTenant { tenant, none: _ } => {
            let said = said("tenant", tenant.as_deref());
            current(app, &mut config)?.tenant = tenant;
            said
        }
    };
    config.save(&path)?;
    app.printer.note(&done);
    Ok(())
}

fn said(kind: &str, value: Option<&str>) -> String {
    value.map_or_else(|| format!("No default {kind}."), |value| format!("The default {kind} is {value}."))
}

fn current<'c>(app: &App, config: &'c mut Config) -> Result<&'c mut Context> {
    let name = app.named_context().map(str::to_owned).or_else(|| config.current.clone());
    let name = name.ok_or_else(|| Failure::not_signed_in("there is no current context"))?;
    config.get_mut(&name)
}

fn list(app: &App, config: &Config) -> Result<()> {
    let all: Vec<_> = config.contexts.iter().map(|(name, context)| shown(config, name, context)).collect();
    if app.printer.is_json() {
        return app.printer.value(&serde_json::json!({"items": all}));
    }
    if all.is_empty() {
        app.printer.note("No contexts yet. Sign in with `gpuaas login --url URL`.");
        return Ok(());
    }
    let text = |value: Option<&str>| value.unwrap_or("-").to_owned();
    let rows: Vec<_> = all
        .iter()
        .map(|context| {
            let mark = if context.current { "*" } else { "" };
            let until = match (context.signed_in, context.expires_at) {
                (true, Some(at)) => views::short(at),
                (true, None) => "yes".to_owned(),
                (false, _) => "no".to_owned(),
            };
            let [email, tenant, project] = [context.email, context.tenant, context.project].map(text);
            vec![
                mark.to_owned(),
                context.name.to_owned(),
                context.url.to_owned(),
                email,
                until,
                tenant,
                project,
            ]
        })
        .collect();
    app.printer.table(&["", "NAME", "URL", "EMAIL", "SIGNED IN UNTIL", "TENANT", "PROJECT"], &rows)
}

fn show(app: &App, config: &Config, name: Option<&str>) -> Result<()> {
    let found = config.find(name.or_else(|| app.named_context()))?;
    let (name, context) = found.ok_or_else(|| Failure::not_signed_in("there is no current context"))?;
    let raw = serde_json::value::to_raw_value(&shown(config, name, context))
        .map_err(|source| crate::failure::unexpected(&source))?;
    app.printer.object(&raw)
}
