//! One instance with everything that its page shows.

use gpuaas_agent_protocol::image::ImageRef;
use gpuaas_agent_protocol::inventory::Runtime;
use gpuaas_agent_protocol::spec::WorkloadSpec;
use gpuaas_domain::artifact::Artifact;
use gpuaas_domain::iam::{Permission, TenantScope};
use gpuaas_domain::ids::{InstanceId, ProjectId};
use gpuaas_domain::instance::{Component, Endpoint, Instance, Member, TimelineEntry};
use gpuaas_domain::launch::{Needs, PlannedMount, Wish};
use gpuaas_domain::manifest::{Manifest, OutputEndpoint};
use gpuaas_domain::node::Node;
use gpuaas_domain::{Error, Result};
use gpuaas_store::Session;
use gpuaas_store::catalog::StoredVersion;
use serde_json::{Map, Value};

use super::catalog::manifest_of;
use super::launch::recalled;
use crate::OpContext;

/// An instance with everything around it.
pub struct Detail {
    pub instance: Instance,
    pub node: Option<Node>,
    pub members: Vec<Member>,
    pub components: Vec<Component>,
    pub endpoints: Vec<Endpoint>,
    pub gpus: Vec<String>,
    /// What it runs from, and what is known about that today.
    pub image: Option<(ImageRef, Option<Artifact>)>,
    pub manifest: Manifest,
    pub values: Map<String, Value>,
    /// What its components hold together.
    pub needs: Needs,
    /// The vendor of its devices, if it has any.
    pub accelerator: &'static str,
    /// What stands at each place for storage that the app declares.
    pub mounts: Vec<PlannedMount>,
    pub simulated: bool,
    pub recent: Vec<TimelineEntry>,
}

impl Detail {
    /// Where an endpoint opens: its own path, else for the app's page the page's.
    pub fn path(&self, endpoint: &Endpoint) -> String {
        let page = self.manifest.ui.as_ref().filter(|_| endpoint.expose == "embedded_ui_gateway");
        let own = self.output(endpoint).and_then(|output| output.path.clone());
        own.or_else(|| page.map(|ui| ui.path.clone())).unwrap_or_else(|| "/".to_owned())
    }

    pub fn title(&self, endpoint: &Endpoint) -> Option<String> {
        self.output(endpoint)?.title.clone()
    }

    fn output(&self, endpoint: &Endpoint) -> Option<&OutputEndpoint> {
        let outputs = self.manifest.outputs.iter().flat_map(|outputs| &outputs.endpoints);
        outputs
            .filter(|output| output.component.as_ref().is_none_or(|name| *name == endpoint.component))
            .find(|output| i64::from(output.port) == endpoint.port)
    }
}

pub async fn get(ctx: &OpContext, project: ProjectId, id: InstanceId) -> Result<Detail> {
    let permit = ctx.permit_project(Permission::InstanceRead, project).await?;
    let mut session = ctx.plane.store.read().await?;
    let instance = session.find_instance(permit.tenant_scope(), id).await?.ok_or_else(Error::not_found)?;
    let node = session.find_node(instance.node_id).await?;
    let revision = session
        .find_revision(instance.revision_id)
        .await?
        .ok_or_else(|| Error::internal("an instance without its revision"))?;
    let spec: Option<WorkloadSpec> = serde_json::from_str(&revision.rendered).ok();
    let ordered = spec.map(|spec| spec.components).unwrap_or_default();
    let version = session
        .find_app_version_by_id(instance.app_version_id)
        .await?
        .ok_or_else(|| Error::internal("an instance without its version"))?;
    let mut components = session.list_components(id).await?;
    // Until its node has spoken, what was ordered is all that is known.
    if components.is_empty() {
        components.extend(ordered.iter().map(|one| Component::unseen(&one.name)));
    }
    let image = match ordered.first() {
        None => None,
        Some(first) => Some(trace_image(&mut session, &version, &first.image.reference).await?),
    };
    let manifest = manifest_of(&version)?;
    let wish = recalled(&revision.wish);
    let mounts = mounts(&mut session, permit.tenant_scope(), &manifest, &wish).await?;
    let needs = Needs {
        gpu_count: ordered.iter().map(|one| u32::try_from(one.gpus.len()).unwrap_or(u32::MAX)).sum(),
        cpu_millis: ordered.iter().map(|one| i64::from(one.cpu_millis)).sum(),
        memory_mib: ordered.iter().map(|one| i64::from(one.memory_mib)).sum(),
    };
    let bound: Vec<_> = ordered.into_iter().flat_map(|one| one.gpus).collect();
    Ok(Detail {
        members: session.list_members(id).await?,
        components,
        endpoints: session.list_endpoints(id).await?,
        recent: session.recent_timeline(id, 20).await?,
        simulated: node.as_ref().is_some_and(|node| node.inventory.runtime == Runtime::Simulated)
            || bound.iter().any(|gpu| gpu.simulated),
        needs,
        accelerator: bound.first().map_or("", |gpu| gpu.vendor.name()),
        gpus: bound.into_iter().map(|gpu| gpu.uuid).collect(),
        image,
        manifest,
        values: wish.values,
        mounts,
        node,
        instance,
    })
}

/// As the launch had it. A volume that was deleted since keeps its name.
async fn mounts(
    session: &mut Session,
    scope: TenantScope,
    manifest: &Manifest,
    wish: &Wish,
) -> Result<Vec<PlannedMount>> {
    let mut all = Vec::new();
    for mount in manifest.resources.iter().flat_map(|resources| &resources.mounts) {
        let source = wish.mounts.get(&mount.name).cloned().unwrap_or_default();
        let volume = match source.volume() {
            None => None,
            Some(id) => session.find_volume(scope, id).await?,
        };
        all.push(PlannedMount {
            name: mount.name.clone(),
            path: mount.path.clone(),
            kind: mount.kind,
            read_only: source.is_read_only(mount.read_only),
            source,
            volume_name: volume.map(|volume| volume.name),
        });
    }
    Ok(all)
}

/// The artifact behind an image that runs. Its name may be another today, its digest is not.
async fn trace_image(
    session: &mut Session,
    version: &StoredVersion,
    reference: &ImageRef,
) -> Result<(ImageRef, Option<Artifact>)> {
    for image in session.list_version_images(version.id).await? {
        if image.digest == *reference.digest() {
            let artifact = session.find_artifact_by_digest(&image.path, &image.digest).await?;
            return Ok((reference.clone(), artifact));
        }
    }
    Ok((reference.clone(), None))
}
