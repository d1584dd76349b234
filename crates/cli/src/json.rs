//! JSON as the platform wrote it: laid out for reading, with nothing reordered, renamed or rounded.

use std::fmt::Write as _;

use gpuaas_domain::text::is_deceptive;
use serde::Deserialize;
use serde_json::value::RawValue;

/// An answer that has not been interpreted.
pub(crate) type Raw = Box<RawValue>;

/// Indents valid JSON text. Hidden and control characters become `\u` escapes, which mean the same.
pub(crate) fn pretty(raw: &str) -> String {
    let mut out = String::with_capacity(raw.len() * 2);
    let mut depth = 0_usize;
    let mut chars = raw.chars().peekable();
    let new_line = |out: &mut String, depth: usize| {
        out.push('\n');
        out.push_str(&"  ".repeat(depth));
    };
    while let Some(c) = chars.next() {
        match c {
            '"' => {
                out.push('"');
                let mut escaped = false;
                for c in chars.by_ref() {
                    push_spelled(&mut out, c);
                    if c == '"' && !escaped {
                        break;
                    }
                    escaped = c == '\\' && !escaped;
                }
            }
            '{' | '[' => {
                out.push(c);
                while chars.next_if(char::is_ascii_whitespace).is_some() {}
                if let Some(close) = chars.next_if(|next| matches!(next, '}' | ']')) {
                    out.push(close);
                } else {
                    depth += 1;
                    new_line(&mut out, depth);
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                new_line(&mut out, depth);
                out.push(c);
            }
            ',' => {
                out.push(c);
                new_line(&mut out, depth);
            }
            ':' => out.push_str(": "),
            c if c.is_ascii_whitespace() => {}
            c => out.push(c),
        }
    }
    out
}

/// JSON on one line, with hidden characters spelled out.
pub(crate) fn compact(raw: &str) -> String {
    raw.chars().fold(String::with_capacity(raw.len()), |mut out, c| {
        push_spelled(&mut out, c);
        out
    })
}

fn push_spelled(out: &mut String, c: char) {
    if is_deceptive(c) {
        // All of them lie in the basic plane, so that four digits are enough.
        write!(out, "\\u{:04x}", u32::from(c)).expect("writing to a String cannot fail");
    } else {
        out.push(c);
    }
}

/// The members of an object in the order they were sent.
struct Fields(Vec<(String, Raw)>);

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> serde::de::Visitor<'de> for Visitor {
            type Value = Fields;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Fields, A::Error> {
                let mut fields = Vec::new();
                while let Some(entry) = map.next_entry::<String, Raw>()? {
                    fields.push(entry);
                }
                Ok(Fields(fields))
            }
        }
        deserializer.deserialize_map(Visitor)
    }
}

/// The members of an object and of the objects inside it, under dotted names.
pub(crate) fn flatten(raw: &str) -> Result<Vec<(String, String)>, serde_json::Error> {
    fn walk(name: &str, raw: &str, out: &mut Vec<(String, String)>) -> Result<(), serde_json::Error> {
        let dotted =
            |member: &str| if name.is_empty() { member.to_owned() } else { format!("{name}.{member}") };
        if name.is_empty() || raw.starts_with('{') {
            for (member, raw) in serde_json::from_str::<Fields>(raw)?.0 {
                walk(&dotted(&member), raw.get(), out)?;
            }
            return Ok(());
        }
        let items: Vec<Raw> = if raw.starts_with('[') { serde_json::from_str(raw)? } else { Vec::new() };
        if items.iter().any(|item| item.get().starts_with('{')) {
            for (i, item) in items.iter().enumerate() {
                walk(&format!("{name}[{i}]"), item.get(), out)?;
            }
            return Ok(());
        }
        out.push((name.to_owned(), cell(raw)));
        Ok(())
    }
    let mut out = Vec::new();
    walk("", raw, &mut out)?;
    Ok(out)
}

/// One value in one cell: text without quotes, lists joined, nothing as a dash.
fn cell(raw: &str) -> String {
    match serde_json::from_str::<serde_json::Value>(raw) {
        Ok(serde_json::Value::Null) => "-".to_owned(),
        Ok(serde_json::Value::String(text)) => text,
        Ok(serde_json::Value::Array(items)) if items.iter().all(serde_json::Value::is_string) => {
            items.iter().filter_map(serde_json::Value::as_str).collect::<Vec<_>>().join(", ")
        }
        Ok(_) | Err(_) => raw.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layout_changes_nothing_but_space() {
        let raw =
            r#"{"z":1.10,"a":[],"o":{ },"s":"a\"}{,:\\","l":[1,{"x":null}],"big":12345678901234567890123}"#;
        let laid_out = pretty(raw);
        assert_eq!(
            laid_out,
            "{\n  \"z\": 1.10,\n  \"a\": [],\n  \"o\": {},\n  \"s\": \"a\\\"}{,:\\\\\",\n  \"l\": [\n    1,\n    {\n      \"x\": null\n    }\n  ],\n  \"big\": 12345678901234567890123\n}"
        );
        assert_eq!(pretty(&laid_out), laid_out);
    }

    #[test]
    fn hidden_characters_are_spelled_out_and_mean_the_same() {
        let raw = "\"a\u{202e}b\u{9b}31m\u{7f}\"";
        let laid_out = pretty(raw);
        assert_eq!(laid_out, "\"a\\u202eb\\u009b31m\\u007f\"");
        let (one, two): (String, String) =
            (serde_json::from_str(raw).unwrap(), serde_json::from_str(&laid_out).unwrap());
        assert_eq!(one, two);
    }

    #[test]
    fn members_keep_their_order() {
        let raw = r#"{"z":"x","a":["p","q"],"n":null,"o":{"k":1,"e":{}},"l":[{"i":1},{"i":2}],"m":[1,2]}"#;
        let shown: Vec<_> =
            flatten(raw).unwrap().iter().map(|(name, value)| format!("{name}={value}")).collect();
        assert_eq!(shown, ["z=x", "a=p, q", "n=-", "o.k=1", "l[0].i=1", "l[1].i=2", "m=[1,2]"]);
        assert!(flatten("[1]").is_err());
    }
}
