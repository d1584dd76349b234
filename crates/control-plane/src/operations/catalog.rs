//! The catalog: registering manifests, moving versions on the ladder, reading.

use gpuaas_domain::artifact;
use gpuaas_domain::entitlement::{Channel, Layers};
use gpuaas_domain::event::{Change, EventType, ObjectRef};
use gpuaas_domain::iam::Permission;
use gpuaas_domain::ids::{AppVersionId, ProjectId, TenantId};
use gpuaas_domain::manifest::ladder::{self, VersionState};
use gpuaas_domain::manifest::{self, Document, Format, Manifest};
use gpuaas_domain::page::{Page, PageRequest};
use gpuaas_domain::{Error, FieldError, Result};
use gpuaas_store::artifacts::VersionImage;
use gpuaas_store::catalog::{Projection, StoredApp, StoredVersion};
use gpuaas_store::preparations::Preparation;
use gpuaas_store::{Session, Stamp, Tx};
use serde_json::{Value, json};

use crate::plane::ControlPlane;
use crate::{OpContext, Prepared};

/// Refusals that have a name of their own, whoever sends what they refuse.
const CANONICAL: &[&str] = &[
    "unsupported_compose_yaml",
    "privileged_not_allowed",
    "host_mount_not_allowed",
    "digest_required",
    "image_source_not_allowed",
    "workspace_path_not_allowed",
    "composition_limit_exceeded",
    "raw_secret_not_allowed",
    "engine_native_not_allowed",
    "forbidden_field",
];

/// All faults; where one of them has a canonical code, the answer carries it.
pub(crate) fn refuse(faults: Vec<FieldError>) -> Error {
    let canonical = CANONICAL.iter().find(|code| faults.iter().any(|fault| fault.code == **code));
    let sentence =
        faults.iter().find(|fault| Some(&fault.code) == canonical).map(|fault| fault.message.clone());
    let error = Error::fields(faults);
    match (canonical, sentence) {
        (Some(code), Some(sentence)) => error.reworded(code, sentence),
        _ => error,
    }
}

pub async fn register(ctx: &OpContext, bytes: &[u8], format: Format) -> Result<Prepared<StoredVersion>> {
    let permit = ctx.permit_platform(Permission::AppPublish).await?;
    let document = manifest::check(bytes, format, &ctx.plane.registry().names).map_err(refuse)?;
    let mut tx = ctx.begin(&permit).await?;
    let Manifest { slug, version, .. } = &document.manifest;
    let former = tx.find_app_version(slug.as_str(), &version.to_string()).await?;
    let draft = former.filter(|former| former.status == VersionState::Draft.name());
    let stored = put_draft(&ctx.plane, &mut tx, &document, draft.as_ref()).await?;
    let mut change = Change::new(ctx.route.action, ObjectRef::new("app_version", stored.id))
        .after(version_view(&stored))
        .event(EventType::AppVersionRegistered, version_view(&stored));
    if let Some(draft) = &draft {
        change = change.before(version_view(draft));
    }
    Ok(Prepared::new(tx, change, stored))
}

/// A new version, or the next text of one that is still a draft (E-20).
async fn put_draft(
    plane: &ControlPlane,
    tx: &mut Tx,
    document: &Document,
    former: Option<&StoredVersion>,
) -> Result<StoredVersion> {
    let Manifest { slug, display_name, version, artifact_ref, .. } = &document.manifest;
    tx.put_app(slug.as_str(), display_name.as_str()).await?;
    if let Some(former) = former {
        tx.delete_draft(former).await?;
    }
    let at = tx.at();
    let stored = StoredVersion {
        id: former.map_or_else(|| AppVersionId::new(plane.new_uuid()), |former| former.id),
        app_slug: slug.to_string(),
        app_version: version.to_string(),
        manifest: document.value().clone(),
        manifest_digest: document.digest().to_string(),
        status: VersionState::Draft.name().to_owned(),
        version: former.map_or(1, |former| former.version + 1),
        created_at: former.map_or(at, |former| former.created_at),
        updated_at: at,
    };
    let part = |name: &str| document.value().get(name).filter(|value| !value.is_null());
    let empty = json!({});
    let artifact_ref = artifact_ref.to_string();
    let projection = Projection {
        artifact_kind: part("artifact_kind").and_then(Value::as_str).unwrap_or_default(),
        artifact_ref: &artifact_ref,
        compatibility: part("compatibility").unwrap_or(&empty),
        runtime_profile: part("runtime_profile"),
        ui: part("ui"),
        metering: part("metering"),
    };
    tx.insert_app_version(&stored, &projection).await?;
    tx.put_version_images(stored.id, &images_of(plane, &document.manifest)?).await?;
    Ok(stored)
}

/// What the references mean today, kept so that host and root may change tomorrow.
fn images_of(plane: &ControlPlane, manifest: &Manifest) -> Result<Vec<VersionImage>> {
    let names = &plane.registry().names;
    let mut images: Vec<VersionImage> = Vec::new();
    for (_, image) in manifest.named_images() {
        let reference = image.to_string();
        if images.iter().all(|known| known.reference != reference) {
            let path = names.parse(image).map_err(|not_ours| not_ours.into_error(names))?;
            images.push(VersionImage { reference, path, digest: image.digest().clone() });
        }
    }
    Ok(images)
}

/// Each artifact must be fit for the rung (E-14, F-29).
async fn check_artifacts(
    plane: &ControlPlane,
    session: &mut Session,
    version: &StoredVersion,
    rung: VersionState,
) -> Result<()> {
    let settings = &plane.settings.registry;
    for image in session.list_version_images(version.id).await? {
        let artifact =
            session.find_artifact_by_digest(&image.path, &image.digest).await?.ok_or_else(|| {
                Error::conflict(
                    "artifact_not_registered",
                    format!("Nothing is registered as {}; push and register it first.", image.reference),
                )
                .with_param("reference", image.reference.clone())
            })?;
        artifact::check_rung(&artifact, rung, &settings.channels, settings.trust, plane.now())?;
    }
    Ok(())
}

/// Whether each artifact of a version may be launched by a project now.
pub(crate) async fn has_usable_artifacts(
    plane: &ControlPlane,
    session: &mut Session,
    version: &StoredVersion,
    (tenant, project): (TenantId, ProjectId),
) -> Result<bool> {
    let settings = &plane.settings.registry;
    for image in session.list_version_images(version.id).await? {
        let found = session.find_artifact_by_digest(&image.path, &image.digest).await?;
        let fits = found.is_some_and(|artifact| {
            artifact.repository.is_visible_to(tenant, project)
                && artifact::check_new_use(&artifact).is_ok()
                && artifact::check_trust(&artifact, settings.trust, plane.now()).is_ok()
        });
        if !fits {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Why new launches of a version are refused, as far as its artifacts are concerned.
pub async fn findings(ctx: &OpContext, version: &StoredVersion) -> Result<Vec<Error>> {
    let state = state_of(version)?;
    if !matches!(state, VersionState::Staged | VersionState::Canary | VersionState::Active) {
        return Ok(Vec::new());
    }
    let mut session = ctx.plane.store.read().await?;
    Ok(check_artifacts(&ctx.plane, &mut session, version, state).await.err().into_iter().collect())
}

fn version_view(version: &StoredVersion) -> Value {
    json!({"app_slug": version.app_slug, "app_version": version.app_version, "status": version.status,
           "manifest_digest": version.manifest_digest, "app_version_id": version.id, "version": version.version})
}

/// Whether a launchable version is one that the project may have.
pub(crate) fn admits(layers: &Layers, version: &StoredVersion) -> Result<bool> {
    let channel = match state_of(version)? {
        VersionState::Canary => Channel::Canary,
        VersionState::Draft
        | VersionState::Staged
        | VersionState::Active
        | VersionState::Deprecated
        | VersionState::Retired => Channel::Active,
    };
    Ok(layers.admits(&version.app_version, channel))
}

/// The manifest of a stored version. It passed every check when it was registered.
pub(crate) fn manifest_of(version: &StoredVersion) -> Result<Manifest> {
    Document::from_stored(version.manifest.clone()).map(|document| document.manifest)
}

pub(crate) fn state_of(version: &StoredVersion) -> Result<VersionState> {
    VersionState::parse(&version.status)
        .ok_or_else(|| Error::internal(format!("unknown version state {:?}", version.status)))
}

/// How a version is to move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Up the ladder to active, every rung.
    Publish,
    Deprecate,
    To(VersionState),
}

/// Each rung is a transition of its own, with an audit row of its own (E-13).
pub async fn move_version(
    ctx: &OpContext,
    slug: &str,
    version: &str,
    step: Step,
    reason: Option<String>,
) -> Result<Prepared<StoredVersion>> {
    let permit = ctx.permit_platform(Permission::AppPublish).await?;
    let mut tx = ctx.begin(&permit).await?;
    let found = tx.find_app_version(slug, version).await?.ok_or_else(Error::not_found)?;
    ctx.check_version(found.version)?;
    let rungs = rungs(state_of(&found)?, step)?;
    if step == Step::To(VersionState::Retired) && tx.count_version_instances(found.id).await? > 0 {
        return Err(Error::conflict(
            "has_live_objects",
            "Instances of this version are not decommissioned yet; end them first.",
        ));
    }
    let Some((last, before_last)) = rungs.split_last() else {
        // Already there: said again, and in the trail.
        let change = Change::new(ctx.route.action, ObjectRef::new("app_version", found.id))
            .before(version_view(&found))
            .after(version_view(&found))
            .because(reason);
        return Ok(Prepared::new(tx, change, found));
    };
    let mut current = found;
    for rung in before_last {
        let (next, change) = climb(ctx, &mut tx, current, *rung, reason.clone()).await?;
        let stamp: Stamp = ctx.stamp();
        tx.record(&stamp, change).await?;
        current = next;
    }
    let (current, change) = climb(ctx, &mut tx, current, *last, reason).await?;
    if *last == VersionState::Active {
        // It is out: whatever was said about its making is over.
        tx.clear_preparation(slug).await?;
    }
    Ok(Prepared::new(tx, change, current))
}

async fn climb(
    ctx: &OpContext,
    tx: &mut Tx,
    from: StoredVersion,
    to: VersionState,
    reason: Option<String>,
) -> Result<(StoredVersion, Change)> {
    let before = version_view(&from);
    if matches!(to, VersionState::Staged | VersionState::Canary | VersionState::Active) {
        check_artifacts(&ctx.plane, tx, &from, to).await?;
    }
    let after = tx.move_app_version(from, to.name()).await?;
    let change = Change::new(ctx.route.action, ObjectRef::new("app_version", after.id))
        .before(before)
        .after(version_view(&after))
        .because(reason)
        .event(EventType::AppVersionMoved, version_view(&after));
    Ok((after, change))
}

fn rungs(from: VersionState, step: Step) -> Result<Vec<VersionState>> {
    use VersionState as V;
    match step {
        Step::Publish => match from {
            V::Draft => Ok(vec![V::Staged, V::Canary, V::Active]),
            V::Staged => Ok(vec![V::Canary, V::Active]),
            V::Canary => Ok(vec![V::Active]),
            V::Active => Ok(Vec::new()),
            V::Deprecated | V::Retired => ladder::check_move(from, V::Active).map(|()| Vec::new()),
        },
        Step::Deprecate if from == V::Deprecated => Ok(Vec::new()),
        Step::Deprecate => ladder::check_move(from, V::Deprecated).map(|()| vec![V::Deprecated]),
        Step::To(to) if to == from => Ok(Vec::new()),
        Step::To(to) => ladder::check_move(from, to).map(|()| vec![to]),
    }
}

/// Every app, whoever asks (E-03).
pub async fn list(ctx: &OpContext, page: &PageRequest) -> Result<Page<StoredApp>> {
    ctx.known()?;
    ctx.plane.store.read().await?.list_apps(page).await
}

pub async fn list_versions(ctx: &OpContext, slug: &str, page: &PageRequest) -> Result<Page<StoredVersion>> {
    ctx.known()?;
    let mut session = ctx.plane.store.read().await?;
    session.find_app(slug).await?.ok_or_else(Error::not_found)?;
    session.list_app_versions(slug, page).await
}

pub async fn get_version(ctx: &OpContext, slug: &str, version: &str) -> Result<StoredVersion> {
    ctx.known()?;
    ctx.plane.store.read().await?.find_app_version(slug, version).await?.ok_or_else(Error::not_found)
}

/// The apps a project may launch, with the versions it may launch: what the catalog page shows (E-03).
pub async fn for_project(
    ctx: &OpContext,
    project: ProjectId,
) -> Result<Vec<(StoredApp, Vec<StoredVersion>)>> {
    let permit = ctx.permit_project(Permission::ProjectRead, project).await?;
    let tenant = permit.scope().tenant().ok_or_else(|| Error::internal("a project has a tenant"))?;
    let mut session = ctx.plane.store.read().await?;
    let slugs: std::collections::BTreeSet<String> = session
        .list_entitlements(tenant, None)
        .await?
        .into_iter()
        .chain(session.list_entitlements(tenant, Some(project)).await?)
        .map(|row| row.app_slug)
        .collect();
    let mut found = Vec::new();
    for slug in slugs {
        let layers = session.entitlement_layers(tenant, project, &slug).await?;
        if !layers.enabled() {
            continue;
        }
        let Some(app) = session.find_app(&slug).await? else { continue };
        let mut versions = Vec::new();
        for version in session.list_launchable(&slug).await? {
            if admits(&layers, &version)? {
                versions.push(version);
            }
        }
        found.push((app, versions));
    }
    Ok(found)
}

/// How far each app that is being made has come.
pub async fn preparations(ctx: &OpContext) -> Result<Vec<Preparation>> {
    ctx.known()?;
    ctx.plane.store.read().await?.list_preparations().await
}

/// Whoever makes an app says how far it is; the catalog shows it from the first word on.
pub async fn set_preparing(
    ctx: &OpContext,
    slug: &str,
    display_name: &str,
    stage: &str,
    percent: u8,
    failure: Option<&str>,
) -> Result<Prepared<()>> {
    let permit = ctx.permit_platform(Permission::AppPublish).await?;
    let mut tx = ctx.begin(&permit).await?;
    if tx.find_app(slug).await?.is_none() {
        tx.put_app(slug, display_name).await?;
    }
    tx.put_preparation(slug, stage, percent, failure).await?;
    let view = json!({"app_slug": slug, "stage": stage, "percent": percent, "failure": failure});
    let change = Change::new(ctx.route.action, ObjectRef::new("app", slug))
        .after(view.clone())
        .event(EventType::AppPreparing, view);
    Ok(Prepared::new(tx, change, ()))
}

pub async fn clear_preparing(ctx: &OpContext, slug: &str) -> Result<Prepared<()>> {
    let permit = ctx.permit_platform(Permission::AppPublish).await?;
    let mut tx = ctx.begin(&permit).await?;
    if !tx.clear_preparation(slug).await? {
        return Err(Error::not_found());
    }
    let change = Change::new(ctx.route.action, ObjectRef::new("app", slug));
    Ok(Prepared::new(tx, change, ()))
}
