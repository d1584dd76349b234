//! Compute that a project holds.

use std::fmt::Display;
use std::time::Duration;

use clap::{Args, Subcommand};
use gpuaas_api::allocations::{
    Allocation, AllocationDetail, AllocationQuery, AllocationState, GrantAllocation, NewAllocation, SkuView,
};
use gpuaas_api::identity::Because;
use gpuaas_api::{List, Route};
use gpuaas_domain::ids::{AllocationId, ProjectId};

use crate::app::App;
use crate::args::{ListLimit, ProjectArg, Reason};
use crate::failure::{Exit, Failure, Result};
use crate::json::Raw;
use crate::progress::{self, MayWait, Standing};
use crate::session::{Session, parse};
use crate::terminal;
use crate::views::compute::{
    ALLOCATION_TITLES, GPU_TITLES, NO_ALLOCATIONS, SkuNames, allocation_cells, gpu_cells,
};

#[derive(Subcommand)]
pub(crate) enum AllocationCommand {
    /// List a project's allocations, or those of all projects
    #[command(
        after_help = "Examples:\n  gpuaas allocation list --project lab\n  gpuaas allocation list --all --state requested"
    )]
    List {
        #[command(flatten)]
        place: WhereArgs,
        /// Only those in this state
        #[arg(long, value_parser = ["requested", "active", "releasing", "released"])]
        state: Option<String>,
        #[command(flatten)]
        limit: ListLimit,
    },
    /// Show one allocation with its devices and what is free of it
    #[command(after_help = "Examples:\n  gpuaas allocation get gpu-1 --project lab")]
    Get(AllocationArg),
    /// Ask for an allocation by SKU
    #[command(
        after_help = "Examples:\n  gpuaas allocation request --sku gpu-1 --name training --note 'thesis' --wait"
    )]
    Request {
        #[command(flatten)]
        project: ProjectArg,
        /// The SKU's slug or id
        #[arg(long)]
        sku: String,
        /// How to call it; made from the SKU unless given
        #[arg(long)]
        name: Option<String>,
        /// Why it is needed, for whoever grants it
        #[arg(long, value_name = "TEXT")]
        note: Option<String>,
        #[command(flatten)]
        wait: MayWait,
    },
    /// Grant a request of any project
    #[command(after_help = "Examples:\n  gpuaas allocation grant training --node gpu-1")]
    Grant {
        /// Id or name
        allocation: String,
        /// On this node (id or name); the platform chooses unless given
        #[arg(long)]
        node: Option<String>,
    },
    /// Turn a request of any project down
    #[command(after_help = "Examples:\n  gpuaas allocation deny training --reason 'no budget'")]
    Deny {
        /// Id or name
        allocation: String,
        /// Why, for whoever asked
        #[arg(long, value_name = "TEXT")]
        reason: String,
    },
    /// Give an allocation back; what runs on it is ended first
    #[command(after_help = "Examples:\n  gpuaas allocation release training --wait --yes")]
    Release {
        #[command(flatten)]
        allocation: AllocationArg,
        #[command(flatten)]
        reason: Reason,
        #[command(flatten)]
        wait: MayWait,
    },
}

#[derive(Args)]
#[group(multiple = false)]
pub(crate) struct WhereArgs {
    /// The project (id or slug); the context's default unless given
    #[arg(long)]
    project: Option<String>,
    /// Those of all projects
    #[arg(long)]
    all: bool,
}

#[derive(Args)]
pub(crate) struct AllocationArg {
    /// Id or name
    allocation: String,
    #[command(flatten)]
    project: ProjectArg,
}

impl AllocationArg {
    async fn resolve(&self, session: &Session<'_>) -> Result<(ProjectId, AllocationId)> {
        let project = session.project_or_default(self.project.project.as_deref()).await?;
        Ok((project, session.allocation(project, &self.allocation).await?))
    }
}

pub(crate) async fn run(app: &App, command: AllocationCommand) -> Result<()> {
    let session = app.session()?;
    let printer = session.printer();
    match command {
        AllocationCommand::List { place, state, limit } => {
            let query = AllocationQuery {
                state: state.as_deref().and_then(AllocationState::parse),
                ..AllocationQuery::default()
            };
            let list = if place.all {
                session.list(Route::AllocationListAll, &[], &query, limit.get()).await?
            } else {
                let project = session.project_or_default(place.project.as_deref()).await?;
                session.list(Route::AllocationList, &[&project], &query, limit.get()).await?
            };
            show_list(&session, &list).await
        }
        AllocationCommand::Get(allocation) => {
            let (project, id) = allocation.resolve(&session).await?;
            show_detail(&session, &session.read(Route::AllocationGet, &[&project, &id]).await?)
        }
        AllocationCommand::Request { project, sku, name, note, wait } => {
            let project = session.project_or_default(project.project.as_deref()).await?;
            let sku = session.sku(&sku).await?.to_string();
            let body = NewAllocation { sku, name, note };
            let raw = session.write(Route::AllocationRequest, &[&project], &body).await?;
            let made: Allocation = parse(&raw)?;
            if wait.wait {
                return wait_for(&session, &made, AllocationState::Active, wait.timeout).await;
            }
            printer.facts::<Allocation>(&raw)?;
            printer.note(&asked(&made));
            Ok(())
        }
        AllocationCommand::Grant { allocation, node } => {
            let id = session.requested_allocation(&allocation).await?;
            let node_id = match &node {
                Some(node) => Some(session.node(node).await?),
                None => None,
            };
            decide(&session, Route::AllocationGrant, &id, &GrantAllocation { node_id }, "Granted").await
        }
        AllocationCommand::Deny { allocation, reason } => {
            let id = session.requested_allocation(&allocation).await?;
            decide(&session, Route::AllocationDeny, &id, &Because { reason: Some(reason) }, "Turned down")
                .await
        }
        AllocationCommand::Release { allocation, reason, wait } => {
            let (project, id) = allocation.resolve(&session).await?;
            let name = &allocation.allocation;
            terminal::confirm(
                app,
                &format!("Allocation {name} will be given back, and everything on it ends for good."),
            )?;
            let because = Because { reason: reason.reason };
            let raw = session.write(Route::AllocationRelease, &[&project, &id], &because).await?;
            if wait.wait {
                return wait_for(&session, &parse(&raw)?, AllocationState::Released, wait.timeout).await;
            }
            printer.facts::<Allocation>(&raw)?;
            printer.note(&format!("Allocation {name} is being released."));
            Ok(())
        }
    }
}

fn asked(made: &Allocation) -> String {
    match made.state {
        AllocationState::Active => {
            format!("Granted. Launch on it with: gpuaas instance create APP --allocation {}", made.name)
        }
        AllocationState::Requested => format!(
            "Asked for {}; an operator grants it with: gpuaas allocation grant {}",
            made.name, made.id
        ),
        AllocationState::Releasing | AllocationState::Released => format!("It is {}.", made.state.name()),
    }
}

/// SKUs are shown by slug where they can be had; a list without them is still a list.
async fn show_list(session: &Session<'_>, list: &List<Raw>) -> Result<()> {
    if session.printer().is_json() {
        return session.printer().value(list);
    }
    let items: Vec<Allocation> = list.items.iter().map(parse).collect::<Result<_>>()?;
    let skus: Vec<SkuView> = if items.is_empty() {
        Vec::new()
    } else {
        session.list_all(Route::SkuList, &[]).await.unwrap_or_default()
    };
    let names: SkuNames = skus.into_iter().map(|view| (view.sku.id, view.sku.slug)).collect();
    let rows: Vec<_> = items.iter().map(|item| allocation_cells(item, &names)).collect();
    session.printer().rows(ALLOCATION_TITLES, NO_ALLOCATIONS, &rows)
}

fn show_detail(session: &Session<'_>, raw: &Raw) -> Result<()> {
    let printer = session.printer();
    printer.facts::<AllocationDetail>(raw)?;
    if printer.is_json() {
        return Ok(());
    }
    let gpus: Vec<_> = parse::<AllocationDetail>(raw)?.gpus.iter().map(gpu_cells).collect();
    if gpus.is_empty() {
        return Ok(());
    }
    printer.text("")?;
    printer.table(GPU_TITLES, &gpus)
}

async fn decide<B: serde::Serialize>(
    session: &Session<'_>,
    route: Route,
    id: &dyn Display,
    body: &B,
    done: &str,
) -> Result<()> {
    let raw = session.write(route, &[id], body).await?;
    session.printer().facts::<Allocation>(&raw)?;
    session.printer().note(&format!("{done}."));
    Ok(())
}

async fn wait_for(
    session: &Session<'_>,
    made: &Allocation,
    goal: AllocationState,
    timeout: Duration,
) -> Result<()> {
    let (project, id) = (made.project_id, made.id);
    let look = async || {
        let raw = session.read(Route::AllocationGet, &[&project, &id]).await?;
        let detail: AllocationDetail = parse(&raw)?;
        Ok((raw, detail))
    };
    let tell = |(_, detail): &(Raw, AllocationDetail)| {
        let text = format!("{}: {}", detail.allocation.name, detail.allocation.state.name());
        (text, standing(&detail.allocation, goal))
    };
    let how = session.again(&format!("gpuaas allocation get {id}"));
    let ((raw, _), verdict) = progress::follow(session.printer(), timeout, &how, look, tell).await?;
    show_detail(session, &raw)?;
    verdict
}

fn standing(allocation: &Allocation, goal: AllocationState) -> Standing {
    if allocation.state == goal {
        return Standing::Reached;
    }
    match allocation.state {
        AllocationState::Requested | AllocationState::Active => Standing::Going,
        AllocationState::Releasing if goal == AllocationState::Released => Standing::Going,
        AllocationState::Releasing | AllocationState::Released => {
            let why = allocation.note.as_ref().map_or_else(String::new, |note| format!(": {note}"));
            Standing::Over(Failure::new(
                Exit::No,
                "not_granted",
                format!("allocation {} was not granted, or has been given back{why}", allocation.name),
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_request_ends_granted_or_turned_down() {
        use AllocationState as S;

        let id = "01900000-0000-7000-8000-000000000001";
        let at = |state: &str| -> Allocation {
            serde_json::from_value(json!({"id": id, "tenant_id": id, "project_id": id, "name": "a", "sku_id": id,
                "node_id": null, "state": state, "shape": "gpu_slice", "gpu_count": 1, "vcpu": 1, "memory_mib": 64,
                "requested_by_kind": "user", "requested_by_id": id, "note": "no budget",
                "requested_at": "2026-01-01T00:00:00Z", "active_at": null, "releasing_at": null,
                "released_at": null, "version": 1, "updated_at": "2026-01-01T00:00:00Z"}))
            .unwrap()
        };
        assert!(matches!(standing(&at("requested"), S::Active), Standing::Going));
        assert!(matches!(standing(&at("active"), S::Active), Standing::Reached));
        let Standing::Over(failure) = standing(&at("released"), S::Active) else {
            panic!("it was turned down")
        };
        assert_eq!(failure.exit_code(), 1);
        assert!(failure.body().unwrap().error.message.ends_with(": no budget"));
        assert!(matches!(standing(&at("active"), S::Released), Standing::Going));
        assert!(matches!(standing(&at("releasing"), S::Released), Standing::Going));
        assert!(matches!(standing(&at("released"), S::Released), Standing::Reached));
    }
}
