//! Events as they happen: server-sent events and WebSocket. A stream ends when its caller's authority does.

use std::collections::{HashMap, VecDeque};
use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use aide::OperationOutput;
use axum::extract::FromRequestParts;
use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::http::HeaderMap;
use axum::response::sse::{Event as SseEvent, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use gpuaas_api::observe::{Event, FollowQuery};
use gpuaas_control_plane::operations::{authenticate, observe};
use gpuaas_control_plane::{Caller, OpContext};
use gpuaas_domain::iam::TenantScope;
use gpuaas_domain::{Error, Kind, Result};
use tokio::sync::OwnedSemaphorePermit;
use tokio::sync::watch;

use super::credential::{Presented, presented};
use super::door::AppState;
use super::extract::{Call, Query};
use super::meta::Plain;
use super::observe::event;
use super::problem::{ApiError, ApiResult};

/// How long a stream goes on before it asks again whether its caller may listen.
const RECHECK: Duration = Duration::from_secs(4);
const PAGE: u32 = 100;

/// How many streams one caller may hold, so that nobody takes them all.
const STREAMS_PER_CALLER: usize = 200;

/// Who holds how many streams.
#[derive(Default)]
pub(crate) struct Seats(Mutex<HashMap<String, usize>>);

/// One stream's place; given back when dropped.
struct Seat {
    seats: Arc<Seats>,
    caller: String,
}

impl Seats {
    fn take(self: &Arc<Self>, caller: &str) -> Result<Seat> {
        let mut held = self.0.lock().expect("no holder of the seats panics");
        let count = held.entry(caller.to_owned()).or_default();
        if *count >= STREAMS_PER_CALLER {
            return Err(too_many_streams());
        }
        *count += 1;
        Ok(Seat { seats: self.clone(), caller: caller.to_owned() })
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut held = self.seats.0.lock().expect("no holder of the seats panics");
        if let Some(count) = held.get_mut(&self.caller) {
            *count -= 1;
            if *count == 0 {
                held.remove(&self.caller);
            }
        }
    }
}

fn too_many_streams() -> Error {
    Error::new(Kind::Unavailable, "too_many_streams", "Too many event streams are open; try again later.")
}

/// A stream's place: one of the server's, one of its caller's, and the means to ask again whether the caller may.
pub(super) struct StreamPlace {
    call: Call,
    credential: Option<Presented>,
    _slot: OwnedSemaphorePermit,
    _seat: Seat,
}

impl StreamPlace {
    pub(super) fn take(call: &Call, headers: &HeaderMap) -> ApiResult<Self> {
        let slot = call.app.streams.clone().try_acquire_owned().map_err(|_| too_many_streams())?;
        let seat = call.app.seats.take(&call.known()?.actor.id())?;
        let credential = presented(&call.app, headers)?;
        call.app.metrics.open_streams.inc();
        Ok(Self { call: call.clone(), credential, _slot: slot, _seat: seat })
    }

    pub(super) fn tasks(&self) -> gpuaas_program::Spawner {
        self.call.app.tasks.clone()
    }

    /// Asks who is calling and what they may do, from the beginning.
    pub(super) async fn recheck(&self) -> ApiResult<()> {
        let plane = &self.call.plane;
        let known = match &self.credential {
            Some(Presented::Bearer(token)) => authenticate::bearer(plane, token.expose()).await?,
            Some(Presented::Cookie(token)) => authenticate::session_cookie(plane, token.expose()).await?,
            None => {
                return Err(Error::unauthenticated("unauthenticated", "The stream has no credential.").into());
            }
        };
        let context = OpContext {
            caller: Caller::Known(Box::new(known)),
            granted: None,
            denial: Arc::default(),
            ..self.call.context.clone()
        };
        if let Some(permission) = context.route.permission {
            context.permit_at(permission, self.call.target()?).await?;
        }
        Ok(())
    }

    pub(super) async fn still_allowed(&self) -> bool {
        !self.call.app.tasks.is_stopping() && self.recheck().await.is_ok()
    }
}

impl Drop for StreamPlace {
    fn drop(&mut self) {
        self.call.app.metrics.open_streams.dec();
    }
}

/// Reads on from a position for as long as its caller may.
struct Follower {
    place: StreamPlace,
    scope: TenantScope,
    after: i64,
    ready: VecDeque<Event>,
    sequenced: watch::Receiver<u64>,
    checked: tokio::time::Instant,
}

impl Follower {
    async fn open(call: &Call, headers: &HeaderMap, after: Option<i64>) -> ApiResult<Self> {
        let place = StreamPlace::take(call, headers)?;
        // Before the first look, so that nothing numbered meanwhile is waited for in vain.
        let sequenced = call.plane.store.watch_sequenced();
        let (scope, after) = observe::start_following(call, call.target()?, after).await?;
        let checked = tokio::time::Instant::now();
        Ok(Self { place, scope, after, ready: VecDeque::new(), sequenced, checked })
    }

    /// The next event, or `None` when the stream is over.
    async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(event);
            }
            if self.place.call.app.tasks.is_stopping() {
                return None;
            }
            if self.checked.elapsed() >= RECHECK {
                if self.place.recheck().await.is_err() {
                    return None;
                }
                self.checked = tokio::time::Instant::now();
            }
            self.sequenced.mark_unchanged();
            match self.fetch().await {
                Ok(0) => {
                    let tasks = self.place.call.app.tasks.clone();
                    tokio::select! {
                        _ = self.sequenced.changed() => {}
                        () = tokio::time::sleep(Duration::from_secs(1)) => {}
                        () = tasks.stopped() => {}
                    }
                }
                Ok(_) => {}
                Err(error) => {
                    tracing::warn!("an event stream lost the database: {error}");
                    return None;
                }
            }
        }
    }

    async fn fetch(&mut self) -> Result<usize> {
        let rows =
            self.place.call.plane.store.read().await?.list_events(self.scope, self.after, PAGE).await?;
        let count = rows.len();
        for (sequence, row) in rows {
            self.after = sequence;
            let event = event(&self.place.call, sequence, row);
            self.ready.push_back(event);
        }
        Ok(count)
    }
}

/// A stream of server-sent events, described as such in the contract.
pub(super) struct EventStream(Response);

impl IntoResponse for EventStream {
    fn into_response(self) -> Response {
        self.0
    }
}

impl OperationOutput for EventStream {
    type Inner = ();

    fn inferred_responses(
        _: &mut aide::generate::GenContext,
        _: &mut aide::openapi::Operation,
    ) -> Vec<(Option<aide::openapi::StatusCode>, aide::openapi::Response)> {
        let mut response =
            aide::openapi::Response { description: "Events as they happen.".into(), ..Default::default() };
        response.content.insert("text/event-stream".into(), aide::openapi::MediaType::default());
        vec![(Some(aide::openapi::StatusCode::Code(200)), response)]
    }
}

pub(super) async fn stream(
    call: Call,
    headers: HeaderMap,
    Query(query): Query<FollowQuery>,
) -> ApiResult<EventStream> {
    let resumed = match headers.get("last-event-id") {
        None => None,
        Some(value) => Some(
            value.to_str().ok().and_then(|text| text.parse::<i64>().ok()).filter(|n| *n >= 0).ok_or_else(
                || {
                    Error::invalid(
                        "invalid_last_event_id",
                        "Last-Event-ID is the sequence number of an event.",
                    )
                },
            )?,
        ),
    };
    let follower = Follower::open(&call, &headers, resumed.or(query.after)).await?;
    let events = stream::unfold(follower, |mut follower| async move {
        let event = follower.next().await?;
        let data = serde_json::to_string(&event).unwrap_or_default();
        let message = SseEvent::default().id(event.sequence.to_string()).event(event.kind.clone()).data(data);
        Some((Ok::<_, Infallible>(message), follower))
    });
    let keep_alive = KeepAlive::new().interval(Duration::from_secs(15)).text("still here");
    Ok(EventStream(Sse::new(events).keep_alive(keep_alive).into_response()))
}

/// The handshake and nothing else; a plain request is told what is missing.
pub(super) struct Upgrade(pub(super) WebSocketUpgrade);

impl FromRequestParts<AppState> for Upgrade {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut axum::http::request::Parts, state: &AppState) -> ApiResult<Self> {
        WebSocketUpgrade::from_request_parts(parts, state).await.map(Self).map_err(|_| {
            Error::invalid("websocket_required", "Connect to this path with a WebSocket handshake.").into()
        })
    }
}

impl aide::OperationInput for Upgrade {}

pub(super) async fn socket(
    call: Call,
    headers: HeaderMap,
    Query(query): Query<FollowQuery>,
    Upgrade(upgrade): Upgrade,
) -> ApiResult<Plain> {
    if let Some(Presented::Cookie(_)) = presented(&call.app, &headers)? {
        call.app.origins.check_socket(&headers)?;
    }
    let follower = Follower::open(&call, &headers, query.after).await?;
    let upgrade = upgrade
        .max_frame_size(4096)
        .max_message_size(4096)
        .on_upgrade(move |socket| async move { pump(socket, follower).await });
    Ok(Plain(upgrade))
}

/// Sends events until either side has had enough. What the client says is not expected and ends nothing.
async fn pump(mut socket: WebSocket, mut follower: Follower) {
    let mut alive = tokio::time::interval(Duration::from_secs(20));
    loop {
        tokio::select! {
            event = follower.next() => {
                let Some(event) = event else { break };
                let text = serde_json::to_string(&event).unwrap_or_default();
                if socket.send(Message::Text(text.into())).await.is_err() {
                    return;
                }
            }
            received = socket.recv() => match received {
                Some(Ok(Message::Close(_)) | Err(_)) | None => return,
                Some(Ok(_)) => {}
            },
            _ = alive.tick() => {
                if socket.send(Message::Ping(Vec::new().into())).await.is_err() {
                    return;
                }
            }
        }
    }
    let _ = socket.send(Message::Close(None)).await;
}
