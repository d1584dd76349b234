//! The one conversion from errors to HTTP: status, envelope, log.

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use gpuaas_api::{ErrorBody, ErrorDetail, FieldDetail};
use gpuaas_domain::{Error, Kind};

pub(crate) type ApiResult<T> = Result<T, ApiError>;

/// An error on its way out. The envelope is made when the door knows the correlation id.
#[derive(Debug)]
pub(crate) struct ApiError(pub(crate) Error);

impl<E: Into<Error>> From<E> for ApiError {
    fn from(error: E) -> Self {
        Self(error.into())
    }
}

pub(crate) fn status(kind: Kind) -> StatusCode {
    match kind {
        Kind::Invalid => StatusCode::BAD_REQUEST,
        Kind::Unprocessable => StatusCode::UNPROCESSABLE_ENTITY,
        Kind::Unauthenticated => StatusCode::UNAUTHORIZED,
        Kind::Forbidden => StatusCode::FORBIDDEN,
        Kind::NotFound => StatusCode::NOT_FOUND,
        Kind::Conflict => StatusCode::CONFLICT,
        Kind::Stale => StatusCode::PRECONDITION_FAILED,
        Kind::TooMany => StatusCode::TOO_MANY_REQUESTS,
        Kind::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        Kind::UnsupportedMedia => StatusCode::UNSUPPORTED_MEDIA_TYPE,
        Kind::NoSuchMethod => StatusCode::METHOD_NOT_ALLOWED,
        Kind::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        Kind::Internal => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

/// Every status an error can have; each is documented on each operation.
const STATUSES: &[(u16, &str)] = &[
    (400, "The request is wrong as written; `fields` says where."),
    (401, "Not signed in, or the credential is not valid."),
    (403, "Signed in, but not allowed."),
    (404, "There is no such object, or you may not see it."),
    (405, "The path has no such method."),
    (409, "The world is not in the state this needs."),
    (412, "The object has changed since it was read (`If-Match`)."),
    (413, "The body is too large."),
    (415, "The body is not JSON."),
    (422, "The request breaks a rule of the platform."),
    (429, "Too many calls; wait as long as `Retry-After` says."),
    (500, "Something went wrong on our side."),
    (503, "A part of the platform is away for the moment."),
];

pub(crate) fn error_statuses() -> &'static [(u16, &'static str)] {
    STATUSES
}

impl ApiError {
    pub(crate) fn render(&self, correlation_id: &str) -> Response {
        let error = &self.0;
        let detail = ErrorDetail {
            code: error.code().to_owned(),
            message: error.message().to_owned(),
            params: error.params().iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect(),
            correlation_id: correlation_id.to_owned(),
            fields: error
                .field_errors()
                .iter()
                .map(|field| FieldDetail {
                    path: field.path.clone(),
                    code: field.code.to_owned(),
                    message: field.message.clone(),
                })
                .collect(),
        };
        let mut response = (status(error.kind()), Json(ErrorBody { error: detail })).into_response();
        let headers = response.headers_mut();
        if error.kind() == Kind::Unauthenticated {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"gpuaas\""));
        }
        if matches!(error.kind(), Kind::TooMany | Kind::Unavailable) {
            let wait =
                error.params().get("retry_after_seconds").and_then(serde_json::Value::as_u64).unwrap_or(1);
            headers.insert(header::RETRY_AFTER, HeaderValue::from(wait));
        }
        response
    }
}

/// Carried to the door, which renders it with the correlation id and logs it once.
#[derive(Clone)]
pub(crate) struct Carried(pub(crate) std::sync::Arc<ApiError>);

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = status(self.0.kind()).into_response();
        response.extensions_mut().insert(Carried(std::sync::Arc::new(self)));
        response
    }
}

impl aide::OperationOutput for ApiError {
    type Inner = ErrorBody;
}
