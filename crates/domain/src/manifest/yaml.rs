//! YAML to a tree, from the parser's events.
//!
//! Only what JSON can say is read: one document, text keys, no tags, no anchors. Without anchors there are no aliases,
//! so a short text cannot unfold into a long one. Plain words follow the core schema of YAML 1.2, where `no` is a word.

use saphyr_parser::{Event, Parser, ScalarStyle, ScanError, Span};
use serde_json::{Map, Number, Value};

use super::MAX_FAULTS;
use super::places::Recorder;
use super::read::{MAX_DEPTH, duplicate, one, too_deep};
use super::walk::{join, pointer};
use crate::FieldError;

type Faults = Vec<FieldError>;

pub(super) fn tree(text: &str, note: Option<&mut Recorder>) -> Result<Value, Faults> {
    let mut build = Build { open: Vec::new(), root: None, documents: 0, faults: Vec::new() };
    let mut noting = note.map(|note| Noting { text, letters: Letters::new(text), note, last: 0 });
    for event in Parser::new_from_str(text) {
        match event {
            Ok((event, at)) => {
                if let Some(noting) = &mut noting {
                    noting.event(&event, at);
                }
                let read = build.event(event, at);
                if let (Some(noting), Err(_)) = (&mut noting, &read) {
                    noting.note.stop(noting.letters.byte(at.start.index()));
                }
                read?;
            }
            Err(error) => {
                if let Some(noting) = &mut noting {
                    noting.note.stop(noting.letters.byte(error.marker().index()));
                }
                return Err(vec![malformed(&error)]);
            }
        }
    }
    match build.root {
        _ if !build.faults.is_empty() => Err(build.faults),
        Some(root) => Ok(root),
        None => Err(one("malformed_document", "The text holds no document.")),
    }
}

/// The parser's own words may quote the document: only the place is passed on.
fn malformed(error: &ScanError) -> FieldError {
    let at = error.marker();
    FieldError::new(
        "/",
        "malformed_document",
        format!("The text is not YAML at line {}, column {}.", at.line(), at.col() + 1),
    )
}

/// Bytes of a text by the number of their character, which is how the parser counts.
struct Letters {
    /// Empty where both are the same.
    starts: Vec<usize>,
    length: usize,
}

impl Letters {
    fn new(text: &str) -> Self {
        let starts =
            if text.is_ascii() { Vec::new() } else { text.char_indices().map(|(at, _)| at).collect() };
        Self { starts, length: text.len() }
    }

    fn byte(&self, letter: usize) -> usize {
        if self.starts.is_empty() {
            return letter.min(self.length);
        }
        self.starts.get(letter).copied().unwrap_or(self.length)
    }
}

/// Tells the recorder where things stand.
struct Noting<'a> {
    text: &'a str,
    letters: Letters,
    note: &'a mut Recorder,
    /// The end of the last word: what is written in block style ends there, and not where the next thing begins.
    last: usize,
}

impl Noting<'_> {
    fn event(&mut self, event: &Event<'_>, at: Span) {
        let (start, end) = (self.letters.byte(at.start.index()), self.letters.byte(at.end.index()));
        match event {
            Event::Scalar(word, style, ..) => {
                // For nothing at all the parser gives the place of whatever comes next.
                let nothing = word.is_empty() && *style == ScalarStyle::Plain;
                let span = if nothing {
                    let after = self.after_mark();
                    after..after
                } else {
                    self.start_of(start, *style)..self.trimmed(start, end, *style)
                };
                self.last = self.last.max(span.end);
                if self.note.wants_key() {
                    self.note.key(word, span);
                } else {
                    self.note.scalar(span);
                }
            }
            Event::SequenceStart(..) | Event::MappingStart(..) => {
                self.note.begin(start, matches!(event, Event::SequenceStart(..)));
                self.last = self.last.max(start);
            }
            Event::SequenceEnd | Event::MappingEnd => {
                // The parser counts what follows the bracket up to the next thing to its end.
                let flow = self.note.start().is_some_and(|start| self.text[start..].starts_with(['{', '[']));
                if flow {
                    self.last = start + 1;
                }
                self.note.end(self.last);
            }
            Event::Alias(_)
            | Event::Nothing
            | Event::StreamStart
            | Event::StreamEnd
            | Event::DocumentStart(_)
            | Event::DocumentEnd => {}
        }
    }

    /// Behind the colon or dash that comes next; where there is none, behind the last word.
    fn after_mark(&self) -> usize {
        let next = self.next_word(self.last);
        if self.text[next..].starts_with([':', '-']) { next + 1 } else { self.last }
    }

    /// What comes after blanks and comments.
    fn next_word(&self, from: usize) -> usize {
        let mut rest = self.text[from..].trim_start();
        while let Some(comment) = rest.strip_prefix('#') {
            rest = comment.split_once('\n').map_or("", |(_, rest)| rest).trim_start();
        }
        self.text.len() - rest.len()
    }

    /// A block of text begins with its `|` or `>`; the parser gives the place of its first line.
    fn start_of(&self, start: usize, style: ScalarStyle) -> usize {
        if !matches!(style, ScalarStyle::Literal | ScalarStyle::Folded) {
            return start;
        }
        let head = self.next_word(self.after_mark());
        if head < start && self.text[head..].starts_with(['|', '>']) { head } else { start }
    }

    /// Without the blanks behind it; the line ends of a block of text are part of it.
    fn trimmed(&self, start: usize, end: usize, style: ScalarStyle) -> usize {
        let Some(word) = self.text.get(start..end) else { return end };
        let is_block = matches!(style, ScalarStyle::Literal | ScalarStyle::Folded);
        let kept = if is_block { word.trim_end_matches(' ') } else { word.trim_end() };
        start + kept.len()
    }
}

/// A list or object whose end has not come yet.
struct Open {
    path: String,
    node: Container,
}

enum Container {
    List(Vec<Value>),
    /// The key waits for its value.
    Object(Map<String, Value>, Option<String>),
}

struct Build {
    open: Vec<Open>,
    root: Option<Value>,
    documents: usize,
    faults: Faults,
}

impl Build {
    fn event(&mut self, event: Event<'_>, at: Span) -> Result<(), Faults> {
        match event {
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => Ok(()),
            Event::DocumentStart(_) => {
                self.documents += 1;
                if self.documents > 1 {
                    return Err(one("malformed_document", "The text holds more than one document."));
                }
                Ok(())
            }
            Event::Alias(_) => self.feature("Aliases are not read", at),
            Event::Scalar(_, _, anchor, _)
            | Event::SequenceStart(anchor, _)
            | Event::MappingStart(anchor, _)
                if anchor != 0 =>
            {
                self.feature("Anchors are not read", at)
            }
            Event::Scalar(_, _, _, Some(_))
            | Event::SequenceStart(_, Some(_))
            | Event::MappingStart(_, Some(_)) => self.feature("Tags are not read", at),
            Event::Scalar(text, style, ..) => self.scalar(&text, style, at),
            Event::SequenceStart(..) => self.start(Container::List(Vec::new()), at),
            Event::MappingStart(..) => self.start(Container::Object(Map::new(), None), at),
            Event::SequenceEnd | Event::MappingEnd => {
                if let Some(done) = self.open.pop() {
                    self.put(match done.node {
                        Container::List(items) => Value::Array(items),
                        Container::Object(map, _) => Value::Object(map),
                    });
                }
                Ok(())
            }
        }
    }

    fn feature(&self, what: &str, at: Span) -> Result<(), Faults> {
        Err(vec![FieldError::new(
            pointer(&self.path()),
            "yaml_feature_not_allowed",
            format!("{what} (line {}); write it out.", at.start.line()),
        )])
    }

    /// Where the next value goes.
    fn path(&self) -> String {
        match self.open.last() {
            None => String::new(),
            Some(Open { path, node: Container::List(items) }) => format!("{path}/{}", items.len()),
            Some(Open { path, node: Container::Object(_, Some(key)) }) => join(path, key),
            Some(Open { path, node: Container::Object(_, None) }) => path.clone(),
        }
    }

    fn start(&mut self, node: Container, at: Span) -> Result<(), Faults> {
        if let Some(Open { node: Container::Object(_, None), .. }) = self.open.last() {
            return self.feature("Keys are text, nothing else is read", at);
        }
        let path = self.path();
        if self.open.len() >= MAX_DEPTH {
            return Err(vec![too_deep(&path)]);
        }
        self.open.push(Open { path, node });
        Ok(())
    }

    fn scalar(&mut self, text: &str, style: ScalarStyle, at: Span) -> Result<(), Faults> {
        if let Some(Open { path, node: Container::Object(map, key @ None) }) = self.open.last_mut() {
            if map.contains_key(text) && self.faults.len() < MAX_FAULTS {
                self.faults.push(duplicate(&join(path, text)));
            }
            *key = Some(text.to_owned());
            return Ok(());
        }
        let value =
            if style == ScalarStyle::Plain { plain(text) } else { Some(Value::String(text.to_owned())) };
        match value {
            Some(value) => {
                self.put(value);
                Ok(())
            }
            None => self.feature("Infinity and not-a-number are not read", at),
        }
    }

    fn put(&mut self, value: Value) {
        match self.open.last_mut().map(|open| &mut open.node) {
            None => self.root = Some(value),
            Some(Container::List(items)) => items.push(value),
            Some(Container::Object(map, key)) => {
                if let Some(key) = key.take() {
                    map.insert(key, value);
                }
            }
        }
    }
}

/// A plain word by the core schema; `None` is a number that JSON cannot write.
fn plain(text: &str) -> Option<Value> {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Some(Value::Null),
        "true" | "True" | "TRUE" => return Some(Value::Bool(true)),
        "false" | "False" | "FALSE" => return Some(Value::Bool(false)),
        _ => {}
    }
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    if matches!(unsigned, ".inf" | ".Inf" | ".INF") || matches!(text, ".nan" | ".NaN" | ".NAN") {
        return None;
    }
    let radix = [("0x", 16), ("0o", 8)]
        .iter()
        .find_map(|(prefix, radix)| Some((text.strip_prefix(prefix)?, *radix)))
        .filter(|(digits, _)| !digits.starts_with(['+', '-']));
    if let Some((digits, radix)) = radix
        && let Ok(number) = u64::from_str_radix(digits, radix)
    {
        return Some(number.into());
    }
    if !unsigned.is_empty() && unsigned.bytes().all(|b| b.is_ascii_digit()) {
        let digits = text.strip_prefix('+').unwrap_or(text);
        if let Ok(number) = digits.parse::<u64>() {
            return Some(number.into());
        }
        if let Ok(number) = digits.parse::<i64>() {
            return Some(number.into());
        }
    }
    let is_float = unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.')
        && unsigned.bytes().any(|b| b.is_ascii_digit())
        && unsigned.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'e' | b'E' | b'+' | b'-'));
    if is_float && let Ok(number) = text.parse::<f64>() {
        return Number::from_f64(number).map(Value::Number);
    }
    Some(Value::String(text.to_owned()))
}
