//! The router is built from the table of routes: one exhaustive match from route to handler, the same door in
//! front of each.

mod access;
mod allocations;
mod artifacts;
mod assets;
mod auth;
mod bindings;
mod catalog;
mod credential;
mod door;
mod events;
mod extract;
mod idempotency;
mod instances;
mod launch_fields;
mod limits;
mod meta;
mod nodes;
mod observe;
mod origin;
mod own_instance;
mod presets;
mod problem;
mod projects;
mod proven;
mod rate;
mod reply;
mod roles;
mod service_accounts;
mod shell;
mod story;
mod streams;
mod tenants;
mod users;
mod volumes;

use std::sync::Arc;

use aide::axum::ApiRouter;
use aide::axum::routing::{ApiMethodRouter, delete, get, patch, post, put};
use aide::openapi::OpenApi;
use axum::Router;
use axum::routing::{MethodRouter, any};
use gpuaas_api::Route;
use gpuaas_control_plane::ControlPlane;
use gpuaas_program::Spawner;

use crate::config::Config;
use crate::metrics::Metrics;

pub(crate) use credential::{Presented, presented};
pub use door::{App, AppState};
pub(crate) use problem::{ApiResult, error_statuses};
pub(crate) use rate::Buckets;

/// Which function answers which route. A route without a handler, or a handler without a route, does not compile.
fn handler(route: Route) -> ApiMethodRouter<AppState> {
    use Route as R;
    match route {
        R::Healthz => get(meta::healthz),
        R::Readyz => get(meta::readyz),
        R::Metrics => get(meta::metrics),
        R::Version => get(meta::version),
        R::OpenApi => get(meta::openapi),
        R::AsyncApi => get(meta::asyncapi),
        R::Docs => get(assets::index),
        R::DocsAsset => get(assets::asset),
        R::Login => post(auth::login),
        R::LoginLink => get(auth::login_link),
        R::Logout => post(auth::logout),
        R::Whoami => get(auth::whoami),
        R::PasswordChange => post(auth::change_password),
        R::TokenList => get(auth::list_tokens),
        R::TokenCreate => post(auth::create_token),
        R::TokenRevoke => delete(auth::revoke_token),
        R::ServiceAccountToken | R::ServiceAccountTokenAlias => post(auth::exchange),
        R::Unwrap => post(auth::unwrap),
        R::TenantList => get(tenants::list),
        R::TenantCreate => post(tenants::create),
        R::TenantGet => get(tenants::get),
        R::TenantUpdate => patch(tenants::rename),
        R::TenantSuspend => post(tenants::suspend),
        R::TenantResume => post(tenants::resume),
        R::TenantDelete => delete(tenants::delete),
        R::ProjectListMine => get(projects::list_visible),
        R::ProjectList => get(projects::list),
        R::ProjectCreate => post(projects::create),
        R::ProjectGet => get(projects::get),
        R::ProjectUpdate => patch(projects::rename),
        R::ProjectSuspend => post(projects::suspend),
        R::ProjectResume => post(projects::resume),
        R::ProjectDelete => delete(projects::delete),
        R::UserList => get(users::list),
        R::UserCreate => post(users::create),
        R::UserGet => get(users::get),
        R::UserUpdate => patch(users::update),
        R::UserResetPassword => post(users::reset_password),
        R::UserSuspend => post(users::suspend),
        R::UserResume => post(users::resume),
        R::UserDelete => delete(users::delete),
        R::PermissionList => get(roles::permissions),
        R::RoleList => get(roles::list),
        R::RoleCreate => post(roles::create),
        R::RoleGet => get(roles::get),
        R::RoleUpdate => patch(roles::update),
        R::RoleDelete => delete(roles::delete),
        R::PlatformBindingList | R::TenantBindingList | R::ProjectBindingList => get(bindings::list),
        R::PlatformBindingCreate | R::TenantBindingCreate | R::ProjectBindingCreate => post(bindings::create),
        R::PlatformBindingDelete | R::TenantBindingDelete | R::ProjectBindingDelete => {
            delete(bindings::delete)
        }
        R::ServiceAccountList => get(service_accounts::list),
        R::ServiceAccountCreate => post(service_accounts::create),
        R::ServiceAccountGet => get(service_accounts::get),
        R::ServiceAccountDisable => post(service_accounts::disable),
        R::ServiceAccountRotateKey => post(service_accounts::rotate_key),
        R::ServiceAccountDelete => delete(service_accounts::delete),
        R::TenantLimitList | R::ProjectLimitList => get(limits::list),
        R::TenantLimitSet | R::ProjectLimitSet => put(limits::set),
        R::JoinTokenCreate => post(nodes::create_join_token),
        R::NodeJoin => post(nodes::join),
        R::NodeList => get(nodes::list),
        R::NodeGet => get(nodes::get),
        R::NodeCordon => post(nodes::cordon),
        R::NodeUncordon => post(nodes::uncordon),
        R::NodeDrain => post(nodes::drain),
        R::NodeRevoke => post(nodes::revoke),
        R::NodeForget => delete(nodes::forget),
        R::TaskKeyRotate => post(nodes::rotate_task_key),
        R::NodeTokenExchange => post(nodes::exchange),
        R::NodeTrust => get(nodes::trust),
        R::NodeInventoryPut => put(nodes::put_inventory),
        R::NodeReportPost => post(nodes::report),
        R::InstanceIdentityRegister => post(own_instance::register),
        R::NodeImageAccess => post(artifacts::node_access),
        R::OwnStatus => get(own_instance::status),
        R::OwnHeartbeat => post(own_instance::heartbeat),
        R::OwnMemberEmit => post(own_instance::emit),
        R::OwnMetering => post(own_instance::meter),
        R::RegistryTokenGet => get(artifacts::token),
        R::RegistryCertificate => get(artifacts::certificate),
        R::RegistryInfo => get(artifacts::info),
        R::RepositorySet => put(artifacts::set_repository),
        R::RegistryCredentialList => get(artifacts::list_credentials),
        R::RegistryCredentialRevoke => post(artifacts::revoke_credential),
        R::TrustKeyList | R::PlatformTrustKeyList => get(artifacts::list_keys),
        R::TrustKeyAdd | R::PlatformTrustKeyAdd => post(artifacts::add_key),
        R::TrustKeyRevoke | R::PlatformTrustKeyRevoke => post(artifacts::revoke_key),
        R::ArtifactList => get(artifacts::list),
        R::ArtifactRegister => post(artifacts::register),
        R::PublishIntentCreate => post(artifacts::publish_intent),
        R::PullIntentCreate => post(artifacts::pull_intent),
        R::ArtifactGet => get(artifacts::get),
        R::ArtifactVerify => post(artifacts::verify),
        R::ArtifactPromote => post(artifacts::promote),
        R::ArtifactDeprecate => post(artifacts::deprecate),
        R::ArtifactRetire => post(artifacts::retire),
        R::ArtifactRevoke => post(artifacts::revoke),
        R::AppPreparingSet => put(artifacts::set_preparing),
        R::AppPreparingClear => delete(artifacts::clear_preparing),
        R::SkuList => get(allocations::list_skus),
        R::SkuCreate => post(allocations::create_sku),
        R::SkuGet => get(allocations::get_sku),
        R::SkuUpdate => patch(allocations::update_sku),
        R::SkuPriceAdd => post(allocations::add_price),
        R::AllocationListAll => get(allocations::list_all),
        R::AllocationList => get(allocations::list),
        R::AllocationRequest => post(allocations::request),
        R::AllocationGet => get(allocations::get),
        R::AllocationGrant => post(allocations::grant),
        R::AllocationDeny => post(allocations::deny),
        R::AllocationRelease => post(allocations::release),
        R::PresetList => get(presets::list),
        R::PresetCreate => post(presets::create),
        R::PresetUpdate => patch(presets::update),
        R::PresetDelete => delete(presets::delete),
        R::VolumeList => get(volumes::list),
        R::VolumeCreate => post(volumes::create),
        R::VolumeGet => get(volumes::get),
        R::VolumeDelete => delete(volumes::delete),
        R::ManifestSchema => get(catalog::schema),
        R::ManifestRegister | R::ManifestRegisterAlias => post(catalog::register),
        R::AppPublish => post(catalog::publish),
        R::AppDeprecate => post(catalog::deprecate),
        R::AppMove => post(catalog::move_to),
        R::CatalogList => get(catalog::list),
        R::CatalogVersionList => get(catalog::list_versions),
        R::CatalogVersionGet => get(catalog::get_version),
        R::ProjectCatalog => get(catalog::for_project),
        R::AppForm => post(instances::form),
        R::TenantEntitlementList => get(catalog::tenant_entitlements),
        R::TenantEntitlementSet => put(catalog::set_tenant_entitlement),
        R::EntitlementList => get(catalog::project_entitlements),
        R::EntitlementSet => put(catalog::set_project_entitlement),
        R::InstancePlan => post(instances::plan),
        R::InstanceCreate => post(instances::create),
        R::InstanceCreateAlias => post(instances::create_by_allocation),
        R::InstanceStopAlias => post(instances::stop_by_id),
        R::InstanceList => get(instances::list),
        R::InstanceGet => get(instances::get),
        R::InstanceStop => post(instances::stop),
        R::InstanceStart => post(instances::start),
        R::InstanceDecommission => post(instances::decommission),
        R::InstanceForceDecommission => post(instances::force_decommission),
        R::InstanceEvents => get(instances::timeline),
        R::InstanceReceipt => get(instances::receipt),
        R::InstanceRendered => get(instances::rendered),
        R::InstanceStats => get(instances::stats),
        R::InstanceLogs => get(streams::logs),
        R::EndpointOpen => post(access::open),
        R::EndpointPublicSet => put(access::set_public),
        R::EndpointTokenList => get(access::list_tokens),
        R::EndpointTokenCreate => post(access::create_token),
        R::EndpointTokenRevoke => delete(access::revoke_token),
        R::EndpointResolve => get(access::resolve),
        R::IdentityKeys => get(access::identity_keys),
        R::InstanceForward => get(streams::forward),
        R::PlatformAuditList | R::TenantAuditList | R::ProjectAuditList => get(observe::audit),
        R::AuditVerify => get(observe::verify),
        R::PlatformEventList | R::TenantEventList | R::ProjectEventList => get(observe::events),
        R::PlatformEventStream | R::TenantEventStream | R::ProjectEventStream => get(events::stream),
        R::PlatformEventSocket | R::TenantEventSocket | R::ProjectEventSocket => get(events::socket),
    }
}

/// What the handlers' types say about bodies, queries and answers. The rest of the contract is in the table.
pub(crate) fn schemas() -> OpenApi {
    let mut api = OpenApi::default();
    let routes = Route::ALL.iter().copied();
    let router = routes.fold(ApiRouter::<AppState>::new(), |router, route| {
        router.api_route(route.row().path, handler(route))
    });
    let _ = router.finish_api(&mut api);
    api
}

/// The whole API behind its door.
fn build(state: AppState, more: Router<AppState>, without_route: MethodRouter<AppState>) -> Router {
    let mut router = ApiRouter::<AppState>::new();
    for route in Route::ALL.iter().copied() {
        let guarded =
            handler(route).layer(axum::middleware::from_fn_with_state((state.clone(), route), door::enter));
        router = router.api_route(route.row().path, guarded);
    }
    Router::from(router)
        .merge(more)
        .fallback_service(without_route.with_state(state.clone()))
        .method_not_allowed_fallback(door::no_method)
        .layer(axum::middleware::from_fn_with_state(state.clone(), door::outermost))
        .with_state(state)
}

/// Everything handlers need. Listeners share it, so that one caller has one rate and one key one answer.
pub fn state(
    plane: Arc<ControlPlane>,
    config: &Config,
    public_url: String,
    metrics: Arc<Metrics>,
    tasks: Spawner,
) -> AppState {
    App::new(plane, config, public_url, metrics, tasks)
}

/// The origins that pages of the platform have at this address.
pub(crate) fn own_origins(public_url: &str) -> Vec<String> {
    origin::OwnOrigins::new(public_url).all()
}

/// What people and their programs meet: the API, the registry, and the web shell where neither has a route.
pub fn app(state: AppState) -> Router {
    let more = with_registry(&state, Router::new());
    build(state, more, any(shell::serve))
}

/// The same without the shell and with paths that are no part of the public contract, behind the outermost door only.
pub(crate) fn app_with(state: AppState, more: Router<AppState>) -> Router {
    let more = with_registry(&state, more);
    build(state, more, any(door::no_route))
}

/// The registry's paths are there everywhere: its protocol is a contract of its own.
fn with_registry(state: &AppState, more: Router<AppState>) -> Router<AppState> {
    match state.registry.get() {
        Some(role) => more.merge(role.router()),
        None => more,
    }
}
