//! Bodies as they pass: counted, bounded, and cut when access ends.

use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

use crate::live::{Admitted, Counters, Served};
use crate::proxy::{Connections, Returning};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cut {
    TooLarge,
    Ended,
    /// The client broke off, or spoke nonsense.
    Broken,
}

impl std::fmt::Display for Cut {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::TooLarge => "the body is larger than the endpoint takes",
            Self::Ended => "access ended",
            Self::Broken => "the body broke off",
        })
    }
}

impl std::error::Error for Cut {}

type Error = Box<dyn std::error::Error + Send + Sync>;

/// By whose leave something passes: it holds a place at the endpoint, and ends when the endpoint or the visitor's access does.
pub(crate) struct Leave {
    counters: Arc<Counters>,
    route_ended: Ended,
    grant_ended: Option<Ended>,
    /// Whoever has something open is asked about again.
    _admitted: Option<Arc<Admitted>>,
    _place: Arc<Connections>,
}

impl Leave {
    pub(crate) fn new(served: &Served, admitted: Option<&Arc<Admitted>>, place: &Arc<Connections>) -> Self {
        Self {
            counters: served.counters.clone(),
            route_ended: Ended::new(&served.ended),
            grant_ended: admitted.map(|admitted| Ended::new(&admitted.ended)),
            _admitted: admitted.cloned(),
            _place: place.clone(),
        }
    }

    fn is_over(&self) -> bool {
        self.route_ended.token.is_cancelled()
            || self.grant_ended.as_ref().is_some_and(|ended| ended.token.is_cancelled())
    }

    /// Wakes who waits when it is over.
    fn poll_over(&mut self, cx: &mut Context<'_>) -> bool {
        let grant_ended = self.grant_ended.as_mut().is_some_and(|ended| ended.poll(cx));
        self.route_ended.poll(cx) || grant_ended
    }
}

/// What a client sends. Trailers end here.
pub(crate) struct Upload {
    inner: Incoming,
    /// Only where there is a body, as the next.
    leave: Option<Leave>,
    left: u64,
    /// Gone with the body.
    unsaid: Option<Arc<()>>,
}

/// Tells whether a body is still on its way after it was handed over.
pub(crate) struct Unsaid(Option<Weak<()>>);

impl Unsaid {
    pub(crate) fn is_over(&self) -> bool {
        self.0.as_ref().is_none_or(|unsaid| unsaid.strong_count() == 0)
    }
}

impl Upload {
    pub(crate) fn new(inner: Incoming, leave: impl FnOnce() -> Leave, at_most: Option<u64>) -> Self {
        let has_body = !inner.is_end_stream();
        let (leave, unsaid) = (has_body.then(leave), has_body.then(Arc::default));
        Self { inner, leave, left: at_most.unwrap_or(u64::MAX), unsaid }
    }

    pub(crate) fn unsaid(&self) -> Unsaid {
        Unsaid(self.unsaid.as_ref().map(Arc::downgrade))
    }
}

impl Body for Upload {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        let this = &mut *self;
        loop {
            let frame = match Pin::new(&mut this.inner).poll_frame(cx) {
                Poll::Ready(None) => return Poll::Ready(None),
                Poll::Ready(Some(Err(_))) => return Poll::Ready(Some(Err(Cut::Broken.into()))),
                Poll::Ready(Some(Ok(frame))) => frame,
                Poll::Pending if this.leave.as_mut().is_some_and(|leave| leave.poll_over(cx)) => {
                    return Poll::Ready(Some(Err(Cut::Ended.into())));
                }
                Poll::Pending => return Poll::Pending,
            };
            let Ok(data) = frame.into_data() else { continue };
            let Some(leave) = this.leave.as_ref().filter(|leave| !leave.is_over()) else {
                return Poll::Ready(Some(Err(Cut::Ended.into())));
            };
            let size = data.len() as u64;
            add(&leave.counters.bytes_in, size);
            match this.left.checked_sub(size) {
                Some(left) => this.left = left,
                None => return Poll::Ready(Some(Err(Cut::TooLarge.into()))),
            }
            return Poll::Ready(Some(Ok(Frame::data(data))));
        }
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

fn add(counter: &AtomicU64, size: u64) {
    counter.fetch_add(size, Ordering::Relaxed);
}

/// What the app answers. It holds the connection it comes by, and gives it back when it is over.
pub(crate) struct Download {
    inner: Incoming,
    leave: Leave,
    returning: Option<Returning>,
}

impl Download {
    pub(crate) fn new(inner: Incoming, leave: Leave, returning: Option<Returning>) -> Self {
        let mut this = Self { inner, leave, returning };
        if this.inner.is_end_stream() {
            this.over();
        }
        this
    }

    fn over(&mut self) {
        if let Some(returning) = self.returning.take() {
            returning.give_back();
        }
    }
}

impl Body for Download {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        let this = &mut *self;
        loop {
            match Pin::new(&mut this.inner).poll_frame(cx) {
                Poll::Ready(None) => {
                    this.over();
                    return Poll::Ready(None);
                }
                Poll::Ready(Some(Err(error))) => {
                    this.returning = None;
                    return Poll::Ready(Some(Err(error.into())));
                }
                Poll::Ready(Some(Ok(frame))) => {
                    let Ok(data) = frame.into_data() else { continue };
                    if this.leave.is_over() {
                        return Poll::Ready(Some(Err(Cut::Ended.into())));
                    }
                    add(&this.leave.counters.bytes_out, data.len() as u64);
                    if this.inner.is_end_stream() {
                        this.over();
                    }
                    return Poll::Ready(Some(Ok(Frame::data(data))));
                }
                Poll::Pending if this.leave.poll_over(cx) => {
                    return Poll::Ready(Some(Err(Cut::Ended.into())));
                }
                Poll::Pending => return Poll::Pending,
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

/// The end of access, waited for only by those who wait for something else too: most answers are there at once.
struct Ended {
    token: CancellationToken,
    waiting: Option<Pin<Box<WaitForCancellationFutureOwned>>>,
}

impl Ended {
    fn new(token: &CancellationToken) -> Self {
        Self { token: token.clone(), waiting: None }
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> bool {
        let token = &self.token;
        let waiting = self.waiting.get_or_insert_with(|| Box::pin(token.clone().cancelled_owned()));
        waiting.as_mut().poll(cx).is_ready()
    }
}
