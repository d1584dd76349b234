//! The accept loop: TLS or plain, HTTP/1.1 and HTTP/2, bounded, and stopped without dropping what is under way.

use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use gpuaas_gateway::{Gateway, Peer};
use gpuaas_program::Spawner;
use hyper::body::Incoming;
use hyper::{Request, StatusCode, Version};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::GracefulShutdown;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio_rustls::TlsAcceptor;
use tower::Service as _;

use crate::config::Http;
use crate::metrics::Metrics;
use crate::places::{Busy, Place, Places, Use};

pub struct Listener {
    pub socket: TcpListener,
    pub tls: Option<Arc<rustls::ServerConfig>>,
    pub settings: Http,
    pub metrics: Arc<Metrics>,
}

impl Listener {
    /// Serves until asked to stop, then finishes what is under way.
    pub async fn serve(self, app: Router, gateway: Option<Arc<Gateway>>, tasks: Spawner) {
        let acceptor = self.tls.clone().map(TlsAcceptor::from);
        let graceful = GracefulShutdown::new();
        let slots = Arc::new(Semaphore::new(self.settings.max_connections));
        let places = Places::new(self.settings.max_connections, self.settings.max_connections_per_address);
        let builder = Arc::new(self.builder());
        let connections = Spawner::default();
        loop {
            let accepted = tokio::select! {
                () = tasks.stopped() => break,
                accepted = self.socket.accept() => accepted,
            };
            let (stream, peer) = match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    // Out of file descriptors, most likely: wait for some to close instead of spinning.
                    tracing::warn!("a connection could not be accepted: {error}");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    continue;
                }
            };
            let (Some(place), Ok(slot)) = (places.take(peer.ip()), slots.clone().try_acquire_owned()) else {
                drop(stream);
                continue;
            };
            let _ = stream.set_nodelay(true);
            let stream = Held { stream, _slot: Slot::new(slot, self.metrics.clone()), _place: place };
            let mut meeting = Meeting {
                app: app.clone(),
                gateway: gateway.clone(),
                peer: Peer(peer.ip()),
                asked_for: None,
                spoke: Arc::default(),
                used: Arc::default(),
            };
            let (builder, watcher, acceptor) = (builder.clone(), graceful.watcher(), acceptor.clone());
            let patience = Duration::from_secs(self.settings.header_timeout_seconds);
            connections.spawn(async move {
                // Who connects and says nothing, or never comes to a request, is let go: the protocols' own clocks start
                // when it is clear which of them is spoken.
                let until = tokio::time::Instant::now() + patience;
                match acceptor {
                    None => drive(&builder, stream, meeting, watcher, until).await,
                    Some(acceptor) => {
                        let Ok(Ok(stream)) = tokio::time::timeout_at(until, acceptor.accept(stream)).await
                        else {
                            return;
                        };
                        meeting.asked_for = stream.get_ref().1.server_name().map(str::to_ascii_lowercase);
                        drive(&builder, stream, meeting, watcher, until).await;
                    }
                }
            });
        }
        drop(self.socket);
        let patience = Duration::from_secs(self.settings.shutdown_seconds);
        let _ = tokio::time::timeout(patience, graceful.shutdown()).await;
    }

    fn builder(&self) -> auto::Builder<TokioExecutor> {
        let mut builder = auto::Builder::new(TokioExecutor::new());
        builder
            .http1()
            .timer(TokioTimer::new())
            .header_read_timeout(Duration::from_secs(self.settings.header_timeout_seconds))
            .max_buf_size(64 * 1024);
        builder
            .http2()
            .timer(TokioTimer::new())
            .keep_alive_interval(Duration::from_secs(30))
            .max_concurrent_streams(200)
            .max_header_list_size(32 * 1024);
        builder
    }
}

/// One of the connections that may be open at once.
struct Slot {
    _permit: OwnedSemaphorePermit,
    metrics: Arc<Metrics>,
}

impl Slot {
    fn new(permit: OwnedSemaphorePermit, metrics: Arc<Metrics>) -> Self {
        metrics.connections.inc();
        Self { _permit: permit, metrics }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.metrics.connections.dec();
    }
}

/// A connection with its slot: one that was taken over as a socket keeps it to its end.
struct Held {
    stream: TcpStream,
    _slot: Slot,
    _place: Place,
}

impl AsyncRead for Held {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Held {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[std::io::IoSlice<'_>],
    ) -> Poll<std::io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, pieces)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

/// Where the requests of one connection go: apps have host names of their own, everything else is the platform's.
#[derive(Clone)]
struct Meeting {
    app: Router,
    gateway: Option<Arc<Gateway>>,
    peer: Peer,
    /// The name that the client wanted a certificate of.
    asked_for: Option<String>,
    spoke: Arc<Notify>,
    used: Arc<Use>,
}

impl hyper::service::Service<Request<Incoming>> for Meeting {
    type Response = axum::response::Response;
    type Error = std::convert::Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn call(&self, mut request: Request<Incoming>) -> Self::Future {
        self.spoke.notify_one();
        let gateway = self.gateway.as_ref();
        let (version, uri, headers) = (request.version(), request.uri(), request.headers());
        // A connection that was made to an app is no way to another, nor to the platform.
        let fits = |name: &String| gateway.is_none_or(|gateway| gateway.fits(name, version, uri, headers));
        if !self.asked_for.as_ref().is_none_or(fits) {
            let mut misdirected = axum::response::Response::default();
            *misdirected.status_mut() = StatusCode::MISDIRECTED_REQUEST;
            return Box::pin(std::future::ready(Ok(misdirected)));
        }
        let for_apps = gateway.filter(|gateway| gateway.is_for_apps(version, uri, headers)).cloned();
        let mut platform = self.app.clone();
        request.extensions_mut().insert(self.peer);
        let busy = (version == Version::HTTP_2).then(|| self.used.begin());
        Box::pin(async move {
            let response = match for_apps {
                Some(gateway) => gateway.serve(request).await.map(axum::body::Body::new),
                None => platform.call(request).await?,
            };
            Ok(match busy {
                Some(busy) => response.map(|body| axum::body::Body::new(Lasting { body, _busy: busy })),
                None => response,
            })
        })
    }
}

/// An answer that keeps its connection in use to its end.
struct Lasting {
    body: axum::body::Body,
    _busy: Busy,
}

impl hyper::body::Body for Lasting {
    type Data = axum::body::Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<hyper::body::Frame<Self::Data>, Self::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> hyper::body::SizeHint {
        self.body.size_hint()
    }
}

async fn drive<I>(
    builder: &auto::Builder<TokioExecutor>,
    stream: I,
    meeting: Meeting,
    watcher: hyper_util::server::graceful::Watcher,
    until: tokio::time::Instant,
) where
    I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (spoke, used) = (meeting.spoke.clone(), meeting.used.clone());
    let connection = builder.serve_connection_with_upgrades(TokioIo::new(stream), meeting).into_owned();
    let mut connection = std::pin::pin!(watcher.watch(connection));
    // A client that goes away or speaks nonsense is its own affair; there is nothing to mend here.
    tokio::select! {
        _ = &mut connection => return,
        () = spoke.notified() => {}
        () = tokio::time::sleep_until(until) => return,
    }
    tokio::select! {
        _ = connection => {}
        () = used.ends() => {}
    }
}

/// Binds, for the error message to name the address.
pub async fn bind(address: SocketAddr) -> gpuaas_domain::Result<TcpListener> {
    TcpListener::bind(address).await.map_err(|error| {
        gpuaas_domain::Error::invalid("listen_failed", format!("Cannot listen on {address}: {error}."))
    })
}
