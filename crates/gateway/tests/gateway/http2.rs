//! HTTP/2 said by hand, because no client would say what these tests want said.

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::world::{World, soon};

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RESET: u8 = 3;
const SETTINGS: u8 = 4;
const GOAWAY: u8 = 7;
const CONTINUATION: u8 = 9;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

/// What became of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Got {
    /// Status and body; 0 for the statuses that HPACK has no number for.
    Answer(u16, String),
    /// The stream, or the whole connection, was refused.
    Cut,
}

pub(crate) struct Frames {
    stream: TcpStream,
    next: u32,
}

pub(crate) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).expect("a small frame").to_be_bytes();
    let mut bytes = vec![length[1], length[2], length[3], kind, flags];
    bytes.extend(stream.to_be_bytes());
    bytes.extend(payload);
    bytes
}

/// Every header as a literal that enters no table.
fn block(headers: &[(&str, &str)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (name, value) in headers {
        bytes.push(0);
        for text in [name, value] {
            let length = text.len();
            if length < 127 {
                bytes.push(u8::try_from(length).expect("below 127"));
            } else {
                bytes.push(127);
                let mut left = length - 127;
                while left >= 128 {
                    bytes.push(u8::try_from(left % 128).expect("below 128") | 128);
                    left /= 128;
                }
                bytes.push(u8::try_from(left).expect("below 128"));
            }
            bytes.extend(text.as_bytes());
        }
    }
    bytes
}

impl Frames {
    pub(crate) async fn connect(world: &World) -> Self {
        let mut stream = TcpStream::connect(world.address).await.expect("the front listens");
        stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await.expect("the front listens");
        stream.write_all(&frame(SETTINGS, 0, 0, &[])).await.expect("the front listens");
        Self { stream, next: 1 }
    }

    pub(crate) async fn say(&mut self, bytes: &[u8]) {
        // A front that has had enough closes.
        let _ = self.stream.write_all(bytes).await;
    }

    /// Opens a stream with these headers; says its number.
    pub(crate) async fn open(&mut self, headers: &[(&str, &str)], over: bool) -> u32 {
        let number = self.next;
        self.next += 2;
        let flags = END_HEADERS | if over { END_STREAM } else { 0 };
        let bytes = frame(HEADERS, flags, number, &block(headers));
        self.say(&bytes).await;
        number
    }

    pub(crate) async fn data(&mut self, number: u32, bytes: &[u8], over: bool) {
        let bytes = frame(DATA, if over { END_STREAM } else { 0 }, number, bytes);
        self.say(&bytes).await;
    }

    /// Headers that never end.
    pub(crate) async fn open_without_end(&mut self, piece: &[u8], pieces: usize) -> u32 {
        let number = self.next;
        self.next += 2;
        self.say(&frame(HEADERS, END_STREAM, number, piece)).await;
        for _ in 0..pieces {
            self.say(&frame(CONTINUATION, 0, number, piece)).await;
        }
        number
    }

    pub(crate) async fn reset(&mut self, number: u32) {
        self.say(&frame(RESET, 0, number, &8_u32.to_be_bytes())).await;
    }

    async fn read(&mut self) -> Option<(u8, u8, u32, Vec<u8>)> {
        let mut head = [0; 9];
        self.stream.read_exact(&mut head).await.ok()?;
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
        let mut payload = vec![0; length];
        self.stream.read_exact(&mut payload).await.ok()?;
        let number = u32::from_be_bytes([head[5], head[6], head[7], head[8]]) & 0x7fff_ffff;
        Some((head[3], head[4], number, payload))
    }

    /// What becomes of this stream.
    pub(crate) async fn got(&mut self, number: u32) -> Got {
        soon("the stream ends", async {
            let (mut status, mut body) = (None, Vec::new());
            while let Some((kind, flags, stream, payload)) = self.read().await {
                match kind {
                    GOAWAY => return Got::Cut,
                    RESET if stream == number && status.is_none() => return Got::Cut,
                    HEADERS if stream == number => {
                        status = Some(match payload.first() {
                            Some(0x88) => 200,
                            Some(0x8c) => 400,
                            Some(0x8d) => 404,
                            _ => 0,
                        });
                    }
                    DATA if stream == number => body.extend(payload),
                    _ => continue,
                }
                if let Some(status) = status
                    && (flags & END_STREAM != 0 || kind == RESET)
                {
                    return Got::Answer(status, String::from_utf8_lossy(&body).into_owned());
                }
            }
            Got::Cut
        })
        .await
    }
}
