//! One private connection to a port of an instance, inside a WebSocket.
//!
//! Binary messages are bytes, an empty one says that this side has no more to say, a close is the end of both
//! directions. The handshake is an ordinary call of this client, so that a refusal is the platform's own sentence and
//! the certificates are the ones that every other call trusts.

use std::io;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use futures_util::{SinkExt as _, StreamExt as _};
use reqwest::StatusCode;
use reqwest::header;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error as SocketError, Message};

use super::{
    Client, ClientError, Credential, Prepared, builder, no_tls, random, refusal, text_header, transport,
};

/// What is read from the near side at once; the platform takes messages up to sixteen times this.
const PIECE: usize = 64 * 1024;
/// The largest message that is accepted.
const MAX_MESSAGE: usize = 1024 * 1024;

/// An open connection to a port of an instance.
pub struct Tunnel {
    socket: WebSocketStream<reqwest::Upgraded>,
}

pub(super) async fn open(client: &Client, prepared: &Prepared) -> Result<Tunnel, ClientError> {
    let key = BASE64.encode(random::<16>());
    let lost = |source| transport(&prepared.url, source);
    let handshake = client
        .request_over(http1(client)?, prepared, Credential::Token)
        .header(header::CONNECTION, "Upgrade")
        .header(header::UPGRADE, "websocket")
        .header(header::SEC_WEBSOCKET_VERSION, "13")
        .header(header::SEC_WEBSOCKET_KEY, &key)
        .send();
    let response = tokio::time::timeout(client.timeout, handshake)
        .await
        .map_err(|_| unusable("the platform did not open the tunnel in time"))?
        .map_err(lost)?;
    let status = response.status();
    if status != StatusCode::SWITCHING_PROTOCOLS {
        let headers = response.headers().clone();
        let body = response.bytes().await.map_err(lost)?;
        return Err(refusal(status, &headers, &body, prepared));
    }
    let accepted = text_header(response.headers(), header::SEC_WEBSOCKET_ACCEPT.as_str());
    if accepted != Some(derive_accept_key(key.as_bytes())) {
        return Err(unusable("something that is not the platform answered the WebSocket handshake"));
    }
    let limits =
        WebSocketConfig::default().max_message_size(Some(MAX_MESSAGE)).max_frame_size(Some(MAX_MESSAGE));
    let io = response.upgrade().await.map_err(lost)?;
    Ok(Tunnel { socket: WebSocketStream::from_raw_socket(io, Role::Client, Some(limits)).await })
}

fn unusable(what: &str) -> ClientError {
    ClientError::Unusable { what: what.to_owned() }
}

/// A connection that would speak HTTP/2 cannot become a WebSocket, so tunnels have connections of their own.
fn http1(client: &Client) -> Result<&reqwest::Client, ClientError> {
    if let Some(http) = client.sockets.get() {
        return Ok(http);
    }
    let http = builder(&client.base, client.ca_pem.as_deref())?
        .http1_only()
        .pool_max_idle_per_host(0)
        .build()
        .map_err(|source| no_tls(&source))?;
    Ok(client.sockets.get_or_init(|| http))
}

impl Tunnel {
    /// Carries bytes both ways until the far side ends the connection, or either side breaks.
    pub async fn join(self, near: impl AsyncRead + AsyncWrite + Unpin) -> io::Result<()> {
        let (mut near_reader, mut near_writer) = tokio::io::split(near);
        let (mut sink, mut stream) = self.socket.split();
        let outward = async {
            let mut buffer = vec![0; PIECE];
            loop {
                let count = near_reader.read(&mut buffer).await?;
                // Nothing read is the near side's half-close, and an empty message says just that.
                sink.send(Message::Binary(buffer[..count].to_vec().into())).await.map_err(as_io)?;
                if count == 0 {
                    // The far side decides when it is over.
                    std::future::pending::<()>().await;
                }
            }
        };
        let inward = async {
            while let Some(message) = stream.next().await {
                match message.map_err(as_io)? {
                    Message::Binary(bytes) => near_writer.write_all(&bytes).await?,
                    Message::Close(_) => break,
                    Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => {}
                    Message::Text(_) => {
                        return Err(io::Error::other("the tunnel carried text where only bytes belong"));
                    }
                }
            }
            near_writer.shutdown().await
        };
        let ended: io::Result<()> = tokio::select! {
            ended = outward => ended,
            ended = inward => ended,
        };
        // Politeness only: whoever has gone does not hear it.
        drop(sink.send(Message::Close(None)).await);
        ended
    }
}

fn as_io(error: SocketError) -> io::Error {
    match error {
        SocketError::Io(error) => error,
        SocketError::ConnectionClosed | SocketError::AlreadyClosed => {
            io::Error::new(io::ErrorKind::ConnectionReset, "the tunnel was closed")
        }
        other => io::Error::other(other.to_string()),
    }
}
