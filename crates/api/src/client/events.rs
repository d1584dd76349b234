//! Following a stream of server-sent events across interruptions.

use std::collections::VecDeque;
use std::time::Duration;

use futures_util::Stream;

use super::{Client, ClientError, Credential, Prepared, backoff, decode, is_passing, refusal, transport};
use crate::observe::Event;

/// The server sends a comment every few seconds; a stream this silent is a dead connection.
const STREAM_SILENCE: Duration = Duration::from_secs(90);
/// How often in a row a stream may fail to come back before the caller is told.
const STREAM_TRIES: u32 = 8;
/// Longer than any event; a line beyond this is not ours.
const MAX_STREAM_BUFFER: usize = 1024 * 1024;

pub(super) fn follow(
    client: &Client,
    prepared: Result<Prepared, ClientError>,
) -> impl Stream<Item = Result<Event, ClientError>> + Send {
    let follow = prepared.map(|prepared| Follow {
        client,
        prepared,
        last_id: None,
        response: None,
        parser: EventParser::default(),
        ready: VecDeque::new(),
        failures: 0,
        started: false,
    });
    futures_util::stream::unfold(Some(follow), |state| async {
        match state? {
            Err(error) => Some((Err(error), None)),
            Ok(mut follow) => match follow.next().await {
                Ok(event) => Some((Ok(event), Some(Ok(follow)))),
                Err(error) => Some((Err(error), None)),
            },
        }
    })
}

/// A followed stream between two events.
struct Follow<'c> {
    client: &'c Client,
    prepared: Prepared,
    last_id: Option<String>,
    response: Option<reqwest::Response>,
    parser: EventParser,
    ready: VecDeque<Frame>,
    failures: u32,
    started: bool,
}

impl Follow<'_> {
    async fn next(&mut self) -> Result<Event, ClientError> {
        loop {
            if let Some(frame) = self.ready.pop_front() {
                self.failures = 0;
                self.last_id = frame.id.or(self.last_id.take());
                return decode(&self.prepared, frame.data.as_bytes());
            }
            let Some(response) = &mut self.response else {
                self.connect().await?;
                continue;
            };
            match tokio::time::timeout(STREAM_SILENCE, response.chunk()).await {
                Ok(Ok(Some(chunk))) => self.ready.extend(self.parser.feed(&chunk)?),
                // The end, an interruption or silence: connect again where we were.
                Ok(Ok(None) | Err(_)) | Err(_) => self.response = None,
            }
        }
    }

    async fn connect(&mut self) -> Result<(), ClientError> {
        // Also after a stream that ended well, or a server that closes early would be called without pause.
        if self.started {
            tokio::time::sleep(backoff(self.failures)).await;
        }
        self.started = true;
        self.failures += 1;
        self.parser = EventParser::default();
        let mut request = self.client.request(&self.prepared, Credential::Token);
        if let Some(id) = &self.last_id {
            request = request.header("last-event-id", id);
        }
        let response = match request.send().await {
            Ok(response) => response,
            Err(_) if self.failures < STREAM_TRIES => return Ok(()),
            Err(source) => return Err(transport(&self.prepared.url, source)),
        };
        let status = response.status();
        if status.is_success() {
            self.response = Some(response);
            return Ok(());
        }
        if is_passing(status) && self.failures < STREAM_TRIES {
            return Ok(());
        }
        let headers = response.headers().clone();
        let body = response.bytes().await.map_err(|source| transport(&self.prepared.url, source))?;
        Err(refusal(status, &headers, &body, &self.prepared))
    }
}

/// One server-sent event.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Frame {
    id: Option<String>,
    data: String,
}

/// Takes a stream of server-sent events apart, however the network cut it into chunks.
#[derive(Default)]
struct EventParser {
    buffer: Vec<u8>,
    id: Option<String>,
    data: Vec<String>,
}

impl EventParser {
    fn feed(&mut self, chunk: &[u8]) -> Result<Vec<Frame>, ClientError> {
        self.buffer.extend_from_slice(chunk);
        let mut frames = Vec::new();
        while let Some(line) = self.take_line() {
            frames.extend(self.line(&line));
        }
        let held = self.buffer.len() + self.data.iter().map(String::len).sum::<usize>();
        if held > MAX_STREAM_BUFFER {
            return Err(ClientError::Unusable {
                what: "the event stream holds an event larger than any of ours".into(),
            });
        }
        Ok(frames)
    }

    /// The next whole line. A carriage return at the end of the buffer waits: its line feed may be on its way.
    fn take_line(&mut self) -> Option<String> {
        let end = self.buffer.iter().position(|byte| matches!(byte, b'\n' | b'\r'))?;
        let width = match (self.buffer[end], self.buffer.get(end + 1)) {
            (b'\r', None) => return None,
            (b'\r', Some(b'\n')) => 2,
            _ => 1,
        };
        let line = String::from_utf8_lossy(&self.buffer[..end]).into_owned();
        self.buffer.drain(..end + width);
        Some(line)
    }

    fn line(&mut self, line: &str) -> Option<Frame> {
        if line.is_empty() {
            let id = self.id.take();
            let data = std::mem::take(&mut self.data);
            return (!data.is_empty()).then(|| Frame { id, data: data.join("\n") });
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "id" if !value.contains('\0') => self.id = Some(value.to_owned()),
            "data" => self.data.push(value.to_owned()),
            // Comments, keep-alives, `event` (the envelope says its type itself) and fields to come.
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(chunks: &[&str]) -> Vec<Frame> {
        let mut parser = EventParser::default();
        chunks.iter().flat_map(|chunk| parser.feed(chunk.as_bytes()).unwrap()).collect()
    }

    fn frame(id: Option<&str>, data: &str) -> Frame {
        Frame { id: id.map(str::to_owned), data: data.to_owned() }
    }

    #[test]
    fn a_stream_reads_the_same_wherever_it_is_cut() {
        let text = ": hello\n\nid: 7\r\nevent: tenants.created\r\ndata: {\"a\":\r\ndata: \"ü\"}\r\n\r\n:\n\ndata:x\rid:8\r\rretry: 5\n\n";
        let whole = vec![frame(Some("7"), "{\"a\":\n\"ü\"}"), frame(Some("8"), "x")];
        assert_eq!(frames(&[text]), whole);
        let bytes = text.as_bytes();
        for cut in 0..bytes.len() {
            let mut parser = EventParser::default();
            let mut seen = parser.feed(&bytes[..cut]).unwrap();
            seen.extend(parser.feed(&bytes[cut..]).unwrap());
            assert_eq!(seen, whole, "cut at {cut}");
        }
        let mut parser = EventParser::default();
        let single: Vec<_> = bytes.iter().flat_map(|byte| parser.feed(&[*byte]).unwrap()).collect();
        assert_eq!(single, whole);
    }

    #[test]
    fn keep_alives_give_nothing_and_an_unfinished_event_waits() {
        assert!(frames(&[": ping\n\n", "id: 3\n", "\n", "data: half\n"]).is_empty());
    }

    #[test]
    fn an_endless_event_is_refused() {
        let mut parser = EventParser::default();
        assert!(parser.feed(&vec![b'x'; MAX_STREAM_BUFFER + 1]).is_err());
    }
}
