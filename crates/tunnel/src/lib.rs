//! One connection, many streams, both ends. Whoever is behind a firewall dials out by WebSocket over TLS; then the roles
//! turn round and the *dialling* side serves HTTP/2 on that connection. So the other side asks with ordinary requests,
//! and every byte stream is a `CONNECT` with flow control of its own.
//!
//! Laws of this crate:
//! - It knows nothing of what flows inside.
//! - A link has a [`Scope`]: everything that runs for it ends with it, at once.
//! - Nobody who stalls can stop the others: the window of the connection is as good as infinite, each stream has its own.
//!
//! Not taken: yamux (needs a hand-written driver, and a refusal is no status), QUIC (UDP is often blocked).

mod backoff;
mod dialled;
mod error;
mod link;
mod scope;
mod socket;
mod trust;

use std::time::Duration;

pub use backoff::{Backoff, keep_connected};
pub use dialled::{Dialled, dial, serve, splice};
pub use error::Error;
pub use link::{Link, LinkStream, accept};
pub use scope::Scope;
pub use socket::{SocketStream, handshake_answer};
pub use trust::{PinMismatch, client_config_with_ca, client_config_with_pin, spki_pin};

/// What one stream may have under way unread.
const STREAM_WINDOW: u32 = 256 << 10;
/// As large as HTTP/2 allows. With a small one, a few readers who stall would use it up and freeze everybody; with this
/// one it takes 8 191 of them.
const CONNECTION_WINDOW: u32 = (1 << 31) - 1;
/// One frame with its 9 bytes of head fits one WebSocket message, so that no message carries a few bytes left over.
const MAX_FRAME: u32 = (64 << 10) - 9;
const MAX_MESSAGE: usize = 64 << 10;
const MAX_STREAMS: u32 = 16_384;
/// Streams that were given up are remembered this many at a time: what is still under way to them is ignored.
const MAX_GIVEN_UP: usize = 1024;

/// How a connection whose other end vanished without a word is noticed: both ends ask every `interval` and give up if
/// there is no answer within `timeout`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeepAlive {
    pub interval: Duration,
    pub timeout: Duration,
}

impl Default for KeepAlive {
    fn default() -> Self {
        Self { interval: Duration::from_secs(15), timeout: Duration::from_secs(10) }
    }
}
