//! A registry of a few lines on a socket, which keeps every byte that reaches it.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// A request as it came.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    /// Method and target.
    pub(crate) line: String,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
    /// The connection was cut in the middle of the body.
    pub(crate) cut: bool,
}

impl Seen {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().skip(1).filter_map(|line| line.split_once(':'));
        lines.into_iter().find(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
    }
}

pub(crate) struct Stub {
    pub(crate) url: String,
    seen: Arc<Mutex<Vec<Seen>>>,
    cut: Arc<Mutex<Option<(String, usize)>>>,
}

impl Stub {
    /// Every request is answered by these bytes, then the connection ends. `HERE` in them is the stub's own address,
    /// `HOST` the same without its scheme.
    pub(crate) fn start(mut answer: impl FnMut(&Seen) -> Vec<u8> + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let stub = Self { url, seen: Arc::default(), cut: Arc::default() };
        let (here, seen, cut) = (stub.url.clone(), Arc::clone(&stub.seen), Arc::clone(&stub.cut));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(stream) = stream else { return };
                let Some(request) = read(&stream, &cut) else { continue };
                seen.lock().unwrap().push(request.clone());
                let reply = answer(&request);
                if !request.cut {
                    let text = String::from_utf8(reply.clone()).map(|text| {
                        text.replace("HERE", &here).replace("HOST", &here["http://".len()..]).into_bytes()
                    });
                    let _ = (&stream).write_all(&text.unwrap_or(reply));
                }
            }
        });
        stub
    }

    /// Cuts the next connection whose request starts so, after this many bytes of its body.
    pub(crate) fn cut_next(&self, line: &str, after: usize) {
        *self.cut.lock().unwrap() = Some((line.to_owned(), after));
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        self.seen().into_iter().map(|seen| seen.line).collect()
    }

    /// All that ever reached it.
    pub(crate) fn everything(&self) -> String {
        self.seen()
            .iter()
            .flat_map(|seen| [seen.head.clone(), String::from_utf8_lossy(&seen.body).into_owned()])
            .collect()
    }
}

fn read(stream: &TcpStream, cut: &Mutex<Option<(String, usize)>>) -> Option<Seen> {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let line = head.lines().next()?.trim_end_matches(" HTTP/1.1").to_owned();
    let mut request = Seen { line, head, body: Vec::new(), cut: false };
    let mut length: usize = request.header("content-length").map_or(0, |length| length.parse().unwrap());
    let mut cut = cut.lock().unwrap();
    if cut.as_ref().is_some_and(|(start, _)| request.line.starts_with(start)) {
        length = cut.take()?.1;
        request.cut = true;
    }
    request.body = vec![0; length];
    reader.read_exact(&mut request.body).ok()?;
    Some(request)
}

pub(crate) fn answer(status: &str, headers: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
    promising(status, headers, body.len(), body)
}

/// An answer that promises another length than it has.
pub(crate) fn promising(status: &str, headers: &[(&str, &str)], length: usize, body: &[u8]) -> Vec<u8> {
    let mut bytes =
        format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n").into_bytes();
    for (name, value) in headers {
        bytes.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
    }
    bytes.extend_from_slice(b"\r\n");
    bytes.extend_from_slice(body);
    bytes
}
