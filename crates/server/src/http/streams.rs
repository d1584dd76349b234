//! Logs and private tunnels of an instance: bytes that flow for as long as their caller may have them.

use std::time::Duration;

use axum::body::Body;
use axum::extract::ws::{Message, WebSocket};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::IntoResponse as _;
use futures_util::SinkExt as _;
use futures_util::stream::{self, StreamExt as _};
use gpuaas_agent_protocol::link::LogQuery;
use gpuaas_api::instances::{ForwardQuery, LogsQuery};
use gpuaas_control_plane::ByteStream;
use gpuaas_control_plane::operations::instances;
use gpuaas_domain::Timestamp;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::credential::{Presented, presented};
use super::events::{StreamPlace, Upgrade};
use super::extract::{Call, Query};
use super::meta::Plain;
use super::problem::ApiResult;

/// How long bytes flow before it is asked again whether they may.
const RECHECK: Duration = Duration::from_secs(4);
const PIECE: usize = 64 * 1024;
const FAREWELL: Duration = Duration::from_secs(2);

pub(super) async fn logs(call: Call, headers: HeaderMap, Query(query): Query<LogsQuery>) -> ApiResult<Plain> {
    let (project, id) = (call.id("project_id")?, call.id("app_instance_id")?);
    let place = StreamPlace::take(&call, &headers)?;
    let wanted = LogQuery {
        component: query.component,
        tail: query.tail,
        since: query.since.map(Timestamp::unix_micros),
        follow: query.follow.unwrap_or(false),
    };
    let bytes = instances::logs(&call, project, id, wanted).await?;
    let mut check = tokio::time::interval(RECHECK);
    check.tick().await;
    let flow = stream::unfold((bytes, place, check), |(mut bytes, place, mut check)| async move {
        loop {
            tokio::select! {
                // First: a log that is never silent must not put the question off.
                biased;
                _ = check.tick() => {
                    if !place.still_allowed().await {
                        return None;
                    }
                }
                piece = bytes.next() => {
                    let piece = piece?.map_err(|error| std::io::Error::other(error.to_string()));
                    return Some((piece, (bytes, place, check)));
                }
            }
        }
    });
    let kind = HeaderValue::from_static("application/x-ndjson");
    Ok(Plain(([(header::CONTENT_TYPE, kind)], Body::from_stream(flow)).into_response()))
}

/// One connection to a declared port: what comes in binary messages goes out as bytes, and back.
pub(super) async fn forward(
    call: Call,
    headers: HeaderMap,
    Query(query): Query<ForwardQuery>,
    Upgrade(upgrade): Upgrade,
) -> ApiResult<Plain> {
    if let Some(Presented::Cookie(_)) = presented(&call.app, &headers)? {
        call.app.origins.check_socket(&headers)?;
    }
    let (project, id) = (call.id("project_id")?, call.id("app_instance_id")?);
    let place = StreamPlace::take(&call, &headers)?;
    let stream = instances::forward(&call, project, id, query.component.as_deref(), query.port).await?;
    let upgrade = upgrade
        .max_frame_size(1 << 20)
        .max_message_size(1 << 20)
        .on_upgrade(move |socket| async move { splice(socket, stream, place).await });
    Ok(Plain(upgrade))
}

async fn splice(socket: WebSocket, stream: Box<dyn ByteStream>, place: StreamPlace) {
    let (mut reader, mut writer) = tokio::io::split(stream);
    let (mut near, mut from_near) = socket.split();
    // The two directions do not wait for each other, and the question whether they may flow waits for neither.
    let down = async {
        let mut buffer = vec![0; PIECE];
        while let Ok(count @ 1..) = reader.read(&mut buffer).await {
            if near.send(Message::Binary(buffer[..count].to_vec().into())).await.is_err() {
                break;
            }
        }
    };
    let up = async {
        while let Some(Ok(message)) = from_near.next().await {
            let passed = match message {
                // The near end has said all it has to say.
                Message::Binary(bytes) if bytes.is_empty() => writer.shutdown().await,
                Message::Binary(bytes) => writer.write_all(&bytes).await,
                Message::Ping(_) | Message::Pong(_) => Ok(()),
                Message::Text(_) | Message::Close(_) => break,
            };
            if passed.is_err() {
                break;
            }
        }
    };
    let over = async {
        let mut check = tokio::time::interval(RECHECK);
        check.tick().await;
        loop {
            check.tick().await;
            if !place.still_allowed().await {
                break;
            }
        }
    };
    let tasks = place.tasks();
    tokio::select! { () = down => {}, () = up => {}, () = over => {}, () = tasks.stopped() => {} }
    let farewell = async {
        // Who hangs up with something unread in the pipe takes the end of the answer with it: wait for the other's end.
        if near.send(Message::Close(None)).await.is_ok() {
            while let Some(Ok(_)) = from_near.next().await {}
        }
    };
    let _ = tokio::time::timeout(FAREWELL, farewell).await;
}
