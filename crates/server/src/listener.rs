//! The accept loop: TLS or plain, HTTP/1.1 and HTTP/2, bounded, and stopped without dropping what is under way.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use gpuaas_program::Spawner;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_rustls::TlsAcceptor;
use tower::Service as _;

use crate::config::Http;
use crate::metrics::Metrics;

/// The other end of a connection, for limits and logs.
#[derive(Clone, Copy, Debug)]
pub struct Peer(pub SocketAddr);

pub struct Listener {
    pub socket: TcpListener,
    pub tls: Option<Arc<rustls::ServerConfig>>,
    pub settings: Http,
    pub metrics: Arc<Metrics>,
}

impl Listener {
    /// Serves until asked to stop, then finishes what is under way.
    pub async fn serve(self, app: Router, tasks: Spawner) {
        let acceptor = self.tls.clone().map(TlsAcceptor::from);
        let graceful = GracefulShutdown::new();
        let slots = Arc::new(Semaphore::new(self.settings.max_connections));
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
            let Ok(slot) = slots.clone().try_acquire_owned() else {
                drop(stream);
                continue;
            };
            let _ = stream.set_nodelay(true);
            let service = with_peer(app.clone(), peer);
            let (builder, watcher, acceptor) = (builder.clone(), graceful.watcher(), acceptor.clone());
            let (metrics, handshake) =
                (self.metrics.clone(), Duration::from_secs(self.settings.header_timeout_seconds));
            connections.spawn(async move {
                let _slot = slot;
                metrics.connections.inc();
                // Who connects and says nothing is let go; the protocol's own clocks start with the first byte.
                let spoken = tokio::time::timeout(handshake, stream.peek(&mut [0])).await;
                match (spoken, acceptor) {
                    (Ok(Ok(count)), None) if count > 0 => drive(&builder, stream, service, watcher).await,
                    (Ok(Ok(count)), Some(acceptor)) if count > 0 => {
                        if let Ok(Ok(stream)) = tokio::time::timeout(handshake, acceptor.accept(stream)).await
                        {
                            drive(&builder, stream, service, watcher).await;
                        }
                    }
                    _ => {}
                }
                metrics.connections.dec();
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

fn with_peer(
    app: Router,
    peer: SocketAddr,
) -> impl hyper::service::Service<
    hyper::Request<hyper::body::Incoming>,
    Response = axum::response::Response,
    Error = std::convert::Infallible,
    Future: Send,
> + Clone {
    hyper_util::service::TowerToHyperService::new(tower::service_fn(
        move |mut request: hyper::Request<hyper::body::Incoming>| {
            request.extensions_mut().insert(Peer(peer));
            app.clone().call(request)
        },
    ))
}

async fn drive<S, I>(
    builder: &auto::Builder<TokioExecutor>,
    stream: I,
    service: S,
    watcher: hyper_util::server::graceful::Watcher,
) where
    I: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
    S: hyper::service::Service<
            hyper::Request<hyper::body::Incoming>,
            Response = axum::response::Response,
            Error = std::convert::Infallible,
            Future: Send,
        > + Clone
        + Send
        + 'static,
{
    let connection = builder.serve_connection_with_upgrades(TokioIo::new(stream), service).into_owned();
    // A client that goes away or speaks nonsense is its own affair; there is nothing to mend here.
    let _ = watcher.watch(connection).await;
}

/// Binds, for the error message to name the address.
pub async fn bind(address: SocketAddr) -> gpuaas_domain::Result<TcpListener> {
    TcpListener::bind(address).await.map_err(|error| {
        gpuaas_domain::Error::invalid("listen_failed", format!("Cannot listen on {address}: {error}."))
    })
}
