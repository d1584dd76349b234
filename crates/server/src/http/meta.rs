//! Health, metrics, version and the contract itself.

use aide::OperationOutput;
use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use gpuaas_api::observe::{Health, HealthCheck, Version};
use gpuaas_domain::chain::Stream;
use gpuaas_domain::iam::Permission;
use gpuaas_domain::{Error, Result};
use gpuaas_store::SchemaState;

use super::door::AppState;
use super::extract::Call;
use super::problem::ApiResult;
use super::reply::Found;

/// A response whose body is not described by a schema.
pub(crate) struct Plain(pub(crate) Response);

impl IntoResponse for Plain {
    fn into_response(self) -> Response {
        self.0
    }
}

impl OperationOutput for Plain {
    type Inner = ();
}

pub(super) async fn healthz() -> Found<Health> {
    Found(Health { status: "ok".into(), checks: Vec::new() })
}

/// Answers 200 or 503 with the same body, so that people see what is missing.
pub(super) struct Readiness(Health);

impl IntoResponse for Readiness {
    fn into_response(self) -> Response {
        let ready = self.0.checks.iter().all(|check| check.ok);
        let mut response = Found(self.0).into_response();
        if !ready {
            *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
        }
        response
    }
}

impl OperationOutput for Readiness {
    type Inner = Health;

    fn inferred_responses(
        context: &mut aide::generate::GenContext,
        operation: &mut aide::openapi::Operation,
    ) -> Vec<(Option<aide::openapi::StatusCode>, aide::openapi::Response)> {
        Found::<Health>::inferred_responses(context, operation)
    }
}

pub(super) async fn readyz(State(app): State<AppState>) -> Readiness {
    let database = async { app.plane.store.read().await?.ping().await };
    let schema = async {
        match app.plane.store.schema_state().await? {
            SchemaState::Current => Ok(()),
            SchemaState::Behind => Err(Error::conflict("schema_behind", "run gpuaas-server db migrate")),
            SchemaState::Newer => {
                Err(Error::conflict("schema_too_new", "start the newer version of the platform"))
            }
        }
    };
    let stopping = if app.tasks.is_stopping() {
        Err(Error::conflict("stopping", "the server is shutting down"))
    } else {
        Ok(())
    };
    let checks =
        vec![check("database", database.await), check("schema", schema.await), check("running", stopping)];
    let status = if checks.iter().all(|check| check.ok) { "ok" } else { "unavailable" };
    Readiness(Health { status: status.into(), checks })
}

fn check(name: &str, outcome: Result<()>) -> HealthCheck {
    let (ok, detail) = match outcome {
        Ok(()) => (true, "ok".to_owned()),
        Err(error) => (false, error.message().to_owned()),
    };
    HealthCheck { name: name.into(), ok, detail }
}

pub(super) async fn metrics(call: Call) -> ApiResult<Plain> {
    call.permit_platform(Permission::MetricsRead).await?;
    let mut session = call.plane.store.read().await?;
    let mut waiting = 0;
    for stream in Stream::ALL {
        waiting += session.count_unnumbered(stream).await?;
    }
    call.app.metrics.unnumbered_rows.set(waiting);
    call.app.metrics.queued_work.set(session.count_work().await?);
    let text = call.app.metrics.encode().map_err(|error| Error::internal(error.to_string()))?;
    let kind = HeaderValue::from_static("application/openmetrics-text; version=1.0.0; charset=utf-8");
    Ok(Plain(([(header::CONTENT_TYPE, kind)], text).into_response()))
}

pub(super) async fn version(State(app): State<AppState>) -> Found<Version> {
    Found(Version {
        name: "GPUaaS App Platform".into(),
        version: env!("CARGO_PKG_VERSION").into(),
        platform_id: app.plane.platform_id,
        api: "v1".into(),
    })
}

fn json_text(text: &'static str) -> Plain {
    Plain(([(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))], text).into_response())
}

pub(super) async fn openapi() -> Plain {
    json_text(crate::contract::openapi_text())
}

pub(super) async fn asyncapi() -> Plain {
    json_text(crate::contract::asyncapi_text())
}
