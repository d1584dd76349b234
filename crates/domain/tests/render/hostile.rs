//! Every text of an input, one after the other, replaced by every text of the corpus: it arrives equal or is refused.

use gpuaas_domain::manifest::ExecutionEngine;
use gpuaas_domain::render::{RenderInput, render};
use serde_json::Value;

use super::corpus::corpus;
use super::readers::{texts, trees};
use super::sample_tree;

/// A word that every field of free text and every name takes, or else a path.
fn marker_of(pointer: &str) -> &'static str {
    if pointer.ends_with("/path") { "/marker" } else { "marker" }
}

fn text_pointers(value: &Value, at: &str, found: &mut Vec<String>) {
    match value {
        Value::String(_) => found.push(at.to_owned()),
        Value::Array(items) => {
            items
                .iter()
                .enumerate()
                .for_each(|(index, item)| text_pointers(item, &format!("{at}/{index}"), found));
        }
        Value::Object(map) => {
            map.iter().for_each(|(key, value)| text_pointers(value, &format!("{at}/{key}"), found));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The trees of what is rendered; none where the text is refused, which has to name a place.
fn outcome(engine: ExecutionEngine, tree: &Value, pointer: &str, text: &str) -> Option<Vec<Value>> {
    let mut tree = tree.clone();
    *tree.pointer_mut(pointer).unwrap() = Value::from(text);
    let input: RenderInput = serde_json::from_value(tree).ok()?;
    match render(engine, &input) {
        Ok(rendered) => Some(trees(&rendered)),
        Err(refusal) => {
            assert!(refusal.refusing().all(|gap| gap.path.starts_with('/')), "{refusal:?}");
            assert!(refusal.refusing().next().is_some());
            None
        }
    }
}

/// Names are checked and may be changed where an engine has rules of its own; other texts are given on as they are.
fn is_free(pointer: &str) -> bool {
    ["/command/", "/value", "/check/path"].iter().any(|part| pointer.contains(part))
}

/// How the engine's reader reads a text that stands under these keys.
fn escaped(engine: ExecutionEngine, path: &[&str], text: &str) -> String {
    let read_again = match engine {
        ExecutionEngine::DockerCompose => true,
        ExecutionEngine::Kubernetes | ExecutionEngine::Helm => {
            path.ends_with(&["args"])
                || path.ends_with(&["env", "value"])
                || path.ends_with(&["exec", "command"])
        }
        ExecutionEngine::NodeAgent | ExecutionEngine::Dstack => false,
    };
    if read_again { text.replace('$', "$$") } else { text.to_owned() }
}

fn all_texts(trees: &[Value]) -> Vec<(Vec<&str>, &str)> {
    let mut all = Vec::new();
    for tree in trees {
        texts(tree, &mut Vec::new(), &mut |path, text| all.push((path.to_vec(), text)));
    }
    all
}

/// B-05, D-01, F02, F03: newlines, `$`, anchors, tags, words of YAML, hidden characters: two readers see the text as it was, in its
/// own field, and nothing else has moved.
#[test]
fn a_hostile_text_stays_in_its_field() {
    let corpus = corpus();
    let (mut arrived, mut refused) = (0, 0);
    // Each engine once, on a sample that it takes and that has the most fields for it.
    for (name, engine) in [
        ("one", ExecutionEngine::NodeAgent),
        ("gateway-worker", ExecutionEngine::DockerCompose),
        ("gateway-worker", ExecutionEngine::Kubernetes),
        ("one", ExecutionEngine::Helm),
    ] {
        let tree = sample_tree(name);
        let mut pointers = Vec::new();
        text_pointers(&tree, "", &mut pointers);
        // The last of a list stands for the others.
        pointers.retain(|pointer| {
            let next =
                pointer.rsplit_once('/').and_then(|(list, index)| Some((list, index.parse::<usize>().ok()?)));
            next.is_none_or(|(list, index)| tree.pointer(&format!("{list}/{}", index + 1)).is_none())
        });
        for pointer in &pointers {
            let marker = marker_of(pointer);
            let marked = outcome(engine, &tree, pointer, marker);
            for text in &corpus {
                let Some(hostile) = outcome(engine, &tree, pointer, text) else {
                    refused += 1;
                    continue;
                };
                arrived += 1;
                if !is_free(pointer) {
                    continue;
                }
                let marked = marked.as_ref().unwrap_or_else(|| panic!("{pointer} takes a word"));
                let (before, after) = (all_texts(marked), all_texts(&hostile));
                assert_eq!(before.len(), after.len(), "{pointer} {text:?}");
                for ((path, before), (same_path, after)) in before.into_iter().zip(after) {
                    assert_eq!(path, same_path, "{pointer} {text:?}");
                    let expected = before.replace(marker, &escaped(engine, &path, text));
                    assert_eq!(after, expected, "{pointer} at {path:?}");
                }
            }
        }
    }
    assert!(arrived > 1_500 && refused > 5_000, "{arrived} arrived, {refused} refused");
}

/// A free text is never refused but for NUL and its length.
#[test]
fn free_texts_are_taken_as_they_are() {
    let tree = sample_tree("one");
    for text in corpus() {
        let taken =
            outcome(ExecutionEngine::DockerCompose, &tree, "/components/0/env/0/value", &text).is_some();
        assert_eq!(taken, !text.contains('\0'), "{text:?}");
    }
}
