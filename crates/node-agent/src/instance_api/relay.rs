//! Which calls of an app go on to the platform, and how many.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use gpuaas_domain::Secret;
use http_body_util::Full;
use hyper::header::{self, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Method, Response, StatusCode};
use tokio::sync::Semaphore;
use tokio::time::Instant;
use uuid::Uuid;

use super::problem;
use crate::platform::CallError;
use crate::seams::{Relay, RelayedCall};

const EXCHANGE: &str = "/api/v1/auth/service-account/token";
const OWN: &str = "/api/v1/app-instances/";
/// Calls of one instance that may be under way.
const CONCURRENT: usize = 4;

/// A call that is passed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// An assertion for a token.
    Exchange,
    Heartbeat,
    Own,
}

/// What is passed on, if anything: a token is fetched, and an instance speaks about itself. Everything else of the
/// platform's is out of reach from here, whatever token is shown.
pub(super) fn target(parts: &Parts, instance: Uuid) -> Option<Target> {
    let path = parts.uri.path();
    if path == EXCHANGE {
        return (parts.method == Method::POST).then_some(Target::Exchange);
    }
    let verb = path.strip_prefix(OWN)?.strip_prefix(&instance.to_string())?.strip_prefix('/')?;
    match (&parts.method, verb) {
        (&Method::POST, "heartbeat") => Some(Target::Heartbeat),
        (&Method::GET, "status") | (&Method::POST, "members" | "metering") => Some(Target::Own),
        _ => None,
    }
}

/// So many at once, and then so many a second.
struct Bucket {
    most: f64,
    per_second: f64,
    left: Mutex<(f64, Instant)>,
}

impl Bucket {
    fn new(most: f64, per_second: f64) -> Self {
        Self { most, per_second, left: Mutex::new((most, Instant::now())) }
    }

    fn take(&self) -> bool {
        let mut left = self.left.lock().expect("no holder panics");
        let now = Instant::now();
        let gained = now.duration_since(left.1).as_secs_f64() * self.per_second;
        *left = ((left.0 + gained).min(self.most), now);
        let may = left.0 >= 1.0;
        if may {
            left.0 -= 1.0;
        }
        may
    }
}

/// What one instance may use of the way to the platform.
pub(super) struct Bounds {
    /// Few: the platform counts them by address, and the node itself needs tokens from the same one.
    exchanges: Bucket,
    calls: Bucket,
    turns: Semaphore,
}

impl Bounds {
    pub(super) fn new() -> Self {
        Self {
            exchanges: Bucket::new(5.0, 0.2),
            calls: Bucket::new(20.0, 10.0),
            turns: Semaphore::new(CONCURRENT),
        }
    }
}

fn too_many() -> Response<Full<Bytes>> {
    let mut answer = problem(
        StatusCode::TOO_MANY_REQUESTS,
        "too_many_requests",
        "Slow down; keep a token for most of its life.",
    );
    let wait = HeaderValue::from(Duration::from_secs(5).as_secs());
    answer.headers_mut().insert(header::RETRY_AFTER, wait);
    answer
}

pub(super) async fn pass_on(
    relay: Option<&dyn Relay>,
    bounds: &Bounds,
    target: Target,
    parts: &Parts,
    body: Bytes,
) -> Response<Full<Bytes>> {
    let away = || {
        problem(StatusCode::SERVICE_UNAVAILABLE, "platform_away", "The platform does not answer; try again.")
    };
    let Some(relay) = relay else { return away() };
    let bucket = if target == Target::Exchange { &bounds.exchanges } else { &bounds.calls };
    let (true, Ok(_turn)) = (bucket.take(), bounds.turns.try_acquire()) else { return too_many() };
    let text = |name| parts.headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
    let bearer = text(header::AUTHORIZATION).and_then(|value| value.strip_prefix("Bearer "));
    let bearer = bearer.filter(|_| target != Target::Exchange);
    let call = RelayedCall {
        method: parts.method.clone(),
        path: parts.uri.path().to_owned(),
        bearer: bearer.map(|bearer| Arc::new(Secret::new(bearer.trim().to_owned()))),
        idempotency_key: text(header::HeaderName::from_static("idempotency-key")).map(str::to_owned),
        body,
    };
    match relay.relay(&call).await {
        Ok((status, bytes)) => {
            let mut answer = Response::new(Full::from(bytes));
            *answer.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_GATEWAY);
            if status != 204 {
                let json = HeaderValue::from_static("application/json");
                answer.headers_mut().insert(header::CONTENT_TYPE, json);
            }
            answer.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
            answer
        }
        Err(CallError::Refused { .. } | CallError::NotANode(_) | CallError::Unreadable(_)) => problem(
            StatusCode::BAD_GATEWAY,
            "platform_unreadable",
            "The platform's answer cannot be read; try again.",
        ),
        Err(CallError::Unreachable(_) | CallError::Untrusted(_)) => away(),
    }
}
