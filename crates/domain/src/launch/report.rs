//! What a plan tells beside what it does: the checks it passed, with what was found, the parts and what they take, and how
//! each engine would take it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::composition::{Composition, Part};
use super::target::slot_of;
use super::{PlannedArtifact, Target};
use crate::allocation::prices_at;
use crate::ids::GpuId;
use crate::manifest::{ComponentClass, ExecutionEngine, Manifest, Mib};
use crate::node::GpuDevice;
use crate::render::{self, Gap, RenderInput, Severity};
use crate::{Error, Result, Timestamp};

/// The checks of a launch, in the order in which they are made (B-06). The first that fails ends it: nothing after it is
/// looked at, and nothing is rendered or sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CheckName {
    /// The project may launch this version.
    Entitlement,
    /// Limits and budgets leave room for it.
    Quota,
    /// Values, add-ons, lanes and amounts are within what the profile allows.
    Values,
    /// The allocation and its node take work.
    Allocation,
    /// The allocation is of a kind that the app runs on.
    Compatibility,
    /// The node has what the app needs.
    Capabilities,
    /// Each lane has devices of its own.
    Gpus,
    /// Processors and memory.
    Resources,
    /// What stands at the places for storage.
    Storage,
    /// Images are registered, verified and released as far as this version asks.
    Artifacts,
    /// Who reaches which endpoint.
    Exposure,
    /// The secrets it needs, by name.
    Secrets,
    /// What its components may do.
    Security,
    /// An engine of the platform runs it.
    Engine,
}

impl CheckName {
    pub fn name(self) -> &'static str {
        match self {
            Self::Entitlement => "entitlement",
            Self::Quota => "quota",
            Self::Values => "values",
            Self::Allocation => "allocation",
            Self::Compatibility => "compatibility",
            Self::Capabilities => "capabilities",
            Self::Gpus => "gpus",
            Self::Resources => "resources",
            Self::Storage => "storage",
            Self::Artifacts => "artifacts",
            Self::Exposure => "exposure",
            Self::Secrets => "secrets",
            Self::Security => "security",
            Self::Engine => "engine",
        }
    }
}

/// One check, and what was found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlanCheck {
    pub name: CheckName,
    /// Of a plan only `engine` can have failed: everything else would have refused it.
    pub passed: bool,
    pub message: String,
    /// What was looked at, by name.
    pub evidence: Map<String, Value>,
}

/// The checks so far.
#[derive(Default)]
pub(super) struct Checks(Vec<PlanCheck>);

impl Checks {
    /// Notes what was found, or ends with a refusal that names the check.
    pub(super) fn require<T>(
        &mut self,
        name: CheckName,
        found: Result<T>,
        told: impl FnOnce(&T) -> (String, Value),
    ) -> Result<T> {
        let found = found.map_err(|error| failed(name, error))?;
        let (message, evidence) = told(&found);
        self.note(name, true, message, evidence);
        Ok(found)
    }

    pub(super) fn note(&mut self, name: CheckName, passed: bool, message: String, evidence: Value) {
        let evidence = match evidence {
            Value::Object(map) => map,
            _ => Map::new(),
        };
        self.0.push(PlanCheck { name, passed, message, evidence });
    }

    pub(super) fn done(self) -> Vec<PlanCheck> {
        self.0
    }
}

/// The refusal, with the name of the check that made it.
pub(super) fn failed(name: CheckName, error: Error) -> Error {
    error.with_param("check", name.name())
}

/// A component as it will run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlannedComponent {
    pub name: String,
    pub class: ComponentClass,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lane: Option<String>,
    /// The add-on that brings it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub addon: Option<String>,
    pub artifact: PlannedArtifact,
    pub replicas: u32,
    /// Of each replica.
    pub cpu_millis: i64,
    pub memory_mib: i64,
    pub gpu_ids: Vec<GpuId>,
    pub gpus: Vec<String>,
    /// How many devices hold one model together; nothing without devices.
    pub tensor_parallel: u32,
    /// Components that are ready before it starts.
    pub depends_on: Vec<String>,
}

impl PlannedComponent {
    pub(super) fn of(
        part: &Part<'_>,
        artifact: PlannedArtifact,
        gpus: &[&GpuDevice],
        depends_on: Vec<String>,
    ) -> Self {
        Self {
            name: part.component.name.clone(),
            class: part.component.class,
            lane: part.component.lane.clone(),
            addon: part.addon.map(str::to_owned),
            artifact,
            replicas: part.replicas,
            cpu_millis: part.cpu_millis,
            memory_mib: part.memory_mib,
            gpu_ids: gpus.iter().map(|gpu| gpu.id).collect(),
            gpus: gpus.iter().map(|gpu| gpu.device_uuid.clone()).collect(),
            tensor_parallel: part.tensor_parallel,
            depends_on,
        }
    }
}

/// An add-on that is on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlannedAddon {
    pub name: String,
    /// The chosen add-ons that bring it; empty where it was chosen itself.
    pub brought_by: Vec<String>,
    pub components: Vec<String>,
    pub storage_mib: Option<u32>,
}

pub(super) fn addons(manifest: &Manifest, composition: &Composition<'_>) -> Vec<PlannedAddon> {
    let one = |chosen: &super::composition::ChosenAddon<'_>| {
        let addon = manifest.addons.iter().find(|addon| addon.name == chosen.name);
        PlannedAddon {
            name: chosen.name.to_owned(),
            brought_by: chosen.brought_by.iter().map(|name| (*name).to_owned()).collect(),
            components: composition
                .running()
                .filter(|part| part.addon == Some(chosen.name))
                .map(|part| part.component.name.clone())
                .collect(),
            storage_mib: addon.and_then(|addon| addon.storage_mib).map(|Mib(mib)| mib),
        }
    };
    composition.addons.iter().map(one).collect()
}

/// What the launch stands for in money. The allocation is charged as a whole, whatever runs on it: a line says how much of
/// it a component takes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Quote {
    /// Absent where the allocation has no price.
    pub currency: Option<String>,
    pub allocation_micros_per_hour: Option<i64>,
    pub lines: Vec<QuoteLine>,
    pub note: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct QuoteLine {
    pub component: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub addon: Option<String>,
    /// Of all its replicas.
    pub gpu_count: u32,
    pub cpu_millis: i64,
    pub memory_mib: i64,
    /// The part of the allocation's price that stands for it: the largest of its parts of GPUs, processors and memory.
    pub share_micros_per_hour: Option<i64>,
}

const NOTE: &str = "The allocation is charged as a whole, whatever runs on it; launching adds nothing. A line says which part of that price stands for what the component takes.";

/// What an allocation costs in an hour, in the first of its currencies.
pub(crate) fn hourly(target: Target<'_>, now: Timestamp) -> Option<(String, i64)> {
    let prices = prices_at(target.prices, now);
    let price = prices.into_iter().find(|price| price.unit == "allocation_seconds" && price.per_units > 0)?;
    let micros = i128::from(price.amount_micros) * 3600 / i128::from(price.per_units);
    Some((price.currency.clone(), i64::try_from(micros).ok()?))
}

/// The part of a price that stands for these needs.
pub(crate) fn part_of(target: Target<'_>, price: i64, needs: super::Needs) -> i64 {
    let allocation = target.allocation;
    let part = |taken: i64, all: i64| {
        if all <= 0 { 0 } else { i128::from(price) * i128::from(taken.clamp(0, all)) / i128::from(all) }
    };
    let parts = [
        part(i64::from(needs.gpu_count), allocation.gpu_count),
        part(needs.cpu_millis, allocation.vcpu.saturating_mul(1000)),
        part(needs.memory_mib, allocation.memory_mib),
    ];
    parts.into_iter().max().and_then(|largest| i64::try_from(largest).ok()).unwrap_or(price)
}

pub(super) fn quote(composition: &Composition<'_>, target: Target<'_>, now: Timestamp) -> Quote {
    let price = hourly(target, now);
    let line = |part: &Part<'_>| {
        let needs = part.needs();
        QuoteLine {
            component: part.component.name.clone(),
            addon: part.addon.map(str::to_owned),
            gpu_count: needs.gpu_count,
            cpu_millis: needs.cpu_millis,
            memory_mib: needs.memory_mib,
            share_micros_per_hour: price.as_ref().map(|(_, micros)| part_of(target, *micros, needs)),
        }
    };
    Quote {
        lines: composition.running().map(line).collect(),
        currency: price.as_ref().map(|(currency, _)| currency.clone()),
        allocation_micros_per_hour: price.map(|(_, micros)| micros),
        note: NOTE.to_owned(),
    }
}

/// How an engine that the profile lists would take it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlannedEngine {
    pub engine: ExecutionEngine,
    /// Whether this platform runs it.
    pub available: bool,
    /// Whether everything could be said in its words.
    pub renders: bool,
    /// Of what it would be given, apart from the names that an instance gets when it is made.
    pub digest: Option<String>,
    /// What it takes otherwise than written, or not at all.
    pub gaps: Vec<PlannedGap>,
}

/// Something that an engine takes otherwise than written, or not at all.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlannedGap {
    /// A JSON pointer into what is rendered.
    pub path: String,
    pub code: String,
    pub message: String,
    pub severity: Severity,
}

impl From<Gap> for PlannedGap {
    fn from(gap: Gap) -> Self {
        Self { path: gap.path, code: gap.code.to_owned(), message: gap.message, severity: gap.severity }
    }
}

/// Whether an engine of this platform runs it now.
pub(super) fn is_available(engine: ExecutionEngine, input: &RenderInput) -> bool {
    engine == ExecutionEngine::NodeAgent && input.components.len() == 1
}

pub(super) fn engines(listed: &[ExecutionEngine], input: &RenderInput) -> Vec<PlannedEngine> {
    let preview = RenderInput { identity: input.identity.clone().as_preview(), ..input.clone() };
    let one = |engine: &ExecutionEngine| {
        let (digest, gaps) = match render::render(*engine, &preview) {
            Ok(rendered) => (Some(rendered.digest), rendered.gaps),
            Err(refusal) => (None, refusal.gaps),
        };
        PlannedEngine {
            engine: *engine,
            available: is_available(*engine, input),
            renders: digest.is_some(),
            digest,
            gaps: gaps.into_iter().map(PlannedGap::from).collect(),
        }
    };
    listed.iter().map(one).collect()
}

/// The evidence of the GPU check.
pub(super) fn bound(
    composition: &Composition<'_>,
    sets: &[Vec<&GpuDevice>],
    target: Target<'_>,
) -> (String, Value) {
    let lanes: Map<String, Value> = composition
        .parts
        .iter()
        .zip(sets)
        .filter(|(_, set)| !set.is_empty())
        .map(|(part, set)| {
            let numbers: Vec<u32> = set.iter().map(|gpu| slot_of(target, gpu)).collect();
            (part.component.name.clone(), json!(numbers))
        })
        .collect();
    let message = match composition.total.gpu_count {
        0 => "No GPU is needed.".to_owned(),
        1 => "1 GPU is bound.".to_owned(),
        count => format!("{count} GPUs are bound, none of them twice."),
    };
    (message, json!({ "needed": composition.total.gpu_count, "slots": lanes }))
}
