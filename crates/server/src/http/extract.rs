//! What handlers are given: the call, the parsed body, the parsed query, the ids of the path.

use std::str::FromStr;

use aide::OperationInput;
use aide::generate::GenContext;
use aide::openapi::Operation;
use axum::body::Bytes;
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::header;
use axum::http::request::Parts;
use gpuaas_api::envelope::PageQuery;
use gpuaas_api::{Access, Route, ScopeKind};
use gpuaas_control_plane::{OpContext, Prepared, Target};
use gpuaas_domain::ids::{ProjectId, TenantId};
use gpuaas_domain::manifest::{Format, looks_like_secret};
use gpuaas_domain::page::PageRequest;
use gpuaas_domain::text::Slug;
use gpuaas_domain::{Error, FieldError, Kind};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use super::door::{App, AppState};
use super::idempotency::Claim;
use super::problem::{ApiError, ApiResult};
use super::reply::Reply;

/// One call, made by the door: who, which route, which story, and the claim on its idempotency key.
#[derive(Clone)]
pub(crate) struct Call {
    pub(crate) app: AppState,
    pub(crate) route: Route,
    pub(crate) context: OpContext,
    pub(crate) claim: Option<std::sync::Arc<Claim>>,
    pub(crate) path: std::sync::Arc<Vec<(String, String)>>,
    pub(crate) peer: std::net::IpAddr,
}

impl std::ops::Deref for Call {
    type Target = OpContext;

    fn deref(&self) -> &OpContext {
        &self.context
    }
}

impl Call {
    /// Commits a prepared change together with the answer it gives.
    pub(crate) async fn commit<R, T>(&self, prepared: Prepared<T>) -> ApiResult<R>
    where
        R: Reply,
        R::Body: From<T>,
    {
        let (pending, outcome) = prepared.into_parts();
        let reply = R::of(outcome.into());
        let record = self.claim.as_ref().map(|claim| claim.record(R::STATUS, reply.stored()));
        broken(&self.plane, "api.commit").await?;
        pending.commit(record).await?;
        broken(&self.plane, "api.answer").await?;
        Ok(reply)
    }

    /// An id from the path. What cannot be an id is not there.
    pub(crate) fn id<T: FromStr>(&self, name: &str) -> ApiResult<T> {
        self.segment(name).and_then(|text| text.parse().ok()).ok_or_else(|| ApiError(Error::not_found()))
    }

    pub(crate) fn segment(&self, name: &str) -> Option<&str> {
        self.path.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// A name from the path. What cannot be a name is not there.
    pub(crate) fn slug(&self, name: &str) -> ApiResult<Slug> {
        let parsed = self.segment(name).and_then(|text| Slug::parse(text).ok());
        parsed.ok_or_else(|| ApiError(Error::not_found()))
    }

    /// The place this route speaks about.
    pub(crate) fn target(&self) -> ApiResult<Target> {
        Ok(match self.route.row().access {
            Access::Needs(_, ScopeKind::Tenant) => Target::Tenant(self.id::<TenantId>("tenant_id")?),
            Access::Needs(_, ScopeKind::Project) => Target::Project(self.id::<ProjectId>("project_id")?),
            Access::Needs(_, ScopeKind::Platform)
            | Access::Public
            | Access::SignedIn
            | Access::Person
            | Access::Node
            | Access::Instance => Target::Platform,
        })
    }

    /// What this call's cursors are bound to: the list, its place, and its filters.
    pub(crate) fn list_name(&self, filters: &str) -> String {
        let place: Vec<_> = self.path.iter().map(|(_, value)| value.as_str()).collect();
        format!("{}/{}/{filters}", self.route.name(), place.join("/"))
    }
}

gpuaas_faults::inventory::submit! { gpuaas_faults::Point { name: "api.commit" } }
gpuaas_faults::inventory::submit! { gpuaas_faults::Point { name: "api.answer" } }

/// Before and after the commit of an answer: places that a test can break. A commit cannot be done twice.
async fn broken(plane: &gpuaas_control_plane::ControlPlane, point: &'static str) -> ApiResult<()> {
    match plane.faults().reach(point).await {
        Ok(_) => Ok(()),
        Err(injected) => Err(Error::internal(injected.to_string()).into()),
    }
}

/// Which page of `list` a query asks for.
pub(crate) fn page_request(query: &PageQuery, list: &str) -> ApiResult<PageRequest> {
    Ok(PageRequest::parse(query.limit, query.cursor.as_deref(), list)?)
}

impl FromRequestParts<AppState> for Call {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &AppState) -> ApiResult<Self> {
        let call = parts
            .extensions
            .get::<Call>()
            .cloned()
            .ok_or_else(|| Error::internal("a handler outside the door"))?;
        Ok(call)
    }
}

impl OperationInput for Call {}

/// A JSON body, every fault named by its path.
pub(crate) struct Body<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequest<AppState> for Body<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &AppState) -> ApiResult<Self> {
        check_media_type(&request)?;
        let bytes = Bytes::from_request(request, state).await.map_err(|_| App::too_large())?;
        Ok(Self(parse_json(&bytes)?))
    }
}

/// A manifest as it was written, JSON or YAML, with its faults still in it.
pub(crate) struct Document {
    pub(crate) bytes: Bytes,
    pub(crate) format: Format,
}

impl FromRequest<AppState> for Document {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &AppState) -> ApiResult<Self> {
        let given = request
            .headers()
            .get(header::CONTENT_TYPE)
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default();
        let format = match given.split(';').next().unwrap_or_default().trim().to_ascii_lowercase().as_str() {
            "application/json" => Format::Json,
            "application/yaml" | "application/x-yaml" | "text/yaml" => Format::Yaml,
            _ => {
                return Err(Error::new(
                    Kind::UnsupportedMedia,
                    "unsupported_media_type",
                    "Send the manifest as application/json or application/yaml.",
                )
                .into());
            }
        };
        let bytes = Bytes::from_request(request, state).await.map_err(|_| App::too_large())?;
        Ok(Self { bytes, format })
    }
}

impl OperationInput for Document {
    fn operation_input(context: &mut GenContext, operation: &mut Operation) {
        axum::Json::<serde_json::Map<String, serde_json::Value>>::operation_input(context, operation);
    }
}

/// A body that may be left out altogether.
pub(crate) struct MaybeBody<T>(pub(crate) T);

impl<T: DeserializeOwned + Default> FromRequest<AppState> for MaybeBody<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &AppState) -> ApiResult<Self> {
        let described = request.headers().contains_key(header::CONTENT_TYPE);
        let media = check_media_type(&request);
        let bytes = Bytes::from_request(request, state).await.map_err(|_| App::too_large())?;
        if bytes.is_empty() && !described {
            return Ok(Self(T::default()));
        }
        if bytes.is_empty() {
            media?;
            return Ok(Self(T::default()));
        }
        media?;
        Ok(Self(parse_json(&bytes)?))
    }
}

fn check_media_type(request: &Request) -> ApiResult<()> {
    let given =
        request.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let essence = given.split(';').next().unwrap_or_default().trim();
    if essence.eq_ignore_ascii_case("application/json") {
        return Ok(());
    }
    Err(Error::new(Kind::UnsupportedMedia, "unsupported_media_type", "Send the body as application/json.")
        .into())
}

/// Parses with the path of what is wrong. Nesting is bounded by the parser, NUL is refused for both databases.
fn parse_json<T: DeserializeOwned>(bytes: &[u8]) -> ApiResult<T> {
    if has_escaped_nul(bytes) {
        return Err(Error::invalid("nul_not_allowed", "Text cannot hold the NUL character.").into());
    }
    let mut parser = serde_json::Deserializer::from_slice(bytes);
    let value = serde_path_to_error::deserialize(&mut parser).map_err(|error| {
        let path = pointer(error.path());
        let inner = error.into_inner();
        match inner.classify() {
            serde_json::error::Category::Data => {
                Error::fields(vec![FieldError::new(path, "invalid_value", text(&inner))])
            }
            _ => Error::invalid("malformed_json", format!("The body is not valid JSON: {}", text(&inner))),
        }
    })?;
    parser.end().map_err(|_| Error::invalid("malformed_json", "There is something after the JSON body."))?;
    // Derived readers also take the members as a plain list; the contract does not.
    if bytes.iter().find(|byte| !byte.is_ascii_whitespace()) != Some(&b'{') {
        return Err(Error::field("/", "invalid_value", "expected a JSON object").into());
    }
    Ok(value)
}

/// The parser's words, without repeating values the caller sent.
fn text(error: &serde_json::Error) -> String {
    let message = error.to_string();
    let expected = |text: &str| text.rsplit_once("expected ").map(|(_, expected)| expected.to_owned());
    let message = if message.starts_with("invalid type") || message.starts_with("invalid value") {
        format!("expected {}", expected(&message).unwrap_or_else(|| "another type".to_owned()))
    } else if message.starts_with("unknown variant") {
        // A value where one of a few is known; these follow it.
        format!("expected {}", expected(&message).unwrap_or_else(|| "another value".to_owned()))
    } else {
        message
    };
    if looks_like_secret(&message.replace('`', " ")) {
        return "there is no such field".to_owned();
    }
    harmless(&message)
}

/// Names of unknown members come back to help whoever mistyped them, but not as anything a terminal obeys.
fn harmless(text: &str) -> String {
    text.chars().filter(|c| !gpuaas_domain::text::is_deceptive(*c)).take(300).collect()
}

fn pointer(path: &serde_path_to_error::Path) -> String {
    use serde_path_to_error::Segment;
    let mut out = String::new();
    for segment in path {
        out.push('/');
        match segment {
            Segment::Seq { index } => out.push_str(&index.to_string()),
            Segment::Map { key } if looks_like_secret(key) => out.push('?'),
            Segment::Map { key } => out.push_str(&harmless(key).replace('~', "~0").replace('/', "~1")),
            Segment::Enum { variant } => out.push_str(&harmless(variant)),
            Segment::Unknown => out.push('?'),
        }
    }
    if out.is_empty() { "/".into() } else { out }
}

/// `\u0000` with an odd number of backslashes before the `u`, which is how JSON spells NUL in text.
fn has_escaped_nul(bytes: &[u8]) -> bool {
    let mut backslashes = 0usize;
    for (index, byte) in bytes.iter().enumerate() {
        if *byte == b'\\' {
            backslashes += 1;
            continue;
        }
        if *byte == b'u' && backslashes % 2 == 1 && bytes[index + 1..].starts_with(b"0000") {
            return true;
        }
        backslashes = 0;
    }
    bytes.contains(&0)
}

impl<T: JsonSchema> OperationInput for Body<T> {
    fn operation_input(context: &mut GenContext, operation: &mut Operation) {
        axum::Json::<T>::operation_input(context, operation);
    }
}

impl<T: JsonSchema> OperationInput for MaybeBody<T> {
    fn operation_input(context: &mut GenContext, operation: &mut Operation) {
        axum::Json::<T>::operation_input(context, operation);
        if let Some(aide::openapi::ReferenceOr::Item(body)) = &mut operation.request_body {
            body.required = false;
        }
    }
}

/// A query string, unknown parameters refused.
pub(crate) struct Query<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequestParts<AppState> for Query<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &AppState) -> ApiResult<Self> {
        if parts.uri.query().is_some_and(|query| query.contains("%00")) {
            return Err(Error::invalid("nul_not_allowed", "Text cannot hold the NUL character.").into());
        }
        let axum::extract::Query(value) =
            axum::extract::Query::<T>::try_from_uri(&parts.uri).map_err(|rejection| {
                let text = rejection.body_text();
                let text = text.rsplit_once(": ").map_or(text.as_str(), |(_, last)| last).to_owned();
                Error::invalid(
                    "invalid_query",
                    format!("The query string cannot be accepted: {}.", harmless(&text)),
                )
            })?;
        Ok(Self(value))
    }
}

impl<T: JsonSchema> OperationInput for Query<T> {
    fn operation_input(context: &mut GenContext, operation: &mut Operation) {
        axum::extract::Query::<T>::operation_input(context, operation);
    }
}

/// Parses several texts, naming every one that is refused.
#[derive(Default)]
pub(crate) struct Parsing(Vec<FieldError>);

impl Parsing {
    pub(crate) fn field<T>(
        &mut self,
        path: &str,
        parsed: Result<T, gpuaas_domain::text::Refused>,
    ) -> Option<T> {
        parsed.map_err(|refused| self.0.push(refused.at(path))).ok()
    }

    pub(crate) fn optional<T>(
        &mut self,
        path: &str,
        text: Option<&str>,
        parse: impl FnOnce(&str) -> Result<T, gpuaas_domain::text::Refused>,
    ) -> Option<T> {
        text.and_then(|text| self.field(path, parse(text)))
    }

    /// All refusals, or the go-ahead: after this every required field is there.
    pub(crate) fn finish(self) -> ApiResult<()> {
        if self.0.is_empty() { Ok(()) } else { Err(Error::fields(self.0).into()) }
    }
}

/// After [`Parsing::finish`] a field that was refused cannot be reached any more.
pub(crate) fn parsed<T>(field: Option<T>) -> ApiResult<T> {
    field.ok_or_else(|| Error::internal("a refused field was used").into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nul_is_found_however_it_is_escaped() {
        assert!(has_escaped_nul(br#"{"a":"\u0000"}"#));
        assert!(has_escaped_nul(br#"{"a":"\\\u0000"}"#));
        assert!(has_escaped_nul(b"{\"a\":\"\0\"}"));
        assert!(!has_escaped_nul(br#"{"a":"\\u0000"}"#));
        assert!(!has_escaped_nul(br#"{"a":"u0000"}"#));
    }

    #[test]
    fn faults_are_named_by_pointer_and_do_not_repeat_the_input() {
        let error =
            parse_json::<gpuaas_api::identity::NewRole>(br#"{"slug":"ab","permissions":["x",{"s3cret":1}]}"#)
                .err()
                .unwrap()
                .0;
        assert_eq!(error.field_errors()[0].path, "/permissions/1");
        assert!(!error.to_string().contains("s3cret"), "{error}");
    }
}
