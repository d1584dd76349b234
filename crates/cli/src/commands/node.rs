//! Machines that run things.

use std::time::Duration;

use clap::Subcommand;
use gpuaas_api::Route;
use gpuaas_api::identity::Because;
use gpuaas_api::nodes::{CreatedJoinToken, NewJoinToken, Node, NodeDetail};

use crate::app::App;
use crate::args::{ListLimit, Reason};
use crate::failure::Result;
use crate::session::{Session, parse};
use crate::views::compute::{GPU_TITLES, gpu_cells};
use crate::{terminal, units};

#[derive(Subcommand)]
pub(crate) enum NodeCommand {
    /// Tokens that let machines join
    #[command(subcommand)]
    JoinToken(JoinTokenCommand),
    /// List the nodes
    #[command(after_help = "Examples:\n  gpuaas node list\n  gpuaas node list -o json")]
    List {
        #[command(flatten)]
        limit: ListLimit,
    },
    /// Show one node with its devices and what is on it
    #[command(after_help = "Examples:\n  gpuaas node get gpu-1")]
    Get {
        /// Id or name
        node: String,
    },
    /// Place no new work on a node
    #[command(after_help = "Examples:\n  gpuaas node cordon gpu-1 --reason 'new driver'")]
    Cordon(NodeDeed),
    /// Place work on a node again
    #[command(after_help = "Examples:\n  gpuaas node uncordon gpu-1")]
    Uncordon(NodeDeed),
    /// Cordon a node and stop what runs on it
    #[command(after_help = "Examples:\n  gpuaas node drain gpu-1 --reason maintenance")]
    Drain(NodeDeed),
    /// Void a node's credentials and end its connections at once
    #[command(after_help = "Examples:\n  gpuaas node revoke gpu-1 --reason 'machine stolen' --yes")]
    Revoke(NodeDeed),
    /// Forget a node for good; what was on it ends as failed
    #[command(after_help = "Examples:\n  gpuaas node forget gpu-1 --reason 'machine scrapped' --yes")]
    Forget(NodeDeed),
    /// Sign orders with a new key; nodes accept the old one for a while
    #[command(after_help = "Examples:\n  gpuaas node rotate-task-key")]
    RotateTaskKey,
}

#[derive(Subcommand)]
pub(crate) enum JoinTokenCommand {
    /// Make a token that lets one machine join; it is shown once
    #[command(
        after_help = "Examples:\n  gpuaas node join-token create --name gpu-1\n  gpuaas node join-token create --expires-in 15m -o json"
    )]
    Create {
        /// The name the node will have; the machine chooses unless given
        #[arg(long)]
        name: Option<String>,
        /// How long the token can be used: one hour unless given, one day at most
        #[arg(long, value_name = "SPAN", value_parser = units::duration)]
        expires_in: Option<Duration>,
    },
}

#[derive(clap::Args)]
pub(crate) struct NodeDeed {
    /// Id or name
    node: String,
    #[command(flatten)]
    reason: Reason,
}

pub(crate) async fn run(app: &App, command: NodeCommand) -> Result<()> {
    let session = app.session()?;
    let printer = session.printer();
    match command {
        NodeCommand::JoinToken(JoinTokenCommand::Create { name, expires_in }) => {
            let expires_in_seconds = expires_in.map(|span| i64::try_from(span.as_secs()).unwrap_or(i64::MAX));
            let body = NewJoinToken { name, expires_in_seconds };
            printer.facts::<CreatedJoinToken>(&session.write(Route::JoinTokenCreate, &[], &body).await?)?;
            printer.note("The token is shown now and never again; it lets one machine join.");
            Ok(())
        }
        NodeCommand::List { limit } => {
            printer.list::<Node>(&session.list(Route::NodeList, &[], &(), limit.get()).await?)
        }
        NodeCommand::Get { node } => get(&session, &node).await,
        NodeCommand::Cordon(deed) => act(&session, Route::NodeCordon, deed, "Cordoned").await,
        NodeCommand::Uncordon(deed) => act(&session, Route::NodeUncordon, deed, "Uncordoned").await,
        NodeCommand::Drain(deed) => act(&session, Route::NodeDrain, deed, "Draining").await,
        NodeCommand::Revoke(deed) => {
            terminal::confirm(
                app,
                &format!("Node {} will be cut off at once and has to join again.", deed.node),
            )?;
            act(&session, Route::NodeRevoke, deed, "Revoked").await
        }
        NodeCommand::Forget(NodeDeed { node, reason }) => {
            let id = session.node(&node).await?;
            terminal::confirm(
                app,
                &format!("Node {node} will be forgotten for ever, and what is on it ends as failed."),
            )?;
            printer.object(&session.remove(Route::NodeForget, &[&id], reason.reason.as_deref()).await?)?;
            printer.note(&format!("Forgot node {node}."));
            Ok(())
        }
        NodeCommand::RotateTaskKey => {
            printer.object(&session.write(Route::TaskKeyRotate, &[], &Because::default()).await?)?;
            printer.note("Orders are signed with a new key.");
            Ok(())
        }
    }
}

async fn get(session: &Session<'_>, node: &str) -> Result<()> {
    let id = session.node(node).await?;
    let raw = session.read(Route::NodeGet, &[&id]).await?;
    let printer = session.printer();
    printer.facts::<NodeDetail>(&raw)?;
    if printer.is_json() {
        return Ok(());
    }
    let gpus: Vec<_> = parse::<NodeDetail>(&raw)?.gpus.iter().map(gpu_cells).collect();
    if !gpus.is_empty() {
        printer.text("")?;
        printer.table(GPU_TITLES, &gpus)?;
    }
    Ok(())
}

async fn act(session: &Session<'_>, route: Route, deed: NodeDeed, done: &str) -> Result<()> {
    let id = session.node(&deed.node).await?;
    let raw = session.write(route, &[&id], &Because { reason: deed.reason.reason }).await?;
    session.printer().facts::<Node>(&raw)?;
    session.printer().note(&format!("{done} node {}.", deed.node));
    Ok(())
}
