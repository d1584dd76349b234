//! A second reader of HTTP/1.1, written for the tests and sharing nothing with the gateway's. It is strict: what it cannot
//! read in exactly one way is an error.

/// A message as this reader understands it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Message {
    /// The first line, in its three parts.
    pub(crate) start: [String; 3],
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Message {
    pub(crate) fn method(&self) -> &str {
        &self.start[0]
    }

    pub(crate) fn target(&self) -> &str {
        &self.start[1]
    }

    /// Of an answer.
    pub(crate) fn status(&self) -> u16 {
        self.start[1].parse().expect("the second word of an answer is its status")
    }

    pub(crate) fn all(&self, name: &str) -> Vec<&str> {
        let same = |(own, _): &&(String, String)| own.eq_ignore_ascii_case(name);
        self.headers.iter().filter(same).map(|(_, value)| value.as_str()).collect()
    }

    /// The one value of a header; two are a fault of whoever wrote them.
    pub(crate) fn one(&self, name: &str) -> Option<&str> {
        let all = self.all(name);
        assert!(all.len() <= 1, "{name} stands {} times: {all:?}", all.len());
        all.first().copied()
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).expect("a text")
    }
}

/// How a body ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    Length(usize),
    Chunked,
    /// With the connection; answers only.
    UntilClose,
}

/// A head and how many bytes it took; `None` where it is not all there yet.
pub(crate) fn head(bytes: &[u8]) -> Result<Option<(Message, usize)>, String> {
    let Some(end) = find(bytes, b"\r\n\r\n") else {
        return if bytes.len() > 1 << 20 { Err("a head without an end".into()) } else { Ok(None) };
    };
    let text: String = bytes[..end].iter().map(|byte| char::from(*byte)).collect();
    let mut lines = text.split("\r\n");
    let first = lines.next().unwrap_or_default();
    let mut words = first.splitn(3, ' ').map(str::to_owned);
    let start = [(); 3].map(|()| words.next().unwrap_or_default());
    let is_answer = start[0].starts_with("HTTP/");
    if text.contains('\0') || text.replace("\r\n", "").contains(['\r', '\n']) {
        return Err(format!("a stray control character in {text:?}"));
    }
    if start.iter().take(2).any(String::is_empty) || (!is_answer && start[2] != "HTTP/1.1") {
        return Err(format!("no first line: {first:?}"));
    }
    let mut headers = Vec::new();
    for line in lines {
        let (name, value) = line.split_once(':').ok_or_else(|| format!("no header: {line:?}"))?;
        if name.is_empty() || !name.bytes().all(is_token) {
            return Err(format!("no header name: {line:?}"));
        }
        headers.push((name.to_owned(), value.trim_matches([' ', '\t']).to_owned()));
    }
    Ok(Some((Message { start, headers, body: Vec::new() }, end + 4)))
}

/// How the body of this message ends; `asked` is the method an answer answers.
pub(crate) fn framing(message: &Message, asked: Option<&str>) -> Result<Framing, String> {
    let (lengths, codings) = (message.all("content-length"), message.all("transfer-encoding"));
    if lengths.len() + codings.len() > 1 {
        return Err(format!("two lengths: {lengths:?} {codings:?}"));
    }
    if let Some(asked) = asked
        && (asked == "HEAD" || matches!(message.status(), 100..=199 | 204 | 304))
    {
        return Ok(Framing::Length(0));
    }
    if let Some(coding) = codings.first() {
        return if *coding == "chunked" { Ok(Framing::Chunked) } else { Err(format!("coding {coding:?}")) };
    }
    match lengths.first() {
        Some(length) if !length.is_empty() && length.bytes().all(|byte| byte.is_ascii_digit()) => {
            length.parse().map(Framing::Length).map_err(|error| format!("{length}: {error}"))
        }
        Some(length) => Err(format!("length {length:?}")),
        None if asked.is_some() => Ok(Framing::UntilClose),
        None => Ok(Framing::Length(0)),
    }
}

/// A whole body and how many bytes it took; `None` where it is not all there yet.
pub(crate) fn body(bytes: &[u8], framing: Framing) -> Result<Option<(Vec<u8>, usize)>, String> {
    match framing {
        Framing::Length(length) => Ok(bytes.get(..length).map(|body| (body.to_vec(), length))),
        Framing::UntilClose => Ok(None),
        Framing::Chunked => {
            let (mut whole, mut at) = (Vec::new(), 0);
            loop {
                let Some(end) = find(&bytes[at..], b"\r\n") else { return Ok(None) };
                let digits = std::str::from_utf8(&bytes[at..at + end]).map_err(|error| error.to_string())?;
                let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
                let size = usize::from_str_radix(digits, 16).ok().filter(|_| plain);
                let size = size.ok_or_else(|| format!("chunk size {digits:?}"))?;
                at += end + 2;
                let Some(chunk) = bytes.get(at..at + size + 2) else { return Ok(None) };
                if &chunk[size..] != b"\r\n" {
                    return Err(format!("chunk of {size} does not end"));
                }
                whole.extend_from_slice(&chunk[..size]);
                at += size + 2;
                if size == 0 {
                    return Ok(Some((whole, at)));
                }
            }
        }
    }
}

/// A whole request; `None` where it is not all there yet.
pub(crate) fn request(bytes: &[u8]) -> Result<Option<(Message, usize)>, String> {
    let Some((mut message, at)) = head(bytes)? else { return Ok(None) };
    let Some((content, size)) = body(&bytes[at..], framing(&message, None)?)? else { return Ok(None) };
    message.body = content;
    Ok(Some((message, at + size)))
}

/// Everything one connection carried, as requests; what is left at the end is a request that was never finished.
pub(crate) fn requests(mut bytes: &[u8]) -> Result<(Vec<Message>, Vec<u8>), String> {
    let mut all = Vec::new();
    while let Some((message, size)) = request(bytes)? {
        all.push(message);
        bytes = &bytes[size..];
    }
    Ok((all, bytes.to_vec()))
}

pub(crate) fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}

fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}
