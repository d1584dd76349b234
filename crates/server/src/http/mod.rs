//! The router is built from the table of routes: one exhaustive match from route to handler, the same door in
//! front of each.

mod assets;
mod auth;
mod bindings;
mod credential;
mod door;
mod events;
mod extract;
mod idempotency;
mod limits;
mod meta;
mod observe;
mod origin;
mod problem;
mod projects;
mod rate;
mod reply;
mod roles;
mod service_accounts;
mod story;
mod tenants;
mod users;

use std::sync::Arc;

use aide::axum::ApiRouter;
use aide::axum::routing::{ApiMethodRouter, delete, get, patch, post, put};
use aide::openapi::OpenApi;
use axum::Router;
use gpuaas_api::Route;
use gpuaas_control_plane::ControlPlane;

use crate::config::Config;
use crate::metrics::Metrics;
use crate::tasks::Tasks;

pub(crate) use credential::{Presented, presented};
pub use door::{App, AppState};
pub(crate) use problem::{ApiResult, error_statuses};

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
fn build(state: AppState, more: Router<AppState>) -> Router {
    let mut router = ApiRouter::<AppState>::new();
    for route in Route::ALL.iter().copied() {
        let guarded =
            handler(route).layer(axum::middleware::from_fn_with_state((state.clone(), route), door::enter));
        router = router.api_route(route.row().path, guarded);
    }
    Router::from(router)
        .merge(more)
        .fallback(door::no_route)
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
    tasks: Tasks,
) -> AppState {
    App::new(plane, config, public_url, metrics, tasks)
}

pub fn app(state: AppState) -> Router {
    build(state, Router::new())
}

/// The same with paths that are no part of the public contract, behind the outermost door only.
pub(crate) fn app_with(state: AppState, more: Router<AppState>) -> Router {
    build(state, more)
}
