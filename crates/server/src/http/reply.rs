//! Answers: what they look like on the wire, in the contract, and in the record of first answers.

use aide::OperationOutput;
use aide::generate::GenContext;
use aide::openapi::{MediaType, Operation, Response as ApiResponse, SchemaObject, StatusCode as ApiStatus};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use gpuaas_api::envelope::{List, SHOWN_ONCE};
use gpuaas_domain::page::{self, Page};
use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

/// A success with a known status and a JSON body (or none).
pub(crate) trait Reply: IntoResponse {
    type Body;

    const STATUS: u16;

    fn of(body: Self::Body) -> Self;

    /// The body for the record of first answers: secrets that are shown once are not in it.
    fn stored(&self) -> String;
}

/// Things with a version get an `ETag`.
pub(crate) trait Entity: Serialize + JsonSchema {
    fn version(&self) -> Option<i64> {
        None
    }
}

pub(crate) struct Found<T>(pub(crate) T);
pub(crate) struct Created<T>(pub(crate) T);
/// It is on its way: look at its status, or follow its events.
pub(crate) struct Accepted<T>(pub(crate) T);
pub(crate) struct NoContent;

fn redacted(body: &impl Serialize) -> String {
    let text = serde_json::to_string(body).unwrap_or_default();
    if !text.contains("\"secret_redacted\"") {
        return text;
    }
    let mut value: Value = serde_json::from_str(&text).unwrap_or_default();
    redact(&mut value);
    if let Value::Object(map) = &mut value {
        map.insert("secret_redacted".into(), true.into());
    }
    value.to_string()
}

/// At any depth.
fn redact(value: &mut Value) {
    let Value::Object(map) = value else { return };
    for (name, member) in map {
        if SHOWN_ONCE.contains(&name.as_str()) {
            *member = Value::Null;
        } else {
            redact(member);
        }
    }
}

fn set_etag(response: &mut Response, version: i64) {
    if let Ok(tag) = HeaderValue::from_str(&format!("\"{version}\"")) {
        response.headers_mut().insert(header::ETAG, tag);
    }
}

fn json_response<T: Entity>(status: u16, body: &T) -> Response {
    let mut response = (
        StatusCode::from_u16(status).unwrap_or(StatusCode::OK),
        [(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))],
        serde_json::to_vec(body).unwrap_or_default(),
    )
        .into_response();
    if let Some(version) = body.version() {
        set_etag(&mut response, version);
    }
    response
}

fn documented<T: JsonSchema>(
    context: &mut GenContext,
    status: u16,
    what: &str,
) -> Vec<(Option<ApiStatus>, ApiResponse)> {
    let schema = context.schema.subschema_for::<T>();
    let media = MediaType {
        schema: Some(SchemaObject { json_schema: schema, external_docs: None, example: None }),
        ..MediaType::default()
    };
    let response = ApiResponse {
        description: what.into(),
        content: IndexMap::from_iter([("application/json".to_owned(), media)]),
        ..ApiResponse::default()
    };
    vec![(Some(ApiStatus::Code(status)), response)]
}

macro_rules! json_reply {
    ($name:ident, $status:literal, $what:literal) => {
        impl<T: Entity> Reply for $name<T> {
            type Body = T;

            const STATUS: u16 = $status;

            fn of(body: T) -> Self {
                Self(body)
            }

            fn stored(&self) -> String {
                redacted(&self.0)
            }
        }

        impl<T: Entity> IntoResponse for $name<T> {
            fn into_response(self) -> Response {
                json_response($status, &self.0)
            }
        }

        impl<T: Entity> OperationOutput for $name<T> {
            type Inner = T;

            fn operation_response(context: &mut GenContext, _: &mut Operation) -> Option<ApiResponse> {
                documented::<T>(context, $status, $what).pop().map(|(_, response)| response)
            }

            fn inferred_responses(
                context: &mut GenContext,
                _: &mut Operation,
            ) -> Vec<(Option<ApiStatus>, ApiResponse)> {
                documented::<T>(context, $status, $what)
            }
        }
    };
}

json_reply!(Found, 200, "Here it is.");
json_reply!(Created, 201, "It was created.");
json_reply!(Accepted, 202, "It is on its way.");

impl Reply for NoContent {
    type Body = ();

    const STATUS: u16 = 204;

    fn of((): ()) -> Self {
        Self
    }

    fn stored(&self) -> String {
        String::new()
    }
}

impl IntoResponse for NoContent {
    fn into_response(self) -> Response {
        StatusCode::NO_CONTENT.into_response()
    }
}

impl OperationOutput for NoContent {
    type Inner = ();

    fn inferred_responses(_: &mut GenContext, _: &mut Operation) -> Vec<(Option<ApiStatus>, ApiResponse)> {
        let response = ApiResponse { description: "It is done.".into(), ..ApiResponse::default() };
        vec![(Some(ApiStatus::Code(204)), response)]
    }
}

/// A first answer, given again.
pub(crate) fn replay(status: u16, body: String) -> Response {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::OK);
    let version = serde_json::from_str::<Value>(&body).ok().and_then(|body| body.get("version")?.as_i64());
    let mut response = if body.is_empty() {
        status.into_response()
    } else {
        (status, [(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))], body).into_response()
    };
    if let Some(version) = version {
        set_etag(&mut response, version);
    }
    response.headers_mut().insert("idempotency-replayed", HeaderValue::from_static("true"));
    response
}

/// A page on the wire; `list` is what its cursors are bound to.
pub(crate) fn list<T, U: From<T>>(page: Page<T>, list: &str) -> List<U> {
    let next_cursor = page.next.as_deref().map(|key| page::encode(list, key));
    List { items: page.items.into_iter().map(U::from).collect(), next_cursor }
}

impl<T: Serialize + JsonSchema> Entity for List<T> {}

macro_rules! entities {
    (versioned: $($versioned:ty),* ; plain: $($plain:ty),* $(,)?) => {
        $(impl Entity for $versioned {
            fn version(&self) -> Option<i64> {
                Some(self.version)
            }
        })*
        $(impl Entity for $plain {})*
    };
}

entities! {
    versioned: gpuaas_api::identity::Tenant, gpuaas_api::identity::Project, gpuaas_api::identity::User,
        gpuaas_api::identity::Role, gpuaas_api::service_accounts::ServiceAccount, gpuaas_api::nodes::Node,
        gpuaas_api::allocations::Allocation, gpuaas_api::catalog::AppVersion, gpuaas_api::instances::Instance,
        gpuaas_api::artifacts::Artifact, gpuaas_api::artifacts::RepositoryView, gpuaas_api::artifacts::TrustKey,
        gpuaas_api::artifacts::RegistryCredential, gpuaas_api::access::EndpointPlace, gpuaas_api::volumes::Volume,
        gpuaas_api::presets::Preset;
    plain: gpuaas_api::identity::Binding, gpuaas_api::identity::LimitView, gpuaas_api::auth::Whoami,
        gpuaas_api::auth::CreatedPersonalToken, gpuaas_api::auth::AccessToken, gpuaas_api::auth::Unwrapped,
        gpuaas_api::observe::VerifyReport, gpuaas_api::observe::Version, gpuaas_api::observe::Health,
        gpuaas_api::nodes::CreatedJoinToken, gpuaas_api::agent::Joined, gpuaas_api::agent::NodeToken,
        gpuaas_agent_protocol::task::Trust, gpuaas_api::catalog::App, gpuaas_api::catalog::Entitlement,
        gpuaas_api::catalog::Entitlements, gpuaas_api::catalog::ProjectCatalog, gpuaas_api::instances::PlanView, gpuaas_api::form::AppForm,
        gpuaas_api::instances::ReceiptView, gpuaas_api::instances::RenderedView, gpuaas_api::instances::InstanceStats,
        gpuaas_api::artifacts::RegistryInfo, gpuaas_api::artifacts::PublishIntent, gpuaas_api::artifacts::PullIntent,
        gpuaas_api::artifacts::RegistryToken, gpuaas_api::agent::ImageAccess,
        gpuaas_api::own_instance::IdentityGranted, gpuaas_api::own_instance::OwnStatus,
        gpuaas_api::own_instance::MeteringTaken,
        gpuaas_api::access::OpenedEndpoint, gpuaas_api::access::CreatedEndpointToken, gpuaas_api::access::IdentityKeys,
}

/// A view that carries its object's version one level down.
macro_rules! versioned_by {
    ($($view:ty => $inner:ident),* $(,)?) => {
        $(impl Entity for $view {
            fn version(&self) -> Option<i64> {
                Some(self.$inner.version)
            }
        })*
    };
}

versioned_by! {
    gpuaas_api::identity::CreatedUser => user,
    gpuaas_api::service_accounts::ServiceAccountDetail => account,
    gpuaas_api::service_accounts::ServiceAccountWithKey => account,
    gpuaas_api::nodes::NodeDetail => node,
    gpuaas_api::allocations::SkuView => sku,
    gpuaas_api::allocations::AllocationDetail => allocation,
    gpuaas_api::catalog::AppVersionDetail => version,
    gpuaas_api::artifacts::ArtifactDetail => artifact,
    gpuaas_api::instances::InstanceDetail => instance,
    gpuaas_api::volumes::VolumeDetail => volume,
}
