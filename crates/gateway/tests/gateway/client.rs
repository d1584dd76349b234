//! Clients that say exactly the bytes they are told.

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::wire::{self, Framing, Message};
use crate::world::soon;

pub(crate) struct Raw {
    pub(crate) stream: TcpStream,
    pub(crate) waiting: Vec<u8>,
}

impl Raw {
    pub(crate) fn new(stream: TcpStream) -> Self {
        Self { stream, waiting: Vec::new() }
    }

    pub(crate) async fn say(&mut self, bytes: impl AsRef<[u8]>) {
        // A front that refuses may close before it has heard everything.
        let _ = self.stream.write_all(bytes.as_ref()).await;
    }

    /// More bytes; 0 at the end.
    pub(crate) async fn listen(&mut self) -> usize {
        let reading = self.stream.read_buf(&mut self.waiting);
        soon("the gateway says something", reading).await.unwrap_or(0)
    }

    /// The next head; `None` where the connection ends first.
    pub(crate) async fn head(&mut self) -> Option<Message> {
        loop {
            let found = wire::head(&self.waiting).unwrap_or_else(|why| panic!("no answer: {why}"));
            if let Some((message, size)) = found {
                self.waiting.drain(..size);
                if (100..200).contains(&message.status()) && message.status() != 101 {
                    continue;
                }
                return Some(message);
            }
            if self.listen().await == 0 {
                return None;
            }
        }
    }

    /// The next answer to this method; `None` where the connection ends before it is whole.
    pub(crate) async fn answer_to(&mut self, method: &str) -> Option<Message> {
        let mut message = self.head().await?;
        let framing = wire::framing(&message, Some(method)).unwrap_or_else(|why| panic!("no answer: {why}"));
        loop {
            let found = wire::body(&self.waiting, framing).unwrap_or_else(|why| panic!("no body: {why}"));
            if let Some((body, size)) = found {
                self.waiting.drain(..size);
                message.body = body;
                return Some(message);
            }
            if self.listen().await == 0 {
                message.body = std::mem::take(&mut self.waiting);
                return (framing == Framing::UntilClose).then_some(message);
            }
        }
    }

    pub(crate) async fn answer(&mut self) -> Option<Message> {
        self.answer_to("GET").await
    }

    /// Waits for exactly so many bytes.
    pub(crate) async fn exactly(&mut self, count: usize) -> Option<Vec<u8>> {
        while self.waiting.len() < count {
            if self.listen().await == 0 {
                return None;
            }
        }
        Some(self.waiting.drain(..count).collect())
    }

    /// Whatever is still said, to the end.
    pub(crate) async fn rest(&mut self) -> Vec<u8> {
        while self.listen().await > 0 {}
        std::mem::take(&mut self.waiting)
    }
}
