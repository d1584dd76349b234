//! The launch form of an app, on paper.

use std::path::{Path, PathBuf};

use clap::Args;
use gpuaas_api::Route;
use gpuaas_api::form::AppForm;
use gpuaas_domain::launch::offline::{Devices, Offline};
use gpuaas_domain::launch_form::{self, FormView, NamedTarget, Wanted};
use gpuaas_domain::manifest::ladder::VersionState;
use gpuaas_domain::text::unescaped;
use serde_json::{Map, Value};

use super::instance::launch::ChoiceArgs;
use super::render;
use crate::app::App;
use crate::args::ProjectArg;
use crate::failure::Result;
use crate::printer::Printer;
use crate::resolve;
use crate::session::parse;
use crate::views::{Facts as _, form};

#[derive(Args)]
pub(crate) struct FormArgs {
    /// The app's slug
    #[arg(required_unless_present = "preview", conflicts_with = "preview")]
    app: Option<String>,
    /// The form of this manifest (a file, or a folder with app.yaml), without a platform and on a made-up allocation
    #[arg(long, value_name = "FILE")]
    preview: Option<PathBuf>,
    #[command(flatten)]
    project: ProjectArg,
    /// The allocation to launch on (id or name); the best that fits unless given
    #[arg(long)]
    allocation: Option<String>,
    #[command(flatten)]
    choices: ChoiceArgs,
}

pub(crate) async fn run(app: &App, args: FormArgs) -> Result<()> {
    if let Some(file) = &args.preview {
        return preview(app, file, &args.choices);
    }
    let session = &app.session()?;
    let slug = resolve::slug("app", args.app.as_deref().unwrap_or_default())?;
    let project = session.project_or_default(args.project.project.as_deref()).await?;
    let allocation = match &args.allocation {
        Some(allocation) => Some(session.allocation(project, allocation).await?),
        None => None,
    };
    let request = args.choices.request(session, project, slug.to_string(), allocation).await?;
    let given = request.values.clone();
    let raw = session.write(Route::AppForm, &[&project, &slug], &request).await?;
    let printer = session.printer();
    printer.facts::<AppForm>(&raw)?;
    if printer.is_json() {
        return Ok(());
    }
    show(printer, &parse(&raw)?, &given)
}

/// What somebody who launches this would be asked for.
fn preview(app: &App, file: &Path, choices: &ChoiceArgs) -> Result<()> {
    let manifest = render::manifest(app, file)?;
    let wish = choices.offline(&manifest)?;
    let offline = Offline::new(&manifest, &Devices::of(&manifest));
    let version = manifest.version.to_string();
    let targets = [NamedTarget { sku: "offline", target: offline.target() }];
    let view = FormView {
        app: offline.view(),
        project_slug: "PROJECT",
        versions: &[(version.clone(), VersionState::Draft)],
        recommended: None,
        targets: &targets,
        skus: &[],
    };
    let wanted = Wanted { wish, name: choices.name.clone(), ..Wanted::default() };
    let shown = launch_form::resolve(&view, &wanted).map_err(|error| render::refused(&error))?;
    let shown = AppForm::from(shown);
    let printer = &app.printer;
    if printer.is_json() {
        return printer.value(&shown);
    }
    printer.members(&shown.facts())?;
    show(printer, &shown, &wanted.wish.values)?;
    printer.note("Allocation, devices and the trust of images are made up; a platform may say otherwise.");
    Ok(())
}

fn show(printer: &Printer, shown: &AppForm, given: &Map<String, Value>) -> Result<()> {
    for (titles, rows) in form::tables(shown) {
        printer.text("")?;
        printer.table(titles, &rows)?;
    }
    // What is wrong with a value is in the table; the rest was not asked for.
    let mut kept = shown.form.values.clone();
    for error in &shown.form.errors {
        let name = error.path.strip_prefix("/values/").and_then(|rest| rest.split('/').next());
        kept.extend(name.map(|name| (unescaped(name), Value::Null)));
    }
    render::note_dropped(printer, given, &kept);
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
