//! A small HTTP/1 listener with limits on everything, for the two doors the agent has on its own machine.

use std::convert::Infallible;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use gpuaas_program::Spawner;
use hyper::body::{Body, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) connections: usize,
    /// Of all headers together; the parser's least is 8 KiB.
    pub(crate) header_bytes: usize,
    pub(crate) header_timeout: Duration,
    /// A connection lives no longer than this; none where answers are streams with a deadline of their own.
    pub(crate) connection_timeout: Option<Duration>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 64,
            header_bytes: 8 * 1024,
            header_timeout: Duration::from_secs(10),
            connection_timeout: None,
        }
    }
}

pub(crate) struct Door {
    listener: TcpListener,
    limits: Limits,
    spawner: Spawner,
}

impl Door {
    pub(crate) fn new(listener: TcpListener, limits: Limits, spawner: Spawner) -> Self {
        Self { listener, limits, spawner }
    }

    /// Answers until dropped. Connections already open end with the agent.
    pub(crate) async fn serve<H, F, B>(self, handle: H)
    where
        H: Fn(Request<Incoming>, SocketAddr) -> F + Clone + Send + Sync + 'static,
        F: Future<Output = Result<Response<B>, Infallible>> + Send + 'static,
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let Self { listener, limits, spawner } = self;
        let slots = Arc::new(Semaphore::new(limits.connections));
        loop {
            let Ok(slot) = slots.clone().acquire_owned().await else { return };
            let (stream, peer) = match listener.accept().await {
                Ok(accepted) => accepted,
                Err(error) => {
                    // Out of file descriptors, most likely: wait for some to come back.
                    tracing::warn!("a connection could not be accepted: {error}");
                    tokio::time::sleep(Duration::from_millis(200)).await;
                    continue;
                }
            };
            let _ = stream.set_nodelay(true);
            let handle = handle.clone();
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(limits.header_timeout)
                .max_buf_size(limits.header_bytes)
                .serve_connection(TokioIo::new(stream), service_fn(move |request| handle(request, peer)));
            spawner.spawn_until_stop(async move {
                let _slot = slot;
                let ended = match limits.connection_timeout {
                    Some(longest) => tokio::time::timeout(longest, connection).await.unwrap_or(Ok(())),
                    None => connection.await,
                };
                if let Err(error) = ended {
                    tracing::debug!(%peer, "a connection ended badly: {error}");
                }
            });
        }
    }
}
