//! The engine's side of a pull: the few requests of the distribution protocol that a pull by digest needs.

use std::convert::Infallible;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use futures_util::stream;
use gpuaas_agent_protocol::Digest;
use gpuaas_program::Spawner;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::header::{self, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use serde_json::json;
use tokio::net::TcpListener;

use super::ticket::{Flow, Part, Ticket};
use super::{Tickets, lock};
use crate::http_door::{Door, Limits};
use crate::seams::Failure;

type Answer = Response<UnsyncBoxBody<Bytes, Failure>>;

struct Endpoint {
    tickets: Arc<Tickets>,
}

pub(super) fn start(listener: TcpListener, tickets: Arc<Tickets>, spawner: &Spawner) {
    let endpoint = Arc::new(Endpoint { tickets });
    let door = Door::new(listener, Limits::default(), spawner.clone());
    spawner.spawn_until_stop(door.serve(move |request: Request<Incoming>, _| {
        let endpoint = endpoint.clone();
        async move { Ok::<_, Infallible>(endpoint.answer(&request).await) }
    }));
}

/// What the path asks for.
enum Wanted<'p> {
    Version,
    Manifest(&'p str, Digest),
    Blob(&'p str, Digest),
}

fn wanted(path: &str) -> Option<Wanted<'_>> {
    let rest = path.strip_prefix("/v2/")?;
    if rest.is_empty() {
        return Some(Wanted::Version);
    }
    let (rest, digest) = rest.rsplit_once('/')?;
    let (repository, kind) = rest.rsplit_once('/')?;
    let digest = digest.parse().ok()?;
    match kind {
        "manifests" => Some(Wanted::Manifest(repository, digest)),
        "blobs" => Some(Wanted::Blob(repository, digest)),
        _ => None,
    }
}

impl Endpoint {
    async fn answer(&self, request: &Request<Incoming>) -> Answer {
        let Some(ticket) = self.ticket(request) else { return unauthorized() };
        if ![Method::GET, Method::HEAD].contains(request.method()) || request.uri().query().is_some() {
            return missing();
        }
        let head = request.method() == Method::HEAD;
        match wanted(request.uri().path()) {
            Some(Wanted::Version) => whole(StatusCode::OK, "application/json", Bytes::from_static(b"{}")),
            // Once broken, the engine is told not to try again.
            Some(_) if ticket.broken().is_some() => denied(&ticket),
            Some(Wanted::Manifest(repository, digest)) if repository == ticket.image.repository.as_str() => {
                match ticket.manifests.get(&digest) {
                    Some((bytes, kind)) => of_digest(whole(StatusCode::OK, kind, bytes.clone()), &digest),
                    None => missing(),
                }
            }
            Some(Wanted::Blob(repository, digest)) if repository == ticket.image.repository.as_str() => {
                if digest == ticket.config.0 {
                    let bytes = ticket.config.1.clone();
                    ticket.count(&digest, bytes.len() as u64);
                    return of_digest(whole(StatusCode::OK, "application/octet-stream", bytes), &digest);
                }
                match ticket.blobs.iter().find(|part| part.digest == digest) {
                    Some(part) => blob(&ticket, part.clone(), head).await,
                    None => missing(),
                }
            }
            Some(Wanted::Manifest(..) | Wanted::Blob(..)) | None => missing(),
        }
    }

    /// The living ticket whose credentials the request carries.
    fn ticket(&self, request: &Request<Incoming>) -> Option<Arc<Ticket>> {
        let value = request.headers().get(header::AUTHORIZATION)?.to_str().ok()?;
        let decoded = STANDARD.decode(value.strip_prefix("Basic ")?).ok()?;
        let (username, password) = std::str::from_utf8(&decoded).ok()?.split_once(':')?;
        let ticket = lock(&self.tickets).get(username)?.clone();
        (ticket.password == Digest::of(password.as_bytes()) && !ticket.is_dead()).then_some(ticket)
    }
}

async fn blob(ticket: &Arc<Ticket>, part: Part, head: bool) -> Answer {
    let (digest, size) = (part.digest.clone(), part.size);
    let body = if head {
        empty()
    } else {
        match Flow::open(ticket.clone(), part).await {
            Ok(flow) => stream_of(flow),
            Err(failure) => {
                ticket.break_off(failure);
                return denied(ticket);
            }
        }
    };
    let mut answer = of_digest(Response::new(body), &digest);
    let headers = answer.headers_mut();
    headers.insert(header::CONTENT_LENGTH, size.into());
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
    answer
}

/// Nothing is fetched before the engine has taken what came before.
fn stream_of(flow: Flow) -> UnsyncBoxBody<Bytes, Failure> {
    let frames = stream::unfold(flow, |mut flow| async move {
        let next = flow.next().await?;
        Some((next.map(Frame::data), flow))
    });
    StreamBody::new(frames).boxed_unsync()
}

fn empty() -> UnsyncBoxBody<Bytes, Failure> {
    full(Bytes::new())
}

fn full(bytes: Bytes) -> UnsyncBoxBody<Bytes, Failure> {
    Full::new(bytes).map_err(|never| match never {}).boxed_unsync()
}

fn whole(status: StatusCode, kind: &str, bytes: Bytes) -> Answer {
    let mut answer = Response::new(full(bytes));
    *answer.status_mut() = status;
    if let Ok(kind) = HeaderValue::from_str(kind) {
        answer.headers_mut().insert(header::CONTENT_TYPE, kind);
    }
    answer.headers_mut().insert("docker-distribution-api-version", HeaderValue::from_static("registry/2.0"));
    answer
}

fn of_digest(mut answer: Answer, digest: &Digest) -> Answer {
    let value = HeaderValue::from_str(digest.as_str()).expect("a digest is visible ASCII");
    answer.headers_mut().insert("docker-content-digest", value);
    answer
}

fn refusal(status: StatusCode, code: &str, message: &str) -> Answer {
    let body = json!({"errors": [{"code": code, "message": message}]});
    whole(status, "application/json", Bytes::from(body.to_string()))
}

fn missing() -> Answer {
    refusal(StatusCode::NOT_FOUND, "NAME_UNKNOWN", "not part of what may be pulled")
}

fn denied(ticket: &Ticket) -> Answer {
    let why = ticket.broken().map_or_else(|| "the pull broke off".to_owned(), |failure| failure.to_string());
    refusal(StatusCode::FORBIDDEN, "DENIED", &why)
}

fn unauthorized() -> Answer {
    let mut answer =
        refusal(StatusCode::UNAUTHORIZED, "UNAUTHORIZED", "the credentials of a pull are needed");
    let challenge = HeaderValue::from_static("Basic realm=\"gpuaas-agent\"");
    answer.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
    answer
}
