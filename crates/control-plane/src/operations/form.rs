//! The launch form of one app in one project. It changes nothing: what it reads is what a plan reads, for every allocation
//! of the project.

use std::collections::BTreeMap;

use gpuaas_domain::allocation::{AllocationState, Sku};
use gpuaas_domain::iam::{Permission, Permit};
use gpuaas_domain::ids::{AllocationId, ProjectId, SkuId, TenantId};
use gpuaas_domain::launch_form::{self, Choices, Form, FormView, NamedTarget, Wanted};
use gpuaas_domain::manifest::ladder::VersionState;
use gpuaas_domain::page::PageRequest;
use gpuaas_domain::text::Slug;
use gpuaas_domain::volume::{KnownVolume, MountSource};
use gpuaas_domain::{Error, FieldError, Result};
use gpuaas_store::Session;
use gpuaas_store::catalog::StoredVersion;

use super::catalog::{self, state_of};
use super::launch::{newest_version, quotas, unknown_app};
use super::launch_view::{LoadedTarget, World};
use crate::OpContext;

/// As many allocations of a state, and as many SKUs, as a person would look through.
const MOST: u32 = 200;

pub async fn resolve(
    ctx: &OpContext,
    project: ProjectId,
    slug: &Slug,
    version: Option<&str>,
    mut wanted: Wanted,
) -> Result<(Form, Choices)> {
    let permit = ctx.permit_project(Permission::InstanceCreate, project).await?;
    let tenant = permit.scope().tenant().ok_or_else(|| Error::internal("a project has a tenant"))?;
    let plane = &ctx.plane;
    let mut session = plane.store.read().await?;
    session.find_app(slug.as_str()).await?.ok_or_else(Error::not_found)?;
    let asked = match version {
        None => None,
        Some(version) => session.find_app_version(slug.as_str(), version).await?,
    };
    if version.is_some() && asked.is_none() {
        wanted.faults.push(unknown_app("/app_version"));
    }
    let newest = newest_version(plane, &mut session, (tenant, project), slug).await;
    let versions = versions(&mut session, (tenant, project), slug).await?;
    let recommended = newest.as_ref().ok().map(|version| version.app_version.clone());
    let version = match asked {
        Some(asked) => asked,
        None => newest?,
    };
    let volumes = volumes(&mut session, &permit, &wanted).await?;
    let quotas = quotas(&mut session, permit.scope(), project).await?;
    let world = World::load(plane, &mut session, &version, (tenant, project), volumes, quotas).await?;
    check_name(&mut session, project, &mut wanted).await?;
    let targets = targets(&mut session, &permit, wanted.allocation).await?;
    let skus = session.list_skus(&first_page()).await?.items;
    let names = sku_names(&mut session, &skus, &targets).await?;
    let named: Vec<NamedTarget<'_>> = targets
        .iter()
        .map(|target| NamedTarget {
            sku: names.get(&target.allocation.sku_id).map_or("", String::as_str),
            target: target.view(),
        })
        .collect();
    let owner = session.find_project(permit.tenant_scope(), project).await?.ok_or_else(Error::not_found)?;
    let offered: Vec<Sku> = skus.into_iter().filter(|sku| !sku.retired).collect();
    let view = FormView {
        app: world.view(plane, false),
        project_slug: &owner.slug,
        versions: &versions,
        recommended: recommended.as_deref(),
        targets: &named,
        skus: &offered,
    };
    launch_form::resolve(&view, &wanted)
}

fn first_page() -> PageRequest {
    PageRequest { after: None, limit: MOST }
}

/// What only the database knows: whether the name is free.
async fn check_name(session: &mut Session, project: ProjectId, wanted: &mut Wanted) -> Result<()> {
    if let Some(name) = &wanted.name
        && session.is_instance_name_taken(project, name).await?
    {
        let sentence = "The project has another instance of this name; choose another.";
        wanted.faults.push(FieldError::new("/name", "name_taken", sentence));
    }
    Ok(())
}

/// The project's volumes with their holders, and those asked for whatever they are.
async fn volumes(session: &mut Session, permit: &Permit, wanted: &Wanted) -> Result<Vec<KnownVolume>> {
    let scope = permit.tenant_scope();
    let mut all = session.list_known_volumes(scope, &first_page()).await?;
    for id in wanted.wish.mounts.values().filter_map(MountSource::volume) {
        if all.iter().all(|known| known.volume.id != id) {
            all.extend(session.find_known_volume(scope, id).await?);
        }
    }
    Ok(all)
}

/// Those the project may launch, the newest first.
async fn versions(
    session: &mut Session,
    (tenant, project): (TenantId, ProjectId),
    slug: &Slug,
) -> Result<Vec<(String, VersionState)>> {
    let layers = session.entitlement_layers(tenant, project, slug.as_str()).await?;
    let mut admitted: Vec<StoredVersion> = Vec::new();
    for version in session.list_launchable(slug.as_str()).await? {
        if catalog::admits(&layers, &version)? {
            admitted.push(version);
        }
    }
    admitted.into_iter().map(|version| Ok((version.app_version.clone(), state_of(&version)?))).collect()
}

/// The project's allocations that are not over, and the one asked for whatever it is.
async fn targets(
    session: &mut Session,
    permit: &Permit,
    asked: Option<AllocationId>,
) -> Result<Vec<LoadedTarget>> {
    let mut all: Vec<LoadedTarget> = Vec::new();
    for state in [AllocationState::Active, AllocationState::Requested, AllocationState::Releasing] {
        let found = session.list_allocations(permit.tenant_scope(), Some(state), &first_page()).await?;
        for allocation in found.items {
            all.push(LoadedTarget::load(session, allocation).await?);
        }
    }
    if let Some(id) = asked
        && all.iter().all(|known| known.allocation.id != id)
        && let Some(allocation) = session.find_allocation(permit.tenant_scope(), id).await?
    {
        all.push(LoadedTarget::load(session, allocation).await?);
    }
    Ok(all)
}

async fn sku_names(
    session: &mut Session,
    skus: &[Sku],
    targets: &[LoadedTarget],
) -> Result<BTreeMap<SkuId, String>> {
    let mut names: BTreeMap<SkuId, String> = skus.iter().map(|sku| (sku.id, sku.slug.clone())).collect();
    for target in targets {
        let id = target.allocation.sku_id;
        if !names.contains_key(&id)
            && let Some(sku) = session.find_sku(id).await?
        {
            names.insert(id, sku.slug);
        }
    }
    Ok(names)
}
