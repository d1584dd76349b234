//! Events: what happened, and what happens now.

use std::pin::pin;

use clap::Subcommand;
use futures_util::StreamExt as _;
use gpuaas_api::Route;
use gpuaas_api::observe::{Event, EventQuery};

use super::place::{PlaceArgs, Siblings};
use crate::app::App;
use crate::failure::Result;
use crate::views::Row as _;

#[derive(Subcommand)]
pub(crate) enum EventCommand {
    /// List events, oldest first
    #[command(
        after_help = "Examples:\n  gpuaas event list --project lab\n  gpuaas event list --platform --after 4711 --all -o json"
    )]
    List {
        #[command(flatten)]
        place: PlaceArgs,
        /// Only events after this sequence number
        #[arg(long, value_name = "SEQ", value_parser = clap::value_parser!(i64).range(0..))]
        after: Option<i64>,
        /// At most this many events
        #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..))]
        limit: u32,
        /// Every event
        #[arg(long, conflicts_with = "limit")]
        all: bool,
    },
    /// Print events as they happen, until interrupted
    ///
    /// Comes back by itself after an interruption, without gap. With `-o json` each event is one line.
    #[command(
        after_help = "Examples:\n  gpuaas event follow --project lab\n  gpuaas event follow --platform --after 0 -o json | jq .type"
    )]
    Follow {
        #[command(flatten)]
        place: PlaceArgs,
        /// Start after this sequence number; only new events unless given
        #[arg(long, value_name = "SEQ", value_parser = clap::value_parser!(i64).range(0..))]
        after: Option<i64>,
    },
}

const LISTS: Siblings = Siblings {
    platform: Route::PlatformEventList,
    tenant: Route::TenantEventList,
    project: Route::ProjectEventList,
};
const STREAMS: Siblings = Siblings {
    platform: Route::PlatformEventStream,
    tenant: Route::TenantEventStream,
    project: Route::ProjectEventStream,
};

pub(crate) async fn run(app: &App, command: EventCommand) -> Result<()> {
    let session = app.session()?;
    let printer = session.printer();
    match command {
        EventCommand::List { place, after, limit, all } => {
            let place = place.resolve(&session).await?;
            let query = EventQuery { after, ..EventQuery::default() };
            let limit = (!all).then_some(limit as usize);
            let list = session.list(place.route(&LISTS), &place.parameters(&[]), &query, limit).await?;
            printer.list::<Event>(&list)?;
            if list.next_cursor.is_some() {
                printer.note("There are more events: use --limit N, --after SEQ or --all.");
            }
            Ok(())
        }
        EventCommand::Follow { place, after } => {
            let place = place.resolve(&session).await?;
            let mut events =
                pin!(session.client.follow_events(place.route(&STREAMS), &place.parameters(&[]), after));
            printer.note("Waiting for events; interrupt to stop.");
            while let Some(event) = events.next().await {
                let event = event?;
                if printer.is_json() {
                    printer.json_line(&event)?;
                } else {
                    printer.line(&event.cells().join("  "))?;
                }
            }
            Ok(())
        }
    }
}
