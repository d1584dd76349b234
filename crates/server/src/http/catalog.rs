//! Apps, versions and entitlements over HTTP.

use axum::http::{HeaderValue, header};
use axum::response::IntoResponse as _;
use gpuaas_api::artifacts::Preparing;
use gpuaas_api::catalog::{
    App, AppVersion, AppVersionDetail, Entitlement, Entitlements, Finding, LaunchableApp, MoveVersion,
    ProjectCatalog, Terms, Ui,
};
use gpuaas_api::envelope::{List, PageQuery};
use gpuaas_api::identity::Because;
use gpuaas_control_plane::operations::catalog::{self, Step};
use gpuaas_control_plane::operations::entitlements;
use gpuaas_domain::Error;
use gpuaas_domain::manifest::ladder::VersionState;
use gpuaas_domain::manifest::{self, Version};
use gpuaas_domain::text::Slug;
use gpuaas_store::catalog::{StoredApp, StoredVersion};
use gpuaas_store::preparations::Preparation;
use serde::Deserialize as _;
use serde_json::Value;

use super::extract::{Body, Call, Document, MaybeBody, Query, page_request};
use super::meta::Plain;
use super::problem::ApiResult;
use super::reply::{self, Created, Found};
use super::tenants::reason;

fn app_view(app: StoredApp, preparing: &[Preparation]) -> App {
    let preparing = preparing.iter().find(|one| one.app_slug == app.slug).map(|one| Preparing {
        stage: one.stage.clone(),
        percent: u8::try_from(one.percent).unwrap_or(100),
        failure: one.failure.clone(),
        updated_at: one.updated_at,
    });
    App {
        slug: app.slug,
        display_name: app.display_name,
        preparing,
        created_at: app.created_at,
        updated_at: app.updated_at,
    }
}

/// What the document says about itself goes into the view; a member that is not text is not shown.
fn version_view(version: &StoredVersion) -> AppVersion {
    let text = |name: &str| version.manifest.get(name).and_then(Value::as_str).map(str::to_owned);
    AppVersion {
        id: version.id,
        slug: version.app_slug.clone(),
        app_version: version.app_version.clone(),
        display_name: text("display_name").unwrap_or_default(),
        status: VersionState::parse(&version.status).unwrap_or(VersionState::Draft),
        artifact_kind: text("artifact_kind").unwrap_or_default(),
        artifact_ref: text("artifact_ref").unwrap_or_default(),
        publisher: text("publisher"),
        // Older manifests were stored with other names of the same levels.
        support_level: text("support_level")
            .map(|name| manifest::SupportLevel::parse(&name).map_or(name, |level| level.name().to_owned())),
        notes: text("notes"),
        description: text("description"),
        ui: version.manifest.get("ui").and_then(ui_view),
        manifest_digest: version.manifest_digest.clone(),
        version: version.version,
        created_at: version.created_at,
        updated_at: version.updated_at,
    }
}

/// As the manifest has it, with the path that stands for a missing one.
fn ui_view(ui: &Value) -> Option<Ui> {
    let ui = manifest::Ui::deserialize(ui).ok()?;
    Some(Ui { extension_kind: ui.extension_kind, path: ui.path })
}

fn launchable_view(app: App, versions: Vec<AppVersion>) -> LaunchableApp {
    let newest = versions.first();
    LaunchableApp {
        entitled: true,
        description: newest.and_then(|version| version.description.clone()),
        publisher: newest.and_then(|version| version.publisher.clone()),
        support_level: newest.and_then(|version| version.support_level.clone()),
        ui: newest.and_then(|version| version.ui.clone()),
        app,
        versions,
    }
}

fn detail_view(version: StoredVersion) -> AppVersionDetail {
    AppVersionDetail { version: version_view(&version), manifest: version.manifest, findings: Vec::new() }
}

pub(super) async fn schema() -> Plain {
    let text = manifest::json_schema().to_string();
    let kind = HeaderValue::from_static("application/schema+json");
    Plain(([(header::CONTENT_TYPE, kind)], text).into_response())
}

pub(super) async fn register(call: Call, document: Document) -> ApiResult<Created<AppVersionDetail>> {
    let prepared = catalog::register(&call, &document.bytes, document.format).await?;
    call.commit(prepared.map(detail_view)).await
}

/// The app and version of the path. What can be neither is not there.
fn named(call: &Call) -> ApiResult<(Slug, Version)> {
    let version = call.segment("app_version").and_then(|text| Version::parse(text).ok());
    Ok((call.slug("app_slug")?, version.ok_or_else(Error::not_found)?))
}

async fn move_version(call: &Call, step: Step, why: Option<String>) -> ApiResult<Found<AppVersion>> {
    let (slug, version) = named(call)?;
    let prepared = catalog::move_version(call, slug.as_str(), version.as_str(), step, why).await?;
    call.commit(prepared.map(|version| version_view(&version))).await
}

pub(super) async fn publish(
    call: Call,
    MaybeBody(because): MaybeBody<Because>,
) -> ApiResult<Found<AppVersion>> {
    move_version(&call, Step::Publish, reason(&because)?).await
}

pub(super) async fn deprecate(
    call: Call,
    MaybeBody(because): MaybeBody<Because>,
) -> ApiResult<Found<AppVersion>> {
    move_version(&call, Step::Deprecate, reason(&because)?).await
}

pub(super) async fn move_to(call: Call, Body(wish): Body<MoveVersion>) -> ApiResult<Found<AppVersion>> {
    let because = Because { reason: wish.reason };
    move_version(&call, Step::To(wish.to), reason(&because)?).await
}

pub(super) async fn list(call: Call, Query(query): Query<PageQuery>) -> ApiResult<Found<List<App>>> {
    let list = call.list_name("");
    let page = catalog::list(&call, &page_request(&query, &list)?).await?;
    let preparing = catalog::preparations(&call).await?;
    Ok(Found(reply::list(page.map(|app| app_view(app, &preparing)), &list)))
}

pub(super) async fn list_versions(
    call: Call,
    Query(query): Query<PageQuery>,
) -> ApiResult<Found<List<AppVersion>>> {
    let list = call.list_name("");
    let slug = call.slug("app_slug")?;
    let page = catalog::list_versions(&call, slug.as_str(), &page_request(&query, &list)?).await?;
    Ok(Found(reply::list(page.map(|version| version_view(&version)), &list)))
}

pub(super) async fn get_version(call: Call) -> ApiResult<Found<AppVersionDetail>> {
    let (slug, version) = named(&call)?;
    let found = catalog::get_version(&call, slug.as_str(), version.as_str()).await?;
    let findings = catalog::findings(&call, &found).await?;
    let findings = findings
        .into_iter()
        .map(|finding| Finding { code: finding.code().to_owned(), message: finding.message().to_owned() })
        .collect();
    Ok(Found(AppVersionDetail { findings, ..detail_view(found) }))
}

pub(super) async fn for_project(call: Call) -> ApiResult<Found<ProjectCatalog>> {
    let found = catalog::for_project(&call, call.id("project_id")?).await?;
    let preparing = catalog::preparations(&call).await?;
    let items = found
        .into_iter()
        .map(|(app, versions)| {
            launchable_view(app_view(app, &preparing), versions.iter().map(version_view).collect())
        })
        .collect();
    Ok(Found(ProjectCatalog { items }))
}

fn said(said: entitlements::Said) -> Entitlement {
    let entitlements::Said { app_slug, layers } = said;
    Entitlement {
        app_slug,
        enabled: layers.enabled(),
        tenant: layers.tenant,
        allowed: layers.allowed,
        narrowed: layers.narrowed,
    }
}

pub(super) async fn tenant_entitlements(call: Call) -> ApiResult<Found<Entitlements>> {
    let found = entitlements::list_for_tenant(&call, call.id("tenant_id")?).await?;
    Ok(Found(Entitlements { items: found.into_iter().map(said).collect() }))
}

pub(super) async fn project_entitlements(call: Call) -> ApiResult<Found<Entitlements>> {
    let found = entitlements::list_for_project(&call, call.id("project_id")?).await?;
    Ok(Found(Entitlements { items: found.into_iter().map(said).collect() }))
}

pub(super) async fn set_tenant_entitlement(
    call: Call,
    Body(terms): Body<Terms>,
) -> ApiResult<Found<Entitlement>> {
    let slug = call.slug("app_slug")?;
    call.commit(
        entitlements::set_for_tenant(&call, call.id("tenant_id")?, slug.as_str(), terms).await?.map(said),
    )
    .await
}

pub(super) async fn set_project_entitlement(
    call: Call,
    Body(terms): Body<Terms>,
) -> ApiResult<Found<Entitlement>> {
    let slug = call.slug("app_slug")?;
    call.commit(
        entitlements::set_for_project(&call, call.id("project_id")?, slug.as_str(), terms).await?.map(said),
    )
    .await
}
