//! The curated apps of this project: every manifest is good, every file of values is a launch, and what has no image is not offered.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::super::*;
use super::{image, registries, sample};
use crate::FieldError;
use crate::launch::Planned;
use crate::launch::offline::{Devices, Offline};
use crate::preset::PresetChoices;
use crate::render::render;

/// How the digest of an image begins that nobody has built.
const TEST_DIGEST: &str = "sha256:7e577e577e57";
fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../apps")
}

/// Every folder with a manifest, by name.
fn apps() -> Vec<String> {
    let entries = std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap());
    let mut names: Vec<String> = entries
        .filter(|entry| entry.path().join("app.yaml").is_file())
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn text(path: &str) -> String {
    std::fs::read_to_string(folder().join(path)).unwrap_or_else(|error| panic!("apps/{path}: {error}"))
}

fn yaml(path: &str) -> Value {
    tree(text(path).as_bytes(), Format::Yaml).unwrap_or_else(|faults| panic!("apps/{path}: {faults:?}"))
}

/// The manifest as publishing completes it, with a digest for every image that is to be built.
fn app(name: &str) -> Document {
    fn complete(value: &mut Value) {
        match value {
            Value::Object(map) if map.len() == 1 && map.contains_key("build") => {
                let folder = map["build"].as_str().unwrap().rsplit('/').next().unwrap();
                *value = json!(image(folder));
            }
            Value::Object(map) => map.values_mut().for_each(complete),
            Value::Array(items) => items.iter_mut().for_each(complete),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    let mut document = yaml(&format!("{name}/app.yaml"));
    complete(&mut document);
    check(document.to_string().as_bytes(), Format::Json, &registries())
        .unwrap_or_else(|faults| panic!("apps/{name}/app.yaml: {faults:#?}"))
}

/// A launch of the app with these values, as somebody without a platform plans it.
fn planned(manifest: &Manifest, body: &Value) -> crate::Result<Planned> {
    let choices: PresetChoices = serde_json::from_value(body.clone()).expect("the body of a plan");
    Offline::new(manifest, &Devices::of(manifest)).plan(&choices.into())
}

fn faults_of(manifest: &Manifest, body: &Value) -> Vec<FieldError> {
    planned(manifest, body).err().map(|error| error.field_errors().to_vec()).unwrap_or_default()
}

/// Every file of values of an app: its name and what stands in it.
fn values_of(name: &str) -> Vec<(String, Value)> {
    let files = std::fs::read_dir(folder().join(name).join("values")).unwrap();
    let mut files: Vec<String> = files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    files.sort();
    files
        .into_iter()
        .map(|file| {
            let body = yaml(&format!("{name}/values/{file}"));
            (file.trim_end_matches(".yaml").to_owned(), body)
        })
        .collect()
}

/// C-01, C-10, C-14: nothing to object to, and nothing to advise either.
#[test]
fn every_app_is_a_good_manifest() {
    for name in apps() {
        let Document { manifest, .. } = app(&name);
        assert_eq!(manifest.slug.as_str(), name, "an app is called like its folder");
        assert_eq!(advise(&manifest), [], "apps/{name}/app.yaml");
        assert!(text(&format!("{name}/README.md")).contains("## "), "apps/{name} tells what it is");
    }
}

/// B-01, U-07: what a launch of each app may choose, in several ways.
#[test]
fn every_file_of_values_is_a_launch() {
    for name in apps() {
        let Document { manifest, .. } = app(&name);
        let files = values_of(&name);
        assert!(files.len() > 1 && files.iter().any(|(file, _)| file == "default"), "apps/{name}/values");
        for (file, body) in files {
            let planned = planned(&manifest, &body);
            assert!(planned.is_ok(), "apps/{name}/values/{file}.yaml: {planned:?}");
        }
    }
}

/// A-08, B-05, C-02, C-03, C-04, C-05, C-06, C-18, D-01, D-10, D-11: every app is rendered for each engine that it lists, to
/// the bytes in its folder. `GPUAAS_WRITE_GOLDEN=1` writes them.
#[test]
#[expect(clippy::disallowed_methods, reason = "who writes golden files says so")]
fn every_app_renders_on_every_engine_it_lists() {
    let write = std::env::var_os("GPUAAS_WRITE_GOLDEN").is_some();
    for name in apps() {
        let Document { manifest, .. } = app(&name);
        let mut expected = BTreeSet::new();
        for (file, body) in values_of(&name) {
            let mut input = planned(&manifest, &body).unwrap().input;
            input.identity = input.identity.as_preview();
            for engine in manifest.expand().engines {
                let rendered = render(engine, &input)
                    .unwrap_or_else(|refusal| panic!("{name}, {file}, {}: {refusal:?}", engine.name()));
                let place = folder().join(&name).join("golden").join(&file).join(engine.name());
                for made in &rendered.files {
                    let path = place.join(&made.name);
                    if write {
                        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                        std::fs::write(&path, &made.bytes).unwrap();
                    }
                    let golden = std::fs::read_to_string(&path).unwrap_or_default();
                    assert!(golden == made.bytes, "{} is not what is rendered now", path.display());
                    expected.insert(path);
                }
            }
        }
        let found = files_below(&folder().join(&name).join("golden"));
        assert_eq!(found, expected, "apps/{name}/golden holds what is rendered and nothing else");
    }
}

fn files_below(place: &Path) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    for entry in std::fs::read_dir(place).into_iter().flatten().map(|entry| entry.unwrap().path()) {
        if entry.is_dir() {
            found.extend(files_below(&entry));
        } else {
            found.insert(entry);
        }
    }
    found
}

/// an app without an image says so by its digest, and nobody finds it in a fresh catalog.
#[test]
fn what_has_no_image_is_not_offered() {
    let run = include_str!("../../../../../run");
    let list = run.split_once("apps=(").unwrap().1.split_once(')').unwrap().0;
    let offered: Vec<&str> = list.split_whitespace().collect();
    for name in apps() {
        let source = text(&format!("{name}/app.yaml"));
        let builds = source.contains("{build: ");
        assert_eq!(source.contains(TEST_DIGEST), !builds, "apps/{name}: built here, or marked as not");
        assert_eq!(source.contains("# TEST DIGEST"), !builds, "apps/{name}: people see the mark");
        assert!(builds || !offered.contains(&name.as_str()), "./run publishes {name}, which has no image");
    }
    assert!(offered.contains(&"hello-web") && offered.contains(&"jupyterlab"), "{offered:?}");
}

/// B-08: packages are data of a strict form, and a bad one is named by its place.
#[test]
fn packages_of_a_notebook_are_names_with_versions() {
    for name in ["jupyterlab", "notebook-workspace"] {
        let Document { manifest, .. } = app(name);
        let bad =
            ["--index-url=https://a.example", "git+https://a.example/b", "./local", "a;id", "a b", "$(id)"];
        for specifier in bad {
            let body = json!({ "values": { "packages": ["numpy", specifier] } });
            let faults = faults_of(&manifest, &body);
            let places: Vec<(&str, &str)> =
                faults.iter().map(|fault| (fault.path.as_str(), fault.code)).collect();
            assert_eq!(places, [("/values/packages/1", "invalid_value")], "{name}: {specifier}");
        }
        let command = &manifest.runtime_profile.as_ref().unwrap().command;
        let end: Vec<&str> = command.iter().map(String::as_str).skip(command.len() - 2).collect();
        assert_eq!(end, ["--", "${params.packages}"], "{name}: one argument each, behind the options");
    }
}

/// the app is the sample of the papers, with what a launch needs beside it.
#[test]
fn jupyter_cuda_dev_says_what_the_sample_says() {
    let (app, sample) = (app("jupyter-cuda-dev"), sample());
    for pointer in [
        "/slug",
        "/display_name",
        "/version",
        "/artifact_kind",
        "/compatibility",
        "/runtime_profile/kind",
        "/runtime_profile/command",
        "/runtime_profile/env",
        "/runtime_profile/resources",
        "/ui",
        "/metering",
    ] {
        assert_eq!(app.value().pointer(pointer), sample.pointer(pointer), "{pointer}");
    }
}

/// Ports that somebody outside the instance reaches, as component and port.
fn reachable(manifest: &Manifest) -> Vec<(String, u16)> {
    let components = manifest.expand().components;
    let ports = components.iter().flat_map(|one| one.ports.iter().map(move |port| (one, port)));
    let open = ports.filter(|(_, port)| port.expose != Expose::Internal);
    open.map(|(component, port)| (component.name.clone(), port.container)).collect()
}

/// C-02, C-05.
#[test]
fn the_basic_model_server_is_one_container_with_one_endpoint() {
    let Document { manifest, .. } = app("model-server-basic");
    let profile = manifest.expand();
    assert_eq!(profile.components.len(), 1);
    assert_eq!((profile.gpu_count.min, profile.gpu_count.max), (Some(1), Some(8)));
    assert_eq!(manifest.outputs.as_ref().unwrap().endpoints.len(), 1);
    assert_eq!(reachable(&manifest), [("main".to_owned(), 8000)]);
}

/// C-03, C-05.
#[test]
fn the_worker_is_reached_through_its_gateway_only() {
    for name in ["model-server-proxied", "inference-gateway"] {
        assert_eq!(reachable(&app(name).manifest), [("gateway".to_owned(), 8080)], "{name}");
    }
}

/// C-04, C-06, C-07, C-08, C-09: lanes of their own, add-ons that are off, dashboards that come with them.
#[test]
fn lanes_and_add_ons_of_the_observable_profile() {
    let Document { manifest, .. } = app("mixed-model-observable");
    assert!(manifest.lanes().len() > 1);
    for component in manifest.components.iter().filter(|one| one.lane.is_some()) {
        assert!(component.gpu_count.is_some() && component.tensor_parallel.is_some(), "{}", component.name);
        assert!(component.readiness.is_some() && component.liveness.is_some(), "{}", component.name);
    }
    let kinds: Vec<AddonKind> = manifest.addons.iter().map(|addon| addon.kind).collect();
    for kind in [
        AddonKind::Metrics,
        AddonKind::Dashboards,
        AddonKind::Logs,
        AddonKind::LogCollection,
        AddonKind::Alerts,
    ] {
        assert!(kinds.contains(&kind), "{kind:?}");
    }
    // Whatever observes belongs to an add-on, so that nothing of it runs unless it is chosen.
    let owned: Vec<&String> = manifest.addons.iter().flat_map(|addon| &addon.components).collect();
    for component in &manifest.components {
        let observes = component.class == ComponentClass::Addon;
        assert_eq!(owned.contains(&&component.name), observes, "{}", component.name);
    }
    let dashboards = &manifest.outputs.as_ref().unwrap().dashboards;
    assert!(dashboards.iter().all(|dashboard| dashboard.addon.is_some()) && dashboards.len() > 2);
}

/// C-18, D-11: what each app lists is what the platform renders it for, the node's own for one container.
#[test]
fn engines_are_those_that_the_platform_renders_for() {
    use ExecutionEngine::{DockerCompose, Helm, Kubernetes, NodeAgent};
    for name in apps() {
        let Document { manifest, .. } = app(&name);
        let wanted = if manifest.runtime_profile.is_some() {
            vec![NodeAgent]
        } else {
            vec![DockerCompose, Kubernetes, Helm]
        };
        assert_eq!(manifest.expand().engines, wanted, "{name}");
    }
}

/// C-11: the renderer takes every parameter of its app, and no launch is refused by it that the form accepts.
#[test]
fn the_renderer_takes_the_parameters_of_vllm() {
    let Document { manifest, .. } = app("vllm-openai");
    assert_eq!(manifest.renderer.as_deref(), Some(crate::render::vllm_openai::NAME));
    assert!(manifest.components.iter().any(|one| one.name == crate::render::vllm_openai::COMPONENT));
    let body = yaml("vllm-openai/values/two-gpus.yaml");
    let chosen = body["values"].as_object().unwrap();
    assert_eq!(chosen.len(), manifest.parameters.len(), "the file chooses all there is");
    assert_eq!(crate::render::vllm_openai::read(chosen).map(|read| read.tensor_parallel), Ok(2));
    let odd = json!({ "values": { "tensor_parallel": 2 }, "resources": { "gpu_count": 4 } });
    let faults = faults_of(&manifest, &odd);
    assert_eq!(
        faults.iter().map(|fault| fault.path.as_str()).collect::<Vec<_>>(),
        ["/values/tensor_parallel"]
    );
}
