//! The protocol's answers. The one place where an [`Error`] becomes a status and a code of the specification.

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::Response;
use serde_json::{Value, json};
use tracing::{error, warn};

use crate::digest::Digest;
use crate::error::Error;
use crate::guard::{Needs, Verdict};

pub(super) const CONTENT_DIGEST: HeaderName = HeaderName::from_static("docker-content-digest");
pub(super) const UPLOAD_UUID: HeaderName = HeaderName::from_static("docker-upload-uuid");
pub(super) const SUBJECT: HeaderName = HeaderName::from_static("oci-subject");
pub(super) const FILTERS: HeaderName = HeaderName::from_static("oci-filters-applied");
const API_VERSION: HeaderName = HeaderName::from_static("docker-distribution-api-version");

/// Long enough for a pause of the collector or a full disk to pass.
const RETRY_SECONDS: HeaderValue = HeaderValue::from_static("10");

pub(super) fn empty(status: StatusCode) -> Response {
    with_body(status, Body::empty())
}

pub(super) fn with_body(status: StatusCode, body: Body) -> Response {
    let mut answer = Response::new(body);
    *answer.status_mut() = status;
    answer.headers_mut().insert(API_VERSION, HeaderValue::from_static("registry/2.0"));
    answer
}

pub(super) fn json(status: StatusCode, media_type: &'static str, value: &Value) -> Response {
    let mut answer = with_body(status, Body::from(value.to_string()));
    answer.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    answer
}

pub(super) fn version() -> Response {
    json(StatusCode::OK, "application/json", &json!({}))
}

/// What was parsed from a request has no characters that a header cannot hold.
pub(super) fn set(answer: &mut Response, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        answer.headers_mut().insert(name, value);
    }
}

pub(super) fn set_digest(answer: &mut Response, digest: &Digest) {
    set(answer, CONTENT_DIGEST, digest.as_str());
}

fn errors(status: StatusCode, code: &str, message: &str, detail: Value) -> Response {
    let mut error = json!({"code": code, "message": message});
    if !detail.is_null() {
        error["detail"] = detail;
    }
    json(status, "application/json", &json!({"errors": [error]}))
}

/// Status and code. A full disk has no code of its own in the specification; "try again later" comes closest.
fn sort(error: &Error) -> (StatusCode, &'static str) {
    match error {
        Error::NoSuchRoute => (StatusCode::NOT_FOUND, "UNSUPPORTED"),
        Error::MethodNotAllowed | Error::BlobInUse => (StatusCode::METHOD_NOT_ALLOWED, "UNSUPPORTED"),
        Error::BadQuery(_) => (StatusCode::BAD_REQUEST, "UNSUPPORTED"),
        Error::BadName => (StatusCode::BAD_REQUEST, "NAME_INVALID"),
        Error::BadTag | Error::UnknownMediaType | Error::Manifest(_) => {
            (StatusCode::BAD_REQUEST, "MANIFEST_INVALID")
        }
        Error::BadDigest(_) | Error::OtherDigest => (StatusCode::BAD_REQUEST, "DIGEST_INVALID"),
        Error::BadRange | Error::OtherOffset { .. } => {
            (StatusCode::RANGE_NOT_SATISFIABLE, "BLOB_UPLOAD_INVALID")
        }
        Error::RepositoryUnknown => (StatusCode::NOT_FOUND, "NAME_UNKNOWN"),
        Error::BlobUnknown => (StatusCode::NOT_FOUND, "BLOB_UNKNOWN"),
        Error::ManifestUnknown => (StatusCode::NOT_FOUND, "MANIFEST_UNKNOWN"),
        Error::UploadUnknown => (StatusCode::NOT_FOUND, "BLOB_UPLOAD_UNKNOWN"),
        Error::OtherLength | Error::OtherSize { .. } => (StatusCode::BAD_REQUEST, "SIZE_INVALID"),
        Error::UploadBusy => (StatusCode::CONFLICT, "BLOB_UPLOAD_INVALID"),
        Error::PartsMissing(_) => (StatusCode::NOT_FOUND, "MANIFEST_BLOB_UNKNOWN"),
        Error::TooLarge { .. } => (StatusCode::PAYLOAD_TOO_LARGE, "SIZE_INVALID"),
        Error::TooManyUploads { .. } => (StatusCode::TOO_MANY_REQUESTS, "TOOMANYREQUESTS"),
        Error::OverQuota | Error::TooManyReferrers { .. } => (StatusCode::FORBIDDEN, "DENIED"),
        Error::DiskFull => (StatusCode::INSUFFICIENT_STORAGE, "TOOMANYREQUESTS"),
        Error::TooSlow(_) => (StatusCode::REQUEST_TIMEOUT, "BLOB_UPLOAD_INVALID"),
        Error::BodyBroken(_) => (StatusCode::BAD_REQUEST, "BLOB_UPLOAD_INVALID"),
        // What lies there is not what its name promises: no repetition mends that, and clients may tell it by the code.
        Error::Io(cause) if cause.kind() == std::io::ErrorKind::InvalidData => {
            (StatusCode::INTERNAL_SERVER_ERROR, "DIGEST_INVALID")
        }
        Error::Io(_) => (StatusCode::INTERNAL_SERVER_ERROR, "UNSUPPORTED"),
    }
}

pub(super) fn refusal(error: &Error) -> Response {
    let (status, code) = sort(error);
    let detail = match error {
        Error::Io(cause) => {
            error!("the registry could not do it: {cause}");
            Value::Null
        }
        Error::DiskFull => {
            warn!("the registry's disk is full");
            Value::Null
        }
        Error::PartsMissing(parts) => parts.iter().map(|part| json!({"digest": part.as_str()})).collect(),
        _ => Value::Null,
    };
    let mut answer = errors(status, code, &error.to_string(), detail);
    match error {
        Error::TooManyUploads { .. } | Error::DiskFull => {
            answer.headers_mut().insert(header::RETRY_AFTER, RETRY_SECONDS);
        }
        Error::OtherOffset { length } => set(&mut answer, header::RANGE, &received(*length)),
        // Nobody reads the rest.
        Error::TooSlow(_) => {
            answer.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        _ => {}
    }
    answer
}

/// What an upload has. Nothing cannot be said as a range; clients know `0-0` from the registry everybody uses.
pub(super) fn received(length: u64) -> String {
    format!("0-{}", length.saturating_sub(1))
}

pub(super) fn denial(verdict: &Verdict, needs: &Needs) -> Response {
    match verdict {
        Verdict::Challenge(challenge) => {
            let mut answer =
                errors(StatusCode::UNAUTHORIZED, "UNAUTHORIZED", "a token is needed", Value::Null);
            let scope = needs.scope().map(|scope| format!(",scope=\"{scope}\"")).unwrap_or_default();
            let value =
                format!("Bearer realm=\"{}\",service=\"{}\"{scope}", challenge.realm, challenge.service);
            set(&mut answer, header::WWW_AUTHENTICATE, &value);
            answer
        }
        // As if nobody had ever pushed there.
        Verdict::Hide => refusal(&Error::RepositoryUnknown),
        Verdict::Forbid => errors(StatusCode::FORBIDDEN, "DENIED", "this is not allowed here", Value::Null),
        Verdict::Unavailable => {
            let mut answer =
                errors(StatusCode::SERVICE_UNAVAILABLE, "TOOMANYREQUESTS", "try again later", Value::Null);
            answer.headers_mut().insert(header::RETRY_AFTER, RETRY_SECONDS);
            answer
        }
        Verdict::Allow => empty(StatusCode::OK),
    }
}
