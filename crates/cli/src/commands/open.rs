//! Opening an app in the browser, and the tokens that open it for programs.

use std::process::{Command as Process, Stdio};

use clap::{Args, Subcommand};
use gpuaas_api::Route;
use gpuaas_api::access::{EndpointToken, NewEndpointToken, OpenRequest, OpenedEndpoint, PublicAccessChange};
use gpuaas_api::instances::{EndpointView, InstanceDetail};
use gpuaas_domain::access::PublicAccess;
use gpuaas_domain::ids::{EndpointTokenId, InstanceId, ProjectId};
use gpuaas_domain::lifecycle::Status;

use super::instance::InstanceArg;
use super::place::parse_id;
use crate::app::App;
use crate::failure::{Exit, Failure, Result};
use crate::session::{Session, parse};
use crate::terminal;

#[derive(Args)]
pub(crate) struct OpenArgs {
    #[command(flatten)]
    instance: InstanceArg,
    /// Which endpoint; the app's page unless given
    #[arg(long, value_name = "NAME")]
    endpoint: Option<String>,
    /// The page inside the app, as in /lab
    #[arg(long, value_name = "PATH")]
    path: Option<String>,
    /// Only print the address; it is good once and for a minute
    #[arg(long)]
    print: bool,
}

#[derive(Subcommand)]
pub(crate) enum EndpointCommand {
    /// Make a token that opens one endpoint for a program; it is shown once
    #[command(
        name = "token-create",
        after_help = "Examples:\n  TOKEN=$(gpuaas endpoint token-create vllm ci -o json | jq -r .token)\n  curl -H \"Authorization: Bearer $TOKEN\" https://LABEL.apps.gpu.example.org/v1/models"
    )]
    TokenCreate {
        #[command(flatten)]
        instance: InstanceArg,
        /// What it is for
        name: String,
        /// Which endpoint; the first that the gateway serves unless given
        #[arg(long, value_name = "NAME")]
        endpoint: Option<String>,
        /// How long it lives: 30 days unless given, 90 days at most
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(i64).range(60..=7_776_000))]
        ttl_seconds: Option<i64>,
    },
    /// List the tokens of an endpoint
    #[command(name = "token-list", after_help = "Examples:\n  gpuaas endpoint token-list vllm")]
    TokenList {
        #[command(flatten)]
        instance: InstanceArg,
        /// Which endpoint; the first that the gateway serves unless given
        #[arg(long, value_name = "NAME")]
        endpoint: Option<String>,
    },
    /// End a token; what it has open closes within seconds
    #[command(
        name = "token-revoke",
        after_help = "Examples:\n  gpuaas endpoint token-revoke vllm TOKEN_ID --yes"
    )]
    TokenRevoke {
        #[command(flatten)]
        instance: InstanceArg,
        /// The token's id, as `token-list` shows it
        token: String,
        /// Which endpoint; the first that the gateway serves unless given
        #[arg(long, value_name = "NAME")]
        endpoint: Option<String>,
    },
    /// Say who besides people with access comes in at a public endpoint
    #[command(
        after_help = "Examples:\n  gpuaas endpoint expose demo api_key\n  gpuaas endpoint expose demo off"
    )]
    Expose {
        #[command(flatten)]
        instance: InstanceArg,
        /// off, api_key or open
        #[arg(value_parser = public_access)]
        access: PublicAccess,
        /// Which endpoint; the first that the gateway serves unless given
        #[arg(long, value_name = "NAME")]
        endpoint: Option<String>,
    },
}

fn public_access(text: &str) -> std::result::Result<PublicAccess, String> {
    PublicAccess::parse(text).ok_or_else(|| "use off, api_key or open".to_owned())
}

/// The endpoint asked for, else the app's page, else the first that the gateway serves.
async fn find(
    session: &Session<'_>,
    instance: &InstanceArg,
    endpoint: Option<&str>,
) -> Result<(ProjectId, InstanceId, EndpointView, Status)> {
    let (project, id) = instance.resolve(session).await?;
    let detail: InstanceDetail = parse(&session.read(Route::InstanceGet, &[&project, &id]).await?)?;
    let (name, status) = (detail.instance.name.clone(), detail.instance.status);
    let mut served: Vec<EndpointView> =
        detail.access.endpoints.into_iter().filter(|one| one.endpoint.mode.is_proxied()).collect();
    served.sort_by_key(|one| one.endpoint.expose != "embedded_ui_gateway");
    let found = match endpoint {
        Some(wanted) => served.into_iter().find(|one| one.endpoint.name == wanted),
        None => served.into_iter().next(),
    };
    let Some(found) = found else {
        return Err(Failure::new(
            Exit::NotFound,
            "no_such_endpoint",
            format!("{name} has no such endpoint at the gateway"),
        )
        .fix(format!(
            "gpuaas instance get {name} lists its endpoints; private ones: gpuaas port-forward {name}"
        )));
    };
    Ok((project, id, found, status))
}

pub(crate) async fn open(session: &Session<'_>, args: &OpenArgs) -> Result<()> {
    let (project, id, endpoint, status) = find(session, &args.instance, args.endpoint.as_deref()).await?;
    let next = args.path.clone().unwrap_or_else(|| endpoint.path.clone());
    let request = OpenRequest { next: Some(next) };
    let raw = session.write(Route::EndpointOpen, &[&project, &id, &endpoint.endpoint.name], &request).await?;
    let opened: OpenedEndpoint = parse(&raw)?;
    let printer = session.printer();
    if status != Status::Running {
        let name = &args.instance.instance;
        printer.note(&format!(
            "{name} is {}: the address shows a page that says so, and the app once it runs (gpuaas instance start {name}).",
            status.name()
        ));
    }
    let Some(url) = opened.url else { return printer.object(&raw) };
    if printer.is_json() {
        return printer.object(&raw);
    }
    if args.print || !show(&url) {
        printer.line(&url)?;
        printer.note("Open this address in a browser within a minute; it is good once.");
        return Ok(());
    }
    printer.note(&format!("Opened {} in your browser.", endpoint.url.unwrap_or_default()));
    Ok(())
}

/// Asks the desktop to show it; there may be none. The address is an argument, never a command line.
fn show(url: &str) -> bool {
    if !url.starts_with("http://") && !url.starts_with("https://") {
        return false;
    }
    let opener = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let shown = Process::new(opener)
        .arg(url)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    shown.is_ok_and(|status| status.success())
}

pub(crate) async fn run(app: &App, command: EndpointCommand) -> Result<()> {
    let session = app.session()?;
    let printer = session.printer();
    match command {
        EndpointCommand::TokenCreate { instance, name, endpoint, ttl_seconds } => {
            let (project, id, found, _) = find(&session, &instance, endpoint.as_deref()).await?;
            let body = NewEndpointToken { name, ttl_seconds };
            let raw = session
                .write(Route::EndpointTokenCreate, &[&project, &id, &found.endpoint.name], &body)
                .await?;
            printer.object(&raw)?;
            printer.note(&format!(
                "The token is shown now and never again. It opens {} with: Authorization: Bearer TOKEN",
                found.url.unwrap_or_default()
            ));
            Ok(())
        }
        EndpointCommand::TokenList { instance, endpoint } => {
            let (project, id, found, _) = find(&session, &instance, endpoint.as_deref()).await?;
            let list = session
                .list(Route::EndpointTokenList, &[&project, &id, &found.endpoint.name], &(), None)
                .await?;
            printer.list::<EndpointToken>(&list)
        }
        EndpointCommand::TokenRevoke { instance, token, endpoint } => {
            let token: EndpointTokenId = parse_id(&token, "token")?;
            let (project, id, found, _) = find(&session, &instance, endpoint.as_deref()).await?;
            terminal::confirm(app, &format!("Token {token} will stop working at once."))?;
            let name = &found.endpoint.name;
            let raw =
                session.remove(Route::EndpointTokenRevoke, &[&project, &id, name, &token], None).await?;
            printer.object(&raw)?;
            printer.note(&format!("Revoked token {token}."));
            Ok(())
        }
        EndpointCommand::Expose { instance, access, endpoint } => {
            let (project, id, found, _) = find(&session, &instance, endpoint.as_deref()).await?;
            if access == PublicAccess::Open {
                terminal::confirm(app, "Everybody who knows the address will reach the app.")?;
            }
            let body = PublicAccessChange { public_access: access };
            let raw = session
                .write(Route::EndpointPublicSet, &[&project, &id, &found.endpoint.name], &body)
                .await?;
            printer.object(&raw)
        }
    }
}
