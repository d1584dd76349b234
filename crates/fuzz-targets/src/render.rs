use std::sync::LazyLock;

use gpuaas_domain::manifest::{self, ExecutionEngine, Format};
use gpuaas_domain::render::compose::{NodeFacts, overlay};
use gpuaas_domain::render::{RenderInput, Rendered, Severity, render, vllm_openai};
use serde_json::{Map, Value, json};

const ENGINES: [ExecutionEngine; 5] = [
    ExecutionEngine::NodeAgent,
    ExecutionEngine::DockerCompose,
    ExecutionEngine::Kubernetes,
    ExecutionEngine::Helm,
    ExecutionEngine::Dstack,
];

static SAMPLES: LazyLock<Vec<Value>> = LazyLock::new(|| {
    let texts = [
        include_str!("../../domain/tests/golden/render/one/input.json"),
        include_str!("../../domain/tests/golden/render/gateway-worker/input.json"),
        include_str!("../../domain/tests/golden/render/two-lanes/input.json"),
    ];
    let mut samples: Vec<Value> =
        texts.iter().map(|text| serde_json::from_str(text).expect("a sample is JSON")).collect();
    let mut chart = samples[0].clone();
    chart["components"] = json!([]);
    chart["helm"] = json!({"chart": "ray-cluster", "version": "1.7.0", "values": {"head": {"args": ["x"]}}});
    samples.push(chart);
    samples
});

pub(crate) fn run(bytes: &[u8]) {
    // Either an input as it would be stored, or edits of a sample: mutated text alone seldom is an input.
    let tree = match bytes.first() {
        Some(b'{') => match serde_json::from_slice(bytes) {
            Ok(tree) => tree,
            Err(_) => return,
        },
        Some(_) => edited(bytes),
        None => return,
    };
    let Ok(input) = serde_json::from_value::<RenderInput>(tree) else { return };
    for engine in ENGINES {
        check(engine, &input);
    }
    let facts = NodeFacts { subnet: "10.9.0.0/28".to_owned(), ..NodeFacts::default() };
    if let Ok(file) = overlay(&input, &facts) {
        read(&file.bytes);
    }
    let values: Map<String, Value> = input.helm.map(|release| release.values).unwrap_or_default();
    let _ = vllm_openai::read(&values);
}

fn check(engine: ExecutionEngine, input: &RenderInput) {
    let once = render(engine, input);
    assert_eq!(once, render(engine, &input.clone()), "equal input gives equal bytes");
    match once {
        Ok(rendered) => {
            assert!(rendered.gaps.iter().all(|gap| gap.severity == Severity::Note));
            let trees = trees(&rendered);
            if let (ExecutionEngine::Helm, Some(release)) = (engine, &input.helm) {
                assert_eq!(trees[1], Value::Object(release.values.clone()), "values arrive as they were");
            }
        }
        Err(refusal) => {
            assert!(refusal.refusing().next().is_some(), "a refusal says why");
            assert!(refusal.gaps.iter().all(|gap| gap.path.starts_with('/')));
        }
    }
}

fn trees(rendered: &Rendered) -> Vec<Value> {
    let tree = |media_type: &str, bytes: &str| match media_type {
        "application/json" => serde_json::from_str(bytes).expect("a JSON file is JSON"),
        _ => read(bytes),
    };
    rendered.files.iter().map(|file| tree(&file.media_type, &file.bytes)).collect()
}

/// The tree of a file, on which two parsers that share no line of code agree.
fn read(text: &str) -> Value {
    let other: Value = yaml_serde::from_str(text).unwrap_or_else(|why| panic!("{why} in\n{text}"));
    let own =
        manifest::tree(text.as_bytes(), Format::Yaml).unwrap_or_else(|why| panic!("{why:?} in\n{text}"));
    assert_eq!(own, other, "two readers of\n{text}");
    own
}

/// A sample, and edits of it: which value, what becomes of it, how many bytes it is made of, and these.
fn edited(bytes: &[u8]) -> Value {
    let mut tree = SAMPLES[usize::from(bytes[0]) % SAMPLES.len()].clone();
    let mut rest = &bytes[1..];
    while let [at_high, at_low, kind, length, more @ ..] = rest {
        let (text, after) = more.split_at(usize::from(*length).min(more.len()));
        rest = after;
        let mut at = usize::from(u16::from_be_bytes([*at_high, *at_low])) % count(&tree);
        if let Some(place) = nth(&mut tree, &mut at) {
            edit(place, *kind, text);
        }
    }
    tree
}

fn edit(place: &mut Value, kind: u8, bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes).into_owned();
    let number = bytes.iter().take(8).fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte));
    match (kind % 8, &mut *place) {
        (0, _) => *place = Value::Null,
        (1, _) => *place = Value::from(number),
        (2, _) => *place = serde_json::from_slice(bytes).unwrap_or(Value::Bool(true)),
        // One entry more, like the last.
        (3, Value::Array(items)) => items.extend(items.last().cloned()),
        (4, Value::Array(items)) => items.truncate(bytes.len()),
        (4, Value::Object(map)) => {
            map.remove(&text);
        }
        (5, Value::Object(map)) => {
            map.insert(text, json!({}));
        }
        (6, Value::String(word)) => word.push_str(&text),
        _ => *place = Value::from(text),
    }
}

/// How many values a tree has, itself included.
fn count(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(count).sum(),
        Value::Object(map) => map.values().map(count).sum::<usize>(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

fn nth<'v>(value: &'v mut Value, at: &mut usize) -> Option<&'v mut Value> {
    if *at == 0 {
        return Some(value);
    }
    *at -= 1;
    match value {
        Value::Array(items) => items.iter_mut().find_map(|item| nth(item, at)),
        Value::Object(map) => map.values_mut().find_map(|item| nth(item, at)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}
