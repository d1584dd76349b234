//! From an admitted request to the app's answer: a connection that no other principal uses, the message, and for sockets the
//! two streams joined.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use gpuaas_domain::ids::RevisionId;
use gpuaas_program::Spawner;
use hyper::body::Incoming;
use hyper::client::conn::{TrySendError, http1};
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Instant;

use crate::body::{Cut, Unsaid, Upload};
use crate::live::{Admitted, Authority, ByteStream, Counters, DialError, Served};
use crate::pages::Instead;

/// An app may close what is idle; most wait at least five seconds.
const IDLE: Duration = Duration::from_secs(4);
/// From the request's end to the first byte of the answer: a model may think for a while.
const FIRST_BYTE: Duration = Duration::from_mins(10);
const DIAL: Duration = Duration::from_secs(15);
/// From the end of one direction of a socket to the end of the other.
const LAST_WORDS: Duration = Duration::from_secs(30);
/// What an endpoint may have open unless its manifest says less.
pub(crate) const CONNECTIONS: u32 = 16_384;

pub(crate) type Sender = http1::SendRequest<Upload>;

/// A connection to the app that waits for its owner's next request.
pub(crate) struct Idle {
    sender: Sender,
    revision: RevisionId,
    since: Instant,
}

impl Idle {
    pub(crate) fn is_fresh(&self) -> bool {
        !self.sender.is_closed() && self.since.elapsed() < IDLE
    }
}

/// One of the endpoint's places; given back when dropped.
pub(crate) struct Connections(Arc<Counters>);

impl Connections {
    pub(crate) fn take(served: &Served) -> Option<Arc<Self>> {
        let most = served.route.policy.max_connections.unwrap_or(CONNECTIONS).min(CONNECTIONS) as usize;
        let counters = served.counters.clone();
        let before = counters.connections.fetch_add(1, Ordering::Relaxed);
        let place = Self(counters);
        (before < most).then(|| Arc::new(place))
    }
}

impl Drop for Connections {
    fn drop(&mut self) {
        self.0.connections.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A connection on its way back to its owner.
pub(crate) struct Returning {
    sender: Sender,
    revision: RevisionId,
    owner: Arc<Admitted>,
    unsaid: Unsaid,
}

impl Returning {
    pub(crate) fn give_back(self) {
        // Who was answered before all was said goes on saying it; the next request would have to wait for that.
        if !self.sender.is_closed() && self.unsaid.is_over() {
            let idle = Idle { sender: self.sender, revision: self.revision, since: Instant::now() };
            self.owner.keep_idle(idle);
        }
    }
}

pub(crate) struct Proxy {
    pub(crate) authority: Arc<dyn Authority>,
    pub(crate) tasks: Spawner,
}

impl Proxy {
    /// The app's answer, and the connection to give back when it is over. A connection that turns out closed is replaced
    /// as long as nothing of the request has left.
    pub(crate) async fn send(
        &self,
        served: &Served,
        owner: Option<&Arc<Admitted>>,
        mut request: Request<Upload>,
    ) -> Result<(Response<Incoming>, Option<Returning>), Instead> {
        let unsaid = request.body().unsaid();
        while let Some(mut sender) = owner.and_then(|owner| take_idle(owner, served.route.active_revision)) {
            if sender.ready().await.is_err() {
                continue;
            }
            match answered(sender.try_send_request(request)).await? {
                Ok(response) => return Ok((response, returning(sender, served, owner, unsaid))),
                Err(unsent) => request = *unsent,
            }
        }
        let mut sender = self.connect(served).await?;
        match answered(sender.try_send_request(request)).await? {
            Ok(response) => Ok((response, returning(sender, served, owner, unsaid))),
            Err(_) => Err(Instead::NotAnswering),
        }
    }

    /// The answer to an upgrade, on a connection of its own.
    pub(crate) async fn upgrade(
        &self,
        served: &Served,
        request: Request<Upload>,
    ) -> Result<Response<Incoming>, Instead> {
        let mut sender = self.connect(served).await?;
        let answer = tokio::time::timeout(FIRST_BYTE, sender.send_request(request)).await;
        answer.map_err(|_| Instead::NotAnswering)?.map_err(|_| Instead::NotAnswering)
    }

    async fn connect(&self, served: &Served) -> Result<Sender, Instead> {
        let dialled = tokio::time::timeout(DIAL, self.authority.dial(&served.route)).await;
        let stream = match dialled {
            Ok(Ok(stream)) => stream,
            Ok(Err(DialError::NodeAway)) => return Err(Instead::NodeAway),
            Ok(Err(DialError::NotAnswering)) | Err(_) => return Err(Instead::NotAnswering),
        };
        let mut builder = http1::Builder::new();
        builder.max_buf_size(64 * 1024);
        let shaken = builder.handshake::<_, Upload>(TokioIo::new(Whole(stream))).await;
        let (sender, connection) = shaken.map_err(|_| Instead::NotAnswering)?;
        self.tasks.spawn(async move {
            // How it ended, its user has heard.
            let _ = connection.with_upgrades().await;
        });
        Ok(sender)
    }

    /// Joins the two sides of a socket until one ends, or access does.
    pub(crate) fn join(
        &self,
        near: hyper::upgrade::OnUpgrade,
        far: hyper::upgrade::OnUpgrade,
        served: Arc<Served>,
        owner: Option<Arc<Admitted>>,
        place: Arc<Connections>,
    ) {
        let stop = self.tasks.clone();
        self.tasks.spawn(async move {
            let _place = place;
            let (Ok(near), Ok(far)) = (near.await, far.await) else { return };
            tokio::select! {
                () = splice(TokioIo::new(near), TokioIo::new(far), &served.counters) => {}
                () = served.ended.cancelled() => {}
                () = crate::live::ended(owner.as_ref()) => {}
                () = stop.stopped() => {}
            }
        });
    }
}

fn take_idle(owner: &Admitted, revision: RevisionId) -> Option<Sender> {
    std::iter::from_fn(|| owner.take_idle()).find(|idle| idle.revision == revision).map(|idle| idle.sender)
}

fn returning(
    sender: Sender,
    served: &Served,
    owner: Option<&Arc<Admitted>>,
    unsaid: Unsaid,
) -> Option<Returning> {
    // Strangers share nothing, not even with themselves.
    let owner = owner?.clone();
    Some(Returning { sender, revision: served.route.active_revision, owner, unsaid })
}

/// The inner error holds a request of which nothing was sent.
async fn answered(
    sending: impl Future<Output = Result<Response<Incoming>, TrySendError<Request<Upload>>>>,
) -> Result<Result<Response<Incoming>, Box<Request<Upload>>>, Instead> {
    match tokio::time::timeout(FIRST_BYTE, sending).await {
        Err(_) => Err(Instead::NotAnswering),
        Ok(Ok(response)) => Ok(Ok(response)),
        Ok(Err(mut error)) => match error.take_message() {
            Some(request) => Ok(Err(Box::new(request))),
            None => Err(why(error.error())),
        },
    }
}

/// Whose fault it is that a request did not arrive: what the client sent, or the app.
fn why(error: &hyper::Error) -> Instead {
    let mut source = std::error::Error::source(error);
    while let Some(inner) = source {
        match inner.downcast_ref::<Cut>() {
            Some(Cut::TooLarge) => return Instead::TooLarge,
            Some(Cut::Ended) => return Instead::SessionRequired,
            Some(Cut::Broken) => return Instead::BadRequest,
            None => source = inner.source(),
        }
    }
    Instead::NotAnswering
}

/// A boxed stream as a stream.
struct Whole(Box<dyn ByteStream>);

impl AsyncRead for Whole {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.0).poll_read(cx, buf)
    }
}

impl AsyncWrite for Whole {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut *self.0).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.0).poll_shutdown(cx)
    }
}

/// One direction. It holds a buffer only while something waits in it, so that an idle socket costs next to nothing.
#[derive(Default)]
struct OneWay {
    waiting: Vec<u8>,
    written: usize,
    unflushed: bool,
    over: bool,
}

const PIECE: usize = 16 * 1024;

impl OneWay {
    fn poll<R: AsyncRead + Unpin, W: AsyncWrite + Unpin>(
        &mut self,
        cx: &mut Context<'_>,
        from: &mut R,
        to: &mut W,
        count: &std::sync::atomic::AtomicU64,
    ) -> Poll<io::Result<()>> {
        loop {
            while self.written < self.waiting.len() {
                let wrote = ready!(Pin::new(&mut *to).poll_write(cx, &self.waiting[self.written..]))?;
                if wrote == 0 {
                    return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
                }
                self.written += wrote;
                self.unflushed = true;
            }
            self.waiting = Vec::new();
            self.written = 0;
            if self.over {
                return Pin::new(&mut *to).poll_shutdown(cx);
            }
            let mut space = [std::mem::MaybeUninit::uninit(); PIECE];
            let mut buffer = ReadBuf::uninit(&mut space);
            match Pin::new(&mut *from).poll_read(cx, &mut buffer) {
                Poll::Ready(Ok(())) if buffer.filled().is_empty() => self.over = true,
                Poll::Ready(Ok(())) => {
                    count.fetch_add(buffer.filled().len() as u64, Ordering::Relaxed);
                    match Pin::new(&mut *to).poll_write(cx, buffer.filled()) {
                        Poll::Ready(Ok(wrote)) => {
                            self.unflushed = true;
                            self.waiting.extend_from_slice(&buffer.filled()[wrote..]);
                        }
                        Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                        Poll::Pending => self.waiting.extend_from_slice(buffer.filled()),
                    }
                }
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Pending => {
                    if self.unflushed {
                        ready!(Pin::new(&mut *to).poll_flush(cx))?;
                        self.unflushed = false;
                    }
                    return Poll::Pending;
                }
            }
        }
    }
}

/// Both directions, until both are over or one breaks. When one side has said its last word the other has a moment to finish;
/// who then keeps a socket half open holds nothing of ours.
pub(crate) async fn splice<A, B>(mut near: A, mut far: B, counters: &Counters)
where
    A: AsyncRead + AsyncWrite + Unpin,
    B: AsyncRead + AsyncWrite + Unpin,
{
    let (mut up, mut down) = (OneWay::default(), OneWay::default());
    let (mut up_over, mut down_over) = (false, false);
    let mut last_words: Option<Pin<Box<tokio::time::Sleep>>> = None;
    poll_fn(|cx| {
        if !up_over {
            match up.poll(cx, &mut near, &mut far, &counters.bytes_in) {
                Poll::Ready(Ok(())) => up_over = true,
                Poll::Ready(Err(_)) => return Poll::Ready(()),
                Poll::Pending => {}
            }
        }
        if !down_over {
            match down.poll(cx, &mut far, &mut near, &counters.bytes_out) {
                Poll::Ready(Ok(())) => down_over = true,
                Poll::Ready(Err(_)) => return Poll::Ready(()),
                Poll::Pending => {}
            }
        }
        if up_over && down_over {
            return Poll::Ready(());
        }
        if up_over || down_over {
            return last_words
                .get_or_insert_with(|| Box::pin(tokio::time::sleep(LAST_WORDS)))
                .as_mut()
                .poll(cx);
        }
        Poll::Pending
    })
    .await;
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    /// N09: a side that never closes is closed for it, after it had time to finish.
    #[tokio::test(start_paused = true)]
    async fn a_socket_does_not_stay_half_open() {
        let (mut client, near) = tokio::io::duplex(64);
        let (mut app, far) = tokio::io::duplex(64);
        let counters = Counters::default();
        let began = Instant::now();
        let joined = splice(near, far, &counters);
        let talk = async {
            app.write_all(b"last").await.unwrap();
            app.shutdown().await.unwrap();
            let mut said = Vec::new();
            client.read_to_end(&mut said).await.unwrap();
            assert_eq!(said, b"last");
            client.write_all(b"late").await.unwrap();
            let mut heard = [0; 4];
            app.read_exact(&mut heard).await.unwrap();
            assert_eq!(&heard, b"late", "the other direction goes on");
        };
        tokio::join!(joined, talk);
        assert_eq!(began.elapsed(), LAST_WORDS);
    }
}
