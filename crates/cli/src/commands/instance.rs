//! Apps that run.

use clap::{Args, Subcommand};
use gpuaas_api::Route;
use gpuaas_api::instances::{Instance, InstanceQuery};
use gpuaas_domain::ids::{InstanceId, ProjectId};
use gpuaas_domain::lifecycle::Status;

use super::forward::{self, ForwardArgs};
use crate::app::App;
use crate::args::{ListLimit, ProjectArg, Reason};
use crate::failure::{Failure, Result};
use crate::progress::WaitArgs;
use crate::resolve;
use crate::session::Session;
use crate::units::Since;

pub(crate) mod launch;
mod life;
mod show;
mod watch;

#[derive(Subcommand)]
pub(crate) enum InstanceCommand {
    /// Show what a launch would do, and change nothing
    #[command(
        after_help = "Examples:\n  gpuaas instance plan jupyter --allocation training\n  gpuaas instance plan jupyter --allocation training -o json | jq -r .plan_digest"
    )]
    Plan(launch::LaunchArgs),
    /// Launch an app onto an allocation
    #[command(
        after_help = "Examples:\n  gpuaas instance create jupyter --allocation training\n  gpuaas instance create vllm --allocation training --gpus 1 --cpu 1.5 --memory 8GiB --set model=llama-3 --no-wait\n  gpuaas instance create jupyter --allocation training --plan-digest sha256:…\n  gpuaas instance create jupyter --allocation training --mount workspace=volume:home"
    )]
    Create {
        #[command(flatten)]
        launch: launch::LaunchArgs,
        #[command(flatten)]
        wait: WaitArgs,
    },
    /// List a project's instances
    #[command(
        after_help = "Examples:\n  gpuaas instance list --project lab\n  gpuaas instance list --status failed\n  gpuaas instance list --app jupyter --all"
    )]
    List {
        #[command(flatten)]
        project: ProjectArg,
        /// Only those with this status
        #[arg(long, value_parser = ["created", "starting", "running", "stopping", "stopped", "failed"])]
        status: Option<String>,
        /// Only those of this app (slug)
        #[arg(long)]
        app: Option<String>,
        /// Only those on this allocation (id or name)
        #[arg(long)]
        allocation: Option<String>,
        /// Decommissioned ones too
        #[arg(long)]
        all: bool,
        #[command(flatten)]
        limit: ListLimit,
    },
    /// Show one instance with its components, ports and recent events
    #[command(after_help = "Examples:\n  gpuaas instance get jupyter --project lab")]
    Get(InstanceArg),
    /// Print what an instance wrote
    ///
    /// Characters that could drive the terminal are spelled out. With `-o json` each line is one JSON text.
    #[command(
        after_help = "Examples:\n  gpuaas instance logs jupyter --tail 100 -f\n  gpuaas instance logs jupyter --since 10m --component web"
    )]
    Logs {
        #[command(flatten)]
        instance: InstanceArg,
        /// Go on with what comes, until interrupted
        #[arg(short, long)]
        follow: bool,
        /// Only the last so many lines of each component
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=100_000))]
        tail: Option<u32>,
        /// Only what was written since then: a span such as 10m, or a moment (RFC 3339)
        #[arg(long, value_name = "TIME", value_parser = Since::parse)]
        since: Option<Since>,
        /// Only this component
        #[arg(long)]
        component: Option<String>,
    },
    /// Print an instance's timeline, oldest first
    #[command(
        after_help = "Examples:\n  gpuaas instance events jupyter\n  gpuaas instance events jupyter -f -o json"
    )]
    Events {
        #[command(flatten)]
        instance: InstanceArg,
        /// Go on with what comes, until interrupted
        #[arg(short, long)]
        follow: bool,
    },
    /// Show what an instance uses right now
    #[command(after_help = "Examples:\n  gpuaas instance stats jupyter --watch")]
    Stats {
        #[command(flatten)]
        instance: InstanceArg,
        /// Again and again, until interrupted
        #[arg(long)]
        watch: bool,
    },
    /// Stop an instance; it can be started again
    #[command(after_help = "Examples:\n  gpuaas instance stop jupyter --reason 'over night'")]
    Stop {
        #[command(flatten)]
        instance: InstanceArg,
        #[command(flatten)]
        reason: Reason,
        #[command(flatten)]
        wait: WaitArgs,
    },
    /// Start a stopped or failed instance
    #[command(after_help = "Examples:\n  gpuaas instance start jupyter")]
    Start {
        #[command(flatten)]
        instance: InstanceArg,
        #[command(flatten)]
        wait: WaitArgs,
    },
    /// End an instance for good, with a receipt
    #[command(
        after_help = "Examples:\n  gpuaas instance decommission jupyter --yes\n  gpuaas instance decommission jupyter --force --reason 'the node burnt down' --yes"
    )]
    Decommission {
        #[command(flatten)]
        instance: InstanceArg,
        #[command(flatten)]
        reason: Reason,
        /// Without asking its node, which is gone; the receipt is then not attested
        #[arg(long, requires = "reason")]
        force: bool,
        #[command(flatten)]
        wait: WaitArgs,
    },
    /// Show the proof that nothing is left of an instance
    #[command(
        after_help = "Examples:\n  gpuaas instance receipt jupyter\n  gpuaas instance receipt ID -o json"
    )]
    Receipt(InstanceArg),
    /// Reach a port of an instance from this machine
    #[command(
        after_help = "Examples:\n  gpuaas instance forward jupyter\n  gpuaas instance forward jupyter --port 8888 --local-port 8888"
    )]
    Forward(ForwardArgs),
}

#[derive(Args)]
pub(crate) struct InstanceArg {
    /// Id or name
    pub(crate) instance: String,
    #[command(flatten)]
    pub(crate) project: ProjectArg,
}

impl InstanceArg {
    pub(crate) async fn resolve(&self, session: &Session<'_>) -> Result<(ProjectId, InstanceId)> {
        let project = session.project_or_default(self.project.project.as_deref()).await?;
        Ok((project, session.instance(project, &self.instance).await?))
    }
}

pub(crate) async fn run(app: &App, command: InstanceCommand) -> Result<()> {
    let session = &app.session()?;
    match command {
        InstanceCommand::Plan(launch) => launch::plan(session, launch).await,
        InstanceCommand::Create { launch, wait } => launch::create(session, launch, &wait).await,
        InstanceCommand::List { project, status, app, allocation, all, limit } => {
            let project = session.project_or_default(project.project.as_deref()).await?;
            let allocation = match &allocation {
                Some(allocation) => Some(session.allocation(project, allocation).await?),
                None => None,
            };
            let query = InstanceQuery {
                status: status.as_deref().map(parse_status).transpose()?,
                app: app.map(|app| resolve::slug("app", &app)).transpose()?.map(String::from),
                allocation,
                ended: all.then_some(true),
                ..InstanceQuery::default()
            };
            let list = session.list(Route::InstanceList, &[&project], &query, limit.get()).await?;
            session.printer().list::<Instance>(&list)
        }
        InstanceCommand::Get(instance) => show::get(session, &instance).await,
        InstanceCommand::Logs { instance, follow, tail, since, component } => {
            watch::logs(session, &instance, watch::LogWish { follow, tail, since, component }).await
        }
        InstanceCommand::Events { instance, follow } => watch::events(session, &instance, follow).await,
        InstanceCommand::Stats { instance, watch } => watch::stats(session, &instance, watch).await,
        InstanceCommand::Stop { instance, reason, wait } => {
            life::stop(session, &instance, reason.reason, &wait).await
        }
        InstanceCommand::Start { instance, wait } => life::start(session, &instance, &wait).await,
        InstanceCommand::Decommission { instance, reason, force, wait } => {
            life::decommission(session, &instance, reason.reason, force, &wait).await
        }
        InstanceCommand::Receipt(instance) => show::receipt(session, &instance).await,
        InstanceCommand::Forward(args) => forward::run(session, &args).await,
    }
}

fn parse_status(name: &str) -> Result<Status> {
    Status::parse(name).ok_or_else(|| Failure::usage("there is no such status"))
}
