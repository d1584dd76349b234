//! The links as the control plane knows them: typed calls, each with its time and its size.

use std::time::Duration;

use futures_util::StreamExt as _;
use gpuaas_agent_protocol::link::{self, InstanceStats, LogQuery, Refused};
use gpuaas_agent_protocol::report::NodeReport;
use gpuaas_agent_protocol::task::SignedTask;
use gpuaas_control_plane::{ByteStream, Delivery, LinkCall, LinkError, LogBytes, NodeLink};
use gpuaas_domain::ids::{InstanceId, NodeId};
use gpuaas_tunnel::{Error as TunnelError, Link};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::{Request, Response, StatusCode};
use serde::de::DeserializeOwned;

use super::links::{Kind, Links};

/// For the head of an answer, and for all of a short one.
const ANSWER: Duration = Duration::from_secs(10);
/// A report of a thousand instances is well below.
const MAX_REPORT: usize = 16 << 20;
const MAX_SHORT: usize = 256 << 10;
/// What is kept of the words of a refusal.
const MAX_WORDS: usize = 2000;

type LinkResult<T> = Result<T, LinkError>;

impl NodeLink for Links {
    fn is_connected(&self, node: NodeId) -> bool {
        self.find(node, Kind::Control).is_some()
    }

    fn send_task<'a>(&'a self, node: NodeId, task: &'a SignedTask) -> LinkCall<'a, Delivery> {
        let call = async move {
            let body = serde_json::to_vec(task).map_err(|error| LinkError::Broken(error.to_string()))?;
            let request = Request::post(address(link::TASKS)).header("content-type", "application/json");
            let answer = self.control(node)?.request(built(request, body.into())?, ANSWER).await;
            let (status, bytes) = whole(answer.map_err(broken)?, MAX_SHORT).await?;
            match status {
                StatusCode::ACCEPTED => Ok(Delivery::Accepted),
                StatusCode::CONFLICT => match serde_json::from_slice::<Refused>(&bytes) {
                    Ok(refused) => Ok(Delivery::Refused(refused)),
                    Err(_) => Err(answered(status, &bytes)),
                },
                _ => Err(answered(status, &bytes)),
            }
        };
        Box::pin(in_time(call))
    }

    fn instances(&self, node: NodeId) -> LinkCall<'_, NodeReport> {
        Box::pin(in_time(async move { self.get(node, link::INSTANCES, MAX_REPORT).await }))
    }

    fn logs(&self, node: NodeId, instance: InstanceId, query: LogQuery) -> LinkCall<'_, LogBytes> {
        Box::pin(async move {
            let path = format!("{}/{instance}/{}{}", link::INSTANCES, link::LOGS, query_text(&query));
            let request = built(Request::get(address(&path)), Bytes::new())?;
            let answer = self.control(node)?.request(request, ANSWER).await.map_err(broken)?;
            if !answer.status().is_success() {
                let (status, bytes) = in_time(whole(answer, MAX_SHORT)).await?;
                return Err(answered(status, &bytes));
            }
            let pieces = answer
                .into_body()
                .into_data_stream()
                .map(|piece| piece.map(Vec::from).map_err(|error| LinkError::Broken(error.to_string())));
            Ok(Box::pin(pieces) as LogBytes)
        })
    }

    fn stats(&self, node: NodeId, instance: InstanceId) -> LinkCall<'_, InstanceStats> {
        Box::pin(in_time(async move {
            self.get(node, &format!("{}/{instance}/{}", link::INSTANCES, link::STATS), MAX_SHORT).await
        }))
    }

    fn open<'a>(
        &'a self,
        node: NodeId,
        instance: InstanceId,
        component: &'a str,
        port: u16,
    ) -> LinkCall<'a, Box<dyn ByteStream>> {
        Box::pin(async move {
            let request = Request::connect(format!("{component}:{port}"))
                .header(link::INSTANCE_HEADER, instance.to_string());
            let data = self.find(node, Kind::Data).ok_or(LinkError::NotConnected)?;
            let stream = data.open(built(request, Bytes::new())?, ANSWER).await.map_err(broken)?;
            Ok(Box::new(stream) as Box<dyn ByteStream>)
        })
    }

    fn disconnect(&self, node: NodeId) {
        self.close(node);
    }
}

impl Links {
    fn control(&self, node: NodeId) -> LinkResult<Link> {
        self.find(node, Kind::Control).ok_or(LinkError::NotConnected)
    }

    async fn get<T: DeserializeOwned>(&self, node: NodeId, path: &str, at_most: usize) -> LinkResult<T> {
        let request = built(Request::get(address(path)), Bytes::new())?;
        let answer = self.control(node)?.request(request, ANSWER).await.map_err(broken)?;
        let (status, bytes) = whole(answer, at_most).await?;
        if status != StatusCode::OK {
            return Err(answered(status, &bytes));
        }
        // A node that answers what nobody can read has not answered.
        serde_json::from_slice(&bytes)
            .map_err(|error| LinkError::Broken(format!("the node's answer cannot be read: {error}")))
    }
}

/// HTTP/2 wants a host; over a link there is only one.
fn address(path: &str) -> String {
    format!("http://node{path}")
}

fn built(request: hyper::http::request::Builder, body: Bytes) -> LinkResult<Request<Full<Bytes>>> {
    request.body(Full::new(body)).map_err(|error| LinkError::Broken(format!("not a request: {error}")))
}

async fn in_time<T>(call: impl Future<Output = LinkResult<T>>) -> LinkResult<T> {
    tokio::time::timeout(ANSWER, call).await.unwrap_or(Err(LinkError::TimedOut))
}

async fn whole(answer: Response<Incoming>, at_most: usize) -> LinkResult<(StatusCode, Bytes)> {
    let status = answer.status();
    let body = Limited::new(answer.into_body(), at_most).collect().await;
    let body = body.map_err(|error| LinkError::Broken(error.to_string()))?;
    Ok((status, body.to_bytes()))
}

fn answered(status: StatusCode, words: &[u8]) -> LinkError {
    let message = String::from_utf8_lossy(words).chars().take(MAX_WORDS).collect();
    LinkError::Answered { status: status.as_u16(), message }
}

fn broken(error: TunnelError) -> LinkError {
    match error {
        TunnelError::Answered { status, message } => {
            LinkError::Answered { status, message: message.chars().take(MAX_WORDS).collect() }
        }
        TunnelError::TimedOut => LinkError::TimedOut,
        other => LinkError::Broken(other.to_string()),
    }
}

/// `?component=web&tail=10&since=0&follow=true`; what is not asked for is not said.
fn query_text(query: &LogQuery) -> String {
    let LogQuery { component, tail, since, follow } = query;
    let pairs = [
        component.as_ref().map(|component| format!("component={}", escaped(component))),
        tail.map(|tail| format!("tail={tail}")),
        since.map(|since| format!("since={since}")),
        follow.then(|| "follow=true".to_owned()),
    ];
    let pairs: Vec<_> = pairs.into_iter().flatten().collect();
    if pairs.is_empty() { String::new() } else { format!("?{}", pairs.join("&")) }
}

fn escaped(text: &str) -> String {
    use std::fmt::Write as _;
    text.bytes().fold(String::new(), |mut out, byte| {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.') {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
        out
    })
}
