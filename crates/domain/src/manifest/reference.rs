//! The reference page of the manifest, made of the published schema: what an editor shows and what a page says cannot differ.
//! Words that belong to no field stand in `reference.md` beside this file.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::Value;

use super::examples::{self, EXAMPLES, WHOLE};
use super::schema::schema;

const WORDS: &str = include_str!("reference.md");
/// Where the blocks stand among the words.
const HERE: &str = "<!-- blocks -->\n";
/// More places than these would not help to find a block.
const MAX_PLACES: usize = 4;
/// Longer lists of values explain themselves.
const MAX_EXPLAINED: usize = 12;

/// `docs/reference/manifest.md`.
pub fn reference() -> String {
    let (before, after) = WORDS.split_once(HERE).expect("reference.md has a place for the blocks");
    let mut page = before.to_owned();
    let places = places();
    for name in names() {
        let of = if name == WHOLE { schema() } else { &schema()["$defs"][name] };
        block(&mut page, name, of, places.get(name).map_or(&[][..], Vec::as_slice));
    }
    texts(&mut page);
    page.push_str(after);
    page
}

/// Every block once, in the order of the examples.
fn names() -> Vec<&'static str> {
    let mut names: Vec<&str> = Vec::new();
    for example in EXAMPLES.iter() {
        if !names.contains(&example.of) {
            names.push(example.of);
        }
    }
    names
}

fn push(page: &mut String, text: std::fmt::Arguments<'_>) {
    page.write_fmt(text).expect("writing to a String cannot fail");
}

fn block(page: &mut String, name: &str, of: &Value, places: &[String]) {
    push(page, format_args!("\n### {name}\n\n{}", words(of)));
    if !places.is_empty() {
        let shown: Vec<String> = places.iter().take(MAX_PLACES).map(|place| format!("`{place}`")).collect();
        let more = if places.len() > MAX_PLACES { ", …" } else { "" };
        push(page, format_args!(" At {}{more}.", shown.join(", ")));
    }
    page.push('\n');
    if let Some(branches) = of["oneOf"].as_array() {
        for branch in branches {
            let (tag, kind) = tag_of(branch);
            push(page, format_args!("\n`{tag}: {kind}`: {}\n", words(branch)));
            fields(page, branch, Some(tag));
        }
    } else {
        fields(page, of, None);
    }
    for example in examples::of(name) {
        push(page, format_args!("\n```yaml\n{}```\n", example.yaml));
    }
}

/// The field by which a branch is chosen, and its value there.
fn tag_of(branch: &Value) -> (&str, &str) {
    let mut fields = branch["properties"].as_object().into_iter().flatten();
    fields.find_map(|(name, field)| Some((name.as_str(), field["const"].as_str()?))).unwrap_or_default()
}

/// Needed ones first, then by name; the order in memory is that of whichever map the build has.
fn sorted(of: &Value) -> Vec<(&String, &Value, bool)> {
    let needed =
        |name: &String| of["required"].as_array().is_some_and(|all| all.iter().any(|one| one == name));
    let all = of["properties"].as_object().into_iter().flatten();
    let mut all: Vec<_> = all.map(|(name, field)| (name, field, needed(name))).collect();
    all.sort_by(|a, b| b.2.cmp(&a.2).then(a.0.cmp(b.0)));
    all
}

fn fields(page: &mut String, of: &Value, without: Option<&str>) {
    let all = sorted(of);
    let all: Vec<_> = all.into_iter().filter(|(name, ..)| Some(name.as_str()) != without).collect();
    if all.is_empty() {
        return;
    }
    page.push_str("\n| Field | Type | Default | Bounds | Meaning |\n|---|---|---|---|---|\n");
    for (name, field, needed) in &all {
        let default = match field.get("default") {
            _ if *needed => "needed".to_owned(),
            Some(default) if !is_empty(default) => format!("`{default}`"),
            Some(_) | None => String::new(),
        };
        let row = [format!("`{name}`"), kind(field), default, bounds(field), words(field)];
        let row = row.map(|cell| cell.replace('|', "\\|").replace('\n', " "));
        push(page, format_args!("| {} |\n", row.join(" | ")));
    }
    for (name, field, _) in &all {
        values(page, name, field);
    }
}

/// What is empty unless said is no default worth a word.
fn is_empty(default: &Value) -> bool {
    match default {
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.values().all(is_empty),
        Value::Null => true,
        Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

fn words(of: &Value) -> String {
    of["description"].as_str().unwrap_or_default().replace('\n', " ")
}

/// The type that a reference leads to, with its name.
fn resolve(field: &Value) -> (Option<&str>, &Value) {
    match field["$ref"].as_str().and_then(|target| target.strip_prefix("#/$defs/")) {
        Some(name) => (Some(name), &schema()["$defs"][name]),
        None => (None, field),
    }
}

/// The values to choose from, each with its meaning where it has one.
fn choices(of: &Value) -> Option<Vec<(&str, &str)>> {
    if let Some(values) = of["enum"].as_array() {
        return Some(values.iter().filter_map(Value::as_str).map(|value| (value, "")).collect());
    }
    let branches = of["oneOf"].as_array()?;
    let mut all = Vec::new();
    for branch in branches {
        if let Some(value) = branch["const"].as_str() {
            all.push((value, branch["description"].as_str().unwrap_or_default()));
        } else {
            all.extend(choices(branch)?);
        }
    }
    Some(all)
}

/// In words, with a link where there is more to say.
fn kind(field: &Value) -> String {
    let (name, of) = resolve(field);
    if let Some(choices) = choices(of) {
        let listed: Vec<String> = choices.iter().map(|(value, _)| format!("`{value}`")).collect();
        return listed.join(", ");
    }
    if let Some(name) = name {
        return match name.trim_end_matches(|c: char| c.is_ascii_digit()) {
            "Mib" => "MiB".to_owned(),
            "Vcpu" => "cores".to_owned(),
            "Range" => format!("[Range](#range) of {}", kind(&of["properties"]["default"])),
            plain => format!("[{plain}](#{})", plain.to_ascii_lowercase()),
        };
    }
    match of["type"].as_str() {
        Some("string") => match of["format"].as_str() {
            Some(format) => format!("text: [{format}](#kinds-of-text)"),
            None => "text".to_owned(),
        },
        Some("integer") => "whole number".to_owned(),
        Some("number") => "number".to_owned(),
        Some("boolean") => "true or false".to_owned(),
        Some("array") => match of.get("items").filter(|items| items.is_object()) {
            Some(items) => format!("list of {}", kind(items)),
            None => "list of any values".to_owned(),
        },
        Some("object") => match of.get("additionalProperties").filter(|each| each.is_object()) {
            Some(each) => format!("by name: {}", kind(each)),
            None => "by name: any value".to_owned(),
        },
        Some(_) | None => "any value".to_owned(),
    }
}

fn bounds(field: &Value) -> String {
    let (_, of) = resolve(field);
    let mut all = Vec::new();
    if let Some(entries) = between(of["minItems"].as_u64(), of["maxItems"].as_u64()) {
        all.push(format!("{entries} entries"));
        all.extend(numbers(&of["items"]).map(|each| format!("each {each}")));
    }
    all.extend(numbers(of));
    all.join("; ")
}

fn numbers(of: &Value) -> Option<String> {
    let widest = match of["format"].as_str() {
        Some("uint16") => Some(u64::from(u16::MAX)),
        _ => None,
    };
    let least = of["minimum"].as_u64().filter(|least| *least > 0 || of["maximum"].is_number());
    between(least, of["maximum"].as_u64().or(widest))
}

fn between(least: Option<u64>, most: Option<u64>) -> Option<String> {
    match (least, most) {
        (Some(least), Some(most)) => Some(format!("{least} to {most}")),
        (Some(least), None) => Some(format!("{least} or more")),
        (None, Some(most)) => Some(format!("at most {most}")),
        (None, None) => None,
    }
}

/// What the values of a field mean, where that is told.
fn values(page: &mut String, name: &str, field: &Value) {
    let (_, of) = resolve(field.get("items").unwrap_or(field));
    let told = choices(of)
        .filter(|all| all.len() <= MAX_EXPLAINED && all.iter().all(|(_, about)| !about.is_empty()));
    let Some(told) = told else { return };
    push(page, format_args!("\nValues of `{name}`:\n\n"));
    for (value, about) in told {
        push(page, format_args!("- `{value}`: {}\n", about.replace('\n', " ")));
    }
}

/// Where each block stands in a manifest: `[]` is an entry of a list, `*` a name that the author gives.
fn places() -> BTreeMap<String, Vec<String>> {
    fn visit(field: &Value, at: &str, found: &mut BTreeMap<String, Vec<String>>) {
        let (name, of) = resolve(field);
        if let Some(name) = name {
            let plain = name.trim_end_matches(|c: char| c.is_ascii_digit());
            found.entry(plain.to_owned()).or_default().push(at.to_owned());
        }
        let step = |name: &str| if at.is_empty() { name.to_owned() } else { format!("{at}.{name}") };
        for branch in of["oneOf"].as_array().into_iter().flatten().chain([of]) {
            for (name, field, _) in sorted(branch) {
                visit(field, &step(name), found);
            }
        }
        if of["items"].is_object() {
            visit(&of["items"], &format!("{at}[]"), found);
        }
        if of["additionalProperties"].is_object() {
            visit(&of["additionalProperties"], &step("*"), found);
        }
    }
    let mut found = BTreeMap::new();
    visit(schema(), "", &mut found);
    found
}

/// The formats that stand anywhere in the schema, with their bounds and patterns.
fn texts(page: &mut String) {
    fn visit<'a>(of: &'a Value, found: &mut BTreeMap<&'a str, &'a Value>) {
        match of {
            Value::Object(members) => {
                if let (Some(format), "string") =
                    (of["format"].as_str(), of["type"].as_str().unwrap_or_default())
                {
                    found.insert(format, of);
                }
                let inner = members.iter().filter(|(key, _)| !matches!(key.as_str(), "examples" | "default"));
                inner.for_each(|(_, value)| visit(value, found));
            }
            Value::Array(items) => items.iter().for_each(|item| visit(item, found)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    let mut found = BTreeMap::new();
    visit(schema(), &mut found);
    page.push_str("\n## Kinds of text\n\nThe platform's own check may ask for more than the pattern does; what it says then names the rule.\n\n");
    page.push_str("| Kind | At most | Pattern |\n|---|---|---|\n");
    for (format, of) in found {
        let pattern = of["pattern"].as_str().unwrap_or_default().replace('|', "\\|");
        push(page, format_args!("| `{format}` | {} | `{pattern}` |\n", of["maxLength"]));
    }
}
