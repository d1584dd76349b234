//! Who the platform thinks is calling.

use clap::Args;
use gpuaas_api::Route;
use gpuaas_api::auth::Whoami;

use crate::app::App;
use crate::failure::Result;
use crate::session::parse;
use crate::views;

/// Show who you are to the platform, and which roles you hold
#[derive(Args)]
#[command(after_help = "Examples:\n  gpuaas whoami\n  gpuaas whoami -o json")]
pub(crate) struct WhoamiArgs {}

pub(crate) async fn run(app: &App, WhoamiArgs {}: &WhoamiArgs) -> Result<()> {
    let session = app.session()?;
    let printer = session.printer();
    let raw = session.read(Route::Whoami, &[]).await?;
    if printer.is_json() {
        return printer.json(raw.get());
    }
    let who: Whoami = parse(&raw)?;
    let maybe = |id: Option<String>| id.unwrap_or_else(|| "-".to_owned());
    printer.members(&[
        ("platform", session.url.clone()),
        ("kind", views::principal_kind(who.kind).to_owned()),
        ("name", who.name),
        ("display_name", who.display_name),
        ("id", who.id),
        ("tenant_id", maybe(who.tenant_id.map(|id| id.to_string()))),
        ("project_id", maybe(who.project_id.map(|id| id.to_string()))),
        ("expires_at", maybe(who.expires_at.map(views::short))),
    ])?;
    if who.grants.is_empty() {
        printer.note("You hold no role yet: ask an administrator for one.");
        return Ok(());
    }
    let rows: Vec<_> = who
        .grants
        .iter()
        .map(|grant| {
            vec![grant.role.clone(), views::scope(&grant.scope), grant.permissions.len().to_string()]
        })
        .collect();
    printer.text("")?;
    printer.table(&["ROLE", "SCOPE", "PERMISSIONS"], &rows)
}
