//! What the samples become.

use std::collections::BTreeMap;

use gpuaas_domain::render::{digest, helm, render};
use serde_json::{Value, json};

use super::{ENGINES, SAMPLES, folder, sample};

const AGAIN: &str = "if this is meant: cargo run -p gpuaas-domain --example render -- golden";

/// B-05, C-02, C-03, C-04, C-18, D-01: one input, four engines, these bytes.
#[test]
fn the_samples_become_these_files() {
    for name in SAMPLES {
        let input = sample(name);
        for (folder_name, engine) in ENGINES {
            let place = folder(name).join(folder_name);
            let mut kept: BTreeMap<String, String> = std::fs::read_dir(&place)
                .unwrap_or_else(|_| panic!("{} is missing; {AGAIN}", place.display()))
                .flatten()
                .map(|file| {
                    (file.file_name().into_string().unwrap(), std::fs::read_to_string(file.path()).unwrap())
                })
                .collect();
            let summary: Value = serde_json::from_str(&kept.remove("summary.json").unwrap()).unwrap();
            let (files, now) = match render(engine, &input) {
                Ok(rendered) => {
                    let again = digest(rendered.engine, rendered.renderer_version, &rendered.files);
                    assert_eq!(rendered.digest, again, "stored bytes can be checked without rendering");
                    let now = json!({
                        "digest": rendered.digest,
                        "gaps": rendered.gaps,
                        "renderer_version": rendered.renderer_version,
                    });
                    (rendered.files, now)
                }
                Err(refusal) => (Vec::new(), json!({ "refused": refusal.gaps })),
            };
            let files: BTreeMap<String, String> =
                files.into_iter().map(|file| (file.name, file.bytes)).collect();
            assert_eq!(files, kept, "{name} on {folder_name}; {AGAIN}");
            assert_eq!(now, summary, "{name} on {folder_name}; {AGAIN}");
        }
    }
}

/// B-11: what Helm holds the values against is what the types say.
#[test]
fn the_charts_schema_is_that_of_the_types() {
    let file = include_str!("../../../../apps/charts/workload/values.schema.json");
    let file: Value = serde_json::from_str(file).unwrap();
    assert_eq!(file, helm::values_schema(), "cargo run -p gpuaas-domain --example render -- chart-schema");
}

/// B-11, D-11: the chart prints objects and runs no value as a template.
#[test]
fn the_chart_only_prints() {
    let template = include_str!("../../../../apps/charts/workload/templates/objects.yaml");
    let code: Vec<&str> = template.lines().filter(|line| !line.contains("/*")).collect();
    let print = r#"{{ required "An object holds a character that Helm cannot print." (toYaml .) }}"#;
    assert_eq!(code, ["{{- range .Values.objects }}", "---", print, "{{- end }}"]);
    let chart = include_str!("../../../../apps/charts/workload/Chart.yaml");
    assert!(chart.contains(&format!("\nversion: {}\n", helm::CHART_VERSION)));
    assert!(chart.contains(&format!("\nname: {}\n", helm::CHART)));
}
