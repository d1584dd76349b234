//! Apps behind the gateway. Whatever they do, every byte they get is written down.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use gpuaas_program::Spawner;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use crate::wire::{self, Message};

/// What an app has heard, one text for each connection.
pub(crate) struct App {
    pub(crate) address: SocketAddr,
    heard: Arc<Mutex<Vec<Vec<u8>>>>,
    /// How many connections have ended.
    ended: watch::Sender<usize>,
}

impl App {
    /// An app that treats each of its connections so.
    pub(crate) async fn start<F, Fut>(tasks: &Spawner, serve: F) -> Self
    where
        F: Fn(Conversation) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        let socket = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
        let address = socket.local_addr().expect("a bound socket has an address");
        let heard: Arc<Mutex<Vec<Vec<u8>>>> = Arc::default();
        let ended = watch::Sender::new(0);
        let (records, ends, serve) = (heard.clone(), ended.clone(), Arc::new(serve));
        let within = tasks.clone();
        tasks.spawn_until_stop(async move {
            while let Ok((stream, _)) = socket.accept().await {
                let _ = stream.set_nodelay(true);
                let number = {
                    let mut records = records.lock().unwrap();
                    records.push(Vec::new());
                    records.len() - 1
                };
                let conversation =
                    Conversation { stream, number, heard: records.clone(), waiting: Vec::new() };
                let (ends, serve) = (ends.clone(), serve.clone());
                within.spawn_until_stop(async move {
                    serve(conversation).await;
                    ends.send_modify(|count| *count += 1);
                });
            }
        });
        Self { address, heard, ended }
    }

    /// One that answers every request with what it understood, and listens on.
    pub(crate) async fn echo(tasks: &Spawner, name: &'static str) -> Self {
        Self::start(tasks, move |mut conversation| async move {
            while let Some(request) = conversation.request().await {
                let identity = request.all("x-gpuaas-identity").join("+");
                let body = format!("{name}: {} {} for {identity}", request.method(), request.target());
                let length = body.len();
                let body = if request.method() == "HEAD" { "" } else { &body };
                conversation.say(format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n{body}")).await;
            }
        })
        .await
    }

    /// One that says this to every request, whatever it is, and then listens on.
    pub(crate) async fn says(tasks: &Spawner, answer: impl Into<Vec<u8>>) -> Self {
        let answer = Arc::new(answer.into());
        Self::start(tasks, move |mut conversation| {
            let answer = answer.clone();
            async move {
                while conversation.request().await.is_some() {
                    conversation.say(answer.as_slice()).await;
                }
            }
        })
        .await
    }

    pub(crate) fn heard(&self) -> Vec<Vec<u8>> {
        self.heard.lock().unwrap().clone()
    }

    pub(crate) fn connections(&self) -> usize {
        self.heard.lock().unwrap().len()
    }

    /// Every request of every connection, read by the second reader; with them what is no whole request.
    pub(crate) fn requests(&self) -> (Vec<Message>, Vec<Vec<u8>>) {
        let (mut all, mut left) = (Vec::new(), Vec::new());
        for connection in self.heard() {
            let (messages, rest) =
                wire::requests(&connection).unwrap_or_else(|why| panic!("an app was told nonsense: {why}"));
            all.extend(messages);
            if !rest.is_empty() {
                left.push(rest);
            }
        }
        (all, left)
    }

    /// The only request it got, all of it.
    pub(crate) fn only_request(&self) -> Message {
        let (mut all, left) = self.requests();
        assert!(left.is_empty(), "half a request: {left:?}");
        assert_eq!(all.len(), 1, "{all:?}");
        all.remove(0)
    }

    /// Waits until so many connections have ended.
    pub(crate) async fn ended(&self, count: usize) {
        let mut ended = self.ended.subscribe();
        crate::world::soon("a connection to the app ends", ended.wait_for(|ended| *ended >= count))
            .await
            .expect("the app is there");
    }
}

/// One connection of an app.
pub(crate) struct Conversation {
    pub(crate) stream: TcpStream,
    number: usize,
    heard: Arc<Mutex<Vec<Vec<u8>>>>,
    waiting: Vec<u8>,
}

impl Conversation {
    /// More bytes; 0 at the end, however it came.
    pub(crate) async fn listen(&mut self) -> usize {
        let before = self.waiting.len();
        let count = self.stream.read_buf(&mut self.waiting).await.unwrap_or(0);
        self.heard.lock().unwrap()[self.number].extend_from_slice(&self.waiting[before..]);
        count
    }

    pub(crate) async fn listen_to_the_end(&mut self) {
        while self.listen().await > 0 {}
    }

    /// The next head; its body stays in `waiting`.
    pub(crate) async fn head(&mut self) -> Option<Message> {
        loop {
            match wire::head(&self.waiting) {
                Ok(Some((message, size))) => {
                    self.waiting.drain(..size);
                    return Some(message);
                }
                Ok(None) if self.listen().await > 0 => {}
                Ok(None) | Err(_) => return None,
            }
        }
    }

    /// The next whole request.
    pub(crate) async fn request(&mut self) -> Option<Message> {
        loop {
            match wire::request(&self.waiting) {
                Ok(Some((message, size))) => {
                    self.waiting.drain(..size);
                    return Some(message);
                }
                Ok(None) if self.listen().await > 0 => {}
                Ok(None) | Err(_) => return None,
            }
        }
    }

    /// What came and was not taken yet.
    pub(crate) fn take_waiting(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.waiting)
    }

    pub(crate) async fn say(&mut self, bytes: impl AsRef<[u8]>) {
        // Who does not listen any more is the test's affair.
        let _ = self.stream.write_all(bytes.as_ref()).await;
    }
}
