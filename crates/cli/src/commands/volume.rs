//! Storage that outlives the instances that use it.

use std::time::Duration;

use clap::{Args, Subcommand};
use gpuaas_api::Route;
use gpuaas_api::identity::Because;
use gpuaas_api::volumes::{NewVolume, Volume, VolumeDetail, VolumeQuery, VolumeState};
use gpuaas_domain::ids::{ProjectId, VolumeId};

use crate::app::App;
use crate::args::{ListLimit, ProjectArg, Reason};
use crate::failure::{Exit, Failure, Result};
use crate::json::Raw;
use crate::progress::{self, MayWait, Standing};
use crate::session::{Session, parse};
use crate::views::volumes::{ATTACHMENT_TITLES, attachment_cells};
use crate::{terminal, units};

#[derive(Subcommand)]
pub(crate) enum VolumeCommand {
    /// List a project's volumes
    #[command(
        after_help = "Examples:\n  gpuaas volume list --project lab\n  gpuaas volume list --state lost\n  gpuaas volume list -o json | jq -r '.items[].name'"
    )]
    List {
        #[command(flatten)]
        project: ProjectArg,
        /// Only those in this state; all that are not deleted unless given
        #[arg(long, value_parser = ["ready", "deleting", "deleted", "lost"])]
        state: Option<String>,
        #[command(flatten)]
        limit: ListLimit,
    },
    /// Show one volume with its node and what holds it
    #[command(after_help = "Examples:\n  gpuaas volume get home --project lab")]
    Get(VolumeArg),
    /// Create a volume on the node of an allocation
    #[command(
        after_help = "Examples:\n  gpuaas volume create home --allocation training\n  gpuaas volume create corpus --allocation training --size 200GiB\n  gpuaas instance create jupyter --allocation training --mount workspace=volume:home"
    )]
    Create {
        /// How to call it
        name: String,
        #[command(flatten)]
        project: ProjectArg,
        /// The allocation on whose node it will lie (id or name); the volume outlives it
        #[arg(long)]
        allocation: String,
        /// What it is meant to hold: MiB, or an amount such as 200GiB. Nothing enforces it
        #[arg(long, value_name = "MIB", value_parser = units::memory_mib)]
        size: Option<u32>,
    },
    /// Delete a volume with everything in it; refused while an instance holds it
    #[command(after_help = "Examples:\n  gpuaas volume delete home --wait --yes")]
    Delete {
        #[command(flatten)]
        volume: VolumeArg,
        #[command(flatten)]
        reason: Reason,
        #[command(flatten)]
        wait: MayWait,
    },
}

#[derive(Args)]
pub(crate) struct VolumeArg {
    /// Id or name
    volume: String,
    #[command(flatten)]
    project: ProjectArg,
}

impl VolumeArg {
    async fn resolve(&self, session: &Session<'_>) -> Result<(ProjectId, VolumeId)> {
        let project = session.project_or_default(self.project.project.as_deref()).await?;
        Ok((project, session.volume(project, &self.volume).await?))
    }
}

pub(crate) async fn run(app: &App, command: VolumeCommand) -> Result<()> {
    let session = app.session()?;
    let printer = session.printer();
    match command {
        VolumeCommand::List { project, state, limit } => {
            let project = session.project_or_default(project.project.as_deref()).await?;
            let query = VolumeQuery {
                state: state.as_deref().and_then(VolumeState::parse),
                ..VolumeQuery::default()
            };
            let list = session.list(Route::VolumeList, &[&project], &query, limit.get()).await?;
            printer.list::<Volume>(&list)
        }
        VolumeCommand::Get(volume) => {
            let (project, id) = volume.resolve(&session).await?;
            show_detail(&session, &session.read(Route::VolumeGet, &[&project, &id]).await?)
        }
        VolumeCommand::Create { name, project, allocation, size } => {
            let project = session.project_or_default(project.project.as_deref()).await?;
            let allocation_id = session.allocation(project, &allocation).await?;
            let body = NewVolume { name: name.clone(), allocation_id, size_mib: size.map(i64::from) };
            let raw = session.write(Route::VolumeCreate, &[&project], &body).await?;
            printer.facts::<Volume>(&raw)?;
            printer.note(&format!(
                "Mount it with: gpuaas instance create APP --allocation {allocation} --mount PLACE=volume:{name}"
            ));
            Ok(())
        }
        VolumeCommand::Delete { volume, reason, wait } => {
            let (project, id) = volume.resolve(&session).await?;
            let name = &volume.volume;
            terminal::confirm(app, &format!("Volume {name} will be deleted with everything in it."))?;
            let because = Because { reason: reason.reason };
            let raw = session.write(Route::VolumeDelete, &[&project, &id], &because).await?;
            if wait.wait {
                return wait_deleted(&session, project, id, wait.timeout).await;
            }
            printer.facts::<Volume>(&raw)?;
            printer.note(&deleted(&parse(&raw)?));
            Ok(())
        }
    }
}

fn deleted(volume: &Volume) -> String {
    match volume.state {
        VolumeState::Deleted => format!("Volume {} is deleted.", volume.name),
        VolumeState::Ready | VolumeState::Deleting | VolumeState::Lost => {
            format!("Volume {} is deleted once its node has removed the bytes.", volume.name)
        }
    }
}

fn show_detail(session: &Session<'_>, raw: &Raw) -> Result<()> {
    let printer = session.printer();
    printer.facts::<VolumeDetail>(raw)?;
    if printer.is_json() {
        return Ok(());
    }
    let held: Vec<_> = parse::<VolumeDetail>(raw)?.attachments.iter().map(attachment_cells).collect();
    if held.is_empty() {
        return Ok(());
    }
    printer.text("")?;
    printer.table(ATTACHMENT_TITLES, &held)
}

async fn wait_deleted(
    session: &Session<'_>,
    project: ProjectId,
    id: VolumeId,
    timeout: Duration,
) -> Result<()> {
    let look = async || {
        let raw = session.read(Route::VolumeGet, &[&project, &id]).await?;
        let detail: VolumeDetail = parse(&raw)?;
        Ok((raw, detail))
    };
    let tell = |(_, detail): &(Raw, VolumeDetail)| {
        let volume = &detail.volume;
        let why = match (&volume.problem, detail.node_connected) {
            (Some(problem), _) => format!(", waits: {problem}"),
            (None, false) => ", waits for its node".to_owned(),
            (None, true) => String::new(),
        };
        (format!("{}: {}{why}", volume.name, volume.state.name()), standing(volume))
    };
    let how = session.again(&format!("gpuaas volume get {id}"));
    let ((raw, _), verdict) = progress::follow(session.printer(), timeout, &how, look, tell).await?;
    show_detail(session, &raw)?;
    verdict
}

fn standing(volume: &Volume) -> Standing {
    match volume.state {
        VolumeState::Deleted => Standing::Reached,
        VolumeState::Ready | VolumeState::Deleting => Standing::Going,
        VolumeState::Lost => Standing::Over(Failure::new(
            Exit::No,
            "volume_lost",
            format!("volume {} was lost with its node; nobody can say that its bytes are gone", volume.name),
        )),
    }
}
