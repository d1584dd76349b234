//! What plans and forms look at, loaded once and lent to the pure code.

use std::sync::Arc;

use gpuaas_domain::allocation::{Allocation, Price};
use gpuaas_domain::entitlement::Layers;
use gpuaas_domain::ids::{AppVersionId, ProjectId, TenantId};
use gpuaas_domain::launch::{KnownImage, QuotaUse, Target, View};
use gpuaas_domain::launch_form::resolution::Memo;
use gpuaas_domain::manifest::ladder::VersionState;
use gpuaas_domain::node::{GpuDevice, Node};
use gpuaas_domain::preset::Defaults;
use gpuaas_domain::volume::KnownVolume;
use gpuaas_domain::{Error, Result};
use gpuaas_store::Session;
use gpuaas_store::allocations::InUse;
use gpuaas_store::catalog::StoredVersion;

use super::catalog::state_of;
use crate::plane::ControlPlane;
use crate::profiles::ReadProfile;

/// A version with everything around it that a plan looks at.
pub(super) struct World {
    version: AppVersionId,
    profile: Arc<ReadProfile>,
    state: VersionState,
    layers: Layers,
    images: Vec<KnownImage>,
    volumes: Vec<KnownVolume>,
    quotas: Vec<QuotaUse>,
    defaults: Defaults,
}

impl World {
    pub(super) async fn load(
        plane: &ControlPlane,
        session: &mut Session,
        version: &StoredVersion,
        owner: (TenantId, ProjectId),
        volumes: Vec<KnownVolume>,
        quotas: Vec<QuotaUse>,
    ) -> Result<Self> {
        Ok(Self {
            version: version.id,
            profile: plane.profiles.of(version)?,
            state: state_of(version)?,
            layers: session.entitlement_layers(owner.0, owner.1, &version.app_slug).await?,
            images: known_images(plane, session, version, owner).await?,
            volumes,
            quotas,
            defaults: super::presets::defaults(plane, session, owner.1, &version.app_slug).await?,
        })
    }

    pub(super) fn view<'a>(&'a self, plane: &'a ControlPlane, existing: bool) -> View<'a> {
        let registry = &plane.settings.registry;
        View {
            version_id: self.version,
            manifest: &self.profile.manifest,
            prepared: self.profile.prepared.clone(),
            resolved: Memo::default(),
            version_state: self.state,
            existing,
            entitlement: &self.layers,
            images: &self.images,
            trust: registry.trust,
            channels: &registry.channels,
            boundary: plane.settings.launch.boundary,
            public_ceiling: plane.settings.gateway.public_ceiling,
            volumes: &self.volumes,
            quotas: &self.quotas,
            defaults: &self.defaults,
            now: plane.now(),
        }
    }
}

/// An allocation with what is free of it.
pub(super) struct LoadedTarget {
    pub(super) allocation: Allocation,
    node: Option<Node>,
    gpus: Vec<GpuDevice>,
    in_use: InUse,
    ports: Vec<i64>,
    prices: Vec<Price>,
}

impl LoadedTarget {
    pub(super) async fn load(session: &mut Session, allocation: Allocation) -> Result<Self> {
        let node = match allocation.node_id {
            None => None,
            Some(id) => {
                let found = session.find_node(id).await?;
                Some(found.ok_or_else(|| Error::internal("an allocation without its node"))?)
            }
        };
        let ports = match &node {
            None => Vec::new(),
            Some(node) => session.ports_in_use(node.id).await?,
        };
        Ok(Self {
            gpus: session.allocation_gpus(allocation.id).await?,
            in_use: session.allocation_in_use(allocation.id).await?,
            ports,
            prices: session.list_prices(allocation.sku_id).await?,
            node,
            allocation,
        })
    }

    pub(super) fn view(&self) -> Target<'_> {
        Target {
            allocation: &self.allocation,
            node: self.node.as_ref(),
            gpus: &self.gpus,
            gpus_in_use: &self.in_use.gpus,
            cpu_millis_in_use: self.in_use.cpu_millis,
            memory_mib_in_use: self.in_use.memory_mib,
            ports_in_use: &self.ports,
            prices: &self.prices,
        }
    }
}

/// What a version's references mean, as far as the project may know.
async fn known_images(
    plane: &ControlPlane,
    session: &mut Session,
    version: &StoredVersion,
    (tenant, project): (TenantId, ProjectId),
) -> Result<Vec<KnownImage>> {
    let names = &plane.registry().names;
    let mut known = Vec::new();
    for image in session.list_version_images(version.id).await? {
        let artifact = session.find_artifact_by_digest(&image.path, &image.digest).await?;
        let artifact = artifact.filter(|artifact| {
            names.allows(&image.path) && artifact.repository.is_visible_to(tenant, project)
        });
        let canonical = names.reference(&image.path, &image.digest)?;
        known.push(KnownImage { reference: image.reference, canonical, artifact });
    }
    Ok(known)
}
