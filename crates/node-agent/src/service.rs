//! The agent's API, as it is served over the links: orders, logs and figures on the control link, byte streams on the
//! data link. What it says about workloads comes from [`Workloads`]; it decides nothing.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::TryStreamExt as _;
use gpuaas_agent_protocol::link::{INSTANCE_HEADER, INSTANCES, LOGS, LogQuery, Refused, STATS, TASKS};
use gpuaas_agent_protocol::task::{MAX_TASK_BYTES, Refusal, SignedTask};
use gpuaas_domain::ids::parse_uuid;
use gpuaas_tunnel::{Scope, splice};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full, Limited, StreamBody};
use hyper::body::{Body, Frame};
use hyper::header::{self, HeaderValue};
use hyper::{Method, Request, Response, StatusCode, Uri};
use serde::Serialize;
use serde_json::json;
use uuid::Uuid;

use crate::seams::{Answer, NoAnswer, Workloads};

pub type Reply = Response<UnsyncBoxBody<Bytes, std::io::Error>>;

/// The JSON of an envelope may need more bytes than its parts: quotes inside the payload are escaped.
const MAX_BODY: usize = 2 * MAX_TASK_BYTES;

/// Which of the two links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkKind {
    Control,
    Data,
}

/// Gets the platform's keys again. False if that was done a moment ago or did not work.
pub trait TrustSource: Send + Sync {
    fn refresh(&self) -> Answer<'_, bool>;
}

pub struct AgentApi {
    workloads: Arc<dyn Workloads>,
    trust: Arc<dyn TrustSource>,
}

impl AgentApi {
    pub fn new(workloads: Arc<dyn Workloads>, trust: Arc<dyn TrustSource>) -> Self {
        Self { workloads, trust }
    }

    /// Answers one request of the platform. What goes on after the answer lives in the link's scope.
    pub async fn handle<B>(&self, kind: LinkKind, request: Request<B>, scope: &Scope) -> Reply
    where
        B: Body<Data = Bytes> + Send,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        match (kind, request.method()) {
            (LinkKind::Data, &Method::CONNECT) => self.connect(request, scope).await,
            (LinkKind::Control, &Method::POST) if request.uri().path() == TASKS => self.task(request).await,
            (LinkKind::Control, &Method::GET) => self.read(request.uri()).await,
            (LinkKind::Control | LinkKind::Data, _) => not_found(),
        }
    }

    async fn task<B>(&self, request: Request<B>) -> Reply
    where
        B: Body<Data = Bytes> + Send,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let Ok(body) = Limited::new(request.into_body(), MAX_BODY).collect().await else {
            return refused(&refusal(Refusal::TooLarge, "An order has at most 512 KiB."));
        };
        let signed: SignedTask = match serde_json::from_slice(&body.to_bytes()) {
            Ok(signed) => signed,
            Err(error) => return refused(&refusal(Refusal::Malformed, &error.to_string())),
        };
        let mut answer = self.workloads.accept(&signed).await;
        // The platform may have a new key that we have not heard of: ask, once, over the pinned connection.
        if answer.as_ref().is_err_and(|refused| refused.refusal == Refusal::UnknownKey)
            && self.trust.refresh().await
        {
            answer = self.workloads.accept(&signed).await;
        }
        match answer {
            Ok(accepted) => with_json(StatusCode::ACCEPTED, &accepted),
            Err(why) => refused(&why),
        }
    }

    async fn read(&self, uri: &Uri) -> Reply {
        if uri.path() == INSTANCES {
            return with_json(StatusCode::OK, &self.workloads.report_full().await);
        }
        let rest = uri.path().strip_prefix(INSTANCES).and_then(|rest| rest.strip_prefix('/'));
        let Some((instance, what)) = rest.and_then(|rest| rest.split_once('/')) else { return not_found() };
        let Some(instance) = parse_uuid(instance) else { return not_found() };
        match what {
            LOGS => match log_query(uri.query().unwrap_or_default()) {
                Some(query) => self.logs(instance, query).await,
                None => problem(StatusCode::BAD_REQUEST, "bad_query", "component, tail, since, follow"),
            },
            STATS => match self.workloads.stats(instance).await {
                Ok(stats) => with_json(StatusCode::OK, &stats),
                Err(why) => no_answer(&why),
            },
            _ => not_found(),
        }
    }

    async fn logs(&self, instance: Uuid, query: LogQuery) -> Reply {
        match self.workloads.logs(instance, query).await {
            Ok(lines) => {
                let mut reply = Response::new(StreamBody::new(lines.map_ok(Frame::data)).boxed_unsync());
                let kind = HeaderValue::from_static("application/x-ndjson");
                reply.headers_mut().insert(header::CONTENT_TYPE, kind);
                reply
            }
            Err(why) => no_answer(&why),
        }
    }

    /// The authority names a component and a port, the header an instance.
    async fn connect<B>(&self, mut request: Request<B>, scope: &Scope) -> Reply {
        let instance = request.headers().get(INSTANCE_HEADER).and_then(|value| value.to_str().ok());
        let instance = instance.and_then(parse_uuid);
        let place = request.uri().authority().map(|authority| authority.as_str().to_owned());
        let place = place.as_deref().and_then(|place| place.rsplit_once(':'));
        let place = place.and_then(|(component, port)| Some((component, port.parse::<u16>().ok()?)));
        let (Some(instance), Some((component, port))) = (instance, place) else {
            return problem(
                StatusCode::BAD_REQUEST,
                "bad_target",
                "CONNECT component:port, with the instance.",
            );
        };
        match self.workloads.connect(instance, component, port).await {
            Ok(stream) => {
                let reply = splice(&mut request, stream, scope);
                reply.map(|body| body.map_err(|never| match never {}).boxed_unsync())
            }
            Err(why) => no_answer(&why),
        }
    }
}

/// An unknown name is refused: half-understood questions get wrong answers.
fn log_query(text: &str) -> Option<LogQuery> {
    let mut query = LogQuery::default();
    let base = reqwest::Url::parse(&format!("http://node/?{text}")).ok()?;
    for (name, value) in base.query_pairs() {
        match name.as_ref() {
            "component" => query.component = Some(value.into_owned()),
            "tail" => query.tail = Some(value.parse().ok()?),
            "since" => query.since = Some(value.parse().ok()?),
            "follow" => query.follow = value.parse().ok()?,
            _ => return None,
        }
    }
    Some(query)
}

fn refusal(refusal: Refusal, message: &str) -> Refused {
    Refused { refusal, message: message.to_owned() }
}

fn refused(why: &Refused) -> Reply {
    with_json(StatusCode::CONFLICT, why)
}

fn no_answer(why: &NoAnswer) -> Reply {
    match why {
        NoAnswer::NotFound => not_found(),
        NoAnswer::Unavailable(what) => problem(StatusCode::BAD_GATEWAY, "unavailable", what),
    }
}

fn not_found() -> Reply {
    problem(StatusCode::NOT_FOUND, "not_found", "Not on this node.")
}

fn problem(status: StatusCode, code: &str, message: &str) -> Reply {
    with_json(status, &json!({"error": {"code": code, "message": message}}))
}

fn with_json(status: StatusCode, body: &impl Serialize) -> Reply {
    let text = serde_json::to_vec(body).expect("answers are plain data");
    let mut reply = Response::new(Full::from(text).map_err(|never| match never {}).boxed_unsync());
    *reply.status_mut() = status;
    reply.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    reply
}
