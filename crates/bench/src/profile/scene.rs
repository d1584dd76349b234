//! A project that may launch one app, with an allocation of eight GPUs: what a plan looks at.

use gpuaas_agent_protocol::PROTOCOL;
use gpuaas_agent_protocol::inventory::{NodeInventory, Runtime, Vendor};
use gpuaas_domain::Timestamp;
use gpuaas_domain::access::PublicAccess;
use gpuaas_domain::allocation::{Allocation, AllocationState, BoundaryMode, Shape};
use gpuaas_domain::artifact::{
    Artifact, ArtifactState, Channels, Repository, Trust, TrustMode, TrustState, Visibility,
};
use gpuaas_domain::entitlement::{Layers, Terms};
use gpuaas_domain::ids::{
    AllocationId, AppVersionId, ArtifactId, GpuId, NodeId, ProjectId, RepositoryId, SkuId, TenantId,
};
use gpuaas_domain::launch::{KnownImage, Target, View};
use gpuaas_domain::launch_form::{Form, FormView, Wanted, resolve};
use gpuaas_domain::manifest::ladder::VersionState;
use gpuaas_domain::manifest::{Format, Manifest, parse};
use gpuaas_domain::node::{GpuDevice, Node, NodeStanding};
use serde_json::Value;
use uuid::Uuid;

use crate::Result;

const GPUS: u8 = 8;

/// Reads a profile, with an image where the source has one to be built.
pub(crate) fn manifest(source: &str) -> Result<Manifest> {
    let image = format!("registry.gpuaas.example.com/apps/x@sha256:{}", "0123456789abcdef".repeat(4));
    let text = source.replace("{build: vllm-openai}", &image);
    let document = parse(text.as_bytes(), Format::Yaml).map_err(|faults| format!("{faults:?}"))?;
    Ok(document.manifest)
}

pub(crate) struct Scene {
    manifest: Manifest,
    images: Vec<KnownImage>,
    layers: Layers,
    channels: Channels,
    allocation: Allocation,
    node: Node,
    gpus: Vec<GpuDevice>,
    now: Timestamp,
}

impl Scene {
    pub(crate) fn of(manifest: &Manifest) -> Result<Self> {
        let now = Timestamp::from_unix_seconds(1_800_000_000).ok_or("a time")?;
        let images = manifest.named_images().into_iter();
        let images = images.map(|(_, reference)| KnownImage {
            reference: reference.to_string(),
            canonical: reference.clone(),
            artifact: Some(artifact(reference.digest().clone(), now)),
        });
        Ok(Self {
            images: images.collect(),
            manifest: manifest.clone(),
            layers: Layers { tenant: Some(Terms { enabled: true, ..Terms::default() }), ..Layers::default() },
            channels: Channels::default(),
            allocation: allocation(now),
            node: node(now),
            gpus: (0..GPUS).map(gpu).collect(),
            now,
        })
    }

    pub(crate) fn view(&self) -> View<'_> {
        View {
            version_id: AppVersionId::new(Uuid::from_u128(5)),
            manifest: &self.manifest,
            version_state: VersionState::Active,
            existing: false,
            entitlement: &self.layers,
            images: &self.images,
            trust: TrustMode::Enforce,
            channels: &self.channels,
            boundary: BoundaryMode::DedicatedNode,
            public_ceiling: PublicAccess::Off,
            volumes: &[],
            now: self.now,
        }
    }

    pub(crate) fn target(&self) -> Target<'_> {
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

    /// The form as it is before anything is chosen.
    pub(crate) fn form(&self) -> Result<Form> {
        let view = FormView {
            app: self.view(),
            project_slug: "acme-lab",
            versions: &[],
            recommended: None,
            targets: &[],
            skus: &[],
        };
        Ok(resolve(&view, &Wanted::default()).map_err(|error| error.to_string())?.0)
    }
}

fn artifact(digest: gpuaas_agent_protocol::Digest, now: Timestamp) -> Artifact {
    Artifact {
        id: ArtifactId::new(Uuid::from_u128(8)),
        repository: Repository {
            id: RepositoryId::new(Uuid::from_u128(9)),
            tenant_id: TenantId::new(Uuid::from_u128(2)),
            project_id: ProjectId::new(Uuid::from_u128(3)),
            namespace: "platform".into(),
            app_slug: "app".into(),
            visibility: Visibility::Platform,
            version: 1,
            created_at: now,
            updated_at: now,
        },
        digest,
        tag: None,
        media_type: String::new(),
        size_bytes: 1,
        variant: None,
        source: Value::Null,
        state: ArtifactState::Promoted,
        channel: Some("production".into()),
        trust: Trust { state: TrustState::Verified, ..Trust::unverified(None) },
        created_by_kind: String::new(),
        created_by_id: String::new(),
        version: 1,
        created_at: now,
        updated_at: now,
    }
}

fn allocation(now: Timestamp) -> Allocation {
    Allocation {
        id: AllocationId::new(Uuid::from_u128(100)),
        tenant_id: TenantId::new(Uuid::from_u128(2)),
        project_id: ProjectId::new(Uuid::from_u128(3)),
        name: "large".into(),
        sku_id: SkuId::new(Uuid::from_u128(1)),
        node_id: Some(NodeId::new(Uuid::from_u128(1))),
        state: AllocationState::Active,
        shape: Shape::Baremetal,
        gpu_count: i64::from(GPUS),
        vcpu: 32,
        memory_mib: 131_072,
        requested_by_kind: "user".into(),
        requested_by_id: "x".into(),
        note: None,
        requested_at: now,
        active_at: Some(now),
        releasing_at: None,
        released_at: None,
        version: 1,
        updated_at: now,
    }
}

fn gpu(index: u8) -> GpuDevice {
    GpuDevice {
        id: GpuId::new(Uuid::from_u128(1000 + u128::from(index))),
        node_id: NodeId::new(Uuid::from_u128(1)),
        device_uuid: format!("GPU-{index}"),
        index: i64::from(index),
        vendor: Vendor::Nvidia,
        model: "h200".into(),
        memory_mib: 143_360,
        simulated: false,
        present: true,
        quarantined: false,
    }
}

fn node(now: Timestamp) -> Node {
    Node {
        id: NodeId::new(Uuid::from_u128(1)),
        name: "node-1".into(),
        standing: NodeStanding::Active,
        cordoned: false,
        draining: false,
        agent_version: "1.0.0".into(),
        agent_connected_at: Some(now),
        last_seen_at: None,
        inventory: NodeInventory {
            agent_version: "1.0.0".into(),
            protocol: PROTOCOL,
            hostname: "node-1".into(),
            os: "Debian".into(),
            kernel: "6".into(),
            architecture: "amd64".into(),
            cpus: 64,
            memory_mib: 262_144,
            disk_total_mib: 1,
            disk_free_mib: 1,
            runtime: Runtime::Docker {
                version: "29".into(),
                api_version: "1.52".into(),
                runc_version: None,
                nvidia: true,
            },
            gpus: Vec::new(),
            problems: Vec::new(),
            warnings: Vec::new(),
        },
        inventory_at: now,
        version: 1,
        created_at: now,
        updated_at: now,
    }
}
