//! A WebSocket as plain bytes. Where a message begins and ends means nothing.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures_util::{Sink, Stream};
use hyper::body::Bytes;
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::{Response, StatusCode};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Instant;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error as WsError, Message};

use crate::MAX_MESSAGE;

const READ_BUFFER: usize = 16 * 1024;

/// When the other end was last heard. Both ends ask after each other, so silence is news.
#[derive(Clone, Debug)]
pub(crate) struct Heard {
    since: Instant,
    millis: Arc<AtomicU64>,
}

impl Heard {
    fn now() -> Self {
        Self { since: Instant::now(), millis: Arc::default() }
    }

    fn mark(&self) {
        let millis = u64::try_from(self.since.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.millis.store(millis, Ordering::Relaxed);
    }

    pub(crate) fn last(&self) -> Instant {
        self.since + Duration::from_millis(self.millis.load(Ordering::Relaxed))
    }
}

/// Bytes over binary messages of at most 64 KiB, either role. Pings are answered; a close is the end of the bytes; text,
/// a message that is too long, or garbage is an error.
pub struct SocketStream<S> {
    inner: WebSocketStream<S>,
    unread: Bytes,
    heard: Heard,
}

pub(crate) fn limits() -> WebSocketConfig {
    WebSocketConfig::default()
        .max_message_size(Some(MAX_MESSAGE))
        .max_frame_size(Some(MAX_MESSAGE))
        // It is there for as long as the link is, and TLS hands over no more at once.
        .read_buffer_size(READ_BUFFER)
}

impl<S: AsyncRead + AsyncWrite + Unpin> SocketStream<S> {
    /// The server's side of a connection whose handshake is done.
    pub async fn server(io: S) -> Self {
        Self::new(WebSocketStream::from_raw_socket(io, Role::Server, Some(limits())).await)
    }

    pub(crate) fn new(inner: WebSocketStream<S>) -> Self {
        Self { inner, unread: Bytes::new(), heard: Heard::now() }
    }

    pub(crate) fn heard(&self) -> Heard {
        self.heard.clone()
    }

    fn poll_send(&mut self, cx: &mut Context<'_>, bytes: impl FnOnce() -> Bytes) -> Poll<io::Result<usize>> {
        ready!(Pin::new(&mut self.inner).poll_ready(cx)).map_err(as_io)?;
        let bytes = bytes();
        let count = bytes.len();
        Pin::new(&mut self.inner).start_send(Message::Binary(bytes)).map_err(as_io)?;
        Poll::Ready(Ok(count))
    }
}

fn as_io(error: WsError) -> io::Error {
    match error {
        WsError::Io(error) => error,
        WsError::ConnectionClosed | WsError::AlreadyClosed => io::ErrorKind::BrokenPipe.into(),
        other => io::Error::new(io::ErrorKind::InvalidData, other),
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for SocketStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        while self.unread.is_empty() {
            match ready!(Pin::new(&mut self.inner).poll_next(cx)).transpose().map_err(as_io)? {
                // An empty message is not the end: the loop goes on.
                Some(Message::Binary(bytes)) => self.unread = bytes,
                Some(Message::Ping(_) | Message::Pong(_)) => {}
                Some(Message::Close(_)) | None => return Poll::Ready(Ok(())),
                Some(Message::Text(_) | Message::Frame(_)) => {
                    let error = io::Error::new(io::ErrorKind::InvalidData, "a message that is not binary");
                    return Poll::Ready(Err(error));
                }
            }
            self.heard.mark();
        }
        let count = self.unread.len().min(into.remaining());
        into.put_slice(&self.unread.split_to(count));
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for SocketStream<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_send(cx, || Bytes::copy_from_slice(&bytes[..bytes.len().min(MAX_MESSAGE)]))
    }

    /// HTTP/2 writes the head of a frame and its content as two pieces: they become one message.
    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.poll_send(cx, || {
            let whole: usize = pieces.iter().map(|piece| piece.len()).sum();
            let mut message = Vec::with_capacity(whole.min(MAX_MESSAGE));
            for piece in pieces {
                let room = MAX_MESSAGE - message.len();
                message.extend_from_slice(&piece[..piece.len().min(room)]);
            }
            message.into()
        })
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx).map_err(as_io)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_close(cx).map_err(as_io)
    }
}

/// The 101 to a WebSocket handshake with these headers, or `None` if they are not one.
pub fn handshake_answer(headers: &HeaderMap) -> Option<Response<()>> {
    let says = |name: header::HeaderName, word: &str| {
        headers
            .get_all(name)
            .iter()
            .filter_map(|value| value.to_str().ok())
            .flat_map(|value| value.split(','))
            .any(|found| found.trim().eq_ignore_ascii_case(word))
    };
    let key = headers.get(header::SEC_WEBSOCKET_KEY)?;
    let asked = says(header::CONNECTION, "upgrade")
        && says(header::UPGRADE, "websocket")
        && says(header::SEC_WEBSOCKET_VERSION, "13");
    if !asked {
        return None;
    }
    let accept = HeaderValue::from_str(&derive_accept_key(key.as_bytes())).ok()?;
    Response::builder()
        .status(StatusCode::SWITCHING_PROTOCOLS)
        .header(header::CONNECTION, "Upgrade")
        .header(header::UPGRADE, "websocket")
        .header(header::SEC_WEBSOCKET_ACCEPT, accept)
        .body(())
        .ok()
}
