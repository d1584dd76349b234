//! One's own personal access tokens.

use clap::Subcommand;
use gpuaas_api::Route;
use gpuaas_api::auth::{NewPersonalToken, PersonalToken};
use gpuaas_domain::ids::PersonalTokenId;

use super::place::parse_id;
use crate::app::App;
use crate::args::ListLimit;
use crate::failure::Result;
use crate::terminal;

#[derive(Subcommand)]
pub(crate) enum TokenCommand {
    /// List your personal tokens
    #[command(after_help = "Examples:\n  gpuaas token list")]
    List {
        #[command(flatten)]
        limit: ListLimit,
    },
    /// Create a personal token; it is shown once
    #[command(
        after_help = "Examples:\n  gpuaas token create 'backup job' --expires-in-days 7\n  gpuaas token create ci -o json"
    )]
    Create {
        /// What it is for
        name: String,
        /// How long it lives: 30 days unless given, 90 at most
        #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(u32).range(1..=90))]
        expires_in_days: Option<u32>,
    },
    /// Revoke a personal token at once
    #[command(after_help = "Examples:\n  gpuaas token revoke TOKEN_ID --yes")]
    Revoke {
        /// The token's id, as `list` shows it
        token: String,
    },
}

pub(crate) async fn run(app: &App, command: TokenCommand) -> Result<()> {
    let session = app.session()?;
    let printer = session.printer();
    match command {
        TokenCommand::List { limit } => {
            let list = session.list(Route::TokenList, &[], &(), limit.get()).await?;
            printer.list::<PersonalToken>(&list)
        }
        TokenCommand::Create { name, expires_in_days } => {
            let body = NewPersonalToken { name, expires_in_days };
            printer.object(&session.write(Route::TokenCreate, &[], &body).await?)?;
            printer.note("The secret is shown now and never again.");
            Ok(())
        }
        TokenCommand::Revoke { token } => {
            let id: PersonalTokenId = parse_id(&token, "token")?;
            terminal::confirm(app, &format!("Token {id} will stop working at once."))?;
            printer.object(&session.remove(Route::TokenRevoke, &[&id], None).await?)?;
            printer.note(&format!("Revoked token {id}."));
            Ok(())
        }
    }
}
