//! Planning and launching: the same words for both, so that what was planned is what is launched.

use std::collections::BTreeMap;

use clap::Args;
use gpuaas_api::instances::{Instance, LaneWish, LaunchRequest, MountSource, PlanView, ResourceWish};
use gpuaas_api::{Route, form};
use gpuaas_domain::access::AccessMode;
use gpuaas_domain::ids::{AllocationId, ProjectId};
use serde_json::Value;

use super::life::{self, Goal};
use crate::args::ProjectArg;
use crate::failure::Result;
use crate::progress::WaitArgs;
use crate::resolve;
use crate::session::{Session, parse};
use crate::units;

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
    name: Option<String>,
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
    /// What a lane gets: LANE.gpus=N, LANE.tensor-parallel=N or LANE.gpu-indices=0,1. Can be repeated
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
    GpuIndices(Vec<i64>),
}

/// What was typed for a place for storage.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Mounted {
    Scratch,
    Volume { name: String, read_only: bool },
}

impl ChoiceArgs {
    /// With the names of volumes looked up in the project.
    pub(crate) async fn request(
        self,
        session: &Session<'_>,
        project: ProjectId,
        slug: String,
        allocation: Option<AllocationId>,
    ) -> Result<LaunchRequest> {
        let mut mounts = BTreeMap::new();
        for (place, source) in self.mounts {
            let source = match source {
                Mounted::Scratch => MountSource::Scratch,
                Mounted::Volume { name, read_only } => {
                    MountSource::Volume { volume_id: session.volume(project, &name).await?, read_only }
                }
            };
            mounts.insert(place, source);
        }
        let mut lanes: BTreeMap<String, LaneWish> = BTreeMap::new();
        for (name, setting) in self.lanes {
            let lane = lanes.entry(name).or_default();
            match setting {
                LaneSetting::Gpus(count) => lane.gpu_count = Some(count),
                LaneSetting::TensorParallel(degree) => lane.tensor_parallel = Some(degree),
                LaneSetting::GpuIndices(indices) => lane.gpu_indices = Some(indices),
            }
        }
        let wish = ResourceWish { gpu_count: self.gpus, cpu_millis: self.cpu, memory_mib: self.memory };
        Ok(LaunchRequest {
            slug: Some(slug),
            app_version: self.version,
            name: self.name,
            target_allocation_id: allocation,
            resources: (wish != ResourceWish::default()).then_some(wish),
            host_port: self.host_port,
            variant: self.variant,
            access: self.access.into_iter().collect(),
            values: self.settings.into_iter().collect(),
            mounts: form::mounts(&mounts),
            addons: self.addons,
            lanes,
            ..LaunchRequest::default()
        })
    }
}

fn lane(text: &str) -> std::result::Result<(String, LaneSetting), String> {
    let usage = "use LANE.gpus=N, LANE.tensor-parallel=N or LANE.gpu-indices=0,1";
    let (setting, value) = text.split_once('=').ok_or(usage)?;
    let (lane, setting) = setting.rsplit_once('.').filter(|(lane, _)| !lane.is_empty()).ok_or(usage)?;
    let count = || value.parse().map_err(|_| format!("{value:?} is no whole number; {usage}"));
    let setting = match setting {
        "gpus" => LaneSetting::Gpus(count()?),
        "tensor-parallel" => LaneSetting::TensorParallel(count()?),
        "gpu-indices" => {
            let indices: Option<Vec<i64>> = value.split(',').map(|index| index.trim().parse().ok()).collect();
            LaneSetting::GpuIndices(
                indices.ok_or_else(|| format!("{value:?} is no list of numbers; {usage}"))?,
            )
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
    session.printer().facts::<PlanView>(&raw)?;
    session
        .printer()
        .note("Nothing was changed. Launch exactly this with `instance create` and --plan-digest.");
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
        assert_eq!(lane("chat.gpu-indices=5,1"), set(LaneSetting::GpuIndices(vec![5, 1])));
        for typed in
            ["chat", "chat=2", ".gpus=2", "chat.gpus=x", "chat.gpus=-1", "chat.gpu-indices=a", "chat.other=1"]
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
