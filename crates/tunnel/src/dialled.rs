//! The side that dials: it comes out from behind its firewall, then serves what the other side asks.

use std::error::Error as StdError;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use http_body_util::Empty;
use hyper::body::{Body, Buf as _, Bytes, Frame, Incoming, SizeHint};
use hyper::header::AUTHORIZATION;
use hyper::server::conn::http2;
use hyper::service::{Service, service_fn};
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use rustls::ClientConfig;
use rustls_pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::error::Error as WsError;

use crate::error::{Error, chain};
use crate::socket::{SocketStream, limits};
use crate::{CONNECTION_WINDOW, KeepAlive, MAX_FRAME, MAX_STREAMS, STREAM_WINDOW, Scope};

/// To connect, to shake hands twice, and to be let in.
const DIAL: Duration = Duration::from_secs(15);
/// Each direction of a stream. Larger is faster for one stream, and there may be thousands.
const COPY_BUFFER: usize = 32 << 10;

pub type Dialled = SocketStream<TlsStream<TcpStream>>;

/// Dials a `wss://` address and proves itself with a bearer token. The token leaves only after the other end has proved
/// itself by the rules of `tls`.
pub async fn dial(url: &str, bearer: &str, tls: &ClientConfig) -> Result<Dialled, Error> {
    tokio::time::timeout(DIAL, dial_patiently(url, bearer, tls)).await.unwrap_or(Err(Error::TimedOut))
}

async fn dial_patiently(url: &str, bearer: &str, tls: &ClientConfig) -> Result<Dialled, Error> {
    let wrong = |what: &str| Error::Address(format!("{url}: {what}"));
    let mut request = url.into_client_request().map_err(|error| wrong(&error.to_string()))?;
    if request.uri().scheme_str() != Some("wss") {
        return Err(wrong("only wss is dialled"));
    }
    let host = request.uri().host().ok_or_else(|| wrong("it names no host"))?;
    let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
    let port = request.uri().port_u16().unwrap_or(443);
    let name = ServerName::try_from(host.clone()).map_err(|_| wrong("its host is not a name"))?;
    let bearer = format!("Bearer {bearer}").try_into().map_err(|_| wrong("the token is not text"))?;
    request.headers_mut().insert(AUTHORIZATION, bearer);

    let tcp = TcpStream::connect((host.as_str(), port)).await.map_err(Error::Unreachable)?;
    tcp.set_nodelay(true).map_err(Error::Unreachable)?;
    let mut tls = tls.clone();
    // An upgrade is a matter of HTTP/1.1; a server left to choose might take HTTP/2.
    tls.alpn_protocols = vec![b"http/1.1".to_vec()];
    let tls = TlsConnector::from(Arc::new(tls)).connect(name, tcp).await.map_err(untrusted)?;
    match tokio_tungstenite::client_async_with_config(request, tls, Some(limits())).await {
        Ok((socket, _)) => Ok(SocketStream::new(socket)),
        Err(WsError::Http(answer)) => Err(Error::Answered {
            status: answer.status().as_u16(),
            message: String::from_utf8_lossy(answer.body().as_deref().unwrap_or_default()).into_owned(),
        }),
        Err(WsError::Io(error)) => Err(Error::Unreachable(error)),
        Err(error) => Err(Error::Broken(chain(&error))),
    }
}

/// rustls hides its verdict inside an I/O error.
fn untrusted(error: io::Error) -> Error {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
        Some(verdict) => Error::Untrusted(verdict.clone()),
        None => Error::Unreachable(error),
    }
}

/// Serves what the other side asks until the link ends or the scope is closed; then nothing of the scope runs any more.
pub async fn serve<I, S, B>(io: I, service: S, scope: &Scope, keep_alive: KeepAlive) -> Result<(), Error>
where
    I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    S: Service<Request<Incoming>, Response = Response<B>> + Send,
    S::Error: Into<Box<dyn StdError + Send + Sync>>,
    S::Future: Send + 'static,
    B: Body<Data: Send, Error: Into<Box<dyn StdError + Send + Sync>>> + Send + Unpin + 'static,
{
    let service = service_fn(move |request| {
        let answer = service.call(request);
        async move { Ok::<_, S::Error>(answer.await?.map(Solid)) }
    });
    let connection = http2::Builder::new(scope.clone())
        .timer(TokioTimer::new())
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_frame_size(MAX_FRAME)
        .max_concurrent_streams(MAX_STREAMS)
        // Both guard against a hostile client by ending the connection after so many streams given up early, counted
        // over its whole life. Here the client is whom we obey, and the link is to live for months.
        .max_pending_accept_reset_streams(MAX_STREAMS as usize)
        .max_local_error_reset_streams(None)
        .keep_alive_interval(keep_alive.interval)
        .keep_alive_timeout(keep_alive.timeout)
        .serve_connection(TokioIo::new(io), service);
    let ended = tokio::select! {
        ended = connection => ended.map_err(|error| Error::Broken(chain(&error))),
        () = scope.closed() => Err(Error::Closed),
    };
    scope.close();
    ended
}

/// A body without its empty pieces. The other side counts those as an attack, over the whole life of the connection.
struct Solid<B>(B);

impl<B: Body + Unpin> Body for Solid<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        loop {
            let frame = ready!(Pin::new(&mut self.0).poll_frame(cx));
            let empty = matches!(&frame, Some(Ok(frame)) if frame.data_ref().is_some_and(|data| !data.has_remaining()));
            if !empty || self.0.is_end_stream() {
                return Poll::Ready(frame);
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.0.size_hint()
    }
}

/// Answers a `CONNECT` with 200 and joins its stream with a local one, until both directions have ended. One side may
/// end its direction and go on reading.
pub fn splice<I, B>(request: &mut Request<B>, mut local: I, scope: &Scope) -> Response<Empty<Bytes>>
where
    I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let upgrade = hyper::upgrade::on(request);
    scope.spawn(async move {
        // An error means that one of the two is gone; dropping both tells the other.
        if let Ok(upgraded) = upgrade.await {
            let mut remote = TokioIo::new(upgraded);
            let _ =
                tokio::io::copy_bidirectional_with_sizes(&mut remote, &mut local, COPY_BUFFER, COPY_BUFFER)
                    .await;
        }
    });
    Response::new(Empty::new())
}
