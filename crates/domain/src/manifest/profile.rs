//! What planning uses: every manifest as a composition, a plain one with the single component `main`.

use gpuaas_agent_protocol::image::ImageRef;
use gpuaas_agent_protocol::inventory::Vendor;
use gpuaas_agent_protocol::spec::{self, Egress, RestartBudget, RunAs, Scratch, Tmpfs};
use serde::Serialize;

use super::runtime::Container;
use super::{
    ComponentClass, EnvVar, ExecutionEngine, Manifest, Mib, Minima, Mount, PlacementIntent, Port, Range,
    RuntimeBackend, Variant, Vcpu,
};

/// The name of the component that a plain manifest becomes.
pub const MAIN: &str = "main";

const READINESS_DEADLINE_SECONDS: u32 = 300;
const STOP_GRACE_SECONDS: u32 = 10;
const RESTART: RestartBudget = RestartBudget { max_restarts: 3, window_seconds: 600 };
const PIDS: u32 = 4096;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Profile {
    pub components: Vec<Component>,
    pub backend: RuntimeBackend,
    /// Engines that may run it, the preferred first.
    pub engines: Vec<ExecutionEngine>,
    pub renderer: Option<String>,
    /// The longest that a component asks for.
    pub readiness_deadline_seconds: u32,
    /// The longest that a component asks for.
    pub stop_grace_seconds: u32,
    /// Of the first component that has one.
    pub restart: RestartBudget,
    pub gpu_count: Range<u32>,
    pub vcpu: Range<Vcpu>,
    pub memory_mib: Range<Mib>,
    pub shared_memory_mib: Range<Mib>,
    pub mounts: Vec<Mount>,
    /// How the devices of a component lie to each other.
    pub gpu_placement: PlacementIntent,
}

/// One container role.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Component {
    pub name: String,
    pub class: ComponentClass,
    /// The images to choose from, in the manifest's order; the first is the one where nothing fits better.
    pub images: Vec<Image>,
    pub command: Vec<String>,
    pub env: Vec<EnvVar>,
    /// Every port has its name.
    pub ports: Vec<Port>,
    pub resources: Minima,
    pub user: RunAs,
    pub read_only_root: bool,
    pub tmpfs: Vec<Tmpfs>,
    pub scratch: Vec<Scratch>,
    pub readiness: Option<spec::Probe>,
    pub liveness: Option<spec::Probe>,
    pub egress: Egress,
    pub pids: u32,
    pub depends_on: Vec<String>,
    pub lane: Option<String>,
    pub gpu_count: Option<Range<u32>>,
    pub tensor_parallel: Option<Range<u32>>,
    /// The memory that each of its GPUs must have.
    pub min_gpu_memory_mib: Option<Mib>,
    pub replicas: Range<u32>,
    pub when: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Image {
    /// `None`: named in the component itself.
    pub variant: Option<String>,
    pub reference: ImageRef,
    /// The accelerators it is for; empty: it claims none.
    pub accelerators: Vec<Vendor>,
    pub gpu_models: Vec<String>,
}

impl Manifest {
    /// The composition this manifest stands for. A controller may have no component at all.
    pub fn expand(&self) -> Profile {
        let containers = self.containers();
        let longest = |of: fn(&Container<'_>) -> Option<u32>, otherwise| {
            containers.iter().filter_map(|(_, container)| of(container)).max().unwrap_or(otherwise)
        };
        let resources = self.resources.clone().unwrap_or_default();
        let backend = self.backend();
        Profile {
            backend,
            engines: if self.execution_engines.is_empty() {
                engines_of(backend).to_vec()
            } else {
                self.execution_engines.clone()
            },
            renderer: self.renderer.clone(),
            readiness_deadline_seconds: longest(|c| c.readiness_deadline_seconds, READINESS_DEADLINE_SECONDS),
            stop_grace_seconds: longest(|c| c.stop_grace_seconds, STOP_GRACE_SECONDS),
            restart: containers.iter().find_map(|(_, container)| container.restart).unwrap_or(RESTART),
            gpu_count: bounded(resources.gpu_count, self.compatibility.min_gpu_count),
            vcpu: bounded(resources.vcpu, self.least_vcpu()),
            memory_mib: bounded(resources.memory_mib, self.least_memory()),
            shared_memory_mib: resources.shared_memory_mib.unwrap_or_default(),
            mounts: resources.mounts,
            gpu_placement: resources.gpu_placement.map_or(PlacementIntent::Any, |placement| placement.intent),
            components: self.expand_components(),
        }
    }

    fn expand_components(&self) -> Vec<Component> {
        if let Some(only) = &self.runtime_profile {
            let mut main = self.component(MAIN, Some(&only.image_ref), only.container());
            main.gpu_count = None;
            let placement = self.resources.as_ref().and_then(|resources| resources.gpu_placement.as_ref());
            main.tensor_parallel = placement.and_then(|placement| placement.tensor_parallel);
            return vec![main];
        }
        let expanded = self.components.iter().map(|written| Component {
            class: written.class,
            depends_on: written.depends_on.clone(),
            lane: written.lane.clone(),
            gpu_count: written.gpu_count,
            tensor_parallel: written.tensor_parallel,
            min_gpu_memory_mib: written.min_gpu_memory_mib,
            replicas: written.replicas.map_or(ONE, |range| Range {
                default: range.default.or(range.min).or(Some(1)),
                min: range.min.or(Some(1)),
                max: range.max.or(range.default).or(range.min).or(Some(1)),
            }),
            when: written.when.clone(),
            ..self.component(&written.name, written.image_ref.as_ref(), written.container())
        });
        expanded.collect()
    }

    fn component(&self, name: &str, image: Option<&ImageRef>, container: Container<'_>) -> Component {
        Component {
            name: name.to_owned(),
            class: ComponentClass::Primary,
            images: self.images(image, container.artifact),
            command: container.command.to_vec(),
            env: container.env.to_vec(),
            ports: container
                .ports
                .iter()
                .map(|port| Port { name: Some(port.name()), ..port.clone() })
                .collect(),
            resources: *container.resources,
            user: container.user,
            read_only_root: container.read_only_root,
            tmpfs: container.tmpfs.to_vec(),
            scratch: container.scratch.to_vec(),
            readiness: container.readiness.map(Into::into),
            liveness: container.liveness.map(Into::into),
            egress: container.egress,
            pids: container.pids.unwrap_or(PIDS),
            depends_on: Vec::new(),
            lane: None,
            gpu_count: None,
            tensor_parallel: None,
            min_gpu_memory_mib: None,
            replicas: ONE,
            when: None,
        }
    }

    fn images(&self, image: Option<&ImageRef>, artifact: Option<&str>) -> Vec<Image> {
        let artifact = artifact.and_then(|name| self.artifacts.iter().find(|artifact| artifact.name == name));
        let mut images: Vec<Image> = artifact
            .into_iter()
            .flat_map(|artifact| &artifact.variants)
            .map(|variant| Image {
                variant: Some(variant.name.clone()),
                reference: variant.image_ref.clone(),
                accelerators: variant.accelerators.clone(),
                gpu_models: variant.gpu_models.clone(),
            })
            .collect();
        if let Some(reference) = image
            && images.iter().all(|known| known.reference != *reference)
        {
            let accelerators = self.compatibility.supported_accelerators.clone();
            let reference = reference.clone();
            images.insert(0, Image { variant: None, reference, accelerators, gpu_models: Vec::new() });
        }
        images
    }

    /// What the manifest says of an image that it names as a variant.
    pub fn variant_of(&self, image: &Image) -> Option<&Variant> {
        let variants = self.artifacts.iter().flat_map(|artifact| &artifact.variants);
        variants.into_iter().find(|variant| {
            Some(&variant.name) == image.variant.as_ref() && variant.image_ref == image.reference
        })
    }

    /// What family runs it: said by the runtime profile, or by the engines and the number of components.
    pub fn backend(&self) -> RuntimeBackend {
        if let Some(only) = &self.runtime_profile {
            return only.kind;
        }
        match self.execution_engines.first() {
            Some(ExecutionEngine::Kubernetes | ExecutionEngine::Helm | ExecutionEngine::Dstack) => {
                RuntimeBackend::K8s
            }
            Some(ExecutionEngine::NodeAgent) => RuntimeBackend::LaunchableOci,
            None if self.components.is_empty() => RuntimeBackend::BareMetal,
            None if self.components.len() == 1 && self.renderer.is_none() => RuntimeBackend::LaunchableOci,
            Some(ExecutionEngine::DockerCompose) | None => RuntimeBackend::DockerCompose,
        }
    }

    /// Each container with the pointer to its block.
    pub(super) fn containers(&self) -> Vec<(String, Container<'_>)> {
        let single =
            self.runtime_profile.iter().map(|only| ("/runtime_profile".to_owned(), only.container()));
        let many = self.components.iter().enumerate();
        single.chain(many.map(|(index, one)| (format!("/components/{index}"), one.container()))).collect()
    }

    /// The sum over the components that always run; add-ons are counted when they are chosen.
    pub(super) fn least_memory(&self) -> Mib {
        let all = self.always_running().into_iter().filter_map(|minima| minima.min_memory_mib);
        Mib(all.fold(0, |sum, mib| sum.saturating_add(mib.0)))
    }

    pub(super) fn least_vcpu(&self) -> Vcpu {
        let all = self.always_running().into_iter().filter_map(|minima| minima.min_vcpu);
        Vcpu::from_millis(all.fold(0, |sum, vcpu| sum.saturating_add(vcpu.millis())))
    }

    fn always_running(&self) -> Vec<Minima> {
        let optional: Vec<&String> = self.addons.iter().flat_map(|addon| &addon.components).collect();
        let many = self.components.iter().filter(|one| one.when.is_none() && !optional.contains(&&one.name));
        self.runtime_profile.iter().map(|only| only.resources).chain(many.map(|one| one.resources)).collect()
    }
}

const ONE: Range<u32> = Range { default: Some(1), min: Some(1), max: Some(1) };

pub(super) fn engines_of(backend: RuntimeBackend) -> &'static [ExecutionEngine] {
    match backend {
        RuntimeBackend::LaunchableOci => &[ExecutionEngine::NodeAgent],
        RuntimeBackend::DockerCompose => &[ExecutionEngine::DockerCompose],
        RuntimeBackend::K8s => &[ExecutionEngine::Kubernetes, ExecutionEngine::Helm, ExecutionEngine::Dstack],
        RuntimeBackend::Slurm | RuntimeBackend::Ray | RuntimeBackend::BareMetal => &[],
    }
}

/// The minimum holds where the block says nothing or less; a default is there whenever a minimum is.
fn bounded<T: Ord + Copy + Default>(written: Option<Range<T>>, least: T) -> Range<T> {
    let written = written.unwrap_or(Range { default: None, min: None, max: None });
    let min = written.min.map_or(least, |min| min.max(least));
    Range {
        default: Some(written.default.map_or(min, |default| default.max(min))),
        min: Some(min),
        max: written.max,
    }
}
