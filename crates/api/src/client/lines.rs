//! Reading an answer line by line while it comes.

use std::collections::VecDeque;

use futures_util::Stream;

use super::{Client, ClientError, Credential, Prepared, refusal, transport};

/// Longer than any line a node sends; beyond this it is not ours.
const MAX_LINE: usize = 1024 * 1024;

pub(super) fn read(
    client: &Client,
    prepared: Result<Prepared, ClientError>,
) -> impl Stream<Item = Result<String, ClientError>> + Send {
    let reading = prepared.map(|prepared| Reading {
        client,
        prepared: Prepared { accept: "application/x-ndjson, application/json", ..prepared },
        response: None,
        cutter: LineCutter::default(),
        ready: VecDeque::new(),
        ended: false,
    });
    futures_util::stream::unfold(Some(reading), |state| async {
        match state? {
            Err(error) => Some((Err(error), None)),
            Ok(mut reading) => match reading.next().await {
                Ok(line) => line.map(|line| (Ok(line), Some(Ok(reading)))),
                Err(error) => Some((Err(error), None)),
            },
        }
    })
}

struct Reading<'c> {
    client: &'c Client,
    prepared: Prepared,
    response: Option<reqwest::Response>,
    cutter: LineCutter,
    ready: VecDeque<String>,
    ended: bool,
}

impl Reading<'_> {
    async fn next(&mut self) -> Result<Option<String>, ClientError> {
        loop {
            if let Some(line) = self.ready.pop_front() {
                return Ok(Some(line));
            }
            if self.ended {
                return Ok(None);
            }
            let Some(response) = &mut self.response else {
                self.response = Some(self.connect().await?);
                continue;
            };
            let chunk = response.chunk().await.map_err(|source| transport(&self.prepared.url, source))?;
            if let Some(chunk) = chunk {
                self.ready.extend(self.cutter.feed(&chunk)?);
            } else {
                self.ended = true;
                self.ready.extend(self.cutter.rest());
            }
        }
    }

    async fn connect(&self) -> Result<reqwest::Response, ClientError> {
        let response = self
            .client
            .request(&self.prepared, Credential::Token)
            .send()
            .await
            .map_err(|source| transport(&self.prepared.url, source))?;
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let headers = response.headers().clone();
        let body = response.bytes().await.map_err(|source| transport(&self.prepared.url, source))?;
        Err(refusal(status, &headers, &body, &self.prepared))
    }
}

/// Cuts bytes into lines, however the network cut them into chunks. Empty lines are keep-alives and mean nothing.
#[derive(Default)]
struct LineCutter {
    buffer: Vec<u8>,
}

impl LineCutter {
    fn feed(&mut self, chunk: &[u8]) -> Result<Vec<String>, ClientError> {
        self.buffer.extend_from_slice(chunk);
        let Some(end) = self.buffer.iter().rposition(|byte| *byte == b'\n') else {
            if self.buffer.len() > MAX_LINE {
                return Err(ClientError::Unusable {
                    what: "the answer holds a line longer than any of ours".into(),
                });
            }
            return Ok(Vec::new());
        };
        let whole: Vec<u8> = self.buffer.drain(..=end).collect();
        Ok(whole.split(|byte| *byte == b'\n').filter_map(text).collect())
    }

    /// What stands after the last line end.
    fn rest(&mut self) -> Option<String> {
        text(&std::mem::take(&mut self.buffer))
    }
}

fn text(line: &[u8]) -> Option<String> {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    (!line.is_empty()).then(|| String::from_utf8_lossy(line).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_read_the_same_wherever_they_are_cut() {
        let bytes = "{\"a\":\"ü\"}\n\n{\"b\":1}\r\nrest".as_bytes();
        for cut in 0..bytes.len() {
            let mut cutter = LineCutter::default();
            let mut seen = cutter.feed(&bytes[..cut]).unwrap();
            seen.extend(cutter.feed(&bytes[cut..]).unwrap());
            seen.extend(cutter.rest());
            assert_eq!(seen, ["{\"a\":\"ü\"}", "{\"b\":1}", "rest"], "cut at {cut}");
        }
        assert!(LineCutter::default().feed(&vec![b'x'; MAX_LINE + 1]).is_err());
    }
}
