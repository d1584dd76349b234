//! Planning without a platform: a manifest on a made-up allocation that has room for it, with images that count as verified.
//! Authors see what their profile becomes before anything is published; golden files of the curated apps are made so.

use std::sync::Arc;

use gpuaas_agent_protocol::inventory::{NodeInventory, Runtime, Vendor};
use uuid::Uuid;

use super::{KnownImage, Planned, Target, View, Wish, plan};
use crate::access::PublicAccess;
use crate::allocation::{Allocation, AllocationState, BoundaryMode, Shape};
use crate::artifact::{
    Artifact, ArtifactState, Channels, Repository, Trust, TrustMode, TrustState, Visibility,
};
use crate::entitlement::{Layers, Terms};
use crate::ids::{
    AllocationId, AppVersionId, ArtifactId, GpuId, NodeId, ProjectId, RepositoryId, SkuId, TenantId,
};
use crate::launch_form::resolution::{Memo, Prepared};
use crate::manifest::ladder::VersionState;
use crate::manifest::{CapacityShape, Manifest, Mib};
use crate::node::{GpuDevice, Node, NodeStanding};
use crate::preset::Defaults;
use crate::{Result, Timestamp};

/// Enough for any profile that the platform's own limits allow.
const GPUS: i64 = 16;
const VCPU: i64 = 4096;
const MEMORY_MIB: i64 = 16 * 1024 * 1024;

/// A platform that is not there.
pub struct Offline {
    manifest: Manifest,
    prepared: Arc<Prepared>,
    allocation: Allocation,
    node: Node,
    gpus: Vec<GpuDevice>,
    images: Vec<KnownImage>,
    entitlement: Layers,
    channels: Channels,
    defaults: Defaults,
    version: AppVersionId,
}

/// The devices that are made up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Devices {
    pub vendor: Vendor,
    pub model: String,
    pub memory_mib: i64,
}

impl Devices {
    /// Those that a profile is made for: of the first accelerator it names, as large as it needs them.
    pub fn of(manifest: &Manifest) -> Self {
        let variants = manifest.artifacts.iter().flat_map(|artifact| &artifact.variants);
        let variant = variants.into_iter().find(|variant| !variant.accelerators.is_empty());
        let vendor = manifest.compatibility.supported_accelerators.first().copied();
        let vendor = vendor.or(variant.and_then(|variant| variant.accelerators.first().copied()));
        let model = variant.and_then(|variant| variant.gpu_models.first().cloned());
        let floors = manifest.components.iter().filter_map(|component| component.min_gpu_memory_mib);
        let floor =
            floors.chain(manifest.compatibility.min_gpu_memory_mib).map(|Mib(mib)| i64::from(mib)).max();
        Self {
            vendor: vendor.unwrap_or(Vendor::Nvidia),
            model: model.unwrap_or_else(|| "h200".to_owned()),
            memory_mib: floor.unwrap_or(0).max(143_360),
        }
    }
}

impl Offline {
    pub fn new(manifest: &Manifest, devices: &Devices) -> Self {
        let at = Timestamp::from_unix_seconds(0).expect("the beginning of time is one");
        let node = node(at);
        let shape = match manifest.compatibility.requires_capacity_shape.first() {
            Some(CapacityShape::GpuSlice) if !manifest.compatibility.requires_exclusive_node => {
                Shape::GpuSlice
            }
            _ => Shape::Baremetal,
        };
        let gpu = |index: i64| GpuDevice {
            id: GpuId::new(Uuid::from_u128(0x100 + u128::from(index.unsigned_abs()))),
            node_id: node.id,
            device_uuid: format!("GPU-{index}"),
            index,
            vendor: devices.vendor,
            model: devices.model.clone(),
            memory_mib: devices.memory_mib,
            simulated: true,
            present: true,
            quarantined: false,
        };
        let mut manifest = manifest.clone();
        // Nothing is known of the node that it will run on.
        manifest.compatibility.required_capabilities.clear();
        let profile = manifest.expand();
        let images = profile.components.iter().flat_map(|component| &component.images);
        let images = images.map(|image| KnownImage {
            reference: image.reference.to_string(),
            canonical: image.reference.clone(),
            artifact: Some(artifact(image.reference.digest().clone(), at)),
        });
        Self {
            images: images.collect(),
            allocation: allocation(shape, node.id, at),
            gpus: (0..GPUS).map(gpu).collect(),
            node,
            entitlement: Layers {
                tenant: Some(Terms { enabled: true, ..Terms::default() }),
                ..Layers::default()
            },
            channels: Channels::default(),
            defaults: Defaults::default(),
            version: AppVersionId::new(Uuid::from_u128(5)),
            prepared: Arc::new(Prepared::of(&manifest)),
            manifest,
        }
    }

    pub fn view(&self) -> View<'_> {
        View {
            version_id: self.version,
            manifest: &self.manifest,
            prepared: self.prepared.clone(),
            resolved: Memo::default(),
            version_state: VersionState::Active,
            existing: false,
            entitlement: &self.entitlement,
            images: &self.images,
            trust: TrustMode::Enforce,
            channels: &self.channels,
            boundary: BoundaryMode::DedicatedNode,
            public_ceiling: PublicAccess::Off,
            volumes: &[],
            quotas: &[],
            defaults: &self.defaults,
            now: self.allocation.updated_at,
        }
    }

    pub fn target(&self) -> Target<'_> {
        Target {
            allocation: &self.allocation,
            node: Some(&self.node),
            gpus: &self.gpus,
            gpus_in_use: &[],
            cpu_millis_in_use: 0,
            memory_mib_in_use: 0,
            ports_in_use: &[],
            prices: &[],
        }
    }

    pub fn plan(&self, wish: &Wish) -> Result<Planned> {
        plan(&self.view(), self.target(), wish)
    }
}

fn node(at: Timestamp) -> Node {
    Node {
        id: NodeId::new(Uuid::from_u128(1)),
        name: "offline".to_owned(),
        standing: NodeStanding::Active,
        cordoned: false,
        draining: false,
        agent_version: String::new(),
        agent_connected_at: Some(at),
        last_seen_at: None,
        inventory: NodeInventory {
            agent_version: String::new(),
            protocol: gpuaas_agent_protocol::PROTOCOL,
            hostname: "offline".to_owned(),
            os: String::new(),
            kernel: String::new(),
            architecture: "amd64".to_owned(),
            cpus: u32::try_from(VCPU).unwrap_or(u32::MAX),
            memory_mib: u32::try_from(MEMORY_MIB).unwrap_or(u32::MAX),
            disk_total_mib: 1,
            disk_free_mib: 1,
            runtime: Runtime::Simulated,
            gpus: Vec::new(),
            problems: Vec::new(),
            warnings: Vec::new(),
        },
        inventory_at: at,
        version: 1,
        created_at: at,
        updated_at: at,
    }
}

fn allocation(shape: Shape, node: NodeId, at: Timestamp) -> Allocation {
    Allocation {
        id: AllocationId::new(Uuid::from_u128(2)),
        tenant_id: TenantId::new(Uuid::from_u128(3)),
        project_id: ProjectId::new(Uuid::from_u128(4)),
        name: "offline".to_owned(),
        sku_id: SkuId::new(Uuid::from_u128(6)),
        node_id: Some(node),
        state: AllocationState::Active,
        shape,
        gpu_count: GPUS,
        vcpu: VCPU,
        memory_mib: MEMORY_MIB,
        requested_by_kind: String::new(),
        requested_by_id: String::new(),
        note: None,
        requested_at: at,
        active_at: Some(at),
        releasing_at: None,
        released_at: None,
        version: 1,
        updated_at: at,
    }
}

fn artifact(digest: gpuaas_agent_protocol::Digest, at: Timestamp) -> Artifact {
    Artifact {
        id: ArtifactId::new(Uuid::from_u128(7)),
        repository: Repository {
            id: RepositoryId::new(Uuid::from_u128(8)),
            tenant_id: TenantId::new(Uuid::from_u128(3)),
            project_id: ProjectId::new(Uuid::from_u128(4)),
            namespace: "offline".to_owned(),
            app_slug: "offline".to_owned(),
            visibility: Visibility::Platform,
            version: 1,
            created_at: at,
            updated_at: at,
        },
        digest,
        tag: None,
        media_type: String::new(),
        size_bytes: 0,
        variant: None,
        source: serde_json::Value::Null,
        state: ArtifactState::Promoted,
        channel: Some("production".to_owned()),
        trust: Trust { state: TrustState::Verified, ..Trust::unverified(None) },
        created_by_kind: String::new(),
        created_by_id: String::new(),
        version: 1,
        created_at: at,
        updated_at: at,
    }
}
