use serde_json::{Value, json};

use super::super::*;
use super::{composition, faults, image, registries, sample, with, without};

/// E-08, E-21.
#[test]
fn the_sample_registers_unchanged() {
    let document = check(sample().to_string().as_bytes(), Format::Json, &registries()).unwrap();
    assert_eq!(*document.value(), sample());
    assert_eq!(serde_json::from_str::<Value>(&document.canonical()).unwrap(), sample());

    assert_eq!(Document::from_stored(sample()).unwrap(), document);

    let manifest = &document.manifest;
    assert_eq!(manifest.slug.as_str(), "jupyter-cuda-dev");
    assert_eq!(manifest.version.as_str(), "1.4.2");
    assert_eq!(manifest.compatibility.min_gpu_count, 1);
    assert!(!manifest.compatibility.requires_exclusive_node);
    let runtime = manifest.runtime_profile.as_ref().unwrap();
    assert_eq!(runtime.command, ["jupyter", "lab", "--ip=0.0.0.0", "--port=8888"]);
    assert_eq!(runtime.env[0].value, "no");
    assert_eq!(runtime.ports[0].container, 8888);
    assert_eq!(runtime.resources.min_memory_mib, Some(Mib(4096)));
    assert_eq!(runtime.resources.min_vcpu.map(Vcpu::millis), Some(4000));
    assert_eq!(manifest.ui.as_ref().unwrap().path, "/lab");
}

/// the sample as printed has a digest that is cut short.
#[test]
fn the_sample_as_printed_lacks_only_its_digest() {
    let short = "registry.gpuaas.example.com/apps/jupyter-cuda-dev@sha256:abc...";
    let document =
        with(with(sample(), "/artifact_ref", json!(short)), "/runtime_profile/image_ref", json!(short));
    assert_eq!(
        faults(&document),
        [
            ("/artifact_ref".to_owned(), "malformed_digest"),
            ("/runtime_profile/image_ref".to_owned(), "malformed_digest")
        ]
    );
}

/// memory may be digits in quotes.
#[test]
fn an_amount_may_be_digits_in_quotes() {
    let document = with(sample(), "/runtime_profile/resources/min_memory_mib", json!("4096"));
    let document = check(document.to_string().as_bytes(), Format::Json, &registries()).unwrap();
    let runtime = document.manifest.runtime_profile.unwrap();
    assert_eq!(runtime.resources.min_memory_mib, Some(Mib(4096)));
}

/// A-24, C-10, D-23.
#[test]
fn a_plain_manifest_is_a_composition_of_one() {
    let document = parse(sample().to_string().as_bytes(), Format::Json).unwrap();
    let profile = document.manifest.expand();
    assert_eq!(profile.backend, RuntimeBackend::LaunchableOci);
    assert_eq!(profile.engines, [ExecutionEngine::NodeAgent]);
    assert_eq!(profile.gpu_count, Range { default: Some(1), min: Some(1), max: None });
    assert_eq!(profile.memory_mib, Range { default: Some(Mib(4096)), min: Some(Mib(4096)), max: None });
    let [main] = profile.components.as_slice() else { panic!("one component") };
    assert_eq!(main.name, "main");
    assert_eq!(main.ports[0].name.as_deref(), Some("port-8888"));
    assert_eq!(main.images.len(), 1);
    assert_eq!(main.images[0].reference.to_string(), image("jupyter-cuda-dev"));
    assert_eq!(main.replicas, Range { default: Some(1), min: Some(1), max: Some(1) });
}

/// B-01, B-02, B-10, C-01, C-06, C-13, J-09.
#[test]
fn a_composition_uses_every_block() {
    let document = check(composition().to_string().as_bytes(), Format::Json, &registries()).unwrap();
    let profile = document.manifest.expand();
    assert_eq!(profile.backend, RuntimeBackend::DockerCompose);
    assert_eq!(profile.readiness_deadline_seconds, 1800);
    assert_eq!(profile.stop_grace_seconds, 30);
    assert_eq!(profile.restart.max_restarts, 5);
    // The add-on's memory is not counted until somebody chooses it.
    assert_eq!(profile.memory_mib.min, Some(Mib(512 + 8192)));
    assert_eq!(profile.memory_mib.default, Some(Mib(16384)));
    assert_eq!(profile.vcpu.min.map(Vcpu::millis), Some(4500));
    let lane = &profile.components[1];
    assert_eq!(lane.images.len(), 2);
    assert_eq!(lane.images[0].variant.as_deref(), Some("nvidia-h200"));
    assert_eq!(lane.replicas, Range { default: Some(1), min: Some(1), max: Some(4) });
    assert_eq!(lane.readiness, None);
    assert_eq!(lane.liveness.as_ref().unwrap().timeout_ms, 1000);
}

///
#[test]
fn page_and_meter_may_be_left_out() {
    let document = with(sample(), "/runtime_profile/ports/0/expose", json!("private"));
    assert_eq!(faults(&without(without(document, "ui"), "metering")), []);
}

/// each thing that an app team brings has a field of a type of its own.
#[test]
fn every_input_of_an_app_team_has_a_typed_home() {
    let manifest = parse(composition().to_string().as_bytes(), Format::Json).unwrap().manifest;
    let [artifact] = manifest.artifacts.as_slice() else { panic!("one artifact") };
    assert_eq!(artifact.variants[0].image_ref.digest().to_string(), format!("sha256:{}", super::HEX));
    let source = artifact.source.as_ref().unwrap();
    assert_eq!(source.dockerfile.as_deref(), Some("images/server/Dockerfile"));
    assert_eq!(source.upstream.as_deref(), Some("server 1.2"));
    assert_eq!(source.build_inputs["base"], "x");
    let [gateway, lane, _] = manifest.components.as_slice() else { panic!("three components") };
    assert_eq!((lane.command.len(), gateway.ports[0].container), (2, 8080));
    assert!(gateway.readiness.is_some() && lane.liveness.is_some());
    assert_eq!(manifest.resources.as_ref().unwrap().gpu_count.unwrap().default, Some(2));
    assert_eq!(manifest.parameters["context"].default, Some(json!(4096)));
    let validation = manifest.validation.as_ref().unwrap();
    assert_eq!((validation.rules.len(), validation.smoke.len()), (1, 2));
    let access = &manifest.outputs.as_ref().unwrap().access;
    assert_eq!(access.private.as_deref(), Some("Forward the port."));
    assert_eq!(access.proxy.as_deref(), Some("Open the page."));
    assert_eq!(artifact.variants[0].notes.as_deref(), Some("Fast."));
    assert_eq!(manifest.secrets[0].kind, SecretKind::ModelToken);
}

/// what is published is what the documents are held against.
#[test]
fn the_schema_names_every_field_and_refuses_others() {
    let schema = json_schema();
    assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
    assert_eq!(schema["additionalProperties"], false);
    for key in composition().as_object().unwrap().keys().chain(sample().as_object().unwrap().keys()) {
        assert!(schema["properties"].get(key).is_some(), "{key}");
    }
    let open: Vec<&String> = schema["$defs"]
        .as_object()
        .unwrap()
        .iter()
        .filter(|(_, of)| of["properties"].is_object() && of["additionalProperties"] != false)
        .map(|(name, _)| name)
        .collect();
    assert_eq!(open, Vec::<&String>::new(), "every object refuses unknown fields");
}

/// The walk knows these keywords only; a type that brings another needs a look at it first.
#[test]
fn the_schema_uses_only_what_the_walk_knows() {
    const KNOWN: &[&str] = &[
        "$schema",
        "$id",
        "$defs",
        "$ref",
        "title",
        "description",
        "examples",
        "default",
        "type",
        "properties",
        "required",
        "additionalProperties",
        "items",
        "minItems",
        "maxItems",
        "enum",
        "const",
        "oneOf",
        "anyOf",
        "format",
        "pattern",
        "maxLength",
        "minimum",
        "maximum",
        "not",
    ];
    fn visit(schema: &Value, unknown: &mut Vec<String>) {
        match schema {
            Value::Object(map) => {
                for (key, value) in map {
                    if !KNOWN.contains(&key.as_str()) {
                        unknown.push(key.clone());
                    }
                    match key.as_str() {
                        "properties" | "$defs" => {
                            value.as_object().unwrap().values().for_each(|of| visit(of, unknown));
                        }
                        "default" | "enum" | "const" | "required" | "examples" => {}
                        _ => visit(value, unknown),
                    }
                }
            }
            Value::Array(items) => items.iter().for_each(|item| visit(item, unknown)),
            _ => {}
        }
    }
    let mut unknown = Vec::new();
    visit(&json_schema(), &mut unknown);
    assert_eq!(unknown, Vec::<String>::new());
}

/// U-29: four levels, and the names of before still mean something in what was stored with them.
#[test]
fn support_levels_are_four_and_old_names_stay_readable() {
    for (name, level) in [
        ("supported", SupportLevel::Supported),
        ("preview", SupportLevel::Preview),
        ("community", SupportLevel::Community),
        ("deprecated", SupportLevel::Deprecated),
    ] {
        assert_eq!(faults(&with(sample(), "/support_level", json!(name))), [], "{name}");
        assert_eq!((SupportLevel::parse(name), level.name()), (Some(level), name));
    }
    for (old, level) in [("experimental", SupportLevel::Preview), ("partner", SupportLevel::Community)] {
        let document = with(sample(), "/support_level", json!(old));
        assert_eq!(
            faults(&document),
            [("/support_level".to_owned(), "invalid_value")],
            "{old} is not written any more"
        );
        assert_eq!(Document::from_stored(document).unwrap().manifest.support_level, Some(level));
        assert_eq!(SupportLevel::parse(old), Some(level));
    }
    assert_eq!(SupportLevel::parse("gold"), None);
    assert!(!json_schema()["$defs"]["SupportLevel"].to_string().contains("experimental"));
}

/// the source of the smallest app is good once a digest is put in.
#[test]
fn hello_web_is_a_good_manifest() {
    let source = include_str!("../../../../../apps/hello-web/app.yaml");
    let locked = source.replace("{build: ../../images/hello-web}", &super::image("hello-web"));
    let document = check(locked.as_bytes(), Format::Yaml, &registries()).unwrap();
    let profile = document.manifest.expand();
    assert_eq!(profile.components[0].ports[0].name.as_deref(), Some("web"));
    assert!(profile.components[0].read_only_root);
    assert_eq!(profile.gpu_count.default, Some(0));
    let faults = parse(source.as_bytes(), Format::Yaml).unwrap_err();
    let places: Vec<&str> = faults.iter().map(|fault| fault.path.as_str()).collect();
    assert_eq!(places, ["/artifact_ref", "/runtime_profile/image_ref"], "{faults:?}");
}

/// the file that people download is the schema of this build.
#[test]
fn the_published_file_is_the_schema() {
    let file = include_str!(
        "../../../../../docs/architecture/schemas/launchable_oci_workload_profile.v1.schema.json"
    );
    assert!(serde_json::from_str::<Value>(file).unwrap() == json_schema(), "run `cargo xtask gen`");
}
