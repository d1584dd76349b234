//! Renders from the command line: for the tests that hand the result to the real engines, and to rewrite golden files.
//!
//! `render ENGINE INPUT.json FOLDER` writes the files of one input; `render node INPUT.json FACTS.json FOLDER` the second
//! file of its Compose project; `render golden` those of every sample; `render chart-schema` what the chart's values are
//! held against.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use gpuaas_domain::launch::Wish;
use gpuaas_domain::launch::offline::{Devices, Offline};
use gpuaas_domain::manifest::{self, ExecutionEngine, Format};
use gpuaas_domain::render::compose::{NodeFacts, overlay};
use gpuaas_domain::render::{Refusal, RenderInput, helm, render};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

const ENGINES: [&str; 4] = ["node_agent", "docker_compose", "kubernetes", "helm"];
const USAGE: &str =
    "usage: render ENGINE INPUT.json FOLDER | node INPUT.json FACTS.json FOLDER | golden | chart-schema";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["golden"] => golden(),
        ["chart-schema"] => write(&root().join("../../apps/charts/workload/values.schema.json"), &schema()),
        ["node", input, facts, folder] => node(Path::new(input), Path::new(facts), Path::new(folder)),
        [engine, input, folder] => one(engine, Path::new(input), Path::new(folder)),
        _ => Err(USAGE.to_owned()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            #[expect(clippy::print_stderr, reason = "a program for the command line")]
            {
                eprintln!("{why}");
            }
            ExitCode::FAILURE
        }
    }
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn golden() -> Result<(), String> {
    let samples = root().join("tests/golden/render");
    for sample in std::fs::read_dir(&samples).map_err(|error| error.to_string())?.flatten() {
        for engine in ENGINES {
            let folder = sample.path().join(engine);
            let _ = std::fs::remove_dir_all(&folder);
            // A refusal is written down like a result.
            let _ = one(engine, &sample.path().join("input.json"), &folder);
        }
    }
    chart(&root().join("tests/golden/chart"))
}

/// What the profile around a chart gives to Helm, planned without a platform.
fn chart(sample: &Path) -> Result<(), String> {
    let text = std::fs::read(sample.join("app.yaml")).map_err(|error| error.to_string())?;
    let manifest = manifest::parse(&text, Format::Yaml).map_err(|faults| format!("{faults:?}"))?.manifest;
    let wish = Wish { values: read(&sample.join("values.json"))?, ..Wish::default() };
    let planned = Offline::new(&manifest, &Devices::of(&manifest))
        .plan(&wish)
        .map_err(|error| format!("{}: {:?}", error.message(), error.field_errors()))?;
    let identity = planned.input.identity.clone().as_preview();
    let rendered = render(ExecutionEngine::Helm, &RenderInput { identity, ..planned.input })
        .map_err(|refusal| told(&refusal))?;
    let folder = sample.join("helm");
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    rendered.files.iter().try_for_each(|file| write(&folder.join(&file.name), &file.bytes))
}

fn one(engine: &str, input: &Path, folder: &Path) -> Result<(), String> {
    let engine: ExecutionEngine =
        serde_json::from_value(json!(engine)).map_err(|_| format!("no such engine; one of {ENGINES:?}"))?;
    let input: RenderInput = read(input)?;
    let outcome = render(engine, &input);
    let (summary, files) = match &outcome {
        Ok(rendered) => {
            let summary = json!({
                "digest": rendered.digest, "gaps": rendered.gaps, "renderer_version": rendered.renderer_version,
            });
            (summary, rendered.files.as_slice())
        }
        Err(refusal) => (json!({ "refused": refusal.gaps }), [].as_slice()),
    };
    std::fs::create_dir_all(folder).map_err(|error| error.to_string())?;
    write(&folder.join("summary.json"), &pretty(&summary))?;
    for file in files {
        write(&folder.join(&file.name), &file.bytes)?;
    }
    outcome.map(drop).map_err(|refusal| told(&refusal))
}

fn node(input: &Path, facts: &Path, folder: &Path) -> Result<(), String> {
    let facts: NodeFacts = read(facts)?;
    let file = overlay(&read(input)?, &facts).map_err(|refusal| told(&refusal))?;
    write(&folder.join(&file.name), &file.bytes)
}

fn read<T: DeserializeOwned>(path: &Path) -> Result<T, String> {
    let text =
        std::fs::read_to_string(path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    serde_json::from_str(&text).map_err(|error| format!("{} is not readable: {error}", path.display()))
}

fn told(refusal: &Refusal) -> String {
    let lines: Vec<String> =
        refusal.refusing().map(|gap| format!("{}: {} ({})", gap.path, gap.message, gap.code)).collect();
    lines.join("\n")
}

fn schema() -> String {
    pretty(&helm::values_schema())
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    std::fs::write(path, text).map_err(|error| format!("cannot write {}: {error}", path.display()))
}

/// Keys sorted, whatever features of `serde_json` the build has.
fn pretty(value: &Value) -> String {
    fn sorted(value: &Value) -> Value {
        match value {
            Value::Object(map) => {
                let mut keys: Vec<&String> = map.keys().collect();
                keys.sort();
                keys.into_iter().map(|key| (key.clone(), sorted(&map[key]))).collect()
            }
            Value::Array(items) => items.iter().map(sorted).collect(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
        }
    }
    serde_json::to_string_pretty(&sorted(value)).expect("JSON can be written") + "\n"
}
