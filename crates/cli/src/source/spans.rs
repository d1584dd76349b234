//! Where the mappings of a document stand in its text, so that one can be replaced and the rest left alone.

use std::collections::BTreeMap;
use std::ops::Range;

use saphyr_parser::{Event, Parser};

/// Something that has begun and not ended: its path, and for an object the key that waits for its value.
struct Begun {
    path: String,
    start: usize,
    node: Node,
}

enum Node {
    List(usize),
    Object(Option<String>),
}

/// Where each mapping stands in a text, in characters.
pub(super) fn of_mappings(text: &str) -> Option<BTreeMap<String, Range<usize>>> {
    let letters: Vec<char> = text.chars().collect();
    let is_flow = |at: usize| matches!(letters.get(at), Some('{' | '['));
    let mut found = BTreeMap::new();
    let mut open: Vec<Begun> = Vec::new();
    // The end of the last word: a mapping in block style ends there, and not where the next thing begins.
    let mut last = 0;
    for event in Parser::new_from_str(text) {
        let (event, at) = event.ok()?;
        match event {
            Event::Scalar(word, ..) => {
                last = at.end.index();
                match open.last_mut().map(|begun| &mut begun.node) {
                    Some(Node::Object(key @ None)) => *key = Some(word.into_owned()),
                    _ => value_ended(&mut open),
                }
            }
            Event::SequenceStart(..) | Event::MappingStart(..) => {
                let list = matches!(event, Event::SequenceStart(..));
                let node = if list { Node::List(0) } else { Node::Object(None) };
                let path = open.last().map_or_else(String::new, path_of_next);
                open.push(Begun { path, start: at.start.index(), node });
            }
            Event::SequenceEnd | Event::MappingEnd => {
                let begun = open.pop()?;
                // The parser counts what follows the bracket up to the next thing to its end.
                if is_flow(begun.start) {
                    last = at.start.index() + 1;
                }
                if let Node::Object(_) = begun.node {
                    found.insert(begun.path, begun.start..last);
                }
                value_ended(&mut open);
            }
            Event::Alias(_) => return None,
            Event::Nothing
            | Event::StreamStart
            | Event::StreamEnd
            | Event::DocumentStart(_)
            | Event::DocumentEnd => {}
        }
    }
    Some(found)
}

fn path_of_next(begun: &Begun) -> String {
    match &begun.node {
        Node::List(count) => format!("{}/{count}", begun.path),
        Node::Object(key) => {
            let key = key.as_deref().unwrap_or_default();
            format!("{}/{}", begun.path, key.replace('~', "~0").replace('/', "~1"))
        }
    }
}

fn value_ended(open: &mut [Begun]) {
    match open.last_mut().map(|begun| &mut begun.node) {
        Some(Node::List(count)) => *count += 1,
        Some(Node::Object(key)) => *key = None,
        None => {}
    }
}
