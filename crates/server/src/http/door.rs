//! What every request passes, in this order: its story (correlation and trace), the rate, who is calling, whether
//! the route is for them at all, the size of the body, the idempotency key. Handlers start behind it.

use std::net::IpAddr;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::{Body, Bytes};
use axum::extract::{FromRequestParts as _, RawPathParams, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Version, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt as _;
use gpuaas_api::{Access, RateClass, Route};
use gpuaas_control_plane::{Caller, ControlPlane, OpContext, Origin, RouteFacts};
use gpuaas_domain::iam::Permission;
use gpuaas_domain::ids::InstanceId;
use gpuaas_domain::{Error, Kind};
use gpuaas_gateway::Peer;
use gpuaas_program::Spawner;
use gpuaas_store::idempotency::{Key, RETENTION_SECONDS, Stored};
use http_body_util::BodyExt as _;
use ring::digest::{Context, SHA256};
use tokio::sync::Semaphore;
use tracing::Instrument as _;

use super::credential::identify;
use super::events::Seats;
use super::extract::Call;
use super::idempotency::{self, Claim, InFlight};
use super::origin::OwnOrigins;
use super::problem::{ApiError, ApiResult, Carried};
use super::proven::{self, Proven};
use super::rate::Buckets;
use super::{reply, story};
use crate::config::{Config, Limits};
use crate::metrics::{Metrics, RequestLabels};

pub type AppState = Arc<App>;

pub struct App {
    pub(crate) plane: Arc<ControlPlane>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) tasks: Spawner,
    pub(crate) public_url: String,
    /// Absent where another registry is used.
    pub(crate) registry: std::sync::OnceLock<Arc<crate::registry::RegistryRole>>,
    /// Absent where apps cannot have names of their own.
    pub(crate) gateway: std::sync::OnceLock<Arc<gpuaas_gateway::Gateway>>,
    pub(crate) origins: OwnOrigins,
    pub(crate) cookie_name: String,
    pub(crate) secure_cookies: bool,
    pub(crate) streams: Arc<Semaphore>,
    pub(crate) seats: Arc<Seats>,
    /// By account and address; and by account alone, so that somebody with many addresses gets no further, and somebody with
    /// one does not keep others from signing in.
    pub(crate) wrong_passwords: Buckets<String>,
    pub(crate) wrong_passwords_anywhere: Buckets<String>,
    /// Records of what an instance says that was used.
    pub(crate) metered: Buckets<InstanceId>,
    reads: Buckets<String>,
    writes: Buckets<String>,
    credentials: Buckets<IpAddr>,
    proven: Proven,
    /// Calls of an instance about itself: as many as its node's door lets through.
    own_calls: Buckets<String>,
    /// What an instance says of its members, which stays in its timeline.
    pub(crate) emitted: Buckets<InstanceId>,
    in_flight: Arc<InFlight>,
    request_timeout: Duration,
}

/// A record a second of ten meters; a batch that waited for an hour goes through at once.
const METERED_PER_SECOND: f64 = 10.0;
const METERED_AT_ONCE: f64 = 10_000.0;
const OWN_CALLS_PER_SECOND: f64 = 20.0;
const OWN_CALLS_AT_ONCE: f64 = 200.0;
/// Members come and go by the minute; many at once when a cluster starts.
const EMITTED_PER_SECOND: f64 = 0.5;
const EMITTED_AT_ONCE: f64 = 500.0;

impl App {
    pub(crate) fn new(
        plane: Arc<ControlPlane>,
        config: &Config,
        public_url: String,
        metrics: Arc<Metrics>,
        tasks: Spawner,
    ) -> AppState {
        let Limits {
            reads_per_second,
            writes_per_second,
            credentials_per_second,
            wrong_passwords,
            max_streams,
        } = config.limits;
        let secure_cookies = public_url.starts_with("https://");
        // Cookies ignore ports: the platform's id keeps two platforms on one host apart.
        let short = plane.short_id();
        let prefix = if secure_cookies { "__Host-" } else { "" };
        let bucket = |per_second: u32| Buckets::new(f64::from(per_second), f64::from(per_second) * 2.0);
        Arc::new(Self {
            origins: OwnOrigins::new(&public_url),
            cookie_name: format!("{prefix}gpuaas_session_{short}"),
            secure_cookies,
            streams: Arc::new(Semaphore::new(max_streams)),
            seats: Arc::default(),
            wrong_passwords: Buckets::new(f64::from(wrong_passwords) / 600.0, f64::from(wrong_passwords)),
            wrong_passwords_anywhere: Buckets::new(
                f64::from(wrong_passwords) / 60.0,
                f64::from(wrong_passwords) * 10.0,
            ),
            metered: Buckets::new(METERED_PER_SECOND, METERED_AT_ONCE),
            reads: bucket(reads_per_second),
            writes: bucket(writes_per_second),
            credentials: Buckets::new(
                f64::from(credentials_per_second),
                f64::from(credentials_per_second) * 5.0,
            ),
            proven: Proven::new(f64::from(credentials_per_second)),
            own_calls: Buckets::new(OWN_CALLS_PER_SECOND, OWN_CALLS_AT_ONCE),
            emitted: Buckets::new(EMITTED_PER_SECOND, EMITTED_AT_ONCE),
            in_flight: Arc::default(),
            request_timeout: Duration::from_secs(config.http.request_timeout_seconds),
            plane,
            metrics,
            tasks,
            public_url,
            registry: std::sync::OnceLock::new(),
            gateway: std::sync::OnceLock::new(),
        })
    }

    pub(crate) fn too_large() -> ApiError {
        Error::new(Kind::TooLarge, "body_too_large", "The body is larger than this call takes.").into()
    }
}

/// What is shorter is read to its end, whatever the answer.
const DRAINED: u64 = 32 * 1024;

/// Set by the inner door for the log line and the metrics.
#[derive(Clone, Copy)]
struct Reached(Route);

/// Around everything, also around what has no route.
pub(super) async fn outermost(State(app): State<AppState>, mut request: Request, next: Next) -> Response {
    let started = Instant::now();
    let origin = story::origin(request.headers(), &app.plane);
    let span = tracing::info_span!(
        "request",
        correlation_id = %origin.correlation_id,
        trace_id = %origin.trace_id,
        org_id = tracing::field::Empty,
        project_id = tracing::field::Empty,
        app_instance_id = tracing::field::Empty,
        operating_mode = tracing::field::Empty,
        control_plane_scope = tracing::field::Empty,
        runtime_backend = tracing::field::Empty,
        actor = tracing::field::Empty,
    );
    let method = request.method().clone();
    // HTTP/2 names the host in the address instead of a header; the rules about hosts read the header.
    if let Some(authority) = request.uri().authority().map(|authority| authority.as_str().to_owned())
        && !request.headers().contains_key(header::HOST)
        && let Ok(value) = HeaderValue::from_str(&authority)
    {
        request.headers_mut().insert(header::HOST, value);
    }
    request.extensions_mut().insert(origin.clone());
    let large = request.version() < Version::HTTP_2 && declared_length(request.headers()) >= DRAINED;
    let answer = AssertUnwindSafe(next.run(request).instrument(span.clone())).catch_unwind().await;
    let mut response =
        answer.unwrap_or_else(|_| ApiError(Error::internal("a handler panicked")).into_response());
    let _entered = span.enter();
    if let Some(Carried(error)) = response.extensions_mut().remove::<Carried>() {
        log_error(&error.0);
        let headers = response.headers().clone();
        let reached = response.extensions().get::<Reached>().copied();
        response = error.render(&origin.correlation_id);
        response.headers_mut().extend(
            headers
                .into_iter()
                .filter_map(|(name, value)| Some((name?, value)))
                .filter(|(name, _)| *name == header::ALLOW || *name == header::SET_COOKIE),
        );
        reached.map(|reached| response.extensions_mut().insert(reached));
    }
    finish(&app, &mut response, &origin);
    // A large body that was refused unread ends the connection: say so, or the next request goes into a closing one.
    if large && response.status().is_client_error() {
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    let route = response.extensions().get::<Reached>().map_or("none", |reached| reached.0.name());
    let status = response.status().as_u16();
    app.metrics.requests.get_or_create(&RequestLabels { route, status }).inc();
    let elapsed = started.elapsed();
    app.metrics.request_seconds.observe(elapsed.as_secs_f64());
    tracing::info!(http.route = route, http.method = %method, http.status = status, duration_us = u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX), "{method} {route} {status}");
    response
}

fn declared_length(headers: &HeaderMap) -> u64 {
    let length = headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse().ok());
    length.unwrap_or(0)
}

fn finish(app: &App, response: &mut Response, origin: &Origin) {
    let headers = response.headers_mut();
    let mut set = |name: HeaderName, value: &str| {
        if let Ok(value) = HeaderValue::from_str(value) {
            headers.entry(name).or_insert(value);
        }
    };
    set(HeaderName::from_static("x-correlation-id"), &origin.correlation_id);
    set(header::CACHE_CONTROL, "no-store");
    set(header::X_CONTENT_TYPE_OPTIONS, "nosniff");
    set(header::REFERRER_POLICY, "no-referrer");
    set(HeaderName::from_static("cross-origin-resource-policy"), "same-origin");
    set(header::CONTENT_SECURITY_POLICY, "default-src 'none'; frame-ancestors 'none'");
    if app.secure_cookies {
        set(header::STRICT_TRANSPORT_SECURITY, "max-age=31536000");
    }
}

/// Once, here, where the error ends: our own faults loudly, callers' quietly.
fn log_error(error: &Error) {
    match error.kind() {
        Kind::Internal => tracing::error!(code = error.code(), "{error}"),
        Kind::Unavailable => tracing::warn!(code = error.code(), "{error}"),
        _ => tracing::info!(code = error.code(), "{error}"),
    }
}

pub(super) async fn no_route() -> ApiError {
    Error::not_found().into()
}

pub(super) async fn no_method() -> ApiError {
    Error::new(Kind::NoSuchMethod, "method_not_allowed", "This path has no such method.").into()
}

/// In front of one route. What does not stream has a time limit, the reading of its body included.
pub(super) async fn enter(
    State((app, route)): State<(AppState, Route)>,
    request: Request,
    next: Next,
) -> Response {
    let work = pass(&app, route, request, next);
    let mut response = if route.row().streaming {
        work.await
    } else {
        tokio::time::timeout(app.request_timeout, work).await.unwrap_or_else(|_| {
            let error = Error::new(
                Kind::Unavailable,
                "request_timeout",
                "This took too long and was given up; try again.",
            );
            ApiError(error).into_response()
        })
    };
    if route == Route::ArtifactRegister {
        response = point_to_intents(response);
    }
    response.extensions_mut().insert(Reached(route));
    response
}

/// Who sends an image to the API learns where images go instead (T-18).
fn point_to_intents(response: Response) -> Response {
    let Some(Carried(error)) = response.extensions().get::<Carried>() else { return response };
    let error = &error.0;
    if !matches!(error.kind(), Kind::TooLarge | Kind::UnsupportedMedia) {
        return response;
    }
    let path = Route::PublishIntentCreate.row().path;
    let sentence = format!(
        "{} Images do not pass through the API: ask for an intent with POST {path}, push to the registry with it, then \
         register the digest here as application/json.",
        error.message()
    );
    let refusal = Error::new(error.kind(), error.code(), sentence);
    ApiError(refusal.with_param("publish_intents", path)).into_response()
}

async fn pass(app: &AppState, route: Route, request: Request, next: Next) -> Response {
    match admit(app, route, request).await {
        Ok(Admitted::Replay(response)) => response,
        Ok(Admitted::Go(request)) => {
            let call = request.extensions().get::<Call>().cloned();
            let claimed = request.extensions().get::<proven::Claimed>().cloned();
            let response = next.run(request).await;
            if let Some(proven::Claimed(key)) = claimed.filter(|_| response.status().is_success()) {
                app.proven.remember(key, app.plane.now());
            }
            if let (Some(Carried(error)), Some(claim)) =
                (response.extensions().get::<Carried>(), call.as_ref().and_then(|call| call.claim.as_ref()))
                && matches!(error.0.kind(), Kind::Conflict | Kind::Stale | Kind::NotFound)
                && let Some(first) = first_answer_elsewhere(app, claim).await
            {
                return first;
            }
            let context = call.map(|call| call.context);
            // Whatever rule refused a caller we know, the refusal is in the trail.
            match (response.extensions().get::<Carried>().cloned(), context) {
                (Some(Carried(error)), Some(context)) => match context.ensure_denial_recorded(&error.0).await
                {
                    Ok(()) => response,
                    Err(error) => ApiError(error).into_response(),
                },
                _ => response,
            }
        }
        Err(error) => error.into_response(),
    }
}

/// Another process may have answered the same key while we tried: then its answer is the answer.
async fn first_answer_elsewhere(app: &App, claim: &Claim) -> Option<Response> {
    let not_before = app.plane.now().plus_seconds(-RETENTION_SECONDS);
    let mut session = app.plane.store.read().await.ok()?;
    let stored = session.find_idempotency(claim.key(), not_before).await.ok()??;
    (stored.request_hash == claim.request_hash()).then(|| reply::replay(stored.status, stored.reply))
}

enum Admitted {
    Go(Request),
    Replay(Response),
}

async fn admit(app: &AppState, route: Route, request: Request) -> ApiResult<Admitted> {
    let row = route.row();
    let now = app.plane.now();
    let (mut parts, body) = request.into_parts();
    let peer = peer(&parts);
    // Machines that share an address must not lock each other out, so theirs is looked at when it is known who asks.
    let is_exchange = proven::is_exchange(route);
    if row.rate == RateClass::Credential && !is_exchange {
        app.credentials.take(peer, now).inspect_err(|_| count_limited(app))?;
    }
    let caller = if row.access == Access::Public {
        Caller::Anonymous
    } else {
        identify(app, route, &parts.headers).await?
    };
    if row.access != Access::Public && matches!(caller, Caller::Anonymous) {
        app.metrics.anonymous_denials.inc();
        // Those who do not say who they are share what one caller may do from one address.
        app.reads.take(peer.to_string(), now).inspect_err(|_| count_limited(app))?;
        return Err(Error::unauthenticated(
            "unauthenticated",
            "Sign in first: this needs a session or a token.",
        )
        .into());
    }
    let principal = match &caller {
        Caller::Anonymous => peer.to_string(),
        Caller::Known(known) => format!("{}:{}", known.actor.kind(), known.actor.id()),
    };
    match row.rate {
        RateClass::Read => app.reads.take(principal.clone(), now).inspect_err(|_| count_limited(app))?,
        RateClass::Write => app.writes.take(principal.clone(), now).inspect_err(|_| count_limited(app))?,
        RateClass::Free | RateClass::Credential => {}
    }
    if row.access == Access::Instance {
        app.own_calls.take(principal.clone(), now).inspect_err(|_| count_limited(app))?;
    }
    let slow = |_| Error::new(Kind::Unavailable, "request_timeout", "The body took too long; try again.");
    let bytes =
        tokio::time::timeout(app.request_timeout, collect(body, row.body_limit)).await.map_err(slow)??;
    if is_exchange {
        let key = proven::claimed_key(&bytes);
        let taken = match &key {
            Some(key) if app.proven.knows(key, now) => app.proven.take(key, now),
            Some(_) | None => app.credentials.take(peer, now),
        };
        taken.inspect_err(|_| count_limited(app))?;
        key.map(|key| parts.extensions.insert(proven::Claimed(key)));
    }
    let is_known = matches!(caller, Caller::Known(_));
    let mut call = make_call(app, route, &mut parts, caller).await?;
    let permitted = permit(&mut call).await;
    let key = single(&parts.headers, "idempotency-key")?.filter(|_| is_known && row.method.is_mutation());
    if let Some(value) = key {
        let key = Key { principal, route: route.name(), key: idempotency::parse_key(value)? };
        match claim(app, key, request_hash(&parts.uri, &bytes)).await? {
            Claimed::Fresh(claim) => call.claim = Some(Arc::new(claim)),
            // Who has lost the permission gets no old answer either; but that something is done and gone may be
            // said again, because it says nothing else.
            Claimed::Answered(stored) if permitted.is_ok() || stored.status == 204 => {
                app.metrics.replayed_answers.inc();
                return Ok(Admitted::Replay(reply::replay(stored.status, stored.reply)));
            }
            Claimed::Answered(_) => {}
        }
    }
    permitted?;
    parts.extensions.insert(call);
    Ok(Admitted::Go(Request::from_parts(parts, Body::from(bytes))))
}

fn peer(parts: &Parts) -> IpAddr {
    parts.extensions.get::<Peer>().map_or(IpAddr::from([0, 0, 0, 0]), |peer| peer.0)
}

async fn make_call(app: &AppState, route: Route, parts: &mut Parts, caller: Caller) -> ApiResult<Call> {
    let row = route.row();
    let origin = parts.extensions.get::<Origin>().cloned();
    let origin = origin.ok_or_else(|| Error::internal("a route outside the door"))?;
    if let Caller::Known(known) = &caller {
        tracing::Span::current().record("actor", known.actor.id());
    }
    let permission = match row.access {
        Access::Needs(permission, _) => Some(permission),
        Access::Public | Access::SignedIn | Access::Person | Access::Node | Access::Instance => None,
    };
    let action = row.audit.or(permission.map(Permission::key)).unwrap_or(route.name());
    let facts = RouteFacts { name: route.name(), permission, action };
    let if_match = parse_if_match(&parts.headers)?;
    let context = OpContext {
        plane: app.plane.clone(),
        caller,
        origin,
        route: facts,
        if_match,
        granted: None,
        denial: Arc::default(),
    };
    let raw = RawPathParams::from_request_parts(parts, app).await.map_err(|_| Error::not_found())?;
    let path: Vec<_> = raw.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    // Nothing is named so, and PostgreSQL takes no NUL.
    if path.iter().any(|(_, value)| value.contains(char::is_control)) {
        return Err(Error::not_found().into());
    }
    Ok(Call { app: app.clone(), route, context, claim: None, path: Arc::new(path), peer: peer(parts) })
}

/// Before the body is parsed: who may not come in learns nothing from what they brought.
async fn permit(call: &mut Call) -> ApiResult<()> {
    match call.route.row().access {
        Access::Needs(permission, _) => {
            call.context.granted = Some(call.context.permit_at(permission, call.target()?).await?);
        }
        Access::Person => {
            call.context.person().await?;
        }
        Access::Instance => call.context.permit_own_instance(call.id("app_instance_id")?).await?,
        Access::Public | Access::SignedIn | Access::Node => {}
    }
    Ok(())
}

/// A header that may stand once.
fn single<'h>(headers: &'h HeaderMap, name: &'static str) -> ApiResult<Option<&'h HeaderValue>> {
    let mut values = headers.get_all(name).iter();
    let first = values.next();
    if values.next().is_some() {
        return Err(Error::invalid("repeated_header", format!("Send the header {name} once.")).into());
    }
    Ok(first)
}

fn count_limited(app: &App) {
    app.metrics.rate_limited.inc();
}

/// Reads the body up to the route's limit, so that nothing behind the door waits for a slow sender.
async fn collect(body: Body, limit: usize) -> ApiResult<Bytes> {
    match http_body_util::Limited::new(body, limit).collect().await {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) if error.downcast_ref::<http_body_util::LengthLimitError>().is_some() => {
            Err(App::too_large())
        }
        Err(_) => Err(Error::invalid("body_unreadable", "The body ended before it was complete.").into()),
    }
}

fn request_hash(uri: &axum::http::Uri, body: &[u8]) -> [u8; 32] {
    let mut context = Context::new(&SHA256);
    let target = uri.path_and_query().map_or("", |target| target.as_str());
    context.update(&(target.len() as u64).to_be_bytes());
    context.update(target.as_bytes());
    context.update(body);
    context.finish().as_ref().try_into().expect("SHA-256 gives 32 bytes")
}

enum Claimed {
    /// The right to answer for this key.
    Fresh(Claim),
    Answered(Stored),
}

async fn claim(app: &App, key: Key, hash: [u8; 32]) -> ApiResult<Claimed> {
    let claim = app.in_flight.claim(key.clone(), hash)?;
    let not_before = app.plane.now().plus_seconds(-RETENTION_SECONDS);
    let stored = app.plane.store.read().await?.find_idempotency(&key, not_before).await?;
    match stored {
        None => Ok(Claimed::Fresh(claim)),
        Some(stored) if stored.request_hash != hash => Err(idempotency::reused().into()),
        Some(stored) => Ok(Claimed::Answered(stored)),
    }
}

/// `If-Match: "7"`: only if the version is still 7. `*` means any.
fn parse_if_match(headers: &HeaderMap) -> ApiResult<Option<i64>> {
    let Some(value) = single(headers, header::IF_MATCH.as_str())? else { return Ok(None) };
    let text = value.to_str().unwrap_or_default().trim();
    if text == "*" {
        return Ok(None);
    }
    let digits = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or_default();
    // As we print it: no sign, no zero in front.
    let version = digits.parse::<i64>().ok().filter(|version| version.to_string() == digits);
    version.map(Some).ok_or_else(|| {
        Error::invalid("invalid_if_match", "Use the ETag of the object as If-Match, as in \"7\".").into()
    })
}
