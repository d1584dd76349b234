//! The launch form of an app, on paper.

use clap::Args;
use gpuaas_api::Route;
use gpuaas_api::form::AppForm;

use super::instance::launch::ChoiceArgs;
use crate::args::ProjectArg;
use crate::failure::Result;
use crate::resolve;
use crate::session::{Session, parse};
use crate::views::form;

#[derive(Args)]
pub(crate) struct FormArgs {
    /// The app's slug
    app: String,
    #[command(flatten)]
    project: ProjectArg,
    /// The allocation to launch on (id or name); the best that fits unless given
    #[arg(long)]
    allocation: Option<String>,
    #[command(flatten)]
    choices: ChoiceArgs,
}

pub(crate) async fn run(session: &Session<'_>, args: FormArgs) -> Result<()> {
    let slug = resolve::slug("app", &args.app)?;
    let project = session.project_or_default(args.project.project.as_deref()).await?;
    let allocation = match &args.allocation {
        Some(allocation) => Some(session.allocation(project, allocation).await?),
        None => None,
    };
    let request = args.choices.request(session, project, slug.to_string(), allocation).await?;
    let raw = session.write(Route::AppForm, &[&project, &slug], &request).await?;
    let printer = session.printer();
    printer.facts::<AppForm>(&raw)?;
    if printer.is_json() {
        return Ok(());
    }
    let shown: AppForm = parse(&raw)?;
    for (titles, rows) in form::tables(&shown) {
        printer.text("")?;
        printer.table(titles, &rows)?;
    }
    // A line to be pasted is one that does what was asked for.
    if shown.form.launchable {
        printer.text("")?;
        printer.line(&shown.form.command)?;
        printer.note("Nothing was changed. The command above launches exactly this.");
    } else {
        printer.note("Nothing was changed. It cannot be launched like this; the table says what is wrong.");
    }
    Ok(())
}
