//! Planning and launching: the same words for both, so that what was planned is what is launched.

use std::path::{Path, PathBuf};

use clap::Args;
use gpuaas_api::instances::{Instance, LaunchRequest, MountSource, PlanView};
use gpuaas_api::presets::PresetChoices;
use gpuaas_api::{Route, form};
use gpuaas_domain::access::AccessMode;
use gpuaas_domain::ids::{AllocationId, ProjectId};
use gpuaas_domain::launch::Wish;
use gpuaas_domain::manifest::{self, Manifest, Severity};
use gpuaas_domain::preset;
use serde_json::{Map, Value};

use super::life::{self, Goal};
use crate::args::ProjectArg;
use crate::commands::render::note_dropped;
use crate::diagnostics::{Finding, Page};
use crate::failure::{Failure, Result};
use crate::progress::WaitArgs;
use crate::session::{Session, parse};
use crate::views::plan;
use crate::{resolve, source, units};

#[derive(Args)]
pub(crate) struct LaunchArgs {
    /// The app's slug
    app: String,
    #[command(flatten)]
    project: ProjectArg,
    /// The allocation to launch on (id or name)
    #[arg(long)]
    allocation: String,
    #[command(flatten)]
    choices: ChoiceArgs,
    /// From a plan: refuse if the world has moved since
    #[arg(long, value_name = "DIGEST")]
    plan_digest: Option<String>,
}

/// What a launch may choose beside its app and place.
#[derive(Args)]
pub(crate) struct ChoiceArgs {
    /// The app's version; the newest the project may launch unless given
    #[arg(long)]
    version: Option<String>,
    /// How to call the instance; made from the app unless given
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// Choices in a file: values, addons, lanes, resources, access, variant. What is said on the line stands before it
    #[arg(long, value_name = "FILE")]
    values: Option<PathBuf>,
    /// A preset of the project to begin with. The file and the line stand before it
    #[arg(long, value_name = "NAME")]
    preset: Option<String>,
    /// How many of the allocation's GPUs
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=64))]
    gpus: Option<u32>,
    /// How many processors: 1.5, or 1500m
    #[arg(long, value_name = "N", value_parser = units::cpu_millis)]
    cpu: Option<u32>,
    /// How much memory: MiB, or an amount such as 2GiB
    #[arg(long, value_name = "MIB", value_parser = units::memory_mib)]
    memory: Option<u32>,
    /// Publish the app's first private port on this port of the node's own 127.0.0.1
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1024..))]
    host_port: Option<u16>,
    /// Another image of the app than the one that fits best, such as cpu
    #[arg(long, value_name = "NAME")]
    variant: Option<String>,
    /// A parameter of the app; JSON where it reads as JSON, text otherwise. Can be repeated
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = units::setting)]
    settings: Vec<(String, Value)>,
    /// How an endpoint is reached: private, platform_proxy, embedded_ui_gateway or public. Can be repeated
    #[arg(long = "access", value_name = "ENDPOINT=MODE", value_parser = access)]
    access: Vec<(String, AccessMode)>,
    /// An add-on of the app that is to run too; those that it needs come with it. Can be repeated
    #[arg(long = "addon", value_name = "NAME")]
    addons: Vec<String>,
    /// What a lane gets: LANE.gpus=N, LANE.tensor-parallel=N or LANE.slots=0,1. Can be repeated
    #[arg(long = "lane", value_name = "LANE.SETTING=VALUE", value_parser = lane)]
    lanes: Vec<(String, LaneSetting)>,
    /// What stands at a place for storage: scratch, or volume:NAME (volume:NAME:ro to read only). Can be repeated
    #[arg(long = "mount", value_name = "PLACE=SOURCE", value_parser = mount)]
    mounts: Vec<(String, Mounted)>,
}

/// One thing that was typed for a lane.
#[derive(Clone, Debug, PartialEq, Eq)]
enum LaneSetting {
    Gpus(u32),
    TensorParallel(u32),
    Slots(Vec<u32>),
}

/// What was typed for a place for storage.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Mounted {
    Scratch,
    Volume { name: String, read_only: bool },
}

impl ChoiceArgs {
    /// Whether anything was chosen.
    pub(crate) fn chooses(&self) -> bool {
        let lists = self.settings.len()
            + self.access.len()
            + self.addons.len()
            + self.lanes.len()
            + self.mounts.len();
        let named = [&self.version, &self.name, &self.preset, &self.variant].into_iter().any(Option::is_some);
        let amounts = [self.gpus, self.cpu, self.memory].into_iter().any(|amount| amount.is_some());
        lists > 0 || named || amounts || self.values.is_some() || self.host_port.is_some()
    }

    /// What stands in the file and on the line, without storage.
    fn choices(&self, base: PresetChoices) -> Result<PresetChoices> {
        let mut all = match &self.values {
            Some(file) => over(base, read_choices(file)?),
            None => base,
        };
        all.values.extend(self.settings.iter().cloned());
        all.addons.extend(self.addons.iter().cloned());
        all.access.extend(self.access.iter().cloned());
        for (name, setting) in &self.lanes {
            let lane = all.lanes.entry(name.clone()).or_default();
            match setting {
                LaneSetting::Gpus(count) => lane.gpu_count = Some(*count),
                LaneSetting::TensorParallel(degree) => lane.tensor_parallel = Some(*degree),
                LaneSetting::Slots(slots) => lane.slots = Some(slots.clone()),
            }
        }
        all.variant = self.variant.clone().or(all.variant);
        all.resources.gpu_count = self.gpus.or(all.resources.gpu_count);
        all.resources.cpu_millis = self.cpu.or(all.resources.cpu_millis);
        all.resources.memory_mib = self.memory.or(all.resources.memory_mib);
        Ok(all)
    }

    /// The same where there is no platform: it has no presets and no volumes.
    pub(crate) fn offline(&self, manifest: &Manifest) -> Result<Wish> {
        if let Some(version) = self.version.as_deref().filter(|version| *version != manifest.version.as_str())
        {
            return Err(Failure::usage(format!(
                "the manifest is of version {}, not {version}",
                manifest.version.as_str()
            ))
            .fix(
                "leave --version out; `gpuaas app form` and `instance plan` know the versions of a platform",
            ));
        }
        if self.preset.is_some() {
            return Err(
                Failure::usage("a preset is kept by a platform; here there is none").fix("use --values FILE")
            );
        }
        if let Some((place, _)) = self.mounts.iter().find(|(_, source)| *source != Mounted::Scratch) {
            return Err(Failure::usage(format!("there is no volume for {place} without a platform"))
                .fix("leave --mount out: it is scratch then"));
        }
        let mut choices = self.choices(PresetChoices::default())?;
        choices.mounts.extend(self.mounts.iter().map(|(place, _)| (place.clone(), MountSource::Scratch)));
        Ok(Wish { host_port: self.host_port, ..choices.into() })
    }

    /// With the names of volumes looked up in the project.
    pub(crate) async fn request(
        self,
        session: &Session<'_>,
        project: ProjectId,
        slug: String,
        allocation: Option<AllocationId>,
    ) -> Result<LaunchRequest> {
        let base = match &self.preset {
            Some(name) => session.preset(project, &slug, name).await?.choices,
            None => PresetChoices::default(),
        };
        let choices = self.choices(base)?;
        let mut mounts = choices.mounts;
        for (place, source) in self.mounts {
            let source = match source {
                Mounted::Scratch => MountSource::Scratch,
                Mounted::Volume { name, read_only } => {
                    MountSource::Volume { volume_id: session.volume(project, &name).await?, read_only }
                }
            };
            mounts.insert(place, source);
        }
        Ok(LaunchRequest {
            slug: Some(slug),
            app_version: self.version,
            name: self.name,
            target_allocation_id: allocation,
            resources: (!choices.resources.is_empty()).then_some(choices.resources),
            host_port: self.host_port,
            variant: choices.variant,
            access: choices.access,
            values: choices.values,
            mounts: form::mounts(&mounts),
            addons: choices.addons,
            lanes: choices.lanes,
            ..LaunchRequest::default()
        })
    }
}

/// What was chosen later over what was chosen before.
fn over(base: PresetChoices, later: PresetChoices) -> PresetChoices {
    let mut all = base;
    all.values.extend(later.values);
    all.addons.extend(later.addons);
    all.lanes.extend(later.lanes);
    all.mounts.extend(later.mounts);
    all.access.extend(later.access);
    all.variant = later.variant.or(all.variant);
    all.resources.gpu_count = later.resources.gpu_count.or(all.resources.gpu_count);
    all.resources.cpu_millis = later.resources.cpu_millis.or(all.resources.cpu_millis);
    all.resources.memory_mib = later.resources.memory_mib.or(all.resources.memory_mib);
    all
}

pub(crate) fn read_choices(file: &Path) -> Result<PresetChoices> {
    let text = source::open(file)?;
    let tree = manifest::tree(&text.bytes, text.format).map_err(|faults| {
        let first = faults.first().map(|fault| fault.message.clone()).unwrap_or_default();
        Failure::usage(format!("{} cannot be read: {first}", text.name))
    })?;
    // A file with nothing in it chooses nothing.
    let tree = if tree.is_null() { Value::Object(Map::new()) } else { tree };
    preset::read(&tree).map_err(|faults| {
        let page = Page::new(&text);
        let told = faults.iter().map(|fault| {
            let finding = Finding::new(Severity::Error, fault);
            let place =
                page.position(&finding).map_or_else(String::new, |at| format!(":{}:{}", at.line, at.column));
            format!("{}{place}: {}: {}", text.name, fault.path, fault.message)
        });
        Failure::usage(told.collect::<Vec<_>>().join(" "))
            .fix("it may have values, addons, lanes, resources, mounts, access and variant")
    })
}

fn lane(text: &str) -> std::result::Result<(String, LaneSetting), String> {
    let usage = "use LANE.gpus=N, LANE.tensor-parallel=N or LANE.slots=0,1";
    let (setting, value) = text.split_once('=').ok_or(usage)?;
    let (lane, setting) = setting.rsplit_once('.').filter(|(lane, _)| !lane.is_empty()).ok_or(usage)?;
    let count = || value.parse().map_err(|_| format!("{value:?} is no whole number; {usage}"));
    let setting = match setting {
        "gpus" => LaneSetting::Gpus(count()?),
        "tensor-parallel" => LaneSetting::TensorParallel(count()?),
        "slots" => {
            let slots: Option<Vec<u32>> = value.split(',').map(|slot| slot.trim().parse().ok()).collect();
            LaneSetting::Slots(slots.ok_or_else(|| format!("{value:?} is no list of numbers; {usage}"))?)
        }
        _ => return Err(usage.to_owned()),
    };
    Ok((lane.to_owned(), setting))
}

fn mount(text: &str) -> std::result::Result<(String, Mounted), String> {
    let usage = "use PLACE=scratch or PLACE=volume:NAME, as in workspace=volume:home";
    let (place, source) = text.split_once('=').ok_or(usage)?;
    let source = match source.strip_prefix("volume:") {
        None if source == "scratch" => Mounted::Scratch,
        None => return Err(usage.to_owned()),
        Some(named) => {
            let (name, read_only) = named.strip_suffix(":ro").map_or((named, false), |name| (name, true));
            if name.is_empty() {
                return Err(usage.to_owned());
            }
            Mounted::Volume { name: name.to_owned(), read_only }
        }
    };
    Ok((place.to_owned(), source))
}

fn access(text: &str) -> std::result::Result<(String, AccessMode), String> {
    let (endpoint, mode) = text.split_once('=').ok_or("use ENDPOINT=MODE, as in web=private")?;
    let mode = AccessMode::parse(mode)
        .ok_or("the mode is private, platform_proxy, embedded_ui_gateway or public")?;
    Ok((endpoint.to_owned(), mode))
}

impl LaunchArgs {
    async fn resolve(self, session: &Session<'_>) -> Result<(ProjectId, LaunchRequest)> {
        let slug = resolve::slug("app", &self.app)?.to_string();
        let project = session.project_or_default(self.project.project.as_deref()).await?;
        let allocation = session.allocation(project, &self.allocation).await?;
        let request = self.choices.request(session, project, slug, Some(allocation)).await?;
        Ok((project, LaunchRequest { plan_digest: self.plan_digest, ..request }))
    }
}

pub(super) async fn plan(session: &Session<'_>, launch: LaunchArgs) -> Result<()> {
    let (project, request) = launch.resolve(session).await?;
    let raw = session.write(Route::InstancePlan, &[&project], &request).await?;
    let printer = session.printer();
    printer.facts::<PlanView>(&raw)?;
    if printer.is_json() {
        return Ok(());
    }
    let shown: PlanView = parse(&raw)?;
    note_dropped(printer, &request.values, &shown.plan.values);
    for (titles, rows) in plan::tables(&shown.plan) {
        printer.text("")?;
        printer.table(titles, &rows)?;
    }
    if shown.plan.check_engine().is_ok() {
        printer.note("Nothing was changed. Launch exactly this with `instance create` and --plan-digest.");
    } else {
        printer
            .note("Nothing was changed. No engine of this platform runs it yet; the rest of the plan holds.");
    }
    Ok(())
}

pub(super) async fn create(session: &Session<'_>, launch: LaunchArgs, wait: &WaitArgs) -> Result<()> {
    let (project, request) = launch.resolve(session).await?;
    let raw = session.write(Route::InstanceCreate, &[&project], &request).await?;
    let made: Instance = parse(&raw)?;
    life::settle(session, &raw, &made, Goal::Running, wait).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_are_set_one_by_one() {
        let set = |setting| Ok(("chat".to_owned(), setting));
        assert_eq!(lane("chat.gpus=2"), set(LaneSetting::Gpus(2)));
        assert_eq!(lane("chat.tensor-parallel=4"), set(LaneSetting::TensorParallel(4)));
        assert_eq!(lane("chat.slots=5,1"), set(LaneSetting::Slots(vec![5, 1])));
        for typed in
            ["chat", "chat=2", ".gpus=2", "chat.gpus=x", "chat.gpus=-1", "chat.slots=a", "chat.other=1"]
        {
            assert!(lane(typed).is_err(), "{typed}");
        }
    }

    #[test]
    fn storage_is_scratch_or_a_volume() {
        let volume = |name: &str, read_only| Mounted::Volume { name: name.to_owned(), read_only };
        for (typed, source) in [
            ("workspace=scratch", Mounted::Scratch),
            ("workspace=volume:home", volume("home", false)),
            ("workspace=volume:home:ro", volume("home", true)),
        ] {
            assert_eq!(mount(typed), Ok(("workspace".to_owned(), source)), "{typed}");
        }
        for typed in [
            "workspace",
            "workspace=",
            "workspace=home",
            "workspace=/home",
            "workspace=volume:",
            "w=volume::ro",
        ] {
            assert!(mount(typed).is_err(), "{typed}");
        }
    }
}
