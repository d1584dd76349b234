//! What a profile costs: values judged, plans made, files rendered. All of it is pure code on one thread; ajv judges the same
//! texts by the same schema in the same run, in turns.

mod scene;

use std::hint::black_box;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use gpuaas_domain::launch::Wish;
use gpuaas_domain::launch::offline::{Devices, Offline};
use gpuaas_domain::launch_form::Form;
use gpuaas_domain::launch_form::resolution::{Around, Prepared};
use gpuaas_domain::manifest::{ExecutionEngine, Manifest};
use gpuaas_domain::render::{RenderInput, render};
use serde_json::{Map, Value, json};

use crate::daemon::over;
use crate::figures::{Goal, Report, float, median};
use crate::{ROUNDS, Result, progress};

const PROFILE: &str = include_str!("../../fuzz-targets/manifests/vllm-openai.yaml");
const COMPOSITION: &str = include_str!("../../../apps/mixed-model-observable/app.yaml");
/// Good and bad ones, with a dozen values each.
const TEXTS: &str = include_str!("profile/texts.json");
const SCRIPT: &str = include_str!("profile/ajv.js");
const ONE: &str = include_str!("../../domain/tests/golden/render/one/input.json");
const FOUR: &str = include_str!("../../domain/tests/golden/render/two-lanes/input.json");

pub(crate) fn measure(ajv: Option<&Path>, round: Duration, report: &mut Report) -> Result {
    progress("values of a profile");
    let manifest = scene::manifest(PROFILE)?;
    let offline = Offline::new(&manifest, &Devices::of(&manifest));
    values(&manifest, &scene::form(&offline, &manifest)?, ajv, round, report)?;
    progress("plans");
    plans("plan.one_component", &manifest, round, report)?;
    plans("plan.mixed-model-observable", &scene::manifest(COMPOSITION)?, round, report)?;
    progress("renderers");
    renders(round, report)
}

// --- values -----------------------------------------------------------------------------------------------------------

fn values(
    manifest: &Manifest,
    form: &Form,
    ajv: Option<&Path>,
    round: Duration,
    report: &mut Report,
) -> Result {
    let texts: Value = serde_json::from_str(TEXTS)?;
    let mut peer = ajv.map(|folder| Ajv::start(folder, &schema(form), &texts)).transpose()?;
    if peer.is_none() {
        report.note("ajv was not measured: it is not installed.");
    }
    let prepare = rates(round, || drop(black_box(Prepared::of(black_box(manifest)))));
    let prepared = Prepared::of(manifest);
    for (kind, good, goal) in [("good", true, Some(Goal::AtLeast(1.5, ""))), ("bad", false, None)] {
        let texts: Vec<&str> =
            texts[kind].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for number in 0..=ROUNDS {
            let rate = judged(&prepared, &texts, good, round)?;
            let other = peer.as_mut().map(|peer| peer.round(kind, good, round)).transpose()?;
            // The first round warms up.
            if number > 0 {
                ours.push(rate);
                theirs.extend(other);
            }
        }
        let name = if good { "profile.values" } else { "profile.refused" };
        if !theirs.is_empty() {
            report.add(format!("{name} over ajv"), &over(&ours, &theirs), "×", goal);
            report.add(format!("{name}, ajv"), &[median(&theirs)], "/s", None);
        }
        report.add(name, &[median(&ours)], "/s", None);
        if good {
            // What forms and plans do: read, judged, and kept for the expressions that follow.
            let mut number = texts.iter().cycle();
            let resolve = rates(round, || {
                let text = number.next().copied().unwrap_or_default();
                let given = serde_json::from_str::<Map<String, Value>>(black_box(text)).unwrap_or_default();
                drop(black_box(prepared.resolve(&given, Around::default())));
            });
            report.add("profile.resolved", &resolve, "/s", None);
        }
    }
    report.add("profile.prepare", &[1e6 / median(&prepare)], "µs", None);
    Ok(())
}

/// From text to values that a launch takes, or to all that is wrong with them.
fn judged(prepared: &Prepared, texts: &[&str], good: bool, round: Duration) -> Result<f64> {
    let (began, mut count) = (Instant::now(), 0_u64);
    while began.elapsed() < round {
        for text in texts.iter().cycle().take(64 * texts.len()) {
            let accepted = prepared.accept(black_box(text), Around::default());
            if accepted.is_ok() != good {
                return Err(format!("judged wrongly: {text} {accepted:?}").into());
            }
            let _ = black_box(accepted);
        }
        count += 64 * texts.len() as u64;
    }
    Ok(float(count) / began.elapsed().as_secs_f64())
}

/// What the form publishes, and the profile's one rule, which JSON Schema has other words for.
fn schema(form: &Form) -> Value {
    let mut schema = form.schema.clone();
    schema.insert(
        "if".to_owned(),
        json!({"properties": {"max_num_seqs": {"exclusiveMinimum": 1024}}, "required": ["max_num_seqs"]}),
    );
    schema.insert("then".to_owned(), json!({"properties": {"max_model_len": {"maximum": 32768}}}));
    Value::Object(schema)
}

/// ajv in a process of its own, which works only while it is asked.
struct Ajv {
    child: Child,
    asking: ChildStdin,
    answers: BufReader<ChildStdout>,
    _folder: tempfile::TempDir,
}

impl Drop for Ajv {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Ajv {
    fn start(package: &Path, schema: &Value, texts: &Value) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let (script, work) = (folder.path().join("ajv.js"), folder.path().join("work.json"));
        std::fs::write(&script, SCRIPT)?;
        std::fs::write(&work, json!({"schema": schema, "texts": texts}).to_string())?;
        let mut child = Command::new("node")
            .args([script.as_path(), package, &work])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("cannot start node: {error}"))?;
        let asking = child.stdin.take().ok_or("node has no input")?;
        let answers = BufReader::new(child.stdout.take().ok_or("node has no output")?);
        Ok(Self { child, asking, answers, _folder: folder })
    }

    fn round(&mut self, kind: &str, good: bool, round: Duration) -> Result<f64> {
        writeln!(self.asking, "{kind} {}", round.as_millis())?;
        let mut line = String::new();
        self.answers.read_line(&mut line)?;
        let mut words = line.split_whitespace().map(str::parse::<f64>);
        let (Some(Ok(judged)), Some(Ok(accepted)), Some(Ok(seconds))) =
            (words.next(), words.next(), words.next())
        else {
            return Err(format!("ajv answered {line:?}").into());
        };
        let wanted = if good { judged } else { 0.0 };
        if (accepted - wanted).abs() > 0.5 {
            return Err(format!("ajv accepted {accepted} of {judged} texts that are all {kind}").into());
        }
        Ok(judged / seconds)
    }
}

// --- plans and renderers ------------------------------------------------------------------------------------------------

/// How often a second, in each round.
fn rates(round: Duration, mut work: impl FnMut()) -> Vec<f64> {
    work();
    let once = |_| {
        let (began, mut count) = (Instant::now(), 0_u64);
        while began.elapsed() < round {
            work();
            count += 1;
        }
        float(count) / began.elapsed().as_secs_f64()
    };
    (0..ROUNDS).map(once).collect()
}

/// Plans of any manifest that can be planned on one allocation, with its defaults but for the model.
fn plans(name: &str, manifest: &Manifest, round: Duration, report: &mut Report) -> Result {
    let offline = Offline::new(manifest, &Devices::of(manifest));
    let mut wish = Wish::default();
    if manifest.parameters.contains_key("model") {
        wish.values.insert("model".to_owned(), json!("Qwen/Qwen3-32B"));
    }
    if manifest.addons.iter().any(|addon| addon.name == "dashboards") {
        wish.addons.push("dashboards".to_owned());
    }
    offline.plan(&wish).map_err(|error| format!("{name}: {error}"))?;
    let samples = rates(round, || {
        let plan = offline.plan(black_box(&wish));
        drop(black_box(plan));
    });
    report.add(name, &samples, "/s", None);
    Ok(())
}

fn renders(round: Duration, report: &mut Report) -> Result {
    for (name, engine, input) in [
        ("container, 1 component", ExecutionEngine::NodeAgent, ONE),
        ("compose, 4 components", ExecutionEngine::DockerCompose, FOUR),
        ("kubernetes, 4 components", ExecutionEngine::Kubernetes, FOUR),
        ("helm, 4 components", ExecutionEngine::Helm, FOUR),
    ] {
        let input: RenderInput = serde_json::from_str(input)?;
        render(engine, &input).map_err(|refusal| format!("{name}: {refusal:?}"))?;
        let samples = rates(round, || drop(black_box(render(engine, black_box(&input)))));
        let micros: Vec<f64> = samples.iter().map(|rate| 1e6 / rate).collect();
        report.add(format!("render.{name}"), &micros, "µs", None);
    }
    Ok(())
}
