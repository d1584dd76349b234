//! The audit trail: reading it, and checking that nobody has touched it.

use clap::{Subcommand, ValueEnum};
use gpuaas_api::Route;
use gpuaas_api::observe::{AuditEntry, AuditQuery};

use super::place::{PlaceArgs, Siblings};
use super::verify::{self, Head};
use crate::app::App;
use crate::failure::Result;

const DEFAULT_ROWS: u32 = 50;

#[derive(Subcommand)]
pub(crate) enum AuditCommand {
    /// List audit rows
    #[command(
        after_help = "Examples:\n  gpuaas audit list --project lab\n  gpuaas audit list --platform --action auth.login --limit 20\n  gpuaas audit list --correlation-id 6f1c… -o json --all"
    )]
    List {
        #[command(flatten)]
        place: PlaceArgs,
        /// Only rows of this actor: a user's or service account's id
        #[arg(long, value_name = "ID")]
        actor: Option<String>,
        /// Only rows with exactly this action, such as tenants.create
        #[arg(long)]
        action: Option<String>,
        /// Only rows about this object
        #[arg(long, value_name = "ID")]
        object: Option<String>,
        /// At most this many rows
        #[arg(long, value_name = "N", default_value_t = DEFAULT_ROWS, value_parser = clap::value_parser!(u32).range(1..))]
        limit: u32,
        /// Every row that matches
        #[arg(long, conflicts_with = "limit")]
        all: bool,
    },
    /// Check the hash chains from their first row to their last
    ///
    /// Prints the head of each chain. Keep it somewhere else and pass it with --expect-head next time: a chain alone
    /// cannot show that its end was cut off.
    #[command(
        after_help = "Examples:\n  gpuaas audit verify\n  gpuaas audit verify --stream all -o json\n  gpuaas audit verify --expect-head 4711:9f2c…"
    )]
    Verify {
        /// Which chain
        #[arg(long, value_enum, default_value_t)]
        stream: Streams,
        /// The head an earlier check printed
        #[arg(long, value_name = "SEQ:HASH")]
        expect_head: Option<Head>,
    },
}

#[derive(Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Streams {
    #[default]
    Audit,
    Events,
    All,
}

const LISTS: Siblings = Siblings {
    platform: Route::PlatformAuditList,
    tenant: Route::TenantAuditList,
    project: Route::ProjectAuditList,
};

pub(crate) async fn run(app: &App, command: AuditCommand) -> Result<()> {
    let session = app.session()?;
    match command {
        AuditCommand::List { place, actor, action, object, limit, all } => {
            let place = place.resolve(&session).await?;
            let query = AuditQuery {
                actor_id: actor,
                action,
                object_id: object,
                // The flag is global: here it asks for a story instead of naming this command's own.
                correlation_id: app.globals.correlation_id.clone(),
                ..AuditQuery::default()
            };
            let limit = (!all).then_some(limit as usize);
            let list = session.list(place.route(&LISTS), &place.parameters(&[]), &query, limit).await?;
            session.printer().list::<AuditEntry>(&list)?;
            if list.next_cursor.is_some() {
                session.printer().note("There are more rows: use --limit N or --all.");
            }
            Ok(())
        }
        AuditCommand::Verify { stream, expect_head } => verify::run(&session, stream, expect_head).await,
    }
}
