//! Choices of a launch form under a name, for everybody of a project.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use gpuaas_api::Route;
use gpuaas_api::presets::{NewPreset, Preset, PresetQuery, PresetUpdate};
use gpuaas_domain::ids::ProjectId;

use super::instance::launch::read_choices;
use crate::app::App;
use crate::args::{ListLimit, ProjectArg};
use crate::failure::{Exit, Failure, Result};
use crate::session::Session;
use crate::terminal;

#[derive(Subcommand)]
pub(crate) enum PresetCommand {
    /// List a project's presets
    #[command(
        after_help = "Examples:\n  gpuaas preset list --project lab\n  gpuaas preset list --app vllm-openai"
    )]
    List {
        #[command(flatten)]
        project: ProjectArg,
        /// Of this app only
        #[arg(long)]
        app: Option<String>,
        #[command(flatten)]
        limit: ListLimit,
    },
    /// Show one preset with its choices
    #[command(after_help = "Examples:\n  gpuaas preset get jupyterlab small")]
    Get(PresetArg),
    /// Keep choices under a name, or change what is kept there
    #[command(
        after_help = "Examples:\n  gpuaas preset save vllm-openai two-gpus --from values/two-gpus.yaml\n  gpuaas preset save jupyterlab lab-default --from values.yaml --default\n  gpuaas instance create vllm-openai --allocation training --preset two-gpus"
    )]
    Save {
        #[command(flatten)]
        preset: PresetArg,
        /// A file with values, addons, lanes, resources, mounts, access and variant
        #[arg(long, value_name = "FILE")]
        from: PathBuf,
        /// The project's forms of this app begin with its values
        #[arg(long)]
        default: bool,
    },
    /// Delete a preset; instances that came of it stay
    #[command(after_help = "Examples:\n  gpuaas preset delete vllm-openai two-gpus --yes")]
    Delete(PresetArg),
}

#[derive(Args)]
pub(crate) struct PresetArg {
    /// The app's slug
    app: String,
    /// The preset's name
    name: String,
    #[command(flatten)]
    project: ProjectArg,
}

impl Session<'_> {
    /// A preset of an app by its name.
    pub(crate) async fn preset(&self, project: ProjectId, app: &str, name: &str) -> Result<Preset> {
        self.find_preset(project, app, name).await?.ok_or_else(|| {
            let message = format!("there is no preset {name:?} of {app}");
            Failure::new(Exit::NotFound, "not_found", message)
                .fix(format!("`gpuaas preset list --app {app}` shows them"))
        })
    }

    async fn find_preset(&self, project: ProjectId, app: &str, name: &str) -> Result<Option<Preset>> {
        let query = PresetQuery { app: Some(app.to_owned()), ..PresetQuery::default() };
        let known: Vec<Preset> = self.list_where(Route::PresetList, &[&project], &query).await?;
        Ok(known.into_iter().find(|preset| preset.name == name))
    }
}

pub(crate) async fn run(app: &App, command: PresetCommand) -> Result<()> {
    let session = app.session()?;
    let printer = session.printer();
    match command {
        PresetCommand::List { project, app, limit } => {
            let project = session.project_or_default(project.project.as_deref()).await?;
            let query = PresetQuery { app, ..PresetQuery::default() };
            let list = session.list(Route::PresetList, &[&project], &query, limit.get()).await?;
            printer.list::<Preset>(&list)
        }
        PresetCommand::Get(preset) => {
            let project = session.project_or_default(preset.project.project.as_deref()).await?;
            printer.value(&session.preset(project, &preset.app, &preset.name).await?)
        }
        PresetCommand::Save { preset, from, default } => {
            let project = session.project_or_default(preset.project.project.as_deref()).await?;
            let choices = read_choices(&from)?;
            let raw = match session.find_preset(project, &preset.app, &preset.name).await? {
                None => {
                    let new =
                        NewPreset { app_slug: preset.app, name: preset.name, is_default: default, choices };
                    session.write(Route::PresetCreate, &[&project], &new).await?
                }
                Some(kept) => {
                    let is_default = default.then_some(true);
                    let update = PresetUpdate { name: None, is_default, choices: Some(choices) };
                    session.write(Route::PresetUpdate, &[&project, &kept.id], &update).await?
                }
            };
            printer.facts::<Preset>(&raw)
        }
        PresetCommand::Delete(preset) => {
            let project = session.project_or_default(preset.project.project.as_deref()).await?;
            let kept = session.preset(project, &preset.app, &preset.name).await?;
            terminal::confirm(app, &format!("Preset {} of {} will be deleted.", kept.name, kept.app_slug))?;
            session.remove(Route::PresetDelete, &[&project, &kept.id], None).await?;
            printer.note(&format!("Preset {} is deleted.", kept.name));
            Ok(())
        }
    }
}
