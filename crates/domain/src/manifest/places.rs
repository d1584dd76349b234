//! Where everything of a document stands in its text, so that a fault can be shown and not only named.
//!
//! The readers note places while they build the tree; nothing is read for its meaning a second time. What is kept is a tree
//! like the document's, not a map of whole pointers, so its size is that of the text. All spans are bytes of the text
//! without its byte order mark.
//!
//! JSON is not handed to the YAML reader: YAML refuses some of it (escaped surrogates, tabs as indentation), and a place
//! that is missing where the document is good would be a lie. Its brackets, quotes and commas are enough to tell places.

use std::ops::Range;

use super::forbidden;
use super::read::MAX_DEPTH;
use super::walk::join;
use crate::text::unescaped;

/// Codes that are about the name of a field and not about its value.
const ABOUT_KEYS: &[&str] =
    &["unknown_field", "duplicate_key", "exclusive_blocks", "forbidden_field", "schema_not_supported"];

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Of a member of an object; entries of lists have none.
    pub key: Option<Range<usize>>,
    /// Empty where nothing is written, which is how YAML says null.
    pub value: Range<usize>,
}

/// Places by JSON pointer.
#[derive(Clone, Debug, Default)]
pub struct Places {
    root: Option<Node>,
    /// Where reading came to its end too early.
    stop: Option<usize>,
}

#[derive(Clone, Debug)]
struct Node {
    /// One step of a pointer, escaped; empty for entries of lists.
    step: Box<str>,
    place: Place,
    children: Vec<Node>,
    is_list: bool,
    /// The key that waits for its value.
    pending: Option<(Box<str>, Range<usize>)>,
}

/// What to point at for a fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    pub span: Range<usize>,
    /// Whether the pointer itself is there; otherwise this is the nearest thing around it.
    pub exact: bool,
}

/// As editors count: both from 1, columns in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    pub line: usize,
    pub column: usize,
}

/// The line and column of a byte of a text.
pub fn position(text: &str, byte: usize) -> Position {
    let before = &text[..floor(text, byte)];
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    Position {
        line: before.bytes().filter(|byte| *byte == b'\n').count() + 1,
        column: before[start..].chars().count() + 1,
    }
}

fn floor(text: &str, byte: usize) -> usize {
    let mut byte = byte.min(text.len());
    while !text.is_char_boundary(byte) {
        byte -= 1;
    }
    byte
}

impl Places {
    /// Where the value of this pointer stands. Of a key that stands twice it is the last.
    pub fn find(&self, pointer: &str) -> Option<&Place> {
        let (node, exact) = self.walk(pointer)?;
        exact.then_some(&node.place)
    }

    /// The deepest place on the way, and whether it is the whole way.
    fn walk(&self, pointer: &str) -> Option<(&Node, bool)> {
        let mut node = self.root.as_ref()?;
        if matches!(pointer, "" | "/") {
            return Some((node, true));
        }
        for step in pointer.trim_start_matches('/').split('/') {
            let next = if node.is_list {
                step.parse().ok().and_then(|index: usize| node.children.get(index))
            } else {
                node.children.iter().rev().find(|child| *child.step == *step)
            };
            match next {
                Some(next) => node = next,
                None => return Some((node, false)),
            }
        }
        Some((node, true))
    }

    /// What to show for a fault at this pointer: its key or its value, whichever is meant; for what is missing, the nearest
    /// thing around it. `None` where nothing could be read at all.
    pub fn mark(&self, text: &str, pointer: &str, code: &str) -> Option<Mark> {
        if let Some(stop) = self.stop {
            let stop = floor(text, stop);
            return Some(Mark { span: stop..stop, exact: true });
        }
        let (node, exact) = self.walk(pointer)?;
        let last = pointer.rsplit('/').next().unwrap_or_default();
        // What names something and holds something else is wrong by its name.
        let names = code == "unknown_reference" && !node.children.is_empty();
        let about_key = names || ABOUT_KEYS.contains(&code) || forbidden::field(&unescaped(last)).is_some();
        let value = &node.place.value;
        let on_one_line =
            !value.is_empty() && !text.get(value.clone()).is_none_or(|text| text.contains('\n'));
        let span = match &node.place.key {
            _ if exact && !about_key && on_one_line => value.clone(),
            Some(key) => key.clone(),
            None if exact && on_one_line => value.clone(),
            None => node.children.first().and_then(|child| child.place.key.clone()).unwrap_or(value.clone()),
        };
        Some(Mark { span, exact })
    }

    /// Every pointer with its place.
    pub fn each(&self, see: &mut impl FnMut(&str, &Place)) {
        fn visit(node: &Node, path: &str, see: &mut impl FnMut(&str, &Place)) {
            see(path, &node.place);
            for (index, child) in node.children.iter().enumerate() {
                let step = if node.is_list { &*index.to_string() } else { &child.step };
                visit(child, &format!("{path}/{step}"), see);
            }
        }
        if let Some(root) = &self.root {
            visit(root, "", see);
        }
    }
}

/// What a reader tells as it goes along.
#[derive(Default)]
pub(super) struct Recorder {
    open: Vec<Node>,
    root: Option<Node>,
    stop: Option<usize>,
}

impl Recorder {
    pub(super) fn depth(&self) -> usize {
        self.open.len()
    }

    /// Where the innermost list or object begins.
    pub(super) fn start(&self) -> Option<usize> {
        self.open.last().map(|node| node.place.value.start)
    }

    /// Whether what comes next is the name of a member.
    pub(super) fn wants_key(&self) -> bool {
        self.open.last().is_some_and(|node| !node.is_list && node.pending.is_none())
    }

    pub(super) fn key(&mut self, name: &str, span: Range<usize>) {
        if let Some(node) = self.open.last_mut() {
            node.pending = Some((join("", name)[1..].into(), span));
        }
    }

    fn node(&mut self, value: Range<usize>, is_list: bool) -> Node {
        let pending = self.open.last_mut().and_then(|parent| parent.pending.take());
        let (step, key) = pending.map_or((Box::default(), None), |(step, key)| (step, Some(key)));
        Node { step, place: Place { key, value }, children: Vec::new(), is_list, pending: None }
    }

    pub(super) fn begin(&mut self, start: usize, is_list: bool) {
        let node = self.node(start..start, is_list);
        self.open.push(node);
    }

    pub(super) fn scalar(&mut self, span: Range<usize>) {
        let node = self.node(span, false);
        self.put(node);
    }

    pub(super) fn end(&mut self, end: usize) {
        if let Some(mut node) = self.open.pop() {
            node.place.value.end = end.max(node.place.value.start);
            self.put(node);
        }
    }

    fn put(&mut self, node: Node) {
        match self.open.last_mut() {
            Some(parent) => parent.children.push(node),
            None => self.root = Some(node),
        }
    }

    pub(super) fn stop(&mut self, at: usize) {
        self.stop.get_or_insert(at);
    }

    /// What is still open ends here.
    pub(super) fn finish(mut self, end: usize) -> Places {
        while !self.open.is_empty() {
            self.end(end);
        }
        Places { root: self.root, stop: self.stop }
    }
}

/// The places of a JSON text, by its brackets, quotes and commas. Whether it is JSON is judged elsewhere.
pub(super) fn of_json(text: &str, note: &mut Recorder) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'{' | b'[' => {
                if note.depth() > MAX_DEPTH {
                    return;
                }
                note.begin(at, *byte == b'[');
                at += 1;
            }
            b'}' | b']' => {
                at += 1;
                note.end(at);
            }
            b'"' => {
                let end = end_of_string(bytes, at);
                if note.wants_key() {
                    let name: String = serde_json::from_str(&text[at..end]).unwrap_or_default();
                    note.key(&name, at..end);
                } else {
                    note.scalar(at..end);
                }
                at = end;
            }
            b',' | b':' | b' ' | b'\t' | b'\r' | b'\n' => at += 1,
            _ => {
                let ends = |byte: &u8| b",:{}[]\" \t\r\n".contains(byte);
                let end = bytes[at..].iter().position(ends).map_or(bytes.len(), |length| at + length);
                note.scalar(at..end);
                at = end;
            }
        }
    }
}

fn end_of_string(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    bytes.len()
}
