//! Where things stand: every pointer of a document, in JSON and in every style of YAML.

use std::fmt::Write as _;

use proptest::prelude::*;
use serde_json::Value;

use super::super::*;
use super::laws::{any_json, pointers};

/// The same document in a mixture of styles; `style` decides for each node.
fn yaml_of(value: &Value, depth: usize, style: &mut impl FnMut() -> u8, out: &mut String) {
    let indent = "  ".repeat(depth);
    let block = style().is_multiple_of(2);
    match value {
        Value::Object(map) if block && !map.is_empty() => {
            for (key, value) in map {
                write!(out, "\n{indent}{key}:").unwrap();
                yaml_of(value, depth + 1, style, out);
            }
        }
        Value::Array(items) if block && !items.is_empty() => {
            for item in items {
                write!(out, "\n{indent}-").unwrap();
                yaml_of(item, depth + 1, style, out);
            }
        }
        Value::String(text)
            if block && !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric()) =>
        {
            let deeper = "  ".repeat(depth + 1);
            write!(out, " |- # a comment\n{deeper}{text}").unwrap();
        }
        Value::Null if block => {}
        Value::Object(_) | Value::Array(_) if style().is_multiple_of(2) => {
            out.push(' ');
            out.push_str(&value.to_string());
            out.push_str("   # a comment");
        }
        other => {
            out.push(' ');
            out.push_str(&other.to_string());
        }
    }
}

fn column(text: &str, byte: usize) -> usize {
    position(text, byte).column - 1
}

/// What stands at a place, as a document of its own.
fn at_place(text: &str, place: &Place, format: Format) -> Value {
    let written = &text[place.value.clone()];
    if written.is_empty() {
        return Value::Null;
    }
    let alone = format!("{}{written}", " ".repeat(column(text, place.value.start)));
    tree(alone.as_bytes(), format).unwrap_or_else(|faults| panic!("{faults:?} in {written:?}"))
}

fn every_place_holds_its_value(text: &str, format: Format, document: &Value) {
    let (read, places) = tree_and_places(text.as_bytes(), format);
    assert_eq!(read.as_ref(), Ok(document), "{text}");
    let mut all = Vec::new();
    pointers(document, "", &mut all);
    for pointer in &all {
        let place = places.find(pointer).unwrap_or_else(|| panic!("{pointer} has no place in {text}"));
        assert_eq!(at_place(text, place, format), *document.pointer(pointer).unwrap(), "{pointer} in {text}");
        if let (Some(key), Some(name)) = (&place.key, pointer.rsplit('/').next()) {
            assert_eq!(text[key.clone()].trim_matches('"'), name, "{text}");
        }
    }
    let mut count = 0;
    places.each(&mut |_, _| count += 1);
    assert_eq!(count, all.len(), "no place without a value: {text}");
}

proptest! {
    /// a fault in any part of any document can be shown.
    #[test]
    fn every_pointer_of_json_has_its_place(document in any_json()) {
        every_place_holds_its_value(&document.to_string(), Format::Json, &document);
        every_place_holds_its_value(&format!("\n{document:#}\n"), Format::Json, &document);
    }

    #[test]
    fn every_pointer_of_yaml_has_its_place(document in any_json(), styles in prop::collection::vec(any::<u8>(), 1..64)) {
        let mut turn = 0;
        let mut style = || {
            turn += 1;
            styles[turn % styles.len()]
        };
        let mut text = String::from("# ä comment\nroot:");
        yaml_of(&document, 1, &mut style, &mut text);
        text.push('\n');
        let document = serde_json::json!({ "root": document });
        every_place_holds_its_value(&text, Format::Yaml, &document);
    }

    /// Whatever the text, a mark lies in it and on a character's edge.
    #[test]
    fn any_text_can_be_marked(text in "[a-cäß:\\-\\[\\]{},&'\"#| \n\t0-9~]{0,120}", format in 0..2) {
        let format = if format == 0 { Format::Json } else { Format::Yaml };
        let (_, places) = tree_and_places(text.as_bytes(), format);
        for pointer in ["/", "/a", "/a/0/b"] {
            if let Some(mark) = places.mark(&text, pointer, "wrong_type") {
                prop_assert!(text.get(mark.span).is_some());
            }
        }
    }
}

fn marked<'t>(text: &'t str, format: Format, pointer: &str, code: &str) -> (&'t str, bool) {
    let (_, places) = tree_and_places(text.as_bytes(), format);
    let mark = places.mark(text, pointer, code).unwrap();
    (&text[mark.span], mark.exact)
}

/// Texts as people write them.
#[test]
fn every_pointer_of_the_apps_has_its_place() {
    for written in [
        include_str!("../../../../../apps/hello-web/app.yaml"),
        include_str!("../../../../../apps/jupyterlab/app.yaml"),
        include_str!("../../../../../examples/hello/app.yaml"),
        include_str!("../../../../../crates/cli/templates/proxied/app.yaml"),
        include_str!("../../../../../crates/cli/templates/model-server/app.yaml"),
    ] {
        let document = tree(written.as_bytes(), Format::Yaml).unwrap();
        every_place_holds_its_value(written, Format::Yaml, &document);
        every_place_holds_its_value(&written.replace('\n', "\r\n"), Format::Yaml, &document);
    }
}

/// The key where its name is wrong, the value where that is, the surroundings where something is missing.
#[test]
fn a_fault_is_marked_where_it_is() {
    let yaml = "slug: x\nui:\n  pth: /lab # here\n  path:\nruntime_profile:\n  privileged: true\n  ports:\n    - {container: 8080}\n";
    let mark = |pointer: &str, code: &str| marked(yaml, Format::Yaml, pointer, code);
    assert_eq!(mark("/ui/pth", "unknown_field"), ("pth", true));
    assert_eq!(mark("/ui/pth", "invalid_value"), ("/lab", true));
    assert_eq!(mark("/ui/path", "wrong_type"), ("path", true), "nothing is written there");
    assert_eq!(mark("/ui", "ui_port_missing"), ("ui", true), "a block is shown by its name");
    assert_eq!(mark("/ui/extension_kind", "missing_field"), ("ui", false));
    assert_eq!(mark("/version", "missing_field"), ("slug", false), "the document begins there");
    assert_eq!(mark("/runtime_profile/privileged", "privileged_not_allowed"), ("privileged", true));
    assert_eq!(mark("/runtime_profile/ports/0/expose", "missing_field"), ("container", false));
    assert_eq!(mark("/runtime_profile/ports/0/container", "port_clash"), ("8080", true));
    let json = "{\n  \"slug\": \"x\",\n  \"a/b~c\": [1, {\"d\": null}]\n}";
    let mark = |pointer: &str, code: &str| marked(json, Format::Json, pointer, code);
    assert_eq!(mark("/slug", "invalid_slug"), ("\"x\"", true));
    assert_eq!(mark("/a~1b~0c", "unknown_field"), ("\"a/b~c\"", true));
    assert_eq!(mark("/a~1b~0c/1/d", "wrong_type"), ("null", true));
    assert_eq!(mark("/a~1b~0c/7/d", "missing_field"), ("\"a/b~c\"", false));
}

#[test]
fn a_text_that_cannot_be_read_is_marked_where_reading_ends() {
    let at = |text: &str, format: Format, pointer: &str, code: &str| {
        let (read, places) = tree_and_places(text.as_bytes(), format);
        assert_eq!(read.unwrap_err()[0].code, code);
        let place = position(text, places.mark(text, pointer, code).unwrap().span.start);
        (place.line, place.column)
    };
    assert_eq!(at("a: 1\nb: ä: c\n", Format::Yaml, "/", "malformed_document").0, 2);
    assert_eq!(at("{\n  \"a\": 1\n  \"b\": 2\n}", Format::Json, "/", "malformed_document"), (3, 3));
    assert_eq!(at("a: 1\nb: &x 2\n", Format::Yaml, "/b", "yaml_feature_not_allowed").0, 2);
    assert_eq!(at("x: 1\nui:\n  path: a\n  path: b\n", Format::Yaml, "/ui/path", "duplicate_key"), (4, 3));
    let no_text = b"a: \xff\n";
    let (_, places) = tree_and_places(no_text, Format::Yaml);
    assert_eq!(places.mark("a: ", "/", "malformed_document").unwrap().span, 3..3);
}

/// Lines and columns as editors count them.
#[test]
fn a_position_is_counted_in_characters_from_one() {
    let text = "a\näö: 你\n";
    let of = |found: &str| {
        let place = position(text, text.find(found).unwrap());
        (place.line, place.column)
    };
    assert_eq!((of("a"), of("ä"), of("你")), ((1, 1), (2, 1), (2, 5)));
    assert_eq!(position(text, 9999), Position { line: 3, column: 1 });
}

/// A key that would fill memory as a pointer costs its length once.
#[test]
fn places_of_a_deep_document_stay_small() {
    let deep =
        (0..30).map(|n| format!("{}{}:\n", " ".repeat(n), "k".repeat(90))).collect::<Vec<_>>().concat();
    let leaves = (0..2000).map(|n| format!("{}a{n}: 1\n", " ".repeat(30))).collect::<Vec<_>>().concat();
    let (read, places) = tree_and_places(format!("{deep}{leaves}").as_bytes(), Format::Yaml);
    read.unwrap();
    let pointer = format!("{}/a1999", format!("/{}", "k".repeat(90)).repeat(30));
    assert!(places.find(&pointer).is_some());
}
