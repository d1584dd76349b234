//! The form as clients read it.

use std::collections::BTreeMap;

use gpuaas_agent_protocol::inventory::Vendor;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::access::{self, AccessMode, PublicAccess};
use crate::allocation::{AllocationState, GrantPolicy, Price, Shape, prices_at};
use crate::artifact::TrustState;
use crate::ids::{AllocationId, NodeId, SkuId};
use crate::launch::composition::Composition;
use crate::launch::{Target, View, Wish, mounts, target};
use crate::manifest::ladder::VersionState;
use crate::manifest::{AddonKind, ComponentClass, Expose, ExtensionKind, Manifest, Mount, MountKind};
use crate::node::Node;
use crate::preset::DefaultSource;
use crate::volume::{MountSource, VolumeState};
use crate::{FieldError, Timestamp};

/// One app, resolved for one project.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Form {
    pub app: FormApp,
    /// Those the project may launch, the newest first.
    pub versions: Vec<FormVersion>,
    /// JSON Schema 2020-12 of `values`.
    pub schema: Map<String, Value>,
    /// Hints in the style of React JSON Schema Form; empty is a working form.
    pub ui_schema: Map<String, Value>,
    /// Defaults, and over them what was given.
    pub values: Map<String, Value>,
    pub resources: FormResources,
    pub variants: Vec<FormVariant>,
    /// Fitting ones first.
    pub allocations: Vec<FormAllocation>,
    /// The one given, or the best that fits.
    pub allocation_id: Option<AllocationId>,
    /// What could be requested instead.
    pub offers: Vec<FormOffer>,
    pub mounts: Vec<FormMount>,
    pub access: Vec<FormAccess>,
    /// What may run beside the app; off unless chosen.
    #[serde(default)]
    pub addons: Vec<FormAddon>,
    /// Components with devices of their own.
    #[serde(default)]
    pub lanes: Vec<FormLane>,
    /// Every component, running or not.
    #[serde(default)]
    pub components: Vec<FormComponent>,
    /// Whose default each parameter has.
    #[serde(default)]
    pub default_sources: BTreeMap<String, DefaultSource>,
    /// What is wrong so far, by JSON pointers into the request.
    pub errors: Vec<FormError>,
    /// The same launch from a shell.
    pub command: String,
    /// Whether a plan of exactly this succeeds now. It is launchable too where an engine of this platform runs it.
    #[serde(default)]
    pub plannable: bool,
    /// Whether a launch of exactly this would be accepted now.
    pub launchable: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FormApp {
    pub slug: String,
    pub display_name: String,
    pub description: Option<String>,
    pub publisher: Option<String>,
    pub version: String,
    pub version_state: VersionState,
    pub notes: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ui: Option<FormUi>,
}

/// How the app appears in the shell, and where its page opens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FormUi {
    pub extension_kind: ExtensionKind,
    pub path: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FormVersion {
    pub version: String,
    pub state: VersionState,
    /// It is taken where none is asked for.
    pub recommended: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FormResources {
    pub gpu_count: ResourceField,
    pub cpu_millis: ResourceField,
    pub memory_mib: ResourceField,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ResourceField {
    pub min: i64,
    /// The least of what the manifest and the chosen allocation allow; open if absent.
    pub max: Option<i64>,
    pub default: i64,
    pub value: i64,
}

/// An image of the app (F-26).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FormVariant {
    pub component: String,
    /// What to send as `variant`; absent where the app has one image only.
    pub name: Option<String>,
    /// The first of `accelerators`.
    pub accelerator: Option<Vendor>,
    /// What it is made for; empty: it needs none.
    pub accelerators: Vec<Vendor>,
    pub reference: String,
    pub digest: String,
    /// Absent where nothing is registered, or not for this project.
    pub trust: Option<TrustState>,
    /// The hash of the public key that stands for it.
    pub signer: Option<String>,
    pub channel: Option<String>,
    /// Verified, and published or promoted as far as this version asks.
    pub usable: bool,
    /// Whether it is made for the devices of the chosen allocation.
    pub fits: bool,
    pub reasons: Vec<FormReason>,
    pub chosen: bool,
    /// Release notes of this variant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notes: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FormAllocation {
    pub id: AllocationId,
    pub name: String,
    /// By slug.
    pub sku: String,
    pub shape: Shape,
    pub gpu_count: i64,
    pub vcpu: i64,
    pub memory_mib: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpu_model: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_name: Option<String>,
    /// Whether the node or any of the devices is made up.
    pub simulated: bool,
    pub state: AllocationState,
    pub fits: bool,
    /// Everything that keeps the launch from it.
    pub reasons: Vec<FormReason>,
    pub free: FormFree,
    /// Those that hold now.
    pub prices: Vec<Price>,
}

/// What instances leave of an allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FormFree {
    pub gpu_count: i64,
    pub cpu_millis: i64,
    pub memory_mib: i64,
}

/// A SKU that could be requested.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FormOffer {
    pub sku_id: SkuId,
    pub slug: String,
    pub display_name: String,
    pub shape: Shape,
    pub gpu_count: i64,
    pub gpu_vendor: Option<Vendor>,
    pub gpu_model: Option<String>,
    pub vcpu: i64,
    pub memory_mib: i64,
    pub fits: bool,
    pub reasons: Vec<FormReason>,
    pub grant_policy: GrantPolicy,
}

/// A place for storage in the containers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FormMount {
    pub name: String,
    pub path: String,
    pub kind: MountKind,
    pub read_only: bool,
    pub required: bool,
    /// Scratch, and every volume of the project.
    pub choices: Vec<MountChoice>,
    pub value: MountSource,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MountChoice {
    #[serde(flatten)]
    pub source: MountSource,
    pub title: String,
    /// Whether it can stand there now, on the chosen allocation.
    pub fits: bool,
    /// Everything that keeps it from there.
    pub reasons: Vec<FormReason>,
}

/// Something that may run beside the app, and what that takes (C-07).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FormAddon {
    pub name: String,
    pub kind: AddonKind,
    pub display_name: String,
    pub description: Option<String>,
    pub chosen: bool,
    /// Chosen add-ons that bring it; empty where it was chosen itself.
    pub required_by: Vec<String>,
    /// Add-ons that come with it.
    pub requires: Vec<String>,
    pub components: Vec<String>,
    /// Its own; what comes with it has its own entry.
    pub effect: AddonEffect,
    /// Whether the chosen allocation carries the launch with it.
    pub fits: bool,
    /// What keeps the launch from it.
    pub reasons: Vec<FormReason>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AddonEffect {
    pub cpu_millis: i64,
    pub memory_mib: i64,
    pub gpu_count: u32,
    pub storage_mib: i64,
    /// The part of the allocation's price that stands for it; the allocation is charged as a whole with or without.
    pub share: Option<PriceShare>,
}

/// So much in an hour.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PriceShare {
    pub amount_micros: i64,
    pub currency: String,
}

/// A component with devices of its own (C-09).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FormLane {
    /// What to send in `lanes`.
    pub name: String,
    pub component: String,
    pub runs: bool,
    pub gpu_count: ResourceField,
    pub tensor_parallel: ResourceField,
    pub min_gpu_memory_mib: Option<u32>,
    /// Those it would get now.
    pub gpus: Vec<FormGpu>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FormGpu {
    /// Which of the allocation's it is, counted from 0.
    pub slot: u32,
    pub uuid: String,
    pub model: String,
    pub memory_mib: i64,
    pub simulated: bool,
}

/// A component, and what it would get.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FormComponent {
    pub name: String,
    pub class: ComponentClass,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lane: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub addon: Option<String>,
    pub runs: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why_not: Option<String>,
    pub replicas: u32,
    /// Of each replica; nothing where it does not run.
    pub cpu_millis: i64,
    pub memory_mib: i64,
    pub gpu_count: u32,
}

/// How people may reach one port.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FormAccess {
    pub endpoint: String,
    pub component: String,
    pub port: u16,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    pub modes: Vec<FormAccessMode>,
    pub value: AccessMode,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FormAccessMode {
    pub mode: AccessMode,
    pub allowed: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FormReason {
    pub code: String,
    pub message: String,
}

impl FormReason {
    pub(super) fn new(code: &str, message: &str) -> Self {
        Self { code: code.to_owned(), message: message.to_owned() }
    }
}

impl From<FieldError> for FormReason {
    fn from(fault: FieldError) -> Self {
        Self { code: fault.code.to_owned(), message: fault.message }
    }
}

/// One fault of the request so far.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FormError {
    pub path: String,
    pub code: String,
    pub message: String,
}

impl From<FieldError> for FormError {
    fn from(fault: FieldError) -> Self {
        Self { path: fault.path, code: fault.code.to_owned(), message: fault.message }
    }
}

impl FormApp {
    pub(super) fn of(manifest: &Manifest, version_state: VersionState) -> Self {
        Self {
            slug: manifest.slug.to_string(),
            display_name: manifest.display_name.to_string(),
            description: manifest.description.clone(),
            publisher: manifest.publisher.as_ref().map(ToString::to_string),
            version: manifest.version.to_string(),
            version_state,
            notes: manifest.notes.clone(),
            ui: manifest
                .ui
                .as_ref()
                .map(|ui| FormUi { extension_kind: ui.extension_kind, path: ui.path.clone() }),
        }
    }
}

impl FormAllocation {
    pub(super) fn of(sku: &str, target: Target<'_>, reasons: Vec<FormReason>, now: Timestamp) -> Self {
        let allocation = target.allocation;
        let (cpu_millis, memory_mib) = target::free_share(target);
        Self {
            id: allocation.id,
            name: allocation.name.clone(),
            sku: sku.to_owned(),
            shape: allocation.shape,
            gpu_count: allocation.gpu_count,
            vcpu: allocation.vcpu,
            memory_mib: allocation.memory_mib,
            gpu_model: target.gpus.first().map(|gpu| gpu.model.clone()),
            node_name: target.node.map(|node| node.name.clone()),
            simulated: target.node.is_some_and(Node::is_simulated)
                || target.gpus.iter().any(|gpu| gpu.simulated),
            state: allocation.state,
            fits: reasons.is_empty(),
            reasons,
            free: FormFree {
                gpu_count: i64::try_from(target::free_gpus(target).len()).unwrap_or(i64::MAX),
                cpu_millis,
                memory_mib,
            },
            prices: prices_at(target.prices, now).into_iter().cloned().collect(),
        }
    }
}

impl FormMount {
    /// A place, what could stand there for an instance on this node, and what was chosen.
    pub(super) fn of(view: &View<'_>, mount: &Mount, wish: &Wish, node: Option<NodeId>) -> Self {
        let alive = view.volumes.iter().filter(|known| known.volume.state != VolumeState::Deleted);
        let volumes = alive.map(|known| {
            let source = MountSource::Volume { volume_id: known.volume.id, read_only: false };
            (source, format!("Volume {}", known.volume.name))
        });
        let scratch = (MountSource::Scratch, "Scratch: deleted with the instance".to_owned());
        let choices = std::iter::once(scratch).chain(volumes).map(|(source, title)| {
            let mut reasons: Vec<FieldError> =
                mounts::place_fault(view, mount, &source).into_iter().collect();
            let obstacles = mounts::obstacles(view, mount, &source, node);
            reasons.extend(obstacles.iter().flat_map(|error| error.field_errors().to_vec()));
            let fits = reasons.is_empty();
            MountChoice { source, title, fits, reasons: reasons.into_iter().map(FormReason::from).collect() }
        });
        Self {
            name: mount.name.clone(),
            path: mount.path.clone(),
            kind: mount.kind,
            read_only: mount.read_only,
            required: mount.required,
            choices: choices.collect(),
            value: mounts::chosen(wish, mount),
        }
    }
}

/// Each port that people may reach, and the ways to it (J-01, J-12): the manifest says which, and private is always there.
pub(super) fn access(
    manifest: &Manifest,
    composition: &Composition<'_>,
    picked: &BTreeMap<String, AccessMode>,
    ceiling: PublicAccess,
) -> Vec<FormAccess> {
    let mut all = Vec::new();
    for component in composition.running().map(|part| part.component) {
        for port in component.ports.iter().filter(|port| port.expose != Expose::Internal) {
            let outputs = manifest.outputs.iter().flat_map(|outputs| &outputs.endpoints);
            let title = outputs
                .filter(|output| output.component.as_ref().is_none_or(|name| *name == component.name))
                .find(|output| output.port == port.container)
                .and_then(|output| output.title.clone());
            let usual = access::modes(port.expose)[0];
            all.push(FormAccess {
                endpoint: port.name(),
                component: component.name.clone(),
                port: port.container,
                title,
                modes: OFFERED.iter().map(|mode| FormAccessMode::of(*mode, port.expose, ceiling)).collect(),
                value: picked.get(&port.name()).copied().unwrap_or(usual),
            });
        }
    }
    all
}

/// In the order of a list: the narrowest first.
const OFFERED: [AccessMode; 4] =
    [AccessMode::Private, AccessMode::PlatformProxy, AccessMode::EmbeddedUiGateway, AccessMode::Public];

impl FormAccessMode {
    fn of(mode: AccessMode, expose: Expose, ceiling: PublicAccess) -> Self {
        let reason = access::refusal(expose, mode, ceiling);
        Self { mode, allowed: reason.is_none(), reason: reason.map(str::to_owned) }
    }
}
