//! YAML out of a tree, for people to read and for three other parsers to agree on.
//!
//! The bytes are stored and hashed, so they may change with our renderers' versions only, never with a library's: that is
//! why this is ours. It is small because it writes little of YAML: block lists and objects with sorted keys, and two kinds
//! of text. *Plain* is a word that starts with a letter or a slash, has nothing but letters, digits and `. _ - /`, and
//! means nothing else in YAML 1.1 or 1.2. Everything else is in double quotes on one line, with whatever a reader cannot
//! see escaped; there are no anchors, tags, comments, folds or block texts to be taken for anything.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use crate::text::is_deceptive;

/// Words that some reader takes for a boolean, nothing, or a number.
const NOT_TEXT: &[&str] = &["y", "yes", "n", "no", "true", "false", "on", "off", "null", "nan", "inf"];
const LONGEST_PLAIN: usize = 128;

/// One document, ended by a newline.
pub(super) fn document(value: &Value) -> String {
    let mut text = String::new();
    match value {
        Value::Object(map) if !map.is_empty() => object(&mut text, map, 0, false),
        Value::Array(items) if !items.is_empty() => list(&mut text, items, 0, false),
        other => {
            scalar(&mut text, other);
            text.push('\n');
        }
    }
    text
}

fn indent(text: &mut String, depth: usize) {
    text.extend(std::iter::repeat_n("  ", depth));
}

/// `inline`: the first line has its indentation already, behind a dash.
fn object(text: &mut String, map: &Map<String, Value>, depth: usize, mut inline: bool) {
    // The order of a map depends on which features of `serde_json` a build has switched on.
    let mut entries: Vec<_> = map.iter().collect();
    entries.sort_by_key(|(key, _)| *key);
    for (key, value) in entries {
        if !std::mem::take(&mut inline) {
            indent(text, depth);
        }
        word(text, key);
        text.push(':');
        match value {
            Value::Object(map) if !map.is_empty() => {
                text.push('\n');
                object(text, map, depth + 1, false);
            }
            Value::Array(items) if !items.is_empty() => {
                text.push('\n');
                list(text, items, depth, false);
            }
            other => {
                text.push(' ');
                scalar(text, other);
                text.push('\n');
            }
        }
    }
}

fn list(text: &mut String, items: &[Value], depth: usize, mut inline: bool) {
    for item in items {
        if !std::mem::take(&mut inline) {
            indent(text, depth);
        }
        text.push_str("- ");
        match item {
            Value::Object(map) if !map.is_empty() => object(text, map, depth + 1, true),
            Value::Array(items) if !items.is_empty() => list(text, items, depth + 1, true),
            other => {
                scalar(text, other);
                text.push('\n');
            }
        }
    }
}

fn scalar(out: &mut String, value: &Value) {
    match value {
        Value::String(text) => word(out, text),
        Value::Number(number) if number.is_f64() => out.push_str(&float(&number.to_string())),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            let _ = write!(out, "{value}");
        }
    }
}

/// YAML 1.1 takes `1e21` for text: a number has a point before its exponent, and the exponent a sign.
fn float(written: &str) -> String {
    let Some((digits, exponent)) = written.split_once('e') else { return written.to_owned() };
    let point = if digits.contains('.') { "" } else { ".0" };
    let sign = if exponent.starts_with(['-', '+']) { "" } else { "+" };
    format!("{digits}{point}e{sign}{exponent}")
}

fn word(out: &mut String, text: &str) {
    if is_plain(text) {
        out.push_str(text);
    } else {
        quoted(out, text);
    }
}

fn is_plain(text: &str) -> bool {
    text.len() <= LONGEST_PLAIN
        && text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/')
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-' | b'/'))
        && !NOT_TEXT.iter().any(|word| text.eq_ignore_ascii_case(word))
}

fn quoted(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            ' '..='~' => out.push(c),
            c if !is_shown(c) => {
                let _ = match u32::from(c) {
                    code @ ..=0xff => write!(out, "\\x{code:02x}"),
                    code @ ..=0xffff => write!(out, "\\u{code:04x}"),
                    code => write!(out, "\\U{code:08x}"),
                };
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

/// Whether it may stand as it is: a reader sees it, and the specification calls it printable.
fn is_shown(c: char) -> bool {
    let code = u32::from(c);
    let not_a_character = code & 0xfffe == 0xfffe || (0xfdd0..=0xfdef).contains(&code);
    let tag = (0xe_0000..=0xe_0fff).contains(&code);
    !(is_deceptive(c) || not_a_character || tag || c == '\u{61c}' || c == '\u{ad}')
}
