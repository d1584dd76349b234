//! The side that was dialled: it asks.

use std::time::Duration;

use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http2;
use hyper::upgrade::Upgraded;
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::{Instant, timeout};

use crate::error::{Error, chain};
use crate::socket::{Heard, SocketStream};
use crate::{CONNECTION_WINDOW, KeepAlive, MAX_FRAME, MAX_GIVEN_UP, STREAM_WINDOW, Scope};

/// What is read of the words of a refusal.
const MAX_REFUSAL: usize = 8 << 10;
const HANDSHAKE: Duration = Duration::from_secs(10);

/// Both directions of one `CONNECT`. Dropping it ends it.
pub type LinkStream = TokioIo<Upgraded>;

/// A live connection to the side that dialled. Clones are the same link; when the last one is gone it ends.
#[derive(Clone)]
pub struct Link {
    send: http2::SendRequest<Full<Bytes>>,
    scope: Scope,
    heard: Heard,
}

/// Takes over a connection whose WebSocket handshake is done.
pub async fn accept<I>(io: I, keep_alive: KeepAlive) -> Result<Link, Error>
where
    I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let io = SocketStream::server(io).await;
    let (heard, scope) = (io.heard(), Scope::new());
    let mut builder = http2::Builder::new(scope.clone());
    builder
        .timer(TokioTimer::new())
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_frame_size(MAX_FRAME)
        .max_concurrent_reset_streams(MAX_GIVEN_UP)
        // Counted over the whole life of the connection, which is to be months.
        .max_local_error_reset_streams(None)
        .keep_alive_interval(keep_alive.interval)
        .keep_alive_timeout(keep_alive.timeout)
        .keep_alive_while_idle(true);
    let handshake = timeout(HANDSHAKE, builder.handshake(TokioIo::new(io))).await;
    let (send, connection) = match handshake {
        Ok(Ok(made)) => made,
        Ok(Err(error)) => return Err(Error::Broken(chain(&error))),
        Err(_) => return Err(Error::TimedOut),
    };
    let end = scope.clone();
    scope.spawn(async move {
        let _ = connection.await;
        end.close();
    });
    Ok(Link { send, scope, heard })
}

impl Link {
    /// Sends a request with an absolute address (`http://node/…`: the host means nothing) and waits so long for the head
    /// of the answer, whatever its status.
    pub async fn request(
        &self,
        request: Request<Full<Bytes>>,
        at_most: Duration,
    ) -> Result<Response<Incoming>, Error> {
        let mut send = self.send.clone();
        let answer = async {
            send.ready().await?;
            send.send_request(request).await
        };
        match timeout(at_most, answer).await {
            Ok(Ok(response)) => Ok(response),
            Ok(Err(_)) if self.scope.is_closed() => Err(Error::Closed),
            Ok(Err(error)) => Err(Error::Broken(chain(&error))),
            Err(_) => Err(Error::TimedOut),
        }
    }

    /// Sends a `CONNECT`; the stream is open when this returns.
    pub async fn open(&self, request: Request<Full<Bytes>>, at_most: Duration) -> Result<LinkStream, Error> {
        let opened = async {
            let response = self.request(request, at_most).await?;
            if response.status().is_success() {
                let upgraded = hyper::upgrade::on(response).await;
                return upgraded.map(TokioIo::new).map_err(|error| Error::Broken(chain(&error)));
            }
            let status = response.status().as_u16();
            let words = Limited::new(response.into_body(), MAX_REFUSAL).collect().await;
            let words = words.map(http_body_util::Collected::to_bytes).unwrap_or_default();
            Err(Error::Answered { status, message: String::from_utf8_lossy(&words).into_owned() })
        };
        timeout(at_most, opened).await.unwrap_or(Err(Error::TimedOut))
    }

    /// When anything at all was last heard; never longer ago than the keep-alive allows while the link lives.
    pub fn last_heard(&self) -> Instant {
        self.heard.last()
    }

    pub fn is_closed(&self) -> bool {
        self.scope.is_closed()
    }

    /// Ends when the link does, whoever ended it.
    pub async fn closed(&self) {
        self.scope.closed().await;
    }

    /// Ends the link and every stream of it, at once.
    pub fn close(&self) {
        self.scope.close();
    }
}
