//! A manifest as people write one. Only what needs no quotes goes without; the rest is quoted as JSON, which YAML reads
//! alike, with hidden characters spelled out.

use serde_json::Value;

use crate::json::compact;

pub(crate) fn render(value: &Value) -> String {
    let mut out = String::new();
    match value {
        Value::Object(_) | Value::Array(_) if !is_empty(value) => block(value, 0, &mut out),
        _ => {
            out.push_str(&scalar(value));
            out.push('\n');
        }
    }
    out
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Object(members) => members.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}

fn block(value: &Value, depth: usize, out: &mut String) {
    let indent = "  ".repeat(depth);
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                out.push_str(&indent);
                out.push_str(&text(name));
                out.push(':');
                member(value, depth, out);
            }
        }
        Value::Array(items) => {
            for item in items {
                out.push_str(&indent);
                out.push('-');
                member(item, depth, out);
            }
        }
        _ => {}
    }
}

/// What stands after a key or a dash.
fn member(value: &Value, depth: usize, out: &mut String) {
    match value {
        Value::Object(_) | Value::Array(_) if !is_empty(value) => {
            out.push('\n');
            block(value, depth + 1, out);
        }
        _ => {
            out.push(' ');
            out.push_str(&scalar(value));
            out.push('\n');
        }
    }
}

fn scalar(value: &Value) -> String {
    match value {
        Value::String(string) => text(string),
        Value::Object(_) => "{}".to_owned(),
        Value::Array(_) => "[]".to_owned(),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}

fn text(string: &str) -> String {
    let plain = string.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/')
        && string.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_./@-".contains(&byte));
    let word = matches!(
        string.to_ascii_lowercase().as_str(),
        "true" | "false" | "yes" | "no" | "on" | "off" | "y" | "n" | "null"
    );
    if plain && !word { string.to_owned() } else { compact(&Value::String(string.to_owned()).to_string()) }
}

#[cfg(test)]
mod tests {
    use gpuaas_domain::manifest::{Format, parse};
    use serde_json::json;

    use super::*;

    #[test]
    fn quotes_stand_where_they_must() {
        let value = json!({"a": ["x y", "no", "1.0.0", "plain/path", 3, null, [], {}], "b": {"c": true}, "e": "",
            "hidden": "\u{202e}\u{1b}", "lines": "a\nb", "s": "key: value # no"});
        assert_eq!(
            render(&value),
            "a:\n  - \"x y\"\n  - \"no\"\n  - \"1.0.0\"\n  - plain/path\n  - 3\n  - null\n  - []\n  - {}\nb:\n  c: true\n\
             e: \"\"\nhidden: \"\\u202e\\u001b\"\nlines: \"a\\nb\"\ns: \"key: value # no\"\n"
        );
    }

    #[test]
    fn a_manifest_means_the_same_after_it_was_shown() {
        let image = format!("registry.example.org/apps/hello-web@sha256:{}", "0".repeat(64));
        let written = include_str!("../../../apps/hello-web/app.yaml");
        let written = written.replace("{build: ../../images/hello-web}", &image);
        let document = parse(written.as_bytes(), Format::Yaml).unwrap();
        let shown = render(document.value());
        assert_eq!(parse(shown.as_bytes(), Format::Yaml).unwrap().digest(), document.digest());
    }
}
